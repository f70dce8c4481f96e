// SPDX-License-Identifier: Apache-2.0
//
// Fast Fourier transforms: a whole one in the shared memory of a block (decimation in frequency, radix 2), a batch in
// the registers of warps with shuffles, and a large one by rows and columns with twiddle factors in between. Checked
// against a direct sum, by going forth and back, and by a convolution. Exercises: sincospif and sincosf, bit reversal
// (brev), float2 in shared memory, cooperation of warps, dynamic shared memory.
#include "sample.h"

#include <complex>

typedef std::complex<double> Complex;

__device__ static float2 times(float2 a, float2 b)
{
	return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// e to the 2 pi i * part of a turn.
__device__ static float2 turned(float part)
{
	float2 result;
	sincospif(2.0f * part, &result.y, &result.x);
	return result;
}

// In place, one transform a block; the result in natural order. `sign` -1 forth, +1 back (not scaled).
__global__ void in_shared(float2 *data, int log_n, float sign)
{
	extern __shared__ float2 shared[];
	const int n = 1 << log_n;
	float2 *own = data + (size_t)blockIdx.x * n;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		shared[i] = own[i];
	__syncthreads();
	for (int half = n / 2; half > 0; half /= 2) {
		for (int i = threadIdx.x; i < n / 2; i += blockDim.x) {
			const int offset = i & (half - 1), low = 2 * i - offset;
			const float2 a = shared[low], b = shared[low + half];
			shared[low] = make_float2(a.x + b.x, a.y + b.y);
			shared[low + half] = times(make_float2(a.x - b.x, a.y - b.y),
						   turned(sign * (float)offset / (float)(2 * half)));
		}
		__syncthreads();
	}
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		own[__brev((unsigned)i) >> (32 - log_n)] = shared[i];
}

// 32 points a warp, one a lane.
__global__ void in_warps(float2 *data, float sign)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	float2 own = data[i];
	for (int half = 16; half > 0; half /= 2) {
		const float2 other = make_float2(__shfl_xor_sync(0xffffffffu, own.x, half),
						 __shfl_xor_sync(0xffffffffu, own.y, half));
		if ((lane & half) == 0)
			own = make_float2(own.x + other.x, own.y + other.y);
		else
			own = times(make_float2(other.x - own.x, other.y - own.y),
				    turned(sign * (float)(lane & (half - 1)) / (float)(2 * half)));
	}
	data[i - lane + (__brev((unsigned)lane) >> 27)] = own;
}

// Between the passes of a large transform: rows become columns, each element turned by its place.
__global__ void twiddle_and_transpose(const float2 *in, float2 *out, int rows, int columns, float sign)
{
	__shared__ float2 tile[16][17];
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	const float part = sign * (float)(x * y) / (float)(rows * columns);
	tile[threadIdx.y][threadIdx.x] = times(in[y * columns + x], sign != 0.0f ? turned(part) : make_float2(1, 0));
	__syncthreads();
	x = blockIdx.y * 16 + threadIdx.x;
	y = blockIdx.x * 16 + threadIdx.y;
	out[y * rows + x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void multiply(float2 *a, const float2 *b, int n, float scale)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		const float2 product = times(a[i], b[i]);
		a[i] = make_float2(product.x * scale, product.y * scale);
	}
}

static std::vector<float2> random_signal(int n, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<float2> signal(n);
	for (float2 &value : signal)
		value = make_float2(random.real(), random.real());
	return signal;
}

// By definition, in f64.
static std::vector<float2> direct(const std::vector<float2> &in, size_t first, int n)
{
	std::vector<Complex> turns(n);
	std::vector<float2> out(n);
	for (int i = 0; i < n; i++)
		turns[i] = std::polar(1.0, -2.0 * M_PI * i / n);
	for (int k = 0; k < n; k++) {
		Complex sum = 0;
		for (int i = 0; i < n; i++)
			sum += Complex(in[first + i].x, in[first + i].y) * turns[(size_t)i * k % n];
		out[k] = make_float2((float)sum.real(), (float)sum.imag());
	}
	return out;
}

static void compare(const char *what, const std::vector<float2> &is, const std::vector<float2> &should,
		    double tolerance)
{
	for (size_t i = 0; i < should.size(); i++)
		if (!sample::expect(std::hypot(is[i].x - should[i].x, is[i].y - should[i].y) <= tolerance,
				    "%s[%zu]: %g + %gi, not near %g + %gi", what, i, is[i].x, is[i].y, should[i].x,
				    should[i].y))
			return;
}

static void transform(float2 *data, int log_n, int batch, float sign)
{
	in_shared<<<batch, 128, sizeof(float2) << log_n>>>(data, log_n, sign);
	LAUNCHED();
}

static void run_blocks(int log_n, int batch)
{
	const int n = 1 << log_n;
	const std::vector<float2> signal = random_signal(n * batch, log_n);
	const sample::Array<float2> data(signal);
	transform(data, log_n, batch, -1.0f);
	std::vector<float2> should;
	for (int i = 0; i < batch; i++) {
		const std::vector<float2> one = direct(signal, (size_t)i * n, n);
		should.insert(should.end(), one.begin(), one.end());
	}
	compare("blocks", data.get(), should, 1e-5 * n);
	transform(data, log_n, batch, 1.0f);
	std::vector<float2> back = data.get();
	for (float2 &value : back)
		value = make_float2(value.x / (float)n, value.y / (float)n);
	compare("forth and back", back, signal, 1e-5);
	printf("%d transforms of %d points\n", batch, n);
}

static void run_warps()
{
	const std::vector<float2> signal = random_signal(32 * 8, 1);
	const sample::Array<float2> data(signal);
	in_warps<<<2, 128>>>(data, -1.0f);
	LAUNCHED();
	const std::vector<float2> is = data.get();
	for (int i = 0; i < 8; i++)
		compare("warps", { is.begin() + i * 32, is.begin() + i * 32 + 32 }, direct(signal, (size_t)i * 32, 32),
			1e-4);
}

// 2048 = 64 x 32 points: columns, twiddles, rows.
static void run_large()
{
	const int rows = 64, columns = 32, n = rows * columns;
	const std::vector<float2> signal = random_signal(n, 5);
	const sample::Array<float2> a(signal), b(n);
	const dim3 block(16, 16);
	twiddle_and_transpose<<<dim3(columns / 16, rows / 16), block>>>(a, b, rows, columns, 0.0f);
	transform(b, 6, columns, -1.0f);
	twiddle_and_transpose<<<dim3(rows / 16, columns / 16), block>>>(b, a, columns, rows, -1.0f);
	transform(a, 5, rows, -1.0f);
	twiddle_and_transpose<<<dim3(columns / 16, rows / 16), block>>>(a, b, rows, columns, 0.0f);
	LAUNCHED();
	compare("large", b.get(), direct(signal, 0, n), 1e-5 * n);
}

// A cyclic convolution, directly and through the transforms.
static void run_convolution()
{
	const int log_n = 8, n = 1 << log_n;
	const std::vector<float2> first = random_signal(n, 7), second = random_signal(n, 8);
	const sample::Array<float2> a(first), b(second);
	transform(a, log_n, 1, -1.0f);
	transform(b, log_n, 1, -1.0f);
	multiply<<<n / 128, 128>>>(a, b, n, 1.0f / (float)n);
	transform(a, log_n, 1, 1.0f);
	std::vector<float2> should(n);
	for (int i = 0; i < n; i++) {
		Complex sum = 0;
		for (int k = 0; k < n; k++)
			sum += Complex(first[k].x, first[k].y) *
			       Complex(second[(i - k + n) % n].x, second[(i - k + n) % n].y);
		should[i] = make_float2((float)sum.real(), (float)sum.imag());
	}
	compare("convolution", a.get(), should, 1e-3);
}

int main()
{
	run_blocks(5, 3);
	run_blocks(9, 2);
	run_warps();
	run_large();
	run_convolution();
	return sample::finish("fft");
}

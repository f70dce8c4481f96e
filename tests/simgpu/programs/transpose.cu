// SPDX-License-Identifier: Apache-2.0
//
// Matrix transposition: element by element, by tiles in shared memory padded against bank conflicts, by tiles whose
// columns are permuted instead, and in place for a square matrix. Elements of 1, 2, 4, 8 and 16 bytes.
// Exercises: two-dimensional indices, shared memory of odd row lengths, vector types as elements, blocks of 32 x 8.
#include "sample.h"

static constexpr unsigned tile = 32, rows_at_once = 8;

template <typename T> __global__ void simple(const T *in, T *out, unsigned width, unsigned height)
{
	const unsigned x = blockIdx.x * tile + threadIdx.x;
	for (unsigned y = blockIdx.y * tile + threadIdx.y; y < min((blockIdx.y + 1) * tile, height); y += rows_at_once)
		if (x < width)
			out[x * height + y] = in[y * width + x];
}

template <typename T> __global__ void padded(const T *in, T *out, unsigned width, unsigned height)
{
	__shared__ T shared[tile][tile + 1];
	unsigned x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
#pragma unroll
	for (unsigned i = 0; i < tile; i += rows_at_once)
		if (x < width && y + i < height)
			shared[threadIdx.y + i][threadIdx.x] = in[(y + i) * width + x];
	__syncthreads();
	x = blockIdx.y * tile + threadIdx.x;
	y = blockIdx.x * tile + threadIdx.y;
#pragma unroll
	for (unsigned i = 0; i < tile; i += rows_at_once)
		if (x < height && y + i < width)
			out[(y + i) * height + x] = shared[threadIdx.x][threadIdx.y + i];
}

// No padding: the column is turned by the row.
template <typename T> __global__ void permuted(const T *in, T *out, unsigned width, unsigned height)
{
	__shared__ T shared[tile * tile];
	unsigned x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
	for (unsigned i = threadIdx.y; i < tile; i += rows_at_once, y += rows_at_once)
		if (x < width && y < height)
			shared[i * tile + (threadIdx.x ^ i)] = in[y * width + x];
	__syncthreads();
	x = blockIdx.y * tile + threadIdx.x;
	y = blockIdx.x * tile + threadIdx.y;
	for (unsigned i = threadIdx.y; i < tile; i += rows_at_once, y += rows_at_once)
		if (x < height && y < width)
			out[y * height + x] = shared[threadIdx.x * tile + (i ^ threadIdx.x)];
}

// A pair of tiles on both sides of the diagonal change places.
template <typename T> __global__ void in_place(T *matrix, unsigned size)
{
	__shared__ T upper[tile][tile + 1], lower[tile][tile + 1];
	if (blockIdx.x < blockIdx.y)
		return;
	const unsigned x = blockIdx.x * tile, y = blockIdx.y * tile;
	for (unsigned i = threadIdx.y; i < tile; i += rows_at_once) {
		upper[i][threadIdx.x] = matrix[(y + i) * size + x + threadIdx.x];
		lower[i][threadIdx.x] = matrix[(x + i) * size + y + threadIdx.x];
	}
	__syncthreads();
	for (unsigned i = threadIdx.y; i < tile; i += rows_at_once) {
		matrix[(x + i) * size + y + threadIdx.x] = upper[threadIdx.x][i];
		if (x != y)
			matrix[(y + i) * size + x + threadIdx.x] = lower[threadIdx.x][i];
	}
}

static bool operator==(const float4 &a, const float4 &b)
{
	return a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w;
}

template <typename T> static T element(unsigned x, unsigned y)
{
	return (T)(x * 131 + y * 7919);
}

template <> float4 element<float4>(unsigned x, unsigned y)
{
	return make_float4((float)x, (float)y, (float)(x + y), (float)x * (float)y);
}

template <typename T>
static void compare(const char *how, const char *type, const sample::Array<T> &device, unsigned width, unsigned height)
{
	const std::vector<T> out = device.get();
	for (unsigned x = 0; x < width; x++)
		for (unsigned y = 0; y < height; y++)
			if (!sample::expect(out[x * height + y] == element<T>(x, y), "%s %s %u x %u at %u, %u", how,
					    type, width, height, x, y))
				return;
}

template <typename T> static std::vector<T> make(unsigned width, unsigned height)
{
	std::vector<T> in((size_t)width * height);
	for (unsigned y = 0; y < height; y++)
		for (unsigned x = 0; x < width; x++)
			in[y * width + x] = element<T>(x, y);
	return in;
}

template <typename T> static void run(const char *type, unsigned width, unsigned height)
{
	const dim3 grid((width + tile - 1) / tile, (height + tile - 1) / tile), block(tile, rows_at_once);
	const sample::Array<T> in(make<T>(width, height));
	sample::Array<T> out((size_t)width * height);
	void (*const kernels[])(const T *, T *, unsigned, unsigned) = { simple<T>, padded<T>, permuted<T> };
	const char *const names[] = { "simple", "padded", "permuted" };
	for (int i = 0; i < 3; i++) {
		out.fill_bytes(0xff);
		kernels[i]<<<grid, block>>>(in, out, width, height);
		LAUNCHED();
		compare(names[i], type, out, width, height);
	}
	const unsigned size = 3 * tile;
	const sample::Array<T> square(make<T>(size, size));
	in_place<T><<<dim3(3, 3), block>>>(square, size);
	LAUNCHED();
	compare("in place", type, square, size, size);
}

int main()
{
	run<uint8_t>("uint8_t", 100, 65);
	run<uint16_t>("uint16_t", 64, 96);
	run<float>("float", 128, 70);
	run<double>("double", 33, 129);
	run<float4>("float4", 40, 50);
	return sample::finish("transpose");
}

// SPDX-License-Identifier: Apache-2.0
//
// A quantized layer of a neural network: bytes times bytes with dp4a, sums scaled back to f32 with a bias and a limit,
// and quantized again by rounding and saturation; packed bytes turned by prmt on the way; the SIMD-in-a-word intrinsics
// for four bytes or two halves at once. Built for an older target (compute_80). Exercises: dp4a and dp2a signed and
// unsigned, cvt.sat, __byte_perm, vabsdiff4, vadd, vmax, char4 vectors.
#include "sample.h"

#include <algorithm>

static constexpr int n_inputs = 64, n_outputs = 48, n_rows = 80;

__device__ static int quantize(float value)
{
	return max(-128, min(127, __float2int_rn(value)));
}

// Four inputs a word; a thread an output, the weights of 16 outputs in shared memory.
__global__ void layer(const int *inputs, const int *weights, const float *scales, const float *bias,
		      signed char *outputs)
{
	__shared__ int shared[16][n_inputs / 4 + 1];
	const int first_output = blockIdx.x * 16, row = blockIdx.y * 16 + threadIdx.y,
		  output = first_output + threadIdx.x;
	for (int i = threadIdx.y * 16 + threadIdx.x; i < 16 * n_inputs / 4; i += 256)
		shared[i / (n_inputs / 4)][i % (n_inputs / 4)] = weights[first_output * (n_inputs / 4) + i];
	__syncthreads();
	int sum = 0;
#pragma unroll
	for (int k = 0; k < n_inputs / 4; k++)
		sum = __dp4a(inputs[row * (n_inputs / 4) + k], shared[threadIdx.x][k], sum);
	const float value = fmaxf(fmaf((float)sum, scales[output], bias[output]), 0.0f);
	outputs[row * n_outputs + output] = (signed char)quantize(value);
}

static constexpr int n_words = 12;

__global__ void words(const unsigned *a, const unsigned *b, unsigned *results, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const unsigned x = a[i], y = b[i];
	unsigned *out = &results[i * n_words];
	out[0] = __dp4a(x, y, 1000u);
	out[1] = (unsigned)__dp2a_lo((int)x, (int)y, -5);
	out[2] = __dp2a_hi(x, y, 7u);
	out[3] = __byte_perm(x, y, 0x3715);
	out[4] = __byte_perm(x, y, y & 0x7777);
	out[5] = __vadd4(x, y);
	out[6] = __vsubus4(x, y);
	out[7] = __vmaxs2(x, y);
	out[8] = __vsads4(x, y);
	out[9] = __vcmpgtu4(x, y);
	out[10] = __vavgu4(x, y);
	out[11] = __sad((int)x, (int)y, 3u);
}

static int byte_of(unsigned word, int i)
{
	return (int)(word >> (i * 8) & 0xff);
}

static int signed_byte_of(unsigned word, int i)
{
	return (signed char)byte_of(word, i);
}

static int half_of(unsigned word, int i)
{
	return (short)(word >> (i * 16));
}

static void words_on_host(unsigned x, unsigned y, unsigned *out)
{
	for (int k = 0; k < n_words; k++)
		out[k] = 0;
	out[0] = 1000;
	out[1] = (unsigned)(-5 + half_of(x, 0) * signed_byte_of(y, 0) + half_of(x, 1) * signed_byte_of(y, 1));
	out[2] = 7 + (x & 0xffff) * byte_of(y, 2) + (x >> 16) * byte_of(y, 3);
	for (int i = 0; i < 4; i++) {
		const int p = byte_of(x, i), q = byte_of(y, i), s = signed_byte_of(x, i), t = signed_byte_of(y, i);
		const auto pick = [&](unsigned selector) {
			const unsigned at = selector >> (i * 4) & 7;
			return (unsigned)(at < 4 ? byte_of(x, (int)at) : byte_of(y, (int)at - 4)) << (i * 8);
		};
		out[0] += (unsigned)(p * q);
		out[3] |= pick(0x3715);
		out[4] |= pick(y & 0x7777);
		out[5] |= (unsigned)(p + q & 0xff) << (i * 8);
		out[6] |= (unsigned)std::max(p - q, 0) << (i * 8);
		out[8] += (unsigned)std::abs(s - t);
		out[9] |= (p > q ? 0xffu : 0u) << (i * 8);
		out[10] |= (unsigned)((p + q + 1) / 2) << (i * 8);
	}
	for (int i = 0; i < 2; i++)
		out[7] |= (unsigned)(std::max(half_of(x, i), half_of(y, i)) & 0xffff) << (i * 16);
	out[11] = (unsigned)std::llabs((long long)(int)x - (int)y) + 3;
}

static void run_layer()
{
	sample::Random random(1);
	std::vector<signed char> inputs(n_rows * n_inputs), weights(n_outputs * n_inputs);
	std::vector<float> scales(n_outputs), bias(n_outputs), should, is;
	for (signed char &value : inputs)
		value = (signed char)random.next();
	for (signed char &value : weights)
		value = (signed char)random.next();
	for (int i = 0; i < n_outputs; i++) {
		scales[i] = 0x1p-11f * (float)(i % 4 + 1);
		bias[i] = random.real() * 10.0f;
	}
	for (int row = 0; row < n_rows; row++)
		for (int output = 0; output < n_outputs; output++) {
			int sum = 0;
			for (int k = 0; k < n_inputs; k++)
				sum += inputs[row * n_inputs + k] * weights[output * n_inputs + k];
			const float value = fmaxf(fmaf((float)sum, scales[output], bias[output]), 0.0f);
			should.push_back(fminf(nearbyintf(value), 127.0f));
		}
	const sample::Array<signed char> device_inputs(inputs), device_weights(weights), outputs(n_rows * n_outputs);
	const sample::Array<float> device_scales(scales), device_bias(bias);
	layer<<<dim3(n_outputs / 16, n_rows / 16), dim3(16, 16)>>>(
		reinterpret_cast<const int *>((signed char *)device_inputs),
		reinterpret_cast<const int *>((signed char *)device_weights), device_scales, device_bias, outputs);
	LAUNCHED();
	for (signed char value : outputs.get())
		is.push_back((float)value);
	sample::expect_equal("layer", is, should);
}

int main()
{
	run_layer();
	const int n = 2000;
	sample::Random random(2);
	std::vector<unsigned> a(n), b(n), should(n * n_words);
	for (int i = 0; i < n; i++) {
		a[i] = (unsigned)random.next();
		b[i] = i % 9 == 0 ? a[i] : (unsigned)random.next();
		words_on_host(a[i], b[i], &should[i * n_words]);
	}
	const sample::Array<unsigned> device_a(a), device_b(b), results(n * n_words);
	words<<<(n + 127) / 128, 128>>>(device_a, device_b, results, n);
	LAUNCHED();
	sample::expect_equal("words", results.get(), should);
	return sample::finish("dp4a_product");
}

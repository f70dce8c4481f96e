// SPDX-License-Identifier: Apache-2.0
//
// Floats of a byte and less: e4m3, e5m2, e2m3, e3m2, e2m1 and the exponents e8m0. Every code of each type, and a great
// many wider numbers with their ties and edges, are converted on the device, which has instructions for it, and on the
// host, where the same headers compute bit by bit. Exercises: cuda_fp8.h, cuda_fp6.h, cuda_fp4.h, cvt of pairs with
// .satfinite and .relu, bytes packed into registers.
#include "sample.h"

#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

// --- what is converted: each a function of a number or a code, the same on both sides --------------------------------

template <__nv_fp8_interpretation_t kind, __nv_saturation_t saturation> struct ToFp8 {
	static __host__ __device__ uint32_t convert(float x)
	{
		const uint32_t one = __nv_cvt_float_to_fp8(x, saturation, kind);
		const uint32_t two = __nv_cvt_float2_to_fp8x2(make_float2(x, -2 * x), saturation, kind);
		return one | two << 8;
	}
};

template <__nv_fp6_interpretation_t kind> struct ToFp6 {
	static __host__ __device__ uint32_t convert(float x)
	{
		const uint32_t one = __nv_cvt_float_to_fp6(x, kind, cudaRoundNearest);
		const uint32_t two = __nv_cvt_float2_to_fp6x2(make_float2(x, -2 * x), kind, cudaRoundNearest);
		return one | two << 8;
	}
};

struct ToFp4 {
	static __host__ __device__ uint32_t convert(float x)
	{
		const uint32_t one = __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest);
		const uint32_t two = __nv_cvt_float2_to_fp4x2(make_float2(x, -2 * x), __NV_E2M1, cudaRoundNearest);
		return one | two << 8;
	}
};

template <__nv_saturation_t saturation, cudaRoundMode mode> struct ToE8m0 {
	static __host__ __device__ uint32_t convert(float x)
	{
		const uint32_t one = __nv_cvt_float_to_e8m0(x, saturation, mode);
		const uint32_t two = __nv_cvt_float2_to_e8m0x2(make_float2(x, 3 * x), saturation, mode);
		return one | two << 8;
	}
};

template <__nv_fp8_interpretation_t kind> struct FromFp8 {
	static __host__ __device__ uint32_t convert(float code)
	{
		const __half2_raw pair = __nv_cvt_fp8x2_to_halfraw2((__nv_fp8x2_storage_t)(uint32_t)code, kind);
		return pair.x | (uint32_t)pair.y << 16;
	}
};

template <__nv_fp6_interpretation_t kind> struct FromFp6 {
	static __host__ __device__ uint32_t convert(float code)
	{
		const __half2_raw pair =
			__nv_cvt_fp6x2_to_halfraw2((__nv_fp6x2_storage_t)((uint32_t)code & 0x3f3f), kind);
		return pair.x | (uint32_t)pair.y << 16;
	}
};

struct FromFp4 {
	static __host__ __device__ uint32_t convert(float code)
	{
		const __half2_raw pair = __nv_cvt_fp4x2_to_halfraw2((__nv_fp4x2_storage_t)(uint32_t)code, __NV_E2M1);
		return pair.x | (uint32_t)pair.y << 16;
	}
};

struct FromE8m0 {
	static __host__ __device__ uint32_t convert(float code)
	{
		const __nv_bfloat162_raw pair = __nv_cvt_e8m0x2_to_bf162raw((__nv_fp8x2_storage_t)(uint32_t)code);
		return pair.x | (uint32_t)pair.y << 16;
	}
};

template <class Conversion> __global__ void convert(const float *from, uint32_t *to, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		to[i] = Conversion::convert(from[i]);
}

template <class Conversion> static void compare(const char *what, const std::vector<float> &numbers)
{
	const int n = (int)numbers.size();
	std::vector<uint32_t> is(numbers.size());
	float *from;
	uint32_t *to;

	TRY(cudaMalloc(&from, numbers.size() * sizeof(float)));
	TRY(cudaMalloc(&to, numbers.size() * sizeof(uint32_t)));
	TRY(cudaMemcpy(from, numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
	convert<Conversion><<<(n + 255) / 256, 256>>>(from, to, n);
	LAUNCHED();
	TRY(cudaMemcpy(is.data(), to, is.size() * sizeof(uint32_t), cudaMemcpyDeviceToHost));
	for (size_t i = 0, n_wrong = 0; i < numbers.size() && n_wrong < 3; i++) {
		const uint32_t should = Conversion::convert(numbers[i]);
		n_wrong += !sample::expect(is[i] == should, "%s of %a: 0x%x, not 0x%x", what, (double)numbers[i], is[i],
					   should);
	}
	TRY(cudaFree(from));
	TRY(cudaFree(to));
}

// Every sign, exponent and leading bits of a float, just below, at and above each tie of three bits and fewer.
static std::vector<float> wide_numbers()
{
	std::vector<float> numbers;

	for (uint32_t head = 0; head < 1u << 14; head++)
		for (const uint32_t tail : { 0u, 1u, 0x3ffffu }) {
			const uint32_t bits = head << 18 | tail;
			float number;

			memcpy(&number, &bits, sizeof(number));
			numbers.push_back(number);
		}
	return numbers;
}

// The unsaturated conversions go through f64, where PTX does not say what becomes of a NaN's payload.
static std::vector<float> without_nan(std::vector<float> numbers)
{
	std::vector<float> rest;

	for (const float number : numbers)
		if (!std::isnan(number))
			rest.push_back(number);
	return rest;
}

static std::vector<float> codes()
{
	std::vector<float> numbers;

	for (int code = 0; code < 65536; code++)
		numbers.push_back((float)code);
	return numbers;
}

int main()
{
	const std::vector<float> wide = wide_numbers(), narrow = codes();

	compare<ToFp8<__NV_E4M3, __NV_SATFINITE>>("e4m3", wide);
	compare<ToFp8<__NV_E5M2, __NV_SATFINITE>>("e5m2", wide);
	compare<ToFp8<__NV_E4M3, __NV_NOSAT>>("e4m3 without saturation", wide);
	compare<ToFp8<__NV_E5M2, __NV_NOSAT>>("e5m2 without saturation", without_nan(wide));
	compare<ToFp6<__NV_E2M3>>("e2m3", wide);
	compare<ToFp6<__NV_E3M2>>("e3m2", wide);
	compare<ToFp4>("e2m1", wide);
	compare<ToE8m0<__NV_SATFINITE, cudaRoundZero>>("e8m0 down", wide);
	compare<ToE8m0<__NV_NOSAT, cudaRoundZero>>("e8m0 down without saturation", wide);
	compare<ToE8m0<__NV_SATFINITE, cudaRoundPosInf>>("e8m0 up", wide);
	compare<ToE8m0<__NV_NOSAT, cudaRoundPosInf>>("e8m0 up without saturation", wide);
	compare<FromFp8<__NV_E4M3>>("from e4m3", narrow);
	compare<FromFp8<__NV_E5M2>>("from e5m2", narrow);
	compare<FromFp6<__NV_E2M3>>("from e2m3", narrow);
	compare<FromFp6<__NV_E3M2>>("from e3m2", narrow);
	compare<FromFp4>("from e2m1", narrow);
	compare<FromE8m0>("from e8m0", narrow);
	return sample::finish("narrow_floats");
}

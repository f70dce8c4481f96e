// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic in f16 and bf16: single and in pairs, fused multiply-add, comparison, minimum and maximum with NaN,
// rounding of conversions from f32 and integers in every direction, denormals, saturation, overflow to infinity. Every
// result is compared bit by bit with one computed on the host from f32 or f64 and rounded once. Exercises: cuda_fp16.h
// and cuda_bf16.h, cvt in all rounding modes, .sat, .relu, ex2 and tanh of halves, atomicAdd of
// __half2.
#include "sample.h"

#include <algorithm>
#include <cstring>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

// --- the host's own conversion: from f64, rounded once to nearest even
// ----------------------------------------------------
struct Format {
	int fraction_bits, exponent_bits;
};

static constexpr Format f16 = { 10, 5 }, bf16 = { 7, 8 };

static uint16_t round_to(Format format, double value)
{
	const int bias = (1 << (format.exponent_bits - 1)) - 1, smallest = 1 - bias - format.fraction_bits;
	const uint16_t sign = std::signbit(value) ? 0x8000 : 0,
		       infinity = (uint16_t)(((1 << format.exponent_bits) - 1) << format.fraction_bits);
	if (std::isnan(value))
		return 0x7fff;
	if (value == 0)
		return sign;
	if (std::isinf(value))
		return sign | infinity;
	int exponent;
	frexp(value, &exponent); // 0.5 to 1 times two to it
	const int unit = std::max(exponent - 1 - format.fraction_bits, smallest);
	const double units = std::nearbyint(ldexp(std::fabs(value), -unit));
	if (units == 0)
		return sign;
	// The bits of a rounded-up fraction run over into the exponent as they should.
	const int stored = unit - smallest; // 0: denormals and the lowest normal exponent
	const uint32_t bits = (uint32_t)units + ((uint32_t)stored << format.fraction_bits);
	return sign | (bits >= infinity ? infinity : (uint16_t)bits);
}

static double to_double(Format format, uint16_t bits)
{
	const int bias = (1 << (format.exponent_bits - 1)) - 1, fraction = bits & ((1 << format.fraction_bits) - 1);
	const int exponent = bits >> format.fraction_bits & ((1 << format.exponent_bits) - 1);
	double value;
	if (exponent == (1 << format.exponent_bits) - 1)
		value = fraction != 0 ? NAN : INFINITY;
	else if (exponent == 0)
		value = ldexp(fraction, 1 - bias - format.fraction_bits);
	else
		value = ldexp(fraction + (1 << format.fraction_bits), exponent - bias - format.fraction_bits);
	return bits & 0x8000 ? -value : value;
}

template <typename T> struct Pair;
template <> struct Pair<__half> {
	using type = __half2;
};
template <> struct Pair<__nv_bfloat16> {
	using type = __nv_bfloat162;
};

static constexpr int n_results = 8;

template <typename T> __global__ void compute(const T *a, const T *b, const T *c, T *results, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	T *out = &results[i * n_results];
	out[0] = __hadd(a[i], b[i]);
	out[1] = __hsub(a[i], b[i]);
	out[2] = __hmul(a[i], b[i]);
	out[3] = __hfma(a[i], b[i], c[i]);
	out[4] = __hmax(a[i], b[i]);
	out[5] = __hmin(a[i], b[i]);
	out[6] = __hneg(__habs(a[i]));
	out[7] = __hfma_relu(a[i], b[i], c[i]);
}

// The same in pairs: two neighbors in one register.
template <typename T> __global__ void compute_pairs(const T *a, const T *b, const T *c, T *results, int n)
{
	using Two = typename Pair<T>::type;
	const int i = (blockIdx.x * blockDim.x + threadIdx.x) * 2;
	if (i >= n)
		return;
	const Two x = *reinterpret_cast<const Two *>(&a[i]), y = *reinterpret_cast<const Two *>(&b[i]),
		  z = *reinterpret_cast<const Two *>(&c[i]);
	const Two pairs[n_results] = { __hadd2(x, y), __hsub2(x, y), __hmul2(x, y),       __hfma2(x, y, z),
				       __hmax2(x, y), __hmin2(x, y), __hneg2(__habs2(x)), __hfma2_relu(x, y, z) };
	for (int k = 0; k < n_results; k++) {
		results[i * n_results + k] = pairs[k].x;
		results[(i + 1) * n_results + k] = pairs[k].y;
	}
}

static bool same(Format format, int operation, uint16_t is, uint16_t should)
{
	// Any NaN is as good as another, and what relu makes of -0 is not said.
	return is == should || (operation == 7 && (is | should) == 0x8000) ||
	       (std::isnan(to_double(format, is)) && std::isnan(to_double(format, should)));
}

// a * b + c in f64, rounded to odd: rounding that once more to few bits is as good as rounding the exact sum.
static double fused_to_odd(double a, double b, double c)
{
	const double product = a * b, sum = product + c; // the product is exact: there are not that many bits
	const double part = sum - product, error = (product - (sum - part)) + (c - part);
	uint64_t bits;
	memcpy(&bits, &sum, sizeof(bits));
	if (!std::isfinite(sum) || error == 0 || bits % 2 != 0)
		return sum;
	return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}

static void should_be(Format format, double a, double b, double c, uint16_t *results)
{
	const double fused = fused_to_odd(a, b, c);
	results[0] = round_to(format, a + b);
	results[1] = round_to(format, a - b);
	results[2] = round_to(format, a * b);
	results[3] = round_to(format, fused);
	results[4] = round_to(format, std::isnan(a)   ? b
				      : std::isnan(b) ? a
				      : a == b        ? (std::signbit(a) ? b : a)
						      : std::max(a, b));
	results[5] = round_to(format, std::isnan(a)   ? b
				      : std::isnan(b) ? a
				      : a == b        ? (std::signbit(a) ? a : b)
						      : std::min(a, b));
	results[6] = std::isnan(a) ? 0x7fff : round_to(format, -std::fabs(a));
	results[7] = std::isnan(fused) ? 0x7fff : fused < 0 || std::signbit(fused) ? 0 : round_to(format, fused);
}

// Every exponent, both signs, and the special values against each other.
static std::vector<uint16_t> make_bits(size_t n, uint64_t seed)
{
	static const uint16_t special[] = { 0,      0x8000, 1,      0x8001, 0x3c00, 0x7bff,
					    0x7c00, 0xfc00, 0x7e00, 0x0400, 0x03ff, 0x7f80 };
	sample::Random random(seed);
	std::vector<uint16_t> bits(n);
	for (size_t i = 0; i < n; i++)
		bits[i] = random.below(6) == 0 ? special[random.below(12)] : (uint16_t)random.next();
	return bits;
}

template <typename T> static void run(const char *type, Format format)
{
	const int n = 4096;
	const std::vector<uint16_t> bits[3] = { make_bits(n, 1), make_bits(n, 2), make_bits(n, 3) };
	const sample::Array<uint16_t> a(bits[0]), b(bits[1]), c(bits[2]);
	sample::Array<uint16_t> results(n * n_results);
	const auto as = [](const sample::Array<uint16_t> &array) { return reinterpret_cast<T *>((uint16_t *)array); };
	for (int pairs = 0; pairs < 2; pairs++) {
		results.fill_bytes(0x11);
		if (pairs)
			compute_pairs<T><<<n / 256, 128>>>(as(a), as(b), as(c), as(results), n);
		else
			compute<T><<<n / 128, 128>>>(as(a), as(b), as(c), as(results), n);
		LAUNCHED();
		const std::vector<uint16_t> is = results.get();
		int n_wrong = 0;
		for (int i = 0; i < n; i++) {
			uint16_t should[n_results];
			should_be(format, to_double(format, bits[0][i]), to_double(format, bits[1][i]),
				  to_double(format, bits[2][i]), should);
			for (int k = 0; k < n_results; k++)
				if (!same(format, k, is[i * n_results + k], should[k]) && n_wrong++ < 3)
					sample::expect(false, "%s%s, operation %d of %04x %04x %04x: %04x, not %04x",
						       type, pairs ? " pairs" : "", k, bits[0][i], bits[1][i],
						       bits[2][i], is[i * n_results + k], should[k]);
		}
	}
}

// --- conversions
// ----------------------------------------------------------------------------------------------------------
static constexpr int n_conversions = 8;

__global__ void convert(const float *values, uint16_t *results, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const float value = values[i];
	uint16_t *out = &results[i * n_conversions];
	out[0] = __half_as_ushort(__float2half_rn(value));
	out[1] = __half_as_ushort(__float2half_rz(value));
	out[2] = __half_as_ushort(__float2half_ru(value));
	out[3] = __half_as_ushort(__float2half_rd(value));
	out[4] = __bfloat16_as_ushort(__float2bfloat16_rn(value));
	out[5] = __bfloat16_as_ushort(__float2bfloat16_rz(value));
	out[6] = __half_as_ushort(__int2half_rn((int)i * 37 - 60000));
	out[7] = (uint16_t)(short)__half2int_rn(__float2half(fminf(fmaxf(value, -30000.0f), 30000.0f)));
}

// Between the representable numbers below and above.
static double neighbor(Format format, double value, int direction)
{
	uint16_t bits = round_to(format, value);
	const double rounded = to_double(format, bits);
	if (rounded == value || std::isnan(value))
		return rounded;
	// One step towards or away from zero; the bits of a sign and magnitude count up with the magnitude.
	if (direction > 0 && rounded < value)
		bits = bits & 0x8000 ? (uint16_t)(bits - 1) : (uint16_t)(bits + 1);
	else if (direction < 0 && rounded > value)
		bits = bits == 0 ? 0x8001 : bits & 0x8000 ? (uint16_t)(bits + 1) : (uint16_t)(bits - 1);
	return to_double(format, bits);
}

static double toward_zero(Format format, double value)
{
	return neighbor(format, value, std::signbit(value) ? 1 : -1);
}

static void run_conversions()
{
	const int n = 3000;
	sample::Random random(4);
	std::vector<float> values(n);
	for (int i = 0; i < n; i++)
		values[i] = ldexpf(random.real(), (int)random.below(44) - 26);
	values[0] = 65519.0f;
	values[1] = 65520.0f;
	values[2] = 0x1p-25f;
	values[3] = 0x1.8p-24f;
	values[4] = 1.0f;
	const sample::Array<float> device_values(values);
	const sample::Array<uint16_t> results(n * n_conversions);
	convert<<<(n + 127) / 128, 128>>>(device_values, results, n);
	LAUNCHED();
	const std::vector<uint16_t> is = results.get();
	for (int i = 0; i < n; i++) {
		const double value = values[i];
		const double half = to_double(f16, round_to(f16, std::fmin(std::fmax(value, -30000.0), 30000.0)));
		const uint16_t should[n_conversions] = { round_to(f16, value),
							 round_to(f16, toward_zero(f16, value)),
							 round_to(f16, neighbor(f16, value, 1)),
							 round_to(f16, neighbor(f16, value, -1)),
							 round_to(bf16, value),
							 round_to(bf16, toward_zero(bf16, value)),
							 round_to(f16, (double)(i * 37 - 60000)),
							 (uint16_t)(short)std::nearbyint(half) };
		for (int k = 0; k < n_conversions; k++)
			// A zero from below is -0 where the value was negative.
			if (!sample::expect(
				    is[i * n_conversions + k] == should[k] ||
					    ((is[i * n_conversions + k] & 0x7fff) == 0 && (should[k] & 0x7fff) == 0),
				    "conversion %d of %a: %04x, not %04x", k, value, is[i * n_conversions + k],
				    should[k]))
				return;
	}
}

// --- functions and atomics
// ------------------------------------------------------------------------------------------------
__global__ void functions(__half *results, __half2 *sum)
{
	const int i = threadIdx.x;
	const __half x = __float2half((float)(i - 64) / 16.0f);
	results[i * 4] = hexp2(x);
	results[i * 4 + 1] = htanh(x);
	results[i * 4 + 2] = hsqrt(__habs(x));
	results[i * 4 + 3] = hrint(__hmul(x, __float2half(0.75f)));
	atomicAdd(sum, __floats2half2_rn(1.0f, 0.5f));
}

static void run_functions()
{
	const sample::Array<__half> results(128 * 4);
	sample::Array<__half2> sum(1);
	sum.fill_bytes(0);
	functions<<<1, 128>>>(results, sum);
	LAUNCHED();
	const std::vector<__half> is = results.get();
	for (int i = 0; i < 128; i++) {
		const double x = (i - 64) / 16.0;
		const double should[4] = { std::exp2(x), std::tanh(x), std::sqrt(std::fabs(x)),
					   std::nearbyint(x * 0.75) };
		for (int k = 0; k < 4; k++) {
			const double value = __half2float(is[i * 4 + k]);
			sample::expect(std::fabs(value - should[k]) <= 2e-3 * std::fmax(0.1, std::fabs(should[k])),
				       "function %d of %g: %g, not near %g", k, x, value, should[k]);
		}
	}
	const __half2 total = sum.get()[0];
	sample::expect(__low2float(total) == 128.0f && __high2float(total) == 64.0f, "sums: %g, %g", __low2float(total),
		       __high2float(total));
}

int main()
{
	run<__half>("f16", f16);
	run<__nv_bfloat16>("bf16", bf16);
	run_conversions();
	run_functions();
	return sample::finish("half_math");
}

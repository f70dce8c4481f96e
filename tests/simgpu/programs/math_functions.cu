// SPDX-License-Identifier: Apache-2.0
//
// Every function of the mathematical library, single and double, and the fast ones built into the device, over its
// whole domain: each result is compared with one of the host's in wider arithmetic, and may differ by as many units in
// the last place as the CUDA documentation grants. Exercises: the approximations of PTX (ex2, lg2, sin, cos, rcp,
// rsqrt, tanh), fused arithmetic, the conversions and bit tricks of the device's library, argument reduction.
#include "sample.h"

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <random>

// --- references beyond libm ------------------------------------------------------------------------------------------

static const long double pi = 3.14159265358979323846264338327950288L;

static long double sin_pi(long double x)
{
	const long double r = remainderl(x, 2.0L);
	return std::fabs(r) <= 0.25L   ? sinl(pi * r)
	       : std::fabs(r) <= 0.75L ? copysignl(cosl(pi * (0.5L - std::fabs(r))), r)
				       : copysignl(sinl(pi * (1.0L - std::fabs(r))), r);
}

static long double cos_pi(long double x)
{
	const long double r = std::fabs(remainderl(x, 2.0L));
	return r <= 0.25L ? cosl(pi * r) : r <= 0.75L ? sinl(pi * (0.5L - r)) : -cosl(pi * (1.0L - r));
}

static long double erfcx_of(long double x)
{
	if (x < 25)
		return expl(x * x) * erfcl(x);
	// What is left of the asymptotic series is far below a unit here.
	const long double z = 1 / (2 * x * x);
	return (1 -
		z * (1 -
		     3 * z * (1 - 5 * z * (1 - 7 * z * (1 - 9 * z * (1 - 11 * z * (1 - 13 * z * (1 - 15 * z)))))))) /
	       (x * sqrtl(pi));
}

static long double normcdf_of(long double x)
{
	return 0.5L * erfcl(-x / sqrtl(2.0L));
}

// The y in (0, 2) with erfc(x) = y: Newton's method on log(erfc), which is almost a parabola.
static long double erfcinv_of(long double y)
{
	if (y == 0 || y == 2)
		return y == 0 ? INFINITY : -INFINITY;
	if (!(y > 0 && y < 2))
		return NAN;
	if (y > 1)
		return -erfcinv_of(2 - y);
	long double x = y > 0.1L ? (1 - y) * 0.886L : sqrtl(std::max(-logl(y) - 0.5L * logl(-logl(y) * pi), 0.5L));
	for (int i = 0; i < 60; i++) {
		const long double f = erfcl(x), slope = -2 / sqrtl(pi) * expl(-x * x);
		const long double step = f == 0 ? 0 : (logl(f) - logl(y)) * f / slope;
		x -= step;
		if (std::fabs(step) <= std::fabs(x) * 1e-19L)
			break;
	}
	return x;
}

static long double erfinv_of(long double y)
{
	if (!(std::fabs(y) < 0.5L))
		return y < 0 ? -erfcinv_of(1 + y) : erfcinv_of(1 - y);
	long double x = y * sqrtl(pi) / 2;
	for (int i = 0; i < 60; i++)
		x -= (erfl(x) - y) * sqrtl(pi) / 2 * expl(x * x);
	return y == 0 ? y : x;
}

static long double normcdfinv_of(long double y)
{
	return -sqrtl(2.0L) * erfcinv_of(2 * y);
}

static long double rsqrt_of(long double x)
{
	return 1 / sqrtl(x);
}

static long double rcbrt_of(long double x)
{
	return 1 / cbrtl(x);
}

static long double exp10_of(long double x)
{
	return exp10l(x);
}

static long double rhypot_of(long double x, long double y)
{
	return 1 / hypotl(x, y);
}

// --- the functions: name, reference, domain (spread evenly over the floats' codes), units allowed in f32 and f64
// ------

// What is allowed beside the units: an absolute difference, where the documentation grants one.
#define UNARY(X)                                     \
	X(sqrt, sqrtl, 0, 1e30, 0, 0)                \
	X(rsqrt, rsqrt_of, 1e-30, 1e30, 2, 1)        \
	X(cbrt, cbrtl, -1e30, 1e30, 1, 1)            \
	X(rcbrt, rcbrt_of, 1e-30, 1e30, 1, 1)        \
	X(exp, expl, -80, 80, 1, 1)                  \
	X(exp2, exp2l, -120, 120, 2, 1)              \
	X(exp10, exp10_of, -35, 35, 2, 1)            \
	X(expm1, expm1l, -80, 80, 1, 1)              \
	X(log, logl, 0, 1e38, 1, 1)                  \
	X(log2, log2l, 0, 1e38, 1, 1)                \
	X(log10, log10l, 0, 1e38, 2, 1)              \
	X(log1p, log1pl, -0.999, 1e38, 1, 1)         \
	X(sin, sinl, -1e8, 1e8, 2, 2)                \
	X(cos, cosl, -1e8, 1e8, 2, 2)                \
	X(tan, tanl, -1e8, 1e8, 4, 2)                \
	X(sinpi, sin_pi, -1e5, 1e5, 1, 2)            \
	X(cospi, cos_pi, -1e5, 1e5, 1, 2)            \
	X(asin, asinl, -1, 1, 2, 2)                  \
	X(acos, acosl, -1, 1, 2, 2)                  \
	X(atan, atanl, -1e30, 1e30, 2, 2)            \
	X(sinh, sinhl, -80, 80, 3, 2)                \
	X(cosh, coshl, -80, 80, 2, 1)                \
	X(tanh, tanhl, -1e5, 1e5, 2, 1)              \
	X(asinh, asinhl, -1e30, 1e30, 3, 3)          \
	X(acosh, acoshl, 1, 1e30, 4, 3)              \
	X(atanh, atanhl, -1, 1, 3, 2)                \
	X(erf, erfl, -10, 10, 2, 2)                  \
	X(erfc, erfcl, -8, 8, 4, 5)                  \
	X(erfinv, erfinv_of, -1, 1, 2, 5)            \
	X(erfcinv, erfcinv_of, 1e-30, 2, 4, 6)       \
	X(erfcx, erfcx_of, -5, 1e30, 4, 4)           \
	X(normcdf, normcdf_of, -12, 12, 5, 5)        \
	X(normcdfinv, normcdfinv_of, 1e-30, 1, 5, 8) \
	X(lgamma, lgammal, 0.01, 1e30, 6, 4)         \
	X(tgamma, tgammal, 0.01, 30, 5, 10)          \
	X(ceil, ceill, -1e10, 1e10, 0, 0)            \
	X(floor, floorl, -1e10, 1e10, 0, 0)          \
	X(trunc, truncl, -1e10, 1e10, 0, 0)          \
	X(round, roundl, -1e10, 1e10, 0, 0)          \
	X(rint, rintl, -1e10, 1e10, 0, 0)            \
	X(nearbyint, nearbyintl, -1e10, 1e10, 0, 0)  \
	X(logb, logbl, 0, 1e38, 0, 0)                \
	X(fabs, fabsl, -1e38, 1e38, 0, 0)

#define BINARY(X)                                   \
	X(pow, powl, 1e-5, 1e5, 4, 2)               \
	X(atan2, atan2l, -1e10, 1e10, 3, 2)         \
	X(hypot, hypotl, -1e15, 1e15, 3, 2)         \
	X(rhypot, rhypot_of, 1e-15, 1e15, 2, 1)     \
	X(fmod, fmodl, -1e10, 1e10, 0, 0)           \
	X(remainder, remainderl, -1e10, 1e10, 0, 0) \
	X(fdim, fdiml, -1e10, 1e10, 0, 0)           \
	X(fmax, fmaxl, -1e10, 1e10, 0, 0)           \
	X(fmin, fminl, -1e10, 1e10, 0, 0)           \
	X(copysign, copysignl, -1e10, 1e10, 0, 0)

// Of f32 only, and fast: their errors are absolute, or grow with the argument.
#define FAST(X)                                                                \
	X(__expf, expl, -80, 80, 2 + std::floor(std::fabs(1.173 * x)), 0)      \
	X(__exp10f, exp10_of, -35, 35, 2 + std::floor(std::fabs(2.97 * x)), 0) \
	X(__logf, logl, 1e-30, 1e30, 3, x >= 0.5 && x <= 2 ? 0x1p-21 : 0)      \
	X(__log2f, log2l, 1e-30, 1e30, 2, x >= 0.5 && x <= 2 ? 0x1p-22 : 0)    \
	X(__log10f, log10l, 1e-30, 1e30, 3, x >= 0.5 && x <= 2 ? 0x1p-24 : 0)  \
	X(__sinf, sinl, -3.1415, 3.1415, 0, 0x1p-21)                           \
	X(__cosf, cosl, -3.1415, 3.1415, 0, 0x1p-21)                           \
	X(__fsqrt_rn, sqrtl, 0, 1e30, 0, 0)                                    \
	X(__frcp_rn, rcp_of, 1e-30, 1e30, 0, 0)                                \
	X(__frsqrt_rn, rsqrt_of, 1e-30, 1e30, 0, 0)

static long double rcp_of(long double x)
{
	return 1 / x;
}

#define NAME(name, ...) FUNCTION_##name,
enum { UNARY(NAME) BINARY(NAME) FAST(NAME) N_FUNCTIONS };

template <typename T> __device__ T compute(int function, T x, T y);

template <> __device__ float compute(int function, float x, float y)
{
	switch (function) {
#define CASE(name, ...)       \
	case FUNCTION_##name: \
		return name##f(x);
		UNARY(CASE)
#undef CASE
#define CASE(name, ...)       \
	case FUNCTION_##name: \
		return name##f(x, y);
		BINARY(CASE)
#undef CASE
#define CASE(name, ...)       \
	case FUNCTION_##name: \
		return name(x);
		FAST(CASE)
#undef CASE
	}
	return 0;
}

template <> __device__ double compute(int function, double x, double y)
{
	switch (function) {
#define CASE(name, ...)       \
	case FUNCTION_##name: \
		return name(x);
		UNARY(CASE)
#undef CASE
#define CASE(name, ...)       \
	case FUNCTION_##name: \
		return name(x, y);
		BINARY(CASE)
#undef CASE
	}
	return 0;
}

template <typename T> __global__ void run(int function, const T *x, const T *y, T *to, int n)
{
	const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (i < n)
		to[i] = compute<T>(function, x[i], y[i]);
}

// --- arguments and comparison ----------------------------------------------------------------------------------------

static const int n_arguments = 2048;

// Half of them of any magnitude in the domain, half of them spread evenly; and its ends.
template <typename T> static std::vector<T> arguments(double low, double high, unsigned seed)
{
	std::mt19937_64 random(seed);
	std::vector<T> x(n_arguments);

	for (int i = 0; i < n_arguments; i++) {
		const double unit = (double)(random() >> 11) * 0x1p-53;
		const double far = std::max(std::fabs(low), std::fabs(high));
		if (i % 2 == 0) {
			x[i] = (T)(low + unit * (high - low));
			continue;
		}
		const double magnitude =
			std::exp2(std::log2(1e-30) + unit * (std::log2(far + 1e-300) - std::log2(1e-30)));
		x[i] = (T)(low < 0 && random() % 2 != 0 ? -magnitude : magnitude);
		if (!(x[i] >= (T)low && x[i] <= (T)high))
			x[i] = (T)(low + unit * (high - low));
	}
	x[0] = (T)low;
	x[1] = (T)high;
	return x;
}

template <typename T> static long double unit_at(long double value)
{
	const int digits = std::numeric_limits<T>::digits, lowest = std::numeric_limits<T>::min_exponent;
	int exponent;

	frexpl(value, &exponent);
	return ldexpl(1, std::max(exponent, lowest) - digits);
}

template <typename T> static bool close_enough(T is, long double should, double units, double absolute)
{
	if (std::isnan(should))
		return std::isnan(is);
	if (std::isinf((T)should) || std::isinf(is))
		return (T)should == is ||
		       std::fabs((long double)is - should) <= units * unit_at<T>(std::numeric_limits<T>::max());
	// Half a unit: a result without error is the one next to the exact value.
	const long double error = std::fabs((long double)is - should);
	return error <= std::max((long double)absolute, (units + 0.5L) * unit_at<T>(should) * (1 + 1e-9L));
}

template <typename T, class Reference, class Units, class Absolute>
static void check(const char *name, int function, double low, double high, Reference reference, Units units,
		  Absolute absolute)
{
	const std::vector<T> x = arguments<T>(low, high, 1 + (unsigned)function), y = arguments<T>(low, high, 77);
	std::vector<T> results(n_arguments);
	T *from_x, *from_y, *to;
	int n_wrong = 0;

	TRY(cudaMalloc(&from_x, n_arguments * sizeof(T)));
	TRY(cudaMalloc(&from_y, n_arguments * sizeof(T)));
	TRY(cudaMalloc(&to, n_arguments * sizeof(T)));
	TRY(cudaMemcpy(from_x, x.data(), n_arguments * sizeof(T), cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(from_y, y.data(), n_arguments * sizeof(T), cudaMemcpyHostToDevice));
	run<T><<<n_arguments / 256, 256>>>(function, from_x, from_y, to, n_arguments);
	LAUNCHED();
	TRY(cudaMemcpy(results.data(), to, n_arguments * sizeof(T), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n_arguments && n_wrong < 3; i++) {
		const long double should = reference(x[i], y[i]);
		n_wrong += !sample::expect(close_enough(results[i], should, units(x[i]), absolute(x[i])),
					   "%s of %zu bytes: (%a, %a) gives %.17g, not %.17Lg", name, sizeof(T),
					   (double)x[i], (double)y[i], (double)results[i], should);
	}
	TRY(cudaFree(from_x));
	TRY(cudaFree(from_y));
	TRY(cudaFree(to));
}

int main()
{
	const auto none = [](double) { return 0.0; };

#define CHECK(name, reference, low, high, units_f32, units_f64)                                                \
	check<float>(                                                                                          \
		#name, FUNCTION_##name, low, high, [](float x, float) { return reference((long double)x); },   \
		[](double) { return (double)units_f32; }, none);                                               \
	check<double>(                                                                                         \
		#name, FUNCTION_##name, low, high, [](double x, double) { return reference((long double)x); }, \
		[](double) { return (double)units_f64; }, none);
	UNARY(CHECK)
#undef CHECK
#define CHECK(name, reference, low, high, units_f32, units_f64)                               \
	check<float>(                                                                         \
		#name, FUNCTION_##name, low, high,                                            \
		[](float x, float y) { return reference((long double)x, (long double)y); },   \
		[](double) { return (double)units_f32; }, none);                              \
	check<double>(                                                                        \
		#name, FUNCTION_##name, low, high,                                            \
		[](double x, double y) { return reference((long double)x, (long double)y); }, \
		[](double) { return (double)units_f64; }, none);
	BINARY(CHECK)
#undef CHECK
#define CHECK(name, reference, low, high, units, absolute)                                                   \
	check<float>(                                                                                        \
		#name, FUNCTION_##name, low, high, [](float x, float) { return reference((long double)x); }, \
		[](double x) {                                                                               \
			(void)x;                                                                             \
			return (double)(units);                                                              \
		},                                                                                           \
		[](double x) {                                                                               \
			(void)x;                                                                             \
			return (double)(absolute);                                                           \
		});
	FAST(CHECK)
#undef CHECK
	return sample::finish("math_functions");
}

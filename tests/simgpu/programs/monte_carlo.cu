// SPDX-License-Identifier: Apache-2.0
//
// Monte Carlo with a counter-based generator (Philox 4x32-10): pi by points in a circle, and the price of an option
// with its closed form to compare with. The draws depend on nothing but seed and counter, so the host repeats them
// exactly. Exercises: mul.hi and mul.lo, many registers, integer to float conversion, Box-Muller by logf, sqrtf and
// sincospif, expf, block sums in f64, 64-bit atomics.
#include "sample.h"

struct Counter {
	uint32_t word[4];
};

__host__ __device__ static uint32_t high_product(uint32_t a, uint32_t b)
{
#ifdef __CUDA_ARCH__
	return __umulhi(a, b);
#else
	return (uint32_t)(((uint64_t)a * b) >> 32);
#endif
}

// Ten rounds, as Salmon et al. define them.
__host__ __device__ static Counter philox(Counter counter, uint32_t key0, uint32_t key1)
{
	for (int round = 0; round < 10; round++) {
		const uint32_t high0 = high_product(0xd2511f53u, counter.word[0]), low0 = 0xd2511f53u * counter.word[0];
		const uint32_t high1 = high_product(0xcd9e8d57u, counter.word[2]), low1 = 0xcd9e8d57u * counter.word[2];
		counter = { { high1 ^ counter.word[1] ^ key0, low1, high0 ^ counter.word[3] ^ key1, low0 } };
		key0 += 0x9e3779b9u;
		key1 += 0xbb67ae85u;
	}
	return counter;
}

// In (0, 1], exact.
__device__ static float uniform(uint32_t bits)
{
	return (float)((bits >> 8) + 1) * 0x1p-24f;
}

__host__ __device__ static unsigned inside_of(uint64_t i)
{
	const Counter draw = philox({ { (uint32_t)i, (uint32_t)(i >> 32), 0, 0 } }, 7, 11);
	unsigned n = 0;
	for (int k = 0; k < 4; k += 2) {
		// Integer arithmetic: no rounding to differ in.
		const uint64_t x = draw.word[k] >> 1, y = draw.word[k + 1] >> 1;
		n += x * x + y * y < 1ull << 62;
	}
	return n;
}

__global__ void count_inside(uint64_t n, unsigned long long *n_inside)
{
	unsigned own = 0;
	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (uint64_t)gridDim.x * blockDim.x)
		own += inside_of(i);
	own = __reduce_add_sync(0xffffffffu, own);
	if (threadIdx.x % 32 == 0)
		atomicAdd(n_inside, (unsigned long long)own);
}

struct Option {
	float spot, strike, rate, volatility, years;
};

// The value at the end of a path, discounted, for two antithetic normal numbers from one draw.
__global__ void price(Option option, unsigned n, double *sum, double *sum_of_squares)
{
	const float drift = (option.rate - 0.5f * option.volatility * option.volatility) * option.years;
	const float spread = option.volatility * sqrtf(option.years), discount = expf(-option.rate * option.years);
	double own = 0, own_squares = 0;
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		const Counter draw = philox({ { i, 0, 1, 0 } }, 7, 11);
		const float radius = sqrtf(-2.0f * logf(uniform(draw.word[0])));
		float sine, cosine;
		sincospif(2.0f * uniform(draw.word[1]), &sine, &cosine);
		const float normals[4] = { radius * sine, -radius * sine, radius * cosine, -radius * cosine };
		float value = 0;
		for (float normal : normals)
			value +=
				fmaxf(option.spot * expf(fmaf(spread, normal, drift)) - option.strike, 0.0f) * discount;
		own += 0.25 * value;
		own_squares += 0.0625 * value * value;
	}
	for (int distance = 16; distance > 0; distance /= 2) {
		own += __shfl_down_sync(0xffffffffu, own, distance);
		own_squares += __shfl_down_sync(0xffffffffu, own_squares, distance);
	}
	if (threadIdx.x % 32 == 0) {
		atomicAdd(sum, own);
		atomicAdd(sum_of_squares, own_squares);
	}
}

static double normal_cdf(double x)
{
	return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

static double closed_form(const Option &option)
{
	const double spread = option.volatility * std::sqrt((double)option.years);
	const double d1 = (std::log((double)option.spot / option.strike) +
			   (option.rate + 0.5 * option.volatility * option.volatility) * option.years) /
			  spread;
	return option.spot * normal_cdf(d1) -
	       option.strike * std::exp(-(double)option.rate * option.years) * normal_cdf(d1 - spread);
}

int main()
{
	// The generator's published answers for a counter and key of zeros, and of ones.
	const Counter zeros = philox({ { 0, 0, 0, 0 } }, 0, 0), ones = philox({ { ~0u, ~0u, ~0u, ~0u } }, ~0u, ~0u);
	sample::expect(zeros.word[0] == 0x6627e8d5u && zeros.word[3] == 0x9b00dbd8u, "philox of zeros");
	sample::expect(ones.word[0] == 0x408f276du && ones.word[3] == 0x6d5451fdu, "philox of ones: %x .. %x",
		       ones.word[0], ones.word[3]);

	const uint64_t n = 60000;
	sample::Array<unsigned long long> n_inside(1);
	n_inside.fill_bytes(0);
	count_inside<<<16, 128>>>(n, n_inside);
	LAUNCHED();
	uint64_t should = 0;
	for (uint64_t i = 0; i < n; i++)
		should += inside_of(i);
	const uint64_t is = n_inside.get()[0];
	const double pi = 4.0 * (double)is / (2.0 * (double)n);
	sample::expect(is == should, "points inside: %llu, not %llu", (unsigned long long)is,
		       (unsigned long long)should);
	sample::expect(std::fabs(pi - M_PI) < 0.02, "pi: %g", pi);
	printf("pi is about %.4f\n", pi);

	const Option option = { 100.0f, 105.0f, 0.03f, 0.2f, 1.5f };
	const unsigned n_paths = 20000;
	sample::Array<double> sums(2);
	sums.fill_bytes(0);
	price<<<16, 128>>>(option, n_paths, sums, sums + 1);
	LAUNCHED();
	const double mean = sums.get()[0] / n_paths, variance = sums.get()[1] / n_paths - mean * mean;
	const double error = std::sqrt(variance / n_paths);
	sample::expect(std::fabs(mean - closed_form(option)) < 4 * error, "price: %g +- %g, not %g", mean, error,
		       closed_form(option));
	return sample::finish("monte_carlo");
}

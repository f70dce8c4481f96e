// SPDX-License-Identifier: Apache-2.0
//
// The sum (and the smallest and largest element) of an array in seven ways, from the textbook's first attempt to one
// instruction for a warp. Every way has to give the exact sum of the integers.
// Exercises: barriers, divergence, shared memory by strides, volatile warps, shuffles, redux, atomics, a last block
// that finishes the work (fence and ticket), f64 sums of a fixed order.
#include "sample.h"

#include <algorithm>
#include <climits>

static constexpr unsigned block_size = 256;

// 1: interleaved addresses, threads taking turns by a remainder: most of a warp idle.
__global__ void interleaved(const int *values, int *sums, unsigned n)
{
	__shared__ int shared[block_size];
	const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	shared[t] = i < n ? values[i] : 0;
	__syncthreads();
	for (unsigned step = 1; step < blockDim.x; step *= 2) {
		if (t % (2 * step) == 0)
			shared[t] += shared[t + step];
		__syncthreads();
	}
	if (t == 0)
		sums[blockIdx.x] = shared[0];
}

// 2: the same sums by the first threads of the block: whole warps idle, but bank conflicts.
__global__ void strided(const int *values, int *sums, unsigned n)
{
	__shared__ int shared[block_size];
	const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
	shared[t] = i < n ? values[i] : 0;
	__syncthreads();
	for (unsigned step = 1; step < blockDim.x; step *= 2) {
		const unsigned index = 2 * step * t;
		if (index < blockDim.x)
			shared[index] += shared[index + step];
		__syncthreads();
	}
	if (t == 0)
		sums[blockIdx.x] = shared[0];
}

// 3: sequential addresses, and two elements at the first step.
__global__ void sequential(const int *values, int *sums, unsigned n)
{
	__shared__ int shared[block_size];
	const unsigned t = threadIdx.x, i = blockIdx.x * blockDim.x * 2 + t;
	shared[t] = (i < n ? values[i] : 0) + (i + blockDim.x < n ? values[i + blockDim.x] : 0);
	__syncthreads();
	for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half)
			shared[t] += shared[t + half];
		__syncthreads();
	}
	if (t == 0)
		sums[blockIdx.x] = shared[0];
}

// 4: the last warp without barriers of the block, unrolled.
__global__ void unrolled(const int *values, int *sums, unsigned n)
{
	__shared__ int shared[block_size];
	const unsigned t = threadIdx.x;
	int sum = 0;
	for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		sum += values[i];
	shared[t] = sum;
	__syncthreads();
#pragma unroll
	for (unsigned half = block_size / 2; half > 32; half /= 2) {
		if (t < half)
			shared[t] += shared[t + half];
		__syncthreads();
	}
	if (t < 32) {
		volatile int *warp = shared;
#pragma unroll
		for (unsigned half = 32; half > 0; half /= 2) {
			const int both = warp[t] + warp[t + half];
			__syncwarp();
			warp[t] = both;
			__syncwarp();
		}
	}
	if (t == 0)
		sums[blockIdx.x] = shared[0];
}

// 5: shuffles within a warp, one word of shared memory a warp.
__global__ void shuffled(const int *values, int *sums, unsigned n)
{
	__shared__ int shared[block_size / 32];
	const unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
	int sum = 0;
	for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		sum += values[i];
	for (unsigned distance = 16; distance > 0; distance /= 2)
		sum += __shfl_down_sync(0xffffffffu, sum, distance);
	if (lane == 0)
		shared[warp] = sum;
	__syncthreads();
	if (warp == 0) {
		sum = lane < block_size / 32 ? shared[lane] : 0;
		for (unsigned distance = 16; distance > 0; distance /= 2)
			sum += __shfl_xor_sync(0xffffffffu, sum, distance);
		if (lane == 0)
			sums[blockIdx.x] = sum;
	}
}

struct Extremes {
	int sum, smallest, largest;
	unsigned any, all;
};

// 6: one instruction a warp, atomics for the rest; the smallest, the largest, and bits as well.
__global__ void redux(const int *values, Extremes *result, unsigned n)
{
	for (unsigned start = blockIdx.x * blockDim.x; start < n; start += gridDim.x * blockDim.x) {
		const unsigned i = start + threadIdx.x;
		const bool inside = i < n;
		const int sum = __reduce_add_sync(0xffffffffu, inside ? values[i] : 0);
		const int smallest = __reduce_min_sync(0xffffffffu, inside ? values[i] : INT_MAX);
		const int largest = __reduce_max_sync(0xffffffffu, inside ? values[i] : INT_MIN);
		const unsigned any = __reduce_or_sync(0xffffffffu, inside ? (unsigned)values[i] : 0u);
		const unsigned all = __reduce_and_sync(0xffffffffu, inside ? (unsigned)values[i] : ~0u);
		if (threadIdx.x % 32 == 0) {
			atomicAdd(&result->sum, sum);
			atomicMin(&result->smallest, smallest);
			atomicMax(&result->largest, largest);
			atomicOr(&result->any, any);
			atomicAnd(&result->all, all);
		}
	}
}

__device__ unsigned n_finished;

// 7: one launch: whichever block finishes last adds up the others' sums, always in the same order.
__global__ void last_block(const double *values, double *partial, double *result, unsigned n)
{
	__shared__ double shared[block_size];
	__shared__ bool is_last;
	const unsigned t = threadIdx.x;
	double sum = 0.0;
	for (unsigned i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x)
		sum += values[i];
	shared[t] = sum;
	__syncthreads();
	for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
		if (t < half)
			shared[t] += shared[t + half];
		__syncthreads();
	}
	if (t == 0) {
		partial[blockIdx.x] = shared[0];
		__threadfence();
		is_last = atomicInc(&n_finished, gridDim.x - 1) == gridDim.x - 1;
	}
	__syncthreads();
	if (is_last && t == 0) {
		double total = 0.0;
		for (unsigned i = 0; i < gridDim.x; i++)
			total += static_cast<volatile double *>(partial)[i];
		*result = total;
	}
}

// What last_block() does, in its order.
static double sum_in_order(const std::vector<double> &values, unsigned blocks)
{
	double total = 0.0;
	for (unsigned block = 0; block < blocks; block++) {
		std::vector<double> shared(block_size, 0.0);
		for (unsigned t = 0; t < block_size; t++)
			for (size_t i = block * block_size + t; i < values.size(); i += (size_t)blocks * block_size)
				shared[t] += values[i];
		for (unsigned half = block_size / 2; half > 0; half /= 2)
			for (unsigned t = 0; t < half; t++)
				shared[t] += shared[t + half];
		total += shared[0];
	}
	return total;
}

typedef void (*BlockKernel)(const int *, int *, unsigned);

static void run_block_kernel(const char *name, BlockKernel kernel, const std::vector<int> &values, unsigned blocks)
{
	const sample::Array<int> device_values(values), device_sums(blocks);
	kernel<<<blocks, block_size>>>(device_values, device_sums, (unsigned)values.size());
	LAUNCHED();
	int sum = 0, should = 0;
	for (int part : device_sums.get())
		sum += part;
	for (int value : values)
		should += value;
	sample::expect(sum == should, "%s: %d, not %d", name, sum, should);
	printf("%-12s %d\n", name, sum);
}

int main()
{
	const unsigned n = 50011, blocks = (n + block_size - 1) / block_size;
	sample::Random random(11);
	std::vector<int> values(n);
	std::vector<double> reals(n);
	for (unsigned i = 0; i < n; i++) {
		values[i] = (int)random.below(20001) - 10000;
		reals[i] = random.real() * 1e3;
	}
	run_block_kernel("interleaved", interleaved, values, blocks);
	run_block_kernel("strided", strided, values, blocks);
	run_block_kernel("sequential", sequential, values, (blocks + 1) / 2);
	run_block_kernel("unrolled", unrolled, values, 24);
	run_block_kernel("shuffled", shuffled, values, 24);

	const sample::Array<int> device_values(values);
	const sample::Array<Extremes> device_extremes(std::vector<Extremes>{ { 0, INT_MAX, INT_MIN, 0, ~0u } });
	redux<<<16, block_size>>>(device_values, device_extremes, n);
	LAUNCHED();
	const Extremes is = device_extremes.get()[0];
	Extremes should = { 0, INT_MAX, INT_MIN, 0, ~0u };
	for (int value : values)
		should = { should.sum + value, std::min(should.smallest, value), std::max(should.largest, value),
			   should.any | (unsigned)value, should.all & (unsigned)value };
	sample::expect(is.sum == should.sum && is.smallest == should.smallest && is.largest == should.largest &&
			       is.any == should.any && is.all == should.all,
		       "redux: %d %d %d %x %x", is.sum, is.smallest, is.largest, is.any, is.all);
	printf("%-12s %d, %d to %d\n", "redux", is.sum, is.smallest, is.largest);

	const sample::Array<double> device_reals(reals), device_partial(24), device_total(1);
	for (int repeat = 0; repeat < 3; repeat++) { // the ticket goes back to 0 by itself
		last_block<<<24, block_size>>>(device_reals, device_partial, device_total, n);
		LAUNCHED();
		sample::expect_equal("last block", device_total.get(), { sum_in_order(reals, 24) });
	}
	return sample::finish("reductions");
}

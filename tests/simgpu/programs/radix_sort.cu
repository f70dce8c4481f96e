// SPDX-License-Identifier: Apache-2.0
//
// Least significant digit radix sort of keys with values, four bits a pass: count by blocks, scan the counts, scatter.
// Stable, so values of equal keys stay in order. Sorts unsigned numbers and, by turning bits, signed ones and floats.
// Exercises: ballots to rank within a warp, shared counters, a column-major table of counts, scattered stores, bits of
// floats.
#include "sample.h"

#include <algorithm>
#include <cstring>

static constexpr unsigned digit_bits = 4, n_digits = 1u << digit_bits, block_size = 128, warps = block_size / 32;

// counts[digit * blocks + block]: so that one scan over the table gives where each block's digits go.
__global__ void count_digits(const unsigned *keys, unsigned n, unsigned shift, unsigned *counts)
{
	__shared__ unsigned shared[n_digits];
	if (threadIdx.x < n_digits)
		shared[threadIdx.x] = 0;
	__syncthreads();
	const unsigned i = blockIdx.x * block_size + threadIdx.x;
	if (i < n)
		atomicAdd(&shared[keys[i] >> shift & (n_digits - 1)], 1u);
	__syncthreads();
	if (threadIdx.x < n_digits)
		counts[threadIdx.x * gridDim.x + blockIdx.x] = shared[threadIdx.x];
}

// One block: exclusive scan in place, a stretch of the table a thread.
__global__ void scan_counts(unsigned *counts, unsigned n)
{
	__shared__ unsigned sums[block_size];
	const unsigned each = (n + block_size - 1) / block_size, first = threadIdx.x * each, end = min(first + each, n);
	unsigned sum = 0;
	for (unsigned i = first; i < end; i++)
		sum += counts[i];
	sums[threadIdx.x] = sum;
	__syncthreads();
	if (threadIdx.x == 0) {
		unsigned running = 0;
		for (unsigned i = 0; i < block_size; i++) {
			const unsigned own = sums[i];
			sums[i] = running;
			running += own;
		}
	}
	__syncthreads();
	sum = sums[threadIdx.x];
	for (unsigned i = first; i < end; i++) {
		const unsigned own = counts[i];
		counts[i] = sum;
		sum += own;
	}
}

// The lanes of this warp with the same digit: one ballot a bit.
__device__ unsigned lanes_with(unsigned digit, bool present)
{
	unsigned lanes = __ballot_sync(0xffffffffu, present);
	for (unsigned bit = 0; bit < digit_bits; bit++) {
		const unsigned set = __ballot_sync(0xffffffffu, digit >> bit & 1);
		lanes &= digit >> bit & 1 ? set : ~set;
	}
	return lanes;
}

__global__ void scatter(const unsigned *keys, const unsigned *values, unsigned *sorted_keys, unsigned *sorted_values,
			unsigned n, unsigned shift, const unsigned *positions)
{
	__shared__ unsigned warp_counts[warps][n_digits];
	const unsigned i = blockIdx.x * block_size + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const bool present = i < n;
	const unsigned key = present ? keys[i] : 0, digit = key >> shift & (n_digits - 1);
	if (lane < n_digits)
		warp_counts[warp][lane] = 0;
	__syncwarp();
	const unsigned same = lanes_with(digit, present);
	const unsigned before = __popc(same & ((1u << lane) - 1));
	if (present && before == 0)
		warp_counts[warp][digit] = __popc(same);
	__syncthreads();
	if (!present)
		return;
	unsigned position = positions[digit * gridDim.x + blockIdx.x] + before;
	for (unsigned other = 0; other < warp; other++)
		position += warp_counts[other][digit];
	sorted_keys[position] = key;
	sorted_values[position] = values[i];
}

// A float's order as an unsigned number's: negative ones reversed, positive ones above them.
__global__ void float_bits(unsigned *bits, unsigned n, bool back)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		const unsigned sign_of = back ? ~bits[i] : bits[i];
		bits[i] ^= (unsigned)((int)sign_of >> 31) | 0x80000000u;
	}
}

static void sort_pairs(unsigned *keys, unsigned *values, unsigned n)
{
	const unsigned blocks = (n + block_size - 1) / block_size;
	const sample::Array<unsigned> other_keys(n), other_values(n), counts(n_digits * blocks);
	unsigned *from_keys = keys, *from_values = values, *to_keys = other_keys, *to_values = other_values;
	for (unsigned shift = 0; shift < 32; shift += digit_bits) {
		count_digits<<<blocks, block_size>>>(from_keys, n, shift, counts);
		scan_counts<<<1, block_size>>>(counts, n_digits * blocks);
		scatter<<<blocks, block_size>>>(from_keys, from_values, to_keys, to_values, n, shift, counts);
		LAUNCHED();
		std::swap(from_keys, to_keys);
		std::swap(from_values, to_values);
	}
	// An even number of passes: the result is where the caller's keys were.
}

static void run_unsigned(unsigned n, unsigned n_different)
{
	sample::Random random(n);
	std::vector<unsigned> keys(n), values(n), order(n);
	for (unsigned i = 0; i < n; i++) {
		keys[i] = n_different != 0 ? random.below(n_different) * 0x01234567u : (unsigned)random.next();
		values[i] = order[i] = i;
	}
	const sample::Array<unsigned> device_keys(keys), device_values(values);
	sort_pairs(device_keys, device_values, n);
	std::stable_sort(order.begin(), order.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
	sample::expect_equal("order", device_values.get(), order);
	std::sort(keys.begin(), keys.end());
	sample::expect_equal("keys", device_keys.get(), keys);
}

static void run_float(unsigned n)
{
	sample::Random random(5);
	std::vector<float> reals(n);
	std::vector<unsigned> bits(n), zeros(n, 0);
	for (float &real : reals)
		real = ldexpf(random.real(), (int)random.below(200) - 100);
	reals[0] = -INFINITY;
	reals[1] = INFINITY;
	reals[2] = 0.0f;
	memcpy(bits.data(), reals.data(), n * sizeof(float));
	const sample::Array<unsigned> device_bits(bits), device_values(zeros);
	float_bits<<<(n + 255) / 256, 256>>>(device_bits, n, false);
	sort_pairs(device_bits, device_values, n);
	float_bits<<<(n + 255) / 256, 256>>>(device_bits, n, true);
	LAUNCHED();
	bits = device_bits.get();
	std::sort(reals.begin(), reals.end());
	std::vector<float> sorted(n);
	memcpy(sorted.data(), bits.data(), n * sizeof(float));
	sample::expect_equal("floats", sorted, reals);
}

int main()
{
	run_unsigned(10000, 0);
	run_unsigned(5001, 7);
	run_unsigned(1, 0);
	run_float(4003);
	return sample::finish("radix_sort");
}

// SPDX-License-Identifier: Apache-2.0
//
// Prefix sums: within a block by doubling distances, within a block by warps, and over the whole array in one pass, in
// which each block publishes its sum and looks back at its predecessors until it knows what came before.
// Exercises: shuffles, barriers, a dynamic block number, flags and values in one 64-bit word, spinning on other blocks,
// fences, 64-bit sums.
#include "sample.h"

static constexpr unsigned block_size = 128, per_thread = 4, block_items = block_size * per_thread;

// Inclusive, doubling the distance at each step, two buffers in turn.
__global__ void scan_doubling(const unsigned *values, unsigned *sums)
{
	__shared__ unsigned buffers[2][block_size];
	const unsigned t = threadIdx.x;
	unsigned current = 0;
	buffers[0][t] = values[blockIdx.x * blockDim.x + t];
	__syncthreads();
	for (unsigned distance = 1; distance < blockDim.x; distance *= 2, current ^= 1) {
		buffers[current ^ 1][t] = buffers[current][t] + (t >= distance ? buffers[current][t - distance] : 0);
		__syncthreads();
	}
	sums[blockIdx.x * blockDim.x + t] = buffers[current][t];
}

// The sum of all threads before this one, and of the whole block.
__device__ uint64_t exclusive_in_block(uint64_t value, uint64_t *ret_total)
{
	__shared__ uint64_t warp_sums[block_size / 32];
	const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	uint64_t sum = value;
	for (unsigned distance = 1; distance < 32; distance *= 2) {
		const uint64_t other = __shfl_up_sync(0xffffffffu, sum, distance);
		if (lane >= distance)
			sum += other;
	}
	if (lane == 31)
		warp_sums[warp] = sum;
	__syncthreads();
	uint64_t before = 0, total = 0;
	for (unsigned i = 0; i < block_size / 32; i++) {
		before += i < warp ? warp_sums[i] : 0;
		total += warp_sums[i];
	}
	__syncthreads();
	*ret_total = total;
	return before + sum - value;
}

// A block's state in one word: two bits what is known, the rest the sum.
static constexpr uint64_t nothing = 0, own_sum = 1ull << 62, sum_up_to_here = 2ull << 62, value_mask = own_sum - 1;

__device__ void publish(unsigned long long *state, uint64_t kind, uint64_t sum)
{
	__threadfence();
	atomicExch(state, kind | (sum & value_mask));
}

// One warp looks at 32 predecessors at a time, nearest first.
__device__ uint64_t look_back(volatile unsigned long long *states, int block)
{
	const int lane = threadIdx.x % 32;
	uint64_t before = 0;
	for (int nearest = block - 1; nearest >= 0; nearest -= 32) {
		const int mine = nearest - lane;
		uint64_t state;
		do
			state = mine >= 0 ? states[mine] : sum_up_to_here;
		while (__any_sync(0xffffffffu, (state & ~value_mask) == nothing));
		const unsigned complete = __ballot_sync(0xffffffffu, (state & ~value_mask) == sum_up_to_here);
		const int last = complete != 0 ? __ffs(complete) - 1 : 31;
		uint64_t part = lane <= last ? state & value_mask : 0;
		for (int distance = 16; distance > 0; distance /= 2)
			part += __shfl_xor_sync(0xffffffffu, part, distance);
		before += part;
		if (complete != 0)
			break;
	}
	return before;
}

__global__ void scan_single_pass(const unsigned *values, uint64_t *sums, unsigned n, unsigned long long *states,
				 unsigned *next_block)
{
	__shared__ unsigned shared_block;
	__shared__ uint64_t shared_before;
	// Blocks number themselves as they start: whoever is waited for has started.
	if (threadIdx.x == 0)
		shared_block = atomicAdd(next_block, 1);
	__syncthreads();
	const unsigned block = shared_block, first = block * block_items + threadIdx.x * per_thread;
	uint64_t own[per_thread], thread_sum = 0, total;
	for (unsigned i = 0; i < per_thread; i++) {
		thread_sum += first + i < n ? values[first + i] : 0;
		own[i] = thread_sum;
	}
	const uint64_t in_block = exclusive_in_block(thread_sum, &total);
	if (threadIdx.x == 0)
		publish(&states[block], block == 0 ? sum_up_to_here : own_sum, total);
	if (threadIdx.x < 32) {
		const uint64_t before = block == 0 ? 0 : look_back(states, (int)block);
		if (threadIdx.x == 0) {
			if (block != 0)
				publish(&states[block], sum_up_to_here, before + total);
			shared_before = before;
		}
	}
	__syncthreads();
	for (unsigned i = 0; i < per_thread; i++)
		if (first + i < n)
			sums[first + i] = shared_before + in_block + own[i];
}

static std::vector<unsigned> random_values(unsigned n, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<unsigned> values(n);
	for (unsigned &value : values)
		value = (unsigned)random.next();
	return values;
}

static void run_blocks(unsigned blocks)
{
	const std::vector<unsigned> values = random_values(blocks * block_size, 1);
	const sample::Array<unsigned> device_values(values), device_sums(values.size());
	scan_doubling<<<blocks, block_size>>>(device_values, device_sums);
	LAUNCHED();
	std::vector<unsigned> should(values.size());
	for (size_t i = 0; i < values.size(); i++)
		should[i] = (i % block_size != 0 ? should[i - 1] : 0) + values[i];
	sample::expect_equal("within blocks", device_sums.get(), should);
}

static void run_single_pass(unsigned n)
{
	const std::vector<unsigned> values = random_values(n, n);
	const unsigned blocks = (n + block_items - 1) / block_items;
	const sample::Array<unsigned> device_values(values);
	const sample::Array<uint64_t> device_sums(n);
	sample::Array<unsigned long long> states(blocks);
	sample::Array<unsigned> next_block(1);
	states.fill_bytes(0);
	next_block.fill_bytes(0);
	scan_single_pass<<<blocks, block_size>>>(device_values, device_sums, n, states, next_block);
	LAUNCHED();
	std::vector<uint64_t> should(n);
	uint64_t sum = 0;
	for (unsigned i = 0; i < n; i++)
		should[i] = sum += values[i];
	sample::expect_equal("whole array", device_sums.get(), should);
	printf("%u values in %u blocks: %llu\n", n, blocks, (unsigned long long)sum);
}

int main()
{
	run_blocks(5);
	run_single_pass(1);
	run_single_pass(block_items);
	run_single_pass(100003);
	return sample::finish("scan");
}

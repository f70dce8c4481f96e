// SPDX-License-Identifier: Apache-2.0
//
// Cooperative groups below the grid: tiles of 1 to 32 lanes and of several warps, groups of the lanes that happen to be
// together, groups by a label or a condition, their shuffles, votes, reductions and scans.
// Exercises: what cooperative_groups makes of shfl, vote, match, activemask, bar with a number of threads, redux; in
// diverged code, too.
#include "sample.h"

#include <algorithm>
#include <climits>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

static constexpr unsigned n_threads = 128;

// Sum, maximum, running sums and a rotation within tiles of a fixed size.
template <unsigned lanes> __global__ void in_tiles(const int *values, int4 *results)
{
	const cg::thread_block block = cg::this_thread_block();
	const cg::thread_block_tile<lanes> tile = cg::tiled_partition<lanes>(block);
	const unsigned i = block.thread_rank();
	const int own = values[i];
	int4 result;
	result.x = cg::reduce(tile, own, cg::plus<int>());
	result.y = cg::reduce(tile, own, cg::greater<int>());
	result.z = cg::inclusive_scan(tile, own);
	result.w = tile.shfl(own, (tile.thread_rank() + 1) % lanes);
	results[i] = result;
}

// The same when the number of lanes is known only at run time, by hand.
__global__ void in_dynamic_tiles(const int *values, int4 *results, unsigned lanes)
{
	const cg::thread_group tile = cg::tiled_partition(cg::this_thread_block(), lanes);
	__shared__ int shared[n_threads];
	const unsigned i = threadIdx.x, first = i / lanes * lanes;
	shared[i] = values[i];
	tile.sync();
	int4 result = { 0, INT_MIN, 0, shared[first + (tile.thread_rank() + 1) % tile.size()] };
	for (unsigned k = 0; k < tile.size(); k++) {
		result.x += shared[first + k];
		result.y = max(result.y, shared[first + k]);
		result.z += k <= tile.thread_rank() ? shared[first + k] : 0;
	}
	results[i] = result;
}

static void run_tiles(unsigned lanes, const std::vector<int> &values)
{
	const sample::Array<int> device_values(values);
	const sample::Array<int4> results(n_threads);
	switch (lanes) {
	case 1:
		in_tiles<1><<<1, n_threads>>>(device_values, results);
		break;
	case 4:
		in_tiles<4><<<1, n_threads>>>(device_values, results);
		break;
	case 16:
		in_tiles<16><<<1, n_threads>>>(device_values, results);
		break;
	case 32:
		in_tiles<32><<<1, n_threads>>>(device_values, results);
		break;
	default:
		in_dynamic_tiles<<<1, n_threads>>>(device_values, results, lanes);
	}
	LAUNCHED();
	const std::vector<int4> is = results.get();
	for (unsigned i = 0; i < n_threads; i++) {
		const unsigned first = i / lanes * lanes;
		int4 should = { 0, INT_MIN, 0, values[first + (i + 1 - first) % lanes] };
		for (unsigned k = first; k < first + lanes; k++) {
			should.x += values[k];
			should.y = std::max(should.y, values[k]);
			should.z += k <= i ? values[k] : 0;
		}
		if (!sample::expect(is[i].x == should.x && is[i].y == should.y && is[i].z == should.z &&
					    is[i].w == should.w,
				    "tiles of %u, thread %u: %d %d %d %d, not %d %d %d %d", lanes, i, is[i].x, is[i].y,
				    is[i].z, is[i].w, should.x, should.y, should.z, should.w))
			return;
	}
}

// Lanes that take the same way through the code make up a group and get consecutive places with one atomic.
__global__ void filter(const int *values, int n, int *kept, int *n_kept)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && values[i] > 0) {
		const cg::coalesced_group group = cg::coalesced_threads();
		int start = 0;
		if (group.thread_rank() == 0)
			start = atomicAdd(n_kept, (int)group.size());
		kept[group.shfl(start, 0) + group.thread_rank()] = values[i];
	}
}

// Lanes with the same label: how many, and their sum; and groups by a condition.
__global__ void by_label(const int *values, int *sums, int *n_small)
{
	const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
	const int own = values[threadIdx.x];
	const cg::coalesced_group same = cg::labeled_partition(warp, own & 3);
	sums[threadIdx.x] = cg::reduce(same, own, cg::plus<int>()) * 100 + (int)same.size();
	const cg::coalesced_group half = cg::binary_partition(warp, own > 0);
	n_small[threadIdx.x] = half.all(own > 0) ? -(int)half.size() : (int)half.size();
}

static void run_groups(const std::vector<int> &values)
{
	const sample::Array<int> device_values(values), kept(values.size()), sums(n_threads), n_small(n_threads);
	sample::Array<int> n_kept(1);
	n_kept.fill_bytes(0);
	filter<<<2, n_threads / 2>>>(device_values, (int)values.size() - 3, kept, n_kept);
	LAUNCHED();
	std::vector<int> should, is = kept.get();
	for (unsigned i = 0; i < values.size() - 3; i++)
		if (values[i] > 0)
			should.push_back(values[i]);
	is.resize(std::min((size_t)n_kept.get()[0], is.size()));
	std::sort(is.begin(), is.end());
	std::sort(should.begin(), should.end());
	sample::expect_equal("kept", is, should);

	by_label<<<1, n_threads>>>(device_values, sums, n_small);
	LAUNCHED();
	std::vector<int> should_sums(n_threads, 0), should_small(n_threads, 0);
	for (unsigned i = 0; i < n_threads; i++) {
		for (unsigned k = i / 32 * 32; k < i / 32 * 32 + 32; k++) {
			if ((values[k] & 3) == (values[i] & 3))
				should_sums[i] += values[k] * 100 + 1;
			if ((values[k] > 0) == (values[i] > 0))
				should_small[i] += values[i] > 0 ? -1 : 1;
		}
	}
	sample::expect_equal("labels", sums.get(), should_sums);
	sample::expect_equal("halves", n_small.get(), should_small);
}

// Two warps of a block meet without the others, which have left the kernel.
__global__ void two_warps(int *results)
{
	__shared__ cg::block_tile_memory<n_threads> memory;
	__shared__ int shared[n_threads];
	const cg::thread_block block = cg::this_thread_block(memory);
	const auto tile = cg::tiled_partition<64>(block);
	shared[threadIdx.x] = (int)threadIdx.x * 3;
	if (tile.meta_group_rank() == 1)
		return;
	for (int round = 0; round < 4; round++) {
		tile.sync();
		const int other = shared[threadIdx.x ^ 32];
		tile.sync();
		shared[threadIdx.x] += other;
	}
	results[threadIdx.x] = cg::reduce(tile, shared[threadIdx.x], cg::plus<int>());
}

int main()
{
	sample::Random random(8);
	std::vector<int> values(n_threads);
	for (int &value : values)
		value = (int)random.below(2001) - 1000;
	for (unsigned lanes : { 1, 2, 4, 8, 16, 32 })
		run_tiles(lanes, values);
	run_groups(values);

	const sample::Array<int> results(64);
	two_warps<<<1, n_threads>>>(results);
	LAUNCHED();
	// Each round doubles the sum of both.
	int sum = 0;
	for (int i = 0; i < 64; i++)
		sum += i * 3;
	sample::expect_equal("two warps", results.get(), std::vector<int>(64, sum << 4));
	return sample::finish("tiles");
}

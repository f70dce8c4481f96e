// SPDX-License-Identifier: Apache-2.0
//
// The building blocks of CUB, which most libraries are made of: reductions, scans and radix sorts of a block in each of
// their algorithms, exchanges between layouts, scans and reductions of a warp, of integers, floats and doubles.
// Exercises: what these headers compile to, inline PTX for shuffles with predicates, bit fields, and barriers.
#include "sample.h"

#include <algorithm>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <numeric>
#include <random>

static constexpr int threads = 128, items = 4, n = threads * items;

template <typename T, cub::BlockReduceAlgorithm reduce, cub::BlockScanAlgorithm scan>
__global__ void blocks(const T *in, T *sums, T *scanned, T *sorted)
{
	using Reduce = cub::BlockReduce<T, threads, reduce>;
	using Scan = cub::BlockScan<T, threads, scan>;
	using Sort = cub::BlockRadixSort<T, threads, items>;
	using Exchange = cub::BlockExchange<T, threads, items>;
	__shared__ union {
		typename Reduce::TempStorage for_reduce;
		typename Scan::TempStorage for_scan;
		typename Sort::TempStorage sort;
		typename Exchange::TempStorage exchange;
	} room;
	T own[items];

	// Striped, then blocked.
	for (int i = 0; i < items; i++)
		own[i] = in[blockIdx.x * n + i * threads + threadIdx.x];
	Exchange(room.exchange).StripedToBlocked(own, own);
	__syncthreads();
	const T sum = Reduce(room.for_reduce).Sum(own);
	if (threadIdx.x == 0)
		sums[blockIdx.x] = sum;
	__syncthreads();
	T before[items];
	Scan(room.for_scan).ExclusiveSum(own, before);
	for (int i = 0; i < items; i++)
		scanned[blockIdx.x * n + threadIdx.x * items + i] = before[i];
	__syncthreads();
	Sort(room.sort).SortBlockedToStriped(own);
	for (int i = 0; i < items; i++)
		sorted[blockIdx.x * n + i * threads + threadIdx.x] = own[i];
}

template <typename T> __global__ void warps(const T *in, T *sums, T *scanned)
{
	using Reduce = cub::WarpReduce<T, 16>;
	using Scan = cub::WarpScan<T>;
	__shared__ typename Reduce::TempStorage reduce[threads / 16];
	__shared__ typename Scan::TempStorage scan[threads / 32];
	const int i = blockIdx.x * threads + threadIdx.x;
	const T own = in[i], sum = Reduce(reduce[threadIdx.x / 16]).Sum(own);

	if (threadIdx.x % 16 == 0)
		sums[i / 16] = sum;
	T result;
	Scan(scan[threadIdx.x / 32]).InclusiveScan(own, result, [](T a, T b) { return a < b ? b : a; });
	scanned[i] = result;
}

template <typename T> static T *upload(const std::vector<T> &from)
{
	T *to;

	TRY(cudaMalloc(&to, from.size() * sizeof(T)));
	TRY(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
	return to;
}

template <typename T> static std::vector<T> download(T *from, size_t size)
{
	std::vector<T> to(size);

	TRY(cudaMemcpy(to.data(), from, size * sizeof(T), cudaMemcpyDeviceToHost));
	TRY(cudaFree(from));
	return to;
}

// Small whole numbers: every order of adding gives the same sum.
template <typename T, cub::BlockReduceAlgorithm reduce, cub::BlockScanAlgorithm scan>
static void compare(const char *what)
{
	static const int n_blocks = 3;
	std::mt19937 random(7);
	std::vector<T> numbers(n_blocks * n), sums, scanned(numbers.size()), sorted;

	for (T &number : numbers)
		number = (T)((int)(random() % 2001) - 1000);
	T *in = upload(numbers), *to_sums = upload(numbers), *to_scanned = upload(numbers),
	  *to_sorted = upload(numbers);
	blocks<T, reduce, scan><<<n_blocks, threads>>>(in, to_sums, to_scanned, to_sorted);
	LAUNCHED();
	sorted = numbers;
	for (int block = 0; block < n_blocks; block++) {
		const auto first = numbers.begin() + block * n;
		T sum = 0;

		for (int i = 0; i < n; i++) {
			scanned[block * n + i] = sum;
			sum += first[i];
		}
		sums.push_back(sum);
		std::sort(sorted.begin() + block * n, sorted.begin() + (block + 1) * n);
	}
	sample::expect_equal(what, download(to_sums, n_blocks), sums);
	sample::expect_equal(what, download(to_scanned, numbers.size()), scanned);
	sample::expect_equal(what, download(to_sorted, numbers.size()), sorted);

	to_sums = upload(numbers);
	to_scanned = upload(numbers);
	warps<T><<<n_blocks, threads>>>(in, to_sums, to_scanned);
	LAUNCHED();
	sums.clear();
	for (int i = 0; i < n_blocks * threads; i++) {
		if (i % 16 == 0)
			sums.push_back(std::accumulate(&numbers[i], &numbers[i] + 16, T(0)));
		scanned[i] = i % 32 == 0 ? numbers[i] : std::max(scanned[i - 1], numbers[i]);
	}
	scanned.resize(n_blocks * threads);
	sample::expect_equal(what, download(to_sums, n_blocks * threads / 16), sums);
	sample::expect_equal(what, download(to_scanned, n_blocks * threads), scanned);
	TRY(cudaFree(in));
}

int main()
{
	compare<int, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::BLOCK_SCAN_WARP_SCANS>("int");
	compare<int, cub::BLOCK_REDUCE_RAKING, cub::BLOCK_SCAN_RAKING>("int, raking");
	compare<long long, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, cub::BLOCK_SCAN_RAKING_MEMOIZE>("long long");
	compare<float, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::BLOCK_SCAN_RAKING>("float");
	compare<double, cub::BLOCK_REDUCE_RAKING, cub::BLOCK_SCAN_WARP_SCANS>("double");
	compare<short, cub::BLOCK_REDUCE_WARP_REDUCTIONS, cub::BLOCK_SCAN_WARP_SCANS>("short");
	return sample::finish("cub_blocks");
}

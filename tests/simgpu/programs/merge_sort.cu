// SPDX-License-Identifier: Apache-2.0
//
// Merge sort: small pieces by odd-even exchange in shared memory, then merges in which a binary search along a diagonal
// (merge path) gives every thread the same amount of work, whatever the data. Keys with values, stable; also the merge
// of two lists of different lengths, and look-ups in a sorted list. Exercises: data-dependent binary searches,
// divergent merging loops, structs in shared memory, ping-pong buffers.
#include "sample.h"

#include <algorithm>
#include <iterator>

struct Pair {
	int key;
	unsigned value;
};

static constexpr int piece = 64, per_thread = 8, block_size = 64;

// Stable: neighbors change places only when the right one is smaller.
__global__ void sort_pieces(Pair *pairs, int n)
{
	__shared__ Pair shared[piece];
	const int i = blockIdx.x * piece + threadIdx.x;
	shared[threadIdx.x] = i < n ? pairs[i] : Pair{ 0x7fffffff, ~0u };
	__syncthreads();
	for (int round = 0; round < piece; round++) {
		const int left = 2 * (int)threadIdx.x + round % 2;
		if (left + 1 < piece && shared[left + 1].key < shared[left].key) {
			const Pair other = shared[left];
			shared[left] = shared[left + 1];
			shared[left + 1] = other;
		}
		__syncthreads();
	}
	if (i < n)
		pairs[i] = shared[threadIdx.x];
}

// How many of the first `diagonal` elements of the merged list come from `a`; equal keys come from `a` first.
__host__ __device__ inline int merge_path(const Pair *a, int n_a, const Pair *b, int n_b, int diagonal)
{
	int low = diagonal > n_b ? diagonal - n_b : 0, high = diagonal < n_a ? diagonal : n_a;
	while (low < high) {
		const int middle = (low + high) / 2;
		if (a[middle].key <= b[diagonal - 1 - middle].key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

__device__ static void merge_stretch(const Pair *a, int n_a, const Pair *b, int n_b, Pair *out, int first, int end)
{
	int i = merge_path(a, n_a, b, n_b, first), j = first - i;
	for (int k = first; k < end; k++)
		out[k] = j >= n_b || (i < n_a && a[i].key <= b[j].key) ? a[i++] : b[j++];
}

// All pairs of sorted runs of `width` at once.
__global__ void merge_runs(const Pair *in, Pair *out, int n, int width)
{
	const int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
	if (first >= n)
		return;
	const int start = first / (2 * width) * (2 * width), middle = min(start + width, n),
		  end = min(start + 2 * width, n);
	merge_stretch(in + start, middle - start, in + middle, end - middle, out + start, first - start,
		      min(first + per_thread, end) - start);
}

__global__ void merge_two(const Pair *a, int n_a, const Pair *b, int n_b, Pair *out)
{
	const int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
	if (first < n_a + n_b)
		merge_stretch(a, n_a, b, n_b, out, first, min(first + per_thread, n_a + n_b));
}

// For each key of `a` whether `b` has it: bit 0; how many of `b` are smaller: the rest.
__global__ void look_up(const Pair *a, int n_a, const Pair *b, int n_b, int *results)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n_a)
		return;
	int low = 0, high = n_b;
	while (low < high) {
		const int middle = low + (high - low) / 2;
		if (b[middle].key < a[i].key)
			low = middle + 1;
		else
			high = middle;
	}
	results[i] = low * 2 + (low < n_b && b[low].key == a[i].key);
}

static bool less_key(const Pair &a, const Pair &b)
{
	return a.key < b.key;
}

static void compare(const char *what, const std::vector<Pair> &is, const std::vector<Pair> &should)
{
	for (size_t i = 0; i < should.size(); i++)
		if (!sample::expect(is[i].key == should[i].key && is[i].value == should[i].value,
				    "%s[%zu]: %d %u, not %d %u", what, i, is[i].key, is[i].value, should[i].key,
				    should[i].value))
			return;
}

enum Shape { RANDOM, FEW_KEYS, SORTED, REVERSED };

static std::vector<Pair> make_pairs(int n, Shape shape, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<Pair> pairs(n);
	for (int i = 0; i < n; i++) {
		const int key = shape == RANDOM ? (int)random.next() : shape == FEW_KEYS ? (int)random.below(9) - 4 : i;
		pairs[i] = { shape == REVERSED ? -key : key, (unsigned)i };
	}
	return pairs;
}

static void run_sort(const char *what, int n, Shape shape)
{
	std::vector<Pair> pairs = make_pairs(n, shape, n);
	const sample::Array<Pair> first(pairs), second(n);
	Pair *from = first, *to = second;
	sort_pieces<<<(n + piece - 1) / piece, piece>>>(from, n);
	for (int width = piece; width < n; width *= 2) {
		const int threads = (n + per_thread - 1) / per_thread;
		merge_runs<<<(threads + block_size - 1) / block_size, block_size>>>(from, to, n, width);
		std::swap(from, to);
	}
	LAUNCHED();
	std::stable_sort(pairs.begin(), pairs.end(), less_key);
	compare(what, from == (Pair *)first ? first.get() : second.get(), pairs);
	printf("%s: %d\n", what, n);
}

static void run_merge(int n_a, int n_b)
{
	std::vector<Pair> a = make_pairs(n_a, FEW_KEYS, 1), b = make_pairs(n_b, FEW_KEYS, 2), should;
	for (Pair &pair : b)
		pair.value += 1000000;
	std::stable_sort(a.begin(), a.end(), less_key);
	std::stable_sort(b.begin(), b.end(), less_key);
	std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(should), less_key);
	const sample::Array<Pair> device_a(a), device_b(b), out(n_a + n_b);
	const int threads = (n_a + n_b + per_thread - 1) / per_thread;
	merge_two<<<(threads + block_size - 1) / block_size, block_size>>>(device_a, n_a, device_b, n_b, out);
	LAUNCHED();
	compare("merged", out.get(), should);
}

static void run_look_up()
{
	const int n_a = 500, n_b = 700;
	sample::Random random(3);
	std::vector<Pair> a(n_a), b(n_b);
	for (Pair &pair : a)
		pair = { (int)random.below(1000), 0 };
	for (Pair &pair : b)
		pair = { (int)random.below(1000), 0 };
	std::sort(b.begin(), b.end(), less_key);
	std::vector<int> should(n_a);
	for (int i = 0; i < n_a; i++) {
		const auto place = std::lower_bound(b.begin(), b.end(), a[i], less_key);
		should[i] = (int)(place - b.begin()) * 2 + (place != b.end() && place->key == a[i].key);
	}
	const sample::Array<Pair> device_a(a), device_b(b);
	const sample::Array<int> results(n_a);
	look_up<<<(n_a + 127) / 128, 128>>>(device_a, n_a, device_b, n_b, results);
	LAUNCHED();
	sample::expect_equal("looked up", results.get(), should);
}

int main()
{
	run_sort("random", 10007, RANDOM);
	run_sort("few keys", 4096, FEW_KEYS);
	run_sort("sorted", 1000, SORTED);
	run_sort("reversed", 3001, REVERSED);
	run_sort("one piece", 40, RANDOM);
	run_merge(1000, 37);
	run_merge(3, 2000);
	run_look_up();
	return sample::finish("merge_sort");
}

// SPDX-License-Identifier: Apache-2.0
//
// Lanes of a warp that talk to each other: votes, shuffles of every kind and width and of all types, matching,
// reductions of bits, masks that name only some lanes, in straight and in diverged code. A run-length code and a
// compaction use them. Exercises: vote.all/any/ballot, shfl.idx/up/down/bfly with clamping, match.any/all, redux,
// activemask, lanemask registers.
#include "sample.h"

static constexpr unsigned whole_warp = 0xffffffffu;
static constexpr int n_votes = 12;

__global__ void vote(const int *values, unsigned *results)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
	const int own = values[i];
	unsigned *out = &results[i * n_votes];
	for (int k = 0; k < n_votes; k++)
		out[k] = 0;
	out[0] = __ballot_sync(whole_warp, own > 0);
	out[1] = __any_sync(whole_warp, own == 7);
	out[2] = __all_sync(whole_warp, own < 1000);
	out[3] = __match_any_sync(whole_warp, own & 7);
	int all_same = -1;
	out[4] = __match_all_sync(whole_warp, own >> 31, &all_same);
	out[4] |= (unsigned)all_same;
	unsigned below, at_least;
	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
	asm("mov.u32 %0, %%lanemask_ge;" : "=r"(at_least));
	out[5] = below ^ at_least;
	// Only odd lanes, then only a third, each by itself.
	if (lane % 2 != 0) {
		out[6] = __ballot_sync(0xaaaaaaaau, own > 0);
		out[7] = __activemask() & 0xaaaaaaaau; // at least these may be together
	}
	if (lane % 3 == 0)
		out[8] = __ballot_sync(0x49249249u, own % 2 != 0);
	else
		out[8] = __ballot_sync(~0x49249249u, own % 2 != 0);
	out[9] = __reduce_xor_sync(whole_warp, (unsigned)own);
	out[10] = (unsigned)__reduce_max_sync(whole_warp, own);
	out[11] = __match_any_sync(whole_warp, (unsigned long long)(own & 3) << 40);
}

static void check_votes(const std::vector<int> &values, const std::vector<unsigned> &is)
{
	for (size_t i = 0; i < values.size(); i++) {
		const int *warp = &values[i / 32 * 32], own = values[i];
		const unsigned lane = i % 32;
		unsigned should[n_votes] = { 0, 0, 1, 0, 0, ~0u, 0, 0, 0, 0, 0, 0 };
		bool same = true;
		int largest = warp[0];
		for (unsigned k = 0; k < 32; k++) {
			const unsigned bit = 1u << k;
			should[0] |= warp[k] > 0 ? bit : 0;
			should[1] |= warp[k] == 7;
			should[2] &= warp[k] < 1000;
			should[3] |= (warp[k] & 7) == (own & 7) ? bit : 0;
			same = same && warp[k] >> 31 == own >> 31;
			should[6] |= lane % 2 != 0 && k % 2 != 0 && warp[k] > 0 ? bit : 0;
			should[8] |= (k % 3 == 0) == (lane % 3 == 0) && warp[k] % 2 != 0 ? bit : 0;
			should[9] ^= (unsigned)warp[k];
			largest = warp[k] > largest ? warp[k] : largest;
			should[11] |= (warp[k] & 3) == (own & 3) ? bit : 0;
		}
		should[4] = same ? whole_warp : 0;
		should[7] = lane % 2 != 0 ? 0xaaaaaaaau : 0;
		should[10] = (unsigned)largest;
		for (int k = 0; k < n_votes; k++)
			// Lanes that are together is for the machine to decide; one's own lane is among them.
			if (!sample::expect(k == 7 ? (is[i * n_votes + k] & ~should[k]) == 0 &&
							     (should[k] == 0 || is[i * n_votes + k] >> lane & 1)
						   : is[i * n_votes + k] == should[k],
					    "vote %d of thread %zu: %08x, not %08x", k, i, is[i * n_votes + k],
					    should[k]))
				return;
	}
}

// Every kind of shuffle for a type, in segments of `width` lanes; where the source does not exist one keeps one's own.
template <typename T> __global__ void shuffle(const T *values, T *results, int width)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const T own = values[i];
	T *out = &results[i * 4];
	out[0] = __shfl_sync(whole_warp, own, (i * 5 + 3) % 40, width);
	out[1] = __shfl_up_sync(whole_warp, own, 3, width);
	out[2] = __shfl_down_sync(whole_warp, own, 2, width);
	out[3] = __shfl_xor_sync(whole_warp, own, 5, width);
}

template <typename T> static void run_shuffles(const char *type)
{
	const int n = 64;
	sample::Random random(sizeof(T));
	std::vector<T> values(n), should(n * 4);
	for (T &value : values)
		value = (T)(random.real() * 100.0f);
	const sample::Array<T> device_values(values), results(n * 4);
	for (int width = 1; width <= 32; width *= 2) {
		shuffle<T><<<1, n>>>(device_values, results, width);
		LAUNCHED();
		for (int i = 0; i < n; i++) {
			const int segment = i / width * width, at = i - segment;
			should[i * 4] = values[segment + (i * 5 + 3) % 40 % width];
			should[i * 4 + 1] = values[at >= 3 ? i - 3 : i];
			should[i * 4 + 2] = values[at + 2 < width ? i + 2 : i];
			// The whole warp's lanes: across the segment's end one keeps one's own, before it not.
			const int lane = i % 32, other = lane ^ 5;
			should[i * 4 + 3] = values[other <= (lane | (width - 1)) ? i - lane + other : i];
		}
		if (!sample::expect_equal(type, results.get(), should))
			printf("(width %d)\n", width);
	}
}

// Runs of equal values of a warp: each run's first lane writes value and length, compacted by counting bits.
__global__ void run_lengths(const int *values, int2 *runs, int *n_runs)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = i / 32;
	const int own = values[i], before = __shfl_up_sync(whole_warp, own, 1);
	const bool starts = lane == 0 || own != before;
	const unsigned heads = __ballot_sync(whole_warp, starts);
	if (starts) {
		const unsigned after = lane == 31 ? 0 : heads >> (lane + 1);
		const int length = after != 0 ? __ffs(after) : 32 - (int)lane;
		runs[warp * 32 + __popc(heads & ((1u << lane) - 1))] = make_int2(own, length);
	}
	if (lane == 0)
		n_runs[warp] = __popc(heads);
}

static void run_run_lengths()
{
	const int n = 256;
	sample::Random random(3);
	std::vector<int> values(n);
	for (int i = 0; i < n; i++)
		values[i] = i % 64 < 32 && random.below(3) != 0 && i > 0 ? values[i - 1] : (int)random.below(4);
	const sample::Array<int> device_values(values), n_runs(n / 32);
	const sample::Array<int2> runs(n);
	run_lengths<<<2, n / 2>>>(device_values, runs, n_runs);
	LAUNCHED();
	// Unpacked again they are the values.
	std::vector<int> unpacked;
	const std::vector<int2> is = runs.get();
	const std::vector<int> counts = n_runs.get();
	for (int warp = 0; warp < n / 32; warp++)
		for (int k = 0; k < counts[warp]; k++) {
			sample::expect(k == 0 || is[warp * 32 + k].x != is[warp * 32 + k - 1].x, "a run in two pieces");
			unpacked.insert(unpacked.end(), (size_t)is[warp * 32 + k].y, is[warp * 32 + k].x);
		}
	sample::expect_equal("runs", unpacked, values);
}

int main()
{
	const int n = 128;
	sample::Random random(1);
	std::vector<int> values(n);
	for (int i = 0; i < n; i++)
		values[i] = i < 32 ? (int)random.below(50) : (int)random.below(2000) - 1000;
	const sample::Array<int> device_values(values);
	const sample::Array<unsigned> results(n * n_votes);
	vote<<<2, n / 2>>>(device_values, results);
	LAUNCHED();
	check_votes(values, results.get());
	run_shuffles<int>("int");

	run_shuffles<long long>("long long");
	run_shuffles<float>("float");
	run_shuffles<double>("double");
	run_run_lengths();
	return sample::finish("warp_votes");
}

// SPDX-License-Identifier: Apache-2.0
//
// Comparing strings by wavefronts: local alignment (Smith-Waterman with affine gaps) of one pair by diagonals over many
// blocks, edit distances of many short pairs, each by a warp that keeps the table's row in its lanes, and the longest
// common subsequence by bit vectors, a thread a pair.
// Exercises: many dependent launches, shuffles along a diagonal, max chains, atomicMax with a packed position, 64-bit
// additions with carries across words.
#include "sample.h"

#include <algorithm>
#include <string>

static constexpr int match = 3, mismatch = -2, gap_open = -5, gap_extend = -1;

// One diagonal: cells (i, diagonal - i). The scores of the two diagonals before are needed.
__global__ void align_diagonal(const char *a, int n_a, const char *b, int n_b, int diagonal, const int *before_last,
			       const int *last, int *current, const int *gaps_a_last, int *gaps_a,
			       const int *gaps_b_last, int *gaps_b, unsigned long long *best)
{
	const int first = max(1, diagonal - n_b), end = min(n_a, diagonal - 1);
	const int i = first + blockIdx.x * blockDim.x + threadIdx.x, j = diagonal - i;
	unsigned long long own = 0;
	if (i <= end) {
		const int from_a = max(last[i - 1] + gap_open, gaps_a_last[i - 1] + gap_extend);
		const int from_b = max(last[i] + gap_open, gaps_b_last[i] + gap_extend);
		const int both = before_last[i - 1] + (a[i - 1] == b[j - 1] ? match : mismatch);
		const int score = max(max(0, both), max(from_a, from_b));
		gaps_a[i] = from_a;
		gaps_b[i] = from_b;
		current[i] = score;
		// The largest score, and of those the smallest place.
		own = (unsigned long long)score << 32 | (unsigned)~(i * 4096 + j);
	}
	for (int distance = 16; distance > 0; distance /= 2) {
		const unsigned long long other = __shfl_down_sync(0xffffffffu, own, distance);
		own = other > own ? other : own;
	}
	if (threadIdx.x % 32 == 0 && own != 0)
		atomicMax(best, own);
}

static unsigned long long align_on_host(const std::string &a, const std::string &b)
{
	const int n_a = (int)a.size(), n_b = (int)b.size(), low = -1000000;
	std::vector<std::vector<int>> score(n_a + 1, std::vector<int>(n_b + 1, 0)), in_a = score, in_b = score;
	unsigned long long best = 0;
	for (int i = 0; i <= n_a; i++)
		for (int j = 0; j <= n_b; j++) {
			in_a[i][j] = in_b[i][j] = low;
			if (i == 0 || j == 0)
				continue;
			in_a[i][j] = std::max(score[i - 1][j] + gap_open, in_a[i - 1][j] + gap_extend);
			in_b[i][j] = std::max(score[i][j - 1] + gap_open, in_b[i][j - 1] + gap_extend);
			const int both = score[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? match : mismatch);
			score[i][j] = std::max(std::max(0, both), std::max(in_a[i][j], in_b[i][j]));
			best = std::max(best, (unsigned long long)score[i][j] << 32 | (unsigned)~(i * 4096 + j));
		}
	return best;
}

static std::string random_text(int n, uint64_t seed)
{
	sample::Random random(seed);
	std::string text;
	for (int i = 0; i < n; i++)
		text += "ACGT"[random.below(4)];
	return text;
}

// Changed here and there, with pieces taken out and put in.
static std::string mutated(const std::string &text, uint64_t seed)
{
	sample::Random random(seed);
	std::string result;
	for (char c : text) {
		const unsigned what = random.below(20);
		if (what == 0)
			result += "ACGT"[random.below(4)];
		else if (what == 1)
			result += std::string(random.below(4), 'G') + c;
		else if (what != 2)
			result += c;
	}
	return result;
}

static std::vector<char> bytes_of(const std::string &text)
{
	return std::vector<char>(text.begin(), text.end());
}

static void run_alignment(int length)
{
	const std::string a = random_text(length, 1), b = random_text(30, 2) + mutated(a.substr(length / 4), 3);
	const int n_a = (int)a.size(), n_b = (int)b.size();
	const sample::Array<char> device_a(bytes_of(a)), device_b(bytes_of(b));
	const std::vector<int> zeros(n_a + 1, 0), low(n_a + 1, -1000000);
	const sample::Array<int> scores0(zeros), scores1(zeros), scores2(zeros), a0(low), a1(low), b0(low), b1(low);
	int *scores[3] = { scores0, scores1, scores2 }, *gaps_a[2] = { a0, a1 }, *gaps_b[2] = { b0, b1 };
	sample::Array<unsigned long long> best(1);
	best.fill_bytes(0);
	for (int diagonal = 2; diagonal <= n_a + n_b; diagonal++) {
		const int n = std::min(n_a, diagonal - 1) - std::max(1, diagonal - n_b) + 1;
		align_diagonal<<<(n + 63) / 64, 64>>>(
			device_a, n_a, device_b, n_b, diagonal, scores[(diagonal + 1) % 3], scores[(diagonal + 2) % 3],
			scores[diagonal % 3], gaps_a[(diagonal + 1) % 2], gaps_a[diagonal % 2],
			gaps_b[(diagonal + 1) % 2], gaps_b[diagonal % 2], best);
		LAUNCHED();
		// A cell on the border of the table counts as 0, whatever was there two diagonals ago.
		if (diagonal <= n_a) {
			TRY(cudaMemsetAsync(scores[diagonal % 3] + diagonal, 0, sizeof(int)));
			TRY(cudaMemcpyAsync(gaps_a[diagonal % 2] + diagonal, &low[0], sizeof(int),
					    cudaMemcpyHostToDevice));
			TRY(cudaMemcpyAsync(gaps_b[diagonal % 2] + diagonal, &low[0], sizeof(int),
					    cudaMemcpyHostToDevice));
		}
	}
	const unsigned long long is = best.get()[0], should = align_on_host(a, b);
	sample::expect(is == should, "alignment: score %llu, not %llu", is >> 32, should >> 32);
	printf("%d and %d letters: score %llu\n", n_a, n_b, is >> 32);
}

// --- edit distances: lane j has column j of a table with up to 32 columns
// -----------------------------------------------------
static constexpr int longest = 32;

__global__ void edit_distances(const char *texts, const int *lengths, int n_pairs, int *results)
{
	const int pair = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (pair >= n_pairs)
		return;
	const char *a = texts + pair * 2 * longest, *b = a + longest;
	const int n_a = lengths[pair * 2], n_b = lengths[pair * 2 + 1];
	const char letter = b[lane];
	// Above: the row before, the same column; left of it: the row before, the column before.
	int above = lane + 1, diagonal = lane, result = n_b;
	for (int step = 0; step < n_a + 31; step++) {
		const int row = step - lane; // the lanes work on one diagonal
		int left = __shfl_up_sync(0xffffffffu, above, 1);
		if (lane == 0)
			left = step + 1;
		if (row >= 0 && row < n_a) {
			const int best = min(min(left, above) + 1, diagonal + (a[row] != letter));
			diagonal = left;
			above = best;
			if (row == n_a - 1 && lane == n_b - 1)
				result = best;
		}
	}
	result = __shfl_sync(0xffffffffu, result, max(n_b - 1, 0));
	if (lane == 0)
		results[pair] = n_b == 0 ? n_a : n_a == 0 ? n_b : result;
}

// --- the longest common subsequence by bits: a text of up to 128 letters is two words
// ----------------------------------------
__global__ void common_subsequences(const char *a, int n_a, const char *b, int n_b, int n_pairs, int *results)
{
	const int pair = blockIdx.x * blockDim.x + threadIdx.x;
	if (pair >= n_pairs)
		return;
	unsigned long long places[4][2] = {}, low = ~0ull, high = ~0ull;
	const auto code = [](char c) { return c == 'A' ? 0 : c == 'C' ? 1 : c == 'G' ? 2 : 3; };
	for (int i = 0; i < n_a; i++)
		places[code(a[pair * n_a + i])][i / 64] |= 1ull << i % 64;
	for (int j = 0; j < n_b; j++) {
		const unsigned long long *mask = places[code(b[pair * n_b + j])];
		const unsigned long long low_matches = low & mask[0], high_matches = high & mask[1];
		const unsigned long long low_sum = low + low_matches, carry = low_sum < low;
		low = low_sum | (low & ~mask[0]);
		high = (high + high_matches + carry) | (high & ~mask[1]);
	}
	if (n_a < 64)
		low |= ~0ull << n_a;
	high |= n_a <= 64 ? ~0ull : n_a < 128 ? ~0ull << (n_a - 64) : 0;
	results[pair] = __popcll(~low) + __popcll(~high);
}

static int table_on_host(const std::string &a, const std::string &b, bool common)
{
	std::vector<std::vector<int>> table(a.size() + 1, std::vector<int>(b.size() + 1, 0));
	for (size_t i = 0; i <= a.size(); i++)
		for (size_t j = 0; j <= b.size(); j++) {
			if (i == 0 || j == 0) {
				table[i][j] = common ? 0 : (int)(i + j);
				continue;
			}
			const bool same = a[i - 1] == b[j - 1];
			const int up = table[i - 1][j], left = table[i][j - 1], corner = table[i - 1][j - 1];
			table[i][j] = common ? (same ? corner + 1 : std::max(up, left))
					     : std::min(std::min(up, left) + 1, corner + !same);
		}
	return table[a.size()][b.size()];
}

static void run_pairs()
{
	const int n_pairs = 50, n_a = 100, n_b = 75;
	sample::Random random(4);
	std::vector<char> texts(n_pairs * 2 * longest, '-'), all_a, all_b;
	std::vector<int> lengths, distances, lengths_common;
	for (int i = 0; i < n_pairs; i++) {
		std::string pair[2] = { random_text((int)random.below(longest + 1), i), "" };
		pair[1] = i % 3 == 0 ? random_text((int)random.below(longest + 1), i + 1000)
				     : mutated(pair[0], i).substr(0, longest);
		for (int k = 0; k < 2; k++) {
			std::copy(pair[k].begin(), pair[k].end(), texts.begin() + (i * 2 + k) * longest);
			lengths.push_back((int)pair[k].size());
		}
		distances.push_back(table_on_host(pair[0], pair[1], false));
		const std::string a = random_text(n_a, i * 2 + 5000), b = random_text(n_b, i * 2 + 5001);
		all_a.insert(all_a.end(), a.begin(), a.end());
		all_b.insert(all_b.end(), b.begin(), b.end());
		lengths_common.push_back(table_on_host(a, b, true));
	}
	const sample::Array<char> device_texts(texts), a(all_a), b(all_b);
	const sample::Array<int> device_lengths(lengths), results(n_pairs);
	edit_distances<<<(n_pairs * 32 + 127) / 128, 128>>>(device_texts, device_lengths, n_pairs, results);
	LAUNCHED();
	sample::expect_equal("edit distances", results.get(), distances);
	common_subsequences<<<1, 64>>>(a, n_a, b, n_b, n_pairs, results);
	LAUNCHED();
	sample::expect_equal("common subsequences", results.get(), lengths_common);
}

int main()
{
	run_alignment(200);
	run_alignment(37);
	run_pairs();
	return sample::finish("alignment");
}

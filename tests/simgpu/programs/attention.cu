// SPDX-License-Identifier: Apache-2.0
//
// Attention with an online softmax: for each query, keys and values come by tiles through shared memory, and the
// running maximum, sum and output are rescaled as larger scores appear. With and without a causal mask; lengths that no
// tile divides; several heads; scores so large that an ordinary exponential would overflow. Exercises: exp2f, shuffles
// for row maxima and sums, float4 loads, -INFINITY arithmetic, registers as rows, __frcp_rn.
#include "sample.h"

#include <algorithm>

static constexpr int head_size = 32, tile_keys = 32, queries_per_block = 4;

// A warp a query; a lane a key of the tile when scoring, a lane a column of the output when adding up.
__global__ void attend(const float *queries, const float *keys, const float *values, float *out, int n_queries,
		       int n_keys, float scale, bool causal)
{
	__shared__ float tile_k[tile_keys][head_size + 1], tile_v[tile_keys][head_size];
	__shared__ float query_rows[queries_per_block][head_size];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int query = blockIdx.x * queries_per_block + warp;
	const size_t head = blockIdx.y;
	queries += head * n_queries * head_size;
	keys += head * n_keys * head_size;
	values += head * n_keys * head_size;
	out += head * n_queries * head_size;
	// Scores in units of log2(e), so that exp2 does.
	query_rows[warp][lane] = query < n_queries ? queries[query * head_size + lane] * (scale * 1.44269504f) : 0.0f;

	float maximum = -INFINITY, sum = 0.0f, result = 0.0f;
	const int last_query = blockIdx.x * queries_per_block + queries_per_block - 1;
	const int n_needed = causal ? min(n_keys, last_query + 1) : n_keys;
	for (int start = 0; start < n_needed; start += tile_keys) {
		__syncthreads();
		for (int i = threadIdx.x; i < tile_keys * head_size / 4; i += blockDim.x) {
			const int row = i / (head_size / 4), column = i % (head_size / 4) * 4;
			float4 k = make_float4(0, 0, 0, 0), v = k;
			if (start + row < n_keys) {
				k = *reinterpret_cast<const float4 *>(&keys[(start + row) * head_size + column]);
				v = *reinterpret_cast<const float4 *>(&values[(start + row) * head_size + column]);
			}
			tile_k[row][column] = k.x;
			tile_k[row][column + 1] = k.y;
			tile_k[row][column + 2] = k.z;
			tile_k[row][column + 3] = k.w;
			*reinterpret_cast<float4 *>(&tile_v[row][column]) = v;
		}
		__syncthreads();
		const int key = start + lane;
		float score = 0.0f;
#pragma unroll
		for (int i = 0; i < head_size; i++)
			score = fmaf(query_rows[warp][i], tile_k[lane][i], score);
		if (key >= n_keys || (causal && key > query))
			score = -INFINITY;
		float tile_maximum = score;
		for (int distance = 16; distance > 0; distance /= 2)
			tile_maximum = fmaxf(tile_maximum, __shfl_xor_sync(0xffffffffu, tile_maximum, distance));
		if (tile_maximum == -INFINITY)
			continue; // the whole tile is masked for this query
		const float new_maximum = fmaxf(maximum, tile_maximum), rescale = exp2f(maximum - new_maximum);
		const float weight = exp2f(score - new_maximum);
		float tile_sum = weight;
		for (int distance = 16; distance > 0; distance /= 2)
			tile_sum += __shfl_xor_sync(0xffffffffu, tile_sum, distance);
		sum = fmaf(sum, rescale, tile_sum);
		result *= rescale;
		for (int i = 0; i < tile_keys; i++)
			result = fmaf(__shfl_sync(0xffffffffu, weight, i), tile_v[i][lane], result);
		maximum = new_maximum;
	}
	if (query < n_queries)
		out[query * head_size + lane] = result * __frcp_rn(sum);
}

static std::vector<float> random_rows(size_t n, uint64_t seed, float size)
{
	sample::Random random(seed);
	std::vector<float> rows(n * head_size);
	for (float &value : rows)
		value = random.real() * size;
	return rows;
}

// In f64, with the maximum known beforehand.
static std::vector<float> on_host(const std::vector<float> &q, const std::vector<float> &k, const std::vector<float> &v,
				  int n_heads, int n_queries, int n_keys, float scale, bool causal)
{
	std::vector<float> out(q.size());
	std::vector<double> weights(n_keys);
	for (int head = 0; head < n_heads; head++)
		for (int query = 0; query < n_queries; query++) {
			const size_t row = ((size_t)head * n_queries + query) * head_size,
				     first = (size_t)head * n_keys * head_size;
			const int n_seen = causal ? std::min(n_keys, query + 1) : n_keys;
			double maximum = -INFINITY, sum = 0;
			for (int key = 0; key < n_seen; key++) {
				weights[key] = 0;
				for (int i = 0; i < head_size; i++)
					weights[key] +=
						(double)q[row + i] * k[first + (size_t)key * head_size + i] * scale;
				maximum = std::max(maximum, weights[key]);
			}
			for (int key = 0; key < n_seen; key++)
				sum += weights[key] = std::exp(weights[key] - maximum);
			for (int i = 0; i < head_size; i++) {
				double value = 0;
				for (int key = 0; key < n_seen; key++)
					value += weights[key] * v[first + (size_t)key * head_size + i];
				out[row + i] = (float)(value / sum);
			}
		}
	return out;
}

static void run(const char *what, int n_heads, int n_queries, int n_keys, bool causal, float size)
{
	const float scale = 1.0f / sqrtf((float)head_size);
	const std::vector<float> q = random_rows((size_t)n_heads * n_queries, 1, size),
				 k = random_rows((size_t)n_heads * n_keys, 2, size),
				 v = random_rows((size_t)n_heads * n_keys, 3, 1.0f);
	const sample::Array<float> device_q(q), device_k(k), device_v(v);
	sample::Array<float> device_out(q.size());
	device_out.fill_bytes(0xff);
	const dim3 grid((n_queries + queries_per_block - 1) / queries_per_block, n_heads);
	attend<<<grid, 32 * queries_per_block>>>(device_q, device_k, device_v, device_out, n_queries, n_keys, scale,
						 causal);
	LAUNCHED();
	if (sample::expect_near(what, device_out.get(), on_host(q, k, v, n_heads, n_queries, n_keys, scale, causal),
				1e-4))
		printf("%s: %d heads, %d queries, %d keys\n", what, n_heads, n_queries, n_keys);
}

int main()
{
	run("plain", 2, 48, 96, false, 1.0f);
	run("uneven", 1, 37, 77, false, 1.0f);
	run("causal", 2, 70, 70, true, 1.0f);
	run("one key", 1, 5, 1, false, 1.0f);
	run("large scores", 1, 16, 64, false, 20.0f);
	return sample::finish("attention");
}

// SPDX-License-Identifier: Apache-2.0
//
// C = A * B by tiles in shared memory: first one element a thread, then a 4 x 4 block of elements a thread in
// registers. Exercises: two-dimensional blocks and grids, barriers in a loop, edges that no tile divides, fused
// multiply-add. The host adds in the same order with fmaf(), so the results have to agree to the bit.
#include "sample.h"

static constexpr int tile = 16;

// One element a thread; elements beyond an edge count as zero.
__global__ void product_simple(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
	__shared__ float tile_a[tile][tile], tile_b[tile][tile];
	const int row = blockIdx.y * tile + threadIdx.y, column = blockIdx.x * tile + threadIdx.x;
	float sum = 0.0f;
	for (int start = 0; start < inner; start += tile) {
		const int k_a = start + threadIdx.x, k_b = start + threadIdx.y;
		tile_a[threadIdx.y][threadIdx.x] = row < rows && k_a < inner ? a[row * inner + k_a] : 0.0f;
		tile_b[threadIdx.y][threadIdx.x] = k_b < inner && column < columns ? b[k_b * columns + column] : 0.0f;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < tile; k++)
			sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
		__syncthreads();
	}
	if (row < rows && column < columns)
		c[row * columns + column] = sum;
}

static constexpr int block = 64, depth = 8, per_thread = 4;

// 4 x 4 elements a thread, 256 threads for a block of 64 x 64; all sizes are multiples of the block.
__global__ void __launch_bounds__(256)
	product_registers(const float *a, const float *b, float *c, int inner, int columns)
{
	__shared__ float tile_a[depth][block + 1], tile_b[depth][block];
	const int thread_row = threadIdx.x / 16, thread_column = threadIdx.x % 16;
	const int first_row = blockIdx.y * block, first_column = blockIdx.x * block;
	float sums[per_thread][per_thread] = {};
	for (int start = 0; start < inner; start += depth) {
		for (int i = threadIdx.x; i < block * depth; i += blockDim.x) {
			tile_a[i % depth][i / depth] = a[(first_row + i / depth) * inner + start + i % depth];
			tile_b[i / block][i % block] = b[(start + i / block) * columns + first_column + i % block];
		}
		__syncthreads();
#pragma unroll
		for (int k = 0; k < depth; k++) {
			float left[per_thread], top[per_thread];
#pragma unroll
			for (int i = 0; i < per_thread; i++) {
				left[i] = tile_a[k][thread_row * per_thread + i];
				top[i] = tile_b[k][thread_column + 16 * i];
			}
#pragma unroll
			for (int i = 0; i < per_thread; i++)
#pragma unroll
				for (int j = 0; j < per_thread; j++)
					sums[i][j] = fmaf(left[i], top[j], sums[i][j]);
		}
		__syncthreads();
	}
	for (int i = 0; i < per_thread; i++)
		for (int j = 0; j < per_thread; j++)
			c[(first_row + thread_row * per_thread + i) * columns + first_column + thread_column + 16 * j] =
				sums[i][j];
}

static std::vector<float> random_matrix(int rows, int columns, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<float> matrix((size_t)rows * columns);
	for (float &value : matrix)
		value = random.real();
	return matrix;
}

static std::vector<float> product_on_host(const std::vector<float> &a, const std::vector<float> &b, int rows, int inner,
					  int columns)
{
	std::vector<float> c((size_t)rows * columns, 0.0f);
	for (int row = 0; row < rows; row++)
		for (int k = 0; k < inner; k++)
			for (int column = 0; column < columns; column++)
				c[row * columns + column] =
					fmaf(a[row * inner + k], b[k * columns + column], c[row * columns + column]);
	return c;
}

static void run_simple(int rows, int inner, int columns)
{
	const std::vector<float> a = random_matrix(rows, inner, 1), b = random_matrix(inner, columns, 2);
	const sample::Array<float> device_a(a), device_b(b), device_c((size_t)rows * columns);
	const dim3 grid((columns + tile - 1) / tile, (rows + tile - 1) / tile), threads(tile, tile);
	product_simple<<<grid, threads>>>(device_a, device_b, device_c, rows, inner, columns);
	LAUNCHED();
	sample::expect_equal("simple", device_c.get(), product_on_host(a, b, rows, inner, columns));
}

static void run_registers(int rows, int inner, int columns)
{
	const std::vector<float> a = random_matrix(rows, inner, 3), b = random_matrix(inner, columns, 4);
	const sample::Array<float> device_a(a), device_b(b), device_c((size_t)rows * columns);
	product_registers<<<dim3(columns / block, rows / block), 256>>>(device_a, device_b, device_c, inner, columns);
	LAUNCHED();
	sample::expect_equal("registers", device_c.get(), product_on_host(a, b, rows, inner, columns));
}

int main()
{
	run_simple(48, 64, 80);
	run_simple(37, 19, 53);
	run_simple(1, 100, 1);
	run_registers(128, 96, 192);
	return sample::finish("matrix_product");
}

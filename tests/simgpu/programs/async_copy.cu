// SPDX-License-Identifier: Apache-2.0
//
// A matrix product whose tiles arrive by cp.async while the tiles before are multiplied: two buffers with the pipeline
// primitives of CUDA, and four with the instructions themselves. Edges are filled with zeros by the copy.
// Exercises: cp.async of 4, 8 and 16 bytes with and without fewer source bytes, commit and wait groups, wait_all,
// cvta to shared, arrival of copies at an mbarrier.
#include "sample.h"

#include <cuda_pipeline.h>

static constexpr int tile = 32, inner = 16;

__device__ static void multiply(const float (*a)[inner], const float (*b)[tile], float (&sums)[4])
{
	const int row = threadIdx.x / 8, column = threadIdx.x % 8 * 4;
	for (int k = 0; k < inner; k++)
		for (int j = 0; j < 4; j++)
			sums[j] = fmaf(a[row][k], b[k][column + j], sums[j]);
}

__device__ static void store(float *c, int rows, int columns, const float (&sums)[4])
{
	const int row = blockIdx.y * tile + threadIdx.x / 8, column = blockIdx.x * tile + threadIdx.x % 8 * 4;
	for (int j = 0; j < 4; j++)
		if (row < rows && column + j < columns)
			c[row * columns + column + j] = sums[j];
}

// Two buffers, 16 bytes a copy; all sizes are multiples of the tile.
__global__ void double_buffered(const float *a, const float *b, float *c, int rows, int depth, int columns)
{
	__shared__ alignas(16) float tile_a[2][tile][inner], tile_b[2][inner][tile];
	float sums[4] = {};
	const auto fetch = [&](int buffer, int start) {
		const int t = threadIdx.x;
		if (t < tile * inner / 4)
			__pipeline_memcpy_async(&tile_a[buffer][t / 4][t % 4 * 4],
						&a[(blockIdx.y * tile + t / 4) * depth + start + t % 4 * 4], 16);
		else
			__pipeline_memcpy_async(&tile_b[buffer][(t - 128) / 8][t % 8 * 4],
						&b[(start + (t - 128) / 8) * columns + blockIdx.x * tile + t % 8 * 4],
						16);
		__pipeline_commit();
	};
	fetch(0, 0);
	for (int start = 0, buffer = 0; start < depth; start += inner, buffer ^= 1) {
		if (start + inner < depth) {
			fetch(buffer ^ 1, start + inner);
			__pipeline_wait_prior(1);
		} else {
			__pipeline_wait_prior(0);
		}
		__syncthreads();
		multiply(tile_a[buffer], tile_b[buffer], sums);
		__syncthreads();
	}
	store(c, rows, columns, sums);
}

// Copies 4 bytes, or none and zeros instead.
__device__ static void copy_or_zero(float *to, const float *from, bool inside)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
		     "l"(from), "r"(inside ? 4 : 0)
		     : "memory");
}

static constexpr int stages = 4;

__global__ void four_stages(const float *a, const float *b, float *c, int rows, int depth, int columns)
{
	__shared__ float tile_a[stages][tile][inner], tile_b[stages][inner][tile];
	float sums[4] = {};
	const int n_steps = (depth + inner - 1) / inner;
	const auto fetch = [&](int step) {
		const int stage = step % stages, start = step * inner;
		if (step < n_steps)
			for (int i = threadIdx.x; i < tile * inner; i += blockDim.x) {
				const int row = blockIdx.y * tile + i / inner, k_a = start + i % inner;
				const int k_b = start + i / tile, column = blockIdx.x * tile + i % tile;
				const bool in_a = row < rows && k_a < depth, in_b = k_b < depth && column < columns;
				copy_or_zero(&tile_a[stage][i / inner][i % inner], in_a ? &a[row * depth + k_a] : a,
					     in_a);
				copy_or_zero(&tile_b[stage][i / tile][i % tile], in_b ? &b[k_b * columns + column] : b,
					     in_b);
			}
		// A group even when it is empty: the count of groups has to stay in step.
		asm volatile("cp.async.commit_group;" ::: "memory");
	};
	for (int step = 0; step < stages - 1; step++)
		fetch(step);
	for (int step = 0; step < n_steps; step++) {
		asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
		__syncthreads();
		fetch(step + stages - 1);
		multiply(tile_a[step % stages], tile_b[step % stages], sums);
	}
	store(c, rows, columns, sums);
}

// Copies of 8 bytes that arrive at an mbarrier by themselves; the other half of the block waits for it.
__global__ void arriving(const double *in, double *out)
{
	__shared__ double buffer[64];
	__shared__ alignas(8) uint64_t barrier;
	const unsigned address = (unsigned)__cvta_generic_to_shared(&barrier);
	if (threadIdx.x == 0)
		asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(address) : "memory");
	__syncthreads();
	if (threadIdx.x < 64) {
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(
				     (unsigned)__cvta_generic_to_shared(&buffer[threadIdx.x])),
			     "l"(&in[blockIdx.x * 64 + threadIdx.x])
			     : "memory");
		asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address) : "memory");
		asm volatile("cp.async.wait_all;" ::: "memory");
	} else {
		unsigned done = 0;
		while (!done)
			asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0; selp.u32 %0, 1, "
				     "0, p; }"
				     : "=r"(done)
				     : "r"(address)
				     : "memory");
		out[blockIdx.x * 64 + threadIdx.x - 64] = -buffer[127 - threadIdx.x];
	}
}

static std::vector<float> random_values(size_t n, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<float> values(n);
	for (float &value : values)
		value = random.real();
	return values;
}

typedef void (*Product)(const float *, const float *, float *, int, int, int);

static void run(const char *name, Product product, int rows, int depth, int columns)
{
	const std::vector<float> a = random_values((size_t)rows * depth, 1),
				 b = random_values((size_t)depth * columns, 2);
	const sample::Array<float> device_a(a), device_b(b), device_c((size_t)rows * columns);
	product<<<dim3((columns + tile - 1) / tile, (rows + tile - 1) / tile), 256>>>(device_a, device_b, device_c,
										      rows, depth, columns);
	LAUNCHED();
	std::vector<float> c((size_t)rows * columns, 0.0f);
	for (int row = 0; row < rows; row++)
		for (int k = 0; k < depth; k++)
			for (int column = 0; column < columns; column++)
				c[row * columns + column] =
					fmaf(a[row * depth + k], b[k * columns + column], c[row * columns + column]);
	sample::expect_equal(name, device_c.get(), c);
}

int main()
{
	run("double buffered", double_buffered, 64, 96, 128);
	run("double buffered, one tile", double_buffered, 32, 16, 32);
	run("four stages", four_stages, 50, 75, 61);
	run("four stages, short", four_stages, 32, 16, 32);

	std::vector<double> in(256), out(256);
	for (int i = 0; i < 256; i++) {
		in[i] = i * 1.25;
		out[i / 64 * 64 + 63 - i % 64] = -in[i];
	}
	const sample::Array<double> device_in(in), device_out(256);
	arriving<<<4, 128>>>(device_in, device_out);
	LAUNCHED();
	sample::expect_equal("arriving", device_out.get(), out);
	return sample::finish("async_copy");
}

// SPDX-License-Identifier: Apache-2.0
//
// Cooperative launches: all blocks of a grid meet at a barrier, many times in one kernel. A game of life that never
// leaves the device, and a sum whose phases each need everybody's results of the phase before.
// Exercises: cudaLaunchCooperativeKernel, grid.sync() and its memory order, occupancy queries, refusal of a grid that
// cannot be resident as a whole, device attributes.
#include "sample.h"

#include <algorithm>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static constexpr int size = 96;

__host__ __device__ static uint8_t next_cell(const uint8_t *cells, int x, int y)
{
	int n = 0;
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++)
			if (dx != 0 || dy != 0)
				n += cells[(y + dy + size) % size * size + (x + dx + size) % size];
	return n == 3 || (n == 2 && cells[y * size + x]);
}

// The generation moves from one array to the other; everybody waits in between.
__global__ void live(uint8_t *cells, uint8_t *other, int n_generations)
{
	cg::grid_group grid = cg::this_grid();
	for (int generation = 0; generation < n_generations; generation++) {
		for (unsigned i = grid.thread_rank(); i < size * size; i += grid.size())
			other[i] = next_cell(cells, i % size, i / size);
		grid.sync();
		uint8_t *swapped = cells;
		cells = other;
		other = swapped;
	}
}

// Each block's sum, then the exclusive sum of blocks by the first block, then added to all: three phases.
__global__ void running_sums(const int *values, int *sums, int *block_sums, int n)
{
	__shared__ int shared[128];
	cg::grid_group grid = cg::this_grid();
	const int each = (n + gridDim.x - 1) / gridDim.x, first = blockIdx.x * each, end = min(first + each, n);
	int sum = 0;
	for (int i = first + threadIdx.x; i < end; i += blockDim.x)
		sum += values[i];
	shared[threadIdx.x] = sum;
	__syncthreads();
	for (int half = blockDim.x / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			shared[threadIdx.x] += shared[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0)
		block_sums[blockIdx.x] = shared[0];
	grid.sync();
	if (grid.thread_rank() == 0) {
		int before = 0;
		for (unsigned i = 0; i < gridDim.x; i++) {
			const int own = block_sums[i];
			block_sums[i] = before;
			before += own;
		}
	}
	grid.sync();
	if (threadIdx.x == 0) {
		int running = block_sums[blockIdx.x];
		for (int i = first; i < end; i++)
			sums[i] = running += values[i];
	}
}

__global__ void whose_grid(int *valid)
{
	if (threadIdx.x == 0)
		valid[blockIdx.x] = cg::this_grid().is_valid();
}

static int most_blocks(const void *kernel, int threads)
{
	int device, n_sms, per_sm;
	TRY(cudaGetDevice(&device));
	TRY(cudaDeviceGetAttribute(&n_sms, cudaDevAttrMultiProcessorCount, device));
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0));
	return n_sms * per_sm;
}

static void run_life()
{
	int n_generations = 20;
	sample::Random random(4);
	std::vector<uint8_t> cells(size * size);
	for (uint8_t &cell : cells)
		cell = random.below(3) == 0;
	const sample::Array<uint8_t> device_cells(cells), device_other(cells.size());
	uint8_t *a = device_cells, *b = device_other;
	void *arguments[] = { &a, &b, &n_generations };
	const int blocks = std::min(12, most_blocks((const void *)live, 192));
	TRY(cudaLaunchCooperativeKernel((void *)live, dim3(blocks), dim3(192), arguments, 0, 0));
	for (int generation = 0; generation < n_generations; generation++) {
		std::vector<uint8_t> next(cells.size());
		for (int i = 0; i < size * size; i++)
			next[i] = next_cell(cells.data(), i % size, i / size);
		cells = next;
	}
	sample::expect_equal("cells", device_cells.get(), cells);
}

static void run_sums()
{
	int n = 20001;
	sample::Random random(6);
	std::vector<int> values(n), should(n);
	for (int i = 0; i < n; i++) {
		values[i] = (int)random.below(2001) - 1000;
		should[i] = (i > 0 ? should[i - 1] : 0) + values[i];
	}
	const int blocks = std::min(30, most_blocks((const void *)running_sums, 128));
	const sample::Array<int> device_values(values), device_sums(n), device_block_sums(blocks);
	const int *in = device_values;
	int *out = device_sums, *block_sums = device_block_sums;
	void *arguments[] = { &in, &out, &block_sums, &n };
	for (int repeat = 0; repeat < 3; repeat++)
		TRY(cudaLaunchCooperativeKernel((void *)running_sums, dim3(blocks), dim3(128), arguments, 0, 0));
	sample::expect_equal("sums", device_sums.get(), should);
}

int main()
{
	int supported;
	TRY(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
	sample::expect(supported == 1, "no cooperative launches");
	run_life();
	run_sums();

	// A grid of which some blocks would have to wait for others to end.
	const int too_many = most_blocks((const void *)whose_grid, 256) + 1;
	const sample::Array<int> valid(too_many);
	int *address = valid;
	void *arguments[] = { &address };
	const cudaError_t error =
		cudaLaunchCooperativeKernel((void *)whose_grid, dim3(too_many), dim3(256), arguments, 0, 0);
	sample::expect(error == cudaErrorCooperativeLaunchTooLarge, "too many blocks: %s", cudaGetErrorName(error));
	sample::expect(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess,
		       "the error is not remembered once");

	// An ordinary launch has no grid barrier, a cooperative one does.
	whose_grid<<<2, 32>>>(valid);
	LAUNCHED();
	sample::expect(valid.get()[1] == 0, "an ordinary grid has a barrier");
	TRY(cudaLaunchCooperativeKernel((void *)whose_grid, dim3(2), dim3(32), arguments, 0, 0));
	sample::expect(valid.get()[1] == 1, "a cooperative grid has no barrier");
	return sample::finish("grid_sync");
}

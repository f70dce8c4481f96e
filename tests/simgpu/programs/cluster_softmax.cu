// SPDX-License-Identifier: Apache-2.0
//
// A softmax over rows too long for a block: a cluster takes a row, each block a part of it. Maxima and sums go from one
// lane of each block to all blocks of the cluster; the other lanes of its warp are at the barrier by then.
// Exercises: cluster barriers that the lanes of a warp reach one after the other, stores to distributed shared memory,
// clusters of 1 to 8 blocks chosen at launch, more clusters than fit on the device at once.
#include "sample.h"

#include <cmath>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

static constexpr int block_size = 96, most_blocks = 8;

struct Partial {
	float maximum, sum;
};

// Of two parts of a row, the sum relative to the maximum of both.
__device__ inline Partial together(Partial a, Partial b)
{
	const float maximum = fmaxf(a.maximum, b.maximum);
	return { maximum, a.sum * expf(a.maximum - maximum) + b.sum * expf(b.maximum - maximum) };
}

__global__ void softmax(const float *x, float *y, int n)
{
	__shared__ Partial of_warps[block_size / 32], of_blocks[most_blocks];
	const cg::cluster_group cluster = cg::this_cluster();
	const cg::thread_block block = cg::this_thread_block();
	const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
	const unsigned rank = cluster.block_rank(), n_blocks = cluster.num_blocks();
	const int first = (int)rank * block_size + (int)threadIdx.x, step = (int)n_blocks * block_size;
	const float *row = x + (size_t)blockIdx.y * n;

	cluster.sync(); // the others' shared memory is there
	Partial mine = { -1e30f, 0 };
	for (int i = first; i < n; i += step)
		mine = together(mine, { row[i], 1 });
	const float maximum = cg::reduce(warp, mine.maximum, cg::greater<float>());
	const float sum = cg::reduce(warp, mine.sum * expf(mine.maximum - maximum), cg::plus<float>());
	if (warp.thread_rank() == 0)
		of_warps[warp.meta_group_rank()] = { maximum, sum };
	block.sync();
	if (threadIdx.x == 0) {
		Partial of_block = of_warps[0];
		for (int i = 1; i < block_size / 32; i++)
			of_block = together(of_block, of_warps[i]);
		for (unsigned i = 0; i < n_blocks; i++)
			*cluster.map_shared_rank(&of_blocks[rank], i) = of_block;
	}
	cluster.sync();
	Partial of_row = of_blocks[0];
	for (unsigned i = 1; i < n_blocks; i++)
		of_row = together(of_row, of_blocks[i]);
	for (int i = first; i < n; i += step)
		y[(size_t)blockIdx.y * n + i] = expf(row[i] - of_row.maximum) / of_row.sum;
}

static void run(unsigned n_blocks, int n_rows, int n)
{
	sample::Random random(n_blocks);
	std::vector<float> x((size_t)n_rows * n), should(x.size());
	for (float &value : x)
		value = 8 * random.real();
	for (int r = 0; r < n_rows; r++) {
		double sum = 0;
		for (int i = 0; i < n; i++)
			sum += exp((double)x[(size_t)r * n + i]);
		for (int i = 0; i < n; i++)
			should[(size_t)r * n + i] = (float)(1000 * exp((double)x[(size_t)r * n + i]) / sum);
	}
	const sample::Array<float> x_there(x), y_there(x.size());
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = n_blocks;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(n_blocks, n_rows);
	config.blockDim = dim3(block_size);
	config.attrs = &attribute;
	config.numAttrs = 1;
	TRY(cudaLaunchKernelEx(&config, softmax, (const float *)x_there, (float *)y_there, n));
	std::vector<float> is = y_there.get();
	for (float &value : is)
		value *= 1000;
	sample::expect_near("softmax", is, should, 1e-4);
}

int main()
{
	for (unsigned n_blocks = 1; n_blocks <= most_blocks; n_blocks *= 2) {
		run(n_blocks, 5, 1500);
		run(n_blocks, 40, 300);
	}
	return sample::finish("cluster_softmax");
}

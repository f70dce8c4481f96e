// SPDX-License-Identifier: Apache-2.0
//
// Thread block clusters (sm_90): blocks that read and write each other's shared memory. A histogram spread over the
// blocks of a cluster, a reduction over it, and a ring in which every block hands its tile to the next.
// Exercises: cluster size at compile time and at launch, cluster barriers split into arrive and wait, mapa, loads,
// stores and atomics on distributed shared memory, %cluster registers, occupancy of clusters, refusal of an impossible
// size.
#include "sample.h"

#include <climits>
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

static constexpr int block_size = 128;

// Each block of the cluster owns a part of the bins.
__global__ void histogram(const unsigned *values, int n, int bins_per_block, unsigned *bins)
{
	extern __shared__ unsigned own_bins[];
	cg::cluster_group cluster = cg::this_cluster();
	const unsigned n_bins = bins_per_block * cluster.num_blocks();
	for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
		own_bins[i] = 0;
	cluster.sync(); // nobody counts before everybody's bins are zero
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		const unsigned bin = values[i] % n_bins;
		unsigned *theirs = cluster.map_shared_rank(own_bins, bin / bins_per_block);
		atomicAdd(&theirs[bin % bins_per_block], 1u);
	}
	cluster.sync(); // nobody leaves while others count in its memory
	for (int i = threadIdx.x; i < bins_per_block; i += blockDim.x)
		atomicAdd(&bins[cluster.block_rank() * bins_per_block + i], own_bins[i]);
}

// Two-dimensional clusters of 2 x 2, fixed when compiled: block 0 of each adds up the others' sums.
__global__ void __cluster_dims__(2, 2, 1) sums(const int *values, int *results)
{
	__shared__ int sum;
	cg::cluster_group cluster = cg::this_cluster();
	const int block = blockIdx.y * gridDim.x + blockIdx.x;
	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	atomicAdd(&sum, values[block * block_size + threadIdx.x]);
	cluster.sync();
	if (cluster.block_rank() == 0 && threadIdx.x == 0) {
		int total = 0;
		for (unsigned rank = 0; rank < cluster.num_blocks(); rank++)
			total += *cluster.map_shared_rank(&sum, rank) * (int)(rank + 1);
		const int cluster_index = blockIdx.y / 2 * (gridDim.x / 2) + blockIdx.x / 2;
		results[cluster_index] = total;
	}
	cluster.sync();
}

// What each block says of its place.
struct Place {
	unsigned rank, n_blocks, x, y, n_x, n_y;
};

__global__ void __cluster_dims__(2, 2, 1) places(Place *results)
{
	const cg::cluster_group cluster = cg::this_cluster();
	const dim3 index = cluster.block_index(), dims = cluster.dim_blocks();
	if (threadIdx.x == 0)
		results[blockIdx.y * gridDim.x + blockIdx.x] = {
			cluster.block_rank(), cluster.num_blocks(), index.x, index.y, dims.x, dims.y
		};
}

// A tile goes all around the ring; each block writes into the next one's buffer and adds its own part on the way.
__global__ void ring(const int *values, int *results)
{
	__shared__ int buffers[2][block_size];
	cg::cluster_group cluster = cg::this_cluster();
	const unsigned rank = cluster.block_rank(), n = cluster.num_blocks(), next = (rank + 1) % n;
	const int own = values[blockIdx.x * block_size + threadIdx.x];
	buffers[0][threadIdx.x] = own;
	cluster.sync();
	for (unsigned step = 0; step < n; step++) {
		int *theirs = cluster.map_shared_rank(buffers[(step + 1) % 2], next);
		theirs[threadIdx.x] = buffers[step % 2][threadIdx.x] * 3 + own;
		cluster.barrier_arrive();
		// Something of its own in between.
		const int unused = __reduce_add_sync(0xffffffffu, own);
		cluster.barrier_wait();
		if (unused == INT_MIN)
			return;
	}
	results[blockIdx.x * block_size + threadIdx.x] = buffers[n % 2][threadIdx.x];
}

static cudaLaunchConfig_t configure(cudaLaunchAttribute *attribute, int blocks, int cluster, size_t shared_bytes)
{
	cudaLaunchConfig_t config = {};
	config.gridDim = blocks;
	config.blockDim = block_size;
	config.dynamicSmemBytes = shared_bytes;
	attribute->id = cudaLaunchAttributeClusterDimension;
	attribute->val.clusterDim.x = cluster;
	attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
	config.attrs = attribute;
	config.numAttrs = 1;
	return config;
}

static void run_histogram(int cluster_size, int n_bins)
{
	const int n = 20000, blocks = 16, bins_per_block = n_bins / cluster_size;
	sample::Random random(n_bins);
	std::vector<unsigned> values(n), should(n_bins, 0);
	for (unsigned &value : values) {
		value = (unsigned)random.next();
		should[value % n_bins]++;
	}
	const sample::Array<unsigned> device_values(values);
	sample::Array<unsigned> bins(n_bins);
	bins.fill_bytes(0);
	cudaLaunchAttribute attribute;
	const cudaLaunchConfig_t config =
		configure(&attribute, blocks, cluster_size, bins_per_block * sizeof(unsigned));
	int n_clusters = 0;
	TRY(cudaOccupancyMaxActiveClusters(&n_clusters, histogram, &config));
	sample::expect(n_clusters > 0, "no cluster of %d fits", cluster_size);
	TRY(cudaLaunchKernelEx(&config, histogram, (const unsigned *)device_values, n, bins_per_block,
			       (unsigned *)bins));
	sample::expect_equal("bins", bins.get(), should);
}

static void run_ring(int cluster_size)
{
	const int blocks = cluster_size * 3, n = blocks * block_size;
	std::vector<int> values(n), should(n);
	for (int i = 0; i < n; i++)
		values[i] = i % 101;
	for (int block = 0; block < blocks; block++)
		for (int t = 0; t < block_size; t++) {
			// It started at this block, and comes back to it.
			const int first = block / cluster_size * cluster_size;
			int value = values[block * block_size + t];
			for (int step = 0; step < cluster_size; step++)
				value = value * 3 +
					values[(first + (block - first + step) % cluster_size) * block_size + t];
			should[block * block_size + t] = value;
		}
	const sample::Array<int> device_values(values), results(n);
	cudaLaunchAttribute attribute;
	const cudaLaunchConfig_t config = configure(&attribute, blocks, cluster_size, 0);
	TRY(cudaLaunchKernelEx(&config, ring, (const int *)device_values, (int *)results));
	sample::expect_equal("ring", results.get(), should);
}

int main()
{
	run_histogram(1, 300);
	run_histogram(2, 512);
	run_histogram(4, 4000);
	run_histogram(8, 8192);
	run_ring(2);
	run_ring(4);

	const dim3 grid(6, 4);
	std::vector<int> values(24 * block_size), should(6, 0);
	for (size_t i = 0; i < values.size(); i++) {
		values[i] = (int)(i * 7 % 1001);
		const int block = (int)i / block_size, x = block % 6, y = block / 6;
		should[y / 2 * 3 + x / 2] += values[i] * (y % 2 * 2 + x % 2 + 1);
	}
	const sample::Array<int> device_values(values), results(6);
	sums<<<grid, block_size>>>(device_values, results);
	LAUNCHED();
	sample::expect_equal("sums", results.get(), should);

	const sample::Array<Place> device_places(24);
	places<<<grid, 64>>>(device_places);
	LAUNCHED();
	const std::vector<Place> is = device_places.get();
	for (unsigned i = 0; i < 24; i++) {
		const unsigned x = i % 6 % 2, y = i / 6 % 2;
		sample::expect(is[i].rank == y * 2 + x && is[i].n_blocks == 4 && is[i].x == x && is[i].y == y &&
				       is[i].n_x == 2 && is[i].n_y == 2,
			       "block %u: rank %u of %u at %u, %u", i, is[i].rank, is[i].n_blocks, is[i].x, is[i].y);
	}

	// Five blocks do not make clusters of two.
	cudaLaunchAttribute attribute;
	const cudaLaunchConfig_t config = configure(&attribute, 5, 2, 0);
	const cudaError_t error = cudaLaunchKernelEx(&config, ring, (const int *)device_values, (int *)results);
	sample::expect(error != cudaSuccess, "five blocks in clusters of two were accepted");
	cudaGetLastError();
	return sample::finish("clusters");
}

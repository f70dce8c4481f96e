/* SPDX-License-Identifier: Apache-2.0
 *
 * product.cu - C = A * B for square matrices, with tiles of 16 by 16 in shared memory: what a course shows first, and
 * what simgpu's speed is measured with. The order must be a multiple of 16; blocks are 16 by 16 threads.
 */
#define TILE 16

extern "C" __global__ void product(const float *a, const float *b, float *c, int order)
{
	__shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
	const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int start = 0; start < order; start += TILE) {
		tile_a[threadIdx.y][threadIdx.x] = a[row * order + start + threadIdx.x];
		tile_b[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * order + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
		__syncthreads();
	}
	c[row * order + column] = sum;
}

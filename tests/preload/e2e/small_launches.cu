/* SPDX-License-Identifier: Apache-2.0
 *
 * small_launches.cu - 4,000 launches of 4 warps with one region each, without waiting for any of them: 16,000 segments.
 * With a thousand words for each warp they would not fit into 64M together.
 */
#include <warpspan.cuh>

#include <cstdio>

__global__ void small(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	data[threadIdx.x] += 1;
}

int main()
{
	int *data = nullptr, first = 0;
	cudaMalloc(&data, 128 * sizeof(int));
	cudaMemset(data, 0, 128 * sizeof(int));
	for (int i = 0; i < 4000; i++)
		small<<<1, 128>>>(data);
	cudaMemcpy(&first, data, sizeof(first), cudaMemcpyDeviceToHost);
	printf("small_launches: %d, %s\n", first, cudaGetErrorString(cudaGetLastError()));
	return first != 4000;
}

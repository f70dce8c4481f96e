/* SPDX-License-Identifier: Apache-2.0
 *
 * unpaired.cu - what goes wrong in sources: a begin without an end, an end without a begin, between good regions.
 * 2 blocks of 2 warps: each site 4 times.
 */
#include <warpspan.cuh>

#include <cstdio>

__global__ void unpaired(int *data)
{
	WS_OPEN(ws);
	WS_BEGIN(ws, "outer");
	{
		WS_SCOPE(ws, "good");
		data[threadIdx.x] += 1;
	}
	WS_BEGIN(ws, "never ended");
	WS_END(ws, "outer");
	WS_END(ws, "never begun");
	WS_SCOPE(ws, "good too");
	data[threadIdx.x] += 1;
}

int main()
{
	int *data = nullptr;
	cudaMalloc(&data, 64 * sizeof(int));
	unpaired<<<2, 64>>>(data);
	const cudaError_t error = cudaDeviceSynchronize();
	printf("unpaired: %s\n", cudaGetErrorString(error));
	return error != cudaSuccess;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * many_blocks.cu - 20,000 blocks of 8 warps with four regions each: 160,000 segments, 1,280,000 records.
 */
#include <warpspan.cuh>

#include <cstdio>

__global__ void many_blocks(unsigned *counter)
{
	WS_OPEN(ws);
	unsigned mine = threadIdx.x;
	{
		WS_SCOPE(ws, "first");
		mine = mine * 3 + 1;
	}
	{
		WS_SCOPE(ws, "second");
		mine ^= mine >> 3;
	}
	{
		WS_SCOPE(ws, "third");
		mine += blockIdx.x;
	}
	WS_SCOPE(ws, "fourth");
	if (threadIdx.x == 0 && mine != 0xffffffffu)
		atomicAdd(counter, 1u);
}

int main()
{
	unsigned *counter = nullptr, count = 0;
	cudaMalloc(&counter, sizeof(count));
	cudaMemset(counter, 0, sizeof(count));
	many_blocks<<<20000, 256>>>(counter);
	cudaMemcpy(&count, counter, sizeof(count), cudaMemcpyDeviceToHost);
	printf("many_blocks: %u blocks, %s\n", count, cudaGetErrorString(cudaGetLastError()));
	return count != 20000;
}

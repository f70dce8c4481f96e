/* SPDX-License-Identifier: Apache-2.0
 *
 * hang.cu - 4 warps, one of which waits for ever inside "wait for the flag"; the host does not wait for the kernel.
 */
#include <warpspan.cuh>

#include <cstdio>
#include <unistd.h>

__global__ void hang(volatile int *flag)
{
	WS_OPEN(ws);
	{
		WS_SCOPE(ws, "work");
		__syncthreads();
	}
	if (threadIdx.x / 32 == 2) {
		WS_SCOPE(ws, "wait for the flag");
		while (*flag == 0)
			__nanosleep(1000);
	}
}

int main()
{
	int *flag = nullptr;
	cudaMalloc(&flag, sizeof(int));
	cudaMemset(flag, 0, sizeof(int));
	hang<<<1, 128>>>(flag);
	printf("hang: launched, %s\n", cudaGetErrorString(cudaGetLastError()));
	usleep(300 * 1000);
	return 0;
}

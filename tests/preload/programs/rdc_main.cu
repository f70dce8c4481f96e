/* SPDX-License-Identifier: Apache-2.0
 * rdc_main.cu - a program of two files whose device code is linked: the recorder goes into a function of the other, and
 * each has a kernel. 2 + 2 launches of 4 blocks of 2 warps. */
#include <warpspan.cuh>

#include "rdc.h"

#include <cstdio>

__global__ void near_step(int *data)
{
	WS_OPEN(ws);
	far_add(ws, data);
}

int main()
{
	int *data = nullptr;
	int first = -1;
	cudaMalloc(&data, 4 * 64 * sizeof(int));
	cudaMemset(data, 0, 4 * 64 * sizeof(int));
	for (int i = 0; i < 2; i++) {
		near_step<<<4, 64>>>(data);
		launch_far(data);
	}
	cudaDeviceSynchronize();
	cudaMemcpy(&first, data, sizeof(first), cudaMemcpyDeviceToHost);
	printf("each element %d times, %s\n", first, cudaGetErrorName(cudaGetLastError()));
	return 42;
}

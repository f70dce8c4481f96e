/* SPDX-License-Identifier: Apache-2.0
 * plugin.cu - for bypass.c: 4 launches of 4 blocks of 2 warps, as doors.cu makes them. */
#include <warpspan.cuh>

__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	atomicAdd(&data[blockIdx.x * blockDim.x + threadIdx.x], 1);
}

extern "C" int warpspan_test_run()
{
	int *data = nullptr;
	int first = -1;
	void *arguments[] = { &data };
	cudaMalloc(&data, 4 * 64 * sizeof(int));
	cudaMemset(data, 0, 4 * 64 * sizeof(int));
	for (int i = 0; i < 3; i++)
		step<<<4, 64>>>(data);
	cudaLaunchKernel(reinterpret_cast<const void *>(step), dim3(4), dim3(64), arguments, 0, nullptr);
	cudaDeviceSynchronize();
	cudaMemcpy(&first, data, sizeof(first), cudaMemcpyDeviceToHost);
	return first;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * two_gpus.cu - the same kernel on two devices at once, N_ROUNDS times on each, from one thread.
 */
#include <warpspan.cuh>

#include <cstdio>

constexpr int N_ROUNDS = 3, N_BLOCKS = 2, N_THREADS = 64;

__global__ void work(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "work");
	data[blockIdx.x * blockDim.x + threadIdx.x]++;
}

int main()
{
	int *data[2], result[N_BLOCKS * N_THREADS], wrong = 0;
	for (int device = 0; device < 2; device++) {
		cudaSetDevice(device);
		cudaMalloc(&data[device], sizeof(result));
		cudaMemset(data[device], 0, sizeof(result));
	}
	for (int round = 0; round < N_ROUNDS; round++) {
		for (int device = 0; device < 2; device++) {
			cudaSetDevice(device);
			work<<<N_BLOCKS, N_THREADS>>>(data[device]);
		}
	}
	for (int device = 0; device < 2; device++) {
		cudaSetDevice(device);
		cudaDeviceSynchronize();
		cudaMemcpy(result, data[device], sizeof(result), cudaMemcpyDeviceToHost);
		for (int value : result)
			wrong += value != N_ROUNDS;
		cudaFree(data[device]);
	}
	const cudaError_t error = cudaGetLastError();
	printf("two_gpus: %d wrong, %s\n", wrong, cudaGetErrorString(error));
	return wrong != 0 || error != cudaSuccess;
}

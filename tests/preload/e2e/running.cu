/* SPDX-License-Identifier: Apache-2.0
 *
 * running.cu - launches, synchronises (argument "stream": its stream, else the device), says so, and then lives on
 * until its standard input ends. 4 blocks of 2 warps.
 */
#include <warpspan.cuh>

#include <cstdio>
#include <cstring>

__global__ void running(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
	int *data = nullptr;
	cudaStream_t stream;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaMalloc(&data, 4 * 64 * sizeof(int));
	running<<<4, 64, 0, stream>>>(data);
	const bool by_stream = argc > 1 && strcmp(argv[1], "stream") == 0;
	const cudaError_t error = by_stream ? cudaStreamSynchronize(stream) : cudaDeviceSynchronize();
	printf("synchronised: %s\n", cudaGetErrorString(error));
	fflush(stdout);
	while (getchar() != EOF)
		;
	return error != cudaSuccess;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * in_flight.cu EARLY OWN LATE - so many launches wait on one stream when the session starts, are made in it, and after
 * its stop; only then may the first of them run.
 */
#include <warpspan.cuh>

#include <warpspan.h>

#include <cstdio>
#include <cstdlib>

__global__ void hold(volatile int *held)
{
	WS_OPEN(ws);
	while (*held != 0)
		__nanosleep(1000);
}

/* 2 blocks of 2 warps. */
__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "work");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

int main(int argc, char **argv)
{
	int *data, *held;
	cudaStream_t stream;

	if (argc != 4)
		return 2;
	cudaMalloc(&data, 128 * sizeof(int));
	cudaHostAlloc(&held, sizeof(int), cudaHostAllocMapped);
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	*held = 1;
	hold<<<1, 32, 0, stream>>>(held);
	for (int part = 1; part <= 3; part++) {
		for (int i = 0; i < atoi(argv[part]); i++)
			step<<<2, 64, 0, stream>>>(data);
		if (part == 1)
			printf("start %d\n", warpspan_start(nullptr));
		if (part == 2) {
			printf("mark %d\n", warpspan_mark("all launched"));
			printf("stop %d\n", warpspan_stop(0)); /* does not wait */
		}
	}
	*held = 0;
	printf("stop %d\n", warpspan_stop(20000)); /* waits for the end of the same */
	return cudaDeviceSynchronize();
}

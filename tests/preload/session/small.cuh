/* SPDX-License-Identifier: Apache-2.0
 *
 * small.cuh - a kernel with a region, and one that runs until the host lets go, for programs whose host side matters.
 */
#ifndef TESTS_SMALL_CUH
#define TESTS_SMALL_CUH

#include <warpspan.cuh>

#include <cstdio>
#include <cuda_runtime.h>

/* 2 blocks of 2 warps, a region each. */
__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "work");
	atomicAdd(data, 1);
}

__global__ void hold(volatile int *held)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "held");
	while (*held != 0)
		__nanosleep(1000);
}

static int *data;

/* Once, before threads are started. */
static void prepare()
{
	if (cudaMalloc(&data, sizeof(int)) != cudaSuccess || cudaMemset(data, 0, sizeof(int)) != cudaSuccess) {
		fprintf(stderr, "no device\n");
		exit(3);
	}
}

static void launch(int n)
{
	for (int i = 0; i < n; i++)
		step<<<2, 64>>>(data);
}

/* How often step() has run, counted by its threads. */
[[maybe_unused]] static int n_ran()
{
	int n = 0;
	cudaMemcpy(&n, data, sizeof(n), cudaMemcpyDeviceToHost);
	return n / 128;
}

/* A kernel that never ends. */
[[maybe_unused]] static void hang()
{
	static cudaStream_t side;
	int *held;
	cudaHostAlloc(&held, sizeof(int), cudaHostAllocMapped);
	*held = 1;
	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
	hold<<<1, 32, 0, side>>>(held);
}

#endif

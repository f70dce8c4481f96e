// SPDX-License-Identifier: Apache-2.0
// Errors: what is refused at once, what poisons the context, and what a reset mends.
#include "check.h"

#include <assert.h>
#include <unistd.h>

__device__ int survivor = 11;

__global__ void write_to(int *to)
{
	*to = 1;
}

__global__ void stop_here()
{
	__trap();
}

__global__ void claim(int n)
{
	assert(n == 1);
}

__global__ void bump()
{
	survivor++;
}

static void wrong_shapes_are_refused_and_forgotten()
{
	int *p;

	OK(cudaMalloc(&p, sizeof(int)));
	write_to<<<0, 1>>>(p);
	CHECK_EQUAL(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidConfiguration);
	OK(cudaGetLastError());
	write_to<<<1, 2048>>>(p);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidConfiguration);
	write_to<<<1, 1, 100 * 1024>>>(p);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
	write_to<<<1, 1, 0, (cudaStream_t)0x1234560>>>(p);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidResourceHandle);
	CHECK_EQUAL(cudaMemcpy(p, p, 4, (cudaMemcpyKind)77), cudaErrorInvalidMemcpyDirection);
	CHECK_EQUAL(cudaMemcpy((void *)0x10, p, 4, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
	CHECK_EQUAL(cudaMemcpy(p, p, 4000, cudaMemcpyDeviceToDevice), cudaErrorInvalidValue);
	CHECK_EQUAL(cudaLaunchKernel((const void *)wrong_shapes_are_refused_and_forgotten, 1, 1, NULL, 0, 0),
		    cudaErrorInvalidDeviceFunction);
	CHECK_EQUAL(cudaSetDevice(9), cudaErrorInvalidDevice);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidDevice);
	write_to<<<1, 1>>>(p);
	OK(cudaDeviceSynchronize());
	OK(cudaFree(p));
}

static void fault_sticks_until_reset(int *bad, cudaError_t expected)
{
	int *p, value;

	bump<<<1, 1>>>();
	OK(cudaDeviceSynchronize());
	OK(cudaMalloc(&p, sizeof(int)));
	if (expected == cudaErrorAssert)
		claim<<<1, 1>>>(2);
	else if (bad)
		write_to<<<1, 1>>>(bad);
	else
		stop_here<<<1, 1>>>();
	CHECK_EQUAL(cudaDeviceSynchronize(), expected);
	CHECK_EQUAL(cudaGetLastError(), expected);
	CHECK_EQUAL(cudaMalloc(&p, sizeof(int)), expected);
	CHECK_EQUAL(cudaMemcpy(&value, p, sizeof(int), cudaMemcpyDeviceToHost), expected);
	write_to<<<1, 1>>>(p);
	CHECK_EQUAL(cudaGetLastError(), expected);
	CHECK_EQUAL(cudaStreamSynchronize(0), expected);
	OK(cudaDeviceReset());
	OK(cudaGetLastError());
	/* A fresh context: variables have their first values again. */
	OK(cudaMemcpyFromSymbol(&value, survivor, sizeof(value)));
	CHECK_EQUAL(value, 11);
	bump<<<1, 1>>>();
	OK(cudaMemcpyFromSymbol(&value, survivor, sizeof(value)));
	CHECK_EQUAL(value, 12);
	CHECK_EQUAL(cudaFree(p), cudaErrorInvalidValue);
	cudaGetLastError();
}

/* What is freed is gone, also for kernels. */
static void freed_memory_is_out_of_reach()
{
	int *p;

	OK(cudaMalloc(&p, 4096));
	write_to<<<1, 1>>>(p);
	OK(cudaDeviceSynchronize());
	OK(cudaFree(p));
	CHECK_EQUAL(cudaFree(p), cudaErrorInvalidValue);
	cudaGetLastError();
	write_to<<<1, 1>>>(p);
	CHECK_EQUAL(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	OK(cudaDeviceReset());
}

int main()
{
	wrong_shapes_are_refused_and_forgotten();
	fault_sticks_until_reset((int *)0x40, cudaErrorIllegalAddress);
	fault_sticks_until_reset((int *)0x200000000001, cudaErrorMisalignedAddress);
	fault_sticks_until_reset(NULL, cudaErrorLaunchFailure);
	fault_sticks_until_reset(NULL, cudaErrorAssert);
	freed_memory_is_out_of_reach();
	puts("errors ok");
	return 0;
}

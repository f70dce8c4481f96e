// SPDX-License-Identifier: Apache-2.0
// Does one thing that a program must not do, by name, and prints the error it gets:  misuse NAME
#include "check.h"

#include <string.h>

__global__ void store(int *to, int i)
{
	to[i] = 1;
}

__global__ void load_wide(const char *from, long long *to)
{
	*to = *(const long long *)from;
}

__global__ void overrun_shared(int *to, int i)
{
	__shared__ int values[32];

	values[threadIdx.x] = i;
	__syncthreads();
	*to = *(volatile int *)&values[i];
}

__global__ void overrun_dynamic(int *to, int i)
{
	extern __shared__ int dynamic[];

	*to = dynamic[i];
}

__global__ void overrun_local(int *to, int i)
{
	volatile int values[8];

	for (int k = 0; k < 8; k++)
		values[k] = k;
	*to = values[i];
}

__global__ void odd_barrier(int n_threads)
{
	asm volatile("bar.sync 1, %0;" ::"r"(n_threads));
}

__global__ void far_barrier(int id)
{
	asm volatile("bar.sync %0, 32;" ::"r"(id));
}

__device__ int endless(int depth)
{
	volatile int here[64];

	here[depth & 63] = depth;
	return endless(depth + 1) + here[depth & 63];
}

__global__ void overflow_stack(int *to)
{
	*to = endless(0);
}

__global__ void call_nothing(void (*function)())
{
	function();
}

__global__ void __launch_bounds__(64) bounded(int *to)
{
	*to = 1;
}

/* What the launch says at once, or what is found when it has run. */
static cudaError_t outcome()
{
	cudaError_t error = cudaGetLastError();

	return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

int main(int argc, char **argv)
{
	const char *name = argc == 2 ? argv[1] : "";
	int *memory, *other;
	cudaError_t error;

	OK(cudaMalloc(&memory, 100 * sizeof(int)));
	OK(cudaMalloc(&other, 4096));
	OK(cudaDeviceSynchronize());
	if (!strcmp(name, "past_the_end"))
		store<<<1, 1>>>(memory, 100);
	else if (!strcmp(name, "before_the_start"))
		store<<<1, 1>>>(memory, -1);
	else if (!strcmp(name, "null"))
		store<<<1, 1>>>(NULL, 0);
	else if (!strcmp(name, "host_memory"))
		store<<<1, 1>>>((int *)malloc(4096), 0);
	else if (!strcmp(name, "misaligned"))
		load_wide<<<1, 1>>>((const char *)memory + 4, (long long *)other);
	else if (!strcmp(name, "past_static_shared"))
		overrun_shared<<<1, 32>>>(memory, 1 << 20);
	else if (!strcmp(name, "past_dynamic_shared"))
		overrun_dynamic<<<1, 32, 256>>>(memory, 1 << 20);
	else if (!strcmp(name, "past_local"))
		overrun_local<<<1, 1>>>(memory, 1 << 20);
	else if (!strcmp(name, "stack_overflow"))
		overflow_stack<<<1, 1>>>(memory);
	else if (!strcmp(name, "odd_barrier"))
		odd_barrier<<<1, 64>>>(33);
	else if (!strcmp(name, "far_barrier"))
		far_barrier<<<1, 32>>>(16);
	else if (!strcmp(name, "no_function"))
		call_nothing<<<1, 1>>>((void (*)())16);
	else if (!strcmp(name, "many_threads"))
		store<<<1, dim3(32, 33)>>>(memory, 0);
	else if (!strcmp(name, "more_than_bound"))
		bounded<<<1, 65>>>(memory);
	else if (!strcmp(name, "many_blocks"))
		store<<<dim3(1, 65536), 1>>>(memory, 0);
	else if (!strcmp(name, "much_shared"))
		store<<<1, 1, 48 * 1024 + 1>>>(memory, 0);
	else if (!strcmp(name, "too_much_opted_in"))
		cudaFuncSetAttribute(store, cudaFuncAttributeMaxDynamicSharedMemorySize, 228 * 1024);
	else if (!strcmp(name, "after_free")) {
		OK(cudaFree(memory));
		store<<<1, 1>>>(memory, 0);
	} else if (!strcmp(name, "after_async_free")) {
		OK(cudaMallocAsync(&memory, 4096, 0));
		OK(cudaFreeAsync(memory, 0));
		store<<<1, 1>>>(memory, 0);
	} else if (!strcmp(name, "freed_twice")) {
		OK(cudaFree(memory));
		cudaFree(memory);
	} else if (!strcmp(name, "copy_after_free")) {
		int value;

		OK(cudaFree(memory));
		cudaMemcpy(&value, memory, sizeof(value), cudaMemcpyDeviceToHost);
	} else if (!strcmp(name, "copy_too_long")) {
		cudaMemset(memory, 0, 101 * sizeof(int));
	} else {
		fprintf(stderr, "usage: misuse NAME\n");
		return 2;
	}
	error = outcome();
	printf("%s\n", cudaGetErrorName(error));
	/* A fault stays; a refusal is forgotten. */
	printf("%s\n", cudaGetErrorName(cudaFree(other)));
	return 0;
}

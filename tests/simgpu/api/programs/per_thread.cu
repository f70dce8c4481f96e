// SPDX-License-Identifier: Apache-2.0
// Compiled with --default-stream per-thread: two threads' default streams do not wait for each other.
#include "check.h"

#include <pthread.h>

__global__ void until(volatile int *flag)
{
	while (*flag == 0)
		;
}

__global__ void store(int *to, int value)
{
	*to = value;
}

static volatile int *flag;

static void *waits(void *)
{
	int zero = 0, *device;

	OK(cudaMalloc(&device, sizeof(int)));
	OK(cudaMemcpy(device, &zero, sizeof(int), cudaMemcpyHostToDevice));
	until<<<1, 1>>>(flag);
	OK(cudaGetLastError());
	return device;
}

int main()
{
	pthread_t thread;
	int value = 3, *device;
	void *other;

	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocDefault));
	OK(cudaMalloc(&device, sizeof(int)));
	*flag = 0;
	CHECK_EQUAL(pthread_create(&thread, NULL, waits, NULL), 0);
	pthread_join(thread, &other);
	OK(cudaMemcpy(device, &value, sizeof(int), cudaMemcpyHostToDevice));
	store<<<1, 1>>>(device, 4);
	OK(cudaStreamSynchronize(0)); /* this thread's */
	OK(cudaMemcpy(&value, device, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 4);
	*flag = 1;
	OK(cudaDeviceSynchronize());
	OK(cudaFree(other));
	OK(cudaFree(device));
	puts("per_thread ok");
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Relocatable device code of two files: functions, variables, function pointers and strings across them.
#include "../check.h"
#include "linked.h"

__device__ int one_less(int x)
{
	return x - 1;
}

static __device__ int mine = 100;
__device__ int (*pointer)(int) = twice;

__global__ void first(int *to)
{
	to[0] = twice(21) + mine;
	to[1] = across;
	across = 9;
	to[2] = plus_merged(1);
	merged = 50;
	to[3] = pointer(4);
	printf("from %s\n", "first");
}

int main()
{
	int *device, host[8], value = 77;

	OK(cudaMalloc(&device, sizeof(host)));
	first<<<1, 1>>>(device);
	OK(cudaGetLastError());
	launch_second(device + 4);
	OK(cudaGetLastError());
	OK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(host[0], 142);
	CHECK_EQUAL(host[1], 7);
	CHECK_EQUAL(host[2], 6);
	CHECK_EQUAL(host[3], 8);
	CHECK_EQUAL(host[4], 9);
	CHECK_EQUAL(host[5], 52);
	CHECK_EQUAL(host[6], 1000);
	/* The host sees one variable, whichever file it asks from. */
	OK(cudaMemcpyToSymbol(across, &value, sizeof(value)));
	launch_second(device + 4);
	OK(cudaMemcpy(host, device + 4, sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(host[0], 77);
	OK(cudaMemcpyFromSymbol(&value, merged, sizeof(value)));
	CHECK_EQUAL(value, 50);
	puts("linked ok");
	return 0;
}

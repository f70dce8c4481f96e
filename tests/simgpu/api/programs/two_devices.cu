// SPDX-License-Identifier: Apache-2.0
// Two devices (SIMGPU_DEVICES=2): each has its own memory, code, errors and grid ids.
#include "check.h"

#include <string.h>

__device__ int counter = 1;

__global__ void add(int *to, int n)
{
	*to += n;
	counter += n;
}

int main()
{
	cudaDeviceProp first, second;
	cudaPointerAttributes attributes;
	int n, device, *p[2], value;

	OK(cudaGetDeviceCount(&n));
	CHECK_EQUAL(n, 2);
	OK(cudaGetDeviceProperties(&first, 0));
	OK(cudaGetDeviceProperties(&second, 1));
	CHECK(memcmp(&first.uuid, &second.uuid, sizeof(first.uuid)) != 0);
	CHECK(first.pciBusID != second.pciBusID);
	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(i));
		OK(cudaGetDevice(&device));
		CHECK_EQUAL(device, i);
		OK(cudaMalloc(&p[i], sizeof(int)));
		OK(cudaMemset(p[i], 0, sizeof(int)));
		add<<<1, 1>>>(p[i], 10 * (i + 1));
		OK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
		CHECK_EQUAL(value, 1 + 10 * (i + 1));
		OK(cudaPointerGetAttributes(&attributes, p[i]));
		CHECK_EQUAL(attributes.device, i);
		CHECK_EQUAL(attributes.type, cudaMemoryTypeDevice);
	}
	/* From one to the other, and a kernel that reaches over, which there is no way to. */
	OK(cudaMemcpy(p[0], p[1], sizeof(int), cudaMemcpyDefault));
	OK(cudaMemcpy(&value, p[0], sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 20);
	add<<<1, 1>>>(p[0], 1);
	CHECK_EQUAL(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	OK(cudaSetDevice(0));
	add<<<1, 1>>>(p[0], 1);
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(&value, p[0], sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 21);
	puts("two_devices ok");
	return 0;
}

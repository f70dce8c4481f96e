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

__global__ void read_clock(long long *to)
{
	*to = clock64();
}

/* Clocks start at 0 to 2^40 cycles: were they the same, so would these readings be, to a few thousand cycles. */
static void clocks_are_their_own()
{
	long long *where, cycles[2];

	for (int i = 0; i < 2; i++) {
		OK(cudaSetDevice(i));
		OK(cudaMalloc(&where, sizeof(*where)));
		read_clock<<<1, 1>>>(where);
		OK(cudaMemcpy(&cycles[i], where, sizeof(*where), cudaMemcpyDeviceToHost));
		OK(cudaFree(where));
	}
	CHECK(llabs(cycles[0] - cycles[1]) > 100000000);
}

int main()
{
	cudaDeviceProp first, second;
	cudaPointerAttributes attributes;
	int n, device, *p[2], value;

	OK(cudaGetDeviceCount(&n));
	CHECK_EQUAL(n, 2);
	clocks_are_their_own();
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
	/* From one to the other. */
	OK(cudaMemcpy(p[0], p[1], sizeof(int), cudaMemcpyDefault));
	OK(cudaMemcpy(&value, p[0], sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 20);
	OK(cudaMemcpyPeer(p[1], 1, p[0], 0, sizeof(int)));
	CHECK_EQUAL(cudaMemcpyPeer(p[1], 1, p[0], 2, sizeof(int)), cudaErrorInvalidDevice);
	cudaGetLastError();
	/* A kernel reaches over once it is allowed to, and only then. */
	OK(cudaDeviceCanAccessPeer(&n, 1, 0));
	CHECK_EQUAL(n, 1);
	OK(cudaDeviceCanAccessPeer(&n, 1, 1));
	CHECK_EQUAL(n, 0);
	CHECK_EQUAL(cudaDeviceDisablePeerAccess(0), cudaErrorPeerAccessNotEnabled);
	CHECK_EQUAL(cudaDeviceEnablePeerAccess(1, 0), cudaErrorInvalidDevice);
	OK(cudaDeviceEnablePeerAccess(0, 0));
	CHECK_EQUAL(cudaDeviceEnablePeerAccess(0, 0), cudaErrorPeerAccessAlreadyEnabled);
	cudaGetLastError();
	add<<<1, 1>>>(p[0], 5);
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(&value, p[0], sizeof(int), cudaMemcpyDefault));
	CHECK_EQUAL(value, 25);
	OK(cudaDeviceDisablePeerAccess(0));
	add<<<1, 1>>>(p[0], 1);
	CHECK_EQUAL(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
	/* The other device does not mind. */
	OK(cudaSetDevice(0));
	add<<<1, 1>>>(p[0], 1);
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(&value, p[0], sizeof(int), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 26);
	puts("two_devices ok");
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Leaves main while a kernel is still running: the process ends all the same, and the driver says it is gone.
#include "check.h"

__global__ void forever(volatile int *flag)
{
	while (*flag == 0)
		;
}

static void after_the_driver()
{
	int n;

	/* Registered before cuInit(), so it runs after the driver's own handler. */
	if (cudaGetDeviceCount(&n) != cudaErrorCudartUnloading) {
		fprintf(stderr, "the driver still answers\n");
		_Exit(1);
	}
	fputs("hang_exit ok\n", stderr);
}

int main()
{
	volatile int *flag;

	atexit(after_the_driver);
	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocDefault));
	*flag = 0;
	forever<<<4, 64>>>((volatile int *)flag);
	OK(cudaGetLastError());
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Prints what the device says it is; test_runs.c compares.
#include "check.h"

__global__ void tick(unsigned long long *smallest)
{
	unsigned long long now, last;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(last));
	for (int i = 0; i < 4000; i++) {
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
		if (now != last)
			*smallest = now - last;
		last = now;
	}
}

int main()
{
	cudaDeviceProp p;
	unsigned long long *smallest;
	int clock, blocks;

	OK(cudaGetDeviceProperties(&p, 0));
	OK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
	OK(cudaMallocManaged(&smallest, sizeof(*smallest)));
	tick<<<1, 1>>>(smallest);
	OK(cudaDeviceSynchronize());
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tick, 128, 0));
	printf("%s: sm_%d%d, %d SMs at %d MHz, %zu KiB optin, L2 %d, tick %llu, cluster %d, blocks %d, over 70 GiB: "
	       "%d\n",
	       p.name, p.major, p.minor, p.multiProcessorCount, clock / 1000, p.sharedMemPerBlockOptin / 1024,
	       p.l2CacheSize, *smallest, p.clusterLaunch, blocks, p.totalGlobalMem > 70ull << 30);
	return 0;
}

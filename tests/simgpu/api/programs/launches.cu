// SPDX-License-Identifier: Apache-2.0
// Every way to launch from the runtime, with clusters, opted-in shared memory, attributes and occupancy.
#include "check.h"

#include <cuda_profiler_api.h>
#include <string.h>

__global__ void fill(int *to, int value)
{
	to[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void large(int *to)
{
	extern __shared__ int shared[];

	shared[threadIdx.x * 500] = threadIdx.x;
	__syncthreads();
	to[threadIdx.x] = shared[(31 - threadIdx.x) * 500];
}

__global__ void ranks(unsigned *to)
{
	unsigned rank, n;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
	if (threadIdx.x == 0)
		to[blockIdx.x] = n * 100 + rank;
}

__global__ void __cluster_dims__(2, 1, 1) paired(unsigned *to)
{
	unsigned n;

	asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
	if (threadIdx.x == 0)
		to[blockIdx.x] = n;
}

__global__ void __launch_bounds__(64) small_blocks(int *to)
{
	to[threadIdx.x] = 1;
}

__global__ void grid_id(unsigned long long *to)
{
	asm volatile("mov.u64 %0, %%gridid;" : "=l"(*to));
}

static int *buffer;

static void expect(int index, int value)
{
	int host[256];

	OK(cudaMemcpy(host, buffer, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(host[index], value);
}

static void each_entry_point_launches()
{
	int value = 5, *to = buffer;
	void *args[] = { &to, &value };
	cudaLaunchConfig_t config = {};
	cudaKernel_t kernel;
	cudaFunction_t function;
	const char *name;

	OK(cudaLaunchKernel((const void *)fill, dim3(2), dim3(32), args, 0, 0));
	expect(63, 5);
	value = 6;
	OK(cudaLaunchCooperativeKernel((const void *)fill, dim3(2), dim3(32), args, 0, 0));
	expect(63, 6);
	config.gridDim = dim3(2);
	config.blockDim = dim3(32);
	OK(cudaLaunchKernelEx(&config, fill, buffer, 7));
	expect(63, 7);
	OK(cudaGetKernel(&kernel, (const void *)fill));
	value = 8;
	OK(cudaLaunchKernel((const void *)kernel, dim3(2), dim3(32), args, 0, 0));
	expect(63, 8);
	OK(cudaGetFuncBySymbol(&function, (const void *)fill));
	CHECK(function != NULL);
	OK(cudaFuncGetName(&name, (const void *)fill));
	CHECK(strcmp(name, "_Z4fillPii") == 0);
	/* More blocks than can be resident cannot be cooperative. */
	CHECK_EQUAL(cudaLaunchCooperativeKernel((const void *)fill, dim3(1 << 20), dim3(32), args, 0, 0),
		    cudaErrorCooperativeLaunchTooLarge);
	cudaGetLastError();
}

static void clusters_are_launched()
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};

	config.gridDim = dim3(8);
	config.blockDim = dim3(32);
	config.attrs = &attribute;
	config.numAttrs = 1;
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = 4;
	attribute.val.clusterDim.y = 1;
	attribute.val.clusterDim.z = 1;
	OK(cudaLaunchKernelEx(&config, ranks, (unsigned *)buffer));
	expect(0, 400);
	expect(6, 402);
	attribute.val.clusterDim.x = 3;
	CHECK_EQUAL(cudaLaunchKernelEx(&config, ranks, (unsigned *)buffer), cudaErrorInvalidValue);
	attribute.val.clusterDim.x = 16;
	config.gridDim = dim3(16);
	CHECK_EQUAL(cudaLaunchKernelEx(&config, ranks, (unsigned *)buffer), cudaErrorInvalidClusterSize);
	cudaGetLastError();
	paired<<<4, 32>>>((unsigned *)buffer);
	OK(cudaGetLastError());
	expect(3, 2);
}

static void resources_are_respected()
{
	cudaFuncAttributes attributes;
	int blocks, min_grid, block;
	const int bytes = 64 * 1024;

	OK(cudaFuncGetAttributes(&attributes, (const void *)large));
	CHECK_EQUAL(attributes.maxDynamicSharedSizeBytes, 48 * 1024);
	large<<<1, 32, bytes>>>(buffer);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidValue);
	OK(cudaFuncSetAttribute((const void *)large, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
	OK(cudaFuncGetAttributes(&attributes, (const void *)large));
	CHECK_EQUAL(attributes.maxDynamicSharedSizeBytes, bytes);
	large<<<1, 32, bytes>>>(buffer);
	OK(cudaGetLastError());
	expect(3, 28);
	CHECK_EQUAL(cudaFuncSetAttribute((const void *)large, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
		    cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaFuncGetAttributes(&attributes, (const void *)small_blocks));
	CHECK_EQUAL(attributes.maxThreadsPerBlock, 64);
	small_blocks<<<1, 128>>>(buffer);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorLaunchOutOfResources);
	OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
	CHECK_EQUAL(blocks, 8);
	OK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, fill, 0, 0));
	CHECK(block >= 32 && min_grid > 0);
}

static void grid_ids_grow()
{
	unsigned long long host[3];
	const char *mode = getenv("SIMGPU_GRIDID");

	for (int i = 0; i < 3; i++)
		grid_id<<<1, 1>>>((unsigned long long *)buffer + i);
	OK(cudaMemcpy(host, buffer, sizeof(host), cudaMemcpyDeviceToHost));
	if (mode && strcmp(mode, "constant") == 0) {
		CHECK_EQUAL(host[0], host[1]);
		CHECK_EQUAL(host[1], host[2]);
	} else {
		CHECK_EQUAL(host[1], host[0] + 1);
		CHECK_EQUAL(host[2], host[0] + 2);
	}
}

static void device_describes_itself()
{
	cudaDeviceProp prop;
	int n, value;

	OK(cudaGetDeviceCount(&n));
	CHECK_EQUAL(n, 1);
	OK(cudaGetDeviceProperties(&prop, 0));
	CHECK_EQUAL(prop.warpSize, 32);
	CHECK_EQUAL(prop.major * 10 + prop.minor, 90);
	CHECK_EQUAL(prop.maxThreadsPerBlock, 1024);
	CHECK(prop.totalGlobalMem > 0 && prop.multiProcessorCount > 0 && prop.name[0]);
	OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
	CHECK_EQUAL(value, prop.multiProcessorCount);
	OK(cudaRuntimeGetVersion(&value));
	CHECK_EQUAL(value, 13000);
	OK(cudaDriverGetVersion(&value));
	CHECK_EQUAL(value, 13000);
}

static void driver_functions_are_handed_out()
{
	cudaDriverEntryPointQueryResult status;
	cudaError_t (*get_count)(int *);
	void *legacy, *per_thread;
	int n = 0;

	OK(cudaGetDriverEntryPointByVersion("cuDeviceGetCount", (void **)&get_count, 12000, cudaEnableDefault,
					    &status));
	CHECK_EQUAL(status, cudaDriverEntryPointSuccess);
	OK(get_count(&n));
	CHECK_EQUAL(n, 1);
	OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &legacy, 7000, cudaEnableLegacyStream, &status));
	OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &per_thread, 7000, cudaEnablePerThreadDefaultStream,
					    &status));
	CHECK(legacy != per_thread);
	OK(cudaGetDriverEntryPointByVersion("cuNothing", &legacy, 12000, cudaEnableDefault, &status));
	CHECK_EQUAL(status, cudaDriverEntryPointSymbolNotFound);
	CHECK(legacy == NULL);
	OK(cudaProfilerStart());
	OK(cudaProfilerStop());
}

int main()
{
	OK(cudaMalloc(&buffer, 256 * sizeof(int)));
	each_entry_point_launches();
	clusters_are_launched();
	resources_are_respected();
	grid_ids_grow();
	device_describes_itself();
	driver_functions_are_handed_out();
	puts("launches ok");
	return 0;
}

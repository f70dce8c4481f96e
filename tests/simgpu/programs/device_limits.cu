// SPDX-License-Identifier: Apache-2.0
//
// What a device allows: the heap of malloc() grown by a limit and back after a reset, the shape of blocks a kernel's
// own bounds leave, shared memory beyond the default, and the sizes the occupancy calculator proposes, which then run.
// Exercises: cudaDeviceSetLimit/GetLimit, cudaDeviceReset, cudaFuncGetAttributes, cudaOccupancy*, __launch_bounds__.
#include "sample.h"

__global__ void take(size_t bytes, int *got)
{
	void *memory = malloc(bytes);
	*got = memory != nullptr;
	free(memory);
}

__global__ void __launch_bounds__(128, 2) bounded(int *to)
{
	__shared__ int shared[256];
	shared[threadIdx.x] = threadIdx.x;
	__syncthreads();
	to[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

__global__ void squares(int *values, int n)
{
	extern __shared__ int dynamic[];
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		dynamic[threadIdx.x] = values[i];
		values[i] = dynamic[threadIdx.x] * dynamic[threadIdx.x];
	}
}

static bool heap_has(size_t bytes)
{
	const sample::Array<int> got(1);
	take<<<1, 1>>>(bytes, got);
	LAUNCHED();
	return got.get()[0];
}

static void heap()
{
	const size_t mebi = 1 << 20;
	size_t limit;
	sample::expect(!heap_has(24 * mebi), "24 MiB from a heap of 8");
	TRY(cudaDeviceReset());
	TRY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 * mebi));
	TRY(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
	sample::expect(limit >= 64 * mebi, "the limit is %zu", limit);
	sample::expect(heap_has(24 * mebi), "no 24 MiB from a heap of 64");
	TRY(cudaDeviceReset());
	TRY(cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize));
	sample::expect(limit == 8 * mebi, "the limit is %zu after a reset", limit);
	sample::expect(!heap_has(24 * mebi), "24 MiB from a heap of 8 after a reset");
	TRY(cudaDeviceSetLimit(cudaLimitStackSize, 64 << 10));
	TRY(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 4 * mebi));
	TRY(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
	sample::expect(limit >= 4 * mebi, "printf's limit is %zu", limit);
}

static void expect_error(const char *what, cudaError_t should)
{
	const cudaError_t error = cudaGetLastError();
	sample::expect(error == should, "%s gives %s", what, cudaGetErrorName(error));
}

static void bounds()
{
	cudaFuncAttributes attributes;
	TRY(cudaFuncGetAttributes(&attributes, bounded));
	sample::expect(attributes.maxThreadsPerBlock == 128, "%d threads", attributes.maxThreadsPerBlock);
	sample::expect(attributes.sharedSizeBytes == 1024, "%zu bytes shared", attributes.sharedSizeBytes);
	const sample::Array<int> to(1024);
	bounded<<<1, 128>>>(to);
	LAUNCHED();
	sample::expect(to.get()[0] == 127, "%d came first", to.get()[0]);
	bounded<<<1, 256>>>(to);
	expect_error("more threads than the kernel's bound", cudaErrorLaunchOutOfResources);
	bounded<<<1, 2048>>>(to);
	expect_error("more threads than a block has", cudaErrorInvalidConfiguration);
	squares<<<1, 32, 100 << 10>>>(to, 32);
	expect_error("100 KiB without asking", cudaErrorInvalidValue);
}

struct IntPerThread {
	__host__ __device__ size_t operator()(int threads) const
	{
		return threads * sizeof(int);
	}
};

static void occupancy()
{
	const int n = 5000;
	int smallest_grid, block, resident;
	size_t available;
	TRY(cudaOccupancyMaxPotentialBlockSize(&smallest_grid, &block, squares, 0, 0));
	sample::expect(block >= 32 && block % 32 == 0 && smallest_grid > 0, "%d x %d", smallest_grid, block);
	TRY(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&smallest_grid, &block, squares, IntPerThread(), 256));
	sample::expect(block <= 256, "%d threads, at most 256 were wanted", block);
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, squares, block, block * sizeof(int)));
	TRY(cudaOccupancyAvailableDynamicSMemPerBlock(&available, squares, 2, block));
	sample::expect(resident > 0 && available >= 16 << 10, "%d blocks, %zu bytes", resident, available);
	TRY(cudaFuncSetAttribute(squares, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10));
	std::vector<int> values(n), should(n);
	for (int i = 0; i < n; i++) {
		values[i] = i - n / 2;
		should[i] = values[i] * values[i];
	}
	const sample::Array<int> device(values);
	squares<<<(n + block - 1) / block, block, 64 << 10>>>(device, n);
	LAUNCHED();
	sample::expect_equal("squares", device.get(), should);
}

int main()
{
	heap();
	bounds();
	occupancy();
	return sample::finish("device_limits");
}

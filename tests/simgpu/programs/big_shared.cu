// SPDX-License-Identifier: Apache-2.0
//
// More shared memory than 48 KiB: refused until the kernel asks for it, then used to its last byte; shared memory of
// static and dynamic kind in one kernel, several arrays in one dynamic block, limits of the device, occupancy that
// shrinks with it.
// Exercises: cudaFuncSetAttribute, cudaFuncGetAttributes, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
// cudaOccupancyAvailableDynamicSMemPerBlock, %dynamic_smem_size, 64-bit and 128-bit shared accesses far out.
#include "sample.h"

// Reverses a block's part of an array that has to fit into shared memory as a whole.
__global__ void reverse(const int *in, int *out, int n)
{
	extern __shared__ int4 dynamic[];
	int *values = reinterpret_cast<int *>(dynamic);
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		values[i] = in[blockIdx.x * n + i];
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[blockIdx.x * n + i] = values[n - 1 - i];
}

// A static array, and three dynamic ones of different types behind one another.
__global__ void mixed(const double *in, double *out, int n)
{
	__shared__ double scales[32];
	extern __shared__ int4 dynamic[];
	double *doubles = reinterpret_cast<double *>(dynamic);
	short *shorts = reinterpret_cast<short *>(doubles + n);
	char *chars = reinterpret_cast<char *>(shorts + n);
	unsigned size;
	asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
	if (threadIdx.x < 32)
		scales[threadIdx.x] = threadIdx.x + 1;
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		doubles[i] = in[i];
		shorts[i] = (short)(i % 1000);
		chars[i] = (char)(i % 100);
	}
	__syncthreads();
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		const int other = (int)(((long long)i * 7919 + 13) % n);
		out[i] = doubles[other] * scales[other % 32] + shorts[other] + chars[other] + size;
	}
}

static void run_reverse(int shared_bytes)
{
	const int n = shared_bytes / 4, blocks = 3;
	std::vector<int> in(n * blocks), should(n * blocks);
	for (int i = 0; i < n * blocks; i++) {
		in[i] = i * 3 + 1;
		should[i / n * n + n - 1 - i % n] = in[i];
	}
	const sample::Array<int> device_in(in), device_out(in.size());
	reverse<<<blocks, 512, shared_bytes>>>(device_in, device_out, n);
	LAUNCHED();
	sample::expect_equal("reversed", device_out.get(), should);
	printf("%d bytes of shared memory\n", shared_bytes);
}

static int blocks_per_sm(const void *kernel, size_t shared_bytes)
{
	int n = -1;
	TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n, kernel, 128, shared_bytes));
	return n;
}

int main()
{
	int plain_limit, optin_limit, per_sm;
	TRY(cudaDeviceGetAttribute(&plain_limit, cudaDevAttrMaxSharedMemoryPerBlock, 0));
	TRY(cudaDeviceGetAttribute(&optin_limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
	TRY(cudaDeviceGetAttribute(&per_sm, cudaDevAttrMaxSharedMemoryPerMultiprocessor, 0));
	sample::expect(plain_limit == 48 * 1024 && optin_limit > plain_limit && per_sm >= optin_limit,
		       "limits: %d, %d, %d", plain_limit, optin_limit, per_sm);

	run_reverse(plain_limit);
	// One byte more is an error of the launch, which leaves nothing behind.
	reverse<<<1, 32, plain_limit + 1>>>(nullptr, nullptr, 0);
	cudaError_t error = cudaGetLastError();
	sample::expect(error == cudaErrorInvalidValue, "without asking: %s", cudaGetErrorName(error));
	TRY(cudaDeviceSynchronize());

	TRY(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin_limit));
	run_reverse(64 * 1024);
	run_reverse(optin_limit);
	error = cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, optin_limit + 1);
	sample::expect(error == cudaErrorInvalidValue, "more than there is: %s", cudaGetErrorName(error));
	cudaGetLastError();

	cudaFuncAttributes attributes;
	TRY(cudaFuncGetAttributes(&attributes, reverse));
	sample::expect(attributes.maxDynamicSharedSizeBytes == optin_limit && attributes.sharedSizeBytes == 0,
		       "reverse: %d, %zu", attributes.maxDynamicSharedSizeBytes, attributes.sharedSizeBytes);
	TRY(cudaFuncGetAttributes(&attributes, mixed));
	sample::expect(attributes.sharedSizeBytes == 32 * sizeof(double), "static part: %zu",
		       attributes.sharedSizeBytes);
	sample::expect(attributes.maxThreadsPerBlock >= 128 && attributes.ptxVersion >= 80, "mixed: %d threads, PTX %d",
		       attributes.maxThreadsPerBlock, attributes.ptxVersion);

	// The static part counts against the limit, too.
	error = cudaFuncSetAttribute(mixed, cudaFuncAttributeMaxDynamicSharedMemorySize, optin_limit);
	sample::expect(error == cudaErrorInvalidValue, "static and dynamic: %s", cudaGetErrorName(error));
	cudaGetLastError();
	const int n = 9000, bytes = n * (8 + 2 + 1);
	TRY(cudaFuncSetAttribute(mixed, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
	std::vector<double> in(n), should(n);
	for (int i = 0; i < n; i++)
		in[i] = i * 0.5;
	for (int i = 0; i < n; i++) {
		const int other = (int)(((long long)i * 7919 + 13) % n);
		should[i] = in[other] * (other % 32 + 1) + other % 1000 + other % 100 + bytes;
	}
	const sample::Array<double> device_in(in), device_out(n);
	mixed<<<1, 256, bytes>>>(device_in, device_out, n);
	LAUNCHED();
	sample::expect_equal("mixed", device_out.get(), should);

	const int many = blocks_per_sm((const void *)reverse, 1024),
		  two = blocks_per_sm((const void *)reverse, per_sm / 2 - 2048),
		  one = blocks_per_sm((const void *)reverse, optin_limit);
	sample::expect(many > two && two == 2 && one == 1, "blocks an SM: %d, %d, %d", many, two, one);
	size_t available = 0;
	TRY(cudaOccupancyAvailableDynamicSMemPerBlock(&available, reverse, 1, 128));
	sample::expect(available >= (size_t)optin_limit - 1024, "for one block: %zu bytes", available);
	return sample::finish("big_shared");
}

// SPDX-License-Identifier: Apache-2.0
//
// Kernels that work in the host's memory: page-locked, registered after the fact, write-combined, and managed. A list
// whose links are host pointers is walked and changed by the device; what every kind of pointer says of itself.
// Exercises: cudaHostAlloc flags, cudaHostRegister, cudaHostGetDevicePointer, cudaPointerGetAttributes, unregistering.
#include "sample.h"

#include <cstring>

struct Link {
	Link *next;
	int value;
};

__global__ void add(const float *a, const float *b, float *to, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		to[i] = a[i] + b[i];
}

__global__ void walk(Link *link, int *sum)
{
	for (*sum = 0; link; link = link->next) {
		*sum += link->value;
		link->value = -link->value;
	}
}

template <typename T> static T *mapped(T *host)
{
	void *device;
	TRY(cudaHostGetDevicePointer(&device, host, 0));
	return static_cast<T *>(device);
}

static void expect_type(const char *what, const void *pointer, cudaMemoryType type)
{
	cudaPointerAttributes attributes;
	TRY(cudaPointerGetAttributes(&attributes, pointer));
	sample::expect(attributes.type == type, "%s has type %d, not %d", what, attributes.type, type);
	if (type != cudaMemoryTypeUnregistered)
		sample::expect(attributes.devicePointer != nullptr, "%s cannot be reached", what);
	sample::expect((attributes.hostPointer == nullptr) ==
				       (type == cudaMemoryTypeDevice || type == cudaMemoryTypeUnregistered) ||
			       type == cudaMemoryTypeUnregistered,
		       "%s: the host's pointer is %p", what, attributes.hostPointer);
}

int main()
{
	const int n = 3000;
	const size_t bytes = n * sizeof(float);
	TRY(cudaSetDeviceFlags(cudaDeviceMapHost));
	cudaDeviceProp properties;
	TRY(cudaGetDeviceProperties(&properties, 0));
	sample::expect(properties.canMapHostMemory, "the device cannot map host memory");

	float *registered = static_cast<float *>(aligned_alloc(4096, 4096 * 3)), *combined, *portable;
	expect_type("memory of malloc()", registered, cudaMemoryTypeUnregistered);
	TRY(cudaHostRegister(registered, bytes, cudaHostRegisterMapped));
	TRY(cudaHostAlloc(&combined, bytes, cudaHostAllocMapped | cudaHostAllocWriteCombined));
	TRY(cudaHostAlloc(&portable, bytes, cudaHostAllocMapped | cudaHostAllocPortable));
	std::vector<float> should(n);
	for (int i = 0; i < n; i++) {
		registered[i] = 0.5f * i;
		combined[i] = 2 * i;
		should[i] = 2.5f * i;
	}
	add<<<(n + 255) / 256, 256>>>(mapped(registered), mapped(combined), mapped(portable), n);
	TRY(cudaDeviceSynchronize());
	sample::expect_equal("sums", std::vector<float>(portable, portable + n), should);
	unsigned flags;
	TRY(cudaHostGetFlags(&flags, combined));
	sample::expect(flags & cudaHostAllocWriteCombined, "flags %#x", flags);

	Link *links;
	int *sum;
	TRY(cudaMallocHost(&links, 100 * sizeof(Link)));
	TRY(cudaMallocManaged(&sum, sizeof(int)));
	for (int i = 0; i < 100; i++)
		links[i] = { i < 99 ? &links[(i + 1)] : nullptr, i };
	walk<<<1, 1>>>(links, sum);
	TRY(cudaDeviceSynchronize());
	sample::expect(*sum == 4950, "the sum is %d", *sum);
	sample::expect(links[7].value == -7, "the device left %d", links[7].value);

	void *device;
	TRY(cudaMalloc(&device, 64));
	expect_type("device memory", device, cudaMemoryTypeDevice);
	expect_type("page-locked memory", &links[3], cudaMemoryTypeHost);
	expect_type("registered memory", registered, cudaMemoryTypeHost);
	expect_type("managed memory", sum, cudaMemoryTypeManaged);

	TRY(cudaHostUnregister(registered));
	const cudaError_t error = cudaHostUnregister(registered);
	sample::expect(error == cudaErrorHostMemoryNotRegistered, "again: %s", cudaGetErrorName(error));
	cudaGetLastError();
	free(registered);
	TRY(cudaFreeHost(combined));
	TRY(cudaFreeHost(portable));
	TRY(cudaFreeHost(links));
	TRY(cudaFree(sum));
	TRY(cudaFree(device));
	return sample::finish("zero_copy");
}

// SPDX-License-Identifier: Apache-2.0
// Kinds of memory and what can be asked about them: pools, managed, pinned, boxes; attributes of streams.
#include "check.h"

#include <string.h>

__global__ void add(int *to, int n)
{
	*to += n;
}

static unsigned long long pool_number(cudaMemPool_t pool, cudaMemPoolAttr attribute)
{
	unsigned long long value = 0;

	OK(cudaMemPoolGetAttribute(pool, attribute, &value));
	return value;
}

static void pools_keep_account()
{
	cudaMemPool_t standard, current, mine;
	cudaMemPoolProps props = {};
	unsigned long long threshold = ~0ull, zero = 0;
	size_t before, after, total;
	cudaStream_t stream;
	int *p, *q, reuse = 0, host;

	OK(cudaStreamCreate(&stream));
	OK(cudaDeviceGetDefaultMemPool(&standard, 0));
	OK(cudaDeviceGetMemPool(&current, 0));
	CHECK(standard == current);
	OK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrReleaseThreshold, &threshold));
	CHECK_EQUAL(pool_number(standard, cudaMemPoolAttrReleaseThreshold), threshold);
	OK(cudaMallocAsync(&p, 1000, stream));
	CHECK_EQUAL(pool_number(standard, cudaMemPoolAttrUsedMemCurrent), 1000);
	CHECK(pool_number(standard, cudaMemPoolAttrReservedMemCurrent) >= 1000);
	OK(cudaFreeAsync(p, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(pool_number(standard, cudaMemPoolAttrUsedMemCurrent), 0);
	CHECK_EQUAL(pool_number(standard, cudaMemPoolAttrUsedMemHigh), 1000);
	OK(cudaMemPoolSetAttribute(standard, cudaMemPoolAttrUsedMemHigh, &zero));
	CHECK_EQUAL(pool_number(standard, cudaMemPoolAttrUsedMemHigh), 0);
	OK(cudaMemPoolSetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &reuse));
	reuse = 7;
	OK(cudaMemPoolGetAttribute(standard, cudaMemPoolReuseAllowOpportunistic, &reuse));
	CHECK_EQUAL(reuse, 0);
	CHECK_EQUAL(cudaMemPoolDestroy(standard), cudaErrorInvalidValue);

	OK(cudaMemGetInfo(&before, &total));
	props.allocType = cudaMemAllocationTypePinned;
	props.location.type = cudaMemLocationTypeDevice;
	props.maxSize = 4096;
	OK(cudaMemPoolCreate(&mine, &props));
	OK(cudaMallocFromPoolAsync((void **)&p, 4000, mine, stream));
	CHECK_EQUAL(cudaMallocFromPoolAsync((void **)&q, 4000, mine, stream), cudaErrorMemoryAllocation);
	cudaGetLastError();
	OK(cudaMemsetAsync(p, 0, 4, stream));
	add<<<1, 1, 0, stream>>>(p, 3);
	/* Gone for the program, but not before its memory. */
	OK(cudaMemPoolDestroy(mine));
	CHECK_EQUAL(cudaMemPoolTrimTo(mine, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaMemcpyAsync(&host, p, 4, cudaMemcpyDeviceToHost, stream));
	OK(cudaFreeAsync(p, stream));
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(host, 3);
	OK(cudaMemPoolCreate(&mine, &props));
	OK(cudaDeviceSetMemPool(0, mine));
	OK(cudaMallocAsync(&p, 64, stream));
	CHECK_EQUAL(pool_number(mine, cudaMemPoolAttrUsedMemCurrent), 64);
	OK(cudaFree(p));
	CHECK_EQUAL(pool_number(mine, cudaMemPoolAttrUsedMemCurrent), 0);
	OK(cudaMemPoolDestroy(mine));
	OK(cudaDeviceGetMemPool(&current, 0));
	CHECK(standard == current);
	OK(cudaMemGetInfo(&after, &total));
	CHECK_EQUAL(after, before);
	OK(cudaStreamDestroy(stream));
}

static void managed_memory_takes_advice()
{
	cudaMemLocation device = {}, host = {};
	cudaPointerAttributes attributes;
	cudaStream_t stream;
	int *p, value, list[3], plain;

	device.type = cudaMemLocationTypeDevice;
	host.type = cudaMemLocationTypeHost;
	OK(cudaStreamCreate(&stream));
	OK(cudaMallocManaged(&p, 4096));
	OK(cudaPointerGetAttributes(&attributes, p));
	CHECK_EQUAL(attributes.type, cudaMemoryTypeManaged);
	CHECK(attributes.hostPointer == p && attributes.devicePointer == p);
	*p = 1;
	OK(cudaMemRangeGetAttribute(&value, sizeof(value), cudaMemRangeAttributePreferredLocation, p, 4096));
	CHECK_EQUAL(value, cudaInvalidDeviceId);
	OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetReadMostly, device));
	OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetPreferredLocation, host));
	OK(cudaMemAdvise(p, 4096, cudaMemAdviseSetAccessedBy, device));
	OK(cudaMemRangeGetAttribute(&value, sizeof(value), cudaMemRangeAttributeReadMostly, p, 4096));
	CHECK_EQUAL(value, 1);
	OK(cudaMemRangeGetAttribute(&value, sizeof(value), cudaMemRangeAttributePreferredLocation, p, 4096));
	CHECK_EQUAL(value, cudaCpuDeviceId);
	OK(cudaMemRangeGetAttribute(list, sizeof(list), cudaMemRangeAttributeAccessedBy, p, 4096));
	CHECK_EQUAL(list[0], 0);
	CHECK_EQUAL(list[1], cudaInvalidDeviceId);
	OK(cudaMemPrefetchAsync(p, 4096, device, 0, stream));
	OK(cudaMemRangeGetAttribute(&value, sizeof(value), cudaMemRangeAttributeLastPrefetchLocation, p, 4096));
	CHECK_EQUAL(value, 0);
	OK(cudaStreamAttachMemAsync(stream, p, 0, cudaMemAttachSingle));
	add<<<1, 1, 0, stream>>>(p, 41);
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(*p, 42);
	device.id = 7;
	CHECK_EQUAL(cudaMemPrefetchAsync(p, 4096, device, 0, stream), cudaErrorInvalidDevice);
	CHECK_EQUAL(cudaMemAdvise(p, 8192, cudaMemAdviseSetReadMostly, host), cudaErrorInvalidValue);
	CHECK_EQUAL(cudaMemPrefetchAsync(&plain, sizeof(plain), host, 0, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaFree(p));
	OK(cudaStreamDestroy(stream));
}

static void pointers_say_what_they_are()
{
	cudaPointerAttributes attributes;
	unsigned int flags;
	void *pinned, *seen, *device;
	static char plain[8192];

	OK(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped | cudaHostAllocPortable));
	OK(cudaHostGetDevicePointer(&seen, pinned, 0));
	OK(cudaHostGetFlags(&flags, pinned));
	CHECK(flags & cudaHostAllocPortable && flags & cudaHostAllocMapped);
	OK(cudaPointerGetAttributes(&attributes, (char *)pinned + 8));
	CHECK_EQUAL(attributes.type, cudaMemoryTypeHost);
	OK(cudaPointerGetAttributes(&attributes, plain));
	CHECK_EQUAL(attributes.type, cudaMemoryTypeUnregistered);
	OK(cudaHostRegister(plain, sizeof(plain), cudaHostRegisterDefault));
	OK(cudaPointerGetAttributes(&attributes, plain));
	CHECK_EQUAL(attributes.type, cudaMemoryTypeHost);
	CHECK_EQUAL(cudaHostRegister(plain, 16, cudaHostRegisterDefault), cudaErrorHostMemoryAlreadyRegistered);
	OK(cudaHostUnregister(plain));
	CHECK_EQUAL(cudaHostUnregister(plain), cudaErrorHostMemoryNotRegistered);
	OK(cudaMalloc(&device, 64));
	CHECK_EQUAL(cudaHostGetDevicePointer(&seen, device, 0), cudaErrorInvalidValue);
	OK(cudaFree(device));
	CHECK_EQUAL(cudaFree(device), cudaErrorInvalidValue);
	OK(cudaFreeHost(pinned));
	CHECK_EQUAL(cudaFreeHost(pinned), cudaErrorInvalidValue);
	cudaIpcMemHandle_t handle;
	CHECK_EQUAL(cudaIpcGetMemHandle(&handle, device), cudaErrorNotSupported);
	cudaGetLastError();
}

static void boxes_are_copied_and_filled()
{
	cudaExtent extent = make_cudaExtent(7, 3, 2);
	cudaPitchedPtr device;
	cudaMemcpy3DParms out = {};
	unsigned char host[2][3][7];

	OK(cudaMalloc3D(&device, extent));
	OK(cudaMemset3D(device, 0, extent));
	extent.width = 5;
	OK(cudaMemset3DAsync(device, 9, extent, 0));
	OK(cudaMemset2D(device.ptr, device.pitch, 4, 2, 2));
	out.srcPtr = device;
	out.dstPtr = make_cudaPitchedPtr(host, 7, 7, 3);
	out.extent = make_cudaExtent(7, 3, 2);
	out.kind = cudaMemcpyDeviceToHost;
	OK(cudaMemcpy3D(&out));
	for (int z = 0; z < 2; z++) {
		for (int y = 0; y < 3; y++) {
			for (int x = 0; x < 7; x++)
				CHECK_EQUAL(host[z][y][x], z == 0 && y < 2 && x < 2 ? 4 : x < 5 ? 9 : 0);
		}
	}
	out.dstPtr.pitch = 6;
	CHECK_EQUAL(cudaMemcpy3D(&out), cudaErrorInvalidPitchValue);
	cudaGetLastError();
	OK(cudaFree(device.ptr));
}

static void streams_keep_attributes()
{
	cudaStream_t first, second;
	cudaStreamAttrValue value = {}, back = {};

	OK(cudaStreamCreate(&first));
	OK(cudaStreamCreate(&second));
	value.syncPolicy = cudaSyncPolicyYield;
	OK(cudaStreamSetAttribute(first, cudaLaunchAttributeSynchronizationPolicy, &value));
	OK(cudaStreamCopyAttributes(second, first));
	OK(cudaStreamGetAttribute(second, cudaLaunchAttributeSynchronizationPolicy, &back));
	CHECK_EQUAL(back.syncPolicy, cudaSyncPolicyYield);
	CHECK_EQUAL(cudaStreamSetAttribute(first, cudaLaunchAttributeCooperative, &value), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaStreamDestroy(first));
	OK(cudaStreamDestroy(second));
}

int main()
{
	pools_keep_account();
	managed_memory_takes_advice();
	pointers_say_what_they_are();
	boxes_are_copied_and_filled();
	streams_keep_attributes();
	puts("memories ok");
	return 0;
}

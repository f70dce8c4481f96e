/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_pool.c - the runtime's memory pools, advice about managed memory, and attributes of streams: the driver's.
 */
#include "rt.h"

_Static_assert(sizeof(struct cudaMemPoolProps) == sizeof(CUmemPoolProps), "handed on");
_Static_assert(sizeof(struct cudaMemAccessDesc) == sizeof(CUmemAccessDesc), "handed on");
_Static_assert(sizeof(struct cudaMemLocation) == sizeof(CUmemLocation), "handed on");

static CUmemLocation driver_location(struct cudaMemLocation location)
{
	return (CUmemLocation){ .type = (CUmemLocationType)location.type, .id = location.id };
}

/* --- pools ------------------------------------------------------------------------------------ */

cudaError_t impl_cudaMemPoolCreate(cudaMemPool_t *memPool, const struct cudaMemPoolProps *poolProps)
{
	return rt_error(DRIVER(cuMemPoolCreate)(memPool, (const CUmemPoolProps *)poolProps));
}

cudaError_t impl_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	return rt_error(DRIVER(cuMemPoolSetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t impl_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr, void *value)
{
	return rt_error(DRIVER(cuMemPoolGetAttribute)(memPool, (CUmemPool_attribute)attr, value));
}

cudaError_t impl_cudaMemPoolSetAccess(cudaMemPool_t memPool, const struct cudaMemAccessDesc *descList, size_t count)
{
	return rt_error(DRIVER(cuMemPoolSetAccess)(memPool, (const CUmemAccessDesc *)descList, count));
}

cudaError_t impl_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
				      struct cudaMemLocation *location)
{
	return rt_error(DRIVER(cuMemPoolGetAccess)((CUmemAccess_flags *)flags, memPool, (CUmemLocation *)location));
}

cudaError_t impl_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
					  enum cudaMemAllocationType type)
{
	return rt_error(DRIVER(cuMemGetDefaultMemPool)(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t impl_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
				   enum cudaMemAllocationType type)
{
	return rt_error(DRIVER(cuMemGetMemPool)(memPool, (CUmemLocation *)location, (CUmemAllocationType)type));
}

cudaError_t impl_cudaMemSetMemPool(struct cudaMemLocation *location, enum cudaMemAllocationType type,
				   cudaMemPool_t memPool)
{
	return rt_error(DRIVER(cuMemSetMemPool)((CUmemLocation *)location, (CUmemAllocationType)type, memPool));
}

cudaError_t impl_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool, cudaStream_t stream)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!ptr)
		return cudaErrorInvalidValue;
	if (size == 0) {
		*ptr = NULL;
		return cudaSuccess;
	}
	error = rt_error(DRIVER_STREAM(cuMemAllocFromPoolAsync)(&address, size, memPool, stream));
	if (error == cudaSuccess)
		*ptr = (void *)(uintptr_t)address;
	return error;
}

/* --- managed memory --------------------------------------------------------------------------- */

cudaError_t impl_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
			       struct cudaMemLocation location)
{
	return rt_error(DRIVER(cuMemAdvise)((CUdeviceptr)(uintptr_t)devPtr, count, (CUmem_advise)advice,
					    driver_location(location)));
}

cudaError_t impl_cudaMemPrefetchAsync(const void *devPtr, size_t count, struct cudaMemLocation location,
				      unsigned int flags, cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuMemPrefetchAsync)((CUdeviceptr)(uintptr_t)devPtr, count,
							  driver_location(location), flags, stream));
}

cudaError_t impl_cudaMemRangeGetAttribute(void *data, size_t dataSize, enum cudaMemRangeAttribute attribute,
					  const void *devPtr, size_t count)
{
	return rt_error(DRIVER(cuMemRangeGetAttribute)(data, dataSize, (CUmem_range_attribute)attribute,
						       (CUdeviceptr)(uintptr_t)devPtr, count));
}

cudaError_t impl_cudaMemRangeGetAttributes(void **data, size_t *dataSizes, enum cudaMemRangeAttribute *attributes,
					   size_t numAttributes, const void *devPtr, size_t count)
{
	return rt_error(DRIVER(cuMemRangeGetAttributes)(data, dataSizes, (CUmem_range_attribute *)attributes,
							numAttributes, (CUdeviceptr)(uintptr_t)devPtr, count));
}

cudaError_t impl_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length, unsigned int flags)
{
	return rt_error(DRIVER_STREAM(cuStreamAttachMemAsync)(stream, (CUdeviceptr)(uintptr_t)devPtr, length, flags));
}

/* --- attributes of streams -------------------------------------------------------------------- */

cudaError_t impl_cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attr,
					cudaLaunchAttributeValue *value)
{
	return rt_error(DRIVER_STREAM(cuStreamGetAttribute)(stream, (CUstreamAttrID)attr, (CUstreamAttrValue *)value));
}

cudaError_t impl_cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attr,
					const cudaLaunchAttributeValue *param)
{
	return rt_error(
		DRIVER_STREAM(cuStreamSetAttribute)(stream, (CUstreamAttrID)attr, (const CUstreamAttrValue *)param));
}

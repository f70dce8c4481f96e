/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_memory.c - the runtime's memory, copies and fills.
 */
#include "rt.h"

#include <string.h>

static CUdeviceptr address_of(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

/* --- allocation ------------------------------------------------------------------------------- */

/* Nothing asked for is nothing given, and no error; the driver sees it otherwise. */
cudaError_t impl_cudaMalloc(void **devPtr, size_t size)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!devPtr)
		return cudaErrorInvalidValue;
	if (size == 0) {
		*devPtr = NULL;
		return cudaSuccess;
	}
	error = rt_error(DRIVER(cuMemAlloc)(&address, size));
	if (error == cudaSuccess)
		*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!devPtr || !pitch)
		return cudaErrorInvalidValue;
	error = rt_error(DRIVER(cuMemAllocPitch)(&address, pitch, width, height, 4));
	if (error == cudaSuccess)
		*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaFree(void *devPtr)
{
	return devPtr ? rt_error(DRIVER(cuMemFree)(address_of(devPtr))) : cudaSuccess;
}

cudaError_t impl_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
	if (!pHost)
		return cudaErrorInvalidValue;
	if (size == 0) {
		*pHost = NULL;
		return cudaSuccess;
	}
	return rt_error(DRIVER(cuMemHostAlloc)(pHost, size, flags));
}

cudaError_t impl_cudaMallocHost(void **ptr, size_t size)
{
	return impl_cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

cudaError_t impl_cudaFreeHost(void *ptr)
{
	return ptr ? rt_error(DRIVER(cuMemFreeHost)(ptr)) : cudaSuccess;
}

cudaError_t impl_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!pDevice)
		return cudaErrorInvalidValue;
	error = rt_error(DRIVER(cuMemHostGetDevicePointer)(&address, pHost, flags));
	if (error == cudaSuccess)
		*pDevice = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!devPtr || size == 0)
		return cudaErrorInvalidValue;
	error = rt_error(DRIVER(cuMemAllocManaged)(&address, size, flags));
	if (error == cudaSuccess)
		*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
	CUdeviceptr address = 0;
	cudaError_t error;

	if (!devPtr)
		return cudaErrorInvalidValue;
	if (size == 0) {
		*devPtr = NULL;
		return cudaSuccess;
	}
	error = rt_error(DRIVER_STREAM(cuMemAllocAsync)(&address, size, hStream));
	if (error == cudaSuccess)
		*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
	return devPtr ? rt_error(DRIVER_STREAM(cuMemFreeAsync)(address_of(devPtr), hStream)) : cudaSuccess;
}

/* The structure of 12 ends where that of 13 has its reserve. */
#define POINTER_ATTRIBUTES_BYTES                                                       \
	(SIMGPU_RUNTIME_MAJOR == 12 ? offsetof(struct cudaPointerAttributes, reserved) \
				    : sizeof(struct cudaPointerAttributes))

cudaError_t impl_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *ptr)
{
	unsigned int type = 0;
	int is_managed = 0, device = 0;
	CUdeviceptr device_pointer = 0;
	void *host_pointer = NULL;
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
					CU_POINTER_ATTRIBUTE_HOST_POINTER };
	void *values[] = { &type, &is_managed, &device, &device_pointer, &host_pointer };
	cudaError_t error;

	if (!attributes)
		return cudaErrorInvalidValue;
	error = rt_error(DRIVER(cuPointerGetAttributes)(5, names, values, address_of(ptr)));
	if (error != cudaSuccess)
		return error;
	memset(attributes, 0, POINTER_ATTRIBUTES_BYTES);
	if (is_managed)
		attributes->type = cudaMemoryTypeManaged;
	else if (type == CU_MEMORYTYPE_HOST)
		attributes->type = cudaMemoryTypeHost;
	else if (type == CU_MEMORYTYPE_DEVICE)
		attributes->type = cudaMemoryTypeDevice;
	else
		attributes->type = cudaMemoryTypeUnregistered;
	attributes->device = attributes->type == cudaMemoryTypeUnregistered ? -2 : device;
	attributes->devicePointer = (void *)(uintptr_t)device_pointer;
	attributes->hostPointer =
		attributes->type == cudaMemoryTypeUnregistered ? (void *)(uintptr_t)ptr : host_pointer;
	return cudaSuccess;
}

/* --- copies and fills ------------------------------------------------------------------------- */

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(DRIVER_STREAM(cuMemcpyHtoD)(address_of(dst), src, count));
	case cudaMemcpyDeviceToHost:
		return rt_error(DRIVER_STREAM(cuMemcpyDtoH)(dst, address_of(src), count));
	case cudaMemcpyDeviceToDevice:
		return rt_error(DRIVER_STREAM(cuMemcpyDtoD)(address_of(dst), address_of(src), count));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return rt_error(DRIVER_STREAM(cuMemcpy)(address_of(dst), address_of(src), count));
	}
	return cudaErrorInvalidMemcpyDirection;
}

static cudaError_t copy_async(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return rt_error(DRIVER_STREAM(cuMemcpyHtoDAsync)(address_of(dst), src, count, stream));
	case cudaMemcpyDeviceToHost:
		return rt_error(DRIVER_STREAM(cuMemcpyDtoHAsync)(dst, address_of(src), count, stream));
	case cudaMemcpyDeviceToDevice:
		return rt_error(DRIVER_STREAM(cuMemcpyDtoDAsync)(address_of(dst), address_of(src), count, stream));
	case cudaMemcpyHostToHost:
	case cudaMemcpyDefault:
		return rt_error(DRIVER_STREAM(cuMemcpyAsync)(address_of(dst), address_of(src), count, stream));
	}
	return cudaErrorInvalidMemcpyDirection;
}

cudaError_t impl_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
	return count ? copy(dst, src, count, kind) : cudaSuccess;
}

cudaError_t impl_cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
				 cudaStream_t stream)
{
	return count ? copy_async(dst, src, count, kind, stream) : cudaSuccess;
}

static cudaError_t rectangle(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			     enum cudaMemcpyKind kind, CUDA_MEMCPY2D *ret_rectangle)
{
	if (kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (dpitch < width || spitch < width)
		return cudaErrorInvalidPitchValue;
	*ret_rectangle = (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = address_of(src),
		.srcPitch = spitch,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = address_of(dst),
		.dstPitch = dpitch,
		.WidthInBytes = width,
		.Height = height,
	};
	return cudaSuccess;
}

cudaError_t impl_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
			      enum cudaMemcpyKind kind)
{
	CUDA_MEMCPY2D copied;
	cudaError_t error = rectangle(dst, dpitch, src, spitch, width, height, kind, &copied);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy2DUnaligned)(&copied)) : error;
}

cudaError_t impl_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
				   size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUDA_MEMCPY2D copied;
	cudaError_t error = rectangle(dst, dpitch, src, spitch, width, height, kind, &copied);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy2DAsync)(&copied, stream)) : error;
}

cudaError_t impl_cudaMemset(void *devPtr, int value, size_t count)
{
	return rt_error(DRIVER_STREAM(cuMemsetD8)(address_of(devPtr), (unsigned char)value, count));
}

cudaError_t impl_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuMemsetD8Async)(address_of(devPtr), (unsigned char)value, count, stream));
}

/* Rows of bytes; the driver's cuMemsetD2D8(), whose stream 0 is as the caller means it. */
cudaError_t impl_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
	return rt_error(DRIVER_STREAM(cuMemsetD2D8)(address_of(devPtr), pitch, (unsigned char)value, width, height));
}

cudaError_t impl_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height,
				   cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuMemsetD2D8Async)(address_of(devPtr), pitch, (unsigned char)value, width, height,
							 stream));
}

cudaError_t impl_cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
				   cudaStream_t stream)
{
	cudaError_t error = cudaSuccess;

	if (extent.depth > 1 && pitchedDevPtr.ysize < extent.height)
		return cudaErrorInvalidValue;
	for (size_t z = 0; z < extent.depth && error == cudaSuccess; z++) {
		char *slice = (char *)pitchedDevPtr.ptr + z * pitchedDevPtr.pitch * pitchedDevPtr.ysize;

		error = impl_cudaMemset2DAsync(slice, pitchedDevPtr.pitch, value, extent.width, extent.height, stream);
	}
	return error;
}

cudaError_t impl_cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
	return impl_cudaMemset3DAsync(pitchedDevPtr, value, extent, NULL);
}

/* --- boxes ------------------------------------------------------------------------------------ */

cudaError_t impl_cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
	struct cudaPitchedPtr made = { .xsize = extent.width, .ysize = extent.height };
	cudaError_t error;

	if (!pitchedDevPtr || (extent.depth && extent.height > SIZE_MAX / extent.depth))
		return cudaErrorInvalidValue;
	error = impl_cudaMallocPitch(&made.ptr, &made.pitch, extent.width, extent.height * extent.depth);
	if (error == cudaSuccess)
		*pitchedDevPtr = made;
	return error;
}

/* Addresses say by themselves where they are, so a direction only has to make sense. */
static cudaError_t box_of(const struct cudaPitchedPtr *src, const struct cudaPos *src_pos,
			  const struct cudaPitchedPtr *dst, const struct cudaPos *dst_pos,
			  const struct cudaExtent *extent, CUDA_MEMCPY3D *ret_box)
{
	if (!src->ptr || !dst->ptr)
		return cudaErrorInvalidValue;
	if (src->pitch < extent->width || dst->pitch < extent->width)
		return cudaErrorInvalidPitchValue;
	*ret_box = (CUDA_MEMCPY3D){
		.srcXInBytes = src_pos->x,
		.srcY = src_pos->y,
		.srcZ = src_pos->z,
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = address_of(src->ptr),
		.srcPitch = src->pitch,
		.srcHeight = src->ysize,
		.dstXInBytes = dst_pos->x,
		.dstY = dst_pos->y,
		.dstZ = dst_pos->z,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = address_of(dst->ptr),
		.dstPitch = dst->pitch,
		.dstHeight = dst->ysize,
		.WidthInBytes = extent->width,
		.Height = extent->height,
		.Depth = extent->depth,
	};
	return cudaSuccess;
}

cudaError_t rt_box(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *ret_box)
{
	if (!params)
		return cudaErrorInvalidValue;
	if (params->kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (params->srcArray || params->dstArray)
		return cudaErrorNotSupported;
	return box_of(&params->srcPtr, &params->srcPos, &params->dstPtr, &params->dstPos, &params->extent, ret_box);
}

static bool end_is_host(CUmemorytype type, CUdeviceptr address)
{
	unsigned int found = CU_MEMORYTYPE_HOST;
	CUpointer_attribute name = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	void *value = &found;

	if (type == CU_MEMORYTYPE_UNIFIED && DRIVER(cuPointerGetAttributes)(1, &name, &value, address) == CUDA_SUCCESS)
		return found != CU_MEMORYTYPE_DEVICE;
	return type == CU_MEMORYTYPE_HOST;
}

struct cudaMemcpy3DParms rt_box_params(const CUDA_MEMCPY3D *box)
{
	CUdeviceptr from = box->srcMemoryType == CU_MEMORYTYPE_HOST ? address_of(box->srcHost) : box->srcDevice;
	CUdeviceptr to = box->dstMemoryType == CU_MEMORYTYPE_HOST ? address_of(box->dstHost) : box->dstDevice;
	bool from_host = end_is_host(box->srcMemoryType, from), to_host = end_is_host(box->dstMemoryType, to);
	struct cudaMemcpy3DParms params = {
		.srcPos = { box->srcXInBytes, box->srcY, box->srcZ },
		.srcPtr = { (void *)(uintptr_t)from, box->srcPitch, box->WidthInBytes, box->srcHeight },
		.dstPos = { box->dstXInBytes, box->dstY, box->dstZ },
		.dstPtr = { (void *)(uintptr_t)to, box->dstPitch, box->WidthInBytes, box->dstHeight },
		.extent = { box->WidthInBytes, box->Height, box->Depth },
		.kind = from_host ? (to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
				  : (to_host ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice),
	};

	return params;
}

cudaError_t impl_cudaMemcpy3D(const struct cudaMemcpy3DParms *p)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_box(p, &box);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy3D)(&box)) : error;
}

cudaError_t impl_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_box(p, &box);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy3DAsync)(&box, stream)) : error;
}

/* --- between devices: addresses say by themselves where they are ------------------------------ */

static cudaError_t device_check(int device)
{
	int n;
	CUresult result = DRIVER(cuDeviceGetCount)(&n);

	if (result != CUDA_SUCCESS)
		return rt_error(result);
	return device >= 0 && device < n ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t devices_check(int device, int other)
{
	cudaError_t error = device_check(device);

	return error == cudaSuccess ? device_check(other) : error;
}

cudaError_t impl_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
	cudaError_t error = devices_check(dstDevice, srcDevice);

	return error == cudaSuccess ? impl_cudaMemcpy(dst, src, count, cudaMemcpyDeviceToDevice) : error;
}

cudaError_t impl_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
				     cudaStream_t stream)
{
	cudaError_t error = devices_check(dstDevice, srcDevice);

	return error == cudaSuccess ? impl_cudaMemcpyAsync(dst, src, count, cudaMemcpyDeviceToDevice, stream) : error;
}

static cudaError_t peer_box(const struct cudaMemcpy3DPeerParms *params, CUDA_MEMCPY3D *ret_box)
{
	cudaError_t error = params ? devices_check(params->dstDevice, params->srcDevice) : cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return error;
	if (params->srcArray || params->dstArray)
		return cudaErrorNotSupported;
	return box_of(&params->srcPtr, &params->srcPos, &params->dstPtr, &params->dstPos, &params->extent, ret_box);
}

cudaError_t impl_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = peer_box(p, &box);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy3D)(&box)) : error;
}

cudaError_t impl_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p, cudaStream_t stream)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = peer_box(p, &box);

	return error == cudaSuccess ? rt_error(DRIVER_STREAM(cuMemcpy3DAsync)(&box, stream)) : error;
}

/* --- variables -------------------------------------------------------------------------------- */

cudaError_t impl_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
	CUdeviceptr address;
	size_t bytes;
	cudaError_t error;

	if (!devPtr)
		return cudaErrorInvalidValue;
	error = rt_symbol(symbol, &address, &bytes);
	if (error == cudaSuccess)
		*devPtr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaGetSymbolSize(size_t *size, const void *symbol)
{
	CUdeviceptr address;

	return size ? rt_symbol(symbol, &address, size) : cudaErrorInvalidValue;
}

/* Where in the variable a copy of `count` bytes at `offset` goes. */
static cudaError_t part_of_symbol(const void *symbol, size_t count, size_t offset, void **ret_part)
{
	CUdeviceptr address;
	size_t bytes;
	cudaError_t error = rt_symbol(symbol, &address, &bytes);

	if (error != cudaSuccess)
		return error;
	if (offset > bytes || count > bytes - offset)
		return cudaErrorInvalidValue;
	*ret_part = (void *)(uintptr_t)(address + offset);
	return cudaSuccess;
}

cudaError_t impl_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset,
				    enum cudaMemcpyKind kind)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	if (error != cudaSuccess)
		return error;
	if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	return impl_cudaMemcpy(part, src, count, kind);
}

cudaError_t impl_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset,
					 enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	if (error != cudaSuccess)
		return error;
	if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	return impl_cudaMemcpyAsync(part, src, count, kind, stream);
}

cudaError_t impl_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset,
				      enum cudaMemcpyKind kind)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	if (error != cudaSuccess)
		return error;
	if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	return impl_cudaMemcpy(dst, part, count, kind);
}

cudaError_t impl_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset,
					   enum cudaMemcpyKind kind, cudaStream_t stream)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	if (error != cudaSuccess)
		return error;
	if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	return impl_cudaMemcpyAsync(dst, part, count, kind, stream);
}

/* --- rows of bytes, for nodes of graphs ------------------------------------------------------- */

cudaError_t rt_row(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_box)
{
	if (kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	*ret_box = (CUDA_MEMCPY3D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = address_of(src),
		.srcPitch = count,
		.dstMemoryType = CU_MEMORYTYPE_UNIFIED,
		.dstDevice = address_of(dst),
		.dstPitch = count,
		.WidthInBytes = count,
		.Height = 1,
		.Depth = 1,
	};
	return cudaSuccess;
}

cudaError_t rt_row_to_symbol(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind,
			     CUDA_MEMCPY3D *ret_box)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	return error == cudaSuccess ? rt_row(part, src, count, kind, ret_box) : error;
}

cudaError_t rt_row_from_symbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
			       CUDA_MEMCPY3D *ret_box)
{
	void *part;
	cudaError_t error = part_of_symbol(symbol, count, offset, &part);

	return error == cudaSuccess ? rt_row(dst, part, count, kind, ret_box) : error;
}

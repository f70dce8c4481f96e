/* SPDX-License-Identifier: Apache-2.0
 *
 * copy.c - copies and fills.
 *
 * A copy is a rectangle of bytes: rows of `width`, each end with its own pitch; a plain copy has one row. As on a
 * device, bytes from pageable memory are taken before the call returns, a copy to pageable memory returns when it has
 * ended, and one between two places on the device leaves at once. Callable from any thread.
 */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* --- copies --- */

enum copy_ends { ANY_TO_ANY, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE };

/* One end of `bytes`: is it reachable by a device, and if so does the whole range lie in one allocation? */
static CUresult end_check(CUdeviceptr address, size_t bytes, bool must_be_reachable, bool *ret_is_pageable)
{
	CUdeviceptr start;
	size_t available;

	*ret_is_pageable = !address_device(address, &start, &available);
	if (*ret_is_pageable)
		return must_be_reachable || !address ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
	return bytes > available - (address - start) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* From the first byte to the last; false when that is more than there are addresses. */
static bool span(const struct op_copy *copy, size_t pitch, size_t *ret_bytes)
{
	return !__builtin_mul_overflow(copy->height - 1, pitch, ret_bytes) &&
	       !__builtin_add_overflow(*ret_bytes, copy->width, ret_bytes);
}

/* Copies a pageable source aside, rows and the gaps between them. */
static CUresult stage(struct op_copy *copy, size_t bytes)
{
	copy->staged = malloc(bytes);
	if (!copy->staged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy->staged, (const void *)(uintptr_t)copy->from, bytes);
	copy->from = (CUdeviceptr)(uintptr_t)copy->staged;
	return CUDA_SUCCESS;
}

/* `is_async` leaves before the copy has ended, where the memory allows it. */
static CUresult copy_enqueue(const struct op_copy *request, enum copy_ends ends, CUstream handle, bool is_async)
{
	bool to_pageable, from_pageable;
	size_t to_bytes, from_bytes;
	struct stream *stream;
	struct op *op, *copy;
	CUresult result = stream_resolve(handle, context_gated(), &stream);

	if (result != CUDA_SUCCESS || request->width == 0 || request->height == 0)
		return result;
	if (!span(request, request->to_pitch, &to_bytes) || !span(request, request->from_pitch, &from_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	result = end_check(request->to, to_bytes, ends == HOST_TO_DEVICE || ends == DEVICE_TO_DEVICE, &to_pageable);
	if (result == CUDA_SUCCESS)
		result = end_check(request->from, from_bytes, ends == DEVICE_TO_HOST || ends == DEVICE_TO_DEVICE,
				   &from_pageable);
	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(OP_COPY);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->copy = *request;
	if (is_async && from_pageable && !to_pageable)
		result = stage(&op->copy, from_bytes);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	if (is_async && !to_pageable)
		return op_enqueue(stream, op, COST_COPY_NS, NULL, NULL);
	result = op_enqueue(stream, op, COST_COPY_NS, NULL, &copy);
	if (result != CUDA_SUCCESS)
		return result;
	result = op_wait(copy);
	op_unref(copy);
	return result;
}

static bool reaches(const struct device *device, CUdeviceptr address)
{
	uint64_t start, bytes;

	return sim_mem_range(device->sim, address, &start, &bytes);
}

/* Between two devices, through a piece of host memory. */
static enum sim_status copy_across(struct device *to_device, CUdeviceptr to, struct device *from_device,
				   CUdeviceptr from, size_t bytes)
{
	char piece[4096];

	while (bytes) {
		size_t n = MIN(bytes, sizeof(piece));
		enum sim_status status = sim_mem_read(from_device->sim, piece, from, n);

		if (status == SIM_OK)
			status = sim_mem_write(to_device->sim, to, piece, n);
		if (status != SIM_OK)
			return status;
		to += n;
		from += n;
		bytes -= n;
	}
	return SIM_OK;
}

static enum sim_status copy_row(struct device *to_device, CUdeviceptr to, struct device *from_device, CUdeviceptr from,
				size_t bytes)
{
	if (to_device && from_device)
		return to_device == from_device ? sim_mem_copy(to_device->sim, to, from, bytes)
						: copy_across(to_device, to, from_device, from, bytes);
	if (to_device)
		return sim_mem_write(to_device->sim, to, (const void *)(uintptr_t)from, bytes);
	if (from_device)
		return sim_mem_read(from_device->sim, (void *)(uintptr_t)to, from, bytes);
	memmove((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes);
	return SIM_OK;
}

CUresult copy_run(struct op *op, uint64_t start_ns, uint64_t *ret_end_ns)
{
	const struct op_copy *copy = &op->copy;
	struct device *to_device = address_device(copy->to, NULL, NULL);
	struct device *from_device = address_device(copy->from, NULL, NULL);
	bool is_transfer = !(address_is_on_device(copy->to) && address_is_on_device(copy->from));
	enum sim_status status = SIM_OK;

	/* Host memory that every device reaches is the other end's business. */
	if (to_device && from_device && reaches(to_device, copy->from))
		from_device = to_device;
	else if (to_device && from_device && reaches(from_device, copy->to))
		to_device = from_device;
	for (size_t row = 0; row < copy->height && status == SIM_OK; row++)
		status = copy_row(to_device, copy->to + row * copy->to_pitch, from_device,
				  copy->from + row * copy->from_pitch, copy->width);
	*ret_end_ns = start_ns + DURATION_TRANSFER_NS +
		      copy->width * copy->height / (is_transfer ? TRANSFER_BYTES_PER_NS : DEVICE_BYTES_PER_NS);
	return result_of(status);
}

static CUresult copy_plain(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum copy_ends ends, CUstream stream,
			   bool is_async)
{
	struct op_copy copy = { .to = to, .from = from, .width = bytes, .height = 1 };

	return copy_enqueue(&copy, ends, stream, is_async);
}

CUresult impl_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	return copy_plain(dst, src, ByteCount, ANY_TO_ANY, NULL, false);
}

CUresult impl_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream)
{
	return copy_plain(dst, src, ByteCount, ANY_TO_ANY, hStream, true);
}

CUresult impl_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	return copy_plain(dstDevice, (CUdeviceptr)(uintptr_t)srcHost, ByteCount, HOST_TO_DEVICE, NULL, false);
}

CUresult impl_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	return copy_plain((CUdeviceptr)(uintptr_t)dstHost, srcDevice, ByteCount, DEVICE_TO_HOST, NULL, false);
}

/* Between two places on the device the host does not wait, as documented. */
CUresult impl_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	return copy_plain(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, NULL, true);
}

CUresult impl_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream)
{
	return copy_plain(dstDevice, (CUdeviceptr)(uintptr_t)srcHost, ByteCount, HOST_TO_DEVICE, hStream, true);
}

CUresult impl_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
	return copy_plain((CUdeviceptr)(uintptr_t)dstHost, srcDevice, ByteCount, DEVICE_TO_HOST, hStream, true);
}

CUresult impl_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream)
{
	return copy_plain(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, hStream, true);
}

/* --- rectangles --- */

/* Where a rectangle of the API starts. Arrays are not supported. */
static CUresult corner(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch,
		       CUdeviceptr *ret_address)
{
	switch (type) {
	case CU_MEMORYTYPE_HOST:
		*ret_address = (CUdeviceptr)(uintptr_t)host + y * pitch + x;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		*ret_address = device + y * pitch + x;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

static CUresult copy_rectangle(const CUDA_MEMCPY2D *rectangle, CUstream stream, bool is_async)
{
	struct op_copy copy;
	CUresult result;

	if (!rectangle)
		return CUDA_ERROR_INVALID_VALUE;
	copy = (struct op_copy){
		.width = rectangle->WidthInBytes,
		.height = rectangle->Height,
		.to_pitch = rectangle->dstPitch ? rectangle->dstPitch : rectangle->WidthInBytes,
		.from_pitch = rectangle->srcPitch ? rectangle->srcPitch : rectangle->WidthInBytes,
	};
	if (copy.to_pitch < copy.width || copy.from_pitch < copy.width)
		return CUDA_ERROR_INVALID_VALUE;
	result = corner(rectangle->srcMemoryType, rectangle->srcHost, rectangle->srcDevice, rectangle->srcXInBytes,
			rectangle->srcY, copy.from_pitch, &copy.from);
	if (result == CUDA_SUCCESS)
		result = corner(rectangle->dstMemoryType, rectangle->dstHost, rectangle->dstDevice,
				rectangle->dstXInBytes, rectangle->dstY, copy.to_pitch, &copy.to);
	return result == CUDA_SUCCESS ? copy_enqueue(&copy, ANY_TO_ANY, stream, is_async) : result;
}

CUresult impl_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_rectangle(pCopy, NULL, false);
}

CUresult impl_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy)
{
	return copy_rectangle(pCopy, NULL, false);
}

CUresult impl_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	return copy_rectangle(pCopy, hStream, true);
}

/* --- fills --- */

static CUresult fill_enqueue(CUdeviceptr to, uint32_t value, uint32_t unit_bytes, size_t count, CUstream handle)
{
	bool is_pageable;
	struct stream *stream;
	struct op *op;
	CUresult result = stream_resolve(handle, context_gated(), &stream);

	if (result != CUDA_SUCCESS || count == 0)
		return result;
	if (to % unit_bytes != 0 || count > SIZE_MAX / unit_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	result = end_check(to, count * unit_bytes, true, &is_pageable);
	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(OP_FILL);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->fill.to = to;
	op->fill.value = value;
	op->fill.unit_bytes = unit_bytes;
	op->fill.count = count;
	return op_enqueue(stream, op, COST_COPY_NS, NULL, NULL);
}

CUresult fill_run(struct op *op, uint64_t start_ns, uint64_t *ret_end_ns)
{
	struct device *device = address_device(op->fill.to, NULL, NULL);

	*ret_end_ns = start_ns + DURATION_TRANSFER_NS + op->fill.count * op->fill.unit_bytes / DEVICE_BYTES_PER_NS;
	if (!device)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	return result_of(sim_mem_set(device->sim, op->fill.to, op->fill.value, op->fill.unit_bytes, op->fill.count));
}

CUresult impl_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N)
{
	return fill_enqueue(dstDevice, uc, 1, N, NULL);
}

CUresult impl_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N)
{
	return fill_enqueue(dstDevice, us, 2, N, NULL);
}

CUresult impl_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N)
{
	return fill_enqueue(dstDevice, ui, 4, N, NULL);
}

CUresult impl_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream)
{
	return fill_enqueue(dstDevice, uc, 1, N, hStream);
}

CUresult impl_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream)
{
	return fill_enqueue(dstDevice, us, 2, N, hStream);
}

CUresult impl_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream)
{
	return fill_enqueue(dstDevice, ui, 4, N, hStream);
}

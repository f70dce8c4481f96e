/* SPDX-License-Identifier: Apache-2.0
 *
 * copy.c - copies and fills.
 *
 * A copy is a box of bytes, each end with its own pitches; a plain copy has one row. As on a
 * device, bytes from pageable memory are taken before the call returns, a copy to pageable memory returns when it has
 * ended, and one between two places on the device leaves at once. Callable from any thread.
 */
#include "capture.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* --- copies ----------------------------------------------------------------------------------- */

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
static bool span(const struct work_copy *copy, size_t pitch, size_t slice, size_t *ret_bytes)
{
	size_t slices;

	return !__builtin_mul_overflow(copy->height - 1, pitch, ret_bytes) &&
	       !__builtin_mul_overflow(copy->depth - 1, slice, &slices) &&
	       !__builtin_add_overflow(*ret_bytes, slices, ret_bytes) &&
	       !__builtin_add_overflow(*ret_bytes, copy->width, ret_bytes);
}

static bool is_empty(const struct work_copy *copy)
{
	return copy->width == 0 || copy->height == 0 || copy->depth == 0;
}

/* Copies a pageable source aside, rows and the gaps between them. */
static CUresult stage(struct work_copy *copy, size_t bytes)
{
	copy->staged = malloc(bytes);
	if (!copy->staged)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(copy->staged, (const void *)(uintptr_t)copy->from, bytes);
	copy->from = (CUdeviceptr)(uintptr_t)copy->staged;
	return CUDA_SUCCESS;
}

struct copy_facts {
	bool to_pageable, from_pageable;
	size_t from_bytes; /* from the first byte to the last */
};

static CUresult copy_look(const struct work_copy *copy, enum copy_ends ends, struct copy_facts *ret_facts)
{
	size_t to_bytes;
	CUresult result;

	if (!span(copy, copy->to_pitch, copy->to_slice, &to_bytes) ||
	    !span(copy, copy->from_pitch, copy->from_slice, &ret_facts->from_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	result = end_check(copy->to, to_bytes, ends == HOST_TO_DEVICE || ends == DEVICE_TO_DEVICE,
			   &ret_facts->to_pageable);
	if (result == CUDA_SUCCESS)
		result = end_check(copy->from, ret_facts->from_bytes,
				   ends == DEVICE_TO_HOST || ends == DEVICE_TO_DEVICE, &ret_facts->from_pageable);
	return result;
}

CUresult copy_check(const struct work_copy *copy)
{
	struct copy_facts facts;

	return is_empty(copy) ? CUDA_SUCCESS : copy_look(copy, ANY_TO_ANY, &facts);
}

/* `is_async` leaves before the copy has ended, where the memory allows it. */
static CUresult copy_enqueue(const struct work_copy *request, enum copy_ends ends, CUstream handle, bool is_async)
{
	struct copy_facts facts;
	struct stream *stream;
	struct op *op, *copy;
	bool is_captured;
	CUresult result = stream_resolve(handle, context_gated(), &stream);

	if (result == CUDA_SUCCESS && !is_async)
		result = capture_refuse(stream);
	if (result != CUDA_SUCCESS || is_empty(request))
		return result;
	result = copy_look(request, ends, &facts);
	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(WORK_COPY);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->work.copy = *request;
	is_captured = stream_is_captured(stream);
	if (is_async && facts.from_pageable && !facts.to_pageable && !is_captured)
		result = stage(&op->work.copy, facts.from_bytes);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	if (is_captured || (is_async && !facts.to_pageable))
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

CUresult copy_run(const struct work_copy *copy, uint64_t start_ns, uint64_t *ret_end_ns)
{
	struct device *to_device = address_device(copy->to, NULL, NULL);
	struct device *from_device = address_device(copy->from, NULL, NULL);
	bool is_transfer = !(address_is_on_device(copy->to) && address_is_on_device(copy->from));
	size_t bytes = copy->width * copy->height * copy->depth;
	enum sim_status status = SIM_OK;

	/* Host memory that every device reaches is the other end's business. */
	if (to_device && from_device && reaches(to_device, copy->from))
		from_device = to_device;
	else if (to_device && from_device && reaches(from_device, copy->to))
		to_device = from_device;
	else if (to_device && from_device)
		is_transfer = true; /* between two devices */
	for (size_t row = 0; row < copy->height * copy->depth && status == SIM_OK; row++) {
		size_t y = row % copy->height, z = row / copy->height;

		status = copy_row(to_device, copy->to + z * copy->to_slice + y * copy->to_pitch, from_device,
				  copy->from + z * copy->from_slice + y * copy->from_pitch, copy->width);
	}
	*ret_end_ns =
		start_ns + DURATION_TRANSFER_NS + bytes / (is_transfer ? TRANSFER_BYTES_PER_NS : DEVICE_BYTES_PER_NS);
	return result_of(status);
}

static CUresult copy_plain(CUdeviceptr to, CUdeviceptr from, size_t bytes, enum copy_ends ends, CUstream stream,
			   bool is_async)
{
	struct work_copy copy = { .to = to, .from = from, .width = bytes, .height = 1, .depth = 1 };

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

/* --- between devices: addresses say by themselves where they are ------------------------------ */

CUresult impl_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
				CUcontext srcContext, size_t ByteCount, CUstream hStream)
{
	struct context *context;
	CUresult result = context_check(dstContext, &context);

	if (result == CUDA_SUCCESS)
		result = context_check(srcContext, &context);
	if (result != CUDA_SUCCESS)
		return result;
	return copy_plain(dstDevice, srcDevice, ByteCount, DEVICE_TO_DEVICE, hStream, true);
}

CUresult impl_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext,
			   size_t ByteCount)
{
	return impl_cuMemcpyPeerAsync(dstDevice, dstContext, srcDevice, srcContext, ByteCount, NULL);
}

/* --- rectangles and boxes --------------------------------------------------------------------- */

/* One end of a box as the API has it. Arrays are not supported. */
struct corner {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	size_t x, y, z, pitch, height;
};

static CUresult corner_address(const struct corner *corner, CUdeviceptr *ret_address)
{
	size_t offset = (corner->z * corner->height + corner->y) * corner->pitch + corner->x;

	switch (corner->type) {
	case CU_MEMORYTYPE_HOST:
		*ret_address = (CUdeviceptr)(uintptr_t)corner->host + offset;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		*ret_address = corner->device + offset;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult copy_from_box(const CUDA_MEMCPY3D *box, struct work_copy *ret_copy)
{
	struct corner to = { box->dstMemoryType,
			     box->dstHost,
			     box->dstDevice,
			     box->dstXInBytes,
			     box->dstY,
			     box->dstZ,
			     box->dstPitch ? box->dstPitch : box->WidthInBytes,
			     box->dstHeight ? box->dstHeight : box->Height };
	struct corner from = { box->srcMemoryType,
			       box->srcHost,
			       box->srcDevice,
			       box->srcXInBytes,
			       box->srcY,
			       box->srcZ,
			       box->srcPitch ? box->srcPitch : box->WidthInBytes,
			       box->srcHeight ? box->srcHeight : box->Height };
	CUresult result;

	if (to.pitch < box->WidthInBytes || from.pitch < box->WidthInBytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (box->Depth > 1 && (to.height < box->Height || from.height < box->Height))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_copy = (struct work_copy){
		.width = box->WidthInBytes,
		.height = box->Height,
		.depth = box->Depth,
		.to_pitch = to.pitch,
		.from_pitch = from.pitch,
		.to_slice = to.pitch * to.height,
		.from_slice = from.pitch * from.height,
	};
	result = corner_address(&to, &ret_copy->to);
	return result == CUDA_SUCCESS ? corner_address(&from, &ret_copy->from) : result;
}

static CUresult copy_box(const CUDA_MEMCPY3D *box, CUstream stream, bool is_async)
{
	struct work_copy copy;
	CUresult result = box ? copy_from_box(box, &copy) : CUDA_ERROR_INVALID_VALUE;

	return result == CUDA_SUCCESS ? copy_enqueue(&copy, ANY_TO_ANY, stream, is_async) : result;
}

static CUresult copy_rectangle(const CUDA_MEMCPY2D *rectangle, CUstream stream, bool is_async)
{
	CUDA_MEMCPY3D box;

	if (!rectangle)
		return CUDA_ERROR_INVALID_VALUE;
	box = (CUDA_MEMCPY3D){
		.srcXInBytes = rectangle->srcXInBytes,
		.srcY = rectangle->srcY,
		.srcMemoryType = rectangle->srcMemoryType,
		.srcHost = rectangle->srcHost,
		.srcDevice = rectangle->srcDevice,
		.srcPitch = rectangle->srcPitch,
		.dstXInBytes = rectangle->dstXInBytes,
		.dstY = rectangle->dstY,
		.dstMemoryType = rectangle->dstMemoryType,
		.dstHost = rectangle->dstHost,
		.dstDevice = rectangle->dstDevice,
		.dstPitch = rectangle->dstPitch,
		.WidthInBytes = rectangle->WidthInBytes,
		.Height = rectangle->Height,
		.Depth = 1,
	};
	return copy_box(&box, stream, is_async);
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

CUresult impl_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy)
{
	return copy_box(pCopy, NULL, false);
}

CUresult impl_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	return copy_box(pCopy, hStream, true);
}

/* The same fields, but for two contexts where the plain form has reserved ones. */
_Static_assert(sizeof(CUDA_MEMCPY3D_PEER) == sizeof(CUDA_MEMCPY3D), "one is handed on as the other");

static CUresult copy_box_peer(const CUDA_MEMCPY3D_PEER *box, CUstream stream, bool is_async)
{
	struct context *context;
	CUDA_MEMCPY3D plain;
	CUresult result;

	if (!box)
		return CUDA_ERROR_INVALID_VALUE;
	result = context_check(box->srcContext, &context);
	if (result == CUDA_SUCCESS)
		result = context_check(box->dstContext, &context);
	if (result != CUDA_SUCCESS)
		return result;
	memcpy(&plain, box, sizeof(plain));
	return copy_box(&plain, stream, is_async);
}

CUresult impl_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *pCopy)
{
	return copy_box_peer(pCopy, NULL, false);
}

CUresult impl_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *pCopy, CUstream hStream)
{
	return copy_box_peer(pCopy, hStream, true);
}

/* --- fills ------------------------------------------------------------------------------------ */

static bool fill_span(const struct work_fill *fill, size_t *ret_bytes)
{
	size_t row, rows;

	return !__builtin_mul_overflow(fill->width, fill->unit_bytes, &row) &&
	       !__builtin_mul_overflow(fill->height - 1, fill->pitch, &rows) &&
	       !__builtin_add_overflow(row, rows, ret_bytes);
}

CUresult fill_check(const struct work_fill *fill)
{
	bool is_pageable;
	size_t bytes;

	if (fill->unit_bytes != 1 && fill->unit_bytes != 2 && fill->unit_bytes != 4)
		return CUDA_ERROR_INVALID_VALUE;
	if (fill->width == 0 || fill->height == 0)
		return CUDA_SUCCESS;
	if (fill->to % fill->unit_bytes != 0 || !fill_span(fill, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (fill->height > 1 && (fill->pitch % fill->unit_bytes != 0 || fill->pitch / fill->unit_bytes < fill->width))
		return CUDA_ERROR_INVALID_VALUE;
	return end_check(fill->to, bytes, true, &is_pageable);
}

static CUresult fill_enqueue(const struct work_fill *fill, CUstream handle)
{
	struct stream *stream;
	struct op *op;
	CUresult result = stream_resolve(handle, context_gated(), &stream);

	if (result == CUDA_SUCCESS)
		result = fill_check(fill);
	if (result != CUDA_SUCCESS || fill->width == 0 || fill->height == 0)
		return result;
	op = op_new(WORK_FILL);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->work.fill = *fill;
	return op_enqueue(stream, op, COST_COPY_NS, NULL, NULL);
}

CUresult fill_run(const struct work_fill *fill, uint64_t start_ns, uint64_t *ret_end_ns)
{
	struct device *device = address_device(fill->to, NULL, NULL);
	enum sim_status status = SIM_OK;

	*ret_end_ns =
		start_ns + DURATION_TRANSFER_NS + fill->width * fill->height * fill->unit_bytes / DEVICE_BYTES_PER_NS;
	if (!device)
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	for (size_t row = 0; row < fill->height && status == SIM_OK; row++)
		status = sim_mem_set(device->sim, fill->to + row * fill->pitch, fill->value, fill->unit_bytes,
				     fill->width);
	return result_of(status);
}

static CUresult fill_plain(CUdeviceptr to, uint32_t value, uint32_t unit_bytes, size_t count, CUstream stream)
{
	struct work_fill fill = { .to = to, .value = value, .unit_bytes = unit_bytes, .width = count, .height = 1 };

	return fill_enqueue(&fill, stream);
}

static CUresult fill_rows(CUdeviceptr to, size_t pitch, uint32_t value, uint32_t unit_bytes, size_t width,
			  size_t height, CUstream stream)
{
	struct work_fill fill = {
		.to = to, .value = value, .unit_bytes = unit_bytes, .width = width, .height = height, .pitch = pitch
	};

	return fill_enqueue(&fill, stream);
}

#define FILLS(bits, type)                                                                                             \
	CUresult impl_cuMemsetD##bits##_v2(CUdeviceptr to, type value, size_t count)                                  \
	{                                                                                                             \
		return fill_plain(to, value, bits / 8, count, NULL);                                                  \
	}                                                                                                             \
	CUresult impl_cuMemsetD##bits##Async(CUdeviceptr to, type value, size_t count, CUstream stream)               \
	{                                                                                                             \
		return fill_plain(to, value, bits / 8, count, stream);                                                \
	}                                                                                                             \
	CUresult impl_cuMemsetD2D##bits##_v2(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height)   \
	{                                                                                                             \
		return fill_rows(to, pitch, value, bits / 8, width, height, NULL);                                    \
	}                                                                                                             \
	CUresult impl_cuMemsetD2D##bits##Async(CUdeviceptr to, size_t pitch, type value, size_t width, size_t height, \
					       CUstream stream)                                                       \
	{                                                                                                             \
		return fill_rows(to, pitch, value, bits / 8, width, height, stream);                                  \
	}

FILLS(8, unsigned char)
FILLS(16, unsigned short)
FILLS(32, unsigned int)

/* SPDX-License-Identifier: Apache-2.0
 *
 * managed.c - advice about managed memory, prefetching, and questions about both.
 *
 * Managed memory is host memory that every device reaches, so nothing moves; what was said is kept and answered, for
 * whole allocations. Callable from any thread.
 */
#include "allocation.h"
#include "capture.h"

#include <string.h>

enum { HOST_BIT = MAX_DEVICES };

static CUresult range_check(CUdeviceptr address, size_t bytes, struct allocation *ret_allocation)
{
	if (bytes == 0 || !allocation_find(address, ret_allocation) || ret_allocation->kind != ALLOCATION_MANAGED ||
	    bytes > ret_allocation->bytes - (address - ret_allocation->address))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* A device or the host, in whichever of its forms. */
static CUresult location_check(const CUmemLocation *location)
{
	switch (location->type) {
	case CU_MEM_LOCATION_TYPE_DEVICE:
		return device_of(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
	case CU_MEM_LOCATION_TYPE_HOST:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA:
	case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUmemLocation location_of(CUdevice device)
{
	if (device == CU_DEVICE_CPU)
		return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST };
	return (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device };
}

static uint32_t location_bit(const CUmemLocation *location)
{
	return UINT32_C(1) << (location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : HOST_BIT);
}

CUresult impl_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location)
{
	bool has_place = advice != CU_MEM_ADVISE_SET_READ_MOSTLY && advice != CU_MEM_ADVISE_UNSET_READ_MOSTLY &&
			 advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
	struct allocation allocation;
	CUresult result = range_check(devPtr, count, &allocation);

	if (result == CUDA_SUCCESS && has_place)
		result = location_check(&location);
	if (result != CUDA_SUCCESS)
		return result;
	switch (advice) {
	case CU_MEM_ADVISE_SET_READ_MOSTLY:
	case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
		allocation.advice.is_read_mostly = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
		break;
	case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
		allocation.advice.preferred = location;
		break;
	case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
		allocation.advice.preferred = (CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_INVALID };
		break;
	case CU_MEM_ADVISE_SET_ACCESSED_BY:
		allocation.advice.accessed_by |= location_bit(&location);
		break;
	case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
		allocation.advice.accessed_by &= ~location_bit(&location);
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return allocation_set_advice(devPtr, &allocation.advice) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device)
{
	return impl_cuMemAdvise_v2(devPtr, count, advice, location_of(device));
}

/* Has its place in the stream, and its time. */
CUresult impl_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location, unsigned int flags,
				    CUstream hStream)
{
	struct allocation allocation;
	struct stream *stream;
	struct op *op;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result == CUDA_SUCCESS)
		result = flags == 0 ? range_check(devPtr, count, &allocation) : CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = location_check(&location);
	if (result == CUDA_SUCCESS && stream_is_captured(stream))
		result = capture_refuse(stream);
	if (result != CUDA_SUCCESS)
		return result;
	allocation.advice.prefetched = location;
	allocation_set_advice(devPtr, &allocation.advice);
	op = op_new(WORK_NOTHING);
	return op ? op_enqueue(stream, op, COST_SMALL_NS, NULL, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult impl_cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream)
{
	return impl_cuMemPrefetchAsync_v2(devPtr, count, location_of(dstDevice), 0, hStream);
}

static int location_number(const CUmemLocation *location)
{
	if (location->type == CU_MEM_LOCATION_TYPE_INVALID)
		return CU_DEVICE_INVALID;
	return location->type == CU_MEM_LOCATION_TYPE_DEVICE ? location->id : CU_DEVICE_CPU;
}

/* A list of devices, filled up with "none". */
static CUresult accessed_by(const struct advice *advice, int *list, size_t n)
{
	size_t used = 0;

	for (int bit = 0; bit <= HOST_BIT && used < n; bit++) {
		if (advice->accessed_by & UINT32_C(1) << bit)
			list[used++] = bit == HOST_BIT ? CU_DEVICE_CPU : bit;
	}
	while (used < n)
		list[used++] = CU_DEVICE_INVALID;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRangeGetAttribute(void *data, size_t dataSize, CUmem_range_attribute attribute, CUdeviceptr devPtr,
				     size_t count)
{
	struct allocation allocation;
	CUresult result = range_check(devPtr, count, &allocation);
	int value;

	if (result != CUDA_SUCCESS || !data)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		value = allocation.advice.is_read_mostly;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		value = location_number(&allocation.advice.preferred);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		value = location_number(&allocation.advice.prefetched);
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		value = (int)allocation.advice.preferred.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		value = allocation.advice.preferred.id;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		value = (int)allocation.advice.prefetched.type;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		value = allocation.advice.prefetched.id;
		break;
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		if (dataSize == 0 || dataSize % sizeof(int) != 0)
			return CUDA_ERROR_INVALID_VALUE;
		return accessed_by(&allocation.advice, data, dataSize / sizeof(int));
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (dataSize != sizeof(value))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(data, &value, sizeof(value));
	return CUDA_SUCCESS;
}

CUresult impl_cuMemRangeGetAttributes(void **data, size_t *dataSizes, CUmem_range_attribute *attributes,
				      size_t numAttributes, CUdeviceptr devPtr, size_t count)
{
	CUresult result = CUDA_SUCCESS;

	if (!data || !dataSizes || !attributes || numAttributes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numAttributes && result == CUDA_SUCCESS; i++)
		result = impl_cuMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
	return result;
}

/* Who may touch managed memory at the same time is no question where nothing moves. */
CUresult impl_cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t length, unsigned int flags)
{
	struct allocation allocation;
	struct stream *stream;
	struct op *op;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result == CUDA_SUCCESS)
		result = capture_refuse(stream);
	if (result != CUDA_SUCCESS)
		return result;
	if ((flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE) ||
	    !allocation_find(dptr, &allocation) || allocation.kind != ALLOCATION_MANAGED ||
	    allocation.address != dptr || (length != 0 && length != allocation.bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_MEM_ATTACH_SINGLE && (!hStream || hStream == CU_STREAM_LEGACY))
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(WORK_NOTHING);
	return op ? op_enqueue(stream, op, COST_SMALL_NS, NULL, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

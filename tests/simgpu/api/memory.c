/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.c - allocations, pinned host memory, and what a pointer is.
 *
 * Device memory belongs to the engine; this file knows which context owns what. Host memory from cuMemHostAlloc,
 * cuMemHostRegister and cuMemAllocManaged is registered with every device and has one address everywhere. A range
 * that the engine does not know is pageable host memory.
 *
 * As on a device, freeing waits for the context's work. Callable from any thread.
 */
#include "allocation.h"
#include "capture.h"
#include "driver.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

/* --- who owns what ---------------------------------------------------------------------------- */

enum { DEVICE_ALIGN = 256, HOST_ALIGN = 4096, PITCH_ALIGN = 512 };

/* Sorted by address; guarded by allocations_lock, which is taken last of all locks. */
static pthread_mutex_t allocations_lock = PTHREAD_MUTEX_INITIALIZER;
static struct allocation *allocations;
static size_t n_allocations, allocations_capacity;

/* Index of the first allocation that starts above `address`. allocations_lock is held. */
static size_t allocation_above(CUdeviceptr address)
{
	size_t low = 0, high = n_allocations;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (allocations[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool allocation_find(CUdeviceptr address, struct allocation *ret_allocation)
{
	bool is_found;
	size_t above;

	pthread_mutex_lock(&allocations_lock);
	above = allocation_above(address);
	is_found = above > 0 && address - allocations[above - 1].address < allocations[above - 1].bytes;
	if (is_found)
		*ret_allocation = allocations[above - 1];
	pthread_mutex_unlock(&allocations_lock);
	return is_found;
}

bool allocation_set_advice(CUdeviceptr address, const struct advice *advice)
{
	bool is_found;
	size_t above;

	pthread_mutex_lock(&allocations_lock);
	above = allocation_above(address);
	is_found = above > 0 && address - allocations[above - 1].address < allocations[above - 1].bytes;
	if (is_found)
		allocations[above - 1].advice = *advice;
	pthread_mutex_unlock(&allocations_lock);
	return is_found;
}

bool allocation_is_on_device(enum allocation_kind kind)
{
	return kind == ALLOCATION_DEVICE || kind == ALLOCATION_GRAPH;
}

static CUresult allocation_add(struct allocation allocation)
{
	CUresult result = CUDA_SUCCESS;

	allocation.id = atomic_fetch_add_explicit(&driver.last_id, 1, memory_order_relaxed) + 1;
	pthread_mutex_lock(&allocations_lock);
	if (n_allocations == allocations_capacity) {
		size_t capacity = allocations_capacity ? allocations_capacity * 2 : 64;
		struct allocation *more = realloc(allocations, capacity * sizeof(*more));

		if (more) {
			allocations = more;
			allocations_capacity = capacity;
		} else {
			result = CUDA_ERROR_OUT_OF_MEMORY;
		}
	}
	if (result == CUDA_SUCCESS) {
		size_t at = allocation_above(allocation.address);

		memmove(&allocations[at + 1], &allocations[at], (n_allocations - at) * sizeof(*allocations));
		allocations[at] = allocation;
		n_allocations++;
	}
	pthread_mutex_unlock(&allocations_lock);
	return result;
}

bool allocation_take(CUdeviceptr address, enum allocation_kind kind, enum allocation_kind or_kind,
		     struct allocation *ret_allocation)
{
	bool is_taken = false;
	size_t above;

	pthread_mutex_lock(&allocations_lock);
	above = allocation_above(address);
	if (above > 0 && allocations[above - 1].address == address &&
	    (allocations[above - 1].kind == kind || allocations[above - 1].kind == or_kind)) {
		*ret_allocation = allocations[above - 1];
		memmove(&allocations[above - 1], &allocations[above], (n_allocations - above) * sizeof(*allocations));
		n_allocations--;
		is_taken = true;
	}
	pthread_mutex_unlock(&allocations_lock);
	return is_taken;
}

static void host_unregister(void *host)
{
	for (int i = 0; i < driver.n_devices; i++)
		sim_host_unregister(driver.devices[i].sim, host);
}

static CUresult host_register(void *host, size_t bytes)
{
	for (int i = 0; i < driver.n_devices; i++) {
		enum sim_status status = sim_host_register(driver.devices[i].sim, host, bytes);

		if (status != SIM_OK) {
			while (i-- > 0)
				sim_host_unregister(driver.devices[i].sim, host);
			return result_of(status);
		}
	}
	return CUDA_SUCCESS;
}

void allocation_release(const struct allocation *allocation)
{
	void *host = (void *)(uintptr_t)allocation->address;

	if (allocation_is_on_device(allocation->kind)) {
		sim_mem_free(allocation->context->device->sim, allocation->address);
		if (allocation->pool)
			pool_give(allocation->pool, allocation->bytes);
		return;
	}
	host_unregister(host);
	if (allocation->kind != ALLOCATION_REGISTERED)
		free(host);
}

void allocations_drop(struct context *context)
{
	for (;;) {
		struct allocation allocation;
		bool is_found = false;

		pthread_mutex_lock(&allocations_lock);
		for (size_t i = 0; i < n_allocations && !is_found; i++) {
			if (allocations[i].context != context)
				continue;
			allocation = allocations[i];
			memmove(&allocations[i], &allocations[i + 1], (n_allocations - i - 1) * sizeof(*allocations));
			n_allocations--;
			is_found = true;
		}
		pthread_mutex_unlock(&allocations_lock);
		if (!is_found)
			return;
		allocation_release(&allocation);
	}
}

struct device *address_device(CUdeviceptr address, CUdeviceptr *ret_start, size_t *ret_bytes)
{
	for (int i = 0; i < driver.n_devices; i++) {
		uint64_t start, bytes;

		if (!sim_mem_range(driver.devices[i].sim, address, &start, &bytes))
			continue;
		if (ret_start)
			*ret_start = start;
		if (ret_bytes)
			*ret_bytes = bytes;
		return &driver.devices[i];
	}
	return NULL;
}

/* --- device memory ---------------------------------------------------------------------------- */

CUresult impl_cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
	uint64_t available, total;

	if (!free_bytes && !total_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	sim_mem_usage(context_gated()->device->sim, &available, &total);
	if (free_bytes)
		*free_bytes = available;
	if (total_bytes)
		*total_bytes = total;
	return CUDA_SUCCESS;
}

CUresult allocation_create(struct context *context, size_t bytes, enum allocation_kind kind, struct pool *pool,
			   CUdeviceptr *ret_address)
{
	uint64_t address;
	CUresult result = pool ? pool_take(pool, bytes) : CUDA_SUCCESS;

	if (result != CUDA_SUCCESS)
		return result;
	result = result_of(sim_mem_alloc(context->device->sim, bytes, DEVICE_ALIGN, &address));
	if (result == CUDA_SUCCESS) {
		result = allocation_add((struct allocation){
			.address = address, .bytes = bytes, .kind = kind, .context = context, .pool = pool });
		if (result != CUDA_SUCCESS)
			sim_mem_free(context->device->sim, address);
	}
	if (result != CUDA_SUCCESS) {
		if (pool)
			pool_give(pool, bytes);
		return result;
	}
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	if (!dptr || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	return allocation_create(context_gated(), bytesize, ALLOCATION_DEVICE, NULL, dptr);
}

CUresult impl_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
				 unsigned int ElementSizeBytes)
{
	size_t pitch;
	CUresult result;

	if (!dptr || !pPitch || WidthInBytes == 0 || Height == 0 || WidthInBytes > SIZE_MAX - PITCH_ALIGN)
		return CUDA_ERROR_INVALID_VALUE;
	if (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16)
		return CUDA_ERROR_INVALID_VALUE;
	pitch = (WidthInBytes + PITCH_ALIGN - 1) / PITCH_ALIGN * PITCH_ALIGN;
	if (pitch > SIZE_MAX / Height)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = impl_cuMemAlloc_v2(dptr, pitch * Height);
	if (result == CUDA_SUCCESS)
		*pPitch = pitch;
	return result;
}

CUresult impl_cuMemFree_v2(CUdeviceptr dptr)
{
	struct allocation allocation;
	CUresult result;

	if (!allocation_find(dptr, &allocation) || allocation.address != dptr ||
	    (!allocation_is_on_device(allocation.kind) && allocation.kind != ALLOCATION_MANAGED))
		return CUDA_ERROR_INVALID_VALUE;
	result = context_wait(allocation.context);
	if (allocation.kind == ALLOCATION_GRAPH) /* the next launch has it again, at the same place */
		return result;
	if (!allocation_take(dptr, ALLOCATION_DEVICE, ALLOCATION_MANAGED, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	allocation_release(&allocation);
	return result;
}

CUresult impl_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	return address_device(dptr, pbase, psize) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/* Memory in stream order is had at once; only its end is in order. */
CUresult impl_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	struct stream *stream;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream_is_captured(stream))
		return capture_alloc(stream, bytesize, dptr);
	return allocation_create(stream->context, bytesize, ALLOCATION_DEVICE, pool_current(stream->context->device),
				 dptr);
}

CUresult impl_cuMemFreeAsync(CUdeviceptr dptr, CUstream hStream)
{
	struct allocation allocation;
	struct stream *stream;
	struct op *op;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!allocation_find(dptr, &allocation) || allocation.address != dptr ||
	    !allocation_is_on_device(allocation.kind))
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(WORK_FREE);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->work.free_address = dptr;
	return op_enqueue(stream, op, COST_SMALL_NS, NULL, NULL);
}

void free_run(CUdeviceptr address)
{
	struct allocation allocation;

	if (allocation_take(address, ALLOCATION_DEVICE, ALLOCATION_DEVICE, &allocation))
		allocation_release(&allocation);
}

/* --- host memory ------------------------------------------------------------------------------ */

static CUresult host_add(void *host, size_t bytes, enum allocation_kind kind, unsigned int flags)
{
	CUresult result = host_register(host, bytes);

	if (result != CUDA_SUCCESS)
		return result;
	result = allocation_add((struct allocation){ .address = (CUdeviceptr)(uintptr_t)host,
						     .bytes = bytes,
						     .kind = kind,
						     .flags = flags,
						     .context = context_gated() });
	if (result != CUDA_SUCCESS)
		host_unregister(host);
	return result;
}

static CUresult host_alloc(void **ret_host, size_t bytes, enum allocation_kind kind, unsigned int flags)
{
	void *host;
	CUresult result;

	if (!ret_host || bytes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (bytes > SIZE_MAX - HOST_ALIGN || posix_memalign(&host, HOST_ALIGN, bytes) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = host_add(host, bytes, kind, flags);
	if (result != CUDA_SUCCESS)
		free(host);
	else
		*ret_host = host;
	return result;
}

CUresult impl_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	if (Flags &
	    ~(unsigned int)(CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED))
		return CUDA_ERROR_INVALID_VALUE;
	return host_alloc(pp, bytesize, ALLOCATION_HOST, Flags | CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult impl_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return host_alloc(pp, bytesize, ALLOCATION_HOST, CU_MEMHOSTALLOC_DEVICEMAP);
}

CUresult impl_cuMemFreeHost(void *p)
{
	struct allocation allocation;
	CUresult result;

	if (!allocation_find((CUdeviceptr)(uintptr_t)p, &allocation) || allocation.kind != ALLOCATION_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	result = context_wait(allocation.context);
	if (!allocation_take((CUdeviceptr)(uintptr_t)p, ALLOCATION_HOST, ALLOCATION_HOST, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	allocation_release(&allocation);
	return result;
}

CUresult impl_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	struct allocation allocation;

	if (!p || bytesize == 0 ||
	    Flags & ~(unsigned int)(CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
				    CU_MEMHOSTREGISTER_READ_ONLY))
		return CUDA_ERROR_INVALID_VALUE;
	if (allocation_find((CUdeviceptr)(uintptr_t)p, &allocation) ||
	    allocation_find((CUdeviceptr)(uintptr_t)p + bytesize - 1, &allocation))
		return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
	return host_add(p, bytesize, ALLOCATION_REGISTERED, Flags | CU_MEMHOSTREGISTER_DEVICEMAP);
}

CUresult impl_cuMemHostUnregister(void *p)
{
	struct allocation allocation;
	CUresult result;

	if (!p)
		return CUDA_ERROR_INVALID_VALUE;
	if (!allocation_find((CUdeviceptr)(uintptr_t)p, &allocation) || allocation.kind != ALLOCATION_REGISTERED)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	result = context_wait(allocation.context);
	if (!allocation_take((CUdeviceptr)(uintptr_t)p, ALLOCATION_REGISTERED, ALLOCATION_REGISTERED, &allocation))
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	allocation_release(&allocation);
	return result;
}

CUresult impl_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	struct allocation allocation;

	if (!pdptr || Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!allocation_find((CUdeviceptr)(uintptr_t)p, &allocation) || allocation_is_on_device(allocation.kind))
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (CUdeviceptr)(uintptr_t)p;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct allocation allocation;

	if (!pFlags || !allocation_find((CUdeviceptr)(uintptr_t)p, &allocation) || allocation.kind != ALLOCATION_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	*pFlags = allocation.flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	void *host;
	CUresult result;

	if (!dptr || (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	result = host_alloc(&host, bytesize, ALLOCATION_MANAGED, flags);
	if (result == CUDA_SUCCESS)
		*dptr = (CUdeviceptr)(uintptr_t)host;
	return result;
}

/* --- questions about pointers ----------------------------------------------------------------- */

static CUresult pointer_attribute(CUpointer_attribute attribute, CUdeviceptr ptr, const struct allocation *allocation,
				  void *data)
{
	bool is_host = !allocation_is_on_device(allocation->kind);

	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*(CUcontext *)data = (CUcontext)allocation->context;
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*(unsigned int *)data =
			is_host && allocation->kind != ALLOCATION_MANAGED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*(CUdeviceptr *)data = ptr;
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (!is_host)
			return CUDA_ERROR_INVALID_VALUE;
		*(void **)data = (void *)(uintptr_t)ptr;
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*(int *)data = 0;
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*(int *)data = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*(unsigned long long *)data = CU_MEM_HANDLE_TYPE_NONE;
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*(unsigned long long *)data = allocation->id;
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*(int *)data = allocation->kind == ALLOCATION_MANAGED;
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*(int *)data = allocation->context->device->ordinal;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*(CUdeviceptr *)data = allocation->address;
		break;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*(size_t *)data = allocation->bytes;
		break;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*(int *)data = 1;
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*(CUmemoryPool *)data = (CUmemoryPool)allocation->pool;
		break;
	default:
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	return CUDA_SUCCESS;
}

/* A module's globals are the engine's own: they look like an allocation of the device's primary context. */
static bool pointer_find(CUdeviceptr ptr, struct allocation *ret_allocation)
{
	struct device *device;

	if (allocation_find(ptr, ret_allocation))
		return true;
	*ret_allocation = (struct allocation){ .kind = ALLOCATION_DEVICE };
	device = address_device(ptr, &ret_allocation->address, &ret_allocation->bytes);
	ret_allocation->context = device ? &device->primary : NULL;
	return device != NULL;
}

CUresult impl_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct allocation allocation;

	if (!data || !pointer_find(ptr, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return pointer_attribute(attribute, ptr, &allocation, data);
}

static size_t pointer_attribute_bytes(CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return sizeof(int);
	default:
		return sizeof(void *);
	}
}

/* Every copy here ends before its call does, or in stream order: there is nothing to be told about that. */
CUresult impl_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	struct allocation allocation;

	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !pointer_find(ptr, &allocation))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* Unlike the single question, an unknown pointer is answered with zeros (and device -2). */
CUresult impl_cuPointerGetAttributes(unsigned int numAttributes, CUpointer_attribute *attributes, void **data,
				     CUdeviceptr ptr)
{
	struct allocation allocation;
	bool is_known = pointer_find(ptr, &allocation);

	if (!attributes || !data || numAttributes == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < numAttributes; i++) {
		if (!data[i])
			return CUDA_ERROR_INVALID_VALUE;
		memset(data[i], 0, pointer_attribute_bytes(attributes[i]));
		if (is_known)
			pointer_attribute(attributes[i], ptr, &allocation, data[i]);
		else if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
			*(int *)data[i] = -2;
	}
	return CUDA_SUCCESS;
}

bool address_is_on_device(CUdeviceptr address)
{
	struct allocation allocation;

	return pointer_find(address, &allocation) && allocation_is_on_device(allocation.kind);
}

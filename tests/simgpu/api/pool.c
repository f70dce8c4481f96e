/* SPDX-License-Identifier: Apache-2.0
 *
 * pool.c - memory pools: accounts of what was allocated in stream order.
 *
 * A pool takes its memory from the device when it is allocated and gives it back when it is freed; it keeps nothing,
 * whatever the release threshold, which only allows it to. A destroyed pool lasts until its last allocation is freed.
 * One lock guards every account; only device_reach()'s is taken under it. Callable from any thread.
 */
#include "allocation.h"
#include "capture.h"

#include <stdlib.h>

struct pool {
	struct device *device;
	bool is_default, is_destroyed;
	CUmemPoolProps props;
	uint64_t release_threshold;
	int reuse[3]; /* the first three attributes: allowed from the start */
	uint64_t used, used_high;
	bool reached_by[MAX_DEVICES]; /* other devices with access */
};

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static CUresult pool_check(CUmemoryPool handle, struct pool **ret_pool)
{
	if (!handle_is(HANDLE_POOL, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = (struct pool *)handle;
	return CUDA_SUCCESS;
}

static struct pool *pool_create(struct device *device, const CUmemPoolProps *props, bool is_default)
{
	struct pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	*pool = (struct pool){ .device = device, .is_default = is_default, .props = *props, .reuse = { 1, 1, 1 } };
	if (handle_add(HANDLE_POOL, pool) != CUDA_SUCCESS) {
		free(pool);
		return NULL;
	}
	return pool;
}

struct pool *pool_create_default(struct device *device)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device->ordinal } };

	return pool_create(device, &props, true);
}

/* pools_lock is held. */
static void access_set(struct pool *pool, struct device *device, bool is_reaching)
{
	if (pool->reached_by[device->ordinal] == is_reaching || device == pool->device)
		return;
	if (device_reach(device, pool->device, is_reaching) == CUDA_SUCCESS)
		pool->reached_by[device->ordinal] = is_reaching;
}

/* pools_lock is held. */
static bool is_over(const struct pool *pool)
{
	return pool->is_destroyed && pool->used == 0;
}

struct pool *pool_current(struct device *device)
{
	struct pool *pool;

	pthread_mutex_lock(&pools_lock);
	pool = device->current_pool;
	pthread_mutex_unlock(&pools_lock);
	return pool;
}

CUresult pool_take(struct pool *pool, size_t bytes)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&pools_lock);
	if (pool->props.maxSize && bytes > pool->props.maxSize - MIN(pool->used, pool->props.maxSize)) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		pool->used += bytes;
		pool->used_high = MAX(pool->used_high, pool->used);
	}
	pthread_mutex_unlock(&pools_lock);
	return result;
}

void pool_give(struct pool *pool, size_t bytes)
{
	bool is_last;

	pthread_mutex_lock(&pools_lock);
	pool->used -= bytes;
	is_last = is_over(pool);
	pthread_mutex_unlock(&pools_lock);
	if (is_last)
		free(pool);
}

/* --- the calls -------------------------------------------------------------------------------- */

CUresult impl_cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *poolProps)
{
	struct device *device;
	struct pool *created;

	if (!pool || !poolProps || poolProps->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (poolProps->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    poolProps->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
		return CUDA_ERROR_NOT_SUPPORTED;
	device = device_of(poolProps->location.id);
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	created = pool_create(device, poolProps, false);
	if (!created)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*pool = (CUmemoryPool)created;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolDestroy(CUmemoryPool pool)
{
	struct pool *known;
	CUresult result = pool_check(pool, &known);
	bool is_last;

	if (result != CUDA_SUCCESS || known->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	handle_remove(known);
	pthread_mutex_lock(&pools_lock);
	for (int i = 0; i < driver.n_devices; i++)
		access_set(known, &driver.devices[i], false);
	if (known->device->current_pool == known)
		known->device->current_pool = known->device->pool;
	known->is_destroyed = true;
	is_last = is_over(known);
	pthread_mutex_unlock(&pools_lock);
	if (is_last)
		free(known);
	return CUDA_SUCCESS;
}

/* Nothing is kept, so there is nothing to trim. */
CUresult impl_cuMemPoolTrimTo(CUmemoryPool pool, size_t minBytesToKeep)
{
	struct pool *known;

	return pool_check(pool, &known);
}

CUresult impl_cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct pool *known;
	CUresult result = pool_check(pool, &known);

	if (result != CUDA_SUCCESS || !value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&pools_lock);
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		*(int *)value = known->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES];
		break;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		*(cuuint64_t *)value = known->release_threshold;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		*(cuuint64_t *)value = known->used;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		*(cuuint64_t *)value = known->used_high;
		break;
	default:
		result = CUDA_ERROR_INVALID_VALUE;
		break;
	}
	pthread_mutex_unlock(&pools_lock);
	return result;
}

CUresult impl_cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attr, void *value)
{
	struct pool *known;
	CUresult result = pool_check(pool, &known);

	if (result != CUDA_SUCCESS || !value)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&pools_lock);
	switch (attr) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		known->reuse[attr - CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = *(const int *)value != 0;
		break;
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		known->release_threshold = *(const cuuint64_t *)value;
		break;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH: /* only back to what is used now */
		if (*(const cuuint64_t *)value != 0)
			result = CUDA_ERROR_INVALID_VALUE;
		else
			known->used_high = known->used;
		break;
	default:
		result = CUDA_ERROR_INVALID_VALUE;
		break;
	}
	pthread_mutex_unlock(&pools_lock);
	return result;
}

CUresult impl_cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *map, size_t count)
{
	struct pool *known;
	CUresult result = pool_check(pool, &known);

	if (result != CUDA_SUCCESS || (count && !map))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < count; i++) {
		if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_of(map[i].location.id))
			return CUDA_ERROR_INVALID_DEVICE;
		/* Its own device cannot be shut out, and reading alone is not to be had. */
		if (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
		    (map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_NONE && device_of(map[i].location.id) == known->device))
			return CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_lock(&pools_lock);
	for (size_t i = 0; i < count; i++)
		access_set(known, device_of(map[i].location.id), map[i].flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	pthread_mutex_unlock(&pools_lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool memPool, CUmemLocation *location)
{
	const struct device *device;
	struct pool *known;
	CUresult result = pool_check(memPool, &known);

	if (result != CUDA_SUCCESS || !flags || !location)
		return CUDA_ERROR_INVALID_VALUE;
	device = location->type == CU_MEM_LOCATION_TYPE_DEVICE ? device_of(location->id) : NULL;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&pools_lock);
	*flags = device == known->device || known->reached_by[device->ordinal] ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
									       : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	pthread_mutex_unlock(&pools_lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream)
{
	struct stream *stream;
	struct context *context;
	struct pool *known;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result == CUDA_SUCCESS)
		result = pool_check(pool, &known);
	if (result != CUDA_SUCCESS)
		return result;
	if (!dptr || bytesize == 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream_is_captured(stream))
		return capture_alloc(stream, bytesize, dptr);
	/* Memory of another device belongs to that one's primary context. */
	context = stream->context->device == known->device ? stream->context : &known->device->primary;
	if (!context->is_live)
		return CUDA_ERROR_INVALID_CONTEXT;
	return allocation_create(context, bytesize, ALLOCATION_DEVICE, known, dptr);
}

CUresult impl_cuDeviceGetDefaultMemPool(CUmemoryPool *pool_out, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!pool_out)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool_out = (CUmemoryPool)device->pool;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice dev)
{
	struct device *device = device_of(dev);

	if (!pool)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*pool = (CUmemoryPool)pool_current(device);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceSetMemPool(CUdevice dev, CUmemoryPool pool)
{
	struct device *device = device_of(dev);
	struct pool *known;
	CUresult result = pool_check(pool, &known);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (result != CUDA_SUCCESS || known->device != device)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&pools_lock);
	device->current_pool = known;
	pthread_mutex_unlock(&pools_lock);
	return CUDA_SUCCESS;
}

/* By place rather than by device; other places than devices have no pool here. */
static CUresult place_device(const CUmemLocation *location, CUmemAllocationType type, CUdevice *ret_device)
{
	if (!location)
		return CUDA_ERROR_INVALID_VALUE;
	if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_NOT_SUPPORTED;
	*ret_device = location->id;
	return CUDA_SUCCESS;
}

CUresult impl_cuMemGetDefaultMemPool(CUmemoryPool *pool_out, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice device;
	CUresult result = place_device(location, type, &device);

	return result == CUDA_SUCCESS ? impl_cuDeviceGetDefaultMemPool(pool_out, device) : result;
}

CUresult impl_cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)
{
	CUdevice device;
	CUresult result = place_device(location, type, &device);

	return result == CUDA_SUCCESS ? impl_cuDeviceGetMemPool(pool, device) : result;
}

CUresult impl_cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)
{
	CUdevice device;
	CUresult result = place_device(location, type, &device);

	return result == CUDA_SUCCESS ? impl_cuDeviceSetMemPool(device, pool) : result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_memory.c - memory that graphs allocate, and the account of it.
 *
 * It is there from the node's creation on, at one address, and stays while a node, plan or executable refers to it: the
 * account knows of nothing that is reserved but not used. Callable from any thread.
 */
#include "allocation.h"
#include "graph.h"

#include <stdlib.h>

struct graph_memory {
	atomic_uint refs;
	CUdeviceptr address;
	size_t bytes;
	struct device *device;
};

static pthread_mutex_t account_lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
static struct {
	uint64_t used, high;
} accounts[MAX_DEVICES];

static void account_take(const struct device *device, size_t bytes)
{
	pthread_mutex_lock(&account_lock);
	accounts[device->ordinal].used += bytes;
	accounts[device->ordinal].high = MAX(accounts[device->ordinal].high, accounts[device->ordinal].used);
	pthread_mutex_unlock(&account_lock);
}

static void account_give(const struct device *device, size_t bytes)
{
	pthread_mutex_lock(&account_lock);
	accounts[device->ordinal].used -= bytes;
	pthread_mutex_unlock(&account_lock);
}

/* --- the memory ------------------------------------------------------------------------------- */

CUresult graph_memory_create(struct context *context, size_t bytes, struct graph_memory **ret_memory)
{
	struct graph_memory *memory = calloc(1, sizeof(*memory));
	CUdeviceptr address;
	CUresult result;

	if (!memory)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = allocation_create(context, bytes, ALLOCATION_GRAPH, NULL, &address);
	if (result != CUDA_SUCCESS) {
		free(memory);
		return result;
	}
	atomic_init(&memory->refs, 1);
	memory->address = address;
	memory->bytes = bytes;
	memory->device = context->device;
	account_take(memory->device, bytes);
	*ret_memory = memory;
	return CUDA_SUCCESS;
}

struct graph_memory *graph_memory_ref(struct graph_memory *memory)
{
	atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);
	return memory;
}

void graph_memory_unref(struct graph_memory *memory)
{
	struct allocation allocation;

	/* Acquire-release: the last owner frees what the others wrote. */
	if (!memory || atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel) != 1)
		return;
	/* It may have gone with its context. */
	if (allocation_take(memory->address, ALLOCATION_GRAPH, ALLOCATION_GRAPH, &allocation))
		allocation_release(&allocation);
	account_give(memory->device, memory->bytes);
	free(memory);
}

CUdeviceptr graph_memory_address(const struct graph_memory *memory)
{
	return memory->address;
}

bool address_is_of_graph(CUdeviceptr address)
{
	struct allocation allocation;

	return allocation_find(address, &allocation) && allocation.address == address &&
	       allocation.kind == ALLOCATION_GRAPH;
}

/* --- the calls -------------------------------------------------------------------------------- */

CUresult impl_cuDeviceGetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	struct device *known = device_of(device);
	bool is_high = attr == CU_GRAPH_MEM_ATTR_USED_MEM_HIGH || attr == CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH;

	if (!known)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || (unsigned int)attr > CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&account_lock);
	*(cuuint64_t *)value = is_high ? accounts[known->ordinal].high : accounts[known->ordinal].used;
	pthread_mutex_unlock(&account_lock);
	return CUDA_SUCCESS;
}

/* The high marks can be taken back to what is used now; nothing else can be set. */
CUresult impl_cuDeviceSetGraphMemAttribute(CUdevice device, CUgraphMem_attribute attr, void *value)
{
	struct device *known = device_of(device);

	if (!known)
		return CUDA_ERROR_INVALID_DEVICE;
	if (!value || *(const cuuint64_t *)value != 0 ||
	    (attr != CU_GRAPH_MEM_ATTR_USED_MEM_HIGH && attr != CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&account_lock);
	accounts[known->ordinal].high = accounts[known->ordinal].used;
	pthread_mutex_unlock(&account_lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGraphMemTrim(CUdevice device)
{
	return device_of(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

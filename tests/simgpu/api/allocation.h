/* SPDX-License-Identifier: Apache-2.0
 *
 * allocation.h - what memory.c knows about each allocation, for the files that deal with kinds of memory.
 */
#ifndef SIMGPU_ALLOCATION_H
#define SIMGPU_ALLOCATION_H

#include "driver.h"

enum allocation_kind {
	ALLOCATION_DEVICE,
	ALLOCATION_GRAPH, /* of an allocation node: freed with the last graph that has it */
	ALLOCATION_MANAGED,
	ALLOCATION_HOST,
	ALLOCATION_REGISTERED,
};

/* What a program said about managed memory, which changes nothing here but is asked for again. */
struct advice {
	bool is_read_mostly;
	uint32_t accessed_by; /* a bit for each device, above them one for the host */
	CUmemLocation preferred, prefetched;
};

struct allocation {
	CUdeviceptr address;
	size_t bytes;
	enum allocation_kind kind;
	unsigned int flags;
	uint64_t id;
	struct context *context;
	struct pool *pool; /* counted there; NULL = of none */
	struct advice advice;
};

/* Callable from any thread. */

bool allocation_is_on_device(enum allocation_kind kind);
/* A copy of the one that holds `address`. */
bool allocation_find(CUdeviceptr address, struct allocation *ret_allocation);
bool allocation_set_advice(CUdeviceptr address, const struct advice *advice);
/* Memory of the context's device, entered in the table. `pool` may be NULL. */
CUresult allocation_create(struct context *context, size_t bytes, enum allocation_kind kind, struct pool *pool,
			   CUdeviceptr *ret_address);
/* Takes the allocation that starts at `address` out of the table, if its kind is one of the two. */
bool allocation_take(CUdeviceptr address, enum allocation_kind kind, enum allocation_kind or_kind,
		     struct allocation *ret_allocation);
/* Gives the memory back; it is out of the table already. */
void allocation_release(const struct allocation *allocation);

/* --- pools (pool.c) --------------------------------------------------------------------------- */

/* The one cuMemAllocAsync() uses on the device. */
struct pool *pool_current(struct device *device);
/* Room for `bytes`, or CUDA_ERROR_OUT_OF_MEMORY; given back when the allocation goes. */
CUresult pool_take(struct pool *pool, size_t bytes);
void pool_give(struct pool *pool, size_t bytes);

#endif

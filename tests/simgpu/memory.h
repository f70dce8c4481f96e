/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.h - device memory: a window of addresses, the allocations in it, the host ranges beside it.
 *
 * The window is reserved without access rights, so a host program that follows a device pointer crashes as it would on
 * a machine with a GPU; the engine reaches the bytes through a second mapping.
 *
 *   window:  | shared 4 GiB | local 4 GiB | parameters 4 GiB | device memory ...                  |
 *            ^ generic addresses of a block, a thread, a launch  ^ allocations with gaps between them
 */
#ifndef SIMGPU_MEMORY_H
#define SIMGPU_MEMORY_H

#include "engine.h"

#include <pthread.h>
#include <stdatomic.h>

#define SIM_SEGMENT_BYTES (1ULL << 32)
/* Shared memory of a block stays below this, so that the bits above can name a block of the cluster. */
#define SIM_SHARED_LIMIT_SHIFT 24

#define SIM_MAX_PEERS 16

/* A live allocation or a registered host range. */
struct sim_range {
	uint64_t start, end;
	uint64_t to_host; /* address + to_host = where its bytes are */
	bool is_host;
	bool is_heap; /* from malloc() on the device */
};

struct sim_memory {
	uint64_t window;       /* start of the reserved addresses */
	uint64_t window_bytes; /* of all segments together */
	uint64_t shared_base, local_base, param_base;
	uint64_t device_base, device_bytes;
	uint8_t *backing; /* the bytes of device_base.. */

	pthread_mutex_t lock;     /* ranges, n_ranges, used_bytes, peers; a leaf: nothing else is taken under it */
	struct sim_range *ranges; /* sorted by start */
	size_t n_ranges, capacity;
	uint64_t used_bytes, heap_used_bytes;
	struct sim_memory *peers[SIM_MAX_PEERS]; /* whose ranges this device's kernels reach as well */
	uint32_t n_peers;
	/* Raised (release) after every change of the ranges; a cached range is valid while the count a reader took
	 * (acquire) before its lookup still stands. */
	_Atomic uint64_t generation;
};

/* Ranges found lately by one thread, so that an access costs a comparison. */
#define SIM_RANGE_CACHE 4
struct sim_range_cache {
	uint64_t generation;
	struct sim_range ranges[SIM_RANGE_CACHE];
	unsigned int next;
};

enum sim_status sim_memory_init(struct sim_memory *memory, uint64_t bytes);
void sim_memory_finish(struct sim_memory *memory);
/* malloc() and free() on the device: 0 when the heap is used up; false when `address` is not from there. */
uint64_t sim_heap_alloc(struct sim_device *device, uint64_t bytes);
bool sim_heap_free(struct sim_device *device, uint64_t address);
/* The range that holds `address`. */
bool sim_memory_find(struct sim_memory *memory, uint64_t address, struct sim_range *ret_range);
/* Host pointer to [address, address + bytes) when it lies in one range, else NULL. Out of line: the cache missed. */
void *sim_memory_lookup(struct sim_memory *memory, struct sim_range_cache *cache, uint64_t address, uint64_t bytes);

/* The range that holds `address`, when it was found lately; else NULL, which says nothing. */
static inline const struct sim_range *sim_memory_recent(struct sim_memory *memory, const struct sim_range_cache *cache,
							uint64_t address)
{
	if (cache->generation != atomic_load_explicit(&memory->generation, memory_order_acquire))
		return NULL;
	for (unsigned int i = 0; i < SIM_RANGE_CACHE; i++)
		if (address - cache->ranges[i].start < cache->ranges[i].end - cache->ranges[i].start)
			return &cache->ranges[i];
	return NULL;
}

static inline void *sim_memory_resolve(struct sim_memory *memory, struct sim_range_cache *cache, uint64_t address,
				       uint64_t bytes)
{
	if (cache->generation == atomic_load_explicit(&memory->generation, memory_order_acquire)) {
		for (unsigned int i = 0; i < SIM_RANGE_CACHE; i++) {
			const struct sim_range *range = &cache->ranges[i];

			if (address >= range->start && address < range->end && bytes <= range->end - address)
				return (void *)(uintptr_t)(address + range->to_host);
		}
	}
	return sim_memory_lookup(memory, cache, address, bytes);
}

#endif

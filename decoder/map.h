/* SPDX-License-Identifier: Apache-2.0
 *
 * map.h - from a key of two 64-bit numbers to an index: the one hash table of the decoder.
 *
 * Open addressing, at most two thirds full; zero-initialised when empty. Nothing is ever removed.
 */
#ifndef WARPSPAN_MAP_H
#define WARPSPAN_MAP_H

#include <stddef.h>
#include <stdint.h>

#define MAP_NONE UINT32_MAX

struct map_slot {
	uint64_t a, b;
	uint32_t value; /* MAP_NONE: free */
};

struct map {
	struct map_slot *slots;
	size_t n, n_slots; /* n_slots: 0 or a power of two */
};

/* The value, or MAP_NONE. */
uint32_t map_find(const struct map *map, uint64_t a, uint64_t b);
/* Sets the value (not MAP_NONE) of a key, new or not. 0, or -1 when memory is out. */
int map_set(struct map *map, uint64_t a, uint64_t b, uint32_t value);
void map_finish(struct map *map);

/* A hash of bytes that spreads well; not for adversaries. */
uint64_t hash_bytes(const void *bytes, size_t n);

#endif

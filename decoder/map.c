/* SPDX-License-Identifier: Apache-2.0
 *
 * map.c - a hash table with keys of 128 bits.
 */
#include "map.h"

#include <stdlib.h>
#include <string.h>

static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t hash_bytes(const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t hash = mix(n + 0x9e3779b97f4a7c15ull);
	for (; n >= 8; n -= 8, at += 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = mix(hash ^ word);
	}
	uint64_t tail = 0;
	memcpy(&tail, at, n);
	return mix(hash ^ tail);
}

/* The slot of the key, or the free one where it belongs. */
static struct map_slot *slot_of(const struct map *map, uint64_t a, uint64_t b)
{
	size_t at = mix(a ^ mix(b)) & (map->n_slots - 1);
	for (;; at = (at + 1) & (map->n_slots - 1)) {
		struct map_slot *slot = &map->slots[at];
		if (slot->value == MAP_NONE || (slot->a == a && slot->b == b))
			return slot;
	}
}

static int grow(struct map *map)
{
	struct map bigger = { .n = map->n, .n_slots = map->n_slots == 0 ? 64 : map->n_slots * 2 };
	if (bigger.n_slots > SIZE_MAX / sizeof(struct map_slot))
		return -1;
	bigger.slots = malloc(bigger.n_slots * sizeof(struct map_slot));
	if (bigger.slots == NULL)
		return -1;
	for (size_t i = 0; i < bigger.n_slots; i++)
		bigger.slots[i].value = MAP_NONE;
	for (size_t i = 0; i < map->n_slots; i++)
		if (map->slots[i].value != MAP_NONE)
			*slot_of(&bigger, map->slots[i].a, map->slots[i].b) = map->slots[i];
	free(map->slots);
	*map = bigger;
	return 0;
}

uint32_t map_find(const struct map *map, uint64_t a, uint64_t b)
{
	return map->n == 0 ? MAP_NONE : slot_of(map, a, b)->value;
}

int map_set(struct map *map, uint64_t a, uint64_t b, uint32_t value)
{
	if ((map->n + 1) * 3 > map->n_slots * 2 && grow(map) < 0)
		return -1;
	struct map_slot *slot = slot_of(map, a, b);
	if (slot->value == MAP_NONE)
		map->n++;
	*slot = (struct map_slot){ .a = a, .b = b, .value = value };
	return 0;
}

void map_finish(struct map *map)
{
	free(map->slots);
	memset(map, 0, sizeof(*map));
}

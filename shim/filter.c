/* SPDX-License-Identifier: Apache-2.0
 *
 * filter.c - the dimensions that logged launches had. See filter.h.
 */
#include "filter.h"

#include "counters.h"

#include <stdlib.h>

/* What a launch and its segments agree in. */
struct shape {
	uint32_t module; /* 0: a free slot */
	uint32_t grid_x;
	uint16_t grid_y, grid_z;
	uint16_t threads_x, threads_y, threads_z;
};

/* Open addressing; n_slots is a power of two. */
static struct {
	struct shape *slots;
	size_t n_slots, n_used;
	bool incomplete; /* a shape found no memory: nothing can be told apart any more */
} shapes;

void warpspan_filter_begin(void)
{
	free(shapes.slots);
	shapes.slots = NULL;
	shapes.n_slots = shapes.n_used = 0;
	shapes.incomplete = false;
}

bool warpspan_filter_active(void)
{
	return warpspan_counted(WARPSPAN_COUNTER_filtered) != 0;
}

static bool same(const struct shape *a, const struct shape *b)
{
	return a->module == b->module && a->grid_x == b->grid_x && a->grid_y == b->grid_y && a->grid_z == b->grid_z &&
	       a->threads_x == b->threads_x && a->threads_y == b->threads_y && a->threads_z == b->threads_z;
}

/* The slot of the shape, or the free one where it would be. */
static struct shape *slot_of(struct shape *slots, size_t n_slots, const struct shape *shape)
{
	uint64_t hash = ((uint64_t)shape->module << 32 | shape->grid_x) * 0x9e3779b97f4a7c15ull;

	hash ^= ((uint64_t)shape->grid_y << 48 | (uint64_t)shape->grid_z << 32 | (uint64_t)shape->threads_x << 16 |
		 ((uint64_t)shape->threads_y << 8 ^ shape->threads_z)) *
		0xc2b2ae3d27d4eb4full;
	for (size_t i = (size_t)(hash ^ hash >> 31);; i++) {
		struct shape *slot = &slots[i & (n_slots - 1)];

		if (slot->module == 0 || same(slot, shape))
			return slot;
	}
}

static bool grow(void)
{
	const size_t n_slots = shapes.n_slots != 0 ? shapes.n_slots * 2 : 64;
	struct shape *slots;

	if (shapes.n_used * 2 < shapes.n_slots)
		return true;
	slots = calloc(n_slots, sizeof(*slots));
	if (slots == NULL)
		return false;
	for (size_t i = 0; i < shapes.n_slots; i++)
		if (shapes.slots[i].module != 0)
			*slot_of(slots, n_slots, &shapes.slots[i]) = shapes.slots[i];
	free(shapes.slots);
	shapes.slots = slots;
	shapes.n_slots = n_slots;
	return true;
}

void warpspan_filter_note(const struct warpspan_launch *launches, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct warpspan_launch *launch = &launches[i];
		const struct shape shape = {
			.module = launch->module,
			.grid_x = launch->grid[0],
			.grid_y = (uint16_t)launch->grid[1],
			.grid_z = (uint16_t)launch->grid[2],
			.threads_x = (uint16_t)launch->threads[0],
			.threads_y = (uint16_t)launch->threads[1],
			.threads_z = (uint16_t)launch->threads[2],
		};
		struct shape *slot;

		shapes.incomplete = shapes.incomplete || !grow();
		if (shapes.incomplete)
			return;
		slot = slot_of(shapes.slots, shapes.n_slots, &shape);
		shapes.n_used += slot->module == 0;
		*slot = shape;
	}
}

bool warpspan_filter_keeps(const struct warpspan_segment *segment)
{
	const struct shape shape = {
		.module = segment->module,
		.grid_x = segment->grid_x,
		.grid_y = segment->grid_y,
		.grid_z = segment->grid_z,
		.threads_x = segment->threads_x,
		.threads_y = segment->threads_y,
		.threads_z = segment->threads_z,
	};

	/* Launches that are not in the log though their kernels are named: their dimensions are not known. */
	if (shapes.incomplete || warpspan_counted(WARPSPAN_COUNTER_log_full) != 0 ||
	    warpspan_counted(WARPSPAN_COUNTER_capturing) != 0)
		return true;
	return shapes.n_slots != 0 && slot_of(shapes.slots, shapes.n_slots, &shape)->module != 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * shape.h - the shape of a launch: module and dimensions, which a grid and its launch have in common.
 */
#ifndef WARPSPAN_SHAPE_H
#define WARPSPAN_SHAPE_H

#include "warpspan_format.h"

#include <stdbool.h>

/* What must agree between a grid and its launch: packed so that it is compared and hashed as two numbers. */
struct shape {
	uint64_t a, b;
};

static inline struct shape shape_of_segment(const struct warpspan_segment *head)
{
	return (struct shape){
		.a = (uint64_t)head->module << 32 | head->grid_x,
		.b = (uint64_t)head->grid_y << 48 | (uint64_t)head->grid_z << 32 | (uint64_t)head->threads_x << 21 |
		     (uint64_t)head->threads_y << 10 | (head->threads_z & 0x3ff),
	};
}

/* False: dimensions no segment can have. */
static inline bool shape_of(uint32_t module, const uint32_t grid[3], const uint32_t threads[3], struct shape *ret_shape)
{
	if (grid[1] > UINT16_MAX || grid[2] > UINT16_MAX || threads[0] > 1024 || threads[1] > 1024 || threads[2] > 1023)
		return false;
	*ret_shape = (struct shape){
		.a = (uint64_t)module << 32 | grid[0],
		.b = (uint64_t)grid[1] << 48 | (uint64_t)grid[2] << 32 | (uint64_t)threads[0] << 21 |
		     (uint64_t)threads[1] << 10 | threads[2],
	};
	return true;
}

static inline bool shape_of_launch(const struct warpspan_launch *launch, struct shape *ret_shape)
{
	return shape_of(launch->module, launch->grid, launch->threads, ret_shape);
}

static inline int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static inline int compare_shapes(struct shape a, struct shape b)
{
	return a.a != b.a ? compare_u64(a.a, b.a) : compare_u64(a.b, b.b);
}

/* The same shape in another context is another one. */
static inline void shape_key(struct shape shape, uint32_t context, uint64_t *ret_a, uint64_t *ret_b)
{
	*ret_a = shape.a ^ (uint64_t)context * 0x9e3779b97f4a7c15ull;
	*ret_b = shape.b;
}

#endif

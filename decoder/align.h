/* SPDX-License-Identifier: Apache-2.0
 *
 * align.h - lays one ordered sequence into another and tells which places are certain. Part of join.c's work.
 */
#ifndef WARPSPAN_ALIGN_H
#define WARPSPAN_ALIGN_H

#include "shape.h"

#include <stddef.h>

#define ALIGN_NONE SIZE_MAX

/* A launch that left a grid. */
struct align_grid {
	struct shape shape;
	uint64_t id; /* ascending */
	size_t host; /* where it is known to be already; ALIGN_NONE: not known */
};

/* Places n grids among m launches (their shapes in order), each at a launch of its shape, in order, and no more
 * launches on from the one before than ids: every launch takes one, those nobody logged as well. ret_host[i] is the
 * launch of grid i where all ways to do so agree, else ALIGN_NONE. 0; 1: there is no way, or it would take too long to
 * know; -1: memory is out. */
int align_grids(const struct align_grid *grids, size_t n, const struct shape *hosts, size_t m, size_t *ret_host);

#endif

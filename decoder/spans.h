/* SPDX-License-Identifier: Apache-2.0
 *
 * spans.h - from the records of each warp to its slices and marks.
 */
#ifndef WARPSPAN_SPANS_H
#define WARPSPAN_SPANS_H

#include "model.h"
#include "segments.h"
#include "sites.h"

/* Regions nest at most this deep (warpspan_slice.depth is 16 bits); records beyond count as bad. */
#define SPANS_DEPTH_MAX UINT16_MAX

struct spans {
	struct segments *segments; /* with times and grids */
	struct sites *sites;
	struct warpspan_grid *grids; /* with kernels; their tracks are set here */
	uint32_t n_grids;
	const uint64_t *base_ns; /* per device: of its clock */

	ARRAY(struct warpspan_track) tracks;
	ARRAY(struct warpspan_region) regions;
	ARRAY(struct warpspan_slice) slices;
	ARRAY(struct warpspan_mark) marks;
	ARRAY(struct warpspan_unpaired) unpaired;

	/* while building */
	struct map regions_by_site;  /* kernel, site index -> region */
	struct map regions_by_place; /* hash of kernel, name, file, line -> region */
	struct map unpaired_by_key;  /* cause, region -> index */
	uint32_t *n_open_pairs;      /* per pair number: begins on the stack */
	size_t n_pairs_room;
	ARRAY(struct open_slice) stack;
};

/* A begin that waits for its end. */
struct open_slice {
	uint32_t pair, region;
	uint64_t slice; /* index; TOO_DEEP: it has none */
};

int spans_build(struct spans *spans);
void spans_finish(struct spans *spans);

/* Device time of a cycle count of the segment, ns. */
uint64_t segment_time_ns(const struct segment *segment, uint64_t base_ns, uint64_t clock);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * launches.h - which segments belong to one launch, and which launch of the host's log that is.
 */
#ifndef WARPSPAN_LAUNCHES_H
#define WARPSPAN_LAUNCHES_H

#include "meta.h"
#include "segments.h"
#include "sites.h"

/* What launches_group() and launches_join() work on and fill. */
struct launches {
	struct segments *segments; /* with their times */
	struct sites *sites;
	struct meta *meta;                 /* kernels: those no log names are added */
	const struct warpspan_launch *log; /* by number */
	uint32_t n_log;
	const struct warpspan_host_call *calls; /* by number */
	uint32_t n_calls;
	bool complete;   /* the writer closed the capture: nothing was still to come */
	bool lost_warps; /* some warps found no segment: whole launches may be missing */
	ARRAY(struct warpspan_grid) grids;
	struct map successes;         /* context -> launches of it in the log that succeeded */
	struct map graph_launches;    /* context -> launches of graphs that succeeded */
	struct map logged_shapes;     /* context and shape -> the same */
	struct map kernels_by_number; /* number -> index */
	struct map kernels_by_site;   /* module, WS_OPEN site -> index; SITE_OF_SEVERAL: not one kernel's own */
};

#define SITE_OF_SEVERAL (UINT32_MAX - 1)

/* Makes the grids, sorted by start, and sets every segment's. */
int launches_group(struct launches *launches);
/* Finds each grid's launch in the log, where one certainly is, and its kernel. */
int launches_join(struct launches *launches);
/* Does the call wait for all grids of its context? */
bool launches_waits_for_context(const struct launches *launches, const struct warpspan_host_call *call);
/* Index of the kernel that the WS_OPEN site belongs to; of one that cannot be named, "kernel at FILE:LINE". */
int launches_kernel_of_site(struct launches *launches, uint32_t module, uint32_t site, uint32_t *ret_kernel);
void launches_finish(struct launches *launches);

#endif

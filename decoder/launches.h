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
	bool log_whole;  /* every kernel that was launched while its module was attached is in the log */
	bool lost_warps; /* some warps found no segment: whole launches may be missing */
	bool quiet;      /* everything launched before the stop has ended, and no warp was lost */
	ARRAY(struct warpspan_grid) grids;
	struct map successes;         /* context -> launches of it in the log that succeeded */
	struct map graph_launches;    /* context -> launches of graphs that succeeded */
	struct map logged_shapes;     /* context and shape -> the same */
	struct map own_shapes;        /* and how many of them were made in the session; MAP_NONE: none */
	uint64_t n_search_steps;      /* by join.c */
	struct map kernels_by_number; /* number -> index */
	struct map kernels_by_module; /* module -> its only launched kernel; SITE_OF_SEVERAL: there are more */
	struct map kernels_by_name;   /* hash of the name -> index, once kernels_merge() is through */
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
/* The same for warps that found no segment, of which there is no grid: they are of the module's only kernel, too, where
 * the log knows of no other. After kernels_merge(). */
int launches_kernel_of_loss(struct launches *launches, uint32_t module, uint32_t site, uint32_t *ret_kernel);
void launches_finish(struct launches *launches);

#endif

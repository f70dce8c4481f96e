/* SPDX-License-Identifier: Apache-2.0
 *
 * stats.h - the numbers of a report, computed once for the table and for the JSON.
 *
 * Only slices with both ends recorded enter the statistics; the others are counted beside them (n_cut). Percentiles are
 * nearest-rank: the p-th is the smallest duration that at least p percent of the slices do not exceed. A region that
 * runs inside itself passes its time once: totals and shares are those of its outermost slices.
 */
#ifndef WARPSPAN_STATS_H
#define WARPSPAN_STATS_H

#include "model.h"

struct region_stats {
	uint32_t parent;   /* region it was first seen inside of; NONE: outermost */
	uint16_t level;    /* of the tree those parents make */
	uint64_t count;    /* slices with both ends recorded */
	uint64_t n_cut;    /* slices without */
	uint64_t n_nested; /* of `count`: inside another slice of the same region (recursion); not in total_ns */
	uint64_t n_warps;
	uint64_t total_ns, min_ns, max_ns, p50_ns, p99_ns;
	double mean_ns; /* of all `count` slices */
	double share;   /* total_ns of the time of all warps of its kernel */
	/* marks and values */
	uint64_t n_marks;
	uint64_t n_mark_warps;
	uint32_t mark_kind;                      /* enum warpspan_record_kind of the first */
	uint64_t n_nan;                          /* of n_marks: values that are no number; not in the next three */
	double value_min, value_max, value_mean; /* 0 where no value is a number */
};

struct kernel_stats {
	uint64_t n_launches; /* grids seen */
	uint64_t n_early;    /* of launches made before the session */
	uint64_t n_warps, n_open, n_records, n_lost;
	uint32_t n_sms; /* told apart by device and number */
	uint32_t first_grid;
	bool shapes_differ; /* grid or block dimensions are not the same in every launch */
	uint64_t launch_total_ns, launch_min_ns, launch_max_ns;
	uint64_t warp_ns; /* sum over its warps, from open to close */
	uint32_t n_host_unknown, n_unsure, n_repeat;
	uint32_t n_ambiguous; /* whose launch is one of several */
	uint64_t
		n_unseen; /* launches in the host's log, beyond those seen on the device; 0 where that is not certain */
	uint32_t first_row, n_rows;   /* in `rows`: regions with slices, parents first, then by total time */
	uint32_t first_mark, n_marks; /* in `mark_rows`: regions with marks or values, in source order */
};

struct warpspan_stats {
	struct region_stats *regions; /* as in the model */
	struct kernel_stats *kernels; /* as in the model */
	uint32_t *kernel_order;       /* kernels with launches, the most warp time first */
	uint32_t n_kernels;
	uint64_t n_unseen;          /* over all kernels */
	uint32_t *rows, *mark_rows; /* region indices, see kernel_stats */
};

/* The number a mark carries; 0 for plain marks. */
double warpspan_mark_value(const struct warpspan_mark *mark);

/* WARPSPAN_OK or WARPSPAN_NO_MEMORY. The caller owns *ret_stats, which does not refer to the model. */
int warpspan_stats_compute(const struct warpspan_model *model, struct warpspan_stats **ret_stats);
/* Returns NULL; NULL is fine. */
struct warpspan_stats *warpspan_stats_destroy(struct warpspan_stats *stats);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * host_stats.h - what the host's calls cost, by kind and entry point: for the report and its JSON.
 */
#ifndef WARPSPAN_HOST_STATS_H
#define WARPSPAN_HOST_STATS_H

#include "model.h"

struct host_call_stats {
	const char *kind; /* "launch", "synchronize", ... */
	const char *api;  /* name of the entry point; belongs to the model; "" where it is not known */
	uint64_t count;   /* calls that returned */
	uint64_t n_open;  /* that had not returned */
	uint64_t n_failed;
	uint64_t total_ns, max_ns;
	uint64_t bytes; /* of copies */
};

struct host_stats {
	struct host_call_stats *rows; /* the most time first */
	uint32_t n_rows;
};

/* Launches are among the rows. WARPSPAN_OK or WARPSPAN_NO_MEMORY; the texts are the model's. host_stats_finish() in
 * every case. */
int host_stats_compute(struct host_stats *stats, const struct warpspan_model *model);
void host_stats_finish(struct host_stats *stats);

/* "synchronize"; never NULL */
const char *host_call_kind_text(uint32_t kind);
/* The entry point of a launch or a call, "" (the hook: NULL) where it is not known. By bisection: hooks are sorted. */
const char *host_launch_api(const struct warpspan_launch *launch);
const struct warpspan_hook *host_call_hook(const struct warpspan_model *model, const struct warpspan_host_call *call);
const char *host_call_api(const struct warpspan_model *model, const struct warpspan_host_call *call);

#endif

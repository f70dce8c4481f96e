/* SPDX-License-Identifier: Apache-2.0
 *
 * session.h - leaves out of a capture what is not its session's.
 */
#ifndef WARPSPAN_SESSION_H
#define WARPSPAN_SESSION_H

#include "host.h"
#include "launches.h"

/* What was left out. */
struct session_rest {
	uint64_t n_launches, n_warps; /* made after the stop */
};

/* After the join, before slices are made: removes launches and calls made after the stop, with their grids, and
 * launches made before the session that left no grid. `log` has launches->n_log elements, which becomes fewer, and so
 * do the calls of `host`; the grids that stay refer to those that stay. WARPSPAN_OK or WARPSPAN_NO_MEMORY. */
int session_keep_own(struct launches *launches, struct warpspan_launch *log, struct host *host,
		     struct session_rest *ret_rest);

#endif

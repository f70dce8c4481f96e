/* SPDX-License-Identifier: Apache-2.0
 *
 * contents.h - which instrumented kernels an executable graph launches, and since when: a grid that a graph launched
 * can only be told from one that another launch of it made, before it was changed, by what the graph held then.
 */
#ifndef WARPSPAN_CONTENTS_H
#define WARPSPAN_CONTENTS_H

#include "cuda_names.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct warpspan_kernel;

struct warpspan_content {
	CUgraphNode node; /* as the program names it; not written */
	uint32_t module, kernel;
	uint32_t grid[3], threads[3];
	bool off; /* a node that does not run */
};

/* Being made by one thread. Zero-initialised: empty and certain. */
struct warpspan_contents {
	struct warpspan_content *items;
	size_t n, room;
	bool uncertain; /* there may be kernels that are not listed */
};

/* `kernel` NULL: nothing is known of it. Without memory the contents are uncertain. */
void warpspan_contents_add(struct warpspan_contents *contents, const struct warpspan_content *content,
			   const struct warpspan_kernel *kernel);

/* --- any thread; a short lock ----------------------------------------------------------------- */

/* The executable holds these from now on. Takes the items. */
void warpspan_contents_replace(CUgraphExec exec, struct warpspan_contents *contents, bool is_update);
/* One of its nodes launches another kernel, or with other dimensions; `content->node` says which. */
void warpspan_contents_change(CUgraphExec exec, const struct warpspan_content *content,
			      const struct warpspan_kernel *kernel);
void warpspan_contents_enable(CUgraphExec exec, CUgraphNode node, bool enabled);
/* It was changed in a way that is not followed. */
void warpspan_contents_doubt(CUgraphExec exec);
void warpspan_contents_drop(CUgraphExec exec);

/* --- what goes into the capture --------------------------------------------------------------- */

struct warpspan_snapshot {
	struct warpspan_snapshot *next;
	uint64_t exec; /* 0: holds for all */
	uint64_t since_ns;
	bool uncertain;
	size_t n;
	struct warpspan_content items[]; /* those that run */
};

/* A capture begins: it needs all there is. Called by the thread that begins the session. */
void warpspan_contents_begin(void);
/* It ends: later changes are not for it. */
void warpspan_contents_end(void);
/* What has changed since the last call, in order; the caller frees each. Collector only. */
struct warpspan_snapshot *warpspan_contents_take(void);

#endif

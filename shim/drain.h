/* SPDX-License-Identifier: Apache-2.0
 *
 * drain.h - moves what warps have recorded from a context's arenas into the capture. Collector only.
 */
#ifndef WARPSPAN_DRAIN_H
#define WARPSPAN_DRAIN_H

#include "registry.h"

#include <stdbool.h>

/* A session begins: its totals are 0. */
void warpspan_drain_begin(void);

enum warpspan_drain_mode {
	WARPSPAN_DRAIN_CLOSED, /* segments that are closed */
	WARPSPAN_DRAIN_ALL,    /* those still open as well, as they are: nothing comes after this */
};

/* What a drain found, for the pace of the next ones. */
struct warpspan_drain_result {
	bool moved;      /* something was written, or the counters moved */
	bool unfinished; /* segments are open */
	bool pressed;    /* an arena fills so fast that the next drain should come soon */
	CUresult error;  /* of the driver; the context may be lost */
};

/* Moves what its arenas hold into the capture, with what the host did until then, and lets the arenas take turns. The
 * context is current and nobody destroys it meanwhile. Waits for the collector's stream, never for the program's. After
 * an error of the driver the context must not be drained again; what was read before is in the capture. Without memory
 * of our own a segment is left out and counted. What cannot be written is output.h's to say. */
struct warpspan_drain_result warpspan_drain_context(struct warpspan_context *context, enum warpspan_drain_mode mode);

/* Writes segments that are still open, as they are, to a capture beside the session's own; they are still to be written
 * to that one. Follows a drain at once. The context is current. */
CUresult warpspan_drain_peek(struct warpspan_context *context);

/* Writes the launches begun so far, the other calls that have ended, and what describes them. `all`: also calls that
 * have not ended; nothing comes after this. */
void warpspan_drain_host(bool all);

/* Totals over all contexts, for the closing line. */
struct warpspan_drain_totals {
	uint64_t launches;     /* written, less those the driver refused */
	uint64_t segments;     /* written */
	uint64_t records;      /* in them */
	uint64_t lost_records; /* made, but no room was left */
	uint64_t lost_warps;   /* that lost some, or all */
	uint64_t warps;        /* that recorded, or would have */
	uint32_t most_words;   /* the most one warp made, whether it lost some or not */
};
struct warpspan_drain_totals warpspan_drain_totals(void);

#endif

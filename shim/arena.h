/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.h - the device memory of one context: control block and two arenas, and how they take turns.
 *
 *   ACTIVE   warps open their segments here
 *   RETIRED  another is active; drained until it is quiet
 *   EMPTY    zeroed: can become active
 *
 * Made by a launching thread; from then on the collector's alone, with the context current.
 */
#ifndef WARPSPAN_ARENA_H
#define WARPSPAN_ARENA_H

#include "cuda_names.h"
#include "settings.h"
#include "warpspan_format.h"

#include <stdbool.h>

#define WARPSPAN_N_ARENAS 2u

/* Bounds of a derived segment, in words: enough for one region; so much that a grid may fill a whole arena for it;
 * and no more than a warp fills between two drains at a sane rate. */
#define WARPSPAN_WORDS_LEAST  16u
#define WARPSPAN_WORDS_ENOUGH 64u
#define WARPSPAN_WORDS_MOST   1024u
/* Memory for both arenas is halved down to this before giving up. */
#define WARPSPAN_LEAST_BUFFER (64u << 10)
/* What one copy from the device brings. Two copies pass over a busy arena, so it also bounds their distance. */
#define WARPSPAN_STAGING_BYTES (4u << 20)

enum warpspan_arena_state {
	WARPSPAN_ARENA_EMPTY,
	WARPSPAN_ARENA_ACTIVE,
	WARPSPAN_ARENA_RETIRED,
};

/* A segment that was open when last looked at. */
struct warpspan_pending {
	uint64_t offset; /* from the arena's first segment, bytes */
	uint32_t bytes;
	bool closed; /* seen closed in the copy before this one */
};

struct warpspan_arena_side {
	CUdeviceptr address;
	enum warpspan_arena_state state;
	uint64_t walked_bytes;            /* segments before this offset are written or pending */
	uint64_t opened, closed;          /* as last read */
	bool quiet;                       /* as last read: every segment that was opened is closed */
	struct warpspan_pending *pending; /* by offset */
	size_t n_pending, pending_capacity;
	bool stuck;       /* the last walk ended for want of memory of ours: it is not done */
	bool in_hole;     /* walking looks for the next header behind one that was overwritten */
	bool full;        /* as last read: more was asked for than there is */
	bool implausible; /* the counters are not what warps make of them: a kernel of the program overwrote them */
};

struct warpspan_arenas {
	CUstream stream;        /* the collector's */
	CUstream attach_stream; /* of threads that attach modules */
	CUdeviceptr memory;     /* control block, then the arenas */
	CUdeviceptr control;
	uint64_t arena_bytes; /* of each */
	uint32_t words_asked;
	struct warpspan_arena_side side[WARPSPAN_N_ARENAS];
	unsigned active;
	unsigned char *staging;
	size_t staging_bytes;
	bool staging_pinned;
	struct warpspan_loss losses[WARPSPAN_N_LOSSES]; /* as last written to the capture */
	bool losses_overwritten;                        /* the device's table is no longer believed */
};

/* Takes the memory in the current context, zeroes it and fills in the control block. Thread: the one that launches; it
 * waits for its own stream only. The caller owns the result, and hands it to the collector with the context's state.
 * NULL: *ret_error says why (out of memory, as a rule); nothing is left behind. Warns when it is less than asked for.
 */
struct warpspan_arenas *warpspan_arenas_create(uint64_t buffer_bytes, uint32_t events_per_warp, CUresult *ret_error);
/* Frees the host side only: the device side went with the context, or is left to it. Returns NULL; NULL is fine.
 * Thread: whoever ended the context, the collector being out of it. */
struct warpspan_arenas *warpspan_arenas_forget(struct warpspan_arenas *arenas);

/* Bytes of segments an arena has room for. Constant; any thread. */
uint64_t warpspan_arenas_room(const struct warpspan_arenas *arenas);
/* Bytes of the largest segment a warp may take. Constant; any thread. */
uint64_t warpspan_arenas_most_bytes(const struct warpspan_arenas *arenas);

/* The rest: collector only, the context current. What returns a CUresult waits for the collector's stream; any error
 * is the driver's and means that the context is lost, or its memory gone. */

/* Reads the arena's counters: *ret_used_bytes of it were handed out, at most its room. Updates opened, closed, quiet,
 * full and implausible of the side; on an error nothing. */
CUresult warpspan_arena_look(struct warpspan_arenas *arenas, struct warpspan_arena_side *side,
			     uint64_t *ret_used_bytes);

/* Makes sure the staging buffer holds `bytes`, pinned if it can be; its contents are lost when it grows. It stays the
 * arenas'. False: no memory; the old one is still there. */
bool warpspan_arenas_stage(struct warpspan_arenas *arenas, size_t bytes);

/* Between sessions: from here on no warp opens a segment. On an error nothing has changed. */
CUresult warpspan_arenas_suspend(struct warpspan_arenas *arenas);
/* And again they do. Warps that opened theirs before may still be in it: it stays theirs, is not the new session's, and
 * the arena it lies in is not used until they have left; where they hold all arenas, another is taken in its stead. */
CUresult warpspan_arenas_resume(struct warpspan_arenas *arenas, uint32_t events_per_warp);

/* The other arena becomes the active one. It must be EMPTY. On an error nothing has changed. */
CUresult warpspan_arenas_swap(struct warpspan_arenas *arenas);
/* A RETIRED arena, quiet and drained, becomes EMPTY. On an error it stays RETIRED. */
CUresult warpspan_arena_clear(struct warpspan_arenas *arenas, struct warpspan_arena_side *side);

#endif

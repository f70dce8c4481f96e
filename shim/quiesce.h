/* SPDX-License-Identifier: Apache-2.0
 *
 * quiesce.h - waiting for the program's kernels without being held up by one that never ends.
 *
 * The driver's wait has no time limit, so a thread of ours makes it and is left to itself when the time is over.
 */
#ifndef WARPSPAN_QUIESCE_H
#define WARPSPAN_QUIESCE_H

#include "cuda_names.h"

#include <stdbool.h>
#include <stdint.h>

struct warpspan_quiesce;

/* Begins to wait for what was launched so far in `n` contexts (the first 64; the handles are copied), with every
 * signal blocked and without touching the caller's current context. `done` (may be NULL) is called by the waiting
 * thread at the end. Any thread that holds no lock of ours. The caller owns the result and gives it to
 * warpspan_quiesce_end(). NULL: no memory, or no thread. */
struct warpspan_quiesce *warpspan_quiesce_begin(const CUcontext *contexts, unsigned n, void (*done)(void));
/* Whether it is over. */
bool warpspan_quiesce_done(struct warpspan_quiesce *quiesce);
/* Waits for it, at most `patience_ns`; false: some still runs. */
bool warpspan_quiesce_wait(struct warpspan_quiesce *quiesce, uint64_t patience_ns);
/* Forgets it, over or not. NULL is fine. Returns NULL. */
struct warpspan_quiesce *warpspan_quiesce_end(struct warpspan_quiesce *quiesce);

#define WARPSPAN_QUIESCE_MOST 64u

#endif

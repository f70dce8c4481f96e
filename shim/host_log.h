/* SPDX-License-Identifier: Apache-2.0
 *
 * host_log.h - the host's log of launches and other calls: many threads append, the collector takes.
 *
 *        taken (collector)            next (threads of this lane)
 *          v                            v
 *   | free | done | begun | done | done | free |      one of N_LANES; position p lives in slot p % N_SLOTS
 *
 * Each thread has a lane (guard.h), so that threads that launch at the same time do not write the same cache lines; a
 * lane may have several threads. The collector merges the lanes by the time at which the calls began, and numbers the
 * entries in that order: launches and other calls share the numbers.
 *
 * An entry is appended before the real call and completed after it, so a launch is in the log before its kernel can
 * have written anything. One whose turn comes while it is still in its call is not waited for long. A launch is then
 * taken as it is: its kernel may be running already, and its records must not precede it in the file. Any other call
 * gets its number, and is handed out once it has ended.
 */
#ifndef WARPSPAN_HOST_LOG_H
#define WARPSPAN_HOST_LOG_H

#include "warpspan_format.h"

#include <stdbool.h>

/* Of one lane: launches between two drains, 10 ms apart, at the rate of one per microsecond; a power of two. */
#define WARPSPAN_HOST_LOG_SLOTS 8192u
/* What one take returns at most, of each kind. */
#define WARPSPAN_HOST_BATCH 1024u

/* Names an entry between its begin and its end; 0: none. */
typedef uint64_t warpspan_ticket;

struct warpspan_host_batch {
	unsigned n_launches, n_calls;
	struct warpspan_launch launches[WARPSPAN_HOST_BATCH]; /* by number */
	struct warpspan_host_call calls[WARPSPAN_HOST_BATCH];
};

/* Allocates the log unless it was; false: no memory. Any thread, before anything is appended. */
bool warpspan_host_log_init(void);

/* Whether it was. Any thread; a load. */
bool warpspan_host_log_ready(void);

/* Append a copy, whose begin_ns is now; its number is given later. 0: the lane is full. Do not block or allocate. */
warpspan_ticket warpspan_host_log_begin_launch(const struct warpspan_launch *launch);
warpspan_ticket warpspan_host_log_begin_call(const struct warpspan_host_call *call);
/* Complete an entry. Do not block or allocate. False: the end of the call found no room. */
void warpspan_host_log_end_launch(warpspan_ticket ticket, uint64_t end_ns, int32_t result);
bool warpspan_host_log_end_call(warpspan_ticket ticket, uint64_t end_ns, int32_t result);
/* Whether the lane has filled by a quarter with this entry: time to empty it. */
bool warpspan_host_log_presses(warpspan_ticket ticket);

/* How many entries were begun; what the caller of begin wrote before is seen with them. */
uint64_t warpspan_host_log_begun(void);

/* Collector only: moves entries that began up to `until_ns` to the batch, waiting at most `patience_ns` altogether for
 * launches still in their calls. Returns whether there may be more. */
bool warpspan_host_log_take(uint64_t until_ns, struct warpspan_host_batch *batch, uint64_t patience_ns);
/* Collector only, at the end: calls that have not ended, as if they ended now. As above. */
bool warpspan_host_log_take_unended(struct warpspan_host_batch *batch);

#endif

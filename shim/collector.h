/* SPDX-License-Identifier: Apache-2.0
 *
 * collector.h - the thread that drains the arenas and writes the captures.
 *
 * It runs from the first session, or the first launch that a later session may want to know of, to the end of the
 * program, with every signal blocked, in the relaxed capture mode. Between sessions it sleeps.
 */
#ifndef WARPSPAN_COLLECTOR_H
#define WARPSPAN_COLLECTOR_H

#include "output.h"
#include "registry.h"
#include "session.h"

#include <stdbool.h>
#include <stdint.h>

/* Starts the thread unless it runs. The host's log is there. False: it could not be started. Any thread. */
bool warpspan_collector_start(void);

/* Hands it the session whose capture was created: it arms the contexts there are, then records. `begin_ns`: launches
 * that began before are not the session's. */
void warpspan_collector_open(unsigned session, uint64_t begin_ns);
/* Ends the session: waits for kernels at most `patience_ns`, writes what is left, closes the capture and hands it on.
 * Does not wait for that. */
void warpspan_collector_close(const struct warpspan_origin *by, uint64_t patience_ns);

/* The program ends: a session that is being ended, or will be, waits for kernels at most so long from now on. */
void warpspan_collector_hurry(uint64_t patience_ns);

/* Wait until it has looked at every context for the session that is open; until it has done so for this one, which
 * is ready. False: it has not within `patience_ns`, or no session is open. */
bool warpspan_collector_wait_armed(uint64_t patience_ns);
bool warpspan_collector_wait_resumed(struct warpspan_context *context, uint64_t patience_ns);
/* The context records for the session that is open. */
void warpspan_collector_note_resumed(struct warpspan_context *context);

/* Work has finished: drain soon. Any thread; does not block. */
void warpspan_collector_hint(void);
/* A launch was made: resume the usual pace. Any thread; a load, unless the collector is fast asleep. */
void warpspan_collector_nudge(void);

/* Waits until everything that was closed when this was called is in the capture, at most `patience_ns`. */
bool warpspan_collector_flush(uint64_t patience_ns);

/* Writes all there is now, open segments as well, to a copy of the capture, whose path *ret_path receives; the session
 * goes on. 0 or a WARPSPAN_ERR_*, with *ret_reason. One at a time; any thread. */
int warpspan_collector_snapshot(uint64_t patience_ns, char (*ret_path)[WARPSPAN_TEXT_BYTES],
				char (*ret_reason)[WARPSPAN_REASON_BYTES]);

/* The collector leaves this context alone, until as many resumes. Returns when it is out of it. */
void warpspan_collector_suspend(struct warpspan_context *context);
void warpspan_collector_resume(struct warpspan_context *context);
/* Segments still open are written as they are, at the next drain; nothing is drained from it afterwards. */
void warpspan_collector_retire(struct warpspan_context *context);

/* Ends the thread. No session is open. */
void warpspan_collector_stop(void);

#endif

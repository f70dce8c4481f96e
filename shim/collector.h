/* SPDX-License-Identifier: Apache-2.0
 *
 * collector.h - the thread that drains the arenas and writes the capture.
 *
 * It runs from the first attach to the end of the session, with every signal blocked, in the relaxed capture mode.
 */
#ifndef WARPSPAN_COLLECTOR_H
#define WARPSPAN_COLLECTOR_H

#include "registry.h"

#include <stdbool.h>
#include <stdint.h>

/* False: the thread could not be started. */
bool warpspan_collector_start(void);

/* Work has finished: drain soon. Any thread; does not block. */
void warpspan_collector_hint(void);
/* A launch was made: resume the usual pace. Any thread; a load, unless the collector is fast asleep. */
void warpspan_collector_nudge(void);

/* Waits until everything that was closed when this was called is in the capture, at most `patience_ns`. */
bool warpspan_collector_flush(uint64_t patience_ns);

/* The collector leaves this context alone, until as many resumes. Returns when it is out of it. */
void warpspan_collector_suspend(struct warpspan_context *context);
void warpspan_collector_resume(struct warpspan_context *context);
/* Segments still open are written as they are, at the next drain; nothing is drained from it afterwards. */
void warpspan_collector_retire(struct warpspan_context *context);

/* Drains everything a last time and ends the thread. False: it did not end within `patience_ns` and keeps the
 * capture. */
bool warpspan_collector_stop(uint64_t patience_ns);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * launch_log.h - the host's log of launches: many threads append, the collector takes.
 *
 *        taken (collector)            next (launching threads)
 *          v                            v
 *   | free | done | begun | done | done | free |      n_slots, a power of two; number n lives in slot n % n_slots
 *
 * An entry is appended before the real call and completed after it, so an entry is in the log before its kernel can
 * have written anything. Entries are taken in order. One that is still in its call when its turn comes is waited for a
 * moment and then taken as it is: its kernel may be running already, and its records must not precede it in the file.
 */
#ifndef WARPSPAN_LAUNCH_LOG_H
#define WARPSPAN_LAUNCH_LOG_H

#include "warpspan_format.h"

#include <stdbool.h>

/* Launches between two drains, 10 ms apart, at the highest rate a host reaches (about one per microsecond). */
#define WARPSPAN_LAUNCH_LOG_SLOTS 16384u

/* Allocates the log; false: no memory. Once, before the first launch is recorded. */
bool warpspan_launch_log_init(void);

/* Appends a copy of `launch` and returns the number it gets; 0: the log is full. Does not block or allocate. */
uint64_t warpspan_launch_log_begin(const struct warpspan_launch *launch);
/* Completes launch `number`. Does not block or allocate. */
void warpspan_launch_log_end(uint64_t number, uint64_t end_ns, int32_t result);

/* The number of the last launch begun; 0: none. */
uint64_t warpspan_launch_log_last(void);

/* Collector only: moves up to `capacity` entries with numbers up to `last` to `launches`, in order, waiting at most
 * `patience_ns` altogether for those still in their calls. Returns how many. */
unsigned warpspan_launch_log_take(uint64_t last, struct warpspan_launch *launches, unsigned capacity,
				  uint64_t patience_ns);

#endif

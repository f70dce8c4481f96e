/* SPDX-License-Identifier: Apache-2.0
 *
 * ending.h - what comes after a session: its timelines, and the lines that say what it has and what it lacks.
 *
 * Made on a thread of its own, one session after the other, while the next session may already record. A failure costs
 * the timelines only.
 */
#ifndef WARPSPAN_ENDING_H
#define WARPSPAN_ENDING_H

#include "counters.h"
#include "drain.h"
#include "settings.h"

#include <stdbool.h>

struct warpspan_ending {
	struct warpspan_ending *next;
	unsigned number; /* of the session */
	struct warpspan_settings settings;
	struct warpspan_drain_totals totals;
	uint64_t counted[WARPSPAN_N_COUNTERS];
	char path[WARPSPAN_TEXT_BYTES]; /* of the capture */
	bool cut_short;                 /* it could not be written to the end */
};

/* Hands an ended session over; it is freed once done. By the collector, in order of number. */
void warpspan_ending_begin(struct warpspan_ending *ending);
/* There will be none for this session: no memory, which is said. */
void warpspan_ending_none(unsigned number);

/* Waits until everything of this session is written, at most `patience_ns` (UINT64_MAX: as long as it takes).
 * *ret_good: whether all went well. False: it is not written yet. Any thread of the program. */
bool warpspan_ending_wait(unsigned number, uint64_t patience_ns, bool *ret_good);

/* The path of its capture, if it is the latest that was written. Any thread. */
bool warpspan_ending_path(unsigned number, char (*ret_path)[WARPSPAN_TEXT_BYTES]);

/* What WARPSPAN_FORMAT asks for, as the decoder wants it. */
unsigned warpspan_ending_formats(const struct warpspan_settings *settings);

/* WARPSPAN_KERNEL names no kernel that was seen: says so. */
void warpspan_ending_say_unmatched(const struct warpspan_settings *settings);

#endif

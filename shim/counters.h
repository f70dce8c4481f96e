/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.h - the counters of counters.def. Any thread; relaxed: each is a sum, nothing is inferred from two.
 */
#ifndef WARPSPAN_COUNTERS_H
#define WARPSPAN_COUNTERS_H

#include "guard.h"

#include <stdatomic.h>
#include <stdint.h>

enum warpspan_counter {
#define WARPSPAN_COUNTER(name, text) WARPSPAN_COUNTER_##name,
#include "counters.def"
	WARPSPAN_N_COUNTERS
};

/* One of each for every lane, so that counting threads do not get in each other's way. */
struct warpspan_counter_lane {
	_Atomic uint64_t counters[WARPSPAN_N_COUNTERS];
} __attribute__((aligned(64)));
extern struct warpspan_counter_lane warpspan_counter_lanes[WARPSPAN_N_LANES];

static inline void warpspan_count(enum warpspan_counter counter, uint64_t n)
{
	(void)atomic_fetch_add_explicit(&warpspan_counter_lanes[warpspan_lane()].counters[counter], n,
					memory_order_relaxed);
}

/* A session begins: every sum is 0 from here on. */
void warpspan_counters_rebase(void);
/* The sum of all threads'. */
uint64_t warpspan_counted(enum warpspan_counter counter);

/* Its name in the capture, and why a launch that it counts was not recorded ("" where that is not the point). */
const char *warpspan_counter_name(enum warpspan_counter counter);
const char *warpspan_counter_text(enum warpspan_counter counter);

#endif

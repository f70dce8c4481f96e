/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.h - the counters of counters.def. Any thread; relaxed: each is a sum, nothing is inferred from two.
 */
#ifndef WARPSPAN_COUNTERS_H
#define WARPSPAN_COUNTERS_H

#include <stdatomic.h>
#include <stdint.h>

enum warpspan_counter {
#define WARPSPAN_COUNTER(name, text) WARPSPAN_COUNTER_##name,
#include "counters.def"
	WARPSPAN_N_COUNTERS
};

extern _Atomic uint64_t warpspan_counters[WARPSPAN_N_COUNTERS];

static inline void warpspan_count(enum warpspan_counter counter, uint64_t n)
{
	(void)atomic_fetch_add_explicit(&warpspan_counters[counter], n, memory_order_relaxed);
}

static inline uint64_t warpspan_counted(enum warpspan_counter counter)
{
	return atomic_load_explicit(&warpspan_counters[counter], memory_order_relaxed);
}

/* Its name in the capture, and why a launch that it counts was not recorded ("" where that is not the point). */
const char *warpspan_counter_name(enum warpspan_counter counter);
const char *warpspan_counter_text(enum warpspan_counter counter);

#endif

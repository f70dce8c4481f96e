/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.c - the storage and the names of counters.def.
 */
#include "counters.h"

struct warpspan_counter_lane warpspan_counter_lanes[WARPSPAN_N_LANES];

/* What the sums were when the session began. Relaxed: whoever counts meanwhile counts for either. */
static _Atomic uint64_t bases[WARPSPAN_N_COUNTERS];

static uint64_t sum_of(enum warpspan_counter counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WARPSPAN_N_LANES; i++)
		sum += atomic_load_explicit(&warpspan_counter_lanes[i].counters[counter], memory_order_relaxed);
	return sum;
}

void warpspan_counters_rebase(void)
{
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++)
		atomic_store_explicit(&bases[i], sum_of((enum warpspan_counter)i), memory_order_relaxed);
}

uint64_t warpspan_counted(enum warpspan_counter counter)
{
	return sum_of(counter) - atomic_load_explicit(&bases[counter], memory_order_relaxed);
}

const char *warpspan_counter_name(enum warpspan_counter counter)
{
	static const char *const names[] = {
#define WARPSPAN_COUNTER(name, text) #name,
#include "counters.def"
	};

	return names[counter];
}

const char *warpspan_counter_text(enum warpspan_counter counter)
{
	static const char *const texts[] = {
#define WARPSPAN_COUNTER(name, text) text,
#include "counters.def"
	};

	return texts[counter];
}

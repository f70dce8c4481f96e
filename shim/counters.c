/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.c - the storage and the names of counters.def.
 */
#include "counters.h"

struct warpspan_counter_lane warpspan_counter_lanes[WARPSPAN_N_LANES];

uint64_t warpspan_counted(enum warpspan_counter counter)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < WARPSPAN_N_LANES; i++)
		sum += atomic_load_explicit(&warpspan_counter_lanes[i].counters[counter], memory_order_relaxed);
	return sum;
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

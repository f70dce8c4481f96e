/* SPDX-License-Identifier: Apache-2.0
 *
 * counters.c - the storage and the names of counters.def.
 */
#include "counters.h"

_Atomic uint64_t warpspan_counters[WARPSPAN_N_COUNTERS];

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

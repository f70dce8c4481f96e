/* SPDX-License-Identifier: Apache-2.0
 *
 * util.h - small things every file of the library uses.
 */
#ifndef WARPSPAN_UTIL_H
#define WARPSPAN_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define WARPSPAN_NS_PER_MS 1000000ull
#define WARPSPAN_NS_PER_S  1000000000ull

static inline uint64_t warpspan_clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * WARPSPAN_NS_PER_S + (uint64_t)now.tv_nsec;
}

static inline uint64_t warpspan_now_ns(void)
{
	return warpspan_clock_ns(CLOCK_MONOTONIC);
}

/* `ns` from now, for warpspan_wait(). Not by the clock on the wall: where that is set back, or a library in front of us
 * shows the program another, a wait would last for as long. */
static inline struct timespec warpspan_deadline(uint64_t ns)
{
	const uint64_t now_ns = warpspan_now_ns();
	const uint64_t at = ns < UINT64_MAX - now_ns ? now_ns + ns : UINT64_MAX;

	return (struct timespec){ .tv_sec = (time_t)(at / WARPSPAN_NS_PER_S),
				  .tv_nsec = (long)(at % WARPSPAN_NS_PER_S) };
}

#endif

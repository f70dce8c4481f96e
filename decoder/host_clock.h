/* SPDX-License-Identifier: Apache-2.0
 *
 * host_clock.h - one axis for host and devices: how CLOCK_MONOTONIC and the clock of each device lie to each other.
 */
#ifndef WARPSPAN_HOST_CLOCK_H
#define WARPSPAN_HOST_CLOCK_H

#include "array.h"
#include "model.h"

/* What host_clocks_fit() works on and fills. */
struct host_clocks {
	const struct warpspan_grid *grids; /* joined */
	uint32_t n_grids;
	const struct warpspan_launch *log; /* by number */
	uint32_t n_log;
	const struct warpspan_host_call *calls; /* by number */
	uint32_t n_calls;
	const struct warpspan_hook *hooks; /* by number */
	uint32_t n_hooks;
	const struct warpspan_clock_fit *fits; /* of the devices' own clocks */
	uint32_t n_fits;
	ARRAY(struct warpspan_host_clock) all;
	ARRAY(struct warpspan_clock_knot) knots;
};

/* WARPSPAN_OK or WARPSPAN_NO_MEMORY; host_clocks_finish() in every case. */
int host_clocks_fit(struct host_clocks *clocks);
void host_clocks_finish(struct host_clocks *clocks);

/* What a clock of the device showed at a moment of the host, and back. Both never run backwards; what does not fit 64
 * bits stops at their ends. */
uint64_t host_clock_to_device(const struct warpspan_clock_knot *knots, uint32_t n_knots, uint64_t host_ns);
uint64_t host_clock_to_host(const struct warpspan_clock_knot *knots, uint32_t n_knots, uint64_t device_ns);

/* The clock of a device; NULL: none of its launches is known. */
const struct warpspan_host_clock *host_clock_of(const struct warpspan_model *model, uint32_t device);

/* `a + b` and `a - b`, stopping at the ends of 64 bits. */
static inline uint64_t time_plus(uint64_t a, int64_t b)
{
	uint64_t sum;
	if (b >= 0)
		return __builtin_add_overflow(a, (uint64_t)b, &sum) ? UINT64_MAX : sum;
	return __builtin_sub_overflow(a, (uint64_t)0 - (uint64_t)b, &sum) ? 0 : sum;
}

static inline uint64_t time_less(uint64_t a, int64_t b)
{
	uint64_t rest;
	if (b >= 0)
		return __builtin_sub_overflow(a, (uint64_t)b, &rest) ? 0 : rest;
	return __builtin_add_overflow(a, (uint64_t)0 - (uint64_t)b, &rest) ? UINT64_MAX : rest;
}

#endif

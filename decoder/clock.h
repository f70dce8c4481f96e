/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - from an SM's cycle counter to nanoseconds of the device's %globaltimer, with a bound on the error.
 *
 * Each pair of readings {cycles c, timer t} of an SM says: at count c the time was in [t, t + tick). A line
 * time = offset + period * cycles that goes through all those intervals errs by less than a tick; many pairs leave
 * little room for it. See clock.c.
 */
#ifndef WARPSPAN_CLOCK_H
#define WARPSPAN_CLOCK_H

#include "array.h"
#include "model.h"

struct clock_pair {
	uint32_t sm;
	uint64_t cycles;
	uint64_t timer_ns;
};

/* A stretch of time in which one rate per SM explains all pairs. */
struct clock_epoch {
	uint64_t from_ns; /* up to the next epoch's */
	double low, high; /* periods all SMs agree on, ns per cycle; low > high: they do not */
	double period;    /* the common one */
	size_t n_pairs;
	bool fitted;   /* the pairs determine the rate; otherwise it was taken from elsewhere */
	bool one_rate; /* all SMs fit one rate */
	bool loose;    /* no line goes through all intervals, and the epoch cannot be cut further */
};

/* The line of one SM in one epoch. */
struct clock_line {
	uint32_t sm, epoch;
	uint64_t origin;  /* cycles */
	double at_origin; /* ns since the base */
	double period;    /* ns per cycle */
	double error_ns;  /* bound */
	uint32_t n_pairs;
};

struct device_clock {
	uint64_t base_ns; /* the earliest timer */
	ARRAY(struct clock_epoch) epochs;
	ARRAY(struct clock_line) lines; /* by SM, then epoch */
	struct warpspan_clock_fit fit;  /* its `device` is the caller's to set */
};

/* Fits the clock of one device. `pairs` (n_pairs > 0) is sorted in place. `clock_khz`: as the driver states it, 0 when
 * not known. 0, or WARPSPAN_NO_MEMORY. device_clock_finish() in every case. */
int device_clock_fit(struct device_clock *clock, struct clock_pair *pairs, size_t n_pairs, uint32_t clock_khz);
void device_clock_finish(struct device_clock *clock);

/* The line of what one warp recorded between two pairs of its SM (both given to the fit; `close` may be NULL): time of
 * the open in ns since the base, and ns per cycle, always > 0. Returns the bound on its error, ns. */
double device_clock_line(const struct device_clock *clock, const struct clock_pair *open,
			 const struct clock_pair *close, double *ret_start, double *ret_period);

/* The step of %globaltimer, from `n` > 0 readings in ascending order. *ret_tick is set unless memory is out (-1). */
int clock_detect_tick(const uint64_t *timers, size_t n, uint32_t *ret_tick, bool *ret_at_most);

#endif

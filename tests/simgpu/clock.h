/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.h - the clocks of a device as functions of true time. Integers only, so that a run repeats bit for bit.
 *
 * A point in time on an SM is its cycle count since the device was created. The SM's period is a fixed-point number of
 * nanoseconds; the exact rate is whatever that period is, within 1e-12 of what the settings asked for.
 *
 *   true time of cycle c      c * period
 *   %clock64 at cycle c       offset + c
 *   %globaltimer at cycle c   (base + c * period) rounded down to a tick
 */
#ifndef SIMGPU_CLOCK_H
#define SIMGPU_CLOCK_H

#include "engine.h"

struct sim_sm_clock {
	uint64_t period;        /* ns, SIM_PERIOD_BITS of fraction */
	uint64_t offset_cycles; /* of %clock64 */
};

#define SIM_PERIOD_BITS 50
/* The unit in which points of time on different SMs are compared: 1/1024 ns. */
#define SIM_TIME_BITS 10

__extension__ typedef unsigned __int128 sim_u128;

void sim_clocks_init(struct sim_sm_clock *clocks, const struct sim_config *config);

static inline uint64_t sim_clock_time(const struct sim_sm_clock *clock, uint64_t cycle)
{
	return (uint64_t)((sim_u128)cycle * clock->period >> (SIM_PERIOD_BITS - SIM_TIME_BITS));
}

static inline uint64_t sim_clock_ns(const struct sim_sm_clock *clock, uint64_t cycle)
{
	return (uint64_t)((sim_u128)cycle * clock->period >> SIM_PERIOD_BITS);
}

/* Picoseconds; good for half a year. */
static inline uint64_t sim_clock_ps(const struct sim_sm_clock *clock, uint64_t cycle)
{
	return (uint64_t)((sim_u128)cycle * clock->period * 1000 >> SIM_PERIOD_BITS);
}

/* The first cycle that starts at or after a point in time. */
static inline uint64_t sim_clock_cycle(const struct sim_sm_clock *clock, uint64_t time)
{
	sim_u128 scaled = (sim_u128)time << (SIM_PERIOD_BITS - SIM_TIME_BITS);

	return (uint64_t)((scaled + clock->period - 1) / clock->period);
}

static inline uint64_t sim_globaltimer(const struct sim_config *config, const struct sim_sm_clock *clock,
				       uint64_t cycle)
{
	uint64_t now_ns = config->timer_base_ns + sim_clock_ns(clock, cycle);

	return now_ns - now_ns % config->timer_tick_ns;
}

#endif

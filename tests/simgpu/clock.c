/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.c - each SM's rate and offset from the seed.
 *
 * Called once per device; pure.
 */
#include "clock.h"

/* splitmix64: the next of a sequence of well mixed numbers. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

void sim_clocks_init(struct sim_sm_clock *clocks, const struct sim_config *config)
{
	uint64_t state = config->seed;

	for (uint32_t i = 0; i < config->n_sms; i++) {
		uint64_t spread = config->clock_spread_ppm;
		uint64_t ppm = 1000000 - spread + next_random(&state) % (2 * spread + 1);
		/* cycles in 10^9 ns = mhz * ppm */
		sim_u128 rate = (sim_u128)config->clock_mhz * ppm;

		clocks[i].period = (uint64_t)((((sim_u128)1000000000 << SIM_PERIOD_BITS) + rate / 2) / rate);
		clocks[i].offset_cycles = next_random(&state) & ((1ULL << 40) - 1);
	}
}

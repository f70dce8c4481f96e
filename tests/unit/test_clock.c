/* SPDX-License-Identifier: Apache-2.0
 *
 * test_clock.c - the clock fit against clocks whose truth is known.
 *
 * Each case makes SMs with random offsets, lets warps read timer and counter, and asks the fit for the time of random
 * counts between the readings. The error must be within the bound the fit states.
 */
#include "support.h"

#include "clock.h"

#include <math.h>
#include <stdlib.h>

#define BASE_NS 1700000000123456789ull
#define SMS_MAX 160

/* A GPU whose rate may change with time: `change` at `change_ns`. */
struct gpu {
	uint32_t n_sms, tick_ns;
	double period, changed_period, change_ns;
	double spread;     /* of the SMs' rates, as a share */
	double hold_ns;    /* up to so long between timer and counter ... */
	double hold_share; /* ... in this share of the pairs */
	double sm_period_scale[SMS_MAX];
	uint64_t sm_offset[SMS_MAX];
	uint64_t random;
};

static double draw(struct gpu *gpu)
{
	gpu->random = gpu->random * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(gpu->random >> 11) / 9007199254740992.0;
}

static void switch_on(struct gpu *gpu, uint64_t seed)
{
	gpu->random = seed * 2654435761u + 12345;
	for (uint32_t sm = 0; sm < gpu->n_sms; sm++) {
		gpu->sm_offset[sm] = (uint64_t)(draw(gpu) * 14.7e9);
		gpu->sm_period_scale[sm] = 1 + gpu->spread * (2 * draw(gpu) - 1);
	}
}

static uint64_t cycles_at(const struct gpu *gpu, uint32_t sm, double time_ns)
{
	const double scale = gpu->sm_period_scale[sm];
	double cycles = time_ns / (gpu->period * scale);
	if (gpu->change_ns > 0 && time_ns > gpu->change_ns)
		cycles = gpu->change_ns / (gpu->period * scale) +
			 (time_ns - gpu->change_ns) / (gpu->changed_period * scale);
	return gpu->sm_offset[sm] + (uint64_t)floor(cycles);
}

static struct clock_pair read_pair(struct gpu *gpu, uint32_t sm, double time_ns)
{
	const uint64_t now = BASE_NS + (uint64_t)time_ns;
	double held = 2;
	if (draw(gpu) < gpu->hold_share)
		held += draw(gpu) * gpu->hold_ns;
	return (struct clock_pair){ .sm = sm,
				    .cycles = cycles_at(gpu, sm, time_ns + held),
				    .timer_ns = now / gpu->tick_ns * gpu->tick_ns };
}

struct outcome {
	double worst_ns, sigma_ns; /* true errors */
	double worst_excess_ns;    /* how far beyond the stated bound; <= 0 is good */
	struct warpspan_clock_fit fit;
};

/* A true mean shift of all SMs alike (the timer is read before the counter) is no error between SMs. */
#define COMMON_SHIFT_NS 3

/* Warps of `warp_ns` on every SM, `n_warps` each, at random in [0, span_ns]; looks at random times inside of them. */
static struct outcome measure(struct gpu *gpu, uint32_t n_warps, double span_ns, double warp_ns, uint32_t clock_khz)
{
	const size_t n = 2 * (size_t)gpu->n_sms * n_warps;
	struct clock_pair *pairs = calloc(n, sizeof(*pairs)), *fitted = calloc(n, sizeof(*fitted));
	double *starts = calloc(n, sizeof(*starts));
	assert_non_null(pairs);
	assert_non_null(fitted);
	assert_non_null(starts);
	for (size_t i = 0; i < n; i += 2) {
		const uint32_t sm = (uint32_t)(i / 2 % gpu->n_sms);
		starts[i] = draw(gpu) * (span_ns - warp_ns);
		pairs[i] = read_pair(gpu, sm, starts[i]);
		pairs[i + 1] = read_pair(gpu, sm, starts[i] + warp_ns);
		fitted[i] = pairs[i];
		fitted[i + 1] = pairs[i + 1];
	}
	struct device_clock clock = { 0 };
	assert_int_equal(device_clock_fit(&clock, fitted, n, clock_khz), 0);
	struct outcome outcome = { .worst_excess_ns = -INFINITY, .fit = clock.fit };
	double sum = 0;
	size_t n_looks = 0;
	for (size_t i = 0; i < n; i += 2) {
		/* A warp that lives through a change has one line for two rates: its ends are right, not what is
		 * between. */
		if (gpu->change_ns >= starts[i] && gpu->change_ns <= starts[i] + warp_ns)
			continue;
		double start, period;
		const double bound = device_clock_line(&clock, &pairs[i], &pairs[i + 1], &start, &period);
		assert_true(period > 0);
		if (clock.fit.n_epochs == 1)
			assert_true(bound <= clock.fit.error_ns);
		for (int k = 0; k < 3; k++) {
			const double truth = starts[i] + draw(gpu) * warp_ns;
			const uint64_t count = cycles_at(gpu, pairs[i].sm, truth);
			const double told = (double)(int64_t)(clock.base_ns - BASE_NS) + start +
					    period * (double)(int64_t)(count - pairs[i].cycles);
			const double error = told - truth;
			outcome.worst_ns = fmax(outcome.worst_ns, fabs(error));
			outcome.worst_excess_ns = fmax(outcome.worst_excess_ns, fabs(error) - bound - COMMON_SHIFT_NS);
			sum += error * error;
			n_looks++;
		}
	}
	outcome.sigma_ns = sqrt(sum / (double)n_looks);
	device_clock_finish(&clock);
	free(pairs);
	free(fitted);
	free(starts);
	return outcome;
}

static void print_outcome(const char *what, const struct outcome *outcome)
{
	print_message(
		"  %-44s tick %4u  epochs %3u  %s  bound %7.1f (middle %6.1f)  true: worst %7.1f  1 sigma %6.1f ns\n",
		what, outcome->fit.tick_ns, outcome->fit.n_epochs, outcome->fit.fitted ? "fitted" : "stated",
		outcome->fit.error_ns, outcome->fit.typical_error_ns, outcome->worst_ns, outcome->sigma_ns);
}

static void expect_within_bound(const char *what, const struct outcome *outcome, uint32_t tick_ns)
{
	print_outcome(what, outcome);
	assert_int_equal(outcome->fit.tick_ns, tick_ns);
	if (outcome->worst_excess_ns > 0)
		fail_msg("%s: an error is %.1f ns beyond its bound", what, outcome->worst_excess_ns);
}

static void errors_stay_within_the_bound_at_every_tick(void **state)
{
	static const uint32_t ticks[] = { 1, 32, 64, 1000, 1024 };
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			struct gpu gpu = { .n_sms = 20, .tick_ns = ticks[i], .period = 1 / 1.755 };
			switch_on(&gpu, seed);
			const struct outcome outcome = measure(&gpu, 60, 10e6, 20000, 1980000);
			expect_within_bound("60 warps on each of 20 SMs in 10 ms", &outcome, ticks[i]);
			assert_true(outcome.fit.fitted);
			assert_int_equal(outcome.fit.n_sms, 20);
			assert_int_equal(outcome.fit.n_epochs, 1);
			assert_true(fabs(outcome.fit.rate_hz - 1.755e9) < 1.755e9 * 1e-4);
			assert_true(outcome.fit.error_ns < ticks[i] / 4.0 + 10);
		}
}

static void many_pairs_resolve_far_below_a_tick(void **state)
{
	struct gpu gpu = { .n_sms = 132, .tick_ns = 1024, .period = 0.505 };
	switch_on(&gpu, 3);
	const struct outcome outcome = measure(&gpu, 256, 50e6, 5000, 1980000);
	expect_within_bound("256 warps on each of 132 SMs in 50 ms", &outcome, 1024);
	assert_true(outcome.sigma_ns < 12);
	assert_true(outcome.fit.error_ns < 60);
}

static void a_short_kernel_under_a_coarse_timer_is_placed_within_a_tick(void **state)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		struct gpu gpu = { .n_sms = 108, .tick_ns = 1024, .period = 1 / 1.41 };
		switch_on(&gpu, seed);
		const struct outcome outcome = measure(&gpu, 4, 6000, 5000, 1410000);
		print_outcome("one kernel of 5 us, 4 warps on each of 108 SMs", &outcome);
		assert_true(outcome.worst_excess_ns <= 0);
		assert_true(outcome.fit.error_ns <= 1024 + 512 + 1);
	}
}

static void one_pair_is_enough_to_say_something(void **state)
{
	struct clock_pair pair = { .sm = 3, .cycles = 1000, .timer_ns = BASE_NS };
	struct device_clock clock = { 0 };
	double start, period;
	assert_int_equal(device_clock_fit(&clock, &pair, 1, 1500000), 0);
	assert_false(clock.fit.fitted);
	assert_int_equal(clock.fit.n_pairs, 1);
	const double bound = device_clock_line(&clock, &pair, NULL, &start, &period);
	print_message("  tick %u, bound %.1f\n", clock.fit.tick_ns, bound);
	assert_true(fabs(period - 1 / 1.5) < 1e-9);
	assert_true(start >= 0 && start <= clock.fit.tick_ns);
	device_clock_finish(&clock);
	/* and without the driver's word for it */
	assert_int_equal(device_clock_fit(&clock, &pair, 1, 0), 0);
	device_clock_line(&clock, &pair, NULL, &start, &period);
	assert_true(period > 0);
	device_clock_finish(&clock);
}

static void sms_with_rates_of_their_own_get_them(void **state)
{
	struct gpu gpu = { .n_sms = 16, .tick_ns = 32, .period = 0.505, .spread = 0.05 };
	switch_on(&gpu, 8);
	const struct outcome outcome = measure(&gpu, 64, 20e6, 20000, 1980000);
	expect_within_bound("rates that differ by 5 percent", &outcome, 32);
	assert_int_equal(outcome.fit.n_epochs, 1);
}

static void a_rate_that_changes_is_followed(void **state)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct gpu gpu = {
			.n_sms = 24, .tick_ns = 32, .period = 1 / 1.2, .changed_period = 1 / 1.98, .change_ns = 3.3e6
		};
		switch_on(&gpu, seed);
		const struct outcome outcome = measure(&gpu, 200, 10e6, 2000, 1980000);
		print_outcome("from 1.2 to 1.98 GHz", &outcome);
		assert_true(outcome.fit.n_epochs > 1);
		assert_true(outcome.fit.n_epochs < 64);
		assert_true(outcome.worst_excess_ns <= 0);
		assert_true(outcome.sigma_ns < 32);
	}
}

static void warps_held_up_between_the_readings_do_not_shift_the_rest(void **state)
{
	struct gpu gpu = { .n_sms = 16, .tick_ns = 32, .period = 0.505, .hold_ns = 80, .hold_share = 0.1 };
	switch_on(&gpu, 5);
	const struct outcome outcome = measure(&gpu, 100, 20e6, 10000, 1980000);
	expect_within_bound("a tenth of the pairs held up by up to 80 ns", &outcome, 32);
	assert_true(outcome.sigma_ns < 8);
}

static void a_preempted_warp_costs_its_neighbours_little(void **state)
{
	struct gpu gpu = { .n_sms = 16, .tick_ns = 32, .period = 0.505, .hold_ns = 2e6, .hold_share = 0.0005 };
	switch_on(&gpu, 6);
	const struct outcome outcome = measure(&gpu, 200, 50e6, 10000, 1980000);
	print_outcome("one pair in 2000 held up by up to 2 ms", &outcome);
	assert_int_equal(outcome.fit.n_epochs, 1);
	assert_true(outcome.fit.error_ns < 64);
}

static void a_timer_that_is_corrected_now_and_then_keeps_its_tick(void **state)
{
	uint64_t timers[2000];
	uint64_t now = BASE_NS;
	uint32_t tick = 0, random = 7;
	bool at_most = true;
	for (size_t i = 0; i < 2000; i++) {
		random = random * 1664525u + 1013904223u;
		now += 1024 * (random >> 27);
		if (i % 400 == 399)
			now += 32;
		timers[i] = now;
	}
	assert_int_equal(clock_detect_tick(timers, 2000, &tick, &at_most), 0);
	assert_int_equal(tick, 1024);
	assert_false(at_most);
}

static void a_regular_program_does_not_hide_a_fine_timer(void **state)
{
	/* Launches of 5000 ns every 20000 ns, with little scatter: the timer ticks at 1 ns all the same. */
	uint64_t timers[400];
	uint32_t tick = 0;
	bool at_most = true;
	for (size_t i = 0; i < 400; i++)
		timers[i] = BASE_NS + i / 2 * 20000 + i % 2 * 5000 + i % 7;
	assert_int_equal(clock_detect_tick(timers, 400, &tick, &at_most), 0);
	assert_int_equal(tick, 1);
}

static void few_readings_bound_the_tick_from_above(void **state)
{
	/* a 32 ns timer, read sixteen ticks apart however often */
	uint64_t timers[400];
	uint32_t tick = 0;
	bool at_most = false;
	for (size_t i = 0; i < 400; i++)
		timers[i] = BASE_NS + i * 512;
	assert_int_equal(clock_detect_tick(timers, 400, &tick, &at_most), 0);
	assert_true(tick >= 32 && at_most);
	assert_int_equal(clock_detect_tick(timers, 3, &tick, &at_most), 0);
	assert_true(tick >= 32 && at_most);
}

static void hostile_pairs_give_finite_lines(void **state)
{
	uint64_t random = 99;
	struct clock_pair pairs[600], kept[600];
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < 600; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			pairs[i].sm = (uint32_t)(random >> 60);
			pairs[i].cycles = random * (round % 3 == 0 ? 1 : 977);
			pairs[i].timer_ns = round % 2 == 0 ? random >> (round % 5 * 13) : random * 31;
			kept[i] = pairs[i];
		}
		struct device_clock clock = { 0 };
		assert_int_equal(device_clock_fit(&clock, pairs, 600, 0), 0);
		assert_true(clock.fit.tick_ns > 0);
		for (size_t i = 0; i + 1 < 600; i++) {
			double start, period;
			device_clock_line(&clock, &kept[i], &kept[i + 1], &start, &period);
			assert_true(isfinite(start));
			assert_true(period > 0);
		}
		device_clock_finish(&clock);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_stay_within_the_bound_at_every_tick),
		cmocka_unit_test(many_pairs_resolve_far_below_a_tick),
		cmocka_unit_test(a_short_kernel_under_a_coarse_timer_is_placed_within_a_tick),
		cmocka_unit_test(one_pair_is_enough_to_say_something),
		cmocka_unit_test(sms_with_rates_of_their_own_get_them),
		cmocka_unit_test(a_rate_that_changes_is_followed),
		cmocka_unit_test(warps_held_up_between_the_readings_do_not_shift_the_rest),
		cmocka_unit_test(a_preempted_warp_costs_its_neighbours_little),
		cmocka_unit_test(a_timer_that_is_corrected_now_and_then_keeps_its_tick),
		cmocka_unit_test(a_regular_program_does_not_hide_a_fine_timer),
		cmocka_unit_test(few_readings_bound_the_tick_from_above),
		cmocka_unit_test(hostile_pairs_give_finite_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

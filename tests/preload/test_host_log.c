/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host_log.c - the lock-free log of launches and other calls. Worth running under the thread sanitizer.
 */
#include "guard.h"
#include "host_log.h"
#include "support.h"
#include "util.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define N_THREADS    8u
#define N_PER_THREAD 20000u

static struct warpspan_host_batch taken;

static warpspan_ticket launch(uint32_t kernel)
{
	const struct warpspan_launch launch = { .kernel = kernel, .begin_ns = warpspan_now_ns() };

	return warpspan_host_log_begin_launch(&launch);
}

static warpspan_ticket call(uint64_t amount)
{
	const struct warpspan_host_call call = { .amount = amount, .begin_ns = warpspan_now_ns() };

	return warpspan_host_log_begin_call(&call);
}

/* From here on the thread uses this lane. */
static void use_lane(uint32_t lane)
{
	warpspan_thread.lane_plus_1 = lane + 1;
}

static void take(uint64_t patience_ns)
{
	(void)warpspan_host_log_take(warpspan_now_ns(), &taken, patience_ns);
}

static void took(unsigned n_launches, unsigned n_calls)
{
	assert_int_equal(taken.n_launches, n_launches);
	assert_int_equal(taken.n_calls, n_calls);
}

static void entries_come_out_complete_and_in_order(void **state)
{
	const warpspan_ticket first = launch(1);
	const warpspan_ticket second = launch(2);

	warpspan_host_log_end_launch(second, 20, 0);
	warpspan_host_log_end_launch(first, 10, -3);
	take(0);
	took(2, 0);
	assert_int_equal(taken.launches[0].kernel, 1);
	assert_int_equal(taken.launches[0].end_ns, 10);
	assert_int_equal(taken.launches[0].result, -3);
	assert_int_equal(taken.launches[1].number, taken.launches[0].number + 1);
	assert_int_equal(taken.launches[1].end_ns, 20);
	take(0);
	took(0, 0);
}

static void lanes_are_merged_by_time_and_share_the_numbers(void **state)
{
	uint64_t first;

	for (uint32_t i = 0; i < 30; i++) {
		use_lane(i * 7 % WARPSPAN_N_LANES);
		if (i % 3 == 0)
			assert_true(warpspan_host_log_end_call(call(i), i, 0));
		else
			warpspan_host_log_end_launch(launch(i), i, 0);
	}
	use_lane(0);
	take(0);
	took(20, 10);
	first = taken.calls[0].number;
	for (unsigned i = 0; i < taken.n_launches; i++)
		assert_int_equal(taken.launches[i].number, first + taken.launches[i].kernel);
	for (unsigned i = 0; i < taken.n_calls; i++)
		assert_int_equal(taken.calls[i].number, first + taken.calls[i].amount);
}

static void what_began_after_the_given_moment_waits(void **state)
{
	uint64_t until_ns;

	warpspan_host_log_end_launch(launch(1), 1, 0);
	until_ns = warpspan_now_ns();
	while (warpspan_now_ns() == until_ns)
		;
	warpspan_host_log_end_launch(launch(2), 1, 0);
	assert_false(warpspan_host_log_take(until_ns, &taken, 0));
	took(1, 0);
	assert_int_equal(taken.launches[0].kernel, 1);
	take(0);
	took(1, 0);
}

static void a_launch_still_in_its_call_is_taken_as_it_is(void **state)
{
	const uint64_t before_ns = warpspan_now_ns();
	const warpspan_ticket ticket = launch(7);

	take(1000);
	took(1, 0);
	assert_int_equal(taken.launches[0].kernel, 7);
	assert_true(taken.launches[0].end_ns > before_ns);
	assert_int_equal(taken.launches[0].result, 0);
	/* Its end comes too late and changes nothing, also not its slot's next owner. */
	warpspan_host_log_end_launch(ticket, 99, 99);
	for (unsigned i = 1; i < WARPSPAN_HOST_LOG_SLOTS; i++) {
		warpspan_host_log_end_launch(launch(i), 1, 0);
		if (i % WARPSPAN_HOST_BATCH == 0)
			take(0);
	}
	take(0);
	(void)launch(8);
	warpspan_host_log_end_launch(ticket, 99, 99);
	take(1000);
	took(1, 0);
	assert_int_equal(taken.launches[0].kernel, 8);
	assert_int_not_equal(taken.launches[0].end_ns, 99);
}

static void a_call_that_takes_long_keeps_its_number_and_gets_its_end(void **state)
{
	const warpspan_ticket wait = call(5);
	uint64_t number;

	warpspan_host_log_end_launch(launch(1), 1, 0);
	take(0);
	took(1, 0);
	number = taken.launches[0].number;
	assert_true(warpspan_host_log_end_call(wait, 1234, -7));
	take(0);
	took(0, 1);
	assert_int_equal(taken.calls[0].number, number - 1);
	assert_int_equal(taken.calls[0].amount, 5);
	assert_int_equal(taken.calls[0].end_ns, 1234);
	assert_int_equal(taken.calls[0].result, -7);
	(void)warpspan_host_log_take_unended(&taken);
	took(0, 0);
}

static void a_call_that_never_ends_comes_last(void **state)
{
	(void)call(6);
	take(0);
	took(0, 0);
	(void)warpspan_host_log_take_unended(&taken);
	took(0, 1);
	assert_int_equal(taken.calls[0].amount, 6);
	assert_true(taken.calls[0].end_ns >= taken.calls[0].begin_ns);
}

static void a_full_lane_refuses_and_recovers(void **state)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WARPSPAN_HOST_LOG_SLOTS; i++)
		warpspan_host_log_end_launch(launch(i), 1, 0);
	assert_int_equal(launch(0), 0);
	use_lane(1);
	assert_int_not_equal(launch(0), 0);
	use_lane(0);
	for (bool more = true; more;) {
		more = warpspan_host_log_take(warpspan_now_ns(), &taken, 1000);
		n += taken.n_launches;
	}
	assert_int_equal(n, WARPSPAN_HOST_LOG_SLOTS + 1);
	assert_int_not_equal(launch(0), 0);
	take(1000);
	took(1, 0);
}

static atomic_uint n_running;
static atomic_ullong n_refused;

static void *launch_many(void *argument)
{
	const uint32_t thread = *(const uint32_t *)argument;

	for (uint32_t i = 0; i < N_PER_THREAD; i++) {
		const struct warpspan_launch launch = { .thread = thread, .kernel = i, .begin_ns = warpspan_now_ns() };
		const warpspan_ticket ticket = warpspan_host_log_begin_launch(&launch);

		if (ticket == 0)
			atomic_fetch_add(&n_refused, 1);
		else
			warpspan_host_log_end_launch(ticket, i + 1, (int32_t)i);
	}
	atomic_fetch_sub(&n_running, 1);
	return NULL;
}

static void many_threads_lose_nothing_and_keep_their_order(void **state)
{
	uint32_t ids[N_THREADS];
	uint64_t next[N_THREADS] = { 0 };
	uint64_t last_number = 0, n_taken = 0;
	pthread_t threads[N_THREADS];
	bool running = true, more = true;

	atomic_store(&n_running, N_THREADS);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		ids[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &ids[i]), 0);
	}
	while (running || more) {
		running = atomic_load(&n_running) != 0;
		more = warpspan_host_log_take(warpspan_now_ns(), &taken, 1000000);
		for (unsigned i = 0; i < taken.n_launches; i++) {
			const struct warpspan_launch *launch = &taken.launches[i];

			assert_true(launch->number > last_number);
			last_number = launch->number;
			assert_true(launch->kernel >= next[launch->thread]);
			next[launch->thread] = launch->kernel + 1;
		}
		n_taken += taken.n_launches;
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(n_taken + atomic_load(&n_refused), N_THREADS * N_PER_THREAD);
}

static int init(void **state)
{
	use_lane(0);
	return warpspan_host_log_init() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_complete_and_in_order),
		cmocka_unit_test(lanes_are_merged_by_time_and_share_the_numbers),
		cmocka_unit_test(what_began_after_the_given_moment_waits),
		cmocka_unit_test(a_launch_still_in_its_call_is_taken_as_it_is),
		cmocka_unit_test(a_call_that_takes_long_keeps_its_number_and_gets_its_end),
		cmocka_unit_test(a_call_that_never_ends_comes_last),
		cmocka_unit_test(a_full_lane_refuses_and_recovers),
		cmocka_unit_test(many_threads_lose_nothing_and_keep_their_order),
	};

	return cmocka_run_group_tests_name("host log", tests, init, NULL);
}

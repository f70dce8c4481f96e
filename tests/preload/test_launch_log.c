/* SPDX-License-Identifier: Apache-2.0
 *
 * test_launch_log.c - the lock-free launch log. Worth running under the thread sanitizer.
 */
#include "launch_log.h"
#include "support.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define N_THREADS    8u
#define N_PER_THREAD 20000u

static struct warpspan_launch taken[WARPSPAN_LAUNCH_LOG_SLOTS];

static uint64_t append(uint32_t kernel)
{
	const struct warpspan_launch launch = { .kernel = kernel, .begin_ns = 5 };

	return warpspan_launch_log_begin(&launch);
}

static unsigned take_all(uint64_t patience_ns)
{
	return warpspan_launch_log_take(warpspan_launch_log_last(), taken, WARPSPAN_LAUNCH_LOG_SLOTS, patience_ns);
}

static void entries_come_out_complete_and_in_order(void **state)
{
	const uint64_t first = append(1);
	const uint64_t second = append(2);

	assert_int_equal(second, first + 1);
	warpspan_launch_log_end(second, 20, 0);
	warpspan_launch_log_end(first, 10, -3);
	assert_int_equal(take_all(0), 2);
	assert_int_equal(taken[0].number, first);
	assert_int_equal(taken[0].kernel, 1);
	assert_int_equal(taken[0].end_ns, 10);
	assert_int_equal(taken[0].result, -3);
	assert_int_equal(taken[1].number, second);
	assert_int_equal(taken[1].end_ns, 20);
	assert_int_equal(take_all(0), 0);
}

static void an_entry_still_in_its_call_is_taken_as_it_is(void **state)
{
	const uint64_t number = append(7);

	assert_int_equal(take_all(1000), 1);
	assert_int_equal(taken[0].kernel, 7);
	assert_true(taken[0].end_ns > 5);
	assert_int_equal(taken[0].result, 0);
	/* Its end comes too late and changes nothing, also not its slot's next owner. */
	warpspan_launch_log_end(number, 99, 99);
	for (unsigned i = 1; i < WARPSPAN_LAUNCH_LOG_SLOTS; i++)
		warpspan_launch_log_end(append(i), 1, 0);
	assert_int_equal(take_all(0), WARPSPAN_LAUNCH_LOG_SLOTS - 1);
	(void)append(8);
	warpspan_launch_log_end(number, 99, 99);
	assert_int_equal(take_all(1000), 1);
	assert_int_equal(taken[0].kernel, 8);
	assert_int_not_equal(taken[0].end_ns, 99);
}

static void a_full_log_refuses_and_recovers(void **state)
{
	for (unsigned i = 0; i < WARPSPAN_LAUNCH_LOG_SLOTS; i++)
		warpspan_launch_log_end(append(i), 1, 0);
	assert_int_equal(append(0), 0);
	assert_int_equal(take_all(0), WARPSPAN_LAUNCH_LOG_SLOTS);
	assert_int_not_equal(append(0), 0);
	assert_int_equal(take_all(1000), 1);
}

static void only_entries_up_to_the_last_asked_for_are_taken(void **state)
{
	const uint64_t first = append(1);

	warpspan_launch_log_end(first, 1, 0);
	warpspan_launch_log_end(append(2), 1, 0);
	assert_int_equal(warpspan_launch_log_take(first, taken, 10, 0), 1);
	assert_int_equal(taken[0].kernel, 1);
	assert_int_equal(take_all(0), 1);
}

static atomic_uint n_running;
static atomic_ullong n_refused;

static void *launch_many(void *argument)
{
	const uint32_t thread = *(const uint32_t *)argument;

	for (uint32_t i = 0; i < N_PER_THREAD; i++) {
		const struct warpspan_launch launch = { .thread = thread, .kernel = i, .begin_ns = i };
		const uint64_t number = warpspan_launch_log_begin(&launch);

		if (number == 0)
			atomic_fetch_add(&n_refused, 1);
		else
			warpspan_launch_log_end(number, i + 1, (int32_t)i);
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
	bool running = true;

	atomic_store(&n_running, N_THREADS);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		ids[i] = i;
		assert_int_equal(pthread_create(&threads[i], NULL, launch_many, &ids[i]), 0);
	}
	while (running) {
		unsigned n;

		running = atomic_load(&n_running) != 0;
		n = take_all(1000000);
		for (unsigned i = 0; i < n; i++) {
			const struct warpspan_launch *launch = &taken[i];

			assert_true(launch->number > last_number);
			last_number = launch->number;
			assert_true(launch->kernel >= next[launch->thread]);
			next[launch->thread] = launch->kernel + 1;
			assert_int_equal(launch->begin_ns, launch->kernel);
		}
		n_taken += n;
	}
	for (unsigned i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(n_taken + atomic_load(&n_refused), N_THREADS * N_PER_THREAD);
}

static int init(void **state)
{
	return warpspan_launch_log_init() ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_out_complete_and_in_order),
		cmocka_unit_test(an_entry_still_in_its_call_is_taken_as_it_is),
		cmocka_unit_test(a_full_log_refuses_and_recovers),
		cmocka_unit_test(only_entries_up_to_the_last_asked_for_are_taken),
		cmocka_unit_test(many_threads_lose_nothing_and_keep_their_order),
	};

	return cmocka_run_group_tests_name("launch log", tests, init, NULL);
}

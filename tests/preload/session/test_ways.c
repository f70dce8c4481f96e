/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ways.c BUILD WALL LATE - each way to start and to stop a session, what it leaves, and what is said where it
 * cannot. WALL: libraries/wall.c; LATE: libraries/late_threads.c.
 */
#include "support.h"

#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API "WARPSPAN_START=api"

static const char *wall_library, *late_library;

/* Session `n` holds so many grids of step(), and all that it launched. */
static void assert_session(unsigned n, unsigned steps)
{
	struct warpspan_model *model = steps_load(n);

	assert_int_equal(steps_grids(model, "step"), steps);
	assert_true(model->complete);
	assert_int_equal(model->n_lost_records, 0);
	warpspan_model_destroy(model);
}

static void by_default_one_session_runs_from_the_first_launch_to_the_end(void **state)
{
	struct run_result result;

	steps_run("launch:2 sync launch:1", NULL, 0, &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 3);
	run_result_finish(&result);
}

/* The first launches are through before the collector has begun. */
static void a_late_collector_loses_nothing(void **state)
{
	struct run_result result;
	char both[4096];

	snprintf(both, sizeof(both), "LD_PRELOAD=%s:%s", late_library, steps_preload() + strlen("LD_PRELOAD="));
	steps_run("launch:2 sync launch:1 sync sleep:300 launch:1", (const char *[]){ both, NULL }, 0, &result);
	assert_session(1, 4);
	run_result_finish(&result);
}

static void the_program_starts_and_stops(void **state)
{
	struct run_result result;

	steps_run("launch:2 sync active start active launch:3 stop:10000 active launch:1 sync start launch:4",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "sync 0\nactive 0\nstart 0\nactive 1\nlaunch 0\nstop 0\nactive 0\n");
	assert_int_equal(steps_captures(), 2);
	assert_session(1, 3);
	assert_session(2, 4);
	run_result_finish(&result);
}

static void a_session_may_begin_before_the_first_call_of_cuda(void **state)
{
	struct run_result result;

	steps_run("start launch:2 sync stop:10000 launch:1", (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "start 0\nlaunch 0\nsync 0\nstop 0\n");
	assert_session(1, 2);
	run_result_finish(&result);
}

static void a_session_without_any_cuda_is_empty(void **state)
{
	struct run_result result;

	steps_run("start stop:10000", (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "start 0\nstop 0\n");
	assert_session(1, 0);
	run_result_finish(&result);
}

static void a_guard_records_its_scope(void **state)
{
	struct run_result result;

	steps_run("launch:1 sync guard:2 launch:1", (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "guard 0\n");
	assert_session(1, 2);
	run_result_finish(&result);
}

static void a_second_start_is_told_who_was_first(void **state)
{
	struct run_result result;

	steps_run("launch:1 start stop:10000 start:OUT=2 start", NULL, 0, &result);
	assert_holds(result.out, "start: a session is already active: started by the first launch of a kernel with "
				 "warpspan.cuh at ");
	assert_holds(result.out, "; only one may run at a time; stop it first\nstart -1\n");
	assert_holds(result.out,
		     "stop 0\nstart 0\nstart: a session is already active: started by warpspan_start() at ");
	run_result_finish(&result);
}

static void a_stop_that_finds_nothing_is_harmless(void **state)
{
	struct run_result result;

	steps_run("stop:0 launch:1 sync stop:100 stop:100 start launch:2 stop:10000", (const char *[]){ API, NULL }, 0,
		  &result);
	assert_holds(result.out, "stop -2\nlaunch 0\nsync 0\nstop -2\nstop -2\nstart 0\nlaunch 0\nstop 0\n");
	assert_holds(result.err, "warpspan_stop(): no session is active");
	assert_session(1, 2);
	run_result_finish(&result);
}

/* Whenever it comes: while kernels are waited for, while the timelines are written, or later. */
static void a_stop_that_waits_returns_when_the_files_are_there(void **state)
{
	for (unsigned ms = 40; ms <= 240; ms += 40) {
		struct run_result result;
		char both[8192], steps[128];

		snprintf(both, sizeof(both), "LD_PRELOAD=%s:%s", late_library, steps_preload() + strlen("LD_PRELOAD="));
		snprintf(steps, sizeof(steps), "launch:1 sync start launch:1 stop:0 sleep:%u stop:10000 _exit:0", ms);
		steps_run(steps, (const char *[]){ both, API, "WARPSPAN_CTL=0", NULL }, 0, &result);
		if (access(in_folder("1.json.gz"), R_OK) != 0)
			fail_msg("after %u ms: %s%s", ms, result.out, result.err);
		run_result_finish(&result);
		remove_folder(state);
		make_folder(state);
	}
}

static void a_session_has_settings_of_its_own(void **state)
{
	struct run_result result;

	steps_run("start:KERNEL=other,OUT=mine launch:1 other:2 sync stop:10000 start launch:1 other:2",
		  (const char *[]){ API, "WARPSPAN_KERNEL=step", NULL }, 0, &result);
	assert_non_null(strstr(result.err, "/mine.wspan"));
	assert_session(2, 1);
	run_result_finish(&result);
}

static void a_wrong_setting_starts_nothing(void **state)
{
	struct run_result result;

	steps_run("start:FORMAT=pftraces start:BUFFER=1G start:KERNELL=x active start", (const char *[]){ API, NULL },
		  0, &result);
	assert_holds(result.out, "pftrace");
	assert_holds(result.out, "start -7\n");
	assert_holds(result.out, "KERNEL");
	assert_holds(result.out, "active 0\nstart 0\n");
	run_result_finish(&result);
}

static void a_capture_that_cannot_be_written_starts_nothing(void **state)
{
	struct run_result result;

	steps_run("start:OUT=/nowhere/x start:OUT=/proc/x launch:1 sync active start launch:2",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out,
		     "start: cannot write '/proc/x.wspan': No such file or directory; set WARPSPAN_OUT to a "
		     "directory you may write to\n");
	assert_holds(result.out, "start: cannot write '/nowhere/x.wspan': the directory '/nowhere' does not exist");
	assert_holds(result.out, "start -6\n");
	assert_holds(result.out, "active 0\nstart 0\n");
	assert_session(1, 2);
	run_result_finish(&result);
}

static void the_profiler_api_starts_and_stops(void **state)
{
	struct run_result result;

	steps_run("launch:1 sync profiler-start launch:2 sync profiler-stop launch:1 sync profiler-start launch:3 "
		  "profiler-stop",
		  (const char *[]){ "WARPSPAN_START=profiler-api", NULL }, 0, &result);
	assert_int_equal(steps_captures(), 2);
	assert_session(1, 2);
	assert_session(2, 3);
	run_result_finish(&result);
}

static void the_profiler_api_is_nothing_to_us_by_default(void **state)
{
	struct run_result result;

	steps_run("launch:1 profiler-stop launch:1 profiler-start launch:1", NULL, 0, &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 3);
	run_result_finish(&result);
}

static void a_window_of_launches_is_recorded(void **state)
{
	struct run_result result;

	steps_run("launch:2 sync launch:3 sync launch:2 sync active", (const char *[]){ "WARPSPAN_LAUNCHES=2:3", NULL },
		  0, &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 3);
	run_result_finish(&result);
	steps_run("launch:2 sync launch:3", (const char *[]){ "WARPSPAN_LAUNCHES=2", "WARPSPAN_OUT=first", NULL }, 0,
		  &result);
	assert_holds(result.err, "2 launches");
	run_result_finish(&result);
}

static void a_window_leaves_sessions_of_others_alone(void **state)
{
	struct run_result result;

	steps_run("start launch:6 sync active stop:10000", (const char *[]){ "WARPSPAN_LAUNCHES=2:2", NULL }, 0,
		  &result);
	assert_holds(result.out, "launch 0\nsync 0\nactive 1\nstop 0\n");
	assert_holds(result.err, "WARPSPAN_LAUNCHES starts no session: a session is already active: started by "
				 "warpspan_start() at ");
	assert_session(1, 6);
	run_result_finish(&result);
	/* It waits for the one before to be written. */
	steps_run("start:OUT=3 launch:2 stop:0 launch:3 sync", (const char *[]){ "WARPSPAN_LAUNCHES=2:2", NULL }, 0,
		  &result);
	assert_session(2, 2);
	run_result_finish(&result);
}

static void what_never_began_is_said(void **state)
{
	struct run_result result;

	steps_run("launch:2 sync", (const char *[]){ "WARPSPAN_START=profiler-api", NULL }, 0, &result);
	assert_holds(result.err, "nothing was recorded: no session was started (WARPSPAN_START=profiler-api)");
	run_result_finish(&result);
	steps_run("launch:2 sync", (const char *[]){ "WARPSPAN_LAUNCHES=5:1", NULL }, 0, &result);
	assert_holds(result.err, "nothing was recorded: there were 2 launches, and WARPSPAN_LAUNCHES skips 5");
	run_result_finish(&result);
	steps_run("sync", (const char *[]){ "WARPSPAN_START=api", NULL }, 0, &result);
	assert_string_equal(result.err, "");
	run_result_finish(&result);
	assert_int_equal(steps_captures(), 0);
}

static void a_session_ends_when_its_time_is_over(void **state)
{
	struct run_result result;

	/* The first launch also makes the buffers, which takes a while on a machine that is busy otherwise. */
	steps_run("launch:2 sync sleep:1500 active launch:1 sync", (const char *[]){ "WARPSPAN_DURATION=1s", NULL }, 0,
		  &result);
	assert_holds(result.out, "active 0\n");
	assert_session(1, 2);
	run_result_finish(&result);
	/* However short: none goes on for ever. */
	steps_run("start:DURATION=1ms,OUT=short,FORMAT=none sleep:100 start:DURATION=0.001ms,OUT=shorter,FORMAT=none "
		  "sleep:100 active",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "start 0\nsleep 0\nstart 0\nsleep 0\nactive 0\n");
	run_result_finish(&result);
}

static void a_kernel_that_never_ends_does_not_hold_the_stop(void **state)
{
	struct run_result result;

	steps_run("start hold launch:1 stop:300 active start launch:1 release stop:10000",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "stop 0\nactive 0\nstart 0\n");
	assert_session(2, 1);
	run_result_finish(&result);
}

/* Waits do not go by it. */
static void a_clock_on_the_wall_that_is_set_back_holds_nobody(void **state)
{
	struct run_result result;
	char both[8192];

	snprintf(both, sizeof(both), "LD_PRELOAD=%s:%s", wall_library, steps_preload() + strlen("LD_PRELOAD="));
	steps_run("start hold stop:0 stop:300 release",
		  (const char *[]){ both, API, "WARPSPAN_EXIT_TIMEOUT=40s", NULL }, 0, &result);
	assert_holds(result.out, "start 0\nhold 0\nstop 0\nstop -3\nrelease 0\n");
	assert_true(result.seconds < 20);
	run_result_finish(&result);
}

static void a_kernel_that_runs_through_many_sessions_costs_one_thread(void **state)
{
	struct run_result result;
	struct warpspan_model *model;

	steps_run("start hold stop:50 start stop:50 start stop:50 start stop:50 threads:warpspan-wait start launch:1 "
		  "release stop:10000 threads:warpspan-wait start launch:2 stop:10000",
		  (const char *[]){ API, "WARPSPAN_FORMAT=none", NULL }, 0, &result);
	assert_holds(result.out, "threads 1\nstart 0\nlaunch 0\nrelease 0\nstop 0\nthreads 0\n");
	run_result_finish(&result);
	for (unsigned n = 1; n <= 6; n++) {
		model = steps_load(n);
		assert_int_equal(model->quiet, n > 4);
		assert_int_equal(steps_grids(model, "step"), n > 4 ? n - 4 : 0);
		warpspan_model_destroy(model);
	}
}

static void a_session_that_was_stopped_is_not_active_while_it_waits_for_kernels(void **state)
{
	struct run_result result;

	steps_run("start hold active mark:one stop:0 active mark:two start release",
		  (const char *[]){ API, "WARPSPAN_EXIT_TIMEOUT=5s", NULL }, 0, &result);
	assert_holds(result.out, "active 1\nmark 0\nstop 0\nactive 0\nmark -2\nstart: session 1, started by "
				 "warpspan_start() at ");
	assert_holds(result.out, ", is still being written; try again in a moment\nstart -3\n");
	run_result_finish(&result);
}

static void graphs_of_before_record_in_every_session(void **state)
{
	struct run_result result;

	steps_run("launch:1 graph:3 replay:1 sync start replay:2 stop:10000 replay:1 start replay:1 launch:1 "
		  "stop:10000",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_session(1, 6);
	assert_holds(result.err, ": 6 launches, 48 records: ");
	assert_holds(result.err, ": 4 launches, 32 records: ");
	run_result_finish(&result);
}

static void a_name_that_was_used_too_often_is_said(void **state)
{
	struct run_result result;

	for (unsigned i = 0; i < 1000; i++) {
		char name[32];
		FILE *file;

		snprintf(name, sizeof(name), i == 0 ? "same.wspan" : "same.%u.wspan", i);
		file = fopen(in_folder(name), "w");
		assert_non_null(file);
		fclose(file);
	}
	steps_run("start:OUT=same start", (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "same.999.wspan': this file and those numbered before it exist; remove some, or put "
				 "%n and %p into WARPSPAN_OUT\nstart -6\nstart 0\n");
	run_result_finish(&result);
}

static void a_stop_inside_a_callback_does_not_wait(void **state)
{
	struct run_result result;

	steps_run("start launch:2 stop-in-callback sync sleep:300 active", (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "stop in a callback 0\n");
	assert_holds(result.out, "active 0\n");
	assert_session(1, 2);
	run_result_finish(&result);
}

static void a_session_outlives_its_context(void **state)
{
	struct run_result result;

	steps_run("start launch:2 reset stop:10000 start launch:3 reset launch:1 sync stop:10000",
		  (const char *[]){ API, NULL }, 0, &result);
	assert_holds(result.out, "reset 0\nstop 0\n");
	assert_session(1, 2);
	assert_session(2, 4);
	run_result_finish(&result);
}

static void marks_are_the_programs(void **state)
{
	struct run_result result;

	steps_run("mark:early start mark:one launch:1 mark:two stop:10000 mark:late", (const char *[]){ API, NULL }, 0,
		  &result);
	assert_holds(result.out, "mark -2\nstart 0\nmark 0\nlaunch 0\nmark 0\nstop 0\nmark -2\n");
	run_result_finish(&result);
}

static void without_the_library_it_says_so(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { steps_path(), "start", "launch:1", "stop:100", "active", "mark:x",
						  NULL } },
		    &result);
	assert_string_equal(result.out, "start: \nstart -4\nlaunch 0\nstop -4\nactive 0\nmark -4\n");
	assert_string_equal(result.err, "");
	run_result_finish(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(by_default_one_session_runs_from_the_first_launch_to_the_end),
		TEST(a_late_collector_loses_nothing),
		TEST(the_program_starts_and_stops),
		TEST(a_session_may_begin_before_the_first_call_of_cuda),
		TEST(a_session_without_any_cuda_is_empty),
		TEST(a_guard_records_its_scope),
		TEST(a_second_start_is_told_who_was_first),
		TEST(a_stop_that_finds_nothing_is_harmless),
		TEST(a_stop_that_waits_returns_when_the_files_are_there),
		TEST(a_session_has_settings_of_its_own),
		TEST(a_wrong_setting_starts_nothing),
		TEST(a_capture_that_cannot_be_written_starts_nothing),
		TEST(the_profiler_api_starts_and_stops),
		TEST(the_profiler_api_is_nothing_to_us_by_default),
		TEST(a_window_of_launches_is_recorded),
		TEST(a_window_leaves_sessions_of_others_alone),
		TEST(what_never_began_is_said),
		TEST(a_session_ends_when_its_time_is_over),
		TEST(a_kernel_that_never_ends_does_not_hold_the_stop),
		TEST(a_clock_on_the_wall_that_is_set_back_holds_nobody),
		TEST(a_kernel_that_runs_through_many_sessions_costs_one_thread),
		TEST(a_session_that_was_stopped_is_not_active_while_it_waits_for_kernels),
		TEST(graphs_of_before_record_in_every_session),
		TEST(a_name_that_was_used_too_often_is_said),
		TEST(a_stop_inside_a_callback_does_not_wait),
		TEST(a_session_outlives_its_context),
		TEST(marks_are_the_programs),
		TEST(without_the_library_it_says_so),
	};

	if (argc != 4)
		return 2;
	wall_library = realpath(argv[2], NULL);
	late_library = realpath(argv[3], NULL);
	if (wall_library == NULL || late_library == NULL)
		return 2;
	steps_init(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_decoding.c BUILD - whose the launches are that were in flight when a session started or stopped.
 */
#include "support.h"

#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API      "WARPSPAN_START=api"
#define CONSTANT "SIMGPU_GRIDID=constant"

static char in_flight[4096];

/* Each grid has its launch, and the launches of the session are these, one after the other. */
static struct warpspan_model *load_joined(unsigned session, unsigned n_early, unsigned n_own, uint64_t first_own)
{
	struct warpspan_model *model = steps_load(session);
	unsigned n = 0;

	assert_int_equal(model->n_grids, n_early + n_own);
	assert_int_equal(model->n_launches, n_early + n_own);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];

		assert_int_not_equal(grid->host, WARPSPAN_NONE);
		if (grid->phase == WARPSPAN_OWN)
			assert_int_equal(model->launches[grid->host].number, first_own + n++);
		else
			assert_in_range(model->launches[grid->host].number, first_own - n_early, first_own - 1);
	}
	assert_int_equal(n, n_own);
	assert_string_equal(model->started_by, "warpspan_start()");
	return model;
}

static void launches_of_before_that_have_ended_are_not_shown(void **state)
{
	struct run_result result;

	for (int constant = 0; constant < 2; constant++) {
		steps_run("launch:5 sync start launch:3 mark:half stop:10000 launch:2",
			  (const char *[]){ API, constant ? CONSTANT : NULL, NULL }, 0, &result);
		run_result_finish(&result);
		struct warpspan_model *model = load_joined(1, 0, 3, 7); /* the wait has a number, too */
		assert_true(model->quiet);
		assert_string_equal(model->stopped_by, "warpspan_stop()");
		assert_int_equal(model->n_host_marks, 1);
		assert_string_equal(model->host_marks[0].text, "half");
		assert_in_range(model->host_marks[0].time_ns, model->start_monotonic_ns, model->stop_monotonic_ns);
		warpspan_model_destroy(model);
		assert_int_equal(remove(in_folder("1.wspan")), 0);
	}
}

static void a_second_session_counts_on(void **state)
{
	struct run_result result;

	steps_run("launch:2 sync start launch:3 stop:10000 launch:4 sync start launch:1 other:2 stop:10000",
		  (const char *[]){ API, CONSTANT, NULL }, 0, &result);
	warpspan_model_destroy(load_joined(1, 0, 3, 4));
	warpspan_model_destroy(load_joined(2, 0, 3, 12));
	run_result_finish(&result);
}

/* Runs in_flight and loads its one session, whose launches, and those before, all have their grids. */
static void run_in_flight(unsigned n_early, unsigned n_own, unsigned n_late, bool constant)
{
	char numbers[3][16];
	struct run_result result;

	(void)remove(in_folder("1.wspan"));
	snprintf(numbers[0], sizeof(numbers[0]), "%u", n_early);
	snprintf(numbers[1], sizeof(numbers[1]), "%u", n_own);
	snprintf(numbers[2], sizeof(numbers[2]), "%u", n_late);
	steps_run_program(in_flight, (const char *[]){ numbers[0], numbers[1], numbers[2], NULL },
			  (const char *[]){ API, constant ? CONSTANT : NULL, NULL }, 0, &result);
	assert_holds(result.out, "start 0\nmark 0\n");
	run_result_finish(&result);
	struct warpspan_model *model = load_joined(1, n_early, n_own, n_early + 2); /* behind that of hold() */
	assert_int_equal(model->n_late_launches, n_late);
	assert_int_equal(model->n_late_warps, 4 * n_late);
	assert_int_equal(steps_grids(model, "step"), n_early + n_own);
	assert_true(model->quiet);
	warpspan_model_destroy(model);
}

static void launches_in_flight_at_the_start_are_marked_and_those_after_the_stop_counted(void **state)
{
	run_in_flight(3, 2, 0, false);
	run_in_flight(3, 2, 0, true);
	run_in_flight(0, 2, 3, false);
	run_in_flight(0, 2, 3, true);
	run_in_flight(2, 2, 2, false);
	run_in_flight(2, 2, 2, true);
}

static void reports_say_who_and_when_and_what_is_left_out(void **state)
{
	struct run_result result;

	run_in_flight(2, 1, 3, false);
	run_program(&(struct run){ .arguments = { steps_command(), "report", in_folder("1.wspan") } }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, "session   1, started by warpspan_start() at ");
	assert_holds(result.out, "stopped by warpspan_stop()");
	assert_holds(result.out, "3 launches (2 launched before the session)");
	assert_holds(result.out, "3 launches made after the stop, with 12 warps, are left out.");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { steps_command(), "report", "--json", in_folder("1.wspan") } },
		    &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, "\"started_by\":\t\"warpspan_start()\"");
	assert_holds(result.out, "\"late_launches\":\t3");
	assert_holds(result.out, "\"late_warps\":\t12");
	assert_holds(result.out, "\"before_session\":\ttrue");
	assert_holds(result.out, "\"text\":\t\"all launched\"");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { steps_command(), "info", in_folder("1.wspan") } }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, "session   1, started by warpspan_start() at ");
	assert_holds(result.out, "marks     1\n");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { steps_command(), "check", in_folder("1.wspan") } }, &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
}

/* Without kernels: the host's time needs no place beside the device's. */
static void marks_are_on_the_timeline(void **state)
{
	struct run_result result;

	steps_run("start mark:half\"way stop:10000", (const char *[]){ API, NULL }, 0, &result);
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { "gzip", "-dc", in_folder("1.json.gz") } }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, "{\"name\":\"half\\\"way\",\"cat\":\"mark\",\"args\":{},\"ph\":\"i\"");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { "grep", "-c", "half\"way", in_folder("1.pftrace") } }, &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(launches_of_before_that_have_ended_are_not_shown),
		T(a_second_session_counts_on),
		T(launches_in_flight_at_the_start_are_marked_and_those_after_the_stop_counted),
		T(reports_say_who_and_when_and_what_is_left_out),
		T(marks_are_on_the_timeline),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s BUILD\n", argv[0]);
		return 2;
	}
	steps_init(argv[1]);
	snprintf(in_flight, sizeof(in_flight), "%s/tests/preload/session/in_flight", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_signals.c BUILD - signals that start and stop sessions, and signals that are none of ours (signals.cu).
 */
#include "support.h"

#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STOP   "WARPSPAN_STOP_SIGNAL=USR1"
#define TOGGLE "WARPSPAN_TOGGLE_SIGNAL=RTMIN+7"
#define USR1   "10"

static char program[4096];

static void run_signals(const char *scenario, const char *signal, const char *const settings[], struct run_result *ret)
{
	steps_run_program(program, (const char *[]){ scenario, signal, NULL }, settings, 0, ret);
}

static void run_plain(const char *scenario, const char *signal, struct run_result *ret)
{
	run_program(&(struct run){ .arguments = { program, scenario, signal }, .timeout_s = 60 }, ret);
	assert_int_equal(ret->exit_status, 0);
}

static void assert_grids(unsigned session, unsigned grids)
{
	struct warpspan_model *model = steps_load(session);

	assert_int_equal(steps_grids(model, "step"), grids);
	assert_true(model->complete);
	warpspan_model_destroy(model);
}

static unsigned times(const char *text, const char *wanted)
{
	unsigned n = 0;

	for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted))
		n++;
	return n;
}

static void T28_a_signal_stops_the_session_and_the_program_lives(void **state)
{
	static const char *const names[][3] = { { "USR1", "10", "USR1" },
						{ "SIGUSR2", "12", "USR2" },
						{ "RTMIN+3", "RTMIN+3", "RTMIN+3" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct run_result result;
		char setting[128], out[128];

		snprintf(setting, sizeof(setting), "WARPSPAN_STOP_SIGNAL=%s", names[i][0]);
		snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%zu-%%n", folder, i);
		run_signals("default", names[i][1], (const char *[]){ setting, out, NULL }, &result);
		assert_string_equal(result.out, "active 1\nstopped 1\nalive 1\n");
		/* The second one finds nothing to stop. */
		snprintf(setting, sizeof(setting), "warning: signal %s: no session is active", names[i][2]);
		assert_holds(result.err, setting);
		run_result_finish(&result);
	}
	assert_int_equal(steps_captures(), 3);
}

static void T28_a_signal_stops_and_starts(void **state)
{
	struct run_result result;

	run_signals("toggle", "RTMIN+7", (const char *[]){ TOGGLE, NULL }, &result);
	assert_string_equal(result.out, "stopped 1\nstarted 1\nstopped again 1\n");
	assert_grids(1, 1);
	assert_grids(2, 2);
	run_result_finish(&result);
}

static void T28_a_signal_during_launches_stops(void **state)
{
	struct run_result result;

	run_signals("launches", USR1, (const char *[]){ STOP, "WARPSPAN_LOG=none", NULL }, &result);
	assert_string_equal(result.out, "stopped 1\nall ran 1\n");
	warpspan_model_destroy(steps_load(1));
	run_result_finish(&result);
}

static void T29_a_signal_that_the_program_has_is_left_alone(void **state)
{
	static const char *const scenarios[][3] = { { "handled", "handles", "1" }, { "ignored", "ignores", "0" } };

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct run_result result;
		char out[128], wanted[128];

		snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%zu", folder, i);
		run_signals(scenarios[i][0], USR1, (const char *[]){ STOP, out, NULL }, &result);
		snprintf(wanted, sizeof(wanted), "handled %s\nactive 1\nstill the program's 1\n", scenarios[i][2]);
		assert_string_equal(result.out, wanted);
		snprintf(wanted, sizeof(wanted), "WARPSPAN_STOP_SIGNAL=USR1: the program %s this signal itself",
			 scenarios[i][1]);
		assert_int_equal(times(result.err, wanted), 1);
		assert_holds(result.err, "warpspan ctl ");
		run_result_finish(&result);
	}
	assert_int_equal(steps_captures(), 2);
}

static void T29_a_signal_that_the_program_takes_over_is_its_own(void **state)
{
	struct run_result result;

	run_signals("later", USR1, (const char *[]){ STOP, NULL }, &result);
	assert_string_equal(result.out,
			    "handled 1\nactive 1\nstop 0\nstart 0\nstop 0\nstart 0\nstop 0\nstart 0\nstop 0\n"
			    "still the program's 1\n");
	assert_int_equal(times(result.err, "the program has taken this signal over"), 1);
	run_result_finish(&result);
}

/* It is said at the end at the latest. */
static void T29_a_signal_that_was_taken_over_is_said_in_the_only_session(void **state)
{
	struct run_result result;

	steps_run("launch:1 handle:10 raise:10 sync", (const char *[]){ STOP, NULL }, 0, &result);
	assert_holds(result.out, "raise 0\nsync 0\n");
	assert_int_equal(times(result.err, "the program has taken this signal over"), 1);
	run_result_finish(&result);
}

static void T29_a_handler_that_calls_ours_has_both(void **state)
{
	struct run_result result;

	run_signals("chain", USR1, (const char *[]){ STOP, NULL }, &result);
	assert_string_equal(result.out, "handled 1\nstopped 1\n");
	run_result_finish(&result);
}

static void T29_without_a_setting_no_signal_is_ours(void **state)
{
	struct run_result result;

	steps_run("launch:1 sync raise:10", NULL, 128 + 10, &result);
	run_result_finish(&result);
	warpspan_model_destroy(steps_load(1));
}

static void T29_calls_that_a_signal_interrupts_return_as_ever(void **state)
{
	static const char *const scenarios[] = { "interrupted", "restarting" };

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct run_result plain, ours;

		run_plain(scenarios[i], USR1, &plain);
		run_signals(scenarios[i], USR1, (const char *[]){ STOP, "WARPSPAN_OUT=x", "WARPSPAN_LOG=none", NULL },
			    &ours);
		assert_holds(plain.out, i == 0 ? "read -1 Interrupted" : "read 1 Success");
		assert_string_equal(ours.out, plain.out);
		run_result_finish(&plain);
		run_result_finish(&ours);
	}
}

static void T28_our_own_signal_interrupts_no_read(void **state)
{
	struct run_result result;

	run_signals("restarted", USR1, (const char *[]){ STOP, "WARPSPAN_LOG=none", NULL }, &result);
	assert_string_equal(result.out, "read 1 'x' Success\n");
	run_result_finish(&result);
}

/* Beside T31: with a signal of ours, and sessions. */
static void T31_masks_stay_where_sessions_come_and_go(void **state)
{
	struct run_result result;
	char *first, *line, *rest;

	run_signals("masks", "RTMIN+7", (const char *[]){ "WARPSPAN_STOP_SIGNAL=RTMIN+7", NULL }, &result);
	/* USR2 (12) and HUP (1), and nothing else, everywhere. */
	assert_int_equal(times(result.out, "SigBlk:\t0000000000000801\n"), 5);
	rest = strstr(result.out, "SigIgn");
	assert_non_null(rest);
	first = strndup(rest, strcspn(rest, "\n"));
	rest = result.out;
	while ((line = strsep(&rest, "\n")) != NULL)
		if (strstr(line, "SigIgn") != NULL)
			assert_string_equal(strstr(line, "SigIgn"), first);
	free(first);
	run_result_finish(&result);
}

static void T30_a_storm_of_signals(void **state)
{
	struct run_result result;

	run_signals("storm", "RTMIN+7", (const char *[]){ TOGGLE, "WARPSPAN_LOG=error", "WARPSPAN_FORMAT=none", NULL },
		    &result);
	assert_string_equal(result.out, "sent 100000\nerrno changed 0\nall ran 1\n");
	for (unsigned n = steps_captures(); n > 0; n--)
		warpspan_model_destroy(steps_load(n));
	run_result_finish(&result);
}

static void T30_a_signal_in_a_forked_child_is_the_childs(void **state)
{
	struct run_result result;

	run_signals("child", USR1, (const char *[]){ STOP, NULL }, &result);
	assert_string_equal(result.out, "child left with 7\nactive 1\n");
	assert_grids(1, 2);
	run_result_finish(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(T28_a_signal_stops_the_session_and_the_program_lives),
		TEST(T28_a_signal_stops_and_starts),
		TEST(T28_a_signal_during_launches_stops),
		TEST(T28_our_own_signal_interrupts_no_read),
		TEST(T29_a_signal_that_the_program_has_is_left_alone),
		TEST(T29_a_signal_that_the_program_takes_over_is_its_own),
		TEST(T29_a_signal_that_was_taken_over_is_said_in_the_only_session),
		TEST(T29_a_handler_that_calls_ours_has_both),
		TEST(T29_without_a_setting_no_signal_is_ours),
		TEST(T29_calls_that_a_signal_interrupts_return_as_ever),
		TEST(T30_a_storm_of_signals),
		TEST(T30_a_signal_in_a_forked_child_is_the_childs),
		TEST(T31_masks_stay_where_sessions_come_and_go),
	};

	if (argc != 2)
		return 2;
	steps_init(argv[1]);
	snprintf(program, sizeof(program), "%s/tests/preload/session/signals", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

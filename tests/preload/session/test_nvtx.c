/* SPDX-License-Identifier: Apache-2.0
 *
 * test_nvtx.c BUILD - WARPSPAN_START=nvtx:NAME: which ranges are sessions, how NVTX finds the library, what is said
 * where there is no range, and that programs notice nothing.
 */
#include "support.h"

#include "steps.h"

#include "nvtx_abi.h"

#include <nvtx3/nvToolsExt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOT       "WARPSPAN_START=nvtx:hot"
#define INJECTION "NVTX_INJECTION64_PATH"

static char build[2048];
static char injection[2200], plugin[2200]; /* "NAME=value" */

/* --- running ---------------------------------------------------------------------------------- */

static void split(const char *steps, char *words, size_t bytes, const char *arguments[RUN_MAX_ARGUMENTS], unsigned n)
{
	snprintf(words, bytes, "%s", steps);
	for (char *word; (word = strsep(&words, " ")) != NULL && n < RUN_MAX_ARGUMENTS - 1;)
		arguments[n++] = word;
}

/* Runs a program of tests/preload/session with these steps and settings (at most 8). The captures are
 * folder/SESSION.wspan. Fails the test unless it exits with 0. */
static void run_in(const char *program, const char *steps, const char *const settings[], struct run_result *ret_result)
{
	char out[128], path[2200], words[1024];
	struct run run = { .arguments = { path }, .environment = { out, plugin }, .folder = folder, .timeout_s = 60 };

	snprintf(path, sizeof(path), "%s/tests/preload/session/%s", build, program);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%n", folder);
	split(steps, words, sizeof(words), run.arguments, 1);
	for (unsigned i = 0; settings[i] != NULL; i++)
		run.environment[2 + i] = settings[i];
	run_program(&run, ret_result);
	if (ret_result->exit_status != 0)
		fail_msg("'%s %s' exited with %d:\n%s%s", program, steps, ret_result->exit_status, ret_result->out,
			 ret_result->err);
}

/* The usual way: preloaded, and NVTX told where it is. */
static void run_hot(const char *steps, struct run_result *ret_result)
{
	run_in("ranges", steps, (const char *[]){ steps_preload(), injection, HOT, NULL }, ret_result);
}

/* Session `n` holds so many grids of step(), and all that it launched. */
static void assert_session(unsigned n, unsigned steps)
{
	struct warpspan_model *model = steps_load(n);

	assert_int_equal(steps_grids(model, "step"), steps);
	assert_true(model->complete);
	assert_int_equal(model->n_lost_records, 0);
	warpspan_model_destroy(model);
}

/* The steps leave one session with so many grids. */
static void assert_one_session(const char *steps, unsigned grids)
{
	struct run_result result;

	run_hot(steps, &result);
	if (steps_captures() != 1)
		fail_msg("'%s' left %u captures:\n%s", steps, steps_captures(), result.err);
	assert_session(1, grids);
	if (strstr(result.out, "errno changed") != NULL || strstr(result.err, "warning") != NULL)
		fail_msg("'%s':\n%s%s", steps, result.out, result.err);
	run_result_finish(&result);
}

/* ... also if the folder holds what other steps left. */
static void assert_another_session(const char *steps, unsigned grids)
{
	remove_folder(NULL);
	make_folder(NULL);
	assert_one_session(steps, grids);
}

/* --- which ranges are sessions ---------------------------------------------------------------- */

static void a_range_is_a_session(void **state)
{
	assert_one_session("launch:1 sync push:hot launch:2 pop over launch:1", 2);
	assert_another_session("push:hot launch:2 sync pop over launch:1", 2); /* before CUDA is used */
	assert_another_session("launch:1 sync start:hot launch:2 end:0 over launch:1", 2);
	assert_another_session("push:cold launch:1 sync push:hot launch:2 pop over launch:1 pop over launch:1", 2);
	assert_another_session("push:hott push:ho push:HOT launch:1 pop pop pop push:hot pop", 0);
}

static void ranges_one_after_the_other_are_a_session_each(void **state)
{
	struct run_result result;

	run_hot("push:hot launch:1 pop over launch:4 sync start:hot launch:2 end:0 over launch:4 sync push-ex:hot "
		"launch:3 pop",
		&result);
	assert_int_equal(steps_captures(), 3);
	assert_session(1, 1);
	assert_session(2, 2);
	assert_session(3, 3);
	run_result_finish(&result);
	/* Without a pause: the next one waits until the one before is written. */
	remove_folder(NULL);
	make_folder(NULL);
	run_hot("push:hot launch:1 pop push:hot launch:2 pop push:hot launch:3 pop push:hot launch:4 pop", &result);
	assert_int_equal(steps_captures(), 4);
	for (unsigned i = 1; i <= 4; i++)
		assert_session(i, i);
	run_result_finish(&result);
}

static void every_form_of_message_counts(void **state)
{
	assert_one_session("push-wide:hot launch:2 pop over launch:1", 2);
	assert_another_session("push-ex:hot launch:2 pop over launch:1", 2);
	assert_another_session("push-ex-wide:hot launch:2 pop over launch:1", 2);
	assert_another_session("start-wide:hot launch:2 end:0 over launch:1", 2);
	assert_another_session("start-ex:hot launch:2 end:0 over launch:1", 2);
	assert_another_session("domain:d domain-push:hot launch:2 domain-pop over launch:1", 2);
	assert_another_session("domain:d domain-push-registered:hot launch:2 domain-pop over launch:1", 2);
	assert_another_session("domain:d domain-push-registered-wide:hot launch:2 domain-pop over launch:1", 2);
	assert_another_session("domain:d domain-start:hot launch:2 domain-end:0 over launch:1", 2);
	assert_another_session("domain:d domain-push-registered:cold launch:1 sync domain-pop push:hot launch:2 pop",
			       2);
	assert_another_session("push-nameless launch:1 sync push:hot launch:2 pop over launch:1 pop", 2);
}

static void names_may_have_any_letters(void **state)
{
	const char *const steps[] = { "push:h\u00e9\u4e16\U0001f525 launch:2 pop",
				      "push-wide:h\u00e9\u4e16\U0001f525 launch:2 pop",
				      "start-wide:h\u00e9\u4e16\U0001f525 launch:2 end:0" };

	for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct run_result result;

		remove_folder(NULL);
		make_folder(NULL);
		run_in("ranges", steps[i],
		       (const char *[]){ steps_preload(), injection, "WARPSPAN_START=nvtx:h\u00e9\u4e16\U0001f525",
					 NULL },
		       &result);
		assert_int_equal(steps_captures(), 1);
		assert_session(1, 2);
		run_result_finish(&result);
	}
}

static void the_interface_of_cpp_counts(void **state)
{
	assert_one_session("launch:1 sync scoped:hot over launch:1", 1);
	assert_another_session("launch:1 sync scoped-in-domain:hot over launch:1", 1);
	assert_another_session("launch:1 sync unique:hot over launch:1", 1);
}

static void nested_ranges_are_one_session(void **state)
{
	assert_one_session("push:hot launch:1 push:hot launch:1 pop still launch:1 push:cold launch:1 pop still "
			   "launch:1 pop over launch:1",
			   5);
	assert_another_session("start:hot start:hot launch:1 end:0 still launch:1 end:1 over launch:1", 2);
	assert_another_session("push:hot start:hot launch:1 pop still launch:1 end:0 over launch:1", 2);
	assert_another_session("push:hot launch:1 thread:push:hot,launch:1,pop still launch:1 pop over launch:1", 3);
}

static void a_pop_is_of_its_thread_and_domain(void **state)
{
	assert_one_session("push:hot launch:1 thread:pop,pop still launch:1 pop over launch:1", 2);
	assert_another_session(
		"domain:d push:hot domain-push:x launch:1 domain-pop domain-pop still launch:1 pop over launch:1", 2);
	assert_another_session(
		"domain:d domain-push:hot push:x launch:1 pop pop domain:e domain-pop still launch:1 domain:d "
		"domain-pop over launch:1",
		2);
	assert_another_session("domain:d domain-push:hot launch:1 domain-wide:d domain-pop over launch:1",
			       1); /* the same one */
	assert_another_session("pop pop push:hot launch:1 pop pop over launch:1", 1);
}

static void a_started_range_may_end_in_another_thread(void **state)
{
	assert_one_session("start:hot launch:1 thread:launch:1,end:0 over launch:1", 2);
	assert_another_session("thread:start:hot launch:1 end:0 over launch:1", 1);
	assert_another_session("start:cold start:hot launch:1 end:0 still launch:1 end:1 end:1 over launch:1",
			       2); /* twice */
}

static void a_thread_that_is_cancelled_does_not_end_in_a_range(void **state)
{
	struct run_result result;

	run_hot("launch:1 sync cancelled:hot push:hot launch:2 pop", &result);
	assert_holds(result.out, "cancelled 1\n");
	assert_session(1, 0);
	assert_session(2, 2);
	run_result_finish(&result);
}

static void a_session_of_somebody_else_is_left_alone(void **state)
{
	struct run_result result;
	const char *first;

	run_hot("api-start push:hot launch:1 pop push:hot pop still launch:1 api-stop push:hot launch:3 pop", &result);
	assert_int_equal(steps_captures(), 2);
	assert_session(1, 2);
	assert_session(2, 3);
	first = strstr(result.err, "NVTX range 'hot': a session is already active: started by warpspan_start() at ");
	assert_non_null(first);
	assert_null(strstr(first + 1, "NVTX range 'hot'"));
	run_result_finish(&result);
	remove_folder(NULL);
	make_folder(NULL);
	/* Ours, stopped by somebody else: the next range is a session again. */
	run_hot("push:hot launch:1 api-stop launch:1 sync api-start launch:2 pop still launch:1 api-stop push:hot "
		"launch:4 "
		"pop",
		&result);
	assert_int_equal(steps_captures(), 3);
	assert_session(1, 1);
	assert_session(2, 3);
	assert_session(3, 4);
	run_result_finish(&result);
}

static void a_range_without_an_end_goes_on_to_the_end_of_the_program(void **state)
{
	assert_one_session("launch:1 sync push:hot launch:2", 2);
}

static void too_many_at_a_time_are_said(void **state)
{
	struct run_result result;

	/* Each in a thread that never pops: one after the other, all open. */
	run_hot("many:100 launch:1", &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 1);
	assert_holds(result.err,
		     "warning: more than 64 NVTX ranges 'hot' are open at a time: the others start no session\n");
	run_result_finish(&result);
}

/* --- how NVTX finds the library --------------------------------------------------------------- */

static void every_kind_of_program_finds_it(void **state)
{
	static const char *const programs[] = { "ranges", "ranges_fixed" };

	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		struct run_result result;

		remove_folder(NULL);
		make_folder(NULL);
		run_in(programs[i], "launch:1 sync push:hot launch:2 pop over launch:1",
		       (const char *[]){ steps_preload(), injection, HOT, NULL }, &result);
		assert_int_equal(steps_captures(), 1);
		assert_session(1, 2);
		run_result_finish(&result);
	}
}

static void so_does_a_library_that_is_loaded_later(void **state)
{
	assert_one_session("launch:1 sync plugin-push:hot launch:2 plugin-pop over launch:1", 2);
	/* Stacks are the thread's, whichever copy of NVTX it uses. */
	assert_another_session("push:cold plugin-push:hot launch:2 plugin-pop over launch:1 pop", 2);
}

static void a_program_that_looks_for_preloaded_tools_needs_no_variable(void **state)
{
	struct run_result result;

	run_in("ranges_looking", "launch:1 sync push:hot launch:2 pop environment:" INJECTION,
	       (const char *[]){ steps_preload(), INJECTION, HOT, NULL }, &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 2);
	assert_holds(result.out, "environment 0\n");
	run_result_finish(&result);
}

static void the_command_sets_the_variable(void **state)
{
	char out[128], path[2200];
	struct run_result result;
	struct run run = { .arguments = { steps_command(), "run", "--start", "nvtx:hot", "--out", out, path, "launch:1",
					  "sync", "push:hot", "launch:2", "pop", "environment:" INJECTION, NULL },
			   .environment = { INJECTION, "WARPSPAN_LOG=warn", NULL } };

	snprintf(path, sizeof(path), "%s/tests/preload/session/ranges", build);
	snprintf(out, sizeof(out), "%s/%%n", folder);
	assert_int_equal(run_program(&run, &result), 0);
	assert_string_equal(result.err, "");
	assert_holds(result.out, "environment 1\n");
	assert_session(1, 2);
	run_result_finish(&result);
	/* Only then. */
	run.arguments[3] = "now";
	assert_int_equal(run_program(&run, &result), 0);
	assert_holds(result.out, "environment 0\n");
	run_result_finish(&result);
	/* It is the user's. */
	run.arguments[3] = "nvtx:hot";
	run.environment[0] = INJECTION "=/nowhere/libother.so";
	assert_int_equal(run_program(&run, &result), 0);
	assert_holds(result.err,
		     "warning: NVTX is taken: " INJECTION "='/nowhere/libother.so'. WARPSPAN_START=nvtx:hot sees no "
		     "range and starts nothing\n");
	assert_null(strstr(result.err, "no NVTX"));
	run_result_finish(&result);
}

static void loaded_and_not_preloaded_it_says_so(void **state)
{
	struct run_result result;

	run_in("ranges", "push:hot launch:1 pop push:hot pop", (const char *[]){ injection, HOT, NULL }, &result);
	assert_holds(result.err,
		     "NVTX has loaded the library, but it is not preloaded: nothing is recorded. LD_PRELOAD must "
		     "name it, too\n");
	assert_string_equal(result.out, "push -2\nlaunch 0\npop -2\npush -2\npop -2\n");
	assert_int_equal(steps_captures(), 0);
	run_result_finish(&result);
}

/* --- what is said where there is no range ----------------------------------------------------- */

static void names_of_other_ranges_are_said(void **state)
{
	struct run_result result;

	run_hot("push:warm launch:1 pop push:cold pop push:warm pop start-wide:tepid end:0 domain:d "
		"domain-push-registered:icy",
		&result);
	assert_holds(result.err,
		     "warning: nothing was recorded: no NVTX range had the name 'hot'; there were 'warm', 'cold', "
		     "'tepid', 'icy'\n");
	assert_int_equal(steps_captures(), 0);
	run_result_finish(&result);
	run_hot("push:1 push:2 push:3 push:4 push:5 push:6 push:7 push:8 push:9 push:10 push:11 push:12 push:13 "
		"launch:1",
		&result);
	assert_holds(result.err, "'11', '12', ...\n");
	run_result_finish(&result);
	run_hot("push-nameless launch:1 pop", &result);
	assert_holds(result.err, "warning: nothing was recorded: no NVTX range had the name 'hot', nor any other\n");
	run_result_finish(&result);
}

static void a_program_without_nvtx_is_told(void **state)
{
	struct run_result result;
	char wanted[2400];

	run_hot("launch:1", &result);
	assert_holds(result.err,
		     "warning: nothing was recorded: the program made no NVTX call (WARPSPAN_START=nvtx:hot)\n");
	run_result_finish(&result);
	run_in("ranges", "push:hot launch:1 pop", (const char *[]){ steps_preload(), INJECTION, HOT, NULL }, &result);
	snprintf(wanted, sizeof(wanted),
		 "warning: nothing was recorded: no NVTX call was seen (WARPSPAN_START=nvtx:hot); NVTX finds the "
		 "library by "
		 "export %s (warpspan run does that)\n",
		 injection);
	assert_holds(result.err, wanted);
	assert_int_equal(steps_captures(), 0);
	run_result_finish(&result);
	/* One that uses no CUDA, or no kernel with the header, does not notice the library. */
	run_hot("push:warm pop", &result);
	assert_string_equal(result.err, "");
	run_result_finish(&result);
	run_hot("sync push:warm pop", &result);
	assert_string_equal(result.err, "");
	run_result_finish(&result);
}

static void a_session_that_cannot_start_is_said_once(void **state)
{
	struct run_result result;
	char *first;

	run_in("ranges", "launch:1 sync push:hot launch:1 pop push:hot launch:1 pop",
	       (const char *[]){ steps_preload(), injection, HOT, "WARPSPAN_OUT=/nowhere/x", NULL }, &result);
	first = strstr(result.err, "NVTX range 'hot': cannot write '/nowhere/x.wspan'");
	assert_non_null(first);
	assert_null(strstr(first + 1, "NVTX range 'hot'"));
	run_result_finish(&result);
}

/* --- what programs notice --------------------------------------------------------------------- */

#define ALL_STEPS                                                                                              \
	"push:hot push-wide:a pop pop push-ex:hot push-ex-wide:b pop pop domain:d domain-push:hot domain-pop " \
	"domain-pop pop "                                                                                      \
	"domain-push-registered:hot domain-pop start:hot start-wide:c end:1 end:0 plugin-push:hot plugin-pop " \
	"launch:1 "                                                                                            \
	"scoped:hot environment:" INJECTION

static void programs_notice_nothing(void **state)
{
	static const char *const starts[] = { HOT, "WARPSPAN_START=nvtx:other", "WARPSPAN_START=now",
					      "WARPSPAN_START=api" };
	struct run_result alone, with;

	run_in("ranges", ALL_STEPS, (const char *[]){ INJECTION, NULL }, &alone);
	assert_holds(alone.out, "push -2\n");
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		run_in("ranges", ALL_STEPS, (const char *[]){ steps_preload(), INJECTION, starts[i], NULL }, &with);
		assert_string_equal(with.out, alone.out);
		run_result_finish(&with);
	}
	run_result_finish(&alone);
	/* The library as the tool returns what NVTX returns without one. */
	run_in("ranges", ALL_STEPS, (const char *[]){ "NVTX_INJECTION64_PATH=/nowhere", NULL }, &alone);
	for (unsigned i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		run_in("ranges", ALL_STEPS, (const char *[]){ steps_preload(), injection, starts[i], NULL }, &with);
		assert_string_equal(with.out, alone.out);
		run_result_finish(&with);
	}
	run_result_finish(&alone);
}

static void with_another_start_ranges_are_nothing(void **state)
{
	struct run_result result;

	run_in("ranges", "launch:1 push:hot launch:1 pop launch:1",
	       (const char *[]){ steps_preload(), injection, "WARPSPAN_START=now", NULL }, &result);
	assert_int_equal(steps_captures(), 1);
	assert_session(1, 3);
	run_result_finish(&result);
	remove_folder(NULL);
	make_folder(NULL);
	run_in("ranges", "launch:1 push:hot launch:1 pop launch:1",
	       (const char *[]){ steps_preload(), injection, "WARPSPAN_START=api", NULL }, &result);
	assert_int_equal(steps_captures(), 0);
	assert_null(strstr(result.err, "NVTX"));
	run_result_finish(&result);
}

static void a_forked_child_is_inert(void **state)
{
	assert_one_session("push:hot launch:1 child:pop,push:hot,pop,start:hot,end:0 still launch:1 pop over launch:1",
			   2);
}

static void a_child_forked_before_the_first_range_is_recorded(void **state)
{
	assert_one_session("push:cold child:push:hot,launch:2,pop,over,launch:1 pop", 2);
}

/* --- the two sides agree ---------------------------------------------------------------------- */

static void nvtx_is_as_written_down(void **state)
{
#define WARPSPAN_X(module, place, in_nvtx, ours) assert_int_equal(place, NVTX_CBID_##module##_##in_nvtx);
	WARPSPAN_NVTX_CALLBACKS(WARPSPAN_X)
#undef WARPSPAN_X
	assert_int_equal(WARPSPAN_NVTX_MODULE_CORE, NVTX_CB_MODULE_CORE);
	assert_int_equal(WARPSPAN_NVTX_MODULE_CORE2, NVTX_CB_MODULE_CORE2);
	assert_int_equal(WARPSPAN_NVTX_TABLE_CALLBACKS, NVTX_ETID_CALLBACKS);
	assert_int_equal(WARPSPAN_NVTX_TABLE_VERSION, NVTX_ETID_VERSIONINFO);
	assert_int_equal(WARPSPAN_NVTX_VERSION, NVTX_VERSION);
	assert_int_equal(WARPSPAN_NVTX_MESSAGE_ASCII, NVTX_MESSAGE_TYPE_ASCII);
	assert_int_equal(WARPSPAN_NVTX_MESSAGE_WIDE, NVTX_MESSAGE_TYPE_UNICODE);
	assert_int_equal(WARPSPAN_NVTX_MESSAGE_REGISTERED, NVTX_MESSAGE_TYPE_REGISTERED);
	assert_int_equal(WARPSPAN_NVTX_NOT_COUNTED, NVTX_NO_PUSH_POP_TRACKING);
	assert_int_equal(sizeof(struct warpspan_nvtx_attributes), sizeof(nvtxEventAttributes_t));
	assert_int_equal(offsetof(struct warpspan_nvtx_attributes, message_type),
			 offsetof(nvtxEventAttributes_t, messageType));
	assert_int_equal(offsetof(struct warpspan_nvtx_attributes, message), offsetof(nvtxEventAttributes_t, message));
	assert_int_equal(sizeof(struct warpspan_nvtx_callbacks), sizeof(NvtxExportTableCallbacks));
	assert_int_equal(offsetof(struct warpspan_nvtx_callbacks, get_module),
			 offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable));
	assert_int_equal(sizeof(struct warpspan_nvtx_version), sizeof(NvtxExportTableVersionInfo));
	assert_int_equal(offsetof(struct warpspan_nvtx_version, set_of_tool),
			 offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_range_is_a_session),
		TEST(ranges_one_after_the_other_are_a_session_each),
		TEST(every_form_of_message_counts),
		TEST(names_may_have_any_letters),
		TEST(the_interface_of_cpp_counts),
		TEST(nested_ranges_are_one_session),
		TEST(a_pop_is_of_its_thread_and_domain),
		TEST(a_started_range_may_end_in_another_thread),
		TEST(a_thread_that_is_cancelled_does_not_end_in_a_range),
		TEST(a_session_of_somebody_else_is_left_alone),
		TEST(a_range_without_an_end_goes_on_to_the_end_of_the_program),
		TEST(too_many_at_a_time_are_said),
		TEST(every_kind_of_program_finds_it),
		TEST(so_does_a_library_that_is_loaded_later),
		TEST(a_program_that_looks_for_preloaded_tools_needs_no_variable),
		TEST(the_command_sets_the_variable),
		TEST(loaded_and_not_preloaded_it_says_so),
		TEST(names_of_other_ranges_are_said),
		TEST(a_program_without_nvtx_is_told),
		TEST(a_session_that_cannot_start_is_said_once),
		TEST(programs_notice_nothing),
		TEST(with_another_start_ranges_are_nothing),
		TEST(a_forked_child_is_inert),
		TEST(a_child_forked_before_the_first_range_is_recorded),
		cmocka_unit_test(nvtx_is_as_written_down),
	};

	if (argc != 2)
		return 2;
	steps_init(argv[1]);
	snprintf(build, sizeof(build), "%s", argv[1]);
	snprintf(injection, sizeof(injection), INJECTION "=%s/shim/libwarpspan.so", build);
	snprintf(plugin, sizeof(plugin), "RANGES_PLUGIN=%s/tests/preload/session/libsession_ranges_plugin.so", build);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

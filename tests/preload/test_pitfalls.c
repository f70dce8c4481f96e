/* SPDX-License-Identifier: Apache-2.0
 *
 * test_pitfalls.c - what went wrong in other libraries of this kind, on a driver that provokes it (fake_driver/). The
 * numbers are those of the table of pitfalls in README.md.
 *
 * Arguments: the library, probe_pitfalls, probe_late, libraries/late.c, the driver, the driver with the other kind of
 * symbol table.
 */
#include "folder.h"
#include "run.h"
#include "support.h"

#include "capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char preload[4096], output[4096];
static const char *probe, *late_probe, *late_library, *driver, *plain_hash_driver;

static int make_output_folder(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	(void)snprintf(output, sizeof(output), "WARPSPAN_OUT=%s/out", folder);
	return 0;
}

/* Runs a row, which must end as it should. The caller finishes the result. */
static void run_row(const char *row, bool with, struct run_result *ret_result)
{
	const struct run run = { .arguments = { probe, row },
				 .environment = { with ? preload : "LD_PRELOAD", output, "WARPSPAN_FORMAT=none" },
				 .timeout_s = 30 };

	(void)run_program(&run, ret_result);
	if (ret_result->exit_status != 42)
		fail_msg("row %s: %d: %s", row, ret_result->exit_status, ret_result->err);
}

/* What the program sees is the same with and without the library. */
static void is_the_same(const char *row)
{
	struct run_result without, with;

	run_row(row, false, &without);
	run_row(row, true, &with);
	assert_true(without.out_bytes > 0);
	assert_string_equal(with.out, without.out);
	run_result_finish(&without);
	run_result_finish(&with);
}

static void prints(const char *row, const char *expected)
{
	struct run_result with;

	run_row(row, true, &with);
	assert_string_equal(with.out, expected);
	run_result_finish(&with);
}

/* How many items of `bytes` bytes the chunks of this type hold in the capture. */
static unsigned count_items(enum warpspan_chunk_type type, size_t bytes)
{
	char path[128];
	struct capture *capture = NULL;
	struct warpspan_error error = { 0 };
	unsigned n = 0;

	(void)snprintf(path, sizeof(path), "%s/out.wspan", folder);
	if (capture_open(path, &capture, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_true(capture->complete);
	for (size_t i = 0; i < capture->chunks.n; i++)
		if (capture->chunks.items[i].type == (uint32_t)type)
			n += capture->chunks.items[i].payload_bytes / bytes;
	(void)capture_close(capture);
	return n;
}

static unsigned n_launches(void)
{
	return count_items(WARPSPAN_CHUNK_LAUNCHES, sizeof(struct warpspan_launch));
}

static void T3_a_resolver_asked_for_again_has_the_abi_of_its_version(void **state)
{
	is_the_same("3");
	prints("3", "0 99 1 0 1 500 1\nown 1\n");
}

static void T4_flags_choose_the_form_for_per_thread_streams(void **state)
{
	prints("4", "cuLaunchKernel cuCtxGetCurrent cuLaunchKernel_ptsz \n");
	assert_int_equal(n_launches(), 3);
}

static void T5_every_answer_of_the_resolver_passes_through(void **state)
{
	is_the_same("5");
}

/* A program whose libcuda comes late and would go early, with an error of its own pending. */
static void late(const char *late_driver, const char *route)
{
	const struct run run = { .arguments = { late_probe, late_driver, late_library, route },
				 .environment = { preload, output, "WARPSPAN_FORMAT=none",
						  "WARPSPAN_TEST_NO_LOOKUPS=1" },
				 .timeout_s = 30 };
	struct run_result result;

	(void)run_program(&run, &result);
	if (result.exit_status != 42)
		fail_msg("%s: %d: %s%s", route, result.exit_status, result.out, result.err);
	assert_string_equal(result.out, "pending: still\n"
					"launch 0, libcuda stays\n"
					"pending: still\n"
					"launch 0, libcuda stays\n");
	run_result_finish(&result);
	assert_int_equal(n_launches(), 2);
}

static void T9_an_error_pending_at_the_start_stays_pending(void **state)
{
	late(driver, "looked up");
}

static void T9_a_library_linked_with_the_driver_keeps_its_error_too(void **state)
{
	late(driver, "linked");
}

static void T9_a_driver_with_a_plain_symbol_table_is_read_as_well(void **state)
{
	late(plain_hash_driver, "looked up");
}

static void T12_the_drivers_own_lookups_find_its_own_functions(void **state)
{
	is_the_same("12");
	prints("12", "1\n");
}

static void T14_a_captured_stream_hears_the_question_and_the_launch(void **state)
{
	prints("14", "invalidated: cuStreamIsCapturing cuLaunchKernel cuStreamIsCapturing cuLaunchKernel - 0 901 0\n"
		     "implicit: cuStreamIsCapturing cuLaunchKernel cuStreamIsCapturing cuLaunchKernel - 0 901 0\n"
		     "unknown: cuStreamIsCapturing cuLaunchKernel cuStreamIsCapturing cuLaunchKernel - 0 901 0\n"
		     "active: cuStreamIsCapturing cuLaunchKernel cuStreamIsCapturing cuLaunchKernel - 0 0 1\n"
		     "afterwards: cuCtxGetCurrent cuLaunchKernel \n"
		     "not begun: 401\n");
	/* Those that ran: the first and the last. */
	assert_int_equal(n_launches(), 2);
}

static void T15_another_threads_global_capture_is_not_broken(void **state)
{
	prints("15", "attached 1, violations 0\n");
}

static void T16_codes_arguments_and_errno_are_the_drivers_and_the_programs(void **state)
{
	is_the_same("16");
}

static void T17_functions_and_kernels_lead_to_their_modules(void **state)
{
	prints("17", "function 1, kernel 1\n");
	assert_int_equal(n_launches(), 2);
}

static void T18_only_a_clear_no_is_remembered(void **state)
{
	prints("18", "bare 1, failed 5, attached 1\n");
	assert_int_equal(n_launches(), 2);
}

static void T19_a_reset_context_is_another_and_drained_first(void **state)
{
	prints("19", "1 drained 1, 0 1\n");
	assert_int_equal(n_launches(), 2);
}

static void T20_a_recycled_handle_is_another_function(void **state)
{
	prints("20", "1 1 0\n");
	assert_int_equal(n_launches(), 2);
}

static void T31_signals_of_the_program_and_its_children_stay_theirs(void **state)
{
	struct run_result without, with;

	run_row("31", false, &without);
	run_row("31", true, &with);
	assert_string_equal(with.out, without.out);
	assert_non_null(strstr(without.err, "threads 0, all blocked 0\n"));
	if (strstr(with.err, "threads 2, all blocked 2\n") == NULL)
		fail_msg("not two threads of ours, blocked: %s", with.err);
	run_result_finish(&without);
	run_result_finish(&with);
}

static void T32_the_session_ends_before_the_driver_does(void **state)
{
	prints("32", "leaving\n");
	assert_int_equal(n_launches(), 1);
}

static void T32_calls_after_the_drivers_end_get_its_answer(void **state)
{
	is_the_same("32 late");
	prints("32 late", "late: 4\n");
}

static void a_cancelled_thread_does_not_end_inside_the_library(void **state)
{
	is_the_same("cancelled");
	prints("cancelled", "results 0\nreturned 1, others 0\n");
	assert_int_equal(n_launches(), 3);
}

static void dependent_launches_stay_neighbours(void **state)
{
	prints("dependent", "cuCtxGetCurrent cuLaunchKernel cuCtxGetCurrent cuLaunchKernelEx \n");
}

/* The text of the last "counters" object holds `text`. */
static bool counters_hold(const char *text)
{
	char path[128];
	struct capture *capture = NULL;
	struct warpspan_error error = { 0 };
	bool holds = false;

	(void)snprintf(path, sizeof(path), "%s/out.wspan", folder);
	if (capture_open(path, &capture, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	for (size_t i = 0; i < capture->chunks.n; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];

		if (chunk->type == (uint32_t)WARPSPAN_CHUNK_META &&
		    memmem(chunk->payload, chunk->payload_bytes, "\"counters\"", 10) != NULL)
			holds = memmem(chunk->payload, chunk->payload_bytes, text, strlen(text)) != NULL;
	}
	(void)capture_close(capture);
	return holds;
}

static void functions_newer_than_the_library_pass_through_and_are_counted(void **state)
{
	prints("newer", "1 0\n");
	assert_int_equal(n_launches(), 2);
	assert_true(counters_hold("\"newer_entry_points\":1"));
}

static void launches_of_old_are_counted_and_their_modules_attached(void **state)
{
	struct run_result result;

	run_row("old", true, &result);
	assert_string_equal(result.out, "0 0 0 0, attached 1\n");
	assert_non_null(strstr(result.err, "3 launches were not recorded: cuLaunch, cuLaunchGrid and their like"));
	run_result_finish(&result);
	assert_int_equal(n_launches(), 0);
	assert_true(counters_hold("\"old_launches\":3"));
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_output_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(T3_a_resolver_asked_for_again_has_the_abi_of_its_version),
		T(T4_flags_choose_the_form_for_per_thread_streams),
		T(T5_every_answer_of_the_resolver_passes_through),
		T(T9_an_error_pending_at_the_start_stays_pending),
		T(T9_a_library_linked_with_the_driver_keeps_its_error_too),
		T(T9_a_driver_with_a_plain_symbol_table_is_read_as_well),
		T(T12_the_drivers_own_lookups_find_its_own_functions),
		T(T14_a_captured_stream_hears_the_question_and_the_launch),
		T(T15_another_threads_global_capture_is_not_broken),
		T(T16_codes_arguments_and_errno_are_the_drivers_and_the_programs),
		T(T17_functions_and_kernels_lead_to_their_modules),
		T(T18_only_a_clear_no_is_remembered),
		T(T19_a_reset_context_is_another_and_drained_first),
		T(T20_a_recycled_handle_is_another_function),
		T(T31_signals_of_the_program_and_its_children_stay_theirs),
		T(T32_the_session_ends_before_the_driver_does),
		T(T32_calls_after_the_drivers_end_get_its_answer),
		T(a_cancelled_thread_does_not_end_inside_the_library),
		T(dependent_launches_stay_neighbours),
		T(launches_of_old_are_counted_and_their_modules_attached),
		T(functions_newer_than_the_library_pass_through_and_are_counted),
	};

	if (argc != 7)
		return 2;
	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", realpath(argv[1], NULL));
	probe = realpath(argv[2], NULL);
	late_probe = realpath(argv[3], NULL);
	late_library = realpath(argv[4], NULL);
	driver = realpath(argv[5], NULL);
	plain_hash_driver = realpath(argv[6], NULL);
	return cmocka_run_group_tests_name("pitfalls", tests, NULL, NULL);
}

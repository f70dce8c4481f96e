/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ends.c BUILD INTERRUPT - every way a program ends, and what its captures hold then (leave.cu).
 */
#include "support.h"

#include "steps.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What an end takes beyond the time it waits for kernels, on a machine that is busy otherwise. */
#define EXTRA_S 8.0

/* Less than a description of a session has. */
#define DESCRIPTION_BYTES 256

static char program[4096];
static const char *interrupt_library; /* libraries/interrupt.c */

static void leave(const char *way, const char *number, const char *const settings[], int status, struct run_result *ret)
{
	steps_run_program(program, (const char *[]){ way, number, NULL }, settings, status, ret);
}

/* Session 1 has all 20 launches; an orderly end leaves nothing out. */
static void assert_first(bool complete)
{
	struct warpspan_model *model = steps_load(1);

	assert_int_equal(model->complete, complete);
	assert_int_equal(steps_grids(model, "step"), 20);
	warpspan_model_destroy(model);
}

/* It ended before the session was described, which is the first thing that is. */
static bool is_a_beginning(const char *path)
{
	struct stat file;

	return stat(path, &file) == 0 && file.st_size < DESCRIPTION_BYTES;
}

/* What ends a program at once may end it within a write. Then the chunk that was being written is missing, which is
 * said, and nothing else. */
static bool is_torn(const struct warpspan_model *model, const struct warpspan_error *error)
{
	return model->n_damage == 1 && strstr(error->text, "the file ends inside") != NULL;
}

/* Every capture in the folder can be read; how many there are. `killed`: the programs were not asked to end. */
static unsigned assert_readable(bool killed)
{
	DIR *files = opendir(folder);
	unsigned n = 0;

	assert_non_null(files);
	for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
		const char *dot = strrchr(entry->d_name, '.');
		struct warpspan_model *model = NULL;
		struct warpspan_error error;
		int result;

		if (dot == NULL || strcmp(dot, ".wspan") != 0)
			continue;
		if (is_a_beginning(in_folder(entry->d_name)))
			continue;
		result = warpspan_model_load(in_folder(entry->d_name), &model, &error);
		if (result != WARPSPAN_OK && (!killed || result != WARPSPAN_DAMAGED || !is_torn(model, &error)))
			fail_msg("%s", error.text);
		warpspan_model_destroy(model);
		n++;
	}
	closedir(files);
	return n;
}

static unsigned assert_all_readable(void)
{
	return assert_readable(false);
}

static void an_orderly_end_leaves_a_complete_capture(void **state)
{
	static const char *const ways[] = { "main", "exit", "thread", "quick_exit", "exporting" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_result result;

		leave(ways[i], NULL, NULL, 5, &result);
		assert_string_equal(result.out, "");
		assert_first(true);
		assert_int_equal(access(in_folder("1.pftrace"), R_OK), 0);
		run_result_finish(&result);
		remove_folder(state);
		make_folder(state);
	}
}

static void T33_what_ends_a_program_at_once_leaves_what_was_drained(void **state)
{
	static const struct {
		const char *way, *number;
		int status;
	} ways[] = {
		{ "_exit", NULL, 5 },
		{ "abort", NULL, 128 + SIGABRT },
		{ "throw", NULL, 128 + SIGABRT },
		{ "raise", "15", 128 + SIGTERM },
		{ "raise", "2", 128 + SIGINT },
		{ "raise", "11", 128 + SIGSEGV },
		{ "raise", "9", 128 + SIGKILL },
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_result result;

		leave(ways[i].way, ways[i].number, NULL, ways[i].status, &result);
		assert_first(false);
		run_result_finish(&result);
		remove_folder(state);
		make_folder(state);
	}
}

static void T33_captures_of_programs_killed_at_any_time_can_be_read(void **state)
{
	struct run_result result;
	char out[128];
	unsigned n;

	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%p", folder);
	leave("kill", "200", (const char *[]){ out, "WARPSPAN_LOG=none", NULL }, 0, &result);
	n = assert_readable(true);
	print_message("%u captures of 200 programs that were killed, in %.1f s\n", n, result.seconds);
	assert_true(n > 20);
	run_result_finish(&result);
}

static void an_end_inside_a_callback_is_bounded(void **state)
{
	struct run_result result;

	leave("callback", NULL, (const char *[]){ "WARPSPAN_EXIT_TIMEOUT=500ms", NULL }, 5, &result);
	assert_true(result.seconds < 0.5 + EXTRA_S);
	assert_first(true);
	run_result_finish(&result);
}

static void a_kernel_that_never_ends_holds_no_end(void **state)
{
	static const char *const ways[] = { "hang", "hang_quick" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_result result;

		leave(ways[i], NULL, (const char *[]){ "WARPSPAN_EXIT_TIMEOUT=300ms", NULL }, 5, &result);
		assert_true(result.seconds < 0.3 + EXTRA_S);
		assert_holds(result.err, "kernels still run");
		run_result_finish(&result);
		assert_int_equal(assert_all_readable(), 1);
		remove_folder(state);
		make_folder(state);
	}
}

static void an_end_while_sessions_come_and_go(void **state)
{
	unsigned n_captures = 0;

	for (unsigned i = 0; i < 4; i++) {
		struct run_result result;
		char number[16];

		snprintf(number, sizeof(number), "%u", 500 + i * 9001);
		leave("busy", number, (const char *[]){ "WARPSPAN_START=api", "WARPSPAN_LOG=error", NULL }, 5, &result);
		assert_string_equal(result.err, "");
		assert_true(result.seconds < 2 + EXTRA_S);
		run_result_finish(&result);
		n_captures += assert_all_readable(); /* the earliest end may come before the first session */
		remove_folder(state);
		make_folder(state);
	}
	assert_true(n_captures > 0);
}

/* The same, where a mutex of the library is held: each time one is. */
static void an_end_by_a_handler_within_the_library(void **state)
{
	unsigned n = 0;
	int status;

	do {
		struct run_result result;
		char at[32], both[8192], out[128];

		snprintf(at, sizeof(at), "INTERRUPT_AT=%u", ++n);
		snprintf(both, sizeof(both), "LD_PRELOAD=%s:%s", interrupt_library,
			 steps_preload() + strlen("LD_PRELOAD="));
		snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%u-%%n", folder, n);
		run_program(&(struct run){ .arguments = { program, "interrupted" },
					   .environment = { both, at, out, "WARPSPAN_FORMAT=none", "WARPSPAN_LOG=none",
							    "WARPSPAN_START=api", "WARPSPAN_EXIT_TIMEOUT=100ms" },
					   .timeout_s = 20 },
			    &result);
		status = result.exit_status;
		if (status != 0 && status != 5)
			fail_msg("interrupted at %u: %d\n%s%s", n, status, result.out, result.err);
		assert_true(result.seconds < 0.1 + EXTRA_S);
		run_result_finish(&result);
	} while (status != 0 && n < 500);
	print_message("interrupted at %u places\n", n - 1);
	assert_true(n > 10 && n < 500);
	(void)assert_readable(true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(an_orderly_end_leaves_a_complete_capture),
		TEST(T33_what_ends_a_program_at_once_leaves_what_was_drained),
		TEST(T33_captures_of_programs_killed_at_any_time_can_be_read),
		TEST(an_end_inside_a_callback_is_bounded),
		TEST(a_kernel_that_never_ends_holds_no_end),
		TEST(an_end_while_sessions_come_and_go),
		TEST(an_end_by_a_handler_within_the_library),
	};

	if (argc != 3)
		return 2;
	steps_init(argv[1]);
	interrupt_library = realpath(argv[2], NULL);
	if (interrupt_library == NULL)
		return 2;
	snprintf(program, sizeof(program), "%s/tests/preload/session/leave", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

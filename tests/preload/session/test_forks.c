/* SPDX-License-Identifier: Apache-2.0
 *
 * test_forks.c BUILD - children of programs that are recorded (forks.cu).
 */
#include "support.h"

#include "steps.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char program[4096];

static void run_forks(const char *const arguments[], const char *const settings[], struct run_result *ret)
{
	steps_run_program(program, arguments, settings, 0, ret);
}

static void assert_grids(const char *name, unsigned grids)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;

	if (warpspan_model_load(in_folder(name), &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_true(model->complete);
	assert_int_equal(steps_grids(model, "step"), grids);
	warpspan_model_destroy(model);
}

static unsigned n_files(void)
{
	DIR *files = opendir(folder);
	unsigned n = 0;

	assert_non_null(files);
	for (struct dirent *entry; (entry = readdir(files)) != NULL;)
		n += entry->d_name[0] != '.';
	closedir(files);
	return n;
}

static void T23_forks_while_sessions_come_and_go(void **state)
{
	struct run_result result;
	unsigned n;

	run_forks((const char *[]){ "hammer", "150", NULL },
		  (const char *[]){ "WARPSPAN_START=api", "WARPSPAN_FORMAT=none", "WARPSPAN_LOG=error", NULL },
		  &result);
	assert_string_equal(result.out, "150 children, 0 bad\n");
	assert_string_equal(result.err, "");
	/* All of them are the parent's, and whole. */
	n = steps_captures();
	for (unsigned i = 1; i <= n; i++) {
		struct warpspan_model *model = steps_load(i);

		assert_true(model->complete);
		warpspan_model_destroy(model);
	}
	run_result_finish(&result);
}

static void T23_a_fork_while_the_library_wakes(void **state)
{
	struct run_result result;

	run_forks((const char *[]){ "during", "60", NULL },
		  (const char *[]){ "WARPSPAN_START=api", "WARPSPAN_LOG=none", NULL }, &result);
	assert_string_equal(result.out, "60 children, 0 bad\n");
	run_result_finish(&result);
}

static void T24_a_child_leaves_its_parents_capture_alone(void **state)
{
	static const char *const ways[] = { "0" /* _exit */, "1" /* exit */, "2" /* exec */ };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_result result;

		run_forks((const char *[]){ "alone", ways[i], NULL }, (const char *[]){ "WARPSPAN_FORMAT=none", NULL },
			  &result);
		assert_string_equal(result.out, "child 6\n");
		/* Each chunk of a capture has a checksum and a number in sequence: one that is complete is intact. */
		assert_int_equal(n_files(), 1);
		assert_grids("1.wspan", 20);
		run_result_finish(&result);
		remove_folder(state);
		make_folder(state);
	}
}

static void T24_children_that_are_programs_record_on_their_own(void **state)
{
	static const char *const ways[] = { "fork", "vfork", "posix_spawn", "system" };

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct run_result result;

		run_forks((const char *[]){ "spawn", steps_path(), ways[i], NULL },
			  (const char *[]){ "WARPSPAN_FORMAT=none", NULL }, &result);
		assert_string_equal(result.out, "launch 0\nsync 0\n");
		/* Both are called "1": the child is the first to be done, and the second to begin. */
		assert_int_equal(n_files(), 2);
		assert_grids("1.wspan", i == 3 ? 10 : 20);
		assert_grids("1.1.wspan", 3);
		run_result_finish(&result);
		remove_folder(state);
		make_folder(state);
	}
}

static void T24_a_child_of_a_program_that_has_not_begun_is_its_own(void **state)
{
	struct run_result result;
	char out[128];

	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%p-%%n", folder);
	run_forks((const char *[]){ "before", NULL }, (const char *[]){ out, "WARPSPAN_FORMAT=none", NULL }, &result);
	assert_int_equal(n_files(), 2);
	run_result_finish(&result);
}

/* Where the parent has a session. */
static void T25_tools_that_a_program_calls_run_unchanged(void **state)
{
	static const char tools[] = "ls /proc/self/task | wc -l; cat /proc/self/stat | wc -w; echo err >&2; "
				    "printf 'int main(void){return 0;}' | cc -x c -o tool - && ./tool && echo built";
	struct run_result plain, ours;

	run_program(&(struct run){ .arguments = { "sh", "-c", tools }, .folder = folder }, &plain);
	run_forks((const char *[]){ "shell", tools, NULL },
		  (const char *[]){ "WARPSPAN_FORMAT=none", "WARPSPAN_LOG=warn", NULL }, &ours);
	assert_string_equal(ours.out, plain.out);
	assert_string_equal(ours.err, plain.err);
	assert_int_equal(n_files(), 2); /* the capture and the tool */
	assert_grids("1.wspan", 5);
	run_result_finish(&plain);
	run_result_finish(&ours);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(T23_forks_while_sessions_come_and_go),
		TEST(T23_a_fork_while_the_library_wakes),
		TEST(T24_a_child_leaves_its_parents_capture_alone),
		TEST(T24_children_that_are_programs_record_on_their_own),
		TEST(T24_a_child_of_a_program_that_has_not_begun_is_its_own),
		TEST(T25_tools_that_a_program_calls_run_unchanged),
	};

	if (argc != 2)
		return 2;
	steps_init(argv[1]);
	snprintf(program, sizeof(program), "%s/tests/preload/session/forks", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

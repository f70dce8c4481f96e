/* SPDX-License-Identifier: Apache-2.0
 *
 * test_inert.c - programs that do not use CUDA, or have no driver, do not notice the library.
 *
 * Arguments: the library, the probe, then programs built by nvcc (may be none).
 */
#include "run.h"
#include "support.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char preload[4096];
static const char *probe;
static char **programs;
static int n_programs;
static char folder[] = "/tmp/warpspan-inert-XXXXXX";

static int folder_entries(void)
{
	DIR *directory = opendir(folder);
	int n = 0;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		n++;
	(void)closedir(directory);
	return n - 2;
}

/* Runs `arguments` in an empty folder with and without the library, with settings that would make it talk. */
static void is_the_same(const char *const arguments[], int at_most_status)
{
	struct run run = { .environment = { "LD_PRELOAD", "WARPSPAN_LOG=debug", "WARPSPAN_REPORT=1",
					    "WARPSPAN_TYPO=1" },
			   .folder = folder };
	struct run_result without, with;

	for (unsigned i = 0; arguments[i] != NULL; i++)
		run.arguments[i] = arguments[i];
	(void)run_program(&run, &without);
	run.environment[0] = preload;
	(void)run_program(&run, &with);
	assert_int_equal(with.exit_status, without.exit_status);
	assert_in_range(without.exit_status, 0, at_most_status);
	assert_string_equal(with.out, without.out);
	assert_string_equal(with.err, without.err);
	assert_true(without.out_bytes > 0);
	assert_int_equal(folder_entries(), 0);
	run_result_finish(&without);
	run_result_finish(&with);
}

static void a_program_without_cuda_runs_unchanged(void **state)
{
	const char *const arguments[] = { probe, NULL };

	is_the_same(arguments, 100);
}

static void a_pipeline_of_tools_runs_unchanged(void **state)
{
	const char *const arguments[] = { "sh", "-c", "printf 'b\\na\\n' | sort | tr a-z A-Z; echo done >&2; exit 4",
					  NULL };

	is_the_same(arguments, 100);
}

/* The genuine runtimes, shared and static, each find no driver and say so in their own way. */
static void programs_of_nvcc_without_a_driver_run_unchanged(void **state)
{
	if (n_programs == 0) {
		print_message("skipped: no nvcc\n");
		skip();
	}
	if (dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) != NULL) {
		print_message("skipped: this machine has a CUDA driver\n");
		skip();
	}
	for (int i = 0; i < n_programs; i++) {
		const char *const arguments[] = { programs[i], NULL };

		is_the_same(arguments, 100);
	}
}

static int make_folder(void **state)
{
	return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
	return rmdir(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_without_cuda_runs_unchanged),
		cmocka_unit_test(a_pipeline_of_tools_runs_unchanged),
		cmocka_unit_test(programs_of_nvcc_without_a_driver_run_unchanged),
	};

	if (argc < 3)
		return 2;
	/* They are run in another folder. */
	for (int i = 1; i < argc; i++)
		argv[i] = realpath(argv[i], NULL);
	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", argv[1]);
	probe = argv[2];
	programs = argv + 3;
	n_programs = argc - 3;
	return cmocka_run_group_tests_name("inert", tests, make_folder, remove_folder);
}

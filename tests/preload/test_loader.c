/* SPDX-License-Identifier: Apache-2.0
 *
 * test_loader.c - our dlsym() and dlvsym() change nothing for anybody.
 *
 * Arguments: the library, the probe, the "names" library, the "hooker" library, the `warpspan` command, a static
 * program, the plugin with a RUNPATH, the allocator that looks things up and a program that allocates, the library
 * built in two other ways, programs built with sanitizers (may be none). T and a number: the pitfall of that number in
 * README.md.
 */
#include "run.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *library, *probe, *names, *hooker, *command, *static_program, *plugin, *allocator, *allocating,
	*builds[2];
static char **sanitized;
static int n_sanitized;

static const char expected[] = "layers: 11\n"
			       "default: 1\n"
			       "handle: 1\n"
			       "version: 1 0\n"
			       "cudnnCreate: its own\n"
			       "cublasCreate_v2: its own\n"
			       "cufftPlan1d: its own\n"
			       "curl_easy_init: its own\n"
			       "cuFoo: its own\n"
			       "cu: its own\n"
			       "cuLaunchKernel: its own\n"
			       "cuInit: its own\n"
			       "cuGetProcAddress_v2: its own\n"
			       "cuNothing: absent\n"
			       "error after success: no\n"
			       "error after failure: named\n"
			       "error once more: no\n"
			       "allocations: 0, errno: 77\n"
			       "plugin: 8\n"
			       "mid by handle: 1\n";

/* Runs the probe with `preload` (NULL: none); the caller frees what it prints. */
static char *probe_prints(const char *preload)
{
	char setting[4096];
	struct run run = { .arguments = { probe, names, plugin },
			   .environment = { "LD_PRELOAD", "WARPSPAN_TEST_HOOKER=1" } };
	struct run_result result;
	char *out;

	if (preload != NULL) {
		(void)snprintf(setting, sizeof(setting), "LD_PRELOAD=%s", preload);
		run.environment[0] = setting;
	}
	assert_int_equal(run_program(&run, &result), 0);
	assert_string_equal(result.err, "");
	out = strdup(result.out);
	assert_non_null(out);
	run_result_finish(&result);
	return out;
}

static void lookups_are_what_they_are_without_us(void **state)
{
	char *out = probe_prints(NULL);

	assert_string_equal(out, expected);
	free(out);
}

static void T6_T8_T9_lookups_are_the_same_with_us(void **state)
{
	char *out = probe_prints(library);

	assert_string_equal(out, expected);
	free(out);
}

/* A hooker that calls changes what RTLD_NEXT means; we add nothing to that, and it still sees every lookup. */
static void is_as_with_the_hooker_alone(const char *both)
{
	char *alone = probe_prints(hooker);
	char *out = probe_prints(both);

	assert_non_null(strstr(alone, "hooker: early 1, lookups 2\n"));
	assert_string_equal(out, alone);
	free(alone);
	free(out);
}

static void T38_another_library_may_stand_before_us(void **state)
{
	char both[4096];

	(void)snprintf(both, sizeof(both), "%s:%s", hooker, library);
	is_as_with_the_hooker_alone(both);
}

static void T38_another_library_may_stand_behind_us(void **state)
{
	char both[4096];

	(void)snprintf(both, sizeof(both), "%s:%s", library, hooker);
	is_as_with_the_hooker_alone(both);
}

/* What makes RTLD_NEXT work for other libraries: the return address the real function sees is theirs. */
static void T7_the_real_function_is_reached_by_a_jump(void **state)
{
	const struct run run = { .arguments = { "objdump", "-d", "--no-show-raw-insn",
						"--disassemble=dlsym@@GLIBC_2.34", library } };
	struct run_result result;

	assert_int_equal(run_program(&run, &result), 0);
	assert_non_null(strstr(result.out, "<dlsym@@GLIBC_2.34>:"));
#if defined(__x86_64__)
	assert_non_null(strstr(result.out, "jmp    *%rax"));
	assert_null(strstr(result.out, "call   *"));
#elif defined(__aarch64__)
	assert_non_null(strstr(result.out, "br\tx16"));
	assert_null(strstr(result.out, "blr\t"));
#endif
	run_result_finish(&result);
}

/* A lookup of ours that allocated would come back into the allocator: it counts those. */
static void T10_lookups_within_malloc_and_constructors_neither_recurse_nor_allocate(void **state)
{
	static const char expected_end[] = "allocations many, in lookups 0, lookups that found nothing none\n";
	char setting[4096], names_setting[4096];

	(void)snprintf(names_setting, sizeof(names_setting), "WARPSPAN_TEST_NAMES=%s", names);
	for (unsigned i = 0; i < 3; i++) {
		const struct run run = { .arguments = { allocating }, .environment = { setting, names_setting } };
		struct run_result result;

		/* Alone, before us, behind us. */
		(void)snprintf(setting, sizeof(setting), "LD_PRELOAD=%s%s%s", i == 2 ? library : allocator,
			       i == 0 ? "" : ":",
			       i == 0   ? ""
			       : i == 1 ? library
					: allocator);
		assert_int_equal(run_program(&run, &result), 6);
		assert_string_equal(result.out, expected_end);
		assert_string_equal(result.err, "");
		run_result_finish(&result);
	}
}

static void T7_lookups_are_the_same_however_we_are_built(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		char *out = probe_prints(builds[i]);

		assert_string_equal(out, expected);
		free(out);
	}
}

static void T39_the_launcher_refuses_a_static_program(void **state)
{
	const struct run run = { .arguments = { command, "run", "--", static_program } };
	struct run_result result;

	if (static_program == NULL) {
		print_message("skipped: static programs cannot be linked here\n");
		skip();
	}
	assert_int_not_equal(run_program(&run, &result), 0);
	assert_string_equal(result.out, "");
	assert_non_null(strstr(result.err, "statically linked"));
	run_result_finish(&result);
}

static void T7_programs_built_with_a_sanitizer_start(void **state)
{
	char setting[4096];

	if (n_sanitized == 0) {
		print_message("skipped: the compiler has no sanitizers\n");
		skip();
	}
	(void)snprintf(setting, sizeof(setting), "LD_PRELOAD=%s", library);
	for (int i = 0; i < n_sanitized; i++) {
		const struct run run = { .arguments = { sanitized[i] },
					 .environment = { setting, "ASAN_OPTIONS=verify_asan_link_order=0" } };
		struct run_result result;

		(void)run_program(&run, &result);
		if (result.exit_status != 6)
			fail_msg("%s: %d: %s", sanitized[i], result.exit_status, result.err);
		assert_string_equal(result.out, "1\n");
		run_result_finish(&result);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lookups_are_what_they_are_without_us),
		cmocka_unit_test(T6_T8_T9_lookups_are_the_same_with_us),
		cmocka_unit_test(T10_lookups_within_malloc_and_constructors_neither_recurse_nor_allocate),
		cmocka_unit_test(T38_another_library_may_stand_before_us),
		cmocka_unit_test(T38_another_library_may_stand_behind_us),
		cmocka_unit_test(T7_the_real_function_is_reached_by_a_jump),
		cmocka_unit_test(T7_lookups_are_the_same_however_we_are_built),
		cmocka_unit_test(T39_the_launcher_refuses_a_static_program),
		cmocka_unit_test(T7_programs_built_with_a_sanitizer_start),
	};

	if (argc < 12)
		return 2;
	library = realpath(argv[1], NULL);
	probe = realpath(argv[2], NULL);
	names = realpath(argv[3], NULL);
	hooker = realpath(argv[4], NULL);
	command = realpath(argv[5], NULL);
	static_program = realpath(argv[6], NULL);
	plugin = realpath(argv[7], NULL);
	allocator = realpath(argv[8], NULL);
	allocating = realpath(argv[9], NULL);
	builds[0] = realpath(argv[10], NULL);
	builds[1] = realpath(argv[11], NULL);
	sanitized = argv + 12;
	n_sanitized = argc - 12;
	return cmocka_run_group_tests_name("loader", tests, NULL, NULL);
}

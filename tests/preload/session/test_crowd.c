/* SPDX-License-Identifier: Apache-2.0
 *
 * test_crowd.c BUILD - many threads that want a session at once (crowd.cu).
 */
#include "support.h"

#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char program[4096];

static void T21_64_threads_start_and_stop(void **state)
{
	struct run_result result;
	unsigned n, own = 0;

	steps_run_program(program, (const char *[]){ "4000", NULL },
			  (const char *[]){ "WARPSPAN_START=api", "WARPSPAN_LOG=warn", "WARPSPAN_FORMAT=none",
					    "WARPSPAN_BUFFER=1M", NULL },
			  0, &result);
	print_message("%s", result.err);
	assert_string_equal(result.out, "most holders 1\nodd answers 0\nstarted and not stopped 0\nmore threads 0\n"
					"more descriptors 0\nall ran 1\nmemory grows 0\n");
	/* One for each session, none left out, all whole; each launch is in one of them, or between two. */
	n = steps_captures();
	assert_true(n > 20);
	for (unsigned i = 1; i <= n; i++) {
		struct warpspan_model *model = steps_load(i);

		assert_true(model->complete);
		own += model->n_launches;
		warpspan_model_destroy(model);
	}
	assert_true(own > 0);
	run_result_finish(&result);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(T21_64_threads_start_and_stop),
	};

	if (argc != 2)
		return 2;
	steps_init(argv[1]);
	snprintf(program, sizeof(program), "%s/tests/preload/session/crowd", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

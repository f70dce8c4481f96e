/* SPDX-License-Identifier: Apache-2.0
 *
 * test_output.c - names of captures, and which segments a filter drops.
 */
#include "counters.h"
#include "filter.h"
#include "output.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[WARPSPAN_TEXT_BYTES];

static const char *expand(const char *template)
{
	const char *reason = NULL;

	return warpspan_output_expand(template, 3, &path, &reason) ? path : reason;
}

static void fields_are_filled_in(void **state)
{
	char expected[512], host[256] = "";

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	(void)snprintf(expected, sizeof(expected), "/a/%d-%s-3-100%%", (int)getpid(), host);
	assert_string_equal(expand("/a/%p-%h-%n-100%%"), expected);
}

static void the_rank_is_that_of_the_launcher(void **state)
{
	(void)unsetenv("PMIX_RANK");
	(void)unsetenv("SLURM_PROCID");
	(void)unsetenv("OMPI_COMM_WORLD_RANK");
	(void)unsetenv("PMI_RANK");
	assert_null(warpspan_output_rank());
	assert_string_equal(expand("/r%r"), "/r0");
	(void)setenv("PMI_RANK", "7", 1);
	assert_string_equal(expand("/r%r"), "/r7");
	(void)setenv("SLURM_PROCID", "12", 1);
	assert_string_equal(expand("/r%r"), "/r12");
	(void)setenv("PMIX_RANK", "../../etc", 1);
	assert_string_equal(expand("/r%r"), "/r12");
}

static void the_extension_is_given_once(void **state)
{
	assert_string_equal(expand("/x/a.wspan"), "/x/a");
	assert_string_equal(expand("/x/a"), "/x/a");
}

static void a_folder_gets_the_default_name(void **state)
{
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "/x/warpspan-%d-3", (int)getpid());
	assert_string_equal(expand("/x/"), expected);
	assert_string_equal(expand("/x/.wspan"), expected);
}

static void a_relative_path_becomes_absolute(void **state)
{
	char expected[WARPSPAN_TEXT_BYTES];

	assert_non_null(getcwd(expected, sizeof(expected) - 8));
	(void)strcat(expected, "/b");
	assert_string_equal(expand("b"), expected);
}

static void a_bad_template_is_refused(void **state)
{
	static char text[WARPSPAN_TEXT_BYTES];

	assert_non_null(strstr(expand("/a%x"), "only p, h, r, n and %"));
	assert_non_null(strstr(expand("/a%"), "only p, h, r, n and %"));
	memset(text, 'a', sizeof(text) - 1);
	text[0] = '/';
	assert_non_null(strstr(expand(text), "too long"));
}

static void segments_of_shapes_no_launch_had_are_dropped(void **state)
{
	const struct warpspan_launch launch = { .module = 2, .grid = { 70000, 3, 1 }, .threads = { 64, 2, 1 } };
	struct warpspan_segment segment = {
		.module = 2, .grid_x = 70000, .grid_y = 3, .grid_z = 1, .threads_x = 64, .threads_y = 2, .threads_z = 1
	};

	assert_false(warpspan_filter_active());
	warpspan_count(WARPSPAN_COUNTER_filtered, 1);
	assert_true(warpspan_filter_active());
	assert_false(warpspan_filter_keeps(&segment));
	warpspan_filter_note(&launch, 1);
	assert_true(warpspan_filter_keeps(&segment));
	segment.module = 3;
	assert_false(warpspan_filter_keeps(&segment));
	segment.module = 2;
	segment.threads_z = 2;
	assert_false(warpspan_filter_keeps(&segment));
	for (uint32_t i = 1; i < 5000; i++) {
		const struct warpspan_launch other = { .module = 1, .grid = { i, 1, 1 }, .threads = { 32, 1, 1 } };

		warpspan_filter_note(&other, 1);
	}
	segment = (struct warpspan_segment){
		.module = 1, .grid_x = 4999, .grid_y = 1, .grid_z = 1, .threads_x = 32, .threads_y = 1, .threads_z = 1
	};
	assert_true(warpspan_filter_keeps(&segment));
	segment.grid_x = 5000;
	assert_false(warpspan_filter_keeps(&segment));
	/* Launches that are not in the log: nothing is certain any more. */
	warpspan_count(WARPSPAN_COUNTER_log_full, 1);
	assert_true(warpspan_filter_keeps(&segment));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_filled_in),
		cmocka_unit_test(the_rank_is_that_of_the_launcher),
		cmocka_unit_test(the_extension_is_given_once),
		cmocka_unit_test(a_folder_gets_the_default_name),
		cmocka_unit_test(a_relative_path_becomes_absolute),
		cmocka_unit_test(a_bad_template_is_refused),
		cmocka_unit_test(segments_of_shapes_no_launch_had_are_dropped),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_output.c - names of captures, and which segments a filter drops.
 */
#include "counters.h"
#include "filter.h"
#include "output.h"
#include "rank.h"
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

/* Ranks of launchers: the variables that are set, and what they say. */
static void the_rank_is_that_of_the_innermost_launcher(void **state)
{
	static const struct {
		const char *variables[8];
		const char *launcher; /* NULL: none */
		uint32_t rank, world, local;
	} cases[] = {
		{ { NULL }, NULL, 0, 0, 0 },
		{ { "OMPI_COMM_WORLD_RANK=2", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=1" },
		  "Open MPI",
		  2,
		  4,
		  1 },
		{ { "PMI_RANK=3", "PMI_SIZE=8", "MPI_LOCALRANKID=0" }, "MPICH", 3, 8, 0 },
		{ { "SLURM_PROCID=5", "SLURM_NTASKS=6", "SLURM_LOCALID=2", "SLURM_STEP_ID=0" }, "Slurm", 5, 6, 2 },
		{ { "RANK=1", "WORLD_SIZE=2", "LOCAL_RANK=1" }, "torchrun", 1, 2, 1 },
		{ { "PMIX_RANK=7" }, "PMIx", 7, 0, WARPSPAN_RANK_UNKNOWN },
		{ { "PMI_RANK=7" }, "MPICH", 7, 0, WARPSPAN_RANK_UNKNOWN },
		/* the name alone is anybody's */
		{ { "RANK=1" }, NULL, 0, 0, 0 },
		{ { "RANK=12", "WORLD_SIZE=2" }, NULL, 0, 0, 0 },
		/* a program in a batch script runs once, whatever the job's size */
		{ { "SLURM_PROCID=0", "SLURM_NTASKS=4" }, NULL, 0, 0, 0 },
		/* srun, with the help of PMIx: that knows the rank, not the size */
		{ { "SLURM_PROCID=2", "SLURM_NTASKS=4", "SLURM_STEP_ID=0", "PMIX_RANK=2",
		    "PMIX_NAMESPACE=slurm.pmix.17.0" },
		  "Slurm",
		  2,
		  4,
		  WARPSPAN_RANK_UNKNOWN },
		/* another launcher's helper was started by srun */
		{ { "SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", "PMIX_RANK=5", "PMIX_NAMESPACE=prte-1@1" },
		  "PMIx",
		  5,
		  0,
		  WARPSPAN_RANK_UNKNOWN },
		{ { "SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", "OMPI_COMM_WORLD_RANK=3",
		    "OMPI_COMM_WORLD_SIZE=4", "PMIX_RANK=3" },
		  "Open MPI",
		  3,
		  4,
		  WARPSPAN_RANK_UNKNOWN },
		{ { "RANK=6", "WORLD_SIZE=16", "OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2", "SLURM_PROCID=0",
		    "SLURM_STEP_ID=0" },
		  "torchrun",
		  6,
		  16,
		  WARPSPAN_RANK_UNKNOWN },
		/* what is no number is nobody's rank */
		{ { "OMPI_COMM_WORLD_RANK=../../etc", "PMI_RANK=4" }, "MPICH", 4, 0, WARPSPAN_RANK_UNKNOWN },
		{ { "PMI_RANK=4294967295", "PMIX_RANK=" }, NULL, 0, 0, 0 },
		{ { "PMI_RANK=4294967294" }, "MPICH", 4294967294, 0, WARPSPAN_RANK_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct warpspan_rank rank = { 0 };
		char expected[32];
		bool found;

		(void)clearenv();
		for (size_t k = 0; cases[i].variables[k] != NULL; k++)
			assert_int_equal(putenv((char *)(uintptr_t)cases[i].variables[k]), 0);
		found = warpspan_rank_find(&rank);
		assert_int_equal(found, cases[i].launcher != NULL);
		if (found) {
			assert_string_equal(rank.launcher, cases[i].launcher);
			assert_int_equal(rank.rank, cases[i].rank);
			assert_int_equal(rank.world, cases[i].world);
			assert_int_equal(rank.local, cases[i].local);
		}
		(void)snprintf(expected, sizeof(expected), "/r%u", cases[i].rank);
		assert_string_equal(expand("/r%r"), expected);
	}
	(void)clearenv();
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
		cmocka_unit_test(the_rank_is_that_of_the_innermost_launcher),
		cmocka_unit_test(the_extension_is_given_once),
		cmocka_unit_test(a_folder_gets_the_default_name),
		cmocka_unit_test(a_relative_path_becomes_absolute),
		cmocka_unit_test(a_bad_template_is_refused),
		cmocka_unit_test(segments_of_shapes_no_launch_had_are_dropped),
	};

	return cmocka_run_group_tests_name("output", tests, NULL, NULL);
}

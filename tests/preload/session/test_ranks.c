/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ranks.c - four processes under Open MPI's mpirun leave four captures, each of which knows which it is.
 *
 *   test_ranks BUILD MPIRUN
 *
 * The program itself knows nothing of MPI. Without mpirun (MPIRUN is "") the test is skipped, with a line that says so.
 */
#include "e2e/folder.h"
#include "run.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

#define SKIPPED    77
#define PATH_BYTES 4096

static char command[PATH_BYTES], program[PATH_BYTES];
static const char *mpirun;

static void of_command(const char *verb, const char *option, const char *capture, struct run_result *ret_result)
{
	run_program(&(struct run){ .arguments = { command, verb, capture, option } }, ret_result);
	assert_int_equal(ret_result->exit_status, 0);
	assert_string_equal(ret_result->err, "");
}

static void assert_names_rank(unsigned rank)
{
	char name[32], wanted[64];
	struct run_result result;

	snprintf(name, sizeof(name), "%u.wspan", rank);
	snprintf(wanted, sizeof(wanted), "rank %u of 4 (Open MPI)", rank);
	of_command("info", NULL, in_folder(name), &result);
	assert_holds(result.out, wanted);
	run_result_finish(&result);
	of_command("report", NULL, in_folder(name), &result);
	assert_holds(result.out, wanted);
	run_result_finish(&result);
	of_command("report", "--json", in_folder(name), &result);
	assert_holds(result.out, "\"launcher\":\t\"Open MPI\"");
	assert_holds(result.out, "\"world\":\t4");
	run_result_finish(&result);
	snprintf(name, sizeof(name), "%u.json.gz", rank);
	run_program(&(struct run){ .arguments = { "gzip", "-dc", in_folder(name) } }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, wanted);
	run_result_finish(&result);
}

static void four_ranks_leave_four_captures_that_name_them(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { mpirun, "--oversubscribe", "--allow-run-as-root", "--bind-to", "none",
						  "-np", "4", command, "run", "--out", in_folder("%r"), program },
				   .environment = { "RANK", "WORLD_SIZE" } },
		    &result);
	if (result.exit_status != 0)
		fail_msg("mpirun: %d: %s", result.exit_status, result.err);
	run_result_finish(&result);
	for (unsigned rank = 0; rank < 4; rank++)
		assert_names_rank(rank);
}

static void without_a_launcher_there_is_no_rank(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { command, "run", "--out", in_folder("%r"), program },
				   .environment = { "RANK", "WORLD_SIZE" } },
		    &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
	of_command("info", NULL, in_folder("0.wspan"), &result);
	assert_null(strstr(result.out, "rank"));
	run_result_finish(&result);
}

/* MPICH's has the same name. */
static bool is_open_mpi(void)
{
	struct run_result result;
	bool is;

	if (mpirun[0] == '\0')
		return false;
	run_program(&(struct run){ .arguments = { mpirun, "--version" } }, &result);
	is = result.exit_status == 0 && strstr(result.out, "Open MPI") != NULL;
	run_result_finish(&result);
	return is;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s BUILD MPIRUN\n", argv[0]);
		return 2;
	}
	mpirun = argv[2];
	if (!is_open_mpi()) {
		printf("skipped: no mpirun of Open MPI was found; scripts/setup installs it\n");
		return SKIPPED;
	}
	snprintf(command, sizeof(command), "%s/decoder/warpspan", argv[1]);
	snprintf(program, sizeof(program), "%s/device_rt/examples/saxpy", argv[1]);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(four_ranks_leave_four_captures_that_name_them, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(without_a_launcher_there_is_no_rank, make_folder, remove_folder),
	};
	return cmocka_run_group_tests_name("ranks", tests, NULL, NULL);
}

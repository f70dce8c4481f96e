/* SPDX-License-Identifier: Apache-2.0
 *
 * test_places.c BUILD FULL SECURE POOR - captures where there is no room or no memory, where others are, and where the
 * environment must not say where they go. FULL, SECURE, POOR: libraries/full.c, secure.c, poor.c.
 */
#include "support.h"

#include "steps.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_AT_ONCE 64
#define API       "WARPSPAN_START=api"

static const char *full_library, *secure_library, *poor_library;
static char elsewhere[64]; /* where there is room */

static int make_both(void **state)
{
	snprintf(elsewhere, sizeof(elsewhere), "/tmp/warpspan-room-XXXXXX");
	return mkdtemp(elsewhere) != NULL ? make_folder(state) : -1;
}

static int remove_both(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { "rm", "-rf", elsewhere } }, &result);
	run_result_finish(&result);
	return remove_folder(state);
}

static void run_behind(const char *library, const char *steps, const char *const settings[], struct run_result *ret)
{
	char both[8192];
	const char *all[8] = { both };

	/* The last one of a name counts. */
	snprintf(both, sizeof(both), "LD_PRELOAD=%s:%s", library, steps_preload() + strlen("LD_PRELOAD="));
	for (unsigned i = 0; settings[i] != NULL && i < 6; i++)
		all[1 + i] = settings[i];
	steps_run(steps, all, 0, ret);
}

/* The capture at `path` has these grids of step(), and all of them. */
static void assert_capture(const char *path, unsigned grids)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;

	if (warpspan_model_load(path, &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_true(model->complete);
	assert_int_equal(steps_grids(model, "step"), grids);
	warpspan_model_destroy(model);
}

static void T26_processes_with_one_name_do_not_meet(void **state)
{
	static const char script[] =
		"i=0; while [ $i -lt 64 ]; do \"$0\" launch:2 sync >/dev/null & i=$((i+1)); done; wait";
	struct run_result result;
	unsigned n = 0;

	run_program(&(struct run){ .arguments = { "sh", "-c", script, steps_path() },
				   .environment = { steps_preload(), "WARPSPAN_OUT=same", "WARPSPAN_FORMAT=json",
						    "WARPSPAN_LOG=warn" },
				   .folder = folder },
		    &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.err, "");
	assert_int_equal(steps_captures(), N_AT_ONCE);
	for (; n < N_AT_ONCE; n++) {
		char name[32], timeline[40];

		snprintf(name, sizeof(name), n == 0 ? "same.wspan" : "same.%u.wspan", n);
		snprintf(timeline, sizeof(timeline), n == 0 ? "same.json.gz" : "same.%u.json.gz", n);
		assert_capture(in_folder(name), 2);
		assert_int_equal(access(in_folder(timeline), R_OK), 0);
	}
	run_result_finish(&result);
}

/* The kernel does not preload this library into a program with privileges; libc says what it would hear there. */
static void T27_where_the_environment_is_not_trusted_it_says_nothing(void **state)
{
	struct run_result result;
	char out[128];

	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/x", elsewhere);
	run_behind(secure_library, "launch:2 sync", (const char *[]){ out, "WARPSPAN_FORMAT=none", NULL }, &result);
	/* The default name, in the current folder. */
	assert_int_equal(access(in_folder("x.wspan"), F_OK), -1);
	assert_int_equal(rmdir(elsewhere), 0); /* it is empty */
	assert_int_equal(steps_captures(), 1);
	assert_holds(result.err, "/warpspan-");
	run_result_finish(&result);
}

static void T34_a_capture_goes_on_where_there_is_room(void **state)
{
	struct run_result result;
	char tmpdir[128], full_folder[128], path[160];

	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", elsewhere);
	snprintf(full_folder, sizeof(full_folder), "FULL_FOLDER=%s", folder);
	run_behind(full_library, "start launch:200 stop:20000 start launch:1 stop:20000 start launch:200 stop:20000",
		   (const char *[]){ API, tmpdir, full_folder, "FULL_BYTES=6000", "WARPSPAN_FORMAT=json", NULL },
		   &result);
	assert_string_equal(result.out,
			    "start 0\nlaunch 0\nstop 0\nstart 0\nlaunch 0\nstop 0\nstart 0\nlaunch 0\nstop 0\n");
	snprintf(path, sizeof(path),
		 "No space left on device: the capture goes on in '%s/1.wspan', which has all of it", elsewhere);
	assert_holds(result.err, path);
	assert_holds(result.err, in_folder("1.wspan': cannot write at byte "));
	for (unsigned i = 1; i <= 3; i += 2) {
		snprintf(path, sizeof(path), "%s/%u.wspan", elsewhere, i);
		assert_capture(path, 200);
		snprintf(path, sizeof(path), "%s/%u.json.gz", elsewhere, i);
		assert_int_equal(access(path, R_OK), 0);
	}
	/* The one between found room enough. */
	assert_capture(in_folder("2.wspan"), 1);
	run_result_finish(&result);
}

static void T34_where_no_room_is_left_it_keeps_what_it_has(void **state)
{
	struct run_result result;
	struct warpspan_model *model;
	char tmpdir[128];

	snprintf(tmpdir, sizeof(tmpdir), "TMPDIR=%s", elsewhere);
	run_behind(full_library, "start launch:200 stop:20000 start launch:1 stop:20000 launch:1 sync",
		   (const char *[]){ API, tmpdir, "FULL_FOLDER=/tmp/warpspan-", "FULL_BYTES=6000",
				     "WARPSPAN_FORMAT=none", NULL },
		   &result);
	assert_string_equal(result.out, "start 0\nlaunch 0\nstop -6\nstart 0\nlaunch 0\nstop 0\nlaunch 0\nsync 0\n");
	assert_holds(result.err, "No space left on device; what the file holds is kept");
	assert_holds(result.err, in_folder("1.wspan': cannot write at byte "));
	assert_holds(result.err, "(cut short)");
	model = steps_load(1);
	assert_false(model->complete);
	warpspan_model_destroy(model);
	assert_capture(in_folder("2.wspan"), 1);
	run_result_finish(&result);
}

static void T34_a_limit_of_file_size_costs_one_session(void **state)
{
	struct run_result result;
	char out[128];

	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%n", folder);
	run_program(&(struct run){ .arguments = { "sh", "-c",
						  "ulimit -f 16; exec \"$0\" start launch:400 stop:20000 start "
						  "launch:1 stop:20000",
						  steps_path() },
				   .environment = { steps_preload(), out, API, "WARPSPAN_FORMAT=none" },
				   .folder = folder },
		    &result);
	assert_string_equal(result.out, "start 0\nlaunch 0\nstop -6\nstart 0\nlaunch 0\nstop 0\n");
	assert_int_equal(result.exit_status, 0);
	warpspan_model_destroy(steps_load(1));
	assert_capture(in_folder("2.wspan"), 1);
	run_result_finish(&result);
}

static void T34_a_timeline_that_cannot_be_written_costs_only_itself(void **state)
{
	struct run_result result;

	run_behind(full_library, "start launch:5 stop:20000 start:FORMAT=json launch:5 stop:20000",
		   (const char *[]){ API, "FULL_REFUSED=.pftrace", NULL }, &result);
	assert_string_equal(result.out, "start 0\nlaunch 0\nstop -6\nstart 0\nlaunch 0\nstop 0\n");
	assert_holds(result.err, ".pftrace");
	assert_holds(result.err, "Read-only file system");
	assert_holds(result.err, in_folder("1"));
	assert_capture(in_folder("1.wspan"), 5);
	assert_int_equal(access(in_folder("1.pftrace"), F_OK), -1);
	assert_int_equal(access(in_folder("1.json.gz"), R_OK), 0);
	assert_capture(in_folder("2.wspan"), 5);
	run_result_finish(&result);
}

static void T34_a_folder_that_goes_away_meanwhile(void **state)
{
	struct run_result result;
	char out[128], script[512];

	/* The program reads its next steps when the folder is gone. */
	snprintf(script, sizeof(script),
		 "{ echo start:OUT=%s/gone/1; echo launch:5; sleep 1; rm -r %s/gone; echo stop:20000; echo start; "
		 "echo launch:2; echo stop:20000; } | \"$0\" -",
		 folder, folder);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%n", folder);
	run_program(&(struct run){ .arguments = { "mkdir", in_folder("gone") } }, &result);
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { "sh", "-c", script, steps_path() },
				   .environment = { steps_preload(), out, API },
				   .folder = folder },
		    &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "start 0\nlaunch 0\nstop -6\nstart 0\nlaunch 0\nstop 0\n");
	assert_holds(result.err, "/gone/1.wspan' was not exported");
	assert_capture(in_folder("2.wspan"), 2);
	run_result_finish(&result);
}

/* A disk that is small indeed; in a namespace of its own, where that is allowed. */
static void T34_a_small_disk(void **state)
{
	struct run_result result;
	char out[128], script[512], path[160];

	snprintf(
		script, sizeof(script),
		"mount -t tmpfs -o size=32k none %s && exec \"$0\" start launch:400 stop:20000 start:OUT=%s/2 launch:1 "
		"stop:20000",
		folder, elsewhere);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%n", folder);
	snprintf(path, sizeof(path), "TMPDIR=%s", elsewhere);
	run_program(&(struct run){ .arguments = { "unshare", "-rm", "sh", "-c", script, steps_path() },
				   .environment = { steps_preload(), out, path, API, "WARPSPAN_FORMAT=none" } },
		    &result);
	if (strstr(result.out, "start") == NULL) {
		print_message("no mount: %s\n", result.err);
		run_result_finish(&result);
		skip();
	}
	assert_string_equal(result.out, "start 0\nlaunch 0\nstop 0\nstart 0\nlaunch 0\nstop 0\n");
	snprintf(path, sizeof(path), "%s/1.wspan", elsewhere);
	assert_holds(result.err, "the capture goes on in");
	assert_capture(path, 400);
	snprintf(path, sizeof(path), "%s/2.wspan", elsewhere);
	assert_capture(path, 1);
	run_result_finish(&result);
}

static unsigned times(const char *text, const char *wanted)
{
	unsigned n = 0;

	for (; (text = strstr(text, wanted)) != NULL; text += strlen(wanted))
		n++;
	return n;
}

/* About 1,200 requests there are; every 31st is refused once, the program goes on, and so do sessions. */
static void a_request_for_memory_that_is_refused_costs_one_session_at_most(void **state)
{
	unsigned n_refused_starts = 0, n = 0;

	for (unsigned at = 1; at < 1200; at += 31, n++) {
		struct run_result result;
		char which[32], out[128];

		snprintf(which, sizeof(which), "POOR_AT=%u", at);
		snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%u-%%n", folder, at);
		run_behind(poor_library, "start launch:2 stop:10000 start launch:1 stop:10000",
			   (const char *[]){ which, out, API, "WARPSPAN_EXIT_TIMEOUT=500ms", NULL }, &result);
		assert_int_equal(times(result.out, "launch 0\n"), 2);
		assert_true(times(result.out, "start 0\n") >= 1);
		assert_true(result.seconds < 8);
		n_refused_starts += 2 - times(result.out, "start 0\n");
		run_result_finish(&result);
	}
	print_message("%u programs, %u starts refused\n", n, n_refused_starts);
	/* A start that is refused leaves nothing. */
	assert_int_equal(steps_captures(), 2 * n - n_refused_starts);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_both, remove_both)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(T26_processes_with_one_name_do_not_meet),
		TEST(T27_where_the_environment_is_not_trusted_it_says_nothing),
		TEST(T34_a_capture_goes_on_where_there_is_room),
		TEST(T34_where_no_room_is_left_it_keeps_what_it_has),
		TEST(T34_a_limit_of_file_size_costs_one_session),
		TEST(T34_a_timeline_that_cannot_be_written_costs_only_itself),
		TEST(T34_a_folder_that_goes_away_meanwhile),
		TEST(T34_a_small_disk),
		TEST(a_request_for_memory_that_is_refused_costs_one_session_at_most),
	};

	if (argc != 5)
		return 2;
	steps_init(argv[1]);
	/* Programs run in other folders. */
	full_library = realpath(argv[2], NULL);
	secure_library = realpath(argv[3], NULL);
	poor_library = realpath(argv[4], NULL);
	if (full_library == NULL || secure_library == NULL || poor_library == NULL)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_guest.c BUILD - the library is a guest: programs that close its descriptors, have no stderr, live under limits,
 * or write into the memory of the records behave as they do without it, and the capture says what it could not keep.
 */
#include "support.h"

#include "examples.h"
#include "folder.h"
#include "run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PATH_BYTES 4096

static const char *build;
static char preload[PATH_BYTES], guest[PATH_BYTES], hostile[PATH_BYTES], command[PATH_BYTES];

static const char *capture_setting(void)
{
	static char setting[PATH_BYTES];
	snprintf(setting, sizeof(setting), "WARPSPAN_OUT=%s/c", folder);
	return setting;
}

static struct warpspan_model *load(void)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;
	if (warpspan_model_load(in_folder("c.wspan"), &model, &error) < 0)
		fail_msg("%s", error.text);
	return model;
}

static uint64_t counter(const struct warpspan_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->n_counters; i++)
		if (strcmp(model->counters[i].name, name) == 0)
			return model->counters[i].value;
	fail_msg("no counter %s", name);
	return 0;
}

static void assert_file(const char *name, const char *wanted)
{
	char text[256] = "";
	FILE *file = fopen(in_folder(name), "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	assert_string_equal(text, wanted);
}

static uint64_t bytes_of(const char *name)
{
	struct stat status;
	assert_int_equal(stat(in_folder(name), &status), 0);
	return (uint64_t)status.st_size;
}

/* Runs a shell's command line in which $0 is guest and $1 a file of the test's folder. */
static void run_shell(const char *line, const char *file, struct run_result *ret_result)
{
	run_program(&(struct run){ .arguments = { "sh", "-c", line, guest, in_folder(file) },
				   .environment = { preload, capture_setting() } },
		    ret_result);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void a_file_that_took_our_descriptor_is_left_alone(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" steal \"$1\"", "theirs", &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "guest: no error\nguest: no error\n");
	assert_file("theirs", "mine\n");
	assert_holds(result.err, "the program closed this file's descriptor");
	assert_holds(result.err, "(cut short)");
	run_result_finish(&result);
	struct warpspan_model *model = load();
	assert_false(model->complete);
	assert_int_equal(model->n_damage, 0);
	assert_int_equal(model->n_segments, 8);
	warpspan_model_destroy(model);
}

static void a_closed_stdout_stays_the_programs(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" descriptor \"$1\" >&-", "theirs", &result);
	assert_int_equal(result.exit_status, 0);
	assert_file("theirs", "descriptor 1\n");
	run_result_finish(&result);
	struct warpspan_model *model = load();
	assert_true(model->complete);
	warpspan_model_destroy(model);
}

static void a_file_in_the_place_of_stderr_gets_no_lines_of_ours(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" descriptor \"$1\" 2>&-", "theirs", &result);
	assert_int_equal(result.exit_status, 0);
	assert_file("theirs", "descriptor 2\n");
	run_result_finish(&result);
	struct warpspan_model *model = load();
	assert_true(model->complete);
	warpspan_model_destroy(model);
}

/* --- signals ---------------------------------------------------------------------------------- */

static void a_stderr_that_nobody_reads_does_not_end_the_program(void **state)
{
	int ends[2], status = 0;
	assert_int_equal(pipe(ends), 0);
	const pid_t child = fork();
	if (child == 0) {
		static char out[PATH_BYTES], report[] = "WARPSPAN_REPORT=1";
		snprintf(out, sizeof(out), "%s", capture_setting());
		close(ends[0]);
		dup2(ends[1], STDERR_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		putenv(preload);
		putenv(out);
		putenv(report);
		execl(guest, guest, "plain", (char *)NULL);
		_exit(127);
	}
	close(ends[0]);
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
}

static void assert_no_temporary_files(void)
{
	DIR *entries = opendir(folder);
	assert_non_null(entries);
	for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
		if (strstr(entry->d_name, ".tmp") != NULL)
			fail_msg("'%s' was left behind", entry->d_name);
	closedir(entries);
}

/* Under a limit of file size; the closing line says what the files hold. */
static void check_limited(uint64_t most_bytes, bool whole)
{
	struct run_result result;
	char line[128], wanted[128];
	snprintf(line, sizeof(line), "ulimit -f %llu; exec \"$0\" many", (unsigned long long)(most_bytes / 512));
	run_shell(line, "", &result);
	assert_int_equal(result.exit_status, 3);
	assert_string_equal(result.out, "guest: no error\n");
	assert_no_temporary_files();
	struct warpspan_model *model = load();
	assert_int_equal(model->complete, whole);
	snprintf(wanted, sizeof(wanted), " %llu record%s: ", (unsigned long long)model->n_records,
		 model->n_records == 1 ? "" : "s");
	assert_holds(result.err, wanted);
	if (whole) {
		assert_holds(result.err, "File too large");
		assert_null(strstr(strstr(result.err, wanted), ".pftrace"));
		assert_int_equal(access(in_folder("c.pftrace"), F_OK), -1);
		assert_holds(strstr(result.err, wanted), ".json.gz");
	} else {
		assert_holds(result.err, "(cut short)");
	}
	run_result_finish(&result);
	warpspan_model_destroy(model);
	unlink(in_folder("c.wspan"));
	unlink(in_folder("c.pftrace"));
	unlink(in_folder("c.json.gz"));
}

static void a_limit_of_file_size_does_not_end_the_program(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" many", "", &result);
	assert_int_equal(result.exit_status, 3);
	run_result_finish(&result);
	const uint64_t capture = bytes_of("c.wspan"), timeline = bytes_of("c.pftrace");
	assert_true(timeline > capture + 4096);
	unlink(in_folder("c.wspan"));
	unlink(in_folder("c.pftrace"));
	check_limited((capture + timeline) / 2, true);
	check_limited(capture / 2, false);
}

/* --- contexts and memory ---------------------------------------------------------------------- */

static void a_context_lost_to_a_fault_is_counted(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" fault", "", &result);
	assert_int_equal(result.exit_status, 3);
	run_result_finish(&result);
	struct warpspan_model *model = load();
	assert_int_equal(counter(model, "context_lost"), 1);
	assert_int_equal(counter(model, "overwritten"), 0);
	assert_int_equal(model->n_segments, 8);
	warpspan_model_destroy(model);
}

static void memory_that_a_kernel_overwrites_is_left_out_and_counted(void **state)
{
	static const struct {
		const char *what;
		bool quick_is_whole; /* what came after is found as well */
	} attacks[] = {
		{ "nothing", true },       { "magic", true },       { "state", true },      { "length-0", true },
		{ "length-16", true },     { "length-64", true },   { "length-odd", true }, { "length-long", true },
		{ "length-more", true },   { "module", true },      { "ones", true },       { "zeros", true },
		{ "tickets-ones", false }, { "closed-ones", true },
	};
	const size_t n = sizeof(attacks) / sizeof(attacks[0]);
	for (size_t round = 0; round < 2 * n; round++) {
		const size_t i = round % n;
		/* A counter that was hit before it was looked at is no worse than a wrong number of open warps. */
		const bool hit = i != 0 && !(round >= n && strcmp(attacks[i].what, "closed-ones") == 0);
		struct run_result result;
		uint64_t count = 0, warps;
		run_program(&(struct run){ .arguments = { hostile, attacks[i].what, round < n ? NULL : "soon" },
					   .environment = { preload, capture_setting() } },
			    &result);
		if (result.exit_status != 0 || strcmp(result.out, "hostile: no error\n") != 0)
			fail_msg("%s: exit status %d, '%s', '%s'", attacks[i].what, result.exit_status, result.out,
				 result.err);
		if (hit && strstr(result.err, "was overwritten") == NULL)
			fail_msg("%s: '%s'", attacks[i].what, result.err);
		run_result_finish(&result);
		struct warpspan_model *model = load();
		if (model->n_damage != 0)
			fail_msg("%s: %s", attacks[i].what, model->damage[0].text);
		if (hit ? counter(model, "overwritten") == 0 : i == 0 && counter(model, "overwritten") != 0)
			fail_msg("%s: overwritten %d", attacks[i].what, (int)counter(model, "overwritten"));
		region_count(model, "quick", &count, &warps);
		if (count != 4 && attacks[i].quick_is_whole)
			fail_msg("%s: %d of 4 records of other warps", attacks[i].what, (int)count);
		assert_true(count >= 2);
		warpspan_model_destroy(model);
		unlink(in_folder("c.wspan"));
	}
}

static void a_launch_the_driver_refused_is_not_counted_as_one(void **state)
{
	struct run_result result;
	run_shell("exec \"$0\" refused", "", &result);
	assert_int_equal(result.exit_status, 3);
	assert_holds(result.out, "guest: invalid");
	assert_holds(result.err, " 1 launch, 32 records: ");
	run_result_finish(&result);
}

/* --- WARPSPAN_KERNEL -------------------------------------------------------------------------- */

static void a_pattern_names_a_template_or_is_said_to_name_nothing(void **state)
{
	static const char *const patterns[] = { "step*", "steps", " none , steps<2>", "nothing" };
	for (unsigned i = 0; i < 4; i++) {
		struct run_result result;
		char setting[64];
		snprintf(setting, sizeof(setting), "WARPSPAN_KERNEL=%s", patterns[i]);
		run_program(&(struct run){ .arguments = { guest, "plain" },
					   .environment = { preload, capture_setting(), setting } },
			    &result);
		assert_int_equal(result.exit_status, 3);
		if (i < 3)
			assert_holds(result.err, "1 launch, 32 records: ");
		else
			assert_int_equal(access(in_folder("c.wspan"), F_OK), -1);
		if (i < 2)
			assert_null(strstr(result.err, "matched"));
		else if (i == 2)
			assert_holds(result.err, "WARPSPAN_KERNEL='none' matched none of: void steps<2>(int*)\n");
		else
			assert_holds(result.err, "WARPSPAN_KERNEL='nothing' matched none of: void steps<2>(int*)\n");
		run_result_finish(&result);
		unlink(in_folder("c.wspan"));
	}
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s BUILD\n", argv[0]);
		return 2;
	}
	build = argv[1];
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build);
	snprintf(guest, sizeof(guest), "%s/tests/preload/e2e/guest", build);
	snprintf(hostile, sizeof(hostile), "%s/tests/preload/e2e/hostile", build);
	snprintf(command, sizeof(command), "%s/decoder/warpspan", build);
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(a_file_that_took_our_descriptor_is_left_alone),
		T(a_closed_stdout_stays_the_programs),
		T(a_file_in_the_place_of_stderr_gets_no_lines_of_ours),
		T(a_stderr_that_nobody_reads_does_not_end_the_program),
		T(a_limit_of_file_size_does_not_end_the_program),
		T(a_context_lost_to_a_fault_is_counted),
		T(a_launch_the_driver_refused_is_not_counted_as_one),
		T(a_pattern_names_a_template_or_is_said_to_name_nothing),
		T(memory_that_a_kernel_overwrites_is_left_out_and_counted),
	};
	return cmocka_run_group_tests_name("guest", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_command.c WARPSPAN - the command as a user meets it: what it prints, where, and its exit statuses.
 */
#include "support.h"

#include "events.h"
#include "run.h"
#include "unit/capture_builder.h"

#include <cjson/cJSON.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN  SITE(0)
#define WORK  SITE(1)
#define LOAD  SITE(2)
#define STEP  SITE(3)
#define COUNT SITE(4)

static const char *command;
static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/warpspan-command-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { "rm", "-r", folder } }, &result);
	run_result_finish(&result);
	return 0;
}

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void assert_holds(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("'%s' is not in:\n%s", wanted, text);
}

/* Runs `warpspan` with up to five arguments and expects `status`; the caller finishes *result. */
static void run(struct run_result *result, int status, const char *a, const char *b, const char *c, const char *d,
		const char *e)
{
	run_program(&(struct run){ .arguments = { command, a, b, c, d, e }, .environment = { "COLUMNS=80" } }, result);
	if (result->exit_status != status)
		fail_msg("exit status %d, not %d:\n%s%s", result->exit_status, status, result->out, result->err);
}

/* Four warps in two blocks; `room` words each. */
static void write_capture_with(const char *path, uint32_t room, const char *counters)
{
	struct builder *builder = builder_create();
	const struct warp_place place = { .grid_id = 7, .grid = { 2, 1, 1 }, .threads = { 64, 1, 1 } };
	size_t n_bytes;

	builder_kernel(builder, 1, "_Z4stepPf", "step(float*)");
	builder_site(builder, OPEN, WARPSPAN_SITE_OPEN, "ws", 5);
	builder_site(builder, WORK, WARPSPAN_SITE_SCOPE, "work", 10);
	builder_site(builder, LOAD, WARPSPAN_SITE_SCOPE, "load", 12);
	builder_site(builder, STEP, WARPSPAN_SITE_MARK, "step", 14);
	builder_site(builder, COUNT, WARPSPAN_SITE_VALUE, "count", 15);
	builder_launch(builder, 1, &place);
	for (uint32_t i = 0; i < 4; i++) {
		struct warp_place here = place;

		here.block[0] = i / 2;
		here.warp = i % 2;
		here.sm = i / 2;
		here.room = room;
		struct warp warp = warp_open(builder, &here, 1000 + i);
		warp_begin(&warp, WORK, 1100 + i);
		for (uint32_t j = 0; j < 8; j++) {
			warp_begin(&warp, LOAD, 1200 + i + 100 * j);
			warp_end(&warp, LOAD, 1250 + i + 100 * j);
		}
		warp_mark(&warp, STEP, 2100 + i);
		warp_value(&warp, COUNT, 17, 2110 + i);
		warp_end(&warp, WORK, 2200 + i);
		warp_close(&warp, 2300 + i);
		builder_segment(builder, &warp);
	}
	if (counters)
		builder_meta(builder, "{\"counters\":%s}", counters);
	builder_finish(builder);
	uint8_t *bytes = builder_bytes(builder, &n_bytes);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n_bytes, file), n_bytes);
	assert_int_equal(fclose(file), 0);
	free(bytes);
	builder_destroy(builder);
}

static void write_capture(const char *path, uint32_t room)
{
	write_capture_with(path, room, NULL);
}

/* --- captures --------------------------------------------------------------------------------- */

static void a_good_capture_is_ok_in_every_way(void **state)
{
	struct run_result result;

	write_capture(in_folder("good.wspan"), 64);
	run(&result, 0, "check", in_folder("good.wspan"), NULL, NULL, NULL);
	assert_holds(result.out, "80 records of 4 warps in 1 launch, 36 slices\nok\n");
	run_result_finish(&result);
	run(&result, 0, "report", in_folder("good.wspan"), NULL, NULL, NULL);
	assert_holds(result.out, "step(float*)");
	assert_holds(result.out, "load at kernel.cu:12");
	assert_holds(result.out, "none lost");
	assert_string_equal(result.err, "");
	run_result_finish(&result);
	run(&result, 0, "info", in_folder("good.wspan"), NULL, NULL, NULL);
	assert_holds(result.out, "1 in the host's log, 1 seen on the device");
	assert_holds(result.out, "chunks    segments  4, ");
	assert_holds(result.out, "5 sites, 1 session, 1 device, 1 context, 1 module, 1 kernel\n");
	run_result_finish(&result);
	run(&result, 0, "report", "--json", in_folder("good.wspan"), NULL, NULL);
	cJSON *root = cJSON_Parse(result.out);
	assert_string_equal(cJSON_GetObjectItem(root, "schema")->valuestring, "warpspan-report/1");
	cJSON_Delete(root);
	run_result_finish(&result);
}

/* Nothing that is in the capture is wrong, but the library knows that something is missing. */
static void what_was_destroyed_is_not_ok(void **state)
{
	static const struct {
		const char *counters, *text;
	} cases[] = {
		{ "{\"context_lost\":\"2\"}", "lost context: 2 CUDA contexts" },
		{ "{\"overwritten\":\"3\"}", "overwritten memory: the records of at least 3 warps" },
	};
	struct run_result result;

	for (int i = 0; i < 2; i++) {
		write_capture_with(in_folder("holes.wspan"), 64, cases[i].counters);
		run(&result, 1, "check", in_folder("holes.wspan"), NULL, NULL, NULL);
		assert_holds(result.out, cases[i].text);
		assert_null(strstr(result.out, "\nok\n"));
		run_result_finish(&result);
		run(&result, 0, "report", in_folder("holes.wspan"), NULL, NULL, NULL);
		assert_holds(result.out, cases[i].text);
		run_result_finish(&result);
	}
}

static void export_writes_both_files_and_says_where(void **state)
{
	struct events from_proto = { 0 }, from_json = { 0 };
	struct run_result result;

	write_capture(in_folder("a.wspan"), 64);
	run(&result, 0, "export", in_folder("a.wspan"), NULL, NULL, NULL);
	assert_holds(result.out, "/a.pftrace");
	assert_holds(result.out, "/a.json.gz");
	run_result_finish(&result);
	read_pftrace(in_folder("a.pftrace"), &from_proto);
	read_json_gz(in_folder("a.json.gz"), &from_json);
	/* slices, marks, the launch on the device; on the host, and the arrow between them */
	assert_int_equal(from_proto.n, 4 * 9 + 4 * 2 + 1 + 1 + 1);
	assert_int_equal(from_json.n, from_proto.n);
	events_finish(&from_proto);
	events_finish(&from_json);
	run(&result, 0, "export", in_folder("a.wspan"), "--format=pftrace", "--out", in_folder("b"));
	assert_int_equal(access(in_folder("b.pftrace"), F_OK), 0);
	assert_int_not_equal(access(in_folder("b.json.gz"), F_OK), 0);
	run_result_finish(&result);
	run(&result, 2, "export", "-f", "pftrce", in_folder("a.wspan"), NULL);
	assert_holds(result.err, "'pftrace'");
	run_result_finish(&result);
	run(&result, 1, "export", "-o", "/nonexistent/x", in_folder("a.wspan"), NULL);
	assert_holds(result.err, "/nonexistent/x.pftrace");
	run_result_finish(&result);
}

static void what_was_lost_is_said_with_the_settings_that_suffice(void **state)
{
	struct run_result result;
	uint64_t lost = 0;

	write_capture(in_folder("small.wspan"), 8);
	run(&result, 1, "check", in_folder("small.wspan"), NULL, NULL, NULL);
	assert_holds(result.out, "insufficient space: 48 records of 4 warps");
	assert_holds(result.out, "step(float*)");
	assert_holds(result.out, "block (0,0,0) warp 0");
	assert_holds(result.out, "This setting would have sufficed:\n    WARPSPAN_EVENTS_PER_WARP=22\n");
	assert_null(strstr(result.out, "WARPSPAN_BUFFER")); /* 64M is what it had */
	assert_holds(result.out, "unpaired records: ");
	assert_holds(result.out, "begins whose end was lost for want of room");
	assert_holds(result.out, "work at kernel.cu:10");
	assert_null(strstr(result.out, "\nok\n"));
	run_result_finish(&result);
	run(&result, 0, "report", in_folder("small.wspan"), NULL, NULL, NULL); /* lost is not damaged */
	assert_holds(result.out, "insufficient space: 48 records");
	run_result_finish(&result);
	run(&result, 0, "report", "--json", in_folder("small.wspan"), NULL, NULL);
	cJSON *root = cJSON_Parse(result.out);
	lost = (uint64_t)cJSON_GetObjectItem(cJSON_GetObjectItem(root, "lost"), "records")->valuedouble;
	assert_int_equal(lost, 48);
	const cJSON *sufficient = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "lost"), "sufficient");
	const cJSON *change = cJSON_GetObjectItem(sufficient, "change");
	assert_int_equal(cJSON_GetArraySize(change), 1);
	assert_string_equal(cJSON_GetArrayItem(change, 0)->valuestring, "WARPSPAN_EVENTS_PER_WARP");
	cJSON_Delete(root);
	run_result_finish(&result);
}

/* What the preloaded library does at the end of a session. */
static void a_session_ends_with_one_line_and_leaves_errno_alone(void **state)
{
	struct warpspan_error error;
	struct warpspan_exported exported;
	char *text = NULL;
	size_t n_bytes = 0;
	FILE *report = open_memstream(&text, &n_bytes);

	write_capture(in_folder("s.wspan"), 8);
	errno = 1234;
	assert_int_equal(warpspan_export(in_folder("s.wspan"), WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON, report,
					 &exported, &error),
			 WARPSPAN_OK);
	assert_int_equal(errno, 1234);
	assert_int_equal(exported.formats, WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON);
	assert_true(exported.decoded);
	assert_int_not_equal(exported.n_launches, 0);
	assert_int_not_equal(exported.n_records, 0);
	assert_holds(error.text, "insufficient space: 48 records of 4 warps lost in step(float*)");
	assert_holds(error.text, "unpaired records: 8 begins whose end was lost");
	assert_int_equal(access(in_folder("s.pftrace"), F_OK), 0);
	assert_int_equal(access(in_folder("s.json.gz"), F_OK), 0);
	fclose(report);
	assert_holds(text, "warpspan report of ");
	free(text);
	write_capture(in_folder("g.wspan"), 64);
	assert_int_equal(warpspan_export(in_folder("g.wspan"), 0, NULL, NULL, &error), WARPSPAN_OK);
	assert_string_equal(error.text, "");
	assert_int_equal(warpspan_export("/nonexistent.wspan", 0, NULL, &exported, &error), WARPSPAN_IO);
	assert_false(exported.decoded);
	assert_holds(error.text, "/nonexistent.wspan");
}

static void damage_is_told_with_its_offset_and_the_rest_is_shown(void **state)
{
	struct run_result result;
	struct stat about;

	write_capture(in_folder("cut.wspan"), 64);
	assert_int_equal(stat(in_folder("cut.wspan"), &about), 0);
	assert_int_equal(truncate(in_folder("cut.wspan"), about.st_size - 100), 0);
	for (int i = 0; i < 2; i++) {
		run(&result, 1, i ? "check" : "report", in_folder("cut.wspan"), NULL, NULL, NULL);
		assert_holds(result.out, "damaged capture: ");
		assert_holds(result.out, "byte ");
		assert_holds(result.out, i ? "warps" : "load at kernel.cu:12");
		run_result_finish(&result);
	}
	run(&result, 1, "export", in_folder("cut.wspan"), NULL, NULL, NULL);
	assert_int_equal(access(in_folder("cut.pftrace"), F_OK), 0);
	run_result_finish(&result);
	run(&result, 1, "report", "/nonexistent.wspan", NULL, NULL, NULL);
	assert_holds(result.err, "/nonexistent.wspan");
	run_result_finish(&result);
	run(&result, 1, "report", command, NULL, NULL, NULL);
	assert_holds(result.err, "not a warpspan capture");
	run_result_finish(&result);
}

static void a_reader_that_goes_away_is_no_news(void **state)
{
	struct run_result result;
	char shell[512];

	write_capture(in_folder("good.wspan"), 64);
	snprintf(shell, sizeof(shell), "trap '' PIPE; sleep 0.1; %s report %s; echo $? >&2", command,
		 in_folder("good.wspan"));
	char script[700];
	snprintf(script, sizeof(script), "{ %s; } | true", shell);
	run_program(&(struct run){ .arguments = { "bash", "-c", script } }, &result);
	assert_string_equal(result.err, "1\n");
	run_result_finish(&result);
	snprintf(script, sizeof(script), "%s report %s > /dev/full", command, in_folder("good.wspan"));
	run_program(&(struct run){ .arguments = { "bash", "-c", script } }, &result);
	assert_int_equal(result.exit_status, 1);
	assert_holds(result.err, "standard output");
	run_result_finish(&result);
}

/* --- usage ------------------------------------------------------------------------------------ */

static void help_and_version_are_everywhere(void **state)
{
	static const char *const names[] = { "run", "report", "export", "info", "check", "settings" };
	struct run_result result;

	run(&result, 0, "--help", NULL, NULL, NULL, NULL);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_holds(result.out, names[i]);
	assert_holds(result.out, "127");
	run_result_finish(&result);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		run(&result, 0, names[i], "--help", NULL, NULL, NULL);
		assert_holds(result.out, names[i]);
		assert_holds(result.out, "exit status");
		run_result_finish(&result);
		run(&result, 0, names[i], "--version", NULL, NULL, NULL);
		assert_holds(result.out, "warpspan ");
		run_result_finish(&result);
	}
	run(&result, 0, "--version", NULL, NULL, NULL, NULL);
	run_result_finish(&result);
}

static void mistakes_get_the_nearest_word(void **state)
{
	static const struct {
		const char *a, *b, *c, *text;
	} cases[] = {
		{ "repotr", NULL, NULL, "did you mean 'report'?" },
		{ "frobnicate", NULL, NULL, "--help" },
		{ "report", "--jsno", "x", "did you mean '--json'?" },
		{ "run", "--bufer=1M", "true", "did you mean '--buffer'?" },
		{ "run", "--buffer=1", "true", "64K" },
		{ "run", "--out", NULL, "needs an argument" },
		{ "run", "--report=1", "true", "takes no argument" },
		{ "run", NULL, NULL, "missing" },
		{ "report", NULL, NULL, "missing" },
		{ "report", "a", "b", "'b'" },
		{ "info", "-x", NULL, "'-x'" },
		{ "settings", "now", NULL, "'now'" },
		{ NULL, NULL, NULL, "missing" },
	};
	struct run_result result;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		run(&result, 2, cases[i].a, cases[i].b, cases[i].c, NULL, NULL);
		assert_holds(result.err, cases[i].text);
		assert_string_equal(result.out, "");
		run_result_finish(&result);
	}
}

static void settings_show_the_environment(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { command, "settings" }, .environment = { "WARPSPAN_BUFFER=123M" } },
		    &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.out, "WARPSPAN_EVENTS_PER_WARP");
	assert_holds(result.out, "123M");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { command, "settings" }, .environment = { "WARPSPAN_BUFER=1M" } },
		    &result);
	assert_int_equal(result.exit_status, 1);
	assert_holds(result.err, "WARPSPAN_BUFFER");
	run_result_finish(&result);
}

/* --- run -------------------------------------------------------------------------------------- */

static void run_keeps_what_was_preloaded_and_sets_the_settings(void **state)
{
	struct run_result result;

	run_program(&(struct run){ .arguments = { command, "run", "--library", "/proc/self/exe", "--buffer", "2M", "-r",
						  "--events-per-warp=12", "--", "env" },
				   /* a sanitized command would not start behind another library */
				   .environment = { "LD_PRELOAD=libm.so.6", "ASAN_OPTIONS=verify_asan_link_order=0" } },
		    &result);
	/* the library is an executable here, which the loader refuses to preload, and says so */
	assert_holds(result.out, "WARPSPAN_BUFFER=2M\n");
	assert_holds(result.out, "WARPSPAN_REPORT=1\n");
	assert_holds(result.out, "WARPSPAN_EVENTS_PER_WARP=12\n");
	assert_holds(result.out, "/warpspan:libm.so.6\n");
	run_result_finish(&result);
	run_program(
		&(struct run){ .arguments = { command, "run", "--library", "/proc/self/exe", "sh", "-c", "exit 7" } },
		&result);
	assert_int_equal(result.exit_status, 7);
	run_result_finish(&result);
	run(&result, 125, "run", "--library", "/nonexistent.so", "true", NULL);
	assert_holds(result.err, "/nonexistent.so");
	run_result_finish(&result);
}

/* An executable that is nothing but an ELF header. */
static void write_program(const char *path, unsigned char class, unsigned mode)
{
	Elf64_Ehdr header = { .e_type = ET_EXEC, .e_machine = EM_X86_64, .e_phentsize = sizeof(Elf64_Phdr) };

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = class;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &header, sizeof(header)), sizeof(header));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void run_refuses_what_the_loader_would_not_preload_into(void **state)
{
	struct run_result result;

	write_program(in_folder("static"), sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32, 0755);
	run(&result, 126, "run", "--", in_folder("static"), NULL, NULL);
	assert_holds(result.err, "statically linked");
	run_result_finish(&result);
	write_program(in_folder("other"), sizeof(void *) == 8 ? ELFCLASS32 : ELFCLASS64, 0755);
	run(&result, 126, "run", "--", in_folder("other"), NULL, NULL);
	assert_holds(result.err, "ELF class");
	run_result_finish(&result);
	write_program(in_folder("data"), ELFCLASS64, 0644);
	run(&result, 126, "run", "--", in_folder("data"), NULL, NULL);
	assert_holds(result.err, "Permission denied");
	run_result_finish(&result);
	run(&result, 127, "run", "no-such-program-anywhere", NULL, NULL, NULL);
	assert_holds(result.err, "no-such-program-anywhere");
	run_result_finish(&result);
}

int main(int argc, char **argv)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(a_good_capture_is_ok_in_every_way),
		T(what_was_destroyed_is_not_ok),
		T(export_writes_both_files_and_says_where),
		T(what_was_lost_is_said_with_the_settings_that_suffice),
		T(a_session_ends_with_one_line_and_leaves_errno_alone),
		T(damage_is_told_with_its_offset_and_the_rest_is_shown),
		T(a_reader_that_goes_away_is_no_news),
		T(help_and_version_are_everywhere),
		T(mistakes_get_the_nearest_word),
		T(settings_show_the_environment),
		T(run_keeps_what_was_preloaded_and_sets_the_settings),
		T(run_refuses_what_the_loader_would_not_preload_into),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s WARPSPAN\n", argv[0]);
		return 2;
	}
	command = argv[1];
	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}

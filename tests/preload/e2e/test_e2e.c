/* SPDX-License-Identifier: Apache-2.0
 *
 * test_e2e.c BUILD SOURCE - ordinary programs, preloaded, on simgpu: what they print and return is what they print
 * and return without the library, and what the capture holds is what their source says. BUILD is the build folder,
 * SOURCE the source tree; the environment already leads to simgpu's libraries.
 */
#include "support.h"

#include "examples.h"
#include "folder.h"
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATH_BYTES 4096

static const char *build, *source;
static char preload[PATH_BYTES]; /* LD_PRELOAD=... */
static char command[PATH_BYTES]; /* the warpspan command */

static const char *example(const char *name)
{
	static char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s/device_rt/examples/%s", build, name);
	return path;
}

static const char *program(const char *name)
{
	static char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s/tests/preload/e2e/%s", build, name);
	return path;
}

/* Runs `path` under the library with up to three more settings, its capture called `name`, in the test's folder. */
static void run_recorded(const char *path, const char *name, const char *const settings[3],
			 struct run_result *ret_result)
{
	char out[PATH_BYTES];
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%s", folder, name);
	struct run run = { .arguments = { path }, .environment = { preload, out } };
	for (int i = 0; settings != NULL && i < 3 && settings[i] != NULL; i++)
		run.environment[2 + i] = settings[i];
	run_program(&run, ret_result);
}

static struct warpspan_model *load(const char *name)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;
	char file[256];
	snprintf(file, sizeof(file), "%s.wspan", name);
	if (warpspan_model_load(in_folder(file), &model, &error) < 0)
		fail_msg("%s", error.text);
	return model;
}

static uint64_t unpaired_count(const struct warpspan_model *model, enum warpspan_unpaired_cause cause)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < model->n_unpaired; i++)
		n += model->unpaired[i].cause == cause ? model->unpaired[i].n : 0;
	return n;
}

static bool exists(const char *name)
{
	return access(in_folder(name), R_OK) == 0;
}

/* --- the examples ----------------------------------------------------------------------------- */

static void check_example(const char *name)
{
	struct run_result plain, recorded;
	char file[256];
	run_program(&(struct run){ .arguments = { example(name) }, .environment = { "LD_PRELOAD" } }, &plain);
	run_recorded(example(name), name, NULL, &recorded);
	assert_int_equal(plain.exit_status, 0);
	assert_int_equal(recorded.exit_status, 0);
	assert_string_equal(plain.out, recorded.out);
	struct warpspan_model *model = load(name);
	assert_int_equal(example_compare(name, model, ""), 0);
	snprintf(file, sizeof(file), "%s.pftrace", name);
	assert_true(exists(file));
	snprintf(file, sizeof(file), "%s.json.gz", name);
	assert_true(exists(file));
	warpspan_model_destroy(model);
	run_result_finish(&plain);
	run_result_finish(&recorded);
}

static void saxpy_is_recorded_exactly_and_does_not_notice(void **state)
{
	check_example("saxpy");
}

static void pipeline_is_recorded_exactly_and_does_not_notice(void **state)
{
	check_example("pipeline");
}

static void streams_is_recorded_exactly_and_does_not_notice(void **state)
{
	check_example("streams");
}

static void the_same_program_gives_the_same_timestamps(void **state)
{
	struct run_result result;
	struct warpspan_model *models[2];
	for (int i = 0; i < 2; i++) {
		run_recorded(example("pipeline"), i == 0 ? "a" : "b", NULL, &result);
		assert_int_equal(result.exit_status, 0);
		run_result_finish(&result);
		models[i] = load(i == 0 ? "a" : "b");
	}
	assert_int_equal(models[0]->n_slices, models[1]->n_slices);
	for (uint64_t i = 0; i < models[0]->n_slices; i++) {
		assert_int_equal(models[0]->slices[i].start_ns, models[1]->slices[i].start_ns);
		assert_int_equal(models[0]->slices[i].end_ns, models[1]->slices[i].end_ns);
	}
	warpspan_model_destroy(models[0]);
	warpspan_model_destroy(models[1]);
}

static void every_slice_says_where_it_is_in_the_source(void **state)
{
	struct run_result result;
	run_recorded(example("pipeline"), "pipeline", NULL, &result);
	run_result_finish(&result);
	struct warpspan_model *model = load("pipeline");
	assert_true(model->n_regions >= 6);
	for (uint32_t i = 0; i < model->n_regions; i++) {
		assert_holds(model->regions[i].file, "pipeline.cu");
		assert_true(model->regions[i].line > 20);
	}
	assert_holds(model->kernels[model->grids[0].kernel].demangled, "pipeline(float const*, float const*, float*)");
	warpspan_model_destroy(model);
}

/* --- too little room -------------------------------------------------------------------------- */

/* Runs with 64K: all that was made is there or counted, and the settings the report names lose nothing. */
static void check_small_buffer(const char *name)
{
	struct run_result result;
	char setting_buffer[64], setting_events[64];
	uint64_t buffer;
	uint32_t events;
	run_recorded(example(name), "small", (const char *[3]){ "WARPSPAN_BUFFER=64K", "WARPSPAN_EVENTS_PER_WARP=512" },
		     &result);
	assert_int_equal(result.exit_status, 0);
	struct warpspan_model *model = load("small");
	assert_true(model->n_lost_records > 0);
	assert_int_equal(model->n_records + model->n_lost_records, example_records(name));
	assert_int_equal(model->n_damage, 0);
	warpspan_model_sufficient(model, &buffer, &events);
	assert_true(buffer > 65536 && events > 0);
	snprintf(setting_buffer, sizeof(setting_buffer), "WARPSPAN_BUFFER=%" PRIu64, buffer);
	snprintf(setting_events, sizeof(setting_events), "WARPSPAN_EVENTS_PER_WARP=%u", events);
	assert_holds(result.err, "insufficient space");
	assert_holds(result.err, "WARPSPAN_BUFFER=");
	assert_true(exists("small.pftrace") && exists("small.json.gz"));
	run_result_finish(&result);
	warpspan_model_destroy(model);

	run_program(&(struct run){ .arguments = { command, "report", in_folder("small.wspan") } }, &result);
	assert_holds(result.out, "insufficient space");
	assert_holds(result.out, "WARPSPAN_BUFFER=");
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { command, "check", in_folder("small.wspan") } }, &result);
	assert_int_equal(result.exit_status, 1);
	assert_holds(result.out, "insufficient space");
	run_result_finish(&result);

	run_recorded(example(name), "enough", (const char *[3]){ setting_buffer, setting_events }, &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
	model = load("enough");
	assert_int_equal(example_compare(name, model, ""), 0);
	warpspan_model_destroy(model);
}

static void the_smallest_buffer_keeps_count_of_everything(void **state)
{
	static const char *const names[] = { "saxpy", "pipeline", "streams" };
	for (unsigned i = 0; i < 3; i++) {
		struct run_result result;
		run_recorded(example(names[i]), names[i], (const char *[3]){ "WARPSPAN_BUFFER=64K" }, &result);
		assert_int_equal(result.exit_status, 0);
		struct warpspan_model *model = load(names[i]);
		assert_int_equal(model->n_records + model->n_lost_records, example_records(names[i]));
		if (model->n_lost_records > 0)
			assert_holds(result.err, "insufficient space");
		run_result_finish(&result);
		warpspan_model_destroy(model);
	}
}

/* Segments shrink to what the kernel was seen to need: all fit, whether the collector comes by or not. */
static void many_small_launches_lose_nothing(void **state)
{
	struct run_result result;
	uint64_t count, warps;
	run_recorded(program("small_launches"), "small", (const char *[3]){ "WARPSPAN_FORMAT=none" }, &result);
	assert_string_equal(result.out, "small_launches: 4000, no error\n");
	run_result_finish(&result);
	struct warpspan_model *model = load("small");
	region_count(model, "step", &count, &warps);
	assert_int_equal(count, 16000);
	assert_int_equal(model->n_lost_records, 0);
	assert_int_equal(model->n_lost_warps, 0);
	warpspan_model_destroy(model);
}

static void a_small_buffer_loses_exactly_what_it_says_in_pipeline(void **state)
{
	check_small_buffer("pipeline");
}

static void a_small_buffer_loses_exactly_what_it_says_in_streams(void **state)
{
	check_small_buffer("streams");
}

static void a_small_derived_segment_keeps_the_beginning_of_every_warp(void **state)
{
	struct run_result result;
	run_recorded(example("pipeline"), "cut", (const char *[3]){ "WARPSPAN_EVENTS_PER_WARP=10" }, &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
	struct warpspan_model *model = load("cut");
	assert_int_equal(model->n_segments, 80);
	assert_int_equal(model->n_records + model->n_lost_records, example_records("pipeline"));
	assert_int_equal(model->n_lost_warps, 80);
	assert_true(unpaired_count(model, WARPSPAN_UNPAIRED_END) == 0);
	assert_true(unpaired_count(model, WARPSPAN_UNPAIRED_BEGIN) == 0);
	warpspan_model_destroy(model);
}

static void twenty_thousand_blocks_fit_or_are_counted(void **state)
{
	struct run_result result;
	run_recorded(program("many_blocks"), "many", (const char *[3]){ "WARPSPAN_FORMAT=none" }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "many_blocks: 20000 blocks, no error\n");
	run_result_finish(&result);
	struct warpspan_model *model = load("many");
	assert_int_equal(model->n_records + model->n_lost_records, 20000ull * 8 * 8);
	assert_int_equal(model->n_lost_records, 0);
	assert_int_equal(model->n_segments, 160000);
	assert_int_equal(model->n_damage, 0);
	warpspan_model_destroy(model);

	run_recorded(program("many_blocks"), "tight",
		     (const char *[3]){ "WARPSPAN_FORMAT=none", "WARPSPAN_BUFFER=64K" }, &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "many_blocks: 20000 blocks, no error\n");
	assert_holds(result.err, "insufficient space");
	run_result_finish(&result);
	model = load("tight");
	assert_int_equal(model->n_records + model->n_lost_records, 20000ull * 8 * 8);
	assert_true(model->n_lost_records > 0);
	warpspan_model_destroy(model);
}

/* --- unpaired and open ------------------------------------------------------------------------ */

static void unpaired_records_are_told_apart_and_the_rest_is_kept(void **state)
{
	struct run_result result;
	uint64_t count, warps;
	run_recorded(program("unpaired"), "unpaired", NULL, &result);
	assert_int_equal(result.exit_status, 0);
	assert_holds(result.err, "unpaired records");
	run_result_finish(&result);
	struct warpspan_model *model = load("unpaired");
	assert_int_equal(unpaired_count(model, WARPSPAN_UNPAIRED_BEGIN), 4);
	assert_int_equal(unpaired_count(model, WARPSPAN_UNPAIRED_END), 4);
	assert_int_equal(unpaired_count(model, WARPSPAN_UNPAIRED_LOST), 0);
	assert_int_equal(unpaired_count(model, WARPSPAN_UNPAIRED_OPEN), 0);
	region_count(model, "outer", &count, &warps);
	assert_int_equal(count, 4);
	region_count(model, "good", &count, &warps);
	assert_int_equal(count, 4);
	region_count(model, "good too", &count, &warps);
	assert_int_equal(count, 4);
	warpspan_model_destroy(model);
	for (int i = 0; i < 2; i++) {
		run_program(&(struct run){ .arguments = { command, i == 0 ? "report" : "check",
							  in_folder("unpaired.wspan") } },
			    &result);
		assert_holds(result.out, "unpaired records");
		assert_holds(result.out, "never ended");
		assert_holds(result.out, "never begun");
		assert_holds(result.out, "unpaired.cu:");
		run_result_finish(&result);
	}
}

static void a_kernel_that_never_ends_shows_what_it_is_in(void **state)
{
	struct run_result result;
	uint64_t count, warps;
	run_recorded(program("hang"), "hang", NULL, &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "hang: launched, no error\n");
	assert_true(result.seconds < 30);
	run_result_finish(&result);
	struct warpspan_model *model = load("hang");
	assert_int_equal(model->n_segments, 4);
	assert_int_equal(unpaired_count(model, WARPSPAN_UNPAIRED_OPEN), 1);
	region_count(model, "work", &count, &warps);
	assert_int_equal(count, 4);
	for (uint64_t i = 0; i < model->n_slices; i++) {
		if (model->slices[i].end == WARPSPAN_END_OPEN) {
			assert_string_equal(model->regions[model->slices[i].region].name, "wait for the flag");
			assert_int_equal(model->tracks[model->slices[i].track].warp, 2);
		}
	}
	warpspan_model_destroy(model);
	run_program(&(struct run){ .arguments = { command, "report", in_folder("hang.wspan") } }, &result);
	assert_holds(result.out, "still open");
	assert_holds(result.out, "wait for the flag");
	run_result_finish(&result);
}

/* --- while the program runs ------------------------------------------------------------------- */

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The program says that it has synchronised; returns how long after that its 8 regions were in the capture, in seconds.
 */
static double latency_of_running(const char *how)
{
	int in[2], out[2];
	char out_setting[PATH_BYTES], line[256] = "";
	snprintf(out_setting, sizeof(out_setting), "WARPSPAN_OUT=%s/running_%s", folder, how);
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	const pid_t child = fork();
	if (child == 0) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		putenv(preload);
		putenv(out_setting);
		execl(program("running"), "running", how, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	assert_true(child > 0);
	assert_true(read(out[0], line, sizeof(line) - 1) > 0);
	const double synchronised = now_s();
	assert_string_equal(line, "synchronised: no error\n");

	char file[64];
	uint64_t count = 0, warps = 0;
	snprintf(file, sizeof(file), "running_%s.wspan", how);
	while (count != 8 && now_s() < synchronised + 5) {
		struct warpspan_model *model = NULL;
		struct warpspan_error error;
		if (warpspan_model_load(in_folder(file), &model, &error) >= 0) {
			region_count(model, "step", &count, &warps);
			assert_false(model->complete);
			warpspan_model_destroy(model);
		}
		if (count != 8)
			usleep(2000);
	}
	const double latency = now_s() - synchronised;
	assert_int_equal(count, 8);
	struct run_result report;
	run_program(&(struct run){ .arguments = { command, "report", in_folder(file) } }, &report);
	assert_holds(report.out, "step");
	run_result_finish(&report);

	int status;
	close(in[1]);
	close(out[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_int_equal(unlink(in_folder(file)), 0);
	return latency;
}

/* Within 100 ms; the machine may be busy, so one run of five has to show it. */
static void check_running(const char *how)
{
	double best = 1e9;
	for (int i = 0; i < 5 && best > 0.1; i++) {
		const double latency = latency_of_running(how);
		best = latency < best ? latency : best;
	}
	printf("records of a running program were in the capture %.0f ms after its synchronisation\n", best * 1000);
	assert_true(best <= 0.1);
}

static void records_are_in_the_capture_soon_after_a_synchronisation(void **state)
{
	check_running("device");
	check_running("stream");
}

/* --- settings, filters, damage ---------------------------------------------------------------- */

static void only_kernels_that_match_the_filter_are_recorded(void **state)
{
	struct run_result result;
	uint64_t count, warps;
	run_recorded(example("streams"), "filtered", (const char *[3]){ "WARPSPAN_KERNEL=*scale*,fill*" }, &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
	struct warpspan_model *model = load("filtered");
	assert_int_equal(model->n_launches, 160);
	region_count(model, "scale", &count, &warps);
	assert_int_equal(count, 1280);
	region_count(model, "fill", &count, &warps);
	assert_int_equal(count, 1280);
	region_count(model, "add", &count, &warps);
	assert_int_equal(count, 0);
	warpspan_model_destroy(model);
}

static void a_wrong_setting_is_reported_once_and_the_program_goes_on(void **state)
{
	struct run_result result;
	run_recorded(example("saxpy"), "wrong", (const char *[3]){ "WARPSPAN_BUFER=1M", "WARPSPAN_FORMAT=pftrce" },
		     &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "saxpy: 10000 elements, 0 wrong, no error\n");
	assert_holds(result.err, "WARPSPAN_BUFER");
	assert_holds(result.err, "WARPSPAN_BUFFER");
	assert_holds(result.err, "pftrce");
	assert_holds(result.err, "pftrace");
	const char *first = strstr(result.err, "WARPSPAN_BUFER");
	assert_null(strstr(first + 1, "WARPSPAN_BUFER"));
	run_result_finish(&result);
}

static void an_output_folder_that_is_not_there_does_not_stop_the_program(void **state)
{
	struct run_result result;
	struct run run = { .arguments = { example("saxpy") },
			   .environment = { preload, "WARPSPAN_OUT=/nonexistent/x/y" } };
	run_program(&run, &result);
	assert_int_equal(result.exit_status, 0);
	assert_string_equal(result.out, "saxpy: 10000 elements, 0 wrong, no error\n");
	assert_holds(result.err, "/nonexistent/x");
	run_result_finish(&result);
}

static void the_report_can_be_printed_at_the_end(void **state)
{
	struct run_result result;
	run_recorded(example("saxpy"), "r", (const char *[3]){ "WARPSPAN_REPORT=1", "WARPSPAN_FORMAT=none" }, &result);
	assert_holds(result.err, "saxpy.cu:");
	assert_false(exists("r.pftrace"));
	assert_true(exists("r.wspan"));
	run_result_finish(&result);
}

static void a_cut_or_flipped_capture_gives_what_is_good_and_an_offset(void **state)
{
	struct run_result result;
	run_recorded(example("pipeline"), "p", (const char *[3]){ "WARPSPAN_FORMAT=none" }, &result);
	run_result_finish(&result);
	struct stat whole;
	assert_int_equal(stat(in_folder("p.wspan"), &whole), 0);
	for (int i = 1; i < 8; i++) {
		char script[PATH_BYTES];
		snprintf(script, sizeof(script),
			 "head -c %lld p.wspan > cut.wspan; cp p.wspan flip.wspan; "
			 "printf '\\377' | dd of=flip.wspan bs=1 seek=%lld conv=notrunc status=none",
			 (long long)whole.st_size * i / 8, (long long)whole.st_size * i / 8 + 3);
		run_program(&(struct run){ .arguments = { "sh", "-c", script }, .folder = folder }, &result);
		assert_int_equal(result.exit_status, 0);
		run_result_finish(&result);
		for (int kind = 0; kind < 2; kind++) {
			run_program(&(struct run){ .arguments = { command, "report",
								  in_folder(kind == 0 ? "cut.wspan" : "flip.wspan") } },
				    &result);
			assert_int_equal(result.exit_status, 1);
			assert_true(strstr(result.out, "byte ") != NULL || strstr(result.err, "byte ") != NULL);
			run_result_finish(&result);
		}
	}
}

static void the_launcher_keeps_an_existing_preload_and_the_exit_status(void **state)
{
	struct run_result result;
	run_program(&(struct run){ .arguments = { command, "run", "--out", in_folder("l"), "--", "sh", "-c",
						  "echo $LD_PRELOAD; exit 7" },
				   .environment = { "LD_PRELOAD=libm.so.6" } },
		    &result);
	assert_int_equal(result.exit_status, 7);
	assert_holds(result.out, "libwarpspan.so");
	assert_holds(result.out, "libm.so.6");
	assert_string_equal(result.err, "");
	run_result_finish(&result);
}

static void the_settings_in_the_readme_are_those_of_the_command(void **state)
{
	struct run_result settings, readme;
	char path[PATH_BYTES];
	snprintf(path, sizeof(path), "%s/README.md", source);
	run_program(&(struct run){ .arguments = { command, "settings" }, .environment = { "COLUMNS=110" } }, &settings);
	run_program(&(struct run){ .arguments = { "cat", path } }, &readme);
	assert_int_equal(settings.exit_status, 0);
	assert_true(settings.out_bytes > 500);
	assert_holds(readme.out, settings.out);
	run_result_finish(&settings);
	run_result_finish(&readme);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s BUILD SOURCE\n", argv[0]);
		return 2;
	}
	build = argv[1];
	source = argv[2];
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build);
	snprintf(command, sizeof(command), "%s/decoder/warpspan", build);
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(saxpy_is_recorded_exactly_and_does_not_notice),
		T(pipeline_is_recorded_exactly_and_does_not_notice),
		T(streams_is_recorded_exactly_and_does_not_notice),
		T(the_same_program_gives_the_same_timestamps),
		T(every_slice_says_where_it_is_in_the_source),
		T(the_smallest_buffer_keeps_count_of_everything),
		T(many_small_launches_lose_nothing),
		T(a_small_buffer_loses_exactly_what_it_says_in_pipeline),
		T(a_small_buffer_loses_exactly_what_it_says_in_streams),
		T(a_small_derived_segment_keeps_the_beginning_of_every_warp),
		T(twenty_thousand_blocks_fit_or_are_counted),
		T(unpaired_records_are_told_apart_and_the_rest_is_kept),
		T(a_kernel_that_never_ends_shows_what_it_is_in),
		T(records_are_in_the_capture_soon_after_a_synchronisation),
		T(only_kernels_that_match_the_filter_are_recorded),
		T(a_wrong_setting_is_reported_once_and_the_program_goes_on),
		T(an_output_folder_that_is_not_there_does_not_stop_the_program),
		T(the_report_can_be_printed_at_the_end),
		T(a_cut_or_flipped_capture_gives_what_is_good_and_an_offset),
		T(the_launcher_keeps_an_existing_preload_and_the_exit_status),
		T(the_settings_in_the_readme_are_those_of_the_command),
	};
	return cmocka_run_group_tests_name("end to end", tests, NULL, NULL);
}

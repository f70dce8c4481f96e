/* SPDX-License-Identifier: Apache-2.0
 *
 * test_doors.c - every way to launch, and every way to end, on simgpu: the program prints and returns what it does
 * without the library, and each launch is in the capture once, with all its records.
 *
 * Arguments: the library; doors.cu with the shared runtime, with the stand-in for the static one, with a default
 * stream per thread; driver.c; the PTX of kernels.cu; a CUDA program without instrumented kernels; bypass.c, plugin.cu;
 * graphs.cu; rdc_main.cu; route.c; another library in front of dlsym(); a library linked with libcuda and the program
 * that loads it; doors.cu and plugin.cu with the
 * shared runtime of 12; the PTX that NVRTC makes of kernels.cu (may be missing).
 */
#include "support.h"

#include "folder.h"
#include "model.h"
#include "run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WARPS_PER_LAUNCH 8u

enum {
	LIBRARY = 1,
	SHARED,
	STATIC,
	PER_THREAD,
	DRIVER,
	PTX,
	PLAIN,
	BYPASS,
	PLUGIN,
	GRAPHS,
	RDC,
	ROUTE,
	HOOKER,
	DEEP_LIBRARY,
	DEEP,
	SHARED_12,
	PLUGIN_12,
	NVRTC_PTX,
	N_ARGUMENTS
};
static char *arguments[N_ARGUMENTS];
static char preload[4096], preload_before[4096], preload_behind[4096], output[4096];

static int make_output_folder(void **state)
{
	if (make_folder(state) != 0)
		return -1;
	(void)snprintf(output, sizeof(output), "WARPSPAN_OUT=%s/out", folder);
	return 0;
}

static int count_files(void)
{
	DIR *directory = opendir(folder);
	int n = 0;

	assert_non_null(directory);
	while (readdir(directory) != NULL)
		n++;
	(void)closedir(directory);
	return n - 2;
}

/* Runs the program with and without the library, which comes by `with_us`, and with one more setting (may be NULL) each
 * time. What it prints and returns must be the same. The caller frees what the library said. */
static char *run_both_by(const char *with_us, const char *const words[], const char *setting)
{
	struct run run = { .environment = { "LD_PRELOAD", output, "WARPSPAN_FORMAT=none", setting }, .timeout_s = 60 };
	struct run_result without, with;
	char *said;

	for (unsigned i = 0; words[i] != NULL; i++)
		run.arguments[i] = words[i];
	(void)run_program(&run, &without);
	assert_int_equal(count_files(), 0);
	run.environment[0] = with_us;
	(void)run_program(&run, &with);
	if (with.exit_status != without.exit_status)
		print_message("%s", with.err);
	assert_string_equal(with.out, without.out);
	assert_int_equal(with.exit_status, without.exit_status);
	assert_true(without.out_bytes > 0);
	said = strdup(with.err);
	assert_non_null(said);
	run_result_finish(&without);
	run_result_finish(&with);
	return said;
}

static char *run_both(const char *const words[], const char *setting)
{
	return run_both_by(preload, words, setting);
}

static struct warpspan_model *load(const char *name)
{
	char path[128];
	struct warpspan_model *model = NULL;
	struct warpspan_error error = { 0 };

	(void)snprintf(path, sizeof(path), "%s/%s.wspan", folder, name);
	if (warpspan_model_load(path, &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_true(model->complete);
	assert_int_equal(model->n_damage, 0);
	return model;
}

static unsigned count_api(const struct warpspan_model *model, enum warpspan_launch_api api)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < model->n_launches; i++)
		n += model->launches[i].api == (uint32_t)api;
	return n;
}

static uint64_t counter(const struct warpspan_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->n_counters; i++)
		if (strcmp(model->counters[i].name, name) == 0)
			return model->counters[i].value;
	fail_msg("no counter %s", name);
	return 0;
}

/* The capture holds `n_launches`, each once, and every warp's "step", each once. */
static void holds_launches(const struct warpspan_model *model, unsigned n_launches)
{
	assert_int_equal(model->n_launches, n_launches);
	assert_int_equal(model->n_segments, n_launches * WARPS_PER_LAUNCH);
	assert_int_equal(model->n_slices, n_launches * WARPS_PER_LAUNCH);
	assert_int_equal(model->n_lost_records, 0);
	assert_int_equal(model->n_unpaired, 0);
	assert_int_equal(counter(model, "launches_recorded"), n_launches);
	for (uint64_t i = 0; i < model->n_slices; i++) {
		assert_string_equal(model->regions[model->slices[i].region].name, "step");
		assert_int_equal(model->slices[i].end, WARPSPAN_END_RECORDED);
	}
	for (uint32_t i = 0; i < model->n_launches; i++) {
		assert_true(model->launches[i].end_ns >= model->launches[i].begin_ns);
		assert_int_equal(model->launches[i].grid[0], 4);
		assert_int_equal(model->launches[i].threads[0], 64);
	}
}

static void records(int program, const char *mode, unsigned n_launches)
{
	const char *const words[] = { arguments[program], mode, NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");

	holds_launches(model, n_launches);
	assert_int_equal(count_files(), 1);
	warpspan_model_destroy(model);
	free(said);
}

static void program_records(int program, int ptx, const char *mode, unsigned n_launches)
{
	const char *const words[] = { arguments[program], arguments[ptx], mode, NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");

	holds_launches(model, n_launches);
	warpspan_model_destroy(model);
	free(said);
}

static void driver_records(const char *mode, unsigned n_launches)
{
	program_records(DRIVER, PTX, mode, n_launches);
}

/* --- doors ------------------------------------------------------------------------------------ */

static void records_every_way(int program)
{
	struct warpspan_model *model;

	records(program, "ways", 8);
	model = load("out");
	assert_int_equal(count_api(model, WARPSPAN_API_CUDA_LAUNCH), 0);
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_COOPERATIVE_KERNEL), 1);
	for (uint32_t i = 0; i < model->n_launches; i++)
		assert_int_equal(model->launches[i].cluster[0], i == 6 ? 2 : 1);
	warpspan_model_destroy(model);
}

static void T2_the_shared_runtime_launches_each_once(void **state)
{
	records_every_way(SHARED);
}

/* As nvcc up to 12 compiles a launch, in a program of 13 and in one of 12. */
static void T2_launches_by_a_call_of_the_runtime_are_seen(void **state)
{
	static const int programs[] = { SHARED, STATIC, SHARED_12 };

	for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
		records(programs[i], "call", 3);
		assert_int_equal(remove_folder(NULL), 0);
		assert_int_equal(make_output_folder(NULL), 0);
	}
}

static void T2_the_shared_runtime_of_12_launches_each_once(void **state)
{
	records_every_way(SHARED_12);
}

static void the_answer_of_a_runtime_of_12_for_a_driver_function_is_ours(void **state)
{
	records(SHARED_12, "entry", 2);
}

static void T1_the_static_runtime_launches_each_once(void **state)
{
	records_every_way(STATIC);
}

static void a_default_stream_per_thread_stays_one(void **state)
{
	records_every_way(PER_THREAD);
}

static void T11_the_driver_launches_each_once_whatever_the_door(void **state)
{
	struct warpspan_model *model;

	driver_records("doors", 10);
	model = load("out");
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_KERNEL), 6);
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_KERNEL_EX), 2);
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_COOPERATIVE_KERNEL), 2);
	warpspan_model_destroy(model);
}

/* The runtime reaches the driver past us; its own door is still ours. */
static void past_the_drivers_door(int plugin, const char *runtime)
{
	const char *const words[] = { arguments[BYPASS], arguments[plugin], runtime, NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");

	holds_launches(model, 4);
	assert_int_equal(count_api(model, WARPSPAN_API_CUDA_LAUNCH), 4);
	warpspan_model_destroy(model);
	free(said);
}

static void T13_a_runtime_past_the_drivers_door_launches_each_once(void **state)
{
	past_the_drivers_door(PLUGIN, "libcudart.so.13");
}

static void T13_a_runtime_of_12_past_the_drivers_door_launches_each_once(void **state)
{
	past_the_drivers_door(PLUGIN_12, "libcudart.so.12");
}

/* --- another library in front of dlsym(), before us or behind us ------------------------------ */

/* Every kind of client that finds the driver is recorded as ever. */
static void records_beside_a_hooker(const char *pair)
{
	const struct {
		const char *words[4];
		unsigned n_launches;
	} clients[] = {
		{ { arguments[SHARED], "ways" }, 8 },
		{ { arguments[STATIC], "ways" }, 8 },
		{ { arguments[DRIVER], arguments[PTX], "plain" }, 4 },
		{ { arguments[DRIVER], arguments[PTX], "doors" }, 10 },
		{ { arguments[DRIVER], arguments[PTX], "triton" }, 4 },
		{ { arguments[ROUTE], arguments[PTX], "names" }, 4 },
		{ { arguments[ROUTE], arguments[PTX], "resolver" }, 4 },
	};

	for (unsigned i = 0; i < sizeof(clients) / sizeof(clients[0]); i++) {
		char *said = run_both_by(pair, clients[i].words, NULL);
		struct warpspan_model *model = load("out");

		print_message("  %s %s\n", clients[i].words[0], clients[i].words[1]);
		holds_launches(model, clients[i].n_launches);
		assert_int_equal(count_api(model, WARPSPAN_API_CUDA_LAUNCH), 0);
		warpspan_model_destroy(model);
		free(said);
		assert_int_equal(remove_folder(NULL), 0);
		assert_int_equal(make_output_folder(NULL), 0);
	}
}

static void T38_launches_are_recorded_with_a_hooker_before_us(void **state)
{
	records_beside_a_hooker(preload_before);
}

static void T38_launches_are_recorded_with_a_hooker_behind_us(void **state)
{
	records_beside_a_hooker(preload_behind);
}

/* --- one route each: who takes it is in route.c ----------------------------------------------- */

static void a_program_that_looks_every_name_up_is_seen(void **state)
{
	program_records(ROUTE, PTX, "names", 4);
}

static void a_program_that_asks_the_resolver_is_seen(void **state)
{
	program_records(ROUTE, PTX, "resolver", 4);
}

static void a_program_that_asks_the_old_resolver_is_seen(void **state)
{
	program_records(ROUTE, PTX, "resolver4", 4);
}

/* Known misses: a library that prefers its own libraries' functions and is linked with libcuda, or looks it up. */
static void deep_library(const char *mode, unsigned n_launches, unsigned n_calls)
{
	const char *const words[] = { arguments[DEEP], arguments[PTX], arguments[DEEP_LIBRARY], mode, NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model;

	assert_int_equal(count_files(), n_launches != 0 ? 1 : 0);
	if (n_launches != 0) {
		model = load("out");
		/* The program's own are there, each once; those of the library are not among the host's. */
		assert_int_equal(model->n_launches, n_launches);
		assert_int_equal(counter(model, "launches_recorded"), n_launches);
		assert_int_equal(model->n_segments, (n_launches + n_calls) * WARPS_PER_LAUNCH);
		assert_int_equal(model->n_grids, n_launches + n_calls);
		assert_int_equal(model->n_lost_records, 0);
		warpspan_model_destroy(model);
	}
	free(said);
}

static void T13_a_deeply_bound_library_by_itself_is_missed(void **state)
{
	deep_library("linked", 0, 0);
	deep_library("looked up", 0, 0);
}

static void T13_beside_it_the_program_is_recorded(void **state)
{
	deep_library("linked beside", 2, 0);
	assert_int_equal(remove_folder(NULL), 0);
	assert_int_equal(make_output_folder(NULL), 0);
	deep_library("looked up beside", 2, 0);
}

/* Kernels of a module that the program has launched from record, whoever launches them. */
static void T13_its_launches_of_the_programs_module_have_no_host_entry(void **state)
{
	deep_library("linked shared", 2, 3);
}

/* What it binds deeply is the driver's own calls; the program's lookups are still ours. */
static void T13_a_driver_loaded_deeply_is_seen(void **state)
{
	program_records(ROUTE, PTX, "deep", 4);
}

static void a_program_linked_with_the_driver_is_seen(void **state)
{
	driver_records("plain", 4);
}

static void a_program_linked_with_it_that_looks_up_as_well_is_seen(void **state)
{
	driver_records("triton", 4);
}

static void the_runtimes_answer_for_a_driver_function_is_ours(void **state)
{
	records(GRAPHS, "entry", 2);
}

/* --- many of a kind --------------------------------------------------------------------------- */

static void the_threads_stream_by_its_handle_is_recorded(void **state)
{
	records(GRAPHS, "per thread", 2);
}

static void instances_of_a_template_are_kernels_of_their_own(void **state)
{
	struct warpspan_model *model;

	records(GRAPHS, "instances", 3);
	model = load("out");
	assert_int_equal(model->n_kernels, 3);
	warpspan_model_destroy(model);
}

static void launches_on_several_streams_are_recorded(void **state)
{
	records(GRAPHS, "streams", 40);
}

static void many_modules_are_attached(void **state)
{
	driver_records("many", 50);
}

static void device_code_of_several_files_records(void **state)
{
	records(RDC, "", 4);
}

static void kernels_compiled_at_run_time_record(void **state)
{
	if (arguments[NVRTC_PTX] == NULL) {
		print_message("skipped: no NVRTC in the toolkit\n");
		skip();
	}
	program_records(DRIVER, NVRTC_PTX, "plain", 4);
}

static void libraries_of_kernels_compiled_at_run_time_record(void **state)
{
	if (arguments[NVRTC_PTX] == NULL) {
		print_message("skipped: no NVRTC in the toolkit\n");
		skip();
	}
	program_records(DRIVER, NVRTC_PTX, "libraries", 6);
}

static void several_devices_are_recorded_at_once(void **state)
{
	const char *const words[] = { arguments[GRAPHS], "devices", NULL };
	char *said = run_both(words, "SIMGPU_DEVICES=2");
	struct warpspan_model *model = load("out");

	holds_launches(model, 10);
	assert_int_equal(model->n_devices, 2);
	warpspan_model_destroy(model);
	free(said);
}

/* --- graphs ----------------------------------------------------------------------------------- */

/* The program's graphs ran `n_grids` kernels in `n_replays` launches of graphs, and besides launched `n_launches`. */
static void graphs_record(int program, const char *mode, unsigned n_launches, unsigned n_replays, unsigned n_grids)
{
	const char *const words[] = { arguments[program], program == DRIVER ? arguments[PTX] : mode,
				      program == DRIVER ? mode : NULL, NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");
	unsigned replays = 0;

	for (uint32_t i = 0; i < model->n_calls; i++)
		if (model->calls[i].kind == WARPSPAN_HOST_GRAPH_LAUNCH) {
			assert_int_equal(model->calls[i].result, 0);
			replays++;
		}
	assert_int_equal(replays, n_replays);
	assert_int_equal(model->n_launches, n_launches);
	assert_int_equal(model->n_segments, (n_launches + n_grids) * WARPS_PER_LAUNCH);
	assert_int_equal(model->n_slices, (n_launches + n_grids) * WARPS_PER_LAUNCH);
	assert_int_equal(model->n_lost_records, 0);
	assert_int_equal(model->n_grids, n_launches + n_grids);
	warpspan_model_destroy(model);
	free(said);
}

/* However the device numbers its grids: several in flight stay apart, or are marked as not told apart. */
static void grids_stay_apart_however_the_device_numbers_them(void **state)
{
	static const char *const modes[] = { "SIMGPU_GRIDID=unique", "SIMGPU_GRIDID=constant",
					     "SIMGPU_GRIDID=per-graph" };

	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		const char *const words[] = { arguments[GRAPHS], "streams", NULL };
		char *said = run_both(words, modes[i]);
		struct warpspan_model *model = load("out");

		assert_int_equal(model->n_launches, 40);
		assert_int_equal(model->n_slices, 40 * WARPS_PER_LAUNCH);
		for (uint32_t grid = 0; grid < model->n_grids; grid++)
			assert_true(model->grids[grid].match == WARPSPAN_MATCH_GRID_ID || i == 1);
		if (i != 1)
			assert_int_equal(model->n_grids, 40);
		warpspan_model_destroy(model);
		free(said);
		assert_int_equal(remove_folder(NULL), 0);
		assert_int_equal(make_output_folder(NULL), 0);
	}
}

static void T14_a_kernel_first_seen_in_a_capture_records_from_its_first_replay(void **state)
{
	graphs_record(GRAPHS, "captured", 0, 5, 5);
}

static void graphs_built_of_kernels_record(void **state)
{
	graphs_record(GRAPHS, "built", 0, 3, 6);
}

static void graphs_within_graphs_record(void **state)
{
	graphs_record(GRAPHS, "child", 0, 2, 4);
}

static void a_graph_launched_into_a_capture_is_part_of_another(void **state)
{
	graphs_record(GRAPHS, "nested", 0, 3, 3);
}

static void launches_beside_captures_and_replays_are_recorded(void **state)
{
	graphs_record(GRAPHS, "mixed", 3, 2, 2);
}

static void T4_per_thread_forms_are_recorded_by_name_and_in_captures(void **state)
{
	struct warpspan_model *model;

	graphs_record(DRIVER, "per thread", 6, 2, 6);
	model = load("out");
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_KERNEL), 2);
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_KERNEL_EX), 2);
	assert_int_equal(count_api(model, WARPSPAN_API_CU_LAUNCH_COOPERATIVE_KERNEL), 2);
	/* What stream 0 is there, the log says: launches of two threads are not in one stream. */
	for (uint32_t i = 0; i < model->n_launches; i++)
		assert_int_equal(model->launches[i].stream, 2);
	warpspan_model_destroy(model);
}

static void the_threads_stream_is_captured_and_replayed(void **state)
{
	graphs_record(GRAPHS, "per thread captured", 3, 3, 3);
}

static void kernels_a_graph_was_given_later_record(void **state)
{
	graphs_record(DRIVER, "update", 0, 3, 3);
}

/* --- what else the host did ------------------------------------------------------------------- */

static const char *hook_name(const struct warpspan_model *model, uint32_t number)
{
	for (uint32_t i = 0; i < model->n_hooks; i++)
		if (model->hooks[i].number == number)
			return model->hooks[i].name;
	fail_msg("no hook %u", number);
	return "";
}

static void waits_and_copies_are_recorded_among_the_launches(void **state)
{
	struct warpspan_model *model;
	unsigned n_copies = 0, n_waits = 0;

	driver_records("contexts", 12);
	model = load("out");
	for (uint32_t i = 0; i < model->n_calls; i++) {
		const struct warpspan_host_call *call = &model->calls[i];

		assert_true(call->end_ns >= call->begin_ns);
		assert_int_equal(call->result, 0);
		if (call->kind == WARPSPAN_HOST_COPY) {
			/* What is printed, once in each context, after its first launch. */
			assert_string_equal(hook_name(model, call->api), "cuMemcpyDtoH_v2");
			assert_int_equal(call->amount, 1024);
			assert_int_equal(call->context, ++n_copies);
			assert_true(call->number > model->launches[(n_copies - 1) * 4].number);
			assert_true(call->number < model->launches[(n_copies - 1) * 4 + 1].number);
		}
		n_waits += call->kind == WARPSPAN_HOST_SYNCHRONIZE;
	}
	assert_int_equal(n_copies, 3);
	assert_int_equal(n_waits, 0);
	warpspan_model_destroy(model);
}

static void copies_of_every_shape_are_recorded(void **state)
{
	static const struct {
		const char *name;
		uint64_t bytes;
		enum { NO_STREAM = 0, THREADS_STREAM = 2, SOME_STREAM } stream;
		int32_t result;
	} copies[] = {
		{ "cuMemcpy2D_v2", 48 * 4, NO_STREAM, 0 },
		{ "cuMemcpy2DUnaligned_v2", 48 * 4, NO_STREAM, 0 },
		{ "cuMemcpy2DAsync_v2", 48 * 4, SOME_STREAM, 0 },
		{ "cuMemcpy2D_v2_ptds", 48 * 4, THREADS_STREAM, 0 },
		{ "cuMemcpy3D_v2", 40 * 3 * 2, NO_STREAM, 0 },
		{ "cuMemcpy3DAsync_v2", 40 * 3 * 2, SOME_STREAM, 0 },
		{ "cuMemcpy3DAsync_v2_ptsz", 40 * 3 * 2, SOME_STREAM, 0 },
		{ "cuMemcpy3DPeer", 8 * 2 * 2, NO_STREAM, 0 },
		{ "cuMemcpy3DPeerAsync", 8 * 2 * 2, SOME_STREAM, 0 },
		{ "cuMemcpyPeer", 100, NO_STREAM, 0 },
		{ "cuMemcpyPeerAsync", 200, SOME_STREAM, 0 },
		{ "cuMemcpy2D_v2", 0, NO_STREAM, 1 }, /* of nothing: the driver refuses it */
		{ "cuMemcpyDtoH_v2", 1024, NO_STREAM, 0 },
	};
	struct warpspan_model *model;
	unsigned n = 0;

	driver_records("copies", 1);
	model = load("out");
	for (uint32_t i = 0; i < model->n_calls; i++) {
		const struct warpspan_host_call *call = &model->calls[i];

		if (call->kind != WARPSPAN_HOST_COPY)
			continue;
		assert_true(n < sizeof(copies) / sizeof(copies[0]));
		assert_string_equal(hook_name(model, call->api), copies[n].name);
		assert_int_equal(call->amount, copies[n].bytes);
		assert_int_equal(call->stream < SOME_STREAM ? call->stream : SOME_STREAM, copies[n].stream);
		assert_int_equal(call->result, copies[n].result);
		n++;
	}
	assert_int_equal(n, sizeof(copies) / sizeof(copies[0]));
	warpspan_model_destroy(model);
}

static void odd_questions_get_the_drivers_answers(void **state)
{
	const char *const words[] = { arguments[DRIVER], arguments[PTX], "odd", NULL };
	char *said = run_both(words, NULL);

	assert_string_equal(said, "");
	assert_int_equal(count_files(), 0);
	free(said);
}

static void a_thread_with_a_small_stack_may_launch_first(void **state)
{
	driver_records("small stack", 1);
}

/* Which function a question is answered with is the driver's to say; the name tells. */
static void answers_are_the_same_functions(const char *release)
{
	const char *const words[] = { arguments[DRIVER], arguments[PTX], "answers", NULL };
	char setting[64];

	(void)snprintf(setting, sizeof(setting), "SIMGPU_DRIVER=%s", release);
	free(run_both(words, setting));
}

static void T3_T4_each_question_is_answered_with_the_drivers_function(void **state)
{
	answers_are_the_same_functions("13.0");
}

static void T5_an_older_driver_answers_with_what_it_has(void **state)
{
	answers_are_the_same_functions("12.2");
	answers_are_the_same_functions("11.8");
}

static void a_function_that_was_renamed_does_not_take_the_place_of_the_old_one(void **state)
{
	const char *const words[] = { arguments[DRIVER], arguments[PTX], "instantiate", NULL };
	char *said = run_both(words, NULL);

	assert_string_equal(said, "");
	free(said);
}

/* --- many, at once, and at the end ------------------------------------------------------------ */

static void first_launches_of_many_threads_are_all_recorded(void **state)
{
	records(SHARED, "threads", 160);
}

static void thousands_of_launches_are_all_recorded(void **state)
{
	records(SHARED, "often", 2000);
}

static void launches_nobody_waits_for_are_recorded(void **state)
{
	records(SHARED, "leave", 10);
}

static void failing_launches_fail_as_ever(void **state)
{
	const char *const words[] = { arguments[SHARED], "fail", NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");

	/* The runtime itself refuses the others. */
	holds_launches(model, 1);
	warpspan_model_destroy(model);
	free(said);
}

static void launches_the_driver_refuses_are_recorded_as_that(void **state)
{
	const char *const words[] = { arguments[DRIVER], arguments[PTX], "fail", NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");

	assert_int_equal(model->n_launches, 2);
	assert_int_equal(model->launches[0].result, 1);
	assert_int_equal(model->launches[1].result, 0);
	assert_int_equal(model->n_slices, WARPS_PER_LAUNCH);
	assert_int_equal(model->grids[0].host, 1);
	/* The launch of nothing is not one that we failed to look at. */
	assert_int_equal(counter(model, "lookup_error"), 0);
	warpspan_model_destroy(model);
	free(said);
}

static void a_launch_allocates_nothing(void **state)
{
	driver_records("steady", 101);
}

/* --- lives ------------------------------------------------------------------------------------ */

static void T19_a_reset_device_is_another_context(void **state)
{
	struct warpspan_model *model;

	records(SHARED, "reset", 6);
	model = load("out");
	assert_int_equal(model->launches[5].context, 3);
	warpspan_model_destroy(model);
}

static void destroyed_contexts_are_drained_first(void **state)
{
	driver_records("contexts", 12);
}

static void T20_unloaded_modules_keep_their_names(void **state)
{
	driver_records("unload", 20);
}

static void T17_libraries_are_attached_by_either_handle(void **state)
{
	driver_records("libraries", 6);
}

/* The kernel that faults takes its context along; what was drained before is kept. */
static void a_fault_of_the_program_stays_its_own(void **state)
{
	const char *const words[] = { arguments[SHARED], "fault", NULL };
	char *said = run_both(words, "SIMGPU_QUIET=1");
	struct warpspan_model *model = load("out");

	assert_int_equal(model->n_launches, 3);
	assert_true(model->n_slices >= WARPS_PER_LAUNCH);
	assert_non_null(strstr(said, "what was not read yet is lost"));
	warpspan_model_destroy(model);
	free(said);
}

static void a_forked_child_is_silent(void **state)
{
	const char *const words[] = { arguments[SHARED], "fork", NULL };
	char *said = run_both(words, NULL);
	struct warpspan_model *model = load("out");
	const char *first = strstr(said, "warpspan[");

	holds_launches(model, 2);
	assert_int_equal(count_files(), 1);
	/* One line, of the parent. */
	assert_non_null(first);
	assert_null(strstr(first + 1, "warpspan["));
	warpspan_model_destroy(model);
	free(said);
}

/* --- trouble ---------------------------------------------------------------------------------- */

static void a_program_without_instrumented_kernels_does_not_notice(void **state)
{
	const char *const words[] = { arguments[PLAIN], NULL };
	char *said = run_both(words, "WARPSPAN_LOG=debug");

	assert_string_equal(said, "");
	assert_int_equal(count_files(), 0);
	free(said);
}

/* Runs the driver program under a fault of the driver; it must not notice, and one line must say `why`. */
static void goes_on_unprofiled(const char *mode, const char *fault, const char *why)
{
	const char *const words[] = { arguments[DRIVER], arguments[PTX], mode, NULL };
	struct run run = { .environment = { "LD_PRELOAD", output, "WARPSPAN_FORMAT=none", "SIMGPU_QUIET=1" },
			   .timeout_s = 60 };
	struct run_result without, with;
	const char *said;

	for (unsigned i = 0; words[i] != NULL; i++)
		run.arguments[i] = words[i];
	(void)run_program(&run, &without);
	run.environment[0] = preload;
	run.environment[4] = fault;
	(void)run_program(&run, &with);
	assert_string_equal(with.out, without.out);
	assert_int_equal(with.exit_status, without.exit_status);
	said = strstr(with.err, why);
	if (said == NULL)
		fail_msg("'%s' is not in: %s", why, with.err);
	assert_null(strstr(said + 1, why));
	run_result_finish(&without);
	run_result_finish(&with);
}

static void is_of_another_version(const char *mode, const char *said)
{
	struct warpspan_model *model;

	goes_on_unprofiled(mode, NULL, said);
	model = load("out");
	assert_int_equal(model->n_launches, 0);
	assert_int_equal(counter(model, "abi_mismatch"), 3);
	warpspan_model_destroy(model);
}

static void another_version_of_the_header_is_left_alone(void **state)
{
	is_of_another_version("abi", "ABI version 77, this library has version 1");
}

static void a_larger_context_of_another_version_is_left_alone(void **state)
{
	is_of_another_version("larger abi", "ABI version 9, this library has version 1");
}

static void a_variable_of_the_programs_is_left_alone(void **state)
{
	goes_on_unprofiled("not ours", NULL, "a variable called warpspan_ctx that is not ours");
	assert_int_equal(count_files(), 0);
}

/* A fault is counted by its own calls: named again, it is the next call's. The program's own allocation is the first;
 * ours come next, from 64 MiB down to 64 KiB. */
#define FAULT "cuMemAlloc_v2:2:2"

static void a_full_device_leaves_the_program_alone(void **state)
{
	struct warpspan_model *model;

	goes_on_unprofiled("plain",
			   "SIMGPU_FAULT=" FAULT "," FAULT "," FAULT "," FAULT "," FAULT "," FAULT "," FAULT "," FAULT
			   "," FAULT "," FAULT "," FAULT,
			   "no device memory for records");
	model = load("out");
	assert_int_equal(model->n_launches, 0);
	assert_int_equal(counter(model, "no_memory"), 4);
	warpspan_model_destroy(model);
}

static void a_nearly_full_device_gets_a_smaller_buffer(void **state)
{
	struct warpspan_model *model;

	goes_on_unprofiled("plain", "SIMGPU_FAULT=" FAULT "," FAULT "," FAULT,
			   "of device memory for records: they get");
	model = load("out");
	holds_launches(model, 4);
	warpspan_model_destroy(model);
}

static void a_question_the_driver_refuses_is_asked_again(void **state)
{
	struct warpspan_model *model;

	goes_on_unprofiled("plain", "SIMGPU_FAULT=cuModuleGetGlobal_v2:1:201", "CUDA_ERROR_INVALID_CONTEXT");
	model = load("out");
	holds_launches(model, 3);
	assert_int_equal(counter(model, "lookup_error"), 1);
	warpspan_model_destroy(model);
}

/* As drivers before 12.5 do: the library of a kernel is not told. */
static void a_kernel_without_its_library_is_found_by_its_function(void **state)
{
	struct warpspan_model *model;
	const char *const words[] = { arguments[DRIVER], arguments[PTX], "libraries", NULL };
	char *said = run_both(words, "SIMGPU_FAULT=cuKernelGetLibrary:1:801,cuKernelGetLibrary:1:801,"
				     "cuKernelGetLibrary:1:801");

	model = load("out");
	holds_launches(model, 6);
	assert_string_equal(model->kernels[0].name, "step");
	warpspan_model_destroy(model);
	free(said);
}

/* Functions we can do without, or cannot: the program goes on either way. */
static void a_driver_that_lacks_functions_is_no_trouble(void **state)
{
	const char *const words[] = { arguments[SHARED], "ways", NULL };
	char *said = run_both(words, "SIMGPU_MISSING=cuLaunchKernelEx,cuGraphLaunch,cuStreamEndCapture");
	struct warpspan_model *model = load("out");

	assert_true(model->n_launches > 0);
	assert_int_equal(model->n_slices, model->n_launches * WARPS_PER_LAUNCH);
	warpspan_model_destroy(model);
	free(said);
}

/* As old as the library supports: 11.4. */
static void an_old_driver_is_no_trouble(void **state)
{
	const char *const words[] = { arguments[ROUTE], arguments[PTX], "resolver4", NULL };
	char *said = run_both(words, "SIMGPU_DRIVER_VERSION=11040");
	struct warpspan_model *model = load("out");

	holds_launches(model, 4);
	warpspan_model_destroy(model);
	free(said);
}

static void a_file_that_exists_is_not_touched(void **state)
{
	const char *const words[] = { arguments[SHARED], "leave", NULL };
	struct run run = { .arguments = { words[0], words[1] },
			   .environment = { preload, output, "WARPSPAN_FORMAT=json" } };

	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = { "out", "out.1", "out.2" };
		struct warpspan_model *model;
		struct run_result result;

		assert_int_equal(run_program(&run, &result), 42);
		assert_int_equal(count_files(), 2 * (i + 1));
		model = load(names[i]);
		holds_launches(model, 10);
		warpspan_model_destroy(model);
		run_result_finish(&result);
	}
}

#define T(name) cmocka_unit_test_setup_teardown(name, make_output_folder, remove_folder)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		T(T2_the_shared_runtime_launches_each_once),
		T(T2_launches_by_a_call_of_the_runtime_are_seen),
		T(T2_the_shared_runtime_of_12_launches_each_once),
		T(the_answer_of_a_runtime_of_12_for_a_driver_function_is_ours),
		T(T13_a_runtime_of_12_past_the_drivers_door_launches_each_once),
		T(T1_the_static_runtime_launches_each_once),
		T(a_default_stream_per_thread_stays_one),
		T(T11_the_driver_launches_each_once_whatever_the_door),
		T(T13_a_runtime_past_the_drivers_door_launches_each_once),
		T(T38_launches_are_recorded_with_a_hooker_before_us),
		T(T38_launches_are_recorded_with_a_hooker_behind_us),
		T(a_program_that_looks_every_name_up_is_seen),
		T(a_program_that_asks_the_resolver_is_seen),
		T(a_program_that_asks_the_old_resolver_is_seen),
		T(T13_a_driver_loaded_deeply_is_seen),
		T(T13_a_deeply_bound_library_by_itself_is_missed),
		T(T13_beside_it_the_program_is_recorded),
		T(T13_its_launches_of_the_programs_module_have_no_host_entry),
		T(a_program_linked_with_the_driver_is_seen),
		T(a_program_linked_with_it_that_looks_up_as_well_is_seen),
		T(the_runtimes_answer_for_a_driver_function_is_ours),
		T(the_threads_stream_by_its_handle_is_recorded),
		T(instances_of_a_template_are_kernels_of_their_own),
		T(launches_on_several_streams_are_recorded),
		T(many_modules_are_attached),
		T(device_code_of_several_files_records),
		T(kernels_compiled_at_run_time_record),
		T(libraries_of_kernels_compiled_at_run_time_record),
		T(several_devices_are_recorded_at_once),
		T(grids_stay_apart_however_the_device_numbers_them),
		T(T14_a_kernel_first_seen_in_a_capture_records_from_its_first_replay),
		T(graphs_built_of_kernels_record),
		T(graphs_within_graphs_record),
		T(a_graph_launched_into_a_capture_is_part_of_another),
		T(launches_beside_captures_and_replays_are_recorded),
		T(T4_per_thread_forms_are_recorded_by_name_and_in_captures),
		T(the_threads_stream_is_captured_and_replayed),
		T(kernels_a_graph_was_given_later_record),
		T(waits_and_copies_are_recorded_among_the_launches),
		T(copies_of_every_shape_are_recorded),
		T(odd_questions_get_the_drivers_answers),
		T(a_thread_with_a_small_stack_may_launch_first),
		T(T3_T4_each_question_is_answered_with_the_drivers_function),
		T(T5_an_older_driver_answers_with_what_it_has),
		T(a_function_that_was_renamed_does_not_take_the_place_of_the_old_one),
		T(first_launches_of_many_threads_are_all_recorded),
		T(thousands_of_launches_are_all_recorded),
		T(launches_nobody_waits_for_are_recorded),
		T(a_launch_allocates_nothing),
		T(failing_launches_fail_as_ever),
		T(launches_the_driver_refuses_are_recorded_as_that),
		T(T19_a_reset_device_is_another_context),
		T(destroyed_contexts_are_drained_first),
		T(T20_unloaded_modules_keep_their_names),
		T(T17_libraries_are_attached_by_either_handle),
		T(a_fault_of_the_program_stays_its_own),
		T(a_forked_child_is_silent),
		T(a_program_without_instrumented_kernels_does_not_notice),
		T(another_version_of_the_header_is_left_alone),
		T(a_larger_context_of_another_version_is_left_alone),
		T(a_variable_of_the_programs_is_left_alone),
		T(a_full_device_leaves_the_program_alone),
		T(a_nearly_full_device_gets_a_smaller_buffer),
		T(a_question_the_driver_refuses_is_asked_again),
		T(a_kernel_without_its_library_is_found_by_its_function),
		T(a_driver_that_lacks_functions_is_no_trouble),
		T(an_old_driver_is_no_trouble),
		T(a_file_that_exists_is_not_touched),
	};

	if (argc != N_ARGUMENTS && argc != NVRTC_PTX)
		return 2;
	for (int i = LIBRARY; i < argc; i++)
		arguments[i] = realpath(argv[i], NULL);
	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s", arguments[LIBRARY]);
	(void)snprintf(preload_before, sizeof(preload_before), "LD_PRELOAD=%s:%s", arguments[HOOKER],
		       arguments[LIBRARY]);
	(void)snprintf(preload_behind, sizeof(preload_behind), "LD_PRELOAD=%s:%s", arguments[LIBRARY],
		       arguments[HOOKER]);
	return cmocka_run_group_tests_name("doors", tests, NULL, NULL);
}

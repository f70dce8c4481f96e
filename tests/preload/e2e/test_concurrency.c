/* SPDX-License-Identifier: Apache-2.0
 *
 * test_concurrency.c BUILD - kernels of one module in flight at once: told apart, not mixed, and joined with the calls
 * that launched them, whatever %gridid is on the device. BUILD is the build folder; the environment leads to simgpu.
 */
#include "support.h"

#include "examples.h"
#include "folder.h"
#include "model.h"
#include "run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

static const char *build;

/* Runs the program under the library, its standard output as without, and loads what was recorded. */
static struct warpspan_model *record(const char *program, const char *setting)
{
	char path[PATH_BYTES], preload[PATH_BYTES], out[128], capture[128];
	struct run_result plain, recorded;
	struct warpspan_model *model = NULL;
	struct warpspan_error error;
	snprintf(path, sizeof(path), "%s/%s", build, program);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/c", folder);
	snprintf(capture, sizeof(capture), "%s/c.wspan", folder);
	run_program(&(struct run){ .arguments = { path }, .environment = { "LD_PRELOAD", setting } }, &plain);
	run_program(&(struct run){ .arguments = { path }, .environment = { preload, out, setting } }, &recorded);
	assert_int_equal(plain.exit_status, 0);
	assert_int_equal(recorded.exit_status, 0);
	assert_string_equal(plain.out, recorded.out);
	run_result_finish(&plain);
	run_result_finish(&recorded);
	if (warpspan_model_load(capture, &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	unlink(capture);
	return model;
}

static bool is_kernel(const struct warpspan_model *model, const struct warpspan_grid *grid, const char *name)
{
	return strncmp(model->kernels[grid->kernel].demangled, name, strlen(name)) == 0;
}

/* A grid that was joined is of the kernel its launch was of. */
static void check_kernels(const struct warpspan_model *model)
{
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		if (grid->host == WARPSPAN_NONE)
			continue;
		assert_int_equal(model->kernels[grid->kernel].number, model->launches[grid->host].kernel);
		const struct warpspan_slice *slice = &model->slices[model->tracks[grid->first_track].first_slice];
		const char *region = model->regions[slice->region].name;
		if (!is_kernel(model, grid, strcmp(region, "add") == 0 ? "sum" : region))
			fail_msg("grid %u of %s has the region %s", i, model->kernels[grid->kernel].demangled, region);
	}
}

static void check_each_launch_once(const struct warpspan_model *model)
{
	uint32_t *n = calloc(model->n_launches, sizeof(*n));
	assert_non_null(n);
	for (uint32_t i = 0; i < model->n_grids; i++)
		if (model->grids[i].host != WARPSPAN_NONE)
			n[model->grids[i].host]++;
	for (uint32_t i = 0; i < model->n_launches; i++)
		assert_int_equal(n[i], 1);
	free(n);
}

static void streams_in_flight_are_joined_by_their_ids(void **state)
{
	static const char *const settings[] = { "SIMGPU_GRIDID=unique", "SIMGPU_GRIDID=per-graph" };
	for (int k = 0; k < 2; k++) {
		struct warpspan_model *model = record("device_rt/examples/streams", settings[k]);
		assert_int_equal(example_compare("streams", model, ""), 0);
		assert_int_equal(model->n_launches, 240);
		assert_int_equal(model->n_grids, 240);
		for (uint32_t i = 0; i < model->n_grids; i++) {
			assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_GRID_ID);
			assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ID);
		}
		check_kernels(model);
		check_each_launch_once(model);
		warpspan_model_destroy(model);
	}
}

/* What the report on the streams says of how it knows; the caller frees it. */
static char *report_on_streams(const char *setting)
{
	char path[PATH_BYTES], command[PATH_BYTES], preload[PATH_BYTES], out[128], capture[128];
	struct run_result result;
	snprintf(path, sizeof(path), "%s/device_rt/examples/streams", build);
	snprintf(command, sizeof(command), "%s/decoder/warpspan", build);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/c", folder);
	snprintf(capture, sizeof(capture), "%s/c.wspan", folder);
	run_program(&(struct run){ .arguments = { path },
				   .environment = { preload, out, "WARPSPAN_FORMAT=none", setting } },
		    &result);
	assert_int_equal(result.exit_status, 0);
	run_result_finish(&result);
	run_program(&(struct run){ .arguments = { command, "report", capture }, .environment = { "COLUMNS=200" } },
		    &result);
	assert_int_equal(result.exit_status, 0);
	unlink(capture);
	char *text = strdup(result.out);
	assert_non_null(text);
	run_result_finish(&result);
	return text;
}

static void the_report_says_how_launches_were_told_apart(void **state)
{
	char *text = report_on_streams("SIMGPU_GRIDID=unique");
	if (strstr(text, "launches  told apart: 240 by grid id; joined with their calls: 240 by grid id\n") == NULL)
		fail_msg("%s", text);
	free(text);
	text = report_on_streams("SIMGPU_GRIDID=constant");
	const char *line = strstr(text, "launches  told apart:");
	if (line == NULL)
		fail_msg("%s", text);
	const char *end = strchr(line, '\n');
	char *only = strndup(line, (size_t)(end - line));
	assert_non_null(only);
	print_message("  %s\n", only);
	/* Grids of other streams came between: some cannot be joined, and say so. */
	assert_null(strstr(only, "by grid id"));
	assert_true(strstr(only, "by repetition of blocks and warps") != NULL ||
		    strstr(only, "not for certain") != NULL);
	assert_non_null(strstr(only, "ambiguous"));
	free(only);
	free(text);
}

static void with_one_id_for_all_what_is_ambiguous_is_marked(void **state)
{
	struct warpspan_model *model = record("device_rt/examples/streams", "SIMGPU_GRIDID=constant");
	assert_int_equal(example_compare("streams", model, ""), 0);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		assert_int_not_equal(grid->match, WARPSPAN_MATCH_GRID_ID);
		assert_int_not_equal(grid->join, WARPSPAN_JOIN_ID);
		assert_true(grid->host != WARPSPAN_NONE || grid->join == WARPSPAN_JOIN_AMBIGUOUS);
	}
	check_kernels(model);
	warpspan_model_destroy(model);
}

/* The program itself ends only if its kernels overlap; and so do their slices, by the device's time. Under one id for
 * all, grids of one shape that were in flight together may be one. */
static void kernels_on_two_streams_still_overlap(void **state)
{
	static const char *const settings[] = { "SIMGPU_GRIDID=unique", "SIMGPU_GRIDID=per-graph",
						"SIMGPU_GRIDID=constant" };
	for (int k = 0; k < 3; k++) {
		struct warpspan_model *model = record("tests/preload/e2e/overlap", settings[k]);
		print_message("  %s\n", settings[k]);
		assert_int_equal(model->n_launches, 2 * 2 * 3);
		assert_int_equal(model->n_slices, 2 * 2 * 3 * 2);
		assert_int_equal(model->n_lost_records, 0);
		if (k < 2)
			assert_int_equal(model->n_grids, 2 * 2 * 3);
		unsigned n_overlaps = 0;
		for (uint64_t a = 0; a < model->n_slices; a++)
			for (uint64_t b = 0; b < model->n_slices; b++) {
				const struct warpspan_slice *ask = &model->slices[a], *answer = &model->slices[b];
				n_overlaps += strcmp(model->regions[ask->region].name, "ask") == 0 &&
					      strcmp(model->regions[answer->region].name, "answer") == 0 &&
					      ask->start_ns < answer->end_ns && answer->start_ns < ask->end_ns;
			}
		/* Each of the 6 pairs of 2 warps and 2 warps. */
		assert_true(n_overlaps >= 6 * 4);
		warpspan_model_destroy(model);
	}
}

/* Three kernels a replay, each by the replay's own call, in the order of the calls. */
static void check_replays(const struct warpspan_model *model)
{
	uint32_t n_steps = 0, n_finishes = 0, n_asides = 0, n_of_call[5] = { 0 };
	uint64_t last = 0;
	assert_int_equal(model->n_grids, 2 + 5 * 3 + 5);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		const struct warpspan_slice *slice = &model->slices[model->tracks[grid->first_track].first_slice];
		const char *region = model->regions[slice->region].name;
		n_steps += strcmp(region, "step") == 0;
		n_finishes += strcmp(region, "finish") == 0;
		n_asides += strcmp(region, "aside") == 0;
		assert_int_equal(grid->n_warps, strcmp(region, "finish") == 0 ? 2
						: strcmp(region, "step") == 0 ? 4
									      : 6);
		if (grid->call == WARPSPAN_NONE)
			continue;
		const struct warpspan_host_call *call = &model->calls[grid->call];
		assert_int_equal(call->kind, WARPSPAN_HOST_GRAPH_LAUNCH);
		assert_true(call->number >= last);
		last = call->number;
		uint32_t k = 0;
		for (uint32_t c = 0; c < grid->call; c++)
			k += model->calls[c].kind == WARPSPAN_HOST_GRAPH_LAUNCH;
		assert_in_range(k, 0, 4);
		n_of_call[k]++;
	}
	assert_int_equal(n_steps, 2 + 5 * 2);
	assert_int_equal(n_finishes, 5);
	assert_int_equal(n_asides, 5);
	for (int k = 0; k < 5; k++)
		assert_int_equal(n_of_call[k], 3);
	check_each_launch_once(model);
	check_kernels(model);
}

static void replays_are_joined_with_the_launches_of_their_graph(void **state)
{
	static const char *const settings[] = { "SIMGPU_GRIDID=unique", "SIMGPU_GRIDID=constant",
						"SIMGPU_GRIDID=per-graph" };
	for (int k = 0; k < 3; k++) {
		struct warpspan_model *model = record("tests/preload/e2e/replays", settings[k]);
		print_message("  %s\n", settings[k]);
		check_replays(model);
		warpspan_model_destroy(model);
	}
}

/* What each replay of updates.cu runs: its first kernel, with how many blocks, and whether "finish" follows. */
static const struct {
	const char *region;
	uint32_t n_blocks;
	bool finishes;
} plan[] = {
	{ "step", 2, true }, { "step", 2, true }, { "other", 2, true }, { "other", 2, true },
	{ "step", 5, true }, { "step", 5, true }, { "step", 5, true },  { "step", 5, false },
	{ "step", 5, true }, { "step", 3, true }, { "step", 3, true },  { "step", 2, true },
};
#define N_PLANNED (sizeof(plan) / sizeof(plan[0]))

/* Where ids do not tell replays apart, kernels of the same dimensions may be mixed up: `some` are then marked and left.
 */
static void check_updates(const struct warpspan_model *model, bool some)
{
	unsigned n_first[N_PLANNED] = { 0 }, n_finish[N_PLANNED] = { 0 };
	assert_int_equal(model->n_launches, 0);
	if (!some)
		assert_int_equal(model->n_grids, 2 * N_PLANNED - 1);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		const struct warpspan_slice *slice = &model->slices[model->tracks[grid->first_track].first_slice];
		const char *region = model->regions[slice->region].name;
		if (some && grid->grid[0] == 2) {
			assert_int_equal(grid->join, WARPSPAN_JOIN_AMBIGUOUS);
			assert_true(grid->match == WARPSPAN_MATCH_UNSURE || grid->n_warps == 4);
			continue;
		}
		if (grid->call == WARPSPAN_NONE)
			fail_msg("a grid of %s is joined with nothing: %d", region, (int)grid->join);
		uint32_t replay = 0;
		for (uint32_t c = 0; c < grid->call; c++)
			replay += model->calls[c].kind == WARPSPAN_HOST_GRAPH_LAUNCH;
		assert_in_range(replay, 0, N_PLANNED - 1);
		if (strcmp(region, "finish") == 0) {
			assert_true(plan[replay].finishes);
			assert_int_equal(grid->grid[0], 1);
			n_finish[replay]++;
		} else {
			assert_string_equal(region, plan[replay].region);
			assert_int_equal(grid->grid[0], plan[replay].n_blocks);
			n_first[replay]++;
		}
		if (!is_kernel(model, grid, region))
			fail_msg("a grid of %s is taken for one of %s", region, model->kernels[grid->kernel].demangled);
	}
	for (size_t i = 0; i < N_PLANNED; i++) {
		assert_int_equal(n_first[i], some && plan[i].n_blocks == 2 ? 0 : 1);
		assert_int_equal(n_finish[i], plan[i].finishes);
	}
}

static void replays_of_updated_graphs_are_joined_with_what_they_held(void **state)
{
	static const char *const settings[] = { "SIMGPU_GRIDID=unique", "SIMGPU_GRIDID=constant",
						"SIMGPU_GRIDID=per-graph" };
	for (int k = 0; k < 3; k++) {
		struct warpspan_model *model = record("tests/preload/e2e/updates", settings[k]);
		print_message("  %s\n", settings[k]);
		check_updates(model, k != 0);
		warpspan_model_destroy(model);
	}
}

static void two_devices_are_joined_each_on_its_own(void **state)
{
	struct warpspan_model *model = record("tests/preload/e2e/two_gpus", "SIMGPU_DEVICES=2");
	uint32_t n[2] = { 0 };
	assert_int_equal(model->n_grids, 6);
	assert_int_equal(model->n_host_clocks, 2);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		assert_int_not_equal(grid->host, WARPSPAN_NONE);
		assert_int_equal(model->launches[grid->host].context, grid->context);
		n[grid->device]++;
	}
	assert_int_equal(n[0], 3);
	assert_int_equal(n[1], 3);
	assert_int_not_equal(model->host_clocks[0].device, model->host_clocks[1].device);
	check_kernels(model);
	check_each_launch_once(model);
	warpspan_model_destroy(model);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_in_flight_are_joined_by_their_ids),
		cmocka_unit_test(the_report_says_how_launches_were_told_apart),
		cmocka_unit_test(with_one_id_for_all_what_is_ambiguous_is_marked),
		cmocka_unit_test(kernels_on_two_streams_still_overlap),
		cmocka_unit_test(replays_are_joined_with_the_launches_of_their_graph),
		cmocka_unit_test(replays_of_updated_graphs_are_joined_with_what_they_held),
		cmocka_unit_test(two_devices_are_joined_each_on_its_own),
	};
	if (argc != 2) {
		fprintf(stderr, "usage: %s BUILD\n", argv[0]);
		return 2;
	}
	build = argv[1];
	return cmocka_run_group_tests_name("concurrency", tests, make_folder, remove_folder);
}

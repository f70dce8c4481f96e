/* SPDX-License-Identifier: Apache-2.0
 *
 * test_launches.c - telling launches apart and finding them in the host's log.
 */
#include "support.h"

#include "capture_builder.h"
#include "model_check.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_K, OPEN_U, OPEN_SHARED };

/* Kernels 1 ("k"), 2 ("u") and 3 ("v") of one module. */
static struct builder *with_kernels(void)
{
	struct builder *b = builder_create();
	builder_kernel(b, 1, "k", "k");
	builder_kernel(b, 2, "u", "u");
	builder_kernel(b, 3, "v", "v");
	builder_site(b, SITE(OPEN_K), WARPSPAN_SITE_OPEN, "ws", 10);
	builder_site(b, SITE(OPEN_U), WARPSPAN_SITE_OPEN, "ws", 20);
	builder_site(b, SITE(OPEN_SHARED), WARPSPAN_SITE_OPEN, "ws", 30);
	return b;
}

/* A grid of `blocks` blocks of one warp; all run in [start, start + 1000). */
static void run_grid(struct builder *b, uint64_t grid_id, uint32_t blocks, uint32_t site, double start)
{
	for (uint32_t i = 0; i < blocks; i++) {
		struct warp warp = warp_open(
			b,
			&(struct warp_place){
				.grid_id = grid_id, .grid = { blocks }, .block = { i }, .sm = i % 4, .site = site },
			start + i);
		warp_close(&warp, start + 900 + i);
		builder_segment(b, &warp);
	}
}

static void launch(struct builder *b, uint32_t kernel, uint32_t blocks)
{
	builder_launch(b, kernel, &(struct warp_place){ .grid = { blocks } });
}

static const char *kernel_of(const struct warpspan_model *model, uint32_t grid)
{
	return model->kernels[model->grids[grid].kernel].name;
}

static uint64_t host_of(const struct warpspan_model *model, uint32_t grid)
{
	const uint32_t host = model->grids[grid].host;
	return host == WARPSPAN_NONE ? 0 : model->launches[host].number;
}

#define expect_grid(model, grid, name, number)                                                                      \
	do {                                                                                                        \
		assert_string_equal(kernel_of(model, grid), name);                                                  \
		if (host_of(model, grid) != (number))                                                               \
			fail_msg("grid %u has launch %llu, not %u", grid, (unsigned long long)host_of(model, grid), \
				 (unsigned)(number));                                                               \
	} while (0)

static struct warpspan_model *load_and_destroy(struct builder *b, uint32_t n_grids)
{
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_null(model_fault(model));
	assert_int_equal(model->n_grids, n_grids);
	for (uint32_t i = 1; i < n_grids; i++)
		assert_true(model->grids[i].start_ns >= model->grids[i - 1].start_ns);
	for (uint32_t i = 0; i < n_grids; i++)
		for (uint32_t t = 0; t < model->grids[i].n_tracks; t++)
			assert_int_equal(model->tracks[model->grids[i].first_track + t].grid, i);
	builder_destroy(b);
	return model;
}

static void launches_are_told_apart_by_their_ids(void **state)
{
	struct builder *b = with_kernels();
	/* two streams: the grids overlap in time */
	launch(b, 1, 4);
	launch(b, 2, 4);
	launch(b, 1, 4);
	run_grid(b, 101, 4, SITE(OPEN_U), 500);
	run_grid(b, 100, 4, SITE(OPEN_K), 100);
	run_grid(b, 102, 4, SITE(OPEN_K), 700);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "u", 2);
	expect_grid(model, 2, "k", 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_GRID_ID);
		assert_int_equal(model->grids[i].n_warps, 4);
	}
	warpspan_model_destroy(model);
}

static void a_kernel_that_records_nothing_is_skipped_by_its_ids(void **state)
{
	struct builder *b = with_kernels();
	/* k u k u k u, all of one shape, and u never opens a recorder */
	for (int i = 0; i < 3; i++) {
		launch(b, 1, 2);
		launch(b, 2, 2);
		run_grid(b, 50 + 2 * i, 2, SITE(OPEN_K), 1000 + 2000 * i);
	}
	run_grid(b, 56, 3, SITE(OPEN_K), 10000); /* pins the last place of the log */
	launch(b, 1, 3);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 4);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "k", 3);
	expect_grid(model, 2, "k", 5);
	expect_grid(model, 3, "k", 7);
	warpspan_model_destroy(model);
}

static void launches_of_others_in_between_do_not_matter(void **state)
{
	struct builder *b = with_kernels();
	static const uint64_t ids[] = { 7, 19, 20, 44, 90 }; /* a library launches kernels of its own */
	for (uint32_t i = 0; i < 5; i++) {
		launch(b, 1 + i % 2, 2 + i % 2);
		run_grid(b, ids[i], 2 + i % 2, SITE(i % 2), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 5);
	for (uint32_t i = 0; i < 5; i++)
		expect_grid(model, i, i % 2 ? "u" : "k", i + 1);
	warpspan_model_destroy(model);
}

static void a_failed_launch_has_no_grid(void **state)
{
	struct builder *b = with_kernels();
	launch(b, 1, 2);
	builder_launch_result(b, 1, &(struct warp_place){ .grid = { 2 } }, 700);
	launch(b, 1, 2);
	run_grid(b, 5, 2, SITE(OPEN_K), 100);
	run_grid(b, 9, 2, SITE(OPEN_K), 5000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "k", 3);
	warpspan_model_destroy(model);
}

static void where_the_launch_is_not_certain_the_kernel_may_be(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 4; i++)
		launch(b, 1, 2);
	run_grid(b, 5, 2, SITE(OPEN_K), 100);
	run_grid(b, 6, 2, SITE(OPEN_K), 5000);
	builder_finish(b); /* the other two are not still to come: which ones are missing? */
	struct warpspan_model *model = load_and_destroy(b, 2);
	expect_grid(model, 0, "k", 0);
	expect_grid(model, 1, "k", 0);
	warpspan_model_destroy(model);
}

static void a_capture_still_being_written_has_the_first_launches(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 4; i++)
		launch(b, 1, 2);
	run_grid(b, 5, 2, SITE(OPEN_K), 100);
	run_grid(b, 6, 2, SITE(OPEN_K), 5000);
	struct warpspan_model *model = load_and_destroy(b, 2);
	assert_false(model->complete);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "k", 2);
	warpspan_model_destroy(model);
}

static void a_grid_no_log_knows_is_named_after_its_site(void **state)
{
	struct builder *b = with_kernels();
	run_grid(b, 5, 2, SITE(OPEN_U), 100);
	run_grid(b, 6, 3, SITE(OPEN_U), 3000);
	run_grid(b, 7, 3, SITE(77), 6000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	expect_grid(model, 0, "kernel at kernel.cu:20", 0);
	expect_grid(model, 1, "kernel at kernel.cu:20", 0);
	expect_grid(model, 2, "kernel at site 0x000014d0", 0);
	assert_int_equal(model->grids[0].kernel, model->grids[1].kernel);
	assert_int_equal(model->kernels[model->grids[0].kernel].number, 0);
	warpspan_model_destroy(model);
}

static void a_grid_is_named_by_another_of_its_site(void **state)
{
	struct builder *b = with_kernels();
	launch(b, 2, 2);
	run_grid(b, 5, 2, SITE(OPEN_U), 100);
	run_grid(b, 6, 9, SITE(OPEN_U), 3000); /* its launch was not logged */
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	expect_grid(model, 0, "u", 1);
	expect_grid(model, 1, "u", 0);
	warpspan_model_destroy(model);
}

static void a_site_of_several_kernels_names_none(void **state)
{
	struct builder *b = with_kernels();
	launch(b, 1, 2);
	launch(b, 2, 3);
	run_grid(b, 5, 2, SITE(OPEN_SHARED), 100); /* WS_OPEN in a __device__ function both call */
	run_grid(b, 6, 3, SITE(OPEN_SHARED), 3000);
	run_grid(b, 7, 9, SITE(OPEN_SHARED), 6000); /* its launch was not logged */
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "u", 2);
	expect_grid(model, 2, "kernel at kernel.cu:30", 0);
	warpspan_model_destroy(model);
}

static void a_constant_id_is_split_where_warps_come_again(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 5; i++) {
		launch(b, 1, 4);
		run_grid(b, 1, 4, SITE(OPEN_K), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[i].n_warps, 4);
		expect_grid(model, i, "k", i + 1);
	}
	warpspan_model_destroy(model);
}

static void a_constant_id_and_a_warp_that_found_no_segment(void **state)
{
	/* Block 0 of the second launch is missing: the launch begins at the quiet moment before the repetition. */
	struct builder *b = with_kernels();
	for (int i = 0; i < 3; i++) {
		launch(b, 1, 3);
		for (uint32_t k = i == 1; k < 3; k++) {
			struct warp warp =
				warp_open(b, &(struct warp_place){ .grid_id = 1, .grid = { 3 }, .block = { k } },
					  1000 + 2000 * i + k);
			warp_close(&warp, 1900 + 2000 * i);
			builder_segment(b, &warp);
		}
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	assert_int_equal(model->grids[0].n_warps, 3);
	assert_int_equal(model->grids[1].n_warps, 2);
	assert_int_equal(model->grids[2].n_warps, 3);
	warpspan_model_destroy(model);
}

static void a_constant_id_and_launches_that_overlap_are_unsure(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 3; i++) {
		launch(b, 1, 4);
		run_grid(b, 1, 4, SITE(OPEN_K), 1000 + 300 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	assert_int_equal(model->grids[0].match, WARPSPAN_MATCH_UNSURE);
	warpspan_model_destroy(model);
}

static void a_constant_id_and_two_kernels_of_one_shape_are_told_apart_by_their_sites(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 6; i++) {
		launch(b, 1 + i % 2, 4);
		run_grid(b, 1, 4, SITE(i % 2), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 6);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[i].n_warps, 4);
		expect_grid(model, i, i % 2 ? "u" : "k", i + 1);
	}
	warpspan_model_destroy(model);
}

static void two_sites_of_one_kernel_stay_together_under_a_constant_id(void **state)
{
	struct builder *b = with_kernels();
	for (int i = 0; i < 3; i++) {
		launch(b, 1, 4);
		run_grid(b, 1, 4, SITE(OPEN_K), 1000 + 2000 * i); /* the producer opens here, */
		run_grid(b, 1, 4, SITE(OPEN_U), 1010 + 2000 * i); /* the consumer there */
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(model->grids[i].n_warps, 8);
		expect_grid(model, i, "k", i + 1);
	}
	warpspan_model_destroy(model);
}

static void kernels_mixed_up_at_a_site_are_not_believed(void **state)
{
	/* k and u launched in turn on two streams; u's first grid starts before k's. */
	struct builder *b = with_kernels();
	for (int i = 0; i < 4; i++)
		launch(b, 1 + i % 2, 4);
	run_grid(b, 1, 4, SITE(OPEN_U), 900);
	run_grid(b, 1, 4, SITE(OPEN_K), 1100);
	run_grid(b, 1, 4, SITE(OPEN_K), 3000);
	run_grid(b, 1, 4, SITE(OPEN_U), 5000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(host_of(model, i), 0);
	assert_string_equal(kernel_of(model, 0), "kernel at kernel.cu:20");
	assert_string_equal(kernel_of(model, 1), "kernel at kernel.cu:10");
	warpspan_model_destroy(model);
}

static void constant_ids_of_different_shapes_are_different_launches(void **state)
{
	struct builder *b = with_kernels();
	for (uint32_t i = 0; i < 3; i++) {
		launch(b, 1, 4 + i);
		run_grid(b, 0, 4 + i, SITE(OPEN_K), 1000 + 100 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	for (uint32_t i = 0; i < 3; i++)
		expect_grid(model, i, "k", i + 1);
	warpspan_model_destroy(model);
}

static void a_recorder_opened_again_in_one_launch_does_not_split_it(void **state)
{
	struct builder *b = with_kernels();
	launch(b, 1, 1);
	for (int i = 0; i < 3; i++)
		run_grid(b, 77, 1, SITE(OPEN_K), 1000 + 2000 * i);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 1);
	assert_int_equal(model->grids[0].match, WARPSPAN_MATCH_GRID_ID);
	assert_int_equal(model->grids[0].n_warps, 3);
	assert_int_equal(model->grids[0].n_tracks, 1);
	expect_grid(model, 0, "k", 1);
	warpspan_model_destroy(model);
}

static void contexts_do_not_mix(void **state)
{
	struct builder *b = with_kernels();
	builder_meta(b, "{\"context\":{\"number\":2,\"device\":0}}");
	for (uint32_t context = 1; context <= 2; context++) {
		const struct warp_place place = { .grid_id = 4, .context = context };
		builder_launch(b, context, &place);
		struct warp warp = warp_open(b, &place, 1000 * context);
		warp_close(&warp, 1000 * context + 500);
		builder_segment(b, &warp);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "u", 2);
	assert_int_equal(model->n_clocks, 1);
	warpspan_model_destroy(model);
}

static void a_context_nobody_described_is_damage_once(void **state)
{
	struct builder *b = with_kernels();
	for (uint32_t i = 0; i < 3; i++) {
		struct warp warp = warp_open(b, &(struct warp_place){ .grid_id = 4 + i, .context = 9 }, 1000 + i);
		warp_close(&warp, 2000);
		builder_segment(b, &warp);
	}
	struct warpspan_model *model = builder_load(b, WARPSPAN_DAMAGED);
	assert_int_equal(model->n_damage, 1);
	assert_non_null(strstr(model->damage[0].text, "context 9"));
	assert_int_equal(model->n_grids, 3);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

/* --- streams and graphs ----------------------------------------------------------------------- */

enum { GRAPH_LAUNCH = 1, CONTEXT_SYNC };

static struct builder *with_hooks(void)
{
	struct builder *b = with_kernels();
	builder_hook(b, GRAPH_LAUNCH, "cuGraphLaunch");
	builder_hook(b, CONTEXT_SYNC, "cuCtxSynchronize");
	return b;
}

static void launch_on(struct builder *b, uint32_t kernel, uint32_t blocks, uint64_t stream)
{
	builder_next_launch(b, 10000 * (b->n_launches + 1), stream, 0);
	launch(b, kernel, blocks);
}

/* Launches a graph, or waits for the context; at the time of its number, as launches do. */
static void call(struct builder *b, uint32_t api, uint64_t graph)
{
	const uint64_t begin_ns = 10000 * (b->n_launches + 1);
	builder_call(b, &(struct warpspan_host_call){ .kind = api == GRAPH_LAUNCH ? WARPSPAN_HOST_GRAPH_LAUNCH
										  : WARPSPAN_HOST_SYNCHRONIZE,
						      .api = api,
						      .amount = graph,
						      .stream = api == GRAPH_LAUNCH ? 64 : 0,
						      .begin_ns = begin_ns,
						      .end_ns = begin_ns + 3000 });
}

static uint64_t call_of(const struct warpspan_model *model, uint32_t grid)
{
	const uint32_t index = model->grids[grid].call;
	return index == WARPSPAN_NONE ? 0 : model->calls[index].number;
}

static void with_one_id_one_stream_keeps_its_order(void **state)
{
	struct builder *b = with_hooks();
	for (uint32_t i = 0; i < 4; i++) {
		launch_on(b, 1 + i % 2, 2, 64);
		run_grid(b, 1, 2, SITE(i % 2), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 4);
	for (uint32_t i = 0; i < 4; i++) {
		expect_grid(model, i, i % 2 ? "u" : "k", i + 1);
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ORDER);
	}
	warpspan_model_destroy(model);
}

static void with_one_id_several_streams_are_ambiguous(void **state)
{
	struct builder *b = with_hooks();
	for (uint32_t i = 0; i < 4; i++) {
		launch_on(b, 1, 2, 64 + i % 2);
		run_grid(b, 1, 2, SITE(OPEN_K), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 4);
	for (uint32_t i = 0; i < 4; i++) {
		expect_grid(model, i, "k", 0); /* whose it is is not known; what it is, is */
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_AMBIGUOUS);
	}
	warpspan_model_destroy(model);
}

static void with_one_id_a_synchronisation_parts_streams(void **state)
{
	struct builder *b = with_hooks();
	launch_on(b, 1, 2, 64);
	run_grid(b, 1, 2, SITE(OPEN_K), 1000);
	launch_on(b, 1, 2, 64);
	run_grid(b, 1, 2, SITE(OPEN_K), 3000);
	call(b, CONTEXT_SYNC, 0);
	launch_on(b, 1, 2, 65);
	run_grid(b, 1, 2, SITE(OPEN_K), 5000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	expect_grid(model, 0, "k", 1);
	expect_grid(model, 1, "k", 2);
	expect_grid(model, 2, "k", 4);
	warpspan_model_destroy(model);
}

static void with_ids_of_their_own_streams_stay_apart(void **state)
{
	struct builder *b = with_hooks();
	/* the second launch runs first: its stream was idle */
	launch_on(b, 1, 2, 64);
	launch_on(b, 1, 2, 65);
	launch_on(b, 1, 2, 64);
	run_grid(b, 7, 2, SITE(OPEN_K), 9000);
	run_grid(b, 8, 2, SITE(OPEN_K), 1000);
	run_grid(b, 9, 2, SITE(OPEN_K), 9500);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	expect_grid(model, 0, "k", 2);
	expect_grid(model, 1, "k", 1);
	expect_grid(model, 2, "k", 3);
	assert_int_equal(model->grids[0].join, WARPSPAN_JOIN_ID);
	warpspan_model_destroy(model);
}

static void replays_with_the_same_ids_are_told_apart(void **state)
{
	struct builder *b = with_hooks();
	/* a graph of two kernels; the first ran before on its own, under the same id */
	launch_on(b, 1, 2, 64);
	run_grid(b, 1, 2, SITE(OPEN_K), 1000);
	for (uint32_t i = 0; i < 3; i++) {
		call(b, GRAPH_LAUNCH, 0xabc);
		run_grid(b, 1, 2, SITE(OPEN_K), 10000 + 5000 * i);
		run_grid(b, 2, 3, SITE(OPEN_U), 12000 + 5000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 7);
	expect_grid(model, 0, "k", 1);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(call_of(model, 1 + 2 * i), 2 + i);
		assert_int_equal(call_of(model, 2 + 2 * i), 2 + i);
		assert_int_equal(model->grids[1 + 2 * i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[1 + 2 * i].n_warps, 2);
		assert_string_equal(kernel_of(model, 1 + 2 * i), "k"); /* by its site */
	}
	warpspan_model_destroy(model);
}

static void replays_with_ids_of_their_own_are_counted_out(void **state)
{
	struct builder *b = with_hooks();
	/* each replay runs the kernel twice; once it runs on its own */
	call(b, GRAPH_LAUNCH, 0xabc);
	launch_on(b, 1, 2, 64);
	call(b, GRAPH_LAUNCH, 0xabc);
	for (uint32_t i = 0; i < 5; i++)
		run_grid(b, 20 + i, 2, SITE(OPEN_K), 1000 + 2000 * i);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 5);
	static const uint64_t calls[] = { 1, 1, 0, 3, 3 };
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(call_of(model, i), calls[i]);
		assert_int_equal(host_of(model, i), calls[i] == 0 ? 2 : 0);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ID);
	}
	warpspan_model_destroy(model);
}

static void with_one_id_replays_are_told_apart_too(void **state)
{
	struct builder *b = with_hooks();
	for (uint32_t i = 0; i < 3; i++) {
		call(b, GRAPH_LAUNCH, 0xabc);
		run_grid(b, 1, 2, SITE(OPEN_K), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(call_of(model, i), 1 + i);
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ORDER);
	}
	warpspan_model_destroy(model);
}

static void grids_of_one_of_two_graphs_are_ambiguous(void **state)
{
	struct builder *b = with_hooks();
	/* which of the two runs the kernel? nothing says */
	for (uint32_t i = 0; i < 2; i++) {
		call(b, GRAPH_LAUNCH, 0xabc);
		call(b, GRAPH_LAUNCH, 0xdef);
		run_grid(b, 20 + i, 2, SITE(OPEN_K), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(call_of(model, i), 0);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_AMBIGUOUS);
	}
	warpspan_model_destroy(model);
}

/* From then on a launch of the graph makes `n` grids of the kernel, of so many blocks. */
static void holds(struct builder *b, uint64_t graph, uint64_t since_ns, bool certain, uint32_t kernel, uint32_t blocks,
		  uint32_t n)
{
	builder_meta(b,
		     "{\"graph\":{\"exec\":\"%llu\",\"since_ns\":\"%llu\",\"certain\":%d,"
		     "\"kernels\":[[1,%u,%u,1,1,32,1,1,%u]]}}",
		     (unsigned long long)graph, (unsigned long long)since_ns, certain, kernel, blocks, n);
}

static void what_graphs_hold_tells_which_of_them_ran_a_kernel(void **state)
{
	/* certain; not certain; certain, but changes of some graph were lost */
	for (int i = 0; i < 3; i++) {
		struct builder *b = with_hooks();
		holds(b, 0xabc, 5, i != 1, 1, 2, 1);
		holds(b, 0xdef, 5, true, 1, 3, 1);
		if (i == 2)
			holds(b, 0, 7, false, 1, 2, 1);
		for (uint32_t k = 0; k < 2; k++) {
			call(b, GRAPH_LAUNCH, 0xdef);
			call(b, GRAPH_LAUNCH, 0xabc);
			run_grid(b, 20 + k, 2, SITE(OPEN_K), 1000 + 2000 * k);
		}
		builder_finish(b);
		struct warpspan_model *model = load_and_destroy(b, 2);
		for (uint32_t k = 0; k < 2; k++) {
			/* What the one holds leaves nothing but the other, also where that is uncertain. */
			assert_int_equal(call_of(model, k), i == 2 ? 0 : 2 + 2 * k);
			assert_int_equal(model->grids[k].join, i == 2 ? WARPSPAN_JOIN_AMBIGUOUS : WARPSPAN_JOIN_ID);
			if (i == 0)
				assert_string_equal(kernel_of(model, k), "k"); /* no launch of it is in the log */
		}
		warpspan_model_destroy(model);
	}
}

static void a_changed_graph_makes_what_it_holds_by_then(void **state)
{
	struct builder *b = with_hooks();
	static const uint64_t calls[] = { 1, 1, 1, 2, 3, 3, 3, 4 };
	/* 3, 1, 3, 1: the number of grids alone says 2 each */
	for (uint32_t i = 0; i < 4; i++) {
		holds(b, 0xabc, 10000 * (b->n_launches + 1) - 5, true, 1, 2, i % 2 == 0 ? 3 : 1);
		call(b, GRAPH_LAUNCH, 0xabc);
	}
	for (uint32_t i = 0; i < 8; i++)
		run_grid(b, 20 + i, 2, SITE(OPEN_K), 1000 + 2000 * i);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(call_of(model, i), calls[i]);
	warpspan_model_destroy(model);
}

static void grids_that_no_graph_explains_are_ambiguous(void **state)
{
	struct builder *b = with_hooks();
	holds(b, 0xabc, 5, true, 1, 2, 2);
	for (uint32_t i = 0; i < 3; i++) {
		call(b, GRAPH_LAUNCH, 0xabc);
		run_grid(b, 20 + i, 2, SITE(OPEN_K), 1000 + 2000 * i);
	}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_AMBIGUOUS);
	warpspan_model_destroy(model);
}

static void bad_rows_of_what_a_graph_holds_are_damage(void **state)
{
	static const char *const rows[] = { "[[1,1,2,1,1,32,1,1]]", "[[1,1,2,1,1,32,1,1,1,1]]",
					    "[[1,\"x\",2,1,1,32,1,1,1]]", "[7]", "7" };
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct builder *b = with_hooks();
		builder_meta(b, "{\"graph\":{\"exec\":\"2748\",\"since_ns\":5,\"certain\":1,\"kernels\":%s}}", rows[i]);
		call(b, GRAPH_LAUNCH, 0xabc);
		run_grid(b, 20, 2, SITE(OPEN_K), 1000);
		builder_finish(b);
		struct warpspan_model *model = builder_load(b, WARPSPAN_DAMAGED);
		assert_int_equal(model->n_damage, 1);
		/* As without it. */
		assert_int_equal(call_of(model, 0), 1);
		warpspan_model_destroy(model);
		builder_destroy(b);
	}
}

static void graphs_launched_a_different_number_of_times_are_not(void **state)
{
	struct builder *b = with_hooks();
	call(b, GRAPH_LAUNCH, 0xabc);
	call(b, GRAPH_LAUNCH, 0xdef);
	call(b, GRAPH_LAUNCH, 0xdef);
	run_grid(b, 20, 2, SITE(OPEN_K), 1000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 1);
	assert_int_equal(call_of(model, 0), 1);
	warpspan_model_destroy(model);
}

static void a_recorder_opened_more_often_than_launched_is_one_launch(void **state)
{
	struct builder *b = with_hooks();
	call(b, GRAPH_LAUNCH, 0xabc);
	launch_on(b, 2, 5, 64);
	run_grid(b, 21, 5, SITE(OPEN_U), 20000);
	for (uint32_t i = 0; i < 3; i++) /* a loop with a recorder in it */
		run_grid(b, 20, 2, SITE(OPEN_K), 1000 + 2000 * i);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	assert_int_equal(model->grids[0].n_warps, 6);
	assert_int_equal(call_of(model, 0), 1);
	warpspan_model_destroy(model);
}

static void a_kernel_that_only_a_graph_launches_has_its_name(void **state)
{
	struct builder *b = with_hooks(); /* kernels k, u and v, sites of all three */
	launch_on(b, 1, 2, 64);
	launch_on(b, 3, 7, 64);
	call(b, GRAPH_LAUNCH, 0xabc);
	run_grid(b, 20, 2, SITE(OPEN_K), 1000);
	run_grid(b, 21, 7, SITE(OPEN_SHARED), 3000);
	run_grid(b, 22, 3, SITE(OPEN_U), 5000);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 3);
	assert_string_equal(kernel_of(model, 2), "u");
	warpspan_model_destroy(model);

	b = with_hooks(); /* two kernels and two sites are left: nothing says which is which */
	launch_on(b, 1, 2, 64);
	call(b, GRAPH_LAUNCH, 0xabc);
	run_grid(b, 20, 2, SITE(OPEN_K), 1000);
	run_grid(b, 22, 3, SITE(OPEN_U), 5000);
	builder_finish(b);
	model = load_and_destroy(b, 2);
	assert_string_equal(kernel_of(model, 1), "kernel at kernel.cu:20");
	warpspan_model_destroy(model);
}

static void contexts_are_joined_each_on_its_own(void **state)
{
	struct builder *b = with_hooks();
	builder_meta(b, "{\"context\":{\"number\":2,\"device\":0}}");
	/* context 1 launches a graph, context 2 a kernel of the same shape, under the same id */
	call(b, GRAPH_LAUNCH, 0xabc);
	builder_launch(b, 1, &(struct warp_place){ .grid = { 2 }, .context = 2 });
	for (uint32_t context = 1; context <= 2; context++)
		for (uint32_t i = 0; i < 2; i++) {
			struct warp warp = warp_open(b,
						     &(struct warp_place){ .grid_id = 1,
									   .grid = { 2 },
									   .block = { i },
									   .context = context,
									   .site = SITE(OPEN_K) },
						     1000 * context);
			warp_close(&warp, 1000 * context + 900);
			builder_segment(b, &warp);
		}
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 2);
	assert_int_equal(call_of(model, 0), 1);
	expect_grid(model, 1, "k", 2);
	warpspan_model_destroy(model);
}

/* --- launches that were lost ------------------------------------------------------------------ */

/* Launches of the shapes (blocks) 1, 2, 3, ... as given; those in `left` leave a grid. Between them and behind each of
 * `others` a kernel that is in no log takes an id, too. */
static struct warpspan_model *run_with_losses(const char *shapes, const char *left, const char *others,
					      uint32_t n_grids, bool overlap)
{
	struct builder *b = with_kernels();
	uint64_t id = 20;
	for (size_t i = 0; shapes[i] != '\0'; i++) {
		const uint32_t blocks = (uint32_t)(shapes[i] - '0');
		builder_next_launch(b, overlap ? 10000 + 100 * i : 10000 * (i + 1), 64, overlap ? 1 + i % 2 : 1);
		launch(b, 1 + blocks % 2, blocks);
		if (left[i] == '+')
			run_grid(b, id, blocks, SITE(blocks % 2), 1000 + 2000 * i);
		id += others[i] == '+' ? 2 : 1;
	}
	builder_finish(b);
	return load_and_destroy(b, n_grids);
}

static void a_lost_launch_does_not_unsettle_the_others(void **state)
{
	static const uint32_t numbers[] = { 1, 2, 4, 5, 6, 7 };
	/* of the four of shape 1 the second is lost; 2, 4 and 3 occur once, and leave each of the others one place */
	struct warpspan_model *model = run_with_losses("1214131", "++ ++++", "   +   ", 6, false);
	for (uint32_t i = 0; i < 6; i++) {
		expect_grid(model, i, i == 1 || i == 2 ? "k" : "u", numbers[i]);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ID);
	}
	warpspan_model_destroy(model);
	/* 1 2 1 2 1, the first 1 and the last 2 lost: the first grid is no more than two ids before the last one */
	model = run_with_losses("12121", " ++ +", "     ", 3, false);
	for (uint32_t i = 0; i < 3; i++)
		expect_grid(model, i, i == 0 ? "k" : "u", i < 2 ? i + 2 : 5);
	warpspan_model_destroy(model);
}

static void a_lost_launch_among_equals_is_not_guessed(void **state)
{
	/* the id that is missing may be that of the lost one, or of the kernel in no log */
	struct warpspan_model *model = run_with_losses("1111", "++ +", "  + ", 3, false);
	for (uint32_t i = 0; i < 3; i++) {
		expect_grid(model, i, "u", 0);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_AMBIGUOUS);
	}
	warpspan_model_destroy(model);
}

static void launches_of_threads_at_once_are_not_in_order(void **state)
{
	struct warpspan_model *model = run_with_losses("1214131", "++ ++++", "   +   ", 6, true);
	expect_grid(model, 0, "u", 0);
	assert_int_equal(model->grids[0].join, WARPSPAN_JOIN_AMBIGUOUS);
	warpspan_model_destroy(model);
}

/* --- kernels of several modules --------------------------------------------------------------- */

/* `name` in a module of its own, launched once in a context and run there. */
static void run_module(struct builder *b, uint32_t number, const char *name, uint32_t context, uint32_t line,
		       double start)
{
	const struct warp_place place = { .grid_id = 10 + number, .module = number, .context = context };
	const struct warpspan_stored_site site = { .module = number,
						   .site = SITE(0),
						   .kind = WARPSPAN_SITE_OPEN,
						   .line = line,
						   .name_bytes = 2,
						   .file_bytes = 4 };
	char payload[sizeof(site) + 8];

	builder_meta(b, "{\"kernel\":{\"number\":%u,\"module\":%u,\"name\":\"%s\",\"demangled\":\"%s\"}}", number,
		     number, name, name);
	memcpy(payload, &site, sizeof(site));
	memcpy(payload + sizeof(site), "wsa.cu\0", 8);
	builder_chunk(b, WARPSPAN_CHUNK_SITES, payload, sizeof(payload));
	builder_launch(b, number, &place);
	struct warp warp = warp_open(b, &place, start);
	warp_close(&warp, start + 100);
	builder_segment(b, &warp);
}

static void kernels_that_only_their_module_tells_apart_are_one(void **state)
{
	struct builder *b = builder_create();
	builder_meta(b, "{\"device\":{\"ordinal\":1,\"name\":\"x\",\"uuid\":\"\",\"compute\":\"9.0\",\"sms\":8,"
			"\"clock_khz\":1000000}}");
	builder_meta(b, "{\"context\":{\"number\":2,\"device\":1}}");
	builder_meta(b, "{\"context\":{\"number\":3,\"device\":0}}");
	run_module(b, 1, "k", 1, 5, 1000);
	run_module(b, 2, "k", 1, 5, 3000);  /* loaded again */
	run_module(b, 3, "k", 3, 5, 5000);  /* in another context */
	run_module(b, 4, "k", 1, 77, 7000); /* another source */
	run_module(b, 5, "other", 1, 5, 9000);
	run_module(b, 6, "k", 2, 5, 1000000); /* on another device */
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, 6);
	uint32_t kernel_of_module[7];
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_not_equal(model->grids[i].host, WARPSPAN_NONE);
		kernel_of_module[model->launches[model->grids[i].host].module] = model->grids[i].kernel;
	}
	assert_int_equal(kernel_of_module[1], kernel_of_module[2]);
	assert_int_equal(kernel_of_module[1], kernel_of_module[3]);
	assert_int_not_equal(kernel_of_module[1], kernel_of_module[4]);
	assert_int_not_equal(kernel_of_module[1], kernel_of_module[5]);
	assert_int_not_equal(kernel_of_module[1], kernel_of_module[6]);
	warpspan_model_destroy(model);
}

/* Warps that found no segment tell their site only. */
static struct warpspan_model *lose_all(bool second_kernel, const char *counters)
{
	struct builder *b = builder_create();
	const struct warpspan_loss loss = { .key = 1ull << 32 | SITE(0), .warps = 4, .records = 8, .most_words = 2 };
	builder_kernel(b, 1, "_Z1kv", "k()");
	builder_kernel(b, 2, "_Z1uv", "u()");
	builder_site(b, SITE(0), WARPSPAN_SITE_OPEN, "ws", 7);
	launch(b, 1, 4);
	if (second_kernel)
		launch(b, 2, 4);
	builder_losses(b, 1, &loss, 1);
	if (counters != NULL)
		builder_meta(b, "{\"counters\":%s}", counters);
	builder_finish(b);
	return load_and_destroy(b, 0);
}

static void the_kernel_of_lost_warps_is_the_only_one_of_its_module(void **state)
{
	static const struct {
		bool second_kernel;
		const char *counters, *name;
	} cases[] = {
		{ false, NULL, "k()" },
		{ false, "{\"filtered\":0}", "k()" },
		{ false, "{\"filtered\":1}",
		  "kernel at kernel.cu:7" }, /* it may be of a launch that is not in the log */
		{ true, NULL, "kernel at kernel.cu:7" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct warpspan_model *model = lose_all(cases[i].second_kernel, cases[i].counters);
		assert_int_equal(model->n_lost, 1);
		assert_string_equal(model->kernels[model->lost[0].kernel].demangled, cases[i].name);
		warpspan_model_destroy(model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_are_told_apart_by_their_ids),
		cmocka_unit_test(a_kernel_that_records_nothing_is_skipped_by_its_ids),
		cmocka_unit_test(launches_of_others_in_between_do_not_matter),
		cmocka_unit_test(a_failed_launch_has_no_grid),
		cmocka_unit_test(where_the_launch_is_not_certain_the_kernel_may_be),
		cmocka_unit_test(a_capture_still_being_written_has_the_first_launches),
		cmocka_unit_test(a_grid_no_log_knows_is_named_after_its_site),
		cmocka_unit_test(a_grid_is_named_by_another_of_its_site),
		cmocka_unit_test(a_site_of_several_kernels_names_none),
		cmocka_unit_test(a_constant_id_is_split_where_warps_come_again),
		cmocka_unit_test(a_constant_id_and_a_warp_that_found_no_segment),
		cmocka_unit_test(a_constant_id_and_launches_that_overlap_are_unsure),
		cmocka_unit_test(a_constant_id_and_two_kernels_of_one_shape_are_told_apart_by_their_sites),
		cmocka_unit_test(two_sites_of_one_kernel_stay_together_under_a_constant_id),
		cmocka_unit_test(kernels_mixed_up_at_a_site_are_not_believed),
		cmocka_unit_test(constant_ids_of_different_shapes_are_different_launches),
		cmocka_unit_test(a_recorder_opened_again_in_one_launch_does_not_split_it),
		cmocka_unit_test(contexts_do_not_mix),
		cmocka_unit_test(a_lost_launch_does_not_unsettle_the_others),
		cmocka_unit_test(a_lost_launch_among_equals_is_not_guessed),
		cmocka_unit_test(launches_of_threads_at_once_are_not_in_order),
		cmocka_unit_test(kernels_that_only_their_module_tells_apart_are_one),
		cmocka_unit_test(the_kernel_of_lost_warps_is_the_only_one_of_its_module),
		cmocka_unit_test(a_context_nobody_described_is_damage_once),
		cmocka_unit_test(with_one_id_one_stream_keeps_its_order),
		cmocka_unit_test(with_one_id_several_streams_are_ambiguous),
		cmocka_unit_test(with_one_id_a_synchronisation_parts_streams),
		cmocka_unit_test(with_ids_of_their_own_streams_stay_apart),
		cmocka_unit_test(replays_with_the_same_ids_are_told_apart),
		cmocka_unit_test(replays_with_ids_of_their_own_are_counted_out),
		cmocka_unit_test(with_one_id_replays_are_told_apart_too),
		cmocka_unit_test(grids_of_one_of_two_graphs_are_ambiguous),
		cmocka_unit_test(what_graphs_hold_tells_which_of_them_ran_a_kernel),
		cmocka_unit_test(a_changed_graph_makes_what_it_holds_by_then),
		cmocka_unit_test(grids_that_no_graph_explains_are_ambiguous),
		cmocka_unit_test(bad_rows_of_what_a_graph_holds_are_damage),
		cmocka_unit_test(graphs_launched_a_different_number_of_times_are_not),
		cmocka_unit_test(a_recorder_opened_more_often_than_launched_is_one_launch),
		cmocka_unit_test(a_kernel_that_only_a_graph_launches_has_its_name),
		cmocka_unit_test(contexts_are_joined_each_on_its_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

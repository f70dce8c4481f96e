/* SPDX-License-Identifier: Apache-2.0
 *
 * test_model.c - whole captures, from the writer to the model.
 */
#include "support.h"

#include "capture_builder.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_SITE, LOAD, MULTIPLY_BEGIN, MULTIPLY_END, FLUSHED, TILE };

static void describe_sites(struct builder *b)
{
	builder_site(b, SITE(OPEN_SITE), WARPSPAN_SITE_OPEN, "ws", 5);
	builder_site(b, SITE(LOAD), WARPSPAN_SITE_SCOPE, "load", 10);
	builder_site(b, SITE(MULTIPLY_BEGIN), WARPSPAN_SITE_BEGIN, "multiply", 20);
	builder_site(b, SITE(MULTIPLY_END), WARPSPAN_SITE_END, "multiply", 22);
	builder_site(b, SITE(FLUSHED), WARPSPAN_SITE_MARK, "flushed", 30);
	builder_site(b, SITE(TILE), WARPSPAN_SITE_VALUE, "tile", 31);
}

/* Two blocks of two warps each do the same: load, multiply with a mark and a value in it. */
static struct builder *small_capture(void)
{
	struct builder *b = builder_create();
	const struct warp_place launch = { .grid = { 2 }, .threads = { 64 } };
	builder_kernel(b, 1, "_Z1kPf", "k(float*)");
	describe_sites(b);
	builder_launch(b, 1, &launch);
	for (uint32_t i = 0; i < 4; i++) {
		const struct warp_place place = {
			.grid_id = 9, .grid = { 2 }, .threads = { 64 }, .block = { i / 2 }, .warp = i % 2, .sm = i / 2
		};
		const double start = 1000 + 100 * i;
		struct warp warp = warp_open(b, &place, start);
		warp_begin(&warp, SITE(LOAD), start + 100);
		warp_end(&warp, SITE(LOAD), start + 300);
		warp_begin(&warp, SITE(MULTIPLY_BEGIN), start + 300);
		warp_mark(&warp, SITE(FLUSHED), start + 400);
		warp_value(&warp, SITE(TILE), 70 + i, start + 450);
		warp_end(&warp, SITE(MULTIPLY_END), start + 900);
		warp_close(&warp, start + 1000);
		builder_segment(b, &warp);
	}
	return b;
}

static void assert_near(uint64_t got_ns, double want_ns, double within_ns)
{
	const double got = (double)(int64_t)(got_ns - BUILDER_BASE_NS);
	if (got < want_ns - within_ns || got > want_ns + within_ns)
		fail_msg("%.1f ns is not %.1f within %.1f", got, want_ns, within_ns);
}

static void a_capture_comes_back_as_written(void **state)
{
	struct builder *b = small_capture();
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_true(model->complete);
	assert_string_equal(model->command, "./app 'a b'");
	assert_string_equal(model->rank, "");
	assert_string_equal(model->host, "box");
	assert_int_equal(model->pid, 42);
	assert_int_equal(model->arena_bytes, 33554432);
	assert_int_equal(model->n_devices, 1);
	assert_string_equal(model->devices[0].name, "Test GPU");
	assert_int_equal(model->n_kernels, 1);
	assert_int_equal(model->n_launches, 1);
	assert_int_equal(model->n_segments, 4);
	assert_int_equal(model->n_records, 4 * 6);

	assert_int_equal(model->n_grids, 1);
	const struct warpspan_grid *grid = &model->grids[0];
	assert_int_equal(grid->host, 0);
	assert_int_equal(grid->kernel, 0);
	assert_int_equal(grid->match, WARPSPAN_MATCH_GRID_ID);
	assert_int_equal(grid->n_warps, 4);
	assert_int_equal(grid->n_tracks, 4);
	assert_int_equal(grid->n_records, 24);
	assert_near(grid->start_ns, 1000, 2);
	assert_near(grid->end_ns, 2300, 2);

	assert_int_equal(model->n_tracks, 4);
	assert_int_equal(model->n_slices, 8);
	assert_int_equal(model->n_marks, 8);
	assert_int_equal(model->n_regions, 4);
	assert_int_equal(model->n_unpaired, 0);
	assert_int_equal(model->n_lost, 0);
	for (uint32_t i = 0; i < 4; i++) {
		const struct warpspan_track *track = &model->tracks[i];
		assert_int_equal(track->block[0], i / 2);
		assert_int_equal(track->warp, i % 2);
		assert_int_equal(track->n_slices, 2);
		const struct warpspan_slice *load = &model->slices[track->first_slice], *multiply = load + 1;
		const double start = 1000 + 100 * i;
		assert_string_equal(model->regions[load->region].name, "load");
		assert_int_equal(model->regions[load->region].line, 10);
		assert_near(load->start_ns, start + 100, 2);
		assert_near(load->end_ns, start + 300, 2);
		assert_int_equal(load->end, WARPSPAN_END_RECORDED);
		assert_string_equal(model->regions[multiply->region].name, "multiply");
		assert_string_equal(model->regions[multiply->region].file, "kernel.cu");
		assert_int_equal(model->regions[multiply->region].line, 20);
		assert_near(multiply->end_ns, start + 900, 2);
		assert_int_equal(track->n_marks, 2);
		const struct warpspan_mark *mark = &model->marks[track->first_mark];
		assert_int_equal(mark[0].kind, WARPSPAN_KIND_MARK);
		assert_int_equal(mark[1].kind, WARPSPAN_KIND_VALUE_U32);
		assert_int_equal(mark[1].bits, 70 + i);
		assert_near(mark[1].time_ns, start + 450, 2);
	}
	warpspan_model_destroy(model);
	builder_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_comes_back_as_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

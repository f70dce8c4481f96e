/* SPDX-License-Identifier: Apache-2.0
 *
 * test_model.c - whole captures, from the writer to the model.
 */
#include "support.h"

#include "capture_builder.h"
#include "model_check.h"

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
	assert_null(model_fault(model));
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
	assert_near(grid->start_ns, 1000, 5);
	assert_near(grid->end_ns, 2300, 5);

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
		assert_near(load->start_ns, start + 100, 5);
		assert_near(load->end_ns, start + 300, 5);
		assert_int_equal(load->end, WARPSPAN_END_RECORDED);
		assert_string_equal(model->regions[multiply->region].name, "multiply");
		assert_string_equal(model->regions[multiply->region].file, "kernel.cu");
		assert_int_equal(model->regions[multiply->region].line, 20);
		assert_near(multiply->end_ns, start + 900, 5);
		assert_int_equal(track->n_marks, 2);
		const struct warpspan_mark *mark = &model->marks[track->first_mark];
		assert_int_equal(mark[0].kind, WARPSPAN_KIND_MARK);
		assert_int_equal(mark[1].kind, WARPSPAN_KIND_VALUE_U32);
		assert_int_equal(mark[1].bits, 70 + i);
		assert_near(mark[1].time_ns, start + 450, 5);
	}
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void devices_have_clocks_of_their_own(void **state)
{
	struct builder *b = builder_create();
	builder_meta(b,
		     "{\"device\":{\"ordinal\":1,\"name\":\"Second\",\"uuid\":\"GPU-1\",\"compute\":\"8.0\",\"sms\":8,"
		     "\"clock_khz\":1000000}}");
	builder_meta(b, "{\"context\":{\"number\":2,\"device\":1}}");
	for (uint32_t i = 0; i < 40; i++) {
		/* SM 100 of the builder stands for SM 100 of the second device, at half the rate. */
		const uint32_t second = i % 2;
		const struct warp_place place = { .grid_id = i, .context = 1 + second, .sm = second * 100 };
		b->period[100] = 1.0;
		struct warp warp = warp_open(b, &place, 1000 * i + 7 * (i % 5));
		warp_begin(&warp, SITE(LOAD), 1000 * i + 100);
		warp_end(&warp, SITE(LOAD), 1000 * i + 500);
		warp_close(&warp, 1000 * i + 900 + i);
		builder_segment(b, &warp);
	}
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_null(model_fault(model));
	assert_int_equal(model->n_clocks, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const double expected = i == 0 ? 2e9 : 1e9;
		assert_int_equal(model->clocks[i].device, i);
		assert_true(model->clocks[i].rate_hz > expected * 0.99 && model->clocks[i].rate_hz < expected * 1.01);
	}
	for (uint64_t i = 0; i < model->n_slices; i++)
		assert_in_range(model->slices[i].end_ns - model->slices[i].start_ns, 395, 405);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void what_found_no_room_is_counted_by_kernel(void **state)
{
	struct builder *b = builder_create();
	builder_kernel(b, 1, "k", "k");
	builder_kernel(b, 2, "u", "u");
	describe_sites(b);
	builder_site(b, SITE(20), WARPSPAN_SITE_OPEN, "ws", 50);
	builder_launch(b, 1, &(struct warp_place){ .grid = { 4 } });
	for (uint32_t i = 0; i < 3; i++) {
		struct warp warp = warp_open(
			b, &(struct warp_place){ .grid_id = 1, .grid = { 4 }, .block = { i }, .room = 6 }, 1000 + i);
		for (uint32_t k = 0; k < 4 * i; k++)
			warp_value(&warp, SITE(TILE), k, 1100 + 10 * k);
		warp_close(&warp, 2000);
		builder_segment(b, &warp);
	}
	/* cumulative: only the last counts */
	const struct warpspan_loss before[] = { { .key = 1ull << 32 | SITE(OPEN_SITE), .warps = 500, .records = 500 } };
	const struct warpspan_loss after[] = {
		{ .key = 1ull << 32 | SITE(OPEN_SITE),
		  .warps = 1,
		  .records = 40,
		  .most_records = 40,
		  .most_words = 41 },
		{ .key = 1ull << 32 | SITE(20), .warps = 1000, .records = 7000, .most_records = 7, .most_words = 7 },
		{ .key = WARPSPAN_LOSS_REST_KEY, .warps = 2, .records = 3, .most_records = 2, .most_words = 2 },
		{ .key = 0 },
	};
	builder_losses(b, 1, before, 1);
	builder_losses(b, 1, after, 4);
	builder_meta(b, "{\"counters\":{\"filtered\":1}}"); /* so there is a kernel that is not in the log */
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model->n_segments, 3);
	assert_int_equal(model->n_records, 0 + 3 + 3);
	assert_int_equal(model->grids[0].n_lost, 1 + 5);
	assert_int_equal(model->n_lost, 3);
	assert_string_equal(model->kernels[model->lost[0].kernel].name, "k");
	assert_int_equal(model->lost[0].n_records, 1 + 5 + 40);
	assert_int_equal(model->lost[0].n_warps_cut, 2);
	assert_int_equal(model->lost[0].n_warps_unheard, 1);
	assert_int_equal(model->lost[0].most_words, 41);
	assert_string_equal(model->lost[0].first, "block (1,0,0) warp 0");
	assert_string_equal(model->kernels[model->lost[1].kernel].name, "kernel at kernel.cu:50");
	assert_int_equal(model->lost[1].n_records, 7000);
	assert_string_equal(model->lost[1].first, "");
	assert_int_equal(model->lost[2].kernel, WARPSPAN_NONE);
	assert_int_equal(model->n_lost_records, 46 + 7000 + 3);
	assert_int_equal(model->n_lost_warps, 2 + 1 + 1000 + 2);

	uint64_t buffer = 0;
	uint32_t events = 0;
	warpspan_model_sufficient(model, &buffer, &events);
	assert_int_equal(events, 42);
	assert_int_equal(buffer, 64 << 20); /* what there was would do, with that many events */
	bool change_buffer = true, change_events = false;
	warpspan_model_to_change(model, &change_buffer, &change_events);
	assert_true(!change_buffer && change_events);
	/* 3 segments and 1003 warps without one, of 96 + 8 * 42 bytes, and an arena's header; twice; in steps of 4 KiB
	 */
	model->arena_bytes = 0;
	warpspan_model_sufficient(model, &buffer, &events);
	assert_int_equal(buffer, (2 * (256 + 1006 * (96 + 8 * 42)) + 4095) / 4096 * 4096);
	warpspan_model_to_change(model, &change_buffer, &change_events);
	assert_true(change_buffer && change_events);
	model->words_asked = 41; /* in force as 42 */
	warpspan_model_to_change(model, &change_buffer, &change_events);
	assert_true(change_buffer && !change_events);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void the_setting_that_suffices_suffices_for_the_warps_that_lost_nothing(void **state)
{
	struct builder *b = builder_create();
	describe_sites(b);
	for (uint32_t i = 0; i < 2; i++) {
		/* the first makes 3 words and has room for 2, the second makes 9 and has room for them */
		struct warp warp = warp_open(
			b, &(struct warp_place){ .grid_id = 1, .grid = { 2 }, .block = { i }, .room = i == 0 ? 2 : 10 },
			1000);
		for (uint32_t k = 0; k < (i == 0 ? 3 : 9); k++)
			warp_mark(&warp, SITE(TILE), 1100 + 10 * k);
		warp_close(&warp, 2000);
		builder_segment(b, &warp);
	}
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	uint64_t buffer = 0;
	uint32_t events = 0;
	assert_int_equal(model->n_lost_records, 1);
	warpspan_model_sufficient(model, &buffer, &events);
	assert_int_equal(events, 10);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void nothing_lost_asks_for_no_setting(void **state)
{
	struct builder *b = small_capture();
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	uint64_t buffer = 1;
	uint32_t events = 1;
	warpspan_model_sufficient(model, &buffer, &events);
	assert_int_equal(buffer, 0);
	assert_int_equal(events, 0);
	bool change_buffer = true, change_events = true;
	warpspan_model_to_change(model, &change_buffer, &change_events);
	assert_true(!change_buffer && !change_events);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void absurd_losses_ask_for_no_more_than_there_can_be(void **state)
{
	struct builder *b = small_capture();
	const struct warpspan_loss losses[] = {
		{ .key = 1ull << 32 | SITE(OPEN_SITE),
		  .warps = UINT64_MAX,
		  .records = UINT64_MAX,
		  .most_words = UINT32_MAX },
		{ .key = WARPSPAN_LOSS_REST_KEY, .warps = UINT64_MAX, .records = UINT64_MAX, .most_words = UINT32_MAX },
	};
	builder_losses(b, 1, losses, 2);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	uint64_t buffer = 0;
	uint32_t events = 0;
	warpspan_model_sufficient(model, &buffer, &events);
	assert_int_equal(buffer, 1ull << 40);
	assert_int_equal(events, WARPSPAN_SEGMENT_WORDS_LIMIT);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void counters_keep_their_last_value(void **state)
{
	struct builder *b = small_capture();
	builder_meta(b, "{\"counters\":{\"launches_recorded\":1,\"capturing\":3}}");
	builder_meta(b, "{\"counters\":{\"launches_recorded\":\"12345678901234567890\",\"log_full\":0}}");
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model->n_counters, 3);
	assert_string_equal(model->counters[0].name, "launches_recorded");
	assert_int_equal(model->counters[0].value, 12345678901234567890ull);
	assert_int_equal(model->counters[1].value, 3);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void metadata_of_the_wrong_type_gives_defaults_and_is_told(void **state)
{
	static const char *const texts[] = {
		("{\"device\":{\"ordinal\":0,\"name\":5,\"uuid\":\"u\",\"compute\":\"9.0\",\"sms\":-1,\"clock_khz\":"
		 "\"x\"}}"),
		"{\"context\":{\"number\":4294967296,\"device\":0}}",
		"{\"kernel\":[1,2]}",
		"{\"kernel\":5}",
		"[]",
		"{",
		"{}",
		"{\"counters\":{\"a\":null,\"b\":1.5,\"c\":\"18446744073709551616\"}}",
	};
	struct builder *b = builder_create_bare();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		builder_chunk(b, WARPSPAN_CHUNK_META, texts[i], strlen(texts[i]));
	struct warpspan_model *model = builder_load(b, WARPSPAN_DAMAGED);
	for (uint32_t i = 0; i < model->n_damage; i++)
		print_message("  %s\n", model->damage[i].text);
	assert_int_equal(model->n_damage, 3 + 1 + 5 + 3 + 1); /* the last one: no session */
	assert_int_equal(model->n_devices, 1);
	assert_string_equal(model->devices[0].name, "");
	assert_int_equal(model->devices[0].n_sms, 0);
	assert_string_equal(model->host, "");
	assert_int_equal(model->n_counters, 0);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

/* --- damage ----------------------------------------------------------------------------------- */

static void a_capture_cut_anywhere_gives_what_was_before(void **state)
{
	struct builder *b = small_capture();
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	uint64_t n_records = 0;
	for (size_t cut = 0; cut < n; cut++) {
		struct warpspan_model *model = NULL;
		struct warpspan_error error = { .offset = UINT64_MAX };
		const int result = warpspan_model_from_bytes("a.wspan", bytes, cut, &model, &error);
		if (result < 0) {
			assert_int_equal(result, WARPSPAN_NOT_A_CAPTURE);
			assert_true(cut < sizeof(struct warpspan_file_header));
			assert_null(model);
			continue;
		}
		assert_null(model_fault(model));
		assert_false(model->complete);
		assert_true(model->n_records >= n_records); /* never less than of a shorter piece */
		n_records = model->n_records;
		if (result == WARPSPAN_DAMAGED) {
			assert_true(model->n_damage > 0);
			assert_true(error.offset <= cut);
			assert_string_equal(error.text, model->damage[0].text);
		}
		warpspan_model_destroy(model);
	}
	assert_int_equal(n_records, 24);
	free(bytes);
	builder_destroy(b);
}

static void a_flipped_byte_costs_one_chunk_at_most(void **state)
{
	struct builder *b = small_capture();
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	for (size_t at = 0; at < n; at++) {
		struct warpspan_model *model = NULL;
		struct warpspan_error error;
		bytes[at] ^= 1u << at % 8;
		const int result = warpspan_model_from_bytes("a.wspan", bytes, n, &model, &error);
		bytes[at] ^= 1u << at % 8;
		if (result < 0) {
			assert_true(at < 8);
			continue;
		}
		assert_int_equal(result, WARPSPAN_DAMAGED);
		assert_true(error.offset <= at);
		assert_null(model_fault(model));
		assert_true(model->n_records >= 18);
		warpspan_model_destroy(model);
	}
	free(bytes);
	builder_destroy(b);
}

/* --- memory ----------------------------------------------------------------------------------------------------------
 *
 * The linker sends every allocation of this program through these (see meson.build).
 */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t n);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t n);

static long allocations_until_failure = -1;

static bool fails_now(void)
{
	return allocations_until_failure >= 0 && allocations_until_failure-- == 0;
}

void *__wrap_malloc(size_t bytes)
{
	return fails_now() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails_now() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails_now() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails_now() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t n)
{
	return fails_now() ? NULL : __real_strndup(text, n);
}

static void every_failed_allocation_is_survived_and_told(void **state)
{
	struct builder *b = small_capture();
	const struct warpspan_loss loss = { .key = 1ull << 32 | SITE(20), .warps = 10, .records = 70, .most_words = 7 };
	builder_losses(b, 1, &loss, 1);
	builder_hook(b, 1, "cuCtxSynchronize");
	builder_call(b, &(struct warpspan_host_call){ .kind = WARPSPAN_HOST_GRAPH_LAUNCH, .begin_ns = 1, .end_ns = 2 });
	builder_call(b, &(struct warpspan_host_call){
				.kind = WARPSPAN_HOST_SYNCHRONIZE, .api = 1, .begin_ns = 900000, .end_ns = 990000 });
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	long n_allocations = 0;
	for (;; n_allocations++) {
		struct warpspan_model *model = NULL;
		struct warpspan_error error;
		allocations_until_failure = n_allocations;
		const int result = warpspan_model_from_bytes("a.wspan", bytes, n, &model, &error);
		const bool failed = allocations_until_failure < 0;
		allocations_until_failure = -1;
		if (!failed) {
			assert_int_equal(result, WARPSPAN_OK);
			warpspan_model_destroy(model);
			break;
		}
		/* cJSON does not tell a text it cannot read from memory it cannot get: that is damage, then */
		if (result == WARPSPAN_DAMAGED) {
			assert_non_null(strstr(error.text, "metadata"));
			warpspan_model_destroy(model);
		} else {
			assert_int_equal(result, WARPSPAN_NO_MEMORY);
			assert_null(model);
			assert_non_null(strstr(error.text, "out of memory"));
		}
	}
	print_message("  %ld allocations\n", n_allocations);
	assert_true(n_allocations > 100);
	free(bytes);
	builder_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_comes_back_as_written),
		cmocka_unit_test(devices_have_clocks_of_their_own),
		cmocka_unit_test(what_found_no_room_is_counted_by_kernel),
		cmocka_unit_test(the_setting_that_suffices_suffices_for_the_warps_that_lost_nothing),
		cmocka_unit_test(nothing_lost_asks_for_no_setting),
		cmocka_unit_test(absurd_losses_ask_for_no_more_than_there_can_be),
		cmocka_unit_test(counters_keep_their_last_value),
		cmocka_unit_test(metadata_of_the_wrong_type_gives_defaults_and_is_told),
		cmocka_unit_test(a_capture_cut_anywhere_gives_what_was_before),
		cmocka_unit_test(a_flipped_byte_costs_one_chunk_at_most),
		cmocka_unit_test(every_failed_allocation_is_survived_and_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

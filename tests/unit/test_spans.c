/* SPDX-License-Identifier: Apache-2.0
 *
 * test_spans.c - pairing, nesting and classifying the records of a warp.
 */
#include "support.h"

#include "capture_builder.h"
#include "model_check.h"
#include "spans.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_SITE, OUTER, INNER, A_BEGIN, A_END, B_BEGIN, B_END, MARK, A_AGAIN, N_SITES };

static struct builder *with_sites(void)
{
	struct builder *b = builder_create();
	builder_kernel(b, 1, "k", "k");
	builder_launch(b, 1, &(struct warp_place){ 0 });
	builder_site(b, SITE(OPEN_SITE), WARPSPAN_SITE_OPEN, "ws", 1);
	builder_site(b, SITE(OUTER), WARPSPAN_SITE_SCOPE, "outer", 2);
	builder_site(b, SITE(INNER), WARPSPAN_SITE_SCOPE, "inner", 3);
	builder_site(b, SITE(A_BEGIN), WARPSPAN_SITE_BEGIN, "a", 4);
	builder_site(b, SITE(A_END), WARPSPAN_SITE_END, "a", 5);
	builder_site(b, SITE(B_BEGIN), WARPSPAN_SITE_BEGIN, "b", 6);
	builder_site(b, SITE(B_END), WARPSPAN_SITE_END, "b", 7);
	builder_site(b, SITE(MARK), WARPSPAN_SITE_MARK, "mark", 8);
	builder_site(b, SITE(A_AGAIN), WARPSPAN_SITE_BEGIN, "a", 4); /* another instantiation of the same line */
	return b;
}

static const struct warp_place somewhere = { .grid_id = 1 };

/* Draws the slices of a model, one letter per field: "outer[100-900] .inner[200-300] ..."; a sign behind says how it
 * ended: ! corrupt, ? lost, > open. */
static char *draw(const struct warpspan_model *model)
{
	static const char signs[] = { [WARPSPAN_END_RECORDED] = ' ',
				      [WARPSPAN_END_LOST] = '?',
				      [WARPSPAN_END_OPEN] = '>',
				      [WARPSPAN_END_CORRUPT] = '!' };
	static char text[4096];
	size_t n = 0;
	text[0] = '\0';
	for (uint64_t i = 0; i < model->n_slices; i++) {
		const struct warpspan_slice *slice = &model->slices[i];
		const uint64_t start = slice->start_ns - BUILDER_BASE_NS, end = slice->end_ns - BUILDER_BASE_NS;
		/* to the nearest 10 ns: the clock fit has its own test */
		n += (size_t)snprintf(
			text + n, sizeof(text) - n, "%s%.*s%s[%llu-%llu]%.*s", n > 0 ? " " : "", slice->depth, "......",
			model->regions[slice->region].name, (unsigned long long)(start + 5) / 10 * 10,
			(unsigned long long)(end + 5) / 10 * 10, signs[slice->end] != ' ', &signs[slice->end]);
		assert_in_range(n, 1, sizeof(text) - 1);
	}
	return text;
}

static void expect_sound(const struct warpspan_model *model)
{
	const char *fault = model_fault(model);
	if (fault != NULL)
		fail_msg("the model breaks a promise: %s", fault);
}

/* Loads what one closed (or open) warp made and compares its slices. */
static struct warpspan_model *expect_slices(struct builder *b, const struct warp *warp, const char *drawing)
{
	builder_segment(b, warp);
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_string_equal(draw(model), drawing);
	expect_sound(model);
	builder_destroy(b);
	return model;
}

static void scopes_nest(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(OUTER), 100);
	for (int i = 0; i < 3; i++) {
		warp_begin(&warp, SITE(INNER), 200 + 100 * i);
		warp_end(&warp, SITE(INNER), 250 + 100 * i);
	}
	warp_end(&warp, SITE(OUTER), 600);
	warp_close(&warp, 700);
	struct warpspan_model *model =
		expect_slices(b, &warp, "outer[100-600] .inner[200-250] .inner[300-350] .inner[400-450]");
	assert_int_equal(model->n_regions, 2);
	assert_int_equal(model->n_unpaired, 0);
	warpspan_model_destroy(model);
}

static void a_begin_and_its_end_pair_by_name(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(A_BEGIN), 100);
	warp_begin(&warp, SITE(B_BEGIN), 200);
	warp_begin(&warp, SITE(A_AGAIN), 300);
	warp_end(&warp, SITE(A_END), 400);
	warp_end(&warp, SITE(B_END), 500);
	warp_end(&warp, SITE(A_END), 600);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "a[100-600] .b[200-500] ..a[300-400]");
	assert_int_equal(model->n_regions, 2); /* instantiations are one region */
	warpspan_model_destroy(model);
}

static void an_end_does_not_close_a_scope_of_the_same_name(void **state)
{
	struct builder *b = with_sites();
	builder_site(b, SITE(20), WARPSPAN_SITE_SCOPE, "a", 40);
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(20), 100);
	warp_end(&warp, SITE(A_END), 200);
	warp_end(&warp, SITE(20), 300);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "a[100-300]");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_END, "a"), 1);
	warpspan_model_destroy(model);
}

static void a_begin_without_end_is_cut_where_its_parent_ends(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(OUTER), 100);
	warp_begin(&warp, SITE(A_BEGIN), 200);
	warp_begin(&warp, SITE(B_BEGIN), 300);
	warp_end(&warp, SITE(OUTER), 400);
	warp_begin(&warp, SITE(INNER), 500);
	warp_end(&warp, SITE(INNER), 600);
	warp_close(&warp, 700);
	struct warpspan_model *model =
		expect_slices(b, &warp, "outer[100-400] .a[200-400]! ..b[300-400]! inner[500-600]");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_BEGIN, "a"), 1);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_BEGIN, "b"), 1);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_LOST, NULL), 0);
	warpspan_model_destroy(model);
}

static void an_end_without_begin_disturbs_nothing(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_end(&warp, SITE(B_END), 90);
	warp_begin(&warp, SITE(OUTER), 100);
	warp_end(&warp, SITE(A_END), 200);
	warp_end(&warp, SITE(A_END), 300);
	warp_end(&warp, SITE(OUTER), 400);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "outer[100-400]");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_END, "a"), 2);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_END, "b"), 1);
	warpspan_model_destroy(model);
}

static void ends_that_found_no_room_are_lost_not_corrupt(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &(struct warp_place){ .grid_id = 1, .room = 4 }, 50);
	warp_begin(&warp, SITE(OUTER), 100);
	warp_begin(&warp, SITE(A_BEGIN), 200);
	warp_end(&warp, SITE(A_END), 300);
	warp_begin(&warp, SITE(INNER), 400);
	warp_end(&warp, SITE(INNER), 500);
	warp_end(&warp, SITE(OUTER), 600);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "outer[100-700]? .a[200-300] .inner[400-700]?");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_LOST, NULL), 2);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_BEGIN, NULL), 0);
	assert_int_equal(model->n_lost_records, 2);
	warpspan_model_destroy(model);
}

static void what_hangs_is_open_until_the_latest_time_seen(void **state)
{
	struct builder *b = with_sites();
	struct warp other = warp_open(b, &(struct warp_place){ .grid_id = 2, .sm = 0 }, 60);
	warp_close(&other, 5000);
	builder_segment(b, &other);
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(OUTER), 100);
	warp_mark(&warp, SITE(MARK), 150);
	warp_begin(&warp, SITE(INNER), 200);
	struct warpspan_model *model = expect_slices(b, &warp, "outer[100-5000]> .inner[200-5000]>");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_OPEN, NULL), 2);
	assert_int_equal(model->n_lost, 0);
	assert_int_equal(model->grids[0].n_open, 1);
	assert_true(model->tracks[0].open);
	warpspan_model_destroy(model);
}

static void sites_no_chunk_told_of_keep_their_times(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(99), 100);
	warp_mark(&warp, SITE(98), 150);
	warp_end(&warp, SITE(99), 200);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "site 0x00001630[100-200]");
	assert_int_equal(model->n_marks, 1);
	assert_int_equal(model->n_unpaired, 0);
	warpspan_model_destroy(model);
}

static void records_of_no_known_kind_are_bad(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_begin(&warp, SITE(OUTER), 100);
	warp_record(&warp, SITE(INNER) | 9, 150);
	warp_record(&warp, 0, 160);
	warp_end(&warp, SITE(OUTER), 200);
	warp_close(&warp, 700);
	struct warpspan_model *model = expect_slices(b, &warp, "outer[100-200]");
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_BAD_RECORD, NULL), 2);
	warpspan_model_destroy(model);
}

static void segments_of_one_warp_in_turn_share_a_track(void **state)
{
	struct builder *b = with_sites();
	for (int i = 2; i >= 0; i--) {
		struct warp warp = warp_open(b, &somewhere, 1000 * i + 100);
		warp_begin(&warp, SITE(OUTER), 1000 * i + 200);
		warp_end(&warp, SITE(OUTER), 1000 * i + 300);
		warp_close(&warp, 1000 * i + 400);
		builder_segment(b, &warp);
	}
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model->n_tracks, 1);
	assert_int_equal(model->tracks[0].n_slices, 3);
	assert_int_equal(model->grids[0].n_warps, 3);
	assert_string_equal(draw(model), "outer[200-300] outer[1200-1300] outer[2200-2300]");
	expect_sound(model);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void segments_of_one_warp_that_overlap_get_tracks_of_their_own(void **state)
{
	struct builder *b = with_sites();
	static const double times[][2] = { { 101, 1003 }, { 198, 302 }, { 252, 599 }, { 399, 497 }, { 1102, 1201 } };
	for (size_t i = 0; i < 5; i++) {
		struct warp warp = warp_open(b, &somewhere, times[i][0]);
		warp_begin(&warp, SITE(OUTER), times[i][0] + 10);
		warp_end(&warp, SITE(OUTER), times[i][1] - 10);
		warp_close(&warp, times[i][1]);
		builder_segment(b, &warp);
	}
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model->n_tracks, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(model->tracks[i].repeat, i);
	assert_string_equal(draw(model),
			    "outer[110-990] outer[1110-1190] outer[210-290] outer[410-490] outer[260-590]");
	expect_sound(model);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void many_ends_that_match_nothing_do_not_take_for_ever(void **state)
{
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &(struct warp_place){ .grid_id = 1, .room = WARP_WORDS_MAX }, 50);
	for (int i = 0; i < WARP_WORDS_MAX / 2; i++)
		warp_begin(&warp, SITE(OUTER), 100 + i);
	for (int i = 0; i < WARP_WORDS_MAX / 2; i++)
		warp_end(&warp, SITE(A_END), 3000 + i);
	warp_close(&warp, 10000);
	builder_segment(b, &warp);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_END, "a"), WARP_WORDS_MAX / 2);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_BEGIN, "outer"), WARP_WORDS_MAX / 2);
	expect_sound(model);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void a_site_that_could_not_be_read_says_why(void **state)
{
	struct builder *b = with_sites();
	builder_site(b, SITE(40), 0, "its module was unloaded", 0);
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_mark(&warp, SITE(40), 100);
	warp_mark(&warp, SITE(41), 200); /* of this one nothing was said at all */
	warp_close(&warp, 300);
	builder_segment(b, &warp);
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model->n_marks, 2);
	assert_string_equal(model->regions[model->marks[0].region].name, "site 0x00001280 (its module was unloaded)");
	assert_string_equal(model->regions[model->marks[1].region].name, "site 0x00001290");
	expect_sound(model);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

/* Deeper than a slice's depth can say: what is too deep is counted as that, and ends no slice further out. */
static void nesting_too_deep_costs_only_what_is_too_deep(void **state)
{
	enum { DEEP = SPANS_DEPTH_MAX + 10 };
	struct builder *b = with_sites();
	struct warp warp = warp_open(b, &somewhere, 50);
	warp_close(&warp, 100000 + 2 * DEEP);
	warp.head.records = warp.head.words = 2 * DEEP;
	warp.head.segment_bytes = (uint32_t)(sizeof(warp.head) + 2 * DEEP * sizeof(uint64_t));
	const struct warpspan_stored_segment head = { .stored_words = 2 * DEEP, .context = 1, .segment = warp.head };
	uint8_t *payload = malloc(sizeof(head) + 2 * DEEP * sizeof(uint64_t));
	assert_non_null(payload);
	memcpy(payload, &head, sizeof(head));
	for (uint32_t i = 0; i < 2 * DEEP; i++) {
		const uint32_t tag = SITE(OUTER) | (i < DEEP ? WARPSPAN_KIND_BEGIN : WARPSPAN_KIND_END);
		const uint64_t word = builder_clock(b, 0, 100 + i) << 32 | tag;
		memcpy(payload + sizeof(head) + i * sizeof(word), &word, sizeof(word));
	}
	builder_chunk(b, WARPSPAN_CHUNK_SEGMENTS, payload, sizeof(head) + 2 * DEEP * sizeof(uint64_t));
	free(payload);
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_int_equal(model_unpaired(model, WARPSPAN_UNPAIRED_TOO_DEEP, "outer"), 20);
	assert_int_equal(model->n_unpaired, 1);
	assert_int_equal(model->n_slices, SPANS_DEPTH_MAX);
	/* the outermost begins first and ends last */
	assert_true(model->slices[0].end_ns - model->slices[0].start_ns + 2 >= 2 * DEEP - 1);
	expect_sound(model);
	warpspan_model_destroy(model);
	builder_destroy(b);
}

/* Random warps: whatever they record, everything nests and is accounted for. */
static void anything_nests_and_is_accounted_for(void **state)
{
	uint64_t random = 1;
	for (int round = 0; round < 60; round++) {
		struct builder *b = with_sites();
		uint64_t n_made = 0;
		for (uint32_t w = 0; w < 6; w++) {
			struct warp warp = warp_open(b,
						     &(struct warp_place){ .grid_id = 1,
									   .threads = { 64 },
									   .warp = w % 2,
									   .sm = w % 3,
									   .room = 20 + 20 * (w % 3) },
						     100 * w);
			double time = 100 * w;
			for (int i = 0; i < 50; i++) {
				random = random * 6364136223846793005ull + 1442695040888963407ull;
				const uint32_t site = SITE(1 + (random >> 40) % (N_SITES + 1));
				time += (double)(random >> 60) * 3;
				if ((random >> 50) % 8 < 6)
					warp_record(&warp, site | ((random >> 50) % 2), time);
				else if ((random >> 50) % 8 == 6)
					warp_value(&warp, site, (uint32_t)random, time);
				else
					warp_mark(&warp, site, time);
			}
			warp_close(&warp, time + 10);
			n_made += warp.n_records;
			builder_segment(b, &warp);
		}
		struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
		expect_sound(model);
		assert_int_equal(model->n_records + model->n_lost_records, n_made);
		warpspan_model_destroy(model);
		builder_destroy(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scopes_nest),
		cmocka_unit_test(a_begin_and_its_end_pair_by_name),
		cmocka_unit_test(an_end_does_not_close_a_scope_of_the_same_name),
		cmocka_unit_test(a_begin_without_end_is_cut_where_its_parent_ends),
		cmocka_unit_test(an_end_without_begin_disturbs_nothing),
		cmocka_unit_test(ends_that_found_no_room_are_lost_not_corrupt),
		cmocka_unit_test(what_hangs_is_open_until_the_latest_time_seen),
		cmocka_unit_test(sites_no_chunk_told_of_keep_their_times),
		cmocka_unit_test(records_of_no_known_kind_are_bad),
		cmocka_unit_test(segments_of_one_warp_in_turn_share_a_track),
		cmocka_unit_test(segments_of_one_warp_that_overlap_get_tracks_of_their_own),
		cmocka_unit_test(many_ends_that_match_nothing_do_not_take_for_ever),
		cmocka_unit_test(a_site_that_could_not_be_read_says_why),
		cmocka_unit_test(nesting_too_deep_costs_only_what_is_too_deep),
		cmocka_unit_test(anything_nests_and_is_accounted_for),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

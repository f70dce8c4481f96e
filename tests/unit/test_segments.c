/* SPDX-License-Identifier: Apache-2.0
 *
 * test_segments.c - unwrapping cycle counters and counting records.
 */
#include "support.h"

#include "capture_builder.h"
#include "segments.h"

#include <stdlib.h>
#include <string.h>

#define TURN (1ull << 32)

/* One segment as a SEGMENTS payload. */
struct payload {
	struct warpspan_stored_segment head;
	struct warpspan_record words[64];
	uint32_t n;
};

static struct payload closed_segment(uint64_t open_clock, uint64_t close_clock)
{
	return (struct payload){
		.head = {
			.context = 1,
			.segment = {
				.magic = WARPSPAN_SEGMENT_MAGIC,
				.state = WARPSPAN_SEGMENT_CLOSED,
				.segment_bytes = sizeof(struct warpspan_segment) + 64 * 8,
				.grid_x = 1, .grid_y = 1, .grid_z = 1,
				.threads_x = 32, .threads_y = 1, .threads_z = 1,
				.module = 1,
				.open_clock = open_clock,
				.close_clock = close_clock,
			},
		},
	};
}

static void put(struct payload *payload, uint32_t tag, uint64_t clock)
{
	payload->words[payload->n++] = (struct warpspan_record){ tag, (uint32_t)clock };
	payload->head.segment.words++;
	payload->head.segment.records++;
}

static void put_value(struct payload *payload, uint32_t value, uint64_t clock)
{
	put(payload, SITE(1) | WARPSPAN_KIND_VALUE_U32, clock);
	payload->words[payload->n++] = (struct warpspan_record){ value, 0 };
	payload->head.segment.words++;
}

/* Room for so many words: what is beyond was not written. */
static void limit(struct payload *payload, uint32_t room)
{
	payload->head.segment.segment_bytes = (uint32_t)sizeof(struct warpspan_segment) + room * 8;
	if (payload->n > room)
		payload->n = room;
}

static struct segments index_payload(struct payload *payload, size_t n_expected, size_t n_damage)
{
	struct segments segments = { 0 };
	struct damage damage = { 0 };
	payload->head.stored_words = payload->n;
	const struct capture_chunk chunk = {
		.type = WARPSPAN_CHUNK_SEGMENTS,
		.payload_bytes = (uint32_t)(sizeof(payload->head) + payload->n * 8),
		.payload = (const uint8_t *)payload,
	};
	assert_int_equal(segments_add_chunk(&segments, &chunk, "a.wspan", &damage), 0);
	for (size_t i = 0; i < damage.places.n; i++)
		print_message("  %s\n", damage.places.items[i].text);
	assert_int_equal(damage.places.n, n_damage);
	assert_int_equal(segments.all.n, n_expected);
	damage_finish(&damage);
	return segments;
}

static uint64_t nth_clock(const struct segments *segments, unsigned n)
{
	struct record_cursor cursor = record_cursor_start(&segments->all.items[0]);
	struct record record = { 0 };
	for (unsigned i = 0; i <= n; i++)
		assert_true(record_next(&cursor, &record));
	return record.clock;
}

static void counters_are_unwrapped_over_many_turns(void **state)
{
	const uint64_t open = 7 * TURN - 100;
	struct payload payload = closed_segment(open, open + 50 * (TURN - 1000) + 10);
	for (unsigned i = 1; i <= 50; i++)
		put(&payload, SITE(1), open + i * (TURN - 1000));
	struct segments segments = index_payload(&payload, 1, 0);
	for (unsigned i = 1; i <= 50; i++)
		assert_int_equal(nth_clock(&segments, i - 1), open + i * (TURN - 1000));
	assert_int_equal(segments.n_wraps_unplaced, 0);
	assert_int_equal(segments.n_records, 50);
	segments_finish(&segments);
}

static void missing_turns_are_counted_and_put_last(void **state)
{
	struct payload payload = closed_segment(1000, 1000 + 3 * TURN + 500);
	put(&payload, SITE(1), 1100);
	put(&payload, SITE(1) | WARPSPAN_KIND_END, 1200);
	struct segments segments = index_payload(&payload, 1, 0);
	assert_int_equal(segments.n_wraps_unplaced, 3);
	assert_int_equal(nth_clock(&segments, 1), 1200);
	assert_int_equal(segments.all.items[0].last_clock, 1000 + 3 * TURN + 500);
	segments_finish(&segments);
}

static void turns_without_records_have_only_one_place(void **state)
{
	struct payload payload = closed_segment(1000, 1000 + 3 * TURN + 500);
	struct segments segments = index_payload(&payload, 1, 0);
	assert_int_equal(segments.n_wraps_unplaced, 0);
	segments_finish(&segments);
}

static void a_counter_that_steps_back_does_not_add_a_turn(void **state)
{
	struct payload payload = closed_segment(1000, 2000);
	put(&payload, SITE(1), 1500);
	put(&payload, SITE(1), 1490);
	put(&payload, SITE(1), 1600);
	struct segments segments = index_payload(&payload, 1, 0);
	assert_int_equal(nth_clock(&segments, 1), 1500);
	assert_int_equal(nth_clock(&segments, 2), 1600);
	assert_int_equal(segments.n_clamped, 1);
	assert_int_equal(segments.n_wraps_unplaced, 0);
	segments_finish(&segments);
}

static void records_beyond_the_room_are_lost_exactly(void **state)
{
	for (uint32_t room = 2; room <= 20; room += 2) {
		struct payload payload = closed_segment(1000, 2000);
		for (unsigned i = 0; i < 10; i++)
			put(&payload, SITE(1) | WARPSPAN_KIND_MARK, 1000 + i);
		limit(&payload, room);
		struct segments segments = index_payload(&payload, 1, 0);
		const uint32_t kept = room < 10 ? room : 10;
		assert_int_equal(segments.n_records, kept);
		assert_int_equal(segments.n_lost, 10 - kept);
		segments_finish(&segments);
	}
}

static void a_value_without_room_for_its_payload_is_lost(void **state)
{
	struct payload payload = closed_segment(1000, 2000);
	put(&payload, SITE(1), 1001);
	put_value(&payload, 5, 1002);
	put_value(&payload, 6, 1003);
	limit(&payload, 4);
	struct segments segments = index_payload(&payload, 1, 0);
	assert_int_equal(segments.n_records, 2);
	assert_int_equal(segments.n_lost, 1);
	segments_finish(&segments);
}

static void an_open_segment_ends_where_nothing_was_written(void **state)
{
	struct payload payload = closed_segment(1000, 0);
	put(&payload, SITE(1), 1001);
	put_value(&payload, 0, 1002);
	put_value(&payload, 9, 1003);
	payload.n += 10; /* zeros */
	payload.head.segment.state = WARPSPAN_SEGMENT_OPEN;
	payload.head.segment.words = payload.head.segment.records = 0;
	struct segments segments = index_payload(&payload, 1, 0);
	assert_int_equal(segments.n_records, 3);
	assert_int_equal(segments.n_lost, 0);
	assert_int_equal(segments.all.items[0].last_clock, 1003);
	segments_finish(&segments);
}

static void counts_that_contradict_the_words_are_damage(void **state)
{
	struct payload payload = closed_segment(1000, 2000);
	put(&payload, SITE(1), 1001);
	payload.head.segment.records = payload.head.segment.words = 5; /* and room for 64 */
	struct segments segments = index_payload(&payload, 1, 1);
	assert_int_equal(segments.n_records, 1);
	assert_int_equal(segments.n_lost, 4);
	segments_finish(&segments);
}

static void headers_that_make_no_sense_are_left_out(void **state)
{
	struct payload good = closed_segment(1000, 2000);
	put(&good, SITE(1), 1001);
#define EXPECT_FAULT(field, value)                                        \
	do {                                                              \
		struct payload payload = good;                            \
		payload.head.segment.field = (value);                     \
		struct segments segments = index_payload(&payload, 0, 1); \
		segments_finish(&segments);                               \
	} while (0)
	EXPECT_FAULT(magic, 0);
	EXPECT_FAULT(state, 9);
	EXPECT_FAULT(segment_bytes, 80);
	EXPECT_FAULT(segment_bytes, 100);
	EXPECT_FAULT(segment_bytes, 96); /* more words than room */
	EXPECT_FAULT(block_x, 1);
	EXPECT_FAULT(grid_z, 0);
	EXPECT_FAULT(threads_x, 0);
	EXPECT_FAULT(threads_x, 2000);
	EXPECT_FAULT(warp, 1);
	EXPECT_FAULT(lane, 32);
	EXPECT_FAULT(close_clock, 999);
	EXPECT_FAULT(records, 2);
#undef EXPECT_FAULT
}

static void a_void_segment_holds_nothing(void **state)
{
	struct payload payload = closed_segment(1000, 2000);
	payload.head.segment.state = WARPSPAN_SEGMENT_VOID;
	struct segments segments = index_payload(&payload, 0, 0);
	segments_finish(&segments);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_unwrapped_over_many_turns),
		cmocka_unit_test(missing_turns_are_counted_and_put_last),
		cmocka_unit_test(turns_without_records_have_only_one_place),
		cmocka_unit_test(a_counter_that_steps_back_does_not_add_a_turn),
		cmocka_unit_test(records_beyond_the_room_are_lost_exactly),
		cmocka_unit_test(a_value_without_room_for_its_payload_is_lost),
		cmocka_unit_test(an_open_segment_ends_where_nothing_was_written),
		cmocka_unit_test(counts_that_contradict_the_words_are_damage),
		cmocka_unit_test(headers_that_make_no_sense_are_left_out),
		cmocka_unit_test(a_void_segment_holds_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

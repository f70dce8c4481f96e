/* SPDX-License-Identifier: Apache-2.0
 *
 * test_mutations.c - damaged and forged captures, thousands of them, the same ones each time.
 */
#include "support.h"

#include "capture_builder.h"
#include "fuzz_decoder.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A capture with some of everything, small enough for a mutation to hit something that matters. */
static uint8_t *rich_capture(size_t *ret_n)
{
	struct builder *b = builder_create();
	builder_kernel(b, 1, "_Z1kv", "k()");
	builder_kernel(b, 2, "_Z1uv", "u()");
	builder_site(b, SITE(0), WARPSPAN_SITE_OPEN, "ws", 5);
	builder_site(b, SITE(1), WARPSPAN_SITE_SCOPE, "load", 10);
	builder_site(b, SITE(2), WARPSPAN_SITE_BEGIN, "multiply", 20);
	builder_site(b, SITE(3), WARPSPAN_SITE_END, "multiply", 21);
	builder_site(b, SITE(4), WARPSPAN_SITE_VALUE, "tile", 30);
	builder_hook(b, 1, "cuCtxSynchronize");
	builder_hook(b, 2, "cuGraphLaunch");
	builder_hook(b, 3, "cuMemcpyDtoH_v2");
	for (uint32_t g = 0; g < 4; g++) {
		const struct warp_place launch = { .grid = { 2 }, .threads = { 64 } };
		if (g == 1) /* a graph's second replay has the id of the first */
			builder_call(b, &(struct warpspan_host_call){ .kind = WARPSPAN_HOST_GRAPH_LAUNCH,
								      .api = 2,
								      .amount = 0xabc,
								      .begin_ns = 15000,
								      .end_ns = 18000 });
		builder_next_launch(b, 10000 * (g + 1), g % 3, 42 + g % 2);
		builder_launch(b, 1 + g % 2, &launch);
		for (uint32_t w = 0; w < 4; w++) {
			const struct warp_place place = { .grid_id = 3 + g,
							  .grid = { 2 },
							  .threads = { 64 },
							  .block = { w / 2 },
							  .warp = w % 2,
							  .sm = w,
							  .room = g == 3 ? 4 : 16 };
			const double start = 1000 * g + 10 * w;
			struct warp warp = warp_open(b, &place, start);
			warp_begin(&warp, SITE(1), start + 100);
			warp_begin(&warp, SITE(2), start + 200);
			warp_value(&warp, SITE(4), w, start + 250);
			warp_end(&warp, SITE(3), start + 300);
			warp_end(&warp, SITE(1), start + 400);
			if (g != 2 || w != 3)
				warp_close(&warp, start + 500);
			builder_segment(b, &warp);
		}
	}
	for (uint32_t i = 0; i < 3; i++)
		builder_call(b, &(struct warpspan_host_call){ .kind = i == 2 ? WARPSPAN_HOST_COPY
									     : WARPSPAN_HOST_SYNCHRONIZE,
							      .api = 1 + 2 * (i / 2),
							      .begin_ns = 60000 + 10000 * i,
							      .end_ns = i == 1 ? 0 : 65000 + 10000 * i,
							      .thread = 42 + i % 2 });
	const struct warpspan_loss losses[] = {
		{ .key = 1ull << 32 | SITE(0), .warps = 2, .records = 10, .most_records = 6, .most_words = 7 },
		{ .key = WARPSPAN_LOSS_REST_KEY, .warps = 1, .records = 1, .most_records = 1, .most_words = 1 },
	};
	builder_losses(b, 1, losses, 2);
	builder_meta(b, "{\"counters\":{\"launches_recorded\":4,\"capturing\":1}}");
	builder_finish(b);
	uint8_t *bytes = builder_bytes(b, ret_n);
	builder_destroy(b);
	return bytes;
}

/* Launches before a session, in it and after its stop, on two streams; the last early grids were in flight, and the
 * first late ones got in. Marks, too. */
static uint8_t *session_capture(size_t *ret_n)
{
	struct builder *b = builder_create_bare();
	builder_meta(b, "{\"session\":{\"version\":\"0.1.0\",\"number\":2,\"pid\":42,\"host\":\"box\",\"rank\":null,"
			"\"command\":[\"./app\"],\"started_by\":\"signal USR2\",\"started_in_thread\":7,"
			"\"start_realtime_ns\":\"1700000000000000000\",\"start_monotonic_ns\":\"50000\","
			"\"arena_bytes\":\"33554432\",\"words_asked\":0,\"words_least\":16,\"words_enough\":64,"
			"\"words_most\":1024}}");
	builder_meta(b, "{\"device\":{\"ordinal\":0,\"name\":\"Test GPU\",\"uuid\":\"GPU-0\",\"compute\":\"9.0\","
			"\"sms\":8,\"clock_khz\":2000000}}");
	builder_meta(b, "{\"context\":{\"number\":1,\"device\":0}}");
	builder_kernel(b, 1, "_Z1kv", "k()");
	builder_kernel(b, 2, "_Z1uv", "u()");
	builder_site(b, SITE(0), WARPSPAN_SITE_OPEN, "ws", 5);
	builder_site(b, SITE(1), WARPSPAN_SITE_OPEN, "ws", 15);
	for (uint32_t i = 0; i < 12; i++) {
		builder_next_launch(b, 10000 * (i + 1), i % 2, 42);
		builder_launch(b, 1 + i / 2 % 2, &(struct warp_place){ .grid = { i < 8 ? 2 : 3 } });
	}
	for (uint32_t i = 3; i < 10; i++) {
		const struct warp_place place = { .grid_id = 100 + i,
						  .grid = { i < 8 ? 2 : 3 },
						  .site = SITE(i / 2 % 2) };
		struct warp warp = warp_open(b, &place, 1000 * i);
		warp_close(&warp, 1000 * i + 500);
		builder_segment(b, &warp);
	}
	builder_meta(b, "{\"mark\":{\"monotonic_ns\":\"60000\",\"thread\":42,\"text\":\"one\"}}");
	builder_meta(b, "{\"mark\":{\"monotonic_ns\":\"70000\",\"thread\":50,\"text\":\"two\"}}");
	builder_meta(b, "{\"stop\":{\"monotonic_ns\":\"90000\",\"stopped_by\":\"warpspan_stop()\","
			"\"stopped_in_thread\":7,\"quiet\":true}}");
	builder_finish(b);
	uint8_t *bytes = builder_bytes(b, ret_n);
	builder_destroy(b);
	return bytes;
}

static uint64_t random_state = 20240229;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % below);
}

/* One small change; returns the new length (never longer than `room`). */
static size_t mutate(uint8_t *bytes, size_t n, size_t room)
{
	static const uint32_t numbers[] = { 0, 1, 2, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff };
	const size_t at = draw((uint32_t)n), from = draw((uint32_t)n);
	size_t length = 1 + draw(64);
	switch (draw(7)) {
	case 0:
		bytes[at] ^= (uint8_t)(1u << draw(8));
		return n;
	case 1:
		bytes[at] = (uint8_t)draw(256);
		return n;
	case 2: { /* a number that matters, aligned as fields are */
		const uint32_t number = numbers[draw(sizeof(numbers) / sizeof(numbers[0]))];
		const size_t field = at & ~(size_t)3;
		if (field + 4 <= n)
			memcpy(bytes + field, &number, 4);
		return n;
	}
	case 3: /* some of it again, elsewhere */
		if (length > n - at || length > n - from)
			length = 1;
		memmove(bytes + at, bytes + from, length);
		return n;
	case 4: /* bytes missing */
		if (length > n - at)
			length = n - at;
		if (n - length < 64)
			return n;
		memmove(bytes + at, bytes + at + length, n - at - length);
		return n - length;
	case 5: /* bytes too many */
		if (length > room - n)
			return n;
		memmove(bytes + at + length, bytes + at, n - at);
		return n + length;
	default: { /* a field one off */
		uint32_t number;
		const size_t field = at & ~(size_t)3;
		if (field + 4 <= n) {
			memcpy(&number, bytes + field, 4);
			number += draw(2) ? 1 : UINT32_MAX;
			memcpy(bytes + field, &number, 4);
		}
		return n;
	}
	}
}

static void damage(uint8_t *(*make)(size_t *ret_n))
{
	size_t n_made;
	uint8_t *made = make(&n_made);
	const size_t room = n_made + 1024;
	uint8_t *bytes = malloc(room);
	assert_non_null(bytes);
	const time_t until = time(NULL) + 5; /* for slow machines and sanitizers */
	unsigned round = 0;
	for (; round < 2000 && time(NULL) < until; round++) {
		size_t n = n_made;
		memcpy(bytes, made, n);
		for (uint32_t i = 1 + draw(1 + round % 12); i > 0; i--)
			n = mutate(bytes, n, room);
		LLVMFuzzerTestOneInput(bytes, n);
	}
	print_message("  %u captures of about %zu bytes\n", round, n_made);
	assert_true(round > 100);
	free(bytes);
	free(made);
}

static void mutated_captures_break_nothing(void **state)
{
	damage(rich_capture);
}

static void mutated_sessions_break_nothing(void **state)
{
	damage(session_capture);
}

static int write_seed(const char *path, uint8_t *(*make)(size_t *ret_n))
{
	size_t n;
	uint8_t *made = make(&n);
	FILE *file = fopen(path, "wb");
	const int failed = file == NULL || fwrite(made, 1, n, file) != n || fclose(file) != 0;
	free(made);
	return failed;
}

int main(int argc, char **argv)
{
	if (argc == 3) /* writes the seeds of the corpus */
		return write_seed(argv[1], rich_capture) || write_seed(argv[2], session_capture);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutated_captures_break_nothing),
		cmocka_unit_test(mutated_sessions_break_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_sessions.c - whose a launch is: made in the session, before it, or after its stop.
 *
 * Launches that begin before START_NS are early, those from STOP_NS on are late; "e:3 o:2 l:1" in a test's name is how
 * many of each are in the log.
 */
#include "support.h"

#include "capture_builder.h"
#include "model_check.h"

#include <stdlib.h>
#include <string.h>

enum { OPEN_K, OPEN_U };
enum { K = 1, U };

#define START_NS 1000000ull
#define STOP_NS  2000000ull

struct capture {
	struct builder *b;
	uint64_t next_ns[3]; /* by phase: when the next launch of it begins */
	double next_start;   /* of the next grid */
};

static void session(struct builder *b)
{
	builder_meta(b,
		     "{\"session\":{\"version\":\"0.1.0\",\"number\":2,\"pid\":42,\"host\":\"box\",\"rank\":null,"
		     "\"command\":[\"./app\"],\"started_by\":\"signal RTMIN+7\",\"started_in_thread\":4711,"
		     "\"start_realtime_ns\":\"1700000000000000000\",\"start_monotonic_ns\":\"%llu\",\"driver\":13000,"
		     "\"arena_bytes\":\"33554432\",\"words_asked\":0,\"words_least\":16,\"words_enough\":64,"
		     "\"words_most\":1024,\"settings\":{}}}",
		     START_NS);
	builder_meta(b, "{\"device\":{\"ordinal\":0,\"name\":\"Test GPU\",\"uuid\":\"GPU-0\",\"compute\":\"9.0\","
			"\"sms\":8,\"clock_khz\":2000000}}");
	builder_meta(b, "{\"context\":{\"number\":1,\"device\":0}}");
}

static struct capture begin(void)
{
	struct capture c = { .b = builder_create_bare(), .next_ns = { START_NS, 1000, STOP_NS }, .next_start = 1000 };
	session(c.b);
	builder_kernel(c.b, K, "k", "k");
	builder_kernel(c.b, U, "u", "u");
	builder_site(c.b, SITE(OPEN_K), WARPSPAN_SITE_OPEN, "ws", 10);
	builder_site(c.b, SITE(OPEN_U), WARPSPAN_SITE_OPEN, "ws", 20);
	return c;
}

/* n launches of two blocks. */
static void launch(struct capture *c, enum warpspan_phase phase, int n, uint32_t kernel, uint64_t stream)
{
	for (int i = 0; i < n; i++) {
		builder_next_launch(c->b, c->next_ns[phase], stream, 0);
		builder_launch(c->b, kernel, &(struct warp_place){ .grid = { 2 } });
		c->next_ns[phase] += 5000;
	}
}

/* A grid of the two blocks, one of them missing where `part`. */
static void grid(struct capture *c, uint64_t id, uint32_t site, bool part)
{
	for (uint32_t i = part; i < 2; i++) {
		struct warp warp = warp_open(
			c->b, &(struct warp_place){ .grid_id = id, .grid = { 2 }, .block = { i }, .site = SITE(site) },
			c->next_start + i);
		warp_close(&warp, c->next_start + 900);
		builder_segment(c->b, &warp);
	}
	c->next_start += 2000;
}

static void stop(struct capture *c, bool quiet)
{
	builder_meta(c->b,
		     "{\"stop\":{\"monotonic_ns\":\"%llu\",\"stopped_by\":\"warpspan_stop()\",\"stopped_in_thread\":42,"
		     "\"quiet\":%s}}",
		     STOP_NS, quiet ? "true" : "false");
}

/* Loads a closed capture. */
static struct warpspan_model *end(struct capture *c, int result)
{
	builder_finish(c->b);
	struct warpspan_model *model = builder_load(c->b, result);
	const char *fault = model_fault(model);
	if (fault != NULL)
		fail_msg("%s", fault);
	builder_destroy(c->b);
	return model;
}

static uint64_t number_of(const struct warpspan_model *model, uint32_t grid)
{
	const uint32_t host = model->grids[grid].host;
	return host == WARPSPAN_NONE ? 0 : model->launches[host].number;
}

/* The launches of the grids, in order: "4 5 6", "?" for one that is not known, "(3)" for an early one. */
static void expect_launches(const struct warpspan_model *model, const char *wanted)
{
	char text[256] = "";
	for (uint32_t i = 0; i < model->n_grids; i++) {
		char number[32] = "?";
		if (number_of(model, i) != 0)
			snprintf(number, sizeof(number), "%u", (unsigned)number_of(model, i));
		const bool early = model->grids[i].phase == WARPSPAN_EARLY;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s%s", i > 0 ? " " : "",
			 early ? "(" : "", number, early ? ")" : "");
	}
	assert_string_equal(text, wanted);
}

static void after_a_wait_only_the_sessions_launches_have_grids(void **state)
{
	struct capture c = begin(); /* e:5 o:3 */
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 105 + i, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "6 7 8");
	assert_int_equal(model->n_launches, 3); /* the early ones left nothing */
	assert_int_equal(model->n_host_slices, 3);
	assert_int_equal(model->n_late_launches, 0);
	assert_string_equal(model->started_by, "signal RTMIN+7");
	assert_int_equal(model->started_in_thread, 4711);
	assert_string_equal(model->stopped_by, "warpspan_stop()");
	assert_int_equal(model->stop_monotonic_ns, STOP_NS);
	assert_true(model->quiet);
	warpspan_model_destroy(model);
}

static void without_quiet_the_same_is_not_certain(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 105 + i, OPEN_K, false);
	stop(&c, false);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "? ? ?");
	assert_int_equal(model->grids[0].join, WARPSPAN_JOIN_AMBIGUOUS);
	warpspan_model_destroy(model);
}

static void lost_warps_leave_it_uncertain(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 105 + i, OPEN_K, false);
	builder_losses(c.b, 1, &(struct warpspan_loss){ .key = 1ull << 32 | SITE(OPEN_K), .warps = 2 }, 1);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "? ? ?");
	warpspan_model_destroy(model);
}

static void early_grids_in_flight_are_the_last_early_launches(void **state)
{
	struct capture c = begin(); /* e:5 o:3, 2 in flight, of the first of them a part is recorded */
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (uint64_t i = 0; i < 5; i++)
		grid(&c, 103 + i, OPEN_K, i == 0);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "(4) (5) 6 7 8");
	assert_int_equal(model->n_launches, 5);
	warpspan_model_destroy(model);
}

static void late_grids_are_left_out_and_counted(void **state)
{
	struct capture c = begin(); /* o:3 l:4, 2 of the late ones recorded, the second in part */
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	launch(&c, WARPSPAN_LATE, 4, K, 0);
	for (uint64_t i = 0; i < 5; i++)
		grid(&c, 100 + i, OPEN_K, i == 4);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "1 2 3");
	assert_int_equal(model->n_launches, 3);
	assert_int_equal(model->n_late_launches, 4);
	assert_int_equal(model->n_late_warps, 3);
	assert_int_equal(model->n_segments, 6);
	assert_int_equal(model->n_host_slices, 3);
	warpspan_model_destroy(model);
}

static void late_calls_are_left_out(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_OWN, 1, K, 0);
	grid(&c, 100, OPEN_K, false);
	builder_call(c.b, &(struct warpspan_host_call){
				  .kind = WARPSPAN_HOST_COPY, .begin_ns = START_NS + 9000, .end_ns = START_NS + 9100 });
	builder_call(c.b, &(struct warpspan_host_call){
				  .kind = WARPSPAN_HOST_COPY, .begin_ns = STOP_NS, .end_ns = STOP_NS + 100 });
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	assert_int_equal(model->n_calls, 1);
	assert_int_equal(model->calls[0].begin_ns, START_NS + 9000);
	assert_int_equal(model->n_late_launches, 0);
	warpspan_model_destroy(model);
}

static void early_or_late_is_not_guessed(void **state)
{
	struct capture c = begin(); /* e:2 o:2 l:2 and three grids: one of the early or of the late ones */
	launch(&c, WARPSPAN_EARLY, 2, K, 0);
	launch(&c, WARPSPAN_OWN, 2, K, 0);
	launch(&c, WARPSPAN_LATE, 2, K, 0);
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 100 + i, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "? ? ?");
	assert_int_equal(model->n_late_launches, 2);
	warpspan_model_destroy(model);
}

static void all_of_them_have_grids(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 2, K, 0);
	launch(&c, WARPSPAN_OWN, 2, K, 0);
	launch(&c, WARPSPAN_LATE, 1, K, 0);
	for (uint64_t i = 0; i < 5; i++)
		grid(&c, 100 + i, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "(1) (2) 3 4");
	assert_int_equal(model->n_late_warps, 2);
	warpspan_model_destroy(model);
}

static void ids_of_others_in_between_do_not_matter(void **state)
{
	struct capture c = begin(); /* ids do not count the log: by shape */
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	grid(&c, 110, OPEN_K, false); /* early */
	grid(&c, 117, OPEN_K, false);
	grid(&c, 123, OPEN_K, false);
	grid(&c, 124, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "(5) 6 7 8");
	warpspan_model_destroy(model);
}

static void two_streams_with_early_grids_are_not_certain_without_ids(void **state)
{
	struct capture c = begin();
	for (int i = 0; i < 2; i++) {
		launch(&c, WARPSPAN_EARLY, 1, K, 7);
		launch(&c, WARPSPAN_EARLY, 1, K, 8);
	}
	launch(&c, WARPSPAN_OWN, 2, K, 7);
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 100 + 10 * i, OPEN_K, false); /* the first is of stream 7 or of stream 8 */
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "? ? ?");
	warpspan_model_destroy(model);
}

static void two_kernels_of_one_shape_have_their_own_sites(void **state)
{
	struct capture c = begin();
	for (int i = 0; i < 3; i++) {
		launch(&c, WARPSPAN_EARLY, 1, K, 0);
		launch(&c, WARPSPAN_EARLY, 1, U, 0);
	}
	for (int i = 0; i < 2; i++) {
		launch(&c, WARPSPAN_OWN, 1, K, 0);
		launch(&c, WARPSPAN_OWN, 1, U, 0);
	}
	for (uint64_t i = 0; i < 4; i++)
		grid(&c, 100 + 10 * i, i % 2 ? OPEN_U : OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "7 8 9 10");
	assert_string_equal(model->kernels[model->grids[1].kernel].name, "u");
	warpspan_model_destroy(model);
}

static void a_kernel_that_opens_no_recorder_takes_no_grid_of_another(void **state)
{
	/* k's grid of before the session still runs; u records nothing. Were every launch of the session to have a
	 * grid, u would have to have that of k. */
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 1, K, 0);
	launch(&c, WARPSPAN_OWN, 1, K, 0);
	launch(&c, WARPSPAN_OWN, 1, U, 0);
	grid(&c, 100, OPEN_K, false);
	grid(&c, 101, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	for (uint32_t i = 0; i < model->n_grids; i++)
		assert_true(number_of(model, i) != 3);
	assert_true(number_of(model, 0) == 0 || number_of(model, 0) == 1);
	warpspan_model_destroy(model);
}

static void constant_ids_after_a_wait(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (int i = 0; i < 3; i++)
		grid(&c, 1, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "6 7 8");
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(model->grids[i].match, WARPSPAN_MATCH_REPEAT);
		assert_int_equal(model->grids[i].join, WARPSPAN_JOIN_ORDER);
	}
	warpspan_model_destroy(model);
}

static void constant_ids_with_early_grids_in_flight(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_EARLY, 5, K, 0);
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	for (int i = 0; i < 5; i++)
		grid(&c, 1, OPEN_K, i == 0);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "(4) (5) 6 7 8");
	warpspan_model_destroy(model);
}

static void constant_ids_with_late_grids(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_OWN, 3, K, 0);
	launch(&c, WARPSPAN_LATE, 3, K, 0);
	for (int i = 0; i < 4; i++)
		grid(&c, 1, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "1 2 3");
	assert_int_equal(model->n_late_launches, 3);
	assert_int_equal(model->n_late_warps, 2);
	warpspan_model_destroy(model);
}

static void grids_of_late_launches_only_are_late_whichever_they_are(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_LATE, 2, K, 7);
	launch(&c, WARPSPAN_LATE, 2, K, 8);
	grid(&c, 100, OPEN_K, false);
	grid(&c, 110, OPEN_K, false);
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	assert_int_equal(model->n_grids, 0);
	assert_int_equal(model->n_late_warps, 4);
	warpspan_model_destroy(model);
}

static void a_program_that_died_has_the_first_of_its_own(void **state)
{
	struct capture c = begin(); /* no stop, no end; nothing early */
	launch(&c, WARPSPAN_OWN, 4, K, 0);
	grid(&c, 100, OPEN_K, false);
	grid(&c, 110, OPEN_K, false);
	struct warpspan_model *model = builder_load(c.b, WARPSPAN_OK);
	expect_launches(model, "1 2");
	assert_int_equal(model->stop_monotonic_ns, 0);
	assert_false(model->quiet);
	builder_destroy(c.b);
	warpspan_model_destroy(model);
}

static void replays_of_a_known_graph_after_early_launches(void **state)
{
	struct capture c = begin();
	builder_meta(c.b,
		     "{\"graph\":{\"exec\":\"77\",\"since_ns\":\"1\",\"certain\":1,\"kernels\":[[1,1,2,1,1,32,1,1,1]]"
		     "}}");
	launch(&c, WARPSPAN_EARLY, 3, K, 0);
	for (uint64_t i = 0; i < 2; i++)
		builder_call(c.b, &(struct warpspan_host_call){ .kind = WARPSPAN_HOST_GRAPH_LAUNCH,
								.amount = 77,
								.begin_ns = START_NS + 1000 * i,
								.end_ns = START_NS + 1000 * i + 500 });
	for (uint64_t i = 0; i < 3; i++)
		grid(&c, 100 + 10 * i, OPEN_K, false); /* one of the early ones, two of the graph */
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	expect_launches(model, "(3) ? ?");
	assert_int_equal(model->grids[1].call, 0);
	assert_int_equal(model->grids[2].call, 1);
	warpspan_model_destroy(model);
}

static void marks_stand_by_thread_and_time(void **state)
{
	struct capture c = begin();
	launch(&c, WARPSPAN_OWN, 1, K, 0); /* in thread 42 */
	grid(&c, 100, OPEN_K, false);
	builder_meta(c.b, "{\"mark\":{\"monotonic_ns\":\"1500000\",\"thread\":50,\"text\":\"second\"}}");
	builder_meta(c.b, "{\"mark\":{\"monotonic_ns\":\"1400000\",\"thread\":50,\"text\":\"first\"}}");
	builder_meta(c.b, "{\"mark\":{\"monotonic_ns\":\"1600000\",\"thread\":42,\"text\":\"\"}}");
	builder_meta(c.b, "{\"mark\":{\"monotonic_ns\":\"1300000\",\"thread\":7,\"text\":\"step \\\"1\\\"\"}}");
	stop(&c, true);
	struct warpspan_model *model = end(&c, WARPSPAN_OK);
	assert_int_equal(model->n_host_marks, 4);
	assert_int_equal(model->n_host_threads, 3);
	assert_int_equal(model->host_threads[0].id, 7);
	assert_int_equal(model->host_threads[0].n_slices, 0);
	assert_string_equal(model->host_marks[0].text, "step \"1\"");
	assert_int_equal(model->host_threads[1].id, 42);
	assert_int_equal(model->host_threads[1].n_slices, 1);
	assert_string_equal(model->host_marks[1].text, "");
	assert_string_equal(model->host_marks[2].text, "first");
	assert_string_equal(model->host_marks[3].text, "second");
	warpspan_model_destroy(model);
}

static void hostile_numbers_are_damage(void **state)
{
	static const char *const stops[] = {
		"{\"stop\":{\"monotonic_ns\":\"5\",\"stopped_by\":\"x\",\"stopped_in_thread\":1}}", /* before the start
												     */
		"{\"stop\":{\"monotonic_ns\":-1,\"stopped_by\":7,\"stopped_in_thread\":\"x\",\"quiet\":2}}",
		"{\"stop\":{\"monotonic_ns\":\"18446744073709551616\",\"stopped_by\":null}}",
		"{\"stop\":{}}",
	};
	for (size_t i = 0; i < sizeof(stops) / sizeof(stops[0]); i++) {
		struct capture c = begin();
		launch(&c, WARPSPAN_OWN, 2, K, 0);
		grid(&c, 100, OPEN_K, false);
		grid(&c, 101, OPEN_K, false);
		builder_meta(c.b, "%s", stops[i]);
		builder_meta(c.b, "{\"mark\":{\"monotonic_ns\":{},\"thread\":-1}}");
		struct warpspan_model *model = end(&c, WARPSPAN_DAMAGED);
		expect_launches(model, "1 2"); /* such a stop is not believed */
		assert_int_equal(model->stop_monotonic_ns, 0);
		assert_int_equal(model->n_late_launches, 0);
		assert_string_equal(model->host_marks[0].text, "");
		warpspan_model_destroy(model);
	}
}

static void a_second_stop_does_not_hold(void **state)
{
	struct capture c = begin();
	stop(&c, true);
	builder_meta(c.b, "{\"stop\":{\"monotonic_ns\":\"1500000\",\"stopped_by\":\"x\",\"stopped_in_thread\":1}}");
	struct warpspan_model *model = end(&c, WARPSPAN_DAMAGED);
	assert_int_equal(model->stop_monotonic_ns, STOP_NS);
	warpspan_model_destroy(model);
}

static void captures_of_old_versions_have_neither(void **state)
{
	struct builder *b = builder_create();
	builder_kernel(b, K, "k", "k");
	builder_next_launch(b, 4000, 0, 0); /* before start_monotonic_ns */
	builder_launch(b, K, &(struct warp_place){ .grid = { 2 } });
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_OK);
	assert_null(model_fault(model));
	assert_int_equal(model->n_launches, 1);
	assert_string_equal(model->started_by, "");
	assert_string_equal(model->stopped_by, "");
	builder_destroy(b);
	warpspan_model_destroy(model);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(after_a_wait_only_the_sessions_launches_have_grids),
		T(without_quiet_the_same_is_not_certain),
		T(lost_warps_leave_it_uncertain),
		T(early_grids_in_flight_are_the_last_early_launches),
		T(late_grids_are_left_out_and_counted),
		T(late_calls_are_left_out),
		T(early_or_late_is_not_guessed),
		T(all_of_them_have_grids),
		T(ids_of_others_in_between_do_not_matter),
		T(two_streams_with_early_grids_are_not_certain_without_ids),
		T(two_kernels_of_one_shape_have_their_own_sites),
		T(a_kernel_that_opens_no_recorder_takes_no_grid_of_another),
		T(constant_ids_after_a_wait),
		T(constant_ids_with_early_grids_in_flight),
		T(constant_ids_with_late_grids),
		T(grids_of_late_launches_only_are_late_whichever_they_are),
		T(a_program_that_died_has_the_first_of_its_own),
		T(replays_of_a_known_graph_after_early_launches),
		T(marks_stand_by_thread_and_time),
		T(hostile_numbers_are_damage),
		T(a_second_stop_does_not_hold),
		T(captures_of_old_versions_have_neither),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

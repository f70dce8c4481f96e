/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host_clock.c - host and device on one axis: the true offset is known here and must lie within the stated error.
 */
#include "support.h"

#include "capture_builder.h"
#include "host_clock.h"
#include "model_check.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT_SYNC = 1, STREAM_SYNC, STREAM_SYNC_PER_THREAD, EVENT_SYNC, COPY_TO_HOST, COPY_TO_DEVICE };

#define MS 1000000ull
#define S  1000000000ull

/* Programs here run from HOST_START on the host's clock. On the device the same moment is BUILDER_BASE_NS, and its
 * clock runs faster by `drift`. */
#define HOST_START (100 * S)

struct program {
	struct builder *builder;
	double drift;
	uint64_t next_id;
};

static struct program start(double drift)
{
	struct program p = { .builder = builder_create(), .drift = drift, .next_id = 10 };
	builder_kernel(p.builder, 1, "k", "k");
	builder_site(p.builder, SITE(0), WARPSPAN_SITE_OPEN, "ws", 10);
	builder_hook(p.builder, CONTEXT_SYNC, "cuCtxSynchronize");
	builder_hook(p.builder, STREAM_SYNC, "cuStreamSynchronize");
	builder_hook(p.builder, STREAM_SYNC_PER_THREAD, "cuStreamSynchronize_ptsz");
	builder_hook(p.builder, EVENT_SYNC, "cuEventSynchronize");
	builder_hook(p.builder, COPY_TO_HOST, "cuMemcpyDtoH_v2");
	builder_hook(p.builder, COPY_TO_DEVICE, "cuMemcpyHtoD_v2");
	return p;
}

/* Times of the host since HOST_START, as the device's time since BUILDER_BASE_NS. */
static double on_device(const struct program *p, uint64_t at_ns)
{
	return (double)at_ns * (1 + p->drift);
}

/* A launch at `at`, whose grid starts `late` later and takes `took`. */
static void run(struct program *p, uint64_t at, uint64_t late, uint64_t took, uint64_t stream, uint32_t thread)
{
	builder_next_launch(p->builder, HOST_START + at, stream, thread);
	builder_launch(p->builder, 1, &(struct warp_place){ 0 });
	struct warp warp =
		warp_open(p->builder, &(struct warp_place){ .grid_id = p->next_id++ }, on_device(p, at + late));
	warp_close(&warp, on_device(p, at + late + took));
	builder_segment(p->builder, &warp);
}

static void wait_for(struct program *p, uint32_t api, uint64_t begin, uint64_t end, uint64_t stream, uint32_t thread)
{
	builder_call(p->builder, &(struct warpspan_host_call){ .kind = api >= COPY_TO_HOST ? WARPSPAN_HOST_COPY
											   : WARPSPAN_HOST_SYNCHRONIZE,
							       .api = api,
							       .begin_ns = HOST_START + begin,
							       .end_ns = HOST_START + end,
							       .stream = stream,
							       .thread = thread });
}

static struct warpspan_model *end(struct program *p)
{
	builder_finish(p->builder);
	struct warpspan_model *model = builder_load(p->builder, WARPSPAN_OK);
	const char *fault = model_fault(model);
	if (fault != NULL)
		fail_msg("%s", fault);
	builder_destroy(p->builder);
	return model;
}

/* How far a moment of the host is put from where it truly is on the device. */
static double miss(const struct program *p, const struct warpspan_model *model, uint64_t at_ns)
{
	const struct warpspan_host_clock *clock = &model->host_clocks[0];
	const uint64_t found =
		host_clock_to_device(model->knots + clock->first_knot, clock->n_knots, HOST_START + at_ns);
	const double missed = (double)(int64_t)(found - BUILDER_BASE_NS) - on_device(p, at_ns);
	return missed < 0 ? -missed : missed;
}

static void a_launch_and_its_synchronisation_bound_the_offset(void **state)
{
	struct program p = start(0);
	run(&p, 1 * MS, 5000, 20000, 0, 0);
	wait_for(&p, CONTEXT_SYNC, 1 * MS + 4000, 1 * MS + 5000 + 20000 + 7000, 0, 0);
	struct warpspan_model *model = end(&p);
	const struct warpspan_host_clock *clock = &model->host_clocks[0];
	assert_int_equal(model->n_host_clocks, 1);
	assert_true(clock->agrees && clock->bounded);
	assert_int_equal(clock->n_upper, 1);
	assert_int_equal(clock->n_lower, 1);
	/* between 5 us too late and 7 us too early: the middle is off by 1 us, half the width is 6 */
	assert_in_range(clock->error_ns, 6000, 6000 + 2100);
	assert_in_range(miss(&p, model, 1 * MS), 0, 1100);
	assert_true(clock->drift == 0 && clock->n_knots == 1);
	warpspan_model_destroy(model);
}

static void only_what_certainly_ended_counts(void **state)
{
	struct program p = start(0);
	/* the kernel on stream 64 ends long after all of these; none of them covers it */
	run(&p, 1 * MS, 5000, 900 * MS, 64, 0);
	wait_for(&p, STREAM_SYNC, 2 * MS, 3 * MS, 80, 0); /* another stream */
	wait_for(&p, STREAM_SYNC, 3 * MS, 4 * MS, 0, 0);  /* the default stream */
	wait_for(&p, STREAM_SYNC_PER_THREAD, 4 * MS, 5 * MS, 0, 0);
	wait_for(&p, EVENT_SYNC, 5 * MS, 6 * MS, 0, 0);
	wait_for(&p, COPY_TO_HOST, 6 * MS, 7 * MS, 0, 0);
	wait_for(&p, COPY_TO_DEVICE, 7 * MS, 8 * MS, 0, 0);
	/* began before the launch had returned */
	wait_for(&p, CONTEXT_SYNC, 1 * MS + 1000, 2 * MS, 0, 43);
	struct warpspan_model *model = end(&p);
	const struct warpspan_host_clock *clock = &model->host_clocks[0];
	assert_true(clock->agrees);
	assert_false(clock->bounded);
	assert_int_equal(clock->n_lower, 0);
	assert_in_range(miss(&p, model, 1 * MS), 5000, 7100); /* as close to the grid as can be */
	warpspan_model_destroy(model);
}

static void streams_and_blocking_copies_bound_it_too(void **state)
{
	struct program p = start(0);
	run(&p, 1 * MS, 5000, 10000, 64, 0);
	run(&p, 2 * MS, 5000, 10000, 0, 0);
	run(&p, 3 * MS, 5000, 10000, 2, 9); /* the per-thread stream of thread 9 */
	wait_for(&p, STREAM_SYNC, 4 * MS, 5 * MS, 64, 0);
	wait_for(&p, COPY_TO_HOST, 5 * MS, 6 * MS, 0, 0);
	wait_for(&p, STREAM_SYNC_PER_THREAD, 6 * MS, 7 * MS, 0, 9);
	wait_for(&p, STREAM_SYNC_PER_THREAD, 7 * MS, 8 * MS, 0, 10); /* not that thread's */
	struct warpspan_model *model = end(&p);
	assert_int_equal(model->host_clocks[0].n_lower, 3);
	assert_true(model->host_clocks[0].bounded);
	warpspan_model_destroy(model);
}

static void clocks_that_drift_for_hours_are_followed(void **state)
{
	static const double parts[] = { 3e-5, -8e-5, 1e-6 };
	for (size_t k = 0; k < 3; k++) {
		struct program p = start(parts[k]);
		for (uint64_t minute = 0; minute < 180; minute++) {
			const uint64_t at = minute * 60 * S + 1 * MS;
			run(&p, at, 4000, 50000, 0, 0);
			wait_for(&p, CONTEXT_SYNC, at + 4000, at + 4000 + 50000 + 6000, 0, 0);
		}
		struct warpspan_model *model = end(&p);
		const struct warpspan_host_clock *clock = &model->host_clocks[0];
		assert_true(clock->agrees && clock->bounded);
		assert_true(clock->drift > 0 && clock->n_knots > 1);
		/* a device whose clock is known to some microseconds after hours of two warps a minute is no better */
		for (uint64_t minute = 0; minute < 180; minute++) {
			const double missed = miss(&p, model, minute * 60 * S + 1 * MS);
			if (missed > clock->error_ns)
				fail_msg("minute %u: %.0f ns off, %.0f stated", (unsigned)minute, missed,
					 clock->error_ns);
		}
		assert_true(clock->error_ns < 100000);
		warpspan_model_destroy(model);
	}
}

static void a_simulated_device_is_not_taken_for_one_with_the_hosts_time(void **state)
{
	struct program p = start(0);
	/* what takes a second here takes a millisecond there */
	for (uint64_t i = 0; i < 4; i++) {
		builder_next_launch(p.builder, HOST_START + i * S, 0, 0);
		builder_launch(p.builder, 1, &(struct warp_place){ 0 });
		struct warp warp =
			warp_open(p.builder, &(struct warp_place){ .grid_id = p.next_id++ }, (double)(i * MS));
		warp_close(&warp, (double)(i * MS + 1000));
		builder_segment(p.builder, &warp);
		wait_for(&p, CONTEXT_SYNC, i * S + 5000, i * S + S / 2, 0, 0);
	}
	struct warpspan_model *model = end(&p);
	const struct warpspan_host_clock *clock = &model->host_clocks[0];
	assert_false(clock->agrees);
	assert_false(clock->bounded);
	/* the first launch stands at its grid */
	const uint64_t placed = host_clock_to_device(model->knots + clock->first_knot, clock->n_knots, HOST_START);
	assert_in_range(placed, model->grids[0].start_ns, model->grids[0].start_ns + 3000);
	warpspan_model_destroy(model);
}

static void there_and_back_is_the_same_and_never_runs_backwards(void **state)
{
	static const struct warpspan_clock_knot knots[] = { { 1000, 1ll << 60 },
							    { 2000000, (1ll << 60) - 999 },
							    { 9000000, (1ll << 60) + 3000 },
							    { 9000001, (1ll << 60) + 3000 } };
	uint64_t before = 0;
	for (uint64_t host_ns = 0; host_ns < 10000000; host_ns += 1 + host_ns % 997) {
		const uint64_t device_ns = host_clock_to_device(knots, 4, host_ns);
		const uint64_t back = host_clock_to_host(knots, 4, device_ns);
		assert_true(device_ns >= before);
		assert_in_range(back, host_ns < 2 ? 0 : host_ns - 2, host_ns + 2);
		before = device_ns;
	}
	assert_int_equal(host_clock_to_device(knots, 4, UINT64_MAX), UINT64_MAX);
	assert_int_equal(host_clock_to_host(knots, 4, 0), 0);
}

static void two_devices_have_offsets_of_their_own(void **state)
{
	struct program p = start(0);
	builder_meta(p.builder,
		     "{\"device\":{\"ordinal\":1,\"name\":\"Other GPU\",\"uuid\":\"GPU-1\",\"compute\":\"9.0\","
		     "\"sms\":8,\"clock_khz\":2000000}}");
	builder_meta(p.builder, "{\"context\":{\"number\":2,\"device\":1}}");
	for (uint32_t i = 0; i < 2; i++) {
		const uint64_t at = (1 + i) * MS;
		const uint64_t ahead = i * 30 * S; /* by so much the second device's clock is ahead */
		const struct warp_place place = { .grid_id = 1, .context = 1 + i };
		builder_next_launch(p.builder, HOST_START + at, 0, 0);
		builder_launch(p.builder, 1, &place);
		struct warp warp = warp_open(p.builder, &place, (double)(at + 5000 + ahead));
		warp_close(&warp, (double)(at + 9000 + ahead));
		builder_segment(p.builder, &warp);
		builder_call(p.builder, &(struct warpspan_host_call){ .kind = WARPSPAN_HOST_SYNCHRONIZE,
								      .api = CONTEXT_SYNC,
								      .context = 1 + i,
								      .begin_ns = HOST_START + at + 4000,
								      .end_ns = HOST_START + at + 15000 });
	}
	struct warpspan_model *model = end(&p);
	assert_int_equal(model->n_host_clocks, 2);
	assert_true(model->host_clocks[0].bounded && model->host_clocks[1].bounded);
	const int64_t apart = model->host_clocks[1].offset_ns - model->host_clocks[0].offset_ns;
	assert_in_range(apart, 30 * S - 10000, 30 * S + 10000);
	warpspan_model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_and_its_synchronisation_bound_the_offset),
		cmocka_unit_test(only_what_certainly_ended_counts),
		cmocka_unit_test(streams_and_blocking_copies_bound_it_too),
		cmocka_unit_test(clocks_that_drift_for_hours_are_followed),
		cmocka_unit_test(a_simulated_device_is_not_taken_for_one_with_the_hosts_time),
		cmocka_unit_test(there_and_back_is_the_same_and_never_runs_backwards),
		cmocka_unit_test(two_devices_have_offsets_of_their_own),
	};
	return cmocka_run_group_tests_name("host clock", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_truth.c BUILD - the timeline against the truth.
 *
 * The simulated device writes down when each read of a clock really happened (tests/simgpu/truth.h). The examples run
 * under the library on devices of several timer steps, clock rates and seeds; every beginning and end of a slice and
 * every mark in the decoded timeline is then the image of one read of %clock, and must lie where that read was, within
 * the error that the capture states about itself. Printed for each run: that error, the worst one made, and its bias
 * and standard deviation. BUILD is the build folder; the environment already leads to simgpu's libraries.
 */
#include "support.h"

#include "examples.h"
#include "folder.h"
#include "run.h"
#include "truth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096
/* Times in the timeline are whole nanoseconds. */
#define ROUNDING_NS 1.0

static const char *build;

/* --- the truth -------------------------------------------------------------------------------- */

struct truth {
	struct sim_truth_read *reads;
	size_t n;
};

static void load_truth(const char *path, struct truth *ret_truth)
{
	struct sim_truth_header header;
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	assert_int_equal(fread(&header, sizeof(header), 1, file), 1);
	assert_memory_equal(header.magic, SIM_TRUTH_MAGIC, sizeof(header.magic));
	assert_int_equal(header.version, SIM_TRUTH_VERSION);
	assert_int_equal(header.read_bytes, sizeof(struct sim_truth_read));
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	const long bytes = ftell(file) - (long)sizeof(header);
	assert_true(bytes > 0 && bytes % (long)sizeof(struct sim_truth_read) == 0);
	assert_int_equal(fseek(file, sizeof(header), SEEK_SET), 0);
	ret_truth->n = (size_t)bytes / sizeof(struct sim_truth_read);
	ret_truth->reads = malloc((size_t)bytes);
	assert_non_null(ret_truth->reads);
	assert_int_equal(fread(ret_truth->reads, sizeof(struct sim_truth_read), ret_truth->n, file), ret_truth->n);
	fclose(file);
}

static int order(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_warps(const struct sim_truth_read *a, const struct sim_truth_read *b)
{
	if (a->device != b->device)
		return order(a->device, b->device);
	if (a->grid_id != b->grid_id)
		return order(a->grid_id, b->grid_id);
	return a->block != b->block ? order(a->block, b->block) : order(a->warp, b->warp);
}

static int compare_reads(const void *a, const void *b)
{
	const struct sim_truth_read *x = a, *y = b;
	const int warps = compare_warps(x, y);
	if (warps != 0)
		return warps;
	return x->time_ns != y->time_ns ? order(x->time_ns, y->time_ns) : order(x->time_ps, y->time_ps);
}

/* Only what records are made of, by warp and time. */
static void keep_records(struct truth *truth)
{
	size_t n = 0;
	for (size_t i = 0; i < truth->n; i++)
		if (truth->reads[i].reg == SIM_TRUTH_CLOCK)
			truth->reads[n++] = truth->reads[i];
	truth->n = n;
	qsort(truth->reads, n, sizeof(truth->reads[0]), compare_reads);
}

/* The reads of the warp of a track, in order. */
static size_t reads_of(const struct truth *truth, const struct warpspan_model *model,
		       const struct warpspan_track *track, const struct sim_truth_read **ret_first)
{
	const struct warpspan_grid *grid = &model->grids[track->grid];
	const struct sim_truth_read wanted = {
		.device = model->devices[grid->device].ordinal,
		.grid_id = grid->grid_id,
		.block = track->block[0] +
			 (uint64_t)grid->grid[0] * (track->block[1] + (uint64_t)grid->grid[1] * track->block[2]),
		.warp = (uint16_t)track->warp,
	};
	size_t low = 0, high = truth->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare_warps(&truth->reads[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < truth->n && compare_warps(&truth->reads[high], &wanted) == 0;)
		high++;
	*ret_first = &truth->reads[low];
	return high - low;
}

/* --- the timeline ----------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	return order(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* Every time of a track that stands for a record, sorted; the caller frees it. */
static size_t times_of(const struct warpspan_model *model, const struct warpspan_track *track, uint64_t **ret_times)
{
	uint64_t *times = malloc((2 * track->n_slices + track->n_marks + 1) * sizeof(times[0]));
	size_t n = 0;
	assert_non_null(times);
	for (uint64_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		assert_int_equal(model->slices[i].end, WARPSPAN_END_RECORDED);
		times[n++] = model->slices[i].start_ns;
		times[n++] = model->slices[i].end_ns;
	}
	for (uint64_t i = track->first_mark; i < track->first_mark + track->n_marks; i++)
		times[n++] = model->marks[i].time_ns;
	qsort(times, n, sizeof(times[0]), compare_times);
	*ret_times = times;
	return n;
}

struct errors {
	uint64_t n;
	double sum, sum_of_squares, worst, lowest, highest;
};

static void add_error(struct errors *errors, double error_ns)
{
	if (errors->n == 0 || error_ns < errors->lowest)
		errors->lowest = error_ns;
	if (errors->n == 0 || error_ns > errors->highest)
		errors->highest = error_ns;
	errors->n++;
	errors->sum += error_ns;
	errors->sum_of_squares += error_ns * error_ns;
	if (fabs(error_ns) > errors->worst)
		errors->worst = fabs(error_ns);
}

static double sigma(const struct errors *errors)
{
	const double mean = errors->sum / (double)errors->n;
	const double variance = errors->sum_of_squares / (double)errors->n - mean * mean;
	return variance > 0 ? sqrt(variance) : 0;
}

static void compare_track(const struct warpspan_model *model, const struct warpspan_track *track,
			  const struct truth *truth, struct errors *errors)
{
	const struct sim_truth_read *reads;
	const size_t n_reads = reads_of(truth, model, track, &reads);
	uint64_t *times;
	const size_t n_times = times_of(model, track, &times);
	assert_int_equal(n_times, n_reads);
	for (size_t i = 0; i < n_times; i++) {
		assert_int_equal(track->sm, reads[i].sm);
		add_error(errors, (double)(int64_t)(times[i] - reads[i].time_ns) - reads[i].time_ps * 1e-3);
	}
	free(times);
}

/* --- runs ------------------------------------------------------------------------------------- */

struct conditions {
	unsigned tick_ns, spread_ppm, seed, clock_mhz;
};

/* Runs an example under the library on such a device; gives back the capture and the truth. */
static struct warpspan_model *run_example(const char *name, const struct conditions *conditions,
					  struct truth *ret_truth)
{
	char program[PATH_BYTES], preload[PATH_BYTES], out[PATH_BYTES], truth[PATH_BYTES], capture[PATH_BYTES];
	char tick[64], spread[64], seed[64], clock[64];
	struct run_result result;
	struct warpspan_model *model;
	struct warpspan_error error;

	snprintf(program, sizeof(program), "%s/device_rt/examples/%s", build, name);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/capture", folder);
	snprintf(capture, sizeof(capture), "%s/capture.wspan", folder);
	snprintf(truth, sizeof(truth), "SIMGPU_TRUTH=%s/truth", folder);
	snprintf(tick, sizeof(tick), "SIMGPU_TIMER_TICK_NS=%u", conditions->tick_ns);
	snprintf(spread, sizeof(spread), "SIMGPU_CLOCK_SPREAD_PPM=%u", conditions->spread_ppm);
	snprintf(seed, sizeof(seed), "SIMGPU_SEED=%u", conditions->seed);
	snprintf(clock, sizeof(clock), "SIMGPU_CLOCK_MHZ=%u", conditions->clock_mhz);
	run_program(&(struct run){ .arguments = { program },
				   .environment = { preload, out, truth, tick, spread, seed, clock,
						    "WARPSPAN_FORMAT=none" } },
		    &result);
	if (result.exit_status != 0)
		fail_msg("%s\n%s", result.out, result.err);
	run_result_finish(&result);
	if (warpspan_model_load(capture, &model, &error) < 0)
		fail_msg("%s", error.text);
	remove(capture);
	snprintf(truth, sizeof(truth), "%s/truth", folder);
	load_truth(truth, ret_truth);
	return model;
}

static void check_example(const char *name, const struct conditions *conditions)
{
	struct truth truth;
	struct warpspan_model *model = run_example(name, conditions, &truth);
	struct errors errors = { .n = 0 };

	assert_int_equal(model->n_lost_records, 0);
	assert_int_equal(model->n_clocks, 1);
	keep_records(&truth);
	for (uint32_t i = 0; i < model->n_tracks; i++)
		compare_track(model, &model->tracks[i], &truth, &errors);
	assert_int_equal(errors.n, truth.n);
	assert_int_equal(errors.n, example_records(name));
	const struct warpspan_clock_fit *fit = &model->clocks[0];
	printf("%-8s tick %4u ns, spread %5u ppm, seed %u: %" PRIu64
	       " times, stated error %.1f ns (typical %.1f); worst "
	       "%.1f, bias %+.1f, 1 sigma %.2f ns\n",
	       name, conditions->tick_ns, conditions->spread_ppm, conditions->seed, errors.n, fit->error_ns,
	       fit->typical_error_ns, errors.worst, errors.sum / (double)errors.n, sigma(&errors));
	/* The constant of the whole device removed, and as it stands: the timer's scale leaves no constant free. */
	assert_true((errors.highest - errors.lowest) / 2 <= fit->error_ns + ROUNDING_NS);
	assert_true(errors.worst <= fit->error_ns + ROUNDING_NS);
	warpspan_model_destroy(model);
	free(truth.reads);
}

static void check_conditions(const char *name)
{
	static const unsigned ticks_ns[] = { 1024, 32, 1 };
	static const unsigned spreads_ppm[] = { 0, 20, 5000 };

	for (unsigned t = 0; t < sizeof(ticks_ns) / sizeof(ticks_ns[0]); t++)
		for (unsigned s = 0; s < sizeof(spreads_ppm) / sizeof(spreads_ppm[0]); s++)
			for (unsigned seed = 1; seed <= 2; seed++)
				check_example(name, &(struct conditions){ ticks_ns[t], spreads_ppm[s], seed,
									  seed == 2 ? 1410 : 1980 });
}

static void saxpy_lies_where_it_happened(void **state)
{
	check_conditions("saxpy");
}

static void pipeline_lies_where_it_happened(void **state)
{
	check_conditions("pipeline");
}

static void streams_lies_where_it_happened(void **state)
{
	check_conditions("streams");
}

/* The truth itself: what a warp saw is the true time seen through its clock. */
static void the_truth_agrees_with_what_the_program_saw(void **state)
{
	const struct conditions conditions = { .tick_ns = 32, .seed = 5, .clock_mhz = 1000 };
	struct truth truth;
	uint64_t n_timers = 0, n_clocks = 0;
	int64_t offsets[64] = { 0 };
	bool seen[64] = { false };

	warpspan_model_destroy(run_example("pipeline", &conditions, &truth));
	for (size_t i = 0; i < truth.n; i++) {
		const struct sim_truth_read *read = &truth.reads[i];
		assert_true(read->time_ps < 1000 && read->sm < 64 && read->launch == 1);
		assert_true((read->lanes != 0) == (read->reg != SIM_TRUTH_WARP_END));
		if (read->reg == SIM_TRUTH_GLOBALTIMER) {
			assert_int_equal(read->value, read->time_ns - read->time_ns % 32);
			n_timers++;
		} else if (read->reg == SIM_TRUTH_CLOCK64) {
			/* At 1000 MHz a cycle is a nanosecond, so an SM's clock is ahead of time by a constant. */
			const int64_t offset = (int64_t)(read->value - read->time_ns);
			if (!seen[read->sm])
				offsets[read->sm] = offset;
			seen[read->sm] = true;
			assert_int_equal(offset, offsets[read->sm]);
			n_clocks++;
		}
	}
	/* A warp's records are in order, from its start to its end. */
	qsort(truth.reads, truth.n, sizeof(truth.reads[0]), compare_reads);
	for (size_t i = 0; i < truth.n; i++) {
		const bool first = i == 0 || compare_warps(&truth.reads[i - 1], &truth.reads[i]) != 0;
		const bool last = i == truth.n - 1 || compare_warps(&truth.reads[i], &truth.reads[i + 1]) != 0;
		assert_true(first == (truth.reads[i].reg == SIM_TRUTH_WARP_START));
		assert_true(last == (truth.reads[i].reg == SIM_TRUTH_WARP_END));
	}
	/* Both pairs of each of the 80 warps. */
	assert_int_equal(n_timers, 160);
	assert_int_equal(n_clocks, 160);
	free(truth.reads);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s BUILD\n", argv[0]);
		return 2;
	}
	build = argv[1];
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(the_truth_agrees_with_what_the_program_saw),
		T(saxpy_lies_where_it_happened),
		T(pipeline_lies_where_it_happened),
		T(streams_lies_where_it_happened),
	};
	return cmocka_run_group_tests_name("truth", tests, NULL, NULL);
}

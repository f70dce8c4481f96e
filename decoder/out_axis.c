/* SPDX-License-Identifier: Apache-2.0
 *
 * out_axis.c - the one time axis of a timeline. See out.h.
 *
 * The axis is the time of one device, the one that the host's clock is known best against: its times stay as they are,
 * whatever is wrong with the others. The host's times go onto it by that device's host clock; those of another device
 * first to the host's time, then onto the axis. Both steps never run backwards, so what nests still nests.
 */
#include "host_clock.h"
#include "out.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>

/* A host clock known better than this is always drawn, however short the kernels are. */
#define COARSE_ERROR_NS 1e6

static int worth(const struct warpspan_host_clock *clock)
{
	return clock->bounded ? 2 : clock->agrees ? 1 : 0;
}

/* From the first grid's start to the last one's end. */
static double grids_ns(const struct warpspan_model *model, uint32_t device)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];

		if (grid->device != device)
			continue;
		first = grid->start_ns < first ? grid->start_ns : first;
		last = grid->end_ns > last ? grid->end_ns : last;
	}
	return last > first ? (double)(last - first) : 0;
}

/* Whether a host call's place tells anything: not where the clocks do not agree, nor where their error is longer than
 * all that happened on the device, as on a simulated one that takes a second for what it says took a microsecond. */
static bool host_has_a_place(const struct out_axis *axis)
{
	const struct warpspan_host_clock *clock = axis->reference;

	return !clock || (clock->agrees && (!clock->bounded || clock->error_ns <= COARSE_ERROR_NS ||
					    clock->error_ns <= grids_ns(axis->model, clock->device)));
}

bool out_axis_init(struct out_axis *axis, const struct warpspan_model *model)
{
	*axis = (struct out_axis){ .model = model,
				   .clocks = calloc((size_t)model->n_devices + 1, sizeof(*axis->clocks)) };
	if (!axis->clocks)
		return false;
	for (uint32_t i = 0; i < model->n_host_clocks; i++) {
		const struct warpspan_host_clock *clock = &model->host_clocks[i];

		axis->clocks[clock->device] = clock;
		if (!axis->reference || worth(clock) > worth(axis->reference))
			axis->reference = clock;
	}
	axis->n_host_threads = host_has_a_place(axis) ? model->n_host_threads : 0;
	return true;
}

void out_axis_finish(struct out_axis *axis)
{
	free(axis->clocks);
	axis->clocks = NULL;
}

uint64_t out_axis_of_host(const struct out_axis *axis, uint64_t host_ns)
{
	const struct warpspan_model *model = axis->model;

	/* no launch is known: what CUDA keeps a device's clock close to */
	if (!axis->reference)
		return time_plus(host_ns, (int64_t)(model->start_realtime_ns - model->start_monotonic_ns));
	return host_clock_to_device(model->knots + axis->reference->first_knot, axis->reference->n_knots, host_ns);
}

bool out_axis_moves(const struct out_axis *axis, uint32_t device)
{
	return axis->clocks[device] && axis->clocks[device] != axis->reference;
}

uint64_t out_axis_of_device(const struct out_axis *axis, uint32_t device, uint64_t device_ns)
{
	const struct warpspan_host_clock *clock = axis->clocks[device];

	if (!out_axis_moves(axis, device))
		return device_ns;
	return out_axis_of_host(axis,
				host_clock_to_host(axis->model->knots + clock->first_knot, clock->n_knots, device_ns));
}

uint64_t out_axis_start(const struct out_axis *axis)
{
	const struct warpspan_model *model = axis->model;
	uint64_t start = UINT64_MAX;

	for (uint32_t i = 0; i < model->n_grids; i++) {
		const uint64_t at = out_axis_of_device(axis, model->grids[i].device, model->grids[i].start_ns);
		start = at < start ? at : start;
	}
	/* a slice may begin before its grid's first open by what the clocks are uncertain */
	for (uint32_t i = 0; i < model->n_tracks; i++) {
		const struct warpspan_track *track = &model->tracks[i];
		const uint32_t device = model->grids[track->grid].device;
		uint64_t first = UINT64_MAX;

		if (track->n_slices)
			first = model->slices[track->first_slice].start_ns;
		if (track->n_marks && model->marks[track->first_mark].time_ns < first)
			first = model->marks[track->first_mark].time_ns;
		if (first == UINT64_MAX)
			continue;
		first = out_axis_of_device(axis, device, first);
		start = first < start ? first : start;
	}
	for (uint32_t i = 0; i < axis->n_host_threads; i++) {
		const struct warpspan_host_thread *thread = &model->host_threads[i];
		uint64_t first = UINT64_MAX;

		if (thread->n_slices)
			first = model->host_slices[thread->first_slice].begin_ns;
		if (thread->n_marks && model->host_marks[thread->first_mark].time_ns < first)
			first = model->host_marks[thread->first_mark].time_ns;
		first = out_axis_of_host(axis, first);
		start = first < start ? first : start;
	}
	return start == UINT64_MAX ? model->start_realtime_ns : start;
}

/* "within 6.1us of device 0's clock" and the like: where times of `clock` stand, and how well. */
static void say_clock(const struct out_axis *axis, const struct warpspan_host_clock *clock, char *text, size_t bytes)
{
	char error[TEXT_NUMBER_BYTES];
	const uint32_t ordinal = axis->model->devices[clock->device].ordinal;

	if (clock->bounded)
		snprintf(text, bytes, "within %s of device %" PRIu32 "'s clock", text_duration(error, clock->error_ns),
			 ordinal);
	else
		snprintf(text, bytes,
			 "as late as the launches allow on device %" PRIu32
			 "'s clock; it may have been earlier, by an unknown time",
			 ordinal);
}

const char *out_axis_host_text(const struct out_axis *axis, char text[OUT_AXIS_BYTES])
{
	char where[OUT_AXIS_BYTES - 64];

	if (!axis->reference) {
		snprintf(text, OUT_AXIS_BYTES, "Host time as CLOCK_REALTIME: no launch is known on a device.");
		return text;
	}
	if (axis->n_host_threads < axis->model->n_host_threads) {
		snprintf(text, OUT_AXIS_BYTES, "Host calls are not drawn: %s.",
			 axis->reference->agrees ? "their place is known less well than all kernels together are long"
						 : "the device's clock does not measure the host's time");
		return text;
	}
	say_clock(axis, axis->reference, where, sizeof(where));
	snprintf(text, OUT_AXIS_BYTES, "Host time (CLOCK_MONOTONIC) stands %s.", where);
	return text;
}

const char *out_axis_device_text(const struct out_axis *axis, uint32_t device, char text[OUT_AXIS_BYTES])
{
	const struct warpspan_host_clock *clock = axis->clocks[device], *reference = axis->reference;
	char error[TEXT_NUMBER_BYTES];

	text[0] = '\0';
	if (!reference || clock == reference)
		return text;
	if (!clock)
		snprintf(text, OUT_AXIS_BYTES, "Not aligned with device %" PRIu32 ": none of its launches is known.",
			 axis->model->devices[reference->device].ordinal);
	else if (clock->bounded && reference->bounded)
		snprintf(text, OUT_AXIS_BYTES, "Aligned with device %" PRIu32 " within %s, by way of the host's clock.",
			 axis->model->devices[reference->device].ordinal,
			 text_duration(error, clock->error_ns + reference->error_ns));
	else
		snprintf(text, OUT_AXIS_BYTES,
			 "Placed beside device %" PRIu32 " by its launches; how well is not known.",
			 axis->model->devices[reference->device].ordinal);
	return text;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * model_check.c - the promises of model.h, one by one. Used by unit tests and by the fuzz target, so it depends on
 * neither; one thread at a time.
 */
#include "model_check.h"

#include <string.h>

#define DEMAND(condition)                  \
	do {                               \
		if (!(condition))          \
			return #condition; \
	} while (0)

uint64_t model_unpaired(const struct warpspan_model *model, enum warpspan_unpaired_cause cause, const char *name)
{
	uint64_t n = 0;
	for (uint32_t i = 0; i < model->n_unpaired; i++) {
		const struct warpspan_unpaired *entry = &model->unpaired[i];
		if (entry->cause == cause && (name == NULL || strcmp(model->regions[entry->region].name, name) == 0))
			n += entry->n;
	}
	return n;
}

/* Slices of a track are sorted, nest as their depths say, and lie within it. `open` has room for any depth. */
static const char *slices_fault(const struct warpspan_model *model, uint32_t t, const struct warpspan_slice **open)
{
	const struct warpspan_track *track = &model->tracks[t];
	for (uint64_t i = 0; i < track->n_slices; i++) {
		const struct warpspan_slice *slice = &model->slices[track->first_slice + i];
		DEMAND(slice->track == t);
		DEMAND(slice->region < model->n_regions);
		DEMAND(slice->end <= WARPSPAN_END_CORRUPT);
		DEMAND(slice->end_ns >= slice->start_ns);
		DEMAND(slice->start_ns >= track->start_ns && slice->end_ns <= track->end_ns);
		DEMAND(i == 0 ? slice->depth == 0 : slice->depth <= slice[-1].depth + 1);
		DEMAND(i == 0 || slice->start_ns >= slice[-1].start_ns);
		if (slice->depth > 0) {
			const struct warpspan_slice *parent = open[slice->depth - 1];
			DEMAND(slice->start_ns >= parent->start_ns && slice->end_ns <= parent->end_ns);
		}
		if (i > 0 && slice->depth <= slice[-1].depth) /* the one before at this depth is over */
			DEMAND(slice->start_ns >= open[slice->depth]->end_ns);
		open[slice->depth] = slice;
	}
	return NULL;
}

static const char *tracks_fault(const struct warpspan_model *model, const struct warpspan_slice **open)
{
	uint64_t next_slice = 0, next_mark = 0;
	for (uint32_t t = 0; t < model->n_tracks; t++) {
		const struct warpspan_track *track = &model->tracks[t];
		DEMAND(track->grid < model->n_grids);
		DEMAND(t == 0 || track->grid >= track[-1].grid);
		DEMAND(track->end_ns >= track->start_ns);
		DEMAND(track->first_slice == next_slice && track->first_mark == next_mark);
		next_slice += track->n_slices;
		next_mark += track->n_marks;
		DEMAND(next_slice <= model->n_slices && next_mark <= model->n_marks);
		const char *fault = slices_fault(model, t, open);
		if (fault != NULL)
			return fault;
		for (uint64_t i = 0; i < track->n_marks; i++) {
			const struct warpspan_mark *mark = &model->marks[track->first_mark + i];
			DEMAND(mark->track == t);
			DEMAND(mark->region < model->n_regions);
			DEMAND(mark->time_ns >= track->start_ns && mark->time_ns <= track->end_ns);
			DEMAND(i == 0 || mark->time_ns >= mark[-1].time_ns);
		}
	}
	DEMAND(next_slice == model->n_slices && next_mark == model->n_marks);
	return NULL;
}

static const char *grids_fault(const struct warpspan_model *model)
{
	uint64_t n_warps = 0, n_records = 0;
	uint32_t next_track = 0;
	for (uint32_t g = 0; g < model->n_grids; g++) {
		const struct warpspan_grid *grid = &model->grids[g];
		DEMAND(grid->kernel < model->n_kernels);
		DEMAND(grid->device < model->n_devices);
		DEMAND(grid->host == WARPSPAN_NONE || grid->host < model->n_launches);
		DEMAND((grid->join == WARPSPAN_JOIN_ID || grid->join == WARPSPAN_JOIN_ORDER) ==
		       (grid->host != WARPSPAN_NONE || grid->call != WARPSPAN_NONE));
		DEMAND(grid->call == WARPSPAN_NONE || (grid->call < model->n_calls && grid->host == WARPSPAN_NONE));
		DEMAND(g == 0 || grid->start_ns >= grid[-1].start_ns);
		DEMAND(grid->end_ns >= grid->start_ns);
		DEMAND(grid->phase == WARPSPAN_OWN || grid->phase == WARPSPAN_EARLY);
		DEMAND(grid->first_track == next_track && grid->n_tracks > 0);
		next_track += grid->n_tracks;
		n_warps += grid->n_warps;
		n_records += grid->n_records;
	}
	DEMAND(next_track == model->n_tracks);
	DEMAND(n_warps == model->n_segments);
	DEMAND(n_records == model->n_records);
	return NULL;
}

/* Each launch and call is one slice, and those of a thread nest. `open` has room for any depth. */
static const char *host_fault(const struct warpspan_model *model, const struct warpspan_host_slice **open)
{
	uint32_t next = 0, next_mark = 0;
	uint64_t sum = 0;
	DEMAND(model->n_host_slices == model->n_launches + model->n_calls);
	for (uint32_t t = 0; t < model->n_host_threads; t++) {
		const struct warpspan_host_thread *thread = &model->host_threads[t];
		DEMAND(t == 0 || thread->id > thread[-1].id);
		DEMAND(thread->first_slice == next && thread->first_mark == next_mark);
		DEMAND(thread->n_slices > 0 || thread->n_marks > 0);
		for (uint32_t i = next_mark; i < next_mark + thread->n_marks; i++)
			DEMAND(i < model->n_host_marks && model->host_marks[i].thread == t &&
			       model->host_marks[i].text != NULL &&
			       (i == next_mark || model->host_marks[i].time_ns >= model->host_marks[i - 1].time_ns));
		next_mark += thread->n_marks;
		next += thread->n_slices;
		DEMAND(next <= model->n_host_slices);
		for (uint32_t i = thread->first_slice; i < next; i++) {
			const struct warpspan_host_slice *slice = &model->host_slices[i];
			DEMAND(slice->thread == t && slice->end_ns >= slice->begin_ns);
			DEMAND((slice->launch < model->n_launches) != (slice->call < model->n_calls));
			sum += slice->call < model->n_calls ? model->n_launches + slice->call : slice->launch;
			DEMAND(i == thread->first_slice ? slice->depth == 0 : slice->depth <= slice[-1].depth + 1);
			DEMAND(i == thread->first_slice || slice->begin_ns >= slice[-1].begin_ns);
			if (slice->depth > 0)
				DEMAND(slice->end_ns <= open[slice->depth - 1]->end_ns);
			if (i > thread->first_slice && slice->depth <= slice[-1].depth)
				DEMAND(slice->begin_ns >= open[slice->depth]->end_ns);
			open[slice->depth] = slice;
		}
	}
	DEMAND(next == model->n_host_slices && next_mark == model->n_host_marks);
	DEMAND(sum == (uint64_t)next * (next - (next > 0)) / 2);
	for (uint32_t i = 1; i < model->n_calls; i++)
		DEMAND(model->calls[i].number >= model->calls[i - 1].number);
	for (uint32_t i = 0; i < model->n_hooks; i++)
		DEMAND(model->hooks[i].name != NULL &&
		       (i == 0 || model->hooks[i].number >= model->hooks[i - 1].number));
	return NULL;
}

static const char *host_clocks_fault(const struct warpspan_model *model)
{
	uint32_t next = 0;
	for (uint32_t i = 0; i < model->n_host_clocks; i++) {
		const struct warpspan_host_clock *clock = &model->host_clocks[i];
		DEMAND(clock->device < model->n_devices);
		DEMAND(clock->n_knots > 0 && clock->first_knot == next);
		DEMAND(clock->agrees || !clock->bounded);
		DEMAND(clock->error_ns >= 0 && clock->bounded == (clock->error_ns > 0));
		next += clock->n_knots;
		DEMAND(next <= model->n_knots);
		for (uint32_t k = clock->first_knot + 1; k < next; k++)
			DEMAND(model->knots[k].host_ns > model->knots[k - 1].host_ns);
	}
	DEMAND(next == model->n_knots);
	return NULL;
}

/* Every decoded record is in a slice, a mark, or counted as unpaired. */
static const char *sums_fault(const struct warpspan_model *model)
{
	uint64_t n = model->n_marks, n_lost = 0, endless[WARPSPAN_END_CORRUPT + 1] = { 0 };
	for (uint64_t i = 0; i < model->n_slices; i++) {
		n += model->slices[i].end == WARPSPAN_END_RECORDED ? 2 : 1;
		endless[model->slices[i].end]++;
	}
	for (uint32_t i = 0; i < model->n_unpaired; i++)
		DEMAND(model->unpaired[i].region < model->n_regions ||
		       model->unpaired[i].cause == WARPSPAN_UNPAIRED_BAD_RECORD);
	n += model_unpaired(model, WARPSPAN_UNPAIRED_END, NULL) +
	     model_unpaired(model, WARPSPAN_UNPAIRED_TOO_DEEP, NULL) +
	     model_unpaired(model, WARPSPAN_UNPAIRED_BAD_RECORD, NULL);
	DEMAND(n == model->n_records);
	DEMAND(endless[WARPSPAN_END_LOST] == model_unpaired(model, WARPSPAN_UNPAIRED_LOST, NULL));
	DEMAND(endless[WARPSPAN_END_OPEN] == model_unpaired(model, WARPSPAN_UNPAIRED_OPEN, NULL));
	DEMAND(endless[WARPSPAN_END_CORRUPT] == model_unpaired(model, WARPSPAN_UNPAIRED_BEGIN, NULL));
	for (uint32_t i = 0; i < model->n_lost; i++) {
		DEMAND(model->lost[i].kernel < model->n_kernels || model->lost[i].kernel == WARPSPAN_NONE);
		n_lost += model->lost[i].n_records;
	}
	DEMAND(n_lost == model->n_lost_records);
	return NULL;
}

const char *model_fault(const struct warpspan_model *model)
{
	DEMAND(model->started_by != NULL && model->stopped_by != NULL);
	DEMAND(model->version != NULL && model->host != NULL && model->rank != NULL && model->launcher != NULL &&
	       model->command != NULL);
	for (uint32_t i = 0; i < model->n_devices; i++)
		DEMAND(model->devices[i].name != NULL && model->devices[i].uuid != NULL &&
		       model->devices[i].compute != NULL);
	for (uint32_t i = 0; i < model->n_kernels; i++)
		DEMAND(model->kernels[i].name != NULL && model->kernels[i].demangled != NULL);
	for (uint32_t i = 0; i < model->n_regions; i++)
		DEMAND(model->regions[i].kernel < model->n_kernels && model->regions[i].name != NULL &&
		       model->regions[i].file != NULL);
	for (uint32_t i = 0; i < model->n_clocks; i++)
		DEMAND(model->clocks[i].device < model->n_devices && model->clocks[i].tick_ns > 0 &&
		       model->clocks[i].rate_hz > 0 && model->clocks[i].error_ns >= 0);
	for (uint32_t i = 1; i < model->n_launches; i++)
		DEMAND(model->launches[i].number >= model->launches[i - 1].number);
	for (uint32_t i = 1; i < model->n_damage; i++)
		DEMAND(model->damage[i].offset >= model->damage[i - 1].offset);
	static const struct warpspan_slice *open[UINT16_MAX + 1]; /* too much for a stack */
	const char *fault = tracks_fault(model, open);
	if (fault == NULL)
		fault = grids_fault(model);
	if (fault == NULL)
		fault = sums_fault(model);
	static const struct warpspan_host_slice *open_calls[UINT16_MAX + 1];
	if (fault == NULL)
		fault = host_fault(model, open_calls);
	if (fault == NULL)
		fault = host_clocks_fault(model);
	return fault;
}

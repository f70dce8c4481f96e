/* SPDX-License-Identifier: Apache-2.0
 *
 * out_common.c - what the two timeline writers share: names and the order of events. See out.h.
 */
#include "out.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_COLUMNS 250u  /* of a region's name or file; longer ones lose their middle */
#define TEXT_BYTES   1024u /* what that takes at most, in UTF-8 */
#define NAME_COLUMNS 72u   /* of a kernel's name in a track's name */

char *out_device_name(const struct warpspan_model *model, uint32_t device, char name[OUT_NAME_BYTES])
{
	char shown[OUT_NAME_BYTES - 32 - TEXT_RANK_BYTES], rank[TEXT_RANK_BYTES];

	text_elide(shown, sizeof(shown), model->devices[device].name, NAME_COLUMNS);
	text_rank(rank, model->rank, model->world, model->launcher);
	snprintf(name, OUT_NAME_BYTES, "device %" PRIu32 "%s%s%s%s", model->devices[device].ordinal, *shown ? ": " : "",
		 shown, *rank ? ", " : "", rank);
	return name;
}

char *out_launch_name(const struct warpspan_model *model, uint32_t grid, char name[OUT_NAME_BYTES])
{
	char shown[OUT_NAME_BYTES - 32];

	text_elide(shown, sizeof(shown), model->kernels[model->grids[grid].kernel].demangled, NAME_COLUMNS);
	snprintf(name, OUT_NAME_BYTES, "#%" PRIu32 " %s", grid + 1, shown);
	return name;
}

char *out_kernel_name(const struct warpspan_model *model, uint32_t kernel, char name[OUT_KERNEL_BYTES])
{
	return text_elide(name, OUT_KERNEL_BYTES, model->kernels[kernel].demangled, TEXT_COLUMNS);
}

char *out_warp_name(const struct warpspan_track *track, char name[OUT_NAME_BYTES])
{
	if (track->repeat == 0)
		snprintf(name, OUT_NAME_BYTES, "warp %" PRIu32, track->warp);
	else
		snprintf(name, OUT_NAME_BYTES, "warp %" PRIu32 " (%" PRIu64 ")", track->warp,
			 (uint64_t)track->repeat + 1);
	return name;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* As the source has it, tabs and all: both formats can hold it. Only what is not UTF-8 is replaced, by U+FFFD. */
static char *valid_copy(const char *text)
{
	char shown[TEXT_BYTES];

	return strdup(text_elide_valid(shown, sizeof(shown), text, TEXT_COLUMNS));
}

static int by_file(const void *a, const void *b, void *context)
{
	const struct out_texts *texts = context;

	return strcmp(texts->files[*(const uint32_t *)a], texts->files[*(const uint32_t *)b]);
}

static bool number_files(struct out_texts *texts)
{
	uint32_t *order = calloc((size_t)texts->n_regions + 1, sizeof(*order));

	if (!order)
		return false;
	for (uint32_t i = 0; i < texts->n_regions; i++)
		order[i] = i;
	qsort_r(order, texts->n_regions, sizeof(*order), by_file, texts);
	for (uint32_t i = 0; i < texts->n_regions; i++) {
		if (i == 0 || by_file(&order[i - 1], &order[i], texts) != 0)
			texts->n_files++;
		texts->file_ids[order[i]] = texts->n_files - 1;
	}
	free(order);
	return true;
}

bool out_texts_init(struct out_texts *texts, const struct warpspan_model *model)
{
	const size_t n = (size_t)model->n_regions + 1;
	bool fine;

	*texts = (struct out_texts){ .names = calloc(n, sizeof(char *)),
				     .files = calloc(n, sizeof(char *)),
				     .file_ids = calloc(n, sizeof(uint32_t)) };
	fine = texts->names && texts->files && texts->file_ids;
	if (fine)
		texts->n_regions = model->n_regions;
	for (uint32_t i = 0; fine && i < model->n_regions; i++) {
		texts->names[i] = valid_copy(model->regions[i].name);
		texts->files[i] = valid_copy(model->regions[i].file);
		fine = texts->names[i] && texts->files[i];
	}
	return fine && number_files(texts);
}

void out_texts_finish(struct out_texts *texts)
{
	for (uint32_t i = 0; i < texts->n_regions; i++) {
		free(texts->names[i]);
		free(texts->files[i]);
	}
	free(texts->names);
	free(texts->files);
	free(texts->file_ids);
}

/* --- order ------------------------------------------------------------------------------------ */

void out_walk_init(struct out_walk *walk, const struct warpspan_model *model, const struct warpspan_track *track,
		   const struct warpspan_slice **open)
{
	*walk = (struct out_walk){ .model = model, .open = open };
	if (track->n_slices) {
		walk->slice = &model->slices[track->first_slice];
		walk->slices_end = walk->slice + track->n_slices;
	}
	if (track->n_marks) {
		walk->mark = &model->marks[track->first_mark];
		walk->marks_end = walk->mark + track->n_marks;
	}
}

/* A begin at the very time its parent ends belongs inside when its depth says so. */
static bool holds(const struct warpspan_slice *outer, const struct warpspan_slice *slice)
{
	return outer->end_ns >= slice->end_ns && outer->end_ns >= slice->start_ns && outer->depth < slice->depth;
}

bool out_walk_next(struct out_walk *walk, struct out_event *ret_event)
{
	const bool more_slices = walk->slice != walk->slices_end, more_marks = walk->mark != walk->marks_end;
	const bool mark_first = more_marks && (!more_slices || walk->mark->time_ns < walk->slice->start_ns);

	if (walk->n_open > 0) {
		const struct warpspan_slice *top = walk->open[walk->n_open - 1];
		/* a mark at the very end of a slice was made inside: its record came first */
		const bool ends =
			mark_first ? top->end_ns < walk->mark->time_ns : !more_slices || !holds(top, walk->slice);

		if (ends) {
			walk->n_open--;
			*ret_event = (struct out_event){ .kind = OUT_END, .time_ns = top->end_ns, .slice = top };
			return true;
		}
	}
	if (mark_first) {
		*ret_event = (struct out_event){ .kind = OUT_MARK, .time_ns = walk->mark->time_ns, .mark = walk->mark };
		walk->mark++;
		return true;
	}
	if (!more_slices)
		return false;
	*ret_event = (struct out_event){ .kind = OUT_BEGIN, .time_ns = walk->slice->start_ns, .slice = walk->slice };
	walk->open[walk->n_open++] = walk->slice++;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * check.c - `warpspan check`: is everything in this capture, and is it sound?
 *
 * Exit status 0 and one line when it is; else every paragraph of failures.c that applies. The nesting that the model
 * promises is verified again here, slice by slice: the viewers would silently show something else.
 */
#include "command.h"
#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_DEPTH ((size_t)UINT16_MAX + 1)

/* Slices that neither hold nor leave alone the one before them on their track. */
static uint64_t count_misnested(const struct warpspan_model *model, uint64_t *open_ends)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < model->n_tracks; i++) {
		const struct warpspan_track *track = &model->tracks[i];
		size_t depth = 0;

		for (uint64_t j = 0; j < track->n_slices; j++) {
			const struct warpspan_slice *slice = &model->slices[track->first_slice + j];

			while (depth > 0 && (open_ends[depth - 1] < slice->start_ns || depth > slice->depth))
				depth--;
			const bool bad = slice->end_ns < slice->start_ns ||
					 (depth > 0 && slice->end_ns > open_ends[depth - 1]) || depth != slice->depth;
			n += bad;
			if (depth < MOST_DEPTH)
				open_ends[depth++] = slice->end_ns;
		}
	}
	return n;
}

static bool tell_misnested(const struct warpspan_model *model, unsigned columns, int *ret_status)
{
	uint64_t *open_ends = calloc(MOST_DEPTH, sizeof(*open_ends));
	char count[TEXT_NUMBER_BYTES], sentence[256];

	if (!open_ends) {
		printf("\nout of memory: nesting was not checked\n");
		*ret_status = EXIT_STATUS_TROUBLE;
		return true;
	}
	const uint64_t n = count_misnested(model, open_ends);
	free(open_ends);
	if (n == 0)
		return false;
	snprintf(sentence, sizeof(sentence), "nesting: %s that do not nest in their track (a mistake of warpspan)",
		 text_counted(count, n, "slice"));
	putchar('\n');
	text_paragraph(stdout, 0, 2, columns, sentence);
	return true;
}

static void print_counts(const struct warpspan_model *model)
{
	char records[TEXT_NUMBER_BYTES], warps[TEXT_NUMBER_BYTES], slices[TEXT_NUMBER_BYTES],
		launches[TEXT_NUMBER_BYTES];

	printf("%s of %s in %s launch%s, %s\n", text_counted(records, model->n_records, "record"),
	       text_counted(warps, model->n_segments, "warp"), text_count(launches, model->n_grids),
	       model->n_grids == 1 ? "" : "es", text_counted(slices, model->n_slices, "slice"));
}

int command_check(const struct command *command, int argc, char **argv)
{
	const unsigned columns = text_columns(stdout);
	struct warpspan_stats *stats = NULL;
	struct options options;
	char clean[1024];
	int status;

	options_init(&options, command, NULL, 0,
		     "Prints \"ok\" when the capture is whole and nothing in it is lost or unpaired.\n", false, argc,
		     argv);
	if (options_next(&options) == OPTIONS_EXIT)
		return options.exit_status;
	const char *path = options_capture(&options);
	if (!path)
		return EXIT_STATUS_USAGE;
	struct warpspan_model *model = load_capture(command, path, &status);
	if (!model)
		return EXIT_STATUS_TROUBLE;
	if (warpspan_stats_compute(model, &stats) < 0) {
		complain(command, "out of memory");
		warpspan_model_destroy(model);
		return EXIT_STATUS_TROUBLE;
	}
	printf("%s: ", text_clean(clean, sizeof(clean), path));
	print_counts(model);
	bool wrong = failures_space(model, stdout, columns);
	wrong |= failures_destroyed(model, stdout, columns);
	wrong |= failures_unpaired(model, stdout, columns);
	wrong |= failures_damage(model, stdout, columns);
	wrong |= failures_incomplete(model, stdout, columns);
	wrong |= tell_misnested(model, columns, &status);
	failures_notes(model, stats, stdout, columns);
	if (wrong)
		status = EXIT_STATUS_TROUBLE;
	else if (status == EXIT_STATUS_OK)
		puts("ok");
	warpspan_stats_destroy(stats);
	warpspan_model_destroy(model);
	return finish_output(command, status);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * info.c - `warpspan info`.
 */
#include "capture.h"
#include "command.h"
#include "report.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <string.h>

static void print_session(const struct warpspan_model *model)
{
	char text[1024], size[TEXT_NUMBER_BYTES], rank[TEXT_RANK_BYTES];

	printf("capture   %s\n", text_clean(text, sizeof(text), model->path));
	printf("written   by warpspan %s, %s\n", text_clean(text, 64, model->version),
	       model->complete ? "complete" : "not closed (still being written, or cut short)");
	printf("command   %s\n", text_clean(text, sizeof(text), model->command));
	printf("process   %" PRIu32 " on %s%s%s\n", model->pid, text_clean(text, 256, model->host),
	       *model->rank ? ", " : "", text_rank(rank, model->rank, model->world, model->launcher));
	if (*model->started_by)
		report_session_text(model, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%" PRIu32, model->session);
	printf("session   %s\n", text);
	printf("buffer    2 x %s; %s%" PRIu32 " events a warp\n", text_bytes(size, model->arena_bytes),
	       model->words_asked ? "" : "derived, at most ",
	       model->words_asked ? model->words_asked : model->words_most);
	for (uint32_t i = 0; i < model->n_counters; i++)
		if (model->counters[i].value != 0)
			printf("counter   %s: %" PRIu64 "\n", text_clean(text, 256, model->counters[i].name),
			       model->counters[i].value);
}

static void print_devices(const struct warpspan_model *model)
{
	char name[256], uuid[96], compute[32];

	for (uint32_t i = 0; i < model->n_devices; i++)
		printf("device    %" PRIu32 ": %s, %s, compute capability %s, %" PRIu32 " SMs, %" PRIu32 " kHz\n",
		       model->devices[i].ordinal, text_clean(name, sizeof(name), model->devices[i].name),
		       text_clean(uuid, sizeof(uuid), model->devices[i].uuid),
		       text_clean(compute, sizeof(compute), model->devices[i].compute), model->devices[i].n_sms,
		       model->devices[i].clock_khz);
}

static void print_kernels(const struct warpspan_model *model)
{
	char name[1024];

	for (uint32_t i = 0; i < model->n_kernels; i++)
		printf("kernel    %" PRIu32 " (module %" PRIu32 "): %s\n", model->kernels[i].number,
		       model->kernels[i].module, text_clean(name, sizeof(name), model->kernels[i].demangled));
}

static void print_counts(const struct warpspan_model *model)
{
	char a[TEXT_NUMBER_BYTES], b[TEXT_NUMBER_BYTES];

	printf("launches  %s in the host's log, %s seen on the device\n", text_count(a, model->n_launches),
	       text_count(b, model->n_grids));
	if (model->n_host_marks)
		printf("marks     %s\n", text_count(a, model->n_host_marks));
	if (model->n_late_launches || model->n_late_warps)
		printf("late      %s launched after the stop, with %s: left out\n",
		       text_count(a, model->n_late_launches), text_counted(b, model->n_late_warps, "warp"));
	printf("segments  %s\n", text_count(a, model->n_segments));
	printf("records   %s decoded, %s lost\n", text_count(a, model->n_records),
	       text_count(b, model->n_lost_records));
	printf("decoded   %s, %s, ", text_counted(a, model->n_slices, "slice"),
	       text_counted(b, model->n_marks, "mark"));
	printf("%s in the source\n", text_counted(a, model->n_regions, "place"));
}

/* What META chunks describe, but for the counters: those are cumulative, and their number says nothing. */
static const char *const objects[] = { "session", "device", "context", "module", "kernel" };
#define N_OBJECTS (sizeof(objects) / sizeof(objects[0]))

static void count_object(const struct capture_chunk *chunk, uint64_t n[N_OBJECTS])
{
	cJSON *root = cJSON_ParseWithLength((const char *)chunk->payload, chunk->payload_bytes);

	for (size_t i = 0; root && i < N_OBJECTS; i++)
		n[i] += cJSON_GetObjectItemCaseSensitive(root, objects[i]) != NULL;
	cJSON_Delete(root);
}

static uint64_t count_sites(const struct capture_chunk *chunk)
{
	struct warpspan_stored_site site;
	uint64_t n = 0, at = 0;

	while (at + sizeof(site) <= chunk->payload_bytes) {
		memcpy(&site, chunk->payload + at, sizeof(site));
		const uint64_t bytes = sizeof(site) + (uint64_t)site.name_bytes + site.file_bytes;

		if (bytes > chunk->payload_bytes - at)
			break;
		n++;
		at += (bytes + 7) & ~(uint64_t)7;
	}
	return n;
}

/* The contents of META and SITES chunks, counted. */
static void print_contents(const struct capture *capture)
{
	uint64_t n[N_OBJECTS] = { 0 }, n_sites = 0;
	char count[TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < capture->chunks.n; i++) {
		if (capture->chunks.items[i].type == WARPSPAN_CHUNK_META)
			count_object(&capture->chunks.items[i], n);
		else if (capture->chunks.items[i].type == WARPSPAN_CHUNK_SITES)
			n_sites += count_sites(&capture->chunks.items[i]);
	}
	printf("holds     %s", text_counted(count, n_sites, "site"));
	for (size_t i = 0; i < N_OBJECTS; i++)
		printf(", %s", text_counted(count, n[i], objects[i]));
	putchar('\n');
}

/* How many chunks of each type, and their bytes. */
static bool print_chunks(const struct command *command, const char *path)
{
	struct {
		uint64_t n, bytes;
	} types[WARPSPAN_CHUNK_END + 2] = { 0 }; /* the last: types this version does not know */
	const uint32_t n_types = sizeof(types) / sizeof(types[0]);
	char count[TEXT_NUMBER_BYTES], size[TEXT_NUMBER_BYTES];
	struct warpspan_error error = { 0 };
	struct capture *capture = NULL;

	if (capture_open(path, &capture, &error) < 0) {
		complain(command, "%s", error.text);
		return false;
	}
	for (size_t i = 0; i < capture->chunks.n; i++) {
		const struct capture_chunk *chunk = &capture->chunks.items[i];
		const uint32_t type = chunk->type < n_types - 1 ? chunk->type : n_types - 1;

		types[type].n++;
		types[type].bytes += chunk->payload_bytes;
	}
	printf("file      %s\n", text_bytes(size, capture->n_bytes));
	for (uint32_t i = 0; i < n_types; i++)
		if (types[i].n)
			printf("chunks    %-9s %s, %s\n", capture_chunk_type_text(i), text_count(count, types[i].n),
			       text_bytes(size, types[i].bytes));
	print_contents(capture);
	capture_close(capture);
	return true;
}

int command_info(const struct command *command, int argc, char **argv)
{
	struct options options;
	int status;

	options_init(&options, command, NULL, 0, NULL, false, argc, argv);
	if (options_next(&options) == OPTIONS_EXIT)
		return options.exit_status;
	const char *path = options_capture(&options);
	if (!path)
		return EXIT_STATUS_USAGE;
	struct warpspan_model *model = load_capture(command, path, &status);
	if (!model)
		return EXIT_STATUS_TROUBLE;
	print_session(model);
	if (!print_chunks(command, path))
		status = EXIT_STATUS_TROUBLE;
	print_devices(model);
	print_kernels(model);
	print_counts(model);
	if (model->n_damage)
		printf("damage    %" PRIu32 " places; `warpspan check` tells where\n", model->n_damage);
	warpspan_model_destroy(model);
	return finish_output(command, status);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * out_json.c - the timeline as Chrome trace JSON, gzip-compressed by its sink.
 *
 * One process for the host with a thread for each of its threads, then one process per launch, one thread per warp. An
 * X event per slice, an i event per mark, a pair of s and f per arrow. Times are microseconds with exactly three
 * decimals since baseTimeNanoseconds, made from integers: viewers parse them as doubles, and an epoch in microseconds
 * would leave them a quarter of a microsecond. Ids are small numbers from 1: viewers fold others onto 0. What is
 * constant of a region or a track is formatted once. Called by out_export(); memory: the texts of the regions. Any
 * thread.
 */
#include "out.h"
#include "out_host.h"
#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES  8192u /* the longest region head: name and file, every character escaped */
#define EXACT_FLOATS 9e15f /* whole numbers below are exact in the double a viewer makes of them */
#define TAIL_BYTES   192u
#define EVENT_BYTES  (PIECE_BYTES + TAIL_BYTES + 256u)

struct writer {
	const struct warpspan_model *model;
	struct sink *sink;
	struct out_texts texts;
	struct out_axis axis;
	struct out_host host;
	uint64_t base_ns;
	const struct warpspan_slice **open;
	char **heads; /* by region: {"name":"...","args":{"file":"...","line":1 */
	bool first;   /* no event was written yet */
};

/* --- JSON ------------------------------------------------------------------------------------- */

/* Escapes valid UTF-8. `escaped` holds at least 2 * strlen(text) + 1, and 4 more for each control character. */
static char *escape(char *escaped, const char *text)
{
	char *to = escaped;

	for (; *text; text++) {
		if ((unsigned char)*text < 0x20) {
			to += snprintf(to, sizeof("\\u0000"), "\\u%04x", (unsigned)(unsigned char)*text);
			continue;
		}
		if (*text == '"' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	return escaped;
}

static char *put_text(char *at, const char *text)
{
	const size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

static char *put_uint(char *at, uint64_t value)
{
	char digits[20];
	unsigned n = 0;

	do {
		digits[n++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (n)
		*at++ = digits[--n];
	return at;
}

/* Nanoseconds as microseconds: "12.345" */
static char *put_us(char *at, uint64_t ns)
{
	at = put_uint(at, ns / 1000);
	*at++ = '.';
	*at++ = (char)('0' + ns % 1000 / 100);
	*at++ = (char)('0' + ns % 100 / 10);
	*at++ = (char)('0' + ns % 10);
	return at;
}

/* A float: shortest that reads back the same, with a point or an exponent and a point; JSON has no NaN. */
static char *put_float(char *at, float value)
{
	char text[40];

	if (value != value)
		return put_text(at, "\"nan\"");
	if (value - value != 0)
		return put_text(at, value > 0 ? "\"inf\"" : "\"-inf\"");
	if (value > -EXACT_FLOATS && value < EXACT_FLOATS && value == (float)(int64_t)value)
		snprintf(text, sizeof(text), "%" PRId64, (int64_t)value);
	else
		snprintf(text, sizeof(text), "%.9g", (double)value);
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.'; /* the locale of the program we are in */
	char *exponent = strchr(text, 'e');
	const char *point = strchr(text, '.');
	if (exponent)
		*exponent++ = '\0';
	at = put_text(at, text);
	if (!point)
		at = put_text(at, ".0");
	if (exponent) {
		*at++ = 'e';
		at = put_text(at, exponent);
	}
	return at;
}

/* Room for one event, the comma before it included; NULL once output has failed. */
static char *begin_event(struct writer *writer, char **ret_start)
{
	char *at = (char *)sink_reserve(writer->sink, EVENT_BYTES);

	*ret_start = at;
	if (!at)
		return NULL;
	at = put_text(at, writer->first ? "\n" : ",\n");
	writer->first = false;
	return at;
}

static void end_event(struct writer *writer, const char *start, const char *end)
{
	sink_commit(writer->sink, (size_t)(end - start));
}

/* --- header ----------------------------------------------------------------------------------- */

static void put_metadata_text(struct writer *writer, const char *key, const char *text, bool last)
{
	char clean[1024], escaped[2 * sizeof(clean)];

	sink_text(writer->sink, "  \"");
	sink_text(writer->sink, key);
	sink_text(writer->sink, "\": \"");
	sink_text(writer->sink, escape(escaped, text_elide(clean, sizeof(clean), text, 240)));
	sink_text(writer->sink, last ? "\"\n" : "\",\n");
}

static void put_metadata_uint(struct writer *writer, const char *key, uint64_t value)
{
	char line[128];

	snprintf(line, sizeof(line), "  \"%s\": %" PRIu64 ",\n", key, value);
	sink_text(writer->sink, line);
}

static void put_header(struct writer *writer)
{
	const struct warpspan_model *model = writer->model;
	uint64_t n_unpaired = 0, error_ns = 0;
	char line[160], gist[512], text[OUT_AXIS_BYTES];

	for (uint32_t i = 0; i < model->n_unpaired; i++)
		n_unpaired += model->unpaired[i].n;
	for (uint32_t i = 0; i < model->n_clocks; i++)
		if (model->clocks[i].error_ns > (double)error_ns)
			error_ns = (uint64_t)model->clocks[i].error_ns + 1;
	snprintf(line, sizeof(line),
		 "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":%" PRIu64 ",\n\"metadata\": {\n",
		 writer->base_ns);
	sink_text(writer->sink, line);
	put_metadata_text(writer, "tool", "warpspan " WARPSPAN_RELEASE, false);
	put_metadata_text(writer, "clock", "%globaltimer of the device, ns, taken as CLOCK_REALTIME", false);
	put_metadata_uint(writer, "clock_error_ns", error_ns);
	put_metadata_text(writer, "host_clock", out_axis_host_text(&writer->axis, text), false);
	if (writer->axis.reference && writer->axis.reference->bounded)
		put_metadata_uint(writer, "host_clock_error_ns", (uint64_t)writer->axis.reference->error_ns + 1);
	put_metadata_text(writer, "command", model->command, false);
	put_metadata_text(writer, "host", model->host, false);
	put_metadata_text(writer, "rank", model->rank, false);
	put_metadata_text(writer, "launcher", model->launcher, false);
	put_metadata_uint(writer, "world", model->world);
	put_metadata_uint(writer, "pid", model->pid);
	put_metadata_uint(writer, "session", model->session);
	for (uint32_t i = 0; i < model->n_devices; i++) {
		snprintf(line, sizeof(line), "device_%" PRIu32, model->devices[i].ordinal);
		put_metadata_text(writer, line, model->devices[i].name, false);
		if (!*out_axis_device_text(&writer->axis, i, text))
			continue;
		snprintf(line, sizeof(line), "device_%" PRIu32 "_clock", model->devices[i].ordinal);
		put_metadata_text(writer, line, text, false);
	}
	put_metadata_uint(writer, "lost_records", model->n_lost_records);
	put_metadata_uint(writer, "lost_warps", model->n_lost_warps);
	put_metadata_uint(writer, "unpaired_records", n_unpaired);
	put_metadata_uint(writer, "damaged_places", model->n_damage);
	failures_line(model, gist, sizeof(gist));
	put_metadata_text(writer, "trouble", gist, true);
	sink_text(writer->sink, "},\n\"traceEvents\":[");
}

/* --- events ----------------------------------------------------------------------------------- */

static bool make_heads(struct writer *writer)
{
	const uint32_t n = writer->model->n_regions;
	char name[2100], file[2100], head[PIECE_BYTES];

	writer->heads = calloc((size_t)n + 1, sizeof(*writer->heads));
	if (!writer->heads)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		snprintf(head, sizeof(head), "{\"name\":\"%s\",\"args\":{\"file\":\"%s\",\"line\":%" PRIu32,
			 escape(name, writer->texts.names[i]), escape(file, writer->texts.files[i]),
			 writer->model->regions[i].line);
		writer->heads[i] = strdup(head);
		if (!writer->heads[i])
			return false;
	}
	return true;
}

/* {"name":"process_name","ph":"M",...}: `value` is JSON. */
static void put_meta(struct writer *writer, const char *what, uint64_t pid, uint64_t tid, const char *key,
		     const char *value)
{
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at += snprintf(at, EVENT_BYTES - 8,
		       "{\"name\":\"%s\",\"ph\":\"M\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64 ",\"args\":{\"%s\":%s}}",
		       what, pid, tid, key, value);
	end_event(writer, start, at);
}

static void put_name_and_order(struct writer *writer, const char *what, uint64_t pid, uint64_t tid, const char *name,
			       uint64_t order)
{
	char key[64], escaped[2 * OUT_NAME_BYTES], value[2 * OUT_NAME_BYTES + 8];

	snprintf(value, sizeof(value), "\"%s\"", escape(escaped, name));
	snprintf(key, sizeof(key), "%s_name", what);
	put_meta(writer, key, pid, tid, "name", value);
	snprintf(value, sizeof(value), "%" PRIu64, order);
	snprintf(key, sizeof(key), "%s_sort_index", what);
	put_meta(writer, key, pid, tid, "sort_index", value);
}

/* Of the axis. */
static char *put_times(char *at, const struct writer *writer, uint64_t start_ns, uint64_t end_ns)
{
	at = put_text(at, ",\"ts\":");
	at = put_us(at, start_ns - writer->base_ns);
	at = put_text(at, ",\"dur\":");
	return put_us(at, end_ns - start_ns);
}

static char *put_ids(char *at, uint64_t pid, uint64_t tid)
{
	at = put_text(at, ",\"pid\":");
	at = put_uint(at, pid);
	at = put_text(at, ",\"tid\":");
	at = put_uint(at, tid);
	*at++ = '}';
	return at;
}

static void put_slice(struct writer *writer, const struct warpspan_slice *slice, uint32_t device, const char *tail,
		      uint64_t pid, uint64_t tid)
{
	const char *end = slice_end_word(slice->end);
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at = put_text(at, writer->heads[slice->region]);
	at = put_text(at, tail);
	if (end) {
		at = put_text(at, ",\"end\":\"");
		at = put_text(at, end);
		*at++ = '"';
	}
	at = put_text(at, "},\"ph\":\"X\"");
	at = put_times(at, writer, out_axis_of_device(&writer->axis, device, slice->start_ns),
		       out_axis_of_device(&writer->axis, device, slice->end_ns));
	end_event(writer, start, put_ids(at, pid, tid));
}

static void put_mark(struct writer *writer, const struct warpspan_mark *mark, uint32_t device, const char *tail,
		     uint64_t pid, uint64_t tid)
{
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at = put_text(at, writer->heads[mark->region]);
	at = put_text(at, tail);
	if (mark->kind != WARPSPAN_KIND_MARK)
		at = put_text(at, ",\"value\":");
	if (mark->kind == WARPSPAN_KIND_VALUE_U32) {
		at = put_uint(at, mark->bits);
	} else if (mark->kind == WARPSPAN_KIND_VALUE_I32) {
		const int64_t value = (int32_t)mark->bits;

		if (value < 0)
			*at++ = '-';
		at = put_uint(at, (uint64_t)(value < 0 ? -value : value));
	} else if (mark->kind == WARPSPAN_KIND_VALUE_F32) {
		at = put_float(at, (float)warpspan_mark_value(mark));
	}
	at = put_text(at, "},\"ph\":\"i\",\"s\":\"t\",\"ts\":");
	at = put_us(at, out_axis_of_device(&writer->axis, device, mark->time_ns) - writer->base_ns);
	end_event(writer, start, put_ids(at, pid, tid));
}

static void put_track(struct writer *writer, const struct warpspan_track *track, uint64_t pid, uint64_t tid,
		      uint64_t order)
{
	const uint32_t *grid = writer->model->grids[track->grid].grid,
		       device = writer->model->grids[track->grid].device;
	char name[OUT_NAME_BYTES], warp[OUT_NAME_BYTES], block[TEXT_NUMBER_BYTES], tail[TAIL_BYTES];
	struct out_event event;
	struct out_walk walk;

	text_block(block, track->block);
	snprintf(name, sizeof(name), "SM %" PRIu32 " block %s %.60s", track->sm, block, out_warp_name(track, warp));
	put_name_and_order(writer, "thread", pid, tid, name, order);
	snprintf(tail, sizeof(tail),
		 ",\"grid\":\"%" PRIu32 "x%" PRIu32 "x%" PRIu32 "\",\"block\":\"%s\",\"sm\":%" PRIu32, grid[0], grid[1],
		 grid[2], block, track->sm);
	out_walk_init(&walk, writer->model, track, writer->open);
	while (out_walk_next(&walk, &event)) {
		if (event.kind == OUT_BEGIN)
			put_slice(writer, event.slice, device, tail, pid, tid);
		else if (event.kind == OUT_MARK)
			put_mark(writer, event.mark, device, tail, pid, tid);
	}
}

/* One end of the arrow to a grid: of the slice that is open there then. */
static void put_arrow(struct writer *writer, const char *phase, uint32_t grid, uint64_t time_ns, uint64_t pid,
		      uint64_t tid)
{
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at = put_text(at, "{\"name\":\"launch\",\"cat\":\"launch\",\"ph\":\"");
	at = put_text(at, phase);
	at = put_text(at, "\",\"id\":");
	at = put_uint(at, (uint64_t)grid + 1);
	at = put_text(at, ",\"ts\":");
	at = put_us(at, time_ns - writer->base_ns);
	end_event(writer, start, put_ids(at, pid, tid));
}

static void put_launch_slice(struct writer *writer, uint32_t index, uint64_t pid, uint64_t tid)
{
	const struct warpspan_grid *grid = &writer->model->grids[index];
	char kernel[OUT_KERNEL_BYTES], escaped[2 * OUT_KERNEL_BYTES];
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at += snprintf(at, EVENT_BYTES / 2,
		       "{\"name\":\"%s\",\"args\":{\"grid\":\"%" PRIu32 "x%" PRIu32 "x%" PRIu32
		       "\",\"threads\":\"%" PRIu32 "x%" PRIu32 "x%" PRIu32 "\",\"grid_id\":%" PRIu64,
		       escape(escaped, out_kernel_name(writer->model, grid->kernel, kernel)), grid->grid[0],
		       grid->grid[1], grid->grid[2], grid->threads[0], grid->threads[1], grid->threads[2],
		       grid->grid_id);
	if (grid->host != WARPSPAN_NONE) {
		const struct warpspan_launch *host = &writer->model->launches[grid->host];

		at += snprintf(at, TAIL_BYTES, ",\"launch\":%" PRIu64 ",\"stream\":%" PRIu64, host->number,
			       host->stream);
	}
	if (grid->phase == WARPSPAN_EARLY)
		at = put_text(at, ",\"launched\":\"" OUT_EARLY "\"");
	at += snprintf(at, TAIL_BYTES,
		       ",\"warps\":%" PRIu32 ",\"records\":%" PRIu64 ",\"lost\":%" PRIu64 "},\"ph\":\"X\"",
		       grid->n_warps, grid->n_records, grid->n_lost);
	const uint64_t start_ns = out_axis_of_device(&writer->axis, grid->device, grid->start_ns);
	at = put_times(at, writer, start_ns, out_axis_of_device(&writer->axis, grid->device, grid->end_ns));
	end_event(writer, start, put_ids(at, pid, tid));
	if (writer->axis.n_host_threads && writer->host.has_arrow[index])
		put_arrow(writer, "f\",\"bp\":\"e", index, start_ns, pid, tid);
}

/* `tid` is the next free one; threads are numbered through the whole file. */
static void put_launch(struct writer *writer, uint32_t index, uint64_t *tid)
{
	const struct warpspan_grid *grid = &writer->model->grids[index];
	const uint64_t pid = (uint64_t)index + 1;
	char name[OUT_NAME_BYTES], device[OUT_NAME_BYTES], launch[OUT_NAME_BYTES];

	snprintf(name, sizeof(name), "%.190s, %.120s", out_launch_name(writer->model, index, launch),
		 out_device_name(writer->model, grid->device, device));
	text_clean(name, sizeof(name), strcpy(launch, name)); /* the cut may have split a character */
	put_name_and_order(writer, "process", pid, *tid, name, (uint64_t)index + 1);
	put_name_and_order(writer, "thread", pid, *tid, "launch", 0);
	put_launch_slice(writer, index, pid, (*tid)++);
	for (uint32_t i = 0; i < grid->n_tracks; i++) {
		const struct warpspan_track *track = &writer->model->tracks[grid->first_track + i];

		if (track->n_slices != 0 || track->n_marks != 0)
			put_track(writer, track, pid, (*tid)++, (uint64_t)i + 1);
	}
}

/* --- host ------------------------------------------------------------------------------------- */

static void put_host_slice(struct writer *writer, const struct warpspan_host_slice *slice, uint64_t pid, uint64_t tid)
{
	const uint64_t start_ns = out_axis_of_host(&writer->axis, slice->begin_ns);
	char name[OUT_HOST_NAME_BYTES], escaped[2 * OUT_HOST_NAME_BYTES];
	struct out_host_arguments arguments;
	char *start, *at = begin_event(writer, &start);
	uint32_t key, n_arrows;

	if (!at)
		return;
	out_host_arguments(&writer->host, slice, &arguments);
	at += snprintf(at, EVENT_BYTES / 2,
		       "{\"name\":\"%s\",\"args\":{\"number\":%" PRIu64 ",\"stream\":%" PRIu64 ",\"context\":%" PRIu32
		       ",\"result\":%" PRId32,
		       escape(escaped, out_host_name(&writer->host, slice, name, &key)), arguments.number,
		       arguments.stream, arguments.context, arguments.result);
	if (arguments.has_bytes)
		at += snprintf(at, TAIL_BYTES, ",\"bytes\":%" PRIu64, arguments.amount);
	if (arguments.has_graph)
		at += snprintf(at, TAIL_BYTES, ",\"graph\":%" PRIu64 ",\"grids\":%" PRIu32, arguments.amount,
			       arguments.n_grids);
	if (arguments.api)
		at += snprintf(at, TAIL_BYTES, ",\"api\":\"%s\"", arguments.api);
	if (arguments.early)
		at = put_text(at, ",\"launched\":\"" OUT_EARLY "\"");
	if (slice->open)
		at += snprintf(at, TAIL_BYTES, ",\"end\":\"%s\"", slice_end_word(WARPSPAN_END_OPEN));
	at = put_text(at, "},\"ph\":\"X\"");
	at = put_times(at, writer, start_ns, out_axis_of_host(&writer->axis, slice->end_ns));
	end_event(writer, start, put_ids(at, pid, tid));
	const uint32_t *grids = out_host_arrows(&writer->host, slice, &n_arrows);
	for (uint32_t i = 0; i < n_arrows; i++)
		put_arrow(writer, "s", grids[i], start_ns, pid, tid);
}

static void put_host_mark(struct writer *writer, const struct warpspan_host_mark *mark, uint64_t pid, uint64_t tid)
{
	char text[OUT_KERNEL_BYTES], escaped[2 * OUT_KERNEL_BYTES];
	char *start, *at = begin_event(writer, &start);

	if (!at)
		return;
	at = put_text(at, "{\"name\":\"");
	at = put_text(at, escape(escaped, out_mark_text(mark, text)));
	at = put_text(at, "\",\"cat\":\"mark\",\"args\":{},\"ph\":\"i\",\"s\":\"t\",\"ts\":");
	at = put_us(at, out_axis_of_host(&writer->axis, mark->time_ns) - writer->base_ns);
	end_event(writer, start, put_ids(at, pid, tid));
}

static void put_host(struct writer *writer, uint64_t *tid)
{
	const struct warpspan_model *model = writer->model;
	const uint64_t pid = (uint64_t)model->n_grids + 1;
	char name[OUT_NAME_BYTES];

	if (writer->axis.n_host_threads)
		put_name_and_order(writer, "process", pid, *tid, out_process_name(model, name), 0);
	for (uint32_t i = 0; i < writer->axis.n_host_threads; i++, (*tid)++) {
		const struct warpspan_host_thread *thread = &model->host_threads[i];

		put_name_and_order(writer, "thread", pid, *tid, out_thread_name(model, i, name), i);
		for (uint32_t k = thread->first_slice; k < thread->first_slice + thread->n_slices; k++)
			put_host_slice(writer, &model->host_slices[k], pid, *tid);
		for (uint32_t k = thread->first_mark; k < thread->first_mark + thread->n_marks; k++)
			put_host_mark(writer, &model->host_marks[k], pid, *tid);
	}
}

int warpspan_write_json(const struct warpspan_model *model, struct sink *sink)
{
	struct writer writer = { .model = model, .sink = sink, .first = true };
	int result = WARPSPAN_NO_MEMORY;

	writer.open = calloc(OUT_MOST_DEPTH, sizeof(*writer.open));
	if (out_texts_init(&writer.texts, model) && writer.open && make_heads(&writer) &&
	    out_axis_init(&writer.axis, model) && out_host_init(&writer.host, model)) {
		/* threads do not share numbers with processes: a viewer takes such a pair for a main thread */
		uint64_t tid = (uint64_t)model->n_grids + 2;

		writer.base_ns = out_axis_start(&writer.axis);
		put_header(&writer);
		put_host(&writer, &tid);
		for (uint32_t i = 0; i < model->n_grids; i++)
			put_launch(&writer, i, &tid);
		sink_text(sink, "\n]}\n");
		result = WARPSPAN_OK;
	}
	for (uint32_t i = 0; writer.heads && i < model->n_regions; i++)
		free(writer.heads[i]);
	free(writer.heads);
	free(writer.open);
	out_texts_finish(&writer.texts);
	out_axis_finish(&writer.axis);
	out_host_finish(&writer.host);
	return result;
}

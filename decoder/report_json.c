/* SPDX-License-Identifier: Apache-2.0
 *
 * report_json.c - the report for programs: schema "warpspan-report/1".
 *
 * The same numbers as report.c, with full names and paths. Within a schema number fields are only added. Times are
 * integer nanoseconds: of the device since `base_ns`, the start of the first launch. What need not fit into a double
 * (moments of the host and of the device) is a string of digits. Built as a cJSON tree: it grows with launches and
 * regions, not with records. Called by the command; any thread.
 */
#include "host_stats.h"
#include "report.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA "warpspan-report/1"

/* A tree that cannot be completed for want of memory is thrown away as a whole. */
struct builder {
	const struct warpspan_model *model;
	const struct warpspan_stats *stats;
	bool out_of_memory;
};

static cJSON *add(struct builder *builder, cJSON *parent, const char *key, cJSON *child)
{
	if (!child || !parent) {
		builder->out_of_memory = true;
		cJSON_Delete(child);
		return NULL;
	}
	if (!(key ? cJSON_AddItemToObject(parent, key, child) : cJSON_AddItemToArray(parent, child))) {
		builder->out_of_memory = true;
		cJSON_Delete(child);
		return NULL;
	}
	return child;
}

static cJSON *add_object(struct builder *builder, cJSON *parent, const char *key)
{
	return add(builder, parent, key, cJSON_CreateObject());
}

static cJSON *add_array(struct builder *builder, cJSON *parent, const char *key)
{
	return add(builder, parent, key, cJSON_CreateArray());
}

static void add_text(struct builder *builder, cJSON *parent, const char *key, const char *text)
{
	char *valid = malloc(3 * strlen(text) + 1);

	if (!valid) {
		builder->out_of_memory = true;
		return;
	}
	add(builder, parent, key, cJSON_CreateString(text_valid(valid, text)));
	free(valid);
}

static void add_count(struct builder *builder, cJSON *parent, const char *key, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, n);
	add(builder, parent, key, cJSON_CreateRaw(digits));
}

/* As a string: the doubles most readers make of numbers end at 2^53. */
static void add_digits(struct builder *builder, cJSON *parent, const char *key, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, n);
	add_text(builder, parent, key, digits);
}

static void add_number(struct builder *builder, cJSON *parent, const char *key, double value)
{
	add(builder, parent, key, cJSON_CreateNumber(value));
}

static void add_bool(struct builder *builder, cJSON *parent, const char *key, bool value)
{
	add(builder, parent, key, cJSON_CreateBool(value));
}

static void add_dimensions(struct builder *builder, cJSON *parent, const char *key, const uint32_t dimensions[3])
{
	cJSON *array = add_array(builder, parent, key);

	for (unsigned i = 0; i < 3; i++)
		add_count(builder, array, NULL, dimensions[i]);
}

static const char *kernel_name(const struct builder *builder, uint32_t kernel)
{
	return kernel == WARPSPAN_NONE ? "kernels beyond the device's table"
				       : builder->model->kernels[kernel].demangled;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Who did it; null where that is not known. */
static void add_origin(struct builder *builder, cJSON *parent, const char *key, const char *thread_key, const char *who,
		       uint32_t thread)
{
	if (*who == '\0') {
		add(builder, parent, key, cJSON_CreateNull());
		add(builder, parent, thread_key, cJSON_CreateNull());
		return;
	}
	add_text(builder, parent, key, who);
	add_count(builder, parent, thread_key, thread);
}

static void add_session(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	char name[256];
	cJSON *session = add_object(builder, root, "session");

	add_text(builder, session, "capture", model->path);
	add_text(builder, session, "version", model->version);
	add_text(builder, session, "command", model->command);
	add_text(builder, session, "host", model->host);
	add_text(builder, session, "rank", model->rank);
	add_text(builder, session, "launcher", model->launcher);
	add_count(builder, session, "world", model->world);
	add_count(builder, session, "pid", model->pid);
	add_count(builder, session, "session", model->session);
	add_digits(builder, session, "start_realtime_ns", model->start_realtime_ns);
	add_origin(builder, session, "started_by", "started_in_thread", model->started_by, model->started_in_thread);
	add_origin(builder, session, "stopped_by", "stopped_in_thread", model->stopped_by, model->stopped_in_thread);
	if (model->stop_monotonic_ns != 0)
		add_count(builder, session, "duration_ns", model->stop_monotonic_ns - model->start_monotonic_ns);
	else
		add(builder, session, "duration_ns", cJSON_CreateNull());
	add_bool(builder, session, "quiet", model->quiet);
	add_count(builder, session, "late_launches", model->n_late_launches);
	add_count(builder, session, "late_warps", model->n_late_warps);
	add_count(builder, session, "buffer_bytes", 2 * model->arena_bytes);
	add_count(builder, session, "events_per_warp", model->words_asked);
	add_count(builder, session, "warps", model->n_segments);
	add_count(builder, session, "records", model->n_records);
	add_bool(builder, session, "complete", model->complete);
	cJSON *devices = add_array(builder, root, "devices");
	for (uint32_t i = 0; i < model->n_devices; i++) {
		cJSON *device = add_object(builder, devices, NULL);

		add_count(builder, device, "ordinal", model->devices[i].ordinal);
		add_text(builder, device, "name", model->devices[i].name);
		add_text(builder, device, "uuid", model->devices[i].uuid);
		add_text(builder, device, "compute", model->devices[i].compute);
		add_count(builder, device, "sms", model->devices[i].n_sms);
		add_count(builder, device, "clock_khz", model->devices[i].clock_khz);
	}
	cJSON *counters = add_object(builder, root, "counters");
	for (uint32_t i = 0; i < model->n_counters; i++)
		add_count(builder, counters, text_clean(name, sizeof(name), model->counters[i].name),
			  model->counters[i].value);
}

static void add_clock(struct builder *builder, cJSON *parent, const char *key, const struct warpspan_clock_fit *clock)
{
	cJSON *object = add_object(builder, parent, key);

	add_count(builder, object, "device", builder->model->devices[clock->device].ordinal);
	add_count(builder, object, "tick_ns", clock->tick_ns);
	add_bool(builder, object, "tick_at_most", clock->tick_at_most);
	add_number(builder, object, "rate_hz", clock->rate_hz);
	add_number(builder, object, "error_ns", clock->error_ns);
	add_number(builder, object, "typical_error_ns", clock->typical_error_ns);
	add_count(builder, object, "epochs", clock->n_epochs);
	add_count(builder, object, "sms", clock->n_sms);
	add_count(builder, object, "pairs", clock->n_pairs);
	add_bool(builder, object, "fitted", clock->fitted);
}

static void add_clocks(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;

	if (model->n_clocks == 0)
		add(builder, root, "clock", cJSON_CreateNull());
	else
		add_clock(builder, root, "clock", &model->clocks[0]);
	cJSON *clocks = add_array(builder, root, "clocks");
	for (uint32_t i = 0; i < model->n_clocks; i++)
		add_clock(builder, clocks, NULL, &model->clocks[i]);
}

/* As a string, like add_digits(). */
static void add_signed_digits(struct builder *builder, cJSON *parent, const char *key, int64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, n);
	add_text(builder, parent, key, digits);
}

static void add_host_clocks(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *clocks = add_array(builder, root, "host_clocks");

	for (uint32_t i = 0; i < model->n_host_clocks; i++) {
		const struct warpspan_host_clock *clock = &model->host_clocks[i];
		cJSON *object = add_object(builder, clocks, NULL);

		add_count(builder, object, "device", model->devices[clock->device].ordinal);
		add_bool(builder, object, "agrees", clock->agrees);
		add_signed_digits(builder, object, "offset_ns", clock->offset_ns);
		if (clock->bounded)
			add_number(builder, object, "error_ns", clock->error_ns);
		else
			add(builder, object, "error_ns", cJSON_CreateNull());
		add_number(builder, object, "drift_ppm", clock->drift * 1e6);
		add_count(builder, object, "grids", clock->n_upper);
		add_count(builder, object, "synchronisations", clock->n_lower);
	}
}

/* A moment of CLOCK_MONOTONIC as CLOCK_REALTIME. */
static uint64_t realtime_of(const struct warpspan_model *model, uint64_t monotonic_ns)
{
	return monotonic_ns - model->start_monotonic_ns + model->start_realtime_ns;
}

static const char *match_word(enum warpspan_match match)
{
	switch (match) {
	case WARPSPAN_MATCH_GRID_ID:
		return "grid_id";
	case WARPSPAN_MATCH_REPEAT:
		return "repetition";
	case WARPSPAN_MATCH_UNSURE:
		break;
	}
	return "unsure";
}

static const char *join_word(enum warpspan_join join)
{
	switch (join) {
	case WARPSPAN_JOIN_NONE:
		return "nothing";
	case WARPSPAN_JOIN_ID:
		return "grid_id";
	case WARPSPAN_JOIN_ORDER:
		return "order";
	case WARPSPAN_JOIN_AMBIGUOUS:
		break;
	}
	return "ambiguous";
}

static void add_launches(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	const uint64_t base_ns = model->n_grids ? model->grids[0].start_ns : 0; /* they are sorted by start */

	add_digits(builder, root, "base_ns", base_ns);
	cJSON *launches = add_array(builder, root, "launches");
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];
		cJSON *launch = add_object(builder, launches, NULL);

		add_text(builder, launch, "kernel", kernel_name(builder, grid->kernel));
		add_dimensions(builder, launch, "grid", grid->grid);
		add_dimensions(builder, launch, "block", grid->threads);
		add_dimensions(builder, launch, "cluster", grid->cluster);
		add_count(builder, launch, "start_ns", grid->start_ns - base_ns);
		add_count(builder, launch, "duration_ns", grid->end_ns - grid->start_ns);
		add_count(builder, launch, "warps", grid->n_warps);
		add_count(builder, launch, "open", grid->n_open);
		add_count(builder, launch, "records", grid->n_records);
		add_count(builder, launch, "lost", grid->n_lost);
		add_count(builder, launch, "device", model->devices[grid->device].ordinal);
		add_count(builder, launch, "context", grid->context);
		add_count(builder, launch, "grid_id", grid->grid_id);
		add_text(builder, launch, "told_apart_by", match_word(grid->match));
		add_text(builder, launch, "joined_by", join_word(grid->join));
		add_bool(builder, launch, "before_session", grid->phase == WARPSPAN_EARLY);
		if (grid->call != WARPSPAN_NONE)
			add_count(builder, launch, "graph_launch", model->calls[grid->call].number);
		if (grid->host == WARPSPAN_NONE) {
			add(builder, launch, "number", cJSON_CreateNull());
			continue;
		}
		const struct warpspan_launch *host = &model->launches[grid->host];
		add_count(builder, launch, "number", host->number);
		add_count(builder, launch, "stream", host->stream);
		add_count(builder, launch, "thread", host->thread);
		add_count(builder, launch, "shared_bytes", host->shared_bytes);
		add_count(builder, launch, "call_ns",
			  host->end_ns > host->begin_ns ? host->end_ns - host->begin_ns : 0);
		add_digits(builder, launch, "call_realtime_ns", realtime_of(model, host->begin_ns));
	}
}

static void add_unseen(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *unseen = add_array(builder, root, "launches_without_records");

	for (uint32_t i = 0; i < model->n_kernels; i++) {
		if (builder->stats->kernels[i].n_unseen == 0)
			continue;
		cJSON *entry = add_object(builder, unseen, NULL);

		add_text(builder, entry, "kernel", kernel_name(builder, i));
		add_count(builder, entry, "count", builder->stats->kernels[i].n_unseen);
	}
}

static void add_place(struct builder *builder, cJSON *object, uint32_t index)
{
	const struct warpspan_region *region = &builder->model->regions[index];

	add_text(builder, object, "name", region->name);
	add_text(builder, object, "file", region->file);
	add_count(builder, object, "line", region->line);
	add_text(builder, object, "kernel", kernel_name(builder, region->kernel));
}

/* Of the kernel the region is in. */
static void add_device(struct builder *builder, cJSON *object, const struct kernel_stats *kernel)
{
	const struct warpspan_model *model = builder->model;

	add_count(builder, object, "device", model->devices[model->grids[kernel->first_grid].device].ordinal);
}

static void add_regions(struct builder *builder, cJSON *root)
{
	const struct warpspan_stats *stats = builder->stats;
	cJSON *regions = add_array(builder, root, "regions");

	for (uint32_t k = 0; k < stats->n_kernels; k++) {
		const struct kernel_stats *kernel = &stats->kernels[stats->kernel_order[k]];

		for (uint32_t i = 0; i < kernel->n_rows; i++) {
			const uint32_t index = stats->rows[kernel->first_row + i];
			const struct region_stats *numbers = &stats->regions[index];
			cJSON *region = add_object(builder, regions, NULL);

			add_place(builder, region, index);
			add_device(builder, region, kernel);
			add_count(builder, region, "count", numbers->count);
			add_count(builder, region, "cut", numbers->n_cut);
			add_count(builder, region, "nested", numbers->n_nested);
			add_count(builder, region, "warps", numbers->n_warps);
			add_count(builder, region, "level", numbers->level);
			add_count(builder, region, "total_ns", numbers->total_ns);
			add_number(builder, region, "mean_ns", numbers->mean_ns);
			add_count(builder, region, "p50_ns", numbers->p50_ns);
			add_count(builder, region, "p99_ns", numbers->p99_ns);
			add_count(builder, region, "min_ns", numbers->min_ns);
			add_count(builder, region, "max_ns", numbers->max_ns);
			add_number(builder, region, "share", numbers->share);
		}
	}
}

static void add_values(struct builder *builder, cJSON *root)
{
	const struct warpspan_stats *stats = builder->stats;
	cJSON *values = add_array(builder, root, "values");

	for (uint32_t k = 0; k < stats->n_kernels; k++) {
		const struct kernel_stats *kernel = &stats->kernels[stats->kernel_order[k]];

		for (uint32_t i = 0; i < kernel->n_marks; i++) {
			const uint32_t index = stats->mark_rows[kernel->first_mark + i];
			const struct region_stats *numbers = &stats->regions[index];
			const bool plain = numbers->mark_kind == WARPSPAN_KIND_MARK;
			cJSON *value = add_object(builder, values, NULL);

			add_place(builder, value, index);
			add_device(builder, value, kernel);
			add_text(builder, value, "kind", plain ? "mark" : "value");
			add_count(builder, value, "count", numbers->n_marks);
			add_count(builder, value, "warps", numbers->n_mark_warps);
			if (plain)
				continue;
			add_count(builder, value, "nan", numbers->n_nan);
			if (numbers->n_nan == numbers->n_marks)
				continue;
			add_number(builder, value, "min", numbers->value_min);
			add_number(builder, value, "mean", numbers->value_mean);
			add_number(builder, value, "max", numbers->value_max);
		}
	}
}

static void add_lost(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *lost = add_object(builder, root, "lost");
	uint64_t buffer_bytes;
	uint32_t events;
	bool change_buffer, change_events;

	add_count(builder, lost, "records", model->n_lost_records);
	add_count(builder, lost, "warps", model->n_lost_warps);
	add_count(builder, lost, "contexts", model_counter(model, "context_lost"));
	add_count(builder, lost, "overwritten_warps", model_counter(model, "overwritten"));
	cJSON *by_kernel = add_array(builder, lost, "by_kernel");
	for (uint32_t i = 0; i < model->n_lost; i++) {
		cJSON *entry = add_object(builder, by_kernel, NULL);

		add_text(builder, entry, "kernel", kernel_name(builder, model->lost[i].kernel));
		add_count(builder, entry, "records", model->lost[i].n_records);
		add_count(builder, entry, "warps_cut", model->lost[i].n_warps_cut);
		add_count(builder, entry, "warps_unheard", model->lost[i].n_warps_unheard);
		add_count(builder, entry, "most_events", model->lost[i].most_words);
		add_text(builder, entry, "example", model->lost[i].first);
	}
	warpspan_model_sufficient(model, &buffer_bytes, &events);
	if (model->n_lost_records == 0 && model->n_lost_warps == 0) {
		add(builder, lost, "sufficient", cJSON_CreateNull());
		return;
	}
	cJSON *sufficient = add_object(builder, lost, "sufficient");
	add_count(builder, sufficient, "buffer", buffer_bytes);
	add_count(builder, sufficient, "events_per_warp", events);
	warpspan_model_to_change(model, &change_buffer, &change_events);
	cJSON *change = add_array(builder, sufficient, "change");
	if (change_buffer)
		add(builder, change, NULL, cJSON_CreateString("WARPSPAN_BUFFER"));
	if (change_events)
		add(builder, change, NULL, cJSON_CreateString("WARPSPAN_EVENTS_PER_WARP"));
}

static void add_unpaired(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *unpaired = add_object(builder, root, "unpaired");
	uint64_t n[WARPSPAN_N_UNPAIRED_CAUSES] = { 0 };

	for (uint32_t i = 0; i < model->n_unpaired; i++)
		n[model->unpaired[i].cause] += model->unpaired[i].n;
	for (unsigned cause = 0; cause < WARPSPAN_N_UNPAIRED_CAUSES; cause++)
		add_count(builder, unpaired, unpaired_cause_word(cause), n[cause]);
	cJSON *places = add_array(builder, unpaired, "places");
	for (uint32_t i = 0; i < model->n_unpaired; i++) {
		cJSON *place = add_object(builder, places, NULL);

		add_text(builder, place, "cause", unpaired_cause_word(model->unpaired[i].cause));
		if (model->unpaired[i].region != WARPSPAN_NONE)
			add_place(builder, place, model->unpaired[i].region);
		add_count(builder, place, "count", model->unpaired[i].n);
	}
}

static void add_host_calls(struct builder *builder, cJSON *root)
{
	struct host_stats stats = { 0 };
	cJSON *calls = add_array(builder, root, "host_calls");

	if (host_stats_compute(&stats, builder->model) < 0)
		builder->out_of_memory = true;
	for (uint32_t i = 0; i < stats.n_rows && !builder->out_of_memory; i++) {
		const struct host_call_stats *row = &stats.rows[i];
		cJSON *call = add_object(builder, calls, NULL);

		add_text(builder, call, "kind", row->kind);
		add_text(builder, call, "entry_point", row->api);
		add_count(builder, call, "count", row->count);
		add_count(builder, call, "failed", row->n_failed);
		add_count(builder, call, "open", row->n_open);
		add_count(builder, call, "total_ns", row->total_ns);
		add_number(builder, call, "mean_ns", row->count ? (double)row->total_ns / (double)row->count : 0);
		add_count(builder, call, "max_ns", row->max_ns);
		add_count(builder, call, "bytes", row->bytes);
	}
	host_stats_finish(&stats);
}

/* Texts the program put on its timeline. */
static void add_host_marks(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *marks = add_array(builder, root, "marks");

	for (uint32_t i = 0; i < model->n_host_marks; i++) {
		const struct warpspan_host_mark *mark = &model->host_marks[i];
		cJSON *object = add_object(builder, marks, NULL);

		add_text(builder, object, "text", mark->text);
		add_count(builder, object, "thread", model->host_threads[mark->thread].id);
		add_digits(builder, object, "realtime_ns", realtime_of(model, mark->time_ns));
	}
}

static void add_damage(struct builder *builder, cJSON *root)
{
	const struct warpspan_model *model = builder->model;
	cJSON *damage = add_array(builder, root, "damage");

	for (uint32_t i = 0; i < model->n_damage; i++) {
		cJSON *place = add_object(builder, damage, NULL);

		if (model->damage[i].offset == UINT64_MAX)
			add(builder, place, "offset", cJSON_CreateNull());
		else
			add_count(builder, place, "offset", model->damage[i].offset);
		add_text(builder, place, "text", model->damage[i].text);
	}
	add_count(builder, root, "repairs", model->n_repairs);
	add_count(builder, root, "wraps_unplaced", model->n_wraps_unplaced);
}

int warpspan_report_json(const struct warpspan_model *model, FILE *out)
{
	struct warpspan_stats *stats = NULL;
	int result = warpspan_stats_compute(model, &stats);

	if (result < 0)
		return result;
	struct builder builder = { .model = model, .stats = stats };
	cJSON *root = cJSON_CreateObject();

	add_text(&builder, root, "schema", SCHEMA);
	add_session(&builder, root);
	add_clocks(&builder, root);
	add_host_clocks(&builder, root);
	add_launches(&builder, root);
	add_unseen(&builder, root);
	add_regions(&builder, root);
	add_values(&builder, root);
	add_host_calls(&builder, root);
	add_host_marks(&builder, root);
	add_lost(&builder, root);
	add_unpaired(&builder, root);
	add_damage(&builder, root);
	char *text = builder.out_of_memory ? NULL : cJSON_Print(root);
	cJSON_Delete(root);
	warpspan_stats_destroy(stats);
	if (!text)
		return WARPSPAN_NO_MEMORY;
	fputs(text, out);
	fputc('\n', out);
	cJSON_free(text);
	return fflush(out) != 0 || ferror(out) ? WARPSPAN_IO : WARPSPAN_OK;
}

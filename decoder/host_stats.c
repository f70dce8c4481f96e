/* SPDX-License-Identifier: Apache-2.0
 *
 * host_stats.c - sums over the host's calls. See host_stats.h. Pure functions of the model; any thread.
 */
#include "host_stats.h"

#include "array.h"
#include "map.h"

const char *host_call_kind_text(uint32_t kind)
{
	switch (kind) {
#define WARPSPAN_X(name, number, text) \
	case WARPSPAN_HOST_##name:     \
		return text;
		WARPSPAN_HOST_CALLS(WARPSPAN_X)
#undef WARPSPAN_X
	}
	return "unknown";
}

const char *host_launch_api(const struct warpspan_launch *launch)
{
	switch (launch->api) {
#define WARPSPAN_X(name, number, text) \
	case WARPSPAN_API_##name:      \
		return text;
		WARPSPAN_LAUNCH_APIS(WARPSPAN_X)
#undef WARPSPAN_X
	}
	return "";
}

const struct warpspan_hook *host_call_hook(const struct warpspan_model *model, const struct warpspan_host_call *call)
{
	uint32_t low = 0, high = model->n_hooks;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (model->hooks[middle].number < call->api)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->n_hooks && model->hooks[low].number == call->api ? &model->hooks[low] : NULL;
}

const char *host_call_api(const struct warpspan_model *model, const struct warpspan_host_call *call)
{
	const struct warpspan_hook *hook = host_call_hook(model, call);
	return hook != NULL ? hook->name : "";
}

typedef ARRAY(struct host_call_stats) row_array;

/* Launches share one kind, which no call has. */
#define KIND_LAUNCH (UINT64_MAX)

static struct host_call_stats *find_row(row_array *rows, struct map *by_key, uint64_t kind, uint32_t api)
{
	const uint32_t known = map_find(by_key, kind, api);
	if (known != MAP_NONE)
		return &rows->items[known];
	struct host_call_stats *row = array_add(rows);
	if (row == NULL || map_set(by_key, kind, api, (uint32_t)rows->n - 1) < 0)
		return NULL;
	return row;
}

static void count(struct host_call_stats *row, uint64_t begin_ns, uint64_t end_ns, int32_t result)
{
	if (end_ns == 0) {
		row->n_open++;
		return;
	}
	const uint64_t took_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
	row->count++;
	row->n_failed += result != 0;
	row->total_ns += took_ns;
	if (took_ns > row->max_ns)
		row->max_ns = took_ns;
}

static int by_total(const void *left, const void *right)
{
	const struct host_call_stats *a = left, *b = right;
	if (a->total_ns != b->total_ns)
		return a->total_ns > b->total_ns ? -1 : 1;
	const int kinds = strcmp(a->kind, b->kind);
	return kinds != 0 ? kinds : strcmp(a->api, b->api);
}

static int fill(row_array *rows, struct map *by_key, const struct warpspan_model *model)
{
	for (uint32_t i = 0; i < model->n_launches; i++) {
		const struct warpspan_launch *launch = &model->launches[i];
		struct host_call_stats *row = find_row(rows, by_key, KIND_LAUNCH, launch->api);
		if (row == NULL)
			return WARPSPAN_NO_MEMORY;
		row->kind = "launch";
		row->api = host_launch_api(launch);
		count(row, launch->begin_ns, launch->end_ns, launch->result);
	}
	for (uint32_t i = 0; i < model->n_calls; i++) {
		const struct warpspan_host_call *call = &model->calls[i];
		struct host_call_stats *row = find_row(rows, by_key, call->kind, call->api);
		if (row == NULL)
			return WARPSPAN_NO_MEMORY;
		row->kind = host_call_kind_text(call->kind);
		row->api = host_call_api(model, call);
		row->bytes += call->kind == WARPSPAN_HOST_COPY ? call->amount : 0;
		count(row, call->begin_ns, call->end_ns, call->result);
	}
	return WARPSPAN_OK;
}

int host_stats_compute(struct host_stats *stats, const struct warpspan_model *model)
{
	row_array rows = { 0 };
	struct map by_key = { 0 };
	const int result = fill(&rows, &by_key, model);
	map_finish(&by_key);
	if (rows.n > 1)
		qsort(rows.items, rows.n, sizeof(*rows.items), by_total);
	stats->rows = rows.items;
	stats->n_rows = (uint32_t)rows.n;
	return result;
}

void host_stats_finish(struct host_stats *stats)
{
	free(stats->rows);
	memset(stats, 0, sizeof(*stats));
}

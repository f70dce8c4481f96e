/* SPDX-License-Identifier: Apache-2.0
 *
 * model.c - runs the stages in order and hands their results over as one model.
 *
 * Each stage owns what it builds until the hand-over at the end, which only moves pointers: a failure anywhere before
 * frees the stages and leaves the caller nothing.
 */
#include "model.h"

#include "clock.h"
#include "host.h"
#include "host_clock.h"
#include "kernels.h"
#include "launches.h"
#include "losses.h"
#include "session.h"
#include "spans.h"

#include <errno.h>

struct decoding {
	struct capture *capture;
	struct damage damage; /* taken over from the capture */
	struct meta meta;
	struct sites sites;
	struct segments segments;
	struct losses losses;
	ARRAY(struct warpspan_launch) log;
	struct host host;
	ARRAY(struct warpspan_clock_fit) clocks;
	uint64_t *base_ns; /* per device: of its clock */
	struct launches launches;
	struct session_rest rest;
	struct host_clocks host_clocks;
	struct spans spans;
};

/* --- chunks ----------------------------------------------------------------------------------- */

static int add_launches(struct decoding *decoding, const struct capture_chunk *chunk)
{
	const uint32_t n = chunk->payload_bytes / (uint32_t)sizeof(struct warpspan_launch);
	for (uint32_t i = 0; i < n; i++) {
		struct warpspan_launch *launch = array_add(&decoding->log);
		if (launch == NULL)
			return WARPSPAN_NO_MEMORY;
		memcpy(launch, chunk->payload + (size_t)i * sizeof(*launch), sizeof(*launch));
	}
	if (chunk->payload_bytes % sizeof(struct warpspan_launch) == 0)
		return WARPSPAN_OK;
	return damage_add(&decoding->damage, chunk->offset, "'%.200s': the launches at byte %llu end in a part of one",
			  decoding->capture->path, (unsigned long long)chunk->offset);
}

static int read_chunk(struct decoding *decoding, const struct capture_chunk *chunk)
{
	const char *path = decoding->capture->path;
	switch (chunk->type) {
	case WARPSPAN_CHUNK_META:
		return meta_add_chunk(&decoding->meta, chunk, path, &decoding->damage);
	case WARPSPAN_CHUNK_SITES:
		return sites_add_chunk(&decoding->sites, chunk, path, &decoding->damage);
	case WARPSPAN_CHUNK_LAUNCHES:
		return add_launches(decoding, chunk);
	case WARPSPAN_CHUNK_SEGMENTS:
		return segments_add_chunk(&decoding->segments, chunk, path, &decoding->damage);
	case WARPSPAN_CHUNK_LOSSES:
		return losses_add_chunk(&decoding->losses, chunk, path, &decoding->damage);
	case WARPSPAN_CHUNK_HOST:
		return host_add_chunk(&decoding->host, chunk, path, &decoding->damage);
	}
	return WARPSPAN_OK;
}

static int check_end(struct decoding *decoding)
{
	const struct capture *capture = decoding->capture;
	const uint64_t n_segments = decoding->segments.all.n, n_launches = decoding->log.n;
	/* Chunks that are missing were noted already; this is about what the writer believed it wrote. */
	if (!capture->complete || decoding->damage.places.n > 0 ||
	    (capture->end.segments == n_segments && capture->end.launches == n_launches))
		return WARPSPAN_OK;
	return damage_add(&decoding->damage, capture->chunks.items[capture->chunks.n - 1].offset,
			  "'%.200s': %llu segments and %llu launches were written, %llu and %llu are here",
			  capture->path, (unsigned long long)capture->end.segments,
			  (unsigned long long)capture->end.launches, (unsigned long long)n_segments,
			  (unsigned long long)n_launches);
}

/* A stop before the start is no stop: everything would be late. */
static int check_session(struct decoding *decoding)
{
	struct meta *meta = &decoding->meta;
	if (!meta->has_stop || meta->stop.monotonic_ns >= meta->session.start_monotonic_ns)
		return WARPSPAN_OK;
	meta->has_stop = false;
	return damage_add(&decoding->damage, decoding->capture->n_bytes,
			  "'%.200s': the session stops before it starts; its stop is not believed",
			  decoding->capture->path);
}

static int by_number(const void *left, const void *right)
{
	const struct warpspan_launch *a = left, *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

static int read_chunks(struct decoding *decoding)
{
	int result = WARPSPAN_OK;
	for (size_t i = 0; i < decoding->capture->chunks.n && result >= 0; i++)
		result = read_chunk(decoding, &decoding->capture->chunks.items[i]);
	if (result >= 0 && !decoding->meta.has_session)
		result = damage_add(&decoding->damage, decoding->capture->n_bytes,
				    "'%.200s': no \"session\" object: who made the capture is not known",
				    decoding->capture->path);
	if (result >= 0)
		result = check_end(decoding);
	if (result >= 0)
		result = meta_complete(&decoding->meta);
	if (result >= 0)
		result = losses_count_unheard(&decoding->losses);
	if (decoding->log.n > 1)
		qsort(decoding->log.items, decoding->log.n, sizeof(*decoding->log.items), by_number);
	host_sort(&decoding->host);
	if (result >= 0)
		result = check_session(decoding);
	return result < 0 ? result : WARPSPAN_OK;
}

/* --- clocks ----------------------------------------------------------------------------------- */

static int find_devices(struct decoding *decoding)
{
	for (size_t i = 0; i < decoding->segments.all.n; i++) {
		struct segment *segment = &decoding->segments.all.items[i];
		const int result = meta_device_of(&decoding->meta, segment->context, segment->offset,
						  decoding->capture->path, &decoding->damage, &segment->device);
		if (result < 0)
			return result;
	}
	return WARPSPAN_OK;
}

static struct clock_pair open_pair(const struct segment *segment)
{
	return (struct clock_pair){ segment->head.sm, segment->head.open_clock, segment->head.open_timer };
}

static struct clock_pair close_pair(const struct segment *segment)
{
	return (struct clock_pair){ segment->head.sm, segment->head.close_clock, segment->head.close_timer };
}

/* Places the segments of a device on its clock. */
static void time_segments(struct decoding *decoding, uint32_t device, const struct device_clock *clock)
{
	const uint64_t base_ns = clock->base_ns;
	uint64_t now_ns = 0;
	for (size_t i = 0; i < decoding->segments.all.n; i++) {
		struct segment *segment = &decoding->segments.all.items[i];
		if (segment->device != device)
			continue;
		const struct clock_pair open = open_pair(segment), close = close_pair(segment);
		device_clock_line(clock, &open, segment_is_open(segment) ? NULL : &close, &segment->start,
				  &segment->period);
		segment->start_ns = segment_time_ns(segment, base_ns, segment->head.open_clock);
		segment->end_ns = segment_time_ns(segment, base_ns, segment->last_clock);
		if (segment->end_ns > now_ns)
			now_ns = segment->end_ns;
	}
	/* Open segments are read after all others were: they were still open at any time seen. */
	for (size_t i = 0; i < decoding->segments.all.n; i++) {
		struct segment *segment = &decoding->segments.all.items[i];
		if (segment->device == device && segment_is_open(segment))
			segment->end_ns = now_ns;
	}
}

static int fit_device(struct decoding *decoding, uint32_t device)
{
	size_t n_pairs = 0;
	for (size_t i = 0; i < decoding->segments.all.n; i++)
		if (decoding->segments.all.items[i].device == device)
			n_pairs += segment_is_open(&decoding->segments.all.items[i]) ? 1 : 2;
	if (n_pairs == 0)
		return WARPSPAN_OK;
	struct clock_pair *pairs = calloc(n_pairs, sizeof(*pairs));
	struct warpspan_clock_fit *fit = pairs != NULL ? array_add(&decoding->clocks) : NULL;
	if (fit == NULL) {
		free(pairs);
		return WARPSPAN_NO_MEMORY;
	}
	size_t n = 0;
	for (size_t i = 0; i < decoding->segments.all.n; i++) {
		const struct segment *segment = &decoding->segments.all.items[i];
		if (segment->device != device)
			continue;
		pairs[n++] = open_pair(segment);
		if (!segment_is_open(segment))
			pairs[n++] = close_pair(segment);
	}
	struct device_clock clock = { 0 };
	const int result = device_clock_fit(&clock, pairs, n, decoding->meta.devices.items[device].clock_khz);
	free(pairs);
	if (result == WARPSPAN_OK) {
		*fit = clock.fit;
		fit->device = device;
		decoding->base_ns[device] = clock.base_ns;
		time_segments(decoding, device, &clock);
	}
	device_clock_finish(&clock);
	return result;
}

static int fit_clocks(struct decoding *decoding)
{
	const size_t n_devices = decoding->meta.devices.n;
	decoding->base_ns = calloc(n_devices + 1, sizeof(*decoding->base_ns));
	int result = decoding->base_ns != NULL ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
	for (uint32_t device = 0; device < n_devices && result == WARPSPAN_OK; device++)
		result = fit_device(decoding, device);
	return result;
}

/* --- launches and spans ----------------------------------------------------------------------- */

/* Nothing that was launched is missing in the log: graphs are launched without entries in it, and the counters tell
 * what else was left out of it. */
static bool log_is_whole(const struct decoding *decoding)
{
	static const char *const left_out[] = { "filtered", "capturing", "graph_kernels", "lookup_error", "log_full" };

	if (!decoding->capture->complete || decoding->damage.places.n > 0)
		return false;
	for (size_t i = 0; i < decoding->host.calls.n; i++)
		if (decoding->host.calls.items[i].kind == WARPSPAN_HOST_GRAPH_LAUNCH)
			return false;
	for (size_t i = 0; i < decoding->meta.counters.n; i++)
		for (size_t k = 0; k < sizeof(left_out) / sizeof(left_out[0]); k++)
			if (decoding->meta.counters.items[i].value != 0 &&
			    strcmp(decoding->meta.counters.items[i].name, left_out[k]) == 0)
				return false;
	return true;
}

static int find_launches(struct decoding *decoding)
{
	struct launches *launches = &decoding->launches;
	launches->segments = &decoding->segments;
	launches->sites = &decoding->sites;
	launches->meta = &decoding->meta;
	launches->log = decoding->log.items;
	launches->n_log = (uint32_t)decoding->log.n;
	launches->calls = decoding->host.calls.items;
	launches->n_calls = (uint32_t)decoding->host.calls.n;
	launches->complete = decoding->capture->complete;
	launches->log_whole = log_is_whole(decoding);
	launches->lost_warps = decoding->losses.n_unheard_warps > 0;
	launches->quiet = decoding->meta.has_stop && decoding->meta.stop.quiet && !launches->lost_warps;
	int result = launches_group(launches);
	if (result == WARPSPAN_OK)
		result = launches_join(launches);
	if (result == WARPSPAN_OK)
		result = kernels_merge(launches);
	if (result == WARPSPAN_OK)
		result = losses_by_kernel(&decoding->losses, launches);
	return result;
}

static int fit_host_clocks(struct decoding *decoding)
{
	struct host_clocks *clocks = &decoding->host_clocks;
	clocks->grids = decoding->launches.grids.items;
	clocks->n_grids = (uint32_t)decoding->launches.grids.n;
	clocks->log = decoding->log.items;
	clocks->n_log = (uint32_t)decoding->log.n;
	clocks->calls = decoding->host.calls.items;
	clocks->n_calls = (uint32_t)decoding->host.calls.n;
	clocks->hooks = decoding->meta.hooks.items;
	clocks->n_hooks = (uint32_t)decoding->meta.hooks.n;
	clocks->fits = decoding->clocks.items;
	clocks->n_fits = (uint32_t)decoding->clocks.n;
	return host_clocks_fit(clocks);
}

static int keep_session(struct decoding *decoding)
{
	const int result = session_keep_own(&decoding->launches, decoding->log.items, &decoding->host, &decoding->rest);
	decoding->log.n = decoding->launches.n_log;
	if (result < 0)
		return result;
	decoding->host.marks.items = decoding->meta.marks.items;
	decoding->host.marks.n = decoding->meta.marks.n;
	memset(&decoding->meta.marks, 0, sizeof(decoding->meta.marks));
	return host_arrange(&decoding->host, decoding->log.items, (uint32_t)decoding->log.n);
}

static int find_spans(struct decoding *decoding)
{
	decoding->spans = (struct spans){
		.segments = &decoding->segments,
		.sites = &decoding->sites,
		.grids = decoding->launches.grids.items,
		.n_grids = (uint32_t)decoding->launches.grids.n,
		.base_ns = decoding->base_ns,
	};
	return spans_build(&decoding->spans);
}

/* --- the model -------------------------------------------------------------------------------- */

#define HAND_OVER(to, n_to, from)                    \
	do {                                         \
		(to) = (from).items;                 \
		(n_to) = (__typeof__(n_to))(from).n; \
		memset(&(from), 0, sizeof(from));    \
	} while (0)

static void hand_over_session(struct warpspan_model *model, struct decoding *decoding)
{
	struct meta_session *session = &decoding->meta.session;
	model->version = session->version;
	model->host = session->host;
	model->rank = session->rank;
	model->launcher = session->launcher;
	model->world = session->world;
	model->command = session->command;
	model->pid = session->pid;
	model->session = session->number;
	model->started_by = session->started_by;
	model->started_in_thread = session->started_in_thread;
	model->start_realtime_ns = session->start_realtime_ns;
	model->start_monotonic_ns = session->start_monotonic_ns;
	model->arena_bytes = session->arena_bytes;
	model->words_asked = session->words_asked;
	model->words_least = session->words_least;
	model->words_enough = session->words_enough;
	model->words_most = session->words_most;
	memset(session, 0, sizeof(*session));
	struct meta_stop *stop = &decoding->meta.stop;
	model->stopped_by = stop->stopped_by;
	model->stopped_in_thread = stop->stopped_in_thread;
	model->stop_monotonic_ns = decoding->meta.has_stop ? stop->monotonic_ns : 0;
	model->quiet = decoding->meta.has_stop && stop->quiet;
	memset(stop, 0, sizeof(*stop));
	model->n_late_launches = decoding->rest.n_launches;
	model->n_late_warps = decoding->rest.n_warps;
}

static void hand_over(struct warpspan_model *model, struct decoding *decoding)
{
	model->path = decoding->capture->path;
	decoding->capture->path = NULL;
	model->complete = decoding->capture->complete;
	hand_over_session(model, decoding);
	model->n_segments = decoding->segments.all.n;
	model->n_records = decoding->segments.n_records;
	model->n_repairs = decoding->segments.n_clamped;
	model->n_wraps_unplaced = decoding->segments.n_wraps_unplaced;
	HAND_OVER(model->devices, model->n_devices, decoding->meta.devices);
	HAND_OVER(model->kernels, model->n_kernels, decoding->meta.kernels);
	HAND_OVER(model->launches, model->n_launches, decoding->log);
	HAND_OVER(model->hooks, model->n_hooks, decoding->meta.hooks);
	HAND_OVER(model->calls, model->n_calls, decoding->host.calls);
	HAND_OVER(model->host_threads, model->n_host_threads, decoding->host.threads);
	HAND_OVER(model->host_slices, model->n_host_slices, decoding->host.slices);
	HAND_OVER(model->host_marks, model->n_host_marks, decoding->host.marks);
	HAND_OVER(model->clocks, model->n_clocks, decoding->clocks);
	HAND_OVER(model->host_clocks, model->n_host_clocks, decoding->host_clocks.all);
	HAND_OVER(model->knots, model->n_knots, decoding->host_clocks.knots);
	HAND_OVER(model->grids, model->n_grids, decoding->launches.grids);
	HAND_OVER(model->tracks, model->n_tracks, decoding->spans.tracks);
	HAND_OVER(model->regions, model->n_regions, decoding->spans.regions);
	HAND_OVER(model->slices, model->n_slices, decoding->spans.slices);
	HAND_OVER(model->marks, model->n_marks, decoding->spans.marks);
	HAND_OVER(model->unpaired, model->n_unpaired, decoding->spans.unpaired);
	HAND_OVER(model->lost, model->n_lost, decoding->losses.lost);
	model->most_words = decoding->losses.most_words;
	/* The type of a counter has no name: the pointers are the same all the same. */
	model->counters = (void *)decoding->meta.counters.items;
	model->n_counters = (uint32_t)decoding->meta.counters.n;
	memset(&decoding->meta.counters, 0, sizeof(decoding->meta.counters));
	for (uint32_t i = 0; i < model->n_lost; i++) {
		model->n_lost_records += model->lost[i].n_records;
		model->n_lost_warps += model->lost[i].n_warps_cut + model->lost[i].n_warps_unheard;
	}
	damage_sort(&decoding->damage);
	HAND_OVER(model->damage, model->n_damage, decoding->damage.places);
}

static void decoding_finish(struct decoding *decoding)
{
	spans_finish(&decoding->spans);
	host_clocks_finish(&decoding->host_clocks);
	launches_finish(&decoding->launches);
	losses_finish(&decoding->losses);
	segments_finish(&decoding->segments);
	sites_finish(&decoding->sites);
	meta_finish(&decoding->meta);
	host_finish(&decoding->host);
	free(decoding->base_ns);
	free(decoding->clocks.items);
	free(decoding->log.items);
	damage_finish(&decoding->damage);
	capture_close(decoding->capture);
}

/* Takes over the capture. */
static int decode(struct capture *capture, struct warpspan_model **ret_model, struct warpspan_error *error)
{
	static int (*const stages[])(struct decoding *) = { read_chunks,     find_devices, fit_clocks, find_launches,
							    fit_host_clocks, keep_session, find_spans };
	struct decoding decoding = { .capture = capture, .damage = capture->damage };
	memset(&capture->damage, 0, sizeof(capture->damage));
	struct warpspan_model *model = calloc(1, sizeof(*model));
	int result = model != NULL ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
	for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]) && result == WARPSPAN_OK; i++)
		result = stages[i](&decoding);
	if (result == WARPSPAN_OK) {
		hand_over(model, &decoding);
		result = model->n_damage > 0 ? WARPSPAN_DAMAGED : WARPSPAN_OK;
		if (result == WARPSPAN_DAMAGED && error != NULL)
			*error = model->damage[0];
		*ret_model = model;
	} else {
		free(model);
		if (result == WARPSPAN_NO_MEMORY)
			error_no_memory(error);
		else
			error_set(error, result, 0, WARPSPAN_NO_OFFSET, "'%.200s': %s", capture->path,
				  warpspan_result_text(result));
	}
	decoding_finish(&decoding);
	return result;
}

int warpspan_model_load(const char *path, struct warpspan_model **ret_model, struct warpspan_error *error)
{
	const int saved_errno = errno;
	struct capture *capture = NULL;
	int result = capture_open(path, &capture, error);
	if (result >= 0)
		result = decode(capture, ret_model, error);
	errno = saved_errno;
	return result;
}

int warpspan_model_from_bytes(const char *name, const void *bytes, size_t n_bytes, struct warpspan_model **ret_model,
			      struct warpspan_error *error)
{
	const int saved_errno = errno;
	struct capture *capture = NULL;
	int result = capture_from_bytes(name, bytes, n_bytes, &capture, error);
	if (result >= 0)
		result = decode(capture, ret_model, error);
	errno = saved_errno;
	return result;
}

struct warpspan_model *warpspan_model_destroy(struct warpspan_model *model)
{
	if (model == NULL)
		return NULL;
	for (uint32_t i = 0; i < model->n_devices; i++)
		device_finish(&model->devices[i]);
	for (uint32_t i = 0; i < model->n_kernels; i++)
		kernel_finish(&model->kernels[i]);
	for (uint32_t i = 0; i < model->n_hooks; i++)
		hook_finish(&model->hooks[i]);
	for (uint32_t i = 0; i < model->n_regions; i++) {
		free(model->regions[i].name);
		free(model->regions[i].file);
	}
	for (uint32_t i = 0; i < model->n_counters; i++)
		free(model->counters[i].name);
	for (uint32_t i = 0; i < model->n_host_marks; i++)
		mark_finish(&model->host_marks[i]);
	free(model->host_marks);
	free(model->started_by);
	free(model->stopped_by);
	free(model->path);
	free(model->version);
	free(model->host);
	free(model->rank);
	free(model->launcher);
	free(model->command);
	free(model->devices);
	free(model->kernels);
	free(model->launches);
	free(model->hooks);
	free(model->calls);
	free(model->host_threads);
	free(model->host_slices);
	free(model->grids);
	free(model->tracks);
	free(model->regions);
	free(model->slices);
	free(model->marks);
	free(model->clocks);
	free(model->host_clocks);
	free(model->knots);
	free(model->lost);
	free(model->unpaired);
	free(model->counters);
	free(model->damage);
	free(model);
	return NULL;
}

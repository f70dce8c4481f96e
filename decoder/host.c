/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c - reads HOST chunks and lays launches, calls and marks out by thread.
 *
 * A thread is in one call at a time, or in one inside another, so its slices nest. The log of a program that ended, or
 * was caught, in the middle of a call has no end for it: such a slice lasts until the next one of its thread begins, or
 * until the latest time any thread was seen. Whatever else does not nest (a forged log) is cut where its holder ends.
 * Runs once, after the last chunk was read; memory and time are linear in the calls, but for one sort.
 */
#include "host.h"

int host_add_chunk(struct host *host, const struct capture_chunk *chunk, const char *path, struct damage *damage)
{
	const uint32_t n = chunk->payload_bytes / (uint32_t)sizeof(struct warpspan_host_call);
	for (uint32_t i = 0; i < n; i++) {
		struct warpspan_host_call *call = array_add(&host->calls);
		if (call == NULL)
			return WARPSPAN_NO_MEMORY;
		memcpy(call, chunk->payload + (size_t)i * sizeof(*call), sizeof(*call));
	}
	if (chunk->payload_bytes % sizeof(struct warpspan_host_call) == 0)
		return WARPSPAN_OK;
	return damage_add(damage, chunk->offset, "'%.200s': the host calls at byte %llu end in a part of one", path,
			  (unsigned long long)chunk->offset);
}

static int by_number(const void *left, const void *right)
{
	const struct warpspan_host_call *a = left, *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

/* By thread and begin; of two that begin together the longer one holds the other. While sorting, `thread` is the
 * thread's id. */
static int by_thread_and_begin(const void *left, const void *right)
{
	const struct warpspan_host_slice *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	if (a->launch != b->launch)
		return a->launch < b->launch ? -1 : 1;
	return (a->call > b->call) - (a->call < b->call);
}

static int add_slice(struct host *host, uint32_t thread, uint64_t begin_ns, uint64_t end_ns, uint32_t launch,
		     uint32_t call)
{
	struct warpspan_host_slice *slice = array_add(&host->slices);
	if (slice == NULL)
		return WARPSPAN_NO_MEMORY;
	*slice = (struct warpspan_host_slice){
		.begin_ns = begin_ns,
		.end_ns = end_ns > begin_ns ? end_ns : begin_ns,
		.thread = thread,
		.launch = launch,
		.call = call,
		.open = end_ns == 0,
	};
	return WARPSPAN_OK;
}

static uint64_t latest_time(const struct host *host)
{
	uint64_t latest_ns = 0;
	for (size_t i = 0; i < host->slices.n; i++)
		if (host->slices.items[i].end_ns > latest_ns)
			latest_ns = host->slices.items[i].end_ns;
	return latest_ns;
}

/* Ends the calls that had not returned. */
static void end_open_calls(struct host *host)
{
	const uint64_t latest_ns = latest_time(host);
	for (size_t i = 0; i < host->slices.n; i++) {
		struct warpspan_host_slice *slice = &host->slices.items[i];
		if (!slice->open)
			continue;
		const bool last = i + 1 == host->slices.n || slice[1].thread != slice->thread;
		slice->end_ns = last ? latest_ns : slice[1].begin_ns;
	}
}

/* Sets the depths of one thread's slices and cuts those that reach beyond the one that holds them. `holders` has room
 * for as many as there are slices. */
static void nest(struct warpspan_host_slice *slices, size_t n, const struct warpspan_host_slice **holders)
{
	size_t depth = 0;
	for (size_t i = 0; i < n; i++) {
		struct warpspan_host_slice *slice = &slices[i];
		while (depth > 0 && holders[depth - 1]->end_ns <= slice->begin_ns)
			depth--;
		if (depth > 0 && slice->end_ns > holders[depth - 1]->end_ns)
			slice->end_ns = holders[depth - 1]->end_ns;
		if (depth == HOST_DEPTH_MAX) /* no program calls that deep: beside rather than below */
			slice->end_ns = slice->begin_ns;
		slice->depth = (uint16_t)depth;
		if (depth < HOST_DEPTH_MAX)
			holders[depth++] = slice;
	}
}

static int by_thread_and_time(const void *left, const void *right)
{
	const struct warpspan_host_mark *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* A thread of the next id in line: its slices from `slice` on, its marks from `mark` on. */
static int add_thread(struct host *host, size_t slice, size_t mark, const struct warpspan_host_slice **holders)
{
	const uint32_t index = (uint32_t)host->threads.n;
	uint32_t id = UINT32_MAX;
	size_t slice_end = slice, mark_end = mark;
	if (slice < host->slices.n)
		id = host->slices.items[slice].thread;
	if (mark < host->marks.n && host->marks.items[mark].thread < id)
		id = host->marks.items[mark].thread;
	struct warpspan_host_thread *thread = array_add(&host->threads);
	if (thread == NULL)
		return WARPSPAN_NO_MEMORY;
	while (slice_end < host->slices.n && host->slices.items[slice_end].thread == id)
		host->slices.items[slice_end++].thread = index;
	while (mark_end < host->marks.n && host->marks.items[mark_end].thread == id)
		host->marks.items[mark_end++].thread = index;
	*thread = (struct warpspan_host_thread){ .id = id,
						 .first_slice = (uint32_t)slice,
						 .n_slices = (uint32_t)(slice_end - slice),
						 .first_mark = (uint32_t)mark,
						 .n_marks = (uint32_t)(mark_end - mark) };
	if (slice_end > slice)
		nest(host->slices.items + slice, slice_end - slice, holders);
	return WARPSPAN_OK;
}

static int split_threads(struct host *host)
{
	const struct warpspan_host_slice **holders = malloc(HOST_DEPTH_MAX * sizeof(const void *));
	int result = holders != NULL ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
	for (size_t slice = 0, mark = 0; result == WARPSPAN_OK && (slice < host->slices.n || mark < host->marks.n);) {
		result = add_thread(host, slice, mark, holders);
		if (result < 0)
			break;
		slice += host->threads.items[host->threads.n - 1].n_slices;
		mark += host->threads.items[host->threads.n - 1].n_marks;
	}
	free(holders);
	return result;
}

void host_sort(struct host *host)
{
	if (host->calls.n > 1)
		qsort(host->calls.items, host->calls.n, sizeof(*host->calls.items), by_number);
}

int host_arrange(struct host *host, const struct warpspan_launch *log, uint32_t n_log)
{
	int result = WARPSPAN_OK;
	for (uint32_t i = 0; i < n_log && result == WARPSPAN_OK; i++)
		result = add_slice(host, log[i].thread, log[i].begin_ns, log[i].end_ns, i, WARPSPAN_NONE);
	for (size_t i = 0; i < host->calls.n && result == WARPSPAN_OK; i++) {
		const struct warpspan_host_call *call = &host->calls.items[i];
		result = add_slice(host, call->thread, call->begin_ns, call->end_ns, WARPSPAN_NONE, (uint32_t)i);
	}
	if (result < 0)
		return result;
	if (host->slices.n > 1)
		qsort(host->slices.items, host->slices.n, sizeof(*host->slices.items), by_thread_and_begin);
	if (host->marks.n > 1)
		qsort(host->marks.items, host->marks.n, sizeof(*host->marks.items), by_thread_and_time);
	end_open_calls(host);
	return split_threads(host);
}

void host_finish(struct host *host)
{
	free(host->calls.items);
	free(host->threads.items);
	free(host->slices.items);
	for (size_t i = 0; i < host->marks.n; i++)
		free(host->marks.items[i].text);
	free(host->marks.items);
	memset(host, 0, sizeof(*host));
}

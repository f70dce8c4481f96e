/* SPDX-License-Identifier: Apache-2.0
 *
 * host.c - reads HOST chunks and lays launches and calls out by thread.
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

static int split_threads(struct host *host)
{
	const struct warpspan_host_slice **holders = malloc(HOST_DEPTH_MAX * sizeof(const void *));
	if (holders == NULL)
		return WARPSPAN_NO_MEMORY;
	for (size_t at = 0, end; at < host->slices.n; at = end) {
		struct warpspan_host_slice *slices = host->slices.items;
		const uint32_t id = slices[at].thread;
		struct warpspan_host_thread *thread = array_add(&host->threads);
		if (thread == NULL) {
			free(holders);
			return WARPSPAN_NO_MEMORY;
		}
		for (end = at; end < host->slices.n && slices[end].thread == id;)
			end++;
		for (size_t i = at; i < end; i++)
			slices[i].thread = (uint32_t)(host->threads.n - 1);
		*thread = (struct warpspan_host_thread){ id, (uint32_t)at, (uint32_t)(end - at) };
		nest(slices + at, end - at, holders);
	}
	free(holders);
	return WARPSPAN_OK;
}

int host_arrange(struct host *host, const struct warpspan_launch *log, uint32_t n_log)
{
	int result = WARPSPAN_OK;
	if (host->calls.n > 1)
		qsort(host->calls.items, host->calls.n, sizeof(*host->calls.items), by_number);
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
	end_open_calls(host);
	return split_threads(host);
}

void host_finish(struct host *host)
{
	free(host->calls.items);
	free(host->threads.items);
	free(host->slices.items);
	memset(host, 0, sizeof(*host));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * meta.h - what the META chunks say: the session, devices, contexts, modules, kernels, entry points and counters.
 */
#ifndef WARPSPAN_META_H
#define WARPSPAN_META_H

#include "capture.h"
#include "map.h"
#include "model.h"

/* More of these than any machine has are refused: they are looked through one by one. */
#define META_DEVICES_MAX  1024
#define META_CONTEXTS_MAX 4096
#define META_COUNTERS_MAX 256
#define META_HOOKS_MAX    65536

struct meta_session {
	char *version, *host, *rank, *launcher, *command; /* NULL until a "session" object was read */
	uint32_t world;
	char *started_by;
	uint32_t started_in_thread;
	uint32_t pid, number;
	uint64_t start_realtime_ns, start_monotonic_ns;
	uint64_t arena_bytes;
	uint32_t words_asked, words_least, words_enough, words_most;
};

/* How a session ended. */
struct meta_stop {
	uint64_t monotonic_ns;
	char *stopped_by;
	uint32_t stopped_in_thread;
	bool quiet;
};

struct meta_context {
	uint32_t number;
	uint32_t device; /* its ordinal */
};

/* What a launch of an executable graph makes, as long as no later one of the same executable holds. */
struct meta_graph {
	uint64_t exec; /* 0: holds for every executable */
	uint64_t since_ns;
	uint32_t certain;          /* 0: there may be kernels that are not listed */
	uint32_t first, n_kernels; /* of graph_kernels */
};

struct meta_graph_kernel {
	uint32_t module, kernel; /* numbers */
	uint32_t grid[3], threads[3];
	uint32_t n; /* how many such grids a launch makes */
};

struct meta {
	struct meta_session session;
	bool has_session;
	struct meta_stop stop;
	bool has_stop;
	ARRAY(struct warpspan_host_mark) marks; /* thread: the id */
	ARRAY(struct warpspan_device) devices;
	ARRAY(struct meta_context) contexts;
	ARRAY(struct warpspan_kernel) kernels;
	ARRAY(struct warpspan_hook) hooks;
	ARRAY(struct meta_graph) graphs; /* by executable and time, once complete */
	ARRAY(struct meta_graph_kernel) graph_kernels;
	ARRAY(__typeof__(*((struct warpspan_model *)0)->counters)) counters;
	struct map hooks_by_number;   /* number -> index, once complete */
	struct map device_of_context; /* number -> index: answers given so far */
};

/* Adds what a META chunk says. Keys this version does not know are skipped. */
int meta_add_chunk(struct meta *meta, const struct capture_chunk *chunk, const char *path, struct damage *damage);
/* After the last chunk: fills what no chunk told with empty values, sorts the hooks by number. */
int meta_complete(struct meta *meta);
/* Whose is what was launched then? Where no start or stop is told, the session's. After meta_complete(). */
enum warpspan_phase meta_phase_at(const struct meta *meta, uint64_t begin_ns);
/* What the executable held at the time; NULL: not known. After meta_complete(). */
const struct meta_graph *meta_graph_at(const struct meta *meta, uint64_t exec, uint64_t time_ns);
/* Index of the device of a context. A context no chunk told of is put on the first device (one called "unknown device"
 * when there is none), and noted as damage once. */
int meta_device_of(struct meta *meta, uint32_t context, uint64_t offset, const char *path, struct damage *damage,
		   uint32_t *ret_device);
void meta_finish(struct meta *meta);

void device_finish(struct warpspan_device *device);
void kernel_finish(struct warpspan_kernel *kernel);
void hook_finish(struct warpspan_hook *hook);
void mark_finish(struct warpspan_host_mark *mark);

#endif

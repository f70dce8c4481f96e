/* SPDX-License-Identifier: Apache-2.0
 *
 * out_pftrace.c - the timeline as a Perfetto trace: TrackEvent packets, encoded by hand.
 *
 *   host > thread                                   tracks, in this order, under unique names, never merged
 *   device > kernel launch > SM > block > warp
 *
 * The file is a row of packets. First the clocks, then all tracks (parents before children), then the host's calls, the
 * launches as slices of their own tracks, then the events of the warps. A call and each grid it launched share a flow:
 * an arrow. The events of the warps come in one packet sequence per SM: within it names
 * are interned, times are steps of an incremental clock (64), and the track at hand is a packet default that changes
 * from warp to warp. A slice takes about 60 bytes with its arguments.
 *
 * Traps that shape this file, each seen with a real viewer: the trace clock must never step back from one snapshot to
 * the next (all snapshots name the same instant); an event without a sequence id is dropped; an end at the time of the
 * next begin must come first (out_walk_next); siblings of one name are merged unless told otherwise; slices that cross
 * are silently swapped (the model has none).
 *
 * Called by out_export(); memory: 16 bytes per SM of a launch, 5 per launch and call, and the texts of the regions. Any
 * thread.
 */
#include "host_clock.h"
#include "out.h"
#include "out_host.h"
#include "proto.h"
#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of perfetto/protos/perfetto/trace, spelled MESSAGE_FIELD. */
enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIMESTAMP = 2,
	CLOCK_IS_INCREMENTAL = 3,

	DEFAULTS_TRACK_EVENT = 11,
	DEFAULTS_CLOCK_ID = 58,

	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_CHILD_ORDERING = 11,
	DESCRIPTOR_RANK = 12,
	DESCRIPTOR_DESCRIPTION = 14,
	DESCRIPTOR_SIBLING_MERGE = 15,

	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_FLOWS = 47,
	EVENT_ENDING_FLOWS = 48,

	ANNOTATION_NAME_IID = 1,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_DOUBLE = 5,
	ANNOTATION_STRING = 6,
	ANNOTATION_STRING_IID = 17,

	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_STRINGS = 29,
	INTERNED_IID = 1,
	INTERNED_TEXT = 2,
};

enum { ORDERING_EXPLICIT = 3, MERGE_NONE = 2 };
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3 };
enum { FLAG_CLEARED = 1, FLAG_NEEDED = 2 };
enum { REALTIME = 1, MONOTONIC = 3, BOOTTIME = 6, STEPS = 64 };

/* X(NAME, text): the arguments of slices; the number in the enum is the interned id. */
#define ARGUMENTS(X)          \
	X(FILE, "file")       \
	X(LINE, "line")       \
	X(GRID, "grid")       \
	X(BLOCK, "block")     \
	X(SM, "sm")           \
	X(END, "end")         \
	X(VALUE, "value")     \
	X(THREADS, "threads") \
	X(LAUNCH, "launch")   \
	X(STREAM, "stream")   \
	X(GRID_ID, "grid_id") \
	X(WARPS, "warps")     \
	X(RECORDS, "records") \
	X(LOST, "lost")       \
	X(NUMBER, "number")   \
	X(CONTEXT, "context") \
	X(RESULT, "result")   \
	X(BYTES, "bytes")     \
	X(GRAPH, "graph")     \
	X(GRIDS, "grids")     \
	X(API, "api")         \
	X(LAUNCHED, "launched")

enum {
	ARGUMENT_NONE,
#define X(name, text) ARGUMENT_##name,
	ARGUMENTS(X)
#undef X
};

#define LAUNCH_SEQUENCE 1u
#define HOST_SEQUENCE   2u
#define SM_SEQUENCES    3u               /* the first of them */
#define A_DAY_NS        86400000000000ll /* device and host clocks further apart are not the same clock */
#define SMALL_BYTES     256u             /* a message of a few numbers */
#define PACKET_BYTES    8192u            /* the largest: interned names, up to that many at once */
#define FLOWS_BYTES     (PACKET_BYTES + OUT_MOST_ARROWS * FLOW_BYTES)
#define FLOW_BYTES      10u   /* of one flow in an event */
#define ENTRY_BYTES     1100u /* an interned text with its frame */

/* The tracks of one SM in one launch. */
struct run {
	uint32_t device, sm, first_track, n_tracks;
};

struct writer {
	const struct warpspan_model *model;
	struct sink *sink;
	struct out_texts texts;
	struct out_axis axis;
	struct out_host host;
	uint64_t base_ns, seed;
	const struct warpspan_slice **open;
	struct run *runs;
	uint32_t n_runs;
	uint8_t *event_memory, *packet_memory; /* for the launch of a graph with many grids */
	uint32_t *host_names;                  /* by key: is it interned? */
	bool full;                             /* a message did not fit its memory: a mistake in this file */
	/* the sequence at hand */
	uint32_t sequence;
	uint64_t last_ns;
	uint32_t *name_sequence, *file_sequence; /* by region, by file: the last sequence it was interned in */
	uint64_t next_string;                    /* interned strings after those of the files */
	uint32_t device;                         /* whose clock the times at hand are of */
	uint32_t grid;                           /* whose dimensions are interned as ... */
	uint64_t grid_string;
};

/* --- packets ---------------------------------------------------------------------------------- */

static void put_packet(struct writer *writer, const struct proto *packet)
{
	const size_t bytes = proto_bytes(packet) + 32; /* its frame */
	uint8_t *to = sink_reserve(writer->sink, bytes);
	struct proto trace;

	writer->full |= packet->full;
	if (!to)
		return;
	proto_init(&trace, to, bytes);
	proto_put_message(&trace, TRACE_PACKET, packet);
	writer->full |= trace.full;
	sink_commit(writer->sink, proto_bytes(&trace));
}

static void put_clock(struct proto *snapshot, uint64_t id, uint64_t timestamp, bool incremental)
{
	uint8_t memory[SMALL_BYTES];
	struct proto clock;

	proto_init(&clock, memory, sizeof(memory));
	proto_put_uint(&clock, CLOCK_ID, id);
	proto_put_uint(&clock, CLOCK_TIMESTAMP, timestamp);
	if (incremental)
		proto_put_uint(&clock, CLOCK_IS_INCREMENTAL, 1);
	proto_put_message(snapshot, SNAPSHOT_CLOCKS, &clock);
}

/* What the host's boot clock showed at the base time. Where device and host time have nothing in common (a simulated
 * device, a clock nobody set) any number does; the same one keeps the viewer's arithmetic trivial. */
static uint64_t boottime_at_base(const struct out_axis *axis, uint64_t base_ns)
{
	const struct warpspan_model *model = axis->model;
	const struct warpspan_host_clock *clock = axis->reference;

	if (clock && clock->agrees) {
		const uint64_t host_ns = host_clock_to_host(model->knots + clock->first_knot, clock->n_knots, base_ns);
		return host_ns ? host_ns : 1;
	}
	const int64_t since_start = (int64_t)(base_ns - model->start_realtime_ns);

	if (since_start > -A_DAY_NS && since_start < A_DAY_NS && (int64_t)model->start_monotonic_ns + since_start > 0)
		return model->start_monotonic_ns + (uint64_t)since_start;
	return base_ns;
}

static void put_clocks(struct writer *writer)
{
	const uint64_t boottime_ns = boottime_at_base(&writer->axis, writer->base_ns);
	uint8_t memory[SMALL_BYTES], packet_memory[2 * SMALL_BYTES];
	struct proto snapshot, packet;

	proto_init(&snapshot, memory, sizeof(memory));
	put_clock(&snapshot, REALTIME, writer->base_ns, false);
	put_clock(&snapshot, MONOTONIC, boottime_ns, false);
	put_clock(&snapshot, BOOTTIME, boottime_ns, false); /* alike as long as the machine did not sleep */
	proto_put_uint(&snapshot, SNAPSHOT_PRIMARY, REALTIME);
	proto_init(&packet, packet_memory, sizeof(packet_memory));
	proto_put_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, LAUNCH_SEQUENCE);
	put_packet(writer, &packet);
}

static void put_interned(struct proto *interned, uint32_t field, uint64_t iid, const char *text)
{
	uint8_t memory[ENTRY_BYTES];
	struct proto entry;

	proto_init(&entry, memory, sizeof(memory));
	proto_put_uint(&entry, INTERNED_IID, iid);
	proto_put_text(&entry, INTERNED_TEXT, text);
	proto_put_message(interned, field, &entry);
}

/* Starts a sequence: forgets what was agreed on before, sets the clock, interns the names of the arguments. */
static void put_sequence_start(struct writer *writer, uint32_t sequence, bool steps)
{
	static const char *const arguments[] = {
#define X(name, text) [ARGUMENT_##name] = (text),
		ARGUMENTS(X)
#undef X
	};
	uint8_t memory[3][PACKET_BYTES / 4], packet_memory[PACKET_BYTES];
	struct proto snapshot, defaults, interned, packet;

	proto_init(&packet, packet_memory, sizeof(packet_memory));
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, sequence);
	proto_put_uint(&packet, PACKET_SEQUENCE_FLAGS, FLAG_CLEARED);
	if (steps) {
		proto_init(&snapshot, memory[0], sizeof(memory[0]));
		put_clock(&snapshot, REALTIME, writer->base_ns, false);
		put_clock(&snapshot, STEPS, writer->base_ns, true);
		proto_put_message(&packet, PACKET_CLOCK_SNAPSHOT, &snapshot);
	}
	proto_init(&defaults, memory[1], sizeof(memory[1]));
	proto_put_uint(&defaults, DEFAULTS_CLOCK_ID, steps ? STEPS : REALTIME);
	proto_put_message(&packet, PACKET_DEFAULTS, &defaults);
	proto_init(&interned, memory[2], sizeof(memory[2]));
	for (uint64_t i = ARGUMENT_NONE + 1; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		put_interned(&interned, INTERNED_ANNOTATION_NAMES, i, arguments[i]);
	proto_put_message(&packet, PACKET_INTERNED_DATA, &interned);
	put_packet(writer, &packet);
	writer->sequence = sequence;
	writer->last_ns = writer->base_ns;
	writer->next_string = (uint64_t)writer->texts.n_files + 1;
	writer->grid = WARPSPAN_NONE;
}

/* --- tracks ----------------------------------------------------------------------------------- */

/* Scatters numbers over 64 bits (the finalizer of MurmurHash3), so that files can be concatenated. */
static uint64_t mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

enum track_level {
	LEVEL_DEVICE = 1,
	LEVEL_LAUNCH,
	LEVEL_SM,
	LEVEL_BLOCK,
	LEVEL_WARP,
	LEVEL_HOST,
	LEVEL_THREAD,
	LEVEL_FLOW
};

/* `index`: of the device, the launch, the thread, the grid a flow leads to, or the first warp track below. */
static uint64_t track_uuid(const struct writer *writer, enum track_level level, uint64_t index)
{
	const uint64_t uuid = mix(writer->seed + mix((uint64_t)level << 56 | index));

	return uuid ? uuid : 1;
}

static uint64_t make_seed(const struct warpspan_model *model)
{
	uint64_t seed = mix(model->start_realtime_ns ^ (uint64_t)model->pid << 40 ^ model->session);

	for (const char *c = model->host; *c; c++)
		seed = mix(seed ^ (unsigned char)*c);
	return seed;
}

static void put_track(struct writer *writer, uint64_t uuid, uint64_t parent, uint32_t rank, const char *name,
		      const char *description)
{
	uint8_t memory[PACKET_BYTES / 2], packet_memory[PACKET_BYTES];
	struct proto descriptor, packet;

	proto_init(&descriptor, memory, sizeof(memory));
	proto_put_uint(&descriptor, DESCRIPTOR_UUID, uuid);
	proto_put_text(&descriptor, DESCRIPTOR_NAME, name);
	if (parent)
		proto_put_uint(&descriptor, DESCRIPTOR_PARENT, parent);
	proto_put_uint(&descriptor, DESCRIPTOR_CHILD_ORDERING, ORDERING_EXPLICIT);
	proto_put_uint(&descriptor, DESCRIPTOR_RANK, rank & INT32_MAX);
	if (description)
		proto_put_text(&descriptor, DESCRIPTOR_DESCRIPTION, description);
	proto_put_uint(&descriptor, DESCRIPTOR_SIBLING_MERGE, MERGE_NONE);
	proto_init(&packet, packet_memory, sizeof(packet_memory));
	proto_put_message(&packet, PACKET_TRACK_DESCRIPTOR, &descriptor);
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, LAUNCH_SEQUENCE);
	put_packet(writer, &packet);
}

static void put_device_track(struct writer *writer, uint32_t device)
{
	const struct warpspan_model *model = writer->model;
	char name[OUT_NAME_BYTES], description[1152], gist[512], error[TEXT_NUMBER_BYTES], axis[OUT_AXIS_BYTES];
	int n = snprintf(description, sizeof(description), "Times are the device's %%globaltimer.");

	for (uint32_t i = 0; i < model->n_clocks; i++)
		if (model->clocks[i].device == device)
			n += snprintf(description + n, sizeof(description) - (size_t)n,
				      " It ticks every %" PRIu32 " ns; SMs are aligned within %s.",
				      model->clocks[i].tick_ns, text_duration(error, model->clocks[i].error_ns));
	if (*out_axis_device_text(&writer->axis, device, axis) && (size_t)n < sizeof(description))
		n += snprintf(description + n, sizeof(description) - (size_t)n, " %s", axis);
	failures_line(model, gist, sizeof(gist));
	if (*gist && (size_t)n < sizeof(description))
		snprintf(description + n, sizeof(description) - (size_t)n, " %s", gist);
	put_track(writer, track_uuid(writer, LEVEL_DEVICE, device), 0, device + 1, out_device_name(model, device, name),
		  description);
}

static bool has_events(const struct warpspan_track *track)
{
	return track->n_slices != 0 || track->n_marks != 0;
}

/* SMs, blocks and warps of a launch; those without events are left out. */
static void put_warp_tracks(struct writer *writer, uint32_t grid_index)
{
	const struct warpspan_grid *grid = &writer->model->grids[grid_index];
	const struct warpspan_track *before = NULL;
	uint64_t sm_uuid = 0, block_uuid = 0;
	uint32_t block_rank = 0, warp_rank = 0;
	char name[OUT_NAME_BYTES];

	for (uint32_t i = grid->first_track; i < grid->first_track + grid->n_tracks; i++) {
		const struct warpspan_track *track = &writer->model->tracks[i];
		if (!has_events(track))
			continue;
		const bool new_sm = !before || before->sm != track->sm;

		if (new_sm) {
			sm_uuid = track_uuid(writer, LEVEL_SM, i);
			snprintf(name, sizeof(name), "SM %" PRIu32, track->sm);
			put_track(writer, sm_uuid, track_uuid(writer, LEVEL_LAUNCH, grid_index), track->sm, name, NULL);
		}
		if (new_sm || memcmp(before->block, track->block, sizeof(track->block)) != 0) {
			block_uuid = track_uuid(writer, LEVEL_BLOCK, i);
			snprintf(name, sizeof(name), "block (%" PRIu32 ",%" PRIu32 ",%" PRIu32 ")", track->block[0],
				 track->block[1], track->block[2]);
			put_track(writer, block_uuid, sm_uuid, block_rank++, name, NULL);
			warp_rank = 0;
		}
		put_track(writer, track_uuid(writer, LEVEL_WARP, i), block_uuid, warp_rank++,
			  out_warp_name(track, name), NULL);
		before = track;
	}
}

static void put_host_tracks(struct writer *writer)
{
	const struct warpspan_model *model = writer->model;
	char name[OUT_NAME_BYTES], description[OUT_AXIS_BYTES];

	if (writer->axis.n_host_threads)
		put_track(writer, track_uuid(writer, LEVEL_HOST, 0), 0, 0, out_process_name(model, name),
			  out_axis_host_text(&writer->axis, description));
	for (uint32_t i = 0; i < writer->axis.n_host_threads; i++)
		put_track(writer, track_uuid(writer, LEVEL_THREAD, i), track_uuid(writer, LEVEL_HOST, 0), i,
			  out_thread_name(model, i, name), NULL);
}

static void put_tracks(struct writer *writer)
{
	char name[OUT_NAME_BYTES];

	put_host_tracks(writer);

	for (uint32_t i = 0; i < writer->model->n_devices; i++)
		put_device_track(writer, i);
	for (uint32_t i = 0; i < writer->model->n_grids; i++) {
		put_track(writer, track_uuid(writer, LEVEL_LAUNCH, i),
			  track_uuid(writer, LEVEL_DEVICE, writer->model->grids[i].device), i,
			  out_launch_name(writer->model, i, name), NULL);
		put_warp_tracks(writer, i);
	}
}

/* --- arguments -------------------------------------------------------------------------------- */

static void put_argument_uint(struct proto *event, uint64_t argument, uint32_t field, uint64_t value)
{
	uint8_t memory[SMALL_BYTES];
	struct proto annotation;

	proto_init(&annotation, memory, sizeof(memory));
	proto_put_uint(&annotation, ANNOTATION_NAME_IID, argument);
	proto_put_uint(&annotation, field, value);
	proto_put_message(event, EVENT_ANNOTATIONS, &annotation);
}

static void put_argument_text(struct proto *event, uint64_t argument, const char *text)
{
	uint8_t memory[SMALL_BYTES];
	struct proto annotation;

	proto_init(&annotation, memory, sizeof(memory));
	proto_put_uint(&annotation, ANNOTATION_NAME_IID, argument);
	proto_put_text(&annotation, ANNOTATION_STRING, text);
	proto_put_message(event, EVENT_ANNOTATIONS, &annotation);
}

static void put_argument_double(struct proto *event, uint64_t argument, double value)
{
	uint8_t memory[SMALL_BYTES];
	struct proto annotation;

	proto_init(&annotation, memory, sizeof(memory));
	proto_put_uint(&annotation, ANNOTATION_NAME_IID, argument);
	proto_put_double(&annotation, ANNOTATION_DOUBLE, value);
	proto_put_message(event, EVENT_ANNOTATIONS, &annotation);
}

static void put_mark_value(struct proto *event, const struct warpspan_mark *mark)
{
	if (mark->kind == WARPSPAN_KIND_VALUE_U32)
		put_argument_uint(event, ARGUMENT_VALUE, ANNOTATION_UINT, mark->bits);
	else if (mark->kind == WARPSPAN_KIND_VALUE_I32)
		put_argument_uint(event, ARGUMENT_VALUE, ANNOTATION_INT, (uint64_t)(int64_t)(int32_t)mark->bits);
	else if (mark->kind == WARPSPAN_KIND_VALUE_F32)
		put_argument_double(event, ARGUMENT_VALUE, warpspan_mark_value(mark));
}

static void put_flow(const struct writer *writer, struct proto *event, uint32_t field, uint32_t grid)
{
	proto_put_fixed64(event, field, track_uuid(writer, LEVEL_FLOW, grid));
}

/* --- launches --------------------------------------------------------------------------------- */

/* An event of the sequence at hand, which has no steps; time of the axis. */
static void put_edge(struct writer *writer, uint64_t time_ns, const struct proto *event)
{
	struct proto packet;

	proto_init(&packet, writer->packet_memory, FLOWS_BYTES);
	proto_put_uint(&packet, PACKET_TIMESTAMP, time_ns);
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, writer->sequence);
	proto_put_uint(&packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDED);
	proto_put_message(&packet, PACKET_TRACK_EVENT, event);
	put_packet(writer, &packet);
}

static void put_launch(struct writer *writer, uint32_t index)
{
	const struct warpspan_model *model = writer->model;
	const struct warpspan_grid *grid = &model->grids[index];
	char text[64], kernel[OUT_KERNEL_BYTES];
	uint8_t memory[PACKET_BYTES / 2];
	struct proto event;

	proto_init(&event, memory, sizeof(memory));
	proto_put_uint(&event, EVENT_TYPE, TYPE_BEGIN);
	proto_put_uint(&event, EVENT_TRACK, track_uuid(writer, LEVEL_LAUNCH, index));
	proto_put_text(&event, EVENT_NAME, out_kernel_name(model, grid->kernel, kernel));
	snprintf(text, sizeof(text), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, grid->grid[0], grid->grid[1], grid->grid[2]);
	put_argument_text(&event, ARGUMENT_GRID, text);
	snprintf(text, sizeof(text), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, grid->threads[0], grid->threads[1],
		 grid->threads[2]);
	put_argument_text(&event, ARGUMENT_THREADS, text);
	put_argument_uint(&event, ARGUMENT_GRID_ID, ANNOTATION_UINT, grid->grid_id);
	if (grid->host != WARPSPAN_NONE) {
		put_argument_uint(&event, ARGUMENT_LAUNCH, ANNOTATION_UINT, model->launches[grid->host].number);
		put_argument_uint(&event, ARGUMENT_STREAM, ANNOTATION_UINT, model->launches[grid->host].stream);
	}
	if (grid->phase == WARPSPAN_EARLY)
		put_argument_text(&event, ARGUMENT_LAUNCHED, OUT_EARLY);
	put_argument_uint(&event, ARGUMENT_WARPS, ANNOTATION_UINT, grid->n_warps);
	put_argument_uint(&event, ARGUMENT_RECORDS, ANNOTATION_UINT, grid->n_records);
	put_argument_uint(&event, ARGUMENT_LOST, ANNOTATION_UINT, grid->n_lost);
	if (writer->axis.n_host_threads && writer->host.has_arrow[index])
		put_flow(writer, &event, EVENT_ENDING_FLOWS, index);
	put_edge(writer, out_axis_of_device(&writer->axis, grid->device, grid->start_ns), &event);
	proto_init(&event, memory, sizeof(memory));
	proto_put_uint(&event, EVENT_TYPE, TYPE_END);
	proto_put_uint(&event, EVENT_TRACK, track_uuid(writer, LEVEL_LAUNCH, index));
	put_edge(writer, out_axis_of_device(&writer->axis, grid->device, grid->end_ns), &event);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Packets with nothing but names the coming events refer to, and the track they are on. */
struct introduction {
	uint8_t memory[PACKET_BYTES / 2];
	struct proto interned;
};

static void put_introduction(struct writer *writer, struct introduction *introduction, uint64_t track)
{
	uint8_t memory[3][SMALL_BYTES], packet_memory[PACKET_BYTES];
	struct proto event, defaults, packet;

	proto_init(&packet, packet_memory, sizeof(packet_memory));
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, writer->sequence);
	proto_put_uint(&packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDED);
	if (track) {
		proto_init(&event, memory[0], sizeof(memory[0]));
		proto_put_uint(&event, EVENT_TRACK, track);
		proto_init(&defaults, memory[1], sizeof(memory[1]));
		proto_put_uint(&defaults, DEFAULTS_CLOCK_ID, STEPS);
		proto_put_message(&defaults, DEFAULTS_TRACK_EVENT, &event);
		proto_put_message(&packet, PACKET_DEFAULTS, &defaults);
	}
	if (proto_bytes(&introduction->interned) != 0)
		proto_put_message(&packet, PACKET_INTERNED_DATA, &introduction->interned);
	put_packet(writer, &packet);
	proto_init(&introduction->interned, introduction->memory, sizeof(introduction->memory));
}

static void introduce(struct writer *writer, struct introduction *introduction, uint32_t field, uint64_t iid,
		      const char *text)
{
	if (proto_bytes(&introduction->interned) + ENTRY_BYTES + 16 > sizeof(introduction->memory))
		put_introduction(writer, introduction, 0);
	put_interned(&introduction->interned, field, iid, text);
}

/* --- host ------------------------------------------------------------------------------------- */

/* Makes sure the names of a thread's slices are interned. */
static void introduce_calls(struct writer *writer, const struct warpspan_host_thread *thread)
{
	char name[OUT_HOST_NAME_BYTES];
	struct introduction introduction;
	uint32_t key;

	proto_init(&introduction.interned, introduction.memory, sizeof(introduction.memory));
	for (uint32_t i = thread->first_slice; i < thread->first_slice + thread->n_slices; i++) {
		const char *text = out_host_name(&writer->host, &writer->model->host_slices[i], name, &key);

		if (writer->host_names[key])
			continue;
		writer->host_names[key] = 1;
		introduce(writer, &introduction, INTERNED_EVENT_NAMES, (uint64_t)key + 1, text);
	}
	put_introduction(writer, &introduction, 0);
}

static void put_call(struct writer *writer, const struct warpspan_host_slice *slice)
{
	char name[OUT_HOST_NAME_BYTES];
	struct out_host_arguments arguments;
	uint32_t key, n_arrows;
	struct proto event;

	out_host_name(&writer->host, slice, name, &key);
	out_host_arguments(&writer->host, slice, &arguments);
	proto_init(&event, writer->event_memory, FLOWS_BYTES - PACKET_BYTES / 2);
	proto_put_uint(&event, EVENT_TYPE, TYPE_BEGIN);
	proto_put_uint(&event, EVENT_TRACK, track_uuid(writer, LEVEL_THREAD, slice->thread));
	proto_put_uint(&event, EVENT_NAME_IID, (uint64_t)key + 1);
	put_argument_uint(&event, ARGUMENT_NUMBER, ANNOTATION_UINT, arguments.number);
	put_argument_uint(&event, ARGUMENT_STREAM, ANNOTATION_UINT, arguments.stream);
	put_argument_uint(&event, ARGUMENT_CONTEXT, ANNOTATION_UINT, arguments.context);
	put_argument_uint(&event, ARGUMENT_RESULT, ANNOTATION_INT, (uint64_t)(int64_t)arguments.result);
	if (arguments.has_bytes)
		put_argument_uint(&event, ARGUMENT_BYTES, ANNOTATION_UINT, arguments.amount);
	if (arguments.has_graph) {
		put_argument_uint(&event, ARGUMENT_GRAPH, ANNOTATION_UINT, arguments.amount);
		put_argument_uint(&event, ARGUMENT_GRIDS, ANNOTATION_UINT, arguments.n_grids);
	}
	if (arguments.early)
		put_argument_text(&event, ARGUMENT_LAUNCHED, OUT_EARLY);
	if (arguments.api)
		put_argument_text(&event, ARGUMENT_API, arguments.api);
	if (slice->open)
		put_argument_text(&event, ARGUMENT_END, slice_end_word(WARPSPAN_END_OPEN));
	const uint32_t *grids = out_host_arrows(&writer->host, slice, &n_arrows);
	for (uint32_t i = 0; i < n_arrows; i++)
		put_flow(writer, &event, EVENT_FLOWS, grids[i]);
	put_edge(writer, out_axis_of_host(&writer->axis, slice->begin_ns), &event);
}

static void put_return(struct writer *writer, const struct warpspan_host_slice *slice)
{
	uint8_t memory[SMALL_BYTES];
	struct proto event;

	proto_init(&event, memory, sizeof(memory));
	proto_put_uint(&event, EVENT_TYPE, TYPE_END);
	proto_put_uint(&event, EVENT_TRACK, track_uuid(writer, LEVEL_THREAD, slice->thread));
	put_edge(writer, out_axis_of_host(&writer->axis, slice->end_ns), &event);
}

static void put_host_mark(struct writer *writer, const struct warpspan_host_mark *mark)
{
	uint8_t memory[PACKET_BYTES / 2];
	char text[OUT_KERNEL_BYTES];
	struct proto event;

	proto_init(&event, memory, sizeof(memory));
	proto_put_uint(&event, EVENT_TYPE, TYPE_INSTANT);
	proto_put_uint(&event, EVENT_TRACK, track_uuid(writer, LEVEL_THREAD, mark->thread));
	proto_put_text(&event, EVENT_NAME, out_mark_text(mark, text));
	put_edge(writer, out_axis_of_host(&writer->axis, mark->time_ns), &event);
}

/* The marks of a thread up to a time, from *mark on. */
static void put_host_marks(struct writer *writer, const struct warpspan_host_thread *thread, uint64_t until_ns,
			   uint32_t *mark)
{
	const struct warpspan_host_mark *marks = writer->model->host_marks;

	while (*mark < thread->first_mark + thread->n_marks && marks[*mark].time_ns <= until_ns)
		put_host_mark(writer, &marks[(*mark)++]);
}

static void put_thread(struct writer *writer, const struct warpspan_host_thread *thread)
{
	const struct warpspan_host_slice *open[HOST_DEPTH_MAX + 1];
	uint32_t n_open = 0, mark = thread->first_mark;

	introduce_calls(writer, thread);
	for (uint32_t i = 0; i <= thread->n_slices; i++) {
		const bool more = i < thread->n_slices;
		const struct warpspan_host_slice *slice = &writer->model->host_slices[thread->first_slice + i];

		while (n_open > (more ? slice->depth : 0)) {
			put_host_marks(writer, thread, open[--n_open]->end_ns, &mark);
			put_return(writer, open[n_open]);
		}
		put_host_marks(writer, thread, more ? slice->begin_ns : UINT64_MAX, &mark);
		if (more) {
			put_call(writer, slice);
			open[n_open++] = slice;
		}
	}
}

/* --- warps ------------------------------------------------------------------------------------ */

static void introduce_region(struct writer *writer, struct introduction *introduction, uint32_t region)
{
	const uint32_t file = writer->texts.file_ids[region];

	if (writer->name_sequence[region] == writer->sequence)
		return;
	writer->name_sequence[region] = writer->sequence;
	introduce(writer, introduction, INTERNED_EVENT_NAMES, (uint64_t)region + 1, writer->texts.names[region]);
	if (writer->file_sequence[file] == writer->sequence)
		return;
	writer->file_sequence[file] = writer->sequence;
	introduce(writer, introduction, INTERNED_STRINGS, (uint64_t)file + 1, writer->texts.files[region]);
}

/* Announces a track; fills `arguments` with those all its slices have in common. */
static void introduce_track(struct writer *writer, uint32_t index, struct proto *arguments)
{
	const struct warpspan_track *track = &writer->model->tracks[index];
	const uint32_t *grid = writer->model->grids[track->grid].grid;
	struct introduction introduction;
	char text[64];

	proto_init(&introduction.interned, introduction.memory, sizeof(introduction.memory));
	for (uint64_t i = 0; i < track->n_slices; i++)
		introduce_region(writer, &introduction, writer->model->slices[track->first_slice + i].region);
	for (uint64_t i = 0; i < track->n_marks; i++)
		introduce_region(writer, &introduction, writer->model->marks[track->first_mark + i].region);
	if (writer->grid != track->grid) {
		writer->grid = track->grid;
		writer->grid_string = writer->next_string++;
		snprintf(text, sizeof(text), "%" PRIu32 "x%" PRIu32 "x%" PRIu32, grid[0], grid[1], grid[2]);
		introduce(writer, &introduction, INTERNED_STRINGS, writer->grid_string, text);
	}
	const uint64_t block_string = writer->next_string++;
	introduce(writer, &introduction, INTERNED_STRINGS, block_string, text_block(text, track->block));
	put_introduction(writer, &introduction, track_uuid(writer, LEVEL_WARP, index));
	put_argument_uint(arguments, ARGUMENT_GRID, ANNOTATION_STRING_IID, writer->grid_string);
	put_argument_uint(arguments, ARGUMENT_BLOCK, ANNOTATION_STRING_IID, block_string);
	put_argument_uint(arguments, ARGUMENT_SM, ANNOTATION_UINT, track->sm);
}

static void put_event(struct writer *writer, const struct out_event *walked, const struct proto *track_arguments)
{
	uint8_t memory[SMALL_BYTES], packet_memory[2 * SMALL_BYTES];
	struct proto event, packet;

	proto_init(&event, memory, sizeof(memory));
	proto_put_uint(&event, EVENT_TYPE,
		       walked->kind == OUT_BEGIN ? TYPE_BEGIN
		       : walked->kind == OUT_END ? TYPE_END
						 : TYPE_INSTANT);
	if (walked->kind != OUT_END) {
		const uint32_t region = walked->kind == OUT_BEGIN ? walked->slice->region : walked->mark->region;
		const char *end = walked->kind == OUT_BEGIN ? slice_end_word(walked->slice->end) : NULL;

		proto_put_uint(&event, EVENT_NAME_IID, (uint64_t)region + 1);
		if (walked->kind == OUT_MARK)
			put_mark_value(&event, walked->mark);
		put_argument_uint(&event, ARGUMENT_FILE, ANNOTATION_STRING_IID,
				  (uint64_t)writer->texts.file_ids[region] + 1);
		put_argument_uint(&event, ARGUMENT_LINE, ANNOTATION_UINT, writer->model->regions[region].line);
		proto_put_encoded(&event, track_arguments);
		if (end)
			put_argument_text(&event, ARGUMENT_END, end);
	}
	const uint64_t time_ns = out_axis_of_device(&writer->axis, writer->device, walked->time_ns);
	proto_init(&packet, packet_memory, sizeof(packet_memory));
	proto_put_uint(&packet, PACKET_TIMESTAMP, time_ns - writer->last_ns); /* back to an earlier warp: wraps */
	proto_put_uint(&packet, PACKET_SEQUENCE_ID, writer->sequence);
	proto_put_uint(&packet, PACKET_SEQUENCE_FLAGS, FLAG_NEEDED);
	proto_put_message(&packet, PACKET_TRACK_EVENT, &event);
	put_packet(writer, &packet);
	writer->last_ns = time_ns;
}

static void put_warp(struct writer *writer, uint32_t index)
{
	uint8_t memory[SMALL_BYTES / 2];
	struct proto arguments;
	struct out_event event;
	struct out_walk walk;

	proto_init(&arguments, memory, sizeof(memory));
	introduce_track(writer, index, &arguments);
	out_walk_init(&walk, writer->model, &writer->model->tracks[index], writer->open);
	while (out_walk_next(&walk, &event))
		put_event(writer, &event, &arguments);
}

static int by_sm(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->sm != y->sm)
		return x->sm < y->sm ? -1 : 1;
	return (x->first_track > y->first_track) - (x->first_track < y->first_track);
}

/* Finds the runs; with `runs` NULL only counts them. */
static uint32_t find_runs(const struct warpspan_model *model, struct run *runs)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < model->n_tracks; i++) {
		const struct warpspan_track *track = &model->tracks[i];

		if (i == 0 || track->grid != track[-1].grid || track->sm != track[-1].sm) {
			if (runs)
				runs[n] = (struct run){ model->grids[track->grid].device, track->sm, i, 0 };
			n++;
		}
		if (runs)
			runs[n - 1].n_tracks++;
	}
	return n;
}

static void put_warps(struct writer *writer)
{
	uint32_t sequence = SM_SEQUENCES;

	qsort(writer->runs, writer->n_runs, sizeof(*writer->runs), by_sm);
	for (uint32_t i = 0; i < writer->n_runs; i++) {
		const struct run *run = &writer->runs[i];

		if (i == 0 || run->device != run[-1].device || run->sm != run[-1].sm)
			put_sequence_start(writer, sequence++, true);
		writer->device = run->device;
		for (uint32_t j = run->first_track; j < run->first_track + run->n_tracks; j++)
			if (has_events(&writer->model->tracks[j]))
				put_warp(writer, j);
	}
}

static bool writer_init(struct writer *writer, const struct warpspan_model *model, struct sink *sink)
{
	*writer = (struct writer){ .model = model, .sink = sink, .n_runs = find_runs(model, NULL) };
	if (!out_texts_init(&writer->texts, model))
		return false;
	if (!out_axis_init(&writer->axis, model) || !out_host_init(&writer->host, model))
		return false;
	writer->base_ns = out_axis_start(&writer->axis);
	writer->seed = make_seed(model);
	writer->open = calloc(OUT_MOST_DEPTH, sizeof(*writer->open));
	writer->runs = calloc((size_t)writer->n_runs + 1, sizeof(*writer->runs));
	writer->name_sequence = calloc((size_t)model->n_regions + 1, sizeof(*writer->name_sequence));
	writer->file_sequence = calloc((size_t)writer->texts.n_files + 1, sizeof(*writer->file_sequence));
	writer->event_memory = malloc(FLOWS_BYTES);
	writer->packet_memory = malloc(FLOWS_BYTES);
	writer->host_names = calloc(out_host_n_keys(&writer->host), sizeof(*writer->host_names));
	if (!writer->event_memory || !writer->packet_memory || !writer->host_names)
		return false;
	if (!writer->open || !writer->runs || !writer->name_sequence || !writer->file_sequence)
		return false;
	find_runs(model, writer->runs);
	return true;
}

static void writer_finish(struct writer *writer)
{
	out_texts_finish(&writer->texts);
	free(writer->open);
	free(writer->runs);
	free(writer->name_sequence);
	free(writer->file_sequence);
	free(writer->event_memory);
	free(writer->packet_memory);
	free(writer->host_names);
	out_axis_finish(&writer->axis);
	out_host_finish(&writer->host);
}

int warpspan_write_pftrace(const struct warpspan_model *model, struct sink *sink)
{
	struct writer writer;
	int result = WARPSPAN_NO_MEMORY;

	if (writer_init(&writer, model, sink)) {
		put_clocks(&writer);
		put_tracks(&writer);
		put_sequence_start(&writer, HOST_SEQUENCE, false);
		for (uint32_t i = 0; i < writer.axis.n_host_threads; i++)
			put_thread(&writer, &model->host_threads[i]);
		put_sequence_start(&writer, LAUNCH_SEQUENCE, false);
		for (uint32_t i = 0; i < model->n_grids; i++)
			put_launch(&writer, i);
		put_warps(&writer);
		result = writer.full ? WARPSPAN_TOO_LARGE : WARPSPAN_OK;
	}
	writer_finish(&writer);
	return result;
}

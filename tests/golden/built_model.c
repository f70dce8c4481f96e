/* SPDX-License-Identifier: Apache-2.0
 *
 * built_model.c - models made by hand. See built_model.h.
 */
#include "built_model.h"

#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *copy(const char *text)
{
	char *made = strdup(text);

	if (!made)
		abort();
	return made;
}

/* Room for one more element, zeroed. */
static void *grow(void *array, size_t n, size_t bytes)
{
	char *grown = realloc(array, (n + 1) * bytes);

	if (!grown)
		abort();
	memset(grown + n * bytes, 0, bytes);
	return grown;
}

#define APPEND(model, array, n)                                                              \
	((model)->array = grow((model)->array, (size_t)(model)->n, sizeof(*(model)->array)), \
	 &(model)->array[(model)->n++])

struct warpspan_model *built_create(const char *command)
{
	struct warpspan_model *model = grow(NULL, 0, sizeof(*model));

	model->path = copy("build/pipeline.wspan");
	model->version = copy("0.1.0");
	model->host = copy("node17");
	model->rank = copy("");
	model->launcher = copy("");
	model->started_by = copy("");
	model->stopped_by = copy("");
	model->command = copy(command);
	model->pid = 4242;
	model->session = 1;
	model->start_realtime_ns = 1767348000000000000ull; /* 2026-01-02 10:00:00 UTC */
	model->start_monotonic_ns = 5000000000ull;
	model->arena_bytes = 32u << 20;
	model->words_least = 16;
	model->words_enough = 64;
	model->words_most = 1024;
	model->complete = true;
	return model;
}

uint32_t built_device(struct warpspan_model *model, const char *name, uint32_t n_sms)
{
	struct warpspan_device *device = APPEND(model, devices, n_devices);
	struct warpspan_clock_fit *clock = APPEND(model, clocks, n_clocks);

	device->ordinal = model->n_devices - 1;
	device->name = copy(name);
	device->uuid = copy("GPU-00000000-0000-0000-0000-000000000000");
	device->compute = copy("9.0");
	device->n_sms = n_sms;
	device->clock_khz = 1980000;
	*clock = (struct warpspan_clock_fit){ .device = device->ordinal,
					      .tick_ns = 32,
					      .rate_hz = 1754.6e6,
					      .error_ns = 11.6,
					      .n_sms = n_sms,
					      .n_pairs = 2 * n_sms,
					      .fitted = true };
	return device->ordinal;
}

uint32_t built_kernel(struct warpspan_model *model, const char *demangled)
{
	struct warpspan_kernel *kernel = APPEND(model, kernels, n_kernels);

	kernel->number = model->n_kernels;
	kernel->module = 1;
	kernel->same = model->n_kernels - 1;
	kernel->name = copy("_Z6kernelv");
	kernel->demangled = copy(demangled);
	return model->n_kernels - 1;
}

uint32_t built_region(struct warpspan_model *model, uint32_t kernel, const char *name, const char *file, uint32_t line)
{
	struct warpspan_region *region = APPEND(model, regions, n_regions);

	region->name = copy(name);
	region->file = copy(file);
	region->line = line;
	region->kernel = kernel;
	region->site_kind = WARPSPAN_SITE_SCOPE;
	return model->n_regions - 1;
}

void built_launch(struct warpspan_model *model, uint32_t kernel)
{
	struct warpspan_launch *launch = APPEND(model, launches, n_launches);

	launch->number = model->n_launches;
	launch->begin_ns = model->start_monotonic_ns;
	launch->end_ns = launch->begin_ns + 4200;
	launch->thread = 4243;
	launch->kernel = model->kernels[kernel].number;
	launch->module = model->kernels[kernel].module;
}

uint32_t built_grid(struct warpspan_model *model, uint32_t kernel, uint32_t device, uint32_t blocks, uint32_t threads,
		    uint64_t start_ns, uint64_t end_ns)
{
	struct warpspan_grid *grid = APPEND(model, grids, n_grids);
	struct warpspan_launch *launch = APPEND(model, launches, n_launches);

	launch->number = model->n_launches;
	launch->begin_ns = model->start_monotonic_ns;
	launch->end_ns = launch->begin_ns + 4200;
	launch->thread = 4243;
	*grid = (struct warpspan_grid){ .kernel = kernel,
					.device = device,
					.context = 1,
					.grid_id = 100 + model->n_grids,
					.host = model->n_launches - 1,
					.call = WARPSPAN_NONE,
					.match = WARPSPAN_MATCH_GRID_ID,
					.join = WARPSPAN_JOIN_ID,
					.grid = { blocks, 1, 1 },
					.threads = { threads, 1, 1 },
					.cluster = { 1, 1, 1 },
					.start_ns = start_ns,
					.end_ns = end_ns,
					.first_track = model->n_tracks };
	return model->n_grids - 1;
}

void built_launched(struct warpspan_model *model, uint64_t begin_ns, uint64_t end_ns, uint32_t thread, uint64_t stream)
{
	struct warpspan_launch *launch = &model->launches[model->n_launches - 1];

	launch->begin_ns = begin_ns;
	launch->end_ns = end_ns;
	launch->thread = thread;
	launch->stream = stream;
	launch->kernel = model->kernels[model->grids[model->n_grids - 1].kernel].number;
	launch->api = WARPSPAN_API_CU_LAUNCH_KERNEL;
}

static uint32_t built_hook(struct warpspan_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->n_hooks; i++)
		if (strcmp(model->hooks[i].name, name) == 0)
			return model->hooks[i].number;
	struct warpspan_hook *hook = APPEND(model, hooks, n_hooks);
	hook->number = model->n_hooks;
	hook->name = copy(name);
	return hook->number;
}

uint32_t built_call(struct warpspan_model *model, uint32_t kind, const char *api, uint64_t begin_ns, uint64_t end_ns,
		    uint32_t thread, uint64_t amount)
{
	struct warpspan_host_call *call = APPEND(model, calls, n_calls);

	*call = (struct warpspan_host_call){ .number = 1000 + model->n_calls,
					     .kind = kind,
					     .api = *api ? built_hook(model, api) : 0,
					     .begin_ns = begin_ns,
					     .end_ns = end_ns,
					     .context = 1,
					     .thread = thread,
					     .stream = thread % 3,
					     .result = thread % 5 == 0 ? -1 : 0,
					     .amount = amount };
	return model->n_calls - 1;
}

void built_host_mark(struct warpspan_model *model, uint32_t thread, uint64_t time_ns, const char *text)
{
	struct warpspan_host_mark *mark = APPEND(model, host_marks, n_host_marks);

	*mark = (struct warpspan_host_mark){ .time_ns = time_ns, .thread = thread, .text = copy(text) };
}

void built_host(struct warpspan_model *model)
{
	struct host host = { 0 };

	host.calls.items = model->calls;
	host.calls.n = host.calls.room = model->n_calls;
	host.marks.items = model->host_marks;
	host.marks.n = host.marks.room = model->n_host_marks;
	host_sort(&host);
	if (host_arrange(&host, model->launches, model->n_launches) != WARPSPAN_OK)
		abort();
	model->host_slices = host.slices.items;
	model->n_host_slices = (uint32_t)host.slices.n;
	model->host_threads = host.threads.items;
	model->n_host_threads = (uint32_t)host.threads.n;
}

void built_host_clock(struct warpspan_model *model, uint32_t device, int64_t offset_ns, double error_ns, bool agrees)
{
	struct warpspan_clock_knot *knot = APPEND(model, knots, n_knots);
	struct warpspan_host_clock *clock = APPEND(model, host_clocks, n_host_clocks);

	*knot = (struct warpspan_clock_knot){ 0, offset_ns };
	*clock = (struct warpspan_host_clock){ .device = device,
					       .agrees = agrees,
					       .bounded = error_ns > 0,
					       .error_ns = error_ns,
					       .offset_ns = offset_ns,
					       .n_upper = 3,
					       .n_lower = 2,
					       .first_knot = model->n_knots - 1,
					       .n_knots = 1 };
}

struct warpspan_track *built_track(struct warpspan_model *model, uint32_t sm, uint32_t block, uint32_t warp,
				   uint64_t start_ns, uint64_t end_ns)
{
	struct warpspan_track *track = APPEND(model, tracks, n_tracks);

	*track = (struct warpspan_track){ .grid = model->n_grids - 1,
					  .sm = sm,
					  .block = { block, 0, 0 },
					  .warp = warp,
					  .cluster_blocks = 1,
					  .start_ns = start_ns,
					  .end_ns = end_ns,
					  .first_slice = model->n_slices,
					  .first_mark = model->n_marks };
	model->grids[track->grid].n_tracks++;
	model->grids[track->grid].n_warps++;
	model->n_segments++;
	return track;
}

static void count_records(struct warpspan_model *model, uint64_t n)
{
	model->n_records += n;
	model->grids[model->n_grids - 1].n_records += n;
}

void built_slice(struct warpspan_model *model, uint32_t region, uint64_t start_ns, uint64_t end_ns, uint16_t depth,
		 enum warpspan_slice_end end)
{
	struct warpspan_slice *slice = APPEND(model, slices, n_slices);

	*slice = (struct warpspan_slice){ .start_ns = start_ns,
					  .end_ns = end_ns,
					  .track = model->n_tracks - 1,
					  .region = region,
					  .depth = depth,
					  .end = (uint8_t)end };
	model->tracks[model->n_tracks - 1].n_slices++;
	count_records(model, end == WARPSPAN_END_RECORDED ? 2 : 1);
}

void built_mark(struct warpspan_model *model, uint32_t region, uint64_t time_ns, uint32_t kind, uint32_t bits)
{
	struct warpspan_mark *mark = APPEND(model, marks, n_marks);

	*mark = (struct warpspan_mark){
		.time_ns = time_ns, .track = model->n_tracks - 1, .region = region, .kind = kind, .bits = bits
	};
	model->tracks[model->n_tracks - 1].n_marks++;
	count_records(model, 1);
}

void built_lost(struct warpspan_model *model, uint32_t kernel, uint64_t n_records, uint64_t n_cut, uint64_t n_unheard,
		uint32_t most_words, const char *first)
{
	struct warpspan_lost *lost = APPEND(model, lost, n_lost);

	lost->kernel = kernel;
	lost->n_records = n_records;
	lost->n_warps_cut = n_cut;
	lost->n_warps_unheard = n_unheard;
	lost->most_words = most_words;
	snprintf(lost->first, sizeof(lost->first), "%s", first);
	model->n_lost_records += n_records;
	model->n_lost_warps += n_cut + n_unheard;
}

void built_unpaired(struct warpspan_model *model, enum warpspan_unpaired_cause cause, uint32_t region, uint64_t n)
{
	struct warpspan_unpaired *unpaired = APPEND(model, unpaired, n_unpaired);

	*unpaired = (struct warpspan_unpaired){ .cause = cause, .region = region, .n = n };
}

void built_damage(struct warpspan_model *model, uint64_t offset, const char *text)
{
	struct warpspan_error *damage = APPEND(model, damage, n_damage);

	damage->result = WARPSPAN_DAMAGED;
	damage->offset = offset;
	snprintf(damage->text, sizeof(damage->text), "%s", text);
}

void built_counter(struct warpspan_model *model, const char *name, uint64_t value)
{
	/* the element type has no name: APPEND's sizeof still knows it */
	model->counters = grow(model->counters, model->n_counters, sizeof(*model->counters));
	model->counters[model->n_counters].name = copy(name);
	model->counters[model->n_counters++].value = value;
}

uint32_t built_random(uint64_t *state, uint32_t below)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((*state >> 33) % below);
}

/* --- the example ------------------------------------------------------------------------------ */

struct example {
	struct warpspan_model *model;
	uint64_t state;
	uint32_t producer, wait_empty, load, consumer, wait_full, multiply, tile, progress, passed, scale;
};

static void add_producer(struct example *example, uint64_t start)
{
	uint64_t at = start + 40;

	built_slice(example->model, example->producer, start, start + 20000, 0, WARPSPAN_END_RECORDED);
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t wait = 200 + built_random(&example->state, 900),
			       load = 700 + built_random(&example->state, 200);

		built_slice(example->model, example->wait_empty, at, at + wait, 1, WARPSPAN_END_RECORDED);
		built_slice(example->model, example->load, at + wait, at + wait + load, 1, WARPSPAN_END_RECORDED);
		built_mark(example->model, example->tile, at + wait, WARPSPAN_KIND_VALUE_U32, i);
		at += wait + load;
	}
}

static void add_consumer(struct example *example, uint64_t start, bool cut)
{
	uint64_t at = start + 60;

	built_slice(example->model, example->consumer, start, start + 21000, 0, WARPSPAN_END_RECORDED);
	for (unsigned i = 0; i < 8; i++) {
		const uint64_t wait = 20 + built_random(&example->state, 300);
		const uint64_t multiply = 1500 + built_random(&example->state, 90);
		const bool last = cut && i == 7;

		built_slice(example->model, example->wait_full, at, at + wait, 1, WARPSPAN_END_RECORDED);
		built_slice(example->model, example->multiply, at + wait, at + wait + multiply, 1,
			    last ? WARPSPAN_END_LOST : WARPSPAN_END_RECORDED);
		at += wait + multiply + 10;
	}
	built_mark(example->model, example->progress, at, WARPSPAN_KIND_VALUE_F32, 0x3f400000 /* 0.75 */);
	built_mark(example->model, example->passed, at + 5, WARPSPAN_KIND_MARK, 0);
}

static void add_trouble(struct example *example, uint32_t pipeline)
{
	struct warpspan_model *model = example->model;

	built_lost(model, pipeline, 1234, 12, 44, 96, "block (3,0,0) warp 2");
	model->grids[0].n_lost = 1234;
	built_unpaired(model, WARPSPAN_UNPAIRED_LOST, example->multiply, 2);
	built_unpaired(model, WARPSPAN_UNPAIRED_OPEN, example->wait_full, 1);
	built_unpaired(model, WARPSPAN_UNPAIRED_END, example->load, 3);
	built_unpaired(model, WARPSPAN_UNPAIRED_BAD_RECORD, WARPSPAN_NONE, 1);
	built_damage(model, 4096, "chunk 12: the checksum of its payload does not match; its 3 segments are left out");
	built_counter(model, "launches_recorded", 3);
	built_counter(model, "no_context", 7);
	built_counter(model, "arena_swaps", 3);
	built_counter(model, "of_the_future", 1);
	model->grids[1].host = WARPSPAN_NONE;
	model->grids[1].join = WARPSPAN_JOIN_NONE;
	model->grids[2].host = WARPSPAN_NONE;
	model->grids[2].join = WARPSPAN_JOIN_AMBIGUOUS;
	model->grids[1].match = WARPSPAN_MATCH_UNSURE;
	model->grids[0].n_open = 1;
	model->complete = false;
	model->n_repairs = 2;
}

struct warpspan_model *built_example(bool troubled)
{
	struct example example = { .model = built_create("./pipeline --size 1024"), .state = 1 };
	struct warpspan_model *model = example.model;
	const uint64_t start = model->start_realtime_ns + 1000000000u;
	const uint64_t host = model->start_monotonic_ns + 1000000000u; /* the same moment */
	const char *file = "../device_rt/examples/pipeline.cu";

	built_device(model, "NVIDIA H100 80GB HBM3", 132);
	const uint32_t pipeline = built_kernel(model, "pipeline(float const*, float const*, float*)");
	const uint32_t scale = built_kernel(
		model,
		"void scale_all_elements_of_a_tensor<float, (Layout)2, 128>(Tensor<float, (Layout)2> const&, float)");
	example.producer = built_region(model, pipeline, "producer", file, 88);
	example.wait_empty = built_region(model, pipeline, "wait for an empty stage", file, 92);
	example.load = built_region(model, pipeline, "load", file, 97);
	example.consumer = built_region(model, pipeline, "consumer", file, 110);
	example.wait_full = built_region(model, pipeline, "wait for a full stage", file, 114);
	example.multiply = built_region(model, pipeline, "multiply", file, 120);
	example.tile = built_region(model, pipeline, "tile", file, 98);
	example.progress = built_region(model, pipeline, "progress", file, 131);
	example.passed = built_region(model, pipeline, "passed the barrier", file, 133);
	example.scale = built_region(model, scale, "scale", "scale.cuh", 12);
	for (unsigned launch = 0; launch < 2; launch++) {
		const uint64_t launch_start = start + launch * 100000;

		built_grid(model, pipeline, 0, 4, 128, launch_start, launch_start + 25000 + 2000 * launch);
		built_launched(model, host + launch * 100000 - 7000, host + launch * 100000 - 2800, 4242, 0);
		for (unsigned block = 0; block < 4; block++) {
			for (unsigned warp = 0; warp < 4; warp++) {
				const uint64_t warp_start = launch_start + 100 * block + 10 * warp;

				built_track(model, 2 * block, block, warp, warp_start, warp_start + 21100);
				if (warp == 0)
					add_producer(&example, warp_start + 10);
				else
					add_consumer(&example, warp_start + 10, troubled && block == 3 && warp == 2);
			}
		}
	}
	built_grid(model, scale, 0, 1, 32, start + 300000, start + 302000);
	built_track(model, 7, 0, 0, start + 300000, start + 302000);
	built_slice(model, example.scale, start + 300100, start + 301999, 0, WARPSPAN_END_RECORDED);
	built_launched(model, host + 290000, host + 294200, 4243, 3);
	built_call(model, WARPSPAN_HOST_COPY, "cuMemcpyHtoDAsync_v2", host - 40000, host - 20000, 4242, 4 << 20);
	built_call(model, WARPSPAN_HOST_SYNCHRONIZE, "cuStreamSynchronize", host + 295000, host + 309000, 4243, 0);
	built_call(model, WARPSPAN_HOST_COPY, "cuMemcpyDtoH_v2", host + 101000, host + 140000, 4242, 4 << 20);
	built_host_clock(model, 0, (int64_t)(model->start_realtime_ns - model->start_monotonic_ns), 6100, true);
	if (troubled) {
		add_trouble(&example, pipeline);
		model->calls[1].end_ns = 0;
	}
	built_host(model);
	return model;
}

/* --- random ----------------------------------------------------------------------------------- */

static void random_track(struct warpspan_model *model, uint64_t *state, uint64_t start, uint64_t end)
{
	uint64_t ends[6], at = start;
	uint16_t depth = 0;

	for (uint32_t n = built_random(state, 30); n > 0 && at <= end; n--) {
		at += built_random(state, 3) ? built_random(state, 40) : 0; /* often right where the last one ended */
		while (depth > 0 && (ends[depth - 1] < at || (ends[depth - 1] == at && built_random(state, 2))))
			depth--;
		const uint64_t limit = depth ? ends[depth - 1] : end;
		if (at > limit)
			break;
		const uint32_t room = (uint32_t)(limit - at);
		const uint64_t length = built_random(state, 5) == 0 ? 0 : built_random(state, room + 1);

		if (built_random(state, 4) == 0)
			built_mark(model, built_random(state, model->n_regions), at,
				   WARPSPAN_KIND_MARK + built_random(state, 4), built_random(state, 1u << 30) * 4u);
		built_slice(model, built_random(state, model->n_regions), at, at + length, depth,
			    (enum warpspan_slice_end)(built_random(state, 8) ? 0 : built_random(state, 4)));
		if (depth < 6 && built_random(state, 2))
			ends[depth++] = at + length;
		else
			at += length;
	}
}

struct warpspan_model *built_at_random(uint64_t seed)
{
	static const char *const names[] = { "load",          "a \"quoted\\name\"", "tabs\tand\nlines",
					     "\xc3\xbcmlaut", "\xff\xfe",           "" };
	static const char *const apis[] = { "cuGraphLaunch", "cuMemcpyAsync", "cuStreamSynchronize", "" };
	struct warpspan_model *model = built_create("./random");
	uint64_t state = seed * 2 + 1;

	if (built_random(&state, 2)) /* a device whose clock has nothing to do with the host's */
		model->start_realtime_ns = 0;
	for (uint32_t i = 0; i <= built_random(&state, 2); i++) {
		built_device(model, "simulated", 4);
		built_kernel(model, i ? "other(int)" : "first<\"x\">(int)");
	}
	for (uint32_t i = 0; i < 1 + built_random(&state, 12); i++)
		built_region(model, 0, names[i % 6], i % 3 ? "dir/a.cu" : "b.cuh", i + 1);
	const uint32_t n_grids = built_random(&state, 5);
	for (uint32_t g = 0; g < n_grids; g++) {
		const uint64_t start = 1000 + g * 5000;

		built_grid(model, built_random(&state, model->n_kernels), built_random(&state, model->n_devices), 4, 64,
			   start, start + 4000);
		built_launched(model, built_random(&state, 9000), built_random(&state, 9000), built_random(&state, 3),
			       built_random(&state, 2));
		if (model->n_calls && built_random(&state, 2)) { /* a graph's */
			model->grids[g].call = built_random(&state, model->n_calls);
			model->grids[g].host = WARPSPAN_NONE;
		}
		for (uint32_t i = 0; i < built_random(&state, 4); i++)
			built_call(model, 1 + built_random(&state, 4), apis[built_random(&state, 4)],
				   built_random(&state, 9000), built_random(&state, 9000), built_random(&state, 3),
				   i * 4096);
		for (uint32_t sm = 0; sm < 3; sm++) {
			for (uint32_t warp = 0; warp < built_random(&state, 4); warp++) {
				const uint64_t open = start + built_random(&state, 100);

				built_track(model, sm, sm, warp, open, start + 4000);
				random_track(model, &state, open, start + 4000);
			}
		}
	}
	for (uint32_t i = 0; i < built_random(&state, 4); i++)
		built_host_mark(model, built_random(&state, 3), built_random(&state, 9000),
				names[built_random(&state, 6)]);
	built_host(model);
	for (uint32_t i = 0; i < model->n_devices; i++)
		if (built_random(&state, 3))
			built_host_clock(model, i, (int64_t)built_random(&state, 4000) - 1000,
					 built_random(&state, 2) * 50, true);
	return model;
}

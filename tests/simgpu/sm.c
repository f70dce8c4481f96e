/* SPDX-License-Identifier: Apache-2.0
 *
 * sm.c - a launch: blocks onto SMs, the queue of what happens next, the end.
 *
 * The queue holds every warp that can run and every completion under way, ordered by true time, ties by SM and warp. So
 * what one SM does is seen by another in the order of simulated time, and the same launch always runs the same way.
 * A cluster starts when all its blocks fit, each on the SM with the fewest blocks; when a block ends, the next starts
 * in its place.
 *
 * sim_launch() runs on its caller's thread and shares only device memory with other launches.
 */
#include "exec.h"
#include "module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_PARTITIONS          4
#define MAX_SLOTS             64 /* blocks on an SM, as the setting allows */
#define MAX_WARPS_IN_BLOCK    (SIM_MAX_THREADS_PER_BLOCK / SIM_LANES)
#define SHARED_RESERVED_BYTES 1024 /* what the system takes of an SM's shared memory for each block */
#define SHARED_FILL           0xa7
#define BLOCK_INTERVAL_NS     2 /* between the starts of two clusters */
#define POLLS_BEFORE_PACING   1000000
#define PACE_CHECK_EVENTS     1024
#define HANG_SLEEP_NS         1000000

struct sim_sm {
	uint32_t n_blocks, n_warps;
	uint64_t shared_used;
	uint64_t slots;                 /* in use, a bit each */
	uint32_t n_ready[N_PARTITIONS]; /* warps that compete for a partition's issue slots */
};

/* --- queue: a binary heap --- */

static void queue_set(struct sim_launch_state *state, uint32_t position, struct sim_event *event)
{
	state->queue[position] = event;
	event->position = position + 1;
}

static void sift_up(struct sim_launch_state *state, uint32_t position)
{
	struct sim_event *event = state->queue[position];

	while (position > 0) {
		uint32_t parent = (position - 1) / 2;

		if (!event_before(event, state->queue[parent]))
			break;
		queue_set(state, position, state->queue[parent]);
		position = parent;
	}
	queue_set(state, position, event);
}

static void sift_down(struct sim_launch_state *state, uint32_t position)
{
	struct sim_event *event = state->queue[position];

	for (;;) {
		uint32_t child = 2 * position + 1;

		if (child >= state->n_queue)
			break;
		if (child + 1 < state->n_queue && event_before(state->queue[child + 1], state->queue[child]))
			child++;
		if (!event_before(state->queue[child], event))
			break;
		queue_set(state, position, state->queue[child]);
		position = child;
	}
	queue_set(state, position, event);
}

bool queue_push(struct sim_launch_state *state, struct sim_event *event)
{
	if (state->n_queue == state->queue_capacity) {
		uint32_t capacity = state->queue_capacity == 0 ? 256 : state->queue_capacity * 2;
		struct sim_event **queue = realloc(state->queue, capacity * sizeof(*queue));

		if (queue == NULL) {
			if (state->result->status == SIM_OK)
				state->result->status = SIM_NO_MEMORY;
			return false;
		}
		state->queue = queue;
		state->queue_capacity = capacity;
	}
	state->queue[state->n_queue] = event;
	sift_up(state, state->n_queue++);
	return true;
}

void queue_remove(struct sim_launch_state *state, struct sim_event *event)
{
	uint32_t position = event->position - 1;
	struct sim_event *last = state->queue[--state->n_queue];

	event->position = 0;
	if (last == event)
		return;
	queue_set(state, position, last);
	sift_down(state, position);
	sift_up(state, last->position - 1);
}

bool queue_deferred(struct sim_launch_state *state, struct sim_block *block, uint64_t time, uint32_t address,
		    uint32_t arrivals, uint32_t bytes)
{
	struct sim_deferred *deferred = state->free_deferred;

	if (deferred != NULL) {
		state->free_deferred = deferred->next_free;
	} else {
		deferred = calloc(1, sizeof(*deferred));
		if (deferred == NULL)
			return false;
		deferred->next_all = state->all_deferred;
		state->all_deferred = deferred;
	}
	deferred->event.time = time;
	/* Below every warp's order: a completion at the time of an instruction comes before it. */
	deferred->event.order = state->next_deferred_order++ & 0x7fffffffu;
	deferred->event.is_warp = false;
	deferred->block = block;
	deferred->block_generation = block->generation;
	deferred->address = address;
	deferred->arrivals = arrivals;
	deferred->bytes = bytes;
	return queue_push(state, &deferred->event);
}

/* --- blocks onto SMs --- */

static bool sm_has_room(const struct sim_launch_state *state, const struct sim_sm *sm)
{
	const struct sim_config *config = &state->device->config;

	return sm->n_blocks < config->max_blocks_per_sm && sm->n_blocks < MAX_SLOTS &&
	       sm->n_warps + state->block_warps <= config->max_warps_per_sm &&
	       sm->shared_used + state->shared_bytes + SHARED_RESERVED_BYTES <= config->shared_bytes_per_sm;
}

static void sm_add(const struct sim_launch_state *state, struct sim_sm *sm)
{
	sm->n_blocks++;
	sm->n_warps += state->block_warps;
	sm->shared_used += state->shared_bytes + SHARED_RESERVED_BYTES;
}

static void sm_drop(const struct sim_launch_state *state, struct sim_sm *sm)
{
	sm->n_blocks--;
	sm->n_warps -= state->block_warps;
	sm->shared_used -= state->shared_bytes + SHARED_RESERVED_BYTES;
}

/* An SM for each block of a cluster, or none at all. */
static bool choose_sms(struct sim_launch_state *state, uint32_t ret_sms[SIM_MAX_CLUSTER])
{
	uint32_t n_sms = state->device->config.n_sms;
	uint32_t n = 0;

	while (n < state->cluster_blocks) {
		uint32_t best = UINT32_MAX;

		for (uint32_t i = 0; i < n_sms; i++)
			if (sm_has_room(state, &state->sms[i]) &&
			    (best == UINT32_MAX || state->sms[i].n_blocks < state->sms[best].n_blocks))
				best = i;
		if (best == UINT32_MAX)
			break;
		sm_add(state, &state->sms[best]);
		ret_sms[n++] = best;
	}
	if (n == state->cluster_blocks)
		return true;
	while (n > 0)
		sm_drop(state, &state->sms[ret_sms[--n]]);
	return false;
}

static struct sim_block *new_block(struct sim_launch_state *state)
{
	struct sim_block *block = state->free_blocks;

	if (block != NULL) {
		state->free_blocks = block->next_free;
		return block;
	}
	block = calloc(1, sizeof(*block));
	if (block == NULL)
		return NULL;
	block->next_all = state->all_blocks;
	state->all_blocks = block;
	block->warps = calloc(state->block_warps, sizeof(*block->warps));
	block->shared = aligned_alloc(128, ((size_t)state->shared_bytes + 255) & ~(size_t)127);
	if (block->warps == NULL || block->shared == NULL)
		return NULL;
	return block;
}

static struct sim_cluster *new_cluster(struct sim_launch_state *state)
{
	struct sim_cluster *cluster = state->free_clusters;

	if (cluster != NULL) {
		state->free_clusters = cluster->next_free;
	} else {
		cluster = calloc(1, sizeof(*cluster));
		if (cluster == NULL)
			return NULL;
		cluster->next_all = state->all_clusters;
		state->all_clusters = cluster;
	}
	cluster->n_blocks = cluster->n_live_blocks = state->cluster_blocks;
	cluster->n_live_warps = state->cluster_blocks * state->block_warps;
	cluster->n_arrived = 0;
	cluster->phase = 0;
	cluster->last_time = 0;
	return cluster;
}

/* Block `rank` of cluster `index`: clusters tile the grid, x first; blocks tile a cluster the same way. */
static void locate_block(const struct sim_launch_state *state, uint64_t index, uint32_t rank, uint32_t ret_ctaid[3])
{
	for (int i = 0; i < 3; i++) {
		uint32_t n_along = state->launch->grid[i] / state->cluster_shape[i];

		ret_ctaid[i] = (uint32_t)(index % n_along) * state->cluster_shape[i] + rank % state->cluster_shape[i];
		index /= n_along;
		rank /= state->cluster_shape[i];
	}
}

static void reset_warp(struct sim_warp *warp)
{
	uint8_t *local = warp->local;
	uint32_t capacity = warp->local_capacity;

	memset(warp, 0, sizeof(*warp));
	warp->local = local;
	warp->local_capacity = capacity;
}

static bool start_warps(struct sim_launch_state *state, struct sim_block *block, uint64_t time)
{
	const struct sim_sm_clock *clock = &state->device->clocks[block->sm];
	uint64_t cycle = sim_clock_cycle(clock, time) + sim_cost_cycles[PTX_COST_BLOCK_START];

	for (uint32_t i = 0; i < block->n_warps; i++) {
		struct sim_warp *warp = &block->warps[i];

		reset_warp(warp);
		warp->event.is_warp = true;
		warp->event.order = 1u << 31 | block->sm << 16 | block->slot << 8 | i;
		warp->launch = state;
		warp->block = block;
		warp->clock = clock;
		warp->index = i;
		warp->n_ready = &state->sms[block->sm].n_ready[(block->slot + i) % N_PARTITIONS];
		if (!warp_start(warp, cycle + (uint64_t)i * sim_cost_cycles[PTX_COST_WARP_START]))
			return false;
		warp->event.time = warp_time(warp, warp->cycle);
		if (!queue_push(state, &warp->event))
			return false;
	}
	return true;
}

static bool start_block(struct sim_launch_state *state, struct sim_cluster *cluster, uint32_t rank, uint32_t sm,
			uint64_t time)
{
	struct sim_block *block = new_block(state);

	if (block == NULL)
		return false;
	block->launch = state;
	block->cluster = cluster;
	block->rank = rank;
	block->sm = sm;
	block->slot = (uint32_t)__builtin_ctzll(~state->sms[sm].slots);
	block->generation = ++state->next_generation;
	block->shared_bytes = state->shared_bytes;
	block->has_triggered = false;
	block->n_threads = state->block_threads;
	block->n_warps = block->n_live_warps = state->block_warps;
	state->sms[sm].slots |= 1ULL << block->slot;
	memset(block->barriers, 0, sizeof(block->barriers));
	memset(block->shared, SHARED_FILL, state->shared_bytes);
	memset(block->reserved, 0, sizeof(block->reserved));
	locate_block(state, state->next_cluster, rank, block->ctaid);
	cluster->blocks[rank] = block;
	state->n_running_blocks++;
	return start_warps(state, block, time);
}

/* Starts clusters while they fit; false when memory ran out. */
static bool start_clusters(struct sim_launch_state *state, uint64_t time)
{
	uint32_t sms[SIM_MAX_CLUSTER];

	while (state->next_cluster < state->n_clusters && choose_sms(state, sms)) {
		struct sim_cluster *cluster = new_cluster(state);

		if (cluster == NULL)
			return false;
		if (state->next_start_time < time)
			state->next_start_time = time;
		for (uint32_t rank = 0; rank < state->cluster_blocks; rank++)
			if (!start_block(state, cluster, rank, sms[rank], state->next_start_time))
				return false;
		state->next_start_time += (uint64_t)BLOCK_INTERVAL_NS << SIM_TIME_BITS;
		state->next_cluster++;
	}
	return true;
}

void launch_note_trigger(struct sim_launch_state *launch, struct sim_block *block, uint64_t time)
{
	block->has_triggered = true;
	if (time > launch->trigger_time)
		launch->trigger_time = time;
}

static bool end_block(struct sim_launch_state *state, struct sim_block *block, uint64_t time)
{
	struct sim_cluster *cluster = block->cluster;
	struct sim_sm *sm = &state->sms[block->sm];

	if (!block->has_triggered)
		launch_note_trigger(state, block, time);
	sm->slots &= ~(1ULL << block->slot);
	sm_drop(state, sm);
	block->generation = 0;
	block->cluster = NULL;
	cluster->blocks[block->rank] = NULL;
	if (--cluster->n_live_blocks == 0) {
		cluster->next_free = state->free_clusters;
		state->free_clusters = cluster;
	}
	block->next_free = state->free_blocks;
	state->free_blocks = block;
	state->n_running_blocks--;
	return start_clusters(state, time);
}

static bool end_warp(struct sim_launch_state *state, struct sim_warp *warp)
{
	struct sim_block *block = warp->block;
	uint64_t time = warp_time(warp, warp->cycle);

	if (time > state->end_time)
		state->end_time = time;
	block->n_live_warps--;
	block_warp_ended(block, warp->cycle);
	return block->n_live_warps > 0 || end_block(state, block, time);
}

/* --- running --- */

static uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void host_sleep(void)
{
	const struct timespec duration = { .tv_nsec = HANG_SLEEP_NS };

	nanosleep(&duration, NULL);
}

/* A grid that has done nothing but poll for very long hangs, or waits for the host: it then must not run faster than
 * time does, or it would burn a core at it. */
static void pace(const struct sim_launch_state *state, uint64_t time, uint64_t host_start_ns)
{
	uint64_t elapsed_ns = (time >> SIM_TIME_BITS) - state->launch->start_ns;

	if (elapsed_ns > host_now_ns() - host_start_ns)
		host_sleep();
}

static void set_ready(struct sim_warp *warp, bool is_ready)
{
	if (warp->is_ready == is_ready)
		return;
	warp->is_ready = is_ready;
	*warp->n_ready += is_ready ? 1 : UINT32_MAX;
}

static bool run_warp_event(struct sim_launch_state *state, struct sim_warp *warp)
{
	enum warp_stop stop;

	if (warp->wait == WAIT_MBARRIER) {
		warp->wait = WAIT_NONE;
		warp->wait_expired = true;
		warp->cycle = warp->wait_deadline;
		state->n_polls++;
	}
	set_ready(warp, true);
	stop = warp_run(warp);
	if (stop == WARP_STOP_REQUEUE)
		return queue_push(state, &warp->event);
	set_ready(warp, false);
	if (stop == WARP_STOP_STALLED)
		return queue_push(state, &warp->event);
	if (stop == WARP_STOP_DONE)
		return end_warp(state, warp);
	return stop == WARP_STOP_BLOCKED;
}

static void run_deferred_event(struct sim_launch_state *state, struct sim_deferred *deferred)
{
	if (deferred->block->generation == deferred->block_generation)
		mbarrier_deferred(state, deferred);
	deferred->next_free = state->free_deferred;
	state->free_deferred = deferred;
}

static void run_grid(struct sim_launch_state *state)
{
	uint64_t host_start_ns = host_now_ns();
	uint64_t n_events = 0;
	bool good = start_clusters(state, state->launch->start_ns << SIM_TIME_BITS);

	while (good && state->n_running_blocks > 0) {
		struct sim_event *event;

		if (atomic_load_explicit(&state->device->stopped, memory_order_relaxed)) {
			state->result->status = SIM_STOPPED;
			return;
		}
		if (state->n_queue == 0) {
			/* Every warp waits for another one: a hang, as on a device. */
			host_sleep();
			continue;
		}
		event = state->queue[0];
		queue_remove(state, event);
		if (++n_events % PACE_CHECK_EVENTS == 0 && state->n_polls > POLLS_BEFORE_PACING)
			pace(state, event->time, host_start_ns);
		if (event->is_warp)
			good = run_warp_event(state, (struct sim_warp *)event);
		else
			run_deferred_event(state, (struct sim_deferred *)event);
		if (state->result->status != SIM_OK)
			return;
	}
	if (!good && state->result->status == SIM_OK) {
		state->result->status = SIM_NO_MEMORY;
		snprintf(state->result->message, sizeof(state->result->message), "out of host memory in kernel %.60s",
			 state->function->name);
	}
}

/* --- launch --- */

__attribute__((format(printf, 3, 4))) static bool refuse(struct sim_result *result, enum sim_status status,
							 const char *format, ...)
{
	va_list arguments;

	result->status = status;
	va_start(arguments, format);
	vsnprintf(result->message, sizeof(result->message), format, arguments);
	va_end(arguments);
	return false;
}

static bool check_cluster(struct sim_launch_state *state)
{
	const struct sim_launch *launch = state->launch;
	const uint32_t *required = state->function->required_cluster;
	uint32_t n = 1;

	for (int i = 0; i < 3; i++) {
		uint32_t asked = launch->cluster[i] == 0 ? 1 : launch->cluster[i];
		bool unset = launch->cluster[0] <= 1 && launch->cluster[1] <= 1 && launch->cluster[2] <= 1;

		if (required[i] != 0 && unset)
			asked = required[i];
		if (required[i] != 0 && asked != required[i])
			return refuse(state->result, SIM_INVALID_VALUE, "kernel %s needs clusters of %u,%u,%u blocks",
				      state->function->name, required[0], required[1], required[2]);
		if (launch->grid[i] % asked != 0)
			return refuse(state->result, SIM_INVALID_VALUE,
				      "a grid of %u blocks is not a multiple of the cluster's %u", launch->grid[i],
				      asked);
		state->cluster_shape[i] = asked;
		if (asked > SIM_MAX_CLUSTER)
			return refuse(state->result, SIM_INVALID_VALUE, "a cluster has at most %u blocks",
				      SIM_MAX_CLUSTER);
		n *= asked;
	}
	if (n > SIM_MAX_CLUSTER)
		return refuse(state->result, SIM_INVALID_VALUE, "a cluster has at most %u blocks", SIM_MAX_CLUSTER);
	state->cluster_blocks = n;
	state->is_cluster = n > 1 || required[0] != 0;
	return true;
}

static bool check_shape(struct sim_launch_state *state)
{
	const struct sim_launch *launch = state->launch;
	const struct ptx_function *function = state->function;
	const struct sim_config *config = &state->device->config;
	uint64_t threads = 1, blocks = 1;

	for (int i = 0; i < 3; i++) {
		if (launch->grid[i] == 0 || launch->block[i] == 0 || launch->grid[i] > INT32_MAX ||
		    launch->block[i] > SIM_MAX_THREADS_PER_BLOCK || (i > 0 && launch->grid[i] > 65535))
			return refuse(state->result, SIM_INVALID_VALUE,
				      "grid (%u,%u,%u) of blocks (%u,%u,%u) is not possible", launch->grid[0],
				      launch->grid[1], launch->grid[2], launch->block[0], launch->block[1],
				      launch->block[2]);
		threads *= launch->block[i];
		blocks *= launch->grid[i];
	}
	if (launch->block[2] > 64 || threads > SIM_MAX_THREADS_PER_BLOCK)
		return refuse(state->result, SIM_INVALID_VALUE, "a block of %u,%u,%u threads is not possible",
			      launch->block[0], launch->block[1], launch->block[2]);
	if (function->max_threads != 0 && threads > function->max_threads)
		return refuse(state->result, SIM_LAUNCH_OUT_OF_RESOURCES,
			      "kernel %s runs with at most %u threads a block", function->name, function->max_threads);
	state->block_threads = (uint32_t)threads;
	state->block_warps = (uint32_t)((threads + SIM_LANES - 1) / SIM_LANES);
	state->dynamic_shared_offset = sim_dynamic_shared_offset(function);
	if ((uint64_t)state->dynamic_shared_offset + launch->dynamic_shared_bytes >
	    config->shared_bytes_per_block_optin)
		return refuse(state->result, SIM_LAUNCH_OUT_OF_RESOURCES,
			      "kernel %s needs %u + %u bytes of shared memory, a block may have %u", function->name,
			      state->dynamic_shared_offset, launch->dynamic_shared_bytes,
			      config->shared_bytes_per_block_optin);
	/* Without a dynamic part the end is exact, not rounded up to where that part would start. */
	state->shared_bytes = launch->dynamic_shared_bytes == 0
				      ? function->shared_bytes
				      : state->dynamic_shared_offset + launch->dynamic_shared_bytes;
	if (!check_cluster(state))
		return false;
	state->n_clusters = blocks / state->cluster_blocks;
	if (!sm_has_room(state, &(struct sim_sm){ 0 }) ||
	    (uint64_t)sim_function_occupancy_of(state->device, function, state->block_threads,
						launch->dynamic_shared_bytes) *
			    config->n_sms <
		    state->cluster_blocks)
		return refuse(state->result, SIM_LAUNCH_OUT_OF_RESOURCES, "a block of kernel %s does not fit on an SM",
			      function->name);
	return true;
}

uint32_t sim_function_occupancy_of(const struct sim_device *device, const struct ptx_function *function,
				   uint32_t threads, uint32_t dynamic_shared_bytes)
{
	struct sim_launch_state state = { .device = (struct sim_device *)device };
	struct sim_sm sm = { 0 };
	uint64_t shared = (uint64_t)sim_dynamic_shared_offset(function) + dynamic_shared_bytes;

	if (threads == 0 || threads > SIM_MAX_THREADS_PER_BLOCK ||
	    shared > device->config.shared_bytes_per_block_optin ||
	    (function->max_threads != 0 && threads > function->max_threads))
		return 0;
	state.block_warps = (threads + SIM_LANES - 1) / SIM_LANES;
	state.shared_bytes = (uint32_t)shared;
	while (sm_has_room(&state, &sm))
		sm_add(&state, &sm);
	return sm.n_blocks;
}

static void release_frames(struct sim_launch_state *state)
{
	for (uint32_t i = 0; i < state->module->n_functions && state->free_frames != NULL; i++)
		while (state->free_frames[i] != NULL) {
			struct sim_frame *frame = state->free_frames[i];

			state->free_frames[i] = frame->parent;
			free(frame);
		}
	free(state->free_frames);
}

/* Frames of warps that a fault or a stop cut short. */
static void release_warp(struct sim_launch_state *state, struct sim_warp *warp)
{
	if (state->free_frames != NULL && warp->launch != NULL && !warp->is_done) {
		warp_save_group(warp);
		warp_drop_frames(warp);
	}
	free(warp->local);
}

static void release(struct sim_launch_state *state)
{
	while (state->all_blocks != NULL) {
		struct sim_block *block = state->all_blocks;

		state->all_blocks = block->next_all;
		for (uint32_t i = 0; i < state->block_warps && block->warps != NULL; i++)
			release_warp(state, &block->warps[i]);
		free(block->warps);
		free(block->shared);
		free(block);
	}
	while (state->all_clusters != NULL) {
		struct sim_cluster *cluster = state->all_clusters;

		state->all_clusters = cluster->next_all;
		free(cluster);
	}
	while (state->all_deferred != NULL) {
		struct sim_deferred *deferred = state->all_deferred;

		state->all_deferred = deferred->next_all;
		free(deferred);
	}
	release_frames(state);
	sim_truth_finish(&state->truth);
	free(state->queue);
	free(state->sms);
}

void sim_launch(struct sim_device *device, const struct sim_launch *launch, struct sim_result *ret_result)
{
	static atomic_uint n_launches;
	struct sim_launch_state state = { .device = device, .launch = launch, .result = ret_result };

	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->end_ns = launch->start_ns;
	state.function = sim_function_code(launch->function);
	state.module = state.function->module;
	state.params = launch->params;
	state.params_bytes = state.function->entry_params_bytes;
	if (!check_shape(&state))
		return;
	if (state.params_bytes > 0 && state.params == NULL) {
		refuse(ret_result, SIM_INVALID_VALUE, "kernel %s needs parameters", state.function->name);
		return;
	}
	state.sms = calloc(device->config.n_sms, sizeof(*state.sms));
	state.free_frames = calloc(state.module->n_functions, sizeof(*state.free_frames));
	if (state.sms == NULL || state.free_frames == NULL) {
		refuse(ret_result, SIM_NO_MEMORY, "out of host memory");
		release(&state);
		return;
	}
	state.number = atomic_fetch_add(&n_launches, 1) + 1;
	state.tells_truth = device->tells_truth;
	state.workspace[0] = sizeof(state.workspace);
	state.end_time = state.trigger_time = launch->start_ns << SIM_TIME_BITS;
	run_grid(&state);
	ret_result->end_ns = (state.end_time + (1u << SIM_TIME_BITS) - 1) >> SIM_TIME_BITS;
	ret_result->trigger_ns = (state.trigger_time + (1u << SIM_TIME_BITS) - 1) >> SIM_TIME_BITS;
	release(&state);
}

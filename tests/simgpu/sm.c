/* SPDX-License-Identifier: Apache-2.0
 *
 * sm.c - blocks on SMs, and the run of a domain.
 *
 * A domain's queue holds every warp that can run and every completion under way, ordered by true time, ties by SM and
 * warp. So what one SM does is seen by another in the order of simulated time, and the same launch always runs the same
 * way. A cluster starts when all its blocks fit, each on the SM with the fewest blocks; when a block ends, the next
 * starts in its place: the SM that frees first takes it, ties by number. The end of a block is an event of its own for
 * that reason: warps run ahead of each other, ends must not.
 *
 * A domain is touched only by the thread that runs it. A kernel that polls gives way to other threads of the machine.
 */
#include "exec.h"
#include "module.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define N_PARTITIONS          4
#define MAX_SLOTS             64   /* blocks on an SM, as the setting allows */
#define SHARED_RESERVED_BYTES 1024 /* what the system takes of an SM's shared memory for each block */
#define SHARED_FILL           0xa7
#define BLOCK_INTERVAL_NS     2 /* between the starts of two clusters */
#define POLLS_BEFORE_YIELD    2048
#define POLLS_BEFORE_REST     1000000
#define EVENTS_BEFORE_YIELD   4096 /* that neither achieved something nor polled: it may spin on plain loads */
#define WORK_INSTRUCTIONS     64   /* of a warp without a poll: it computes, others may well wait for that */
#define REST_NS               200000
#define LONGEST_RESTS         40 /* of REST_NS at once */

struct sim_sm {
	uint32_t n_blocks, n_warps;
	uint64_t shared_used;
	uint64_t slots;                 /* in use, a bit each */
	uint32_t n_ready[N_PARTITIONS]; /* warps that compete for a partition's issue slots */
};

void domain_fail(struct sim_domain *domain, enum sim_status status, const char *message)
{
	if (domain->status != SIM_OK)
		return;
	domain->status = status;
	snprintf(domain->message, sizeof(domain->message), "%s", message);
}

/* --- blocks onto SMs -------------------------------------------------------------------------- */

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

uint32_t sm_capacity(const struct sim_launch_state *state)
{
	struct sim_sm sm = { 0 };

	while (sm_has_room(state, &sm))
		sm_add(state, &sm);
	return sm.n_blocks;
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

static struct sim_block *new_block(struct sim_domain *domain)
{
	const struct sim_launch_state *state = domain->launch;
	struct sim_block *block = domain->free_blocks;

	if (block != NULL) {
		domain->free_blocks = block->next_free;
		return block;
	}
	block = calloc(1, sizeof(*block));
	if (block == NULL)
		return NULL;
	block->next_all = domain->all_blocks;
	domain->all_blocks = block;
	block->warps = calloc(state->block_warps, sizeof(*block->warps));
	block->shared = aligned_alloc(128, ((size_t)state->shared_bytes + 255) & ~(size_t)127);
	if (block->warps == NULL || block->shared == NULL)
		return NULL;
	return block;
}

static struct sim_cluster *new_cluster(struct sim_domain *domain)
{
	const struct sim_launch_state *state = domain->launch;
	struct sim_cluster *cluster = domain->free_clusters;

	if (cluster != NULL) {
		domain->free_clusters = cluster->next_free;
	} else {
		cluster = calloc(1, sizeof(*cluster));
		if (cluster == NULL)
			return NULL;
		cluster->next_all = domain->all_clusters;
		domain->all_clusters = cluster;
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

static void tell_life(struct sim_warp *warp, enum sim_truth_register what)
{
	warp_tell_truth(warp, what, warp->clock->offset_cycles + warp->cycle, warp->live);
}

static bool start_warps(struct sim_domain *domain, struct sim_block *block, uint64_t time)
{
	struct sim_launch_state *state = domain->launch;
	const struct sim_sm_clock *clock = &state->device->clocks[block->sm];
	uint64_t cycle = sim_clock_cycle(clock, time) + sim_cost_cycles[PTX_COST_BLOCK_START];

	for (uint32_t i = 0; i < block->n_warps; i++) {
		struct sim_warp *warp = &block->warps[i];

		reset_warp(warp);
		warp->event.kind = EVENT_WARP;
		warp->event.order = SIM_ORDER_WARP | block->sm << 16 | block->slot << 8 | i;
		warp->launch = state;
		warp->domain = domain;
		warp->block = block;
		warp->clock = clock;
		warp->index = i;
		warp->n_ready = &state->sms[block->sm].n_ready[(block->slot + i) % N_PARTITIONS];
		if (!warp_start(warp, cycle + (uint64_t)i * sim_cost_cycles[PTX_COST_WARP_START]))
			return false;
		warp->event.time = warp_time(warp, warp->cycle);
		if (!queue_push(domain, &warp->event))
			return false;
		if (state->tells_truth)
			tell_life(warp, SIM_TRUTH_WARP_START);
	}
	return true;
}

/* Block `rank` of cluster number `index`. */
static bool start_block(struct sim_domain *domain, struct sim_cluster *cluster, uint64_t index, uint32_t rank,
			uint32_t sm, uint64_t time)
{
	struct sim_launch_state *state = domain->launch;
	struct sim_block *block = new_block(domain);

	if (block == NULL)
		return false;
	block->launch = state;
	block->cluster = cluster;
	block->rank = rank;
	block->sm = sm;
	block->slot = (uint32_t)__builtin_ctzll(~state->sms[sm].slots);
	block->generation = ++domain->next_generation;
	block->shared_bytes = state->shared_bytes;
	block->has_triggered = false;
	block->n_threads = state->block_threads;
	block->n_warps = block->n_live_warps = state->block_warps;
	block->end.kind = EVENT_BLOCK_END;
	block->end.order = SIM_ORDER_BLOCK_END | sm << 8 | block->slot;
	block->end.time = 0;
	state->sms[sm].slots |= 1ULL << block->slot;
	memset(block->barriers, 0, sizeof(block->barriers));
	memset(block->shared, SHARED_FILL, state->shared_bytes);
	memset(block->reserved, 0, sizeof(block->reserved));
	locate_block(state, index, rank, block->ctaid);
	cluster->blocks[rank] = block;
	domain->n_running_blocks++;
	return start_warps(domain, block, time);
}

static bool start_cluster(struct sim_domain *domain, uint64_t index, const uint32_t *sms, uint64_t time)
{
	struct sim_cluster *cluster = new_cluster(domain);

	if (cluster == NULL)
		return false;
	for (uint32_t rank = 0; rank < domain->launch->cluster_blocks; rank++)
		if (!start_block(domain, cluster, index, rank, sms[rank], time))
			return false;
	return true;
}

bool clusters_left(struct sim_launch_state *state)
{
	return atomic_load_explicit(&state->next_cluster, memory_order_relaxed) < state->n_clusters;
}

uint64_t take_cluster(struct sim_launch_state *state, uint64_t time, uint64_t *ret_time)
{
	*ret_time = state->next_start_time < time ? time : state->next_start_time;
	state->next_start_time = *ret_time + ((uint64_t)BLOCK_INTERVAL_NS << SIM_TIME_BITS);
	return atomic_fetch_add_explicit(&state->next_cluster, 1, memory_order_relaxed);
}

bool start_clusters(struct sim_launch_state *state, uint64_t time)
{
	uint32_t sms[SIM_MAX_CLUSTER];

	while (clusters_left(state) && choose_sms(state, sms)) {
		struct sim_domain *domain = &state->domains[state->n_domains == 1 ? 0 : sms[0]];
		uint64_t start_time;
		uint64_t index = take_cluster(state, time, &start_time);

		if (!start_cluster(domain, index, sms, start_time)) {
			domain_fail(domain, SIM_NO_MEMORY, "out of host memory");
			return false;
		}
	}
	return true;
}

void domain_note_trigger(struct sim_domain *domain, struct sim_block *block, uint64_t time)
{
	block->has_triggered = true;
	if (time > domain->trigger_time)
		domain->trigger_time = time;
}

/* The block that dispatch.c gave for the one that ended. */
static bool start_granted(struct sim_domain *domain)
{
	domain->has_grant = false;
	sm_add(domain->launch, &domain->launch->sms[domain->first_sm]);
	return start_cluster(domain, domain->granted_cluster, &domain->first_sm, domain->granted_time);
}

static void end_block(struct sim_domain *domain, struct sim_block *block)
{
	struct sim_launch_state *state = domain->launch;
	struct sim_cluster *cluster = block->cluster;
	struct sim_sm *sm = &state->sms[block->sm];

	if (!block->has_triggered)
		domain_note_trigger(domain, block, block->end.time);
	sm->slots &= ~(1ULL << block->slot);
	sm_drop(state, sm);
	block->generation = 0;
	block->cluster = NULL;
	cluster->blocks[block->rank] = NULL;
	if (--cluster->n_live_blocks == 0) {
		cluster->next_free = domain->free_clusters;
		domain->free_clusters = cluster;
	}
	block->next_free = domain->free_blocks;
	domain->free_blocks = block;
	domain->n_running_blocks--;
	if (block->end.time > domain->end_time)
		domain->end_time = block->end.time;
	domain->has_achieved = true;
}

static bool end_warp(struct sim_domain *domain, struct sim_warp *warp)
{
	struct sim_block *block = warp->block;
	uint64_t time = warp_time(warp, warp->cycle);

	if (time > block->end.time)
		block->end.time = time;
	if (domain->launch->tells_truth)
		tell_life(warp, SIM_TRUTH_WARP_END);
	domain->n_executed += warp->n_executed;
	block->n_live_warps--;
	block_warp_ended(warp);
	return block->n_live_warps > 0 || queue_push(domain, &block->end);
}

/* --- running ---------------------------------------------------------------------------------- */

static uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void host_sleep(uint64_t duration_ns)
{
	const struct timespec duration = { .tv_nsec = (long)duration_ns };

	nanosleep(&duration, NULL);
}

/* The domain has only polled lately. What it waits for may be done by a thread that waits for a core; and when it has
 * polled for very long it hangs, or waits for the host: then it must not burn a core at it, nor run faster than time.
 */
static void give_way(struct sim_domain *domain)
{
	const struct sim_launch_state *state = domain->launch;

	domain->n_fruitless += domain->n_polls;
	domain->n_polls = 0;
	if (domain->n_fruitless < POLLS_BEFORE_REST) {
		sched_yield();
		return;
	}
	/* The longer nothing came, the longer the rest: a turn of looks takes as long as the machine is slow. */
	const uint64_t n_rests = domain->n_fruitless / POLLS_BEFORE_REST;
	host_sleep(REST_NS * (n_rests < LONGEST_RESTS ? n_rests : LONGEST_RESTS));
	if ((domain->now >> SIM_TIME_BITS) - state->launch->start_ns > host_now_ns() - state->host_start_ns)
		host_sleep(5 * REST_NS);
}

static void note_polls(struct sim_domain *domain)
{
	if (domain->has_achieved) {
		domain->has_achieved = false;
		domain->n_polls = 0;
		domain->n_fruitless = 0;
		domain->n_idle_events = 0;
	} else if (domain->n_polls >= POLLS_BEFORE_YIELD) {
		give_way(domain);
	} else if (++domain->n_idle_events >= EVENTS_BEFORE_YIELD) {
		domain->n_idle_events = 0;
		sched_yield();
	}
}

static void set_ready(struct sim_warp *warp, bool is_ready)
{
	if (warp->is_ready == is_ready)
		return;
	warp->is_ready = is_ready;
	*warp->n_ready += is_ready ? 1 : UINT32_MAX;
}

static bool run_warp_event(struct sim_domain *domain, struct sim_warp *warp)
{
	uint64_t n_executed = warp->n_executed;
	uint32_t n_polls = domain->n_polls;
	enum warp_stop stop;

	if (warp->wait == WAIT_MBARRIER) {
		warp->wait = WAIT_NONE;
		warp->wait_expired = true;
		warp->cycle = warp->wait_deadline;
		/* It waited for as long as many looks at a flag would have taken. */
		domain->n_polls += POLLS_OF_A_WAIT;
	}
	set_ready(warp, true);
	stop = warp_run(warp);
	if (domain->n_polls == n_polls && warp->n_executed - n_executed >= WORK_INSTRUCTIONS) {
		domain->n_polls = 0;
		domain->n_fruitless = 0;
	}
	if (stop == WARP_STOP_REQUEUE)
		return queue_push(domain, &warp->event);
	set_ready(warp, false);
	if (stop == WARP_STOP_STALLED)
		return queue_push(domain, &warp->event);
	if (stop == WARP_STOP_DONE)
		return end_warp(domain, warp);
	return stop == WARP_STOP_BLOCKED;
}

static void run_deferred_event(struct sim_domain *domain, struct sim_deferred *deferred)
{
	if (deferred->block->generation == deferred->block_generation)
		mbarrier_deferred(deferred);
	deferred->next_free = domain->free_deferred;
	domain->free_deferred = deferred;
}

/* False when memory ran out. ASK leaves *ret_stop set. */
static bool run_event(struct sim_domain *domain, struct sim_event *event, enum domain_stop *ret_stop)
{
	switch (event->kind) {
	case EVENT_WARP:
		return run_warp_event(domain, (struct sim_warp *)event);
	case EVENT_DEFERRED:
		run_deferred_event(domain, (struct sim_deferred *)event);
		return true;
	default: /* EVENT_BLOCK_END */
		end_block(domain, (struct sim_block *)event);
		if (!clusters_left(domain->launch))
			return true;
		if (domain->launch->n_domains == 1)
			return start_clusters(domain->launch, domain->now);
		*ret_stop = DOMAIN_STOP_ASK;
		return true;
	}
}

static bool over_budget(struct sim_domain *domain)
{
	uint64_t max_steps = domain->launch->launch->max_steps;

	return max_steps != 0 && (domain->n_queue == 0 || ++domain->n_steps > max_steps);
}

enum domain_stop domain_run(struct sim_domain *domain, uint64_t n_events)
{
	const struct sim_device *device = domain->launch->device;
	enum domain_stop stop = DOMAIN_STOP_PAUSE;
	bool good = !domain->has_grant || start_granted(domain);

	for (uint64_t n = 0; good && n < n_events && stop == DOMAIN_STOP_PAUSE; n++) {
		struct sim_event *event;

		if (domain->n_running_blocks == 0)
			return DOMAIN_STOP_OVER;
		if (atomic_load_explicit(&device->stopped, memory_order_relaxed)) {
			domain_fail(domain, SIM_STOPPED, "");
			return DOMAIN_STOP_OVER;
		}
		if (over_budget(domain)) {
			domain_fail(domain, SIM_STOPPED, "more steps than allowed");
			return DOMAIN_STOP_OVER;
		}
		if (domain->n_queue == 0)
			return DOMAIN_STOP_HUNG;
		event = domain->queue[0].event;
		queue_remove(domain, event);
		domain->now = event->time;
		good = run_event(domain, event, &stop);
		note_polls(domain);
	}
	if (!good)
		domain_fail(domain, SIM_NO_MEMORY, "out of host memory");
	return domain->status != SIM_OK ? DOMAIN_STOP_OVER : stop;
}

/* --- beginning and end ------------------------------------------------------------------------ */

bool domains_create(struct sim_launch_state *state, uint32_t n_domains)
{
	uint32_t n_sms = state->device->config.n_sms;

	state->sms = calloc(n_sms, sizeof(*state->sms));
	state->domains = calloc(n_domains, sizeof(*state->domains));
	if (state->sms == NULL || state->domains == NULL)
		return false;
	state->n_domains = n_domains;
	for (uint32_t i = 0; i < n_domains; i++) {
		struct sim_domain *domain = &state->domains[i];

		domain->launch = state;
		domain->first_sm = i;
		domain->bound = state->launch->start_ns << SIM_TIME_BITS;
		domain->end_time = domain->trigger_time = domain->bound;
		domain->free_frames = calloc(state->module->n_functions, sizeof(*domain->free_frames));
		if (domain->free_frames == NULL)
			return false;
	}
	return true;
}

static void release_frames(struct sim_domain *domain)
{
	for (uint32_t i = 0; domain->free_frames != NULL && i < domain->launch->module->n_functions; i++)
		while (domain->free_frames[i] != NULL) {
			struct sim_frame *frame = domain->free_frames[i];

			domain->free_frames[i] = frame->parent;
			free(frame);
		}
	free(domain->free_frames);
}

/* Frames of warps that a fault or a stop cut short. */
static void release_warp(struct sim_warp *warp)
{
	if (warp->launch != NULL && !warp->is_done) {
		warp_save_group(warp);
		warp_drop_frames(warp);
	}
	free(warp->local);
}

static void release_domain(struct sim_domain *domain)
{
	while (domain->all_blocks != NULL) {
		struct sim_block *block = domain->all_blocks;

		domain->all_blocks = block->next_all;
		for (uint32_t i = 0; i < domain->launch->block_warps && block->warps != NULL; i++)
			release_warp(&block->warps[i]);
		free(block->warps);
		free(block->shared);
		free(block);
	}
	while (domain->all_clusters != NULL) {
		struct sim_cluster *cluster = domain->all_clusters;

		domain->all_clusters = cluster->next_all;
		free(cluster);
	}
	while (domain->all_deferred != NULL) {
		struct sim_deferred *deferred = domain->all_deferred;

		domain->all_deferred = deferred->next_all;
		free(deferred);
	}
	release_frames(domain);
	sim_truth_finish(&domain->truth);
	free(domain->queue);
}

void domains_destroy(struct sim_launch_state *state)
{
	for (uint32_t i = 0; i < state->n_domains; i++)
		release_domain(&state->domains[i]);
	free(state->domains);
	free(state->sms);
}

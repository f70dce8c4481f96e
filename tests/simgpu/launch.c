/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c - a launch: is it possible, how is it divided, what came of it.
 *
 * sim_launch() runs on its caller's thread, which is joined by others when the kernel allows it (dispatch.c), and
 * returns when all of them are done.
 */
#include "exec.h"
#include "module.h"
#include "ptx_share.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
	if (sm_capacity(state) == 0 ||
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
	uint64_t shared = (uint64_t)sim_dynamic_shared_offset(function) + dynamic_shared_bytes;

	if (threads == 0 || threads > SIM_MAX_THREADS_PER_BLOCK ||
	    shared > device->config.shared_bytes_per_block_optin ||
	    (function->max_threads != 0 && threads > function->max_threads))
		return 0;
	state.block_warps = (threads + SIM_LANES - 1) / SIM_LANES;
	state.shared_bytes = (uint32_t)shared;
	return sm_capacity(&state);
}

/* The first failure in simulated time, ties by SM, is the launch's. */
static void collect_result(struct sim_launch_state *state)
{
	const struct sim_domain *first = NULL;
	uint64_t end_time = state->launch->start_ns << SIM_TIME_BITS, trigger_time = end_time;

	for (uint32_t i = 0; i < state->n_domains; i++) {
		const struct sim_domain *domain = &state->domains[i];

		state->result->n_warp_instructions += domain->n_executed;
		if (domain->end_time > end_time)
			end_time = domain->end_time;
		if (domain->trigger_time > trigger_time)
			trigger_time = domain->trigger_time;
		if (domain->status != SIM_OK && (first == NULL || domain->now < first->now))
			first = domain;
	}
	state->result->end_ns = (end_time + (1u << SIM_TIME_BITS) - 1) >> SIM_TIME_BITS;
	state->result->trigger_ns = (trigger_time + (1u << SIM_TIME_BITS) - 1) >> SIM_TIME_BITS;
	if (first == NULL)
		return;
	state->result->status = first->status;
	memcpy(state->result->message, first->message, sizeof(state->result->message));
}

static uint64_t host_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static bool can_divide(const struct sim_launch_state *state)
{
	return state->cluster_blocks == 1 && !state->launch->is_cooperative &&
	       ptx_blocks_independent(state->function, state->device, state->params);
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
	state.number = atomic_fetch_add(&n_launches, 1) + 1;
	state.tells_truth = device->tells_truth;
	state.workspace[0] = sizeof(state.workspace);
	state.host_start_ns = host_now_ns();
	if (!domains_create(&state, can_divide(&state) ? device->config.n_sms : 1)) {
		refuse(ret_result, SIM_NO_MEMORY, "out of host memory");
	} else {
		if (start_clusters(&state, launch->start_ns << SIM_TIME_BITS))
			dispatch_run(&state);
		collect_result(&state);
	}
	domains_destroy(&state);
}

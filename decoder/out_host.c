/* SPDX-License-Identifier: Apache-2.0
 *
 * out_host.c - names and arrows of the host's slices. See out_host.h. Built once per timeline, read-only afterwards.
 */
#include "out_host.h"

#include "host_stats.h"
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_COLUMNS 60u  /* of a command in the name of its track */
#define MARK_COLUMNS    250u /* of a mark's text */
#define N_KINDS         8u   /* keys kept for calls whose entry point is not known */

/* Where the calls stand behind the launches in `first`. */
static uint32_t place_of(const struct warpspan_model *model, uint32_t launch, uint32_t call)
{
	return launch != WARPSPAN_NONE ? launch : model->n_launches + call;
}

/* Lays the grids out by the call that launched them. */
static bool sort_grids(struct out_host *host)
{
	const struct warpspan_model *model = host->model;
	const size_t n_places = (size_t)model->n_launches + model->n_calls;

	host->first = calloc(n_places + 2, sizeof(*host->first));
	host->grids = calloc((size_t)model->n_grids + 1, sizeof(*host->grids));
	host->has_arrow = calloc((size_t)model->n_grids + 1, sizeof(*host->has_arrow));
	if (!host->first || !host->grids || !host->has_arrow)
		return false;
	/* counted two places ahead, so that filling moves each to where it belongs */
	for (uint32_t i = 0; i < model->n_grids; i++)
		if (model->grids[i].host != WARPSPAN_NONE || model->grids[i].call != WARPSPAN_NONE)
			host->first[place_of(model, model->grids[i].host, model->grids[i].call) + 2]++;
	for (size_t i = 2; i < n_places + 2; i++)
		host->first[i] += host->first[i - 1];
	for (uint32_t i = 0; i < model->n_grids; i++) {
		if (model->grids[i].host == WARPSPAN_NONE && model->grids[i].call == WARPSPAN_NONE)
			continue;
		const uint32_t place = place_of(model, model->grids[i].host, model->grids[i].call);

		host->grids[host->first[place + 1]++] = i;
	}
	for (size_t place = 0; place < n_places; place++)
		for (uint32_t i = host->first[place]; i < host->first[place + 1]; i++)
			host->has_arrow[host->grids[i]] = i - host->first[place] < OUT_MOST_ARROWS;
	return true;
}

bool out_host_init(struct out_host *host, const struct warpspan_model *model)
{
	*host = (struct out_host){ .model = model };
	for (uint32_t i = 0; i < model->n_kernels; i++)
		if (map_find(&host->kernels, model->kernels[i].number, 0) == MAP_NONE &&
		    map_set(&host->kernels, model->kernels[i].number, 0, i) < 0)
			return false;
	return sort_grids(host);
}

void out_host_finish(struct out_host *host)
{
	map_finish(&host->kernels);
	free(host->grids);
	free(host->first);
	free(host->has_arrow);
	*host = (struct out_host){ 0 };
}

uint32_t out_host_n_keys(const struct out_host *host)
{
	return host->model->n_kernels + 1 + host->model->n_hooks + N_KINDS;
}

static const char *launch_name(const struct out_host *host, const struct warpspan_launch *launch,
			       char name[OUT_HOST_NAME_BYTES], uint32_t *ret_key)
{
	const uint32_t kernel = launch->kernel ? map_find(&host->kernels, launch->kernel, 0) : MAP_NONE;
	char shown[OUT_KERNEL_BYTES];

	*ret_key = kernel == MAP_NONE ? host->model->n_kernels : kernel;
	if (kernel == MAP_NONE)
		return strcpy(name, "launch");
	snprintf(name, OUT_HOST_NAME_BYTES, "launch %s", out_kernel_name(host->model, kernel, shown));
	return name;
}

const char *out_host_name(const struct out_host *host, const struct warpspan_host_slice *slice,
			  char name[OUT_HOST_NAME_BYTES], uint32_t *ret_key)
{
	const struct warpspan_model *model = host->model;

	if (slice->launch != WARPSPAN_NONE)
		return launch_name(host, &model->launches[slice->launch], name, ret_key);
	const struct warpspan_host_call *call = &model->calls[slice->call];
	const struct warpspan_hook *hook = host_call_hook(model, call);
	if (hook && *hook->name) {
		*ret_key = model->n_kernels + 1 + (uint32_t)(hook - model->hooks);
		return text_elide(name, OUT_HOST_NAME_BYTES, hook->name, 100);
	}
	*ret_key = model->n_kernels + 1 + model->n_hooks + (call->kind < N_KINDS ? call->kind : 0);
	return strcpy(name, host_call_kind_text(call->kind < N_KINDS ? call->kind : 0));
}

const uint32_t *out_host_arrows(const struct out_host *host, const struct warpspan_host_slice *slice, uint32_t *ret_n)
{
	const uint32_t place = place_of(host->model, slice->launch, slice->call);
	const uint32_t n = host->first[place + 1] - host->first[place];

	*ret_n = n < OUT_MOST_ARROWS ? n : OUT_MOST_ARROWS;
	return host->grids + host->first[place];
}

void out_host_arguments(const struct out_host *host, const struct warpspan_host_slice *slice,
			struct out_host_arguments *ret_arguments)
{
	const struct warpspan_model *model = host->model;
	const uint32_t place = place_of(model, slice->launch, slice->call);

	*ret_arguments = (struct out_host_arguments){ .n_grids = host->first[place + 1] - host->first[place] };
	if (slice->launch != WARPSPAN_NONE) {
		const struct warpspan_launch *launch = &model->launches[slice->launch];

		ret_arguments->number = launch->number;
		ret_arguments->stream = launch->stream;
		ret_arguments->context = launch->context;
		ret_arguments->result = launch->result;
		ret_arguments->api = host_launch_api(launch);
		ret_arguments->early = *model->started_by && launch->begin_ns < model->start_monotonic_ns;
		return;
	}
	const struct warpspan_host_call *call = &model->calls[slice->call];
	ret_arguments->number = call->number;
	ret_arguments->stream = call->stream;
	ret_arguments->context = call->context;
	ret_arguments->result = call->result;
	ret_arguments->has_bytes = call->kind == WARPSPAN_HOST_COPY;
	ret_arguments->has_graph = call->kind == WARPSPAN_HOST_GRAPH_LAUNCH;
	ret_arguments->amount = call->amount;
}

char *out_mark_text(const struct warpspan_host_mark *mark, char text[OUT_KERNEL_BYTES])
{
	if (*mark->text == '\0')
		return strcpy(text, "mark");
	return text_elide(text, OUT_KERNEL_BYTES, mark->text, MARK_COLUMNS);
}

char *out_process_name(const struct warpspan_model *model, char name[OUT_NAME_BYTES])
{
	char shown[OUT_NAME_BYTES - 32 - TEXT_RANK_BYTES], rank[TEXT_RANK_BYTES];

	text_rank(rank, model->rank, model->world, model->launcher);
	snprintf(name, OUT_NAME_BYTES, "host %" PRIu32 "%s%s%s%s", model->pid, *rank ? " " : "", rank,
		 *model->command ? " " : "", text_elide(shown, sizeof(shown), model->command, COMMAND_COLUMNS));
	return name;
}

char *out_thread_name(const struct warpspan_model *model, uint32_t thread, char name[OUT_NAME_BYTES])
{
	const uint32_t id = model->host_threads[thread].id;

	snprintf(name, OUT_NAME_BYTES, "thread %" PRIu32 "%s", id, id == model->pid ? " (main)" : "");
	return name;
}

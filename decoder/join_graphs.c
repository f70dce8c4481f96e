/* SPDX-License-Identifier: Apache-2.0
 *
 * join_graphs.c - see join_graphs.h.
 */
#include "join_graphs.h"

#define SHARES_TRIED 100000 /* steps of one search for shares */

/* --- calls ------------------------------------------------------------------------------------ */

struct event join_event_of_launch(const struct launches *launches, uint32_t index)
{
	const struct warpspan_launch *launch = &launches->log[index];
	return (struct event){ .number = launch->number,
			       .begin_ns = launch->begin_ns,
			       .end_ns = launch->end_ns,
			       .stream = launch->stream != 0 ? launch->stream : 1,
			       .thread =
				       launch->stream == 2 ? launch->thread : 0, /* streams of threads are their own */
			       .launch = index,
			       .call = WARPSPAN_NONE,
			       .phase = meta_phase_at(launches->meta, launch->begin_ns) };
}

/* The default stream of a graph launch may be that of its thread: the entry point is not looked at. */
struct event join_event_of_call(const struct launches *launches, uint32_t index)
{
	const struct warpspan_host_call *call = &launches->calls[index];
	return (struct event){ .number = call->number,
			       .begin_ns = call->begin_ns,
			       .end_ns = call->end_ns,
			       .stream = call->stream != 0 ? call->stream : 1,
			       .thread = call->stream == 0 || call->stream == 2 ? call->thread : 0,
			       .launch = WARPSPAN_NONE,
			       .call = index,
			       .next = WARPSPAN_NONE,
			       .phase = meta_phase_at(launches->meta, call->begin_ns) };
}

static int by_shape_and_graph(const void *left, const void *right)
{
	const struct held *a = left, *b = right;
	const int shapes = compare_shapes(a->shape, b->shape);
	return shapes != 0 ? shapes : (a->graph > b->graph) - (a->graph < b->graph);
}

/* What the graph holds, by shape. */
static int note_held(struct context *context, const struct meta_graph *holds, uint32_t graph)
{
	for (uint32_t i = 0; i < holds->n_kernels; i++) {
		const struct meta_graph_kernel *kernel =
			&context->launches->meta->graph_kernels.items[holds->first + i];
		struct shape shape;
		if (kernel->n == 0 || !shape_of(kernel->module, kernel->grid, kernel->threads, &shape))
			continue;
		struct held *held = array_add(&context->held);
		if (held == NULL)
			return WARPSPAN_NO_MEMORY;
		*held = (struct held){ shape, graph, kernel->n };
	}
	return WARPSPAN_OK;
}

/* A launch of a graph, the `index`th of the context. */
static int note_graph(struct context *context, const struct warpspan_host_call *call, uint32_t index)
{
	const struct meta *meta = context->launches->meta;
	const struct meta_graph *holds = meta_graph_at(meta, call->amount, call->begin_ns);
	if (holds != NULL && !holds->certain)
		holds = NULL;
	const uint64_t which = holds != NULL ? (uint64_t)(holds - meta->graphs.items) + 1 : 0;
	const uint32_t known = map_find(&context->graphs_by_handle, call->amount, which);
	if (known != MAP_NONE) {
		struct graph *graph = &context->graphs.items[known];
		context->graph_launches.items[graph->last].next = index;
		graph->last = index;
		graph->n_launches++;
		return WARPSPAN_OK;
	}
	const uint32_t number = (uint32_t)context->graphs.n;
	struct graph *graph = array_add(&context->graphs);
	if (graph == NULL || map_set(&context->graphs_by_handle, call->amount, which, number) < 0)
		return WARPSPAN_NO_MEMORY;
	*graph = (struct graph){ 1, 0, index, index };
	if (holds != NULL)
		return note_held(context, holds, number);
	if (context->n_unknown < JOIN_GRAPHS_MOST)
		context->unknown[context->n_unknown] = number;
	context->n_unknown++;
	return WARPSPAN_OK;
}

/* The calls that concern a context, in order. `calls` are sorted by context and number. */
int join_look_at_calls(struct context *context, const uint32_t *calls, size_t n)
{
	const struct launches *launches = context->launches;
	for (size_t i = 0; i < n; i++) {
		const struct warpspan_host_call *call = &launches->calls[calls[i]];
		if (call->kind == WARPSPAN_HOST_SYNCHRONIZE) {
			struct event *wait = array_add(&context->waits);
			if (wait == NULL)
				return WARPSPAN_NO_MEMORY;
			*wait = join_event_of_call(launches, calls[i]);
			continue;
		}
		struct event *launch = array_add(&context->graph_launches);
		if (launch == NULL)
			return WARPSPAN_NO_MEMORY;
		*launch = join_event_of_call(launches, calls[i]);
		context->late_graphs = context->late_graphs || launch->phase == WARPSPAN_LATE;
		if (note_graph(context, call, (uint32_t)context->graph_launches.n - 1) < 0)
			return WARPSPAN_NO_MEMORY;
	}
	if (context->held.n > 1)
		qsort(context->held.items, context->held.n, sizeof(*context->held.items), by_shape_and_graph);
	return WARPSPAN_OK;
}

/* --- what graphs make ------------------------------------------------------------------------- */

struct search {
	const struct context *context;
	uint64_t shares[JOIN_GRAPHS_MOST], found[JOIN_GRAPHS_MOST];
	unsigned n_found, n_steps;
};

/* Looks for numbers of grids per launch of each graph from `index` on that add up to `rest`; stops at the second. */
static void search_shares(struct search *search, size_t index, uint64_t rest)
{
	const struct context *context = search->context;
	const uint64_t n = context->graphs.items[context->unknown[index]].n_launches;
	if (++search->n_steps > SHARES_TRIED || search->n_found > 1)
		return;
	if (index + 1 == context->n_unknown) {
		if (rest % n != 0)
			return;
		search->shares[index] = rest / n;
		search->n_found++;
		memcpy(search->found, search->shares, sizeof(search->found));
		return;
	}
	for (uint64_t share = 0; share * n <= rest && search->n_found < 2 && search->n_steps <= SHARES_TRIED; share++) {
		search->shares[index] = share;
		search_shares(search, index + 1, rest - share * n);
	}
}

/* What is held of the shape, in the order of graphs. */
const struct held *join_held_part(const struct context *context, struct shape shape, size_t *ret_n)
{
	size_t low = 0, high = context->held.n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare_shapes(context->held.items[middle].shape, shape) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	size_t end = low;
	while (end < context->held.n && compare_shapes(context->held.items[end].shape, shape) == 0)
		end++;
	*ret_n = end - low;
	return context->held.n > 0 ? context->held.items + low : NULL;
}

/* How many grids of the shape a launch of each graph makes. False: nothing certain. */
bool join_find_shares(struct context *context, const struct held *held, size_t n_held, uint64_t n_from_graphs)
{
	struct search search = { .context = context };
	uint64_t n_known = 0;
	for (size_t i = 0; i < n_held; i++)
		context->graphs.items[held[i].graph].share = 0;
	for (size_t i = 0; i < n_held; i++) {
		struct graph *graph = &context->graphs.items[held[i].graph];
		uint64_t made;
		graph->share += held[i].n;
		if (__builtin_mul_overflow((uint64_t)held[i].n, graph->n_launches, &made) ||
		    __builtin_add_overflow(n_known, made, &n_known) || n_known > n_from_graphs)
			return false;
	}
	if (context->n_unknown == 0)
		return n_known == n_from_graphs;
	if (context->n_unknown > JOIN_GRAPHS_MOST || context->launches->n_search_steps > JOIN_STEPS_MOST)
		return false;
	search_shares(&search, 0, n_from_graphs - n_known);
	context->launches->n_search_steps += search.n_steps;
	if (search.n_found != 1 || search.n_steps > SHARES_TRIED)
		return false;
	for (size_t i = 0; i < context->n_unknown; i++)
		context->graphs.items[context->unknown[i]].share = search.found[i];
	return true;
}

static int by_event_number(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

/* The launches of a graph, each as often as it makes grids of the shape at hand. */
static int list_graph_events(const struct context *context, const struct graph *graph, event_array *events)
{
	for (uint32_t i = graph->share > 0 ? graph->first : WARPSPAN_NONE; i != WARPSPAN_NONE;
	     i = context->graph_launches.items[i].next) {
		for (uint64_t share = 0; share < graph->share; share++) {
			struct event *event = array_add(events);
			if (event == NULL)
				return WARPSPAN_NO_MEMORY;
			*event = context->graph_launches.items[i];
		}
	}
	return WARPSPAN_OK;
}

/* The launches of a shape and those of graphs that make it, by number. */
int join_list_events(const struct context *context, const struct side *hosts, size_t n_hosts, bool with_graphs,
		     const struct held *held, size_t n_held, event_array *events)
{
	int result = WARPSPAN_OK;
	for (size_t i = 0; i < n_hosts; i++) {
		struct event *event = array_add(events);
		if (event == NULL)
			return WARPSPAN_NO_MEMORY;
		*event = join_event_of_launch(context->launches, hosts[i].index);
	}
	for (size_t i = 0; with_graphs && i < n_held && result == WARPSPAN_OK; i++)
		if (i == 0 || held[i].graph != held[i - 1].graph)
			result = list_graph_events(context, &context->graphs.items[held[i].graph], events);
	for (size_t i = 0; with_graphs && i < context->n_unknown && i < JOIN_GRAPHS_MOST && result == WARPSPAN_OK; i++)
		result = list_graph_events(context, &context->graphs.items[context->unknown[i]], events);
	if (result == WARPSPAN_OK && events->n > 1)
		qsort(events->items, events->n, sizeof(*events->items), by_event_number);
	return result;
}

bool join_count_held(const struct context *context, const struct held *held, size_t n_held, uint64_t *ret_n)
{
	uint64_t n = 0;
	for (size_t i = 0; i < n_held; i++) {
		uint64_t made;
		if (__builtin_mul_overflow((uint64_t)held[i].n, context->graphs.items[held[i].graph].n_launches,
					   &made) ||
		    __builtin_add_overflow(n, made, &n))
			return false;
	}
	*ret_n = n;
	return context->n_unknown == 0 && !context->late_graphs;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_run.c - what a graph becomes when it is instantiated, and its launches.
 *
 * A plan is flat: child graphs are laid out in place, between a node that stands for their start and one that stands
 * for their end. A node runs once all it depends on has ended, in simulated time and on the machine alike: a launch
 * starts on its stream's worker, and another thread joins for each branch that would have to wait for one, so that a
 * kernel may wait for what a branch beside it does. When a node starts, in simulated time, follows from its
 * dependencies alone, whichever thread was first. Plans are immutable; a run belongs to its operation.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct plan_edge {
	size_t item;
	bool is_early; /* from a kernel to one that may start before it has ended */
};

struct plan_item {
	CUgraphNodeType type; /* EMPTY for the ends of child graphs */
	bool is_enabled;
	struct work work;
	struct event *event;         /* of the event nodes, not owned: looked up before use */
	struct graph_memory *memory; /* counted */
	size_t n_after;
	struct plan_edge *after; /* all before this one */
	size_t n_next, *next;    /* the items that have this one among those, once for each time */
};

struct graph_plan {
	atomic_uint refs;
	size_t n, capacity;
	struct plan_item *items;
};

enum { MAX_BRANCHES = 128 }; /* as many kernels as a device runs at once; further branches wait */

struct graph_run {
	struct graph_plan *plan;
	uint64_t *grid_ids; /* of kernel items */
	struct op **ops;    /* counted; what event items complete or wait for */
	uint64_t *ends_ns, *triggers_ns;

	/* While it runs, guarded by lock. */
	pthread_mutex_t lock;
	pthread_cond_t has_ready; /* or is over */
	uint64_t start_ns;
	size_t *n_missing; /* of what an item comes after */
	size_t *ready;     /* items in the order they became so; n_taken of n_ready have been taken */
	size_t n_ready, n_taken, n_done;
	size_t n_idle, n_helpers;
	pthread_t helpers[MAX_BRANCHES - 1];
	CUresult result; /* the first failure */
};

/* --- plans ------------------------------------------------------------------------------------ */

void graph_plan_unref(struct graph_plan *plan)
{
	/* Acquire-release: the last owner frees what the others wrote. */
	if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < plan->n; i++) {
		work_finish(&plan->items[i].work);
		graph_memory_unref(plan->items[i].memory);
		free(plan->items[i].after);
		free(plan->items[i].next);
	}
	free(plan->items);
	free(plan);
}

static CUresult plan_add(struct graph_plan *plan, CUgraphNodeType type, size_t max_after, size_t *ret_index)
{
	struct plan_edge *after;

	if (plan->n == plan->capacity) {
		size_t capacity = plan->capacity ? plan->capacity * 2 : 16;
		struct plan_item *items = realloc(plan->items, capacity * sizeof(*items));

		if (!items)
			return CUDA_ERROR_OUT_OF_MEMORY;
		plan->items = items;
		plan->capacity = capacity;
	}
	after = calloc(max_after + 1, sizeof(*after));
	if (!after)
		return CUDA_ERROR_OUT_OF_MEMORY;
	plan->items[plan->n] = (struct plan_item){ .type = type, .is_enabled = true, .after = after };
	*ret_index = plan->n++;
	return CUDA_SUCCESS;
}

static CUresult plan_graph(struct graph_plan *plan, const struct graph *graph, const size_t *start, size_t *ret_end,
			   struct graph_node **ret_node);

static bool is_early(const struct graph_node *node, size_t edge)
{
	return node->edges[edge].data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
	       node->edges[edge].from->type == CU_GRAPH_NODE_TYPE_KERNEL && node->type == CU_GRAPH_NODE_TYPE_KERNEL;
}

/* Dependencies are in the plan already: a node's mark is 1 + the item that stands for its end. */
static CUresult plan_node(struct graph_plan *plan, struct graph_node *node, const size_t *start,
			  struct graph_node **ret_node)
{
	bool is_child = node->type == CU_GRAPH_NODE_TYPE_GRAPH;
	struct plan_item *item;
	size_t index;
	CUresult result = plan_add(plan, is_child ? CU_GRAPH_NODE_TYPE_EMPTY : node->type, node->n_edges + 1, &index);

	if (result != CUDA_SUCCESS)
		return result;
	item = &plan->items[index];
	for (size_t i = 0; i < node->n_edges; i++)
		item->after[item->n_after++] = (struct plan_edge){ node->edges[i].from->mark - 1, is_early(node, i) };
	if (start && node->n_edges == 0)
		item->after[item->n_after++] = (struct plan_edge){ *start, false };
	if (is_child) {
		result = plan_graph(plan, node->child, &index, &index, ret_node);
	} else {
		item->is_enabled = node->is_enabled;
		result = work_clone(&node->work, &item->work);
		if (node->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD || node->type == CU_GRAPH_NODE_TYPE_WAIT_EVENT)
			item->event = node->event;
		if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
			item->memory = graph_memory_ref(node->alloc.memory);
	}
	node->mark = index + 1;
	return result;
}

static bool is_ready(const struct graph_node *node)
{
	if (node->mark)
		return false;
	for (size_t i = 0; i < node->n_edges; i++) {
		if (!node->edges[i].from->mark)
			return false;
	}
	return true;
}

/* `start` is the item every root follows; *ret_end one that follows everything, for a child graph. */
static CUresult plan_graph(struct graph_plan *plan, const struct graph *graph, const size_t *start, size_t *ret_end,
			   struct graph_node **ret_node)
{
	struct graph_node *node;
	size_t n_planned = 0, end;
	CUresult result = CUDA_SUCCESS;

	for (node = graph->first; node; node = node->next)
		node->mark = 0;
	/* In passes, in the order nodes were added; mostly that is an order to run them in, and one pass does. */
	while (n_planned < graph->n_nodes && result == CUDA_SUCCESS) {
		size_t n_before = n_planned;

		for (node = graph->first; node && result == CUDA_SUCCESS; node = node->next) {
			if (!is_ready(node))
				continue;
			result = plan_node(plan, node, start, ret_node);
			n_planned++;
		}
		if (n_planned > n_before)
			continue;
		for (node = graph->first; node->mark; node = node->next)
			;
		*ret_node = node;
		result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result != CUDA_SUCCESS || !start)
		return result;
	result = plan_add(plan, CU_GRAPH_NODE_TYPE_EMPTY, graph->n_nodes + 1, &end);
	if (result != CUDA_SUCCESS)
		return result;
	plan->items[end].after[plan->items[end].n_after++] = (struct plan_edge){ *start, false };
	for (node = graph->first; node; node = node->next)
		plan->items[end].after[plan->items[end].n_after++] = (struct plan_edge){ node->mark - 1, false };
	*ret_end = end;
	return CUDA_SUCCESS;
}

/* The edges the other way. */
static CUresult plan_turn(struct graph_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		for (size_t k = 0; k < plan->items[i].n_after; k++)
			plan->items[plan->items[i].after[k].item].n_next++;
	}
	for (size_t i = 0; i < plan->n; i++) {
		struct plan_item *item = &plan->items[i];

		item->next = calloc(item->n_next + 1, sizeof(*item->next));
		if (!item->next)
			return CUDA_ERROR_OUT_OF_MEMORY;
		item->n_next = 0;
		for (size_t k = 0; k < item->n_after; k++) {
			struct plan_item *before = &plan->items[item->after[k].item];

			before->next[before->n_next++] = i;
		}
	}
	return CUDA_SUCCESS;
}

CUresult graph_plan_create(const struct graph *graph, struct graph_plan **ret_plan, struct graph_node **ret_node)
{
	struct graph_plan *plan = calloc(1, sizeof(*plan));
	size_t end;
	CUresult result;

	if (!plan)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&plan->refs, 1);
	result = plan_graph(plan, graph, NULL, &end, ret_node);
	if (result == CUDA_SUCCESS)
		result = plan_turn(plan);
	if (result != CUDA_SUCCESS)
		graph_plan_unref(plan);
	else
		*ret_plan = plan;
	return result;
}

/* --- runs ------------------------------------------------------------------------------------- */

void graph_run_destroy(struct graph_run *run)
{
	if (!run)
		return;
	for (size_t i = 0; run->ops && i < run->plan->n; i++)
		op_unref(run->ops[i]);
	free(run->ops);
	free(run->grid_ids);
	free(run->ends_ns);
	free(run->triggers_ns);
	free(run->n_missing);
	free(run->ready);
	pthread_mutex_destroy(&run->lock);
	pthread_cond_destroy(&run->has_ready);
	graph_plan_unref(run->plan);
	free(run);
}

static CUresult item_prepare(struct graph_run *run, size_t i, uint64_t *n_kernels)
{
	const struct plan_item *item = &run->plan->items[i];

	switch (item->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		/* Its module may have been unloaded since. */
		if (!handle_is(HANDLE_FUNCTION, item->work.launch.function))
			return CUDA_ERROR_INVALID_HANDLE;
		if (driver.grid_ids == GRID_IDS_PER_GRAPH)
			run->grid_ids[i] = ++*n_kernels;
		else
			run->grid_ids[i] = grid_ids_take(item->work.launch.function->module->context->device, 1);
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		run->ops[i] = op_new(WORK_NOTHING);
		return run->ops[i] ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		/* What was recorded before this launch. */
		if (handle_is(HANDLE_EVENT, item->event))
			run->ops[i] = event_op(item->event);
		return CUDA_SUCCESS;
	default:
		return CUDA_SUCCESS;
	}
}

CUresult graph_run_create(struct graph_plan *plan, struct graph_run **ret_run)
{
	struct graph_run *run = calloc(1, sizeof(*run));
	uint64_t n_kernels = 0;
	CUresult result = CUDA_SUCCESS;

	if (!run)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
	run->plan = plan;
	pthread_mutex_init(&run->lock, NULL);
	pthread_cond_init(&run->has_ready, NULL);
	run->n_missing = calloc(plan->n + 1, sizeof(*run->n_missing));
	run->ready = calloc(plan->n + 1, sizeof(*run->ready));
	run->grid_ids = calloc(plan->n + 1, sizeof(*run->grid_ids));
	run->ops = calloc(plan->n + 1, sizeof(struct op *));
	run->ends_ns = calloc(plan->n + 1, sizeof(*run->ends_ns));
	run->triggers_ns = calloc(plan->n + 1, sizeof(*run->triggers_ns));
	if (!run->n_missing || !run->ready || !run->grid_ids || !run->ops || !run->ends_ns || !run->triggers_ns)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < plan->n && result == CUDA_SUCCESS; i++)
		result = item_prepare(run, i, &n_kernels);
	if (result != CUDA_SUCCESS)
		graph_run_destroy(run);
	else
		*ret_run = run;
	return result;
}

CUresult graph_run_records(struct graph_run *run, struct graph_record **ret_records, size_t *ret_n)
{
	size_t n = 0;
	struct graph_record *records = calloc(run->plan->n + 1, sizeof(*records));

	if (!records)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < run->plan->n; i++) {
		const struct plan_item *item = &run->plan->items[i];

		if (item->type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && item->is_enabled)
			records[n++] = (struct graph_record){ item->event, op_ref(run->ops[i]) };
	}
	*ret_records = records;
	*ret_n = n;
	return CUDA_SUCCESS;
}

void graph_records_publish(struct graph_record *records, size_t n, bool is_enqueued)
{
	for (size_t i = 0; i < n; i++) {
		if (is_enqueued && handle_is(HANDLE_EVENT, records[i].event))
			event_set_op(records[i].event, records[i].op);
		else
			op_unref(records[i].op);
	}
	free(records);
}

void graph_run_abandon(struct graph_run *run, CUresult reason, uint64_t at_ns)
{
	for (size_t i = 0; i < run->plan->n; i++) {
		if (run->plan->items[i].type == CU_GRAPH_NODE_TYPE_EVENT_RECORD && !run->ops[i]->is_done)
			op_complete(run->ops[i], reason, at_ns);
	}
}

static CUresult item_run(struct graph_run *run, size_t i, uint64_t start_ns, uint64_t *ret_end_ns)
{
	const struct plan_item *item = &run->plan->items[i];
	struct work work = item->work; /* borrows what the plan owns */
	CUresult result;

	*ret_end_ns = start_ns;
	switch (item->type) {
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		op_complete(run->ops[i], CUDA_SUCCESS, start_ns);
		return CUDA_SUCCESS;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		if (!run->ops[i])
			return CUDA_SUCCESS;
		result = op_await_end(run->ops[i], ret_end_ns);
		*ret_end_ns = MAX(*ret_end_ns, start_ns);
		return result;
	case CU_GRAPH_NODE_TYPE_KERNEL:
		work.launch.launch.grid_id = run->grid_ids[i];
		for (size_t k = 0; k < item->n_after; k++)
			work.launch.launch.dependencies_end_ns =
				MAX(work.launch.launch.dependencies_end_ns, run->ends_ns[item->after[k].item]);
		result = work_run(&work, start_ns, ret_end_ns);
		run->triggers_ns[i] = work.launch.trigger_ns;
		return result;
	default:
		return work_run(&work, start_ns, ret_end_ns);
	}
}

/* --- running: any number of threads, each takes what is ready --------------------------------- */

/* Without the lock: what it reads was written before the item became ready. */
static CUresult item_step(struct graph_run *run, size_t i)
{
	const struct plan_item *item = &run->plan->items[i];
	uint64_t start_ns = run->start_ns;

	for (size_t k = 0; k < item->n_after; k++) {
		const struct plan_edge *edge = &item->after[k];

		start_ns = MAX(start_ns, edge->is_early ? run->triggers_ns[edge->item] : run->ends_ns[edge->item]);
	}
	run->ends_ns[i] = run->triggers_ns[i] = start_ns;
	if (atomic_load_explicit(&driver.is_dead, memory_order_acquire))
		return CUDA_ERROR_DEINITIALIZED;
	return item->is_enabled ? item_run(run, i, start_ns, &run->ends_ns[i]) : CUDA_SUCCESS;
}

static void *helper_main(void *argument);

/* What is ready and no thread waits for gets one of its own; without one it waits its turn. The lock is held. */
static void helper_start(struct graph_run *run)
{
	if (run->n_ready - run->n_taken <= run->n_idle || run->n_helpers == MAX_BRANCHES - 1)
		return;
	/* Signals stay blocked, as on every worker. */
	if (pthread_create(&run->helpers[run->n_helpers], NULL, helper_main, run) == 0)
		run->n_helpers++;
}

/* The lock is held. */
static void item_end(struct graph_run *run, size_t i, CUresult result)
{
	const struct plan_item *item = &run->plan->items[i];

	run->n_done++;
	if (result != CUDA_SUCCESS && run->result == CUDA_SUCCESS)
		run->result = result;
	for (size_t k = 0; k < item->n_next; k++) {
		if (--run->n_missing[item->next[k]] == 0)
			run->ready[run->n_ready++] = item->next[k];
	}
	pthread_cond_broadcast(&run->has_ready);
}

/* After a failure nothing new is begun. The lock is held. */
static bool run_is_over(const struct graph_run *run)
{
	return run->n_done == run->plan->n || run->result != CUDA_SUCCESS;
}

static void items_run(struct graph_run *run)
{
	pthread_mutex_lock(&run->lock);
	for (;;) {
		CUresult result;
		size_t i;

		run->n_idle++;
		while (run->n_taken == run->n_ready && !run_is_over(run))
			pthread_cond_wait(&run->has_ready, &run->lock);
		run->n_idle--;
		if (run_is_over(run))
			break;
		i = run->ready[run->n_taken++];
		helper_start(run);
		pthread_mutex_unlock(&run->lock);
		result = item_step(run, i);
		pthread_mutex_lock(&run->lock);
		item_end(run, i, result);
	}
	pthread_mutex_unlock(&run->lock);
}

static void *helper_main(void *argument)
{
	host_thread()->is_in_callback = true; /* a host function may not call the driver */
	items_run(argument);
	return NULL;
}

CUresult graph_run(struct graph_run *run, uint64_t start_ns, uint64_t *ret_end_ns)
{
	run->start_ns = start_ns;
	for (size_t i = 0; i < run->plan->n; i++) {
		run->ends_ns[i] = run->triggers_ns[i] = start_ns;
		run->n_missing[i] = run->plan->items[i].n_after;
		if (run->n_missing[i] == 0)
			run->ready[run->n_ready++] = i;
	}
	items_run(run);
	/* Once it is over, no thread starts another. */
	for (size_t i = 0; i < run->n_helpers; i++)
		pthread_join(run->helpers[i], NULL);
	*ret_end_ns = start_ns;
	for (size_t i = 0; i < run->plan->n; i++)
		*ret_end_ns = MAX(*ret_end_ns, run->ends_ns[i]);
	if (run->result != CUDA_SUCCESS)
		graph_run_abandon(run, run->result, *ret_end_ns);
	return run->result;
}

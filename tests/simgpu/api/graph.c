/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c - graphs and their nodes, as the program builds and edits them.
 *
 * A node is filled by one node_set_*() function, whether the program added it or a capture did, and each checks what a
 * launch of the same work would check. Called with graph_lock held, from any thread.
 */
#include "graph.h"

#include "user_object.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t new_id(void)
{
	return atomic_fetch_add_explicit(&driver.last_id, 1, memory_order_relaxed) + 1;
}

/* --- content ---------------------------------------------------------------------------------- */

static void node_clear(struct graph_node *node)
{
	switch (node->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		free(node->kernel.pointers);
		node->kernel.pointers = NULL;
		break;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		graph_destroy(node->child);
		node->child = NULL;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		graph_memory_unref(node->alloc.memory);
		node->alloc.memory = NULL;
		break;
	default:
		break;
	}
	work_finish(&node->work);
}

/* Pointers to each parameter in a launch's own block, as questions about the node are answered. */
static CUresult point_at_params(const struct work_launch *launch, void ***ret_pointers)
{
	uint32_t n = launch->function->info.n_params, offset, bytes;
	void **pointers = calloc((size_t)n + 1, sizeof(*pointers));

	if (!pointers)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++) {
		if (sim_function_param(launch->function->sim, i, &offset, &bytes))
			pointers[i] = (char *)launch->params + offset;
	}
	*ret_pointers = pointers;
	return CUDA_SUCCESS;
}

CUresult node_set_kernel(struct graph_node *node, CUfunction function, struct context *context,
			 const struct launch_request *request)
{
	struct work work;
	void **pointers;
	CUresult result;

	if (request->trigger_event || request->begun_event) {
		driver_note("a kernel node that records an event is not supported; use an event record node");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	result = launch_prepare(function, context, request, &work);
	if (result != CUDA_SUCCESS)
		return result;
	result = point_at_params(&work.launch, &pointers);
	if (result != CUDA_SUCCESS) {
		work_finish(&work);
		return result;
	}
	node_clear(node);
	node->work = work;
	node->kernel.kernel = handle_is(HANDLE_KERNEL, function) ? (CUkernel)function : NULL;
	node->kernel.request = *request;
	node->kernel.request.params = node->kernel.request.extra = NULL;
	node->kernel.pointers = pointers;
	return CUDA_SUCCESS;
}

CUresult node_set_copy(struct graph_node *node, const CUDA_MEMCPY3D *box, CUcontext context)
{
	struct work_copy copy;
	CUresult result = copy_from_box(box, &copy);

	if (result == CUDA_SUCCESS)
		result = copy_check(&copy);
	if (result != CUDA_SUCCESS)
		return result;
	node->work = (struct work){ .kind = WORK_COPY, .copy = copy };
	node->memcpy.box = *box;
	node->memcpy.context = context;
	return CUDA_SUCCESS;
}

CUresult node_set_fill(struct graph_node *node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context)
{
	struct work_fill fill = {
		.to = params->dst,
		.value = params->value,
		.unit_bytes = params->elementSize,
		.width = params->width,
		.height = params->height,
		.pitch = params->pitch,
	};
	CUresult result = fill_check(&fill);

	if (result != CUDA_SUCCESS)
		return result;
	node->work = (struct work){ .kind = WORK_FILL, .fill = fill };
	node->memset.params = *params;
	node->memset.context = context;
	return CUDA_SUCCESS;
}

CUresult node_set_host(struct graph_node *node, CUhostFn function, void *argument)
{
	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	node->work = (struct work){ .kind = WORK_CALLBACK, .callback = { .function = function, .argument = argument } };
	return CUDA_SUCCESS;
}

CUresult node_set_child(struct graph_node *node, const struct graph *graph)
{
	struct graph *child;
	CUresult result = graph_clone(graph, node->graph->has_handles, &child);

	if (result != CUDA_SUCCESS)
		return result;
	node_clear(node);
	child->parent = node;
	node->child = child;
	return CUDA_SUCCESS;
}

CUresult node_set_alloc(struct graph_node *node, struct context *context, CUDA_MEM_ALLOC_NODE_PARAMS *params)
{
	struct graph_memory *memory;
	CUresult result = graph_memory_create(context, params->bytesize, &memory);

	if (result != CUDA_SUCCESS)
		return result;
	params->dptr = graph_memory_address(memory);
	node->alloc.memory = memory;
	node->alloc.params = *params;
	return CUDA_SUCCESS;
}

CUresult node_assign(struct graph_node *node, const struct graph_node *from)
{
	struct work work;
	CUresult result;

	if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
		return node_set_child(node, from->child);
	result = work_clone(&from->work, &work);
	if (result != CUDA_SUCCESS)
		return result;
	if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		void **pointers;

		result = point_at_params(&work.launch, &pointers);
		if (result != CUDA_SUCCESS) {
			work_finish(&work);
			return result;
		}
		node_clear(node);
		node->kernel = from->kernel;
		node->kernel.pointers = pointers;
		node->work = work;
		return CUDA_SUCCESS;
	}
	node_clear(node);
	node->work = work;
	switch (node->type) {
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		node->memcpy = from->memcpy;
		break;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		node->memset = from->memset;
		break;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		node->event = from->event;
		break;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		node->alloc = from->alloc;
		graph_memory_ref(node->alloc.memory);
		break;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		node->freed = from->freed;
		break;
	default:
		break;
	}
	return CUDA_SUCCESS;
}

/* --- structure -------------------------------------------------------------------------------- */

CUresult graph_create(bool has_handles, struct graph **ret_graph)
{
	struct graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	graph->id = new_id();
	graph->has_handles = has_handles;
	if (has_handles && handle_add(HANDLE_GRAPH, graph) != CUDA_SUCCESS) {
		free(graph);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*ret_graph = graph;
	return CUDA_SUCCESS;
}

static void node_free(struct graph_node *node)
{
	if (node->graph->has_handles)
		handle_remove(node);
	node_clear(node);
	free(node->edges);
	free(node);
}

void graph_destroy(struct graph *graph)
{
	if (!graph)
		return;
	while (graph->first) {
		struct graph_node *node = graph->first;

		graph->first = node->next;
		node_free(node);
	}
	if (graph->has_handles)
		handle_remove(graph);
	user_objects_drop(graph->user_objects);
	free(graph);
}

CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct graph_node **ret_node)
{
	struct graph_node *node = calloc(1, sizeof(*node));

	if (!node)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->graph = graph;
	node->id = new_id();
	node->type = type;
	node->is_enabled = true;
	if (graph->has_handles && handle_add(HANDLE_GRAPH_NODE, node) != CUDA_SUCCESS) {
		free(node);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (graph->last)
		graph->last->next = node;
	else
		graph->first = node;
	graph->last = node;
	graph->n_nodes++;
	*ret_node = node;
	return CUDA_SUCCESS;
}

static void edge_drop(struct graph_node *node, size_t index)
{
	memmove(&node->edges[index], &node->edges[index + 1], (node->n_edges - index - 1) * sizeof(*node->edges));
	node->n_edges--;
}

void graph_remove(struct graph_node *node)
{
	struct graph *graph = node->graph;
	struct graph_node *before = NULL;

	for (struct graph_node *other = graph->first; other; other = other->next) {
		if (other->next == node)
			before = other;
		for (size_t i = other->n_edges; i-- > 0;) {
			if (other->edges[i].from == node)
				edge_drop(other, i);
		}
	}
	if (before)
		before->next = node->next;
	else
		graph->first = node->next;
	if (graph->last == node)
		graph->last = before;
	graph->n_nodes--;
	node_free(node);
}

CUresult node_depend(struct graph_node *node, struct graph_node *on, const CUgraphEdgeData *data)
{
	struct graph_edge *edges;

	for (size_t i = 0; i < node->n_edges; i++) {
		if (node->edges[i].from == on)
			return CUDA_ERROR_INVALID_VALUE;
	}
	edges = realloc(node->edges, (node->n_edges + 1) * sizeof(*edges));
	if (!edges)
		return CUDA_ERROR_OUT_OF_MEMORY;
	node->edges = edges;
	node->edges[node->n_edges] = (struct graph_edge){ .from = on };
	if (data)
		node->edges[node->n_edges].data = *data;
	node->n_edges++;
	return CUDA_SUCCESS;
}

/* Graphs may be long chains, so no recursion: marks spread from node to node until none is new. */
bool node_follows(struct graph_node *node, const struct graph_node *on)
{
	bool is_growing = true;

	for (struct graph_node *other = node->graph->first; other; other = other->next)
		other->mark = other == node;
	while (is_growing && !on->mark) {
		is_growing = false;
		for (struct graph_node *other = node->graph->first; other; other = other->next) {
			if (other->mark != 1)
				continue;
			other->mark = 2;
			is_growing = true;
			for (size_t i = 0; i < other->n_edges; i++)
				other->edges[i].from->mark = MAX(other->edges[i].from->mark, 1);
		}
	}
	return on->mark != 0;
}

bool node_is_leaf(const struct graph_node *node)
{
	for (const struct graph_node *other = node->graph->first; other; other = other->next) {
		for (size_t i = 0; i < other->n_edges; i++) {
			if (other->edges[i].from == node)
				return false;
		}
	}
	return true;
}

struct graph_node *graph_find_origin(struct graph *graph, uint64_t origin_id)
{
	for (struct graph_node *node = graph->first; node; node = node->next) {
		struct graph_node *found = NULL;

		if (node->origin_id == origin_id)
			return node;
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH)
			found = graph_find_origin(node->child, origin_id);
		if (found)
			return found;
	}
	return NULL;
}

static CUresult nodes_clone(const struct graph *graph, struct graph *clone)
{
	size_t n = 0;
	struct graph_node **clones = calloc(graph->n_nodes + 1, sizeof(struct graph_node *));
	CUresult result = clones ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (struct graph_node *node = graph->first; node && result == CUDA_SUCCESS; node = node->next) {
		result = graph_add(clone, node->type, &clones[n]);
		if (result == CUDA_SUCCESS) {
			clones[n]->origin_id = node->id;
			clones[n]->is_enabled = node->is_enabled;
			result = node_assign(clones[n], node);
		}
		node->mark = n++;
	}
	n = 0;
	for (const struct graph_node *node = graph->first; node && result == CUDA_SUCCESS; node = node->next, n++) {
		for (size_t i = 0; i < node->n_edges && result == CUDA_SUCCESS; i++)
			result = node_depend(clones[n], clones[node->edges[i].from->mark], &node->edges[i].data);
	}
	free(clones);
	return result;
}

CUresult graph_clone(const struct graph *graph, bool has_handles, struct graph **ret_clone)
{
	struct graph *clone;
	CUresult result = graph_create(has_handles, &clone);

	if (result != CUDA_SUCCESS)
		return result;
	result = nodes_clone(graph, clone);
	if (result == CUDA_SUCCESS)
		result = user_objects_share(graph->user_objects, &clone->user_objects);
	if (result != CUDA_SUCCESS) {
		graph_destroy(clone);
		return result;
	}
	*ret_clone = clone;
	return CUDA_SUCCESS;
}

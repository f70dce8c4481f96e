/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_api.c - the driver's calls that build graphs, change them and ask about them.
 *
 * Every call takes graph_lock once, around all it does with handles. Callable from any thread.
 */
#include "capture.h"
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- handles ---------------------------------------------------------------------------------- */

static CUresult graph_check(CUgraph handle, struct graph **ret_graph)
{
	if (!handle_is(HANDLE_GRAPH, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = (struct graph *)handle;
	return CUDA_SUCCESS;
}

static CUresult node_check(CUgraphNode handle, struct graph_node **ret_node)
{
	if (!handle_is(HANDLE_GRAPH_NODE, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = (struct graph_node *)handle;
	return CUDA_SUCCESS;
}

static CUresult node_check_type(CUgraphNode handle, CUgraphNodeType type, struct graph_node **ret_node)
{
	CUresult result = node_check(handle, ret_node);

	return result == CUDA_SUCCESS && (*ret_node)->type != type ? CUDA_ERROR_INVALID_VALUE : result;
}

/* NULL means the current one. */
static CUresult context_of(CUcontext handle, struct context **ret_context)
{
	if (handle)
		return context_check(handle, ret_context);
	*ret_context = context_gated();
	return CUDA_SUCCESS;
}

/* --- graphs ----------------------------------------------------------------------------------- */

CUresult impl_cuGraphCreate(CUgraph *phGraph, unsigned int flags)
{
	struct graph *graph;
	CUresult result;

	if (!phGraph || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_create(true, &graph);
	pthread_mutex_unlock(&graph_lock);
	if (result == CUDA_SUCCESS)
		*phGraph = (CUgraph)graph;
	return result;
}

CUresult impl_cuGraphDestroy(CUgraph hGraph)
{
	struct graph *graph;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = graph_check(hGraph, &graph);
	if (result == CUDA_SUCCESS && graph->parent) /* belongs to its node */
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		graph_destroy(graph);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

static bool has_memory_nodes(const struct graph *graph)
{
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		if (node->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || node->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
			return true;
	}
	return false;
}

CUresult impl_cuGraphClone(CUgraph *phGraphClone, CUgraph originalGraph)
{
	struct graph *graph, *clone;
	CUresult result;

	if (!phGraphClone)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(originalGraph, &graph);
	if (result == CUDA_SUCCESS && has_memory_nodes(graph))
		result = CUDA_ERROR_NOT_SUPPORTED;
	if (result == CUDA_SUCCESS)
		result = graph_clone(graph, true, &clone);
	pthread_mutex_unlock(&graph_lock);
	if (result == CUDA_SUCCESS)
		*phGraphClone = (CUgraph)clone;
	return result;
}

CUresult impl_cuGraphNodeFindInClone(CUgraphNode *phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph)
{
	struct graph *clone;
	struct graph_node *original, *found;
	CUresult result;

	if (!phNode)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(hClonedGraph, &clone);
	if (result == CUDA_SUCCESS)
		result = node_check(hOriginalNode, &original);
	if (result == CUDA_SUCCESS) {
		found = graph_find_origin(clone, original->id);
		if (found)
			*phNode = (CUgraphNode)found;
		else
			result = CUDA_ERROR_INVALID_VALUE;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- lists of nodes: a NULL list asks how many there are -------------------------------------- */

struct list {
	CUgraphNode *nodes;
	CUgraphEdgeData *data; /* may be NULL */
	size_t room, n;
	bool is_lossy; /* an edge carries more than the caller can see */
};

static void list_put(struct list *list, const struct graph_node *node, const CUgraphEdgeData *data)
{
	static const CUgraphEdgeData plain;

	if (list->nodes && list->n < list->room) {
		list->nodes[list->n] = (CUgraphNode)node;
		if (list->data)
			list->data[list->n] = data ? *data : plain;
	}
	if (data && !list->data && memcmp(data, &plain, sizeof(plain)) != 0)
		list->is_lossy = true;
	list->n++;
}

/* What there is room for beyond the nodes is set to NULL. */
static CUresult list_end(struct list *list, size_t *ret_n)
{
	for (size_t i = list->n; list->nodes && i < list->room; i++)
		list->nodes[i] = NULL;
	*ret_n = list->nodes ? MIN(list->n, list->room) : list->n;
	return list->is_lossy && list->nodes ? CUDA_ERROR_LOSSY_QUERY : CUDA_SUCCESS;
}

static CUresult graph_list(CUgraph handle, CUgraphNode *nodes, size_t *n, bool only_roots)
{
	struct graph *graph;
	struct list list = { .nodes = nodes, .room = nodes && n ? *n : 0 };
	CUresult result;

	if (!n)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(handle, &graph);
	for (const struct graph_node *node = result == CUDA_SUCCESS ? graph->first : NULL; node; node = node->next) {
		if (!only_roots || node->n_edges == 0)
			list_put(&list, node, NULL);
	}
	if (result == CUDA_SUCCESS)
		result = list_end(&list, n);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphGetNodes(CUgraph hGraph, CUgraphNode *nodes, size_t *numNodes)
{
	return graph_list(hGraph, nodes, numNodes, false);
}

CUresult impl_cuGraphGetRootNodes(CUgraph hGraph, CUgraphNode *rootNodes, size_t *numRootNodes)
{
	return graph_list(hGraph, rootNodes, numRootNodes, true);
}

CUresult impl_cuGraphGetEdges_v2(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *edgeData,
				 size_t *numEdges)
{
	struct graph *graph;
	struct list froms = { .nodes = from, .data = edgeData, .room = from && numEdges ? *numEdges : 0 };
	struct list tos = { .nodes = to, .room = froms.room };
	CUresult result;

	if (!numEdges || !from != !to || (edgeData && !from))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(hGraph, &graph);
	for (const struct graph_node *node = result == CUDA_SUCCESS ? graph->first : NULL; node; node = node->next) {
		for (size_t i = 0; i < node->n_edges; i++) {
			list_put(&froms, node->edges[i].from, &node->edges[i].data);
			list_put(&tos, node, NULL);
		}
	}
	if (result == CUDA_SUCCESS) {
		list_end(&tos, numEdges);
		result = list_end(&froms, numEdges);
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphGetEdges(CUgraph hGraph, CUgraphNode *from, CUgraphNode *to, size_t *numEdges)
{
	return impl_cuGraphGetEdges_v2(hGraph, from, to, NULL, numEdges);
}

CUresult impl_cuGraphNodeGetDependencies_v2(CUgraphNode hNode, CUgraphNode *dependencies, CUgraphEdgeData *edgeData,
					    size_t *numDependencies)
{
	struct graph_node *node;
	struct list list = { .nodes = dependencies,
			     .data = edgeData,
			     .room = dependencies && numDependencies ? *numDependencies : 0 };
	CUresult result;

	if (!numDependencies || (edgeData && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = node_check(hNode, &node);
	for (size_t i = 0; result == CUDA_SUCCESS && i < node->n_edges; i++)
		list_put(&list, node->edges[i].from, &node->edges[i].data);
	if (result == CUDA_SUCCESS)
		result = list_end(&list, numDependencies);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphNodeGetDependencies(CUgraphNode hNode, CUgraphNode *dependencies, size_t *numDependencies)
{
	return impl_cuGraphNodeGetDependencies_v2(hNode, dependencies, NULL, numDependencies);
}

CUresult impl_cuGraphNodeGetDependentNodes_v2(CUgraphNode hNode, CUgraphNode *dependentNodes, CUgraphEdgeData *edgeData,
					      size_t *numDependentNodes)
{
	struct graph_node *node;
	struct list list = { .nodes = dependentNodes,
			     .data = edgeData,
			     .room = dependentNodes && numDependentNodes ? *numDependentNodes : 0 };
	CUresult result;

	if (!numDependentNodes || (edgeData && !dependentNodes))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = node_check(hNode, &node);
	for (const struct graph_node *other = result == CUDA_SUCCESS ? node->graph->first : NULL; other;
	     other = other->next) {
		for (size_t i = 0; i < other->n_edges; i++) {
			if (other->edges[i].from == node)
				list_put(&list, other, &other->edges[i].data);
		}
	}
	if (result == CUDA_SUCCESS)
		result = list_end(&list, numDependentNodes);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphNodeGetDependentNodes(CUgraphNode hNode, CUgraphNode *dependentNodes, size_t *numDependentNodes)
{
	return impl_cuGraphNodeGetDependentNodes_v2(hNode, dependentNodes, NULL, numDependentNodes);
}

CUresult impl_cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType *type)
{
	struct graph_node *node;
	CUresult result = node_check(hNode, &node);

	if (result != CUDA_SUCCESS || !type)
		return CUDA_ERROR_INVALID_VALUE;
	*type = node->type;
	return CUDA_SUCCESS;
}

/* --- edges ------------------------------------------------------------------------------------ */

static CUresult edges_check(const struct graph *graph, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
	struct graph_node *node;

	if (n && (!from || !to))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++) {
		if (node_check(from[i], &node) != CUDA_SUCCESS || node->graph != graph ||
		    node_check(to[i], &node) != CUDA_SUCCESS || node->graph != graph || from[i] == to[i])
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
					const CUgraphEdgeData *edgeData, size_t numDependencies)
{
	struct graph *graph;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = graph_check(hGraph, &graph);
	if (result == CUDA_SUCCESS)
		result = edges_check(graph, from, to, numDependencies);
	for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++)
		result = node_depend((struct graph_node *)to[i], (struct graph_node *)from[i],
				     edgeData ? &edgeData[i] : NULL);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphAddDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
				     size_t numDependencies)
{
	return impl_cuGraphAddDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

static CUresult edge_remove(struct graph_node *node, const struct graph_node *from)
{
	for (size_t i = 0; i < node->n_edges; i++) {
		if (node->edges[i].from != from)
			continue;
		memmove(&node->edges[i], &node->edges[i + 1], (node->n_edges - i - 1) * sizeof(*node->edges));
		node->n_edges--;
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphRemoveDependencies_v2(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
					   const CUgraphEdgeData *edgeData, size_t numDependencies)
{
	struct graph *graph;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = graph_check(hGraph, &graph);
	if (result == CUDA_SUCCESS)
		result = edges_check(graph, from, to, numDependencies);
	for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++)
		result = edge_remove((struct graph_node *)to[i], (struct graph_node *)from[i]);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphRemoveDependencies(CUgraph hGraph, const CUgraphNode *from, const CUgraphNode *to,
					size_t numDependencies)
{
	return impl_cuGraphRemoveDependencies_v2(hGraph, from, to, NULL, numDependencies);
}

CUresult impl_cuGraphDestroyNode(CUgraphNode hNode)
{
	struct graph_node *node;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = node_check(hNode, &node);
	if (result == CUDA_SUCCESS)
		graph_remove(node);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- adding nodes ----------------------------------------------------------------------------- */

/* A new node before it has content: where it goes and what it depends on. */
struct place {
	CUgraphNode *ret_node;
	CUgraph graph;
	const CUgraphNode *after;
	const CUgraphEdgeData *data; /* may be NULL */
	size_t n_after;
};

static CUresult node_add(const struct place *place, CUgraphNodeType type, node_fill fill, void *params)
{
	struct graph *graph;
	struct graph_node *node = NULL, *after;
	CUresult result;

	if (!place->ret_node || (place->n_after && !place->after))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(place->graph, &graph);
	for (size_t i = 0; i < place->n_after && result == CUDA_SUCCESS; i++) {
		if (node_check(place->after[i], &after) != CUDA_SUCCESS || after->graph != graph)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result == CUDA_SUCCESS)
		result = graph_add(graph, type, &node);
	for (size_t i = 0; i < place->n_after && result == CUDA_SUCCESS; i++)
		result = node_depend(node, (struct graph_node *)place->after[i], place->data ? &place->data[i] : NULL);
	if (result == CUDA_SUCCESS && fill)
		result = fill(node, params);
	if (result == CUDA_SUCCESS)
		*place->ret_node = (CUgraphNode)node;
	else if (node)
		graph_remove(node);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* The same for a node that exists. */
static CUresult node_refill(CUgraphNode handle, CUgraphNodeType type, node_fill fill, void *params)
{
	struct graph_node *node;
	CUresult result;

	if (!params)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = node_check_type(handle, type, &node);
	if (result == CUDA_SUCCESS)
		result = fill(node, params);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

static CUresult node_fill_kernel(struct graph_node *node, void *params)
{
	const CUDA_KERNEL_NODE_PARAMS *given = params;
	struct launch_request request = node->work.kind == WORK_LAUNCH ? node->kernel.request /* attributes stay */
								       : (struct launch_request){ .priority = 0 };
	CUfunction function = given->func ? given->func : (CUfunction)given->kern;
	struct context *context;
	CUresult result = context_of(given->func && handle_is(HANDLE_FUNCTION, given->func)
					     ? (CUcontext)((struct function *)given->func)->module->context
					     : given->ctx,
				     &context);

	if (result != CUDA_SUCCESS)
		return result;
	memcpy(request.grid, &given->gridDimX, sizeof(request.grid));
	memcpy(request.block, &given->blockDimX, sizeof(request.block));
	request.shared_bytes = given->sharedMemBytes;
	request.params = given->kernelParams;
	request.extra = given->extra;
	return node_set_kernel(node, function, context, &request);
}

static CUDA_KERNEL_NODE_PARAMS from_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *params)
{
	CUDA_KERNEL_NODE_PARAMS given = { .func = NULL };

	memcpy(&given, params, sizeof(*params)); /* the newer form only adds to the end */
	return given;
}

CUresult impl_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				      size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };
	CUDA_KERNEL_NODE_PARAMS given;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	given = *nodeParams;
	return node_add(&place, CU_GRAPH_NODE_TYPE_KERNEL, node_fill_kernel, &given);
}

CUresult impl_cuGraphAddKernelNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				   size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS given;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	given = from_kernel_v1(nodeParams);
	return impl_cuGraphAddKernelNode_v2(phGraphNode, hGraph, dependencies, numDependencies, &given);
}

CUresult impl_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_KERNEL, node_fill_kernel, (void *)nodeParams);
}

CUresult impl_cuGraphKernelNodeSetParams(CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS given;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	given = from_kernel_v1(nodeParams);
	return impl_cuGraphKernelNodeSetParams_v2(hNode, &given);
}

CUresult impl_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	struct graph_node *node;
	CUresult result;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &node);
	if (result == CUDA_SUCCESS) {
		const struct work_launch *launch = &node->work.launch;

		*nodeParams = (CUDA_KERNEL_NODE_PARAMS){
			.func = (CUfunction)launch->function,
			.sharedMemBytes = node->kernel.request.shared_bytes,
			.kernelParams = node->kernel.pointers,
			.kern = node->kernel.kernel,
			.ctx = (CUcontext)launch->function->module->context,
		};
		memcpy(&nodeParams->gridDimX, node->kernel.request.grid, sizeof(node->kernel.request.grid));
		memcpy(&nodeParams->blockDimX, node->kernel.request.block, sizeof(node->kernel.request.block));
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphKernelNodeGetParams(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUDA_KERNEL_NODE_PARAMS given;
	CUresult result = nodeParams ? impl_cuGraphKernelNodeGetParams_v2(hNode, &given) : CUDA_ERROR_INVALID_VALUE;

	if (result == CUDA_SUCCESS)
		memcpy(nodeParams, &given, sizeof(*nodeParams));
	return result;
}

static CUresult node_fill_copy(struct graph_node *node, void *params)
{
	const CUDA_MEMCPY_NODE_PARAMS *given = params;
	struct context *context;
	CUresult result = context_of(given->copyCtx, &context);

	return result == CUDA_SUCCESS ? node_set_copy(node, &given->copyParams, (CUcontext)context) : result;
}

CUresult impl_cuGraphAddMemcpyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				   size_t numDependencies, const CUDA_MEMCPY3D *copyParams, CUcontext ctx)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };
	CUDA_MEMCPY_NODE_PARAMS given = { .copyCtx = ctx };

	if (!copyParams)
		return CUDA_ERROR_INVALID_VALUE;
	given.copyParams = *copyParams;
	return node_add(&place, CU_GRAPH_NODE_TYPE_MEMCPY, node_fill_copy, &given);
}

CUresult impl_cuGraphMemcpyNodeGetParams(CUgraphNode hNode, CUDA_MEMCPY3D *nodeParams)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, &node);

	if (result != CUDA_SUCCESS || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = node->memcpy.box;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphMemcpyNodeSetParams(CUgraphNode hNode, const CUDA_MEMCPY3D *nodeParams)
{
	CUDA_MEMCPY_NODE_PARAMS given = { .copyCtx = NULL };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	given.copyParams = *nodeParams;
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_MEMCPY, node_fill_copy, &given);
}

static CUresult node_fill_fill(struct graph_node *node, void *params)
{
	const CUDA_MEMSET_NODE_PARAMS_v2 *given = params;
	CUDA_MEMSET_NODE_PARAMS plain;
	struct context *context;
	CUresult result = context_of(given->ctx, &context);

	memcpy(&plain, given, sizeof(plain)); /* the newer form only adds to the end */
	return result == CUDA_SUCCESS ? node_set_fill(node, &plain, (CUcontext)context) : result;
}

CUresult impl_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				   size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };
	CUDA_MEMSET_NODE_PARAMS_v2 given = { .ctx = ctx };

	if (!memsetParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&given, memsetParams, sizeof(*memsetParams));
	return node_add(&place, CU_GRAPH_NODE_TYPE_MEMSET, node_fill_fill, &given);
}

CUresult impl_cuGraphMemsetNodeGetParams(CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_MEMSET, &node);

	if (result != CUDA_SUCCESS || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams = node->memset.params;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphMemsetNodeSetParams(CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
	CUDA_MEMSET_NODE_PARAMS_v2 given = { .ctx = NULL };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&given, nodeParams, sizeof(*nodeParams));
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_MEMSET, node_fill_fill, &given);
}

static CUresult node_fill_host(struct graph_node *node, void *params)
{
	const CUDA_HOST_NODE_PARAMS *given = params;

	return node_set_host(node, given->fn, given->userData);
}

CUresult impl_cuGraphAddHostNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				 size_t numDependencies, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	return node_add(&place, CU_GRAPH_NODE_TYPE_HOST, node_fill_host, (void *)nodeParams);
}

CUresult impl_cuGraphHostNodeGetParams(CUgraphNode hNode, CUDA_HOST_NODE_PARAMS *nodeParams)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_HOST, &node);

	if (result != CUDA_SUCCESS || !nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	*nodeParams =
		(CUDA_HOST_NODE_PARAMS){ .fn = node->work.callback.function, .userData = node->work.callback.argument };
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphHostNodeSetParams(CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_HOST, node_fill_host, (void *)nodeParams);
}

static CUresult node_fill_child(struct graph_node *node, void *params)
{
	struct graph *graph;
	CUresult result = graph_check(*(CUgraph *)params, &graph);

	if (result != CUDA_SUCCESS)
		return result;
	/* Nor can a graph hold itself. */
	for (const struct graph *outer = node->graph; outer; outer = outer->parent ? outer->parent->graph : NULL) {
		if (outer == graph)
			return CUDA_ERROR_INVALID_VALUE;
	}
	return has_memory_nodes(graph) ? CUDA_ERROR_NOT_SUPPORTED : node_set_child(node, graph);
}

CUresult impl_cuGraphAddChildGraphNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				       size_t numDependencies, CUgraph childGraph)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	return node_add(&place, CU_GRAPH_NODE_TYPE_GRAPH, node_fill_child, &childGraph);
}

CUresult impl_cuGraphChildGraphNodeGetGraph(CUgraphNode hNode, CUgraph *phGraph)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_GRAPH, &node);

	if (result != CUDA_SUCCESS || !phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = (CUgraph)node->child;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddEmptyNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				  size_t numDependencies)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	return node_add(&place, CU_GRAPH_NODE_TYPE_EMPTY, NULL, NULL);
}

/* --- event nodes ------------------------------------------------------------------------------ */

static CUresult node_fill_event(struct graph_node *node, void *params)
{
	CUevent event = *(CUevent *)params;

	if (!handle_is(HANDLE_EVENT, event))
		return CUDA_ERROR_INVALID_VALUE;
	node->event = (struct event *)event;
	return CUDA_SUCCESS;
}

static CUresult event_get(CUgraphNode handle, CUgraphNodeType type, CUevent *ret_event)
{
	struct graph_node *node;

	if (!ret_event || node_check_type(handle, type, &node) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_event = (CUevent)node->event;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddEventRecordNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
					size_t numDependencies, CUevent event)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	return node_add(&place, CU_GRAPH_NODE_TYPE_EVENT_RECORD, node_fill_event, &event);
}

CUresult impl_cuGraphEventRecordNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return event_get(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event_out);
}

CUresult impl_cuGraphEventRecordNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_EVENT_RECORD, node_fill_event, &event);
}

CUresult impl_cuGraphAddEventWaitNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				      size_t numDependencies, CUevent event)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	return node_add(&place, CU_GRAPH_NODE_TYPE_WAIT_EVENT, node_fill_event, &event);
}

CUresult impl_cuGraphEventWaitNodeGetEvent(CUgraphNode hNode, CUevent *event_out)
{
	return event_get(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event_out);
}

CUresult impl_cuGraphEventWaitNodeSetEvent(CUgraphNode hNode, CUevent event)
{
	return node_refill(hNode, CU_GRAPH_NODE_TYPE_WAIT_EVENT, node_fill_event, &event);
}

/* --- memory nodes ----------------------------------------------------------------------------- */

static CUresult node_fill_alloc(struct graph_node *node, void *params)
{
	CUDA_MEM_ALLOC_NODE_PARAMS *given = params;
	const struct device *device = device_of(given->poolProps.location.id);

	if (given->bytesize == 0 || given->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED ||
	    given->poolProps.location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device)
		return CUDA_ERROR_INVALID_VALUE;
	if (given->poolProps.handleTypes != CU_MEM_HANDLE_TYPE_NONE || device != context_gated()->device)
		return CUDA_ERROR_NOT_SUPPORTED;
	return node_set_alloc(node, context_gated(), given);
}

CUresult impl_cuGraphAddMemAllocNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				     size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS *nodeParams)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	return node_add(&place, CU_GRAPH_NODE_TYPE_MEM_ALLOC, node_fill_alloc, nodeParams);
}

CUresult impl_cuGraphMemAllocNodeGetParams(CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS *params_out)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &node);

	if (result != CUDA_SUCCESS || !params_out)
		return CUDA_ERROR_INVALID_VALUE;
	*params_out = node->alloc.params;
	return CUDA_SUCCESS;
}

static CUresult node_fill_free(struct graph_node *node, void *params)
{
	CUdeviceptr address = *(CUdeviceptr *)params;

	if (!address_is_of_graph(address))
		return CUDA_ERROR_INVALID_VALUE;
	node->freed = address;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphAddMemFreeNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				    size_t numDependencies, CUdeviceptr dptr)
{
	struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };

	return node_add(&place, CU_GRAPH_NODE_TYPE_MEM_FREE, node_fill_free, &dptr);
}

CUresult impl_cuGraphMemFreeNodeGetParams(CUgraphNode hNode, CUdeviceptr *dptr_out)
{
	struct graph_node *node;
	CUresult result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_MEM_FREE, &node);

	if (result != CUDA_SUCCESS || !dptr_out)
		return CUDA_ERROR_INVALID_VALUE;
	*dptr_out = node->freed;
	return CUDA_SUCCESS;
}

/* --- any kind of node ------------------------------------------------------------------------- */

/* What fills a node in from its part of the union; NULL for what is not supported. */
node_fill node_filler(CUgraphNodeParams *params, void **ret_params)
{
	switch (params->type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		*ret_params = &params->kernel; /* as CUDA_KERNEL_NODE_PARAMS_v2, field for field */
		return node_fill_kernel;
	case CU_GRAPH_NODE_TYPE_MEMCPY:
		*ret_params = &params->memcpy;
		return node_fill_copy;
	case CU_GRAPH_NODE_TYPE_MEMSET:
		*ret_params = &params->memset;
		return node_fill_fill;
	case CU_GRAPH_NODE_TYPE_HOST:
		*ret_params = &params->host;
		return node_fill_host;
	case CU_GRAPH_NODE_TYPE_GRAPH:
		*ret_params = &params->graph.graph;
		return node_fill_child;
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
		*ret_params = &params->eventWait.event;
		return node_fill_event;
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		*ret_params = &params->eventRecord.event;
		return node_fill_event;
	case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
		*ret_params = &params->alloc;
		return node_fill_alloc;
	case CU_GRAPH_NODE_TYPE_MEM_FREE:
		*ret_params = &params->free.dptr;
		return node_fill_free;
	default:
		return NULL;
	}
}

_Static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v3) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2), "one is read as the other");
_Static_assert(sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v2) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1),
	       "one is read as the other");

CUresult impl_cuGraphAddNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
				const CUgraphEdgeData *dependencyData, size_t numDependencies,
				CUgraphNodeParams *nodeParams)
{
	struct place place = { phGraphNode, hGraph, dependencies, dependencyData, numDependencies };
	void *params = NULL;
	node_fill fill;
	CUresult result;

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	if (nodeParams->type == CU_GRAPH_NODE_TYPE_EMPTY)
		return node_add(&place, CU_GRAPH_NODE_TYPE_EMPTY, NULL, NULL);
	fill = node_filler(nodeParams, &params);
	if (!fill)
		return nodeParams->type > CU_GRAPH_NODE_TYPE_CONDITIONAL ? CUDA_ERROR_INVALID_VALUE
									 : CUDA_ERROR_NOT_SUPPORTED;
	result = node_add(&place, nodeParams->type, fill, params);
	/* As documented, the program finds the graph that the node owns there. */
	if (result == CUDA_SUCCESS && nodeParams->type == CU_GRAPH_NODE_TYPE_GRAPH)
		nodeParams->graph.graph = (CUgraph)((struct graph_node *)*phGraphNode)->child;
	return result;
}

CUresult impl_cuGraphAddNode(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies,
			     size_t numDependencies, CUgraphNodeParams *nodeParams)
{
	return impl_cuGraphAddNode_v2(phGraphNode, hGraph, dependencies, NULL, numDependencies, nodeParams);
}

CUresult impl_cuGraphNodeSetParams(CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	void *params = NULL;
	node_fill fill = nodeParams ? node_filler(nodeParams, &params) : NULL;

	if (!nodeParams || nodeParams->type == CU_GRAPH_NODE_TYPE_EMPTY)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fill || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	    nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return node_refill(hNode, nodeParams->type, fill, params);
}

/* --- attributes of kernel nodes --------------------------------------------------------------- */

CUresult impl_cuGraphKernelNodeGetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					    CUkernelNodeAttrValue *value_out)
{
	struct graph_node *node;
	const struct launch_request *request;

	if (!value_out || node_check_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &node) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_VALUE;
	request = &node->kernel.request;
	memset(value_out, 0, sizeof(*value_out));
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		value_out->clusterDim.x = request->has_cluster ? request->cluster[0] : 1;
		value_out->clusterDim.y = request->has_cluster ? request->cluster[1] : 1;
		value_out->clusterDim.z = request->has_cluster ? request->cluster[2] : 1;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		value_out->cooperative = request->is_cooperative;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
		value_out->priority = request->priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return CUDA_SUCCESS; /* hints nobody follows: the defaults, all zero */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* Checked as a launch with the attribute would be. graph_lock is held. */
static CUresult node_set_request(struct graph_node *node, const struct launch_request *asked)
{
	struct launch_request request = *asked;
	struct function *function = node->work.launch.function;
	CUfunction handle = node->kernel.kernel ? (CUfunction)node->kernel.kernel : (CUfunction)function;

	request.params = node->kernel.pointers;
	return node_set_kernel(node, handle, function->module->context, &request);
}

CUresult impl_cuGraphKernelNodeSetAttribute(CUgraphNode hNode, CUkernelNodeAttrID attr,
					    const CUkernelNodeAttrValue *value)
{
	CUlaunchAttribute attribute = { .id = attr };
	struct launch_request request;
	struct graph_node *node;
	CUresult result;

	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	attribute.value = *value;
	pthread_mutex_lock(&graph_lock);
	result = node_check_type(hNode, CU_GRAPH_NODE_TYPE_KERNEL, &node);
	if (result == CUDA_SUCCESS) {
		request = node->kernel.request;
		result = launch_attribute(&request, &attribute);
	}
	if (result == CUDA_SUCCESS)
		result = node_set_request(node, &request);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
	struct graph_node *to, *from;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = node_check_type(dst, CU_GRAPH_NODE_TYPE_KERNEL, &to);
	if (result == CUDA_SUCCESS)
		result = node_check_type(src, CU_GRAPH_NODE_TYPE_KERNEL, &from);
	if (result == CUDA_SUCCESS) {
		struct launch_request request = to->kernel.request;

		memcpy(request.cluster, from->kernel.request.cluster, sizeof(request.cluster));
		request.has_cluster = from->kernel.request.has_cluster;
		request.is_cooperative = from->kernel.request.is_cooperative;
		request.priority = from->kernel.request.priority;
		result = node_set_request(to, &request);
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- a drawing -------------------------------------------------------------------------------- */

static const char *node_label(const struct graph_node *node)
{
	static const char *const types[] = { "KERNEL",    "MEMCPY",     "MEMSET",       "HOST",       "GRAPH",
					     "EMPTY",     "EVENT_WAIT", "EVENT_RECORD", "EXT_SIGNAL", "EXT_WAIT",
					     "MEM_ALLOC", "MEM_FREE",   "MEM_OP",       "CONDITIONAL" };

	if (node->type == CU_GRAPH_NODE_TYPE_KERNEL)
		return node->work.launch.function->info.name;
	return types[node->type];
}

static void print_graph(FILE *file, const struct graph *graph)
{
	for (const struct graph_node *node = graph->first; node; node = node->next) {
		fprintf(file, "\"node_%llu\" [label=\"%s\"];\n", (unsigned long long)node->id, node_label(node));
		for (size_t i = 0; i < node->n_edges; i++)
			fprintf(file, "\"node_%llu\" -> \"node_%llu\";\n", (unsigned long long)node->edges[i].from->id,
				(unsigned long long)node->id);
		if (node->type != CU_GRAPH_NODE_TYPE_GRAPH)
			continue;
		fprintf(file, "subgraph cluster_%llu {\n", (unsigned long long)node->child->id);
		print_graph(file, node->child);
		fprintf(file, "}\n");
	}
}

CUresult impl_cuGraphDebugDotPrint(CUgraph hGraph, const char *path, unsigned int flags)
{
	struct graph *graph;
	FILE *file;
	CUresult result;

	if (!path)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = graph_check(hGraph, &graph);
	file = result == CUDA_SUCCESS ? fopen(path, "we") : NULL;
	if (file) {
		fprintf(file, "digraph graph_%llu {\n", (unsigned long long)graph->id);
		print_graph(file, graph);
		fprintf(file, "}\n");
		if (fclose(file) != 0)
			result = CUDA_ERROR_OPERATING_SYSTEM;
	} else if (result == CUDA_SUCCESS) {
		result = CUDA_ERROR_OPERATING_SYSTEM;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

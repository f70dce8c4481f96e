/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_api.c - the driver's calls that make graphs, take them apart and ask about them. For their nodes:
 * graph_nodes.c.
 *
 * Every call takes graph_lock once, around all it does with handles. Callable from any thread.
 */
#include "capture.h"
#include "graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- handles ---------------------------------------------------------------------------------- */

CUresult graph_check(CUgraph handle, struct graph **ret_graph)
{
	if (!handle_is(HANDLE_GRAPH, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_graph = (struct graph *)handle;
	return CUDA_SUCCESS;
}

CUresult node_check(CUgraphNode handle, struct graph_node **ret_node)
{
	if (!handle_is(HANDLE_GRAPH_NODE, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = (struct graph_node *)handle;
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

bool graph_has_memory_nodes(const struct graph *graph)
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
	if (result == CUDA_SUCCESS && graph_has_memory_nodes(graph))
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c - walks graphs for their kernels. See graph.h.
 *
 * Bodies of conditional nodes cannot be reached from the graph; their kernels are seen as they are added or captured.
 */
#include "graph.h"

#include "attach.h"
#include "counters.h"
#include "driver.h"
#include "log.h"
#include "registry.h"
#include "session.h"

#include <stdlib.h>

/* Graphs within graphs within graphs: far more than any program has. */
#define MOST_LEVELS 64u

static void attach_in_current(CUfunction function, CUcontext current)
{
	struct warpspan_kernel_numbers numbers;
	struct warpspan_kernel *kernel = warpspan_registry_find(function, current, &numbers);

	if (kernel == NULL)
		kernel = warpspan_attach_for_later(function, current);
	if (kernel != NULL && atomic_load_explicit(&kernel->ready, memory_order_acquire))
		warpspan_count(WARPSPAN_COUNTER_graph_kernels, 1);
}

void warpspan_graph_attach_kernel(CUfunction function, CUkernel kernel, CUcontext context)
{
	CUcontext current = NULL;

	if (function == NULL)
		function = (CUfunction)kernel;
	if (function == NULL || !warpspan_session_wake() || warpspan_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
		return;
	if (context == NULL || context == current) {
		if (current != NULL)
			attach_in_current(function, current);
		return;
	}
	if (warpspan_driver.cuCtxSetCurrent(context) == CUDA_SUCCESS)
		attach_in_current(function, context);
	(void)warpspan_driver.cuCtxSetCurrent(current);
}

static void attach_node(CUgraphNode node, unsigned level);

static void attach_nodes(CUgraph graph, unsigned level)
{
	CUgraphNode *nodes;
	size_t n = 0;

	if (level == MOST_LEVELS || warpspan_driver.cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS || n == 0)
		return;
	nodes = calloc(n, sizeof(nodes[0]));
	if (nodes == NULL) {
		warpspan_log_once(WARPSPAN_LOG_WARN, "out of memory: kernels of a graph may run unprofiled");
		return;
	}
	if (warpspan_driver.cuGraphGetNodes(graph, nodes, &n) == CUDA_SUCCESS)
		for (size_t i = 0; i < n; i++)
			attach_node(nodes[i], level);
	free(nodes);
}

static void attach_kernel_node(CUgraphNode node)
{
	CUDA_KERNEL_NODE_PARAMS_v2 now = { .func = NULL };
	CUDA_KERNEL_NODE_PARAMS_v1 before = { .func = NULL };

	if (warpspan_driver.cuGraphKernelNodeGetParams_v2 != NULL) {
		if (warpspan_driver.cuGraphKernelNodeGetParams_v2(node, &now) == CUDA_SUCCESS)
			warpspan_graph_attach_kernel(now.func, now.kern, now.ctx);
	} else if (warpspan_driver.cuGraphKernelNodeGetParams != NULL &&
		   warpspan_driver.cuGraphKernelNodeGetParams(node, &before) == CUDA_SUCCESS) {
		warpspan_graph_attach_kernel(before.func, NULL, NULL);
	}
}

static void attach_node(CUgraphNode node, unsigned level)
{
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (warpspan_driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS)
		return;
	if (type == CU_GRAPH_NODE_TYPE_KERNEL)
		attach_kernel_node(node);
	else if (type == CU_GRAPH_NODE_TYPE_GRAPH && warpspan_driver.cuGraphChildGraphNodeGetGraph != NULL &&
		 warpspan_driver.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
		attach_nodes(child, level + 1);
}

void warpspan_graph_attach(CUgraph graph)
{
	if (graph == NULL || !warpspan_session_wake() || warpspan_driver.cuGraphGetNodes == NULL ||
	    warpspan_driver.cuGraphNodeGetType == NULL)
		return;
	attach_nodes(graph, 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.c - walks graphs for their kernels. See graph.h.
 *
 * Bodies of conditional nodes cannot be reached from the graph; their kernels are seen as they are added or captured.
 */
#include "graph.h"

#include "attach.h"
#include "contents.h"
#include "counters.h"
#include "driver.h"
#include "log.h"
#include "registry.h"
#include "session.h"
#include "uncancelled.h"

#include <stdlib.h>
#include <string.h>

/* Graphs within graphs within graphs: far more than any program has. */
#define MOST_LEVELS 64u

static struct warpspan_kernel *attach_in_current(CUfunction function, CUcontext current)
{
	struct warpspan_kernel_numbers numbers;
	struct warpspan_kernel *kernel = warpspan_registry_find(function, current, &numbers);

	if (kernel == NULL)
		kernel = warpspan_attach_for_later(function, current);
	if (kernel != NULL && atomic_load_explicit(&kernel->ready, memory_order_acquire))
		warpspan_count(WARPSPAN_COUNTER_graph_kernels, 1);
	return kernel;
}

/* NULL: nothing could be learnt of it. */
static struct warpspan_kernel *attach_kernel(CUfunction function, CUkernel handle, CUcontext context)
{
	struct warpspan_kernel *kernel = NULL;
	CUcontext current = NULL;
	WARPSPAN_UNCANCELLED;

	if (function == NULL)
		function = (CUfunction)handle;
	if (function == NULL || !warpspan_session_wake() || warpspan_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS)
		return NULL;
	if (context == NULL || context == current)
		return current != NULL ? attach_in_current(function, current) : NULL;
	if (warpspan_driver.cuCtxSetCurrent(context) == CUDA_SUCCESS)
		kernel = attach_in_current(function, context);
	(void)warpspan_driver.cuCtxSetCurrent(current);
	return kernel;
}

void warpspan_graph_attach_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	(void)attach_kernel(parameters->func, parameters->kern, parameters->ctx);
}

static struct warpspan_content content_of(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	return (struct warpspan_content){
		.node = node,
		.grid = { parameters->gridDimX, parameters->gridDimY, parameters->gridDimZ },
		.threads = { parameters->blockDimX, parameters->blockDimY, parameters->blockDimZ },
	};
}

static void attach_node(CUgraphNode node, unsigned level, struct warpspan_contents *contents);

static void attach_nodes(CUgraph graph, unsigned level, struct warpspan_contents *contents)
{
	CUgraphNode *nodes;
	size_t n = 0;

	if (level == MOST_LEVELS || warpspan_driver.cuGraphGetNodes(graph, NULL, &n) != CUDA_SUCCESS) {
		contents->uncertain = true;
		return;
	}
	if (n == 0)
		return;
	nodes = calloc(n, sizeof(nodes[0]));
	if (nodes == NULL) {
		warpspan_log_once(WARPSPAN_LOG_WARN, "out of memory: kernels of a graph may run unprofiled");
		contents->uncertain = true;
		return;
	}
	if (warpspan_driver.cuGraphGetNodes(graph, nodes, &n) != CUDA_SUCCESS)
		contents->uncertain = true;
	else
		for (size_t i = 0; i < n; i++)
			attach_node(nodes[i], level, contents);
	free(nodes);
}

static bool kernel_parameters(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *ret_parameters)
{
	CUDA_KERNEL_NODE_PARAMS_v1 before;

	memset(ret_parameters, 0, sizeof(*ret_parameters));
	if (warpspan_driver.cuGraphKernelNodeGetParams_v2 != NULL)
		return warpspan_driver.cuGraphKernelNodeGetParams_v2(node, ret_parameters) == CUDA_SUCCESS;
	if (warpspan_driver.cuGraphKernelNodeGetParams == NULL ||
	    warpspan_driver.cuGraphKernelNodeGetParams(node, &before) != CUDA_SUCCESS)
		return false;
	*ret_parameters = warpspan_graph_parameters(&before);
	return true;
}

static void attach_kernel_node(CUgraphNode node, struct warpspan_contents *contents)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters;
	struct warpspan_content content;

	if (!kernel_parameters(node, &parameters)) {
		contents->uncertain = true;
		return;
	}
	content = content_of(node, &parameters);
	warpspan_contents_add(contents, &content, attach_kernel(parameters.func, parameters.kern, parameters.ctx));
}

static void attach_node(CUgraphNode node, unsigned level, struct warpspan_contents *contents)
{
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (warpspan_driver.cuGraphNodeGetType(node, &type) != CUDA_SUCCESS) {
		contents->uncertain = true;
	} else if (type == CU_GRAPH_NODE_TYPE_KERNEL) {
		attach_kernel_node(node, contents);
	} else if (type == CU_GRAPH_NODE_TYPE_GRAPH) {
		if (warpspan_driver.cuGraphChildGraphNodeGetGraph != NULL &&
		    warpspan_driver.cuGraphChildGraphNodeGetGraph(node, &child) == CUDA_SUCCESS)
			attach_nodes(child, level + 1, contents);
		else
			contents->uncertain = true;
	} else if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		contents->uncertain = true; /* how often it runs is not known before */
	}
}

static void attach_all(CUgraph graph, struct warpspan_contents *contents)
{
	WARPSPAN_UNCANCELLED;

	if (graph == NULL || !warpspan_session_wake() || warpspan_driver.cuGraphGetNodes == NULL ||
	    warpspan_driver.cuGraphNodeGetType == NULL)
		contents->uncertain = true;
	else
		attach_nodes(graph, 0, contents);
}

void warpspan_graph_attach(CUgraph graph)
{
	struct warpspan_contents contents = { .items = NULL };

	attach_all(graph, &contents);
	free(contents.items);
}

void warpspan_graph_executable(CUgraphExec exec, CUgraph graph, bool is_update)
{
	struct warpspan_contents contents = { .items = NULL };

	attach_all(graph, &contents);
	warpspan_contents_replace(exec, &contents, is_update);
}

void warpspan_graph_executable_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	const struct warpspan_content content = content_of(node, parameters);

	warpspan_contents_change(exec, &content, attach_kernel(parameters->func, parameters->kern, parameters->ctx));
}

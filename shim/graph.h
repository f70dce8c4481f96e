/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.h - attaches the modules of kernels that will run from graphs. Any thread, after the program's own call
 * succeeded. Slow the first time, like the first launch of a kernel.
 *
 * Launches inside graphs do not come by here; so a graph's kernels are looked at when it is captured, instantiated or
 * changed, each of which comes before it can run.
 */
#ifndef WARPSPAN_GRAPH_H
#define WARPSPAN_GRAPH_H

#include "cuda_names.h"

#include <stdbool.h>

/* Every kernel of the graph, child graphs included. NULL is fine. */
void warpspan_graph_attach(CUgraph graph);

/* The same, and what an executable made of it, or updated from it, holds from now on. */
void warpspan_graph_executable(CUgraphExec exec, CUgraph graph, bool is_update);

/* One kernel; without a context it runs in the current one. */
void warpspan_graph_attach_kernel(const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);

/* The same, where it becomes that of a node of an executable. */
void warpspan_graph_executable_node(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2 *parameters);

/* The older form of parameters as the newer one. */
static inline CUDA_KERNEL_NODE_PARAMS_v2 warpspan_graph_parameters(const CUDA_KERNEL_NODE_PARAMS_v1 *before)
{
	return (CUDA_KERNEL_NODE_PARAMS_v2){
		.func = before->func,
		.gridDimX = before->gridDimX,
		.gridDimY = before->gridDimY,
		.gridDimZ = before->gridDimZ,
		.blockDimX = before->blockDimX,
		.blockDimY = before->blockDimY,
		.blockDimZ = before->blockDimZ,
	};
}

#endif

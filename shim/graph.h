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

/* Every kernel of the graph, child graphs included. NULL is fine. */
void warpspan_graph_attach(CUgraph graph);

/* One kernel. `context`: where it runs; NULL: in the current one. */
void warpspan_graph_attach_kernel(CUfunction function, CUkernel kernel, CUcontext context);

#endif

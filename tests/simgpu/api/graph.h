/* SPDX-License-Identifier: Apache-2.0
 *
 * graph.h - graphs, their nodes, what is made of them to be run, and the runs.
 *
 *   graph        what the program edits: nodes in the order they were added, each with what it depends on
 *   graph_exec   a graph_exec has a copy of a graph, and of that, made anew after each change,
 *   graph_plan   the nodes of it and of its child graphs, in an order that respects every dependency
 *   graph_run    one launch of a plan
 *
 * graph_lock guards graphs and executables; it is taken before stream_lock and after driver.lock, and not held while
 * work is enqueued or runs. Plans are immutable and counted, so a queued launch is not touched by later changes.
 */
#ifndef SIMGPU_GRAPH_H
#define SIMGPU_GRAPH_H

#include "driver.h"

struct graph_edge {
	struct graph_node *from;
	CUgraphEdgeData data;
};

struct graph_node {
	struct graph *graph;
	struct graph_node *next;
	uint64_t id;        /* unique in the process */
	uint64_t origin_id; /* of the node this one was cloned from, or 0 */
	CUgraphNodeType type;
	bool is_enabled;
	size_t n_edges;
	struct graph_edge *edges; /* what it depends on, in the order given */
	size_t mark;              /* scratch for walks, under graph_lock */

	struct work work; /* WORK_NOTHING for types without */

	/* As the program gave it, for questions. */
	union {
		struct {
			CUkernel kernel; /* NULL when launched by a CUfunction */
			struct launch_request request;
			void **pointers; /* to each parameter in work's block, owned */
		} kernel;
		struct {
			CUDA_MEMCPY3D box;
			CUcontext context;
		} memcpy;
		struct {
			CUDA_MEMSET_NODE_PARAMS params;
			CUcontext context;
		} memset;
		struct event *event;
		struct graph *child; /* owned */
		struct {
			struct graph_memory *memory; /* counted */
			CUDA_MEM_ALLOC_NODE_PARAMS params;
		} alloc;
		CUdeviceptr freed;
	};
};

struct graph {
	uint64_t id;
	bool has_handles;          /* the program may name it and its nodes */
	struct graph_node *parent; /* whose child graph it is */
	struct graph_node *first, *last;
	size_t n_nodes;
	struct user_object_ref *user_objects;
};

/* --- graphs (graph.c); graph_lock is held unless said otherwise ------------------------------- */

extern pthread_mutex_t graph_lock;

CUresult graph_create(bool has_handles, struct graph **ret_graph);
void graph_destroy(struct graph *graph);
CUresult graph_clone(const struct graph *graph, bool has_handles, struct graph **ret_clone);
/* What a program's handles name, or CUDA_ERROR_INVALID_VALUE (graph_api.c). */
CUresult graph_check(CUgraph handle, struct graph **ret_graph);
CUresult node_check(CUgraphNode handle, struct graph_node **ret_node);
/* Such a graph cannot be cloned or be a child: its memory has one address. */
bool graph_has_memory_nodes(const struct graph *graph);
/* Without dependencies or content yet. */
CUresult graph_add(struct graph *graph, CUgraphNodeType type, struct graph_node **ret_node);
/* Takes the node and every edge from it away. */
void graph_remove(struct graph_node *node);
CUresult node_depend(struct graph_node *node, struct graph_node *on, const CUgraphEdgeData *data);
/* Is `on` among what `node` depends on, directly or not, or the node itself? */
bool node_follows(struct graph_node *node, const struct graph_node *on);
bool node_is_leaf(const struct graph_node *node);
/* In `graph` or a child graph of it. */
struct graph_node *graph_find_origin(struct graph *graph, uint64_t origin_id);

/* Fill a node of that type in; also replace what it had. On failure the node keeps what it had. */
CUresult node_set_kernel(struct graph_node *node, CUfunction function, struct context *context,
			 const struct launch_request *request);
CUresult node_set_copy(struct graph_node *node, const CUDA_MEMCPY3D *box, CUcontext context);
CUresult node_set_fill(struct graph_node *node, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext context);
CUresult node_set_host(struct graph_node *node, CUhostFn function, void *argument);
CUresult node_set_child(struct graph_node *node, const struct graph *graph);
CUresult node_set_alloc(struct graph_node *node, struct context *context, CUDA_MEM_ALLOC_NODE_PARAMS *params);
/* The content of one node of the same type and kind becomes that of another. */
CUresult node_assign(struct graph_node *node, const struct graph_node *from);

/* Fills a node in from the program's structure for its type. */
typedef CUresult (*node_fill)(struct graph_node *node, void *params);
/* The function for a node of that type and the structure it takes; NULL for types that are not supported. */
node_fill node_filler(CUgraphNodeParams *params, void **ret_params);

/* --- memory of graphs (graph_memory.c) -------------------------------------------------------- */

/* Lives as long as a node, plan or executable refers to it. Callable from any thread. */
CUresult graph_memory_create(struct context *context, size_t bytes, struct graph_memory **ret_memory);
struct graph_memory *graph_memory_ref(struct graph_memory *memory);
void graph_memory_unref(struct graph_memory *memory);
CUdeviceptr graph_memory_address(const struct graph_memory *memory);
/* Does the address start memory of a graph? */
bool address_is_of_graph(CUdeviceptr address);

/* --- plans and runs (graph_run.c) ------------------------------------------------------------- */

struct graph_plan;

/* CUDA_ERROR_INVALID_VALUE for a cycle, with a node of it. graph_lock is held. */
CUresult graph_plan_create(const struct graph *graph, struct graph_plan **ret_plan, struct graph_node **ret_node);
void graph_plan_unref(struct graph_plan *plan);

/* Takes its own reference to the plan. Grid ids are given, event waits are fixed. */
CUresult graph_run_create(struct graph_plan *plan, struct graph_run **ret_run);
/* Called once the run is enqueued, with what graph_run_records() gave before. */
struct graph_record {
	struct event *event;
	struct op *op; /* counted */
};
CUresult graph_run_records(struct graph_run *run, struct graph_record **ret_records, size_t *ret_n);
void graph_records_publish(struct graph_record *records, size_t n, bool is_enqueued);
/* On a worker, without a lock. */
CUresult graph_run(struct graph_run *run, uint64_t start_ns, uint64_t *ret_end_ns);
/* The run does not take place: whoever waits for an event it records goes on. Without a lock. */
void graph_run_abandon(struct graph_run *run, CUresult reason, uint64_t at_ns);
void graph_run_destroy(struct graph_run *run);

/* The copy an executable was made of, NULL for what is none. graph_lock is held. */
const struct graph *graph_exec_graph(CUgraphExec handle);

#endif

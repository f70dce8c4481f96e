/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_exec.c - executable graphs: made, changed, launched.
 *
 * An executable keeps a private copy of its graph and the plan made of it. A change edits the copy and drops the plan;
 * the next launch makes a new one, while launches under way keep theirs. Launches of one executable follow each other,
 * whatever their streams. Callable from any thread.
 */
#include "capture.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct graph_exec {
	struct graph *graph;     /* private */
	struct graph_plan *plan; /* NULL after a change */
	struct op *last;         /* its newest launch; counted */
	cuuint64_t flags;
};

static CUresult exec_check(CUgraphExec handle, struct graph_exec **ret_exec)
{
	if (!handle_is(HANDLE_GRAPH_EXEC, handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_exec = (struct graph_exec *)handle;
	return CUDA_SUCCESS;
}

const struct graph *graph_exec_graph(CUgraphExec handle)
{
	struct graph_exec *exec;

	return exec_check(handle, &exec) == CUDA_SUCCESS ? exec->graph : NULL;
}

/* graph_lock is held. */
static CUresult exec_plan(struct graph_exec *exec)
{
	struct graph_node *node;

	return exec->plan ? CUDA_SUCCESS : graph_plan_create(exec->graph, &exec->plan, &node);
}

static void exec_changed(struct graph_exec *exec)
{
	graph_plan_unref(exec->plan);
	exec->plan = NULL;
}

static void exec_free(struct graph_exec *exec)
{
	graph_plan_unref(exec->plan);
	graph_destroy(exec->graph);
	op_unref(exec->last);
	free(exec);
}

/* --- made ------------------------------------------------------------------------------------- */

enum {
	KNOWN_FLAGS = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
		      CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY,
};

static CUresult exec_create(CUgraph handle, cuuint64_t flags, struct graph_exec **ret_exec, CUgraphNode *ret_error_node)
{
	struct graph *graph = (struct graph *)handle;
	struct graph_node *node = NULL;
	struct graph_plan *plan;
	struct graph_exec *exec;
	CUresult result;

	*ret_error_node = NULL;
	if (!handle_is(HANDLE_GRAPH, handle))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) {
		driver_note("graphs that the device launches are not supported");
		return CUDA_ERROR_NOT_SUPPORTED;
	}
	if (flags & ~(cuuint64_t)KNOWN_FLAGS)
		return CUDA_ERROR_INVALID_VALUE;
	exec = calloc(1, sizeof(*exec));
	if (!exec)
		return CUDA_ERROR_OUT_OF_MEMORY;
	exec->flags = flags;
	/* Of the program's own graph first: a node of a cycle is to be one it knows. */
	result = graph_plan_create(graph, &plan, &node);
	if (result == CUDA_SUCCESS) {
		graph_plan_unref(plan);
		result = graph_clone(graph, false, &exec->graph);
	}
	if (result == CUDA_SUCCESS)
		result = exec_plan(exec);
	if (result == CUDA_SUCCESS)
		result = handle_add(HANDLE_GRAPH_EXEC, exec);
	if (result != CUDA_SUCCESS) {
		*ret_error_node = (CUgraphNode)node;
		exec_free(exec);
		return result;
	}
	*ret_exec = exec;
	return CUDA_SUCCESS;
}

CUresult impl_cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph, unsigned long long flags)
{
	struct graph_exec *exec;
	CUgraphNode node;
	CUresult result;

	if (!phGraphExec || flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = exec_create(hGraph, flags, &exec, &node);
	pthread_mutex_unlock(&graph_lock);
	if (result == CUDA_SUCCESS)
		*phGraphExec = (CUgraphExec)exec;
	return result;
}

CUresult impl_cuGraphInstantiate_v2(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
				    size_t bufferSize)
{
	struct graph_exec *exec;
	CUgraphNode node;
	CUresult result;

	if (!phGraphExec)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = exec_create(hGraph, 0, &exec, &node);
	pthread_mutex_unlock(&graph_lock);
	if (phErrorNode)
		*phErrorNode = node;
	if (logBuffer && bufferSize)
		logBuffer[0] = '\0';
	if (result == CUDA_SUCCESS)
		*phGraphExec = (CUgraphExec)exec;
	return result;
}

CUresult impl_cuGraphInstantiate(CUgraphExec *phGraphExec, CUgraph hGraph, CUgraphNode *phErrorNode, char *logBuffer,
				 size_t bufferSize)
{
	return impl_cuGraphInstantiate_v2(phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult impl_cuGraphInstantiateWithParams(CUgraphExec *phGraphExec, CUgraph hGraph,
					   CUDA_GRAPH_INSTANTIATE_PARAMS *instantiateParams)
{
	struct graph_exec *exec;
	CUresult result;

	if (!phGraphExec || !instantiateParams)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = exec_create(hGraph, instantiateParams->flags, &exec, &instantiateParams->hErrNode_out);
	pthread_mutex_unlock(&graph_lock);
	if (result == CUDA_SUCCESS && instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
		result = impl_cuGraphUpload((CUgraphExec)exec, instantiateParams->hUploadStream);
	instantiateParams->result_out = result == CUDA_SUCCESS            ? CUDA_GRAPH_INSTANTIATE_SUCCESS
					: instantiateParams->hErrNode_out ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE
					: result == CUDA_ERROR_NOT_SUPPORTED
						? CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED
						: CUDA_GRAPH_INSTANTIATE_ERROR;
	if (result == CUDA_SUCCESS)
		*phGraphExec = (CUgraphExec)exec;
	return result;
}

CUresult impl_cuGraphExecGetFlags(CUgraphExec hGraphExec, cuuint64_t *flags)
{
	struct graph_exec *exec;
	CUresult result = exec_check(hGraphExec, &exec);

	if (result != CUDA_SUCCESS || !flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = exec->flags & ~(cuuint64_t)CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
	return CUDA_SUCCESS;
}

/* Launches under way have all they need. */
CUresult impl_cuGraphExecDestroy(CUgraphExec hGraphExec)
{
	struct graph_exec *exec;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = exec_check(hGraphExec, &exec);
	if (result == CUDA_SUCCESS) {
		handle_remove(exec);
		exec_free(exec);
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- launched --------------------------------------------------------------------------------- */

CUresult impl_cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
{
	struct graph_exec *exec;
	struct stream *stream;
	struct op *op;
	CUresult result = exec_check(hGraphExec, &exec);

	if (result == CUDA_SUCCESS)
		result = stream_resolve(hStream, context_gated(), &stream);
	if (result == CUDA_SUCCESS)
		result = capture_refuse(stream);
	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(WORK_NOTHING);
	return op ? op_enqueue(stream, op, COST_SMALL_NS, NULL, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
}

/* The run and what it follows. */
static CUresult launch_begin(CUgraphExec handle, struct op *op, struct op **ret_before)
{
	struct graph_exec *exec;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = exec_check(handle, &exec);
	if (result == CUDA_SUCCESS)
		result = exec_plan(exec);
	if (result == CUDA_SUCCESS)
		result = graph_run_create(exec->plan, &op->work.run);
	if (result == CUDA_SUCCESS) {
		op->work.kind = WORK_GRAPH;
		*ret_before = exec->last ? op_ref(exec->last) : NULL;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

static void launch_end(CUgraphExec handle, struct op *launched)
{
	struct graph_exec *exec;
	struct op *before = launched;

	pthread_mutex_lock(&graph_lock);
	if (exec_check(handle, &exec) == CUDA_SUCCESS) {
		before = exec->last;
		exec->last = launched;
	}
	pthread_mutex_unlock(&graph_lock);
	op_unref(before);
}

CUresult impl_cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
{
	struct graph_record *records;
	struct op *op, *before, *launched;
	struct stream *stream;
	size_t n;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (stream_is_captured(stream))
		return capture_graph(stream, hGraphExec);
	op = op_new(WORK_NOTHING);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = launch_begin(hGraphExec, op, &before);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	result = graph_run_records(op->work.run, &records, &n);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		op_unref(before);
		return result;
	}
	result = op_enqueue(stream, op, COST_LAUNCH_NS, before, &launched);
	graph_records_publish(records, n, result == CUDA_SUCCESS);
	op_unref(before);
	if (result == CUDA_SUCCESS)
		launch_end(hGraphExec, launched);
	return result;
}

/* --- changed ---------------------------------------------------------------------------------- */

/* The executable's own node for one of the graph it was made of. */
static CUresult exec_node(CUgraphExec handle, CUgraphNode node_handle, struct graph_exec **ret_exec,
			  struct graph_node **ret_node)
{
	CUresult result = exec_check(handle, ret_exec);

	if (result != CUDA_SUCCESS || !handle_is(HANDLE_GRAPH_NODE, node_handle))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = graph_find_origin((*ret_exec)->graph, ((struct graph_node *)node_handle)->id);
	return *ret_node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGraphExecNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraphNodeParams *nodeParams)
{
	void *params = NULL;
	node_fill fill = nodeParams ? node_filler(nodeParams, &params) : NULL;
	struct graph_exec *exec;
	struct graph_node *node;
	CUresult result;

	if (!nodeParams || nodeParams->type == CU_GRAPH_NODE_TYPE_EMPTY)
		return CUDA_ERROR_INVALID_VALUE;
	if (!fill || nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	    nodeParams->type == CU_GRAPH_NODE_TYPE_MEM_FREE)
		return CUDA_ERROR_NOT_SUPPORTED;
	pthread_mutex_lock(&graph_lock);
	result = exec_node(hGraphExec, hNode, &exec, &node);
	if (result == CUDA_SUCCESS && node->type != nodeParams->type)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		result = fill(node, params);
	if (result == CUDA_SUCCESS)
		exec_changed(exec);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
						const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.kernel, nodeParams, sizeof(*nodeParams));
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecKernelNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					     const CUDA_KERNEL_NODE_PARAMS_v1 *nodeParams)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_KERNEL };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.kernel, nodeParams, sizeof(*nodeParams));
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecMemcpyNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, const CUDA_MEMCPY3D *copyParams,
					     CUcontext ctx)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };

	if (!copyParams)
		return CUDA_ERROR_INVALID_VALUE;
	params.memcpy.copyCtx = ctx;
	params.memcpy.copyParams = *copyParams;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					     const CUDA_MEMSET_NODE_PARAMS *memsetParams, CUcontext ctx)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_MEMSET };

	if (!memsetParams)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&params.memset, memsetParams, sizeof(*memsetParams));
	params.memset.ctx = ctx;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecHostNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
					   const CUDA_HOST_NODE_PARAMS *nodeParams)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_HOST };

	if (!nodeParams)
		return CUDA_ERROR_INVALID_VALUE;
	params.host.fn = nodeParams->fn;
	params.host.userData = nodeParams->userData;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecChildGraphNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode, CUgraph childGraph)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_GRAPH };

	params.graph.graph = childGraph;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecEventRecordNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_EVENT_RECORD };

	params.eventRecord.event = event;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

CUresult impl_cuGraphExecEventWaitNodeSetEvent(CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event)
{
	CUgraphNodeParams params = { .type = CU_GRAPH_NODE_TYPE_WAIT_EVENT };

	params.eventWait.event = event;
	return impl_cuGraphExecNodeSetParams(hGraphExec, hNode, &params);
}

/* Only kernels, copies and fills can be switched off. */
static bool has_switch(const struct graph_node *node)
{
	return node->type == CU_GRAPH_NODE_TYPE_KERNEL || node->type == CU_GRAPH_NODE_TYPE_MEMCPY ||
	       node->type == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult impl_cuGraphNodeSetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled)
{
	struct graph_exec *exec;
	struct graph_node *node;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = exec_node(hGraphExec, hNode, &exec, &node);
	if (result == CUDA_SUCCESS && !has_switch(node))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS) {
		node->is_enabled = isEnabled != 0;
		exec_changed(exec);
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuGraphNodeGetEnabled(CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int *isEnabled)
{
	struct graph_exec *exec;
	struct graph_node *node;
	CUresult result;

	if (!isEnabled)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = exec_node(hGraphExec, hNode, &exec, &node);
	if (result == CUDA_SUCCESS && !has_switch(node))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS)
		*isEnabled = node->is_enabled;
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- updated from a whole graph --------------------------------------------------------------- */

struct difference {
	CUgraphExecUpdateResult reason;
	struct graph_node *node, *from; /* of the new graph */
};

/* Position in its graph; nodes correspond by it. Marks hold it during a comparison. */
static void number(const struct graph *graph)
{
	size_t n = 0;

	for (struct graph_node *node = graph->first; node; node = node->next)
		node->mark = n++;
}

static bool node_differs(const struct graph_node *old, struct graph_node *new, struct difference *ret)
{
	ret->node = new;
	if (old->type != new->type) {
		ret->reason = CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		return true;
	}
	ret->reason = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	if (old->n_edges != new->n_edges)
		return true;
	for (size_t i = 0; i < new->n_edges; i++) {
		bool is_there = false;

		for (size_t k = 0; k < old->n_edges; k++)
			is_there = is_there || old->edges[k].from->mark == new->edges[i].from->mark;
		if (!is_there) {
			ret->from = new->edges[i].from;
			return true;
		}
	}
	if (new->type == CU_GRAPH_NODE_TYPE_KERNEL &&
	    old->work.launch.function->module->context != new->work.launch.function->module->context) {
		ret->reason = CU_GRAPH_EXEC_UPDATE_ERROR_FUNCTION_CHANGED;
		return true;
	}
	if (new->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || new->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
		ret->reason = CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
		return true;
	}
	return false;
}

static bool graph_differs(const struct graph *old, const struct graph *new, struct difference *ret)
{
	struct graph_node *node;

	*ret = (struct difference){ .reason = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED };
	if (old->n_nodes != new->n_nodes)
		return true;
	number(old);
	number(new);
	node = new->first;
	for (const struct graph_node *other = old->first; other; other = other->next, node = node->next) {
		if (node_differs(other, node, ret))
			return true;
	}
	node = new->first;
	for (const struct graph_node *other = old->first; other; other = other->next, node = node->next) {
		if (node->type == CU_GRAPH_NODE_TYPE_GRAPH && graph_differs(other->child, node->child, ret))
			return true;
	}
	*ret = (struct difference){ .reason = CU_GRAPH_EXEC_UPDATE_SUCCESS };
	return false;
}

/* Node by node, so that ids stay those of the graph the executable was made of. */
static CUresult graph_take(struct graph *old, const struct graph *new)
{
	struct graph_node *node = new->first;
	CUresult result = CUDA_SUCCESS;

	for (struct graph_node *other = old->first; other && result == CUDA_SUCCESS;
	     other = other->next, node = node->next)
		result = other->type == CU_GRAPH_NODE_TYPE_GRAPH ? graph_take(other->child, node->child)
								 : node_assign(other, node);
	return result;
}

CUresult impl_cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphExecUpdateResultInfo *resultInfo)
{
	struct difference difference = { .reason = CU_GRAPH_EXEC_UPDATE_ERROR };
	struct graph_exec *exec;
	CUresult result;

	if (!resultInfo)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = exec_check(hGraphExec, &exec);
	if (result == CUDA_SUCCESS && !handle_is(HANDLE_GRAPH, hGraph))
		result = CUDA_ERROR_INVALID_VALUE;
	if (result == CUDA_SUCCESS && graph_differs(exec->graph, (struct graph *)hGraph, &difference))
		result = CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	if (result == CUDA_SUCCESS) {
		result = graph_take(exec->graph, (struct graph *)hGraph);
		exec_changed(exec);
	}
	pthread_mutex_unlock(&graph_lock);
	*resultInfo = (CUgraphExecUpdateResultInfo){ .result = difference.reason,
						     .errorNode = (CUgraphNode)difference.node,
						     .errorFromNode = (CUgraphNode)difference.from };
	return result;
}

CUresult impl_cuGraphExecUpdate(CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode *hErrorNode_out,
				CUgraphExecUpdateResult *updateResult_out)
{
	CUgraphExecUpdateResultInfo info;
	CUresult result;

	if (!updateResult_out)
		return CUDA_ERROR_INVALID_VALUE;
	result = impl_cuGraphExecUpdate_v2(hGraphExec, hGraph, &info);
	*updateResult_out = info.result;
	if (hErrorNode_out)
		*hErrorNode_out = info.errorNode;
	return result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * graph_nodes.c - the driver's calls that add nodes to graphs, change them and ask about them.
 *
 * For each kind one function fills a node in from the program's structure, whether the node is new or is changed, and
 * whether it came by its own call or by the one for all kinds. Every call takes graph_lock once, around all it does
 * with handles. Callable from any thread.
 */
#include "capture.h"
#include "graph.h"

#include <string.h>

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

	if (!place->ret_node || (place->n_after && !place->after) || (fill && !params))
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
	return graph_has_memory_nodes(graph) ? CUDA_ERROR_NOT_SUPPORTED : node_set_child(node, graph);
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

static CUresult node_fill_free(struct graph_node *node, void *params)
{
	CUdeviceptr address = *(CUdeviceptr *)params;

	if (!address_is_of_graph(address))
		return CUDA_ERROR_INVALID_VALUE;
	node->freed = address;
	return CUDA_SUCCESS;
}

/* --- calls that are one value each ------------------------------------------------------------ */

/* A node that something is asked about: NULL where there is no answer to give. */
static const struct graph_node *node_asked(CUgraphNode handle, CUgraphNodeType type, const void *ret_value)
{
	struct graph_node *node;

	return ret_value && node_check_type(handle, type, &node) == CUDA_SUCCESS ? node : NULL;
}

#define NODE_GETTER(name, node_type, value_type, value)                                                       \
	CUresult impl_##name(CUgraphNode hNode, value_type *ret_value)                                        \
	{                                                                                                     \
		const struct graph_node *node = node_asked(hNode, CU_GRAPH_NODE_TYPE_##node_type, ret_value); \
                                                                                                              \
		if (!node)                                                                                    \
			return CUDA_ERROR_INVALID_VALUE;                                                      \
		*ret_value = value;                                                                           \
		return CUDA_SUCCESS;                                                                          \
	}

/* `at` is where the value lies for `fill`: the value itself where the call is given a pointer. */
#define NODE_ADDER(name, node_type, value_type, fill, at)                                               \
	CUresult impl_##name(CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, \
			     size_t numDependencies, value_type value)                                  \
	{                                                                                               \
		struct place place = { phGraphNode, hGraph, dependencies, NULL, numDependencies };      \
                                                                                                        \
		return node_add(&place, CU_GRAPH_NODE_TYPE_##node_type, fill, (void *)at);              \
	}

#define NODE_SETTER(name, node_type, value_type, fill, at)                                   \
	CUresult impl_##name(CUgraphNode hNode, value_type value)                            \
	{                                                                                    \
		return node_refill(hNode, CU_GRAPH_NODE_TYPE_##node_type, fill, (void *)at); \
	}

NODE_ADDER(cuGraphAddChildGraphNode, GRAPH, CUgraph, node_fill_child, &value)
NODE_ADDER(cuGraphAddEventRecordNode, EVENT_RECORD, CUevent, node_fill_event, &value)
NODE_ADDER(cuGraphAddEventWaitNode, WAIT_EVENT, CUevent, node_fill_event, &value)
NODE_ADDER(cuGraphAddHostNode, HOST, const CUDA_HOST_NODE_PARAMS *, node_fill_host, value)
NODE_ADDER(cuGraphAddMemAllocNode, MEM_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS *, node_fill_alloc, value)
NODE_ADDER(cuGraphAddMemFreeNode, MEM_FREE, CUdeviceptr, node_fill_free, &value)

NODE_SETTER(cuGraphEventRecordNodeSetEvent, EVENT_RECORD, CUevent, node_fill_event, &value)
NODE_SETTER(cuGraphEventWaitNodeSetEvent, WAIT_EVENT, CUevent, node_fill_event, &value)
NODE_SETTER(cuGraphHostNodeSetParams, HOST, const CUDA_HOST_NODE_PARAMS *, node_fill_host, value)

NODE_GETTER(cuGraphChildGraphNodeGetGraph, GRAPH, CUgraph, (CUgraph)node->child)
NODE_GETTER(cuGraphEventRecordNodeGetEvent, EVENT_RECORD, CUevent, (CUevent)node->event)
NODE_GETTER(cuGraphEventWaitNodeGetEvent, WAIT_EVENT, CUevent, (CUevent)node->event)
NODE_GETTER(cuGraphHostNodeGetParams, HOST, CUDA_HOST_NODE_PARAMS,
	    ((CUDA_HOST_NODE_PARAMS){ node->work.callback.function, node->work.callback.argument }))
NODE_GETTER(cuGraphMemAllocNodeGetParams, MEM_ALLOC, CUDA_MEM_ALLOC_NODE_PARAMS, node->alloc.params)
NODE_GETTER(cuGraphMemFreeNodeGetParams, MEM_FREE, CUdeviceptr, node->freed)
NODE_GETTER(cuGraphMemcpyNodeGetParams, MEMCPY, CUDA_MEMCPY3D, node->memcpy.box)
NODE_GETTER(cuGraphMemsetNodeGetParams, MEMSET, CUDA_MEMSET_NODE_PARAMS, node->memset.params)

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

/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_graph.c - the runtime's graphs: the driver's, with kernels named by their host stubs and copies by a direction.
 */
#include "rt.h"

#include <string.h>

/* Structures that are handed on as they are. */
_Static_assert(sizeof(struct cudaHostNodeParams) == sizeof(CUDA_HOST_NODE_PARAMS), "handed on");
_Static_assert(sizeof(struct cudaMemsetParams) == sizeof(CUDA_MEMSET_NODE_PARAMS), "handed on");
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), "handed on");
_Static_assert(sizeof(cudaGraphExecUpdateResultInfo) == sizeof(CUgraphExecUpdateResultInfo), "handed on");
_Static_assert(sizeof(cudaGraphInstantiateParams) == sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS), "handed on");
_Static_assert(sizeof(cudaGraphEdgeData) == sizeof(CUgraphEdgeData), "handed on");
_Static_assert(sizeof(cudaLaunchAttributeValue) == sizeof(CUlaunchAttributeValue), "handed on");

static CUcontext rt_context(void)
{
	CUcontext context = NULL;

	DRIVER(cuCtxGetCurrent)(&context);
	return context;
}

/* --- graphs ----------------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
				   cudaGraphEdgeData *edgeData, size_t *numEdges)
{
	return rt_error(DRIVER(cuGraphGetEdges)(graph, from, to, (CUgraphEdgeData *)edgeData, numEdges));
}

cudaError_t impl_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
					      cudaGraphEdgeData *edgeData, size_t *pNumDependencies)
{
	return rt_error(
		DRIVER(cuGraphNodeGetDependencies)(node, pDependencies, (CUgraphEdgeData *)edgeData, pNumDependencies));
}

cudaError_t impl_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
						cudaGraphEdgeData *edgeData, size_t *pNumDependentNodes)
{
	return rt_error(DRIVER(cuGraphNodeGetDependentNodes)(node, pDependentNodes, (CUgraphEdgeData *)edgeData,
							     pNumDependentNodes));
}

cudaError_t impl_cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *pType)
{
	return rt_error(DRIVER(cuGraphNodeGetType)(node, (CUgraphNodeType *)pType));
}

cudaError_t impl_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					  const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	return rt_error(
		DRIVER(cuGraphAddDependencies)(graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies));
}

cudaError_t impl_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to,
					     const cudaGraphEdgeData *edgeData, size_t numDependencies)
{
	return rt_error(
		DRIVER(cuGraphRemoveDependencies)(graph, from, to, (const CUgraphEdgeData *)edgeData, numDependencies));
}

/* --- capture ---------------------------------------------------------------------------------- */

cudaError_t impl_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	return rt_error(DRIVER_STREAM(cuStreamBeginCapture)(stream, (CUstreamCaptureMode)mode));
}

cudaError_t impl_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
					       const cudaGraphNode_t *dependencies,
					       const cudaGraphEdgeData *dependencyData, size_t numDependencies,
					       enum cudaStreamCaptureMode mode)
{
	return rt_error(DRIVER_STREAM(cuStreamBeginCaptureToGraph)(stream, graph, dependencies,
								   (const CUgraphEdgeData *)dependencyData,
								   numDependencies, (CUstreamCaptureMode)mode));
}

cudaError_t impl_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
						     const cudaGraphEdgeData *dependencyData, size_t numDependencies,
						     unsigned int flags)
{
	return rt_error(DRIVER_STREAM(cuStreamUpdateCaptureDependencies)(
		stream, dependencies, (const CUgraphEdgeData *)dependencyData, numDependencies, flags));
}

/* --- memory of graphs ------------------------------------------------------------------------- */

cudaError_t impl_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	return rt_error(DRIVER(cuDeviceGetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

cudaError_t impl_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr, void *value)
{
	return rt_error(DRIVER(cuDeviceSetGraphMemAttribute)(device, (CUgraphMem_attribute)attr, value));
}

/* --- kernel nodes ----------------------------------------------------------------------------- */

static cudaError_t kernel_params(const struct cudaKernelNodeParams *params, CUDA_KERNEL_NODE_PARAMS *ret_params)
{
	CUkernel kernel;
	cudaError_t error = params ? rt_kernel(params->func, &kernel) : cudaErrorInvalidValue;

	if (error != cudaSuccess)
		return error;
	*ret_params = (CUDA_KERNEL_NODE_PARAMS){
		.kern = kernel,
		.gridDimX = params->gridDim.x,
		.gridDimY = params->gridDim.y,
		.gridDimZ = params->gridDim.z,
		.blockDimX = params->blockDim.x,
		.blockDimY = params->blockDim.y,
		.blockDimZ = params->blockDim.z,
		.sharedMemBytes = params->sharedMemBytes,
		.kernelParams = params->kernelParams,
		.extra = params->extra,
	};
	return cudaSuccess;
}

cudaError_t impl_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies, size_t numDependencies,
					const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = kernel_params(pNodeParams, &params);

	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER(cuGraphAddKernelNode)(pGraphNode, graph, pDependencies, numDependencies, &params));
}

/* A kernel is called by its stub again, if it has one. */
cudaError_t impl_cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = rt_error(DRIVER(cuGraphKernelNodeGetParams)(node, &params));

	if (error != cudaSuccess || !pNodeParams)
		return error != cudaSuccess ? error : cudaErrorInvalidValue;
	*pNodeParams = (struct cudaKernelNodeParams){
		.func = params.kern ? (void *)(uintptr_t)rt_kernel_stub(params.kern) : (void *)params.func,
		.gridDim = { params.gridDimX, params.gridDimY, params.gridDimZ },
		.blockDim = { params.blockDimX, params.blockDimY, params.blockDimZ },
		.sharedMemBytes = params.sharedMemBytes,
		.kernelParams = params.kernelParams,
		.extra = params.extra,
	};
	return cudaSuccess;
}

cudaError_t impl_cudaGraphKernelNodeSetParams(cudaGraphNode_t node, const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = kernel_params(pNodeParams, &params);

	return error == cudaSuccess ? rt_error(DRIVER(cuGraphKernelNodeSetParams)(node, &params)) : error;
}

cudaError_t impl_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						  const struct cudaKernelNodeParams *pNodeParams)
{
	CUDA_KERNEL_NODE_PARAMS params;
	cudaError_t error = kernel_params(pNodeParams, &params);

	return error == cudaSuccess ? rt_error(DRIVER(cuGraphExecKernelNodeSetParams)(hGraphExec, node, &params))
				    : error;
}

cudaError_t impl_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
						 cudaLaunchAttributeValue *value_out)
{
	return rt_error(DRIVER(cuGraphKernelNodeGetAttribute)(hNode, (CUlaunchAttributeID)attr,
							      (CUlaunchAttributeValue *)value_out));
}

cudaError_t impl_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
						 const cudaLaunchAttributeValue *value)
{
	return rt_error(DRIVER(cuGraphKernelNodeSetAttribute)(hNode, (CUlaunchAttributeID)attr,
							      (const CUlaunchAttributeValue *)value));
}

/* --- copy nodes ------------------------------------------------------------------------------- */

static cudaError_t add_copy(cudaGraphNode_t *node, cudaGraph_t graph, const cudaGraphNode_t *after, size_t n,
			    const CUDA_MEMCPY3D *box)
{
	return rt_error(DRIVER(cuGraphAddMemcpyNode)(node, graph, after, n, box, rt_context()));
}

static cudaError_t set_copy(cudaGraphNode_t node, const CUDA_MEMCPY3D *box)
{
	return rt_error(DRIVER(cuGraphMemcpyNodeSetParams)(node, box));
}

static cudaError_t exec_set_copy(cudaGraphExec_t exec, cudaGraphNode_t node, const CUDA_MEMCPY3D *box)
{
	return rt_error(DRIVER(cuGraphExecMemcpyNodeSetParams)(exec, node, box, rt_context()));
}

cudaError_t impl_cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies, size_t numDependencies,
					const struct cudaMemcpy3DParms *pCopyParams)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_box(pCopyParams, &box);

	return error == cudaSuccess ? add_copy(pGraphNode, graph, pDependencies, numDependencies, &box) : error;
}

cudaError_t impl_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node, struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_error(DRIVER(cuGraphMemcpyNodeGetParams)(node, &box));

	if (error == cudaSuccess && !pNodeParams)
		return cudaErrorInvalidValue;
	if (error == cudaSuccess)
		*pNodeParams = rt_box_params(&box);
	return error;
}

cudaError_t impl_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node, const struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_box(pNodeParams, &box);

	return error == cudaSuccess ? set_copy(node, &box) : error;
}

cudaError_t impl_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						  const struct cudaMemcpy3DParms *pNodeParams)
{
	CUDA_MEMCPY3D box;
	cudaError_t error = rt_box(pNodeParams, &box);

	return error == cudaSuccess ? exec_set_copy(hGraphExec, node, &box) : error;
}

/* A row of bytes, between pointers or to and from a variable: each added, set and set in an executable. */
#define COPY_NODES(form, given, make)                                                                               \
	cudaError_t impl_cudaGraphAddMemcpyNode##form(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,               \
						      const cudaGraphNode_t *pDependencies, size_t numDependencies, \
						      UNPACK given)                                                 \
	{                                                                                                           \
		CUDA_MEMCPY3D box;                                                                                  \
		cudaError_t error = make;                                                                           \
                                                                                                                    \
		return error == cudaSuccess ? add_copy(pGraphNode, graph, pDependencies, numDependencies, &box)     \
					    : error;                                                                \
	}                                                                                                           \
	cudaError_t impl_cudaGraphMemcpyNodeSetParams##form(cudaGraphNode_t node, UNPACK given)                     \
	{                                                                                                           \
		CUDA_MEMCPY3D box;                                                                                  \
		cudaError_t error = make;                                                                           \
                                                                                                                    \
		return error == cudaSuccess ? set_copy(node, &box) : error;                                         \
	}                                                                                                           \
	cudaError_t impl_cudaGraphExecMemcpyNodeSetParams##form(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,   \
								UNPACK given)                                       \
	{                                                                                                           \
		CUDA_MEMCPY3D box;                                                                                  \
		cudaError_t error = make;                                                                           \
                                                                                                                    \
		return error == cudaSuccess ? exec_set_copy(hGraphExec, node, &box) : error;                        \
	}
#define UNPACK(...) __VA_ARGS__

COPY_NODES(1D, (void *dst, const void *src, size_t count, enum cudaMemcpyKind kind),
	   rt_row(dst, src, count, kind, &box))
COPY_NODES(ToSymbol, (const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind),
	   rt_row_to_symbol(symbol, src, count, offset, kind, &box))
COPY_NODES(FromSymbol, (void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind),
	   rt_row_from_symbol(dst, symbol, count, offset, kind, &box))

/* --- fills and memory ------------------------------------------------------------------------- */

cudaError_t impl_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					const cudaGraphNode_t *pDependencies, size_t numDependencies,
					const struct cudaMemsetParams *pMemsetParams)
{
	return rt_error(DRIVER(cuGraphAddMemsetNode)(pGraphNode, graph, pDependencies, numDependencies,
						     (const CUDA_MEMSET_NODE_PARAMS *)pMemsetParams, rt_context()));
}

cudaError_t impl_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						  const struct cudaMemsetParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphExecMemsetNodeSetParams)(
		hGraphExec, node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams, rt_context()));
}

cudaError_t impl_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node, struct cudaMemsetParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphMemsetNodeGetParams)(node, (CUDA_MEMSET_NODE_PARAMS *)pNodeParams));
}

cudaError_t impl_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node, const struct cudaMemsetParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphMemsetNodeSetParams)(node, (const CUDA_MEMSET_NODE_PARAMS *)pNodeParams));
}

cudaError_t impl_cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					  const cudaGraphNode_t *pDependencies, size_t numDependencies,
					  struct cudaMemAllocNodeParams *nodeParams)
{
	return rt_error(DRIVER(cuGraphAddMemAllocNode)(pGraphNode, graph, pDependencies, numDependencies,
						       (CUDA_MEM_ALLOC_NODE_PARAMS *)nodeParams));
}

cudaError_t impl_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
	return rt_error(DRIVER(cuGraphMemAllocNodeGetParams)(node, (CUDA_MEM_ALLOC_NODE_PARAMS *)params_out));
}

cudaError_t impl_cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
					 const cudaGraphNode_t *pDependencies, size_t numDependencies, void *dptr)
{
	return rt_error(DRIVER(cuGraphAddMemFreeNode)(pGraphNode, graph, pDependencies, numDependencies,
						      (CUdeviceptr)(uintptr_t)dptr));
}

cudaError_t impl_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
	return rt_error(DRIVER(cuGraphMemFreeNodeGetParams)(node, (CUdeviceptr *)dptr_out));
}

/* --- host, child, empty and event nodes ------------------------------------------------------- */

cudaError_t impl_cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				      const cudaGraphNode_t *pDependencies, size_t numDependencies,
				      const struct cudaHostNodeParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphAddHostNode)(pGraphNode, graph, pDependencies, numDependencies,
						   (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t impl_cudaGraphHostNodeGetParams(cudaGraphNode_t node, struct cudaHostNodeParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphHostNodeGetParams)(node, (CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t impl_cudaGraphHostNodeSetParams(cudaGraphNode_t node, const struct cudaHostNodeParams *pNodeParams)
{
	return rt_error(DRIVER(cuGraphHostNodeSetParams)(node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

cudaError_t impl_cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
						const struct cudaHostNodeParams *pNodeParams)
{
	return rt_error(
		DRIVER(cuGraphExecHostNodeSetParams)(hGraphExec, node, (const CUDA_HOST_NODE_PARAMS *)pNodeParams));
}

/* --- any kind of node ------------------------------------------------------------------------- */

/* What the two APIs have differently: kernels and copies; memory nodes are alike. */
static cudaError_t node_params(const struct cudaGraphNodeParams *params, CUgraphNodeParams *ret_params)
{
	struct cudaKernelNodeParams kernel;
	CUDA_KERNEL_NODE_PARAMS driver;
	cudaError_t error;

	if (!params)
		return cudaErrorInvalidValue;
	_Static_assert(sizeof(*params) <= sizeof(*ret_params), "copied before it is changed");
	memset(ret_params, 0, sizeof(*ret_params));
	memcpy(ret_params, params, sizeof(*params));
	switch (params->type) {
	case cudaGraphNodeTypeKernel:
		memcpy(&kernel, &params->kernel, sizeof(kernel));
		error = kernel_params(&kernel, &driver);
		if (error == cudaSuccess)
			memcpy(&ret_params->kernel, &driver, sizeof(driver));
		return error;
	case cudaGraphNodeTypeMemcpy:
		memset(&ret_params->memcpy, 0, sizeof(ret_params->memcpy));
		return rt_box(&params->memcpy.copyParams, &ret_params->memcpy.copyParams);
	case cudaGraphNodeTypeMemset:
		ret_params->memset.ctx = NULL;
		return cudaSuccess;
	default:
		return cudaSuccess;
	}
}

cudaError_t impl_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
				  const cudaGraphEdgeData *dependencyData, size_t numDependencies,
				  struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(nodeParams, &params);

	if (error == cudaSuccess)
		error = rt_error(DRIVER(cuGraphAddNode)(pGraphNode, graph, pDependencies,
							(const CUgraphEdgeData *)dependencyData, numDependencies,
							&params));
	if (error == cudaSuccess && nodeParams->type == cudaGraphNodeTypeGraph)
		nodeParams->graph.graph = params.graph.graph;
	if (error == cudaSuccess && nodeParams->type == cudaGraphNodeTypeMemAlloc)
		nodeParams->alloc.dptr = (void *)(uintptr_t)params.alloc.dptr;
	return error;
}

cudaError_t impl_cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(nodeParams, &params);

	return error == cudaSuccess ? rt_error(DRIVER(cuGraphNodeSetParams)(node, &params)) : error;
}

cudaError_t impl_cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
					    struct cudaGraphNodeParams *nodeParams)
{
	CUgraphNodeParams params;
	cudaError_t error = node_params(nodeParams, &params);

	return error == cudaSuccess ? rt_error(DRIVER(cuGraphExecNodeSetParams)(graphExec, node, &params)) : error;
}

/* --- executables ------------------------------------------------------------------------------ */

cudaError_t impl_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
						cudaGraphInstantiateParams *instantiateParams)
{
	return rt_error(DRIVER_STREAM(cuGraphInstantiateWithParams)(
		pGraphExec, graph, (CUDA_GRAPH_INSTANTIATE_PARAMS *)instantiateParams));
}

cudaError_t impl_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
	return rt_error(DRIVER(cuGraphExecGetFlags)(graphExec, (cuuint64_t *)flags));
}

cudaError_t impl_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
				     cudaGraphExecUpdateResultInfo *resultInfo)
{
	return rt_error(DRIVER(cuGraphExecUpdate)(hGraphExec, hGraph, (CUgraphExecUpdateResultInfo *)resultInfo));
}

cudaError_t impl_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph, unsigned long long flags)
{
	return impl_cudaGraphInstantiateWithFlags(pGraphExec, graph, flags);
}

/* --- user objects ----------------------------------------------------------------------------- */

cudaError_t impl_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr, cudaHostFn_t destroy,
				      unsigned int initialRefcount, unsigned int flags)
{
	return rt_error(DRIVER(cuUserObjectCreate)(object_out, ptr, (CUhostFn)destroy, initialRefcount, flags));
}

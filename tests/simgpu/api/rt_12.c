/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_12.c - the functions of libcudart.so.12 that CUDA 13 changed or dropped (runtime12.def), in terms of the new ones.
 *
 * Compiled against the headers of 13: the signatures are those of CUDA 12's cuda_runtime_api.h. Part of that library
 * only. Callable from any thread.
 */
#include "rt.h"

#include <string.h>

#define RUNTIME12(symbol, gate, streams, params, args) cudaError_t impl_in12_##symbol params;
#define RENAMED(symbol, streams, label)
#define UNSUPPORTED12(symbol, streams)
#include "runtime12.def"
#undef RUNTIME12
#undef RENAMED
#undef UNSUPPORTED12

/* --- devices ---------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct device_properties_12) == 1032, "as in CUDA 12");

/* Between the fields that 13 dropped, both have the same ones in the same order: each run is copied whole. */
#define RUNS(X)                                                  \
	X(name, maxGridSize)                                     \
	X(totalConstMem, texturePitchAlignment)                  \
	X(multiProcessorCount, multiProcessorCount)              \
	X(integrated, canMapHostMemory)                          \
	X(maxTexture1D, maxTexture1DMipmap)                      \
	X(maxTexture2D, unifiedAddressing)                       \
	X(memoryBusWidth, localL1CacheSupported)                 \
	X(sharedMemPerMultiprocessor, hostNativeAtomicSupported) \
	X(pageableMemoryAccess, cooperativeLaunch)               \
	X(sharedMemPerBlockOptin, unifiedFunctionPointers)

#define END_OF(type, field)          (offsetof(type, field) + sizeof(((type *)NULL)->field))
#define RUN_BYTES(type, first, last) (END_OF(type, last) - offsetof(type, first))
#define X(first, last)                                                        \
	_Static_assert(RUN_BYTES(struct device_properties_12, first, last) == \
			       RUN_BYTES(struct cudaDeviceProp, first, last), \
		       "the same fields");
RUNS(X)
#undef X

cudaError_t impl_in12_cudaGetDeviceProperties_v2(struct device_properties_12 *prop, int device)
{
	const struct {
		enum cudaDeviceAttr name;
		int *field;
	} dropped[] = {
		{ cudaDevAttrClockRate, &prop->clockRate },
		{ cudaDevAttrGpuOverlap, &prop->deviceOverlap },
		{ cudaDevAttrKernelExecTimeout, &prop->kernelExecTimeoutEnabled },
		{ cudaDevAttrComputeMode, &prop->computeMode },
		{ cudaDevAttrMemoryClockRate, &prop->memoryClockRate },
		{ cudaDevAttrSingleToDoublePrecisionPerfRatio, &prop->singleToDoublePrecisionPerfRatio },
	};
	struct cudaDeviceProp now;
	cudaError_t error;

	if (!prop)
		return cudaErrorInvalidValue;
	error = impl_cudaGetDeviceProperties(&now, device);
	memset(prop, 0, sizeof(*prop));
#define X(first, last) memcpy(&prop->first, &now.first, RUN_BYTES(struct cudaDeviceProp, first, last));
	RUNS(X)
#undef X
	for (size_t i = 0; error == cudaSuccess && i < sizeof(dropped) / sizeof(dropped[0]); i++)
		error = impl_cudaDeviceGetAttribute(dropped[i].field, dropped[i].name, device);
	return error;
}

/* The plain name is for programs of CUDA 11, whose structure ended earlier. */
cudaError_t impl_in12_cudaGetDeviceProperties(struct device_properties_12 *prop, int device)
{
	struct device_properties_12 now;
	cudaError_t error;

	if (!prop)
		return cudaErrorInvalidValue;
	error = impl_in12_cudaGetDeviceProperties_v2(&now, device);
	if (error == cudaSuccess)
		memcpy(prop, &now, END_OF(struct device_properties_12, reservedSharedMemPerBlock));
	return error;
}

cudaError_t impl_in12_cudaEventElapsedTime_v2(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return impl_cudaEventElapsedTime(ms, start, end);
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct cudaMemLocation location_of(int device)
{
	if (device == cudaCpuDeviceId)
		return (struct cudaMemLocation){ .type = cudaMemLocationTypeHost };
	return (struct cudaMemLocation){ .type = cudaMemLocationTypeDevice, .id = device };
}

cudaError_t impl_in12_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice, int device)
{
	return impl_cudaMemAdvise(devPtr, count, advice, location_of(device));
}

cudaError_t impl_in12_cudaMemPrefetchAsync(const void *devPtr, size_t count, int dstDevice, cudaStream_t stream)
{
	return impl_cudaMemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, stream);
}

/* --- graphs: no data on their edges ----------------------------------------------------------- */

cudaError_t impl_in12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
					       const cudaGraphNode_t *to, size_t numDependencies)
{
	return impl_cudaGraphAddDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t impl_in12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
						  const cudaGraphNode_t *to, size_t numDependencies)
{
	return impl_cudaGraphRemoveDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t impl_in12_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
				       const cudaGraphNode_t *pDependencies, size_t numDependencies,
				       struct cudaGraphNodeParams *nodeParams)
{
	return impl_cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies, nodeParams);
}

cudaError_t impl_in12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *numEdges)
{
	return impl_cudaGraphGetEdges(graph, from, to, NULL, numEdges);
}

cudaError_t impl_in12_cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t *pDependencies,
						   size_t *pNumDependencies)
{
	return impl_cudaGraphNodeGetDependencies(node, pDependencies, NULL, pNumDependencies);
}

cudaError_t impl_in12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t *pDependentNodes,
						     size_t *pNumDependentNodes)
{
	return impl_cudaGraphNodeGetDependentNodes(node, pDependentNodes, NULL, pNumDependentNodes);
}

cudaError_t impl_in12_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
					       unsigned long long *id_out)
{
	return impl_cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

cudaError_t impl_in12_cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
						  unsigned long long *id_out, cudaGraph_t *graph_out,
						  const cudaGraphNode_t **dependencies_out, size_t *numDependencies_out)
{
	return impl_cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
					     numDependencies_out);
}

cudaError_t impl_in12_cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t *dependencies,
							  size_t numDependencies, unsigned int flags)
{
	return impl_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies, flags);
}

/* --- gone in 13 ------------------------------------------------------------------------------- */

/* Devices have doubles; the conversion these once did is none. */
cudaError_t impl_in12_cudaSetDoubleForDevice(double *d)
{
	return cudaSuccess;
}

cudaError_t impl_in12_cudaSetDoubleForHost(double *d)
{
	return cudaSuccess;
}

cudaError_t impl_in12_cudaThreadExit(void)
{
	return impl_cudaDeviceReset();
}

cudaError_t impl_in12_cudaThreadGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	return impl_cudaDeviceGetCacheConfig(pCacheConfig);
}

cudaError_t impl_in12_cudaThreadGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return impl_cudaDeviceGetLimit(pValue, limit);
}

cudaError_t impl_in12_cudaThreadSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return impl_cudaDeviceSetCacheConfig(cacheConfig);
}

cudaError_t impl_in12_cudaThreadSetLimit(enum cudaLimit limit, size_t value)
{
	return impl_cudaDeviceSetLimit(limit, value);
}

cudaError_t impl_in12_cudaThreadSynchronize(void)
{
	return impl_cudaDeviceSynchronize();
}

/* --- a driver before 12.3: graphs whose edges have no data ------------------------------------ */

/* Name, the version before, parameters and arguments of the form asked for, where the data is, arguments of the old. */
#define OLD_FORMS(X)                                                                                              \
	X(cuGraphAddDependencies, 10000, 0,                                                                       \
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n), \
	  (graph, from, to, n))                                                                                   \
	X(cuGraphRemoveDependencies, 10000, 0,                                                                    \
	  (CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, const CUgraphEdgeData *data, size_t n), \
	  (graph, from, to, n))                                                                                   \
	X(cuGraphGetEdges, 10000, 0,                                                                              \
	  (CUgraph graph, CUgraphNode * from, CUgraphNode * to, CUgraphEdgeData * data, size_t * n),              \
	  (graph, from, to, n))                                                                                   \
	X(cuGraphNodeGetDependencies, 10000, 0,                                                                   \
	  (CUgraphNode node, CUgraphNode * nodes, CUgraphEdgeData * data, size_t * n), (node, nodes, n))          \
	X(cuGraphNodeGetDependentNodes, 10000, 0,                                                                 \
	  (CUgraphNode node, CUgraphNode * nodes, CUgraphEdgeData * data, size_t * n), (node, nodes, n))          \
	X(cuGraphAddNode, 12020, 0,                                                                               \
	  (CUgraphNode * node, CUgraph graph, const CUgraphNode *after, const CUgraphEdgeData *data, size_t n,    \
	   CUgraphNodeParams *params),                                                                            \
	  (node, graph, after, n, params))                                                                        \
	X(cuStreamGetCaptureInfo, 11030, 1,                                                                       \
	  (CUstream stream, CUstreamCaptureStatus * status, cuuint64_t * id, CUgraph * graph,                     \
	   const CUgraphNode **nodes, const CUgraphEdgeData **data, size_t *n),                                   \
	  (stream, status, id, graph, nodes, n))                                                                  \
	X(cuStreamUpdateCaptureDependencies, 11030, 1,                                                            \
	  (CUstream stream, CUgraphNode * nodes, const CUgraphEdgeData *data, size_t n, unsigned int flags),      \
	  (stream, nodes, n, flags))

/* Data cannot be given or asked for; everything else goes to the form the driver has, [1] of which is per thread. */
#define X(name, version, has_twin, params, args)                                                                     \
	static PFN_##name##_v##version old_##name[2];                                                                \
	static CUresult new_##name params                                                                            \
	{                                                                                                            \
		return data ? CUDA_ERROR_NOT_SUPPORTED : old_##name[rt_thread()->default_stream_is_per_thread] args; \
	}
OLD_FORMS(X)
#undef X

static bool old_find(PFN_cuGetProcAddress_v12000 get, const char *name, int version, bool has_twin, void *ret_forms)
{
	static const cuuint64_t flags[2] = { CU_GET_PROC_ADDRESS_DEFAULT,
					     CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
	CUdriverProcAddressQueryResult status;
	void *forms[2];

	for (int i = 0; i < 2; i++) {
		if (get(name, &forms[i], version, flags[has_twin ? i : 0], &status) != CUDA_SUCCESS || !forms[i])
			return false;
	}
	memcpy(ret_forms, forms, sizeof(forms));
	return true;
}

void rt_12_use_old_forms(PFN_cuGetProcAddress_v12000 get)
{
#define X(name, version, has_twin, params, args)                 \
	if (old_find(get, #name, version, has_twin, old_##name)) \
		driver_functions.name[0] = driver_functions.name[1] = new_##name;
	OLD_FORMS(X)
#undef X
}

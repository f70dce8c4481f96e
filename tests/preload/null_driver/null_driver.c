/* SPDX-License-Identifier: Apache-2.0
 *
 * null_driver.c - a libcuda.so.1 that does nothing at once, so that what a launch costs is what the library adds.
 * Function handle 2 is of a module without a warpspan_ctx, 1 of one with it; from 0x1000 on each ten are of another
 * module with it. For bench_launch.c and race_launch.c.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include "warpspan_format.h"

#include <stdlib.h>
#include <string.h>

#define BARE          2u
#define FIRST         0x1000u
#define CTX_ADDRESS   0x70000000ull
#define CTX_ADDRESSES 0x1000000ull

#define NOTHING(name, ...)                                                \
	__attribute__((visibility("default"))) CUresult name(__VA_ARGS__) \
	{                                                                 \
		return CUDA_SUCCESS;                                      \
	}
#define DEFINE(name, ...) __attribute__((visibility("default"))) CUresult name(__VA_ARGS__)

NOTHING(cuInit, unsigned int flags)
NOTHING(cuDeviceGetAttribute, int *value, CUdevice_attribute attribute, CUdevice device)
NOTHING(cuDeviceGetName, char *name, int bytes, CUdevice device)
NOTHING(cuDeviceGetUuid_v2, CUuuid *uuid, CUdevice device)
NOTHING(cuDeviceTotalMem_v2, size_t *bytes, CUdevice device)
NOTHING(cuDriverGetVersion, int *version)
NOTHING(cuGetErrorName, CUresult error, const char **name)
NOTHING(cuDevicePrimaryCtxGetState, CUdevice device, unsigned int *flags, int *active)
NOTHING(cuCtxSetCurrent, CUcontext context)
NOTHING(cuCtxSynchronize, void)
NOTHING(cuThreadExchangeStreamCaptureMode, CUstreamCaptureMode *mode)
NOTHING(cuStreamDestroy_v2, CUstream stream)
NOTHING(cuStreamSynchronize, CUstream stream)
NOTHING(cuMemFree_v2, CUdeviceptr address)
NOTHING(cuMemFreeHost, void *memory)
NOTHING(cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
NOTHING(cuMemsetD8Async, CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream)
NOTHING(cuFuncGetAttribute, int *value, CUfunction_attribute attribute, CUfunction function)
NOTHING(cuModuleUnload, CUmodule module)
NOTHING(cuStreamBeginCapture_v2, CUstream stream, CUstreamCaptureMode mode)
NOTHING(cuStreamEndCapture, CUstream stream, CUgraph *graph)
NOTHING(cuGraphLaunch, CUgraphExec exec, CUstream stream)
NOTHING(cuMemcpyHtoD_v2, CUdeviceptr to, const void *from, size_t bytes)
NOTHING(cuLaunchKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int threads_x, unsigned int threads_y, unsigned int threads_z, unsigned int shared_bytes,
	CUstream stream, void **parameters, void **extra)

NOTHING(cuLaunchKernelEx, const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
NOTHING(cuLaunchKernelEx_ptsz, const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
NOTHING(cuLaunchCooperativeKernel, CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
	unsigned int threads_x, unsigned int threads_y, unsigned int threads_z, unsigned int shared_bytes,
	CUstream stream, void **parameters)
NOTHING(cuLaunchGrid, CUfunction function, int grid_x, int grid_y)
NOTHING(cuMemcpy2D_v2, const CUDA_MEMCPY2D *copy)
NOTHING(cuGraphExecUpdate_v2, CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo *update)
NOTHING(cuGraphExecKernelNodeSetParams_v2, CUgraphExec exec, CUgraphNode node,
	const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
NOTHING(cuGraphNodeSetEnabled, CUgraphExec exec, CUgraphNode node, unsigned int enabled)
NOTHING(cuGraphExecDestroy, CUgraphExec exec)

/* The executable of a graph has its handle; every graph has one node, a kernel. */
DEFINE(cuGraphInstantiateWithFlags, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	*exec = (CUgraphExec)graph;
	return CUDA_SUCCESS;
}

DEFINE(cuGraphGetNodes, CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	if (nodes != NULL && *n > 0)
		nodes[0] = (CUgraphNode)graph;
	*n = 1;
	return CUDA_SUCCESS;
}

DEFINE(cuGraphNodeGetType, CUgraphNode node, CUgraphNodeType *type)
{
	*type = CU_GRAPH_NODE_TYPE_KERNEL;
	return CUDA_SUCCESS;
}

DEFINE(cuGraphKernelNodeGetParams_v2, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	*parameters = (CUDA_KERNEL_NODE_PARAMS_v2){ .func = (CUfunction)FIRST, .gridDimX = 1, .blockDimX = 32 };
	return CUDA_SUCCESS;
}

DEFINE(cuCtxGetCurrent, CUcontext *context)
{
	*context = (CUcontext)0x10;
	return CUDA_SUCCESS;
}

DEFINE(cuCtxGetDevice, CUdevice *device)
{
	*device = 0;
	return CUDA_SUCCESS;
}

DEFINE(cuStreamCreate, CUstream *stream, unsigned int flags)
{
	*stream = (CUstream)0x20;
	return CUDA_SUCCESS;
}

DEFINE(cuStreamIsCapturing, CUstream stream, CUstreamCaptureStatus *status)
{
	*status = CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

DEFINE(cuMemAlloc_v2, CUdeviceptr *address, size_t bytes)
{
	*address = 0x100000;
	return CUDA_SUCCESS;
}

DEFINE(cuMemHostAlloc, void **memory, size_t bytes, unsigned int flags)
{
	*memory = calloc(1, bytes);
	return *memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

DEFINE(cuMemcpyDtoHAsync_v2, void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	const struct warpspan_ctx ctx = { .magic = WARPSPAN_CTX_MAGIC,
					  .abi = WARPSPAN_ABI_VERSION,
					  .ctx_bytes = sizeof(ctx) };

	memset(to, 0, bytes);
	if (from >= CTX_ADDRESS && from < CTX_ADDRESS + CTX_ADDRESSES)
		memcpy(to, &ctx, sizeof(ctx));
	return CUDA_SUCCESS;
}

DEFINE(cuFuncGetModule, CUmodule *module, CUfunction function)
{
	const uintptr_t handle = (uintptr_t)function;

	*module = (CUmodule)(handle < FIRST ? handle : FIRST + (handle - FIRST) / 10);
	return CUDA_SUCCESS;
}

DEFINE(cuModuleGetGlobal_v2, CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	if (module == (CUmodule)BARE)
		return CUDA_ERROR_NOT_FOUND;
	*address = CTX_ADDRESS + 0x100 * (uintptr_t)module;
	*bytes = sizeof(struct warpspan_ctx);
	return CUDA_SUCCESS;
}

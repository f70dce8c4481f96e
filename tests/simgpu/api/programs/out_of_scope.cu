// SPDX-License-Identifier: Apache-2.0
// What simgpu does not have is refused with the code for that, and the rest of the program goes on.
#include "check.h"

#include <cuda.h>

template <typename F> static F driver(const char *name)
{
	cudaDriverEntryPointQueryResult status;
	void *function = NULL;

	OK(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &status));
	CHECK(function);
	return (F)function;
}

static const char launches_itself[] =
	".version 8.0\n.target sm_80\n.address_size 64\n"
	".extern .func (.param .b64 r) __cudaCDP2GetParameterBufferV2 (.param .b64 f);\n"
	".visible .entry parent()\n{\n"
	"\t{ .param .b64 f; .param .b64 r; call (r), __cudaCDP2GetParameterBufferV2, (f); }\n"
	"\tret;\n}\n";

__global__ void one(int *to)
{
	*to = 1;
}

int main()
{
	cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
	cudaGraphConditionalHandle condition;
	cudaIpcMemHandle_t shared;
	cudaSurfaceObject_t surface;
	cudaTextureObject_t texture;
	cudaTextureDesc texture_form = {};
	cudaResourceDesc resource = {};
	cudaArray_t array;
	cudaGraph_t graph;
	cudaLibrary_t library;
	CUmemGenericAllocationHandle allocation;
	CUmemAllocationProp properties = {};
	int *memory, value;

	OK(cudaMalloc(&memory, sizeof(int)));
	OK(cudaGraphCreate(&graph, 0));
	CHECK_EQUAL(cudaMallocArray(&array, &format, 8, 8, 0), cudaErrorNotSupported);
	CHECK_EQUAL(cudaCreateTextureObject(&texture, &resource, &texture_form, NULL), cudaErrorNotSupported);
	CHECK_EQUAL(cudaCreateSurfaceObject(&surface, &resource), cudaErrorNotSupported);
	CHECK_EQUAL(cudaIpcGetMemHandle(&shared, memory), cudaErrorNotSupported);
	CHECK_EQUAL(cudaGraphConditionalHandleCreate(&condition, graph, 0, 0), cudaErrorNotSupported);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorNotSupported);
	CHECK_EQUAL(driver<decltype(&cuMemCreate)>("cuMemCreate")(&allocation, 1 << 21, &properties, 0),
		    CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(driver<decltype(&cuStreamWriteValue32)>("cuStreamWriteValue32")(NULL, (CUdeviceptr)memory, 1, 0),
		    CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQUAL(cudaLibraryLoadData(&library, launches_itself, NULL, NULL, 0, NULL, NULL, 0), cudaErrorInvalidPtx);
	cudaGetLastError();

	one<<<1, 1>>>(memory);
	OK(cudaMemcpy(&value, memory, sizeof(value), cudaMemcpyDeviceToHost));
	CHECK_EQUAL(value, 1);
	OK(cudaGraphDestroy(graph));
	return 0;
}

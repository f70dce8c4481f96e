/* SPDX-License-Identifier: Apache-2.0
 *
 * test_driver.c - the driver API as a program linked with libcuda uses it: PTX text, both forms of parameters,
 * libraries, cuGetProcAddress, handles that are none.
 *
 * No device code of nvcc: runs wherever simgpu builds. Linked with the plain header, so its names are the newest.
 */
#include "support.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each thread stores value + its index. */
static const char ptx[] = ".version 8.0\n"
			  ".target sm_80\n"
			  ".address_size 64\n"
			  ".visible .global .align 4 .u32 marker = 77;\n"
			  ".visible .entry fill(.param .u64 to, .param .u32 value)\n"
			  "{\n"
			  "	.reg .b32 %r<8>;\n"
			  "	.reg .b64 %rd<5>;\n"
			  "	ld.param.u64 %rd1, [to];\n"
			  "	ld.param.u32 %r1, [value];\n"
			  "	cvta.to.global.u64 %rd2, %rd1;\n"
			  "	mov.u32 %r2, %ctaid.x;\n"
			  "	mov.u32 %r3, %ntid.x;\n"
			  "	mov.u32 %r4, %tid.x;\n"
			  "	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
			  "	mul.wide.u32 %rd3, %r5, 4;\n"
			  "	add.s64 %rd4, %rd2, %rd3;\n"
			  "	add.s32 %r6, %r1, %r5;\n"
			  "	st.global.u32 [%rd4], %r6;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry idle()\n"
			  "{\n"
			  "	ret;\n"
			  "}\n";

static CUdevice device;
static CUcontext context;
static CUmodule module;
static CUfunction fill;
static CUdeviceptr buffer;

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

static void expect(unsigned int index, unsigned int value)
{
	unsigned int host[64];

	OK(cuMemcpyDtoH(host, buffer, sizeof(host)));
	assert_int_equal(host[index], value);
}

static int before_all(void **state)
{
	assert_int_equal(cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	OK(cuInit(0));
	OK(cuDeviceGet(&device, 0));
	assert_int_equal(cuMemAlloc(&buffer, 4), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	OK(cuMemAlloc(&buffer, 256));
	return 0;
}

/* --- launches --------------------------------------------------------------------------------- */

static void pointers_and_buffer_carry_the_same_parameters(void **state)
{
	struct {
		CUdeviceptr to;
		unsigned int value;
	} block = { buffer, 200 };
	unsigned int value = 100;
	size_t bytes = sizeof(block), short_bytes = 8;
	void *pointers[] = { &buffer, &value };
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = {
		.gridDimX = 2, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1
	};

	OK(cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, pointers, NULL));
	expect(63, 163);
	OK(cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
	expect(63, 263);
	block.value = 300;
	OK(cuLaunchKernelEx(&config, fill, NULL, extra));
	expect(63, 363);
	value = 400;
	OK(cuLaunchCooperativeKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, pointers));
	expect(63, 463);

	assert_int_equal(cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, pointers, extra), CUDA_ERROR_INVALID_VALUE);
	extra[3] = &short_bytes;
	assert_int_equal(cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, NULL, NULL, extra), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernelEx(NULL, fill, pointers, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_library_serves_every_context(void **state)
{
	CUlibrary library, of_kernel;
	CUkernel kernel;
	CUfunction function;
	CUmodule of_function;
	CUcontext other;
	CUdeviceptr global, other_global;
	const char *name;
	size_t offset, bytes;
	unsigned int value = 500, n;
	void *pointers[] = { &buffer, &value };

	OK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
	OK(cuLibraryGetKernelCount(&n, library));
	assert_int_equal(n, 2);
	assert_int_equal(cuLibraryGetKernel(&kernel, library, "none"), CUDA_ERROR_NOT_FOUND);
	OK(cuLibraryGetKernel(&kernel, library, "fill"));
	OK(cuKernelGetName(&name, kernel));
	assert_string_equal(name, "fill");
	OK(cuKernelGetLibrary(&of_kernel, kernel));
	assert_ptr_equal(of_kernel, library);
	OK(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
	assert_int_equal(offset, 8);
	assert_int_equal(bytes, 4);
	assert_int_equal(cuKernelGetParamInfo(kernel, 2, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);

	/* A kernel is launched as it is, or through the function it has in the context. */
	OK(cuLaunchKernel((CUfunction)kernel, 2, 1, 1, 32, 1, 1, 0, NULL, pointers, NULL));
	expect(1, 501);
	OK(cuKernelGetFunction(&function, kernel));
	assert_ptr_not_equal((void *)function, (void *)kernel);
	OK(cuFuncGetName(&name, function));
	assert_string_equal(name, "fill");
	OK(cuFuncGetModule(&of_function, function));
	OK(cuModuleGetGlobal(&global, &bytes, of_function, "marker"));
	assert_int_equal(cuModuleUnload(of_function), CUDA_ERROR_NOT_PERMITTED);
	OK(cuLibraryGetGlobal(&other_global, NULL, library, "marker"));
	assert_int_equal(global, other_global);

	/* Elsewhere it has another function and other variables. */
	OK(cuCtxCreate(&other, NULL, 0, device));
	assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL),
			 CUDA_ERROR_INVALID_CONTEXT);
	OK(cuLibraryGetGlobal(&other_global, NULL, library, "marker"));
	assert_int_not_equal(global, other_global);
	OK(cuMemcpyDtoH(&n, other_global, sizeof(n)));
	assert_int_equal(n, 77);
	OK(cuCtxDestroy(other));

	OK(cuLibraryUnload(library));
	assert_int_equal(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL),
			 CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuFuncGetModule(&of_function, function), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

static void modules_are_enumerated_and_unloaded(void **state)
{
	CUmodule loaded;
	CUfunction functions[2], idle;
	CUdeviceptr address;
	unsigned int n;
	size_t bytes;

	OK(cuModuleLoadDataEx(&loaded, ptx, 0, NULL, NULL));
	OK(cuModuleGetFunctionCount(&n, loaded));
	assert_int_equal(n, 2);
	OK(cuModuleEnumerateFunctions(functions, 2, loaded));
	OK(cuModuleGetFunction(&idle, loaded, "idle"));
	assert_true(functions[0] == idle || functions[1] == idle);
	OK(cuLaunchKernel(idle, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	OK(cuModuleGetGlobal(&address, &bytes, loaded, "marker"));
	assert_int_equal(bytes, 4);
	OK(cuModuleGetGlobal(NULL, &bytes, loaded, "marker"));
	assert_int_equal(cuModuleGetGlobal(&address, &bytes, loaded, "fill"), CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuModuleGetGlobal(NULL, NULL, loaded, "marker"), CUDA_ERROR_INVALID_VALUE);
	OK(cuModuleUnload(loaded));
	assert_int_equal(cuModuleGetFunction(&idle, loaded, "idle"), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuMemcpyDtoH(&n, address, 4), CUDA_ERROR_INVALID_VALUE);
}

static void bad_code_is_refused_with_a_reason(void **state)
{
	static const char broken[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { bogus.u32 %r1; }\n";
	static const char elf[] = "\x7F"
				  "ELF\2\1\1";
	char log[512] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	CUmodule loaded = NULL;

	assert_int_equal(cuModuleLoadDataEx(&loaded, broken, 2, options, values), CUDA_ERROR_INVALID_PTX);
	assert_null(loaded);
	assert_non_null(strstr(log, "line 4"));
	assert_int_equal(cuModuleLoadData(&loaded, elf), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuModuleLoadData(&loaded, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuModuleLoad(&loaded, "/nonexistent.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
}

/* --- handles ---------------------------------------------------------------------------------- */

static void what_is_no_handle_is_refused(void **state)
{
	void *nonsense[] = { NULL, (void *)0x3, (void *)0x123456789, &state };
	unsigned int count;
	CUevent event;
	CUdeviceptr address;
	float ms;

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		void *n = nonsense[i];

		assert_int_equal(cuModuleGetFunctionCount(&count, n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuModuleUnload(n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuLaunchKernel(n, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuEventQuery(n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuEventDestroy(n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuLibraryUnload(n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuStreamDestroy(n), CUDA_ERROR_INVALID_HANDLE);
		assert_int_equal(cuCtxDestroy(n), CUDA_ERROR_INVALID_CONTEXT);
		if (n)
			assert_int_equal(cuStreamQuery(n), CUDA_ERROR_INVALID_HANDLE);
	}
	/* Of another kind. */
	OK(cuEventCreate(&event, 0));
	assert_int_equal(cuStreamSynchronize((CUstream)event), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuModuleUnload((CUmodule)fill), CUDA_ERROR_INVALID_HANDLE);
	assert_int_equal(cuEventElapsedTime(&ms, event, event), CUDA_ERROR_INVALID_HANDLE);
	OK(cuEventDestroy(event));

	assert_int_equal(cuMemAlloc(NULL, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAlloc(&address, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemFree(buffer + 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyHtoD(buffer + 250, &address, 8), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD32(buffer + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCtxGetCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGetName(NULL, 3, device), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGet(&device, 5), CUDA_ERROR_INVALID_DEVICE);
}

static void graphs_take_every_form_of_a_kernel(void **state)
{
	unsigned int value = 500;
	void *pointers[] = { &buffer, &value };
	CUDA_KERNEL_NODE_PARAMS params = { .func = fill,
					   .gridDimX = 2,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = pointers };
	CUDA_KERNEL_NODE_PARAMS got;
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL };
	CUresult (*add_old)(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const CUDA_KERNEL_NODE_PARAMS_v1 *);
	CUdriverProcAddressQueryResult status;
	CUgraphNode first, second, third;
	CUgraph graph;
	CUgraphExec exec;
	CUstream stream;

	OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphAddKernelNode(&first, graph, NULL, 0, &params));
	value = 600;
	OK(cuGetProcAddress("cuGraphAddKernelNode", (void **)&add_old, 10000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
	OK(add_old(&second, graph, &first, 1, (const CUDA_KERNEL_NODE_PARAMS_v1 *)&params));
	value = 700;
	memcpy(&any.kernel, &params, sizeof(params));
	OK(cuGraphAddNode(&third, graph, &second, NULL, 1, &any));
	OK(cuGraphKernelNodeGetParams(third, &got));
	assert_ptr_equal(got.func, fill);
	assert_ptr_equal(got.ctx, context);
	assert_int_equal(*(unsigned int *)got.kernelParams[1], 700);
	OK(cuGraphInstantiate(&exec, graph, 0));
	OK(cuGraphLaunch(exec, stream));
	OK(cuStreamSynchronize(stream));
	expect(63, 763);

	/* The name means another function since 12.0. */
	OK(cuGetProcAddress("cuGraphInstantiate", (void **)&add_old, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
	assert_ptr_equal(add_old, cuGraphInstantiateWithFlags);

	assert_int_equal(cuGraphAddKernelNode(&first, NULL, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphAddKernelNode(&first, (CUgraph)exec, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphAddKernelNode(NULL, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphAddKernelNode(&first, graph, (CUgraphNode *)&graph, 1, &params),
			 CUDA_ERROR_INVALID_VALUE);
	params.func = (CUfunction)context;
	assert_int_equal(cuGraphAddKernelNode(&first, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE);
	params.func = fill;
	params.blockDimX = 4096;
	assert_int_equal(cuGraphAddKernelNode(&first, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
	any.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
	assert_int_equal(cuGraphAddNode(&first, graph, NULL, NULL, 0, &any), CUDA_ERROR_NOT_SUPPORTED);
	OK(cuGraphExecDestroy(exec));
	assert_int_equal(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE);
	OK(cuGraphDestroy(graph));
	assert_int_equal(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
	OK(cuStreamDestroy(stream));
}

static void count_down(void *counter)
{
	--*(int *)counter;
}

static void user_objects_live_as_long_as_their_graphs(void **state)
{
	int n_alive = 1;
	CUuserObject object;
	CUgraph graph, clone;

	OK(cuUserObjectCreate(&object, &n_alive, count_down, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
	OK(cuGraphCreate(&graph, 0));
	OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
	OK(cuGraphClone(&clone, graph));
	OK(cuGraphDestroy(graph));
	assert_int_equal(n_alive, 1);
	OK(cuGraphDestroy(clone));
	assert_int_equal(n_alive, 0);
	assert_int_equal(cuUserObjectRelease(object, 1), CUDA_ERROR_INVALID_VALUE);
}

/* --- linking ---------------------------------------------------------------------------------- */

static const char ptx_caller[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				 ".extern .func (.param .b32 r) seven();\n"
				 ".visible .entry call(.param .u64 to)\n{\n"
				 "	.reg .b32 %r<2>;\n	.reg .b64 %rd<2>;\n"
				 "	ld.param.u64 %rd1, [to];\n"
				 "	{\n	.param .b32 result;\n	call.uni (result), seven, ();\n"
				 "	ld.param.b32 %r1, [result];\n	}\n"
				 "	st.global.u32 [%rd1], %r1;\n	ret;\n}\n";
static const char ptx_callee[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
				 ".visible .func (.param .b32 r) seven()\n{\n	.reg .b32 %r<2>;\n"
				 "	mov.u32 %r1, 7;\n	st.param.b32 [r], %r1;\n	ret;\n}\n";

static void add_text(CUlinkState link, const char *text, const char *name)
{
	OK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, name, 0, NULL, NULL));
}

static void texts_are_linked_at_run_time(void **state)
{
	char log[256] = "before";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	void *pointers[] = { &buffer };
	CUmodule linked;
	CUfunction call;
	CUlinkState link;
	void *image;
	size_t bytes;

	OK(cuLinkCreate(0, NULL, NULL, &link));
	add_text(link, ptx_caller, "caller.ptx");
	add_text(link, ptx_callee, "callee.ptx");
	OK(cuLinkComplete(link, &image, &bytes));
	OK(cuModuleLoadData(&linked, image));
	OK(cuLinkDestroy(link));
	assert_int_equal(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
	OK(cuModuleGetFunction(&call, linked, "call"));
	OK(cuLaunchKernel(call, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
	expect(0, 7);
	OK(cuModuleUnload(linked));

	/* The same twice: the log names it, and its size is what was written. */
	OK(cuLinkCreate(2, options, values, &link));
	add_text(link, ptx_callee, "one.ptx");
	add_text(link, ptx_callee, "two.ptx");
	assert_int_equal(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_IMAGE);
	assert_string_equal(log, "'seven' is defined in one.ptx and in two.ptx");
	assert_int_equal((size_t)values[1], strlen(log) + 1);
	OK(cuLinkDestroy(link));

	/* What nobody defines is found at the end. */
	values[1] = (void *)sizeof(log);
	OK(cuLinkCreate(2, options, values, &link));
	add_text(link, ptx_caller, "caller.ptx");
	assert_int_equal(cuLinkComplete(link, &image, &bytes), CUDA_ERROR_INVALID_PTX);
	assert_non_null(strstr(log, "seven"));
	assert_int_equal(cuLinkAddData(link, CU_JIT_INPUT_CUBIN, log, 1, "x", 0, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuLinkDestroy(link));
}

/* --- contexts --------------------------------------------------------------------------------- */

static void contexts_stack_and_reset(void **state)
{
	CUcontext other, current;
	unsigned long long id, id_after, other_id;
	unsigned int flags;
	int active;
	CUdeviceptr address;

	OK(cuCtxGetId(context, &id));
	OK(cuCtxCreate(&other, NULL, 0, device));
	OK(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, other);
	OK(cuCtxGetId(other, &other_id));
	assert_int_not_equal(id, other_id);
	OK(cuMemAlloc(&address, 16));
	OK(cuCtxPopCurrent(&current));
	assert_ptr_equal(current, other);
	OK(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, context);
	OK(cuCtxPushCurrent(other));
	OK(cuCtxDestroy(other));
	OK(cuCtxGetCurrent(&current));
	assert_ptr_equal(current, context);
	assert_int_equal(cuCtxPushCurrent(other), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuMemsetD8(address, 0, 16), CUDA_ERROR_INVALID_VALUE);

	OK(cuDevicePrimaryCtxReset(device));
	OK(cuDevicePrimaryCtxGetState(device, &flags, &active));
	assert_int_equal(active, 1);
	OK(cuCtxGetId(context, &id_after));
	assert_int_not_equal(id, id_after);
	assert_int_equal(cuFuncGetModule(&module, fill), CUDA_ERROR_INVALID_HANDLE);
	OK(cuDevicePrimaryCtxRelease(device));
	assert_int_equal(cuDevicePrimaryCtxRelease(device), CUDA_ERROR_INVALID_CONTEXT);
	assert_int_equal(cuMemAlloc(&address, 16), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuDevicePrimaryCtxRetain(&context, device));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, ptx));
	OK(cuModuleGetFunction(&fill, module, "fill"));
	OK(cuMemAlloc(&buffer, 256));
}

/* A fault poisons the context it happened in, and no other. */
static void a_fault_stays_in_its_context(void **state)
{
	CUcontext other;
	CUmodule elsewhere;
	CUfunction function;
	CUdeviceptr nowhere = 0x100, address;
	unsigned int value = 1;
	CUstreamCaptureStatus capture;
	void *pointers[] = { &nowhere, &value };

	OK(cuCtxCreate(&other, NULL, 0, device));
	OK(cuModuleLoadData(&elsewhere, ptx));
	OK(cuModuleGetFunction(&function, elsewhere, "fill"));
	OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuMemAlloc(&address, 16), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuStreamIsCapturing(NULL, &capture), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, pointers, NULL),
			 CUDA_ERROR_ILLEGAL_ADDRESS);
	OK(cuCtxPushCurrent(context));
	OK(cuMemAlloc(&address, 16));
	OK(cuMemFree(address));
	OK(cuCtxPopCurrent(NULL));
	OK(cuCtxDestroy(other));
	OK(cuCtxSynchronize());
}

/* --- memory ----------------------------------------------------------------------------------- */

static void pointers_know_what_they_are(void **state)
{
	unsigned int type;
	CUdeviceptr start, managed;
	size_t bytes;
	void *host;
	int ordinal;
	CUpointer_attribute names[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	void *values[] = { &type, &ordinal };

	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer + 10));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	OK(cuMemGetAddressRange(&start, &bytes, buffer + 10));
	assert_int_equal(start, buffer);
	assert_int_equal(bytes, 256);
	OK(cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP));
	OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)host));
	assert_int_equal(type, CU_MEMORYTYPE_HOST);
	OK(cuMemHostGetDevicePointer(&start, host, 0));
	OK(cuMemsetD16(start, 0x1234, 32));
	OK(cuCtxSynchronize());
	assert_int_equal(((unsigned short *)host)[31], 0x1234);
	OK(cuMemFreeHost(host));
	OK(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_IS_MANAGED, managed));
	assert_int_equal(ordinal, 1);
	OK(cuMemFree(managed));
	assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)&type),
			 CUDA_ERROR_INVALID_VALUE);
	OK(cuPointerGetAttributes(2, names, values, (CUdeviceptr)&type));
	assert_int_equal(type, 0);
	assert_int_equal(ordinal, -2);
}

static void host_memory_is_registered_once(void **state)
{
	unsigned int *host = aligned_alloc(4096, 4096), value = 9;
	void *pointers[] = { &host, &value };

	assert_non_null(host);
	OK(cuMemHostRegister(host, 4096, 0));
	assert_int_equal(cuMemHostRegister(host, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	OK(cuLaunchKernel(fill, 1, 1, 1, 4, 1, 1, 0, NULL, pointers, NULL));
	OK(cuStreamSynchronize(NULL));
	assert_int_equal(host[3], 12);
	OK(cuMemHostUnregister(host));
	assert_int_equal(cuMemHostUnregister(host), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	free(host);
}

static void a_pageable_source_is_taken_before_the_call_returns(void **state)
{
	unsigned int host = 4711;

	OK(cuMemcpyHtoDAsync(buffer, &host, sizeof(host), CU_STREAM_PER_THREAD));
	host = 0;
	OK(cuMemcpyDtoHAsync(&host, buffer, sizeof(host), CU_STREAM_PER_THREAD));
	assert_int_equal(host, 4711);
}

static void rectangles_keep_to_their_rows(void **state)
{
	char from[4][8], to[4][8];
	CUDA_MEMCPY2D copy = {
		.srcMemoryType = CU_MEMORYTYPE_HOST,
		.srcHost = from,
		.srcPitch = 8,
		.srcXInBytes = 1,
		.srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE,
		.dstDevice = buffer,
		.dstPitch = 16,
		.WidthInBytes = 3,
		.Height = 2,
	};

	for (int i = 0; i < 32; i++)
		from[i / 8][i % 8] = (char)(i + 1);
	memset(to, 0, sizeof(to));
	OK(cuMemcpy2D(&copy));
	copy = (CUDA_MEMCPY2D){
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
		.srcDevice = buffer,
		.srcPitch = 16,
		.dstMemoryType = CU_MEMORYTYPE_HOST,
		.dstHost = to,
		.dstPitch = 8,
		.dstY = 2,
		.WidthInBytes = 3,
		.Height = 2,
	};
	OK(cuMemcpy2DAsync(&copy, NULL));
	assert_int_equal(to[2][0], from[1][1]);
	assert_int_equal(to[3][2], from[2][3]);
	assert_int_equal(to[1][0], 0);
	assert_int_equal(to[2][3], 0);
	copy.srcPitch = 2;
	assert_int_equal(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
	copy.srcPitch = 1000;
	assert_int_equal(cuMemcpy2D(&copy), CUDA_ERROR_INVALID_VALUE);
}

/* --- cuGetProcAddress ------------------------------------------------------------------------- */

static void proc_addresses_follow_version_and_flags(void **state)
{
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	PFN_cuGetProcAddress_v11030 old_get;
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
	void *function;

	assert_non_null(self);
	OK(cuGetProcAddress("cuMemAlloc", &function, 12000, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuMemAlloc_v2"));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
	OK(cuGetProcAddress("cuMemAlloc", &function, 2000, 0, NULL));
	assert_ptr_equal(function, dlsym(self, "cuMemAlloc"));
	OK(cuGetProcAddress("cuCtxCreate", &function, 12000, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuCtxCreate_v3"));
	OK(cuGetProcAddress("cuCtxCreate", &function, 13000, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuCtxCreate_v4"));

	OK(cuGetProcAddress("cuLaunchKernel", &function, 4000, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuLaunchKernel"));
	OK(cuGetProcAddress("cuLaunchKernel", &function, 7000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status));
	assert_ptr_equal(function, dlsym(self, "cuLaunchKernel"));
	OK(cuGetProcAddress("cuLaunchKernel", &function, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	assert_ptr_equal(function, dlsym(self, "cuLaunchKernel_ptsz"));
	OK(cuGetProcAddress("cuMemcpyHtoD", &function, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	assert_ptr_equal(function, dlsym(self, "cuMemcpyHtoD_v2_ptds"));
	OK(cuGetProcAddress("cuInit", &function, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status));
	assert_ptr_equal(function, dlsym(self, "cuInit"));

	/* It finds itself, in the form of the version asked for. */
	OK(cuGetProcAddress("cuGetProcAddress", &function, 12000, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuGetProcAddress_v2"));
	OK(cuGetProcAddress("cuGetProcAddress", &function, 11030, 0, &status));
	assert_ptr_equal(function, dlsym(self, "cuGetProcAddress"));
	memcpy(&old_get, &function, sizeof(old_get));
	OK(old_get("cuInit", &function, 11030, 0));
	assert_int_equal(old_get("cuNothing", &function, 11030, 0), CUDA_ERROR_NOT_FOUND);

	/* What is not there is no error, but a status. */
	function = self;
	OK(cuGetProcAddress("cuNothing", &function, 12000, 0, &status));
	assert_null(function);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress("cuLibraryLoadData", &function, 11000, 0, &status));
	assert_null(function);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	OK(cuGetProcAddress("", &function, 0, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	OK(cuGetProcAddress("cuMemAlloc_v2", &function, 12000, 0, &status));
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_int_equal(cuGetProcAddress(NULL, &function, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress("cuInit", NULL, 12000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress("cuInit", &function, 99000, 0, &status), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGetProcAddress("cuInit", &function, 12000, 7, &status), CUDA_ERROR_INVALID_VALUE);
	dlclose(self);
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Ends with what went wrong, or NULL. */
static void *launch_often(void *argument)
{
	unsigned int value = 1;
	CUdeviceptr to;
	CUstream stream;
	void *pointers[] = { &to, &value };

	if (cuCtxSetCurrent(context) != CUDA_SUCCESS || cuStreamCreate(&stream, CU_STREAM_DEFAULT) != CUDA_SUCCESS ||
	    cuMemAlloc(&to, 256) != CUDA_SUCCESS)
		return (void *)"set-up";
	for (int i = 0; i < 200; i++) {
		unsigned int host = 0;

		value = (unsigned int)i;
		if (cuLaunchKernel(fill, 2, 1, 1, 32, 1, 1, 0, i % 3 ? stream : NULL, pointers, NULL) != CUDA_SUCCESS)
			return (void *)"launch";
		if (i % 10 == 0 && (cuStreamSynchronize(i % 3 ? stream : NULL) != CUDA_SUCCESS ||
				    cuMemcpyDtoH(&host, to, 4) != CUDA_SUCCESS || host != (unsigned int)i))
			return (void *)"result";
	}
	return cuStreamDestroy(stream) == CUDA_SUCCESS && cuMemFree(to) == CUDA_SUCCESS ? NULL : (void *)"end";
}

static void threads_share_a_context(void **state)
{
	pthread_t threads[4];
	void *failure;

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch_often, NULL), 0);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &failure);
		if (failure)
			fail_msg("a thread failed at: %s", (const char *)failure);
	}
}

/* A signal sent to the process must find one of the program's threads, never a worker. */
static void workers_block_every_signal(void **state)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	int n_workers = 0;

	OK(cuMemsetD8(buffer, 0, 4));
	OK(cuCtxSynchronize());
	assert_non_null(tasks);
	while ((entry = readdir(tasks))) {
		char path[300], line[256];
		unsigned long long blocked = 0;
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == getpid())
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "r");
		if (!file) /* it has ended meanwhile */
			continue;
		while (fgets(line, sizeof(line), file))
			sscanf(line, "SigBlk: %llx", &blocked);
		fclose(file);
		assert_true(blocked & 1ULL << (SIGINT - 1));
		assert_true(blocked & 1ULL << (SIGUSR2 - 1));
		assert_true(blocked & 1ULL << (SIGTERM - 1));
		n_workers++;
	}
	closedir(tasks);
	assert_true(n_workers > 0);
}

/* A child of fork() has none of the driver's threads: it is told so, and its exit disturbs nothing. */
static void a_forked_child_is_refused(void **state)
{
	CUdeviceptr address;
	int status;
	pid_t child = fork();

	if (child == 0)
		exit(cuMemAlloc(&address, 4) == CUDA_ERROR_NOT_INITIALIZED &&
				     cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
				     cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
			     ? 0
			     : 1);
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	OK(cuCtxSynchronize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pointers_and_buffer_carry_the_same_parameters),
		cmocka_unit_test(a_library_serves_every_context),
		cmocka_unit_test(modules_are_enumerated_and_unloaded),
		cmocka_unit_test(bad_code_is_refused_with_a_reason),
		cmocka_unit_test(what_is_no_handle_is_refused),
		cmocka_unit_test(graphs_take_every_form_of_a_kernel),
		cmocka_unit_test(texts_are_linked_at_run_time),
		cmocka_unit_test(user_objects_live_as_long_as_their_graphs),
		cmocka_unit_test(contexts_stack_and_reset),
		cmocka_unit_test(a_fault_stays_in_its_context),
		cmocka_unit_test(pointers_know_what_they_are),
		cmocka_unit_test(host_memory_is_registered_once),
		cmocka_unit_test(a_pageable_source_is_taken_before_the_call_returns),
		cmocka_unit_test(rectangles_keep_to_their_rows),
		cmocka_unit_test(proc_addresses_follow_version_and_flags),
		cmocka_unit_test(threads_share_a_context),
		cmocka_unit_test(workers_block_every_signal),
		cmocka_unit_test(a_forked_child_is_refused),
	};

	return cmocka_run_group_tests(tests, before_all, NULL);
}

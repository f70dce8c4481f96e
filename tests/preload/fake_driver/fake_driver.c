/* SPDX-License-Identifier: Apache-2.0
 *
 * fake_driver.c - a libcuda.so.1 that does nothing, writes down who called what, and answers as it is told (fake.h).
 * For what no device does on demand: captures that fail, handles that come back, errors of every kind.
 */
#pragma GCC visibility push(default)
#include "fake.h"
#pragma GCC visibility pop

#include "warpspan_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* --- who called what -------------------------------------------------------------------------- */

#define N_NAMES    128
#define TEXT_BYTES 8192

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	const char *name;
	unsigned n;
} counts[N_NAMES];
static _Thread_local char text[TEXT_BYTES];
static _Thread_local size_t text_bytes;
static _Thread_local bool forbidden;
static _Thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
static atomic_bool dead, abort_when_dead, global_capture;
static atomic_uint violations;

static void die(const char *why, const char *name)
{
	(void)fprintf(stderr, "fake driver: %s: %s\n", why, name);
	abort();
}

static void count(const char *name)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < N_NAMES; i++) {
		if (counts[i].name != NULL && strcmp(counts[i].name, name) != 0)
			continue;
		counts[i].name = name;
		counts[i].n++;
		break;
	}
	pthread_mutex_unlock(&lock);
}

enum safety {
	SAFE,
	UNSAFE, /* in a global capture: allocates or waits */
	LAUNCH, /* allowed at any time, and the question whether a stream is captured */
};

static CUresult called(const char *name, enum safety safety)
{
	const int length = snprintf(text + text_bytes, TEXT_BYTES - text_bytes, "%s ", name);

	if (length > 0 && text_bytes + (size_t)length < TEXT_BYTES)
		text_bytes += (size_t)length;
	count(name);
	if (forbidden && safety != LAUNCH)
		die("called during a capture", name);
	if (safety == UNSAFE && atomic_load(&global_capture) && mode != CU_STREAM_CAPTURE_MODE_RELAXED)
		atomic_fetch_add(&violations, 1);
	if (!atomic_load(&dead))
		return CUDA_SUCCESS;
	if (atomic_load(&abort_when_dead))
		die("called after its exit handler", name);
	return CUDA_ERROR_DEINITIALIZED;
}

API void fake_calls_clear(void)
{
	text_bytes = 0;
	text[0] = '\0';
}

API const char *fake_calls(void)
{
	return text;
}

API unsigned fake_count(const char *name)
{
	unsigned n = 0;

	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < N_NAMES && counts[i].name != NULL; i++)
		if (strcmp(counts[i].name, name) == 0)
			n = counts[i].n;
	pthread_mutex_unlock(&lock);
	return n;
}

API void fake_forbid(bool forbid)
{
	forbidden = forbid;
}

API void fake_set_global_capture(bool on)
{
	atomic_store(&global_capture, on);
}

API unsigned fake_violations(void)
{
	return atomic_load(&violations);
}

API void fake_abort_when_dead(void)
{
	atomic_store(&abort_when_dead, true);
}

/* --- calls that only succeed ------------------------------------------------------------------ */

#define CALL(name, safety, ...) API CUresult name(__VA_ARGS__)
#define NOTHING(name, safety, ...)            \
	API CUresult name(__VA_ARGS__)        \
	{                                     \
		return called(#name, safety); \
	}
#define ENTER(name, safety)                                         \
	do {                                                        \
		const CUresult enter_result = called(name, safety); \
		if (enter_result != CUDA_SUCCESS)                   \
			return enter_result;                        \
	} while (0)

NOTHING(cuDeviceGetAttribute, SAFE, int *value, CUdevice_attribute attribute, CUdevice device)
NOTHING(cuDeviceGetName, SAFE, char *name, int bytes, CUdevice device)
NOTHING(cuDeviceGetUuid_v2, SAFE, CUuuid *uuid, CUdevice device)
NOTHING(cuDeviceTotalMem_v2, SAFE, size_t *bytes, CUdevice device)
NOTHING(cuDriverGetVersion, SAFE, int *version)
NOTHING(cuGetErrorName, SAFE, CUresult error, const char **name)
NOTHING(cuDevicePrimaryCtxGetState, SAFE, CUdevice device, unsigned int *flags, int *active)
NOTHING(cuCtxSetCurrent, SAFE, CUcontext context)
NOTHING(cuCtxSynchronize, UNSAFE, void)
NOTHING(cuStreamDestroy_v2, SAFE, CUstream stream)
NOTHING(cuStreamSynchronize, SAFE, CUstream stream)
NOTHING(cuMemFree_v2, UNSAFE, CUdeviceptr address)
NOTHING(cuMemFreeHost, UNSAFE, void *memory)
NOTHING(cuMemsetD8Async, SAFE, CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream)
NOTHING(cuFuncGetAttribute, SAFE, int *value, CUfunction_attribute attribute, CUfunction function)
NOTHING(cuStreamBeginCapture_v2, LAUNCH, CUstream stream, CUstreamCaptureMode how)
NOTHING(cuModuleUnload, SAFE, CUmodule module)
NOTHING(cuGraphLaunch, LAUNCH, CUgraphExec exec, CUstream stream)
NOTHING(cuMemcpyHtoD_v2, UNSAFE, CUdeviceptr to, const void *from, size_t bytes)

CALL(cuCtxGetCurrent, SAFE, CUcontext *context)
{
	ENTER("cuCtxGetCurrent", SAFE);
	*context = (CUcontext)0x10;
	return CUDA_SUCCESS;
}

CALL(cuCtxGetDevice, SAFE, CUdevice *device)
{
	ENTER("cuCtxGetDevice", SAFE);
	*device = 0;
	return CUDA_SUCCESS;
}

CALL(cuDevicePrimaryCtxRetain, SAFE, CUcontext *context, CUdevice device)
{
	ENTER("cuDevicePrimaryCtxRetain", SAFE);
	if (context != NULL)
		*context = (CUcontext)0x10;
	return context != NULL ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CALL(cuThreadExchangeStreamCaptureMode, SAFE, CUstreamCaptureMode *now)
{
	const CUstreamCaptureMode before = mode;

	ENTER("cuThreadExchangeStreamCaptureMode", SAFE);
	mode = *now;
	*now = before;
	return CUDA_SUCCESS;
}

CALL(cuStreamCreate, UNSAFE, CUstream *stream, unsigned int flags)
{
	ENTER("cuStreamCreate", UNSAFE);
	*stream = (CUstream)0x20;
	return CUDA_SUCCESS;
}

CALL(cuMemAlloc_v2, UNSAFE, CUdeviceptr *address, size_t bytes)
{
	ENTER("cuMemAlloc_v2", UNSAFE);
	*address = 0x100000;
	return CUDA_SUCCESS;
}

CALL(cuMemHostAlloc, UNSAFE, void **memory, size_t bytes, unsigned int flags)
{
	ENTER("cuMemHostAlloc", UNSAFE);
	*memory = calloc(1, bytes);
	return *memory != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* --- modules ---------------------------------------------------------------------------------- */

#define N_MODULES  16u
#define CTX_BASE   0x70000000ull
#define CTX_STRIDE 0x1000ull /* between generations: 0x100 for each module */

static struct module {
	unsigned generation;
	bool bare;
	CUdeviceptr control;
} modules[N_MODULES] = { [7] = { .bare = true } };
static CUresult symbol_result;

static CUdeviceptr address_of(unsigned module)
{
	return CTX_BASE + modules[module].generation * CTX_STRIDE + 0x100ull * module;
}

/* The module whose context lies there; N_MODULES: none, any more. */
static unsigned module_at(CUdeviceptr address)
{
	for (unsigned i = 0; i < N_MODULES; i++)
		if (address >= address_of(i) && address < address_of(i) + sizeof(struct warpspan_ctx))
			return i;
	return N_MODULES;
}

API void fake_set_symbol_result(CUresult result)
{
	symbol_result = result;
}

API bool fake_attached(unsigned module)
{
	return modules[module].control != 0;
}

API void fake_recycle(unsigned module, bool bare)
{
	modules[module].generation++;
	modules[module].bare = bare;
	modules[module].control = 0;
}

static CUresult find_ctx(unsigned module, CUdeviceptr *address, size_t *bytes, const char *name)
{
	if (symbol_result != CUDA_SUCCESS)
		return symbol_result;
	if (modules[module].bare || strcmp(name, WARPSPAN_CTX_SYMBOL) != 0)
		return CUDA_ERROR_NOT_FOUND;
	*address = address_of(module);
	*bytes = sizeof(struct warpspan_ctx);
	return CUDA_SUCCESS;
}

CALL(cuFuncGetModule, SAFE, CUmodule *module, CUfunction function)
{
	const uintptr_t handle = (uintptr_t)function;

	ENTER("cuFuncGetModule", SAFE);
	if (handle >> 16 != 1)
		return CUDA_ERROR_INVALID_HANDLE;
	*module = (CUmodule)(handle >> 8 & 0xf);
	return CUDA_SUCCESS;
}

CALL(cuModuleGetGlobal_v2, SAFE, CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
	ENTER("cuModuleGetGlobal_v2", SAFE);
	return find_ctx((unsigned)(uintptr_t)module, address, bytes, name);
}

CALL(cuKernelGetLibrary, SAFE, CUlibrary *library, CUkernel kernel)
{
	const uintptr_t handle = (uintptr_t)kernel;

	ENTER("cuKernelGetLibrary", SAFE);
	if (handle >> 16 != 2)
		return CUDA_ERROR_INVALID_HANDLE;
	*library = (CUlibrary)(handle >> 8 & 7);
	return CUDA_SUCCESS;
}

CALL(cuLibraryGetGlobal, SAFE, CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
	ENTER("cuLibraryGetGlobal", SAFE);
	return find_ctx(8 + (unsigned)(uintptr_t)library, address, bytes, name);
}

CALL(cuKernelGetFunction, SAFE, CUfunction *function, CUkernel kernel)
{
	const uintptr_t handle = (uintptr_t)kernel;

	ENTER("cuKernelGetFunction", SAFE);
	if (handle >> 16 != 2)
		return CUDA_ERROR_INVALID_HANDLE;
	*function = (CUfunction)(handle - 0x10000 + 0x800);
	return CUDA_SUCCESS;
}

CALL(cuLaunchGrid, SAFE, CUfunction function, int grid_x, int grid_y)
{
	ENTER("cuLaunchGrid", SAFE);
	return CUDA_SUCCESS;
}

CALL(cuMemcpyDtoHAsync_v2, SAFE, void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	const unsigned module = module_at(from);
	const struct warpspan_ctx ctx = { .magic = WARPSPAN_CTX_MAGIC,
					  .abi = WARPSPAN_ABI_VERSION,
					  .ctx_bytes = sizeof(ctx),
					  .control = module < N_MODULES ? modules[module].control : 0 };

	ENTER("cuMemcpyDtoHAsync_v2", SAFE);
	memset(to, 0, bytes);
	if (module < N_MODULES)
		memcpy(to, &ctx, bytes < sizeof(ctx) ? bytes : sizeof(ctx));
	return CUDA_SUCCESS;
}

CALL(cuMemcpyHtoDAsync_v2, SAFE, CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	const unsigned module = module_at(to);

	ENTER("cuMemcpyHtoDAsync_v2", SAFE);
	if (to >= CTX_BASE && to < CTX_BASE + 0x100 * CTX_STRIDE && module == N_MODULES)
		die("written to a module that was unloaded", "cuMemcpyHtoDAsync_v2");
	if (module < N_MODULES)
		memcpy(&modules[module].control, from, sizeof(modules[module].control));
	return CUDA_SUCCESS;
}

static void forget_context(void)
{
	for (unsigned i = 0; i < N_MODULES; i++)
		modules[i].control = 0;
}

CALL(cuDevicePrimaryCtxReset_v2, UNSAFE, CUdevice device)
{
	ENTER("cuDevicePrimaryCtxReset_v2", UNSAFE);
	forget_context();
	return CUDA_SUCCESS;
}

CALL(cuCtxDestroy_v2, UNSAFE, CUcontext context)
{
	ENTER("cuCtxDestroy_v2", UNSAFE);
	forget_context();
	return CUDA_SUCCESS;
}

/* --- captures and graphs ---------------------------------------------------------------------- */

static CUstreamCaptureStatus capture_status;
static CUresult capture_result;
static CUgraph captured; /* of the last launch that was captured */

API void fake_set_capture(CUstreamCaptureStatus status, CUresult result)
{
	capture_status = status;
	capture_result = result;
}

CALL(cuStreamIsCapturing, LAUNCH, CUstream stream, CUstreamCaptureStatus *status)
{
	ENTER("cuStreamIsCapturing", LAUNCH);
	if (stream == FAKE_STREAM && capture_result != CUDA_SUCCESS)
		return capture_result;
	*status = stream == FAKE_STREAM ? capture_status : CU_STREAM_CAPTURE_STATUS_NONE;
	return CUDA_SUCCESS;
}

CALL(cuStreamEndCapture, LAUNCH, CUstream stream, CUgraph *graph)
{
	const bool was_good = capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE;

	ENTER("cuStreamEndCapture", LAUNCH);
	if (capture_status == CU_STREAM_CAPTURE_STATUS_NONE)
		return CUDA_ERROR_ILLEGAL_STATE;
	capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
	*graph = was_good ? captured : NULL;
	return was_good ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}

CALL(cuGraphInstantiateWithFlags, UNSAFE, CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	ENTER("cuGraphInstantiateWithFlags", UNSAFE);
	*exec = (CUgraphExec)graph;
	return CUDA_SUCCESS;
}

CALL(cuGraphGetNodes, SAFE, CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	ENTER("cuGraphGetNodes", SAFE);
	if (nodes != NULL && *n > 0)
		nodes[0] = (CUgraphNode)graph;
	*n = 1;
	return CUDA_SUCCESS;
}

CALL(cuGraphNodeGetType, SAFE, CUgraphNode node, CUgraphNodeType *type)
{
	ENTER("cuGraphNodeGetType", SAFE);
	*type = CU_GRAPH_NODE_TYPE_KERNEL;
	return CUDA_SUCCESS;
}

CALL(cuGraphKernelNodeGetParams_v2, SAFE, CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	ENTER("cuGraphKernelNodeGetParams_v2", SAFE);
	memset(parameters, 0, sizeof(*parameters));
	parameters->func = (CUfunction)((uintptr_t)node - 0x40000);
	return CUDA_SUCCESS;
}

/* --- launches --------------------------------------------------------------------------------- */

static CUresult launch_result;
static struct fake_launch last;

API void fake_set_launch_result(CUresult result)
{
	launch_result = result;
}

API struct fake_launch fake_last_launch(void)
{
	return last;
}

static CUresult launched(const char *name, const struct fake_launch *launch)
{
	const int program_errno = errno;

	ENTER(name, LAUNCH);
	if (capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE && launch->stream == FAKE_STREAM)
		captured = FAKE_GRAPH(launch->function);
	last = *launch;
	last.errno_before = program_errno;
	errno = 44;
	return launch_result;
}

#define LAUNCH_KERNEL(name)                                                                                   \
	API CUresult name(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, \
			  unsigned int threads_x, unsigned int threads_y, unsigned int threads_z,             \
			  unsigned int shared_bytes, CUstream stream, void **parameters, void **extra)        \
	{                                                                                                     \
		return launched(#name, &(struct fake_launch){ .function = function,                           \
							      .grid = { grid_x, grid_y, grid_z },             \
							      .threads = { threads_x, threads_y, threads_z }, \
							      .shared_bytes = shared_bytes,                   \
							      .stream = stream,                               \
							      .parameters = parameters,                       \
							      .extra = extra });                              \
	}
LAUNCH_KERNEL(cuLaunchKernel)
LAUNCH_KERNEL(cuLaunchKernel_ptsz)

#define LAUNCH_KERNEL_EX(name)                                                                                   \
	API CUresult name(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)    \
	{                                                                                                        \
		return launched(#name, &(struct fake_launch){ .function = function,                              \
							      .stream = config != NULL ? config->hStream : NULL, \
							      .parameters = parameters,                          \
							      .extra = extra,                                    \
							      .config = config });                               \
	}
LAUNCH_KERNEL_EX(cuLaunchKernelEx)
LAUNCH_KERNEL_EX(cuLaunchKernelEx_ptsz)

/* --- lookups ---------------------------------------------------------------------------------- */

static struct {
	bool asked_for;
	CUresult result;
	void *found;
	CUdriverProcAddressQueryResult status;
} answer;
static bool found_itself;

API void fake_answer(CUresult result, void *found, CUdriverProcAddressQueryResult status)
{
	answer.asked_for = true;
	answer.result = result;
	answer.found = found;
	answer.status = status;
}

API bool fake_found_itself(void)
{
	return found_itself;
}

static void *find(const char *name, int version, cuuint64_t flags)
{
	const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	char full[128];
	void *found = NULL;

	if (self == NULL)
		return NULL;
	if (strcmp(name, "cuGetProcAddress") == 0)
		return version >= 12000 ? (void *)cuGetProcAddress_v2 : (void *)cuGetProcAddress;
	if (per_thread) {
		(void)snprintf(full, sizeof(full), "%s_ptsz", name);
		found = dlsym(self, full);
	}
	return found != NULL ? found : dlsym(self, name);
}

static CUresult query(const char *name, void **found, int version, cuuint64_t flags,
		      CUdriverProcAddressQueryResult *status)
{
	if (answer.asked_for) {
		answer.asked_for = false;
		*found = answer.found;
		if (status != NULL)
			*status = answer.status;
		return answer.result;
	}
	if (name == NULL || name[0] == '\0')
		return CUDA_ERROR_INVALID_VALUE;
	*found = find(name, version, flags);
	if (status != NULL)
		*status = *found != NULL ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	return *found != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CALL(cuGetProcAddress, SAFE, const char *name, void **found, int version, cuuint64_t flags)
{
	ENTER("cuGetProcAddress", SAFE);
	return query(name, found, version, flags, NULL);
}

CALL(cuGetProcAddress_v2, SAFE, const char *name, void **found, int version, cuuint64_t flags,
     CUdriverProcAddressQueryResult *status)
{
	ENTER("cuGetProcAddress_v2", SAFE);
	return query(name, found, version, flags, status);
}

/* --- life ------------------------------------------------------------------------------------- */

static void end(void)
{
	atomic_store(&dead, true);
}

CALL(cuInit, SAFE, unsigned int flags)
{
	ENTER("cuInit", SAFE);
	/* A lookup takes the text of dlerror(): a test of that does without. */
	if (getenv("WARPSPAN_TEST_NO_LOOKUPS") == NULL) {
		void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

		found_itself = self != NULL && dlsym(self, "cuLaunchKernel") == (void *)cuLaunchKernel;
	}
	return atexit(end) == 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

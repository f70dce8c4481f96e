/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.c - wrappers of the CUDA runtime's launches. See runtime.h.
 *
 * Almost always the driver's door sees the launch that follows inside, and records it; these wrappers then only stand
 * by. They record a launch themselves when the runtime reached the driver past us (a runtime loaded with
 * RTLD_DEEPBIND, or before us): a context is current, though no launch function of the driver was ever looked up
 * through our door.
 */
#include "runtime.h"

#include "guard.h"
#include "hooks.h"
#include "launch.h"
#include "loader.h"
#include "pin.h"

#include <errno.h>
#include <string.h>

/* The runtime's own functions, declared for the compiler to check ours against; cuda_runtime_api.h declares the _ptsz
 * forms only by renaming. */
__typeof__(cudaLaunchKernel) cudaLaunchKernel_ptsz;
__typeof__(cudaLaunchKernelExC) cudaLaunchKernelExC_ptsz;
__typeof__(cudaLaunchCooperativeKernel) cudaLaunchCooperativeKernel_ptsz;

enum runtime {
#define WARPSPAN_RUNTIME(tag, soname) RUNTIME_##tag,
#include "runtime_versions.def"
	N_RUNTIMES
};

static const char *const sonames[N_RUNTIMES] = {
#define WARPSPAN_RUNTIME(tag, soname) soname,
#include "runtime_versions.def"
};

/* --- the real functions ----------------------------------------------------------------------- */

/* NULL: not found, which a caller that got here through its runtime's symbol cannot meet. */
static void *find_real(enum runtime runtime, const char *name)
{
	void *found = warpspan_loader_find_runtime(sonames[runtime], name);

	if (found != NULL)
		warpspan_pin(found);
	return found;
}

/* `cache` goes from NULL to one value. Acquire and release pair with each other. */
static void *real_function(_Atomic(void *) *cache, enum runtime runtime, const char *name)
{
	void *real = atomic_load_explicit(cache, memory_order_acquire);

	if (WARPSPAN_UNLIKELY(real == NULL)) {
		real = find_real(runtime, name);
		atomic_store_explicit(cache, real, memory_order_release);
	}
	return real;
}

/* --- what a launch is, where the driver's door does not see it -------------------------------- */

static bool bypassed(void)
{
	static _Atomic(void *) cache;
	CUcontext current = NULL;
	void *real;

	if (atomic_load_explicit(&warpspan_driver_door_open, memory_order_relaxed))
		return false;
	real = atomic_load_explicit(&cache, memory_order_acquire);
	if (real == NULL) {
		if (!warpspan_loader_has_driver())
			return false;
		real = warpspan_loader_find_driver("cuCtxGetCurrent");
		if (real != NULL)
			warpspan_pin(real);
		atomic_store_explicit(&cache, real, memory_order_release);
	}
	return real != NULL && ((__typeof__(&cuCtxGetCurrent))real)(&current) == CUDA_SUCCESS && current != NULL;
}

/* The driver's handle of a kernel named by its host stub; NULL: the runtime does not know it. */
static CUfunction function_of(enum runtime runtime, const void *stub)
{
	static _Atomic(void *) cache[N_RUNTIMES];
	void *real = real_function(&cache[runtime], runtime, "cudaGetFuncBySymbol");
	cudaFunction_t function = NULL;

	if (real == NULL || ((__typeof__(&cudaGetFuncBySymbol))real)(&function, stub) != cudaSuccess)
		return NULL;
	return (CUfunction)function;
}

static void record(struct warpspan_runtime_call *call, CUfunction function, dim3 grid, dim3 threads,
		   size_t shared_bytes, cudaStream_t stream, bool per_thread, const unsigned int cluster[3])
{
	const struct warpspan_launch_view view = {
		.function = function,
		.stream = (CUstream)stream,
		.per_thread = per_thread,
		.api = WARPSPAN_API_CUDA_LAUNCH,
		.grid = { grid.x, grid.y, grid.z },
		.threads = { threads.x, threads.y, threads.z },
		.cluster = { cluster[0], cluster[1], cluster[2] },
		.shared_bytes = (uint32_t)shared_bytes,
	};

	if (function != NULL)
		call->ticket = warpspan_launch_begin(&view);
}

static const unsigned int unsaid[3];

#define DEFINE_VIEW_LAUNCH(name, per_thread)                                                                           \
	static void name(struct warpspan_runtime_call *call, enum runtime runtime, const void *function, dim3 grid,    \
			 dim3 threads, void **arguments, size_t shared_bytes, cudaStream_t stream)                     \
	{                                                                                                              \
		record(call, function_of(runtime, function), grid, threads, shared_bytes, stream, per_thread, unsaid); \
	}
DEFINE_VIEW_LAUNCH(view_launch, false)
DEFINE_VIEW_LAUNCH(view_launch_ptsz, true)

/* A cudaKernel_t is a CUkernel. */
#define DEFINE_VIEW_LAUNCH_HANDLE(name, per_thread)                                                                \
	static void name(struct warpspan_runtime_call *call, enum runtime runtime, cudaKernel_t kernel, dim3 grid, \
			 dim3 threads, void **arguments, size_t shared_bytes, cudaStream_t stream)                 \
	{                                                                                                          \
		record(call, (CUfunction)kernel, grid, threads, shared_bytes, stream, per_thread, unsaid);         \
	}
DEFINE_VIEW_LAUNCH_HANDLE(view_launch_handle, false)
DEFINE_VIEW_LAUNCH_HANDLE(view_launch_handle_ptsz, true)

static void record_ex(struct warpspan_runtime_call *call, enum runtime runtime, const cudaLaunchConfig_t *config,
		      const void *function, bool per_thread)
{
	unsigned int cluster[3] = { 0 };

	if (config == NULL)
		return;
	for (unsigned int i = 0; config->attrs != NULL && i < config->numAttrs; i++) {
		if (config->attrs[i].id != cudaLaunchAttributeClusterDimension)
			continue;
		cluster[0] = config->attrs[i].val.clusterDim.x;
		cluster[1] = config->attrs[i].val.clusterDim.y;
		cluster[2] = config->attrs[i].val.clusterDim.z;
	}
	record(call, function_of(runtime, function), config->gridDim, config->blockDim, config->dynamicSmemBytes,
	       config->stream, per_thread, cluster);
}

static void view_launch_ex(struct warpspan_runtime_call *call, enum runtime runtime, const cudaLaunchConfig_t *config,
			   const void *function, void **arguments)
{
	record_ex(call, runtime, config, function, false);
}

static void view_launch_ex_ptsz(struct warpspan_runtime_call *call, enum runtime runtime,
				const cudaLaunchConfig_t *config, const void *function, void **arguments)
{
	record_ex(call, runtime, config, function, true);
}

/* --- the wrappers ----------------------------------------------------------------------------- */

static bool enter(struct warpspan_runtime_call *call)
{
	if (warpspan_thread.runtime != NULL || warpspan_thread.depth > 0 ||
	    atomic_load_explicit(&warpspan_off, memory_order_relaxed))
		return false;
	warpspan_thread.runtime = call;
	return true;
}

#define UNPACK(...)         __VA_ARGS__
#define PASTE_(name, tag)   wrapper_of_##tag##_##name
#define PASTE(name, tag)    PASTE_(name, tag)
#define PASTE_RUNTIME_(tag) RUNTIME_##tag
#define PASTE_RUNTIME(tag)  PASTE_RUNTIME_(tag)
#define STRING_(text)       #text
#define STRING(text)        STRING_(text)

/* The steps of wrappers.c. While the view is taken, calls the runtime makes into the driver are ours. */
#define WRAPPER(name, tag, node, parameters, arguments, view)                                                 \
	WARPSPAN_EXPORT cudaError_t CUDARTAPI PASTE(name, tag) parameters;                                    \
	__asm__(".symver " STRING(PASTE(name, tag)) ", " #name node);                                         \
	WARPSPAN_EXPORT cudaError_t CUDARTAPI PASTE(name, tag) parameters                                     \
	{                                                                                                     \
		static _Atomic(void *) cache;                                                                 \
		__typeof__(&name) real = (__typeof__(&name))real_function(&cache, PASTE_RUNTIME(tag), #name); \
		struct warpspan_runtime_call call = { 0 };                                                    \
		int program_errno = errno;                                                                    \
		cudaError_t result;                                                                           \
                                                                                                              \
		if (real == NULL)                                                                             \
			return cudaErrorInitializationError;                                                  \
		if (!enter(&call))                                                                            \
			return real arguments;                                                                \
		if (WARPSPAN_UNLIKELY(bypassed())) {                                                          \
			warpspan_thread.depth = 1;                                                            \
			view(&call, PASTE_RUNTIME(tag), UNPACK arguments);                                    \
			warpspan_thread.depth = 0;                                                            \
		}                                                                                             \
		errno = program_errno;                                                                        \
		result = real arguments;                                                                      \
		program_errno = errno;                                                                        \
		warpspan_launch_end(call.ticket, (int32_t)result);                                            \
		warpspan_thread.runtime = NULL;                                                               \
		errno = program_errno;                                                                        \
		return result;                                                                                \
	}

#define WARPSPAN_RUNTIME_HOOK(name, parameters, arguments, view, purpose) \
	WRAPPER(name, 11, "@libcudart.so.11.0", parameters, arguments, view)
#include "hooks.def"
#define WARPSPAN_RUNTIME_HOOK(name, parameters, arguments, view, purpose) \
	WRAPPER(name, 12, "@libcudart.so.12", parameters, arguments, view)
#include "hooks.def"
#define WARPSPAN_RUNTIME_HOOK(name, parameters, arguments, view, purpose) \
	WRAPPER(name, 13, "@@libcudart.so.13", parameters, arguments, view)
#include "hooks.def"

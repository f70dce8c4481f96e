/* SPDX-License-Identifier: Apache-2.0
 *
 * rt.h - what the files of the simulated CUDA runtime share.
 *
 * The same sources make libcudart.so.13, libcudart.so.12 and the archive that stands in for the static runtime. They
 * reach the driver only through the table below, which rt_driver.c fills the way the real runtime does; they never link
 * it.
 */
#ifndef SIMGPU_RT_H
#define SIMGPU_RT_H

/* Declares the plain and the per-thread names side by side. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>
#undef __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfilerTypedefs.h>
#include <cudaTypedefs.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which library this becomes a part of: libcudart.so.12 is made from the same sources. */
#ifndef SIMGPU_RUNTIME_MAJOR
#define SIMGPU_RUNTIME_MAJOR 13
#endif
#define RUNTIME_VERSION (SIMGPU_RUNTIME_MAJOR == 12 ? 12090 : 13000)
#define MAX_DEVICES     16

#ifdef SIMGPU_STATIC_RUNTIME
#define EXPORT __attribute__((visibility("hidden")))
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* Before the first use of any of them: the names of 12. */
#if SIMGPU_RUNTIME_MAJOR == 12
#include "rt_12.h"
#define RENAMED_NONE(symbol, label)
#define RENAMED_PTSZ(symbol, label) extern __typeof__(symbol##_ptsz) symbol##_ptsz __asm__(label "_ptsz");
#define RENAMED(symbol, streams, label)                  \
	extern __typeof__(symbol) symbol __asm__(label); \
	RENAMED_##streams(symbol, label)
#define RUNTIME12(symbol, gate, streams, params, args)
#define UNSUPPORTED12(symbol, streams)
#include "runtime12.def"
#undef RENAMED
#undef RUNTIME12
#undef UNSUPPORTED12
#endif

/* --- the driver (rt_driver.c) ----------------------------------------------------------------- */

/* Field [0] is the function as it is, [1] its per-thread twin where there is one, else the same function. cuda.h
 * renames a name here and where it is called alike. Never NULL: what the driver lacks answers NOT_SUPPORTED. */
struct driver_table {
#define DRIVER_FUNCTION(name, version, per_thread_version) PFN_##name##_v##version name[2];
#include "rt_driver.def"
#undef DRIVER_FUNCTION
};
extern struct driver_table driver_functions;

/* The driver's function, for a call that has no stream and for one that has. */
#define DRIVER(name)        (driver_functions.name[0])
#define DRIVER_STREAM(name) (driver_functions.name[rt_thread()->default_stream_is_per_thread])

/* For a driver before 12.3, which only a runtime of 12 takes (rt_12.c). */
void rt_12_use_old_forms(PFN_cuGetProcAddress_v12000 get);
/* Loads and initialises the driver, once; later calls return the first outcome. */
cudaError_t rt_driver_ready(void);
/* Makes sure that the thread has a current context. */
cudaError_t rt_context_ready(void);

/* --- per thread (runtime.c) ------------------------------------------------------------------- */

enum { MAX_CALL_DEPTH = 8 };

struct rt_call_configuration {
	dim3 grid, block;
	size_t shared_bytes;
	cudaStream_t stream;
};

struct rt_thread {
	cudaError_t last_error;
	int device;                        /* of cudaSetDevice() */
	bool default_stream_is_per_thread; /* set at the entry of each call */
	unsigned int n_configurations;     /* pushed by <<<>>>, not yet popped */
	struct rt_call_configuration configurations[MAX_CALL_DEPTH];
};
struct rt_thread *rt_thread(void);

/* The driver's codes are the runtime's codes. */
static inline cudaError_t rt_error(CUresult result)
{
	return (cudaError_t)result;
}

/* What a call that is not in runtime.def does first and last. */
cudaError_t rt_enter(bool needs_context, bool default_stream_is_per_thread);
cudaError_t rt_leave(cudaError_t error);
/* What SIMGPU_FAULT says of cudaLaunchKernel, for a launch that does not come through that function. */
cudaError_t rt_launch_fault(void);

__attribute__((format(printf, 1, 2))) void rt_note(const char *format, ...);

/* --- what nvcc registered (rt_register.c) ----------------------------------------------------- */

/* The kernel behind a host stub. A value that is not a known stub is taken for a kernel handle. */
cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel);
/* The device address and size of a registered variable, in the current context. */
cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes);

/* The stub of a kernel, or the kernel itself where nvcc registered none. */
const void *rt_kernel_stub(CUkernel kernel);

/* --- copies as the driver has them (rt_memory.c) ---------------------------------------------- */

cudaError_t rt_box(const struct cudaMemcpy3DParms *params, CUDA_MEMCPY3D *ret_box);
struct cudaMemcpy3DParms rt_box_params(const CUDA_MEMCPY3D *box);
cudaError_t rt_row(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, CUDA_MEMCPY3D *ret_box);
cudaError_t rt_row_to_symbol(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind,
			     CUDA_MEMCPY3D *ret_box);
cudaError_t rt_row_from_symbol(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind,
			       CUDA_MEMCPY3D *ret_box);

/* --- entry points, one list (runtime.def) ----------------------------------------------------- */

#define RUNTIME(symbol, gate, streams, params, args) cudaError_t impl_##symbol params;
#define UNSUPPORTED(symbol, streams)
#include "runtime.def"
#undef RUNTIME
#undef UNSUPPORTED

#endif

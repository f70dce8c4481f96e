/* SPDX-License-Identifier: Apache-2.0
 *
 * fake.h - what a test tells the scripted driver (fake_driver.c), and asks of it.
 *
 * Handles: functions 0x10000 + 0x100 * module + kernel, modules 1 to 15; kernels 0x20000 + 0x100 * library + kernel,
 * libraries 1 to 7, whose modules are 8 + library. Module 7 has no warpspan_ctx. A graph is 0x40000 + the function of
 * its only kernel node.
 */
#ifndef FAKE_H
#define FAKE_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <stdbool.h>

#define FAKE_FUNCTION(module, kernel) ((CUfunction)(uintptr_t)(0x10000 + 0x100 * (module) + (kernel)))
#define FAKE_KERNEL(library, kernel)  ((CUkernel)(uintptr_t)(0x20000 + 0x100 * (library) + (kernel)))
#define FAKE_GRAPH(function)          ((CUgraph)((uintptr_t)(function) + 0x40000))
#define FAKE_STREAM                   ((CUstream)0x50)

/* The names of the calls since the last clear, each followed by a space: of the calling thread, or of all. */
void fake_calls_clear(void);
const char *fake_calls(void);
unsigned fake_count(const char *name); /* of all threads, since the start */

/* What cuStreamIsCapturing() answers for FAKE_STREAM; every other stream is never captured. */
void fake_set_capture(CUstreamCaptureStatus status, CUresult result);
/* From the calling thread nothing is allowed but cuStreamIsCapturing() and launches: aborts. */
void fake_forbid(bool forbid);
/* A capture in the global mode is under way: calls that allocate or wait, from threads not in the relaxed mode, are
 * violations. */
void fake_set_global_capture(bool on);
unsigned fake_violations(void);

/* What cuModuleGetGlobal() answers instead; CUDA_SUCCESS: the truth. */
void fake_set_symbol_result(CUresult result);
/* Whether the module's context was pointed at a control block, since it was loaded. */
bool fake_attached(unsigned module);
/* The next module under this number: elsewhere in memory, not attached; `bare`: without a warpspan_ctx. */
void fake_recycle(unsigned module, bool bare);

/* What the next launches return; what the last one was given. */
void fake_set_launch_result(CUresult result);
struct fake_launch {
	CUfunction function;
	unsigned grid[3], threads[3], shared_bytes;
	CUstream stream;
	void **parameters, **extra;
	const CUlaunchConfig *config;
	int errno_before;
};
struct fake_launch fake_last_launch(void);

/* What cuGetProcAddress() answers next; `status` only by the five-argument form. */
void fake_answer(CUresult result, void *found, CUdriverProcAddressQueryResult status);

/* Calls after the driver's exit handler abort, rather than answer CUDA_ERROR_DEINITIALIZED. */
void fake_abort_when_dead(void);
/* Whether the driver's own lookup of its cuLaunchKernel(), made in cuInit(), found its own. */
bool fake_found_itself(void);

#endif

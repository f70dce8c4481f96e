/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.h - what happens around a launch: found in the cache, logged, timed. Any thread.
 *
 * After a kernel's first launch: no allocation, no lock, no waiting, no CUDA call but cuCtxGetCurrent() (and, once the
 * program has begun a capture, cuStreamIsCapturing()).
 */
#ifndef WARPSPAN_LAUNCH_H
#define WARPSPAN_LAUNCH_H

#include "cuda_names.h"
#include "host_log.h"
#include "warpspan_format.h"

#include <stdbool.h>

/* A launch as the program asked for it. */
struct warpspan_launch_view {
	CUfunction function; /* or a CUkernel */
	CUstream stream;     /* as passed */
	bool per_thread;     /* stream 0 is the thread's own default stream */
	enum warpspan_launch_api api;
	uint32_t grid[3], threads[3];
	uint32_t cluster[3]; /* 0: the launch does not say */
	uint32_t shared_bytes;
};

/* Before the real call. Returns what to pass to warpspan_launch_end(); 0: the launch is not recorded. */
warpspan_ticket warpspan_launch_begin(const struct warpspan_launch_view *view);
/* After it, with what it returned. Does nothing for 0. */
void warpspan_launch_end(warpspan_ticket ticket, int32_t result);

/* Before a launch by a function that is not recorded: attaches the kernel's module, and counts the launch if the kernel
 * would be recorded otherwise. */
void warpspan_launch_count(CUfunction function, CUstream stream);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.c - counts captures, asks about streams. See capture.h.
 */
#include "capture.h"

#include "driver.h"

#include <stdatomic.h>

/* A capture that ends without cuStreamEndCapture(), with its stream or context, is counted for ever: then launches ask
 * once more than they need. */
static atomic_uint n_captures;

CUstream warpspan_capture_stream(CUstream stream, bool per_thread)
{
	return stream == NULL && per_thread ? CU_STREAM_PER_THREAD : stream;
}

bool warpspan_capture_holds(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return warpspan_driver.cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

bool warpspan_capture_may_hold(CUstream stream)
{
	return warpspan_capture_any() && warpspan_capture_holds(stream);
}

bool warpspan_capture_any(void)
{
	/* Relaxed: a thread that launches into a stream another thread captures has synchronised with it. */
	return atomic_load_explicit(&n_captures, memory_order_relaxed) != 0;
}

void warpspan_capture_begun(void)
{
	(void)atomic_fetch_add_explicit(&n_captures, 1, memory_order_relaxed);
}

void warpspan_capture_ended(void)
{
	unsigned n = atomic_load_explicit(&n_captures, memory_order_relaxed);

	while (n > 0 && !atomic_compare_exchange_weak_explicit(&n_captures, &n, n - 1, memory_order_relaxed,
							       memory_order_relaxed))
		;
}

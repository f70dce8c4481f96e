/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c - the launch path. See launch.h.
 */
#include "launch.h"

#include "attach.h"
#include "collector.h"
#include "driver.h"
#include "guard.h"
#include "launch_log.h"
#include "log.h"
#include "registry.h"
#include "session.h"
#include "util.h"

#include <string.h>
#include <unistd.h>

static atomic_bool captures_seen;

void warpspan_launch_capture_seen(void)
{
	atomic_store_explicit(&captures_seen, true, memory_order_relaxed);
}

static uint32_t thread_id(void)
{
	if (warpspan_thread.tid == 0)
		warpspan_thread.tid = (uint32_t)gettid();
	return warpspan_thread.tid;
}

/* The stream by a name that means the same whichever default stream 0 stands for. */
static CUstream explicit_stream(const struct warpspan_launch_view *view)
{
	return view->stream == NULL && view->per_thread ? CU_STREAM_PER_THREAD : view->stream;
}

/* A captured launch does not run now: it must not enter the log, where each launch stands for one grid. */
static bool is_captured(const struct warpspan_launch_view *view)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return atomic_load_explicit(&captures_seen, memory_order_relaxed) &&
	       (warpspan_driver.cuStreamIsCapturing(explicit_stream(view), &status) != CUDA_SUCCESS ||
		status != CU_STREAM_CAPTURE_STATUS_NONE);
}

static struct warpspan_kernel *find_kernel(const struct warpspan_launch_view *view)
{
	struct warpspan_kernel *kernel;
	CUcontext current = NULL;

	if (warpspan_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL) {
		warpspan_count(WARPSPAN_COUNTER_no_context, 1);
		return NULL;
	}
	kernel = warpspan_registry_find(view->function, current);
	return kernel != NULL ? kernel : warpspan_attach(view->function, current, explicit_stream(view));
}

uint64_t warpspan_launch_begin(const struct warpspan_launch_view *view)
{
	struct warpspan_kernel *kernel;
	struct warpspan_module *module;
	struct warpspan_launch launch;
	uint64_t number;

	if (!warpspan_session_wake())
		return 0;
	kernel = find_kernel(view);
	if (kernel == NULL)
		return 0;
	module = kernel->module;
	if (module == NULL) {
		warpspan_count(WARPSPAN_COUNTER_no_symbol, 1);
		return 0;
	}
	/* Acquire: what attached it comes before the launch. */
	if (!atomic_load_explicit(&module->attached, memory_order_acquire)) {
		warpspan_count(atomic_load_explicit(&module->why_not, memory_order_relaxed), 1);
		return 0;
	}
	if (!kernel->selected) {
		warpspan_count(WARPSPAN_COUNTER_filtered, 1);
		return 0;
	}
	if (is_captured(view)) {
		warpspan_count(WARPSPAN_COUNTER_capturing, 1);
		return 0;
	}
	launch = (struct warpspan_launch){
		.begin_ns = warpspan_now_ns(),
		.stream = (uint64_t)(uintptr_t)view->stream,
		.kernel = kernel->number,
		.module = module->number,
		.context = module->context->number,
		.thread = thread_id(),
		.shared_bytes = view->shared_bytes,
		.api = view->api,
	};
	for (unsigned i = 0; i < 3; i++) {
		launch.grid[i] = view->grid[i];
		launch.threads[i] = view->threads[i];
		launch.cluster[i] = view->cluster[i] != 0 ? view->cluster[i] : kernel->cluster[i];
	}
	number = warpspan_launch_log_begin(&launch);
	if (number == 0) {
		warpspan_count(WARPSPAN_COUNTER_log_full, 1);
		warpspan_log_once(WARPSPAN_LOG_WARN, "launches come faster than they are written: some have no host "
						     "entry in the capture, their records are kept");
	}
	/* Launches may come faster than the usual pace empties the log. */
	if (number % (WARPSPAN_LAUNCH_LOG_SLOTS / 4) == 0)
		warpspan_collector_hint();
	return number;
}

void warpspan_launch_end(uint64_t number, int32_t result)
{
	if (number == 0)
		return;
	warpspan_launch_log_end(number, warpspan_now_ns(), result);
	warpspan_count(WARPSPAN_COUNTER_launches_recorded, 1);
	warpspan_collector_nudge();
}

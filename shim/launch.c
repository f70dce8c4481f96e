/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c - the launch path. See launch.h.
 */
#include "launch.h"

#include "attach.h"
#include "capture.h"
#include "collector.h"
#include "counters.h"
#include "driver.h"
#include "guard.h"
#include "log.h"
#include "registry.h"
#include "session.h"
#include "uncancelled.h"
#include "util.h"
#include "window.h"

static bool wake(void)
{
	if (warpspan_session_awake())
		return true;
	WARPSPAN_UNCANCELLED;
	return warpspan_session_wake();
}

static struct warpspan_kernel *find_kernel(const struct warpspan_launch_view *view, CUstream stream,
					   struct warpspan_kernel_numbers *ret_numbers)
{
	struct warpspan_kernel *kernel;
	CUcontext current = NULL;

	if (warpspan_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL) {
		warpspan_count(WARPSPAN_COUNTER_no_context, 1);
		return NULL;
	}
	kernel = warpspan_registry_find(view->function, current, ret_numbers);
	if (WARPSPAN_UNLIKELY(kernel == NULL)) {
		kernel = warpspan_attach(view->function, current, stream);
		if (kernel != NULL)
			*ret_numbers = warpspan_kernel_numbers(kernel);
	}
	return kernel;
}

/* What launches of a kernel that is not ready count as. */
static enum warpspan_counter why_not(const struct warpspan_kernel *kernel)
{
	if (kernel->module == NULL)
		return WARPSPAN_COUNTER_no_symbol;
	if (!atomic_load_explicit(&kernel->selected, memory_order_relaxed))
		return WARPSPAN_COUNTER_filtered;
	return atomic_load_explicit(&kernel->module->why_not, memory_order_relaxed);
}

warpspan_ticket warpspan_launch_begin(const struct warpspan_launch_view *view)
{
	const CUstream stream = warpspan_capture_stream(view->stream, view->per_thread);
	struct warpspan_kernel *kernel;
	struct warpspan_kernel_numbers numbers;
	struct warpspan_launch launch;
	warpspan_ticket ticket;

	if (!wake())
		return 0;
	/* A captured launch does not run now: it must not enter the log, where each launch stands for one grid. First
	 * of all, since nothing else may be asked then. Its module is attached when the capture ends (graph.c). */
	if (warpspan_capture_may_hold(stream)) {
		warpspan_count(WARPSPAN_COUNTER_capturing, 1);
		return 0;
	}
	kernel = find_kernel(view, stream, &numbers);
	if (kernel != NULL && numbers.kernel != 0 && warpspan_window_begins())
		kernel = find_kernel(view, stream, &numbers);
	if (kernel == NULL)
		return 0;
	if (numbers.kernel == 0) {
		warpspan_count(why_not(kernel), 1);
		return 0;
	}
	launch = (struct warpspan_launch){
		.begin_ns = warpspan_now_ns(),
		.stream = (uint64_t)(uintptr_t)stream,
		.kernel = numbers.kernel,
		.module = numbers.module,
		.context = numbers.context,
		.thread = warpspan_thread_id(),
		.shared_bytes = view->shared_bytes,
		.api = view->api,
	};
	for (unsigned i = 0; i < 3; i++) {
		launch.grid[i] = view->grid[i];
		launch.threads[i] = view->threads[i];
		launch.cluster[i] = view->cluster[i] != 0 ? view->cluster[i] : numbers.cluster[i];
	}
	ticket = warpspan_host_log_begin_launch(&launch);
	if (ticket == 0 && warpspan_session_active()) {
		warpspan_count(WARPSPAN_COUNTER_log_full, 1);
		warpspan_log_once(WARPSPAN_LOG_WARN, "launches come faster than they are written: some have no host "
						     "entry in the capture, their records are kept");
	}
	/* Launches may come faster than the usual pace empties the log. */
	if (ticket == 0 || warpspan_host_log_presses(ticket))
		warpspan_collector_hint();
	return ticket;
}

void warpspan_launch_end(warpspan_ticket ticket, int32_t result)
{
	if (ticket == 0)
		return;
	warpspan_host_log_end_launch(ticket, warpspan_now_ns(), result);
	warpspan_collector_nudge();
}

void warpspan_launch_count(CUfunction function, CUstream stream)
{
	const struct warpspan_launch_view view = { .function = function, .stream = stream };
	struct warpspan_kernel_numbers numbers = { 0 };

	if (!wake() || warpspan_capture_may_hold(stream))
		return;
	if (find_kernel(&view, stream, &numbers) != NULL && numbers.kernel != 0)
		warpspan_count(WARPSPAN_COUNTER_old_launches, 1);
}

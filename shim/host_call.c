/* SPDX-License-Identifier: Apache-2.0
 *
 * host_call.c - records synchronisations, copies and launches of graphs. See host_call.h.
 */
#include "host_call.h"

#include "capture.h"
#include "collector.h"
#include "counters.h"
#include "driver.h"
#include "guard.h"
#include "registry.h"
#include "session.h"
#include "util.h"

/* The current context's number, where it is one that is recorded. Not asked for while anything is being captured: then
 * the driver hears nothing but what the program says. */
static uint32_t context_number(void)
{
	CUcontext current = NULL;

	if (warpspan_capture_any() || warpspan_driver.cuCtxGetCurrent(&current) != CUDA_SUCCESS || current == NULL)
		return 0;
	return warpspan_registry_ready_context(current);
}

warpspan_ticket warpspan_host_call_begin(enum warpspan_hook hook, enum warpspan_host_call_kind kind, CUstream stream,
					 uint64_t amount)
{
	struct warpspan_host_call call = {
		.stream = (uint64_t)(uintptr_t)stream,
		.amount = amount,
		.api = (uint32_t)hook + 1,
		.kind = kind,
	};
	warpspan_ticket ticket;

	/* Without a session, a wait tells which of the launches before are over. */
	if (!warpspan_session_active() &&
	    (kind != WARPSPAN_HOST_SYNCHRONIZE || !warpspan_host_log_ready() || warpspan_host_log_begun() == 0))
		return 0;
	call.context = context_number();
	call.thread = warpspan_thread_id();
	call.begin_ns = warpspan_now_ns();
	ticket = warpspan_host_log_begin_call(&call);
	if (ticket == 0 && warpspan_session_active())
		warpspan_count(WARPSPAN_COUNTER_calls_log_full, 1);
	if (ticket == 0 || warpspan_host_log_presses(ticket))
		warpspan_collector_hint();
	return ticket;
}

void warpspan_host_call_end(warpspan_ticket ticket, CUresult result)
{
	if (ticket == 0)
		return;
	if (!warpspan_host_log_end_call(ticket, warpspan_now_ns(), (int32_t)result))
		warpspan_count(WARPSPAN_COUNTER_calls_log_full, 1);
	warpspan_collector_nudge();
}

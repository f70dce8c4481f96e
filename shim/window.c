/* SPDX-License-Identifier: Apache-2.0
 *
 * window.c - counts launches towards WARPSPAN_LAUNCHES. See window.h.
 */
#include "window.h"

#include "log.h"
#include "session.h"
#include "uncancelled.h"

#include <stdatomic.h>

static _Atomic uint64_t n_launches;

uint64_t warpspan_window_seen(void)
{
	return atomic_load_explicit(&n_launches, memory_order_relaxed);
}

bool warpspan_window_begins(void)
{
	const struct warpspan_window *window = &warpspan_process_settings()->launches;
	struct warpspan_message message;
	struct warpspan_origin by;
	unsigned number;
	uint64_t n;

	if (window->count == 0 || warpspan_process_settings()->start.mode != WARPSPAN_START_NOW)
		return false;
	n = atomic_fetch_add_explicit(&n_launches, 1, memory_order_relaxed);
	if (n != window->skip && n != window->skip + window->count)
		return false;
	WARPSPAN_UNCANCELLED;
	if (n == window->skip + window->count) {
		by = warpspan_origin("WARPSPAN_LAUNCHES (launch %llu)", (unsigned long long)n + 1);
		(void)warpspan_session_stop(&by, 0, &number, &message);
	}
	if (n != window->skip || window->skip == 0)
		return false; /* from the first launch on: the session starts by itself */
	by = warpspan_origin("WARPSPAN_LAUNCHES (launch %llu)", (unsigned long long)n + 1);
	if (warpspan_session_start(&by, NULL, &message) == 0)
		return true;
	warpspan_error("%s. Kernels run unprofiled", message.text);
	return false;
}

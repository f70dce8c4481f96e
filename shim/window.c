/* SPDX-License-Identifier: Apache-2.0
 *
 * window.c - counts launches towards WARPSPAN_LAUNCHES. See window.h.
 */
#include "window.h"

#include "log.h"
#include "session.h"
#include "uncancelled.h"

#include <stdatomic.h>
#include <string.h>

static _Atomic uint64_t n_launches;

uint64_t warpspan_window_seen(void)
{
	return atomic_load_explicit(&n_launches, memory_order_relaxed);
}

/* The session that the window started, where it did not start by itself; 0: none. */
static _Atomic unsigned own;

/* A session that somebody else started is not the window's to stop. */
static void end_window(uint64_t n)
{
	const struct warpspan_origin by = warpspan_origin("WARPSPAN_LAUNCHES (launch %llu)", (unsigned long long)n + 1);
	struct warpspan_message message;
	struct warpspan_status status;
	unsigned number;

	warpspan_session_status(&status);
	if (status.number == atomic_load(&own) || strcmp(status.origin.who, WARPSPAN_ORIGIN_AUTOMATIC) == 0)
		(void)warpspan_session_stop(&by, 0, &number, &message);
}

static bool begin_window(uint64_t n)
{
	const struct warpspan_origin by = warpspan_origin("WARPSPAN_LAUNCHES (launch %llu)", (unsigned long long)n + 1);
	struct warpspan_message message;
	struct warpspan_status status;

	if (warpspan_session_restart(&by, &message) != 0) {
		warpspan_error("WARPSPAN_LAUNCHES starts no session: %s", message.text);
		return false;
	}
	warpspan_session_status(&status);
	atomic_store(&own, status.number);
	return true;
}

bool warpspan_window_begins(void)
{
	const struct warpspan_window *window = &warpspan_process_settings()->launches;
	uint64_t n;

	if (window->count == 0 || warpspan_process_settings()->start.mode != WARPSPAN_START_NOW)
		return false;
	n = atomic_fetch_add_explicit(&n_launches, 1, memory_order_relaxed);
	if (n != window->skip && n != window->skip + window->count)
		return false;
	WARPSPAN_UNCANCELLED;
	if (n == window->skip + window->count)
		end_window(n);
	/* From the first launch on: the session starts by itself. */
	return n == window->skip && window->skip != 0 && begin_window(n);
}

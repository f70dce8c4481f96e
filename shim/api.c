/* SPDX-License-Identifier: Apache-2.0
 *
 * api.c - the functions of warpspan.h, as they are exported.
 */
#include "warpspan.h"

#include "guard.h"
#include "log.h"
#include "marks.h"
#include "session.h"
#include "stopping.h"
#include "uncancelled.h"
#include "util.h"

#include <errno.h>
#include <stdio.h>

static bool is_off(void)
{
	return atomic_load_explicit(&warpspan_off, memory_order_relaxed);
}

/* Options of a program compiled with an older header are shorter. */
#define HAS(options, field) \
	((options) != NULL && (options)->size >= offsetof(struct warpspan_options, field) + sizeof((options)->field))

WARPSPAN_EXPORT int warpspan_preloaded_start(const struct warpspan_options *options)
{
	const int saved_errno = errno;
	const struct warpspan_origin by = warpspan_origin("warpspan_start()");
	struct warpspan_message message;
	int result;
	WARPSPAN_UNCANCELLED;

	warpspan_thread.depth++;
	result = warpspan_session_start(&by, HAS(options, settings) ? options->settings : NULL, &message);
	if (result == 0)
		warpspan_session_wait_armed();
	else
		warpspan_info("warpspan_start(): %s", message.text);
	warpspan_thread.depth--;
	if (HAS(options, message_bytes) && options->message != NULL && options->message_bytes > 0)
		(void)snprintf(options->message, options->message_bytes, "%s", message.text);
	errno = saved_errno;
	return result;
}

WARPSPAN_EXPORT int warpspan_preloaded_stop(uint32_t timeout_ms)
{
	const int saved_errno = errno;
	const struct warpspan_origin by = warpspan_origin("warpspan_stop()");
	struct warpspan_message message;
	unsigned number;
	int result;
	WARPSPAN_UNCANCELLED;

	warpspan_thread.depth++;
	result = warpspan_stop_and_wait(&by, timeout_ms * WARPSPAN_NS_PER_MS, &number, &message);
	if (result == WARPSPAN_ERR_NOT_STARTED || result == WARPSPAN_ERR_DRAINING)
		warpspan_info("warpspan_stop(): %s", message.text);
	warpspan_thread.depth--;
	errno = saved_errno;
	return result;
}

WARPSPAN_EXPORT bool warpspan_preloaded_active(void)
{
	return !is_off() && warpspan_session_runs();
}

WARPSPAN_EXPORT int warpspan_preloaded_mark(const char *text)
{
	if (is_off() || !warpspan_session_runs())
		return WARPSPAN_ERR_NOT_STARTED;
	return warpspan_marks_add(text) ? 0 : WARPSPAN_ERR_NO_MEMORY;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * stopping.c - see stopping.h.
 */
#include "stopping.h"

#include "ending.h"
#include "util.h"

#include <stdio.h>

/* Of a timeout, the part that kernels get to end. */
#define KERNELS_PART(ns) ((ns) / 4 * 3)

/* The session that was stopped before, and whose timelines are not there yet, is being stopped as far as anybody who
 * waits for its files is concerned. */
static int stop_or_join(const struct warpspan_origin *by, uint64_t timeout_ns, unsigned *ret_number,
			struct warpspan_message *ret_message)
{
	const int result = warpspan_session_stop(by, KERNELS_PART(timeout_ns), ret_number, ret_message);
	bool good;

	/* No number: none was started yet, or this is a forked child, in which a lock may be held for ever. */
	if (result != WARPSPAN_ERR_NOT_STARTED || timeout_ns == 0 || *ret_number == 0 ||
	    warpspan_ending_wait(*ret_number, 0, &good))
		return result;
	return WARPSPAN_ERR_DRAINING;
}

int warpspan_stop_and_wait(const struct warpspan_origin *by, uint64_t timeout_ns, unsigned *ret_number,
			   struct warpspan_message *ret_message)
{
	const uint64_t begin_ns = warpspan_now_ns();
	const int result = stop_or_join(by, timeout_ns, ret_number, ret_message);
	uint64_t took_ns;
	bool good;

	if (timeout_ns == 0 || (result != 0 && result != WARPSPAN_ERR_DRAINING))
		return result;
	took_ns = warpspan_now_ns() - begin_ns;
	if (!warpspan_ending_wait(*ret_number, took_ns < timeout_ns ? timeout_ns - took_ns : 0, &good)) {
		(void)snprintf(ret_message->text, sizeof(ret_message->text),
			       "session %u is stopped, and still being written", *ret_number);
		return WARPSPAN_ERR_DRAINING;
	}
	(void)snprintf(
		ret_message->text, sizeof(ret_message->text), "%s",
		good ? ""
		     : "it is stopped, but not all of it could be written; a line on the program's stderr says what");
	return good ? 0 : WARPSPAN_ERR_OUTPUT;
}

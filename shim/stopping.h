/* SPDX-License-Identifier: Apache-2.0
 *
 * stopping.h - stops a session and waits for its files, for those who ask from within the program and from outside.
 *
 * Any thread that holds no lock of ours.
 */
#ifndef WARPSPAN_STOPPING_H
#define WARPSPAN_STOPPING_H

#include "session.h"

/* Stops the session and waits until capture and timelines are written, at most `timeout_ns` (0: does not wait), of
 * which kernels that run get three quarters to end. One that is being stopped by another is waited for as well.
 * *ret_number: which session it was. 0, or a WARPSPAN_ERR_* with the message: NOT_STARTED; DRAINING: the time is over;
 * OUTPUT: not all could be written. */
int warpspan_stop_and_wait(const struct warpspan_origin *by, uint64_t timeout_ns, unsigned *ret_number,
			   struct warpspan_message *ret_message);

#endif

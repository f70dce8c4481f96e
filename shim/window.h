/* SPDX-License-Identifier: Apache-2.0
 *
 * window.h - WARPSPAN_LAUNCHES=skip:count: a session from one launch to another. Any thread.
 */
#ifndef WARPSPAN_WINDOW_H
#define WARPSPAN_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

/* A kernel that WARPSPAN_KERNEL names is about to be launched. Starts the session with the first launch of the window,
 * and stops it with the first one behind. True: it was started. */
bool warpspan_window_begins(void);

/* How many such launches there were, where WARPSPAN_LAUNCHES counts them. */
uint64_t warpspan_window_seen(void);

#endif

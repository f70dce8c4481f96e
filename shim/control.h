/* SPDX-License-Identifier: Apache-2.0
 *
 * control.h - the thread that starts and stops sessions on behalf of those who cannot wait for it: signals, the clock,
 * other processes.
 *
 *   signal handler --(a note, the bell)--> thread <--(requests)-- `warpspan ctl`, each on a thread of its own
 *                                            ^-- the end of WARPSPAN_DURATION
 */
#ifndef WARPSPAN_CONTROL_H
#define WARPSPAN_CONTROL_H

#include "settings.h"

#include <stdint.h>

/* Takes the signals that the settings name, where the program has left them at their default, and listens for requests.
 * Once, when the library wakes. */
void warpspan_control_start(const struct warpspan_settings *settings);
/* At the end of the program: nothing is started or stopped from here on. */
void warpspan_control_stop(void);

/* A session has begun, and ends by itself after `duration_ns`; 0: it does not. */
void warpspan_control_session(unsigned number, uint64_t duration_ns);

/* Says, once for each, which of our signals the program has taken over. Any thread. */
void warpspan_control_look_at_signals(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * control.h - the thread that starts and stops sessions on behalf of those who cannot wait: signals, the clock, other
 * processes.
 */
#ifndef WARPSPAN_CONTROL_H
#define WARPSPAN_CONTROL_H

#include "settings.h"

/* Once, when the library wakes. */
void warpspan_control_start(const struct warpspan_settings *settings);
/* At the end of the program: nothing is started or stopped from here on. */
void warpspan_control_stop(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * control.c - see control.h.
 */
#include "control.h"

void warpspan_control_start(const struct warpspan_settings *settings)
{
	(void)settings;
}

void warpspan_control_stop(void)
{
}

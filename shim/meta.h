/* SPDX-License-Identifier: Apache-2.0
 *
 * meta.h - the JSON objects of the capture: what was recorded, where and how. Collector only, except where said.
 */
#ifndef WARPSPAN_META_H
#define WARPSPAN_META_H

#include "settings.h"

#include <stdint.h>

/* The session. Called by the thread that begins it, before the collector runs. */
void warpspan_meta_session(const struct warpspan_settings *settings, unsigned session, int driver_version);

/* Devices, contexts, modules and kernels that are new since the last call. */
void warpspan_meta_announce(void);

/* The entry point that host calls name by this number, if it is new. 0: none. */
void warpspan_meta_hook(uint32_t number);

/* The counters, if they changed since the last call. */
void warpspan_meta_counters(void);

#endif

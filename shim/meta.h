/* SPDX-License-Identifier: Apache-2.0
 *
 * meta.h - the JSON objects of the capture: what was recorded, where and how. Collector only, except where said.
 */
#ifndef WARPSPAN_META_H
#define WARPSPAN_META_H

#include "registry.h"
#include "session.h"

#include <stdint.h>

/* The session, which began at `begin_ns`. Called by the thread that begins it, before the collector has it. */
void warpspan_meta_session(const struct warpspan_settings *settings, unsigned session, int driver_version,
			   const struct warpspan_origin *by, uint64_t begin_ns);

/* The collector has it: nothing else is in its capture. */
void warpspan_meta_begin(unsigned session);

/* Devices, contexts, modules and kernels that are new since the last call, and what graphs hold where that changed. */
void warpspan_meta_announce(void);
/* Whether the session's capture has the kernel. */
bool warpspan_meta_has(const struct warpspan_kernel *kernel);

/* The entry point that host calls name by this number, if it is new. 0: none. */
void warpspan_meta_hook(uint32_t number);

/* The counters, if they changed since the last call. */
void warpspan_meta_counters(void);

/* A text the program put on its timeline. */
void warpspan_meta_mark(uint64_t time_ns, uint32_t thread, const char *text);

/* Who stopped it, and when: launches that began at `end_ns` or later are not its own. `quiet`: what began before had
 * ended. */
void warpspan_meta_end(const struct warpspan_origin *by, uint64_t end_ns, bool quiet);

#endif

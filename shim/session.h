/* SPDX-License-Identifier: Apache-2.0
 *
 * session.h - when the library wakes, records and ends.
 *
 *   asleep --(cuInit succeeded)--> awake --(first instrumented launch)--> active --(exit)--> over
 *
 * Asleep: nothing but tables. Awake: the driver's functions are known and the settings read; no thread, no file, no
 * output. Active: capture file, collector thread. Over: everything goes straight through.
 */
#ifndef WARPSPAN_SESSION_H
#define WARPSPAN_SESSION_H

#include "cuda_names.h"
#include "settings.h"

#include <stdbool.h>

/* The program has initialised the driver. Any thread, any number of times; false: the library stays off. */
bool warpspan_session_wake(void);
bool warpspan_session_awake(void);

/* Starts the session if it is not active yet; false: it cannot be, which was said. Any thread. */
bool warpspan_session_begin(void);
bool warpspan_session_active(void);

/* Valid once awake; constant. */
const struct warpspan_settings *warpspan_session_settings(void);
/* Whether WARPSPAN_KERNEL names the kernel. Once awake. */
bool warpspan_session_selects(const char *demangled);

/* Waits until the work of `n` contexts is done, at most `patience_ns`. False: some still runs. The calling thread's
 * current context is not touched. */
bool warpspan_session_quiesce(const CUcontext *contexts, unsigned n, uint64_t patience_ns);

#endif

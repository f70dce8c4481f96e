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

/* The program has initialised the driver: finds its functions, reads the settings. Any thread, any number of times; a
 * second one waits for the first, and no lock is held meanwhile. False: the library stays off, which was said. */
bool warpspan_session_wake(void);
/* Any thread; a load. */
bool warpspan_session_awake(void);

/* Starts the session if it is not active yet: creates the capture, starts the collector. Any thread; others that call
 * it meanwhile wait. CUDA is not called. False: it cannot be, which was said, or the session is over. */
bool warpspan_session_begin(void);
/* Any thread; a load. */
bool warpspan_session_active(void);

/* Constant, and the library's, from when it is awake. Any thread. */
const struct warpspan_settings *warpspan_session_settings(void);
/* Whether WARPSPAN_KERNEL names the kernel (pattern.h). Once awake; any thread. */
bool warpspan_session_selects(const char *demangled);

/* Waits until the work of `n` contexts is done (of the first 64), at most `patience_ns`. The handles are copied. Any
 * thread that holds no lock of ours: another thread asks the driver, and is left to itself when the time is over. The
 * calling thread's current context is not touched. False: some still runs, or there was no memory or thread to ask. */
bool warpspan_session_quiesce(const CUcontext *contexts, unsigned n, uint64_t patience_ns);

#endif

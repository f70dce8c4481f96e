/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks.h - the functions of hooks.def: their numbers, their real counterparts, the tables that exchange answers.
 */
#ifndef WARPSPAN_HOOKS_H
#define WARPSPAN_HOOKS_H

#include "cuda_names.h"
#include "guard.h"

enum warpspan_hook {
#define WARPSPAN_HOOK(name, ...) WARPSPAN_HOOK_##name,
#include "hooks.def"
	WARPSPAN_N_HOOKS
};

/* The real functions. Never NULL: each starts at a stub that finds the function and goes on to it. */
struct warpspan_real {
#define WARPSPAN_HOOK(name, ...) _Atomic(__typeof__(&name)) name;
#include "hooks.def"
};
extern struct warpspan_real warpspan_real;

/* Acquire pairs with the release in hooks.c that stores what was found. */
#define WARPSPAN_REAL(name) atomic_load_explicit(&warpspan_real.name, memory_order_acquire)

/* Its name as libcuda exports it. */
const char *warpspan_hook_name(enum warpspan_hook hook);
/* Whether stream 0 is the calling thread's own to this form. */
bool warpspan_hook_per_thread(enum warpspan_hook hook);

/* Whether `name` is in the list, exactly. Callable at any time, from any thread; allocates nothing. */
bool warpspan_hook_known(const char *name);

/* A lookup by name found `real` in the library that exports it: returns the wrapper to hand out instead, or `real`.
 * `real` must not be NULL. Allocates nothing, leaves dlerror() alone. */
void *warpspan_hook_for_symbol(const char *name, void *real);

/* The same for cuGetProcAddress. `name` may be NULL or "". */
void *warpspan_hook_for_query(const char *name, int version, cuuint64_t flags, void *real);

/* Whether a wrapper of a launch function was ever handed out or called: launches of the runtime come by there. */
extern atomic_bool warpspan_driver_door_open;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * loader.h - our dlsym() and dlvsym(), and lookups of our own that go past them.
 */
#ifndef WARPSPAN_LOADER_H
#define WARPSPAN_LOADER_H

#include <stdbool.h>

/* dlsym() proper, as if called by us. Callable at any time. */
void *warpspan_loader_find(void *handle, const char *name);
void *warpspan_loader_find_version(void *handle, const char *name, const char *version);

/* The function `name` of the driver, or of another library that stands in front of it after us; NULL: there is none,
 * or it is `not_this`. Leaves no dlerror() of its own. */
void *warpspan_loader_find_driver(const char *name, const void *not_this);

/* Whether `address` is where the object it lies in exports `name`. */
bool warpspan_loader_is_symbol(const void *address, const char *name);

/* Whether libcuda is loaded. */
bool warpspan_loader_has_driver(void);

/* Another library answers dlsym() between us and libc: its file name, or NULL. */
const char *warpspan_loader_other_hooker(void);

#endif

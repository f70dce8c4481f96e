/* SPDX-License-Identifier: Apache-2.0
 *
 * loader.h - our dlsym() and dlvsym(), and lookups of our own that go past them.
 */
#ifndef WARPSPAN_LOADER_H
#define WARPSPAN_LOADER_H

#include <stdbool.h>

/* None of these leaves or takes a text of dlerror(), but warpspan_loader_keep(). */

/* The function `name` of libcuda itself; NULL: there is none. */
void *warpspan_loader_find_in_driver(const char *name);

/* The same, or that of another library that stands in front of it after us. */
void *warpspan_loader_find_driver(const char *name);

/* The function `name` of the CUDA runtime with that soname, or of another library that stands in front of it after us;
 * NULL: there is none. */
void *warpspan_loader_find_runtime(const char *soname, const char *name);

/* The name under which libcuda exports the function at `address`: `name` if that is one of them. NULL: it does not, or
 * the function is not libcuda's. The text is the object's. */
const char *warpspan_loader_exported_as(const void *address, const char *name);

/* Whether libcuda is loaded. */
bool warpspan_loader_has_driver(void);

/* Whether the object that `address` lies in is never unloaded. If it may be, *ret_name is the file's name, for as long
 * as it is loaded. */
bool warpspan_loader_stays(const void *address, const char **ret_name);

/* From now on it is never unloaded. False: no such object is loaded. The calling thread's text of dlerror() is gone. */
bool warpspan_loader_keep(const char *name);

/* Whether the program's lookups come by here: the library was preloaded, or linked with before libc, and not loaded
 * later. */
bool warpspan_loader_in_front(void);

/* Another library answers dlsym() between us and libc: its file name, or NULL. */
const char *warpspan_loader_other_hooker(void);

#endif

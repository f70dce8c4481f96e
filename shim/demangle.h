/* SPDX-License-Identifier: Apache-2.0
 *
 * demangle.h - the name of a kernel as its author wrote it.
 */
#ifndef WARPSPAN_DEMANGLE_H
#define WARPSPAN_DEMANGLE_H

/* The demangled name, or a copy of `name` where it is not a mangled one; NULL: out of memory. The caller frees it. */
char *warpspan_demangle(const char *name);

#endif

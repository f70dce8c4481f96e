/* SPDX-License-Identifier: Apache-2.0
 *
 * object.h - what a loaded object exports, read from its own tables.
 *
 * dlopen() and dlsym() do the same, but forget the text that dlerror() has for the calling thread, which is the
 * program's. Built as freestanding code: no call of libc, so that the loader's first lookup can use it.
 */
#ifndef WARPSPAN_OBJECT_H
#define WARPSPAN_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* Points into the object, which must stay loaded. */
struct warpspan_object {
	ElfW(Addr) base;
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *gnu_hash;         /* one of these two, or both; NULL: absent */
	const uint32_t *plain_hash;       /* what linkers made before, and some still do */
	const ElfW(Half) * versions;      /* for each symbol; NULL: the object has none */
	const ElfW(Verdef) * definitions; /* the versions by name */
	const char *soname;               /* NULL: none */
	bool stays;                       /* linked with -z nodelete */
};

bool warpspan_text_same(const char *a, const char *b);
bool warpspan_text_begins(const char *text, const char *start);

/* False: it exports nothing. */
bool warpspan_object_read(const ElfW(Dyn) * dynamic, ElfW(Addr) base, struct warpspan_object *ret_object);

/* The function it exports under `name`; `version` NULL: the form that is bound by default. NULL: none. */
void *warpspan_object_find(const struct warpspan_object *object, const char *name, const char *version);

#endif

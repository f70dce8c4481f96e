/* SPDX-License-Identifier: Apache-2.0
 *
 * loader.c - the C half of our dlsym() and dlvsym(); the entry stubs are in loader_ARCH.S.
 *
 * glibc takes the meaning of RTLD_NEXT and RTLD_DEFAULT, and the search paths of the caller, from the return address.
 * A function that calls the real dlsym() would therefore change what its callers find. So the stubs leave by a jump,
 * with registers and stack as they came, unless the name is in hooks.def, exactly, and the handle is a real one; only
 * those lookups come here.
 *
 * Our own name hides the real one even from us, so the real functions are found by reading the symbol tables of the
 * objects behind us (object.h): libc's, or those of another preloaded library, so that several stand in a row. Lookups
 * of our own are made in the same way: dlopen() and dlsym() would take the text that dlerror() has for the program.
 *
 * Both are exported under the versions libc has them under, too: another library that is preloaded before us asks for
 * the next dlsym() by one of those.
 *
 * Any thread, any time, also inside other libraries' constructors and inside malloc(): no lock, no allocation, no
 * logging, no getenv() here. And until the real function is found, no call of libc at all: the sanitizers look theirs
 * up through us before even strcmp() works in their processes. Compiled as freestanding code for that reason.
 */
#include "loader.h"

#include "guard.h"
#include "hooks.h"
#include "object.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdint.h>

typedef void *dlsym_function(void *handle, const char *name);
typedef void *dlvsym_function(void *handle, const char *name, const char *version);

/* Read by the stubs; 0 until first used. Only ever go from 0 to one value each. */
extern _Atomic(dlsym_function *) warpspan_real_dlsym;
extern _Atomic(dlvsym_function *) warpspan_real_dlvsym;
_Atomic(dlsym_function *) warpspan_real_dlsym;
_Atomic(dlvsym_function *) warpspan_real_dlvsym;

/* Called by the stubs. */
int warpspan_loader_wanted(const char *name);
void warpspan_loader_resolve(void);
void *warpspan_loader_dlsym(void *handle, const char *name, const void *caller);
void *warpspan_loader_dlvsym(void *handle, const char *name, const char *version, const void *caller);

/* --- the objects of the process --------------------------------------------------------------- */

extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

/* The last of the objects that the program was started with, which are searched in their order and never unloaded. */
static _Atomic(const ElfW(Dyn) *) last_at_start;

struct search {
	const char *name;
	const char *version;       /* NULL: the default one */
	const char *soname;        /* how the names of the objects begin that count wherever they are; NULL: none do */
	const ElfW(Dyn) * dynamic; /* of the object that is asked about; NULL: none */
	bool behind_us;            /* where the walk has come: past the library */
	bool later;                /* past those the program was started with */
	/* What was found. */
	void *next;    /* in the first object behind us, of those from the start: what RTLD_NEXT means to us */
	void *named;   /* in the first that has the soname */
	bool is_named; /* there is one that has it */
	bool stays;    /* the object asked about is never unloaded */
};

static void visit(struct search *search, const ElfW(Dyn) * dynamic, ElfW(Addr) base)
{
	struct warpspan_object object;

	if (dynamic == _DYNAMIC) {
		search->behind_us = true;
	} else if (warpspan_object_read(dynamic, base, &object)) {
		const bool named = search->soname != NULL && object.soname != NULL &&
				   warpspan_text_begins(object.soname, search->soname);
		const bool next = search->behind_us && !search->later;

		if (next && search->next == NULL)
			search->next = warpspan_object_find(&object, search->name, search->version);
		if (named && !search->is_named)
			search->named = warpspan_object_find(&object, search->name, search->version);
		search->is_named = search->is_named || named;
		if (dynamic == search->dynamic)
			search->stays = !search->later || object.stays;
	}
	if (dynamic == atomic_load_explicit(&last_at_start, memory_order_relaxed))
		search->later = true;
}

static int visit_header(struct dl_phdr_info *info, size_t bytes, void *search)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			visit(search, (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
			      info->dlpi_addr);
	return 0;
}

/* Nothing is unloaded meanwhile: dl_iterate_phdr() holds that lock. */
static void walk(struct search *search)
{
	if (atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire) == NULL)
		warpspan_loader_resolve();
	(void)dl_iterate_phdr(visit_header, search);
}

/* --- the next dlsym() ------------------------------------------------------------------------- */

/* The next function of this name after us: libc's, or that of another library that stands in front of it. Walks the
 * loader's own list, without a call. Done once, from our constructor at the latest, when no other thread loads
 * anything. */
static void *find_next(const char *name)
{
	struct search search = { .name = name };
	const ElfW(Dyn) *last = NULL;

	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
		if (map->l_ld == NULL)
			continue;
		visit(&search, map->l_ld, map->l_addr);
		last = map->l_ld;
	}
	if (atomic_load_explicit(&last_at_start, memory_order_relaxed) == NULL)
		atomic_store_explicit(&last_at_start, last, memory_order_relaxed);
	return search.next;
}

static void *find_nothing(void *handle, const char *name)
{
	return NULL;
}

static void *find_no_version(void *handle, const char *name, const char *version)
{
	return NULL;
}

__attribute__((constructor)) void warpspan_loader_resolve(void)
{
	void *real_dlsym = find_next("dlsym");
	void *real_dlvsym = find_next("dlvsym");

	atomic_store_explicit(&warpspan_real_dlvsym,
			      real_dlvsym != NULL ? (dlvsym_function *)real_dlvsym : find_no_version,
			      memory_order_release);
	atomic_store_explicit(&warpspan_real_dlsym, real_dlsym != NULL ? (dlsym_function *)real_dlsym : find_nothing,
			      memory_order_release);
}

bool warpspan_loader_in_front(void)
{
	return atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire) != find_nothing;
}

static const char *last_part(const char *path)
{
	const char *part = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			part = path + 1;
	return part;
}

const char *warpspan_loader_other_hooker(void)
{
	Dl_info info;
	const char *base;

	if (dladdr((void *)atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire), &info) == 0 ||
	    info.dli_fname == NULL)
		return NULL;
	base = last_part(info.dli_fname);
	return warpspan_text_begins(base, "libc.") || warpspan_text_begins(base, "libc-") ||
			       warpspan_text_begins(base, "libdl")
		       ? NULL
		       : info.dli_fname;
}

/* --- the driver, the runtimes ----------------------------------------------------------------- */

#define DRIVER_SONAME "libcuda.so"

static const struct link_map *object_of(const void *address)
{
	Dl_info info;
	struct link_map *map = NULL;

	return dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL && map->l_ld != NULL ? map
														: NULL;
}

/* Whether this is libcuda, whatever the file is called. */
static bool is_driver(const struct link_map *map)
{
	struct warpspan_object object;

	return map != NULL && warpspan_object_read(map->l_ld, map->l_addr, &object) && object.soname != NULL &&
	       warpspan_text_begins(object.soname, DRIVER_SONAME);
}

/* Objects that were made to stay. Each place goes from NULL to one value. */
static _Atomic(const ElfW(Dyn) *) kept[8];
#define N_KEPT (sizeof(kept) / sizeof(kept[0]))

static bool is_kept(const ElfW(Dyn) * dynamic)
{
	for (unsigned i = 0; i < N_KEPT; i++)
		if (atomic_load_explicit(&kept[i], memory_order_relaxed) == dynamic)
			return true;
	return false;
}

bool warpspan_loader_stays(const void *address, const char **ret_name)
{
	const struct link_map *map = object_of(address);
	struct search search = { .name = "" };

	if (map == NULL || is_kept(map->l_ld))
		return true;
	search.dynamic = map->l_ld;
	walk(&search);
	*ret_name = map->l_name;
	return search.stays;
}

bool warpspan_loader_keep(const char *name)
{
	const struct link_map *map = dlopen(name, RTLD_NOLOAD | RTLD_LAZY | RTLD_NODELETE);
	unsigned i = 0;

	if (map == NULL)
		return false;
	while (i < N_KEPT) {
		const ElfW(Dyn) *expected = NULL;

		if (atomic_compare_exchange_strong_explicit(&kept[i], &expected, map->l_ld, memory_order_relaxed,
							    memory_order_relaxed) ||
		    expected == map->l_ld)
			break;
		i++;
	}
	return true;
}

const char *warpspan_loader_exported_as(const void *address, const char *name)
{
	struct warpspan_object object;
	const struct link_map *map = NULL;
	Dl_info info;

	if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || !is_driver(map) ||
	    !warpspan_object_read(map->l_ld, map->l_addr, &object))
		return NULL;
	/* First of all: dladdr() knows one name, of functions that have several. */
	if (warpspan_object_find(&object, name, NULL) == address)
		return name;
	return info.dli_saddr == address ? info.dli_sname : NULL;
}

bool warpspan_loader_has_driver(void)
{
	struct search search = { .name = "cuInit", .soname = DRIVER_SONAME };

	walk(&search);
	return search.is_named;
}

void *warpspan_loader_find_in_driver(const char *name)
{
	struct search search = { .name = name, .soname = DRIVER_SONAME };

	walk(&search);
	return search.named;
}

void *warpspan_loader_find_driver(const char *name)
{
	struct search search = { .name = name, .soname = DRIVER_SONAME };

	walk(&search);
	return search.next != NULL ? search.next : search.named;
}

void *warpspan_loader_find_runtime(const char *soname, const char *name)
{
	struct search search = { .name = name, .version = soname, .soname = soname };

	walk(&search);
	if (search.next != NULL || search.named != NULL)
		return search.next != NULL ? search.next : search.named;
	/* Of another library that stands in front of it, without a version. */
	search = (struct search){ .name = name, .soname = soname };
	walk(&search);
	return search.next != NULL ? search.next : search.named;
}

/* --- lookups the stubs hand over -------------------------------------------------------------- */

int warpspan_loader_wanted(const char *name)
{
	return warpspan_hook_known(name);
}

/* The driver must stay while pointers into it are held, whatever the program does with its handle. A lookup that
 * succeeded has left no text for dlerror(), and neither does this. */
static void keep(const struct link_map *driver, const void *found)
{
	const int program_errno = errno;
	const char *name;

	if (!is_kept(driver->l_ld) && !warpspan_loader_stays(found, &name) && !warpspan_loader_keep(name))
		(void)dlerror();
	errno = program_errno;
}

static void *answer(const char *name, void *found, const void *caller)
{
	const struct link_map *provider = found != NULL ? object_of(found) : NULL;

	if (!is_driver(provider) || is_driver(object_of(caller)))
		return found;
	keep(provider, found);
	return warpspan_hook_for_symbol(name, found);
}

static void *find(void *handle, const char *name)
{
	dlsym_function *real = atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire);

	if (real == NULL) {
		warpspan_loader_resolve();
		real = atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire);
	}
	return real(handle, name);
}

static void *find_version(void *handle, const char *name, const char *version)
{
	dlvsym_function *real = atomic_load_explicit(&warpspan_real_dlvsym, memory_order_acquire);

	if (real == NULL) {
		warpspan_loader_resolve();
		real = atomic_load_explicit(&warpspan_real_dlvsym, memory_order_acquire);
	}
	return real(handle, name, version);
}

void *warpspan_loader_dlsym(void *handle, const char *name, const void *caller)
{
	return answer(name, find(handle, name), caller);
}

void *warpspan_loader_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
	return answer(name, find_version(handle, name, version), caller);
}

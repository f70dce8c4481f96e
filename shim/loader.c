/* SPDX-License-Identifier: Apache-2.0
 *
 * loader.c - the C half of our dlsym() and dlvsym(); the entry stubs are in loader_ARCH.S.
 *
 * glibc takes the meaning of RTLD_NEXT and RTLD_DEFAULT, and the search paths of the caller, from the return address.
 * A function that calls the real dlsym() would therefore change what its callers find. So the stubs leave by a jump,
 * with registers and stack as they came, unless the name is in hooks.def, exactly, and the handle is a real one; only
 * those lookups come here.
 *
 * Our own name hides the real one even from us, so the first real function is found by reading libc's symbol table
 * (there is no other interface since glibc 2.34). It then finds the next dlsym() after us, which is libc's or that of
 * another preloaded library, so that several stand in a row.
 *
 * Any thread, any time, also inside other libraries' constructors and inside malloc(): no lock, no allocation, no
 * logging, no getenv() here. And until the real function is found, no call of libc at all: the sanitizers look theirs
 * up through us before even strcmp() works in their processes. Compiled as freestanding code for that reason.
 */
#include "loader.h"

#include "guard.h"
#include "hooks.h"

#include <dlfcn.h>
#include <elf.h>
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

/* --- text without libc ------------------------------------------------------------------------ */

static bool same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static bool begins_with(const char *text, const char *start)
{
	while (*start != '\0' && *text == *start) {
		text++;
		start++;
	}
	return *start == '\0';
}

static const char *last_part(const char *path)
{
	const char *part = path;

	for (; *path != '\0'; path++)
		if (*path == '/')
			part = path + 1;
	return part;
}

/* --- the first real function ------------------------------------------------------------------ */

struct symbol_table {
	const ElfW(Sym) * symbols;
	const char *strings;
	const uint32_t *hash; /* DT_GNU_HASH */
	const char *soname;
};

static bool read_dynamic(const ElfW(Dyn) * dynamic, ElfW(Addr) base, struct symbol_table *ret)
{
	const ElfW(Dyn) *soname = NULL;

	*ret = (struct symbol_table){ .symbols = NULL };
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		/* glibc has relocated these pointers, except in objects it mapped read-only. */
		const ElfW(Addr) pointer =
			dynamic->d_un.d_ptr < base ? base + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr;

		if (dynamic->d_tag == DT_SYMTAB)
			ret->symbols = (const ElfW(Sym) *)pointer;
		else if (dynamic->d_tag == DT_STRTAB)
			ret->strings = (const char *)pointer;
		else if (dynamic->d_tag == DT_GNU_HASH)
			ret->hash = (const uint32_t *)pointer;
		else if (dynamic->d_tag == DT_SONAME)
			soname = dynamic;
	}
	if (soname != NULL && ret->strings != NULL)
		ret->soname = ret->strings + soname->d_un.d_val;
	return ret->symbols != NULL && ret->strings != NULL;
}

static void *find_in_table(const struct symbol_table *table, ElfW(Addr) base, const char *name)
{
	const uint32_t n_buckets = table->hash[0];
	const uint32_t first = table->hash[1];
	const uint32_t n_words = table->hash[2];
	const uint32_t *buckets = table->hash + 4 + n_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + n_buckets;
	uint32_t hash = 5381;

	for (const char *at = name; *at != '\0'; at++)
		hash = hash * 33 + (unsigned char)*at;
	if (n_buckets == 0)
		return NULL;
	for (uint32_t i = buckets[hash % n_buckets]; i >= first && i != 0; i++) {
		const uint32_t entry = chain[i - first];
		const ElfW(Sym) *symbol = &table->symbols[i];

		if ((entry | 1) == (hash | 1) && symbol->st_value != 0 && same(table->strings + symbol->st_name, name))
			return (void *)(base + symbol->st_value);
		if ((entry & 1) != 0)
			break;
	}
	return NULL;
}

/* Walks the loader's own list. Done once, from our constructor at the latest, when no other thread loads anything. */
static void *find_in_libc(const char *name)
{
	for (const struct link_map *map = _r_debug.r_map; map != NULL; map = map->l_next) {
		struct symbol_table table;
		void *found;

		if (map->l_ld == NULL || !read_dynamic(map->l_ld, map->l_addr, &table) || table.soname == NULL ||
		    table.hash == NULL)
			continue;
		/* Before glibc 2.34 both live in libdl. */
		if (!begins_with(table.soname, "libc.so.") && !begins_with(table.soname, "libdl.so."))
			continue;
		found = find_in_table(&table, map->l_addr, name);
		if (found != NULL)
			return found;
	}
	return NULL;
}

static void *find_nothing(void *handle, const char *name)
{
	return NULL;
}

static void *find_no_version(void *handle, const char *name, const char *version)
{
	return NULL;
}

/* The next function of this name after us: libc's, or that of another library that stands in front of it. */
static void *find_next(dlvsym_function *libc_dlvsym, const char *name)
{
	/* 2.34 moved them to libc; 2.2.5 and 2.17 are where x86-64 and aarch64 began. */
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17" };
	void *libc_dlsym = NULL;

	for (unsigned i = 0; i < sizeof(versions) / sizeof(versions[0]) && libc_dlsym == NULL; i++)
		libc_dlsym = libc_dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (libc_dlsym == NULL)
		return NULL;
	/* Without a version, as others export it. */
	return ((dlsym_function *)libc_dlsym)(RTLD_NEXT, name);
}

__attribute__((constructor)) void warpspan_loader_resolve(void)
{
	dlvsym_function *libc_dlvsym = (dlvsym_function *)find_in_libc("dlvsym");
	void *real_dlsym = NULL;
	void *real_dlvsym = NULL;

	if (libc_dlvsym != NULL) {
		real_dlsym = find_next(libc_dlvsym, "dlsym");
		real_dlvsym = find_next(libc_dlvsym, "dlvsym");
	}
	atomic_store_explicit(&warpspan_real_dlvsym,
			      real_dlvsym != NULL ? (dlvsym_function *)real_dlvsym : find_no_version,
			      memory_order_release);
	atomic_store_explicit(&warpspan_real_dlsym, real_dlsym != NULL ? (dlsym_function *)real_dlsym : find_nothing,
			      memory_order_release);
}

void *warpspan_loader_find(void *handle, const char *name)
{
	dlsym_function *real = atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire);

	if (real == NULL) {
		warpspan_loader_resolve();
		real = atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire);
	}
	return real(handle, name);
}

void *warpspan_loader_find_version(void *handle, const char *name, const char *version)
{
	dlvsym_function *real = atomic_load_explicit(&warpspan_real_dlvsym, memory_order_acquire);

	if (real == NULL) {
		warpspan_loader_resolve();
		real = atomic_load_explicit(&warpspan_real_dlvsym, memory_order_acquire);
	}
	return real(handle, name, version);
}

const char *warpspan_loader_other_hooker(void)
{
	Dl_info info;
	const char *base;

	if (dladdr((void *)atomic_load_explicit(&warpspan_real_dlsym, memory_order_acquire), &info) == 0 ||
	    info.dli_fname == NULL)
		return NULL;
	base = last_part(info.dli_fname);
	return begins_with(base, "libc.") || begins_with(base, "libc-") || begins_with(base, "libdl") ? NULL
												      : info.dli_fname;
}

/* --- the driver ------------------------------------------------------------------------------- */

#define DRIVER_SONAME        "libcuda.so.1"
#define DRIVER_SONAME_PREFIX "libcuda.so"

/* Whether the code at `address` is libcuda's, whatever the file is called. */
static bool in_driver(const void *address)
{
	Dl_info info;
	struct link_map *map = NULL;
	struct symbol_table table;

	if (dladdr1(address, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_ld == NULL)
		return false;
	return read_dynamic(map->l_ld, map->l_addr, &table) && table.soname != NULL &&
	       begins_with(table.soname, DRIVER_SONAME_PREFIX);
}

bool warpspan_loader_is_symbol(const void *address, const char *name)
{
	Dl_info info;

	return dladdr(address, &info) != 0 && info.dli_saddr == address && info.dli_sname != NULL &&
	       same(info.dli_sname, name);
}

bool warpspan_loader_has_driver(void)
{
	void *handle = dlopen(DRIVER_SONAME, RTLD_NOLOAD | RTLD_LAZY);

	if (handle == NULL) {
		(void)dlerror();
		return false;
	}
	(void)dlclose(handle);
	return true;
}

void *warpspan_loader_find_driver(const char *name, const void *not_this)
{
	void *found = warpspan_loader_find(RTLD_NEXT, name);
	void *handle;

	if (found != NULL && found != not_this)
		return found;
	/* Loaded with RTLD_LOCAL. The handle is kept: the driver is never unloaded in practice, and must not be while
	 * pointers into it are held. */
	handle = dlopen(DRIVER_SONAME, RTLD_NOLOAD | RTLD_LAZY);
	found = handle != NULL ? warpspan_loader_find(handle, name) : NULL;
	(void)dlerror(); /* the failed lookup was ours, not the program's */
	return found != not_this ? found : NULL;
}

/* --- lookups the stubs hand over -------------------------------------------------------------- */

int warpspan_loader_wanted(const char *name)
{
	return warpspan_hook_known(name);
}

static void *answer(const char *name, void *found, const void *caller)
{
	if (found == NULL || !in_driver(found) || in_driver(caller))
		return found;
	return warpspan_hook_for_symbol(name, found);
}

void *warpspan_loader_dlsym(void *handle, const char *name, const void *caller)
{
	return answer(name, warpspan_loader_find(handle, name), caller);
}

void *warpspan_loader_dlvsym(void *handle, const char *name, const char *version, const void *caller)
{
	return answer(name, warpspan_loader_find_version(handle, name, version), caller);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * object.c - what a loaded object exports. See object.h.
 *
 * Any thread, any time. The object must not go away meanwhile: callers come from dl_iterate_phdr(), which holds the
 * lock that unloading takes, or from a time when nothing is unloaded.
 */
#include "object.h"

#include <elf.h>
#include <stddef.h>

#define VERSION_HIDDEN ((ElfW(Half))0x8000)
#define VERSION_INDEX  ((ElfW(Half))0x7fff)

bool warpspan_text_same(const char *a, const char *b)
{
	while (*a != '\0' && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

bool warpspan_text_begins(const char *text, const char *start)
{
	while (*start != '\0' && *text == *start) {
		text++;
		start++;
	}
	return *start == '\0';
}

bool warpspan_object_read(const ElfW(Dyn) * dynamic, ElfW(Addr) base, struct warpspan_object *ret_object)
{
	const ElfW(Dyn) *soname = NULL;

	*ret_object = (struct warpspan_object){ .base = base };
	for (; dynamic->d_tag != DT_NULL; dynamic++) {
		/* glibc has relocated most of these pointers, but not all, and none in objects it mapped read-only. */
		const ElfW(Addr) pointer =
			dynamic->d_un.d_ptr < base ? base + dynamic->d_un.d_ptr : dynamic->d_un.d_ptr;

		if (dynamic->d_tag == DT_SYMTAB)
			ret_object->symbols = (const ElfW(Sym) *)pointer;
		else if (dynamic->d_tag == DT_STRTAB)
			ret_object->strings = (const char *)pointer;
		else if (dynamic->d_tag == DT_GNU_HASH)
			ret_object->gnu_hash = (const uint32_t *)pointer;
		else if (dynamic->d_tag == DT_HASH)
			ret_object->plain_hash = (const uint32_t *)pointer;
		else if (dynamic->d_tag == DT_VERSYM)
			ret_object->versions = (const ElfW(Half) *)pointer;
		else if (dynamic->d_tag == DT_VERDEF)
			ret_object->definitions = (const ElfW(Verdef) *)pointer;
		else if (dynamic->d_tag == DT_FLAGS_1)
			ret_object->stays = (dynamic->d_un.d_val & DF_1_NODELETE) != 0;
		else if (dynamic->d_tag == DT_SONAME)
			soname = dynamic;
	}
	if (soname != NULL && ret_object->strings != NULL)
		ret_object->soname = ret_object->strings + soname->d_un.d_val;
	return ret_object->symbols != NULL && ret_object->strings != NULL &&
	       (ret_object->gnu_hash != NULL || ret_object->plain_hash != NULL);
}

/* The number symbols of this version carry; 0: the object does not define it. */
static ElfW(Half) version_number(const struct warpspan_object *object, const char *version)
{
	const ElfW(Verdef) *definition = object->definitions;

	while (definition != NULL) {
		const ElfW(Verdaux) *name = (const ElfW(Verdaux) *)((const char *)definition + definition->vd_aux);

		/* The base definition is the object's own name, not a version. */
		if ((definition->vd_flags & VER_FLG_BASE) == 0 &&
		    warpspan_text_same(object->strings + name->vda_name, version))
			return definition->vd_ndx & VERSION_INDEX;
		definition = definition->vd_next != 0
				     ? (const ElfW(Verdef) *)((const char *)definition + definition->vd_next)
				     : NULL;
	}
	return 0;
}

/* `number` 0: the form that is bound by default. */
static bool is_function(const struct warpspan_object *object, uint32_t index, const char *name, ElfW(Half) number)
{
	const ElfW(Sym) *symbol = &object->symbols[index];
	const unsigned type = symbol->st_info & 0xf;

	/* Not one that only has an entry to be called by; and not one that is chosen by a call (STT_GNU_IFUNC). */
	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0 || (type != STT_FUNC && type != STT_NOTYPE) ||
	    !warpspan_text_same(object->strings + symbol->st_name, name))
		return false;
	if (number != 0)
		return (object->versions[index] & VERSION_INDEX) == number;
	return object->versions == NULL || (object->versions[index] & VERSION_HIDDEN) == 0;
}

static uint32_t find_by_gnu_hash(const struct warpspan_object *object, const char *name, ElfW(Half) number)
{
	const uint32_t *table = object->gnu_hash;
	const uint32_t n_buckets = table[0], first = table[1], n_words = table[2];
	const uint32_t *buckets = table + 4 + n_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	const uint32_t *chain = buckets + n_buckets;
	uint32_t hash = 5381;

	for (const char *at = name; *at != '\0'; at++)
		hash = hash * 33 + (unsigned char)*at;
	if (n_buckets == 0)
		return 0;
	for (uint32_t i = buckets[hash % n_buckets]; i >= first && i != 0; i++) {
		const uint32_t entry = chain[i - first];

		if ((entry | 1) == (hash | 1) && is_function(object, i, name, number))
			return i;
		if ((entry & 1) != 0)
			break;
	}
	return 0;
}

static uint32_t find_by_plain_hash(const struct warpspan_object *object, const char *name, ElfW(Half) number)
{
	const uint32_t *table = object->plain_hash;
	const uint32_t n_buckets = table[0];
	const uint32_t *buckets = table + 2;
	const uint32_t *chain = buckets + n_buckets;
	uint32_t hash = 0;

	for (const char *at = name; *at != '\0'; at++) {
		hash = (hash << 4) + (unsigned char)*at;
		hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
	}
	if (n_buckets == 0)
		return 0;
	for (uint32_t i = buckets[hash % n_buckets]; i != 0; i = chain[i])
		if (is_function(object, i, name, number))
			return i;
	return 0;
}

void *warpspan_object_find(const struct warpspan_object *object, const char *name, const char *version)
{
	ElfW(Half) number = 0;
	uint32_t index;

	if (version != NULL) {
		number = object->versions != NULL ? version_number(object, version) : 0;
		if (number == 0)
			return NULL;
	}
	index = object->gnu_hash != NULL ? find_by_gnu_hash(object, name, number)
					 : find_by_plain_hash(object, name, number);
	return index != 0 ? (void *)(object->base + object->symbols[index].st_value) : NULL;
}

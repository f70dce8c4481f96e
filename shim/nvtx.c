/* SPDX-License-Identifier: Apache-2.0
 *
 * nvtx.c - NVTX's calls. See nvtx.h.
 *
 * Any thread of the program, at any time after the copy of NVTX was initialised. What is not the range of the name
 * returns what it returns without a tool; nothing is allocated, and the program's settings are not prepared: a program
 * that forks before its first range of the name is recorded in the child as if there had been none.
 */
#include "nvtx.h"

#include "guard.h"
#include "loader.h"
#include "log.h"
#include "nvtx_abi.h"
#include "ranges.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INJECTION "NVTX_INJECTION64_PATH"

/* Constant once the first copy of NVTX has come by. */
static bool wanted; /* WARPSPAN_START=nvtx:NAME, and the library is preloaded */
static char name[WARPSPAN_RANGE_NAME_BYTES];

static atomic_bool came;    /* a copy of NVTX */
static atomic_bool matched; /* a range had the name */

/* Nested calls come from signal handlers that interrupt the library. */
static bool is_ours(void)
{
	return warpspan_thread.depth == 0 && !atomic_load_explicit(&warpspan_off, memory_order_relaxed);
}

/* --- names ------------------------------------------------------------------------------------ */

/* FNV-1a. Never 0. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text != '\0'; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash != 0 ? hash : 1;
}

/* The place of a text in a set of texts, which it is put into; NULL: there is no room. *ret_new: it was put there. */
static _Atomic uint64_t *place_of(_Atomic uint64_t *set, unsigned n, const char *text, bool *ret_new)
{
	const uint64_t hash = hash_of(text);

	*ret_new = false;
	for (unsigned i = 0; i < n; i++) {
		uint64_t there = atomic_load_explicit(&set[i], memory_order_relaxed);

		if (there == 0 && atomic_compare_exchange_strong_explicit(&set[i], &there, hash, memory_order_relaxed,
									  memory_order_relaxed)) {
			*ret_new = true;
			return &set[i];
		}
		if (there == hash)
			return &set[i];
	}
	return NULL;
}

/* Names of other ranges: if none has the name in the end, these are said. */
#define MOST_NAMES 12u

static _Atomic uint64_t other_names[MOST_NAMES];
static struct {
	atomic_bool ready;
	char text[WARPSPAN_SHOWN_BYTES];
} others[MOST_NAMES];
static atomic_bool more_names;

static void note_other(const char *text)
{
	_Atomic uint64_t *place;
	bool new;

	if (atomic_load_explicit(&matched, memory_order_relaxed) ||
	    atomic_load_explicit(&more_names, memory_order_relaxed))
		return;
	place = place_of(other_names, MOST_NAMES, text, &new);
	if (place == NULL)
		atomic_store_explicit(&more_names, true, memory_order_relaxed);
	if (!new)
		return;
	(void)warpspan_settings_shown(text, &others[place - other_names].text);
	/* Release pairs with the acquire of list_others(). */
	atomic_store_explicit(&others[place - other_names].ready, true, memory_order_release);
}

static void list_others(char *to, size_t bytes)
{
	size_t used = 0;

	to[0] = '\0';
	for (unsigned i = 0; i < MOST_NAMES && used < bytes; i++)
		if (atomic_load_explicit(&others[i].ready, memory_order_acquire))
			used += (size_t)snprintf(to + used, bytes - used, "%s'%s'", used != 0 ? ", " : "",
						 others[i].text);
	if (used < bytes && atomic_load_explicit(&more_names, memory_order_relaxed))
		(void)snprintf(to + used, bytes - used, ", ...");
}

/* --- messages --------------------------------------------------------------------------------- */

/* Longer than any NAME: what is cut equals none. */
struct utf8 {
	char text[WARPSPAN_RANGE_NAME_BYTES + 8];
};

static size_t encode(uint32_t character, char to[4])
{
	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000))
		character = 0xfffd;
	if (character < 0x80) {
		to[0] = (char)character;
		return 1;
	}
	if (character < 0x800) {
		to[0] = (char)(0xc0 | character >> 6);
		to[1] = (char)(0x80 | (character & 0x3f));
		return 2;
	}
	if (character < 0x10000) {
		to[0] = (char)(0xe0 | character >> 12);
		to[1] = (char)(0x80 | (character >> 6 & 0x3f));
		to[2] = (char)(0x80 | (character & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | character >> 18);
	to[1] = (char)(0x80 | (character >> 12 & 0x3f));
	to[2] = (char)(0x80 | (character >> 6 & 0x3f));
	to[3] = (char)(0x80 | (character & 0x3f));
	return 4;
}

/* NULL stays NULL. */
static const char *to_utf8(const wchar_t *wide, struct utf8 *ret)
{
	size_t used = 0;

	if (wide == NULL)
		return NULL;
	for (; *wide != L'\0' && used + 4 < sizeof(ret->text); wide++)
		used += encode((uint32_t)*wide, ret->text + used);
	ret->text[used] = '\0';
	return ret->text;
}

/* What domain_register() returns for the name. A range of any other registered name is none of ours. */
static const char registered;

static bool is_name(const char *text)
{
	if (text == NULL)
		return false;
	if (strcmp(text, name) == 0)
		return true;
	note_other(text);
	return false;
}

static bool is_wide_name(const wchar_t *wide)
{
	struct utf8 utf8;

	return is_name(to_utf8(wide, &utf8));
}

static bool has_name(const struct warpspan_nvtx_attributes *attributes)
{
	if (attributes == NULL || attributes->bytes < sizeof(*attributes))
		return false;
	switch (attributes->message_type) {
	case WARPSPAN_NVTX_MESSAGE_ASCII:
		return is_name(attributes->message.ascii);
	case WARPSPAN_NVTX_MESSAGE_WIDE:
		return is_wide_name(attributes->message.wide);
	case WARPSPAN_NVTX_MESSAGE_REGISTERED:
		return attributes->message.registered == &registered;
	default:
		return false;
	}
}

/* --- what NVTX calls -------------------------------------------------------------------------- */

static void note_match(bool named)
{
	if (named && !atomic_load_explicit(&matched, memory_order_relaxed))
		atomic_store_explicit(&matched, true, memory_order_relaxed);
}

static int push(const void *domain, bool named)
{
	note_match(named);
	warpspan_ranges_push(domain, named);
	return WARPSPAN_NVTX_NOT_COUNTED;
}

static uint64_t start(bool named)
{
	note_match(named);
	return named ? warpspan_ranges_start() : 0;
}

static int range_push(const char *message)
{
	return is_ours() ? push(NULL, is_name(message)) : WARPSPAN_NVTX_NOT_COUNTED;
}

static int range_push_wide(const wchar_t *message)
{
	return is_ours() ? push(NULL, is_wide_name(message)) : WARPSPAN_NVTX_NOT_COUNTED;
}

static int domain_range_push_ex(const void *domain, const struct warpspan_nvtx_attributes *attributes)
{
	return is_ours() ? push(domain, has_name(attributes)) : WARPSPAN_NVTX_NOT_COUNTED;
}

static int range_push_ex(const struct warpspan_nvtx_attributes *attributes)
{
	return domain_range_push_ex(NULL, attributes);
}

static int domain_range_pop(const void *domain)
{
	if (is_ours())
		warpspan_ranges_pop(domain);
	return WARPSPAN_NVTX_NOT_COUNTED;
}

static int range_pop(void)
{
	return domain_range_pop(NULL);
}

static uint64_t range_start(const char *message)
{
	return is_ours() ? start(is_name(message)) : 0;
}

static uint64_t range_start_wide(const wchar_t *message)
{
	return is_ours() ? start(is_wide_name(message)) : 0;
}

static uint64_t range_start_ex(const struct warpspan_nvtx_attributes *attributes)
{
	return is_ours() ? start(has_name(attributes)) : 0;
}

static uint64_t domain_range_start_ex(const void *domain, const struct warpspan_nvtx_attributes *attributes)
{
	return range_start_ex(attributes);
}

static void range_end(uint64_t number)
{
	if (is_ours())
		warpspan_ranges_end(number);
}

static void domain_range_end(const void *domain, uint64_t number)
{
	range_end(number);
}

static const void *domain_register(const void *domain, const char *text)
{
	return is_name(text) ? &registered : NULL;
}

static const void *domain_register_wide(const void *domain, const wchar_t *text)
{
	return is_wide_name(text) ? &registered : NULL;
}

/* Domains are told apart so that a pop in one does not end a range of another. Those of the same name are one; beyond
 * these, they share the stack of the default one. */
#define MOST_DOMAINS 256u
static _Atomic uint64_t domains[MOST_DOMAINS];

static const void *domain_create(const char *text)
{
	bool new;

	return text != NULL ? place_of(domains, MOST_DOMAINS, text, &new) : NULL;
}

static const void *domain_create_wide(const wchar_t *text)
{
	struct utf8 utf8;

	return domain_create(to_utf8(text, &utf8));
}

/* --- becoming the tool ------------------------------------------------------------------------ */

static void read_wanted(void)
{
	struct warpspan_settings *settings = malloc(sizeof(*settings));

	if (settings == NULL)
		return; /* as if it were not wanted: what the program does next fails for the same reason */
	warpspan_settings_read(settings, NULL, NULL);
	wanted = settings->start.mode == WARPSPAN_START_NVTX;
	memcpy(name, settings->start.range, sizeof(name));
	warpspan_ranges_init(name);
	if (wanted && !warpspan_loader_in_front()) {
		wanted = false;
		warpspan_log_set_level(settings->log); /* nobody else will */
		warpspan_error("NVTX has loaded the library, but it is not preloaded: nothing is recorded. LD_PRELOAD "
			       "must name it, too");
	}
	free(settings);
}

static void install_one(const struct warpspan_nvtx_callbacks *callbacks, int module, unsigned place,
			warpspan_nvtx_function ours)
{
	warpspan_nvtx_function **places = NULL;
	unsigned n = 0;

	/* An older NVTX has fewer. */
	if (callbacks->get_module(module, &places, &n) != 0 && places != NULL && place < n && places[place] != NULL)
		*places[place] = ours;
}

static bool install(warpspan_nvtx_get_table *get_table)
{
	const struct warpspan_nvtx_callbacks *callbacks = get_table(WARPSPAN_NVTX_TABLE_CALLBACKS);
	const struct warpspan_nvtx_version *version = get_table(WARPSPAN_NVTX_TABLE_VERSION);

	if (callbacks == NULL || callbacks->bytes < sizeof(*callbacks) || callbacks->get_module == NULL) {
		warpspan_error(
			"this copy of NVTX is of a kind that the library does not know: its ranges are not seen");
		return false;
	}
	if (version != NULL && version->bytes >= sizeof(*version) && version->set_of_tool != NULL)
		version->set_of_tool(WARPSPAN_NVTX_VERSION);
#define WARPSPAN_X(module, place, in_nvtx, ours) \
	install_one(callbacks, WARPSPAN_NVTX_MODULE_##module, place, (warpspan_nvtx_function)ours);
	WARPSPAN_NVTX_CALLBACKS(WARPSPAN_X)
#undef WARPSPAN_X
	return true;
}

/* 1: the library is this copy's tool; 0: as if there were none. */
WARPSPAN_EXPORT int InitializeInjectionNvtx2(warpspan_nvtx_get_table *get_table);
WARPSPAN_EXPORT int InitializeInjectionNvtx2(warpspan_nvtx_get_table *get_table)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const int saved_errno = errno;
	int result = 0;

	if (is_ours() && get_table != NULL) {
		(void)pthread_once(&once, read_wanted);
		atomic_store_explicit(&came, true, memory_order_relaxed);
		result = wanted && install(get_table);
	}
	errno = saved_errno;
	return result;
}

/* What a copy compiled with NVTX_SUPPORT_ALREADY_INJECTED_LIBRARY looks for. */
WARPSPAN_EXPORT int InitializeInjectionNvtx2Preinject(warpspan_nvtx_get_table *get_table);
WARPSPAN_EXPORT int InitializeInjectionNvtx2Preinject(warpspan_nvtx_get_table *get_table)
{
	return InitializeInjectionNvtx2(get_table);
}

/* --- what is said ----------------------------------------------------------------------------- */

/* As the loader knows the library: what LD_PRELOAD says. */
static const char *own_path(void)
{
	Dl_info info;

	return dladdr((const void *)InitializeInjectionNvtx2, &info) != 0 && info.dli_fname != NULL ? info.dli_fname
												    : "";
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat of_a, of_b;

	return strcmp(a, b) == 0 ||
	       (stat(a, &of_a) == 0 && stat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev && of_a.st_ino == of_b.st_ino);
}

/* The tool that NVTX loads instead of us; NULL: none. */
static const char *other_tool(void)
{
	const char *path = getenv(INJECTION);

	return path != NULL && !is_same_file(path, own_path()) ? path : NULL;
}

static bool waits(const struct warpspan_settings *settings)
{
	return settings->start.mode == WARPSPAN_START_NVTX && !atomic_load_explicit(&matched, memory_order_relaxed);
}

void warpspan_nvtx_awake(const struct warpspan_settings *settings)
{
	const int saved_errno = errno;
	const char *other = waits(settings) && !atomic_load_explicit(&came, memory_order_relaxed) ? other_tool() : NULL;

	if (other != NULL)
		warpspan_warn("NVTX is taken: " INJECTION
			      "='%s'. WARPSPAN_START=nvtx:%s sees no range and starts nothing",
			      other, settings->start.range);
	errno = saved_errno;
}

bool warpspan_nvtx_say_unmatched(const struct warpspan_settings *settings)
{
	const char *range = settings->start.range;
	char names[MOST_NAMES * (WARPSPAN_SHOWN_BYTES + 4)], path[PATH_MAX];

	if (!waits(settings))
		return false;
	list_others(names, sizeof(names));
	if (names[0] != '\0')
		warpspan_warn("nothing was recorded: no NVTX range had the name '%s'; there were %s", range, names);
	else if (atomic_load_explicit(&came, memory_order_relaxed))
		warpspan_warn("nothing was recorded: no NVTX range had the name '%s', nor any other", range);
	else if (getenv(INJECTION) == NULL)
		warpspan_warn(
			"nothing was recorded: no NVTX call was seen (WARPSPAN_START=nvtx:%s); NVTX finds the library "
			"by export " INJECTION "=%s (warpspan run does that)",
			range, realpath(own_path(), path) != NULL ? path : own_path());
	else if (other_tool() == NULL)
		warpspan_warn("nothing was recorded: the program made no NVTX call (WARPSPAN_START=nvtx:%s)", range);
	else
		return false;
	return true;
}

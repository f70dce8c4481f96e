/* SPDX-License-Identifier: Apache-2.0
 *
 * hooks.c - real functions, the stubs they start at, and the closed tables by name.
 *
 * Called from dlsym() and cuGetProcAddress() of any thread, possibly before our constructor and inside other
 * libraries' constructors: no lock, no allocation, no logging here. Races store the same pointer twice.
 */
#include "hooks.h"

#include "counters.h"
#include "loader.h"
#include "pin.h"

#include <string.h>

atomic_bool warpspan_driver_door_open;

enum stream_kind {
	STREAM_ANY,
	STREAM_PTSZ,
};

/* What the loop over all hooks needs to know of each. */
struct hook {
	const char *name;  /* as libcuda exports it */
	const char *asked; /* as cuGetProcAddress is asked */
	int version;       /* first driver version with this form */
	enum stream_kind stream;
	void *wrapper;
};

static const struct hook hooks[WARPSPAN_N_HOOKS] = {
#define WARPSPAN_HOOK(name, asked, version, stream, ...) { #name, asked, version, STREAM_##stream, (void *)&name },
#include "hooks.def"
};

/* Release pairs with the acquire of WARPSPAN_REAL. */
static void store_real(enum warpspan_hook hook, void *real)
{
	switch (hook) {
#define WARPSPAN_HOOK(name, ...)                                                                           \
	case WARPSPAN_HOOK_##name:                                                                         \
		atomic_store_explicit(&warpspan_real.name, (__typeof__(&name))real, memory_order_release); \
		break;
#include "hooks.def"
	case WARPSPAN_N_HOOKS:
		break;
	}
}

/* --- stubs ------------------------------------------------------------------------------------ */

/* A wrapper was called that nobody looked up: by a program linked with libcuda, or one whose lookup we missed. NULL:
 * no driver is loaded (asked again next time). */
static void *find_real(enum warpspan_hook hook, void *unsupported)
{
	void *real = warpspan_loader_find_driver(hooks[hook].name);

	if (real == NULL) {
		if (!warpspan_loader_has_driver())
			return NULL;
		real = unsupported;
	}
	warpspan_pin(real);
	store_real(hook, real);
	return real;
}

#define WARPSPAN_HOOK(name, asked, version, stream, parameters, arguments, before, after, purpose)       \
	static CUresult CUDAAPI unsupported_##name parameters                                            \
	{                                                                                                \
		return CUDA_ERROR_NOT_SUPPORTED;                                                         \
	}                                                                                                \
	static CUresult CUDAAPI first_##name parameters                                                  \
	{                                                                                                \
		__typeof__(&name) real =                                                                 \
			(__typeof__(&name))find_real(WARPSPAN_HOOK_##name, (void *)&unsupported_##name); \
		return real != NULL ? real arguments : CUDA_ERROR_NOT_INITIALIZED;                       \
	}
#include "hooks.def"

struct warpspan_real warpspan_real = {
#define WARPSPAN_HOOK(name, ...) .name = first_##name,
#include "hooks.def"
};

/* --- tables ----------------------------------------------------------------------------------- */

static bool is_launch(enum warpspan_hook hook)
{
	return strncmp(hooks[hook].name, "cuLaunch", strlen("cuLaunch")) == 0;
}

static void *exchange(enum warpspan_hook hook, void *real)
{
	if (real == hooks[hook].wrapper)
		return real;
	store_real(hook, real);
	if (is_launch(hook))
		atomic_store_explicit(&warpspan_driver_door_open, true, memory_order_relaxed);
	return hooks[hook].wrapper;
}

const char *warpspan_hook_name(enum warpspan_hook hook)
{
	return hooks[hook].name;
}

bool warpspan_hook_per_thread(enum warpspan_hook hook)
{
	return hooks[hook].stream == STREAM_PTSZ;
}

bool warpspan_hook_known(const char *name)
{
	for (unsigned i = 0; i < WARPSPAN_N_HOOKS; i++)
		if (strcmp(hooks[i].name, name) == 0)
			return true;
	return false;
}

void *warpspan_hook_for_symbol(const char *name, void *real)
{
	for (unsigned i = 0; i < WARPSPAN_N_HOOKS; i++)
		if (strcmp(hooks[i].name, name) == 0)
			return exchange((enum warpspan_hook)i, real);
	return real;
}

/* `hook` is the form that a driver as new as the caller gives. A driver that exports what it gave says what it is: an
 * older form, of an older driver, or a function that cuda.h renames (cuGraphInstantiate, since 12.0). */
static void *exchange_answer(enum warpspan_hook hook, int version, void *real)
{
	const char *exported = warpspan_loader_exported_as(real, hooks[hook].name);

	if (exported != NULL && strcmp(exported, hooks[hook].name) != 0) {
		if (!warpspan_hook_known(exported))
			warpspan_count(WARPSPAN_COUNTER_newer_entry_points, 1);
		return warpspan_hook_for_symbol(exported, real);
	}
	/* A caller newer than the headers we were compiled with may have been given a form we do not know, with other
	 * parameters. */
	if (exported == NULL && version > CUDA_VERSION) {
		warpspan_count(WARPSPAN_COUNTER_newer_entry_points, 1);
		return real;
	}
	return exchange(hook, real);
}

void *warpspan_hook_for_query(const char *name, int version, cuuint64_t flags, void *real)
{
	const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
	int best = -1;

	if (name == NULL || name[0] == '\0')
		return real;
	/* The newest form the caller's version allows; of two of the same age, the one for its default stream. */
	for (int i = 0; i < WARPSPAN_N_HOOKS; i++) {
		const struct hook *hook = &hooks[i];

		if (hook->version > version || (hook->stream == STREAM_PTSZ && !per_thread) ||
		    strcmp(hook->asked, name) != 0)
			continue;
		if (best < 0 || hook->version > hooks[best].version ||
		    (hook->version == hooks[best].version && hook->stream == STREAM_PTSZ))
			best = i;
	}
	if (best < 0)
		return real;
	return exchange_answer((enum warpspan_hook)best, version, real);
}

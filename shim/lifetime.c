/* SPDX-License-Identifier: Apache-2.0
 *
 * lifetime.c - ends of contexts, modules and libraries. See lifetime.h.
 */
#include "lifetime.h"

#include "arena.h"
#include "collector.h"
#include "driver.h"
#include "log.h"
#include "quiesce.h"
#include "registry.h"
#include "session.h"
#include "util.h"

/* How long a call that ends a context waits for kernels that still run in it. */
#define CONTEXT_PATIENCE_NS (2 * WARPSPAN_NS_PER_S)
#define FLUSH_PATIENCE_NS   (10 * WARPSPAN_NS_PER_S)

static bool is_live(const struct warpspan_context *context)
{
	const enum warpspan_context_state state = atomic_load_explicit(&context->state, memory_order_acquire);

	return state == WARPSPAN_CONTEXT_READY || state == WARPSPAN_CONTEXT_FAILED || state == WARPSPAN_CONTEXT_NEW;
}

/* --- contexts --------------------------------------------------------------------------------- */

static bool quiesce(const struct warpspan_context *context)
{
	struct warpspan_quiesce *quiesce = warpspan_quiesce_begin(&context->handle, 1, NULL);
	const bool quiet = quiesce != NULL && warpspan_quiesce_wait(quiesce, CONTEXT_PATIENCE_NS);

	(void)warpspan_quiesce_end(quiesce);
	return quiet;
}

/* Drains the context and keeps the collector out of it. */
static void close_context(struct warpspan_context *context, bool certain)
{
	if (warpspan_session_active() &&
	    atomic_load_explicit(&context->state, memory_order_acquire) == WARPSPAN_CONTEXT_READY) {
		if (!quiesce(context))
			warpspan_warn(
				"context %u is destroyed while kernels run in it: their records are written as far "
				"as they have come",
				context->number);
		if (certain)
			warpspan_collector_retire(context);
		(void)warpspan_collector_flush(FLUSH_PATIENCE_NS);
	}
	warpspan_collector_suspend(context);
}

static void reopen_context(struct warpspan_context *context, bool ended)
{
	if (ended)
		warpspan_registry_end_context(context);
	else
		atomic_store_explicit(&context->retiring, false, memory_order_release);
	warpspan_collector_resume(context);
	if (ended)
		context->arenas = warpspan_arenas_forget(context->arenas);
}

void warpspan_lifetime_before_context(CUcontext handle)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (context->handle == handle && is_live(context))
			close_context(context, true);
}

void warpspan_lifetime_after_context(CUcontext handle, bool ended)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (context->handle == handle && is_live(context))
			reopen_context(context, ended);
}

static bool is_primary(const struct warpspan_context *context, CUdevice device)
{
	const CUcontext primary = warpspan_registry_primary(device);

	return context->device == device && is_live(context) && (primary == NULL || context->handle == primary);
}

void warpspan_lifetime_before_primary(CUdevice device, bool certain)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (is_primary(context, device))
			close_context(context, certain);
}

void warpspan_lifetime_after_primary(CUdevice device, bool certain, bool ended)
{
	unsigned int flags;
	int active = 0;

	/* A release ends the context only when it was the last. */
	if (ended && !certain && warpspan_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) == CUDA_SUCCESS &&
	    active)
		ended = false;
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (is_primary(context, device))
			reopen_context(context, ended);
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Whether the library's module in the current context is this one. */
static bool holds_module(CUlibrary library, const struct warpspan_module *module)
{
	const CUlibrary own = atomic_load_explicit(&module->library, memory_order_relaxed);
	CUmodule handle;

	if (own != NULL)
		return own == library;
	return warpspan_driver.cuLibraryGetModule != NULL &&
	       warpspan_driver.cuLibraryGetModule(&handle, library) == CUDA_SUCCESS &&
	       handle == atomic_load_explicit(&module->handle, memory_order_relaxed);
}

static bool matches(const struct warpspan_module *module, CUmodule handle, CUlibrary library)
{
	if (atomic_load_explicit(&module->gone, memory_order_acquire))
		return false;
	return library != NULL ? holds_module(library, module)
			       : atomic_load_explicit(&module->handle, memory_order_relaxed) == handle;
}

static void before_unload(CUmodule handle, CUlibrary library)
{
	for (struct warpspan_module *module = NULL; (module = warpspan_registry_next_loaded(module)) != NULL;) {
		if (!matches(module, handle, library))
			continue;
		/* Records written so far name the module's sites; those are read with them. */
		if (warpspan_session_active() && atomic_load_explicit(&module->attached, memory_order_acquire))
			(void)warpspan_collector_flush(FLUSH_PATIENCE_NS);
		/* From here on the module's memory is not touched, nor is it found by its handle. */
		warpspan_collector_suspend(module->context);
		warpspan_registry_end_module(module);
		warpspan_collector_resume(module->context);
	}
}

void warpspan_lifetime_before_module(CUmodule handle)
{
	before_unload(handle, NULL);
}

void warpspan_lifetime_before_library(CUlibrary handle)
{
	before_unload(NULL, handle);
}

/* Also where the module was not ours: the driver may give its functions' handles to others now. After a failed call
 * the module is found again at its next launch, under a new number. */
void warpspan_lifetime_after_module(CUmodule handle, bool ended)
{
	warpspan_registry_next_epoch();
}

void warpspan_lifetime_after_library(CUlibrary handle, bool ended)
{
	warpspan_registry_next_epoch();
}

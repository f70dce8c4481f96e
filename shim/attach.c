/* SPDX-License-Identifier: Apache-2.0
 *
 * attach.c - looks for warpspan_ctx in a function's module and makes the module record. See attach.h.
 *
 * Runs on the launching thread, before its launch: only there is it certain that the module may be asked for (lazy
 * loading), and only so is the first launch complete. Nothing here waits for the program's streams.
 *
 * One thread at a time prepares a context or module, and calls CUDA during its turn; others that see a kernel for the
 * first time wait for it, not for ever: their launches would otherwise run before the module records. The mutex that
 * guards the turn is not held meanwhile, so kernels that are known are launched without waiting.
 */
#include "attach.h"

#include "arena.h"
#include "capture.h"
#include "collector.h"
#include "driver.h"
#include "host_log.h"
#include "lock.h"
#include "log.h"
#include "session.h"
#include "uncancelled.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TURN_PATIENCE_NS (10 * WARPSPAN_NS_PER_S)
/* The collector has other things to do. */
#define COLLECTOR_TURN_PATIENCE_NS (1 * WARPSPAN_NS_PER_S)
/* How long a launch waits for the collector to arm its context for a session that has just begun. */
#define RESUME_PATIENCE_NS (1 * WARPSPAN_NS_PER_S)

/* --- turns ------------------------------------------------------------------------------------ */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static bool taken;

static bool take_turn(uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	bool mine;

	warpspan_lock(&lock);
	while (taken && warpspan_wait(&freed, &lock, &deadline) != ETIMEDOUT)
		;
	mine = !taken;
	taken = true;
	warpspan_unlock(&lock);
	return mine;
}

static void give_turn(void)
{
	warpspan_lock(&lock);
	taken = false;
	pthread_cond_signal(&freed);
	warpspan_unlock(&lock);
}

/* --- the symbol ------------------------------------------------------------------------------- */

struct symbol {
	CUfunction function; /* in the current context; of a CUkernel: NULL where the library route was taken */
	CUmodule module;     /* of a CUfunction */
	CUlibrary library;   /* of a CUkernel */
	CUdeviceptr address;
	size_t bytes;
};

static CUresult find_in_module(CUfunction function, struct symbol *ret)
{
	CUresult result = warpspan_driver.cuFuncGetModule(&ret->module, function);

	if (result != CUDA_SUCCESS)
		return result;
	ret->function = function;
	return warpspan_driver.cuModuleGetGlobal_v2(&ret->address, &ret->bytes, ret->module, WARPSPAN_CTX_SYMBOL);
}

/* `function` is a CUfunction or a CUkernel; which, the driver tells. CUDA_ERROR_NOT_FOUND: the module has no context.
 */
static CUresult find_symbol(CUfunction function, struct symbol *ret)
{
	CUfunction of_kernel;
	CUresult result;

	memset(ret, 0, sizeof(*ret));
	result = find_in_module(function, ret);
	if (ret->function != NULL || warpspan_driver.cuKernelGetFunction == NULL)
		return result;
	if (warpspan_driver.cuKernelGetLibrary != NULL && warpspan_driver.cuLibraryGetGlobal != NULL &&
	    warpspan_driver.cuKernelGetLibrary(&ret->library, (CUkernel)function) == CUDA_SUCCESS)
		return warpspan_driver.cuLibraryGetGlobal(&ret->address, &ret->bytes, ret->library,
							  WARPSPAN_CTX_SYMBOL);
	ret->library = NULL;
	/* Drivers before 12.5 do not tell the library: the kernel's function in this context does as well. */
	if (warpspan_driver.cuKernelGetFunction(&of_kernel, (CUkernel)function) != CUDA_SUCCESS)
		return result;
	return find_in_module(of_kernel, ret);
}

/* Drivers before 12.3 do not tell names: such kernels are told apart by their handle. */
static void find_name(CUfunction function, const struct symbol *symbol, char *ret_name, size_t bytes)
{
	const char *name = NULL;
	CUresult result = CUDA_ERROR_NOT_SUPPORTED;

	if (symbol->function == NULL && warpspan_driver.cuKernelGetName != NULL)
		result = warpspan_driver.cuKernelGetName(&name, (CUkernel)function);
	else if (symbol->function != NULL && warpspan_driver.cuFuncGetName != NULL)
		result = warpspan_driver.cuFuncGetName(&name, symbol->function);
	if (result == CUDA_SUCCESS && name != NULL)
		(void)snprintf(ret_name, bytes, "%s", name);
	else
		(void)snprintf(ret_name, bytes, "kernel_%p", (void *)function);
}

/* A kernel compiled for clusters of a fixed size has them without the launch saying so. */
static void find_cluster(CUfunction function, const struct symbol *symbol, struct warpspan_kernel *kernel)
{
	static const CUfunction_attribute names[] = { CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH,
						      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT,
						      CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH };
	uint32_t cluster[3];

	if (symbol->function != NULL)
		function = symbol->function;
	else if (warpspan_driver.cuKernelGetFunction(&function, (CUkernel)function) != CUDA_SUCCESS)
		return;
	for (unsigned i = 0; i < 3; i++) {
		int value = 0;

		if (warpspan_driver.cuFuncGetAttribute(&value, names[i], function) != CUDA_SUCCESS)
			return;
		cluster[i] = value > 0 ? (uint32_t)value : 1;
	}
	memcpy(kernel->cluster, cluster, sizeof(cluster));
}

/* --- context and module ----------------------------------------------------------------------- */

/* Returns why the context cannot be recorded from, or N_COUNTERS when it can. */
static enum warpspan_counter prepare_context(struct warpspan_context *context)
{
	CUresult error = CUDA_SUCCESS;
	uint64_t buffer;
	uint32_t events_per_warp;

	switch (atomic_load_explicit(&context->state, memory_order_acquire)) {
	case WARPSPAN_CONTEXT_READY:
		return warpspan_collector_wait_resumed(context, RESUME_PATIENCE_NS) ? WARPSPAN_N_COUNTERS
										    : WARPSPAN_COUNTER_busy;
	case WARPSPAN_CONTEXT_NEW:
		break;
	default:
		return WARPSPAN_COUNTER_no_memory;
	}
	warpspan_session_memory(&buffer, &events_per_warp);
	context->arenas = warpspan_arenas_create(buffer, events_per_warp, &error);
	if (context->arenas == NULL) {
		warpspan_error("no device memory for records on device %d: %s; its kernels run unprofiled",
			       (int)context->device, warpspan_driver_error(error));
		atomic_store_explicit(&context->state, WARPSPAN_CONTEXT_FAILED, memory_order_release);
		return WARPSPAN_COUNTER_no_memory;
	}
	context->arena_bytes = context->arenas->arena_bytes;
	warpspan_collector_note_resumed(context);
	atomic_store_explicit(&context->state, WARPSPAN_CONTEXT_READY, memory_order_release);
	return WARPSPAN_N_COUNTERS;
}

/* What contexts of every version begin with: whose they are, and of which version. */
#define CTX_HEAD_BYTES offsetof(struct warpspan_ctx, control)

static void say_not_ours(void)
{
	warpspan_log_once(WARPSPAN_LOG_WARN, "a module has a variable called %s that is not ours; left alone",
			  WARPSPAN_CTX_SYMBOL);
}

/* Reads the beginning of the module's context and, if it is ours, points it at the control block. */
static enum warpspan_counter attach_module(struct warpspan_module *module)
{
	struct warpspan_arenas *arenas = module->context->arenas;
	struct warpspan_ctx ctx = { .magic = 0 };
	CUresult result = warpspan_driver_read(&ctx, module->address, CTX_HEAD_BYTES, arenas->attach_stream);

	if (result != CUDA_SUCCESS)
		goto fail;
	if (ctx.magic != WARPSPAN_CTX_MAGIC) {
		say_not_ours();
		return WARPSPAN_COUNTER_abi_mismatch;
	}
	module->abi = ctx.abi;
	if (ctx.abi != WARPSPAN_ABI_VERSION || ctx.ctx_bytes != sizeof(ctx)) {
		warpspan_log_once(
			WARPSPAN_LOG_WARN,
			"a module was compiled with warpspan.cuh of ABI version %u, this library has version %u; "
			"its kernels run unprofiled. Recompile it with the header of this version",
			ctx.abi, WARPSPAN_ABI_VERSION);
		return WARPSPAN_COUNTER_abi_mismatch;
	}
	ctx.control = arenas->control;
	ctx.module = module->number;
	result = warpspan_driver_write(module->address + CTX_HEAD_BYTES, (const char *)&ctx + CTX_HEAD_BYTES,
				       sizeof(ctx) - CTX_HEAD_BYTES, arenas->attach_stream);
	if (result != CUDA_SUCCESS)
		goto fail;
	return WARPSPAN_N_COUNTERS;
fail:
	warpspan_log_once(WARPSPAN_LOG_WARN, "%s while attaching a module; its kernels run unprofiled",
			  warpspan_driver_error(result));
	return WARPSPAN_COUNTER_lookup_error;
}

/* A session is active, and the calling thread has the turn. */
static void attach_selected(struct warpspan_module *module)
{
	enum warpspan_counter why = prepare_context(module->context);

	if (why == WARPSPAN_N_COUNTERS && atomic_load_explicit(&module->attached, memory_order_acquire))
		return;
	if (why == WARPSPAN_N_COUNTERS)
		why = attach_module(module);
	if (why == WARPSPAN_N_COUNTERS) {
		atomic_store_explicit(&module->attached, true, memory_order_release);
		warpspan_registry_touch();
		warpspan_debug("module %u attached in context %u", module->number, module->context->number);
	} else {
		atomic_store_explicit(&module->why_not, why, memory_order_relaxed);
	}
}

/* --- first sight ------------------------------------------------------------------------------ */

/* Attaches the kernel's module if it is to record now. Without a session launches are logged for the one that may
 * begin while they run. */
static bool is_to_be_logged(struct warpspan_kernel *kernel)
{
	if (!atomic_load_explicit(&kernel->selected, memory_order_relaxed))
		return false;
	if (!warpspan_session_reached())
		return warpspan_host_log_init() && warpspan_collector_start();
	attach_selected(kernel->module);
	return atomic_load_explicit(&kernel->module->attached, memory_order_relaxed);
}

/* The module has our symbol: the kernel, its module attached if it is to be. NULL: no memory, or no device. */
static struct warpspan_kernel *register_kernel(CUfunction function, CUcontext current, const struct symbol *symbol)
{
	struct warpspan_context *context;
	struct warpspan_module *module;
	struct warpspan_kernel *kernel;
	static char name[4096]; /* of whoever has the turn: the program's threads may have small stacks */
	CUdevice device;

	if (warpspan_driver.cuCtxGetDevice(&device) != CUDA_SUCCESS)
		return NULL;
	context = warpspan_registry_context(current, device);
	module = context != NULL ? warpspan_registry_module(context, symbol->address) : NULL;
	if (module == NULL)
		return NULL;
	if (symbol->module != NULL)
		atomic_store_explicit(&module->handle, symbol->module, memory_order_relaxed);
	if (symbol->library != NULL)
		atomic_store_explicit(&module->library, symbol->library, memory_order_relaxed);
	find_name(function, symbol, name, sizeof(name));
	kernel = warpspan_registry_kernel(module, name);
	if (kernel == NULL)
		return NULL;
	if (warpspan_registry_judge(kernel))
		find_cluster(function, symbol, kernel);
	/* Release pairs with the acquire of launches: what attached it comes before them. */
	atomic_store_explicit(&kernel->ready, is_to_be_logged(kernel), memory_order_release);
	return kernel;
}

static struct warpspan_kernel *look(CUfunction function, CUcontext current)
{
	const uint32_t epoch = warpspan_registry_epoch();
	struct warpspan_kernel *kernel = &warpspan_not_instrumented;
	struct symbol symbol;
	const CUresult result = find_symbol(function, &symbol);

	if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_FOUND) {
		/* Not remembered: it may work next time. */
		if (result == CUDA_ERROR_INVALID_HANDLE)
			return NULL; /* not a function: the real call says so */
		warpspan_count(WARPSPAN_COUNTER_lookup_error, 1);
		warpspan_log_once(WARPSPAN_LOG_WARN, "%s while looking at a kernel; it runs unprofiled",
				  warpspan_driver_error(result));
		return NULL;
	}
	if (result == CUDA_SUCCESS && symbol.bytes < CTX_HEAD_BYTES) {
		say_not_ours();
	} else if (result == CUDA_SUCCESS) {
		if (!take_turn(TURN_PATIENCE_NS)) {
			warpspan_count(WARPSPAN_COUNTER_busy, 1);
			return NULL;
		}
		kernel = register_kernel(function, current, &symbol);
		give_turn();
		if (kernel == NULL) {
			warpspan_count(WARPSPAN_COUNTER_no_memory, 1);
			return NULL;
		}
	}
	warpspan_registry_remember(function, current, epoch, kernel);
	return kernel;
}

void warpspan_attach_known(struct warpspan_module *module)
{
	if (!take_turn(COLLECTOR_TURN_PATIENCE_NS))
		return;
	if (warpspan_registry_any_selected(module) && !atomic_load_explicit(&module->gone, memory_order_acquire) &&
	    warpspan_session_reached())
		attach_selected(module);
	give_turn();
}

struct warpspan_kernel *warpspan_attach_for_later(CUfunction function, CUcontext current)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	struct warpspan_kernel *kernel;
	WARPSPAN_UNCANCELLED;

	/* Another thread may be capturing in the global mode, which forbids allocations to this one. */
	if (warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode) != CUDA_SUCCESS) {
		warpspan_count(WARPSPAN_COUNTER_lookup_error, 1);
		return NULL;
	}
	kernel = look(function, current);
	(void)warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode);
	return kernel;
}

struct warpspan_kernel *warpspan_attach(CUfunction function, CUcontext current, CUstream stream)
{
	/* The one question that is safe while a stream is being captured: a capture may have begun past our hooks. */
	if (warpspan_capture_holds(stream)) {
		warpspan_count(WARPSPAN_COUNTER_capturing, 1);
		return NULL;
	}
	return warpspan_attach_for_later(function, current);
}

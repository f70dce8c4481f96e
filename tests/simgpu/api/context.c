/* SPDX-License-Identifier: Apache-2.0
 *
 * context.c - contexts: primary and created ones, each thread's stack of current ones, their sticky errors.
 *
 * A fault on the device is written into its context once (context.fault) and answers every later call that needs the
 * context, until the primary context is reset or the created one destroyed. A reset keeps the primary context's
 * handle and gives it a new id, as the real driver does. Callable from any thread.
 */
#include "capture.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static void context_init(struct context *context, struct device *device, unsigned int flags, bool is_primary)
{
	*context = (struct context){
		.device = device,
		.is_primary = is_primary,
		.is_live = true,
		.flags = flags,
		.id = atomic_fetch_add_explicit(&driver.last_id, 1, memory_order_relaxed) + 1,
	};
	context->limits[CU_LIMIT_STACK_SIZE] = 1024;
	context->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1048576;
	context->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = device->config.malloc_heap_bytes;
	if (is_primary)
		sim_device_set_malloc_heap(device->sim, device->config.malloc_heap_bytes);
}

CUresult device_reach(struct device *device, struct device *peer, bool is_reaching)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf */
	unsigned int *n = &device->n_reaching[peer->ordinal];
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	if (is_reaching && *n == 0 && sim_peer_enable(device->sim, peer->sim) != SIM_OK)
		result = CUDA_ERROR_TOO_MANY_PEERS;
	else if (!is_reaching && *n == 1)
		sim_peer_disable(device->sim, peer->sim);
	if (result == CUDA_SUCCESS)
		*n += is_reaching ? 1 : -1U;
	pthread_mutex_unlock(&lock);
	return result;
}

/* driver.lock is held. */
static CUresult peer_enable(struct context *context, struct device *peer)
{
	CUresult result;

	if (context->reaches[peer->ordinal])
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	result = device_reach(context->device, peer, true);
	context->reaches[peer->ordinal] = result == CUDA_SUCCESS;
	return result;
}

/* driver.lock is held. */
static CUresult peer_disable(struct context *context, struct device *peer)
{
	if (!context->reaches[peer->ordinal])
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	context->reaches[peer->ordinal] = false;
	return device_reach(context->device, peer, false);
}

/* Work has ended or will never run. The handle leaves the table here; driver.lock is held. */
static void context_finish(struct context *context)
{
	handle_remove(context);
	context->is_live = false;
	for (int i = 0; i < driver.n_devices; i++)
		peer_disable(context, &driver.devices[i]);
	captures_drop(context);
	streams_drop(context);
	modules_drop(context);
	allocations_drop(context);
}

CUresult context_check(CUcontext handle, struct context **ret_context)
{
	if (!handle_is(HANDLE_CONTEXT, handle))
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = (struct context *)handle;
	return CUDA_SUCCESS;
}

static struct context *context_top(void)
{
	const struct host_thread *thread = host_thread();

	return thread->n_contexts ? thread->contexts[thread->n_contexts - 1] : NULL;
}

CUresult context_current(struct context **ret_context)
{
	struct context *context = context_top();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle_is(HANDLE_CONTEXT, context))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	/* Written once by the worker that met the fault; nothing else is published with it. */
	return atomic_load_explicit(&context->fault, memory_order_relaxed);
}

struct context *context_gated(void)
{
	return context_top();
}

static CUresult thread_push(struct context *context)
{
	struct host_thread *thread = host_thread();

	if (thread->n_contexts == MAX_CONTEXT_DEPTH)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->contexts[thread->n_contexts++] = context;
	return CUDA_SUCCESS;
}

/* --- primary contexts ------------------------------------------------------------------------- */

CUresult impl_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	struct device *device = device_of(dev);
	CUresult result = CUDA_SUCCESS;

	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&driver.lock);
	if (!device->primary.is_live) {
		context_init(&device->primary, device, device->primary_flags, true);
		result = handle_add(HANDLE_CONTEXT, &device->primary);
		device->primary.is_live = result == CUDA_SUCCESS;
	}
	if (result == CUDA_SUCCESS) {
		device->primary_refs++;
		*pctx = (CUcontext)&device->primary;
	}
	pthread_mutex_unlock(&driver.lock);
	return result;
}

/* Waits for the context's work without driver.lock, which its workers may need. */
static void primary_end(struct device *device)
{
	if (device->primary.is_live)
		context_wait(&device->primary);
	pthread_mutex_lock(&driver.lock);
	if (device->primary.is_live)
		context_finish(&device->primary);
	pthread_mutex_unlock(&driver.lock);
}

CUresult impl_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	struct device *device = device_of(dev);
	bool is_last = false;
	CUresult result = CUDA_SUCCESS;

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&driver.lock);
	if (device->primary_refs == 0)
		result = CUDA_ERROR_INVALID_CONTEXT;
	else
		is_last = --device->primary_refs == 0;
	pthread_mutex_unlock(&driver.lock);
	if (is_last)
		primary_end(device);
	return result;
}

CUresult impl_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return impl_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult impl_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	primary_end(device);
	/* References stay: who retained it before may go on, and finds a fresh context. */
	pthread_mutex_lock(&driver.lock);
	if (device->primary_refs > 0) {
		context_init(&device->primary, device, device->primary_flags, true);
		device->primary.is_live = handle_add(HANDLE_CONTEXT, &device->primary) == CUDA_SUCCESS;
	}
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return impl_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult impl_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	struct device *device = device_of(dev);

	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&driver.lock);
	device->primary_flags = flags;
	if (device->primary.is_live)
		device->primary.flags = flags;
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return impl_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult impl_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	struct device *device = device_of(dev);

	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&driver.lock);
	*flags = device->primary_flags;
	*active = device->primary.is_live;
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

/* --- created contexts ------------------------------------------------------------------------- */

CUresult impl_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	struct device *device = device_of(dev);
	struct context *context;
	CUresult result;

	if (!pctx || flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	context = malloc(sizeof(*context));
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context_init(context, device, flags, false);
	result = thread_push(context);
	if (result == CUDA_SUCCESS) {
		result = handle_add(HANDLE_CONTEXT, context);
		if (result != CUDA_SUCCESS)
			host_thread()->n_contexts--;
	}
	if (result != CUDA_SUCCESS) {
		free(context);
		return result;
	}
	*pctx = (CUcontext)context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams, unsigned int flags,
			     CUdevice dev)
{
	if (numParams != 0 || paramsArray)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	return impl_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult impl_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags, CUdevice dev)
{
	if (ctxCreateParams && (ctxCreateParams->execAffinityParams || ctxCreateParams->cigParams))
		return CUDA_ERROR_NOT_SUPPORTED;
	return impl_cuCtxCreate_v2(pctx, flags, dev);
}

CUresult impl_cuCtxDestroy_v2(CUcontext ctx)
{
	struct host_thread *thread = host_thread();
	struct context *context;
	CUresult result = context_check(ctx, &context);

	if (result != CUDA_SUCCESS)
		return result;
	if (context->is_primary)
		return CUDA_ERROR_INVALID_CONTEXT;
	context_wait(context);
	pthread_mutex_lock(&driver.lock);
	context_finish(context);
	pthread_mutex_unlock(&driver.lock);
	if (thread->n_contexts && thread->contexts[thread->n_contexts - 1] == context)
		thread->n_contexts--;
	free(context);
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxDestroy(CUcontext ctx)
{
	return impl_cuCtxDestroy_v2(ctx);
}

/* --- current context -------------------------------------------------------------------------- */

CUresult impl_cuCtxPushCurrent_v2(CUcontext ctx)
{
	struct context *context;
	CUresult result = context_check(ctx, &context);

	return result == CUDA_SUCCESS ? thread_push(context) : result;
}

CUresult impl_cuCtxPushCurrent(CUcontext ctx)
{
	return impl_cuCtxPushCurrent_v2(ctx);
}

CUresult impl_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	struct host_thread *thread = host_thread();

	if (thread->n_contexts == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread->n_contexts--;
	if (pctx)
		*pctx = (CUcontext)thread->contexts[thread->n_contexts];
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxPopCurrent(CUcontext *pctx)
{
	return impl_cuCtxPopCurrent_v2(pctx);
}

/* Replaces the top of the stack; NULL takes it off. */
CUresult impl_cuCtxSetCurrent(CUcontext ctx)
{
	struct host_thread *thread = host_thread();
	struct context *context;
	CUresult result;

	if (!ctx) {
		if (thread->n_contexts)
			thread->n_contexts--;
		return CUDA_SUCCESS;
	}
	result = context_check(ctx, &context);
	if (result != CUDA_SUCCESS)
		return result;
	if (thread->n_contexts == 0)
		return thread_push(context);
	thread->contexts[thread->n_contexts - 1] = context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCurrent(CUcontext *pctx)
{
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = (CUcontext)context_top();
	return CUDA_SUCCESS;
}

/* --- peers ------------------------------------------------------------------------------------ */

/* Access is one device's to another's memory, whichever of its contexts that belongs to. */
static CUresult peer_check(CUcontext handle, struct context **ret_peer)
{
	CUresult result = context_check(handle, ret_peer);

	if (result != CUDA_SUCCESS)
		return result;
	return (*ret_peer)->device == context_gated()->device ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult impl_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	struct context *peer;
	CUresult result = Flags == 0 ? peer_check(peerContext, &peer) : CUDA_ERROR_INVALID_VALUE;

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	result = peer_enable(context_gated(), peer->device);
	pthread_mutex_unlock(&driver.lock);
	return result;
}

CUresult impl_cuCtxDisablePeerAccess(CUcontext peerContext)
{
	struct context *peer;
	CUresult result = peer_check(peerContext, &peer);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	result = peer_disable(context_gated(), peer->device);
	pthread_mutex_unlock(&driver.lock);
	return result;
}

/* --- questions -------------------------------------------------------------------------------- */

/* The current context whether or not it carries an error: questions about it are still answered. */
static CUresult context_asked(struct context **ret_context)
{
	struct context *context = context_top();

	if (!context)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!handle_is(HANDLE_CONTEXT, context))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	struct context *context;
	CUresult result = ctx ? context_check(ctx, &context) : context_asked(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = context->device->ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetDevice(CUdevice *device)
{
	return impl_cuCtxGetDevice_v2(device, NULL);
}

CUresult impl_cuCtxGetFlags(unsigned int *flags)
{
	struct context *context;
	CUresult result = context_asked(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = context->flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetFlags(unsigned int flags)
{
	struct context *context;
	CUresult result = context_asked(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~(unsigned int)CU_CTX_FLAGS_MASK)
		return CUDA_ERROR_INVALID_VALUE;
	context->flags = flags;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	struct context *context;
	CUresult result = ctx ? context_check(ctx, &context) : context_asked(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	*ctxId = context->id;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	struct context *context;
	CUresult result = ctx ? context_check(ctx, &context) : context_asked(&context);

	if (result != CUDA_SUCCESS)
		return result;
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = 3020;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSynchronize(void)
{
	CUresult result = capture_refuse_context(context_gated());

	return result == CUDA_SUCCESS ? context_wait(context_gated()) : result;
}

CUresult impl_cuCtxSynchronize_v2(CUcontext ctx)
{
	struct context *context;
	CUresult result = ctx ? context_check(ctx, &context) : context_current(&context);

	if (result == CUDA_SUCCESS)
		result = capture_refuse_context(context);
	return result == CUDA_SUCCESS ? context_wait(context) : result;
}

CUresult impl_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = -5;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	if (!pvalue || limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	*pvalue = context_gated()->limits[limit];
	return CUDA_SUCCESS;
}

/* The heap of malloc() is the engine's; the others are kept and given back, there is nothing here that they bound. */
CUresult impl_cuCtxSetLimit(CUlimit limit, size_t value)
{
	struct context *context = context_gated();

	if (limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (limit == CU_LIMIT_MALLOC_HEAP_SIZE) {
		if (value > context->device->config.memory_bytes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		sim_device_set_malloc_heap(context->device->sim, value);
	}
	context->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	if (!pconfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pconfig = context_gated()->cache_config;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetCacheConfig(CUfunc_cache config)
{
	context_gated()->cache_config = config;
	return CUDA_SUCCESS;
}

/* Banks have had one width for long; what is set is taken and changes nothing, as on a device. */
CUresult impl_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	if (!pConfig)
		return CUDA_ERROR_INVALID_VALUE;
	*pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return CUDA_SUCCESS;
}

CUresult impl_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	return (unsigned int)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS
										 : CUDA_ERROR_INVALID_VALUE;
}

/* No cache, nothing that persists in it. */
CUresult impl_cuCtxResetPersistingL2Cache(void)
{
	return CUDA_SUCCESS;
}

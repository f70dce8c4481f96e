/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.h - what is known of contexts, modules, kernels and function handles.
 *
 * Contexts, modules and kernels live until the process ends, so a pointer to one is always good; one that is gone is
 * marked. The driver gives the same handle value to another object later; therefore function handles are remembered
 * together with an epoch, which every unload and every destroyed context advances.
 *
 *   function handle, context handle --(cache, lock-free)--> kernel --> module --> context
 */
#ifndef WARPSPAN_REGISTRY_H
#define WARPSPAN_REGISTRY_H

#include "counters.h"
#include "cuda_names.h"
#include "warpspan_format.h"

#include <stdatomic.h>
#include <stdbool.h>

struct warpspan_arenas;
struct warpspan_site_table;

enum warpspan_context_state {
	WARPSPAN_CONTEXT_NEW,    /* nothing allocated in it */
	WARPSPAN_CONTEXT_READY,  /* has arenas; the collector drains it */
	WARPSPAN_CONTEXT_FAILED, /* could not be prepared: its launches are not recorded */
	WARPSPAN_CONTEXT_GONE,   /* destroyed: nothing may be done in it */
};

struct warpspan_context {
	_Atomic(struct warpspan_context *) next; /* in order of number; set once */
	CUcontext handle;
	CUdevice device;
	uint32_t number;                            /* from 1: one per generation of a handle */
	_Atomic(enum warpspan_context_state) state; /* release once everything below is in place */
	struct warpspan_arenas *arenas;             /* set before READY; its host side is the collector's */
	uint64_t arena_bytes;                       /* set before READY: size of each arena */
	atomic_int suspended;                       /* > 0: the program is destroying it, the collector keeps out */
	atomic_bool retiring;                       /* about to be destroyed: open segments are written as they are */
	unsigned announced_in;                      /* collector: the latest session whose capture has it */
	unsigned resumed_for; /* the latest session its arenas were armed for; under the collector's lock */
};

struct warpspan_module {
	_Atomic(struct warpspan_module *) next; /* in order of number; set once */
	/* Among those not gone, by number; under the registry's lock. One that is gone keeps its link onwards. */
	struct warpspan_module *next_loaded, *previous_loaded;
	struct warpspan_kernel *kernels; /* of this module, latest first; under the registry's lock */
	struct warpspan_context *context;
	CUdeviceptr address; /* of its warpspan_ctx: what tells modules of a context apart */
	/* Two kinds of handle; NULL: not known by it. Learnt from its kernels, one after the other. */
	_Atomic(CUmodule) handle;
	_Atomic(CUlibrary) library;
	uint32_t number;                        /* from 1 */
	uint32_t abi;                           /* of the header it was compiled with */
	atomic_bool attached;                   /* its kernels record */
	atomic_bool gone;                       /* unloaded */
	_Atomic(enum warpspan_counter) why_not; /* while not attached: what its launches count as */
	struct warpspan_site_table *sites;      /* collector only */
	unsigned announced_in;                  /* collector: the latest session whose capture has it */
};

struct warpspan_kernel {
	_Atomic(struct warpspan_kernel *) next; /* in order of number; set once */
	struct warpspan_module *module;         /* NULL: of warpspan_not_instrumented only */
	struct warpspan_kernel *next_of_module; /* set once */
	char *name, *demangled;
	uint32_t number;        /* from 1 */
	uint32_t module_number; /* of module, and of its context */
	uint32_t context_number;
	uint32_t
		cluster[3]; /* blocks of a cluster where the launch does not say: as compiled, or 1; set before ready */
	/* Judged anew at its first launch of a session: whether its launches are logged, and WARPSPAN_KERNEL names it
	 */
	atomic_bool ready;
	atomic_bool selected;
	unsigned announced_in; /* collector: the latest session whose capture has it */
} __attribute__((aligned(64)));

/* The answer for every function whose module has no warpspan_ctx. */
extern struct warpspan_kernel warpspan_not_instrumented;

/* --- the cache: any thread, no lock, no allocation -------------------------------------------- */

/* What a launch is logged with. A copy of the kernel's, so that finding it touches one cache line. */
struct warpspan_kernel_numbers {
	uint32_t kernel; /* 0: the kernel was not ready when it was remembered */
	uint32_t module, context;
	uint32_t cluster[3];
};

/* What the function is in this context; NULL: not known. */
struct warpspan_kernel *warpspan_registry_find(CUfunction function, CUcontext context,
					       struct warpspan_kernel_numbers *ret_numbers);
/* What find gives for this kernel. */
struct warpspan_kernel_numbers warpspan_kernel_numbers(const struct warpspan_kernel *kernel);

/* The number of the live context with this handle, if it is recorded from, or is to be; else 0. */
uint32_t warpspan_registry_ready_context(CUcontext handle);

/* --- changes: any thread; short lock, never held across a call of CUDA ------------------------ */

/* The epoch to pass to warpspan_registry_remember(); taken before the driver is asked. */
uint32_t warpspan_registry_epoch(void);
/* Remembers it unless the epoch has passed meanwhile. Without memory it is forgotten: the next launch asks again. */
void warpspan_registry_remember(CUfunction function, CUcontext context, uint32_t epoch, struct warpspan_kernel *kernel);
/* Forgets every function handle. */
void warpspan_registry_next_epoch(void);

/* The live context with this handle, made if needed. NULL: no memory. */
struct warpspan_context *warpspan_registry_context(CUcontext handle, CUdevice device);
/* The live module with this warpspan_ctx, made if needed. NULL: no memory. */
struct warpspan_module *warpspan_registry_module(struct warpspan_context *context, CUdeviceptr address);
/* The kernel of this module with this name, made if needed. NULL: no memory. */
struct warpspan_kernel *warpspan_registry_kernel(struct warpspan_module *module, const char *name);

/* Something that belongs into the capture has changed: an item was made, a module attached, a context prepared. */
void warpspan_registry_touch(void);
/* Advances with every change. */
uint32_t warpspan_registry_changes(void);

/* Ends this generation of the context, and its modules. */
void warpspan_registry_end_context(struct warpspan_context *context);
void warpspan_registry_end_module(struct warpspan_module *module);

/* Whether WARPSPAN_KERNEL of the latest session names the kernel, found out and noted in it; the same for all kernels.
 */
bool warpspan_registry_judge(struct warpspan_kernel *kernel);
void warpspan_registry_judge_all(void);
/* Whether that was found of one of the module's kernels. */
bool warpspan_registry_any_selected(const struct warpspan_module *module);

/* A session begins: contexts for which there was no memory are as good as new. */
void warpspan_registry_retry_contexts(void);

/* The lists, in order of number; they only grow at the end. NULL: the end. */
struct warpspan_context *warpspan_registry_next_context(struct warpspan_context *after);
struct warpspan_module *warpspan_registry_next_module(struct warpspan_module *after);
struct warpspan_kernel *warpspan_registry_next_kernel(struct warpspan_kernel *after);
/* The modules that are not gone, in order of number; one may go while the list is walked, also the one at hand. */
struct warpspan_module *warpspan_registry_next_loaded(struct warpspan_module *after);
/* The module with this number, gone or not; NULL: there is none. Any thread. */
struct warpspan_module *warpspan_registry_module_at(uint32_t number);

/* A device's primary context, as learnt from cuDevicePrimaryCtxRetain(); NULL: not known. */
void warpspan_registry_set_primary(CUdevice device, CUcontext context);
CUcontext warpspan_registry_primary(CUdevice device);

#endif

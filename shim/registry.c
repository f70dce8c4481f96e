/* SPDX-License-Identifier: Apache-2.0
 *
 * registry.c - contexts, modules, kernels, and the lock-free cache of function handles. See registry.h.
 */
#include "registry.h"

#include "demangle.h"
#include "lock.h"
#include "session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct warpspan_kernel warpspan_not_instrumented;

#define CACHE_LINE_BYTES 64u

/* Guards the lists and the writers of the cache. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* --- lists ----------------------------------------------------------------------------------------------------------
 * `first` and `last` of each kind; appended under the lock, walked without it: items stay, links are set once. */

static _Atomic uint32_t changes;

void warpspan_registry_touch(void)
{
	/* Release pairs with the acquire below: what changed is seen with it. */
	(void)atomic_fetch_add_explicit(&changes, 1, memory_order_release);
}

uint32_t warpspan_registry_changes(void)
{
	return atomic_load_explicit(&changes, memory_order_acquire);
}

static _Atomic(struct warpspan_context *) first_context;
static _Atomic(struct warpspan_module *) first_module;
static _Atomic(struct warpspan_kernel *) first_kernel;
static struct warpspan_context *last_context;
static struct warpspan_module *last_module;
static struct warpspan_kernel *last_kernel;

/* Release pairs with the acquire of warpspan_registry_next_*(): the item is whole. */
#define APPEND(kind, item)                                                                       \
	do {                                                                                     \
		(item)->number = last_##kind != NULL ? last_##kind->number + 1 : 1;              \
		if (last_##kind != NULL)                                                         \
			atomic_store_explicit(&last_##kind->next, (item), memory_order_release); \
		else                                                                             \
			atomic_store_explicit(&first_##kind, (item), memory_order_release);      \
		last_##kind = (item);                                                            \
		warpspan_registry_touch();                                                       \
	} while (0)

#define DEFINE_NEXT(kind)                                                                                        \
	struct warpspan_##kind *warpspan_registry_next_##kind(struct warpspan_##kind *after)                     \
	{                                                                                                        \
		return atomic_load_explicit(after != NULL ? &after->next : &first_##kind, memory_order_acquire); \
	}
DEFINE_NEXT(context)
DEFINE_NEXT(module)
DEFINE_NEXT(kernel)

/* --- modules by number, and those that are loaded --------------------------------------------------------------------
 * A program that loads and unloads modules for ever has few at a time: nothing but the lists of all walks the dead. */

static struct warpspan_module **by_number; /* under the lock; number n at n - 1 */
static size_t n_by_number, by_number_capacity;
static struct warpspan_module *first_loaded, *last_loaded; /* under the lock */

/* Makes room for one more number. The lock is held. */
static bool grow_by_number(void)
{
	const size_t capacity = by_number_capacity != 0 ? by_number_capacity * 2 : 64;
	struct warpspan_module **modules;

	if (n_by_number < by_number_capacity)
		return true;
	modules = realloc(by_number, capacity * sizeof(by_number[0]));
	if (modules == NULL)
		return false;
	by_number = modules;
	by_number_capacity = capacity;
	return true;
}

static void add_loaded(struct warpspan_module *module)
{
	by_number[n_by_number++] = module;
	module->previous_loaded = last_loaded;
	if (last_loaded != NULL)
		last_loaded->next_loaded = module;
	else
		first_loaded = module;
	last_loaded = module;
}

/* Marks it as gone. The lock is held. */
static void remove_loaded(struct warpspan_module *module)
{
	if (atomic_load_explicit(&module->gone, memory_order_relaxed))
		return;
	if (module->previous_loaded != NULL)
		module->previous_loaded->next_loaded = module->next_loaded;
	else
		first_loaded = module->next_loaded;
	if (module->next_loaded != NULL)
		module->next_loaded->previous_loaded = module->previous_loaded;
	else
		last_loaded = module->previous_loaded;
	atomic_store_explicit(&module->gone, true, memory_order_release);
}

struct warpspan_module *warpspan_registry_next_loaded(struct warpspan_module *after)
{
	struct warpspan_module *next;

	warpspan_lock(&lock);
	next = after != NULL ? after->next_loaded : first_loaded;
	/* Links of those that are gone lead to larger numbers all the same. */
	while (next != NULL && atomic_load_explicit(&next->gone, memory_order_relaxed))
		next = next->next_loaded;
	warpspan_unlock(&lock);
	return next;
}

struct warpspan_module *warpspan_registry_module_at(uint32_t number)
{
	struct warpspan_module *module = NULL;

	warpspan_lock(&lock);
	if (number != 0 && number <= n_by_number)
		module = by_number[number - 1];
	warpspan_unlock(&lock);
	return module;
}

uint32_t warpspan_registry_ready_context(CUcontext handle)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;) {
		const int state = atomic_load_explicit(&context->state, memory_order_acquire);

		/* Before the first session it is new: a wait in it tells of launches that are logged. */
		if (context->handle == handle && (state == WARPSPAN_CONTEXT_READY || state == WARPSPAN_CONTEXT_NEW))
			return context->number;
	}
	return 0;
}

struct warpspan_context *warpspan_registry_context(CUcontext handle, CUdevice device)
{
	struct warpspan_context *context;

	warpspan_lock(&lock);
	for (context = first_context; context != NULL; context = context->next)
		if (context->handle == handle &&
		    atomic_load_explicit(&context->state, memory_order_relaxed) != WARPSPAN_CONTEXT_GONE)
			break;
	if (context == NULL) {
		context = calloc(1, sizeof(*context));
		if (context != NULL) {
			context->handle = handle;
			context->device = device;
			APPEND(context, context);
		}
	}
	warpspan_unlock(&lock);
	return context;
}

struct warpspan_module *warpspan_registry_module(struct warpspan_context *context, CUdeviceptr address)
{
	struct warpspan_module *module;

	warpspan_lock(&lock);
	for (module = first_loaded; module != NULL; module = module->next_loaded)
		if (module->context == context && module->address == address)
			break;
	if (module == NULL && grow_by_number()) {
		module = calloc(1, sizeof(*module));
		if (module != NULL) {
			module->context = context;
			module->address = address;
			atomic_store_explicit(&module->why_not, WARPSPAN_COUNTER_filtered, memory_order_relaxed);
			add_loaded(module);
			APPEND(module, module);
		}
	}
	warpspan_unlock(&lock);
	return module;
}

static struct warpspan_kernel *find_kernel(const struct warpspan_module *module, const char *name)
{
	struct warpspan_kernel *kernel;

	for (kernel = module->kernels; kernel != NULL; kernel = kernel->next_of_module)
		if (strcmp(kernel->name, name) == 0)
			break;
	return kernel;
}

/* Zeroed, and on a cache line's boundary; NULL: no memory. */
static void *allocate_aligned(size_t bytes)
{
	void *memory =
		aligned_alloc(CACHE_LINE_BYTES, (bytes + CACHE_LINE_BYTES - 1) / CACHE_LINE_BYTES * CACHE_LINE_BYTES);

	return memory != NULL ? memset(memory, 0, bytes) : NULL;
}

bool warpspan_registry_judge(struct warpspan_kernel *kernel)
{
	const bool selected = warpspan_session_selects(kernel->demangled);

	atomic_store_explicit(&kernel->selected, selected, memory_order_relaxed);
	return selected;
}

void warpspan_registry_judge_all(void)
{
	for (struct warpspan_kernel *kernel = NULL; (kernel = warpspan_registry_next_kernel(kernel)) != NULL;)
		(void)warpspan_registry_judge(kernel);
}

bool warpspan_registry_any_selected(const struct warpspan_module *module)
{
	bool any = false;

	warpspan_lock(&lock);
	for (const struct warpspan_kernel *kernel = module->kernels; kernel != NULL && !any;
	     kernel = kernel->next_of_module)
		any = atomic_load_explicit(&kernel->selected, memory_order_relaxed);
	warpspan_unlock(&lock);
	return any;
}

struct warpspan_kernel *warpspan_registry_kernel(struct warpspan_module *module, const char *name)
{
	struct warpspan_kernel *made = allocate_aligned(sizeof(*made));
	struct warpspan_kernel *kernel;

	/* Prepared outside the lock: demangling takes a while. */
	if (made == NULL)
		return NULL;
	made->module = module;
	made->module_number = module->number;
	made->context_number = module->context->number;
	made->name = strdup(name);
	made->demangled = warpspan_demangle(name);
	if (made->name != NULL && made->demangled != NULL) {
		(void)warpspan_registry_judge(made);
		warpspan_lock(&lock);
		kernel = find_kernel(module, name);
		if (kernel == NULL) {
			kernel = made;
			made = NULL;
			for (unsigned i = 0; i < 3; i++)
				kernel->cluster[i] = 1;
			kernel->next_of_module = module->kernels;
			module->kernels = kernel;
			APPEND(kernel, kernel);
		}
		warpspan_unlock(&lock);
	} else {
		kernel = NULL;
	}
	if (made != NULL) {
		free(made->name);
		free(made->demangled);
		free(made);
	}
	return kernel;
}

/* --- primary contexts ------------------------------------------------------------------------- */

/* As many devices as a machine has; beyond, the primary context is not known and all of a device's are taken for it. */
#define N_DEVICES 64
static _Atomic(CUcontext) primaries[N_DEVICES];

void warpspan_registry_set_primary(CUdevice device, CUcontext context)
{
	if (device >= 0 && device < N_DEVICES)
		atomic_store_explicit(&primaries[device], context, memory_order_relaxed);
}

CUcontext warpspan_registry_primary(CUdevice device)
{
	return device >= 0 && device < N_DEVICES ? atomic_load_explicit(&primaries[device], memory_order_relaxed)
						 : NULL;
}

/* --- cache ------------------------------------------------------------------------------------
 *
 * Open addressing; a slot is written under the lock and read without it, guarded by its sequence number: odd while it
 * is being written. Slots are never emptied, only overwritten when their epoch is over, so a probe ends at the first
 * slot that was never used. A table that is three quarters full is replaced by one twice as large, holding what is
 * still valid; the old one stays allocated, for readers that are in it (together less than the new one).
 */
#define FIRST_TABLE_SLOTS 1024u

struct cache_slot {
	_Atomic uint32_t sequence;
	_Atomic uint32_t epoch; /* 0: never used */
	_Atomic(CUfunction) function;
	_Atomic(CUcontext) context;
	_Atomic(struct warpspan_kernel *) kernel;
	_Atomic uint32_t number, module_number, context_number;
	_Atomic uint32_t cluster; /* CLUSTER_BITS for each dimension: a cluster has 16 blocks at most */
} __attribute__((aligned(CACHE_LINE_BYTES)));

#define CLUSTER_BITS 10u
#define CLUSTER_MASK ((1u << CLUSTER_BITS) - 1)

struct cache_table {
	struct cache_table *before; /* the one it replaced */
	size_t n_slots;             /* a power of two */
	size_t n_used;              /* under the lock */
	struct cache_slot slots[];
};

static _Atomic(struct cache_table *) table;
static _Atomic uint32_t epoch = 1;

static size_t hash_of(CUfunction function, CUcontext context)
{
	uint64_t hash = (uint64_t)(uintptr_t)function * 0x9e3779b97f4a7c15ull;

	hash ^= (uint64_t)(uintptr_t)context * 0xc2b2ae3d27d4eb4full;
	return (size_t)(hash ^ hash >> 29);
}

struct warpspan_kernel_numbers warpspan_kernel_numbers(const struct warpspan_kernel *kernel)
{
	struct warpspan_kernel_numbers numbers = { .kernel = 0 };

	/* Acquire pairs with the release in attach.c: what attached its module, and its cluster, come before. */
	if (!atomic_load_explicit(&kernel->ready, memory_order_acquire))
		return numbers;
	numbers = (struct warpspan_kernel_numbers){ .kernel = kernel->number,
						    .module = kernel->module_number,
						    .context = kernel->context_number };
	memcpy(numbers.cluster, kernel->cluster, sizeof(numbers.cluster));
	return numbers;
}

struct warpspan_kernel *warpspan_registry_find(CUfunction function, CUcontext context,
					       struct warpspan_kernel_numbers *ret_numbers)
{
	/* Acquire pairs with the release that publishes a table. */
	struct cache_table *now = atomic_load_explicit(&table, memory_order_acquire);
	const uint32_t now_epoch = atomic_load_explicit(&epoch, memory_order_acquire);

	if (now == NULL)
		return NULL;
	for (size_t i = hash_of(function, context), probes = 0; probes < now->n_slots; i++, probes++) {
		struct cache_slot *slot = &now->slots[i & (now->n_slots - 1)];
		/* Acquire: the fields are read after it, and before the fence. */
		const uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_acquire);
		const uint32_t slot_epoch = atomic_load_explicit(&slot->epoch, memory_order_relaxed);
		const bool same = atomic_load_explicit(&slot->function, memory_order_relaxed) == function &&
				  atomic_load_explicit(&slot->context, memory_order_relaxed) == context;
		struct warpspan_kernel *kernel = atomic_load_explicit(&slot->kernel, memory_order_relaxed);
		uint32_t cluster;

		if (sequence == 0)
			return NULL;
		if (!same || slot_epoch != now_epoch)
			continue;
		ret_numbers->kernel = atomic_load_explicit(&slot->number, memory_order_relaxed);
		ret_numbers->module = atomic_load_explicit(&slot->module_number, memory_order_relaxed);
		ret_numbers->context = atomic_load_explicit(&slot->context_number, memory_order_relaxed);
		cluster = atomic_load_explicit(&slot->cluster, memory_order_relaxed);
		for (unsigned d = 0; d < 3; d++)
			ret_numbers->cluster[d] = cluster >> (d * CLUSTER_BITS) & CLUSTER_MASK;
		/* Pairs with the release fence of write_slot(): unchanged means all fields belong together. */
		atomic_thread_fence(memory_order_acquire);
		if ((sequence & 1) != 0 || atomic_load_explicit(&slot->sequence, memory_order_relaxed) != sequence)
			return NULL; /* being written: the slow path finds the same answer */
		return kernel;
	}
	return NULL;
}

static void write_slot(struct cache_slot *slot, CUfunction function, CUcontext context, uint32_t of_epoch,
		       struct warpspan_kernel *kernel)
{
	const uint32_t sequence = atomic_load_explicit(&slot->sequence, memory_order_relaxed);
	const struct warpspan_kernel_numbers numbers = warpspan_kernel_numbers(kernel);
	uint32_t cluster = 0;

	for (unsigned d = 0; d < 3; d++)
		cluster |= (numbers.cluster[d] & CLUSTER_MASK) << (d * CLUSTER_BITS);
	atomic_store_explicit(&slot->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->function, function, memory_order_relaxed);
	atomic_store_explicit(&slot->context, context, memory_order_relaxed);
	atomic_store_explicit(&slot->kernel, kernel, memory_order_relaxed);
	atomic_store_explicit(&slot->number, numbers.kernel, memory_order_relaxed);
	atomic_store_explicit(&slot->module_number, numbers.module, memory_order_relaxed);
	atomic_store_explicit(&slot->context_number, numbers.context, memory_order_relaxed);
	atomic_store_explicit(&slot->cluster, cluster, memory_order_relaxed);
	atomic_store_explicit(&slot->epoch, of_epoch, memory_order_relaxed);
	atomic_store_explicit(&slot->sequence, sequence + 2, memory_order_release);
}

static void insert(struct cache_table *into, CUfunction function, CUcontext context, uint32_t of_epoch,
		   struct warpspan_kernel *kernel)
{
	struct cache_slot *target = NULL;

	for (size_t i = hash_of(function, context), probes = 0; probes < into->n_slots; i++, probes++) {
		struct cache_slot *slot = &into->slots[i & (into->n_slots - 1)];
		const uint32_t slot_epoch = atomic_load_explicit(&slot->epoch, memory_order_relaxed);

		if (slot_epoch == 0) {
			if (target == NULL) {
				target = slot;
				into->n_used++;
			}
			break;
		}
		if (atomic_load_explicit(&slot->function, memory_order_relaxed) == function &&
		    atomic_load_explicit(&slot->context, memory_order_relaxed) == context) {
			target = slot;
			break;
		}
		if (target == NULL && slot_epoch != of_epoch)
			target = slot;
	}
	if (target != NULL)
		write_slot(target, function, context, of_epoch, kernel);
}

static struct cache_table *make_table(size_t n_slots)
{
	struct cache_table *made = allocate_aligned(sizeof(*made) + n_slots * sizeof(made->slots[0]));

	if (made != NULL)
		made->n_slots = n_slots;
	return made;
}

/* A table with room for one more; NULL: no memory. */
static struct cache_table *table_with_room(void)
{
	struct cache_table *now = atomic_load_explicit(&table, memory_order_relaxed);
	const uint32_t now_epoch = atomic_load_explicit(&epoch, memory_order_relaxed);
	struct cache_table *made;

	if (now != NULL && now->n_used < now->n_slots / 4 * 3)
		return now;
	made = make_table(now != NULL ? now->n_slots * 2 : FIRST_TABLE_SLOTS);
	if (made == NULL)
		return NULL;
	for (size_t i = 0; now != NULL && i < now->n_slots; i++) {
		struct cache_slot *slot = &now->slots[i];

		if (atomic_load_explicit(&slot->epoch, memory_order_relaxed) == now_epoch)
			insert(made, atomic_load_explicit(&slot->function, memory_order_relaxed),
			       atomic_load_explicit(&slot->context, memory_order_relaxed), now_epoch,
			       atomic_load_explicit(&slot->kernel, memory_order_relaxed));
	}
	made->before = now;
	atomic_store_explicit(&table, made, memory_order_release);
	return made;
}

uint32_t warpspan_registry_epoch(void)
{
	return atomic_load_explicit(&epoch, memory_order_acquire);
}

void warpspan_registry_remember(CUfunction function, CUcontext context, uint32_t of_epoch,
				struct warpspan_kernel *kernel)
{
	struct cache_table *into;

	warpspan_lock(&lock);
	if (atomic_load_explicit(&epoch, memory_order_relaxed) == of_epoch) {
		into = table_with_room();
		if (into != NULL)
			insert(into, function, context, of_epoch, kernel);
	}
	warpspan_unlock(&lock);
}

static void advance_epoch(void)
{
	const uint32_t next = atomic_load_explicit(&epoch, memory_order_relaxed) + 1;

	atomic_store_explicit(&epoch, next != 0 ? next : 1, memory_order_release);
}

void warpspan_registry_next_epoch(void)
{
	warpspan_lock(&lock);
	advance_epoch();
	warpspan_unlock(&lock);
}

/* --- ends ------------------------------------------------------------------------------------- */

void warpspan_registry_end_context(struct warpspan_context *context)
{
	warpspan_lock(&lock);
	atomic_store_explicit(&context->state, WARPSPAN_CONTEXT_GONE, memory_order_release);
	for (struct warpspan_module *module = first_loaded; module != NULL; module = module->next_loaded)
		if (module->context == context)
			remove_loaded(module);
	advance_epoch();
	warpspan_unlock(&lock);
}

void warpspan_registry_retry_contexts(void)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;) {
		enum warpspan_context_state failed = WARPSPAN_CONTEXT_FAILED;

		/* Acquire pairs with the release that made it so. */
		if (atomic_load_explicit(&context->state, memory_order_acquire) == failed && context->arenas == NULL)
			(void)atomic_compare_exchange_strong(&context->state, &failed, WARPSPAN_CONTEXT_NEW);
	}
}

void warpspan_registry_end_module(struct warpspan_module *module)
{
	warpspan_lock(&lock);
	remove_loaded(module);
	advance_epoch();
	warpspan_unlock(&lock);
}

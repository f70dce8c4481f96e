/* SPDX-License-Identifier: Apache-2.0
 *
 * handle.c - which addresses are handles, and of what kind.
 *
 * An open-addressing hash set under a reader-writer lock: every call looks handles up, few create them. Removal
 * leaves a tombstone; growth drops them. Callable from any thread.
 */
#include "driver.h"

#include <stdlib.h>

struct slot {
	const void *object; /* NULL = never used */
	enum handle_kind kind;
	bool is_live;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct slot *slots;
static size_t n_slots; /* a power of two, or 0 */
static size_t n_used;  /* live and tombstones */

static size_t hash(const void *object)
{
	return (size_t)(((uint64_t)(uintptr_t)object >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 16);
}

/* The slot that holds `object`, or the first one it may take. The table has room. */
static struct slot *find(struct slot *table, size_t n, const void *object)
{
	size_t i = hash(object) & (n - 1);

	while (table[i].object && table[i].object != object)
		i = (i + 1) & (n - 1);
	return &table[i];
}

static bool grow(void)
{
	size_t n = n_slots ? n_slots * 2 : 64, n_live = 0;
	struct slot *table = calloc(n, sizeof(*table));

	if (!table)
		return false;
	for (size_t i = 0; i < n_slots; i++) {
		if (!slots[i].object || !slots[i].is_live)
			continue;
		*find(table, n, slots[i].object) = slots[i];
		n_live++;
	}
	free(slots);
	slots = table;
	n_slots = n;
	n_used = n_live;
	return true;
}

CUresult handle_add(enum handle_kind kind, const void *object)
{
	CUresult result = CUDA_SUCCESS;
	struct slot *slot;

	pthread_rwlock_wrlock(&lock);
	if (n_used * 2 >= n_slots && !grow()) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	} else {
		slot = find(slots, n_slots, object);
		if (!slot->object)
			n_used++;
		*slot = (struct slot){ .object = object, .kind = kind, .is_live = true };
	}
	pthread_rwlock_unlock(&lock);
	return result;
}

void handle_remove(const void *object)
{
	pthread_rwlock_wrlock(&lock);
	if (object && n_slots)
		find(slots, n_slots, object)->is_live = false;
	pthread_rwlock_unlock(&lock);
}

bool handle_is(enum handle_kind kind, const void *object)
{
	bool is = false;

	if (!object)
		return false;
	pthread_rwlock_rdlock(&lock);
	if (n_slots) {
		const struct slot *slot = find(slots, n_slots, object);

		is = slot->object == object && slot->is_live && slot->kind == kind;
	}
	pthread_rwlock_unlock(&lock);
	return is;
}

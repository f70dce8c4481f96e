/* SPDX-License-Identifier: Apache-2.0
 *
 * memory.c - allocations, host ranges and the copies between them.
 *
 * Any thread. A copy beside a running kernel is what it is on a device: unordered, but a word of 8 aligned bytes is
 * never torn. A freed range's bytes stay mapped until the device goes, so a kernel that races with the free reads
 * rubbish instead of crashing the process.
 */
#include "memory.h"

#include "device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Where the window would like to be: a fixed place makes device addresses, and so captures, repeat from run to run. */
#define WINDOW_HINT      0x200000000000ULL
#define WINDOW_STEP      0x010000000000ULL
#define N_WINDOW_HINTS   16
#define GUARD_BYTES      512
#define MIN_ALIGN        256
#define FILL_BYTE        0xa7
#define FILL_LIMIT_BYTES (4u << 20) /* beyond, new memory is zero: filling gigabytes would commit them */

static uint64_t reserve_at(void *hint, uint64_t bytes, int flags)
{
	void *window = mmap(hint, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	if (window == MAP_FAILED)
		return 0;
	if (hint != NULL && window != hint) {
		munmap(window, bytes);
		return 0;
	}
	return (uint64_t)(uintptr_t)window;
}

static uint64_t reserve_window(uint64_t bytes)
{
	uint64_t window = 0;

#ifndef __SANITIZE_THREAD__ /* its shadow memory is in the way of every hint */
	for (uint64_t i = 0; i < N_WINDOW_HINTS && window == 0; i++)
		window = reserve_at((void *)(uintptr_t)(WINDOW_HINT + i * WINDOW_STEP), bytes, MAP_FIXED_NOREPLACE);
#endif
	return window != 0 ? window : reserve_at(NULL, bytes, 0);
}

enum sim_status sim_memory_init(struct sim_memory *memory, uint64_t bytes)
{
	uint64_t page = 4096;

	memset(memory, 0, sizeof(*memory));
	memory->device_bytes = (bytes + page - 1) & ~(page - 1);
	memory->window_bytes = 3 * SIM_SEGMENT_BYTES + memory->device_bytes;
	memory->window = reserve_window(memory->window_bytes);
	if (memory->window == 0)
		return SIM_NO_MEMORY;
	memory->backing = mmap(NULL, memory->device_bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory->backing == MAP_FAILED) {
		munmap((void *)(uintptr_t)memory->window, memory->window_bytes);
		memory->window = 0;
		return SIM_NO_MEMORY;
	}
	memory->shared_base = memory->window;
	memory->local_base = memory->window + SIM_SEGMENT_BYTES;
	memory->param_base = memory->window + 2 * SIM_SEGMENT_BYTES;
	memory->device_base = memory->window + 3 * SIM_SEGMENT_BYTES;
	pthread_mutex_init(&memory->lock, NULL);
	atomic_init(&memory->generation, 1);
	return SIM_OK;
}

void sim_memory_finish(struct sim_memory *memory)
{
	if (memory->window == 0)
		return;
	munmap((void *)(uintptr_t)memory->window, memory->window_bytes);
	munmap(memory->backing, memory->device_bytes);
	free(memory->ranges);
	pthread_mutex_destroy(&memory->lock);
	memory->window = 0;
}

/* --- the sorted ranges, lock held ------------------------------------------------------------- */

/* Index of the first range that ends after `address`. */
static size_t range_index(const struct sim_memory *memory, uint64_t address)
{
	size_t low = 0, high = memory->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (memory->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool range_holds(const struct sim_memory *memory, size_t index, uint64_t address)
{
	return index < memory->n_ranges && memory->ranges[index].start <= address;
}

static bool insert_range(struct sim_memory *memory, size_t index, const struct sim_range *range)
{
	if (memory->n_ranges == memory->capacity) {
		size_t capacity = memory->capacity == 0 ? 64 : memory->capacity * 2;
		struct sim_range *ranges = realloc(memory->ranges, capacity * sizeof(*ranges));

		if (ranges == NULL)
			return false;
		memory->ranges = ranges;
		memory->capacity = capacity;
	}
	memmove(&memory->ranges[index + 1], &memory->ranges[index],
		(memory->n_ranges - index) * sizeof(memory->ranges[0]));
	memory->ranges[index] = *range;
	memory->n_ranges++;
	atomic_fetch_add_explicit(&memory->generation, 1, memory_order_release);
	return true;
}

static void remove_range(struct sim_memory *memory, size_t index)
{
	memory->n_ranges--;
	memmove(&memory->ranges[index], &memory->ranges[index + 1],
		(memory->n_ranges - index) * sizeof(memory->ranges[0]));
	atomic_fetch_add_explicit(&memory->generation, 1, memory_order_release);
}

/* --- allocation ------------------------------------------------------------------------------- */

/* First gap that takes `bytes`, behind a guard on either side; 0 when none does. */
static uint64_t find_gap(const struct sim_memory *memory, uint64_t bytes, uint64_t align, size_t *ret_index)
{
	uint64_t end_of_memory = memory->device_base + memory->device_bytes;
	uint64_t from = memory->device_base + GUARD_BYTES;
	size_t i = range_index(memory, memory->device_base);

	for (;; i++) {
		bool last = i >= memory->n_ranges || memory->ranges[i].start >= end_of_memory;
		uint64_t limit = last ? end_of_memory : memory->ranges[i].start;
		uint64_t start = (from + align - 1) & ~(align - 1);

		if (start < limit && limit - start >= GUARD_BYTES && bytes <= limit - start - GUARD_BYTES) {
			*ret_index = i;
			return start;
		}
		if (last)
			return 0;
		from = memory->ranges[i].end + GUARD_BYTES;
	}
}

static enum sim_status alloc_range(struct sim_memory *memory, size_t bytes, size_t align, bool is_heap,
				   uint64_t *ret_address)
{
	struct sim_range range = { .is_heap = is_heap };
	size_t index;
	bool good;

	if (bytes == 0 || (align & (align - 1)) != 0)
		return SIM_INVALID_VALUE;
	if (bytes > memory->device_bytes || align > memory->device_bytes)
		return SIM_NO_MEMORY;
	if (align < MIN_ALIGN)
		align = MIN_ALIGN;
	pthread_mutex_lock(&memory->lock);
	range.start = find_gap(memory, bytes, align, &index);
	range.end = range.start + bytes;
	range.to_host = (uint64_t)(uintptr_t)memory->backing - memory->device_base;
	good = range.start != 0 && insert_range(memory, index, &range);
	if (good)
		*(is_heap ? &memory->heap_used_bytes : &memory->used_bytes) += bytes;
	pthread_mutex_unlock(&memory->lock);
	if (!good)
		return SIM_NO_MEMORY;
	memset((void *)(uintptr_t)(range.start + range.to_host), FILL_BYTE,
	       bytes < FILL_LIMIT_BYTES ? bytes : FILL_LIMIT_BYTES);
	*ret_address = range.start;
	return SIM_OK;
}

enum sim_status sim_mem_alloc(struct sim_device *device, size_t bytes, size_t align, uint64_t *ret_address)
{
	return alloc_range(&device->memory, bytes, align, false, ret_address);
}

/* Gives whole pages inside a freed range back to the system. */
static void release_pages(const struct sim_range *range)
{
	uintptr_t page = 4096;
	uintptr_t start = (uintptr_t)(range->start + range->to_host + page - 1) & ~(page - 1);
	uintptr_t end = (uintptr_t)(range->end + range->to_host) & ~(page - 1);

	if (start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

static enum sim_status remove_start(struct sim_memory *memory, uint64_t address, bool is_host, bool is_heap)
{
	struct sim_range range;
	size_t index;

	pthread_mutex_lock(&memory->lock);
	index = range_index(memory, address);
	if (!range_holds(memory, index, address) || memory->ranges[index].start != address ||
	    memory->ranges[index].is_host != is_host || memory->ranges[index].is_heap != is_heap) {
		pthread_mutex_unlock(&memory->lock);
		return SIM_INVALID_VALUE;
	}
	range = memory->ranges[index];
	if (!is_host) {
		*(is_heap ? &memory->heap_used_bytes : &memory->used_bytes) -= range.end - range.start;
		/* Under the lock: the pages may be handed out again as soon as it is released. */
		release_pages(&range);
	}
	remove_range(memory, index);
	pthread_mutex_unlock(&memory->lock);
	return SIM_OK;
}

enum sim_status sim_mem_free(struct sim_device *device, uint64_t address)
{
	return remove_start(&device->memory, address, false, false);
}

uint64_t sim_heap_alloc(struct sim_device *device, uint64_t bytes)
{
	struct sim_memory *memory = &device->memory;
	uint64_t address, used;

	pthread_mutex_lock(&memory->lock);
	used = memory->heap_used_bytes;
	pthread_mutex_unlock(&memory->lock);
	/* Two launches that ask at once may both get the last of it; no program can tell. */
	if (bytes > device->config.malloc_heap_bytes || used > device->config.malloc_heap_bytes - bytes)
		return 0;
	bytes = bytes < 16 ? 16 : (bytes + 15) & ~15ULL;
	return alloc_range(memory, bytes, 16, true, &address) == SIM_OK ? address : 0;
}

bool sim_heap_free(struct sim_device *device, uint64_t address)
{
	return remove_start(&device->memory, address, false, true) == SIM_OK;
}

void sim_mem_usage(const struct sim_device *device, uint64_t *ret_free_bytes, uint64_t *ret_total_bytes)
{
	struct sim_memory *memory = (struct sim_memory *)&device->memory;

	pthread_mutex_lock(&memory->lock);
	*ret_free_bytes = memory->device_bytes - memory->used_bytes;
	*ret_total_bytes = memory->device_bytes;
	pthread_mutex_unlock(&memory->lock);
}

enum sim_status sim_host_register(struct sim_device *device, void *host, size_t bytes)
{
	struct sim_memory *memory = &device->memory;
	struct sim_range range = { .start = (uint64_t)(uintptr_t)host, .is_host = true };
	bool overlaps, good = false;
	size_t index;

	if (host == NULL || bytes == 0 || __builtin_add_overflow(range.start, bytes, &range.end))
		return SIM_INVALID_VALUE;
	pthread_mutex_lock(&memory->lock);
	index = range_index(memory, range.start);
	overlaps = index < memory->n_ranges && memory->ranges[index].start < range.end;
	if (!overlaps)
		good = insert_range(memory, index, &range);
	pthread_mutex_unlock(&memory->lock);
	if (overlaps)
		return SIM_INVALID_VALUE;
	return good ? SIM_OK : SIM_NO_MEMORY;
}

enum sim_status sim_host_unregister(struct sim_device *device, void *host)
{
	return remove_start(&device->memory, (uint64_t)(uintptr_t)host, true, false);
}

/* --- lookup ----------------------------------------------------------------------------------- */

bool sim_memory_find(struct sim_memory *memory, uint64_t address, struct sim_range *ret_range)
{
	size_t index;
	bool found;

	pthread_mutex_lock(&memory->lock);
	index = range_index(memory, address);
	found = range_holds(memory, index, address);
	if (found)
		*ret_range = memory->ranges[index];
	pthread_mutex_unlock(&memory->lock);
	return found;
}

bool sim_mem_range(const struct sim_device *device, uint64_t address, uint64_t *ret_start, uint64_t *ret_bytes)
{
	struct sim_range range;

	if (!sim_memory_find((struct sim_memory *)&device->memory, address, &range))
		return false;
	*ret_start = range.start;
	*ret_bytes = range.end - range.start;
	return true;
}

/* Another device's memory, if this one may reach it. Never cached: its changes do not raise our count. */
static void *peer_lookup(struct sim_memory *memory, uint64_t address, uint64_t bytes)
{
	struct sim_memory *peers[SIM_MAX_PEERS];
	struct sim_range range;
	uint32_t n_peers;

	pthread_mutex_lock(&memory->lock);
	n_peers = memory->n_peers;
	memcpy(peers, memory->peers, n_peers * sizeof(peers[0]));
	pthread_mutex_unlock(&memory->lock);
	for (uint32_t i = 0; i < n_peers; i++)
		if (sim_memory_find(peers[i], address, &range) && bytes <= range.end - address)
			return (void *)(uintptr_t)(address + range.to_host);
	return NULL;
}

enum sim_status sim_peer_enable(struct sim_device *device, struct sim_device *peer)
{
	struct sim_memory *memory = &device->memory;
	enum sim_status status = SIM_OK;

	pthread_mutex_lock(&memory->lock);
	if (memory->n_peers == SIM_MAX_PEERS)
		status = SIM_NO_MEMORY;
	else
		memory->peers[memory->n_peers++] = &peer->memory;
	pthread_mutex_unlock(&memory->lock);
	return status;
}

void sim_peer_disable(struct sim_device *device, struct sim_device *peer)
{
	struct sim_memory *memory = &device->memory;

	pthread_mutex_lock(&memory->lock);
	for (uint32_t i = 0; i < memory->n_peers; i++) {
		if (memory->peers[i] == &peer->memory) {
			memory->peers[i] = memory->peers[--memory->n_peers];
			break;
		}
	}
	pthread_mutex_unlock(&memory->lock);
}

void *sim_memory_lookup(struct sim_memory *memory, struct sim_range_cache *cache, uint64_t address, uint64_t bytes)
{
	uint64_t generation = atomic_load_explicit(&memory->generation, memory_order_acquire);
	struct sim_range range;

	if (cache->generation != generation) {
		memset(cache, 0, sizeof(*cache));
		cache->generation = generation;
	}
	if (!sim_memory_find(memory, address, &range))
		return peer_lookup(memory, address, bytes);
	if (bytes > range.end - address)
		return NULL;
	cache->ranges[cache->next++ % SIM_RANGE_CACHE] = range;
	return (void *)(uintptr_t)(address + range.to_host);
}

/* --- copies ----------------------------------------------------------------------------------- */

static uint8_t *range_pointer(struct sim_device *device, uint64_t address, size_t bytes)
{
	struct sim_range range;

	if (!sim_memory_find(&device->memory, address, &range) || bytes > range.end - address)
		return NULL;
	return (uint8_t *)(uintptr_t)(address + range.to_host);
}

/* Which side of a copy kernels may be using: its words are moved whole. */
enum shared_side { SHARED_SOURCE, SHARED_DESTINATION };

static void copy_bytes(uint8_t *to, const uint8_t *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		__atomic_store_n(&to[i], __atomic_load_n(&from[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static void copy_words(uint8_t *to, const uint8_t *from, size_t bytes, enum shared_side side)
{
	uintptr_t shared = side == SHARED_SOURCE ? (uintptr_t)from : (uintptr_t)to;
	size_t head = (size_t)(0 - shared) & 7;

	if (head > bytes)
		head = bytes;
	copy_bytes(to, from, head);
	to += head;
	from += head;
	bytes -= head;
	for (; bytes >= 8; bytes -= 8, to += 8, from += 8) {
		uint64_t word;

		if (side == SHARED_SOURCE) {
			word = __atomic_load_n((const uint64_t *)(const void *)from, __ATOMIC_RELAXED);
			memcpy(to, &word, sizeof(word));
		} else {
			memcpy(&word, from, sizeof(word));
			__atomic_store_n((uint64_t *)(void *)to, word, __ATOMIC_RELAXED);
		}
	}
	copy_bytes(to, from, bytes);
}

enum sim_status sim_mem_write(struct sim_device *device, uint64_t to_address, const void *from, size_t bytes)
{
	uint8_t *to;

	if (bytes == 0)
		return SIM_OK;
	to = range_pointer(device, to_address, bytes);
	if (to == NULL)
		return SIM_INVALID_VALUE;
	/* What the host wrote before must be visible to a kernel that sees these bytes. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	copy_words(to, from, bytes, SHARED_DESTINATION);
	return SIM_OK;
}

enum sim_status sim_mem_read(struct sim_device *device, void *to, uint64_t from_address, size_t bytes)
{
	const uint8_t *from;

	if (bytes == 0)
		return SIM_OK;
	from = range_pointer(device, from_address, bytes);
	if (from == NULL)
		return SIM_INVALID_VALUE;
	copy_words(to, from, bytes, SHARED_SOURCE);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return SIM_OK;
}

enum sim_status sim_mem_copy(struct sim_device *device, uint64_t to_address, uint64_t from_address, size_t bytes)
{
	uint8_t *to;
	const uint8_t *from;

	if (bytes == 0)
		return SIM_OK;
	to = range_pointer(device, to_address, bytes);
	from = range_pointer(device, from_address, bytes);
	if (to == NULL || from == NULL)
		return SIM_INVALID_VALUE;
	/* Overlapping copies are undefined on a device; here they must not be undefined for the process. */
	if (to < from + bytes && from < to + bytes)
		memmove(to, from, bytes);
	else
		copy_words(to, from, bytes, SHARED_DESTINATION);
	return SIM_OK;
}

enum sim_status sim_mem_set(struct sim_device *device, uint64_t address, uint32_t value, uint32_t unit_bytes,
			    size_t count)
{
	uint8_t *to;

	if ((unit_bytes != 1 && unit_bytes != 2 && unit_bytes != 4) || address % unit_bytes != 0 ||
	    count > SIZE_MAX / 4)
		return SIM_INVALID_VALUE;
	if (count == 0)
		return SIM_OK;
	to = range_pointer(device, address, count * unit_bytes);
	if (to == NULL)
		return SIM_INVALID_VALUE;
	if (unit_bytes == 1) {
		memset(to, (int)(value & 0xff), count);
		return SIM_OK;
	}
	for (size_t i = 0; i < count; i++) {
		if (unit_bytes == 2)
			__atomic_store_n((uint16_t *)(void *)to + i, (uint16_t)value, __ATOMIC_RELAXED);
		else
			__atomic_store_n((uint32_t *)(void *)to + i, value, __ATOMIC_RELAXED);
	}
	return SIM_OK;
}

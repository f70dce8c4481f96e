/* SPDX-License-Identifier: Apache-2.0
 *
 * arena.c - allocates, swaps and clears the arenas of a context. See arena.h.
 */
#include "arena.h"

#include "counters.h"
#include "driver.h"
#include "log.h"

#include <stdlib.h>
#include <string.h>

/* Arenas start on cache lines of their own. */
#define ARENA_ALIGNMENT 256u

static uint64_t control_bytes(void)
{
	return (sizeof(struct warpspan_control) + ARENA_ALIGNMENT - 1) / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
}

/* What the setting asks for, but never more than this part of the memory that is free: the rest is the program's. */
#define MOST_PART 4u

static uint64_t modest(uint64_t buffer)
{
	size_t free_bytes, total_bytes;
	uint64_t most;

	if (warpspan_driver.cuMemGetInfo_v2 == NULL ||
	    warpspan_driver.cuMemGetInfo_v2(&free_bytes, &total_bytes) != CUDA_SUCCESS)
		return buffer;
	most = free_bytes / MOST_PART;
	if (most < WARPSPAN_LEAST_BUFFER)
		most = WARPSPAN_LEAST_BUFFER;
	if (buffer <= most)
		return buffer;
	warpspan_warn("WARPSPAN_BUFFER=%lluK is more than a quarter of the device's free memory (%lluK): records get "
		      "%lluK",
		      (unsigned long long)(buffer >> 10), (unsigned long long)(free_bytes >> 10),
		      (unsigned long long)(most >> 10));
	return most;
}

/* Takes `buffer` bytes for the arenas, or the half of it, and so on. */
static CUresult allocate(struct warpspan_arenas *arenas, uint64_t buffer)
{
	CUresult result;

	for (;; buffer /= 2) {
		arenas->arena_bytes = buffer / WARPSPAN_N_ARENAS / ARENA_ALIGNMENT * ARENA_ALIGNMENT;
		result = warpspan_driver.cuMemAlloc_v2(&arenas->memory,
						       control_bytes() + WARPSPAN_N_ARENAS * arenas->arena_bytes);
		if (result != CUDA_ERROR_OUT_OF_MEMORY || buffer / 2 < WARPSPAN_LEAST_BUFFER)
			return result;
	}
}

static void place(struct warpspan_arenas *arenas)
{
	arenas->control = arenas->memory;
	for (unsigned i = 0; i < WARPSPAN_N_ARENAS; i++) {
		arenas->side[i].address = arenas->memory + control_bytes() + i * arenas->arena_bytes;
		arenas->side[i].state = WARPSPAN_ARENA_EMPTY;
	}
	arenas->active = 0;
	arenas->side[0].state = WARPSPAN_ARENA_ACTIVE;
}

static struct warpspan_control control_of(const struct warpspan_arenas *arenas)
{
	return (struct warpspan_control){
		.arena = arenas->side[arenas->active].address,
		.arena_bytes = arenas->arena_bytes,
		.words_asked = arenas->words_asked,
		.words_least = WARPSPAN_WORDS_LEAST,
		.words_most = WARPSPAN_WORDS_MOST,
		.words_enough = WARPSPAN_WORDS_ENOUGH,
	};
}

static CUresult fill(struct warpspan_arenas *arenas)
{
	const struct warpspan_control control = control_of(arenas);
	CUresult result;

	result = warpspan_driver.cuMemsetD8Async(
		arenas->memory, 0, control_bytes() + WARPSPAN_N_ARENAS * arenas->arena_bytes, arenas->stream);
	return result != CUDA_SUCCESS
		       ? result
		       : warpspan_driver_write(arenas->control, &control, sizeof(control), arenas->stream);
}

/* Segments stay 16-byte aligned with an even number of words. */
static uint32_t words_of(uint32_t events_per_warp)
{
	return events_per_warp + events_per_warp % 2;
}

struct warpspan_arenas *warpspan_arenas_create(uint64_t buffer_bytes, uint32_t events_per_warp, CUresult *ret_error)
{
	struct warpspan_arenas *arenas = calloc(1, sizeof(*arenas));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
	uint64_t buffer;

	if (arenas == NULL)
		goto fail;
	buffer = modest(buffer_bytes);
	arenas->words_asked = words_of(events_per_warp);
	result = warpspan_driver.cuStreamCreate(&arenas->stream, CU_STREAM_NON_BLOCKING);
	if (result != CUDA_SUCCESS)
		goto fail;
	result = warpspan_driver.cuStreamCreate(&arenas->attach_stream, CU_STREAM_NON_BLOCKING);
	if (result != CUDA_SUCCESS)
		goto fail;
	result = allocate(arenas, buffer);
	if (result != CUDA_SUCCESS)
		goto fail;
	place(arenas);
	result = fill(arenas);
	if (result != CUDA_SUCCESS)
		goto fail;
	if (!warpspan_arenas_stage(arenas, WARPSPAN_STAGING_BYTES)) {
		result = CUDA_ERROR_OUT_OF_MEMORY;
		goto fail;
	}
	if (WARPSPAN_N_ARENAS * arenas->arena_bytes <= buffer / 2)
		warpspan_warn("the driver had no %lluK of device memory for records: they get %lluK",
			      (unsigned long long)(buffer >> 10),
			      (unsigned long long)(WARPSPAN_N_ARENAS * arenas->arena_bytes >> 10));
	return arenas;
fail:
	*ret_error = result;
	if (arenas != NULL) {
		if (arenas->memory != 0)
			(void)warpspan_driver.cuMemFree_v2(arenas->memory);
		if (arenas->attach_stream != NULL)
			(void)warpspan_driver.cuStreamDestroy_v2(arenas->attach_stream);
		if (arenas->stream != NULL)
			(void)warpspan_driver.cuStreamDestroy_v2(arenas->stream);
	}
	return warpspan_arenas_forget(arenas);
}

struct warpspan_arenas *warpspan_arenas_forget(struct warpspan_arenas *arenas)
{
	if (arenas == NULL)
		return NULL;
	for (unsigned i = 0; i < WARPSPAN_N_ARENAS; i++)
		free(arenas->side[i].pending);
	if (!arenas->staging_pinned)
		free(arenas->staging);
	free(arenas);
	return NULL;
}

uint64_t warpspan_arenas_room(const struct warpspan_arenas *arenas)
{
	return arenas->arena_bytes - sizeof(struct warpspan_arena);
}

uint64_t warpspan_arenas_most_bytes(const struct warpspan_arenas *arenas)
{
	const uint64_t words = arenas->words_asked != 0 ? arenas->words_asked : WARPSPAN_WORDS_MOST;

	return sizeof(struct warpspan_segment) + words * WARPSPAN_WORD_BYTES;
}

static uint64_t opened_of(const struct warpspan_arena *header)
{
	return header->tickets >> WARPSPAN_TICKET_UNIT_BITS;
}

static uint64_t used_of(const struct warpspan_arena *header)
{
	return (header->tickets & WARPSPAN_TICKET_UNIT_MASK) * WARPSPAN_TICKET_UNIT_BYTES;
}

/* Warps that may take a ticket of a full arena because they all looked before: more than any device runs at a time. */
#define MOST_RACERS (1ull << 20)

/* Whether warps may have made this of the counters as they were last read. */
static bool is_plausible(const struct warpspan_arenas *arenas, const struct warpspan_arena_side *side,
			 const struct warpspan_arena *header)
{
	const uint64_t used = used_of(header), opened = opened_of(header);
	const uint64_t room = warpspan_arenas_room(arenas);

	/* Of the two counters one is read before the other: only if nothing moves it is certain that they contradict
	 * each other. */
	if (header->closed > opened && header->closed == side->closed && opened == side->opened)
		return false;
	return used >= side->walked_bytes && opened >= side->opened && header->closed >= side->closed &&
	       used <= room + MOST_RACERS * warpspan_arenas_most_bytes(arenas) &&
	       opened <= room / sizeof(struct warpspan_segment) + MOST_RACERS;
}

CUresult warpspan_arena_look(struct warpspan_arenas *arenas, struct warpspan_arena_side *side, uint64_t *ret_used_bytes)
{
	struct warpspan_arena header, again;
	CUresult result = warpspan_driver_read(&header, side->address, sizeof(header), arenas->stream);
	bool quiet;
	uint64_t used;

	if (result != CUDA_SUCCESS)
		return result;
	quiet = opened_of(&header) == header.closed;
	if (quiet && !(side->quiet && side->opened == header.closed)) {
		/* The two are not read at one moment: another warp may have opened and closed between, while one that
		 * opened before is still open. If no ticket was taken from the first read to the second, they hold. */
		result = warpspan_driver_read(&again, side->address, sizeof(again), arenas->stream);
		if (result != CUDA_SUCCESS)
			return result;
		quiet = again.tickets == header.tickets;
		header = again;
	}
	used = used_of(&header);
	side->implausible = side->implausible || !is_plausible(arenas, side, &header);
	side->opened = opened_of(&header);
	side->closed = header.closed;
	side->quiet = quiet;
	side->full = used > warpspan_arenas_room(arenas);
	*ret_used_bytes = used < warpspan_arenas_room(arenas) ? used : warpspan_arenas_room(arenas);
	return CUDA_SUCCESS;
}

bool warpspan_arenas_stage(struct warpspan_arenas *arenas, size_t bytes)
{
	void *memory = NULL;
	bool pinned;

	if (bytes <= arenas->staging_bytes)
		return true;
	/* Pinned memory is copied to several times as fast; ordinary memory will do. */
	pinned = warpspan_driver.cuMemHostAlloc(&memory, bytes, 0) == CUDA_SUCCESS && memory != NULL;
	if (!pinned)
		memory = malloc(bytes);
	if (memory == NULL)
		return false;
	if (arenas->staging_pinned)
		(void)warpspan_driver.cuMemFreeHost(arenas->staging);
	else
		free(arenas->staging);
	arenas->staging = memory;
	arenas->staging_bytes = bytes;
	arenas->staging_pinned = pinned;
	return true;
}

CUresult warpspan_arenas_swap(struct warpspan_arenas *arenas)
{
	const unsigned next = (arenas->active + 1) % WARPSPAN_N_ARENAS;
	const warpspan_u64 address = arenas->side[next].address;
	/* Once the copy is complete, a warp that still takes a ticket in the old arena finds the new address when it
	 * looks again, and voids its segment; one that took its ticket before is in the counters we read next. */
	const CUresult result = warpspan_driver_write(arenas->control + offsetof(struct warpspan_control, arena),
						      &address, sizeof(address), arenas->stream);

	if (result != CUDA_SUCCESS)
		return result;
	arenas->side[arenas->active].state = WARPSPAN_ARENA_RETIRED;
	arenas->side[next].state = WARPSPAN_ARENA_ACTIVE;
	arenas->active = next;
	return CUDA_SUCCESS;
}

CUresult warpspan_arena_clear(struct warpspan_arenas *arenas, struct warpspan_arena_side *side)
{
	CUresult result = warpspan_driver.cuMemsetD8Async(side->address, 0, arenas->arena_bytes, arenas->stream);

	if (result == CUDA_SUCCESS)
		result = warpspan_driver.cuStreamSynchronize(arenas->stream);
	if (result != CUDA_SUCCESS)
		return result;
	side->state = WARPSPAN_ARENA_EMPTY;
	side->walked_bytes = 0;
	side->opened = 0;
	side->closed = 0;
	side->n_pending = 0;
	side->quiet = true;
	side->full = false;
	side->in_hole = false;
	side->implausible = false;
	return CUDA_SUCCESS;
}

/* --- between sessions ------------------------------------------------------------------------- */

CUresult warpspan_arenas_suspend(struct warpspan_arenas *arenas)
{
	const warpspan_u64 none = 0;
	const CUresult result = warpspan_driver_write(arenas->control + offsetof(struct warpspan_control, arena), &none,
						      sizeof(none), arenas->stream);

	if (result == CUDA_SUCCESS)
		arenas->side[arenas->active].state = WARPSPAN_ARENA_RETIRED;
	return result;
}

/* What is in the arena was another session's. */
static CUresult forget_old(struct warpspan_arenas *arenas, struct warpspan_arena_side *side)
{
	uint64_t used;
	CUresult result;

	if (side->state == WARPSPAN_ARENA_EMPTY)
		return CUDA_SUCCESS;
	result = warpspan_arena_look(arenas, side, &used);
	if (result != CUDA_SUCCESS)
		return result;
	if (side->quiet)
		return warpspan_arena_clear(arenas, side);
	warpspan_count(WARPSPAN_COUNTER_segments_earlier, side->opened - side->closed);
	side->walked_bytes = used;
	side->n_pending = 0;
	side->stuck = false;
	side->in_hole = false;
	return CUDA_SUCCESS;
}

/* Memory for an arena whose old memory is left to the warps that still write to it. */
static CUresult replace(struct warpspan_arenas *arenas, struct warpspan_arena_side *side)
{
	CUdeviceptr memory = 0;
	CUresult result = warpspan_driver.cuMemAlloc_v2(&memory, arenas->arena_bytes);

	if (result != CUDA_SUCCESS)
		return result;
	warpspan_debug("kernels of an earlier session hold every arena: another is taken");
	side->address = memory;
	side->state = WARPSPAN_ARENA_RETIRED;
	return warpspan_arena_clear(arenas, side);
}

CUresult warpspan_arenas_resume(struct warpspan_arenas *arenas, uint32_t events_per_warp)
{
	static const struct warpspan_loss none[WARPSPAN_N_LOSSES];
	struct warpspan_control control;
	CUresult result = CUDA_SUCCESS;
	unsigned next = WARPSPAN_N_ARENAS;

	for (unsigned i = 0; i < WARPSPAN_N_ARENAS && result == CUDA_SUCCESS; i++)
		result = forget_old(arenas, &arenas->side[i]);
	for (unsigned i = 0; i < WARPSPAN_N_ARENAS; i++)
		if (arenas->side[i].state == WARPSPAN_ARENA_EMPTY)
			next = i;
	if (next == WARPSPAN_N_ARENAS && result == CUDA_SUCCESS) {
		next = arenas->active;
		result = replace(arenas, &arenas->side[next]);
		if (result == CUDA_ERROR_OUT_OF_MEMORY) {
			warpspan_warn("kernels of an earlier session still hold the memory for records, and there is "
				      "no other: kernels run unprofiled");
			return CUDA_SUCCESS;
		}
	}
	if (result != CUDA_SUCCESS)
		return result;
	arenas->active = next;
	arenas->side[next].state = WARPSPAN_ARENA_ACTIVE;
	arenas->words_asked = words_of(events_per_warp);
	memset(arenas->losses, 0, sizeof(arenas->losses));
	arenas->losses_overwritten = false;
	result = warpspan_driver_write(arenas->control + offsetof(struct warpspan_control, losses), none, sizeof(none),
				       arenas->stream);
	control = control_of(arenas);
	return result != CUDA_SUCCESS
		       ? result
		       : warpspan_driver_write(arenas->control, &control, offsetof(struct warpspan_control, reserved),
					       arenas->stream);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_memory.c - loads and stores.
 *
 * A naturally aligned access of up to 8 bytes is one host access, relaxed or stronger, so that concurrent launches and
 * copies see whole values; a vector is 8-byte pieces where its alignment allows. What belongs to a lane alone needs no
 * such care. Faults name kernel, line, block, thread and address: lanes are first looked at together, and one by one
 * only where they are not all in one place that is known. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"

#include <stdlib.h>

#define LOCAL_START_BYTES   1024
#define LOCAL_PADDING_BYTES 64
#define LOCAL_MAX_BYTES     (512u << 10) /* per thread, as on a device */

/* --- local memory ----------------------------------------------------------------------------- */

/* From a lane's local memory to the next one's: an odd number of cache lines, so that a variable of all lanes spreads
 * over the host's cache. */
static size_t local_stride(uint32_t capacity)
{
	return (size_t)capacity + LOCAL_PADDING_BYTES;
}

bool warp_reserve_local(struct sim_warp *warp, uint32_t bytes)
{
	uint32_t capacity = warp->local_capacity;
	uint8_t *local;

	if (bytes <= capacity)
		return true;
	if (bytes > LOCAL_MAX_BYTES) {
		warp_fault(warp, NULL, first_lane(warp->live), SIM_ILLEGAL_ADDRESS,
			   "stack overflow: more than %u bytes of local memory", LOCAL_MAX_BYTES);
		return false;
	}
	capacity = capacity == 0 ? LOCAL_START_BYTES : capacity;
	while (capacity < bytes)
		capacity *= 2;
	local = calloc(SIM_LANES, local_stride(capacity));
	if (local == NULL) {
		warp_fault(warp, NULL, first_lane(warp->live), SIM_NO_MEMORY, "out of host memory");
		return false;
	}
	for (uint32_t lane = 0; lane < SIM_LANES && warp->local != NULL; lane++)
		memcpy(local + lane * local_stride(capacity), warp->local + lane * local_stride(warp->local_capacity),
		       warp->local_capacity);
	free(warp->local);
	warp->local = local;
	warp->local_capacity = capacity;
	return true;
}

/* --- addresses -------------------------------------------------------------------------------- */

uint64_t lane_address(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t memory, uint32_t lane)
{
	const struct ptx_operand *base = &insn->o[insn->memory[memory]];
	uint64_t displacement = (uint64_t)insn->displacement[memory];

	if (base->bytes == 4)
		return (uint32_t)(LANES_OF(const uint32_t, warp, *base)[lane] + (uint32_t)displacement);
	return LANES_OF(const uint64_t, warp, *base)[lane] + displacement;
}

struct sim_block *shared_block(struct sim_warp *warp, uint64_t address, uint32_t *ret_offset)
{
	uint64_t rank = address >> SIM_RANK_SHIFT;

	*ret_offset = (uint32_t)address & ((1u << SIM_RANK_SHIFT) - 1);
	if (rank == 0)
		return warp->block;
	if (rank > warp->block->cluster->n_blocks)
		return NULL;
	return warp->block->cluster->blocks[rank - 1];
}

static void *shared_pointer(struct sim_warp *warp, uint64_t address, uint32_t bytes)
{
	uint32_t offset;
	struct sim_block *block = shared_block(warp, address, &offset);

	if (block != NULL && offset >= SIM_RESERVED_SHARED_OFFSET)
		return bytes <= SIM_RESERVED_SHARED_OFFSET + SIM_RESERVED_SHARED_BYTES - offset
			       ? block->reserved + (offset - SIM_RESERVED_SHARED_OFFSET)
			       : NULL;
	if (block == NULL || offset > block->shared_bytes || bytes > block->shared_bytes - offset)
		return NULL;
	return block->shared + offset;
}

static void *local_pointer(struct sim_warp *warp, uint32_t lane, uint64_t address, uint32_t bytes)
{
	uint32_t limit = warp->frame->local_top;

	/* A pointer may reach the caller's variables, never above the frame that runs. */
	if (address > limit || bytes > limit - address)
		return NULL;
	return warp->local + lane * local_stride(warp->local_capacity) + address;
}

static void *param_pointer(struct sim_warp *warp, uint64_t address, uint32_t bytes)
{
	struct sim_launch_state *state = warp->launch;
	uint64_t in_workspace = address - SIM_WORKSPACE_OFFSET;

	if (state->launch->is_cooperative && in_workspace < sizeof(state->workspace))
		return bytes <= sizeof(state->workspace) - in_workspace ? (uint8_t *)state->workspace + in_workspace
									: NULL;
	if (address > state->params_bytes || bytes > state->params_bytes - address)
		return NULL;
	return (void *)(uintptr_t)(state->params + address);
}

static void *generic_pointer(struct sim_warp *warp, uint32_t lane, uint64_t address, uint32_t bytes)
{
	struct sim_memory *memory = &warp->launch->device->memory;
	uint64_t offset = address - memory->window;

	if (offset >= 3 * SIM_SEGMENT_BYTES)
		return sim_memory_resolve(memory, &warp->domain->cache, address, bytes);
	if (offset < SIM_SEGMENT_BYTES)
		return shared_pointer(warp, offset, bytes);
	if (offset < 2 * SIM_SEGMENT_BYTES)
		return local_pointer(warp, lane, offset - SIM_SEGMENT_BYTES, bytes);
	return param_pointer(warp, offset - 2 * SIM_SEGMENT_BYTES, bytes);
}

static const char *space_name(uint8_t space)
{
	switch (space) {
	case PTX_M_SHARED:
	case PTX_M_CLUSTER:
		return "shared";
	case PTX_M_LOCAL:
		return "local";
	case PTX_M_PARAM:
		return "parameter";
	case PTX_M_CONST:
		return "constant";
	case PTX_M_GLOBAL:
		return "global";
	default:
		return "generic";
	}
}

void *lane_range(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint8_t space, uint64_t address,
		 uint32_t bytes)
{
	void *pointer;

	switch (space) {
	case PTX_M_SHARED:
	case PTX_M_CLUSTER:
		pointer = shared_pointer(warp, address, bytes);
		break;
	case PTX_M_LOCAL:
		pointer = local_pointer(warp, lane, address, bytes);
		break;
	case PTX_M_PARAM:
		pointer = param_pointer(warp, address, bytes);
		break;
	case PTX_M_GLOBAL:
	case PTX_M_CONST:
		pointer = sim_memory_resolve(&warp->launch->device->memory, &warp->domain->cache, address, bytes);
		break;
	default:
		pointer = generic_pointer(warp, lane, address, bytes);
		break;
	}
	if (pointer == NULL)
		warp_fault(warp, insn, lane, SIM_ILLEGAL_ADDRESS, "illegal address 0x%llx, %u bytes, %s memory",
			   (unsigned long long)address, bytes, space_name(space));
	return pointer;
}

void *lane_pointer(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint8_t space, uint64_t address,
		   uint32_t bytes)
{
	/* Alignment first: the bytes of a misaligned access may lie in two places. */
	if ((address & (bytes - 1)) != 0) {
		warp_fault(warp, insn, lane, SIM_MISALIGNED_ADDRESS, "misaligned address 0x%llx, %u bytes, %s memory",
			   (unsigned long long)address, bytes, space_name(space));
		return NULL;
	}
	return lane_range(warp, insn, lane, space, address, bytes);
}

/* --- one access ------------------------------------------------------------------------------- */

static inline uint64_t load_piece(const void *from, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		return __atomic_load_n((const uint8_t *)from, __ATOMIC_RELAXED);
	case 2:
		return __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
	}
}

static inline void store_piece(void *to, uint64_t value, uint32_t bytes)
{
	switch (bytes) {
	case 1:
		__atomic_store_n((uint8_t *)to, (uint8_t)value, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n((uint16_t *)to, (uint16_t)value, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((uint32_t *)to, (uint32_t)value, __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n((uint64_t *)to, value, __ATOMIC_RELAXED);
		break;
	}
}

/* The widest whole accesses that make up `bytes`; the host pointer has the alignment of the device address. */
static inline uint32_t piece_bytes(uint32_t bytes)
{
	return bytes > 8 ? 8 : bytes;
}

static void load_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t piece = piece_bytes(bytes);

	for (uint32_t i = 0; i < bytes; i += piece) {
		uint64_t value = load_piece(from + i, piece);

		memcpy(to + i, &value, piece);
	}
}

static void store_bytes(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t piece = piece_bytes(bytes);

	for (uint32_t i = 0; i < bytes; i += piece) {
		uint64_t value = 0;

		memcpy(&value, from + i, piece);
		store_piece(to + i, value, piece);
	}
}

static uint64_t sign_extend(uint64_t value, uint8_t type)
{
	switch (type) {
	case PTX_S8:
		return (uint64_t)(int64_t)(int8_t)value;
	case PTX_S16:
		return (uint64_t)(int64_t)(int16_t)value;
	case PTX_S32:
		return (uint64_t)(int64_t)(int32_t)value;
	default:
		return value;
	}
}

/* --- ld, st ----------------------------------------------------------------------------------- */

void warp_note_load(struct sim_warp *warp, uint32_t latency)
{
	uint64_t ready = warp->cycle + sim_cost_cycles[latency];

	if (ready > warp->load_ready)
		warp->load_ready = ready;
}

static uint32_t latency_of(const struct ptx_insn *insn)
{
	switch (insn->spaces[0]) {
	case PTX_M_SHARED:
	case PTX_M_CLUSTER:
		return PTX_COST_LATENCY_SHARED;
	case PTX_M_LOCAL:
		return PTX_COST_LATENCY_LOCAL;
	case PTX_M_CONST:
		return PTX_COST_LATENCY_CONST;
	default:
		return PTX_COST_LATENCY_GLOBAL;
	}
}

static void write_element(struct sim_warp *warp, const struct ptx_operand *to, uint32_t lane, const uint8_t *bytes,
			  uint8_t type)
{
	uint32_t size = ptx_type_bytes[type];
	uint64_t value = 0;

	memcpy(&value, bytes, size < 8 ? size : 8);
	write_lane(warp, to, lane, sign_extend(value, type));
	if (size == 16 && to->bytes == 16)
		memcpy(LANES_OF(uint64_t, warp, *to) + 2 * lane + 1, bytes + 8, 8);
}

static void read_element(const struct sim_warp *warp, const struct ptx_operand *from, uint32_t lane, uint8_t *bytes,
			 uint8_t type)
{
	uint32_t size = ptx_type_bytes[type];
	uint64_t value = read_lane(warp, from, lane);

	memcpy(bytes, &value, size < 8 ? size : 8);
	if (size == 16 && from->bytes == 16)
		memcpy(bytes + 8, LANES_OF(const uint64_t, warp, *from) + 2 * lane + 1, 8);
}

static const struct ptx_operand *elements_of(const struct sim_warp *warp, const struct ptx_operand *vector)
{
	return &warp->frame->function->elements[vector->offset];
}

static void write_elements(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, const uint8_t *bytes)
{
	const struct ptx_operand *elements = elements_of(warp, &insn->o[0]);
	uint32_t size = ptx_type_bytes[insn->types[0]];

	for (uint32_t i = 0; i < insn->n_elements; i++)
		write_element(warp, &elements[i], lane, bytes + (size_t)i * size, insn->types[0]);
}

static void read_elements(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint8_t *bytes)
{
	const struct ptx_operand *elements = elements_of(warp, &insn->o[1]);
	uint32_t size = ptx_type_bytes[insn->types[0]];

	for (uint32_t i = 0; i < insn->n_elements; i++)
		read_element(warp, &elements[i], lane, bytes + (size_t)i * size, insn->types[0]);
}

static uint32_t access_bytes(const struct ptx_insn *insn)
{
	return (uint32_t)ptx_type_bytes[insn->types[0]] * insn->n_elements;
}

/* --- all lanes at once ------------------------------------------------------------------------ */

/* Where an access of some bytes may start, and where that is: address + to_host, and a stride more for each lane. */
struct lane_window {
	uint64_t start, limit; /* from start to start + limit, inclusive */
	uint64_t to_host, stride;
};

static inline bool window_from(uint64_t start, uint64_t end, uint32_t bytes, uint64_t to_host, uint64_t stride,
			       struct lane_window *ret_window)
{
	if (end - start < bytes)
		return false;
	*ret_window = (struct lane_window){ start, end - start - bytes, to_host, stride };
	return true;
}

static inline bool shared_window(const struct sim_warp *warp, uint64_t start, uint32_t bytes,
				 struct lane_window *ret_window)
{
	return window_from(start, start + warp->block->shared_bytes, bytes,
			   (uint64_t)(uintptr_t)warp->block->shared - start, 0, ret_window);
}

static inline bool local_window(const struct sim_warp *warp, uint64_t start, uint32_t bytes,
				struct lane_window *ret_window)
{
	return window_from(start, start + warp->frame->local_top, bytes, (uint64_t)(uintptr_t)warp->local - start,
			   local_stride(warp->local_capacity), ret_window);
}

static inline bool global_window(const struct sim_warp *warp, uint64_t address, uint32_t bytes,
				 struct lane_window *ret_window)
{
	const struct sim_range *range = sim_memory_recent(&warp->launch->device->memory, &warp->domain->cache, address);

	return range != NULL && window_from(range->start, range->end, bytes, range->to_host, 0, ret_window);
}

/* The window that `address` may be in; false where there is none, or none that is quickly found. */
__attribute__((always_inline)) static inline bool find_window(const struct sim_warp *warp, uint8_t space,
							      uint64_t address, uint32_t bytes,
							      struct lane_window *ret_window)
{
	const struct sim_memory *memory = &warp->launch->device->memory;

	switch (space) {
	case PTX_M_SHARED:
		return shared_window(warp, 0, bytes, ret_window);
	case PTX_M_LOCAL:
		return local_window(warp, 0, bytes, ret_window);
	case PTX_M_GLOBAL:
		return global_window(warp, address, bytes, ret_window);
	case PTX_M_NONE:
		if (address - memory->local_base < SIM_SEGMENT_BYTES)
			return local_window(warp, memory->local_base, bytes, ret_window);
		if (address - memory->shared_base < SIM_SEGMENT_BYTES)
			return shared_window(warp, memory->shared_base, bytes, ret_window);
		return global_window(warp, address, bytes, ret_window);
	default:
		return false;
	}
}

/* Are all lanes' addresses aligned and in the window? A sign bit tells an offset beyond the limit, which is less than
 * half of what BASE holds: compilers vectorise that, not a comparison. */
#define LANES_FIT(suffix, BASE)                                                                                   \
	static inline bool lanes_fit_##suffix(const BASE *base, BASE displacement, uint32_t mask, uint32_t bytes, \
					      const struct lane_window *window)                                   \
	{                                                                                                         \
		BASE start = (BASE)window->start, limit = (BASE)window->limit, low_bits = 0, sign = 0;            \
                                                                                                                  \
		FOR_LANES(mask, {                                                                                 \
			BASE address = base[lane] + displacement;                                                 \
			BASE offset = address - start;                                                            \
                                                                                                                  \
			low_bits |= address;                                                                      \
			sign |= offset | (limit - offset);                                                        \
		});                                                                                               \
		return (low_bits & (bytes - 1)) == 0 && sign >> (8 * sizeof(BASE) - 1) == 0;                      \
	}

LANES_FIT(uint32_t, uint32_t)
LANES_FIT(uint64_t, uint64_t)

/* The everyday accesses: one element, register as wide as the type. Where not all lanes fit, each is looked at by
 * itself, which also finds who is at fault. */
#define FAST_ACCESS(suffix, T, BASE, space)                                                                          \
	HANDLER(ld_##suffix)                                                                                         \
	{                                                                                                            \
		const struct ptx_operand *to = &warp->frame->function->elements[insn->o[0].offset];                  \
		const BASE *base = LANES_OF(const BASE, warp, insn->o[1]);                                           \
		BASE displacement = (BASE)insn->displacement[0];                                                     \
		T *values = LANES_OF(T, warp, *to);                                                                  \
		struct lane_window window;                                                                           \
                                                                                                                     \
		if (find_window(warp, space, (BASE)(base[first_lane(mask)] + displacement), sizeof(T), &window) &&   \
		    lanes_fit_##BASE(base, displacement, mask, sizeof(T), &window)) {                                \
			FOR_LANES(mask, {                                                                            \
				uint64_t at =                                                                        \
					(BASE)(base[lane] + displacement) + window.to_host + lane * window.stride;   \
                                                                                                                     \
				values[lane] = __atomic_load_n((const T *)(uintptr_t)at, __ATOMIC_RELAXED);          \
			});                                                                                          \
			warp_note_load(warp, latency_of(insn));                                                      \
			return;                                                                                      \
		}                                                                                                    \
		FOR_EACH_LANE(lane, mask)                                                                            \
		{                                                                                                    \
			const T *from =                                                                              \
				lane_pointer(warp, insn, lane, space, (BASE)(base[lane] + displacement), sizeof(T)); \
                                                                                                                     \
			if (from == NULL)                                                                            \
				return;                                                                              \
			values[lane] = __atomic_load_n(from, __ATOMIC_RELAXED);                                      \
		}                                                                                                    \
		warp_note_load(warp, latency_of(insn));                                                              \
	}                                                                                                            \
	HANDLER(st_##suffix)                                                                                         \
	{                                                                                                            \
		const struct ptx_operand *what = &warp->frame->function->elements[insn->o[1].offset];                \
		const BASE *base = LANES_OF(const BASE, warp, insn->o[0]);                                           \
		BASE displacement = (BASE)insn->displacement[0];                                                     \
		const T *values = LANES_OF(const T, warp, *what);                                                    \
		struct lane_window window;                                                                           \
                                                                                                                     \
		/* A stack variable of a polling loop is no progress. */                                             \
		if (space != PTX_M_LOCAL)                                                                            \
			warp->domain->has_achieved = true;                                                           \
		if (find_window(warp, space, (BASE)(base[first_lane(mask)] + displacement), sizeof(T), &window) &&   \
		    lanes_fit_##BASE(base, displacement, mask, sizeof(T), &window)) {                                \
			FOR_LANES(mask, {                                                                            \
				uint64_t at =                                                                        \
					(BASE)(base[lane] + displacement) + window.to_host + lane * window.stride;   \
                                                                                                                     \
				__atomic_store_n((T *)(uintptr_t)at, values[lane], __ATOMIC_RELAXED);                \
			});                                                                                          \
			return;                                                                                      \
		}                                                                                                    \
		FOR_EACH_LANE(lane, mask)                                                                            \
		{                                                                                                    \
			T *to = lane_pointer(warp, insn, lane, space, (BASE)(base[lane] + displacement), sizeof(T)); \
                                                                                                                     \
			if (to == NULL)                                                                              \
				return;                                                                              \
			__atomic_store_n(to, values[lane], __ATOMIC_RELAXED);                                        \
		}                                                                                                    \
	}

FAST_ACCESS(global_32, uint32_t, uint64_t, PTX_M_GLOBAL)
FAST_ACCESS(global_64, uint64_t, uint64_t, PTX_M_GLOBAL)
FAST_ACCESS(shared_32, uint32_t, uint32_t, PTX_M_SHARED)
FAST_ACCESS(shared_64, uint64_t, uint32_t, PTX_M_SHARED)
FAST_ACCESS(local_32, uint32_t, uint64_t, PTX_M_LOCAL)
FAST_ACCESS(local_64, uint64_t, uint64_t, PTX_M_LOCAL)
FAST_ACCESS(generic_32, uint32_t, uint64_t, PTX_M_NONE)
FAST_ACCESS(generic_64, uint64_t, uint64_t, PTX_M_NONE)

/* --- memory of a lane's own: local memory, parameters of a frame ------------------------------- */

/* A place for each lane that no other lane, thread or copy looks at: no need for whole accesses. */
struct own_places {
	uint8_t *first; /* of lane 0 */
	size_t stride;
};

#define LOAD_OWN(T, R)                                                                  \
	do {                                                                            \
		R *values = LANES_OF(R, warp, *to);                                     \
                                                                                        \
		FOR_LANES(mask, {                                                       \
			T value;                                                        \
                                                                                        \
			memcpy(&value, places.first + lane * places.stride, sizeof(T)); \
			values[lane] = (R)value;                                        \
		});                                                                     \
	} while (0)

#define STORE_OWN(T, R)                                                                 \
	do {                                                                            \
		const R *values = LANES_OF(const R, warp, *from);                       \
                                                                                        \
		FOR_LANES(mask, {                                                       \
			T value = (T)values[lane];                                      \
                                                                                        \
			memcpy(places.first + lane * places.stride, &value, sizeof(T)); \
		});                                                                     \
	} while (0)

#define SHAPE(type_bytes, register_bytes) ((uint32_t)(type_bytes) << 8 | (register_bytes))

static void load_own_element(struct sim_warp *warp, const struct ptx_operand *to, uint8_t type,
			     struct own_places places, uint32_t mask)
{
	switch (SHAPE(ptx_type_bytes[type], to->bytes)) {
	case SHAPE(1, 2):
		if (type == PTX_S8)
			LOAD_OWN(int8_t, uint16_t);
		else
			LOAD_OWN(uint8_t, uint16_t);
		break;
	case SHAPE(2, 2):
		LOAD_OWN(uint16_t, uint16_t);
		break;
	case SHAPE(4, 4):
		LOAD_OWN(uint32_t, uint32_t);
		break;
	case SHAPE(8, 8):
		LOAD_OWN(uint64_t, uint64_t);
		break;
	default:
		FOR_EACH_LANE(lane, mask)
		{
			write_element(warp, to, lane, places.first + lane * places.stride, type);
		}
	}
}

static void store_own_element(struct sim_warp *warp, const struct ptx_operand *from, uint8_t type,
			      struct own_places places, uint32_t mask)
{
	switch (SHAPE(ptx_type_bytes[type], from->bytes)) {
	case SHAPE(1, 2):
		STORE_OWN(uint8_t, uint16_t);
		break;
	case SHAPE(2, 2):
		STORE_OWN(uint16_t, uint16_t);
		break;
	case SHAPE(4, 4):
		STORE_OWN(uint32_t, uint32_t);
		break;
	case SHAPE(8, 8):
		STORE_OWN(uint64_t, uint64_t);
		break;
	default:
		FOR_EACH_LANE(lane, mask)
		{
			read_element(warp, from, lane, places.first + lane * places.stride, type);
		}
	}
}

static void load_own(struct sim_warp *warp, const struct ptx_insn *insn, struct own_places places, uint32_t mask)
{
	const struct ptx_operand *elements = elements_of(warp, &insn->o[0]);

	for (uint32_t i = 0; i < insn->n_elements; i++) {
		load_own_element(warp, &elements[i], insn->types[0], places, mask);
		places.first += ptx_type_bytes[insn->types[0]];
	}
}

static void store_own(struct sim_warp *warp, const struct ptx_insn *insn, struct own_places places, uint32_t mask)
{
	const struct ptx_operand *elements = elements_of(warp, &insn->o[1]);

	for (uint32_t i = 0; i < insn->n_elements; i++) {
		store_own_element(warp, &elements[i], insn->types[0], places, mask);
		places.first += ptx_type_bytes[insn->types[0]];
	}
}

/* Where the lanes' accesses are, when all have the same address, and that is good and in local memory. */
static bool find_own_places(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask,
			    struct own_places *ret_places)
{
	const struct ptx_operand *operand = &insn->o[insn->memory[0]];
	const uint64_t *base = LANES_OF(const uint64_t, warp, *operand);
	uint64_t first, address, differences = 0;
	uint32_t bytes = access_bytes(insn);
	struct lane_window window;

	if (operand->bytes != 8 || (insn->spaces[0] != PTX_M_LOCAL && insn->spaces[0] != PTX_M_NONE))
		return false;
	first = base[first_lane(mask)];
	address = first + (uint64_t)insn->displacement[0];
	if (!find_window(warp, insn->spaces[0], address, bytes, &window) || window.stride == 0 ||
	    address - window.start > window.limit || (address & (bytes - 1)) != 0)
		return false;
	FOR_LANES(mask, { differences |= base[lane] ^ first; });
	if (differences != 0)
		return false;
	*ret_places = (struct own_places){ (uint8_t *)(uintptr_t)(address + window.to_host), window.stride };
	return true;
}

/* Lane by lane; false after a fault. */
static bool load_each(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint32_t bytes = access_bytes(insn);
	uint8_t buffer[64];

	FOR_EACH_LANE(lane, mask)
	{
		const uint8_t *from =
			lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), bytes);

		if (from == NULL)
			return false;
		load_bytes(buffer, from, bytes);
		write_elements(warp, insn, lane, buffer);
	}
	return true;
}

static bool store_each(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint32_t bytes = access_bytes(insn);
	uint8_t buffer[64];

	FOR_EACH_LANE(lane, mask)
	{
		uint8_t *to = lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), bytes);

		if (to == NULL)
			return false;
		read_elements(warp, insn, lane, buffer);
		store_bytes(to, buffer, bytes);
	}
	return true;
}

HANDLER(ld_any)
{
	struct own_places places;

	if (find_own_places(warp, insn, mask, &places))
		load_own(warp, insn, places, mask);
	else if (!load_each(warp, insn, mask))
		return;
	if (insn->sem == PTX_M_ACQUIRE)
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (insn->sem == PTX_M_VOLATILE || insn->sem == PTX_M_RELAXED || insn->sem == PTX_M_ACQUIRE)
		warp_note_spin(warp, 8);
	warp_note_load(warp, latency_of(insn));
}

HANDLER(st_any)
{
	struct own_places places;

	if (insn->sem == PTX_M_RELEASE)
		__atomic_thread_fence(__ATOMIC_RELEASE);
	if (find_own_places(warp, insn, mask, &places))
		store_own(warp, insn, places, mask);
	else if (!store_each(warp, insn, mask))
		return;
	/* A stack variable of a polling loop is no progress. */
	if (insn->spaces[0] != PTX_M_LOCAL)
		warp->domain->has_achieved = true;
}

static uint8_t *frame_param(const struct sim_warp *warp, uint32_t lane, uint64_t offset)
{
	return warp->frame->params + (size_t)lane * warp->frame->function->params_bytes + offset;
}

/* Offsets of a frame's parameters were checked against the variable; the end of the area guards the access's size. */
static bool frame_param_fits(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, uint32_t bytes)
{
	uint64_t offset = (uint64_t)insn->displacement[0];

	if (offset + bytes <= warp->frame->function->params_bytes)
		return true;
	warp_fault(warp, insn, first_lane(mask), SIM_ILLEGAL_ADDRESS, "access outside of a parameter");
	return false;
}

static struct own_places frame_params(const struct sim_warp *warp, const struct ptx_insn *insn)
{
	return (struct own_places){ frame_param(warp, 0, (uint64_t)insn->displacement[0]),
				    warp->frame->function->params_bytes };
}

HANDLER(ld_frame_param)
{
	if (frame_param_fits(warp, insn, mask, access_bytes(insn)))
		load_own(warp, insn, frame_params(warp, insn), mask);
}

HANDLER(st_frame_param)
{
	if (frame_param_fits(warp, insn, mask, access_bytes(insn)))
		store_own(warp, insn, frame_params(warp, insn), mask);
}

/* A kernel's parameter at a constant offset: the same for every lane. */
HANDLER(ld_entry_param)
{
	const struct ptx_operand *elements = &warp->frame->function->elements[insn->o[0].offset];
	uint32_t bytes = access_bytes(insn);
	const uint8_t *from = lane_pointer(warp, insn, first_lane(mask), PTX_M_PARAM,
					   lane_address(warp, insn, 0, first_lane(mask)), bytes);

	if (from == NULL)
		return;
	if (bytes == 8 && insn->n_elements == 1 && elements->bytes == 8) {
		uint64_t *to = LANES_OF(uint64_t, warp, *elements), value;

		memcpy(&value, from, sizeof(value));
		FOR_LANES(mask, { to[lane] = value; });
		return;
	}
	FOR_EACH_LANE(lane, mask)
	{
		write_elements(warp, insn, lane, from);
	}
}

HANDLER(copy_param)
{
	uint64_t to = warp->frame->local_base + (uint64_t)insn->displacement[1];

	mask &= ~read_predicate(warp, &insn->o[0]);
	write_predicate(warp, &insn->o[0], mask, mask);
	FOR_EACH_LANE(lane, mask)
	{
		memcpy(warp->local + lane * local_stride(warp->local_capacity) + to,
		       frame_param(warp, lane, (uint64_t)insn->displacement[0]), (size_t)insn->displacement[2]);
	}
}

bool select_copy_param(struct ptx_insn *insn)
{
	insn->run = copy_param;
	return true;
}

static bool is_ordered(const struct ptx_insn *insn)
{
	return insn->sem != PTX_M_NONE && insn->sem != PTX_M_WEAK;
}

static bool memory_type_supported(const struct ptx_insn *insn)
{
	return ptx_type_bytes[insn->types[0]] > 0 && access_bytes(insn) <= 32 && insn->n_spaces <= 1;
}

/* A fast handler when there is one for this shape. `elements` is not linked yet: only sizes in the operand count. */
static ptx_exec_fn *fast_handler(const struct ptx_insn *insn, const struct ptx_operand *value,
				 const struct ptx_operand *base, bool is_load)
{
	uint32_t bytes = ptx_type_bytes[insn->types[0]];
	uint32_t base_bytes = insn->spaces[0] == PTX_M_SHARED ? 4 : 8;

	if (insn->n_elements != 1 || value->bytes != bytes || is_ordered(insn) || (bytes != 4 && bytes != 8) ||
	    base->bytes != base_bytes)
		return NULL;
	switch (insn->spaces[0]) {
	case PTX_M_GLOBAL:
		return bytes == 4 ? (is_load ? ld_global_32 : st_global_32) : (is_load ? ld_global_64 : st_global_64);
	case PTX_M_SHARED:
		return bytes == 4 ? (is_load ? ld_shared_32 : st_shared_32) : (is_load ? ld_shared_64 : st_shared_64);
	case PTX_M_LOCAL:
		return bytes == 4 ? (is_load ? ld_local_32 : st_local_32) : (is_load ? ld_local_64 : st_local_64);
	case PTX_M_NONE:
		return bytes == 4 ? (is_load ? ld_generic_32 : st_generic_32)
				  : (is_load ? ld_generic_64 : st_generic_64);
	default:
		return NULL;
	}
}

bool select_ld(struct ptx_insn *insn)
{
	if (!memory_type_supported(insn))
		return false;
	if (insn->spaces[0] == PTX_M_PARAM && insn->target == PTX_PARAM_FRAME) {
		insn->run = ld_frame_param;
		insn->cost = PTX_COST_PARAM;
		return true;
	}
	if (insn->spaces[0] == PTX_M_PARAM) {
		bool constant = insn->o[1].kind == PTX_OPERAND_CONST;

		insn->run = constant ? ld_entry_param : ld_any;
		insn->cost = PTX_COST_PARAM;
		return true;
	}
	insn->properties |= PTX_IS_LOAD;
	if (is_ordered(insn))
		insn->properties |= PTX_ORDERED;
	insn->run = fast_handler(insn, &insn->o[0], &insn->o[1], true);
	if (insn->run == NULL)
		insn->run = ld_any;
	return true;
}

/* st.bulk [a], bytes, 0 */
HANDLER(st_bulk)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint64_t address = lane_address(warp, insn, 0, lane), bytes = read_lane(warp, &insn->o[1], lane);
		uint8_t space = insn->n_spaces == 0 ? PTX_M_NONE : PTX_M_SHARED;
		void *to;

		if (address % 8 != 0 || bytes % 8 != 0) {
			warp_fault(warp, insn, lane, SIM_MISALIGNED_ADDRESS, "bulk store of %llu bytes to 0x%llx",
				   (unsigned long long)bytes, (unsigned long long)address);
			return;
		}
		if (bytes == 0)
			continue;
		to = lane_range(warp, insn, lane, space, address, bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes);
		if (to == NULL)
			return;
		memset(to, 0, bytes);
	}
}

/* Zero is the only value that PTX lets it store. */
static bool select_st_bulk(struct ptx_insn *insn)
{
	insn->run = st_bulk;
	return insn->n_types == 0 && insn->n_spaces <= 1 && (insn->n_spaces == 0 || insn->spaces[0] == PTX_M_SHARED) &&
	       insn->o[2].kind == PTX_OPERAND_CONST && (insn->sem == PTX_M_NONE || insn->sem == PTX_M_WEAK) &&
	       !has_flag(insn, PTX_FLAG(ASYNC) | PTX_FLAG(MBAR_TX) | PTX_FLAG(CACHE_HINT));
}

bool select_st(struct ptx_insn *insn)
{
	if (has_flag(insn, PTX_FLAG(BULK)))
		return select_st_bulk(insn);
	if (has_flag(insn, PTX_FLAG(ASYNC)))
		return select_st_async(insn);
	if (!memory_type_supported(insn) || insn->spaces[0] == PTX_M_CONST)
		return false;
	if (insn->spaces[0] == PTX_M_PARAM) {
		insn->run = st_frame_param;
		insn->cost = PTX_COST_PARAM;
		return insn->target == PTX_PARAM_FRAME;
	}
	if (is_ordered(insn))
		insn->properties |= PTX_ORDERED;
	insn->run = fast_handler(insn, &insn->o[1], &insn->o[0], false);
	if (insn->run == NULL)
		insn->run = st_any;
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_atomic.c - atom and red.
 *
 * Always a host atomic, since another launch, a copy or the host may touch the same word at the same time; relaxed
 * unless the instruction orders more, whatever its scope. Operations the host does not have go through
 * compare-and-swap. Lanes act one after the other, lowest first. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"
#include "half.h"

#include <math.h>
#include <pthread.h>

static int host_order(uint8_t sem)
{
	switch (sem) {
	case PTX_M_ACQUIRE:
		return __ATOMIC_ACQUIRE;
	case PTX_M_RELEASE:
		return __ATOMIC_RELEASE;
	case PTX_M_ACQ_REL:
	case PTX_M_SC:
		return __ATOMIC_ACQ_REL;
	default:
		return __ATOMIC_RELAXED;
	}
}

static uint64_t load_word(const void *from, uint32_t bytes)
{
	switch (bytes) {
	case 2:
		return __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED);
	}
}

/* Stores `value` if the word still is *expected; else *expected is what it is. */
static bool swap_word(void *at, uint64_t *expected, uint64_t value, uint32_t bytes)
{
	uint16_t old_16 = (uint16_t)*expected;
	uint32_t old_32 = (uint32_t)*expected;
	bool swapped;

	switch (bytes) {
	case 2:
		swapped = __atomic_compare_exchange_n((uint16_t *)at, &old_16, (uint16_t)value, false, __ATOMIC_SEQ_CST,
						      __ATOMIC_SEQ_CST);
		*expected = old_16;
		return swapped;
	case 4:
		swapped = __atomic_compare_exchange_n((uint32_t *)at, &old_32, (uint32_t)value, false, __ATOMIC_SEQ_CST,
						      __ATOMIC_SEQ_CST);
		*expected = old_32;
		return swapped;
	default:
		return __atomic_compare_exchange_n((uint64_t *)at, expected, value, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST);
	}
}

/* --- what the operations compute -------------------------------------------------------------- */

static int64_t as_signed(uint64_t value, uint32_t bytes)
{
	return bytes == 4 ? (int32_t)value : (int64_t)value;
}

static uint64_t integer_result(uint8_t action, uint8_t type, uint64_t old, uint64_t value)
{
	uint32_t bytes = ptx_type_bytes[type];
	bool is_signed = ptx_type_class[type] == PTX_CLASS_S;

	switch (action) {
	case PTX_M_ADD:
		return old + value;
	case PTX_M_INC:
		return old >= value ? 0 : old + 1;
	case PTX_M_DEC:
		return old == 0 || old > value ? value : old - 1;
	case PTX_M_AND:
		return old & value;
	case PTX_M_OR:
		return old | value;
	case PTX_M_XOR:
		return old ^ value;
	case PTX_M_MIN:
		if (is_signed)
			return as_signed(old, bytes) < as_signed(value, bytes) ? old : value;
		return old < value ? old : value;
	case PTX_M_MAX:
		if (is_signed)
			return as_signed(old, bytes) > as_signed(value, bytes) ? old : value;
		return old > value ? old : value;
	default: /* PTX_M_EXCH */
		return value;
	}
}

static double float_result(uint8_t action, double old, double value)
{
	if (action == PTX_M_ADD)
		return old + value;
	if (isnan(old))
		return value;
	if (isnan(value))
		return old;
	return action == PTX_M_MIN ? (old < value ? old : value) : (old > value ? old : value);
}

static uint16_t half_result(uint8_t action, bool is_bf16, uint16_t old, uint16_t value)
{
	double result = float_result(action, is_bf16 ? bf16_to_float(old) : f16_to_float(old),
				     is_bf16 ? bf16_to_float(value) : f16_to_float(value));

	return is_bf16 ? double_to_bf16(result, false) : double_to_f16(result, false);
}

static uint64_t result_of(uint8_t action, uint8_t type, uint64_t old, uint64_t value)
{
	bool is_bf16 = type == PTX_BF16 || type == PTX_BF16X2;

	if (action == PTX_M_EXCH)
		return value;
	switch (type) {
	case PTX_F32:
		/* In f32: the sum must be rounded as a float's. */
		if (action == PTX_M_ADD)
			return float_bits(bits_float((uint32_t)old) + bits_float((uint32_t)value));
		return float_bits((float)float_result(action, bits_float((uint32_t)old), bits_float((uint32_t)value)));
	case PTX_F64:
		return double_bits(float_result(action, bits_double(old), bits_double(value)));
	case PTX_F16:
	case PTX_BF16:
		return half_result(action, is_bf16, (uint16_t)old, (uint16_t)value);
	case PTX_F16X2:
	case PTX_BF16X2:
		return half_result(action, is_bf16, (uint16_t)old, (uint16_t)value) |
		       (uint32_t)half_result(action, is_bf16, (uint16_t)(old >> 16), (uint16_t)(value >> 16)) << 16;
	default:
		return integer_result(action, type, old, value);
	}
}

/* --- the instructions ------------------------------------------------------------------------- */

/* One lane's operation; returns the old value. */
static uint64_t apply(const struct ptx_insn *insn, void *at, uint64_t value, uint64_t compare)
{
	uint8_t type = insn->types[0];
	uint32_t bytes = ptx_type_bytes[type];
	uint64_t old;

	if (insn->actions[0] == PTX_M_CAS) {
		old = compare;
		swap_word(at, &old, value, bytes);
		return old;
	}
	/* The case that matters for speed. */
	if (insn->actions[0] == PTX_M_ADD && ptx_type_class[type] != PTX_CLASS_F)
		return bytes == 4 ? __atomic_fetch_add((uint32_t *)at, (uint32_t)value, __ATOMIC_SEQ_CST)
				  : __atomic_fetch_add((uint64_t *)at, value, __ATOMIC_SEQ_CST);
	old = load_word(at, bytes);
	while (!swap_word(at, &old, result_of(insn->actions[0], type, old, value), bytes))
		;
	return old;
}

static void fence_before(const struct ptx_insn *insn)
{
	if (host_order(insn->sem) == __ATOMIC_RELEASE || host_order(insn->sem) == __ATOMIC_ACQ_REL)
		__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void fence_after(const struct ptx_insn *insn)
{
	if (host_order(insn->sem) == __ATOMIC_ACQUIRE || host_order(insn->sem) == __ATOMIC_ACQ_REL)
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
}

static const struct ptx_operand *elements_of(const struct sim_warp *warp, const struct ptx_operand *operand)
{
	return &warp->frame->function->elements[operand->offset];
}

static bool is_shared_space(uint8_t space)
{
	return space == PTX_M_SHARED || space == PTX_M_CLUSTER;
}

/* Where a lane's operation is; NULL after a fault. */
static uint8_t *atomic_pointer(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane)
{
	uint32_t bytes = (uint32_t)ptx_type_bytes[insn->types[0]] * insn->n_elements;

	return lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), bytes);
}

static void finish_atom(struct sim_warp *warp, const struct ptx_insn *insn)
{
	fence_after(insn);
	if (insn->actions[0] == PTX_M_CAS || insn->actions[0] == PTX_M_EXCH)
		warp_note_spin(warp, 16);
	else
		warp->domain->has_achieved = true;
	warp_note_load(warp, is_shared_space(insn->spaces[0]) ? PTX_COST_LATENCY_SHARED : PTX_COST_LATENCY_ATOMIC);
}

/* A vector's elements are atomic one by one. */
HANDLER(atom)
{
	const struct ptx_operand *to = elements_of(warp, &insn->o[0]), *from = elements_of(warp, &insn->o[2]);
	const struct ptx_operand *other = elements_of(warp, &insn->o[3]);
	uint32_t bytes = ptx_type_bytes[insn->types[0]];
	bool is_cas = insn->actions[0] == PTX_M_CAS;

	fence_before(insn);
	FOR_EACH_LANE(lane, mask)
	{
		uint8_t *at = atomic_pointer(warp, insn, lane);

		if (at == NULL)
			return;
		for (uint32_t i = 0; i < insn->n_elements; i++) {
			uint64_t first = read_lane(warp, &from[i], lane);
			uint64_t second = is_cas ? read_lane(warp, other, lane) : 0;

			write_lane(warp, &to[i], lane,
				   is_cas ? apply(insn, at, second, first) : apply(insn, at + i * bytes, first, 0));
		}
	}
	finish_atom(warp, insn);
}

HANDLER(red)
{
	const struct ptx_operand *from = elements_of(warp, &insn->o[1]);
	uint32_t bytes = ptx_type_bytes[insn->types[0]];

	fence_before(insn);
	FOR_EACH_LANE(lane, mask)
	{
		uint8_t *at = atomic_pointer(warp, insn, lane);

		if (at == NULL)
			return;
		for (uint32_t i = 0; i < insn->n_elements; i++)
			apply(insn, at + i * bytes, read_lane(warp, &from[i], lane), 0);
	}
	fence_after(insn);
	warp->domain->has_achieved = true;
}

static sim_u128 read_128(const struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane)
{
	const uint64_t *words = LANES_OF(const uint64_t, warp, *operand) + (size_t)2 * lane;

	return (sim_u128)words[1] << 64 | words[0];
}

/* exch and cas of 16 bytes. The host may not have the instruction, so one lock stands for it: nothing but another
 * such instruction is atomic with it, which is what PTX promises of an access of another size. */
HANDLER(atom_128)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const struct ptx_operand *to = elements_of(warp, &insn->o[0]), *from = elements_of(warp, &insn->o[2]);
	const struct ptx_operand *other = elements_of(warp, &insn->o[3]);

	fence_before(insn);
	FOR_EACH_LANE(lane, mask)
	{
		uint8_t *at = atomic_pointer(warp, insn, lane);
		uint64_t old[2];
		sim_u128 next;

		if (at == NULL)
			return;
		pthread_mutex_lock(&lock);
		memcpy(old, at, sizeof(old));
		next = read_128(warp, from, lane);
		if (insn->actions[0] == PTX_M_CAS)
			next = next == ((sim_u128)old[1] << 64 | old[0]) ? read_128(warp, other, lane)
									 : (sim_u128)old[1] << 64 | old[0];
		memcpy(at, &next, sizeof(next));
		pthread_mutex_unlock(&lock);
		memcpy(LANES_OF(uint64_t, warp, *to) + (size_t)2 * lane, old, sizeof(old));
	}
	finish_atom(warp, insn);
}

static bool is_word(uint8_t type)
{
	return type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
}

static bool is_half(uint8_t type)
{
	return type == PTX_F16 || type == PTX_BF16 || type == PTX_F16X2 || type == PTX_BF16X2;
}

static bool action_supported(uint8_t action, uint8_t type)
{
	uint8_t class = ptx_type_class[type];
	uint32_t bytes = ptx_type_bytes[type];

	switch (action) {
	case PTX_M_CAS:
		return class == PTX_CLASS_B && (bytes == 2 || bytes == 4 || bytes == 8);
	case PTX_M_EXCH:
	case PTX_M_AND:
	case PTX_M_OR:
	case PTX_M_XOR:
		return class == PTX_CLASS_B && (bytes == 4 || bytes == 8);
	case PTX_M_INC:
	case PTX_M_DEC:
		return type == PTX_U32;
	case PTX_M_ADD:
		return type == PTX_F32 || type == PTX_F64 || is_half(type) || is_word(type);
	case PTX_M_MIN:
	case PTX_M_MAX:
		return is_half(type) || is_word(type);
	default:
		return false;
	}
}

/* Vectors are of floats in global memory, 16 bytes at most. */
static bool vector_supported(const struct ptx_insn *insn)
{
	uint8_t type = insn->types[0];

	if (insn->n_elements == 1)
		return true;
	return (type == PTX_F32 || is_half(type)) && ptx_type_bytes[type] * insn->n_elements <= 16 &&
	       !is_shared_space(insn->spaces[0]) && insn->actions[0] != PTX_M_CAS && insn->actions[0] != PTX_M_EXCH;
}

bool select_atom(struct ptx_insn *insn)
{
	bool is_cas = insn->actions[0] == PTX_M_CAS;

	/* What stands behind the operands of an operation with one value is the cache policy. */
	if (!is_cas && has_flag(insn, PTX_FLAG(CACHE_HINT)))
		insn->o[3].kind = PTX_OPERAND_NONE;
	if (insn->n_spaces > 1 || !vector_supported(insn) || is_cas != (insn->o[3].kind != PTX_OPERAND_NONE))
		return false;
	insn->run = insn->types[0] == PTX_B128 ? atom_128 : atom;
	if (insn->types[0] == PTX_B128)
		return is_cas || insn->actions[0] == PTX_M_EXCH;
	return action_supported(insn->actions[0], insn->types[0]);
}

uint64_t atomic_apply(const struct ptx_insn *insn, void *at, uint64_t value)
{
	return apply(insn, at, value, 0);
}

bool atomic_supported(const struct ptx_insn *insn)
{
	return insn->actions[0] != PTX_M_CAS && insn->actions[0] != PTX_M_EXCH && insn->actions[1] == PTX_M_NONE &&
	       action_supported(insn->actions[0], insn->types[0]);
}

bool select_red(struct ptx_insn *insn)
{
	if (has_flag(insn, PTX_FLAG(ASYNC)))
		return select_red_async(insn);
	insn->run = red;
	return vector_supported(insn) && action_supported(insn->actions[0], insn->types[0]) &&
	       insn->actions[0] != PTX_M_CAS && insn->actions[0] != PTX_M_EXCH && insn->n_spaces <= 1;
}

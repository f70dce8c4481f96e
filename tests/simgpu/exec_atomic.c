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

/* --- what the operations compute --- */

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

/* --- the instructions --- */

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

HANDLER(atom)
{
	uint32_t bytes = ptx_type_bytes[insn->types[0]];
	bool is_cas = insn->actions[0] == PTX_M_CAS;
	bool is_shared = insn->spaces[0] == PTX_M_SHARED || insn->spaces[0] == PTX_M_CLUSTER;
	uint64_t ready;

	fence_before(insn);
	FOR_EACH_LANE(lane, mask)
	{
		void *at = lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), bytes);
		uint64_t first, second;

		if (at == NULL)
			return;
		first = read_lane(warp, &insn->o[2], lane);
		second = is_cas ? read_lane(warp, &insn->o[3], lane) : 0;
		write_lane(warp, &insn->o[0], lane,
			   is_cas ? apply(insn, at, second, first) : apply(insn, at, first, 0));
	}
	fence_after(insn);
	if (is_cas || insn->actions[0] == PTX_M_EXCH)
		warp_note_spin(warp, 16);
	ready = warp->cycle + sim_cost_cycles[is_shared ? PTX_COST_LATENCY_SHARED : PTX_COST_LATENCY_ATOMIC];
	if (ready > warp->load_ready)
		warp->load_ready = ready;
}

HANDLER(red)
{
	uint32_t bytes = ptx_type_bytes[insn->types[0]];

	fence_before(insn);
	FOR_EACH_LANE(lane, mask)
	{
		void *at = lane_pointer(warp, insn, lane, insn->spaces[0], lane_address(warp, insn, 0, lane), bytes);

		if (at == NULL)
			return;
		apply(insn, at, read_lane(warp, &insn->o[1], lane), 0);
	}
	fence_after(insn);
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
		return (class == PTX_CLASS_F && type != PTX_TF32) ||
		       ((class == PTX_CLASS_U || class == PTX_CLASS_S) && type != PTX_U16X2 && type != PTX_S16X2 &&
			bytes >= 4);
	case PTX_M_MIN:
	case PTX_M_MAX:
		return (class == PTX_CLASS_F && bytes <= 4 && type != PTX_TF32 && type != PTX_F32) ||
		       ((class == PTX_CLASS_U || class == PTX_CLASS_S) && type != PTX_U16X2 && type != PTX_S16X2 &&
			bytes >= 4);
	default:
		return false;
	}
}

bool select_atom(struct ptx_insn *insn)
{
	insn->run = atom;
	return action_supported(insn->actions[0], insn->types[0]) && insn->n_spaces <= 1 &&
	       (insn->actions[0] == PTX_M_CAS) == (insn->o[3].kind != PTX_OPERAND_NONE);
}

bool select_red(struct ptx_insn *insn)
{
	insn->run = red;
	return action_supported(insn->actions[0], insn->types[0]) && insn->actions[0] != PTX_M_CAS &&
	       insn->actions[0] != PTX_M_EXCH && insn->n_spaces <= 1;
}

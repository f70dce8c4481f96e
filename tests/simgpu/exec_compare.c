/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_compare.c - set, setp, selp, slct.
 *
 * A comparison makes a mask of lanes; the combining predicate and the second destination are masks too. Pure functions
 * of registers.
 */
#include "exec_ops.h"
#include "half.h"

#include <math.h>

/* --- comparisons ------------------------------------------------------------------------------ */

/* The mask of lanes where the relation holds: a branch-free loop per relation and type. */
#define COMPARE_LOOP(T, relation)                           \
	for (uint32_t lane = 0; lane < SIM_LANES; lane++) { \
		T a = from_a[lane];                         \
		T b = from_b[lane];                         \
                                                            \
		result |= (uint32_t)(relation) << lane;     \
	}                                                   \
	break;

#define COMPARE_INT(name, T)                                                                     \
	static uint32_t compare_##name(const struct sim_warp *warp, const struct ptx_operand *x, \
				       const struct ptx_operand *y, uint8_t relation)            \
	{                                                                                        \
		const T *from_a = LANES_OF(const T, warp, *x);                                   \
		const T *from_b = LANES_OF(const T, warp, *y);                                   \
		uint32_t result = 0;                                                             \
                                                                                                 \
		switch (relation) {                                                              \
		case PTX_M_EQ:                                                                   \
			COMPARE_LOOP(T, a == b)                                                  \
		case PTX_M_NE:                                                                   \
			COMPARE_LOOP(T, a != b)                                                  \
		case PTX_M_LT:                                                                   \
		case PTX_M_LO:                                                                   \
			COMPARE_LOOP(T, a < b)                                                   \
		case PTX_M_LE:                                                                   \
		case PTX_M_LS:                                                                   \
			COMPARE_LOOP(T, a <= b)                                                  \
		case PTX_M_GT:                                                                   \
		case PTX_M_HI:                                                                   \
			COMPARE_LOOP(T, a > b)                                                   \
		default:                                                                         \
			COMPARE_LOOP(T, a >= b)                                                  \
		}                                                                                \
		return result;                                                                   \
	}

COMPARE_INT(u16, uint16_t)
COMPARE_INT(s16, int16_t)
COMPARE_INT(u32, uint32_t)
COMPARE_INT(s32, int32_t)
COMPARE_INT(u64, uint64_t)
COMPARE_INT(s64, int64_t)

static bool relation_holds(double a, double b, uint8_t relation)
{
	bool unordered = isnan(a) || isnan(b);

	switch (relation) {
	case PTX_M_EQ:
		return a == b;
	case PTX_M_NE:
		return !unordered && a != b;
	case PTX_M_LT:
		return a < b;
	case PTX_M_LE:
		return a <= b;
	case PTX_M_GT:
		return a > b;
	case PTX_M_GE:
		return a >= b;
	case PTX_M_EQU:
		return unordered || a == b;
	case PTX_M_NEU:
		return unordered || a != b;
	case PTX_M_LTU:
		return unordered || a < b;
	case PTX_M_LEU:
		return unordered || a <= b;
	case PTX_M_GTU:
		return unordered || a > b;
	case PTX_M_GEU:
		return unordered || a >= b;
	case PTX_M_NUM:
		return !unordered;
	default: /* PTX_M_NAN */
		return unordered;
	}
}

static double half_value(uint16_t value, uint8_t type, bool ftz)
{
	if (ftz && (value & (type == PTX_BF16 ? 0x7f80 : 0x7c00)) == 0)
		value &= 0x8000;
	return type == PTX_BF16 ? bf16_to_float(value) : f16_to_float(value);
}

static double read_float(const struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane, uint8_t type,
			 bool ftz)
{
	float narrow;

	switch (type) {
	case PTX_F64:
		return LANES_OF(const double, warp, *operand)[lane];
	case PTX_F16:
	case PTX_BF16:
		return half_value(LANES_OF(const uint16_t, warp, *operand)[lane], type, ftz);
	default:
		narrow = LANES_OF(const float, warp, *operand)[lane];
		return ftz && fpclassify(narrow) == FP_SUBNORMAL ? copysignf(0.0f, narrow) : narrow;
	}
}

static uint32_t compare_float(const struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_operand *x,
			      const struct ptx_operand *y, uint8_t type, uint32_t mask)
{
	bool ftz = has_flag(insn, PTX_FLAG(FTZ));
	uint32_t result = 0;

	FOR_EACH_LANE(lane, mask)
	{
		if (relation_holds(read_float(warp, x, lane, type, ftz), read_float(warp, y, lane, type, ftz),
				   insn->cmp))
			result |= 1u << lane;
	}
	return result;
}

/* Half `shift` of packed values, of which the first is operand `first`. */
static uint32_t compare_packed(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t first, uint8_t type,
			       uint32_t shift, uint32_t mask)
{
	bool ftz = has_flag(insn, PTX_FLAG(FTZ));
	uint32_t result = 0;

	FOR_EACH_LANE(lane, mask)
	{
		uint16_t a = (uint16_t)(LANES_OF(const uint32_t, warp, insn->o[first])[lane] >> shift);
		uint16_t b = (uint16_t)(LANES_OF(const uint32_t, warp, insn->o[first + 1])[lane] >> shift);
		uint8_t half = type == PTX_BF16X2 ? PTX_BF16 : PTX_F16;

		if (relation_holds(half_value(a, half, ftz), half_value(b, half, ftz), insn->cmp))
			result |= 1u << lane;
	}
	return result;
}

static uint32_t compare(const struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_operand *x,
			const struct ptx_operand *y, uint8_t type, uint32_t mask)
{
	switch (type) {
	case PTX_U16:
	case PTX_B16:
		return compare_u16(warp, x, y, insn->cmp);
	case PTX_S16:
		return compare_s16(warp, x, y, insn->cmp);
	case PTX_U32:
	case PTX_B32:
		return compare_u32(warp, x, y, insn->cmp);
	case PTX_S32:
		return compare_s32(warp, x, y, insn->cmp);
	case PTX_U64:
	case PTX_B64:
		return compare_u64(warp, x, y, insn->cmp);
	case PTX_S64:
		return compare_s64(warp, x, y, insn->cmp);
	default:
		return compare_float(warp, insn, x, y, type, mask);
	}
}

static uint32_t combine(uint8_t action, uint32_t a, uint32_t b)
{
	switch (action) {
	case PTX_M_AND:
		return a & b;
	case PTX_M_OR:
		return a | b;
	case PTX_M_XOR:
		return a ^ b;
	default:
		return a;
	}
}

static bool is_packed(uint8_t type)
{
	return type == PTX_F16X2 || type == PTX_BF16X2;
}

static bool is_number_type(uint8_t type)
{
	return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64 || is_packed(type);
}

static bool comparison_supported(const struct ptx_insn *insn, uint8_t type, bool has_combine)
{
	bool float_only = insn->cmp >= PTX_M_EQU && insn->cmp <= PTX_M_NAN;
	bool unsigned_only = insn->cmp >= PTX_M_LO && insn->cmp <= PTX_M_HS;
	uint8_t class = ptx_type_class[type];
	uint8_t action = insn->actions[0];

	if (insn->cmp == PTX_M_NONE || ptx_type_bytes[type] < 2 || ptx_type_bytes[type] > 8)
		return false;
	if (has_combine ? action != PTX_M_AND && action != PTX_M_OR && action != PTX_M_XOR : action != PTX_M_NONE)
		return false;
	if (type == PTX_U16X2 || type == PTX_S16X2 || (class == PTX_CLASS_F && !is_number_type(type)))
		return false;
	return class == PTX_CLASS_F ? !unsigned_only : !float_only;
}

/* --- setp ------------------------------------------------------------------------------------- */

static void write_pair(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t result, uint32_t inverse,
		       uint32_t mask)
{
	uint32_t other = insn->o[4].kind == PTX_OPERAND_NONE ? UINT32_MAX : read_predicate(warp, &insn->o[4]);

	if (insn->actions[0] != PTX_M_NONE) {
		result = combine(insn->actions[0], result, other);
		inverse = combine(insn->actions[0], inverse, other);
	}
	write_predicate(warp, &insn->o[0], result, mask);
	if (insn->o[1].kind != PTX_OPERAND_NONE)
		write_predicate(warp, &insn->o[1], inverse, mask);
}

HANDLER(setp)
{
	uint32_t result = compare(warp, insn, &insn->o[2], &insn->o[3], insn->types[0], mask);

	write_pair(warp, insn, result, ~result, mask);
}

/* Of packed values p and q are the two halves. */
HANDLER(setp_packed)
{
	write_pair(warp, insn, compare_packed(warp, insn, 2, insn->types[0], 0, mask),
		   compare_packed(warp, insn, 2, insn->types[0], 16, mask), mask);
}

bool select_setp(struct ptx_insn *insn)
{
	insn->run = is_packed(insn->types[0]) ? setp_packed : setp;
	return comparison_supported(insn, insn->types[0], insn->o[4].kind != PTX_OPERAND_NONE);
}

/* --- set -------------------------------------------------------------------------------------- */

static uint64_t true_value(uint8_t type)
{
	switch (type) {
	case PTX_F32:
		return float_bits(1.0f);
	case PTX_F16:
		return 0x3c00;
	case PTX_BF16:
		return 0x3f80;
	case PTX_U16:
	case PTX_S16:
		return 0xffff;
	default:
		return 0xffffffffu;
	}
}

HANDLER(set)
{
	uint32_t result = compare(warp, insn, &insn->o[1], &insn->o[2], insn->types[1], mask);

	if (insn->actions[0] != PTX_M_NONE)
		result = combine(insn->actions[0], result, read_predicate(warp, &insn->o[3]));
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, result >> lane & 1 ? true_value(insn->types[0]) : 0);
	}
}

/* Each half of a pair on its own. */
HANDLER(set_packed)
{
	uint32_t low = compare_packed(warp, insn, 1, insn->types[1], 0, mask);
	uint32_t high = compare_packed(warp, insn, 1, insn->types[1], 16, mask);
	uint64_t one = insn->types[0] == PTX_F16X2    ? true_value(PTX_F16)
		       : insn->types[0] == PTX_BF16X2 ? true_value(PTX_BF16)
						      : 0xffff;

	if (insn->actions[0] != PTX_M_NONE) {
		low = combine(insn->actions[0], low, read_predicate(warp, &insn->o[3]));
		high = combine(insn->actions[0], high, read_predicate(warp, &insn->o[3]));
	}
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, (low >> lane & 1 ? one : 0) | (high >> lane & 1 ? one << 16 : 0));
	}
}

bool select_set(struct ptx_insn *insn)
{
	uint8_t to = insn->types[0];

	if (is_packed(insn->types[1])) {
		insn->run = set_packed;
		return (to == insn->types[1] || to == PTX_U32 || to == PTX_S32) &&
		       comparison_supported(insn, insn->types[1], insn->o[3].kind != PTX_OPERAND_NONE);
	}
	insn->run = set;
	return (to == PTX_U32 || to == PTX_S32 || to == PTX_F32 || to == PTX_F16 || to == PTX_BF16 || to == PTX_U16 ||
		to == PTX_S16) &&
	       comparison_supported(insn, insn->types[1], insn->o[3].kind != PTX_OPERAND_NONE);
}

/* --- selp, slct ------------------------------------------------------------------------------- */

#define SELECT_BY_PREDICATE(name, T)                                                              \
	HANDLER(name)                                                                             \
	{                                                                                         \
		T *to = LANES_OF(T, warp, insn->o[0]);                                            \
		const T *from_a = LANES_OF(const T, warp, insn->o[1]);                            \
		const T *from_b = LANES_OF(const T, warp, insn->o[2]);                            \
		uint32_t which = read_predicate(warp, &insn->o[3]);                               \
                                                                                                  \
		FOR_LANES(mask, { to[lane] = which >> lane & 1 ? from_a[lane] : from_b[lane]; }); \
	}

SELECT_BY_PREDICATE(selp_16, uint16_t)
SELECT_BY_PREDICATE(selp_32, uint32_t)
SELECT_BY_PREDICATE(selp_64, uint64_t)

bool select_selp(struct ptx_insn *insn)
{
	switch (ptx_type_bytes[insn->types[0]]) {
	case 2:
		insn->run = selp_16;
		return true;
	case 4:
		insn->run = selp_32;
		return true;
	case 8:
		insn->run = selp_64;
		return true;
	default:
		return false;
	}
}

/* a when c >= 0, else b; a NaN is not. */
HANDLER(slct)
{
	FOR_EACH_LANE(lane, mask)
	{
		bool first = insn->types[1] == PTX_F32
				     ? read_float(warp, &insn->o[3], lane, PTX_F32, has_flag(insn, PTX_FLAG(FTZ))) >= 0
				     : LANES_OF(const int32_t, warp, insn->o[3])[lane] >= 0;

		write_lane(warp, &insn->o[0], lane, read_lane(warp, &insn->o[first ? 1 : 2], lane));
	}
}

bool select_slct(struct ptx_insn *insn)
{
	insn->run = slct;
	return (insn->types[1] == PTX_F32 || insn->types[1] == PTX_S32) && ptx_type_bytes[insn->types[0]] >= 2;
}

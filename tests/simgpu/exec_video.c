/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_video.c - video instructions: arithmetic on bytes and halves of registers, alone or side by side.
 *
 * Parts become wide numbers, on which every operation is exact; the result is saturated or cut, then merged into, or
 * combined with, the third source. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"

#define F(id) PTX_FLAG(id)

__extension__ typedef __int128 sim_i128;

/* The types of a and b; vset has no type of its own for the result. */
static bool is_compare(const struct ptx_insn *insn)
{
	return insn->op == PTX_OP_VSET || insn->op == PTX_OP_VSET2 || insn->op == PTX_OP_VSET4;
}

static bool source_is_signed(const struct ptx_insn *insn, uint32_t source)
{
	return insn->types[is_compare(insn) ? source : source + 1] == PTX_S32;
}

static bool result_is_signed(const struct ptx_insn *insn)
{
	return !is_compare(insn) && insn->types[0] == PTX_S32;
}

static int64_t part_of(uint64_t word, uint32_t shift, uint32_t bits, bool is_signed)
{
	uint64_t part = word >> shift & ((1ULL << bits) - 1);

	if (is_signed && part >> (bits - 1))
		part |= UINT64_MAX << bits;
	return (int64_t)part;
}

static bool compare(uint8_t cmp, int64_t a, int64_t b)
{
	switch (cmp) {
	case PTX_M_EQ:
		return a == b;
	case PTX_M_NE:
		return a != b;
	case PTX_M_LT:
		return a < b;
	case PTX_M_LE:
		return a <= b;
	case PTX_M_GT:
		return a > b;
	default:
		return a >= b;
	}
}

static sim_i128 shifted(const struct ptx_insn *insn, int64_t a, int64_t b)
{
	uint32_t n = (uint32_t)b;

	n = has_flag(insn, F(CLAMP)) ? (n > 32 ? 32 : n) : n & 31;
	return insn->op == PTX_OP_VSHL ? (sim_i128)a * ((sim_i128)1 << n) : a >> n;
}

static sim_i128 combine(const struct ptx_insn *insn, int64_t a, int64_t b)
{
	switch (insn->op) {
	case PTX_OP_VADD:
	case PTX_OP_VADD2:
	case PTX_OP_VADD4:
		return a + b;
	case PTX_OP_VSUB:
	case PTX_OP_VSUB2:
	case PTX_OP_VSUB4:
		return a - b;
	case PTX_OP_VABSDIFF:
	case PTX_OP_VABSDIFF2:
	case PTX_OP_VABSDIFF4:
		return a > b ? a - b : b - a;
	case PTX_OP_VMIN:
	case PTX_OP_VMIN2:
	case PTX_OP_VMIN4:
		return a < b ? a : b;
	case PTX_OP_VMAX:
	case PTX_OP_VMAX2:
	case PTX_OP_VMAX4:
		return a > b ? a : b;
	case PTX_OP_VAVRG2:
	case PTX_OP_VAVRG4:
		return (a + b + (a + b >= 0)) >> 1;
	case PTX_OP_VSHL:
	case PTX_OP_VSHR:
		return shifted(insn, a, b);
	default:
		return compare(insn->cmp, a, b);
	}
}

static sim_i128 saturate(sim_i128 value, uint32_t bits, bool is_signed)
{
	int64_t high = (1LL << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;

	return value > high ? high : value < low ? low : value;
}

/* --- one result ------------------------------------------------------------------------------- */

static uint32_t selected_bits(int64_t selector)
{
	return selector == 0 ? 32 : selector < PTX_VIDEO_HALF ? 8 : 16;
}

static uint32_t selected_shift(int64_t selector)
{
	if (selector == 0)
		return 0;
	return (uint32_t)(selector < PTX_VIDEO_HALF ? (selector - PTX_VIDEO_BYTE) * 8
						    : (selector - PTX_VIDEO_HALF) * 16);
}

static int64_t selected(uint32_t word, int64_t selector, bool is_signed)
{
	return part_of(word, selected_shift(selector), selected_bits(selector), is_signed);
}

/* Into its place in c, or together with c. */
static uint32_t finish_scalar(const struct ptx_insn *insn, sim_i128 value, uint32_t c)
{
	int64_t selector = insn->displacement[0] & 0xffff;
	uint32_t bits = selected_bits(selector), shift = selected_shift(selector);
	int64_t other = result_is_signed(insn) ? (int32_t)c : (int64_t)c;

	if (has_flag(insn, F(SAT)))
		value = saturate(value, bits, result_is_signed(insn));
	if (selector != 0) {
		uint32_t field = (uint32_t)(((1ULL << bits) - 1) << shift);

		return (c & ~field) | ((uint32_t)value << shift & field);
	}
	value = result_is_signed(insn) ? (int32_t)value : (int64_t)(uint32_t)value;
	switch (insn->actions[0]) {
	case PTX_M_ADD:
		return (uint32_t)value + c;
	case PTX_M_MIN:
		return (uint32_t)(value < other ? value : other);
	case PTX_M_MAX:
		return (uint32_t)(value > other ? value : other);
	default:
		return (uint32_t)value;
	}
}

HANDLER(video_scalar)
{
	FOR_EACH_LANE(lane, mask)
	{
		int64_t a = selected((uint32_t)read_lane(warp, &insn->o[1], lane), insn->displacement[1],
				     source_is_signed(insn, 0));
		int64_t b = selected((uint32_t)read_lane(warp, &insn->o[2], lane), insn->displacement[2],
				     source_is_signed(insn, 1));
		uint32_t c = insn->o[3].kind == PTX_OPERAND_NONE ? 0 : (uint32_t)read_lane(warp, &insn->o[3], lane);

		write_lane(warp, &insn->o[0], lane, finish_scalar(insn, combine(insn, a, b), c));
	}
}

/* a * b + c, or + 1 more; one of the product and c may be negated. */
HANDLER(video_mad)
{
	bool negate_product =
		!(insn->displacement[0] & PTX_VIDEO_NEGATE_A) != !(insn->displacement[0] & PTX_VIDEO_NEGATE_B);
	uint32_t shift = has_flag(insn, F(SHR7)) ? 7 : has_flag(insn, F(SHR15)) ? 15 : 0;

	FOR_EACH_LANE(lane, mask)
	{
		sim_i128 sum = selected((uint32_t)read_lane(warp, &insn->o[1], lane), insn->displacement[1],
					source_is_signed(insn, 0));
		uint32_t word = (uint32_t)read_lane(warp, &insn->o[3], lane);
		/* c is signed like the result of the product. */
		int64_t c = source_is_signed(insn, 0) || source_is_signed(insn, 1) || negate_product ||
					    insn->displacement[0] & PTX_VIDEO_NEGATE_C
				    ? (int32_t)word
				    : (int64_t)word;

		sum *= selected((uint32_t)read_lane(warp, &insn->o[2], lane), insn->displacement[2],
				source_is_signed(insn, 1));
		sum = negate_product ? -sum : sum;
		sum += insn->displacement[0] & PTX_VIDEO_NEGATE_C ? -c : c;
		sum = (sum + has_flag(insn, F(PLUS_ONE))) >> shift;
		if (has_flag(insn, F(SAT)))
			sum = saturate(sum, 32, result_is_signed(insn));
		write_lane(warp, &insn->o[0], lane, (uint32_t)sum);
	}
}

/* --- two or four side by side ----------------------------------------------------------------- */

HANDLER(video_elements_of)
{
	uint32_t n = video_elements(insn->op), bits = 32 / n;
	bool sums = insn->actions[0] == PTX_M_ADD;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t both = read_lane(warp, &insn->o[1], lane) | read_lane(warp, &insn->o[2], lane) << 32;
		uint32_t c = (uint32_t)read_lane(warp, &insn->o[3], lane), result = c;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t from_a = (uint32_t)(insn->displacement[1] >> 4 * i & 15) * bits;
			uint32_t from_b = (uint32_t)(insn->displacement[2] >> 4 * i & 15) * bits;
			uint32_t field = (uint32_t)((1ULL << bits) - 1) << i * bits;
			sim_i128 value;

			if (!(insn->displacement[0] >> i & 1))
				continue;
			value = combine(insn, part_of(both, from_a, bits, source_is_signed(insn, 0)),
					part_of(both, from_b, bits, source_is_signed(insn, 1)));
			if (has_flag(insn, F(SAT)))
				value = saturate(value, bits, result_is_signed(insn));
			if (sums)
				result += (uint32_t)value;
			else
				result = (result & ~field) | ((uint32_t)value << i * bits & field);
		}
		write_lane(warp, &insn->o[0], lane, result);
	}
}

/* --- selecting -------------------------------------------------------------------------------- */

static bool types_are_words(const struct ptx_insn *insn)
{
	for (uint32_t i = 0; i < insn->n_types; i++)
		if (insn->types[i] != PTX_U32 && insn->types[i] != PTX_S32)
			return false;
	return insn->n_types == (is_compare(insn) ? 2 : 3);
}

static bool is_signed_compare(uint8_t cmp)
{
	return cmp >= PTX_M_EQ && cmp <= PTX_M_GE;
}

static bool select_scalar(struct ptx_insn *insn)
{
	bool merges = (insn->displacement[0] & 0xffff) != 0, has_third = insn->o[3].kind != PTX_OPERAND_NONE;
	uint8_t action = insn->actions[0];

	insn->run = insn->op == PTX_OP_VMAD ? video_mad : video_scalar;
	if (insn->op == PTX_OP_VMAD)
		return has_third && !merges;
	if (insn->op == PTX_OP_VSHL || insn->op == PTX_OP_VSHR) {
		if (has_flag(insn, F(CLAMP)) == has_flag(insn, F(WRAP)) || insn->types[2] != PTX_U32)
			return false;
	}
	if (action != PTX_M_NONE && action != PTX_M_ADD && action != PTX_M_MIN && action != PTX_M_MAX)
		return false;
	/* A third source is for merging, or for a second operation. */
	return has_third == (merges || action != PTX_M_NONE) && !(merges && action != PTX_M_NONE);
}

bool select_video(struct ptx_insn *insn)
{
	if (!types_are_words(insn) || (is_compare(insn) && !is_signed_compare(insn->cmp)) ||
	    insn->actions[1] != PTX_M_NONE)
		return false;
	if (video_elements(insn->op) == 0)
		return select_scalar(insn);
	insn->run = video_elements_of;
	return insn->actions[0] == PTX_M_NONE || (insn->actions[0] == PTX_M_ADD && !has_flag(insn, F(SAT)));
}

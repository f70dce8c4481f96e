/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_int.c - integer, logic, shift and bit-field instructions.
 *
 * Pure functions of registers; see exec_ops.h. Division by zero gives what NVIDIA's hardware gives: all ones, and the
 * dividend as the remainder.
 */
#include "exec_ops.h"

#define F(id) PTX_FLAG(id)

/* All integer types of a handler that does not care about the sign. */
#define UNSIGNED_TYPES(h16, h32, h64)                                                                                 \
	{                                                                                                             \
		[PTX_U16] = h16, [PTX_S16] = h16, [PTX_B16] = h16, [PTX_U32] = h32, [PTX_S32] = h32, [PTX_B32] = h32, \
		[PTX_U64] = h64, [PTX_S64] = h64, [PTX_B64] = h64,                                                    \
	}

/* --- add and subtract ------------------------------------------------------------------------- */

BINARY(add_16, uint16_t, uint16_t, a + b)
BINARY(add_32, uint32_t, uint32_t, a + b)
BINARY(add_64, uint64_t, uint64_t, a + b)
BINARY(sub_16, uint16_t, uint16_t, a - b)
BINARY(sub_32, uint32_t, uint32_t, a - b)
BINARY(sub_64, uint64_t, uint64_t, a - b)

/* Both halves on their own. */
BINARY(add_16x2, uint32_t, uint32_t, (uint16_t)(a + b) | ((a & 0xffff0000u) + (b & 0xffff0000u)))

static int32_t saturate_32(int64_t value)
{
	return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

BINARY(add_sat_s32, int32_t, int32_t, saturate_32((int64_t)a + b))
BINARY(sub_sat_s32, int32_t, int32_t, saturate_32((int64_t)a - b))

static void set_carry(struct sim_warp *warp, uint32_t lane, bool carry)
{
	warp->carry = (warp->carry & ~(1u << lane)) | (uint32_t)carry << lane;
}

/*
 * a + b + carry in; the carry out is written only with .cc. A subtraction adds the complement of b, so that its carry
 * is the absence of a borrow, as on a device: nvcc's own 128-bit division asks with an addc whether a chain of subc
 * borrowed.
 */
#define CARRIED(name, T, WIDER, uses_carry, minus)                                        \
	HANDLER(name)                                                                     \
	{                                                                                 \
		T *to = LANES_OF(T, warp, insn->o[0]);                                    \
		const T *from_a = LANES_OF(const T, warp, insn->o[1]);                    \
		const T *from_b = LANES_OF(const T, warp, insn->o[2]);                    \
                                                                                          \
		FOR_EACH_LANE(lane, mask)                                                 \
		{                                                                         \
			WIDER carry = (uses_carry) ? warp->carry >> lane & 1 : (minus);   \
			T addend = (minus) ? (T)~from_b[lane] : from_b[lane];             \
			WIDER sum = (WIDER)from_a[lane] + addend + carry;                 \
                                                                                          \
			to[lane] = (T)sum;                                                \
			if (has_flag(insn, F(CC)))                                        \
				set_carry(warp, lane, (sum >> (8 * sizeof(T)) & 1) != 0); \
		}                                                                         \
	}

CARRIED(add_cc_32, uint32_t, uint64_t, false, false)
CARRIED(add_cc_64, uint64_t, sim_u128, false, false)
CARRIED(sub_cc_32, uint32_t, uint64_t, false, true)
CARRIED(sub_cc_64, uint64_t, sim_u128, false, true)
CARRIED(addc_32, uint32_t, uint64_t, true, false)
CARRIED(addc_64, uint64_t, sim_u128, true, false)
CARRIED(subc_32, uint32_t, uint64_t, true, true)
CARRIED(subc_64, uint64_t, sim_u128, true, true)

bool select_add(struct ptx_insn *insn)
{
	static ptx_handlers plain = {
		[PTX_U16] = add_16, [PTX_S16] = add_16, [PTX_U32] = add_32,     [PTX_S32] = add_32,
		[PTX_U64] = add_64, [PTX_S64] = add_64, [PTX_U16X2] = add_16x2, [PTX_S16X2] = add_16x2
	};
	static ptx_handlers cc = UNSIGNED_TYPES(NULL, add_cc_32, add_cc_64);
	static ptx_handlers sat = { [PTX_S32] = add_sat_s32 };

	if (!is_float(insn) && insn->n_types != 1)
		return false;
	if (is_float(insn))
		return select_float_add(insn);
	return select_by_type(insn, has_flag(insn, F(CC)) ? cc : has_flag(insn, F(SAT)) ? sat : plain);
}

bool select_sub(struct ptx_insn *insn)
{
	static ptx_handlers plain = UNSIGNED_TYPES(sub_16, sub_32, sub_64);
	static ptx_handlers cc = UNSIGNED_TYPES(NULL, sub_cc_32, sub_cc_64);
	static ptx_handlers sat = { [PTX_S32] = sub_sat_s32 };

	if (!is_float(insn) && insn->n_types != 1)
		return false;
	if (is_float(insn))
		return select_float_sub(insn);
	return select_by_type(insn, has_flag(insn, F(CC)) ? cc : has_flag(insn, F(SAT)) ? sat : plain);
}

bool select_addc(struct ptx_insn *insn)
{
	static ptx_handlers handlers = UNSIGNED_TYPES(NULL, addc_32, addc_64);

	return select_by_type(insn, handlers);
}

bool select_subc(struct ptx_insn *insn)
{
	static ptx_handlers handlers = UNSIGNED_TYPES(NULL, subc_32, subc_64);

	return select_by_type(insn, handlers);
}

/* --- multiply --------------------------------------------------------------------------------- */

static uint64_t mul_hi_u64(uint64_t a, uint64_t b)
{
	return (uint64_t)((sim_u128)a * b >> 64);
}

static uint64_t mul_hi_s64(int64_t a, int64_t b)
{
	__extension__ typedef __int128 s128;

	return (uint64_t)((sim_u128)((s128)a * b) >> 64);
}

BINARY(mul_lo_16, uint16_t, uint16_t, (uint32_t)a *b)
BINARY(mul_lo_32, uint32_t, uint32_t, a *b)
BINARY(mul_lo_64, uint64_t, uint64_t, a *b)
BINARY(mul_hi_u16, uint16_t, uint16_t, (uint32_t)a *b >> 16)
BINARY(mul_hi_s16, uint16_t, int16_t, (uint32_t)(a *b) >> 16)
BINARY(mul_hi_u32, uint32_t, uint32_t, (uint64_t)a *b >> 32)
BINARY(mul_hi_s32, uint32_t, int32_t, (uint64_t)((int64_t)a *b) >> 32)
BINARY(mul_hi_64_u, uint64_t, uint64_t, mul_hi_u64(a, b))
BINARY(mul_hi_64_s, uint64_t, int64_t, mul_hi_s64(a, b))
BINARY(mul_wide_u16, uint32_t, uint16_t, (uint32_t)a *b)
BINARY(mul_wide_s16, int32_t, int16_t, a *b)
BINARY(mul_wide_u32, uint64_t, uint32_t, (uint64_t)a *b)
BINARY(mul_wide_s32, int64_t, int32_t, (int64_t)a *b)

TERNARY(mad_lo_16, uint16_t, uint16_t, uint16_t, (uint32_t)a *b + c)
TERNARY(mad_lo_32, uint32_t, uint32_t, uint32_t, a *b + c)
TERNARY(mad_lo_64, uint64_t, uint64_t, uint64_t, a *b + c)
TERNARY(mad_hi_u16, uint16_t, uint16_t, uint16_t, ((uint32_t)a * b >> 16) + c)
TERNARY(mad_hi_s16, uint16_t, int16_t, uint16_t, ((uint32_t)(a * b) >> 16) + c)
TERNARY(mad_hi_u32, uint32_t, uint32_t, uint32_t, (uint32_t)((uint64_t)a *b >> 32) + c)
TERNARY(mad_hi_s32, uint32_t, int32_t, uint32_t, (uint32_t)((uint64_t)((int64_t)a *b) >> 32) + c)
TERNARY(mad_hi_u64, uint64_t, uint64_t, uint64_t, mul_hi_u64(a, b) + c)
TERNARY(mad_hi_s64, uint64_t, int64_t, uint64_t, mul_hi_s64(a, b) + c)
TERNARY(mad_hi_sat_s32, int32_t, int32_t, int32_t, saturate_32(((int64_t)a * b >> 32) + c))
TERNARY(mad_wide_u16, uint32_t, uint16_t, uint32_t, (uint32_t)a *b + c)
TERNARY(mad_wide_s16, uint32_t, int16_t, uint32_t, (uint32_t)(a *b) + c)
TERNARY(mad_wide_u32, uint64_t, uint32_t, uint64_t, (uint64_t)a *b + c)
TERNARY(mad_wide_s32, uint64_t, int32_t, uint64_t, (uint64_t)((int64_t)a *b) + c)

bool select_mul(struct ptx_insn *insn)
{
	static ptx_handlers lo = UNSIGNED_TYPES(mul_lo_16, mul_lo_32, mul_lo_64);
	static ptx_handlers hi = { [PTX_U16] = mul_hi_u16, [PTX_S16] = mul_hi_s16,  [PTX_U32] = mul_hi_u32,
				   [PTX_S32] = mul_hi_s32, [PTX_U64] = mul_hi_64_u, [PTX_S64] = mul_hi_64_s };
	static ptx_handlers wide = {
		[PTX_U16] = mul_wide_u16, [PTX_S16] = mul_wide_s16, [PTX_U32] = mul_wide_u32, [PTX_S32] = mul_wide_s32
	};

	if (is_float(insn))
		return select_float_mul(insn);
	if (has_flag(insn, F(WIDE)))
		return select_by_type(insn, wide);
	return insn->cmp == PTX_M_LO ? select_by_type(insn, lo) : insn->cmp == PTX_M_HI && select_by_type(insn, hi);
}

/* The low or high half of the product plus c plus, for madc, the carry. NARROW gives the factors their sign. */
#define MAD_CARRIED(name, T, NARROW, PRODUCT, WIDER, high, uses_carry)                                          \
	HANDLER(name)                                                                                           \
	{                                                                                                       \
		T *to = LANES_OF(T, warp, insn->o[0]);                                                          \
		const T *from_a = LANES_OF(const T, warp, insn->o[1]);                                          \
		const T *from_b = LANES_OF(const T, warp, insn->o[2]);                                          \
		const T *from_c = LANES_OF(const T, warp, insn->o[3]);                                          \
                                                                                                                \
		FOR_EACH_LANE(lane, mask)                                                                       \
		{                                                                                               \
			WIDER product = (WIDER)((PRODUCT)(NARROW)from_a[lane] * (PRODUCT)(NARROW)from_b[lane]); \
			T half = (T)((high) ? product >> (8 * sizeof(T)) : product);                            \
			WIDER sum = (WIDER)half + from_c[lane] + ((uses_carry) ? warp->carry >> lane & 1 : 0);  \
                                                                                                                \
			to[lane] = (T)sum;                                                                      \
			if (has_flag(insn, F(CC)))                                                              \
				set_carry(warp, lane, (sum >> (8 * sizeof(T)) & 1) != 0);                       \
		}                                                                                               \
	}

__extension__ typedef __int128 sim_s128;

MAD_CARRIED(mad_cc_lo_32, uint32_t, uint32_t, uint64_t, uint64_t, false, false)
MAD_CARRIED(mad_cc_lo_64, uint64_t, uint64_t, sim_u128, sim_u128, false, false)
MAD_CARRIED(mad_cc_hi_u32, uint32_t, uint32_t, uint64_t, uint64_t, true, false)
MAD_CARRIED(mad_cc_hi_s32, uint32_t, int32_t, int64_t, uint64_t, true, false)
MAD_CARRIED(mad_cc_hi_u64, uint64_t, uint64_t, sim_u128, sim_u128, true, false)
MAD_CARRIED(mad_cc_hi_s64, uint64_t, int64_t, sim_s128, sim_u128, true, false)
MAD_CARRIED(madc_lo_32, uint32_t, uint32_t, uint64_t, uint64_t, false, true)
MAD_CARRIED(madc_lo_64, uint64_t, uint64_t, sim_u128, sim_u128, false, true)
MAD_CARRIED(madc_hi_u32, uint32_t, uint32_t, uint64_t, uint64_t, true, true)
MAD_CARRIED(madc_hi_s32, uint32_t, int32_t, int64_t, uint64_t, true, true)
MAD_CARRIED(madc_hi_u64, uint64_t, uint64_t, sim_u128, sim_u128, true, true)
MAD_CARRIED(madc_hi_s64, uint64_t, int64_t, sim_s128, sim_u128, true, true)

bool select_mad(struct ptx_insn *insn)
{
	static ptx_handlers lo = UNSIGNED_TYPES(mad_lo_16, mad_lo_32, mad_lo_64);
	static ptx_handlers hi = { [PTX_U16] = mad_hi_u16, [PTX_S16] = mad_hi_s16, [PTX_U32] = mad_hi_u32,
				   [PTX_S32] = mad_hi_s32, [PTX_U64] = mad_hi_u64, [PTX_S64] = mad_hi_s64 };
	static ptx_handlers wide = {
		[PTX_U16] = mad_wide_u16, [PTX_S16] = mad_wide_s16, [PTX_U32] = mad_wide_u32, [PTX_S32] = mad_wide_s32
	};
	static ptx_handlers hi_sat = { [PTX_S32] = mad_hi_sat_s32 };
	static ptx_handlers cc_lo = UNSIGNED_TYPES(NULL, mad_cc_lo_32, mad_cc_lo_64);
	static ptx_handlers cc_hi = { [PTX_U32] = mad_cc_hi_u32,
				      [PTX_S32] = mad_cc_hi_s32,
				      [PTX_U64] = mad_cc_hi_u64,
				      [PTX_S64] = mad_cc_hi_s64 };
	bool high = insn->cmp == PTX_M_HI;

	if (is_float(insn))
		return select_fma(insn);
	if (has_flag(insn, F(WIDE)))
		return select_by_type(insn, wide);
	if (insn->cmp != PTX_M_LO && !high)
		return false;
	if (has_flag(insn, F(CC)))
		return select_by_type(insn, high ? cc_hi : cc_lo);
	if (has_flag(insn, F(SAT)))
		return high && select_by_type(insn, hi_sat);
	return select_by_type(insn, high ? hi : lo);
}

bool select_madc(struct ptx_insn *insn)
{
	static ptx_handlers lo = UNSIGNED_TYPES(NULL, madc_lo_32, madc_lo_64);
	static ptx_handlers hi = {
		[PTX_U32] = madc_hi_u32, [PTX_S32] = madc_hi_s32, [PTX_U64] = madc_hi_u64, [PTX_S64] = madc_hi_s64
	};

	return select_by_type(insn, insn->cmp == PTX_M_HI ? hi : lo);
}

/* The low 24 bits, with or without sign; the product has 48 bits, of which .lo gives 0..31 and .hi 16..47. */
static uint64_t product_24(uint32_t a, uint32_t b)
{
	return (uint64_t)(a & 0xffffff) * (b & 0xffffff);
}

static uint64_t product_s24(uint32_t a, uint32_t b)
{
	int64_t x = (int32_t)(a << 8) >> 8, y = (int32_t)(b << 8) >> 8;

	return (uint64_t)(x * y);
}

BINARY(mul24_lo_u32, uint32_t, uint32_t, product_24(a, b))
BINARY(mul24_lo_s32, uint32_t, uint32_t, product_s24(a, b))
BINARY(mul24_hi_u32, uint32_t, uint32_t, product_24(a, b) >> 16)
BINARY(mul24_hi_s32, uint32_t, uint32_t, product_s24(a, b) >> 16)
TERNARY(mad24_lo_u32, uint32_t, uint32_t, uint32_t, product_24(a, b) + c)
TERNARY(mad24_lo_s32, uint32_t, uint32_t, uint32_t, product_s24(a, b) + c)
TERNARY(mad24_hi_u32, uint32_t, uint32_t, uint32_t, (product_24(a, b) >> 16) + c)
TERNARY(mad24_hi_s32, uint32_t, uint32_t, uint32_t, (product_s24(a, b) >> 16) + c)

TERNARY(mad24_hi_sat_s32, int32_t, int32_t, int32_t,
	saturate_32((int64_t)(int32_t)(product_s24((uint32_t)a, (uint32_t)b) >> 16) + c))

bool select_mul24(struct ptx_insn *insn)
{
	static ptx_handlers lo = { [PTX_U32] = mul24_lo_u32, [PTX_S32] = mul24_lo_s32 };
	static ptx_handlers hi = { [PTX_U32] = mul24_hi_u32, [PTX_S32] = mul24_hi_s32 };

	return select_by_type(insn, insn->cmp == PTX_M_HI ? hi : lo);
}

bool select_mad24(struct ptx_insn *insn)
{
	static ptx_handlers lo = { [PTX_U32] = mad24_lo_u32, [PTX_S32] = mad24_lo_s32 };
	static ptx_handlers hi = { [PTX_U32] = mad24_hi_u32, [PTX_S32] = mad24_hi_s32 };

	static ptx_handlers hi_sat = { [PTX_S32] = mad24_hi_sat_s32 };

	if (has_flag(insn, F(SAT)))
		return insn->cmp == PTX_M_HI && select_by_type(insn, hi_sat);
	return select_by_type(insn, insn->cmp == PTX_M_HI ? hi : lo);
}

/* Four products of bytes, or two of a half word and a byte, each operand with or without sign. */
static uint32_t byte_of(uint32_t value, uint32_t index, bool is_signed)
{
	uint32_t byte = value >> (8 * index) & 0xff;

	return is_signed ? (uint32_t)(int32_t)(int8_t)byte : byte;
}

static uint32_t half_of(uint32_t value, uint32_t index, bool is_signed)
{
	uint32_t half = value >> (16 * index) & 0xffff;

	return is_signed ? (uint32_t)(int32_t)(int16_t)half : half;
}

HANDLER(dp4a)
{
	bool a_signed = insn->types[0] == PTX_S32, b_signed = insn->types[1] == PTX_S32;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t a = LANES_OF(const uint32_t, warp, insn->o[1])[lane];
		uint32_t b = LANES_OF(const uint32_t, warp, insn->o[2])[lane];
		uint32_t sum = LANES_OF(const uint32_t, warp, insn->o[3])[lane];

		for (uint32_t i = 0; i < 4; i++)
			sum += byte_of(a, i, a_signed) * byte_of(b, i, b_signed);
		LANES_OF(uint32_t, warp, insn->o[0])[lane] = sum;
	}
}

HANDLER(dp2a)
{
	bool a_signed = insn->types[0] == PTX_S32, b_signed = insn->types[1] == PTX_S32;
	uint32_t first = insn->cmp == PTX_M_HI ? 2 : 0;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t a = LANES_OF(const uint32_t, warp, insn->o[1])[lane];
		uint32_t b = LANES_OF(const uint32_t, warp, insn->o[2])[lane];
		uint32_t sum = LANES_OF(const uint32_t, warp, insn->o[3])[lane];

		for (uint32_t i = 0; i < 2; i++)
			sum += half_of(a, i, a_signed) * byte_of(b, first + i, b_signed);
		LANES_OF(uint32_t, warp, insn->o[0])[lane] = sum;
	}
}

static bool is_32(uint8_t type)
{
	return type == PTX_U32 || type == PTX_S32;
}

bool select_dp4a(struct ptx_insn *insn)
{
	insn->run = dp4a;
	return is_32(insn->types[0]) && is_32(insn->types[1]);
}

bool select_dp2a(struct ptx_insn *insn)
{
	insn->run = dp2a;
	return is_32(insn->types[0]) && is_32(insn->types[1]);
}

/* --- divide, compare -------------------------------------------------------------------------- */

BINARY(div_u16, uint16_t, uint16_t, b == 0 ? UINT16_MAX : a / b)
BINARY(div_u32, uint32_t, uint32_t, b == 0 ? UINT32_MAX : a / b)
BINARY(div_u64, uint64_t, uint64_t, b == 0 ? UINT64_MAX : a / b)
BINARY(div_s16, int16_t, int16_t, b == 0 ? -1 : a / b)
BINARY(div_s32, int32_t, int32_t, b == 0 ? -1 : b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b)
BINARY(div_s64, int64_t, int64_t, b == 0 ? -1 : b == -1 ? (int64_t)(0ULL - (uint64_t)a) : a / b)
BINARY(rem_u16, uint16_t, uint16_t, b == 0 ? a : a % b)
BINARY(rem_u32, uint32_t, uint32_t, b == 0 ? a : a % b)
BINARY(rem_u64, uint64_t, uint64_t, b == 0 ? a : a % b)
BINARY(rem_s16, int16_t, int16_t, b == 0 ? a : a % b)
BINARY(rem_s32, int32_t, int32_t, b == 0 ? a : b == -1 ? 0 : a % b)
BINARY(rem_s64, int64_t, int64_t, b == 0 ? a : b == -1 ? 0 : a % b)

bool select_div(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_U16] = div_u16, [PTX_S16] = div_s16, [PTX_U32] = div_u32,
					 [PTX_S32] = div_s32, [PTX_U64] = div_u64, [PTX_S64] = div_s64 };

	return is_float(insn) ? select_float_div(insn) : select_by_type(insn, handlers);
}

bool select_rem(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_U16] = rem_u16, [PTX_S16] = rem_s16, [PTX_U32] = rem_u32,
					 [PTX_S32] = rem_s32, [PTX_U64] = rem_u64, [PTX_S64] = rem_s64 };

	return select_by_type(insn, handlers);
}

UNARY(abs_s16, uint16_t, int16_t, a < 0 ? 0 - a : a)
UNARY(abs_s32, uint32_t, int32_t, a < 0 ? 0u - (uint32_t)a : (uint32_t)a)
UNARY(abs_s64, uint64_t, int64_t, a < 0 ? 0ULL - (uint64_t)a : (uint64_t)a)
UNARY(neg_s16, uint16_t, uint16_t, 0 - a)
UNARY(neg_s32, uint32_t, uint32_t, 0u - a)
UNARY(neg_s64, uint64_t, uint64_t, 0ULL - a)

bool select_abs(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_S16] = abs_s16, [PTX_S32] = abs_s32, [PTX_S64] = abs_s64 };

	return is_float(insn) ? select_float_abs(insn) : select_by_type(insn, handlers);
}

bool select_neg(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_S16] = neg_s16, [PTX_S32] = neg_s32, [PTX_S64] = neg_s64 };

	return is_float(insn) ? select_float_neg(insn) : select_by_type(insn, handlers);
}

#define MIN_MAX(suffix, T)                        \
	BINARY(min_##suffix, T, T, a < b ? a : b) \
	BINARY(max_##suffix, T, T, a > b ? a : b)
MIN_MAX(u16, uint16_t)
MIN_MAX(s16, int16_t)
MIN_MAX(u32, uint32_t)
MIN_MAX(s32, int32_t)
MIN_MAX(u64, uint64_t)
MIN_MAX(s64, int64_t)

#define HALVES(T, op) ((uint32_t)(uint16_t)((T)a op(T) b ? a : b) | ((T)(a >> 16) op(T)(b >> 16) ? a : b) >> 16 << 16)
BINARY(min_u16x2, uint32_t, uint32_t, HALVES(uint16_t, <))
BINARY(min_s16x2, uint32_t, uint32_t, HALVES(int16_t, <))
BINARY(max_u16x2, uint32_t, uint32_t, HALVES(uint16_t, >))
BINARY(max_s16x2, uint32_t, uint32_t, HALVES(int16_t, >))
BINARY(min_relu_s32, int32_t, int32_t, (a < b ? a : b) < 0 ? 0 : (a < b ? a : b))
BINARY(max_relu_s32, int32_t, int32_t, (a > b ? a : b) < 0 ? 0 : (a > b ? a : b))

static uint32_t relu_halves(uint32_t value)
{
	return (value & 0x8000 ? 0 : value & 0xffff) | (value & 0x80000000u ? 0 : value & 0xffff0000u);
}

BINARY(min_relu_s16x2, uint32_t, uint32_t, relu_halves(HALVES(int16_t, <)))
BINARY(max_relu_s16x2, uint32_t, uint32_t, relu_halves(HALVES(int16_t, >)))

/* What only floats have. */
static bool has_float_form(const struct ptx_insn *insn)
{
	return insn->o[3].kind != PTX_OPERAND_NONE || has_flag(insn, F(FTZ) | F(QNAN) | F(XORSIGN) | F(ABS));
}

bool select_min(struct ptx_insn *insn)
{
	static ptx_handlers handlers = {
		[PTX_U16] = min_u16, [PTX_S16] = min_s16, [PTX_U32] = min_u32,     [PTX_S32] = min_s32,
		[PTX_U64] = min_u64, [PTX_S64] = min_s64, [PTX_U16X2] = min_u16x2, [PTX_S16X2] = min_s16x2
	};
	static ptx_handlers relu = { [PTX_S32] = min_relu_s32, [PTX_S16X2] = min_relu_s16x2 };

	if (is_float(insn))
		return select_float_min(insn);
	return !has_float_form(insn) && select_by_type(insn, has_flag(insn, F(RELU)) ? relu : handlers);
}

bool select_max(struct ptx_insn *insn)
{
	static ptx_handlers handlers = {
		[PTX_U16] = max_u16, [PTX_S16] = max_s16, [PTX_U32] = max_u32,     [PTX_S32] = max_s32,
		[PTX_U64] = max_u64, [PTX_S64] = max_s64, [PTX_U16X2] = max_u16x2, [PTX_S16X2] = max_s16x2
	};
	static ptx_handlers relu = { [PTX_S32] = max_relu_s32, [PTX_S16X2] = max_relu_s16x2 };

	if (is_float(insn))
		return select_float_max(insn);
	return !has_float_form(insn) && select_by_type(insn, has_flag(insn, F(RELU)) ? relu : handlers);
}

TERNARY(sad_u16, uint16_t, uint16_t, uint16_t, c + (a < b ? b - a : a - b))
TERNARY(sad_s16, uint16_t, int16_t, uint16_t, c + (a < b ? b - a : a - b))
TERNARY(sad_u32, uint32_t, uint32_t, uint32_t, c + (a < b ? b - a : a - b))
TERNARY(sad_s32, uint32_t, int32_t, uint32_t, c + (a < b ? (uint32_t)b - (uint32_t)a : (uint32_t)a - (uint32_t)b))
TERNARY(sad_u64, uint64_t, uint64_t, uint64_t, c + (a < b ? b - a : a - b))
TERNARY(sad_s64, uint64_t, int64_t, uint64_t, c + (a < b ? (uint64_t)b - (uint64_t)a : (uint64_t)a - (uint64_t)b))

bool select_sad(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_U16] = sad_u16, [PTX_S16] = sad_s16, [PTX_U32] = sad_u32,
					 [PTX_S32] = sad_s32, [PTX_U64] = sad_u64, [PTX_S64] = sad_s64 };

	return select_by_type(insn, handlers);
}

/* --- logic and shifts ------------------------------------------------------------------------- */

#define LOGIC(name, op)                                                                                               \
	BINARY(name##_16, uint16_t, uint16_t, a op b)                                                                 \
	BINARY(name##_32, uint32_t, uint32_t, a op b)                                                                 \
	BINARY(name##_64, uint64_t, uint64_t, a op b)                                                                 \
	HANDLER(name##_pred)                                                                                          \
	{                                                                                                             \
		write_predicate(warp, &insn->o[0],                                                                    \
				read_predicate(warp, &insn->o[1]) op read_predicate(warp, &insn->o[2]), mask);        \
	}                                                                                                             \
	bool select_##name(struct ptx_insn *insn)                                                                     \
	{                                                                                                             \
		static ptx_handlers handlers = {                                                                      \
			[PTX_B16] = name##_16, [PTX_B32] = name##_32, [PTX_B64] = name##_64, [PTX_PRED] = name##_pred \
		};                                                                                                    \
                                                                                                                      \
		return select_by_type(insn, handlers);                                                                \
	}
LOGIC(and, &)
LOGIC(or, |)
LOGIC(xor, ^)

UNARY(not_16, uint16_t, uint16_t, ~a)
UNARY(not_32, uint32_t, uint32_t, ~a)
UNARY(not_64, uint64_t, uint64_t, ~a)
UNARY(cnot_16, uint16_t, uint16_t, a == 0)
UNARY(cnot_32, uint32_t, uint32_t, a == 0)
UNARY(cnot_64, uint64_t, uint64_t, a == 0)

HANDLER(not_pred)
{
	write_predicate(warp, &insn->o[0], ~read_predicate(warp, &insn->o[1]), mask);
}

bool select_not(struct ptx_insn *insn)
{
	static ptx_handlers handlers = {
		[PTX_B16] = not_16, [PTX_B32] = not_32, [PTX_B64] = not_64, [PTX_PRED] = not_pred
	};

	return select_by_type(insn, handlers);
}

bool select_cnot(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_B16] = cnot_16, [PTX_B32] = cnot_32, [PTX_B64] = cnot_64 };

	return select_by_type(insn, handlers);
}

/* Any function of three bits: bit (a << 2 | b << 1 | c) of the table. */
HANDLER(lop3_32)
{
	uint32_t *to = LANES_OF(uint32_t, warp, insn->o[0]);
	const uint32_t *from_a = LANES_OF(const uint32_t, warp, insn->o[1]);
	const uint32_t *from_b = LANES_OF(const uint32_t, warp, insn->o[2]);
	const uint32_t *from_c = LANES_OF(const uint32_t, warp, insn->o[3]);
	uint32_t table = LANES_OF(const uint32_t, warp, insn->o[4])[first_lane(mask)];

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t a = from_a[lane], b = from_b[lane], c = from_c[lane], result = 0;

		for (uint32_t i = 0; i < 8; i++)
			if (table >> i & 1)
				result |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
		to[lane] = result;
	}
}

/* The same, and whether any bit of it is set, and or or with a predicate. */
HANDLER(lop3_bool)
{
	struct ptx_insn plain = *insn;
	uint32_t any = 0, other = read_predicate(warp, &insn->o[6]);

	for (uint32_t i = 1; i < 5; i++)
		plain.o[i] = insn->o[i + 1];
	lop3_32(warp, &plain, mask);
	FOR_EACH_LANE(lane, mask)
	{
		if (LANES_OF(const uint32_t, warp, insn->o[0])[lane] != 0)
			any |= 1u << lane;
	}
	if (insn->o[1].kind != PTX_OPERAND_NONE)
		write_predicate(warp, &insn->o[1], insn->actions[0] == PTX_M_AND ? any & other : any | other, mask);
}

bool select_lop3(struct ptx_insn *insn)
{
	bool has_bool = insn->actions[0] != PTX_M_NONE;

	insn->run = has_bool ? lop3_bool : lop3_32;
	return insn->types[0] == PTX_B32 && insn->actions[1] == PTX_M_NONE &&
	       (!has_bool || insn->actions[0] == PTX_M_AND || insn->actions[0] == PTX_M_OR);
}

BINARY_MIXED(shl_16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : (uint32_t)a << b)
BINARY_MIXED(shl_32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a << b)
BINARY_MIXED(shl_64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a << b)
BINARY_MIXED(shr_u16, uint16_t, uint16_t, uint32_t, b > 15 ? 0 : a >> b)
BINARY_MIXED(shr_u32, uint32_t, uint32_t, uint32_t, b > 31 ? 0 : a >> b)
BINARY_MIXED(shr_u64, uint64_t, uint64_t, uint32_t, b > 63 ? 0 : a >> b)
BINARY_MIXED(shr_s16, int16_t, int16_t, uint32_t, a >> (b > 15 ? 15 : b))
BINARY_MIXED(shr_s32, int32_t, int32_t, uint32_t, a >> (b > 31 ? 31 : b))
BINARY_MIXED(shr_s64, int64_t, int64_t, uint32_t, a >> (b > 63 ? 63 : b))

bool select_shl(struct ptx_insn *insn)
{
	static ptx_handlers handlers = UNSIGNED_TYPES(shl_16, shl_32, shl_64);

	return select_by_type(insn, handlers);
}

bool select_shr(struct ptx_insn *insn)
{
	static ptx_handlers handlers = {
		[PTX_B16] = shr_u16, [PTX_U16] = shr_u16, [PTX_S16] = shr_s16, [PTX_B32] = shr_u32, [PTX_U32] = shr_u32,
		[PTX_S32] = shr_s32, [PTX_B64] = shr_u64, [PTX_U64] = shr_u64, [PTX_S64] = shr_s64
	};

	return select_by_type(insn, handlers);
}

/* The 64 bits {b, a} shifted, and the half that a funnel shift keeps. */
static uint32_t funnel(uint32_t a, uint32_t b, uint32_t amount, bool left, bool clamp)
{
	uint64_t both = (uint64_t)b << 32 | a;
	uint32_t n = clamp ? (amount > 32 ? 32 : amount) : amount & 31;

	return left ? (uint32_t)(both >> (32 - n)) : (uint32_t)(both >> n);
}

HANDLER(shf_32)
{
	uint32_t *to = LANES_OF(uint32_t, warp, insn->o[0]);
	const uint32_t *from_a = LANES_OF(const uint32_t, warp, insn->o[1]);
	const uint32_t *from_b = LANES_OF(const uint32_t, warp, insn->o[2]);
	const uint32_t *from_c = LANES_OF(const uint32_t, warp, insn->o[3]);
	bool left = insn->actions[0] == PTX_M_L_SHIFT, clamp = has_flag(insn, F(CLAMP));

	FOR_EACH_LANE(lane, mask)
	{
		to[lane] = funnel(from_a[lane], from_b[lane], from_c[lane], left, clamp);
	}
}

bool select_shf(struct ptx_insn *insn)
{
	insn->run = shf_32;
	return insn->types[0] == PTX_B32 && (insn->actions[0] == PTX_M_L_SHIFT || insn->actions[0] == PTX_M_R_SHIFT);
}

/* --- bits ------------------------------------------------------------------------------------- */

static uint64_t reverse_bits(uint64_t value, uint32_t n)
{
	uint64_t result = 0;

	for (uint32_t i = 0; i < n; i++)
		result |= (value >> i & 1) << (n - 1 - i);
	return result;
}

UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(a))
UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(a))
UNARY(clz_32, uint32_t, uint32_t, a == 0 ? 32 : __builtin_clz(a))
UNARY(clz_64, uint32_t, uint64_t, a == 0 ? 64 : __builtin_clzll(a))
UNARY(brev_32, uint32_t, uint32_t, reverse_bits(a, 32))
UNARY(brev_64, uint64_t, uint64_t, reverse_bits(a, 64))

bool select_popc(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_B32] = popc_32, [PTX_B64] = popc_64 };

	return select_by_type(insn, handlers);
}

bool select_clz(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_B32] = clz_32, [PTX_B64] = clz_64 };

	return select_by_type(insn, handlers);
}

bool select_brev(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_B32] = brev_32, [PTX_B64] = brev_64 };

	return select_by_type(insn, handlers);
}

/* Highest set bit; of a negative number the highest bit that differs from the sign. All ones when there is none. */
static uint32_t find_bit(uint64_t value, uint32_t n_bits, bool is_signed, bool shift_amount)
{
	uint64_t all = n_bits == 64 ? UINT64_MAX : (1ULL << n_bits) - 1;
	uint32_t bit;

	if (is_signed && value >> (n_bits - 1) & 1)
		value = ~value;
	value &= all;
	if (value == 0)
		return UINT32_MAX;
	bit = 63 - (uint32_t)__builtin_clzll(value);
	return shift_amount ? n_bits - 1 - bit : bit;
}

UNARY(bfind_u32, uint32_t, uint32_t, find_bit(a, 32, false, has_flag(insn, F(SHIFTAMT))))
UNARY(bfind_s32, uint32_t, uint32_t, find_bit(a, 32, true, has_flag(insn, F(SHIFTAMT))))
UNARY(bfind_u64, uint32_t, uint64_t, find_bit(a, 64, false, has_flag(insn, F(SHIFTAMT))))
UNARY(bfind_s64, uint32_t, uint64_t, find_bit(a, 64, true, has_flag(insn, F(SHIFTAMT))))

bool select_bfind(struct ptx_insn *insn)
{
	static ptx_handlers handlers = {
		[PTX_U32] = bfind_u32, [PTX_S32] = bfind_s32, [PTX_U64] = bfind_u64, [PTX_S64] = bfind_s64
	};

	return select_by_type(insn, handlers);
}

/* `length` bits from `start`; beyond the operand a signed field repeats its sign, an unsigned one is zero. */
static uint64_t extract_field(uint64_t value, uint32_t n_bits, uint32_t start, uint32_t length, bool is_signed)
{
	uint32_t last = start + length - 1 < n_bits - 1 ? start + length - 1 : n_bits - 1;
	uint64_t sign = is_signed && length > 0 ? value >> last & 1 : 0;
	uint64_t field, kept;

	if (length == 0)
		return 0;
	field = start < n_bits ? value >> start : 0;
	if (start < n_bits && length > n_bits - start)
		length = n_bits - start;
	else if (start >= n_bits)
		length = 0;
	kept = length >= 64 ? UINT64_MAX : (1ULL << length) - 1;
	return (field & kept) | (sign ? ~kept : 0);
}

HANDLER(bfe)
{
	uint32_t n_bits = 8u * ptx_type_bytes[insn->types[0]];
	bool is_signed = ptx_type_class[insn->types[0]] == PTX_CLASS_S;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t value = read_lane(warp, &insn->o[1], lane);
		uint32_t start = LANES_OF(const uint32_t, warp, insn->o[2])[lane] & 0xff;
		uint32_t length = LANES_OF(const uint32_t, warp, insn->o[3])[lane] & 0xff;

		write_lane(warp, &insn->o[0], lane, extract_field(value, n_bits, start, length, is_signed));
	}
}

HANDLER(bfi)
{
	uint32_t n_bits = 8u * ptx_type_bytes[insn->types[0]];

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t field = read_lane(warp, &insn->o[1], lane), into = read_lane(warp, &insn->o[2], lane);
		uint32_t start = LANES_OF(const uint32_t, warp, insn->o[3])[lane] & 0xff;
		uint32_t length = LANES_OF(const uint32_t, warp, insn->o[4])[lane] & 0xff;
		uint64_t kept = length >= 64 ? UINT64_MAX : (1ULL << length) - 1;

		if (start < n_bits)
			into = (into & ~(kept << start)) | (field & kept) << start;
		write_lane(warp, &insn->o[0], lane, into);
	}
}

static bool is_32_or_64(const struct ptx_insn *insn)
{
	return ptx_type_bytes[insn->types[0]] == 4 || ptx_type_bytes[insn->types[0]] == 8;
}

bool select_bfe(struct ptx_insn *insn)
{
	insn->run = bfe;
	return is_32_or_64(insn) && !is_float(insn);
}

bool select_bfi(struct ptx_insn *insn)
{
	insn->run = bfi;
	return is_32_or_64(insn) && !is_float(insn);
}

/* `b` ones from bit `a` on. */
static uint32_t bit_mask(uint32_t a, uint32_t b, bool clamp)
{
	uint64_t ones;

	if (!clamp) {
		a &= 31;
		b &= 31;
	}
	if (a > 31)
		return 0;
	ones = b > 31 ? UINT32_MAX : (1ULL << b) - 1;
	return (uint32_t)(ones << a);
}

BINARY(bmsk_32, uint32_t, uint32_t, bit_mask(a, b, has_flag(insn, F(CLAMP))))

bool select_bmsk(struct ptx_insn *insn)
{
	insn->run = bmsk_32;
	return insn->types[0] == PTX_B32;
}

/* The low `n` bits, extended with their sign or with zeros. */
static uint32_t extend(uint32_t a, uint32_t n, bool is_signed, bool clamp)
{
	n = clamp ? (n > 32 ? 32 : n) : n & 31;
	return (uint32_t)extract_field(a, 32, 0, n, is_signed);
}

BINARY_MIXED(szext_u32, uint32_t, uint32_t, uint32_t, extend(a, b, false, has_flag(insn, F(CLAMP))))
BINARY_MIXED(szext_s32, uint32_t, uint32_t, uint32_t, extend(a, b, true, has_flag(insn, F(CLAMP))))

bool select_szext(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_U32] = szext_u32, [PTX_S32] = szext_s32 };

	return select_by_type(insn, handlers);
}

/* The n-th set bit from `base` upwards (n > 0), downwards (n < 0), or `base` itself when set (n == 0). */
static uint32_t find_nth_set(uint32_t bits, uint32_t base, int32_t n)
{
	int32_t step = n < 0 ? -1 : 1;
	int64_t left = n < 0 ? -(int64_t)n : n;

	if (base > 31)
		return UINT32_MAX;
	if (n == 0)
		return bits >> base & 1 ? base : UINT32_MAX;
	for (int32_t i = (int32_t)base; i >= 0 && i < 32; i += step)
		if (bits >> i & 1 && --left == 0)
			return (uint32_t)i;
	return UINT32_MAX;
}

TERNARY(fns_32, uint32_t, uint32_t, int32_t, find_nth_set(a, b, c))

bool select_fns(struct ptx_insn *insn)
{
	insn->run = fns_32;
	return insn->types[0] == PTX_B32;
}

/* Bytes of {b, a} by selector; bit 3 of a selector repeats the byte's sign instead. */
static uint32_t permute(uint32_t a, uint32_t b, uint32_t selectors)
{
	uint64_t both = (uint64_t)b << 32 | a;
	uint32_t result = 0;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t selector = selectors >> (4 * i) & 15;
		uint32_t byte = (uint32_t)(both >> (8 * (selector & 7))) & 0xff;

		if (selector & 8)
			byte = byte & 0x80 ? 0xff : 0;
		result |= byte << (8 * i);
	}
	return result;
}

/* The named modes are selectors computed from the two low bits of c. */
static uint32_t mode_selectors(uint8_t mode, uint32_t c)
{
	static const uint16_t table[][4] = {
		{ 0x3210, 0x4321, 0x5432, 0x6543 }, /* f4e */
		{ 0x5670, 0x6701, 0x7012, 0x0123 }, /* b4e */
		{ 0x0000, 0x1111, 0x2222, 0x3333 }, /* rc8 */
		{ 0x3210, 0x3211, 0x3222, 0x3333 }, /* ecl */
		{ 0x0000, 0x1110, 0x2210, 0x3210 }, /* ecr */
		{ 0x1010, 0x3232, 0x1010, 0x3232 }, /* rc16 */
	};

	switch (mode) {
	case PTX_M_F4E:
		return table[0][c & 3];
	case PTX_M_B4E:
		return table[1][c & 3];
	case PTX_M_RC8:
		return table[2][c & 3];
	case PTX_M_ECL:
		return table[3][c & 3];
	case PTX_M_ECR:
		return table[4][c & 3];
	case PTX_M_RC16:
		return table[5][c & 3];
	default:
		return c;
	}
}

TERNARY(prmt_32, uint32_t, uint32_t, uint32_t, permute(a, b, mode_selectors(insn->actions[0], c)))

bool select_prmt(struct ptx_insn *insn)
{
	insn->run = prmt_32;
	return insn->types[0] == PTX_B32;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_integer.c - integer arithmetic, shifts, bit fields, bytes; references bit by bit or in 128 bits.
 */
#include "conform.h"

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

#define U16(x) ((uint16_t)(x))
#define S16(x) ((int16_t)(x))
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))

static s128 clamp(s128 value, uint32_t bits)
{
	s128 high = ((s128)1 << (bits - 1)) - 1;

	return value > high ? high : value < -high - 1 ? -high - 1 : value;
}

static s128 magnitude(s128 value)
{
	return value < 0 ? -value : value;
}

/* Division by zero gives all ones, and the dividend as its remainder: what the hardware does. */
static s128 quotient(s128 a, s128 b)
{
	return b == 0 ? -1 : a / b;
}

static s128 remainder_of(s128 a, s128 b)
{
	return b == 0 ? a : a % b;
}

CONFORM_EXPECT(add, a + b)
CONFORM_EXPECT(sub, a - b)
CONFORM_EXPECT(mul_lo, a *b)
CONFORM_EXPECT(add_sat, clamp((s128)S32(a) + S32(b), 32))
CONFORM_EXPECT(sub_sat, clamp((s128)S32(a) - S32(b), 32))
CONFORM_EXPECT(add_16x2, U16(a + b) | (uint64_t)U16((a >> 16) + (b >> 16)) << 16)
CONFORM_EXPECT(hi_u16, a *b >> 16)
CONFORM_EXPECT(hi_s16, (s128)S16(a) * S16(b) >> 16)
CONFORM_EXPECT(hi_u32, a *b >> 32)
CONFORM_EXPECT(hi_s32, (s128)S32(a) * S32(b) >> 32)
CONFORM_EXPECT(hi_u64, (u128)a *b >> 64)
CONFORM_EXPECT(hi_s64, (s128)S64(a) * S64(b) >> 64)
CONFORM_EXPECT(wide_u16, a *b)
CONFORM_EXPECT(wide_s16, (s128)S16(a) * S16(b))
CONFORM_EXPECT(wide_u32, a *b)
CONFORM_EXPECT(wide_s32, (s128)S32(a) * S32(b))
CONFORM_EXPECT(mad_lo, a *b + c)
CONFORM_EXPECT(mad_hi_u32, (a * b >> 32) + c)
CONFORM_EXPECT(mad_hi_s64, ((s128)S64(a) * S64(b) >> 64) + S64(c))
CONFORM_EXPECT(mad_hi_sat, clamp(((s128)S32(a) * S32(b) >> 32) + S32(c), 32))
CONFORM_EXPECT(mad_wide, (s128)S32(a) * S32(b) + (s128)S32(c))
CONFORM_EXPECT(mul24_u, (a & 0xffffff) * (b & 0xffffff))
CONFORM_EXPECT(mul24_hi_u, (a & 0xffffff) * (b & 0xffffff) >> 16)
CONFORM_EXPECT(mad24_s, (int64_t)(S32(a << 8) >> 8) * (S32(b << 8) >> 8) + S32(c))
CONFORM_EXPECT(mad24_hi_sat, clamp(S32((int64_t)(S32(a << 8) >> 8) * (S32(b << 8) >> 8) >> 16) + (s128)S32(c), 32))
CONFORM_EXPECT(sad_u32, c + (a > b ? a - b : b - a))
CONFORM_EXPECT(sad_s16, c + magnitude((s128)S16(a) - S16(b)))
CONFORM_EXPECT(sad_s64, c + magnitude((s128)S64(a) - S64(b)))
CONFORM_EXPECT(div_u16, quotient(a, b))
CONFORM_EXPECT(div_s16, quotient(S16(a), S16(b)))
CONFORM_EXPECT(div_u32, quotient(a, b))
CONFORM_EXPECT(div_s32, quotient(S32(a), S32(b)))
CONFORM_EXPECT(div_u64, b == 0 ? UINT64_MAX : a / b)
CONFORM_EXPECT(div_s64, quotient(S64(a), S64(b)))
CONFORM_EXPECT(rem_u32, remainder_of(a, b))
CONFORM_EXPECT(rem_s32, remainder_of(S32(a), S32(b)))
CONFORM_EXPECT(rem_u64, b == 0 ? a : a % b)
CONFORM_EXPECT(rem_s64, remainder_of(S64(a), S64(b)))
CONFORM_EXPECT(abs_s16, magnitude(S16(a)))
CONFORM_EXPECT(abs_s64, magnitude(S64(a)))
CONFORM_EXPECT(neg, 0 - a)
CONFORM_EXPECT(min_s16, S16(a) < S16(b) ? a : b)
CONFORM_EXPECT(max_u32, a > b ? a : b)
CONFORM_EXPECT(min_s64, S64(a) < S64(b) ? a : b)
CONFORM_EXPECT(max_relu, S32(a) < 0 && S32(b) < 0 ? 0 : S32(a) > S32(b) ? a : b)
CONFORM_EXPECT(min_s16x2, (S16(a) < S16(b) ? U16(a) : U16(b)) |
				  (uint64_t)(S16(a >> 16) < S16(b >> 16) ? U16(a >> 16) : U16(b >> 16)) << 16)
/* Two words added or subtracted with a carry in between: as one. */
CONFORM_EXPECT(carry_64, (a | b << 32) + (b | c << 32))
CONFORM_EXPECT(borrow_64, (a | b << 32) - (b | c << 32))
CONFORM_EXPECT(carry_128, ((u128)a + b) >> 64)
/* (c, a) + a * b: the low half of the product, then the high one with the carry. */
CONFORM_EXPECT(madc_64, (a | c << 32) + a * b)

static uint64_t sum_of_products(uint64_t a, uint64_t b, uint64_t c, uint32_t a_bits, uint32_t n, uint32_t b_from,
				bool a_signed, bool b_signed)
{
	int64_t sum = S32(c);

	for (uint32_t i = 0; i < n; i++) {
		int64_t x = a >> (i * a_bits) & ((1 << a_bits) - 1), y = b >> ((b_from + i) * 8) & 255;

		if (a_signed && x >> (a_bits - 1))
			x -= 1 << a_bits;
		if (b_signed && y > 127)
			y -= 256;
		sum += x * y;
	}
	return (uint64_t)sum;
}

CONFORM_EXPECT(dp4a_uu, sum_of_products(a, b, c, 8, 4, 0, false, false))
CONFORM_EXPECT(dp4a_ss, sum_of_products(a, b, c, 8, 4, 0, true, true))
CONFORM_EXPECT(dp4a_us, sum_of_products(a, b, c, 8, 4, 0, false, true))
CONFORM_EXPECT(dp2a_lo, sum_of_products(a, b, c, 16, 2, 0, true, false))
CONFORM_EXPECT(dp2a_hi, sum_of_products(a, b, c, 16, 2, 2, false, true))

static uint64_t absolute_differences(uint64_t a, uint64_t b, uint64_t c)
{
	for (uint32_t i = 0; i < 32; i += 8)
		c += (uint64_t)magnitude((s128)(a >> i & 255) - (b >> i & 255));
	return c;
}

#define C_32(text, name)                              \
	{                                             \
		text, CONFORM_INT, 32, 32, name, NULL \
	}
#define C(text, in, out, name)                         \
	{                                              \
		text, CONFORM_INT, in, out, name, NULL \
	}

static void arithmetic_matches(void **state)
{
	static const struct conform_case list[] = {
		C("add.u16 %d, %a, %b;", 16, 16, add),
		C_32("add.s32 %d, %a, %b;", add),
		C("add.u64 %d, %a, %b;", 64, 64, add),
		C_32("add.sat.s32 %d, %a, %b;", add_sat),
		C_32("add.u16x2 %d, %a, %b;", add_16x2),
		C_32("sub.u32 %d, %a, %b;", sub),
		C("sub.s16 %d, %a, %b;", 16, 16, sub),
		C_32("sub.sat.s32 %d, %a, %b;", sub_sat),
		C("mul.lo.u16 %d, %a, %b;", 16, 16, mul_lo),
		C_32("mul.lo.s32 %d, %a, %b;", mul_lo),
		C("mul.lo.u64 %d, %a, %b;", 64, 64, mul_lo),
		C("mul.hi.u16 %d, %a, %b;", 16, 16, hi_u16),
		C("mul.hi.s16 %d, %a, %b;", 16, 16, hi_s16),
		C_32("mul.hi.u32 %d, %a, %b;", hi_u32),
		C_32("mul.hi.s32 %d, %a, %b;", hi_s32),
		C("mul.hi.u64 %d, %a, %b;", 64, 64, hi_u64),
		C("mul.hi.s64 %d, %a, %b;", 64, 64, hi_s64),
		C("mul.wide.u16 %d, %a, %b;", 16, 32, wide_u16),
		C("mul.wide.s16 %d, %a, %b;", 16, 32, wide_s16),
		C("mul.wide.u32 %d, %a, %b;", 32, 64, wide_u32),
		C("mul.wide.s32 %d, %a, %b;", 32, 64, wide_s32),
		C_32("mad.lo.u32 %d, %a, %b, %c;", mad_lo),
		C("mad.lo.s64 %d, %a, %b, %c;", 64, 64, mad_lo),
		C_32("mad.hi.u32 %d, %a, %b, %c;", mad_hi_u32),
		C("mad.hi.s64 %d, %a, %b, %c;", 64, 64, mad_hi_s64),
		C_32("mad.hi.sat.s32 %d, %a, %b, %c;", mad_hi_sat),
		C("cvt.s64.s32 %w, %c; mad.wide.s32 %d, %a, %b, %w;", 32, 64, mad_wide),
		C_32("mul24.lo.u32 %d, %a, %b;", mul24_u),
		C_32("mul24.hi.u32 %d, %a, %b;", mul24_hi_u),
		C_32("mad24.lo.s32 %d, %a, %b, %c;", mad24_s),
		C_32("mad24.hi.sat.s32 %d, %a, %b, %c;", mad24_hi_sat),
		C_32("sad.u32 %d, %a, %b, %c;", sad_u32),
		C("sad.s16 %d, %a, %b, %c;", 16, 16, sad_s16),
		C("sad.s64 %d, %a, %b, %c;", 64, 64, sad_s64),
		C("div.u16 %d, %a, %b;", 16, 16, div_u16),
		C("div.s16 %d, %a, %b;", 16, 16, div_s16),
		C_32("div.u32 %d, %a, %b;", div_u32),
		C_32("div.s32 %d, %a, %b;", div_s32),
		C("div.u64 %d, %a, %b;", 64, 64, div_u64),
		C("div.s64 %d, %a, %b;", 64, 64, div_s64),
		C_32("rem.u32 %d, %a, %b;", rem_u32),
		C_32("rem.s32 %d, %a, %b;", rem_s32),
		C("rem.u64 %d, %a, %b;", 64, 64, rem_u64),
		C("rem.s64 %d, %a, %b;", 64, 64, rem_s64),
		C("abs.s16 %d, %a;", 16, 16, abs_s16),
		C("abs.s64 %d, %a;", 64, 64, abs_s64),
		C_32("neg.s32 %d, %a;", neg),
		C("min.s16 %d, %a, %b;", 16, 16, min_s16),
		C_32("max.u32 %d, %a, %b;", max_u32),
		C("min.s64 %d, %a, %b;", 64, 64, min_s64),
		C_32("max.relu.s32 %d, %a, %b;", max_relu),
		C_32("min.s16x2 %d, %a, %b;", min_s16x2),
		C("add.cc.u32 %r1, %a, %b; addc.u32 %r2, %b, %c; mov.b64 %d, {%r1, %r2};", 32, 64, carry_64),
		C("sub.cc.u32 %r1, %a, %b; subc.u32 %r2, %b, %c; mov.b64 %d, {%r1, %r2};", 32, 64, borrow_64),
		C("add.cc.u64 %w, %a, %b; addc.u64 %d, 0, 0;", 64, 64, carry_128),
		C("mad.lo.cc.u32 %r1, %a, %b, %a; madc.hi.u32 %r2, %a, %b, %c; mov.b64 %d, {%r1, %r2};", 32, 64,
		  madc_64),
		C_32("dp4a.u32.u32 %d, %a, %b, %c;", dp4a_uu),
		C_32("dp4a.s32.s32 %d, %a, %b, %c;", dp4a_ss),
		C_32("dp4a.u32.s32 %d, %a, %b, %c;", dp4a_us),
		C_32("dp2a.lo.s32.u32 %d, %a, %b, %c;", dp2a_lo),
		C_32("dp2a.hi.u32.s32 %d, %a, %b, %c;", dp2a_hi),
		C_32("vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", absolute_differences),
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

/* --- bits, one at a time ---------------------------------------------------------------------- */

static uint32_t bit(uint64_t value, int64_t index)
{
	return index >= 0 && index < 64 ? value >> index & 1 : 0;
}

static uint64_t field(uint64_t a, uint32_t bits, uint32_t from, uint32_t length, bool is_signed)
{
	uint32_t last = from + length - 1 < bits - 1 ? from + length - 1 : bits - 1;
	uint64_t result = 0, sign = is_signed && length > 0 ? bit(a, last) : 0;

	for (uint32_t i = 0; i < bits; i++)
		result |= (i < length && from + i < bits ? bit(a, from + i) : sign) << i;
	return result;
}

static uint64_t inserted(uint64_t a, uint64_t b, uint32_t bits, uint32_t from, uint32_t length)
{
	for (uint32_t i = 0; i < length && from + i < bits; i++)
		b = (b & ~(1ULL << (from + i))) | (uint64_t)bit(a, i) << (from + i);
	return b;
}

static uint64_t logic(uint64_t a, uint64_t b, uint64_t c, uint32_t table)
{
	uint64_t result = 0;

	for (uint32_t i = 0; i < 32; i++)
		result |= (uint64_t)(table >> (bit(a, i) << 2 | bit(b, i) << 1 | bit(c, i)) & 1) << i;
	return result;
}

static uint64_t permuted(uint64_t a, uint64_t b, const uint8_t selectors[4])
{
	uint64_t both = a | b << 32, result = 0;

	for (uint32_t i = 0; i < 4; i++)
		result |= (both >> (8 * selectors[i]) & 255) << (8 * i);
	return result;
}

static uint64_t prmt(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t both = a | b << 32, result = 0;

	for (uint32_t i = 0; i < 4; i++) {
		uint64_t byte = both >> (c >> (4 * i) & 7) * 8 & 255;

		if (c >> (4 * i) & 8)
			byte = byte >> 7 ? 255 : 0;
		result |= byte << (8 * i);
	}
	return result;
}

/* The named modes, as the reference tables have them: byte numbers, lowest result byte first. */
static uint64_t f4e(uint64_t a, uint64_t b, uint64_t c)
{
	const uint8_t n = c & 3;

	return permuted(a, b, (uint8_t[4]){ n, n + 1, n + 2, n + 3 });
}

static uint64_t b4e(uint64_t a, uint64_t b, uint64_t c)
{
	const uint8_t n = c & 3;

	return permuted(a, b, (uint8_t[4]){ n, (n + 7) & 7, (n + 6) & 7, (n + 5) & 7 });
}

static uint64_t rc8(uint64_t a, uint64_t b, uint64_t c)
{
	const uint8_t n = c & 3;

	return permuted(a, b, (uint8_t[4]){ n, n, n, n });
}

static uint64_t ecl(uint64_t a, uint64_t b, uint64_t c)
{
	uint8_t s[4];

	for (uint8_t i = 0; i < 4; i++)
		s[i] = i > (c & 3) ? i : c & 3;
	return permuted(a, b, s);
}

static uint64_t ecr(uint64_t a, uint64_t b, uint64_t c)
{
	uint8_t s[4];

	for (uint8_t i = 0; i < 4; i++)
		s[i] = i < (c & 3) ? i : c & 3;
	return permuted(a, b, s);
}

static uint64_t rc16(uint64_t a, uint64_t b, uint64_t c)
{
	const uint8_t n = c & 1 ? 2 : 0;

	return permuted(a, b, (uint8_t[4]){ n, n + 1, n, n + 1 });
}

static uint64_t count_ones(uint64_t value)
{
	uint64_t n = 0;

	for (; value != 0; value &= value - 1)
		n++;
	return n;
}

static uint64_t leading_zeros(uint64_t value, uint32_t bits)
{
	uint32_t n = 0;

	while (n < bits && !bit(value, bits - 1 - n))
		n++;
	return n;
}

static uint64_t found(uint64_t a, uint32_t bits, bool is_signed, bool shift)
{
	uint32_t wanted = is_signed && bit(a, bits - 1) ? 0 : 1;

	for (int64_t i = bits - 1; i >= 0; i--)
		if (bit(a, i) == wanted)
			return shift ? (uint64_t)(bits - 1 - i) : (uint64_t)i;
	return UINT64_MAX;
}

static uint64_t reversed(uint64_t a, uint32_t bits)
{
	uint64_t result = 0;

	for (uint32_t i = 0; i < bits; i++)
		result |= (uint64_t)bit(a, i) << (bits - 1 - i);
	return result;
}

static uint64_t nth_set(uint64_t a, uint64_t base, int32_t n)
{
	int32_t step = n < 0 ? -1 : 1;
	int64_t left = n < 0 ? -(int64_t)n : n == 0 ? 1 : n;

	if (base > 31)
		return UINT64_MAX;
	if (n == 0)
		return bit(a, (int64_t)base) ? base : UINT64_MAX;
	for (int64_t i = (int64_t)base; i >= 0 && i < 32; i += step)
		if (bit(a, i) && --left == 0)
			return (uint64_t)i;
	return UINT64_MAX;
}

static uint64_t shifted(uint64_t a, uint64_t amount, uint32_t bits, int direction, bool is_signed)
{
	uint64_t result = 0;

	for (uint32_t i = 0; i < bits; i++) {
		s128 from = (s128)i + (direction < 0 ? (s128)amount : -(s128)amount);

		if (from >= 0 && from < bits)
			result |= (uint64_t)bit(a, (int64_t)from) << i;
		else if (from >= bits && is_signed)
			result |= (uint64_t)bit(a, bits - 1) << i;
	}
	return result;
}

static uint64_t funnel(uint64_t a, uint64_t b, uint32_t n, bool left)
{
	return left ? shifted(a | b << 32, n, 64, 1, false) >> 32 : shifted(a | b << 32, n, 64, -1, false);
}

CONFORM_EXPECT(and_64, a &b)
CONFORM_EXPECT(or_16, a | b)
CONFORM_EXPECT(not_32, ~a)
CONFORM_EXPECT(cnot_64, a == 0)
CONFORM_EXPECT(lop3_1b, logic(a, b, c, 0x1b))
CONFORM_EXPECT(lop3_e4, logic(a, b, c, 0xe4))
CONFORM_EXPECT(lop3_or, (logic(a, b, c, 0x80) & 0xffffffff) != 0 || (c & 1))
CONFORM_EXPECT(lop3_and, (logic(a, b, c, 0x96) & 0xffffffff) != 0 && !(c & 1))
CONFORM_EXPECT(shl_16, shifted(a, U32(b), 16, 1, false))
CONFORM_EXPECT(shl_32, shifted(a, b, 32, 1, false))
CONFORM_EXPECT(shl_64, shifted(a, U32(b), 64, 1, false))
CONFORM_EXPECT(shr_u32, shifted(a, b, 32, -1, false))
CONFORM_EXPECT(shr_s16, shifted(a, U32(b), 16, -1, true))
CONFORM_EXPECT(shr_s32, shifted(a, b, 32, -1, true))
CONFORM_EXPECT(shr_s64, shifted(a, U32(b), 64, -1, true))
CONFORM_EXPECT(shf_l_wrap, funnel(a, b, c & 31, true))
CONFORM_EXPECT(shf_l_clamp, funnel(a, b, c > 32 ? 32 : U32(c), true))
CONFORM_EXPECT(shf_r_wrap, funnel(a, b, c & 31, false))
CONFORM_EXPECT(shf_r_clamp, funnel(a, b, c > 32 ? 32 : U32(c), false))
CONFORM_EXPECT(popc, count_ones(a))
CONFORM_EXPECT(clz_32, leading_zeros(a, 32))
CONFORM_EXPECT(clz_64, leading_zeros(a, 64))
CONFORM_EXPECT(bfind_u32, found(a, 32, false, false))
CONFORM_EXPECT(bfind_s32, found(a, 32, true, false))
CONFORM_EXPECT(bfind_s64, found(a, 64, true, false))
CONFORM_EXPECT(bfind_shift, found(a, 64, false, true))
CONFORM_EXPECT(brev_32, reversed(a, 32))
CONFORM_EXPECT(brev_64, reversed(a, 64))
CONFORM_EXPECT(bfe_u32, field(a, 32, b & 255, c & 255, false))
CONFORM_EXPECT(bfe_s32, field(a, 32, b & 255, c & 255, true))
CONFORM_EXPECT(bfe_s64, field(a, 64, b & 255, c & 255, true))
CONFORM_EXPECT(bfi_32, inserted(a, b, 32, c & 255, b & 255))
CONFORM_EXPECT(bfi_64, inserted(a, b, 64, c & 255, b & 255))
CONFORM_EXPECT(bmsk_clamp, a > 31 ? 0 : inserted(UINT64_MAX, 0, 32, U32(a), b > 32 ? 32 : U32(b)))
CONFORM_EXPECT(bmsk_wrap, inserted(UINT64_MAX, 0, 32, a & 31, b & 31))
CONFORM_EXPECT(szext_s, b > 31 ? a : field(a, 32, 0, U32(b), true))
CONFORM_EXPECT(szext_u, field(a, 32, 0, b & 31, false))
CONFORM_EXPECT(fns, nth_set(a, b, S32(c)))
CONFORM_EXPECT(slct, S32(c) >= 0 ? a : b)
CONFORM_EXPECT(set_hs, a >= b ? 0xffffffff : 0)
CONFORM_EXPECT(setp_lt, S64(a) < S64(b))

static void bits_match(void **state)
{
	static const struct conform_case list[] = {
		C("and.b64 %d, %a, %b;", 64, 64, and_64),
		C("or.b16 %d, %a, %b;", 16, 16, or_16),
		C_32("not.b32 %d, %a;", not_32),
		C("cnot.b64 %d, %a;", 64, 64, cnot_64),
		C_32("lop3.b32 %d, %a, %b, %c, 0x1b;", lop3_1b),
		C_32("lop3.b32 %d, %a, %b, %c, 0xe4;", lop3_e4),
		C_32("lop3.or.b32 %d|%p, %a, %b, %c, 0x80, %q; selp.u32 %d, 1, 0, %p;", lop3_or),
		C_32("lop3.and.b32 %d|%p, %a, %b, %c, 0x96, !%q; selp.u32 %d, 1, 0, %p;", lop3_and),
		C("cvt.u32.u16 %r1, %b; shl.b16 %d, %a, %r1;", 16, 16, shl_16),
		C_32("shl.b32 %d, %a, %b;", shl_32),
		C("cvt.u32.u64 %r1, %b; shl.b64 %d, %a, %r1;", 64, 64, shl_64),
		C_32("shr.u32 %d, %a, %b;", shr_u32),
		C("cvt.u32.u16 %r1, %b; shr.s16 %d, %a, %r1;", 16, 16, shr_s16),
		C_32("shr.s32 %d, %a, %b;", shr_s32),
		C("cvt.u32.u64 %r1, %b; shr.s64 %d, %a, %r1;", 64, 64, shr_s64),
		C_32("shf.l.wrap.b32 %d, %a, %b, %c;", shf_l_wrap),
		C_32("shf.l.clamp.b32 %d, %a, %b, %c;", shf_l_clamp),
		C_32("shf.r.wrap.b32 %d, %a, %b, %c;", shf_r_wrap),
		C_32("shf.r.clamp.b32 %d, %a, %b, %c;", shf_r_clamp),
		C_32("popc.b32 %d, %a;", popc),
		C("popc.b64 %d, %a;", 64, 32, popc),
		C_32("clz.b32 %d, %a;", clz_32),
		C("clz.b64 %d, %a;", 64, 32, clz_64),
		C_32("bfind.u32 %d, %a;", bfind_u32),
		C_32("bfind.s32 %d, %a;", bfind_s32),
		C("bfind.s64 %d, %a;", 64, 32, bfind_s64),
		C("bfind.shiftamt.u64 %d, %a;", 64, 32, bfind_shift),
		C_32("brev.b32 %d, %a;", brev_32),
		C("brev.b64 %d, %a;", 64, 64, brev_64),
		C_32("bfe.u32 %d, %a, %b, %c;", bfe_u32),
		C_32("bfe.s32 %d, %a, %b, %c;", bfe_s32),
		C("cvt.u32.u64 %r1, %b; cvt.u32.u64 %r2, %c; bfe.s64 %d, %a, %r1, %r2;", 64, 64, bfe_s64),
		C_32("bfi.b32 %d, %a, %b, %c, %b;", bfi_32),
		C("cvt.u32.u64 %r1, %c; cvt.u32.u64 %r2, %b; bfi.b64 %d, %a, %b, %r1, %r2;", 64, 64, bfi_64),
		C_32("bmsk.clamp.b32 %d, %a, %b;", bmsk_clamp),
		C_32("bmsk.wrap.b32 %d, %a, %b;", bmsk_wrap),
		C_32("szext.clamp.s32 %d, %a, %b;", szext_s),
		C_32("szext.wrap.u32 %d, %a, %b;", szext_u),
		C_32("fns.b32 %d, %a, %b, %c;", fns),
		C_32("prmt.b32 %d, %a, %b, %c;", prmt),
		C_32("prmt.b32.f4e %d, %a, %b, %c;", f4e),
		C_32("prmt.b32.b4e %d, %a, %b, %c;", b4e),
		C_32("prmt.b32.rc8 %d, %a, %b, %c;", rc8),
		C_32("prmt.b32.ecl %d, %a, %b, %c;", ecl),
		C_32("prmt.b32.ecr %d, %a, %b, %c;", ecr),
		C_32("prmt.b32.rc16 %d, %a, %b, %c;", rc16),
		C_32("slct.b32.s32 %d, %a, %b, %c;", slct),
		C_32("set.hs.u32.u32 %d, %a, %b;", set_hs),
		C("setp.lt.s64 %p, %a, %b; selp.u32 %d, 1, 0, %p;", 64, 32, setp_lt),
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_matches),
		cmocka_unit_test(bits_match),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

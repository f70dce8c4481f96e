/* SPDX-License-Identifier: Apache-2.0
 *
 * test_float.c - f32, f64, f16 and bf16: arithmetic in every rounding mode, minimum and maximum, comparisons.
 */
#include "conform.h"
#include "exact.h"

#include <math.h>

static uint64_t finish(uint64_t code, const struct exact_format *format, bool flush)
{
	return flush ? exact_flush(code, format) : code;
}

static uint64_t saturate(uint64_t code, const struct exact_format *format)
{
	quad value = exact_value(code, format);

	if (!(value > 0))
		return 0;
	return value >= 1 ? exact_round(exact_of(1), format, EXACT_RN) : code;
}

/* Functions for one format, mode and flush: names are op_<suffix>. */
#define ARITHMETIC(suffix, format, mode, flush)                                                                     \
	static quad value_##suffix(uint64_t code)                                                                   \
	{                                                                                                           \
		return exact_value(finish(code, &(format), flush), &(format));                                      \
	}                                                                                                           \
	CONFORM_EXPECT(add_##suffix,                                                                                \
		       finish(exact_round(exact_add(value_##suffix(a), value_##suffix(b), mode), &(format), mode),  \
			      &(format), flush))                                                                    \
	CONFORM_EXPECT(sub_##suffix,                                                                                \
		       finish(exact_round(exact_add(value_##suffix(a), -value_##suffix(b), mode), &(format), mode), \
			      &(format), flush))                                                                    \
	CONFORM_EXPECT(mul_##suffix,                                                                                \
		       finish(exact_round(exact_mul(value_##suffix(a), value_##suffix(b)), &(format), mode),        \
			      &(format), flush))                                                                    \
	CONFORM_EXPECT(fma_##suffix,                                                                                \
		       finish(exact_round(exact_fma(value_##suffix(a), value_##suffix(b), value_##suffix(c), mode), \
					  &(format), mode),                                                         \
			      &(format), flush))

#define DIVISION(suffix, format, mode)                                                                              \
	CONFORM_EXPECT(div_##suffix, exact_round(exact_div(value_##suffix(a), value_##suffix(b)), &(format), mode)) \
	CONFORM_EXPECT(rcp_##suffix, exact_round(exact_div(1, value_##suffix(a)), &(format), mode))                 \
	CONFORM_EXPECT(sqrt_##suffix, exact_round(exact_sqrt(value_##suffix(a)), &(format), mode))

ARITHMETIC(f32_rn, exact_f32, EXACT_RN, false)
ARITHMETIC(f32_rz, exact_f32, EXACT_RZ, false)
ARITHMETIC(f32_rm, exact_f32, EXACT_RM, false)
ARITHMETIC(f32_rp, exact_f32, EXACT_RP, false)
ARITHMETIC(f32_ftz, exact_f32, EXACT_RN, true)
ARITHMETIC(f64_rn, exact_f64, EXACT_RN, false)
ARITHMETIC(f64_rz, exact_f64, EXACT_RZ, false)
ARITHMETIC(f64_rm, exact_f64, EXACT_RM, false)
ARITHMETIC(f64_rp, exact_f64, EXACT_RP, false)
ARITHMETIC(f16, exact_f16, EXACT_RN, false)
ARITHMETIC(f16_ftz, exact_f16, EXACT_RN, true)
ARITHMETIC(bf16, exact_bf16, EXACT_RN, false)
DIVISION(f32_rn, exact_f32, EXACT_RN)
DIVISION(f32_rz, exact_f32, EXACT_RZ)
DIVISION(f32_rm, exact_f32, EXACT_RM)
DIVISION(f32_rp, exact_f32, EXACT_RP)
DIVISION(f64_rn, exact_f64, EXACT_RN)
DIVISION(f64_rz, exact_f64, EXACT_RZ)
DIVISION(f64_rm, exact_f64, EXACT_RM)
DIVISION(f64_rp, exact_f64, EXACT_RP)

CONFORM_EXPECT(add_f32_sat, saturate(add_f32_rn(a, b, c), &exact_f32))
CONFORM_EXPECT(fma_f32_sat, saturate(fma_f32_rn(a, b, c), &exact_f32))
CONFORM_EXPECT(mul_f16_sat, saturate(mul_f16(a, b, c), &exact_f16))
CONFORM_EXPECT(fma_f16_sat, saturate(fma_f16(a, b, c), &exact_f16))
/* .relu: what is negative, -0 included, becomes 0. */
CONFORM_EXPECT(fma_f16_relu, fma_f16(a, b, c) >> 15 ? 0 : fma_f16(a, b, c))
CONFORM_EXPECT(fma_bf16_relu, fma_bf16(a, b, c) >> 15 ? 0 : fma_bf16(a, b, c))

static uint64_t both_halves(uint64_t (*each)(uint64_t, uint64_t, uint64_t), uint64_t a, uint64_t b, uint64_t c)
{
	return each(a & 0xffff, b & 0xffff, c & 0xffff) | each(a >> 16, b >> 16, c >> 16) << 16;
}

CONFORM_EXPECT(add_f16x2, both_halves(add_f16, a, b, c))
CONFORM_EXPECT(fma_f16x2, both_halves(fma_f16, a, b, c))
CONFORM_EXPECT(mul_bf16x2, both_halves(mul_bf16, a, b, c))
CONFORM_EXPECT(fma_bf16x2, both_halves(fma_bf16, a, b, c))

/* Narrow terms and factors of a sum in f32: the low half of a (and b) in f16, the upper half in bf16. */
#define F16_OF(x)              exact_value((x)&0xffff, &exact_f16)
#define BF16_OF(x)             exact_value((x) >> 16 & 0xffff, &exact_bf16)
#define MIXED(name, sum, mode) CONFORM_EXPECT(name, exact_round(sum, &exact_f32, mode))

MIXED(mixed_add_f16, exact_add(F16_OF(a), value_f32_rn(b), EXACT_RN), EXACT_RN)
MIXED(mixed_add_f16_rz, exact_add(F16_OF(a), value_f32_rn(b), EXACT_RZ), EXACT_RZ)
MIXED(mixed_sub_bf16_rm, exact_add(BF16_OF(a), -value_f32_rn(b), EXACT_RM), EXACT_RM)
MIXED(mixed_sub_bf16_rp, exact_add(BF16_OF(a), -value_f32_rn(b), EXACT_RP), EXACT_RP)
MIXED(mixed_fma_f16, exact_fma(F16_OF(a), F16_OF(b), value_f32_rn(c), EXACT_RN), EXACT_RN)
MIXED(mixed_fma_bf16_rp, exact_fma(BF16_OF(a), BF16_OF(b), value_f32_rn(c), EXACT_RP), EXACT_RP)
CONFORM_EXPECT(mixed_add_sat, saturate(mixed_add_f16(a, b, c), &exact_f32))

#define LOW_HALVES   "{ .reg .b16 %x, %y; mov.b32 {%x, _}, %a; mov.b32 {%y, _}, %b; "
#define UPPER_HALVES "{ .reg .b16 %x, %y; mov.b32 {_, %x}, %a; mov.b32 {_, %y}, %b; "

#define CASE_32(text, name)                           \
	{                                             \
		text, CONFORM_F32, 32, 32, name, NULL \
	}
#define CASE_64(text, name)                           \
	{                                             \
		text, CONFORM_F64, 64, 64, name, NULL \
	}
#define CASE_H(text, name)                            \
	{                                             \
		text, CONFORM_F16, 16, 16, name, NULL \
	}
#define CASE_B(text, name)                             \
	{                                              \
		text, CONFORM_BF16, 16, 16, name, NULL \
	}
#define CASE_H2(text, name)                             \
	{                                               \
		text, CONFORM_F16X2, 32, 32, name, NULL \
	}
#define CASE_B2(text, name)                              \
	{                                                \
		text, CONFORM_BF16X2, 32, 32, name, NULL \
	}

static const struct conform_case arithmetic[] = {
	CASE_32("add.f32 %d, %a, %b;", add_f32_rn),
	CASE_32("add.rz.f32 %d, %a, %b;", add_f32_rz),
	CASE_32("add.rm.f32 %d, %a, %b;", add_f32_rm),
	CASE_32("add.rp.f32 %d, %a, %b;", add_f32_rp),
	CASE_32("add.ftz.f32 %d, %a, %b;", add_f32_ftz),
	CASE_32("add.sat.f32 %d, %a, %b;", add_f32_sat),
	CASE_32("sub.rn.f32 %d, %a, %b;", sub_f32_rn),
	CASE_32("sub.rz.f32 %d, %a, %b;", sub_f32_rz),
	CASE_32("sub.rm.f32 %d, %a, %b;", sub_f32_rm),
	CASE_32("sub.rp.f32 %d, %a, %b;", sub_f32_rp),
	CASE_32("sub.ftz.f32 %d, %a, %b;", sub_f32_ftz),
	CASE_32(LOW_HALVES "add.f32.f16 %d, %x, %b; }", mixed_add_f16),
	CASE_32(LOW_HALVES "add.rz.f32.f16 %d, %x, %b; }", mixed_add_f16_rz),
	CASE_32(LOW_HALVES "add.rn.sat.f32.f16 %d, %x, %b; }", mixed_add_sat),
	CASE_32(UPPER_HALVES "sub.rm.f32.bf16 %d, %x, %b; }", mixed_sub_bf16_rm),
	CASE_32(UPPER_HALVES "sub.rp.f32.bf16 %d, %x, %b; }", mixed_sub_bf16_rp),
	CASE_32(LOW_HALVES "fma.rn.f32.f16 %d, %x, %y, %c; }", mixed_fma_f16),
	CASE_32(UPPER_HALVES "fma.rp.f32.bf16 %d, %x, %y, %c; }", mixed_fma_bf16_rp),
	CASE_32("mul.f32 %d, %a, %b;", mul_f32_rn),
	CASE_32("mul.rz.f32 %d, %a, %b;", mul_f32_rz),
	CASE_32("mul.rm.f32 %d, %a, %b;", mul_f32_rm),
	CASE_32("mul.rp.f32 %d, %a, %b;", mul_f32_rp),
	CASE_32("mul.ftz.f32 %d, %a, %b;", mul_f32_ftz),
	CASE_32("fma.rn.f32 %d, %a, %b, %c;", fma_f32_rn),
	CASE_32("fma.rz.f32 %d, %a, %b, %c;", fma_f32_rz),
	CASE_32("fma.rm.f32 %d, %a, %b, %c;", fma_f32_rm),
	CASE_32("fma.rp.f32 %d, %a, %b, %c;", fma_f32_rp),
	CASE_32("fma.rn.ftz.f32 %d, %a, %b, %c;", fma_f32_ftz),
	CASE_32("fma.rn.sat.f32 %d, %a, %b, %c;", fma_f32_sat),
	CASE_32("mad.rn.f32 %d, %a, %b, %c;", fma_f32_rn),
	CASE_32("div.rn.f32 %d, %a, %b;", div_f32_rn),
	CASE_32("div.rz.f32 %d, %a, %b;", div_f32_rz),
	CASE_32("div.rm.f32 %d, %a, %b;", div_f32_rm),
	CASE_32("div.rp.f32 %d, %a, %b;", div_f32_rp),
	CASE_32("rcp.rn.f32 %d, %a;", rcp_f32_rn),
	CASE_32("rcp.rz.f32 %d, %a;", rcp_f32_rz),
	CASE_32("rcp.rm.f32 %d, %a;", rcp_f32_rm),
	CASE_32("rcp.rp.f32 %d, %a;", rcp_f32_rp),
	CASE_32("sqrt.rn.f32 %d, %a;", sqrt_f32_rn),
	CASE_32("sqrt.rz.f32 %d, %a;", sqrt_f32_rz),
	CASE_32("sqrt.rm.f32 %d, %a;", sqrt_f32_rm),
	CASE_32("sqrt.rp.f32 %d, %a;", sqrt_f32_rp),
	CASE_32("{ .reg .b64 %x, %y; mov.b64 %x, {%a, %b}; mov.b64 %y, {%b, %c}; add.rn.f32x2 %x, %x, %y;"
		" mov.b64 {%d, _}, %x; }",
		add_f32_rn),
	CASE_64("add.f64 %d, %a, %b;", add_f64_rn),
	CASE_64("add.rz.f64 %d, %a, %b;", add_f64_rz),
	CASE_64("add.rm.f64 %d, %a, %b;", add_f64_rm),
	CASE_64("add.rp.f64 %d, %a, %b;", add_f64_rp),
	CASE_64("sub.f64 %d, %a, %b;", sub_f64_rn),
	CASE_64("sub.rz.f64 %d, %a, %b;", sub_f64_rz),
	CASE_64("sub.rm.f64 %d, %a, %b;", sub_f64_rm),
	CASE_64("sub.rp.f64 %d, %a, %b;", sub_f64_rp),
	CASE_64("mul.f64 %d, %a, %b;", mul_f64_rn),
	CASE_64("mul.rz.f64 %d, %a, %b;", mul_f64_rz),
	CASE_64("mul.rm.f64 %d, %a, %b;", mul_f64_rm),
	CASE_64("mul.rp.f64 %d, %a, %b;", mul_f64_rp),
	CASE_64("fma.rn.f64 %d, %a, %b, %c;", fma_f64_rn),
	CASE_64("fma.rz.f64 %d, %a, %b, %c;", fma_f64_rz),
	CASE_64("fma.rm.f64 %d, %a, %b, %c;", fma_f64_rm),
	CASE_64("fma.rp.f64 %d, %a, %b, %c;", fma_f64_rp),
	CASE_64("div.rn.f64 %d, %a, %b;", div_f64_rn),
	CASE_64("div.rz.f64 %d, %a, %b;", div_f64_rz),
	CASE_64("div.rm.f64 %d, %a, %b;", div_f64_rm),
	CASE_64("div.rp.f64 %d, %a, %b;", div_f64_rp),
	CASE_64("rcp.rn.f64 %d, %a;", rcp_f64_rn),
	CASE_64("rcp.rz.f64 %d, %a;", rcp_f64_rz),
	CASE_64("rcp.rm.f64 %d, %a;", rcp_f64_rm),
	CASE_64("rcp.rp.f64 %d, %a;", rcp_f64_rp),
	CASE_64("sqrt.rn.f64 %d, %a;", sqrt_f64_rn),
	CASE_64("sqrt.rz.f64 %d, %a;", sqrt_f64_rz),
	CASE_64("sqrt.rm.f64 %d, %a;", sqrt_f64_rm),
	CASE_64("sqrt.rp.f64 %d, %a;", sqrt_f64_rp),
	CASE_H("add.f16 %d, %a, %b;", add_f16),
	CASE_H("add.ftz.f16 %d, %a, %b;", add_f16_ftz),
	CASE_H("sub.ftz.f16 %d, %a, %b;", sub_f16_ftz),
	CASE_H("sub.rn.f16 %d, %a, %b;", sub_f16),
	CASE_H("mul.f16 %d, %a, %b;", mul_f16),
	CASE_H("mul.ftz.f16 %d, %a, %b;", mul_f16_ftz),
	CASE_H("mul.sat.f16 %d, %a, %b;", mul_f16_sat),
	CASE_H("fma.rn.f16 %d, %a, %b, %c;", fma_f16),
	CASE_H("fma.rn.ftz.f16 %d, %a, %b, %c;", fma_f16_ftz),
	CASE_H("fma.rn.sat.f16 %d, %a, %b, %c;", fma_f16_sat),
	CASE_H("fma.rn.relu.f16 %d, %a, %b, %c;", fma_f16_relu),
	CASE_B("add.rn.bf16 %d, %a, %b;", add_bf16),
	CASE_B("sub.bf16 %d, %a, %b;", sub_bf16),
	CASE_B("mul.bf16 %d, %a, %b;", mul_bf16),
	CASE_B("fma.rn.bf16 %d, %a, %b, %c;", fma_bf16),
	CASE_B("fma.rn.relu.bf16 %d, %a, %b, %c;", fma_bf16_relu),
	CASE_H2("add.f16x2 %d, %a, %b;", add_f16x2),
	CASE_H2("fma.rn.f16x2 %d, %a, %b, %c;", fma_f16x2),
	CASE_B2("mul.bf16x2 %d, %a, %b;", mul_bf16x2),
	CASE_B2("fma.rn.bf16x2 %d, %a, %b, %c;", fma_bf16x2),
};

static void arithmetic_is_rounded_once(void **state)
{
	(void)state;
	conform_run(arithmetic, sizeof(arithmetic) / sizeof(arithmetic[0]));
}

/* --- minimum, maximum ------------------------------------------------------------------------- */

static bool is_less(uint64_t a, uint64_t b, const struct exact_format *format)
{
	quad x = exact_value(a, format), y = exact_value(b, format);
	uint32_t sign = format->exponent_bits + format->mantissa_bits;

	return x < y || (x == y && a >> sign > b >> sign);
}

static uint64_t extreme(uint64_t a, uint64_t b, const struct exact_format *format, bool least, bool nan_wins)
{
	bool a_nan = exact_is_nan(a, format), b_nan = exact_is_nan(b, format);

	if (a_nan || b_nan)
		return nan_wins || (a_nan && b_nan) ? format->nan : a_nan ? b : a;
	return is_less(a, b, format) == least ? a : b;
}

static uint64_t magnitude(uint64_t code)
{
	return code & 0x7fffffff;
}

/* The lesser magnitude, with the sign of the product. */
static uint64_t xorsign(uint64_t a, uint64_t b)
{
	uint64_t result = extreme(magnitude(a), magnitude(b), &exact_f32, true, false);

	return exact_is_nan(result, &exact_f32) ? result : result | ((a ^ b) & 0x80000000);
}

CONFORM_EXPECT(min_f32, extreme(a, b, &exact_f32, true, false))
CONFORM_EXPECT(max_f32, extreme(a, b, &exact_f32, false, false))
CONFORM_EXPECT(min_f32_nan, extreme(a, b, &exact_f32, true, true))
CONFORM_EXPECT(max_f32_ftz, extreme(exact_flush(a, &exact_f32), exact_flush(b, &exact_f32), &exact_f32, false, false))
CONFORM_EXPECT(min_f32_abs, xorsign(a, b))
CONFORM_EXPECT(max_f32_3, extreme(extreme(a, b, &exact_f32, false, false), c, &exact_f32, false, false))
CONFORM_EXPECT(min_f64, extreme(a, b, &exact_f64, true, false))
CONFORM_EXPECT(max_f64, extreme(a, b, &exact_f64, false, false))
CONFORM_EXPECT(min_f16, extreme(a, b, &exact_f16, true, false))
CONFORM_EXPECT(max_f16_nan, extreme(a, b, &exact_f16, false, true))
CONFORM_EXPECT(max_bf16, extreme(a, b, &exact_bf16, false, false))
CONFORM_EXPECT(min_bf16x2, both_halves(max_bf16, a, b, c))
CONFORM_EXPECT(abs_f16, a & 0x7fff)
CONFORM_EXPECT(neg_f16x2, a ^ 0x80008000)
CONFORM_EXPECT(abs_f32, a & 0x7fffffff)
CONFORM_EXPECT(neg_f64, a ^ 1ULL << 63)
CONFORM_EXPECT(copysign_f32, (a & 0x80000000) | (b & 0x7fffffff))

static void extremes_order_zeros_and_nans(void **state)
{
	static const struct conform_case list[] = {
		CASE_32("min.f32 %d, %a, %b;", min_f32),
		CASE_32("max.f32 %d, %a, %b;", max_f32),
		CASE_32("min.NaN.f32 %d, %a, %b;", min_f32_nan),
		CASE_32("max.ftz.f32 %d, %a, %b;", max_f32_ftz),
		CASE_32("min.xorsign.abs.f32 %d, %a, %b;", min_f32_abs),
		CASE_32("max.f32 %d, %a, %b, %c;", max_f32_3),
		CASE_64("min.f64 %d, %a, %b;", min_f64),
		CASE_64("max.f64 %d, %a, %b;", max_f64),
		CASE_H("min.f16 %d, %a, %b;", min_f16),
		CASE_H("max.NaN.f16 %d, %a, %b;", max_f16_nan),
		CASE_B("max.bf16 %d, %a, %b;", max_bf16),
		CASE_B2("max.bf16x2 %d, %a, %b;", min_bf16x2),
		CASE_H("abs.f16 %d, %a;", abs_f16),
		CASE_H2("neg.f16x2 %d, %a;", neg_f16x2),
		CASE_32("abs.f32 %d, %a;", abs_f32),
		CASE_64("neg.f64 %d, %a;", neg_f64),
		CASE_32("copysign.f32 %d, %a, %b;", copysign_f32),
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

/* --- comparisons ------------------------------------------------------------------------------ */

#define ORDERED(format)     (!exact_is_nan(a, &(format)) && !exact_is_nan(b, &(format)))
#define COMPARE(format, op) (exact_value(a, &(format)) op exact_value(b, &(format)))
#define COMPARISONS(suffix, format)                                           \
	CONFORM_EXPECT(eq_##suffix, ORDERED(format) && COMPARE(format, ==))   \
	CONFORM_EXPECT(ne_##suffix, ORDERED(format) && COMPARE(format, !=))   \
	CONFORM_EXPECT(lt_##suffix, ORDERED(format) && COMPARE(format, <))    \
	CONFORM_EXPECT(ge_##suffix, ORDERED(format) && COMPARE(format, >=))   \
	CONFORM_EXPECT(leu_##suffix, !ORDERED(format) || COMPARE(format, <=)) \
	CONFORM_EXPECT(gtu_##suffix, !ORDERED(format) || COMPARE(format, >))  \
	CONFORM_EXPECT(neu_##suffix, !ORDERED(format) || COMPARE(format, !=)) \
	CONFORM_EXPECT(num_##suffix, ORDERED(format))                         \
	CONFORM_EXPECT(nan_##suffix, !ORDERED(format))

COMPARISONS(f32, exact_f32)
COMPARISONS(f64, exact_f64)
COMPARISONS(f16, exact_f16)
COMPARISONS(bf16, exact_bf16)
CONFORM_EXPECT(set_f32, lt_f32(a, b, c) ? 0x3f800000 : 0)
CONFORM_EXPECT(set_u32_f64, ge_f64(a, b, c) ? 0xffffffff : 0)
CONFORM_EXPECT(set_f16x2, both_halves(lt_f16, a, b, c) * 0x3c00)
CONFORM_EXPECT(set_mask, both_halves(eq_bf16, a, b, c) * 0xffff)
CONFORM_EXPECT(setp_and, lt_f32(a, b, c) && (c & 1))
CONFORM_EXPECT(setp_other, !lt_f32(a, b, c) ^ (c & 1))
CONFORM_EXPECT(setp_pair, both_halves(lt_f16, a, b, c) >> 16)
CONFORM_EXPECT(testp_normal, exact_flush(a, &exact_f32) == a && (a & 0x7fffffff) != 0 && (a & 0x7f800000) != 0x7f800000)
CONFORM_EXPECT(testp_subnormal, exact_flush(a, &exact_f32) != a)

#define PREDICATE "selp.b32 %d, 1, 0, %p;"
#define COMPARE_CASES(type, kind, bits)                                                            \
	{ "setp.eq." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, eq_##type, NULL },           \
		{ "setp.ne." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, ne_##type, NULL },   \
		{ "setp.lt." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, lt_##type, NULL },   \
		{ "setp.ge." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, ge_##type, NULL },   \
		{ "setp.leu." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, leu_##type, NULL }, \
		{ "setp.gtu." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, gtu_##type, NULL }, \
		{ "setp.neu." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, neu_##type, NULL }, \
		{ "setp.num." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, num_##type, NULL }, \
	{                                                                                          \
		"setp.nan." #type " %p, %a, %b; " PREDICATE, kind, bits, 32, nan_##type, NULL      \
	}

static void comparisons_know_nans(void **state)
{
	static const struct conform_case list[] = {
		COMPARE_CASES(f32, CONFORM_F32, 32),
		COMPARE_CASES(f64, CONFORM_F64, 64),
		COMPARE_CASES(f16, CONFORM_F16, 16),
		COMPARE_CASES(bf16, CONFORM_BF16, 16),
		CASE_32("set.lt.f32.f32 %d, %a, %b;", set_f32),
		{ "set.ge.u32.f64 %d, %a, %b;", CONFORM_F64, 64, 32, set_u32_f64, NULL },
		CASE_H2("set.lt.f16x2.f16x2 %d, %a, %b;", set_f16x2),
		CASE_B2("set.eq.u32.bf16x2 %d, %a, %b;", set_mask),
		CASE_32("setp.lt.and.f32 %p, %a, %b, %q; " PREDICATE, setp_and),
		CASE_32("setp.lt.xor.f32 %q|%p, %a, %b, %q; " PREDICATE, setp_other),
		CASE_H2("setp.lt.f16x2 %q|%p, %a, %b; " PREDICATE, setp_pair),
		CASE_32("testp.normal.f32 %p, %a; " PREDICATE, testp_normal),
		CASE_32("testp.subnormal.f32 %p, %a; " PREDICATE, testp_subnormal),
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arithmetic_is_rounded_once),
		cmocka_unit_test(extremes_order_zeros_and_nans),
		cmocka_unit_test(comparisons_know_nans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

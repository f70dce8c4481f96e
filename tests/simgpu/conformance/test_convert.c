/* SPDX-License-Identifier: Apache-2.0
 *
 * test_convert.c - cvt between every pair of types, in every rounding; packed forms; approximations.
 *
 * The pairs are made from tables: for each source and target type, each rounding that PTX allows there.
 */
#include "conform.h"
#include "exact.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

struct type {
	const char *name;
	uint32_t bits;
	bool is_signed;
	const struct exact_format *format; /* NULL: an integer */
	enum conform_kind kind;
};

static const struct type types[] = {
	{ "u8", 8, false, NULL, CONFORM_INT },        { "s8", 8, true, NULL, CONFORM_INT },
	{ "u16", 16, false, NULL, CONFORM_INT },      { "s16", 16, true, NULL, CONFORM_INT },
	{ "u32", 32, false, NULL, CONFORM_INT },      { "s32", 32, true, NULL, CONFORM_INT },
	{ "u64", 64, false, NULL, CONFORM_INT },      { "s64", 64, true, NULL, CONFORM_INT },
	{ "f16", 16, true, &exact_f16, CONFORM_F16 }, { "bf16", 16, true, &exact_bf16, CONFORM_BF16 },
	{ "f32", 32, true, &exact_f32, CONFORM_F32 }, { "f64", 64, true, &exact_f64, CONFORM_F64 },
};

#define N_TYPES (sizeof(types) / sizeof(types[0]))

static const char *const roundings[] = { "rn", "rz", "rm", "rp" };

/* What is being converted: a case's function has no other way to know. */
static struct {
	const struct type *to, *from;
	enum exact_mode mode;
	bool sat;
} current;

static uint64_t cut(uint64_t value, uint32_t bits)
{
	return bits == 64 ? value : value & ((1ULL << bits) - 1);
}

static quad source_value(uint64_t a)
{
	const struct type *from = current.from;

	a = cut(a, from->bits);
	if (from->format != NULL)
		return exact_value(a, from->format);
	if (from->is_signed && a >> (from->bits - 1))
		return (quad)a - (from->bits == 64 ? (quad)0x1p64 : (quad)(1ULL << from->bits));
	return a;
}

/* The integer next to a value, as a value. */
static quad to_integer(quad x, enum exact_mode mode)
{
	quad magnitude = x < 0 ? -x : x, below;
	bool odd;

	if (!(magnitude < (quad)0x1p70))
		return x;
	below = (quad)(u128)magnitude;
	odd = (u128)below & 1;
	if (mode == EXACT_RN)
		below += magnitude - below > (quad)0.5 || (magnitude - below == (quad)0.5 && odd);
	else if (mode == EXACT_RM)
		below += x < 0 && magnitude != below;
	else if (mode == EXACT_RP)
		below += x > 0 && magnitude != below;
	return x < 0 ? -below : below;
}

static quad power(uint32_t n)
{
	quad result = 1;

	while (n-- > 0)
		result *= 2;
	return result;
}

static uint64_t clamp_to(quad x, const struct type *to)
{
	quad high = to->is_signed ? power(to->bits - 1) - 1 : power(to->bits) - 1;
	quad low = to->is_signed ? -power(to->bits - 1) : 0;

	x = x > high ? high : x < low ? low : x;
	return x < 0 ? 0 - (uint64_t)-x : (uint64_t)x;
}

static uint64_t converted(uint64_t a, uint64_t b, uint64_t c)
{
	const struct type *to = current.to, *from = current.from;
	quad x = source_value(a);

	if (to->format != NULL) {
		uint64_t code = exact_round(exact_of(x), to->format, current.mode);

		if (!current.sat)
			return code;
		x = exact_value(code, to->format);
		return !(x > 0) ? 0 : x >= 1 ? exact_round(exact_of(1), to->format, EXACT_RN) : code;
	}
	if (from->format == NULL)
		return current.sat ? clamp_to(x, to) : cut(a, from->bits) | (x < 0 ? ~cut(~0ULL, from->bits) : 0);
	if (x != x)
		return from->bits == 64 || to->bits == 64 ? 1ULL << (to->bits - 1) : 0;
	return clamp_to(to_integer(x, current.mode), to);
}

/* A register is at least 16 bits wide; what is above the type in it is the type's sign, or zero. */
static uint64_t converted_register(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t value = converted(a, b, c);

	if (current.to->bits > 8)
		return value;
	value &= 0xff;
	return current.to->is_signed && value & 0x80 ? value | 0xff00 : value;
}

static void convert(const struct type *to, const struct type *from, const char *rounding, enum exact_mode mode,
		    bool sat)
{
	char body[128];
	struct conform_case one = {
		body, from->kind, from->bits < 16 ? 16 : from->bits, to->bits < 16 ? 16 : to->bits, converted_register,
		NULL
	};

	current.to = to;
	current.from = from;
	current.mode = mode;
	current.sat = sat;
	snprintf(body, sizeof(body), "cvt%s%s.%s.%s %%d, %%a;", rounding, sat ? ".sat" : "", to->name, from->name);
	conform_run(&one, 1);
}

/* Does every value of `from` exist in `to`? */
static bool is_wider(const struct type *to, const struct type *from)
{
	return to->format->mantissa_bits >= from->format->mantissa_bits &&
	       to->format->exponent_bits >= from->format->exponent_bits;
}

static void convert_pair(const struct type *to, const struct type *from)
{
	bool to_float = to->format != NULL, from_float = from->format != NULL;
	bool exact = to_float == from_float && (!to_float || is_wider(to, from));

	if (to == from && !to_float)
		return;
	if (exact) {
		convert(to, from, "", EXACT_RN, false);
		if (!to_float)
			convert(to, from, "", EXACT_RN, true);
		return;
	}
	for (uint32_t i = 0; i < 4; i++) {
		char rounding[8];

		snprintf(rounding, sizeof(rounding), ".%s%s", roundings[i], to_float ? "" : "i");
		convert(to, from, rounding, (enum exact_mode)i, false);
	}
	if (to_float)
		convert(to, from, ".rn", EXACT_RN, true);
}

static void every_pair_converts(void **state)
{
	(void)state;
	for (uint32_t to = 0; to < N_TYPES; to++)
		for (uint32_t from = 0; from < N_TYPES; from++)
			convert_pair(&types[to], &types[from]);
}

/* --- forms of their own ----------------------------------------------------------------------- */

static uint64_t integral(uint64_t a, const struct exact_format *format, enum exact_mode mode)
{
	quad x = exact_value(a, format);
	struct exact rounded = exact_of(to_integer(x, mode));

	/* What a negative number rounds to is -0 at least. */
	rounded.negative_zero = a >> (format->exponent_bits + format->mantissa_bits);
	return exact_round(rounded, format, EXACT_RN);
}

static uint64_t narrowed(uint64_t a, const struct exact_format *format)
{
	return exact_round(exact_of(exact_value(a, &exact_f32)), format, EXACT_RN);
}

static uint64_t relu(uint64_t code)
{
	return code >> 15 ? 0 : code;
}

/* 8-bit floats saturate; e4m3 spends its highest code alone on NaN. */
static const struct exact_format e5m2 = { 5, 2, 0x7f };

static uint64_t to_e5m2(uint64_t a)
{
	uint64_t code = exact_round(exact_of(exact_value(a, &exact_f32)), &e5m2, EXACT_RN);

	return code == 0x7f || (code & 0x7f) < 0x7c ? code : (code & 0x80) | 0x7b;
}

static uint64_t to_e4m3(uint64_t a)
{
	quad x = exact_value(a, &exact_f32), magnitude = x < 0 ? -x : x, best = 0;
	uint64_t code = 0;

	if (x != x)
		return 0x7f;
	/* The nearest of all codes, the even one of two. */
	for (uint32_t i = 0; i <= 0x7e; i++) {
		quad value = i < 8 ? (quad)i / 512 : (quad)(8 + i % 8) * power(i / 8) / 1024;
		quad distance = value > magnitude ? value - magnitude : magnitude - value;

		if (i == 0 || distance < best || (distance == best && i % 2 == 0)) {
			best = distance;
			code = i;
		}
		if (i == 0x7e && magnitude > value)
			code = 0x7e;
	}
	return code | (a >> 31 << 7);
}

CONFORM_EXPECT(rni_f32, integral(a, &exact_f32, EXACT_RN))
CONFORM_EXPECT(rzi_f32, integral(a, &exact_f32, EXACT_RZ))
CONFORM_EXPECT(rmi_f64, integral(a, &exact_f64, EXACT_RM))
CONFORM_EXPECT(rpi_f16, integral(a, &exact_f16, EXACT_RP))
CONFORM_EXPECT(pack_f16x2, narrowed(a, &exact_f16) << 16 | narrowed(b, &exact_f16))
CONFORM_EXPECT(pack_bf16x2, narrowed(a, &exact_bf16) << 16 | narrowed(b, &exact_bf16))
CONFORM_EXPECT(pack_relu, relu(narrowed(a, &exact_f16)) << 16 | relu(narrowed(b, &exact_f16)))
CONFORM_EXPECT(pack_e5m2, to_e5m2(a) << 8 | to_e5m2(b))
CONFORM_EXPECT(pack_e4m3, to_e4m3(a) << 8 | to_e4m3(b))
CONFORM_EXPECT(ftz_f32_f64,
	       exact_flush(exact_round(exact_of(exact_value(a, &exact_f64)), &exact_f32, EXACT_RN), &exact_f32))

/* cvt.pack: `bits` of each, saturated, below what is left of c. */
static uint64_t packed(uint64_t a, uint64_t b, uint64_t c, uint32_t bits, bool is_signed)
{
	int64_t high = (1LL << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
	int64_t values[2] = { (int32_t)a, (int32_t)b };

	for (uint32_t i = 0; i < 2; i++) {
		values[i] = values[i] > high ? high : values[i] < low ? low : values[i];
		values[i] &= (1LL << bits) - 1;
	}
	return c << 2 * bits | (uint64_t)values[0] << bits | (uint64_t)values[1];
}

CONFORM_EXPECT(pack_u16, packed(a, b, 0, 16, false))
CONFORM_EXPECT(pack_s16, packed(a, b, 0, 16, true))
CONFORM_EXPECT(pack_u8, packed(a, b, c, 8, false))
CONFORM_EXPECT(pack_s8, packed(a, b, c, 8, true))
CONFORM_EXPECT(pack_u4, packed(a, b, c, 4, false))
CONFORM_EXPECT(pack_s4, packed(a, b, c, 4, true))
CONFORM_EXPECT(pack_u2, packed(a, b, c, 2, false))
CONFORM_EXPECT(pack_s2, packed(a, b, c, 2, true))

static uint64_t tf32(uint64_t a, uint64_t b, uint64_t c)
{
	if (exact_is_nan(a, &exact_f32))
		return 0x7fffffff;
	if ((a & 0x7fffffff) == 0x7f800000)
		return a;
	return (a + 0x1000) & 0xffffe000;
}

static void special_forms_convert(void **state)
{
	static const struct conform_case list[] = {
		{ "cvt.rni.f32.f32 %d, %a;", CONFORM_F32, 32, 32, rni_f32, NULL },
		{ "cvt.rzi.f32.f32 %d, %a;", CONFORM_F32, 32, 32, rzi_f32, NULL },
		{ "cvt.rmi.f64.f64 %d, %a;", CONFORM_F64, 64, 64, rmi_f64, NULL },
		{ "cvt.rpi.f16.f16 %d, %a;", CONFORM_F16, 16, 16, rpi_f16, NULL },
		{ "cvt.rn.f16x2.f32 %d, %a, %b;", CONFORM_F32, 32, 32, pack_f16x2, NULL },
		{ "cvt.rn.bf16x2.f32 %d, %a, %b;", CONFORM_F32, 32, 32, pack_bf16x2, NULL },
		{ "cvt.rn.relu.f16x2.f32 %d, %a, %b;", CONFORM_F32, 32, 32, pack_relu, NULL },
		{ "cvt.rn.satfinite.e5m2x2.f32 %d, %a, %b;", CONFORM_F32, 32, 16, pack_e5m2, NULL },
		{ "cvt.rn.satfinite.e4m3x2.f32 %d, %a, %b;", CONFORM_F32, 32, 16, pack_e4m3, NULL },
		{ "cvt.pack.sat.u16.s32 %d, %a, %b;", CONFORM_INT, 32, 32, pack_u16, NULL },
		{ "cvt.pack.sat.s16.s32 %d, %a, %b;", CONFORM_INT, 32, 32, pack_s16, NULL },
		{ "cvt.pack.sat.u8.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_u8, NULL },
		{ "cvt.pack.sat.s8.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_s8, NULL },
		{ "cvt.pack.sat.u4.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_u4, NULL },
		{ "cvt.pack.sat.s4.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_s4, NULL },
		{ "cvt.pack.sat.u2.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_u2, NULL },
		{ "cvt.pack.sat.s2.s32.b32 %d, %a, %b, %c;", CONFORM_INT, 32, 32, pack_s2, NULL },
		{ "cvt.rna.tf32.f32 %d, %a;", CONFORM_F32, 32, 32, tf32, NULL },
		{ "cvt.rn.ftz.f32.f64 %d, %a;", CONFORM_F64, 64, 32, ftz_f32_f64, NULL },
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

/* --- approximations: the bounds are those of the PTX reference -------------------------------- */

static double f32_of(uint64_t code)
{
	uint32_t bits = (uint32_t)code;
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* |got - wanted| <= relative * |wanted| + absolute; not-a-number and infinite exactly when wanted. */
static bool is_near(uint64_t got, long double wanted, long double relative, long double absolute)
{
	double is = f32_of(got);

	if (isnan(wanted))
		return isnan(is);
	if (isinf(wanted) || fabsl(wanted) > 3.4028235e38L)
		return isinf(is) ? (is > 0) == (wanted > 0) : fabs(is) > 3.4e38;
	return fabsl(is - wanted) <= relative * fabsl(wanted) + absolute;
}

#define ACCEPT(name, expression)                                           \
	static bool name(uint64_t a, uint64_t b, uint64_t c, uint64_t got) \
	{                                                                  \
		long double x = f32_of(a), y = f32_of(b);                  \
                                                                           \
		(void)y;                                                   \
		return expression;                                         \
	}

#define TINY 0x1p-149L
ACCEPT(near_rcp, is_near(got, 1 / x, 0x1p-23L, TINY))
ACCEPT(near_rsqrt, is_near(got, 1 / sqrtl(x), 0x1p-22L, TINY))
ACCEPT(near_sqrt, is_near(got, sqrtl(x), 0x1p-22L, TINY))
ACCEPT(near_ex2, is_near(got, exp2l(x), 0x1p-22L, TINY))
ACCEPT(near_lg2, is_near(got, log2l(x), 0x1p-22L, 0x1p-22L))
/* sin and cos: in -pi..pi */
ACCEPT(near_sin, fabsl(x) > 3.1415L || is_near(got, sinl(x), 0, 0x1p-20L))
ACCEPT(near_cos, fabsl(x) > 3.1415L || is_near(got, cosl(x), 0, 0x1p-20L))
ACCEPT(near_tanh, is_near(got, tanhl(x), 0x1p-11L, 0))
/* div: 2 ulp while the divisor is in 2^-126..2^126 */
ACCEPT(near_div, fabsl(y) < 0x1p-126L || fabsl(y) > 0x1p126L || is_near(got, x / y, 0x1p-22L, TINY * 2))

static void approximations_are_near(void **state)
{
	static const struct conform_case list[] = {
		{ "rcp.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_rcp },
		{ "rsqrt.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_rsqrt },
		{ "sqrt.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_sqrt },
		{ "ex2.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_ex2 },
		{ "lg2.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_lg2 },
		{ "sin.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_sin },
		{ "cos.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_cos },
		{ "tanh.approx.f32 %d, %a;", CONFORM_F32, 32, 32, NULL, near_tanh },
		{ "div.approx.f32 %d, %a, %b;", CONFORM_F32, 32, 32, NULL, near_div },
		{ "div.full.f32 %d, %a, %b;", CONFORM_F32, 32, 32, NULL, near_div },
	};

	(void)state;
	conform_run(list, sizeof(list) / sizeof(list[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_converts),
		cmocka_unit_test(special_forms_convert),
		cmocka_unit_test(approximations_are_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

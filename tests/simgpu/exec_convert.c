/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_convert.c - cvt.
 *
 * One general conversion through int64, uint64 or f64, which hold every source value exactly, and plain loops for the
 * conversions that kernels are full of. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"
#include "half.h"

#include <fenv.h>
#include <math.h>

#define F(id) PTX_FLAG(id)

struct number {
	enum { NUMBER_SIGNED, NUMBER_UNSIGNED, NUMBER_FLOAT } kind;
	int64_t s;
	uint64_t u;
	double f;
};

static struct number read_number(uint64_t bits, uint8_t type, bool ftz)
{
	struct number number = { .kind = NUMBER_FLOAT };
	float narrow;

	switch (type) {
	case PTX_F64:
		number.f = bits_double(bits);
		return number;
	case PTX_F32:
		narrow = bits_float((uint32_t)bits);
		number.f = ftz && fpclassify(narrow) == FP_SUBNORMAL ? copysignf(0.0f, narrow) : narrow;
		return number;
	case PTX_F16:
		number.f = f16_to_float((uint16_t)bits);
		return number;
	case PTX_BF16:
		number.f = bf16_to_float((uint16_t)bits);
		return number;
	case PTX_E4M3:
		number.f = e4m3_to_float((uint8_t)bits);
		return number;
	case PTX_E5M2:
		number.f = e5m2_to_float((uint8_t)bits);
		return number;
	case PTX_E2M3X2:
		number.f = small_to_float((uint32_t)bits, &half_e2m3);
		return number;
	case PTX_E3M2X2:
		number.f = small_to_float((uint32_t)bits, &half_e3m2);
		return number;
	case PTX_E2M1X2:
		number.f = small_to_float((uint32_t)bits, &half_e2m1);
		return number;
	case PTX_UE8M0X2:
		number.f = ue8m0_to_float((uint8_t)bits);
		return number;
	case PTX_S8:
		number.s = (int8_t)bits;
		break;
	case PTX_S16:
		number.s = (int16_t)bits;
		break;
	case PTX_S32:
		number.s = (int32_t)bits;
		break;
	case PTX_S64:
		number.s = (int64_t)bits;
		break;
	default:
		number.kind = NUMBER_UNSIGNED;
		number.u = ptx_type_bytes[type] == 8 ? bits : bits & ((1ULL << (8 * ptx_type_bytes[type])) - 1);
		return number;
	}
	number.kind = NUMBER_SIGNED;
	number.u = (uint64_t)number.s;
	return number;
}

static double round_to_integer(double value, uint8_t rnd)
{
	switch (rnd) {
	case PTX_M_RNI:
	case PTX_M_RN:
		return nearbyint(value); /* the host's mode is to nearest even */
	case PTX_M_RMI:
	case PTX_M_RM:
		return floor(value);
	case PTX_M_RPI:
	case PTX_M_RP:
		return ceil(value);
	default:
		return trunc(value);
	}
}

/* What a NaN becomes: 0, or the lowest number of the type where 64 bits take part. */
static uint64_t int_of_nan(uint8_t type, bool is_f64)
{
	return is_f64 || ptx_type_bytes[type] == 8 ? 1ULL << (8 * ptx_type_bytes[type] - 1) : 0;
}

static uint64_t float_to_int(double value, uint8_t type, uint8_t rnd, bool is_f64)
{
	uint32_t n_bits = 8u * ptx_type_bytes[type];
	bool is_signed = ptx_type_class[type] == PTX_CLASS_S;
	double limit = ldexp(1.0, (int)(is_signed ? n_bits - 1 : n_bits));

	if (isnan(value))
		return int_of_nan(type, is_f64);
	value = round_to_integer(value, rnd);
	if (value >= limit)
		return is_signed ? (1ULL << (n_bits - 1)) - 1 : n_bits == 64 ? UINT64_MAX : (1ULL << n_bits) - 1;
	if (is_signed)
		return value <= -limit ? 1ULL << (n_bits - 1) : (uint64_t)(int64_t)value;
	return value <= 0 ? 0 : (uint64_t)value;
}

/* Clamps to the target type; without .sat an integer is cut instead. */
static uint64_t int_to_int(const struct number *number, uint8_t type, bool sat)
{
	uint32_t n_bits = 8u * ptx_type_bytes[type];
	bool is_signed = ptx_type_class[type] == PTX_CLASS_S;
	uint64_t max = is_signed ? (1ULL << (n_bits - 1)) - 1 : n_bits == 64 ? UINT64_MAX : (1ULL << n_bits) - 1;

	if (!sat)
		return number->kind == NUMBER_SIGNED ? (uint64_t)number->s : number->u;
	if (number->kind == NUMBER_UNSIGNED)
		return number->u > max ? max : number->u;
	if (number->s >= 0)
		return (uint64_t)number->s > max ? max : (uint64_t)number->s;
	if (!is_signed)
		return 0;
	return number->s < -(int64_t)max - 1 ? (uint64_t)(-(int64_t)max - 1) : (uint64_t)number->s;
}

static int host_rounding(uint8_t rnd)
{
	switch (rnd) {
	case PTX_M_RZ:
		return FE_TOWARDZERO;
	case PTX_M_RM:
		return FE_DOWNWARD;
	case PTX_M_RP:
		return FE_UPWARD;
	default:
		return FE_TONEAREST;
	}
}

static float number_to_f32(const struct number *number, uint8_t rnd)
{
	volatile int64_t s = number->s;
	volatile uint64_t u = number->u;
	volatile double f = number->f;
	int rounding = host_rounding(rnd);
	volatile float result;

	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	result = number->kind == NUMBER_SIGNED ? (float)s : number->kind == NUMBER_UNSIGNED ? (float)u : (float)f;
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
	return result;
}

static double number_to_f64(const struct number *number, uint8_t rnd)
{
	volatile int64_t s = number->s;
	volatile uint64_t u = number->u;
	int rounding = host_rounding(rnd);
	volatile double result;

	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	result = number->kind == NUMBER_SIGNED ? (double)s : number->kind == NUMBER_UNSIGNED ? (double)u : number->f;
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
	return result;
}

static enum half_rounding half_rounding(uint8_t rnd)
{
	switch (rnd) {
	case PTX_M_RZ:
		return HALF_ZERO;
	case PTX_M_RM:
		return HALF_DOWN;
	case PTX_M_RP:
		return HALF_UP;
	default:
		return HALF_NEAREST;
	}
}

/* In f64, so that rounding it once more gives what rounding the number once would: an integer of more than 53 bits
 * keeps a trace of what it loses in its last bit. */
static double number_to_narrow(const struct number *number)
{
	uint64_t magnitude = number->kind == NUMBER_UNSIGNED || number->s >= 0 ? number->u : 0 - number->u;

	if (number->kind == NUMBER_FLOAT)
		return number->f;
	if (magnitude >> 53 != 0)
		magnitude = (magnitude & ~0x7ffULL) | ((magnitude & 0x7ff) != 0 ? 0x800 : 0);
	return number->kind == NUMBER_SIGNED && number->s < 0 ? -(double)magnitude : (double)magnitude;
}

/* Rounded to a float of 10 bits of mantissa. */
static uint32_t to_tf32(const struct ptx_insn *insn, float value)
{
	uint32_t bits = float_bits(value), rest = bits & 0x1fff;
	bool up = insn->rnd == PTX_M_RNA  ? rest >= 0x1000
		  : insn->rnd == PTX_M_RN ? rest > 0x1000 || (rest == 0x1000 && bits >> 13 & 1)
					  : false;

	if (isnan(value))
		return 0x7fffffffu;
	if (isinf(value))
		return has_flag(insn, F(SATFINITE)) ? (bits & 0x80000000u) | 0x7f7fe000u : bits;
	bits = (bits & 0xffffe000u) + (up ? 0x2000u : 0);
	if (has_flag(insn, F(SATFINITE)) && (bits & 0x7fffffffu) == 0x7f800000u)
		bits -= 0x2000u;
	return bits;
}

static bool rounds_to_integer(uint8_t rnd)
{
	return rnd >= PTX_M_RNI && rnd <= PTX_M_RPI;
}

static uint16_t saturate_half(const struct ptx_insn *insn, const struct half_format *format, uint16_t value)
{
	bool is_infinite = (value & ~format->sign) == format->infinity;

	return has_flag(insn, F(SATFINITE)) && is_infinite ? (value & format->sign) | format->max : value;
}

static uint64_t to_float(const struct ptx_insn *insn, struct number number, uint8_t type)
{
	bool relu = has_flag(insn, F(RELU)), sat = has_flag(insn, F(SAT));
	float narrow;
	double wide;

	if (number.kind == NUMBER_FLOAT) {
		if (rounds_to_integer(insn->rnd))
			number.f = round_to_integer(number.f, insn->rnd);
		if (sat)
			number.f = number.f >= 1 ? 1 : number.f > 0 ? number.f : 0;
		if (relu && number.f <= 0)
			number.f = 0;
	}
	if (number.kind != NUMBER_FLOAT && sat) {
		number.f = number.kind == NUMBER_SIGNED ? number.s > 0 : number.u > 0;
		number.kind = NUMBER_FLOAT;
	}
	switch (type) {
	case PTX_F64:
		wide = number_to_f64(&number, insn->rnd);
		return isnan(wide) ? 0x7ff8000000000000ULL : double_bits(wide);
	case PTX_F16:
		return saturate_half(insn, &half_f16,
				     double_to_f16(number_to_narrow(&number), half_rounding(insn->rnd)));
	case PTX_BF16:
		return saturate_half(insn, &half_bf16,
				     double_to_bf16(number_to_narrow(&number), half_rounding(insn->rnd)));
	case PTX_E4M3:
		return narrow_float(number.f, &half_e4m3, HALF_NEAREST);
	case PTX_E5M2:
		return narrow_float(number.f, &half_e5m2, HALF_NEAREST);
	case PTX_E2M3X2:
		return narrow_float(number.f, &half_e2m3, HALF_NEAREST);
	case PTX_E3M2X2:
		return narrow_float(number.f, &half_e3m2, HALF_NEAREST);
	case PTX_E2M1X2:
		return narrow_float(number.f, &half_e2m1, HALF_NEAREST);
	case PTX_UE8M0X2:
		return float_to_ue8m0((float)number.f, insn->rnd == PTX_M_RP, has_flag(insn, F(SATFINITE)));
	case PTX_TF32:
		return to_tf32(insn, (float)number.f);
	default:
		narrow = number_to_f32(&number, insn->rnd);
		if (has_flag(insn, F(FTZ)) && fpclassify(narrow) == FP_SUBNORMAL)
			narrow = copysignf(0.0f, narrow);
		return isnan(narrow) ? 0x7fffffffu : float_bits(narrow);
	}
}

HANDLER(cvt)
{
	uint8_t to = insn->types[0], from = insn->types[1];
	bool to_is_float = ptx_type_class[to] == PTX_CLASS_F;

	FOR_EACH_LANE(lane, mask)
	{
		struct number number = read_number(read_lane(warp, &insn->o[1], lane), from, has_flag(insn, F(FTZ)));
		uint64_t value;

		if (to_is_float)
			value = to_float(insn, number, to);
		else if (number.kind == NUMBER_FLOAT)
			value = float_to_int(number.f, to, insn->rnd, from == PTX_F64);
		else
			value = int_to_int(&number, to, has_flag(insn, F(SAT)));
		/* A wider destination is filled up by the sign or by zeros of the target type. */
		if (!to_is_float) {
			struct number cut = read_number(value, to, false);

			value = cut.kind == NUMBER_SIGNED ? (uint64_t)cut.s : cut.u;
		}
		write_lane(warp, &insn->o[0], lane, value);
	}
}

/* The type of one of the two in a packed type, itself where that has no name; PTX_NONE of any other. */
static uint8_t half_of_pair(uint8_t type)
{
	switch (type) {
	case PTX_F16X2:
		return PTX_F16;
	case PTX_BF16X2:
		return PTX_BF16;
	case PTX_E4M3X2:
		return PTX_E4M3;
	case PTX_E5M2X2:
		return PTX_E5M2;
	case PTX_E2M3X2:
	case PTX_E3M2X2:
	case PTX_E2M1X2:
	case PTX_UE8M0X2:
		return type;
	default:
		return PTX_NONE;
	}
}

/* Of one of the two: what half_of_pair() gives. */
static uint32_t half_bits(uint8_t half)
{
	switch (half) {
	case PTX_E2M1X2:
		return 4;
	case PTX_F16:
	case PTX_BF16:
		return 16;
	default:
		return 8;
	}
}

/* A pair of one type to a pair of another. */
HANDLER(cvt_pair)
{
	uint8_t to = half_of_pair(insn->types[0]), from = half_of_pair(insn->types[1]);
	uint32_t to_bits = half_bits(to), from_bits = half_bits(from);

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t pair = read_lane(warp, &insn->o[1], lane);
		struct number upper = read_number(pair >> from_bits, from, false);
		struct number lower = read_number(pair & ((1ULL << from_bits) - 1), from, false);

		write_lane(warp, &insn->o[0], lane, to_float(insn, upper, to) << to_bits | to_float(insn, lower, to));
	}
}

/* Two f32 into one register: a is the upper half. */
HANDLER(cvt_two)
{
	uint8_t half = half_of_pair(insn->types[0]);
	uint32_t bits = half_bits(half);

	FOR_EACH_LANE(lane, mask)
	{
		struct number upper = read_number(read_lane(warp, &insn->o[1], lane), PTX_F32, false);
		struct number lower = read_number(read_lane(warp, &insn->o[2], lane), PTX_F32, false);

		write_lane(warp, &insn->o[0], lane, to_float(insn, upper, half) << bits | to_float(insn, lower, half));
	}
}

UNARY(cvt_u64_u32, uint64_t, uint32_t, a)
UNARY(cvt_s64_s32, int64_t, int32_t, a)
UNARY(cvt_u32_u64, uint32_t, uint64_t, a)
UNARY(cvt_f32_s32, float, int32_t, a)
UNARY(cvt_f32_u32, float, uint32_t, a)
UNARY(cvt_f64_f32, double, float, a == a ? (double)a : bits_double(0x7ff8000000000000ULL))

static bool is_type(uint8_t type, uint8_t a, uint8_t b)
{
	return type == a || type == b;
}

static ptx_exec_fn *plain_conversion(const struct ptx_insn *insn)
{
	uint8_t to = insn->types[0], from = insn->types[1];
	bool rn = insn->rnd == PTX_M_RN;

	if (insn->flags != 0 || insn->o[0].bytes != ptx_type_bytes[to] || insn->o[1].bytes != ptx_type_bytes[from])
		return NULL;
	if (is_type(to, PTX_U64, PTX_S64) && from == PTX_U32)
		return cvt_u64_u32;
	if (is_type(to, PTX_U64, PTX_S64) && from == PTX_S32)
		return cvt_s64_s32;
	if (is_type(to, PTX_U32, PTX_S32) && is_type(from, PTX_U64, PTX_S64))
		return cvt_u32_u64;
	if (to == PTX_F32 && from == PTX_S32 && rn)
		return cvt_f32_s32;
	if (to == PTX_F32 && from == PTX_U32 && rn)
		return cvt_f32_u32;
	if (to == PTX_F64 && from == PTX_F32 && insn->rnd == PTX_M_NONE)
		return cvt_f64_f32;
	return NULL;
}

static bool is_scalar(uint8_t type)
{
	switch (type) {
	case PTX_F16:
	case PTX_BF16:
	case PTX_F32:
	case PTX_F64:
	case PTX_TF32:
		return true;
	default:
		return type >= PTX_U8 && type <= PTX_S64;
	}
}

/* A pair of floats of at most a byte each, with a sign. */
static bool is_small_pair(uint8_t type)
{
	return is_type(type, PTX_E4M3X2, PTX_E5M2X2) || is_type(type, PTX_E2M3X2, PTX_E3M2X2) || type == PTX_E2M1X2;
}

static bool select_pair(struct ptx_insn *insn)
{
	uint8_t to = insn->types[0], from = insn->types[1];
	bool two_sources = insn->o[2].kind != PTX_OPERAND_NONE;

	insn->run = from == PTX_F32 ? cvt_two : cvt_pair;
	if (two_sources != (from == PTX_F32))
		return false;
	if (to == PTX_UE8M0X2)
		return (from == PTX_F32 || from == PTX_BF16X2) && (insn->rnd == PTX_M_RZ || insn->rnd == PTX_M_RP) &&
		       !has_flag(insn, F(RELU));
	if (is_small_pair(to))
		return has_flag(insn, F(SATFINITE)) && insn->rnd == PTX_M_RN &&
		       (from == PTX_F32 || (from == PTX_F16X2 && is_type(to, PTX_E4M3X2, PTX_E5M2X2)));
	if (from == PTX_UE8M0X2)
		return to == PTX_BF16X2 && insn->rnd == PTX_M_RN;
	return from == PTX_F32 || (to == PTX_F16X2 && is_small_pair(from) && insn->rnd == PTX_M_RN);
}

static uint32_t packed_bits(uint8_t type)
{
	switch (type) {
	case PTX_U16:
	case PTX_S16:
		return 16;
	case PTX_U8:
	case PTX_S8:
		return 8;
	case PTX_U4:
	case PTX_S4:
		return 4;
	case PTX_U2:
	case PTX_S2:
		return 2;
	default:
		return 0;
	}
}

static uint32_t saturate_to(int32_t value, uint32_t bits, bool is_signed)
{
	int32_t max = (int32_t)((1u << (is_signed ? bits - 1 : bits)) - 1), min = is_signed ? -max - 1 : 0;

	value = value > max ? max : value < min ? min : value;
	return (uint32_t)value & ((1u << bits) - 1);
}

/* cvt.pack: two integers, saturated, below what is left of a third. */
HANDLER(cvt_pack)
{
	uint32_t bits = packed_bits(insn->types[0]);
	bool is_signed = ptx_type_class[insn->types[0]] == PTX_CLASS_S, shifts = insn->o[3].kind != PTX_OPERAND_NONE;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t a = saturate_to((int32_t)read_lane(warp, &insn->o[1], lane), bits, is_signed);
		uint32_t b = saturate_to((int32_t)read_lane(warp, &insn->o[2], lane), bits, is_signed);
		uint32_t c = shifts ? (uint32_t)read_lane(warp, &insn->o[3], lane) << 2 * bits : 0;

		write_lane(warp, &insn->o[0], lane, c | a << bits | b);
	}
}

static bool select_pack(struct ptx_insn *insn)
{
	uint32_t bits = packed_bits(insn->types[0]);

	insn->run = cvt_pack;
	return bits != 0 && insn->types[1] == PTX_S32 && insn->rnd == PTX_M_NONE && insn->flags == (F(PACK) | F(SAT)) &&
	       (bits == 16 ? insn->n_types == 2 : insn->n_types == 3 && insn->types[2] == PTX_B32);
}

bool select_cvt(struct ptx_insn *insn)
{
	uint8_t to = insn->types[0], from = insn->types[1];

	if (has_flag(insn, F(PACK)))
		return select_pack(insn);
	if (half_of_pair(to) != PTX_NONE)
		return select_pair(insn);
	if (!is_scalar(to) || !is_scalar(from) || from == PTX_TF32 || insn->o[2].kind != PTX_OPERAND_NONE)
		return false;
	if (to == PTX_TF32 &&
	    (from != PTX_F32 || (insn->rnd != PTX_M_RNA && insn->rnd != PTX_M_RN && insn->rnd != PTX_M_RZ)))
		return false;
	if (insn->rnd == PTX_M_RNA && to != PTX_TF32)
		return false;
	if (has_flag(insn, F(SATFINITE)) && to != PTX_TF32 && !is_type(to, PTX_F16, PTX_BF16))
		return false;
	insn->run = plain_conversion(insn);
	if (insn->run != NULL)
		insn->cost = PTX_COST_ALU;
	else
		insn->run = cvt;
	return true;
}

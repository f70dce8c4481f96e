/* SPDX-License-Identifier: Apache-2.0
 *
 * half.h - f16, bf16 and the floats of a byte and less from and to wider floats. Pure.
 */
#ifndef SIMGPU_HALF_H
#define SIMGPU_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline float bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double bits_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline float f16_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 31, mantissa = half & 0x3ff;

	if (exponent == 31)
		return bits_float(sign | 0x7f800000u | mantissa << 13);
	if (exponent == 0) {
		/* 2^-24 per unit; exact */
		float value = (float)mantissa * 0x1p-24f;

		return bits_float(float_bits(value) | sign);
	}
	return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

static inline float bf16_to_float(uint16_t half)
{
	return bits_float((uint32_t)half << 16);
}

/* How a conversion to a narrow type rounds. */
enum half_rounding { HALF_NEAREST, HALF_ZERO, HALF_DOWN, HALF_UP };

/* A narrow type: what its codes, without the sign, mean. */
struct half_format {
	uint8_t exponent_bits, mantissa_bits;
	uint16_t max;      /* the largest finite number */
	uint16_t infinity; /* what lies behind it */
	uint16_t nan;      /* the one NaN the hardware produces */
	uint16_t sign;     /* the sign's bit */
};

static const struct half_format half_f16 = { 5, 10, 0x7bff, 0x7c00, 0x7fff, 0x8000 };
static const struct half_format half_bf16 = { 8, 7, 0x7f7f, 0x7f80, 0x7fff, 0x8000 };
/* Conversions to these saturate. */
static const struct half_format half_e4m3 = { 4, 3, 0x7e, 0x7e, 0x7f, 0x80 };
static const struct half_format half_e5m2 = { 5, 2, 0x7b, 0x7b, 0x7f, 0x80 };

/* Of these too, and they have neither infinities nor NaNs. */
static const struct half_format half_e2m3 = { 2, 3, 0x1f, 0x1f, 0x1f, 0x20 };
static const struct half_format half_e3m2 = { 3, 2, 0x1f, 0x1f, 0x1f, 0x20 };
static const struct half_format half_e2m1 = { 2, 1, 0x07, 0x07, 0x07, 0x08 };

/* Does a magnitude whose rest behind the last place is `rest` of 2 * `half` round up? */
static inline bool half_rounds_up(enum half_rounding rounding, bool negative, bool is_odd, uint64_t rest, uint64_t half)
{
	switch (rounding) {
	case HALF_NEAREST:
		return rest > half || (rest == half && is_odd);
	case HALF_DOWN:
		return negative && rest != 0;
	case HALF_UP:
		return !negative && rest != 0;
	default:
		return false;
	}
}

static inline uint16_t narrow_float(double value, const struct half_format *format, enum half_rounding rounding)
{
	uint64_t bits = double_bits(value);
	uint64_t mantissa = bits & ((1ULL << 52) - 1), kept, rest, half;
	int32_t exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023 + (1 << (format->exponent_bits - 1)) - 1;
	uint32_t drop = 52u - format->mantissa_bits;
	bool negative = bits >> 63;
	uint16_t sign = negative ? format->sign : 0;

	if ((bits >> 52 & 0x7ff) == 0x7ff)
		return mantissa != 0 ? format->nan : (uint16_t)(sign | format->infinity);
	if (exponent <= 0) {
		/* subnormal: the implicit one becomes explicit and moves right, far out of sight at most */
		if (bits << 1 != 0)
			mantissa |= 1ULL << 52;
		drop += (uint32_t)(1 - exponent);
		drop = drop > 62 ? 62 : drop;
		exponent = 0;
	}
	kept = mantissa >> drop;
	rest = mantissa & ((1ULL << drop) - 1);
	half = 1ULL << (drop - 1);
	kept += (uint64_t)(uint32_t)exponent << format->mantissa_bits;
	if (half_rounds_up(rounding, negative, kept & 1, rest, half))
		kept++;
	if (kept > format->max) {
		bool away = rounding == HALF_NEAREST || rounding == (negative ? HALF_DOWN : HALF_UP);

		kept = away ? format->infinity : format->max;
	}
	return (uint16_t)(sign | kept);
}

static inline uint16_t double_to_f16(double value, enum half_rounding rounding)
{
	return narrow_float(value, &half_f16, rounding);
}

static inline uint16_t double_to_bf16(double value, enum half_rounding rounding)
{
	return narrow_float(value, &half_bf16, rounding);
}

/* The upper half of an f16. */
static inline float e5m2_to_float(uint8_t code)
{
	return f16_to_float((uint16_t)(code << 8));
}

static inline float e4m3_to_float(uint8_t code)
{
	uint32_t sign = (uint32_t)(code & 0x80) << 24, exponent = code >> 3 & 15, mantissa = code & 7;

	if ((code & 0x7f) == 0x7f)
		return bits_float(sign | 0x7fffffffu);
	if (exponent == 0)
		return bits_float(float_bits((float)mantissa * 0x1p-9f) | sign);
	return bits_float(sign | (exponent + 120) << 23 | mantissa << 20);
}

/* A code of a format without infinities and NaNs. */
static inline float small_to_float(uint32_t code, const struct half_format *format)
{
	uint32_t mantissa = code & ((1u << format->mantissa_bits) - 1);
	uint32_t exponent = (code & (format->sign - 1u)) >> format->mantissa_bits;
	int32_t bias = (1 << (format->exponent_bits - 1)) - 1;
	float value = exponent == 0 ? (float)mantissa : (float)(mantissa | 1u << format->mantissa_bits);
	int32_t scale = (exponent == 0 ? 1 : (int32_t)exponent) - bias - format->mantissa_bits;

	value *= bits_float((uint32_t)(scale + 127) << 23);
	return bits_float(float_bits(value) | (code & format->sign ? 0x80000000u : 0));
}

/* An exponent alone: 2^(code - 127); the last is NaN. */
static inline float ue8m0_to_float(uint8_t code)
{
	return code == 0xff ? bits_float(0x7fffffffu) : bits_float(code == 0 ? 0x00400000u : (uint32_t)code << 23);
}

/* The power of two at or below a magnitude, or at or above it. */
static inline uint8_t float_to_ue8m0(float value, bool up, bool satfinite)
{
	uint32_t bits = float_bits(value) & 0x7fffffffu, code = bits >> 23;

	if (up && (bits & 0x7fffff) != 0 && bits > 0x00400000u && bits < 0x7f800000u)
		code++;
	return (uint8_t)(satfinite && code == 0xff && bits <= 0x7f800000u ? 0xfe : code);
}

/* x + y in f64, rounded to odd: rounded once more to a type of fewer than 52 bits it is as if rounded once. */
static inline double add_to_odd(double x, double y)
{
	volatile double sum = x + y, x_part = sum - y, y_part = sum - x_part;
	volatile double x_rest = x - x_part, y_rest = y - y_part, error = x_rest + y_rest;
	uint64_t bits = double_bits(sum);

	/* Not a number here is an infinity or a NaN somewhere. */
	if (!(error < 0) && !(error > 0))
		return sum;
	if ((error < 0) != (bits >> 63 != 0))
		bits--;
	return bits_double(bits | 1);
}

#endif

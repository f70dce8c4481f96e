/* SPDX-License-Identifier: Apache-2.0
 *
 * half.h - f16 and bf16 from and to wider floats.
 *
 * Conversions to the narrow types round to the nearest, ties to even, or towards zero. Pure.
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

/* `value` cut to a float of `exponent_bits` and `mantissa_bits`, in the low bits of the result. */
static inline uint16_t narrow_float(double value, uint32_t exponent_bits, uint32_t mantissa_bits, bool to_zero)
{
	uint64_t bits = double_bits(value);
	uint32_t max_exponent = (1u << exponent_bits) - 1;
	int32_t bias = (int32_t)(max_exponent >> 1);
	uint16_t sign = (uint16_t)((bits >> 63) << 15);
	int32_t exponent = (int32_t)(bits >> 52 & 0x7ff) - 1023 + bias;
	uint64_t mantissa = bits & ((1ULL << 52) - 1);
	uint32_t drop = 52 - mantissa_bits;
	uint64_t kept, rest, half;

	if ((bits >> 52 & 0x7ff) == 0x7ff) {
		/* An infinity, or the one NaN the hardware produces. */
		return mantissa != 0 ? 0x7fff : (uint16_t)(sign | max_exponent << mantissa_bits);
	}
	if (exponent <= 0) {
		/* subnormal: the implicit one becomes explicit and moves right */
		if (exponent < -(int32_t)mantissa_bits - 1)
			return sign;
		mantissa |= 1ULL << 52;
		drop += (uint32_t)(1 - exponent);
		exponent = 0;
	}
	kept = mantissa >> drop;
	rest = mantissa & ((1ULL << drop) - 1);
	half = 1ULL << (drop - 1);
	kept += (uint64_t)(uint32_t)exponent << mantissa_bits;
	if (!to_zero && (rest > half || (rest == half && (kept & 1))))
		kept++;
	if (kept >= (uint64_t)max_exponent << mantissa_bits)
		kept = to_zero ? ((uint64_t)max_exponent << mantissa_bits) - 1
			       : (uint64_t)max_exponent << mantissa_bits;
	return (uint16_t)(sign | kept);
}

static inline uint16_t double_to_f16(double value, bool to_zero)
{
	return narrow_float(value, 5, 10, to_zero);
}

static inline uint16_t double_to_bf16(double value, bool to_zero)
{
	return narrow_float(value, 8, 7, to_zero);
}

#endif

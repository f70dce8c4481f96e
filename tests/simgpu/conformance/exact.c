/* SPDX-License-Identifier: Apache-2.0
 *
 * exact.c - see exact.h.
 */
#include "exact.h"

#include <math.h>
#include <stddef.h>

const struct exact_format exact_f16 = { 5, 10, 0x7fff };
const struct exact_format exact_bf16 = { 8, 7, 0x7fff };
const struct exact_format exact_f32 = { 8, 23, 0x7fffffff };
const struct exact_format exact_f64 = { 11, 52, 0x7ff8000000000000ULL };

static bool is_finite(quad x)
{
	return x - x == 0;
}

static bool is_negative(quad x)
{
	return x < 0 || (x == 0 && 1 / x < 0);
}

static quad power_of_two(int32_t n)
{
	quad result = 1, step = n < 0 ? (quad)0.5 : 2;

	for (uint32_t left = (uint32_t)(n < 0 ? -n : n); left != 0; left >>= 1, step *= step)
		if (left & 1)
			result *= step;
	return result;
}

static uint64_t infinity_of(const struct exact_format *format)
{
	return ((1ULL << format->exponent_bits) - 1) << format->mantissa_bits;
}

static uint64_t sign_of(const struct exact_format *format)
{
	return 1ULL << (format->exponent_bits + format->mantissa_bits);
}

static int32_t lowest_exponent(const struct exact_format *format)
{
	return 2 - (1 << (format->exponent_bits - 1));
}

bool exact_is_nan(uint64_t code, const struct exact_format *format)
{
	return (code & (sign_of(format) - 1)) > infinity_of(format);
}

quad exact_value(uint64_t code, const struct exact_format *format)
{
	uint64_t magnitude = code & (sign_of(format) - 1), one = 1ULL << format->mantissa_bits;
	int32_t exponent = (int32_t)(magnitude >> format->mantissa_bits);
	quad value;

	if (exact_is_nan(code, format))
		return (quad)NAN;
	if (magnitude == infinity_of(format))
		value = (quad)INFINITY;
	else if (exponent == 0)
		value = magnitude;
	else
		value = (magnitude & (one - 1)) | one;
	if (magnitude != infinity_of(format))
		value *= power_of_two(lowest_exponent(format) + (exponent == 0 ? 0 : exponent - 1) -
				      (int32_t)format->mantissa_bits);
	return code & sign_of(format) ? -value : value;
}

uint64_t exact_flush(uint64_t code, const struct exact_format *format)
{
	return (code & infinity_of(format)) == 0 ? code & sign_of(format) : code;
}

/* Exponent of the leading bit of a positive number. */
static int32_t exponent_of(quad x)
{
	int32_t exponent = 0;

	for (int32_t step = 8192; step > 0; step /= 2) {
		if (x >= power_of_two(step)) {
			x *= power_of_two(-step);
			exponent += step;
		} else if (x < power_of_two(1 - step)) {
			x *= power_of_two(step);
			exponent -= step;
		}
	}
	while (x >= 2) {
		x /= 2;
		exponent++;
	}
	while (x < 1) {
		x *= 2;
		exponent--;
	}
	return exponent;
}

/* Units of the last place, and whether what is left over takes them up by one. */
static uint64_t round_units(quad units, quad trace, bool negative, enum exact_mode mode)
{
	uint64_t n = (uint64_t)units;
	quad fraction = units - n;
	bool inexact, over_half, half;

	if (fraction == 0 && trace < 0) {
		n--;
		fraction = 1;
	}
	inexact = fraction != 0 || trace != 0;
	over_half = fraction > (quad)0.5 || (fraction == (quad)0.5 && trace > 0);
	half = fraction == (quad)0.5 && trace == 0;
	switch (mode) {
	case EXACT_RN:
		return n + (over_half || (half && n & 1));
	case EXACT_RM:
		return n + (negative && inexact);
	case EXACT_RP:
		return n + (!negative && inexact);
	default:
		return n;
	}
}

uint64_t exact_round(struct exact x, const struct exact_format *format, enum exact_mode mode)
{
	bool negative = is_negative(x.high) || (x.high == 0 && x.negative_zero);
	uint64_t sign = negative ? sign_of(format) : 0, code;
	int32_t exponent;
	quad scale;

	if (x.high != x.high)
		return format->nan;
	if (!is_finite(x.high))
		return sign | infinity_of(format);
	if (x.high == 0)
		return sign;
	if (negative) {
		x.high = -x.high;
		x.low = -x.low;
	}
	exponent = exponent_of(x.high);
	/* A power of two with something less behind it lies below that power. */
	if (x.high == power_of_two(exponent) && x.low < 0)
		exponent--;
	if (exponent < lowest_exponent(format))
		exponent = lowest_exponent(format);
	scale = power_of_two((int32_t)format->mantissa_bits - exponent);
	code = (uint64_t)(exponent - lowest_exponent(format)) << format->mantissa_bits;
	code += round_units(x.high * scale, x.low, negative, mode);
	if (exponent > 1 << (format->exponent_bits - 1) || code >= infinity_of(format)) {
		bool away = mode == EXACT_RN || mode == (negative ? EXACT_RM : EXACT_RP);

		code = infinity_of(format) - !away;
	}
	return sign | code;
}

struct exact exact_of(quad value)
{
	return (struct exact){ value, 0, is_negative(value) };
}

struct exact exact_add(quad x, quad y, enum exact_mode mode)
{
	quad sum = x + y, y_part = sum - x, x_part = sum - y_part;
	struct exact result = { sum, (x - x_part) + (y - y_part), false };

	if (!is_finite(sum))
		result.low = 0;
	if (sum == 0)
		result.negative_zero = is_negative(x) && is_negative(y)   ? true
				       : is_negative(x) || is_negative(y) ? mode == EXACT_RM
									  : false;
	/* The sum of a number and its opposite is not a zero with the host's sign. */
	if (sum == 0)
		result.high = 0;
	return result;
}

struct exact exact_mul(quad x, quad y)
{
	return exact_of(x * y);
}

struct exact exact_fma(quad x, quad y, quad z, enum exact_mode mode)
{
	return exact_add(x * y, z, mode);
}

struct exact exact_div(quad x, quad y)
{
	return exact_of(x / y);
}

struct exact exact_sqrt(quad x)
{
	quad root;
	int32_t exponent;

	if (!(x > 0) || !is_finite(x))
		return exact_of(x < 0 ? (quad)NAN : x);
	/* Brought near 1 by an even power, so that the first guess is one of the host's. */
	exponent = exponent_of(x) & ~1;
	x *= power_of_two(-exponent);
	root = sqrtl((long double)x);
	root = (root + x / root) / 2;
	return exact_of(root * power_of_two(exponent / 2));
}

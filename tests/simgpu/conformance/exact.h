/* SPDX-License-Identifier: Apache-2.0
 *
 * exact.h - floating point from first principles: exact values, and one rounding.
 *
 * A value is a sum of two quads, of which the second is smaller than any place of the first: enough to hold sums,
 * products and fused products of doubles exactly, and quotients and roots beyond any doubt. Rounding scales it to units
 * of the target's last place and decides by the fraction. Nothing here is the engine's, or uses the host's rounding.
 */
#ifndef SIMGPU_EXACT_H
#define SIMGPU_EXACT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __float128 quad;

struct exact_format {
	uint32_t exponent_bits, mantissa_bits; /* without the implicit one */
	uint64_t nan;                          /* the one that arithmetic gives */
};

extern const struct exact_format exact_f16, exact_bf16, exact_f32, exact_f64;

enum exact_mode { EXACT_RN, EXACT_RZ, EXACT_RM, EXACT_RP };

struct exact {
	quad high, low;
	bool negative_zero;
};

bool exact_is_nan(uint64_t code, const struct exact_format *format);
/* The value of a code; NaN and infinities are the quad's. */
quad exact_value(uint64_t code, const struct exact_format *format);
uint64_t exact_round(struct exact x, const struct exact_format *format, enum exact_mode mode);
uint64_t exact_flush(uint64_t code, const struct exact_format *format);

struct exact exact_of(quad value);
struct exact exact_add(quad x, quad y, enum exact_mode mode);
struct exact exact_mul(quad x, quad y);
struct exact exact_fma(quad x, quad y, quad z, enum exact_mode mode);
struct exact exact_div(quad x, quad y);
struct exact exact_sqrt(quad x);

#endif

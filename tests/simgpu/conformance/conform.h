/* SPDX-License-Identifier: Apache-2.0
 *
 * conform.h - one instruction at a time, on many operands, against a reference written without the engine.
 *
 * A case is a line of PTX that reads %a, %b and %c, of `in_bits` each, and writes %d, of `out_bits`. It may use
 * %r1..%r4 (32 bits), %w (64 bits), %h (16 bits), %p and %q; %q is bit 0 of c. The kernel around it is generated; 2048
 * lanes bring edge values in all pairs as far as there is room, then random ones, the same in every run.
 */
#ifndef SIMGPU_CONFORM_H
#define SIMGPU_CONFORM_H

#include "../../support.h"

#include "../rig.h"

#include <stddef.h>
#include <stdint.h>

#define CONFORM_LANES 2048u

enum conform_kind { CONFORM_INT, CONFORM_F16, CONFORM_BF16, CONFORM_F32, CONFORM_F64, CONFORM_F16X2, CONFORM_BF16X2 };

struct conform_case {
	const char *body;
	enum conform_kind kind; /* of the sources' values */
	uint32_t in_bits, out_bits;
	/* What it gives; upper bits beyond out_bits are ignored. */
	uint64_t (*expect)(uint64_t a, uint64_t b, uint64_t c);
	/* In place of `expect`: is `got` good enough? */
	bool (*accept)(uint64_t a, uint64_t b, uint64_t c, uint64_t got);
};

/* Runs every case, prints up to three differences of each, fails the test at the end when there was any. */
void conform_run(const struct conform_case *cases, size_t n);
/* A repeatable sequence. */
uint64_t conform_random(void);

#define CONFORM_EXPECT(name, expression)                         \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
	{                                                        \
		(void)a;                                         \
		(void)b;                                         \
		(void)c;                                         \
		return (uint64_t)(expression);                   \
	}

#endif

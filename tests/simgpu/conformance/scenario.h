/* SPDX-License-Identifier: Apache-2.0
 *
 * scenario.h - conformance of what a lane cannot do alone: a kernel made from a body, run on a grid, an input and an
 * output buffer.
 *
 * The body finds in %t its number in the grid, in %ti, %lane and %cta where it is, in %in and %out the buffers, in %my
 * the place of its SCENARIO_LANE_BYTES in the output and in %mine those of the input; %smem is the address of the
 * dynamic shared memory in its space, %gsmem the generic one. Registers to use: %r<64>, %d<64> (64 bits), %h<16>, %q<8>
 * (128 bits), %f<8>, %fd<8>, %p<16>.
 */
#ifndef SIMGPU_SCENARIO_H
#define SIMGPU_SCENARIO_H

#include "../../support.h"

#include "../rig.h"

#include <stddef.h>
#include <stdint.h>

#define SCENARIO_LANE_BYTES 64u
#define SCENARIO_WORDS      (SCENARIO_LANE_BYTES / 8)

struct scenario {
	const char *functions; /* before the kernel; may be NULL */
	const char *body;
	uint32_t blocks, threads, cluster; /* 0 = 1 */
	uint32_t shared_bytes;
	const void *in;
	size_t in_bytes;
	void *out;
	size_t out_bytes;
	const void *out_start; /* what the output holds before; NULL = zero */
};

/* The device of the tests; opened on first use. */
void scenario_close(void);
/* Fails the test when the kernel does not load or run. */
void scenario_run(const struct scenario *scenario);
/* The same, and the result instead. */
struct sim_result scenario_try(const struct scenario *scenario);
/* Appends to a text of `room` bytes. */
__attribute__((format(printf, 3, 4))) void scenario_add(char *text, size_t room, const char *format, ...);

#endif

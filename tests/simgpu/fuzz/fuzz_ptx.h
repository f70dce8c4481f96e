/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ptx.h - one text for everything that reads or executes PTX.
 */
#ifndef SIMGPU_FUZZ_PTX_H
#define SIMGPU_FUZZ_PTX_H

#include <stddef.h>
#include <stdint.h>

/* Aborts when simgpu does what it must not; otherwise 0, whatever the text is. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
/* How many kernels ran to their end, or to a fault of their own, since the start. */
extern uint64_t fuzz_n_run;

#endif

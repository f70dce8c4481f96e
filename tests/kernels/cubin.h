/* SPDX-License-Identifier: Apache-2.0
 *
 * cubin.h - the machine code of a kernel, read from a cubin (an ELF file) without a disassembler.
 */
#ifndef TESTS_CUBIN_H
#define TESTS_CUBIN_H

#include <stddef.h>
#include <stdint.h>

#define CUBIN_INSTRUCTION_BYTES 16u /* since Volta */

struct cubin_text {
	uint8_t *bytes; /* of section .text.KERNEL, trailing NOPs removed; free() it */
	size_t n_bytes;
};

/* Reads section .text.`kernel` of the cubin at `path`. Returns 0, or -1 with a line on stderr that says why. */
int cubin_read_text(const char *path, const char *kernel, struct cubin_text *ret_text);

#endif

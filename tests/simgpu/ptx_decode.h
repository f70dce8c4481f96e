/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_decode.h - between the two files that read an instruction.
 */
#ifndef SIMGPU_PTX_DECODE_H
#define SIMGPU_PTX_DECODE_H

#include "ptx_parse.h"

struct op_info;

/* The instruction being read. */
struct decoder {
	struct ptx_parser *parser;
	const struct op_info *op;
	struct ptx_token start; /* of the opcode */
	const char *opcode_end;
	struct ptx_insn insn;
	uint32_t n_operands;
	struct ptx_token label;
	bool has_label;
	bool loose_sizes; /* ld, st, cvt: a register may be wider than the type */
};

/* Reports `what` "in '<opcode>'"; false. */
bool decode_error(struct decoder *decoder, enum sim_status status, const char *what);
/* Reports that the next token is not what was `expected`; false. */
bool decode_bad_operand(struct decoder *decoder, const char *expected);
void decode_init_operands(struct ptx_insn *insn);
void decode_append_read_special(struct decoder *decoder, uint32_t sreg, struct ptx_operand to, int64_t addend);
/* The special register at the parser, consumed; PTX_N_SREGS when there is none. */
uint32_t decode_accept_sreg(struct ptx_parser *parser);
bool decode_source(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand);
bool decode_destination(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand);
/* {a, b, c, d}: the operands go to the function's elements. */
bool decode_vector(struct decoder *decoder, enum ptx_type type, bool is_source, struct ptx_operand *ret_operand);
/* Of ld and st: as many elements as the instruction says, one when it says nothing. */
bool decode_scalar_or_vector(struct decoder *decoder, enum ptx_type type, bool is_source,
			     struct ptx_operand *ret_operand);
/* ptx_video.c: the operands of a video instruction, with their selectors. */
bool decode_video(struct decoder *decoder);
/* [register + n], [variable + n], [n] */
bool decode_memory(struct decoder *decoder, struct ptx_operand *ret_operand);

#endif

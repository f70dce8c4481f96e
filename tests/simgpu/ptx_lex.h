/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_lex.h - PTX text to tokens.
 *
 * Tokens point into the text, which needs no terminator and must outlive them.
 */
#ifndef SIMGPU_PTX_LEX_H
#define SIMGPU_PTX_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ptx_token_kind {
	PTX_TOKEN_END,
	PTX_TOKEN_WORD,   /* an identifier or an opcode: add, %r1, $L__BB0_1, _Z1kv, _ */
	PTX_TOKEN_DOTTED, /* a directive or modifier: .entry, .u32, .shared::cta */
	PTX_TOKEN_INT,
	PTX_TOKEN_FLOAT, /* `value` holds the bits of an f64; of an f32 when is_f32 */
	PTX_TOKEN_STRING,
	PTX_TOKEN_PUNCT, /* one character, in `punct` */
	PTX_TOKEN_BAD,   /* a character or number that PTX does not have */
};

struct ptx_token {
	enum ptx_token_kind kind;
	const char *text;
	size_t length;
	uint32_t line;
	char punct;
	bool is_f32;
	uint64_t value;
};

struct ptx_lexer {
	const char *next, *end;
	uint32_t line;
};

void ptx_lexer_init(struct ptx_lexer *lexer, const char *text, size_t bytes);
void ptx_lexer_next(struct ptx_lexer *lexer, struct ptx_token *ret_token);
bool ptx_token_is(const struct ptx_token *token, const char *text);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_lex.c - PTX text to tokens.
 *
 * Never reads outside the text; a NUL ends it. No state but struct ptx_lexer, so any thread.
 */
#include "ptx_lex.h"

#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static bool is_word_rest(char c)
{
	return is_letter(c) || is_digit(c);
}

static int hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

void ptx_lexer_init(struct ptx_lexer *lexer, const char *text, size_t bytes)
{
	const char *nul = bytes == 0 ? NULL : memchr(text, '\0', bytes);

	lexer->next = text;
	lexer->end = nul != NULL ? nul : text + bytes;
	lexer->line = 1;
}

static char peek(const struct ptx_lexer *lexer, size_t ahead)
{
	return (size_t)(lexer->end - lexer->next) > ahead ? lexer->next[ahead] : '\0';
}

static void skip_line(struct ptx_lexer *lexer)
{
	while (lexer->next < lexer->end && *lexer->next != '\n')
		lexer->next++;
}

static void skip_block_comment(struct ptx_lexer *lexer)
{
	lexer->next += 2;
	while (lexer->next < lexer->end) {
		if (peek(lexer, 0) == '*' && peek(lexer, 1) == '/') {
			lexer->next += 2;
			return;
		}
		if (*lexer->next == '\n')
			lexer->line++;
		lexer->next++;
	}
}

static void skip_blanks(struct ptx_lexer *lexer)
{
	while (lexer->next < lexer->end) {
		char c = *lexer->next;

		if (c == '\n') {
			lexer->line++;
			lexer->next++;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
			lexer->next++;
		} else if (c == '/' && peek(lexer, 1) == '/') {
			skip_line(lexer);
		} else if (c == '/' && peek(lexer, 1) == '*') {
			skip_block_comment(lexer);
		} else if (c == '#') {
			skip_line(lexer);
		} else {
			return;
		}
	}
}

/* 0f3F800000 and 0d3FF0000000000000: the bits of a float. */
static bool lex_float_bits(struct ptx_lexer *lexer, struct ptx_token *token)
{
	char kind = (char)(peek(lexer, 1) | 0x20);
	size_t n_digits = kind == 'f' ? 8 : 16;

	if (peek(lexer, 0) != '0' || (kind != 'f' && kind != 'd'))
		return false;
	token->value = 0;
	for (size_t i = 0; i < n_digits; i++) {
		int digit = hex_digit(peek(lexer, 2 + i));

		if (digit < 0)
			return false;
		token->value = token->value << 4 | (uint64_t)digit;
	}
	token->kind = PTX_TOKEN_FLOAT;
	token->is_f32 = kind == 'f';
	lexer->next += 2 + n_digits;
	return true;
}

static bool lex_decimal_float(struct ptx_lexer *lexer, struct ptx_token *token)
{
	char buffer[64];
	size_t n = 0;
	bool is_float = false;
	double value;
	char *end;

	while (n < sizeof(buffer) - 1) {
		char c = peek(lexer, n);
		bool sign_of_exponent = (c == '+' || c == '-') && n > 0 && (buffer[n - 1] | 0x20) == 'e';

		if (!is_digit(c) && c != '.' && (c | 0x20) != 'e' && !sign_of_exponent)
			break;
		if (c == '.' || (c | 0x20) == 'e')
			is_float = true;
		buffer[n++] = c;
	}
	if (!is_float)
		return false;
	buffer[n] = '\0';
	value = strtod(buffer, &end);
	if (*end != '\0')
		return false;
	memcpy(&token->value, &value, sizeof(value));
	token->kind = PTX_TOKEN_FLOAT;
	token->is_f32 = false;
	lexer->next += n;
	return true;
}

static void lex_int(struct ptx_lexer *lexer, struct ptx_token *token)
{
	unsigned int base = 10;
	bool any = false, overflow = false;

	if (peek(lexer, 0) == '0') {
		char c = (char)(peek(lexer, 1) | 0x20);

		base = 8;
		if (c == 'x' || c == 'b') {
			base = c == 'x' ? 16 : 2;
			lexer->next += 2;
		}
	}
	token->kind = PTX_TOKEN_INT;
	token->value = 0;
	for (;;) {
		int digit = hex_digit(peek(lexer, 0));

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		overflow |= __builtin_mul_overflow(token->value, (uint64_t)base, &token->value);
		overflow |= __builtin_add_overflow(token->value, (uint64_t)digit, &token->value);
		any = true;
		lexer->next++;
	}
	if (peek(lexer, 0) == 'U' || peek(lexer, 0) == 'u')
		lexer->next++;
	if (!any || overflow || is_word_rest(peek(lexer, 0)))
		token->kind = PTX_TOKEN_BAD;
}

static void lex_dotted(struct ptx_lexer *lexer, struct ptx_token *token)
{
	token->kind = PTX_TOKEN_DOTTED;
	lexer->next++;
	for (;;) {
		if (is_word_rest(peek(lexer, 0)))
			lexer->next++;
		else if (peek(lexer, 0) == ':' && peek(lexer, 1) == ':' && is_word_rest(peek(lexer, 2)))
			lexer->next += 2;
		else
			break;
	}
}

static void lex_string(struct ptx_lexer *lexer, struct ptx_token *token)
{
	token->kind = PTX_TOKEN_STRING;
	lexer->next++;
	while (lexer->next < lexer->end && *lexer->next != '"') {
		if (*lexer->next == '\n') {
			token->kind = PTX_TOKEN_BAD;
			return;
		}
		lexer->next++;
	}
	if (lexer->next == lexer->end) {
		token->kind = PTX_TOKEN_BAD;
		return;
	}
	lexer->next++;
}

void ptx_lexer_next(struct ptx_lexer *lexer, struct ptx_token *ret_token)
{
	struct ptx_token *token = ret_token;
	char c;

	skip_blanks(lexer);
	memset(token, 0, sizeof(*token));
	token->text = lexer->next;
	token->line = lexer->line;
	if (lexer->next >= lexer->end) {
		token->kind = PTX_TOKEN_END;
		return;
	}
	c = *lexer->next;
	if (is_letter(c)) {
		token->kind = PTX_TOKEN_WORD;
		while (is_word_rest(peek(lexer, 0)))
			lexer->next++;
		if (token->text[0] == '%' && lexer->next == token->text + 1)
			token->kind = PTX_TOKEN_BAD;
	} else if (c == '.' && is_letter(peek(lexer, 1))) {
		lex_dotted(lexer, token);
	} else if (is_digit(c)) {
		if (!lex_float_bits(lexer, token) && !lex_decimal_float(lexer, token))
			lex_int(lexer, token);
	} else if (c == '"') {
		lex_string(lexer, token);
	} else if (strchr("{}()[]<>,;:=+-*/!@|&~^?", c) != NULL) {
		token->kind = PTX_TOKEN_PUNCT;
		token->punct = c;
		lexer->next++;
	} else {
		token->kind = PTX_TOKEN_BAD;
		lexer->next++;
	}
	token->length = (size_t)(lexer->next - token->text);
}

bool ptx_token_is(const struct ptx_token *token, const char *text)
{
	return token->length == strlen(text) && memcmp(token->text, text, token->length) == 0;
}

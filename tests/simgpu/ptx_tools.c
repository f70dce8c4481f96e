/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_tools.c - what every part of the parser uses: the log, tokens, growing arrays, the table of types.
 *
 * When memory runs out the parser stops, and ptx_append() hands out a scratch item, so that callers need no check of
 * their own. Any thread; all state is in struct ptx_parser.
 */
#include "ptx_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough for every instruction a file could have reason to use wrongly; then something else is wrong. */
#define PTX_MAX_ERRORS 200

const uint8_t ptx_type_bytes[PTX_N_TYPES] = {
#define PTX_TYPE(id, text, bytes, class) [PTX_##id] = bytes,
#include "ptx_mods.def"
};

const uint8_t ptx_type_class[PTX_N_TYPES] = {
#define PTX_TYPE(id, text, bytes, class) [PTX_##id] = PTX_CLASS_##class,
#include "ptx_mods.def"
};

const char *const ptx_type_text[PTX_N_TYPES] = {
#define PTX_TYPE(id, text, bytes, class) [PTX_##id] = text,
#include "ptx_mods.def"
};

void ptx_log_line(struct ptx_log *log, const char *format, ...)
{
	va_list arguments;
	int n;

	if (log == NULL || log->text == NULL || log->bytes == 0 || log->used + 1 >= log->bytes)
		return;
	va_start(arguments, format);
	n = vsnprintf(log->text + log->used, log->bytes - log->used, format, arguments);
	va_end(arguments);
	if (n < 0)
		return;
	log->used += (size_t)n;
	if (log->used + 1 >= log->bytes) {
		log->used = log->bytes - 1;
		return;
	}
	log->text[log->used++] = '\n';
	log->text[log->used] = '\0';
}

void ptx_error(struct ptx_parser *parser, enum sim_status status, uint32_t line, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (parser->stop)
		return;
	if (parser->status == SIM_OK)
		parser->status = status;
	if (parser->function != NULL)
		ptx_log_line(parser->log, "line %u: %s %s: %s", line,
			     parser->function->is_entry ? "kernel" : "function", parser->function->name, text);
	else
		ptx_log_line(parser->log, "line %u: %s", line, text);
	if (++parser->n_errors >= PTX_MAX_ERRORS) {
		ptx_log_line(parser->log, "too many errors");
		parser->stop = true;
	}
}

void ptx_out_of_memory(struct ptx_parser *parser)
{
	if (!parser->stop)
		ptx_log_line(parser->log, "out of memory");
	parser->status = SIM_NO_MEMORY;
	parser->stop = true;
}

void ptx_advance(struct ptx_parser *parser)
{
	ptx_lexer_next(&parser->lexer, &parser->token);
}

bool ptx_at(const struct ptx_parser *parser, char punct)
{
	return parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == punct;
}

bool ptx_at_word(const struct ptx_parser *parser, const char *text)
{
	return (parser->token.kind == PTX_TOKEN_DOTTED || parser->token.kind == PTX_TOKEN_WORD) &&
	       ptx_token_is(&parser->token, text);
}

bool ptx_accept_word(struct ptx_parser *parser, const char *text)
{
	if (!ptx_at_word(parser, text))
		return false;
	ptx_advance(parser);
	return true;
}

bool ptx_accept(struct ptx_parser *parser, char punct)
{
	if (!ptx_at(parser, punct))
		return false;
	ptx_advance(parser);
	return true;
}

int ptx_token_width(const struct ptx_token *token)
{
	return token->length > 60 ? 60 : (int)token->length;
}

bool ptx_expect(struct ptx_parser *parser, char punct)
{
	if (ptx_accept(parser, punct))
		return true;
	if (parser->token.kind == PTX_TOKEN_END)
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "'%c' expected before the end of the text",
			  punct);
	else
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "'%c' expected before '%.*s'", punct,
			  ptx_token_width(&parser->token), parser->token.text);
	return false;
}

void *ptx_append_n(struct ptx_parser *parser, struct ptx_vector *vector, size_t item_bytes, uint32_t n)
{
	char *item;

	if (n > vector->capacity - vector->n) {
		uint64_t capacity = vector->capacity < 16 ? 16 : (uint64_t)vector->capacity * 2;
		void *items;

		if (capacity < (uint64_t)vector->n + n)
			capacity = (uint64_t)vector->n + n;
		items = capacity > UINT32_MAX ? NULL : realloc(vector->items, capacity * item_bytes);
		if (items == NULL) {
			ptx_out_of_memory(parser);
			return item_bytes * n <= sizeof(parser->scratch) ? parser->scratch : NULL;
		}
		vector->items = items;
		vector->capacity = (uint32_t)capacity;
	}
	if (n == 0)
		return vector->items;
	item = (char *)vector->items + vector->n * item_bytes;
	memset(item, 0, item_bytes * n);
	vector->n += n;
	return item;
}

void *ptx_append(struct ptx_parser *parser, struct ptx_vector *vector, size_t item_bytes)
{
	return ptx_append_n(parser, vector, item_bytes, 1);
}

char *ptx_copy_text(struct ptx_parser *parser, const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (copy == NULL) {
		ptx_out_of_memory(parser);
		return NULL;
	}
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

bool ptx_parse_int(struct ptx_parser *parser, uint64_t *ret_value)
{
	bool minus = ptx_accept(parser, '-');

	if (parser->token.kind != PTX_TOKEN_INT) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a number expected before '%.*s'",
			  ptx_token_width(&parser->token), parser->token.text);
		return false;
	}
	*ret_value = minus ? 0 - parser->token.value : parser->token.value;
	ptx_advance(parser);
	return true;
}

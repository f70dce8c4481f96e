/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_variables.c - declarations of variables and registers, and initialisers.
 *
 * Nested braces of an initialiser are a counter with a limit, not recursion. Any thread; all state is in struct
 * ptx_parser.
 */
#include "ptx_parse.h"

#include <stdlib.h>
#include <string.h>

#define PTX_MAX_BRACES         64
#define PTX_MAX_REGISTERS      (64u << 20)
#define PTX_MAX_DATA_BYTES     (256u << 20)
#define PTX_MAX_VARIABLE_BYTES (1ULL << 36)

enum ptx_type ptx_type_of_token(const struct ptx_token *token)
{
	if (token->kind != PTX_TOKEN_DOTTED)
		return PTX_NONE;
	for (uint32_t i = PTX_NONE + 1; i < PTX_N_TYPES; i++)
		if (ptx_token_is(token, ptx_type_text[i]))
			return (enum ptx_type)i;
	return PTX_NONE;
}

static bool parse_align(struct ptx_parser *parser, uint32_t *ret_align)
{
	uint64_t align;

	if (!ptx_parse_int(parser, &align))
		return false;
	if (align == 0 || align > 4096 || (align & (align - 1)) != 0) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "bad alignment");
		return false;
	}
	*ret_align = (uint32_t)align;
	return true;
}

/* ".attribute(.managed)"; other attributes have no effect here. */
static bool parse_attribute(struct ptx_parser *parser, bool *ret_is_managed)
{
	if (!ptx_expect(parser, '('))
		return false;
	while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ')') && !ptx_at(parser, ';')) {
		if (ptx_at_word(parser, ".managed"))
			*ret_is_managed = true;
		ptx_advance(parser);
	}
	return ptx_expect(parser, ')');
}

/* [.align n] [.v2] .type [.ptr .global .align n] */
bool ptx_parse_variable_type(struct ptx_parser *parser, struct ptx_declaration *declaration)
{
	memset(declaration, 0, sizeof(*declaration));
	declaration->line = parser->token.line;
	declaration->n_elements = 1;
	for (;;) {
		enum ptx_type type = ptx_type_of_token(&parser->token);

		if (type != PTX_NONE) {
			declaration->type = type;
			ptx_advance(parser);
		} else if (ptx_accept_word(parser, ".align")) {
			if (!parse_align(parser, &declaration->align))
				return false;
		} else if (ptx_accept_word(parser, ".v2")) {
			declaration->n_elements = 2;
		} else if (ptx_accept_word(parser, ".v4")) {
			declaration->n_elements = 4;
		} else if (ptx_accept_word(parser, ".attribute")) {
			if (!parse_attribute(parser, &declaration->is_managed))
				return false;
		} else if (ptx_accept_word(parser, ".ptr")) {
			uint32_t pointee_align;

			while (ptx_at_word(parser, ".global") || ptx_at_word(parser, ".shared") ||
			       ptx_at_word(parser, ".const") || ptx_at_word(parser, ".local"))
				ptx_advance(parser);
			if (ptx_accept_word(parser, ".align") && !parse_align(parser, &pointee_align))
				return false;
		} else {
			break;
		}
	}
	if (declaration->type == PTX_NONE) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a type expected before '%.*s'",
			  ptx_token_width(&parser->token), parser->token.text);
		return false;
	}
	return true;
}

/* name[2][3], name[], name */
bool ptx_parse_declarator(struct ptx_parser *parser, struct ptx_declaration *declaration)
{
	uint64_t bytes = (uint64_t)ptx_type_bytes[declaration->type] * declaration->n_elements;

	if (parser->token.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a name expected before '%.*s'",
			  ptx_token_width(&parser->token), parser->token.text);
		return false;
	}
	declaration->name = parser->token;
	declaration->n_dimensions = 0;
	ptx_advance(parser);
	while (ptx_accept(parser, '[')) {
		uint64_t length = 0;

		if (declaration->n_dimensions == PTX_MAX_DIMENSIONS) {
			ptx_error(parser, SIM_UNSUPPORTED_PTX, declaration->line, "too many dimensions");
			return false;
		}
		if (!ptx_at(parser, ']') && !ptx_parse_int(parser, &length))
			return false;
		if (!ptx_expect(parser, ']'))
			return false;
		declaration->dimensions[declaration->n_dimensions++] = length;
		if (__builtin_mul_overflow(bytes, length, &bytes))
			bytes = UINT64_MAX;
	}
	if (declaration->align == 0)
		declaration->align = ptx_type_bytes[declaration->type] * declaration->n_elements;
	if (declaration->align == 0)
		declaration->align = 1;
	if (bytes > PTX_MAX_VARIABLE_BYTES) {
		ptx_error(parser, SIM_INVALID_PTX, declaration->line, "variable '%.*s' is too large",
			  ptx_token_width(&declaration->name), declaration->name.text);
		return false;
	}
	declaration->bytes = bytes;
	return true;
}

struct initialiser {
	struct ptx_vector data, fixups; /* uint8_t, struct ptx_data_fixup */
	const struct ptx_declaration *declaration;
	uint32_t element_bytes;
};

static void put_element(struct ptx_parser *parser, struct initialiser *initialiser, uint64_t value)
{
	uint8_t *to = ptx_append_n(parser, &initialiser->data, 1, initialiser->element_bytes);

	for (uint32_t i = 0; i < initialiser->element_bytes && i < sizeof(value); i++)
		to[i] = (uint8_t)(value >> (8 * i));
}

static bool parse_symbol_value(struct ptx_parser *parser, struct initialiser *initialiser, uint64_t mask)
{
	struct ptx_data_fixup *fixup;
	struct ptx_token name;
	bool is_generic = ptx_accept_word(parser, "generic");
	uint64_t addend = 0;
	uint32_t symbol;

	if (is_generic && !ptx_expect(parser, '('))
		return false;
	name = parser->token;
	if (name.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "a value expected before '%.*s'", ptx_token_width(&name),
			  name.text);
		return false;
	}
	ptx_advance(parser);
	symbol = ptx_find_symbol(parser, name.text, name.length);
	if (symbol == UINT32_MAX) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "'%.*s' is not declared", ptx_token_width(&name),
			  name.text);
		return false;
	}
	if (is_generic && !ptx_expect(parser, ')'))
		return false;
	if (ptx_accept(parser, '+')) {
		if (!ptx_parse_int(parser, &addend))
			return false;
	} else if (ptx_at(parser, '-') && !ptx_parse_int(parser, &addend)) {
		return false;
	}
	fixup = ptx_append(parser, &initialiser->fixups, sizeof(*fixup));
	fixup->offset = initialiser->data.n;
	fixup->bytes = (uint8_t)(initialiser->element_bytes < 8 ? initialiser->element_bytes : 8);
	fixup->shift = (uint8_t)(mask == 0 ? 0 : __builtin_ctzll(mask));
	fixup->symbol = symbol;
	fixup->addend = (int64_t)addend;
	fixup->line = name.line;
	put_element(parser, initialiser, 0);
	return true;
}

static bool parse_number_value(struct ptx_parser *parser, struct initialiser *initialiser)
{
	enum ptx_type type = initialiser->declaration->type;
	bool minus = ptx_accept(parser, '-');
	struct ptx_token token = parser->token;
	uint64_t value = token.value;

	ptx_advance(parser);
	if (token.kind == PTX_TOKEN_INT && !minus && ptx_accept(parser, '(')) {
		/* 0xFF00(generic(x)): the bytes of an address that a packed structure needs one by one. */
		return parse_symbol_value(parser, initialiser, token.value) && ptx_expect(parser, ')');
	}
	if (token.kind == PTX_TOKEN_INT) {
		value = minus ? 0 - value : value;
		if (type == PTX_F64 || type == PTX_F32) {
			double number = (double)(int64_t)value;
			float narrow = (float)number;
			uint32_t bits;

			memcpy(&value, &number, sizeof(value));
			memcpy(&bits, &narrow, sizeof(bits));
			if (type == PTX_F32)
				value = bits;
		}
	} else if (token.kind == PTX_TOKEN_FLOAT) {
		double number;
		float narrow;
		uint32_t bits = (uint32_t)value;

		if (token.is_f32) {
			memcpy(&narrow, &bits, sizeof(narrow));
			number = narrow;
		} else {
			memcpy(&number, &value, sizeof(number));
			narrow = (float)number;
			memcpy(&bits, &narrow, sizeof(bits));
		}
		if (ptx_type_bytes[type] == 4) {
			value = minus ? bits ^ 0x80000000u : bits;
		} else {
			memcpy(&value, &number, sizeof(value));
			value ^= minus ? 1ULL << 63 : 0;
		}
	} else {
		ptx_error(parser, SIM_INVALID_PTX, token.line, "a value expected before '%.*s'",
			  ptx_token_width(&token), token.text);
		return false;
	}
	put_element(parser, initialiser, value);
	return true;
}

/* Fills up to a whole row of the dimensions inside the brace pair that just closed. */
static void pad_row(struct ptx_parser *parser, struct initialiser *initialiser, uint32_t depth)
{
	const struct ptx_declaration *declaration = initialiser->declaration;
	uint64_t row = initialiser->element_bytes;

	for (uint32_t i = depth; i < declaration->n_dimensions; i++)
		if (__builtin_mul_overflow(row, declaration->dimensions[i], &row) || row > PTX_MAX_VARIABLE_BYTES)
			return;
	if (row == 0 || initialiser->data.n % row == 0 || row > declaration->bytes)
		return;
	ptx_append_n(parser, &initialiser->data, 1, (uint32_t)(row - initialiser->data.n % row));
}

static bool parse_initialiser_values(struct ptx_parser *parser, struct initialiser *initialiser)
{
	uint32_t depth = 0;

	do {
		while (ptx_accept(parser, '{'))
			if (++depth > PTX_MAX_BRACES) {
				ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "braces nested too deeply");
				return false;
			}
		if (!ptx_at(parser, '}')) {
			bool good = parser->token.kind == PTX_TOKEN_WORD ? parse_symbol_value(parser, initialiser, 0)
									 : parse_number_value(parser, initialiser);

			if (!good)
				return false;
		}
		while (depth > 0 && ptx_accept(parser, '}')) {
			depth--;
			pad_row(parser, initialiser, depth);
		}
		if (initialiser->data.n > PTX_MAX_DATA_BYTES || parser->stop)
			break;
	} while (depth > 0 && ptx_expect(parser, ',') && !parser->stop);
	return depth == 0 && !parser->stop;
}

static bool parse_initialiser(struct ptx_parser *parser, struct ptx_declaration *declaration, uint32_t symbol_index)
{
	struct initialiser initialiser = { .declaration = declaration,
					   .element_bytes = ptx_type_bytes[declaration->type] };
	struct ptx_symbol *symbol;
	bool good;

	good = initialiser.element_bytes > 0 && parse_initialiser_values(parser, &initialiser);
	if (good && declaration->n_dimensions > 0 && declaration->dimensions[0] == 0)
		declaration->bytes = initialiser.data.n;
	if (good && initialiser.data.n > declaration->bytes) {
		ptx_error(parser, SIM_INVALID_PTX, declaration->line, "more values than '%.*s' has room for",
			  ptx_token_width(&declaration->name), declaration->name.text);
		good = false;
	}
	if (good && initialiser.data.n < declaration->bytes)
		good = ptx_append_n(parser, &initialiser.data, 1,
				    (uint32_t)(declaration->bytes - initialiser.data.n)) != NULL &&
		       !parser->stop;
	if (!good) {
		if (!parser->stop && parser->status == SIM_OK)
			ptx_error(parser, SIM_INVALID_PTX, declaration->line, "bad initialiser");
		free(initialiser.data.items);
		free(initialiser.fixups.items);
		return false;
	}
	symbol = ptx_symbol_at(parser, symbol_index);
	free(symbol->data);
	free(symbol->fixups);
	symbol->data = initialiser.data.items;
	symbol->fixups = initialiser.fixups.items;
	symbol->n_fixups = initialiser.fixups.n;
	return true;
}

/* The symbol of a variable: the one declared before, when this completes an .extern. */
static uint32_t variable_symbol(struct ptx_parser *parser, const struct ptx_declaration *declaration,
				enum ptx_symbol_kind kind, bool is_extern)
{
	uint32_t index;

	if (parser->function != NULL)
		return ptx_add_symbol(parser, &declaration->name, true);
	index = ptx_find_symbol(parser, declaration->name.text, declaration->name.length);
	if (index == UINT32_MAX)
		return ptx_add_symbol(parser, &declaration->name, false);
	if (ptx_symbol_at(parser, index)->kind != kind || (!ptx_symbol_at(parser, index)->is_extern && !is_extern)) {
		ptx_error(parser, SIM_INVALID_PTX, declaration->line, "'%.*s' is declared twice",
			  ptx_token_width(&declaration->name), declaration->name.text);
		return UINT32_MAX;
	}
	return index;
}

/* Constants have a bank of their own on a device; initial values are held here until they are written. */
static bool size_allowed(struct ptx_parser *parser, const struct ptx_declaration *declaration,
			 enum ptx_symbol_kind kind)
{
	bool initialised = ptx_at(parser, '=');

	if ((kind != PTX_SYMBOL_CONST || declaration->bytes <= PTX_MAX_CONST_BYTES) &&
	    (!initialised || declaration->bytes <= PTX_MAX_INITIALISED_BYTES))
		return true;
	ptx_error(parser, kind == PTX_SYMBOL_CONST ? SIM_INVALID_PTX : SIM_UNSUPPORTED_PTX, declaration->line,
		  "'%.*s' is too large", ptx_token_width(&declaration->name), declaration->name.text);
	return false;
}

/* A .global, .const or .shared statement, behind the space; several declarators may follow one type. */
bool ptx_parse_variables(struct ptx_parser *parser, enum ptx_symbol_kind kind, bool is_extern)
{
	struct ptx_declaration declaration;

	if (!ptx_parse_variable_type(parser, &declaration))
		return false;
	do {
		struct ptx_symbol *symbol;
		uint32_t index;

		if (!ptx_parse_declarator(parser, &declaration) || !size_allowed(parser, &declaration, kind))
			return false;
		index = variable_symbol(parser, &declaration, kind, is_extern);
		if (index == UINT32_MAX)
			return false;
		symbol = ptx_symbol_at(parser, index);
		symbol->kind = kind;
		symbol->align = declaration.align;
		symbol->is_extern = is_extern;
		symbol->is_managed = declaration.is_managed;
		if (ptx_accept(parser, '=') && !parse_initialiser(parser, &declaration, index))
			return false;
		symbol = ptx_symbol_at(parser, index);
		symbol->bytes = declaration.bytes;
		symbol->is_dynamic_shared = kind == PTX_SYMBOL_SHARED && is_extern && declaration.bytes == 0;
		if (parser->function != NULL) {
			struct ptx_name *name = ptx_add_name(parser, &declaration.name, PTX_NAME_VARIABLE);

			name->offset = index;
			name->bytes = (uint32_t)declaration.bytes;
		}
	} while (ptx_accept(parser, ','));
	return ptx_expect(parser, ';');
}

/* Takes `bytes` of a growing area; false, with an error, past the limit. */
bool ptx_reserve_area(struct ptx_parser *parser, const struct ptx_declaration *declaration, uint32_t limit,
		      uint32_t *area, uint32_t *ret_offset)
{
	uint64_t start = ((uint64_t)*area + declaration->align - 1) & ~(uint64_t)(declaration->align - 1);

	if (start + declaration->bytes > limit) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, declaration->line, "'%.*s' is too large",
			  ptx_token_width(&declaration->name), declaration->name.text);
		return false;
	}
	*ret_offset = (uint32_t)start;
	*area = (uint32_t)(start + declaration->bytes);
	return true;
}

/* A .local or .param statement of a function body. */
bool ptx_parse_frame_variables(struct ptx_parser *parser, enum ptx_name_kind kind)
{
	struct ptx_declaration declaration;

	if (!ptx_parse_variable_type(parser, &declaration))
		return false;
	do {
		struct ptx_function *function = parser->function;
		bool is_local = kind == PTX_NAME_LOCAL;
		struct ptx_name *name;
		uint32_t offset;

		if (!ptx_parse_declarator(parser, &declaration))
			return false;
		if (!ptx_reserve_area(parser, &declaration, is_local ? PTX_MAX_LOCAL_BYTES : PTX_MAX_PARAM_BYTES * 16,
				      is_local ? &function->local_bytes : &function->params_bytes, &offset))
			return false;
		name = ptx_add_name(parser, &declaration.name, kind);
		name->offset = offset;
		name->bytes = (uint32_t)declaration.bytes;
	} while (ptx_accept(parser, ','));
	return ptx_expect(parser, ';');
}

/* .reg .b32 %r<10>, a, b; */
bool ptx_parse_registers(struct ptx_parser *parser)
{
	enum ptx_type type = ptx_type_of_token(&parser->token);
	uint32_t bytes;

	if (type == PTX_NONE) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "register type '%.*s' is not supported",
			  ptx_token_width(&parser->token), parser->token.text);
		return false;
	}
	ptx_advance(parser);
	bytes = ptx_type_bytes[type] == 1 ? 2 : ptx_type_bytes[type];
	do {
		struct ptx_token token = parser->token;
		struct ptx_name *name;
		uint64_t count = 0;

		if (token.kind != PTX_TOKEN_WORD) {
			ptx_error(parser, SIM_INVALID_PTX, token.line, "a register name expected before '%.*s'",
				  ptx_token_width(&token), token.text);
			return false;
		}
		ptx_advance(parser);
		if (ptx_accept(parser, '<')) {
			if (!ptx_parse_int(parser, &count) || !ptx_expect(parser, '>'))
				return false;
			if (count == 0 || count > PTX_MAX_REGISTERS) {
				ptx_error(parser, SIM_INVALID_PTX, token.line, "bad number of registers");
				return false;
			}
		}
		name = ptx_add_name(parser, &token, PTX_NAME_REGISTER);
		name->count = (uint32_t)count;
		name->bytes = bytes;
		name->is_byte = ptx_type_bytes[type] == 1;
		name->stride = ptx_register_stride(bytes);
		name->offset = ptx_reserve_registers(parser, bytes, count == 0 ? 1 : (uint32_t)count);
	} while (ptx_accept(parser, ',') && !parser->stop);
	return ptx_expect(parser, ';');
}

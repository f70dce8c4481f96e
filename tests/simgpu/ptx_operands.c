/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_operands.c - the operands of an instruction: registers, immediates, addresses, vectors, memory.
 *
 * A special register, a .local variable or dynamic shared memory as an operand is read into a fresh register by an
 * instruction put in front. Any thread; all state is in the parser and the decoder.
 */
#include "ptx_decode.h"
#include "ptx_select.h"

#include <string.h>

static const struct sreg_info {
	const char *text;
	uint32_t bytes;
} sregs[] = {
#define PTX_SREG(id, text, bytes) { text, bytes },
#include "ptx_sregs.def"
};

#define N_SREG_NAMES (sizeof(sregs) / sizeof(sregs[0]))

bool decode_error(struct decoder *decoder, enum sim_status status, const char *what)
{
	size_t length = (size_t)(decoder->opcode_end - decoder->start.text);

	ptx_error(decoder->parser, status, decoder->start.line, "%s in '%.*s'", what, length > 80 ? 80 : (int)length,
		  decoder->start.text);
	return false;
}

/* --- emitting --------------------------------------------------------------------------------- */

void ptx_append_insn(struct ptx_parser *parser, const struct ptx_insn *insn)
{
	struct ptx_insn *slot = ptx_append(parser, &parser->code, sizeof(*slot));

	if (!parser->stop)
		*slot = *insn;
}

void decode_init_operands(struct ptx_insn *insn)
{
	for (uint32_t i = 0; i < PTX_MAX_OPERANDS; i++)
		insn->o[i].kind = PTX_OPERAND_NONE;
}

void decode_append_read_special(struct decoder *decoder, uint32_t sreg, struct ptx_operand to, int64_t addend)
{
	struct ptx_insn insn = { 0 };

	decode_init_operands(&insn);
	insn.op = PTX_OP_READ_SPECIAL;
	insn.guard = PTX_NO_GUARD;
	insn.line = decoder->start.line;
	insn.target = sreg;
	insn.displacement[0] = addend;
	insn.o[0] = to;
	insn.n_outputs = 1;
	insn.cost = sreg >= PTX_SREG_CLOCK && sreg <= PTX_SREG_GLOBALTIMER_HI ? PTX_COST_CLOCK : PTX_COST_ALU;
	select_read_special(&insn);
	ptx_append_insn(decoder->parser, &insn);
}

static struct ptx_operand read_special(struct decoder *decoder, uint32_t sreg, uint32_t bytes, int64_t addend)
{
	struct ptx_operand operand = { .kind = PTX_OPERAND_REG, .bytes = (uint8_t)bytes };

	operand.offset = ptx_new_register(decoder->parser, bytes);
	decode_append_read_special(decoder, sreg, operand, addend);
	return operand;
}

/* 32 equal lanes in the function's constant block. */
static struct ptx_operand new_constant(struct ptx_parser *parser, uint64_t value, uint32_t bytes)
{
	struct ptx_operand operand = { .kind = PTX_OPERAND_CONST, .bytes = (uint8_t)bytes };
	uint32_t total = bytes == 0 ? sizeof(uint32_t) : bytes * SIM_LANES;
	uint32_t padding = (0 - parser->constants.n) & 15;
	uint8_t *lanes;

	ptx_append_n(parser, &parser->constants, 1, padding);
	operand.offset = parser->constants.n;
	lanes = ptx_append_n(parser, &parser->constants, 1, total);
	if (parser->stop)
		return operand;
	if (bytes == 0) {
		uint32_t mask = value != 0 ? UINT32_MAX : 0;

		memcpy(lanes, &mask, sizeof(mask));
		return operand;
	}
	for (uint32_t lane = 0; lane < SIM_LANES; lane++)
		memcpy(lanes + (size_t)lane * bytes, &value, bytes < sizeof(value) ? bytes : sizeof(value));
	return operand;
}

static struct ptx_operand constant(struct ptx_parser *parser, uint64_t value, uint32_t bytes)
{
	uint32_t slot = (uint32_t)((value ^ value >> 32 ^ value >> 7) * 31 + bytes) % 64;
	struct ptx_cached_constant *cached = &parser->constant_cache[slot];
	struct ptx_operand operand = { .kind = PTX_OPERAND_CONST, .bytes = (uint8_t)bytes };

	if (cached->bytes_plus_1 == bytes + 1 && cached->value == value) {
		operand.offset = cached->offset;
		return operand;
	}
	operand = new_constant(parser, value, bytes);
	cached->value = value;
	cached->bytes_plus_1 = bytes + 1;
	cached->offset = operand.offset;
	return operand;
}

static void note_shared_user(struct ptx_parser *parser, struct ptx_symbol *symbol)
{
	struct ptx_function *function = parser->function;

	if (symbol->kind != PTX_SYMBOL_SHARED)
		return;
	if (!function->is_entry || (symbol->user != NULL && symbol->user != function))
		symbol->has_users = true;
	symbol->user = function;
}

/* The address of a symbol plus `addend`. */
static struct ptx_operand symbol_address(struct decoder *decoder, uint32_t index, int64_t addend, uint32_t bytes)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_symbol *symbol = (struct ptx_symbol *)parser->symbols.items + index;
	struct ptx_constant_fixup *fixup;
	struct ptx_operand operand;

	note_shared_user(parser, symbol);
	if (symbol->is_dynamic_shared) {
		if (symbol->align > parser->function->shared_align)
			parser->function->shared_align = symbol->align;
		return read_special(decoder, PTX_SREG_DYNAMIC_SHARED, bytes, addend);
	}
	operand = new_constant(parser, 0, bytes);
	fixup = ptx_append(parser, &parser->fixups, sizeof(*fixup));
	fixup->offset = operand.offset;
	fixup->bytes = (uint8_t)bytes;
	fixup->symbol = index;
	fixup->addend = addend;
	fixup->line = decoder->start.line;
	return operand;
}

/* --- operands --------------------------------------------------------------------------------- */

bool decode_bad_operand(struct decoder *decoder, const char *expected)
{
	const struct ptx_token *token = &decoder->parser->token;
	size_t length = token->length > 60 ? 60 : token->length;

	if (token->kind == PTX_TOKEN_END)
		ptx_error(decoder->parser, SIM_INVALID_PTX, token->line, "%s expected before the end of the text",
			  expected);
	else
		ptx_error(decoder->parser, SIM_INVALID_PTX, token->line, "%s expected before '%.*s' in '%.*s'",
			  expected, (int)length, token->text, (int)(decoder->opcode_end - decoder->start.text),
			  decoder->start.text);
	return false;
}

static bool size_fits(const struct decoder *decoder, uint32_t register_bytes, uint32_t type_bytes)
{
	if (register_bytes == type_bytes)
		return true;
	if (register_bytes == 0 || type_bytes == 0)
		return false;
	return (decoder->loose_sizes && register_bytes > type_bytes) || (type_bytes == 1 && register_bytes == 2);
}

static bool check_size(struct decoder *decoder, const struct ptx_token *token, uint32_t bytes, enum ptx_type type)
{
	if (size_fits(decoder, bytes, ptx_type_bytes[type]))
		return true;
	ptx_error(decoder->parser, SIM_INVALID_PTX, token->line, "register '%.*s' does not fit type %s in '%.*s'",
		  token->length > 60 ? 60 : (int)token->length, token->text, ptx_type_text[type],
		  (int)(decoder->opcode_end - decoder->start.text), decoder->start.text);
	return false;
}

/* The special register at the parser, consumed; PTX_N_SREGS when there is none. */
uint32_t decode_accept_sreg(struct ptx_parser *parser)
{
	struct ptx_token token = parser->token;
	struct ptx_lexer lexer = parser->lexer;
	struct ptx_token dot;
	size_t length = token.length;

	if (token.kind != PTX_TOKEN_WORD || token.text[0] != '%')
		return PTX_N_SREGS;
	ptx_lexer_next(&lexer, &dot);
	if (dot.kind == PTX_TOKEN_DOTTED && dot.text == token.text + token.length)
		length += dot.length;
	for (uint32_t i = 0; i < N_SREG_NAMES; i++) {
		if (strlen(sregs[i].text) != length || memcmp(sregs[i].text, token.text, length) != 0)
			continue;
		ptx_advance(parser);
		if (length > token.length)
			ptx_advance(parser);
		return i;
	}
	return PTX_N_SREGS;
}

static uint64_t immediate_bits(const struct ptx_token *token, enum ptx_type type, bool minus)
{
	double number;
	float narrow;
	uint32_t bits = (uint32_t)token->value;
	uint64_t value = token->value;

	if (token->kind == PTX_TOKEN_INT && type != PTX_F32 && type != PTX_F64)
		return minus ? 0 - value : value;
	if (token->kind == PTX_TOKEN_INT) {
		number = (double)value;
		narrow = (float)value;
	} else if (token->is_f32) {
		memcpy(&narrow, &bits, sizeof(narrow));
		number = narrow;
	} else {
		memcpy(&number, &value, sizeof(number));
		narrow = (float)number;
	}
	if (ptx_type_bytes[type] == 4) {
		narrow = minus ? -narrow : narrow;
		memcpy(&bits, &narrow, sizeof(bits));
		/* A conversion may alter a NaN's payload: keep the bits as written. */
		return token->is_f32 && !minus ? (uint32_t)token->value : bits;
	}
	number = minus ? -number : number;
	memcpy(&value, &number, sizeof(value));
	return value;
}

static bool parse_immediate(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	bool minus = ptx_accept(parser, '-');
	struct ptx_token token = parser->token;

	if (token.kind != PTX_TOKEN_INT && token.kind != PTX_TOKEN_FLOAT)
		return decode_bad_operand(decoder, "an operand");
	ptx_advance(parser);
	*ret_operand = constant(parser, immediate_bits(&token, type, minus), ptx_type_bytes[type]);
	return true;
}

static bool parse_offset(struct ptx_parser *parser, int64_t *ret_offset)
{
	uint64_t offset = 0;

	if (ptx_accept(parser, '+')) {
		if (!ptx_parse_int(parser, &offset))
			return false;
	} else if (parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '-') {
		if (!ptx_parse_int(parser, &offset))
			return false;
	}
	*ret_offset = (int64_t)offset;
	return true;
}

/* A function's parameter is in registers, so to speak: its address is that of a copy in local memory, which a lane
 * makes when it first takes it. */
static bool param_address(struct decoder *decoder, const struct ptx_name *name, uint32_t offset, int64_t addend,
			  uint32_t bytes, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_declaration copy = {
		.name = decoder->start, .line = decoder->start.line, .align = 16, .bytes = name->bytes
	};
	struct ptx_insn insn = { .op = PTX_OP_COPY_PARAM, .guard = PTX_NO_GUARD, .line = decoder->start.line };
	struct ptx_name *param =
		(struct ptx_name *)parser->names.items + (name - (struct ptx_name *)parser->names.items);
	uint32_t local;

	if (param->copy == 0) {
		if (!ptx_reserve_area(parser, &copy, PTX_MAX_LOCAL_BYTES, &parser->function->local_bytes, &local))
			return false;
		param->copy = local + 1;
		param->copied = ptx_new_register(parser, 0);
	}
	local = param->copy - 1;
	decode_init_operands(&insn);
	insn.o[0] = (struct ptx_operand){ .kind = PTX_OPERAND_REG, .offset = param->copied };
	insn.displacement[0] = offset;
	insn.displacement[1] = local;
	insn.displacement[2] = name->bytes;
	insn.cost = PTX_COST_STORE;
	select_copy_param(&insn);
	ptx_append_insn(parser, &insn);
	*ret_operand = read_special(decoder, PTX_SREG_LOCAL, bytes, (int64_t)local + addend);
	return true;
}

/* A register, or the address of something; behind a name that is known or not. */
static bool parse_named_source(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_token token = parser->token;
	uint32_t offset, symbol, sreg, bytes = ptx_type_bytes[type];
	const struct ptx_name *name = ptx_find_name(parser, &token, &offset);
	int64_t addend;

	if (name != NULL && name->kind == PTX_NAME_REGISTER) {
		ptx_advance(parser);
		if (!check_size(decoder, &token, name->bytes, type))
			return false;
		*ret_operand = (struct ptx_operand){ .kind = PTX_OPERAND_REG,
						     .bytes = (uint8_t)name->bytes,
						     .is_byte = name->is_byte,
						     .offset = offset };
		return true;
	}
	sreg = name == NULL ? decode_accept_sreg(parser) : PTX_N_SREGS;
	if (sreg != PTX_N_SREGS) {
		*ret_operand = read_special(decoder, sreg, bytes, 0);
		return true;
	}
	if (name == NULL && ptx_token_is(&token, "WARP_SZ")) {
		ptx_advance(parser);
		*ret_operand = constant(parser, SIM_LANES, bytes);
		return true;
	}
	symbol = name != NULL && name->kind == PTX_NAME_VARIABLE ? name->offset
		 : name != NULL                                  ? UINT32_MAX
								 : ptx_find_symbol(parser, token.text, token.length);
	if (name == NULL && symbol == UINT32_MAX) {
		ptx_error(parser, token.text[0] == '%' ? SIM_UNSUPPORTED_PTX : SIM_INVALID_PTX, token.line,
			  "'%.*s' is not declared", token.length > 60 ? 60 : (int)token.length, token.text);
		return false;
	}
	if (bytes != 4 && bytes != 8)
		return decode_bad_operand(decoder, "a register or a number");
	ptx_advance(parser);
	if (!parse_offset(parser, &addend))
		return false;
	if (symbol != UINT32_MAX) {
		*ret_operand = symbol_address(decoder, symbol, addend, bytes);
	} else if (name->kind == PTX_NAME_LOCAL) {
		*ret_operand = read_special(decoder, PTX_SREG_LOCAL, bytes, (int64_t)offset + addend);
	} else if (name->kind == PTX_NAME_ENTRY_PARAM) {
		*ret_operand = constant(parser, (uint64_t)((int64_t)offset + addend), bytes);
	} else {
		return param_address(decoder, name, offset, addend, bytes, ret_operand);
	}
	return true;
}

bool decode_source(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	bool negate = type == PTX_PRED && ptx_accept(parser, '!');

	if (parser->token.kind == PTX_TOKEN_WORD) {
		if (!parse_named_source(decoder, type, ret_operand))
			return false;
	} else if (!parse_immediate(decoder, type, ret_operand)) {
		return false;
	}
	ret_operand->negate = negate;
	return true;
}

bool decode_destination(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_token token = parser->token;
	const struct ptx_name *name;
	uint32_t offset;

	if (token.kind != PTX_TOKEN_WORD)
		return decode_bad_operand(decoder, "a register");
	if (ptx_token_is(&token, "_")) {
		ptx_advance(parser);
		*ret_operand = (struct ptx_operand){ .kind = PTX_OPERAND_REG,
						     .bytes = ptx_type_bytes[type],
						     .offset = parser->sink };
		return true;
	}
	name = ptx_find_name(parser, &token, &offset);
	if (name == NULL || name->kind != PTX_NAME_REGISTER)
		return decode_bad_operand(decoder, "a register");
	ptx_advance(parser);
	*ret_operand = (struct ptx_operand){
		.kind = PTX_OPERAND_REG, .bytes = (uint8_t)name->bytes, .is_byte = name->is_byte, .offset = offset
	};
	return check_size(decoder, &token, name->bytes, type);
}

/* In a mov a number takes the width of the registers beside it: it is kept wide, and read as far as needed. */
static bool parse_element(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	bool is_number = decoder->parser->token.kind != PTX_TOKEN_WORD;

	return decode_source(decoder, type == PTX_B8 && is_number ? PTX_B64 : type, ret_operand);
}

/* {a, b, c, d}: the operands go to the function's elements. */
bool decode_vector(struct decoder *decoder, enum ptx_type type, bool is_source, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_operand items[8], *slots;
	uint32_t n = 0, bytes = 0;

	if (!ptx_expect(parser, '{'))
		return false;
	do {
		if (n == 8)
			return decode_error(decoder, SIM_UNSUPPORTED_PTX, "a vector of more than 8 elements");
		if (is_source ? !parse_element(decoder, type, &items[n])
			      : !decode_destination(decoder, type, &items[n]))
			return false;
		if (items[n].kind == PTX_OPERAND_REG && items[n].offset != parser->sink && bytes == 0)
			bytes = items[n].bytes;
		n++;
	} while (ptx_accept(parser, ','));
	if (!ptx_expect(parser, '}'))
		return false;
	ret_operand->kind = PTX_OPERAND_VECTOR;
	ret_operand->n_elements = (uint8_t)n;
	ret_operand->bytes = (uint8_t)(bytes == 0 ? items[0].bytes : bytes);
	ret_operand->negate = false;
	ret_operand->offset = parser->elements.n;
	slots = ptx_append_n(parser, &parser->elements, sizeof(*slots), n);
	if (!parser->stop)
		memcpy(slots, items, n * sizeof(*slots));
	return true;
}

/* Vectors of ld and st: as many elements as the instruction says, one when it says nothing. */
bool decode_scalar_or_vector(struct decoder *decoder, enum ptx_type type, bool is_source,
			     struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_operand *slot, single;
	bool has_brace = parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '{';

	if (has_brace) {
		if (!decode_vector(decoder, type, is_source, ret_operand))
			return false;
		if (ret_operand->n_elements != decoder->insn.n_elements)
			return decode_error(decoder, SIM_INVALID_PTX, "wrong number of vector elements");
		return true;
	}
	if (decoder->insn.n_elements != 1)
		return decode_bad_operand(decoder, "'{'");
	if (is_source ? !decode_source(decoder, type, &single) : !decode_destination(decoder, type, &single))
		return false;
	*ret_operand = single;
	ret_operand->kind = PTX_OPERAND_VECTOR;
	ret_operand->n_elements = 1;
	ret_operand->offset = parser->elements.n;
	slot = ptx_append(parser, &parser->elements, sizeof(*slot));
	if (!parser->stop)
		*slot = single;
	return true;
}

/* [register + n], [variable + n], [n] */
bool decode_memory(struct decoder *decoder, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_insn *insn = &decoder->insn;
	struct ptx_token token;
	const struct ptx_name *name = NULL;
	int64_t addend = 0;
	uint32_t offset = 0;

	if (!ptx_expect(parser, '['))
		return false;
	token = parser->token;
	if (token.kind == PTX_TOKEN_WORD)
		name = ptx_find_name(parser, &token, &offset);
	if (name != NULL && name->kind == PTX_NAME_REGISTER && name->bytes != 4 && name->bytes != 8)
		return decode_bad_operand(decoder, "a 32-bit or 64-bit register");
	if (name != NULL && (name->kind == PTX_NAME_PARAM || name->kind == PTX_NAME_ENTRY_PARAM)) {
		ptx_advance(parser);
		if (!parse_offset(parser, &addend))
			return false;
		if (addend < 0 || addend > (int64_t)name->bytes)
			return decode_error(decoder, SIM_INVALID_PTX, "an offset outside of the parameter");
		addend += offset;
		insn->target = name->kind == PTX_NAME_PARAM ? PTX_PARAM_FRAME : PTX_PARAM_ENTRY;
		*ret_operand = constant(parser, 0, 8);
	} else if (name != NULL && name->kind == PTX_NAME_REGISTER) {
		ptx_advance(parser);
		*ret_operand = (struct ptx_operand){ .kind = PTX_OPERAND_REG,
						     .bytes = (uint8_t)name->bytes,
						     .offset = offset };
		if (!parse_offset(parser, &addend))
			return false;
	} else if (!decode_source(decoder, PTX_U64, ret_operand)) {
		return false;
	}
	if (insn->n_memory == 3)
		return decode_error(decoder, SIM_INVALID_PTX, "too many memory operands");
	insn->memory[insn->n_memory] = (uint8_t)decoder->n_operands;
	insn->displacement[insn->n_memory++] = addend;
	return ptx_expect(parser, ']');
}

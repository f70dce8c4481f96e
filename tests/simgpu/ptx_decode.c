/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_decode.c - one PTX instruction to one struct ptx_insn.
 *
 * What an opcode takes is in ptx_ops.def, what a modifier means in ptx_mods.def; this file reads operands by the shape
 * the table gives and leaves the choice of the handler to the opcode's select function. A special register, a .local
 * variable or dynamic shared memory as an operand is read into a fresh register by an instruction put in front.
 */
#include "ptx_parse.h"
#include "ptx_select.h"

#include <stdlib.h>
#include <string.h>

#define K(id) (1u << PTX_KIND_##id)
#define F(id) PTX_FLAG(id)

struct op_info {
	const char *name;
	const char *shape;
	uint32_t kinds;
	uint64_t flags;
	enum ptx_cost cost;
	uint8_t properties;
	bool (*select)(struct ptx_insn *insn);
};

static const struct op_info ops[PTX_N_OPS] = {
#define PTX_OP(id, name, shape, kinds, flags, cost, properties, select) \
	[PTX_OP_##id] = { name, shape, kinds, flags, PTX_COST_##cost, properties, select },
#include "ptx_ops.def"
};

struct mod_info {
	const char *text;
	uint8_t kind;
	uint8_t mod;
};

static const struct mod_info mods[] = {
#define PTX_MOD(kind, id, text)       { text, PTX_KIND_##kind, PTX_M_##id },
#define PTX_MOD_ALIAS(kind, id, text) { text, PTX_KIND_##kind, PTX_M_##id },
#include "ptx_mods.def"
};

static const struct sreg_info {
	const char *text;
	uint32_t bytes;
} sregs[] = {
#define PTX_SREG(id, text, bytes) { text, bytes },
#include "ptx_sregs.def"
};

#define N_SREG_NAMES (sizeof(sregs) / sizeof(sregs[0]))

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

static bool decode_error(struct decoder *decoder, enum sim_status status, const char *what)
{
	size_t length = (size_t)(decoder->opcode_end - decoder->start.text);

	ptx_error(decoder->parser, status, decoder->start.line, "%s in '%.*s'", what, length > 80 ? 80 : (int)length,
		  decoder->start.text);
	return false;
}

/* --- emitting ------------------------------------------------------------------------------------------------------
 */

static void append_insn(struct ptx_parser *parser, const struct ptx_insn *insn)
{
	struct ptx_insn *slot = ptx_append(parser, &parser->code, sizeof(*slot));

	if (!parser->stop)
		*slot = *insn;
}

static void init_operands(struct ptx_insn *insn)
{
	for (uint32_t i = 0; i < PTX_MAX_OPERANDS; i++)
		insn->o[i].kind = PTX_OPERAND_NONE;
}

static void append_read_special(struct decoder *decoder, uint32_t sreg, struct ptx_operand to, int64_t addend)
{
	struct ptx_insn insn = { 0 };

	init_operands(&insn);
	insn.op = PTX_OP_READ_SPECIAL;
	insn.guard = PTX_NO_GUARD;
	insn.line = decoder->start.line;
	insn.target = sreg;
	insn.displacement[0] = addend;
	insn.o[0] = to;
	insn.cost = sreg >= PTX_SREG_CLOCK && sreg <= PTX_SREG_GLOBALTIMER_HI ? PTX_COST_CLOCK : PTX_COST_ALU;
	select_read_special(&insn);
	append_insn(decoder->parser, &insn);
}

static struct ptx_operand read_special(struct decoder *decoder, uint32_t sreg, uint32_t bytes, int64_t addend)
{
	struct ptx_operand operand = { .kind = PTX_OPERAND_REG, .bytes = (uint8_t)bytes };

	operand.offset = ptx_new_register(decoder->parser, bytes);
	append_read_special(decoder, sreg, operand, addend);
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

/* --- operands ------------------------------------------------------------------------------------------------------
 */

static bool bad_operand(struct decoder *decoder, const char *expected)
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
static uint32_t accept_sreg(struct ptx_parser *parser)
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
		return bad_operand(decoder, "an operand");
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
						     .offset = offset };
		return true;
	}
	sreg = name == NULL ? accept_sreg(parser) : PTX_N_SREGS;
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
		return bad_operand(decoder, "a register or a number");
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
		return decode_error(decoder, SIM_UNSUPPORTED_PTX, "the address of a function's parameter");
	}
	return true;
}

static bool parse_source(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
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

static bool parse_destination(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_token token = parser->token;
	const struct ptx_name *name;
	uint32_t offset;

	if (token.kind != PTX_TOKEN_WORD)
		return bad_operand(decoder, "a register");
	if (ptx_token_is(&token, "_")) {
		ptx_advance(parser);
		*ret_operand = (struct ptx_operand){ .kind = PTX_OPERAND_REG,
						     .bytes = ptx_type_bytes[type],
						     .offset = parser->sink };
		return true;
	}
	name = ptx_find_name(parser, &token, &offset);
	if (name == NULL || name->kind != PTX_NAME_REGISTER)
		return bad_operand(decoder, "a register");
	ptx_advance(parser);
	*ret_operand = (struct ptx_operand){ .kind = PTX_OPERAND_REG, .bytes = (uint8_t)name->bytes, .offset = offset };
	return check_size(decoder, &token, name->bytes, type);
}

/* In a mov a number takes the width of the registers beside it: it is kept wide, and read as far as needed. */
static bool parse_element(struct decoder *decoder, enum ptx_type type, struct ptx_operand *ret_operand)
{
	bool is_number = decoder->parser->token.kind != PTX_TOKEN_WORD;

	return parse_source(decoder, type == PTX_B8 && is_number ? PTX_B64 : type, ret_operand);
}

/* {a, b, c, d}: the operands go to the function's elements. */
static bool parse_vector(struct decoder *decoder, enum ptx_type type, bool is_source, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_operand items[8], *slots;
	uint32_t n = 0, bytes = 0;

	if (!ptx_expect(parser, '{'))
		return false;
	do {
		if (n == 8)
			return decode_error(decoder, SIM_UNSUPPORTED_PTX, "a vector of more than 8 elements");
		if (is_source ? !parse_element(decoder, type, &items[n]) : !parse_destination(decoder, type, &items[n]))
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
static bool parse_scalar_or_vector(struct decoder *decoder, enum ptx_type type, bool is_source,
				   struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_operand *slot, single;
	bool has_brace = parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '{';

	if (has_brace) {
		if (!parse_vector(decoder, type, is_source, ret_operand))
			return false;
		if (ret_operand->n_elements != decoder->insn.n_elements)
			return decode_error(decoder, SIM_INVALID_PTX, "wrong number of vector elements");
		return true;
	}
	if (decoder->insn.n_elements != 1)
		return bad_operand(decoder, "'{'");
	if (is_source ? !parse_source(decoder, type, &single) : !parse_destination(decoder, type, &single))
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
static bool parse_memory(struct decoder *decoder, struct ptx_operand *ret_operand)
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
		return bad_operand(decoder, "a 32-bit or 64-bit register");
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
	} else if (!parse_source(decoder, PTX_U64, ret_operand)) {
		return false;
	}
	if (insn->n_memory == 3)
		return decode_error(decoder, SIM_INVALID_PTX, "too many memory operands");
	insn->memory[insn->n_memory] = (uint8_t)decoder->n_operands;
	insn->displacement[insn->n_memory++] = addend;
	return ptx_expect(parser, ']');
}

/* --- shapes --------------------------------------------------------------------------------------------------------
 */

static const char *barrier_shape(const struct ptx_insn *insn)
{
	if (insn->flags & F(WARP))
		return "su";
	if (insn->scope == PTX_M_SCOPE_CLUSTER)
		return "";
	if (insn->actions[0] == PTX_M_RED)
		return insn->actions[1] == PTX_M_POPC ? "du su ?su sp" : "dp su ?su sp";
	return insn->actions[0] == PTX_M_ARRIVE ? "su su" : "su ?su";
}

static const char *mbarrier_shape(const struct ptx_insn *insn)
{
	switch (insn->actions[0]) {
	case PTX_M_INIT:
	case PTX_M_EXPECT_TX:
	case PTX_M_COMPLETE_TX:
		return "m su";
	case PTX_M_INVAL:
		return "m";
	case PTX_M_ARRIVE:
	case PTX_M_ARRIVE_DROP:
		return "dq m ?su";
	case PTX_M_TEST_WAIT:
		return insn->flags & F(PARITY) ? "Pp m su" : "Pp m sq";
	case PTX_M_TRY_WAIT:
		return insn->flags & F(PARITY) ? "Pp m su ?su" : "Pp m sq ?su";
	case PTX_M_PENDING_COUNT:
		return "du sq";
	default:
		return NULL;
	}
}

static const char *copy_shape(const struct ptx_insn *insn)
{
	if (!(insn->flags & F(ASYNC)))
		return NULL;
	if (insn->flags & F(MBARRIER))
		return "m";
	switch (insn->actions[0]) {
	case PTX_M_COMMIT_GROUP:
	case PTX_M_WAIT_ALL:
		return "";
	case PTX_M_WAIT_GROUP:
		return "su";
	case PTX_M_NONE:
		break;
	default:
		return NULL;
	}
	if (insn->flags & F(BULK))
		return insn->flags & F(MBAR_TX) ? "m m su m" : "m m su";
	return "m m su ?su ?sq";
}

static const char *special_shape(const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_BAR:
	case PTX_OP_BARRIER:
		return barrier_shape(insn);
	case PTX_OP_MBARRIER:
		return mbarrier_shape(insn);
	case PTX_OP_CP:
		return copy_shape(insn);
	default:
		return NULL;
	}
}

static enum ptx_type widened(enum ptx_type type)
{
	switch (type) {
	case PTX_U16:
		return PTX_U32;
	case PTX_S16:
		return PTX_S32;
	case PTX_U32:
		return PTX_U64;
	case PTX_S32:
		return PTX_S64;
	default:
		return PTX_NONE;
	}
}

static bool role_type(struct decoder *decoder, char code, enum ptx_type *ret_type)
{
	const struct ptx_insn *insn = &decoder->insn;
	enum ptx_type type = PTX_NONE;

	switch (code) {
	case '0':
	case '1':
	case '2':
		type = (enum ptx_type)insn->types[code - '0'];
		break;
	case 'w':
		type = (enum ptx_type)insn->types[0];
		if (insn->flags & F(WIDE))
			type = widened(type);
		break;
	case 'u':
		type = PTX_U32;
		break;
	case 'q':
		type = PTX_U64;
		break;
	case 'h':
		type = PTX_U16;
		break;
	case 'p':
		type = PTX_PRED;
		break;
	case 'a':
		type = PTX_U64;
		break;
	default:
		break;
	}
	if (type == PTX_NONE)
		return decode_error(decoder, SIM_INVALID_PTX, "a type is missing");
	*ret_type = type;
	return true;
}

/* "[a, {b,} p": the token behind the comma decides whether the optional operand in front of a predicate is there. */
static bool at_predicate(struct ptx_parser *parser)
{
	const struct ptx_name *name;
	uint32_t offset;

	if (parser->token.kind == PTX_TOKEN_PUNCT)
		return parser->token.punct == '!';
	if (parser->token.kind != PTX_TOKEN_WORD)
		return false;
	name = ptx_find_name(parser, &parser->token, &offset);
	return name != NULL && name->kind == PTX_NAME_REGISTER && name->bytes == 0;
}

static bool parse_pair(struct decoder *decoder, enum ptx_type type)
{
	struct ptx_operand *o = decoder->insn.o;

	if (!parse_destination(decoder, type, &o[decoder->n_operands++]))
		return false;
	if (ptx_accept(decoder->parser, '|') && !parse_destination(decoder, PTX_PRED, &o[decoder->n_operands]))
		return false;
	decoder->n_operands++;
	return true;
}

static bool parse_role(struct decoder *decoder, char role, char code)
{
	struct ptx_operand *o = &decoder->insn.o[decoder->n_operands];
	struct ptx_parser *parser = decoder->parser;
	enum ptx_type type = PTX_NONE;

	if (role == 'l') {
		if (parser->token.kind != PTX_TOKEN_WORD)
			return bad_operand(decoder, "a label");
		decoder->label = parser->token;
		decoder->has_label = true;
		ptx_advance(parser);
		return true;
	}
	if (role != 'm' && !role_type(decoder, code, &type))
		return false;
	if (code == 'a') {
		bool loose = decoder->loose_sizes;
		bool good;

		decoder->loose_sizes = true;
		good = parse_source(decoder, PTX_U32, o);
		decoder->loose_sizes = loose;
		decoder->n_operands++;
		return good;
	}
	switch (role) {
	case 'D':
	case 'P':
		return parse_pair(decoder, type);
	case 'd':
		decoder->n_operands++;
		return parse_destination(decoder, type, o);
	case 's':
		decoder->n_operands++;
		return parse_source(decoder, type, o);
	case 'm':
		if (!parse_memory(decoder, o))
			return false;
		decoder->n_operands++;
		return true;
	case 'v':
		decoder->n_operands++;
		return parse_scalar_or_vector(decoder, type, false, o);
	case 'V':
		decoder->n_operands++;
		return parse_scalar_or_vector(decoder, type, true, o);
	default:
		return false;
	}
}

static bool parse_shape(struct decoder *decoder, const char *shape)
{
	struct ptx_parser *parser = decoder->parser;
	bool first = true, comma_taken = false;

	while (*shape != '\0') {
		bool optional = *shape == '?';
		char role, code;

		shape += optional;
		role = shape[0];
		code = role == 'm' || role == 'l' ? '\0' : shape[1];
		shape += code == '\0' ? 1 : 2;
		while (*shape == ' ')
			shape++;
		if (!first && !comma_taken) {
			if (optional && !(parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == ',')) {
				decoder->n_operands++;
				continue;
			}
			if (!ptx_expect(parser, ','))
				return false;
			comma_taken = true;
		}
		if (optional && code != 'p' && shape[0] == 's' && shape[1] == 'p' && at_predicate(parser)) {
			decoder->n_operands++;
			continue;
		}
		first = false;
		comma_taken = false;
		if (!parse_role(decoder, role, code))
			return false;
	}
	return true;
}

/* --- instructions with a syntax of their own ------------------------------------------------------------------------
 */

static bool parse_mov(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_insn *insn = &decoder->insn;
	enum ptx_type type = (enum ptx_type)insn->types[0];
	bool to_vector = parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '{';
	struct decoder parts = *decoder;
	uint32_t sreg;

	if (type == PTX_NONE)
		return decode_error(decoder, SIM_INVALID_PTX, "a type is missing");
	/* Elements of a packed operand have a width of their own. */
	parts.loose_sizes = true;
	if (to_vector ? !parse_vector(&parts, PTX_B8, false, &insn->o[0])
		      : !parse_destination(decoder, type, &insn->o[0]))
		return false;
	if (!ptx_expect(parser, ','))
		return false;
	if (!to_vector && type != PTX_PRED && insn->guard == PTX_NO_GUARD) {
		uint32_t offset;

		if (ptx_find_name(parser, &parser->token, &offset) == NULL) {
			sreg = accept_sreg(parser);
			if (sreg != PTX_N_SREGS) {
				append_read_special(decoder, sreg, insn->o[0], 0);
				insn->op = PTX_OP_READ_SPECIAL;
				return true;
			}
		}
	}
	if (parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '{') {
		if (to_vector)
			return decode_error(decoder, SIM_INVALID_PTX, "two vectors");
		return parse_vector(&parts, PTX_B8, true, &insn->o[1]);
	}
	return parse_source(decoder, type, &insn->o[1]);
}

static bool check_packing(struct decoder *decoder)
{
	const struct ptx_operand *elements = decoder->parser->elements.items;
	const struct ptx_insn *insn = &decoder->insn;

	for (uint32_t i = 0; i < 2; i++) {
		const struct ptx_operand *vector = &insn->o[i];
		uint32_t bytes = 0;

		if (vector->kind != PTX_OPERAND_VECTOR)
			continue;
		for (uint32_t k = 0; k < vector->n_elements && !decoder->parser->stop; k++) {
			if (elements[vector->offset + k].bytes != vector->bytes &&
			    elements[vector->offset + k].kind == PTX_OPERAND_REG &&
			    elements[vector->offset + k].offset != decoder->parser->sink)
				return decode_error(decoder, SIM_INVALID_PTX, "elements of different widths");
			bytes += vector->bytes;
		}
		if (bytes != insn->o[1 - i].bytes)
			return decode_error(decoder, SIM_INVALID_PTX, "elements that do not add up to the operand");
	}
	return true;
}

/* "(a, b)" of a call: .param variables by name, else registers or immediates. */
static bool parse_call_list(struct decoder *decoder, struct ptx_call_argument **ret_list, uint32_t *ret_n)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_vector list = { 0 };

	if (!ptx_expect(parser, '('))
		return false;
	if (ptx_accept(parser, ')'))
		return true;
	do {
		struct ptx_call_argument *argument = ptx_append(parser, &list, sizeof(*argument));
		const struct ptx_name *name;
		uint32_t offset;

		if (parser->token.kind != PTX_TOKEN_WORD) {
			free(list.items);
			return bad_operand(decoder, "a parameter");
		}
		name = ptx_find_name(parser, &parser->token, &offset);
		if (name == NULL || (name->kind != PTX_NAME_PARAM && name->kind != PTX_NAME_REGISTER)) {
			free(list.items);
			return bad_operand(decoder, "a parameter");
		}
		argument->is_param = name->kind == PTX_NAME_PARAM;
		argument->param.offset = offset;
		argument->param.bytes = name->bytes;
		argument->operand.kind = PTX_OPERAND_REG;
		argument->operand.bytes = (uint8_t)name->bytes;
		argument->operand.offset = offset;
		ptx_advance(parser);
	} while (ptx_accept(parser, ',') && !parser->stop);
	*ret_list = list.items;
	*ret_n = list.n;
	return ptx_expect(parser, ')');
}

static bool parse_call_target(struct decoder *decoder, struct ptx_call *call)
{
	struct ptx_parser *parser = decoder->parser;
	uint32_t symbol, offset;

	if (parser->token.kind != PTX_TOKEN_WORD)
		return bad_operand(decoder, "a function");
	if (ptx_find_name(parser, &parser->token, &offset) != NULL)
		return parse_source(decoder, PTX_U64, &decoder->insn.o[0]);
	symbol = ptx_find_symbol(parser, parser->token.text, parser->token.length);
	if (symbol != UINT32_MAX)
		call->target = ((struct ptx_symbol *)parser->symbols.items)[symbol].function;
	if (call->target == NULL)
		return bad_operand(decoder, "a function");
	ptx_advance(parser);
	return true;
}

static bool lists_match(const struct ptx_call_argument *list, uint32_t n, const struct ptx_param *params,
			uint32_t n_params)
{
	if (n != n_params)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t bytes = list[i].is_param ? list[i].param.bytes : list[i].operand.bytes;

		if (bytes != params[i].bytes)
			return false;
	}
	return true;
}

static bool parse_call(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	uint32_t index = parser->calls.n;
	struct ptx_call call = { 0 }, *slot;
	bool good = true;

	if (parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '(')
		good = parse_call_list(decoder, &call.results, &call.n_results) && ptx_expect(parser, ',');
	good = good && parse_call_target(decoder, &call);
	if (good && ptx_accept(parser, ',')) {
		bool more = true;

		if (parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '(') {
			good = parse_call_list(decoder, &call.arguments, &call.n_arguments);
			more = good && ptx_accept(parser, ',');
		}
		/* A prototype, or the list of possible targets: nothing to do with it. */
		if (more && parser->token.kind == PTX_TOKEN_WORD)
			ptx_advance(parser);
	}
	if (good && call.target != NULL &&
	    (!lists_match(call.arguments, call.n_arguments, call.target->params, call.target->n_params) ||
	     !lists_match(call.results, call.n_results, call.target->results, call.target->n_results)))
		good = decode_error(decoder, SIM_INVALID_PTX, "arguments that do not match the function's");
	slot = good ? ptx_append(parser, &parser->calls, sizeof(*slot)) : NULL;
	if (slot == NULL || parser->stop) {
		free(call.arguments);
		free(call.results);
		return false;
	}
	*slot = call;
	decoder->insn.target = index;
	return true;
}

static bool parse_brx(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	const struct ptx_named_table *tables = parser->named_tables.items;
	struct ptx_token name;

	if (!parse_source(decoder, PTX_U32, &decoder->insn.o[0]) || !ptx_expect(parser, ','))
		return false;
	name = parser->token;
	for (uint32_t i = 0; i < parser->named_tables.n; i++)
		if (tables[i].label.length == name.length &&
		    memcmp(tables[i].label.text, name.text, name.length) == 0) {
			ptx_advance(parser);
			decoder->insn.target = tables[i].table;
			return true;
		}
	return bad_operand(decoder, "a list of branch targets");
}

/* --- opcode and modifiers ------------------------------------------------------------------------------------------
 */

static bool find_op(struct decoder *decoder)
{
	for (uint32_t i = 0; i < PTX_N_OPS; i++)
		if (ptx_token_is(&decoder->start, ops[i].name)) {
			decoder->op = &ops[i];
			decoder->insn.op = (uint8_t)i;
			return true;
		}
	return false;
}

static bool set_modifier(struct decoder *decoder, const struct mod_info *mod)
{
	struct ptx_insn *insn = &decoder->insn;

	if (mod->kind == PTX_KIND_FLAG) {
		if (!(decoder->op->flags & PTX_FLAG_BIT(mod->mod)))
			return false;
		insn->flags |= PTX_FLAG_BIT(mod->mod);
		return true;
	}
	if (mod->kind != PTX_KIND_HINT && !(decoder->op->kinds & 1u << mod->kind))
		return false;
	switch (mod->kind) {
	case PTX_KIND_RND:
		insn->rnd = mod->mod;
		break;
	case PTX_KIND_CMP:
		insn->cmp = mod->mod;
		break;
	case PTX_KIND_ACTION:
		if (insn->actions[1] != PTX_M_NONE)
			return false;
		insn->actions[insn->actions[0] != PTX_M_NONE] = mod->mod;
		break;
	case PTX_KIND_SPACE:
		if (insn->n_spaces == 2)
			return false;
		insn->spaces[insn->n_spaces++] = mod->mod;
		break;
	case PTX_KIND_SEM:
		insn->sem = mod->mod;
		break;
	case PTX_KIND_SCOPE:
		insn->scope = mod->mod;
		break;
	case PTX_KIND_VEC:
		insn->n_elements = mod->mod == PTX_M_V2 ? 2 : mod->mod == PTX_M_V4 ? 4 : 8;
		break;
	default:
		break;
	}
	return true;
}

static bool parse_modifier(struct decoder *decoder)
{
	const struct ptx_token *token = &decoder->parser->token;
	struct ptx_insn *insn = &decoder->insn;

	for (uint32_t i = PTX_NONE + 1; i < PTX_N_TYPES; i++) {
		if (!ptx_token_is(token, ptx_type_text[i]))
			continue;
		if (insn->n_types == 3)
			return false;
		insn->types[insn->n_types++] = (uint8_t)i;
		return true;
	}
	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (ptx_token_is(token, mods[i].text))
			return set_modifier(decoder, &mods[i]);
	return false;
}

static bool parse_opcode(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	bool supported;
	const char *end;

	if (parser->token.kind != PTX_TOKEN_WORD)
		return bad_operand(decoder, "an instruction");
	decoder->start = parser->token;
	supported = find_op(decoder);
	end = parser->token.text + parser->token.length;
	ptx_advance(parser);
	while (parser->token.kind == PTX_TOKEN_DOTTED && parser->token.text == end) {
		supported = supported && parse_modifier(decoder);
		end = parser->token.text + parser->token.length;
		ptx_advance(parser);
	}
	decoder->opcode_end = end;
	if (!supported) {
		size_t length = (size_t)(end - decoder->start.text);

		ptx_error(parser, SIM_UNSUPPORTED_PTX, decoder->start.line, "instruction '%.*s' is not supported",
			  length > 80 ? 80 : (int)length, decoder->start.text);
		return false;
	}
	if (end - decoder->start.text > 80)
		decoder->opcode_end = decoder->start.text + 80;
	return true;
}

static bool parse_guard(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	struct ptx_operand guard;

	decoder->insn.guard = PTX_NO_GUARD;
	if (!ptx_accept(parser, '@'))
		return true;
	decoder->insn.guard_negate = ptx_accept(parser, '!');
	decoder->start = parser->token;
	decoder->opcode_end = parser->token.text + (parser->token.length > 80 ? 80 : parser->token.length);
	if (!parse_destination(decoder, PTX_PRED, &guard))
		return false;
	decoder->insn.guard = guard.offset;
	return true;
}

static bool parse_operands(struct decoder *decoder)
{
	const char *shape = decoder->op->shape;

	switch (decoder->insn.op) {
	case PTX_OP_MOV:
		return parse_mov(decoder) && check_packing(decoder);
	case PTX_OP_CALL:
		return parse_call(decoder);
	case PTX_OP_BRX:
		return parse_brx(decoder);
	default:
		break;
	}
	if (*shape == '*')
		shape = special_shape(&decoder->insn);
	if (shape == NULL)
		return decode_error(decoder, SIM_UNSUPPORTED_PTX, "a combination of modifiers that is not supported");
	return parse_shape(decoder, shape);
}

bool ptx_decode_insn(struct ptx_parser *parser)
{
	struct decoder decoder = { .parser = parser,
				   .start = parser->token,
				   .opcode_end = parser->token.text + parser->token.length };
	struct ptx_insn *insn = &decoder.insn;

	init_operands(insn);
	insn->n_elements = 1;
	insn->line = parser->token.line;
	if (!parse_guard(&decoder) || !parse_opcode(&decoder))
		return false;
	decoder.loose_sizes =
		insn->op == PTX_OP_LD || insn->op == PTX_OP_LDU || insn->op == PTX_OP_ST || insn->op == PTX_OP_CVT;
	if (!parse_operands(&decoder) || parser->stop)
		return false;
	if (!ptx_expect(parser, ';'))
		return false;
	if (insn->op == PTX_OP_READ_SPECIAL)
		return true; /* mov from a special register: already emitted */
	insn->cost = (uint8_t)decoder.op->cost;
	insn->properties = decoder.op->properties;
	if (!decoder.op->select(insn) || insn->run == NULL) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, decoder.start.line, "instruction '%.*s' is not supported",
			  (int)(decoder.opcode_end - decoder.start.text), decoder.start.text);
		return false;
	}
	/* The end of a kernel is what the start of the next block hangs on. */
	if (insn->op == PTX_OP_RET && parser->function->is_entry)
		insn->properties |= PTX_ORDERED;
	if (decoder.has_label)
		ptx_use_label(parser, &decoder.label, false, 0, parser->code.n);
	append_insn(parser, insn);
	return true;
}

/* --- load latency --------------------------------------------------------------------------------------------------
 */

#define MAX_PENDING 32

struct pending_loads {
	uint32_t offsets[MAX_PENDING];
	uint32_t n;
	bool overflow;
};

static void add_pending(struct pending_loads *pending, const struct ptx_operand *operand,
			const struct ptx_operand *elements)
{
	uint32_t n = operand->kind == PTX_OPERAND_VECTOR ? operand->n_elements : 1;

	for (uint32_t i = 0; i < n; i++) {
		if (pending->n == MAX_PENDING) {
			pending->overflow = true;
			return;
		}
		pending->offsets[pending->n++] =
			operand->kind == PTX_OPERAND_VECTOR ? elements[operand->offset + i].offset : operand->offset;
	}
}

static bool offset_pending(const struct pending_loads *pending, uint32_t offset)
{
	for (uint32_t i = 0; i < pending->n; i++)
		if (pending->offsets[i] == offset)
			return true;
	return false;
}

static bool uses_pending(const struct pending_loads *pending, const struct ptx_insn *insn,
			 const struct ptx_operand *elements)
{
	if (pending->overflow || (insn->guard != PTX_NO_GUARD && offset_pending(pending, insn->guard)))
		return true;
	for (uint32_t i = 0; i < PTX_MAX_OPERANDS; i++) {
		const struct ptx_operand *o = &insn->o[i];

		if (o->kind == PTX_OPERAND_REG && offset_pending(pending, o->offset))
			return true;
		if (o->kind != PTX_OPERAND_VECTOR)
			continue;
		for (uint32_t k = 0; k < o->n_elements; k++)
			if (elements[o->offset + k].kind == PTX_OPERAND_REG &&
			    offset_pending(pending, elements[o->offset + k].offset))
				return true;
	}
	return false;
}

void ptx_mark_load_uses(struct ptx_insn *code, uint32_t n_code, const struct ptx_operand *elements)
{
	struct pending_loads pending = { .n = 0 };

	for (uint32_t i = 0; i < n_code; i++) {
		struct ptx_insn *insn = &code[i];

		/* Branches wait, so that a register is never under way where control flow meets. */
		if (pending.n > 0 && !(insn->properties & PTX_WAIT_LOADS) && uses_pending(&pending, insn, elements))
			insn->properties |= PTX_WAIT_LOADS;
		if (insn->properties & PTX_WAIT_LOADS) {
			pending.n = 0;
			pending.overflow = false;
		}
		if (insn->properties & PTX_IS_LOAD)
			add_pending(&pending, &insn->o[0], elements);
	}
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_decode.c - one PTX instruction to one struct ptx_insn.
 *
 * What an opcode takes is in ptx_ops.def, what a modifier means in ptx_mods.def; this file reads operands by the shape
 * the table gives and leaves the choice of the handler to the opcode's select function. Any thread; all state is in the
 * parser and the decoder.
 */
#include "ptx_decode.h"
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

/* --- shapes ----------------------------------------------------------------------------------- */

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

/* cp.async: the bytes to read, or the predicate that leaves the source alone, or the cache policy. */
static bool parse_copy_option(struct decoder *decoder, struct ptx_operand *ret_operand)
{
	struct ptx_parser *parser = decoder->parser;
	const struct ptx_name *name = NULL;
	enum ptx_type type = PTX_U32;
	uint32_t offset;

	if (parser->token.kind == PTX_TOKEN_WORD)
		name = ptx_find_name(parser, &parser->token, &offset);
	if (ptx_at(parser, '!') || (name != NULL && name->kind == PTX_NAME_REGISTER && name->bytes == 0))
		type = PTX_PRED;
	else if (name != NULL && name->kind == PTX_NAME_REGISTER && name->bytes == 8)
		type = PTX_U64;
	return decode_source(decoder, type, ret_operand);
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
	if (insn->flags & F(REDUCE))
		return insn->flags & F(MBAR_TX) ? "m m su m ?sq" : "m m su ?sq";
	switch (insn->actions[0]) {
	case PTX_M_COMMIT_GROUP:
	case PTX_M_WAIT_ALL:
		return "";
	case PTX_M_WAIT_GROUP:
		return "su";
	case PTX_M_PREFETCH:
		return "m su ?sq";
	case PTX_M_NONE:
		break;
	default:
		return NULL;
	}
	if (insn->flags & F(BULK) && insn->flags & F(MBAR_TX))
		return insn->flags & F(MULTICAST) ? "m m su m sh ?sq" : "m m su m ?sq";
	if (insn->flags & F(CP_MASK))
		return insn->flags & F(CACHE_HINT) ? "m m su sq sh" : "m m su sh";
	return insn->flags & F(BULK) ? "m m su ?sq" : "m m su ?so ?sq";
}

static const char *wmma_shape(const struct ptx_insn *insn)
{
	switch (insn->actions[0]) {
	case PTX_M_LOAD:
		return "rx m ?su";
	case PTX_M_STORE:
		return "m Rx ?su";
	case PTX_M_MMA:
		return "rx Rx Rx Rx";
	default:
		return NULL;
	}
}

static const char *policy_shape(const struct ptx_insn *insn)
{
	switch (insn->actions[0]) {
	case PTX_M_FRACTIONAL:
		return "dq ?sf";
	case PTX_M_RANGE:
		return "dq m su su";
	case PTX_M_CVT:
		return "dq sq";
	default:
		return NULL;
	}
}

static const char *launch_control_shape(const struct ptx_insn *insn)
{
	if (insn->actions[0] == PTX_M_TRY_CANCEL)
		return "m m";
	if (insn->actions[0] != PTX_M_QUERY_CANCEL)
		return NULL;
	return insn->actions[1] == PTX_M_IS_CANCELED ? "dp s1" : "v0 s1";
}

static const char *special_shape(const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_ADD:
	case PTX_OP_SUB:
		return insn->n_types == 2 ? "d0 s1 s0" : "d0 s0 s0";
	case PTX_OP_FMA:
		return insn->n_types == 2 ? "d0 s1 s1 s0" : "d0 s0 s0 s0";
	case PTX_OP_CVT:
		if (insn->flags & F(PACK))
			return insn->n_types == 3 ? "du s1 s1 s2" : "du s1 s1";
		return "d0 s1 ?s1";
	case PTX_OP_CLUSTERLAUNCHCONTROL:
		return launch_control_shape(insn);
	case PTX_OP_BAR:
	case PTX_OP_BARRIER:
		return barrier_shape(insn);
	case PTX_OP_MBARRIER:
		return mbarrier_shape(insn);
	case PTX_OP_CP:
		return copy_shape(insn);
	case PTX_OP_WMMA:
		return wmma_shape(insn);
	case PTX_OP_CREATEPOLICY:
		return policy_shape(insn);
	case PTX_OP_LOP3:
		return insn->actions[0] == PTX_M_NONE ? "d0 s0 s0 s0 su" : "D0 s0 s0 s0 su sp";
	case PTX_OP_ST:
		if (insn->flags & F(BULK))
			return "m sq su";
		return insn->flags & F(ASYNC) ? "m V0 m" : "m V0 ?sq";
	case PTX_OP_RED:
		return insn->flags & F(ASYNC) ? "m V0 m" : "m V0 ?sq";
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
	case 'x':
		type = insn->types[0] == PTX_F64 ? PTX_B64 : PTX_B32;
		break;
	case 'f':
		type = PTX_F32;
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

	if (!decode_destination(decoder, type, &o[decoder->n_operands++]))
		return false;
	if (ptx_accept(decoder->parser, '|') && !decode_destination(decoder, PTX_PRED, &o[decoder->n_operands]))
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
			return decode_bad_operand(decoder, "a label");
		decoder->label = parser->token;
		decoder->has_label = true;
		ptx_advance(parser);
		return true;
	}
	if (code == 'o') {
		decoder->n_operands++;
		return parse_copy_option(decoder, o);
	}
	if (role != 'm' && !role_type(decoder, code, &type))
		return false;
	if (code == 'a') {
		bool loose = decoder->loose_sizes;
		bool good;

		decoder->loose_sizes = true;
		good = decode_source(decoder, PTX_U32, o);
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
		return decode_destination(decoder, type, o);
	case 's':
		decoder->n_operands++;
		return decode_source(decoder, type, o);
	case 'm':
		if (!decode_memory(decoder, o))
			return false;
		decoder->n_operands++;
		return true;
	case 'v':
		decoder->n_operands++;
		return decode_scalar_or_vector(decoder, type, false, o);
	case 'V':
		decoder->n_operands++;
		return decode_scalar_or_vector(decoder, type, true, o);
	case 'r':
		decoder->n_operands++;
		return decode_vector(decoder, type, false, o);
	case 'R':
		decoder->n_operands++;
		return decode_vector(decoder, type, true, o);
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

/* --- instructions with a syntax of their own -------------------------------------------------- */

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
	if (to_vector ? !decode_vector(&parts, PTX_B8, false, &insn->o[0])
		      : !decode_destination(decoder, type, &insn->o[0]))
		return false;
	if (!ptx_expect(parser, ','))
		return false;
	if (!to_vector && type != PTX_PRED && insn->guard == PTX_NO_GUARD) {
		uint32_t offset;

		if (ptx_find_name(parser, &parser->token, &offset) == NULL) {
			sreg = decode_accept_sreg(parser);
			if (sreg != PTX_N_SREGS) {
				decode_append_read_special(decoder, sreg, insn->o[0], 0);
				insn->op = PTX_OP_READ_SPECIAL;
				return true;
			}
		}
	}
	if (parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == '{') {
		if (to_vector)
			return decode_error(decoder, SIM_INVALID_PTX, "two vectors");
		return decode_vector(&parts, PTX_B8, true, &insn->o[1]);
	}
	return decode_source(decoder, type, &insn->o[1]);
}

static bool check_packing(struct decoder *decoder)
{
	const struct ptx_operand *elements = decoder->parser->elements.items;
	struct ptx_insn *insn = &decoder->insn;

	for (uint32_t i = 0; i < 2; i++) {
		struct ptx_operand *vector = &insn->o[i];
		uint32_t bytes = 0;

		if (vector->kind != PTX_OPERAND_VECTOR)
			continue;
		for (uint32_t k = 0; k < vector->n_elements && !decoder->parser->stop; k++)
			if (elements[vector->offset + k].is_byte)
				vector->is_byte = true;
		for (uint32_t k = 0; k < vector->n_elements && !decoder->parser->stop; k++) {
			if ((elements[vector->offset + k].bytes != vector->bytes ||
			     elements[vector->offset + k].is_byte != vector->is_byte) &&
			    elements[vector->offset + k].kind == PTX_OPERAND_REG &&
			    elements[vector->offset + k].offset != decoder->parser->sink)
				return decode_error(decoder, SIM_INVALID_PTX, "elements of different widths");
			bytes += vector->is_byte ? 1 : vector->bytes;
		}
		if (vector->is_byte)
			vector->bytes = 1;
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
			return decode_bad_operand(decoder, "a parameter");
		}
		name = ptx_find_name(parser, &parser->token, &offset);
		if (name == NULL || (name->kind != PTX_NAME_PARAM && name->kind != PTX_NAME_REGISTER)) {
			free(list.items);
			return decode_bad_operand(decoder, "a parameter");
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
		return decode_bad_operand(decoder, "a function");
	if (ptx_find_name(parser, &parser->token, &offset) != NULL)
		return decode_source(decoder, PTX_U64, &decoder->insn.o[0]);
	symbol = ptx_find_symbol(parser, parser->token.text, parser->token.length);
	if (symbol != UINT32_MAX)
		call->target = ((struct ptx_symbol *)parser->symbols.items)[symbol].function;
	if (call->target == NULL)
		return decode_bad_operand(decoder, "a function");
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

	if (!decode_source(decoder, PTX_U32, &decoder->insn.o[0]) || !ptx_expect(parser, ','))
		return false;
	name = parser->token;
	for (uint32_t i = 0; i < parser->named_tables.n; i++)
		if (tables[i].label.length == name.length &&
		    memcmp(tables[i].label.text, name.text, name.length) == 0) {
			ptx_advance(parser);
			decoder->insn.target = tables[i].table;
			return true;
		}
	return decode_bad_operand(decoder, "a list of branch targets");
}

/* --- opcode and modifiers --------------------------------------------------------------------- */

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

static uint8_t vector_length(uint8_t mod)
{
	switch (mod) {
	case PTX_M_X1:
		return 1;
	case PTX_M_V2:
	case PTX_M_X2:
		return 2;
	case PTX_M_V4:
	case PTX_M_X4:
		return 4;
	default:
		return 8;
	}
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
		for (uint32_t i = 0; i < sizeof(insn->actions); i++)
			if (insn->actions[i] == PTX_M_NONE) {
				insn->actions[i] = mod->mod;
				return true;
			}
		return false;
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
		insn->n_elements = vector_length(mod->mod);
		break;
	case PTX_KIND_SHAPE:
		insn->shape = mod->mod;
		break;
	case PTX_KIND_LAYOUT:
		if (insn->n_layouts == 2)
			return false;
		insn->layouts[insn->n_layouts++] = mod->mod;
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
		if (insn->n_types == sizeof(insn->types))
			return false;
		insn->types[insn->n_types++] = (uint8_t)i;
		return true;
	}
	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (ptx_token_is(token, mods[i].text))
			return set_modifier(decoder, &mods[i]);
	return false;
}

/* Does the instruction begin with these words? */
static bool begins_with(const char *text, size_t length, const char *words)
{
	size_t n = strlen(words);

	return length >= n && memcmp(text, words, n) == 0 && (length == n || text[n] == '.');
}

static const char *reason_of_refusal(const char *text, size_t length)
{
	static const struct {
		const char *text, *reason;
	} refused[] = {
#define PTX_REFUSED(text, reason) { text, reason },
#include "ptx_refused.def"
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (begins_with(text, length, refused[i].text))
			return refused[i].reason;
	return NULL;
}

/* An instruction that cannot be run: PTX has it, or a form of it, or it is no instruction at all. */
static void report_refused(struct decoder *decoder, const char *end)
{
	const char *text = decoder->start.text, *reason;
	struct ptx_parser *parser = decoder->parser;
	size_t length;

	/* As it is written: modifiers may be no words ('tex.2d'). */
	while (end < parser->lexer.end && strchr(" \t\r\n;{}[]", *end) == NULL)
		end++;
	length = (size_t)(end - text);
	reason = reason_of_refusal(text, length);
	if (reason != NULL)
		ptx_error(parser, SIM_UNSUPPORTED_PTX, decoder->start.line, "instruction '%.*s' is not supported: %s",
			  length > 80 ? 80 : (int)length, text, reason);
	else if (decoder->op != NULL)
		ptx_error(parser, SIM_UNSUPPORTED_PTX, decoder->start.line, "instruction '%.*s' is not supported",
			  length > 80 ? 80 : (int)length, text);
	else
		ptx_error(parser, SIM_INVALID_PTX, decoder->start.line, "'%.*s' is not an instruction",
			  length > 80 ? 80 : (int)length, text);
}

static bool parse_opcode(struct decoder *decoder)
{
	struct ptx_parser *parser = decoder->parser;
	bool supported;
	const char *end;

	if (parser->token.kind != PTX_TOKEN_WORD)
		return decode_bad_operand(decoder, "an instruction");
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
		report_refused(decoder, end);
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
	if (!decode_destination(decoder, PTX_PRED, &guard))
		return false;
	decoder->insn.guard = guard.offset;
	return true;
}

/* Destinations come first, as one operand or as two ("d|p", "p|q"). */
static uint8_t n_outputs(const char *shape)
{
	if (*shape == 'D' || *shape == 'P')
		return 2;
	return *shape == 'd' || *shape == 'v' || *shape == 'r';
}

/* Of a shape that names types by their number: no more of them than it names. */
static bool too_many_types(const char *shape, uint32_t n_types)
{
	uint32_t n_named = 0;

	for (; *shape != '\0'; shape++) {
		if (*shape >= '0' && *shape <= '2' && n_named < (uint32_t)(*shape - '0') + 1)
			n_named = (uint32_t)(*shape - '0') + 1;
		if (*shape == 'w' && n_named == 0)
			n_named = 1;
	}
	return n_named > 0 && n_types > n_named;
}

static bool parse_operands(struct decoder *decoder)
{
	const char *shape = decoder->op->shape;

	switch (decoder->insn.op) {
	case PTX_OP_MOV:
		decoder->insn.n_outputs = 1;
		return parse_mov(decoder) && check_packing(decoder);
	case PTX_OP_CALL:
		return parse_call(decoder);
	case PTX_OP_BRX:
		return parse_brx(decoder);
	default:
		break;
	}
	if (is_video_op(decoder->insn.op)) {
		decoder->insn.n_outputs = 1;
		return decode_video(decoder);
	}
	if (*shape == '*')
		shape = special_shape(&decoder->insn);
	if (shape == NULL)
		return decode_error(decoder, SIM_UNSUPPORTED_PTX, "a combination of modifiers that is not supported");
	if (too_many_types(shape, decoder->insn.n_types))
		return decode_error(decoder, SIM_INVALID_PTX, "more types than it has");
	decoder->insn.n_outputs = n_outputs(shape);
	return parse_shape(decoder, shape);
}

bool ptx_decode_insn(struct ptx_parser *parser)
{
	struct decoder decoder = { .parser = parser,
				   .start = parser->token,
				   .opcode_end = parser->token.text + parser->token.length };
	struct ptx_insn *insn = &decoder.insn;

	decode_init_operands(insn);
	insn->n_elements = 1;
	insn->line = parser->token.line;
	if (!parse_guard(&decoder) || !parse_opcode(&decoder))
		return false;
	decoder.loose_sizes =
		insn->op == PTX_OP_LD || insn->op == PTX_OP_LDU || insn->op == PTX_OP_ST || insn->op == PTX_OP_CVT;
	if (!parse_operands(&decoder) || parser->stop)
		return false;
	/* The address of a function's parameter is that of its copy in local memory. */
	if (!parser->function->is_entry && insn->spaces[0] == PTX_M_PARAM && insn->target == PTX_PARAM_ENTRY)
		insn->spaces[0] = PTX_M_LOCAL;
	if (insn->op == PTX_OP_RET)
		ptx_store_register_results(parser);
	if (!ptx_expect(parser, ';'))
		return false;
	if (insn->op == PTX_OP_READ_SPECIAL)
		return true; /* mov from a special register: already emitted */
	insn->cost = (uint8_t)decoder.op->cost;
	insn->properties = decoder.op->properties;
	if (!decoder.op->select(insn) || insn->run == NULL) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, decoder.start.line, "instruction '%.*s' is not supported",
			  (int)(decoder.opcode_end - decoder.start.text), decoder.start.text);
		return true; /* behind its ';' already */
	}
	/* The end of a kernel is what the start of the next block hangs on. */
	if (insn->op == PTX_OP_RET && parser->function->is_entry)
		insn->properties |= PTX_ORDERED;
	if (decoder.has_label)
		ptx_use_label(parser, &decoder.label, false, 0, parser->code.n);
	ptx_append_insn(parser, insn);
	return true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_formals.c - the parameters and results a function declares.
 *
 * All of them travel in the frame's parameter area. One that is declared as a register (nvcc does not, people do) gets
 * a register besides, which is loaded at the start of the function or stored in front of each ret. Any thread; all
 * state is in struct ptx_parser.
 */
#include "ptx_parse.h"
#include "ptx_select.h"

static bool add_register_formal(struct ptx_parser *parser, const struct ptx_declaration *declaration, uint32_t offset,
				bool is_result)
{
	struct ptx_register_formal *formal;
	struct ptx_name *name;

	if (declaration->type == PTX_PRED || declaration->n_dimensions > 0 || ptx_type_bytes[declaration->type] < 2) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, declaration->line, "a register parameter of this type");
		return false;
	}
	name = ptx_add_name(parser, &declaration->name, PTX_NAME_REGISTER);
	name->bytes = (uint32_t)declaration->bytes;
	formal = ptx_append(parser, &parser->register_formals, sizeof(*formal));
	formal->name = parser->names.n - 1;
	formal->offset = offset;
	formal->type = declaration->type;
	formal->is_result = is_result;
	return true;
}

/* "(.param .b64 a, .param .align 8 .b8 b[16], .reg .f32 c)" */
bool ptx_parse_formals(struct ptx_parser *parser, bool in_entry, bool are_results, struct ptx_vector *params,
		       uint32_t *area)
{
	if (!ptx_expect(parser, '('))
		return false;
	if (ptx_accept(parser, ')'))
		return true;
	do {
		struct ptx_declaration declaration;
		bool is_register = !in_entry && ptx_accept_word(parser, ".reg");
		struct ptx_param *param;
		struct ptx_name *name;
		uint32_t offset;

		if (!is_register && !ptx_accept_word(parser, ".param")) {
			ptx_error(parser, SIM_INVALID_PTX, parser->token.line, ".param expected before '%.*s'",
				  ptx_token_width(&parser->token), parser->token.text);
			return false;
		}
		if (!ptx_parse_variable_type(parser, &declaration) || !ptx_parse_declarator(parser, &declaration) ||
		    !ptx_reserve_area(parser, &declaration, PTX_MAX_PARAM_BYTES, area, &offset))
			return false;
		param = ptx_append(parser, params, sizeof(*param));
		param->offset = offset;
		param->bytes = (uint32_t)declaration.bytes;
		if (is_register) {
			if (!add_register_formal(parser, &declaration, offset, are_results))
				return false;
			continue;
		}
		name = ptx_add_name(parser, &declaration.name, in_entry ? PTX_NAME_ENTRY_PARAM : PTX_NAME_PARAM);
		name->offset = offset;
		name->bytes = (uint32_t)declaration.bytes;
	} while (ptx_accept(parser, ',') && !parser->stop);
	return ptx_expect(parser, ')');
}

/* ld.param or st.param of a register, as if it had been written. */
static void append_transfer(struct ptx_parser *parser, const struct ptx_register_formal *formal, bool is_load)
{
	const struct ptx_name *name = (const struct ptx_name *)parser->names.items + formal->name;
	struct ptx_operand value = { .kind = PTX_OPERAND_REG, .bytes = (uint8_t)name->bytes, .offset = name->offset };
	struct ptx_insn insn = { .op = is_load ? PTX_OP_LD : PTX_OP_ST,
				 .guard = PTX_NO_GUARD,
				 .line = parser->token.line,
				 .target = PTX_PARAM_FRAME,
				 .types = { (uint8_t)formal->type },
				 .n_types = 1,
				 .spaces = { PTX_M_PARAM },
				 .n_spaces = 1,
				 .n_elements = 1 };
	struct ptx_operand *slot;

	for (uint32_t i = 0; i < PTX_MAX_OPERANDS; i++)
		insn.o[i].kind = PTX_OPERAND_NONE;
	insn.displacement[0] = formal->offset;
	insn.o[is_load ? 0 : 1] = value;
	insn.o[is_load ? 0 : 1].kind = PTX_OPERAND_VECTOR;
	insn.o[is_load ? 0 : 1].n_elements = 1;
	insn.o[is_load ? 0 : 1].offset = parser->elements.n;
	slot = ptx_append(parser, &parser->elements, sizeof(*slot));
	if (is_load)
		select_ld(&insn);
	else
		select_st(&insn);
	if (parser->stop)
		return;
	*slot = value;
	ptx_append_insn(parser, &insn);
}

void ptx_load_register_params(struct ptx_parser *parser)
{
	const struct ptx_register_formal *formals = parser->register_formals.items;

	for (uint32_t i = 0; i < parser->register_formals.n && !parser->stop; i++) {
		struct ptx_name *name = (struct ptx_name *)parser->names.items + formals[i].name;

		name->offset = ptx_new_register(parser, name->bytes);
		name->stride = ptx_register_stride(name->bytes);
		if (!formals[i].is_result)
			append_transfer(parser, &formals[i], true);
	}
}

void ptx_store_register_results(struct ptx_parser *parser)
{
	const struct ptx_register_formal *formals = parser->register_formals.items;

	for (uint32_t i = 0; i < parser->register_formals.n && !parser->stop; i++)
		if (formals[i].is_result)
			append_transfer(parser, &formals[i], false);
}

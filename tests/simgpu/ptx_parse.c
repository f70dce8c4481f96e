/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_parse.c - modules, functions and the statements of a function body that are not instructions.
 *
 * One pass, no recursion: nesting is a counter with a limit, so hostile input cannot exhaust the stack. After an error
 * the parser goes on behind the next ';', so that one load reports several; after some it stops. Any thread; all state
 * is in struct ptx_parser.
 */
#include "ptx_parse.h"

#include "ptx_share.h"

#include <stdlib.h>
#include <string.h>

#define PTX_MAX_DEPTH 64

/* --- moving on -------------------------------------------------------------------------------- */

static struct ptx_token peek_second(const struct ptx_parser *parser)
{
	struct ptx_lexer lexer = parser->lexer;
	struct ptx_token token;

	ptx_lexer_next(&lexer, &token);
	return token;
}

static void skip_statement(struct ptx_parser *parser)
{
	uint32_t line = parser->token.line;

	/* Braces on the same line are operands, on another they belong to the function. */
	while (parser->token.kind != PTX_TOKEN_END && !ptx_at(parser, ';') &&
	       ((!ptx_at(parser, '}') && !ptx_at(parser, '{')) || parser->token.line == line))
		ptx_advance(parser);
	ptx_accept(parser, ';');
}

static void skip_line(struct ptx_parser *parser)
{
	uint32_t line = parser->token.line;

	while (parser->token.kind != PTX_TOKEN_END && parser->token.line == line)
		ptx_advance(parser);
}

static void skip_braces(struct ptx_parser *parser)
{
	uint32_t depth = 0;

	while (parser->token.kind != PTX_TOKEN_END) {
		if (ptx_at(parser, '{'))
			depth++;
		if (ptx_at(parser, '}') && --depth == 0) {
			ptx_advance(parser);
			return;
		}
		ptx_advance(parser);
	}
	ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "'}' expected before the end of the text");
}

/* Hands the items over to the caller, trimmed; the vector starts anew. */
static void *take_items(struct ptx_vector *vector, uint32_t *ret_n)
{
	void *items = vector->items;

	*ret_n = vector->n;
	memset(vector, 0, sizeof(*vector));
	return items;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Up to three numbers: .maxntid 256, 1, 1 */
static bool parse_shape(struct ptx_parser *parser, uint32_t ret_shape[3])
{
	ret_shape[0] = ret_shape[1] = ret_shape[2] = 1;
	for (int i = 0; i < 3; i++) {
		uint64_t value;

		if (!ptx_parse_int(parser, &value))
			return false;
		if (value == 0 || value > INT32_MAX) {
			ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "bad shape");
			return false;
		}
		ret_shape[i] = (uint32_t)value;
		if (!ptx_accept(parser, ','))
			break;
	}
	return true;
}

static bool parse_tuning_directives(struct ptx_parser *parser, struct ptx_function *function)
{
	while (parser->token.kind == PTX_TOKEN_DOTTED) {
		uint32_t shape[3];
		uint64_t ignored;

		if (ptx_accept_word(parser, ".maxntid") || ptx_accept_word(parser, ".reqntid")) {
			if (!parse_shape(parser, shape))
				return false;
			function->max_threads = shape[0] > 1024 ? 1024 : shape[0];
			if ((uint64_t)shape[0] * shape[1] <= 1024 && (uint64_t)shape[0] * shape[1] * shape[2] <= 1024)
				function->max_threads = shape[0] * shape[1] * shape[2];
		} else if (ptx_accept_word(parser, ".reqnctapercluster")) {
			if (!parse_shape(parser, function->required_cluster))
				return false;
		} else if (ptx_accept_word(parser, ".minnctapersm") || ptx_accept_word(parser, ".maxnreg") ||
			   ptx_accept_word(parser, ".maxclusterrank") || ptx_accept_word(parser, ".maxnctapersm")) {
			if (!ptx_parse_int(parser, &ignored))
				return false;
		} else if (ptx_accept_word(parser, ".pragma")) {
			while (parser->token.kind == PTX_TOKEN_STRING || ptx_at(parser, ','))
				ptx_advance(parser);
			if (!ptx_expect(parser, ';'))
				return false;
		} else if (!ptx_accept_word(parser, ".explicitcluster") && !ptx_accept_word(parser, ".noreturn") &&
			   !ptx_accept_word(parser, ".blocksareclusters")) {
			ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
				  ptx_token_width(&parser->token), parser->token.text);
			return false;
		}
	}
	return true;
}

static struct ptx_function *new_function(struct ptx_parser *parser, const struct ptx_token *name)
{
	struct ptx_function *function = calloc(1, sizeof(*function));
	struct ptx_function **slot;

	if (function == NULL) {
		ptx_out_of_memory(parser);
		return NULL;
	}
	function->name = ptx_copy_text(parser, name->text, name->length);
	if (function->name == NULL) {
		free(function);
		return NULL;
	}
	slot = ptx_append(parser, &parser->functions, sizeof(*slot));
	if (parser->stop) {
		free(function->name);
		free(function);
		return NULL;
	}
	*slot = function;
	function->index = parser->functions.n - 1;
	function->module = parser->module;
	function->line = name->line;
	return function;
}

/* The function of that name, declared before or new. */
static struct ptx_function *declare_function(struct ptx_parser *parser, const struct ptx_token *name, bool is_entry)
{
	uint32_t index = ptx_find_symbol(parser, name->text, name->length);
	struct ptx_function *function;
	struct ptx_symbol *symbol;

	if (index != UINT32_MAX) {
		symbol = ptx_symbol_at(parser, index);
		if (symbol->kind != PTX_SYMBOL_FUNCTION || symbol->function->is_entry != is_entry) {
			ptx_error(parser, SIM_INVALID_PTX, name->line, "'%.*s' is declared twice",
				  ptx_token_width(name), name->text);
			return NULL;
		}
		return symbol->function;
	}
	function = new_function(parser, name);
	if (function == NULL)
		return NULL;
	function->is_entry = is_entry;
	index = ptx_add_symbol(parser, name, false);
	if (index == UINT32_MAX)
		return NULL;
	symbol = ptx_symbol_at(parser, index);
	symbol->kind = PTX_SYMBOL_FUNCTION;
	symbol->function = function;
	symbol->line = name->line;
	return function;
}

static void clear_function_state(struct ptx_parser *parser)
{
	struct ptx_branch_table *tables = parser->tables.items;
	struct ptx_call *calls = parser->calls.items;

	for (uint32_t i = 0; i < parser->tables.n; i++)
		free(tables[i].targets);
	for (uint32_t i = 0; i < parser->calls.n; i++) {
		free(calls[i].arguments);
		free(calls[i].results);
	}
	parser->code.n = parser->constants.n = parser->elements.n = parser->calls.n = 0;
	parser->register_formals.n = parser->tables.n = parser->fixups.n = parser->names.n = parser->labels.n = 0;
	parser->label_uses.n = parser->named_tables.n = parser->scopes.n = 0;
	parser->scope = 0;
	memset(parser->constant_cache, 0, sizeof(parser->constant_cache));
}

static bool parse_branch_targets(struct ptx_parser *parser, const struct ptx_token *name)
{
	uint32_t table = parser->tables.n;
	struct ptx_named_table *named = ptx_append(parser, &parser->named_tables, sizeof(*named));
	uint32_t n = 0;

	ptx_append(parser, &parser->tables, sizeof(struct ptx_branch_table));
	named->label.text = name->text;
	named->label.length = name->length;
	named->label.line = name->line;
	named->table = table;
	do {
		if (parser->token.kind != PTX_TOKEN_WORD) {
			ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a label expected");
			return false;
		}
		ptx_use_label(parser, &parser->token, true, table, n++);
		ptx_advance(parser);
	} while (ptx_accept(parser, ',') && !parser->stop);
	if (!parser->stop) {
		struct ptx_branch_table *tables = parser->tables.items;

		tables[table].targets = calloc(n, sizeof(*tables[table].targets));
		if (tables[table].targets == NULL) {
			ptx_out_of_memory(parser);
			return false;
		}
		tables[table].n_targets = n;
	}
	return ptx_expect(parser, ';');
}

/* "name:", then perhaps a table of targets or a prototype, which look like labelled statements. */
static bool parse_label(struct ptx_parser *parser)
{
	struct ptx_token name = parser->token;
	struct ptx_label *label;

	ptx_advance(parser);
	ptx_advance(parser);
	if (ptx_accept_word(parser, ".branchtargets"))
		return parse_branch_targets(parser, &name);
	if (ptx_at_word(parser, ".callprototype") || ptx_at_word(parser, ".calltargets")) {
		/* An indirect call passes what its operands say; the prototype adds nothing to that. */
		skip_statement(parser);
		return true;
	}
	label = ptx_append(parser, &parser->labels, sizeof(*label));
	label->text = name.text;
	label->length = name.length;
	label->line = name.line;
	label->scope = parser->scope;
	label->target = parser->code.n;
	return true;
}

static bool parse_body_directive(struct ptx_parser *parser)
{
	if (ptx_accept_word(parser, ".reg"))
		return ptx_parse_registers(parser);
	if (ptx_accept_word(parser, ".local"))
		return ptx_parse_frame_variables(parser, PTX_NAME_LOCAL);
	if (ptx_accept_word(parser, ".param"))
		return ptx_parse_frame_variables(parser, PTX_NAME_PARAM);
	if (ptx_accept_word(parser, ".shared"))
		return ptx_parse_variables(parser, PTX_SYMBOL_SHARED, false);
	if (ptx_accept_word(parser, ".global"))
		return ptx_parse_variables(parser, PTX_SYMBOL_GLOBAL, false);
	if (ptx_accept_word(parser, ".const"))
		return ptx_parse_variables(parser, PTX_SYMBOL_CONST, false);
	if (ptx_accept_word(parser, ".extern") && ptx_accept_word(parser, ".shared"))
		return ptx_parse_variables(parser, PTX_SYMBOL_SHARED, true);
	if (ptx_at_word(parser, ".loc") || ptx_at_word(parser, ".file")) {
		skip_line(parser);
		return true;
	}
	if (ptx_at_word(parser, ".pragma")) {
		skip_statement(parser);
		return true;
	}
	ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
		  ptx_token_width(&parser->token), parser->token.text);
	return false;
}

static bool parse_statement(struct ptx_parser *parser)
{
	if (parser->token.kind == PTX_TOKEN_DOTTED)
		return parse_body_directive(parser);
	if (parser->token.kind == PTX_TOKEN_WORD) {
		struct ptx_token second = peek_second(parser);

		if (second.kind == PTX_TOKEN_PUNCT && second.punct == ':')
			return parse_label(parser);
		return ptx_decode_insn(parser);
	}
	if (ptx_at(parser, '@'))
		return ptx_decode_insn(parser);
	if (ptx_accept(parser, ';'))
		return true;
	ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "an instruction expected before '%.*s'",
		  ptx_token_width(&parser->token), parser->token.text);
	ptx_advance(parser);
	return false;
}

/* Behind the opening brace, up to and including the one that closes the function. */
static void parse_body(struct ptx_parser *parser)
{
	uint32_t first_name[PTX_MAX_DEPTH];
	uint32_t depth = 0;

	ptx_append(parser, &parser->scopes, sizeof(uint32_t));
	while (!parser->stop) {
		if (parser->token.kind == PTX_TOKEN_END) {
			ptx_error(parser, SIM_INVALID_PTX, parser->token.line,
				  "'}' expected before the end of the text");
			return;
		}
		if (ptx_accept(parser, '{')) {
			uint32_t *parent;

			if (depth == PTX_MAX_DEPTH) {
				ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "braces nested too deeply");
				parser->stop = true;
				return;
			}
			first_name[depth++] = parser->names.n;
			parent = ptx_append(parser, &parser->scopes, sizeof(*parent));
			*parent = parser->scope;
			parser->scope = parser->scopes.n - 1;
		} else if (ptx_accept(parser, '}')) {
			if (depth == 0)
				return;
			parser->names.n = first_name[--depth];
			parser->scope = ((uint32_t *)parser->scopes.items)[parser->scope];
		} else if (!parse_statement(parser)) {
			skip_statement(parser);
		}
	}
}

/* A function that runs off its end returns. */
static void append_ret(struct ptx_parser *parser)
{
	static const char text[] = "ret;";
	struct ptx_lexer lexer = parser->lexer;
	struct ptx_token token = parser->token;

	ptx_lexer_init(&parser->lexer, text, sizeof(text));
	parser->lexer.line = token.line;
	ptx_advance(parser);
	ptx_decode_insn(parser);
	parser->lexer = lexer;
	parser->token = token;
}

static void take_function_state(struct ptx_parser *parser, struct ptx_function *function)
{
	uint32_t n_constants;

	function->code = take_items(&parser->code, &function->n_code);
	function->constants = take_items(&parser->constants, &n_constants);
	function->constants_bytes = n_constants;
	function->elements = take_items(&parser->elements, &function->n_elements);
	function->calls = take_items(&parser->calls, &function->n_calls);
	function->tables = take_items(&parser->tables, &function->n_tables);
	function->fixups = take_items(&parser->fixups, &function->n_fixups);
	ptx_mark_load_uses(function->code, function->n_code, function->elements);
	function->is_defined = true;
}

static bool parse_function(struct ptx_parser *parser, bool is_entry)
{
	struct ptx_vector params = { 0 }, results = { 0 };
	struct ptx_function *function;
	struct ptx_function header = { 0 };
	uint32_t area = 0;
	struct ptx_token name;

	clear_function_state(parser);
	if (!is_entry && ptx_at(parser, '(') && !ptx_parse_formals(parser, false, true, &results, &area))
		goto failed;
	name = parser->token;
	if (name.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "a function name expected before '%.*s'",
			  ptx_token_width(&name), name.text);
		goto failed;
	}
	ptx_advance(parser);
	if (ptx_at(parser, '(') && !ptx_parse_formals(parser, is_entry, false, &params, &area))
		goto failed;
	if (!parse_tuning_directives(parser, &header))
		goto failed;
	function = declare_function(parser, &name, is_entry);
	if (function == NULL)
		goto failed;
	if (function->is_defined && ptx_at(parser, '{')) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "'%.*s' is defined twice", ptx_token_width(&name),
			  name.text);
		goto failed;
	}
	if (!function->is_defined) {
		free(function->params);
		free(function->results);
		function->params = take_items(&params, &function->n_params);
		function->results = take_items(&results, &function->n_results);
		function->params_bytes = is_entry ? 0 : area;
		function->entry_params_bytes = is_entry ? area : 0;
		function->max_threads = header.max_threads;
		memcpy(function->required_cluster, header.required_cluster, sizeof(header.required_cluster));
	}
	free(params.items);
	free(results.items);
	if (ptx_accept(parser, ';'))
		return true;
	if (!ptx_expect(parser, '{'))
		return false;
	parser->function = function;
	/* `_` as a destination: the widest register there is. */
	parser->sink = ptx_new_register(parser, 16);
	ptx_load_register_params(parser);
	parse_body(parser);
	append_ret(parser);
	ptx_resolve_labels(parser);
	parser->function = NULL;
	if (!parser->stop)
		take_function_state(parser, function);
	return true;
failed:
	free(params.items);
	free(results.items);
	return false;
}

/* --- module ----------------------------------------------------------------------------------- */

static bool parse_version(struct ptx_parser *parser)
{
	struct ptx_token token = parser->token;
	double value;

	if (token.kind != PTX_TOKEN_FLOAT) {
		ptx_error(parser, SIM_INVALID_PTX, token.line, "a version expected before '%.*s'",
			  ptx_token_width(&token), token.text);
		return false;
	}
	memcpy(&value, &token.value, sizeof(value));
	parser->module->version = value > 0 && value < 100 ? (uint32_t)(value * 10 + 0.5) : 0;
	ptx_advance(parser);
	return true;
}

/* .target sm_90a, debug, texmode_independent */
static bool parse_target(struct ptx_parser *parser)
{
	do {
		struct ptx_token token = parser->token;

		if (token.kind != PTX_TOKEN_WORD) {
			ptx_error(parser, SIM_INVALID_PTX, token.line, "a target expected before '%.*s'",
				  ptx_token_width(&token), token.text);
			return false;
		}
		if (token.length > 3 && memcmp(token.text, "sm_", 3) == 0)
			for (size_t i = 3; i < token.length && i < 7; i++)
				if (token.text[i] >= '0' && token.text[i] <= '9')
					parser->module->target_sm =
						parser->module->target_sm * 10 + (uint32_t)(token.text[i] - '0');
		ptx_advance(parser);
	} while (ptx_accept(parser, ','));
	return true;
}

static bool parse_linkage(struct ptx_parser *parser, bool *ret_is_extern)
{
	bool any = false;

	*ret_is_extern = false;
	for (;; any = true) {
		if (ptx_accept_word(parser, ".extern"))
			*ret_is_extern = true;
		else if (!ptx_accept_word(parser, ".visible") && !ptx_accept_word(parser, ".weak") &&
			 !ptx_accept_word(parser, ".common"))
			return any;
	}
}

static bool parse_module_item(struct ptx_parser *parser)
{
	bool is_extern;
	uint64_t ignored;

	parse_linkage(parser, &is_extern);
	if (ptx_accept_word(parser, ".entry"))
		return parse_function(parser, true);
	if (ptx_accept_word(parser, ".func"))
		return parse_function(parser, false);
	if (ptx_accept_word(parser, ".global"))
		return ptx_parse_variables(parser, PTX_SYMBOL_GLOBAL, is_extern);
	if (ptx_accept_word(parser, ".const"))
		return ptx_parse_variables(parser, PTX_SYMBOL_CONST, is_extern);
	if (ptx_accept_word(parser, ".shared"))
		return ptx_parse_variables(parser, PTX_SYMBOL_SHARED, is_extern);
	if (ptx_accept_word(parser, ".version"))
		return parse_version(parser);
	if (ptx_accept_word(parser, ".target"))
		return parse_target(parser);
	if (ptx_accept_word(parser, ".address_size")) {
		if (!ptx_parse_int(parser, &ignored))
			return false;
		if (ignored != 64)
			ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line,
				  "only 64-bit addresses are supported");
		return true;
	}
	if (ptx_at_word(parser, ".file") || ptx_at_word(parser, ".loc")) {
		skip_line(parser);
		return true;
	}
	if (ptx_at_word(parser, ".pragma")) {
		skip_statement(parser);
		return true;
	}
	if (ptx_accept_word(parser, ".section")) {
		ptx_advance(parser);
		skip_braces(parser);
		return true;
	}
	if (ptx_accept(parser, ';') || ptx_accept(parser, '}'))
		return true;
	if (parser->token.kind == PTX_TOKEN_DOTTED)
		ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
			  ptx_token_width(&parser->token), parser->token.text);
	else
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a directive expected before '%.*s'",
			  ptx_token_width(&parser->token), parser->token.text);
	ptx_advance(parser);
	return false;
}

static void parser_finish(struct ptx_parser *parser)
{
	clear_function_state(parser);
	free(parser->buckets);
	free(parser->code.items);
	free(parser->constants.items);
	free(parser->elements.items);
	free(parser->calls.items);
	free(parser->tables.items);
	free(parser->fixups.items);
	free(parser->names.items);
	free(parser->labels.items);
	free(parser->label_uses.items);
	free(parser->named_tables.items);
	free(parser->scopes.items);
	free(parser->register_formals.items);
}

static void check_module(struct ptx_parser *parser)
{
	if (parser->status == SIM_OK && parser->module->version == 0)
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "no .version: this is not PTX");
	if (parser->status == SIM_OK && parser->module->target_sm == 0)
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "no .target sm_");
}

enum sim_status ptx_parse(const char *text, size_t bytes, struct ptx_log *log, struct ptx_module **ret_module)
{
	struct ptx_parser parser = { .log = log };
	struct ptx_module *module = calloc(1, sizeof(*module));

	if (module == NULL)
		return SIM_NO_MEMORY;
	parser.module = module;
	ptx_lexer_init(&parser.lexer, text, bytes);
	ptx_advance(&parser);
	while (parser.token.kind != PTX_TOKEN_END && !parser.stop)
		if (!parse_module_item(&parser))
			skip_statement(&parser);
	check_module(&parser);
	module->symbols = take_items(&parser.symbols, &module->n_symbols);
	module->functions = take_items(&parser.functions, &module->n_functions);
	parser_finish(&parser);
	if (parser.status != SIM_OK) {
		ptx_module_destroy(module);
		return parser.status;
	}
	*ret_module = module;
	return SIM_OK;
}

static void function_destroy(struct ptx_function *function)
{
	for (uint32_t i = 0; i < function->n_tables; i++)
		free(function->tables[i].targets);
	for (uint32_t i = 0; i < function->n_calls; i++) {
		free(function->calls[i].arguments);
		free(function->calls[i].results);
	}
	free(function->name);
	free(function->code);
	free(function->constants);
	free(function->elements);
	free(function->calls);
	free(function->tables);
	free(function->fixups);
	ptx_share_destroy(function->sharing);
	free(function->params);
	free(function->results);
	free(function);
}

void ptx_module_destroy(struct ptx_module *module)
{
	if (module == NULL)
		return;
	for (uint32_t i = 0; i < module->n_functions; i++)
		function_destroy(module->functions[i]);
	for (uint32_t i = 0; i < module->n_symbols; i++) {
		free(module->symbols[i].name);
		free(module->symbols[i].data);
		free(module->symbols[i].fixups);
	}
	free(module->functions);
	free(module->symbols);
	free(module);
}

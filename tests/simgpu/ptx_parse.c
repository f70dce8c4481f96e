/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_parse.c - modules, variables, functions and the statements of a function body that are not instructions.
 *
 * One pass, no recursion: nesting is a counter with a limit, so hostile input cannot exhaust the stack. After an error
 * the parser goes on behind the next ';', so that one load reports several; after PTX_MAX_ERRORS it stops. Any
 * thread; all state is in struct ptx_parser.
 */
#include "ptx_parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PTX_MAX_ERRORS         20
#define PTX_MAX_DEPTH          64
#define PTX_MAX_FRAME_BYTES    (64u << 20) /* registers of one frame: far above what nvcc emits */
#define PTX_MAX_VARIABLE_BYTES (1ULL << 36)
#define PTX_MAX_PARAM_BYTES    (1u << 16) /* nvcc's own limit is 32764 */
#define PTX_MAX_LOCAL_BYTES    (512u << 10)
#define PTX_MAX_DIMENSIONS     8

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

/* --- errors, tokens, vectors ---------------------------------------------------------------------------------------
 */

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

static void out_of_memory(struct ptx_parser *parser)
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

static struct ptx_token peek_second(const struct ptx_parser *parser)
{
	struct ptx_lexer lexer = parser->lexer;
	struct ptx_token token;

	ptx_lexer_next(&lexer, &token);
	return token;
}

static bool at(const struct ptx_parser *parser, char punct)
{
	return parser->token.kind == PTX_TOKEN_PUNCT && parser->token.punct == punct;
}

static bool at_word(const struct ptx_parser *parser, const char *text)
{
	return (parser->token.kind == PTX_TOKEN_DOTTED || parser->token.kind == PTX_TOKEN_WORD) &&
	       ptx_token_is(&parser->token, text);
}

static bool accept_word(struct ptx_parser *parser, const char *text)
{
	if (!at_word(parser, text))
		return false;
	ptx_advance(parser);
	return true;
}

bool ptx_accept(struct ptx_parser *parser, char punct)
{
	if (!at(parser, punct))
		return false;
	ptx_advance(parser);
	return true;
}

static int token_width(const struct ptx_token *token)
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
			  token_width(&parser->token), parser->token.text);
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
			out_of_memory(parser);
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

/* Hands the items over to the caller, trimmed; the vector starts anew. */
static void *take_items(struct ptx_vector *vector, uint32_t *ret_n)
{
	void *items = vector->items;

	*ret_n = vector->n;
	memset(vector, 0, sizeof(*vector));
	return items;
}

static void skip_statement(struct ptx_parser *parser)
{
	uint32_t line = parser->token.line;

	/* Braces on the same line are operands, on another they belong to the function. */
	while (parser->token.kind != PTX_TOKEN_END && !at(parser, ';') &&
	       ((!at(parser, '}') && !at(parser, '{')) || parser->token.line == line))
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
		if (at(parser, '{'))
			depth++;
		if (at(parser, '}') && --depth == 0) {
			ptx_advance(parser);
			return;
		}
		ptx_advance(parser);
	}
	ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "'}' expected before the end of the text");
}

static char *copy_text(struct ptx_parser *parser, const char *text, size_t length)
{
	char *copy = malloc(length + 1);

	if (copy == NULL) {
		out_of_memory(parser);
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
			  token_width(&parser->token), parser->token.text);
		return false;
	}
	*ret_value = minus ? 0 - parser->token.value : parser->token.value;
	ptx_advance(parser);
	return true;
}

/* --- symbols of the module -----------------------------------------------------------------------------------------
 */

static uint32_t hash_text(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

static struct ptx_symbol *symbol_at(const struct ptx_parser *parser, uint32_t index)
{
	return (struct ptx_symbol *)parser->symbols.items + index;
}

uint32_t ptx_find_symbol(const struct ptx_parser *parser, const char *text, size_t length)
{
	uint32_t mask = parser->n_buckets - 1;

	if (parser->n_buckets == 0)
		return UINT32_MAX;
	for (uint32_t i = hash_text(text, length) & mask; parser->buckets[i] != 0; i = (i + 1) & mask) {
		const char *name = symbol_at(parser, parser->buckets[i] - 1)->name;

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return parser->buckets[i] - 1;
	}
	return UINT32_MAX;
}

static void insert_bucket(struct ptx_parser *parser, uint32_t symbol)
{
	const char *name = symbol_at(parser, symbol)->name;
	uint32_t mask = parser->n_buckets - 1;
	uint32_t i = hash_text(name, strlen(name)) & mask;

	while (parser->buckets[i] != 0)
		i = (i + 1) & mask;
	parser->buckets[i] = symbol + 1;
}

static bool grow_buckets(struct ptx_parser *parser)
{
	uint32_t n_buckets = parser->n_buckets == 0 ? 64 : parser->n_buckets * 2;
	uint32_t *old = parser->buckets;
	uint32_t n_old = parser->n_buckets;
	uint32_t *buckets = calloc(n_buckets, sizeof(*buckets));

	if (buckets == NULL) {
		out_of_memory(parser);
		return false;
	}
	parser->buckets = buckets;
	parser->n_buckets = n_buckets;
	for (uint32_t i = 0; i < n_old; i++)
		if (old[i] != 0)
			insert_bucket(parser, old[i] - 1);
	free(old);
	return true;
}

/* A new symbol; visible by name in the whole module unless `hidden` (a variable of a function body). */
static uint32_t add_symbol(struct ptx_parser *parser, const struct ptx_token *name, bool hidden)
{
	char *copy = copy_text(parser, name->text, name->length);
	struct ptx_symbol *symbol;
	uint32_t index = parser->symbols.n;

	if (copy == NULL)
		return UINT32_MAX;
	symbol = ptx_append(parser, &parser->symbols, sizeof(*symbol));
	if (parser->stop) {
		free(copy);
		return UINT32_MAX;
	}
	symbol->name = copy;
	symbol->line = name->line;
	if (!hidden) {
		if (parser->symbols.n * 2 > parser->n_buckets && !grow_buckets(parser))
			return UINT32_MAX;
		insert_bucket(parser, index);
	}
	return index;
}

uint32_t ptx_module_find(const struct ptx_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->n_symbols; i++)
		if (strcmp(module->symbols[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

/* --- names of a function -------------------------------------------------------------------------------------------
 */

static struct ptx_name *add_name(struct ptx_parser *parser, const struct ptx_token *token, enum ptx_name_kind kind)
{
	struct ptx_name *name = ptx_append(parser, &parser->names, sizeof(*name));

	name->text = token->text;
	name->length = token->length;
	name->kind = kind;
	return name;
}

/* "%r12" is member 12 of the family "%r"; "%r012" and "%r" are not. */
static bool family_member(const struct ptx_name *name, const struct ptx_token *token, uint32_t *ret_index)
{
	uint64_t index = 0;
	size_t n_digits = token->length - name->length;

	if (token->length <= name->length || n_digits > 9 || memcmp(name->text, token->text, name->length) != 0)
		return false;
	for (size_t i = name->length; i < token->length; i++) {
		if (token->text[i] < '0' || token->text[i] > '9')
			return false;
		index = index * 10 + (uint64_t)(token->text[i] - '0');
	}
	if ((token->text[name->length] == '0' && n_digits > 1) || index >= name->count)
		return false;
	*ret_index = (uint32_t)index;
	return true;
}

const struct ptx_name *ptx_find_name(const struct ptx_parser *parser, const struct ptx_token *token,
				     uint32_t *ret_offset)
{
	const struct ptx_name *names = parser->names.items;

	for (uint32_t i = parser->names.n; i-- > 0;) {
		const struct ptx_name *name = &names[i];
		uint32_t index = 0;

		if (name->count > 0) {
			if (!family_member(name, token, &index))
				continue;
		} else if (name->length != token->length || memcmp(name->text, token->text, name->length) != 0) {
			continue;
		}
		*ret_offset = name->offset + index * name->stride;
		return name;
	}
	return NULL;
}

static uint32_t register_stride(uint32_t bytes)
{
	return bytes == 0 ? sizeof(uint32_t) : bytes * SIM_LANES;
}

static uint32_t reserve_registers(struct ptx_parser *parser, uint32_t bytes, uint32_t count)
{
	/* Lanes start on a vector boundary; masks need only their own. */
	uint64_t align = bytes == 0 ? 4 : 32;
	uint64_t start = (parser->function->registers_bytes + align - 1) & ~(align - 1);
	uint64_t end = start + (uint64_t)register_stride(bytes) * count;

	if (end > PTX_MAX_FRAME_BYTES) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "too many registers");
		return 0;
	}
	parser->function->registers_bytes = (uint32_t)end;
	parser->function->n_registers += count;
	return (uint32_t)start;
}

uint32_t ptx_new_register(struct ptx_parser *parser, uint32_t bytes)
{
	return reserve_registers(parser, bytes, 1);
}

void ptx_use_label(struct ptx_parser *parser, const struct ptx_token *token, bool in_table, uint32_t table,
		   uint32_t index)
{
	struct ptx_label_use *use = ptx_append(parser, &parser->label_uses, sizeof(*use));

	use->label.text = token->text;
	use->label.length = token->length;
	use->label.line = token->line;
	use->label.scope = parser->scope;
	use->in_table = in_table;
	use->table = table;
	use->index = index;
}

static int compare_labels(const void *a, const void *b)
{
	const struct ptx_label *x = a, *y = b;
	size_t length = x->length < y->length ? x->length : y->length;
	int order = memcmp(x->text, y->text, length);

	if (order != 0)
		return order;
	if (x->length != y->length)
		return x->length < y->length ? -1 : 1;
	return x->scope < y->scope ? -1 : x->scope > y->scope;
}

/* The label of that name in the scope or in the nearest one around it. */
static const struct ptx_label *find_label(const struct ptx_parser *parser, const struct ptx_label *wanted)
{
	const uint32_t *parents = parser->scopes.items;
	struct ptx_label key = *wanted;

	if (parser->labels.n == 0)
		return NULL;
	for (;;) {
		const struct ptx_label *found =
			bsearch(&key, parser->labels.items, parser->labels.n, sizeof(key), compare_labels);

		if (found != NULL)
			return found;
		if (key.scope == 0)
			return NULL;
		key.scope = parents[key.scope];
	}
}

static void resolve_labels(struct ptx_parser *parser)
{
	struct ptx_label *labels = parser->labels.items;
	struct ptx_label_use *uses = parser->label_uses.items;
	struct ptx_insn *code = parser->code.items;
	struct ptx_branch_table *tables = parser->tables.items;

	if (parser->labels.n > 0)
		qsort(labels, parser->labels.n, sizeof(*labels), compare_labels);
	for (uint32_t i = 1; i < parser->labels.n; i++)
		if (compare_labels(&labels[i - 1], &labels[i]) == 0)
			ptx_error(parser, SIM_INVALID_PTX, labels[i].line, "label '%.*s' is defined twice",
				  (int)labels[i].length, labels[i].text);
	for (uint32_t i = 0; i < parser->label_uses.n; i++) {
		const struct ptx_label *label = find_label(parser, &uses[i].label);

		if (label == NULL)
			ptx_error(parser, SIM_INVALID_PTX, uses[i].label.line, "label '%.*s' is not defined",
				  (int)uses[i].label.length, uses[i].label.text);
		else if (uses[i].in_table)
			tables[uses[i].table].targets[uses[i].index] = label->target;
		else
			code[uses[i].index].target = label->target;
	}
}

/* --- variables -----------------------------------------------------------------------------------------------------
 */

struct declaration {
	struct ptx_token name;
	uint32_t line;
	enum ptx_type type;
	uint32_t align; /* 0 = natural */
	bool is_managed;
	uint32_t n_elements; /* of a vector type */
	uint32_t n_dimensions;
	uint64_t dimensions[PTX_MAX_DIMENSIONS]; /* 0 = open */
	uint64_t bytes;
};

static enum ptx_type type_of_token(const struct ptx_token *token)
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
	while (parser->token.kind != PTX_TOKEN_END && !at(parser, ')') && !at(parser, ';')) {
		if (at_word(parser, ".managed"))
			*ret_is_managed = true;
		ptx_advance(parser);
	}
	return ptx_expect(parser, ')');
}

/* [.align n] [.v2] .type [.ptr .global .align n] */
static bool parse_variable_type(struct ptx_parser *parser, struct declaration *declaration)
{
	memset(declaration, 0, sizeof(*declaration));
	declaration->line = parser->token.line;
	declaration->n_elements = 1;
	for (;;) {
		enum ptx_type type = type_of_token(&parser->token);

		if (type != PTX_NONE) {
			declaration->type = type;
			ptx_advance(parser);
		} else if (accept_word(parser, ".align")) {
			if (!parse_align(parser, &declaration->align))
				return false;
		} else if (accept_word(parser, ".v2")) {
			declaration->n_elements = 2;
		} else if (accept_word(parser, ".v4")) {
			declaration->n_elements = 4;
		} else if (accept_word(parser, ".attribute")) {
			if (!parse_attribute(parser, &declaration->is_managed))
				return false;
		} else if (accept_word(parser, ".ptr")) {
			uint32_t pointee_align;

			while (at_word(parser, ".global") || at_word(parser, ".shared") || at_word(parser, ".const") ||
			       at_word(parser, ".local"))
				ptx_advance(parser);
			if (accept_word(parser, ".align") && !parse_align(parser, &pointee_align))
				return false;
		} else {
			break;
		}
	}
	if (declaration->type == PTX_NONE) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a type expected before '%.*s'",
			  token_width(&parser->token), parser->token.text);
		return false;
	}
	return true;
}

/* name[2][3], name[], name */
static bool parse_declarator(struct ptx_parser *parser, struct declaration *declaration)
{
	uint64_t bytes = (uint64_t)ptx_type_bytes[declaration->type] * declaration->n_elements;

	if (parser->token.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a name expected before '%.*s'",
			  token_width(&parser->token), parser->token.text);
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
		if (!at(parser, ']') && !ptx_parse_int(parser, &length))
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
			  token_width(&declaration->name), declaration->name.text);
		return false;
	}
	declaration->bytes = bytes;
	return true;
}

struct initialiser {
	struct ptx_vector data, fixups; /* uint8_t, struct ptx_data_fixup */
	const struct declaration *declaration;
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
	bool is_generic = accept_word(parser, "generic");
	uint64_t addend = 0;
	uint32_t symbol;

	if (is_generic && !ptx_expect(parser, '('))
		return false;
	name = parser->token;
	if (name.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "a value expected before '%.*s'", token_width(&name),
			  name.text);
		return false;
	}
	ptx_advance(parser);
	symbol = ptx_find_symbol(parser, name.text, name.length);
	if (symbol == UINT32_MAX) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "'%.*s' is not declared", token_width(&name), name.text);
		return false;
	}
	if (is_generic && !ptx_expect(parser, ')'))
		return false;
	if (ptx_accept(parser, '+')) {
		if (!ptx_parse_int(parser, &addend))
			return false;
	} else if (at(parser, '-') && !ptx_parse_int(parser, &addend)) {
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
		ptx_error(parser, SIM_INVALID_PTX, token.line, "a value expected before '%.*s'", token_width(&token),
			  token.text);
		return false;
	}
	put_element(parser, initialiser, value);
	return true;
}

/* Fills up to a whole row of the dimensions inside the brace pair that just closed. */
static void pad_row(struct ptx_parser *parser, struct initialiser *initialiser, uint32_t depth)
{
	const struct declaration *declaration = initialiser->declaration;
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
			if (++depth > PTX_MAX_DEPTH) {
				ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "braces nested too deeply");
				return false;
			}
		if (!at(parser, '}')) {
			bool good = parser->token.kind == PTX_TOKEN_WORD ? parse_symbol_value(parser, initialiser, 0)
									 : parse_number_value(parser, initialiser);

			if (!good)
				return false;
		}
		while (depth > 0 && ptx_accept(parser, '}')) {
			depth--;
			pad_row(parser, initialiser, depth);
		}
		if (initialiser->data.n > PTX_MAX_FRAME_BYTES * 4u || parser->stop)
			break;
	} while (depth > 0 && ptx_expect(parser, ',') && !parser->stop);
	return depth == 0 && !parser->stop;
}

static bool parse_initialiser(struct ptx_parser *parser, struct declaration *declaration, uint32_t symbol_index)
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
			  token_width(&declaration->name), declaration->name.text);
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
	symbol = symbol_at(parser, symbol_index);
	free(symbol->data);
	free(symbol->fixups);
	symbol->data = initialiser.data.items;
	symbol->fixups = initialiser.fixups.items;
	symbol->n_fixups = initialiser.fixups.n;
	return true;
}

/* The symbol of a variable: the one declared before, when this completes an .extern. */
static uint32_t variable_symbol(struct ptx_parser *parser, const struct declaration *declaration,
				enum ptx_symbol_kind kind, bool is_extern)
{
	uint32_t index;

	if (parser->function != NULL)
		return add_symbol(parser, &declaration->name, true);
	index = ptx_find_symbol(parser, declaration->name.text, declaration->name.length);
	if (index == UINT32_MAX)
		return add_symbol(parser, &declaration->name, false);
	if (symbol_at(parser, index)->kind != kind || (!symbol_at(parser, index)->is_extern && !is_extern)) {
		ptx_error(parser, SIM_INVALID_PTX, declaration->line, "'%.*s' is declared twice",
			  token_width(&declaration->name), declaration->name.text);
		return UINT32_MAX;
	}
	return index;
}

/* A .global, .const or .shared statement, behind the space; several declarators may follow one type. */
static bool parse_variables(struct ptx_parser *parser, enum ptx_symbol_kind kind, bool is_extern)
{
	struct declaration declaration;

	if (!parse_variable_type(parser, &declaration))
		return false;
	do {
		struct ptx_symbol *symbol;
		uint32_t index;

		if (!parse_declarator(parser, &declaration))
			return false;
		index = variable_symbol(parser, &declaration, kind, is_extern);
		if (index == UINT32_MAX)
			return false;
		symbol = symbol_at(parser, index);
		symbol->kind = kind;
		symbol->align = declaration.align;
		symbol->is_extern = is_extern;
		symbol->is_managed = declaration.is_managed;
		if (ptx_accept(parser, '=') && !parse_initialiser(parser, &declaration, index))
			return false;
		symbol = symbol_at(parser, index);
		symbol->bytes = declaration.bytes;
		symbol->is_dynamic_shared = kind == PTX_SYMBOL_SHARED && is_extern && declaration.bytes == 0;
		if (parser->function != NULL) {
			struct ptx_name *name = add_name(parser, &declaration.name, PTX_NAME_VARIABLE);

			name->offset = index;
			name->bytes = (uint32_t)declaration.bytes;
		}
	} while (ptx_accept(parser, ','));
	return ptx_expect(parser, ';');
}

/* Takes `bytes` of a growing area; false, with an error, past the limit. */
static bool reserve_area(struct ptx_parser *parser, const struct declaration *declaration, uint32_t limit,
			 uint32_t *area, uint32_t *ret_offset)
{
	uint64_t start = ((uint64_t)*area + declaration->align - 1) & ~(uint64_t)(declaration->align - 1);

	if (start + declaration->bytes > limit) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, declaration->line, "'%.*s' is too large",
			  token_width(&declaration->name), declaration->name.text);
		return false;
	}
	*ret_offset = (uint32_t)start;
	*area = (uint32_t)(start + declaration->bytes);
	return true;
}

/* A .local or .param statement of a function body. */
static bool parse_frame_variables(struct ptx_parser *parser, enum ptx_name_kind kind)
{
	struct declaration declaration;

	if (!parse_variable_type(parser, &declaration))
		return false;
	do {
		struct ptx_function *function = parser->function;
		bool is_local = kind == PTX_NAME_LOCAL;
		struct ptx_name *name;
		uint32_t offset;

		if (!parse_declarator(parser, &declaration))
			return false;
		if (!reserve_area(parser, &declaration, is_local ? PTX_MAX_LOCAL_BYTES : PTX_MAX_PARAM_BYTES * 16,
				  is_local ? &function->local_bytes : &function->params_bytes, &offset))
			return false;
		name = add_name(parser, &declaration.name, kind);
		name->offset = offset;
		name->bytes = (uint32_t)declaration.bytes;
	} while (ptx_accept(parser, ','));
	return ptx_expect(parser, ';');
}

/* .reg .b32 %r<10>, a, b; */
static bool parse_registers(struct ptx_parser *parser)
{
	enum ptx_type type = type_of_token(&parser->token);
	uint32_t bytes;

	if (type == PTX_NONE) {
		ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "register type '%.*s' is not supported",
			  token_width(&parser->token), parser->token.text);
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
				  token_width(&token), token.text);
			return false;
		}
		ptx_advance(parser);
		if (ptx_accept(parser, '<')) {
			if (!ptx_parse_int(parser, &count) || !ptx_expect(parser, '>'))
				return false;
			if (count == 0 || count > PTX_MAX_FRAME_BYTES) {
				ptx_error(parser, SIM_INVALID_PTX, token.line, "bad number of registers");
				return false;
			}
		}
		name = add_name(parser, &token, PTX_NAME_REGISTER);
		name->count = (uint32_t)count;
		name->bytes = bytes;
		name->stride = register_stride(bytes);
		name->offset = reserve_registers(parser, bytes, count == 0 ? 1 : (uint32_t)count);
	} while (ptx_accept(parser, ',') && !parser->stop);
	return ptx_expect(parser, ';');
}

/* --- functions -----------------------------------------------------------------------------------------------------
 */

/* "(.param .b64 a, .param .align 8 .b8 b[16])": formal parameters or results. */
static bool parse_formals(struct ptx_parser *parser, bool in_entry, struct ptx_vector *params, uint32_t *area)
{
	if (!ptx_expect(parser, '('))
		return false;
	if (ptx_accept(parser, ')'))
		return true;
	do {
		struct declaration declaration;
		struct ptx_param *param;
		struct ptx_name *name;
		uint32_t offset;

		if (at_word(parser, ".reg")) {
			ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line,
				  "register parameters are not supported");
			return false;
		}
		if (!accept_word(parser, ".param")) {
			ptx_error(parser, SIM_INVALID_PTX, parser->token.line, ".param expected before '%.*s'",
				  token_width(&parser->token), parser->token.text);
			return false;
		}
		if (!parse_variable_type(parser, &declaration) || !parse_declarator(parser, &declaration) ||
		    !reserve_area(parser, &declaration, PTX_MAX_PARAM_BYTES, area, &offset))
			return false;
		param = ptx_append(parser, params, sizeof(*param));
		param->offset = offset;
		param->bytes = (uint32_t)declaration.bytes;
		name = add_name(parser, &declaration.name, in_entry ? PTX_NAME_ENTRY_PARAM : PTX_NAME_PARAM);
		name->offset = offset;
		name->bytes = (uint32_t)declaration.bytes;
	} while (ptx_accept(parser, ',') && !parser->stop);
	return ptx_expect(parser, ')');
}

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

		if (accept_word(parser, ".maxntid") || accept_word(parser, ".reqntid")) {
			if (!parse_shape(parser, shape))
				return false;
			function->max_threads = shape[0] > 1024 ? 1024 : shape[0];
			if ((uint64_t)shape[0] * shape[1] <= 1024 && (uint64_t)shape[0] * shape[1] * shape[2] <= 1024)
				function->max_threads = shape[0] * shape[1] * shape[2];
		} else if (accept_word(parser, ".reqnctapercluster")) {
			if (!parse_shape(parser, function->required_cluster))
				return false;
		} else if (accept_word(parser, ".minnctapersm") || accept_word(parser, ".maxnreg") ||
			   accept_word(parser, ".maxclusterrank") || accept_word(parser, ".maxnctapersm")) {
			if (!ptx_parse_int(parser, &ignored))
				return false;
		} else if (accept_word(parser, ".pragma")) {
			while (parser->token.kind == PTX_TOKEN_STRING || at(parser, ','))
				ptx_advance(parser);
			if (!ptx_expect(parser, ';'))
				return false;
		} else if (!accept_word(parser, ".explicitcluster") && !accept_word(parser, ".noreturn") &&
			   !accept_word(parser, ".blocksareclusters")) {
			ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
				  token_width(&parser->token), parser->token.text);
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
		out_of_memory(parser);
		return NULL;
	}
	function->name = copy_text(parser, name->text, name->length);
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
		symbol = symbol_at(parser, index);
		if (symbol->kind != PTX_SYMBOL_FUNCTION || symbol->function->is_entry != is_entry) {
			ptx_error(parser, SIM_INVALID_PTX, name->line, "'%.*s' is declared twice", token_width(name),
				  name->text);
			return NULL;
		}
		return symbol->function;
	}
	function = new_function(parser, name);
	if (function == NULL)
		return NULL;
	function->is_entry = is_entry;
	index = add_symbol(parser, name, false);
	if (index == UINT32_MAX)
		return NULL;
	symbol = symbol_at(parser, index);
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
	parser->tables.n = parser->fixups.n = parser->names.n = parser->labels.n = 0;
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
			out_of_memory(parser);
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
	if (accept_word(parser, ".branchtargets"))
		return parse_branch_targets(parser, &name);
	if (at_word(parser, ".callprototype") || at_word(parser, ".calltargets")) {
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
	if (accept_word(parser, ".reg"))
		return parse_registers(parser);
	if (accept_word(parser, ".local"))
		return parse_frame_variables(parser, PTX_NAME_LOCAL);
	if (accept_word(parser, ".param"))
		return parse_frame_variables(parser, PTX_NAME_PARAM);
	if (accept_word(parser, ".shared"))
		return parse_variables(parser, PTX_SYMBOL_SHARED, false);
	if (accept_word(parser, ".global"))
		return parse_variables(parser, PTX_SYMBOL_GLOBAL, false);
	if (accept_word(parser, ".const"))
		return parse_variables(parser, PTX_SYMBOL_CONST, false);
	if (accept_word(parser, ".extern") && accept_word(parser, ".shared"))
		return parse_variables(parser, PTX_SYMBOL_SHARED, true);
	if (at_word(parser, ".loc") || at_word(parser, ".file")) {
		skip_line(parser);
		return true;
	}
	if (at_word(parser, ".pragma")) {
		skip_statement(parser);
		return true;
	}
	ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
		  token_width(&parser->token), parser->token.text);
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
	if (at(parser, '@'))
		return ptx_decode_insn(parser);
	if (ptx_accept(parser, ';'))
		return true;
	ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "an instruction expected before '%.*s'",
		  token_width(&parser->token), parser->token.text);
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
	if (!is_entry && at(parser, '(') && !parse_formals(parser, false, &results, &area))
		goto failed;
	name = parser->token;
	if (name.kind != PTX_TOKEN_WORD) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "a function name expected before '%.*s'",
			  token_width(&name), name.text);
		goto failed;
	}
	ptx_advance(parser);
	if (at(parser, '(') && !parse_formals(parser, is_entry, &params, &area))
		goto failed;
	if (!parse_tuning_directives(parser, &header))
		goto failed;
	function = declare_function(parser, &name, is_entry);
	if (function == NULL)
		goto failed;
	if (function->is_defined && at(parser, '{')) {
		ptx_error(parser, SIM_INVALID_PTX, name.line, "'%.*s' is defined twice", token_width(&name), name.text);
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
	parse_body(parser);
	append_ret(parser);
	resolve_labels(parser);
	parser->function = NULL;
	if (!parser->stop)
		take_function_state(parser, function);
	return true;
failed:
	free(params.items);
	free(results.items);
	return false;
}

/* --- module --------------------------------------------------------------------------------------------------------
 */

static bool parse_version(struct ptx_parser *parser)
{
	struct ptx_token token = parser->token;
	double value;

	if (token.kind != PTX_TOKEN_FLOAT) {
		ptx_error(parser, SIM_INVALID_PTX, token.line, "a version expected before '%.*s'", token_width(&token),
			  token.text);
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
				  token_width(&token), token.text);
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
		if (accept_word(parser, ".extern"))
			*ret_is_extern = true;
		else if (!accept_word(parser, ".visible") && !accept_word(parser, ".weak") &&
			 !accept_word(parser, ".common"))
			return any;
	}
}

static bool parse_module_item(struct ptx_parser *parser)
{
	bool is_extern;
	uint64_t ignored;

	parse_linkage(parser, &is_extern);
	if (accept_word(parser, ".entry"))
		return parse_function(parser, true);
	if (accept_word(parser, ".func"))
		return parse_function(parser, false);
	if (accept_word(parser, ".global"))
		return parse_variables(parser, PTX_SYMBOL_GLOBAL, is_extern);
	if (accept_word(parser, ".const"))
		return parse_variables(parser, PTX_SYMBOL_CONST, is_extern);
	if (accept_word(parser, ".shared"))
		return parse_variables(parser, PTX_SYMBOL_SHARED, is_extern);
	if (accept_word(parser, ".version"))
		return parse_version(parser);
	if (accept_word(parser, ".target"))
		return parse_target(parser);
	if (accept_word(parser, ".address_size")) {
		if (!ptx_parse_int(parser, &ignored))
			return false;
		if (ignored != 64)
			ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line,
				  "only 64-bit addresses are supported");
		return true;
	}
	if (at_word(parser, ".file") || at_word(parser, ".loc")) {
		skip_line(parser);
		return true;
	}
	if (at_word(parser, ".pragma")) {
		skip_statement(parser);
		return true;
	}
	if (accept_word(parser, ".section")) {
		ptx_advance(parser);
		skip_braces(parser);
		return true;
	}
	if (ptx_accept(parser, ';') || ptx_accept(parser, '}'))
		return true;
	if (parser->token.kind == PTX_TOKEN_DOTTED)
		ptx_error(parser, SIM_UNSUPPORTED_PTX, parser->token.line, "directive '%.*s' is not supported",
			  token_width(&parser->token), parser->token.text);
	else
		ptx_error(parser, SIM_INVALID_PTX, parser->token.line, "a directive expected before '%.*s'",
			  token_width(&parser->token), parser->token.text);
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

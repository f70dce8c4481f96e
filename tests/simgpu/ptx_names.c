/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_names.c - names: the module's symbols, a function's registers, parameters and variables, its labels.
 *
 * Symbols are hashed. A function has few declarations, since registers come in families, so its names are a list that
 * is searched from the end: the innermost declaration is found first, and closing a brace cuts the list. Labels are
 * looked up when the function has been read. Any thread; all state is in struct ptx_parser.
 */
#include "ptx_parse.h"

#include <stdlib.h>
#include <string.h>

#define PTX_MAX_FRAME_BYTES (64u << 20) /* registers of one frame: far above what nvcc emits */

/* --- symbols of the module -------------------------------------------------------------------- */

static uint32_t hash_text(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619u;
	return hash;
}

struct ptx_symbol *ptx_symbol_at(const struct ptx_parser *parser, uint32_t index)
{
	return (struct ptx_symbol *)parser->symbols.items + index;
}

uint32_t ptx_find_symbol(const struct ptx_parser *parser, const char *text, size_t length)
{
	uint32_t mask = parser->n_buckets - 1;

	if (parser->n_buckets == 0)
		return UINT32_MAX;
	for (uint32_t i = hash_text(text, length) & mask; parser->buckets[i] != 0; i = (i + 1) & mask) {
		const char *name = ptx_symbol_at(parser, parser->buckets[i] - 1)->name;

		if (strlen(name) == length && memcmp(name, text, length) == 0)
			return parser->buckets[i] - 1;
	}
	return UINT32_MAX;
}

static void insert_bucket(struct ptx_parser *parser, uint32_t symbol)
{
	const char *name = ptx_symbol_at(parser, symbol)->name;
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
		ptx_out_of_memory(parser);
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
uint32_t ptx_add_symbol(struct ptx_parser *parser, const struct ptx_token *name, bool hidden)
{
	char *copy = ptx_copy_text(parser, name->text, name->length);
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

/* --- names of a function ---------------------------------------------------------------------- */

struct ptx_name *ptx_add_name(struct ptx_parser *parser, const struct ptx_token *token, enum ptx_name_kind kind)
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

uint32_t ptx_register_stride(uint32_t bytes)
{
	return bytes == 0 ? sizeof(uint32_t) : bytes * SIM_LANES;
}

uint32_t ptx_reserve_registers(struct ptx_parser *parser, uint32_t bytes, uint32_t count)
{
	/* Lanes start on a vector boundary; masks need only their own. */
	uint64_t align = bytes == 0 ? 4 : 32;
	uint64_t start = (parser->function->registers_bytes + align - 1) & ~(align - 1);
	uint64_t end = start + (uint64_t)ptx_register_stride(bytes) * count;

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
	return ptx_reserve_registers(parser, bytes, 1);
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

void ptx_resolve_labels(struct ptx_parser *parser)
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

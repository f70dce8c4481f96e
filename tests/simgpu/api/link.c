/* SPDX-License-Identifier: Apache-2.0
 *
 * link.c - several PTX texts of relocatable code into one.
 *
 * What a device linker does with machine code is done here with text. Each unit is cut into its module-level
 * statements; a name that several units share is one thing: of its definitions the only strong one stays, or the first
 * weak one, and declarations behind it go. A name without linkage is a unit's own and gets the unit's number behind
 * it where another unit has the same. Everything else is copied as it is, so the compiler of PTX finds what nvcc
 * wrote. What remains undefined is that compiler's to report.
 *
 * The text may be anything: cutting never leaves it. Callable from any thread.
 */
#include "link.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum linkage { LINKAGE_NONE, LINKAGE_VISIBLE, LINKAGE_WEAK, LINKAGE_EXTERN, LINKAGE_COMMON };

enum action { KEEP, DROP, DECLARE };

struct piece {
	const char *start, *end;
};

struct statement {
	size_t unit, index; /* in the unit */
	struct piece text;
	const char *head_end; /* before the body or the initial value */
	struct piece name;    /* empty: nobody can refer to it */
	enum linkage linkage;
	bool is_definition, is_entry;
	enum action action;
};

struct unit {
	struct statement *statements;
	size_t n, capacity;
	unsigned int version, target; /* 90 for 9.0; 90 for sm_90 */
	struct piece target_line;
	struct piece *renamed; /* names that get the unit's number */
	size_t n_renamed;
};

struct linker {
	const struct link_unit *given;
	struct unit *units;
	size_t n_units;
	char *log;
	size_t log_bytes;
	enum link_status status;
};

__attribute__((format(printf, 2, 3))) static bool fail(struct linker *linker, const char *format, ...)
{
	va_list list;

	if (linker->status == LINK_OK && linker->log && linker->log_bytes) {
		va_start(list, format);
		vsnprintf(linker->log, linker->log_bytes, format, list);
		va_end(list);
	}
	if (linker->status == LINK_OK)
		linker->status = LINK_FAILED;
	return false;
}

static bool no_memory(struct linker *linker)
{
	linker->status = LINK_NO_MEMORY;
	return false;
}

/* --- tokens ----------------------------------------------------------------------------------- */

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
	       c == '%' || c == '.';
}

static const char *skip_comment(const char *at)
{
	const char *end;

	if (at[0] == '/' && at[1] == '/') {
		end = strchr(at, '\n');
		return end ? end : at + strlen(at);
	}
	if (at[0] == '/' && at[1] == '*') {
		end = strstr(at + 2, "*/");
		return end ? end + 2 : at + strlen(at);
	}
	return at;
}

static const char *skip_blank(const char *at)
{
	for (;;) {
		const char *from = at;

		at += strspn(at, " \t\r\n");
		at = skip_comment(at);
		if (at == from)
			return at;
	}
}

/* A word, a string or one character, behind blanks and comments; empty at the end. */
static struct piece token_at(const char *at)
{
	struct piece token;

	token.start = token.end = skip_blank(at);
	if (is_word(*token.end)) {
		while (is_word(*token.end))
			token.end++;
	} else if (*token.end == '"') {
		token.end++;
		while (*token.end && *token.end != '"')
			token.end += token.end[0] == '\\' && token.end[1] ? 2 : 1;
		token.end += *token.end == '"';
	} else if (*token.end) {
		token.end++;
	}
	return token;
}

static bool is(struct piece token, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(token.end - token.start) == n && memcmp(token.start, text, n) == 0;
}

static int compare_pieces(struct piece a, struct piece b)
{
	size_t n_a = (size_t)(a.end - a.start), n_b = (size_t)(b.end - b.start);
	int order = memcmp(a.start, b.start, n_a < n_b ? n_a : n_b);

	return order ? order : (n_a > n_b) - (n_a < n_b);
}

/* --- statements ------------------------------------------------------------------------------- */

static struct statement *statement_add(struct linker *linker, size_t unit_index)
{
	struct unit *unit = &linker->units[unit_index];

	if (unit->n == unit->capacity) {
		size_t capacity = unit->capacity ? unit->capacity * 2 : 64;
		struct statement *more = realloc(unit->statements, capacity * sizeof(*more));

		if (!more) {
			no_memory(linker);
			return NULL;
		}
		unit->statements = more;
		unit->capacity = capacity;
	}
	unit->statements[unit->n] = (struct statement){ .unit = unit_index, .index = unit->n };
	return &unit->statements[unit->n++];
}

static const char *line_end(const char *at)
{
	const char *end = strchr(at, '\n');

	return end ? end : at + strlen(at);
}

static enum linkage linkage_of(struct piece token)
{
	if (is(token, ".visible"))
		return LINKAGE_VISIBLE;
	if (is(token, ".weak"))
		return LINKAGE_WEAK;
	if (is(token, ".extern"))
		return LINKAGE_EXTERN;
	return is(token, ".common") ? LINKAGE_COMMON : LINKAGE_NONE;
}

/* What can be a name: not a directive, a number or punctuation. */
static bool is_name(struct piece token)
{
	char c = *token.start;

	return is_word(c) && c != '.' && !(c >= '0' && c <= '9');
}

/* One statement from `at`; its end, or NULL when it has none. The name is the first one outside parentheses. */
static const char *statement_scan(const char *at, struct statement *statement)
{
	struct piece token = token_at(at);
	int parentheses = 0, braces = 0;
	bool is_function = false;

	statement->text.start = token.start;
	for (;; token = token_at(token.end)) {
		if (token.start == token.end)
			return NULL;
		if (!statement->name.start && linkage_of(token) != LINKAGE_NONE)
			statement->linkage = linkage_of(token);
		is_function = is_function || is(token, ".func") || is(token, ".entry");
		statement->is_entry = statement->is_entry || is(token, ".entry");
		if (is(token, "("))
			parentheses++;
		else if (is(token, ")"))
			parentheses--;
		else if (!statement->name.start && parentheses == 0 && braces == 0 && is_name(token))
			statement->name = token;
		if (!statement->head_end && (is(token, "=") || is(token, "{") || is(token, ";")))
			statement->head_end = token.start;
		if (is(token, "{")) {
			statement->is_definition = statement->is_definition || (is_function && braces == 0);
			braces++;
		} else if (is(token, "}") && --braces <= 0 && is_function) {
			break;
		} else if (is(token, ";") && braces == 0) {
			statement->is_definition = !is_function && statement->linkage != LINKAGE_EXTERN;
			break;
		}
	}
	statement->text.end = token.end;
	return token.end;
}

static bool is_declaration(struct piece first)
{
	static const char *const words[] = { ".visible", ".weak",   ".extern", ".common", ".global",
					     ".const",   ".shared", ".func",   ".entry" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (is(first, words[i]))
			return true;
	}
	return false;
}

static bool unit_target(struct unit *unit, const char *at)
{
	const char *digits = strpbrk(at, "0123456789");

	unit->target_line = (struct piece){ at, line_end(at) };
	if (!digits || digits >= unit->target_line.end)
		return false;
	unit->target = (unsigned int)strtoul(digits, NULL, 10);
	return true;
}

static bool unit_version(struct unit *unit, const char *at)
{
	unsigned int major, minor;

	if (sscanf(at, ".version %u.%u", &major, &minor) != 2)
		return false;
	unit->version = major * 10 + minor;
	return true;
}

/* Behind a block in braces. */
static const char *block_end(const char *at)
{
	struct piece token = token_at(at);

	while (token.start != token.end && !is(token, "}"))
		token = token_at(token.end);
	return token.end;
}

static bool unit_cut(struct linker *linker, size_t index)
{
	struct unit *unit = &linker->units[index];
	const char *at = linker->given[index].text;
	bool is_good = true;

	for (;;) {
		struct piece first = token_at(at);
		struct statement scanned = { .unit = index };
		struct statement *statement;

		if (first.start == first.end)
			break;
		at = first.start;
		if (is(first, ".version") || is(first, ".target") || is(first, ".address_size") || is(first, ".file")) {
			is_good = is_good && (!is(first, ".version") || unit_version(unit, at)) &&
				  (!is(first, ".target") || unit_target(unit, at));
			at = line_end(at);
			continue;
		}
		if (is(first, ".section")) { /* of a debugger */
			at = block_end(at);
			continue;
		}
		at = statement_scan(at, &scanned);
		if (!at)
			return fail(linker, "%s: the text ends inside a statement", linker->given[index].name);
		statement = statement_add(linker, index);
		if (!statement)
			return false;
		scanned.index = statement->index;
		if (!is_declaration(first))
			scanned.name = (struct piece){ NULL, NULL };
		*statement = scanned;
	}
	if (!is_good || !unit->version || !unit->target)
		return fail(linker, "%s: not PTX: no .version and .target", linker->given[index].name);
	return true;
}

/* --- names ------------------------------------------------------------------------------------ */

static int compare_statements(const void *a, const void *b)
{
	const struct statement *first = *(struct statement *const *)a, *second = *(struct statement *const *)b;
	int order = compare_pieces(first->name, second->name);

	if (order == 0)
		order = (first->unit > second->unit) - (first->unit < second->unit);
	return order ? order : (first->index > second->index) - (first->index < second->index);
}

/* A name of the unit's own that others have as well. */
static bool unit_rename(struct linker *linker, const struct statement *statement)
{
	struct unit *unit = &linker->units[statement->unit];
	struct piece *more;

	for (size_t i = 0; i < unit->n_renamed; i++) {
		if (compare_pieces(unit->renamed[i], statement->name) == 0)
			return true;
	}
	more = realloc(unit->renamed, (unit->n_renamed + 1) * sizeof(*more));
	if (!more)
		return no_memory(linker);
	unit->renamed = more;
	unit->renamed[unit->n_renamed++] = statement->name;
	return true;
}

static struct statement *group_definition(struct linker *linker, struct statement **group, size_t n)
{
	struct statement *strong = NULL, *weak = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!group[i]->is_definition || group[i]->linkage == LINKAGE_NONE)
			continue;
		if (group[i]->linkage != LINKAGE_VISIBLE) {
			weak = weak ? weak : group[i];
		} else if (strong) {
			fail(linker, "'%.*s' is defined in %s and in %s", (int)(strong->name.end - strong->name.start),
			     strong->name.start, linker->given[strong->unit].name, linker->given[group[i]->unit].name);
		} else {
			strong = group[i];
		}
	}
	return strong ? strong : weak;
}

/* All statements of one name, in order. */
static bool group_settle(struct linker *linker, struct statement **group, size_t n)
{
	struct statement *definition = group_definition(linker, group, n);
	bool is_behind = false;

	for (size_t i = 0; i < n; i++) {
		struct statement *statement = group[i];

		if (statement->linkage == LINKAGE_NONE && group[0]->unit != group[n - 1]->unit &&
		    !unit_rename(linker, statement))
			return false;
		if (statement == definition)
			is_behind = true;
		else if (statement->linkage == LINKAGE_NONE)
			statement->action = KEEP;
		else if (is_behind || statement->is_entry)
			statement->action = DROP;
		else if (statement->is_definition)
			statement->action = DECLARE;
	}
	return linker->status == LINK_OK;
}

static bool names_settle(struct linker *linker)
{
	struct statement **named;
	size_t n = 0, n_all = 0;
	bool is_good = true;

	for (size_t i = 0; i < linker->n_units; i++)
		n_all += linker->units[i].n;
	named = calloc(n_all + 1, sizeof(struct statement *));
	if (!named)
		return no_memory(linker);
	for (size_t i = 0; i < linker->n_units; i++) {
		for (size_t k = 0; k < linker->units[i].n; k++) {
			if (linker->units[i].statements[k].name.start)
				named[n++] = &linker->units[i].statements[k];
		}
	}
	qsort(named, n, sizeof(struct statement *), compare_statements);
	for (size_t from = 0, to; from < n && is_good; from = to) {
		for (to = from + 1; to < n && compare_pieces(named[from]->name, named[to]->name) == 0; to++)
			;
		is_good = group_settle(linker, &named[from], to - from);
	}
	free(named);
	return is_good;
}

/* --- the text --------------------------------------------------------------------------------- */

static bool is_renamed(const struct unit *unit, struct piece token)
{
	for (size_t i = 0; i < unit->n_renamed; i++) {
		if (compare_pieces(unit->renamed[i], token) == 0)
			return true;
	}
	return false;
}

static void put(FILE *file, const char *from, const char *to)
{
	fwrite(from, 1, (size_t)(to - from), file);
}

static void put_text(FILE *file, const struct unit *unit, size_t unit_index, const char *from, const char *to)
{
	const char *done = from;

	for (struct piece token = token_at(from); unit->n_renamed && token.start < to && token.start != token.end;
	     token = token_at(token.end)) {
		if (!is_renamed(unit, token))
			continue;
		put(file, done, token.end);
		fprintf(file, "$unit%zu", unit_index);
		done = token.end;
	}
	put(file, done, to);
}

static void put_statement(FILE *file, const struct unit *unit, const struct statement *statement)
{
	struct piece first;

	switch (statement->action) {
	case KEEP:
		put_text(file, unit, statement->unit, statement->text.start, statement->text.end);
		fputc('\n', file);
		break;
	case DECLARE: /* in place of its own linkage */
		first = token_at(statement->text.start);
		fputs(".extern", file);
		put_text(file, unit, statement->unit, first.end, statement->head_end);
		fputs(";\n", file);
		break;
	case DROP:
		break;
	}
}

static bool text_write(struct linker *linker, char **ret_text)
{
	const struct unit *newest = &linker->units[0];
	unsigned int version = 0;
	size_t bytes;
	FILE *file = open_memstream(ret_text, &bytes);
	bool is_good;

	if (!file)
		return no_memory(linker);
	for (size_t i = 0; i < linker->n_units; i++) {
		version = linker->units[i].version > version ? linker->units[i].version : version;
		newest = linker->units[i].target > newest->target ? &linker->units[i] : newest;
	}
	fprintf(file, ".version %u.%u\n", version / 10, version % 10);
	put(file, newest->target_line.start, newest->target_line.end);
	fprintf(file, "\n.address_size 64\n");
	for (size_t i = 0; i < linker->n_units; i++) {
		for (size_t k = 0; k < linker->units[i].n; k++)
			put_statement(file, &linker->units[i], &linker->units[i].statements[k]);
	}
	is_good = !ferror(file);
	if (fclose(file) != 0 || !is_good) {
		free(*ret_text);
		return no_memory(linker);
	}
	return true;
}

enum link_status ptx_link(const struct link_unit *units, size_t n, char *log, size_t log_bytes, char **ret_text)
{
	struct linker linker = { .given = units, .n_units = n, .log = log, .log_bytes = log_bytes };
	bool is_good = true;

	linker.units = calloc(n + 1, sizeof(*linker.units));
	if (!linker.units)
		return LINK_NO_MEMORY;
	if (n == 0)
		is_good = fail(&linker, "there is nothing to link");
	for (size_t i = 0; i < n && is_good; i++)
		is_good = unit_cut(&linker, i);
	if (is_good && names_settle(&linker))
		text_write(&linker, ret_text);
	for (size_t i = 0; i < n; i++) {
		free(linker.units[i].statements);
		free(linker.units[i].renamed);
	}
	free(linker.units);
	return linker.status;
}

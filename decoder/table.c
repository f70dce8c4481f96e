/* SPDX-License-Identifier: Apache-2.0
 *
 * table.c - aligned columns, as wide as their widest cell. See text.h.
 */
#include "text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TABLE_COLUMNS 16u
#define LEAST_NAME_COLUMNS 12u
#define MOST_CELL_BYTES    1024u

struct table {
	char alignment[MOST_TABLE_COLUMNS + 1];
	unsigned n_columns;
	char **cells;
	size_t n_cells, capacity;
	bool out_of_memory;
};

struct table *table_create(const char *alignment)
{
	struct table *table = strlen(alignment) <= MOST_TABLE_COLUMNS ? calloc(1, sizeof(*table)) : NULL;

	if (!table)
		return NULL;
	strcpy(table->alignment, alignment);
	table->n_columns = (unsigned)strlen(alignment);
	return table;
}

struct table *table_destroy(struct table *table)
{
	if (!table)
		return NULL;
	for (size_t i = 0; i < table->n_cells; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
	return NULL;
}

void table_add(struct table *table, const char *cell)
{
	if (!table || table->out_of_memory)
		return;
	if (table->n_cells == table->capacity) {
		const size_t capacity = table->capacity ? 2 * table->capacity : 64;
		char **cells = realloc(table->cells, capacity * sizeof(*cells));

		if (!cells) {
			table->out_of_memory = true;
			return;
		}
		table->cells = cells;
		table->capacity = capacity;
	}
	char *copy = strdup(cell);
	if (!copy) {
		table->out_of_memory = true;
		return;
	}
	table->cells[table->n_cells++] = copy;
}

void table_add_format(struct table *table, const char *format, ...)
{
	char cell[MOST_CELL_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(cell, sizeof(cell), format, arguments);
	va_end(arguments);
	table_add(table, cell);
}

static bool may_go(char alignment)
{
	return alignment == 'L' || alignment == 'R';
}

/* Which columns are shown: those that must be, and of the others as many as fit, from the left. */
static void choose_columns(const struct table *table, unsigned indent, unsigned gap, unsigned columns, bool *shown)
{
	size_t widths[MOST_TABLE_COLUMNS] = { 0 }, width = indent + LEAST_NAME_COLUMNS;

	for (size_t i = 0; i < table->n_cells; i++) {
		const size_t here = text_width(table->cells[i]);

		if (here > widths[i % table->n_columns])
			widths[i % table->n_columns] = here;
	}
	shown[0] = true;
	if (widths[0] < LEAST_NAME_COLUMNS)
		width -= LEAST_NAME_COLUMNS - widths[0];
	for (unsigned i = 1; i < table->n_columns; i++) {
		shown[i] = true;
		width += gap + widths[i];
	}
	for (unsigned i = table->n_columns; i-- > 1 && width > columns;) {
		if (!may_go(table->alignment[i]))
			continue;
		shown[i] = false;
		width -= gap + widths[i];
	}
}

static void name_left_out(const struct table *table, const bool *shown, FILE *out, unsigned indent, unsigned columns)
{
	char line[MOST_CELL_BYTES] = "not shown for want of columns:";

	for (unsigned i = 0, n = 0; i < table->n_columns && i < table->n_cells; i++) {
		const size_t at = strlen(line);

		if (!shown[i])
			snprintf(line + at, sizeof(line) - at, "%s %s", n++ ? "," : "", table->cells[i]);
	}
	for (unsigned i = 0; i < table->n_columns; i++) {
		if (shown[i])
			continue;
		text_paragraph(out, indent, indent + 2, columns, line);
		return;
	}
}

/* Widths that show everything, but for cells of column 0 that leave no room for the others. */
static void choose_widths(const struct table *table, unsigned indent, unsigned gap, unsigned columns, const bool *shown,
			  size_t *widths)
{
	size_t others = indent;

	memset(widths, 0, MOST_TABLE_COLUMNS * sizeof(*widths));
	for (size_t i = 0; i < table->n_cells; i++) {
		const size_t width = text_width(table->cells[i]);

		if (i % table->n_columns != 0 && width > widths[i % table->n_columns])
			widths[i % table->n_columns] = width;
	}
	for (unsigned i = 1; i < table->n_columns; i++)
		others += shown[i] ? widths[i] + gap : 0;
	const size_t room = columns > others + LEAST_NAME_COLUMNS ? columns - others : LEAST_NAME_COLUMNS;
	for (size_t i = 0; i < table->n_cells; i += table->n_columns) {
		const size_t width = text_width(table->cells[i]);

		if (width <= room && width > widths[0])
			widths[0] = width;
	}
}

bool table_print(const struct table *table, FILE *out, unsigned indent, bool tight, unsigned columns)
{
	const unsigned gap = tight ? 1 : 2;
	size_t widths[MOST_TABLE_COLUMNS], pending = 0;
	bool shown[MOST_TABLE_COLUMNS] = { false };
	char cell[MOST_CELL_BYTES];

	if (!table || table->out_of_memory)
		return false;
	choose_columns(table, indent, gap, columns, shown);
	choose_widths(table, indent, gap, columns, shown, widths);
	for (size_t i = 0; i < table->n_cells; i++) {
		const unsigned column = (unsigned)(i % table->n_columns);

		if (column == 0)
			pending = indent;
		if (!shown[column]) {
			if (column + 1 == table->n_columns)
				fputc('\n', out);
			continue;
		}
		text_elide(cell, sizeof(cell), table->cells[i], column == 0 ? columns - indent : SIZE_MAX);
		if (column == 0 && table->n_columns > 1 && text_width(cell) > widths[0]) {
			fprintf(out, "%*s%s\n", (int)indent, "", cell);
			cell[0] = '\0';
		}
		const size_t width = text_width(cell), space = widths[column] > width ? widths[column] - width : 0;
		const bool right = table->alignment[column] == 'r' || table->alignment[column] == 'R';
		const size_t before = right ? space : 0;
		if (cell[0])
			fprintf(out, "%*s%s", (int)(pending + before), "", cell);
		/* spaces wait for a cell that needs them: no line ends in any */
		pending = (cell[0] ? space - before : pending + space) + gap;
		if (column + 1 == table->n_columns)
			fputc('\n', out);
	}
	name_left_out(table, shown, out, indent, columns);
	return true;
}

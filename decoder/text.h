/* SPDX-License-Identifier: Apache-2.0
 *
 * text.h - numbers, names and tables as people read them.
 *
 * Used by the report, the failure texts and the command. Output does not depend on the locale: the report is also
 * printed from inside a user's program, which may have set any. All functions are callable from any thread.
 */
#ifndef WARPSPAN_TEXT_H
#define WARPSPAN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TEXT_NUMBER_BYTES 48 /* holds every number below */

/* "0ns", "12ns", "1.23us", "12.3ms", "123s": three significant digits, never finer than a nanosecond. */
const char *text_duration(char text[TEXT_NUMBER_BYTES], double ns);
/* "12,288" */
const char *text_count(char text[TEXT_NUMBER_BYTES], uint64_t n);
/* "1 record", "12,288 records": `one` is the singular, its plural adds an s. */
const char *text_counted(char text[TEXT_NUMBER_BYTES], uint64_t n, const char *one);
/* "640 bytes", "64 KiB", "1.5 MiB" */
const char *text_bytes(char text[TEXT_NUMBER_BYTES], uint64_t bytes);
/* As a setting takes it: "65536", "64K", "36M" */
const char *text_size_setting(char text[TEXT_NUMBER_BYTES], uint64_t bytes);
/* "1.755 GHz" */
const char *text_rate(char text[TEXT_NUMBER_BYTES], double hz);
/* "98.1%" of a share between 0 and 1 */
const char *text_share(char text[TEXT_NUMBER_BYTES], double share);
/* Four significant digits: "3", "0.125", "-17.5", "1.5e+30" */
const char *text_value(char text[TEXT_NUMBER_BYTES], double value);
/* "8x8", "128": trailing dimensions of 1 are left out */
const char *text_dimensions(char text[TEXT_NUMBER_BYTES], const uint32_t dimensions[3]);
/* "(3,0,0)" */
const char *text_block(char text[TEXT_NUMBER_BYTES], const uint32_t block[3]);

/* Copies `text` into `clean` (capacity `bytes`, at least 1), so that it is valid UTF-8 without control characters:
 * what is neither becomes '?'. Cut at a character when it does not fit. Returns `clean`. */
char *text_clean(char *clean, size_t bytes, const char *text);
/* Copies `text` into `valid`, so that it is valid UTF-8: each byte that is not part of a character becomes U+FFFD;
 * control characters stay. `valid` holds 3 * strlen(text) + 1 bytes. Returns `valid`. */
char *text_valid(char *valid, const char *text);
/* Characters (code points) of valid UTF-8. */
size_t text_width(const char *text);
/* Shortens to at most `width` characters by leaving out the middle ("matmul...int)"); cleans as well. Returns `shown`.
 */
char *text_elide(char *shown, size_t bytes, const char *text, size_t width);
/* The same, but made valid as text_valid() does instead of cleaned. */
char *text_elide_valid(char *shown, size_t bytes, const char *text, size_t width);

/* The same of a path, whose end says more than its beginning (".../captures/late.wspan"). */
char *text_elide_path(char *shown, size_t bytes, const char *path, size_t width);

/* The part of a path after the last slash. */
const char *text_base_name(const char *path);
/* "pipeline.cu:97" of a path and a line, cleaned; "" where the file is not known. Returns `source`. */
char *text_source(char *source, size_t bytes, const char *file, uint32_t line);
/* Prints one paragraph, broken at spaces: `first` spaces before the first line, `rest` before the others. */
void text_paragraph(FILE *out, unsigned first, unsigned rest, unsigned columns, const char *text);

/* Terminal columns to lay out for: COLUMNS when it is a sane number, else the width of the terminal at `file`, else 80.
 */
unsigned text_columns(FILE *file);

/* --- tables ---------------------------------------------------------------------------------------------------------
 * Cells are copied. Memory trouble is remembered and reported once, by table_print(). */
struct table;

/* `alignment`: one character a column, 'l' or 'r'; 'L' or 'R' where the column may be left out, the last one first,
 * when the rows would be too wide. NULL: out of memory; the other functions take that NULL. */
struct table *table_create(const char *alignment);
struct table *table_destroy(struct table *table);
/* The next cell, in reading order. */
void table_add(struct table *table, const char *cell);
void table_add_format(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints the rows, columns two spaces apart (one when `tight`), `indent` spaces before each, to fit into `columns`
 * characters. Columns left out are named below, by their first cells. A first cell that would make the rows too wide
 * stands on a line of its own above its row, so that no two names look alike; it is elided only where it is wider than
 * the whole line. False: memory ran out on the way. */
bool table_print(const struct table *table, FILE *out, unsigned indent, bool tight, unsigned columns);

/* "rank 2 of 4 (Open MPI)", from texts of any length; "" where the rank is "". `world` 0 and a launcher "" are left
 * out. */
#define TEXT_RANK_BYTES 96u
const char *text_rank(char text[TEXT_RANK_BYTES], const char *rank, uint32_t world, const char *launcher);

#endif

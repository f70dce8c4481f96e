/* SPDX-License-Identifier: Apache-2.0
 *
 * text.c - numbers and names as people read them. See text.h.
 *
 * Decimal points come from integer arithmetic, not from printf's %f, which follows the locale of the program we may be
 * a guest of.
 */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define LEAST_COLUMNS 40u
#define MOST_COLUMNS  500u

/* Writes value / 10^decimals with a point. */
static int put_decimal(char *text, size_t bytes, uint64_t scaled, unsigned decimals)
{
	uint64_t one = 1;

	for (unsigned i = 0; i < decimals; i++)
		one *= 10;
	if (decimals == 0)
		return snprintf(text, bytes, "%" PRIu64, scaled);
	return snprintf(text, bytes, "%" PRIu64 ".%0*" PRIu64, scaled / one, (int)decimals, scaled % one);
}

/* Of a value that is neither negative nor large; llround() would make libm a dependency of every program we are in. */
static uint64_t rounded(double value)
{
	return (uint64_t)(value + 0.5);
}

struct unit {
	double factor;
	const char *name;
};

/* Three significant digits in the largest unit that leaves something before the point. */
static const char *put_scaled(char text[TEXT_NUMBER_BYTES], double value, const struct unit *units, unsigned n_units)
{
	unsigned i = 0;

	/* 999.5 and more of a unit rounds to 1000: take the next one */
	while (i + 1 < n_units && value >= 999.5 * units[i].factor)
		i++;
	const double shown = value / units[i].factor;
	const unsigned decimals = i == 0 ? 0 : shown < 9.995 ? 2 : shown < 99.95 ? 1 : 0;
	const double scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
	const int n = put_decimal(text, TEXT_NUMBER_BYTES, rounded(shown * scale), decimals);

	snprintf(text + n, TEXT_NUMBER_BYTES - (size_t)n, "%s", units[i].name);
	return text;
}

const char *text_duration(char text[TEXT_NUMBER_BYTES], double ns)
{
	static const struct unit units[] = { { 1, "ns" }, { 1e3, "us" }, { 1e6, "ms" }, { 1e9, "s" } };

	if (!(ns >= 0) || ns > 9e18) {
		snprintf(text, TEXT_NUMBER_BYTES, "?");
		return text;
	}
	return put_scaled(text, ns, units, sizeof(units) / sizeof(units[0]));
}

const char *text_count(char text[TEXT_NUMBER_BYTES], uint64_t n)
{
	char digits[24];
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	char *to = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return text;
}

const char *text_counted(char text[TEXT_NUMBER_BYTES], uint64_t n, const char *one)
{
	char number[TEXT_NUMBER_BYTES];

	snprintf(text, TEXT_NUMBER_BYTES, "%.27s %.18s%s", text_count(number, n), one, n == 1 ? "" : "s");
	return text;
}

const char *text_bytes(char text[TEXT_NUMBER_BYTES], uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes / 1024;
	unsigned i = 0;

	if (bytes < 1024)
		return text_counted(text, bytes, "byte");
	while (value >= 1023.95 && i + 1 < sizeof(names) / sizeof(names[0])) {
		value /= 1024;
		i++;
	}
	const uint64_t tenths = rounded(value * 10);
	const int n = tenths % 10 != 0 ? put_decimal(text, TEXT_NUMBER_BYTES, tenths, 1)
				       : put_decimal(text, TEXT_NUMBER_BYTES, tenths / 10, 0);
	snprintf(text + n, TEXT_NUMBER_BYTES - (size_t)n, " %s", names[i]);
	return text;
}

const char *text_size_setting(char text[TEXT_NUMBER_BYTES], uint64_t bytes)
{
	static const struct {
		unsigned shift;
		const char *suffix;
	} units[] = { { 30, "G" }, { 20, "M" }, { 10, "K" }, { 0, "" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const uint64_t unit = UINT64_C(1) << units[i].shift;

		if (bytes < unit || bytes % unit != 0)
			continue;
		snprintf(text, TEXT_NUMBER_BYTES, "%" PRIu64 "%s", bytes / unit, units[i].suffix);
		return text;
	}
	snprintf(text, TEXT_NUMBER_BYTES, "%" PRIu64, bytes);
	return text;
}

const char *text_rate(char text[TEXT_NUMBER_BYTES], double hz)
{
	if (!(hz > 0) || hz > 1e15) {
		snprintf(text, TEXT_NUMBER_BYTES, "unknown rate");
		return text;
	}
	const bool giga = hz >= 999.5e6;
	const int n = giga ? put_decimal(text, TEXT_NUMBER_BYTES, rounded(hz / 1e6), 3)
			   : put_decimal(text, TEXT_NUMBER_BYTES, rounded(hz / 1e5), 1);

	snprintf(text + n, TEXT_NUMBER_BYTES - (size_t)n, giga ? " GHz" : " MHz");
	return text;
}

const char *text_share(char text[TEXT_NUMBER_BYTES], double share)
{
	if (!(share >= 0) || share > 1e6) {
		snprintf(text, TEXT_NUMBER_BYTES, "-");
		return text;
	}
	const int n = put_decimal(text, TEXT_NUMBER_BYTES, rounded(share * 1000), 1);

	snprintf(text + n, TEXT_NUMBER_BYTES - (size_t)n, "%%");
	return text;
}

const char *text_value(char text[TEXT_NUMBER_BYTES], double value)
{
	if (value > -1e12 && value < 1e12 && value == (double)(int64_t)value)
		snprintf(text, TEXT_NUMBER_BYTES, "%" PRId64, (int64_t)value);
	else
		snprintf(text, TEXT_NUMBER_BYTES, "%.4g", value);
	/* the locale's decimal separator, wherever it is one byte that %g does not write itself */
	for (char *c = text; *c; c++)
		if (*c == ',')
			*c = '.';
	return text;
}

const char *text_dimensions(char text[TEXT_NUMBER_BYTES], const uint32_t dimensions[3])
{
	if (dimensions[2] > 1)
		snprintf(text, TEXT_NUMBER_BYTES, "%ux%ux%u", dimensions[0], dimensions[1], dimensions[2]);
	else if (dimensions[1] > 1)
		snprintf(text, TEXT_NUMBER_BYTES, "%ux%u", dimensions[0], dimensions[1]);
	else
		snprintf(text, TEXT_NUMBER_BYTES, "%u", dimensions[0]);
	return text;
}

const char *text_block(char text[TEXT_NUMBER_BYTES], const uint32_t block[3])
{
	snprintf(text, TEXT_NUMBER_BYTES, "(%u,%u,%u)", block[0], block[1], block[2]);
	return text;
}

/* --- UTF-8 ------------------------------------------------------------------------------------ */

/* Length of the well-formed character at `s`, which is not its end; 0: it is none. */
static size_t character_bytes(const unsigned char *s, uint32_t *ret_code)
{
	uint32_t code;
	size_t n;

	*ret_code = s[0];
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] < 0xe0) {
		n = 2;
		code = s[0] & 0x1fu;
	} else if (s[0] >= 0xe0 && s[0] < 0xf0) {
		n = 3;
		code = s[0] & 0x0fu;
	} else if (s[0] >= 0xf0 && s[0] < 0xf5) {
		n = 4;
		code = s[0] & 0x07u;
	} else {
		return 0;
	}
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80) /* also the terminating NUL */
			return 0;
		code = code << 6 | (s[i] & 0x3fu);
	}
	if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)))
		return 0; /* longer than need be, or beyond Unicode */
	if (code >= 0xd800 && code < 0xe000)
		return 0; /* half a surrogate pair */
	*ret_code = code;
	return n;
}

/* The same; 0 also for control characters. */
static size_t printable_bytes(const unsigned char *s)
{
	uint32_t code;
	const size_t n = character_bytes(s, &code);

	return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : n;
}

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

char *text_valid(char *valid, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	char *to = valid;

	while (*from) {
		uint32_t code;
		const size_t n = character_bytes(from, &code);

		memcpy(to, n ? (const char *)from : replacement, n ? n : 3);
		to += n ? n : 3;
		from += n ? n : 1;
	}
	*to = '\0';
	return valid;
}

char *text_clean(char *clean, size_t bytes, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t at = 0;

	while (*from) {
		const size_t n = printable_bytes(from);

		if (at + (n ? n : 1) >= bytes)
			break;
		if (n == 0)
			clean[at++] = '?';
		else
			memcpy(clean + at, from, n);
		at += n;
		from += n ? n : 1;
	}
	clean[at] = '\0';
	return clean;
}

/* text_valid() of as much as fits. */
static void copy_valid(char *valid, size_t bytes, const char *text)
{
	const unsigned char *from = (const unsigned char *)text;
	size_t at = 0;

	while (*from) {
		uint32_t code;
		const size_t n = character_bytes(from, &code);

		if (at + (n ? n : sizeof(replacement) - 1) >= bytes)
			break;
		memcpy(valid + at, n ? (const char *)from : replacement, n ? n : sizeof(replacement) - 1);
		at += n ? n : sizeof(replacement) - 1;
		from += n ? n : 1;
	}
	valid[at] = '\0';
}

size_t text_width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The address of character number `n`. */
static const char *character_at(const char *text, size_t n)
{
	for (; *text; text++) {
		if (((unsigned char)*text & 0xc0) == 0x80)
			continue;
		if (n-- == 0)
			break;
	}
	return text;
}

/* Leaves out the middle of valid UTF-8. */
static char *elide(char *shown, size_t width)
{
	static const char dots[] = "...";
	const size_t n_dots = sizeof(dots) - 1;
	const size_t n = text_width(shown);
	if (n <= width)
		return shown;
	if (width <= n_dots) {
		*(char *)character_at(shown, width) = '\0';
		return shown;
	}
	/* The head says more than the tail, but what tells two instantiations apart is often at the end. */
	const size_t n_tail = (width - n_dots) * 2 / 5;
	const size_t n_head = width - n_dots - n_tail;
	char *head_end = (char *)character_at(shown, n_head);
	const char *tail = character_at(shown, n - n_tail);

	/* no overlap trouble: at least four characters go, three bytes come in */
	memmove(head_end + n_dots, tail, strlen(tail) + 1);
	memcpy(head_end, dots, n_dots);
	return shown;
}

char *text_elide(char *shown, size_t bytes, const char *text, size_t width)
{
	return elide(text_clean(shown, bytes, text), width);
}

char *text_elide_valid(char *shown, size_t bytes, const char *text, size_t width)
{
	copy_valid(shown, bytes, text);
	return elide(shown, width);
}

char *text_elide_path(char *shown, size_t bytes, const char *path, size_t width)
{
	static const char dots[] = "...";
	const size_t n_dots = sizeof(dots) - 1;

	text_clean(shown, bytes, path);
	const size_t n = text_width(shown);
	if (n <= width || width <= n_dots)
		return text_elide(shown, bytes, path, width);
	const char *tail = character_at(shown, n - (width - n_dots));
	const char *slash = strchr(tail, '/');
	if (slash && slash[1])
		tail = slash;
	memmove(shown + n_dots, tail, strlen(tail) + 1);
	memcpy(shown, dots, n_dots);
	return shown;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

char *text_source(char *source, size_t bytes, const char *file, uint32_t line)
{
	char name[256];

	source[0] = '\0';
	if (*file)
		snprintf(source, bytes, "%s:%" PRIu32, text_clean(name, sizeof(name), text_base_name(file)), line);
	return source;
}

void text_paragraph(FILE *out, unsigned first, unsigned rest, unsigned columns, const char *text)
{
	size_t at = first;
	bool line_start = true;

	fprintf(out, "%*s", (int)first, "");
	while (*text) {
		const char *end = strchrnul(text, ' ');
		size_t width = 0;

		for (const char *c = text; c < end; c++)
			width += ((unsigned char)*c & 0xc0) != 0x80;
		if (!line_start && at + 1 + width > columns) {
			fprintf(out, "\n%*s", (int)rest, "");
			at = rest;
			line_start = true;
		}
		fprintf(out, "%s%.*s", line_start ? "" : " ", (int)(end - text), text);
		at += width + !line_start;
		line_start = false;
		text = *end ? end + 1 : end;
	}
	fputc('\n', out);
}

unsigned text_columns(FILE *file)
{
	const char *variable = getenv("COLUMNS");
	struct winsize size;

	if (variable && *variable) {
		char *end;
		const unsigned long n = strtoul(variable, &end, 10);

		if (*end == '\0' && n >= LEAST_COLUMNS && n <= MOST_COLUMNS)
			return (unsigned)n;
	}
	const int fd = fileno(file);
	if (fd >= 0 && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= LEAST_COLUMNS && size.ws_col <= MOST_COLUMNS)
		return size.ws_col;
	return 80;
}

const char *text_rank(char text[TEXT_RANK_BYTES], const char *rank, uint32_t world, const char *launcher)
{
	char of[16] = "", shown[32];
	int n;

	text[0] = '\0';
	if (*rank == '\0')
		return text;
	if (world != 0)
		snprintf(of, sizeof(of), " of %" PRIu32, world);
	n = snprintf(text, TEXT_RANK_BYTES, "rank %s%s", text_clean(shown, 16, rank), of);
	if (*launcher != '\0')
		snprintf(text + n, TEXT_RANK_BYTES - (size_t)n, " (%s)", text_clean(shown, sizeof(shown), launcher));
	return text;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * settings_file.c - settings from a JSON file. See settings_file.h.
 *
 * cJSON checks the syntax and reads the values, but forgets where they stood. A second pass over the text, which is
 * good JSON by then, finds the lines of the keys: the n-th key of the text is the n-th item of the object. A pass
 * before it refuses deep nesting, because cJSON recurses and the stack is a thread's of the program.
 */
#include "settings_file.h"

#include "json_check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SENTENCE_BYTES 1024u

/* Who hears what is wrong with which file, and where the settings go. */
struct target {
	const char *name;
	struct warpspan_settings *settings;
	uint32_t *lines;
	warpspan_settings_complain *complain;
	void *context;
};

__attribute__((format(printf, 2, 3))) static void say(const struct target *target, const char *format, ...)
{
	char sentence[SENTENCE_BYTES];
	va_list arguments;

	if (target->complain == NULL)
		return;
	va_start(arguments, format);
	(void)vsnprintf(sentence, sizeof(sentence), format, arguments);
	va_end(arguments);
	target->complain(target->context, sentence);
}

/* Paths in sentences; a longer one is cut. */
#define PATH_FORMAT "%.300s"

/* --- the text --------------------------------------------------------------------------------- */

struct scan {
	const char *at; /* behind the last token */
	uint32_t line;  /* of the last token, from 1 */
	uint32_t lines_passed;
	unsigned depth;
};

static void skip_string(struct scan *scan)
{
	for (; *scan->at != '\0' && *scan->at != '"'; scan->at++) {
		scan->lines_passed += *scan->at == '\n';
		if (*scan->at == '\\' && scan->at[1] != '\0')
			scan->at++;
	}
	if (*scan->at == '"')
		scan->at++;
}

/* The next of { } [ ] , or " for a whole string; '\0' at the end. */
static char next_token(struct scan *scan)
{
	const char *found = strpbrk(scan->at, "{}[],\"\n");

	while (found != NULL && *found == '\n') {
		scan->lines_passed++;
		found = strpbrk(found + 1, "{}[],\"\n");
	}
	if (found == NULL)
		return '\0';
	scan->line = scan->lines_passed + 1;
	scan->at = found + 1;
	if (*found == '"')
		skip_string(scan);
	else if (*found == '{' || *found == '[')
		scan->depth++;
	else if ((*found == '}' || *found == ']') && scan->depth > 0)
		scan->depth--;
	return *found;
}

/* Moves on to the next key of the outermost object; its line is scan->line. */
static void next_key(struct scan *scan)
{
	for (char token; (token = next_token(scan)) != '\0';)
		if (scan->depth == 1 && (token == '{' || token == ',') && next_token(scan) == '"')
			return;
}

/* Line and column, from 1, of a place in the text; columns count characters of UTF-8. */
static void place_of(const char *text, const char *at, uint32_t *ret_line, uint32_t *ret_column)
{
	*ret_line = 1;
	*ret_column = 1;
	for (; text < at; text++) {
		if (*text == '\n') {
			++*ret_line;
			*ret_column = 1;
		} else {
			*ret_column += ((unsigned char)*text & 0xc0) != 0x80;
		}
	}
}

static void say_syntax(const struct target *target, const char *text, size_t bytes, const char *at, const char *wanted)
{
	const size_t n = strcspn(at, " \t\r\n");
	char shown[WARPSPAN_SHOWN_BYTES], found[32] = "the file ends";
	uint32_t line, column;

	place_of(text, at, &line, &column);
	if (at < text + bytes && *at == '\0')
		(void)snprintf(found, sizeof(found), "there is a zero byte");
	else if (n == 0 && *at != '\0')
		(void)snprintf(found, sizeof(found), *at == '\n' ? "the line ends" : "there is a blank");
	else if (*at != '\0')
		(void)snprintf(found, sizeof(found), "there is '%.*s'", (int)(n < 12 ? n : 12), at);
	say(target, PATH_FORMAT ":%u:%u: %s where %s would have to be; nothing in it is used", target->name, line,
	    column, warpspan_settings_shown(found, &shown), wanted);
}

/* --- values ----------------------------------------------------------------------------------- */

static bool takes_number(enum warpspan_setting_type type)
{
	return type == WARPSPAN_SETTING_BYTES || type == WARPSPAN_SETTING_COUNT || type == WARPSPAN_SETTING_TIME ||
	       type == WARPSPAN_SETTING_FLAG || type == WARPSPAN_SETTING_WINDOW;
}

/* The largest number has 309 digits before the point. */
#define NUMBER_BYTES 328u

/* The value as the text an environment variable would have; NULL: it cannot be one. `number` holds those of numbers. */
static const char *value_text(const struct warpspan_setting_info *info, const cJSON *item, char (*number)[NUMBER_BYTES])
{
	if (cJSON_IsString(item))
		return item->valuestring;
	if (cJSON_IsNull(item))
		return "";
	if (cJSON_IsBool(item) && info->type == WARPSPAN_SETTING_FLAG)
		return cJSON_IsTrue(item) ? "1" : "0";
	if (!cJSON_IsNumber(item) || !takes_number(info->type))
		return NULL;
	(void)snprintf(*number, sizeof(*number), "%.9f", item->valuedouble); /* a nanosecond, where it is a time */
	if (strchr(*number, '.') != NULL) {
		char *end = *number + strlen(*number);

		while (end[-1] == '0')
			*--end = '\0';
		if (end[-1] == '.')
			end[-1] = '\0';
	}
	return *number;
}

static const char *kind_of(const cJSON *item)
{
	if (cJSON_IsArray(item))
		return "a list";
	if (cJSON_IsObject(item))
		return "an object";
	if (cJSON_IsBool(item))
		return cJSON_IsTrue(item) ? "true" : "false";
	return "a number";
}

static void set_value(const struct target *target, const struct warpspan_setting_info *info, const cJSON *item,
		      uint32_t line)
{
	const unsigned index = (unsigned)(info - warpspan_setting_infos);
	char number[NUMBER_BYTES], wrong[512], key[WARPSPAN_SHOWN_BYTES];
	const char *text = value_text(info, item, &number);

	(void)warpspan_settings_shown(item->string, &key);
	if (text == NULL) {
		say(target, PATH_FORMAT ":%u: \"%s\" takes %s (%s), not %s: it is left out", target->name, line, key,
		    info->type == WARPSPAN_SETTING_FLAG ? "true or false"
		    : takes_number(info->type)          ? "a text or a number"
							: "a text",
		    info->range, kind_of(item));
		return;
	}
	if (text[0] == '\0')
		return;
	if (!warpspan_setting_parse(index, text, target->settings)) {
		warpspan_setting_wrong(info, text, wrong, sizeof(wrong));
		say(target, PATH_FORMAT ":%u: \"%s\": %s: it is left out", target->name, line, key, wrong);
		return;
	}
	if (target->lines[index] != 0)
		say(target, PATH_FORMAT ":%u: \"%s\" was set in line %u already; this one holds", target->name, line,
		    key, target->lines[index]);
	target->lines[index] = line;
}

static void set_item(const struct target *target, const cJSON *item, uint32_t line)
{
	const struct warpspan_setting_info *info = warpspan_setting_find(item->string, strlen(item->string));
	char key[WARPSPAN_SHOWN_BYTES];

	if (info == &warpspan_setting_infos[WARPSPAN_SETTING_INDEX_CONFIG]) {
		say(target, PATH_FORMAT ":%u: \"%s\" has no effect in a file: one file of settings is read",
		    target->name, line, warpspan_settings_shown(item->string, &key));
	} else if (info != NULL) {
		set_value(target, info, item, line);
	} else {
		info = warpspan_setting_nearest(item->string);
		say(target, PATH_FORMAT ":%u: \"%s\" is not a setting; %s%s", target->name, line,
		    warpspan_settings_shown(item->string, &key),
		    info != NULL ? "the nearest is " : "`warpspan settings` lists them",
		    info != NULL ? info->name + strlen(WARPSPAN_SETTING_PREFIX) : "");
	}
}

static void set_items(const struct target *target, const cJSON *root, const char *text)
{
	struct scan scan = { .at = text };
	const cJSON *item;

	cJSON_ArrayForEach(item, root)
	{
		next_key(&scan);
		set_item(target, item, scan.line);
	}
}

static void apply(const struct target *target, const char *text, size_t bytes)
{
	const char *at, *wanted;
	size_t skipped;
	cJSON *root;

	if (!warpspan_json_check(text, bytes, &at, &wanted)) {
		say_syntax(target, text, bytes, at, wanted);
		return;
	}
	/* cJSON skips a byte order mark only where more than one character follows. */
	skipped = strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	root = cJSON_ParseWithLength(text + skipped, bytes - skipped);
	if (root == NULL)
		say(target, PATH_FORMAT ": out of memory; nothing in it is used", target->name);
	else if (!cJSON_IsObject(root))
		say(target, PATH_FORMAT ": not an object, like {\"kernel\": \"gemm*\"}; nothing in it is used",
		    target->name);
	else
		set_items(target, root, text);
	cJSON_Delete(root);
}

void warpspan_settings_file_apply(const char *name, const char *text, size_t bytes, struct warpspan_settings *settings,
				  uint32_t lines[WARPSPAN_N_SETTINGS], warpspan_settings_complain *complain,
				  void *context)
{
	uint32_t own_lines[WARPSPAN_N_SETTINGS];
	const struct target target = { name, settings, lines != NULL ? lines : own_lines, complain, context };
	/* The thread's alone. Numbers have a point here, whatever the program's have. */
	const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	const locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;

	memset(target.lines, 0, sizeof(own_lines));
	apply(&target, text, bytes);
	if (plain != (locale_t)0) {
		(void)uselocale(before);
		freelocale(plain);
	}
}

/* --- the file --------------------------------------------------------------------------------- */

/* What is no regular file may make open() or read() wait. NULL: it is one. */
static const char *not_a_file(mode_t mode)
{
	return S_ISREG(mode) ? NULL : S_ISDIR(mode) ? "it is a folder" : "it is not a regular file";
}

/* Up to `capacity` bytes; negative: errno. */
static ssize_t read_all(int file, char *to, size_t capacity)
{
	size_t used = 0;

	while (used < capacity) {
		const ssize_t n = read(file, to + used, capacity - used);

		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -1;
		used += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)used;
}

/* A descriptor of a regular file; negative: *ret_why. */
static int open_file(const char *path, const char **ret_why)
{
	struct stat about;
	int file = -1;

	*ret_why = NULL;
	/* Asked before, because opening a device may have effects, and after: it may be another one by then. */
	if (stat(path, &about) == 0 && (*ret_why = not_a_file(about.st_mode)) == NULL)
		file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0) {
		*ret_why = *ret_why != NULL ? *ret_why : strerror(errno);
		return -1;
	}
	if (fstat(file, &about) == 0 && (*ret_why = not_a_file(about.st_mode)) != NULL) {
		(void)close(file);
		return -1;
	}
	return file;
}

/* The file's text, to be freed, with a NUL behind it; NULL: *ret_why. */
static char *read_text(const char *path, size_t *ret_bytes, const char **ret_why)
{
	const int file = open_file(path, ret_why);
	char *text;
	ssize_t n;

	if (file < 0)
		return NULL;
	text = malloc(WARPSPAN_SETTINGS_FILE_BYTES + 2); /* one to see that it is larger, one for the NUL */
	n = text != NULL ? read_all(file, text, WARPSPAN_SETTINGS_FILE_BYTES + 1) : -1;
	*ret_why = n < 0 ? strerror(errno) : "it is larger than 1 MiB";
	(void)close(file);
	if (n < 0 || n > (ssize_t)WARPSPAN_SETTINGS_FILE_BYTES) {
		free(text);
		return NULL;
	}
	text[n] = '\0';
	*ret_bytes = (size_t)n;
	return text;
}

void warpspan_settings_file_read(const char *path, struct warpspan_settings *settings,
				 uint32_t lines[WARPSPAN_N_SETTINGS], warpspan_settings_complain *complain,
				 void *context)
{
	const struct target target = { path, settings, lines, complain, context };
	const int saved_errno = errno;
	const char *why;
	size_t bytes;
	char *text = read_text(path, &bytes, &why);

	if (text != NULL) {
		warpspan_settings_file_apply(path, text, bytes, settings, lines, complain, context);
	} else {
		if (lines != NULL)
			memset(lines, 0, WARPSPAN_N_SETTINGS * sizeof(lines[0]));
		say(&target, "the file of settings '" PATH_FORMAT "' cannot be read: %s; none is taken from it", path,
		    why);
	}
	free(text);
	errno = saved_errno;
}

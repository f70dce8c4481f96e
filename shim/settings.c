/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.c - reads the settings of settings.def. See settings.h.
 *
 * Called by the preloaded library once, when the program's first cuInit() succeeded, and by the `warpspan` command.
 */
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

const struct warpspan_setting_info warpspan_setting_infos[WARPSPAN_N_SETTINGS] = {
#define WARPSPAN_SETTING(name, field, type, default_text, range, help) \
	{ WARPSPAN_SETTING_PREFIX #name, WARPSPAN_SETTING_##type, default_text, range, help },
#include "settings.def"
#undef WARPSPAN_SETTING
};

/* Each parser returns whether `text` is good, and writes *ret only then. */

static bool parse_text(const char *text, const char *range, char (*ret)[WARPSPAN_TEXT_BYTES])
{
	const size_t bytes = strlen(text) + 1;

	if (bytes == 1 || bytes > sizeof(*ret))
		return false;
	memcpy(*ret, text, bytes);
	return true;
}

/* Position of the `length` characters at `word` in a comma list, from 0; -1: not there. */
static int find_word(const char *list, const char *word, size_t length)
{
	for (int i = 0;; i++) {
		const size_t n = strcspn(list, ",");

		if (n == length && strncasecmp(list, word, n) == 0)
			return i;
		if (list[n] == '\0')
			return -1;
		list += n + 1;
	}
}

static bool parse_formats(const char *text, const char *range, unsigned *ret)
{
	unsigned formats = 0;
	bool none = false;

	for (;;) {
		const size_t n = strcspn(text, ",");
		const int i = find_word(range, text, n);

		if (i < 0)
			return false;
		if (strncasecmp(text, "none", n) == 0)
			none = true;
		else
			formats |= 1u << i;
		if (text[n] == '\0')
			break;
		text += n + 1;
	}
	if (none && formats != 0)
		return false;
	*ret = formats;
	return true;
}

/* Reads a number with an optional suffix; *ret_rest is what follows. */
static bool parse_number(const char *text, bool suffixes, uint64_t *ret, const char **ret_rest)
{
	static const char letters[] = "KMGT";
	uint64_t value = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++) {
		const uint64_t digit = (uint64_t)(*at - '0');

		if (value > (UINT64_MAX - digit) / 10)
			return false;
		value = value * 10 + digit;
	}
	if (at == text)
		return false;
	if (suffixes && *at != '\0') {
		const char upper = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
		const char *letter = strchr(letters, upper);

		if (letter != NULL) {
			const unsigned shift = 10u * (unsigned)(letter - letters + 1);

			if (value > UINT64_MAX >> shift)
				return false;
			value <<= shift;
			at++;
		}
	}
	*ret = value;
	*ret_rest = at;
	return true;
}

static bool parse_within(const char *text, const char *range, bool suffixes, uint64_t *ret)
{
	uint64_t least, most, value;
	const char *rest;

	if (!parse_number(range, suffixes, &least, &rest) || strncmp(rest, "..", 2) != 0 ||
	    !parse_number(rest + 2, suffixes, &most, &rest))
		return false; /* settings.def is wrong; a test reads every default */
	if (!parse_number(text, suffixes, &value, &rest) || *rest != '\0' || value < least || value > most)
		return false;
	*ret = value;
	return true;
}

static bool parse_bytes(const char *text, const char *range, uint64_t *ret)
{
	return parse_within(text, range, true, ret);
}

static bool parse_count(const char *text, const char *range, uint32_t *ret)
{
	uint64_t value;

	if (!parse_within(text, range, false, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static bool parse_flag(const char *text, const char *range, bool *ret)
{
	if ((text[0] != '0' && text[0] != '1') || text[1] != '\0')
		return false;
	*ret = text[0] == '1';
	return true;
}

static bool parse_level(const char *text, const char *range, enum warpspan_log_level *ret)
{
	const int i = find_word(range, text, strlen(text));

	if (i < 0)
		return false;
	*ret = (enum warpspan_log_level)i;
	return true;
}

#define parse_TEXT    parse_text
#define parse_FORMATS parse_formats
#define parse_BYTES   parse_bytes
#define parse_COUNT   parse_count
#define parse_FLAG    parse_flag
#define parse_LEVEL   parse_level

static bool parse(unsigned index, const char *text, struct warpspan_settings *settings)
{
	switch (index) {
#define WARPSPAN_SETTING(name, field, type, default_text, range, help) \
	case WARPSPAN_SETTING_INDEX_##name:                            \
		return parse_##type(text, range, &settings->field);
#include "settings.def"
#undef WARPSPAN_SETTING
	default:
		return false;
	}
}

const char *warpspan_setting_get(const struct warpspan_setting_info *info)
{
	return secure_getenv(info->name);
}

bool warpspan_setting_valid(const struct warpspan_setting_info *info, const char *text)
{
	uint64_t bytes;
	uint32_t count;
	unsigned formats;
	bool flag;
	enum warpspan_log_level level;

	switch (info->type) {
	case WARPSPAN_SETTING_TEXT:
		return text[0] != '\0' && strlen(text) < WARPSPAN_TEXT_BYTES;
	case WARPSPAN_SETTING_FORMATS:
		return parse_formats(text, info->range, &formats);
	case WARPSPAN_SETTING_BYTES:
		return parse_bytes(text, info->range, &bytes);
	case WARPSPAN_SETTING_COUNT:
		return parse_count(text, info->range, &count);
	case WARPSPAN_SETTING_FLAG:
		return parse_flag(text, info->range, &flag);
	case WARPSPAN_SETTING_LEVEL:
		return parse_level(text, info->range, &level);
	}
	return false;
}

/* --- what is near ----------------------------------------------------------------------------- */

unsigned warpspan_edit_distance(const char *a, const char *b)
{
	unsigned rows[3][WARPSPAN_WORD_CHARACTERS + 1];
	const size_t n_a = strnlen(a, WARPSPAN_WORD_CHARACTERS), n_b = strnlen(b, WARPSPAN_WORD_CHARACTERS);

	for (size_t j = 0; j <= n_b; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= n_a; i++) {
		unsigned *now = rows[i % 3];
		const unsigned *before = rows[(i + 2) % 3], *two_before = rows[(i + 1) % 3];

		now[0] = (unsigned)i;
		for (size_t j = 1; j <= n_b; j++) {
			unsigned best = before[j - 1] + (a[i - 1] != b[j - 1]);

			best = before[j] + 1 < best ? before[j] + 1 : best;
			best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_before[j - 2] + 1 < best)
				best = two_before[j - 2] + 1;
			now[j] = best;
		}
	}
	return rows[n_a % 3][n_b];
}

/* The word of the comma list that is nearest to `text`, whatever its case. False: all its letters would change. */
static bool nearest_word_of(const char *list, const char *text, char *ret, size_t bytes)
{
	char given[WARPSPAN_WORD_CHARACTERS], word[WARPSPAN_WORD_CHARACTERS];
	unsigned least = (unsigned)strnlen(text, sizeof(given) - 1);
	bool found = false;

	for (size_t i = 0; i < sizeof(given); i++)
		given[i] = (char)(i < least ? tolower((unsigned char)text[i]) : '\0');
	for (;; list += strcspn(list, ",") + 1) {
		const size_t n = strcspn(list, ",");
		unsigned distance;

		(void)snprintf(word, sizeof(word), "%.*s", (int)n, list);
		distance = warpspan_edit_distance(given, word);
		if (distance < least) {
			least = distance;
			found = snprintf(ret, bytes, "%s", word) < (int)bytes;
		}
		if (list[n] == '\0')
			return found;
	}
}

/* Each word of the list replaced by the nearest; "none" next to others is left out. */
static bool nearest_formats(const char *range, const char *text, char *ret, size_t bytes)
{
	char given[WARPSPAN_WORD_CHARACTERS], word[WARPSPAN_WORD_CHARACTERS];
	size_t used = 0;

	ret[0] = '\0';
	for (;; text += strcspn(text, ",") + 1) {
		const size_t n = strcspn(text, ",");

		(void)snprintf(given, sizeof(given), "%.*s", (int)(n < sizeof(given) ? n : sizeof(given) - 1), text);
		if (nearest_word_of(range, given, word, sizeof(word)) && strcmp(word, "none") != 0 &&
		    find_word(ret, word, strlen(word)) < 0 && used + strlen(word) + 2 < bytes)
			used += (size_t)snprintf(ret + used, bytes - used, "%s%s", used != 0 ? "," : "", word);
		if (text[n] == '\0')
			break;
	}
	return used != 0;
}

/* The bound that was passed, or the number that the text begins with. */
static bool nearest_number(const char *range, const char *text, bool suffixes, char *ret, size_t bytes)
{
	const size_t n_least = strcspn(range, ".");
	uint64_t least, most, value = 0;
	const char *rest, *end;
	bool above;

	if (!parse_number(range, suffixes, &least, &rest) || !parse_number(rest + 2, suffixes, &most, &end))
		return false;
	while (*text == ' ')
		text++;
	above = text[0] >= '0' && text[0] <= '9' && !parse_number(text, suffixes, &value, &rest);
	if (!above && text[0] != '-' && (!parse_number(text, suffixes, &value, &rest) || *rest == '.'))
		return false; /* not a number, or a fraction of what nobody knows */
	if (above || value > most)
		return snprintf(ret, bytes, "%s", range + n_least + 2) < (int)bytes;
	if (value < least || text[0] == '-')
		return snprintf(ret, bytes, "%.*s", (int)n_least, range) < (int)bytes;
	return snprintf(ret, bytes, "%.*s", (int)(rest - text), text) < (int)bytes;
}

static bool nearest_flag(const char *text, char *ret, size_t bytes)
{
	static const char *const words[][2] = { { "no", "0" },  { "off", "0" }, { "false", "0" },
						{ "yes", "1" }, { "on", "1" },  { "true", "1" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i][0]) == 0)
			return snprintf(ret, bytes, "%s", words[i][1]) < (int)bytes;
	return nearest_number("0..1", text, false, ret, bytes);
}

bool warpspan_setting_nearest_value(const struct warpspan_setting_info *info, const char *text, char *ret_value,
				    size_t bytes)
{
	switch (info->type) {
	case WARPSPAN_SETTING_TEXT:
		return false;
	case WARPSPAN_SETTING_FORMATS:
		return nearest_formats(info->range, text, ret_value, bytes);
	case WARPSPAN_SETTING_BYTES:
		return nearest_number(info->range, text, true, ret_value, bytes);
	case WARPSPAN_SETTING_COUNT:
		return nearest_number(info->range, text, false, ret_value, bytes);
	case WARPSPAN_SETTING_FLAG:
		return nearest_flag(text, ret_value, bytes);
	case WARPSPAN_SETTING_LEVEL:
		return nearest_word_of(info->range, text, ret_value, bytes);
	}
	return false;
}

const struct warpspan_setting_info *warpspan_setting_nearest(const char *name)
{
	const struct warpspan_setting_info *nearest = NULL;
	unsigned least = UINT_MAX;

	if (strlen(name) >= WARPSPAN_WORD_CHARACTERS)
		return NULL;
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const unsigned distance = warpspan_edit_distance(name, warpspan_setting_infos[i].name);

		if (distance < least) {
			least = distance;
			nearest = &warpspan_setting_infos[i];
		}
	}
	/* Beyond half of the part after the prefix it is another word, not a slip. */
	return least <= strlen(nearest->name + strlen(WARPSPAN_SETTING_PREFIX)) / 2 ? nearest : NULL;
}

static void complain_value(const struct warpspan_setting_info *info, const char *text,
			   warpspan_settings_complain *complain, void *context)
{
	char sentence[512], nearest[64];
	const bool near = warpspan_setting_nearest_value(info, text, nearest, sizeof(nearest));

	(void)snprintf(sentence, sizeof(sentence), "%s='%.64s' is not valid (%s)%s%s: using %s", info->name, text,
		       info->range, near ? "; the nearest is " : "", near ? nearest : "", info->default_text);
	complain(context, sentence);
}

/* What WARPSPAN_ names mean something to a compiler. */
static const char *const macros[] = { "WARPSPAN_DISABLE" };

static bool is_macro(const char *name)
{
	for (size_t i = 0; i < sizeof(macros) / sizeof(macros[0]); i++)
		if (strcmp(name, macros[i]) == 0)
			return true;
	return false;
}

static void complain_names(warpspan_settings_complain *complain, void *context)
{
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		const size_t length = strcspn(*at, "=");
		const struct warpspan_setting_info *nearest;
		char name[WARPSPAN_WORD_CHARACTERS + 1];
		char sentence[512];
		bool known = false;

		if (strncmp(*at, WARPSPAN_SETTING_PREFIX, strlen(WARPSPAN_SETTING_PREFIX)) != 0)
			continue;
		for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
			known = known || (strlen(warpspan_setting_infos[i].name) == length &&
					  strncmp(*at, warpspan_setting_infos[i].name, length) == 0);
		if (known)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)(length < INT_MAX ? length : INT_MAX), *at);
		if (is_macro(name)) {
			(void)snprintf(sentence, sizeof(sentence),
				       "%s has no effect on a program that is built; it is a macro for compiling its "
				       "kernels: -D%s",
				       name, name);
			complain(context, sentence);
			continue;
		}
		nearest = warpspan_setting_nearest(name);
		(void)snprintf(sentence, sizeof(sentence), "%s is not a setting and has no effect; %s%s", name,
			       nearest != NULL ? "the nearest is " : "`warpspan settings` lists them",
			       nearest != NULL ? nearest->name : "");
		complain(context, sentence);
	}
}

void warpspan_settings_read(struct warpspan_settings *ret_settings, warpspan_settings_complain *complain, void *context)
{
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const struct warpspan_setting_info *info = &warpspan_setting_infos[i];
		const char *text = warpspan_setting_get(info);

		(void)parse(i, info->default_text, ret_settings);
		if (text == NULL || text[0] == '\0')
			continue;
		if (!parse(i, text, ret_settings) && complain != NULL)
			complain_value(info, text, complain, context);
	}
	if (complain != NULL && getauxval(AT_SECURE) == 0)
		complain_names(complain, context);
}

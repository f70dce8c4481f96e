/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.c - reads the settings of settings.def. See settings.h.
 *
 * Called by the preloaded library once, when the program's first cuInit() succeeded, and by the `warpspan` command.
 */
#include "settings.h"

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

#define NAME_BYTES 64u

/* Levenshtein distance of two names of fewer than NAME_BYTES characters. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[NAME_BYTES];
	const size_t n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= n; j++) {
			const size_t above = row[j];
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			if (above + 1 < best)
				best = above + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diagonal = above;
			row[j] = best;
		}
	}
	return row[n];
}

const struct warpspan_setting_info *warpspan_setting_nearest(const char *name)
{
	const struct warpspan_setting_info *nearest = NULL;
	size_t least = SIZE_MAX;

	if (strlen(name) >= NAME_BYTES)
		return NULL;
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const size_t distance = edit_distance(name, warpspan_setting_infos[i].name);

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
	char sentence[512];

	(void)snprintf(sentence, sizeof(sentence), "%s='%.64s' is not valid (%s): using %s", info->name, text,
		       info->range, info->default_text);
	complain(context, sentence);
}

static void complain_names(warpspan_settings_complain *complain, void *context)
{
	for (char **at = environ; at != NULL && *at != NULL; at++) {
		const size_t length = strcspn(*at, "=");
		const struct warpspan_setting_info *nearest;
		char name[NAME_BYTES];
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

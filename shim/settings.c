/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.c - reads the settings of settings.def. See settings.h.
 *
 * Called by the preloaded library once, when the program's first cuInit() succeeded, and by the `warpspan` command.
 */
#include "settings.h"

#include "settings_file.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>
#include <unistd.h>

const struct warpspan_setting_info warpspan_setting_infos[WARPSPAN_N_SETTINGS] = {
#define WARPSPAN_SETTING(name, field, type, scope, default_text, range, help) \
	{ WARPSPAN_SETTING_PREFIX #name, WARPSPAN_SETTING_##type, WARPSPAN_SETTING_##scope, default_text, range, help },
#include "settings.def"
#undef WARPSPAN_SETTING
};

/* Each parser returns whether `text` is good, and writes *ret only then. An empty text is for the caller to refuse: as
 * a default it is good. */

static bool parse_text(const char *text, const char *range, char (*ret)[WARPSPAN_TEXT_BYTES])
{
	const size_t bytes = strlen(text) + 1;

	if (bytes > sizeof(*ret))
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

/* Reads a value that `text` begins with; *ret_rest is what follows. False: it begins with none, or with one beyond 64
 * bits. */
typedef bool read_value(const char *text, uint64_t *ret, const char **ret_rest);

static bool read_plain(const char *text, uint64_t *ret, const char **ret_rest)
{
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
	*ret = value;
	*ret_rest = at;
	return true;
}

static const char size_suffixes[] = "KMGT"; /* each 1024 times the one before */

static bool read_bytes(const char *text, uint64_t *ret, const char **ret_rest)
{
	const char *suffix;
	uint64_t value;

	if (!read_plain(text, &value, &text))
		return false;
	suffix = *text != '\0' ? strchr(size_suffixes, toupper((unsigned char)*text)) : NULL;
	if (suffix != NULL) {
		const unsigned shift = 10u * (unsigned)(suffix - size_suffixes + 1);

		if (value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
		text++;
	}
	*ret = value;
	*ret_rest = text;
	return true;
}

static const struct {
	const char *name;
	uint64_t ns;
} time_units[] = { /* a name that begins with another stands before it */
		   { "ms", 1000000 },
		   { "s", 1000000000 },
		   { "m", 60 * 1000000000ull },
		   { "h", 3600 * 1000000000ull }
};
#define N_TIME_UNITS (sizeof(time_units) / sizeof(time_units[0]))

/* The same for a time; without a unit it is in seconds. A fraction is cut below 10 ns. */
static bool read_time(const char *text, uint64_t *ret_ns, const char **ret_rest)
{
	const char *fraction, *at;
	uint64_t number, ns, unit_ns = 1000000000;

	if (!read_plain(text, &number, &at))
		return false;
	fraction = at;
	if (at[0] == '.' && isdigit((unsigned char)at[1]))
		for (at++; isdigit((unsigned char)*at);)
			at++;
	for (size_t i = 0; i < N_TIME_UNITS; i++) {
		const size_t n = strlen(time_units[i].name);

		if (strncasecmp(at, time_units[i].name, n) == 0) {
			unit_ns = time_units[i].ns;
			at += n;
			break;
		}
	}
	if (number > UINT64_MAX / unit_ns - 1)
		return false;
	ns = number * unit_ns;
	if (*fraction == '.')
		for (fraction++; isdigit((unsigned char)*fraction); fraction++) {
			unit_ns /= 10;
			ns += (uint64_t)(*fraction - '0') * unit_ns;
		}
	*ret_ns = ns;
	*ret_rest = at;
	return true;
}

static bool parse_within(const char *text, const char *range, read_value *read_one, uint64_t *ret)
{
	uint64_t least, most, value;
	const char *rest;

	if (!read_one(range, &least, &rest) || strncmp(rest, "..", 2) != 0 || !read_one(rest + 2, &most, &rest))
		return false; /* settings.def is wrong; a test reads every default */
	if (!read_one(text, &value, &rest) || *rest != '\0' || value < least || value > most)
		return false;
	*ret = value;
	return true;
}

static bool parse_bytes(const char *text, const char *range, uint64_t *ret)
{
	return parse_within(text, range, read_bytes, ret);
}

static bool parse_count(const char *text, const char *range, uint32_t *ret)
{
	uint64_t value;

	if (!parse_within(text, range, read_plain, &value) || value > UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

static bool parse_time(const char *text, const char *range, uint64_t *ret)
{
	return parse_within(text, range, read_time, ret);
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

static bool parse_start(const char *text, const char *range, struct warpspan_start *ret)
{
	return warpspan_start_parse(text, ret);
}

static bool parse_window(const char *text, const char *range, struct warpspan_window *ret)
{
	return warpspan_window_parse(text, ret);
}

static bool parse_signal(const char *text, const char *range, int *ret)
{
	return warpspan_signal_parse(text, ret);
}

#define parse_TEXT    parse_text
#define parse_FORMATS parse_formats
#define parse_BYTES   parse_bytes
#define parse_COUNT   parse_count
#define parse_TIME    parse_time
#define parse_FLAG    parse_flag
#define parse_LEVEL   parse_level
#define parse_START   parse_start
#define parse_WINDOW  parse_window
#define parse_SIGNAL  parse_signal

bool warpspan_setting_parse(unsigned index, const char *text, struct warpspan_settings *settings)
{
	switch (index) {
#define WARPSPAN_SETTING(name, field, type, scope, default_text, range, help) \
	case WARPSPAN_SETTING_INDEX_##name:                                   \
		return parse_##type(text, range, &settings->field);
#include "settings.def"
#undef WARPSPAN_SETTING
	default:
		return false;
	}
}

/* --- values as text --------------------------------------------------------------------------- */

/* Each returns what snprintf() does. */

static int print_text(char *to, size_t bytes, const char *range, const char (*value)[WARPSPAN_TEXT_BYTES])
{
	return snprintf(to, bytes, "%s", *value);
}

static int print_formats(char *to, size_t bytes, const char *range, const unsigned *value)
{
	size_t used = 0;

	for (unsigned bit = 1; *value >= bit && used < bytes; bit <<= 1) {
		const size_t n = strcspn(range, ",");

		if ((*value & bit) != 0)
			used += (size_t)snprintf(to + used, bytes - used, "%s%.*s", used != 0 ? "," : "", (int)n,
						 range);
		range += n + 1;
	}
	return *value != 0 ? (int)used : snprintf(to, bytes, "none");
}

static int print_count(char *to, size_t bytes, const char *range, const uint32_t *value)
{
	return snprintf(to, bytes, "%" PRIu32, *value);
}

static int print_bytes(char *to, size_t bytes, const char *range, const uint64_t *value)
{
	uint64_t number = *value;
	unsigned n = 0;

	for (; n < sizeof(size_suffixes) - 1 && number != 0 && number % 1024 == 0; n++)
		number /= 1024;
	return n == 0 ? snprintf(to, bytes, "%" PRIu64, number)
		      : snprintf(to, bytes, "%" PRIu64 "%c", number, size_suffixes[n - 1]);
}

/* In the largest unit that has no fraction, or in seconds. */
static int print_time(char *to, size_t bytes, const char *range, const uint64_t *value)
{
	const uint64_t ns = *value;

	if (ns == 0)
		return snprintf(to, bytes, "0");
	for (size_t i = N_TIME_UNITS; i-- > 0;)
		if (ns % time_units[i].ns == 0)
			return snprintf(to, bytes, "%" PRIu64 "%s", ns / time_units[i].ns, time_units[i].name);
	return snprintf(to, bytes, "%" PRIu64 ".%09" PRIu64 "s", ns / 1000000000, ns % 1000000000);
}

static int print_flag(char *to, size_t bytes, const char *range, const bool *value)
{
	return snprintf(to, bytes, "%d", *value);
}

static int print_level(char *to, size_t bytes, const char *range, const enum warpspan_log_level *value)
{
	for (int i = *value; i > 0; i--)
		range += strcspn(range, ",") + 1;
	return snprintf(to, bytes, "%.*s", (int)strcspn(range, ","), range);
}

static int print_start(char *to, size_t bytes, const char *range, const struct warpspan_start *value)
{
	return warpspan_start_print(to, bytes, value);
}

static int print_window(char *to, size_t bytes, const char *range, const struct warpspan_window *value)
{
	return warpspan_window_print(to, bytes, value);
}

static int print_signal(char *to, size_t bytes, const char *range, const int *value)
{
	return warpspan_signal_print(to, bytes, *value);
}

#define print_TEXT    print_text
#define print_FORMATS print_formats
#define print_BYTES   print_bytes
#define print_COUNT   print_count
#define print_TIME    print_time
#define print_FLAG    print_flag
#define print_LEVEL   print_level
#define print_START   print_start
#define print_WINDOW  print_window
#define print_SIGNAL  print_signal

bool warpspan_setting_text(const struct warpspan_settings *settings, unsigned index, char *ret_text, size_t bytes)
{
	int n = -1;

	switch (index) {
#define WARPSPAN_SETTING(name, field, type, scope, default_text, range, help) \
	case WARPSPAN_SETTING_INDEX_##name:                                   \
		n = print_##type(ret_text, bytes, range, &settings->field);   \
		break;
#include "settings.def"
#undef WARPSPAN_SETTING
	default:
		break;
	}
	return n >= 0 && (size_t)n < bytes;
}

/* --- single settings -------------------------------------------------------------------------- */

const char *warpspan_setting_get(const struct warpspan_setting_info *info)
{
	return secure_getenv(info->name);
}

bool warpspan_setting_valid(const struct warpspan_setting_info *info, const char *text)
{
	struct warpspan_settings scratch;

	return warpspan_setting_parse((unsigned)(info - warpspan_setting_infos), text, &scratch);
}

const char *warpspan_settings_shown(const char *text, char (*ret)[WARPSPAN_SHOWN_BYTES])
{
	const size_t n = strnlen(text, sizeof(*ret) - 1);

	for (size_t i = 0; i < n; i++)
		(*ret)[i] = (unsigned char)text[i] < ' ' || text[i] == 0x7f ? '?' : text[i];
	(*ret)[n] = '\0';
	return *ret;
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

/* The bound that was passed, or the value that the text begins with. */
static bool nearest_number(const char *range, const char *text, read_value *read_one, char *ret, size_t bytes)
{
	const size_t n_least = strcspn(range, ".");
	uint64_t least, most, value = 0;
	const char *rest, *end;
	bool above;

	if (!read_one(range, &least, &rest) || !read_one(rest + 2, &most, &end))
		return false;
	while (*text == ' ')
		text++;
	above = text[0] >= '0' && text[0] <= '9' && !read_one(text, &value, &rest);
	if (!above && text[0] != '-' && (!read_one(text, &value, &rest) || *rest == '.'))
		return false; /* not a number, or a fraction of what nobody knows */
	if (above || value > most)
		return snprintf(ret, bytes, "%s", range + n_least + 2) < (int)bytes;
	if (value < least || text[0] == '-')
		return snprintf(ret, bytes, "%.*s", (int)n_least, range) < (int)bytes;
	return snprintf(ret, bytes, "%.*s", (int)(rest - text), text) < (int)bytes;
}

/* "100us" is not near to 100 s: what follows a number must begin with a unit. */
static bool nearest_time(const char *range, const char *text, char *ret, size_t bytes)
{
	const size_t n_digits = strspn(text, "0123456789.");
	uint64_t ns;
	const char *rest;

	if (text[n_digits] != '\0' && read_time(text, &ns, &rest) && rest <= text + n_digits)
		return false;
	return nearest_number(range, text, read_time, ret, bytes);
}

static bool nearest_flag(const char *text, char *ret, size_t bytes)
{
	static const char *const words[][2] = { { "no", "0" },  { "off", "0" }, { "false", "0" },
						{ "yes", "1" }, { "on", "1" },  { "true", "1" } };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(text, words[i][0]) == 0)
			return snprintf(ret, bytes, "%s", words[i][1]) < (int)bytes;
	return nearest_number("0..1", text, read_plain, ret, bytes);
}

bool warpspan_setting_nearest_value(const struct warpspan_setting_info *info, const char *text, char *ret_value,
				    size_t bytes)
{
	switch (info->type) {
	case WARPSPAN_SETTING_TEXT:
	case WARPSPAN_SETTING_WINDOW:
	case WARPSPAN_SETTING_SIGNAL:
		return false;
	case WARPSPAN_SETTING_START:
		return nearest_word_of("now,api,profiler-api", text, ret_value, bytes);
	case WARPSPAN_SETTING_FORMATS:
		return nearest_formats(info->range, text, ret_value, bytes);
	case WARPSPAN_SETTING_BYTES:
		return nearest_number(info->range, text, read_bytes, ret_value, bytes);
	case WARPSPAN_SETTING_COUNT:
		return nearest_number(info->range, text, read_plain, ret_value, bytes);
	case WARPSPAN_SETTING_TIME:
		return nearest_time(info->range, text, ret_value, bytes);
	case WARPSPAN_SETTING_FLAG:
		return nearest_flag(text, ret_value, bytes);
	case WARPSPAN_SETTING_LEVEL:
		return nearest_word_of(info->range, text, ret_value, bytes);
	}
	return false;
}

/* The name without the prefix. */
static const char *short_name(const struct warpspan_setting_info *info)
{
	return info->name + strlen(WARPSPAN_SETTING_PREFIX);
}

static size_t prefix_length(const char *name, size_t length)
{
	const size_t n = strlen(WARPSPAN_SETTING_PREFIX);

	return length >= n && strncasecmp(name, WARPSPAN_SETTING_PREFIX, n) == 0 ? n : 0;
}

const struct warpspan_setting_info *warpspan_setting_find(const char *name, size_t length)
{
	const size_t skipped = prefix_length(name, length);

	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const char *known = short_name(&warpspan_setting_infos[i]);

		if (strlen(known) == length - skipped && strncasecmp(known, name + skipped, length - skipped) == 0)
			return &warpspan_setting_infos[i];
	}
	return NULL;
}

const struct warpspan_setting_info *warpspan_setting_nearest(const char *name)
{
	const struct warpspan_setting_info *nearest = NULL;
	char upper[WARPSPAN_WORD_CHARACTERS];
	unsigned least = UINT_MAX;

	name += prefix_length(name, strlen(name));
	if (strlen(name) >= sizeof(upper))
		return NULL;
	for (size_t i = 0; i == 0 || name[i - 1] != '\0'; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const unsigned distance = warpspan_edit_distance(upper, short_name(&warpspan_setting_infos[i]));

		if (distance < least) {
			least = distance;
			nearest = &warpspan_setting_infos[i];
		}
	}
	/* Beyond half of the name it is another word, not a slip. */
	return least <= strlen(short_name(nearest)) / 2 ? nearest : NULL;
}

void warpspan_setting_wrong(const struct warpspan_setting_info *info, const char *text, char *ret, size_t bytes)
{
	char nearest[64], shown[WARPSPAN_SHOWN_BYTES];
	const bool near = warpspan_setting_nearest_value(info, text, nearest, sizeof(nearest));

	(void)snprintf(ret, bytes, "'%s' is not valid (%s)%s%s", warpspan_settings_shown(text, &shown), info->range,
		       near ? "; the nearest is " : "", near ? nearest : "");
}

static void complain_value(const struct warpspan_setting_info *info, const char *text,
			   const struct warpspan_settings *settings, warpspan_settings_complain *complain,
			   void *context)
{
	char sentence[1024], wrong[512], used[128] = "the default";

	warpspan_setting_wrong(info, text, wrong, sizeof(wrong));
	(void)warpspan_setting_text(settings, (unsigned)(info - warpspan_setting_infos), used, sizeof(used));
	(void)snprintf(sentence, sizeof(sentence), "%s=%s: using %s", info->name, wrong, used);
	complain(context, sentence);
}

int warpspan_settings_set(struct warpspan_settings *settings, const char *assignment, char *ret_error, size_t bytes)
{
	const char *value = strchrnul(assignment, '=');
	const size_t length = (size_t)(value - assignment);
	const struct warpspan_setting_info *info = warpspan_setting_find(assignment, length);
	char name[WARPSPAN_WORD_CHARACTERS + 1], shown[WARPSPAN_SHOWN_BYTES], wrong[512];

	if (info == NULL) {
		const struct warpspan_setting_info *nearest;

		(void)snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name)),
			       assignment);
		nearest = warpspan_setting_nearest(name);
		(void)snprintf(ret_error, bytes, "'%s' is not a setting; %s%s", warpspan_settings_shown(name, &shown),
			       nearest != NULL ? "the nearest is " : "`warpspan settings` lists them",
			       nearest != NULL ? short_name(nearest) : "");
		return -1;
	}
	if (*value == '\0') {
		(void)snprintf(ret_error, bytes, "%s has no value: write %s=VALUE (%s)", short_name(info),
			       short_name(info), info->range);
		return -1;
	}
	value++;
	if (info->scope == WARPSPAN_SETTING_PROCESS) {
		(void)snprintf(ret_error, bytes,
			       "%s is the same for the whole process and cannot be set for one session; set %s before "
			       "the program starts",
			       short_name(info), info->name);
		return -1;
	}
	if (value[0] == '\0' || !warpspan_setting_parse((unsigned)(info - warpspan_setting_infos), value, settings)) {
		warpspan_setting_wrong(info, value, wrong, sizeof(wrong));
		(void)snprintf(ret_error, bytes, "%s=%s", short_name(info), wrong);
		return -1;
	}
	return 0;
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

/* Sets it from the environment. What is absent, empty or bad leaves it as it is. */
static void read_one(unsigned index, struct warpspan_settings *settings, warpspan_settings_complain *complain,
		     void *context)
{
	const struct warpspan_setting_info *info = &warpspan_setting_infos[index];
	const char *text = warpspan_setting_get(info);

	if (text != NULL && text[0] != '\0' && !warpspan_setting_parse(index, text, settings) && complain != NULL)
		complain_value(info, text, settings, complain, context);
}

void warpspan_settings_read(struct warpspan_settings *ret_settings, warpspan_settings_complain *complain, void *context)
{
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		(void)warpspan_setting_parse(i, warpspan_setting_infos[i].default_text, ret_settings);
	read_one(WARPSPAN_SETTING_INDEX_CONFIG, ret_settings, complain, context);
	if (ret_settings->config[0] != '\0')
		warpspan_settings_file_read(ret_settings->config, ret_settings, NULL, complain, context);
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		if (i != WARPSPAN_SETTING_INDEX_CONFIG)
			read_one(i, ret_settings, complain, context);
	if (complain != NULL && getauxval(AT_SECURE) == 0)
		complain_names(complain, context);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * json_check.c - whether a text is JSON. See json_check.h.
 *
 * One function per rule of the grammar; each moves `at` behind what it accepts. The NUL behind the text ends every
 * loop, because no rule accepts it.
 */
#include "json_check.h"

#include <ctype.h>
#include <string.h>

/* cJSON cuts longer ones in two. */
#define MOST_DIGITS 63u

struct check {
	const char *at;
	const char *wanted; /* once something does not fit */
	unsigned depth;
};

static bool fail(struct check *check, const char *wanted)
{
	check->wanted = wanted;
	return false;
}

static void skip_blanks(struct check *check)
{
	check->at += strspn(check->at, " \t\r\n");
}

static bool accept(struct check *check, char wanted)
{
	if (*check->at != wanted)
		return false;
	check->at++;
	return true;
}

/* Four hexadecimal digits; negative: they are not. */
static int hex4(const char *at)
{
	int value = 0;

	for (unsigned i = 0; i < 4; i++) {
		const char *digits = "0123456789abcdef";
		const char *digit = at[i] != '\0' ? strchr(digits, tolower((unsigned char)at[i])) : NULL;

		if (digit == NULL)
			return -1;
		value = 16 * value + (int)(digit - digits);
	}
	return value;
}

/* What follows "\u": the halves of a character beyond 16 bits come in pairs. */
static bool check_unicode(struct check *check)
{
	const int unit = hex4(check->at);

	if (unit < 0 || (unit >= 0xdc00 && unit < 0xe000))
		return fail(check, "the four hexadecimal digits of a character");
	check->at += 4;
	if (unit < 0xd800 || unit >= 0xe000)
		return true;
	if (check->at[0] != '\\' || check->at[1] != 'u' || hex4(check->at + 2) < 0xdc00 ||
	    hex4(check->at + 2) >= 0xe000)
		return fail(check, "the other half of the character (\\udc00 to \\udfff)");
	check->at += 6;
	return true;
}

static bool check_string(struct check *check)
{
	check->at++;
	while (!accept(check, '"')) {
		if ((unsigned char)*check->at < ' ')
			return fail(check, "'\"' at the end of the text");
		if (!accept(check, '\\')) {
			check->at++;
			continue;
		}
		if (*check->at == '\0' || strchr("\"\\/bfnrtu", *check->at) == NULL)
			return fail(check, "one of \"\\/bfnrtu after a backslash");
		if (*check->at++ == 'u' && !check_unicode(check))
			return false;
	}
	return true;
}

static bool check_digits(struct check *check)
{
	const size_t n = strspn(check->at, "0123456789");

	check->at += n;
	return n > 0 || fail(check, "a digit");
}

static bool check_number(struct check *check)
{
	if (strspn(check->at, "+-.eE0123456789") > MOST_DIGITS)
		return fail(check, "a shorter number");
	(void)accept(check, '-');
	if (!accept(check, '0') && !check_digits(check))
		return false;
	if (accept(check, '.') && !check_digits(check))
		return false;
	if (accept(check, 'e') || accept(check, 'E')) {
		if (!accept(check, '+'))
			(void)accept(check, '-');
		return check_digits(check);
	}
	return true;
}

static bool check_value(struct check *check);

static bool check_member(struct check *check)
{
	if (*check->at != '"')
		return fail(check, "a name in '\"'");
	if (!check_string(check))
		return false;
	skip_blanks(check);
	return accept(check, ':') ? check_value(check) : fail(check, "':'");
}

/* `check_item` for each of what stands between commas, up to the bracket that closes. */
static bool check_items(struct check *check, char closing, bool (*check_item)(struct check *check), const char *wanted)
{
	if (++check->depth > WARPSPAN_JSON_MOST_DEPTH)
		return fail(check, "something that is nested less deep");
	check->at++;
	skip_blanks(check);
	while (!accept(check, closing)) {
		if (!check_item(check))
			return false;
		skip_blanks(check);
		if (accept(check, ','))
			skip_blanks(check);
		else if (*check->at != closing)
			return fail(check, wanted);
		else
			continue;
		if (*check->at == closing)
			return fail(check, "something after the comma");
	}
	check->depth--;
	return true;
}

static bool check_value(struct check *check)
{
	static const char *const words[] = { "true", "false", "null" };

	skip_blanks(check);
	if (*check->at == '{')
		return check_items(check, '}', check_member, "',' or '}'");
	if (*check->at == '[')
		return check_items(check, ']', check_value, "',' or ']'");
	if (*check->at == '"')
		return check_string(check);
	if (*check->at == '-' || isdigit((unsigned char)*check->at))
		return check_number(check);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strncmp(check->at, words[i], strlen(words[i])) == 0) {
			check->at += strlen(words[i]);
			return true;
		}
	return fail(check, "a value (a text in '\"', a number, true or false)");
}

bool warpspan_json_check(const char *text, size_t bytes, const char **ret_at, const char **ret_wanted)
{
	struct check check = { .at = text };

	if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
		check.at += 3;
	if (check_value(&check)) {
		skip_blanks(&check);
		if (check.at == text + bytes)
			return true;
		check.wanted = "the end";
	}
	*ret_at = check.at;
	*ret_wanted = check.wanted;
	return false;
}

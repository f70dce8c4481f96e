/* SPDX-License-Identifier: Apache-2.0
 *
 * pattern.c - WARPSPAN_KERNEL. See pattern.h.
 */
#include "pattern.h"

#include <fnmatch.h>
#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

const char *warpspan_pattern_next(const char *list, char (*ret_pattern)[WARPSPAN_TEXT_BYTES])
{
	int depth = 0;
	size_t length = 0;

	for (;;) {
		while (is_blank(*list) || *list == ',')
			list++;
		if (*list == '\0')
			return NULL;
		for (length = 0; list[length] != '\0' && (list[length] != ',' || depth > 0); length++)
			depth += (strchr("<([", list[length]) != NULL) - (strchr(">)]", list[length]) != NULL);
		/* One that is never closed means itself: "[" or "a<b". */
		if (depth > 0) {
			length = strcspn(list, ",");
			depth = 0;
		}
		while (length > 0 && is_blank(list[length - 1]))
			length--;
		if (length < sizeof(*ret_pattern))
			break;
		list += length; /* longer than a setting can be */
	}
	memcpy(*ret_pattern, list, length);
	(*ret_pattern)[length] = '\0';
	return list + length;
}

/* The opening bracket that belongs to the closing one at `end`; NULL: there is none. */
static const char *opening_of(const char *text, const char *end)
{
	int depth = 0;

	for (const char *at = end;; at--) {
		depth += *at == ')' || *at == '>' || *at == '}' || *at == ']';
		depth -= *at == '(' || *at == '<' || *at == '{' || *at == '[';
		if (depth == 0)
			return at;
		if (at == text)
			return NULL;
	}
}

/* Where the name begins that ends at `end`: after the last blank outside of all brackets. */
static const char *start_of_name(const char *text, const char *end)
{
	for (const char *at = end; at > text; at--) {
		if (at[-1] == ' ')
			return at;
		if (strchr(")>}]", at[-1]) != NULL) {
			at = opening_of(text, at - 1);
			if (at == NULL || at == text)
				break;
			at++; /* the loop steps onto the bracket */
		}
	}
	return text;
}

bool warpspan_pattern_matches(const char *pattern, const char *demangled)
{
	char name[WARPSPAN_TEXT_BYTES];
	const size_t length = strlen(demangled);
	const char *parameters, *arguments, *start;

	if (fnmatch(pattern, demangled, 0) == 0)
		return true;
	if (length == 0 || length >= sizeof(name) || demangled[length - 1] != ')')
		return false; /* not a C++ name: there is nothing to leave out */
	parameters = opening_of(demangled, demangled + length - 1);
	if (parameters == NULL || parameters == demangled)
		return false;
	start = start_of_name(demangled, parameters);
	if (fnmatch(pattern, start, 0) == 0)
		return true;
	memcpy(name, start, (size_t)(parameters - start));
	name[parameters - start] = '\0';
	if (fnmatch(pattern, name, 0) == 0)
		return true;
	if (parameters[-1] != '>')
		return false;
	arguments = opening_of(demangled, parameters - 1);
	if (arguments == NULL || arguments <= start)
		return false;
	name[arguments - start] = '\0';
	return fnmatch(pattern, name, 0) == 0;
}

bool warpspan_pattern_list_matches(const char *list, const char *demangled)
{
	char pattern[WARPSPAN_TEXT_BYTES];

	while ((list = warpspan_pattern_next(list, &pattern)) != NULL)
		if (warpspan_pattern_matches(pattern, demangled))
			return true;
	return false;
}

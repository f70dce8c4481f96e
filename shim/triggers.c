/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers.c - see triggers.h.
 */
#include "triggers.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* --- START ------------------------------------------------------------------------------------ */

static const char *const start_words[] = {
#define WARPSPAN_X(name, word) word,
	WARPSPAN_START_MODES(WARPSPAN_X)
#undef WARPSPAN_X
};

bool warpspan_start_parse(const char *text, struct warpspan_start *ret)
{
	const size_t prefix = strlen(start_words[WARPSPAN_START_NVTX]);

	for (int i = 0; i < WARPSPAN_START_NVTX; i++)
		if (strcasecmp(text, start_words[i]) == 0) {
			*ret = (struct warpspan_start){ .mode = (enum warpspan_start_mode)i };
			return true;
		}
	if (strncasecmp(text, start_words[WARPSPAN_START_NVTX], prefix) != 0 || text[prefix] == '\0' ||
	    strlen(text + prefix) >= sizeof(ret->range))
		return false;
	*ret = (struct warpspan_start){ .mode = WARPSPAN_START_NVTX };
	(void)snprintf(ret->range, sizeof(ret->range), "%s", text + prefix);
	return true;
}

int warpspan_start_print(char *to, size_t bytes, const struct warpspan_start *start)
{
	return snprintf(to, bytes, "%s%s", start_words[start->mode], start->range);
}

/* --- LAUNCHES --------------------------------------------------------------------------------- */

/* Digits only; *ret_rest is what follows. */
static bool read_number(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t value = 0;

	*ret_rest = text;
	for (; isdigit((unsigned char)**ret_rest); (*ret_rest)++) {
		if (value > (INT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (uint64_t)(**ret_rest - '0');
	}
	*ret = value;
	return *ret_rest != text;
}

bool warpspan_window_parse(const char *text, struct warpspan_window *ret)
{
	struct warpspan_window window = { 0 };
	const char *rest;

	if (strcasecmp(text, "all") == 0) {
		*ret = window;
		return true;
	}
	if (!read_number(text, &window.count, &rest))
		return false;
	if (*rest == ':') {
		window.skip = window.count;
		if (!read_number(rest + 1, &window.count, &rest))
			return false;
	}
	if (*rest != '\0' || window.count == 0)
		return false;
	*ret = window;
	return true;
}

int warpspan_window_print(char *to, size_t bytes, const struct warpspan_window *window)
{
	if (window->count == 0)
		return snprintf(to, bytes, "all");
	return snprintf(to, bytes, "%" PRIu64 ":%" PRIu64, window->skip, window->count);
}

/* --- signals ---------------------------------------------------------------------------------- */

/* Those that a program can spare, or may have left at their default. */
static const struct {
	const char *name;
	int number;
} signals[] = {
	{ "HUP", SIGHUP },     { "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "ALRM", SIGALRM },     { "CONT", SIGCONT },
	{ "TTIN", SIGTTIN },   { "TTOU", SIGTTOU }, { "URG", SIGURG },   { "VTALRM", SIGVTALRM }, { "PROF", SIGPROF },
	{ "WINCH", SIGWINCH }, { "IO", SIGIO },     { "PWR", SIGPWR },   { "STKFLT", SIGSTKFLT },
};

/* "RTMIN", "RTMIN+3", "RTMAX-1". */
static bool parse_realtime(const char *text, int *ret)
{
	const bool from_least = strncasecmp(text, "RTMIN", 5) == 0;
	uint64_t distance = 0;
	const char *rest = text + 5;
	int64_t number;

	if (!from_least && strncasecmp(text, "RTMAX", 5) != 0)
		return false;
	if (*rest != '\0' &&
	    (*rest != (from_least ? '+' : '-') || !read_number(rest + 1, &distance, &rest) || *rest != '\0'))
		return false;
	if (distance > 64)
		return false;
	number = from_least ? SIGRTMIN + (int64_t)distance : SIGRTMAX - (int64_t)distance;
	if (number < SIGRTMIN || number > SIGRTMAX)
		return false;
	*ret = (int)number;
	return true;
}

bool warpspan_signal_parse(const char *text, int *ret)
{
	if (strcasecmp(text, "none") == 0) {
		*ret = 0;
		return true;
	}
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcasecmp(text, signals[i].name) == 0) {
			*ret = signals[i].number;
			return true;
		}
	return parse_realtime(text, ret);
}

int warpspan_signal_print(char *to, size_t bytes, int number)
{
	if (number == 0)
		return snprintf(to, bytes, "none");
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (number == signals[i].number)
			return snprintf(to, bytes, "%s", signals[i].name);
	return snprintf(to, bytes, "RTMIN+%d", number - SIGRTMIN);
}

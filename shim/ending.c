/* SPDX-License-Identifier: Apache-2.0
 *
 * ending.c - timelines and closing lines. See ending.h.
 */
#include "ending.h"

#include "decoder.h"
#include "lock.h"
#include "log.h"
#include "pattern.h"
#include "registry.h"
#include "thread.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* All under the lock. */
static struct warpspan_ending *first, *last;
static bool running;                        /* a thread works on them */
static unsigned n_done;                     /* number of the latest session that is written */
static char last_path[WARPSPAN_TEXT_BYTES]; /* of its capture */
static uint64_t bad;                        /* of the latest 64, bit number % 64: something could not be written */

/* --- what is said ----------------------------------------------------------------------------- */

/* The smallest buffer and room per warp under which everything seen would have fitted, even undrained. For sessions
 * that are not decoded at their end; otherwise the decoder says it. */
static void say_lost(const struct warpspan_ending *ending)
{
	const struct warpspan_drain_totals *totals = &ending->totals;
	uint64_t buffer;
	uint32_t events;
	bool mib;

	if (totals->lost_records == 0 && totals->lost_warps == 0)
		return;
	warpspan_sufficient(totals->warps, totals->most_words, ending->settings.buffer, &buffer, &events);
	mib = buffer % (1u << 20) == 0;
	warpspan_warn("insufficient space: %llu of %llu records of %llu warps were lost; WARPSPAN_BUFFER=%llu%c "
		      "WARPSPAN_EVENTS_PER_WARP=%u would have sufficed",
		      (unsigned long long)totals->lost_records,
		      (unsigned long long)(totals->lost_records + totals->records),
		      (unsigned long long)totals->lost_warps, (unsigned long long)(mib ? buffer >> 20 : buffer >> 10),
		      mib ? 'M' : 'K', events);
}

static void say_not_recorded(const struct warpspan_ending *ending)
{
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++) {
		const char *text = warpspan_counter_text((enum warpspan_counter)i);

		if (text[0] != '\0' && ending->counted[i] != 0)
			warpspan_warn("%llu launch%s not recorded: %s", (unsigned long long)ending->counted[i],
				      ending->counted[i] == 1 ? " was" : "es were", text);
	}
}

/* What else the capture lacks. */
static void say_missed(const struct warpspan_ending *ending)
{
	const uint64_t newer = ending->counted[WARPSPAN_COUNTER_newer_entry_points];
	const uint64_t calls = ending->counted[WARPSPAN_COUNTER_calls_log_full];

	if (newer != 0)
		warpspan_warn("the program uses %llu functions of the driver in a form newer than this library knows: "
			      "what it launches through them is not recorded",
			      (unsigned long long)newer);
	if (calls != 0)
		warpspan_warn("%llu waits, copies or launches of graphs came faster than they are written and are "
			      "missing on the host's timeline",
			      (unsigned long long)calls);
}

/* Names listed where a pattern matched none. */
#define NAMES_BYTES 600u

/* Kernels of several modules may have the same name. */
static bool is_listed(const char *names, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = names; (at = strstr(at, name)) != NULL; at += n)
		if ((at == names || at[-1] == ' ') && (at[n] == '\0' || strncmp(at + n, ", ", 2) == 0))
			return true;
	return false;
}

/* False: the pattern matches one of the kernels seen, or there is none. *ret_names: their names. */
static bool names_known(const char *pattern, char (*ret_names)[NAMES_BYTES])
{
	size_t used = 0;
	bool cut = false;

	(*ret_names)[0] = '\0';
	for (struct warpspan_kernel *kernel = NULL; (kernel = warpspan_registry_next_kernel(kernel)) != NULL;) {
		const size_t n = strlen(kernel->demangled);

		if (warpspan_pattern_matches(pattern, kernel->demangled))
			return false;
		if (cut || is_listed(*ret_names, kernel->demangled))
			continue;
		cut = used + n + sizeof(", ...") > sizeof(*ret_names);
		used += (size_t)snprintf(*ret_names + used, sizeof(*ret_names) - used, "%s%s", used != 0 ? ", " : "",
					 cut ? "..." : kernel->demangled);
	}
	return used != 0;
}

/* A pattern that names no kernel is a slip more often than not, and nothing else would show it. */
void warpspan_ending_say_unmatched(const struct warpspan_settings *settings)
{
	char pattern[WARPSPAN_TEXT_BYTES], names[NAMES_BYTES];
	const char *at = settings->kernel;

	while ((at = warpspan_pattern_next(at, &pattern)) != NULL)
		if (names_known(pattern, &names))
			warpspan_warn("WARPSPAN_KERNEL='%s' matched none of: %s", pattern, names);
}

/* Only what is in the files. What was not decoded is counted as it was written: launches after the stop as well. */
static void say_files(const struct warpspan_ending *ending, const struct warpspan_exported *exported)
{
	const uint64_t launches = exported->decoded ? exported->n_launches : ending->totals.launches;
	const uint64_t records = exported->decoded ? exported->n_records : ending->totals.records;
	const int base = (int)(strlen(ending->path) - strlen(".wspan"));

	warpspan_info("%llu launch%s, %llu record%s: %.*s.wspan%s%s%s", (unsigned long long)launches,
		      launches == 1 ? "" : "es", (unsigned long long)records, records == 1 ? "" : "s", base,
		      ending->path, ending->cut_short ? " (cut short)" : "",
		      (exported->formats & WARPSPAN_EXPORT_PFTRACE) != 0 ? " .pftrace" : "",
		      (exported->formats & WARPSPAN_EXPORT_JSON) != 0 ? " .json.gz" : "");
}

unsigned warpspan_ending_formats(const struct warpspan_settings *settings)
{
	return ((settings->format & WARPSPAN_FORMAT_PFTRACE) != 0 ? (unsigned)WARPSPAN_EXPORT_PFTRACE : 0) |
	       ((settings->format & WARPSPAN_FORMAT_JSON) != 0 ? (unsigned)WARPSPAN_EXPORT_JSON : 0);
}

/* --- what is done ----------------------------------------------------------------------------- */

/* *ret_said: it has said what was lost and what is unpaired. Whether all that was wanted is written. */
static bool export_all(const struct warpspan_ending *ending, bool *ret_said, struct warpspan_exported *ret_exported)
{
	const unsigned formats = warpspan_ending_formats(&ending->settings);
	struct warpspan_error error = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *report = ending->settings.report ? open_memstream(&text, &bytes) : NULL;
	int result = 0;

	*ret_said = false;
	if (formats != 0 || report != NULL) {
		result = warpspan_export(ending->path, formats, report, ret_exported, &error);
		if (result < 0)
			warpspan_error("'%s' was not exported%s: %s", ending->path,
				       ret_exported->formats != 0 ? " to all formats" : "", error.text);
		else if (report == NULL && error.text[0] != '\0')
			warpspan_warn("%s", error.text);
		*ret_said = result >= 0;
	}
	if (report != NULL) {
		(void)fclose(report);
		if (text != NULL)
			warpspan_log_raw(text, bytes);
		free(text);
	}
	return result >= 0;
}

/* Whether all of it is written. */
static bool finish(const struct warpspan_ending *ending)
{
	struct warpspan_exported exported = { 0 };
	bool said, good;

	good = export_all(ending, &said, &exported) && !ending->cut_short;
	if (!said)
		say_lost(ending);
	say_not_recorded(ending);
	say_missed(ending);
	warpspan_ending_say_unmatched(&ending->settings);
	say_files(ending, &exported);
	return good;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void note_done(unsigned number, bool good)
{
	n_done = number;
	bad &= ~(1ull << number % 64);
	bad |= (uint64_t)!good << number % 64;
	pthread_cond_broadcast(&changed);
}

/* Ends when there is nothing more to do. */
static void *run(void *unused)
{
	(void)unused;
	warpspan_lock(&lock);
	while (first != NULL) {
		struct warpspan_ending *ending = first;
		bool good;

		warpspan_unlock(&lock);
		good = finish(ending);
		warpspan_lock(&lock);
		first = ending->next;
		last = first != NULL ? last : NULL;
		memcpy(last_path, ending->path, sizeof(last_path));
		note_done(ending->number, good);
		free(ending);
	}
	running = false;
	warpspan_unlock(&lock);
	return NULL;
}

void warpspan_ending_begin(struct warpspan_ending *ending)
{
	bool started = true;

	warpspan_lock(&lock);
	ending->next = NULL;
	if (last != NULL)
		last->next = ending;
	else
		first = ending;
	last = ending;
	if (!running)
		started = running = warpspan_thread_start("warpspan-end", run, NULL, NULL);
	warpspan_unlock(&lock);
	if (!started) {
		warpspan_debug("no thread could be started for the timelines: the collector writes them");
		(void)run(NULL);
	}
}

void warpspan_ending_none(unsigned number)
{
	warpspan_error("out of memory: no timelines are written for session %u", number);
	warpspan_lock(&lock);
	/* In its turn: whoever waits for an earlier one is not told that it is written. */
	while (first != NULL)
		warpspan_wait(&changed, &lock, NULL);
	note_done(number, false);
	warpspan_unlock(&lock);
}

bool warpspan_ending_path(unsigned number, char (*ret_path)[WARPSPAN_TEXT_BYTES])
{
	bool known;

	warpspan_lock(&lock);
	known = n_done == number && last_path[0] != '\0';
	memcpy(*ret_path, last_path, sizeof(*ret_path));
	warpspan_unlock(&lock);
	return known;
}

bool warpspan_ending_wait(unsigned number, uint64_t patience_ns, bool *ret_good)
{
	const bool forever = patience_ns == UINT64_MAX;
	const struct timespec deadline = warpspan_deadline(forever ? 0 : patience_ns);
	bool done;

	warpspan_lock(&lock);
	while (n_done < number && (forever ? warpspan_wait(&changed, &lock, NULL) == 0
					   : warpspan_wait(&changed, &lock, &deadline) != ETIMEDOUT))
		;
	done = n_done >= number;
	*ret_good = !done || (bad >> number % 64 & 1) == 0;
	warpspan_unlock(&lock);
	return done;
}

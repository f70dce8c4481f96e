/* SPDX-License-Identifier: Apache-2.0
 *
 * report.h - the terminal report, its JSON twin, and the texts of what went wrong.
 */
#ifndef WARPSPAN_REPORT_H
#define WARPSPAN_REPORT_H

#include "model.h"
#include "stats.h"

/* Prints the report, laid out for `columns` characters. WARPSPAN_OK, WARPSPAN_NO_MEMORY or WARPSPAN_IO. */
int warpspan_report(const struct warpspan_model *model, FILE *out, unsigned columns);
/* Prints one JSON object, schema "warpspan-report/1", and a newline. WARPSPAN_OK, WARPSPAN_NO_MEMORY or WARPSPAN_IO. */
int warpspan_report_json(const struct warpspan_model *model, FILE *out);

/* --- what went wrong (failures.c) -----------------------------------------------------------------------------------
 * Each prints one paragraph, after an empty line, when there is something to tell, and nothing otherwise; true when it
 * printed. The report and `warpspan check` use them all. */

/* Records that found no room: how many, of which kernels and warps, and the settings that would have sufficed. */
bool failures_space(const struct warpspan_model *model, FILE *out, unsigned columns);
/* Records that are gone nobody knows how many of: with a context, or overwritten. */
bool failures_destroyed(const struct warpspan_model *model, FILE *out, unsigned columns);
/* Begins and ends without a partner: by cause and site. */
bool failures_unpaired(const struct warpspan_model *model, FILE *out, unsigned columns);
/* Damaged places of the capture, with their offsets. */
bool failures_damage(const struct warpspan_model *model, FILE *out, unsigned columns);
/* The capture was not closed. */
bool failures_incomplete(const struct warpspan_model *model, FILE *out, unsigned columns);
/* Why launches were not recorded, which could not be told apart or joined with the host's log, clocks not fitted. */
bool failures_notes(const struct warpspan_model *model, const struct warpspan_stats *stats, FILE *out,
		    unsigned columns);
/* One line with the gist of the above, "" when all is well. */
void failures_line(const struct warpspan_model *model, char *text, size_t bytes);

/* "2, started by signal RTMIN+7 at 2026-11-30 12:03:04 UTC in thread 4711, stopped by ...", where that is known. */
void report_session_text(const struct warpspan_model *model, char *text, size_t bytes);

/* X(NAME, word, noun, rest): what ails unpaired records; the word for JSON, for people "3 <noun>s <rest>". */
#define WARPSPAN_UNPAIRED_CAUSES(X)                                                          \
	X(LOST, "end_lost", "begin", "whose end was lost for want of room")                  \
	X(OPEN, "still_open", "begin", "still open when the capture ended")                  \
	X(BEGIN, "end_missing", "begin", "without an end though nothing was lost (corrupt)") \
	X(END, "begin_missing", "end", "without a begin (corrupt)")                          \
	X(TOO_DEEP, "too_deep", "record", "nested in more than 65,535 regions")              \
	X(BAD_RECORD, "bad_record", "record", "of no known site or kind (corrupt)")

/* The value of one of the library's counters; 0 where the capture does not tell. */
uint64_t model_counter(const struct warpspan_model *model, const char *name);
/* The word of a cause; never NULL. */
const char *unpaired_cause_word(enum warpspan_unpaired_cause cause);
/* The word for a slice whose end was not recorded, as in the timelines' arguments; NULL for a recorded one. */
const char *slice_end_word(enum warpspan_slice_end end);

#endif

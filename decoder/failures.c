/* SPDX-License-Identifier: Apache-2.0
 *
 * failures.c - the texts of what went wrong, the same in the report, in `warpspan check` and at a session's end.
 *
 * Each text says what was lost or is wrong, where, what that means for the rest, and the remedy. Nothing here judges:
 * all counts come from the model.
 */
#include "report.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>

#define MOST_SHOWN     20u /* places listed one by one; the rest is counted */
#define TABLE_COLUMNS  72u /* fewer are too few for places and examples side by side */
#define NAME_COLUMNS   48u
#define SENTENCE_BYTES 1024u

static const struct {
	const char *word, *noun, *rest;
} causes[WARPSPAN_N_UNPAIRED_CAUSES] = {
#define X(name, word, noun, rest) [WARPSPAN_UNPAIRED_##name] = { word, noun, rest },
	WARPSPAN_UNPAIRED_CAUSES(X)
#undef X
};

const char *unpaired_cause_word(enum warpspan_unpaired_cause cause)
{
	return cause < WARPSPAN_N_UNPAIRED_CAUSES ? causes[cause].word : "unknown";
}

const char *slice_end_word(enum warpspan_slice_end end)
{
	switch (end) {
	case WARPSPAN_END_RECORDED:
		return NULL;
	case WARPSPAN_END_LOST:
		return unpaired_cause_word(WARPSPAN_UNPAIRED_LOST);
	case WARPSPAN_END_OPEN:
		return unpaired_cause_word(WARPSPAN_UNPAIRED_OPEN);
	case WARPSPAN_END_CORRUPT:
		break;
	}
	return unpaired_cause_word(WARPSPAN_UNPAIRED_BEGIN);
}

static const char *kernel_name(const struct warpspan_model *model, uint32_t kernel, char *shown, size_t bytes)
{
	if (kernel == WARPSPAN_NONE)
		return "kernels beyond the device's table";
	return text_elide(shown, bytes, model->kernels[kernel].demangled, NAME_COLUMNS);
}

/* "WARPSPAN_BUFFER=36M WARPSPAN_EVENTS_PER_WARP=96": those of the two that must change. Returns how many. */
static unsigned sufficient_settings(const struct warpspan_model *model, char *text, size_t bytes)
{
	char size[TEXT_NUMBER_BYTES], number[TEXT_NUMBER_BYTES];
	bool buffer, events;
	uint64_t buffer_bytes;
	uint32_t words;

	warpspan_model_sufficient(model, &buffer_bytes, &words);
	warpspan_model_to_change(model, &buffer, &events);
	snprintf(number, sizeof(number), "%" PRIu32, words);
	snprintf(text, bytes, "%s%s%s%s%s", buffer ? "WARPSPAN_BUFFER=" : "",
		 buffer ? text_size_setting(size, buffer_bytes) : "", buffer && events ? " " : "",
		 events ? "WARPSPAN_EVENTS_PER_WARP=" : "", events ? number : "");
	return (unsigned)buffer + (unsigned)events;
}

static void space_of_kernel(const struct warpspan_model *model, const struct warpspan_lost *lost, FILE *out,
			    unsigned columns)
{
	char name[256], records[TEXT_NUMBER_BYTES], cut[TEXT_NUMBER_BYTES], unheard[TEXT_NUMBER_BYTES];
	char sentence[SENTENCE_BYTES];
	int n = snprintf(sentence, sizeof(sentence), "%s: %s;", kernel_name(model, lost->kernel, name, sizeof(name)),
			 text_counted(records, lost->n_records, "record"));

	if (lost->n_warps_cut)
		n += snprintf(sentence + n, sizeof(sentence) - (size_t)n, " %s had too small a share of the buffer%s",
			      text_counted(cut, lost->n_warps_cut, "warp"), lost->n_warps_unheard ? "," : "");
	if (lost->n_warps_unheard)
		n += snprintf(sentence + n, sizeof(sentence) - (size_t)n, " %s found the buffer full",
			      text_counted(unheard, lost->n_warps_unheard, "warp"));
	if (lost->first[0])
		snprintf(sentence + n, sizeof(sentence) - (size_t)n, ", for example %.95s", lost->first);
	text_paragraph(out, 2, 4, columns, sentence);
}

bool failures_space(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char records[TEXT_NUMBER_BYTES], warps[TEXT_NUMBER_BYTES], settings[128];
	char sentence[SENTENCE_BYTES];

	if (model->n_lost_records == 0 && model->n_lost_warps == 0)
		return false;
	snprintf(sentence, sizeof(sentence),
		 "insufficient space: %s of %s found no room and %s lost. Everything else is shown.",
		 text_counted(records, model->n_lost_records, "record"),
		 text_counted(warps, model->n_lost_warps, "warp"), model->n_lost_records == 1 ? "is" : "are");
	fputc('\n', out);
	text_paragraph(out, 0, 2, columns, sentence);
	for (uint32_t i = 0; i < model->n_lost && i < MOST_SHOWN; i++)
		space_of_kernel(model, &model->lost[i], out, columns);
	if (model->n_lost > MOST_SHOWN)
		fprintf(out, "  and %" PRIu32 " more kernels\n", model->n_lost - MOST_SHOWN);
	const unsigned n_settings = sufficient_settings(model, settings, sizeof(settings));
	fprintf(out, "  %s would have sufficed:\n    %s\n", n_settings == 1 ? "This setting" : "These settings",
		settings);
	return true;
}

uint64_t model_counter(const struct warpspan_model *model, const char *name)
{
	for (uint32_t i = 0; i < model->n_counters; i++)
		if (strcmp(model->counters[i].name, name) == 0)
			return model->counters[i].value;
	return 0;
}

bool failures_destroyed(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	const uint64_t n_contexts = model_counter(model, "context_lost");
	const uint64_t n_overwritten = model_counter(model, "overwritten");
	char sentence[SENTENCE_BYTES], count[TEXT_NUMBER_BYTES];

	if (n_contexts != 0) {
		snprintf(
			sentence, sizeof(sentence),
			"lost context: %s ended before all records were read: by a fault in a kernel, a reset, or with "
			"the program. What its kernels recorded since the last reading is gone, and it is not known "
			"how "
			"much that was.",
			text_counted(count, n_contexts, "CUDA context"));
		fputc('\n', out);
		text_paragraph(out, 0, 2, columns, sentence);
	}
	if (n_overwritten != 0) {
		snprintf(sentence, sizeof(sentence),
			 "overwritten memory: the records of at least %s were destroyed by a kernel that writes where "
			 "it should not. They "
			 "are gone; others may hold wrong values. compute-sanitizer finds such writes.",
			 text_counted(count, n_overwritten, "warp"));
		fputc('\n', out);
		text_paragraph(out, 0, 2, columns, sentence);
	}
	return n_contexts != 0 || n_overwritten != 0;
}

/* "load at pipeline.cu:97" */
static const char *place(const struct warpspan_model *model, uint32_t index, char *text, size_t bytes)
{
	char name[256], file[128];

	if (index == WARPSPAN_NONE)
		return "place not known";
	const struct warpspan_region *region = &model->regions[index];
	text_source(file, sizeof(file), region->file, region->line);
	snprintf(text, bytes, "%s%s%s", text_elide(name, sizeof(name), region->name, *file ? NAME_COLUMNS : 200),
		 *file ? " at " : "", file);
	return text;
}

/* The first slice that was begun there and lacks its end for this reason; NULL: the cause leaves no slice. */
static const struct warpspan_slice *example_of(const struct warpspan_model *model,
					       const struct warpspan_unpaired *unpaired)
{
	const enum warpspan_slice_end end = unpaired->cause == WARPSPAN_UNPAIRED_LOST    ? WARPSPAN_END_LOST
					    : unpaired->cause == WARPSPAN_UNPAIRED_OPEN  ? WARPSPAN_END_OPEN
					    : unpaired->cause == WARPSPAN_UNPAIRED_BEGIN ? WARPSPAN_END_CORRUPT
											 : WARPSPAN_END_RECORDED;

	for (uint64_t i = 0; end != WARPSPAN_END_RECORDED && i < model->n_slices; i++)
		if (model->slices[i].end == end && model->slices[i].region == unpaired->region)
			return &model->slices[i];
	return NULL;
}

/* "e.g. block (3,0,0) warp 2", "" where there is none. */
static const char *example_text(const struct warpspan_model *model, const struct warpspan_unpaired *unpaired,
				char *text, size_t bytes)
{
	char block[TEXT_NUMBER_BYTES], since[TEXT_NUMBER_BYTES];
	const struct warpspan_slice *slice = example_of(model, unpaired);

	text[0] = '\0';
	if (!slice)
		return text;
	const struct warpspan_track *track = &model->tracks[slice->track];
	const int n = snprintf(text, bytes, "%sblock %s warp %" PRIu32, unpaired->n == 1 ? "" : "e.g. ",
			       text_block(block, track->block), track->warp);
	/* how long it has been open is not known: the device's clock is read by warps that move on */
	if (unpaired->cause == WARPSPAN_UNPAIRED_OPEN)
		snprintf(text + n, bytes - (size_t)n, ", since %s of its launch",
			 text_duration(since, (double)(slice->start_ns - model->grids[track->grid].start_ns)));
	return text;
}

/* As a row of a table, or where `columns` are too few for one (table is NULL) as a paragraph. */
static void tell_unpaired(const struct warpspan_model *model, const struct warpspan_unpaired *unpaired,
			  struct table *table, FILE *out, unsigned columns)
{
	char count[TEXT_NUMBER_BYTES], where[448], example[256], line[SENTENCE_BYTES];

	text_count(count, unpaired->n);
	const char *shown = place(model, unpaired->region, where, sizeof(where));
	example_text(model, unpaired, example, sizeof(example));
	if (!table) {
		snprintf(line, sizeof(line), "%s %s%s%s", count, shown, *example ? ", " : "", example);
		text_paragraph(out, 4, 6, columns, line);
		return;
	}
	table_add(table, count);
	table_add(table, shown);
	table_add(table, example);
}

/* The places of one cause, if it occurs. */
static void tell_cause(const struct warpspan_model *model, enum warpspan_unpaired_cause cause, FILE *out,
		       unsigned columns)
{
	struct table *table = NULL;
	char sentence[SENTENCE_BYTES], count[TEXT_NUMBER_BYTES];
	const bool as_table = columns >= TABLE_COLUMNS;
	uint64_t n = 0;
	unsigned n_rows = 0;

	for (uint32_t i = 0; i < model->n_unpaired; i++)
		n += model->unpaired[i].cause == cause ? model->unpaired[i].n : 0;
	if (n == 0)
		return;
	snprintf(sentence, sizeof(sentence), "%s %s", text_counted(count, n, causes[cause].noun), causes[cause].rest);
	text_paragraph(out, 2, 4, columns, sentence);
	if (as_table)
		table = table_create("rll");
	for (uint32_t i = 0; i < model->n_unpaired; i++)
		if (model->unpaired[i].cause == cause && model->unpaired[i].n != 0 && n_rows++ < MOST_SHOWN)
			tell_unpaired(model, &model->unpaired[i], table, out, columns);
	if (as_table && !table_print(table, out, 4, false, columns))
		fputs("    (out of memory: the places are not listed)\n", out);
	table_destroy(table);
	if (n_rows > MOST_SHOWN)
		fprintf(out, "    and %u more places\n", n_rows - MOST_SHOWN);
}

bool failures_unpaired(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char sentence[SENTENCE_BYTES], count[TEXT_NUMBER_BYTES];
	uint64_t total = 0;

	for (uint32_t i = 0; i < model->n_unpaired; i++)
		total += model->unpaired[i].n;
	if (total == 0)
		return false;
	snprintf(sentence, sizeof(sentence), "unpaired records: %s %s no partner. All others are shown.",
		 text_counted(count, total, "record"), total == 1 ? "has" : "have");
	fputc('\n', out);
	text_paragraph(out, 0, 2, columns, sentence);
	for (unsigned cause = 0; cause < WARPSPAN_N_UNPAIRED_CAUSES; cause++)
		tell_cause(model, cause, out, columns);
	return true;
}

/* Texts of damage begin with the capture's name, which has been said. */
static const char *without_path(const struct warpspan_model *model, const char *text)
{
	const size_t n = strlen(model->path);

	if (text[0] == '\'' && strncmp(text + 1, model->path, n) == 0 && strncmp(text + 1 + n, "': ", 3) == 0)
		return text + n + 4;
	return text;
}

bool failures_damage(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char sentence[SENTENCE_BYTES], count[TEXT_NUMBER_BYTES], text[sizeof(model->damage[0].text)];

	if (model->n_damage == 0)
		return false;
	snprintf(sentence, sizeof(sentence), "damaged capture: %s. What could be decoded is shown.",
		 text_counted(count, model->n_damage, "place"));
	fputc('\n', out);
	text_paragraph(out, 0, 2, columns, sentence);
	for (uint32_t i = 0; i < model->n_damage && i < MOST_SHOWN; i++) {
		const struct warpspan_error *damage = &model->damage[i];

		text_clean(text, sizeof(text), without_path(model, damage->text));
		if (damage->offset == UINT64_MAX || strstr(text, "byte "))
			snprintf(sentence, sizeof(sentence), "%s", text);
		else
			snprintf(sentence, sizeof(sentence), "byte %" PRIu64 ": %s", damage->offset, text);
		text_paragraph(out, 2, 4, columns, sentence);
	}
	if (model->n_damage > MOST_SHOWN)
		fprintf(out, "  and %" PRIu32 " more\n", model->n_damage - MOST_SHOWN);
	return true;
}

bool failures_incomplete(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	if (model->complete)
		return false;
	fputc('\n', out);
	text_paragraph(out, 0, 2, columns,
		       "incomplete capture: it is still being written, or the program ended without closing it. "
		       "What it holds so far is shown.");
	return true;
}

/* --- notes ------------------------------------------------------------------------------------ */

static void note(FILE *out, unsigned columns, bool *told, const char *text)
{
	if (!*told)
		fputs("\nnotes:\n", out);
	*told = true;
	text_paragraph(out, 2, 4, columns, text);
}

/* What the session did not ask for. */
static void note_late(const struct warpspan_model *model, FILE *out, unsigned columns, bool *told)
{
	char sentence[SENTENCE_BYTES], launches[TEXT_NUMBER_BYTES], warps[TEXT_NUMBER_BYTES];

	if (model->n_late_launches == 0 && model->n_late_warps == 0)
		return;
	snprintf(sentence, sizeof(sentence), "%s launch%s made after the stop, with %s, %s left out.",
		 text_count(launches, model->n_late_launches), model->n_late_launches == 1 ? "" : "es",
		 text_counted(warps, model->n_late_warps, "warp"), model->n_late_launches == 1 ? "is" : "are");
	note(out, columns, told, sentence);
}

static void note_counted(FILE *out, unsigned columns, bool *told, uint64_t n, const char *one, const char *text)
{
	char sentence[SENTENCE_BYTES], count[TEXT_NUMBER_BYTES];

	if (n == 0)
		return;
	snprintf(sentence, sizeof(sentence), "%s %s", text_counted(count, n, one), text);
	note(out, columns, told, sentence);
}

/* Why a counter of the preloaded library means launches without a record: the end of the sentence "N launches were not
 * recorded: ...". "" for counters that are no such reason; NULL for those this version does not know. */
static const char *reason_of(const char *counter)
{
	static const struct {
		const char *name, *reason;
	} known[] = {
#define WARPSPAN_COUNTER(name, text) { #name, text },
#include "counters.def"
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, counter) == 0)
			return known[i].reason;
	return NULL;
}

static void note_counter(const char *name, uint64_t value, FILE *out, unsigned columns, bool *told)
{
	char sentence[SENTENCE_BYTES], clean[128], count[TEXT_NUMBER_BYTES];
	const char *reason = reason_of(name);

	if (value == 0 || (reason && !*reason))
		return;
	if (reason)
		snprintf(sentence, sizeof(sentence), "%s launch%s not recorded: %s.", text_count(count, value),
			 value == 1 ? " was" : "es were", reason);
	else
		snprintf(sentence, sizeof(sentence), "counter %s: %s", text_clean(clean, sizeof(clean), name),
			 text_count(count, value));
	note(out, columns, told, sentence);
}

static void note_host_clock(const struct warpspan_model *model, const struct warpspan_host_clock *clock, FILE *out,
			    unsigned columns, bool *told)
{
	char sentence[SENTENCE_BYTES];

	if (clock->bounded || model->n_calls == 0)
		return;
	if (clock->agrees)
		snprintf(sentence, sizeof(sentence),
			 "device %" PRIu32 ": no synchronisation that covers a recorded grid is in the capture. The "
			 "host's calls stand as late as its launches allow; they may have been earlier, by an unknown "
			 "time.",
			 model->devices[clock->device].ordinal);
	else
		snprintf(sentence, sizeof(sentence),
			 "device %" PRIu32 ": its clock and the host's do not measure the same time (a simulated "
			 "device, or a clock that was set). The host's calls are placed so that the first launch "
			 "begins with its grid; other distances between host and device mean nothing.",
			 model->devices[clock->device].ordinal);
	note(out, columns, told, sentence);
}

/* Launches the host made that left nothing on the device. That is no fault where a kernel returns early. */
static void note_unseen(const struct warpspan_model *model, const struct warpspan_stats *stats, FILE *out,
			unsigned columns, bool *told)
{
	char sentence[SENTENCE_BYTES], name[256], count[TEXT_NUMBER_BYTES];
	uint64_t n_more = 0;
	unsigned n_shown = 0;

	for (uint32_t i = 0; i < model->n_kernels; i++) {
		const uint64_t n = stats->kernels[i].n_unseen;

		if (n == 0)
			continue;
		if (n_shown++ >= MOST_SHOWN) {
			n_more += n;
			continue;
		}
		snprintf(sentence, sizeof(sentence),
			 "%s launch%s of %s %s no records: the kernel opened no recorder, still ran, or its records "
			 "were "
			 "lost.",
			 text_count(count, n), n == 1 ? "" : "es", kernel_name(model, i, name, sizeof(name)),
			 n == 1 ? "has" : "have");
		note(out, columns, told, sentence);
	}
	if (n_more == 0)
		return;
	snprintf(sentence, sizeof(sentence), "%s launch%s of other kernels %s no records, either.",
		 text_count(count, n_more), n_more == 1 ? "" : "es", n_more == 1 ? "has" : "have");
	note(out, columns, told, sentence);
}

bool failures_notes(const struct warpspan_model *model, const struct warpspan_stats *stats, FILE *out, unsigned columns)
{
	uint64_t n_repeat = 0, n_unsure = 0, n_ambiguous = 0, n_unknown = 0, n_open = 0, n_early = 0;
	char sentence[SENTENCE_BYTES];
	bool told = false;

	for (uint32_t i = 0; i < model->n_kernels; i++) {
		n_repeat += stats->kernels[i].n_repeat;
		n_unsure += stats->kernels[i].n_unsure;
		n_ambiguous += stats->kernels[i].n_ambiguous;
		n_unknown += stats->kernels[i].n_host_unknown;
		n_open += stats->kernels[i].n_open;
		n_early += stats->kernels[i].n_early;
	}
	note_counted(out, columns, &told, n_open, "warp",
		     "had not left the kernel when the capture ended: still running, hanging, or ended by a fault.");
	note_unseen(model, stats, out, columns, &told);
	note_counted(out, columns, &told, n_early, "grid",
		     "launched before the session: what was recorded in it is shown, which need not be all of them.");
	note_late(model, out, columns, &told);
	note_counted(out, columns, &told, n_repeat, "grid",
		     "told apart by the repetition of blocks and warps: their grid ids are not their own.");
	note_counted(out, columns, &told, n_unsure, "group",
		     "of warps may hold several launches: neither grid ids nor repetition tell them apart.");
	note_counted(
		out, columns, &told, n_ambiguous, "grid",
		"shown without a launch: several fit. Grids of one shape were in flight on several streams at once, "
		"came from graphs, or others of them are missing, and their grid ids do not tell whose they are.");
	note_counted(out, columns, &told, n_unknown, "grid",
		     "seen on the device without a matching launch in the host's log.");
	note_counted(out, columns, &told, model->n_repairs, "warp",
		     "with a cycle counter that ran backwards: such records keep the time of the one before.");
	note_counted(out, columns, &told, model->n_wraps_unplaced, "turn",
		     "of a 32-bit cycle counter (some two seconds) between records, but not known between which: times "
		     "of these warps may be off by whole turns.");
	for (uint32_t i = 0; i < model->n_clocks; i++) {
		if (model->clocks[i].fitted)
			continue;
		snprintf(sentence, sizeof(sentence),
			 "device %" PRIu32 ": too few clock readings to measure the clock rate; the rate the driver "
			 "states is used.",
			 model->devices[model->clocks[i].device].ordinal);
		note(out, columns, &told, sentence);
	}
	for (uint32_t i = 0; i < model->n_host_clocks; i++)
		note_host_clock(model, &model->host_clocks[i], out, columns, &told);
	for (uint32_t i = 0; i < model->n_counters; i++)
		note_counter(model->counters[i].name, model->counters[i].value, out, columns, &told);
	return told;
}

/* --- the gist --------------------------------------------------------------------------------- */

static void append(char *text, size_t bytes, const char *part)
{
	const size_t at = strlen(text);

	if (at < bytes)
		snprintf(text + at, bytes - at, "%s%s", at ? "; " : "", part);
}

static void append_space(const struct warpspan_model *model, char *text, size_t bytes)
{
	char part[448], name[256], settings[128], records[TEXT_NUMBER_BYTES], warps[TEXT_NUMBER_BYTES];
	int n;

	if (model->n_lost_records == 0 && model->n_lost_warps == 0)
		return;
	n = snprintf(part, sizeof(part), "insufficient space: %s of %s lost",
		     text_counted(records, model->n_lost_records, "record"),
		     text_counted(warps, model->n_lost_warps, "warp"));
	if (model->n_lost)
		n += snprintf(part + n, sizeof(part) - (size_t)n, " in %s%s",
			      kernel_name(model, model->lost[0].kernel, name, sizeof(name)),
			      model->n_lost > 1 ? " and others" : "");
	sufficient_settings(model, settings, sizeof(settings));
	snprintf(part + n, sizeof(part) - (size_t)n, ", %s would have sufficed", settings);
	append(text, bytes, part);
}

static void append_destroyed(const struct warpspan_model *model, char *text, size_t bytes)
{
	const uint64_t n_contexts = model_counter(model, "context_lost");
	const uint64_t n_overwritten = model_counter(model, "overwritten");
	char part[160], count[TEXT_NUMBER_BYTES];

	if (n_contexts != 0) {
		snprintf(part, sizeof(part), "lost context: the unread records of %s are gone",
			 text_counted(count, n_contexts, "context"));
		append(text, bytes, part);
	}
	if (n_overwritten != 0) {
		snprintf(part, sizeof(part), "overwritten memory: the records of at least %s are gone",
			 text_counted(count, n_overwritten, "warp"));
		append(text, bytes, part);
	}
}

/* Each cause with its number and the place that has most of it. */
static void append_unpaired(const struct warpspan_model *model, char *text, size_t bytes)
{
	char part[448], where[448], count[TEXT_NUMBER_BYTES];
	bool first = true;

	for (unsigned cause = 0; cause < WARPSPAN_N_UNPAIRED_CAUSES; cause++) {
		const struct warpspan_unpaired *most = NULL;
		uint64_t n = 0;

		for (uint32_t i = 0; i < model->n_unpaired; i++) {
			if (model->unpaired[i].cause != cause)
				continue;
			n += model->unpaired[i].n;
			if (!most || model->unpaired[i].n > most->n)
				most = &model->unpaired[i];
		}
		if (n == 0)
			continue;
		snprintf(part, sizeof(part), "%s%s %s (%s%.300s)", first ? "unpaired records: " : "",
			 text_counted(count, n, causes[cause].noun), causes[cause].rest, most->n < n ? "most: " : "",
			 place(model, most->region, where, sizeof(where)));
		append(text, bytes, part);
		first = false;
	}
}

void failures_line(const struct warpspan_model *model, char *text, size_t bytes)
{
	char part[128], count[TEXT_NUMBER_BYTES];

	text[0] = '\0';
	append_space(model, text, bytes);
	append_destroyed(model, text, bytes);
	append_unpaired(model, text, bytes);
	if (model->n_damage) {
		snprintf(part, sizeof(part), "damaged capture: %s", text_counted(count, model->n_damage, "place"));
		append(text, bytes, part);
	}
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c - the table in the terminal.
 *
 * A header that says what was run where and how far the times can be trusted, then one table per kernel, the kernel
 * with the most warp time first, one row per region; nested regions stand indented below the one they were first seen
 * in. What went wrong follows at the end, where the eye is when the prompt comes back. Laid out for a given width;
 * where the source places do not fit beside the numbers they follow the table. Pure output: no state, any thread.
 */
#include "report.h"
#include "host_stats.h"
#include "text.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define WIDE_COLUMNS   110u /* from here on the source has its own column */
#define MOST_LEVELS    8u   /* indentation stops here */
#define MOST_HOST_ROWS 40u  /* entry points in the table of host calls */
#define LINE_BYTES     2048u
#define REALTIME_YEAR  31557600000000000ull /* ns; a session's start before 1971 is no date */

static void header_line(FILE *out, unsigned columns, const char *label, const char *text)
{
	char line[LINE_BYTES + 32];

	snprintf(line, sizeof(line), "%-9s %s", label, text);
	text_paragraph(out, 2, 12, columns, line);
}

/* "device" where there is one, "device 3" where there are several. */
static const char *numbered(const struct warpspan_model *model, const char *word, uint32_t ordinal, char label[16])
{
	if (model->n_devices > 1)
		snprintf(label, 16, "%.8s %" PRIu32, word, ordinal % 1000000);
	else
		snprintf(label, 16, "%.8s", word);
	return label;
}

/* "2026-11-30 12:03:04 UTC"; "" for a time that is no date. */
static const char *date_text(uint64_t realtime_ns, char text[64])
{
	const time_t seconds = (time_t)(realtime_ns / 1000000000u);
	struct tm date;

	if (realtime_ns <= REALTIME_YEAR || gmtime_r(&seconds, &date) == NULL ||
	    strftime(text, 64, "%Y-%m-%d %H:%M:%S UTC", &date) == 0)
		text[0] = '\0';
	return text;
}

void report_session_text(const struct warpspan_model *model, char *text, size_t bytes)
{
	char clean[256], date[64], duration[TEXT_NUMBER_BYTES];
	int n;

	date_text(model->start_realtime_ns, date);
	n = snprintf(text, bytes, "%" PRIu32 ", started by %s%s%s in thread %" PRIu32, model->session,
		     text_clean(clean, sizeof(clean), model->started_by), *date ? " at " : "", date,
		     model->started_in_thread);
	if (model->stop_monotonic_ns == 0 || n < 0 || (size_t)n >= bytes)
		return;
	text_duration(duration, (double)(model->stop_monotonic_ns - model->start_monotonic_ns));
	snprintf(text + n, bytes - (size_t)n, ", stopped by %s in thread %" PRIu32 " after %s",
		 text_clean(clean, sizeof(clean), *model->stopped_by ? model->stopped_by : "an unknown hand"),
		 model->stopped_in_thread, duration);
}

static void print_session(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char line[LINE_BYTES], clean[LINE_BYTES / 2], rank[TEXT_RANK_BYTES], date[64];
	int n;

	header_line(out, columns, "command", *model->command ? text_clean(clean, sizeof(clean), model->command) : "-");
	n = snprintf(line, sizeof(line), "%" PRIu32 " on %s", model->pid,
		     *model->host ? text_clean(clean, sizeof(clean), model->host) : "an unknown host");
	if (*model->rank)
		n += snprintf(line + n, sizeof(line) - (size_t)n, ", %s",
			      text_rank(rank, model->rank, model->world, model->launcher));
	if (*model->started_by == '\0') {
		date_text(model->start_realtime_ns, date);
		snprintf(line + n, sizeof(line) - (size_t)n, ", session %" PRIu32 "%s%s", model->session,
			 *date ? ", " : "", date);
	}
	header_line(out, columns, "process", line);
	if (*model->started_by == '\0')
		return;
	report_session_text(model, line, sizeof(line));
	header_line(out, columns, "session", line);
}

static void print_devices(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char line[LINE_BYTES], clean[256], label[16], rate[TEXT_NUMBER_BYTES], error[TEXT_NUMBER_BYTES];

	for (uint32_t i = 0; i < model->n_devices; i++) {
		const struct warpspan_device *device = &model->devices[i];
		int n = snprintf(line, sizeof(line), "%s",
				 text_clean(clean, sizeof(clean), *device->name ? device->name : "unknown device"));

		if (*device->compute)
			n += snprintf(line + n, sizeof(line) - (size_t)n, ", compute capability %s",
				      text_clean(clean, 32, device->compute));
		if (device->n_sms)
			snprintf(line + n, sizeof(line) - (size_t)n, ", %" PRIu32 " SMs", device->n_sms);
		header_line(out, columns, numbered(model, "device", device->ordinal, label), line);
	}
	for (uint32_t i = 0; i < model->n_clocks; i++) {
		const struct warpspan_clock_fit *clock = &model->clocks[i];

		snprintf(line, sizeof(line), "%s %s, global timer ticks every %" PRIu32 "ns%s, SMs aligned within %s",
			 text_rate(rate, clock->rate_hz), clock->fitted ? "measured" : "as the driver states it",
			 clock->tick_ns, clock->tick_at_most ? " at most" : "", text_duration(error, clock->error_ns));
		header_line(out, columns, numbered(model, "clock", model->devices[clock->device].ordinal, label), line);
	}
}

/* How well host and devices stand on one axis; what is wrong with it is told in the notes. */
static void print_host_clocks(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char line[LINE_BYTES], label[16], error[TEXT_NUMBER_BYTES], a[TEXT_NUMBER_BYTES], b[TEXT_NUMBER_BYTES];

	for (uint32_t i = 0; i < model->n_host_clocks; i++) {
		const struct warpspan_host_clock *clock = &model->host_clocks[i];

		if (!clock->bounded)
			continue;
		int n = snprintf(line, sizeof(line), "its clock is aligned with the device's within %s (%s, %s",
				 text_duration(error, clock->error_ns), text_counted(a, clock->n_upper, "grid"),
				 text_counted(b, clock->n_lower, "synchronisation"));
		if (clock->drift > 0)
			n += snprintf(line + n, sizeof(line) - (size_t)n, "; their rates differ by up to %.0f ppm",
				      clock->drift * 1e6);
		snprintf(line + n, sizeof(line) - (size_t)n, ")");
		header_line(out, columns, numbered(model, "host", model->devices[clock->device].ordinal, label), line);
	}
}

static void print_totals(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	char records[TEXT_NUMBER_BYTES], warps[TEXT_NUMBER_BYTES], launches[TEXT_NUMBER_BYTES];
	char lost[TEXT_NUMBER_BYTES], line[LINE_BYTES];
	const char *plural = model->n_grids == 1 ? "" : "es";
	const bool destroyed = model_counter(model, "context_lost") != 0 || model_counter(model, "overwritten") != 0;

	text_count(lost, model->n_lost_records);
	snprintf(line, sizeof(line), "%s of %s in %s launch%s, %s%s lost", text_count(records, model->n_records),
		 text_counted(warps, model->n_segments, "warp"), text_count(launches, model->n_grids), plural,
		 model->n_lost_records ? lost
		 : destroyed           ? "an unknown number"
				       : "none",
		 destroyed && model->n_lost_records ? " and more" : "");
	header_line(out, columns, "records", line);
}

/* "12 by their grid ids, 3 by repetition"; nothing for none. */
static int list_count(char *line, size_t bytes, int n, uint64_t count, const char *how)
{
	char number[TEXT_NUMBER_BYTES];

	if (count == 0 || n < 0 || (size_t)n >= bytes)
		return n;
	return n + snprintf(line + n, bytes - (size_t)n, "%s%s %s", line[n - 1] == ':' ? " " : ", ",
			    text_count(number, count), how);
}

/* How grids were told apart, and how each found the call that launched it. */
static void print_methods(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	uint64_t by_match[WARPSPAN_MATCH_UNSURE + 1] = { 0 }, by_join[WARPSPAN_JOIN_AMBIGUOUS + 1] = { 0 };
	char line[LINE_BYTES];
	int n;

	if (model->n_grids == 0)
		return;
	for (uint32_t i = 0; i < model->n_grids; i++) {
		by_match[model->grids[i].match]++;
		by_join[model->grids[i].join]++;
	}
	n = snprintf(line, sizeof(line), "told apart:");
	n = list_count(line, sizeof(line), n, by_match[WARPSPAN_MATCH_GRID_ID], "by grid id");
	n = list_count(line, sizeof(line), n, by_match[WARPSPAN_MATCH_REPEAT], "by repetition of blocks and warps");
	n = list_count(line, sizeof(line), n, by_match[WARPSPAN_MATCH_UNSURE], "not for certain");
	n += snprintf(line + n, sizeof(line) - (size_t)n, "; joined with their calls:");
	n = list_count(line, sizeof(line), n, by_join[WARPSPAN_JOIN_ID], "by grid id");
	n = list_count(line, sizeof(line), n, by_join[WARPSPAN_JOIN_ORDER], "by order");
	n = list_count(line, sizeof(line), n, by_join[WARPSPAN_JOIN_AMBIGUOUS], "ambiguous");
	(void)list_count(line, sizeof(line), n, by_join[WARPSPAN_JOIN_NONE], "without one");
	header_line(out, columns, "launches", line);
}

/* --- one kernel ------------------------------------------------------------------------------- */

static void print_kernel_header(const struct warpspan_model *model, const struct warpspan_stats *stats, uint32_t kernel,
				FILE *out, unsigned columns)
{
	const struct kernel_stats *numbers = &stats->kernels[kernel];
	const struct warpspan_grid *first = &model->grids[numbers->first_grid];
	char name[LINE_BYTES], grid[TEXT_NUMBER_BYTES], threads[TEXT_NUMBER_BYTES], line[LINE_BYTES];
	char a[TEXT_NUMBER_BYTES], b[TEXT_NUMBER_BYTES], c[TEXT_NUMBER_BYTES], count[TEXT_NUMBER_BYTES];
	int n;

	fprintf(out, "\n%s\n", text_elide(name, sizeof(name), model->kernels[kernel].demangled, columns));
	n = model->n_devices > 1
		    ? snprintf(line, sizeof(line), "device %" PRIu32 ": ", model->devices[first->device].ordinal)
		    : 0;
	n += snprintf(line + n, sizeof(line) - (size_t)n, "%s launch%s", text_count(count, numbers->n_launches),
		      numbers->n_launches == 1 ? "" : "es");
	if (numbers->n_early)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " (%s launched before the session)",
			      numbers->n_early == numbers->n_launches ? "all" : text_count(count, numbers->n_early));
	n += snprintf(line + n, sizeof(line) - (size_t)n, ", ");
	text_dimensions(grid, first->grid);
	text_dimensions(threads, first->threads);
	n += snprintf(line + n, sizeof(line) - (size_t)n, "grid %s, block %s%s, ", grid, threads,
		      numbers->shapes_differ ? " (first; others differ)" : "");
	n += snprintf(line + n, sizeof(line) - (size_t)n, "%" PRIu32 " SM%s, ", numbers->n_sms,
		      numbers->n_sms == 1 ? "" : "s");
	text_duration(a, (double)numbers->launch_total_ns / (double)numbers->n_launches);
	if (numbers->launch_min_ns == numbers->launch_max_ns)
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s%s", a, numbers->n_launches == 1 ? "" : " each");
	else
		n += snprintf(line + n, sizeof(line) - (size_t)n, "%s on average (%s to %s)", a,
			      text_duration(b, (double)numbers->launch_min_ns),
			      text_duration(c, (double)numbers->launch_max_ns));
	n += snprintf(line + n, sizeof(line) - (size_t)n, ", %s of ", text_counted(a, numbers->n_records, "record"));
	n += snprintf(line + n, sizeof(line) - (size_t)n, "%s", text_counted(b, numbers->n_warps, "warp"));
	if (numbers->n_lost)
		snprintf(line + n, sizeof(line) - (size_t)n, ", %s lost", text_count(c, numbers->n_lost));
	text_paragraph(out, 2, 2, columns, line);
}

static void add_source(struct table *table, const struct warpspan_region *region)
{
	char source[288];

	table_add(table, text_source(source, sizeof(source), region->file, region->line));
}

static void add_region_row(struct table *table, const struct warpspan_region *region, const struct region_stats *stats,
			   bool with_cut, bool with_source)
{
	const unsigned level = stats->level < MOST_LEVELS ? stats->level : MOST_LEVELS;
	char name[512], text[TEXT_NUMBER_BYTES];

	table_add_format(table, "%*s%s", (int)(2 * level), "", text_clean(name, sizeof(name), region->name));
	table_add(table, text_count(text, stats->count));
	table_add(table, text_count(text, stats->n_warps));
	if (stats->count == 0) {
		for (unsigned i = 0; i < 7; i++)
			table_add(table, "-");
	} else {
		table_add(table, text_duration(text, (double)stats->total_ns));
		table_add(table, text_duration(text, stats->mean_ns));
		table_add(table, text_duration(text, (double)stats->p50_ns));
		table_add(table, text_duration(text, (double)stats->p99_ns));
		table_add(table, text_duration(text, (double)stats->min_ns));
		table_add(table, text_duration(text, (double)stats->max_ns));
		table_add(table, text_share(text, stats->share));
	}
	if (with_cut)
		table_add(table, stats->n_cut ? text_count(text, stats->n_cut) : "-");
	if (with_source)
		add_source(table, region);
}

static void add_source_cell(struct table *table, const struct warpspan_region *region, unsigned columns)
{
	char name[512], source[288];

	text_source(source, sizeof(source), region->file, region->line);
	table_add_format(table, "%s%s%s", text_elide(name, sizeof(name), region->name, columns), *source ? " at " : "",
			 source);
}

/* Where the regions are, for terminals too narrow for a column: in two columns if that fits. */
static bool print_sources(const struct warpspan_model *model, const uint32_t *rows, uint32_t n_rows, FILE *out,
			  unsigned columns)
{
	const size_t half = (columns - 4) / 2;
	bool fits = n_rows > 2;
	char text[32];

	for (uint32_t i = 0; i < n_rows; i++) {
		const struct warpspan_region *region = &model->regions[rows[i]];
		const int digits = snprintf(text, sizeof(text), " at :%" PRIu32, region->line);

		fits &= strlen(region->name) + strlen(text_base_name(region->file)) + (size_t)digits <= half;
	}
	const uint32_t n_across = fits ? 2 : 1, n_down = (n_rows + n_across - 1) / n_across;
	struct table *table = table_create(fits ? "ll" : "l");
	for (uint32_t i = 0; i < n_down * n_across; i++) {
		const uint32_t row = i % n_across * n_down + i / n_across;

		if (row < n_rows)
			add_source_cell(table, &model->regions[rows[row]], columns / 2);
		else
			table_add(table, "");
	}
	fputc('\n', out);
	const bool fine = table_print(table, out, 2, false, columns);
	table_destroy(table);
	return fine;
}

/* Why count times mean is not the total. */
static void print_nested(const struct warpspan_model *model, const struct warpspan_stats *stats, uint32_t region,
			 FILE *out, unsigned columns)
{
	char line[LINE_BYTES], name[256], count[TEXT_NUMBER_BYTES];
	const uint64_t n = stats->regions[region].n_nested;

	if (n == 0)
		return;
	snprintf(line, sizeof(line),
		 "%s: %s inside another of the same region; total and share are those of the outermost ones.",
		 text_elide(name, sizeof(name), model->regions[region].name, 48), text_counted(count, n, "slice"));
	text_paragraph(out, 2, 4, columns, line);
}

static bool print_regions(const struct warpspan_model *model, const struct warpspan_stats *stats,
			  const struct kernel_stats *kernel, FILE *out, unsigned columns)
{
	static const char *const heads[] = { "region", "count", "warps", "total", "mean",
					     "median", "p99",   "min",   "max",   "share" };
	const uint32_t *rows = stats->rows + kernel->first_row;
	const bool wide = columns >= WIDE_COLUMNS;
	bool with_cut = false, nested = false;

	for (uint32_t i = 0; i < kernel->n_rows; i++) {
		with_cut |= stats->regions[rows[i]].n_cut != 0;
		nested |= stats->regions[rows[i]].n_nested != 0;
	}
	struct table *table = table_create(with_cut ? (wide ? "lrRrRRRRRrrl" : "lrRrRRRRRrr")
						    : (wide ? "lrRrRRRRRrl" : "lrRrRRRRRr"));
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_add(table, heads[i]);
	if (with_cut)
		table_add(table, "cut");
	if (wide)
		table_add(table, "source");
	for (uint32_t i = 0; i < kernel->n_rows; i++)
		add_region_row(table, &model->regions[rows[i]], &stats->regions[rows[i]], with_cut, wide);
	fputc('\n', out);
	bool fine = table_print(table, out, 2, !wide, columns);
	table_destroy(table);
	if (fine && with_cut)
		text_paragraph(
			out, 2, 2, columns,
			"cut: slices whose end was not recorded; they are in the timeline, not in these numbers.");
	for (uint32_t i = 0; fine && nested && i < kernel->n_rows; i++)
		print_nested(model, stats, rows[i], out, columns);
	if (fine && !wide)
		fine = print_sources(model, rows, kernel->n_rows, out, columns);
	return fine;
}

static void add_mark_row(struct table *table, const struct warpspan_region *region, const struct region_stats *stats,
			 bool with_nan)
{
	const bool plain = stats->mark_kind == WARPSPAN_KIND_MARK || stats->n_nan == stats->n_marks;
	char name[512], text[TEXT_NUMBER_BYTES];

	table_add(table, text_clean(name, sizeof(name), region->name));
	table_add(table, text_count(text, stats->n_marks));
	table_add(table, text_count(text, stats->n_mark_warps));
	table_add(table, plain ? "-" : text_value(text, stats->value_min));
	table_add(table, plain ? "-" : text_value(text, stats->value_mean));
	table_add(table, plain ? "-" : text_value(text, stats->value_max));
	if (with_nan)
		table_add(table, stats->n_nan ? text_count(text, stats->n_nan) : "-");
	add_source(table, region);
}

static bool print_marks(const struct warpspan_model *model, const struct warpspan_stats *stats,
			const struct kernel_stats *kernel, FILE *out, unsigned columns)
{
	static const char *const heads[] = { "mark or value", "count", "warps", "min", "mean", "max" };
	const uint32_t *rows = stats->mark_rows + kernel->first_mark;
	bool with_nan = false;

	for (uint32_t i = 0; i < kernel->n_marks; i++)
		with_nan |= stats->regions[rows[i]].n_nan != 0;
	struct table *table = table_create(with_nan ? "lrRrrrrL" : "lrRrrrL");
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
		table_add(table, heads[i]);
	if (with_nan)
		table_add(table, "NaN");
	table_add(table, "source");
	for (uint32_t i = 0; i < kernel->n_marks; i++)
		add_mark_row(table, &model->regions[rows[i]], &stats->regions[rows[i]], with_nan);
	fputc('\n', out);
	const bool fine = table_print(table, out, 2, false, columns);
	table_destroy(table);
	return fine;
}

static bool print_kernel(const struct warpspan_model *model, const struct warpspan_stats *stats, uint32_t kernel,
			 FILE *out, unsigned columns)
{
	const struct kernel_stats *numbers = &stats->kernels[kernel];

	print_kernel_header(model, stats, kernel, out, columns);
	if (numbers->n_rows == 0 && numbers->n_marks == 0)
		fputs("\n  Its warps opened a recorder and recorded nothing.\n", out);
	if (numbers->n_rows != 0 && !print_regions(model, stats, numbers, out, columns))
		return false;
	return numbers->n_marks == 0 || print_marks(model, stats, numbers, out, columns);
}

/* --- the host --------------------------------------------------------------------------------- */

static void add_host_row(struct table *table, const struct host_call_stats *row, bool with_failed, bool with_open)
{
	char text[TEXT_NUMBER_BYTES], api[128];

	table_add(table, row->kind);
	table_add(table, *row->api ? text_clean(api, sizeof(api), row->api) : "-");
	table_add(table, text_count(text, row->count));
	table_add(table, row->count ? text_duration(text, (double)row->total_ns) : "-");
	table_add(table, row->count ? text_duration(text, (double)row->total_ns / (double)row->count) : "-");
	table_add(table, row->count ? text_duration(text, (double)row->max_ns) : "-");
	if (with_failed)
		table_add(table, row->n_failed ? text_count(text, row->n_failed) : "-");
	if (with_open)
		table_add(table, row->n_open ? text_count(text, row->n_open) : "-");
}

/* What the program's own calls took, launches among them; nothing where only launches were recorded. */
static int print_host_calls(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	static const char *const heads[] = { "call", "entry point", "count", "total", "mean", "max" };
	static const char *const alignments[2][2] = { { "lLrrRR", "lLrrRRr" }, { "lLrrRRr", "lLrrRRrr" } };
	struct host_stats stats = { 0 };
	bool with_failed = false, with_open = false;

	if (model->n_calls == 0)
		return WARPSPAN_OK;
	int result = host_stats_compute(&stats, model);
	for (uint32_t i = 0; i < stats.n_rows; i++) {
		with_failed |= stats.rows[i].n_failed != 0;
		with_open |= stats.rows[i].n_open != 0;
	}
	if (result == WARPSPAN_OK) {
		struct table *table = table_create(alignments[with_failed][with_open]);

		for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
			table_add(table, heads[i]);
		if (with_failed)
			table_add(table, "failed");
		if (with_open)
			table_add(table, "not back");
		for (uint32_t i = 0; i < stats.n_rows && i < MOST_HOST_ROWS; i++)
			add_host_row(table, &stats.rows[i], with_failed, with_open);
		fputs("\nhost calls\n\n", out);
		if (!table_print(table, out, 2, false, columns))
			result = WARPSPAN_NO_MEMORY;
		if (stats.n_rows > MOST_HOST_ROWS)
			fprintf(out, "  and %" PRIu32 " more entry points\n", stats.n_rows - MOST_HOST_ROWS);
		table_destroy(table);
	}
	host_stats_finish(&stats);
	return result;
}

int warpspan_report(const struct warpspan_model *model, FILE *out, unsigned columns)
{
	struct warpspan_stats *stats = NULL;
	char path[LINE_BYTES];
	int result = warpspan_stats_compute(model, &stats);

	if (result < 0)
		return result;
	fprintf(out, "warpspan report of %s\n\n", text_elide_path(path, sizeof(path), model->path, columns - 20));
	print_session(model, out, columns);
	print_devices(model, out, columns);
	print_host_clocks(model, out, columns);
	print_totals(model, out, columns);
	print_methods(model, out, columns);
	for (uint32_t i = 0; i < stats->n_kernels && result == WARPSPAN_OK; i++)
		if (!print_kernel(model, stats, stats->kernel_order[i], out, columns))
			result = WARPSPAN_NO_MEMORY;
	if (stats->n_kernels == 0)
		fputs(stats->n_unseen ? "\nNo launch in this capture has records; see the notes.\n"
				      : "\nNo launch of an instrumented kernel is in this capture.\n",
		      out);
	if (result == WARPSPAN_OK)
		result = print_host_calls(model, out, columns);
	failures_space(model, out, columns);
	failures_destroyed(model, out, columns);
	failures_unpaired(model, out, columns);
	failures_damage(model, out, columns);
	failures_incomplete(model, out, columns);
	failures_notes(model, stats, out, columns);
	warpspan_stats_destroy(stats);
	if (fflush(out) != 0 || ferror(out))
		return WARPSPAN_IO;
	return result;
}

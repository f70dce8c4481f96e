/* SPDX-License-Identifier: Apache-2.0
 *
 * export.c - from a capture to the files beside it: warpspan_export() of decoder.h, and out_export() for the command.
 *
 * A file appears under its name only when it is complete: it is written under a temporary name in the same folder and
 * renamed. warpspan_export() runs at the end of a session inside a user's process: it prints nothing but the report,
 * leaves errno alone and gives back all its memory.
 */
#include "decoder.h"
#include "descriptor.h"
#include "out.h"
#include "report.h"
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURE_SUFFIX ".wspan"
#define MOST_TRIES     16u /* names of temporary files tried; another process would have to guess them all */

struct format {
	unsigned bit;
	bool gzip;
	int (*write)(const struct warpspan_model *model, struct sink *sink);
};

static const struct format formats_known[] = {
	{ WARPSPAN_EXPORT_PFTRACE, false, warpspan_write_pftrace },
	{ WARPSPAN_EXPORT_JSON, true, warpspan_write_json },
};

static const char *extension_of(unsigned bit)
{
#define WARPSPAN_X(name, number, text, extension) \
	if (bit == (number))                      \
		return (extension);
	WARPSPAN_EXPORTS(WARPSPAN_X)
#undef WARPSPAN_X
	return "";
}

static int fail(struct warpspan_error *error, int result, int system_errno, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

static int fail(struct warpspan_error *error, int result, int system_errno, const char *format, ...)
{
	va_list arguments;

	*error = (struct warpspan_error){ .result = result, .system_errno = system_errno, .offset = UINT64_MAX };
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return result;
}

/* Creates a file of its own in the folder of `path`; its name goes to `temporary`. -1: errno says why. */
static int create_temporary(const char *path, char temporary[PATH_MAX])
{
	for (unsigned i = 0; i < MOST_TRIES; i++) {
		if (snprintf(temporary, PATH_MAX, "%s.%ld-%u.tmp", path, (long)getpid(), i) >= PATH_MAX) {
			errno = ENAMETOOLONG;
			return -1;
		}
		const int fd = descriptor_open(temporary, O_WRONLY | O_CREAT | O_EXCL, 0666);
		if (fd >= 0 || errno != EEXIST)
			return fd;
	}
	return -1;
}

/* Writes one format to an open file. An errno value in *ret_errno where that is what failed. */
static int write_format(const struct warpspan_model *model, const struct format *format, int fd, int *ret_errno)
{
	struct sink *sink = sink_create(fd, format->gzip);

	*ret_errno = 0;
	if (!sink)
		return WARPSPAN_NO_MEMORY;
	const int result = format->write(model, sink);
	*ret_errno = sink_finish(sink);
	return result < 0 ? result : *ret_errno ? WARPSPAN_IO : WARPSPAN_OK;
}

static int export_format(const struct warpspan_model *model, const struct format *format, const char *base,
			 struct warpspan_error *error)
{
	char path[PATH_MAX], temporary[PATH_MAX];
	int system_errno = 0;

	if (snprintf(path, sizeof(path), "%s%s", base, extension_of(format->bit)) >= (int)sizeof(path))
		return fail(error, WARPSPAN_IO, ENAMETOOLONG, "'%.200s...': %s", base, strerror(ENAMETOOLONG));
	const int fd = create_temporary(path, temporary);
	if (fd < 0)
		return fail(error, WARPSPAN_IO, errno, "'%.400s': cannot be created: %s", path, strerror(errno));
	int result = write_format(model, format, fd, &system_errno);
	if (close(fd) != 0 && result == WARPSPAN_OK) {
		system_errno = errno;
		result = WARPSPAN_IO;
	}
	if (result == WARPSPAN_OK && rename(temporary, path) != 0) {
		system_errno = errno;
		result = WARPSPAN_IO;
	}
	if (result == WARPSPAN_OK)
		return WARPSPAN_OK;
	unlink(temporary);
	return fail(error, result, system_errno, "'%.400s': %s; nothing was written there", path,
		    system_errno ? strerror(system_errno) : warpspan_result_text(result));
}

/* Every format, also after one that failed; the error is that of the first. *ret_written: those that did not. */
static int export_formats(const struct warpspan_model *model, unsigned formats, const char *base, unsigned *ret_written,
			  struct warpspan_error *error)
{
	int result = WARPSPAN_OK;

	*ret_written = 0;
	for (size_t i = 0; i < sizeof(formats_known) / sizeof(formats_known[0]); i++) {
		struct warpspan_error mine;

		if (!(formats & formats_known[i].bit))
			continue;
		const int one = export_format(model, &formats_known[i], base, &mine);
		if (one >= 0) {
			*ret_written |= formats_known[i].bit;
		} else if (result >= 0) {
			*error = mine;
			result = one;
		}
	}
	return result;
}

int out_export(const struct warpspan_model *model, unsigned formats, const char *base, struct warpspan_error *error)
{
	unsigned written;

	return export_formats(model, formats, base, &written, error);
}

bool out_base_path(const char *capture_path, char *base, size_t bytes)
{
	const size_t suffix = sizeof(CAPTURE_SUFFIX) - 1;
	size_t n = strlen(capture_path);

	if (n > suffix && strcmp(capture_path + n - suffix, CAPTURE_SUFFIX) == 0)
		n -= suffix;
	if (n >= bytes)
		return false;
	memcpy(base, capture_path, n);
	base[n] = '\0';
	return true;
}

static void describe(const struct warpspan_model *model, struct warpspan_exported *ret)
{
	ret->decoded = true;
	ret->n_records = model->n_records;
	for (uint32_t i = 0; i < model->n_launches; i++)
		ret->n_launches += model->launches[i].result == 0;
	/* Those that no call of the host's log stands for: of graphs above all. */
	for (uint32_t i = 0; i < model->n_grids; i++)
		ret->n_launches +=
			model->grids[i].host == WARPSPAN_NONE && model->grids[i].join != WARPSPAN_JOIN_AMBIGUOUS;
}

static int export_capture(const char *capture_path, unsigned formats, FILE *report, struct warpspan_exported *ret,
			  struct warpspan_error *error)
{
	struct warpspan_model *model = NULL;
	char base[PATH_MAX];

	if (!out_base_path(capture_path, base, sizeof(base)))
		return fail(error, WARPSPAN_IO, ENAMETOOLONG, "'%.200s...': %s", capture_path, strerror(ENAMETOOLONG));
	const int loaded = warpspan_model_load(capture_path, &model, error);
	if (loaded < 0)
		return loaded;
	describe(model, ret);
	int result = export_formats(model, formats, base, &ret->formats, error);
	if (report) {
		/* one that is printed into memory goes to stderr in the end */
		const unsigned columns = text_columns(fileno(report) < 0 ? stderr : report);
		const int printed = warpspan_report(model, report, columns);

		if (printed < 0 && result >= 0)
			result = fail(error, printed, 0, "'%.400s': the report: %s", capture_path,
				      warpspan_result_text(printed));
	}
	if (result >= 0) {
		result = loaded;
		error->result = result;
		failures_line(model, error->text, sizeof(error->text));
	}
	warpspan_model_destroy(model);
	return result;
}

int warpspan_export(const char *capture_path, unsigned formats, FILE *report, struct warpspan_exported *ret_exported,
		    struct warpspan_error *error)
{
	const int saved_errno = errno;
	struct warpspan_error mine = { .offset = UINT64_MAX };
	struct warpspan_exported exported = { 0 };
	const int result = export_capture(capture_path, formats, report, &exported, error ? error : &mine);

	if (ret_exported)
		*ret_exported = exported;
	errno = saved_errno;
	return result;
}

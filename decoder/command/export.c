/* SPDX-License-Identifier: Apache-2.0
 *
 * export.c - `warpspan export`.
 */
#include "command.h"
#include "out.h"
#include "text.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define MANY_SLICES 10000000u /* from here on the viewer in the browser needs help */

/* The bit of the format called by the `n` characters at `word`; 0: none is. */
static unsigned format_bit(const char *word, size_t n)
{
#define WARPSPAN_X(name, bit, text, extension)                      \
	if (strlen(text) == n && strncasecmp((text), word, n) == 0) \
		return (bit);
	WARPSPAN_EXPORTS(WARPSPAN_X)
#undef WARPSPAN_X
	return 0;
}

/* A comma list of formats. 0: a word is none; it has been complained about. */
static unsigned parse_formats(const struct command *command, const char *list)
{
	static const char *const names[] = {
#define WARPSPAN_X(name, bit, text, extension) (text),
		WARPSPAN_EXPORTS(WARPSPAN_X)
#undef WARPSPAN_X
	};
	unsigned formats = 0;

	for (;;) {
		const size_t n = strcspn(list, ",");
		const unsigned bit = format_bit(list, n);

		if (bit == 0) {
			char word[64];

			snprintf(word, sizeof(word), "%.*s", (int)(n < 60 ? n : 60), list);
			const char *near = nearest_word(word, names, sizeof(names) / sizeof(names[0]));
			options_mistake(command, "unknown format '%s'%s%s%s", word, near ? "; did you mean '" : "",
					near ? near : "", near ? "'?" : "");
			return 0;
		}
		formats |= bit;
		if (list[n] == '\0')
			return formats;
		list += n + 1;
	}
}

static void tell_files(const struct warpspan_model *model, unsigned formats, const char *base)
{
	char path[PATH_MAX + 16], size[TEXT_NUMBER_BYTES], slices[TEXT_NUMBER_BYTES];
	struct stat about;

#define WARPSPAN_X(name, bit, text, extension)                                                                       \
	if (formats & (bit)) {                                                                                       \
		snprintf(path, sizeof(path), "%s%s", base, extension);                                               \
		printf("%s  %s\n", path, stat(path, &about) == 0 ? text_bytes(size, (uint64_t)about.st_size) : "?"); \
	}
	WARPSPAN_EXPORTS(WARPSPAN_X)
#undef WARPSPAN_X
	printf("%s and %s launch%s; open in https://ui.perfetto.dev (the file stays on this machine)\n",
	       text_counted(slices, model->n_slices, "slice"), text_count(size, model->n_grids),
	       model->n_grids == 1 ? "" : "es");
	if (model->n_slices > MANY_SLICES)
		puts("that is a lot for a browser: `trace_processor server http FILE` beside it serves large traces");
}

int command_export(const struct command *command, int argc, char **argv)
{
	enum { FORMAT, OUT };
	static const struct option_spec specs[] = {
		[FORMAT] = { "format", 'f', "LIST", "comma list of pftrace and json; default: both" },
		[OUT] = { "out", 'o', "BASE", "path of the files less their extensions; default: beside the capture" },
	};
	unsigned formats = 0;
	const char *out = NULL;
	struct options options;
	struct warpspan_error error = { 0 };
	char base[PATH_MAX];
	int status;

	options_init(&options, command, specs, sizeof(specs) / sizeof(specs[0]),
		     "Files are replaced only when complete. Times are those of the device's timer.\n", false, argc,
		     argv);
	for (int option; (option = options_next(&options)) != OPTIONS_END;) {
		if (option == OPTIONS_EXIT)
			return options.exit_status;
		if (option == OUT) {
			out = optarg;
			continue;
		}
		formats = parse_formats(command, optarg);
		if (formats == 0)
			return EXIT_STATUS_USAGE;
	}
	if (formats == 0)
		formats = WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON;
	const char *path = options_capture(&options);
	if (!path)
		return EXIT_STATUS_USAGE;
	if (!out_base_path(out ? out : path, base, sizeof(base)))
		return options_mistake(command, "the path is too long");
	struct warpspan_model *model = load_capture(command, path, &status);
	if (!model)
		return EXIT_STATUS_TROUBLE;
	if (out_export(model, formats, base, &error) < 0) {
		complain(command, "%s", error.text);
		status = EXIT_STATUS_TROUBLE;
	} else {
		tell_files(model, formats, base);
	}
	if (model->n_damage)
		complain(command, "the capture is damaged; `warpspan check %s` tells where", path);
	warpspan_model_destroy(model);
	return finish_output(command, status);
}

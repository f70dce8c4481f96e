/* SPDX-License-Identifier: Apache-2.0
 *
 * report.c - `warpspan report`.
 */
#include "report.h"
#include "command.h"
#include "text.h"

int command_report(const struct command *command, int argc, char **argv)
{
	static const struct option_spec specs[] = {
		{ "json", 'j', NULL, "print JSON, schema warpspan-report/1, for scripts and autotuners" },
	};
	struct options options;
	bool json = false;
	int status;

	options_init(&options, command, specs, sizeof(specs) / sizeof(specs[0]),
		     "count, warps: slices with both ends recorded, and the warps they are of;\n"
		     "median and p99 are of their durations. share: of the time that all warps of\n"
		     "the kernel lived; a region holds what is nested in it, and stands indented\n"
		     "below the region it was first seen in. A capture whose program still runs is\n"
		     "reported as far as it is written. COLUMNS sets the width of the table.\n",
		     false, argc, argv);
	for (int option; (option = options_next(&options)) != OPTIONS_END;) {
		if (option == OPTIONS_EXIT)
			return options.exit_status;
		json = true;
	}
	const char *path = options_capture(&options);
	if (!path)
		return EXIT_STATUS_USAGE;
	struct warpspan_model *model = load_capture(command, path, &status);
	if (!model)
		return EXIT_STATUS_TROUBLE;
	const int result =
		json ? warpspan_report_json(model, stdout) : warpspan_report(model, stdout, text_columns(stdout));
	if (result < 0 && result != WARPSPAN_IO) {
		complain(command, "%s", warpspan_result_text(result));
		status = EXIT_STATUS_TROUBLE;
	}
	warpspan_model_destroy(model);
	return finish_output(command, status);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.c - `warpspan settings`: the table of shim/settings.def, with what the environment says now.
 */
#include "settings.h"
#include "command.h"
#include "text.h"

#define HELP_INDENT 4u

static void complain_about_setting(void *context, const char *text)
{
	bool *wrong = context;

	*wrong = true;
	complain(NULL, "%s", text);
}

int command_settings(const struct command *command, int argc, char **argv)
{
	const unsigned columns = text_columns(stdout);
	struct warpspan_settings settings;
	struct options options;
	bool wrong = false;

	options_init(&options, command, NULL, 0,
		     "Settings are environment variables; `warpspan run` takes each as an option too.\n", false, argc,
		     argv);
	if (options_next(&options) == OPTIONS_EXIT)
		return options.exit_status;
	if (optind < argc)
		return options_mistake(command, "takes no arguments, and got '%s'", argv[optind]);
	struct table *table = table_create("llll");
	table_add(table, "setting");
	table_add(table, "default");
	table_add(table, "range");
	table_add(table, "set to");
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const struct warpspan_setting_info *info = &warpspan_setting_infos[i];
		const char *value = warpspan_setting_get(info);

		table_add(table, info->name);
		table_add(table, info->default_text);
		table_add(table, info->range);
		table_add(table, value ? value : "-");
	}
	const bool fine = table_print(table, stdout, 0, false, columns);
	table_destroy(table);
	if (!fine) {
		complain(command, "out of memory");
		return EXIT_STATUS_TROUBLE;
	}
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		printf("\n%s\n", warpspan_setting_infos[i].name);
		text_paragraph(stdout, HELP_INDENT, HELP_INDENT, columns, warpspan_setting_infos[i].help);
	}
	fflush(stdout);
	warpspan_settings_read(&settings, complain_about_setting, &wrong);
	return finish_output(command, wrong ? EXIT_STATUS_TROUBLE : EXIT_STATUS_OK);
}

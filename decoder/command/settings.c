/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.c - `warpspan settings`: the table of shim/settings.def, with what the environment and the file of settings
 * it names say now.
 */
#include "settings.h"
#include "command.h"
#include "settings_file.h"
#include "text.h"

#include <string.h>

#define HELP_INDENT 4u

static void complain_about_setting(void *context, const char *text)
{
	bool *wrong = context;

	*wrong = true;
	complain(NULL, "%s", text);
}

/* The line of the file that sets each setting; 0: none. */
static void read_file(struct warpspan_settings *settings, uint32_t lines[WARPSPAN_N_SETTINGS])
{
	const char *file = warpspan_setting_get(&warpspan_setting_infos[WARPSPAN_SETTING_INDEX_CONFIG]);

	memset(lines, 0, WARPSPAN_N_SETTINGS * sizeof(lines[0]));
	if (file && *file)
		warpspan_settings_file_read(file, settings, lines, NULL, NULL);
}

static void add_value(struct table *table, unsigned index, const struct warpspan_settings *of_file,
		      const uint32_t lines[WARPSPAN_N_SETTINGS])
{
	const char *value = warpspan_setting_get(&warpspan_setting_infos[index]);
	char text[WARPSPAN_TEXT_BYTES], with_line[WARPSPAN_TEXT_BYTES + 32];

	if (!value || !*value) {
		value = "-";
		if (lines[index] && warpspan_setting_text(of_file, index, text, sizeof(text))) {
			snprintf(with_line, sizeof(with_line), "%s (file, line %u)", text, lines[index]);
			value = with_line;
		}
	}
	table_add(table, value);
}

int command_settings(const struct command *command, int argc, char **argv)
{
	const unsigned columns = text_columns(stdout);
	static struct warpspan_settings settings, of_file;
	uint32_t lines[WARPSPAN_N_SETTINGS];
	struct options options;
	bool wrong = false;

	options_init(&options, command, NULL, 0,
		     "Settings are environment variables; `warpspan run` takes each as an option too, and a\n"
		     "JSON file that WARPSPAN_CONFIG names can hold them.\n",
		     false, argc, argv);
	if (options_next(&options) == OPTIONS_EXIT)
		return options.exit_status;
	if (optind < argc)
		return options_mistake(command, "takes no arguments, and got '%s'", argv[optind]);
	read_file(&of_file, lines);
	struct table *table = table_create("llll");
	table_add(table, "setting");
	table_add(table, "default");
	table_add(table, "range");
	table_add(table, "set to");
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const struct warpspan_setting_info *info = &warpspan_setting_infos[i];

		table_add(table, info->name);
		table_add(table, *info->default_text ? info->default_text : "-");
		table_add(table, info->range);
		add_value(table, i, &of_file, lines);
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

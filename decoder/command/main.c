/* SPDX-License-Identifier: Apache-2.0
 *
 * main.c - the `warpspan` command: finds the subcommand and runs it.
 */
#include "command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct command commands[] = {
#define WARPSPAN_COMMAND(name, arguments, summary) { #name, arguments, summary, command_##name },
#include "commands.def"
#undef WARPSPAN_COMMAND
};
const unsigned n_commands = sizeof(commands) / sizeof(commands[0]);

void complain(const struct command *command, const char *format, ...)
{
	va_list arguments;

	fflush(stdout); /* in order, where both are a terminal */
	fprintf(stderr, "warpspan%s%s: ", command ? " " : "", command ? command->name : "");
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
}

struct warpspan_model *load_capture(const struct command *command, const char *path, int *ret_status)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error = { 0 };
	const int result = warpspan_model_load(path, &model, &error);

	*ret_status = result == WARPSPAN_OK ? EXIT_STATUS_OK : EXIT_STATUS_TROUBLE;
	if (result >= 0)
		return model;
	complain(command, "%s", error.text[0] ? error.text : warpspan_result_text(result));
	return NULL;
}

int finish_output(const struct command *command, int status)
{
	/* of the write that failed on the way, if one did: nothing since then has asked the system for anything */
	int error = ferror(stdout) ? errno : 0;

	if (fflush(stdout) != 0)
		error = errno;
	else if (!ferror(stdout))
		return status;
	if (error != EPIPE)
		complain(command, "writing to standard output: %s", error ? strerror(error) : "failed");
	return EXIT_STATUS_TROUBLE;
}

static int print_help(void)
{
	printf("usage: warpspan COMMAND [OPTION]... [ARGUMENT]...\n"
	       "\n"
	       "Shows where time goes inside a CUDA kernel, warp by warp, in a host program nobody had to change.\n"
	       "\n"
	       "commands:\n");
	for (unsigned i = 0; i < n_commands; i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].summary);
	printf("\n"
	       "`warpspan COMMAND --help` tells more. `warpspan --version` prints the version.\n");
	print_exit_statuses(NULL);
	return finish_output(NULL, EXIT_STATUS_OK);
}

static int unknown_command(const char *name)
{
	const char *names[sizeof(commands) / sizeof(commands[0])];

	for (unsigned i = 0; i < n_commands; i++)
		names[i] = commands[i].name;
	const char *near = nearest_word(name, names, n_commands);
	if (near)
		complain(NULL, "unknown command '%s'; did you mean '%s'?", name, near);
	else
		complain(NULL, "unknown command '%s'; `warpspan --help` lists them", name);
	return EXIT_STATUS_USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		complain(NULL, "a command is missing; `warpspan --help` lists them");
		return EXIT_STATUS_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0)
		return print_help();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		printf("warpspan %s\n", WARPSPAN_RELEASE);
		return finish_output(NULL, EXIT_STATUS_OK);
	}
	for (unsigned i = 0; i < n_commands; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].function(&commands[i], argc - 1, argv + 1);
	if (argv[1][0] == '-') {
		complain(NULL, "unknown option '%s'; `warpspan --help` tells how to use it", argv[1]);
		return EXIT_STATUS_USAGE;
	}
	return unknown_command(argv[1]);
}

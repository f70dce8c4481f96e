/* SPDX-License-Identifier: Apache-2.0
 *
 * options.c - options of the subcommands: getopt_long over one table that also makes the help, and suggestions for what
 * is misspelt.
 */
#include "command.h"
#include "settings.h"

#include <stdarg.h>
#include <string.h>

#define HELP_VALUE      1000
#define VERSION_VALUE   1001
#define SPEC_VALUE      2000 /* + index in specs */
#define MOST_WORD_BYTES 64u
#define HELP_COLUMN     30

void options_init(struct options *options, const struct command *command, const struct option_spec *specs,
		  unsigned n_specs, const char *notes, bool stop_early, int argc, char **argv)
{
	char *shorts = options->shorts;
	unsigned n = 0;

	*options = (struct options){ .command = command,
				     .specs = specs,
				     .n_specs = n_specs < MOST_OPTIONS ? n_specs : MOST_OPTIONS,
				     .notes = notes,
				     .argc = argc,
				     .argv = argv };
	if (stop_early)
		*shorts++ = '+';
	*shorts++ = ':'; /* tells a missing argument from an unknown option */
	*shorts++ = 'h';
	for (; n < options->n_specs; n++) {
		options->longs[n] = (struct option){ .name = specs[n].name,
						     .has_arg = specs[n].argument ? required_argument : no_argument,
						     .val = SPEC_VALUE + (int)n };
		if (!specs[n].letter)
			continue;
		*shorts++ = specs[n].letter;
		if (specs[n].argument)
			*shorts++ = ':';
	}
	options->longs[n++] = (struct option){ .name = "help", .val = HELP_VALUE };
	options->longs[n] = (struct option){ .name = "version", .val = VERSION_VALUE };
	optind = 1;
	opterr = 0;
}

static void print_option(const struct option_spec *spec)
{
	char left[96];
	const char *help = spec->help;

	snprintf(left, sizeof(left), "  %c%c%s --%s%s%s", spec->letter ? '-' : ' ', spec->letter ? spec->letter : ' ',
		 spec->letter ? "," : " ", spec->name, spec->argument ? " " : "", spec->argument ? spec->argument : "");
	if (strlen(left) < HELP_COLUMN - 1)
		printf("%-*s", HELP_COLUMN, left);
	else
		printf("%s\n%*s", left, HELP_COLUMN, "");
	/* the help wraps at 80 columns, under itself */
	for (int at = HELP_COLUMN; *help;) {
		const int n = (int)(strchrnul(help, ' ') - help);

		if (at + 1 + n > 80 && at > HELP_COLUMN) {
			printf("\n%*s", HELP_COLUMN, "");
			at = HELP_COLUMN;
		}
		at += printf("%s%.*s", at > HELP_COLUMN ? " " : "", n, help);
		help += n;
		while (*help == ' ')
			help++;
	}
	putchar('\n');
}

void print_exit_statuses(const struct command *command)
{
	static const struct {
		int number;
		const char *of, *text;
	} statuses[] = {
#define X(name, number, command, text) { number, command, text },
		EXIT_STATUSES(X)
#undef X
	};

	printf("\nexit status:\n");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		const bool of_all = *statuses[i].of == '\0';

		if (of_all || !command || strcmp(command->name, statuses[i].of) == 0)
			printf("  %-4d %s%s%s\n", statuses[i].number, statuses[i].of, of_all ? "" : ": ",
			       statuses[i].text);
	}
}

static int print_help(const struct options *options)
{
	static const struct option_spec common[] = {
		{ "help", 'h', NULL, "print this help" },
		{ "version", 0, NULL, "print the version" },
	};

	printf("usage: warpspan %s %s\n\n%s.\n\noptions:\n", options->command->name, options->command->arguments,
	       options->command->summary);
	for (unsigned i = 0; i < options->n_specs; i++)
		print_option(&options->specs[i]);
	for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
		print_option(&common[i]);
	if (options->notes)
		printf("\n%s", options->notes);
	print_exit_statuses(options->command);
	return finish_output(options->command, EXIT_STATUS_OK);
}

int options_mistake(const struct command *command, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	complain(command, "%s; `warpspan %s --help` tells how to use it", text, command->name);
	return EXIT_STATUS_USAGE;
}

static int unknown_option(const struct options *options)
{
	const char *names[MOST_OPTIONS + 2], *near;
	char word[MOST_WORD_BYTES];
	unsigned n = 0;

	if (optopt != 0 && optopt < HELP_VALUE)
		return options_mistake(options->command, "unknown option '-%c'", optopt);
	const char *given = options->argv[optind - 1];
	for (; options->longs[n].name; n++)
		names[n] = options->longs[n].name;
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(given + 2, "="), given + 2);
	if (optopt != 0) /* a known option with an argument it does not take */
		return options_mistake(options->command, "option '--%s' takes no argument", word);
	near = nearest_word(word, names, n);
	if (near)
		return options_mistake(options->command, "unknown option '--%s'; did you mean '--%s'?", word, near);
	return options_mistake(options->command, "unknown option '--%s'", word);
}

int options_next(struct options *options)
{
	const int value = getopt_long(options->argc, options->argv, options->shorts, options->longs, NULL);

	switch (value) {
	case -1:
		return OPTIONS_END;
	case 'h':
	case HELP_VALUE:
		options->exit_status = print_help(options);
		return OPTIONS_EXIT;
	case VERSION_VALUE:
		printf("warpspan %s\n", WARPSPAN_RELEASE);
		options->exit_status = finish_output(options->command, EXIT_STATUS_OK);
		return OPTIONS_EXIT;
	case ':':
		options->exit_status =
			options_mistake(options->command, "option '%s' needs an argument", options->argv[optind - 1]);
		return OPTIONS_EXIT;
	case '?':
		options->exit_status = unknown_option(options);
		return OPTIONS_EXIT;
	default:
		break;
	}
	if (value >= SPEC_VALUE)
		return value - SPEC_VALUE;
	for (unsigned i = 0; i < options->n_specs; i++)
		if (options->specs[i].letter == value)
			return (int)i;
	options->exit_status = unknown_option(options);
	return OPTIONS_EXIT;
}

const char *options_capture(const struct options *options)
{
	const int n = options->argc - optind;

	if (n == 1)
		return options->argv[optind];
	if (n == 0)
		options_mistake(options->command, "which capture? A file name ending in .wspan is missing");
	else
		options_mistake(options->command, "one capture at a time: '%s' is one too many",
				options->argv[optind + 1]);
	return NULL;
}

const char *nearest_word(const char *word, const char *const *candidates, unsigned n_candidates)
{
	const size_t length = strlen(word);
	const char *best = NULL;
	unsigned least = 1 + (unsigned)(length < MOST_WORD_BYTES ? length : MOST_WORD_BYTES) / 3;

	for (unsigned i = 0; i < n_candidates; i++) {
		if (length >= 2 && strncmp(candidates[i], word, length) == 0)
			return candidates[i];
		const unsigned distance = warpspan_edit_distance(word, candidates[i]);
		if (distance <= least && (!best || distance < least)) {
			best = candidates[i];
			least = distance;
		}
	}
	return best;
}

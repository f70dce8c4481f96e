/* SPDX-License-Identifier: Apache-2.0
 *
 * command.h - what the subcommands of `warpspan` share: their table, option parsing with help, loading, exit statuses.
 *
 * One process, one thread, one subcommand. Messages for people go to stderr as "warpspan NAME: ...".
 */
#ifndef WARPSPAN_COMMAND_H
#define WARPSPAN_COMMAND_H

#include "model.h"

#include <getopt.h>

/* X(NAME, number, the one command that has it or "", text) */
#define EXIT_STATUSES(X)                                                                          \
	X(OK, 0, "", "done, nothing to complain about")                                           \
	X(TROUBLE, 1, "", "damaged or unreadable capture, failed output (check: anything wrong)") \
	X(USAGE, 2, "", "wrong options or arguments")                                             \
	X(CANNOT_START, 125, "run", "the library was not found")                                  \
	X(CANNOT_RUN, 126, "run", "the program cannot be executed or recorded (static, ...)")     \
	X(NOT_FOUND, 127, "run", "the program was not found; else the status is the program's")

enum exit_status {
#define X(name, number, command, text) EXIT_STATUS_##name = number,
	EXIT_STATUSES(X)
#undef X
};

struct command {
	const char *name, *arguments, *summary;
	int (*function)(const struct command *command, int argc, char **argv);
};

/* The subcommands in the order of commands.def. */
extern const struct command commands[];
extern const unsigned n_commands;

#define WARPSPAN_COMMAND(name, arguments, summary) \
	int command_##name(const struct command *command, int argc, char **argv);
#include "commands.def"
#undef WARPSPAN_COMMAND

/* "warpspan NAME: text" on stderr; `command` NULL: "warpspan: text". */
void complain(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- options (options.c) ---------------------------------------------------------------------- */
struct option_spec {
	const char *name;     /* "format": --format */
	char letter;          /* 'f': -f; 0: none */
	const char *argument; /* "LIST"; NULL: takes none */
	const char *help;
};

#define MOST_OPTIONS 24u

struct options {
	const struct command *command;
	const struct option_spec *specs;
	unsigned n_specs;
	const char *notes; /* printed below the options by --help; may be NULL */
	int argc;
	char **argv;
	int exit_status; /* valid after OPTIONS_EXIT */
	struct option longs[MOST_OPTIONS + 3];
	char shorts[2 * MOST_OPTIONS + 8];
};

enum {
	OPTIONS_END = -1,  /* no more; the rest of the arguments starts at optind */
	OPTIONS_EXIT = -2, /* --help, --version or a mistake was dealt with: return exit_status */
};

/* `stop_early`: options end at the first argument that is none (`run`). */
void options_init(struct options *options, const struct command *command, const struct option_spec *specs,
		  unsigned n_specs, const char *notes, bool stop_early, int argc, char **argv);
/* The index of the next option in specs (its argument in optarg), or OPTIONS_END or OPTIONS_EXIT. */
int options_next(struct options *options);
/* The list of exit statuses: those of one command, or (NULL) of all. */
void print_exit_statuses(const struct command *command);
/* A usage mistake, with a pointer to --help. Returns EXIT_STATUS_USAGE. */
int options_mistake(const struct command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The one argument, the capture; NULL after a complaint. */
const char *options_capture(const struct options *options);

/* The candidate nearest to `word`, or NULL when none is near: few edits relative to the length, or a prefix. */
const char *nearest_word(const char *word, const char *const *candidates, unsigned n_candidates);

/* --- captures and output ---------------------------------------------------------------------- */
/* Loads for a subcommand. NULL: it has complained. *ret_status: EXIT_STATUS_OK, or _TROUBLE when damaged. */
struct warpspan_model *load_capture(const struct command *command, const char *path, int *ret_status);
/* Flushes stdout. `status`, or EXIT_STATUS_TROUBLE when output failed: with a complaint, unless the reader has gone. */
int finish_output(const struct command *command, int status);

#endif

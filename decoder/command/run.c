/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c - `warpspan run`: sets the preload and the settings, then becomes the program.
 *
 * Every setting of shim/settings.def is an option. What LD_PRELOAD held stays there, behind our library. The loader
 * says nothing when it cannot preload (static programs, other ELF classes, programs that gain rights), so those are
 * recognised here and refused: a run that silently records nothing is worse than none.
 */
#include "command.h"
#include "settings.h"
#include "settings_file.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIBRARY      "libwarpspan.so"
#define NAME_BYTES   48u
#define HELP_BYTES   512u
#define MOST_HEADERS 4096u /* program headers looked at; real programs have a dozen */

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr elf_header;
typedef Elf64_Phdr elf_program_header;
#define OUR_CLASS ELFCLASS64
#else
typedef Elf32_Ehdr elf_header;
typedef Elf32_Phdr elf_program_header;
#define OUR_CLASS ELFCLASS32
#endif

/* --- options ---------------------------------------------------------------------------------- */

/* A flag that is on is taken off by its option. */
static bool is_on(const struct warpspan_setting_info *info)
{
	return info->type == WARPSPAN_SETTING_FLAG && strcmp(info->default_text, "1") == 0;
}

/* "WARPSPAN_EVENTS_PER_WARP" is --events-per-warp, "WARPSPAN_CTL", which is on, --no-ctl. The first setting with an
 * initial gets it as its letter. */
static void make_spec(const struct warpspan_setting_info *info, char name[NAME_BYTES], char help[HELP_BYTES],
		      struct option_spec *spec, char *letters)
{
	static const char *const arguments[] = {
		[WARPSPAN_SETTING_TEXT] = "TEXT",    [WARPSPAN_SETTING_FORMATS] = "LIST",
		[WARPSPAN_SETTING_BYTES] = "SIZE",   [WARPSPAN_SETTING_COUNT] = "NUMBER",
		[WARPSPAN_SETTING_TIME] = "TIME",    [WARPSPAN_SETTING_FLAG] = NULL,
		[WARPSPAN_SETTING_LEVEL] = "LEVEL",  [WARPSPAN_SETTING_START] = "WHEN",
		[WARPSPAN_SETTING_WINDOW] = "WHICH", [WARPSPAN_SETTING_SIGNAL] = "SIGNAL",
	};

	snprintf(name, NAME_BYTES, "%s%s", is_on(info) ? "no-" : "", info->name + strlen(WARPSPAN_SETTING_PREFIX));
	for (char *c = name; *c; c++)
		*c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
	if (info->type == WARPSPAN_SETTING_FLAG)
		snprintf(help, HELP_BYTES, "%s%s", is_on(info) ? "turns off: " : "", info->help + strlen("1: "));
	else if (info->type == WARPSPAN_SETTING_TEXT)
		snprintf(help, HELP_BYTES, "%s", info->help);
	else
		snprintf(help, HELP_BYTES, "%s (%s)", info->help, info->range);
	*spec = (struct option_spec){ .name = name, .argument = arguments[info->type], .help = help };
	if (!is_on(info) && !strchr(letters, name[0])) {
		spec->letter = name[0];
		letters[strlen(letters)] = name[0];
	}
}

/* --- the file of settings --------------------------------------------------------------------- */

struct complaints {
	const struct command *command;
	unsigned n;
};

static void complain_about_file(void *context, const char *text)
{
	struct complaints *complaints = context;

	complaints->n++;
	complain(complaints->command, "%s", text);
}

/* Refuses a file with mistakes: the program would run with other settings than meant. Makes its path absolute: the
 * program may change its folder before the library reads it. */
static int check_file(const struct command *command)
{
	static struct warpspan_settings unused;
	const struct warpspan_setting_info *info = &warpspan_setting_infos[WARPSPAN_SETTING_INDEX_CONFIG];
	struct complaints complaints = { .command = command };
	const char *file = warpspan_setting_get(info);
	char path[PATH_MAX];

	if (!file || !*file)
		return EXIT_STATUS_OK;
	warpspan_settings_file_read(file, &unused, NULL, complain_about_file, &complaints);
	if (complaints.n)
		return EXIT_STATUS_USAGE;
	if (realpath(file, path) && setenv(info->name, path, 1) != 0) {
		complain(command, "out of memory");
		return EXIT_STATUS_CANNOT_START;
	}
	return EXIT_STATUS_OK;
}

/* --- the library ------------------------------------------------------------------------------ */

/* The library next to this command: in the build folder, or where both were installed. */
static bool find_library(char path[PATH_MAX])
{
	static const char *const places[] = { "../shim", "../" WARPSPAN_LIBDIR, "../lib", "../lib64", "." };
	char self[PATH_MAX], candidate[PATH_MAX + 64];
	const ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		return false;
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(candidate, sizeof(candidate), "%s/%s/" LIBRARY, self, places[i]);
		if (realpath(candidate, path))
			return true;
	}
	return false;
}

/* The path of the library to preload, from `library` or beside this command. */
static int choose_library(const struct command *command, const char *library, char path[PATH_MAX])
{
	if (library ? !realpath(library, path) : !find_library(path)) {
		if (library)
			complain(command, "'%s': %s", library, strerror(errno));
		else
			complain(command, LIBRARY " was not found beside this command; --library tells where it is");
		return EXIT_STATUS_CANNOT_START;
	}
	if (access(path, R_OK) != 0) {
		complain(command, "'%s': %s", path, strerror(errno));
		return EXIT_STATUS_CANNOT_START;
	}
	if (strpbrk(path, " :")) {
		complain(command,
			 "'%s': the loader splits LD_PRELOAD at spaces and colons; put the library where the path has "
			 "none and name it with --library",
			 path);
		return EXIT_STATUS_CANNOT_START;
	}
	return EXIT_STATUS_OK;
}

/* Puts the library before whatever LD_PRELOAD holds. */
static int set_preload(const struct command *command, const char *path)
{
	const char *before = getenv("LD_PRELOAD");
	char *preload = NULL;
	const int length =
		before && *before ? asprintf(&preload, "%s:%s", path, before) : asprintf(&preload, "%s", path);
	if (length < 0 || setenv("LD_PRELOAD", preload, 1) != 0) {
		complain(command, "out of memory");
		if (length >= 0)
			free(preload);
		return EXIT_STATUS_CANNOT_START;
	}
	free(preload);
	return EXIT_STATUS_OK;
}

/* NVTX finds the library by this variable only (shim/nvtx.h). Another tool that the user gave it stays, which the
 * library tells. */
static int set_injection(const struct command *command, const char *path)
{
	static struct warpspan_settings settings;

	warpspan_settings_read(&settings, NULL, NULL);
	if (settings.start.mode != WARPSPAN_START_NVTX || setenv("NVTX_INJECTION64_PATH", path, 0) == 0)
		return EXIT_STATUS_OK;
	complain(command, "out of memory");
	return EXIT_STATUS_CANNOT_START;
}

/* --- the program ------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
	struct stat about;

	return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* Where execvp() will find it. False: nowhere, or not executable; execvp() then says which. */
static bool find_program(const char *name, char path[PATH_MAX])
{
	const char *folders = getenv("PATH");

	if (strchr(name, '/'))
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_program(path);
	if (!folders)
		folders = "/bin:/usr/bin";
	for (;;) {
		const int n = (int)(strchrnul(folders, ':') - folders);

		if (snprintf(path, PATH_MAX, "%.*s%s%s", n, folders, n ? "/" : "", name) < PATH_MAX && is_program(path))
			return true;
		if (folders[n] == '\0')
			return false;
		folders += n + 1;
	}
}

static bool has_interpreter(int fd, const elf_header *header)
{
	const unsigned n = header->e_phnum < MOST_HEADERS ? header->e_phnum : MOST_HEADERS;
	elf_program_header segment;

	for (unsigned i = 0; i < n; i++) {
		const off_t offset = (off_t)(header->e_phoff + (uint64_t)i * header->e_phentsize);

		if (pread(fd, &segment, sizeof(segment), offset) != (ssize_t)sizeof(segment))
			return true; /* not for us to judge: exec will */
		if (segment.p_type == PT_INTERP)
			return true;
	}
	return false;
}

/* Why the loader would not preload into this file; NULL: it would, or it is a script, whose interpreter is asked. */
static const char *cannot_preload(const char *path)
{
	union {
		unsigned char ident[EI_NIDENT];
		elf_header elf;
	} head = { 0 };
	const char *why = NULL;
	struct stat about;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL; /* may be executed and not read: let it be tried */
	const ssize_t n = pread(fd, &head, sizeof(head), 0);
	if (n >= EI_NIDENT && memcmp(head.ident, ELFMAG, SELFMAG) == 0) {
		if (head.ident[EI_CLASS] != OUR_CLASS)
			why = "it is a program of another word size (ELF class) than the library";
		else if (n == (ssize_t)sizeof(head.elf) && !has_interpreter(fd, &head.elf))
			why = "it is statically linked, and the loader preloads into dynamically linked programs only; "
			      "link it without -static (the CUDA runtime itself may be static)";
		else if (geteuid() != 0 && fstat(fd, &about) == 0 &&
			 (((about.st_mode & S_ISUID) && about.st_uid != geteuid()) ||
			  ((about.st_mode & S_ISGID) && about.st_gid != getegid()) ||
			  fgetxattr(fd, "security.capability", NULL, 0) > 0))
			why = "it gains rights when it starts (set-user-id, set-group-id or capabilities), and the "
			      "loader "
			      "then ignores LD_PRELOAD";
	}
	close(fd);
	return why;
}

/* Complains about a program that would run unrecorded. What cannot be found or executed is execvp()'s to tell. */
static int check_program(const struct command *command, const char *name)
{
	const char *why;
	char path[PATH_MAX];

	if (!find_program(name, path))
		return EXIT_STATUS_OK;
	why = cannot_preload(path);
	if (!why)
		return EXIT_STATUS_OK;
	complain(command, "'%s' cannot be recorded: %s", path, why);
	return EXIT_STATUS_CANNOT_RUN;
}

static int become(const struct command *command, char **argv)
{
	execvp(argv[0], argv);
	const int error = errno;

	complain(command, "'%s': %s", argv[0], strerror(error));
	return error == ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_CANNOT_RUN;
}

int command_run(const struct command *command, int argc, char **argv)
{
	static char names[WARPSPAN_N_SETTINGS][NAME_BYTES], helps[WARPSPAN_N_SETTINGS][HELP_BYTES];
	struct option_spec specs[WARPSPAN_N_SETTINGS + 1];
	char letters[WARPSPAN_N_SETTINGS + 2] = "h";
	const char *library = NULL;
	struct options options;
	char path[PATH_MAX];

	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		make_spec(&warpspan_setting_infos[i], names[i], helps[i], &specs[i], letters);
	specs[WARPSPAN_N_SETTINGS] =
		(struct option_spec){ .name = "library",
				      .argument = "FILE",
				      .help = "the " LIBRARY " to preload; default: the one beside this command" };
	options_init(&options, command, specs, WARPSPAN_N_SETTINGS + 1,
		     "Each option sets the environment variable WARPSPAN_... of its name; `warpspan\n"
		     "settings` tells their ranges. The same without this command:\n"
		     "  WARPSPAN_OUT=... LD_PRELOAD=.../" LIBRARY " COMMAND\n",
		     true, argc, argv);
	for (int option; (option = options_next(&options)) != OPTIONS_END;) {
		if (option == OPTIONS_EXIT)
			return options.exit_status;
		if (option == WARPSPAN_N_SETTINGS) {
			library = optarg;
			continue;
		}
		const struct warpspan_setting_info *info = &warpspan_setting_infos[option];
		const char *value = info->type != WARPSPAN_SETTING_FLAG ? optarg : is_on(info) ? "0" : "1";
		if (!warpspan_setting_valid(info, value))
			return options_mistake(command, "--%s '%s' is not within %s", names[option], value,
					       info->range);
		if (setenv(info->name, value, 1) != 0) {
			complain(command, "out of memory");
			return EXIT_STATUS_CANNOT_START;
		}
	}
	if (optind == argc)
		return options_mistake(command, "run what? A command is missing");
	int status = check_file(command);
	if (status == EXIT_STATUS_OK)
		status = check_program(command, argv[optind]);
	if (status == EXIT_STATUS_OK)
		status = choose_library(command, library, path);
	if (status == EXIT_STATUS_OK)
		status = set_preload(command, path);
	if (status == EXIT_STATUS_OK)
		status = set_injection(command, path);
	return status == EXIT_STATUS_OK ? become(command, argv + optind) : status;
}

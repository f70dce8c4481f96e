/* SPDX-License-Identifier: Apache-2.0
 *
 * run_twice.c - runs a whole program on simgpu as it is, and again with the library preloaded.
 *
 * Usage: run_twice NAME PROGRAM LIBRARY
 *
 * The first run has to end with status 0 and the line "NAME: ok". The second must not differ in anything a user sees:
 * status, both outputs, and the folder it runs in, which stays empty. A program that says why it cannot run here
 * (status 77) is skipped. What is in LD_PRELOAD already (a sanitizer) stays in front.
 */
#include "run.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_SKIPPED 77
#define TIMEOUT_S    60

static void show(const char *how, const struct run_result *result)
{
	fprintf(stderr, "%s: exit status %d after %.2f s\n--- stdout\n%s--- stderr\n%s---\n", how, result->exit_status,
		result->seconds, result->out != NULL ? result->out : "", result->err != NULL ? result->err : "");
}

/* The last line of its output says so. */
static bool says_ok(const struct run_result *result, const char *name)
{
	char line[256];
	const int n = snprintf(line, sizeof(line), "%s: ok\n", name);

	if (result->exit_status != 0 || result->out == NULL || result->out_bytes < (size_t)n)
		return false;
	const char *last = result->out + result->out_bytes - n;
	return strcmp(last, line) == 0 && (last == result->out || last[-1] == '\n');
}

static bool same(const struct run_result *a, const struct run_result *b)
{
	return a->exit_status == b->exit_status && a->out != NULL && a->err != NULL && b->out != NULL &&
	       b->err != NULL && a->out_bytes == b->out_bytes && memcmp(a->out, b->out, a->out_bytes) == 0 &&
	       a->err_bytes == b->err_bytes && memcmp(a->err, b->err, a->err_bytes) == 0;
}

/* Removes what is in it, and says what that was. */
static unsigned int empty_folder(const char *path)
{
	unsigned int n = 0;
	DIR *folder = opendir(path);

	if (folder == NULL)
		return 1;
	for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		fprintf(stderr, "left behind: %s\n", entry->d_name);
		unlinkat(dirfd(folder), entry->d_name, 0);
		n++;
	}
	closedir(folder);
	return n;
}

static int run_both(const char *name, const char *program, const char *library, const char *folder)
{
	char preload[8192];
	const char *before = getenv("LD_PRELOAD");
	struct run run = { .arguments = { program }, .folder = folder, .timeout_s = TIMEOUT_S };
	struct run_result plain, preloaded;
	int status = EXIT_FAILURE;

	if (snprintf(preload, sizeof(preload), "LD_PRELOAD=%s%s%s", before != NULL ? before : "",
		     before != NULL ? ":" : "", library) >= (int)sizeof(preload)) {
		fprintf(stderr, "LD_PRELOAD is too long\n");
		return EXIT_FAILURE;
	}
	if (run_program(&run, &plain) == EXIT_SKIPPED) {
		printf("%s", plain.out != NULL ? plain.out : "");
		run_result_finish(&plain);
		return EXIT_SKIPPED;
	}
	const unsigned int n_own_files = empty_folder(folder);
	run.environment[0] = preload;
	run_program(&run, &preloaded);
	if (!says_ok(&plain, name)) {
		show("plain", &plain);
	} else if (n_own_files != 0) {
		fprintf(stderr, "the program leaves files of its own\n");
	} else if (!same(&plain, &preloaded)) {
		show("plain", &plain);
		show("preloaded", &preloaded);
	} else if (empty_folder(folder) == 0) {
		printf("%s: %.2f s, preloaded %.2f s\n", name, plain.seconds, preloaded.seconds);
		status = EXIT_SUCCESS;
	}
	run_result_finish(&plain);
	run_result_finish(&preloaded);
	return status;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/simgpu-program-XXXXXX";

	if (argc != 4) {
		fprintf(stderr, "usage: run_twice NAME PROGRAM LIBRARY\n");
		return 2;
	}
	/* Paths hold in another folder, too. */
	char *program = realpath(argv[2], NULL), *library = realpath(argv[3], NULL);
	if (program == NULL || library == NULL) {
		perror(program == NULL ? argv[2] : argv[3]);
		return EXIT_FAILURE;
	}
	if (mkdtemp(folder) == NULL) {
		perror(folder);
		return EXIT_FAILURE;
	}
	const int status = run_both(argv[1], program, library, folder);
	empty_folder(folder);
	rmdir(folder);
	free(program);
	free(library);
	return status;
}

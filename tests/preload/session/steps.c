/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.c - see steps.h.
 */
#include "steps.h"

#include "decoder.h"
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096

static char preload[PATH_BYTES], path[PATH_BYTES], command[PATH_BYTES];

void steps_init(const char *build_folder)
{
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", build_folder);
	snprintf(path, sizeof(path), "%s/tests/preload/session/steps", build_folder);
	snprintf(command, sizeof(command), "%s/decoder/warpspan", build_folder);
}

const char *steps_preload(void)
{
	return preload;
}

const char *steps_path(void)
{
	return path;
}

const char *steps_command(void)
{
	return command;
}

void steps_run_program(const char *program, const char *const arguments[], const char *const settings[],
		       int exit_status, struct run_result *ret_result)
{
	char out[PATH_BYTES];
	struct run run = {
		.arguments = { program }, .environment = { preload, out }, .folder = folder, .timeout_s = 60
	};

	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%%n", folder);
	for (unsigned i = 0; arguments[i] != NULL && i < RUN_MAX_ARGUMENTS - 2; i++)
		run.arguments[1 + i] = arguments[i];
	for (unsigned i = 0; settings != NULL && settings[i] != NULL; i++)
		run.environment[2 + i] = settings[i];
	run_program(&run, ret_result);
	if (ret_result->exit_status != exit_status)
		fail_msg("'%s %s' exited with %d, not %d:\n%s%s", program, arguments[0], ret_result->exit_status,
			 exit_status, ret_result->out, ret_result->err);
}

void steps_run(const char *steps, const char *const settings[], int exit_status, struct run_result *ret_result)
{
	const char *arguments[RUN_MAX_ARGUMENTS] = { NULL };
	char *words = strdup(steps);
	char *rest = words;
	unsigned n = 0;

	for (char *word; (word = strsep(&rest, " ")) != NULL && n < RUN_MAX_ARGUMENTS - 2;)
		arguments[n++] = word;
	steps_run_program(path, arguments, settings, exit_status, ret_result);
	free(words);
}

unsigned steps_captures(void)
{
	DIR *files = opendir(folder);
	unsigned n = 0;

	assert_non_null(files);
	for (struct dirent *entry; (entry = readdir(files)) != NULL;) {
		const char *dot = strrchr(entry->d_name, '.');

		n += dot != NULL && strcmp(dot, ".wspan") == 0;
	}
	closedir(files);
	return n;
}

struct warpspan_model *steps_load(unsigned session)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;
	char name[32];

	snprintf(name, sizeof(name), "%u.wspan", session);
	if (warpspan_model_load(in_folder(name), &model, &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
	assert_int_equal(model->session, session);
	return model;
}

unsigned steps_grids(const struct warpspan_model *model, const char *kernel)
{
	const size_t length = strlen(kernel);
	unsigned n = 0;

	for (uint32_t i = 0; i < model->n_grids; i++) {
		const char *name = model->kernels[model->grids[i].kernel].demangled;

		n += strncmp(name, kernel, length) == 0 && name[length] == '(';
	}
	return n;
}

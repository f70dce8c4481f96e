/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.h - runs steps.cu under the library, in the test's folder, and reads what it left. One test runs at a time.
 */
#ifndef TESTS_STEPS_H
#define TESTS_STEPS_H

#include "folder.h"
#include "model.h"
#include "run.h"

/* The first argument of the test program: the build folder. */
void steps_init(const char *build_folder);

/* Runs the steps ("start launch:3 stop:5000", separated by blanks) with these settings (at most 6, NULL-terminated or
 * NULL), the captures being folder/SESSION.wspan. Fails the test unless it exits with `exit_status`. The caller frees
 * the result with run_result_finish(). */
void steps_run(const char *steps, const char *const settings[], int exit_status, struct run_result *ret_result);

/* The same for another program, with its arguments (NULL-terminated). */
void steps_run_program(const char *program, const char *const arguments[], const char *const settings[],
		       int exit_status, struct run_result *ret_result);

/* "LD_PRELOAD=..." and the path of steps, for tests that start it themselves. */
const char *steps_preload(void);
const char *steps_path(void);
/* The `warpspan` command. */
const char *steps_command(void);

/* How many captures are in the folder. */
unsigned steps_captures(void);
/* The capture of a session, which must be there and undamaged; the caller destroys it. */
struct warpspan_model *steps_load(unsigned session);
/* Grids of the kernel ("step") in it. */
unsigned steps_grids(const struct warpspan_model *model, const char *kernel);

#endif

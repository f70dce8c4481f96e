/* SPDX-License-Identifier: Apache-2.0
 *
 * run.h - run a program as a user would, and keep what it said.
 */
#ifndef TESTS_RUN_H
#define TESTS_RUN_H

#include <stdbool.h>
#include <stddef.h>

#define RUN_MAX_ARGUMENTS   32
#define RUN_MAX_ENVIRONMENT 16

struct run {
	const char *arguments[RUN_MAX_ARGUMENTS];     /* NULL-terminated; [0] is a path or found on the PATH */
	const char *environment[RUN_MAX_ENVIRONMENT]; /* "NAME=value" set, "NAME" removed; NULL-terminated */
	const char *folder;                           /* working folder; NULL: this one */
	unsigned timeout_s;                           /* 0: 120 */
};

struct run_result {
	int exit_status; /* of exit(); 128 + the signal that ended it; -1: could not be started; -2: took too long */
	char *out, *err; /* everything it wrote there, NUL-terminated */
	size_t out_bytes, err_bytes;
	double seconds;
};

/* Runs to the end, or kills it after the timeout. Returns the exit status; run_result_finish() frees the texts. */
int run_program(const struct run *run, struct run_result *ret_result);
void run_result_finish(struct run_result *result);

#endif

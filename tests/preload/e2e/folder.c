/* SPDX-License-Identifier: Apache-2.0
 *
 * folder.c - see folder.h.
 */
#include "folder.h"

#include "run.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_BYTES 4096

char folder[64];

int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/warpspan-test-XXXXXX");
	return mkdtemp(folder) != NULL ? 0 : -1;
}

int remove_folder(void **state)
{
	struct run_result result;
	run_program(&(struct run){ .arguments = { "rm", "-rf", folder } }, &result);
	run_result_finish(&result);
	return 0;
}

const char *in_folder(const char *name)
{
	static char paths[4][PATH_BYTES];
	static unsigned next;
	char *path = paths[next++ % 4];
	snprintf(path, PATH_BYTES, "%s/%s", folder, name);
	return path;
}

void assert_holds(const char *text, const char *wanted)
{
	if (strstr(text, wanted) == NULL)
		fail_msg("'%s' is not in:\n%s", wanted, text);
}

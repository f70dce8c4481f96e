/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_sanitized.c - a program built with a sanitizer, whose runtime looks functions up through dlsym() before
 * anything else works in the process.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	char *memory = malloc(10);

	if (memory == NULL)
		return 1;
	(void)snprintf(memory, 10, "%d", dlsym(RTLD_DEFAULT, "getpid") != NULL);
	(void)puts(memory);
	free(memory);
	return 6;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * secure.c - preloaded before the library: the environment is not to be trusted, as in a program with privileges.
 */
#include <stdlib.h>

char *secure_getenv(const char *name);

char *secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * demangle.c - uses the compiler's demangler.
 *
 * It is linked from libsupc++.a, hidden, and needs libc only: the process may have no C++ library, or another one.
 */
#include "demangle.h"

#include <stdlib.h>
#include <string.h>

/* Itanium C++ ABI, cxxabi.h: *status is -1 when memory ran out, -2 when the name is not a mangled one. */
char *__cxa_demangle(const char *name, char *buffer, size_t *bytes, int *status);

char *warpspan_demangle(const char *name)
{
	int status = -2;
	char *demangled = NULL;

	if (strncmp(name, "_Z", 2) == 0)
		demangled = __cxa_demangle(name, NULL, NULL, &status);
	return demangled != NULL ? demangled : strdup(name);
}

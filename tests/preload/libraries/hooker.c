/* SPDX-License-Identifier: Apache-2.0
 * Another preloaded library that stands in front of dlsym(), the way game overlays do: by a call. It also looks things
 * up in its constructor, before the program starts. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned n_lookups;
static int found_early;

void *dlsym(void *restrict handle, const char *restrict name)
{
	static void *(*real)(void *, const char *);

	if (real == 0) {
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
		if (real == 0)
			real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
		if (real == 0)
			real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
	}
	if (strcmp(name, "warpspan_test_layer") == 0)
		n_lookups++;
	return real(handle, name);
}

__attribute__((constructor)) static void begin(void)
{
	found_early = dlsym(RTLD_DEFAULT, "getpid") != 0;
}

__attribute__((destructor)) static void end(void)
{
	if (getenv("WARPSPAN_TEST_HOOKER") != 0)
		printf("hooker: early %d, lookups %u\n", found_early, n_lookups);
}

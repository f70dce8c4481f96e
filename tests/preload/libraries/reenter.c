/* SPDX-License-Identifier: Apache-2.0
 * An allocator that is preloaded and looks things up whenever it is called, and in its constructor: what libfaketime
 * and heap profilers do. A lookup that allocates comes back in here; at the end it says how often that was. */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define OWN __attribute__((tls_model("initial-exec")))

void *__libc_malloc(size_t bytes);

static void *names;
static unsigned n_outside, n_inside, n_found;
static __thread int inside OWN;

static void look_up(void)
{
	n_found += dlsym(RTLD_NEXT, "malloc") != NULL;
	n_found += dlsym(RTLD_DEFAULT, "getpid") != NULL;
	n_found += dlvsym(RTLD_DEFAULT, "pthread_create", "GLIBC_2.34") != NULL;
	if (names == NULL)
		return;
	/* One that is hooked in libcuda, one that only looks like it. */
	n_found += dlsym(names, "cuLaunchKernel") != NULL;
	n_found += dlsym(names, "cudnnCreate") != NULL;
}

void *malloc(size_t bytes)
{
	if (inside > 0) {
		n_inside++;
		return __libc_malloc(bytes);
	}
	inside++;
	n_outside++;
	look_up();
	inside--;
	return __libc_malloc(bytes);
}

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("WARPSPAN_TEST_NAMES");

	inside++;
	look_up();
	inside--;
	n_inside = 0;
	names = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

__attribute__((destructor)) static void end(void)
{
	printf("allocations %s, in lookups %u, lookups that found nothing %s\n", n_outside >= 100 ? "many" : "few",
	       n_inside, n_found >= 5 * 100 ? "none" : "some");
}

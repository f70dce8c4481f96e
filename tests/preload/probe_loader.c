/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_loader.c - looks things up in every way a program can and prints what it found. Run with and without the
 * library; both must print the same, and test_loader.c knows what.
 *
 * Linked with mid and low, in that order.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct named {
	const char *name;
	int (*address)(void);
};

int warpspan_test_layer(void);

/* A plugin that finds another one by its RUNPATH. */
static void search(const char *path)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*run)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "warpspan_test_search") : NULL;

	printf("plugin: %d\n", run != NULL ? run() : -2);
}

/* Counts allocations while `counting`: a lookup that succeeds makes none. */
void *__libc_malloc(size_t bytes);
static int counting, n_allocations;

void *malloc(size_t bytes)
{
	n_allocations += counting;
	return __libc_malloc(bytes);
}

static void look_for_names(void *library)
{
	const struct named *names = dlsym(library, "warpspan_test_names");

	for (; names != NULL && names->name != NULL; names++) {
		const void *plain = dlsym(library, names->name);

		printf("%s: %s\n", names->name, plain == (void *)names->address ? "its own" : "not its own");
	}
	printf("cuNothing: %s\n", dlsym(library, "cuNothing") == NULL ? "absent" : "present");
	(void)dlerror();
}

static void check_errors(void *library)
{
	const char *first, *second;

	(void)dlerror();
	(void)dlsym(library, "cuFoo");
	printf("error after success: %s\n", dlerror() != NULL ? "yes" : "no");
	(void)dlsym(library, "cuNotThere");
	first = dlerror();
	printf("error after failure: %s\n", first != NULL && strstr(first, "cuNotThere") != NULL ? "named" : "none");
	second = dlerror();
	printf("error once more: %s\n", second != NULL ? "yes" : "no");
}

static void check_side_effects(void *library)
{
	errno = 77;
	counting = 1;
	(void)dlsym(library, "cuLaunchKernel");
	(void)dlsym(library, "cudnnCreate");
	(void)dlsym(RTLD_DEFAULT, "getpid");
	counting = 0;
	printf("allocations: %d, errno: %d\n", n_allocations, errno);
}

int main(int argc, char **argv)
{
	void *library;
	void *libc;

	if (argc != 3)
		return 2;
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	printf("layers: %d\n", warpspan_test_layer());
	printf("default: %d\n", dlsym(RTLD_DEFAULT, "warpspan_test_layer") == (void *)warpspan_test_layer);
	libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
	printf("handle: %d\n", libc != NULL && dlsym(libc, "getpid") == dlsym(RTLD_DEFAULT, "getpid"));
	printf("version: %d %d\n", dlvsym(libc, "pthread_create", "GLIBC_2.34") != NULL,
	       dlvsym(libc, "pthread_create", "NOT_A_VERSION") != NULL);
	look_for_names(library);
	check_errors(library);
	check_side_effects(library);
	search(argv[2]);
	printf("mid by handle: %d\n", dlsym(RTLD_NEXT, "main") == NULL);
	return 0;
}

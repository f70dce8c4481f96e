/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_late.c DRIVER PLUGIN ROUTE - a program that loads the scripted driver late, with an error of its own pending,
 * and unloads it before it ends: twice. Prints the error as dlerror() gives it after the driver was used, whether
 * libcuda is still there after it was unloaded, and what the launches returned. linked     by way of a library that is
 * linked with it (libraries/late.c) looked up  by dlopen() and dlsym()
 */
#include "fake_driver/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void leave_an_error(void)
{
	(void)dlsym(RTLD_DEFAULT, "warpspan_test_absent");
}

static void print_the_error(void)
{
	const char *text = dlerror();

	printf("pending: %s\n", text != NULL && strstr(text, "warpspan_test_absent") != NULL ? "still" : "lost");
}

static void *open_or_die(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return library;
}

static int run_linked(const char *plugin)
{
	void *library = open_or_die(plugin);
	int (*run)(void) = (int (*)(void))dlsym(library, "warpspan_test_late");
	int result;

	leave_an_error();
	result = run();
	print_the_error();
	(void)dlclose(library);
	return result;
}

static int run_looked_up(const char *driver)
{
	void *library = open_or_die(driver);
	__typeof__(&cuInit) init = (__typeof__(&cuInit))dlsym(library, "cuInit");
	__typeof__(&cuLaunchKernel) launch = (__typeof__(&cuLaunchKernel))dlsym(library, "cuLaunchKernel");
	int parameter = 7;
	void *parameters[] = { &parameter };
	int result;

	leave_an_error();
	result = (int)init(0);
	if (result == 0)
		result = (int)launch(FAKE_FUNCTION(1, 0), 2, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
	print_the_error();
	(void)dlclose(library);
	return result;
}

int main(int argc, char **argv)
{
	const bool linked = argc == 4 && strcmp(argv[3], "linked") == 0;

	if (argc != 4)
		return 2;
	for (int i = 0; i < 2; i++) {
		const int result = linked ? run_linked(argv[2]) : run_looked_up(argv[1]);
		void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

		printf("launch %d, libcuda %s\n", result, driver != NULL ? "stays" : "is gone");
		if (driver != NULL)
			(void)dlclose(driver);
		(void)dlerror();
	}
	return 42;
}

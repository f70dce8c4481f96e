/* SPDX-License-Identifier: Apache-2.0
 *
 * bypass.c PLUGIN RUNTIME - loads the CUDA runtime so that it prefers its own libraries' functions to preloaded ones:
 * its dlsym() is libc's, and what it finds is the driver's own.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *runtime = dlopen(argc == 3 ? argv[2] : "", RTLD_NOW | RTLD_GLOBAL | RTLD_DEEPBIND);
	void *plugin = runtime != NULL && argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*run)(void) = plugin != NULL ? (int (*)(void))dlsym(plugin, "warpspan_test_run") : NULL;

	if (run == NULL) {
		printf("%s\n", dlerror());
		return 1;
	}
	printf("each element %d times\n", run());
	return 42;
}

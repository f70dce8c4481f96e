/* SPDX-License-Identifier: Apache-2.0
 * A library that loads another one by its bare name: found by the RUNPATH of the one that asks, $ORIGIN/libraries/sub.
 */
#include <dlfcn.h>

int warpspan_test_search(void);

int warpspan_test_search(void)
{
	void *library = dlopen("libpreload_found.so", RTLD_NOW | RTLD_LOCAL);
	int (*found)(void) = library != 0 ? (int (*)(void))dlsym(library, "warpspan_test_found") : 0;

	return found != 0 ? found() : -1;
}

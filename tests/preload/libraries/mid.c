/* SPDX-License-Identifier: Apache-2.0
 * A library in front of another, as allocators and tracers are: what RTLD_NEXT means depends on who asks. Built without
 * optimisation, so that the call is a call. */
#include <dlfcn.h>

int warpspan_test_base(void);
int warpspan_test_layer(void);

int warpspan_test_layer(void)
{
	int (*next)(void) = (int (*)(void))dlsym(RTLD_NEXT, "warpspan_test_layer");

	if (next == warpspan_test_layer)
		return -1; /* would call itself for ever */
	return next != 0 ? warpspan_test_base() + next() : -2;
}

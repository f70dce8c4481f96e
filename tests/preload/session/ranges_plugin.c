/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges_plugin.c - a library with a copy of NVTX of its own, in C, as extension modules of Python have it.
 */
#include <nvtx3/nvToolsExt.h>

int plugin_push(const char *text);
int plugin_pop(void);

int plugin_push(const char *text)
{
	return nvtxRangePushA(text);
}

int plugin_pop(void)
{
	return nvtxRangePop();
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_static.c - a program without a dynamic loader: nothing can be preloaded into it.
 */
#include <stdio.h>

int main(void)
{
	(void)puts("ran");
	return 0;
}

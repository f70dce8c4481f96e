/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_reenter.c - allocates, for an allocator that looks things up (libraries/reenter.c).
 */
#include <stdlib.h>

int main(void)
{
	for (int i = 0; i < 1000; i++) {
		void *volatile memory = malloc(16);

		free(memory);
	}
	return 6;
}

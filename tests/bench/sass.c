/* SPDX-License-Identifier: Apache-2.0
 *
 * sass.c FOLDER ARCH... - prints what the device header costs in machine instructions, counted in the cubins of
 * tests/kernels/regions.cu that the build has put into FOLDER.
 */
#include "cubin.h"

#include <stdio.h>
#include <stdlib.h>

#define BODY_INSTRUCTIONS 3 /* of a region's body in regions.cu */

static long n_instructions(const char *folder, const char *arch, int n_regions)
{
	char path[4096];
	struct cubin_text text;
	snprintf(path, sizeof(path), "%s/regions%d_%s.cubin", folder, n_regions, arch);
	if (cubin_read_text(path, "regions", &text) != 0)
		exit(1);
	free(text.bytes);
	return (long)(text.n_bytes / CUBIN_INSTRUCTION_BYTES);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: %s FOLDER ARCH...\n", argv[0]);
		return 2;
	}
	printf("machine instructions, straight-line code   per record   per region   WS_OPEN to its end\n");
	for (int i = 2; i < argc; i++) {
		const long four = n_instructions(argv[1], argv[i], 4), twelve = n_instructions(argv[1], argv[i], 12);
		const double per_region = (double)(twelve - four) / 8 - BODY_INSTRUCTIONS;
		/* A kernel that opens and closes a recorder and does nothing else. */
		const long opened = n_instructions(argv[1], argv[i], 0);
		printf("%-40s %12.2f %12.2f %20ld\n", argv[i], per_region / 2, per_region, opened);
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * replay.c - feeds files to the fuzz target, one by one: the corpus as an ordinary test, or what a fuzzer found.
 *
 *   replay FILE...
 */
#include "fuzz_decoder.h"

#include <stdio.h>
#include <stdlib.h>

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (file == NULL) {
		perror(path);
		return 1;
	}
	size_t n = 0, room = 1 << 16, got;
	uint8_t *bytes = malloc(room);
	while (bytes != NULL && (got = fread(bytes + n, 1, room - n, file)) > 0) {
		n += got;
		if (n == room) {
			uint8_t *grown = realloc(bytes, room *= 2);
			if (grown == NULL)
				free(bytes);
			bytes = grown;
		}
	}
	if (bytes == NULL || ferror(file)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		fclose(file);
		free(bytes);
		return 1;
	}
	fclose(file);
	printf("%s: %zu bytes\n", path, n);
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, n);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;
	if (failed)
		fprintf(stderr, "usage: replay FILE...\n");
	for (int i = 1; i < argc; i++)
		failed |= replay(argv[i]);
	return failed;
}

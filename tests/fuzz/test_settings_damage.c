/* SPDX-License-Identifier: Apache-2.0
 *
 * test_settings_damage.c - a file of settings cut short at every byte, and with every byte replaced by every byte that
 * means something to JSON.
 *
 *   test_settings_damage FILE...
 */
#include "fuzz_decoder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES 4096u

static void damage(const char *path)
{
	static const char meaningful[] = "\"\\{}[]:,0-.eut\n\t \x80\xff"; /* and the NUL behind it */
	uint8_t bytes[MOST_BYTES], copy[MOST_BYTES];
	FILE *file = fopen(path, "rb");
	if (file == NULL) {
		perror(path);
		exit(1);
	}
	const size_t n = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	if (n == 0 || n == sizeof(bytes)) {
		fprintf(stderr, "%s: empty, or %u bytes and more\n", path, MOST_BYTES);
		exit(1);
	}
	for (size_t i = 0; i <= n; i++)
		LLVMFuzzerTestOneInput(bytes, i);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(meaningful); k++) {
			memcpy(copy, bytes, n);
			copy[i] = (uint8_t)meaningful[k];
			LLVMFuzzerTestOneInput(copy, n);
		}
	printf("%s: %zu bytes, damaged in %zu ways\n", path, n, n + 1 + n * sizeof(meaningful));
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: test_settings_damage FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++)
		damage(argv[i]);
	return 0;
}

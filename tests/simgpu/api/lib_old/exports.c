/* SPDX-License-Identifier: Apache-2.0
 *
 * exports.c - prints a linker's version script with the symbols a driver of the given version has:  exports 11080
 */
#include <stdio.h>
#include <stdlib.h>

static void print(const char *symbol, const char *suffix, int since, int version)
{
	if (since <= version)
		printf("\t%s%s;\n", symbol, suffix);
}

int main(int argc, char **argv)
{
	int version = argc == 2 ? atoi(argv[1]) : 0;

	if (version == 0) {
		fprintf(stderr, "usage: exports VERSION\n");
		return 2;
	}
	printf("{\nglobal:\n");
#define TWIN_NONE(symbol, since)
#define TWIN_PTSZ(symbol, since)                           print(symbol, "_ptsz", since, version);
#define TWIN_PTDS(symbol, since)                           print(symbol, "_ptds", since, version);
#define DRIVER(symbol, since, gate, streams, params, args) UNSUPPORTED(symbol, since, streams)
#define UNSUPPORTED(symbol, since, streams) \
	print(#symbol, "", since, version); \
	TWIN_##streams(#symbol, since)
#include "driver.def"
	printf("local:\n\t*;\n};\n");
	return 0;
}

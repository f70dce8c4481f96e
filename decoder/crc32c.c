/* SPDX-License-Identifier: Apache-2.0
 *
 * crc32c.c - CRC-32C, eight bytes a step ("slicing by 8"): about 2 GB/s without any instruction of its own.
 *
 * The tables are built once, by whichever thread comes first.
 */
#include "crc32c.h"

#include <pthread.h>
#include <string.h>

#define POLYNOMIAL 0x82f63b78u /* Castagnoli, bits reversed */
#define N_SLICES   8

static uint32_t tables[N_SLICES][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void build_tables(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
		tables[0][byte] = crc;
	}
	for (int slice = 1; slice < N_SLICES; slice++)
		for (uint32_t byte = 0; byte < 256; byte++) {
			const uint32_t before = tables[slice - 1][byte];
			tables[slice][byte] = (before >> 8) ^ tables[0][before & 0xff];
		}
}

uint32_t crc32c(uint32_t crc, const void *data, size_t bytes)
{
	const unsigned char *at = data;
	pthread_once(&tables_once, build_tables);
	crc = ~crc;
	for (; bytes >= 8; bytes -= 8, at += 8) {
		uint32_t low, high;
		memcpy(&low, at, 4);
		memcpy(&high, at + 4, 4);
		low ^= crc;
		crc = tables[7][low & 0xff] ^ tables[6][low >> 8 & 0xff] ^ tables[5][low >> 16 & 0xff] ^
		      tables[4][low >> 24] ^ tables[3][high & 0xff] ^ tables[2][high >> 8 & 0xff] ^
		      tables[1][high >> 16 & 0xff] ^ tables[0][high >> 24];
	}
	for (; bytes > 0; bytes--, at++)
		crc = (crc >> 8) ^ tables[0][(crc ^ *at) & 0xff];
	return ~crc;
}

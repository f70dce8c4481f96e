/* SPDX-License-Identifier: Apache-2.0
 *
 * cubin.c - see cubin.h. Cubins are files our own build made moments ago, so they are read with the checks that keep a
 * truncated file from crashing the reader, and no more.
 */
#include "cubin.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOP_OPCODE      0x918u
#define OPCODE_MASK     0xfffu
#define CUBIN_MAX_BYTES (64u << 20)

static uint8_t *read_file(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = NULL;
	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0) {
		const long size = ftell(file);
		rewind(file);
		if (size > 0 && (unsigned long)size <= CUBIN_MAX_BYTES)
			bytes = malloc((size_t)size);
		if (bytes != NULL && fread(bytes, 1, (size_t)size, file) != (size_t)size) {
			free(bytes);
			bytes = NULL;
		}
		*ret_bytes = (size_t)size;
	}
	fclose(file);
	return bytes;
}

static size_t without_trailing_nops(const uint8_t *text, size_t n_bytes)
{
	while (n_bytes >= CUBIN_INSTRUCTION_BYTES) {
		uint16_t word;
		memcpy(&word, text + n_bytes - CUBIN_INSTRUCTION_BYTES, sizeof(word));
		if ((word & OPCODE_MASK) != NOP_OPCODE)
			break;
		n_bytes -= CUBIN_INSTRUCTION_BYTES;
	}
	return n_bytes;
}

static int find_text(const uint8_t *image, size_t n_bytes, const char *kernel, struct cubin_text *ret_text)
{
	Elf64_Ehdr header;
	char wanted[256];
	snprintf(wanted, sizeof(wanted), ".text.%s", kernel);
	if (n_bytes < sizeof(header))
		return -1;
	memcpy(&header, image, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr) ||
	    header.e_shoff > n_bytes || (n_bytes - header.e_shoff) / sizeof(Elf64_Shdr) < header.e_shnum ||
	    header.e_shstrndx >= header.e_shnum)
		return -1;
	Elf64_Shdr names, section;
	memcpy(&names, image + header.e_shoff + header.e_shstrndx * sizeof(names), sizeof(names));
	for (unsigned i = 0; i < header.e_shnum; i++) {
		memcpy(&section, image + header.e_shoff + i * sizeof(section), sizeof(section));
		const size_t name_at = names.sh_offset + section.sh_name;
		if (name_at + strlen(wanted) + 1 > n_bytes || strcmp((const char *)image + name_at, wanted) != 0)
			continue;
		if (section.sh_offset > n_bytes || section.sh_size > n_bytes - section.sh_offset)
			return -1;
		const size_t size = without_trailing_nops(image + section.sh_offset, section.sh_size);
		ret_text->bytes = malloc(size + 1);
		if (ret_text->bytes == NULL)
			return -1;
		memcpy(ret_text->bytes, image + section.sh_offset, size);
		ret_text->n_bytes = size;
		return 0;
	}
	return -1;
}

int cubin_read_text(const char *path, const char *kernel, struct cubin_text *ret_text)
{
	size_t n_bytes = 0;
	uint8_t *image = read_file(path, &n_bytes);
	if (image == NULL) {
		fprintf(stderr, "'%s': cannot be read\n", path);
		return -1;
	}
	const int result = find_text(image, n_bytes, kernel, ret_text);
	if (result != 0)
		fprintf(stderr, "'%s': no section .text.%s (%zu bytes)\n", path, kernel, n_bytes);
	free(image);
	return result;
}

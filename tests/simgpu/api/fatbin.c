/* SPDX-License-Identifier: Apache-2.0
 *
 * fatbin.c - the layout of fat binaries, as nvcc 12 and 13 write them, and the choice of a PTX image.
 *
 *   wrapper    { u32 magic, u32 version, container *, version 2: container *prelinked[], NULL at the end }
 *   container  { u32 magic, u16 version, u16 header bytes, u64 bytes of all entries } entries
 *   entry      { u16 kind, u16 version, u32 header bytes, u64 payload bytes, ... } payload
 *
 * A payload may be compressed: flag 0x2000 LZ4 block, 0x8000 zstd frame; plain otherwise. The stored size is
 * padded, the compressed one exact. Version 2 wraps device-linked code, whose PTX is in the prelinked containers.
 *
 * The bytes may be anything: every access is checked against the container's bounds. Callable from any thread.
 */
#include "fatbin.h"

#include "lz4.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum {
	WRAPPER_MAGIC = 0x466243B1,
	WRAPPER_VERSION_LINKED = 2,
	CONTAINER_HEADER_BYTES = 16,
	ENTRY_HEADER_BYTES = 64,
	KIND_PTX = 1,
	MAX_PTX_BYTES = 1 << 30, /* more is damage, not a program */
};
#define CONTAINER_MAGIC UINT32_C(0xBA55ED50)

enum {
	FLAG_LZ4 = 0x2000,
	FLAG_ZSTD = 0x8000,
	FLAG_ARCH_SPECIFIC = 0x100000,   /* compute_90a: this capability only */
	FLAG_FAMILY_SPECIFIC = 0x200000, /* compute_100f: this major version only */
};

struct wrapper {
	uint32_t magic, version;
	const void *container;
	const void *const *prelinked;
};

struct container_header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t entries_bytes;
};

struct entry_header {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t stored_bytes;
	uint32_t compressed_bytes;
	uint32_t options_offset;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name_offset, name_bytes;
	uint64_t flags;
	uint64_t reserved;
	uint64_t plain_bytes;
};

_Static_assert(sizeof(struct container_header) == CONTAINER_HEADER_BYTES, "as nvcc writes it");
_Static_assert(sizeof(struct entry_header) == ENTRY_HEADER_BYTES, "as nvcc writes it");

/* An image worth taking, inside the container. */
struct choice {
	struct entry_header header;
	const uint8_t *payload;
	bool has_ptx, is_chosen;
};

/* As text: images of a few bytes, NUL included, are never read past their end. */
bool fatbin_is_wrapper(const void *image)
{
	return strncmp(image, "\xB1\x43\x62\x46", 4) == 0;
}

bool fatbin_is_container(const void *image)
{
	return strncmp(image, "\x50\xED\x55\xBA", 4) == 0;
}

size_t fatbin_container_bytes(const void *data)
{
	struct container_header header;

	memcpy(&header, data, sizeof(header));
	if (header.magic != CONTAINER_MAGIC || header.entries_bytes > SIZE_MAX - header.header_bytes)
		return 0;
	return header.header_bytes + (size_t)header.entries_bytes;
}

static bool is_acceptable(const struct entry_header *header, uint32_t cc)
{
	if (header->flags & FLAG_ARCH_SPECIFIC)
		return header->arch == cc;
	if (header->flags & FLAG_FAMILY_SPECIFIC)
		return header->arch <= cc && header->arch / 10 == cc / 10;
	return header->arch <= cc;
}

/* Arch-specific PTX may use more of the device, so it wins over plain PTX of the same number. */
static bool is_better(const struct entry_header *header, const struct choice *choice)
{
	if (!choice->is_chosen || header->arch != choice->header.arch)
		return !choice->is_chosen || header->arch > choice->header.arch;
	return (header->flags & FLAG_ARCH_SPECIFIC) > (choice->header.flags & FLAG_ARCH_SPECIFIC);
}

/* Steps over the entries and remembers the best one; false when a bound is broken. */
static bool entries_scan(const uint8_t *at, size_t left, uint32_t cc, struct choice *choice)
{
	while (left >= ENTRY_HEADER_BYTES) {
		struct entry_header header;

		memcpy(&header, at, sizeof(header));
		if (header.header_bytes < ENTRY_HEADER_BYTES || header.header_bytes > left ||
		    header.stored_bytes > left - header.header_bytes)
			return false;
		if (header.kind == KIND_PTX) {
			choice->has_ptx = true;
			if (is_acceptable(&header, cc) && is_better(&header, choice)) {
				choice->header = header;
				choice->payload = at + header.header_bytes;
				choice->is_chosen = true;
			}
		}
		at += header.header_bytes + header.stored_bytes;
		left -= header.header_bytes + (size_t)header.stored_bytes;
	}
	return left == 0;
}

static enum fatbin_status unpack(const struct choice *choice, struct fatbin_ptx *ret_ptx)
{
	const struct entry_header *header = &choice->header;
	bool is_packed = header->flags & (FLAG_LZ4 | FLAG_ZSTD);
	uint64_t bytes = is_packed ? header->plain_bytes : header->stored_bytes;
	uint64_t packed_bytes = header->compressed_bytes;
	bool is_good;
	char *text;

	if (bytes > MAX_PTX_BYTES || (is_packed && packed_bytes > header->stored_bytes))
		return FATBIN_CORRUPT;
	text = malloc((size_t)bytes + 1);
	if (!text)
		return FATBIN_NO_MEMORY;
	if (header->flags & FLAG_ZSTD) {
		is_good = ZSTD_decompress(text, (size_t)bytes, choice->payload, (size_t)packed_bytes) == bytes;
	} else if (header->flags & FLAG_LZ4) {
		is_good = lz4_decode(choice->payload, (size_t)packed_bytes, text, (size_t)bytes);
	} else {
		memcpy(text, choice->payload, (size_t)bytes);
		is_good = true;
	}
	if (!is_good) {
		free(text);
		return FATBIN_CORRUPT;
	}
	text[bytes] = '\0';
	*ret_ptx = (struct fatbin_ptx){ .text = text, .bytes = strlen(text), .arch = header->arch };
	return FATBIN_OK;
}

enum fatbin_status fatbin_container_ptx(const void *data, size_t bytes, uint32_t cc, struct fatbin_ptx *ret_ptx)
{
	struct container_header header;
	struct choice choice = { .is_chosen = false };

	if (bytes < CONTAINER_HEADER_BYTES)
		return FATBIN_CORRUPT;
	memcpy(&header, data, sizeof(header));
	if (header.magic != CONTAINER_MAGIC || header.header_bytes < CONTAINER_HEADER_BYTES ||
	    header.header_bytes > bytes || header.entries_bytes > bytes - header.header_bytes)
		return FATBIN_CORRUPT;
	if (!entries_scan((const uint8_t *)data + header.header_bytes, (size_t)header.entries_bytes, cc, &choice))
		return FATBIN_CORRUPT;
	if (!choice.is_chosen)
		return choice.has_ptx ? FATBIN_PTX_TOO_NEW : FATBIN_NO_PTX;
	return unpack(&choice, ret_ptx);
}

void fatbin_units_free(struct fatbin_ptx *units, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(units[i].text);
	free(units);
}

/* Takes the text over. */
static bool units_add(struct fatbin_ptx **units, size_t *n, struct fatbin_ptx ptx)
{
	struct fatbin_ptx *more = realloc(*units, (*n + 1) * sizeof(*more));

	if (!more) {
		free(ptx.text);
		return false;
	}
	*units = more;
	more[(*n)++] = ptx;
	return true;
}

/* Of the containers that went into a device link, those with PTX for this device. One without is nvcc's own (the
 * device-side runtime: machine code, and PTX for new devices) and is not called by code that runs here. */
static enum fatbin_status prelinked_ptx(const void *const *prelinked, uint32_t cc, struct fatbin_ptx **ret_units,
					size_t *ret_n)
{
	enum fatbin_status none = FATBIN_NO_PTX;
	struct fatbin_ptx *units = NULL;
	size_t n = 0;

	for (; *prelinked; prelinked++) {
		struct fatbin_ptx ptx = { .text = NULL };
		enum fatbin_status status =
			fatbin_container_ptx(*prelinked, fatbin_container_bytes(*prelinked), cc, &ptx);

		if (status == FATBIN_OK && !units_add(&units, &n, ptx))
			status = FATBIN_NO_MEMORY;
		if (status == FATBIN_PTX_TOO_NEW) {
			none = status;
		} else if (status != FATBIN_OK && status != FATBIN_NO_PTX) {
			fatbin_units_free(units, n);
			return status;
		}
	}
	if (n == 0)
		return none;
	*ret_units = units;
	*ret_n = n;
	return FATBIN_OK;
}

enum fatbin_status fatbin_wrapper_ptx(const void *data, uint32_t cc, struct fatbin_ptx **ret_units, size_t *ret_n)
{
	struct fatbin_ptx ptx = { .text = NULL };
	struct wrapper wrapper;
	enum fatbin_status status;

	memcpy(&wrapper, data, sizeof(wrapper));
	if (wrapper.magic != WRAPPER_MAGIC || !wrapper.container)
		return FATBIN_CORRUPT;
	status = fatbin_container_ptx(wrapper.container, fatbin_container_bytes(wrapper.container), cc, &ptx);
	if (status == FATBIN_NO_PTX && wrapper.version == WRAPPER_VERSION_LINKED && wrapper.prelinked)
		return prelinked_ptx(wrapper.prelinked, cc, ret_units, ret_n);
	if (status != FATBIN_OK)
		return status;
	*ret_units = NULL;
	*ret_n = 0;
	return units_add(ret_units, ret_n, ptx) ? FATBIN_OK : FATBIN_NO_MEMORY;
}

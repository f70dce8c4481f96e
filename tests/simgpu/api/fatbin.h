/* SPDX-License-Identifier: Apache-2.0
 *
 * fatbin.h - finds the PTX in what nvcc embeds: a wrapper that points to a container of images.
 */
#ifndef SIMGPU_FATBIN_H
#define SIMGPU_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fatbin_status {
	FATBIN_OK,
	FATBIN_CORRUPT,
	FATBIN_NO_PTX,      /* no PTX image at all */
	FATBIN_PTX_TOO_NEW, /* PTX, but for newer devices or another family only */
	FATBIN_NO_MEMORY,
};

struct fatbin_ptx {
	char *text;    /* owned, NUL-terminated; free() it */
	size_t bytes;  /* without the NUL */
	uint32_t arch; /* 80, 90, ... */
};

/* Do the bytes start a wrapper, a container? */
bool fatbin_is_wrapper(const void *image);
bool fatbin_is_container(const void *image);

/* The newest PTX that a device of capability `cc` (major * 10 + minor) accepts. `bytes` bounds every access.
 * Callable from any thread. */
enum fatbin_status fatbin_container_ptx(const void *data, size_t bytes, uint32_t cc, struct fatbin_ptx *ret_ptx);

/* The same for a wrapper in this process's memory, whose container states its own size: one text, or one for each
 * translation unit of a program with relocatable code. The caller frees the array and each text. */
enum fatbin_status fatbin_wrapper_ptx(const void *wrapper, uint32_t cc, struct fatbin_ptx **ret_units, size_t *ret_n);
void fatbin_units_free(struct fatbin_ptx *units, size_t n);

/* For containers without a known bound: what the header says, 0 if it is none. */
size_t fatbin_container_bytes(const void *data);

#endif

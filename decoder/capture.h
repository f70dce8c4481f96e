/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.h - a raw capture in memory, cut into chunks whose checksums hold.
 */
#ifndef WARPSPAN_CAPTURE_H
#define WARPSPAN_CAPTURE_H

#include "result.h"

struct capture_chunk {
	uint32_t type; /* enum warpspan_chunk_type, or one this version does not know */
	uint32_t sequence;
	uint32_t payload_bytes;
	uint64_t offset;        /* of the chunk's header in the file */
	const uint8_t *payload; /* not aligned: a file that lost bytes is read, too */
};

struct capture {
	char *path;
	uint8_t *bytes;
	uint64_t n_bytes;
	ARRAY(struct capture_chunk) chunks; /* the good ones, in file order, END included */
	bool complete;                      /* the writer closed the file */
	struct warpspan_end end;            /* where complete */
	struct damage damage;
};

/* Reads the file as long as it is now; one that is still being written is fine. WARPSPAN_OK or WARPSPAN_DAMAGED (see
 * damage): the caller owns *ret_capture. */
int capture_open(const char *path, struct capture **ret_capture, struct warpspan_error *error);
/* The same from memory, which is copied; `path` is what messages call it. */
int capture_from_bytes(const char *path, const void *bytes, size_t n_bytes, struct capture **ret_capture,
		       struct warpspan_error *error);
/* Returns NULL; NULL is fine. */
struct capture *capture_close(struct capture *capture);

/* "segments", or "unknown". */
const char *capture_chunk_type_text(uint32_t type);

#endif

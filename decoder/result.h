/* SPDX-License-Identifier: Apache-2.0
 *
 * result.h - filling a warpspan_error, and the list of damaged places a decoder keeps while it goes on.
 */
#ifndef WARPSPAN_RESULT_H
#define WARPSPAN_RESULT_H

#include "array.h"
#include "decoder.h"

#define WARPSPAN_NO_OFFSET UINT64_MAX

/* More places than this are not listed one by one: the last entry says so. */
#define WARPSPAN_DAMAGE_LIMIT 1000

struct damage {
	ARRAY(struct warpspan_error) places;
	bool truncated;
};

/* Fills *error (NULL is fine) and returns `result`, so that a function can say why and leave in one statement. */
int error_set(struct warpspan_error *error, int result, int system_errno, uint64_t offset, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
int error_no_memory(struct warpspan_error *error);

/* Notes a damaged place at byte `offset` of the capture. WARPSPAN_OK or WARPSPAN_NO_MEMORY. */
int damage_add(struct damage *damage, uint64_t offset, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* File order; places without an offset come last. */
void damage_sort(struct damage *damage);
void damage_finish(struct damage *damage);

#endif

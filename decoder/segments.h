/* SPDX-License-Identifier: Apache-2.0
 *
 * segments.h - the index of segments, and reading the records of one with their cycle counts unwrapped.
 */
#ifndef WARPSPAN_SEGMENTS_H
#define WARPSPAN_SEGMENTS_H

#include "capture.h"

struct segment {
	struct warpspan_segment head;
	const uint8_t *words; /* in the capture, not aligned */
	uint32_t n_words;     /* of them; of an open segment: those written so far */
	uint32_t n_records;   /* in them */
	uint32_t context;
	uint32_t device;     /* index; by model.c */
	uint32_t grid;       /* index; by launches.c */
	uint32_t lane;       /* by spans.c: among the segments of its warp that overlap */
	bool backwards;      /* some records lie before their predecessors: see record_next() */
	uint64_t offset;     /* in the file */
	uint64_t n_lost;     /* records made that are not here */
	uint64_t last_clock; /* cycles: at close, or of the last record */
	/* By clock.c: ns since the base of the device's clock, at open; ns per cycle. */
	double start, period;
	uint64_t start_ns, end_ns; /* of open and close; what is open is open until the latest time of its device */
};

struct segments {
	ARRAY(struct segment) all;
	uint64_t n_records, n_lost;
	uint64_t n_wraps_unplaced;
	uint64_t n_clamped; /* segments with records whose counter ran backwards */
};

/* Adds what a SEGMENTS chunk holds. Segments whose header makes no sense are noted as damage and left out. */
int segments_add_chunk(struct segments *segments, const struct capture_chunk *chunk, const char *path,
		       struct damage *damage);
void segments_finish(struct segments *segments);

static inline bool segment_is_open(const struct segment *segment)
{
	return segment->head.state == WARPSPAN_SEGMENT_OPEN;
}

struct record {
	uint32_t site;  /* low word of the address */
	uint32_t kind;  /* enum warpspan_record_kind, or a number that is none */
	uint32_t bits;  /* of VALUE_* */
	uint64_t clock; /* cycles, 64 bits */
};

struct record_cursor {
	const struct segment *segment;
	uint32_t word;
	uint64_t clock;
};

struct record_cursor record_cursor_start(const struct segment *segment);
/* The next record; false at the end. A VALUE whose payload found no room is not there. The clock never runs backwards
 * and never past the close: times are the least the 32-bit counters allow. */
bool record_next(struct record_cursor *cursor, struct record *ret_record);

#endif

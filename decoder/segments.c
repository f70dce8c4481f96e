/* SPDX-License-Identifier: Apache-2.0
 *
 * segments.c - reads SEGMENTS chunks: checks each header against itself and unwraps the cycle counters.
 *
 * A record holds the low word of the SM's cycle counter; open and close hold all of it. Records of a warp are in order,
 * so each lies less than one turn (2^32 cycles, some two seconds) after its predecessor, unless a gap was longer than a
 * turn. The counter at close tells how many turns are missing in sum. A segment without records has one gap, and the
 * turns are in it. Otherwise their place is not known: records keep the least time they can have, the turns come to lie
 * before the close, and are counted (n_wraps_unplaced).
 */
#include "segments.h"

#define HALF_TURN (1u << 31)

static uint32_t payload_words(uint32_t kind)
{
	switch (kind) {
#define WARPSPAN_X(name, number, payload, text) \
	case WARPSPAN_KIND_##name:              \
		return payload;
		WARPSPAN_RECORD_KINDS(WARPSPAN_X)
#undef WARPSPAN_X
	}
	return 0;
}

static struct warpspan_record word_at(const struct segment *segment, uint32_t word)
{
	struct warpspan_record record;
	memcpy(&record, segment->words + (size_t)word * WARPSPAN_WORD_BYTES, sizeof(record));
	return record;
}

struct record_cursor record_cursor_start(const struct segment *segment)
{
	return (struct record_cursor){ .segment = segment, .clock = segment->head.open_clock };
}

bool record_next(struct record_cursor *cursor, struct record *ret_record)
{
	const struct segment *segment = cursor->segment;
	if (cursor->word >= segment->n_words)
		return false;
	const struct warpspan_record word = word_at(segment, cursor->word);
	const uint32_t kind = word.tag & WARPSPAN_KIND_MASK;
	const uint32_t payload = payload_words(kind);
	if (segment->n_words - cursor->word <= payload)
		return false;
	uint32_t step = word.clock - (uint32_t)cursor->clock;
	if (segment->backwards) {
		if (step >= HALF_TURN)
			step = 0;
		if (cursor->clock + step > segment->last_clock)
			step = (uint32_t)(segment->last_clock - cursor->clock);
	}
	cursor->clock += step;
	ret_record->site = word.tag & ~WARPSPAN_KIND_MASK;
	ret_record->kind = kind;
	ret_record->bits = payload > 0 ? word_at(segment, cursor->word + 1).tag : 0;
	ret_record->clock = cursor->clock;
	cursor->word += 1 + payload;
	return true;
}

/* What is wrong with a header, or NULL. */
static const char *header_fault(const struct warpspan_segment *head)
{
	if (head->magic != WARPSPAN_SEGMENT_MAGIC)
		return "no segment magic";
	if (head->state != WARPSPAN_SEGMENT_OPEN && head->state != WARPSPAN_SEGMENT_CLOSED)
		return "neither open nor closed";
	if (head->segment_bytes < sizeof(*head) || head->segment_bytes % WARPSPAN_SEGMENT_ALIGNMENT != 0)
		return "a size no segment can have";
	if (head->block_x >= head->grid_x || head->block_y >= head->grid_y || head->block_z >= head->grid_z)
		return "a block outside of its grid";
	const uint32_t threads = (uint32_t)head->threads_x * head->threads_y * head->threads_z;
	if (head->threads_x > 1024 || head->threads_y > 1024 || head->threads_z > 1024 || threads == 0 ||
	    threads > 1024)
		return "block dimensions no launch can have";
	if (head->warp >= (threads + 31) / 32 || head->lane >= 32)
		return "a warp outside of its block";
	if (head->state == WARPSPAN_SEGMENT_CLOSED && head->close_clock < head->open_clock)
		return "closed before it was opened";
	if (head->state == WARPSPAN_SEGMENT_CLOSED && head->words < head->records)
		return "more records than words";
	return NULL;
}

/* Of an open segment: how far it was written. */
static uint32_t written_words(const struct segment *segment)
{
	uint32_t word = 0;
	while (word < segment->n_words) {
		const uint32_t tag = word_at(segment, word).tag;
		if (tag == 0)
			return word;
		word += 1 + payload_words(tag & WARPSPAN_KIND_MASK);
	}
	return segment->n_words;
}

/* Walks the records once: counts them and finds the last clock. */
static void walk(struct segments *segments, struct segment *segment)
{
	struct record_cursor cursor = record_cursor_start(segment);
	struct record record;
	while (record_next(&cursor, &record))
		segment->n_records++;
	segment->last_clock = cursor.clock;
	if (segment_is_open(segment))
		return;
	segment->last_clock = segment->head.close_clock;
	if (cursor.clock > segment->last_clock) {
		segment->backwards = true;
		segments->n_clamped++;
	} else if (segment->n_records > 0) {
		segments->n_wraps_unplaced += (segment->last_clock - cursor.clock) >> 32;
	}
}

/* Compares a closed segment with what its header claims. */
static int check_counts(struct segment *segment, uint32_t room, const char *path, struct damage *damage)
{
	const struct warpspan_segment *head = &segment->head;
	const uint32_t expected = head->words < room ? head->words : room;
	const bool all_here = head->words <= room;
	if (head->records > segment->n_records)
		segment->n_lost = head->records - segment->n_records;
	if (segment->n_words == expected && segment->n_records <= head->records &&
	    (!all_here || segment->n_records == head->records))
		return WARPSPAN_OK;
	return damage_add(
		damage, segment->offset,
		"'%.200s': the segment at byte %llu counts %u records in %u words; %u records in %u words are here",
		path, (unsigned long long)segment->offset, head->records, head->words, segment->n_records,
		segment->n_words);
}

static int add_segment(struct segments *segments, const struct warpspan_stored_segment *stored, const uint8_t *words,
		       uint64_t offset, const char *path, struct damage *damage)
{
	if (stored->segment.state == WARPSPAN_SEGMENT_VOID)
		return WARPSPAN_OK; /* holds nothing */
	const char *fault = header_fault(&stored->segment);
	const uint32_t room = fault != NULL ? 0
					    : (stored->segment.segment_bytes - (uint32_t)sizeof(stored->segment)) /
						      WARPSPAN_WORD_BYTES;
	if (fault == NULL && stored->stored_words > room)
		fault = "more words than it has room for";
	if (fault != NULL)
		return damage_add(damage, offset, "'%.200s': the segment at byte %llu is left out: its header says %s",
				  path, (unsigned long long)offset, fault);
	if (segments->all.n == UINT32_MAX - 1)
		return WARPSPAN_TOO_LARGE;
	struct segment *segment = array_add(&segments->all);
	if (segment == NULL)
		return WARPSPAN_NO_MEMORY;
	segment->head = stored->segment;
	segment->context = stored->context;
	segment->words = words;
	segment->n_words = stored->stored_words;
	segment->offset = offset;
	if (segment_is_open(segment))
		segment->n_words = written_words(segment);
	walk(segments, segment);
	const int result = segment_is_open(segment) ? WARPSPAN_OK : check_counts(segment, room, path, damage);
	segments->n_records += segment->n_records;
	segments->n_lost += segment->n_lost;
	return result;
}

int segments_add_chunk(struct segments *segments, const struct capture_chunk *chunk, const char *path,
		       struct damage *damage)
{
	uint64_t at = 0;
	while (at < chunk->payload_bytes) {
		struct warpspan_stored_segment stored;
		const uint64_t place = chunk->offset + sizeof(struct warpspan_chunk) + at;
		const uint64_t left = chunk->payload_bytes - at;
		if (left < sizeof(stored))
			return damage_add(damage, place, "'%.200s': a segment at byte %llu is cut short", path,
					  (unsigned long long)place);
		memcpy(&stored, chunk->payload + at, sizeof(stored));
		const uint64_t words_bytes = (uint64_t)stored.stored_words * WARPSPAN_WORD_BYTES;
		if (words_bytes > left - sizeof(stored))
			return damage_add(damage, place, "'%.200s': the segment at byte %llu is longer than its chunk",
					  path, (unsigned long long)place);
		const int result =
			add_segment(segments, &stored, chunk->payload + at + sizeof(stored), place, path, damage);
		if (result < 0)
			return result;
		at += sizeof(stored) + words_bytes;
	}
	return WARPSPAN_OK;
}

void segments_finish(struct segments *segments)
{
	free(segments->all.items);
	memset(segments, 0, sizeof(*segments));
}

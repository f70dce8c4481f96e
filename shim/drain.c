/* SPDX-License-Identifier: Apache-2.0
 *
 * drain.c - moves segments from the arenas into the capture. See drain.h.
 *
 * Warps write while we copy, and a copy reads memory in no particular order. So a copy alone proves nothing, unless
 * the arena was quiet (as many segments closed as opened) before it began. Otherwise it is made twice: a segment that
 * the first copy shows closed is final, and complete in the second.
 *
 *   0                 walked                used          room
 *   | written, pending  | new segments ...    | free        |
 *
 * Segments are handed out in order, so the next one starts where the last one ends. Walking stops at a header that is
 * not there yet. Segments that are walked over while open are remembered in side->pending.
 *
 * Nothing that a kernel can write to is trusted twice: a kernel of the program that writes out of bounds may hit the
 * arena between any two looks. What a header said when it was first seen is in side->pending; one that says something
 * else later was overwritten, is counted and left out.
 *
 * The order in the file is: what describes the launches, the launches, the sites, the segments. A launch is in the log
 * before its kernel runs, so the log is read after the segments were copied.
 */
#include "drain.h"

#include "arena.h"
#include "driver.h"
#include "filter.h"
#include "host_log.h"
#include "log.h"
#include "meta.h"
#include "output.h"
#include "sites.h"
#include "util.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_BYTES (1u << 20)
/* Pending segments nearer than this share a copy. */
#define WINDOW_GAP_BYTES (64u << 10)
/* How long to wait for launches that are still in their calls. */
#define LAUNCH_PATIENCE_NS (20 * WARPSPAN_NS_PER_MS)
/* An arena of which more than this part filled since the last drain may be full before the next. */
#define PRESSED_PART 8u

static struct warpspan_drain_totals totals;

/* What is written goes into a copy: nothing is counted, and everything is still to be written. */
static bool peeking;

/* --- the chunk of segments being gathered ----------------------------------------------------- */

static struct {
	unsigned char *bytes;
	size_t used, capacity;
	uint64_t n_segments, n_records; /* in it; they enter the totals once it is in the file */
} chunk;

static bool reserve(size_t bytes)
{
	size_t capacity = chunk.capacity != 0 ? chunk.capacity : CHUNK_BYTES + CHUNK_BYTES / 4;
	unsigned char *memory;

	while (capacity - chunk.used < bytes)
		capacity *= 2;
	if (capacity == chunk.capacity)
		return true;
	memory = realloc(chunk.bytes, capacity);
	if (memory == NULL)
		return false;
	chunk.bytes = memory;
	chunk.capacity = capacity;
	return true;
}

/* Whether they are in the file. */
static bool append(enum warpspan_chunk_type type, void *items, unsigned n, size_t bytes)
{
	const struct iovec part = { .iov_base = items, .iov_len = n * bytes };

	return n > 0 && warpspan_output_append(type, &part, 1);
}

static void write_batch(struct warpspan_host_batch *batch)
{
	for (unsigned i = 0; i < batch->n_calls; i++)
		warpspan_meta_hook(batch->calls[i].api);
	warpspan_filter_note(batch->launches, batch->n_launches);
	warpspan_count(WARPSPAN_COUNTER_launches_recorded, batch->n_launches);
	warpspan_count(WARPSPAN_COUNTER_calls_recorded, batch->n_calls);
	if (append(WARPSPAN_CHUNK_LAUNCHES, batch->launches, batch->n_launches, sizeof(batch->launches[0])))
		for (unsigned i = 0; i < batch->n_launches; i++)
			totals.launches += batch->launches[i].result == 0;
	(void)append(WARPSPAN_CHUNK_HOST, batch->calls, batch->n_calls, sizeof(batch->calls[0]));
}

void warpspan_drain_host(bool all)
{
	static struct warpspan_host_batch batch;
	/* Before the lanes are read (host_log.c), after the segments were copied. */
	const uint64_t until_ns = warpspan_now_ns();
	bool more = true;

	/* A kernel is in the registry before its first launch is in the log. */
	warpspan_meta_announce();
	while (more) {
		more = warpspan_host_log_take(until_ns, &batch, LAUNCH_PATIENCE_NS);
		write_batch(&batch);
	}
	if (all) {
		(void)warpspan_host_log_take_unended(&batch);
		write_batch(&batch);
	}
}

static void flush(struct warpspan_context *context)
{
	const struct iovec part = { .iov_base = chunk.bytes, .iov_len = chunk.used };

	if (chunk.used == 0)
		return;
	if (!peeking)
		warpspan_drain_host(false);
	warpspan_sites_write_all(context, context->arenas->stream, peeking);
	if (warpspan_output_append(WARPSPAN_CHUNK_SEGMENTS, &part, 1) && !peeking) {
		totals.segments += chunk.n_segments;
		totals.records += chunk.n_records;
	}
	chunk.used = 0;
	chunk.n_segments = 0;
	chunk.n_records = 0;
}

/* --- one segment ------------------------------------------------------------------------------ */

/* Modules by number, the last one seen of each slot: segments of a few modules alternate. */
#define N_RECENT_MODULES 256u

static struct warpspan_module *find_module(const struct warpspan_context *context, uint32_t number)
{
	static struct warpspan_module *recent[N_RECENT_MODULES];
	struct warpspan_module *module = recent[number % N_RECENT_MODULES];

	if (module == NULL || module->number != number) {
		module = warpspan_registry_module_at(number);
		if (module != NULL)
			recent[number % N_RECENT_MODULES] = module;
	}
	return module != NULL && module->context == context ? module : NULL;
}

static bool has_payload(uint32_t tag)
{
	switch (tag & WARPSPAN_KIND_MASK) {
#define WARPSPAN_X(name, number, payload, text) \
	case number:                            \
		return payload != 0;
		WARPSPAN_RECORD_KINDS(WARPSPAN_X)
#undef WARPSPAN_X
	default:
		return false;
	}
}

/* Notes the sites the records name and counts the records that are there whole. `open`: ends at the first record that
 * was never written. *ret_words: words up to the end. */
static uint32_t scan(struct warpspan_module *module, const struct warpspan_record *records, uint32_t words, bool open,
		     uint32_t *ret_words)
{
	uint32_t last_site = 0;
	uint32_t n = 0;
	uint32_t i = 0;

	while (i < words) {
		const uint32_t tag = records[i].tag;
		const uint32_t site = tag & ~WARPSPAN_KIND_MASK;
		const uint32_t size = has_payload(tag) ? 2 : 1;

		if (open && tag == 0)
			break;
		if (site != last_site)
			warpspan_sites_note(module, site);
		last_site = site;
		if (size > words - i) {
			i = words;
			break;
		}
		i += size;
		n++;
	}
	*ret_words = i;
	return n;
}

/* A kernel of the program has destroyed `n` segments, or more. */
static void note_overwritten(uint64_t n)
{
	if (peeking)
		return;
	warpspan_count(WARPSPAN_COUNTER_overwritten, n);
	warpspan_log_once(WARPSPAN_LOG_WARN, "the memory of the records was overwritten, by a kernel that writes out "
					     "of bounds; the records it hit are lost");
}

/* `bytes`: of the segment, as its header said when it was discovered; intact() has compared. */
static void emit(struct warpspan_context *context, const unsigned char *bytes, bool closed)
{
	struct warpspan_stored_segment stored = { .context = context->number };
	struct warpspan_segment *segment = &stored.segment;
	const struct warpspan_record *records = (const struct warpspan_record *)(bytes + sizeof(*segment));
	struct warpspan_module *module;
	uint32_t room, words, n_records;

	memcpy(segment, bytes, sizeof(*segment));
	if (warpspan_filter_active() && !warpspan_filter_keeps(segment)) {
		warpspan_count(WARPSPAN_COUNTER_segments_filtered, !peeking);
		return;
	}
	segment->state = closed ? WARPSPAN_SEGMENT_CLOSED : WARPSPAN_SEGMENT_OPEN;
	room = (segment->segment_bytes - (uint32_t)sizeof(*segment)) / WARPSPAN_WORD_BYTES;
	module = find_module(context, segment->module);
	if (module == NULL) {
		/* Every module that records is known here, so this number is none of ours; nothing can be named. */
		note_overwritten(1);
		return;
	}
	warpspan_sites_note(module, segment->site);
	words = closed && segment->words < room ? segment->words : room;
	n_records = scan(module, records, words, !closed, &words);
	stored.stored_words = words;
	if (!reserve(sizeof(stored) + (size_t)words * WARPSPAN_WORD_BYTES)) {
		warpspan_count(WARPSPAN_COUNTER_segments_dropped, !peeking);
		return;
	}
	memcpy(chunk.bytes + chunk.used, &stored, sizeof(stored));
	chunk.used += sizeof(stored);
	memcpy(chunk.bytes + chunk.used, records, (size_t)words * WARPSPAN_WORD_BYTES);
	chunk.used += (size_t)words * WARPSPAN_WORD_BYTES;
	chunk.n_segments++;
	chunk.n_records += n_records;
	totals.warps += !peeking;
	if (closed && segment->words > totals.most_words)
		totals.most_words = segment->words;
	if (closed && segment->records > n_records && !peeking) {
		totals.lost_records += segment->records - n_records;
		totals.lost_warps++;
	}
	if (chunk.used >= CHUNK_BYTES)
		flush(context);
}

/* --- one arena -------------------------------------------------------------------------------- */

struct walk {
	struct warpspan_context *context;
	struct warpspan_arenas *arenas;
	struct warpspan_arena_side *side;
	bool quiet; /* no warp writes any more: one copy is enough, and every segment is closed */
	enum warpspan_drain_mode mode;
};

static CUresult copy(const struct walk *walk, uint64_t offset, size_t bytes)
{
	return warpspan_driver_read(walk->arenas->staging, walk->side->address + sizeof(struct warpspan_arena) + offset,
				    bytes, walk->arenas->stream);
}

static const struct warpspan_segment *staged(const struct walk *walk, uint64_t window, uint64_t offset)
{
	return (const struct warpspan_segment *)(walk->arenas->staging + (offset - window));
}

/* Whether the header still says what it said when the segment was discovered. State 0: not visible yet. */
static bool intact(const struct warpspan_segment *segment, const struct warpspan_pending *pending)
{
	return segment->magic == WARPSPAN_SEGMENT_MAGIC && segment->segment_bytes == pending->bytes &&
	       segment->state <= WARPSPAN_SEGMENT_VOID;
}

static bool is_final(const struct warpspan_segment *segment)
{
	return segment->state == WARPSPAN_SEGMENT_CLOSED || segment->state == WARPSPAN_SEGMENT_VOID;
}

/* The staging buffer holds a copy of `bytes` from `window`. Of the pending segments [first, end), all within it, emits
 * those that are closed (in mode ALL every one), leaves out those that were overwritten and moves the others down to
 * `to`. *ret_kept: how many. */
static CUresult settle(const struct walk *walk, uint64_t window, size_t bytes, size_t first, size_t end, size_t to,
		       size_t *ret_kept)
{
	struct warpspan_pending *pending = walk->side->pending;
	bool any = false;
	size_t kept = 0;

	for (size_t i = first; i < end; i++) {
		pending[i].closed = is_final(staged(walk, window, pending[i].offset));
		any = any || pending[i].closed;
	}
	if (any && !walk->quiet) {
		const CUresult result = copy(walk, window, bytes);

		if (result != CUDA_SUCCESS)
			return result;
	}
	if (warpspan_filter_active() && !peeking)
		warpspan_drain_host(false);
	for (size_t i = first; i < end; i++) {
		const struct warpspan_pending now = pending[i];
		const struct warpspan_segment *segment = staged(walk, window, now.offset);
		/* The state may lag behind the counter that says quiet; everything before it is there. */
		const bool closed = now.closed || walk->quiet;

		if (!intact(segment, &now))
			note_overwritten(1);
		else if (closed ? segment->state != WARPSPAN_SEGMENT_VOID : walk->mode == WARPSPAN_DRAIN_ALL || peeking)
			emit(walk->context, (const unsigned char *)segment, closed);
		if (peeking || (!closed && walk->mode != WARPSPAN_DRAIN_ALL && intact(segment, &now)))
			pending[to + kept++] = now;
	}
	*ret_kept = kept;
	return CUDA_SUCCESS;
}

/* Segments that were open at the last drain. */
static CUresult settle_pending(const struct walk *walk)
{
	struct warpspan_arena_side *side = walk->side;
	CUresult result = CUDA_SUCCESS;
	size_t kept = 0;

	for (size_t first = 0, end; first < side->n_pending; first = end) {
		const uint64_t window = side->pending[first].offset;
		uint64_t window_end = window + side->pending[first].bytes;
		size_t n;

		for (end = first + 1; end < side->n_pending; end++) {
			const struct warpspan_pending *next = &side->pending[end];

			if (next->offset - window_end > WINDOW_GAP_BYTES ||
			    next->offset + next->bytes - window > walk->arenas->staging_bytes)
				break;
			window_end = next->offset + next->bytes;
		}
		result = copy(walk, window, (size_t)(window_end - window));
		if (result == CUDA_SUCCESS)
			result = settle(walk, window, (size_t)(window_end - window), first, end, kept, &n);
		if (result != CUDA_SUCCESS)
			return result; /* the context is lost, and the list with it */
		kept += n;
	}
	side->n_pending = kept;
	return result;
}

static bool push_pending(struct warpspan_arena_side *side, uint64_t offset, uint32_t bytes)
{
	if (side->n_pending == side->pending_capacity) {
		const size_t capacity = side->pending_capacity != 0 ? side->pending_capacity * 2 : 1024;
		struct warpspan_pending *pending = realloc(side->pending, capacity * sizeof(*pending));

		if (pending == NULL)
			return false;
		side->pending = pending;
		side->pending_capacity = capacity;
	}
	side->pending[side->n_pending++] = (struct warpspan_pending){ .offset = offset, .bytes = bytes };
	return true;
}

/* Why discover() ended. */
enum stop {
	STOP_END,         /* of the copy, or a header that is not there yet */
	STOP_LARGE,       /* the first segment needs a larger copy */
	STOP_OVERWRITTEN, /* here is no header, and none will come */
};

/* What a header in the arena says about the segment that begins there. The area was zero before its warp came. */
static enum stop judge(const struct walk *walk, const struct warpspan_segment *segment, uint64_t left)
{
	if (segment->magic == 0 || (segment->magic == WARPSPAN_SEGMENT_MAGIC && segment->segment_bytes == 0))
		/* Its warp has not written the header yet, or found no room. */
		return walk->quiet && !walk->side->full ? STOP_OVERWRITTEN : STOP_END;
	if (segment->magic != WARPSPAN_SEGMENT_MAGIC || segment->segment_bytes < sizeof(*segment) ||
	    segment->segment_bytes % WARPSPAN_SEGMENT_ALIGNMENT != 0 || segment->segment_bytes > left ||
	    segment->segment_bytes > warpspan_arenas_most_bytes(walk->arenas))
		return STOP_OVERWRITTEN;
	return STOP_LARGE;
}

/* Appends the segments that lie whole in the staged copy to the pending ones. Returns the bytes they take; where that
 * is 0, *ret_stop says why and *ret_need how many bytes the first one has. */
static size_t discover(const struct walk *walk, uint64_t window, size_t bytes, uint64_t left, enum stop *ret_stop,
		       size_t *ret_need)
{
	size_t at = 0;

	*ret_stop = STOP_END;
	*ret_need = 0;
	while (bytes - at >= sizeof(struct warpspan_segment)) {
		const struct warpspan_segment *segment = staged(walk, window, window + at);
		const enum stop verdict = judge(walk, segment, left - at);

		if (verdict != STOP_LARGE || segment->segment_bytes > bytes - at) {
			*ret_stop = verdict;
			*ret_need = segment->segment_bytes;
			break;
		}
		walk->side->stuck = !push_pending(walk->side, window + at, segment->segment_bytes);
		if (walk->side->stuck)
			break;
		at += segment->segment_bytes;
	}
	return at;
}

/* Whether a segment seems to begin here, though what lies before it does not lead here: its kernel is known, and its
 * numbers go together. Records hardly ever look like that. */
static bool seems_a_header(const struct walk *walk, const struct warpspan_segment *segment, uint64_t left)
{
	const uint32_t threads = (uint32_t)segment->threads_x * segment->threads_y * segment->threads_z;

	return segment->magic == WARPSPAN_SEGMENT_MAGIC && judge(walk, segment, left) == STOP_LARGE &&
	       segment->state >= WARPSPAN_SEGMENT_OPEN && segment->state <= WARPSPAN_SEGMENT_VOID &&
	       segment->warp * 32u < threads && segment->block_x < segment->grid_x &&
	       segment->block_y < segment->grid_y && segment->block_z < segment->grid_z &&
	       find_module(walk->context, segment->module) != NULL;
}

/* The staged copy begins in a hole: a header was overwritten, and where the next one is is not known. Walks on to
 * what seems to be one, or to where one may begin that is not whole in the copy. */
static void leave_out(const struct walk *walk, uint64_t window, size_t bytes, uint64_t left)
{
	struct warpspan_arena_side *side = walk->side;
	size_t at = WARPSPAN_SEGMENT_ALIGNMENT;

	while (at + sizeof(struct warpspan_segment) <= bytes &&
	       !seems_a_header(walk, staged(walk, window, window + at), left - at))
		at += WARPSPAN_SEGMENT_ALIGNMENT;
	/* The next one to be opened begins where the last one ends, so that is no hole any more. */
	side->in_hole = bytes < left || at + sizeof(struct warpspan_segment) <= bytes;
	side->walked_bytes += side->in_hole ? at : bytes;
}

/* Segments opened since the last drain, up to `used`. */
static CUresult walk_new(const struct walk *walk, uint64_t used)
{
	struct warpspan_arena_side *side = walk->side;
	CUresult result = CUDA_SUCCESS;

	while (side->walked_bytes < used) {
		const uint64_t window = side->walked_bytes;
		const uint64_t left = used - window;
		size_t bytes = left < walk->arenas->staging_bytes ? (size_t)left : walk->arenas->staging_bytes;
		const size_t first = side->n_pending;
		enum stop stop;
		size_t need, n;
		size_t taken;

		result = copy(walk, window, bytes);
		if (result != CUDA_SUCCESS)
			break;
		if (side->in_hole && (bytes < sizeof(struct warpspan_segment) ||
				      !seems_a_header(walk, staged(walk, window, window), left))) {
			leave_out(walk, window, bytes, left);
			continue;
		}
		taken = discover(walk, window, bytes, left, &stop, &need);
		if (taken == 0 && stop == STOP_LARGE && !side->stuck) {
			side->stuck = !warpspan_arenas_stage(walk->arenas, need);
			if (!side->stuck)
				continue;
		}
		if (taken == 0 && stop == STOP_OVERWRITTEN) {
			note_overwritten(1); /* or more: how many lay in the hole is not known */
			leave_out(walk, window, bytes, left);
			continue;
		}
		if (taken == 0)
			break;
		side->in_hole = false;
		result = settle(walk, window, bytes, first, side->n_pending, first, &n);
		if (result != CUDA_SUCCESS)
			break;
		side->n_pending = first + n;
		side->walked_bytes += taken;
	}
	return result;
}

static CUresult drain_side(struct walk *walk, struct warpspan_drain_result *found)
{
	struct warpspan_arena_side *side = walk->side;
	const uint64_t closed_before = side->closed;
	const uint64_t opened_before = side->opened;
	const bool implausible_before = side->implausible;
	uint64_t used;
	CUresult result = warpspan_arena_look(walk->arenas, side, &used);

	if (result != CUDA_SUCCESS)
		return result;
	walk->quiet = side->quiet;
	if (side->implausible && !implausible_before)
		note_overwritten(1);
	found->moved = found->moved || side->opened != opened_before || side->closed != closed_before;
	found->unfinished = found->unfinished || !walk->quiet;
	if (side->closed == closed_before && side->n_pending <= side->opened - side->closed && !side->stuck &&
	    walk->mode == WARPSPAN_DRAIN_CLOSED)
		return CUDA_SUCCESS;
	side->stuck = false;
	result = settle_pending(walk);
	return result != CUDA_SUCCESS ? result : walk_new(walk, used);
}

/* --- one context ------------------------------------------------------------------------------ */

/* More than a device makes in a year: beyond, the table was overwritten. */
#define MOST_LOST (1ull << 56)

/* Whether an entry can have become what it is: counters only grow, and a key stays. */
static bool believable(const struct warpspan_context *context, const struct warpspan_loss *before,
		       const struct warpspan_loss *now)
{
	if (now->key != WARPSPAN_LOSS_REST_KEY && find_module(context, (uint32_t)(now->key >> 32)) == NULL)
		return false;
	return (before->key == 0 || before->key == now->key) && now->warps >= before->warps &&
	       now->records >= before->records && now->warps < MOST_LOST && now->records < MOST_LOST &&
	       now->most_words >= before->most_words && now->most_records >= before->most_records;
}

static CUresult write_losses(struct warpspan_context *context)
{
	struct warpspan_arenas *arenas = context->arenas;
	struct warpspan_loss losses[WARPSPAN_N_LOSSES];
	struct warpspan_stored_losses head = { .context = context->number };
	const CUresult result = warpspan_driver_read(
		losses, arenas->control + offsetof(struct warpspan_control, losses), sizeof(losses), arenas->stream);

	if (result != CUDA_SUCCESS || memcmp(losses, arenas->losses, sizeof(losses)) == 0)
		return result;
	for (unsigned i = 0; i < WARPSPAN_N_LOSSES && losses[i].key != 0; i++) {
		if (!believable(context, &arenas->losses[i], &losses[i])) {
			/* What was believed of this table stays in the capture; the rest of the session adds nothing.
			 */
			if (!arenas->losses_overwritten)
				note_overwritten(1);
			arenas->losses_overwritten = true;
			return result;
		}
	}
	while (head.n_losses < WARPSPAN_N_LOSSES && losses[head.n_losses].key != 0) {
		const struct warpspan_loss *now = &losses[head.n_losses];
		const struct warpspan_loss *before = &arenas->losses[head.n_losses];
		const uint32_t number = (uint32_t)(now->key >> 32);
		struct warpspan_module *module =
			now->key != WARPSPAN_LOSS_REST_KEY ? find_module(context, number) : NULL;

		if (module != NULL) {
			warpspan_sites_note(module, (uint32_t)now->key);
			warpspan_sites_write(module, arenas->stream, false);
		}
		totals.lost_records += now->records - before->records;
		totals.lost_warps += now->warps - before->warps;
		totals.warps += now->warps - before->warps;
		if (now->most_words > totals.most_words)
			totals.most_words = now->most_words;
		head.n_losses++;
	}
	memcpy(arenas->losses, losses, sizeof(losses));
	{
		const struct iovec parts[] = {
			{ .iov_base = &head, .iov_len = sizeof(head) },
			{ .iov_base = losses, .iov_len = head.n_losses * sizeof(losses[0]) },
		};

		warpspan_output_append(WARPSPAN_CHUNK_LOSSES, parts, 2);
	}
	return result;
}

/* Lets the arenas take turns. */
static CUresult turn(struct warpspan_arenas *arenas)
{
	struct warpspan_arena_side *active = &arenas->side[arenas->active];
	struct warpspan_arena_side *other = &arenas->side[(arenas->active + 1) % WARPSPAN_N_ARENAS];
	CUresult result;

	if (other->state == WARPSPAN_ARENA_RETIRED && other->quiet && other->n_pending == 0 && !other->stuck) {
		result = warpspan_arena_clear(arenas, other);
		if (result != CUDA_SUCCESS)
			return result;
	}
	/* Where warps of an earlier session held everything, none is active yet. */
	if (other->state != WARPSPAN_ARENA_EMPTY ||
	    (active->state == WARPSPAN_ARENA_ACTIVE && active->walked_bytes <= warpspan_arenas_room(arenas) / 2))
		return CUDA_SUCCESS;
	result = warpspan_arenas_swap(arenas);
	if (result == CUDA_SUCCESS)
		warpspan_count(WARPSPAN_COUNTER_arena_swaps, 1);
	return result;
}

struct warpspan_drain_result warpspan_drain_context(struct warpspan_context *context, enum warpspan_drain_mode mode)
{
	struct warpspan_arenas *arenas = context->arenas;
	struct warpspan_drain_result found = { .error = CUDA_SUCCESS };
	const unsigned active = arenas->active;
	const uint64_t walked_before = arenas->side[active].walked_bytes;

	/* The retired one first: its segments are older. */
	for (unsigned i = 1; i <= WARPSPAN_N_ARENAS && found.error == CUDA_SUCCESS; i++) {
		struct walk walk = {
			.context = context,
			.arenas = arenas,
			.side = &arenas->side[(arenas->active + i) % WARPSPAN_N_ARENAS],
			.mode = mode,
		};

		if (walk.side->state != WARPSPAN_ARENA_EMPTY)
			found.error = drain_side(&walk, &found);
	}
	flush(context);
	found.pressed = arenas->side[active].walked_bytes - walked_before > warpspan_arenas_room(arenas) / PRESSED_PART;
	if (found.error == CUDA_SUCCESS)
		found.error = write_losses(context);
	if (found.error == CUDA_SUCCESS && mode == WARPSPAN_DRAIN_CLOSED)
		found.error = turn(arenas);
	return found;
}

void warpspan_drain_begin(void)
{
	memset(&totals, 0, sizeof(totals));
	chunk.used = 0;
	chunk.n_segments = 0;
	chunk.n_records = 0;
}

CUresult warpspan_drain_peek(struct warpspan_context *context)
{
	CUresult result = CUDA_SUCCESS;

	peeking = true;
	for (unsigned i = 0; i < WARPSPAN_N_ARENAS && result == CUDA_SUCCESS; i++) {
		struct walk walk = {
			.context = context,
			.arenas = context->arenas,
			.side = &context->arenas->side[i],
			.mode = WARPSPAN_DRAIN_CLOSED,
		};
		uint64_t used;

		if (walk.side->state == WARPSPAN_ARENA_EMPTY)
			continue;
		/* Drains leave out what was opened while nothing closes. */
		result = warpspan_arena_look(walk.arenas, walk.side, &used);
		walk.quiet = walk.side->quiet;
		if (result == CUDA_SUCCESS)
			result = settle_pending(&walk);
		if (result == CUDA_SUCCESS)
			result = walk_new(&walk, used);
	}
	flush(context);
	peeking = false;
	return result;
}

struct warpspan_drain_totals warpspan_drain_totals(void)
{
	return totals;
}

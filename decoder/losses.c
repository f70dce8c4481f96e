/* SPDX-License-Identifier: Apache-2.0
 *
 * losses.c - reads LOSSES chunks and sums up what found no room.
 *
 * Two ways to lose: a warp's segment was too small (its own header counts), or the warp found no segment at all (the
 * device's table counts, by WS_OPEN site). Both end up in one entry per kernel.
 */
#include "losses.h"

int losses_add_chunk(struct losses *losses, const struct capture_chunk *chunk, const char *path, struct damage *damage)
{
	struct warpspan_stored_losses head;
	uint64_t at = 0;
	while (chunk->payload_bytes - at >= sizeof(head)) {
		memcpy(&head, chunk->payload + at, sizeof(head));
		at += sizeof(head);
		if (head.n_losses > (chunk->payload_bytes - at) / sizeof(struct warpspan_loss))
			break;
		uint32_t index = map_find(&losses->by_context, head.context, 0);
		if (index == MAP_NONE) {
			index = (uint32_t)losses->contexts.n;
			if (map_set(&losses->by_context, head.context, 0, index) < 0 ||
			    array_add(&losses->contexts) == NULL)
				return WARPSPAN_NO_MEMORY;
		}
		losses->contexts.items[index] = (struct context_losses){ .context = head.context,
									 .entries = chunk->payload + at,
									 .n_losses = head.n_losses };
		at += (uint64_t)head.n_losses * sizeof(struct warpspan_loss);
		if (at == chunk->payload_bytes)
			return WARPSPAN_OK;
	}
	return damage_add(damage, chunk->offset, "'%.200s': the losses at byte %llu do not fill their chunk", path,
			  (unsigned long long)chunk->offset);
}

static struct warpspan_loss entry_at(const struct context_losses *context, uint32_t i)
{
	struct warpspan_loss loss;
	memcpy(&loss, context->entries + (size_t)i * sizeof(loss), sizeof(loss));
	return loss;
}

/* Sums of numbers a capture claims stay at the top instead of starting again. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int losses_count_unheard(struct losses *losses)
{
	for (size_t i = 0; i < losses->contexts.n; i++)
		for (uint32_t k = 0; k < losses->contexts.items[i].n_losses; k++)
			losses->n_unheard_warps =
				sum(losses->n_unheard_warps, entry_at(&losses->contexts.items[i], k).warps);
	return WARPSPAN_OK;
}

/* The entry of a kernel; NULL when memory is out. */
static struct warpspan_lost *lost_of(struct losses *losses, uint32_t kernel)
{
	uint32_t index = map_find(&losses->by_kernel, kernel, 0);
	if (index == MAP_NONE) {
		index = (uint32_t)losses->lost.n;
		if (map_set(&losses->by_kernel, kernel, 0, index) < 0)
			return NULL;
		struct warpspan_lost *added = array_add(&losses->lost);
		if (added == NULL)
			return NULL;
		added->kernel = kernel;
	}
	return &losses->lost.items[index];
}

static void keep_most(struct losses *losses, struct warpspan_lost *lost, uint32_t words)
{
	if (words > lost->most_words)
		lost->most_words = words;
	if (words > losses->most_words)
		losses->most_words = words;
}

static int add_cut_warps(struct losses *losses, const struct launches *launches)
{
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		if (segment->head.words > losses->most_words)
			losses->most_words = segment->head.words;
		if (segment->n_lost == 0)
			continue;
		struct warpspan_lost *lost = lost_of(losses, launches->grids.items[segment->grid].kernel);
		if (lost == NULL)
			return WARPSPAN_NO_MEMORY;
		if (lost->first[0] == '\0')
			snprintf(lost->first, sizeof(lost->first), "block (%u,%u,%u) warp %u", segment->head.block_x,
				 segment->head.block_y, segment->head.block_z, segment->head.warp);
		lost->n_records = sum(lost->n_records, segment->n_lost);
		lost->n_warps_cut++;
		keep_most(losses, lost, segment->head.words);
	}
	return WARPSPAN_OK;
}

static int add_unheard_warps(struct losses *losses, struct launches *launches, const struct context_losses *context)
{
	for (uint32_t i = 0; i < context->n_losses; i++) {
		const struct warpspan_loss loss = entry_at(context, i);
		uint32_t kernel = WARPSPAN_NONE;
		if (loss.key == 0 || loss.warps == 0)
			continue;
		if (loss.key != WARPSPAN_LOSS_REST_KEY) {
			const int result = launches_kernel_of_loss(launches, (uint32_t)(loss.key >> 32),
								   (uint32_t)loss.key, &kernel);
			if (result < 0)
				return result;
		}
		struct warpspan_lost *lost = lost_of(losses, kernel);
		if (lost == NULL)
			return WARPSPAN_NO_MEMORY;
		lost->n_records = sum(lost->n_records, loss.records);
		lost->n_warps_unheard = sum(lost->n_warps_unheard, loss.warps);
		keep_most(losses, lost, loss.most_words);
	}
	return WARPSPAN_OK;
}

int losses_by_kernel(struct losses *losses, struct launches *launches)
{
	int result = add_cut_warps(losses, launches);
	for (size_t i = 0; i < losses->contexts.n && result == WARPSPAN_OK; i++)
		result = add_unheard_warps(losses, launches, &losses->contexts.items[i]);
	return result;
}

void losses_finish(struct losses *losses)
{
	free(losses->contexts.items);
	free(losses->lost.items);
	map_finish(&losses->by_context);
	map_finish(&losses->by_kernel);
	memset(losses, 0, sizeof(*losses));
}

/* --- the settings that would have sufficed ---------------------------------------------------- */

#define BUFFER_LEAST ((uint64_t)64 << 10) /* the least the setting takes */
#define BUFFER_MOST  ((uint64_t)1 << 40)  /* what a ticket can address */
#define KIB          ((uint64_t)1 << 10)
#define MIB          ((uint64_t)1 << 20)

static uint64_t rounded_up(uint64_t bytes)
{
	const uint64_t unit = bytes < MIB ? 4 * KIB : MIB;

	return (bytes + unit - 1) / unit * unit;
}

void warpspan_sufficient(uint64_t n_warps, uint32_t most_words, uint64_t buffer_bytes, uint64_t *ret_buffer_bytes,
			 uint32_t *ret_events_per_warp)
{
	uint32_t words = most_words > 2 ? most_words : 2;
	if (words > WARPSPAN_SEGMENT_WORDS_LIMIT)
		words = WARPSPAN_SEGMENT_WORDS_LIMIT;
	words = (words + 1) & ~1u;
	/* Every warp of the session, each with a segment of that size, in one arena: then it does not matter when the
	 * host takes them away. The buffer is two arenas. */
	const uint64_t segment_bytes = sizeof(struct warpspan_segment) + (uint64_t)words * WARPSPAN_WORD_BYTES;
	uint64_t bytes = BUFFER_MOST;
	if (n_warps < BUFFER_MOST / 2 / segment_bytes)
		bytes = 2 * (sizeof(struct warpspan_arena) + n_warps * segment_bytes);
	/* The buffer is not what was too small where this one would have done: never advise less than there was. */
	if (bytes < buffer_bytes)
		bytes = buffer_bytes;
	if (bytes < BUFFER_LEAST)
		bytes = BUFFER_LEAST;
	bytes = bytes < BUFFER_MOST ? rounded_up(bytes) : BUFFER_MOST;
	*ret_buffer_bytes = bytes < BUFFER_MOST ? bytes : BUFFER_MOST;
	*ret_events_per_warp = words;
}

void warpspan_model_sufficient(const struct warpspan_model *model, uint64_t *ret_buffer_bytes,
			       uint32_t *ret_events_per_warp)
{
	uint64_t unheard = 0;
	/* One setting for all: those that lost nothing must not begin to. */
	uint32_t words = model->most_words;
	*ret_buffer_bytes = 0;
	*ret_events_per_warp = 0;
	if (model->n_lost_records == 0 && model->n_lost_warps == 0)
		return;
	for (uint32_t i = 0; i < model->n_lost; i++) {
		unheard = sum(unheard, model->lost[i].n_warps_unheard);
		if (model->lost[i].most_words > words)
			words = model->lost[i].most_words;
	}
	warpspan_sufficient(sum(model->n_segments, unheard), words,
			    model->arena_bytes < BUFFER_MOST / 2 ? 2 * model->arena_bytes : BUFFER_MOST,
			    ret_buffer_bytes, ret_events_per_warp);
}

void warpspan_model_to_change(const struct warpspan_model *model, bool *ret_buffer, bool *ret_events)
{
	uint64_t buffer_bytes;
	uint32_t events;

	warpspan_model_sufficient(model, &buffer_bytes, &events);
	const bool lost = events != 0;
	/* An odd number asked for was rounded up, like the one advised. */
	const uint64_t asked = (uint64_t)model->words_asked + model->words_asked % 2;
	*ret_buffer = lost && buffer_bytes > rounded_up(2 * model->arena_bytes);
	*ret_events = lost && events != asked;
	/* Both are what they should have been: the estimate was wrong, and more room is the only advice left. */
	if (lost && !*ret_buffer && !*ret_events)
		*ret_buffer = *ret_events = true;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * spans.c - pairs begins with ends, nests and classifies them.
 *
 * Per segment a stack of open begins. An end closes the nearest open begin it pairs with; begins above that one lack
 * their end though nothing in between was lost (records are lost only at the tail), and are cut where it ends. What is
 * still on the stack when the records are over is LOST where the segment lost records, OPEN where it is still open,
 * and otherwise a begin without an end. So the slices of a segment nest by construction.
 *
 * Segments of one warp that overlap in time (a WS_OPEN inside another's scope, or in two branches of a split warp) get
 * tracks of their own; those that follow each other share one.
 *
 * All times of a segment come from one line through the cycle counter, which never runs backwards, so ends are never
 * before starts and durations keep the resolution of a cycle.
 */
#include "spans.h"

#define TOO_DEEP    UINT64_MAX
#define LANES_TRIED 64
/* Name, file and line times kernel; no program comes near. Records of further regions count as bad. */
#define REGIONS_MAX (1u << 18)

uint64_t segment_time_ns(const struct segment *segment, uint64_t base_ns, uint64_t clock)
{
	const double since_base = segment->start + segment->period * (double)(clock - segment->head.open_clock);
	/* Hostile headers can ask for any time; conversions beyond the range would be undefined. */
	const double most = (double)(INT64_MAX / 2);
	const double least = base_ns > (uint64_t)INT64_MAX / 2 ? -most : -(double)base_ns;
	const double bounded = since_base > most ? most : since_base < least ? least : since_base;
	const int64_t whole = (int64_t)(bounded + (bounded < 0 ? -0.5 : 0.5));
	if (whole < 0)
		return base_ns < (uint64_t)-whole ? 0 : base_ns - (uint64_t)-whole;
	return base_ns > UINT64_MAX - (uint64_t)whole ? UINT64_MAX : base_ns + (uint64_t)whole;
}

/* --- regions and unpaired records ------------------------------------------------------------- */

static int add_region(struct spans *spans, uint32_t kernel, const struct site *site, uint32_t *ret_region)
{
	/* Same name, file and line in one kernel are one region: instantiations of a template, unrolled copies. */
	const uint64_t name_hash = hash_bytes(site->name, strlen(site->name));
	const uint64_t file_hash = hash_bytes(site->file, strlen(site->file));
	const uint64_t a = name_hash ^ (uint64_t)kernel << 32, b = file_hash ^ site->line;
	uint32_t region = map_find(&spans->regions_by_place, a, b);
	if (region == MAP_NONE) {
		region = (uint32_t)spans->regions.n;
		char *name = strdup(site->name), *file = strdup(site->file);
		struct warpspan_region *added = NULL;
		if (name != NULL && file != NULL && map_set(&spans->regions_by_place, a, b, region) == 0)
			added = array_add(&spans->regions);
		if (added == NULL) {
			free(name);
			free(file);
			return WARPSPAN_NO_MEMORY;
		}
		*added = (struct warpspan_region){
			.name = name, .file = file, .line = site->line, .kernel = kernel, .site_kind = site->kind
		};
	}
	*ret_region = region;
	return WARPSPAN_OK;
}

/* *ret_region is MAP_NONE when there are too many. */
static int region_of(struct spans *spans, uint32_t kernel, uint32_t site, uint32_t *ret_region)
{
	*ret_region = map_find(&spans->regions_by_site, kernel, site);
	if (*ret_region != MAP_NONE || spans->regions.n >= REGIONS_MAX)
		return WARPSPAN_OK;
	const int result = add_region(spans, kernel, &spans->sites->all.items[site], ret_region);
	if (result == WARPSPAN_OK && map_set(&spans->regions_by_site, kernel, site, *ret_region) < 0)
		return WARPSPAN_NO_MEMORY;
	return result;
}

static int count_unpaired(struct spans *spans, enum warpspan_unpaired_cause cause, uint32_t region)
{
	uint32_t index = map_find(&spans->unpaired_by_key, cause, region);
	if (index == MAP_NONE) {
		index = (uint32_t)spans->unpaired.n;
		if (map_set(&spans->unpaired_by_key, cause, region, index) < 0)
			return WARPSPAN_NO_MEMORY;
		struct warpspan_unpaired *added = array_add(&spans->unpaired);
		if (added == NULL)
			return WARPSPAN_NO_MEMORY;
		*added = (struct warpspan_unpaired){ .cause = cause, .region = region };
	}
	spans->unpaired.items[index].n++;
	return WARPSPAN_OK;
}

/* --- one segment ------------------------------------------------------------------------------ */

/* The counter of begins on the stack with a pair number; room for numbers given out since the last call is made. */
static uint32_t *open_pairs(struct spans *spans, uint32_t pair)
{
	if (pair >= spans->n_pairs_room) {
		const size_t room = spans->sites->n_pairs + 64;
		uint32_t *grown = realloc(spans->n_open_pairs, room * sizeof(*grown));
		if (grown == NULL)
			return NULL;
		memset(grown + spans->n_pairs_room, 0, (room - spans->n_pairs_room) * sizeof(*grown));
		spans->n_open_pairs = grown;
		spans->n_pairs_room = room;
	}
	return &spans->n_open_pairs[pair];
}

static int add_slice(struct spans *spans, uint32_t track, uint32_t region, uint64_t time_ns)
{
	struct warpspan_slice *slice = array_add(&spans->slices);
	if (slice == NULL)
		return WARPSPAN_NO_MEMORY;
	*slice = (struct warpspan_slice){
		.start_ns = time_ns,
		.end_ns = time_ns,
		.track = track,
		.region = region,
		.depth = (uint16_t)(spans->stack.n - 1),
		.end = WARPSPAN_END_RECORDED,
	};
	return WARPSPAN_OK;
}

/* Begins deeper than slices can be nested wait for their ends like others, which so do not end the wrong ones. */
static int begin_slice(struct spans *spans, uint32_t track, uint32_t region, uint32_t pair, uint64_t time_ns)
{
	uint32_t *n_open = open_pairs(spans, pair);
	const bool too_deep = spans->stack.n >= SPANS_DEPTH_MAX;
	struct open_slice *open = n_open != NULL ? array_add(&spans->stack) : NULL;
	if (open == NULL)
		return WARPSPAN_NO_MEMORY;
	*open = (struct open_slice){ .pair = pair, .region = region, .slice = too_deep ? TOO_DEEP : spans->slices.n };
	++*n_open;
	return too_deep ? count_unpaired(spans, WARPSPAN_UNPAIRED_TOO_DEEP, region)
			: add_slice(spans, track, region, time_ns);
}

static const enum warpspan_unpaired_cause causes[] = {
	[WARPSPAN_END_LOST] = WARPSPAN_UNPAIRED_LOST,
	[WARPSPAN_END_OPEN] = WARPSPAN_UNPAIRED_OPEN,
	[WARPSPAN_END_CORRUPT] = WARPSPAN_UNPAIRED_BEGIN,
};

/* Takes the top off the stack. */
static int end_slice(struct spans *spans, uint64_t time_ns, enum warpspan_slice_end end)
{
	const struct open_slice top = spans->stack.items[--spans->stack.n];
	spans->n_open_pairs[top.pair]--;
	if (top.slice == TOO_DEEP) /* its begin has been counted */
		return end == WARPSPAN_END_RECORDED ? count_unpaired(spans, WARPSPAN_UNPAIRED_TOO_DEEP, top.region)
						    : WARPSPAN_OK;
	struct warpspan_slice *slice = &spans->slices.items[top.slice];
	slice->end_ns = time_ns;
	slice->end = (uint8_t)end;
	return end == WARPSPAN_END_RECORDED ? WARPSPAN_OK : count_unpaired(spans, causes[end], slice->region);
}

static int end_record(struct spans *spans, uint32_t kernel, uint32_t site, uint64_t time_ns)
{
	const uint32_t pair = spans->sites->all.items[site].pair;
	const uint32_t *n_open = open_pairs(spans, pair);
	if (n_open == NULL)
		return WARPSPAN_NO_MEMORY;
	if (*n_open == 0) {
		uint32_t region;
		const int result = region_of(spans, kernel, site, &region);
		return result < 0 ? result
				  : count_unpaired(spans,
						   region != MAP_NONE ? WARPSPAN_UNPAIRED_END
								      : WARPSPAN_UNPAIRED_BAD_RECORD,
						   region);
	}
	int result = WARPSPAN_OK;
	while (result == WARPSPAN_OK && spans->stack.items[spans->stack.n - 1].pair != pair)
		result = end_slice(spans, time_ns, WARPSPAN_END_CORRUPT);
	return result < 0 ? result : end_slice(spans, time_ns, WARPSPAN_END_RECORDED);
}

static int add_mark(struct spans *spans, uint32_t track, uint32_t region, const struct record *record, uint64_t time_ns)
{
	struct warpspan_mark *mark = array_add(&spans->marks);
	if (mark == NULL)
		return WARPSPAN_NO_MEMORY;
	*mark = (struct warpspan_mark){
		.time_ns = time_ns, .track = track, .region = region, .kind = record->kind, .bits = record->bits
	};
	return WARPSPAN_OK;
}

static int take_record(struct spans *spans, const struct segment *segment, uint32_t track, const struct record *record)
{
	const uint32_t kernel = spans->grids[segment->grid].kernel;
	uint32_t site = MAP_NONE;
	int result = WARPSPAN_OK;
	if (record->site != 0 && record->kind <= WARPSPAN_KIND_VALUE_F32)
		result = sites_find(spans->sites, segment->head.module, record->site, &site);
	if (result < 0)
		return result;
	if (site == MAP_NONE)
		return count_unpaired(spans, WARPSPAN_UNPAIRED_BAD_RECORD, WARPSPAN_NONE);
	const uint64_t time_ns = segment_time_ns(segment, spans->base_ns[segment->device], record->clock);
	if (record->kind == WARPSPAN_KIND_END)
		return end_record(spans, kernel, site, time_ns);
	uint32_t region;
	result = region_of(spans, kernel, site, &region);
	if (result < 0)
		return result;
	if (region == MAP_NONE)
		return count_unpaired(spans, WARPSPAN_UNPAIRED_BAD_RECORD, WARPSPAN_NONE);
	if (record->kind == WARPSPAN_KIND_BEGIN)
		return begin_slice(spans, track, region, spans->sites->all.items[site].pair, time_ns);
	return add_mark(spans, track, region, record, time_ns);
}

static int take_segment(struct spans *spans, const struct segment *segment, uint32_t track)
{
	struct record_cursor cursor = record_cursor_start(segment);
	struct record record;
	int result = WARPSPAN_OK;
	while (result == WARPSPAN_OK && record_next(&cursor, &record))
		result = take_record(spans, segment, track, &record);
	const enum warpspan_slice_end end = segment_is_open(segment) ? WARPSPAN_END_OPEN
					    : segment->n_lost > 0    ? WARPSPAN_END_LOST
								     : WARPSPAN_END_CORRUPT;
	while (result == WARPSPAN_OK && spans->stack.n > 0)
		result = end_slice(spans, segment->end_ns, end);
	return result;
}

/* --- tracks ----------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* A warp of a launch, in the order of tracks. */
static int compare_warps(const struct segment *a, const struct segment *b)
{
	const struct warpspan_segment *x = &a->head, *y = &b->head;
	if (a->grid != b->grid)
		return a->grid < b->grid ? -1 : 1;
	if (x->sm != y->sm)
		return x->sm < y->sm ? -1 : 1;
	if (x->block_z != y->block_z)
		return x->block_z < y->block_z ? -1 : 1;
	if (x->block_y != y->block_y)
		return x->block_y < y->block_y ? -1 : 1;
	if (x->block_x != y->block_x)
		return x->block_x < y->block_x ? -1 : 1;
	return (x->warp > y->warp) - (x->warp < y->warp);
}

static int by_warp_and_start(const void *left, const void *right, void *opaque)
{
	const struct segment *segments = opaque;
	const struct segment *a = &segments[*(const uint32_t *)left], *b = &segments[*(const uint32_t *)right];
	const int warps = compare_warps(a, b);
	if (warps != 0)
		return warps;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns)
		return a->end_ns > b->end_ns ? -1 : 1;
	return compare_u64(a->offset, b->offset);
}

static int start_track(struct spans *spans, const struct segment *segment, uint32_t repeat)
{
	struct warpspan_track *track = array_add(&spans->tracks);
	if (track == NULL)
		return WARPSPAN_NO_MEMORY;
	const struct warpspan_segment *head = &segment->head;
	*track = (struct warpspan_track){
		.grid = segment->grid,
		.sm = head->sm,
		.block = { head->block_x, head->block_y, head->block_z },
		.warp = head->warp,
		.lane = head->lane,
		.cluster_rank = head->cluster_rank,
		.cluster_blocks = head->cluster_blocks,
		.repeat = repeat,
		.start_ns = segment->start_ns,
		.first_slice = spans->slices.n,
		.first_mark = spans->marks.n,
	};
	struct warpspan_grid *grid = &spans->grids[segment->grid];
	if (grid->n_tracks == 0)
		grid->first_track = (uint32_t)spans->tracks.n - 1;
	grid->n_tracks++;
	return WARPSPAN_OK;
}

/* Gives each segment of a warp, in order of start, the first lane that is free by then. */
static int choose_lanes(struct spans *spans, const uint32_t *order, size_t n)
{
	ARRAY(uint64_t) free_from = { 0 };
	int result = WARPSPAN_OK;
	for (size_t i = 0; i < n; i++) {
		struct segment *segment = &spans->segments->all.items[order[i]];
		/* Only so many lanes are looked at: a warp that is in as many places at once is not a warp. */
		size_t lane = free_from.n > LANES_TRIED ? free_from.n - LANES_TRIED : 0;
		while (lane < free_from.n && free_from.items[lane] > segment->start_ns)
			lane++;
		if (lane == free_from.n && array_add(&free_from) == NULL) {
			result = WARPSPAN_NO_MEMORY;
			break;
		}
		free_from.items[lane] = segment->end_ns;
		segment->lane = (uint32_t)lane;
	}
	free(free_from.items);
	return result;
}

static int by_lane_and_start(const void *left, const void *right, void *opaque)
{
	const struct segment *segments = opaque;
	const struct segment *a = &segments[*(const uint32_t *)left], *b = &segments[*(const uint32_t *)right];
	return a->lane != b->lane ? (a->lane < b->lane ? -1 : 1) : by_warp_and_start(left, right, opaque);
}

/* Lays the segments of one warp, in order of start, onto as few tracks as hold them without overlap. */
static int lay_out_warp(struct spans *spans, uint32_t *order, size_t n)
{
	int result = WARPSPAN_OK;
	if (n > 1) {
		result = choose_lanes(spans, order, n);
		qsort_r(order, n, sizeof(*order), by_lane_and_start, spans->segments->all.items);
	}
	for (size_t i = 0; i < n && result == WARPSPAN_OK; i++) {
		const struct segment *segment = &spans->segments->all.items[order[i]];
		if (i == 0 || segment->lane != spans->segments->all.items[order[i - 1]].lane)
			result = start_track(spans, segment, segment->lane);
		const uint32_t index = (uint32_t)spans->tracks.n - 1;
		if (result == WARPSPAN_OK)
			result = take_segment(spans, segment, index);
		if (result < 0)
			break;
		struct warpspan_track *track = &spans->tracks.items[index];
		track->end_ns = segment->end_ns;
		track->open = track->open || segment_is_open(segment);
		track->n_slices = spans->slices.n - track->first_slice;
		track->n_marks = spans->marks.n - track->first_mark;
	}
	return result;
}

int spans_build(struct spans *spans)
{
	const size_t n = spans->segments->all.n;
	struct segment *segments = spans->segments->all.items;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	if (order == NULL)
		return WARPSPAN_NO_MEMORY;
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), by_warp_and_start, segments);
	int result = WARPSPAN_OK;
	for (size_t at = 0; at < n && result == WARPSPAN_OK;) {
		size_t end = at + 1;
		while (end < n && compare_warps(&segments[order[at]], &segments[order[end]]) == 0)
			end++;
		result = lay_out_warp(spans, order + at, end - at);
		at = end;
	}
	free(order);
	return result;
}

void spans_finish(struct spans *spans)
{
	for (size_t i = 0; i < spans->regions.n; i++) {
		free(spans->regions.items[i].name);
		free(spans->regions.items[i].file);
	}
	free(spans->tracks.items);
	free(spans->regions.items);
	free(spans->slices.items);
	free(spans->marks.items);
	free(spans->unpaired.items);
	map_finish(&spans->regions_by_site);
	map_finish(&spans->regions_by_place);
	map_finish(&spans->unpaired_by_key);
	free(spans->n_open_pairs);
	free(spans->stack.items);
	memset(spans, 0, sizeof(*spans));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * launches.c - groups segments into grids and joins grids with the host's log.
 *
 * Grouping. Segments of one launch agree in context, %gridid, module and dimensions. Where a context has one %gridid
 * for several launches (a device on which it is constant), launches are told apart by time: when a warp of a block
 * comes a second time, another launch has begun, at the last moment at which no earlier warp was still recording.
 *
 * Joining. Within a context the log and the grids are both in order. A grid's candidates are the log's launches of the
 * same shape (module and dimensions). Three rules, each of which leaves no choice, in this order:
 *   1. %gridid counts the launches of a context: if exactly one shift between ids and log explains every grid, it
 * holds;
 *   2. as many grids of a shape as launches of it: they correspond in order;
 *   3. more launches than grids, one kernel, nothing lost and the capture cut while launches were still running: the
 *      first ones are here.
 * Otherwise the grid's launch stays unknown; its kernel is still known when every candidate is of one kernel, or when
 * its WS_OPEN site belongs to one kernel elsewhere.
 */
#include "launches.h"

#define SHIFTS_TRIED 64 /* candidates for the shift between ids and log */

/* What must agree between a grid and its launch: packed so that it is compared and hashed as two numbers. */
struct shape {
	uint64_t a, b;
};

/* --- shapes ----------------------------------------------------------------------------------- */

static struct shape shape_of_segment(const struct warpspan_segment *head)
{
	return (struct shape){
		.a = (uint64_t)head->module << 32 | head->grid_x,
		.b = (uint64_t)head->grid_y << 48 | (uint64_t)head->grid_z << 32 | (uint64_t)head->threads_x << 21 |
		     (uint64_t)head->threads_y << 10 | (head->threads_z & 0x3ff),
	};
}

/* False: dimensions no segment can have. */
static bool shape_of_launch(const struct warpspan_launch *launch, struct shape *ret_shape)
{
	if (launch->grid[1] > UINT16_MAX || launch->grid[2] > UINT16_MAX || launch->threads[0] > 1024 ||
	    launch->threads[1] > 1024 || launch->threads[2] > 1023)
		return false;
	*ret_shape = (struct shape){
		.a = (uint64_t)launch->module << 32 | launch->grid[0],
		.b = (uint64_t)launch->grid[1] << 48 | (uint64_t)launch->grid[2] << 32 |
		     (uint64_t)launch->threads[0] << 21 | (uint64_t)launch->threads[1] << 10 | launch->threads[2],
	};
	return true;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_shapes(struct shape a, struct shape b)
{
	return a.a != b.a ? compare_u64(a.a, b.a) : compare_u64(a.b, b.b);
}

/* The same shape in another context is another one. */
static void shape_key(struct shape shape, uint32_t context, uint64_t *ret_a, uint64_t *ret_b)
{
	*ret_a = shape.a ^ (uint64_t)context * 0x9e3779b97f4a7c15ull;
	*ret_b = shape.b;
}

/* --- grouping --------------------------------------------------------------------------------- */

/* By context, %gridid, shape, time. */
static int by_launch(const void *left, const void *right, void *opaque)
{
	const struct segment *segments = opaque;
	const struct segment *a = &segments[*(const uint32_t *)left], *b = &segments[*(const uint32_t *)right];
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	if (a->head.grid_id != b->head.grid_id)
		return a->head.grid_id < b->head.grid_id ? -1 : 1;
	const int shapes = compare_shapes(shape_of_segment(&a->head), shape_of_segment(&b->head));
	if (shapes != 0)
		return shapes;
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	return compare_u64(a->offset, b->offset);
}

/* A warp of a block with the site it opened at: what a launch has once. */
static void warp_key(const struct segment *segment, uint64_t *ret_a, uint64_t *ret_b)
{
	const struct warpspan_segment *head = &segment->head;
	*ret_a = (uint64_t)head->block_x << 32 | (uint32_t)head->block_y << 16 | head->block_z;
	*ret_b = (uint64_t)head->site << 32 | head->warp;
}

static int add_grid(struct launches *launches, const uint32_t *order, size_t n, enum warpspan_match match)
{
	struct segment *segments = launches->segments->all.items;
	const struct segment *first = &segments[order[0]];
	const uint32_t index = (uint32_t)launches->grids.n;
	struct warpspan_grid *grid = array_add(&launches->grids);
	if (grid == NULL)
		return WARPSPAN_NO_MEMORY;
	const uint32_t cluster = first->head.cluster_blocks != 0 ? first->head.cluster_blocks : 1;
	*grid = (struct warpspan_grid){
		.kernel = WARPSPAN_NONE,
		.device = first->device,
		.context = first->context,
		.grid_id = first->head.grid_id,
		.host = WARPSPAN_NONE,
		.call = WARPSPAN_NONE,
		.match = match,
		.grid = { first->head.grid_x, first->head.grid_y, first->head.grid_z },
		.threads = { first->head.threads_x, first->head.threads_y, first->head.threads_z },
		.cluster = { cluster, 1, 1 },
		.start_ns = UINT64_MAX,
		.n_warps = (uint32_t)n,
	};
	for (size_t i = 0; i < n; i++) {
		struct segment *segment = &segments[order[i]];
		segment->grid = index;
		grid->n_open += segment_is_open(segment);
		grid->n_records += segment->n_records;
		grid->n_lost += segment->n_lost;
		if (segment->start_ns < grid->start_ns)
			grid->start_ns = segment->start_ns;
		if (segment->end_ns > grid->end_ns)
			grid->end_ns = segment->end_ns;
	}
	return WARPSPAN_OK;
}

/* Does a warp with the same WS_OPEN come twice among these? */
static int has_repetition(const struct launches *launches, const uint32_t *order, size_t n, bool *ret_has)
{
	struct map seen = { 0 };
	int result = WARPSPAN_OK;
	*ret_has = false;
	for (size_t i = 0; i < n && !*ret_has && result == WARPSPAN_OK; i++) {
		uint64_t a, b;
		warp_key(&launches->segments->all.items[order[i]], &a, &b);
		*ret_has = map_find(&seen, a, b) != MAP_NONE;
		if (map_set(&seen, a, b, 0) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	map_finish(&seen);
	return result;
}

/* Some segments in a row that are one launch. */
struct piece {
	size_t first, n;
	enum warpspan_match match;
};

typedef ARRAY(struct piece) piece_array;

static int add_piece(piece_array *pieces, size_t first, size_t end, enum warpspan_match match)
{
	struct piece *piece = array_add(pieces);
	if (piece == NULL)
		return WARPSPAN_NO_MEMORY;
	*piece = (struct piece){ first, end - first, match };
	return WARPSPAN_OK;
}

/* Splits segments [first, end) of the order, which is one of time, where warps come again. `seen` tells for each warp
 * of which launch (counted from 0) it was last. */
static int split_by_repetition(const struct launches *launches, const uint32_t *order, size_t first, size_t end,
			       piece_array *pieces)
{
	const struct segment *segments = launches->segments->all.items;
	struct map seen = { 0 };
	int result = WARPSPAN_OK;
	/* quiet: the last one that started when all before it (of this launch) had ended */
	size_t begin = first, quiet = first;
	uint32_t n_launches = 0;
	uint64_t busy_until = 0;
	enum warpspan_match match = WARPSPAN_MATCH_REPEAT;
	for (size_t i = first; i < end && result == WARPSPAN_OK;) {
		const struct segment *segment = &segments[order[i]];
		uint64_t a, b;
		warp_key(segment, &a, &b);
		if (i > begin && segment->start_ns >= busy_until)
			quiet = i;
		if (map_find(&seen, a, b) == n_launches) {
			const bool sure = quiet > begin;
			const size_t cut = sure ? quiet : i;
			result = add_piece(pieces, begin, cut, sure ? match : WARPSPAN_MATCH_UNSURE);
			match = sure ? WARPSPAN_MATCH_REPEAT : WARPSPAN_MATCH_UNSURE;
			n_launches++;
			begin = quiet = i = cut; /* what came since the quiet moment is looked at again, once */
			busy_until = 0;
			continue;
		}
		if (map_set(&seen, a, b, n_launches) < 0)
			result = WARPSPAN_NO_MEMORY;
		if (segment->end_ns > busy_until)
			busy_until = segment->end_ns;
		i++;
	}
	map_finish(&seen);
	return result == WARPSPAN_OK ? add_piece(pieces, begin, end, match) : result;
}

static int by_site_and_start(const void *left, const void *right, void *opaque)
{
	const struct segment *segments = opaque;
	const struct segment *a = &segments[*(const uint32_t *)left], *b = &segments[*(const uint32_t *)right];
	return a->head.site != b->head.site ? (a->head.site < b->head.site ? -1 : 1) : by_launch(left, right, opaque);
}

/* The same, each WS_OPEN site on its own. Sorts the order by site. */
static int split_sites_by_repetition(const struct launches *launches, uint32_t *order, size_t n, piece_array *pieces)
{
	const struct segment *segments = launches->segments->all.items;
	int result = WARPSPAN_OK;
	qsort_r(order, n, sizeof(*order), by_site_and_start, launches->segments->all.items);
	for (size_t at = 0, end; at < n && result == WARPSPAN_OK; at = end) {
		for (end = at + 1; end < n && segments[order[end]].head.site == segments[order[at]].head.site;)
			end++;
		result = split_by_repetition(launches, order, at, end, pieces);
	}
	return result;
}

/* Splits the segments of one shape on a device with a constant %gridid. Two kernels of one shape have the same warps,
 * but not the same WS_OPEN sites; and one kernel may have several sites. The log tells which it is: it knows how many
 * launches of the shape there were. */
static int split_shape(struct launches *launches, uint32_t *order, size_t n)
{
	const struct segment *first = &launches->segments->all.items[order[0]];
	uint64_t a, b;
	shape_key(shape_of_segment(&first->head), first->context, &a, &b);
	const uint32_t n_logged = map_find(&launches->logged_shapes, a, b);
	piece_array together = { 0 }, apart = { 0 };
	uint32_t *order_apart = NULL;
	int result = split_by_repetition(launches, order, 0, n, &together);
	if (result == WARPSPAN_OK && n_logged != MAP_NONE && together.n < n_logged) {
		order_apart = malloc(n * sizeof(*order_apart));
		if (order_apart == NULL)
			result = WARPSPAN_NO_MEMORY;
		else
			result = split_sites_by_repetition(launches, memcpy(order_apart, order, n * sizeof(*order)), n,
							   &apart);
	}
	const bool by_site = apart.n > 0 && apart.n == n_logged;
	const piece_array *pieces = by_site ? &apart : &together;
	const bool unsure = launches->complete && n_logged != MAP_NONE && pieces->n != n_logged;
	for (size_t i = 0; i < pieces->n && result == WARPSPAN_OK; i++) {
		const struct piece *piece = &pieces->items[i];
		result = add_grid(launches, (by_site ? order_apart : order) + piece->first, piece->n,
				  unsure ? WARPSPAN_MATCH_UNSURE : piece->match);
	}
	free(order_apart);
	free(together.items);
	free(apart.items);
	return result;
}

static int count_up(struct map *map, uint64_t a, uint64_t b)
{
	const uint32_t before = map_find(map, a, b);
	return map_set(map, a, b, before == MAP_NONE ? 1 : before + 1) < 0 ? WARPSPAN_NO_MEMORY : WARPSPAN_OK;
}

/* Counts the launches that succeeded, by context and by shape. */
static int count_successes(struct launches *launches)
{
	int result = WARPSPAN_OK;
	for (uint32_t i = 0; i < launches->n_log && result == WARPSPAN_OK; i++) {
		const struct warpspan_launch *launch = &launches->log[i];
		struct shape shape;
		uint64_t a, b;
		if (launch->result != 0)
			continue;
		result = count_up(&launches->successes, launch->context, 0);
		if (result < 0 || !shape_of_launch(launch, &shape))
			continue;
		shape_key(shape, launch->context, &a, &b);
		result = count_up(&launches->logged_shapes, a, b);
	}
	return result;
}

/* The end of the run of segments that agree with the first in context and, if asked for, %gridid and shape. */
static size_t run_end(const struct launches *launches, const uint32_t *order, size_t n, bool same_id, bool same_shape)
{
	const struct segment *segments = launches->segments->all.items;
	const struct segment *first = &segments[order[0]];
	size_t end = 1;
	for (; end < n; end++) {
		const struct segment *other = &segments[order[end]];
		if (other->context != first->context || (same_id && other->head.grid_id != first->head.grid_id))
			break;
		if (same_shape && compare_shapes(shape_of_segment(&other->head), shape_of_segment(&first->head)) != 0)
			break;
	}
	return end;
}

/* The segments of one context, sorted. */
static int group_context(struct launches *launches, uint32_t *order, size_t n)
{
	const bool one_id = run_end(launches, order, n, true, false) == n;
	const bool one_shape = run_end(launches, order, n, true, true) == n;
	bool repeats = false;
	int result = one_id ? has_repetition(launches, order, n, &repeats) : WARPSPAN_OK;
	const uint32_t n_launches = map_find(&launches->successes, launches->segments->all.items[order[0]].context, 0);
	const bool no_log = n_launches == MAP_NONE;
	/* One launch may well open the same recorder several times; two shapes, or two launches, cannot be one. */
	const bool constant = one_id && (!one_shape || (repeats && !no_log && n_launches > 1));
	const bool unsure = one_id && one_shape && repeats && no_log;
	for (size_t at = 0; at < n && result == WARPSPAN_OK;) {
		const size_t id_end = run_end(launches, order + at, n - at, true, false);
		const size_t end = run_end(launches, order + at, n - at, true, true);
		const bool mixed =
			end < id_end || (at > 0 && launches->segments->all.items[order[at]].head.grid_id ==
							   launches->segments->all.items[order[at - 1]].head.grid_id);
		if (constant)
			result = split_shape(launches, order + at, end);
		else
			result = add_grid(launches, order + at, end,
					  unsure || mixed ? WARPSPAN_MATCH_UNSURE : WARPSPAN_MATCH_GRID_ID);
		at += end;
	}
	return result;
}

static int by_start(const void *left, const void *right, void *opaque)
{
	const struct warpspan_grid *grids = opaque;
	const struct warpspan_grid *a = &grids[*(const uint32_t *)left], *b = &grids[*(const uint32_t *)right];
	if (a->start_ns != b->start_ns)
		return a->start_ns < b->start_ns ? -1 : 1;
	if (a->grid_id != b->grid_id)
		return a->grid_id < b->grid_id ? -1 : 1;
	return compare_u64(*(const uint32_t *)left, *(const uint32_t *)right);
}

/* 0, 1, ... n - 1, or NULL. */
static uint32_t *identity(size_t n)
{
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	for (size_t i = 0; order != NULL && i < n; i++)
		order[i] = (uint32_t)i;
	return order;
}

/* Sorts the grids by start and renumbers them in the segments. */
static int sort_grids(struct launches *launches)
{
	const size_t n = launches->grids.n;
	uint32_t *order = identity(n);
	uint32_t *place = malloc((n + 1) * sizeof(*place));
	struct warpspan_grid *sorted = malloc((n + 1) * sizeof(*sorted));
	const bool enough = order != NULL && place != NULL && sorted != NULL;
	if (enough) {
		qsort_r(order, n, sizeof(*order), by_start, launches->grids.items);
		for (size_t i = 0; i < n; i++) {
			sorted[i] = launches->grids.items[order[i]];
			place[order[i]] = (uint32_t)i;
		}
		for (size_t i = 0; i < launches->segments->all.n; i++)
			launches->segments->all.items[i].grid = place[launches->segments->all.items[i].grid];
		free(launches->grids.items);
		launches->grids.items = sorted;
		launches->grids.room = n + 1;
		sorted = NULL;
	}
	free(order);
	free(place);
	free(sorted);
	return enough ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
}

int launches_group(struct launches *launches)
{
	const size_t n = launches->segments->all.n;
	uint32_t *order = identity(n);
	if (order == NULL)
		return WARPSPAN_NO_MEMORY;
	if (n > 1)
		qsort_r(order, n, sizeof(*order), by_launch, launches->segments->all.items);
	int result = count_successes(launches);
	for (size_t at = 0; at < n && result == WARPSPAN_OK;) {
		const size_t end = run_end(launches, order + at, n - at, false, false);
		result = group_context(launches, order + at, end);
		at += end;
	}
	free(order);
	return result == WARPSPAN_OK ? sort_grids(launches) : result;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* One side of the join: a launch of the log or a grid, with its shape. */
struct side {
	struct shape shape;
	uint32_t index; /* in the log or the grids */
	uint64_t order; /* number of the launch; %gridid, or start where that is constant */
	uint32_t site;  /* of a grid: one of its WS_OPENs */
	uint32_t context;
};

typedef ARRAY(struct side) side_array;

static int by_context_and_order(const void *left, const void *right)
{
	const struct side *a = left, *b = right;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return a->order != b->order ? compare_u64(a->order, b->order) : compare_u64(a->index, b->index);
}

static int by_shape_and_order(const void *left, const void *right)
{
	const struct side *a = left, *b = right;
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	const int shapes = compare_shapes(a->shape, b->shape);
	if (shapes != 0)
		return shapes;
	return a->order != b->order ? compare_u64(a->order, b->order) : compare_u64(a->index, b->index);
}

/* The part of a side, sorted by context first, that belongs to a context. */
static size_t context_part(const side_array *side, uint32_t context, size_t *ret_n)
{
	size_t low = 0, high = side->n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (side->items[middle].context < context)
			low = middle + 1;
		else
			high = middle;
	}
	size_t end = low;
	while (end < side->n && side->items[end].context == context)
		end++;
	*ret_n = end - low;
	return low;
}

/* The part of a side sorted by shape that has the shape. */
static size_t shape_part(const struct side *side, size_t n, struct shape shape, size_t *ret_n)
{
	size_t low = 0, high = n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (compare_shapes(side[middle].shape, shape) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	size_t end = low;
	while (end < n && compare_shapes(side[end].shape, shape) == 0)
		end++;
	*ret_n = end - low;
	return low;
}

static void pair_up(struct launches *launches, const struct side *grid, const struct side *host)
{
	launches->grids.items[grid->index].host = host->index;
}

/* Rule 1. Grids and launches of one context, in order. True: every grid has its launch. */
static bool join_by_shift(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
			  size_t n_hosts)
{
	size_t n_tried = 0, n_found = 0, found = 0;
	for (size_t i = 0; i < n_grids; i++)
		if (launches->grids.items[grids[i].index].match != WARPSPAN_MATCH_GRID_ID)
			return false;
	for (size_t first = 0; first < n_hosts && n_found < 2; first++) {
		if (compare_shapes(hosts[first].shape, grids[0].shape) != 0)
			continue;
		if (++n_tried > SHIFTS_TRIED)
			return false;
		size_t i = 1;
		for (; i < n_grids; i++) {
			const uint64_t step = grids[i].order - grids[0].order;
			if (step >= n_hosts - first || compare_shapes(hosts[first + step].shape, grids[i].shape) != 0)
				break;
		}
		if (i < n_grids)
			continue;
		n_found++;
		found = first;
	}
	if (n_found != 1)
		return false;
	for (size_t i = 0; i < n_grids; i++)
		pair_up(launches, &grids[i], &hosts[found + (grids[i].order - grids[0].order)]);
	return true;
}

/* The kernel all these launches are of, or MAP_NONE. */
static uint32_t only_kernel(const struct launches *launches, const struct side *hosts, size_t n_hosts)
{
	for (size_t i = 1; i < n_hosts; i++)
		if (launches->log[hosts[i].index].kernel != launches->log[hosts[0].index].kernel)
			return MAP_NONE;
	return n_hosts == 0 ? MAP_NONE
			    : map_find(&launches->kernels_by_number, launches->log[hosts[0].index].kernel, 0);
}

/* Would pairing these up in order give each WS_OPEN site one kernel? Where grids are in order of their start, which
 * need not be that of the launches, kernels mixed up at one site betray it. */
static int check_sites(const struct launches *launches, const struct side *grids, const struct side *hosts, size_t n,
		       bool *ret_good)
{
	struct map kernel_of_site = { 0 };
	int result = WARPSPAN_OK;
	*ret_good = true;
	for (size_t i = 0; i < n && *ret_good && result == WARPSPAN_OK; i++) {
		if (launches->grids.items[grids[i].index].match == WARPSPAN_MATCH_GRID_ID)
			continue;
		const uint32_t kernel = launches->log[hosts[i].index].kernel;
		const uint32_t before = map_find(&kernel_of_site, grids[i].site, 0);
		*ret_good = before == MAP_NONE || before == kernel;
		if (kernel != MAP_NONE && map_set(&kernel_of_site, grids[i].site, 0, kernel) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	map_finish(&kernel_of_site);
	return result;
}

/* Rules 2 and 3, for the grids and launches of one shape. */
static int join_by_shape(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
			 size_t n_hosts)
{
	const uint32_t kernel = only_kernel(launches, hosts, n_hosts);
	const bool prefix = n_hosts > n_grids && kernel != MAP_NONE && !launches->complete && !launches->lost_warps;
	bool pair = n_grids == n_hosts || prefix;
	if (pair && kernel == MAP_NONE) {
		const int result = check_sites(launches, grids, hosts, n_grids, &pair);
		if (result < 0)
			return result;
	}
	for (size_t i = 0; i < n_grids; i++) {
		if (pair)
			pair_up(launches, &grids[i], &hosts[i]);
		else if (kernel != MAP_NONE)
			launches->grids.items[grids[i].index].kernel = kernel;
	}
	return WARPSPAN_OK;
}

static int join_context(struct launches *launches, struct side *grids, size_t n_grids, struct side *hosts,
			size_t n_hosts)
{
	if (join_by_shift(launches, grids, n_grids, hosts, n_hosts))
		return WARPSPAN_OK;
	/* The contexts are equal in each part, so this sorts by shape. */
	qsort(grids, n_grids, sizeof(*grids), by_shape_and_order);
	if (n_hosts > 1)
		qsort(hosts, n_hosts, sizeof(*hosts), by_shape_and_order);
	int result = WARPSPAN_OK;
	for (size_t at = 0; at < n_grids && result == WARPSPAN_OK;) {
		size_t n_alike, n_candidates;
		shape_part(grids + at, n_grids - at, grids[at].shape, &n_alike);
		const size_t first = shape_part(hosts, n_hosts, grids[at].shape, &n_candidates);
		result = join_by_shape(launches, grids + at, n_alike, n_candidates > 0 ? hosts + first : NULL,
				       n_candidates);
		at += n_alike;
	}
	return result;
}

static int collect_sides(struct launches *launches, side_array *grids, side_array *hosts)
{
	for (uint32_t i = 0; i < launches->n_log; i++) {
		const struct warpspan_launch *launch = &launches->log[i];
		struct side side = { .index = i, .order = launch->number, .context = launch->context };
		if (launch->result != 0 || launch->module == 0 || !shape_of_launch(launch, &side.shape))
			continue;
		struct side *added = array_add(hosts);
		if (added == NULL)
			return WARPSPAN_NO_MEMORY;
		*added = side;
	}
	for (size_t i = 0; i < launches->grids.n; i++) {
		struct side *added = array_add(grids);
		if (added == NULL)
			return WARPSPAN_NO_MEMORY;
		added->index = (uint32_t)i;
		added->context = launches->grids.items[i].context;
	}
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		struct side *side = &grids->items[segment->grid];
		side->shape = shape_of_segment(&segment->head);
		if (side->site == 0 || segment->head.site < side->site)
			side->site = segment->head.site;
	}
	for (size_t i = 0; i < grids->n; i++) {
		const struct warpspan_grid *grid = &launches->grids.items[i];
		grids->items[i].order = grid->match == WARPSPAN_MATCH_GRID_ID ? grid->grid_id : grid->start_ns;
	}
	if (grids->n > 1)
		qsort(grids->items, grids->n, sizeof(*grids->items), by_context_and_order);
	if (hosts->n > 1)
		qsort(hosts->items, hosts->n, sizeof(*hosts->items), by_context_and_order);
	return WARPSPAN_OK;
}

/* --- kernels ---------------------------------------------------------------------------------- */

/* A kernel no log names, called after the place of its WS_OPEN. */
static int add_unnamed_kernel(struct launches *launches, uint32_t module, uint32_t site, uint32_t *ret_kernel)
{
	uint32_t index;
	int result = sites_find(launches->sites, module, site, &index);
	if (result < 0)
		return result;
	char *name = NULL;
	const struct site *place = index != MAP_NONE ? &launches->sites->all.items[index] : NULL;
	const bool known = place != NULL && place->kind != 0;
	const int n = known ? asprintf(&name, "kernel at %s:%u", place->file, place->line)
			    : asprintf(&name, "kernel at site 0x%08x", site);
	if (n < 0)
		return WARPSPAN_NO_MEMORY;
	char *demangled = strdup(name);
	*ret_kernel = (uint32_t)launches->meta->kernels.n;
	struct warpspan_kernel *kernel = demangled != NULL ? array_add(&launches->meta->kernels) : NULL;
	if (kernel == NULL) {
		free(name);
		free(demangled);
		return WARPSPAN_NO_MEMORY;
	}
	*kernel = (struct warpspan_kernel){ .module = module, .name = name, .demangled = demangled };
	return WARPSPAN_OK;
}

/* Unnamed kernels are kept in the same map, at keys that no site address (16-byte aligned) has. */
#define UNNAMED_KEY(site) ((uint64_t)(site) | 1u)

int launches_kernel_of_site(struct launches *launches, uint32_t module, uint32_t site, uint32_t *ret_kernel)
{
	const uint32_t known = map_find(&launches->kernels_by_site, module, site);
	if (known != MAP_NONE && known != SITE_OF_SEVERAL) {
		*ret_kernel = known;
		return WARPSPAN_OK;
	}
	const uint32_t before = map_find(&launches->kernels_by_site, module, UNNAMED_KEY(site));
	if (before != MAP_NONE) {
		*ret_kernel = before;
		return WARPSPAN_OK;
	}
	const int result = add_unnamed_kernel(launches, module, site, ret_kernel);
	if (result == WARPSPAN_OK && map_set(&launches->kernels_by_site, module, UNNAMED_KEY(site), *ret_kernel) < 0)
		return WARPSPAN_NO_MEMORY;
	return result;
}

/* Learns from the grids whose kernel is known which WS_OPEN sites are of one kernel. */
static int learn_sites(struct launches *launches)
{
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		const uint32_t kernel = launches->grids.items[segment->grid].kernel;
		if (kernel == WARPSPAN_NONE)
			continue;
		const uint32_t before = map_find(&launches->kernels_by_site, segment->head.module, segment->head.site);
		if (before == kernel || before == SITE_OF_SEVERAL)
			continue;
		if (map_set(&launches->kernels_by_site, segment->head.module, segment->head.site,
			    before == MAP_NONE ? kernel : SITE_OF_SEVERAL) < 0)
			return WARPSPAN_NO_MEMORY;
	}
	return WARPSPAN_OK;
}

static int name_kernels(struct launches *launches)
{
	for (size_t i = 0; i < launches->grids.n; i++) {
		struct warpspan_grid *grid = &launches->grids.items[i];
		if (grid->host == WARPSPAN_NONE)
			continue;
		const struct warpspan_launch *launch = &launches->log[grid->host];
		const uint32_t kernel = map_find(&launches->kernels_by_number, launch->kernel, 0);
		if (kernel != MAP_NONE)
			grid->kernel = kernel;
		for (int k = 0; k < 3; k++)
			grid->cluster[k] = launch->cluster[k] != 0 ? launch->cluster[k] : 1;
	}
	int result = learn_sites(launches);
	for (size_t i = 0; i < launches->segments->all.n && result == WARPSPAN_OK; i++) {
		const struct warpspan_segment *head = &launches->segments->all.items[i].head;
		struct warpspan_grid *grid = &launches->grids.items[launches->segments->all.items[i].grid];
		if (grid->kernel == WARPSPAN_NONE)
			result = launches_kernel_of_site(launches, head->module, head->site, &grid->kernel);
	}
	return result;
}

static int index_kernels(struct launches *launches)
{
	for (size_t i = 0; i < launches->meta->kernels.n; i++) {
		const uint32_t number = launches->meta->kernels.items[i].number;
		if (map_find(&launches->kernels_by_number, number, 0) == MAP_NONE &&
		    map_set(&launches->kernels_by_number, number, 0, (uint32_t)i) < 0)
			return WARPSPAN_NO_MEMORY;
	}
	return WARPSPAN_OK;
}

int launches_join(struct launches *launches)
{
	side_array grids = { 0 }, hosts = { 0 };
	int result = index_kernels(launches);
	if (result == WARPSPAN_OK)
		result = collect_sides(launches, &grids, &hosts);
	for (size_t at = 0; result == WARPSPAN_OK && at < grids.n;) {
		size_t n_grids, n_hosts;
		context_part(&grids, grids.items[at].context, &n_grids);
		const size_t first = context_part(&hosts, grids.items[at].context, &n_hosts);
		result = join_context(launches, grids.items + at, n_grids, n_hosts > 0 ? hosts.items + first : NULL,
				      n_hosts);
		at += n_grids;
	}
	free(grids.items);
	free(hosts.items);
	return result == WARPSPAN_OK ? name_kernels(launches) : result;
}

void launches_finish(struct launches *launches)
{
	free(launches->grids.items);
	map_finish(&launches->successes);
	map_finish(&launches->logged_shapes);
	map_finish(&launches->kernels_by_number);
	map_finish(&launches->kernels_by_site);
	launches->grids.items = NULL;
}

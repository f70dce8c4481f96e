/* SPDX-License-Identifier: Apache-2.0
 *
 * launches.c - groups segments into grids and finds their kernels.
 *
 * Grouping. Segments of one launch agree in context, %gridid, module and dimensions. Where a context has one %gridid
 * for several launches (a device on which it is constant), launches are told apart by time: when a warp of a block
 * comes a second time, another launch has begun, at the last moment at which no earlier warp was still recording.
 * A graph has no launches in the log, only the calls that launched it, and its grids may have the same %gridid in each
 * replay, even that of other grids. Where a context launched graphs, grids that agree in all of the above are told
 * apart by repetition, too: a replay does not start before the one before it has ended.
 *
 * The kernel of a grid is that of its launch (see join.c); of one whose launch is not known it is still known when
 * every candidate is of one kernel, or when its WS_OPEN site belongs to one kernel elsewhere.
 */
#include "launches.h"

#include "join.h"
#include "kernels.h"
#include "shape.h"

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

static uint32_t count_of(const struct map *map, uint64_t a, uint64_t b)
{
	const uint32_t n = map_find(map, a, b);
	return n != MAP_NONE ? n : 0;
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
	/* Those made before the session or after its stop may have left nothing. */
	const uint64_t n_least = count_of(&launches->own_shapes, a, b);
	piece_array together = { 0 }, apart = { 0 };
	uint32_t *order_apart = NULL;
	int result = split_by_repetition(launches, order, 0, n, &together);
	if (result == WARPSPAN_OK && n_logged != MAP_NONE && together.n < n_least) {
		order_apart = malloc(n * sizeof(*order_apart));
		if (order_apart == NULL)
			result = WARPSPAN_NO_MEMORY;
		else
			result = split_sites_by_repetition(launches, memcpy(order_apart, order, n * sizeof(*order)), n,
							   &apart);
	}
	const bool by_site = apart.n > 0 && apart.n >= n_least && apart.n <= n_logged;
	const piece_array *pieces = by_site ? &apart : &together;
	/* Graphs have launches that are not in the log. */
	const bool graphs = map_find(&launches->graph_launches, first->context, 0) != MAP_NONE;
	const bool unsure = launches->complete && n_logged != MAP_NONE &&
			    (pieces->n < n_least || (!graphs && pieces->n > n_logged));
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
		if (result == WARPSPAN_OK && meta_phase_at(launches->meta, launch->begin_ns) == WARPSPAN_OWN)
			result = count_up(&launches->own_shapes, a, b);
	}
	for (uint32_t i = 0; i < launches->n_calls && result == WARPSPAN_OK; i++)
		if (launches->calls[i].kind == WARPSPAN_HOST_GRAPH_LAUNCH && launches->calls[i].result == 0)
			result = count_up(&launches->graph_launches, launches->calls[i].context, 0);
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

/* Segments that agree in %gridid and shape, in a context that launched graphs: replays, unless there are more of them
 * than can be; then the recorder was opened several times. */
static int add_replays(struct launches *launches, const uint32_t *order, size_t n, bool mixed)
{
	const struct segment *first = &launches->segments->all.items[order[0]];
	piece_array pieces = { 0 };
	uint64_t a, b;
	shape_key(shape_of_segment(&first->head), first->context, &a, &b);
	const uint64_t most = (uint64_t)count_of(&launches->graph_launches, first->context, 0) +
			      count_of(&launches->logged_shapes, a, b);
	int result = split_by_repetition(launches, order, 0, n, &pieces);
	const enum warpspan_match alone = mixed ? WARPSPAN_MATCH_REPEAT : WARPSPAN_MATCH_GRID_ID;
	if (result == WARPSPAN_OK && (pieces.n == 1 || pieces.n > most))
		result = add_grid(launches, order, n, alone);
	else
		for (size_t i = 0; i < pieces.n && result == WARPSPAN_OK; i++)
			result = add_grid(launches, order + pieces.items[i].first, pieces.items[i].n,
					  pieces.items[i].match);
	free(pieces.items);
	return result;
}

/* The segments of one context, sorted. */
static int group_context(struct launches *launches, uint32_t *order, size_t n)
{
	const bool one_id = run_end(launches, order, n, true, false) == n;
	const bool one_shape = run_end(launches, order, n, true, true) == n;
	bool repeats = false;
	int result = one_id ? has_repetition(launches, order, n, &repeats) : WARPSPAN_OK;
	const uint32_t context = launches->segments->all.items[order[0]].context;
	const uint64_t n_graph_launches = count_of(&launches->graph_launches, context, 0);
	const uint64_t n_launches = count_of(&launches->successes, context, 0) + n_graph_launches;
	/* One launch may well open the same recorder several times; two shapes, or two launches, cannot be one. */
	const bool constant = one_id && (!one_shape || (repeats && n_launches > 1));
	const bool unsure = one_id && one_shape && repeats && n_launches == 0;
	for (size_t at = 0; at < n && result == WARPSPAN_OK;) {
		const size_t id_end = run_end(launches, order + at, n - at, true, false);
		const size_t end = run_end(launches, order + at, n - at, true, true);
		const bool mixed =
			end < id_end || (at > 0 && launches->segments->all.items[order[at]].head.grid_id ==
							   launches->segments->all.items[order[at - 1]].head.grid_id);
		if (constant)
			result = split_shape(launches, order + at, end);
		else if (n_graph_launches > 0)
			result = add_replays(launches, order + at, end, mixed);
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
	*kernel =
		(struct warpspan_kernel){ .module = module, .name = name, .demangled = demangled, .same = *ret_kernel };
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

/* Which modules have but one kernel that was launched. */
static int index_only_kernels(struct launches *launches)
{
	for (uint32_t i = 0; launches->log_whole && i < launches->n_log; i++) {
		const struct warpspan_launch *launch = &launches->log[i];
		const uint32_t known = map_find(&launches->kernels_by_number, launch->kernel, 0);
		const uint32_t kernel = known != MAP_NONE ? known : SITE_OF_SEVERAL;
		const uint32_t before = map_find(&launches->kernels_by_module, launch->module, 0);

		if (launch->result != 0 || before == kernel || before == SITE_OF_SEVERAL)
			continue;
		if (map_set(&launches->kernels_by_module, launch->module, 0,
			    before == MAP_NONE ? kernel : SITE_OF_SEVERAL) < 0)
			return WARPSPAN_NO_MEMORY;
	}
	return WARPSPAN_OK;
}

int launches_kernel_of_loss(struct launches *launches, uint32_t module, uint32_t site, uint32_t *ret_kernel)
{
	const uint32_t known = map_find(&launches->kernels_by_site, module, site);
	const bool named = known != MAP_NONE && known != SITE_OF_SEVERAL;
	const bool unnamed = map_find(&launches->kernels_by_site, module, UNNAMED_KEY(site)) != MAP_NONE;
	int result = WARPSPAN_OK;
	if (!named && !unnamed) {
		const uint32_t only = map_find(&launches->kernels_by_module, module, 0);
		if (only != MAP_NONE && only != SITE_OF_SEVERAL && known != SITE_OF_SEVERAL &&
		    map_set(&launches->kernels_by_site, module, site, only) < 0)
			return WARPSPAN_NO_MEMORY;
	}
	result = launches_kernel_of_site(launches, module, site, ret_kernel);
	return result < 0 ? result : kernels_stand_in(launches, ret_kernel);
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

/* A module whose kernels are all known to the library but one, and its one WS_OPEN site that is no kernel's. */
struct module {
	uint32_t kernel, site;
	uint32_t n_kernels, n_sites; /* without a partner */
};

typedef ARRAY(struct module) module_array;

static struct module *find_module(module_array *modules, struct map *by_number, uint32_t number)
{
	const uint32_t known = map_find(by_number, number, 0);
	if (known != MAP_NONE)
		return &modules->items[known];
	struct module *module = array_add(modules);
	return module != NULL && map_set(by_number, number, 0, (uint32_t)modules->n - 1) == 0 ? module : NULL;
}

static int look_for_partners(struct launches *launches, const bool *has_site, module_array *modules,
			     struct map *by_number)
{
	struct module *module;
	for (size_t i = 0; i < launches->meta->kernels.n; i++) {
		const struct warpspan_kernel *kernel = &launches->meta->kernels.items[i];
		if (has_site[i])
			continue;
		module = find_module(modules, by_number, kernel->module);
		if (module == NULL)
			return WARPSPAN_NO_MEMORY;
		module->kernel = (uint32_t)i;
		module->n_kernels++;
	}
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		const struct warpspan_segment *head = &segment->head;
		if (launches->grids.items[segment->grid].kernel != WARPSPAN_NONE ||
		    map_find(&launches->kernels_by_site, head->module, head->site) != MAP_NONE)
			continue;
		module = find_module(modules, by_number, head->module);
		if (module == NULL)
			return WARPSPAN_NO_MEMORY;
		module->n_sites += module->n_sites == 0 || module->site != head->site;
		module->site = head->site;
	}
	return WARPSPAN_OK;
}

/* Kernels that only graphs launch are told of, but no launch of theirs is in the log. Where one kernel and one site of
 * a module are left over, they belong together. */
static int match_leftovers(struct launches *launches)
{
	module_array modules = { 0 };
	struct map by_number = { 0 };
	bool *has_site = calloc(launches->meta->kernels.n + 1, sizeof(*has_site));
	int result = has_site != NULL ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
	for (size_t i = 0; i < launches->segments->all.n && result == WARPSPAN_OK; i++) {
		const uint32_t kernel = launches->grids.items[launches->segments->all.items[i].grid].kernel;
		if (kernel != WARPSPAN_NONE)
			has_site[kernel] = true;
	}
	if (result == WARPSPAN_OK)
		result = look_for_partners(launches, has_site, &modules, &by_number);
	for (size_t i = 0; i < launches->segments->all.n && result == WARPSPAN_OK; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		const uint32_t index = map_find(&by_number, segment->head.module, 0);
		const struct module *module = index != MAP_NONE ? &modules.items[index] : NULL;
		if (module == NULL || module->n_kernels != 1 || module->n_sites != 1 ||
		    module->site != segment->head.site)
			continue;
		if (launches->grids.items[segment->grid].kernel == WARPSPAN_NONE)
			launches->grids.items[segment->grid].kernel = module->kernel;
		if (map_set(&launches->kernels_by_site, segment->head.module, module->site, module->kernel) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	free(has_site);
	free(modules.items);
	map_finish(&by_number);
	return result;
}

/* The only kernel of the shape that the graph held when it was launched; MAP_NONE: it held several, or that is not
 * known.
 */
static uint32_t kernel_in_graph(const struct launches *launches, uint32_t call, struct shape shape)
{
	const struct warpspan_host_call *launch = &launches->calls[call];
	const struct meta_graph *holds = meta_graph_at(launches->meta, launch->amount, launch->begin_ns);
	uint32_t number = 0;
	for (uint32_t i = 0; holds != NULL && holds->certain && i < holds->n_kernels; i++) {
		const struct meta_graph_kernel *kernel = &launches->meta->graph_kernels.items[holds->first + i];
		struct shape its;
		if (!shape_of(kernel->module, kernel->grid, kernel->threads, &its) || compare_shapes(its, shape) != 0)
			continue;
		if (number != 0 && number != kernel->kernel)
			return MAP_NONE;
		number = kernel->kernel;
	}
	return number != 0 ? map_find(&launches->kernels_by_number, number, 0) : MAP_NONE;
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
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		struct warpspan_grid *grid = &launches->grids.items[segment->grid];
		if (grid->kernel != WARPSPAN_NONE || grid->call == WARPSPAN_NONE)
			continue;
		const uint32_t kernel = kernel_in_graph(launches, grid->call, shape_of_segment(&segment->head));
		if (kernel != MAP_NONE)
			grid->kernel = kernel;
	}
	int result = learn_sites(launches);
	for (size_t i = 0; i < launches->segments->all.n && result == WARPSPAN_OK; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		struct warpspan_grid *grid = &launches->grids.items[segment->grid];
		const uint32_t known = map_find(&launches->kernels_by_site, segment->head.module, segment->head.site);
		if (grid->kernel == WARPSPAN_NONE && known != MAP_NONE && known != SITE_OF_SEVERAL)
			grid->kernel = known;
	}
	if (result == WARPSPAN_OK && launches->graph_launches.n > 0)
		result = match_leftovers(launches);
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

bool launches_waits_for_context(const struct launches *launches, const struct warpspan_host_call *call)
{
	const uint32_t index = map_find(&launches->meta->hooks_by_number, call->api, 0);
	return index != MAP_NONE &&
	       strncmp(launches->meta->hooks.items[index].name, "cuCtxSynchronize", strlen("cuCtxSynchronize")) == 0;
}

/* Notes that a kernel of the shape was, or may have been, launched: the only one's number, or SITE_OF_SEVERAL. */
static int note_kernel_of_shape(struct map *kernels, struct shape shape, uint32_t kernel)
{
	const uint32_t before = map_find(kernels, shape.a, shape.b);
	if (before == kernel || before == SITE_OF_SEVERAL)
		return WARPSPAN_OK;
	return map_set(kernels, shape.a, shape.b, before == MAP_NONE ? kernel : SITE_OF_SEVERAL) < 0
		       ? WARPSPAN_NO_MEMORY
		       : WARPSPAN_OK;
}

static int list_kernels_of_shapes(const struct launches *launches, struct map *kernels)
{
	struct shape shape;
	int result = WARPSPAN_OK;
	for (uint32_t i = 0; i < launches->n_log && result == WARPSPAN_OK; i++)
		if (shape_of_launch(&launches->log[i], &shape))
			result = note_kernel_of_shape(kernels, shape, launches->log[i].kernel);
	for (size_t i = 0; i < launches->meta->graph_kernels.n && result == WARPSPAN_OK; i++) {
		const struct meta_graph_kernel *kernel = &launches->meta->graph_kernels.items[i];
		if (shape_of(kernel->module, kernel->grid, kernel->threads, &shape))
			result = note_kernel_of_shape(kernels, shape, kernel->kernel);
	}
	return result;
}

/* A warp that opened at two places is one warp of a kernel that has both, or it is two, of two kernels: where there are
 * several kernels of the shape, repetition does not tell. */
static int doubt_mixed_grids(struct launches *launches)
{
	struct map kernels = { 0 }, sites = { 0 };
	int result = list_kernels_of_shapes(launches, &kernels);
	for (size_t i = 0; i < launches->segments->all.n && result == WARPSPAN_OK; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		const struct warpspan_segment *head = &segment->head;
		struct warpspan_grid *grid = &launches->grids.items[segment->grid];
		const struct shape shape = shape_of_segment(head);
		if (grid->match != WARPSPAN_MATCH_REPEAT || map_find(&kernels, shape.a, shape.b) != SITE_OF_SEVERAL)
			continue;
		const uint64_t a = (uint64_t)segment->grid << 32 | head->block_x;
		const uint64_t b = (uint64_t)head->block_y << 48 | (uint64_t)head->block_z << 32 | head->warp;
		const uint32_t before = map_find(&sites, a, b);
		if (before != MAP_NONE && before != head->site)
			grid->match = WARPSPAN_MATCH_UNSURE;
		else if (before == MAP_NONE && map_set(&sites, a, b, head->site) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	map_finish(&kernels);
	map_finish(&sites);
	return result;
}

int launches_join(struct launches *launches)
{
	int result = index_kernels(launches);
	if (result == WARPSPAN_OK)
		result = doubt_mixed_grids(launches);
	if (result == WARPSPAN_OK)
		result = index_only_kernels(launches);
	if (result == WARPSPAN_OK)
		result = join_grids(launches);
	return result == WARPSPAN_OK ? name_kernels(launches) : result;
}

void launches_finish(struct launches *launches)
{
	free(launches->grids.items);
	map_finish(&launches->successes);
	map_finish(&launches->graph_launches);
	map_finish(&launches->logged_shapes);
	map_finish(&launches->own_shapes);
	map_finish(&launches->kernels_by_number);
	map_finish(&launches->kernels_by_module);
	map_finish(&launches->kernels_by_name);
	map_finish(&launches->kernels_by_site);
	launches->grids.items = NULL;
}

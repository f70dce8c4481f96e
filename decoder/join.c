/* SPDX-License-Identifier: Apache-2.0
 *
 * join.c - joins grids with the calls that launched them.
 *
 * Within a context the log and the grids are both in order. A grid's candidates are the log's launches of the same
 * shape (module and dimensions), and the launches of graphs. Rules, each of which leaves no choice, in this order:
 *   1. %gridid counts the launches of a context: if exactly one shift between ids and log explains every grid, it
 * holds;
 *   2. as many grids of a shape as launches of it: they correspond in order;
 *   3. more launches than grids, one kernel, nothing lost and the capture cut while launches were still running: the
 *      first ones are here;
 *   4. more grids than launches, and graphs were launched: the capture tells what each of them held at the time. Where
 * it does not, each launch of a graph is taken to make the same number of them, and if only one set of such numbers
 * explains the count, that one holds. Then they correspond in order. Order is that of ids, where ids tell grids
 * apart. Otherwise it is that of starts, which is the order of the calls only within a stream, and across a
 * synchronisation of the context. Where launches of one shape were in flight on several streams between two of those,
 * none of them is joined: they are marked as ambiguous;
 *   Launches made before the session, or after its stop, may have left grids or not: where there are any, it must be
 * certain which did (placement.c), and rules 1 to 4 hold for these;
 *   5. what is left, where no graphs were launched and no two threads launched at once: the gaps between ids, the
 * shapes and the grids joined so far leave some of them but one place in the log.
 */
#include "join.h"

#include "align.h"
#include "join_graphs.h"
#include "placement.h"
#include "shape.h"

#define SHIFTS_TRIED 64 /* candidates for the shift between ids and log */

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

static void pair_up(struct launches *launches, uint32_t grid, const struct event *event, enum warpspan_join join)
{
	struct warpspan_grid *to = &launches->grids.items[grid];
	to->host = event->launch;
	to->call = event->call;
	to->join = join;
	to->phase = event->phase;
}

/* Do all grids fit the launches, when the first of them is that of `first`? Ids count the launches. */
static bool shift_fits(const struct side *grids, size_t n_grids, const struct side *hosts, size_t n_hosts, size_t first)
{
	for (size_t i = 0; i < n_grids; i++) {
		const uint64_t step = grids[i].order - grids[0].order;
		if (step >= n_hosts - first || compare_shapes(hosts[first + step].shape, grids[i].shape) != 0)
			return false;
	}
	return true;
}

static bool all_by_id(const struct launches *launches, const struct side *grids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (launches->grids.items[grids[i].index].match != WARPSPAN_MATCH_GRID_ID)
			return false;
	return true;
}

static void pair_by_shift(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
			  size_t first)
{
	for (size_t i = 0; i < n_grids; i++) {
		const struct side *host = &hosts[first + (grids[i].order - grids[0].order)];
		const struct event event = join_event_of_launch(launches, host->index);
		pair_up(launches, grids[i].index, &event, WARPSPAN_JOIN_ID);
	}
}

/* Rule 1. Grids and launches of one context, in order. True: every grid has its launch. */
static bool join_by_shift(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
			  size_t n_hosts)
{
	size_t n_tried = 0, n_found = 0, found = 0;
	if (!all_by_id(launches, grids, n_grids))
		return false;
	for (size_t first = 0; first < n_hosts && n_found < 2; first++) {
		if (compare_shapes(hosts[first].shape, grids[0].shape) != 0)
			continue;
		if (++n_tried > SHIFTS_TRIED)
			return false;
		if (!shift_fits(grids, n_grids, hosts, n_hosts, first))
			continue;
		n_found++;
		found = first;
	}
	if (n_found != 1)
		return false;
	pair_by_shift(launches, grids, n_grids, hosts, found);
	return true;
}

/* --- launches that are not the session's ------------------------------------------------------ */

/* Is a launch among these that was made before the session or after its stop? */
static bool any_foreign(const struct launches *launches, const struct side *hosts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (meta_phase_at(launches->meta, launches->log[hosts[i].index].begin_ns) != WARPSPAN_OWN)
			return true;
	return false;
}

static int init_placement(struct placement *placement, const struct launches *launches, const struct side *hosts,
			  size_t n)
{
	struct placement_launch *made = calloc(n + 1, sizeof(*made));
	if (made == NULL) {
		*placement = (struct placement){ 0 };
		return WARPSPAN_NO_MEMORY;
	}
	for (size_t i = 0; i < n; i++) {
		const struct event event = join_event_of_launch(launches, hosts[i].index);
		made[i] = (struct placement_launch){ event.stream, event.thread, launches->log[hosts[i].index].kernel,
						     event.phase };
	}
	const int result = placement_init(placement, made, n, launches->quiet);
	free(made);
	return result;
}

/* Which shift is the only one that can be? False: none, or several. */
static bool find_shift(struct launches *launches, struct placement *placement, const struct side *grids, size_t n_grids,
		       const struct side *hosts, size_t n_hosts, size_t *ret_first)
{
	size_t n_found = 0, n_plain = 0, found = 0, plain = 0;
	for (size_t first = 0; first < n_hosts; first++) {
		if (compare_shapes(hosts[first].shape, grids[0].shape) != 0)
			continue;
		launches->n_search_steps += n_grids + n_hosts;
		if (launches->n_search_steps > JOIN_STEPS_MOST)
			return false;
		if (!shift_fits(grids, n_grids, hosts, n_hosts, first))
			continue;
		memset(placement->sites, 0, n_hosts * sizeof(*placement->sites));
		for (size_t i = 0; i < n_grids; i++)
			placement->sites[first + (grids[i].order - grids[0].order)] = placement_site(grids[i].site);
		if (!launches->lost_warps && !placement_stands(placement))
			continue;
		n_found++;
		found = first;
		if (launches->quiet && placement_is_plain(placement)) {
			n_plain++;
			plain = first;
		}
	}
	*ret_first = n_plain == 1 ? plain : found;
	return n_plain == 1 || n_found == 1;
}

/* Rule 1 where not all launches are the session's. */
static int join_foreign_by_shift(struct launches *launches, const struct side *grids, size_t n_grids,
				 const struct side *hosts, size_t n_hosts, bool *ret_joined)
{
	struct placement placement;
	size_t first;
	*ret_joined = false;
	if (!all_by_id(launches, grids, n_grids))
		return WARPSPAN_OK;
	const int result = init_placement(&placement, launches, hosts, n_hosts);
	*ret_joined = result == WARPSPAN_OK && find_shift(launches, &placement, grids, n_grids, hosts, n_hosts, &first);
	if (*ret_joined)
		pair_by_shift(launches, grids, n_grids, hosts, first);
	placement_finish(&placement);
	return result;
}

/* Sites in the order of the launches, if that is the order of the grids: by id, or on one stream by start. NULL: it is
 * not; *ret_fine says whether there was memory. The caller frees it. */
static uint64_t *sites_in_order(const struct launches *launches, const struct placement *placement,
				const struct side *grids, size_t n, bool *ret_fine)
{
	bool by_start = placement->n_streams == 1;
	*ret_fine = true;
	for (size_t i = 0; i < n; i++)
		by_start = by_start && launches->grids.items[grids[i].index].match == WARPSPAN_MATCH_REPEAT;
	if (!by_start && !all_by_id(launches, grids, n))
		return NULL;
	uint64_t *sites = calloc(n + 1, sizeof(*sites));
	*ret_fine = sites != NULL;
	for (size_t i = 0; i < n && sites != NULL; i++)
		sites[i] = placement_site(grids[i].site);
	return sites;
}

/* Which n of the launches of a shape left its grids, where not all are the session's. `grids` may be NULL: it is only
 * known how many they are. *ret_chosen has room for n; unchanged where it is not certain. */
static int choose_hosts(const struct launches *launches, const struct side *grids, size_t n, const struct side *hosts,
			size_t n_hosts, struct side *ret_chosen, bool *ret_certain)
{
	struct placement placement;
	size_t *found = calloc(n + 1, sizeof(*found));
	int result = init_placement(&placement, launches, hosts, n_hosts);
	bool fine = found != NULL;
	uint64_t *sites =
		result == WARPSPAN_OK && grids != NULL ? sites_in_order(launches, &placement, grids, n, &fine) : NULL;
	if (!fine)
		result = WARPSPAN_NO_MEMORY;
	*ret_certain = result == WARPSPAN_OK && n == n_hosts; /* each has its grid */
	for (size_t i = 0; i < n && *ret_certain; i++)
		found[i] = i;
	if (result == WARPSPAN_OK && n < n_hosts && !launches->lost_warps)
		*ret_certain = placement_find(&placement, sites, n, found);
	for (size_t i = 0; i < n && *ret_certain; i++)
		ret_chosen[i] = hosts[found[i]];
	placement_finish(&placement);
	free(sites);
	free(found);
	return result;
}

/* --- one shape -------------------------------------------------------------------------------- */

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
static int check_sites(const struct launches *launches, const struct side *grids, const struct event *events, size_t n,
		       bool *ret_good)
{
	struct map kernel_of_site = { 0 };
	int result = WARPSPAN_OK;
	*ret_good = true;
	for (size_t i = 0; i < n && *ret_good && result == WARPSPAN_OK; i++) {
		if (events[i].launch == WARPSPAN_NONE)
			continue;
		const uint32_t kernel = launches->log[events[i].launch].kernel;
		const uint32_t before = map_find(&kernel_of_site, grids[i].site, 0);
		*ret_good = before == MAP_NONE || before == kernel;
		if (kernel != MAP_NONE && map_set(&kernel_of_site, grids[i].site, 0, kernel) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	map_finish(&kernel_of_site);
	return result;
}

/* --- by order --------------------------------------------------------------------------------- */

static bool same_stream(const struct event *a, const struct event *b)
{
	return a->stream == b->stream && a->thread == b->thread;
}

/* Did the context wait between these two moments? The first wait that begins after the one decides. */
static bool waited_between(const struct context *context, uint64_t from_ns, uint64_t to_ns)
{
	size_t low = 0, high = context->waits.n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (context->waits.items[middle].begin_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < context->waits.n && context->waits.items[low].end_ns <= to_ns;
}

/* Whose grids these are, if all are of one phase. */
static enum warpspan_phase common_phase(const struct event *events, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (events[i].phase != events[0].phase)
			return WARPSPAN_OWN;
	return n > 0 ? events[0].phase : WARPSPAN_OWN;
}

/* Grids in the order of their starts. What is on one stream between two waits of the context corresponds in order; of
 * what is on several nothing is known but, perhaps, the kernels: `kernels_hold`. */
static void pair_by_start(struct context *context, const struct side *grids, const struct event *events, size_t n,
			  bool kernels_hold)
{
	struct launches *launches = context->launches;
	uint64_t returned_ns = 0;
	for (size_t at = 0, end; at < n; at = end) {
		bool one_stream = true;
		for (end = at; end < n; end++) {
			if (end > at && waited_between(context, returned_ns, events[end].begin_ns))
				break;
			one_stream = one_stream && same_stream(&events[at], &events[end]);
			const uint64_t here_ns = events[end].end_ns != 0 ? events[end].end_ns : UINT64_MAX;
			returned_ns = here_ns > returned_ns ? here_ns : returned_ns;
		}
		for (size_t i = at; i < end; i++) {
			struct warpspan_grid *grid = &launches->grids.items[grids[i].index];
			if (one_stream && kernels_hold) {
				pair_up(launches, grids[i].index, &events[i], WARPSPAN_JOIN_ORDER);
				continue;
			}
			grid->join = WARPSPAN_JOIN_AMBIGUOUS;
			grid->phase = common_phase(&events[at], end - at);
			if (kernels_hold && events[i].launch != WARPSPAN_NONE)
				grid->kernel = map_find(&launches->kernels_by_number,
							launches->log[events[i].launch].kernel, 0);
		}
	}
}

/* Does this pairing let the grids of each stream start one after the other? */
static int starts_in_order(const struct launches *launches, const struct side *grids, const struct event *events,
			   size_t n, bool *ret_good)
{
	struct map last = { 0 };
	int result = WARPSPAN_OK;
	*ret_good = true;
	for (size_t i = 0; i < n && *ret_good && result == WARPSPAN_OK; i++) {
		const uint32_t before = map_find(&last, events[i].stream, events[i].thread);
		*ret_good = before == MAP_NONE || launches->grids.items[grids[before].index].start_ns <=
							  launches->grids.items[grids[i].index].start_ns;
		if (map_set(&last, events[i].stream, events[i].thread, (uint32_t)i) < 0)
			result = WARPSPAN_NO_MEMORY;
	}
	map_finish(&last);
	return result;
}

static int by_grid_index(const void *left, const void *right)
{
	const struct side *a = left, *b = right;
	return (a->index > b->index) - (a->index < b->index);
}

/* As many grids as events: in the order of ids where that holds, else of starts. */
static int pair_in_order(struct context *context, struct side *grids, const struct event *events, size_t n)
{
	struct launches *launches = context->launches;
	bool by_id = true, good = true;
	for (size_t i = 0; i < n; i++)
		by_id = by_id && launches->grids.items[grids[i].index].match == WARPSPAN_MATCH_GRID_ID;
	int result = WARPSPAN_OK;
	/* Within a graph ids need not count on from those outside. */
	if (by_id && context->graph_launches.n > 0)
		result = starts_in_order(launches, grids, events, n, &by_id);
	if (result < 0)
		return result;
	if (by_id) {
		for (size_t i = 0; i < n; i++)
			pair_up(launches, grids[i].index, &events[i], WARPSPAN_JOIN_ID);
		return WARPSPAN_OK;
	}
	if (n > 1)
		qsort(grids, n, sizeof(*grids), by_grid_index); /* they are numbered by start */
	result = check_sites(launches, grids, events, n, &good);
	if (result == WARPSPAN_OK)
		pair_by_start(context, grids, events, n, good);
	return result;
}

/* --- a context -------------------------------------------------------------------------------- */

/* Grids of one shape whose launches are not certain. */
static void leave_open(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
		       size_t n_hosts, bool from_graphs)
{
	const uint32_t kernel = from_graphs ? MAP_NONE : only_kernel(launches, hosts, n_hosts);
	enum warpspan_phase phase = WARPSPAN_OWN;
	for (size_t i = 0; i < n_hosts && !from_graphs; i++) {
		const struct event event = join_event_of_launch(launches, hosts[i].index);
		if (i > 0 && event.phase != phase)
			phase = WARPSPAN_OWN;
		else
			phase = event.phase;
		if (phase == WARPSPAN_OWN)
			break;
	}
	for (size_t i = 0; i < n_grids; i++) {
		struct warpspan_grid *grid = &launches->grids.items[grids[i].index];
		grid->join = from_graphs || n_hosts > n_grids ? WARPSPAN_JOIN_AMBIGUOUS : WARPSPAN_JOIN_NONE;
		if (grid->join == WARPSPAN_JOIN_AMBIGUOUS)
			grid->phase = phase;
		if (kernel != MAP_NONE)
			grid->kernel = kernel;
	}
}

/* The same rules where not all launches of the shape are the session's. */
static int join_foreign_by_shape(struct context *context, struct side *grids, size_t n_grids, const struct side *hosts,
				 size_t n_hosts)
{
	struct launches *launches = context->launches;
	const bool graphs = context->graph_launches.n > 0;
	size_t n_held;
	const struct held *held = join_held_part(context, grids[0].shape, &n_held);
	uint64_t n_from_graphs = 0;
	bool certain = !graphs || join_count_held(context, held, n_held, &n_from_graphs);
	certain = certain && n_from_graphs < n_grids;
	const size_t n_direct = certain ? n_grids - (size_t)n_from_graphs : 0;
	struct side *chosen = calloc(n_direct + 1, sizeof(*chosen));
	event_array events = { 0 };
	int result = chosen != NULL ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
	if (result == WARPSPAN_OK && certain)
		result = choose_hosts(launches, n_from_graphs == 0 ? grids : NULL, n_direct, hosts, n_hosts, chosen,
				      &certain);
	for (size_t i = 0; i < n_grids && n_from_graphs > 0; i++)
		certain = certain && launches->grids.items[grids[i].index].match != WARPSPAN_MATCH_UNSURE;
	if (result == WARPSPAN_OK && certain && n_from_graphs > 0)
		certain = join_find_shares(context, held, n_held, n_from_graphs);
	if (result == WARPSPAN_OK && certain)
		result = join_list_events(context, chosen, n_direct, n_from_graphs > 0, held, n_held, &events);
	if (result == WARPSPAN_OK && certain)
		result = pair_in_order(context, grids, events.items, n_grids);
	else
		leave_open(launches, grids, n_grids, hosts, n_hosts, graphs);
	free(chosen);
	free(events.items);
	return result;
}

/* Rules 2, 3 and 4, for the grids and launches of one shape. */
static int join_by_shape(struct context *context, struct side *grids, size_t n_grids, const struct side *hosts,
			 size_t n_hosts)
{
	struct launches *launches = context->launches;
	const bool whole = launches->complete && !launches->lost_warps;
	if (any_foreign(launches, hosts, n_hosts))
		return join_foreign_by_shape(context, grids, n_grids, hosts, n_hosts);
	const uint32_t kernel = only_kernel(launches, hosts, n_hosts);
	const bool more = n_grids > n_hosts && context->graph_launches.n > 0;
	const bool prefix = n_hosts > n_grids && kernel != MAP_NONE && !launches->complete && !launches->lost_warps;
	size_t n_held;
	const struct held *held = join_held_part(context, grids[0].shape, &n_held);
	const bool equal = n_grids == n_hosts && n_held == 0;
	bool pair =
		equal || prefix ||
		(more && whole && !context->late_graphs && join_find_shares(context, held, n_held, n_grids - n_hosts));
	for (size_t i = 0; i < n_grids && more; i++)
		pair = pair && launches->grids.items[grids[i].index].match != WARPSPAN_MATCH_UNSURE;
	event_array events = { 0 };
	int result = pair ? join_list_events(context, hosts, n_hosts, more, held, n_held, &events) : WARPSPAN_OK;
	if (!pair)
		leave_open(launches, grids, n_grids, hosts, n_hosts, more);
	if (result == WARPSPAN_OK && pair)
		result = pair_in_order(context, grids, events.items, n_grids);
	free(events.items);
	return result;
}

/* Did two threads of the program launch at the same time? Then the order of the log need not be that of the ids. */
static bool threads_overlap(const struct launches *launches, const struct side *hosts, size_t n_hosts)
{
	uint64_t end_ns = 0; /* of the latest to return so far */
	uint32_t thread = 0;
	for (size_t i = 0; i < n_hosts; i++) {
		const struct warpspan_launch *launch = &launches->log[hosts[i].index];
		if (i > 0 && launch->thread != thread && launch->begin_ns < end_ns)
			return true;
		if (i == 0 || launch->end_ns >= end_ns) {
			end_ns = launch->end_ns;
			thread = launch->thread;
		}
	}
	return false;
}

/* The place in the log of a launch that a grid was joined with. */
static size_t place_of_host(const struct side *hosts, size_t n_hosts, uint32_t host)
{
	/* hosts are in the order of numbers, and so is the log */
	size_t low = 0, high = n_hosts;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (hosts[middle].index < host)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Rule 5, with both sides in order. */
static int join_by_gaps(struct launches *launches, const struct side *grids, size_t n_grids, const struct side *hosts,
			size_t n_hosts)
{
	struct align_grid *wanted = calloc(n_grids + 1, sizeof(*wanted));
	struct shape *shapes = calloc(n_hosts + 1, sizeof(*shapes));
	size_t *found = calloc(n_grids + 1, sizeof(*found));
	int aligned = wanted != NULL && shapes != NULL && found != NULL ? 0 : -1;
	for (size_t i = 0; i < n_hosts && aligned == 0; i++)
		shapes[i] = hosts[i].shape;
	for (size_t i = 0; i < n_grids && aligned == 0; i++) {
		const struct warpspan_grid *grid = &launches->grids.items[grids[i].index];
		wanted[i] =
			(struct align_grid){ grids[i].shape, grid->grid_id,
					     grid->host == WARPSPAN_NONE ? ALIGN_NONE
									 : place_of_host(hosts, n_hosts, grid->host) };
	}
	if (aligned == 0)
		aligned = align_grids(wanted, n_grids, shapes, n_hosts, found);
	for (size_t i = 0; i < n_grids && aligned == 0; i++) {
		if (found[i] == ALIGN_NONE || launches->grids.items[grids[i].index].host != WARPSPAN_NONE)
			continue;
		const struct event event = join_event_of_launch(launches, hosts[found[i]].index);
		pair_up(launches, grids[i].index, &event, WARPSPAN_JOIN_ID);
	}
	free(wanted);
	free(shapes);
	free(found);
	return aligned < 0 ? WARPSPAN_NO_MEMORY : WARPSPAN_OK;
}

/* The grids of a context that no other rule has placed. */
static int join_rest(struct context *context, struct side *grids, size_t n_grids, struct side *hosts, size_t n_hosts)
{
	struct launches *launches = context->launches;
	bool by_id = true, rest = false;
	for (size_t i = 0; i < n_grids; i++) {
		const struct warpspan_grid *grid = &launches->grids.items[grids[i].index];
		by_id = by_id && grid->match == WARPSPAN_MATCH_GRID_ID;
		rest = rest || grid->host == WARPSPAN_NONE;
	}
	if (!rest || !by_id || n_hosts == 0 || context->graph_launches.n > 0)
		return WARPSPAN_OK;
	qsort(grids, n_grids, sizeof(*grids), by_context_and_order);
	qsort(hosts, n_hosts, sizeof(*hosts), by_context_and_order);
	if (threads_overlap(launches, hosts, n_hosts))
		return WARPSPAN_OK;
	return join_by_gaps(launches, grids, n_grids, hosts, n_hosts);
}

static int join_context(struct context *context, struct side *grids, size_t n_grids, struct side *hosts, size_t n_hosts)
{
	bool joined = false;
	int result = WARPSPAN_OK;
	if (context->graph_launches.n == 0 && n_hosts > 0 && any_foreign(context->launches, hosts, n_hosts))
		result = join_foreign_by_shift(context->launches, grids, n_grids, hosts, n_hosts, &joined);
	else if (context->graph_launches.n == 0)
		joined = join_by_shift(context->launches, grids, n_grids, hosts, n_hosts);
	if (joined || result < 0)
		return result;
	/* The contexts are equal in each part, so this sorts by shape. */
	qsort(grids, n_grids, sizeof(*grids), by_shape_and_order);
	if (n_hosts > 1)
		qsort(hosts, n_hosts, sizeof(*hosts), by_shape_and_order);
	for (size_t at = 0; at < n_grids && result == WARPSPAN_OK;) {
		size_t n_alike, n_candidates;
		shape_part(grids + at, n_grids - at, grids[at].shape, &n_alike);
		const size_t first = shape_part(hosts, n_hosts, grids[at].shape, &n_candidates);
		result = join_by_shape(context, grids + at, n_alike, n_candidates > 0 ? hosts + first : NULL,
				       n_candidates);
		at += n_alike;
	}
	return result == WARPSPAN_OK ? join_rest(context, grids, n_grids, hosts, n_hosts) : result;
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

/* --- all contexts ----------------------------------------------------------------------------- */

/* Is it a call that says something about the grids of its context? */
static bool concerns_grids(const struct launches *launches, const struct warpspan_host_call *call)
{
	if (call->result != 0 || call->end_ns < call->begin_ns)
		return call->kind == WARPSPAN_HOST_GRAPH_LAUNCH && call->result == 0;
	return call->kind == WARPSPAN_HOST_GRAPH_LAUNCH ||
	       (call->kind == WARPSPAN_HOST_SYNCHRONIZE && launches_waits_for_context(launches, call));
}

static int by_context_and_begin(const void *left, const void *right, void *opaque)
{
	const struct warpspan_host_call *calls = opaque;
	const struct warpspan_host_call *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
	if (a->context != b->context)
		return a->context < b->context ? -1 : 1;
	return a->begin_ns != b->begin_ns ? compare_u64(a->begin_ns, b->begin_ns) : compare_u64(a->number, b->number);
}

/* Indices of the calls that matter, by context and begin. */
static int sort_calls(const struct launches *launches, uint32_t **ret_calls, size_t *ret_n)
{
	uint32_t *calls = malloc(((size_t)launches->n_calls + 1) * sizeof(*calls));
	size_t n = 0;
	if (calls == NULL)
		return WARPSPAN_NO_MEMORY;
	for (uint32_t i = 0; i < launches->n_calls; i++)
		if (concerns_grids(launches, &launches->calls[i]))
			calls[n++] = i;
	if (n > 1)
		qsort_r(calls, n, sizeof(*calls), by_context_and_begin, (void *)(uintptr_t)launches->calls);
	*ret_calls = calls;
	*ret_n = n;
	return WARPSPAN_OK;
}

static int join_each_context(struct launches *launches, side_array *grids, side_array *hosts, const uint32_t *calls,
			     size_t n_calls)
{
	int result = WARPSPAN_OK;
	for (size_t at = 0, call = 0; result == WARPSPAN_OK && at < grids->n;) {
		struct context context = { .launches = launches };
		const uint32_t number = grids->items[at].context;
		size_t n_grids, n_hosts, call_end;
		context_part(grids, number, &n_grids);
		const size_t first = context_part(hosts, number, &n_hosts);
		while (call < n_calls && launches->calls[calls[call]].context < number)
			call++;
		for (call_end = call; call_end < n_calls && launches->calls[calls[call_end]].context == number;)
			call_end++;
		result = join_look_at_calls(&context, calls + call, call_end - call);
		if (result == WARPSPAN_OK)
			result = join_context(&context, grids->items + at, n_grids,
					      n_hosts > 0 ? hosts->items + first : NULL, n_hosts);
		free(context.graph_launches.items);
		free(context.waits.items);
		free(context.graphs.items);
		free(context.held.items);
		map_finish(&context.graphs_by_handle);
		call = call_end;
		at += n_grids;
	}
	return result;
}

int join_grids(struct launches *launches)
{
	side_array grids = { 0 }, hosts = { 0 };
	uint32_t *calls = NULL;
	size_t n_calls = 0;
	int result = collect_sides(launches, &grids, &hosts);
	if (result == WARPSPAN_OK)
		result = sort_calls(launches, &calls, &n_calls);
	if (result == WARPSPAN_OK)
		result = join_each_context(launches, &grids, &hosts, calls, n_calls);
	free(calls);
	free(grids.items);
	free(hosts.items);
	return result;
}

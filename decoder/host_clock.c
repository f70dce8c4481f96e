/* SPDX-License-Identifier: Apache-2.0
 *
 * host_clock.c - bounds the offset between the host's clock and a device's from what was recorded anyway.
 *
 * A grid cannot start before the call that launched it began: offset <= start - begin, at the moment of that begin. A
 * synchronisation cannot return before the grids it covers have ended: offset >= end - return, at the moment of the
 * return. (offset: device time less host time; each bound is loosened by the error of the device's own clock.)
 *
 *   offset   u     u       u        u     what launches allow from above
 *            - - - - - - - - - - - - -    the middle is told, half the width is the error
 *                l      l          l      what synchronisations allow from below
 *
 * Where no single offset passes between all of them the clocks drift: then the offset may change, by no more than a
 * given share of the time, the smallest of a few that suffices. The bounds, each spread over time at that rate, leave a
 * channel; its middle is a continuous line of pieces. Where even the greatest rate that two clocks of one machine
 * differ by leaves no channel, they do not measure the same time at all (a simulated device): that is said, and the
 * first launch is put at the start of its grid.
 *
 * What a synchronisation covers is taken conservatively: a bound that is missing costs accuracy, a wrong one the truth.
 * Grids that were joined to their launches by order, not by id, count only where an exchange would not matter.
 */
#include "host_clock.h"

#include "map.h"
#include "result.h"

#include <math.h>

#define BUCKETS 4096u /* stretches of time of which only the tightest bounds are kept */

/* Shares by which the rates may differ, tried in turn. Quartz is within tens of ppm; NTP slews by up to 500. */
static const double drifts[] = { 0, 1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4 };
#define N_DRIFTS (sizeof(drifts) / sizeof(drifts[0]))

#define STREAM_LEGACY     1u /* CU_STREAM_LEGACY; 0 means it, too */
#define STREAM_PER_THREAD 2u /* CU_STREAM_PER_THREAD */

struct bound {
	uint32_t device;
	bool upper;
	uint64_t host_ns;
	uint64_t device_ns; /* offset <= (upper) or >= device_ns - host_ns */
};

/* A grid whose launch is known, by the time that call returned. */
struct returned {
	uint64_t returned_ns;
	uint32_t grid;
};

enum reach { REACH_NONE, REACH_CONTEXT, REACH_STREAM };

struct waiting {
	uint64_t begin_ns, end_ns;
	uint64_t stream;
	uint32_t context, thread;
	enum reach reach;
};

/* The latest end among the grids a synchronisation of this context or stream covers. */
struct latest {
	uint32_t device;
	uint64_t exact_ns; /* of those whose launch is certain */
	uint64_t any_ns;
};

struct collector {
	struct host_clocks *clocks;
	ARRAY(struct bound) bounds;
	ARRAY(struct returned) returned;
	ARRAY(struct waiting) waiting;
	ARRAY(struct latest) latest;
	struct map latest_by_key;
	/* of all launches: to know whether one was under way during a synchronisation */
	uint64_t *begins, *returns;
	size_t n_calls;
};

/* floor(), which would make libm a dependency of every program we are in. |x| stays below 2^63. */
static int64_t whole_below(double x)
{
	const int64_t whole = (int64_t)x;
	return whole - ((double)whole > x);
}

/* --- what was recorded ------------------------------------------------------------------------ */

static uint64_t error_of_device(const struct host_clocks *clocks, uint32_t device)
{
	for (uint32_t i = 0; i < clocks->n_fits; i++)
		if (clocks->fits[i].device == device)
			return clocks->fits[i].error_ns < 1e15 ? (uint64_t)clocks->fits[i].error_ns + 1
							       : 1000000000000000u;
	return 0;
}

static bool ends_in(const char *text, const char *end)
{
	const size_t n = strlen(text), n_end = strlen(end);
	return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Names of entry points that take 0 for the thread's own default stream. */
static bool is_per_thread(const char *name)
{
	return ends_in(name, "_ptsz") || ends_in(name, "_ptds");
}

static const char *name_of(const struct host_clocks *clocks, uint32_t api)
{
	uint32_t low = 0, high = clocks->n_hooks;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (clocks->hooks[middle].number < api)
			low = middle + 1;
		else
			high = middle;
	}
	return low < clocks->n_hooks && clocks->hooks[low].number == api ? clocks->hooks[low].name : "";
}

static uint64_t plain_stream(uint64_t stream, bool per_thread)
{
	if (stream != 0)
		return stream;
	return per_thread ? STREAM_PER_THREAD : STREAM_LEGACY;
}

/* Which earlier grids have ended when the call returns. Of copies only those to the host that block: others may return
 * before they are done. What an event covers is not recorded. */
static enum reach reach_of(const struct warpspan_host_call *call, const char *name)
{
	if (call->kind == WARPSPAN_HOST_SYNCHRONIZE && strncmp(name, "cuCtxSynchronize", 16) == 0)
		return REACH_CONTEXT;
	if (call->kind == WARPSPAN_HOST_SYNCHRONIZE && strncmp(name, "cuStreamSynchronize", 19) == 0)
		return REACH_STREAM;
	if (call->kind == WARPSPAN_HOST_COPY && strstr(name, "toH") != NULL && strstr(name, "Async") == NULL)
		return REACH_STREAM;
	return REACH_NONE;
}

static int add_bound(struct collector *collector, bool upper, uint32_t device, uint64_t host_ns, uint64_t device_ns)
{
	struct bound *bound = array_add(&collector->bounds);
	if (bound == NULL)
		return WARPSPAN_NO_MEMORY;
	*bound = (struct bound){ device, upper, host_ns, device_ns };
	return WARPSPAN_OK;
}

/* The call that launched a grid: begin, return (0: it had not), stream, thread. False: not known. */
static bool launch_of(const struct host_clocks *clocks, const struct warpspan_grid *grid, struct waiting *ret_call)
{
	if (grid->host != WARPSPAN_NONE) {
		const struct warpspan_launch *launch = &clocks->log[grid->host];
		*ret_call = (struct waiting){ launch->begin_ns, launch->end_ns, plain_stream(launch->stream, false),
					      grid->context,    launch->thread, REACH_NONE };
		return true;
	}
	if (grid->call == WARPSPAN_NONE)
		return false;
	const struct warpspan_host_call *call = &clocks->calls[grid->call];
	const bool per_thread = is_per_thread(name_of(clocks, call->api));
	*ret_call = (struct waiting){ call->begin_ns, call->end_ns, plain_stream(call->stream, per_thread),
				      grid->context,  call->thread, REACH_NONE };
	return true;
}

static int by_return(const void *left, const void *right)
{
	const struct returned *a = left, *b = right;
	if (a->returned_ns != b->returned_ns)
		return a->returned_ns < b->returned_ns ? -1 : 1;
	return (a->grid > b->grid) - (a->grid < b->grid);
}

/* Upper bounds, and the grids a synchronisation may cover. */
static int take_grids(struct collector *collector)
{
	const struct host_clocks *clocks = collector->clocks;
	for (uint32_t i = 0; i < clocks->n_grids; i++) {
		const struct warpspan_grid *grid = &clocks->grids[i];
		struct waiting launch;
		if (!launch_of(clocks, grid, &launch))
			continue;
		const uint64_t error_ns = error_of_device(clocks, grid->device);
		int result = add_bound(collector, true, grid->device, launch.begin_ns,
				       time_plus(grid->start_ns, (int64_t)error_ns));
		if (result < 0)
			return result;
		if (launch.end_ns == 0 || grid->n_open > 0 || grid->match == WARPSPAN_MATCH_UNSURE)
			continue;
		struct returned *returned = array_add(&collector->returned);
		if (returned == NULL)
			return WARPSPAN_NO_MEMORY;
		*returned = (struct returned){ launch.end_ns, i };
	}
	if (collector->returned.n > 1)
		qsort(collector->returned.items, collector->returned.n, sizeof(*collector->returned.items), by_return);
	return WARPSPAN_OK;
}

static int by_begin(const void *left, const void *right)
{
	const struct waiting *a = left, *b = right;
	if (a->begin_ns != b->begin_ns)
		return a->begin_ns < b->begin_ns ? -1 : 1;
	return (a->end_ns > b->end_ns) - (a->end_ns < b->end_ns);
}

static int take_synchronisations(struct collector *collector)
{
	const struct host_clocks *clocks = collector->clocks;
	for (uint32_t i = 0; i < clocks->n_calls; i++) {
		const struct warpspan_host_call *call = &clocks->calls[i];
		const char *name = name_of(clocks, call->api);
		const enum reach reach = reach_of(call, name);
		if (reach == REACH_NONE || call->result != 0 || call->end_ns < call->begin_ns || call->context == 0)
			continue;
		struct waiting *waiting = array_add(&collector->waiting);
		if (waiting == NULL)
			return WARPSPAN_NO_MEMORY;
		*waiting =
			(struct waiting){ call->begin_ns, call->end_ns, plain_stream(call->stream, is_per_thread(name)),
					  call->context,  call->thread, reach };
	}
	if (collector->waiting.n > 1)
		qsort(collector->waiting.items, collector->waiting.n, sizeof(*collector->waiting.items), by_begin);
	return WARPSPAN_OK;
}

static int by_value(const void *left, const void *right)
{
	const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

/* When launches of all kinds began and returned, each sorted. */
static int take_calls(struct collector *collector)
{
	const struct host_clocks *clocks = collector->clocks;
	const size_t room = (size_t)clocks->n_log + clocks->n_calls + 1;
	size_t n = 0;
	collector->begins = malloc(room * sizeof(*collector->begins));
	collector->returns = malloc(room * sizeof(*collector->returns));
	if (collector->begins == NULL || collector->returns == NULL)
		return WARPSPAN_NO_MEMORY;
	for (uint32_t i = 0; i < clocks->n_log; i++, n++) {
		collector->begins[n] = clocks->log[i].begin_ns;
		collector->returns[n] = clocks->log[i].end_ns != 0 ? clocks->log[i].end_ns : UINT64_MAX;
	}
	for (uint32_t i = 0; i < clocks->n_calls; i++) {
		if (clocks->calls[i].kind != WARPSPAN_HOST_GRAPH_LAUNCH)
			continue;
		collector->begins[n] = clocks->calls[i].begin_ns;
		collector->returns[n++] = clocks->calls[i].end_ns != 0 ? clocks->calls[i].end_ns : UINT64_MAX;
	}
	if (n > 1) {
		qsort(collector->begins, n, sizeof(*collector->begins), by_value);
		qsort(collector->returns, n, sizeof(*collector->returns), by_value);
	}
	collector->n_calls = n;
	return WARPSPAN_OK;
}

static size_t count_up_to(const uint64_t *times, size_t n, uint64_t most)
{
	size_t low = 0, high = n;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (times[middle] <= most)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Did every launch that began before the synchronisation returned return before it began? */
static bool nothing_under_way(const struct collector *collector, const struct waiting *waiting)
{
	return count_up_to(collector->begins, collector->n_calls, waiting->end_ns) ==
	       count_up_to(collector->returns, collector->n_calls, waiting->begin_ns);
}

/* --- lower bounds ----------------------------------------------------------------------------- */

/* One key for a context, others for its streams; the default streams of threads are told apart. No stream has the
 * handle UINT64_MAX. */
static void key_of(const struct waiting *call, enum reach reach, uint64_t *ret_a, uint64_t *ret_b)
{
	const bool per_thread = reach == REACH_STREAM && call->stream == STREAM_PER_THREAD;
	*ret_a = (uint64_t)(per_thread ? call->thread : 0) << 32 | call->context;
	*ret_b = reach == REACH_STREAM ? call->stream : UINT64_MAX;
}

static int note_end(struct collector *collector, const struct waiting *launch, const struct warpspan_grid *grid,
		    enum reach reach)
{
	const bool exact = grid->match == WARPSPAN_MATCH_GRID_ID && grid->host != WARPSPAN_NONE;
	uint64_t a, b;
	key_of(launch, reach, &a, &b);
	uint32_t index = map_find(&collector->latest_by_key, a, b);
	if (index == MAP_NONE) {
		struct latest *added = array_add(&collector->latest);
		index = (uint32_t)collector->latest.n - 1;
		if (added == NULL || map_set(&collector->latest_by_key, a, b, index) < 0)
			return WARPSPAN_NO_MEMORY;
		added->device = grid->device;
	}
	struct latest *latest = &collector->latest.items[index];
	if (exact && grid->end_ns > latest->exact_ns)
		latest->exact_ns = grid->end_ns;
	if (grid->end_ns > latest->any_ns)
		latest->any_ns = grid->end_ns;
	return WARPSPAN_OK;
}

static int bound_below(struct collector *collector, const struct waiting *waiting)
{
	uint64_t a, b;
	key_of(waiting, waiting->reach, &a, &b);
	const uint32_t index = map_find(&collector->latest_by_key, a, b);
	if (index == MAP_NONE)
		return WARPSPAN_OK;
	const struct latest *latest = &collector->latest.items[index];
	const bool any = waiting->reach == REACH_CONTEXT && nothing_under_way(collector, waiting);
	const uint64_t end_ns = any ? latest->any_ns : latest->exact_ns;
	if (end_ns == 0)
		return WARPSPAN_OK;
	return add_bound(collector, false, latest->device, waiting->end_ns,
			 time_less(end_ns, (int64_t)error_of_device(collector->clocks, latest->device)));
}

/* Goes through the synchronisations in the order they began, with the grids whose launches had returned by then. */
static int find_lower_bounds(struct collector *collector)
{
	size_t next = 0;
	int result = WARPSPAN_OK;
	for (size_t i = 0; i < collector->waiting.n && result == WARPSPAN_OK; i++) {
		const struct waiting *waiting = &collector->waiting.items[i];
		for (; next < collector->returned.n && result == WARPSPAN_OK; next++) {
			const struct returned *returned = &collector->returned.items[next];
			const struct warpspan_grid *grid = &collector->clocks->grids[returned->grid];
			struct waiting launch;
			if (returned->returned_ns > waiting->begin_ns)
				break;
			launch_of(collector->clocks, grid, &launch);
			result = note_end(collector, &launch, grid, REACH_CONTEXT);
			if (result == WARPSPAN_OK)
				result = note_end(collector, &launch, grid, REACH_STREAM);
		}
		if (result == WARPSPAN_OK)
			result = bound_below(collector, waiting);
	}
	return result;
}

/* --- the offset ------------------------------------------------------------------------------- */

/* A moment with what it allows, relative to the fit's reference. */
struct point {
	uint64_t host_ns;
	double upper, lower; /* as bounded there; infinite: not at all */
	double most, least;  /* with what the others allow */
};

struct channel {
	struct point *points;
	size_t n;
	int64_t reference_ns; /* what the doubles are relative to */
};

static double lesser(double a, double b)
{
	return a < b ? a : b;
}

static double greater(double a, double b)
{
	return a > b ? a : b;
}

/* Spreads each bound over time at the given rate. True: something is left everywhere. */
static bool spread(struct channel *channel, double drift)
{
	struct point *points = channel->points;
	for (size_t i = 0; i < channel->n; i++) {
		const double room = i > 0 ? drift * (double)(points[i].host_ns - points[i - 1].host_ns) : 0;
		points[i].most = i > 0 ? lesser(points[i].upper, points[i - 1].most + room) : points[i].upper;
		points[i].least = i > 0 ? greater(points[i].lower, points[i - 1].least - room) : points[i].lower;
	}
	for (size_t i = channel->n - 1; i > 0; i--) {
		const double room = drift * (double)(points[i].host_ns - points[i - 1].host_ns);
		points[i - 1].most = lesser(points[i - 1].most, points[i].most + room);
		points[i - 1].least = greater(points[i - 1].least, points[i].least - room);
	}
	for (size_t i = 0; i < channel->n; i++)
		if (points[i].least > points[i].most)
			return false;
	return true;
}

/* Bounds of one device, sorted by time, as points: of a stretch of time only the tightest. */
static int make_points(struct channel *channel, const struct bound *bounds, size_t n)
{
	const uint64_t first_ns = bounds[0].host_ns;
	const uint64_t step_ns = (bounds[n - 1].host_ns - first_ns) / BUCKETS + 1;
	const size_t room = n < 2 * BUCKETS + 2 ? n : 2 * BUCKETS + 2;
	channel->points = malloc(room * sizeof(*channel->points));
	if (channel->points == NULL)
		return WARPSPAN_NO_MEMORY;
	channel->reference_ns = (int64_t)(bounds[0].device_ns - bounds[0].host_ns);
	for (size_t at = 0, end; at < n; at = end) {
		const struct bound *tightest[2] = { NULL, NULL }; /* lower, upper */
		const uint64_t bucket = (bounds[at].host_ns - first_ns) / step_ns;
		for (end = at; end < n && (bounds[end].host_ns - first_ns) / step_ns == bucket; end++) {
			const struct bound *bound = &bounds[end], **best = &tightest[bound->upper];
			const int64_t offset = (int64_t)(bound->device_ns - bound->host_ns);
			const int64_t before = *best != NULL ? (int64_t)((*best)->device_ns - (*best)->host_ns) : 0;
			if (*best == NULL || (bound->upper ? offset < before : offset > before))
				*best = bound;
		}
		const bool upper_first = tightest[1] != NULL && (tightest[0] == NULL || tightest[1] < tightest[0]);
		for (int k = 0; k < 2; k++) {
			const struct bound *bound = tightest[upper_first ? 1 - k : k];
			if (bound == NULL)
				continue;
			const uint64_t offset = bound->device_ns - bound->host_ns - (uint64_t)channel->reference_ns;
			const double value = (double)(int64_t)offset;
			channel->points[channel->n++] = (struct point){ bound->host_ns, bound->upper ? value : INFINITY,
									bound->upper ? -INFINITY : value, 0, 0 };
		}
	}
	return WARPSPAN_OK;
}

static int add_knot(struct host_clocks *clocks, struct warpspan_host_clock *clock, uint64_t host_ns, int64_t offset_ns)
{
	struct warpspan_clock_knot *knot = array_add(&clocks->knots);
	if (knot == NULL)
		return WARPSPAN_NO_MEMORY;
	*knot = (struct warpspan_clock_knot){ host_ns, offset_ns };
	if (clock->n_knots++ == 0)
		clock->offset_ns = offset_ns;
	return WARPSPAN_OK;
}

/* The middle of the channel. Its width may be of any size in a forged capture, never in a real one. */
static int64_t middle_of(const struct channel *channel, const struct point *point)
{
	const double middle = (point->most + point->least) / 2;
	const double kept = middle > 4e18 ? 4e18 : middle < -4e18 ? -4e18 : middle;
	return (int64_t)((uint64_t)channel->reference_ns + (uint64_t)whole_below(kept));
}

static int take_middle(struct host_clocks *clocks, struct warpspan_host_clock *clock, const struct channel *channel)
{
	int result = WARPSPAN_OK;
	clock->agrees = clock->bounded = true;
	for (size_t i = 0; i < channel->n && result == WARPSPAN_OK; i++) {
		const struct point *point = &channel->points[i];
		clock->error_ns = greater(clock->error_ns, (point->most - point->least) / 2 + 1);
		if (i > 0 && (clock->drift == 0 || point->host_ns == point[-1].host_ns))
			continue;
		result = add_knot(clocks, clock, point->host_ns, middle_of(channel, point));
	}
	return result;
}

/* Without a synchronisation: as early as the launches allow, which is as close as a launch can be to its grid. */
static int take_upper(struct host_clocks *clocks, struct warpspan_host_clock *clock, struct channel *channel)
{
	clock->agrees = spread(channel, 0);
	struct point point = channel->points[0];
	point.least = point.most;
	return add_knot(clocks, clock, point.host_ns, middle_of(channel, &point));
}

static const struct bound *first_launch(const struct bound *bounds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bounds[i].upper)
			return &bounds[i];
	return &bounds[0];
}

/* The clock of one device. */
static int fit(struct host_clocks *clocks, const struct bound *bounds, size_t n)
{
	struct channel channel = { 0 };
	struct warpspan_host_clock clock = { .device = bounds[0].device, .first_knot = (uint32_t)clocks->knots.n };
	for (size_t i = 0; i < n; i++)
		*(bounds[i].upper ? &clock.n_upper : &clock.n_lower) += 1;
	int result = make_points(&channel, bounds, n);
	size_t k = 0;
	while (result == WARPSPAN_OK && k < N_DRIFTS && !spread(&channel, drifts[k]))
		k++;
	if (result == WARPSPAN_OK && clock.n_lower == 0) {
		result = take_upper(clocks, &clock, &channel);
	} else if (result == WARPSPAN_OK && k < N_DRIFTS) {
		clock.drift = drifts[k];
		result = take_middle(clocks, &clock, &channel);
	} else if (result == WARPSPAN_OK) {
		const struct bound *first = first_launch(bounds, n);
		result = add_knot(clocks, &clock, first->host_ns, (int64_t)(first->device_ns - first->host_ns));
	}
	free(channel.points);
	if (result < 0)
		return result;
	struct warpspan_host_clock *added = array_add(&clocks->all);
	if (added == NULL)
		return WARPSPAN_NO_MEMORY;
	*added = clock;
	return WARPSPAN_OK;
}

static int by_device_and_time(const void *left, const void *right)
{
	const struct bound *a = left, *b = right;
	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (a->host_ns != b->host_ns)
		return a->host_ns < b->host_ns ? -1 : 1;
	return a->upper != b->upper ? a->upper - b->upper
				    : (a->device_ns > b->device_ns) - (a->device_ns < b->device_ns);
}

static int fit_all(struct collector *collector)
{
	struct bound *bounds = collector->bounds.items;
	const size_t n = collector->bounds.n;
	int result = WARPSPAN_OK;
	if (n > 1)
		qsort(bounds, n, sizeof(*bounds), by_device_and_time);
	for (size_t at = 0, end; at < n && result == WARPSPAN_OK; at = end) {
		for (end = at; end < n && bounds[end].device == bounds[at].device;)
			end++;
		result = fit(collector->clocks, bounds + at, end - at);
	}
	return result;
}

int host_clocks_fit(struct host_clocks *clocks)
{
	static int (*const steps[])(struct collector *) = { take_grids, take_synchronisations, take_calls,
							    find_lower_bounds, fit_all };
	struct collector collector = { .clocks = clocks };
	int result = WARPSPAN_OK;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && result == WARPSPAN_OK; i++)
		result = steps[i](&collector);
	free(collector.bounds.items);
	free(collector.returned.items);
	free(collector.waiting.items);
	free(collector.latest.items);
	map_finish(&collector.latest_by_key);
	free(collector.begins);
	free(collector.returns);
	return result;
}

void host_clocks_finish(struct host_clocks *clocks)
{
	free(clocks->all.items);
	free(clocks->knots.items);
	memset(clocks, 0, sizeof(*clocks));
}

/* --- from one clock to the other -------------------------------------------------------------- */

/* Differences and sums that wrap instead of being undefined: only forged captures have such numbers. */
static int64_t change_between(const struct warpspan_clock_knot *knot)
{
	return (int64_t)((uint64_t)knot[1].offset_ns - (uint64_t)knot->offset_ns);
}

static int64_t time_shifted(int64_t time, int64_t by)
{
	return (int64_t)((uint64_t)time + (uint64_t)by);
}

uint64_t host_clock_to_device(const struct warpspan_clock_knot *knots, uint32_t n_knots, uint64_t host_ns)
{
	uint32_t low = 0, high = n_knots;
	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;
		if (knots[middle].host_ns <= host_ns)
			low = middle;
		else
			high = middle;
	}
	const struct warpspan_clock_knot *knot = &knots[low];
	int64_t offset_ns = knot->offset_ns;
	if (low + 1 < n_knots && host_ns > knot->host_ns) {
		const double share = (double)(host_ns - knot->host_ns) / (double)(knot[1].host_ns - knot->host_ns);
		offset_ns = time_shifted(offset_ns, whole_below(share * (double)change_between(knot)));
	}
	return time_plus(host_ns, offset_ns);
}

uint64_t host_clock_to_host(const struct warpspan_clock_knot *knots, uint32_t n_knots, uint64_t device_ns)
{
	uint32_t low = 0, high = n_knots;
	while (high - low > 1) {
		const uint32_t middle = low + (high - low) / 2;
		if (time_plus(knots[middle].host_ns, knots[middle].offset_ns) <= device_ns)
			low = middle;
		else
			high = middle;
	}
	const struct warpspan_clock_knot *knot = &knots[low];
	int64_t offset_ns = knot->offset_ns;
	const uint64_t start_ns = time_plus(knot->host_ns, offset_ns);
	if (low + 1 < n_knots && device_ns > start_ns) {
		const uint64_t end_ns = time_plus(knot[1].host_ns, knot[1].offset_ns);
		const double share =
			end_ns > start_ns ? (double)(device_ns - start_ns) / (double)(end_ns - start_ns) : 0;
		offset_ns = time_shifted(offset_ns, -whole_below(-share * (double)change_between(knot)));
	}
	return time_less(device_ns, offset_ns);
}

const struct warpspan_host_clock *host_clock_of(const struct warpspan_model *model, uint32_t device)
{
	for (uint32_t i = 0; i < model->n_host_clocks; i++)
		if (model->host_clocks[i].device == device)
			return &model->host_clocks[i];
	return NULL;
}

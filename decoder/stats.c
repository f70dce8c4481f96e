/* SPDX-License-Identifier: Apache-2.0
 *
 * stats.c - counts, sums and percentiles per region and per kernel. See stats.h.
 *
 * Two passes over the slices: the first counts, so that the second can lay out the durations of each region side by
 * side in one array, which is then sorted region by region. Memory: 8 bytes a slice, and as much again for the largest
 * region. Pure functions of the model; callable from any thread.
 */
#include "stats.h"

#include "map.h"

#include <stdlib.h>
#include <string.h>

#define N_DEPTHS    ((size_t)UINT16_MAX + 1)
#define N_SMS       ((size_t)UINT16_MAX + 1) /* the capture holds SM numbers of 16 bits */
#define RADIX_BITS  11u
#define RADIX       (1u << RADIX_BITS)
#define RADIX_LEAST 512u /* fewer numbers: qsort is as fast */

/* A slice that has begun and not ended where the walk over a track is. */
struct ancestor {
	uint32_t region;
	bool counts; /* its end was recorded: its time is in the region's total */
};

struct work {
	const struct warpspan_model *model;
	struct warpspan_stats *stats;
	uint64_t *first_duration; /* per region: where its durations start */
	uint64_t *durations;
	uint64_t *scratch;
	uint64_t *last_warp, *last_mark_warp; /* per region: the last warp counted for it, from 1 */
	struct ancestor *ancestors;           /* by depth */
	size_t n_ancestors;
	uint32_t *n_around;   /* per region: how many of the ancestors that count are of it */
	uint32_t *grid_order; /* grids by kernel, then by start */
	uint8_t *sm_seen;
};

double warpspan_mark_value(const struct warpspan_mark *mark)
{
	float f;

	switch (mark->kind) {
	case WARPSPAN_KIND_VALUE_U32:
		return mark->bits;
	case WARPSPAN_KIND_VALUE_I32:
		return (int32_t)mark->bits;
	case WARPSPAN_KIND_VALUE_F32:
		memcpy(&f, &mark->bits, sizeof(f));
		return (double)f;
	default:
		return 0;
	}
}

struct warpspan_stats *warpspan_stats_destroy(struct warpspan_stats *stats)
{
	if (!stats)
		return NULL;
	free(stats->regions);
	free(stats->kernels);
	free(stats->kernel_order);
	free(stats->rows);
	free(stats->mark_rows);
	free(stats);
	return NULL;
}

static void work_finish(struct work *work)
{
	warpspan_stats_destroy(work->stats);
	free(work->first_duration);
	free(work->durations);
	free(work->scratch);
	free(work->last_warp);
	free(work->last_mark_warp);
	free(work->ancestors);
	free(work->n_around);
	free(work->grid_order);
	free(work->sm_seen);
}

/* calloc() that gives a pointer for 0 elements too, so that NULL means one thing. */
static void *allocate(uint64_t n, size_t bytes)
{
	if (n > SIZE_MAX / 2 / bytes)
		return NULL;
	return calloc(n ? (size_t)n : 1, bytes);
}

static bool work_init(struct work *work, const struct warpspan_model *model)
{
	*work = (struct work){ .model = model, .stats = calloc(1, sizeof(*work->stats)) };
	if (!work->stats)
		return false;
	struct warpspan_stats *stats = work->stats;

	stats->regions = allocate(model->n_regions, sizeof(*stats->regions));
	stats->kernels = allocate(model->n_kernels, sizeof(*stats->kernels));
	stats->kernel_order = allocate(model->n_kernels, sizeof(*stats->kernel_order));
	stats->rows = allocate(model->n_regions, sizeof(*stats->rows));
	stats->mark_rows = allocate(model->n_regions, sizeof(*stats->mark_rows));
	work->first_duration = allocate((uint64_t)model->n_regions + 1, sizeof(*work->first_duration));
	work->durations = allocate(model->n_slices, sizeof(*work->durations));
	work->last_warp = allocate(model->n_regions, sizeof(*work->last_warp));
	work->last_mark_warp = allocate(model->n_regions, sizeof(*work->last_mark_warp));
	work->ancestors = allocate(N_DEPTHS, sizeof(*work->ancestors));
	work->n_around = allocate(model->n_regions, sizeof(*work->n_around));
	work->grid_order = allocate(model->n_grids, sizeof(*work->grid_order));
	work->sm_seen = allocate(N_SMS / 8, 1);
	return stats->regions && stats->kernels && stats->kernel_order && stats->rows && stats->mark_rows &&
	       work->first_duration && work->durations && work->last_warp && work->last_mark_warp && work->ancestors &&
	       work->n_around && work->grid_order && work->sm_seen;
}

/* --- regions ---------------------------------------------------------------------------------- */

static void count_slices(struct work *work)
{
	const struct warpspan_model *model = work->model;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < model->n_slices; i++) {
		const struct warpspan_slice *slice = &model->slices[i];
		struct region_stats *region = &work->stats->regions[slice->region];

		if (slice->end == WARPSPAN_END_RECORDED)
			region->count++;
		else
			region->n_cut++;
	}
	for (uint32_t i = 0; i < model->n_regions; i++) {
		work->first_duration[i] = sum;
		sum += work->stats->regions[i].count;
		work->stats->regions[i].count = 0; /* counted again while the durations are laid out */
		work->stats->regions[i].parent = WARPSPAN_NONE;
	}
	work->first_duration[model->n_regions] = sum;
}

/* Leaves the slices of this depth and deeper. */
static void leave_slices(struct work *work, size_t depth)
{
	while (work->n_ancestors > depth) {
		const struct ancestor *left = &work->ancestors[--work->n_ancestors];

		work->n_around[left->region] -= left->counts;
	}
}

static void add_slice(struct work *work, const struct warpspan_slice *slice, uint64_t warp)
{
	struct region_stats *region = &work->stats->regions[slice->region];
	const bool counts = slice->end == WARPSPAN_END_RECORDED;

	leave_slices(work, slice->depth);
	if (work->last_warp[slice->region] == 0 && slice->depth > 0 &&
	    work->ancestors[slice->depth - 1].region != slice->region) {
		region->parent = work->ancestors[slice->depth - 1].region;
		region->level = (uint16_t)(work->stats->regions[region->parent].level + 1);
	}
	if (work->last_warp[slice->region] != warp) {
		work->last_warp[slice->region] = warp;
		region->n_warps++;
	}
	if (counts) {
		const uint64_t ns = slice->end_ns - slice->start_ns;

		work->durations[work->first_duration[slice->region] + region->count++] = ns;
		if (work->n_around[slice->region] == 0)
			region->total_ns += ns;
		else
			region->n_nested++;
	}
	work->ancestors[work->n_ancestors++] = (struct ancestor){ slice->region, counts };
	work->n_around[slice->region] += counts;
}

static void add_mark(struct work *work, const struct warpspan_mark *mark, uint64_t warp)
{
	struct region_stats *region = &work->stats->regions[mark->region];
	const double value = warpspan_mark_value(mark);

	if (work->last_mark_warp[mark->region] != warp) {
		work->last_mark_warp[mark->region] = warp;
		region->n_mark_warps++;
	}
	if (region->n_marks++ == 0)
		region->mark_kind = mark->kind;
	if (value != value) {
		region->n_nan++;
		return;
	}
	const uint64_t n = region->n_marks - region->n_nan;
	if (n == 1)
		region->value_min = region->value_max = value;
	region->value_min = value < region->value_min ? value : region->value_min;
	region->value_max = value > region->value_max ? value : region->value_max;
	/* the running mean: a sum of floats could overflow or swamp small ones; one infinity and it stays one */
	if (region->value_mean - region->value_mean != 0)
		region->value_mean += value;
	else
		region->value_mean += (value - region->value_mean) / (double)n;
}

static bool same_warp(const struct warpspan_track *a, const struct warpspan_track *b)
{
	return a->grid == b->grid && a->sm == b->sm && memcmp(a->block, b->block, sizeof(a->block)) == 0 &&
	       a->warp == b->warp;
}

static void add_tracks(struct work *work)
{
	const struct warpspan_model *model = work->model;
	uint64_t warp = 0;

	for (uint32_t i = 0; i < model->n_tracks; i++) {
		const struct warpspan_track *track = &model->tracks[i];

		if (i == 0 || !same_warp(track, track - 1))
			warp++;
		for (uint64_t j = 0; j < track->n_slices; j++)
			add_slice(work, &model->slices[track->first_slice + j], warp);
		leave_slices(work, 0);
		for (uint64_t j = 0; j < track->n_marks; j++)
			add_mark(work, &model->marks[track->first_mark + j], warp);
		work->stats->kernels[model->grids[track->grid].kernel].warp_ns += track->end_ns - track->start_ns;
	}
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Least significant digit first; digits in which all numbers agree cost one look. */
static void sort_u64(uint64_t *numbers, uint64_t *scratch, uint64_t n)
{
	uint64_t *from = numbers, *to = scratch;

	if (n < RADIX_LEAST) {
		qsort(numbers, n, sizeof(*numbers), compare_u64);
		return;
	}
	for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
		uint64_t place[RADIX] = { 0 };
		uint64_t sum = 0;

		for (uint64_t i = 0; i < n; i++)
			place[from[i] >> shift & (RADIX - 1)]++;
		if (place[from[0] >> shift & (RADIX - 1)] == n)
			continue;
		for (unsigned i = 0; i < RADIX; i++) {
			const uint64_t here = place[i];

			place[i] = sum;
			sum += here;
		}
		for (uint64_t i = 0; i < n; i++)
			to[place[from[i] >> shift & (RADIX - 1)]++] = from[i];
		uint64_t *swap = from;
		from = to;
		to = swap;
	}
	if (from != numbers)
		memcpy(numbers, from, n * sizeof(*numbers));
}

/* ceil(n * percent / 100) - 1, without overflow */
static uint64_t rank(uint64_t n, unsigned percent)
{
	return n / 100 * percent + (n % 100 * percent + 99) / 100 - 1;
}

static bool finish_regions(struct work *work)
{
	const struct warpspan_model *model = work->model;
	uint64_t most = 0;

	for (uint32_t i = 0; i < model->n_regions; i++)
		most = work->stats->regions[i].count > most ? work->stats->regions[i].count : most;
	work->scratch = allocate(most, sizeof(*work->scratch));
	if (!work->scratch)
		return false;
	for (uint32_t i = 0; i < model->n_regions; i++) {
		struct region_stats *region = &work->stats->regions[i];
		uint64_t *durations = work->durations + work->first_duration[i];

		if (region->count == 0)
			continue;
		sort_u64(durations, work->scratch, region->count);
		double sum = 0;
		for (uint64_t j = 0; j < region->count; j++)
			sum += (double)durations[j];
		region->min_ns = durations[0];
		region->max_ns = durations[region->count - 1];
		region->p50_ns = durations[rank(region->count, 50)];
		region->p99_ns = durations[rank(region->count, 99)];
		region->mean_ns = sum / (double)region->count;
		const uint64_t warp_ns = work->stats->kernels[model->regions[i].kernel].warp_ns;
		region->share = warp_ns ? (double)region->total_ns / (double)warp_ns : 0;
	}
	return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int by_kernel_and_time(const void *a, const void *b, void *context)
{
	const struct work *work = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct warpspan_region *rx = &work->model->regions[x], *ry = &work->model->regions[y];
	const struct region_stats *sx = &work->stats->regions[x], *sy = &work->stats->regions[y];

	if (rx->kernel != ry->kernel)
		return rx->kernel < ry->kernel ? -1 : 1;
	if (sx->total_ns != sy->total_ns)
		return sx->total_ns > sy->total_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static int by_kernel_and_place(const void *a, const void *b, void *context)
{
	const struct work *work = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct warpspan_region *rx = &work->model->regions[x], *ry = &work->model->regions[y];

	if (rx->kernel != ry->kernel)
		return rx->kernel < ry->kernel ? -1 : 1;
	const int file = strcmp(rx->file, ry->file);
	if (file != 0)
		return file;
	if (rx->line != ry->line)
		return rx->line < ry->line ? -1 : 1;
	return (x > y) - (x < y);
}

/* Reorders rows so that each region stands below its parent; `rows` comes by kernel and time, which siblings keep. */
static bool order_as_tree(struct work *work, uint32_t *rows, uint32_t n_rows)
{
	const uint32_t n = work->model->n_regions;
	uint32_t *first_child = allocate(n, sizeof(*first_child));
	uint32_t *next = allocate(n, sizeof(*next));
	uint32_t n_out = 0, first_root = WARPSPAN_NONE;

	if (!first_child || !next) {
		free(first_child);
		free(next);
		return false;
	}
	for (uint32_t i = 0; i < n; i++)
		first_child[i] = next[i] = WARPSPAN_NONE;
	for (uint32_t i = n_rows; i-- > 0;) {
		const uint32_t parent = work->stats->regions[rows[i]].parent;
		uint32_t *head = parent == WARPSPAN_NONE ? &first_root : &first_child[parent];

		next[rows[i]] = *head;
		*head = rows[i];
	}
	for (uint32_t at = first_root; at != WARPSPAN_NONE;) {
		rows[n_out++] = at;
		if (first_child[at] != WARPSPAN_NONE) {
			at = first_child[at];
			continue;
		}
		while (at != WARPSPAN_NONE && next[at] == WARPSPAN_NONE)
			at = work->stats->regions[at].parent;
		if (at != WARPSPAN_NONE)
			at = next[at];
	}
	free(first_child);
	free(next);
	return true;
}

static bool order_rows(struct work *work)
{
	struct warpspan_stats *stats = work->stats;
	const struct warpspan_model *model = work->model;
	uint32_t n_rows = 0, n_marks = 0;

	for (uint32_t i = 0; i < model->n_regions; i++) {
		if (stats->regions[i].count + stats->regions[i].n_cut != 0)
			stats->rows[n_rows++] = i;
		if (stats->regions[i].n_marks != 0)
			stats->mark_rows[n_marks++] = i;
	}
	qsort_r(stats->rows, n_rows, sizeof(*stats->rows), by_kernel_and_time, work);
	qsort_r(stats->mark_rows, n_marks, sizeof(*stats->mark_rows), by_kernel_and_place, work);
	if (!order_as_tree(work, stats->rows, n_rows))
		return false;
	for (uint32_t i = n_rows; i-- > 0;) {
		struct kernel_stats *kernel = &stats->kernels[model->regions[stats->rows[i]].kernel];

		kernel->first_row = i;
		kernel->n_rows++;
	}
	for (uint32_t i = n_marks; i-- > 0;) {
		struct kernel_stats *kernel = &stats->kernels[model->regions[stats->mark_rows[i]].kernel];

		kernel->first_mark = i;
		kernel->n_marks++;
	}
	return true;
}

/* --- kernels ---------------------------------------------------------------------------------- */

static int by_kernel_device_start(const void *a, const void *b, void *context)
{
	const struct warpspan_model *model = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct warpspan_grid *gx = &model->grids[x], *gy = &model->grids[y];

	if (gx->kernel != gy->kernel)
		return gx->kernel < gy->kernel ? -1 : 1;
	if (gx->device != gy->device)
		return gx->device < gy->device ? -1 : 1;
	return (x > y) - (x < y);
}

static bool same_shape(const struct warpspan_grid *a, const struct warpspan_grid *b)
{
	return memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 &&
	       memcmp(a->threads, b->threads, sizeof(a->threads)) == 0;
}

static void add_grid(struct kernel_stats *kernel, const struct warpspan_model *model, uint32_t index)
{
	const struct warpspan_grid *grid = &model->grids[index];
	const uint64_t ns = grid->end_ns - grid->start_ns;

	if (kernel->n_launches++ == 0) {
		kernel->first_grid = index;
		kernel->launch_min_ns = ns;
	}
	kernel->shapes_differ |= !same_shape(grid, &model->grids[kernel->first_grid]);
	kernel->launch_total_ns += ns;
	kernel->launch_min_ns = ns < kernel->launch_min_ns ? ns : kernel->launch_min_ns;
	kernel->launch_max_ns = ns > kernel->launch_max_ns ? ns : kernel->launch_max_ns;
	kernel->n_warps += grid->n_warps;
	kernel->n_open += grid->n_open;
	kernel->n_records += grid->n_records;
	kernel->n_lost += grid->n_lost;
	kernel->n_early += grid->phase == WARPSPAN_EARLY;
	kernel->n_ambiguous += grid->join == WARPSPAN_JOIN_AMBIGUOUS;
	kernel->n_host_unknown +=
		grid->host == WARPSPAN_NONE && grid->call == WARPSPAN_NONE && grid->join != WARPSPAN_JOIN_AMBIGUOUS;
	kernel->n_unsure += grid->match == WARPSPAN_MATCH_UNSURE;
	kernel->n_repeat += grid->match == WARPSPAN_MATCH_REPEAT;
}

static uint32_t count_new_sms(struct work *work, const struct warpspan_grid *grid)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < grid->n_tracks; i++) {
		const uint32_t sm = work->model->tracks[grid->first_track + i].sm % N_SMS;
		const uint8_t bit = (uint8_t)(1u << sm % 8);

		n += !(work->sm_seen[sm / 8] & bit);
		work->sm_seen[sm / 8] |= bit;
	}
	return n;
}

static int by_warp_time(const void *a, const void *b, void *context)
{
	const struct warpspan_stats *stats = context;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (stats->kernels[x].warp_ns != stats->kernels[y].warp_ns)
		return stats->kernels[x].warp_ns > stats->kernels[y].warp_ns ? -1 : 1;
	return (x > y) - (x < y);
}

static void add_kernels(struct work *work)
{
	const struct warpspan_model *model = work->model;
	struct warpspan_stats *stats = work->stats;

	for (uint32_t i = 0; i < model->n_grids; i++)
		work->grid_order[i] = i;
	qsort_r(work->grid_order, model->n_grids, sizeof(*work->grid_order), by_kernel_device_start, (void *)model);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[work->grid_order[i]];
		const struct warpspan_grid *before = i ? &model->grids[work->grid_order[i - 1]] : NULL;

		if (!before || before->kernel != grid->kernel || before->device != grid->device)
			memset(work->sm_seen, 0, N_SMS / 8);
		add_grid(&stats->kernels[grid->kernel], model, work->grid_order[i]);
		stats->kernels[grid->kernel].n_sms += count_new_sms(work, grid);
	}
	for (uint32_t i = 0; i < model->n_kernels; i++)
		if (stats->kernels[i].n_launches != 0)
			stats->kernel_order[stats->n_kernels++] = i;
	qsort_r(stats->kernel_order, stats->n_kernels, sizeof(*stats->kernel_order), by_warp_time, stats);
}

/* Launches that succeeded, by kernel. */
static bool count_logged(const struct warpspan_model *model, uint64_t *n_logged)
{
	struct map by_number = { 0 };
	bool fine = true;

	for (uint32_t i = 0; i < model->n_kernels && fine; i++)
		fine = model->kernels[i].number == 0 || map_find(&by_number, model->kernels[i].number, 0) != MAP_NONE ||
		       map_set(&by_number, model->kernels[i].number, 0, i) == 0;
	for (uint32_t i = 0; i < model->n_launches && fine; i++) {
		const struct warpspan_launch *launch = &model->launches[i];
		const uint32_t kernel = map_find(&by_number, launch->kernel, 0);

		if (launch->result == 0 && kernel != MAP_NONE)
			n_logged[model->kernels[kernel].same]++;
	}
	map_finish(&by_number);
	return fine;
}

/* Grids whose kernel no log names: any launch may be theirs. */
static uint64_t count_nameless(const struct warpspan_model *model, const struct warpspan_stats *stats)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < model->n_kernels; i++)
		n += model->kernels[i].number == 0 ? stats->kernels[i].n_launches : 0;
	return n;
}

/* Which logged launches left nothing. Launches that graphs made are in no log. */
static bool count_unseen(struct work *work)
{
	const struct warpspan_model *model = work->model;
	struct warpspan_stats *stats = work->stats;
	uint64_t *n_logged = allocate(model->n_kernels, sizeof(*n_logged));
	uint64_t *n_seen = allocate(model->n_kernels, sizeof(*n_seen));
	const uint64_t n_nameless = count_nameless(model, stats);
	const bool fine = n_logged && n_seen && count_logged(model, n_logged);

	for (uint32_t i = 0; fine && i < model->n_grids; i++)
		n_seen[model->grids[i].kernel] += model->grids[i].call == WARPSPAN_NONE;
	for (uint32_t i = 0; fine && i < model->n_kernels; i++) {
		struct kernel_stats *kernel = &stats->kernels[i];

		if (n_logged[i] <= n_seen[i] || kernel->n_unsure != 0)
			continue;
		const uint64_t n = n_logged[i] - n_seen[i];
		kernel->n_unseen = n > n_nameless ? n - n_nameless : 0;
		stats->n_unseen += kernel->n_unseen;
	}
	free(n_logged);
	free(n_seen);
	return fine;
}

int warpspan_stats_compute(const struct warpspan_model *model, struct warpspan_stats **ret_stats)
{
	struct work work;

	if (!work_init(&work, model)) {
		work_finish(&work);
		return WARPSPAN_NO_MEMORY;
	}
	count_slices(&work);
	add_tracks(&work);
	add_kernels(&work);
	if (!count_unseen(&work) || !finish_regions(&work) || !order_rows(&work)) {
		work_finish(&work);
		return WARPSPAN_NO_MEMORY;
	}
	*ret_stats = work.stats;
	work.stats = NULL;
	work_finish(&work);
	return WARPSPAN_OK;
}

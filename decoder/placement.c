/* SPDX-License-Identifier: Apache-2.0
 *
 * placement.c - which launches of a log left grids. See placement.h.
 *
 * The grids of a stream run one after the other, so those that were recorded are a run of its launches: it may begin
 * anywhere among those made before the session (which of them were still to run is not known), and end anywhere among
 * those made after its stop. Where the device was waited for, it holds all launches of the session in between. Kernels
 * that never open a recorder leave nothing at all and are not looked at. Which kernels these are is not known, either:
 * if just one placement gives every launch of the session a grid, and no two kernels one site, it holds, and else the
 * only one over all sets of kernels. In each launch a kernel opens at the same site, if all of the grid was recorded:
 * the first of a run among the early ones and the last among the late ones may not be whole.
 *
 * Pure functions of the placement; any thread.
 */
#include "placement.h"

#include "map.h"

#include <stdlib.h>
#include <string.h>

#define KERNELS_MOST     8u   /* of one shape: 256 sets of them are tried */
#define KERNELS_COMPARED 128u /* with each other */

/* Where a walk over the launches of a stream is. */
enum state {
	BEFORE_RUN,
	IN_RUN,
	AFTER_RUN,
};

static void *allocate(size_t n, size_t bytes)
{
	return calloc(n + 1, bytes);
}

/* The number of a key, a new one where it is not known yet. */
static bool number(struct map *map, uint64_t a, uint64_t b, uint32_t *n_known, uint32_t *ret_number)
{
	*ret_number = map_find(map, a, b);
	if (*ret_number != MAP_NONE)
		return true;
	*ret_number = (*n_known)++;
	return map_set(map, a, b, *ret_number) == 0;
}

static bool number_all(struct placement *placement, const struct placement_launch *launches)
{
	struct map kernels = { 0 }, streams = { 0 };
	bool fine = true;

	for (size_t i = 0; i < placement->n && fine; i++) {
		placement->phase[i] = (uint8_t)launches[i].phase;
		fine = number(&kernels, launches[i].kernel, 0, &placement->n_kernels, &placement->kernel[i]) &&
		       number(&streams, launches[i].stream, launches[i].thread, &placement->n_streams,
			      &placement->stream[i]);
	}
	map_finish(&kernels);
	map_finish(&streams);
	return fine;
}

int placement_init(struct placement *placement, const struct placement_launch *launches, size_t n, bool quiet)
{
	*placement = (struct placement){
		.n = n,
		.quiet = quiet,
		.kernel = allocate(n, sizeof(*placement->kernel)),
		.stream = allocate(n, sizeof(*placement->stream)),
		.phase = allocate(n, sizeof(*placement->phase)),
		.sites = allocate(n, sizeof(*placement->sites)),
		.site_of_kernel = allocate(n, sizeof(*placement->site_of_kernel)),
		.state = allocate(n, sizeof(*placement->state)),
		.n_early = allocate(n, sizeof(*placement->n_early)),
		.n_own = allocate(n, sizeof(*placement->n_own)),
		.n_late = allocate(n, sizeof(*placement->n_late)),
	};
	if (placement->kernel == NULL || placement->stream == NULL || placement->phase == NULL ||
	    placement->sites == NULL || placement->site_of_kernel == NULL || placement->state == NULL ||
	    placement->n_early == NULL || placement->n_own == NULL || placement->n_late == NULL)
		return WARPSPAN_NO_MEMORY;
	return number_all(placement, launches) ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
}

void placement_finish(struct placement *placement)
{
	free(placement->kernel);
	free(placement->stream);
	free(placement->phase);
	free(placement->sites);
	free(placement->site_of_kernel);
	free(placement->state);
	free(placement->n_early);
	free(placement->n_own);
	free(placement->n_late);
	memset(placement, 0, sizeof(*placement));
}

/* --- does it stand? --------------------------------------------------------------------------- */

/* A launch without a grid, of a kernel that leaves them. False: that cannot be. */
static bool pass_empty(const struct placement *placement, enum warpspan_phase phase, uint8_t *state)
{
	if (phase == WARPSPAN_EARLY && *state == BEFORE_RUN)
		return true;
	if (phase != WARPSPAN_LATE && placement->quiet)
		return false;
	*state = AFTER_RUN;
	return true;
}

bool placement_stands(struct placement *placement)
{
	/* which kernels leave grids, and where they open: known from those that are certainly whole */
	memset(placement->site_of_kernel, 0, placement->n_kernels * sizeof(*placement->site_of_kernel));
	memset(placement->state, BEFORE_RUN, placement->n_streams * sizeof(*placement->state));
	for (size_t i = 0; i < placement->n; i++)
		if (placement->sites[i] != PLACEMENT_EMPTY)
			placement->site_of_kernel[placement->kernel[i]] = UINT64_MAX;
	for (size_t i = 0; i < placement->n; i++) {
		uint8_t *state = &placement->state[placement->stream[i]];
		uint64_t *site = &placement->site_of_kernel[placement->kernel[i]];
		const enum warpspan_phase phase = placement->phase[i];

		if (*site == PLACEMENT_EMPTY)
			continue;
		if (placement->sites[i] == PLACEMENT_EMPTY) {
			if (!pass_empty(placement, phase, state))
				return false;
			continue;
		}
		if (*state == AFTER_RUN)
			return false;
		const bool whole = phase == WARPSPAN_OWN || (phase == WARPSPAN_EARLY && *state == IN_RUN);
		*state = IN_RUN;
		if (!whole)
			continue;
		if (*site != UINT64_MAX && *site != placement->sites[i])
			return false;
		*site = placement->sites[i];
	}
	return true;
}

bool placement_is_plain(const struct placement *placement)
{
	for (size_t i = 0; i < placement->n; i++)
		if (placement->phase[i] == WARPSPAN_OWN && placement->sites[i] == PLACEMENT_EMPTY)
			return false;
	if (placement->n_kernels > KERNELS_COMPARED)
		return false;
	for (uint32_t i = 0; i < placement->n_kernels; i++)
		for (uint32_t k = 0; k < i; k++)
			if (placement->site_of_kernel[i] != PLACEMENT_EMPTY &&
			    placement->site_of_kernel[i] != UINT64_MAX &&
			    placement->site_of_kernel[i] == placement->site_of_kernel[k])
				return false;
	return true;
}

/* --- finding ---------------------------------------------------------------------------------- */

/* How many placements there are; of two nothing is known. */
enum count { NONE, ONE, SEVERAL };

/* Chooses the launches of a stream: so many of the last early ones, so many of the own and the late ones from the first
 * on. n_early, n_own, n_late hold these numbers. */
static size_t choose(struct placement *placement, unsigned set, size_t *ret_launch)
{
	size_t n = 0;

	for (size_t i = placement->n; i-- > 0;) { /* the last early ones come first */
		uint64_t *left = &placement->n_early[placement->stream[i]];

		placement->sites[i] = PLACEMENT_EMPTY;
		if (!(set >> placement->kernel[i] & 1) || placement->phase[i] != WARPSPAN_EARLY || *left == 0)
			continue;
		(*left)--;
		placement->sites[i] = 1;
	}
	for (size_t i = 0; i < placement->n; i++) {
		uint64_t *left = placement->phase[i] == WARPSPAN_LATE ? &placement->n_late[placement->stream[i]]
								      : &placement->n_own[placement->stream[i]];

		if (placement->phase[i] != WARPSPAN_EARLY && set >> placement->kernel[i] & 1 && *left > 0) {
			(*left)--;
			placement->sites[i] = 1;
		}
		if (placement->sites[i] != PLACEMENT_EMPTY)
			ret_launch[n++] = i;
	}
	return n;
}

static void count_launches(struct placement *placement, unsigned set)
{
	memset(placement->n_early, 0, placement->n_streams * sizeof(*placement->n_early));
	memset(placement->n_own, 0, placement->n_streams * sizeof(*placement->n_own));
	memset(placement->n_late, 0, placement->n_streams * sizeof(*placement->n_late));
	for (size_t i = 0; i < placement->n; i++) {
		const uint32_t stream = placement->stream[i];

		if (!(set >> placement->kernel[i] & 1))
			continue;
		placement->n_early[stream] += placement->phase[i] == WARPSPAN_EARLY;
		placement->n_own[stream] += placement->phase[i] == WARPSPAN_OWN;
		placement->n_late[stream] += placement->phase[i] == WARPSPAN_LATE;
	}
}

static uint64_t sum(const uint64_t *numbers, uint32_t n)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < n; i++)
		total += numbers[i];
	return total;
}

/* Of the grids, `rest` are of early and late launches. Sets n_early and n_late to how many, if only one way is there.
 */
static enum count share_out(struct placement *placement, uint64_t rest)
{
	const uint64_t most =
		sum(placement->n_early, placement->n_streams) + sum(placement->n_late, placement->n_streams);
	unsigned n_slots = 0;

	for (uint32_t i = 0; i < placement->n_streams; i++)
		n_slots += (placement->n_early[i] != 0) + (placement->n_late[i] != 0);
	if (rest > most)
		return NONE;
	if (rest == most)
		return ONE;
	if (rest != 0 && n_slots != 1)
		return SEVERAL;
	for (uint32_t i = 0; i < placement->n_streams; i++) {
		placement->n_early[i] = placement->n_early[i] != 0 ? rest : 0;
		placement->n_late[i] = placement->n_late[i] != 0 ? rest : 0;
	}
	return ONE;
}

/* The same where not all that was launched before the stop has run: the run of a stream may end anywhere. */
static enum count share_out_running(struct placement *placement, uint64_t n)
{
	const uint64_t n_own = sum(placement->n_own, placement->n_streams);
	const uint64_t n_early = sum(placement->n_early, placement->n_streams);
	const uint64_t all = n_own + n_early + sum(placement->n_late, placement->n_streams);
	uint32_t n_used = 0, last = 0;

	if (n > all)
		return NONE;
	if (n == all)
		return ONE;
	for (uint32_t i = 0; i < placement->n_streams; i++) {
		if (placement->n_own[i] + placement->n_early[i] + placement->n_late[i] == 0)
			continue;
		n_used++;
		last = i;
	}
	if (n_early > 0 || n_used != 1)
		return SEVERAL;
	placement->n_late[last] = n > n_own ? n - n_own : 0;
	placement->n_own[last] = n < n_own ? n : n_own;
	return ONE;
}

/* The placements in which just these kernels leave grids. */
static enum count find_with(struct placement *placement, unsigned set, const uint64_t *sites, size_t n,
			    size_t *ret_launch)
{
	unsigned seen = 0;

	count_launches(placement, set);
	const uint64_t n_own = sum(placement->n_own, placement->n_streams);
	if (placement->quiet && n_own > n)
		return NONE;
	const enum count count = placement->quiet ? share_out(placement, n - n_own) : share_out_running(placement, n);
	if (count != ONE)
		return count;
	if (choose(placement, set, ret_launch) != n)
		return NONE;
	for (size_t i = 0; i < n; i++) {
		seen |= 1u << placement->kernel[ret_launch[i]];
		placement->sites[ret_launch[i]] = sites != NULL ? sites[i] : 1;
	}
	return seen == set && placement_stands(placement) ? ONE : NONE;
}

/* The only set of kernels, of those that hold `within`, with a placement; 0: there is none, or several are. */
static unsigned find_set(struct placement *placement, unsigned within, const uint64_t *sites, size_t n,
			 size_t *ret_launch)
{
	unsigned found = 0;

	for (unsigned set = 1; set < 1u << placement->n_kernels; set++) {
		if ((set & within) != within)
			continue;
		const enum count count = find_with(placement, set, sites, n, ret_launch);

		if (count == SEVERAL || (count == ONE && found != 0))
			return 0;
		if (count == ONE)
			found = set;
	}
	return found;
}

bool placement_find(struct placement *placement, const uint64_t *sites, size_t n, size_t *ret_launch)
{
	unsigned own = 0, found;

	if (placement->n_kernels > KERNELS_MOST || n == 0 || n > placement->n)
		return false;
	for (size_t i = 0; i < placement->n; i++)
		own |= placement->phase[i] == WARPSPAN_OWN ? 1u << placement->kernel[i] : 0;
	found = find_set(placement, own, sites, n, ret_launch);
	if (found != 0 && find_with(placement, found, sites, n, ret_launch) == ONE && placement_is_plain(placement))
		return true;
	found = find_set(placement, 0, sites, n, ret_launch);
	return found != 0 && find_with(placement, found, sites, n, ret_launch) == ONE;
}

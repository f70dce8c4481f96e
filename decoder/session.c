/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c - leaves out of a capture what is not its session's. See session.h.
 *
 * A session may start while kernels launched before still run, and stop while others are being launched. All of these
 * help to tell whose a grid is; once that is done, what was launched after the stop is only counted, and of what was
 * launched before the start those launches stay that left something in the session. Runs once, on the decoding thread.
 */
#include "session.h"

/* Where what stays goes to; WARPSPAN_NONE: it goes. */
struct places {
	uint32_t *launches, *calls, *grids;
};

static bool places_init(struct places *places, const struct launches *launches)
{
	places->launches = calloc((size_t)launches->n_log + 1, sizeof(*places->launches));
	places->calls = calloc((size_t)launches->n_calls + 1, sizeof(*places->calls));
	places->grids = calloc(launches->grids.n + 1, sizeof(*places->grids));
	return places->launches != NULL && places->calls != NULL && places->grids != NULL;
}

static void places_finish(struct places *places)
{
	free(places->launches);
	free(places->calls);
	free(places->grids);
}

static uint32_t keep_launches(const struct launches *launches, struct warpspan_launch *log, uint32_t *places,
			      struct session_rest *rest)
{
	uint32_t n = 0;

	for (size_t i = 0; i < launches->grids.n; i++)
		if (launches->grids.items[i].host != WARPSPAN_NONE)
			places[launches->grids.items[i].host] = 1;
	for (uint32_t i = 0; i < launches->n_log; i++) {
		const enum warpspan_phase phase = meta_phase_at(launches->meta, log[i].begin_ns);
		const bool keep = phase == WARPSPAN_OWN || (phase == WARPSPAN_EARLY && places[i] != 0);

		rest->n_launches += phase == WARPSPAN_LATE && log[i].result == 0;
		places[i] = keep ? n : WARPSPAN_NONE;
		if (keep)
			log[n++] = log[i];
	}
	return n;
}

static uint32_t keep_calls(const struct launches *launches, struct host *host, uint32_t *places,
			   struct session_rest *rest)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < launches->n_calls; i++) {
		const struct warpspan_host_call *call = &host->calls.items[i];
		const bool keep = meta_phase_at(launches->meta, call->begin_ns) != WARPSPAN_LATE;

		rest->n_launches += !keep && call->kind == WARPSPAN_HOST_GRAPH_LAUNCH && call->result == 0;
		places[i] = keep ? n : WARPSPAN_NONE;
		if (keep)
			host->calls.items[n++] = *call;
	}
	return n;
}

static size_t keep_grids(struct launches *launches, const struct places *places)
{
	size_t n = 0;

	for (size_t i = 0; i < launches->grids.n; i++) {
		struct warpspan_grid grid = launches->grids.items[i];

		places->grids[i] = grid.phase != WARPSPAN_LATE ? (uint32_t)n : WARPSPAN_NONE;
		if (grid.phase == WARPSPAN_LATE)
			continue;
		grid.host = grid.host != WARPSPAN_NONE ? places->launches[grid.host] : WARPSPAN_NONE;
		grid.call = grid.call != WARPSPAN_NONE ? places->calls[grid.call] : WARPSPAN_NONE;
		launches->grids.items[n++] = grid;
	}
	return n;
}

static void keep_segments(struct segments *segments, const uint32_t *places, struct session_rest *rest)
{
	size_t n = 0;

	for (size_t i = 0; i < segments->all.n; i++) {
		struct segment *segment = &segments->all.items[i];

		segment->grid = places[segment->grid];
		if (segment->grid != WARPSPAN_NONE) {
			segments->all.items[n++] = *segment;
			continue;
		}
		rest->n_warps++;
		segments->n_records -= segment->n_records;
		segments->n_clamped -= segment->backwards;
	}
	segments->all.n = n;
}

int session_keep_own(struct launches *launches, struct warpspan_launch *log, struct host *host,
		     struct session_rest *ret_rest)
{
	struct places places;
	int result = places_init(&places, launches) ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;

	*ret_rest = (struct session_rest){ 0 };
	if (result == WARPSPAN_OK) {
		launches->n_log = keep_launches(launches, log, places.launches, ret_rest);
		launches->n_calls = keep_calls(launches, host, places.calls, ret_rest);
		host->calls.n = launches->n_calls;
		launches->grids.n = keep_grids(launches, &places);
		keep_segments(launches->segments, places.grids, ret_rest);
	}
	places_finish(&places);
	return result;
}

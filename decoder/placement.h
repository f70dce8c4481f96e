/* SPDX-License-Identifier: Apache-2.0
 *
 * placement.h - which launches of a log left grids, where some were made before the session or after its stop. Part of
 * join.c's work.
 */
#ifndef WARPSPAN_PLACEMENT_H
#define WARPSPAN_PLACEMENT_H

#include "model.h"

#include <stdbool.h>
#include <stddef.h>

/* A launch that succeeded; launches of one stream have equal stream and thread. */
struct placement_launch {
	uint64_t stream;
	uint32_t thread, kernel;
	enum warpspan_phase phase;
};

/* No site. A grid's is placement_site() of one of its WS_OPENs, the same one for all grids of a kernel. */
#define PLACEMENT_EMPTY 0
static inline uint64_t placement_site(uint32_t site)
{
	return (uint64_t)site + 1;
}

struct placement {
	size_t n;
	uint32_t *kernel, *stream; /* by launch: numbered from 0 */
	uint8_t *phase;
	uint32_t n_kernels, n_streams;
	bool quiet;      /* everything launched before the stop has ended */
	uint64_t *sites; /* by launch: of the grid it is tried with; PLACEMENT_EMPTY: of none */
	/* scratch: by kernel, by stream */
	uint64_t *site_of_kernel;
	uint8_t *state;
	uint64_t *n_early, *n_own, *n_late;
};

/* `launches` in the order they were made. WARPSPAN_OK or WARPSPAN_NO_MEMORY; placement_finish() in both cases. */
int placement_init(struct placement *placement, const struct placement_launch *launches, size_t n, bool quiet);
void placement_finish(struct placement *placement);
/* Can it be that just those launches left grids that have a site in `sites`? */
bool placement_stands(struct placement *placement);
/* After placement_stands(): has every launch of the session a grid, and each kernel sites of its own? */
bool placement_is_plain(const struct placement *placement);
/* Places n grids, in the order of their launches, with their sites; NULL: neither order nor sites are known. True if
 * it is certain which launches left them: ret_launch[i] is the i-th of these. */
bool placement_find(struct placement *placement, const uint64_t *sites, size_t n, size_t *ret_launch);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * rank.h - which of several processes this one is, as the launcher that started it says in the environment.
 */
#ifndef WARPSPAN_RANK_H
#define WARPSPAN_RANK_H

#include <stdbool.h>
#include <stdint.h>

#define WARPSPAN_RANK_UNKNOWN UINT32_MAX

struct warpspan_rank {
	const char *launcher; /* for people; static */
	uint32_t rank;        /* from 0 */
	uint32_t world;       /* processes in all; 0: not known */
	uint32_t local;       /* rank among those of this machine; WARPSPAN_RANK_UNKNOWN: not known */
};

/* The rank the innermost launcher gave this process; false: none did. Any thread; allocates nothing. */
bool warpspan_rank_find(struct warpspan_rank *ret_rank);

#endif

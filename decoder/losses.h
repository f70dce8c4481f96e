/* SPDX-License-Identifier: Apache-2.0
 *
 * losses.h - what found no room, by kernel, and the settings that would have sufficed.
 */
#ifndef WARPSPAN_LOSSES_H
#define WARPSPAN_LOSSES_H

#include "launches.h"

struct context_losses {
	uint32_t context;
	const uint8_t *entries; /* n_losses struct warpspan_loss, not aligned; the last chunk of the context */
	uint32_t n_losses;
};

struct losses {
	ARRAY(struct context_losses) contexts;
	struct map by_context; /* number -> index */
	uint64_t n_unheard_warps;
	uint32_t most_words; /* of any warp, whether it lost something or not */
	ARRAY(struct warpspan_lost) lost;
	struct map by_kernel; /* index of the kernel -> index in lost */
};

/* Notes what a LOSSES chunk holds. */
int losses_add_chunk(struct losses *losses, const struct capture_chunk *chunk, const char *path, struct damage *damage);
/* After the last chunk: sums the warps that found no segment. */
int losses_count_unheard(struct losses *losses);
/* After the join: by kernel. */
int losses_by_kernel(struct losses *losses, struct launches *launches);
void losses_finish(struct losses *losses);

#endif

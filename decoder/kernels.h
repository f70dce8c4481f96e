/* SPDX-License-Identifier: Apache-2.0
 *
 * kernels.h - which kernels of several modules are the same to a reader.
 */
#ifndef WARPSPAN_KERNELS_H
#define WARPSPAN_KERNELS_H

#include "launches.h"

/* Sets `same` of every kernel and gives every grid the kernel that stands for its own. After launches_join(). */
int kernels_merge(struct launches *launches);
/* Replaces a kernel, also one added since, by the one that stands for it. */
int kernels_stand_in(struct launches *launches, uint32_t *kernel);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * join.h - which launch of the host's log, or which launch of a graph, a grid came from. Part of launches.c's work.
 */
#ifndef WARPSPAN_JOIN_H
#define WARPSPAN_JOIN_H

#include "launches.h"

/* Sets `host` or `call`, and `join`, of every grid whose launch is certain, and the kernel of those of which only that
 * is. */
int join_grids(struct launches *launches);

#endif

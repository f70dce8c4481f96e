/* SPDX-License-Identifier: Apache-2.0
 *
 * filter.h - which segments are of kernels that WARPSPAN_KERNEL does not name. Collector only.
 *
 * A module records as a whole, so once one of its kernels is named, the others record too. Their launches are not in
 * the log. A segment does not say its kernel, but it says its module, grid and block dimensions: one whose dimensions
 * no logged launch of its module had is certainly of another kernel, and is dropped. One that could be of a named
 * kernel is kept; if it is not, it appears as a grid without a launch.
 */
#ifndef WARPSPAN_FILTER_H
#define WARPSPAN_FILTER_H

#include "warpspan_format.h"

#include <stdbool.h>
#include <stddef.h>

/* A session begins: no launch is in its log. */
void warpspan_filter_begin(void);

/* Whether anything may have to be dropped: a launch was passed through because of the filter. */
bool warpspan_filter_active(void);

/* These launches are in the log. Called for all of them, in order. */
void warpspan_filter_note(const struct warpspan_launch *launches, size_t n);

/* False: drop it. The log was read after the segment was copied. */
bool warpspan_filter_keeps(const struct warpspan_segment *segment);

#endif

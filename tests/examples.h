/* SPDX-License-Identifier: Apache-2.0
 *
 * examples.h - what the programs in device_rt/examples/ record, known from their source, and how to compare a capture
 * with it. Used on simgpu (tests/preload/e2e) and on a GPU (tests/gpu).
 */
#ifndef TESTS_EXAMPLES_H
#define TESTS_EXAMPLES_H

#include "model.h"

#include <stdbool.h>

/* X(example, kernel's name, region, times all warps together ran it, warps that ran it) */
#define EXAMPLE_REGIONS(X)                                          \
	X("saxpy", "saxpy", "saxpy", 40 * 8, 40 * 8)                \
	X("pipeline", "pipeline", "wait empty", 16 * 16, 16)        \
	X("pipeline", "pipeline", "copy", 16 * 16, 16)              \
	X("pipeline", "pipeline", "wait full", 16 * 4 * 16, 16 * 4) \
	X("pipeline", "pipeline", "multiply", 16 * 4 * 16, 16 * 4)  \
	X("pipeline", "pipeline", "store", 16 * 4, 16 * 4)          \
	X("streams", "fill", "fill", 80 * 16, 80 * 16)              \
	X("streams", "scale", "scale", 80 * 16, 80 * 16)            \
	X("streams", "sum", "add", 80 * 4, 80 * 4)                  \
	X("streams", "sum", "reduce", 80 * 4, 80 * 4)

/* X(example, kernel's name, mark or value, times all warps together made it) */
#define EXAMPLE_MARKS(X)                           \
	X("pipeline", "pipeline", "tile", 16 * 16) \
	X("streams", "sum", "done", 80)

/* X(example, launches, warps) */
#define EXAMPLES(X)              \
	X("saxpy", 1, 40 * 8)    \
	X("pipeline", 1, 16 * 5) \
	X("streams", 3 * 80, 80 * (16 + 16 + 4))

/* Records the example makes when nothing is lost: two for each time a region ran, one for each mark or value. */
uint64_t example_records(const char *example);

/* Compares a capture in which nothing may be lost with the lists above. Returns the number of differences, each a line
 * on stdout that starts with `prefix`. */
unsigned example_compare(const char *example, const struct warpspan_model *model, const char *prefix);

/* Times a region of this name was recorded with both ends, and the warps that did. */
void region_count(const struct warpspan_model *model, const char *region, uint64_t *ret_count, uint64_t *ret_warps);
uint64_t mark_count(const struct warpspan_model *model, const char *name);

#endif

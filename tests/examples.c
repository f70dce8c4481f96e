/* SPDX-License-Identifier: Apache-2.0 */
#include "examples.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void region_count(const struct warpspan_model *model, const char *region, uint64_t *ret_count, uint64_t *ret_warps)
{
	uint64_t count = 0, warps = 0;
	uint32_t last_track = WARPSPAN_NONE; /* slices are sorted by track */
	for (uint64_t i = 0; i < model->n_slices; i++) {
		const struct warpspan_slice *slice = &model->slices[i];
		if (slice->end != WARPSPAN_END_RECORDED || strcmp(model->regions[slice->region].name, region) != 0)
			continue;
		count++;
		warps += slice->track != last_track;
		last_track = slice->track;
	}
	*ret_count = count;
	*ret_warps = warps;
}

uint64_t mark_count(const struct warpspan_model *model, const char *name)
{
	uint64_t count = 0;
	for (uint64_t i = 0; i < model->n_marks; i++)
		count += strcmp(model->regions[model->marks[i].region].name, name) == 0;
	return count;
}

uint64_t example_records(const char *example)
{
	uint64_t records = 0;
#define X(name, kernel, region, count, warps) records += strcmp(example, name) == 0 ? 2 * (uint64_t)(count) : 0;
	EXAMPLE_REGIONS(X)
#undef X
#define X(name, kernel, mark, count) records += strcmp(example, name) == 0 ? (uint64_t)(count) : 0;
	EXAMPLE_MARKS(X)
#undef X
	return records;
}

static unsigned differs(const char *prefix, const char *what, uint64_t found, uint64_t expected)
{
	if (found == expected)
		return 0;
	printf("%s%s: %" PRIu64 ", expected %" PRIu64 "\n", prefix, what, found, expected);
	return 1;
}

unsigned example_compare(const char *example, const struct warpspan_model *model, const char *prefix)
{
	unsigned n = 0;
	char what[128];
	uint64_t count, warps, unpaired = 0;
#define X(name, kernel, region, n_count, n_warps)                      \
	if (strcmp(example, name) == 0) {                              \
		region_count(model, region, &count, &warps);           \
		snprintf(what, sizeof(what), "region '%s'", region);   \
		n += differs(prefix, what, count, n_count);            \
		snprintf(what, sizeof(what), "warps in '%s'", region); \
		n += differs(prefix, what, warps, n_warps);            \
	}
	EXAMPLE_REGIONS(X)
#undef X
#define X(name, kernel, mark, n_count)                                        \
	if (strcmp(example, name) == 0) {                                     \
		snprintf(what, sizeof(what), "mark '%s'", mark);              \
		n += differs(prefix, what, mark_count(model, mark), n_count); \
	}
	EXAMPLE_MARKS(X)
#undef X
#define X(name, n_launches_, n_warps)                                                    \
	if (strcmp(example, name) == 0) {                                                \
		n += differs(prefix, "launches logged", model->n_launches, n_launches_); \
		n += differs(prefix, "launches recorded", model->n_grids, n_launches_);  \
		n += differs(prefix, "warps", model->n_segments, n_warps);               \
	}
	EXAMPLES(X)
#undef X
	for (uint32_t i = 0; i < model->n_unpaired; i++)
		unpaired += model->unpaired[i].n;
	n += differs(prefix, "records", model->n_records, example_records(example));
	n += differs(prefix, "lost records", model->n_lost_records, 0);
	n += differs(prefix, "unpaired records", unpaired, 0);
	n += differs(prefix, "damaged places", model->n_damage, 0);
	n += differs(prefix, "segments whose counter ran backwards", model->n_repairs, 0);
	n += differs(prefix, "capture closed", model->complete, true);
	return n;
}

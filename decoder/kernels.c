/* SPDX-License-Identifier: Apache-2.0
 *
 * kernels.c - makes one of kernels that only their module tells apart.
 *
 * A program that loads a module a thousand times, or into several contexts, has a thousand kernels of one name. To its
 * author they are one: same name, same WS_OPEN in the same file and line, same device. Kernels of one name whose
 * WS_OPENs are elsewhere stay apart, and so do those of several devices. A kernel without a grid has no WS_OPEN to
 * compare; it goes to the first of its name.
 */
#include "kernels.h"

/* Where a kernel opens its recorder and on which device; of several WS_OPENs the first in the order of the source. */
struct place {
	const char *file; /* NULL: no grid */
	uint32_t line, device;
};

static bool is_before(const struct site *site, const struct place *place)
{
	const int files = strcmp(site->file, place->file);

	return files != 0 ? files < 0 : site->line < place->line;
}

static void find_places(const struct launches *launches, struct place *places)
{
	for (size_t i = 0; i < launches->segments->all.n; i++) {
		const struct segment *segment = &launches->segments->all.items[i];
		const uint32_t index = map_find(&launches->sites->by_address, segment->head.module, segment->head.site);
		struct place *place = &places[launches->grids.items[segment->grid].kernel];
		static const struct site unknown = { .file = (char *)"" };
		const struct site *site = index != MAP_NONE ? &launches->sites->all.items[index] : &unknown;

		if (place->file == NULL || is_before(site, place))
			*place = (struct place){ site->file, site->line, segment->device };
	}
}

/* The first kernel with this key, which is `kernel` if there was none. MAP_NONE: memory is out. */
static uint32_t first_with(struct map *map, uint64_t a, uint64_t b, uint32_t kernel)
{
	const uint32_t before = map_find(map, a, b);

	if (before != MAP_NONE)
		return before;
	return map_set(map, a, b, kernel) == 0 ? kernel : MAP_NONE;
}

static uint32_t first_of_name(struct launches *launches, uint32_t kernel)
{
	const char *name = launches->meta->kernels.items[kernel].demangled;
	const size_t n = strlen(name);

	/* two hashes with different starts make 128 bits: names are not compared again */
	return first_with(&launches->kernels_by_name, hash_bytes(name, n + 1), hash_bytes(name, n), kernel);
}

static int find_same(struct launches *launches, const struct place *places)
{
	struct map by_place = { 0 };
	uint32_t same = 0;

	/* those with a grid first: they are what the others are put to */
	for (uint32_t i = 0; same != MAP_NONE && i < launches->meta->kernels.n; i++) {
		struct warpspan_kernel *kernel = &launches->meta->kernels.items[i];

		if (places[i].file == NULL)
			continue;
		const uint64_t file = hash_bytes(places[i].file, strlen(places[i].file));
		const uint64_t name = hash_bytes(kernel->demangled, strlen(kernel->demangled));
		same = first_with(&by_place, name ^ (uint64_t)places[i].device << 32, file ^ places[i].line, i);
		kernel->same = same;
		if (same != MAP_NONE)
			same = first_of_name(launches, i);
	}
	for (uint32_t i = 0; same != MAP_NONE && i < launches->meta->kernels.n; i++) {
		if (places[i].file != NULL)
			continue;
		same = first_of_name(launches, i);
		launches->meta->kernels.items[i].same = same;
	}
	map_finish(&by_place);
	return same != MAP_NONE ? WARPSPAN_OK : WARPSPAN_NO_MEMORY;
}

int kernels_merge(struct launches *launches)
{
	struct place *places = calloc(launches->meta->kernels.n + 1, sizeof(*places));
	int result = WARPSPAN_NO_MEMORY;

	if (places != NULL) {
		find_places(launches, places);
		result = find_same(launches, places);
	}
	for (size_t i = 0; result == WARPSPAN_OK && i < launches->grids.n; i++) {
		struct warpspan_grid *grid = &launches->grids.items[i];

		grid->kernel = launches->meta->kernels.items[grid->kernel].same;
	}
	free(places);
	return result;
}

int kernels_stand_in(struct launches *launches, uint32_t *kernel)
{
	struct warpspan_kernel *asked = &launches->meta->kernels.items[*kernel];

	/* one that was added after the others were merged stands for itself until it is compared */
	if (asked->number == 0 && asked->same == *kernel) {
		const uint32_t same = first_of_name(launches, *kernel);

		if (same == MAP_NONE)
			return WARPSPAN_NO_MEMORY;
		asked->same = same;
	}
	*kernel = asked->same;
	return WARPSPAN_OK;
}

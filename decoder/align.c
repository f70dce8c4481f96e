/* SPDX-License-Identifier: Apache-2.0
 *
 * align.c - lays one ordered sequence into another and tells which places are certain. See align.h.
 *
 * Grid i can be at launch i at the earliest and i + m - n at the latest: m - n + 1 places, its row. A pass from the
 * front marks the places to which the grids before leave a way, one from the back those from which the grids behind go
 * on. A place in both is part of a whole solution; a grid with one such place is there for certain. Time and bits: n
 * times the row. Pure functions; any thread.
 */
#include "align.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PLACES ((size_t)1 << 26)

struct work {
	const struct align_grid *grids;
	const struct shape *hosts;
	size_t n, row;
	uint8_t *forward; /* n rows of bytes */
	bool *behind, *next;
};

static bool fits(const struct work *work, size_t grid, size_t place)
{
	const size_t host = grid + place;
	const struct align_grid *wanted = &work->grids[grid];

	return (wanted->host == ALIGN_NONE || wanted->host == host) &&
	       compare_shapes(wanted->shape, work->hosts[host]) == 0;
}

/* How many places further on in its row a grid may be than the one before it. */
static size_t slack(const struct work *work, size_t grid)
{
	const uint64_t step = work->grids[grid].id - work->grids[grid - 1].id;

	return step - 1 < work->row ? (size_t)(step - 1) : work->row;
}

static bool go_forward(const struct work *work)
{
	bool any = true;

	for (size_t i = 0; i < work->n && any; i++) {
		uint8_t *row = work->forward + i * work->row;
		const uint8_t *before = row - work->row;
		const size_t most = i > 0 ? slack(work, i) : 0;
		size_t last = ALIGN_NONE; /* the nearest place at or before this one that the grid before can be at */

		any = false;
		for (size_t k = 0; k < work->row; k++) {
			if (i > 0 && before[k])
				last = k;
			row[k] = fits(work, i, k) && (i == 0 || (last != ALIGN_NONE && k - last <= most));
			any |= row[k];
		}
	}
	return any;
}

static void go_back(struct work *work, size_t *ret_host)
{
	for (size_t i = work->n; i-- > 0;) {
		const uint8_t *row = work->forward + i * work->row;
		const bool is_last = i + 1 == work->n;
		const size_t most = is_last ? 0 : slack(work, i + 1);
		size_t nearest = ALIGN_NONE, n_ways = 0;

		for (size_t k = work->row; k-- > 0;) {
			if (!is_last && work->behind[k])
				nearest = k;
			work->next[k] = row[k] && (is_last || (nearest != ALIGN_NONE && nearest - k <= most));
			n_ways += work->next[k];
			if (work->next[k])
				ret_host[i] = i + k;
		}
		if (n_ways != 1)
			ret_host[i] = ALIGN_NONE;
		bool *swap = work->behind;
		work->behind = work->next;
		work->next = swap;
	}
}

int align_grids(const struct align_grid *grids, size_t n, const struct shape *hosts, size_t m, size_t *ret_host)
{
	struct work work = { .grids = grids, .hosts = hosts, .n = n, .row = m - n + 1 };
	int result = -1;

	if (n == 0 || m < n || work.row > MOST_PLACES / n)
		return 1;
	for (size_t i = 1; i < n; i++)
		if (grids[i].id <= grids[i - 1].id)
			return 1;
	work.forward = malloc(n * work.row);
	work.behind = calloc(work.row, sizeof(*work.behind));
	work.next = calloc(work.row, sizeof(*work.next));
	if (work.forward && work.behind && work.next) {
		result = go_forward(&work) ? 0 : 1;
		if (result == 0)
			go_back(&work, ret_host);
	}
	free(work.forward);
	free(work.behind);
	free(work.next);
	return result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * result.c - results in words, and the list of damaged places.
 */
#include "result.h"

#include <stdarg.h>

const char *warpspan_result_text(int result)
{
	switch (result) {
#define WARPSPAN_X(name, number, text) \
	case WARPSPAN_##name:          \
		return text;
		WARPSPAN_RESULTS(WARPSPAN_X)
#undef WARPSPAN_X
	}
	return "unknown result";
}

__attribute__((format(printf, 5, 0))) static void fill(struct warpspan_error *error, int result, int system_errno,
						       uint64_t offset, const char *format, va_list arguments)
{
	error->result = result;
	error->system_errno = system_errno;
	error->offset = offset;
	vsnprintf(error->text, sizeof(error->text), format, arguments);
}

int error_set(struct warpspan_error *error, int result, int system_errno, uint64_t offset, const char *format, ...)
{
	if (error != NULL) {
		va_list arguments;
		va_start(arguments, format);
		fill(error, result, system_errno, offset, format, arguments);
		va_end(arguments);
	}
	return result;
}

int error_no_memory(struct warpspan_error *error)
{
	return error_set(error, WARPSPAN_NO_MEMORY, 0, WARPSPAN_NO_OFFSET, "out of memory while decoding");
}

int damage_add(struct damage *damage, uint64_t offset, const char *format, ...)
{
	if (damage->truncated)
		return WARPSPAN_OK;
	struct warpspan_error *place = array_add(&damage->places);
	if (place == NULL)
		return WARPSPAN_NO_MEMORY;
	if (damage->places.n == WARPSPAN_DAMAGE_LIMIT) {
		damage->truncated = true;
		error_set(place, WARPSPAN_DAMAGED, 0, WARPSPAN_NO_OFFSET,
			  "there is more damage: only %d places are listed", WARPSPAN_DAMAGE_LIMIT - 1);
		return WARPSPAN_OK;
	}
	va_list arguments;
	va_start(arguments, format);
	fill(place, WARPSPAN_DAMAGED, 0, offset, format, arguments);
	va_end(arguments);
	return WARPSPAN_OK;
}

static int by_offset(const void *left, const void *right)
{
	const struct warpspan_error *a = left, *b = right;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return strcmp(a->text, b->text);
}

void damage_sort(struct damage *damage)
{
	if (damage->places.n > 1)
		qsort(damage->places.items, damage->places.n, sizeof(*damage->places.items), by_offset);
}

void damage_finish(struct damage *damage)
{
	free(damage->places.items);
	memset(damage, 0, sizeof(*damage));
}

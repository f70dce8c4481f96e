/* SPDX-License-Identifier: Apache-2.0
 *
 * array.h - growable arrays: a struct of items, count and room, zero-initialised when empty.
 *
 *   ARRAY(struct thing) things = { 0 };
 *   struct thing *thing = array_add(&things);   // zeroed, or NULL when memory is out; what was there stays
 *   free(things.items);
 *
 * Items move when the array grows: keep indices, not pointers, across array_add().
 */
#ifndef WARPSPAN_ARRAY_H
#define WARPSPAN_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define ARRAY(type)          \
	struct {             \
		type *items; \
		size_t n;    \
		size_t room; \
	}

/* Memory for half as many items again, or NULL (then `items` is untouched). */
static inline void *array_grown(void *items, size_t *room, size_t item_bytes)
{
	const size_t more = *room < 8 ? 8 : *room + *room / 2;
	if (more < *room || more > SIZE_MAX / item_bytes)
		return NULL;
	void *grown = realloc(items, more * item_bytes);
	if (grown != NULL)
		*room = more;
	return grown;
}

#define array_add(array)                                                                            \
	({                                                                                          \
		__typeof__(array) array_ = (array);                                                 \
		__typeof__(array_->items) added_ = NULL;                                            \
		void *items_ = array_->items;                                                       \
		if (array_->n == array_->room)                                                      \
			items_ = array_grown(array_->items, &array_->room, sizeof(*array_->items)); \
		if (items_ != NULL) {                                                               \
			array_->items = items_;                                                     \
			added_ = &array_->items[array_->n++];                                       \
			memset(added_, 0, sizeof(*added_));                                         \
		}                                                                                   \
		added_;                                                                             \
	})

#endif

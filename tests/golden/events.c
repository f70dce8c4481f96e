/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c - lists of events. See events.h.
 */
#include "support.h"

#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void events_add(struct events *events, const char *text, uint64_t start_ns, uint64_t duration_ns, int is_mark)
{
	if (events->n == events->capacity) {
		events->capacity = events->capacity ? 2 * events->capacity : 256;
		events->list = realloc(events->list, events->capacity * sizeof(*events->list));
		if (!events->list)
			abort();
	}
	events->list[events->n++] = (struct event){ strdup(text), start_ns, duration_ns, is_mark };
}

void events_finish(struct events *events)
{
	for (size_t i = 0; i < events->n; i++)
		free(events->list[i].text);
	free(events->list);
	*events = (struct events){ 0 };
}

void arrows_add(struct arrows *arrows, uint64_t id, uint64_t time_ns, const char *name, int is_target)
{
	arrows->ends = realloc(arrows->ends, (arrows->n + 1) * sizeof(*arrows->ends));
	if (!arrows->ends)
		abort();
	arrows->ends[arrows->n++] = (struct arrow_end){ id, time_ns, strdup(name), is_target };
}

static int by_id(const void *a, const void *b)
{
	const struct arrow_end *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->is_target - y->is_target;
}

void arrows_finish(struct arrows *arrows, struct events *events)
{
	char text[4096];

	if (arrows->n)
		qsort(arrows->ends, arrows->n, sizeof(*arrows->ends), by_id);
	assert_int_equal(arrows->n % 2, 0);
	for (size_t i = 0; i < arrows->n; i += 2) {
		const struct arrow_end *from = &arrows->ends[i], *to = from + 1;

		assert_true(from->id == to->id && !from->is_target && to->is_target);
		assert_true(i == 0 || from[-1].id != from->id);
		snprintf(text, sizeof(text), "%s -> %s", from->name, to->name);
		events_add(events, text, from->time_ns, to->time_ns - from->time_ns, 2);
		free(from->name);
		free(to->name);
	}
	free(arrows->ends);
	*arrows = (struct arrows){ 0 };
}

const char *event_number(char text[40], double value)
{
	if (value != value)
		snprintf(text, 40, "nan"); /* JSON has no sign for it */
	else if (value > -9e15 && value < 9e15 && value == (double)(int64_t)value)
		snprintf(text, 40, "%.0f", value);
	else
		snprintf(text, 40, "%.9g", value);
	return text;
}

static int compare(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->duration_ns != y->duration_ns)
		return x->duration_ns < y->duration_ns ? -1 : 1;
	if (x->is_mark != y->is_mark)
		return x->is_mark - y->is_mark;
	return strcmp(x->text, y->text);
}

void events_sort(struct events *events)
{
	if (events->n)
		qsort(events->list, events->n, sizeof(*events->list), compare);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * events.c - lists of events. See events.h.
 */
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * events.h - timelines read back into one common form, to be compared.
 *
 * The readers are strict: they know the formats, not the writers, and fail the running test (cmocka) on anything a
 * viewer would drop, repair or guess about.
 */
#ifndef TESTS_EVENTS_H
#define TESTS_EVENTS_H

#include <stddef.h>
#include <stdint.h>

struct event {
	char *text; /* "name|file|line|grid|block|sm|end" of a slice; marks end in "|value"; arrows: "from -> to" */
	uint64_t start_ns, duration_ns;
	int is_mark; /* 1: a mark, 2: an arrow, from the start of one slice to that of another */
};

struct events {
	struct event *list;
	size_t n, capacity;
	size_t n_tracks; /* with events */
};

void events_add(struct events *events, const char *text, uint64_t start_ns, uint64_t duration_ns, int is_mark);
void events_finish(struct events *events);
/* An end of an arrow: a slice that begins then. Both ends with one id make an event; all ids are whole at the end. */
struct arrow_end {
	uint64_t id, time_ns;
	char *name;
	int is_target;
};
struct arrows {
	struct arrow_end *ends;
	size_t n;
};
void arrows_add(struct arrows *arrows, uint64_t id, uint64_t time_ns, const char *name, int is_target);
void arrows_finish(struct arrows *arrows, struct events *events);
/* Order by time and text, so that equal sets are equal lists. */
void events_sort(struct events *events);

/* A number as all readers write it: whole ones exactly, others with the digits a float has. */
const char *event_number(char text[40], double value);

/* Each reads a whole file. */
void read_pftrace(const char *path, struct events *events);
void read_json_gz(const char *path, struct events *events);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.c - see marks.h.
 */
#include "marks.h"

#include "counters.h"
#include "guard.h"
#include "lock.h"
#include "meta.h"
#include "util.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Marks between two drains, 10 ms apart. */
#define MOST       1024u
#define TEXT_BYTES 128u

struct mark {
	uint64_t time_ns;
	uint32_t thread;
	char text[TEXT_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mark marks[MOST]; /* under the lock */
static unsigned n_marks;

bool warpspan_marks_add(const char *text)
{
	struct mark mark = { .time_ns = warpspan_now_ns(), .thread = warpspan_thread_id() };
	bool good;

	(void)snprintf(mark.text, sizeof(mark.text), "%s", text != NULL ? text : "");
	warpspan_lock(&lock);
	good = n_marks < MOST;
	if (good)
		marks[n_marks++] = mark;
	warpspan_unlock(&lock);
	if (!good)
		warpspan_count(WARPSPAN_COUNTER_marks_full, 1);
	return good;
}

void warpspan_marks_write(void)
{
	static struct mark taken[MOST];
	unsigned n;

	warpspan_lock(&lock);
	n = n_marks;
	memcpy(taken, marks, n * sizeof(marks[0]));
	n_marks = 0;
	warpspan_unlock(&lock);
	for (unsigned i = 0; i < n; i++)
		warpspan_meta_mark(taken[i].time_ns, taken[i].thread, taken[i].text);
}

void warpspan_marks_begin(uint64_t begin_ns)
{
	unsigned n = 0;

	warpspan_lock(&lock);
	for (unsigned i = 0; i < n_marks; i++)
		if (marks[i].time_ns >= begin_ns)
			marks[n++] = marks[i];
	n_marks = n;
	warpspan_unlock(&lock);
}

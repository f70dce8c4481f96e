/* SPDX-License-Identifier: Apache-2.0
 *
 * race_ranges.c - threads that push, pop, start and end ranges of the name and others, in three domains, under the
 * thread sanitizer where there is one. Sessions are only counted. While a thread has a range of the name open a session
 * is active; each is started once and stopped once; in the end none is left. A race ends it with the sanitizer's exit
 * status, anything else with 1.
 */
#include "guard.h"
#include "ranges.h"
#include "session.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define N_THREADS 8
#define N_STEPS   40000
#define N_DOMAINS 3
#define MOST_DEEP 6
#define N_STARTED 3

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "race_ranges: %s\n", what);
	exit(1);
}

/* --- sessions that are only counted ----------------------------------------------------------- */

static atomic_bool active;
static atomic_uint n_sessions, n_stopped;

struct warpspan_origin warpspan_origin(const char *format, ...)
{
	return (struct warpspan_origin){ .who = "" };
}

int warpspan_session_restart(const struct warpspan_origin *origin, struct warpspan_message *ret_message)
{
	check(!atomic_exchange(&active, true), "a session was started twice");
	n_sessions++;
	errno = EBUSY;
	return 0;
}

void warpspan_session_wait_armed(void)
{
	check(active, "nothing to wait for");
}

void warpspan_session_status(struct warpspan_status *ret_status)
{
	*ret_status = (struct warpspan_status){ .phase = active ? WARPSPAN_PHASE_ACTIVE : WARPSPAN_PHASE_IDLE,
						.number = n_sessions };
}

int warpspan_session_stop(const struct warpspan_origin *origin, uint64_t patience_ns, unsigned *ret_number,
			  struct warpspan_message *ret_message)
{
	check(atomic_exchange(&active, false), "a session was stopped twice");
	*ret_number = ++n_stopped;
	errno = EBUSY;
	return 0;
}

/* --- threads ---------------------------------------------------------------------------------- */

static _Atomic uint64_t started[N_STARTED]; /* open ones, for any thread to end */

/* What a thread has on its stacks. */
struct stacks {
	unsigned depth[N_DOMAINS];
	bool named[N_DOMAINS][MOST_DEEP];
	unsigned n_named;
};

static void push(struct stacks *stacks, unsigned domain, bool named)
{
	if (stacks->depth[domain] == MOST_DEEP)
		return;
	warpspan_ranges_push(&started[domain], named);
	stacks->named[domain][stacks->depth[domain]++] = named;
	stacks->n_named += named;
}

static void pop(struct stacks *stacks, unsigned domain)
{
	warpspan_ranges_pop(&started[domain]);
	if (stacks->depth[domain] != 0)
		stacks->n_named -= stacks->named[domain][--stacks->depth[domain]];
}

static void start(unsigned place)
{
	uint64_t free_one = 0;
	const uint64_t number = warpspan_ranges_start();

	check(number != 0, "a started range has no number");
	check(active, "a range is open and no session is active");
	if (!atomic_compare_exchange_strong(&started[place], &free_one, number))
		warpspan_ranges_end(number);
	warpspan_ranges_end(number ^ 1ull << 63); /* nobody's */
}

static void *run(void *argument)
{
	uint32_t random = (uint32_t)(uintptr_t)argument * 2654435761u + 1;
	struct stacks stacks = { 0 };

	for (unsigned i = 0; i < N_STEPS; i++) {
		random = random * 1664525u + 1013904223u;
		const unsigned what = random >> 29, domain = (random >> 8) % N_DOMAINS;

		errno = 77;
		if (what < 3)
			push(&stacks, domain, (random >> 16) % 32 == 0);
		else if (what < 6)
			pop(&stacks, domain);
		else if (what == 6 && (random >> 20) % 16 == 0)
			start((random >> 12) % N_STARTED);
		else
			warpspan_ranges_end(atomic_exchange(&started[(random >> 12) % N_STARTED], 0));
		check(errno == 77, "errno changed");
		check(stacks.n_named == 0 || active, "a range is open and no session is active");
	}
	for (unsigned domain = 0; domain < N_DOMAINS; domain++)
		while (stacks.depth[domain] != 0)
			pop(&stacks, domain);
	return NULL;
}

int main(void)
{
	pthread_t threads[N_THREADS];

	warpspan_ranges_init("hot");
	for (uintptr_t i = 0; i < N_THREADS; i++)
		check(pthread_create(&threads[i], NULL, run, (void *)i) == 0, "no thread");
	for (unsigned i = 0; i < N_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < N_STARTED; i++)
		warpspan_ranges_end(atomic_exchange(&started[i], 0));
	check(!active, "no range is open and a session is active");
	check(n_sessions == n_stopped, "sessions were not stopped");
	check(n_sessions > 100, "there were hardly any sessions");
	printf("%u sessions\n", n_sessions);
	return 0;
}

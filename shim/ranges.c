/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges.c - open ranges of the name, and their sessions. See ranges.h.
 */
#include "ranges.h"

#include "guard.h"
#include "lock.h"
#include "log.h"
#include "session.h"
#include "uncancelled.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

static const char *range_name;

void warpspan_ranges_init(const char *name)
{
	range_name = name;
}

static void say_too_many(void)
{
	warpspan_log_once(WARPSPAN_LOG_WARN,
			  "more than %u NVTX ranges '%s' are open at a time: the others start no session",
			  WARPSPAN_MOST_RANGES, range_name);
}

/* --- sessions --------------------------------------------------------------------------------- */

/* Orders begins and ends: who begins a range while the session is being started waits for it. Threads that hold it are
 * within the library (guard.h), so that a signal handler's ranges do not come here. Nobody else takes it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* All under the lock. */
static unsigned n_open;    /* ranges of the name */
static unsigned session;   /* that the first of them started; 0: none */
static int last_complaint; /* why the latest could not start; 0: it could */

static void start_session(void)
{
	const struct warpspan_origin by = warpspan_origin("NVTX range '%s'", range_name);
	struct warpspan_message message;
	struct warpspan_status status;
	const int result = warpspan_session_restart(&by, &message);

	session = 0;
	if (result == 0) {
		warpspan_session_status(&status);
		session = status.number;
		warpspan_session_wait_armed();
	} else if (result != last_complaint) {
		/* Once for a loop of them. */
		warpspan_warn("NVTX range '%s': %s", range_name, message.text);
	}
	last_complaint = result;
}

/* The program goes on at once; what it launched before is the session's. A session that somebody else started, or
 * stopped, is not ours to stop. */
static void stop_session(void)
{
	const struct warpspan_origin by = warpspan_origin("the end of NVTX range '%s'", range_name);
	struct warpspan_message message;
	struct warpspan_status status;
	unsigned number;

	warpspan_session_status(&status);
	if (session != 0 && status.number == session && status.phase == WARPSPAN_PHASE_ACTIVE &&
	    warpspan_session_stop(&by, 0, &number, &message) != 0)
		warpspan_debug("the end of NVTX range '%s': %s", range_name, message.text);
	session = 0;
}

static void begin(void)
{
	const int saved_errno = errno;
	WARPSPAN_UNCANCELLED;

	warpspan_thread.depth++;
	warpspan_lock(&lock);
	if (n_open++ == 0)
		start_session();
	warpspan_unlock(&lock);
	warpspan_thread.depth--;
	errno = saved_errno;
}

static void end(void)
{
	const int saved_errno = errno;
	WARPSPAN_UNCANCELLED;

	warpspan_thread.depth++;
	warpspan_lock(&lock);
	if (--n_open == 0)
		stop_session();
	warpspan_unlock(&lock);
	warpspan_thread.depth--;
	errno = saved_errno;
}

/* --- pushed and popped ------------------------------------------------------------------------ */

/* A thread's stack of a domain, from its lowest range of the name upwards. Once claimed, its thread's own. */
struct stack {
	_Atomic uint32_t thread; /* 0: free */
	uint32_t depth;          /* ranges on it */
	const void *domain;
};

static struct stack stacks[WARPSPAN_MOST_RANGES];
static _Atomic unsigned n_stacks; /* claimed; a thread that has one sees that it is not 0 */

static struct stack *find(const void *domain)
{
	uint32_t thread;

	if (atomic_load_explicit(&n_stacks, memory_order_relaxed) == 0)
		return NULL;
	thread = warpspan_thread_id();
	for (unsigned i = 0; i < WARPSPAN_MOST_RANGES; i++)
		if (atomic_load_explicit(&stacks[i].thread, memory_order_relaxed) == thread &&
		    stacks[i].domain == domain)
			return &stacks[i];
	return NULL;
}

static struct stack *claim(const void *domain)
{
	const uint32_t thread = warpspan_thread_id();

	for (unsigned i = 0; i < WARPSPAN_MOST_RANGES; i++) {
		uint32_t free_one = 0;

		/* Acquire pairs with the release in let_go(): the thread before is done with it. */
		if (atomic_compare_exchange_strong_explicit(&stacks[i].thread, &free_one, thread, memory_order_acquire,
							    memory_order_relaxed)) {
			stacks[i].domain = domain;
			stacks[i].depth = 1;
			atomic_fetch_add_explicit(&n_stacks, 1, memory_order_relaxed);
			return &stacks[i];
		}
	}
	return NULL;
}

static void let_go(struct stack *stack)
{
	atomic_fetch_sub_explicit(&n_stacks, 1, memory_order_relaxed);
	atomic_store_explicit(&stack->thread, 0, memory_order_release);
}

void warpspan_ranges_push(const void *domain, bool named)
{
	struct stack *stack = find(domain);

	if (stack != NULL)
		stack->depth++;
	else if (named && claim(domain) != NULL)
		begin();
	else if (named)
		say_too_many();
}

void warpspan_ranges_pop(const void *domain)
{
	struct stack *stack = find(domain);

	if (stack == NULL || --stack->depth != 0)
		return;
	let_go(stack);
	end();
}

/* --- started and ended ------------------------------------------------------------------------ */

/* A number: these bits, how many were started before, and its place. A program that ends 0, or a number of another
 * tool's, ends none of ours. */
#define NUMBER_MARK (0x5753ull << 48)

/* 0: free. */
static _Atomic uint64_t started[WARPSPAN_MOST_RANGES];

uint64_t warpspan_ranges_start(void)
{
	static _Atomic uint32_t n_before;
	const uint64_t before = atomic_fetch_add_explicit(&n_before, 1, memory_order_relaxed);

	for (unsigned i = 0; i < WARPSPAN_MOST_RANGES; i++) {
		const uint64_t number = NUMBER_MARK | before << 16 | i;
		uint64_t free_one = 0;

		if (atomic_compare_exchange_strong_explicit(&started[i], &free_one, number, memory_order_relaxed,
							    memory_order_relaxed)) {
			begin();
			return number;
		}
	}
	say_too_many();
	return 0;
}

void warpspan_ranges_end(uint64_t number)
{
	const uint64_t place = number & 0xffff;

	if ((number & (0xffffull << 48)) == NUMBER_MARK && place < WARPSPAN_MOST_RANGES &&
	    atomic_compare_exchange_strong_explicit(&started[place], &number, 0, memory_order_relaxed,
						    memory_order_relaxed))
		end();
}

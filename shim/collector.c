/* SPDX-License-Identifier: Apache-2.0
 *
 * collector.c - the collector's loop and pace. See collector.h.
 *
 * Pace: every PERIOD while something moves, every SHORTEST while an arena fills fast, and else half as often again and
 * again, down to LONGEST: kernels of a graph are launched without our seeing it, so it never sleeps for good. A hint
 * wakes it at once, but two drains are at least SHORTEST apart, so that a program that synchronises all the time is not
 * slowed down. Threads wake it through a futex,
 * and only when it sleeps.
 */
#include "collector.h"

#include "drain.h"
#include "driver.h"
#include "guard.h"
#include "host_log.h"
#include "log.h"
#include "meta.h"
#include "output.h"
#include "util.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PERIOD_NS   (10 * WARPSPAN_NS_PER_MS)
#define SHORTEST_NS (1 * WARPSPAN_NS_PER_MS)
#define LONGEST_NS  (500 * WARPSPAN_NS_PER_MS)
/* While a kernel runs. */
#define LONGEST_BUSY_NS (50 * WARPSPAN_NS_PER_MS)
/* Counters go into the file this often while they change. */
#define COUNTERS_NS (1 * WARPSPAN_NS_PER_S)

/* --- waking ----------------------------------------------------------------------------------- */

enum sleep {
	AWAKE,
	DOZING, /* until the period is over: launches need not wake it */
	ASLEEP,
};

static _Atomic uint32_t bell; /* the futex; a ring is an increment */
static _Atomic int sleeping;  /* enum sleep */

static void ring(void)
{
	/* Release pairs with the acquire in nap(): what the ringer did is seen by the drain it asks for. */
	(void)atomic_fetch_add_explicit(&bell, 1, memory_order_seq_cst);
	if (atomic_load_explicit(&sleeping, memory_order_seq_cst) != AWAKE)
		(void)syscall(SYS_futex, &bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void warpspan_collector_hint(void)
{
	ring();
}

void warpspan_collector_nudge(void)
{
	/* seq_cst, after the launch was logged: either this sees ASLEEP, or nap() sees the launch. */
	if (atomic_load_explicit(&sleeping, memory_order_seq_cst) == ASLEEP)
		ring();
}

/* Waits for a ring other than `heard`, at most `ns`. */
static void nap(uint32_t heard, uint64_t ns, uint64_t calls_seen)
{
	const struct timespec time = { .tv_sec = (time_t)(ns / WARPSPAN_NS_PER_S),
				       .tv_nsec = (long)(ns % WARPSPAN_NS_PER_S) };

	atomic_store_explicit(&sleeping, ns > PERIOD_NS ? ASLEEP : DOZING, memory_order_seq_cst);
	if (ns <= PERIOD_NS || warpspan_host_log_begun() == calls_seen)
		(void)syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, &time, NULL, 0);
	atomic_store_explicit(&sleeping, AWAKE, memory_order_seq_cst);
}

/* --- requests --------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
/* All under the lock. */
static uint64_t flushes_asked, flushes_done;
static bool stop_asked, stopped;
static struct warpspan_context *inside; /* the context the collector is in */

static pthread_t thread;

/* Waits for a change, until `deadline`; false: it has passed. The lock is held. */
static bool wait_change(const struct timespec *deadline)
{
	return pthread_cond_timedwait(&changed, &lock, deadline) != ETIMEDOUT;
}

bool warpspan_collector_flush(uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	uint64_t ticket;
	bool done;

	pthread_mutex_lock(&lock);
	ticket = ++flushes_asked;
	pthread_mutex_unlock(&lock);
	ring();
	pthread_mutex_lock(&lock);
	while (flushes_done < ticket && !stopped && wait_change(&deadline))
		;
	done = flushes_done >= ticket || stopped;
	pthread_mutex_unlock(&lock);
	return done;
}

void warpspan_collector_suspend(struct warpspan_context *context)
{
	pthread_mutex_lock(&lock);
	(void)atomic_fetch_add_explicit(&context->suspended, 1, memory_order_relaxed);
	while (inside == context)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

void warpspan_collector_resume(struct warpspan_context *context)
{
	(void)atomic_fetch_sub_explicit(&context->suspended, 1, memory_order_relaxed);
}

void warpspan_collector_retire(struct warpspan_context *context)
{
	atomic_store_explicit(&context->retiring, true, memory_order_release);
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool enter(struct warpspan_context *context)
{
	bool ready;

	pthread_mutex_lock(&lock);
	ready = atomic_load_explicit(&context->state, memory_order_acquire) == WARPSPAN_CONTEXT_READY &&
		atomic_load_explicit(&context->suspended, memory_order_relaxed) == 0;
	if (ready)
		inside = context;
	pthread_mutex_unlock(&lock);
	return ready;
}

static void leave(void)
{
	pthread_mutex_lock(&lock);
	inside = NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void lose(struct warpspan_context *context, CUresult error)
{
	/* A kernel that faults takes its context along, and the driver may be gone already at the end of the program.
	 */
	if (error == CUDA_ERROR_DEINITIALIZED) {
		warpspan_debug("the driver has shut down");
	} else {
		warpspan_count(WARPSPAN_COUNTER_context_lost, 1);
		warpspan_error("context %u: %s while reading records; what was not read yet is lost", context->number,
			       warpspan_driver_error(error));
	}
	atomic_store_explicit(&context->state, WARPSPAN_CONTEXT_FAILED, memory_order_release);
}

/* What was found in all contexts together. */
static struct warpspan_drain_result drain_all(enum warpspan_drain_mode mode)
{
	struct warpspan_drain_result all = { .moved = false };

	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;) {
		const bool retiring = atomic_load_explicit(&context->retiring, memory_order_acquire);
		struct warpspan_drain_result found = { .error = CUDA_SUCCESS };

		if (!enter(context))
			continue;
		found.error = warpspan_driver.cuCtxSetCurrent(context->handle);
		if (found.error == CUDA_SUCCESS)
			found = warpspan_drain_context(context, retiring ? WARPSPAN_DRAIN_ALL : mode);
		(void)warpspan_driver.cuCtxSetCurrent(NULL);
		if (found.error != CUDA_SUCCESS)
			lose(context, found.error);
		leave();
		all.moved = all.moved || found.moved;
		all.unfinished = all.unfinished || found.unfinished;
		all.pressed = all.pressed || found.pressed;
	}
	warpspan_drain_host(false);
	return all;
}

static void write_counters(uint64_t *last_ns, bool now)
{
	const uint64_t time = warpspan_now_ns();

	if (!now && time - *last_ns < COUNTERS_NS)
		return;
	*last_ns = time;
	warpspan_meta_counters();
}

static uint64_t next_pace(uint64_t pace_ns, const struct warpspan_drain_result *found, bool launched)
{
	const uint64_t longest_ns = found->unfinished ? LONGEST_BUSY_NS : LONGEST_NS;

	if (found->pressed)
		return SHORTEST_NS;
	if (found->moved || launched)
		return PERIOD_NS;
	return pace_ns * 2 < longest_ns ? pace_ns * 2 : longest_ns;
}

static void *run(void *unused)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint64_t counters_ns = warpspan_now_ns();
	uint64_t pace_ns = PERIOD_NS;
	uint64_t calls_seen = 0;
	bool stop = false;

	(void)unused;
	warpspan_thread.depth = 1;
	(void)pthread_setname_np(pthread_self(), "warpspan");
	(void)warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode);
	while (!stop) {
		const uint32_t heard = atomic_load_explicit(&bell, memory_order_seq_cst);
		const uint64_t begin_ns = warpspan_now_ns();
		const uint64_t calls = warpspan_host_log_begun();
		uint64_t flushes;
		struct warpspan_drain_result found;
		bool urgent;

		pthread_mutex_lock(&lock);
		flushes = flushes_asked;
		stop = stop_asked;
		pthread_mutex_unlock(&lock);
		found = drain_all(stop ? WARPSPAN_DRAIN_ALL : WARPSPAN_DRAIN_CLOSED);
		if (stop)
			warpspan_drain_host(true);
		write_counters(&counters_ns, stop);
		if (warpspan_output_failed())
			atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
		pthread_mutex_lock(&lock);
		flushes_done = flushes;
		stopped = stop;
		urgent = flushes_asked > flushes || stop_asked;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		if (stop)
			break;
		pace_ns = next_pace(pace_ns, &found, calls != calls_seen);
		calls_seen = calls;
		if (!urgent) {
			const uint64_t took_ns = warpspan_now_ns() - begin_ns;

			if (atomic_load_explicit(&bell, memory_order_seq_cst) == heard)
				nap(heard, pace_ns, calls);
			else if (took_ns < SHORTEST_NS)
				(void)nanosleep(&(struct timespec){ .tv_nsec = (long)(SHORTEST_NS - took_ns) }, NULL);
		}
	}
	return NULL;
}

bool warpspan_collector_start(void)
{
	sigset_t all, before;
	int result;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&thread, NULL, run, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result == 0;
}

bool warpspan_collector_stop(uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	bool done;

	pthread_mutex_lock(&lock);
	stop_asked = true;
	pthread_mutex_unlock(&lock);
	ring();
	pthread_mutex_lock(&lock);
	while (!stopped && wait_change(&deadline))
		;
	done = stopped;
	pthread_mutex_unlock(&lock);
	if (done)
		(void)pthread_join(thread, NULL);
	return done;
}

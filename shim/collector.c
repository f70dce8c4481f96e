/* SPDX-License-Identifier: Apache-2.0
 *
 * collector.c - the collector's loop and pace. See collector.h.
 *
 *   idle --(open)--> arming --> recording --(close)--> ending: kernels are waited for --> last drain --> idle
 *
 * Pace: every PERIOD while something moves, every SHORTEST while an arena fills fast, and else half as often again and
 * again, down to LONGEST: kernels of a graph are launched without our seeing it, so it never sleeps for good. A hint
 * wakes it at once, but two drains are at least SHORTEST apart, so that a program that synchronises all the time is not
 * slowed down. Threads wake it through a futex,
 * and only when it sleeps.
 */
#include "collector.h"

#include "arena.h"
#include "attach.h"
#include "capture.h"
#include "drain.h"
#include "driver.h"
#include "ending.h"
#include "filter.h"
#include "guard.h"
#include "host_log.h"
#include "lock.h"
#include "log.h"
#include "marks.h"
#include "meta.h"
#include "output.h"
#include "quiesce.h"
#include "recent.h"
#include "sites.h"
#include "thread.h"
#include "util.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Without a session: until a ring; launches that fill the log ring, others do not. */
static void sleep_idle(uint32_t heard)
{
	atomic_store_explicit(&sleeping, DOZING, memory_order_seq_cst);
	(void)syscall(SYS_futex, &bell, FUTEX_WAIT_PRIVATE, heard, NULL, NULL, 0);
	atomic_store_explicit(&sleeping, AWAKE, memory_order_seq_cst);
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
static unsigned opened;                   /* number of the session to record; 0: none */
static uint64_t opened_ns;                /* launches that began before are not its own */
static unsigned armed;                    /* number of the latest session whose contexts were looked at */
static bool close_asked;                  /* the session is to end ... */
static uint64_t closed_ns;                /* ... and launches from then on are not its own ... */
static uint64_t close_at_ns;              /* ... and it waits for kernels up to then ... */
static uint64_t hurry_at_ns = UINT64_MAX; /* ... or then, as the program ends */
static struct warpspan_origin closed_by;
static bool running, quit_asked;
static enum { SNAPSHOT_NONE, SNAPSHOT_ASKED, SNAPSHOT_DONE, SNAPSHOT_FAILED } snapshot;
static char snapshot_path[WARPSPAN_TEXT_BYTES], snapshot_reason[WARPSPAN_REASON_BYTES];
static struct warpspan_context *inside; /* the context the collector is in */

static pthread_t thread;

/* Waits for a change, until `deadline`; false: it has passed. The lock is held. */
static bool wait_change(const struct timespec *deadline)
{
	return warpspan_wait(&changed, &lock, deadline) != ETIMEDOUT;
}

void warpspan_collector_open(unsigned session, uint64_t begin_ns)
{
	warpspan_lock(&lock);
	opened = session;
	opened_ns = begin_ns;
	warpspan_unlock(&lock);
	ring();
}

void warpspan_collector_close(const struct warpspan_origin *by, uint64_t patience_ns)
{
	warpspan_lock(&lock);
	closed_by = *by;
	closed_ns = warpspan_now_ns();
	close_at_ns = closed_ns + patience_ns;
	close_asked = true;
	warpspan_unlock(&lock);
	ring();
}

void warpspan_collector_hurry(uint64_t patience_ns)
{
	warpspan_lock(&lock);
	hurry_at_ns = warpspan_now_ns() + patience_ns;
	warpspan_unlock(&lock);
	ring();
}

bool warpspan_collector_wait_armed(uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	bool done;

	warpspan_lock(&lock);
	while (opened != 0 && armed != opened && wait_change(&deadline))
		;
	done = opened == 0 || armed == opened;
	warpspan_unlock(&lock);
	return done;
}

bool warpspan_collector_wait_resumed(struct warpspan_context *context, uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	bool done;

	warpspan_lock(&lock);
	while (opened != 0 && context->resumed_for != opened && wait_change(&deadline))
		;
	done = opened != 0 && context->resumed_for == opened;
	warpspan_unlock(&lock);
	return done;
}

void warpspan_collector_note_resumed(struct warpspan_context *context)
{
	warpspan_lock(&lock);
	context->resumed_for = opened;
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
}

bool warpspan_collector_flush(uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	uint64_t ticket;
	bool done;

	warpspan_lock(&lock);
	ticket = ++flushes_asked;
	warpspan_unlock(&lock);
	ring();
	warpspan_lock(&lock);
	while (flushes_done < ticket && running && wait_change(&deadline))
		;
	done = flushes_done >= ticket || !running;
	warpspan_unlock(&lock);
	return done;
}

int warpspan_collector_snapshot(uint64_t patience_ns, char (*ret_path)[WARPSPAN_TEXT_BYTES],
				char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	const struct timespec deadline = warpspan_deadline(patience_ns);
	int result = WARPSPAN_ERR_OUTPUT;

	warpspan_lock(&one_at_a_time);
	warpspan_lock(&lock);
	snapshot = opened != 0 ? SNAPSHOT_ASKED : SNAPSHOT_NONE;
	warpspan_unlock(&lock);
	ring();
	warpspan_lock(&lock);
	while (snapshot == SNAPSHOT_ASKED && opened != 0 && wait_change(&deadline))
		;
	if (snapshot == SNAPSHOT_DONE) {
		memcpy(*ret_path, snapshot_path, sizeof(*ret_path));
		result = 0;
	} else if (snapshot == SNAPSHOT_FAILED) {
		memcpy(*ret_reason, snapshot_reason, sizeof(*ret_reason));
	} else {
		result = opened == 0 ? WARPSPAN_ERR_NOT_STARTED : WARPSPAN_ERR_DRAINING;
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "%s", warpspan_strerror(result));
	}
	snapshot = SNAPSHOT_NONE;
	warpspan_unlock(&lock);
	warpspan_unlock(&one_at_a_time);
	return result;
}

void warpspan_collector_suspend(struct warpspan_context *context)
{
	warpspan_lock(&lock);
	(void)atomic_fetch_add_explicit(&context->suspended, 1, memory_order_relaxed);
	while (inside == context)
		warpspan_wait(&changed, &lock, NULL);
	warpspan_unlock(&lock);
}

void warpspan_collector_resume(struct warpspan_context *context)
{
	(void)atomic_fetch_sub_explicit(&context->suspended, 1, memory_order_relaxed);
}

void warpspan_collector_retire(struct warpspan_context *context)
{
	atomic_store_explicit(&context->retiring, true, memory_order_release);
}

/* --- contexts --------------------------------------------------------------------------------- */

static bool enter(struct warpspan_context *context, enum warpspan_context_state state)
{
	static bool relaxed; /* this thread never breaks a capture of another's */
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	bool ready;

	if (!relaxed)
		relaxed = warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;

	warpspan_lock(&lock);
	ready = atomic_load_explicit(&context->state, memory_order_acquire) == state &&
		atomic_load_explicit(&context->suspended, memory_order_relaxed) == 0;
	if (ready)
		inside = context;
	warpspan_unlock(&lock);
	return ready;
}

static void leave(void)
{
	warpspan_lock(&lock);
	inside = NULL;
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
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

/* Does something in every context that has arenas, with the context current; one in which it fails is lost. */
static void in_each_context(CUresult (*act)(struct warpspan_context *, void *), void *argument)
{
	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;) {
		CUresult error;

		if (!enter(context, WARPSPAN_CONTEXT_READY))
			continue;
		error = warpspan_driver.cuCtxSetCurrent(context->handle);
		if (error == CUDA_SUCCESS)
			error = act(context, argument);
		(void)warpspan_driver.cuCtxSetCurrent(NULL);
		if (error != CUDA_SUCCESS)
			lose(context, error);
		leave();
	}
}

struct drain {
	enum warpspan_drain_mode mode;
	struct warpspan_drain_result all; /* what was found in all contexts together */
};

static CUresult drain_one(struct warpspan_context *context, void *argument)
{
	struct drain *drain = argument;
	const bool retiring = atomic_load_explicit(&context->retiring, memory_order_acquire);
	const struct warpspan_drain_result found =
		warpspan_drain_context(context, retiring ? WARPSPAN_DRAIN_ALL : drain->mode);

	drain->all.moved = drain->all.moved || found.moved;
	drain->all.unfinished = drain->all.unfinished || found.unfinished;
	drain->all.pressed = drain->all.pressed || found.pressed;
	return found.error;
}

static struct warpspan_drain_result drain_all(enum warpspan_drain_mode mode)
{
	struct drain drain = { .mode = mode };

	in_each_context(drain_one, &drain);
	warpspan_drain_host(mode == WARPSPAN_DRAIN_ALL);
	warpspan_marks_write();
	return drain.all;
}

/* --- the beginning of a session --------------------------------------------------------------- */

static bool is_resumed(const struct warpspan_context *context)
{
	bool resumed;

	warpspan_lock(&lock);
	resumed = context->resumed_for == opened;
	warpspan_unlock(&lock);
	return resumed;
}

/* One whose arenas were made for this session, by the launch that began it, may be in use already. */
static CUresult resume_one(struct warpspan_context *context, void *argument)
{
	const struct warpspan_settings *settings = argument;
	CUresult error;

	if (is_resumed(context))
		return CUDA_SUCCESS;
	error = warpspan_arenas_resume(context->arenas, settings->events_per_warp);
	if (error == CUDA_SUCCESS)
		warpspan_collector_note_resumed(context);
	return error;
}

/* Modules that were seen but do not record, those of graphs above all: their next launch may not come by us. */
static void attach_known(void)
{
	for (struct warpspan_module *module = NULL; (module = warpspan_registry_next_loaded(module)) != NULL;) {
		struct warpspan_context *context = module->context;
		const enum warpspan_context_state state = atomic_load_explicit(&context->state, memory_order_acquire);

		if (atomic_load_explicit(&module->attached, memory_order_acquire) ||
		    (state != WARPSPAN_CONTEXT_READY && state != WARPSPAN_CONTEXT_NEW) || !enter(context, state))
			continue;
		if (warpspan_driver.cuCtxSetCurrent(context->handle) == CUDA_SUCCESS)
			warpspan_attach_known(module);
		(void)warpspan_driver.cuCtxSetCurrent(NULL);
		leave();
	}
}

/* The session's capture is the collector's from here on. Returns its number; 0: none was opened. */
static unsigned begin_session(void)
{
	struct warpspan_settings *settings;
	unsigned session;
	uint64_t begin_ns;

	warpspan_lock(&lock);
	session = opened;
	begin_ns = opened_ns;
	warpspan_unlock(&lock);
	if (session == 0)
		return 0;
	settings = malloc(sizeof(*settings));
	warpspan_meta_begin(session);
	warpspan_drain_begin();
	warpspan_filter_begin();
	warpspan_sites_begin(session);
	warpspan_marks_begin(begin_ns);
	/* What was launched before the session and may still run: it is told apart by its time. */
	warpspan_recent_take(begin_ns);
	if (settings != NULL && warpspan_session_awake()) {
		warpspan_session_settings(settings);
		warpspan_registry_judge_all();
		in_each_context(resume_one, settings);
		attach_known();
	}
	free(settings);
	warpspan_recent_write();
	warpspan_lock(&lock);
	armed = session;
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
	return session;
}

static CUresult peek_one(struct warpspan_context *context, void *argument)
{
	(void)argument;
	return warpspan_drain_peek(context);
}

/* Everything closed is in the capture. */
static void take_snapshot(void)
{
	static char path[WARPSPAN_TEXT_BYTES], reason[WARPSPAN_REASON_BYTES];
	bool asked, good;

	warpspan_lock(&lock);
	asked = snapshot == SNAPSHOT_ASKED;
	warpspan_unlock(&lock);
	if (!asked)
		return;
	warpspan_meta_counters();
	good = warpspan_output_snapshot_begin(&path, &reason);
	if (good) {
		in_each_context(peek_one, NULL);
		good = warpspan_output_snapshot_end(&reason);
	}
	warpspan_lock(&lock);
	snapshot = good ? SNAPSHOT_DONE : SNAPSHOT_FAILED;
	memcpy(snapshot_path, path, sizeof(path));
	memcpy(snapshot_reason, reason, sizeof(reason));
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
}

/* --- the end of a session --------------------------------------------------------------------- */

/* The capture cannot be written any more. */
static void give_up_session(void)
{
	const struct warpspan_origin by = warpspan_origin("a capture that cannot be written");
	struct warpspan_message message;
	unsigned number;

	(void)warpspan_session_stop(&by, 1, &number, &message);
}

/* The wait for kernels, while the session is being ended; NULL: not begun. */
static struct warpspan_quiesce *quiesce;
static bool quiesce_begun;
/* Of a session before, for kernels that have not ended since: no later wait ends sooner, so none is begun, and however
 * often the program stops, one thread waits. */
static struct warpspan_quiesce *left_over;

static struct warpspan_quiesce *begin_quiesce(void)
{
	CUcontext contexts[WARPSPAN_QUIESCE_MOST];
	unsigned n = 0;

	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (n < WARPSPAN_QUIESCE_MOST &&
		    atomic_load_explicit(&context->state, memory_order_acquire) == WARPSPAN_CONTEXT_READY)
			contexts[n++] = context->handle;
	return n != 0 ? warpspan_quiesce_begin(contexts, n, ring) : NULL;
}

/* Whether the last drain may come. *ret_running: kernels still run. */
static bool is_quiet(uint64_t until_ns, bool *ret_running)
{
	bool quiet;

	if (left_over != NULL && !warpspan_quiesce_done(left_over)) {
		*ret_running = true;
		return warpspan_now_ns() >= until_ns;
	}
	left_over = warpspan_quiesce_end(left_over);
	/* A wait for a whole context would break a capture; it ends before long, or the time does. */
	if (!quiesce_begun && warpspan_capture_any() && warpspan_now_ns() < until_ns)
		return false;
	if (!quiesce_begun && !warpspan_capture_any())
		quiesce = begin_quiesce();
	quiesce_begun = true;
	quiet = quiesce == NULL || warpspan_quiesce_done(quiesce);
	*ret_running = !quiet;
	if (!quiet && warpspan_now_ns() < until_ns)
		return false;
	if (quiet)
		quiesce = warpspan_quiesce_end(quiesce);
	left_over = quiesce;
	quiesce = NULL;
	quiesce_begun = false;
	return true;
}

static CUresult suspend_one(struct warpspan_context *context, void *argument)
{
	(void)argument;
	return warpspan_arenas_suspend(context->arenas);
}

static void hand_over(unsigned session)
{
	struct warpspan_ending *ending = calloc(1, sizeof(*ending));

	if (ending == NULL) {
		warpspan_session_drained();
		warpspan_ending_none(session);
		return;
	}
	ending->number = session;
	ending->totals = warpspan_drain_totals();
	ending->cut_short = warpspan_output_failed();
	warpspan_session_settings(&ending->settings);
	memcpy(ending->path, warpspan_output_path(), sizeof(ending->path));
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++)
		ending->counted[i] = warpspan_counted((enum warpspan_counter)i);
	/* The next session may begin: everything of this one is in `ending`. */
	warpspan_session_drained();
	warpspan_ending_begin(ending);
}

/* The last drain: nothing of this session comes after it. */
static void end_session(unsigned session, bool kernels_running)
{
	struct warpspan_origin by;
	uint64_t end_ns;

	if (kernels_running)
		warpspan_warn("kernels still run: their records are written as far as they have come");
	in_each_context(suspend_one, NULL);
	warpspan_session_cut();
	(void)drain_all(WARPSPAN_DRAIN_ALL);
	warpspan_lock(&lock);
	by = closed_by;
	end_ns = closed_ns;
	warpspan_unlock(&lock);
	warpspan_meta_end(&by, end_ns, !kernels_running);
	warpspan_meta_counters();
	warpspan_output_finish();
	warpspan_lock(&lock);
	opened = 0;
	close_asked = false;
	flushes_done = flushes_asked;
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
	hand_over(session);
}

/* --- the loop --------------------------------------------------------------------------------- */

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

/* Takes what was logged without a session. Returns whether a session was opened or the end has come. */
static bool idle(uint32_t heard)
{
	bool busy;

	warpspan_lock(&lock);
	flushes_done = flushes_asked;
	busy = opened != 0 || quit_asked;
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
	if (busy)
		return true;
	warpspan_recent_take(warpspan_now_ns());
	sleep_idle(heard);
	return false;
}

/* What one turn of the loop did. */
struct turn {
	uint64_t begin_ns, calls;
	struct warpspan_drain_result found;
	bool urgent; /* somebody waits for the next one */
	bool over;   /* the session has ended */
};

static struct turn record(unsigned session, uint64_t *counters_ns)
{
	struct turn turn = { .begin_ns = warpspan_now_ns(), .calls = warpspan_host_log_begun() };
	uint64_t flushes, until_ns;
	bool closing, kernels_running = false;

	warpspan_lock(&lock);
	flushes = flushes_asked;
	closing = close_asked;
	until_ns = close_at_ns < hurry_at_ns ? close_at_ns : hurry_at_ns;
	warpspan_unlock(&lock);
	/* Before the drain: what had ended by then is in it. */
	if (closing && is_quiet(until_ns, &kernels_running)) {
		end_session(session, kernels_running);
		turn.over = true;
		return turn;
	}
	turn.found = drain_all(WARPSPAN_DRAIN_CLOSED);
	write_counters(counters_ns, false);
	take_snapshot();
	if (warpspan_output_failed() && !closing)
		give_up_session();
	warpspan_lock(&lock);
	flushes_done = flushes;
	turn.urgent = flushes_asked > flushes || (close_asked && !closing);
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
	if (closing)
		turn.found.pressed = true; /* it ends soon */
	return turn;
}

static void *run(void *unused)
{
	uint64_t counters_ns = 0, pace_ns = PERIOD_NS, calls_seen = 0;
	unsigned session = 0; /* that is being recorded */

	(void)unused;
	for (;;) {
		const uint32_t heard = atomic_load_explicit(&bell, memory_order_seq_cst);
		struct turn turn;

		if (session == 0) {
			if (!idle(heard))
				continue;
			session = begin_session();
			if (session == 0)
				break; /* the end */
			counters_ns = warpspan_now_ns();
			pace_ns = PERIOD_NS;
		}
		turn = record(session, &counters_ns);
		if (turn.over) {
			session = 0;
			continue;
		}
		pace_ns = next_pace(pace_ns, &turn.found, turn.calls != calls_seen);
		calls_seen = turn.calls;
		if (!turn.urgent) {
			const uint64_t took_ns = warpspan_now_ns() - turn.begin_ns;

			if (atomic_load_explicit(&bell, memory_order_seq_cst) == heard)
				nap(heard, pace_ns, turn.calls);
			else if (took_ns < SHORTEST_NS)
				(void)nanosleep(&(struct timespec){ .tv_nsec = (long)(SHORTEST_NS - took_ns) }, NULL);
		}
	}
	return NULL;
}

bool warpspan_collector_start(void)
{
	bool good;

	warpspan_lock(&lock);
	good = running || warpspan_thread_start("warpspan", run, NULL, &thread);
	running = good;
	warpspan_unlock(&lock);
	return good;
}

void warpspan_collector_stop(void)
{
	bool was_running;

	warpspan_lock(&lock);
	was_running = running;
	running = false;
	quit_asked = true;
	warpspan_unlock(&lock);
	ring();
	if (was_running)
		(void)pthread_join(thread, NULL);
}

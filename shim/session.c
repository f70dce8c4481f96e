/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c - the library wakes; sessions start and stop. See session.h.
 *
 * The end comes from atexit() and at_quick_exit(), registered after cuInit() returned: handlers run in reverse order,
 * so ours runs while the driver still works. A forked child is off from its first instruction: CUDA cannot be used in
 * it, and the files, locks and threads are its parent's.
 */
#include "session.h"

#include "collector.h"
#include "control.h"
#include "control_requests.h"
#include "counters.h"
#include "driver.h"
#include "ending.h"
#include "guard.h"
#include "host_log.h"
#include "loader.h"
#include "lock.h"
#include "log.h"
#include "meta.h"
#include "nvtx.h"
#include "output.h"
#include "pattern.h"
#include "registry.h"
#include "signals.h"
#include "util.h"
#include "window.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the first launch of a kernel, and a start, wait for the collector to arm the contexts. */
#define ARM_PATIENCE_NS (1 * WARPSPAN_NS_PER_S)

/* --- the library ------------------------------------------------------------------------------ */

/* Whether something that is done once is: or the number of the process in which it is being done. */
enum readiness {
	NOT_YET = 0,
	DONE = -1,
};

static _Atomic int prepared; /* the settings are read */
static _Atomic int awake;    /* the driver's functions are known */
static pid_t owner;          /* the process that was prepared */
static struct warpspan_settings process_settings;
static int driver_version;

/* Guards everything in this section and the next. Not held during a call of CUDA, a write or a wait for the device. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct warpspan_machine machine;
static struct warpspan_settings session_settings; /* of the latest session */
static struct warpspan_origin origin;             /* of its start */

static atomic_bool recording;      /* launches are the session's; see warpspan_session_cut() */
static atomic_bool automatic_done; /* no session starts by itself any more */

const struct warpspan_settings *warpspan_process_settings(void)
{
	return &process_settings;
}

bool warpspan_session_awake(void)
{
	/* Acquire pairs with the release at the end of warpspan_session_wake(). */
	return atomic_load_explicit(&awake, memory_order_acquire) == DONE;
}

static void in_child(void)
{
	/* Async-signal-safe: the child may have been forked from anywhere. */
	atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	warpspan_thread.tid = 0;
}

static bool is_off(void)
{
	return atomic_load_explicit(&warpspan_off, memory_order_relaxed);
}

/* Claims `readiness` for the caller, or waits for whoever did. False: it is done, or, in a child forked meanwhile,
 * never will be. */
static bool claim(_Atomic int *readiness)
{
	int now = NOT_YET;

	if (atomic_compare_exchange_strong(readiness, &now, (int)getpid()))
		return true;
	while ((now = atomic_load_explicit(readiness, memory_order_acquire)) != DONE) {
		if (now != (int)getpid()) {
			atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
			return false;
		}
		(void)sched_yield();
	}
	return false;
}

static void at_end(void);

/* Again after cuInit(), so that the last one comes before the driver's own. */
static void register_end(void)
{
	if (atexit(at_end) == 0 && at_quick_exit(at_end) == 0)
		return;
	warpspan_error("out of memory: kernels run unprofiled");
	atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
}

static void prepare(void)
{
	if (atomic_load_explicit(&prepared, memory_order_acquire) == DONE || !claim(&prepared))
		return;
	owner = getpid();
	warpspan_settings_read(&process_settings, NULL, NULL);
	session_settings = process_settings;
	warpspan_log_set_level(process_settings.log);
	if (pthread_atfork(NULL, NULL, in_child) != 0) {
		warpspan_error("out of memory: kernels run unprofiled");
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	}
	register_end();
	/* Release pairs with the acquire above. */
	atomic_store_explicit(&prepared, DONE, memory_order_release);
}

bool warpspan_session_wake(void)
{
	struct warpspan_driver loaded;
	const char *missing = "";
	bool good, again;

	if (warpspan_session_awake())
		return true;
	if (is_off())
		return false;
	again = atomic_load_explicit(&prepared, memory_order_acquire) == DONE;
	/* Outside of any lock: the loader has its own, and the calling thread may hold it. Two threads find the same.
	 */
	good = warpspan_driver_load(&loaded, &missing);
	prepare();
	if (!claim(&awake))
		return !is_off();
	if (good) {
		warpspan_driver = loaded;
		(void)warpspan_driver.cuDriverGetVersion(&driver_version);
		if (again)
			register_end();
		warpspan_control_start(&process_settings);
		warpspan_nvtx_awake(&process_settings);
	} else {
		warpspan_error("this driver lacks %s: kernels run unprofiled", missing);
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	}
	atomic_store_explicit(&awake, DONE, memory_order_release);
	return good;
}

/* --- who and what ----------------------------------------------------------------------------- */

struct warpspan_origin warpspan_origin(const char *format, ...)
{
	struct warpspan_origin now = { .thread = warpspan_thread_id(),
				       .realtime_ns = warpspan_clock_ns(CLOCK_REALTIME) };
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(now.who, sizeof(now.who), format, arguments);
	va_end(arguments);
	return now;
}

static void tell(struct warpspan_message *message, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void tell(struct warpspan_message *message, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(message->text, sizeof(message->text), format, arguments);
	va_end(arguments);
}

/* Local time, as the clock on the wall: "12:03:04". */
static void clock_text(uint64_t realtime_ns, char (*ret)[16])
{
	const time_t seconds = (time_t)(realtime_ns / WARPSPAN_NS_PER_S);
	struct tm parts;

	if (localtime_r(&seconds, &parts) == NULL || strftime(*ret, sizeof(*ret), "%H:%M:%S", &parts) == 0)
		memcpy(*ret, "?", sizeof("?"));
}

/* Why a start was refused. The lock is held. */
static void tell_refused(int error, struct warpspan_message *message)
{
	char time[16];

	clock_text(origin.realtime_ns, &time);
	switch (error) {
	case WARPSPAN_ERR_ALREADY_STARTED:
		tell(message,
		     "a session is already active: started by %s at %s in thread %u; only one may run at a time; stop "
		     "it first",
		     origin.who, time, origin.thread);
		break;
	case WARPSPAN_ERR_DRAINING:
		tell(message, "session %u, started by %s at %s, is still being written; try again in a moment",
		     machine.number, origin.who, time);
		break;
	default:
		tell(message, "%s", warpspan_strerror(error));
		break;
	}
}

void warpspan_session_settings(struct warpspan_settings *ret_settings)
{
	warpspan_lock(&lock);
	*ret_settings = session_settings;
	warpspan_unlock(&lock);
}

void warpspan_session_memory(uint64_t *ret_buffer, uint32_t *ret_events_per_warp)
{
	warpspan_lock(&lock);
	*ret_buffer = session_settings.buffer;
	*ret_events_per_warp = session_settings.events_per_warp;
	warpspan_unlock(&lock);
}

bool warpspan_session_selects(const char *demangled)
{
	bool selects;

	warpspan_lock(&lock);
	selects = warpspan_pattern_list_matches(session_settings.kernel, demangled);
	warpspan_unlock(&lock);
	return selects;
}

void warpspan_session_status(struct warpspan_status *ret_status)
{
	warpspan_lock(&lock);
	*ret_status = (struct warpspan_status){ .phase = machine.phase, .number = machine.number, .origin = origin };
	warpspan_unlock(&lock);
}

bool warpspan_session_runs(void)
{
	struct warpspan_status status;

	warpspan_session_status(&status);
	return status.phase == WARPSPAN_PHASE_ACTIVE;
}

bool warpspan_session_active(void)
{
	return atomic_load_explicit(&recording, memory_order_acquire);
}

/* --- starting --------------------------------------------------------------------------------- */

static void complain(void *unused, const char *text)
{
	(void)unused;
	warpspan_warn("%s", text);
}

/* What there is to say once there is something to record. */
static void say_first(void)
{
	static struct warpspan_settings again; /* only to hear the complaints */
	static atomic_flag said = ATOMIC_FLAG_INIT;
	const char *other;

	if (atomic_flag_test_and_set(&said))
		return;
	warpspan_settings_read(&again, complain, NULL);
	other = warpspan_loader_other_hooker();
	if (other != NULL)
		warpspan_debug("'%s' also stands in front of dlsym(); lookups pass through both", other);
}

/* The session is claimed. Creates the capture and hands it to the collector. 0 or an error. */
static int begin(const struct warpspan_settings *settings, unsigned number, const struct warpspan_origin *by,
		 uint64_t begin_ns, struct warpspan_message *message)
{
	char reason[WARPSPAN_REASON_BYTES];

	say_first();
	if (!warpspan_host_log_init() || !warpspan_collector_start()) {
		tell(message, "%s", warpspan_strerror(WARPSPAN_ERR_NO_MEMORY));
		return WARPSPAN_ERR_NO_MEMORY;
	}
	if (!warpspan_output_create(settings->out, number, &reason)) {
		tell(message, "%s", reason);
		return WARPSPAN_ERR_OUTPUT;
	}
	warpspan_meta_session(settings, number, driver_version, by, begin_ns);
	if (warpspan_output_failed()) {
		warpspan_output_discard(&reason);
		tell(message, "%s", reason);
		return WARPSPAN_ERR_OUTPUT;
	}
	warpspan_debug("recording to '%s'", warpspan_output_path());
	return 0;
}

/* Claims the session and makes the settings its own. */
static int claim_session(const struct warpspan_origin *by, const struct warpspan_settings *settings,
			 unsigned *ret_number, struct warpspan_message *message)
{
	int result;

	warpspan_lock(&lock);
	result = warpspan_machine_claim(&machine);
	if (result == 0) {
		session_settings = *settings;
		origin = *by;
		*ret_number = machine.number;
	} else {
		tell_refused(result, message);
	}
	warpspan_unlock(&lock);
	return result;
}

static void started(bool good)
{
	warpspan_lock(&lock);
	warpspan_machine_started(&machine, good);
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
}

static int apply(struct warpspan_settings *settings, const char *const *assignments, struct warpspan_message *message)
{
	for (; assignments != NULL && *assignments != NULL; assignments++)
		if (warpspan_settings_set(settings, *assignments, message->text, sizeof(message->text)) < 0)
			return WARPSPAN_ERR_SETTING;
	return 0;
}

/* The first session starts by itself when something is found that it is to record: what was counted until then is its
 * own, and what was found out about kernels holds. Any other starts at its start. */
static void turn_page(void)
{
	warpspan_counters_rebase();
	warpspan_registry_retry_contexts();
}

static int start(const struct warpspan_origin *by, const char *const *assignments, bool automatic,
		 struct warpspan_message *message)
{
	struct warpspan_settings *settings;
	struct warpspan_signals signals;
	unsigned number = 0;
	int result;

	message->text[0] = '\0';
	prepare();
	if (is_off()) {
		tell(message, "%s", warpspan_strerror(WARPSPAN_ERR_NO_CUDA));
		return WARPSPAN_ERR_NO_CUDA;
	}
	settings = malloc(sizeof(*settings));
	if (settings == NULL) {
		tell(message, "%s", warpspan_strerror(WARPSPAN_ERR_NO_MEMORY));
		return WARPSPAN_ERR_NO_MEMORY;
	}
	*settings = process_settings;
	result = apply(settings, assignments, message);
	if (result == 0)
		result = claim_session(by, settings, &number, message);
	if (result == 0) {
		const uint64_t begin_ns = warpspan_now_ns();

		if (!automatic)
			turn_page();
		warpspan_signals_hold(&signals);
		result = begin(settings, number, by, begin_ns, message);
		warpspan_signals_release(&signals);
		if (result == 0) {
			atomic_store_explicit(&automatic_done, true, memory_order_relaxed);
			warpspan_control_look_at_signals();
			warpspan_control_session(number, settings->duration_ns);
			warpspan_collector_open(number, begin_ns);
			atomic_store_explicit(&recording, true, memory_order_release);
			/* Every kernel is looked at anew: whether it is named, whether its module records. */
			if (!automatic)
				warpspan_registry_next_epoch();
		}
		started(result == 0);
	}
	free(settings);
	return result;
}

int warpspan_session_start(const struct warpspan_origin *by, const char *const *assignments,
			   struct warpspan_message *message)
{
	return start(by, assignments, false, message);
}

int warpspan_session_restart(const struct warpspan_origin *by, struct warpspan_message *message)
{
	const struct timespec deadline = warpspan_deadline(process_settings.exit_timeout_ns);

	warpspan_lock(&lock);
	while (machine.phase == WARPSPAN_PHASE_DRAINING && warpspan_wait(&changed, &lock, &deadline) != ETIMEDOUT)
		;
	warpspan_unlock(&lock);
	return start(by, NULL, false, message);
}

void warpspan_session_wait_armed(void)
{
	if (!warpspan_collector_wait_armed(ARM_PATIENCE_NS))
		warpspan_debug("the device is not prepared yet; kernels of graphs may be missing at first");
}

bool warpspan_session_reached(void)
{
	struct warpspan_message message;
	struct warpspan_origin by;

	if (warpspan_session_active())
		return true;
	if (process_settings.start.mode == WARPSPAN_START_NOW && process_settings.launches.skip == 0 && !is_off() &&
	    !atomic_exchange(&automatic_done, true)) {
		by = warpspan_origin(WARPSPAN_ORIGIN_AUTOMATIC);
		switch (start(&by, NULL, true, &message)) {
		case 0:
		case WARPSPAN_ERR_ALREADY_STARTED:
		case WARPSPAN_ERR_DRAINING:
			break;
		default:
			warpspan_error("%s. Kernels run unprofiled", message.text);
			break;
		}
	}
	/* Another thread may be about to. */
	warpspan_lock(&lock);
	while (machine.phase == WARPSPAN_PHASE_STARTING)
		warpspan_wait(&changed, &lock, NULL);
	warpspan_unlock(&lock);
	return warpspan_session_active();
}

/* --- stopping --------------------------------------------------------------------------------- */

/* 0: the caller has it drained. The lock is held, and let go while another thread is starting the session. */
static int stop_locked(void)
{
	int result;

	while ((result = warpspan_machine_stop(&machine)) == WARPSPAN_MACHINE_WAIT)
		warpspan_wait(&changed, &lock, NULL);
	return result;
}

int warpspan_session_stop(const struct warpspan_origin *by, uint64_t patience_ns, unsigned *ret_number,
			  struct warpspan_message *message)
{
	int result;

	message->text[0] = '\0';
	*ret_number = 0;
	if (is_off()) {
		tell(message, "%s", warpspan_strerror(WARPSPAN_ERR_NOT_STARTED));
		return WARPSPAN_ERR_NOT_STARTED;
	}
	warpspan_lock(&lock);
	result = stop_locked();
	*ret_number = machine.number;
	warpspan_unlock(&lock);
	if (result == 0) {
		warpspan_collector_close(by, patience_ns != 0 ? patience_ns : process_settings.exit_timeout_ns);
		warpspan_control_look_at_signals();
	} else if (result == WARPSPAN_ERR_NOT_STARTED) {
		tell(message, "no session is active");
	} else {
		tell(message, "session %u is stopped already, and still being written", *ret_number);
	}
	return result;
}

void warpspan_session_cut(void)
{
	atomic_store_explicit(&recording, false, memory_order_release);
}

void warpspan_session_drained(void)
{
	warpspan_lock(&lock);
	warpspan_machine_drained(&machine);
	pthread_cond_broadcast(&changed);
	warpspan_unlock(&lock);
}

/* --- the end of the program ------------------------------------------------------------------- */

/* Beyond the time that kernels are given: as long as something goes into the file. */
#define PROGRESS_NS (250 * WARPSPAN_NS_PER_MS)

/* Waits for a change until the collector makes no more progress; false: it makes none. The lock is held. */
static bool wait_progress(uint64_t *give_up_ns, uint64_t *progress)
{
	const uint64_t now_ns = warpspan_now_ns();
	struct timespec deadline;

	if (now_ns >= *give_up_ns) {
		const uint64_t latest = warpspan_output_progress();

		if (latest == *progress)
			return false;
		*progress = latest;
		*give_up_ns = now_ns + PROGRESS_NS;
	}
	deadline = warpspan_deadline(*give_up_ns - now_ns);
	(void)warpspan_wait(&changed, &lock, &deadline);
	return true;
}

/* Stops the session if there is one, and no other begins. False: it cannot be drained. *ret_number: the latest. */
static bool close_sessions(unsigned *ret_number)
{
	const struct warpspan_origin by = warpspan_origin("the end of the program");
	const uint64_t patience_ns = process_settings.exit_timeout_ns;
	uint64_t give_up_ns = warpspan_now_ns() + patience_ns + PROGRESS_NS;
	uint64_t progress = warpspan_output_progress();
	bool closed = true;

	/* Whoever stops it may have given it longer. */
	warpspan_collector_hurry(patience_ns);
	warpspan_lock(&lock);
	while (closed && warpspan_machine_close(&machine) == WARPSPAN_MACHINE_WAIT) {
		if (machine.phase == WARPSPAN_PHASE_ACTIVE && warpspan_machine_stop(&machine) == 0) {
			warpspan_unlock(&lock);
			warpspan_collector_close(&by, patience_ns);
			warpspan_lock(&lock);
		} else {
			closed = wait_progress(&give_up_ns, &progress);
		}
	}
	*ret_number = machine.number;
	warpspan_unlock(&lock);
	return closed;
}

/* Kernels with the header ran, and nothing was recorded, as nobody started anything: more often a slip than not. */
static void say_never_started(void)
{
	char mode[WARPSPAN_RANGE_NAME_BYTES + 16];

	if (warpspan_registry_next_kernel(NULL) == NULL)
		return;
	if (warpspan_nvtx_say_unmatched(&process_settings))
		return;
	(void)warpspan_start_print(mode, sizeof(mode), &process_settings.start);
	if (process_settings.start.mode != WARPSPAN_START_NOW)
		warpspan_warn("nothing was recorded: no session was started (WARPSPAN_START=%s)", mode);
	else if (process_settings.launches.skip != 0)
		warpspan_warn("nothing was recorded: there were %llu launches, and WARPSPAN_LAUNCHES skips %llu",
			      (unsigned long long)warpspan_window_seen(),
			      (unsigned long long)process_settings.launches.skip);
}

static void finish(void)
{
	char path[WARPSPAN_TEXT_BYTES];
	unsigned number;
	bool good;

	warpspan_control_stop();
	if (!close_sessions(&number)) {
		warpspan_output_copy_path(&path);
		warpspan_error("the driver does not answer: '%s' is incomplete; `warpspan report` shows what it has",
			       path);
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
		return;
	}
	atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	warpspan_collector_stop();
	if (number != 0) {
		(void)warpspan_ending_wait(number, UINT64_MAX, &good);
		warpspan_control_wait_answers(process_settings.exit_timeout_ns);
	} else {
		warpspan_ending_say_unmatched(&process_settings);
		say_never_started();
	}
}

/* Runs on the thread that called exit() or quick_exit(); registered twice where a session began before cuInit(). */
static void at_end(void)
{
	const int saved_errno = errno;
	struct warpspan_signals signals;

	/* A child made by a bare clone() has no fork handler. */
	if (owner != getpid() || is_off())
		return;
	if (warpspan_holds_lock()) {
		warpspan_error(
			"the program was ended by a handler that interrupted the library: the capture ends here");
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
		return;
	}
	warpspan_thread.depth++;
	warpspan_signals_hold(&signals);
	finish();
	warpspan_signals_release(&signals);
	warpspan_thread.depth--;
	errno = saved_errno;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * session.c - the one session of a process. See session.h.
 *
 * The end comes from atexit(), registered after cuInit() returned: handlers run in reverse order, so ours runs while
 * the driver still works. A forked child is off from its first instruction: CUDA cannot be used in it, and the file
 * and the collector are its parent's.
 */
#include "session.h"

#include "collector.h"
#include "counters.h"
#include "decoder.h"
#include "drain.h"
#include "driver.h"
#include "guard.h"
#include "host_log.h"
#include "loader.h"
#include "log.h"
#include "meta.h"
#include "output.h"
#include "pattern.h"
#include "registry.h"
#include "signals.h"
#include "util.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How long the end of the program waits for the collector, after it has waited for kernels that still run. */
#define COLLECTOR_PATIENCE_NS (10 * WARPSPAN_NS_PER_S)

enum state {
	ASLEEP,
	WAKING,
	AWAKE,
	ACTIVE,
	OVER,
};

static _Atomic int state; /* enum state */
static pid_t owner;       /* the process that woke */
static struct warpspan_settings settings;
static const unsigned session_number = 1;
static int driver_version;
/* Guards awake -> active. Not held during a call of CUDA. */
static pthread_mutex_t transition = PTHREAD_MUTEX_INITIALIZER;

const struct warpspan_settings *warpspan_session_settings(void)
{
	return &settings;
}

bool warpspan_session_awake(void)
{
	/* Acquire pairs with the release at the end of warpspan_session_wake(). */
	return atomic_load_explicit(&state, memory_order_acquire) >= AWAKE;
}

bool warpspan_session_active(void)
{
	return atomic_load_explicit(&state, memory_order_acquire) == ACTIVE;
}

bool warpspan_session_selects(const char *demangled)
{
	return warpspan_pattern_list_matches(settings.kernel, demangled);
}

/* --- waking ----------------------------------------------------------------------------------- */

static void at_exit(void);

static void in_child(void)
{
	/* Async-signal-safe: the child may have been forked from anywhere. */
	atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	warpspan_thread.tid = 0;
}

static void say_other_hooker(void)
{
	const char *other = warpspan_loader_other_hooker();

	if (other != NULL)
		warpspan_debug("'%s' also stands in front of dlsym(); lookups pass through both", other);
}

bool warpspan_session_wake(void)
{
	struct warpspan_driver loaded;
	const char *missing = "";
	int expected = ASLEEP;
	bool good;

	if (warpspan_session_awake())
		return true;
	/* Outside of any lock: the loader has its own, and the calling thread may hold it. Two threads find the same.
	 */
	good = warpspan_driver_load(&loaded, &missing);
	if (!atomic_compare_exchange_strong(&state, &expected, WAKING)) {
		while (atomic_load_explicit(&state, memory_order_acquire) == WAKING)
			(void)sched_yield();
		return !atomic_load_explicit(&warpspan_off, memory_order_relaxed);
	}
	owner = getpid();
	warpspan_settings_read(&settings, NULL, NULL);
	warpspan_log_set_level(settings.log);
	if (!good) {
		warpspan_error("this driver lacks %s: kernels run unprofiled", missing);
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	} else {
		warpspan_driver = loaded;
		(void)warpspan_driver.cuDriverGetVersion(&driver_version);
		if (pthread_atfork(NULL, NULL, in_child) != 0 || atexit(at_exit) != 0) {
			warpspan_error("out of memory: kernels run unprofiled");
			atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
			good = false;
		}
	}
	atomic_store_explicit(&state, AWAKE, memory_order_release);
	return good;
}

/* --- beginning -------------------------------------------------------------------------------- */

static void complain(void *unused, const char *text)
{
	(void)unused;
	warpspan_warn("%s", text);
}

static bool begin(void)
{
	static struct warpspan_settings again; /* only to hear the complaints, now that there is something to say */

	warpspan_settings_read(&again, complain, NULL);
	say_other_hooker();
	if (!warpspan_host_log_init()) {
		warpspan_error("out of memory: kernels run unprofiled");
		return false;
	}
	if (!warpspan_output_create(settings.out, session_number))
		return false;
	warpspan_meta_session(&settings, session_number, driver_version);
	if (warpspan_output_failed())
		return false;
	if (!warpspan_collector_start()) {
		warpspan_error("no thread could be started: kernels run unprofiled");
		return false;
	}
	warpspan_debug("recording to '%s'", warpspan_output_path());
	return true;
}

bool warpspan_session_begin(void)
{
	bool active;

	if (warpspan_session_active())
		return true;
	pthread_mutex_lock(&transition);
	if (atomic_load_explicit(&state, memory_order_relaxed) == AWAKE &&
	    !atomic_load_explicit(&warpspan_off, memory_order_relaxed)) {
		struct warpspan_signals signals;
		bool begun;

		warpspan_signals_hold(&signals);
		begun = begin();
		warpspan_signals_release(&signals);
		if (begun)
			atomic_store_explicit(&state, ACTIVE, memory_order_release);
		else
			atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	}
	active = atomic_load_explicit(&state, memory_order_relaxed) == ACTIVE;
	pthread_mutex_unlock(&transition);
	return active;
}

/* --- waiting for the device ------------------------------------------------------------------- */

#define MOST_CONTEXTS 64u

/* Shared with the thread that waits, which may outlive the call. */
struct waiter {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	CUcontext contexts[MOST_CONTEXTS];
	unsigned n;
	bool done;
	unsigned references;
};

static void unref(struct waiter *waiter)
{
	bool last;

	pthread_mutex_lock(&waiter->lock);
	last = --waiter->references == 0;
	pthread_mutex_unlock(&waiter->lock);
	if (!last)
		return;
	(void)pthread_cond_destroy(&waiter->changed);
	(void)pthread_mutex_destroy(&waiter->lock);
	free(waiter);
}

static void *wait_for_device(void *argument)
{
	struct waiter *waiter = argument;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	warpspan_thread.depth = 1;
	(void)warpspan_driver.cuThreadExchangeStreamCaptureMode(&mode);
	for (unsigned i = 0; i < waiter->n; i++)
		if (warpspan_driver.cuCtxSetCurrent(waiter->contexts[i]) == CUDA_SUCCESS)
			(void)warpspan_driver.cuCtxSynchronize();
	(void)warpspan_driver.cuCtxSetCurrent(NULL);
	pthread_mutex_lock(&waiter->lock);
	waiter->done = true;
	pthread_cond_broadcast(&waiter->changed);
	pthread_mutex_unlock(&waiter->lock);
	unref(waiter);
	return NULL;
}

bool warpspan_session_quiesce(const CUcontext *contexts, unsigned n, uint64_t patience_ns)
{
	const struct timespec deadline = warpspan_deadline(patience_ns);
	struct waiter *waiter = calloc(1, sizeof(*waiter));
	sigset_t all, before;
	pthread_t thread;
	bool started, done;

	if (waiter == NULL)
		return false;
	(void)pthread_mutex_init(&waiter->lock, NULL);
	(void)pthread_cond_init(&waiter->changed, NULL);
	waiter->n = n < MOST_CONTEXTS ? n : MOST_CONTEXTS;
	memcpy(waiter->contexts, contexts, waiter->n * sizeof(contexts[0]));
	waiter->references = 2;
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(&thread, NULL, wait_for_device, waiter) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!started) {
		unref(waiter);
		unref(waiter);
		return false;
	}
	(void)pthread_detach(thread);
	pthread_mutex_lock(&waiter->lock);
	while (!waiter->done && pthread_cond_timedwait(&waiter->changed, &waiter->lock, &deadline) != ETIMEDOUT)
		;
	done = waiter->done;
	pthread_mutex_unlock(&waiter->lock);
	unref(waiter);
	return done;
}

static bool quiesce_all(void)
{
	CUcontext contexts[MOST_CONTEXTS];
	unsigned n = 0;

	for (struct warpspan_context *context = NULL; (context = warpspan_registry_next_context(context)) != NULL;)
		if (n < MOST_CONTEXTS &&
		    atomic_load_explicit(&context->state, memory_order_acquire) == WARPSPAN_CONTEXT_READY)
			contexts[n++] = context->handle;
	return n == 0 || warpspan_session_quiesce(contexts, n, settings.exit_timeout_ns);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* The smallest buffer and room per warp under which everything seen would have fitted, even undrained. For sessions
 * that are not decoded at their end; otherwise the decoder says it. */
static void say_lost(void)
{
	const struct warpspan_drain_totals totals = warpspan_drain_totals();
	uint64_t buffer;
	uint32_t events;
	bool mib;

	if (totals.lost_records == 0 && totals.lost_warps == 0)
		return;
	warpspan_sufficient(totals.warps, totals.most_words, settings.buffer, &buffer, &events);
	mib = buffer % (1u << 20) == 0;
	warpspan_warn("insufficient space: %llu of %llu records of %llu warps were lost; WARPSPAN_BUFFER=%llu%c "
		      "WARPSPAN_EVENTS_PER_WARP=%u would have sufficed",
		      (unsigned long long)totals.lost_records,
		      (unsigned long long)(totals.lost_records + totals.records), (unsigned long long)totals.lost_warps,
		      (unsigned long long)(mib ? buffer >> 20 : buffer >> 10), mib ? 'M' : 'K', events);
}

static void say_not_recorded(void)
{
	for (unsigned i = 0; i < WARPSPAN_N_COUNTERS; i++) {
		const char *text = warpspan_counter_text((enum warpspan_counter)i);
		const uint64_t n = warpspan_counted((enum warpspan_counter)i);

		if (text[0] != '\0' && n != 0)
			warpspan_warn("%llu launches were not recorded: %s", (unsigned long long)n, text);
	}
}

/* What else the capture lacks. */
static void say_missed(void)
{
	const uint64_t newer = warpspan_counted(WARPSPAN_COUNTER_newer_entry_points);
	const uint64_t calls = warpspan_counted(WARPSPAN_COUNTER_calls_log_full);

	if (newer != 0)
		warpspan_warn("the program uses %llu functions of the driver in a form newer than this library knows: "
			      "what it launches through them is not recorded",
			      (unsigned long long)newer);
	if (calls != 0)
		warpspan_warn("%llu waits, copies or launches of graphs came faster than they are written and are "
			      "missing on the host's timeline",
			      (unsigned long long)calls);
}

/* Names listed where a pattern matched none. */
#define NAMES_BYTES 600u

/* Kernels of several modules may have the same name. */
static bool is_listed(const char *names, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = names; (at = strstr(at, name)) != NULL; at += n)
		if ((at == names || at[-1] == ' ') && (at[n] == '\0' || strncmp(at + n, ", ", 2) == 0))
			return true;
	return false;
}

/* False: the pattern matches one of the kernels seen, or there is none. *ret_names: their names. */
static bool names_known(const char *pattern, char (*ret_names)[NAMES_BYTES])
{
	size_t used = 0;
	bool cut = false;

	(*ret_names)[0] = '\0';
	for (struct warpspan_kernel *kernel = NULL; (kernel = warpspan_registry_next_kernel(kernel)) != NULL;) {
		const size_t n = strlen(kernel->demangled);

		if (warpspan_pattern_matches(pattern, kernel->demangled))
			return false;
		if (cut || is_listed(*ret_names, kernel->demangled))
			continue;
		cut = used + n + sizeof(", ...") > sizeof(*ret_names);
		used += (size_t)snprintf(*ret_names + used, sizeof(*ret_names) - used, "%s%s", used != 0 ? ", " : "",
					 cut ? "..." : kernel->demangled);
	}
	return used != 0;
}

/* A pattern that names no kernel is a slip more often than not, and nothing else would show it. */
static void say_unmatched(void)
{
	char pattern[WARPSPAN_TEXT_BYTES], names[NAMES_BYTES];
	const char *at = settings.kernel;

	while ((at = warpspan_pattern_next(at, &pattern)) != NULL)
		if (names_known(pattern, &names))
			warpspan_warn("WARPSPAN_KERNEL='%s' matched none of: %s", pattern, names);
}

/* Only what is in the files. `exported`: formats that were written. */
static void say_files(unsigned exported)
{
	const struct warpspan_drain_totals totals = warpspan_drain_totals();
	const char *path = warpspan_output_path();
	const int base = (int)(strlen(path) - strlen(".wspan"));

	warpspan_info("%llu launch%s, %llu record%s: %.*s.wspan%s%s%s", (unsigned long long)totals.launches,
		      totals.launches == 1 ? "" : "es", (unsigned long long)totals.records,
		      totals.records == 1 ? "" : "s", base, path, warpspan_output_failed() ? " (cut short)" : "",
		      (exported & WARPSPAN_EXPORT_PFTRACE) != 0 ? " .pftrace" : "",
		      (exported & WARPSPAN_EXPORT_JSON) != 0 ? " .json.gz" : "");
}

/* Whether it has said what was lost and what is unpaired. *ret_exported: formats that were written. */
static bool export_all(unsigned *ret_exported)
{
	const unsigned formats =
		((settings.format & WARPSPAN_FORMAT_PFTRACE) != 0 ? (unsigned)WARPSPAN_EXPORT_PFTRACE : 0) |
		((settings.format & WARPSPAN_FORMAT_JSON) != 0 ? (unsigned)WARPSPAN_EXPORT_JSON : 0);
	struct warpspan_error error = { 0 };
	char *text = NULL;
	size_t bytes = 0;
	FILE *report = settings.report ? open_memstream(&text, &bytes) : NULL;
	bool said = false;

	if (formats != 0 || report != NULL) {
		const int result = warpspan_export(warpspan_output_path(), formats, report, ret_exported, &error);

		if (result < 0)
			warpspan_error("'%s' was not exported%s: %s", warpspan_output_path(),
				       *ret_exported != 0 ? " to all formats" : "", error.text);
		else if (report == NULL && error.text[0] != '\0')
			warpspan_warn("%s", error.text);
		said = result >= 0;
	}
	if (report != NULL) {
		(void)fclose(report);
		if (text != NULL)
			warpspan_log_raw(text, bytes);
		free(text);
	}
	return said;
}

static void finish(void)
{
	unsigned exported = 0;

	if (!quiesce_all())
		warpspan_warn("kernels still run after %g s: their records are written as far as they have come",
			      (double)settings.exit_timeout_ns / WARPSPAN_NS_PER_S);
	atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
	if (!warpspan_collector_stop(COLLECTOR_PATIENCE_NS)) {
		warpspan_error("the driver does not answer: '%s' is incomplete; `warpspan report` shows what it has",
			       warpspan_output_path());
		return;
	}
	warpspan_output_finish();
	if (!export_all(&exported))
		say_lost();
	say_not_recorded();
	say_missed();
	say_unmatched();
	say_files(exported);
}

/* Runs on the thread that called exit(). */
static void at_exit(void)
{
	const int saved_errno = errno;
	struct warpspan_signals signals;
	int expected = ACTIVE;

	/* A child made by a bare clone() has no fork handler. */
	if (owner != getpid())
		return;
	if (!atomic_compare_exchange_strong(&state, &expected, OVER)) {
		if (expected == AWAKE && !atomic_load_explicit(&warpspan_off, memory_order_relaxed))
			say_unmatched();
		atomic_store_explicit(&warpspan_off, true, memory_order_relaxed);
		return;
	}
	/* In a child forked from here on, or before, off is set: the parent's session is not its own. */
	warpspan_thread.depth++;
	warpspan_signals_hold(&signals);
	finish();
	warpspan_signals_release(&signals);
	warpspan_thread.depth--;
	errno = saved_errno;
}

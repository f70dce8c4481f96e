/* SPDX-License-Identifier: Apache-2.0
 *
 * control.c - the thread's loop, the signals. See control.h.
 *
 * The handler is installed only over SIG_DFL and never taken out again: a late signal must not end the program. A
 * program that takes the signal over keeps it. The bell is an eventfd: to write to it is all the handler does, after it
 * has made sure that the descriptor still is no file of the program's.
 */
#include "control.h"

#include "control_requests.h"
#include "control_socket.h"
#include "descriptor.h"
#include "guard.h"
#include "lock.h"
#include "log.h"
#include "session.h"
#include "thread.h"
#include "util.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* How often to look where there is no bell. */
#define BLIND_MS 100
/* Requests that wait for their turn; more wait in connect(). */
#define WAITING 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Under the lock. */
static bool started;
static struct {
	unsigned session; /* that ends by itself ... */
	uint64_t at_ns;   /* ... and when; 0: none does */
} timed;
static atomic_bool stopping;

static int bell = -1; /* constant once the thread runs */
static pid_t owner;
static _Atomic int listening = -1; /* set once, maybe while the thread runs; from then on the thread's */
static struct file_identity listening_identity;

/* --- the bell --------------------------------------------------------------------------------- */

/* Whether the number still is an eventfd's, or at least no file's. Async-signal-safe. */
static bool bell_is_ours(void)
{
	struct stat now;

	return bell >= 0 && fstat(bell, &now) == 0 && (now.st_mode & S_IFMT) == 0;
}

/* Async-signal-safe. */
static void ring(void)
{
	const uint64_t one = 1;

	if (bell_is_ours())
		(void)!write(bell, &one, sizeof(one));
}

static void hear(void)
{
	uint64_t n;

	if (bell_is_ours())
		(void)!read(bell, &n, sizeof(n));
}

/* --- signals ---------------------------------------------------------------------------------- */

enum purpose {
	STOP,
	TOGGLE,
	N_PURPOSES,
};

static struct {
	const char *setting;
	_Atomic int signal; /* 0: none */
	atomic_bool taken;  /* by us */
	atomic_bool said;   /* that the program has it */
	_Atomic unsigned noted;
} signals[N_PURPOSES] = {
	[STOP] = { .setting = "WARPSPAN_STOP_SIGNAL" },
	[TOGGLE] = { .setting = "WARPSPAN_TOGGLE_SIGNAL" },
};

static void on_signal(int number, siginfo_t *info, void *context)
{
	const int saved_errno = errno;

	(void)info;
	(void)context;
	/* A forked child has the handler, and the bell. */
	if (getpid() == owner) {
		for (unsigned i = 0; i < N_PURPOSES; i++)
			if (signals[i].signal == number)
				(void)atomic_fetch_add_explicit(&signals[i].noted, 1, memory_order_relaxed);
		ring();
	}
	errno = saved_errno;
}

static const char *name_of(int signal, char (*ret)[32])
{
	(void)warpspan_signal_print(*ret, sizeof(*ret), signal);
	return *ret;
}

static void take_signal(enum purpose purpose, int signal)
{
	struct sigaction ours = { .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK };
	struct sigaction now;
	char name[32];

	signals[purpose].signal = signal;
	if (signal == 0 || sigaction(signal, NULL, &now) != 0)
		return;
	if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_DFL) {
		ours.sa_sigaction = on_signal;
		(void)sigemptyset(&ours.sa_mask);
		signals[purpose].taken = sigaction(signal, &ours, NULL) == 0;
		return;
	}
	if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) {
		signals[purpose].taken = true; /* both settings name it */
		return;
	}
	warpspan_warn("%s=%s: the program %s this signal itself; it is left alone, and `warpspan ctl %d` does the same",
		      signals[purpose].setting, name_of(signal, &name),
		      (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN ? "ignores" : "handles",
		      (int)getpid());
}

void warpspan_control_look_at_signals(void)
{
	for (unsigned i = 0; i < N_PURPOSES; i++) {
		struct sigaction now;
		char name[32];

		if (!signals[i].taken || signals[i].said || sigaction(signals[i].signal, NULL, &now) != 0 ||
		    ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_signal) ||
		    atomic_exchange(&signals[i].said, true))
			continue;
		warpspan_warn("%s=%s: the program has taken this signal over; `warpspan ctl %d` does the same",
			      signals[i].setting, name_of(signals[i].signal, &name), (int)getpid());
	}
}

/* --- what the thread does --------------------------------------------------------------------- */

static void stop_session(const struct warpspan_origin *by)
{
	struct warpspan_message message;
	unsigned number;

	if (warpspan_session_stop(by, 0, &number, &message) != 0)
		warpspan_warn("%s: %s", by->who, message.text);
}

static void start_session(const struct warpspan_origin *by)
{
	struct warpspan_message message;

	if (warpspan_session_start(by, NULL, &message) != 0)
		warpspan_warn("%s: %s", by->who, message.text);
}

static void follow_signals(void)
{
	char name[32];

	/* However often it came meanwhile: one stop stops. */
	if (atomic_exchange_explicit(&signals[STOP].noted, 0, memory_order_relaxed) != 0) {
		const struct warpspan_origin by = warpspan_origin("signal %s", name_of(signals[STOP].signal, &name));

		stop_session(&by);
	}
	/* Two toggles are none. */
	if (atomic_exchange_explicit(&signals[TOGGLE].noted, 0, memory_order_relaxed) % 2 != 0) {
		const struct warpspan_origin by = warpspan_origin("signal %s", name_of(signals[TOGGLE].signal, &name));

		if (warpspan_session_runs())
			stop_session(&by);
		else
			start_session(&by);
	}
}

/* Milliseconds until the session's time is over; -1: it has no end. */
static int follow_clock(void)
{
	const uint64_t now_ns = warpspan_now_ns();
	struct warpspan_status status;
	struct warpspan_origin by;
	unsigned session;
	uint64_t at_ns;

	warpspan_lock(&lock);
	session = timed.session;
	at_ns = timed.at_ns;
	if (now_ns >= at_ns)
		timed.at_ns = 0;
	warpspan_unlock(&lock);
	if (at_ns == 0)
		return -1;
	if (now_ns < at_ns) {
		const uint64_t left_ms = (at_ns - now_ns) / WARPSPAN_NS_PER_MS + 1;

		return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
	}
	warpspan_session_status(&status);
	/* STARTING: its time is over before whoever starts it has said so; the stop waits for that. */
	if ((status.phase == WARPSPAN_PHASE_ACTIVE || status.phase == WARPSPAN_PHASE_STARTING) &&
	    status.number == session) {
		by = warpspan_origin("WARPSPAN_DURATION");
		stop_session(&by);
	}
	return -1;
}

/* False: it stays where it is, and is to be tried again later. */
static bool accept_request(int listener)
{
	int connection;

	if (!descriptor_is(listener, &listening_identity)) {
		warpspan_warn("the program has closed our socket: `warpspan ctl` does not reach it any more");
		listening = -1;
		return true;
	}
	connection = descriptor_lift(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
	if (connection >= 0)
		warpspan_control_serve(connection, ring);
	/* Out of descriptors: the program may give some back. */
	return connection >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM);
}

static void *run(void *unused)
{
	bool accepts = true;

	(void)unused;
	while (!atomic_load_explicit(&stopping, memory_order_acquire)) {
		const int left_ms = follow_clock();
		const bool hears = bell_is_ours();
		/* Acquire pairs with the release in listen_for_requests(). */
		const int listener = atomic_load_explicit(&listening, memory_order_acquire);
		struct pollfd waits[2] = { { .fd = hears ? bell : -1, .events = POLLIN },
					   { .fd = accepts && warpspan_control_has_room() ? listener : -1,
					     .events = POLLIN } };
		const bool blind = !hears || !accepts;
		int patience_ms = blind ? BLIND_MS : left_ms;

		if (blind && left_ms >= 0 && left_ms < BLIND_MS)
			patience_ms = left_ms;
		(void)poll(waits, 2, patience_ms);
		if (waits[0].revents != 0)
			hear();
		if (atomic_load_explicit(&stopping, memory_order_acquire))
			break;
		accepts = waits[1].revents == 0 || accept_request(listener);
		follow_signals();
	}
	return NULL;
}

/* --- the beginning and the end ---------------------------------------------------------------- */

static void listen_for_requests(void)
{
	struct sockaddr_un address;
	socklen_t bytes;
	const int fd = descriptor_lift(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));

	if (fd < 0)
		return;
	if (warpspan_control_address(getpid(), &address, &bytes) &&
	    bind(fd, (const struct sockaddr *)&address, bytes) == 0 && listen(fd, WAITING) == 0 &&
	    descriptor_identity(fd, &listening_identity)) {
		atomic_store_explicit(&listening, fd, memory_order_release);
		return;
	}
	warpspan_debug("no socket for `warpspan ctl`: %s", strerror(errno));
	(void)close(fd);
}

/* Starts the thread; where it runs, it looks again at what it is to wait for. */
static void start_thread(void)
{
	warpspan_lock(&lock);
	if (started) {
		ring();
	} else {
		owner = getpid();
		bell = descriptor_lift(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
		started = warpspan_thread_start("warpspan-ctl", run, NULL, NULL);
		if (!started)
			warpspan_warn("no thread could be started: signals, WARPSPAN_DURATION and `warpspan ctl` have "
				      "no effect");
	}
	warpspan_unlock(&lock);
}

void warpspan_control_start(const struct warpspan_settings *settings)
{
	const int saved_errno = errno;

	if (settings->ctl)
		listen_for_requests();
	if (listening >= 0 || settings->stop_signal != 0 || settings->toggle_signal != 0)
		start_thread();
	take_signal(STOP, settings->stop_signal);
	take_signal(TOGGLE, settings->toggle_signal);
	errno = saved_errno;
}

void warpspan_control_stop(void)
{
	warpspan_control_look_at_signals();
	atomic_store_explicit(&stopping, true, memory_order_release);
	ring();
}

void warpspan_control_session(unsigned number, uint64_t duration_ns)
{
	warpspan_lock(&lock);
	timed.session = number;
	timed.at_ns = duration_ns != 0 ? warpspan_now_ns() + duration_ns : 0;
	warpspan_unlock(&lock);
	if (duration_ns != 0)
		start_thread();
}

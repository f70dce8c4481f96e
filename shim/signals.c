/* SPDX-License-Identifier: Apache-2.0
 *
 * signals.c - writing from a thread of the program without the signals that a write can raise. See signals.h.
 */
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

/* Of these the kernel makes one pending in the thread that wrote; SIGTTOU is not even made when it is blocked. */
static const int raised[] = { SIGPIPE, SIGXFSZ };

void warpspan_signals_hold(struct warpspan_signals *ret_signals)
{
	const int saved_errno = errno;
	sigset_t held;

	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGTTOU);
	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
		(void)sigaddset(&held, raised[i]);
	(void)pthread_sigmask(SIG_BLOCK, &held, &ret_signals->before);
	(void)sigemptyset(&ret_signals->pending);
	(void)sigpending(&ret_signals->pending);
	errno = saved_errno;
}

void warpspan_signals_release(const struct warpspan_signals *signals)
{
	const int saved_errno = errno;
	const struct timespec now = { 0 };

	for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++) {
		sigset_t one;

		if (sigismember(&signals->pending, raised[i]))
			continue;
		(void)sigemptyset(&one);
		(void)sigaddset(&one, raised[i]);
		while (sigtimedwait(&one, NULL, &now) < 0 && errno == EINTR)
			;
	}
	(void)pthread_sigmask(SIG_SETMASK, &signals->before, NULL);
	errno = saved_errno;
}

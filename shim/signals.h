/* SPDX-License-Identifier: Apache-2.0
 *
 * signals.h - writing from a thread of the program without the signals that a write can raise.
 *
 * A write to a pipe nobody reads, to a file at its size limit, or to a terminal from the background raises a signal
 * that by default ends or stops the program. Between hold and release such a write only fails. A signal of that kind
 * that the program itself was sent meanwhile, or had pending, is delivered afterwards as ever.
 *
 * Any thread; holds nest; no allocation; errno is kept. Threads of ours have every signal blocked and need none of it.
 */
#ifndef WARPSPAN_SIGNALS_H
#define WARPSPAN_SIGNALS_H

#include <signal.h>

struct warpspan_signals {
	sigset_t before;  /* the thread's mask */
	sigset_t pending; /* what was pending already: the program's */
};

void warpspan_signals_hold(struct warpspan_signals *ret_signals);
/* On the same thread. */
void warpspan_signals_release(const struct warpspan_signals *signals);

#endif

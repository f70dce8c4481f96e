/* SPDX-License-Identifier: Apache-2.0
 *
 * lock.h - mutexes of the library, which know whether the calling thread holds any.
 *
 * A handler of the program may interrupt the library and call exit(). It must not, and many do. The end of the session
 * would then wait for a mutex that its own thread holds; warpspan_holds_lock() tells, at no cost worth mentioning.
 * While a thread waits for a condition it holds none.
 */
#ifndef WARPSPAN_LOCK_H
#define WARPSPAN_LOCK_H

#include "guard.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

static inline void warpspan_lock(pthread_mutex_t *mutex)
{
	warpspan_thread.n_locks++;
	/* The handler is of this thread: only the compiler must not exchange the two. */
	atomic_signal_fence(memory_order_seq_cst);
	(void)pthread_mutex_lock(mutex);
}

static inline void warpspan_unlock(pthread_mutex_t *mutex)
{
	(void)pthread_mutex_unlock(mutex);
	atomic_signal_fence(memory_order_seq_cst);
	warpspan_thread.n_locks--;
}

/* `deadline`: of warpspan_deadline(); NULL: without a limit. Returns what pthread_cond_clockwait() does. */
static inline int warpspan_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, const struct timespec *deadline)
{
	int result;

	warpspan_thread.n_locks--;
	atomic_signal_fence(memory_order_seq_cst);
	result = deadline != NULL ? pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, deadline)
				  : pthread_cond_wait(condition, mutex);
	atomic_signal_fence(memory_order_seq_cst);
	warpspan_thread.n_locks++;
	return result;
}

static inline bool warpspan_holds_lock(void)
{
	return warpspan_thread.n_locks != 0;
}

#endif

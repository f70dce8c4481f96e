/* SPDX-License-Identifier: Apache-2.0
 *
 * thread.h - threads of ours in the program's process: every signal blocked, so that the program's signals reach the
 * program's threads, and calls into CUDA that go straight through.
 */
#ifndef WARPSPAN_THREAD_H
#define WARPSPAN_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* Starts a thread with this name (at most 15 characters). *ret_thread is to be joined; NULL: it is detached. The
 * caller's mask is as before. False: it could not be started. Any thread. */
bool warpspan_thread_start(const char *name, void *(*run)(void *), void *argument, pthread_t *ret_thread);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.h - what the library keeps per thread, and the switch that turns it all off.
 *
 * The thread's record is initial-exec TLS: it costs one load, never allocates, and is small enough for the surplus
 * that the loader keeps for preloaded libraries.
 */
#ifndef WARPSPAN_GUARD_H
#define WARPSPAN_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define WARPSPAN_EXPORT              __attribute__((visibility("default")))
#define WARPSPAN_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

struct warpspan_runtime_call;

struct warpspan_thread {
	int depth;            /* > 0: inside a driver wrapper, or a thread of our own: calls go straight through */
	uint32_t tid;         /* gettid(); 0: not asked yet */
	uint32_t lane_plus_1; /* see warpspan_lane(); 0: not chosen yet */
	uint32_t n_locks;     /* see lock.h */
	struct warpspan_runtime_call *runtime; /* the runtime launch this thread is in; NULL: none */
};

extern __thread struct warpspan_thread warpspan_thread __attribute__((tls_model("initial-exec")));

/* The calling thread's gettid(), asked once. */
uint32_t warpspan_thread_id(void);

/* Threads are spread over this many places to count and to log in, so that those that launch at the same time seldom
 * write the same cache lines. A power of two. */
#define WARPSPAN_N_LANES 16u

/* Gives the calling thread its lane: each new one the next, round and round. */
uint32_t warpspan_lane_choose(void);

static inline uint32_t warpspan_lane(void)
{
	return warpspan_thread.lane_plus_1 != 0 ? warpspan_thread.lane_plus_1 - 1 : warpspan_lane_choose();
}

/* Set for good when the library must not act any more: in a forked child, after the end of the session, when the
 * driver cannot be used. Read by every wrapper first. */
extern atomic_bool warpspan_off;

#endif

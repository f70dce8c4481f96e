/* SPDX-License-Identifier: Apache-2.0
 *
 * guard.c - the storage of guard.h.
 */
#include "guard.h"

#include <unistd.h>

__thread struct warpspan_thread warpspan_thread __attribute__((tls_model("initial-exec")));
atomic_bool warpspan_off;

uint32_t warpspan_thread_id(void)
{
	if (warpspan_thread.tid == 0)
		warpspan_thread.tid = (uint32_t)gettid();
	return warpspan_thread.tid;
}

uint32_t warpspan_lane_choose(void)
{
	static _Atomic uint32_t n_threads;

	warpspan_thread.lane_plus_1 =
		atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed) % WARPSPAN_N_LANES + 1;
	return warpspan_thread.lane_plus_1 - 1;
}

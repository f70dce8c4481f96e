/* SPDX-License-Identifier: Apache-2.0
 *
 * session.h - when the library wakes, and the one session of the process: who starts and who stops it.
 *
 *   asleep --(cuInit succeeded)--> awake          of the library, once
 *   idle -> starting -> active -> draining -> idle     of sessions, any number of times (machine.h)
 *
 * Asleep: nothing but tables. Awake: the driver's functions are known and the settings read. Active: a capture is
 * written to. All that starts or stops a session, whatever it is, comes by here. One mutex guards the transitions; it
 * is not held during a call of CUDA, while a file is written, or while anybody waits for the device.
 */
#ifndef WARPSPAN_SESSION_H
#define WARPSPAN_SESSION_H

#include "cuda_names.h"
#include "machine.h"
#include "settings.h"
#include "warpspan.h"

#include <stdbool.h>

/* --- the library ------------------------------------------------------------------------------ */

/* The program has initialised the driver: finds its functions, reads the settings. Any thread, any number of times; a
 * second one waits for the first, and no lock is held meanwhile. False: the library stays off, which was said. */
bool warpspan_session_wake(void);
/* Any thread; a load. */
bool warpspan_session_awake(void);

/* What holds for the process, and for sessions that say nothing else. Constant from when the library is awake or the
 * first session was asked for; any thread. */
const struct warpspan_settings *warpspan_process_settings(void);

/* --- the session ------------------------------------------------------------------------------ */

/* Who started or stopped a session, and when. */
struct warpspan_origin {
	char who[96]; /* "signal RTMIN+7" */
	uint32_t thread;
	uint64_t realtime_ns;
};
/* Of a session that started by itself. */
#define WARPSPAN_ORIGIN_AUTOMATIC "the first launch of a kernel with warpspan.cuh"
/* Of the calling thread, now. */
struct warpspan_origin warpspan_origin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A sentence for who asked. */
#define WARPSPAN_MESSAGE_BYTES 1024u
struct warpspan_message {
	char text[WARPSPAN_MESSAGE_BYTES];
};

/* Starts a session with the settings of the process and these "NAME=value" (NULL: none). Creates the capture; CUDA is
 * not called. What is launched from now on is recorded. Returns 0 or a WARPSPAN_ERR_*; ret_message says more. Any
 * thread, asleep or awake. */
int warpspan_session_start(const struct warpspan_origin *origin, const char *const *assignments,
			   struct warpspan_message *ret_message);
/* The same, for marks in a program that are not asked whether one may begin: where the session before is still being
 * drained, waits for that, at most as long as the end of the program would. */
int warpspan_session_restart(const struct warpspan_origin *origin, struct warpspan_message *ret_message);
/* Until what was launched before from graphs records as well: the collector has looked at every context. Not by a
 * thread that attaches. */
void warpspan_session_wait_armed(void);

/* Stops the session: kernels that run have `patience_ns` to end (0: as long as at the end of the program), then what
 * they recorded is written. Does not wait for that. *ret_number: which session it was. Returns 0 or a WARPSPAN_ERR_*.
 */
int warpspan_session_stop(const struct warpspan_origin *origin, uint64_t patience_ns, unsigned *ret_number,
			  struct warpspan_message *ret_message);

/* A kernel of ours is about to be launched for the first time: starts the session if it starts by itself. Whether one
 * is active. Any thread, which may have the turn (attach.c). */
bool warpspan_session_reached(void);

/* Whether launches are recorded. Any thread; a load. */
bool warpspan_session_active(void);

/* Whether one was started and nobody has stopped it yet; launches are recorded for a while longer. Any thread. */
bool warpspan_session_runs(void);

/* A copy of the settings of the latest session, or of the process before the first. Any thread. */
void warpspan_session_settings(struct warpspan_settings *ret_settings);
/* Its WARPSPAN_BUFFER and WARPSPAN_EVENTS_PER_WARP. Any thread. */
void warpspan_session_memory(uint64_t *ret_buffer, uint32_t *ret_events_per_warp);
/* Whether WARPSPAN_KERNEL of the latest session names the kernel (pattern.h). Any thread. */
bool warpspan_session_selects(const char *demangled);

struct warpspan_status {
	enum warpspan_phase phase;
	unsigned number;               /* of the latest session, from 1; 0: none yet */
	struct warpspan_origin origin; /* of its start */
};
void warpspan_session_status(struct warpspan_status *ret_status);

/* By the collector: nothing launched from here on belongs to the session ... */
void warpspan_session_cut(void);
/* ... and all that does is in the capture, which is closed. */
void warpspan_session_drained(void);

#endif

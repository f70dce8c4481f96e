/* SPDX-License-Identifier: Apache-2.0
 *
 * machine.h - the state machine of sessions: who may start, who stops, when the next may begin. No thread, no lock, no
 * clock: session.c guards it with its mutex, and a test walks through every order of events.
 *
 *              claim             started             stop              drained
 *      IDLE ----------> STARTING --------> ACTIVE ---------> DRAINING ---------> IDLE
 *        ^                 |                                                      |
 *        +-----------------+ not started                   closing, or close in IDLE: CLOSED
 *
 * STARTING: one thread creates the capture. DRAINING: the collector writes what is still to come, for a bounded time.
 * Exporting is no state: the next session may begin meanwhile. CLOSED, at the end of the program, is for good.
 */
#ifndef WARPSPAN_MACHINE_H
#define WARPSPAN_MACHINE_H

#include <stdbool.h>

/* X(NAME, text) */
#define WARPSPAN_PHASES(X)      \
	X(IDLE, "idle")         \
	X(STARTING, "starting") \
	X(ACTIVE, "active")     \
	X(DRAINING, "draining") \
	X(CLOSED, "closed")

enum warpspan_phase {
#define WARPSPAN_X(name, text) WARPSPAN_PHASE_##name,
	WARPSPAN_PHASES(WARPSPAN_X)
#undef WARPSPAN_X
};

/* Zeroed: idle, no session yet. */
struct warpspan_machine {
	enum warpspan_phase phase;
	bool closing;    /* no session begins any more */
	unsigned number; /* of the latest session that was started, from 1; numbers of failed starts are used again */
};

/* Not an error: ask again after the next change. */
#define WARPSPAN_MACHINE_WAIT 1

/* Claims the next session for the caller, who must report started() later. 0, or WARPSPAN_ERR_ALREADY_STARTED,
 * WARPSPAN_ERR_DRAINING, WARPSPAN_ERR_NO_CUDA (closed). */
int warpspan_machine_claim(struct warpspan_machine *machine);
/* By the one that claimed. */
void warpspan_machine_started(struct warpspan_machine *machine, bool good);

/* Ends the active session: the caller must have it drained. 0, or WARPSPAN_ERR_NOT_STARTED, WARPSPAN_ERR_DRAINING,
 * WARPSPAN_MACHINE_WAIT (it is being started). */
int warpspan_machine_stop(struct warpspan_machine *machine);
/* By the one that drains, once. */
void warpspan_machine_drained(struct warpspan_machine *machine);

/* The program ends. 0: closed; WARPSPAN_MACHINE_WAIT: not yet, stop what is active and ask again. From the first call
 * on every claim is refused. */
int warpspan_machine_close(struct warpspan_machine *machine);

/* "idle", "active", ... */
const char *warpspan_phase_text(enum warpspan_phase phase);

#endif

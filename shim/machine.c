/* SPDX-License-Identifier: Apache-2.0
 *
 * machine.c - the transitions of machine.h.
 */
#include "machine.h"

#include "warpspan.h"

int warpspan_machine_claim(struct warpspan_machine *machine)
{
	if (machine->closing)
		return WARPSPAN_ERR_NO_CUDA;
	switch (machine->phase) {
	case WARPSPAN_PHASE_IDLE:
		machine->phase = WARPSPAN_PHASE_STARTING;
		machine->number++;
		return 0;
	case WARPSPAN_PHASE_STARTING:
	case WARPSPAN_PHASE_ACTIVE:
		return WARPSPAN_ERR_ALREADY_STARTED;
	case WARPSPAN_PHASE_DRAINING:
		return WARPSPAN_ERR_DRAINING;
	case WARPSPAN_PHASE_CLOSED:
		break;
	}
	return WARPSPAN_ERR_NO_CUDA;
}

void warpspan_machine_started(struct warpspan_machine *machine, bool good)
{
	machine->phase = good ? WARPSPAN_PHASE_ACTIVE : WARPSPAN_PHASE_IDLE;
	if (!good)
		machine->number--;
}

int warpspan_machine_stop(struct warpspan_machine *machine)
{
	switch (machine->phase) {
	case WARPSPAN_PHASE_ACTIVE:
		machine->phase = WARPSPAN_PHASE_DRAINING;
		return 0;
	case WARPSPAN_PHASE_STARTING:
		return WARPSPAN_MACHINE_WAIT;
	case WARPSPAN_PHASE_DRAINING:
		return WARPSPAN_ERR_DRAINING;
	case WARPSPAN_PHASE_IDLE:
	case WARPSPAN_PHASE_CLOSED:
		break;
	}
	return WARPSPAN_ERR_NOT_STARTED;
}

void warpspan_machine_drained(struct warpspan_machine *machine)
{
	machine->phase = WARPSPAN_PHASE_IDLE;
}

int warpspan_machine_close(struct warpspan_machine *machine)
{
	machine->closing = true;
	if (machine->phase != WARPSPAN_PHASE_IDLE && machine->phase != WARPSPAN_PHASE_CLOSED)
		return WARPSPAN_MACHINE_WAIT;
	machine->phase = WARPSPAN_PHASE_CLOSED;
	return 0;
}

const char *warpspan_phase_text(enum warpspan_phase phase)
{
	static const char *const texts[] = {
#define WARPSPAN_X(name, text) text,
		WARPSPAN_PHASES(WARPSPAN_X)
#undef WARPSPAN_X
	};

	return texts[phase];
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * launch_log.c - the lock-free launch log. See launch_log.h.
 */
#include "launch_log.h"

#include "util.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

/* A slot's state is number * N_PHASES + phase, so a slot of an earlier round is never taken for one of this. */
enum phase {
	PHASE_BEGUN,  /* in its real call; all fields but end_ns and result are final */
	PHASE_ENDING, /* its thread is completing it */
	PHASE_DONE,
	PHASE_TAKEN, /* the collector took it while it was in its call */
	N_PHASES,
};

struct slot {
	_Atomic uint64_t state;
	struct warpspan_launch launch;
};

static struct slot *slots;
static _Atomic uint64_t last_begun;
static _Atomic uint64_t last_taken;

static uint64_t state_of(uint64_t number, enum phase phase)
{
	return number * N_PHASES + phase;
}

static struct slot *slot_of(uint64_t number)
{
	return &slots[number % WARPSPAN_LAUNCH_LOG_SLOTS];
}

bool warpspan_launch_log_init(void)
{
	void *memory;

	if (slots != NULL)
		return true;
	memory = mmap(NULL, sizeof(*slots) * WARPSPAN_LAUNCH_LOG_SLOTS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	slots = memory;
	return true;
}

uint64_t warpspan_launch_log_begin(const struct warpspan_launch *launch)
{
	uint64_t before = atomic_load_explicit(&last_begun, memory_order_relaxed);
	struct slot *slot;

	do {
		/* Acquire pairs with the release in warpspan_launch_log_take(): the slot has been read. */
		if (before - atomic_load_explicit(&last_taken, memory_order_acquire) >= WARPSPAN_LAUNCH_LOG_SLOTS)
			return 0;
	} while (!atomic_compare_exchange_weak_explicit(&last_begun, &before, before + 1, memory_order_acq_rel,
							memory_order_relaxed));
	slot = slot_of(before + 1);
	slot->launch = *launch;
	slot->launch.number = before + 1;
	/* Publishes the fields to the collector. */
	atomic_store_explicit(&slot->state, state_of(before + 1, PHASE_BEGUN), memory_order_release);
	return before + 1;
}

void warpspan_launch_log_end(uint64_t number, uint64_t end_ns, int32_t result)
{
	struct slot *slot = slot_of(number);
	uint64_t state = state_of(number, PHASE_BEGUN);

	/* Fails when the collector has taken the entry; the slot may have its next owner already. */
	if (!atomic_compare_exchange_strong_explicit(&slot->state, &state, state_of(number, PHASE_ENDING),
						     memory_order_acquire, memory_order_relaxed))
		return;
	slot->launch.end_ns = end_ns;
	slot->launch.result = result;
	atomic_store_explicit(&slot->state, state_of(number, PHASE_DONE), memory_order_release);
}

uint64_t warpspan_launch_log_last(void)
{
	/* Acquire: what the launch wrote on the device before this is seen together with its entry. */
	return atomic_load_explicit(&last_begun, memory_order_acquire);
}

/* Whether launch `number` could be moved to *launch. `early`: also when it is still in its call. */
static bool take(uint64_t number, bool early, struct warpspan_launch *launch)
{
	struct slot *slot = slot_of(number);
	uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);

	if (state == state_of(number, PHASE_DONE)) {
		*launch = slot->launch;
		return true;
	}
	if (!early || state != state_of(number, PHASE_BEGUN) ||
	    !atomic_compare_exchange_strong_explicit(&slot->state, &state, state_of(number, PHASE_TAKEN),
						     memory_order_acq_rel, memory_order_acquire))
		return false;
	*launch = slot->launch;
	launch->end_ns = warpspan_now_ns();
	launch->result = 0;
	return true;
}

unsigned warpspan_launch_log_take(uint64_t last, struct warpspan_launch *launches, unsigned capacity,
				  uint64_t patience_ns)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	uint64_t number = atomic_load_explicit(&last_taken, memory_order_relaxed) + 1;
	uint64_t give_up_ns = 0;
	unsigned n = 0;

	while (number <= last && n < capacity) {
		if (!take(number, false, &launches[n])) {
			if (give_up_ns == 0)
				give_up_ns = warpspan_now_ns() + patience_ns;
			if (warpspan_now_ns() < give_up_ns) {
				(void)nanosleep(&pause, NULL);
				continue;
			}
			if (!take(number, true, &launches[n]))
				break; /* between its number and its fields: the thread was preempted there */
		}
		n++;
		/* Release pairs with the acquire in warpspan_launch_log_begin(). */
		atomic_store_explicit(&last_taken, number++, memory_order_release);
	}
	return n;
}

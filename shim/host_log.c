/* SPDX-License-Identifier: Apache-2.0
 *
 * host_log.c - the lock-free log of host calls. See host_log.h.
 *
 * Why merging by time is safe: what is taken began up to a moment T that was read before the lanes are. If entry A was
 * appended before B began, and B began up to T, then A is visible now, and is taken first.
 */
#include "host_log.h"

#include "guard.h"
#include "util.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define N_LANES WARPSPAN_N_LANES

/* A slot's state is position * N_PHASES + phase, so a slot of an earlier round is never taken for one of this. */
enum phase {
	PHASE_BEGUN,  /* in its real call; all fields but end_ns and result are final */
	PHASE_ENDING, /* its thread is completing it */
	PHASE_DONE,
	PHASE_TAKEN, /* the collector took it while it was in its call */
	N_PHASES,
};

enum kind {
	KIND_LAUNCH,
	KIND_CALL,
	KIND_LATE_END, /* of a call the collector took while it was in its call */
};

struct late_end {
	uint64_t begin_ns; /* when it was appended: its place among the others */
	uint64_t end_ns;
	warpspan_ticket of;
	int32_t result;
};

struct slot {
	_Atomic uint64_t state;
	uint32_t kind; /* enum kind */
	union {
		struct warpspan_launch launch;
		struct warpspan_host_call call;
		struct late_end late_end;
	};
} __attribute__((aligned(128)));

/* The two sides in cache lines of their own. */
struct lane {
	_Atomic uint64_t last_begun __attribute__((aligned(64)));
	_Atomic uint64_t last_taken __attribute__((aligned(64)));
	struct slot slots[WARPSPAN_HOST_LOG_SLOTS];
};

static _Atomic(struct lane *) lanes; /* set once */

/* Calls that have a number and have not ended. Collector only. */
#define N_UNENDED 256u
static struct {
	warpspan_ticket ticket; /* 0: free */
	struct warpspan_host_call call;
} unended[N_UNENDED];
static unsigned n_unended;

static uint64_t last_number; /* collector only */

bool warpspan_host_log_init(void)
{
	struct lane *none = NULL;
	const size_t bytes = sizeof(struct lane) * N_LANES;
	void *memory;

	if (warpspan_host_log_ready())
		return true;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	if (!atomic_compare_exchange_strong(&lanes, &none, memory))
		(void)munmap(memory, bytes); /* another thread was first */
	return true;
}

bool warpspan_host_log_ready(void)
{
	return atomic_load_explicit(&lanes, memory_order_acquire) != NULL;
}

static struct lane *lane_at(uint64_t number)
{
	return &atomic_load_explicit(&lanes, memory_order_relaxed)[number];
}

/* --- appending -------------------------------------------------------------------------------- */

static uint64_t state_of(uint64_t position, enum phase phase)
{
	return position * N_PHASES + phase;
}

static struct slot *slot_of(struct lane *lane, uint64_t position)
{
	return &lane->slots[position % WARPSPAN_HOST_LOG_SLOTS];
}

static struct slot *slot_named(warpspan_ticket ticket)
{
	return slot_of(lane_at(ticket % N_LANES), ticket / N_LANES);
}

/* A slot for the calling thread to fill, of which nobody else knows yet; 0: the lane is full. */
static warpspan_ticket reserve(void)
{
	const uint32_t number = warpspan_lane();
	struct lane *lane = lane_at(number);
	uint64_t before = atomic_load_explicit(&lane->last_begun, memory_order_relaxed);

	do {
		/* Acquire pairs with the release in warpspan_host_log_take(): the slot has been read. */
		if (before - atomic_load_explicit(&lane->last_taken, memory_order_acquire) >= WARPSPAN_HOST_LOG_SLOTS)
			return 0;
		/* seq_cst: the collector, about to sleep, sees this or is seen asleep (collector.c, nap()). */
	} while (!atomic_compare_exchange_weak_explicit(&lane->last_begun, &before, before + 1, memory_order_seq_cst,
							memory_order_relaxed));
	return (before + 1) * N_LANES + number;
}

/* Publishes the fields to the collector. */
static void publish(warpspan_ticket ticket, enum phase phase)
{
	atomic_store_explicit(&slot_named(ticket)->state, state_of(ticket / N_LANES, phase), memory_order_release);
}

warpspan_ticket warpspan_host_log_begin_launch(const struct warpspan_launch *launch)
{
	const warpspan_ticket ticket = reserve();
	struct slot *slot;

	if (ticket == 0)
		return 0;
	slot = slot_named(ticket);
	slot->kind = KIND_LAUNCH;
	slot->launch = *launch;
	publish(ticket, PHASE_BEGUN);
	return ticket;
}

warpspan_ticket warpspan_host_log_begin_call(const struct warpspan_host_call *call)
{
	const warpspan_ticket ticket = reserve();
	struct slot *slot;

	if (ticket == 0)
		return 0;
	slot = slot_named(ticket);
	slot->kind = KIND_CALL;
	slot->call = *call;
	publish(ticket, PHASE_BEGUN);
	return ticket;
}

/* False when the collector has taken the entry; the slot may have its next owner already. */
static bool begin_end(warpspan_ticket ticket)
{
	const uint64_t position = ticket / N_LANES;
	uint64_t state = state_of(position, PHASE_BEGUN);

	return atomic_compare_exchange_strong_explicit(&slot_named(ticket)->state, &state,
						       state_of(position, PHASE_ENDING), memory_order_acquire,
						       memory_order_relaxed);
}

void warpspan_host_log_end_launch(warpspan_ticket ticket, uint64_t end_ns, int32_t result)
{
	if (!begin_end(ticket))
		return;
	slot_named(ticket)->launch.end_ns = end_ns;
	slot_named(ticket)->launch.result = result;
	publish(ticket, PHASE_DONE);
}

bool warpspan_host_log_end_call(warpspan_ticket ticket, uint64_t end_ns, int32_t result)
{
	warpspan_ticket late;

	if (begin_end(ticket)) {
		slot_named(ticket)->call.end_ns = end_ns;
		slot_named(ticket)->call.result = result;
		publish(ticket, PHASE_DONE);
		return true;
	}
	late = reserve();
	if (late == 0)
		return false;
	slot_named(late)->kind = KIND_LATE_END;
	slot_named(late)->late_end =
		(struct late_end){ .begin_ns = end_ns, .end_ns = end_ns, .of = ticket, .result = result };
	publish(late, PHASE_DONE);
	return true;
}

bool warpspan_host_log_presses(warpspan_ticket ticket)
{
	return ticket / N_LANES % (WARPSPAN_HOST_LOG_SLOTS / 4) == 0;
}

uint64_t warpspan_host_log_begun(void)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < N_LANES; i++)
		n += atomic_load_explicit(&lane_at(i)->last_begun, memory_order_seq_cst);
	return n;
}

/* --- taking ----------------------------------------------------------------------------------- */

enum readiness {
	EMPTY,       /* nothing in the lane, or what began too late */
	UNPUBLISHED, /* between its position and its fields: the thread was preempted there */
	IN_CALL,
	READY,
};

struct head {
	enum readiness readiness;
	uint64_t position;
	uint64_t begin_ns;
};

static uint64_t begin_of(const struct slot *slot)
{
	switch ((enum kind)slot->kind) {
	case KIND_LAUNCH:
		return slot->launch.begin_ns;
	case KIND_CALL:
		return slot->call.begin_ns;
	case KIND_LATE_END:
		break;
	}
	return slot->late_end.begin_ns;
}

static struct head look(unsigned number, uint64_t until_ns)
{
	struct lane *lane = lane_at(number);
	struct head head = { .readiness = EMPTY,
			     .position = atomic_load_explicit(&lane->last_taken, memory_order_relaxed) + 1 };
	const struct slot *slot = slot_of(lane, head.position);
	uint64_t state;

	if (head.position > atomic_load_explicit(&lane->last_begun, memory_order_acquire))
		return head;
	state = atomic_load_explicit(&slot->state, memory_order_acquire);
	if (state == state_of(head.position, PHASE_DONE))
		head.readiness = READY;
	else if (state == state_of(head.position, PHASE_BEGUN) || state == state_of(head.position, PHASE_ENDING))
		head.readiness = IN_CALL;
	else
		head.readiness = UNPUBLISHED;
	if (head.readiness == UNPUBLISHED)
		return head;
	head.begin_ns = begin_of(slot);
	if (head.begin_ns > until_ns)
		head.readiness = EMPTY;
	return head;
}

static void finish_unended(unsigned i, uint64_t end_ns, int32_t result, struct warpspan_host_batch *batch)
{
	struct warpspan_host_call *call = &batch->calls[batch->n_calls++];

	*call = unended[i].call;
	call->end_ns = end_ns;
	call->result = result;
	unended[i].ticket = 0;
	n_unended--;
}

/* Keeps the call until it has ended; false: no room. */
static bool keep_unended(warpspan_ticket ticket, const struct warpspan_host_call *call)
{
	for (unsigned i = 0; n_unended < N_UNENDED && i < N_UNENDED; i++) {
		if (unended[i].ticket != 0)
			continue;
		unended[i].ticket = ticket;
		unended[i].call = *call;
		unended[i].call.number = ++last_number;
		n_unended++;
		return true;
	}
	return false;
}

static void end_late(const struct late_end *end, struct warpspan_host_batch *batch)
{
	for (unsigned i = 0; i < N_UNENDED; i++)
		if (unended[i].ticket == end->of) {
			finish_unended(i, end->end_ns, end->result, batch);
			return;
		}
}

/* An entry that its thread has completed. */
static void move_done(const struct slot *slot, struct warpspan_host_batch *batch)
{
	switch ((enum kind)slot->kind) {
	case KIND_LAUNCH:
		batch->launches[batch->n_launches] = slot->launch;
		batch->launches[batch->n_launches++].number = ++last_number;
		break;
	case KIND_CALL:
		batch->calls[batch->n_calls] = slot->call;
		batch->calls[batch->n_calls++].number = ++last_number;
		break;
	case KIND_LATE_END:
		end_late(&slot->late_end, batch);
		break;
	}
}

/* An entry still in its call, now the collector's: its end and its result are not known. */
static void move_early(const struct slot *slot, warpspan_ticket ticket, struct warpspan_host_batch *batch)
{
	if (slot->kind == KIND_LAUNCH) {
		struct warpspan_launch *launch = &batch->launches[batch->n_launches++];

		*launch = slot->launch;
		launch->number = ++last_number;
		launch->end_ns = warpspan_now_ns();
		launch->result = 0;
	} else if (!keep_unended(ticket, &slot->call)) {
		struct warpspan_host_call *call = &batch->calls[batch->n_calls++];

		*call = slot->call;
		call->number = ++last_number;
		call->end_ns = warpspan_now_ns();
		call->result = 0;
	}
}

/* Moves the head of a lane. False: it is in its call, and to be waited for if it is a launch. */
static bool move(unsigned number, const struct head *head, bool patient, struct warpspan_host_batch *batch)
{
	struct lane *lane = lane_at(number);
	struct slot *slot = slot_of(lane, head->position);
	uint64_t state = state_of(head->position, PHASE_BEGUN);

	if (head->readiness == READY) {
		move_done(slot, batch);
	} else {
		if (slot->kind == KIND_LAUNCH && patient)
			return false;
		/* Fails when it ends this moment: READY at the next look. */
		if (!atomic_compare_exchange_strong_explicit(&slot->state, &state,
							     state_of(head->position, PHASE_TAKEN),
							     memory_order_acq_rel, memory_order_acquire))
			return false;
		move_early(slot, head->position * N_LANES + number, batch);
	}
	/* Release pairs with the acquire in reserve(). */
	atomic_store_explicit(&lane->last_taken, head->position, memory_order_release);
	return true;
}

bool warpspan_host_log_take(uint64_t until_ns, struct warpspan_host_batch *batch, uint64_t patience_ns)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	struct head heads[N_LANES];
	uint64_t give_up_ns = 0;

	batch->n_launches = batch->n_calls = 0;
	for (unsigned i = 0; i < N_LANES; i++)
		heads[i] = look(i, until_ns);
	while (batch->n_launches < WARPSPAN_HOST_BATCH && batch->n_calls < WARPSPAN_HOST_BATCH) {
		unsigned first = N_LANES, unpublished = N_LANES;
		bool patient = give_up_ns == 0 || warpspan_now_ns() < give_up_ns;

		for (unsigned i = 0; i < N_LANES; i++) {
			if (heads[i].readiness == UNPUBLISHED)
				unpublished = i;
			else if (heads[i].readiness != EMPTY &&
				 (first == N_LANES || heads[i].begin_ns < heads[first].begin_ns))
				first = i;
		}
		if (first == N_LANES && (unpublished == N_LANES || !patient))
			return false;
		if ((unpublished != N_LANES && patient) || !move(first, &heads[first], patient, batch)) {
			if (give_up_ns == 0)
				give_up_ns = warpspan_now_ns() + patience_ns;
			(void)nanosleep(&pause, NULL);
		}
		for (unsigned i = 0; i < N_LANES; i++)
			if (i == first || heads[i].readiness == UNPUBLISHED || heads[i].readiness == IN_CALL)
				heads[i] = look(i, until_ns);
	}
	return true;
}

bool warpspan_host_log_take_unended(struct warpspan_host_batch *batch)
{
	const uint64_t now_ns = warpspan_now_ns();

	batch->n_launches = batch->n_calls = 0;
	for (unsigned i = 0; i < N_UNENDED; i++)
		if (unended[i].ticket != 0)
			finish_unended(i, now_ns, 0, batch);
	return false;
}

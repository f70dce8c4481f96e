/* SPDX-License-Identifier: Apache-2.0
 *
 * test_machine.c - every order of events that two threads, a signal, the collector and the end of the program can come
 * in, on the transitions of machine.c.
 *
 * A world is the machine and how far each actor has come; a step is what an actor does while it holds the mutex of
 * session.c, or outside of it. An actor that is told to wait sleeps until a broadcast, as on the condition variable.
 * All worlds that can be reached are visited once, depth first. In each, at most one session is held and the numbers
 * are right; none is stuck: where nobody can step, everybody is done; and since no world comes again, everybody always
 * gets done. The same walk over transitions that were broken on purpose must find what is wrong with them.
 */
#include "support.h"

#include "machine.h"
#include "warpspan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the worlds ------------------------------------------------------------------------------- */

enum {
	THREAD_1,
	THREAD_2,
	SIGNAL,
	COLLECTOR,
	EXIT,
	N_ACTORS,
};

/* Starts or stops of each. */
static const uint8_t rounds[N_ACTORS] = { [THREAD_1] = 3, [THREAD_2] = 3, [SIGNAL] = 3, [COLLECTOR] = 1, [EXIT] = 1 };

enum step {
	NEXT,     /* nothing yet in this round */
	CLAIMING, /* about to claim */
	CREATING, /* it has the claim, and creates the capture */
	GOOD,     /* that has worked, and launches are recorded */
	BAD,      /* it has not */
	STOPPING, /* about to stop, or not to */
	ASKING,   /* it has stopped: it asks the collector for the rest */
	CUTTING,  /* the collector: asked for it */
	DRAINING, /* it records no more, and writes */
	FINISHED,
};

struct actor {
	uint8_t step; /* enum step */
	uint8_t left; /* rounds */
	uint8_t asleep;
};

/* No padding: worlds are compared by their bytes. */
struct world {
	struct actor actors[N_ACTORS];
	uint8_t phase, closing, number; /* of the machine */
	uint8_t recording;
	uint8_t opened, close_asked; /* of the collector */
	/* What nobody in it knows. */
	uint8_t held;      /* claims that are neither given up nor drained */
	uint8_t draining;  /* sessions that somebody has stopped */
	uint8_t n_good;    /* sessions that were started */
	uint8_t was_asked; /* to close */
	uint8_t closed;
};

/* NULL: as machine.c has it. */
struct transitions {
	int (*claim)(struct warpspan_machine *machine);
	void (*started)(struct warpspan_machine *machine, bool good);
	int (*stop)(struct warpspan_machine *machine);
	void (*drained)(struct warpspan_machine *machine);
	int (*close)(struct warpspan_machine *machine);
	bool started_is_silent, drained_is_silent; /* nobody is woken */
};

/* --- the walk --------------------------------------------------------------------------------- */

struct walk {
	struct transitions transitions;
	struct entry {
		struct world world;
		bool used, open; /* open: its successors are being visited */
	} * entries;
	size_t capacity, n_states, n_steps, n_ends;
	const char *fault; /* NULL: none yet */
};

static void fault(struct walk *walk, const char *text)
{
	if (walk->fault == NULL)
		walk->fault = text;
}

static struct warpspan_machine machine_of(const struct world *world)
{
	return (struct warpspan_machine){ .phase = world->phase, .closing = world->closing, .number = world->number };
}

static void put_machine(struct world *world, const struct warpspan_machine *machine)
{
	world->phase = (uint8_t)machine->phase;
	world->closing = machine->closing;
	world->number = (uint8_t)machine->number;
}

static void broadcast(struct world *world)
{
	for (int i = 0; i < N_ACTORS; i++)
		world->actors[i].asleep = 0;
}

static void next_round(struct actor *actor)
{
	actor->left--;
	actor->step = actor->left == 0 ? FINISHED : NEXT;
}

static void visit(struct walk *walk, const struct world *world);

/* --- what actors do --------------------------------------------------------------------------- */

static void step_claim(struct walk *walk, struct world world, int who)
{
	struct warpspan_machine machine = machine_of(&world);
	const int result = walk->transitions.claim(&machine);

	put_machine(&world, &machine);
	switch (result) {
	case 0:
		world.held++;
		world.actors[who].step = CREATING;
		if (world.was_asked)
			fault(walk, "a session began after the end had");
		break;
	case WARPSPAN_ERR_ALREADY_STARTED:
		if (world.held == 0)
			fault(walk, "a start was refused though nobody holds a session");
		world.actors[who].step = STOPPING;
		break;
	case WARPSPAN_ERR_DRAINING:
		if (world.draining == 0)
			fault(walk, "a start was refused though nothing is drained");
		world.actors[who].step = STOPPING;
		break;
	case WARPSPAN_ERR_NO_CUDA:
		if (!world.was_asked)
			fault(walk, "a start was refused though the program goes on");
		world.actors[who].step = STOPPING;
		break;
	default:
		fault(walk, "a claim returned what it must not");
		break;
	}
	visit(walk, &world);
}

static void step_started(struct walk *walk, struct world world, int who, bool good)
{
	struct warpspan_machine machine = machine_of(&world);

	walk->transitions.started(&machine, good);
	put_machine(&world, &machine);
	if (good)
		world.n_good++;
	else
		world.held--;
	world.actors[who].step = STOPPING;
	if (!walk->transitions.started_is_silent)
		broadcast(&world);
	visit(walk, &world);
}

static void step_stop(struct walk *walk, struct world world, int who)
{
	struct warpspan_machine machine = machine_of(&world);
	const int result = walk->transitions.stop(&machine);

	put_machine(&world, &machine);
	switch (result) {
	case 0:
		world.draining++;
		world.actors[who].step = ASKING;
		break;
	case WARPSPAN_MACHINE_WAIT:
		world.actors[who].asleep = 1;
		break;
	case WARPSPAN_ERR_DRAINING:
	case WARPSPAN_ERR_NOT_STARTED:
		if (result == WARPSPAN_ERR_NOT_STARTED && world.held != 0)
			fault(walk, "a stop found nothing though a session is held");
		next_round(&world.actors[who]);
		break;
	default:
		fault(walk, "a stop returned what it must not");
		break;
	}
	visit(walk, &world);
}

static void step_close(struct walk *walk, struct world world)
{
	struct warpspan_machine machine = machine_of(&world);
	const int result = walk->transitions.close(&machine);

	world.was_asked = 1;
	put_machine(&world, &machine);
	if (result == 0) {
		world.closed = 1;
		world.actors[EXIT].step = FINISHED;
	} else if (world.phase == WARPSPAN_PHASE_ACTIVE) {
		/* Under the same lock. */
		step_stop(walk, world, EXIT);
		return;
	} else {
		world.actors[EXIT].asleep = 1;
	}
	visit(walk, &world);
}

static void step_create(struct walk *walk, struct world world, int who)
{
	world.actors[who].step = BAD;
	visit(walk, &world);
	world.opened = 1;
	world.recording = 1;
	world.actors[who].step = GOOD;
	visit(walk, &world);
}

static void step_ask(struct walk *walk, struct world world, int who)
{
	world.close_asked = 1;
	if (who == EXIT)
		world.actors[who].step = NEXT;
	else
		next_round(&world.actors[who]);
	visit(walk, &world);
}

/* A thread starts, then stops or leaves that to others; a signal does one of them, as it finds things. */
static void step_begin(struct walk *walk, struct world world, int who)
{
	world.actors[who].step = who == SIGNAL && world.recording ? STOPPING : CLAIMING;
	visit(walk, &world);
}

static void step_to_next_round(struct walk *walk, struct world world, int who)
{
	next_round(&world.actors[who]);
	visit(walk, &world);
}

static void step_drained(struct walk *walk, struct world world)
{
	struct warpspan_machine machine = machine_of(&world);

	world.opened = world.close_asked = 0;
	walk->transitions.drained(&machine);
	put_machine(&world, &machine);
	world.held--;
	world.draining--;
	/* It goes on giving up captures that fail, if it has not yet. */
	world.actors[COLLECTOR].step = world.actors[COLLECTOR].left == 0 ? FINISHED : NEXT;
	if (!walk->transitions.drained_is_silent)
		broadcast(&world);
	visit(walk, &world);
}

/* Drains what it is asked to; once it may find that the capture cannot be written, and stop the session itself. */
static void step_collector(struct walk *walk, struct world world)
{
	struct actor *self = &world.actors[COLLECTOR];

	if (self->step == CUTTING) {
		world.recording = 0;
		self->step = DRAINING;
		visit(walk, &world);
	} else if (self->step == DRAINING) {
		step_drained(walk, world);
	} else if (self->step == STOPPING) {
		step_stop(walk, world, COLLECTOR);
	} else if (self->step == ASKING) {
		step_ask(walk, world, COLLECTOR);
	} else if (world.close_asked) {
		self->step = CUTTING;
		visit(walk, &world);
	} else if (world.opened && self->left > 0) {
		self->step = STOPPING;
		visit(walk, &world);
	}
}

static void step_user(struct walk *walk, struct world world, int who)
{
	switch (world.actors[who].step) {
	case NEXT:
		step_begin(walk, world, who);
		break;
	case CLAIMING:
		step_claim(walk, world, who);
		break;
	case CREATING:
		step_create(walk, world, who);
		break;
	case GOOD:
	case BAD:
		step_started(walk, world, who, world.actors[who].step == GOOD);
		break;
	case STOPPING:
		step_to_next_round(walk, world, who);
		step_stop(walk, world, who);
		break;
	case ASKING:
		step_ask(walk, world, who);
		break;
	default:
		break;
	}
}

static void step(struct walk *walk, const struct world *world, int who)
{
	if (world->actors[who].asleep)
		return;
	if (who == COLLECTOR)
		step_collector(walk, *world);
	else if (who == EXIT && world->actors[EXIT].step == NEXT)
		step_close(walk, *world);
	else if (who == EXIT && world->actors[EXIT].step == ASKING)
		step_ask(walk, *world, EXIT);
	else if (who != EXIT)
		step_user(walk, *world, who);
}

/* --- what must hold --------------------------------------------------------------------------- */

static void judge(struct walk *walk, const struct world *world)
{
	const bool starting = world->phase == WARPSPAN_PHASE_STARTING;

	if (world->closed && (world->held != 0 || world->phase != WARPSPAN_PHASE_CLOSED))
		fault(walk, "it is closed and a session is held");
	if (world->held > 1)
		fault(walk, "two hold a session");
	if (world->draining > 1)
		fault(walk, "one session is drained twice");
	if (world->number != world->n_good + starting)
		fault(walk, "a number was left out or given twice");
}

/* Where nobody can step. */
static void judge_end(struct walk *walk, const struct world *world)
{
	bool done = world->held == 0 && world->draining == 0 && !world->close_asked && world->closed;

	for (int i = 0; i < N_ACTORS; i++)
		done = done && (i == COLLECTOR ? !world->actors[i].asleep : world->actors[i].step == FINISHED);
	walk->n_ends++;
	if (!done)
		fault(walk, "stuck");
}

static uint64_t hash(const struct world *world)
{
	const unsigned char *bytes = (const unsigned char *)world;
	uint64_t value = 1469598103934665603u;

	for (size_t i = 0; i < sizeof(*world); i++)
		value = (value ^ bytes[i]) * 1099511628211u;
	return value ^ value >> 29;
}

static size_t place_of(const struct walk *walk, const struct world *world)
{
	size_t at = hash(world) & (walk->capacity - 1);

	while (walk->entries[at].used && memcmp(&walk->entries[at].world, world, sizeof(*world)) != 0)
		at = (at + 1) & (walk->capacity - 1);
	return at;
}

static void visit(struct walk *walk, const struct world *world)
{
	struct entry *entry = &walk->entries[place_of(walk, world)];
	size_t before;

	walk->n_steps++;
	if (walk->fault != NULL || entry->used) {
		if (entry->used && entry->open)
			fault(walk, "it goes round in circles");
		return;
	}
	*entry = (struct entry){ .world = *world, .used = true, .open = true };
	walk->n_states++;
	assert_true(walk->n_states < walk->capacity / 4 * 3);
	judge(walk, world);
	before = walk->n_steps;
	for (int i = 0; i < N_ACTORS; i++)
		step(walk, world, i);
	if (walk->n_steps == before)
		judge_end(walk, world);
	entry->open = false;
}

static void fill(struct transitions *transitions)
{
#define OR_REAL(name) transitions->name = transitions->name != NULL ? transitions->name : warpspan_machine_##name
	OR_REAL(claim);
	OR_REAL(started);
	OR_REAL(stop);
	OR_REAL(drained);
	OR_REAL(close);
#undef OR_REAL
}

/* Returns what is wrong; NULL: nothing. */
static const char *walk_all(const struct transitions *transitions, struct walk *ret_walk)
{
	struct world world = { 0 };

	*ret_walk = (struct walk){ .transitions = *transitions, .capacity = 1u << 19 };
	fill(&ret_walk->transitions);
	ret_walk->entries = calloc(ret_walk->capacity, sizeof(ret_walk->entries[0]));
	assert_non_null(ret_walk->entries);
	for (int i = 0; i < N_ACTORS; i++)
		world.actors[i].left = rounds[i];
	visit(ret_walk, &world);
	free(ret_walk->entries);
	return ret_walk->fault;
}

/* --- transitions that are broken -------------------------------------------------------------- */

static int claim_while_draining(struct warpspan_machine *machine)
{
	if (machine->phase == WARPSPAN_PHASE_DRAINING)
		machine->phase = WARPSPAN_PHASE_IDLE;
	return warpspan_machine_claim(machine);
}

static int claim_while_starting(struct warpspan_machine *machine)
{
	return machine->phase == WARPSPAN_PHASE_STARTING ? 0 : warpspan_machine_claim(machine);
}

static int claim_while_closing(struct warpspan_machine *machine)
{
	machine->closing = false;
	return warpspan_machine_claim(machine);
}

static int claim_never_again(struct warpspan_machine *machine)
{
	return machine->number > 0 ? WARPSPAN_ERR_ALREADY_STARTED : warpspan_machine_claim(machine);
}

static void started_forgets_failures(struct warpspan_machine *machine, bool good)
{
	if (good)
		warpspan_machine_started(machine, good);
}

static void started_keeps_the_number(struct warpspan_machine *machine, bool good)
{
	const unsigned number = machine->number;

	warpspan_machine_started(machine, good);
	machine->number = number;
}

static void started_is_always_good(struct warpspan_machine *machine, bool good)
{
	(void)good;
	warpspan_machine_started(machine, true);
}

static int stop_does_not_wait_for_a_start(struct warpspan_machine *machine)
{
	return machine->phase == WARPSPAN_PHASE_STARTING ? WARPSPAN_ERR_NOT_STARTED : warpspan_machine_stop(machine);
}

static int stop_twice(struct warpspan_machine *machine)
{
	return machine->phase == WARPSPAN_PHASE_DRAINING ? 0 : warpspan_machine_stop(machine);
}

static int stop_waits_for_nothing(struct warpspan_machine *machine)
{
	return machine->phase == WARPSPAN_PHASE_IDLE ? WARPSPAN_MACHINE_WAIT : warpspan_machine_stop(machine);
}

static void drained_is_lost(struct warpspan_machine *machine)
{
	(void)machine;
}

static int close_at_once(struct warpspan_machine *machine)
{
	machine->closing = true;
	machine->phase = WARPSPAN_PHASE_CLOSED;
	return 0;
}

static int close_lets_others_begin(struct warpspan_machine *machine)
{
	const int result = warpspan_machine_close(machine);

	machine->closing = result == 0;
	return result;
}

static int close_never(struct warpspan_machine *machine)
{
	(void)warpspan_machine_close(machine);
	return WARPSPAN_MACHINE_WAIT;
}

static const struct {
	const char *name;
	struct transitions transitions;
	const char *found;
} broken[] = {
	{ "a claim while the one before is drained", { .claim = claim_while_draining }, "two hold a session" },
	{ "a claim while another starts", { .claim = claim_while_starting }, "two hold a session" },
	{ "a claim at the end", { .claim = claim_while_closing }, "a session began after the end had" },
	{ "one session for ever", { .claim = claim_never_again }, "a start was refused though nobody holds a session" },
	{ "a start that failed and holds on",
	  { .started = started_forgets_failures },
	  "a start was refused though nobody holds a session" },
	{ "the number of a start that failed",
	  { .started = started_keeps_the_number },
	  "a number was left out or given twice" },
	{ "a start that failed and counts",
	  { .started = started_is_always_good },
	  "a number was left out or given twice" },
	{ "a stop that misses a start",
	  { .stop = stop_does_not_wait_for_a_start },
	  "a stop found nothing though a session is held" },
	{ "two stops of one session", { .stop = stop_twice }, "one session is drained twice" },
	{ "a stop that waits for nothing", { .stop = stop_waits_for_nothing }, "stuck" },
	{ "a session that is drained for ever", { .drained = drained_is_lost }, "stuck" },
	{ "an end that does not wait", { .close = close_at_once }, "it is closed and a session is held" },
	{ "an end that lets others begin", { .close = close_lets_others_begin }, "a session began after the end had" },
	{ "an end that never comes", { .close = close_never }, "stuck" },
	{ "a start that wakes nobody", { .started_is_silent = true }, "stuck" },
	{ "a drain that wakes nobody", { .drained_is_silent = true }, "stuck" },
};

/* --- tests ------------------------------------------------------------------------------------ */

static void in_every_order_of_events_one_holds_it_and_none_is_stuck(void **state)
{
	struct walk walk;
	const char *found = walk_all(&(struct transitions){ 0 }, &walk);

	print_message("%zu states, %zu steps, %zu ends\n", walk.n_states, walk.n_steps, walk.n_ends);
	if (found != NULL)
		fail_msg("%s", found);
	/* All of them, not the first few. */
	assert_true(walk.n_states > 10000);
	assert_true(walk.n_ends > 0);
}

static void every_transition_that_is_broken_is_found(void **state)
{
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct walk walk;
		const char *found = walk_all(&broken[i].transitions, &walk);

		print_message("%s: %s, after %zu states\n", broken[i].name, found != NULL ? found : "nothing",
			      walk.n_states);
		assert_non_null(found);
		assert_string_equal(found, broken[i].found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_every_order_of_events_one_holds_it_and_none_is_stuck),
		cmocka_unit_test(every_transition_that_is_broken_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

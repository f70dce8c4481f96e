/* SPDX-License-Identifier: Apache-2.0
 *
 * dispatch.c - the domains of a launch on the machine's cores, and which of them gets the next block.
 *
 * A domain runs without a lock for a number of events, then comes here. When a block has ended on its SM at time t it
 * asks for the next one. Blocks go to the SM that frees first, ties by number; so the question is answered when no
 * other domain can still ask for an earlier one, and each domain states a bound: the time of its next event, or of its
 * own question. Whoever has the lowest bound can go on, hence all can, and nothing depends on which thread ran what
 * when: the same launch gives the same clocks on one thread and on many. The same holds for failures: the launch ends
 * with the first in simulated time, and what lies behind it is cut off.
 *
 * Threads. The caller of sim_launch() is one. While domains wait for somebody to run them it starts others, as far as
 * the budget of SIMGPU_THREADS goes, which counts all threads of the process that run launches on any device; they end
 * with the launch, or earlier when other launches need their share. A launch of one domain, or a short one, starts
 * none. One lock per launch guards what exec.h says it guards; it is never held while instructions run.
 */
#include "exec.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#define EVENTS_PER_TURN 256 /* about a millisecond: a bound is never older than that */
#define TURNS_ALONE     1   /* before other threads are asked: a short launch is done sooner than they come */
#define MAX_HELPERS     256
#define HANG_SLEEP_NS   1000000
#define NOTHING_TO_ASK  UINT64_MAX

struct dispatch {
	struct sim_launch_state *state;
	uint32_t n_threads; /* budget */

	pthread_mutex_t lock; /* the rest, and what domains and launch have under it */
	pthread_cond_t changed;
	uint32_t n_left; /* domains that are not over */
	bool has_failed;
	uint64_t fail_time;
	uint32_t fail_sm;
	uint64_t n_turns;
	pthread_t helpers[MAX_HELPERS];
	uint32_t n_helpers;
};

/* Threads of the process that run launches. */
static atomic_uint n_busy;

static bool earlier(uint64_t time_a, uint32_t sm_a, uint64_t time_b, uint32_t sm_b)
{
	return time_a != time_b ? time_a < time_b : sm_a < sm_b;
}

/* --- questions -------------------------------------------------------------------------------- */

static uint64_t bound_of(const struct sim_domain *domain)
{
	return domain->stage == DOMAIN_OVER || domain->stage == DOMAIN_HUNG ? NOTHING_TO_ASK : domain->bound;
}

/* The domain that asks, or might ask, before all others; NULL when none can ask any more. */
static struct sim_domain *first_to_ask(const struct sim_launch_state *state)
{
	struct sim_domain *first = NULL;

	for (uint32_t i = 0; i < state->n_domains; i++) {
		struct sim_domain *domain = &state->domains[i];

		if (bound_of(domain) != NOTHING_TO_ASK && (first == NULL || domain->bound < first->bound))
			first = domain;
	}
	return first;
}

/* Answers every question that can be answered. */
static void answer(struct dispatch *dispatch)
{
	struct sim_launch_state *state = dispatch->state;
	struct sim_domain *domain;

	while (clusters_left(state) && (domain = first_to_ask(state)) != NULL && domain->stage == DOMAIN_ASKING) {
		domain->stage = DOMAIN_READY;
		domain->granted_cluster = take_cluster(state, domain->bound, &domain->granted_time);
		domain->has_grant = true;
		domain->bound = domain->granted_time;
		if (domain->n_queue > 0 && domain->queue[0].time < domain->bound)
			domain->bound = domain->queue[0].time;
	}
	for (uint32_t i = 0; !clusters_left(state) && i < state->n_domains; i++)
		if (state->domains[i].stage == DOMAIN_ASKING)
			state->domains[i].stage = DOMAIN_READY;
}

/* Ends what lies behind the first failure. */
static void cut_off(struct dispatch *dispatch)
{
	struct sim_launch_state *state = dispatch->state;

	for (uint32_t i = 0; dispatch->has_failed && i < state->n_domains; i++) {
		struct sim_domain *domain = &state->domains[i];

		if (domain->stage == DOMAIN_OVER || domain->stage == DOMAIN_RUNNING ||
		    earlier(bound_of(domain), domain->first_sm, dispatch->fail_time, dispatch->fail_sm))
			continue;
		domain->stage = DOMAIN_OVER;
		dispatch->n_left--;
	}
}

static void note_failure(struct dispatch *dispatch, const struct sim_domain *domain)
{
	if (dispatch->has_failed && !earlier(domain->now, domain->first_sm, dispatch->fail_time, dispatch->fail_sm))
		return;
	dispatch->has_failed = true;
	dispatch->fail_time = domain->now;
	dispatch->fail_sm = domain->first_sm;
}

/* --- turns ------------------------------------------------------------------------------------ */

static struct sim_domain *next_ready(const struct sim_launch_state *state)
{
	struct sim_domain *next = NULL;

	for (uint32_t i = 0; i < state->n_domains; i++) {
		struct sim_domain *domain = &state->domains[i];

		if (domain->stage == DOMAIN_READY && (next == NULL || domain->bound < next->bound))
			next = domain;
	}
	return next;
}

static bool any_running(const struct sim_launch_state *state)
{
	for (uint32_t i = 0; i < state->n_domains; i++)
		if (state->domains[i].stage == DOMAIN_RUNNING)
			return true;
	return false;
}

static void end_turn(struct dispatch *dispatch, struct sim_domain *domain, enum domain_stop stop)
{
	domain->bound = domain->now;
	switch (stop) {
	case DOMAIN_STOP_PAUSE:
		domain->stage = DOMAIN_READY;
		if (domain->n_queue > 0)
			domain->bound = domain->queue[0].time;
		break;
	case DOMAIN_STOP_ASK:
		domain->stage = DOMAIN_ASKING;
		break;
	case DOMAIN_STOP_HUNG:
		domain->stage = DOMAIN_HUNG;
		break;
	default:
		domain->stage = DOMAIN_OVER;
		dispatch->n_left--;
		if (domain->status != SIM_OK)
			note_failure(dispatch, domain);
		break;
	}
	dispatch->n_turns++;
	answer(dispatch);
	cut_off(dispatch);
}

static void take_turn(struct dispatch *dispatch, struct sim_domain *domain)
{
	enum domain_stop stop;

	domain->stage = DOMAIN_RUNNING;
	pthread_mutex_unlock(&dispatch->lock);
	stop = domain_run(domain, EVENTS_PER_TURN);
	pthread_mutex_lock(&dispatch->lock);
	end_turn(dispatch, domain, stop);
	pthread_cond_broadcast(&dispatch->changed);
}

/* Every warp of every domain that is left waits for another one: a hang, as on a device, until somebody stops it. */
static void hang(struct dispatch *dispatch)
{
	const struct timespec duration = { .tv_nsec = HANG_SLEEP_NS };
	struct sim_launch_state *state = dispatch->state;

	pthread_mutex_unlock(&dispatch->lock);
	nanosleep(&duration, NULL);
	pthread_mutex_lock(&dispatch->lock);
	for (uint32_t i = 0; i < state->n_domains; i++)
		if (state->domains[i].stage == DOMAIN_HUNG)
			state->domains[i].stage = DOMAIN_READY;
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *help(void *argument);

static uint32_t thread_budget(const struct sim_config *config)
{
	cpu_set_t cores;

	if (config->n_threads != 0)
		return config->n_threads;
	if (sched_getaffinity(0, sizeof(cores), &cores) != 0)
		return 1;
	return (uint32_t)CPU_COUNT(&cores);
}

/* Takes a place in the budget when there is one. */
static bool take_place(const struct dispatch *dispatch)
{
	uint32_t n = atomic_load(&n_busy);

	while (n < dispatch->n_threads)
		if (atomic_compare_exchange_weak(&n_busy, &n, n + 1))
			return true;
	return false;
}

/* Lock held. Signals are the program's business: its handlers must not run here. */
static void start_helper(struct dispatch *dispatch)
{
	sigset_t all, before;

	if (dispatch->n_turns < TURNS_ALONE || dispatch->n_helpers == MAX_HELPERS ||
	    next_ready(dispatch->state) == NULL || !take_place(dispatch))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&dispatch->helpers[dispatch->n_helpers], NULL, help, dispatch) == 0)
		dispatch->n_helpers++;
	else
		atomic_fetch_sub(&n_busy, 1); /* it goes without */
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Lock held. Runs whatever domain is ready until none is left, or until a helper is needed elsewhere. */
static void run_domains(struct dispatch *dispatch, bool is_helper)
{
	while (dispatch->n_left > 0) {
		struct sim_domain *domain = next_ready(dispatch->state);

		if (is_helper && atomic_load(&n_busy) > dispatch->n_threads)
			return;
		if (domain != NULL) {
			domain->stage = DOMAIN_RUNNING;
			if (!is_helper)
				start_helper(dispatch);
			take_turn(dispatch, domain);
		} else if (any_running(dispatch->state)) {
			pthread_cond_wait(&dispatch->changed, &dispatch->lock);
		} else if (is_helper) {
			return;
		} else {
			hang(dispatch);
		}
	}
}

static void *help(void *argument)
{
	struct dispatch *dispatch = argument;

	pthread_mutex_lock(&dispatch->lock);
	run_domains(dispatch, true);
	pthread_mutex_unlock(&dispatch->lock);
	atomic_fetch_sub(&n_busy, 1);
	return NULL;
}

void dispatch_run(struct sim_launch_state *state)
{
	struct dispatch dispatch = { .state = state,
				     .n_threads = thread_budget(&state->device->config),
				     .n_left = state->n_domains };

	pthread_mutex_init(&dispatch.lock, NULL);
	pthread_cond_init(&dispatch.changed, NULL);
	atomic_fetch_add(&n_busy, 1);
	pthread_mutex_lock(&dispatch.lock);
	run_domains(&dispatch, false);
	pthread_mutex_unlock(&dispatch.lock);
	atomic_fetch_sub(&n_busy, 1);
	for (uint32_t i = 0; i < dispatch.n_helpers; i++)
		pthread_join(dispatch.helpers[i], NULL);
	pthread_cond_destroy(&dispatch.changed);
	pthread_mutex_destroy(&dispatch.lock);
}

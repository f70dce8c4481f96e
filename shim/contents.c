/* SPDX-License-Identifier: Apache-2.0
 *
 * contents.c - what executable graphs hold. See contents.h.
 *
 * One list of executables and one queue of what has changed, under one lock that is never held across a call of CUDA.
 * Programs have few executables, and change them seldom: each change costs a walk over both.
 *
 * Without memory nothing is guessed: the executable, or all of them, count as uncertain from then on.
 */
#include "contents.h"

#include "lock.h"
#include "registry.h"
#include "util.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Changes that wait for the collector; a program that makes more of them in one of its turns is not followed. */
#define MOST_WAITING 65536u

struct executable {
	struct executable *next;
	CUgraphExec handle;
	uint64_t since_ns;
	struct warpspan_contents contents;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct executable *executables;
static struct warpspan_snapshot *waiting, **last_waiting = &waiting;
static unsigned n_waiting;
static bool recording;  /* there is a capture */
static bool lost;       /* a change could not be kept for it */
static bool incomplete; /* there was no memory for an executable: no capture can know it */
static bool said;       /* the capture has been told that something is missing */

void warpspan_contents_add(struct warpspan_contents *contents, const struct warpspan_content *content,
			   const struct warpspan_kernel *kernel)
{
	if (kernel == NULL) {
		contents->uncertain = true;
		return;
	}
	if (kernel->module == NULL)
		return; /* it does not record */
	if (contents->n == contents->room) {
		const size_t room = contents->room != 0 ? 2 * contents->room : 16;
		struct warpspan_content *items = reallocarray(contents->items, room, sizeof(items[0]));

		if (items == NULL) {
			contents->uncertain = true;
			return;
		}
		contents->items = items;
		contents->room = room;
	}
	contents->items[contents->n] = *content;
	contents->items[contents->n].module = kernel->module_number;
	contents->items[contents->n].kernel = kernel->number;
	contents->n++;
}

/* --- the queue; under the lock ---------------------------------------------------------------- */

static void drop_waiting(void)
{
	while (waiting != NULL) {
		struct warpspan_snapshot *next = waiting->next;

		free(waiting);
		waiting = next;
	}
	last_waiting = &waiting;
	n_waiting = 0;
}

static void queue(const struct executable *executable)
{
	const struct warpspan_contents *contents = &executable->contents;
	struct warpspan_snapshot *snapshot;

	if (!recording || lost)
		return;
	snapshot =
		n_waiting < MOST_WAITING ? malloc(sizeof(*snapshot) + contents->n * sizeof(contents->items[0])) : NULL;
	if (snapshot == NULL) {
		lost = true;
		return;
	}
	*snapshot = (struct warpspan_snapshot){
		.exec = (uint64_t)(uintptr_t)executable->handle,
		.since_ns = executable->since_ns,
		.uncertain = contents->uncertain,
	};
	for (size_t i = 0; i < contents->n; i++)
		if (!contents->items[i].off)
			snapshot->items[snapshot->n++] = contents->items[i];
	*last_waiting = snapshot;
	last_waiting = &snapshot->next;
	n_waiting++;
}

static void announce(struct executable *executable)
{
	executable->since_ns = warpspan_now_ns();
	queue(executable);
}

/* --- executables; under the lock -------------------------------------------------------------- */

static struct executable *find(CUgraphExec handle)
{
	struct executable *executable = executables;

	while (executable != NULL && executable->handle != handle)
		executable = executable->next;
	return executable;
}

static struct executable *find_or_make(CUgraphExec handle)
{
	struct executable *executable = find(handle);

	if (executable != NULL)
		return executable;
	executable = calloc(1, sizeof(*executable));
	if (executable == NULL) {
		incomplete = true;
		return NULL;
	}
	executable->handle = handle;
	executable->next = executables;
	executables = executable;
	return executable;
}

static struct warpspan_content *find_node(struct executable *executable, CUgraphNode node)
{
	for (size_t i = 0; i < executable->contents.n; i++)
		if (executable->contents.items[i].node == node)
			return &executable->contents.items[i];
	return NULL;
}

/* --- changes ---------------------------------------------------------------------------------- */

void warpspan_contents_replace(CUgraphExec exec, struct warpspan_contents *contents, bool is_update)
{
	struct executable *executable;

	warpspan_lock(&lock);
	executable = find_or_make(exec);
	if (executable != NULL) {
		/* Nodes that were switched off stay so, and it is not known which of the new ones they are. */
		for (size_t i = 0; is_update && i < executable->contents.n; i++)
			contents->uncertain |= executable->contents.items[i].off;
		free(executable->contents.items);
		executable->contents = *contents;
		*contents = (struct warpspan_contents){ .items = NULL };
		announce(executable);
	}
	warpspan_unlock(&lock);
	free(contents->items);
}

void warpspan_contents_change(CUgraphExec exec, const struct warpspan_content *content,
			      const struct warpspan_kernel *kernel)
{
	struct executable *executable;
	bool is_known;

	warpspan_lock(&lock);
	is_known = find(exec) != NULL;
	executable = find_or_make(exec);
	if (executable != NULL) {
		struct warpspan_contents *contents = &executable->contents;
		struct warpspan_content *found = find_node(executable, content->node);
		const bool off = found != NULL && found->off;

		contents->uncertain |= !is_known;
		/* One that is not listed launched a kernel that does not record, if all that do are listed. */
		if (found != NULL)
			*found = contents->items[--contents->n];
		warpspan_contents_add(contents, content, kernel);
		if (off && contents->n > 0 && contents->items[contents->n - 1].node == content->node)
			contents->items[contents->n - 1].off = true;
		announce(executable);
	}
	warpspan_unlock(&lock);
}

void warpspan_contents_enable(CUgraphExec exec, CUgraphNode node, bool enabled)
{
	struct executable *executable;
	struct warpspan_content *found;

	warpspan_lock(&lock);
	executable = find(exec);
	found = executable != NULL ? find_node(executable, node) : NULL;
	if (found != NULL && found->off == enabled) {
		found->off = !enabled;
		announce(executable);
	}
	warpspan_unlock(&lock);
}

void warpspan_contents_doubt(CUgraphExec exec)
{
	struct executable *executable;

	warpspan_lock(&lock);
	executable = find_or_make(exec);
	if (executable != NULL) {
		executable->contents.uncertain = true;
		announce(executable);
	}
	warpspan_unlock(&lock);
}

void warpspan_contents_drop(CUgraphExec exec)
{
	warpspan_lock(&lock);
	for (struct executable **at = &executables; *at != NULL; at = &(*at)->next) {
		struct executable *executable = *at;

		if (executable->handle != exec)
			continue;
		*at = executable->next;
		free(executable->contents.items);
		free(executable);
		break;
	}
	warpspan_unlock(&lock);
}

/* --- the capture ------------------------------------------------------------------------------ */

void warpspan_contents_begin(void)
{
	warpspan_lock(&lock);
	drop_waiting();
	recording = true;
	lost = said = false;
	for (const struct executable *executable = executables; executable != NULL; executable = executable->next)
		queue(executable);
	warpspan_unlock(&lock);
}

void warpspan_contents_end(void)
{
	warpspan_lock(&lock);
	recording = false;
	warpspan_unlock(&lock);
}

struct warpspan_snapshot *warpspan_contents_take(void)
{
	struct warpspan_snapshot *taken;

	warpspan_lock(&lock);
	taken = waiting;
	waiting = NULL;
	last_waiting = &waiting;
	n_waiting = 0;
	if ((lost || incomplete) && !said) {
		struct warpspan_snapshot *all = calloc(1, sizeof(*all));

		if (all != NULL) {
			*all = (struct warpspan_snapshot){ .next = taken, .uncertain = true };
			taken = all;
			said = true;
		}
	}
	warpspan_unlock(&lock);
	return taken;
}

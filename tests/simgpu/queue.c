/* SPDX-License-Identifier: Apache-2.0
 *
 * queue.c - what happens next in a domain: a binary heap of events by (time, order).
 *
 * Belongs to the thread that runs the domain.
 */
#include "exec.h"

#include <stdlib.h>

static void queue_set(struct sim_domain *domain, uint32_t position, struct sim_queued queued)
{
	domain->queue[position] = queued;
	queued.event->position = position + 1;
}

static void sift_up(struct sim_domain *domain, uint32_t position)
{
	struct sim_queued moved = domain->queue[position];

	while (position > 0) {
		uint32_t parent = (position - 1) / 2;

		if (!queued_before(&moved, domain->queue[parent].time, domain->queue[parent].order))
			break;
		queue_set(domain, position, domain->queue[parent]);
		position = parent;
	}
	queue_set(domain, position, moved);
}

static void sift_down(struct sim_domain *domain, uint32_t position)
{
	struct sim_queued moved = domain->queue[position];

	for (;;) {
		uint32_t child = 2 * position + 1;

		if (child >= domain->n_queue)
			break;
		if (child + 1 < domain->n_queue &&
		    queued_before(&domain->queue[child + 1], domain->queue[child].time, domain->queue[child].order))
			child++;
		if (!queued_before(&domain->queue[child], moved.time, moved.order))
			break;
		queue_set(domain, position, domain->queue[child]);
		position = child;
	}
	queue_set(domain, position, moved);
}

bool queue_push(struct sim_domain *domain, struct sim_event *event)
{
	if (domain->n_queue == domain->queue_capacity) {
		uint32_t capacity = domain->queue_capacity == 0 ? 256 : domain->queue_capacity * 2;
		struct sim_queued *queue = realloc(domain->queue, capacity * sizeof(*queue));

		if (queue == NULL) {
			domain_fail(domain, SIM_NO_MEMORY, "out of host memory");
			return false;
		}
		domain->queue = queue;
		domain->queue_capacity = capacity;
	}
	domain->queue[domain->n_queue] = (struct sim_queued){ event->time, event->order, event };
	sift_up(domain, domain->n_queue++);
	return true;
}

void queue_remove(struct sim_domain *domain, struct sim_event *event)
{
	uint32_t position = event->position - 1;
	struct sim_queued last = domain->queue[--domain->n_queue];

	event->position = 0;
	if (last.event == event)
		return;
	queue_set(domain, position, last);
	sift_down(domain, position);
	sift_up(domain, last.event->position - 1);
}

bool queue_deferred(struct sim_domain *domain, struct sim_block *block, uint64_t time, uint32_t address,
		    uint32_t arrivals, uint32_t bytes)
{
	struct sim_deferred *deferred = domain->free_deferred;

	if (deferred != NULL) {
		domain->free_deferred = deferred->next_free;
	} else {
		deferred = calloc(1, sizeof(*deferred));
		if (deferred == NULL)
			return false;
		deferred->next_all = domain->all_deferred;
		domain->all_deferred = deferred;
	}
	deferred->event.time = time;
	deferred->event.order = domain->next_deferred_order++ & (SIM_ORDER_BLOCK_END - 1);
	deferred->event.kind = EVENT_DEFERRED;
	deferred->block = block;
	deferred->block_generation = block->generation;
	deferred->address = address;
	deferred->arrivals = arrivals;
	deferred->bytes = bytes;
	return queue_push(domain, &deferred->event);
}

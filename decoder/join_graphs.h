/* SPDX-License-Identifier: Apache-2.0
 *
 * join_graphs.h - which calls may have made the grids of one shape: launches of the log, and launches of graphs, each
 * as often as the graph makes such grids. Part of join.c's work.
 */
#ifndef WARPSPAN_JOIN_GRAPHS_H
#define WARPSPAN_JOIN_GRAPHS_H

#include "launches.h"
#include "map.h"
#include "shape.h"

#define JOIN_GRAPHS_MOST 16      /* executable graphs of a context whose shares are searched for */
#define JOIN_STEPS_MOST  4000000 /* of all searches together: a forged capture may ask for many */

/* A call that launched, or may have launched, grids. */
struct event {
	uint64_t number, begin_ns, end_ns;
	uint64_t stream;
	uint32_t thread;
	uint32_t launch, call; /* index; the other is NONE */
	uint32_t next;         /* the next launch of the same graph; NONE */
	enum warpspan_phase phase;
};

typedef ARRAY(struct event) event_array;

/* An executable graph, as long as it held the same: how often it was launched, and how many grids of the shape at hand
 * each time. */
struct graph {
	uint64_t n_launches, share;
	uint32_t first, last; /* of its launches */
};

/* A launch of this graph makes so many grids of this shape. */
struct held {
	struct shape shape;
	uint32_t graph; /* index */
	uint32_t n;
};

/* What was found out about one context. */
struct context {
	struct launches *launches;
	event_array graph_launches; /* that succeeded, by number */
	ARRAY(struct graph) graphs;
	struct map graphs_by_handle;        /* handle, what it held -> index */
	uint32_t unknown[JOIN_GRAPHS_MOST]; /* of them those whose contents are not known */
	ARRAY(struct held) held;            /* of the others, by shape and graph */
	size_t n_unknown;                   /* more than JOIN_GRAPHS_MOST: not all are listed */
	bool late_graphs;          /* some of them were launched after the stop: not all of theirs may be here */
	ARRAY(struct event) waits; /* synchronisations of the whole context that succeeded, by begin */
};

/* One side of the join: a launch of the log or a grid, with its shape. */
struct side {
	struct shape shape;
	uint32_t index; /* in the log or the grids */
	uint64_t order; /* number of the launch; %gridid, or start where that is constant */
	uint32_t site;  /* of a grid: one of its WS_OPENs */
	uint32_t context;
};

typedef ARRAY(struct side) side_array;

/* A call of the log, by its index. */
struct event join_event_of_launch(const struct launches *launches, uint32_t index);
struct event join_event_of_call(const struct launches *launches, uint32_t index);

/* Notes the calls that concern the context, in order: waits, launches of graphs and what those hold. `calls` are sorted
 * by context and number. */
int join_look_at_calls(struct context *context, const uint32_t *calls, size_t n);

/* What is held of the shape, in the order of graphs. */
const struct held *join_held_part(const struct context *context, struct shape shape, size_t *ret_n);
/* How many grids of a shape the launches of graphs made. False: nothing certain. */
bool join_count_held(const struct context *context, const struct held *held, size_t n_held, uint64_t *ret_n);
/* Finds out how many grids of the shape a launch of each graph makes. False: nothing certain. */
bool join_find_shares(struct context *context, const struct held *held, size_t n_held, uint64_t n_from_graphs);
/* The launches of a shape and (`with_graphs`) those of graphs that make it, by number. */
int join_list_events(const struct context *context, const struct side *hosts, size_t n_hosts, bool with_graphs,
		     const struct held *held, size_t n_held, event_array *events);

#endif

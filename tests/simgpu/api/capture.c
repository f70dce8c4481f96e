/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.c - stream capture: work given to a stream becomes nodes of a graph instead of running.
 *
 * A capture has the stream it began on and those that joined it by waiting for an event recorded in it. Each of its
 * streams remembers the nodes its next work is to follow. What the rules of capture forbid fails and makes the
 * capture invalid; then everything on its streams fails until it is ended, as documented with each function and
 * error in cuda.h.
 *
 * graph_lock guards captures, their streams' and their events' part in them. stream->capture is also read without it,
 * to ask whether there is one at all: a program that captures a stream from one thread and uses it from another
 * synchronises that itself. Callable from any thread.
 */
#include "capture.h"

#include "graph.h"

#include <stdlib.h>
#include <string.h>

struct capture {
	unsigned int refs; /* the capture while it lasts, and events */
	uint64_t id;
	CUstreamCaptureMode mode;
	uint64_t thread;
	bool is_invalid;
	bool is_over;
	bool is_to_graph; /* the graph is the program's, whatever happens */
	struct graph *graph;
	struct stream *origin;
	size_t n_streams;
	struct stream **streams;
	struct capture *next;
};

static struct capture *captures;  /* those that last */
static _Atomic size_t n_captures; /* so that who captures nothing pays nothing */

/* --- sets of nodes ---------------------------------------------------------------------------- */

static bool nodes_hold(const struct graph_nodes *set, const struct graph_node *node)
{
	for (size_t i = 0; i < set->n; i++) {
		if (set->nodes[i] == node)
			return true;
	}
	return false;
}

static CUresult nodes_join(struct graph_nodes *set, struct graph_node *const *nodes, size_t n)
{
	struct graph_node **more = realloc(set->nodes, (set->n + n + 1) * sizeof(struct graph_node *));

	if (!more)
		return CUDA_ERROR_OUT_OF_MEMORY;
	set->nodes = more;
	for (size_t i = 0; i < n; i++) {
		if (!nodes_hold(set, nodes[i]))
			set->nodes[set->n++] = nodes[i];
	}
	return CUDA_SUCCESS;
}

static CUresult nodes_set(struct graph_nodes *set, struct graph_node *const *nodes, size_t n)
{
	size_t before = set->n;
	CUresult result;

	set->n = 0;
	result = nodes_join(set, nodes, n);
	if (result != CUDA_SUCCESS)
		set->n = before;
	return result;
}

static void nodes_free(struct graph_nodes *set)
{
	free(set->nodes);
	*set = (struct graph_nodes){ .n = 0 };
}

/* --- captures; graph_lock is held ------------------------------------------------------------- */

static void capture_unref(struct capture *capture)
{
	if (capture && --capture->refs == 0) {
		free(capture->streams);
		free(capture);
	}
}

static CUresult capture_join(struct capture *capture, struct stream *stream)
{
	struct stream **streams = realloc(capture->streams, (capture->n_streams + 1) * sizeof(struct stream *));

	if (!streams)
		return CUDA_ERROR_OUT_OF_MEMORY;
	capture->streams = streams;
	capture->streams[capture->n_streams++] = stream;
	stream->captured.n = 0;
	atomic_store_explicit(&stream->capture, capture, memory_order_release);
	return CUDA_SUCCESS;
}

static void stream_leave(struct stream *stream)
{
	nodes_free(&stream->captured);
	atomic_store_explicit(&stream->capture, NULL, memory_order_release);
}

/* Every stream is out of it; its graph is whoever's took it. */
static void capture_end(struct capture *capture)
{
	for (size_t i = 0; i < capture->n_streams; i++)
		stream_leave(capture->streams[i]);
	capture->n_streams = 0;
	for (struct capture **at = &captures; *at; at = &(*at)->next) {
		if (*at == capture) {
			*at = capture->next;
			break;
		}
	}
	atomic_fetch_sub_explicit(&n_captures, 1, memory_order_relaxed);
	capture->is_over = true;
	capture_unref(capture);
}

static void capture_discard(struct capture *capture)
{
	if (!capture->is_to_graph)
		graph_destroy(capture->graph);
	capture_end(capture);
}

static struct capture *capture_of(struct stream *stream)
{
	return atomic_load_explicit(&stream->capture, memory_order_acquire);
}

static bool any_captures(void)
{
	return atomic_load_explicit(&n_captures, memory_order_acquire) != 0;
}

static bool touches_context(const struct capture *capture, const struct context *context, bool only_blocking)
{
	for (size_t i = 0; i < capture->n_streams; i++) {
		if (capture->streams[i]->context == context &&
		    (!only_blocking || stream_is_blocking(capture->streams[i])))
			return true;
	}
	return false;
}

/* Invalidates the captures with a stream of the context; were there any? */
static bool invalidate_in(const struct context *context, bool only_blocking)
{
	bool is_any = false;

	for (struct capture *capture = captures; capture; capture = capture->next) {
		if (!touches_context(capture, context, only_blocking))
			continue;
		capture->is_invalid = true;
		is_any = true;
	}
	return is_any;
}

/* --- refusals --------------------------------------------------------------------------------- */

bool stream_is_captured(struct stream *stream)
{
	return capture_of(stream) != NULL;
}

CUresult capture_refuse(struct stream *stream)
{
	struct capture *capture;
	CUresult result = CUDA_SUCCESS;

	if (!any_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&graph_lock);
	capture = capture_of(stream);
	if (capture && capture->is_invalid) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else if (capture) {
		capture->is_invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	} else if (stream == stream->context->legacy && invalidate_in(stream->context, true)) {
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult capture_refuse_context(struct context *context)
{
	CUresult result = CUDA_SUCCESS;

	if (!any_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&graph_lock);
	if (invalidate_in(context, false))
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* As documented with cuThreadExchangeStreamCaptureMode(). */
CUresult capture_refuse_unsafe(void)
{
	const struct host_thread *thread = host_thread();
	CUresult result = CUDA_SUCCESS;

	if (!any_captures() || thread->capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&graph_lock);
	for (struct capture *capture = captures; capture; capture = capture->next) {
		bool is_mine = capture->thread == thread->id && capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED;
		bool is_global = capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
				 thread->capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;

		if (!is_mine && !is_global)
			continue;
		capture->is_invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- nodes from work; graph_lock is held ------------------------------------------------------ */

static CUresult capture_usable(const struct capture *capture)
{
	return capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

/* A node that follows what the stream captured before. */
static CUresult node_append(struct stream *stream, CUgraphNodeType type, struct graph_node **ret_node)
{
	struct capture *capture = capture_of(stream);
	struct graph_node *node;
	CUresult result = capture_usable(capture);

	if (result == CUDA_SUCCESS)
		result = graph_add(capture->graph, type, &node);
	if (result != CUDA_SUCCESS)
		return result;
	for (size_t i = 0; i < stream->captured.n && result == CUDA_SUCCESS; i++)
		result = node_depend(node, stream->captured.nodes[i], NULL);
	if (result != CUDA_SUCCESS) {
		graph_remove(node);
		return result;
	}
	*ret_node = node;
	return CUDA_SUCCESS;
}

/* The node has its content, or could not get it. */
static CUresult node_appended(struct stream *stream, struct graph_node *node, CUresult result)
{
	if (result == CUDA_SUCCESS)
		result = nodes_set(&stream->captured, &node, 1);
	if (result != CUDA_SUCCESS)
		graph_remove(node);
	return result;
}

static CUmemorytype memory_type(CUdeviceptr address)
{
	return address_is_on_device(address) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

static CUDA_MEMCPY3D box_of(const struct work_copy *copy)
{
	CUDA_MEMCPY3D box = {
		.srcMemoryType = memory_type(copy->from),
		.srcHost = (const void *)(uintptr_t)copy->from,
		.srcDevice = copy->from,
		.srcPitch = copy->height * copy->depth > 1 ? copy->from_pitch : copy->width,
		.srcHeight = copy->depth > 1 ? copy->from_slice / copy->from_pitch : copy->height,
		.dstMemoryType = memory_type(copy->to),
		.dstHost = (void *)(uintptr_t)copy->to,
		.dstDevice = copy->to,
		.dstPitch = copy->height * copy->depth > 1 ? copy->to_pitch : copy->width,
		.dstHeight = copy->depth > 1 ? copy->to_slice / copy->to_pitch : copy->height,
		.WidthInBytes = copy->width,
		.Height = copy->height,
		.Depth = copy->depth,
	};

	return box;
}

static CUgraphNodeType type_of(const struct work *work)
{
	switch (work->kind) {
	case WORK_COPY:
		return CU_GRAPH_NODE_TYPE_MEMCPY;
	case WORK_FILL:
		return CU_GRAPH_NODE_TYPE_MEMSET;
	case WORK_CALLBACK:
		return CU_GRAPH_NODE_TYPE_HOST;
	case WORK_FREE:
		return CU_GRAPH_NODE_TYPE_MEM_FREE;
	default:
		return CU_GRAPH_NODE_TYPE_EMPTY;
	}
}

static CUresult node_from_work(struct graph_node *node, struct stream *stream, const struct work *work)
{
	CUcontext context = (CUcontext)stream->context;

	switch (work->kind) {
	case WORK_COPY: {
		CUDA_MEMCPY3D box = box_of(&work->copy);

		return node_set_copy(node, &box, context);
	}
	case WORK_FILL: {
		CUDA_MEMSET_NODE_PARAMS params = {
			.dst = work->fill.to,
			.pitch = work->fill.pitch,
			.value = work->fill.value,
			.elementSize = work->fill.unit_bytes,
			.width = work->fill.width,
			.height = work->fill.height,
		};

		return node_set_fill(node, &params, context);
	}
	case WORK_CALLBACK:
		return node_set_host(node, work->callback.function, work->callback.argument);
	case WORK_FREE:
		node->freed = work->free_address;
		return CUDA_SUCCESS;
	default:
		return CUDA_SUCCESS;
	}
}

/* Callbacks with a status are as old as streams and were never taught to be captured. */
static bool is_capturable(const struct work *work)
{
	if (work->kind == WORK_FREE)
		return address_is_of_graph(work->free_address);
	return work->kind != WORK_CALLBACK || !work->callback.with_status;
}

CUresult capture_op(struct stream *stream, struct op *op)
{
	struct graph_node *node;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = capture_usable(capture_of(stream));
	if (result == CUDA_SUCCESS && !is_capturable(&op->work)) {
		capture_of(stream)->is_invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	if (result == CUDA_SUCCESS)
		result = node_append(stream, type_of(&op->work), &node);
	if (result == CUDA_SUCCESS)
		result = node_appended(stream, node, node_from_work(node, stream, &op->work));
	pthread_mutex_unlock(&graph_lock);
	op_unref(op);
	return result;
}

CUresult capture_launch(struct stream *stream, struct op *op, CUfunction handle, const struct launch_request *request)
{
	struct graph_node *node;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = node_append(stream, CU_GRAPH_NODE_TYPE_KERNEL, &node);
	/* Programmatic serialization becomes an edge of that kind, where it follows one kernel and nothing else. */
	if (result == CUDA_SUCCESS && request->may_start_early && node->n_edges == 1 &&
	    node->edges[0].from->type == CU_GRAPH_NODE_TYPE_KERNEL)
		node->edges[0].data = (CUgraphEdgeData){ .from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC,
							 .type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC };
	if (result == CUDA_SUCCESS)
		result = node_appended(stream, node, node_set_kernel(node, handle, stream->context, request));
	pthread_mutex_unlock(&graph_lock);
	op_unref(op);
	return result;
}

CUresult capture_graph(struct stream *stream, CUgraphExec exec)
{
	const struct graph *graph;
	struct graph_node *node;
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	pthread_mutex_lock(&graph_lock);
	graph = graph_exec_graph(exec);
	if (graph)
		result = node_append(stream, CU_GRAPH_NODE_TYPE_GRAPH, &node);
	if (result == CUDA_SUCCESS)
		result = node_appended(stream, node, node_set_child(node, graph));
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult capture_alloc(struct stream *stream, size_t bytes, CUdeviceptr *ret_address)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
					     .id = stream->context->device->ordinal } },
		.bytesize = bytes,
	};
	struct graph_node *node;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	result = node_append(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC, &node);
	if (result == CUDA_SUCCESS)
		result = node_appended(stream, node, node_set_alloc(node, stream->context, &params));
	pthread_mutex_unlock(&graph_lock);
	if (result == CUDA_SUCCESS)
		*ret_address = params.dptr;
	return result;
}

/* --- events ----------------------------------------------------------------------------------- */

/* graph_lock is held. */
static void event_leave(struct event *event)
{
	nodes_free(&event->captured);
	capture_unref(event->capture);
	event->capture = NULL;
}

void capture_forget_event(struct event *event)
{
	pthread_mutex_lock(&graph_lock);
	event_leave(event);
	pthread_mutex_unlock(&graph_lock);
}

static CUresult event_node(struct stream *stream, CUgraphNodeType type, struct event *event)
{
	struct graph_node *node;
	CUresult result = node_append(stream, type, &node);

	if (result != CUDA_SUCCESS)
		return result;
	node->event = event;
	return node_appended(stream, node, CUDA_SUCCESS);
}

CUresult capture_record(struct stream *stream, struct event *event, bool is_external)
{
	struct capture *capture;
	CUresult result;

	pthread_mutex_lock(&graph_lock);
	capture = capture_of(stream);
	result = capture_usable(capture);
	if (result == CUDA_SUCCESS && is_external) {
		result = event_node(stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event);
	} else if (result == CUDA_SUCCESS) {
		event_leave(event);
		result = nodes_set(&event->captured, stream->captured.nodes, stream->captured.n);
		event->capture = capture;
		capture->refs++;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult capture_refuse_event(struct event *event)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&graph_lock);
	if (event->capture) {
		event->capture->is_invalid = true;
		result = CUDA_ERROR_CAPTURED_EVENT;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* The stream is captured. */
static CUresult wait_captured(struct stream *stream, struct event *event, bool is_external)
{
	struct capture *capture = capture_of(stream);
	CUresult result = capture_usable(capture);
	struct op *op;

	if (result != CUDA_SUCCESS)
		return result;
	if (is_external)
		return event_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event);
	if (event->capture == capture)
		return nodes_join(&stream->captured, event->captured.nodes, event->captured.n);
	op = event_op(event);
	op_unref(op);
	if (!event->capture && !op)
		return CUDA_SUCCESS; /* never recorded: nothing to wait for */
	capture->is_invalid = true;
	if (!event->capture)
		return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	event->capture->is_invalid = true;
	return event->capture->is_over ? CUDA_ERROR_STREAM_CAPTURE_ISOLATION : CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

/* The event is captured, the stream is not: it joins. */
static CUresult wait_joining(struct stream *stream, struct event *event)
{
	struct capture *capture = event->capture;
	CUresult result;

	if (capture->is_over)
		return CUDA_ERROR_CAPTURED_EVENT;
	result = capture_usable(capture);
	if (result != CUDA_SUCCESS)
		return result;
	if (stream == stream->context->legacy) {
		capture->is_invalid = true;
		return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	result = capture_join(capture, stream);
	return result == CUDA_SUCCESS ? nodes_join(&stream->captured, event->captured.nodes, event->captured.n)
				      : result;
}

CUresult capture_wait(struct stream *stream, struct event *event, bool is_external, bool *ret_is_done)
{
	CUresult result = CUDA_SUCCESS;

	*ret_is_done = true;
	pthread_mutex_lock(&graph_lock);
	if (capture_of(stream))
		result = wait_captured(stream, event, is_external);
	else if (is_external) /* as documented: only for capturing streams */
		result = CUDA_ERROR_INVALID_VALUE;
	else if (event->capture)
		result = wait_joining(stream, event);
	else
		*ret_is_done = false;
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* --- what goes away --------------------------------------------------------------------------- */

/* A capture that loses a stream cannot be ended well; without its first one it cannot be ended at all. */
static void forget_stream(struct stream *stream)
{
	struct capture *capture = capture_of(stream);

	if (!capture)
		return;
	if (stream == capture->origin) {
		capture_discard(capture);
		return;
	}
	capture->is_invalid = true;
	for (size_t i = 0; i < capture->n_streams; i++) {
		if (capture->streams[i] == stream) {
			capture->streams[i] = capture->streams[--capture->n_streams];
			break;
		}
	}
	stream_leave(stream);
}

void capture_forget_stream(struct stream *stream)
{
	pthread_mutex_lock(&graph_lock);
	forget_stream(stream);
	pthread_mutex_unlock(&graph_lock);
}

static struct stream *stream_in(const struct context *context)
{
	for (const struct capture *capture = captures; capture; capture = capture->next) {
		for (size_t i = 0; i < capture->n_streams; i++) {
			if (capture->streams[i]->context == context)
				return capture->streams[i];
		}
	}
	return NULL;
}

void captures_drop(struct context *context)
{
	struct stream *stream;

	pthread_mutex_lock(&graph_lock);
	while ((stream = stream_in(context)))
		forget_stream(stream);
	pthread_mutex_unlock(&graph_lock);
}

/* --- the calls -------------------------------------------------------------------------------- */

/* graph_lock is held. */
static CUresult capture_begin(struct stream *stream, struct graph *graph, CUstreamCaptureMode mode,
			      struct graph_node *const *after, size_t n_after)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	CUresult result = capture ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	if (result == CUDA_SUCCESS && !graph)
		result = graph_create(true, &capture->graph);
	if (result == CUDA_SUCCESS)
		result = capture_join(capture, stream);
	if (result == CUDA_SUCCESS)
		result = nodes_set(&stream->captured, after, n_after);
	if (result != CUDA_SUCCESS) {
		if (capture && capture->n_streams)
			stream_leave(stream);
		if (capture)
			graph_destroy(capture->graph);
		free(capture ? capture->streams : NULL);
		free(capture);
		return result;
	}
	capture->refs = 1;
	capture->id = atomic_fetch_add_explicit(&driver.last_id, 1, memory_order_relaxed) + 1;
	capture->mode = mode;
	capture->thread = host_thread()->id;
	capture->is_to_graph = graph != NULL;
	if (graph)
		capture->graph = graph;
	capture->origin = stream;
	capture->next = captures;
	captures = capture;
	atomic_fetch_add_explicit(&n_captures, 1, memory_order_release);
	return CUDA_SUCCESS;
}

static CUresult begin_on(CUstream handle, CUgraph graph, const CUgraphNode *after, size_t n_after,
			 CUstreamCaptureMode mode)
{
	struct stream *stream;
	CUresult result = stream_resolve(handle, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (stream == stream->context->legacy)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	pthread_mutex_lock(&graph_lock);
	for (size_t i = 0; i < n_after && result == CUDA_SUCCESS; i++) {
		if (!handle_is(HANDLE_GRAPH_NODE, after[i]) ||
		    ((struct graph_node *)after[i])->graph != (struct graph *)graph)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result == CUDA_SUCCESS && capture_of(stream))
		result = CUDA_ERROR_ILLEGAL_STATE;
	if (result == CUDA_SUCCESS)
		result = capture_begin(stream, (struct graph *)graph, mode, (struct graph_node *const *)after, n_after);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
{
	return begin_on(hStream, NULL, NULL, 0, mode);
}

CUresult impl_cuStreamBeginCapture(CUstream hStream)
{
	return impl_cuStreamBeginCapture_v2(hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult impl_cuStreamBeginCaptureToGraph(CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies,
					  const CUgraphEdgeData *dependencyData, size_t numDependencies,
					  CUstreamCaptureMode mode)
{
	if (!handle_is(HANDLE_GRAPH, hGraph) || (numDependencies && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	return begin_on(hStream, hGraph, dependencies, numDependencies, mode);
}

/* Has everything on the other streams been waited for by the first one? */
static bool is_joined(const struct capture *capture)
{
	for (size_t i = 0; i < capture->n_streams; i++) {
		const struct stream *stream = capture->streams[i];

		for (size_t k = 0; stream != capture->origin && k < stream->captured.n; k++) {
			bool is_followed = false;

			for (size_t j = 0; j < capture->origin->captured.n && !is_followed; j++)
				is_followed =
					node_follows(capture->origin->captured.nodes[j], stream->captured.nodes[k]);
			if (!is_followed)
				return false;
		}
	}
	return true;
}

CUresult impl_cuStreamEndCapture(CUstream hStream, CUgraph *phGraph)
{
	struct capture *capture;
	struct stream *stream;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!phGraph)
		return CUDA_ERROR_INVALID_VALUE;
	*phGraph = NULL;
	pthread_mutex_lock(&graph_lock);
	capture = capture_of(stream);
	if (!capture) {
		result = CUDA_ERROR_ILLEGAL_STATE;
	} else if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture->thread != host_thread()->id) {
		result = CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	} else if (stream != capture->origin) {
		capture->is_invalid = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	} else if (capture->is_invalid) {
		capture_discard(capture);
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else if (!is_joined(capture)) {
		capture_discard(capture);
		result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	} else {
		*phGraph = (CUgraph)capture->graph;
		capture_end(capture);
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

/* The legacy stream cannot be captured, and cannot be asked while it depends on one that is; this question does no
 * harm. */
static CUresult legacy_answer(struct stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	for (const struct capture *capture = captures; capture; capture = capture->next) {
		if (stream == stream->context->legacy && touches_context(capture, stream->context, true))
			result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	}
	return result;
}

static CUstreamCaptureStatus status_of(struct stream *stream)
{
	const struct capture *capture = capture_of(stream);

	if (!capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

/* As documented, nothing but the status is written for a stream that does not capture. */
CUresult impl_cuStreamGetCaptureInfo_v3(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
					CUgraph *graph_out, const CUgraphNode **dependencies_out,
					const CUgraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	struct stream *stream;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!captureStatus_out)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	result = legacy_answer(stream);
	if (result == CUDA_SUCCESS)
		*captureStatus_out = status_of(stream);
	if (result == CUDA_SUCCESS && *captureStatus_out == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		const struct capture *capture = capture_of(stream);

		if (id_out)
			*id_out = capture->id;
		if (graph_out)
			*graph_out = (CUgraph)capture->graph;
		if (dependencies_out)
			*dependencies_out = (const CUgraphNode *)stream->captured.nodes;
		if (edgeData_out) /* all plain: what NULL stands for */
			*edgeData_out = NULL;
		if (numDependencies_out)
			*numDependencies_out = stream->captured.n;
	}
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuStreamGetCaptureInfo_v2(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out,
					CUgraph *graph_out, const CUgraphNode **dependencies_out,
					size_t *numDependencies_out)
{
	return impl_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, graph_out, dependencies_out, NULL,
					      numDependencies_out);
}

CUresult impl_cuStreamGetCaptureInfo(CUstream hStream, CUstreamCaptureStatus *captureStatus_out, cuuint64_t *id_out)
{
	return impl_cuStreamGetCaptureInfo_v3(hStream, captureStatus_out, id_out, NULL, NULL, NULL, NULL);
}

CUresult impl_cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus *captureStatus)
{
	return impl_cuStreamGetCaptureInfo_v3(hStream, captureStatus, NULL, NULL, NULL, NULL, NULL);
}

CUresult impl_cuStreamUpdateCaptureDependencies_v2(CUstream hStream, CUgraphNode *dependencies,
						   const CUgraphEdgeData *dependencyData, size_t numDependencies,
						   unsigned int flags)
{
	struct capture *capture;
	struct stream *stream;
	CUresult result = stream_resolve(hStream, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if ((numDependencies && !dependencies) ||
	    (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES && flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES))
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&graph_lock);
	capture = capture_of(stream);
	result = capture ? capture_usable(capture) : CUDA_ERROR_ILLEGAL_STATE;
	for (size_t i = 0; i < numDependencies && result == CUDA_SUCCESS; i++) {
		if (!handle_is(HANDLE_GRAPH_NODE, dependencies[i]) ||
		    ((struct graph_node *)dependencies[i])->graph != capture->graph)
			result = CUDA_ERROR_INVALID_VALUE;
	}
	if (result == CUDA_SUCCESS)
		result = (flags == CU_STREAM_ADD_CAPTURE_DEPENDENCIES ? nodes_join : nodes_set)(
			&stream->captured, (struct graph_node *const *)dependencies, numDependencies);
	pthread_mutex_unlock(&graph_lock);
	return result;
}

CUresult impl_cuStreamUpdateCaptureDependencies(CUstream hStream, CUgraphNode *dependencies, size_t numDependencies,
						unsigned int flags)
{
	return impl_cuStreamUpdateCaptureDependencies_v2(hStream, dependencies, NULL, numDependencies, flags);
}

CUresult impl_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	struct host_thread *thread = host_thread();
	CUstreamCaptureMode before = thread->capture_mode;

	if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	thread->capture_mode = *mode;
	*mode = before;
	return CUDA_SUCCESS;
}

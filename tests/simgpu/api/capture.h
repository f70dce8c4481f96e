/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.h - work on streams that becomes nodes of a graph.
 */
#ifndef SIMGPU_CAPTURE_H
#define SIMGPU_CAPTURE_H

#include "driver.h"

/* Callable from any thread, without a lock held. */

bool stream_is_captured(struct stream *stream);
/* A call that waits for the stream or asks about it: fails while it is captured, and when it is the legacy stream,
 * while a blocking stream of its context is. The captures concerned are invalidated. */
CUresult capture_refuse(struct stream *stream);
/* The same for a call about everything in the context. */
CUresult capture_refuse_context(struct context *context);
/* A call that might touch what is captured, by the modes of captures and of the calling thread. */
CUresult capture_refuse_unsafe(void);

/* Makes a node of the operation and takes it over, also on failure. */
CUresult capture_op(struct stream *stream, struct op *op);
CUresult capture_launch(struct stream *stream, struct op *op, CUfunction handle, const struct launch_request *request);
CUresult capture_graph(struct stream *stream, CUgraphExec exec);
CUresult capture_alloc(struct stream *stream, size_t bytes, CUdeviceptr *ret_address);

/* The event stands for what the stream has captured so far; EXTERNAL makes a node that records it. */
CUresult capture_record(struct stream *stream, struct event *event, bool is_external);
/* Is the event part of a capture, running or over? */
bool event_is_captured(struct event *event);
/* Waiting for or asking about such an event. */
CUresult capture_refuse_event(struct event *event);
/* One or both are captured. *ret_is_done tells that there is nothing to enqueue. */
CUresult capture_wait(struct stream *stream, struct event *event, bool is_external, bool *ret_is_done);
/* The event is recorded anew or destroyed. */
void capture_forget_event(struct event *event);

/* The stream, every stream of the context, goes away. */
void capture_forget_stream(struct stream *stream);
void captures_drop(struct context *context);

#endif

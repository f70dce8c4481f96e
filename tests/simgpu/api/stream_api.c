/* SPDX-License-Identifier: Apache-2.0
 *
 * stream_api.c - the driver's stream and event calls on top of stream.c.
 *
 * An event refers to the operation that recorded it last. Callable from any thread.
 */
#include "capture.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* --- streams ---------------------------------------------------------------------------------- */

static CUresult stream_find(CUstream handle, struct stream **ret_stream)
{
	return stream_resolve(handle, context_gated(), ret_stream);
}

/* For what may not be asked of a stream that takes part in a capture. */
static CUresult stream_find_uncaptured(CUstream handle, struct stream **ret_stream)
{
	CUresult result = stream_find(handle, ret_stream);

	return result == CUDA_SUCCESS ? capture_refuse(*ret_stream) : result;
}

CUresult impl_cuStreamCreateWithPriority(CUstream *phStream, unsigned int flags, int priority)
{
	struct stream *stream;
	CUresult result;

	if (!phStream || flags & ~(unsigned int)CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_create(context_gated(), flags, MAX(MIN(priority, 0), -5), 0, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	result = handle_add(HANDLE_STREAM, stream);
	if (result != CUDA_SUCCESS) {
		stream_retire(stream);
		return result;
	}
	*phStream = (CUstream)stream;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamCreate(CUstream *phStream, unsigned int Flags)
{
	return impl_cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult impl_cuStreamDestroy_v2(CUstream hStream)
{
	if (!handle_is(HANDLE_STREAM, hStream))
		return CUDA_ERROR_INVALID_HANDLE;
	capture_forget_stream((struct stream *)hStream);
	stream_retire((struct stream *)hStream);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetPriority(CUstream hStream, int *priority)
{
	ANSWER(struct stream, stream_find, hStream, priority, subject->priority);
}

CUresult impl_cuStreamGetFlags(CUstream hStream, unsigned int *flags)
{
	ANSWER(struct stream, stream_find, hStream, flags, subject->flags);
}

CUresult impl_cuStreamGetId(CUstream hStream, unsigned long long *streamId)
{
	ANSWER(struct stream, stream_find_uncaptured, hStream, streamId, subject->id);
}

CUresult impl_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
	ANSWER(struct stream, stream_find_uncaptured, hStream, pctx, (CUcontext)subject->context);
}

CUresult impl_cuStreamGetCtx_v2(CUstream hStream, CUcontext *pCtx, CUgreenCtx *pGreenCtx)
{
	CUresult result = impl_cuStreamGetCtx(hStream, pCtx);

	if (result == CUDA_SUCCESS && pGreenCtx)
		*pGreenCtx = NULL;
	return result;
}

CUresult impl_cuStreamGetDevice(CUstream hStream, CUdevice *device)
{
	ANSWER(struct stream, stream_find_uncaptured, hStream, device, subject->context->device->ordinal);
}

CUresult impl_cuStreamQuery(CUstream hStream)
{
	struct stream *stream;
	CUresult result = stream_find_uncaptured(hStream, &stream);

	return result == CUDA_SUCCESS ? stream_query(stream) : result;
}

CUresult impl_cuStreamSynchronize(CUstream hStream)
{
	struct stream *stream;
	CUresult result = stream_find_uncaptured(hStream, &stream);

	return result == CUDA_SUCCESS ? stream_wait(stream) : result;
}

/* --- attributes: kept and given back ---------------------------------------------------------- */

static bool is_stream_attribute(CUstreamAttrID attr)
{
	return attr == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW || attr == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
	       attr == CU_LAUNCH_ATTRIBUTE_PRIORITY || attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP ||
	       attr == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
}

CUresult impl_cuStreamSetAttribute(CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue *param)
{
	struct stream *stream;
	CUresult result = stream_find(hStream, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!param || !is_stream_attribute(attr))
		return CUDA_ERROR_INVALID_VALUE;
	stream->attributes[attr] = *param;
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		stream->priority = MAX(MIN(param->priority, 0), -5);
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamGetAttribute(CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	struct stream *stream;
	CUresult result = stream_find(hStream, &stream);

	if (result != CUDA_SUCCESS)
		return result;
	if (!value || !is_stream_attribute(attr))
		return CUDA_ERROR_INVALID_VALUE;
	*value = stream->attributes[attr];
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = stream->priority;
	return CUDA_SUCCESS;
}

CUresult impl_cuStreamCopyAttributes(CUstream dstStream, CUstream srcStream)
{
	struct stream *to, *from;
	CUresult result = stream_resolve(dstStream, context_gated(), &to);

	if (result == CUDA_SUCCESS)
		result = stream_resolve(srcStream, context_gated(), &from);
	if (result != CUDA_SUCCESS)
		return result;
	memmove(to->attributes, from->attributes, sizeof(to->attributes));
	to->priority = from->priority;
	return CUDA_SUCCESS;
}

/* --- host functions --------------------------------------------------------------------------- */

static CUresult callback_enqueue(CUstream handle, CUhostFn function, CUstreamCallback with_status, void *argument)
{
	struct stream *stream;
	struct op *op;
	CUresult result;

	if (!function && !with_status)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_resolve(handle, context_gated(), &stream);
	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(WORK_CALLBACK);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	op->work.callback.function = function;
	op->work.callback.with_status = with_status;
	op->work.callback.argument = argument;
	return op_enqueue(stream, op, COST_SMALL_NS, NULL, NULL);
}

CUresult impl_cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void *userData)
{
	return callback_enqueue(hStream, fn, NULL, userData);
}

CUresult impl_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void *userData, unsigned int flags)
{
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return callback_enqueue(hStream, NULL, callback, userData);
}

/* --- events ----------------------------------------------------------------------------------- */

static CUresult event_check(CUevent handle, struct event **ret_event)
{
	if (!handle_is(HANDLE_EVENT, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_event = (struct event *)handle;
	return CUDA_SUCCESS;
}

struct op *event_op(struct event *event)
{
	struct op *op;

	pthread_mutex_lock(&event->lock);
	op = event->op ? op_ref(event->op) : NULL;
	pthread_mutex_unlock(&event->lock);
	return op;
}

void event_set_op(struct event *event, struct op *op)
{
	struct op *before;

	pthread_mutex_lock(&event->lock);
	before = event->op;
	event->op = op;
	pthread_mutex_unlock(&event->lock);
	op_unref(before);
}

CUresult impl_cuEventCreate(CUevent *phEvent, unsigned int Flags)
{
	struct event *event;
	CUresult result;

	if (!phEvent || Flags & ~(unsigned int)(CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING))
		return CUDA_ERROR_INVALID_VALUE;
	event = calloc(1, sizeof(*event));
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	event->flags = Flags;
	pthread_mutex_init(&event->lock, NULL);
	result = handle_add(HANDLE_EVENT, event);
	if (result != CUDA_SUCCESS) {
		free(event);
		return result;
	}
	*phEvent = (CUevent)event;
	return CUDA_SUCCESS;
}

CUresult impl_cuEventDestroy_v2(CUevent hEvent)
{
	struct event *event;
	CUresult result = event_check(hEvent, &event);

	if (result != CUDA_SUCCESS)
		return result;
	handle_remove(event);
	capture_forget_event(event);
	op_unref(event->op);
	pthread_mutex_destroy(&event->lock);
	free(event);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventDestroy(CUevent hEvent)
{
	return impl_cuEventDestroy_v2(hEvent);
}

CUresult impl_cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
{
	struct event *event;
	struct stream *stream;
	struct op *op, *recorded;
	CUresult result = event_check(hEvent, &event);

	if (result != CUDA_SUCCESS)
		return result;
	if (flags & ~(unsigned int)CU_EVENT_RECORD_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_resolve(hStream, context_gated(), &stream);
	if (result != CUDA_SUCCESS)
		return result;
	if (stream_is_captured(stream))
		return capture_record(stream, event, flags & CU_EVENT_RECORD_EXTERNAL);
	if (flags & CU_EVENT_RECORD_EXTERNAL) /* as documented: only for capturing streams */
		return CUDA_ERROR_INVALID_VALUE;
	op = op_new(WORK_NOTHING);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = op_enqueue(stream, op, COST_SMALL_NS, NULL, &recorded);
	if (result != CUDA_SUCCESS)
		return result;
	capture_forget_event(event);
	event_set_op(event, recorded);
	return CUDA_SUCCESS;
}

CUresult impl_cuEventRecord(CUevent hEvent, CUstream hStream)
{
	return impl_cuEventRecordWithFlags(hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult impl_cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
{
	struct event *event;
	struct stream *stream;
	struct op *op, *before;
	bool is_done;
	CUresult result = event_check(hEvent, &event);

	if (result != CUDA_SUCCESS)
		return result;
	if (Flags & ~(unsigned int)CU_EVENT_WAIT_EXTERNAL)
		return CUDA_ERROR_INVALID_VALUE;
	result = stream_resolve(hStream, context_gated(), &stream);
	if (result == CUDA_SUCCESS)
		result = capture_wait(stream, event, Flags & CU_EVENT_WAIT_EXTERNAL, &is_done);
	if (result != CUDA_SUCCESS || is_done)
		return result;
	before = event_op(event);
	if (!before)
		return CUDA_SUCCESS;
	op = op_new(WORK_NOTHING);
	result = op ? op_enqueue(stream, op, COST_SMALL_NS, before, NULL) : CUDA_ERROR_OUT_OF_MEMORY;
	op_unref(before);
	return result;
}

/* An event that was never recorded is over. */
static CUresult event_ask(CUevent handle, CUresult (*ask)(struct op *op))
{
	struct event *event;
	struct op *op;
	CUresult result = event_check(handle, &event);

	if (result == CUDA_SUCCESS)
		result = capture_refuse_event(event);
	if (result != CUDA_SUCCESS)
		return result;
	op = event_op(event);
	if (!op)
		return CUDA_SUCCESS;
	result = ask(op);
	op_unref(op);
	return result;
}

CUresult impl_cuEventQuery(CUevent hEvent)
{
	return event_ask(hEvent, op_query);
}

CUresult impl_cuEventSynchronize(CUevent hEvent)
{
	return event_ask(hEvent, op_wait);
}

/* Simulated time. The calling thread's virtual time does not move: it only asks. */
CUresult impl_cuEventElapsedTime_v2(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	struct event *start, *end;
	struct op *first = NULL, *last = NULL;
	CUresult result = event_check(hStart, &start);

	if (result == CUDA_SUCCESS)
		result = event_check(hEnd, &end);
	if (result != CUDA_SUCCESS)
		return result;
	if (!pMilliseconds)
		return CUDA_ERROR_INVALID_VALUE;
	if ((start->flags | end->flags) & CU_EVENT_DISABLE_TIMING)
		return CUDA_ERROR_INVALID_HANDLE;
	result = capture_refuse_event(start);
	if (result == CUDA_SUCCESS)
		result = capture_refuse_event(end);
	if (result != CUDA_SUCCESS)
		return result;
	first = event_op(start);
	last = event_op(end);
	result = first && last ? ops_between(first, last, pMilliseconds) : CUDA_ERROR_INVALID_HANDLE;
	op_unref(first);
	op_unref(last);
	return result;
}

CUresult impl_cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd)
{
	return impl_cuEventElapsedTime_v2(pMilliseconds, hStart, hEnd);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_stream.c - the runtime's streams, events and profiling range: the driver's, under other names.
 */
#include "rt.h"

/* --- streams ---------------------------------------------------------------------------------- */

cudaError_t impl_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags, int priority)
{
	return rt_error(DRIVER(cuStreamCreateWithPriority)(pStream, flags, priority));
}

cudaError_t impl_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	return impl_cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t impl_cudaStreamCreate(cudaStream_t *pStream)
{
	return impl_cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

cudaError_t impl_cudaStreamDestroy(cudaStream_t stream)
{
	return rt_error(DRIVER(cuStreamDestroy)(stream));
}

cudaError_t impl_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
	return rt_error(DRIVER_STREAM(cuStreamGetPriority)(hStream, priority));
}

cudaError_t impl_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
	return rt_error(DRIVER_STREAM(cuStreamGetFlags)(hStream, flags));
}

cudaError_t impl_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
	return rt_error(DRIVER_STREAM(cuStreamGetId)(hStream, streamId));
}

cudaError_t impl_cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
	return rt_error(DRIVER_STREAM(cuStreamGetDevice)(hStream, device));
}

cudaError_t impl_cudaStreamQuery(cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuStreamQuery)(stream));
}

cudaError_t impl_cudaStreamSynchronize(cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuStreamSynchronize)(stream));
}

cudaError_t impl_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	return rt_error(DRIVER_STREAM(cuStreamWaitEvent)(stream, event, flags));
}

/* The codes agree, so the program's function can be called by the driver as it is. */
cudaError_t impl_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *userData,
				       unsigned int flags)
{
	return rt_error(
		DRIVER_STREAM(cuStreamAddCallback)(stream, (CUstreamCallback)(void *)callback, userData, flags));
}

cudaError_t impl_cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *pCaptureStatus)
{
	return rt_error(DRIVER_STREAM(cuStreamIsCapturing)(stream, (CUstreamCaptureStatus *)pCaptureStatus));
}

cudaError_t impl_cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
					  unsigned long long *id_out, cudaGraph_t *graph_out,
					  const cudaGraphNode_t **dependencies_out,
					  const cudaGraphEdgeData **edgeData_out, size_t *numDependencies_out)
{
	return rt_error(DRIVER_STREAM(cuStreamGetCaptureInfo)(
		stream, (CUstreamCaptureStatus *)captureStatus_out, (cuuint64_t *)id_out, graph_out, dependencies_out,
		(const CUgraphEdgeData **)edgeData_out, numDependencies_out));
}

cudaError_t impl_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
	return rt_error(DRIVER(cuThreadExchangeStreamCaptureMode)((CUstreamCaptureMode *)mode));
}

/* --- events ----------------------------------------------------------------------------------- */

cudaError_t impl_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	return rt_error(DRIVER(cuEventCreate)(event, flags));
}

cudaError_t impl_cudaEventCreate(cudaEvent_t *event)
{
	return impl_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t impl_cudaEventDestroy(cudaEvent_t event)
{
	return rt_error(DRIVER(cuEventDestroy)(event));
}

cudaError_t impl_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	return rt_error(DRIVER_STREAM(cuEventRecord)(event, stream));
}

cudaError_t impl_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags)
{
	return rt_error(DRIVER_STREAM(cuEventRecordWithFlags)(event, stream, flags));
}

cudaError_t impl_cudaEventQuery(cudaEvent_t event)
{
	return rt_error(DRIVER(cuEventQuery)(event));
}

cudaError_t impl_cudaEventSynchronize(cudaEvent_t event)
{
	return rt_error(DRIVER(cuEventSynchronize)(event));
}

cudaError_t impl_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
	return rt_error(DRIVER(cuEventElapsedTime)(ms, start, end));
}

/* --- profiling range -------------------------------------------------------------------------- */

cudaError_t impl_cudaProfilerStart(void)
{
	return rt_error(DRIVER(cuProfilerStart)());
}

cudaError_t impl_cudaProfilerStop(void)
{
	return rt_error(DRIVER(cuProfilerStop)());
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_stream.c - what the runtime's streams and events have beyond the driver's (rt_forward.c).
 */
#include "rt.h"

/* --- streams ---------------------------------------------------------------------------------- */

cudaError_t impl_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
	return impl_cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t impl_cudaStreamCreate(cudaStream_t *pStream)
{
	return impl_cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
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

cudaError_t impl_cudaEventCreate(cudaEvent_t *event)
{
	return impl_cudaEventCreateWithFlags(event, cudaEventDefault);
}

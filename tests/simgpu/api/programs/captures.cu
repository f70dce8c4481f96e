// SPDX-License-Identifier: Apache-2.0
// What stream capture forbids: each rule, its error, and that the capture is invalid afterwards, or not.
#include "check.h"

#include <thread>

__global__ void nothing()
{
}

static cudaStream_t stream, blocking;
static cudaEvent_t event;
static void *device;

static cudaStreamCaptureStatus status_of(cudaStream_t asked)
{
	cudaStreamCaptureStatus status;

	OK(cudaStreamIsCapturing(asked, &status));
	return status;
}

static void begin(cudaStream_t on, cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal)
{
	OK(cudaStreamBeginCapture(on, mode));
	CHECK_EQUAL(status_of(on), cudaStreamCaptureStatusActive);
}

/* The capture goes on and ends well. */
static void ends_well(cudaStream_t on)
{
	cudaGraph_t graph;

	CHECK_EQUAL(status_of(on), cudaStreamCaptureStatusActive);
	OK(cudaStreamEndCapture(on, &graph));
	OK(cudaGraphDestroy(graph));
	cudaGetLastError();
}

static void ends_with(cudaStream_t on, cudaError_t error)
{
	cudaGraph_t graph = (cudaGraph_t)&graph;

	CHECK_EQUAL(cudaStreamEndCapture(on, &graph), error);
	CHECK(graph == NULL);
	CHECK_EQUAL(status_of(on), cudaStreamCaptureStatusNone);
	cudaGetLastError();
}

/* The capture is lost: nothing more is captured, and its end says so. */
static void is_lost(cudaStream_t on)
{
	CHECK_EQUAL(status_of(on), cudaStreamCaptureStatusInvalidated);
	nothing<<<1, 1, 0, on>>>();
	CHECK_EQUAL(cudaGetLastError(), cudaErrorStreamCaptureInvalidated);
	ends_with(on, cudaErrorStreamCaptureInvalidated);
	nothing<<<1, 1, 0, on>>>();
	OK(cudaStreamSynchronize(on));
}

#define LOSES(call, error)                              \
	do {                                            \
		begin(stream);                          \
		CHECK_EQUAL(call, error);               \
		CHECK_EQUAL(cudaGetLastError(), error); \
		is_lost(stream);                        \
	} while (0)

static void waiting_and_asking_lose_the_capture()
{
	unsigned long long id;
	char host[16];

	LOSES(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaStreamQuery(stream), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaStreamGetId(stream, &id), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaMemcpy(host, device, 16, cudaMemcpyDeviceToHost), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaMalloc(&device, 16), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaEventQuery(event), cudaErrorStreamCaptureUnsupported);
	LOSES(cudaStreamAddCallback(
		      stream, [](cudaStream_t, cudaError_t, void *) {}, NULL, 0),
	      cudaErrorStreamCaptureUnsupported);
}

static void the_legacy_stream_is_out_of_bounds()
{
	cudaStreamCaptureStatus status;

	CHECK_EQUAL(cudaStreamBeginCapture(0, cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
	cudaGetLastError();
	begin(blocking, cudaStreamCaptureModeRelaxed);
	CHECK_EQUAL(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
	ends_well(blocking);
	begin(blocking, cudaStreamCaptureModeRelaxed);
	nothing<<<1, 1>>>();
	CHECK_EQUAL(cudaGetLastError(), cudaErrorStreamCaptureImplicit);
	is_lost(blocking);
	begin(blocking, cudaStreamCaptureModeRelaxed);
	CHECK_EQUAL(cudaStreamSynchronize(0), cudaErrorStreamCaptureImplicit);
	is_lost(blocking);
	/* A non-blocking stream has nothing to do with it. */
	begin(stream, cudaStreamCaptureModeRelaxed);
	nothing<<<1, 1>>>();
	OK(cudaStreamSynchronize(0));
	OK(cudaStreamIsCapturing(0, &status));
	ends_well(stream);
}

static void captured_events_are_not_real_ones()
{
	cudaEvent_t captured;

	OK(cudaEventCreate(&captured));
	begin(stream, cudaStreamCaptureModeRelaxed);
	OK(cudaEventRecord(captured, stream));
	CHECK_EQUAL(cudaEventSynchronize(captured), cudaErrorCapturedEvent);
	is_lost(stream);
	CHECK_EQUAL(cudaEventQuery(captured), cudaErrorCapturedEvent);
	/* Recorded anew, it is one again. */
	OK(cudaEventRecord(captured, stream));
	OK(cudaEventSynchronize(captured));
	/* Work from outside cannot be waited for... */
	begin(stream);
	CHECK_EQUAL(cudaStreamWaitEvent(stream, captured, 0), cudaErrorStreamCaptureIsolation);
	is_lost(stream);
	/* ...unless it is meant so. */
	begin(stream);
	OK(cudaStreamWaitEvent(stream, captured, cudaEventWaitExternal));
	OK(cudaEventRecordWithFlags(captured, stream, cudaEventRecordExternal));
	ends_well(stream);
	CHECK_EQUAL(cudaEventRecordWithFlags(captured, stream, cudaEventRecordExternal), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaEventDestroy(captured));
}

static void captures_do_not_mix()
{
	cudaEvent_t other;

	OK(cudaEventCreate(&other));
	begin(stream);
	begin(blocking);
	OK(cudaEventRecord(other, blocking));
	CHECK_EQUAL(cudaStreamWaitEvent(stream, other, 0), cudaErrorStreamCaptureMerge);
	is_lost(blocking);
	is_lost(stream);
	OK(cudaEventDestroy(other));
}

static void forks_have_to_be_joined()
{
	cudaEvent_t fork;

	OK(cudaEventCreate(&fork));
	begin(stream);
	OK(cudaEventRecord(fork, stream));
	OK(cudaStreamWaitEvent(blocking, fork, 0));
	CHECK_EQUAL(status_of(blocking), cudaStreamCaptureStatusActive);
	nothing<<<1, 1, 0, blocking>>>();
	OK(cudaGetLastError());
	ends_with(stream, cudaErrorStreamCaptureUnjoined);
	CHECK_EQUAL(status_of(blocking), cudaStreamCaptureStatusNone);
	/* A fork that did nothing needs no join. */
	begin(stream);
	OK(cudaEventRecord(fork, stream));
	OK(cudaStreamWaitEvent(blocking, fork, 0));
	ends_well(stream);
	/* It ends where it began. */
	cudaGraph_t graph;
	begin(stream);
	OK(cudaEventRecord(fork, stream));
	OK(cudaStreamWaitEvent(blocking, fork, 0));
	CHECK_EQUAL(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureUnmatched);
	is_lost(stream);
	CHECK_EQUAL(cudaStreamEndCapture(stream, &graph), cudaErrorIllegalState);
	begin(stream);
	CHECK_EQUAL(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
	ends_well(stream);
	OK(cudaEventDestroy(fork));
}

static cudaError_t allocate()
{
	void *p = NULL;
	cudaError_t error = cudaMalloc(&p, 16);

	if (error == cudaSuccess)
		cudaFree(p);
	cudaGetLastError();
	return error;
}

static cudaError_t elsewhere(cudaStreamCaptureMode mode)
{
	cudaError_t error;
	std::thread thread([&] {
		OK(cudaThreadExchangeStreamCaptureMode(&mode));
		error = allocate();
	});

	thread.join();
	return error;
}

static void modes_say_who_may_do_what()
{
	cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
	cudaGraph_t graph;

	/* Whoever is relaxed may. */
	begin(stream);
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	CHECK_EQUAL(mode, cudaStreamCaptureModeGlobal);
	OK(allocate());
	OK(cudaThreadExchangeStreamCaptureMode(&mode));
	OK(elsewhere(cudaStreamCaptureModeRelaxed));
	OK(elsewhere(cudaStreamCaptureModeThreadLocal));
	ends_well(stream);
	begin(stream);
	CHECK_EQUAL(elsewhere(cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
	is_lost(stream);
	/* A thread-local capture is its own thread's affair. */
	begin(stream, cudaStreamCaptureModeThreadLocal);
	OK(elsewhere(cudaStreamCaptureModeGlobal));
	CHECK_EQUAL(allocate(), cudaErrorStreamCaptureUnsupported);
	is_lost(stream);
	begin(stream, cudaStreamCaptureModeRelaxed);
	OK(allocate());
	OK(elsewhere(cudaStreamCaptureModeGlobal));
	/* Only a relaxed capture may be ended by another thread. */
	std::thread([&] { OK(cudaStreamEndCapture(stream, &graph)); }).join();
	OK(cudaGraphDestroy(graph));
	begin(stream);
	std::thread([&] {
		CHECK_EQUAL(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureWrongThread);
	}).join();
	ends_well(stream);
}

static void a_capture_tells_about_itself()
{
	cudaStreamCaptureStatus status;
	unsigned long long id = 0, other = 0;
	cudaGraph_t graph, ended;
	const cudaGraphNode_t *nodes;
	cudaGraphNode_t mine;
	size_t n = 0, n_all = 0;

	begin(stream);
	OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, NULL, &n));
	CHECK(id != 0 && graph != NULL);
	CHECK_EQUAL(n, 0);
	nothing<<<1, 1, 0, stream>>>();
	OK(cudaStreamGetCaptureInfo(stream, &status, &other, &graph, &nodes, NULL, &n));
	CHECK_EQUAL(other, id);
	CHECK_EQUAL(n, 1);
	/* A node of one's own in the middle of it. */
	OK(cudaGraphAddEmptyNode(&mine, graph, nodes, n));
	OK(cudaStreamUpdateCaptureDependencies(stream, &mine, NULL, 1, cudaStreamSetCaptureDependencies));
	nothing<<<1, 1, 0, stream>>>();
	OK(cudaStreamEndCapture(stream, &ended));
	CHECK(ended == graph);
	OK(cudaGraphGetEdges(graph, NULL, NULL, NULL, &n_all));
	CHECK_EQUAL(n_all, 2);
	OK(cudaGraphDestroy(graph));

	/* Into a graph that exists. */
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddEmptyNode(&mine, graph, NULL, 0));
	OK(cudaStreamBeginCaptureToGraph(stream, graph, &mine, NULL, 1, cudaStreamCaptureModeGlobal));
	nothing<<<1, 1, 0, stream>>>();
	OK(cudaStreamEndCapture(stream, &ended));
	CHECK(ended == graph);
	OK(cudaGraphGetNodes(graph, NULL, &n_all));
	CHECK_EQUAL(n_all, 2);
	OK(cudaGraphDestroy(graph));
}

int main()
{
	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaStreamCreate(&blocking));
	OK(cudaEventCreate(&event));
	OK(cudaMalloc(&device, 16));
	nothing<<<1, 1>>>();
	OK(cudaDeviceSynchronize());
	waiting_and_asking_lose_the_capture();
	the_legacy_stream_is_out_of_bounds();
	captured_events_are_not_real_ones();
	captures_do_not_mix();
	forks_have_to_be_joined();
	modes_say_who_may_do_what();
	a_capture_tells_about_itself();
	/* Left open: the process ends all the same. */
	begin(stream);
	puts("captures ok");
	return 0;
}

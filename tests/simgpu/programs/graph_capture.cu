// SPDX-License-Identifier: Apache-2.0
//
// Work recorded from streams into a graph and replayed: a fork into two streams and a join by events, copies, fills and
// a host function in it, replays with new input, an update in place with other arguments, a clone, the capture's states
// and what it forbids.
// Exercises: cudaStreamBeginCapture/EndCapture, cudaStreamIsCapturing, instantiate, launch, cudaGraphExecUpdate, clone,
// node enumeration, error codes of calls a capture does not allow.
#include "sample.h"

static constexpr int n = 4096, block_size = 256, n_blocks = n / block_size;

__global__ void scale(const float *in, float *out, float factor)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = in[i] * factor;
}

__global__ void add(const float *a, const float *b, float *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = a[i] + b[i];
}

__global__ void count(int *counter)
{
	atomicAdd(counter, 1);
}

static void CUDART_CB called(void *n_calls)
{
	++*static_cast<int *>(n_calls);
}

struct Buffers {
	float *host_in, *host_out; // page-locked
	float *in, *left, *right, *out;
	int *counter;
	int n_calls;
};

// in * factor + in * 3, by two streams.
static cudaGraph_t record(cudaStream_t first, cudaStream_t second, Buffers &buffers, float factor)
{
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaStreamCaptureStatus status;
	TRY(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
	TRY(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
	TRY(cudaStreamBeginCapture(first, cudaStreamCaptureModeGlobal));
	TRY(cudaMemcpyAsync(buffers.in, buffers.host_in, n * sizeof(float), cudaMemcpyHostToDevice, first));
	TRY(cudaEventRecord(fork, first));
	TRY(cudaStreamWaitEvent(second, fork, 0));
	TRY(cudaStreamIsCapturing(second, &status));
	sample::expect(status == cudaStreamCaptureStatusActive, "the second stream is not captured");
	scale<<<n_blocks, block_size, 0, first>>>(buffers.in, buffers.left, factor);
	scale<<<n_blocks, block_size, 0, second>>>(buffers.in, buffers.right, 3.0f);
	count<<<1, 64, 0, second>>>(buffers.counter);
	LAUNCHED();
	TRY(cudaEventRecord(join, second));
	TRY(cudaStreamWaitEvent(first, join, 0));
	add<<<n_blocks, block_size, 0, first>>>(buffers.left, buffers.right, buffers.out);
	LAUNCHED();
	TRY(cudaMemcpyAsync(buffers.host_out, buffers.out, n * sizeof(float), cudaMemcpyDeviceToHost, first));
	TRY(cudaLaunchHostFunc(first, called, &buffers.n_calls));
	TRY(cudaStreamEndCapture(first, &graph));
	TRY(cudaEventDestroy(fork));
	TRY(cudaEventDestroy(join));
	return graph;
}

static void replay(cudaGraphExec_t executable, cudaStream_t stream, Buffers &buffers, float factor, const char *what)
{
	sample::Random random((uint64_t)(factor * 100));
	std::vector<float> should(n);
	for (int i = 0; i < n; i++) {
		const float value = buffers.host_in[i] = (float)random.below(1000);
		should[i] = value * factor + value * 3.0f; // small integers and halves: exact
		buffers.host_out[i] = -1;
	}
	TRY(cudaGraphLaunch(executable, stream));
	TRY(cudaStreamSynchronize(stream));
	sample::expect_equal(what, std::vector<float>(buffers.host_out, buffers.host_out + n), should);
}

static size_t count_nodes(cudaGraph_t graph, cudaGraphNodeType type)
{
	size_t n_nodes = 0, n_of_type = 0;
	TRY(cudaGraphGetNodes(graph, nullptr, &n_nodes));
	std::vector<cudaGraphNode_t> nodes(n_nodes);
	TRY(cudaGraphGetNodes(graph, nodes.data(), &n_nodes));
	for (cudaGraphNode_t node : nodes) {
		cudaGraphNodeType is;
		TRY(cudaGraphNodeGetType(node, &is));
		n_of_type += is == type;
	}
	return n_of_type;
}

// A forbidden call breaks the capture; ending it says so, and the stream works again.
static void check_forbidden(cudaStream_t stream, int *counter)
{
	cudaGraph_t graph = nullptr;
	cudaStreamCaptureStatus status;
	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	count<<<1, 1, 0, stream>>>(counter);
	LAUNCHED();
	cudaError_t error = cudaStreamSynchronize(stream);
	sample::expect(error == cudaErrorStreamCaptureUnsupported, "waiting for a capture: %s",
		       cudaGetErrorName(error));
	TRY(cudaStreamIsCapturing(stream, &status));
	sample::expect(status == cudaStreamCaptureStatusInvalidated, "the capture is not invalidated: %d", (int)status);
	error = cudaStreamEndCapture(stream, &graph);
	sample::expect(error == cudaErrorStreamCaptureInvalidated && graph == nullptr, "its end: %s",
		       cudaGetErrorName(error));
	cudaGetLastError();
	error = cudaStreamEndCapture(stream, &graph);
	sample::expect(error == cudaErrorIllegalState || error == cudaErrorInvalidValue,
		       "an end without a beginning: %s", cudaGetErrorName(error));
	cudaGetLastError();
	TRY(cudaStreamIsCapturing(stream, &status));
	sample::expect(status == cudaStreamCaptureStatusNone, "still capturing");
	TRY(cudaStreamSynchronize(stream));
}

int main()
{
	Buffers buffers = {};
	cudaStream_t first, second;
	TRY(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	TRY(cudaMallocHost(&buffers.host_in, n * sizeof(float)));
	TRY(cudaMallocHost(&buffers.host_out, n * sizeof(float)));
	for (float **buffer : { &buffers.in, &buffers.left, &buffers.right, &buffers.out })
		TRY(cudaMalloc(buffer, n * sizeof(float)));
	TRY(cudaMalloc(&buffers.counter, sizeof(int)));
	TRY(cudaMemset(buffers.counter, 0, sizeof(int)));

	cudaGraphExec_t executable, other_executable;
	cudaGraph_t graph = record(first, second, buffers, 0.5f), other, clone;
	int counted = -1;
	TRY(cudaMemcpy(&counted, buffers.counter, sizeof(int), cudaMemcpyDeviceToHost));
	sample::expect(counted == 0 && buffers.n_calls == 0, "recording runs nothing: %d, %d", counted,
		       buffers.n_calls);
	sample::expect(count_nodes(graph, cudaGraphNodeTypeKernel) == 4, "kernels");
	sample::expect(count_nodes(graph, cudaGraphNodeTypeMemcpy) == 2, "copies");
	sample::expect(count_nodes(graph, cudaGraphNodeTypeHost) == 1, "host functions");
	TRY(cudaGraphInstantiate(&executable, graph, 0));
	replay(executable, first, buffers, 0.5f, "first replay");
	replay(executable, second, buffers, 0.5f, "another stream");

	// The same shape with another factor: no new instance needed.
	other = record(first, second, buffers, 2.0f);
	cudaGraphExecUpdateResultInfo info;
	TRY(cudaGraphExecUpdate(executable, other, &info));
	sample::expect(info.result == cudaGraphExecUpdateSuccess, "update: %d", (int)info.result);
	replay(executable, first, buffers, 2.0f, "updated");

	// A clone lives on without its original.
	TRY(cudaGraphClone(&clone, graph));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaGraphInstantiate(&other_executable, clone, 0));
	TRY(cudaGraphDestroy(clone));
	replay(other_executable, first, buffers, 0.5f, "clone");
	for (int i = 0; i < 10; i++)
		TRY(cudaGraphLaunch(other_executable, first));
	TRY(cudaStreamSynchronize(first));
	TRY(cudaMemcpy(&counted, buffers.counter, sizeof(int), cudaMemcpyDeviceToHost));
	sample::expect(counted == 14 * 64 && buffers.n_calls == 14, "replays: %d threads counted, %d calls", counted,
		       buffers.n_calls);
	check_forbidden(first, buffers.counter);

	TRY(cudaGraphExecDestroy(executable));
	TRY(cudaGraphExecDestroy(other_executable));
	TRY(cudaGraphDestroy(other));
	for (float *buffer : { buffers.in, buffers.left, buffers.right, buffers.out })
		TRY(cudaFree(buffer));
	TRY(cudaFree(buffers.counter));
	TRY(cudaFreeHost(buffers.host_in));
	TRY(cudaFreeHost(buffers.host_out));
	TRY(cudaStreamDestroy(first));
	TRY(cudaStreamDestroy(second));
	return sample::finish("graph_capture");
}

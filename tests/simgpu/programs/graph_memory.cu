// SPDX-License-Identifier: Apache-2.0
//
// Memory that a graph allocates and frees itself: the sum of squares of two ranges, with scratch arrays that exist only
// while the graph runs, once with explicit nodes and once captured from a stream. Launched several times, also without
// a free node, where the next launch frees.
// Exercises: cudaGraphAddMemAllocNode, cudaGraphAddMemFreeNode, captured cudaMallocAsync/cudaFreeAsync,
// cudaGraphInstantiateFlagAutoFreeOnLaunch, graph memory attributes, cudaDeviceGraphMemTrim.
#include "sample.h"

static constexpr int n = 512;

__global__ void squares(int *to, int first)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = (first + i) * (first + i);
}

__global__ void add(const int *a, const int *b, int *to)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = a[i] + b[i];
}

static std::vector<int> expected(int first_a, int first_b)
{
	std::vector<int> sums(n);
	for (int i = 0; i < n; i++)
		sums[i] = (first_a + i) * (first_a + i) + (first_b + i) * (first_b + i);
	return sums;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t> &after, const void *kernel,
				  void **arguments)
{
	cudaKernelNodeParams params = {};
	params.func = const_cast<void *>(kernel);
	params.gridDim = dim3(1);
	params.blockDim = dim3(128);
	params.kernelParams = arguments;
	cudaGraphNode_t node;
	TRY(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

static void explicit_nodes()
{
	sample::Array<int> out(n);
	cudaGraph_t graph;
	TRY(cudaGraphCreate(&graph, 0));
	cudaGraphNode_t allocations[2], fills[2];
	int *scratch[2], firsts[2] = { 1, 1000 };
	for (int i = 0; i < 2; i++) {
		cudaMemAllocNodeParams params = {};
		params.poolProps.allocType = cudaMemAllocationTypePinned;
		params.poolProps.location.type = cudaMemLocationTypeDevice;
		params.bytesize = n * sizeof(int);
		TRY(cudaGraphAddMemAllocNode(&allocations[i], graph, nullptr, 0, &params));
		scratch[i] = static_cast<int *>(params.dptr);
		void *arguments[] = { &scratch[i], &firsts[i] };
		fills[i] = add_kernel(graph, { allocations[i] }, (const void *)squares, arguments);
	}
	int *to = out;
	void *arguments[] = { &scratch[0], &scratch[1], &to };
	const cudaGraphNode_t sum = add_kernel(graph, { fills[0], fills[1] }, (const void *)add, arguments);
	for (int *memory : scratch) {
		cudaGraphNode_t freed;
		TRY(cudaGraphAddMemFreeNode(&freed, graph, &sum, 1, memory));
	}
	cudaGraphExec_t exec;
	TRY(cudaGraphInstantiate(&exec, graph, 0));
	for (int launch = 0; launch < 3; launch++) {
		out.fill_bytes(0xff);
		TRY(cudaGraphLaunch(exec, 0));
		sample::expect_equal("explicit", out.get(), expected(1, 1000));
	}
	size_t used = 0, high = 0;
	TRY(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &high));
	sample::expect(high >= 2 * n * sizeof(int), "graphs used %zu bytes at most", high);
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaDeviceGraphMemTrim(0));
	TRY(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &used));
	sample::expect(used == 0, "%zu bytes are still used", used);
	TRY(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &used));
	TRY(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &high));
	sample::expect(high == 0, "the high mark is %zu", high);
}

static void captured(bool frees)
{
	sample::Array<int> out(n);
	cudaStream_t stream;
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	int *scratch;
	TRY(cudaMallocAsync(&scratch, n * sizeof(int), stream));
	squares<<<1, 64, 0, stream>>>(scratch, 7);
	add<<<1, 64, 0, stream>>>(scratch, scratch, out);
	if (frees)
		TRY(cudaFreeAsync(scratch, stream));
	cudaGraph_t graph;
	TRY(cudaStreamEndCapture(stream, &graph));
	cudaGraphExec_t exec;
	TRY(cudaGraphInstantiate(&exec, graph, frees ? 0 : cudaGraphInstantiateFlagAutoFreeOnLaunch));
	for (int launch = 0; launch < 2; launch++) {
		TRY(cudaMemsetAsync(out, 0, n * sizeof(int), stream));
		TRY(cudaGraphLaunch(exec, stream));
		TRY(cudaStreamSynchronize(stream));
		sample::expect_equal("captured", out.get(), expected(7, 7));
	}
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaStreamDestroy(stream));
}

int main()
{
	explicit_nodes();
	captured(true);
	captured(false);
	return sample::finish("graph_memory");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * updates.cu - a graph of two kernels, replayed between changes of what it launches: another kernel of the same
 * dimensions, other dimensions, another graph, a node switched off. What each replay runs is in `plan` of
 * test_concurrency.c. Nothing is launched but from the graph.
 */
#include <warpspan.cuh>

#include <cstdio>

constexpr int N_THREADS = 64;

__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	atomicAdd(&data[0], 1);
}

__global__ void other(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "other");
	atomicAdd(&data[1], 1);
}

__global__ void finish(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "finish");
	atomicAdd(&data[2], 1);
}

static int *data;
static void *arguments[] = { &data };
static int n_errors;

static void check(cudaError_t error)
{
	n_errors += error != cudaSuccess;
	if (error != cudaSuccess)
		printf("%s\n", cudaGetErrorName(error));
}

static cudaKernelNodeParams kernel(void (*function)(int *), int blocks)
{
	cudaKernelNodeParams params = {};
	params.func = reinterpret_cast<void *>(function);
	params.gridDim = dim3(blocks);
	params.blockDim = dim3(N_THREADS);
	params.kernelParams = arguments;
	return params;
}

static cudaGraph_t make_graph(int blocks, cudaGraphNode_t *ret_first, cudaGraphNode_t *ret_second)
{
	const cudaKernelNodeParams first = kernel(step, blocks), second = kernel(finish, 1);
	cudaGraph_t graph;
	check(cudaGraphCreate(&graph, 0));
	check(cudaGraphAddKernelNode(ret_first, graph, nullptr, 0, &first));
	check(cudaGraphAddKernelNode(ret_second, graph, ret_first, 1, &second));
	return graph;
}

static void replay(cudaGraphExec_t exec, cudaStream_t stream, int times)
{
	for (int i = 0; i < times; i++)
		check(cudaGraphLaunch(exec, stream));
}

int main()
{
	cudaGraphNode_t first, second, unused[2];
	cudaStream_t stream;
	cudaGraphExec_t exec;
	cudaGraphExecUpdateResultInfo info;
	int result[3] = {};
	check(cudaMalloc(&data, sizeof(result)));
	check(cudaMemset(data, 0, sizeof(result)));
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	check(cudaDeviceSynchronize());

	cudaGraph_t graph = make_graph(2, &first, &second), wider = make_graph(3, &unused[0], &unused[1]);
	check(cudaGraphInstantiate(&exec, graph, 0));
	replay(exec, stream, 2);
	cudaKernelNodeParams params = kernel(other, 2);
	check(cudaGraphExecKernelNodeSetParams(exec, first, &params));
	replay(exec, stream, 2);
	params = kernel(step, 5);
	check(cudaGraphExecKernelNodeSetParams(exec, first, &params));
	replay(exec, stream, 3);
	check(cudaGraphNodeSetEnabled(exec, second, 0));
	replay(exec, stream, 1);
	check(cudaGraphNodeSetEnabled(exec, second, 1));
	replay(exec, stream, 1);
	check(cudaGraphExecUpdate(exec, wider, &info));
	replay(exec, stream, 2);
	check(cudaStreamSynchronize(stream));
	check(cudaGraphExecDestroy(exec));
	/* A new executable, which may get the handle of the old one. */
	check(cudaGraphInstantiate(&exec, graph, 0));
	replay(exec, stream, 1);
	check(cudaStreamSynchronize(stream));

	check(cudaMemcpy(result, data, sizeof(result), cudaMemcpyDeviceToHost));
	printf("updates: %d %d %d threads, %d errors\n", result[0], result[1], result[2], n_errors);
	return n_errors != 0;
}

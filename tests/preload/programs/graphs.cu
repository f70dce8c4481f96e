/* SPDX-License-Identifier: Apache-2.0
 *
 * graphs.cu MODE - kernels that run from graphs, and other ways to have many at once. Every grid has 4 blocks of 2
 * warps, and each warp runs "step" once. Prints how often each element was incremented.
 */
#include "elements.cuh"
#include <warpspan.cuh>

#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

__device__ static void add(int *data, int n)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	atomicAdd(&data[blockIdx.x * blockDim.x + threadIdx.x], n);
}

__global__ void step(int *data)
{
	add(data, 1);
}

__global__ void other(int *data)
{
	add(data, 100);
}

template <int N> __global__ void step_by(int *data)
{
	add(data, N);
}

static int *make_data()
{
	int *data = nullptr;
	cudaMalloc(&data, ELEMENTS * sizeof(int));
	cudaMemset(data, 0, ELEMENTS * sizeof(int));
	cudaDeviceSynchronize(); /* streams that do not block would not wait for it */
	return data;
}

static cudaStream_t make_stream()
{
	cudaStream_t stream;
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	return stream;
}

static void replay(cudaGraph_t graph, cudaStream_t stream, int times)
{
	cudaGraphExec_t exec;
	printf("instantiate: %s\n", cudaGetErrorName(cudaGraphInstantiate(&exec, graph, 0)));
	for (int i = 0; i < times; i++)
		cudaGraphLaunch(exec, stream);
	cudaStreamSynchronize(stream);
}

/* A kernel that is first seen in a capture: 5 replays. */
static void captured()
{
	int *data = make_data();
	const cudaStream_t stream = make_stream();
	cudaGraph_t graph;
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
	step<<<BLOCKS, THREADS, 0, stream>>>(data);
	printf("end: %s\n", cudaGetErrorName(cudaStreamEndCapture(stream, &graph)));
	replay(graph, stream, 5);
	print_data(data);
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t> &after, void (*kernel)(int *),
				  int **data)
{
	cudaGraphNode_t node;
	void *arguments[] = { data };
	cudaKernelNodeParams params = {};
	params.func = reinterpret_cast<void *>(kernel);
	params.gridDim = dim3(BLOCKS);
	params.blockDim = dim3(THREADS);
	params.kernelParams = arguments;
	printf("add: %s\n",
	       cudaGetErrorName(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params)));
	return node;
}

/* Two kernels, one after the other: 3 replays of 2. */
static void built()
{
	int *data = make_data();
	cudaGraph_t graph;
	cudaGraphCreate(&graph, 0);
	add_kernel(graph, { add_kernel(graph, {}, step, &data) }, other, &data);
	replay(graph, make_stream(), 3);
	print_data(data);
}

/* A graph within a graph: 2 replays of 2. */
static void child()
{
	int *data = make_data();
	cudaGraph_t graph, inner;
	cudaGraphNode_t node;
	cudaGraphCreate(&graph, 0);
	cudaGraphCreate(&inner, 0);
	add_kernel(inner, {}, other, &data);
	cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, inner);
	add_kernel(graph, { node }, step, &data);
	replay(graph, make_stream(), 2);
	print_data(data);
}

/* A graph that is launched into a capture: 1 launch by itself, then 2 replays of it within another. */
static void nested()
{
	int *data = make_data();
	const cudaStream_t stream = make_stream();
	cudaGraph_t graph, outer;
	cudaGraphExec_t exec;
	cudaGraphCreate(&graph, 0);
	add_kernel(graph, {}, step, &data);
	cudaGraphInstantiate(&exec, graph, 0);
	cudaGraphLaunch(exec, stream);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	printf("inner: %s\n", cudaGetErrorName(cudaGraphLaunch(exec, stream)));
	printf("end: %s\n", cudaGetErrorName(cudaStreamEndCapture(stream, &outer)));
	replay(outer, stream, 2);
	print_data(data);
}

/* Launches between, before and after captures and replays: 1 + 1 + 1 launches, 2 replays. */
static void mixed()
{
	int *data = make_data();
	const cudaStream_t stream = make_stream(), beside = make_stream();
	cudaGraph_t graph;
	step<<<BLOCKS, THREADS, 0, stream>>>(data);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	step<<<BLOCKS, THREADS, 0, stream>>>(data);
	other<<<BLOCKS, THREADS, 0, beside>>>(data); /* runs now */
	cudaStreamEndCapture(stream, &graph);
	replay(graph, stream, 2);
	step<<<BLOCKS, THREADS, 0, stream>>>(data);
	cudaDeviceSynchronize();
	print_data(data);
}

/* One template, three kernels: 3 launches. */
static void instances()
{
	int *data = make_data();
	step_by<1><<<BLOCKS, THREADS>>>(data);
	step_by<20><<<BLOCKS, THREADS>>>(data);
	step_by<300><<<BLOCKS, THREADS>>>(data);
	print_data(data);
}

/* Four streams, in flight together: 4 * 10 launches. */
static void streams()
{
	int *data = make_data();
	std::vector<cudaStream_t> all;
	for (int i = 0; i < 4; i++)
		all.push_back(make_stream());
	for (int i = 0; i < 10; i++)
		for (cudaStream_t stream : all)
			step<<<BLOCKS, THREADS, 0, stream>>>(data);
	cudaDeviceSynchronize();
	print_data(data);
}

/* The thread's own default stream by its handle: 2 launches. */
static void per_thread()
{
	int *data = make_data();
	for (int i = 0; i < 2; i++)
		step<<<BLOCKS, THREADS, 0, cudaStreamPerThread>>>(data);
	printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(cudaStreamPerThread)));
	print_data(data);
}

/* A capture of the thread's own default stream by its handle: 2 launches, 3 replays of 1, 1 launch. */
static void per_thread_captured()
{
	int *data = make_data();
	cudaGraph_t graph;
	for (int i = 0; i < 2; i++)
		step<<<BLOCKS, THREADS, 0, cudaStreamPerThread>>>(data);
	printf("begin: %s\n",
	       cudaGetErrorName(cudaStreamBeginCapture(cudaStreamPerThread, cudaStreamCaptureModeThreadLocal)));
	step<<<BLOCKS, THREADS, 0, cudaStreamPerThread>>>(data);
	printf("end: %s\n", cudaGetErrorName(cudaStreamEndCapture(cudaStreamPerThread, &graph)));
	replay(graph, cudaStreamPerThread, 3);
	step<<<BLOCKS, THREADS, 0, cudaStreamPerThread>>>(data);
	printf("%s\n", cudaGetErrorName(cudaStreamSynchronize(cudaStreamPerThread)));
	print_data(data);
}

/* A thread on each of two devices: 2 * 5 launches. */
static void devices()
{
	std::vector<std::thread> threads;
	int *data[2] = {};
	int n = 0;
	cudaGetDeviceCount(&n);
	printf("%d devices\n", n);
	for (int i = 0; i < 2; i++)
		threads.emplace_back([i, &data] {
			cudaSetDevice(i);
			data[i] = make_data();
			for (int launch = 0; launch < 5; launch++)
				step<<<BLOCKS, THREADS>>>(data[i]);
			cudaDeviceSynchronize();
		});
	for (std::thread &thread : threads)
		thread.join();
	for (int i = 0; i < 2; i++) {
		cudaSetDevice(i);
		print_data(data[i]);
	}
}

/* The driver's function from the runtime, as frameworks ask for it: 2 launches. */
static void entry_point()
{
	typedef int launch_kernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
				  void **, void **);
	int *data = make_data();
	void *arguments[] = { &data };
	void *found = nullptr;
	cudaFunction_t function;
	cudaDriverEntryPointQueryResult status;
	printf("%s\n", cudaGetErrorName(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &found, 12000,
									 cudaEnableDefault, &status)));
	cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(step));
	for (int i = 0; i < 2; i++)
		printf("%d\n", reinterpret_cast<launch_kernel *>(found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0,
									nullptr, arguments, nullptr));
	print_data(data);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} modes[] = {
		{ "captured", captured },
		{ "built", built },
		{ "child", child },
		{ "nested", nested },
		{ "mixed", mixed },
		{ "streams", streams },
		{ "instances", instances },
		{ "devices", devices },
		{ "entry", entry_point },
		{ "per thread", per_thread },
		{ "per thread captured", per_thread_captured },
	};
	for (const auto &mode : modes)
		if (argc == 2 && strcmp(argv[1], mode.name) == 0) {
			mode.run();
			return 42;
		}
	return 2;
}

// SPDX-License-Identifier: Apache-2.0
// Graphs: captured and built by hand, changed, cloned, nested, launched many times.
#include "check.h"

#include <string.h>

__global__ void add(int *to, int value)
{
	atomicAdd(to, value);
}

__global__ void scale(int *to, int factor)
{
	*to *= factor;
}

__global__ void spin(long long cycles)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
}

__global__ void grid_id(unsigned long long *to)
{
	asm volatile("mov.u64 %0, %%gridid;" : "=l"(*to));
}

__device__ int variable;
static int *counter; /* on the device */
static cudaStream_t stream;

static int counted()
{
	int value;

	OK(cudaMemcpy(&value, counter, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

static void set(int value)
{
	OK(cudaMemcpy(counter, &value, sizeof(value), cudaMemcpyHostToDevice));
}

static void launch(cudaGraphExec_t exec)
{
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamSynchronize(stream));
}

static void count_call(void *argument)
{
	++*(int *)argument;
}

static void captured_work_runs_at_each_launch()
{
	static int n_calls;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t nodes[8];
	cudaGraphNodeType type;
	cudaKernelNodeParams params;
	size_t n = 8;
	int *pinned;

	OK(cudaMallocHost(&pinned, sizeof(int)));
	set(0);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	add<<<1, 32, 0, stream>>>(counter, 1);
	OK(cudaGetLastError());
	OK(cudaMemcpyAsync(pinned, counter, sizeof(int), cudaMemcpyDeviceToHost, stream));
	OK(cudaLaunchHostFunc(stream, count_call, &n_calls));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(counted(), 0);
	CHECK_EQUAL(n_calls, 0);
	OK(cudaGraphGetNodes(graph, nodes, &n));
	CHECK_EQUAL(n, 3);
	CHECK(nodes[3] == NULL);
	OK(cudaGraphNodeGetType(nodes[0], &type));
	CHECK_EQUAL(type, cudaGraphNodeTypeKernel);
	OK(cudaGraphNodeGetType(nodes[2], &type));
	CHECK_EQUAL(type, cudaGraphNodeTypeHost);
	OK(cudaGraphKernelNodeGetParams(nodes[0], &params));
	CHECK(params.func == (void *)add);
	CHECK_EQUAL(params.blockDim.x, 32);
	CHECK_EQUAL(*(int *)params.kernelParams[1], 1);
	OK(cudaGraphInstantiate(&exec, graph, 0));
	for (int i = 1; i <= 3; i++) {
		launch(exec);
		CHECK_EQUAL(*pinned, i * 32);
		CHECK_EQUAL(n_calls, i);
	}
	/* The executable does not need its graph. */
	OK(cudaGraphDestroy(graph));
	launch(exec);
	CHECK_EQUAL(counted(), 128);
	OK(cudaGraphExecDestroy(exec));
	CHECK_EQUAL(cudaGraphLaunch(exec, stream), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaFreeHost(pinned));
}

static void streams_join_through_events()
{
	cudaStream_t side;
	cudaEvent_t fork, join;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t from[8], to[8], roots[8];
	size_t n = 8, n_roots = 8;
	cudaStreamCaptureStatus status;

	OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
	OK(cudaEventCreate(&fork));
	OK(cudaEventCreate(&join));
	set(1);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	OK(cudaStreamIsCapturing(side, &status));
	CHECK_EQUAL(status, cudaStreamCaptureStatusNone);
	add<<<1, 1, 0, stream>>>(counter, 1);
	OK(cudaEventRecord(fork, stream));
	OK(cudaStreamWaitEvent(side, fork, 0));
	OK(cudaStreamIsCapturing(side, &status));
	CHECK_EQUAL(status, cudaStreamCaptureStatusActive);
	spin<<<1, 1, 0, side>>>(100);
	spin<<<1, 1, 0, stream>>>(100);
	OK(cudaEventRecord(join, side));
	OK(cudaStreamWaitEvent(stream, join, 0));
	scale<<<1, 1, 0, stream>>>(counter, 10);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaStreamIsCapturing(side, &status));
	CHECK_EQUAL(status, cudaStreamCaptureStatusNone);
	OK(cudaGraphGetEdges(graph, from, to, NULL, &n));
	CHECK_EQUAL(n, 4);
	OK(cudaGraphGetRootNodes(graph, roots, &n_roots));
	CHECK_EQUAL(n_roots, 1);
	OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
	launch(exec);
	CHECK_EQUAL(counted(), 20);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(side));
	OK(cudaEventDestroy(fork));
	OK(cudaEventDestroy(join));
}

static cudaKernelNodeParams kernel(void *function, void **args)
{
	cudaKernelNodeParams params = {};

	params.func = function;
	params.gridDim = dim3(1);
	params.blockDim = dim3(1);
	params.kernelParams = args;
	return params;
}

static void graphs_are_built_and_changed_by_hand()
{
	int one = 1, two = 2, seven = 7, result = 0, n_calls = 0;
	void *add_args[] = { &counter, &one }, *scale_args[] = { &counter, &two };
	cudaKernelNodeParams add_params = kernel((void *)add, add_args),
			     scale_params = kernel((void *)scale, scale_args);
	cudaMemsetParams clear = {};
	cudaHostNodeParams call = { count_call, &n_calls };
	cudaGraph_t graph, clone;
	cudaGraphExec_t exec;
	cudaGraphNode_t clear_node, add_node, scale_node, read_node, call_node, nodes[8], found;
	cudaGraphExecUpdateResultInfo info;
	unsigned int is_enabled;
	size_t n = 0;

	clear.dst = counter;
	clear.elementSize = 4;
	clear.width = 1;
	clear.height = 1;
	clear.value = 5;
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemsetNode(&clear_node, graph, NULL, 0, &clear));
	OK(cudaGraphAddKernelNode(&scale_node, graph, NULL, 0, &scale_params));
	OK(cudaGraphAddKernelNode(&add_node, graph, &clear_node, 1, &add_params));
	OK(cudaGraphAddDependencies(graph, &add_node, &scale_node, NULL, 1));
	OK(cudaGraphAddMemcpyNode1D(&read_node, graph, &scale_node, 1, &result, counter, sizeof(int),
				    cudaMemcpyDeviceToHost));
	OK(cudaGraphAddHostNode(&call_node, graph, &read_node, 1, &call));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec);
	CHECK_EQUAL(result, 12);
	CHECK_EQUAL(n_calls, 1);

	/* Only this executable changes. */
	add_args[1] = &seven;
	OK(cudaGraphExecKernelNodeSetParams(exec, add_node, &add_params));
	launch(exec);
	CHECK_EQUAL(result, 24);
	OK(cudaGraphNodeSetEnabled(exec, add_node, 0));
	OK(cudaGraphNodeGetEnabled(exec, add_node, &is_enabled));
	CHECK_EQUAL(is_enabled, 0);
	launch(exec);
	CHECK_EQUAL(result, 10);
	OK(cudaGraphNodeSetEnabled(exec, add_node, 1));
	clear.value = 1;
	OK(cudaGraphExecMemsetNodeSetParams(exec, clear_node, &clear));
	launch(exec);
	CHECK_EQUAL(result, 16);

	/* The graph, then the executable from it. */
	OK(cudaGraphKernelNodeSetParams(add_node, &add_params));
	OK(cudaGraphExecUpdate(exec, graph, &info));
	CHECK_EQUAL(info.result, cudaGraphExecUpdateSuccess);
	launch(exec);
	CHECK_EQUAL(result, 24);
	OK(cudaGraphRemoveDependencies(graph, &add_node, &scale_node, NULL, 1));
	CHECK_EQUAL(cudaGraphExecUpdate(exec, graph, &info), cudaErrorGraphExecUpdateFailure);
	CHECK_EQUAL(info.result, cudaGraphExecUpdateErrorTopologyChanged);
	CHECK(info.errorNode == scale_node);
	cudaGetLastError();

	/* A cycle cannot be instantiated. */
	OK(cudaGraphAddDependencies(graph, &add_node, &scale_node, NULL, 1));
	OK(cudaGraphAddDependencies(graph, &scale_node, &clear_node, NULL, 1));
	cudaGraphExec_t never;
	CHECK_EQUAL(cudaGraphInstantiate(&never, graph, 0), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaGraphRemoveDependencies(graph, &scale_node, &clear_node, NULL, 1));

	OK(cudaGraphClone(&clone, graph));
	OK(cudaGraphNodeFindInClone(&found, add_node, clone));
	OK(cudaGraphDestroyNode(found));
	OK(cudaGraphGetNodes(clone, NULL, &n));
	CHECK_EQUAL(n, 4);
	OK(cudaGraphGetNodes(graph, NULL, &n));
	CHECK_EQUAL(n, 5);
	CHECK_EQUAL(cudaGraphDestroyNode(found), cudaErrorInvalidValue);
	cudaGetLastError();

	/* A graph as a node, twice. */
	cudaGraph_t outer, inner;
	cudaGraphExec_t outer_exec;
	cudaGraphNode_t first, second;
	OK(cudaGraphCreate(&outer, 0));
	OK(cudaGraphAddChildGraphNode(&first, outer, NULL, 0, graph));
	OK(cudaGraphAddChildGraphNode(&second, outer, &first, 1, graph));
	OK(cudaGraphChildGraphNodeGetGraph(second, &inner));
	n = 8;
	OK(cudaGraphGetNodes(inner, nodes, &n));
	CHECK_EQUAL(n, 5);
	OK(cudaGraphInstantiate(&outer_exec, outer, 0));
	n_calls = 0;
	launch(outer_exec);
	CHECK_EQUAL(n_calls, 2);
	CHECK_EQUAL(result, 24);
	cudaGraphNode_t inner_memset = nodes[0];
	clear.value = 3;
	OK(cudaGraphExecMemsetNodeSetParams(outer_exec, inner_memset, &clear));
	launch(outer_exec);
	CHECK_EQUAL(result, 20);
	OK(cudaGraphExecDestroy(outer_exec));
	OK(cudaGraphDestroy(outer));
	OK(cudaGraphDestroy(clone));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
}

static void variables_and_boxes_are_copied_by_nodes()
{
	int host[2] = { 41, 0 };
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t in, out;
	cudaMemcpy3DParms box = {}, back;
	char source[64], target[64] = {};
	cudaPitchedPtr device;

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemcpyNodeToSymbol(&in, graph, NULL, 0, variable, &host[0], sizeof(int), 0,
					  cudaMemcpyHostToDevice));
	OK(cudaGraphAddMemcpyNodeFromSymbol(&out, graph, &in, 1, &host[1], variable, sizeof(int), 0,
					    cudaMemcpyDeviceToHost));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec);
	CHECK_EQUAL(host[1], 41);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));

	for (int i = 0; i < 64; i++)
		source[i] = (char)i;
	OK(cudaMalloc3D(&device, make_cudaExtent(4, 4, 4)));
	CHECK(device.pitch >= 4);
	box.srcPtr = make_cudaPitchedPtr(source, 4, 4, 4);
	box.dstPtr = device;
	box.extent = make_cudaExtent(4, 4, 4);
	box.kind = cudaMemcpyHostToDevice;
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddMemcpyNode(&in, graph, NULL, 0, &box));
	OK(cudaGraphMemcpyNodeGetParams(in, &back));
	CHECK_EQUAL(back.kind, cudaMemcpyHostToDevice);
	CHECK(back.srcPtr.ptr == source && back.extent.depth == 4);
	/* One plane of the middle. */
	box.srcPtr = device;
	box.srcPos = make_cudaPos(1, 1, 2);
	box.dstPtr = make_cudaPitchedPtr(target, 4, 4, 4);
	box.dstPos = make_cudaPos(0, 2, 0);
	box.extent = make_cudaExtent(2, 2, 1);
	box.kind = cudaMemcpyDeviceToHost;
	OK(cudaGraphAddMemcpyNode(&out, graph, &in, 1, &box));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec);
	CHECK_EQUAL(target[8], 2 * 16 + 4 + 1);
	CHECK_EQUAL(target[9], 2 * 16 + 4 + 2);
	CHECK_EQUAL(target[12], 2 * 16 + 8 + 1);
	CHECK_EQUAL(target[10], 0);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(device.ptr));
}

/* Two branches of one kernel each, between two events of the graph itself. */
static float branches_take(bool in_parallel)
{
	long long cycles = 100000;
	void *args[] = { &cycles };
	cudaKernelNodeParams params = kernel((void *)spin, args);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t first, a, b, last;
	cudaEvent_t start, end;
	float ms;

	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddEventRecordNode(&first, graph, NULL, 0, start));
	OK(cudaGraphAddKernelNode(&a, graph, &first, 1, &params));
	OK(cudaGraphAddKernelNode(&b, graph, in_parallel ? &first : &a, 1, &params));
	cudaGraphNode_t ends[] = { b, a };
	OK(cudaGraphAddEventRecordNode(&last, graph, ends, 2, end));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&ms, start, end));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaEventDestroy(start));
	OK(cudaEventDestroy(end));
	return ms;
}

static void branches_overlap()
{
	float serial = branches_take(false), parallel = branches_take(true);

	CHECK(parallel > 0.01f);
	CHECK(serial > 1.9f * parallel && serial < 2.1f * parallel);
}

static void events_cross_the_edge_of_a_graph()
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t wait, work;
	cudaStream_t other;
	cudaEvent_t event;
	int factor = 3;
	void *args[] = { &counter, &factor };
	cudaKernelNodeParams params = kernel((void *)scale, args);

	set(1);
	OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	OK(cudaEventCreate(&event));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddEventWaitNode(&wait, graph, NULL, 0, event));
	OK(cudaGraphAddKernelNode(&work, graph, &wait, 1, &params));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	spin<<<1, 1, 0, other>>>(20000);
	add<<<1, 1, 0, other>>>(counter, 1);
	OK(cudaEventRecord(event, other));
	launch(exec);
	CHECK_EQUAL(counted(), 6);
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaStreamDestroy(other));
	OK(cudaEventDestroy(event));
}

static void memory_belongs_to_the_graph()
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	int *memory, host = 0;
	size_t before, after, total;

	OK(cudaMemGetInfo(&before, &total));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	OK(cudaMallocAsync(&memory, 1 << 20, stream));
	OK(cudaMemsetAsync(memory, 0, sizeof(int), stream));
	add<<<1, 7, 0, stream>>>(memory, 1);
	OK(cudaMemcpyAsync(&host, memory, sizeof(int), cudaMemcpyDeviceToHost, stream));
	OK(cudaFreeAsync(memory, stream));
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec);
	launch(exec);
	CHECK_EQUAL(host, 7);
	OK(cudaGraphDestroy(graph));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaMemGetInfo(&after, &total));
	CHECK_EQUAL(after, before);
}

static void a_launch_can_be_captured()
{
	cudaGraph_t graph, outer;
	cudaGraphExec_t exec, outer_exec;
	cudaGraphNode_t node;
	cudaGraphNodeType type;
	size_t n = 1;

	set(0);
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	add<<<1, 1, 0, stream>>>(counter, 1);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaGraphLaunch(exec, stream));
	OK(cudaStreamEndCapture(stream, &outer));
	OK(cudaGraphGetNodes(outer, &node, &n));
	OK(cudaGraphNodeGetType(node, &type));
	CHECK_EQUAL(type, cudaGraphNodeTypeGraph);
	OK(cudaGraphInstantiate(&outer_exec, outer, 0));
	launch(outer_exec);
	CHECK_EQUAL(counted(), 2);
	OK(cudaGraphExecDestroy(outer_exec));
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(outer));
	OK(cudaGraphDestroy(graph));
}

static void grid_ids_follow_the_mode()
{
	const char *mode = getenv("SIMGPU_GRIDID");
	unsigned long long *ids, host[4];
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	OK(cudaMalloc(&ids, sizeof(host)));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	grid_id<<<1, 1, 0, stream>>>(ids);
	grid_id<<<1, 1, 0, stream>>>(ids + 1);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	launch(exec);
	OK(cudaMemcpy(host, ids, 16, cudaMemcpyDeviceToHost));
	launch(exec);
	OK(cudaMemcpy(host + 2, ids, 16, cudaMemcpyDeviceToHost));
	if (mode && strcmp(mode, "per-graph") == 0) {
		CHECK_EQUAL(host[0], 1);
		CHECK_EQUAL(host[1], 2);
		CHECK_EQUAL(host[2], 1);
		CHECK_EQUAL(host[3], 2);
	} else {
		for (int i = 1; i < 4; i++)
			CHECK(host[i] > host[i - 1]);
	}
	OK(cudaGraphExecDestroy(exec));
	OK(cudaGraphDestroy(graph));
	OK(cudaFree(ids));
}

static void a_fault_in_a_graph_is_the_contexts()
{
	int *nowhere = (int *)0x40, one = 1;
	void *args[] = { &nowhere, &one };
	cudaKernelNodeParams params = kernel((void *)add, args);
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaGraphNode_t bad, record;
	cudaEvent_t event;

	OK(cudaEventCreate(&event));
	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddKernelNode(&bad, graph, NULL, 0, &params));
	OK(cudaGraphAddEventRecordNode(&record, graph, &bad, 1, event));
	OK(cudaGraphInstantiate(&exec, graph, 0));
	OK(cudaGraphLaunch(exec, stream));
	CHECK_EQUAL(cudaStreamSynchronize(stream), cudaErrorIllegalAddress);
	CHECK_EQUAL(cudaEventSynchronize(event), cudaErrorIllegalAddress);
	CHECK_EQUAL(cudaGraphLaunch(exec, stream), cudaErrorIllegalAddress);
}

int main()
{
	OK(cudaStreamCreate(&stream));
	OK(cudaMalloc(&counter, sizeof(int)));
	captured_work_runs_at_each_launch();
	streams_join_through_events();
	graphs_are_built_and_changed_by_hand();
	variables_and_boxes_are_copied_by_nodes();
	branches_overlap();
	events_cross_the_edge_of_a_graph();
	memory_belongs_to_the_graph();
	a_launch_can_be_captured();
	grid_ids_follow_the_mode();
	a_fault_in_a_graph_is_the_contexts();
	puts("graphs ok");
	return 0;
}

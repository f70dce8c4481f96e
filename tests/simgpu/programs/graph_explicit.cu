// SPDX-License-Identifier: Apache-2.0
//
// A graph built node by node: kernels, fills, copies, a host function, an empty node, a child graph; a diamond of
// dependencies; arguments changed in the graph and in its instance; a circle refused.
// Exercises: cudaGraphAdd*Node, cudaGraphAddDependencies, edges, kernel node parameters,
// cudaGraphExecKernelNodeSetParams, child graphs, order by dependencies alone.
#include "sample.h"

static constexpr int n = 1024, block_size = 128;

// Appends a digit to every element: the final number tells in which order the kernels ran.
__global__ void append(int *values, int digit)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	values[i] = values[i] * 10 + digit;
}

__global__ void combine(const int *a, const int *b, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = a[i] * 1000 + b[i];
}

struct Seen {
	const int *values;
	int first, last, n_calls;
};

static void CUDART_CB look(void *data)
{
	Seen *seen = static_cast<Seen *>(data);
	seen->first = seen->values[0];
	seen->last = seen->values[n - 1];
	seen->n_calls++;
}

static cudaGraphNode_t add_kernel(cudaGraph_t graph, const std::vector<cudaGraphNode_t> &after, void *kernel,
				  void **arguments)
{
	cudaKernelNodeParams params = {};
	cudaGraphNode_t node;
	params.func = kernel;
	params.gridDim = dim3(n / block_size);
	params.blockDim = dim3(block_size);
	params.kernelParams = arguments;
	TRY(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
	return node;
}

static cudaGraphNode_t add_append(cudaGraph_t graph, const std::vector<cudaGraphNode_t> &after, int *values, int digit)
{
	void *arguments[] = { &values, &digit };
	return add_kernel(graph, after, (void *)append, arguments);
}

static cudaGraphNode_t add_zeros(cudaGraph_t graph, int *values)
{
	cudaMemsetParams params = {};
	cudaGraphNode_t node;
	params.dst = values;
	params.elementSize = 4;
	params.width = n;
	params.height = 1;
	params.value = 0;
	TRY(cudaGraphAddMemsetNode(&node, graph, nullptr, 0, &params));
	return node;
}

static void launch(cudaGraphExec_t executable, Seen &seen, int should)
{
	const int n_before = seen.n_calls;
	TRY(cudaGraphLaunch(executable, 0));
	TRY(cudaStreamSynchronize(0));
	sample::expect(seen.n_calls == n_before + 1, "%d calls", seen.n_calls - n_before);
	sample::expect(seen.first == should && seen.last == should, "%d .. %d, not %d", seen.first, seen.last, should);
}

int main()
{
	const sample::Array<int> a(n), b(n), out(n);
	int *host;
	TRY(cudaMallocHost(&host, n * sizeof(int)));
	Seen seen = { host, 0, 0, 0 };

	//  zeros a -> 1 -> 2 -+-> combine -> copy to host -> look
	//  zeros b -> child ---+                               (child: 7 -> 8)
	cudaGraph_t graph, child;
	TRY(cudaGraphCreate(&graph, 0));
	TRY(cudaGraphCreate(&child, 0));
	add_append(child, { add_append(child, {}, b, 7) }, b, 8);
	const cudaGraphNode_t zeros_a = add_zeros(graph, a), zeros_b = add_zeros(graph, b);
	const cudaGraphNode_t one = add_append(graph, { zeros_a }, a, 1), two = add_append(graph, { one }, a, 2);
	cudaGraphNode_t nested, empty, copy, host_node;
	TRY(cudaGraphAddChildGraphNode(&nested, graph, &zeros_b, 1, child));
	TRY(cudaGraphDestroy(child)); // the node has its own copy
	const cudaGraphNode_t both[] = { two, nested };
	TRY(cudaGraphAddEmptyNode(&empty, graph, both, 2));
	const int *from_a = a, *from_b = b;
	int *to = out;
	void *arguments[] = { &from_a, &from_b, &to };
	const cudaGraphNode_t combined = add_kernel(graph, {}, (void *)combine, arguments);
	TRY(cudaGraphAddMemcpyNode1D(&copy, graph, &combined, 1, host, out, n * sizeof(int), cudaMemcpyDeviceToHost));
	cudaHostNodeParams host_params = { look, &seen };
	TRY(cudaGraphAddHostNode(&host_node, graph, &copy, 1, &host_params));
	// A dependency added afterwards; it matters: without it the kernel could run first.
	TRY(cudaGraphAddDependencies(graph, &empty, &combined, nullptr, 1));

	size_t n_nodes = 0, n_edges = 0, n_roots = 0;
	TRY(cudaGraphGetNodes(graph, nullptr, &n_nodes));
	TRY(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &n_edges));
	TRY(cudaGraphGetRootNodes(graph, nullptr, &n_roots));
	sample::expect(n_nodes == 9 && n_edges == 8 && n_roots == 2, "%zu nodes, %zu edges, %zu roots", n_nodes,
		       n_edges, n_roots);

	cudaGraphExec_t executable;
	TRY(cudaGraphInstantiate(&executable, graph, 0));
	launch(executable, seen, 12078);
	launch(executable, seen, 12078);

	// Another digit in the instance only.
	cudaKernelNodeParams params;
	TRY(cudaGraphKernelNodeGetParams(two, &params));
	sample::expect(params.gridDim.x == n / block_size && params.func == (void *)append, "parameters of a node");
	int *values = a, digit = 5;
	void *changed[] = { &values, &digit };
	params.kernelParams = changed;
	params.extra = nullptr;
	TRY(cudaGraphExecKernelNodeSetParams(executable, two, &params));
	launch(executable, seen, 15078);

	// In the graph: a new instance sees it, the old one does not.
	digit = 9;
	TRY(cudaGraphKernelNodeSetParams(one, &params));
	cudaGraphExec_t second;
	TRY(cudaGraphInstantiate(&second, graph, 0));
	launch(second, seen, 92078);
	launch(executable, seen, 15078);

	// A node taken out: its successors wait for nobody.
	TRY(cudaGraphDestroyNode(two));
	TRY(cudaGraphGetNodes(graph, nullptr, &n_nodes));
	TRY(cudaGraphGetEdges(graph, nullptr, nullptr, nullptr, &n_edges));
	sample::expect(n_nodes == 8 && n_edges == 6, "after removal: %zu nodes, %zu edges", n_nodes, n_edges);

	// A circle cannot be ordered.
	TRY(cudaGraphAddDependencies(graph, &host_node, &one, nullptr, 1));
	TRY(cudaGraphAddDependencies(graph, &one, &combined, nullptr, 1));
	cudaGraphExec_t impossible = nullptr;
	const cudaError_t error = cudaGraphInstantiate(&impossible, graph, 0);
	sample::expect(error != cudaSuccess, "a circle was accepted");
	cudaGetLastError();

	TRY(cudaGraphExecDestroy(executable));
	TRY(cudaGraphExecDestroy(second));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaFreeHost(host));
	return sample::finish("graph_explicit");
}

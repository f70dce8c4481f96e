// SPDX-License-Identifier: Apache-2.0
//
// Programmatic dependent launch (sm_90): a kernel that may start while its predecessor still runs, prepares what does
// not depend on it, and waits on the device for the rest. A chain of such kernels over one buffer.
// Exercises: the launch attribute for programmatic stream serialization, griddepcontrol.launch_dependents and .wait, an
// ordinary launch in between, a kernel that waits without a predecessor, a chain captured into a graph.
#include "sample.h"

static constexpr int block_size = 128, n_blocks = 8, n = block_size * n_blocks;

// Something to do before the data is needed: a table of the block's own.
__device__ static int prepare(int *table, int seed)
{
	table[threadIdx.x] = seed * 31 + (int)threadIdx.x;
	__syncthreads();
	return table[(threadIdx.x + 1) % block_size];
}

// Reads another block's part, so that it goes wrong if its predecessor has not finished everywhere.
__global__ void link(const int *in, int *out, int seed, bool early)
{
	__shared__ int table[block_size];
	if (early)
		cudaTriggerProgrammaticLaunchCompletion();
	const int prepared = prepare(table, seed);
	cudaGridDependencySynchronize();
	const int i = blockIdx.x * block_size + threadIdx.x;
	out[i] = in[(i + block_size * 3 + 5) % n] * 5 + prepared;
	if (!early)
		cudaTriggerProgrammaticLaunchCompletion();
}

// An ordinary kernel: no wait, but the stream's order holds.
__global__ void ordinary(const int *in, int *out, int seed)
{
	const int i = blockIdx.x * block_size + threadIdx.x;
	out[i] = in[n - 1 - i] + seed;
}

// The predecessor is slow at its end; the successor's first part may overlap with it, its second may not.
__global__ void slow(volatile int *flag, int value)
{
	cudaTriggerProgrammaticLaunchCompletion();
	const long long start = clock64();
	while (clock64() - start < 20000)
		;
	if (threadIdx.x == 0)
		flag[blockIdx.x] = value;
}

__global__ void check_flags(const volatile int *flag, int value, int *n_right)
{
	cudaGridDependencySynchronize();
	if (threadIdx.x < n_blocks && flag[threadIdx.x] == value)
		atomicAdd(n_right, 1);
}

static std::vector<int> link_on_host(const std::vector<int> &in, int seed)
{
	std::vector<int> out(n);
	for (int i = 0; i < n; i++)
		out[i] = in[(i + block_size * 3 + 5) % n] * 5 + seed * 31 + (i + 1) % block_size;
	return out;
}

static cudaLaunchConfig_t configure(cudaLaunchAttribute *attribute, cudaStream_t stream, int blocks)
{
	cudaLaunchConfig_t config = {};
	attribute->id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute->val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = blocks;
	config.blockDim = block_size;
	config.stream = stream;
	config.attrs = attribute;
	config.numAttrs = 1;
	return config;
}

int main()
{
	std::vector<int> values(n);
	for (int i = 0; i < n; i++)
		values[i] = i * i % 1013;
	const sample::Array<int> buffer_a(values), buffer_b(n);
	cudaStream_t stream;
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	cudaLaunchAttribute attribute;
	cudaLaunchConfig_t config = configure(&attribute, stream, n_blocks);
	int *from = buffer_a, *to = buffer_b;
	for (int seed = 0; seed < 20; seed++) {
		if (seed % 7 == 6) {
			ordinary<<<n_blocks, block_size, 0, stream>>>(from, to, seed);
			std::vector<int> next(n);
			for (int i = 0; i < n; i++)
				next[i] = values[n - 1 - i] + seed;
			values = next;
		} else {
			TRY(cudaLaunchKernelEx(&config, link, (const int *)from, to, seed, seed % 2 == 0));
			values = link_on_host(values, seed);
		}
		LAUNCHED();
		std::swap(from, to);
	}
	TRY(cudaStreamSynchronize(stream));
	sample::expect_equal("chain", buffer_a.get(), values);

	// Without the attribute the wait has nothing to wait for.
	link<<<n_blocks, block_size, 0, stream>>>(buffer_a, buffer_b, 3, true);
	LAUNCHED();
	TRY(cudaStreamSynchronize(stream));
	values = link_on_host(values, 3);
	sample::expect_equal("alone", buffer_b.get(), values);

	sample::Array<int> flags(n_blocks), n_right(1);
	flags.fill_bytes(0);
	n_right.fill_bytes(0);
	TRY(cudaDeviceSynchronize());
	for (int value = 1; value <= 5; value++) {
		slow<<<n_blocks, 32, 0, stream>>>((int *)flags, value);
		config.gridDim = 1;
		TRY(cudaLaunchKernelEx(&config, check_flags, (const volatile int *)(int *)flags, value,
				       (int *)n_right));
	}
	TRY(cudaStreamSynchronize(stream));
	sample::expect(n_right.get()[0] == 5 * n_blocks, "flags seen: %d", n_right.get()[0]);

	// The same chain from a graph: the edges are programmatic ones.
	cudaGraph_t graph;
	cudaGraphExec_t executable;
	config.gridDim = n_blocks;
	TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	for (int seed = 0; seed < 4; seed++) {
		int *in = seed % 2 == 0 ? buffer_b : buffer_a, *out = seed % 2 == 0 ? buffer_a : buffer_b;
		TRY(cudaLaunchKernelEx(&config, link, (const int *)in, out, seed, seed % 2 == 0));
	}
	TRY(cudaStreamEndCapture(stream, &graph));
	TRY(cudaGraphInstantiate(&executable, graph, 0));
	for (int repeat = 0; repeat < 3; repeat++) {
		TRY(cudaGraphLaunch(executable, stream));
		for (int seed = 0; seed < 4; seed++)
			values = link_on_host(values, seed);
	}
	TRY(cudaStreamSynchronize(stream));
	sample::expect_equal("graph", buffer_b.get(), values);
	TRY(cudaGraphExecDestroy(executable));
	TRY(cudaGraphDestroy(graph));
	TRY(cudaStreamDestroy(stream));
	return sample::finish("dependent_launch");
}

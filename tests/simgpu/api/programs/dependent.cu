// SPDX-License-Identifier: Apache-2.0
// A dependent kernel starts when its predecessor lets it, and waits for that one's end when it says so.
#include "check.h"

enum { FIRST_START, FIRST_END, SECOND_START, SECOND_GOES_ON, N_TIMES };

static const long long cycles = 200000; // about 100 microseconds

__device__ static unsigned long long now()
{
	unsigned long long ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void first(unsigned long long *times)
{
	long long start = clock64();

	times[FIRST_START] = now();
	cudaTriggerProgrammaticLaunchCompletion();
	while (clock64() - start < cycles)
		;
	times[FIRST_END] = now();
}

__global__ void second(unsigned long long *times)
{
	times[SECOND_START] = now();
	cudaGridDependencySynchronize();
	times[SECOND_GOES_ON] = now();
}

static void run(cudaStream_t stream, unsigned long long *times, bool is_programmatic, bool in_graph)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	cudaGraph_t graph;
	cudaGraphExec_t exec;

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = is_programmatic;
	config.gridDim = config.blockDim = dim3(1);
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
	if (in_graph)
		OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	first<<<1, 1, 0, stream>>>(times);
	OK(cudaLaunchKernelEx(&config, second, times));
	if (in_graph) {
		OK(cudaStreamEndCapture(stream, &graph));
		OK(cudaGraphInstantiate(&exec, graph, 0));
		OK(cudaGraphLaunch(exec, stream));
	}
	OK(cudaStreamSynchronize(stream));
	CHECK(times[SECOND_GOES_ON] >= times[FIRST_END]);
	if (is_programmatic)
		CHECK(times[SECOND_START] < times[FIRST_START] + 10000);
	else
		CHECK(times[SECOND_START] >= times[FIRST_END]);
	if (in_graph) {
		OK(cudaGraphExecDestroy(exec));
		OK(cudaGraphDestroy(graph));
	}
}

int main()
{
	unsigned long long *times;
	cudaStream_t stream;

	OK(cudaStreamCreate(&stream));
	OK(cudaMallocManaged(&times, N_TIMES * sizeof(*times)));
	for (int i = 0; i < 4; i++)
		run(stream, times, i & 1, i & 2);
	puts("dependent ok");
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Launches that record events themselves. A kernel's first blocks produce, then the grid lets whoever waits for its
// programmatic event go on; another stream waits for that. And a kernel that spins until a second one, which waits only
// for the first to have begun (its launch completion event), has answered.
// Exercises: cudaLaunchAttributeProgrammaticEvent, cudaLaunchAttributeLaunchCompletionEvent, their misuse.
#include "sample.h"

static constexpr int n = 256;

__global__ void produce(int *values, int factor)
{
	values[blockIdx.x * blockDim.x + threadIdx.x] = factor * (blockIdx.x * blockDim.x + threadIdx.x);
	__threadfence();
	cudaTriggerProgrammaticLaunchCompletion();
}

__global__ void twice(const int *values, int *to)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	to[i] = 2 * values[i];
}

__global__ void ask(volatile int *question, volatile int *answer)
{
	*question = 41;
	__threadfence();
	while (*answer == 0)
		;
}

__global__ void reply(volatile int *question, volatile int *answer)
{
	while (*question == 0)
		;
	*answer = *question + 1;
}

static cudaLaunchConfig_t configure(int blocks, int threads, cudaStream_t stream, cudaLaunchAttribute *attribute)
{
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(blocks);
	config.blockDim = dim3(threads);
	config.stream = stream;
	config.attrs = attribute;
	config.numAttrs = 1;
	return config;
}

int main()
{
	sample::Array<int> values(n), doubled(n), talk(2);
	cudaStream_t first, second;
	cudaEvent_t event, timed;
	TRY(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
	TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
	TRY(cudaEventCreate(&timed));

	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeProgrammaticEvent;
	attribute.val.programmaticEvent.event = event;
	cudaLaunchConfig_t config = configure(n / 64, 64, first, &attribute);
	TRY(cudaLaunchKernelEx(&config, produce, (int *)values, 3));
	TRY(cudaStreamWaitEvent(second, event, 0));
	twice<<<n / 64, 64, 0, second>>>(values, doubled);
	TRY(cudaStreamSynchronize(second));
	TRY(cudaStreamSynchronize(first));
	std::vector<int> should(n);
	for (int i = 0; i < n; i++)
		should[i] = 6 * i;
	sample::expect_equal("doubled", doubled.get(), should);

	talk.fill_bytes(0);
	TRY(cudaDeviceSynchronize());
	attribute.id = cudaLaunchAttributeLaunchCompletionEvent;
	attribute.val.launchCompletionEvent.event = event;
	attribute.val.launchCompletionEvent.flags = 0;
	config = configure(1, 1, first, &attribute);
	TRY(cudaLaunchKernelEx(&config, ask, (volatile int *)(int *)talk, (volatile int *)(int *)talk + 1));
	TRY(cudaStreamWaitEvent(second, event, 0));
	reply<<<1, 1, 0, second>>>((int *)talk, (int *)talk + 1);
	TRY(cudaDeviceSynchronize());
	sample::expect(talk.get()[1] == 42, "the answer is %d", talk.get()[1]);
	TRY(cudaEventQuery(event));

	// An event with a time will not do.
	attribute.val.launchCompletionEvent.event = timed;
	const cudaError_t error = cudaLaunchKernelEx(&config, produce, (int *)values, 1);
	sample::expect(error == cudaErrorInvalidValue, "an event with a time gives %s", cudaGetErrorName(error));
	cudaGetLastError();
	TRY(cudaStreamDestroy(first));
	TRY(cudaStreamDestroy(second));
	return sample::finish("launch_events");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * doors.cu - launches through the CUDA runtime, in ways chosen by the argument. Every launch has 4 blocks of 2 warps,
 * and each warp runs "step" once. Prints how often each element was incremented.
 */
#include "elements.cuh"
#include <warpspan.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	atomicAdd(&data[blockIdx.x * blockDim.x + threadIdx.x], 1);
}

static int *make_data()
{
	int *data = nullptr;
	cudaMalloc(&data, ELEMENTS * sizeof(int));
	cudaMemset(data, 0, ELEMENTS * sizeof(int));
	return data;
}

/* Four ways of launching: 5 + 1 + 1 + 1 launches. */
static void launch_every_way()
{
	int *data = make_data();
	void *arguments[] = { &data };
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute cluster = {};
	for (int i = 0; i < 5; i++)
		step<<<BLOCKS, THREADS>>>(data);
	cudaLaunchKernel(reinterpret_cast<const void *>(step), dim3(BLOCKS), dim3(THREADS), arguments, 0, nullptr);
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(THREADS);
	cluster.id = cudaLaunchAttributeClusterDimension;
	cluster.val.clusterDim = { 2, 1, 1 };
	config.attrs = &cluster;
	config.numAttrs = 1;
	cudaLaunchKernelExC(&config, reinterpret_cast<const void *>(step), arguments);
	cudaLaunchCooperativeKernel(reinterpret_cast<const void *>(step), dim3(BLOCKS), dim3(THREADS), arguments, 0,
				    nullptr);
	cudaDeviceSynchronize();
	print_data(data);
}

/* As nvcc up to 12 compiles <<<>>>: 3 launches. */
static void launch_by_call()
{
	int *data = make_data();
	void *arguments[] = { &data };
	for (int i = 0; i < 3; i++)
		cudaLaunchKernel(reinterpret_cast<const void *>(step), dim3(BLOCKS), dim3(THREADS), arguments, 0,
				 nullptr);
	print_data(data);
}

#ifdef WARPSPAN_RUNTIME_12
/* Headers of 13 do not declare it any more. */
extern "C" cudaError_t of_12(const char *symbol, void **function, unsigned long long flags,
			     cudaDriverEntryPointQueryResult *status) __asm__("cudaGetDriverEntryPoint");

/* The driver's function from a runtime of 12, without a version: 2 launches. */
static void launch_by_entry_point()
{
	typedef int launch_kernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
				  void **, void **);
	int *data = make_data();
	void *arguments[] = { &data };
	void *found = nullptr;
	cudaFunction_t function;
	cudaDriverEntryPointQueryResult status;
	printf("%s\n", cudaGetErrorName(of_12("cuLaunchKernel", &found, cudaEnableDefault, &status)));
	cudaGetFuncBySymbol(&function, reinterpret_cast<const void *>(step));
	for (int i = 0; i < 2; i++)
		printf("%d\n", reinterpret_cast<launch_kernel *>(found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0,
									nullptr, arguments, nullptr));
	print_data(data);
}
#endif

/* 8 threads whose first launches come at once: 8 * 20 launches. */
static void launch_from_threads()
{
	int *data = make_data();
	std::vector<std::thread> threads;
	cudaDeviceSynchronize();
	for (int i = 0; i < 8; i++)
		threads.emplace_back([data] {
			cudaStream_t stream;
			cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
			for (int launch = 0; launch < 20; launch++)
				step<<<BLOCKS, THREADS, 0, stream>>>(data);
			cudaStreamSynchronize(stream);
		});
	for (std::thread &thread : threads)
		thread.join();
	print_data(data);
}

/* Three contexts, one after the other: 3 * 2 launches; the last one of each is not waited for. */
static void reset_in_between()
{
	for (int i = 0; i < 3; i++) {
		int *data = make_data();
		step<<<BLOCKS, THREADS>>>(data);
		print_data(data);
		step<<<BLOCKS, THREADS>>>(data);
		printf("reset: %s\n", cudaGetErrorName(cudaDeviceReset()));
	}
}

/* A child that ends like any program, and one that ends at once: 2 launches, both of the parent. */
static void fork_in_between()
{
	int *data = make_data();
	int status = 0;
	step<<<BLOCKS, THREADS>>>(data);
	print_data(data);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		const pid_t child = fork();
		if (child == 0 && i == 0)
			exit(3);
		if (child == 0)
			_exit(4);
		waitpid(child, &status, 0);
		printf("child %d\n", WEXITSTATUS(status));
	}
	step<<<BLOCKS, THREADS>>>(data);
	print_data(data);
}

/* 10 launches that nobody waits for. */
static void leave_without_waiting()
{
	int *data = make_data();
	for (int i = 0; i < 10; i++)
		step<<<BLOCKS, THREADS>>>(data);
	printf("left\n");
}

/* Launches that fail as the program is to see it, then 1 that does not. */
static void fail_first()
{
	int *data = make_data();
	step<<<BLOCKS, 4096>>>(data);
	printf("too many threads: %s\n", cudaGetErrorName(cudaGetLastError()));
	step<<<0, THREADS>>>(data);
	printf("no block: %s\n", cudaGetErrorName(cudaGetLastError()));
	printf("afterwards: %s\n", cudaGetErrorName(cudaGetLastError()));
	step<<<BLOCKS, THREADS>>>(data);
	print_data(data);
}

/* 1 launch that is drained, 1 that faults, 1 after it. */
static void fault()
{
	int *data = make_data();
	step<<<BLOCKS, THREADS>>>(data);
	print_data(data);
	cudaDeviceSynchronize();
	usleep(200000);
	step<<<BLOCKS, THREADS>>>(nullptr);
	printf("fault: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	step<<<BLOCKS, THREADS>>>(data);
	printf("after it: %s\n", cudaGetErrorName(cudaGetLastError()));
}

/* 2000 launches, faster than they are drained. */
static void launch_often()
{
	int *data = make_data();
	for (int i = 0; i < 2000; i++)
		step<<<BLOCKS, THREADS>>>(data);
	print_data(data);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)();
	} modes[] = {
		{ "ways", launch_every_way },       { "threads", launch_from_threads },
		{ "reset", reset_in_between },      { "fork", fork_in_between },
		{ "leave", leave_without_waiting }, { "fail", fail_first },
		{ "often", launch_often },          { "fault", fault },
		{ "call", launch_by_call },
#ifdef WARPSPAN_RUNTIME_12
		{ "entry", launch_by_entry_point },
#endif
	};
	for (const auto &mode : modes)
		if (argc == 2 && strcmp(argv[1], mode.name) == 0) {
			mode.run();
			return 42;
		}
	return 2;
}

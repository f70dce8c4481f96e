/* SPDX-License-Identifier: Apache-2.0
 *
 * race_launch.c - the launch path under the thread sanitizer: 16 threads launch kernels of many modules in every way,
 * wait, copy, make, change and launch graphs while one unloads modules and captures, on a driver that does nothing.
 * Built of the library's own sources, with the lookups of race_lookups.c. A race ends it with the sanitizer's exit
 * status; a lost launch with 1.
 */
#include "counters.h"
#include "cuda_names.h"
#include "race_lookups.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_THREADS  16
#define N_LAUNCHES 6000
#define N_UNLOADS  200
/* Handles of null_driver.c. */
#define BARE  2u
#define FIRST 0x1000u

static _Atomic unsigned n_recorded;

/* The other ways. Returns how many launches are recorded. */
static unsigned launch_otherwise(CUfunction function)
{
	const CUlaunchConfig config = {
		.gridDimX = 1, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 32, .blockDimY = 1, .blockDimZ = 1
	};

	(void)cuLaunchKernelEx(&config, function, NULL, NULL);
	(void)cuLaunchKernelEx_ptsz(&config, function, NULL, NULL);
	(void)cuLaunchCooperativeKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL);
	(void)cuLaunchGrid(function, 1, 1);
	return 3;
}

/* A graph of this thread's own, and an executable of it. */
static void use_a_graph(unsigned self, unsigned i)
{
	const CUDA_KERNEL_NODE_PARAMS_v2 parameters = { .func = (CUfunction)(uintptr_t)(FIRST + i % 400),
							.gridDimX = 1,
							.gridDimY = 1,
							.gridDimZ = 1,
							.blockDimX = 32,
							.blockDimY = 1,
							.blockDimZ = 1 };
	const CUgraph graph = (CUgraph)(uintptr_t)(0x20000 + self);
	CUgraphExec exec = NULL;

	(void)cuGraphInstantiateWithFlags(&exec, graph, 0);
	(void)cuGraphLaunch(exec, NULL);
	(void)cuGraphExecKernelNodeSetParams_v2(exec, (CUgraphNode)graph, &parameters);
	(void)cuGraphNodeSetEnabled(exec, (CUgraphNode)graph, 0);
	(void)cuGraphExecUpdate_v2(exec, graph, NULL);
	(void)cuGraphLaunch(exec, NULL);
	(void)cuGraphExecDestroy(exec);
}

static void *launch_many(void *argument)
{
	const unsigned self = *(const unsigned *)argument;
	unsigned n = 0;

	for (unsigned i = 0; i < N_LAUNCHES; i++) {
		const uintptr_t handle = i % 5 == 0 ? BARE : FIRST + (self * 37 + i * 7) % 400;

		(void)cuLaunchKernel((CUfunction)handle, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		n += handle != BARE;
		if (i % 64 == 0)
			(void)cuMemcpyHtoD_v2(0x100000, &n, sizeof(n));
		if (i % 64 == 32)
			n += launch_otherwise((CUfunction)(uintptr_t)(FIRST + i % 400));
		if (i % 512 == 8) {
			const CUDA_MEMCPY2D rectangle = { .WidthInBytes = 4, .Height = 4 };

			(void)cuMemcpy2D_v2(&rectangle);
			use_a_graph(self, i);
		}
		if (i % 128 == 0)
			(void)cuGraphLaunch((CUgraphExec)1, NULL);
		if (i % 256 == 0)
			(void)cuStreamSynchronize(NULL);
	}
	(void)atomic_fetch_add(&n_recorded, n);
	return NULL;
}

/* Modules nobody uses: what matters is that every handle is forgotten each time. */
static void *unload_and_capture(void *unused)
{
	for (unsigned i = 0; i < N_UNLOADS; i++) {
		CUgraph graph = NULL;

		(void)cuModuleUnload((CUmodule)(uintptr_t)(0x9000 + i));
		(void)cuStreamBeginCapture_v2((CUstream)0x50, CU_STREAM_CAPTURE_MODE_RELAXED);
		(void)cuLaunchKernel((CUfunction)FIRST, 1, 1, 1, 32, 1, 1, 0, (CUstream)0x50, NULL, NULL);
		(void)cuStreamEndCapture((CUstream)0x50, &graph);
		(void)usleep(500);
	}
	return unused;
}

int main(void)
{
	static unsigned numbers[N_THREADS];
	pthread_t threads[N_THREADS], other;
	uint64_t logged;

	if (!race_open_driver() || cuInit(0) != CUDA_SUCCESS)
		return 2;
	for (unsigned i = 0; i < N_THREADS; i++) {
		numbers[i] = i;
		if (pthread_create(&threads[i], NULL, launch_many, &numbers[i]) != 0)
			return 2;
	}
	if (pthread_create(&other, NULL, unload_and_capture, NULL) != 0)
		return 2;
	for (unsigned i = 0; i < N_THREADS; i++)
		(void)pthread_join(threads[i], NULL);
	(void)pthread_join(other, NULL);
	for (unsigned tries = 0; tries < 500; tries++) {
		logged = warpspan_counted(WARPSPAN_COUNTER_launches_recorded) +
			 warpspan_counted(WARPSPAN_COUNTER_log_full);
		/* The other thread's launches, captured or not, come on top. */
		if (logged >= atomic_load(&n_recorded))
			break;
		(void)usleep(10000);
	}
	printf("%llu of %u\n", (unsigned long long)logged, atomic_load(&n_recorded));
	return logged >= atomic_load(&n_recorded) && logged <= atomic_load(&n_recorded) + N_UNLOADS ? 0 : 1;
}

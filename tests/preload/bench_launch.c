/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_launch.c - what a launch costs the launching thread: run without the library it prints the cost of a call,
 * under the library that of a kernel without and of one with the header. On a driver that does nothing
 * (null_driver/null_driver.c); the least of several rounds, in nanoseconds a launch.
 */
#include <cuda.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define N_LAUNCHES 4000u /* fewer than the launch log holds */
#define N_ROUNDS   50u

static double round_ns(CUfunction function)
{
	struct timespec begin, end;

	(void)clock_gettime(CLOCK_MONOTONIC, &begin);
	for (unsigned i = 0; i < N_LAUNCHES; i++)
		(void)cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) / N_LAUNCHES;
}

static void measure(const char *what, uintptr_t handle)
{
	double least = 1e9;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		const double ns = round_ns((CUfunction)handle);

		least = ns < least ? ns : least;
		(void)usleep(2000); /* the collector empties the log */
	}
	printf("%-30s %7.1f ns\n", what, least);
}

int main(void)
{
	if (cuInit(0) != CUDA_SUCCESS)
		return 1;
	measure("kernel without the header", 2);
	measure("kernel with the header", 1);
	return 0;
}

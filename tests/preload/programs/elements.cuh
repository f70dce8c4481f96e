/* SPDX-License-Identifier: Apache-2.0
 *
 * elements.cuh - what the launches of doors.cu and graphs.cu work on: an array with an element for each thread.
 */
#ifndef TESTS_ELEMENTS_CUH
#define TESTS_ELEMENTS_CUH

#include <cstdio>

enum { BLOCKS = 4, THREADS = 64, ELEMENTS = BLOCKS * THREADS };

/* How often each element was incremented. */
inline void print_data(const int *data)
{
	int host[ELEMENTS] = {};
	const cudaError_t error = cudaMemcpy(host, data, sizeof(host), cudaMemcpyDeviceToHost);
	int least = host[0], most = host[0];
	for (int value : host) {
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	printf("each element %d..%d times, %s\n", least, most, cudaGetErrorName(error));
}

#endif

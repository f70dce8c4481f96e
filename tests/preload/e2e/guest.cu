/* SPDX-License-Identifier: Apache-2.0
 *
 * guest.cu WHAT [FILE] - programs that do unusual things with what they share with the library: descriptors, signals,
 * the context. Each prints what it sees, which is the same without the library.
 */
#include <warpspan.cuh>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <fcntl.h>
#include <unistd.h>

template <int N> __global__ void steps(int *out)
{
	WS_OPEN(ws);
	for (int i = 0; i < N; i++) {
		WS_SCOPE(ws, "step");
		out[blockIdx.x] = i;
	}
}

__global__ void trap()
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "trap");
	asm volatile("trap;");
}

static int *memory;

static void launch()
{
	steps<2><<<4, 64>>>(memory);
	printf("guest: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
	fflush(stdout);
	usleep(50000);
}

/* Every descriptor but the standard ones becomes the program's own file. */
static int steal(const char *path)
{
	launch();
	const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	for (int fd = 3; fd < 1024; fd++)
		if (fd != file && dup2(file, fd) < 0)
			return 1;
	if (write(file, "mine\n", 5) != 5)
		return 1;
	launch();
	return 0;
}

/* The number the next file gets is the lowest that the program itself left free. */
static int next_descriptor(const char *path)
{
	steps<2><<<4, 64>>>(memory);
	if (cudaDeviceSynchronize() != cudaSuccess)
		return 1;
	usleep(50000);
	const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char line[32];
	const int bytes = snprintf(line, sizeof(line), "descriptor %d\n", file);
	return write(file, line, bytes) == bytes ? 0 : 1;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (cudaMalloc(&memory, 4096) != cudaSuccess)
		return 2;
	if (strcmp(what, "plain") == 0) {
		launch();
		return 3;
	}
	if (strcmp(what, "refused") == 0) {
		steps<2><<<1, 2000>>>(memory);
		printf("guest: %s\n", cudaGetErrorString(cudaGetLastError()));
		launch();
		return 3;
	}
	if (strcmp(what, "many") == 0) {
		steps<100><<<16, 64>>>(memory);
		printf("guest: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
		return 3;
	}
	if (strcmp(what, "fault") == 0) {
		launch();
		trap<<<1, 32>>>();
		printf("guest: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
		return 3;
	}
	if (strcmp(what, "steal") == 0 && argc == 3)
		return steal(argv[2]);
	if (strcmp(what, "descriptor") == 0 && argc == 3)
		return next_descriptor(argv[2]);
	return 2;
}

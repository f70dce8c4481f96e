/* SPDX-License-Identifier: Apache-2.0
 *
 * overlap.cu - pairs of kernels on two streams that only end if both run at once: every thread of "ask" waits for what
 * all of "answer" write, and these, launched later, wait until all of "ask" have begun: each warp overlaps each.
 * N_ROUNDS pairs one after the other on each of two pairs of streams. Anything that makes one wait for the other's end
 * never ends.
 */
#include <warpspan.cuh>

#include <cstdio>

constexpr int N_PAIRS = 2, N_ROUNDS = 3, N_THREADS = 64;

struct talk {
	int begun, answered;
};

__global__ void ask(talk *with)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "ask");
	atomicAdd(&with->begun, 1);
	while (atomicAdd(&with->answered, 0) != N_THREADS)
		;
}

__global__ void answer(talk *with)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "answer");
	while (atomicAdd(&with->begun, 0) != N_THREADS)
		;
	atomicAdd(&with->answered, 1);
}

int main()
{
	talk *talks, result[N_PAIRS][N_ROUNDS];
	cudaStream_t streams[N_PAIRS][2];
	cudaMalloc(&talks, sizeof(result));
	cudaMemset(talks, 0, sizeof(result));
	for (auto &pair : streams)
		for (cudaStream_t &stream : pair)
			cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaDeviceSynchronize();

	for (int round = 0; round < N_ROUNDS; round++)
		for (int pair = 0; pair < N_PAIRS; pair++) {
			ask<<<1, N_THREADS, 0, streams[pair][0]>>>(talks + pair * N_ROUNDS + round);
			answer<<<1, N_THREADS, 0, streams[pair][1]>>>(talks + pair * N_ROUNDS + round);
		}
	cudaDeviceSynchronize();

	cudaMemcpy(result, talks, sizeof(result), cudaMemcpyDeviceToHost);
	int n = 0;
	for (const auto &pair : result)
		for (const talk &talk : pair)
			n += talk.begun == N_THREADS && talk.answered == N_THREADS;
	printf("overlap: %d pairs, %s\n", n, cudaGetErrorString(cudaGetLastError()));
	return n != N_PAIRS * N_ROUNDS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * streams.cu - many small launches: N_ROUNDS times fill, scale and sum on each of N_STREAMS streams, all in flight at
 * once, without a synchronisation in between.
 *
 * "fill" and "scale" run once per warp of their launches (N_BLOCKS * N_THREADS / 32 warps); "sum" is one block, its
 * region "add" runs once per warp and "reduce" once per warp, with a mark "done" by the first warp.
 */
#include <warpspan.cuh>

#include <cstdio>

constexpr int N_STREAMS = 4, N_ROUNDS = 20;
constexpr int N_BLOCKS = 4, N_THREADS = 128;
constexpr int N = N_BLOCKS * N_THREADS;

__global__ void fill(float *data, float value)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "fill");
	data[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void scale(float *data, float factor)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "scale");
	data[blockIdx.x * blockDim.x + threadIdx.x] *= factor;
}

__global__ void sum(const float *data, float *total)
{
	__shared__ float partial[N_THREADS];
	WS_OPEN(ws);
	{
		WS_SCOPE(ws, "add");
		float mine = 0;
		for (int i = threadIdx.x; i < N; i += N_THREADS)
			mine += data[i];
		partial[threadIdx.x] = mine;
	}
	__syncthreads();
	WS_SCOPE(ws, "reduce");
	for (int half = N_THREADS / 2; half > 0; half /= 2) {
		if (threadIdx.x < half)
			partial[threadIdx.x] += partial[threadIdx.x + half];
		__syncthreads();
	}
	if (threadIdx.x == 0) {
		*total += partial[0];
		WS_MARK(ws, "done");
	}
}

int main()
{
	cudaStream_t streams[N_STREAMS];
	float *data[N_STREAMS], *totals;
	cudaMalloc(&totals, N_STREAMS * sizeof(float));
	cudaMemset(totals, 0, N_STREAMS * sizeof(float));
	for (int s = 0; s < N_STREAMS; s++) {
		cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking);
		cudaMalloc(&data[s], N * sizeof(float));
	}
	cudaDeviceSynchronize();

	for (int round = 0; round < N_ROUNDS; round++) {
		for (int s = 0; s < N_STREAMS; s++) {
			fill<<<N_BLOCKS, N_THREADS, 0, streams[s]>>>(data[s], static_cast<float>(s + 1));
			scale<<<N_BLOCKS, N_THREADS, 0, streams[s]>>>(data[s], 2.0f);
			sum<<<1, N_THREADS, 0, streams[s]>>>(data[s], totals + s);
		}
	}
	for (int s = 0; s < N_STREAMS; s++)
		cudaStreamSynchronize(streams[s]);

	float result[N_STREAMS];
	cudaMemcpy(result, totals, sizeof(result), cudaMemcpyDeviceToHost);
	int wrong = 0;
	for (int s = 0; s < N_STREAMS; s++)
		wrong += result[s] != static_cast<float>(N_ROUNDS) * N * (s + 1) * 2.0f;
	const cudaError_t error = cudaGetLastError();
	printf("streams: %d launches on %d streams, %d wrong, %s\n", 3 * N_ROUNDS * N_STREAMS, N_STREAMS, wrong,
	       cudaGetErrorString(error));
	for (int s = 0; s < N_STREAMS; s++) {
		cudaStreamDestroy(streams[s]);
		cudaFree(data[s]);
	}
	cudaFree(totals);
	return wrong != 0 || error != cudaSuccess;
}

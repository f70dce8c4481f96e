/* SPDX-License-Identifier: Apache-2.0
 *
 * replays.cu - a graph of three kernels (step, step, finish) replayed N_REPLAYS times, with the same kernels launched
 * on their own before and after, and other work on a second stream all the while.
 */
#include <warpspan.cuh>

#include <cstdio>

constexpr int N_REPLAYS = 5, N_BLOCKS = 2, N_THREADS = 64;

__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	data[blockIdx.x * blockDim.x + threadIdx.x]++;
}

__global__ void finish(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "finish");
	data[threadIdx.x] += 100;
}

__global__ void aside(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "aside");
	data[threadIdx.x]++;
}

int main()
{
	int *data, *other, result[N_BLOCKS * N_THREADS];
	cudaStream_t stream, second;
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	cudaMalloc(&data, sizeof(result));
	cudaMalloc(&other, sizeof(result));
	cudaMemset(data, 0, sizeof(result));
	cudaMemset(other, 0, sizeof(result));
	cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
	cudaDeviceSynchronize();

	step<<<N_BLOCKS, N_THREADS, 0, stream>>>(data);
	cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
	step<<<N_BLOCKS, N_THREADS, 0, stream>>>(data);
	step<<<N_BLOCKS, N_THREADS, 0, stream>>>(data);
	finish<<<1, N_THREADS, 0, stream>>>(data);
	cudaStreamEndCapture(stream, &graph);
	cudaGraphInstantiate(&exec, graph, 0);
	for (int i = 0; i < N_REPLAYS; i++) {
		aside<<<3, N_THREADS, 0, second>>>(other);
		cudaGraphLaunch(exec, stream);
	}
	step<<<N_BLOCKS, N_THREADS, 0, stream>>>(data);
	cudaDeviceSynchronize();

	cudaMemcpy(result, data, sizeof(result), cudaMemcpyDeviceToHost);
	int wrong = 0;
	for (int i = 0; i < N_BLOCKS * N_THREADS; i++)
		wrong += result[i] != 2 + 2 * N_REPLAYS + (i < N_THREADS ? 100 * N_REPLAYS : 0);
	const cudaError_t error = cudaGetLastError();
	printf("replays: %d replays, %d wrong, %s\n", N_REPLAYS, wrong, cudaGetErrorString(error));
	cudaGraphExecDestroy(exec);
	cudaGraphDestroy(graph);
	cudaStreamDestroy(stream);
	cudaStreamDestroy(second);
	cudaFree(data);
	cudaFree(other);
	return wrong != 0 || error != cudaSuccess;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * sleepy.cu - kernels that take their time: 3 launches on each of 2 streams and 2 replays of a graph, 20 ms each. Long
 * enough for the host's calls to have a place beside them, also on a device that is simulated slowly.
 */
#include <warpspan.cuh>

#include <cstdio>

__global__ void sleepy(int *done)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "sleep");
	for (int i = 0; i < 40; i++)
		__nanosleep(500000);
	if (threadIdx.x == 0)
		atomicAdd(done, 1);
}

int main()
{
	int *done = nullptr, count = 0;
	cudaStream_t streams[2];
	cudaGraph_t graph;
	cudaGraphExec_t replay;
	cudaMalloc(&done, sizeof(int));
	cudaMemset(done, 0, sizeof(int));
	for (cudaStream_t &stream : streams)
		cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
	cudaDeviceSynchronize();
	for (int i = 0; i < 3; i++) {
		for (cudaStream_t stream : streams)
			sleepy<<<1, 64, 0, stream>>>(done);
		for (cudaStream_t stream : streams)
			cudaStreamSynchronize(stream);
	}
	cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal);
	sleepy<<<1, 64, 0, streams[0]>>>(done);
	cudaStreamEndCapture(streams[0], &graph);
	cudaGraphInstantiate(&replay, graph, 0);
	for (int i = 0; i < 2; i++) {
		cudaGraphLaunch(replay, streams[0]);
		cudaStreamSynchronize(streams[0]);
	}
	cudaMemcpy(&count, done, sizeof(count), cudaMemcpyDeviceToHost);
	printf("sleepy: %d kernels, %s\n", count, cudaGetErrorString(cudaGetLastError()));
	return count != 8;
}

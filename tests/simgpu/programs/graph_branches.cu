// SPDX-License-Identifier: Apache-2.0
//
// Branches of one graph that need each other: a relay of kernels, each of which spins until the one before it, in a
// branch beside its own, has handed it a number. They end only if they run at the same time. The graph is forked from
// one captured stream into several and joined again, with a host function in a branch of its own.
// Exercises: capture across streams, branches that run concurrently, volatile and fenced communication between grids.
#include "sample.h"

#include <atomic>

static constexpr int n_runners = 6;

struct Relay {
	unsigned baton[n_runners + 1];
	unsigned received[n_runners];
};

__global__ void run(Relay *relay, int runner)
{
	volatile unsigned *baton = relay->baton;
	while (baton[runner] == 0)
		;
	__threadfence();
	relay->received[runner] = baton[runner];
	__threadfence();
	baton[runner + 1] = baton[runner] + 1;
}

__global__ void start(Relay *relay)
{
	volatile unsigned *baton = relay->baton;
	baton[0] = 1;
}

static void CUDART_CB count(void *data)
{
	++*static_cast<std::atomic<int> *>(data);
}

int main()
{
	sample::Array<Relay> relay(1);
	std::atomic<int> n_host(0);
	cudaStream_t streams[n_runners + 1];
	cudaEvent_t forked, joined[n_runners + 1];
	for (cudaStream_t &stream : streams)
		TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	TRY(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
	for (cudaEvent_t &event : joined)
		TRY(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

	TRY(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeGlobal));
	TRY(cudaMemsetAsync(relay, 0, sizeof(Relay), streams[0]));
	TRY(cudaEventRecord(forked, streams[0]));
	for (int i = 1; i <= n_runners; i++)
		TRY(cudaStreamWaitEvent(streams[i], forked, 0));
	// The last one first: in this order, one after the other, none could end.
	for (int i = n_runners; i >= 1; i--)
		run<<<1, 1, 0, streams[i]>>>(relay, i - 1);
	TRY(cudaLaunchHostFunc(streams[0], count, &n_host));
	start<<<1, 1, 0, streams[0]>>>(relay);
	for (int i = 1; i <= n_runners; i++) {
		TRY(cudaEventRecord(joined[i], streams[i]));
		TRY(cudaStreamWaitEvent(streams[0], joined[i], 0));
	}
	cudaGraph_t graph;
	TRY(cudaStreamEndCapture(streams[0], &graph));
	cudaGraphExec_t exec;
	TRY(cudaGraphInstantiate(&exec, graph, 0));

	for (int launch = 1; launch <= 3; launch++) {
		TRY(cudaGraphLaunch(exec, streams[0]));
		TRY(cudaStreamSynchronize(streams[0]));
		const Relay seen = relay.get()[0];
		for (unsigned i = 0; i < n_runners; i++)
			sample::expect(seen.received[i] == i + 1, "runner %u received %u", i, seen.received[i]);
		sample::expect(n_host == launch, "the host function ran %d times", (int)n_host);
	}
	TRY(cudaGraphExecDestroy(exec));
	TRY(cudaGraphDestroy(graph));
	for (cudaStream_t stream : streams)
		TRY(cudaStreamDestroy(stream));
	return sample::finish("graph_branches");
}

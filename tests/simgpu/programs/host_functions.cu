// SPDX-License-Identifier: Apache-2.0
//
// Host functions in streams: they run in order with kernels and copies, on a thread that is not the caller's, and hold
// up the stream until they return. A pipeline whose middle stage is on the host, and the older stream callbacks.
// Exercises: cudaLaunchHostFunc, cudaStreamAddCallback, page-locked memory, two streams whose host functions meet.
#include "sample.h"

#include <atomic>
#include <chrono>
#include <thread>

static constexpr int n = 2048, n_chunks = 6;

__global__ void square(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = in[i] * in[i];
}

__global__ void negate(const int *in, int *out)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = -in[i];
}

struct Chunk {
	int *middle; // page-locked
	int number;
	std::thread::id thread;
	static std::atomic<int> n_done;
};

std::atomic<int> Chunk::n_done;

// Between the kernels: on the host, slowly.
static void CUDART_CB add_number(void *data)
{
	Chunk *chunk = static_cast<Chunk *>(data);
	std::this_thread::sleep_for(std::chrono::milliseconds(2));
	for (int i = 0; i < n; i++)
		chunk->middle[i] += chunk->number;
	chunk->thread = std::this_thread::get_id();
	Chunk::n_done++;
}

static void run_pipeline()
{
	cudaStream_t streams[2];
	for (cudaStream_t &stream : streams)
		TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	std::vector<int> values(n * n_chunks), should(n * n_chunks);
	for (int i = 0; i < n * n_chunks; i++) {
		values[i] = i % 1000;
		should[i] = -(values[i] * values[i] + i / n * 100000);
	}
	const sample::Array<int> in(values), middle(values.size()), out(values.size());
	Chunk chunks[n_chunks];
	int *host_middle;
	TRY(cudaMallocHost(&host_middle, values.size() * sizeof(int)));
	for (int i = 0; i < n_chunks; i++) {
		cudaStream_t stream = streams[i % 2];
		const size_t first = (size_t)i * n, bytes = n * sizeof(int);
		chunks[i].middle = host_middle + first;
		chunks[i].number = i * 100000;
		square<<<n / 256, 256, 0, stream>>>(in + first, middle + first);
		TRY(cudaMemcpyAsync(host_middle + first, middle + first, bytes, cudaMemcpyDeviceToHost, stream));
		TRY(cudaLaunchHostFunc(stream, add_number, &chunks[i]));
		TRY(cudaMemcpyAsync(middle + first, host_middle + first, bytes, cudaMemcpyHostToDevice, stream));
		negate<<<n / 256, 256, 0, stream>>>(middle + first, out + first);
		LAUNCHED();
	}
	for (cudaStream_t stream : streams)
		TRY(cudaStreamSynchronize(stream));
	sample::expect(Chunk::n_done == n_chunks, "%d chunks", (int)Chunk::n_done);
	sample::expect_equal("pipeline", out.get(), should);
	for (const Chunk &chunk : chunks)
		sample::expect(chunk.thread != std::this_thread::get_id() && chunk.thread != std::thread::id(),
			       "a host function ran on the caller's thread");
	TRY(cudaFreeHost(host_middle));
	for (cudaStream_t stream : streams)
		TRY(cudaStreamDestroy(stream));
}

struct Order {
	std::vector<int> entries;
	std::atomic<bool> go{ false };
	cudaStream_t stream;
	cudaError_t status = cudaErrorUnknown;
};

static void CUDART_CB wait_for_go(void *data)
{
	Order *order = static_cast<Order *>(data);
	while (!order->go)
		std::this_thread::yield();
	order->entries.push_back(1);
}

static void CUDART_CB enter_two(void *data)
{
	static_cast<Order *>(data)->entries.push_back(2);
}

static void CUDART_CB enter_three(cudaStream_t stream, cudaError_t status, void *data)
{
	Order *order = static_cast<Order *>(data);
	order->entries.push_back(3);
	order->status = stream == order->stream ? status : cudaErrorInvalidResourceHandle;
}

// A function that does not return holds up its stream, and only that.
static void check_order()
{
	Order order;
	cudaStream_t other;
	TRY(cudaStreamCreateWithFlags(&order.stream, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	const sample::Array<int> in(std::vector<int>(n, 9)), out(n);
	TRY(cudaLaunchHostFunc(order.stream, wait_for_go, &order));
	TRY(cudaLaunchHostFunc(order.stream, enter_two, &order));
	TRY(cudaStreamAddCallback(order.stream, enter_three, &order, 0));
	negate<<<n / 256, 256, 0, other>>>(in, out);
	TRY(cudaStreamSynchronize(other));
	sample::expect(cudaStreamQuery(order.stream) == cudaErrorNotReady, "the stream went on without its function");
	sample::expect(order.entries.empty(), "entries before the first");
	order.go = true;
	TRY(cudaStreamSynchronize(order.stream));
	sample::expect_equal("order", order.entries, { 1, 2, 3 });
	sample::expect(order.status == cudaSuccess, "callback: %s", cudaGetErrorName(order.status));
	TRY(cudaStreamDestroy(order.stream));
	TRY(cudaStreamDestroy(other));
}

int main()
{
	run_pipeline();
	check_order();
	return sample::finish("host_functions");
}

// SPDX-License-Identifier: Apache-2.0
//
// Persistent kernels that feed themselves. First a queue of tasks in global memory to which every block adds what it
// finds while it works (a quadtree cut where a field varies much), with a count of tasks that are not done for the end.
// Then a kernel that runs as long as the host wants and answers requests through mapped memory.
// Exercises: atomics with acquire and release order, spinning across blocks, tickets, system-scope fences, nanosleep.
#include "sample.h"

#include <cuda/atomic>

static constexpr unsigned capacity = 4096;

struct Square {
	int x, y, size, depth;
};

struct Queue {
	Square squares[capacity];
	unsigned ready[capacity]; // whether the slot has been filled
	unsigned head, tail, n_open;
};

__host__ __device__ inline int field(int x, int y)
{
	return x * x * 3 - y * y + x * y * 2;
}

__host__ __device__ inline bool varies(const Square &square)
{
	const int right = square.x + square.size, bottom = square.y + square.size;
	const int corners[4] = { field(square.x, square.y), field(right, square.y), field(square.x, bottom),
				 field(right, bottom) };
	int lowest = corners[0], highest = corners[0];
	for (int corner : corners) {
		lowest = corner < lowest ? corner : lowest;
		highest = corner > highest ? corner : highest;
	}
	return square.depth < 8 && highest - lowest > 300000;
}

__device__ void push(Queue *queue, const Square &square)
{
	cuda::atomic_ref<unsigned, cuda::thread_scope_device> tail(queue->tail), open(queue->n_open);
	open.fetch_add(1, cuda::memory_order_relaxed);
	const unsigned slot = tail.fetch_add(1, cuda::memory_order_relaxed);
	if (slot >= capacity)
		__trap();
	queue->squares[slot] = square;
	cuda::atomic_ref<unsigned, cuda::thread_scope_device>(queue->ready[slot]).store(1, cuda::memory_order_release);
}

// A warp takes a ticket, waits for its slot to be filled, and ends when nothing is open any more.
__global__ void subdivide(Queue *queue, unsigned *n_leaves, unsigned long long *area_units)
{
	cuda::atomic_ref<unsigned, cuda::thread_scope_device> head(queue->head), open(queue->n_open);
	const unsigned lane = threadIdx.x % 32;
	for (;;) {
		unsigned ticket = 0;
		if (lane == 0)
			ticket = head.fetch_add(1, cuda::memory_order_relaxed);
		ticket = __shfl_sync(0xffffffffu, ticket, 0);
		bool filled = false;
		while (!filled) {
			if (ticket < capacity)
				filled = cuda::atomic_ref<unsigned, cuda::thread_scope_device>(queue->ready[ticket])
						 .load(cuda::memory_order_acquire) != 0;
			// Nothing open: no slot will be filled any more.
			if (!filled && open.load(cuda::memory_order_acquire) == 0)
				return;
			filled = __all_sync(0xffffffffu, filled);
			if (!filled)
				__nanosleep(100);
		}
		const Square square = queue->squares[ticket];
		if (varies(square)) {
			if (lane < 4) {
				const int half = square.size / 2;
				push(queue, { square.x + (int)(lane & 1) * half, square.y + (int)(lane >> 1) * half,
					      half, square.depth + 1 });
			}
		} else if (lane == 0) {
			atomicAdd(n_leaves, 1u);
			atomicAdd(area_units, 1ull << (2 * (10 - square.depth)));
		}
		__syncwarp();
		if (lane == 0)
			open.fetch_sub(1, cuda::memory_order_release);
	}
}

static unsigned leaves_on_host(const Square &square)
{
	if (!varies(square))
		return 1;
	unsigned n = 0;
	const int half = square.size / 2;
	for (int i = 0; i < 4; i++)
		n += leaves_on_host({ square.x + (i & 1) * half, square.y + (i >> 1) * half, half, square.depth + 1 });
	return n;
}

// --- requests from the host
// ----------------------------------------------------------------------------------------------
struct Mailbox {
	int request, answer; // numbers of the last request and of the last answer
	int value, result;
};

static constexpr int stop = -1;

// Every thread takes part in an answer; the last one to arrive tells the host.
__global__ void serve(Mailbox *mailbox, const int *table, int n)
{
	__shared__ int request, value, sum;
	cuda::atomic_ref<int, cuda::thread_scope_system> incoming(mailbox->request), outgoing(mailbox->answer);
	for (int last = 0;;) {
		if (threadIdx.x == 0) {
			sum = 0;
			while ((request = incoming.load(cuda::memory_order_acquire)) == last)
				__nanosleep(500);
			value = static_cast<volatile Mailbox *>(mailbox)->value;
		}
		__syncthreads();
		if (request == stop)
			return;
		int own = 0;
		for (int i = threadIdx.x; i < n; i += blockDim.x)
			own += table[i] * value;
		atomicAdd(&sum, own);
		__syncthreads();
		last = request;
		if (threadIdx.x == 0) {
			mailbox->result = sum;
			outgoing.store(request, cuda::memory_order_release);
		}
		__syncthreads();
	}
}

static void run_subdivision()
{
	Queue *queue;
	sample::Array<unsigned> n_leaves(1);
	sample::Array<unsigned long long> area(1);
	const Square all = { -1024, -1024, 2048, 0 };
	const unsigned one = 1;
	TRY(cudaMalloc(&queue, sizeof(Queue)));
	TRY(cudaMemset(queue, 0, sizeof(Queue)));
	TRY(cudaMemcpy(&queue->squares[0], &all, sizeof(all), cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(&queue->ready[0], &one, sizeof(one), cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(&queue->tail, &one, sizeof(one), cudaMemcpyHostToDevice));
	TRY(cudaMemcpy(&queue->n_open, &one, sizeof(one), cudaMemcpyHostToDevice));
	n_leaves.fill_bytes(0);
	area.fill_bytes(0);
	subdivide<<<4, 64>>>(queue, n_leaves, area);
	LAUNCHED();
	const unsigned should = leaves_on_host(all), is = n_leaves.get()[0];
	sample::expect(is == should && should > 500, "leaves: %u, not %u", is, should);
	sample::expect(area.get()[0] == 1ull << 20, "the leaves cover %llu units, not all", area.get()[0]);
	printf("%u leaves\n", is);
	TRY(cudaFree(queue));
}

static void run_server()
{
	const int n = 1000;
	std::vector<int> table(n);
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += table[i] = i % 37 - 10;
	const sample::Array<int> device_table(table);
	Mailbox *mailbox, *device_mailbox;
	cudaStream_t stream;
	TRY(cudaHostAlloc((void **)&mailbox, sizeof(Mailbox), cudaHostAllocMapped));
	TRY(cudaHostGetDevicePointer((void **)&device_mailbox, mailbox, 0));
	TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	*mailbox = {};
	serve<<<1, 96, 0, stream>>>(device_mailbox, device_table, n);
	LAUNCHED();
	for (int request = 1; request <= 20; request++) {
		mailbox->value = request * request;
		__atomic_store_n(&mailbox->request, request, __ATOMIC_RELEASE);
		while (__atomic_load_n(&mailbox->answer, __ATOMIC_ACQUIRE) != request)
			;
		sample::expect(mailbox->result == sum * request * request, "request %d: %d", request, mailbox->result);
	}
	__atomic_store_n(&mailbox->request, stop, __ATOMIC_RELEASE);
	TRY(cudaStreamSynchronize(stream));
	TRY(cudaStreamDestroy(stream));
	TRY(cudaFreeHost(mailbox));
}

int main()
{
	run_subdivision();
	run_server();
	return sample::finish("work_queue");
}

// SPDX-License-Identifier: Apache-2.0
//
// cuda::barrier in shared memory: producer and consumer warps that hand a ring of buffers back and forth, arrival apart
// from waiting, threads that drop out, a completion function, copies of cuda::memcpy_async that a barrier waits for;
// and cuda::atomic_ref, cuda::latch, cuda::counting_semaphore between warps. Exercises: mbarrier in the forms libcu++
// uses, phases of both parities, waits with and without time limits.
#include "sample.h"

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/latch>
#include <cuda/semaphore>

#include <new>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

static constexpr int slots = 3, slot_items = 64, n_consumers = 3;

// One warp reads, three warps add up; each slot has a barrier for "full" and one for "free".
__global__ void ring(const int *values, int n_slots_of_work, long long *sums)
{
	__shared__ int buffers[slots][slot_items];
	__shared__ alignas(Barrier) unsigned char storage[2 * slots * sizeof(Barrier)];
	Barrier *full = reinterpret_cast<Barrier *>(storage), *free = full + slots;
	if (threadIdx.x < 2 * slots)
		new (&full[threadIdx.x]) Barrier(blockDim.x);
	__syncthreads();
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	const int *own = values + (size_t)blockIdx.x * n_slots_of_work * slot_items;
	if (warp == 0) {
		for (int i = 0; i < n_slots_of_work; i++) {
			const int slot = i % slots;
			if (i >= slots)
				free[slot].arrive_and_wait();
			for (int k = lane; k < slot_items; k += 32)
				buffers[slot][k] = own[i * slot_items + k];
			(void)full[slot].arrive();
		}
		return;
	}
	long long sum = 0;
	for (int i = 0; i < n_slots_of_work; i++) {
		const int slot = i % slots;
		full[slot].arrive_and_wait();
		for (int k = (warp - 1) * 32 + lane; k < slot_items; k += 32 * n_consumers)
			sum += (long long)buffers[slot][k] * (i + 1);
		if (i + slots < n_slots_of_work)
			(void)free[slot].arrive();
	}
	for (int distance = 16; distance > 0; distance /= 2)
		sum += __shfl_down_sync(0xffffffffu, sum, distance);
	if (lane == 0)
		atomicAdd((unsigned long long *)&sums[blockIdx.x], (unsigned long long)sum);
}

struct CountPhases {
	int *n;
	__device__ void operator()() noexcept
	{
		++*n;
	}
};

// Work between arrival and waiting; one warp leaves after the first half of the phases.
__global__ void dropping(int *results, int *n_phases)
{
	using Counting = cuda::barrier<cuda::thread_scope_block, CountPhases>;
	__shared__ alignas(Counting) unsigned char storage[sizeof(Counting)];
	__shared__ int counted, shared[64];
	Counting *barrier = reinterpret_cast<Counting *>(storage);
	if (threadIdx.x == 0) {
		counted = 0;
		new (barrier) Counting(blockDim.x, CountPhases{ &counted });
	}
	shared[threadIdx.x] = 0;
	__syncthreads();
	int sum = 0;
	for (int phase = 0; phase < 10; phase++) {
		if (phase == 5 && threadIdx.x >= 32) {
			barrier->arrive_and_drop();
			return;
		}
		shared[threadIdx.x] = phase + (int)threadIdx.x;
		Counting::arrival_token token = barrier->arrive();
		sum = sum * 3 % 10007;
		barrier->wait(std::move(token));
		sum += shared[(threadIdx.x + 1) % (phase < 5 ? 64 : 32)];
		barrier->arrive_and_wait();
	}
	results[threadIdx.x] = sum;
	if (threadIdx.x == 0)
		*n_phases = counted;
}

// The copy arrives at the barrier when it has landed.
__global__ void copied(const int4 *in, int4 *out, int n)
{
	__shared__ int4 buffer[128];
	__shared__ alignas(Barrier) unsigned char storage[sizeof(Barrier)];
	Barrier *barrier = reinterpret_cast<Barrier *>(storage);
	if (threadIdx.x == 0)
		new (barrier) Barrier(blockDim.x);
	__syncthreads();
	for (int start = blockIdx.x * 128; start < n; start += gridDim.x * 128) {
		cuda::memcpy_async(&buffer[threadIdx.x], &in[start + threadIdx.x], cuda::aligned_size_t<16>(16),
				   *barrier);
		barrier->arrive_and_wait();
		const int4 other = buffer[127 - threadIdx.x];
		barrier->arrive_and_wait();
		out[start + threadIdx.x] = make_int4(other.w, other.z, other.y, other.x);
	}
}

// A latch opens once; a semaphore lets two warps at a time through; the highest number of warps inside is kept.
__global__ void gates(int *most_inside, int *n_passed)
{
	using Latch = cuda::latch<cuda::thread_scope_block>;
	using Semaphore = cuda::counting_semaphore<cuda::thread_scope_block, 2>;
	__shared__ alignas(Latch) unsigned char latch_storage[sizeof(Latch)];
	__shared__ alignas(Semaphore) unsigned char semaphore_storage[sizeof(Semaphore)];
	__shared__ int inside;
	Latch *latch = reinterpret_cast<Latch *>(latch_storage);
	Semaphore *semaphore = reinterpret_cast<Semaphore *>(semaphore_storage);
	if (threadIdx.x == 0) {
		new (latch) Latch(blockDim.x / 32);
		new (semaphore) Semaphore(2);
		inside = 0;
	}
	__syncthreads();
	if (threadIdx.x % 32 != 0)
		return;
	latch->arrive_and_wait();
	cuda::atomic_ref<int, cuda::thread_scope_block> now(inside);
	cuda::atomic_ref<int, cuda::thread_scope_device> most(*most_inside), passed(*n_passed);
	for (int i = 0; i < 5; i++) {
		semaphore->acquire();
		most.fetch_max(now.fetch_add(1) + 1);
		__nanosleep(200);
		now.fetch_sub(1);
		semaphore->release();
		passed.fetch_add(1, cuda::std::memory_order_relaxed);
	}
}

int main()
{
	const int blocks = 4, work = 20, n = blocks * work * slot_items;
	sample::Random random(1);
	std::vector<int> values(n);
	std::vector<long long> should(blocks, 0);
	for (int i = 0; i < n; i++) {
		values[i] = (int)random.below(1000000) - 500000;
		should[i / (work * slot_items)] += (long long)values[i] * (i / slot_items % work + 1);
	}
	const sample::Array<int> device_values(values);
	sample::Array<long long> sums(blocks);
	sums.fill_bytes(0);
	ring<<<blocks, 32 * (1 + n_consumers)>>>(device_values, work, sums);
	LAUNCHED();
	sample::expect_equal("ring", sums.get(), should);

	sample::Array<int> results(64), counts(3);
	results.fill_bytes(0xff);
	counts.fill_bytes(0);
	dropping<<<1, 64>>>(results, counts);
	LAUNCHED();
	std::vector<int> should_results(64, -1);
	for (int t = 0; t < 32; t++) {
		int sum = 0;
		for (int phase = 0; phase < 10; phase++)
			sum = sum * 3 % 10007 + phase + (t + 1) % (phase < 5 ? 64 : 32);
		should_results[t] = sum;
	}
	sample::expect_equal("dropping", results.get(), should_results);
	sample::expect(counts.get()[0] == 20, "phases completed: %d", counts.get()[0]);

	const int n_vectors = n / 4;
	const sample::Array<int> reversed(n);
	copied<<<3, 128>>>(reinterpret_cast<const int4 *>((int *)device_values),
			   reinterpret_cast<int4 *>((int *)reversed), n_vectors / 128 * 128);
	LAUNCHED();
	std::vector<int> should_reversed(n);
	for (int i = 0; i < n; i++)
		should_reversed[i] = values[i / 512 * 512 + 511 - i % 512];
	sample::expect_equal("copied", reversed.get(), should_reversed);

	gates<<<1, 128>>>(counts + 1, counts + 2);
	LAUNCHED();
	const std::vector<int> is = counts.get();
	sample::expect(is[1] >= 1 && is[1] <= 2 && is[2] == 20, "inside at once: %d, passed: %d", is[1], is[2]);
	return sample::finish("block_barrier");
}

// SPDX-License-Identifier: Apache-2.0
//
// Bulk copies (sm_90): one thread asks for a whole stretch of memory, the copy engine fetches it and counts its bytes
// down at an mbarrier; results go back the same way. A ring of stages fed by one thread of a producer warp, two
// consumer warps, as a warp-specialised kernel does it. Exercises: cp.async.bulk in both directions,
// mbarrier.arrive.expect_tx, try_wait.parity, bulk groups, fence.proxy.async, elect.sync, warps with roles of their
// own.
#include "sample.h"

static constexpr int stages = 3, stage_items = 512, n_consumers = 2, block_size = 32 * (1 + n_consumers);
static constexpr unsigned stage_bytes = stage_items * sizeof(float);

__device__ static unsigned shared_address(const void *pointer)
{
	return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void init_barrier(uint64_t *barrier, unsigned count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

__device__ static void arrive(uint64_t *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ static void arrive_expecting(uint64_t *barrier, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
		     : "memory");
}

__device__ static void wait(uint64_t *barrier, unsigned parity)
{
	asm volatile("{\n\t"
		     ".reg .pred done;\n"
		     "again:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
		     "@!done bra again;\n\t"
		     "}" ::"r"(shared_address(barrier)),
		     "r"(parity)
		     : "memory");
}

__device__ static void fetch(void *to, const void *from, unsigned bytes, uint64_t *barrier)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
			     shared_address(to)),
		     "l"(from), "r"(bytes), "r"(shared_address(barrier))
		     : "memory");
}

// What the threads wrote to shared memory has to be visible to the copy engine first.
__device__ static void send(void *to, const void *from, unsigned bytes)
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
		     "r"(bytes)
		     : "memory");
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

__device__ static bool elected()
{
	unsigned one;
	asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(one));
	return one != 0;
}

// out = in * factor + the value of the neighbor within the stage; the last stretch may be shorter.
__global__ void __launch_bounds__(block_size) streamed(const float *in, float *out, int n, float factor)
{
	__shared__ alignas(128) float buffers[stages][stage_items], results[n_consumers][stage_items / n_consumers];
	__shared__ alignas(8) uint64_t full[stages], empty[stages];
	const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n_stretches = (n + stage_items - 1) / stage_items;
	if (threadIdx.x == 0) {
		for (int i = 0; i < stages; i++) {
			init_barrier(&full[i], 1);
			init_barrier(&empty[i], n_consumers);
		}
		asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
	}
	__syncthreads();
	if (warp == 0) {
		if (elected())
			for (int stretch = blockIdx.x, step = 0; stretch < n_stretches; stretch += gridDim.x, step++) {
				const int stage = step % stages, round = step / stages;
				if (round > 0)
					wait(&empty[stage], (round - 1) & 1);
				const unsigned bytes = min(stage_bytes, (unsigned)(n - stretch * stage_items) * 4);
				arrive_expecting(&full[stage], bytes);
				fetch(buffers[stage], in + (size_t)stretch * stage_items, bytes, &full[stage]);
			}
		return;
	}
	const int consumer = warp - 1, each = stage_items / n_consumers;
	for (int stretch = blockIdx.x, step = 0; stretch < n_stretches; stretch += gridDim.x, step++) {
		const int stage = step % stages, items = min(stage_items, n - stretch * stage_items);
		const int first = consumer * each, own = max(0, min(each, items - first));
		wait(&full[stage], step / stages & 1);
		// The buffer for results is free when the engine has read the ones before.
		if (lane == 0)
			asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
		__syncwarp();
		for (int i = lane; i < own; i += 32)
			results[consumer][i] =
				fmaf(buffers[stage][first + i], factor, buffers[stage][(first + i + 1) % items]);
		__syncwarp();
		if (lane == 0) {
			arrive(&empty[stage]);
			if (own > 0)
				send(out + (size_t)stretch * stage_items + first, results[consumer], (unsigned)own * 4);
		}
	}
	// Nobody leaves before the engine has written everything.
	if (lane == 0)
		asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static void run(int n, int blocks)
{
	const float factor = 0.75f;
	sample::Random random(n);
	std::vector<float> in(n), should(n);
	for (float &value : in)
		value = random.real();
	for (int i = 0; i < n; i++) {
		const int start = i / stage_items * stage_items,
			  items = n - start < stage_items ? n - start : stage_items;
		should[i] = fmaf(in[i], factor, in[start + (i - start + 1) % items]);
	}
	const sample::Array<float> device_in(in);
	sample::Array<float> device_out(n);
	device_out.fill_bytes(0xff);
	streamed<<<blocks, block_size>>>(device_in, device_out, n, factor);
	LAUNCHED();
	if (sample::expect_equal("streamed", device_out.get(), should))
		printf("%d values by %d blocks\n", n, blocks);
}

int main()
{
	run(stage_items, 1);
	run(stage_items * 10, 1);
	run(stage_items * 40 + 128, 4);
	run(300 * 4, 2);
	run(64, 8);
	return sample::finish("bulk_copy");
}

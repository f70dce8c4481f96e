// SPDX-License-Identifier: Apache-2.0
//
// cuda::pipeline: copies into shared memory several stages ahead of the computation, by all threads alike (unified), by
// one warp for the others (partitioned), and by each thread for itself.
// Exercises: libcu++'s pipeline on cp.async and mbarriers, stages acquired and released out of step, producer and
// consumer roles, the tail when nothing is left to fetch.
#include "sample.h"

#include <cooperative_groups.h>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// The shared state is constructed by make_pipeline(), as CUDA's own examples leave it.
#pragma nv_diag_suppress static_var_with_dynamic_init

static constexpr int block_size = 128, batch = block_size;

__device__ static float work(float value, float neighbor)
{
	return fmaf(value, 0.5f, neighbor);
}

// All threads copy, all compute; a value meets its neighbor's of the same batch, so the shared memory is needed.
template <int stages> __global__ void unified(const float *in, float *out, int n_batches)
{
	__shared__ float buffers[stages][batch];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	cg::thread_block block = cg::this_thread_block();
	auto pipeline = cuda::make_pipeline(block, &state);
	const int per_block = n_batches / gridDim.x, first = blockIdx.x * per_block;
	int fetched = 0;
	for (int i = 0; i < per_block; i++) {
		for (; fetched < per_block && fetched < i + stages; fetched++) {
			pipeline.producer_acquire();
			cuda::memcpy_async(block, buffers[fetched % stages], in + (size_t)(first + fetched) * batch,
					   sizeof(float) * batch, pipeline);
			pipeline.producer_commit();
		}
		pipeline.consumer_wait();
		const float *buffer = buffers[i % stages];
		out[(size_t)(first + i) * batch + threadIdx.x] =
			work(buffer[threadIdx.x], buffer[(threadIdx.x + 1) % batch]);
		pipeline.consumer_release();
	}
}

// The first warp copies, the other three compute.
template <int stages> __global__ void partitioned(const float *in, float *out, int n_batches)
{
	__shared__ float buffers[stages][batch];
	__shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
	cg::thread_block block = cg::this_thread_block();
	const bool produces = threadIdx.x < 32;
	auto pipeline = cuda::make_pipeline(block, &state,
					    produces ? cuda::pipeline_role::producer : cuda::pipeline_role::consumer);
	for (int i = blockIdx.x, stage = 0; i < n_batches; i += gridDim.x, stage = (stage + 1) % stages) {
		if (produces) {
			pipeline.producer_acquire();
			for (int k = threadIdx.x; k < batch / 4; k += 32)
				cuda::memcpy_async(&buffers[stage][k * 4], &in[(size_t)i * batch + k * 4],
						   cuda::aligned_size_t<16>(16), pipeline);
			pipeline.producer_commit();
		} else {
			pipeline.consumer_wait();
			for (int k = threadIdx.x - 32; k < batch; k += block_size - 32)
				out[(size_t)i * batch + k] = work(buffers[stage][k], buffers[stage][(k + 1) % batch]);
			pipeline.consumer_release();
		}
	}
}

// Every thread its own pipeline: no barrier at all, each reads only what it copied.
__global__ void own_pipelines(const float *in, float *out, int n)
{
	constexpr int stages = 4;
	__shared__ float buffers[stages][block_size];
	cuda::pipeline<cuda::thread_scope_thread> pipeline = cuda::make_pipeline();
	const int stride = gridDim.x * block_size, start = blockIdx.x * block_size + threadIdx.x;
	int ahead = start;
	for (int i = start, step = 0; i < n; i += stride, step++) {
		for (; ahead < n && ahead < i + stages * stride; ahead += stride) {
			pipeline.producer_acquire();
			cuda::memcpy_async(&buffers[(ahead - start) / stride % stages][threadIdx.x], &in[ahead],
					   cuda::aligned_size_t<4>(4), pipeline);
			pipeline.producer_commit();
		}
		pipeline.consumer_wait();
		out[i] = work(buffers[step % stages][threadIdx.x], 1.0f);
		pipeline.consumer_release();
	}
}

int main()
{
	const int n_batches = 96, n = n_batches * batch;
	sample::Random random(5);
	std::vector<float> in(n), neighbors(n), ones(n);
	for (float &value : in)
		value = random.real();
	for (int i = 0; i < n; i++) {
		neighbors[i] = fmaf(in[i], 0.5f, in[i / batch * batch + (i + 1) % batch]);
		ones[i] = fmaf(in[i], 0.5f, 1.0f);
	}
	const sample::Array<float> device_in(in);
	sample::Array<float> device_out(n);
	void (*const kernels[])(const float *, float *, int) = { unified<2>, unified<4>, partitioned<2>,
								 partitioned<3> };
	const char *const names[] = { "unified, 2 stages", "unified, 4 stages", "partitioned, 2 stages",
				      "partitioned, 3 stages" };
	for (int i = 0; i < 4; i++) {
		device_out.fill_bytes(0xff);
		kernels[i]<<<6, block_size>>>(device_in, device_out, n_batches);
		LAUNCHED();
		if (sample::expect_equal(names[i], device_out.get(), neighbors))
			printf("%s\n", names[i]);
	}
	device_out.fill_bytes(0xff);
	own_pipelines<<<5, block_size>>>(device_in, device_out, n - 7);
	LAUNCHED();
	std::vector<float> is = device_out.get();
	is.resize(n - 7);
	ones.resize(n - 7);
	sample::expect_equal("own pipelines", is, ones);
	return sample::finish("pipeline_copy");
}

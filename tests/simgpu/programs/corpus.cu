// SPDX-License-Identifier: Apache-2.0
// Never run: PTX in all its variety for the parser's tests. Each kernel collects what one part of CUDA C++ compiles to.
#include <cooperative_groups.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cassert>
#include <cstdint>
#include <cstdio>

namespace cg = cooperative_groups;

struct __attribute__((packed)) packed_record {
	char tag;
	const char *text;
	int value;
};

struct descriptor {
	uint32_t magic, kind;
	const char *name, *file;
};

struct big {
	int words[5];
	double number;
};

typedef int (*unary)(int);

static __device__ const char message[] = "hello";
__device__ packed_record record = { 'x', message, 5 };
__device__ descriptor description = { 1, 2, "abc", "file.cu" };
__constant__ float table[8] = { 1, 2, 3, 4.5f };
__constant__ double numbers[2] = { 1.5, -0.0 };
__device__ int *pointers[3];
extern __shared__ int dynamic_words[];

__device__ int next(int a)
{
	return a + 1;
}

__device__ int twice(int a)
{
	return a * 2;
}

__device__ unary functions[2] = { next, twice };

__device__ __noinline__ int combine(int a, float b, descriptor d)
{
	return a * 3 + (int)b + d.kind;
}

__device__ __noinline__ big make(int a)
{
	big b;

	for (int i = 0; i < 5; i++)
		b.words[i] = a * i;
	b.number = a;
	return b;
}

__global__ void everyday(int *o, float *f, double *d, int n, big b)
{
	__shared__ int words[32];
	int local[16];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	words[threadIdx.x & 31] = i;
	dynamic_words[threadIdx.x] = i;
	__syncthreads();
	for (int j = 0; j < 16; j++)
		local[(j * n) & 15] = j;
	big q = make(n);
	o[i] = combine(i, f[i], description) + words[(i + 1) & 31] + local[i & 15] + q.words[i % 5] + b.words[i % 5] +
	       (int)q.number + dynamic_words[i] + record.value + (int)numbers[i & 1] + *pointers[n];
	f[i] = sinf(f[i]) + __expf(f[i]) + sqrtf(f[i]) + table[i & 7] + powf(f[i], 2.3f) / f[i + 1] + tanhf(f[i]);
	d[i] = sin(d[i]) / numbers[i & 1] + sqrt(d[i]) + exp(d[i]);
	switch (n) {
	case 0:
		o[i] += 1;
		break;
	case 1:
		o[i] *= 3;
		break;
	case 2:
		o[i] -= 7;
		break;
	case 3:
		o[i] ^= 9;
		break;
	case 4:
		o[i] |= 77;
		break;
	case 5:
		o[i] = __popc(o[i]);
		break;
	default:
		o[i] = __clz(o[i]) + __ffs(o[i]) + __brev(o[i]);
	}
	o[threadIdx.x] = functions[threadIdx.x & 1](o[threadIdx.x]);
}

__global__ void warps(int *o, int n)
{
	int i = threadIdx.x, all;

	o[i] += __shfl_xor_sync(-1, o[i], 3) + __ballot_sync(-1, i & 1) + __any_sync(-1, i) +
		__shfl_down_sync(-1, i, 2);
	o[i] += __match_any_sync(-1, i & 3) + __activemask();
#if __CUDA_ARCH__ >= 800
	o[i] += __reduce_add_sync(-1, i);
#endif
	o[i] += __match_all_sync(-1, i & 3, &all) + all;
	__syncwarp();
	o[i] += __syncthreads_count(i & 1) + __syncthreads_or(i & 2) + __syncthreads_and(n);
	auto group = cg::this_thread_block();
	group.sync();
	auto tile = cg::tiled_partition<8>(group);
	o[i] += tile.shfl_xor(i, 1);
	auto coalesced = cg::coalesced_threads();
	o[i] += coalesced.size();
	o[i] += clock() + clock64();
	asm volatile("pmevent 1;");
	if (o[i] == 77)
		printf("x %d\n", i);
	assert(o[i] != 79);
	if (o[i] == 78)
		__trap();
}

__global__ void atomics(int *o, unsigned long long *u, float *f, double *d, __half *h, __nv_bfloat16 *b)
{
	int i = threadIdx.x;

	atomicAdd(o, 1);
	atomicMax(o + 1, i);
	atomicCAS(o + 2, 0, i);
	atomicExch(o + 3, i);
	atomicAdd(u, 1ull);
	atomicAdd(f, 1.f);
	atomicAdd(d, 1.0);
	atomicInc((unsigned *)o + 5, 7);
	atomicDec((unsigned *)o + 6, 7);
	atomicAnd(o, 3);
	atomicOr(u, 4ull);
	atomicXor(o, 3);
	atomicMin(u, 3ull);
	atomicAdd_block(o, 3);
	atomicAdd_system(o, 2);
	atomicAdd(h, h[3]);
	atomicAdd(b, b[3]);
	cuda::atomic_ref<int, cuda::thread_scope_device> device_word(o[9]);
	device_word.fetch_add(1, cuda::std::memory_order_acq_rel);
	device_word.store(5, cuda::std::memory_order_release);
	o[1] = device_word.load(cuda::std::memory_order_acquire);
	cuda::atomic_ref<unsigned long long, cuda::thread_scope_system> system_word(u[9]);
	system_word.fetch_add(1);
	system_word.wait(3);
	__threadfence();
	__threadfence_block();
	__threadfence_system();
	__nanosleep(100);
}

__global__ void arithmetic(int *o, unsigned long long *u, float *f, double *d, __half *h, __nv_bfloat16 *b)
{
	int i = threadIdx.x;

	h[i] = __hadd(h[i], h[i + 1]) * h[i] + hexp(h[i]);
#if __CUDA_ARCH__ >= 800
	b[i] = __hfma(b[i], b[i + 1], b[i + 2]);
#endif
	h[i + 2] = __float2half(f[i]);
	b[3] = __float2bfloat16(f[3]);
	__half2 pair = __half2half2(h[0]);
	pair = __hfma2(pair, pair, pair);
	h[7] = __low2half(pair);
	o[i] = __dp4a(o[i], o[i + 1], o[i + 2]) + __mulhi(i, o[i]) + __umulhi(i, 3) + __mul24(i, 5) + __sad(i, 3, 4) +
	       __funnelshift_l(i, o[i], 3) + __byte_perm(i, o[i], 0x3210) + __vadd2(i, 3) + __float_as_int(f[3]) +
	       (int)__mul64hi(i, 4) + (int)min((long long)i, u[4]);
	o[i + 1] = (int)f[i] + (unsigned char)d[i] + __float2int_rn(f[i]) + __double2ll_rd(d[1]) + isnan(f[3]) +
		   (f[i] < d[i]) + i / o[2] + i % o[3] + (int)(u[3] / u[4]);
	f[1] = floorf(f[2]) + rintf(f[3]) + truncf(f[4]) + fabsf(f[5]) + fminf(f[1], f[2]) + __saturatef(f[3]) +
	       copysignf(f[1], f[2]) + fmaf(f[1], f[2], f[3]) + __fdividef(f[1], f[2]) + __frcp_rn(f[3]) +
	       rsqrtf(f[3]) + __logf(f[3]) + __cosf(f[1]) + (float)u[3] + (float)i + ldexpf(f[1], i);
	d[1] = rint(d[2]) + fma(d[1], d[2], d[3]) + (double)u[3] + (double)f[1] + fmin(d[1], d[2]) + 1.0 / d[4] +
	       rsqrt(d[4]);
}

__global__ void copies(int *o)
{
	using barrier = cuda::barrier<cuda::thread_scope_block>;
	__shared__ barrier b;
	__shared__ int4 buffer[128];

	if (threadIdx.x == 0)
		init(&b, blockDim.x);
	__syncthreads();
	cuda::memcpy_async(buffer, (int4 *)o, sizeof(int4) * 128, b);
	b.arrive_and_wait();
	auto token = b.arrive();
	b.wait(std::move(token));
	o[threadIdx.x] = buffer[threadIdx.x].x;
	__pipeline_memcpy_async(&buffer[threadIdx.x], &((int4 *)o)[threadIdx.x], 16);
	__pipeline_commit();
	__pipeline_wait_prior(0);
	o[1] = buffer[3].y;
}

#if __CUDA_ARCH__ >= 900
__global__ void __cluster_dims__(2, 1, 1) clusters(int *o)
{
	__shared__ int word;
	auto cluster = cg::this_cluster();

	word = cluster.block_rank();
	cluster.sync();
	o[blockIdx.x] = *cluster.map_shared_rank(&word, cluster.block_rank() ^ 1);
	cluster.sync();
}
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * pipeline.cu - C = A * B by warp-specialised blocks: warp 0 copies tiles of A and B into a ring of stages in shared
 * memory, warps 1 to 4 multiply them. Two mbarriers guard each stage: `full` (the copies have landed) and `empty`
 * (every multiplying warp has let go of it). Runs on sm_80 and later.
 *
 * What to look for in the timeline: the copying warp fills the ring at once and then waits for an empty stage as long
 * as one multiplication takes; the multiplying warps wait long for the first full stage and hardly ever again.
 *
 * Per block, with N_TILES = K / TILE_K: "wait empty", "copy" and the value "tile" N_TILES times by one warp;
 * "wait full" and "multiply" N_TILES times and "store" once by each of four warps.
 */
#include <warpspan.cuh>

#include <cstdint>
#include <cstdio>
#include <vector>

constexpr int M = 256, N = 256, K = 256;
constexpr int TILE_M = 64, TILE_N = 64, TILE_K = 16;
constexpr int N_STAGES = 4;
constexpr int N_TILES = K / TILE_K;
constexpr int N_CONSUMERS = 4;
constexpr int N_THREADS = 32 * (1 + N_CONSUMERS);

struct Stage {
	float a[TILE_M][TILE_K];
	float b[TILE_K][TILE_N];
};

struct Ring {
	Stage stage[N_STAGES];
	uint64_t full[N_STAGES];
	uint64_t empty[N_STAGES];
};

__device__ uint32_t shared_address(const void *pointer)
{
	return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__device__ void barrier_init(uint64_t *barrier, uint32_t arrivals)
{
	asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}

__device__ void barrier_arrive(uint64_t *barrier)
{
	asm volatile("{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [%0]; }" ::"r"(shared_address(barrier))
		     : "memory");
}

/* Waits until the phase with this parity has ended. */
__device__ void barrier_wait(uint64_t *barrier, uint32_t parity)
{
	uint32_t done = 0;
	while (!done) {
#if __CUDA_ARCH__ >= 900
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done)
			     : "r"(shared_address(barrier)), "r"(parity)
			     : "memory");
#else
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
			     : "=r"(done)
			     : "r"(shared_address(barrier)), "r"(parity)
			     : "memory");
#endif
	}
}

/* 16 bytes from global to shared memory, asynchronously. */
__device__ void copy_async(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

/* This thread arrives at the barrier when the copies it has issued have landed. */
__device__ void arrive_when_copied(uint64_t *barrier)
{
	asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

__device__ void produce(warpspan::recorder &ws, Ring &ring, const float *a, const float *b)
{
	const int lane = threadIdx.x % 32;
	const float *a_rows = a + blockIdx.y * TILE_M * K;
	const float *b_columns = b + blockIdx.x * TILE_N;

	for (int tile = 0; tile < N_TILES; tile++) {
		const int slot = tile % N_STAGES;
		{
			WS_SCOPE(ws, "wait empty");
			barrier_wait(&ring.empty[slot], (tile / N_STAGES + 1) % 2);
		}
		WS_SCOPE(ws, "copy");
		WS_VALUE(ws, "tile", tile);
		Stage &stage = ring.stage[slot];
		for (int i = lane * 4; i < TILE_M * TILE_K; i += 32 * 4)
			copy_async(&stage.a[i / TILE_K][i % TILE_K],
				   a_rows + (i / TILE_K) * K + tile * TILE_K + i % TILE_K);
		for (int i = lane * 4; i < TILE_K * TILE_N; i += 32 * 4)
			copy_async(&stage.b[i / TILE_N][i % TILE_N],
				   b_columns + (tile * TILE_K + i / TILE_N) * N + i % TILE_N);
		arrive_when_copied(&ring.full[slot]);
	}
}

__device__ void consume(warpspan::recorder &ws, Ring &ring, float *c)
{
	const int lane = threadIdx.x % 32;
	const int rows = TILE_M / N_CONSUMERS; /* of this warp; each lane has two columns */
	const int first_row = (threadIdx.x / 32 - 1) * rows;
	float sum[rows][2] = {};

	for (int tile = 0; tile < N_TILES; tile++) {
		const int slot = tile % N_STAGES;
		{
			WS_SCOPE(ws, "wait full");
			barrier_wait(&ring.full[slot], tile / N_STAGES % 2);
		}
		WS_BEGIN(ws, "multiply");
		const Stage &stage = ring.stage[slot];
		for (int k = 0; k < TILE_K; k++) {
			const float left = stage.b[k][lane], right = stage.b[k][lane + 32];
#pragma unroll
			for (int row = 0; row < rows; row++) {
				sum[row][0] += stage.a[first_row + row][k] * left;
				sum[row][1] += stage.a[first_row + row][k] * right;
			}
		}
		__syncwarp();
		if (lane == 0)
			barrier_arrive(&ring.empty[slot]);
		WS_END(ws, "multiply");
	}

	WS_SCOPE(ws, "store");
	float *c_tile = c + (blockIdx.y * TILE_M + first_row) * N + blockIdx.x * TILE_N;
#pragma unroll
	for (int row = 0; row < rows; row++) {
		c_tile[row * N + lane] = sum[row][0];
		c_tile[row * N + lane + 32] = sum[row][1];
	}
}

__global__ void __launch_bounds__(N_THREADS) pipeline(const float *a, const float *b, float *c)
{
	__shared__ __align__(16) Ring ring;
	if (threadIdx.x == 0) {
		for (int slot = 0; slot < N_STAGES; slot++) {
			barrier_init(&ring.full[slot], 32);
			barrier_init(&ring.empty[slot], N_CONSUMERS);
		}
	}
	__syncthreads();

	WS_OPEN(ws);
	if (threadIdx.x < 32)
		produce(ws, ring, a, b);
	else
		consume(ws, ring, c);
}

/* Small whole numbers, so that float sums are exact in any order. */
static float element(int row, int column)
{
	return static_cast<float>((row * 7 + column * 3) % 11 - 5);
}

int main()
{
	std::vector<float> a(M * K), b(K * N), c(M * N);
	for (int i = 0; i < M * K; i++)
		a[i] = element(i / K, i % K);
	for (int i = 0; i < K * N; i++)
		b[i] = element(i % N, i / N);

	float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
	cudaMalloc(&device_a, a.size() * sizeof(float));
	cudaMalloc(&device_b, b.size() * sizeof(float));
	cudaMalloc(&device_c, c.size() * sizeof(float));
	cudaMemcpy(device_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice);
	cudaMemcpy(device_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice);
	pipeline<<<dim3(N / TILE_N, M / TILE_M), N_THREADS>>>(device_a, device_b, device_c);
	cudaError_t error = cudaDeviceSynchronize();
	if (error == cudaSuccess)
		error = cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost);

	int wrong = 0;
	for (int row = 0; row < M; row++) {
		for (int column = 0; column < N; column++) {
			float sum = 0;
			for (int k = 0; k < K; k++)
				sum += a[row * K + k] * b[k * N + column];
			wrong += sum != c[row * N + column];
		}
	}
	printf("pipeline: %dx%dx%d, %d blocks of %d threads, %d wrong, %s\n", M, N, K, M / TILE_M * (N / TILE_N),
	       N_THREADS, wrong, cudaGetErrorString(error));
	cudaFree(device_a);
	cudaFree(device_b);
	cudaFree(device_c);
	return wrong != 0 || error != cudaSuccess;
}

// SPDX-License-Identifier: Apache-2.0
//
// Histograms of bytes: straight into global memory, in shared memory first, one per warp, and with lanes of a warp that
// hold the same value adding once for all of them. The input is uniform, skewed, and constant: the worst for atomics.
// Exercises: atomics on shared and global memory with and without a result, match and popc, byte and 16-byte loads.
#include "sample.h"

static constexpr unsigned n_bins = 256, block_size = 256;

__global__ void in_global(const uint8_t *bytes, unsigned n, unsigned *bins)
{
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&bins[bytes[i]], 1u);
}

__global__ void in_shared(const uint8_t *bytes, unsigned n, unsigned *bins)
{
	__shared__ unsigned shared[n_bins];
	for (unsigned i = threadIdx.x; i < n_bins; i += blockDim.x)
		shared[i] = 0;
	__syncthreads();
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&shared[bytes[i]], 1u);
	__syncthreads();
	for (unsigned i = threadIdx.x; i < n_bins; i += blockDim.x)
		if (shared[i] != 0)
			atomicAdd(&bins[i], shared[i]);
}

// Counters of 16 bits, two in a word, one set a warp; 16 bytes a load.
__global__ void per_warp(const uint4 *words, unsigned n, unsigned *bins)
{
	__shared__ unsigned shared[block_size / 32][n_bins / 2];
	unsigned *own = shared[threadIdx.x / 32];
	for (unsigned i = threadIdx.x; i < block_size / 32 * n_bins / 2; i += blockDim.x)
		(&shared[0][0])[i] = 0;
	__syncthreads();
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		const uint4 word = words[i];
		const unsigned parts[4] = { word.x, word.y, word.z, word.w };
#pragma unroll
		for (int part = 0; part < 4; part++)
#pragma unroll
			for (int shift = 0; shift < 32; shift += 8) {
				const unsigned byte = parts[part] >> shift & 0xff;
				atomicAdd(&own[byte / 2], byte % 2 != 0 ? 0x10000u : 1u);
			}
	}
	__syncthreads();
	for (unsigned i = threadIdx.x; i < n_bins; i += blockDim.x) {
		unsigned sum = 0;
		for (unsigned warp = 0; warp < block_size / 32; warp++)
			sum += shared[warp][i / 2] >> (i % 2 * 16) & 0xffff;
		if (sum != 0)
			atomicAdd(&bins[i], sum);
	}
}

// Lanes with the same byte find each other; the lowest of them adds. Also counts how many additions that took.
__global__ void matched(const uint8_t *bytes, unsigned n, unsigned *bins, unsigned *n_additions)
{
	const unsigned lane = threadIdx.x % 32;
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		const unsigned byte = bytes[i];
		const unsigned same = __match_any_sync(__activemask(), byte);
		if (lane == (unsigned)__ffs(same) - 1) {
			atomicAdd(&bins[byte], (unsigned)__popc(same));
			atomicAdd(n_additions, 1u);
		}
	}
}

enum Shape { UNIFORM, SKEWED, CONSTANT };

static std::vector<uint8_t> make_bytes(Shape shape, unsigned n)
{
	sample::Random random(shape + 1);
	std::vector<uint8_t> bytes(n);
	for (uint8_t &byte : bytes) {
		const unsigned value = random.below(256);
		byte = shape == UNIFORM ? value : shape == SKEWED ? value * value / 256 * value / 256 : 77;
	}
	return bytes;
}

static void run(Shape shape, unsigned n)
{
	const std::vector<uint8_t> bytes = make_bytes(shape, n);
	std::vector<unsigned> should(n_bins, 0);
	for (uint8_t byte : bytes)
		should[byte]++;
	const sample::Array<uint8_t> device_bytes(bytes);
	sample::Array<unsigned> bins(n_bins), n_additions(1);

	bins.fill_bytes(0);
	in_global<<<8, block_size>>>(device_bytes, n, bins);
	LAUNCHED();
	sample::expect_equal("in global memory", bins.get(), should);

	bins.fill_bytes(0);
	in_shared<<<8, block_size>>>(device_bytes, n, bins);
	LAUNCHED();
	sample::expect_equal("in shared memory", bins.get(), should);

	bins.fill_bytes(0);
	per_warp<<<4, block_size>>>(reinterpret_cast<const uint4 *>((const uint8_t *)device_bytes), n / 16, bins);
	LAUNCHED();
	sample::expect_equal("per warp", bins.get(), should);

	bins.fill_bytes(0);
	n_additions.fill_bytes(0);
	matched<<<8, block_size>>>(device_bytes, n, bins, n_additions);
	LAUNCHED();
	sample::expect_equal("matched", bins.get(), should);
	const unsigned additions = n_additions.get()[0];
	sample::expect(shape == CONSTANT ? additions == n / 32 : additions > n / 32 && additions <= n,
		       "%u additions for %u bytes", additions, n);
}

int main()
{
	const unsigned n = 64 * 1024;
	run(UNIFORM, n);
	run(SKEWED, n);
	run(CONSTANT, n);
	return sample::finish("histogram");
}

// SPDX-License-Identifier: Apache-2.0
//
// Bitonic sort: the small steps of a stage within shared memory, the large ones through global memory, and a whole sort
// of 32 elements in the registers of a warp.
// Exercises: exclusive-or addressing, compare and exchange of several types, min/max, many launches in a row.
#include "sample.h"

#include <algorithm>
#include <type_traits>

static constexpr unsigned block_items = 512; // two elements a thread

template <typename T> __device__ void compare_exchange(T &low, T &high, bool ascending)
{
	if ((low > high) == ascending) {
		const T other = low;
		low = high;
		high = other;
	}
}

// Every stage whose distance fits in a block: from `first_stage` to `last_stage`.
template <typename T> __global__ void stages_in_shared(T *data, unsigned first_stage, unsigned last_stage)
{
	__shared__ T shared[block_items];
	T *own = data + blockIdx.x * block_items;
	for (unsigned i = threadIdx.x; i < block_items; i += blockDim.x)
		shared[i] = own[i];
	__syncthreads();
	for (unsigned stage = first_stage; stage <= last_stage; stage *= 2) {
		for (unsigned distance = min(stage / 2, block_items / 2); distance > 0; distance /= 2) {
			const unsigned low = 2 * threadIdx.x - (threadIdx.x & (distance - 1));
			const bool ascending = ((blockIdx.x * block_items + low) & stage) == 0;
			compare_exchange(shared[low], shared[low + distance], ascending);
			__syncthreads();
		}
	}
	for (unsigned i = threadIdx.x; i < block_items; i += blockDim.x)
		own[i] = shared[i];
}

template <typename T> __global__ void step_in_global(T *data, unsigned stage, unsigned distance)
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ distance;
	if (other > i)
		compare_exchange(data[i], data[other], (i & stage) == 0);
}

template <typename T> static void sort(T *data, unsigned n)
{
	stages_in_shared<T><<<n / block_items, block_items / 2>>>(data, 2, block_items);
	for (unsigned stage = 2 * block_items; stage <= n; stage *= 2) {
		for (unsigned distance = stage / 2; distance >= block_items; distance /= 2)
			step_in_global<T><<<n / 256, 256>>>(data, stage, distance);
		stages_in_shared<T><<<n / block_items, block_items / 2>>>(data, stage, stage);
	}
	LAUNCHED();
}

// One element a lane.
template <typename T> __global__ void sort_warps(T *data)
{
	const unsigned lane = threadIdx.x % 32;
	T own = data[blockIdx.x * blockDim.x + threadIdx.x];
	for (unsigned stage = 2; stage <= 32; stage *= 2)
		for (unsigned distance = stage / 2; distance > 0; distance /= 2) {
			const T other = __shfl_xor_sync(0xffffffffu, own, distance);
			const bool ascending = (lane & stage) == 0, is_low = (lane & distance) == 0;
			own = ascending == is_low ? min(own, other) : max(own, other);
		}
	data[blockIdx.x * blockDim.x + threadIdx.x] = own;
}

template <typename T> static void run(const char *type, unsigned n)
{
	sample::Random random(n);
	std::vector<T> values(n);
	for (T &value : values)
		value = (T)(std::fabs(random.real()) * 1e9) - (T)(std::is_signed<T>::value ? 5e8 : 0);
	values[n / 2] = values[n / 3]; // an equal pair at least

	const sample::Array<T> whole(values), warps(values);
	sort<T>(whole, n);
	sort_warps<T><<<n / 128, 128>>>(warps);
	LAUNCHED();

	std::vector<T> by_warps = values;
	for (unsigned i = 0; i < n; i += 32)
		std::sort(&by_warps[i], &by_warps[i] + 32);
	sample::expect_equal(type, warps.get(), by_warps);
	std::sort(values.begin(), values.end());
	const bool good = sample::expect_equal(type, whole.get(), values);
	printf("%-8s %u %s\n", type, n, good ? "sorted" : "wrong");
}

int main()
{
	run<int>("int", 8192);
	run<unsigned>("unsigned", 512);
	run<float>("float", 4096);
	run<double>("double", 2048);
	run<long long>("int64", 1024);
	return sample::finish("bitonic_sort");
}

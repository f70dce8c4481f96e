// SPDX-License-Identifier: Apache-2.0
//
// Vector addition, a grid-stride loop over arrays of many element types and of lengths that no block size divides.
// Exercises: loads and stores of 1 to 16 bytes, integer wrap-around, f32 and f64 addition, fewer threads than elements
// and more threads than elements, an empty range.
#include "sample.h"

#include <cstring>
#include <type_traits>

template <typename T> __global__ void add(const T *a, const T *b, T *sum, size_t n)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x;
	for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
		sum[i] = a[i] + b[i];
}

// Sixteen bytes an access where the address allows it, the rest one by one.
__global__ void add_four(const float *a, const float *b, float *sum, size_t n)
{
	const size_t stride = (size_t)gridDim.x * blockDim.x, first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
	for (size_t i = first; i < n / 4; i += stride) {
		const float4 x = reinterpret_cast<const float4 *>(a)[i], y = reinterpret_cast<const float4 *>(b)[i];
		reinterpret_cast<float4 *>(sum)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
	}
	for (size_t i = n / 4 * 4 + first; i < n; i += stride)
		sum[i] = a[i] + b[i];
}

template <typename T> static std::vector<T> numbers(size_t n, uint64_t seed)
{
	sample::Random random(seed);
	std::vector<T> values(n);
	for (T &value : values)
		value = std::is_floating_point<T>::value ? (T)random.real() : (T)random.next();
	return values;
}

template <typename T> static void run(const char *type, size_t n, unsigned blocks, unsigned threads)
{
	const std::vector<T> a = numbers<T>(n, 1), b = numbers<T>(n, 2);
	const sample::Array<T> device_a(a), device_b(b);
	// One element more: the one behind the end has to stay as it is.
	sample::Array<T> device_sum(n + 1);
	device_sum.fill_bytes(0x5a);
	add<T><<<blocks, threads>>>(device_a, device_b, device_sum, n);
	LAUNCHED();

	std::vector<T> should(n + 1);
	for (size_t i = 0; i < n; i++)
		should[i] = (T)(a[i] + b[i]);
	memset(&should[n], 0x5a, sizeof(T));
	const bool good = sample::expect_equal(type, device_sum.get(), should);
	printf("%-18s %6zu elements, %3u x %-4u %s\n", type, n, blocks, threads, good ? "added" : "wrong");
}

static void run_all(size_t n, unsigned blocks, unsigned threads)
{
	run<int8_t>("int8_t", n, blocks, threads);
	run<uint8_t>("uint8_t", n, blocks, threads);
	run<int16_t>("int16_t", n, blocks, threads);
	run<uint16_t>("uint16_t", n, blocks, threads);
	run<uint32_t>("uint32_t", n, blocks, threads);
	run<uint64_t>("uint64_t", n, blocks, threads);
	run<float>("float", n, blocks, threads);
	run<double>("double", n, blocks, threads);
}

int main()
{
	run_all(10007, 8, 256);
	run_all(1000, 3, 96);
	run_all(33, 40, 64);
	run_all(1, 1, 1);

	const size_t n = 40003;
	const std::vector<float> a = numbers<float>(n, 3), b = numbers<float>(n, 4);
	const sample::Array<float> device_a(a), device_b(b), device_sum(n);
	add_four<<<11, 128>>>(device_a, device_b, device_sum, n);
	LAUNCHED();
	std::vector<float> should(n);
	for (size_t i = 0; i < n; i++)
		should[i] = a[i] + b[i];
	sample::expect_equal("float4", device_sum.get(), should);

	// No element at all: nothing is read, nothing written.
	add<int><<<2, 32>>>(nullptr, nullptr, nullptr, 0);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	return sample::finish("vector_add");
}

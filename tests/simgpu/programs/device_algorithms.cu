// SPDX-License-Identifier: Apache-2.0
//
// Algorithms of libraries rather than of one's own: sorting, scanning, reducing and transforming with Thrust, and CUB's
// device-wide radix sort and selection with their temporary storage, against the same done by the standard library.
// Exercises: code that nvcc makes of large template libraries, their use of attributes, occupancy and streams.
#include "sample.h"

#include <algorithm>
#include <cub/cub.cuh>
#include <numeric>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

static std::vector<int> to_host(const thrust::device_vector<int> &device)
{
	std::vector<int> host(device.size());
	thrust::copy(device.begin(), device.end(), host.begin());
	return host;
}

static void with_thrust(const std::vector<int> &values)
{
	thrust::device_vector<int> device(values.begin(), values.end()), other(values.size());
	std::vector<int> should = values;
	std::sort(should.begin(), should.end());
	thrust::sort(device.begin(), device.end());
	sample::expect_equal("sorted", to_host(device), should);
	thrust::inclusive_scan(device.begin(), device.end(), other.begin());
	std::vector<int> sums(should.size());
	std::partial_sum(should.begin(), should.end(), sums.begin());
	sample::expect_equal("sums", to_host(other), sums);
	const int most = thrust::reduce(device.begin(), device.end(), 0, thrust::maximum<int>());
	sample::expect(most == should.back(), "the largest is %d", most);
	thrust::transform(device.begin(), device.end(), other.begin(), thrust::negate<int>());
	std::transform(should.begin(), should.end(), sums.begin(), std::negate<int>());
	sample::expect_equal("negated", to_host(other), sums);
}

struct IsOdd {
	__host__ __device__ bool operator()(int value) const
	{
		return value & 1;
	}
};

static void with_cub(const std::vector<int> &values)
{
	const int n = (int)values.size();
	const sample::Array<int> in(values), out(n), count(1);
	size_t bytes = 0;
	TRY(cub::DeviceRadixSort::SortKeysDescending(nullptr, bytes, (int *)in, (int *)out, n));
	sample::Array<char> storage(bytes);
	TRY(cub::DeviceRadixSort::SortKeysDescending((char *)storage, bytes, (int *)in, (int *)out, n));
	std::vector<int> should = values;
	std::sort(should.begin(), should.end(), std::greater<int>());
	sample::expect_equal("descending", out.get(), should);

	TRY(cub::DeviceSelect::If(nullptr, bytes, (int *)in, (int *)out, (int *)count, n, IsOdd()));
	sample::Array<char> more(bytes);
	TRY(cub::DeviceSelect::If((char *)more, bytes, (int *)in, (int *)out, (int *)count, n, IsOdd()));
	should.clear();
	std::copy_if(values.begin(), values.end(), std::back_inserter(should), IsOdd());
	std::vector<int> selected = out.get();
	selected.resize(count.get()[0]);
	sample::expect_equal("odd", selected, should);
}

int main()
{
	sample::Random random(5);
	std::vector<int> values(3001);
	for (int &value : values)
		value = (int)random.below(100000) - 50000;
	with_thrust(values);
	with_cub(values);
	return sample::finish("device_algorithms");
}

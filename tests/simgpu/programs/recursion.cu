// SPDX-License-Identifier: Apache-2.0
//
// Functions that call themselves and each other: Ackermann's, the towers of Hanoi with a stack of moves, quicksort of a
// stretch a thread, adaptive integration, permutations with backtracking, parity by two functions in turns.
// Exercises: call frames in local memory, arrays in frames, different depths in the lanes of a warp, results as
// structs, the stack size limit of a device.
#include "sample.h"

#include <algorithm>

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
	if (m == 0)
		return n + 1;
	return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

__device__ bool is_odd(unsigned n);

__device__ __noinline__ bool is_even(unsigned n)
{
	return n == 0 || is_odd(n - 1);
}

__device__ __noinline__ bool is_odd(unsigned n)
{
	return n != 0 && is_even(n - 1);
}

struct Interval {
	double left, right, area;
	int n_calls;
};

__host__ __device__ inline double curve(double x)
{
	return x * x * x - 2.0 * x * x + 3.0;
}

// Halves an interval until both estimates agree; the lanes need different depths.
__host__ __device__ static Interval integrate(Interval interval, double tolerance, int depth)
{
	const double middle = 0.5 * (interval.left + interval.right), width = interval.right - interval.left;
	const double coarse = 0.5 * width * (curve(interval.left) + curve(interval.right));
	const double fine = 0.5 * coarse + 0.5 * width * curve(middle);
	if (depth == 0 || fabs(fine - coarse) < tolerance) {
		interval.area = fine;
		interval.n_calls = 1;
		return interval;
	}
	const Interval left = integrate({ interval.left, middle, 0, 0 }, tolerance * 0.5, depth - 1);
	const Interval right = integrate({ middle, interval.right, 0, 0 }, tolerance * 0.5, depth - 1);
	return { interval.left, interval.right, left.area + right.area, left.n_calls + right.n_calls + 1 };
}

// The number of ways to put queens on a board, by rows; the columns used are an array in every frame.
__host__ __device__ static int queens(int size, int row, const int *before)
{
	int columns[8], n = 0;
	if (row == size)
		return 1;
	for (int i = 0; i < row; i++)
		columns[i] = before[i];
	for (int column = 0; column < size; column++) {
		bool free = true;
		for (int i = 0; i < row && free; i++)
			free = columns[i] != column && columns[i] - column != row - i && column - columns[i] != row - i;
		if (free) {
			columns[row] = column;
			n += queens(size, row + 1, columns);
		}
	}
	return n;
}

__device__ __noinline__ void quicksort(int *values, int n)
{
	if (n < 2)
		return;
	const int pivot = values[n / 2];
	int low = 0, high = n - 1;
	while (low <= high) {
		while (values[low] < pivot)
			low++;
		while (values[high] > pivot)
			high--;
		if (low <= high) {
			const int value = values[low];
			values[low++] = values[high];
			values[high--] = value;
		}
	}
	quicksort(values, high + 1);
	quicksort(values + low, n - low);
}

__device__ __noinline__ int hanoi(int n, int from, int to, int (&heights)[3])
{
	if (n == 0)
		return 0;
	const int other = 3 - from - to, before = hanoi(n - 1, from, other, heights);
	heights[from]--;
	heights[to]++;
	return before + 1 + hanoi(n - 1, other, to, heights);
}

__global__ void numbers(unsigned *results)
{
	const unsigned i = threadIdx.x;
	int heights[3] = { (int)(i % 8), 0, 0 };
	const unsigned moves = (unsigned)hanoi((int)(i % 8), 0, 2, heights);
	results[i * 4] = ackermann(i % 3, i % 5);
	results[i * 4 + 1] = is_even(i);
	results[i * 4 + 2] = moves;
	results[i * 4 + 3] = (unsigned)heights[2];
}

__global__ void integrals(Interval *intervals)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	intervals[i] = integrate(intervals[i], 1e-4, 8);
}

__global__ void boards(int *results)
{
	results[threadIdx.x] = queens((int)threadIdx.x % 6 + 1, 0, nullptr);
}

__global__ void sort_stretches(int *values, int n_each)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	quicksort(values + i * n_each, n_each - i % 3);
}

int main()
{
	size_t before = 0, after = 0;
	TRY(cudaDeviceGetLimit(&before, cudaLimitStackSize));
	TRY(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
	TRY(cudaDeviceGetLimit(&after, cudaLimitStackSize));
	sample::expect(before > 0 && after >= 16 * 1024, "stack: %zu, then %zu", before, after);

	const unsigned n = 64;
	const sample::Array<unsigned> results(n * 4);
	numbers<<<1, n>>>(results);
	LAUNCHED();
	std::vector<unsigned> should(n * 4);
	for (unsigned i = 0; i < n; i++) {
		const unsigned m = i % 3, k = i % 5;
		should[i * 4] = m == 0 ? k + 1 : m == 1 ? k + 2 : 2 * k + 3;
		should[i * 4 + 1] = i % 2 == 0;
		should[i * 4 + 2] = (1u << i % 8) - 1;
		should[i * 4 + 3] = i % 8;
	}
	sample::expect_equal("numbers", results.get(), should);

	std::vector<Interval> intervals(64);
	for (int i = 0; i < 64; i++)
		intervals[i] = { -1.0 - i * 0.01, 0.5 + i * 0.02, 0, 0 };
	const sample::Array<Interval> device_intervals(intervals);
	integrals<<<2, 32>>>(device_intervals);
	LAUNCHED();
	const std::vector<Interval> is = device_intervals.get();
	int fewest = 1 << 20, most = 0;
	for (int i = 0; i < 64; i++) {
		const Interval wanted = integrate(intervals[i], 1e-4, 8);
		sample::expect(std::fabs(is[i].area - wanted.area) < 1e-9, "area %d: %.12g, not %.12g", i, is[i].area,
			       wanted.area);
		fewest = std::min(fewest, is[i].n_calls);
		most = std::max(most, is[i].n_calls);
	}
	sample::expect(fewest < most, "every lane went as deep as the others: %d calls", most);

	const sample::Array<int> solutions(32);
	boards<<<1, 32>>>(solutions);
	LAUNCHED();
	std::vector<int> should_solutions(32);
	for (int i = 0; i < 32; i++)
		should_solutions[i] = queens(i % 6 + 1, 0, nullptr);
	sample::expect(should_solutions[5] == 4, "six queens: %d", should_solutions[5]);
	sample::expect_equal("queens", solutions.get(), should_solutions);

	const int n_each = 50;
	sample::Random random(3);
	std::vector<int> values(64 * n_each);
	for (int &value : values)
		value = (int)random.below(200) - 100;
	const sample::Array<int> device_values(values);
	sort_stretches<<<2, 32>>>(device_values, n_each);
	LAUNCHED();
	for (int i = 0; i < 64; i++)
		std::sort(values.begin() + i * n_each, values.begin() + (i + 1) * n_each - i % 3);
	sample::expect_equal("sorted", device_values.get(), values);
	return sample::finish("recursion");
}

// SPDX-License-Identifier: Apache-2.0
//
// Dense linear algebra in f64: Cholesky's factorization by blocks (diagonal block, panel, rest, one launch each),
// solving with it, and the factorization with pivoting of a general matrix in a single block with its determinant.
// Exercises: f64 division, square roots and fused multiply-add, triangular loops, barriers in data-dependent loops,
// argmax by shuffles of two values, shared memory of doubles.
#include "sample.h"

#include <algorithm>

static constexpr int block = 16;

// Factors the block at `start` in shared memory.
__global__ void factor_diagonal(double *a, int n, int start)
{
	__shared__ double tile[block][block + 1];
	const int row = threadIdx.y, column = threadIdx.x;
	tile[row][column] = a[(start + row) * n + start + column];
	__syncthreads();
	for (int k = 0; k < block; k++) {
		if (row == k && column == k)
			tile[k][k] = sqrt(tile[k][k]);
		__syncthreads();
		if (column == k && row > k)
			tile[row][k] /= tile[k][k];
		__syncthreads();
		if (column > k && row >= column)
			tile[row][column] = fma(-tile[row][k], tile[column][k], tile[row][column]);
		__syncthreads();
	}
	a[(start + row) * n + start + column] = row >= column ? tile[row][column] : 0.0;
}

// A thread a row below the diagonal block: solves against its transposed factor.
__global__ void factor_panel(double *a, int n, int start)
{
	__shared__ double tile[block][block];
	for (int i = threadIdx.x; i < block * block; i += blockDim.x)
		tile[i / block][i % block] = a[(start + i / block) * n + start + i % block];
	__syncthreads();
	const int row = start + block + blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= n)
		return;
	double own[block];
#pragma unroll
	for (int k = 0; k < block; k++) {
		double value = a[row * n + start + k];
#pragma unroll
		for (int i = 0; i < k; i++)
			value = fma(-own[i], tile[k][i], value);
		own[k] = value / tile[k][k];
	}
	for (int k = 0; k < block; k++)
		a[row * n + start + k] = own[k];
}

// What the panel takes from the rest, lower triangle only.
__global__ void update_rest(double *a, int n, int start)
{
	__shared__ double left[block][block + 1], right[block][block + 1];
	if (blockIdx.x > blockIdx.y)
		return;
	const int first = start + block, row = first + blockIdx.y * block + threadIdx.y,
		  column = first + blockIdx.x * block + threadIdx.x;
	left[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
	right[threadIdx.y][threadIdx.x] = a[(first + blockIdx.x * block + threadIdx.y) * n + start + threadIdx.x];
	__syncthreads();
	double sum = a[row * n + column];
#pragma unroll
	for (int k = 0; k < block; k++)
		sum = fma(-left[threadIdx.y][k], right[threadIdx.x][k], sum);
	a[row * n + column] = sum;
}

// One warp: forward and backward substitution, a row at a time, its sum by shuffles.
__global__ void solve(const double *l, double *x, int n)
{
	const int lane = threadIdx.x;
	for (int pass = 0; pass < 2; pass++)
		for (int step = 0; step < n; step++) {
			const int row = pass == 0 ? step : n - 1 - step;
			double sum = 0;
			for (int k = pass == 0 ? lane : row + 1 + lane; k < (pass == 0 ? row : n); k += 32)
				sum = fma(pass == 0 ? l[row * n + k] : l[k * n + row], x[k], sum);
			for (int distance = 16; distance > 0; distance /= 2)
				sum += __shfl_down_sync(0xffffffffu, sum, distance);
			if (lane == 0)
				x[row] = (x[row] - sum) / l[row * n + row];
			__syncwarp();
		}
}

static void run_cholesky(int n)
{
	sample::Random random(n);
	std::vector<double> factor(n * n), a(n * n, 0.0), right(n, 0.0), solution(n);
	for (double &value : factor)
		value = random.real();
	for (double &value : solution)
		value = random.real();
	for (int row = 0; row < n; row++)
		for (int column = 0; column < n; column++) {
			for (int k = 0; k < n; k++)
				a[row * n + column] += factor[row * n + k] * factor[column * n + k];
			a[row * n + column] += row == column ? 1.0 : 0.0;
			right[row] += a[row * n + column] * solution[column];
		}
	const sample::Array<double> device_a(a), x(right);
	for (int start = 0; start < n; start += block) {
		const int rest = n - start - block;
		factor_diagonal<<<1, dim3(block, block)>>>(device_a, n, start);
		if (rest > 0) {
			factor_panel<<<(rest + 63) / 64, 64>>>(device_a, n, start);
			update_rest<<<dim3(rest / block, rest / block), dim3(block, block)>>>(device_a, n, start);
		}
		LAUNCHED();
	}
	solve<<<1, 32>>>(device_a, x, n);
	LAUNCHED();
	// The factor times its transpose is the matrix again.
	const std::vector<double> l = device_a.get();
	std::vector<double> back, should;
	for (int row = 0; row < n; row++)
		for (int column = 0; column <= row; column++) {
			double sum = 0;
			for (int k = 0; k <= column; k++)
				sum += l[row * n + k] * l[column * n + k];
			back.push_back(sum);
			should.push_back(a[row * n + column]);
		}
	sample::expect_near("factor", back, should, 1e-11);
	sample::expect_near("solution", x.get(), solution, 1e-9);
}

// Rows exchanged so that the largest element of the column divides; the determinant falls out.
__global__ void determinant(double *matrices, int n, double *results)
{
	__shared__ int pivot_row;
	double *a = matrices + (size_t)blockIdx.x * n * n, product = 1;
	for (int k = 0; k < n; k++) {
		if (threadIdx.x < 32) {
			double largest = -1;
			int row = k;
			for (int i = k + threadIdx.x; i < n; i += 32)
				if (fabs(a[i * n + k]) > largest) {
					largest = fabs(a[i * n + k]);
					row = i;
				}
			for (int distance = 16; distance > 0; distance /= 2) {
				const double other = __shfl_down_sync(0xffffffffu, largest, distance);
				const int other_row = __shfl_down_sync(0xffffffffu, row, distance);
				if (other > largest) {
					largest = other;
					row = other_row;
				}
			}
			if (threadIdx.x == 0)
				pivot_row = row;
		}
		__syncthreads();
		const int row = pivot_row;
		for (int i = threadIdx.x; row != k && i < n; i += blockDim.x) {
			const double value = a[k * n + i];
			a[k * n + i] = a[row * n + i];
			a[row * n + i] = value;
		}
		__syncthreads();
		const double pivot = a[k * n + k];
		product *= row != k ? -pivot : pivot;
		if (pivot == 0) // the same for all: everybody leaves
			break;
		for (int i = k + 1 + threadIdx.x; i < n; i += blockDim.x) {
			const double factor = a[i * n + k] / pivot;
			for (int j = k; j < n; j++)
				a[i * n + j] = fma(-factor, a[k * n + j], a[i * n + j]);
		}
		__syncthreads();
	}
	if (threadIdx.x == 0)
		results[blockIdx.x] = product;
}

// Matrices with a known determinant: a product of an upper and a lower triangle, rows mixed.
static void run_determinants(int n)
{
	const int n_matrices = 3;
	sample::Random random(5);
	std::vector<double> all(n_matrices * n * n, 0.0), should(n_matrices, 1.0);
	for (int m = 0; m < n_matrices; m++) {
		std::vector<double> l(n * n, 0.0), u(n * n, 0.0);
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				(i >= j ? l : u)[i * n + j] = i == j ? 1.0 : random.real();
		for (int i = 0; i < n; i++) {
			u[i * n + i] = m == 2 && i == n / 2 ? 0.0 : 0.75 + 0.5 * std::fabs(random.real());
			should[m] *= u[i * n + i];
		}
		for (int i = 0; i < n; i++)
			for (int j = 0; j < n; j++)
				for (int k = 0; k < n; k++)
					all[(m * n + (i + m) % n) * n + j] += l[i * n + k] * u[k * n + j];
		// Turning n rows by one place takes n - 1 exchanges.
		for (int turn = 0; turn < m; turn++)
			should[m] *= (n - 1) % 2 != 0 ? -1.0 : 1.0;
	}
	const sample::Array<double> matrices(all), results(n_matrices);
	determinant<<<n_matrices, 64>>>(matrices, n, results);
	LAUNCHED();
	sample::expect_near("determinants", results.get(), should, 1e-9);
}

int main()
{
	run_cholesky(96);
	run_cholesky(16);
	run_determinants(40);
	return sample::finish("cholesky");
}

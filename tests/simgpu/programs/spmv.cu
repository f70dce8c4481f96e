// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector in compressed rows: a thread a row, a warp a row, as many lanes a row as it has elements
// on average, and by diagonals of fixed width (ELLPACK, column-major). Conjugate gradients then solve a system with it.
// Exercises: indirect loads, read-only loads (__ldg), shuffles within 2 to 32 lanes, rows of very different lengths,
// f64 dot products with atomics, scalars that stay on the device from kernel to kernel.
#include "sample.h"

#include <algorithm>
#include <map>

struct Matrix {
	std::vector<int> first, columns;
	std::vector<double> values;
	int n_rows() const
	{
		return (int)first.size() - 1;
	}
};

__global__ void row_per_thread(const int *first, const int *columns, const double *values, const double *x, double *y,
			       int n)
{
	const int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= n)
		return;
	double sum = 0;
	for (int i = first[row]; i < first[row + 1]; i++)
		sum = fma(values[i], x[columns[i]], sum);
	y[row] = sum;
}

template <int lanes>
__global__ void row_per_lanes(const int *first, const int *columns, const double *values, const double *x, double *y,
			      int n)
{
	const int row = (blockIdx.x * blockDim.x + threadIdx.x) / lanes, lane = threadIdx.x % lanes;
	double sum = 0;
	if (row < n)
		for (int i = first[row] + lane; i < first[row + 1]; i += lanes)
			sum = fma(__ldg(&values[i]), __ldg(&x[__ldg(&columns[i])]), sum);
	for (int distance = lanes / 2; distance > 0; distance /= 2)
		sum += __shfl_down_sync(0xffffffffu, sum, distance, lanes);
	if (row < n && lane == 0)
		y[row] = sum;
}

__global__ void by_diagonals(const int *columns, const double *values, const double *x, double *y, int n, int width)
{
	const int row = blockIdx.x * blockDim.x + threadIdx.x;
	if (row >= n)
		return;
	double sum = 0;
	for (int i = 0; i < width; i++) {
		const int column = columns[i * n + row];
		if (column >= 0)
			sum = fma(values[i * n + row], x[column], sum);
	}
	y[row] = sum;
}

__global__ void dot(const double *a, const double *b, double *result, int n)
{
	double sum = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		sum = fma(a[i], b[i], sum);
	for (int distance = 16; distance > 0; distance /= 2)
		sum += __shfl_xor_sync(0xffffffffu, sum, distance);
	if (threadIdx.x % 32 == 0)
		atomicAdd(result, sum);
}

// x += alpha p, r -= alpha q, with alpha = rr / pq
__global__ void advance(double *x, double *r, const double *p, const double *q, const double *rr, const double *pq,
			int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		const double alpha = *rr / *pq;
		x[i] = fma(alpha, p[i], x[i]);
		r[i] = fma(-alpha, q[i], r[i]);
	}
}

// p = r + beta p, with beta = rr_new / rr
__global__ void turn(double *p, const double *r, const double *rr_new, const double *rr, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		p[i] = fma(*rr_new / *rr, p[i], r[i]);
}

// Symmetric and positive: a strong diagonal, some rows nearly full, most nearly empty, one quite empty but for it.
static Matrix make_matrix(int n)
{
	sample::Random random(2);
	std::vector<std::map<int, double>> rows(n);
	for (int i = 0; i < n * 4; i++) {
		const int a = random.below(4) == 0 ? (int)random.below(4) * 50 : (int)random.below(n),
			  b = (int)random.below(n);
		if (a != b && a != 17 && b != 17)
			rows[a][b] = rows[b][a] = random.real();
	}
	Matrix matrix;
	matrix.first.push_back(0);
	for (int row = 0; row < n; row++) {
		double sum = 1;
		for (const auto &element : rows[row])
			sum += std::fabs(element.second);
		rows[row][row] = sum;
		for (const auto &element : rows[row]) {
			matrix.columns.push_back(element.first);
			matrix.values.push_back(element.second);
		}
		matrix.first.push_back((int)matrix.columns.size());
	}
	return matrix;
}

static std::vector<double> on_host(const Matrix &matrix, const std::vector<double> &x)
{
	std::vector<double> y(matrix.n_rows(), 0.0);
	for (int row = 0; row < matrix.n_rows(); row++)
		for (int i = matrix.first[row]; i < matrix.first[row + 1]; i++)
			y[row] = std::fma(matrix.values[i], x[matrix.columns[i]], y[row]);
	return y;
}

static void run_products(const Matrix &matrix, const std::vector<double> &x)
{
	const int n = matrix.n_rows();
	const std::vector<double> should = on_host(matrix, x);
	const sample::Array<int> first(matrix.first), columns(matrix.columns);
	const sample::Array<double> values(matrix.values), device_x(x);
	sample::Array<double> y(n);
	row_per_thread<<<(n + 127) / 128, 128>>>(first, columns, values, device_x, y, n);
	LAUNCHED();
	sample::expect_equal("row per thread", y.get(), should);
	y.fill_bytes(0xff);
	row_per_lanes<32><<<(n * 32 + 127) / 128, 128>>>(first, columns, values, device_x, y, n);
	LAUNCHED();
	sample::expect_near("row per warp", y.get(), should, 1e-12);
	y.fill_bytes(0xff);
	row_per_lanes<4><<<(n * 4 + 127) / 128, 128>>>(first, columns, values, device_x, y, n);
	LAUNCHED();
	sample::expect_near("row per four lanes", y.get(), should, 1e-12);

	int width = 0;
	for (int row = 0; row < n; row++)
		width = std::max(width, matrix.first[row + 1] - matrix.first[row]);
	std::vector<int> wide_columns((size_t)width * n, -1);
	std::vector<double> wide_values((size_t)width * n, NAN);
	for (int row = 0; row < n; row++)
		for (int i = matrix.first[row]; i < matrix.first[row + 1]; i++) {
			wide_columns[(size_t)(i - matrix.first[row]) * n + row] = matrix.columns[i];
			wide_values[(size_t)(i - matrix.first[row]) * n + row] = matrix.values[i];
		}
	const sample::Array<int> device_wide_columns(wide_columns);
	const sample::Array<double> device_wide_values(wide_values);
	y.fill_bytes(0xff);
	by_diagonals<<<(n + 127) / 128, 128>>>(device_wide_columns, device_wide_values, device_x, y, n, width);
	LAUNCHED();
	sample::expect_equal("by diagonals", y.get(), should);
	printf("%d rows, %zu elements, the longest row %d\n", n, matrix.values.size(), width);
}

static void run_solver(const Matrix &matrix, const std::vector<double> &solution)
{
	const int n = matrix.n_rows(), blocks = (n + 127) / 128;
	const std::vector<double> right = on_host(matrix, solution);
	const sample::Array<int> first(matrix.first), columns(matrix.columns);
	const sample::Array<double> values(matrix.values), r(right), p(right), q(n);
	sample::Array<double> x(n), scalars(3);
	double *rr = scalars, *rr_new = scalars + 1, *pq = scalars + 2, left = 1;
	x.fill_bytes(0);
	scalars.fill_bytes(0);
	dot<<<4, 128>>>(r, r, rr, n);
	int n_steps = 0;
	for (; n_steps < 100 && left > 1e-24; n_steps++) {
		row_per_lanes<8><<<(n * 8 + 127) / 128, 128>>>(first, columns, values, p, q, n);
		TRY(cudaMemsetAsync(pq, 0, sizeof(double)));
		dot<<<4, 128>>>(p, q, pq, n);
		advance<<<blocks, 128>>>(x, r, p, q, rr, pq, n);
		TRY(cudaMemsetAsync(rr_new, 0, sizeof(double)));
		dot<<<4, 128>>>(r, r, rr_new, n);
		turn<<<blocks, 128>>>(p, r, rr_new, rr, n);
		LAUNCHED();
		TRY(cudaMemcpy(&left, rr_new, sizeof(double), cudaMemcpyDeviceToHost));
		std::swap(rr, rr_new);
	}
	sample::expect(n_steps < 100, "no convergence: %g left", left);
	sample::expect_near("solution", x.get(), solution, 1e-10);
}

int main()
{
	const Matrix matrix = make_matrix(1000);
	sample::Random random(9);
	std::vector<double> x(matrix.n_rows());
	for (double &value : x)
		value = random.real();
	run_products(matrix, x);
	run_solver(matrix, x);
	return sample::finish("spmv");
}

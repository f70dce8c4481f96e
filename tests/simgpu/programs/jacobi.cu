// SPDX-License-Identifier: Apache-2.0
//
// Poisson's equation solved by iteration until nothing changes any more: Jacobi's method with the largest change
// brought to the host every few steps, red-black relaxation in place, and a two-grid cycle that needs far fewer steps.
// The exact solution is known. Exercises: a loop on the host that the device's result ends, atomicMax of a non-negative
// float by its bits, block maxima by shuffles, page-locked results with events, double-buffered pointers, f64
// throughout.
#include "sample.h"

#include <utility>

static constexpr int size = 33; // points a side, with the border

__host__ __device__ static int at(int x, int y, int n)
{
	return y * n + x;
}

__global__ void jacobi_step(const double *in, double *out, const double *right, int n, double h2, unsigned *change)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	float difference = 0;
	if (x > 0 && y > 0 && x < n - 1 && y < n - 1) {
		const double value = 0.25 * (in[at(x - 1, y, n)] + in[at(x + 1, y, n)] + in[at(x, y - 1, n)] +
					     in[at(x, y + 1, n)] - h2 * right[at(x, y, n)]);
		difference = (float)fabs(value - in[at(x, y, n)]);
		out[at(x, y, n)] = value;
	}
	if (change == nullptr)
		return;
	for (int distance = 16; distance > 0; distance /= 2)
		difference = fmaxf(difference, __shfl_xor_sync(0xffffffffu, difference, distance));
	// The bits of floats that are not negative are ordered as the floats are.
	if ((threadIdx.y * blockDim.x + threadIdx.x) % 32 == 0)
		atomicMax(change, __float_as_uint(difference));
}

// Every second point, in place: the neighbors are of the other color.
__global__ void relax(double *u, const double *right, int n, double h2, int color)
{
	const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
	const int x = 2 * (blockIdx.x * blockDim.x + threadIdx.x) + 1 + (y + color) % 2;
	if (x < n - 1 && y < n - 1)
		u[at(x, y, n)] = 0.25 * (u[at(x - 1, y, n)] + u[at(x + 1, y, n)] + u[at(x, y - 1, n)] +
					 u[at(x, y + 1, n)] - h2 * right[at(x, y, n)]);
}

// What is still wrong on the fine grid, averaged onto the coarse one.
__global__ void restrict_residual(const double *u, const double *right, int n, double h2, double *coarse, int n_coarse)
{
	const int cx = blockIdx.x * blockDim.x + threadIdx.x, cy = blockIdx.y * blockDim.y + threadIdx.y;
	if (cx >= n_coarse || cy >= n_coarse)
		return;
	double sum = 0;
	if (cx > 0 && cy > 0 && cx < n_coarse - 1 && cy < n_coarse - 1)
		for (int dy = -1; dy <= 1; dy++)
			for (int dx = -1; dx <= 1; dx++) {
				const int x = 2 * cx + dx, y = 2 * cy + dy;
				const double residual = right[at(x, y, n)] -
							(u[at(x - 1, y, n)] + u[at(x + 1, y, n)] + u[at(x, y - 1, n)] +
							 u[at(x, y + 1, n)] - 4 * u[at(x, y, n)]) /
								h2;
				sum += residual * (dx == 0 ? 2 : 1) * (dy == 0 ? 2 : 1);
			}
	coarse[at(cx, cy, n_coarse)] = sum / 16;
}

__global__ void add_correction(double *u, int n, const double *coarse, int n_coarse)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x == 0 || y == 0 || x >= n - 1 || y >= n - 1)
		return;
	const int left = x / 2, top = y / 2, right = (x + 1) / 2, bottom = (y + 1) / 2;
	u[at(x, y, n)] += 0.25 * (coarse[at(left, top, n_coarse)] + coarse[at(right, top, n_coarse)] +
				  coarse[at(left, bottom, n_coarse)] + coarse[at(right, bottom, n_coarse)]);
}

// u = x (1 - x) y (1 - y) has a right side that the five-point formula meets exactly.
static double exact(double x, double y)
{
	return x * (1 - x) * y * (1 - y);
}

static std::vector<double> exact_values()
{
	std::vector<double> values(size * size);
	for (int y = 0; y < size; y++)
		for (int x = 0; x < size; x++)
			values[at(x, y, size)] = exact(x / (size - 1.0), y / (size - 1.0));
	return values;
}

static std::vector<double> right_side()
{
	std::vector<double> values(size * size, 0.0);
	for (int y = 0; y < size; y++)
		for (int x = 0; x < size; x++) {
			const double px = x / (size - 1.0), py = y / (size - 1.0);
			values[at(x, y, size)] = -2 * py * (1 - py) - 2 * px * (1 - px);
		}
	return values;
}

static dim3 blocks_for(int n)
{
	return dim3((n + 15) / 16, (n + 7) / 8);
}

static const dim3 block(16, 8);

static void run_jacobi()
{
	const double h2 = 1.0 / ((size - 1.0) * (size - 1.0));
	const int check_every = 50, most_steps = 4000;
	const sample::Array<double> right(right_side());
	sample::Array<double> first(size * size), second(size * size);
	sample::Array<unsigned> change(1);
	unsigned *host_change;
	float largest = 1;
	int n_steps = 0;
	TRY(cudaMallocHost(&host_change, sizeof(unsigned)));
	first.fill_bytes(0);
	second.fill_bytes(0);
	double *from = first, *to = second;
	while (largest > 1e-7f && n_steps < most_steps) {
		for (int i = 0; i < check_every; i++, n_steps++) {
			const bool last = i == check_every - 1;
			if (last)
				TRY(cudaMemsetAsync(change, 0, sizeof(unsigned)));
			jacobi_step<<<blocks_for(size), block>>>(from, to, right, size, h2,
								 last ? (unsigned *)change : nullptr);
			std::swap(from, to);
		}
		LAUNCHED();
		TRY(cudaMemcpyAsync(host_change, change, sizeof(unsigned), cudaMemcpyDeviceToHost, 0));
		TRY(cudaStreamSynchronize(0));
		union {
			unsigned bits;
			float value;
		} seen = { *host_change };
		sample::expect(seen.value < largest && seen.value > 0, "the change grew from %g to %g", largest,
			       seen.value);
		largest = seen.value;
	}
	sample::expect(n_steps < most_steps, "no end after %d steps: %g", n_steps, largest);
	sample::expect_near("Jacobi", from == (double *)first ? first.get() : second.get(), exact_values(), 1e-4);
	printf("Jacobi: %d steps\n", n_steps);
	TRY(cudaFreeHost(host_change));
}

static void smooth(double *u, const double *right, int n, double h2, int n_sweeps)
{
	for (int sweep = 0; sweep < n_sweeps; sweep++)
		for (int color = 0; color < 2; color++)
			relax<<<dim3((n / 2 + 15) / 16, (n + 7) / 8), block>>>(u, right, n, h2, color);
	LAUNCHED();
}

static void run_two_grids()
{
	const int n_coarse = (size + 1) / 2, n_cycles = 8;
	const double h2 = 1.0 / ((size - 1.0) * (size - 1.0));
	const sample::Array<double> right(right_side());
	sample::Array<double> u(size * size), coarse(n_coarse * n_coarse), coarse_right(n_coarse * n_coarse);
	u.fill_bytes(0);
	for (int cycle = 0; cycle < n_cycles; cycle++) {
		smooth(u, right, size, h2, 2);
		restrict_residual<<<blocks_for(n_coarse), block>>>(u, right, size, h2, coarse_right, n_coarse);
		coarse.fill_bytes(0);
		smooth(coarse, coarse_right, n_coarse, 4 * h2, 60);
		add_correction<<<blocks_for(size), block>>>(u, size, coarse, n_coarse);
		smooth(u, right, size, h2, 2);
	}
	// Accurate to the last few digits after a handful of cycles.
	sample::expect_near("two grids", u.get(), exact_values(), 1e-7);
}

int main()
{
	run_jacobi();
	run_two_grids();
	return sample::finish("jacobi");
}

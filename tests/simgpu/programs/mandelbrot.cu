// SPDX-License-Identifier: Apache-2.0
//
// The Mandelbrot set with a loop of a different length in every thread, in f32 and f64, written as pixels, and once
// more by rows that blocks fetch when they have time. Built for an older target than the other programs (compute_80).
// Exercises: divergent loops, early exits, separate multiplications and additions (__fmul_rn), uchar4 stores, atomics
// to fetch work, a struct as an argument. The host computes the same operations, so the iterations agree exactly.
#include "sample.h"

template <typename T> struct View {
	T left, top, pixel;
	int width, height, limit;
};

// No contraction to multiply-add: the host must come to the same numbers.
__host__ __device__ inline float times(float a, float b)
{
#ifdef __CUDA_ARCH__
	return __fmul_rn(a, b);
#else
	volatile float product = a * b;
	return product;
#endif
}

__host__ __device__ inline double times(double a, double b)
{
#ifdef __CUDA_ARCH__
	return __dmul_rn(a, b);
#else
	volatile double product = a * b;
	return product;
#endif
}

template <typename T> __host__ __device__ int iterations(const View<T> &view, int px, int py)
{
	const T cx = view.left + times((T)px, view.pixel), cy = view.top - times((T)py, view.pixel);
	T x = 0, y = 0;
	int n = 0;
	while (n < view.limit) {
		const T xx = times(x, x), yy = times(y, y);
		if (xx + yy > 4)
			break;
		y = times(x + x, y) + cy;
		x = xx - yy + cx;
		n++;
	}
	return n;
}

__host__ __device__ inline uchar4 color(int n, int limit)
{
	if (n == limit)
		return make_uchar4(0, 0, 0, 255);
	return make_uchar4(n * 7 & 255, n * 3 & 255, 255 - (n & 127), 255);
}

template <typename T> __global__ void draw(View<T> view, uchar4 *pixels)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < view.width && y < view.height)
		pixels[y * view.width + x] = color(iterations(view, x, y), view.limit);
}

// Each warp takes the next row that nobody has taken.
template <typename T> __global__ void draw_rows(View<T> view, uchar4 *pixels, int *next_row)
{
	for (;;) {
		int row = 0;
		if (threadIdx.x % 32 == 0)
			row = atomicAdd(next_row, 1);
		row = __shfl_sync(0xffffffffu, row, 0);
		if (row >= view.height)
			return;
		for (int x = threadIdx.x % 32; x < view.width; x += 32)
			pixels[row * view.width + x] = color(iterations(view, x, row), view.limit);
	}
}

template <typename T> static void compare(const char *what, const sample::Array<uchar4> &pixels, const View<T> &view)
{
	const std::vector<uchar4> is = pixels.get();
	for (int y = 0; y < view.height; y++)
		for (int x = 0; x < view.width; x++) {
			const uchar4 a = is[y * view.width + x], b = color(iterations(view, x, y), view.limit);
			if (!sample::expect(a.x == b.x && a.y == b.y && a.z == b.z && a.w == b.w, "%s: pixel %d, %d",
					    what, x, y))
				return;
		}
}

template <typename T> static void run(const char *type, const View<T> &view)
{
	sample::Array<uchar4> pixels((size_t)view.width * view.height);
	const dim3 block(16, 16), grid((view.width + 15) / 16, (view.height + 15) / 16);
	pixels.fill_bytes(1);
	draw<T><<<grid, block>>>(view, pixels);
	LAUNCHED();
	compare(type, pixels, view);

	sample::Array<int> next_row(1);
	next_row.fill_bytes(0);
	pixels.fill_bytes(1);
	draw_rows<T><<<6, 64>>>(view, pixels, next_row);
	LAUNCHED();
	compare(type, pixels, view);
	// Every warp took one row too many to find out that there are no more.
	sample::expect(next_row.get()[0] == view.height + 12, "rows taken: %d", next_row.get()[0]);
	printf("%s: %d x %d, at most %d iterations\n", type, view.width, view.height, view.limit);
}

int main()
{
	run<float>("float", { -2.2f, 1.2f, 0.02f, 160, 120, 80 });
	run<double>("double", { -0.748, 0.11, 0.0001, 100, 60, 200 });
	return sample::finish("mandelbrot");
}

// SPDX-License-Identifier: Apache-2.0
//
// Matrix products on tensor cores through nvcuda::wmma: f16 with sums in f32 and in f16, bf16, tf32, and bytes with
// sums in 32-bit integers; tiles of 16 x 16, 32 x 8 and 8 x 32; row and column order; a larger product by tiles in
// shared memory. Integers, and reals of few bits, have to come out exactly. Exercises: wmma fragments, which nvcc turns
// into wmma.load, wmma.mma and wmma.store.
#include "sample.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <type_traits>

namespace wmma = nvcuda::wmma;

// One tile, one warp: d = a * b + c.
template <typename In, typename Element, typename Sum, int m, int n, int k, typename OrderA, typename OrderB>
__global__ void one_tile(const Element *a, const Element *b, const Sum *c, Sum *d)
{
	wmma::fragment<wmma::matrix_a, m, n, k, In, OrderA> left;
	wmma::fragment<wmma::matrix_b, m, n, k, In, OrderB> right;
	wmma::fragment<wmma::accumulator, m, n, k, Sum> sum;
	wmma::load_matrix_sync(left, a, std::is_same<OrderA, wmma::row_major>::value ? k : m);
	wmma::load_matrix_sync(right, b, std::is_same<OrderB, wmma::row_major>::value ? n : k);
	wmma::load_matrix_sync(sum, c, n, wmma::mem_row_major);
	wmma::mma_sync(sum, left, right, sum);
	wmma::store_matrix_sync(d, sum, n, wmma::mem_row_major);
}

// Small integers, which every element type holds exactly.
static std::vector<int> small_values(int n, int seed)
{
	sample::Random random(seed);
	std::vector<int> values(n);
	for (int &value : values)
		value = (int)random.below(15) - 7;
	return values;
}

template <typename T> static T make(int value)
{
	return T((float)value);
}
template <> int8_t make<int8_t>(int value)
{
	return (int8_t)value;
}
template <> int make<int>(int value)
{
	return value;
}

template <typename In, typename Element, typename Sum, int m, int n, int k, typename OrderA, typename OrderB>
static void run(const char *what)
{
	const std::vector<int> a = small_values(m * k, 1), b = small_values(k * n, 2), c = small_values(m * n, 3);
	const bool rows_a = std::is_same<OrderA, wmma::row_major>::value,
		   rows_b = std::is_same<OrderB, wmma::row_major>::value;
	std::vector<Element> left(m * k), right(k * n);
	std::vector<Sum> before(m * n);
	std::vector<float> should(m * n), is;
	for (int row = 0; row < m; row++)
		for (int i = 0; i < k; i++)
			left[rows_a ? row * k + i : i * m + row] = make<Element>(a[row * k + i]);
	for (int i = 0; i < k; i++)
		for (int column = 0; column < n; column++)
			right[rows_b ? i * n + column : column * k + i] = make<Element>(b[i * n + column]);
	for (int row = 0; row < m; row++)
		for (int column = 0; column < n; column++) {
			int sum = c[row * n + column];
			before[row * n + column] = make<Sum>(sum);
			for (int i = 0; i < k; i++)
				sum += a[row * k + i] * b[i * n + column];
			should[row * n + column] = (float)sum;
		}
	const sample::Array<Element> device_left(left), device_right(right);
	const sample::Array<Sum> device_before(before), device_after(m * n);
	one_tile<In, Element, Sum, m, n, k, OrderA, OrderB>
		<<<1, 32>>>(device_left, device_right, device_before, device_after);
	LAUNCHED();
	for (const Sum &value : device_after.get())
		is.push_back((float)value);
	if (sample::expect_equal(what, is, should))
		printf("%s\n", what);
}

static constexpr int size = 64, depth = 96;

// Four warps a block of 32 x 32; the tiles of a and b go through shared memory; the result is scaled in the fragment.
__global__ void product(const __half *a, const __half *b, float *c, float factor)
{
	__shared__ alignas(32) __half tile_a[32][16], tile_b[16][32];
	const int warp = threadIdx.x / 32, warp_row = warp / 2 * 16, warp_column = warp % 2 * 16;
	const int first_row = blockIdx.y * 32, first_column = blockIdx.x * 32;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
	wmma::fill_fragment(sum, 0.0f);
	for (int start = 0; start < depth; start += 16) {
		for (int i = threadIdx.x; i < 32 * 16; i += blockDim.x) {
			tile_a[i / 16][i % 16] = a[(first_row + i / 16) * depth + start + i % 16];
			tile_b[i / 32][i % 32] = b[(start + i / 32) * size + first_column + i % 32];
		}
		__syncthreads();
		wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
		wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> right;
		wmma::load_matrix_sync(left, &tile_a[warp_row][0], 16);
		wmma::load_matrix_sync(right, &tile_b[0][warp_column], 32);
		wmma::mma_sync(sum, left, right, sum);
		__syncthreads();
	}
	for (int i = 0; i < sum.num_elements; i++)
		sum.x[i] *= factor;
	wmma::store_matrix_sync(&c[(first_row + warp_row) * size + first_column + warp_column], sum, size,
				wmma::mem_row_major);
}

static void run_product()
{
	sample::Random random(7);
	std::vector<__half> a(size * depth), b(depth * size);
	for (__half &value : a)
		value = __float2half(random.real());
	for (__half &value : b)
		value = __float2half(random.real());
	std::vector<float> should(size * size);
	for (int row = 0; row < size; row++)
		for (int column = 0; column < size; column++) {
			double sum = 0;
			for (int k = 0; k < depth; k++)
				sum += (double)__half2float(a[row * depth + k]) * __half2float(b[k * size + column]);
			should[row * size + column] = (float)(sum * 0.5);
		}
	const sample::Array<__half> device_a(a), device_b(b);
	const sample::Array<float> device_c(size * size);
	product<<<dim3(size / 32, size / 32), 128>>>(device_a, device_b, device_c, 0.5f);
	LAUNCHED();
	sample::expect_near("product", device_c.get(), should, 1e-4);
}

int main()
{
	using wmma::col_major;
	using wmma::row_major;
	run<__half, __half, float, 16, 16, 16, row_major, row_major>("f16, sums in f32, 16 x 16");
	run<__half, __half, float, 16, 16, 16, col_major, row_major>("f16, first by columns");
	run<__half, __half, float, 32, 8, 16, row_major, col_major>("f16, 32 x 8, second by columns");
	run<__half, __half, float, 8, 32, 16, col_major, col_major>("f16, 8 x 32, both by columns");
	run<__half, __half, __half, 16, 16, 16, row_major, col_major>("f16, sums in f16");
	run<__nv_bfloat16, __nv_bfloat16, float, 16, 16, 16, row_major, col_major>("bf16");
	run<wmma::precision::tf32, float, float, 16, 16, 8, row_major, col_major>("tf32");
	run<int8_t, int8_t, int, 16, 16, 16, row_major, col_major>("bytes");
	run_product();
	return sample::finish("wmma_product");
}

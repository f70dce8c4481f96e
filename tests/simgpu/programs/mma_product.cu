// SPDX-License-Identifier: Apache-2.0
//
// A matrix product with the tensor core instructions themselves: ldmatrix (plain and transposed) from shared memory
// whose rows are permuted against bank conflicts, mma.sync.m16n8k16 for f16 and bf16, m16n8k32 for bytes, tiles fetched
// by cp.async while the ones before are multiplied. Exercises: inline PTX with vectors of registers, the distribution
// of fragments over lanes, ldmatrix .x4 and .x2.trans.
#include "sample.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <type_traits>

static constexpr int block_rows = 64, block_columns = 32, step = 16;

__device__ static unsigned shared_address(const void *pointer)
{
	return (unsigned)__cvta_generic_to_shared(pointer);
}

__device__ static void load_a(unsigned (&a)[4], unsigned address)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(a[0]), "=r"(a[1]), "=r"(a[2]), "=r"(a[3])
		     : "r"(address));
}

__device__ static void load_b(unsigned (&b)[2], unsigned address)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
		     : "=r"(b[0]), "=r"(b[1])
		     : "r"(address));
}

template <typename T> __device__ static void multiply(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
	if (std::is_same<T, __half>::value)
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
			     "{%8, %9}, "
			     "{%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	else
		asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
			     "{%8, %9}, "
			     "{%0, %1, %2, %3};"
			     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
			     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Rows of 16 elements: two pieces of 16 bytes, exchanged in every second pair of rows.
__device__ static int piece_of(int row, int piece)
{
	return piece ^ (row >> 2 & 1);
}

// Four warps, 16 rows each, 32 columns as four tiles of 8.
template <typename T> __global__ void product(const T *a, const T *b, float *c, int depth, int columns)
{
	__shared__ alignas(16) T tile_a[2][block_rows][step], tile_b[2][step][block_columns];
	const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	const int first_row = blockIdx.y * block_rows, first_column = blockIdx.x * block_columns;
	float sums[4][4] = {};
	const auto fetch = [&](int buffer, int start) {
		const int t = threadIdx.x; // 128 pieces of a, 64 of b
		const int row = t / 2, piece = t % 2;
		__pipeline_memcpy_async(&tile_a[buffer][row][piece_of(row, piece) * 8],
					&a[(size_t)(first_row + row) * depth + start + piece * 8], 16);
		if (t < 64)
			__pipeline_memcpy_async(&tile_b[buffer][t / 4][t % 4 * 8],
						&b[(size_t)(start + t / 4) * columns + first_column + t % 4 * 8], 16);
		__pipeline_commit();
	};
	fetch(0, 0);
	for (int start = 0, buffer = 0; start < depth; start += step, buffer ^= 1) {
		__pipeline_wait_prior(0);
		__syncthreads();
		if (start + step < depth)
			fetch(buffer ^ 1, start + step);
		unsigned left[4];
		// Matrices: rows 0-7 and 8-15 of the left half, then of the right half.
		const int row = warp * 16 + lane % 16;
		load_a(left, shared_address(&tile_a[buffer][row][piece_of(row, lane / 16) * 8]));
		for (int tile = 0; tile < 4; tile++) {
			unsigned right[2];
			load_b(right, shared_address(&tile_b[buffer][lane % 16][tile * 8]));
			multiply<T>(sums[tile], left, right);
		}
	}
	for (int tile = 0; tile < 4; tile++)
		for (int i = 0; i < 4; i++) {
			const int row = first_row + warp * 16 + lane / 4 + i / 2 * 8;
			c[(size_t)row * columns + first_column + tile * 8 + lane % 4 * 2 + i % 2] = sums[tile][i];
		}
}

template <typename T> static T from_float(float value);
template <> __half from_float<__half>(float value)
{
	return __float2half(value);
}
template <> __nv_bfloat16 from_float<__nv_bfloat16>(float value)
{
	return __float2bfloat16(value);
}

template <typename T> static void run(const char *type)
{
	const int rows = 128, depth = 80, columns = 96;
	sample::Random random(3);
	std::vector<T> a(rows * depth), b(depth * columns);
	for (T &value : a)
		value = from_float<T>(random.real());
	for (T &value : b)
		value = from_float<T>(random.real());
	std::vector<float> should(rows * columns);
	for (int row = 0; row < rows; row++)
		for (int column = 0; column < columns; column++) {
			double sum = 0;
			for (int k = 0; k < depth; k++)
				sum += (double)(float)a[row * depth + k] * (float)b[k * columns + column];
			should[row * columns + column] = (float)sum;
		}
	const sample::Array<T> device_a(a), device_b(b);
	const sample::Array<float> device_c(rows * columns);
	product<T><<<dim3(columns / block_columns, rows / block_rows), 128>>>(device_a, device_b, device_c, depth,
									      columns);
	LAUNCHED();
	if (sample::expect_near(type, device_c.get(), should, 1e-4))
		printf("%s: %d x %d x %d\n", type, rows, depth, columns);
}

// One tile of bytes, fragments put together by hand: four elements a register.
__global__ void byte_tile(const signed char *a, const signed char *b, int *c)
{
	const int lane = threadIdx.x, group = lane / 4, member = lane % 4;
	const int *a_words = reinterpret_cast<const int *>(a),
		  *b_words = reinterpret_cast<const int *>(b); // 8 words a row
	int d[4] = { 1, 2, 3, 4 };
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
		     "{%0, %1, %2, %3};"
		     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
		     : "r"(a_words[group * 8 + member]), "r"(a_words[(group + 8) * 8 + member]),
		       "r"(a_words[group * 8 + member + 4]), "r"(a_words[(group + 8) * 8 + member + 4]),
		       "r"(b_words[group * 8 + member]), "r"(b_words[group * 8 + member + 4]));
	for (int i = 0; i < 4; i++)
		c[(group + i / 2 * 8) * 8 + member * 2 + i % 2] = d[i];
}

static void run_bytes()
{
	sample::Random random(5);
	std::vector<signed char> a(16 * 32), b(8 * 32); // b by columns
	for (signed char &value : a)
		value = (signed char)random.next();
	for (signed char &value : b)
		value = (signed char)random.next();
	std::vector<int> should(16 * 8);
	for (int row = 0; row < 16; row++)
		for (int column = 0; column < 8; column++) {
			int sum = (row >= 8) * 2 + column % 2 + 1; // what was there before
			for (int k = 0; k < 32; k++)
				sum += a[row * 32 + k] * b[column * 32 + k];
			should[row * 8 + column] = sum;
		}
	const sample::Array<signed char> device_a(a), device_b(b);
	const sample::Array<int> c(16 * 8);
	byte_tile<<<1, 32>>>(device_a, device_b, c);
	LAUNCHED();
	sample::expect_equal("bytes", c.get(), should);
}

int main()
{
	run<__half>("f16");
	run<__nv_bfloat16>("bf16");
	run_bytes();
	return sample::finish("mma_product");
}

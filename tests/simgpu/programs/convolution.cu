// SPDX-License-Identifier: Apache-2.0
//
// Two-dimensional convolution of an image with a filter in constant memory: directly from global memory with mirrored
// borders, by tiles with a halo in shared memory, and, for a filter that is a product of two rows, in two passes.
// Exercises: constant memory that the host changes between launches, cudaMemcpyToSymbol with an offset, halo loads,
// clamped and mirrored indices, template parameters for the radius.
#include "sample.h"

static constexpr int max_radius = 4, max_taps = 2 * max_radius + 1;

__constant__ float filter[max_taps * max_taps];
__constant__ float row_filter[2][max_taps];

// 2 1 0 | 0 1 2 ... n-1 | n-1 n-2
__host__ __device__ static int mirrored(int i, int n)
{
	return i < 0 ? -i - 1 : i >= n ? 2 * n - i - 1 : i;
}

__global__ void direct(const float *in, float *out, int width, int height, int radius)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	float sum = 0.0f;
	for (int dy = -radius; dy <= radius; dy++)
		for (int dx = -radius; dx <= radius; dx++)
			sum = fmaf(filter[(dy + radius) * (2 * radius + 1) + dx + radius],
				   in[mirrored(y + dy, height) * width + mirrored(x + dx, width)], sum);
	out[y * width + x] = sum;
}

static constexpr int tile_x = 32, tile_y = 8;

template <int radius> __global__ void tiled(const float *in, float *out, int width, int height)
{
	constexpr int halo_x = tile_x + 2 * radius, halo_y = tile_y + 2 * radius;
	__shared__ float tile[halo_y][halo_x];
	const int first_x = blockIdx.x * tile_x, first_y = blockIdx.y * tile_y;
	for (int i = threadIdx.y * tile_x + threadIdx.x; i < halo_x * halo_y; i += tile_x * tile_y) {
		const int x = first_x + i % halo_x - radius, y = first_y + i / halo_x - radius;
		// A tile may reach far beyond the image: those elements are not used.
		tile[i / halo_x][i % halo_x] = x < width + radius && y < height + radius
						       ? in[mirrored(y, height) * width + mirrored(x, width)]
						       : 0.0f;
	}
	__syncthreads();
	const int x = first_x + threadIdx.x, y = first_y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	float sum = 0.0f;
#pragma unroll
	for (int dy = 0; dy <= 2 * radius; dy++)
#pragma unroll
		for (int dx = 0; dx <= 2 * radius; dx++)
			sum = fmaf(filter[dy * (2 * radius + 1) + dx], tile[threadIdx.y + dy][threadIdx.x + dx], sum);
	out[y * width + x] = sum;
}

// One pass along a row (`step` 1) or a column (`step` the width).
__global__ void along(const float *in, float *out, int width, int height, int radius, bool columns)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= width || y >= height)
		return;
	float sum = 0.0f;
	for (int d = -radius; d <= radius; d++) {
		const int index = columns ? mirrored(y + d, height) * width + x : y * width + mirrored(x + d, width);
		sum = fmaf(row_filter[columns][d + radius], in[index], sum);
	}
	out[y * width + x] = sum;
}

static std::vector<float> on_host(const std::vector<float> &in, const std::vector<float> &taps, int width, int height,
				  int radius)
{
	std::vector<float> out(in.size());
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			float sum = 0.0f;
			for (int dy = -radius; dy <= radius; dy++)
				for (int dx = -radius; dx <= radius; dx++)
					sum = fmaf(taps[(dy + radius) * (2 * radius + 1) + dx + radius],
						   in[mirrored(y + dy, height) * width + mirrored(x + dx, width)], sum);
			out[y * width + x] = sum;
		}
	return out;
}

template <int radius> static void run(int width, int height)
{
	const int taps = 2 * radius + 1;
	sample::Random random(radius);
	std::vector<float> in((size_t)width * height), weights(taps * taps), rows(2 * max_taps, 0.0f);
	for (float &value : in)
		value = random.real();
	for (int i = 0; i < taps; i++) {
		rows[i] = random.real();
		rows[max_taps + i] = random.real();
	}
	for (int y = 0; y < taps; y++)
		for (int x = 0; x < taps; x++)
			weights[y * taps + x] = rows[max_taps + y] * rows[x];
	TRY(cudaMemcpyToSymbol(filter, weights.data(), weights.size() * sizeof(float)));
	// Row by row, so that the offset matters.
	TRY(cudaMemcpyToSymbol(row_filter, &rows[0], max_taps * sizeof(float)));
	TRY(cudaMemcpyToSymbol(row_filter, &rows[max_taps], max_taps * sizeof(float), max_taps * sizeof(float)));

	const sample::Array<float> device_in(in);
	sample::Array<float> device_out(in.size()), device_half(in.size());
	const dim3 block(tile_x, tile_y), grid((width + tile_x - 1) / tile_x, (height + tile_y - 1) / tile_y);
	const std::vector<float> should = on_host(in, weights, width, height, radius);
	direct<<<grid, block>>>(device_in, device_out, width, height, radius);
	LAUNCHED();
	sample::expect_equal("direct", device_out.get(), should);

	device_out.fill_bytes(0);
	tiled<radius><<<grid, block>>>(device_in, device_out, width, height);
	LAUNCHED();
	sample::expect_equal("tiled", device_out.get(), should);

	along<<<grid, block>>>(device_in, device_half, width, height, radius, false);
	along<<<grid, block>>>(device_half, device_out, width, height, radius, true);
	LAUNCHED();
	sample::expect_near("separable", device_out.get(), should, 1e-5);
	printf("radius %d, %d x %d\n", radius, width, height);
}

int main()
{
	run<1>(160, 90);
	run<2>(67, 41);
	run<4>(33, 20);
	return sample::finish("convolution");
}

// SPDX-License-Identifier: Apache-2.0
//
// A seven-point heat equation in three dimensions, several time steps: each block keeps a plane with its halo in shared
// memory and the planes above and below in registers while it moves through the volume. The volume is cut into two
// halves that exchange their boundary planes after each step, as two devices would.
// Exercises: three-dimensional grids, register pipelining over planes, pointer swaps, device-to-device copies, streams.
#include "sample.h"

#include <cstring>

static constexpr int nx = 40, ny = 24, nz = 20, tile_x = 16, tile_y = 8;
static constexpr size_t plane = (size_t)nx * ny;
static constexpr float rate = 0.1f;

__host__ __device__ static float next_value(float center, float left, float right, float up, float down, float below,
					    float above)
{
	const float around = ((left + right) + (up + down)) + (below + above);
	return fmaf(rate, fmaf(-6.0f, center, around), center);
}

// Planes first to end - 1 of `out`; the planes around them and the outer border are not written.
__global__ void step(const float *in, float *out, int first, int end)
{
	__shared__ float tile[tile_y + 2][tile_x + 2];
	const int x = blockIdx.x * tile_x + threadIdx.x + 1, y = blockIdx.y * tile_y + threadIdx.y + 1;
	const int local_x = threadIdx.x + 1, local_y = threadIdx.y + 1;
	const bool inside = x < nx - 1 && y < ny - 1;
	const size_t at = (size_t)y * nx + x;
	float below = 0.0f, center = 0.0f, above = 0.0f;
	if (x < nx && y < ny) {
		center = in[(first - 1) * plane + at];
		above = in[first * plane + at];
	}
	for (int z = first; z < end; z++) {
		below = center;
		center = above;
		above = x < nx && y < ny ? in[(z + 1) * plane + at] : 0.0f;
		__syncthreads();
		tile[local_y][local_x] = center;
		if (x < nx && y < ny) {
			if (threadIdx.x == 0)
				tile[local_y][0] = in[z * plane + at - 1];
			if (threadIdx.x == tile_x - 1 && x + 1 < nx)
				tile[local_y][tile_x + 1] = in[z * plane + at + 1];
			if (threadIdx.y == 0)
				tile[0][local_x] = in[z * plane + at - nx];
			if (threadIdx.y == tile_y - 1 && y + 1 < ny)
				tile[tile_y + 1][local_x] = in[z * plane + at + nx];
		}
		__syncthreads();
		if (inside)
			out[z * plane + at] =
				next_value(center, tile[local_y][local_x - 1], tile[local_y][local_x + 1],
					   tile[local_y - 1][local_x], tile[local_y + 1][local_x], below, above);
	}
}

static void step_on_host(const std::vector<float> &in, std::vector<float> &out)
{
	for (int z = 1; z < nz - 1; z++)
		for (int y = 1; y < ny - 1; y++)
			for (int x = 1; x < nx - 1; x++) {
				const float *at = &in[z * plane + (size_t)y * nx + x];
				out[z * plane + (size_t)y * nx + x] = next_value(at[0], at[-1], at[1], at[-nx], at[nx],
										 at[-(ptrdiff_t)plane], at[plane]);
			}
}

int main()
{
	const int n_steps = 10, half = nz / 2; // one half owns the planes below `half`, the other the rest
	sample::Random random(1);
	std::vector<float> host(plane * nz), other(plane * nz);
	for (float &value : host)
		value = random.real() * 100.0f;
	other = host;

	// Each half has the whole volume's addresses, but only its own planes and one more are right.
	float *in[2], *out[2];
	cudaStream_t streams[2];
	cudaEvent_t stepped[2], exchanged[2];
	for (int i = 0; i < 2; i++) {
		const size_t first = i == 0 ? 0 : half - 1, n = i == 0 ? half + 1 : nz - half + 1;
		for (float **buffer : { &in[i], &out[i] }) {
			TRY(cudaMalloc(buffer, plane * nz * sizeof(float)));
			TRY(cudaMemset(*buffer, 0xff, plane * nz * sizeof(float))); // NaN wherever nothing belongs
			TRY(cudaMemcpy(*buffer + first * plane, &host[first * plane], n * plane * sizeof(float),
				       cudaMemcpyHostToDevice));
		}
		TRY(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		TRY(cudaEventCreateWithFlags(&stepped[i], cudaEventDisableTiming));
		TRY(cudaEventCreateWithFlags(&exchanged[i], cudaEventDisableTiming));
	}
	const dim3 block(tile_x, tile_y), grid((nx - 2 + tile_x - 1) / tile_x, (ny - 2 + tile_y - 1) / tile_y);
	for (int n = 0; n < n_steps; n++) {
		for (int i = 0; i < 2; i++) {
			if (n > 0)
				TRY(cudaStreamWaitEvent(streams[i], exchanged[1 - i], 0));
			step<<<grid, block, 0, streams[i]>>>(in[i], out[i], i == 0 ? 1 : half, i == 0 ? half : nz - 1);
			LAUNCHED();
			TRY(cudaEventRecord(stepped[i], streams[i]));
		}
		// The boundary plane of one half is the halo of the other.
		for (int i = 0; i < 2; i++) {
			const size_t boundary = (i == 0 ? half - 1 : half) * plane;
			TRY(cudaStreamWaitEvent(streams[i], stepped[1 - i], 0));
			TRY(cudaMemcpyAsync(out[1 - i] + boundary, out[i] + boundary, plane * sizeof(float),
					    cudaMemcpyDeviceToDevice, streams[i]));
			TRY(cudaEventRecord(exchanged[i], streams[i]));
		}
		for (int i = 0; i < 2; i++)
			std::swap(in[i], out[i]);
		step_on_host(host, other);
		std::swap(host, other);
	}
	std::vector<float> result(plane * nz);
	TRY(cudaDeviceSynchronize());
	TRY(cudaMemcpy(&result[0], in[0], half * plane * sizeof(float), cudaMemcpyDeviceToHost));
	TRY(cudaMemcpy(&result[half * plane], in[1] + half * plane, (nz - half) * plane * sizeof(float),
		       cudaMemcpyDeviceToHost));
	sample::expect_equal("temperature", result, host);
	for (int i = 0; i < 2; i++) {
		TRY(cudaFree(in[i]));
		TRY(cudaFree(out[i]));
		TRY(cudaStreamDestroy(streams[i]));
		TRY(cudaEventDestroy(stepped[i]));
		TRY(cudaEventDestroy(exchanged[i]));
	}
	return sample::finish("stencil");
}

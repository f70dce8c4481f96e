// SPDX-License-Identifier: Apache-2.0
//
// Images and volumes with padded rows: allocation with a pitch, copies of rectangles in every direction, from the
// middle of one image into the middle of another, fills of rectangles, copies of boxes in three dimensions, memory from
// a pool in stream order. Exercises: cudaMallocPitch, cudaMemcpy2D(Async), cudaMemset2D, cudaMalloc3D, cudaMemcpy3D,
// cudaMallocAsync/FreeAsync, cudaMemGetInfo; that nothing outside a rectangle is touched.
#include "sample.h"

static constexpr int width = 100, height = 37;

__global__ void invert(unsigned char *pixels, size_t pitch, int left, int top, int w, int h)
{
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < w && y < h) {
		unsigned char *pixel = pixels + (size_t)(top + y) * pitch + left + x;
		*pixel = (unsigned char)~*pixel;
	}
}

static unsigned char pixel_at(int x, int y)
{
	return (unsigned char)(x * 7 + y * 13);
}

static void run_images()
{
	std::vector<unsigned char> image(width * height), back(width * height, 0), should(width * height);
	unsigned char *first, *second;
	size_t first_pitch, second_pitch;
	for (int i = 0; i < width * height; i++)
		image[i] = should[i] = pixel_at(i % width, i / width);
	TRY(cudaMallocPitch((void **)&first, &first_pitch, width, height));
	TRY(cudaMallocPitch((void **)&second, &second_pitch, width * 2, height * 2));
	sample::expect(first_pitch >= width && first_pitch % 32 == 0 && second_pitch >= 2 * width, "pitches: %zu, %zu",
		       first_pitch, second_pitch);

	TRY(cudaMemcpy2D(first, first_pitch, image.data(), width, width, height, cudaMemcpyHostToDevice));
	invert<<<dim3(2, 3), dim3(32, 8)>>>(first, first_pitch, 20, 10, 50, 20);
	LAUNCHED();
	TRY(cudaMemcpy2D(back.data(), width, first, first_pitch, width, height, cudaMemcpyDeviceToHost));
	for (int y = 10; y < 30; y++)
		for (int x = 20; x < 70; x++)
			should[y * width + x] = (unsigned char)~should[y * width + x];
	sample::expect_equal("inverted", back, should);

	// A piece into the middle of another image, which is otherwise gray, with a white frame one pixel wide around
	// it.
	TRY(cudaMemset2D(second, second_pitch, 128, width * 2, height * 2));
	TRY(cudaMemset2DAsync(second + 29 * second_pitch + 39, second_pitch, 255, 42, 22, 0));
	TRY(cudaMemcpy2DAsync(second + 30 * second_pitch + 40, second_pitch, first + 5 * first_pitch + 15, first_pitch,
			      40, 20, cudaMemcpyDeviceToDevice, 0));
	std::vector<unsigned char> large(width * 2 * height * 2, 0), should_large(width * 2 * height * 2, 128);
	TRY(cudaMemcpy2D(large.data(), width * 2, second, second_pitch, width * 2, height * 2, cudaMemcpyDeviceToHost));
	for (int y = 29; y < 51; y++)
		for (int x = 39; x < 81; x++) {
			const bool inside = y >= 30 && y < 50 && x >= 40 && x < 80;
			should_large[y * width * 2 + x] = inside ? should[(y - 25) * width + x - 25] : 255;
		}
	sample::expect_equal("pasted", large, should_large);

	// Host to host, and rows longer than their pitch.
	TRY(cudaMemcpy2D(back.data(), width, image.data(), width, width / 2, height, cudaMemcpyHostToHost));
	for (int y = 0; y < height; y++)
		for (int x = 0; x < width / 2; x++)
			should[y * width + x] = pixel_at(x, y);
	sample::expect_equal("left half", back, should);
	const cudaError_t error = cudaMemcpy2D(first, 64, image.data(), width, width, height, cudaMemcpyHostToDevice);
	sample::expect(error == cudaErrorInvalidPitchValue, "rows longer than their pitch: %s",
		       cudaGetErrorName(error));
	cudaGetLastError();
	TRY(cudaFree(first));
	TRY(cudaFree(second));
}

__global__ void double_box(cudaPitchedPtr volume, cudaExtent box)
{
	const int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
	if (x < (int)(box.width / sizeof(int))) {
		char *slice = static_cast<char *>(volume.ptr) + z * volume.pitch * box.height;
		reinterpret_cast<int *>(slice + y * volume.pitch)[x] *= 2;
	}
}

static void run_volumes()
{
	const int w = 19, h = 11, d = 7;
	const cudaExtent extent = make_cudaExtent(w * sizeof(int), h, d);
	std::vector<int> volume(w * h * d), back(w * h * d, -1), should(w * h * d, -1);
	for (int i = 0; i < w * h * d; i++)
		volume[i] = i;
	cudaPitchedPtr device;
	TRY(cudaMalloc3D(&device, extent));
	sample::expect(device.pitch >= w * sizeof(int) && device.xsize == w * sizeof(int) && device.ysize == h,
		       "pitched pointer: %zu, %zu, %zu", device.pitch, device.xsize, device.ysize);
	cudaMemcpy3DParms copy = {};
	copy.srcPtr = make_cudaPitchedPtr(volume.data(), w * sizeof(int), w, h);
	copy.dstPtr = device;
	copy.extent = extent;
	copy.kind = cudaMemcpyHostToDevice;
	TRY(cudaMemcpy3D(&copy));
	double_box<<<dim3(h, d), 32>>>(device, extent);
	LAUNCHED();
	// A box out of the middle, to another place in the host's volume.
	cudaMemcpy3DParms out = {};
	out.srcPtr = device;
	out.srcPos = make_cudaPos(4 * sizeof(int), 2, 1);
	out.dstPtr = make_cudaPitchedPtr(back.data(), w * sizeof(int), w, h);
	out.dstPos = make_cudaPos(2 * sizeof(int), 3, 2);
	out.extent = make_cudaExtent(10 * sizeof(int), 6, 4);
	out.kind = cudaMemcpyDeviceToHost;
	TRY(cudaMemcpy3DAsync(&out, 0));
	TRY(cudaStreamSynchronize(0));
	for (int z = 0; z < 4; z++)
		for (int y = 0; y < 6; y++)
			for (int x = 0; x < 10; x++)
				should[((z + 2) * h + y + 3) * w + x + 2] = 2 * (((z + 1) * h + y + 2) * w + x + 4);
	sample::expect_equal("box", back, should);
	TRY(cudaMemset3D(device, 0x01, extent));
	TRY(cudaMemcpy2D(back.data(), w * sizeof(int), device.ptr, device.pitch, w * sizeof(int), h * d,
			 cudaMemcpyDeviceToHost));
	sample::expect_equal("filled", back, std::vector<int>(w * h * d, 0x01010101));
	TRY(cudaFree(device.ptr));
}

__global__ void add_index(int *values, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		values[i] += i;
}

// Allocated, used and freed in the order of a stream, many times: the pool gives the same memory again.
static void run_pool()
{
	const int n = 100000;
	cudaStream_t stream;
	size_t free_before, free_after, total;
	std::vector<int> back(n), should(n);
	TRY(cudaStreamCreate(&stream));
	TRY(cudaMemGetInfo(&free_before, &total));
	for (int repeat = 0; repeat < 20; repeat++) {
		int *values;
		TRY(cudaMallocAsync(&values, n * sizeof(int), stream));
		TRY(cudaMemsetAsync(values, 0, n * sizeof(int), stream));
		add_index<<<(n + 255) / 256, 256, 0, stream>>>(values, repeat == 19 ? n : 1000);
		LAUNCHED();
		if (repeat == 19)
			TRY(cudaMemcpyAsync(back.data(), values, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
		TRY(cudaFreeAsync(values, stream));
	}
	TRY(cudaStreamSynchronize(stream));
	for (int i = 0; i < n; i++)
		should[i] = i;
	sample::expect_equal("pool", back, should);
	cudaMemPool_t pool;
	TRY(cudaDeviceGetDefaultMemPool(&pool, 0));
	TRY(cudaMemPoolTrimTo(pool, 0));
	TRY(cudaMemGetInfo(&free_after, &total));
	sample::expect(free_before <= total && free_after + (64 << 20) >= free_before, "free: %zu, then %zu of %zu",
		       free_before, free_after, total);
	TRY(cudaStreamDestroy(stream));
}

int main()
{
	run_images();
	run_volumes();
	run_pool();
	return sample::finish("pitched_copies");
}

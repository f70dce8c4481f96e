/* SPDX-License-Identifier: Apache-2.0
 *
 * saxpy.cu - the shortest instrumented program: one header, two macros, a host side that knows nothing of them.
 * Every warp of every block runs each region once.
 */
#include <warpspan.cuh>

#include <cstdio>
#include <vector>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "saxpy");
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = a * x[i] + y[i];
}

int main()
{
	const int n = 10000;
	const size_t bytes = n * sizeof(float);
	std::vector<float> x(n), y(n, 2.0f);
	for (int i = 0; i < n; i++)
		x[i] = static_cast<float>(i);

	float *device_x = nullptr, *device_y = nullptr;
	cudaMalloc(&device_x, bytes);
	cudaMalloc(&device_y, bytes);
	cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice);
	cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice);
	saxpy<<<(n + 255) / 256, 256>>>(n, 3.0f, device_x, device_y);
	cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost);

	int wrong = 0;
	for (int i = 0; i < n; i++)
		wrong += y[i] != 3.0f * i + 2.0f;
	const cudaError_t error = cudaGetLastError();
	printf("saxpy: %d elements, %d wrong, %s\n", n, wrong, cudaGetErrorString(error));
	cudaFree(device_x);
	cudaFree(device_y);
	return wrong != 0 || error != cudaSuccess;
}

// SPDX-License-Identifier: Apache-2.0
// The plainest program, and every kind of variable: __device__, __constant__, __managed__.
#include "check.h"

#include <string.h>

__device__ int counter = 7;
__constant__ float scale[4] = { 1, 2, 3, 4 };
__managed__ int seen = 3;

__global__ void add(const float *a, const float *b, float *sum, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		sum[i] = a[i] + scale[1] * b[i];
	if (i == 0) {
		counter += 2;
		seen = 5;
	}
}

int main()
{
	const int n = 1000;
	static float host[n];
	float *a, *b, *sum, factors[4] = { 0, 10, 0, 0 };
	int value = 0;
	void *address;
	size_t bytes;

	OK(cudaMalloc(&a, sizeof(host)));
	OK(cudaMalloc(&b, sizeof(host)));
	OK(cudaMalloc(&sum, sizeof(host)));
	for (int i = 0; i < n; i++)
		host[i] = (float)i;
	OK(cudaMemcpy(a, host, sizeof(host), cudaMemcpyHostToDevice));
	OK(cudaMemcpy(b, a, sizeof(host), cudaMemcpyDefault));
	CHECK_EQUAL(seen, 3);

	add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
	OK(cudaGetLastError());
	OK(cudaDeviceSynchronize());
	OK(cudaMemcpy(host, sum, sizeof(host), cudaMemcpyDeviceToHost));
	for (int i = 0; i < n; i++)
		CHECK(host[i] == 3.0f * i);
	CHECK_EQUAL(seen, 5);
	OK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
	CHECK_EQUAL(value, 9);

	/* Variables from the host's side. */
	OK(cudaGetSymbolSize(&bytes, scale));
	CHECK_EQUAL(bytes, 16);
	OK(cudaGetSymbolAddress(&address, counter));
	OK(cudaMemset(address, 0, sizeof(int)));
	OK(cudaMemcpyToSymbol(scale, factors, sizeof(float), sizeof(float)));
	CHECK_EQUAL(cudaMemcpyToSymbol(scale, factors, 16, 4), cudaErrorInvalidValue);
	CHECK_EQUAL(cudaMemcpyToSymbol(&value, factors, 4), cudaErrorInvalidSymbol);
	OK(cudaMemcpyToSymbol(scale, &factors[1], sizeof(float), sizeof(float)));
	cudaGetLastError();
	add<<<(n + 255) / 256, 256>>>(a, b, sum, n);
	OK(cudaMemcpy(host, sum, sizeof(host), cudaMemcpyDeviceToHost));
	CHECK(host[100] == 1100.0f);
	OK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
	CHECK_EQUAL(value, 2);

	/* Rows with a pitch. */
	OK(cudaMallocPitch(&address, &bytes, 20, 5));
	CHECK(bytes >= 20);
	OK(cudaMemcpy2D(address, bytes, host, 40, 20, 5, cudaMemcpyHostToDevice));
	OK(cudaMemcpy2DAsync(factors, 4, (char *)address + bytes * 2, bytes, 4, 2, cudaMemcpyDeviceToHost, 0));
	CHECK(factors[0] == host[20] && factors[1] == host[30]);
	CHECK_EQUAL(cudaMemcpy2D(address, 8, host, 40, 20, 5, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
	cudaGetLastError();
	OK(cudaFree(address));

	CHECK(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
	CHECK(strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument") == 0);
	OK(cudaFree(a));
	OK(cudaFree(b));
	OK(cudaFree(sum));
	CHECK_EQUAL(cudaFree(sum), cudaErrorInvalidValue);
	puts("vector_add ok");
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Input for the fat binary tests.
__device__ int tiny_counter;

extern "C" __global__ void tiny(int *to, int n)
{
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		to[i] = i * n + tiny_counter;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * disabled.cu - the same kernel three ways: PLAIN has no macro and does not include the header, -DWARPSPAN_DISABLE
 * must give the same machine code to the byte, and neither define gives the instrumented kernel (which must differ,
 * or the comparison proves nothing).
 */
#ifndef PLAIN
#include <warpspan.cuh>
#endif

#ifdef PLAIN
static __device__ float accumulate(const float *data, int n)
#else
static __device__ float accumulate(warpspan::recorder &ws, const float *data, int n)
#endif
{
#ifndef PLAIN
	WS_SCOPE(ws, "accumulate");
#endif
	float sum = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x) {
#ifndef PLAIN
		WS_SCOPE(ws, "step");
		WS_VALUE(ws, "index", i);
#endif
		sum += data[i] * data[i];
	}
	return sum;
}

extern "C" __global__ void disabled(const float *data, float *out, int n)
{
	__shared__ float partial[256];
#ifndef PLAIN
	WS_OPEN(ws);
	WS_BEGIN(ws, "sum");
	partial[threadIdx.x] = accumulate(ws, data, n);
	WS_END(ws, "sum");
	WS_MARK(ws, "barrier");
#else
	partial[threadIdx.x] = accumulate(data, n);
#endif
	__syncthreads();
	if (threadIdx.x >= 32)
		return;
#ifndef PLAIN
	WS_SCOPE(ws, "reduce");
#endif
	float sum = 0;
	for (int i = threadIdx.x; i < 256; i += 32)
		sum += partial[i];
	atomicAdd(out, sum);
}

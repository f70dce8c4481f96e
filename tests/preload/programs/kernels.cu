/* SPDX-License-Identifier: Apache-2.0
 * kernels.cu - for programs that load PTX: one instrumented kernel. 4 blocks of 2 warps run "step" once each. */
#include <warpspan.cuh>

extern "C" __global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "step");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

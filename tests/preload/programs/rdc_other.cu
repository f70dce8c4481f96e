/* SPDX-License-Identifier: Apache-2.0
 * rdc_other.cu - the other file of rdc_main.cu. */
#include <warpspan.cuh>

#include "rdc.h"

__device__ void far_add(warpspan::recorder &ws, int *data)
{
	WS_SCOPE(ws, "step");
	atomicAdd(&data[blockIdx.x * blockDim.x + threadIdx.x], 1);
}

__global__ void far_step(int *data)
{
	WS_OPEN(ws);
	far_add(ws, data);
}

void launch_far(int *data)
{
	far_step<<<4, 64>>>(data);
}

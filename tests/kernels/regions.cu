/* SPDX-License-Identifier: Apache-2.0
 *
 * regions.cu - straight-line code with N_REGIONS regions, to count what one costs: the slope of the size of the machine
 * code over N_REGIONS, less the three instructions of the body (load, multiply-add, store).
 */
#include <warpspan.cuh>

#define REGION(name)                                                 \
	{                                                            \
		WS_SCOPE(ws, name);                                  \
		data[threadIdx.x] = data[threadIdx.x] * 3.0f + 1.0f; \
	}
#define FOUR(name) REGION(name "1") REGION(name "2") REGION(name "3") REGION(name "4")

extern "C" __global__ void regions(float *data)
{
	WS_OPEN(ws);
#if N_REGIONS >= 4
	FOUR("a")
#endif
#if N_REGIONS >= 8
	FOUR("b")
#endif
#if N_REGIONS >= 12
	FOUR("c")
#endif
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * refused.cu - a kernel with an instruction that simgpu does not have fails its launches; so does its neighbour, whose
 * module cannot be loaded either. What was said about it, test_runs.c counts.
 */
#include "check.h"

__global__ void refused(int *out)
{
	asm volatile("wgmma.fence.sync.aligned;");
	*out = 1;
}

__global__ void neighbour(int *out)
{
	*out = 2;
}

int main(void)
{
	int *out;

	OK(cudaMalloc((void **)&out, sizeof(*out)));
	for (int i = 0; i < 3; i++) {
		refused<<<1, 32>>>(out);
		CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidPtx);
		neighbour<<<1, 32>>>(out);
		CHECK_EQUAL(cudaGetLastError(), cudaErrorInvalidPtx);
	}
	OK(cudaFree(out));
	puts("refused ok");
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Compiled to machine code only, which simgpu cannot run.
#include "check.h"

__global__ void nothing()
{
}

int main()
{
	nothing<<<1, 1>>>();
	OK(cudaGetLastError());
	return 0;
}

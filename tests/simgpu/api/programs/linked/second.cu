// SPDX-License-Identifier: Apache-2.0
// The other file of first.cu.
#include "../check.h"
#include "linked.h"

__device__ int across = 7;
static __device__ int mine = 1000;

__device__ int twice(int x)
{
	return 2 * one_less(x + 1);
}

static __global__ void second(int *to)
{
	to[0] = across;
	to[1] = plus_merged(2);
	to[2] = mine;
	printf("from %s\n", "second");
}

void launch_second(int *to)
{
	second<<<1, 1>>>(to);
}

// SPDX-License-Identifier: Apache-2.0
// What the two files of the program share: each of them calls into the other.
#ifndef SIMGPU_LINKED_H
#define SIMGPU_LINKED_H

inline __device__ int merged = 5; // one variable, defined in both
extern __device__ int across;     // defined in second.cu

__device__ int twice(int x);    // in second.cu, calls one_less()
__device__ int one_less(int x); // in first.cu

template <class T> __device__ __noinline__ T plus_merged(T x)
{
	return x + merged;
}

void launch_second(int *to);

#endif

// SPDX-License-Identifier: Apache-2.0
//
// two_units.h - what the two files of the program `two_units` know of each other.
#ifndef TWO_UNITS_H
#define TWO_UNITS_H

struct Particle {
	float position, velocity;
};

// Defined in two_units_other.cu.
extern __device__ int n_bounces;
extern __constant__ float walls[2];
extern __managed__ int n_managed;
__device__ Particle advance(Particle particle, float dt);
__device__ int depth_first(int n);
__global__ void advance_all(Particle *particles, int n, float dt, int n_steps);

// Defined in two_units.cu, called from the other file.
__device__ float pull_at(float position);
__device__ int depth_second(int n);

// In both: merged into one.
template <typename T> __device__ T n_calls;

inline __device__ int count_call()
{
	return atomicAdd(&n_calls<int>, 1);
}

#endif

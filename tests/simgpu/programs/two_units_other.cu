// SPDX-License-Identifier: Apache-2.0
//
// The second file of two_units: see two_units.cu.
#include "two_units.h"

__device__ int n_bounces;
__constant__ float walls[2] = { -1.0f, 1.0f };
__managed__ int n_managed = 40;

// The same name in both files, each its own.
static __device__ int private_number = 200;

__device__ Particle advance(Particle particle, float dt)
{
	particle.velocity = fmaf(pull_at(particle.position), dt, particle.velocity);
	particle.position = fmaf(particle.velocity, dt, particle.position);
	for (int side = 0; side < 2; side++) {
		const bool outside = side == 0 ? particle.position < walls[0] : particle.position > walls[1];
		if (outside) {
			particle.position = 2.0f * walls[side] - particle.position;
			particle.velocity = -particle.velocity;
			atomicAdd(&n_bounces, 1);
		}
	}
	return particle;
}

// Calls across the files, in turns.
__device__ int depth_first(int n)
{
	return n <= 0 ? private_number : depth_second(n - 1) + 1;
}

__global__ void advance_all(Particle *particles, int n, float dt, int n_steps)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i == 0)
		n_managed += 2;
	count_call();
	if (i >= n)
		return;
	Particle particle = particles[i];
	for (int step = 0; step < n_steps; step++)
		particle = advance(particle, dt);
	particles[i] = particle;
}

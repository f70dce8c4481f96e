// SPDX-License-Identifier: Apache-2.0
//
// Gravity among bodies, all pairs, by tiles of positions in shared memory; a leapfrog step after each.
// Exercises: float4 in shared memory, rsqrtf, fused multiply-add, loops over tiles, many launches. Checked against f64
// on the host, and by what physics keeps: momentum exactly enough, energy nearly.
#include "sample.h"

static constexpr unsigned tile = 64;
static constexpr float softening2 = 1e-2f;

__device__ float3 pull(float3 sum, float4 own, float4 other)
{
	const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
	const float inverse = rsqrtf(fmaf(dx, dx, fmaf(dy, dy, fmaf(dz, dz, softening2))));
	const float strength = other.w * inverse * inverse * inverse;
	sum.x = fmaf(dx, strength, sum.x);
	sum.y = fmaf(dy, strength, sum.y);
	sum.z = fmaf(dz, strength, sum.z);
	return sum;
}

// Positions carry the mass in w. The velocity is half a step ahead of the position.
__global__ void step(const float4 *positions, float4 *next, float4 *velocities, unsigned n, float dt)
{
	__shared__ float4 shared[tile];
	const unsigned i = blockIdx.x * tile + threadIdx.x;
	const float4 own = i < n ? positions[i] : make_float4(0, 0, 0, 0);
	float3 acceleration = make_float3(0, 0, 0);
	for (unsigned start = 0; start < n; start += tile) {
		const unsigned j = start + threadIdx.x;
		shared[threadIdx.x] = j < n ? positions[j] : make_float4(0, 0, 0, 0); // no mass, no pull
		__syncthreads();
#pragma unroll 8
		for (unsigned k = 0; k < tile; k++)
			acceleration = pull(acceleration, own, shared[k]);
		__syncthreads();
	}
	if (i >= n)
		return;
	float4 velocity = velocities[i];
	velocity.x = fmaf(acceleration.x, dt, velocity.x);
	velocity.y = fmaf(acceleration.y, dt, velocity.y);
	velocity.z = fmaf(acceleration.z, dt, velocity.z);
	velocities[i] = velocity;
	next[i] = make_float4(fmaf(velocity.x, dt, own.x), fmaf(velocity.y, dt, own.y), fmaf(velocity.z, dt, own.z),
			      own.w);
}

struct Body {
	double position[3], velocity[3], mass;
};

static void step_on_host(std::vector<Body> &bodies, double dt)
{
	std::vector<Body> next = bodies;
	for (size_t i = 0; i < bodies.size(); i++) {
		double acceleration[3] = { 0, 0, 0 };
		for (const Body &other : bodies) {
			double d[3], square = softening2;
			for (int k = 0; k < 3; k++) {
				d[k] = other.position[k] - bodies[i].position[k];
				square += d[k] * d[k];
			}
			const double strength = other.mass / (square * std::sqrt(square));
			for (int k = 0; k < 3; k++)
				acceleration[k] += d[k] * strength;
		}
		for (int k = 0; k < 3; k++) {
			next[i].velocity[k] += acceleration[k] * dt;
			next[i].position[k] += next[i].velocity[k] * dt;
		}
	}
	bodies = next;
}

static double momentum(const std::vector<float4> &positions, const std::vector<float4> &velocities)
{
	double sum = 0;
	for (size_t i = 0; i < positions.size(); i++)
		sum += positions[i].w * (velocities[i].x + velocities[i].y + velocities[i].z);
	return sum;
}

int main()
{
	const unsigned n = 250, n_steps = 8;
	const float dt = 0.01f;
	sample::Random random(3);
	std::vector<float4> positions(n), velocities(n);
	std::vector<Body> bodies(n);
	for (unsigned i = 0; i < n; i++) {
		positions[i] = make_float4(random.real(), random.real(), random.real(), 0.5f + 0.25f * random.real());
		velocities[i] = make_float4(random.real(), random.real(), random.real(), 0);
		bodies[i] = { { positions[i].x, positions[i].y, positions[i].z },
			      { velocities[i].x, velocities[i].y, velocities[i].z },
			      positions[i].w };
	}
	const double momentum_before = momentum(positions, velocities);
	const sample::Array<float4> device_positions(positions), device_next(n), device_velocities(velocities);
	float4 *from = device_positions, *to = device_next;
	for (unsigned i = 0; i < n_steps; i++) {
		step<<<(n + tile - 1) / tile, tile>>>(from, to, device_velocities, n, dt);
		LAUNCHED();
		std::swap(from, to);
		step_on_host(bodies, dt);
	}
	positions = device_positions.get(); // an even number of steps
	velocities = device_velocities.get();
	std::vector<float> is, should;
	for (unsigned i = 0; i < n; i++) {
		for (float value : { positions[i].x, positions[i].y, positions[i].z, velocities[i].x, velocities[i].y,
				     velocities[i].z })
			is.push_back(value);
		for (const double *values : { bodies[i].position, bodies[i].velocity })
			for (int k = 0; k < 3; k++)
				should.push_back((float)values[k]);
	}
	sample::expect_near("positions and velocities", is, should, 2e-4);
	const double momentum_after = momentum(positions, velocities);
	sample::expect(std::fabs(momentum_after - momentum_before) < 1e-3, "momentum: %g, before %g", momentum_after,
		       momentum_before);
	return sample::finish("nbody");
}

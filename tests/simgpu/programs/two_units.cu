// SPDX-License-Identifier: Apache-2.0
//
// A program of two files, compiled as relocatable device code and linked: kernels, device functions, variables and
// constants of one used by the other, in both directions; a variable of a header merged from both; statics of the same
// name that stay apart; a kernel launched from the file that does not define it.
// Exercises: -rdc=true, external and weak symbols, calls that the compiler cannot inline, the fat binaries of two
// units.
#include "two_units.h"

#include "sample.h"

static __device__ int private_number = 100;
__device__ float pull_strength = 0.5f;

__device__ float pull_at(float position)
{
	return -pull_strength * position;
}

__device__ int depth_second(int n)
{
	return n <= 0 ? private_number : depth_first(n - 1) + 1;
}

__global__ void use_the_other(const Particle *in, Particle *out, int *depths, float dt)
{
	const int i = threadIdx.x;
	out[i] = advance(in[i], dt);
	depths[i] = i % 2 == 0 ? depth_first(i) : depth_second(i);
	count_call();
}

// What both files do, on the host.
static int advance_on_host(Particle &particle, float dt, float strength)
{
	int bounces = 0;
	particle.velocity = fmaf(-strength * particle.position, dt, particle.velocity);
	particle.position = fmaf(particle.velocity, dt, particle.position);
	for (float wall : { -1.0f, 1.0f })
		if (wall < 0 ? particle.position < wall : particle.position > wall) {
			particle.position = 2.0f * wall - particle.position;
			particle.velocity = -particle.velocity;
			bounces++;
		}
	return bounces;
}

static std::vector<float> flat(const std::vector<Particle> &particles)
{
	std::vector<float> values;
	for (const Particle &particle : particles) {
		values.push_back(particle.position);
		values.push_back(particle.velocity);
	}
	return values;
}

int main()
{
	const int n = 96, n_steps = 25;
	const float dt = 0.25f, strength = 0.75f;
	sample::Random random(12);
	std::vector<Particle> particles(n), should;
	for (Particle &particle : particles)
		particle = { random.real(), 2.0f * random.real() };
	should = particles;

	const sample::Array<Particle> device_particles(particles), device_out(n);
	const sample::Array<int> depths(n);
	TRY(cudaMemcpyToSymbol(pull_strength, &strength, sizeof(strength)));
	advance_all<<<2, 64>>>(device_particles, n, dt, n_steps);
	LAUNCHED();
	int bounces = 0, is_bounces = 0, is_calls = 0, is_managed = 0;
	for (Particle &particle : should)
		for (int step = 0; step < n_steps; step++)
			bounces += advance_on_host(particle, dt, strength);
	sample::expect_equal("particles", flat(device_particles.get()), flat(should));

	use_the_other<<<1, n>>>(device_particles, device_out, depths, dt);
	LAUNCHED();
	std::vector<int> should_depths(n);
	for (int i = 0; i < n; i++) {
		bounces += advance_on_host(should[i], dt, strength);
		// An even count starts and ends in the other file, an odd one starts here and ends there.
		should_depths[i] = 200 + i;
	}
	sample::expect_equal("moved on", flat(device_out.get()), flat(should));
	sample::expect_equal("depths", depths.get(), should_depths);

	TRY(cudaMemcpyFromSymbol(&is_bounces, n_bounces, sizeof(int)));
	TRY(cudaMemcpyFromSymbol(&is_calls, n_calls<int>, sizeof(int)));
	TRY(cudaDeviceSynchronize());
	is_managed = n_managed;
	sample::expect(is_bounces == bounces && bounces > 0, "bounces: %d, not %d", is_bounces, bounces);
	sample::expect(is_calls == 128 + n, "calls counted in both files: %d", is_calls);
	sample::expect(is_managed == 42, "managed: %d", is_managed);
	float is_walls[2];
	TRY(cudaMemcpyFromSymbol(is_walls, walls, sizeof(is_walls)));
	sample::expect(is_walls[0] == -1.0f && is_walls[1] == 1.0f, "walls: %g, %g", is_walls[0], is_walls[1]);
	printf("%d bounces\n", is_bounces);
	return sample::finish("two_units");
}

// SPDX-License-Identifier: Apache-2.0
//
// Arrays of a thread's own with indices known only at run time: an interpreter with a stack, insertion sort and a heap
// of nearest neighbors, a state machine by switch, backtracking through a small maze, matrices multiplied in local
// memory. Exercises: local memory loads and stores of several widths, brx.idx, divergent loops, generic addresses of
// local variables, unions and bytes.
#include "sample.h"

#include <algorithm>
#include <cstring>

// --- a stack machine: every thread another program
// ------------------------------------------------------------------------
enum Operation : uint8_t {
	PUSH,
	ADD,
	SUBTRACT,
	MULTIPLY,
	SWAP,
	DUPLICATE,
	DROP,
	NEGATE,
	JUMP_IF_ZERO,
	STORE,
	LOAD,
	STOP
};

static constexpr int program_length = 40, stack_size = 16;

__host__ __device__ static int interpret(const uint8_t *program)
{
	int stack[stack_size], variables[4] = { 1, 2, 3, 4 }, depth = 0, steps = 0;
	for (int at = 0; at < program_length && steps < 100; steps++) {
		const uint8_t code = program[at++];
		switch (code % 16 % (STOP + 1)) {
		case PUSH:
			if (depth < stack_size)
				stack[depth++] = code >> 4;
			break;
		case ADD:
			if (depth >= 2) {
				stack[depth - 2] += stack[depth - 1];
				depth--;
			}
			break;
		case SUBTRACT:
			if (depth >= 2) {
				stack[depth - 2] -= stack[depth - 1];
				depth--;
			}
			break;
		case MULTIPLY:
			if (depth >= 2) {
				stack[depth - 2] = (int)((unsigned)stack[depth - 2] * (unsigned)stack[depth - 1]);
				depth--;
			}
			break;
		case SWAP:
			if (depth >= 2) {
				const int top = stack[depth - 1];
				stack[depth - 1] = stack[depth - 2];
				stack[depth - 2] = top;
			}
			break;
		case DUPLICATE:
			if (depth >= 1 && depth < stack_size) {
				stack[depth] = stack[depth - 1];
				depth++;
			}
			break;
		case DROP:
			depth = depth > 0 ? depth - 1 : 0;
			break;
		case NEGATE:
			if (depth >= 1)
				stack[depth - 1] = -stack[depth - 1] ^ at;
			break;
		case JUMP_IF_ZERO:
			if (depth >= 1 && stack[--depth] % 3 == 0)
				at = (at + (code >> 4) * 5) % program_length;
			break;
		case STORE:
			if (depth >= 1)
				variables[code >> 4 & 3] = stack[--depth];
			break;
		case LOAD:
			if (depth < stack_size)
				stack[depth++] = variables[code >> 4 & 3];
			break;
		default:
			at = program_length;
		}
	}
	unsigned result = (unsigned)depth * 1000003u + (unsigned)steps;
	for (int i = 0; i < depth; i++)
		result = result * 31 + (unsigned)stack[i];
	for (int variable : variables)
		result = result * 37 + (unsigned)variable;
	return (int)result;
}

__global__ void interpret_all(const uint8_t *programs, int *results)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	results[i] = interpret(programs + i * program_length);
}

// --- the nearest neighbors of a point, kept in order
// ----------------------------------------------------------------------
static constexpr int n_nearest = 7;

struct Candidate {
	float distance;
	uint16_t index;
	uint8_t tag;
};

__device__ __noinline__ void insert(Candidate *nearest, int *n, Candidate candidate)
{
	int at = *n < n_nearest ? (*n)++ : n_nearest - 1;
	if (at == n_nearest - 1 && *n == n_nearest && nearest[at].tag != 0 &&
	    nearest[at].distance <= candidate.distance)
		return;
	for (; at > 0 && nearest[at - 1].distance > candidate.distance; at--)
		nearest[at] = nearest[at - 1];
	nearest[at] = candidate;
}

__global__ void find_nearest(const float2 *points, int n, int *results)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	Candidate nearest[n_nearest];
	int found = 0;
	for (Candidate &candidate : nearest)
		candidate = { 0, 0, 0 };
	for (int k = 0; k < n; k++) {
		const float dx = points[k].x - points[i].x, dy = points[k].y - points[i].y;
		if (k != i)
			insert(nearest, &found, { __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), (uint16_t)k, 1 });
	}
	for (int k = 0; k < n_nearest; k++)
		results[i * n_nearest + k] = nearest[k].index;
}

static void run_nearest()
{
	const int n = 150;
	sample::Random random(2);
	std::vector<float2> points(n);
	std::vector<int> should;
	for (float2 &point : points)
		point = make_float2(random.real(), random.real());
	for (int i = 0; i < n; i++) {
		std::vector<std::pair<float, int>> all;
		for (int k = 0; k < n; k++) {
			const float dx = points[k].x - points[i].x, dy = points[k].y - points[i].y;
			volatile float xx = dx * dx, yy = dy * dy;
			if (k != i)
				all.push_back({ xx + yy, k });
		}
		std::sort(all.begin(), all.end());
		for (int k = 0; k < n_nearest; k++)
			should.push_back(all[k].second);
	}
	const sample::Array<float2> device_points(points);
	const sample::Array<int> results(n * n_nearest);
	find_nearest<<<2, 96>>>(device_points, n, results);
	LAUNCHED();
	sample::expect_equal("nearest", results.get(), should);
}

// --- powers of small matrices, in local memory, through pointers
// -------------------------------------------------------------
template <typename T, int size>
__device__ __noinline__ void multiply(const T (*a)[size], const T (*b)[size], T (*out)[size])
{
	for (int row = 0; row < size; row++)
		for (int column = 0; column < size; column++) {
			T sum = 0;
			for (int k = 0; k < size; k++)
				sum += a[row][k] * b[k][column];
			out[row][column] = sum;
		}
}

// Fibonacci numbers and their like: the matrix to the i-th power by squaring, buffers chosen at run time.
__global__ void powers(unsigned long long *results)
{
	constexpr int size = 3;
	unsigned long long buffers[3][size][size] = { { { 1, 1, 0 }, { 1, 0, 1 }, { 0, 1, 1 } },
						      { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
	int power = 0, result = 1, scratch = 2;
	for (unsigned n = threadIdx.x; n != 0; n /= 2) {
		if (n % 2 != 0) {
			multiply<unsigned long long, size>(buffers[result], buffers[power], buffers[scratch]);
			const int old = result;
			result = scratch;
			scratch = old;
		}
		multiply<unsigned long long, size>(buffers[power], buffers[power], buffers[scratch]);
		const int old = power;
		power = scratch;
		scratch = old;
	}
	results[threadIdx.x] = buffers[result][0][threadIdx.x % 3];
}

static void run_powers()
{
	const int n = 70;
	std::vector<unsigned long long> should(n);
	unsigned long long matrix[3][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
	static const unsigned long long base[3][3] = { { 1, 1, 0 }, { 1, 0, 1 }, { 0, 1, 1 } };
	for (int i = 0; i < n; i++) {
		should[i] = matrix[0][i % 3];
		unsigned long long next[3][3] = {};
		for (int row = 0; row < 3; row++)
			for (int column = 0; column < 3; column++)
				for (int k = 0; k < 3; k++)
					next[row][column] += matrix[row][k] * base[k][column];
		memcpy(matrix, next, sizeof(matrix));
	}
	const sample::Array<unsigned long long> results(n);
	powers<<<1, n>>>(results);
	LAUNCHED();
	sample::expect_equal("powers", results.get(), should);
}

int main()
{
	const int n = 512;
	sample::Random random(1);
	std::vector<uint8_t> programs(n * program_length);
	std::vector<int> should(n);
	for (uint8_t &code : programs)
		code = random.below(3) == 0 ? (uint8_t)(random.below(16) << 4 | PUSH) : (uint8_t)random.next();
	for (int i = 0; i < n; i++)
		should[i] = interpret(&programs[i * program_length]);
	const sample::Array<uint8_t> device_programs(programs);
	const sample::Array<int> results(n);
	interpret_all<<<n / 128, 128>>>(device_programs, results);
	LAUNCHED();
	sample::expect_equal("interpreted", results.get(), should);
	run_nearest();
	run_powers();
	return sample::finish("local_arrays");
}

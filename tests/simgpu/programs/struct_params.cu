// SPDX-License-Identifier: Apache-2.0
//
// Arguments by value: structures with padding, arrays and nested structures, several kilobytes of them, strings, empty
// structures, bit fields, 1-byte and 16-byte members, arguments indexed dynamically and passed on to functions;
// structures returned by value; __grid_constant__ arguments whose address is taken. Exercises: the layout of kernel
// parameters, ld.param of all widths, parameters copied to local memory, param space for calls.
#include "sample.h"

#include <cstddef>
#include <cstring>

struct Inner {
	char letter;
	double value;
	short halves[3];
};

struct alignas(16) Aligned {
	float x, y, z;
};

struct Bits {
	unsigned low : 5, middle : 11, high : 16;
	int sign : 4;
};

struct Empty {
};

struct Outer {
	char text[24];
	Inner inner[2];
	Aligned position;
	Bits bits;
	bool flags[7];
	long long large;
};

// Everything in an order that needs padding.
__global__ void mixed(char a, double b, Empty, short c, Outer outer, unsigned char d, Aligned e, float f, const void *g,
		      bool h, double *results, char *text)
{
	const int i = threadIdx.x;
	if (i < 24)
		text[i] = outer.text[i]; // dynamically indexed
	if (i != 0)
		return;
	int n = 0;
	results[n++] = a;
	results[n++] = b;
	results[n++] = c;
	results[n++] = d;
	results[n++] = e.x + e.y * 10 + e.z * 100;
	results[n++] = f;
	results[n++] = (double)(reinterpret_cast<size_t>(g) & 0xffff);
	results[n++] = h;
	for (const Inner &inner : outer.inner)
		results[n++] = inner.letter * 1000.0 + inner.value + inner.halves[0] + inner.halves[1] * 2 +
			       inner.halves[2] * 3;
	results[n++] = outer.position.x - outer.position.z;
	results[n++] = outer.bits.low + outer.bits.middle * 100.0 + outer.bits.high * 1e6 + outer.bits.sign * 1e12;
	for (int k = 0; k < 7; k++)
		results[n] = (k == 0 ? 0 : results[n]) * 2 + outer.flags[k];
	n++;
	results[n++] = (double)outer.large;
}

static void run_mixed()
{
	Outer outer = {};
	strcpy(outer.text, "by value, not a pointer");
	outer.inner[0] = { 'p', 0.25, { 1, -2, 3 } };
	outer.inner[1] = { 'q', -7.5, { 30000, -30000, 5 } };
	outer.position = { 1.5f, 2.5f, -3.5f };
	outer.bits = { 21, 1999, 65535, -7 };
	outer.flags[1] = outer.flags[2] = outer.flags[6] = true;
	outer.large = -(1ll << 40);
	const sample::Array<double> results(14);
	const sample::Array<char> text(24);
	mixed<<<1, 32>>>('x', 1e100, Empty(), -1234, outer, 250, { 1, 2, 3 }, 0.125f,
			 reinterpret_cast<const void *>(0xabcd1234ul), true, results, text);
	// The caller's copy may change at once.
	memset(outer.text, '?', sizeof(outer.text));
	LAUNCHED();
	const std::vector<double> should = { 'x',
					     1e100,
					     -1234,
					     250,
					     321,
					     0.125,
					     0x1234,
					     1,
					     'p' * 1000.0 + 0.25 + 1 - 4 + 9,
					     'q' * 1000.0 - 7.5 + 30000 - 60000 + 15,
					     5,
					     21 + 199900.0 + 65535e6 - 7e12,
					     49,
					     -(double)(1ll << 40) };
	sample::expect_equal("mixed", results.get(), should);
	sample::expect(strcmp(text.get().data(), "by value, not a pointer") == 0, "text: %.24s", text.get().data());
}

// --- nearly 4 KiB, the limit of old
// ------------------------------------------------------------------------------------------
struct Large {
	int numbers[900];
	unsigned char bytes[300];
};

__device__ __noinline__ int sum_of(Large large, int step)
{
	int sum = 0;
	for (int i = 0; i < 900; i += step)
		sum += large.numbers[i];
	large.numbers[0] = 0; // its own copy
	return sum;
}

__device__ __noinline__ Inner change(const Inner &inner, Inner other)
{
	Inner result = inner;
	result.value += other.value;
	result.halves[1] = (short)(other.halves[2] - inner.halves[0]);
	result.letter = (char)(inner.letter + 1);
	return result;
}

__global__ void use_large(Large large, int *results)
{
	const int i = threadIdx.x;
	results[i] = large.numbers[(i * 37) % 900] * 1000 + large.bytes[(i * 11) % 300];
	large.numbers[i] = -1; // the thread's own
	if (i < 4)
		results[64 + i] = sum_of(large, i + 1) + large.numbers[0];
	const Inner inner = change({ (char)i, 0.5, { (short)i, 2, 3 } }, { 'o', (double)i, { 4, 5, 6 } });
	results[68 + i] = inner.letter * 10000 + (int)(inner.value * 10) + inner.halves[1] + inner.halves[2];
}

// By its address, never copied.
__global__ void use_constant(const __grid_constant__ Large large, int *results)
{
	const int *numbers = large.numbers;
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < 900)
		results[i] = *(numbers + (899 - i)) + large.bytes[i % 300];
}

static void run_large()
{
	Large large;
	for (int i = 0; i < 900; i++)
		large.numbers[i] = i * i % 7001;
	for (int i = 0; i < 300; i++)
		large.bytes[i] = (unsigned char)(i * 3);
	const sample::Array<int> results(132), constant_results(900);
	use_large<<<1, 64>>>(large, results);
	use_constant<<<8, 128>>>(large, constant_results);
	LAUNCHED();
	std::vector<int> should(132), constant_should(900);
	for (int i = 0; i < 64; i++) {
		should[i] = large.numbers[i * 37 % 900] * 1000 + large.bytes[i * 11 % 300];
		should[68 + i] = (i + 1) * 10000 + (int)((0.5 + i) * 10) + (6 - i) + 3;
		if (i < 4) {
			int sum = 0;
			for (int k = 0; k < 900; k += i + 1)
				sum += k == i ? -1 : large.numbers[k];
			should[64 + i] = sum + (i == 0 ? -1 : large.numbers[0]);
		}
	}
	for (int i = 0; i < 900; i++)
		constant_should[i] = large.numbers[899 - i] + large.bytes[i % 300];
	sample::expect_equal("large", results.get(), should);
	sample::expect_equal("constant", constant_results.get(), constant_should);

	// The same through the call that takes pointers to the arguments.
	int *address = constant_results;
	void *arguments[] = { &large, &address };
	TRY(cudaMemset(address, 0, 900 * sizeof(int)));
	TRY(cudaLaunchKernel((void *)use_constant, dim3(4), dim3(256), arguments, 0, 0));
	sample::expect_equal("launched by pointers", constant_results.get(), constant_should);
}

int main()
{
	run_mixed();
	run_large();
	return sample::finish("struct_params");
}

// SPDX-License-Identifier: Apache-2.0
//
// Number theory on 128-bit integers: Miller-Rabin on 64-bit numbers, greatest common divisors, and the decimal digits
// of 128-bit numbers, signed ones too. The host does the same with its own 128-bit arithmetic.
// Exercises: nvcc's 128-bit multiplication, division and remainder, whose carry chains end a subtraction with an addc;
// 128-bit shifts and comparisons, arrays of bytes per thread.
#include "sample.h"

#include <cstring>

using u128 = unsigned __int128;
using i128 = __int128;

__host__ __device__ inline uint64_t power_modulo(uint64_t base, uint64_t exponent, uint64_t modulus)
{
	uint64_t result = 1;
	for (base %= modulus; exponent > 0; exponent >>= 1) {
		if (exponent & 1)
			result = (uint64_t)((u128)result * base % modulus);
		base = (uint64_t)((u128)base * base % modulus);
	}
	return result;
}

// Exact for all 64-bit numbers with these witnesses.
__host__ __device__ inline bool is_prime(uint64_t n)
{
	const unsigned witnesses[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37 };
	if (n < 2)
		return false;
	for (unsigned w : witnesses)
		if (n % w == 0)
			return n == w;
	uint64_t odd = n - 1;
	int twos = 0;
	for (; odd % 2 == 0; odd /= 2)
		twos++;
	for (unsigned w : witnesses) {
		uint64_t x = power_modulo(w, odd, n);
		if (x == 1 || x == n - 1)
			continue;
		bool composite = true;
		for (int i = 1; i < twos && composite; i++) {
			x = (uint64_t)((u128)x * x % n);
			composite = x != n - 1;
		}
		if (composite)
			return false;
	}
	return true;
}

__host__ __device__ inline u128 common_divisor(u128 a, u128 b)
{
	while (b != 0) {
		const u128 rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

// Returns the length.
__host__ __device__ inline int to_decimal(i128 number, char *text)
{
	char reversed[40];
	u128 rest = number < 0 ? -(u128)number : (u128)number;
	int n_digits = 0, length = 0;
	do {
		reversed[n_digits++] = (char)('0' + (int)(rest % 10));
		rest /= 10;
	} while (rest != 0);
	if (number < 0)
		text[length++] = '-';
	while (n_digits > 0)
		text[length++] = reversed[--n_digits];
	return length;
}

__host__ __device__ inline i128 signed_parts(i128 a, i128 b)
{
	return b == 0 ? a : a / b - a % b;
}

__global__ void test_primes(const uint64_t *numbers, int n, int *results)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		results[i] = is_prime(numbers[i]);
}

static constexpr int text_size = 48;

__global__ void wide(const i128 *a, const i128 *b, int n, u128 *divisors, i128 *parts, char *texts)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	divisors[i] = common_divisor((u128)a[i], (u128)b[i]);
	parts[i] = signed_parts(a[i], b[i]);
	texts[i * text_size + to_decimal(a[i], texts + i * text_size)] = 0;
}

static void run_primes()
{
	// The largest primes below powers of two, their neighbours, Carmichael numbers and products of two primes.
	std::vector<uint64_t> numbers = { 0,
					  1,
					  2,
					  4,
					  561,
					  41041,
					  18446744073709551557ull,
					  18446744073709551556ull,
					  9223372036854775783ull,
					  4294967291ull * 4294967279ull,
					  3825123056546413051ull,
					  2305843009213693951ull };
	sample::Random random(7);
	while (numbers.size() < 200)
		numbers.push_back(random.next() >> random.below(40) | 1);
	const int n = (int)numbers.size();
	const sample::Array<uint64_t> on_device(numbers);
	const sample::Array<int> results(n);
	test_primes<<<(n + 63) / 64, 64>>>(on_device, n, results);
	LAUNCHED();
	std::vector<int> should(n);
	for (int i = 0; i < n; i++)
		should[i] = is_prime(numbers[i]);
	sample::expect(should[6] == 1 && should[9] == 0, "the host's own test is wrong");
	sample::expect_equal("is_prime", results.get(), should);
}

static void run_wide()
{
	sample::Random random(11);
	const int n = 256;
	std::vector<i128> a(n), b(n);
	for (int i = 0; i < n; i++) {
		a[i] = (i128)((u128)random.next() << 64 | random.next()) >> random.below(128);
		b[i] = (i128)((u128)random.next() << 64 | random.next()) >> random.below(127);
	}
	a[0] = (i128)((u128)1 << 127); // the smallest
	b[0] = 3;
	const sample::Array<i128> a_there(a), b_there(b), parts(n);
	const sample::Array<u128> divisors(n);
	const sample::Array<char> texts((size_t)n * text_size);
	wide<<<n / 64, 64>>>(a_there, b_there, n, divisors, parts, texts);
	LAUNCHED();
	const std::vector<u128> divisors_here = divisors.get();
	const std::vector<i128> parts_here = parts.get();
	const std::vector<char> texts_here = texts.get();
	for (int i = 0; i < n; i++) {
		char text[text_size];
		text[to_decimal(a[i], text)] = 0;
		sample::expect(strcmp(text, &texts_here[i * text_size]) == 0, "number %d: %s, not %s", i,
			       &texts_here[i * text_size], text);
		sample::expect(divisors_here[i] == common_divisor((u128)a[i], (u128)b[i]), "divisor %d", i);
		sample::expect(parts_here[i] == signed_parts(a[i], b[i]), "quotient and remainder %d", i);
	}
}

int main()
{
	run_primes();
	run_wide();
	return sample::finish("primality");
}

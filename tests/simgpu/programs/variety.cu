// SPDX-License-Identifier: Apache-2.0
// The same C++ on the host and on the device: what nvcc makes of it must give the same results. Built for several
// architectures, without contraction to fused multiply-add, which would round differently on the two sides.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#define N 4096

struct input {
	uint32_t a, b;
	int32_t i, k;
	uint64_t u, v;
	int64_t s;
	float f, g;
	double d, e;
};

#define BOTH __host__ __device__

/* --- pieces of programs: each takes an input and gives 64 bits -------------------------------- */

BOTH inline uint64_t bits(float value)
{
	uint32_t result;

	memcpy(&result, &value, sizeof(result));
	return value == value ? result : 0x7fffffff;
}

BOTH inline uint64_t bits(double value)
{
	uint64_t result;

	memcpy(&result, &value, sizeof(result));
	return value == value ? result : 0x7ff8000000000000;
}

#define PIECE(name, ...)                                 \
	struct name {                                    \
		static const char *title()               \
		{                                        \
			return #name;                    \
		}                                        \
		BOTH static uint64_t run(const input &x) \
		{                                        \
			__VA_ARGS__                      \
		}                                        \
	};

PIECE(unsigned_32, { return (x.a * x.b + (x.a ^ x.b >> 3)) / (x.b | 1) + x.a % (x.b | 7); })
PIECE(signed_32,
      { return (uint64_t)(int64_t)(x.i / 2 / (x.k | 1) + x.i % (x.k | 2) + (x.i >> 3) - (x.i < x.k ? x.i : x.k)); })
PIECE(unsigned_64,
      { return x.u * x.v + x.u / (x.v | 1) + x.u % (x.v >> 7 | 5) + (x.u << (x.a & 63)) + (x.v >> (x.b & 63)); })
PIECE(signed_64, { return (uint64_t)(x.s / 2 / (int64_t)(x.i | 1) + x.s % (int64_t)(x.k | 2) + (x.s >> (x.a & 63))); })
PIECE(bytes_and_halves, {
	uint8_t c = (uint8_t)(x.a + 3);
	int8_t sc = (int8_t)(x.b * 5);
	uint16_t h = (uint16_t)(x.a * c);
	int16_t sh = (int16_t)(x.i - sc);
	return (uint64_t)(c + sc * h - sh) + (uint64_t)(h / (c | 1)) + (uint64_t)(sh % (sc | 1));
})
PIECE(float_arithmetic, { return bits((x.f + x.g) * x.f - x.g / (x.f + 0.25f)); })
PIECE(float_functions,
      { return bits(sqrtf(fabsf(x.f)) + floorf(x.g) + ceilf(x.f) + truncf(x.g) + rintf(x.f) + copysignf(x.f, x.g)); })
PIECE(float_compare, {
	return (x.f < x.g) + 2 * (x.f == x.g) + 4 * !(x.f >= x.g) + 8 * (x.f != x.f) +
	       16 * (uint64_t)bits(fminf(x.f, x.g));
})
PIECE(double_arithmetic, { return bits((x.d + x.e) * x.d - x.e / (x.d + 0.25)); })
PIECE(double_functions, { return bits(sqrt(fabs(x.d)) + floor(x.e) + ceil(x.d) + rint(x.e) + fmax(x.d, x.e)); })
PIECE(fused, { return bits(fmaf(x.f, x.g, 1.5f)) ^ bits(fma(x.d, x.e, -2.5)); })
PIECE(float_to_int, {
	return (uint64_t)(int64_t)(int)(x.f * 100) + (uint64_t)(unsigned)fabsf(x.g) + (uint64_t)(long long)x.d +
	       (uint64_t)fabs(x.e);
})
PIECE(int_to_float, {
	return bits((float)x.i) ^ bits((float)x.u) << 1 ^ bits((double)x.s) ^ bits((double)x.u) >> 3 ^
	       bits((float)x.s) << 7;
})
PIECE(narrowing, { return bits((float)x.d) + bits((double)x.f) + (uint64_t)(int8_t)x.i + (uint64_t)(uint16_t)x.u; })
PIECE(hashing, {
	uint64_t h = 1469598103934665603ull;
	for (int n = 0; n < 8; n++)
		h = (h ^ (x.u >> (8 * n) & 255)) * 1099511628211ull;
	for (uint32_t v = x.a; v != 0; v >>= 3)
		h = h * 31 + (v & 7);
	return h;
})
PIECE(loops, {
	uint32_t n = x.a % 1000 + 1, steps = 0;
	while (n != 1) {
		n = n & 1 ? 3 * n + 1 : n / 2;
		steps++;
	}
	uint32_t p = x.b % 500 + 2, q = x.a % 400 + 1;
	while (q != 0) {
		uint32_t t = p % q;
		p = q;
		q = t;
	}
	return (uint64_t)steps << 32 | p;
})
PIECE(switches, {
	uint64_t r = 0;
	for (int n = 0; n < 6; n++)
		switch (x.u >> (5 * n) & 15) {
		case 0:
			r += 3;
			break;
		case 1:
			r *= 5;
			break;
		case 2:
			r ^= x.u;
			break;
		case 3:
			r -= x.v;
			break;
		case 4:
			r = r << 3 | r >> 61;
			break;
		case 5:
			r += x.a; /* falls through */
		case 6:
			r ^= 0x55;
			break;
		case 9:
			r = ~r;
			break;
		case 10:
			r /= 3;
			break;
		case 11:
			r += (uint64_t)x.i;
			break;
		default:
			r++;
			break;
		}
	return r;
})
PIECE(arrays, {
	int stack[24];
	for (int n = 0; n < 24; n++)
		stack[n] = (int)(x.a >> n & 15) - 7 + n * (x.k % 5);
	for (int n = 1; n < 24; n++) {
		int v = stack[n];
		int m = n;
		for (; m > 0 && stack[m - 1] > v; m--)
			stack[m] = stack[m - 1];
		stack[m] = v;
	}
	uint64_t r = 0;
	for (int n = 0; n < 24; n++)
		r = r * 37 + (uint64_t)stack[n];
	return r + (uint64_t)stack[x.b % 24];
})

struct shape {
	int kind;
	double size;
	short corner[3];
};

__noinline__ BOTH shape grow(shape s, int by)
{
	s.size *= by;
	s.corner[by & 1] += (short)by;
	s.kind ^= by;
	return s;
}

__noinline__ BOTH uint64_t ackermann(uint32_t m, uint32_t n)
{
	return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : (uint32_t)ackermann(m, n - 1));
}

PIECE(calls, {
	shape s = { x.i, x.d, { 1, 2, 3 } };
	s = grow(grow(s, 3), x.k & 7);
	return bits(s.size) ^ (uint64_t)s.kind ^ (uint64_t)s.corner[0] << 40 ^ (uint64_t)s.corner[1] << 50;
})
PIECE(recursion, { return ackermann(2, x.a % 4); })

struct animal {
	BOTH virtual uint64_t speak(uint64_t v) const = 0;
};
struct cat : animal {
	uint64_t lives;
	BOTH cat(uint64_t l) : lives(l)
	{
	}
	BOTH uint64_t speak(uint64_t v) const override
	{
		return v * lives + 9;
	}
};
struct dog : animal {
	BOTH uint64_t speak(uint64_t v) const override
	{
		return v ^ 0xd09;
	}
};

PIECE(virtual_calls, {
	cat c(x.b);
	dog d;
	const animal *which[2] = { &c, &d };
	return which[x.a & 1]->speak(x.u) + which[x.b >> 5 & 1]->speak(x.v);
})
PIECE(pointers, {
	uint32_t words[8];
	memset(words, 0, sizeof(words));
	char *bytes = (char *)words;
	for (int n = 0; n < 32; n += 1 + (int)(x.a & 1))
		bytes[n] = (char)(x.u >> (n & 7));
	uint64_t r = 0;
	for (int n = 0; n < 8; n++)
		r = r * 3 + words[n] + (uint64_t)__builtin_popcount(words[n]);
	return r;
})
PIECE(half_arithmetic, {
	__half h = __float2half(x.f), k = __float2half(x.g);
	return bits(__half2float(__hadd(h, k))) ^ bits(__half2float(__hmul(h, k))) << 16;
})
PIECE(bfloat_conversion,
      { return bits(__bfloat162float(__float2bfloat16(x.f))) + bits(__bfloat162float(__float2bfloat16(x.g))); })

/* Functions of the mathematics library differ in the last digits between host and device: compared by digits. */
#define CLOSE(name, expression)                        \
	struct name {                                  \
		static const char *title()             \
		{                                      \
			return #name;                  \
		}                                      \
		BOTH static double run(const input &x) \
		{                                      \
			return expression;             \
		}                                      \
	};

CLOSE(sines, sin(x.d) + cos(x.e))
CLOSE(exponentials, exp(x.d / 50) + log(fabs(x.e) + 1e-3))
CLOSE(powers, pow(fabs(x.d) + 0.1, x.e / 60))
CLOSE(arcs, atan2(x.d, x.e) + acos(x.d / 1e4) + asinh(x.e))
CLOSE(single_sines, sinf(x.f) + cosf(x.g) + tanf(x.f / 300))
CLOSE(single_exponentials, expf(x.f / 50) + logf(fabsf(x.g) + 0.1f) + exp2f(x.f / 40) + log2f(fabsf(x.f) + 1))
CLOSE(single_powers, powf(fabsf(x.f) + 0.1f, x.g / 100) + cbrtf(x.f) + hypotf(x.f, x.g) + tanhf(x.f / 90))
CLOSE(gammas, erf(x.d / 100) + lgamma(fabs(x.e) + 1))

/* --- running ---------------------------------------------------------------------------------- */

template <typename P, typename R> __global__ void run_on_device(const input *inputs, R *results)
{
	int n = blockIdx.x * blockDim.x + threadIdx.x;

	if (n < N)
		results[n] = P::run(inputs[n]);
}

static input inputs[N];
static input *device_inputs;
static void *device_results;
static int n_failed;

static uint64_t next_random()
{
	static uint64_t state = 88172645463325252ull;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Small, large and special numbers in every combination. */
static void fill_inputs()
{
	static const float awkward[] = { 0.0f, -0.0f, 1.0f, -1.0f, 0.5f, 2.5f, -3.5f, 1e-40f };

	for (int n = 0; n < N; n++) {
		input *x = &inputs[n];

		x->a = (uint32_t)(next_random() >> (next_random() & 31));
		x->b = (uint32_t)(next_random() >> (next_random() & 31));
		x->i = (int32_t)next_random() >> (next_random() & 31);
		x->k = (int32_t)next_random() >> (next_random() & 31);
		x->u = next_random() >> (next_random() & 63);
		x->v = next_random() >> (next_random() & 63);
		x->s = (int64_t)next_random() >> (next_random() & 63);
		x->f = (float)((int32_t)next_random() >> 20) / 8;
		x->g = (float)((int32_t)next_random() >> 22) / 3;
		x->d = (double)((int64_t)next_random() >> 40) / 7e4;
		x->e = (double)((int64_t)next_random() >> 42) / 3e3;
		if (n % 7 == 0)
			x->f = awkward[n / 7 % 8];
		if (n % 11 == 0)
			x->d = awkward[n / 11 % 8];
	}
}

static void check(cudaError_t error, const char *what)
{
	if (error != cudaSuccess) {
		fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
		exit(1);
	}
}

template <typename P, typename R> static void run_piece(R *results)
{
	run_on_device<P><<<(N + 127) / 128, 128>>>(device_inputs, (R *)device_results);
	check(cudaGetLastError(), P::title());
	check(cudaMemcpy(results, device_results, N * sizeof(R), cudaMemcpyDeviceToHost), P::title());
}

template <typename P> static void check_exact()
{
	static uint64_t results[N];

	run_piece<P>(results);
	for (int n = 0; n < N; n++)
		if (results[n] != P::run(inputs[n])) {
			printf("%s, input %d: %llx on the device, %llx on the host\n", P::title(), n,
			       (unsigned long long)results[n], (unsigned long long)P::run(inputs[n]));
			n_failed++;
			return;
		}
}

template <typename P> static void check_close(double tolerance)
{
	static double results[N];

	run_piece<P>(results);
	for (int n = 0; n < N; n++) {
		double expected = P::run(inputs[n]);
		bool same = results[n] == expected || (results[n] != results[n] && expected != expected);

		if (!same && !(fabs(results[n] - expected) <= tolerance * (1 + fabs(expected)))) {
			printf("%s, input %d: %.17g on the device, %.17g on the host\n", P::title(), n, results[n],
			       expected);
			n_failed++;
			return;
		}
	}
}

int main()
{
	fill_inputs();
	check(cudaMalloc(&device_inputs, sizeof(inputs)), "cudaMalloc");
	check(cudaMalloc(&device_results, N * 8), "cudaMalloc");
	check(cudaMemcpy(device_inputs, inputs, sizeof(inputs), cudaMemcpyHostToDevice), "cudaMemcpy");

	check_exact<unsigned_32>();
	check_exact<signed_32>();
	check_exact<unsigned_64>();
	check_exact<signed_64>();
	check_exact<bytes_and_halves>();
	check_exact<float_arithmetic>();
	check_exact<float_functions>();
	check_exact<float_compare>();
	check_exact<double_arithmetic>();
	check_exact<double_functions>();
	check_exact<fused>();
	check_exact<float_to_int>();
	check_exact<int_to_float>();
	check_exact<narrowing>();
	check_exact<hashing>();
	check_exact<loops>();
	check_exact<switches>();
	check_exact<arrays>();
	check_exact<calls>();
	check_exact<recursion>();
	check_exact<virtual_calls>();
	check_exact<pointers>();
	check_exact<half_arithmetic>();
	check_exact<bfloat_conversion>();
	check_close<sines>(1e-12);
	check_close<exponentials>(1e-12);
	check_close<powers>(1e-11);
	check_close<arcs>(1e-12);
	check_close<single_sines>(1e-4);
	check_close<single_exponentials>(1e-5);
	check_close<single_powers>(1e-5);
	check_close<gammas>(1e-11);
	printf("%d pieces differ\n", n_failed);
	return n_failed == 0 ? 0 : 1;
}

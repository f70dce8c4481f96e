/* SPDX-License-Identifier: Apache-2.0
 *
 * sample.h - what the programs of this folder share on the host: CUDA calls that must succeed, device arrays that free
 * themselves, random numbers that are the same everywhere, and comparisons that say where a result differs.
 *
 * A program prints what differs, and at its end one line: "NAME: ok" (exit status 0) or "NAME: failed" (1).
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

/* A runtime call that has to succeed; anything else ends the program. */
#define TRY(call)                                                                                           \
	do {                                                                                                \
		const cudaError_t error_ = (call);                                                          \
		if (error_ != cudaSuccess) {                                                                \
			printf("%s:%d: %s: %s (%s)\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_), \
			       cudaGetErrorString(error_));                                                 \
			exit(1);                                                                            \
		}                                                                                           \
	} while (0)

/* After <<<>>>: whether the launch was accepted. */
#define LAUNCHED() TRY(cudaGetLastError())

namespace sample
{

inline unsigned n_failures;

/* Says what is wrong, and remembers that something was. */
__attribute__((format(printf, 2, 3))) inline bool expect(bool holds, const char *format, ...)
{
	if (!holds) {
		va_list arguments;
		va_start(arguments, format);
		printf("differs: ");
		vprintf(format, arguments);
		printf("\n");
		va_end(arguments);
		n_failures++;
	}
	return holds;
}

/* Bit for bit the same; the first difference is told. */
template <typename T> bool expect_equal(const char *what, const std::vector<T> &is, const std::vector<T> &should)
{
	if (!expect(is.size() == should.size(), "%s: %zu elements, not %zu", what, is.size(), should.size()))
		return false;
	for (size_t i = 0; i < is.size(); i++)
		if (!(is[i] == should[i]))
			return expect(false, "%s[%zu]: %.9g, not %.9g", what, i, (double)is[i], (double)should[i]);
	return true;
}

/* Within `tolerance` times the larger of 1 and the expected magnitude; a NaN never is. */
template <typename T>
bool expect_near(const char *what, const std::vector<T> &is, const std::vector<T> &should, double tolerance)
{
	if (!expect(is.size() == should.size(), "%s: %zu elements, not %zu", what, is.size(), should.size()))
		return false;
	for (size_t i = 0; i < is.size(); i++) {
		const double distance = std::fabs((double)is[i] - (double)should[i]);
		if (!(distance <= tolerance * std::fmax(1.0, std::fabs((double)should[i]))))
			return expect(false, "%s[%zu]: %.9g, not near %.9g", what, i, (double)is[i], (double)should[i]);
	}
	return true;
}

/* The last line of a program; returns its exit status. */
inline int finish(const char *name)
{
	printf("%s: %s\n", name, n_failures == 0 ? "ok" : "failed");
	return n_failures == 0 ? 0 : 1;
}

/* The same sequence on every machine. */
class Random
{
public:
	explicit Random(uint64_t seed) : state(seed)
	{
	}
	uint64_t next()
	{
		uint64_t z = state += 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		return z ^ (z >> 31);
	}
	/* 0 to below - 1. */
	uint32_t below(uint32_t bound)
	{
		return (uint32_t)(((next() >> 32) * bound) >> 32);
	}
	/* -1 to 1, a multiple of 2^-23. */
	float real()
	{
		return (float)((int64_t)(next() >> 40) - (1 << 23)) * 0x1p-23f;
	}

private:
	uint64_t state;
};

/* An array in device memory. */
template <typename T> class Array
{
public:
	explicit Array(size_t n) : size(n)
	{
		TRY(cudaMalloc(&address, n * sizeof(T)));
	}
	explicit Array(const std::vector<T> &host) : Array(host.size())
	{
		TRY(cudaMemcpy(address, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
	}
	Array(const Array &) = delete;
	Array &operator=(const Array &) = delete;
	~Array()
	{
		TRY(cudaFree(address));
	}
	operator T *() const
	{
		return address;
	}
	void fill_bytes(int value)
	{
		TRY(cudaMemset(address, value, size * sizeof(T)));
	}
	/* What is there now; waits for everything launched before. */
	std::vector<T> get() const
	{
		std::vector<T> host(size);
		TRY(cudaMemcpy(host.data(), address, size * sizeof(T), cudaMemcpyDeviceToHost));
		return host;
	}

private:
	T *address = nullptr;
	size_t size;
};

} // namespace sample

#endif

// SPDX-License-Identifier: Apache-2.0
//
// printf() on the device: every kind of conversion, compared with what the host's snprintf() makes of the same values;
// many lines from many threads, none lost, none torn; the result of printf(); text that comes out at a synchronization.
// Exercises: vprintf with integers of all sizes, floats as doubles, strings, pointers, width and precision, %%.
#include "sample.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unistd.h>

__device__ const char *const words[3] = { "zero", "one", "" };

__global__ void print_kinds(int *results)
{
	int n = 0;
	results[n++] = printf("no argument, 100%%\n");
	results[n++] = printf("%d %i %u %o %x %X %c|\n", -7, 123456789, 4000000000u, 511, 48879u, 48879u, 'w');
	results[n++] = printf("%5d|%-5d|%05d|%+d|% d|%#x|%#o|\n", 42, 42, 42, 42, 42, 42, 42);
	results[n++] = printf("%lld %llu %llx %ld\n", -1234567890123456789ll, 18446744073709551615ull,
			      0xfedcba9876543210ull, -5000000000l);
	results[n++] =
		printf("%hd %hhd %hu %hhu\n", (short)-3, (signed char)-4, (unsigned short)65535, (unsigned char)255);
	results[n++] =
		printf("%f %.3f %10.2f|%-10.1f|%e %G %g\n", 1.5, 3.14159265, -2.005, 7.25, 12345.678, 1e-10, 100000.0f);
	results[n++] = printf("%g %g %g %a\n", INFINITY, -INFINITY, 0.0, 1.0);
	results[n++] = printf("%s, %s, '%s', %10s|%-6s|%.2s\n", words[0], words[1], words[2], "right", "left", "cut");
	results[n++] = printf("%d %s %lld %f %c %d\n", 1, "mixed", 2ll, 3.0, '4', 5);
	results[n++] = printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
}

// What the device should have printed.
static std::string kinds_on_host()
{
	char text[2048];
	size_t n = 0;
	const auto rest = [&] { return sizeof(text) - n; };
	n += snprintf(text + n, rest(), "no argument, 100%%\n");
	n += snprintf(text + n, rest(), "%d %i %u %o %x %X %c|\n", -7, 123456789, 4000000000u, 511, 48879u, 48879u,
		      'w');
	n += snprintf(text + n, rest(), "%5d|%-5d|%05d|%+d|% d|%#x|%#o|\n", 42, 42, 42, 42, 42, 42, 42);
	n += snprintf(text + n, rest(), "%lld %llu %llx %ld\n", -1234567890123456789ll, 18446744073709551615ull,
		      0xfedcba9876543210ull, -5000000000l);
	n += snprintf(text + n, rest(), "%hd %hhd %hu %hhu\n", (short)-3, (signed char)-4, (unsigned short)65535,
		      (unsigned char)255);
	n += snprintf(text + n, rest(), "%f %.3f %10.2f|%-10.1f|%e %G %g\n", 1.5, 3.14159265, -2.005, 7.25, 12345.678,
		      1e-10, 100000.0);
	n += snprintf(text + n, rest(), "%g %g %g %a\n", INFINITY, -INFINITY, 0.0, 1.0);
	n += snprintf(text + n, rest(), "%s, %s, '%s', %10s|%-6s|%.2s\n", "zero", "one", "", "right", "left", "cut");
	n += snprintf(text + n, rest(), "%d %s %lld %f %c %d\n", 1, "mixed", 2ll, 3.0, '4', 5);
	n += snprintf(text + n, rest(), "%d %d %d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
	return text;
}

__global__ void print_many()
{
	const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i % 3 == 0)
		printf("thread %u of block %u has %u\n", threadIdx.x, blockIdx.x, i * i);
}

// Standard output into a file while `launch` runs; returns what was written.
template <typename Launch> static std::string captured(Launch launch)
{
	fflush(stdout);
	FILE *file = tmpfile();
	const int saved = dup(STDOUT_FILENO);
	if (file == nullptr || saved < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) {
		perror("standard output");
		exit(1);
	}
	launch();
	TRY(cudaDeviceSynchronize());
	fflush(stdout);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	std::string text;
	rewind(file);
	for (int c; (c = fgetc(file)) != EOF;)
		text += (char)c;
	fclose(file);
	return text;
}

int main()
{
	const sample::Array<int> results(10);
	const std::string kinds = captured([&] { print_kinds<<<1, 1>>>(results); });
	LAUNCHED();
	sample::expect(kinds == kinds_on_host(), "conversions:\n%snot:\n%s", kinds.c_str(), kinds_on_host().c_str());
	// The number of arguments, on the device; not the number of characters.
	sample::expect_equal("results", results.get(), { 0, 7, 7, 4, 4, 7, 4, 6, 6, 12 });

	const unsigned blocks = 6, threads = 64;
	const std::string many = captured([&] { print_many<<<blocks, threads>>>(); });
	LAUNCHED();
	std::vector<std::string> is, should;
	for (size_t start = 0, end; (end = many.find('\n', start)) != std::string::npos; start = end + 1)
		is.push_back(many.substr(start, end - start));
	for (unsigned i = 0; i < blocks * threads; i += 3) {
		char line[128];
		snprintf(line, sizeof(line), "thread %u of block %u has %u", i % threads, i / threads, i * i);
		should.push_back(line);
	}
	std::sort(is.begin(), is.end());
	std::sort(should.begin(), should.end());
	sample::expect(is == should, "%zu lines, not %zu, or torn ones", is.size(), should.size());

	// In order with the host's own output, when it synchronizes.
	printf("before\n");
	fflush(stdout);
	print_kinds<<<1, 1>>>(results);
	TRY(cudaDeviceSynchronize());
	printf("after\n");
	return sample::finish("device_printf");
}

// SPDX-License-Identifier: Apache-2.0
//
// assert() on the device. One that holds costs nothing; one that fails ends the kernel, writes where to standard error,
// and every later call of the process fails with error 710. The failing part therefore runs in a process of its own,
// this program once more with an argument, and the parent reads what it says. Likewise for a trap (719), an access to
// no memory (700) and a misaligned one (716).
// Exercises: __assertfail, trap, sticky errors, their codes and names, standard error of a kernel.
#undef NDEBUG
#include "sample.h"

#include <cassert>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

__global__ void check_values(const int *values, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	assert(i >= n || values[i] >= 0);
}

__global__ void end_by_trap(int lane)
{
	if ((int)threadIdx.x == lane)
		__trap();
}

__global__ void write_to(int *address)
{
	*address = 1;
}

struct Case {
	const char *name;
	cudaError_t error;
};

static const Case cases[] = { { "assert", cudaErrorAssert },
			      { "trap", cudaErrorLaunchFailure },
			      { "illegal", cudaErrorIllegalAddress },
			      { "misaligned", cudaErrorMisalignedAddress } };

// The child: exit status 0 when the error was the expected one and stays.
static int fail_as(const Case &wanted, const char *name)
{
	std::vector<int> host(300, 5);
	host[270] = -1;
	int *values;
	TRY(cudaMalloc(&values, host.size() * sizeof(int)));
	TRY(cudaMemcpy(values, host.data(), host.size() * sizeof(int), cudaMemcpyHostToDevice));
	if (strcmp(name, "assert") == 0)
		check_values<<<3, 128>>>(values, (int)host.size());
	else if (strcmp(name, "trap") == 0)
		end_by_trap<<<2, 64>>>(40);
	else if (strcmp(name, "illegal") == 0)
		write_to<<<1, 1>>>(reinterpret_cast<int *>(64));
	else
		write_to<<<1, 1>>>(reinterpret_cast<int *>(reinterpret_cast<char *>(values) + 2));
	LAUNCHED(); // the launch itself is fine
	const cudaError_t first = cudaDeviceSynchronize();
	sample::expect(first == wanted.error, "%s: %s", name, cudaGetErrorName(first));
	// Reading the error does not help: the context is lost.
	cudaGetLastError();
	int unused = 0;
	const cudaError_t copy = cudaMemcpy(&unused, values, sizeof(int), cudaMemcpyDeviceToHost);
	sample::expect(copy == wanted.error, "%s: a copy afterwards: %s", name, cudaGetErrorName(copy));
	write_to<<<1, 1>>>(values);
	const cudaError_t launch = cudaGetLastError();
	sample::expect(launch == wanted.error, "%s: a launch afterwards: %s", name, cudaGetErrorName(launch));
	return sample::n_failures == 0 ? 0 : 1;
}

// Runs this program as `NAME case`; what it wrote to standard error is returned.
static std::string run_child(const char *program, const char *name, int *ret_status)
{
	int ends[2], status = 0;
	std::string text;
	if (pipe(ends) != 0) {
		perror("pipe");
		exit(1);
	}
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		execl(program, program, name, (char *)nullptr);
		_exit(127);
	}
	close(ends[1]);
	char buffer[1024];
	for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
		text.append(buffer, (size_t)n);
	close(ends[0]);
	waitpid(child, &status, 0);
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return text;
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		for (const Case &candidate : cases)
			if (strcmp(candidate.name, argv[1]) == 0)
				return fail_as(candidate, argv[1]);
		return 2;
	}
	// Before any CUDA call of its own: the children start from nothing.
	for (const Case &candidate : cases) {
		int status;
		const std::string text = run_child(argv[0], candidate.name, &status);
		sample::expect(status == 0, "%s: status %d, %s", candidate.name, status, text.c_str());
		if (strcmp(candidate.name, "assert") == 0) {
			const bool says_where =
				text.find("device_assert.cu:") != std::string::npos &&
				text.find("block: [2,0,0], thread: [14,0,0]") != std::string::npos &&
				text.find("Assertion `i >= n || values[i] >= 0` failed.") != std::string::npos;
			sample::expect(says_where, "the assertion's text: %s", text.c_str());
		}
		printf("%s: %s\n", candidate.name, cudaGetErrorString(candidate.error));
	}

	// Where everything holds nothing happens.
	const sample::Array<int> values(std::vector<int>(1000, 3));
	check_values<<<8, 128>>>(values, 1000);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	return sample::finish("device_assert");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * steps.cu - does what its arguments say, one after the other, and prints what each returned. "-" goes on with the
 * lines of its standard input. What a step needs follows a colon: "launch:3", "start:OUT=x,KERNEL=step*", "stop:5000".
 */
#include <warpspan.cuh>

#include <cuda_profiler_api.h>
#include <warpspan.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

/* 2 blocks of 2 warps, a region each. */
__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "work");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

/* 3 blocks of a warp, so that it is told apart. */
__global__ void other(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "other work");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

/* Runs until the host lets go. */
__global__ void hold(volatile int *held)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "held");
	while (*held != 0)
		__nanosleep(1000);
}

static int *data, *held;
static cudaStream_t side;
static cudaGraphExec_t graph;

static void prepare()
{
	if (data != nullptr)
		return;
	cudaMalloc(&data, 128 * sizeof(int));
	cudaHostAlloc(&held, sizeof(int), cudaHostAllocMapped);
	cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
}

/* That launches step() so many times. */
static int make_graph(int n)
{
	prepare();
	cudaGraph_t made;
	cudaStreamBeginCapture(side, cudaStreamCaptureModeThreadLocal);
	for (int i = 0; i < n; i++)
		step<<<2, 64, 0, side>>>(data);
	cudaStreamEndCapture(side, &made);
	return cudaGraphInstantiate(&graph, made, 0);
}

static int start(std::string text)
{
	std::vector<std::string> parts;
	std::vector<const char *> settings;
	for (size_t at; !text.empty(); text = at == std::string::npos ? "" : text.substr(at + 1)) {
		at = text.find(',');
		parts.push_back(text.substr(0, at));
	}
	for (const std::string &part : parts)
		settings.push_back(part.c_str());
	settings.push_back(nullptr);
	char message[1024] = "";
	struct warpspan_options options = {};
	options.size = sizeof(options);
	options.settings = settings.data();
	options.message = message;
	options.message_bytes = sizeof(message);
	const int result = warpspan_start(&options);
	if (result != 0)
		printf("start: %s\n", message);
	return result;
}

/* Within a callback of a stream CUDA may not be called, nor waited for. */
static void CUDART_CB stop_in_callback(void *)
{
	printf("stop in a callback %d\n", warpspan_stop(0));
	fflush(stdout);
}

/* Threads of this name there are. */
static int threads(const std::string &name)
{
	DIR *tasks = opendir("/proc/self/task");
	int n = 0;
	for (struct dirent *task; tasks != nullptr && (task = readdir(tasks)) != nullptr;) {
		std::ifstream file(std::string("/proc/self/task/") + task->d_name + "/comm");
		std::string found;
		n += std::getline(file, found) && found == name;
	}
	if (tasks != nullptr)
		closedir(tasks);
	return n;
}

/* No descriptor gets a higher number from now on. */
static int limit_descriptors(int most)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = most;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

static int number_of(const std::string &text)
{
	return atoi(text.c_str());
}

static long one_step(const std::string &name, const std::string &rest)
{
	if (name == "launch" || name == "other") {
		prepare();
		for (int i = 0; i < number_of(rest); i++)
			name == "launch" ? step<<<2, 64>>>(data) : other<<<3, 32>>>(data);
		return cudaGetLastError();
	}
	if (name == "graph")
		return make_graph(number_of(rest));
	if (name == "replay") {
		for (int i = 0; i < number_of(rest); i++)
			cudaGraphLaunch(graph, side);
		return cudaGetLastError();
	}
	if (name == "sync")
		return cudaDeviceSynchronize();
	if (name == "hold") {
		prepare();
		*held = 1;
		hold<<<1, 32, 0, side>>>(held);
		return cudaGetLastError();
	}
	if (name == "release") {
		*held = 0;
		return cudaStreamSynchronize(side);
	}
	if (name == "start")
		return start(rest);
	if (name == "stop")
		return warpspan_stop(number_of(rest));
	if (name == "stop-in-callback") {
		prepare();
		return cudaLaunchHostFunc(side, stop_in_callback, nullptr);
	}
	if (name == "active")
		return warpspan_active();
	if (name == "mark")
		return warpspan_mark(rest.c_str());
	if (name == "guard") {
		warpspan::session session;
		one_step("launch", rest);
		return session.error();
	}
	if (name == "profiler-start")
		return cudaProfilerStart();
	if (name == "profiler-stop")
		return cudaProfilerStop();
	if (name == "reset") {
		data = nullptr;
		return cudaDeviceReset();
	}
	if (name == "raise")
		return raise(number_of(rest));
	if (name == "handle")
		return signal(number_of(rest), [](int) {}) == SIG_ERR;
	if (name == "sleep")
		return usleep(number_of(rest) * 1000);
	if (name == "threads")
		return threads(rest);
	if (name == "descriptors")
		return limit_descriptors(number_of(rest));
	if (name == "read") {
		char line[16];
		return fgets(line, sizeof(line), stdin) == nullptr;
	}
	if (name == "fork") {
		fflush(stdout);
		const pid_t child = fork();
		if (child == 0) {
			printf("child: start %d, stop %d, active %d\n", warpspan_start(nullptr), warpspan_stop(1000),
			       warpspan_active());
			fflush(stdout);
			rest == "_exit" ? _exit(0) : exit(0);
		}
		int status = 0;
		waitpid(child, &status, 0);
		return status;
	}
	if (name == "exit")
		exit(number_of(rest));
	if (name == "_exit")
		_exit(number_of(rest));
	if (name == "quick_exit")
		quick_exit(number_of(rest));
	if (name == "abort")
		abort();
	if (name == "throw")
		throw std::runtime_error("thrown");
	fprintf(stderr, "steps: no step is called '%s'\n", name.c_str());
	exit(2);
}

static void run_step(const std::string &text)
{
	const size_t colon = text.find(':');
	const std::string name = text.substr(0, colon);
	const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
	const long result = one_step(name, rest);
	printf("%s %ld\n", name.c_str(), result);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char line[4096];
		if (strcmp(argv[i], "-") != 0) {
			run_step(argv[i]);
			continue;
		}
		while (fgets(line, sizeof(line), stdin) != nullptr) {
			line[strcspn(line, "\n")] = '\0';
			run_step(line);
		}
	}
	return 0;
}

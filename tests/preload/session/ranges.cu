/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges.cu - does what its arguments say, one after the other, and prints what each returned that a program can see.
 * Most are calls of NVTX. What a step needs follows a colon: "push:NAME", "launch:3", "end:0". "thread:STEP,STEP" does
 * its steps in a thread, "child:STEP,STEP" in a child process; both are waited for.
 */
#include <warpspan.cuh>

#include <nvtx3/nvtx3.hpp>
#include <warpspan.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

/* 2 blocks of 2 warps, a region each. */
__global__ void step(int *data)
{
	WS_OPEN(ws);
	WS_SCOPE(ws, "work");
	data[blockIdx.x * blockDim.x + threadIdx.x] += 1;
}

static int launch(int n)
{
	static int *data;
	if (data == nullptr)
		cudaMalloc(&data, 128 * sizeof(int));
	for (int i = 0; i < n; i++)
		step<<<2, 64>>>(data);
	return cudaGetLastError();
}

static std::wstring widen(const std::string &text)
{
	std::vector<wchar_t> wide(text.size() + 1);
	mbstowcs(wide.data(), text.c_str(), wide.size());
	return wide.data();
}

struct test_domain {
	static constexpr char const *name{ "a domain in C++" };
};

static nvtxDomainHandle_t domain; /* of the steps that have one */
static std::vector<nvtxRangeId_t> ids;

/* What the latest message points to. */
static std::string text;
static std::wstring wide;

static nvtxEventAttributes_t ascii(const std::string &message)
{
	nvtxEventAttributes_t attributes = {};
	text = message;
	attributes.version = NVTX_VERSION;
	attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
	attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
	attributes.message.ascii = text.c_str();
	return attributes;
}

static nvtxEventAttributes_t unicode(const std::string &message)
{
	nvtxEventAttributes_t attributes = ascii(message);
	wide = widen(message);
	attributes.messageType = NVTX_MESSAGE_TYPE_UNICODE;
	attributes.message.unicode = wide.c_str();
	return attributes;
}

static nvtxEventAttributes_t registered(nvtxStringHandle_t handle)
{
	nvtxEventAttributes_t attributes = ascii("");
	attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	attributes.message.registered = handle;
	return attributes;
}

/* Steps that start a range which is ended by number: 0 if the number is there. */
static int started(nvtxRangeId_t id)
{
	ids.push_back(id);
	return 0;
}

static void *plugin()
{
	static void *handle = dlopen(getenv("RANGES_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
	if (handle == nullptr) {
		fprintf(stderr, "ranges: %s\n", dlerror());
		exit(2);
	}
	return handle;
}

static void run_steps(std::string steps);

static int in_child(const std::string &steps)
{
	fflush(stdout);
	const pid_t child = fork();
	if (child == 0) {
		run_steps(steps);
		exit(0);
	}
	int status = 0;
	waitpid(child, &status, 0);
	return status;
}

static nvtxEventAttributes_t no_message()
{
	nvtxEventAttributes_t attributes = ascii("");
	attributes.messageType = NVTX_MESSAGE_UNKNOWN;
	return attributes;
}

/* Returns whether there is such a step; *result: what it returned. */
static bool one_range_step(const std::string &name, const std::string &rest, int *result)
{
	nvtxEventAttributes_t attributes;

	*result = 0;
	if (name == "push")
		*result = nvtxRangePushA(rest.c_str());
	else if (name == "push-wide")
		*result = nvtxRangePushW(widen(rest).c_str());
	else if (name == "push-ex")
		attributes = ascii(rest), *result = nvtxRangePushEx(&attributes);
	else if (name == "push-ex-wide")
		attributes = unicode(rest), *result = nvtxRangePushEx(&attributes);
	else if (name == "push-nameless")
		attributes = no_message(), *result = nvtxRangePushEx(&attributes);
	else if (name == "pop")
		*result = nvtxRangePop();
	else if (name == "domain")
		domain = nvtxDomainCreateA(rest.c_str());
	else if (name == "domain-wide")
		domain = nvtxDomainCreateW(widen(rest).c_str());
	else if (name == "domain-push")
		attributes = ascii(rest), *result = nvtxDomainRangePushEx(domain, &attributes);
	else if (name == "domain-push-registered")
		attributes = registered(nvtxDomainRegisterStringA(domain, rest.c_str())),
		*result = nvtxDomainRangePushEx(domain, &attributes);
	else if (name == "domain-push-registered-wide")
		attributes = registered(nvtxDomainRegisterStringW(domain, widen(rest).c_str())),
		*result = nvtxDomainRangePushEx(domain, &attributes);
	else if (name == "domain-pop")
		*result = nvtxDomainRangePop(domain);
	else if (name == "start")
		*result = started(nvtxRangeStartA(rest.c_str()));
	else if (name == "start-wide")
		*result = started(nvtxRangeStartW(widen(rest).c_str()));
	else if (name == "start-ex")
		attributes = ascii(rest), *result = started(nvtxRangeStartEx(&attributes));
	else if (name == "domain-start")
		attributes = ascii(rest), *result = started(nvtxDomainRangeStartEx(domain, &attributes));
	else if (name == "end")
		nvtxRangeEnd(ids.at(atoi(rest.c_str())));
	else if (name == "domain-end")
		nvtxDomainRangeEnd(domain, ids.at(atoi(rest.c_str())));
	else if (name == "plugin-push")
		*result = ((int (*)(const char *))dlsym(plugin(), "plugin_push"))(rest.c_str());
	else if (name == "plugin-pop")
		*result = ((int (*)())dlsym(plugin(), "plugin_pop"))();
	else
		return false;
	return true;
}

static long other_step(const std::string &name, const std::string &rest)
{
	if (name == "launch")
		return launch(atoi(rest.c_str()));
	if (name == "sync")
		return cudaDeviceSynchronize();
	if (name == "scoped") { /* of the C++ interface, around a launch */
		nvtx3::scoped_range range{ rest.c_str() };
		return launch(1);
	}
	if (name == "scoped-in-domain") {
		nvtx3::scoped_range_in<test_domain> range{ nvtx3::registered_string_in<test_domain>{ rest.c_str() } };
		return launch(1);
	}
	if (name == "unique") {
		nvtx3::unique_range range{ rest.c_str() };
		return launch(1);
	}
	/* A stop takes effect a moment later: until it has, at most 5 s; as long as it would have taken. */
	if (name == "over") {
		for (int i = 0; warpspan_active() && i < 5000; i++)
			usleep(1000);
		return warpspan_active();
	}
	if (name == "still") {
		cudaDeviceSynchronize();
		usleep(50000);
		return warpspan_active();
	}
	if (name == "api-start")
		return warpspan_start(nullptr);
	if (name == "api-stop")
		return warpspan_stop(10000);
	if (name == "thread") {
		std::thread(run_steps, rest).join();
		return 0;
	}
	if (name == "cancelled") {
		/* It ends where it would without a tool. */
		int past = 0;
		std::thread([&] {
			pthread_cancel(pthread_self());
			nvtxRangePushA(rest.c_str());
			nvtxRangePop();
			past = 1;
			pthread_testcancel();
			past = 2;
		}).join();
		return past;
	}
	if (name == "child")
		return in_child(rest);
	if (name == "environment")
		return getenv(rest.c_str()) != nullptr;
	if (name == "many") { /* ranges in as many threads as `rest` says, one after the other */
		for (int i = 0; i < atoi(rest.c_str()); i++)
			std::thread([] { nvtxRangePushA("hot"); }).join();
		return 0;
	}
	fprintf(stderr, "ranges: no step is called '%s'\n", name.c_str());
	exit(2);
}

static void run_step(const std::string &step)
{
	const size_t colon = step.find(':');
	const std::string name = step.substr(0, colon);
	const std::string rest = colon == std::string::npos ? "" : step.substr(colon + 1);
	int result;

	errno = 77;
	if (one_range_step(name, rest, &result)) {
		printf("%s %d%s\n", name.c_str(), result, errno == 77 ? "" : " errno changed");
	} else {
		const long other = other_step(name, rest);
		printf("%s %ld\n", name.c_str(), other);
	}
	fflush(stdout);
}

static void run_steps(std::string steps)
{
	for (size_t at; !steps.empty(); steps = at == std::string::npos ? "" : steps.substr(at + 1)) {
		at = steps.find(',');
		run_step(steps.substr(0, at));
	}
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "C.UTF-8");
	for (int i = 1; i < argc; i++)
		run_step(argv[i]);
	return 0;
}

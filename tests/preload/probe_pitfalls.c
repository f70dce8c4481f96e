/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_pitfalls.c ROW - a program linked with the scripted driver that walks into one pitfall. Prints what it saw;
 * test_pitfalls.c knows what is right, and for which rows it must be the same without the library.
 */
#include "fake_driver/fake.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int parameter = 7;
static void *parameters[] = { &parameter };

static CUresult launch_into(CUfunction function, CUstream stream)
{
	return cuLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, stream, parameters, NULL);
}

static CUresult launch(CUfunction function)
{
	return launch_into(function, NULL);
}

typedef CUresult query_4(const char *, void **, int, cuuint64_t);
typedef CUresult query_5(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
typedef CUresult launch_kernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			       CUstream, void **, void **);

/* The resolver asked for again is of the ABI of the version. */
static void row_3(void)
{
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
	query_4 *four = NULL;
	query_5 *five = NULL;
	void *found = NULL;

	(void)cuGetProcAddress_v2("cuGetProcAddress", (void **)&four, 11030, 0, &status);
	printf("%d", (int)status);
	status = (CUdriverProcAddressQueryResult)99;
	(void)four("cuLaunchKernel", &found, 4000, 0);
	printf(" %d %d", (int)status, found != NULL);
	(void)cuGetProcAddress_v2("cuGetProcAddress", (void **)&five, 12000, 0, NULL);
	found = NULL;
	(void)five("cuLaunchKernel", &found, 4000, 0, &status);
	printf(" %d %d", (int)status, found != NULL);
	status = (CUdriverProcAddressQueryResult)99;
	printf(" %d", (int)five("cuNoSuch", &found, 4000, 0, &status));
	printf(" %d\n", (int)status);
	printf("own %d\n", (void *)four == (void *)cuGetProcAddress && (void *)five == (void *)cuGetProcAddress_v2);
}

/* flags & 2 is the per-thread form. */
static void row_4(void)
{
	launch_kernel *plain = NULL, *per_thread = NULL;

	(void)cuGetProcAddress_v2("cuLaunchKernel", (void **)&plain, 4000, 0, NULL);
	(void)cuGetProcAddress_v2("cuLaunchKernel", (void **)&per_thread, 7000,
				  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL);
	(void)launch(FAKE_FUNCTION(1, 0));
	fake_calls_clear();
	(void)plain(FAKE_FUNCTION(1, 0), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	(void)per_thread(FAKE_FUNCTION(1, 0), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
	printf("%s\n", strstr(fake_calls(), "cuLaunchKernel "));
}

/* Every combination of answers, through both forms. */
static void row_5(void)
{
	static const char *const names[] = { NULL, "", "cuLaunchKernel", "cuNotKnown" };
	static const CUresult results[] = { CUDA_SUCCESS, CUDA_ERROR_NOT_FOUND, CUDA_ERROR_INVALID_VALUE };
	static const CUdriverProcAddressQueryResult statuses[] = { CU_GET_PROC_ADDRESS_SUCCESS,
								   CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
								   CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT };

	for (unsigned i = 0; i < 4 * 3 * 3 * 2; i++) {
		CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
		void *something = &status, *found = &found;
		const char *name = names[i % 4];
		CUresult result;

		/* A function is answered only where the driver has one. */
		fake_answer(results[i / 4 % 3], i / 36 != 0 ? something : NULL, statuses[i / 12 % 3]);
		if (i / 36 != 0 && i % 4 == 2 && results[i / 4 % 3] == CUDA_SUCCESS)
			continue;
		result = cuGetProcAddress_v2(name, &found, 12000, 0, &status);
		printf("%d %d %s\n", (int)result, (int)status,
		       found == NULL        ? "nothing"
		       : found == something ? "something"
					    : "other");
	}
	printf("%d\n", (int)cuGetProcAddress(NULL, NULL, 0, 0));
}

static void row_12(void)
{
	printf("%d\n", fake_found_itself());
}

static void capture(CUstreamCaptureStatus status, CUresult result, const char *name)
{
	CUgraph graph = NULL;

	(void)cuStreamBeginCapture_v2(FAKE_STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL);
	fake_set_capture(status, result);
	fake_calls_clear();
	fake_forbid(true);
	(void)launch_into(FAKE_FUNCTION(1, 0), FAKE_STREAM); /* known, attached */
	(void)launch_into(FAKE_FUNCTION(2, 0), FAKE_STREAM); /* never seen */
	fake_forbid(false);
	printf("%s: %s- %d", name, fake_calls(), fake_attached(2));
	fake_set_capture(status, CUDA_SUCCESS);
	printf(" %d", (int)cuStreamEndCapture(FAKE_STREAM, &graph));
	printf(" %d\n", fake_attached(2));
}

/* While a stream is being captured the driver hears the question and the launch, and the module is attached after. */
static void row_14(void)
{
	(void)launch(FAKE_FUNCTION(1, 0));
	capture(CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUDA_SUCCESS, "invalidated");
	capture(CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "implicit");
	capture(CU_STREAM_CAPTURE_STATUS_INVALIDATED, CUDA_ERROR_UNKNOWN, "unknown");
	capture(CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_SUCCESS, "active");
	fake_calls_clear();
	(void)launch_into(FAKE_FUNCTION(2, 0), FAKE_STREAM);
	printf("afterwards: %s\n", fake_calls());
	/* One that was not begun cannot be ended. */
	fake_calls_clear();
	printf("not begun: %d\n", (int)cuStreamEndCapture(FAKE_STREAM, &(CUgraph){ NULL }));
}

static void *launch_first(void *unused)
{
	(void)launch(FAKE_FUNCTION(3, 0));
	return unused;
}

/* Another thread's capture forbids what allocates or waits, to every thread that is not relaxed. */
static void row_15(void)
{
	pthread_t thread;

	(void)cuStreamBeginCapture_v2(FAKE_STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL);
	fake_set_capture(CU_STREAM_CAPTURE_STATUS_ACTIVE, CUDA_SUCCESS);
	fake_set_global_capture(true);
	if (pthread_create(&thread, NULL, launch_first, NULL) == 0)
		(void)pthread_join(thread, NULL);
	(void)usleep(50000); /* the collector drains */
	printf("attached %d, violations %u\n", fake_attached(3), fake_violations());
	fake_set_global_capture(false);
}

/* What the driver says and is told. */
static void row_16(void)
{
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION };
	CUlaunchConfig config = { .gridDimX = 3,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 32,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .attrs = &attribute,
				  .numAttrs = 1 };
	const CUlaunchConfig before = config;
	void *extra[] = { CU_LAUNCH_PARAM_END };

	for (int code = 0; code < 1000; code += 37) {
		struct fake_launch seen;
		CUresult result;

		fake_set_launch_result((CUresult)code);
		errno = 33;
		result = cuLaunchKernel(FAKE_FUNCTION(code % 3 + 6, 1), 1, 2, 3, 4, 5, 6, 7, (CUstream)0x99, parameters,
					extra);
		seen = fake_last_launch();
		printf("%d %d %d %d %d\n", (int)result, errno, seen.errno_before,
		       seen.grid[2] == 3 && seen.threads[2] == 6 && seen.shared_bytes == 7 &&
			       seen.stream == (CUstream)0x99 && seen.parameters == parameters && seen.extra == extra,
		       seen.function == FAKE_FUNCTION(code % 3 + 6, 1));
		errno = 33;
		result = cuLaunchKernelEx(&config, FAKE_FUNCTION(1, 0), parameters, NULL);
		seen = fake_last_launch();
		printf("%d %d %d\n", (int)result, errno,
		       seen.config == &config && memcmp(&config, &before, sizeof(config)) == 0);
	}
	fake_set_launch_result(CUDA_SUCCESS);
	printf("%d %d\n", (int)cuLaunchKernelEx(NULL, NULL, NULL, NULL), (int)cuDevicePrimaryCtxRetain(NULL, 0));
}

/* A CUkernel and a CUfunction, each of which fails the other's questions. */
static void row_17(void)
{
	(void)launch(FAKE_FUNCTION(4, 0));
	(void)launch((CUfunction)FAKE_KERNEL(1, 0));
	printf("function %d, kernel %d\n", fake_attached(4), fake_attached(9));
}

/* "Not there" is remembered, other answers are not. */
static void row_18(void)
{
	unsigned before, bare, failed;

	(void)launch(FAKE_FUNCTION(1, 0));
	before = fake_count("cuModuleGetGlobal_v2");
	for (int i = 0; i < 5; i++)
		(void)launch(FAKE_FUNCTION(7, 0));
	bare = fake_count("cuModuleGetGlobal_v2");
	fake_set_symbol_result(CUDA_ERROR_INVALID_CONTEXT);
	for (int i = 0; i < 5; i++)
		(void)launch(FAKE_FUNCTION(5, 0));
	failed = fake_count("cuModuleGetGlobal_v2");
	fake_set_symbol_result(CUDA_SUCCESS);
	(void)launch(FAKE_FUNCTION(5, 0));
	printf("bare %u, failed %u, attached %d\n", bare - before, failed - bare, fake_attached(5));
}

/* A reset context has the same handle, and nothing of what was in it. */
static void row_19(void)
{
	unsigned reads;

	(void)launch(FAKE_FUNCTION(1, 0));
	printf("%d", fake_attached(1));
	reads = fake_count("cuMemcpyDtoHAsync_v2");
	(void)cuDevicePrimaryCtxReset_v2(0);
	printf(" drained %d, %d", fake_count("cuMemcpyDtoHAsync_v2") > reads, fake_attached(1));
	(void)launch(FAKE_FUNCTION(1, 0));
	printf(" %d\n", fake_attached(1));
}

/* After an unload the same handle is a function of another module, at another address. */
static void row_20(void)
{
	(void)launch(FAKE_FUNCTION(1, 0));
	printf("%d", fake_attached(1));
	(void)cuModuleUnload((CUmodule)1);
	fake_recycle(1, false);
	(void)launch(FAKE_FUNCTION(1, 0));
	printf(" %d", fake_attached(1));
	(void)cuModuleUnload((CUmodule)1);
	fake_recycle(1, true);
	(void)launch(FAKE_FUNCTION(1, 0));
	printf(" %d\n", fake_attached(1));
}

/* Children inherit no blocked signal, no handler; our thread has all signals blocked. */
static void row_31(void)
{
	char path[64], line[256];
	unsigned n_blocked = 0, n_others = 0;
	DIR *tasks;

	(void)launch(FAKE_FUNCTION(1, 0));
	(void)fflush(stdout);
	(void)system("grep -E 'SigBlk|SigIgn|SigCgt' /proc/self/status");
	tasks = opendir("/proc/self/task");
	for (struct dirent *entry; tasks != NULL && (entry = readdir(tasks)) != NULL;) {
		FILE *file;

		if (entry->d_name[0] == '.' || atoi(entry->d_name) == (int)getpid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%.16s/status", entry->d_name);
		file = fopen(path, "r");
		n_others++;
		while (file != NULL && fgets(line, sizeof(line), file) != NULL)
			/* All but KILL, STOP and what libc keeps for itself. */
			if (strncmp(line, "SigBlk:", 7) == 0)
				n_blocked += (strtoull(line + 7, NULL, 16) & 0x7ffbfeffull) == 0x7ffbfeffull;
		if (file != NULL)
			(void)fclose(file);
	}
	if (tasks != NULL)
		(void)closedir(tasks);
	(void)fprintf(stderr, "threads %u, all blocked %u\n", n_others, n_blocked);
}

/* The driver's exit handler runs after ours: what we call after it aborts the process. */
static void row_32(void)
{
	(void)launch(FAKE_FUNCTION(1, 0));
	fake_abort_when_dead();
	printf("leaving\n");
}

static void launch_late(void)
{
	printf("late: %d\n", (int)launch(FAKE_FUNCTION(1, 0)));
}

/* The program goes on calling after the driver's end, and is told so. */
static void row_32_late(void)
{
	(void)launch(FAKE_FUNCTION(1, 0));
}

/* Dependent launches: between the two the stream hears nothing else. */
static void row_dependent(void)
{
	CUlaunchAttribute attribute = { .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
					.value.programmaticStreamSerializationAllowed = 1 };
	const CUlaunchConfig config = { .gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.hStream = FAKE_STREAM,
					.attrs = &attribute,
					.numAttrs = 1 };

	(void)launch_into(FAKE_FUNCTION(1, 0), FAKE_STREAM);
	(void)cuLaunchKernelEx(&config, FAKE_FUNCTION(1, 1), parameters, NULL);
	fake_calls_clear();
	(void)launch_into(FAKE_FUNCTION(1, 0), FAKE_STREAM);
	(void)cuLaunchKernelEx(&config, FAKE_FUNCTION(1, 1), parameters, NULL);
	printf("%s\n", fake_calls());
}

static CUresult CUDAAPI launch_of_the_future(void)
{
	return CUDA_SUCCESS;
}

/* A form of a function that is newer than the library is handed out as it is. */
static void row_newer(void)
{
	void *found = NULL;

	(void)launch(FAKE_FUNCTION(1, 0));
	fake_answer(CUDA_SUCCESS, (void *)launch_of_the_future, CU_GET_PROC_ADDRESS_SUCCESS);
	(void)cuGetProcAddress_v2("cuLaunchKernel", &found, CUDA_VERSION + 1000, 0, NULL);
	printf("%d", found == (void *)launch_of_the_future);
	/* The form we know, asked for by a newer caller, is ours. */
	(void)cuGetProcAddress_v2("cuLaunchKernel", &found, CUDA_VERSION + 1000, 0, NULL);
	printf(" %d\n", (int)((launch_kernel *)found)(FAKE_FUNCTION(1, 0), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
}

/* A launch of old, before any other: of a module with the header, and of one without. */
static void row_old(void)
{
	for (int i = 0; i < 3; i++)
		printf("%d ", (int)cuLaunchGrid(FAKE_FUNCTION(1, 0), 2, 1));
	printf("%d, attached %d\n", (int)cuLaunchGrid(FAKE_FUNCTION(7, 0), 2, 1), fake_attached(1));
}

/* A thread that was cancelled goes on until it waits, which a launch does not. */
static void *launch_cancelled(void *unused)
{
	int results = 0;

	(void)pthread_cancel(pthread_self());
	results += (int)launch(FAKE_FUNCTION(1, 0)); /* the first of all */
	results += (int)launch(FAKE_FUNCTION(2, 0));
	results += (int)cuModuleUnload((CUmodule)2); /* which is drained before */
	results += (int)cuDevicePrimaryCtxReset_v2(0);
	printf("results %d\n", results);
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	return unused;
}

static void row_cancelled(void)
{
	int argument;
	void *returned = NULL;
	pthread_t thread;

	if (pthread_create(&thread, NULL, launch_cancelled, &argument) == 0)
		(void)pthread_join(thread, &returned);
	printf("returned %d, others %d\n", returned == &argument, (int)launch(FAKE_FUNCTION(1, 0)));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} rows[] = {
		{ "3", row_3 },
		{ "4", row_4 },
		{ "5", row_5 },
		{ "12", row_12 },
		{ "14", row_14 },
		{ "15", row_15 },
		{ "16", row_16 },
		{ "17", row_17 },
		{ "18", row_18 },
		{ "19", row_19 },
		{ "20", row_20 },
		{ "31", row_31 },
		{ "32", row_32 },
		{ "32 late", row_32_late },
		{ "dependent", row_dependent },
		{ "newer", row_newer },
		{ "old", row_old },
		{ "cancelled", row_cancelled },
	};

	if (argc == 2 && strcmp(argv[1], "32 late") == 0)
		(void)atexit(launch_late);
	if (argc != 2 || cuInit(0) != CUDA_SUCCESS)
		return 2;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(argv[1], rows[i].name) == 0) {
			rows[i].run();
			return 42;
		}
	return 3;
}

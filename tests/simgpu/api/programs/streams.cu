// SPDX-License-Identifier: Apache-2.0
// Streams are asynchronous and ordered as documented; simulated time is the same in every run.
// With an argument, prints the times of one run, so that two runs can be compared.
#include "check.h"

#include <pthread.h>
#include <unistd.h>

__global__ void store(int *to, int value)
{
	*to = value;
}

__global__ void append(int *to, int value)
{
	*to = *to * 10 + value;
}

/* Runs until the host says so. */
__global__ void until(volatile int *flag)
{
	while (*flag == 0)
		;
}

__global__ void spin(long long cycles, long long *times)
{
	long long start = clock64();

	while (clock64() - start < cycles)
		;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(times[0]));
	times[1] = clock64();
}

static int read_back(const int *address)
{
	int value = 0;

	OK(cudaMemcpy(&value, address, sizeof(value), cudaMemcpyDeviceToHost));
	return value;
}

struct host_note {
	int n_calls;
	cudaError_t inner;
};

static void CUDART_CB note(void *argument)
{
	struct host_note *host = (struct host_note *)argument;
	void *p;

	host->n_calls++;
	host->inner = cudaMalloc(&p, 4);
}

/* A kernel that never ends holds its own stream and nothing else. */
static void hang_holds_only_its_stream()
{
	cudaStream_t stuck, other;
	volatile int *flag;
	int *value;

	OK(cudaStreamCreateWithFlags(&stuck, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocMapped));
	OK(cudaMallocManaged(&value, sizeof(int)));
	*flag = 0;
	*value = 1;
	until<<<1, 32, 0, stuck>>>(flag);
	store<<<1, 1, 0, other>>>(value, 42);
	OK(cudaStreamSynchronize(other));
	CHECK_EQUAL(*value, 42);
	CHECK_EQUAL(cudaStreamQuery(stuck), cudaErrorNotReady);
	CHECK_EQUAL(cudaGetLastError(), cudaErrorNotReady);
	*flag = 1;
	OK(cudaStreamSynchronize(stuck));
	OK(cudaStreamQuery(stuck));
	OK(cudaStreamDestroy(stuck));
	OK(cudaStreamDestroy(other));
	CHECK_EQUAL(cudaStreamSynchronize(other), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	OK(cudaFree(value));
	OK(cudaFreeHost((void *)flag));
}

/* Work on the legacy stream follows that of blocking streams, and the other way round; non-blocking ones do not care.
 */
static void legacy_stream_orders()
{
	cudaStream_t a, b, free_running;
	volatile int *flag;
	int *digits;

	OK(cudaStreamCreate(&a));
	OK(cudaStreamCreate(&b));
	OK(cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking));
	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocDefault));
	OK(cudaMalloc(&digits, sizeof(int)));
	OK(cudaMemset(digits, 0, sizeof(int)));
	OK(cudaDeviceSynchronize());
	*flag = 0;
	until<<<1, 1, 0, a>>>(flag);
	append<<<1, 1, 0, a>>>(digits, 1);
	append<<<1, 1>>>(digits, 2);
	append<<<1, 1, 0, b>>>(digits, 3);
	append<<<1, 1>>>(digits, 4);
	usleep(20000);
	store<<<1, 1, 0, free_running>>>(digits, 0);
	OK(cudaStreamSynchronize(free_running));
	CHECK_EQUAL(cudaStreamQuery(0), cudaErrorNotReady);
	CHECK_EQUAL(cudaStreamQuery(b), cudaErrorNotReady);
	cudaGetLastError();
	*flag = 1;
	CHECK_EQUAL(read_back(digits), 1234);
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
	OK(cudaStreamDestroy(free_running));
	OK(cudaFree(digits));
	OK(cudaFreeHost((void *)flag));
}

static void events_order_and_measure()
{
	cudaStream_t a, b;
	cudaEvent_t begin, end, untimed;
	volatile int *flag;
	long long *times;
	int *digits;
	float ms;

	OK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
	OK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
	OK(cudaEventCreate(&begin));
	OK(cudaEventCreate(&end));
	OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocDefault));
	OK(cudaMalloc(&digits, sizeof(int)));
	OK(cudaMalloc(&times, 2 * sizeof(*times)));
	OK(cudaMemset(digits, 0, sizeof(int)));
	OK(cudaDeviceSynchronize());

	*flag = 0;
	until<<<1, 1, 0, a>>>(flag);
	append<<<1, 1, 0, a>>>(digits, 1);
	OK(cudaEventRecord(untimed, a));
	OK(cudaStreamWaitEvent(b, untimed, 0));
	append<<<1, 1, 0, b>>>(digits, 2);
	CHECK_EQUAL(cudaEventQuery(untimed), cudaErrorNotReady);
	cudaGetLastError();
	*flag = 1;
	OK(cudaStreamSynchronize(b));
	CHECK_EQUAL(read_back(digits), 12);
	OK(cudaEventQuery(untimed));

	CHECK_EQUAL(cudaEventElapsedTime(&ms, begin, end), cudaErrorInvalidResourceHandle);
	OK(cudaEventRecord(begin, a));
	spin<<<1, 32, 0, a>>>(198000, times); /* 100 us at the default 1980 MHz */
	OK(cudaEventRecord(end, a));
	OK(cudaEventSynchronize(end));
	OK(cudaEventElapsedTime(&ms, begin, end));
	CHECK(ms >= 0.1f && ms < 0.2f);
	CHECK_EQUAL(cudaEventElapsedTime(&ms, untimed, end), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	OK(cudaEventDestroy(begin));
	OK(cudaEventDestroy(end));
	CHECK_EQUAL(cudaEventDestroy(end), cudaErrorInvalidResourceHandle);
	cudaGetLastError();
	OK(cudaEventDestroy(untimed));
	OK(cudaStreamDestroy(a));
	OK(cudaStreamDestroy(b));
	OK(cudaFree(times));
	OK(cudaFree(digits));
	OK(cudaFreeHost((void *)flag));
}

static void host_functions_run_in_order()
{
	struct host_note host = { 0, cudaSuccess };
	cudaStream_t stream;
	volatile int *flag;

	OK(cudaStreamCreate(&stream));
	OK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocDefault));
	*flag = 0;
	until<<<1, 1, 0, stream>>>(flag);
	OK(cudaLaunchHostFunc(stream, note, &host));
	usleep(10000);
	CHECK_EQUAL(__atomic_load_n(&host.n_calls, __ATOMIC_ACQUIRE), 0);
	*flag = 1;
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(host.n_calls, 1);
	CHECK_EQUAL(host.inner, cudaErrorNotPermitted);
	OK(cudaStreamDestroy(stream));
	OK(cudaFreeHost((void *)flag));
}

static void CUDART_CB note_status(cudaStream_t, cudaError_t status, void *argument)
{
	*(cudaError_t *)argument = status;
}

/* Memory in stream order lives until the stream has passed its end. */
static void stream_ordered_memory_and_callbacks()
{
	cudaError_t status = cudaErrorUnknown;
	cudaStream_t stream;
	int *value, host = 0;

	OK(cudaStreamCreate(&stream));
	OK(cudaMallocAsync(&value, sizeof(int), stream));
	store<<<1, 1, 0, stream>>>(value, 99);
	OK(cudaMemcpyAsync(&host, value, sizeof(int), cudaMemcpyDeviceToHost, stream));
	OK(cudaFreeAsync(value, stream));
	OK(cudaStreamAddCallback(stream, note_status, &status, 0));
	OK(cudaStreamSynchronize(stream));
	CHECK_EQUAL(host, 99);
	CHECK_EQUAL(status, cudaSuccess);
	CHECK_EQUAL(cudaMemcpy(&host, value, sizeof(int), cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
	cudaGetLastError();
	OK(cudaStreamDestroy(stream));
}

static void streams_say_what_they_are()
{
	cudaStream_t stream;
	cudaStreamCaptureStatus capture;
	unsigned long long id, other;
	unsigned flags;
	int priority, least, greatest, device = -1;

	OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	CHECK(greatest < least);
	OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
	OK(cudaStreamGetPriority(stream, &priority));
	CHECK_EQUAL(priority, greatest);
	OK(cudaStreamGetFlags(stream, &flags));
	CHECK_EQUAL(flags, cudaStreamNonBlocking);
	OK(cudaStreamGetFlags(0, &flags));
	CHECK_EQUAL(flags, cudaStreamDefault);
	OK(cudaStreamGetId(stream, &id));
	OK(cudaStreamGetId(cudaStreamPerThread, &other));
	CHECK(id != other);
	OK(cudaStreamGetDevice(stream, &device));
	CHECK_EQUAL(device, 0);
	OK(cudaStreamIsCapturing(stream, &capture));
	CHECK_EQUAL(capture, cudaStreamCaptureStatusNone);
	OK(cudaStreamDestroy(stream));
}

/* More than the queue holds: the host waits for room, nothing is lost. */
static void many_launches_all_run()
{
	int *value, n = 3000;

	OK(cudaMalloc(&value, sizeof(int)));
	for (int i = 0; i < n; i++)
		store<<<1, 1>>>(value, i);
	CHECK_EQUAL(read_back(value), n - 1);
	OK(cudaFree(value));
}

static void *copies_in_the_background(void *argument)
{
	volatile int *stop = (volatile int *)argument;
	cudaStream_t stream;
	char *device, host[256];

	OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	OK(cudaMalloc(&device, sizeof(host)));
	while (!*stop) {
		OK(cudaMemcpyAsync(host, device, sizeof(host), cudaMemcpyDeviceToHost, stream));
		OK(cudaStreamSynchronize(stream));
	}
	return NULL;
}

/* The times a program sees, with another thread busy beside it. */
static void print_times()
{
	volatile int stop = 0;
	pthread_t thread;
	cudaStream_t streams[3];
	cudaEvent_t events[4];
	long long *device, host[6];
	float ms;

	for (int i = 0; i < 3; i++)
		OK(cudaStreamCreate(&streams[i]));
	for (int i = 0; i < 4; i++)
		OK(cudaEventCreate(&events[i]));
	OK(cudaMalloc(&device, sizeof(host)));
	CHECK_EQUAL(pthread_create(&thread, NULL, copies_in_the_background, (void *)&stop), 0);
	for (int round = 0; round < 20; round++) {
		OK(cudaEventRecord(events[3], streams[0]));
		for (int i = 0; i < 3; i++) {
			spin<<<2, 64, 0, streams[i]>>>(1000 * (i + 1 + round), device + 2 * i);
			OK(cudaEventRecord(events[i], streams[i]));
		}
		while (cudaEventQuery(events[2]) == cudaErrorNotReady)
			usleep(rand() % 50);
		cudaGetLastError();
		if (round % 2)
			OK(cudaDeviceSynchronize());
		OK(cudaMemcpy(host, device, sizeof(host), cudaMemcpyDeviceToHost));
		for (int i = 0; i < 3; i++) {
			OK(cudaEventElapsedTime(&ms, events[3], events[i]));
			printf("%d %d %.6f %lld %lld\n", round, i, ms, host[2 * i], host[2 * i + 1]);
		}
	}
	stop = 1;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		srand((unsigned)getpid());
		print_times();
		return 0;
	}
	hang_holds_only_its_stream();
	legacy_stream_orders();
	events_order_and_measure();
	host_functions_run_in_order();
	stream_ordered_memory_and_callbacks();
	streams_say_what_they_are();
	many_launches_all_run();
	puts("streams ok");
	return 0;
}

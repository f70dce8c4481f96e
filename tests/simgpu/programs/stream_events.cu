// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: order within a stream, order between streams by events, the legacy stream that waits for the
// blocking ones, queries that do not wait, elapsed times that make sense, priorities.
// Exercises: cudaStreamWaitEvent, cudaEventQuery, cudaStreamQuery, cudaEventElapsedTime, cudaEventSynchronize, errors
// of events without timing, non-blocking streams, memory copies in order with kernels.
#include "sample.h"

#include <thread>

__global__ void spin(long long cycles, int *done)
{
	const long long start = clock64();
	while (clock64() - start < cycles)
		;
	if (done != nullptr && threadIdx.x == 0)
		atomicAdd(done, 1);
}

__global__ void multiply_add(int *values, int n, int factor, int summand)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		values[i] = values[i] * factor + summand;
}

// A kernel that waits for the host: the host has to go on while it runs.
__global__ void wait_for(volatile int *flag, int *result)
{
	while (*flag == 0)
		;
	*result = *flag * 2;
}

static void check_order()
{
	const int n = 1000, n_streams = 3;
	cudaStream_t streams[n_streams];
	cudaEvent_t events[n_streams];
	const sample::Array<int> values(std::vector<int>(n, 1));
	int should = 1;
	for (int i = 0; i < n_streams; i++) {
		TRY(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
		TRY(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
	}
	// Each step in another stream; only events keep the order.
	for (int step = 0; step < 12; step++) {
		const int at = step % n_streams, before = (step + n_streams - 1) % n_streams;
		if (step > 0)
			TRY(cudaStreamWaitEvent(streams[at], events[before], 0));
		spin<<<1, 32, 0, streams[at]>>>(1000 * (step % 4), nullptr);
		multiply_add<<<(n + 127) / 128, 128, 0, streams[at]>>>(values, n, 3, step);
		LAUNCHED();
		TRY(cudaEventRecord(events[at], streams[at]));
		should = should * 3 + step;
	}
	for (int i = 0; i < n_streams; i++)
		TRY(cudaStreamSynchronize(streams[i]));
	sample::expect_equal("order", values.get(), std::vector<int>(n, should));
	for (int i = 0; i < n_streams; i++) {
		TRY(cudaStreamDestroy(streams[i]));
		TRY(cudaEventDestroy(events[i]));
	}
}

static void check_times()
{
	cudaStream_t stream;
	cudaEvent_t start, middle, end, untimed;
	float first_ms = -1, second_ms = -1, both_ms = -1;
	TRY(cudaStreamCreate(&stream));
	for (cudaEvent_t *event : { &start, &middle, &end })
		TRY(cudaEventCreate(event));
	TRY(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
	TRY(cudaEventRecord(start, stream));
	spin<<<1, 32, 0, stream>>>(20000, nullptr);
	TRY(cudaEventRecord(middle, stream));
	spin<<<1, 32, 0, stream>>>(200000, nullptr);
	TRY(cudaEventRecord(end, stream));
	TRY(cudaEventRecord(untimed, stream));
	TRY(cudaEventSynchronize(end));
	TRY(cudaEventElapsedTime(&first_ms, start, middle));
	TRY(cudaEventElapsedTime(&second_ms, middle, end));
	TRY(cudaEventElapsedTime(&both_ms, start, end));
	sample::expect(first_ms > 0 && second_ms > first_ms, "times: %g, then %g ms", first_ms, second_ms);
	sample::expect(std::fabs(first_ms + second_ms - both_ms) < 1e-3, "times do not add up: %g + %g, not %g",
		       first_ms, second_ms, both_ms);
	// 200000 cycles at no more than 4 GHz.
	sample::expect(second_ms >= 0.05f, "200000 cycles in %g ms", second_ms);
	float unused;
	TRY(cudaStreamSynchronize(stream));
	const cudaError_t error = cudaEventElapsedTime(&unused, untimed, end);
	sample::expect(error == cudaErrorInvalidResourceHandle, "an event without time: %s", cudaGetErrorName(error));
	cudaGetLastError();
	for (cudaEvent_t event : { start, middle, end, untimed })
		TRY(cudaEventDestroy(event));
	TRY(cudaStreamDestroy(stream));
}

// While a kernel waits for a flag only the host can set, queries say "not ready", and other streams go on.
static void check_concurrency()
{
	cudaStream_t waiting, other;
	cudaEvent_t event;
	volatile int *flag;
	TRY(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocMapped));
	int *device_flag;
	TRY(cudaHostGetDevicePointer((void **)&device_flag, (void *)flag, 0));
	*flag = 0;
	const sample::Array<int> result(1), values(std::vector<int>(100, 5));
	TRY(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
	TRY(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
	TRY(cudaEventCreate(&event));
	TRY(cudaEventQuery(event)); // never recorded: complete
	wait_for<<<1, 1, 0, waiting>>>(device_flag, result);
	LAUNCHED();
	TRY(cudaEventRecord(event, waiting));
	sample::expect(cudaStreamQuery(waiting) == cudaErrorNotReady, "the waiting stream has finished");
	sample::expect(cudaEventQuery(event) == cudaErrorNotReady, "the event has happened");
	cudaGetLastError(); // some runtimes remember "not ready" as an error
	multiply_add<<<1, 128, 0, other>>>(values, 100, 2, 1);
	TRY(cudaStreamSynchronize(other));
	TRY(cudaStreamQuery(other));
	std::thread setter([&] { *flag = 21; });
	TRY(cudaEventSynchronize(event));
	setter.join();
	TRY(cudaStreamQuery(waiting));
	sample::expect_equal("flag", result.get(), { 42 });
	sample::expect_equal("other stream", values.get(), std::vector<int>(100, 11));
	TRY(cudaFreeHost((void *)flag));
	TRY(cudaStreamDestroy(waiting));
	TRY(cudaStreamDestroy(other));
	TRY(cudaEventDestroy(event));
}

// Work in the legacy stream waits for what blocking streams were given before, and they for it.
static void check_legacy_stream()
{
	const int n = 256;
	cudaStream_t blocking;
	TRY(cudaStreamCreate(&blocking));
	const sample::Array<int> values(std::vector<int>(n, 1));
	spin<<<1, 32, 0, blocking>>>(50000, nullptr);
	multiply_add<<<1, n, 0, blocking>>>(values, n, 2, 3); // 5
	multiply_add<<<1, n>>>(values, n, 4, 1);              // 21
	multiply_add<<<1, n, 0, blocking>>>(values, n, 2, 0); // 42
	LAUNCHED();
	sample::expect_equal("legacy stream", values.get(), std::vector<int>(n, 42));
	TRY(cudaStreamDestroy(blocking));

	int least, greatest, priority;
	TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
	sample::expect(greatest <= least, "priorities from %d to %d", least, greatest);
	cudaStream_t urgent;
	unsigned flags;
	TRY(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest));
	TRY(cudaStreamGetPriority(urgent, &priority));
	TRY(cudaStreamGetFlags(urgent, &flags));
	sample::expect(priority == greatest && flags == cudaStreamNonBlocking, "priority %d, flags %u", priority,
		       flags);
	// Destroying a stream does not cancel its work.
	sample::Array<int> done(1);
	done.fill_bytes(0);
	TRY(cudaDeviceSynchronize());
	for (int i = 0; i < 4; i++)
		spin<<<2, 32, 0, urgent>>>(5000, done);
	LAUNCHED();
	TRY(cudaStreamDestroy(urgent));
	TRY(cudaDeviceSynchronize());
	sample::expect_equal("destroyed stream", done.get(), { 8 });
}

int main()
{
	check_order();
	check_times();
	check_concurrency();
	check_legacy_stream();
	return sample::finish("stream_events");
}

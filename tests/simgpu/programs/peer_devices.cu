// SPDX-License-Identifier: Apache-2.0
//
// One problem on every device there is: each reduces its part, with a host thread of its own, the results go from
// device to device around a ring by peer copies, and last a kernel of the first device reads what lies on the others.
// Exercises: cudaSetDevice per thread, cudaMemcpyPeerAsync, peer access, events between the streams of two devices.
#include "sample.h"

#include <thread>

static constexpr int n = 4096;

__global__ void reduce(const int *values, int *to)
{
	int sum = 0;
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		sum += values[i];
	atomicAdd(to, sum);
}

__global__ void gather(int *const *parts, int n_parts, int *to)
{
	for (int i = 0; i < n_parts; i++)
		to[i] = *parts[i];
}

struct Part {
	cudaStream_t stream;
	cudaEvent_t reduced;
	int *values, *sum;
};

static void prepare(Part *part, int device)
{
	int current;
	TRY(cudaSetDevice(device));
	TRY(cudaGetDevice(&current));
	sample::expect(current == device, "device %d is current, not %d", current, device);
	std::vector<int> values(n);
	for (int i = 0; i < n; i++)
		values[i] = (device + 1) * (i % 7);
	TRY(cudaStreamCreateWithFlags(&part->stream, cudaStreamNonBlocking));
	TRY(cudaEventCreateWithFlags(&part->reduced, cudaEventDisableTiming));
	TRY(cudaMalloc(&part->values, n * sizeof(int)));
	TRY(cudaMalloc(&part->sum, 2 * sizeof(int)));
	TRY(cudaMemset(part->sum, 0, 2 * sizeof(int)));
	TRY(cudaMemcpy(part->values, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
	reduce<<<1, 128, 0, part->stream>>>(part->values, part->sum);
	LAUNCHED();
	TRY(cudaEventRecord(part->reduced, part->stream));
}

int main()
{
	int n_devices;
	TRY(cudaGetDeviceCount(&n_devices));
	std::vector<Part> parts(n_devices);
	std::vector<std::thread> threads;
	for (int i = 0; i < n_devices; i++)
		threads.emplace_back(prepare, &parts[i], i);
	for (std::thread &thread : threads)
		thread.join();
	int unit = 0;
	for (int i = 0; i < n; i++)
		unit += i % 7;

	for (int i = 0; i < n_devices; i++) {
		const int from = (i + 1) % n_devices;
		TRY(cudaSetDevice(i));
		TRY(cudaStreamWaitEvent(parts[i].stream, parts[from].reduced, 0));
		TRY(cudaMemcpyPeerAsync(parts[i].sum + 1, i, parts[from].sum, from, sizeof(int), parts[i].stream));
	}
	for (int i = 0; i < n_devices; i++) {
		int sums[2];
		TRY(cudaStreamSynchronize(parts[i].stream));
		TRY(cudaMemcpy(sums, parts[i].sum, sizeof(sums), cudaMemcpyDefault));
		sample::expect(sums[0] == unit * (i + 1), "device %d: %d", i, sums[0]);
		sample::expect(sums[1] == unit * ((i + 1) % n_devices + 1), "device %d got %d", i, sums[1]);
	}

	TRY(cudaSetDevice(0));
	std::vector<int *> addresses;
	for (int i = 0; i < n_devices; i++) {
		int reachable = 1;
		if (i)
			TRY(cudaDeviceCanAccessPeer(&reachable, 0, i));
		if (i && reachable)
			TRY(cudaDeviceEnablePeerAccess(i, 0));
		if (reachable)
			addresses.push_back(parts[i].sum);
	}
	const sample::Array<int *> on_device(addresses);
	const sample::Array<int> gathered(addresses.size());
	gather<<<1, 1>>>(on_device, (int)addresses.size(), gathered);
	LAUNCHED();
	sample::expect(gathered.get().back() == unit * (int)addresses.size(), "gathered %d", gathered.get().back());
	for (const Part &part : parts) {
		TRY(cudaStreamDestroy(part.stream));
		TRY(cudaFree(part.values));
		TRY(cudaFree(part.sum));
	}
	return sample::finish("peer_devices");
}

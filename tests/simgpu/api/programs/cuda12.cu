// SPDX-License-Identifier: Apache-2.0
// What a program of nvcc 12 asks of its runtime: launches through cudaLaunchKernel, the forms of functions that 13
// changed, and fat binaries of CUDA 12's own. Linked with libcudart.so.12.  Usage: cuda12 FOLDER_OF_FATBINS
#include "check.h"

#include "../rt_12.h"

#include <string.h>
#include <string>
#include <vector>

#define IN12(name, parameters) extern "C" cudaError_t in12_##name parameters __asm__(#name);
IN12(cudaGetDeviceProperties_v2, (device_properties_12 * properties, int device))
IN12(cudaMemAdvise, (const void *pointer, size_t bytes, cudaMemoryAdvise advice, int device))
IN12(cudaMemPrefetchAsync, (const void *pointer, size_t bytes, int device, cudaStream_t stream))
IN12(cudaGraphAddDependencies, (cudaGraph_t graph, const cudaGraphNode_t *from, const cudaGraphNode_t *to, size_t n))
IN12(cudaGraphGetEdges, (cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *n))
IN12(cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t *nodes, size_t *n))
IN12(cudaStreamGetCaptureInfo_v2, (cudaStream_t stream, cudaStreamCaptureStatus *status, unsigned long long *id,
				   cudaGraph_t *graph, const cudaGraphNode_t **nodes, size_t *n))
IN12(cudaStreamUpdateCaptureDependencies, (cudaStream_t stream, cudaGraphNode_t *nodes, size_t n, unsigned flags))
IN12(cudaEventElapsedTime_v2, (float *milliseconds, cudaEvent_t start, cudaEvent_t end))
IN12(cudaThreadSynchronize, (void))

__global__ void fill(int *to, int value)
{
	to[threadIdx.x] = value + threadIdx.x;
}

static void devices_look_as_they_did()
{
	struct {
		device_properties_12 properties;
		char after[64];
	} seen;
	int rate;

	memset(&seen, 0x5A, sizeof(seen));
	OK(in12_cudaGetDeviceProperties_v2(&seen.properties, 0));
	OK(cudaDeviceGetAttribute(&rate, cudaDevAttrClockRate, 0));
	CHECK(strstr(seen.properties.name, "simgpu"));
	CHECK_EQUAL(seen.properties.clockRate, rate);
	CHECK_EQUAL(seen.properties.major, 9);
	CHECK_EQUAL(seen.properties.multiProcessorCount, 8);
	CHECK_EQUAL(seen.properties.sharedMemPerMultiprocessor, 228 * 1024);
	CHECK_EQUAL(seen.properties.clusterLaunch, 1);
	/* Where CUDA 12's header has them. */
	CHECK_EQUAL(offsetof(device_properties_12, clockRate), 348);
	CHECK_EQUAL(offsetof(device_properties_12, multiProcessorCount), 388);
	CHECK_EQUAL(offsetof(device_properties_12, sharedMemPerMultiprocessor), 640);
	CHECK_EQUAL(offsetof(device_properties_12, clusterLaunch), 772);
	for (char byte : seen.after)
		CHECK_EQUAL(byte, 0x5A);
}

/* The structure of 12 is 24 bytes; a stack slot of that size must not be overrun. */
static void pointer_attributes_are_short(int *pointer)
{
	union {
		cudaPointerAttributes attributes;
		unsigned char bytes[sizeof(cudaPointerAttributes)];
	} seen;

	memset(&seen, 0x5A, sizeof(seen));
	OK(cudaPointerGetAttributes(&seen.attributes, pointer));
	CHECK_EQUAL(seen.attributes.type, cudaMemoryTypeManaged);
	for (size_t i = 24; i < sizeof(seen); i++)
		CHECK_EQUAL(seen.bytes[i], 0x5A);
}

/* What the code nvcc 12 makes of <<<>>> calls. */
static void stubs_launch(int *data)
{
	int value = 3, result = 0;
	void *arguments[] = { &data, &value };

	OK(cudaLaunchKernel((const void *)fill, dim3(1), dim3(32), arguments, 0, NULL));
	OK(cudaMemcpy(&result, data + 31, sizeof(result), cudaMemcpyDefault));
	CHECK_EQUAL(result, 34);
}

static void managed_memory_goes_by_device_number()
{
	int *data;

	OK(cudaMallocManaged(&data, 32 * sizeof(int)));
	OK(in12_cudaMemAdvise(data, 32 * sizeof(int), cudaMemAdviseSetPreferredLocation, 0));
	OK(in12_cudaMemPrefetchAsync(data, 32 * sizeof(int), 0, 0));
	fill<<<1, 32>>>(data, 5);
	OK(in12_cudaMemPrefetchAsync(data, 32 * sizeof(int), cudaCpuDeviceId, 0));
	OK(in12_cudaThreadSynchronize());
	CHECK_EQUAL(data[31], 36);
	pointer_attributes_are_short(data);
	OK(cudaFree(data));
}

static void edges_have_no_data()
{
	cudaGraphNode_t nodes[2], from, to;
	cudaGraph_t graph;
	size_t n = 1;

	OK(cudaGraphCreate(&graph, 0));
	OK(cudaGraphAddEmptyNode(&nodes[0], graph, NULL, 0));
	OK(cudaGraphAddEmptyNode(&nodes[1], graph, NULL, 0));
	OK(in12_cudaGraphAddDependencies(graph, &nodes[0], &nodes[1], 1));
	OK(in12_cudaGraphGetEdges(graph, &from, &to, &n));
	CHECK_EQUAL(n, 1);
	CHECK(from == nodes[0] && to == nodes[1]);
	OK(in12_cudaGraphNodeGetDependencies(nodes[1], &from, &n));
	CHECK_EQUAL(n, 1);
	OK(cudaGraphDestroy(graph));
}

static void captures_have_two_forms(int *data)
{
	cudaStreamCaptureStatus status;
	const cudaGraphNode_t *nodes;
	unsigned long long id;
	cudaStream_t stream;
	cudaGraph_t graph;
	cudaEvent_t start, end;
	float milliseconds = -1;
	size_t n;

	OK(cudaStreamCreate(&stream));
	OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	fill<<<1, 32, 0, stream>>>(data, 0);
	OK(in12_cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &n));
	CHECK_EQUAL(status, cudaStreamCaptureStatusActive);
	CHECK_EQUAL(n, 1);
	OK(in12_cudaStreamUpdateCaptureDependencies(stream, NULL, 0, cudaStreamSetCaptureDependencies));
	OK(in12_cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &nodes, &n));
	CHECK_EQUAL(n, 0);
	OK(cudaStreamEndCapture(stream, &graph));
	OK(cudaGraphDestroy(graph));
	OK(cudaEventCreate(&start));
	OK(cudaEventCreate(&end));
	OK(cudaEventRecord(start, stream));
	fill<<<1, 32, 0, stream>>>(data, 0);
	OK(cudaEventRecord(end, stream));
	OK(cudaEventSynchronize(end));
	OK(in12_cudaEventElapsedTime_v2(&milliseconds, start, end));
	CHECK(milliseconds > 0);
	OK(cudaStreamDestroy(stream));
}

/* --- fat binaries of CUDA 12 ------------------------------------------------------------------ */

static std::vector<char> read(const std::string &path)
{
	FILE *file = fopen(path.c_str(), "rb");
	std::vector<char> bytes(1 << 16);

	CHECK(file);
	bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
	fclose(file);
	return bytes;
}

static void run_kernel(const void *image, const char *name, int *data)
{
	const int n = 32;
	cudaLibrary_t library;
	cudaKernel_t kernel;
	int count = n;
	void *arguments[] = { &data, &count };

	OK(cudaLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
	OK(cudaLibraryGetKernel(&kernel, library, name));
	OK(cudaMemset(data, 0, n * sizeof(int)));
	OK(cudaLaunchKernel((const void *)kernel, dim3(1), dim3(n), arguments, 0, NULL));
	OK(cudaDeviceSynchronize());
	OK(cudaLibraryUnload(library));
}

static void its_fat_binaries_run(const std::string &folder, int *data)
{
	int result[32];

	for (const char *name : { "whole", "whole_zstd", "whole_plain" }) {
		run_kernel(read(folder + "/" + name + ".fatbin").data(), "whole", data);
		OK(cudaMemcpy(result, data, sizeof(result), cudaMemcpyDefault));
		for (int i = 0; i < 32; i++)
			CHECK_EQUAL(result[i], i * (i % 4 + 1) + 7);
	}
}

/* What nvlink leaves in a program: an empty container, and those that went into the link. */
static void its_relocatable_code_is_linked(const std::string &folder, int *data)
{
	static const unsigned long long empty[2] = { 0x00100001BA55ED50ull, 0 };
	std::vector<char> first = read(folder + "/first.fatbin"), second = read(folder + "/second.fatbin");
	const void *prelinked[] = { empty, first.data(), second.data(), NULL };
	const struct {
		unsigned int magic, version;
		const void *container, *prelinked;
	} wrapper = { 0x466243B1, 2, empty, prelinked };
	int result[32];

	run_kernel(&wrapper, "first", data);
	OK(cudaMemcpy(result, data, sizeof(result), cudaMemcpyDefault));
	for (int i = 0; i < 32; i++)
		CHECK_EQUAL(result[i], 2 * i + 100);
}

int main(int argc, char **argv)
{
	int version, *data;

	CHECK_EQUAL(argc, 2);
	OK(cudaRuntimeGetVersion(&version));
	CHECK_EQUAL(version / 1000, 12);
	OK(cudaMalloc(&data, 32 * sizeof(int)));
	devices_look_as_they_did();
	stubs_launch(data);
	managed_memory_goes_by_device_number();
	edges_have_no_data();
	captures_have_two_forms(data);
	its_fat_binaries_run(argv[1], data);
	its_relocatable_code_is_linked(argv[1], data);
	OK(cudaFree(data));
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
//
// Memory that kernels allocate for themselves: malloc() and free(), new and delete; blocks that outlive their kernel
// and are freed by another; linked lists and trees built by many threads; what happens when the heap is exhausted.
// Exercises: device malloc and free, alignment and overlap of blocks, cudaLimitMallocHeapSize, atomicExch of pointers,
// constructors and destructors on the device, device memcpy and memset.
#include "sample.h"

#include <algorithm>
#include <cstring>

struct Item {
	Item *next;
	int value;
};

// Every thread puts its items in front of the list of its bucket.
__global__ void build(Item **buckets, int n_buckets, const int *values, int n, int *n_missing)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
		Item *item = static_cast<Item *>(malloc(sizeof(Item)));
		if (item == nullptr) {
			atomicAdd(n_missing, 1);
			continue;
		}
		item->value = values[i];
		unsigned long long *head = reinterpret_cast<unsigned long long *>(&buckets[values[i] % n_buckets]);
		unsigned long long seen = *static_cast<volatile unsigned long long *>(head), before;
		do {
			before = seen;
			item->next = reinterpret_cast<Item *>(before);
			__threadfence();
			seen = atomicCAS(head, before, reinterpret_cast<unsigned long long>(item));
		} while (seen != before);
	}
}

// A later kernel reads the lists and frees them.
__global__ void empty(Item **buckets, int n_buckets, int *sums, int *counts)
{
	const int bucket = blockIdx.x * blockDim.x + threadIdx.x;
	if (bucket >= n_buckets)
		return;
	int sum = 0, count = 0;
	for (Item *item = buckets[bucket]; item != nullptr; count++) {
		Item *next = item->next;
		sum += item->value;
		free(item);
		item = next;
	}
	buckets[bucket] = nullptr;
	sums[bucket] = sum;
	counts[bucket] = count;
}

static void run_lists(int repeat)
{
	const int n = 2000, n_buckets = 50;
	sample::Random random(repeat);
	std::vector<int> values(n), should_sums(n_buckets, 0), should_counts(n_buckets, 0);
	for (int &value : values) {
		value = (int)random.below(100000);
		should_sums[value % n_buckets] += value;
		should_counts[value % n_buckets]++;
	}
	const sample::Array<int> device_values(values), sums(n_buckets), counts(n_buckets);
	sample::Array<Item *> buckets(n_buckets);
	sample::Array<int> n_missing(1);
	buckets.fill_bytes(0);
	n_missing.fill_bytes(0);
	build<<<4, 128>>>(buckets, n_buckets, device_values, n, n_missing);
	empty<<<1, 64>>>(buckets, n_buckets, sums, counts);
	LAUNCHED();
	sample::expect_equal("missing", n_missing.get(), { 0 });
	sample::expect_equal("sums", sums.get(), should_sums);
	sample::expect_equal("counts", counts.get(), should_counts);
}

// Blocks of all sizes: aligned to 16 bytes, writable to their ends, not overlapping.
__global__ void fill(unsigned char **blocks, int *n_misaligned)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const size_t bytes = (size_t)i * 7 % 500 + 1;
	unsigned char *block = static_cast<unsigned char *>(malloc(bytes));
	if ((reinterpret_cast<size_t>(block) & 15) != 0)
		atomicAdd(n_misaligned, 1);
	memset(block, i & 0xff, bytes);
	blocks[i] = block;
}

__global__ void verify(unsigned char **blocks, int *n_damaged)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	const size_t bytes = (size_t)i * 7 % 500 + 1;
	for (size_t k = 0; k < bytes; k++)
		if (blocks[i][k] != (unsigned char)i) {
			atomicAdd(n_damaged, 1);
			break;
		}
	free(blocks[i]);
	free(nullptr);
}

// Objects with a constructor and a destructor that allocate; one row a thread.
class Row
{
public:
	__device__ Row(int n, int first) : values(new int[n]), n(n)
	{
		for (int i = 0; i < n; i++)
			values[i] = first + i;
	}
	__device__ Row(const Row &other) : values(new int[other.n]), n(other.n)
	{
		memcpy(values, other.values, n * sizeof(int));
	}
	__device__ ~Row()
	{
		delete[] values;
	}
	__device__ int sum() const
	{
		int result = 0;
		for (int i = 0; i < n; i++)
			result += values[i];
		return result;
	}
	int *values;

private:
	int n;
};

__global__ void rows(int *results)
{
	const int i = threadIdx.x;
	Row *row = new Row(i % 20 + 1, i);
	{
		Row copy(*row);
		copy.values[0] += 1000;
		results[i] = copy.sum();
	}
	results[i] -= row->sum();
	results[i] += row->sum() * 2;
	delete row;
}

__global__ void exhaust(void **blocks, int n, size_t bytes, int *n_given)
{
	int given = 0;
	for (int i = 0; i < n; i++) {
		blocks[i] = malloc(bytes);
		given += blocks[i] != nullptr;
	}
	for (int i = 0; i < n; i++)
		free(blocks[i]);
	*n_given = given;
}

int main()
{
	// Before the first kernel that allocates.
	size_t heap_bytes = 0;
	TRY(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20));
	TRY(cudaDeviceGetLimit(&heap_bytes, cudaLimitMallocHeapSize));
	sample::expect(heap_bytes >= 4 << 20, "heap: %zu bytes", heap_bytes);
	for (int repeat = 0; repeat < 3; repeat++)
		run_lists(repeat);

	const int n = 256;
	const sample::Array<unsigned char *> blocks(n);
	sample::Array<int> counts(2);
	counts.fill_bytes(0);
	fill<<<2, n / 2>>>(blocks, counts);
	verify<<<2, n / 2>>>(blocks, counts + 1);
	LAUNCHED();
	sample::expect_equal("misaligned, damaged", counts.get(), { 0, 0 });

	const sample::Array<int> results(64);
	rows<<<1, 64>>>(results);
	LAUNCHED();
	std::vector<int> should(64);
	for (int i = 0; i < 64; i++) {
		const int length = i % 20 + 1;
		should[i] = 1000 + 2 * (length * i + length * (length - 1) / 2);
	}
	sample::expect_equal("rows", results.get(), should);

	// Twenty times a megabyte out of some: a part is given, the rest refused, and afterwards all is there again.
	const sample::Array<void *> large(20);
	const sample::Array<int> n_given(1);
	int before = 0;
	for (int repeat = 0; repeat < 2; repeat++) {
		exhaust<<<1, 1>>>(large, 20, 1000000, n_given);
		LAUNCHED();
		const int given = n_given.get()[0];
		sample::expect(given >= 1 && given < 20 && (repeat == 0 || given == before), "%d blocks given", given);
		before = given;
	}
	run_lists(9);
	return sample::finish("device_malloc");
}

// SPDX-License-Identifier: Apache-2.0
//
// Memory that both sides use: managed variables and allocations, lists of pointers that host and device follow alike,
// page-locked memory mapped into the device, registered host memory, constant tables, advice and prefetching.
// Exercises: __managed__, cudaMallocManaged, cudaHostRegister, cudaHostGetDevicePointer, cudaPointerGetAttributes,
// cudaMemPrefetchAsync, pointers within structures, constants addressed by dynamic indices.
#include "sample.h"

// --- a tree in managed memory
// ---------------------------------------------------------------------------------------------
struct Node {
	Node *left, *right;
	int key, n_visits;
};

__managed__ int n_found;
__managed__ Node *root;
__constant__ int wanted[8] = { 3, 50, 77, 120, 121, 500, 999, -1 };
__constant__ struct {
	char name[12];
	double weight;
} names[3] = { { "first", 1.5 }, { "second", 2.5 }, { "third", -4.0 } };

// Allocates itself where both sides see it.
static Node *new_node(int key)
{
	Node *node;
	TRY(cudaMallocManaged(&node, sizeof(Node)));
	*node = { nullptr, nullptr, key, 0 };
	return node;
}

static void insert(Node **place, int key)
{
	while (*place != nullptr)
		place = key < (*place)->key ? &(*place)->left : &(*place)->right;
	*place = new_node(key);
}

__global__ void find_wanted()
{
	const int key = wanted[threadIdx.x];
	Node *node = root;
	while (node != nullptr && node->key != key) {
		atomicAdd(&node->n_visits, 1);
		node = key < node->key ? node->left : node->right;
	}
	if (node != nullptr)
		atomicAdd(&n_found, 1);
}

static int count_visits(const Node *node)
{
	return node == nullptr ? 0 : node->n_visits + count_visits(node->left) + count_visits(node->right);
}

static void destroy(Node *node)
{
	if (node == nullptr)
		return;
	destroy(node->left);
	destroy(node->right);
	TRY(cudaFree(node));
}

static void run_tree()
{
	sample::Random random(6);
	int should_found = 0, should_visits = 0;
	static const int keys[8] = { 3, 50, 77, 120, 121, 500, 999, -1 };
	Node *tree = nullptr;
	for (int i = 0; i < 60; i++)
		insert(&tree, i % 10 == 0 ? keys[i / 10] : (int)random.below(1000));
	root = tree;
	for (int key : keys) {
		const Node *node = tree;
		for (; node != nullptr && node->key != key; node = key < node->key ? node->left : node->right)
			should_visits++;
		should_found += node != nullptr;
	}
	n_found = 0;
	find_wanted<<<1, 8>>>();
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	sample::expect(n_found == should_found && should_found >= 6, "found: %d, not %d", n_found, should_found);
	sample::expect(count_visits(tree) == should_visits, "visits: %d, not %d", count_visits(tree), should_visits);
	destroy(tree);
}

// --- one kernel, memory of every kind
// ---------------------------------------------------------------------------------------
__global__ void weigh(const float *in, float *out, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i] * (float)names[i % 3].weight + (float)names[i % 3].name[i % 5];
}

static void check(const char *what, const float *in, const float *out, int n)
{
	static const double weights[3] = { 1.5, 2.5, -4.0 };
	static const char *const texts[3] = { "first", "second", "third" };
	for (int i = 0; i < n; i++) {
		const float should = fmaf(in[i], (float)weights[i % 3], (float)texts[i % 3][i % 5]);
		if (!sample::expect(out[i] == should, "%s[%d]: %g, not %g", what, i, out[i], should))
			return;
	}
	printf("%s\n", what);
}

static void fill(float *in, float *out, int n)
{
	for (int i = 0; i < n; i++) {
		in[i] = (float)(i % 100) * 0.25f;
		out[i] = -1;
	}
}

static cudaMemoryType type_of(const void *pointer)
{
	cudaPointerAttributes attributes;
	TRY(cudaPointerGetAttributes(&attributes, pointer));
	return attributes.type;
}

static void run_kinds()
{
	const int n = 3000, blocks = (n + 127) / 128;
	const size_t bytes = n * sizeof(float);
	float *in, *out, *device_in, *device_out;

	TRY(cudaMallocManaged(&in, bytes));
	TRY(cudaMallocManaged(&out, bytes));
	sample::expect(type_of(in) == cudaMemoryTypeManaged && type_of(in + n - 1) == cudaMemoryTypeManaged,
		       "managed type");
	fill(in, out, n);
	cudaMemLocation location = {};
	location.type = cudaMemLocationTypeDevice;
	location.id = 0;
	TRY(cudaMemAdvise(in, bytes, cudaMemAdviseSetReadMostly, location));
	TRY(cudaMemPrefetchAsync(in, bytes, location, 0, 0));
	weigh<<<blocks, 128>>>(in, out, n);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	check("managed", in, out, n);
	// Copies between kinds, without saying which.
	const sample::Array<float> plain(n);
	sample::expect(type_of(plain) == cudaMemoryTypeDevice, "device type");
	TRY(cudaMemcpy(plain, out, bytes, cudaMemcpyDefault));
	TRY(cudaMemset(out, 0, bytes));
	TRY(cudaMemcpy(out, plain, bytes, cudaMemcpyDefault));
	check("copied", in, out, n);
	TRY(cudaFree(in));
	TRY(cudaFree(out));

	TRY(cudaHostAlloc(&in, bytes, cudaHostAllocMapped | cudaHostAllocWriteCombined));
	TRY(cudaHostAlloc(&out, bytes, cudaHostAllocMapped));
	sample::expect(type_of(in) == cudaMemoryTypeHost, "page-locked type");
	fill(in, out, n);
	TRY(cudaHostGetDevicePointer(&device_in, in, 0));
	TRY(cudaHostGetDevicePointer(&device_out, out, 0));
	weigh<<<blocks, 128>>>(device_in, device_out, n);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	check("mapped", in, out, n);
	TRY(cudaFreeHost(in));
	TRY(cudaFreeHost(out));

	// Memory the program had anyhow.
	std::vector<float> host_in(n), host_out(n);
	sample::expect(type_of(host_in.data()) == cudaMemoryTypeUnregistered, "ordinary memory's type");
	TRY(cudaHostRegister(host_in.data(), bytes, cudaHostRegisterMapped));
	TRY(cudaHostRegister(host_out.data(), bytes, cudaHostRegisterMapped));
	sample::expect(type_of(host_in.data()) == cudaMemoryTypeHost, "registered type");
	const cudaError_t twice = cudaHostRegister(host_in.data(), bytes, 0);
	sample::expect(twice == cudaErrorHostMemoryAlreadyRegistered, "registered twice: %s", cudaGetErrorName(twice));
	cudaGetLastError();
	fill(host_in.data(), host_out.data(), n);
	TRY(cudaHostGetDevicePointer(&device_in, host_in.data(), 0));
	TRY(cudaHostGetDevicePointer(&device_out, host_out.data(), 0));
	weigh<<<blocks, 128>>>(device_in, device_out, n);
	LAUNCHED();
	TRY(cudaDeviceSynchronize());
	check("registered", host_in.data(), host_out.data(), n);
	TRY(cudaHostUnregister(host_in.data()));
	TRY(cudaHostUnregister(host_out.data()));
}

int main()
{
	run_tree();
	run_kinds();
	return sample::finish("managed_memory");
}

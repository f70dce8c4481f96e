// SPDX-License-Identifier: Apache-2.0
//
// Objects with virtual functions made and used on the device, function pointers in tables and as arguments, member
// pointers, templates with policies, lambdas handed to kernels.
// Exercises: indirect calls through memory, calls that diverge within a warp, virtual tables in constant data,
// placement new in device memory, function prototypes of several shapes, --extended-lambda.
#include "sample.h"

#include <algorithm>
#include <new>

// --- a ray meets shapes through virtual functions
// ---------------------------------------------------------------------
struct Ray {
	float x, y; // along z
};

class Shape
{
public:
	__device__ virtual ~Shape()
	{
		atomicAdd(n_destroyed, 1);
	}
	__device__ virtual float height(const Ray &ray) const = 0;
	__device__ virtual int kind() const
	{
		return 0;
	}
	int *n_destroyed = nullptr;
};

class Sphere : public Shape
{
public:
	__device__ Sphere(float x, float y, float radius) : x(x), y(y), radius(radius)
	{
	}
	__device__ float height(const Ray &ray) const override
	{
		const float dx = ray.x - x, dy = ray.y - y, rest = radius * radius - dx * dx - dy * dy;
		return rest < 0 ? 0 : sqrtf(rest);
	}
	__device__ int kind() const override
	{
		return 1;
	}

protected:
	float x, y, radius;
};

class Box : public Shape
{
public:
	__device__ Box(float left, float top, float size, float high) : left(left), top(top), size(size), high(high)
	{
	}
	__device__ float height(const Ray &ray) const override
	{
		return ray.x >= left && ray.x < left + size && ray.y >= top && ray.y < top + size ? high : 0;
	}

private:
	float left, top, size, high;
};

// Derived twice; calls its parent's version.
class Hollow final : public Sphere
{
public:
	using Sphere::Sphere;
	__device__ float height(const Ray &ray) const override
	{
		const float full = Sphere::height(ray);
		return full > radius * 0.5f ? radius * 0.5f : full;
	}
	__device__ int kind() const override
	{
		return Sphere::kind() + 1;
	}
};

static constexpr int n_shapes = 24;

union Storage {
	__device__ Storage()
	{
	}
	__device__ ~Storage()
	{
	}
	Sphere sphere;
	Box box;
	Hollow hollow;
};

__global__ void make(Storage *storage, Shape **shapes, int *n_destroyed)
{
	const int i = threadIdx.x;
	const float x = i % 6 * 0.3f - 0.813f, y = i / 6 * 0.4f - 0.717f;
	switch (i % 3) {
	case 0:
		shapes[i] = new (&storage[i]) Sphere(x, y, 0.25f);
		break;
	case 1:
		shapes[i] = new (&storage[i]) Box(x, y, 0.25f, 0.125f + i * 0.0625f);
		break;
	default:
		shapes[i] = new (&storage[i]) Hollow(x, y, 0.375f);
	}
	shapes[i]->n_destroyed = n_destroyed;
}

// Lanes look at different shapes: the calls of a warp go to three functions.
__global__ void look(Shape *const *shapes, float *heights, int *kinds, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	const Ray ray = { i % 40 * 0.05f - 1.0f, i / 40 * 0.05f - 1.0f };
	float highest = 0;
	int kind = -1;
	for (int k = 0; k < n_shapes; k++) {
		const Shape *shape = shapes[(k + i) % n_shapes];
		const float height = shape->height(ray);
		if (height > highest) {
			highest = height;
			kind = shape->kind();
		}
	}
	heights[i] = highest;
	kinds[i] = kind;
}

__global__ void destroy(Shape **shapes)
{
	shapes[threadIdx.x]->~Shape();
}

static void look_on_host(float *ret_height, int *ret_kind, int i)
{
	const float px = i % 40 * 0.05f - 1.0f, py = i / 40 * 0.05f - 1.0f;
	*ret_height = 0;
	*ret_kind = -1;
	for (int k = 0; k < n_shapes; k++) {
		const int s = (k + i) % n_shapes;
		const float x = s % 6 * 0.3f - 0.813f, y = s / 6 * 0.4f - 0.717f, radius = s % 3 == 0 ? 0.25f : 0.375f;
		float height;
		if (s % 3 == 1) {
			height = px >= x && px < x + 0.25f && py >= y && py < y + 0.25f ? 0.125f + s * 0.0625f : 0;
		} else {
			const float dx = px - x, dy = py - y, rest = radius * radius - dx * dx - dy * dy;
			height = rest < 0 ? 0 : sqrtf(rest);
			if (s % 3 == 2 && height > radius * 0.5f)
				height = radius * 0.5f;
		}
		if (height > *ret_height) {
			*ret_height = height;
			*ret_kind = s % 3 == 0 ? 1 : s % 3 == 1 ? 0 : 2;
		}
	}
}

static void run_shapes()
{
	const int n = 1600;
	Storage *storage;
	Shape **shapes;
	TRY(cudaMalloc((void **)&storage, sizeof(Storage) * n_shapes));
	TRY(cudaMalloc(&shapes, sizeof(*shapes) * n_shapes));
	const sample::Array<float> heights(n);
	const sample::Array<int> kinds(n);
	sample::Array<int> n_destroyed(1);
	n_destroyed.fill_bytes(0);
	make<<<1, n_shapes>>>(storage, shapes, n_destroyed);
	look<<<(n + 127) / 128, 128>>>(shapes, heights, kinds, n);
	destroy<<<1, n_shapes>>>(shapes);
	LAUNCHED();
	std::vector<float> should_heights(n), is_heights = heights.get();
	std::vector<int> should_kinds(n), is_kinds = kinds.get();
	int n_other_kinds = 0;
	for (int i = 0; i < n; i++) {
		look_on_host(&should_heights[i], &should_kinds[i], i);
		n_other_kinds += is_kinds[i] != should_kinds[i];
	}
	// Contraction on the device: at an edge a ray may just hit what it misses on the host.
	int n_far = 0;
	for (int i = 0; i < n; i++)
		n_far += std::fabs(is_heights[i] - should_heights[i]) > 1e-3f;
	sample::expect(n_far <= n / 100 && n_other_kinds <= n / 100, "%d heights and %d kinds of %d differ", n_far,
		       n_other_kinds, n);
	sample::expect_equal("destroyed", n_destroyed.get(), { n_shapes });
	TRY(cudaFree(storage));
	TRY(cudaFree(shapes));
}

// --- function pointers
// --------------------------------------------------------------------------------------------------
typedef int (*Operation)(int, int);

__device__ __noinline__ int plus(int a, int b)
{
	return a + b;
}
__device__ __noinline__ int times(int a, int b)
{
	return a * b;
}
__device__ __noinline__ int larger(int a, int b)
{
	return a > b ? a : b;
}

struct Wide {
	double a;
	int b[5];
};

__device__ __noinline__ Wide mixed(Wide wide, short c, double d)
{
	wide.a = wide.a * d + c;
	for (int &value : wide.b)
		value += c;
	return wide;
}

__device__ Operation operations[3] = { plus, times, larger };
__device__ Wide (*wide_operation)(Wide, short, double) = mixed;

struct Accumulator {
	int value;
	__device__ __noinline__ void add(int by)
	{
		value += by;
	}
	__device__ __noinline__ void subtract(int by)
	{
		value -= by * 2;
	}
};

__global__ void call(int *results, Operation given)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	int result = operations[i % 3](i, 7); // three ways at once
	result = given(result, i / 2);
	void (Accumulator::*const member)(int) = i % 5 == 0 ? &Accumulator::add : &Accumulator::subtract;
	Accumulator accumulator = { result };
	(accumulator.*member)(i);
	const Wide wide = wide_operation({ 1.5, { 1, 2, 3, 4, i } }, (short)(i % 100), 2.0);
	results[i] = accumulator.value * 3 + (int)wide.a + wide.b[4];
}

__global__ void address_of(Operation *ret_operation, int which)
{
	*ret_operation = operations[which];
}

// --- templates and lambdas
// ------------------------------------------------------------------------------------------------
template <int n> struct Power {
	template <typename T> __device__ static T of(T value)
	{
		return value * Power<n - 1>::of(value);
	}
};
template <> struct Power<0> {
	template <typename T> __device__ static T of(T)
	{
		return T(1);
	}
};

template <typename Function, typename... Arguments>
__global__ void for_each(int n, long long *results, Function function, Arguments... arguments)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		results[i] = function(i, arguments...);
}

static void run_calls()
{
	const int n = 300;
	const sample::Array<Operation> device_pointer(1);
	address_of<<<1, 1>>>(device_pointer, 2);
	LAUNCHED();
	const sample::Array<int> results(n);
	call<<<3, 100>>>(results, device_pointer.get()[0]);
	LAUNCHED();
	std::vector<int> should(n);
	for (int i = 0; i < n; i++) {
		int result = i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 7 : std::max(i, 7);
		result = std::max(result, i / 2);
		result += i % 5 == 0 ? i : -2 * i;
		should[i] = result * 3 + (int)(1.5 * 2.0 + i % 100) + i + i % 100;
	}
	sample::expect_equal("calls", results.get(), should);

	const sample::Array<long long> long_results(n);
	const int captured = 11;
	for_each<<<3, 100>>>(
		n, long_results,
		[captured] __device__(int i, int factor, double shift) {
			return (long long)Power<3>::of((long long)i) * factor + captured + (long long)(shift * 4);
		},
		3, 2.5);
	LAUNCHED();
	std::vector<long long> long_should(n);
	for (long long i = 0; i < n; i++)
		long_should[i] = i * i * i * 3 + 11 + 10;
	sample::expect_equal("lambdas", long_results.get(), long_should);
}

int main()
{
	run_shapes();
	run_calls();
	return sample::finish("virtual_functions");
}

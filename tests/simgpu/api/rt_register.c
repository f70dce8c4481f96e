/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_register.c - what the code nvcc generates calls: registration of fat binaries, kernels and variables, and <<<>>>.
 *
 * Registration runs in constructors and only takes notes. A fat binary becomes a driver library when one of its
 * kernels or variables is first used, and stays one: libraries belong to no context, so a device reset does not
 * touch them. One mutex guards the notes; it is never held while the driver is called. Callable from any thread.
 */
#include "rt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fatbin {
	const void *wrapper;
	CUlibrary library; /* NULL until used */
	cudaError_t error; /* why it never will be: the driver is not asked, and does not say why, again */
	struct fatbin *next;
};

enum entity_kind { ENTITY_KERNEL, ENTITY_VARIABLE, ENTITY_MANAGED };

/* Something of the program that stands for something on the device. */
struct entity {
	const void *host; /* stub, variable or pointer to a managed variable */
	struct fatbin *fatbin;
	enum entity_kind kind;
	const char *name; /* in the program's own memory */
	size_t bytes;     /* of a variable, as registered */
	CUkernel kernel;  /* NULL until used */
	struct entity *next;
};

enum { N_BUCKETS = 1024 }; /* a power of two */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fatbin *fatbins;
static struct entity *buckets[N_BUCKETS];
static bool is_out_of_memory;    /* while registering, where no error can be returned */
static cudaError_t lookup_error; /* of the last kernel __cudaGetKernel() could not give */

static struct entity **bucket_of(const void *host)
{
	return &buckets[((uintptr_t)host >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 54 & (N_BUCKETS - 1)];
}

/* --- looking up ------------------------------------------------------------------------------- */

static struct entity *entity_find(const void *host)
{
	struct entity *entity;

	pthread_mutex_lock(&lock);
	for (entity = *bucket_of(host); entity && entity->host != host; entity = entity->next)
		;
	pthread_mutex_unlock(&lock);
	return entity;
}

static cudaError_t fatbin_library(struct fatbin *fatbin, CUlibrary *ret_library)
{
	CUlibrary library, mine;
	CUresult result;
	cudaError_t error;

	pthread_mutex_lock(&lock);
	library = fatbin->library;
	error = fatbin->error;
	pthread_mutex_unlock(&lock);
	if (error != cudaSuccess)
		return error;
	if (!library) {
		result = DRIVER(cuLibraryLoadData)(&mine, fatbin->wrapper, NULL, NULL, 0, NULL, NULL, 0);
		if (result != CUDA_SUCCESS) {
			error = rt_error(result);
			pthread_mutex_lock(&lock);
			/* What is wrong with the code stays wrong. */
			if (result == CUDA_ERROR_INVALID_PTX || result == CUDA_ERROR_NO_BINARY_FOR_GPU)
				fatbin->error = error;
			pthread_mutex_unlock(&lock);
			return error;
		}
		pthread_mutex_lock(&lock);
		if (!fatbin->library)
			fatbin->library = mine;
		library = fatbin->library;
		pthread_mutex_unlock(&lock);
		if (library != mine) /* another thread was faster */
			DRIVER(cuLibraryUnload)(mine);
	}
	*ret_library = library;
	return cudaSuccess;
}

cudaError_t rt_kernel(const void *function, CUkernel *ret_kernel)
{
	struct entity *entity = entity_find(function);
	CUlibrary library;
	CUkernel kernel;
	CUresult result;
	cudaError_t error;

	if (is_out_of_memory)
		return cudaErrorMemoryAllocation;
	if (!function)
		return cudaErrorInvalidDeviceFunction;
	if (!entity) {
		int ignored;

		/* Any question about it will do; this one every driver with kernels answers. */
		*ret_kernel = (CUkernel)(uintptr_t)function;
		result = DRIVER(cuKernelGetAttribute)(&ignored, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, *ret_kernel,
						      rt_thread()->device);
		return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidDeviceFunction;
	}
	if (entity->kind != ENTITY_KERNEL)
		return cudaErrorInvalidDeviceFunction;
	kernel = __atomic_load_n(&entity->kernel, __ATOMIC_ACQUIRE);
	if (!kernel) {
		error = fatbin_library(entity->fatbin, &library);
		if (error != cudaSuccess)
			return error;
		result = DRIVER(cuLibraryGetKernel)(&kernel, library, entity->name);
		if (result != CUDA_SUCCESS)
			return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : rt_error(result);
		/* Every thread finds the same kernel, so whichever store comes last is right. */
		__atomic_store_n(&entity->kernel, kernel, __ATOMIC_RELEASE);
	}
	*ret_kernel = kernel;
	return cudaSuccess;
}

const void *rt_kernel_stub(CUkernel kernel)
{
	const void *stub = kernel;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		for (const struct entity *entity = buckets[i]; entity; entity = entity->next) {
			if (entity->kind == ENTITY_KERNEL &&
			    __atomic_load_n(&entity->kernel, __ATOMIC_ACQUIRE) == kernel)
				stub = entity->host;
		}
	}
	pthread_mutex_unlock(&lock);
	return stub;
}

static cudaError_t variable_address(const struct entity *entity, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	CUlibrary library;
	CUresult result;
	cudaError_t error = fatbin_library(entity->fatbin, &library);

	if (error != cudaSuccess)
		return error;
	result = entity->kind == ENTITY_MANAGED
			 ? DRIVER(cuLibraryGetManaged)(ret_address, ret_bytes, library, entity->name)
			 : DRIVER(cuLibraryGetGlobal)(ret_address, ret_bytes, library, entity->name);
	return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : rt_error(result);
}

cudaError_t rt_symbol(const void *symbol, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	struct entity *entity = entity_find(symbol);

	if (!entity || entity->kind == ENTITY_KERNEL)
		return cudaErrorInvalidSymbol;
	return variable_address(entity, ret_address, ret_bytes);
}

/* --- registration ----------------------------------------------------------------------------- */

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
			    uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size);
void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t bytes,
		       int is_constant, int is_global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_extern, size_t bytes,
			      int is_constant, int is_global);
void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
			       cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
				    cudaStream_t stream);

EXPORT void **__cudaRegisterFatBinary(void *wrapper)
{
	struct fatbin *fatbin = calloc(1, sizeof(*fatbin));

	if (!fatbin) {
		is_out_of_memory = true;
		return NULL;
	}
	fatbin->wrapper = wrapper;
	pthread_mutex_lock(&lock);
	fatbin->next = fatbins;
	fatbins = fatbin;
	pthread_mutex_unlock(&lock);
	return (void **)fatbin;
}

EXPORT void __cudaRegisterFatBinaryEnd(void **handle)
{
}

static void entity_add(void **handle, enum entity_kind kind, const void *host, const char *name, size_t bytes)
{
	struct entity *entity = handle ? calloc(1, sizeof(*entity)) : NULL;
	struct entity **bucket = bucket_of(host);

	if (!entity) {
		is_out_of_memory = true;
		return;
	}
	entity->host = host;
	entity->fatbin = (struct fatbin *)handle;
	entity->kind = kind;
	entity->name = name;
	entity->bytes = bytes;
	pthread_mutex_lock(&lock);
	entity->next = *bucket;
	*bucket = entity;
	pthread_mutex_unlock(&lock);
}

/* The program, or the shared object that carried the code, is going away. */
EXPORT void __cudaUnregisterFatBinary(void **handle)
{
	struct fatbin *fatbin = (struct fatbin *)handle;

	if (!fatbin)
		return;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < N_BUCKETS; i++) {
		for (struct entity **at = &buckets[i]; *at;) {
			struct entity *entity = *at;

			if (entity->fatbin != fatbin) {
				at = &entity->next;
				continue;
			}
			*at = entity->next;
			free(entity);
		}
	}
	for (struct fatbin **at = &fatbins; *at; at = &(*at)->next) {
		if (*at == fatbin) {
			*at = fatbin->next;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
	/* At exit the driver may be gone already; then it says so and nothing is left to do. */
	if (fatbin->library)
		DRIVER(cuLibraryUnload)(fatbin->library);
	free(fatbin);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int thread_limit,
				   uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp_size)
{
	entity_add(handle, ENTITY_KERNEL, host, name, 0);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int is_extern, size_t bytes,
			      int is_constant, int is_global)
{
	entity_add(handle, ENTITY_VARIABLE, host, name, bytes);
}

EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int is_extern,
				     size_t bytes, int is_constant, int is_global)
{
	entity_add(handle, ENTITY_MANAGED, host, name, bytes);
}

/* Host variables that device code reads, and unified function pointers: no PTX that runs here uses them. */
EXPORT void __cudaRegisterHostVar(void **handle, const char *name, char *host, size_t bytes)
{
}

EXPORT void __cudaRegisterUnifiedTable(void **handle, void *table)
{
}

/* Called before a managed variable of this code is first touched: gives the program's pointers their values. */
EXPORT char __cudaInitModule(void **handle)
{
	cudaError_t error = rt_enter(true, false);

	for (size_t i = 0; error == cudaSuccess && i < N_BUCKETS; i++) {
		struct entity *entity;

		pthread_mutex_lock(&lock);
		entity = buckets[i];
		pthread_mutex_unlock(&lock);
		for (; entity && error == cudaSuccess; entity = entity->next) {
			CUdeviceptr address;
			size_t bytes;

			if (entity->kind != ENTITY_MANAGED || entity->fatbin != (struct fatbin *)handle)
				continue;
			error = variable_address(entity, &address, &bytes);
			if (error == cudaSuccess)
				*(void **)(uintptr_t)entity->host = (void *)(uintptr_t)address;
		}
	}
	return rt_leave(error) == cudaSuccess;
}

/* --- <<<>>> ----------------------------------------------------------------------------------- */

/* The generated code keeps the handle and ignores the error, so the launch has to bring it up again. */
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *function)
{
	cudaError_t error = rt_enter(false, false);
	CUkernel found;

	if (error == cudaSuccess)
		error = rt_kernel(function, &found);
	if (error == cudaSuccess)
		*kernel = (cudaKernel_t)found;
	else
		lookup_error = error;
	return rt_leave(error);
}

EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, struct CUstream_st *stream)
{
	struct rt_thread *thread = rt_thread();

	if (thread->n_configurations == MAX_CALL_DEPTH) {
		rt_leave(cudaErrorInvalidConfiguration);
		return 1;
	}
	thread->configurations[thread->n_configurations++] = (struct rt_call_configuration){
		.grid = grid, .block = block, .shared_bytes = shared_bytes, .stream = stream
	};
	return 0;
}

EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
	struct rt_thread *thread = rt_thread();
	const struct rt_call_configuration *configuration;

	if (thread->n_configurations == 0)
		return rt_leave(cudaErrorMissingConfiguration);
	configuration = &thread->configurations[--thread->n_configurations];
	*grid = configuration->grid;
	*block = configuration->block;
	*shared_bytes = configuration->shared_bytes;
	*(cudaStream_t *)stream = configuration->stream;
	return cudaSuccess;
}

static cudaError_t launch(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
			  cudaStream_t stream, bool per_thread)
{
	cudaError_t error = rt_launch_fault();

	if (error == cudaSuccess)
		error = rt_enter(true, per_thread);
	if (error == cudaSuccess && !kernel)
		error = lookup_error != cudaSuccess ? lookup_error : cudaErrorInvalidDeviceFunction;
	if (error == cudaSuccess)
		error = impl_cudaLaunchKernel(kernel, grid, block, args, shared_bytes, stream);
	return rt_leave(error);
}

EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
				      cudaStream_t stream)
{
	return launch(kernel, grid, block, args, shared_bytes, stream, false);
}

EXPORT cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
					   cudaStream_t stream)
{
	return launch(kernel, grid, block, args, shared_bytes, stream, true);
}

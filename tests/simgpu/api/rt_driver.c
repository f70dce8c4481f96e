/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_driver.c - how the runtime finds its driver: dlopen, one dlsym, then cuGetProcAddress for everything.
 *
 * The order and the arguments are those seen from the real runtime of CUDA 13, because a library preloaded between
 * the two is to be tested: `dlsym` is reached through its ordinary global symbol, cuGetProcAddress is asked for
 * itself (versions 11030 and 12000), a name is empty once, and functions with a stream are asked for twice. Called
 * from any thread; the first call does the work.
 */
#include "rt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

struct driver_table driver_functions;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static cudaError_t outcome;

static CUresult not_in_driver(void)
{
	return CUDA_ERROR_NOT_SUPPORTED;
}

static void find(PFN_cuGetProcAddress_v12000 get, const char *name, int version, cuuint64_t flags, void *ret_slot)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;
	CUresult (*stub)(void) = not_in_driver;

	if (get(name, &function, version, flags, &status) != CUDA_SUCCESS || !function)
		memcpy(&function, &stub, sizeof(function));
	memcpy(ret_slot, &function, sizeof(function));
}

static bool lacks(const void *slot)
{
	CUresult (*stub)(void) = not_in_driver;

	return memcmp(slot, &stub, sizeof(stub)) == 0;
}

/* A driver of an older major version does not do; of an older minor one it does. */
static cudaError_t version_check(void)
{
	int version;
	CUresult result = DRIVER(cuInit)(0);

	if (result == CUDA_SUCCESS)
		result = DRIVER(cuDriverGetVersion)(&version);
	if (result == CUDA_SUCCESS && version / 1000 < RUNTIME_VERSION / 1000)
		return cudaErrorInsufficientDriver;
	return rt_error(result);
}

static cudaError_t table_fill(PFN_cuGetProcAddress_v12000 get)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	get("", &function, 0, CU_GET_PROC_ADDRESS_DEFAULT, &status);
	if (get("cuGetProcAddress", &function, 11030, CU_GET_PROC_ADDRESS_DEFAULT, &status) != CUDA_SUCCESS)
		return cudaErrorInsufficientDriver;
	function = NULL;
	if (get("cuGetProcAddress", &function, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status) == CUDA_SUCCESS && function)
		memcpy(&get, &function, sizeof(get));
#define DRIVER_FUNCTION(name, version, per_thread_version)                                          \
	find(get, #name, version, CU_GET_PROC_ADDRESS_DEFAULT, &driver_functions.name[0]);          \
	if (per_thread_version)                                                                     \
		find(get, #name, per_thread_version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, \
		     &driver_functions.name[1]);                                                    \
	else                                                                                        \
		driver_functions.name[1] = driver_functions.name[0];
#include "rt_driver.def"
#undef DRIVER_FUNCTION
	/* A driver before 12.8 knows the oldest of its forms, which does as well. */
	if (lacks(&driver_functions.cuEventElapsedTime[0]))
		find(get, "cuEventElapsedTime", 2000, CU_GET_PROC_ADDRESS_DEFAULT,
		     &driver_functions.cuEventElapsedTime[0]);
#if SIMGPU_RUNTIME_MAJOR == 12
	if (lacks(&driver_functions.cuGraphGetEdges[0]))
		rt_12_use_old_forms(get);
#endif
	return version_check();
}

static void load(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
	PFN_cuGetProcAddress_v12000 get;

	if (!symbol) {
		outcome = cudaErrorInsufficientDriver;
		return;
	}
	memcpy(&get, &symbol, sizeof(get));
	outcome = table_fill(get);
}

cudaError_t rt_driver_ready(void)
{
	pthread_once(&once, load);
	return outcome;
}

cudaError_t rt_context_ready(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static CUcontext primary[MAX_DEVICES]; /* retained once, for as long as the process lives */
	int device = rt_thread()->device;
	CUcontext context = NULL;
	CUresult result = DRIVER(cuCtxGetCurrent)(&context);

	if (result != CUDA_SUCCESS || context)
		return rt_error(result);
	pthread_mutex_lock(&lock);
	if (!primary[device])
		result = DRIVER(cuDevicePrimaryCtxRetain)(&primary[device], device);
	context = primary[device];
	pthread_mutex_unlock(&lock);
	if (result == CUDA_SUCCESS)
		result = DRIVER(cuCtxSetCurrent)(context);
	return rt_error(result);
}

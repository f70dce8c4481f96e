/* SPDX-License-Identifier: Apache-2.0
 * A library that is loaded with RTLD_DEEPBIND and uses the driver: linked with it, or by what its own dlsym() finds. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>
#include <stdbool.h>

/* Launches "step" 3 times; `function` NULL: of a module of its own. Returns the first error. */
int warpspan_test_deep(const char *ptx, void *function, unsigned long long data, bool look_up);

#define FUNCTIONS(X)           \
	X(cuInit)              \
	X(cuModuleLoadData)    \
	X(cuModuleGetFunction) \
	X(cuLaunchKernel)      \
	X(cuCtxSynchronize)

struct driver {
#define X(name) __typeof__(&name) name;
	FUNCTIONS(X)
#undef X
};

static bool find(struct driver *ret_driver)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);

	if (library == NULL)
		return false;
#define X(name)                                                      \
	ret_driver->name = (__typeof__(&name))dlsym(library, #name); \
	if (ret_driver->name == NULL)                                \
		return false;
	FUNCTIONS(X)
#undef X
	return true;
}

int warpspan_test_deep(const char *ptx, void *function, unsigned long long data, bool look_up)
{
#define X(name) .name = name,
	struct driver driver = { FUNCTIONS(X) };
#undef X
	void *parameters[] = { &data };
	CUmodule module;
	CUresult result;

	if (look_up && !find(&driver))
		return -1;
	result = driver.cuInit(0);
	if (result == CUDA_SUCCESS && function == NULL) {
		result = driver.cuModuleLoadData(&module, ptx);
		if (result == CUDA_SUCCESS)
			result = driver.cuModuleGetFunction((CUfunction *)&function, module, "step");
	}
	for (int i = 0; i < 3 && result == CUDA_SUCCESS; i++)
		result = driver.cuLaunchKernel((CUfunction)function, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL);
	return result == CUDA_SUCCESS ? (int)driver.cuCtxSynchronize() : (int)result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * deep.c PTX LIBRARY MODE - loads libraries/deep.c so that it prefers its own libraries' functions to preloaded ones,
 * and has it launch "step" 3 times. MODE says how that reaches the driver, "linked" or "looked up", and may go on with
 *   beside   the program launches "step" of a module of its own as well, once before and once after
 *   shared   the same, and the library launches the program's kernel
 * Prints how often each element was incremented.
 */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int deep(const char *, void *, unsigned long long, bool);

#define FUNCTIONS(X)                \
	X(cuInit)                   \
	X(cuDevicePrimaryCtxRetain) \
	X(cuCtxSetCurrent)          \
	X(cuModuleLoadData)         \
	X(cuModuleGetFunction)      \
	X(cuMemAlloc_v2)            \
	X(cuMemsetD8_v2)            \
	X(cuMemcpyDtoH_v2)          \
	X(cuLaunchKernel)           \
	X(cuCtxSynchronize)

#define X(name) static __typeof__(&name) real_##name;
FUNCTIONS(X)
#undef X

static void *symbol(void *library, const char *name)
{
	void *found = library != NULL ? dlsym(library, name) : NULL;

	if (found == NULL) {
		printf("%s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

static void check(const char *what, int result)
{
	if (result == 0)
		return;
	printf("%s: %d\n", what, result);
	exit(1);
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1u << 20);

	if (file == NULL || text == NULL || fread(text, 1, (1u << 20) - 1, file) == 0)
		exit(1);
	(void)fclose(file);
	return text;
}

static void launch(CUfunction function, CUdeviceptr data)
{
	void *parameters[] = { &data };

	check("launch", real_cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL));
}

static void run(const char *ptx, deep *run_deep, const char *mode)
{
	const bool beside = strstr(mode, "beside") != NULL, shared = strstr(mode, "shared") != NULL;
	CUcontext context;
	CUmodule module;
	CUfunction function = NULL;
	CUdeviceptr data;
	int host[256];

	check("init", real_cuInit(0));
	check("retain", real_cuDevicePrimaryCtxRetain(&context, 0));
	check("set", real_cuCtxSetCurrent(context));
	check("memory", real_cuMemAlloc_v2(&data, sizeof(host)));
	check("clear", real_cuMemsetD8_v2(data, 0, sizeof(host)));
	if (beside || shared) {
		check("load", real_cuModuleLoadData(&module, ptx));
		check("function", real_cuModuleGetFunction(&function, module, "step"));
		launch(function, data);
	}
	check("library", run_deep(ptx, shared ? (void *)function : NULL, data, strstr(mode, "looked up") != NULL));
	if (beside || shared)
		launch(function, data);
	check("wait", real_cuCtxSynchronize());
	check("copy", real_cuMemcpyDtoH_v2(host, data, sizeof(host)));
	printf("first %d, last %d\n", host[0], host[255]);
}

int main(int argc, char **argv)
{
	void *library, *driver;

	if (argc != 4)
		return 2;
	library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	driver = dlopen("libcuda.so.1", RTLD_NOW);
#define X(name) real_##name = (__typeof__(&name))symbol(driver, #name);
	FUNCTIONS(X)
#undef X
	run(read_text(argv[1]), (deep *)symbol(library, "warpspan_test_deep"), argv[3]);
	return 42;
}

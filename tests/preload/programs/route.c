/* SPDX-License-Identifier: Apache-2.0
 *
 * route.c PTX ROUTE - a program not linked with libcuda that reaches it by exactly one route:
 *   names      dlsym() of every name, as runtimes up to 11.2 and JAX do
 *   resolver   dlsym() of cuGetProcAddress_v2, and everything else through it, as runtimes since 12 do
 *   resolver4  dlsym() of cuGetProcAddress with four arguments, as runtimes of 11.3 to 11.8 do
 *   deep       as names, from a libcuda of its own kind of loading: RTLD_DEEPBIND
 * Then 4 launches of "step", of 4 blocks of 2 warps each. Prints how often each element was incremented.
 */
#include <cuda.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name asked of cuGetProcAddress, name exported, version */
#define FUNCTIONS(X)                                                \
	X(cuInit, cuInit, 2000)                                     \
	X(cuDeviceGet, cuDeviceGet, 2000)                           \
	X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000) \
	X(cuCtxSetCurrent, cuCtxSetCurrent, 4000)                   \
	X(cuCtxSynchronize, cuCtxSynchronize, 2000)                 \
	X(cuModuleLoadData, cuModuleLoadData, 2000)                 \
	X(cuModuleGetFunction, cuModuleGetFunction, 2000)           \
	X(cuMemAlloc, cuMemAlloc_v2, 3020)                          \
	X(cuMemsetD8, cuMemsetD8_v2, 3020)                          \
	X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020)                      \
	X(cuLaunchKernel, cuLaunchKernel, 4000)

#define X(asked, exported, version) static __typeof__(&exported) real_##asked;
FUNCTIONS(X)
#undef X

static int failed(const char *what, int result)
{
	printf("%s: %d\n", what, result);
	return 1;
}

typedef CUresult resolve_4(const char *, void **, int, cuuint64_t);
typedef CUresult resolve_5(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static int find_all(void *library, const char *route)
{
	resolve_4 *four = NULL;
	resolve_5 *five = NULL;

	if (strcmp(route, "resolver") == 0)
		five = (resolve_5 *)dlsym(library, "cuGetProcAddress_v2");
	if (strcmp(route, "resolver4") == 0)
		four = (resolve_4 *)dlsym(library, "cuGetProcAddress");
#define X(asked, exported, version)                                              \
	if (five != NULL)                                                        \
		(void)five(#asked, (void **)&real_##asked, version, 0, NULL);    \
	else if (four != NULL)                                                   \
		(void)four(#asked, (void **)&real_##asked, version, 0);          \
	else                                                                     \
		real_##asked = (__typeof__(&exported))dlsym(library, #exported); \
	if (real_##asked == NULL)                                                \
		return failed(#asked, -1);
	FUNCTIONS(X)
#undef X
	return 0;
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1u << 20);

	if (file == NULL || text == NULL || fread(text, 1, (1u << 20) - 1, file) == 0)
		return NULL;
	(void)fclose(file);
	return text;
}

static int run(const char *ptx)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr data;
	void *parameters[] = { &data };
	int host[256];
	int result;

	if ((result = real_cuInit(0)) != 0 || (result = real_cuDeviceGet(&device, 0)) != 0 ||
	    (result = real_cuDevicePrimaryCtxRetain(&context, device)) != 0 ||
	    (result = real_cuCtxSetCurrent(context)) != 0 || (result = real_cuModuleLoadData(&module, ptx)) != 0 ||
	    (result = real_cuModuleGetFunction(&function, module, "step")) != 0 ||
	    (result = real_cuMemAlloc(&data, sizeof(host))) != 0 ||
	    (result = real_cuMemsetD8(data, 0, sizeof(host))) != 0)
		return failed("beginning", result);
	for (int i = 0; i < 4; i++)
		if ((result = real_cuLaunchKernel(function, 4, 1, 1, 64, 1, 1, 0, NULL, parameters, NULL)) != 0)
			return failed("launch", result);
	if ((result = real_cuCtxSynchronize()) != 0 || (result = real_cuMemcpyDtoH(host, data, sizeof(host))) != 0)
		return failed("end", result);
	printf("first %d, last %d\n", host[0], host[255]);
	return 42;
}

int main(int argc, char **argv)
{
	const int deep = argc == 3 && strcmp(argv[2], "deep") == 0 ? RTLD_DEEPBIND : 0;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | deep);
	const char *ptx = argc == 3 ? read_text(argv[1]) : NULL;

	if (library == NULL || ptx == NULL)
		return 2;
	return find_all(library, argv[2]) != 0 ? 1 : run(ptx);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * old_driver.c - looks for the driver's functions as clients of old and new drivers do:  old_driver VERSION old|new
 *
 * "old": the library itself has no symbol newer than 11.8. Runs a kernel by what it found.
 */
#include "check.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

static const char ptx[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
			  ".visible .entry store(.param .u64 to)\n{\n"
			  "	.reg .b64 %rd<2>;\n	ld.param.u64 %rd1, [to];\n"
			  "	st.global.u32 [%rd1], 5;\n	ret;\n}\n";

static void *library;

static void *find(const char *name)
{
	return dlsym(library, name);
}

#define CALL(name, types, ...) ((CUresult(*) types)find(name))(__VA_ARGS__)

static void run_kernel(void)
{
	CUcontext context;
	CUmodule module;
	CUfunction function;
	CUdeviceptr memory;
	void *params[] = { &memory };
	int value = 0;

	OK(CALL("cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &context, 0));
	OK(CALL("cuCtxSetCurrent", (CUcontext), context));
	OK(CALL("cuModuleLoadData", (CUmodule *, const void *), &module, ptx));
	OK(CALL("cuModuleGetFunction", (CUfunction *, CUmodule, const char *), &function, module, "store"));
	OK(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &memory, 4));
	OK(CALL("cuLaunchKernel",
		(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
		 void **),
		function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	OK(CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, memory, sizeof(value)));
	CHECK_EQUAL(value, 5);
}

int main(int argc, char **argv)
{
	CUresult (*get)(const char *, void **, int, cuuint64_t);
	int expected, version;
	bool is_old;
	void *found;

	CHECK_EQUAL(argc, 3);
	expected = atoi(argv[1]);
	is_old = strcmp(argv[2], "old") == 0;
	library = dlopen("libcuda.so.1", RTLD_NOW);
	CHECK(library != NULL);
	OK(CALL("cuInit", (unsigned int), 0));
	OK(CALL("cuDriverGetVersion", (int *), &version));
	CHECK_EQUAL(version, expected);
	CHECK((find("cuGetProcAddress_v2") == NULL) == is_old);
	CHECK((find("cuLibraryLoadData") == NULL) == is_old);
	CHECK(find("cuGetProcAddress") != NULL && find("cuLaunchKernel_ptsz") != NULL);
	get = (CUresult(*)(const char *, void **, int, cuuint64_t))find("cuGetProcAddress");
	/* One from 12.0, one from 11.6, one from 11.2. */
	CHECK((get("cuLibraryLoadData", &found, version, 0) == CUDA_SUCCESS) == (version >= 12000));
	CHECK((get("cuLaunchKernelEx", &found, version, 0) == CUDA_SUCCESS) == (version >= 11060));
	OK(get("cuMemAllocAsync", &found, version, 0));
	CHECK_EQUAL(get("cuMemAllocAsync", &found, version + 10000, 0), CUDA_ERROR_INVALID_VALUE);
	if (version < 11060 && !is_old)
		CHECK_EQUAL(CALL("cuLaunchKernelEx", (void *), NULL), CUDA_ERROR_NOT_SUPPORTED);
	run_kernel();
	puts("old_driver ok");
	return 0;
}

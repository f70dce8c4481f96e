/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_launch.c - the runtime's launches, kernel attributes, occupancy and libraries.
 */
#include "rt.h"

#include <stdlib.h>
#include <string.h>

/* --- launches --------------------------------------------------------------------------------- */

/* The runtime has its own code for a shape no device takes. */
static bool shape_is_valid(dim3 grid, dim3 block)
{
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z)
		return false;
	if (grid.x > 2147483647 || grid.y > 65535 || grid.z > 65535)
		return false;
	return block.x <= 1024 && block.y <= 1024 && block.z <= 64 && block.x * block.y * block.z <= 1024;
}

static cudaError_t launch_prepare(const void *func, dim3 grid, dim3 block, size_t shared_bytes,
				  CUfunction *ret_function)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error != cudaSuccess)
		return error;
	if (!shape_is_valid(grid, block))
		return cudaErrorInvalidConfiguration;
	if (shared_bytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	*ret_function = (CUfunction)kernel; /* a launch takes either */
	return cudaSuccess;
}

cudaError_t impl_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args, size_t sharedMem,
				  cudaStream_t stream)
{
	CUfunction function;
	cudaError_t error = launch_prepare(func, gridDim, blockDim, sharedMem, &function);

	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER_STREAM(cuLaunchKernel)(function, gridDim.x, gridDim.y, gridDim.z, blockDim.x, blockDim.y,
						      blockDim.z, (unsigned int)sharedMem, stream, args, NULL));
}

cudaError_t impl_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
					     size_t sharedMem, cudaStream_t stream)
{
	CUfunction function;
	cudaError_t error = launch_prepare(func, gridDim, blockDim, sharedMem, &function);

	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER_STREAM(cuLaunchCooperativeKernel)(function, gridDim.x, gridDim.y, gridDim.z, blockDim.x,
								 blockDim.y, blockDim.z, (unsigned int)sharedMem,
								 stream, args));
}

/* The attributes are the driver's, bit for bit: cudaLaunchAttribute mirrors CUlaunchAttribute. */
_Static_assert(sizeof(cudaLaunchAttribute) == sizeof(CUlaunchAttribute), "one is handed on as the other");

static CUlaunchConfig driver_config(const cudaLaunchConfig_t *config)
{
	return (CUlaunchConfig){
		.gridDimX = config->gridDim.x,
		.gridDimY = config->gridDim.y,
		.gridDimZ = config->gridDim.z,
		.blockDimX = config->blockDim.x,
		.blockDimY = config->blockDim.y,
		.blockDimZ = config->blockDim.z,
		.sharedMemBytes = (unsigned int)config->dynamicSmemBytes,
		.hStream = config->stream,
		.attrs = (CUlaunchAttribute *)config->attrs,
		.numAttrs = config->numAttrs,
	};
}

cudaError_t impl_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **args)
{
	CUlaunchConfig driver;
	CUfunction function;
	cudaError_t error;

	if (!config)
		return cudaErrorInvalidValue;
	error = launch_prepare(func, config->gridDim, config->blockDim, config->dynamicSmemBytes, &function);
	if (error != cudaSuccess)
		return error;
	driver = driver_config(config);
	return rt_error(DRIVER_STREAM(cuLaunchKernelEx)(&driver, function, args, NULL));
}

/* --- attributes ------------------------------------------------------------------------------- */

static cudaError_t current_device(CUdevice *ret_device)
{
	return rt_error(DRIVER(cuCtxGetDevice)(ret_device));
}

cudaError_t impl_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
	struct {
		CUfunction_attribute name;
		int value;
	} asked[] = {
		{ CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 0 },
		{ CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, 0 },
		{ CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 0 },
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 0 },
		{ CU_FUNC_ATTRIBUTE_NUM_REGS, 0 },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, 0 },
		{ CU_FUNC_ATTRIBUTE_BINARY_VERSION, 0 },
		{ CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0 },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 0 },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 0 },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 0 },
		{ CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0 },
	};
	CUkernel kernel;
	CUdevice device;
	cudaError_t error;

	if (!attr)
		return cudaErrorInvalidValue;
	error = rt_kernel(func, &kernel);
	if (error == cudaSuccess)
		error = current_device(&device);
	for (size_t i = 0; error == cudaSuccess && i < sizeof(asked) / sizeof(asked[0]); i++)
		error = rt_error(DRIVER(cuKernelGetAttribute)(&asked[i].value, asked[i].name, kernel, device));
	if (error != cudaSuccess)
		return error;
	*attr = (struct cudaFuncAttributes){
		.sharedSizeBytes = (size_t)asked[0].value,
		.constSizeBytes = (size_t)asked[1].value,
		.localSizeBytes = (size_t)asked[2].value,
		.maxThreadsPerBlock = asked[3].value,
		.numRegs = asked[4].value,
		.ptxVersion = asked[5].value,
		.binaryVersion = asked[6].value,
		.maxDynamicSharedSizeBytes = asked[7].value,
		.requiredClusterWidth = asked[8].value,
		.requiredClusterHeight = asked[9].value,
		.requiredClusterDepth = asked[10].value,
		.nonPortableClusterSizeAllowed = asked[11].value,
		.preferredShmemCarveout = -1,
	};
	return cudaSuccess;
}

cudaError_t impl_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
	CUkernel kernel;
	CUdevice device;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error == cudaSuccess)
		error = current_device(&device);
	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER(cuKernelSetAttribute)((CUfunction_attribute)attr, value, kernel, device));
}

cudaError_t impl_cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value,
						 int device)
{
	return rt_error(DRIVER(cuKernelSetAttribute)((CUfunction_attribute)attr, value, (CUkernel)kernel, device));
}

cudaError_t impl_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
	CUkernel kernel;
	CUdevice device;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error == cudaSuccess)
		error = current_device(&device);
	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER(cuKernelSetCacheConfig)(kernel, (CUfunc_cache)cacheConfig, device));
}

cudaError_t impl_cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	return error == cudaSuccess ? impl_cudaDeviceSetSharedMemConfig(config) : error;
}

cudaError_t impl_cudaFuncGetName(const char **name, const void *func)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	return error == cudaSuccess ? rt_error(DRIVER(cuKernelGetName)(name, kernel)) : error;
}

cudaError_t impl_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	return error == cudaSuccess ? rt_error(DRIVER(cuKernelGetParamInfo)(kernel, paramIndex, paramOffset, paramSize))
				    : error;
}

cudaError_t impl_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(symbolPtr, &kernel);

	return error == cudaSuccess ? rt_error(DRIVER(cuKernelGetFunction)((CUfunction *)functionPtr, kernel)) : error;
}

cudaError_t impl_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
	CUkernel kernel;
	cudaError_t error;

	if (!kernelPtr)
		return cudaErrorInvalidValue;
	error = rt_kernel(entryFuncAddr, &kernel);
	if (error == cudaSuccess)
		*kernelPtr = (cudaKernel_t)kernel;
	return error;
}

/* --- occupancy -------------------------------------------------------------------------------- */

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize,
									size_t dynamicSMemSize, unsigned int flags)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)(
		numBlocks, (CUfunction)kernel, blockSize, dynamicSMemSize, flags));
}

cudaError_t impl_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
							       size_t dynamicSMemSize)
{
	return impl_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize,
									   0);
}

cudaError_t impl_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks,
							   int blockSize)
{
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error != cudaSuccess)
		return error;
	return rt_error(DRIVER(cuOccupancyAvailableDynamicSMemPerBlock)(dynamicSmemSize, (CUfunction)kernel, numBlocks,
									blockSize));
}

cudaError_t impl_cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
						      const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig config;
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error != cudaSuccess)
		return error;
	if (!launchConfig)
		return cudaErrorInvalidValue;
	config = driver_config(launchConfig);
	return rt_error(DRIVER(cuOccupancyMaxPotentialClusterSize)(clusterSize, (CUfunction)kernel, &config));
}

cudaError_t impl_cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
						const cudaLaunchConfig_t *launchConfig)
{
	CUlaunchConfig config;
	CUkernel kernel;
	cudaError_t error = rt_kernel(func, &kernel);

	if (error != cudaSuccess)
		return error;
	if (!launchConfig)
		return cudaErrorInvalidValue;
	config = driver_config(launchConfig);
	return rt_error(DRIVER(cuOccupancyMaxActiveClusters)(numClusters, (CUfunction)kernel, &config));
}

/* --- libraries -------------------------------------------------------------------------------- */

cudaError_t impl_cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *jitOptions,
				     void **jitOptionsValues, unsigned int numJitOptions,
				     enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
				     unsigned int numLibraryOptions)
{
	return rt_error(DRIVER(cuLibraryLoadData)((CUlibrary *)library, code, (CUjit_option *)jitOptions,
						  jitOptionsValues, numJitOptions, (CUlibraryOption *)libraryOptions,
						  libraryOptionValues, numLibraryOptions));
}

cudaError_t impl_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName, enum cudaJitOption *jitOptions,
					 void **jitOptionsValues, unsigned int numJitOptions,
					 enum cudaLibraryOption *libraryOptions, void **libraryOptionValues,
					 unsigned int numLibraryOptions)
{
	return rt_error(DRIVER(cuLibraryLoadFromFile)(
		(CUlibrary *)library, fileName, (CUjit_option *)jitOptions, jitOptionsValues, numJitOptions,
		(CUlibraryOption *)libraryOptions, libraryOptionValues, numLibraryOptions));
}

cudaError_t impl_cudaLibraryUnload(cudaLibrary_t library)
{
	return rt_error(DRIVER(cuLibraryUnload)((CUlibrary)library));
}

cudaError_t impl_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library, const char *name)
{
	return rt_error(DRIVER(cuLibraryGetKernel)((CUkernel *)pKernel, (CUlibrary)library, name));
}

cudaError_t impl_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
	return rt_error(DRIVER(cuLibraryGetKernelCount)(count, (CUlibrary)lib));
}

cudaError_t impl_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels, cudaLibrary_t lib)
{
	return rt_error(DRIVER(cuLibraryEnumerateKernels)((CUkernel *)kernels, numKernels, (CUlibrary)lib));
}

cudaError_t impl_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUdeviceptr address = 0;
	cudaError_t error = rt_error(DRIVER(cuLibraryGetGlobal)(&address, bytes, (CUlibrary)library, name));

	if (error == cudaSuccess && dptr)
		*dptr = (void *)(uintptr_t)address;
	return error;
}

cudaError_t impl_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name)
{
	CUdeviceptr address = 0;
	cudaError_t error = rt_error(DRIVER(cuLibraryGetManaged)(&address, bytes, (CUlibrary)library, name));

	if (error == cudaSuccess && dptr)
		*dptr = (void *)(uintptr_t)address;
	return error;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_device.c - devices, versions, limits, and the driver's entry points.
 */
#include "rt.h"

#include <string.h>

/* --- versions --------------------------------------------------------------------------------- */

cudaError_t impl_cudaRuntimeGetVersion(int *runtimeVersion)
{
	if (!runtimeVersion)
		return cudaErrorInvalidValue;
	*runtimeVersion = RUNTIME_VERSION;
	return cudaSuccess;
}

/* 0, and no error, where there is no driver. */
cudaError_t impl_cudaDriverGetVersion(int *driverVersion)
{
	cudaError_t error = rt_driver_ready();

	if (!driverVersion)
		return cudaErrorInvalidValue;
	if (error == cudaErrorInsufficientDriver) {
		*driverVersion = 0;
		return cudaSuccess;
	}
	return rt_error(DRIVER(cuDriverGetVersion)(driverVersion));
}

/* --- devices ---------------------------------------------------------------------------------- */

cudaError_t impl_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
	return rt_error(DRIVER(cuDeviceGetAttribute)(value, (CUdevice_attribute)attr, device));
}

/* Fields that are one attribute each. */
#define PROPERTIES(X)                                                                 \
	X(regsPerBlock, MAX_REGISTERS_PER_BLOCK)                                      \
	X(warpSize, WARP_SIZE)                                                        \
	X(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK)                                  \
	X(maxThreadsDim[0], MAX_BLOCK_DIM_X)                                          \
	X(maxThreadsDim[1], MAX_BLOCK_DIM_Y)                                          \
	X(maxThreadsDim[2], MAX_BLOCK_DIM_Z)                                          \
	X(maxGridSize[0], MAX_GRID_DIM_X)                                             \
	X(maxGridSize[1], MAX_GRID_DIM_Y)                                             \
	X(maxGridSize[2], MAX_GRID_DIM_Z)                                             \
	X(major, COMPUTE_CAPABILITY_MAJOR)                                            \
	X(minor, COMPUTE_CAPABILITY_MINOR)                                            \
	X(multiProcessorCount, MULTIPROCESSOR_COUNT)                                  \
	X(integrated, INTEGRATED)                                                     \
	X(canMapHostMemory, CAN_MAP_HOST_MEMORY)                                      \
	X(concurrentKernels, CONCURRENT_KERNELS)                                      \
	X(ECCEnabled, ECC_ENABLED)                                                    \
	X(pciBusID, PCI_BUS_ID)                                                       \
	X(pciDeviceID, PCI_DEVICE_ID)                                                 \
	X(pciDomainID, PCI_DOMAIN_ID)                                                 \
	X(asyncEngineCount, ASYNC_ENGINE_COUNT)                                       \
	X(unifiedAddressing, UNIFIED_ADDRESSING)                                      \
	X(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH)                                    \
	X(l2CacheSize, L2_CACHE_SIZE)                                                 \
	X(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR)                \
	X(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED)                     \
	X(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED)                          \
	X(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED)                            \
	X(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR)                    \
	X(managedMemory, MANAGED_MEMORY)                                              \
	X(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED)                    \
	X(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS)                               \
	X(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS)                         \
	X(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED)                   \
	X(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM) \
	X(cooperativeLaunch, COOPERATIVE_LAUNCH)                                      \
	X(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR)                  \
	X(hostRegisterSupported, HOST_REGISTER_SUPPORTED)                             \
	X(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED)                               \
	X(clusterLaunch, CLUSTER_LAUNCH)

/* The same for fields that count bytes. */
#define PROPERTIES_BYTES(X)                                                 \
	X(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK)                   \
	X(memPitch, MAX_PITCH)                                              \
	X(totalConstMem, TOTAL_CONSTANT_MEMORY)                             \
	X(textureAlignment, TEXTURE_ALIGNMENT)                              \
	X(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT)                   \
	X(surfaceAlignment, SURFACE_ALIGNMENT)                              \
	X(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) \
	X(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)        \
	X(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK)

cudaError_t impl_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	CUresult result;
	CUuuid uuid;
	int value;

	if (!prop)
		return cudaErrorInvalidValue;
	memset(prop, 0, sizeof(*prop));
	result = DRIVER(cuDeviceGetName)(prop->name, sizeof(prop->name), device);
	if (result == CUDA_SUCCESS)
		result = DRIVER(cuDeviceGetUuid)(&uuid, device);
	if (result == CUDA_SUCCESS) {
		memcpy(&prop->uuid, &uuid, sizeof(prop->uuid));
		result = DRIVER(cuDeviceTotalMem)(&prop->totalGlobalMem, device);
	}
#define X(field, attribute)                                                                             \
	if (result == CUDA_SUCCESS) {                                                                   \
		result = DRIVER(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_##attribute, device); \
		prop->field = (__typeof__(prop->field))value;                                           \
	}
	PROPERTIES(X)
	PROPERTIES_BYTES(X)
#undef X
	return rt_error(result);
}

/* There is one kind of device: the first is as good as any. */
cudaError_t impl_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	if (!device || !prop)
		return cudaErrorInvalidValue;
	*device = 0;
	return cudaSuccess;
}

static cudaError_t device_check(int device)
{
	int n;
	cudaError_t error = impl_cudaGetDeviceCount(&n);

	if (error != cudaSuccess)
		return error;
	return device >= 0 && device < n && device < MAX_DEVICES ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t impl_cudaSetDevice(int device)
{
	cudaError_t error = device_check(device);

	if (error != cudaSuccess)
		return error;
	rt_thread()->device = device;
	/* Whatever was current, the device's primary context is now. */
	error = rt_error(DRIVER(cuCtxSetCurrent)(NULL));
	return error == cudaSuccess ? rt_context_ready() : error;
}

cudaError_t impl_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
	cudaError_t error = device_check(device);

	if (error == cudaSuccess && flags & cudaInitDeviceFlagsAreValid)
		error = rt_error(DRIVER(cuDevicePrimaryCtxSetFlags)(device, deviceFlags));
	return error;
}

cudaError_t impl_cudaSetValidDevices(int *device_arr, int len)
{
	for (int i = 0; i < len; i++) {
		cudaError_t error = device_arr ? device_check(device_arr[i]) : cudaErrorInvalidValue;

		if (error != cudaSuccess)
			return error;
	}
	if (len > 0)
		rt_thread()->device = device_arr[0];
	return len < 0 ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t impl_cudaGetDevice(int *device)
{
	CUdevice current;

	if (!device)
		return cudaErrorInvalidValue;
	*device = DRIVER(cuCtxGetDevice)(&current) == CUDA_SUCCESS ? current : rt_thread()->device;
	return cudaSuccess;
}

cudaError_t impl_cudaSetDeviceFlags(unsigned int flags)
{
	int device;
	cudaError_t error = impl_cudaGetDevice(&device);

	return error == cudaSuccess ? rt_error(DRIVER(cuDevicePrimaryCtxSetFlags)(device, flags)) : error;
}

/* The device can always map host memory, and says so. */
cudaError_t impl_cudaGetDeviceFlags(unsigned int *flags)
{
	int device, is_active;
	cudaError_t error = impl_cudaGetDevice(&device);

	if (!flags)
		return cudaErrorInvalidValue;
	if (error == cudaSuccess)
		error = rt_error(DRIVER(cuDevicePrimaryCtxGetState)(device, flags, &is_active));
	if (error == cudaSuccess)
		*flags |= cudaDeviceMapHost;
	return error;
}

cudaError_t impl_cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
	return rt_error(DRIVER(cuDeviceGetP2PAttribute)(value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice));
}

/* The peer's primary context is kept from then on: access ends with it, not before. */
static cudaError_t peer_context(int device, CUcontext *ret_context)
{
	cudaError_t error = device_check(device);

	return error == cudaSuccess ? rt_error(DRIVER(cuDevicePrimaryCtxRetain)(ret_context, device)) : error;
}

cudaError_t impl_cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
	CUcontext context;
	cudaError_t error = peer_context(peerDevice, &context);

	return error == cudaSuccess ? rt_error(DRIVER(cuCtxEnablePeerAccess)(context, flags)) : error;
}

cudaError_t impl_cudaDeviceDisablePeerAccess(int peerDevice)
{
	CUcontext context;
	cudaError_t error = peer_context(peerDevice, &context);

	return error == cudaSuccess ? rt_error(DRIVER(cuCtxDisablePeerAccess)(context)) : error;
}

/* A reset also forgets this thread's last error: the sticky one belonged to the context that is gone. */
cudaError_t impl_cudaDeviceReset(void)
{
	int device;
	cudaError_t error = impl_cudaGetDevice(&device);

	if (error == cudaSuccess)
		error = rt_error(DRIVER(cuDevicePrimaryCtxReset)(device));
	if (error == cudaSuccess)
		rt_thread()->last_error = cudaSuccess;
	return error;
}

cudaError_t impl_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
	return rt_error(DRIVER(cuCtxGetLimit)(pValue, (CUlimit)limit));
}

cudaError_t impl_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
	return rt_error(DRIVER(cuCtxSetLimit)((CUlimit)limit, value));
}

cudaError_t impl_cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
	return rt_error(DRIVER(cuCtxGetCacheConfig)((CUfunc_cache *)pCacheConfig));
}

cudaError_t impl_cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
	return rt_error(DRIVER(cuCtxSetCacheConfig)((CUfunc_cache)cacheConfig));
}

/* Banks have had one width for long; what is set is taken and changes nothing, as on a device. */
cudaError_t impl_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
	if (!pConfig)
		return cudaErrorInvalidValue;
	*pConfig = cudaSharedMemBankSizeFourByte;
	return cudaSuccess;
}

cudaError_t impl_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
	return (unsigned int)config <= cudaSharedMemBankSizeEightByte ? cudaSuccess : cudaErrorInvalidValue;
}

/* No cache, nothing that persists in it. */
cudaError_t impl_cudaCtxResetPersistingL2Cache(void)
{
	return cudaSuccess;
}

/* --- entry points of the driver --------------------------------------------------------------- */

cudaError_t impl_cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
						  unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *driverStatus)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	cudaError_t error;

	if (!symbol || !*symbol || !funcPtr)
		return cudaErrorInvalidValue;
	if (flags == cudaEnableDefault && rt_thread()->default_stream_is_per_thread)
		flags = cudaEnablePerThreadDefaultStream;
	error = rt_error(DRIVER(cuGetProcAddress)(symbol, funcPtr, (int)cudaVersion, flags, &status));
	if (error == cudaSuccess && driverStatus)
		*driverStatus = (enum cudaDriverEntryPointQueryResult)status;
	return error;
}

cudaError_t impl_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *driverStatus)
{
	return impl_cudaGetDriverEntryPointByVersion(symbol, funcPtr, RUNTIME_VERSION, flags, driverStatus);
}

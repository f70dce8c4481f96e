/* SPDX-License-Identifier: Apache-2.0
 *
 * device.c - cuInit, process exit and fork, and what a device says about itself.
 *
 * The devices are made by the first successful cuInit() and live until the process ends. What struct sim_config and
 * its profile do not decide is as on an H100. Callable from any thread.
 */
#include "driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct driver driver = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct host_thread *host_thread(void)
{
	static _Thread_local struct host_thread thread;
	static _Atomic uint64_t last_id;

	if (thread.id == 0)
		thread.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	return &thread;
}

void driver_note(const char *format, ...)
{
	char line[512];
	size_t n = (size_t)snprintf(line, sizeof(line), "simgpu: ");
	va_list list;
	int more;

	if (driver.is_quiet)
		return;
	va_start(list, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, list);
	va_end(list);
	if (more < 0)
		return;
	n = MIN(n + (size_t)more, sizeof(line) - 2);
	line[n] = '\n';
	if (write(STDERR_FILENO, line, n + 1) < 0)
		return;
}

/* --- beginning and end ------------------------------------------------------------------------ */

/* Registered inside cuInit(), as the real library does: what a program registers later runs before this. */
static void driver_exit(void)
{
	if (atomic_load_explicit(&driver.is_forked, memory_order_acquire))
		return;
	atomic_store_explicit(&driver.is_dead, true, memory_order_release);
	for (int i = 0; i < driver.n_devices; i++)
		sim_device_stop(driver.devices[i].sim);
	streams_abandon();
}

static void child_after_fork(void)
{
	/* Only a flag: worker threads and locks do not exist in the child, so every later call is refused. */
	if (atomic_load_explicit(&driver.is_initialized, memory_order_acquire))
		atomic_store_explicit(&driver.is_forked, true, memory_order_release);
}

static int devices_wanted(void)
{
	const char *setting = getenv("SIMGPU_DEVICES");
	char *end;
	long n;

	if (!setting)
		return 1;
	n = strtol(setting, &end, 10);
	if (*setting == '\0' || *end != '\0' || n < 0 || n > MAX_DEVICES) {
		driver_note("SIMGPU_DEVICES: '%s' ignored, 0 to %d is possible", setting, MAX_DEVICES);
		return 1;
	}
	return (int)n;
}

static enum grid_ids grid_ids_wanted(void)
{
	static const char *const names[] = { "unique", "constant", "per-graph" };
	const char *setting = getenv("SIMGPU_GRIDID");

	for (size_t i = 0; setting && i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(setting, names[i]) == 0)
			return (enum grid_ids)i;
	}
	if (setting)
		driver_note("SIMGPU_GRIDID: '%s' ignored; 'unique', 'constant' and 'per-graph' are possible", setting);
	return GRID_IDS_UNIQUE;
}

static bool host_time_wanted(void)
{
	const char *setting = getenv("SIMGPU_TIME");

	if (setting && strcmp(setting, "host") != 0 && strcmp(setting, "virtual") != 0)
		driver_note("SIMGPU_TIME: '%s' ignored; 'virtual' and 'host' are possible", setting);
	return setting && strcmp(setting, "host") == 0;
}

static CUresult devices_create(void)
{
	struct sim_config config;
	int n = devices_wanted();

	sim_config_from_env(&config);
	for (int i = 0; i < n; i++) {
		struct device *device = &driver.devices[i];

		/* Each its own clocks; the first one's are those of a single device. */
		config.seed += i ? UINT64_C(0x9E3779B97F4A7C15) : 0;
		if (sim_device_create(&config, &device->sim) != SIM_OK) {
			driver_note("device %d could not be made: no room for its memory (SIMGPU_MEMORY) among the "
				    "process's addresses",
				    i);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		device->ordinal = i;
		device->config = config;
		device->pool = pool_create_default(device);
		if (!device->pool)
			return CUDA_ERROR_OUT_OF_MEMORY;
		device->current_pool = device->pool;
		driver.n_devices = i + 1;
	}
	return n == 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult impl_cuInit(unsigned int Flags)
{
	CUresult result = CUDA_SUCCESS;

	if (Flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load_explicit(&driver.is_forked, memory_order_acquire))
		return CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_lock(&driver.lock);
	if (!atomic_load_explicit(&driver.is_initialized, memory_order_relaxed)) {
		const char *quiet = getenv("SIMGPU_QUIET");

		driver.is_quiet = quiet && strcmp(quiet, "1") == 0;
		driver.grid_ids = grid_ids_wanted();
		driver.follows_host = host_time_wanted();
		driver.host_begin_ns = monotonic_ns();
		result = devices_create();
		if (result == CUDA_SUCCESS &&
		    (atexit(driver_exit) != 0 || pthread_atfork(NULL, NULL, child_after_fork) != 0))
			result = CUDA_ERROR_OUT_OF_MEMORY;
		/* Publishes the devices to gate_check(). */
		if (result == CUDA_SUCCESS)
			atomic_store_explicit(&driver.is_initialized, true, memory_order_release);
	}
	pthread_mutex_unlock(&driver.lock);
	return result;
}

/* --- identity --------------------------------------------------------------------------------- */

struct device *device_of(CUdevice handle)
{
	return handle >= 0 && handle < driver.n_devices ? &driver.devices[handle] : NULL;
}

CUresult impl_cuDeviceGet(CUdevice *device, int ordinal)
{
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(ordinal))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetCount(int *count)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	*count = driver.n_devices;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!name || len <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (device->config.profile) {
		snprintf(name, (size_t)len, "%s", device->config.profile->name);
		return CUDA_SUCCESS;
	}
	snprintf(name, (size_t)len, "simgpu sm_%u%u, %u SMs", device->config.cc_major, device->config.cc_minor,
		 device->config.n_sms);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	if (!uuid)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	memcpy(uuid->bytes, "simgpu-device-\0\0", sizeof(uuid->bytes));
	uuid->bytes[15] = (char)dev;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	return impl_cuDeviceGetUuid_v2(uuid, dev);
}

CUresult impl_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*bytes = device->config.memory_bytes;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!major || !minor)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*major = (int)device->config.cc_major;
	*minor = (int)device->config.cc_minor;
	return CUDA_SUCCESS;
}

enum { FIRST_PCI_BUS = 1 };

CUresult impl_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	if (!pciBusId || len < 13)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", FIRST_PCI_BUS + dev);
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	unsigned int domain = 0, bus, slot, function = 0;

	if (!dev || !pciBusId)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(pciBusId, "%x:%x:%x.%x", &domain, &bus, &slot, &function) != 4) {
		domain = 0;
		if (sscanf(pciBusId, "%x:%x.%x", &bus, &slot, &function) != 3)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (domain != 0 || slot != 0 || function != 0 || bus < FIRST_PCI_BUS ||
	    !device_of((CUdevice)bus - FIRST_PCI_BUS))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = (CUdevice)bus - FIRST_PCI_BUS;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	if (!canAccessPeer)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(dev) || !device_of(peerDev))
		return CUDA_ERROR_INVALID_DEVICE;
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice)
{
	if (!value)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device_of(srcDevice) || !device_of(dstDevice) || srcDevice == dstDevice)
		return CUDA_ERROR_INVALID_DEVICE;
	switch (attrib) {
	case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
	case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
		*value = attrib != CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED;
		return CUDA_SUCCESS;
	case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
	case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
		*value = 0;
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* --- attributes ------------------------------------------------------------------------------- */

struct attribute {
	CUdevice_attribute name;
	int value;
};

/* What the configuration does not decide. */
static const struct attribute attributes[] = {
	{ CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024 },
	{ CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535 },
	{ CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535 },
	{ CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536 },
	{ CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32 },
	{ CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647 },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536 },
	{ CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536 },
	{ CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512 },
	{ CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32 },
	{ CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512 },
	{ CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1 },
	{ CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1 },
	{ CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3 },
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1 },
	{ CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1 },
	{ CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1 },
	{ CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1 },
	{ CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1 },
	{ CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2 },
	{ CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024 },
	{ CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, FIRST_PCI_BUS },
	{ CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1 },
};

static bool attribute_from_config(const struct sim_config *config, CUdevice_attribute name, int *ret_value)
{
	switch (name) {
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*ret_value = (int)config->n_sms;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*ret_value = (int)config->cc_major;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*ret_value = (int)config->cc_minor;
		break;
	case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: /* kHz */
		*ret_value = (int)(config->clock_mhz * 1000);
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		*ret_value = (int)config->shared_bytes_per_block;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*ret_value = (int)config->shared_bytes_per_block_optin;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR:
		*ret_value = (int)config->shared_bytes_per_sm;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR:
		*ret_value = (int)(config->max_warps_per_sm * 32);
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR:
		*ret_value = (int)config->max_blocks_per_sm;
		break;
	case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE:
		*ret_value = config->profile ? (int)config->profile->memory_clock_khz : 2619000;
		break;
	case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH:
		*ret_value = config->profile ? (int)config->profile->memory_bus_bits : 5120;
		break;
	case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
		*ret_value = config->profile ? (int)config->profile->l2_bytes : 52428800;
		break;
	case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH:
		*ret_value = config->cc_major >= 9;
		break;
	default:
		return false;
	}
	return true;
}

CUresult impl_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!pi || attrib <= 0 || attrib >= CU_DEVICE_ATTRIBUTE_MAX)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute_from_config(&device->config, attrib, pi))
		return CUDA_SUCCESS;
	*pi = 0; /* every other attribute names a feature that is not there */
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].name == attrib)
			*pi = attributes[i].value;
	}
	if (attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*pi += dev;
	return CUDA_SUCCESS;
}

CUresult impl_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	const struct device *device = device_of(dev);

	if (!prop)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = 1024,
		.maxThreadsDim = { 1024, 1024, 64 },
		.maxGridSize = { 2147483647, 65535, 65535 },
		.sharedMemPerBlock = (int)device->config.shared_bytes_per_block,
		.totalConstantMemory = 65536,
		.SIMDWidth = 32,
		.memPitch = 2147483647,
		.regsPerBlock = 65536,
		.clockRate = (int)(device->config.clock_mhz * 1000),
		.textureAlign = 512,
	};
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * module.c - modules and functions (in a context), libraries and kernels (without one).
 *
 * A library keeps its PTX and is compiled into a context the first time that context needs it; a context's modules
 * end with it, its libraries do not. Unloading waits for the context's work, so a queued launch never refers to code
 * that is gone. driver.lock guards every list. Callable from any thread.
 */
#include "driver.h"
#include "image.h"

#include <stdlib.h>
#include <string.h>

/* --- modules ---------------------------------------------------------------------------------- */

static void module_free(struct module *module)
{
	if (!module)
		return;
	for (size_t i = 0; i < module->n_functions; i++)
		handle_remove(&module->functions[i]);
	handle_remove(module);
	sim_module_unload(module->sim);
	free(module->functions);
	free(module);
}

/* Takes over `sim`, also on failure. driver.lock is held. */
static CUresult module_new(struct context *context, struct library *library, struct sim_module *sim,
			   struct module **ret_module)
{
	struct module *module = calloc(1, sizeof(*module));
	CUresult result = CUDA_SUCCESS;

	if (!module) {
		sim_module_unload(sim);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	module->context = context;
	module->library = library;
	module->sim = sim;
	module->functions = calloc(sim_module_n_functions(sim) + 1, sizeof(*module->functions));
	if (!module->functions || handle_add(HANDLE_MODULE, module) != CUDA_SUCCESS)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; result == CUDA_SUCCESS && i < sim_module_n_functions(sim); i++) {
		struct function *function = &module->functions[i];

		function->module = module;
		function->kernel = library && i < library->n_kernels ? &library->kernels[i] : NULL;
		function->sim = sim_module_function_at(sim, i);
		sim_function_info(function->sim, &function->info);
		module->n_functions = i + 1;
		result = handle_add(HANDLE_FUNCTION, function);
	}
	if (result != CUDA_SUCCESS) {
		module_free(module);
		return result;
	}
	module->next = context->modules;
	context->modules = module;
	if (library) {
		module->next_in_library = library->modules;
		library->modules = module;
	}
	*ret_module = module;
	return CUDA_SUCCESS;
}

/* Takes the module out of its lists and frees it. driver.lock is held; no launch refers to it. */
static void module_drop(struct module *module)
{
	struct module **at;

	for (at = &module->context->modules; *at; at = &(*at)->next) {
		if (*at == module) {
			*at = module->next;
			break;
		}
	}
	for (at = module->library ? &module->library->modules : NULL; at && *at; at = &(*at)->next_in_library) {
		if (*at == module) {
			*at = module->next_in_library;
			break;
		}
	}
	module_free(module);
}

void modules_drop(struct context *context)
{
	while (context->modules)
		module_drop(context->modules);
}

static uint32_t capability(const struct device *device)
{
	return device->config.cc_major * 10 + device->config.cc_minor;
}

CUresult impl_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int numOptions, CUjit_option *options,
				 void **optionValues)
{
	struct context *context = context_gated();
	struct sim_module *sim;
	struct module *loaded;
	size_t bytes;
	char *ptx;
	CUresult result;

	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	result = image_ptx(image, capability(context->device), &ptx, &bytes);
	if (result != CUDA_SUCCESS)
		return result;
	result = image_compile(context->device->sim, ptx, bytes, numOptions, options, optionValues, &sim);
	free(ptx);
	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	result = module_new(context, NULL, sim, &loaded);
	pthread_mutex_unlock(&driver.lock);
	if (result == CUDA_SUCCESS)
		*module = (CUmodule)loaded;
	return result;
}

CUresult impl_cuModuleLoadData(CUmodule *module, const void *image)
{
	return impl_cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult impl_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
	return impl_cuModuleLoadDataEx(module, fatCubin, 0, NULL, NULL);
}

CUresult impl_cuModuleLoad(CUmodule *module, const char *fname)
{
	char *bytes;
	CUresult result = image_read_file(fname, &bytes);

	if (result != CUDA_SUCCESS)
		return result;
	result = impl_cuModuleLoadDataEx(module, bytes, 0, NULL, NULL);
	free(bytes);
	return result;
}

static CUresult module_check(CUmodule handle, struct module **ret_module)
{
	if (!handle_is(HANDLE_MODULE, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_module = (struct module *)handle;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleUnload(CUmodule hmod)
{
	struct module *module;
	CUresult result = module_check(hmod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (module->library) /* belongs to its library */
		return CUDA_ERROR_NOT_PERMITTED;
	result = context_wait(module->context);
	pthread_mutex_lock(&driver.lock);
	module_drop(module);
	pthread_mutex_unlock(&driver.lock);
	return result;
}

static struct function *module_function(struct module *module, const char *name)
{
	for (size_t i = 0; i < module->n_functions; i++) {
		if (strcmp(module->functions[i].info.name, name) == 0)
			return &module->functions[i];
	}
	return NULL;
}

CUresult impl_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
	struct module *module;
	struct function *function;
	CUresult result = module_check(hmod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!hfunc || !name)
		return CUDA_ERROR_INVALID_VALUE;
	function = module_function(module, name);
	if (!function)
		return CUDA_ERROR_NOT_FOUND;
	*hfunc = (CUfunction)function;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetFunctionCount(unsigned int *count, CUmodule mod)
{
	ANSWER(struct module, module_check, mod, count, (unsigned int)subject->n_functions);
}

CUresult impl_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions, CUmodule mod)
{
	struct module *module;
	CUresult result = module_check(mod, &module);

	if (result != CUDA_SUCCESS)
		return result;
	if (!functions || numFunctions == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numFunctions && i < module->n_functions; i++)
		functions[i] = (CUfunction)&module->functions[i];
	return CUDA_SUCCESS;
}

static CUresult global_find(struct module *module, const char *name, CUdeviceptr *ret_address, size_t *ret_bytes)
{
	uint64_t address, bytes;

	if (!name || (!ret_address && !ret_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (!sim_module_global(module->sim, name, &address, &bytes))
		return CUDA_ERROR_NOT_FOUND;
	if (ret_address)
		*ret_address = address;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}

CUresult impl_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod, const char *name)
{
	struct module *module;
	CUresult result = module_check(hmod, &module);

	return result == CUDA_SUCCESS ? global_find(module, name, dptr, bytes) : result;
}

CUresult impl_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = CU_MODULE_LAZY_LOADING;
	return CUDA_SUCCESS;
}

/* --- libraries -------------------------------------------------------------------------------- */

static CUresult library_check(CUlibrary handle, struct library **ret_library)
{
	if (!handle_is(HANDLE_LIBRARY, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_library = (struct library *)handle;
	return CUDA_SUCCESS;
}

/* The library's module in `context`, compiled on first need. driver.lock is held. */
static CUresult library_module(struct library *library, struct context *context, struct module **ret_module)
{
	struct sim_module *sim;
	CUresult result;

	for (struct module *module = library->modules; module; module = module->next_in_library) {
		if (module->context == context) {
			*ret_module = module;
			return CUDA_SUCCESS;
		}
	}
	if (library->probe && context->device == &driver.devices[0]) {
		sim = library->probe;
		library->probe = NULL;
		return module_new(context, library, sim, ret_module);
	}
	result = image_compile(context->device->sim, library->ptx, library->ptx_bytes, 0, NULL, NULL, &sim);
	return result == CUDA_SUCCESS ? module_new(context, library, sim, ret_module) : result;
}

/* Some compiled form to ask about names and parameters. driver.lock is held. */
static CUresult library_code(struct library *library, struct sim_module **ret_sim)
{
	CUresult result = CUDA_SUCCESS;

	if (library->modules) {
		*ret_sim = library->modules->sim;
		return CUDA_SUCCESS;
	}
	if (!library->probe)
		result = image_compile(driver.devices[0].sim, library->ptx, library->ptx_bytes, 0, NULL, NULL,
				       &library->probe);
	*ret_sim = library->probe;
	return result;
}

static void library_free(struct library *library)
{
	for (size_t i = 0; i < library->n_kernels; i++) {
		handle_remove(&library->kernels[i]);
		free(library->kernels[i].name);
	}
	handle_remove(library);
	sim_module_unload(library->probe);
	free(library->kernels);
	free(library->ptx);
	free(library);
}

static CUresult kernels_add(struct library *library, const struct sim_module *sim)
{
	size_t n = sim_module_n_functions(sim);

	library->kernels = calloc(n + 1, sizeof(*library->kernels));
	if (!library->kernels)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < n; i++) {
		struct kernel *kernel = &library->kernels[i];
		struct sim_function_info info;

		sim_function_info(sim_module_function_at((struct sim_module *)sim, i), &info);
		kernel->library = library;
		kernel->name = strdup(info.name);
		if (!kernel->name || handle_add(HANDLE_KERNEL, kernel) != CUDA_SUCCESS) {
			free(kernel->name);
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		library->n_kernels = i + 1;
	}
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions, void **jitOptionsValues,
				unsigned int numJitOptions, CUlibraryOption *libraryOptions, void **libraryOptionValues,
				unsigned int numLibraryOptions)
{
	struct library *loaded;
	CUresult result;

	if (!library || !code)
		return CUDA_ERROR_INVALID_VALUE;
	loaded = calloc(1, sizeof(*loaded));
	if (!loaded)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = image_ptx(code, capability(&driver.devices[0]), &loaded->ptx, &loaded->ptx_bytes);
	if (result == CUDA_SUCCESS)
		result = image_compile(driver.devices[0].sim, loaded->ptx, loaded->ptx_bytes, numJitOptions, jitOptions,
				       jitOptionsValues, &loaded->probe);
	if (result == CUDA_SUCCESS)
		result = kernels_add(loaded, loaded->probe);
	if (result == CUDA_SUCCESS)
		result = handle_add(HANDLE_LIBRARY, loaded);
	if (result != CUDA_SUCCESS) {
		library_free(loaded);
		return result;
	}
	*library = (CUlibrary)loaded;
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName, CUjit_option *jitOptions,
				    void **jitOptionsValues, unsigned int numJitOptions,
				    CUlibraryOption *libraryOptions, void **libraryOptionValues,
				    unsigned int numLibraryOptions)
{
	char *bytes;
	CUresult result = image_read_file(fileName, &bytes);

	if (result != CUDA_SUCCESS)
		return result;
	result = impl_cuLibraryLoadData(library, bytes, jitOptions, jitOptionsValues, numJitOptions, libraryOptions,
					libraryOptionValues, numLibraryOptions);
	free(bytes);
	return result;
}

CUresult impl_cuLibraryUnload(CUlibrary library)
{
	struct library *unloaded;
	CUresult result = library_check(library, &unloaded);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	while (unloaded->modules) {
		struct context *context = unloaded->modules->context;

		pthread_mutex_unlock(&driver.lock);
		context_wait(context);
		pthread_mutex_lock(&driver.lock);
		if (unloaded->modules && unloaded->modules->context == context)
			module_drop(unloaded->modules);
	}
	library_free(unloaded);
	pthread_mutex_unlock(&driver.lock);
	return CUDA_SUCCESS;
}

CUresult impl_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	struct library *loaded;
	CUresult result = library_check(library, &loaded);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pKernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < loaded->n_kernels; i++) {
		if (strcmp(loaded->kernels[i].name, name) == 0) {
			*pKernel = (CUkernel)&loaded->kernels[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult impl_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	ANSWER(struct library, library_check, lib, count, (unsigned int)subject->n_kernels);
}

CUresult impl_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	struct library *loaded;
	CUresult result = library_check(lib, &loaded);

	if (result != CUDA_SUCCESS)
		return result;
	if (!kernels || numKernels == 0)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < numKernels && i < loaded->n_kernels; i++)
		kernels[i] = (CUkernel)&loaded->kernels[i];
	return CUDA_SUCCESS;
}

static CUresult library_module_current(CUlibrary handle, struct module **ret_module)
{
	struct library *library;
	CUresult result = library_check(handle, &library);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	result = library_module(library, context_gated(), ret_module);
	pthread_mutex_unlock(&driver.lock);
	return result;
}

CUresult impl_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	struct module *module;
	CUresult result;

	if (!pMod)
		return CUDA_ERROR_INVALID_VALUE;
	result = library_module_current(library, &module);
	if (result == CUDA_SUCCESS)
		*pMod = (CUmodule)module;
	return result;
}

CUresult impl_cuLibraryGetGlobal(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	struct module *module;
	CUresult result = library_module_current(library, &module);

	return result == CUDA_SUCCESS ? global_find(module, name, dptr, bytes) : result;
}

/* The engine keeps managed variables where host and device reach them under one address. */
CUresult impl_cuLibraryGetManaged(CUdeviceptr *dptr, size_t *bytes, CUlibrary library, const char *name)
{
	return impl_cuLibraryGetGlobal(dptr, bytes, library, name);
}

/* --- kernels ---------------------------------------------------------------------------------- */

static CUresult kernel_check(CUkernel handle, struct kernel **ret_kernel)
{
	if (!handle_is(HANDLE_KERNEL, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_kernel = (struct kernel *)handle;
	return CUDA_SUCCESS;
}

static CUresult kernel_function(struct kernel *kernel, struct context *context, struct function **ret_function)
{
	struct module *module;
	CUresult result;

	pthread_mutex_lock(&driver.lock);
	result = library_module(kernel->library, context, &module);
	pthread_mutex_unlock(&driver.lock);
	if (result == CUDA_SUCCESS)
		*ret_function = &module->functions[kernel - kernel->library->kernels];
	return result;
}

CUresult function_resolve(CUfunction handle, struct context *context, struct function **ret_function)
{
	if (handle_is(HANDLE_KERNEL, handle))
		return kernel_function((struct kernel *)handle, context, ret_function);
	if (!handle_is(HANDLE_FUNCTION, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_function = (struct function *)handle;
	return (*ret_function)->module->context == context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult impl_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	struct kernel *known;
	struct function *function;
	CUresult result = kernel_check(kernel, &known);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pFunc)
		return CUDA_ERROR_INVALID_VALUE;
	result = kernel_function(known, context_gated(), &function);
	if (result == CUDA_SUCCESS)
		*pFunc = (CUfunction)function;
	return result;
}

CUresult impl_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	ANSWER(struct kernel, kernel_check, kernel, pLib, (CUlibrary)subject->library);
}

CUresult impl_cuKernelGetName(const char **name, CUkernel hfunc)
{
	ANSWER(struct kernel, kernel_check, hfunc, name, subject->name);
}

static CUresult param_info(const struct sim_function *function, size_t index, size_t *ret_offset, size_t *ret_bytes)
{
	uint32_t offset, bytes;

	if (!ret_offset || index > UINT32_MAX || !sim_function_param(function, (uint32_t)index, &offset, &bytes))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_offset = offset;
	if (ret_bytes)
		*ret_bytes = bytes;
	return CUDA_SUCCESS;
}

/* Any compiled form of a kernel: parameters and resources are the same in each. */
static CUresult kernel_code(CUkernel handle, struct sim_function **ret_function)
{
	struct kernel *kernel;
	struct sim_module *sim;
	CUresult result = kernel_check(handle, &kernel);

	if (result != CUDA_SUCCESS)
		return result;
	pthread_mutex_lock(&driver.lock);
	result = library_code(kernel->library, &sim);
	pthread_mutex_unlock(&driver.lock);
	if (result == CUDA_SUCCESS)
		*ret_function = sim_module_function_at(sim, (size_t)(kernel - kernel->library->kernels));
	return result;
}

CUresult impl_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	struct sim_function *function;
	CUresult result = kernel_code(kernel, &function);

	return result == CUDA_SUCCESS ? param_info(function, paramIndex, paramOffset, paramSize) : result;
}

/* --- attributes ------------------------------------------------------------------------------- */

static CUresult attribute_get(const struct sim_function_info *info, const struct device *device,
			      CUfunction_attribute attrib, int *ret_value)
{
	switch (attrib) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*ret_value = (int)info->max_threads_per_block;
		break;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*ret_value = (int)info->static_shared_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*ret_value = (int)info->const_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*ret_value = (int)info->local_bytes;
		break;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*ret_value = (int)info->n_registers;
		break;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
		*ret_value = (int)info->target_sm;
		break;
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*ret_value = (int)capability(device);
		break;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
		*ret_value = (int)info->required_cluster[attrib - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
		break;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
	case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		*ret_value = 0;
		break;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

static CUresult attribute_set(const struct sim_function_info *info, const struct device *device,
			      CUfunction_attribute attrib, int value, uint32_t *max_dynamic_shared_bytes,
			      bool *allows_nonportable_cluster)
{
	switch (attrib) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		if (value < 0 ||
		    (uint32_t)value + info->static_shared_bytes > device->config.shared_bytes_per_block_optin)
			return CUDA_ERROR_INVALID_VALUE;
		*max_dynamic_shared_bytes = (uint32_t)value;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		*allows_nonportable_cluster = value != 0;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return CUDA_SUCCESS; /* hints */
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

static uint32_t default_dynamic_shared(const struct device *device, const struct sim_function_info *info)
{
	uint32_t limit = device->config.shared_bytes_per_block;

	return limit > info->static_shared_bytes ? limit - info->static_shared_bytes : 0;
}

uint32_t function_max_dynamic_shared(const struct function *function)
{
	uint32_t limit = default_dynamic_shared(function->module->context->device, &function->info);

	limit = MAX(limit, function->max_dynamic_shared_bytes);
	return function->kernel ? MAX(limit, function->kernel->max_dynamic_shared_bytes) : limit;
}

bool function_allows_nonportable_cluster(const struct function *function)
{
	return function->allows_nonportable_cluster ||
	       (function->kernel && function->kernel->allows_nonportable_cluster);
}

CUresult impl_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel, CUdevice dev)
{
	const struct kernel *known = (const struct kernel *)kernel;
	const struct device *device = device_of(dev);
	struct sim_function_info info;
	struct sim_function *function;
	CUresult result = kernel_code(kernel, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_function_info(function, &info);
	if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		*pi = (int)MAX(default_dynamic_shared(device, &info), known->max_dynamic_shared_bytes);
		return CUDA_SUCCESS;
	}
	if (attrib == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
		*pi = known->allows_nonportable_cluster;
		return CUDA_SUCCESS;
	}
	return attribute_get(&info, device, attrib, pi);
}

CUresult impl_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel, CUdevice dev)
{
	struct kernel *known = (struct kernel *)kernel;
	const struct device *device = device_of(dev);
	struct sim_function_info info;
	struct sim_function *function;
	CUresult result = kernel_code(kernel, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!device)
		return CUDA_ERROR_INVALID_DEVICE;
	sim_function_info(function, &info);
	return attribute_set(&info, device, attrib, val, &known->max_dynamic_shared_bytes,
			     &known->allows_nonportable_cluster);
}

CUresult impl_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	struct kernel *known;
	CUresult result = kernel_check(kernel, &known);

	return result == CUDA_SUCCESS && !device_of(dev) ? CUDA_ERROR_INVALID_DEVICE : result;
}

/* --- functions -------------------------------------------------------------------------------- */

static CUresult function_current(CUfunction handle, struct function **ret_function)
{
	return function_resolve(handle, context_gated(), ret_function);
}

CUresult impl_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	struct function *function;

	if (!hmod)
		return CUDA_ERROR_INVALID_VALUE;
	if (!handle_is(HANDLE_FUNCTION, hfunc))
		return CUDA_ERROR_INVALID_HANDLE;
	function = (struct function *)hfunc;
	*hmod = (CUmodule)function->module;
	return CUDA_SUCCESS;
}

CUresult impl_cuFuncGetName(const char **name, CUfunction hfunc)
{
	ANSWER(struct function, function_current, hfunc, name, subject->info.name);
}

CUresult impl_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
	struct function *function;
	CUresult result = function_current(func, &function);

	return result == CUDA_SUCCESS ? param_info(function->sim, paramIndex, paramOffset, paramSize) : result;
}

CUresult impl_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	struct function *function;
	CUresult result = function_current(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	if (attrib == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
		*pi = (int)function_max_dynamic_shared(function);
		return CUDA_SUCCESS;
	}
	if (attrib == CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED) {
		*pi = function_allows_nonportable_cluster(function);
		return CUDA_SUCCESS;
	}
	return attribute_get(&function->info, function->module->context->device, attrib, pi);
}

CUresult impl_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	struct function *function;
	CUresult result = function_current(hfunc, &function);

	if (result != CUDA_SUCCESS)
		return result;
	return attribute_set(&function->info, function->module->context->device, attrib, value,
			     &function->max_dynamic_shared_bytes, &function->allows_nonportable_cluster);
}

CUresult impl_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	struct function *function;

	return function_current(hfunc, &function);
}

CUresult impl_cuFuncLoad(CUfunction function)
{
	struct function *loaded;

	return function_current(function, &loaded);
}

CUresult impl_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	struct function *function;
	CUresult result = function_current(hfunc, &function);

	return result == CUDA_SUCCESS ? impl_cuCtxSetSharedMemConfig(config) : result;
}

CUresult impl_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	ANSWER(struct function, function_current, function, state, CU_FUNCTION_LOADING_STATE_LOADED);
}

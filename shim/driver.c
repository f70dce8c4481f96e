/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.c - finds the driver functions the library itself calls. See driver.h.
 */
#include "driver.h"

#include "loader.h"
#include "pin.h"

struct warpspan_driver warpspan_driver;

enum need {
	OPTIONAL,
	REQUIRED,
};

bool warpspan_driver_load(struct warpspan_driver *ret_driver, const char **ret_missing)
{
	if (!warpspan_loader_has_driver()) {
		*ret_missing = "libcuda.so.1";
		return false;
	}
#define WARPSPAN_DRIVER(function, need, version)                                                 \
	ret_driver->function = (__typeof__(&function))warpspan_loader_find_in_driver(#function); \
	if (ret_driver->function == NULL && need == REQUIRED) {                                  \
		*ret_missing = #function;                                                        \
		return false;                                                                    \
	}
#include "driver.def"
	warpspan_pin((const void *)ret_driver->cuDriverGetVersion);
	return true;
}

const char *warpspan_driver_error(CUresult result)
{
	const char *name = NULL;

	if (warpspan_driver.cuGetErrorName(result, &name) != CUDA_SUCCESS || name == NULL)
		return "an unknown error";
	return name;
}

CUresult warpspan_driver_read(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	CUresult result = warpspan_driver.cuMemcpyDtoHAsync_v2(to, from, bytes, stream);

	return result != CUDA_SUCCESS ? result : warpspan_driver.cuStreamSynchronize(stream);
}

CUresult warpspan_driver_write(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	CUresult result = warpspan_driver.cuMemcpyHtoDAsync_v2(to, from, bytes, stream);

	return result != CUDA_SUCCESS ? result : warpspan_driver.cuStreamSynchronize(stream);
}

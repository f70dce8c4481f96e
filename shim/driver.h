/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.h - the driver functions the library itself calls, past every wrapper.
 */
#ifndef WARPSPAN_DRIVER_H
#define WARPSPAN_DRIVER_H

#include "cuda_names.h"

#include <stdbool.h>
#include <stddef.h>

struct warpspan_driver {
#define WARPSPAN_DRIVER(name, need, version) __typeof__(&name) name;
#include "driver.def"
};

/* Constant once the session is awake. */
extern struct warpspan_driver warpspan_driver;

/* Finds every function in the loaded libcuda, which stays loaded from then on. On failure *ret_missing names what is
 * missing; static text. */
bool warpspan_driver_load(struct warpspan_driver *ret_driver, const char **ret_missing);

/* "CUDA_ERROR_OUT_OF_MEMORY"; never NULL. Any thread, once loaded. */
const char *warpspan_driver_error(CUresult result);

/* Copies and waits, on `stream`, whose context is current. */
CUresult warpspan_driver_read(void *to, CUdeviceptr from, size_t bytes, CUstream stream);
CUresult warpspan_driver_write(CUdeviceptr to, const void *from, size_t bytes, CUstream stream);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * image.h - from what a program passes as code to PTX text.
 */
#ifndef SIMGPU_IMAGE_H
#define SIMGPU_IMAGE_H

#include "driver.h"

/* `image` is a fat binary (wrapper or container) or NUL-terminated PTX. On success the caller owns *ret_ptx. A cubin,
 * or a fat binary without PTX for `cc`, is CUDA_ERROR_NO_BINARY_FOR_GPU and one line on stderr says what to do. */
CUresult image_ptx(const void *image, uint32_t cc, char **ret_ptx, size_t *ret_bytes);

/* Compiles; on failure the reasons go to stderr and into the program's CU_JIT_ERROR_LOG_BUFFER, if it gave one. */
CUresult image_compile(struct sim_device *device, const char *ptx, size_t bytes, unsigned int n_options,
		       const CUjit_option *options, void **values, struct sim_module **ret_module);
/* Leaves the log of a failure ("" for none) where the program's options ask for it. */
void image_log(const char *log, unsigned int n_options, const CUjit_option *options, void **values);

/* The bytes of a file with a NUL behind them; the caller frees. CUDA_ERROR_FILE_NOT_FOUND when it cannot be read. */
CUresult image_read_file(const char *path, char **ret_bytes);

#endif

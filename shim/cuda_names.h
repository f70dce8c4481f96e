/* SPDX-License-Identifier: Apache-2.0
 *
 * cuda_names.h - cuda.h with every function under the name libcuda exports.
 *
 * By default cuda.h renames by macro (cuMemAlloc becomes cuMemAlloc_v2) and declares no _ptsz form; with this switch,
 * which the toolkit uses for the same purpose, each version has its own declaration and the compiler checks ours.
 */
#ifndef WARPSPAN_CUDA_NAMES_H
#define WARPSPAN_CUDA_NAMES_H

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

/* Not of every driver: cuda.h has it as a function of the program. */
CUresult CUDAAPI cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int version, cuuint64_t flags,
					  CUdriverProcAddressQueryResult *status);

/* cudaProfiler.h is a package of its own in some distributions of the toolkit. */
CUresult CUDAAPI cuProfilerStart(void);
CUresult CUDAAPI cuProfilerStop(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.h - the CUDA runtime's door: launches as the program makes them.
 */
#ifndef WARPSPAN_RUNTIME_H
#define WARPSPAN_RUNTIME_H

#include "cuda_names.h"

#include <cuda_runtime_api.h>
#include <stdint.h>

/* A runtime launch a thread is in (struct warpspan_thread). */
struct warpspan_runtime_call {
	uint64_t ticket; /* in the log when it was recorded here; 0: left to the driver's door */
};

/* nvcc 13 compiles <<<>>> into these two; their declarations are only in headers for device code. */
cudaError_t CUDARTAPI __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 threads, void **arguments,
					 size_t shared_bytes, cudaStream_t stream);
cudaError_t CUDARTAPI __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 threads, void **arguments,
					      size_t shared_bytes, cudaStream_t stream);

#endif

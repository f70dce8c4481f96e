/* SPDX-License-Identifier: Apache-2.0
 *
 * error.c - names and texts of the driver's error codes, and what the engine's outcomes are called up here.
 */
#include "driver.h"

/* One list: code, text. */
#define ERRORS(X)                                                                                                   \
	X(CUDA_SUCCESS, "no error")                                                                                 \
	X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                             \
	X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                                \
	X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                       \
	X(CUDA_ERROR_DEINITIALIZED, "driver shutting down")                                                         \
	X(CUDA_ERROR_STUB_LIBRARY, "CUDA driver is a stub library")                                                 \
	X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                               \
	X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                                      \
	X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                               \
	X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                                     \
	X(CUDA_ERROR_ALREADY_MAPPED, "resource already mapped")                                                     \
	X(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for execution on the device")                 \
	X(CUDA_ERROR_ECC_UNCORRECTABLE, "uncorrectable ECC error encountered")                                      \
	X(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit is not supported on this architecture")                              \
	X(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed")                                                   \
	X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an unsupported toolchain.")       \
	X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the provided execution affinity is not supported")                 \
	X(CUDA_ERROR_INVALID_SOURCE, "device kernel image is invalid")                                              \
	X(CUDA_ERROR_FILE_NOT_FOUND, "file not found")                                                              \
	X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "shared object symbol not found")                              \
	X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "shared object initialization failed")                              \
	X(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS")                      \
	X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                                     \
	X(CUDA_ERROR_ILLEGAL_STATE, "the operation cannot be performed in the present state")                       \
	X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                           \
	X(CUDA_ERROR_NOT_READY, "device not ready")                                                                 \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                                   \
	X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                            \
	X(CUDA_ERROR_LAUNCH_TIMEOUT, "the launch timed out and was terminated")                                     \
	X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "peer access is not supported between these two devices")             \
	X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "peer access is already enabled")                                 \
	X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "peer access has not been enabled")                                   \
	X(CUDA_ERROR_TOO_MANY_PEERS, "peer mapping resources exhausted")                                            \
	X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "cannot set while device is active in this process")                   \
	X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context is destroyed")                                                  \
	X(CUDA_ERROR_ASSERT, "device-side assert triggered")                                                        \
	X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "part or all of the requested memory range is already mapped") \
	X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "pointer does not correspond to a registered memory region")       \
	X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered")                                 \
	X(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address")                                                      \
	X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "operation not supported on global/shared address space")               \
	X(CUDA_ERROR_INVALID_PC, "invalid program counter")                                                         \
	X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                                   \
	X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "too many blocks in cooperative launch")                         \
	X(CUDA_ERROR_NOT_PERMITTED, "operation not permitted")                                                      \
	X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                                      \
	X(CUDA_ERROR_SYSTEM_NOT_READY, "system not yet initialized")                                                \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")                \
	X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")         \
	X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "operation would result in a merge of separate capture sequences")       \
	X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")              \
	X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                                 \
	X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")           \
	X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,                                                                   \
	  "attempt to terminate a thread-local capture sequence from another thread")                               \
	X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph update was not performed because it included changes "   \
						"which violated constraints specific to instantiated graph update") \
	X(CUDA_ERROR_LOSSY_QUERY, "operation would lose data")                                                      \
	X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,                                                                       \
	  "operation would make the legacy stream depend on a capturing blocking stream")                           \
	X(CUDA_ERROR_CAPTURED_EVENT, "operation not permitted on an event last recorded in a capturing stream")     \
	X(CUDA_ERROR_TIMEOUT, "wait operation timed out")                                                           \
	X(CUDA_ERROR_INVALID_CLUSTER_SIZE, "invalid cluster size")                                                  \
	X(CUDA_ERROR_UNKNOWN, "unknown error")

CUresult impl_cuGetErrorName(CUresult error, const char **pStr)
{
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = NULL;
	switch ((int)error) {
#define X(code, text)          \
	case code:             \
		*pStr = #code; \
		return CUDA_SUCCESS;
		ERRORS(X)
#undef X
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult impl_cuGetErrorString(CUresult error, const char **pStr)
{
	if (!pStr)
		return CUDA_ERROR_INVALID_VALUE;
	*pStr = NULL;
	switch ((int)error) {
#define X(code, text)         \
	case code:            \
		*pStr = text; \
		return CUDA_SUCCESS;
		ERRORS(X)
#undef X
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult result_of(enum sim_status status)
{
	switch (status) {
	case SIM_OK:
		return CUDA_SUCCESS;
	case SIM_NO_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case SIM_INVALID_VALUE:
		return CUDA_ERROR_INVALID_VALUE;
	case SIM_INVALID_PTX:
	case SIM_UNSUPPORTED_PTX:
		return CUDA_ERROR_INVALID_PTX;
	case SIM_ILLEGAL_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case SIM_MISALIGNED_ADDRESS:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case SIM_ILLEGAL_INSTRUCTION:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case SIM_TRAP:
		return CUDA_ERROR_LAUNCH_FAILED;
	case SIM_ASSERT:
		return CUDA_ERROR_ASSERT;
	case SIM_LAUNCH_OUT_OF_RESOURCES:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	case SIM_STOPPED:
		return CUDA_ERROR_DEINITIALIZED;
	}
	return CUDA_ERROR_UNKNOWN;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_error.c - names and texts of the runtime's errors.
 *
 * Those that this runtime or a program running on it can meet; any other code is "unrecognized error code", as an
 * unknown one is in the real runtime. Callable from any thread, at any time.
 */
#include "rt.h"

/* One list: code, text. */
#define ERRORS(X)                                                                                                  \
	X(cudaSuccess, "no error")                                                                                 \
	X(cudaErrorInvalidValue, "invalid argument")                                                               \
	X(cudaErrorMemoryAllocation, "out of memory")                                                              \
	X(cudaErrorInitializationError, "initialization error")                                                    \
	X(cudaErrorCudartUnloading, "driver shutting down")                                                        \
	X(cudaErrorInvalidConfiguration, "invalid configuration argument")                                         \
	X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                                    \
	X(cudaErrorInvalidSymbol, "invalid device symbol")                                                         \
	X(cudaErrorInvalidHostPointer, "invalid host pointer")                                                     \
	X(cudaErrorInvalidDevicePointer, "invalid device pointer")                                                 \
	X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                    \
	X(cudaErrorStubLibrary, "CUDA driver is a stub library")                                                   \
	X(cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version")             \
	X(cudaErrorCallRequiresNewerDriver, "API call is not supported in the installed CUDA driver")              \
	X(cudaErrorMissingConfiguration, "__global__ function call is not configured")                             \
	X(cudaErrorInvalidDeviceFunction, "invalid device function")                                               \
	X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                 \
	X(cudaErrorInvalidDevice, "invalid device ordinal")                                                        \
	X(cudaErrorInvalidKernelImage, "device kernel image is invalid")                                           \
	X(cudaErrorDeviceUninitialized, "invalid device context")                                                  \
	X(cudaErrorAlreadyMapped, "resource already mapped")                                                       \
	X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")             \
	X(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered")                                        \
	X(cudaErrorUnsupportedLimit, "limit is not supported on this architecture")                                \
	X(cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                                     \
	X(cudaErrorUnsupportedPtxVersion, "the provided PTX was compiled with an unsupported toolchain.")          \
	X(cudaErrorUnsupportedExecAffinity, "the provided execution affinity is not supported")                    \
	X(cudaErrorInvalidSource, "device kernel image is invalid")                                                \
	X(cudaErrorFileNotFound, "file not found")                                                                 \
	X(cudaErrorSharedObjectSymbolNotFound, "shared object symbol not found")                                   \
	X(cudaErrorSharedObjectInitFailed, "shared object initialization failed")                                  \
	X(cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS")                        \
	X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                               \
	X(cudaErrorIllegalState, "the operation cannot be performed in the present state")                         \
	X(cudaErrorSymbolNotFound, "named symbol not found")                                                       \
	X(cudaErrorNotReady, "device not ready")                                                                   \
	X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                     \
	X(cudaErrorLaunchOutOfResources, "too many resources requested for launch")                                \
	X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                                       \
	X(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices")                \
	X(cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled")                                     \
	X(cudaErrorPeerAccessNotEnabled, "peer access has not been enabled")                                       \
	X(cudaErrorTooManyPeers, "peer mapping resources exhausted")                                               \
	X(cudaErrorSetOnActiveProcess, "cannot set while device is active in this process")                        \
	X(cudaErrorContextIsDestroyed, "context is destroyed")                                                     \
	X(cudaErrorAssert, "device-side assert triggered")                                                         \
	X(cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped")     \
	X(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region")           \
	X(cudaErrorIllegalInstruction, "an illegal instruction was encountered")                                   \
	X(cudaErrorMisalignedAddress, "misaligned address")                                                        \
	X(cudaErrorInvalidAddressSpace, "operation not supported on global/shared address space")                  \
	X(cudaErrorInvalidPc, "invalid program counter")                                                           \
	X(cudaErrorLaunchFailure, "unspecified launch failure")                                                    \
	X(cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch")                             \
	X(cudaErrorNotPermitted, "operation not permitted")                                                        \
	X(cudaErrorNotSupported, "operation not supported")                                                        \
	X(cudaErrorSystemNotReady, "system not yet initialized")                                                   \
	X(cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing")                   \
	X(cudaErrorStreamCaptureInvalidated, "operation failed due to a previous error during capture")            \
	X(cudaErrorStreamCaptureMerge, "operation would result in a merge of separate capture sequences")          \
	X(cudaErrorStreamCaptureUnmatched, "capture was not ended in the same stream as it began")                 \
	X(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work")                                    \
	X(cudaErrorStreamCaptureIsolation, "dependency created on uncaptured work in another stream")              \
	X(cudaErrorStreamCaptureWrongThread,                                                                       \
	  "attempt to terminate a thread-local capture sequence from another thread")                              \
	X(cudaErrorGraphExecUpdateFailure, "the graph update was not performed because it included changes which " \
					   "violated constraints specific to instantiated graph update")           \
	X(cudaErrorLossyQuery, "operation would lose data")                                                        \
	X(cudaErrorStreamCaptureImplicit,                                                                          \
	  "operation would make the legacy stream depend on a capturing blocking stream")                          \
	X(cudaErrorCapturedEvent, "operation not permitted on an event last recorded in a capturing stream")       \
	X(cudaErrorTimeout, "wait operation timed out")                                                            \
	X(cudaErrorInvalidClusterSize, "a kernel launch error has occurred due to cluster misconfiguration")       \
	X(cudaErrorUnknown, "unknown error")

EXPORT const char *cudaGetErrorName(cudaError_t error)
{
	switch (error) {
#define X(code, text) \
	case code:    \
		return #code;
		ERRORS(X)
#undef X
	default:
		return "unrecognized error code";
	}
}

EXPORT const char *cudaGetErrorString(cudaError_t error)
{
	switch (error) {
#define X(code, text) \
	case code:    \
		return text;
		ERRORS(X)
#undef X
	default:
		return "unrecognized error code";
	}
}

EXPORT struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
	return (struct cudaChannelFormatDesc){ .x = x, .y = y, .z = z, .w = w, .f = f };
}

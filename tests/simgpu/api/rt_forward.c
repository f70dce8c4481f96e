/* SPDX-License-Identifier: Apache-2.0
 *
 * rt_forward.c - the calls of the runtime that are calls of the driver under another name, made from runtime.def.
 *
 * Where the call has a stream, the driver's twin for the calling thread's default stream is taken when the program came
 * through the runtime's. Callable from any thread.
 */
#include "rt.h"

#define FUNCTION_NONE(driver) DRIVER(driver)
#define FUNCTION_PTSZ(driver) DRIVER_STREAM(driver)
#define FUNCTION_PTDS(driver) DRIVER_STREAM(driver)

#define RUNTIME(symbol, gate, streams, params, args)
#define UNSUPPORTED(symbol, streams)
#define FORWARD(symbol, driver, gate, streams, params, args)      \
	cudaError_t impl_##symbol params                          \
	{                                                         \
		return rt_error(FUNCTION_##streams(driver) args); \
	}
#include "runtime.def"

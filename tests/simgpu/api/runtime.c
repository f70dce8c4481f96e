/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.c - the exported face of the simulated CUDA runtime, made from runtime.def, and the last error.
 *
 * A wrapper makes sure of what the call needs (driver, context), calls its impl_ function and remembers a failure as
 * the thread's last error. Nothing happens before the first call: programs register their code from constructors,
 * and that only takes notes. Callable from any thread.
 */
#include "rt.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

struct rt_thread *rt_thread(void)
{
	static _Thread_local struct rt_thread thread;

	return &thread;
}

void rt_note(const char *format, ...)
{
	char line[512];
	size_t n = (size_t)snprintf(line, sizeof(line), "simgpu runtime: ");
	va_list list;
	int more;

	va_start(list, format);
	more = vsnprintf(line + n, sizeof(line) - n - 1, format, list);
	va_end(list);
	if (more < 0)
		return;
	n = n + (size_t)more < sizeof(line) - 2 ? n + (size_t)more : sizeof(line) - 2;
	line[n] = '\n';
	if (write(STDERR_FILENO, line, n + 1) < 0)
		return;
}

/* --- gates ------------------------------------------------------------------------------------ */

enum gate { RAW, ANYTIME, INIT, CONTEXT };

static cudaError_t gate_pass(enum gate gate)
{
	cudaError_t error = gate >= INIT ? rt_driver_ready() : cudaSuccess;

	return error == cudaSuccess && gate == CONTEXT ? rt_context_ready() : error;
}

cudaError_t rt_enter(bool needs_context, bool default_stream_is_per_thread)
{
	rt_thread()->default_stream_is_per_thread = default_stream_is_per_thread;
	return gate_pass(needs_context ? CONTEXT : INIT);
}

cudaError_t rt_leave(cudaError_t error)
{
	if (error != cudaSuccess)
		rt_thread()->last_error = error;
	return error;
}

/* --- the last error --------------------------------------------------------------------------- */

cudaError_t impl_cudaGetLastError(void)
{
	cudaError_t error = rt_thread()->last_error;

	rt_thread()->last_error = cudaSuccess;
	return error;
}

cudaError_t impl_cudaPeekAtLastError(void)
{
	return rt_thread()->last_error;
}

/* --- the exported functions ------------------------------------------------------------------- */

enum entry {
#define RUNTIME(symbol, gate, streams, params, args)
#define UNSUPPORTED(symbol, streams) UNSUPPORTED_##symbol,
#include "runtime.def"
#undef RUNTIME
#undef UNSUPPORTED
	N_UNSUPPORTED
};

static cudaError_t call_unsupported(enum entry entry, const char *symbol)
{
	static _Atomic bool was_noted[N_UNSUPPORTED];

	if (!atomic_exchange(&was_noted[entry], true))
		rt_note("%s is not supported", symbol);
	return rt_leave(cudaErrorNotSupported);
}

#define WRAP(symbol, impl, gate, per_thread, params, args)              \
	EXPORT cudaError_t symbol params                                \
	{                                                               \
		cudaError_t error;                                      \
                                                                        \
		rt_thread()->default_stream_is_per_thread = per_thread; \
		error = gate_pass(gate);                                \
		if (error == cudaSuccess)                               \
			error = impl_##impl args;                       \
		return gate == RAW ? error : rt_leave(error);           \
	}
#define TWIN_NONE(symbol, gate, params, args)
#define TWIN_PTSZ(symbol, gate, params, args) WRAP(symbol##_ptsz, symbol, gate, true, params, args)
#define TWIN_PTDS(symbol, gate, params, args) WRAP(symbol##_ptds, symbol, gate, true, params, args)
#define RUNTIME(symbol, gate, streams, params, args)    \
	WRAP(symbol, symbol, gate, false, params, args) \
	TWIN_##streams(symbol, gate, params, args)

/* Takes whatever it is given: the declaration in the header is bypassed by the label. */
#define REFUSE(symbol, full, suffix)                                           \
	EXPORT cudaError_t unsupported_##full(void) __asm__(#symbol suffix);   \
	cudaError_t unsupported_##full(void)                                   \
	{                                                                      \
		return call_unsupported(UNSUPPORTED_##symbol, #symbol suffix); \
	}
#define REFUSE_NONE(symbol)
#define REFUSE_PTSZ(symbol) REFUSE(symbol, symbol##_ptsz, "_ptsz")
#define REFUSE_PTDS(symbol) REFUSE(symbol, symbol##_ptds, "_ptds")
#define UNSUPPORTED(symbol, streams) \
	REFUSE(symbol, symbol, "")   \
	REFUSE_##streams(symbol)
#include "runtime.def"
#undef RUNTIME
#undef UNSUPPORTED

/* SPDX-License-Identifier: Apache-2.0
 *
 * runtime.c - the exported face of the simulated CUDA runtime, made from runtime.def, and the last error.
 *
 * A wrapper makes sure of what the call needs (driver, context), calls its impl_ function and remembers a failure as
 * the thread's last error. Nothing happens before the first call: programs register their code from constructors,
 * and that only takes notes. Callable from any thread.
 */
#include "rt.h"
#include "unsupported.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* --- the list as data ------------------------------------------------------------------------- */

/* The list with `SHARED(symbol)` for each entry of 12 and 13, `IN12(symbol)` for a form that only 12 has. A function
 * and its per-thread twin are one entry. */
#define RUNTIME(symbol, gate, streams, params, args) SHARED(symbol)
#define UNSUPPORTED(symbol, streams)                 SHARED(symbol)
#define RENAMED(symbol, streams, label)
#define RUNTIME12(symbol, gate, streams, params, args) IN12(symbol)
#define UNSUPPORTED12(symbol, streams)                 SHARED(symbol)

enum entry {
#define SHARED(symbol) ENTRY_##symbol,
#define IN12(symbol)   ENTRY_in12_##symbol,
#include "runtime.def"
#include "runtime12.def"
#undef SHARED
#undef IN12
	N_ENTRIES
};

static const char *const entry_names[N_ENTRIES] = {
#define SHARED(symbol) #symbol,
#define IN12(symbol)   #symbol,
#include "runtime.def"
#include "runtime12.def"
#undef SHARED
#undef IN12
};
#undef RUNTIME
#undef UNSUPPORTED
#undef RENAMED
#undef RUNTIME12
#undef UNSUPPORTED12

/* --- faults on request ------------------------------------------------------------------------ */

enum { MAX_FAULTS = 32 };

struct fault {
	enum entry entry;
	unsigned long long nth; /* 1 = the first call */
	cudaError_t error;
	_Atomic unsigned long long n_calls;
};

static pthread_once_t faults_once = PTHREAD_ONCE_INIT;
static struct fault faults[MAX_FAULTS];
static size_t n_faults;

/* "cudaMalloc:2:2": the second call answers code 2. */
static bool fault_parse(const char *text, struct fault *ret_fault)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	int code, end = 0;

	ret_fault->entry = N_ENTRIES;
	/* The last one of a name: a form of 12 hides the one of 13. */
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (strlen(entry_names[i]) == n && strncmp(entry_names[i], text, n) == 0)
			ret_fault->entry = (enum entry)i;
	}
	if (ret_fault->entry == N_ENTRIES || sscanf(colon, ":%llu:%d%n", &ret_fault->nth, &code, &end) != 2)
		return false;
	ret_fault->error = (cudaError_t)code;
	return colon[end] == '\0' && ret_fault->nth > 0 && code > 0;
}

/* Those of the runtime's functions; the driver reads the others. */
static void faults_read(void)
{
	const char *setting = getenv("SIMGPU_FAULT");
	char *text = setting ? strdup(setting) : NULL, *rest = NULL;

	if (setting && !text)
		rt_note("SIMGPU_FAULT: out of memory, ignored");
	for (char *item = text ? strtok_r(text, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
		if (strncmp(item, "cuda", 4) != 0)
			continue;
		if (n_faults == MAX_FAULTS)
			rt_note("SIMGPU_FAULT: '%s' ignored, there are %d already", item, MAX_FAULTS);
		else if (fault_parse(item, &faults[n_faults]))
			n_faults++;
		else
			rt_note("SIMGPU_FAULT: '%s' ignored; each entry is FUNCTION:N:CODE, e.g. cudaMalloc:2:2", item);
	}
	free(text);
}

static cudaError_t call_fault(enum entry entry)
{
	pthread_once(&faults_once, faults_read);
	for (size_t i = 0; i < n_faults; i++) {
		if (faults[i].entry == entry &&
		    atomic_fetch_add_explicit(&faults[i].n_calls, 1, memory_order_relaxed) + 1 == faults[i].nth)
			return faults[i].error;
	}
	return cudaSuccess;
}

cudaError_t rt_launch_fault(void)
{
	return call_fault(ENTRY_cudaLaunchKernel);
}

/* --- the exported functions ------------------------------------------------------------------- */

static cudaError_t call_unsupported(enum entry entry, const char *symbol)
{
	static _Atomic bool was_noted[N_ENTRIES];
	cudaError_t error = call_fault(entry);

	if (error != cudaSuccess)
		return rt_leave(error);
	if (!atomic_exchange(&was_noted[entry], true))
		rt_note("%s is not supported: simgpu has %s", symbol, unsupported_area(symbol));
	return rt_leave(cudaErrorNotSupported);
}

#define WRAP(symbol, impl, gate, per_thread, params, args)              \
	EXPORT cudaError_t symbol params                                \
	{                                                               \
		cudaError_t error;                                      \
                                                                        \
		rt_thread()->default_stream_is_per_thread = per_thread; \
		error = call_fault(ENTRY_##impl);                       \
		if (error == cudaSuccess)                               \
			error = gate_pass(gate);                        \
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
#define REFUSE(symbol, full, suffix)                                         \
	EXPORT cudaError_t unsupported_##full(void) __asm__(#symbol suffix); \
	cudaError_t unsupported_##full(void)                                 \
	{                                                                    \
		return call_unsupported(ENTRY_##symbol, #symbol suffix);     \
	}
#define REFUSE_NONE(symbol)
#define REFUSE_PTSZ(symbol) REFUSE(symbol, symbol##_ptsz, "_ptsz")
#define REFUSE_PTDS(symbol) REFUSE(symbol, symbol##_ptds, "_ptds")
#define UNSUPPORTED(symbol, streams) \
	REFUSE(symbol, symbol, "")   \
	REFUSE_##streams(symbol)
#include "runtime.def"

/* A name that 13 has for something else, or not at all: the label gives it to a function of ours. */
#if SIMGPU_RUNTIME_MAJOR == 12
#define WRAP12(name, symbol, label, gate, per_thread, params, args) \
	cudaError_t impl_in12_##symbol params;                      \
	EXPORT cudaError_t in12_##name params __asm__(label);       \
	WRAP(in12_##name, in12_##symbol, gate, per_thread, params, args)
#define TWIN12_NONE(symbol, gate, params, args)
#define TWIN12_PTSZ(symbol, gate, params, args) WRAP12(symbol##_ptsz, symbol, #symbol "_ptsz", gate, true, params, args)
#define RENAMED(symbol, streams, label)
#define RUNTIME12(symbol, gate, streams, params, args)             \
	WRAP12(symbol, symbol, #symbol, gate, false, params, args) \
	TWIN12_##streams(symbol, gate, params, args)
#define UNSUPPORTED12(symbol, streams) UNSUPPORTED(symbol, streams)
#include "runtime12.def"
#endif

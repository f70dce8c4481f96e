/* SPDX-License-Identifier: Apache-2.0
 *
 * entry.c - the exported face of libcuda.so.1: symbols, cuGetProcAddress, call log, fault injection.
 *
 * Everything here is made from driver.def. A wrapper logs the call, lets SIMGPU_FAULT answer in its place, checks
 * what the call requires and then calls its impl_ function. Callable from any thread; nothing happens before the
 * first call, and the environment is read once, then.
 */
#include "capture.h"
#include "driver.h"
#include "unsupported.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum gate { ANYTIME, INIT, CONTEXT, UNSAFE };

enum entry {
#define DRIVER(symbol, since, gate, streams, params, args) ENTRY_##symbol,
#define UNSUPPORTED(symbol, since, streams)                ENTRY_##symbol,
#include "driver.def"
#undef DRIVER
#undef UNSUPPORTED
	N_ENTRIES
};

/* --- the list as data ------------------------------------------------------------------------- */

enum { SINCE_PER_THREAD = 7000 }; /* no per-thread twin is older */

struct entry_info {
	const char *symbol;
	int since;
	const char *twin; /* suffix of the per-thread symbol, or NULL */
	void *function, *twin_function;
};

/* cuda.h has it under its plain name only, where that means this one. */
CUresult cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *symbolStatus);

/* An unsupported entry point takes whatever it is given: the declaration in cuda.h is bypassed by the label. */
#define TWIN_DECLARE_NONE(symbol)
#define TWIN_DECLARE_PTSZ(symbol) EXPORT CUresult unsupported_##symbol##_ptsz(void) __asm__(#symbol "_ptsz");
#define TWIN_DECLARE_PTDS(symbol) EXPORT CUresult unsupported_##symbol##_ptds(void) __asm__(#symbol "_ptds");
#define DRIVER(symbol, since, gate, streams, params, args)
#define UNSUPPORTED(symbol, since, streams)                          \
	EXPORT CUresult unsupported_##symbol(void) __asm__(#symbol); \
	TWIN_DECLARE_##streams(symbol)
#include "driver.def"
#undef DRIVER
#undef UNSUPPORTED

#define TWIN_NAME_NONE NULL
#define TWIN_NAME_PTSZ "_ptsz"
#define TWIN_NAME_PTDS "_ptds"

#define TWIN_FUNCTION_NONE(symbol) NULL
#define TWIN_FUNCTION_PTSZ(symbol) symbol##_ptsz
#define TWIN_FUNCTION_PTDS(symbol) symbol##_ptds

#define DRIVER(symbol, since, gate, streams, params, args) \
	{ #symbol, since, TWIN_NAME_##streams, symbol, TWIN_FUNCTION_##streams(symbol) },
#define UNSUPPORTED(symbol, since, streams) \
	{ #symbol, since, TWIN_NAME_##streams, unsupported_##symbol, TWIN_FUNCTION_##streams(unsupported_##symbol) },
static const struct entry_info entries[N_ENTRIES] = {
#include "driver.def"
};
#undef DRIVER
#undef UNSUPPORTED

/* --- settings of this file -------------------------------------------------------------------- */

enum { MAX_FAULTS = 32, OLDEST_DRIVER_VERSION = 10000 };

struct fault {
	enum entry entry;
	unsigned long long nth; /* 1 = the first call */
	CUresult result;
	_Atomic unsigned long long n_calls;
};

static pthread_once_t settings_once = PTHREAD_ONCE_INIT;
static struct fault faults[MAX_FAULTS];
static size_t n_faults;
static bool is_missing[N_ENTRIES]; /* as if this driver had never heard of it */
static int calls_fd = -1;
static int driver_version = SIMGPU_DRIVER_VERSION;

static bool entry_find(const char *symbol, enum entry *ret_entry)
{
	for (size_t i = 0; i < N_ENTRIES; i++) {
		if (strcmp(entries[i].symbol, symbol) == 0) {
			*ret_entry = (enum entry)i;
			return true;
		}
	}
	return false;
}

/* "cuMemAlloc_v2:2:2": the second call answers code 2. */
static bool fault_parse(char *text, struct fault *ret_fault)
{
	char *colon = strchr(text, ':'), *end;
	unsigned long long nth;
	long code;

	if (!colon)
		return false;
	*colon = '\0';
	if (!entry_find(text, &ret_fault->entry))
		return false;
	nth = strtoull(colon + 1, &end, 10);
	if (*end != ':' || nth == 0)
		return false;
	code = strtol(end + 1, &end, 10);
	if (*end != '\0' || code <= 0)
		return false;
	ret_fault->nth = nth;
	ret_fault->result = (CUresult)code;
	return true;
}

static void faults_read(void)
{
	const char *setting = getenv("SIMGPU_FAULT");
	char *text = setting ? strdup(setting) : NULL, *rest = NULL;

	if (setting && !text)
		driver_note("SIMGPU_FAULT: out of memory, ignored");
	for (char *item = text ? strtok_r(text, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
		if (n_faults == MAX_FAULTS)
			driver_note("SIMGPU_FAULT: more than %d entries, the rest is ignored", MAX_FAULTS);
		else if (strncmp(item, "cuda", 4) == 0)
			continue; /* the runtime's */
		else if (!fault_parse(item, &faults[n_faults]))
			driver_note(
				"SIMGPU_FAULT: '%s' ignored; each entry is FUNCTION:N:CODE with FUNCTION as exported, "
				"e.g. cuMemAlloc_v2:2:2 or cudaMalloc:1:2",
				item);
		else
			n_faults++;
		if (n_faults == MAX_FAULTS)
			break;
	}
	free(text);
}

static void missing_read(void)
{
	const char *setting = getenv("SIMGPU_MISSING");
	char *text = setting ? strdup(setting) : NULL, *rest = NULL;
	enum entry entry;

	if (setting && !text)
		driver_note("SIMGPU_MISSING: out of memory, ignored");
	for (char *item = text ? strtok_r(text, ",", &rest) : NULL; item; item = strtok_r(NULL, ",", &rest)) {
		if (entry_find(item, &entry))
			is_missing[entry] = true;
		else
			driver_note("SIMGPU_MISSING: '%s' ignored, no such function", item);
	}
	free(text);
}

/* "11.5" */
static bool version_parse(const char *text, int *ret_version)
{
	int major, minor, version;
	char rest;

	if (sscanf(text, "%2d.%1d%c", &major, &minor, &rest) != 2)
		return false;
	version = major * 1000 + minor * 10;
	if (version < OLDEST_DRIVER_VERSION || version > SIMGPU_DRIVER_VERSION)
		return false;
	*ret_version = version;
	return true;
}

static void settings_read(void)
{
	const char *calls = getenv("SIMGPU_CALLS"), *version = getenv("SIMGPU_DRIVER");

	if (calls && *calls) {
		calls_fd = open(calls, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (calls_fd < 0)
			driver_note("SIMGPU_CALLS: '%s': %s; calls are not logged", calls, strerror(errno));
	}
	if (version && *version && !version_parse(version, &driver_version))
		driver_note("SIMGPU_DRIVER: '%s' ignored, 10.0 to %d.%d is possible", version,
			    SIMGPU_DRIVER_VERSION / 1000, SIMGPU_DRIVER_VERSION % 1000 / 10);
	faults_read();
	missing_read();
}

/* --- the way in ------------------------------------------------------------------------------- */

static void call_log(const char *symbol, const char *suffix, const char *detail)
{
	char line[256];
	int n = snprintf(line, sizeof(line), "%s%s %ld%s%s\n", symbol, suffix, (long)gettid(), *detail ? " " : "",
			 detail);

	if (n <= 0)
		return;
	n = MIN(n, (int)sizeof(line) - 1);
	line[n - 1] = '\n';
	/* One write per line: lines of concurrent threads do not mix. A failure only costs the log. */
	if (write(calls_fd, line, (size_t)n) < 0)
		return;
}

static CUresult call_fault(enum entry entry)
{
	for (size_t i = 0; i < n_faults; i++) {
		if (faults[i].entry == entry &&
		    atomic_fetch_add_explicit(&faults[i].n_calls, 1, memory_order_relaxed) + 1 == faults[i].nth)
			return faults[i].result;
	}
	return CUDA_SUCCESS;
}

static CUresult gate_check(enum gate gate)
{
	struct context *context;
	CUresult result = CUDA_SUCCESS;

	if (gate == ANYTIME)
		return CUDA_SUCCESS;
	if (atomic_load_explicit(&driver.is_forked, memory_order_acquire) ||
	    !atomic_load_explicit(&driver.is_initialized, memory_order_acquire))
		return CUDA_ERROR_NOT_INITIALIZED;
	if (host_thread()->is_in_callback)
		return CUDA_ERROR_NOT_PERMITTED;
	if (gate >= CONTEXT)
		result = context_current(&context);
	if (gate == UNSAFE && result == CUDA_SUCCESS)
		result = capture_refuse_unsafe();
	return result;
}

static CUresult call_enter(enum entry entry, const char *suffix, enum gate gate)
{
	CUresult result;

	pthread_once(&settings_once, settings_read);
	if (calls_fd >= 0)
		call_log(entries[entry].symbol, suffix, "");
	if (atomic_load_explicit(&driver.is_dead, memory_order_acquire))
		return CUDA_ERROR_DEINITIALIZED;
	/* Found by dlsym() all the same, unless the library is the one in lib_old. */
	if (entries[entry].since > driver_version)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n_faults) {
		result = call_fault(entry);
		if (result != CUDA_SUCCESS)
			return result;
	}
	host_thread()->default_stream_is_per_thread = *suffix != '\0';
	return gate_check(gate);
}

static CUresult call_unsupported(enum entry entry, const char *suffix)
{
	static _Atomic bool was_noted[N_ENTRIES];
	CUresult result = call_enter(entry, suffix, ANYTIME);

	if (result != CUDA_SUCCESS)
		return result;
	if (!atomic_exchange(&was_noted[entry], true))
		driver_note("%s%s is not supported: simgpu has %s", entries[entry].symbol, suffix,
			    unsupported_area(entries[entry].symbol));
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* --- the exported functions ------------------------------------------------------------------- */

#define WRAP(symbol, entry_name, suffix, gate, params, args)                     \
	EXPORT CUresult symbol params                                            \
	{                                                                        \
		CUresult result = call_enter(ENTRY_##entry_name, suffix, gate);  \
                                                                                 \
		return result != CUDA_SUCCESS ? result : impl_##entry_name args; \
	}
#define TWIN_NONE(symbol, gate, params, args)
#define TWIN_PTSZ(symbol, gate, params, args) WRAP(symbol##_ptsz, symbol, "_ptsz", gate, params, args)
#define TWIN_PTDS(symbol, gate, params, args) WRAP(symbol##_ptds, symbol, "_ptds", gate, params, args)
#define DRIVER(symbol, since, gate, streams, params, args) \
	WRAP(symbol, symbol, "", gate, params, args)       \
	TWIN_##streams(symbol, gate, params, args)

#define UNSUPPORTED_TWIN_NONE(symbol)
#define UNSUPPORTED_TWIN_PTSZ(symbol)                             \
	CUresult unsupported_##symbol##_ptsz(void)                \
	{                                                         \
		return call_unsupported(ENTRY_##symbol, "_ptsz"); \
	}
#define UNSUPPORTED_TWIN_PTDS(symbol)                             \
	CUresult unsupported_##symbol##_ptds(void)                \
	{                                                         \
		return call_unsupported(ENTRY_##symbol, "_ptds"); \
	}
#define UNSUPPORTED(symbol, since, streams)                  \
	CUresult unsupported_##symbol(void)                  \
	{                                                    \
		return call_unsupported(ENTRY_##symbol, ""); \
	}                                                    \
	UNSUPPORTED_TWIN_##streams(symbol)
#include "driver.def"
#undef DRIVER
#undef UNSUPPORTED

/* --- cuGetProcAddress ------------------------------------------------------------------------- */

/* Is `symbol` without its "_vN" equal to `base`? */
static bool is_version_of(const char *symbol, const char *base)
{
	size_t n = strlen(symbol), digits = 0;

	while (digits < n && symbol[n - 1 - digits] >= '0' && symbol[n - 1 - digits] <= '9')
		digits++;
	if (digits && n > digits + 2 && strncmp(symbol + n - digits - 2, "_v", 2) == 0)
		n -= digits + 2;
	return strlen(base) == n && strncmp(symbol, base, n) == 0;
}

/* From 12.0 on, cuda.h calls one function by the name of another. */
static bool is_asked_for(const struct entry_info *entry, const char *base, int version)
{
	enum { SINCE_RENAMED = 12000 };

	if (strcmp(base, "cuGraphInstantiate") == 0 && version >= SINCE_RENAMED && driver_version >= SINCE_RENAMED)
		base = "cuGraphInstantiateWithFlags";
	return is_version_of(entry->symbol, base);
}

static CUdriverProcAddressQueryResult proc_find(const char *base, int version, bool per_thread, void **ret_function)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	int best = -1;

	*ret_function = NULL;
	for (size_t i = 0; i < N_ENTRIES && *base; i++) {
		const struct entry_info *e = &entries[i];

		if (!is_asked_for(e, base, version) || e->since > driver_version || is_missing[i])
			continue;
		if (status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND)
			status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		if (e->since > version || e->since <= best)
			continue;
		best = e->since;
		status = CU_GET_PROC_ADDRESS_SUCCESS;
		*ret_function = per_thread && e->twin && version >= SINCE_PER_THREAD ? e->twin_function : e->function;
	}
	return status;
}

CUresult impl_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
				  CUdriverProcAddressQueryResult *symbolStatus)
{
	CUdriverProcAddressQueryResult status;
	bool per_thread;

	if (calls_fd >= 0) {
		char detail[160];

		snprintf(detail, sizeof(detail), "symbol=%s version=%d flags=%llu", symbol ? symbol : "(null)",
			 cudaVersion, (unsigned long long)flags);
		call_log("cuGetProcAddress:query", "", detail);
	}
	if (!symbol || !pfn || cudaVersion > driver_version || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM ||
		     (flags == CU_GET_PROC_ADDRESS_DEFAULT && host_thread()->default_stream_is_per_thread);
	status = proc_find(symbol, cudaVersion, per_thread, pfn);
	if (symbolStatus)
		*symbolStatus = status;
	return CUDA_SUCCESS;
}

/* Before 12.0 there was no status to set, and a miss was an error. */
CUresult impl_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
	CUresult result = impl_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);

	return result == CUDA_SUCCESS && !*pfn ? CUDA_ERROR_NOT_FOUND : result;
}

CUresult impl_cuDriverGetVersion(int *driverVersion)
{
	if (!driverVersion)
		return CUDA_ERROR_INVALID_VALUE;
	*driverVersion = driver_version;
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * wrappers.c - the exported driver functions: one macro, and what comes before and after each real call.
 *
 * Every wrapper has the same steps: guard (nested calls and threads of ours go straight through, and so does
 * everything once the library is off) - before - the real call - after - its result, unchanged. errno is what the real
 * call left.
 */
#include "hooks.h"

#include "capture.h"
#include "collector.h"
#include "contents.h"
#include "counters.h"
#include "graph.h"
#include "host_call.h"
#include "launch.h"
#include "lifetime.h"
#include "log.h"
#include "registry.h"
#include "runtime.h"
#include "session.h"
#include "uncancelled.h"

#include <errno.h>

/* What a wrapper carries from before to after. */
struct call {
	enum warpspan_hook hook;
	warpspan_ticket ticket; /* in the log; 0: not recorded */
	bool capturing;         /* a capture that may end with this call */
};

static bool enter(void)
{
	if (warpspan_thread.depth > 0 || atomic_load_explicit(&warpspan_off, memory_order_relaxed))
		return false;
	warpspan_thread.depth = 1;
	return true;
}

static void leave(void)
{
	warpspan_thread.depth = 0;
}

/* --- before and after ------------------------------------------------------------------------- */

#define before_nothing(...) ((void)0)
#define after_nothing(...)  ((void)0)

static void after_get_proc_address(struct call *call, CUresult result, const char *symbol, void **pfn, int version,
				   cuuint64_t flags)
{
	/* Success with NULL is a legal answer: the symbol is not there. */
	if (result == CUDA_SUCCESS && pfn != NULL && *pfn != NULL)
		*pfn = warpspan_hook_for_query(symbol, version, flags, *pfn);
}

static void after_get_proc_address_v2(struct call *call, CUresult result, const char *symbol, void **pfn, int version,
				      cuuint64_t flags, const CUdriverProcAddressQueryResult *status)
{
	if (status == NULL || *status == CU_GET_PROC_ADDRESS_SUCCESS)
		after_get_proc_address(call, result, symbol, pfn, version, flags);
}

static void after_init(struct call *call, CUresult result, unsigned int flags)
{
	WARPSPAN_UNCANCELLED;

	if (result == CUDA_SUCCESS)
		(void)warpspan_session_wake();
}

static void after_primary_retain(struct call *call, CUresult result, CUcontext *context, CUdevice device)
{
	if (result == CUDA_SUCCESS && context != NULL)
		warpspan_registry_set_primary(device, *context);
}

static void before_context_destroy(struct call *call, CUcontext context)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_before_context(context);
}

static void after_context_destroy(struct call *call, CUresult result, CUcontext context)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_after_context(context, result == CUDA_SUCCESS);
}

static void before_primary_release(struct call *call, CUdevice device)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_before_primary(device, false);
}

static void after_primary_release(struct call *call, CUresult result, CUdevice device)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_after_primary(device, false, result == CUDA_SUCCESS);
}

static void before_primary_reset(struct call *call, CUdevice device)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_before_primary(device, true);
}

static void after_primary_reset(struct call *call, CUresult result, CUdevice device)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_after_primary(device, true, result == CUDA_SUCCESS);
}

static void before_module_unload(struct call *call, CUmodule module)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_before_module(module);
}

static void after_module_unload(struct call *call, CUresult result, CUmodule module)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_after_module(module, result == CUDA_SUCCESS);
}

static void before_library_unload(struct call *call, CUlibrary library)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_before_library(library);
}

static void after_library_unload(struct call *call, CUresult result, CUlibrary library)
{
	WARPSPAN_UNCANCELLED;

	if (warpspan_session_awake())
		warpspan_lifetime_after_library(library, result == CUDA_SUCCESS);
}

static void begin_launch(struct call *call, enum warpspan_launch_api api, bool per_thread, CUfunction function,
			 const unsigned int grid[3], const unsigned int threads[3], unsigned int shared_bytes,
			 CUstream stream, const unsigned int cluster[3])
{
	struct warpspan_launch_view view = {
		.function = function,
		.stream = stream,
		.per_thread = per_thread,
		.api = api,
		.shared_bytes = shared_bytes,
	};

	/* The runtime's door took this launch for one that does not come by here, and recorded it. */
	if (warpspan_thread.runtime != NULL && warpspan_thread.runtime->ticket != 0)
		return;
	for (unsigned i = 0; i < 3; i++) {
		view.grid[i] = grid[i];
		view.threads[i] = threads[i];
		view.cluster[i] = cluster[i];
	}
	/* Written once: threads that launch at the same time share its cache line for reading. */
	if (WARPSPAN_UNLIKELY(!atomic_load_explicit(&warpspan_driver_door_open, memory_order_relaxed)))
		atomic_store_explicit(&warpspan_driver_door_open, true, memory_order_relaxed);
	call->ticket = warpspan_launch_begin(&view);
}

/* Not recorded, since the launch does not say how many threads a block has; but its module is attached. */
static void count_old_launch(CUfunction function, CUstream stream)
{
	warpspan_launch_count(function, stream);
}
#define before_old_launch(call, function, ...)                          count_old_launch(function, NULL)
#define before_old_launch_async(call, function, grid_x, grid_y, stream) count_old_launch(function, stream)

/* Each into a stream of another device, whose context is not the current one. */
#define before_launch_many(call, launches, n, flags)                        \
	do {                                                                \
		if (warpspan_session_active())                              \
			warpspan_count(WARPSPAN_COUNTER_old_launches, (n)); \
	} while (0)

static const unsigned int unsaid[3];

#define DEFINE_BEFORE_LAUNCH_KERNEL(name, per_thread)                                                                 \
	static void name(struct call *call, CUfunction function, unsigned int grid_x, unsigned int grid_y,            \
			 unsigned int grid_z, unsigned int threads_x, unsigned int threads_y, unsigned int threads_z, \
			 unsigned int shared_bytes, CUstream stream, void **parameters, void **extra)                 \
	{                                                                                                             \
		begin_launch(call, WARPSPAN_API_CU_LAUNCH_KERNEL, per_thread, function,                               \
			     (const unsigned int[3]){ grid_x, grid_y, grid_z },                                       \
			     (const unsigned int[3]){ threads_x, threads_y, threads_z }, shared_bytes, stream,        \
			     unsaid);                                                                                 \
	}
DEFINE_BEFORE_LAUNCH_KERNEL(before_launch_kernel, false)
DEFINE_BEFORE_LAUNCH_KERNEL(before_launch_kernel_ptsz, true)

#define DEFINE_BEFORE_LAUNCH_COOPERATIVE(name, per_thread)                                                            \
	static void name(struct call *call, CUfunction function, unsigned int grid_x, unsigned int grid_y,            \
			 unsigned int grid_z, unsigned int threads_x, unsigned int threads_y, unsigned int threads_z, \
			 unsigned int shared_bytes, CUstream stream, void **parameters)                               \
	{                                                                                                             \
		begin_launch(call, WARPSPAN_API_CU_LAUNCH_COOPERATIVE_KERNEL, per_thread, function,                   \
			     (const unsigned int[3]){ grid_x, grid_y, grid_z },                                       \
			     (const unsigned int[3]){ threads_x, threads_y, threads_z }, shared_bytes, stream,        \
			     unsaid);                                                                                 \
	}
DEFINE_BEFORE_LAUNCH_COOPERATIVE(before_launch_cooperative, false)
DEFINE_BEFORE_LAUNCH_COOPERATIVE(before_launch_cooperative_ptsz, true)

static void begin_launch_ex(struct call *call, bool per_thread, const CUlaunchConfig *config, CUfunction function)
{
	unsigned int cluster[3] = { 0 };

	if (config == NULL)
		return; /* the real call says what is wrong */
	for (unsigned int i = 0; config->attrs != NULL && i < config->numAttrs; i++) {
		if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			continue;
		cluster[0] = config->attrs[i].value.clusterDim.x;
		cluster[1] = config->attrs[i].value.clusterDim.y;
		cluster[2] = config->attrs[i].value.clusterDim.z;
	}
	begin_launch(call, WARPSPAN_API_CU_LAUNCH_KERNEL_EX, per_thread, function,
		     (const unsigned int[3]){ config->gridDimX, config->gridDimY, config->gridDimZ },
		     (const unsigned int[3]){ config->blockDimX, config->blockDimY, config->blockDimZ },
		     config->sharedMemBytes, config->hStream, cluster);
}

static void before_launch_kernel_ex(struct call *call, const CUlaunchConfig *config, CUfunction function,
				    void **parameters, void **extra)
{
	begin_launch_ex(call, false, config, function);
}

static void before_launch_kernel_ex_ptsz(struct call *call, const CUlaunchConfig *config, CUfunction function,
					 void **parameters, void **extra)
{
	begin_launch_ex(call, true, config, function);
}

#define after_launch(call, result, ...) warpspan_launch_end((call)->ticket, (int32_t)(result))

/* --- captures and graphs ---------------------------------------------------------------------- */

#define after_begin_capture(call, result, ...) ((result) == CUDA_SUCCESS ? warpspan_capture_begun() : (void)0)

static void begin_end_capture(struct call *call, CUstream stream, bool per_thread)
{
	call->capturing = warpspan_capture_any() && warpspan_capture_holds(warpspan_capture_stream(stream, per_thread));
}
#define before_end_capture(call, stream, graph)      begin_end_capture(call, stream, false)
#define before_end_capture_ptsz(call, stream, graph) begin_end_capture(call, stream, true)

static void after_end_capture(struct call *call, CUresult result, CUstream stream, const CUgraph *graph)
{
	const bool per_thread = call->hook == WARPSPAN_HOOK_cuStreamEndCapture_ptsz;

	if (!call->capturing || warpspan_capture_holds(warpspan_capture_stream(stream, per_thread)))
		return; /* refused: it was not ended */
	warpspan_capture_ended();
	if (result == CUDA_SUCCESS && graph != NULL)
		warpspan_graph_attach(*graph);
}

static void instantiated(CUresult result, const CUgraphExec *exec, CUgraph graph)
{
	if (result == CUDA_SUCCESS && exec != NULL)
		warpspan_graph_executable(*exec, graph, false);
}

static void updated(CUresult result, CUgraphExec exec, CUgraph graph)
{
	if (result == CUDA_SUCCESS)
		warpspan_graph_executable(exec, graph, true);
}

static void after_exec_child(struct call *call, CUresult result, CUgraphExec exec, CUgraphNode node, CUgraph graph)
{
	if (result != CUDA_SUCCESS)
		return;
	warpspan_graph_attach(graph);
	warpspan_contents_doubt(exec);
}

/* The forms differ in what follows the graph. */
#define after_instantiate(call, result, exec, graph, ...) instantiated(result, exec, graph)
#define after_exec_update(call, result, exec, graph, ...) updated(result, exec, graph)
#define after_exec_destroy(call, result, exec)            ((result) == CUDA_SUCCESS ? warpspan_contents_drop(exec) : (void)0)
#define after_enable(call, result, exec, node, enabled) \
	((result) == CUDA_SUCCESS ? warpspan_contents_enable(exec, node, (enabled) != 0) : (void)0)

/* `exec` NULL: a node of a graph that is not executable yet. */
static void after_kernel(CUresult result, CUgraphExec exec, CUgraphNode node,
			 const CUDA_KERNEL_NODE_PARAMS_v2 *parameters)
{
	if (result != CUDA_SUCCESS || parameters == NULL)
		return;
	if (exec != NULL)
		warpspan_graph_executable_node(exec, node, parameters);
	else
		warpspan_graph_attach_kernel(parameters);
}

static void after_kernel_v1(CUresult result, CUgraphExec exec, CUgraphNode node,
			    const CUDA_KERNEL_NODE_PARAMS_v1 *before)
{
	CUDA_KERNEL_NODE_PARAMS_v2 parameters;

	if (result != CUDA_SUCCESS || before == NULL)
		return;
	parameters = warpspan_graph_parameters(before);
	after_kernel(result, exec, node, &parameters);
}

static void after_node(CUresult result, CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams *parameters)
{
	CUDA_KERNEL_NODE_PARAMS_v2 kernel;

	if (result != CUDA_SUCCESS || parameters == NULL)
		return;
	if (parameters->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		kernel = (CUDA_KERNEL_NODE_PARAMS_v2){
			.func = parameters->kernel.func,
			.gridDimX = parameters->kernel.gridDimX,
			.gridDimY = parameters->kernel.gridDimY,
			.gridDimZ = parameters->kernel.gridDimZ,
			.blockDimX = parameters->kernel.blockDimX,
			.blockDimY = parameters->kernel.blockDimY,
			.blockDimZ = parameters->kernel.blockDimZ,
			.kern = parameters->kernel.kern,
			.ctx = parameters->kernel.ctx,
		};
		after_kernel(result, exec, node, &kernel);
	} else if (exec != NULL && (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH ||
				    parameters->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)) {
		warpspan_contents_doubt(exec);
	}
}

#define after_add_kernel_v1(call, result, node, graph, nodes, n_nodes, parameters) \
	after_kernel_v1(result, NULL, NULL, parameters)
#define after_add_kernel(call, result, node, graph, nodes, n_nodes, parameters) \
	after_kernel(result, NULL, NULL, parameters)
#define after_add_node(call, result, node, graph, nodes, n_nodes, parameters) after_node(result, NULL, NULL, parameters)
#define after_add_node_v2(call, result, node, graph, nodes, edges, n_nodes, parameters) \
	after_node(result, NULL, NULL, parameters)
#define after_set_kernel_v1(call, result, node, parameters)            after_kernel_v1(result, NULL, NULL, parameters)
#define after_set_kernel(call, result, node, parameters)               after_kernel(result, NULL, NULL, parameters)
#define after_set_node(call, result, node, parameters)                 after_node(result, NULL, NULL, parameters)
#define after_exec_set_kernel_v1(call, result, exec, node, parameters) after_kernel_v1(result, exec, node, parameters)
#define after_exec_set_kernel(call, result, exec, node, parameters)    after_kernel(result, exec, node, parameters)
#define after_exec_set_node(call, result, exec, node, parameters)      after_node(result, exec, node, parameters)

/* A graph that is launched into a capture becomes part of another one, and does not run now. */
static void begin_graph_launch(struct call *call, CUgraphExec exec, CUstream passed, bool per_thread)
{
	const CUstream stream = warpspan_capture_stream(passed, per_thread);

	if (!warpspan_session_active() || warpspan_capture_may_hold(stream))
		return;
	call->ticket =
		warpspan_host_call_begin(call->hook, WARPSPAN_HOST_GRAPH_LAUNCH, stream, (uint64_t)(uintptr_t)exec);
}
#define before_graph_launch(call, exec, stream)      begin_graph_launch(call, exec, stream, false)
#define before_graph_launch_ptsz(call, exec, stream) begin_graph_launch(call, exec, stream, true)
#define after_graph_launch(call, result, ...)        warpspan_host_call_end((call)->ticket, result)

/* --- the profiler's start and stop ------------------------------------------------------------ */

static bool follows_profiler_api(void)
{
	return warpspan_session_awake() && warpspan_process_settings()->start.mode == WARPSPAN_START_PROFILER_API;
}

static void profiler_started(CUresult result)
{
	struct warpspan_message message;
	struct warpspan_origin by;
	WARPSPAN_UNCANCELLED;

	if (result != CUDA_SUCCESS || !follows_profiler_api())
		return;
	by = warpspan_origin("cuProfilerStart()");
	if (warpspan_session_restart(&by, &message) == 0)
		warpspan_session_wait_armed();
	else
		warpspan_warn("cuProfilerStart(): %s", message.text);
}
#define after_profiler_start(call, result, ...) profiler_started(result)

/* The program goes on at once; what it launched before is the session's. */
static void profiler_stops(void)
{
	struct warpspan_message message;
	struct warpspan_origin by;
	unsigned number;
	WARPSPAN_UNCANCELLED;

	if (!follows_profiler_api())
		return;
	by = warpspan_origin("cuProfilerStop()");
	if (warpspan_session_stop(&by, 0, &number, &message) != 0)
		warpspan_info("cuProfilerStop(): %s", message.text);
}
#define before_profiler_stop(call, ...) profiler_stops()

/* --- waits and copies ------------------------------------------------------------------------- */

static void begin_call(struct call *call, enum warpspan_host_call_kind kind, CUstream stream, uint64_t amount)
{
	call->ticket = warpspan_host_call_begin(
		call->hook, kind, warpspan_capture_stream(stream, warpspan_hook_per_thread(call->hook)), amount);
}
#define before_sync(call, ...)                           begin_call(call, WARPSPAN_HOST_SYNCHRONIZE, NULL, 0)
#define before_sync_stream(call, stream)                 begin_call(call, WARPSPAN_HOST_SYNCHRONIZE, stream, 0)
#define before_copy(call, to, from, bytes)               begin_call(call, WARPSPAN_HOST_COPY, NULL, bytes)
#define before_copy_async(call, to, from, bytes, stream) begin_call(call, WARPSPAN_HOST_COPY, stream, bytes)

/* Width is in bytes; a copy that is not there is the driver's to refuse. */
#define BYTES_2D(copy) ((copy) != NULL ? (uint64_t)(copy)->WidthInBytes * (copy)->Height : 0)
#define BYTES_3D(copy) ((copy) != NULL ? (uint64_t)(copy)->WidthInBytes * (copy)->Height * (copy)->Depth : 0)

#define before_copy_2d(call, copy)               begin_call(call, WARPSPAN_HOST_COPY, NULL, BYTES_2D(copy))
#define before_copy_2d_async(call, copy, stream) begin_call(call, WARPSPAN_HOST_COPY, stream, BYTES_2D(copy))
#define before_copy_3d(call, copy)               begin_call(call, WARPSPAN_HOST_COPY, NULL, BYTES_3D(copy))
#define before_copy_3d_async(call, copy, stream) begin_call(call, WARPSPAN_HOST_COPY, stream, BYTES_3D(copy))

#define before_copy_peer(call, to, to_context, from, from_context, bytes) \
	begin_call(call, WARPSPAN_HOST_COPY, NULL, bytes)
#define before_copy_peer_async(call, to, to_context, from, from_context, bytes, stream) \
	begin_call(call, WARPSPAN_HOST_COPY, stream, bytes)

#define before_copy_array(call, to, from_or_offset, from, bytes) begin_call(call, WARPSPAN_HOST_COPY, NULL, bytes)
#define before_copy_array_async(call, to, from_or_offset, from, bytes, stream) \
	begin_call(call, WARPSPAN_HOST_COPY, stream, bytes)
#define before_copy_arrays(call, to, to_offset, from, from_offset, bytes) \
	begin_call(call, WARPSPAN_HOST_COPY, NULL, bytes)

static void begin_batch(struct call *call, const size_t *sizes, size_t n, CUstream stream)
{
	uint64_t bytes = 0;

	if (!warpspan_session_active())
		return;
	for (size_t i = 0; i < n && sizes != NULL; i++)
		bytes += sizes[i];
	begin_call(call, WARPSPAN_HOST_COPY, stream, bytes);
}
#define before_copy_batch(call, to, from, sizes, n, attributes, indices, n_attributes, failed, stream) \
	begin_batch(call, sizes, n, stream)
#define before_copy_batch_v2(call, to, from, sizes, n, attributes, indices, n_attributes, stream) \
	begin_batch(call, sizes, n, stream)

#define after_copy(call, result, ...) warpspan_host_call_end((call)->ticket, result)

static void sync_done(const struct call *call, CUresult result)
{
	warpspan_host_call_end(call->ticket, result);
	if (result == CUDA_SUCCESS && warpspan_session_active())
		warpspan_collector_hint();
}
#define after_sync(call, result, ...) sync_done(call, result)

/* --- the wrappers ----------------------------------------------------------------------------- */

#define UNPACK(...)      __VA_ARGS__
#define APPLY(step, ...) step(__VA_ARGS__)

#define WARPSPAN_HOOK(name, asked, version, stream, parameters, arguments, before, after, purpose) \
	WARPSPAN_EXPORT CUresult CUDAAPI name parameters                                           \
	{                                                                                          \
		__typeof__(&name) real = WARPSPAN_REAL(name);                                      \
		struct call call = { .hook = WARPSPAN_HOOK_##name };                               \
		int program_errno = errno;                                                         \
		CUresult result;                                                                   \
                                                                                                   \
		if (!enter())                                                                      \
			return real arguments;                                                     \
		APPLY(before, &call, UNPACK arguments);                                            \
		errno = program_errno;                                                             \
		result = real arguments;                                                           \
		program_errno = errno;                                                             \
		APPLY(after, &call, result, UNPACK arguments);                                     \
		leave();                                                                           \
		errno = program_errno;                                                             \
		(void)call;                                                                        \
		return result;                                                                     \
	}
#include "hooks.def"

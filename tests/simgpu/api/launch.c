/* SPDX-License-Identifier: Apache-2.0
 *
 * launch.c - launches and occupancy.
 *
 * A launch is checked, its parameters are copied, and it is queued; %gridid is given in the order of the calls. The
 * grid runs on the stream's worker. Callable from any thread.
 */
#include "capture.h"
#include "driver.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_GRID_X = 2147483647,
	MAX_GRID_YZ = 65535,
	MAX_BLOCK_XY = 1024,
	MAX_BLOCK_Z = 64,
	MAX_BLOCK_THREADS = 1024,
	MAX_CLUSTER_PORTABLE = 8,
	MAX_CLUSTER = 16,
};

/* --- checks ----------------------------------------------------------------------------------- */

static bool shape_is_valid(const struct launch_request *request)
{
	const unsigned int *grid = request->grid, *block = request->block;

	for (int i = 0; i < 3; i++) {
		if (grid[i] == 0 || block[i] == 0)
			return false;
	}
	if (grid[0] > MAX_GRID_X || grid[1] > MAX_GRID_YZ || grid[2] > MAX_GRID_YZ)
		return false;
	if (block[0] > MAX_BLOCK_XY || block[1] > MAX_BLOCK_XY || block[2] > MAX_BLOCK_Z)
		return false;
	return block[0] * block[1] * block[2] <= MAX_BLOCK_THREADS;
}

static CUresult cluster_check(struct launch_request *request, const struct function *function)
{
	const uint32_t *required = function->info.required_cluster;
	unsigned int *cluster = request->cluster, size;

	if (required[0]) {
		if (request->has_cluster && memcmp(cluster, required, 3 * sizeof(*cluster)) != 0)
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		memcpy(cluster, required, 3 * sizeof(*cluster));
	} else if (!request->has_cluster) {
		cluster[0] = cluster[1] = cluster[2] = 1;
	}
	for (int i = 0; i < 3; i++) {
		if (cluster[i] == 0 || cluster[i] > MAX_CLUSTER)
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
		if (request->grid[i] % cluster[i] != 0)
			return CUDA_ERROR_INVALID_VALUE;
	}
	size = cluster[0] * cluster[1] * cluster[2];
	if (size > 1 && function->module->context->device->config.cc_major < 9)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (size > (function_allows_nonportable_cluster(function) ? MAX_CLUSTER : MAX_CLUSTER_PORTABLE))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return CUDA_SUCCESS;
}

static CUresult resources_check(const struct launch_request *request, const struct function *function)
{
	const struct device *device = function->module->context->device;
	uint32_t threads = request->block[0] * request->block[1] * request->block[2];
	uint64_t blocks = (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
	uint32_t resident;

	if (request->shared_bytes > function_max_dynamic_shared(function))
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > function->info.max_threads_per_block)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	resident = sim_function_occupancy(function->sim, threads, request->shared_bytes);
	if (resident == 0)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (request->is_cooperative && blocks > (uint64_t)resident * device->config.n_sms)
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return CUDA_SUCCESS;
}

/* --- parameters ------------------------------------------------------------------------------- */

static CUresult params_from_pointers(const struct function *function, void **pointers, char *block)
{
	for (uint32_t i = 0; i < function->info.n_params; i++) {
		uint32_t offset, bytes;

		if (!pointers[i] || !sim_function_param(function->sim, i, &offset, &bytes))
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(block + offset, pointers[i], bytes);
	}
	return CUDA_SUCCESS;
}

/* { CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, size_t *, CU_LAUNCH_PARAM_END } */
static CUresult params_from_buffer(const struct function *function, void **extra, char *block)
{
	const void *buffer = NULL;
	size_t bytes = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			bytes = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (bytes < function->info.params_bytes || (!buffer && function->info.params_bytes))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(block, buffer, function->info.params_bytes);
	return CUDA_SUCCESS;
}

static CUresult params_build(const struct function *function, void **pointers, void **extra, void **ret_block)
{
	char *block = calloc(1, function->info.params_bytes + 1);
	CUresult result = CUDA_SUCCESS;

	if (!block)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (pointers && extra)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (extra)
		result = params_from_buffer(function, extra, block);
	else if (pointers)
		result = params_from_pointers(function, pointers, block);
	else if (function->info.n_params)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		free(block);
	else
		*ret_block = block;
	return result;
}

/* --- the launch ------------------------------------------------------------------------------- */

CUresult launch_prepare(CUfunction handle, struct context *context, const struct launch_request *asked,
			struct work *ret_work)
{
	struct launch_request request = *asked;
	struct function *function;
	struct work_launch launch;
	CUresult result = function_resolve(handle, context, &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!shape_is_valid(&request))
		return CUDA_ERROR_INVALID_VALUE;
	result = cluster_check(&request, function);
	if (result == CUDA_SUCCESS)
		result = resources_check(&request, function);
	if (result != CUDA_SUCCESS)
		return result;
	launch = (struct work_launch){ .function = function,
				       .params_bytes = function->info.params_bytes,
				       .may_start_early = request.may_start_early };
	result = params_build(function, request.params, request.extra, &launch.params);
	if (result != CUDA_SUCCESS)
		return result;
	launch.launch = (struct sim_launch){
		.function = function->sim,
		.dynamic_shared_bytes = request.shared_bytes,
		.is_cooperative = request.is_cooperative,
		.params = launch.params,
	};
	memcpy(launch.launch.grid, request.grid, sizeof(request.grid));
	memcpy(launch.launch.block, request.block, sizeof(request.block));
	memcpy(launch.launch.cluster, request.cluster, sizeof(request.cluster));
	*ret_work = (struct work){ .kind = WORK_LAUNCH, .launch = launch };
	return CUDA_SUCCESS;
}

uint64_t grid_ids_take(struct device *device, uint64_t n)
{
	if (driver.grid_ids == GRID_IDS_CONSTANT)
		return 1;
	return atomic_fetch_add_explicit(&device->last_grid_id, n, memory_order_relaxed) + 1;
}

/* A launch can record two events: when the grids that depend on it may start, and when all its blocks have begun. */
static CUresult launch_add_events(struct work_launch *work, const struct launch_request *request)
{
	if (request->trigger_event)
		work->trigger_op = op_new(WORK_NOTHING);
	if (request->begun_event)
		work->begun_op = op_new(WORK_NOTHING);
	return (request->trigger_event && !work->trigger_op) || (request->begun_event && !work->begun_op)
		       ? CUDA_ERROR_OUT_OF_MEMORY
		       : CUDA_SUCCESS;
}

static CUresult launch_enqueue(CUfunction handle, const struct launch_request *request, CUstream stream_handle)
{
	struct stream *stream;
	struct op *op, *trigger, *begun;
	CUresult result = stream_resolve(stream_handle, context_gated(), &stream);

	if (result != CUDA_SUCCESS)
		return result;
	op = op_new(WORK_NOTHING);
	if (!op)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = launch_prepare(handle, stream->context, request, &op->work);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	if (stream_is_captured(stream))
		return capture_launch(stream, op, handle, request);
	op->work.launch.launch.grid_id = grid_ids_take(stream->context->device, 1);
	result = launch_add_events(&op->work.launch, request);
	if (result != CUDA_SUCCESS) {
		op_unref(op);
		return result;
	}
	/* Once enqueued, the operation may be gone. */
	trigger = op->work.launch.trigger_op ? op_ref(op->work.launch.trigger_op) : NULL;
	begun = op->work.launch.begun_op ? op_ref(op->work.launch.begun_op) : NULL;
	result = op_enqueue(stream, op, COST_LAUNCH_NS, NULL, NULL);
	if (trigger && result == CUDA_SUCCESS)
		event_set_op(request->trigger_event, op_ref(trigger));
	if (begun && result == CUDA_SUCCESS)
		event_set_op(request->begun_event, op_ref(begun));
	op_unref(trigger);
	op_unref(begun);
	return result;
}

void launch_abandon(struct work_launch *work, CUresult reason, uint64_t at_ns)
{
	if (work->trigger_op && !work->trigger_op->is_done)
		op_complete(work->trigger_op, reason, at_ns);
	if (work->begun_op && !work->begun_op->is_done)
		op_complete(work->begun_op, reason, at_ns);
}

/* Is there room for all its blocks at once? Then they begin when the grid does; else not before it ends, for sure. */
static bool launch_begins_whole(const struct work_launch *work)
{
	const struct sim_launch *launch = &work->launch;
	uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
	uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];

	return blocks <= (uint64_t)sim_function_occupancy(launch->function, threads, launch->dynamic_shared_bytes) *
				 work->function->module->context->device->config.n_sms;
}

CUresult launch_run(struct work_launch *work, uint64_t start_ns, uint64_t *ret_end_ns)
{
	struct sim_result result = { .end_ns = start_ns };

	work->launch.start_ns = start_ns;
	if (work->begun_op && launch_begins_whole(work))
		op_complete(work->begun_op, CUDA_SUCCESS, start_ns);
	sim_launch(work->function->module->context->device->sim, &work->launch, &result);
	/* What depends on this one's predecessors through it alone must find them ended, too. */
	*ret_end_ns = MAX(MAX(result.end_ns, start_ns), work->launch.dependencies_end_ns);
	work->trigger_ns = MAX(result.trigger_ns, start_ns);
	if (work->trigger_op && result.status == SIM_OK)
		op_complete(work->trigger_op, CUDA_SUCCESS, work->trigger_ns);
	launch_abandon(work, result_of(result.status), *ret_end_ns);
	/* A device would say nothing; who debugs on a simulator wants to know where. */
	if (result.status != SIM_OK && result.status != SIM_STOPPED)
		driver_note("%s", result.message);
	return result_of(result.status);
}

CUresult impl_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY, unsigned int gridDimZ,
			     unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
			     unsigned int sharedMemBytes, CUstream hStream, void **kernelParams, void **extra)
{
	struct launch_request request = {
		.grid = { gridDimX, gridDimY, gridDimZ },
		.block = { blockDimX, blockDimY, blockDimZ },
		.shared_bytes = sharedMemBytes,
		.params = kernelParams,
		.extra = extra,
	};

	return launch_enqueue(f, &request, hStream);
}

CUresult impl_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
					unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
					unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
					void **kernelParams)
{
	struct launch_request request = {
		.grid = { gridDimX, gridDimY, gridDimZ },
		.block = { blockDimX, blockDimY, blockDimZ },
		.is_cooperative = true,
		.shared_bytes = sharedMemBytes,
		.params = kernelParams,
	};

	return launch_enqueue(f, &request, hStream);
}

/* It must be one without a time. */
static CUresult event_attribute(CUevent handle, int flags, struct event **ret_event)
{
	if (!handle_is(HANDLE_EVENT, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	if (flags || !(((struct event *)handle)->flags & CU_EVENT_DISABLE_TIMING) || *ret_event)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_event = (struct event *)handle;
	return CUDA_SUCCESS;
}

/* Attributes that only change how a device schedules are accepted; those that add work are not. */
CUresult launch_attribute(struct launch_request *request, const CUlaunchAttribute *attribute)
{
	switch (attribute->id) {
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
		request->may_start_early = attribute->value.programmaticStreamSerializationAllowed != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY: /* every launch gets the whole device */
		request->priority = attribute->value.priority;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		request->is_cooperative = attribute->value.cooperative != 0;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		request->has_cluster = true;
		request->cluster[0] = attribute->value.clusterDim.x;
		request->cluster[1] = attribute->value.clusterDim.y;
		request->cluster[2] = attribute->value.clusterDim.z;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
		return event_attribute(
			attribute->value.programmaticEvent.event, attribute->value.programmaticEvent.flags,
			attribute->value.programmaticEvent.triggerAtBlockStart ? &request->begun_event
									       : &request->trigger_event);
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return event_attribute(attribute->value.launchCompletionEvent.event,
				       attribute->value.launchCompletionEvent.flags, &request->begun_event);
	default:
		driver_note("launch attribute %d is not supported", (int)attribute->id);
		return CUDA_ERROR_NOT_SUPPORTED;
	}
}

CUresult impl_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **kernelParams, void **extra)
{
	struct launch_request request;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	request = (struct launch_request){
		.grid = { config->gridDimX, config->gridDimY, config->gridDimZ },
		.block = { config->blockDimX, config->blockDimY, config->blockDimZ },
		.shared_bytes = config->sharedMemBytes,
		.params = kernelParams,
		.extra = extra,
	};
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		CUresult result = launch_attribute(&request, &config->attrs[i]);

		if (result != CUDA_SUCCESS)
			return result;
	}
	return launch_enqueue(f, &request, config->hStream);
}

/* --- occupancy -------------------------------------------------------------------------------- */

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func, int blockSize,
								   size_t dynamicSMemSize, unsigned int flags)
{
	struct function *function;
	CUresult result = function_resolve(func, context_gated(), &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!numBlocks || blockSize <= 0 || flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	*numBlocks = dynamicSMemSize > UINT32_MAX ? 0
						  : (int)sim_function_occupancy(function->sim, (uint32_t)blockSize,
										(uint32_t)dynamicSMemSize);
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func, int blockSize,
							  size_t dynamicSMemSize)
{
	return impl_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize,
									 0);
}

/* The block size with the most resident threads on an SM; the larger block when two are equal. */
CUresult impl_cuOccupancyMaxPotentialBlockSizeWithFlags(int *minGridSize, int *blockSize, CUfunction func,
							CUoccupancyB2DSize blockSizeToDynamicSMemSize,
							size_t dynamicSMemSize, int blockSizeLimit, unsigned int flags)
{
	struct function *function;
	CUresult result = function_resolve(func, context_gated(), &function);
	uint32_t best_threads = 0, best_block = 0, limit;

	if (result != CUDA_SUCCESS)
		return result;
	if (!minGridSize || !blockSize || flags & ~(unsigned int)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
		return CUDA_ERROR_INVALID_VALUE;
	limit = function->info.max_threads_per_block;
	if (blockSizeLimit > 0)
		limit = MIN(limit, (uint32_t)blockSizeLimit);
	for (uint32_t block = MAX(limit / 32 * 32, 32); block >= 32; block -= 32) {
		size_t shared = blockSizeToDynamicSMemSize ? blockSizeToDynamicSMemSize((int)block) : dynamicSMemSize;
		uint32_t threads = MIN(block, limit);
		uint32_t resident =
			shared > UINT32_MAX ? 0 : sim_function_occupancy(function->sim, threads, (uint32_t)shared);

		if (resident * threads > best_threads) {
			best_threads = resident * threads;
			best_block = threads;
		}
	}
	*blockSize = (int)best_block;
	*minGridSize =
		best_block ? (int)(best_threads / best_block * function->module->context->device->config.n_sms) : 0;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
					       CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize,
					       int blockSizeLimit)
{
	return impl_cuOccupancyMaxPotentialBlockSizeWithFlags(minGridSize, blockSize, func, blockSizeToDynamicSMemSize,
							      dynamicSMemSize, blockSizeLimit, 0);
}

CUresult impl_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func, int numBlocks,
						      int blockSize)
{
	struct function *function;
	CUresult result = function_resolve(func, context_gated(), &function);
	uint32_t low = 0, high;

	if (result != CUDA_SUCCESS)
		return result;
	if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	high = function->module->context->device->config.shared_bytes_per_block_optin + 1;
	while (low + 1 < high) {
		uint32_t middle = low + (high - low) / 2;

		if (sim_function_occupancy(function->sim, (uint32_t)blockSize, middle) >= (uint32_t)numBlocks)
			low = middle;
		else
			high = middle;
	}
	*dynamicSmemSize = low;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxPotentialClusterSize(int *clusterSize, CUfunction func, const CUlaunchConfig *config)
{
	struct function *function;
	CUresult result = function_resolve(func, context_gated(), &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!clusterSize || !config)
		return CUDA_ERROR_INVALID_VALUE;
	*clusterSize = function->module->context->device->config.cc_major < 9 ? 1
		       : function_allows_nonportable_cluster(function)        ? MAX_CLUSTER
									      : MAX_CLUSTER_PORTABLE;
	return CUDA_SUCCESS;
}

CUresult impl_cuOccupancyMaxActiveClusters(int *numClusters, CUfunction func, const CUlaunchConfig *config)
{
	struct function *function;
	struct launch_request request = { .grid = { 0 } };
	uint32_t resident, threads, size;
	CUresult result = function_resolve(func, context_gated(), &function);

	if (result != CUDA_SUCCESS)
		return result;
	if (!numClusters || !config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned int i = 0; i < config->numAttrs; i++) {
		result = launch_attribute(&request, &config->attrs[i]);
		if (result != CUDA_SUCCESS)
			return result;
	}
	memcpy(request.grid, request.cluster, sizeof(request.grid));
	result = cluster_check(&request, function);
	if (result != CUDA_SUCCESS)
		return result;
	threads = config->blockDimX * config->blockDimY * config->blockDimZ;
	size = request.cluster[0] * request.cluster[1] * request.cluster[2];
	resident = sim_function_occupancy(function->sim, threads, config->sharedMemBytes);
	*numClusters = (int)(resident * function->module->context->device->config.n_sms / size);
	return CUDA_SUCCESS;
}

/* --- profiling range: nothing here collects, and nothing objects ------------------------------ */

CUresult impl_cuProfilerStart(void)
{
	return CUDA_SUCCESS;
}

CUresult impl_cuProfilerStop(void)
{
	return CUDA_SUCCESS;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * work.c - a piece of work, whether it is an operation of a stream or a node of a graph.
 *
 * What each kind does is in launch.c, copy.c, memory.c and graph_run.c. Callable from any thread.
 */
#include "driver.h"
#include "graph.h"

#include <stdlib.h>
#include <string.h>

void work_finish(struct work *work)
{
	switch (work->kind) {
	case WORK_LAUNCH:
		free(work->launch.params);
		op_unref(work->launch.trigger_op);
		op_unref(work->launch.begun_op);
		break;
	case WORK_COPY:
		free(work->copy.staged);
		break;
	case WORK_GRAPH:
		graph_run_destroy(work->run);
		break;
	case WORK_NOTHING:
	case WORK_FILL:
	case WORK_CALLBACK:
	case WORK_FREE:
		break;
	}
	*work = (struct work){ .kind = WORK_NOTHING };
}

CUresult work_clone(const struct work *work, struct work *ret_work)
{
	*ret_work = *work;
	if (work->kind == WORK_LAUNCH) {
		ret_work->launch.params = malloc(work->launch.params_bytes + 1);
		if (!ret_work->launch.params) {
			ret_work->kind = WORK_NOTHING;
			return CUDA_ERROR_OUT_OF_MEMORY;
		}
		memcpy(ret_work->launch.params, work->launch.params, work->launch.params_bytes);
		ret_work->launch.launch.params = ret_work->launch.params;
	}
	return CUDA_SUCCESS;
}

bool work_has_kernels(const struct work *work)
{
	return work->kind == WORK_LAUNCH || work->kind == WORK_CALLBACK || work->kind == WORK_GRAPH;
}

CUresult work_run(struct work *work, uint64_t start_ns, uint64_t *ret_end_ns)
{
	*ret_end_ns = start_ns;
	switch (work->kind) {
	case WORK_NOTHING:
		return CUDA_SUCCESS;
	case WORK_LAUNCH:
		return launch_run(&work->launch, start_ns, ret_end_ns);
	case WORK_COPY:
		return copy_run(&work->copy, start_ns, ret_end_ns);
	case WORK_FILL:
		return fill_run(&work->fill, start_ns, ret_end_ns);
	case WORK_CALLBACK:
		work->callback.function(work->callback.argument);
		*ret_end_ns = start_ns + DURATION_CALLBACK_NS;
		return CUDA_SUCCESS;
	case WORK_FREE:
		free_run(work->free_address);
		return CUDA_SUCCESS;
	case WORK_GRAPH:
		return graph_run(work->run, start_ns, ret_end_ns);
	}
	return CUDA_ERROR_UNKNOWN;
}

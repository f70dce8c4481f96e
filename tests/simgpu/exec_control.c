/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_control.c - branches, calls, returns, ends.
 *
 * A call by several lanes makes one frame for all of them; lanes of the same function in different frames meet again
 * behind their calls. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"
#include "module.h"

/* Registers and parameters of nested calls, per lane: more than any stack of a device, and what the host can bear. */
#define MAX_STACK_BYTES (2u << 20)
#define MAX_CALL_DEPTH  512 /* a device's stack would have ended long before */

HANDLER(nothing)
{
}

bool select_nothing(struct ptx_insn *insn)
{
	insn->run = nothing;
	return true;
}

/* --- branches --------------------------------------------------------------------------------- */

static void go_to(struct sim_warp *warp, uint32_t target)
{
	/* warp->pc is already behind the branch. */
	bool backwards = target < warp->pc;

	warp->pc = target;
	if (backwards)
		warp_note_spin(warp, 1);
}

/* Sends `mask` of the running group to `target`, the rest on. */
static void split(struct sim_warp *warp, uint32_t mask, uint32_t target)
{
	warp_save_group(warp);
	FOR_EACH_LANE(lane, mask)
	{
		warp->lane_pc[lane] = target;
	}
	warp->active = 0;
	warp->events |= WARP_RESELECT;
}

HANDLER(bra)
{
	if (mask == warp->active)
		go_to(warp, insn->target);
	else
		split(warp, mask, insn->target);
}

bool select_bra(struct ptx_insn *insn)
{
	insn->run = bra;
	return true;
}

HANDLER(brx)
{
	const struct ptx_branch_table *table = &warp->frame->function->tables[insn->target];
	const uint32_t *index = LANES_OF(const uint32_t, warp, insn->o[0]);
	uint32_t first = index[first_lane(mask)];
	bool uniform = mask == warp->active;

	FOR_EACH_LANE(lane, mask)
	{
		uniform = uniform && index[lane] == first;
		if (index[lane] >= table->n_targets) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "branch index %u of %u", index[lane],
				   table->n_targets);
			return;
		}
	}
	if (uniform) {
		go_to(warp, table->targets[first]);
		return;
	}
	warp_save_group(warp);
	FOR_EACH_LANE(lane, mask)
	{
		warp->lane_pc[lane] = table->targets[index[lane]];
	}
	warp->active = 0;
	warp->events |= WARP_RESELECT;
}

bool select_brx(struct ptx_insn *insn)
{
	insn->run = brx;
	return insn->actions[0] == PTX_M_IDX;
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Bytes of each lane's parameters, from one frame to another. */
#define COPY_PARAMS(n_bytes) \
	FOR_LANES(mask, { memcpy(to + (size_t)lane * to_stride, from + (size_t)lane * from_stride, n_bytes); })

static void copy_params(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride, uint32_t bytes,
			uint32_t mask)
{
	switch (bytes) { /* a copy of known size is a move */
	case 4:
		COPY_PARAMS(4);
		break;
	case 8:
		COPY_PARAMS(8);
		break;
	default:
		COPY_PARAMS(bytes);
	}
}

static void copy_argument(struct sim_warp *warp, const struct ptx_call_argument *argument, struct sim_frame *to,
			  const struct ptx_param *param, uint32_t mask)
{
	size_t stride = to->function->params_bytes;
	uint8_t *target = to->params + param->offset;

	if (argument->is_param) {
		copy_params(target, stride, warp->frame->params + argument->param.offset,
			    warp->frame->function->params_bytes, param->bytes, mask);
		return;
	}
	FOR_EACH_LANE(lane, mask)
	{
		uint64_t value = read_lane(warp, &argument->operand, lane);

		memcpy(target + lane * stride, &value, param->bytes < sizeof(value) ? param->bytes : sizeof(value));
	}
}

static void copy_result(struct sim_warp *warp, struct sim_frame *from, const struct ptx_param *param,
			struct sim_frame *to, const struct ptx_call_argument *result, uint32_t mask)
{
	size_t stride = from->function->params_bytes;
	const uint8_t *source = from->params + param->offset;

	if (result->is_param) {
		copy_params(to->params + result->param.offset, to->function->params_bytes, source, stride, param->bytes,
			    mask);
		return;
	}
	FOR_EACH_LANE(lane, mask)
	{
		uint64_t value = 0;

		memcpy(&value, source + lane * stride, param->bytes < sizeof(value) ? param->bytes : sizeof(value));
		write_lane(warp, &result->operand, lane, value);
	}
}

/* An indirect call's lists are checked when it happens; a direct one's were at load time. */
static bool arguments_fit(const struct ptx_call *call, const struct ptx_function *target)
{
	if (call->n_arguments != target->n_params || call->n_results != target->n_results)
		return false;
	for (uint32_t i = 0; i < call->n_arguments; i++)
		if (call->arguments[i].is_param ? call->arguments[i].param.bytes != target->params[i].bytes
						: call->arguments[i].operand.bytes != target->params[i].bytes)
			return false;
	for (uint32_t i = 0; i < call->n_results; i++)
		if (call->results[i].is_param ? call->results[i].param.bytes != target->results[i].bytes
					      : call->results[i].operand.bytes != target->results[i].bytes)
			return false;
	return true;
}

static struct sim_frame *enter_frame(struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_call *call,
				     const struct ptx_function *target, uint32_t mask)
{
	struct sim_frame *caller = warp->frame;
	uint32_t local_base = (caller->local_top + 15) & ~15u;
	uint32_t stack_bytes = caller->stack_bytes + target->params_bytes + target->registers_bytes / SIM_LANES;
	struct sim_frame *frame;

	if (caller->depth >= MAX_CALL_DEPTH || stack_bytes > MAX_STACK_BYTES) {
		warp_fault(warp, insn, first_lane(mask), SIM_ILLEGAL_ADDRESS, "calls nested too deeply in %.40s",
			   target->name);
		return NULL;
	}
	if (!warp_reserve_local(warp, local_base + target->local_bytes))
		return NULL;
	frame = frame_take(warp, target);
	if (frame == NULL) {
		warp_fault(warp, insn, first_lane(mask), SIM_NO_MEMORY, "out of host memory");
		return NULL;
	}
	frame->parent = caller;
	frame->call = call;
	frame->return_pc = warp->pc;
	frame->depth = caller->depth + 1;
	frame->mask = mask;
	frame->stack_bytes = stack_bytes;
	frame->local_base = local_base;
	frame->local_top = local_base + target->local_bytes;
	for (uint32_t i = 0; i < call->n_arguments; i++)
		copy_argument(warp, &call->arguments[i], frame, &target->params[i], mask);
	return frame;
}

/* Gives results back and lets the frame go when no lane is left in it. */
static void leave_frame(struct sim_warp *warp, struct sim_frame *frame, uint32_t mask)
{
	const struct ptx_call *call = frame->call;

	warp->bases[PTX_OPERAND_REG] = frame->parent->registers;
	for (uint32_t i = 0; i < call->n_results; i++)
		copy_result(warp, frame, &frame->function->results[i], frame->parent, &call->results[i], mask);
	frame->mask &= ~mask;
	if (frame->mask == 0)
		frame_release(warp->domain, frame);
}

static void call_function(struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_call *call,
			  const struct ptx_function *target, uint32_t mask)
{
	struct sim_frame *frame = enter_frame(warp, insn, call, target, mask);

	if (frame == NULL)
		return;
	if (target->builtin != NULL) {
		struct sim_frame *caller = warp->frame;

		warp->frame = frame;
		target->builtin(warp, insn, mask);
		warp->frame = caller;
		leave_frame(warp, frame, mask);
		return;
	}
	FOR_LANES(mask, { warp->lane_pc[lane] = 0; });
	FOR_LANES(mask, { warp->lane_frame[lane] = frame; });
	warp->active = 0;
	warp->events |= WARP_RESELECT;
}

static const struct ptx_function *function_at(const struct sim_warp *warp, uint64_t address)
{
	const struct ptx_module *module = warp->launch->module;

	for (uint32_t i = 0; i < module->n_functions; i++)
		if (module->functions[i]->address == address)
			return module->functions[i];
	return NULL;
}

/* Lanes that call the same function go together, one function after the other. */
static void call_by_address(struct sim_warp *warp, const struct ptx_insn *insn, const struct ptx_call *call,
			    uint32_t mask)
{
	uint64_t addresses[SIM_LANES];
	struct sim_frame *caller = warp->frame;

	FOR_EACH_LANE(lane, mask)
	{
		addresses[lane] = read_lane(warp, &insn->o[0], lane);
	}
	while (mask != 0) {
		uint32_t lead = first_lane(mask), same = 0;
		const struct ptx_function *target = function_at(warp, addresses[lead]);

		if (target == NULL || (!target->is_defined && target->builtin == NULL) || target->is_entry ||
		    !arguments_fit(call, target)) {
			warp_fault(warp, insn, lead, SIM_ILLEGAL_INSTRUCTION, "call of 0x%llx, which is %s",
				   (unsigned long long)addresses[lead],
				   target == NULL ? "no function" : "another kind of function");
			return;
		}
		FOR_EACH_LANE(lane, mask)
		{
			if (addresses[lane] == addresses[lead])
				same |= 1u << lane;
		}
		warp->frame = caller;
		call_function(warp, insn, call, target, same);
		if (warp->events & WARP_FAULT)
			return;
		mask &= ~same;
	}
}

HANDLER(call)
{
	const struct ptx_call *what = &warp->frame->function->calls[insn->target];

	warp_save_group(warp);
	if (what->target == NULL)
		call_by_address(warp, insn, what, mask);
	else
		call_function(warp, insn, what, what->target, mask);
}

bool select_call(struct ptx_insn *insn)
{
	insn->run = call;
	return true;
}

HANDLER(ret)
{
	struct sim_frame *frame = warp->frame;
	struct sim_frame *parent = frame->parent;
	uint32_t return_pc = frame->return_pc;

	if (parent == NULL) {
		warp_exit_lanes(warp, mask);
		return;
	}
	warp_save_group(warp);
	leave_frame(warp, frame, mask);
	FOR_LANES(mask, { warp->lane_pc[lane] = return_pc; });
	FOR_LANES(mask, { warp->lane_frame[lane] = parent; });
	warp->active = 0;
	warp->events |= WARP_RESELECT;
}

bool select_ret(struct ptx_insn *insn)
{
	insn->run = ret;
	return true;
}

HANDLER(exit_lanes)
{
	warp_exit_lanes(warp, mask);
}

bool select_exit(struct ptx_insn *insn)
{
	insn->run = exit_lanes;
	return true;
}

/* --- the stack -------------------------------------------------------------------------------- */

/* Lanes share one top: what the largest asks for is taken for all, so that their variables stay where they are. */
HANDLER(alloca_lanes)
{
	struct sim_frame *frame = warp->frame;
	uint64_t align = insn->o[2].kind == PTX_OPERAND_NONE ? 8 : read_lane(warp, &insn->o[2], first_lane(mask));
	uint64_t start, largest = 0;

	if (align == 0 || (align & (align - 1)) != 0 || align > 4096) {
		warp_fault(warp, insn, first_lane(mask), SIM_ILLEGAL_INSTRUCTION, "alignment %llu",
			   (unsigned long long)align);
		return;
	}
	FOR_EACH_LANE(lane, mask)
	{
		uint64_t bytes = read_lane(warp, &insn->o[1], lane);

		largest = bytes > largest ? bytes : largest;
	}
	start = (frame->local_top + align - 1) & ~(align - 1);
	if (!warp_reserve_local(warp, largest > UINT32_MAX / 2 ? UINT32_MAX : (uint32_t)(start + largest)))
		return;
	frame->local_top = (uint32_t)(start + largest);
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, start);
	}
}

HANDLER(stacksave)
{
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, warp->frame->local_top);
	}
}

/* Only when all lanes of the frame restore together: another lane may still use what lies higher. */
HANDLER(stackrestore)
{
	struct sim_frame *frame = warp->frame;
	uint64_t top = 0;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t saved = read_lane(warp, &insn->o[0], lane);

		top = saved > top ? saved : top;
	}
	if (top < frame->local_base + frame->function->local_bytes || top > frame->local_top) {
		warp_fault(warp, insn, first_lane(mask), SIM_ILLEGAL_INSTRUCTION, "a stack that was not saved here");
		return;
	}
	if ((frame->mask & ~mask) == 0)
		frame->local_top = (uint32_t)top;
}

static bool is_size(const struct ptx_insn *insn)
{
	return insn->types[0] == PTX_U32 || insn->types[0] == PTX_U64;
}

bool select_alloca(struct ptx_insn *insn)
{
	insn->run = alloca_lanes;
	return is_size(insn);
}

bool select_stacksave(struct ptx_insn *insn)
{
	insn->run = stacksave;
	return is_size(insn);
}

bool select_stackrestore(struct ptx_insn *insn)
{
	insn->run = stackrestore;
	return is_size(insn);
}

HANDLER(trap)
{
	warp_fault(warp, insn, first_lane(mask), SIM_TRAP, insn->op == PTX_OP_BRKPT ? "breakpoint" : "trap");
}

bool select_trap(struct ptx_insn *insn)
{
	insn->run = trap;
	return true;
}

/* PTX allows 0 to twice the time asked for, at most 1 ms; simgpu sleeps just as long as asked. */
HANDLER(nanosleep_lanes)
{
	const uint32_t *duration_ns = LANES_OF(const uint32_t, warp, insn->o[0]);
	uint32_t longest_ns = 0;

	FOR_EACH_LANE(lane, mask)
	{
		if (duration_ns[lane] > longest_ns)
			longest_ns = duration_ns[lane];
	}
	if (longest_ns > 1000000)
		longest_ns = 1000000;
	warp->domain->n_polls += POLLS_OF_A_WAIT;
	warp_note_spin(warp, 64);
	warp->cycle =
		sim_clock_cycle(warp->clock, warp_time(warp, warp->cycle) + ((uint64_t)longest_ns << SIM_TIME_BITS));
}

bool select_nanosleep(struct ptx_insn *insn)
{
	insn->run = nanosleep_lanes;
	return insn->types[0] == PTX_U32;
}

/* --- dependent launches ----------------------------------------------------------------------- */

/* The first time counts for its block. */
HANDLER(launch_dependents)
{
	struct sim_block *block = warp->block;

	(void)insn;
	(void)mask;
	if (!block->has_triggered)
		domain_note_trigger(warp->domain, block, warp_time(warp, warp->cycle));
}

/* The grids this one depends on have run before it; what is left of waiting for them is time. */
HANDLER(wait_for_dependencies)
{
	uint64_t until = warp->launch->launch->dependencies_end_ns << SIM_TIME_BITS;

	(void)insn;
	(void)mask;
	if (until > warp_time(warp, warp->cycle))
		warp->cycle = sim_clock_cycle(warp->clock, until);
}

bool select_griddepcontrol(struct ptx_insn *insn)
{
	insn->run = has_flag(insn, PTX_FLAG(LAUNCH_DEPENDENTS)) ? launch_dependents : wait_for_dependencies;
	return true;
}

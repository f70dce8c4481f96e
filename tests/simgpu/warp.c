/* SPDX-License-Identifier: Apache-2.0
 *
 * warp.c - the instruction loop of a warp, its groups of lanes, its frames.
 *
 * Time. A warp's `cycle` is when its next instruction issues. An instruction takes its cost, or a cycle for each warp
 * that competes for the same of the SM's four partitions, whichever is more: what a fair scheduler gives. Waiting for
 * memory, a barrier or a time is not competing. Instructions that other warps can observe (PTX_ORDERED) run only when
 * no other event of the launch is earlier; the rest run ahead in batches.
 *
 * Fairness inside a warp. Reconvergence prefers the lowest program counter, which alone would let a lane spin for ever
 * on what a lane behind it must do. So loops are counted, polling instructions weigh more, and past SPIN_LIMIT the
 * group that ran longest ago gets a slice of SLICE_INSTRUCTIONS.
 *
 * Runs on the thread that runs the domain.
 */
#include "exec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define BATCH_INSTRUCTIONS 64
#define SPIN_LIMIT         256
#define SLICE_INSTRUCTIONS 256
/* A wait for memory that is worth an event; a shorter one is time spent. */
#define STALL_CYCLES 48

const uint16_t sim_cost_cycles[PTX_N_COSTS] = {
#define PTX_COST(id, cycles) [PTX_COST_##id] = cycles,
#include "ptx_cost.def"
};

/* --- faults ----------------------------------------------------------------------------------- */

void warp_fault(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, enum sim_status status,
		const char *format, ...)
{
	char what[128], message[sizeof(warp->domain->message)];
	va_list arguments;

	warp->events |= WARP_FAULT;
	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(message, sizeof(message), "%s: kernel %.60s, PTX line %u, block (%u,%u,%u), thread (%u,%u,%u)", what,
		 warp->launch->function->name, insn == NULL ? 0 : insn->line, warp->block->ctaid[0],
		 warp->block->ctaid[1], warp->block->ctaid[2], warp->tid[0][lane], warp->tid[1][lane],
		 warp->tid[2][lane]);
	domain_fail(warp->domain, status, message);
}

/* --- frames ----------------------------------------------------------------------------------- */

struct sim_frame *frame_take(struct sim_warp *warp, const struct ptx_function *function)
{
	struct sim_frame **pool = &warp->domain->free_frames[function->index];
	size_t params_bytes = (size_t)function->params_bytes * SIM_LANES;
	size_t header = (sizeof(struct sim_frame) + 63) & ~(size_t)63;
	size_t registers = ((size_t)function->registers_bytes + 63) & ~(size_t)63;
	struct sim_frame *frame = *pool;

	if (frame != NULL) {
		*pool = frame->parent;
	} else {
		size_t bytes = (header + registers + params_bytes + 63) & ~(size_t)63;

		frame = aligned_alloc(64, bytes);
		if (frame == NULL)
			return NULL;
		frame->registers = (uint8_t *)frame + header;
		frame->params = frame->registers + registers;
	}
	/* A register that is read before it is written must not make a run differ from the next. */
	memset(frame->registers, 0, registers + params_bytes);
	frame->parent = NULL;
	frame->function = function;
	frame->call = NULL;
	frame->return_pc = 0;
	frame->depth = 0;
	frame->id = warp->next_frame_id++;
	frame->mask = 0;
	frame->stack_bytes = 0;
	frame->local_base = 0;
	frame->local_top = function->local_bytes;
	return frame;
}

void frame_release(struct sim_domain *domain, struct sim_frame *frame)
{
	struct sim_frame **pool = &domain->free_frames[frame->function->index];

	frame->parent = *pool;
	*pool = frame;
}

bool warp_start(struct sim_warp *warp, uint64_t cycle)
{
	struct sim_block *block = warp->block;
	uint32_t first = warp->index * SIM_LANES;
	uint32_t n_lanes = block->n_threads - first < SIM_LANES ? block->n_threads - first : SIM_LANES;
	const uint32_t *shape = warp->launch->launch->block;
	struct sim_frame *frame = frame_take(warp, warp->launch->function);

	if (frame == NULL)
		return false;
	warp->live = n_lanes == SIM_LANES ? SIM_ALL_LANES : (1u << n_lanes) - 1;
	frame->mask = warp->live;
	for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
		uint32_t thread = first + lane;

		warp->tid[0][lane] = thread % shape[0];
		warp->tid[1][lane] = thread / shape[0] % shape[1];
		warp->tid[2][lane] = thread / shape[0] / shape[1];
		warp->lane_pc[lane] = 0;
		warp->lane_frame[lane] = frame;
	}
	warp->cycle = cycle;
	warp->load_ready = cycle;
	if (warp->launch->function->local_bytes > 0 && !warp_reserve_local(warp, warp->launch->function->local_bytes))
		return false;
	warp_select_group(warp);
	return true;
}

/* --- groups ----------------------------------------------------------------------------------- */

void warp_save_group(struct sim_warp *warp)
{
	struct sim_frame *frame = warp->frame;
	uint64_t stamp = ++warp->stamp;
	uint32_t pc = warp->pc;

	FOR_LANES(warp->active, { warp->lane_pc[lane] = pc; });
	FOR_LANES(warp->active, { warp->lane_frame[lane] = frame; });
	FOR_LANES(warp->active, { warp->lane_stamp[lane] = stamp; });
}

/* Does a group at (a, pc_a) run before one at (b, pc_b)? */
static bool runs_first(const struct sim_frame *a, uint32_t pc_a, const struct sim_frame *b, uint32_t pc_b)
{
	if (a == b)
		return pc_a < pc_b;
	return a->depth != b->depth ? a->depth > b->depth : a->id < b->id;
}

static uint32_t leading_lane(const struct sim_warp *warp, uint32_t runnable)
{
	uint32_t lead = first_lane(runnable);

	if (warp->n_executed < warp->slice_end && runnable >> warp->slice_lane & 1)
		return warp->slice_lane;
	FOR_EACH_LANE(lane, runnable & ~(1u << lead))
	{
		if (runs_first(warp->lane_frame[lane], warp->lane_pc[lane], warp->lane_frame[lead],
			       warp->lane_pc[lead]))
			lead = lane;
	}
	return lead;
}

/* The group of lane `lead`. */
static void gather_group(struct sim_warp *warp, uint32_t lead, uint32_t runnable)
{
	warp->frame = warp->lane_frame[lead];
	warp->pc = warp->lane_pc[lead];
	FOR_EACH_LANE(lane, runnable)
	{
		if (warp->lane_frame[lane] != warp->frame)
			continue;
		if (warp->lane_pc[lane] == warp->pc)
			warp->active |= 1u << lane;
		else if (warp->lane_pc[lane] > warp->pc && warp->lane_pc[lane] < warp->reconverge_pc)
			warp->reconverge_pc = warp->lane_pc[lane];
	}
}

/* Is the whole warp where its lane 0 is? The usual case: asked first, for every call and return. */
static bool lanes_agree(const struct sim_warp *warp, uint32_t runnable)
{
	uint64_t frame = (uint64_t)(uintptr_t)warp->lane_frame[0], frames_differ = 0;
	uint32_t pc = warp->lane_pc[0], pcs_differ = 0;

	if (runnable != SIM_ALL_LANES)
		return false;
	FOR_LANES(SIM_ALL_LANES, { pcs_differ |= warp->lane_pc[lane] ^ pc; });
	FOR_LANES(SIM_ALL_LANES, { frames_differ |= (uint64_t)(uintptr_t)warp->lane_frame[lane] ^ frame; });
	return pcs_differ == 0 && frames_differ == 0;
}

void warp_select_group(struct sim_warp *warp)
{
	uint32_t runnable = warp_runnable(warp);

	warp->events &= ~(uint32_t)WARP_RESELECT;
	warp->active = 0;
	warp->reconverge_pc = SIM_NO_PC;
	if (runnable == 0)
		return;
	if (lanes_agree(warp, runnable)) {
		warp->frame = warp->lane_frame[0];
		warp->pc = warp->lane_pc[0];
		warp->active = runnable;
	} else {
		gather_group(warp, leading_lane(warp, runnable), runnable);
	}
	warp->code = warp->frame->function->code;
	warp->bases[PTX_OPERAND_REG] = warp->frame->registers;
	warp->bases[PTX_OPERAND_CONST] = warp->frame->function->constants;
}

/* Gives the group that ran longest ago a slice. */
static void rotate(struct sim_warp *warp, uint32_t others)
{
	uint32_t oldest = first_lane(others);

	FOR_EACH_LANE(lane, others)
	{
		if (warp->lane_stamp[lane] < warp->lane_stamp[oldest])
			oldest = lane;
	}
	warp->slice_lane = oldest;
	warp->slice_end = warp->n_executed + SLICE_INSTRUCTIONS;
	warp->spin = 0;
	warp->events |= WARP_RESELECT;
}

void warp_note_spin(struct sim_warp *warp, uint32_t weight)
{
	uint32_t others = warp_runnable(warp) & ~warp->active;

	if (weight > 1)
		warp->domain->n_polls++;
	if (others == 0)
		return;
	if (warp->slice_end != 0) {
		if (warp->n_executed < warp->slice_end)
			return;
		warp->slice_end = 0;
		warp->events |= WARP_RESELECT;
		return;
	}
	warp->spin += weight;
	if (warp->spin >= SPIN_LIMIT)
		rotate(warp, others);
}

/* Frees the frames which the ended lanes leave empty. */
static void leave_frames(struct sim_warp *warp, struct sim_frame *frame, uint32_t mask)
{
	while (frame != NULL) {
		struct sim_frame *parent = frame->parent;

		frame->mask &= ~mask;
		if (frame->mask == 0)
			frame_release(warp->domain, frame);
		frame = parent;
	}
}

void warp_drop_frames(struct sim_warp *warp)
{
	FOR_EACH_LANE(lane, warp->live)
	{
		leave_frames(warp, warp->lane_frame[lane], 1u << lane);
	}
	warp->live = 0;
}

void warp_exit_lanes(struct sim_warp *warp, uint32_t mask)
{
	warp_save_group(warp);
	warp->live &= ~mask;
	leave_frames(warp, warp->frame, mask);
	warp->active = 0;
	warp->events |= WARP_RESELECT;
	if (warp->live == 0)
		return;
	if (warp->parked_sync != 0)
		warp_recheck_sync(warp);
	if (warp->parked_barrier != 0)
		warp_recheck_barrier(warp);
	if (warp->cluster_arrived != 0)
		warp_recheck_cluster(warp);
}

void warp_wake(struct sim_warp *warp, uint64_t cycle)
{
	warp->wait = WAIT_NONE;
	if (cycle > warp->cycle)
		warp->cycle = cycle;
	warp->event.time = warp_time(warp, warp->cycle);
	if (warp->event.position != 0)
		queue_remove(warp->domain, &warp->event);
	queue_push(warp->domain, &warp->event);
}

/* --- the loop --------------------------------------------------------------------------------- */

static bool other_event_first(const struct sim_warp *warp)
{
	const struct sim_domain *domain = warp->domain;

	return domain->n_queue > 0 && queued_before(&domain->queue[0], warp_time(warp, warp->cycle), warp->event.order);
}

static void charge(struct sim_warp *warp, uint32_t cost)
{
	uint32_t cycles = sim_cost_cycles[cost];

	warp->cycle += cycles > *warp->n_ready ? cycles : *warp->n_ready;
}

/* The warp has nothing to do before its `cycle`. */
static enum warp_stop stop_until_cycle(struct sim_warp *warp, enum warp_stop stop)
{
	warp->event.time = warp_time(warp, warp->cycle);
	return stop;
}

static uint32_t guarded_lanes(const struct sim_warp *warp, const struct ptx_insn *insn)
{
	uint32_t guard;

	if (insn->guard == PTX_NO_GUARD)
		return warp->active;
	memcpy(&guard, warp->bases[PTX_OPERAND_REG] + insn->guard, sizeof(guard));
	return warp->active & (insn->guard_negate ? ~guard : guard);
}

/* Runs one instruction; true when the warp is blocked or has a fault. */
static bool step(struct sim_warp *warp, const struct ptx_insn *insn)
{
	uint32_t mask = guarded_lanes(warp, insn);
	bool blocked;

	warp->n_executed++;
	warp->pc++;
	if (mask != 0)
		insn->run(warp, insn, mask);
	if (warp->events & WARP_FAULT)
		return true;
	blocked = warp->events & WARP_BLOCKED;
	if (!blocked)
		charge(warp, insn->cost);
	if (warp->events != 0 || warp->pc >= warp->reconverge_pc) {
		warp_save_group(warp);
		warp->events = 0;
		warp_select_group(warp);
	}
	return blocked;
}

enum warp_stop warp_run(struct sim_warp *warp)
{
	if (warp->active == 0)
		warp_select_group(warp);
	for (uint32_t n = 0; warp->active != 0; n++) {
		const struct ptx_insn *insn = &warp->code[warp->pc];
		uint64_t issue = warp->cycle;

		if (insn->properties & PTX_WAIT_LOADS && warp->load_ready > issue)
			warp->cycle = warp->load_ready;
		if (warp->cycle - issue >= STALL_CYCLES)
			return stop_until_cycle(warp, WARP_STOP_STALLED);
		if (insn->properties & PTX_ORDERED ? other_event_first(warp) : n >= BATCH_INSTRUCTIONS)
			return stop_until_cycle(warp, WARP_STOP_REQUEUE);
		issue = warp->cycle;
		if (step(warp, insn))
			return warp->events & WARP_FAULT ? WARP_STOP_FAULT : WARP_STOP_BLOCKED;
		if (warp->active != 0 && warp->cycle - issue >= STALL_CYCLES)
			return stop_until_cycle(warp, WARP_STOP_STALLED);
	}
	if (warp->live == 0) {
		warp->is_done = true;
		return WARP_STOP_DONE;
	}
	/* Every lane waits for another lane. */
	warp->wait = WAIT_LANES;
	return WARP_STOP_BLOCKED;
}

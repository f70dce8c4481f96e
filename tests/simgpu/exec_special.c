/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_special.c - special registers and moves.
 *
 * A clock is read when the instruction issues. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"

/* Values that differ from lane to lane. */
static uint64_t lane_special(const struct sim_warp *warp, uint32_t sreg, uint32_t lane)
{
	switch (sreg) {
	case PTX_SREG_TID_X:
	case PTX_SREG_TID_Y:
	case PTX_SREG_TID_Z:
		return warp->tid[sreg - PTX_SREG_TID_X][lane];
	case PTX_SREG_LANEID:
		return lane;
	case PTX_SREG_LANEMASK_EQ:
		return 1u << lane;
	case PTX_SREG_LANEMASK_LE:
		return (2u << lane) - 1;
	case PTX_SREG_LANEMASK_LT:
		return (1u << lane) - 1;
	case PTX_SREG_LANEMASK_GE:
		return 0u - (1u << lane);
	default: /* PTX_SREG_LANEMASK_GT */
		return lane == SIM_LANES - 1 ? 0 : 0u - (2u << lane);
	}
}

static uint64_t cluster_special(const struct sim_warp *warp, uint32_t sreg)
{
	const struct sim_launch_state *state = warp->launch;
	const struct sim_block *block = warp->block;
	const uint32_t *shape = state->cluster_shape;

	switch (sreg) {
	case PTX_SREG_IS_EXPLICIT_CLUSTER:
		return state->is_cluster;
	case PTX_SREG_CLUSTERID_X:
	case PTX_SREG_CLUSTERID_Y:
	case PTX_SREG_CLUSTERID_Z:
		sreg -= PTX_SREG_CLUSTERID_X;
		return block->ctaid[sreg] / shape[sreg];
	case PTX_SREG_NCLUSTERID_X:
	case PTX_SREG_NCLUSTERID_Y:
	case PTX_SREG_NCLUSTERID_Z:
		sreg -= PTX_SREG_NCLUSTERID_X;
		return state->launch->grid[sreg] / shape[sreg];
	case PTX_SREG_CLUSTER_CTAID_X:
	case PTX_SREG_CLUSTER_CTAID_Y:
	case PTX_SREG_CLUSTER_CTAID_Z:
		sreg -= PTX_SREG_CLUSTER_CTAID_X;
		return block->ctaid[sreg] % shape[sreg];
	case PTX_SREG_CLUSTER_NCTAID_X:
	case PTX_SREG_CLUSTER_NCTAID_Y:
	case PTX_SREG_CLUSTER_NCTAID_Z:
		return shape[sreg - PTX_SREG_CLUSTER_NCTAID_X];
	case PTX_SREG_CLUSTER_CTARANK:
		return block->rank;
	default: /* PTX_SREG_CLUSTER_NCTARANK */
		return state->cluster_blocks;
	}
}

/* 0 unless the launch is cooperative: a barrier across the grid checks that. */
static uint64_t workspace_address(const struct sim_launch_state *state)
{
	return state->launch->is_cooperative ? state->device->memory.param_base + SIM_WORKSPACE_OFFSET : 0;
}

/* Values that are the same for the whole warp. */
static uint64_t warp_special(const struct sim_warp *warp, uint32_t sreg)
{
	const struct sim_launch_state *state = warp->launch;
	const struct sim_config *config = &state->device->config;
	uint64_t clock = warp->clock->offset_cycles + warp->cycle;

	switch (sreg) {
	case PTX_SREG_NTID_X:
	case PTX_SREG_NTID_Y:
	case PTX_SREG_NTID_Z:
		return state->launch->block[sreg - PTX_SREG_NTID_X];
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z:
		return warp->block->ctaid[sreg - PTX_SREG_CTAID_X];
	case PTX_SREG_NCTAID_X:
	case PTX_SREG_NCTAID_Y:
	case PTX_SREG_NCTAID_Z:
		return state->launch->grid[sreg - PTX_SREG_NCTAID_X];
	case PTX_SREG_WARPID:
		return (warp->block->slot * state->block_warps + warp->index) % config->max_warps_per_sm;
	case PTX_SREG_NWARPID:
		return config->max_warps_per_sm;
	case PTX_SREG_SMID:
		return warp->block->sm;
	case PTX_SREG_NSMID:
		return config->n_sms;
	case PTX_SREG_GRIDID:
		return state->launch->grid_id;
	case PTX_SREG_CLOCK:
		return (uint32_t)clock;
	case PTX_SREG_CLOCK_HI:
		return clock >> 32;
	case PTX_SREG_CLOCK64:
		return clock;
	case PTX_SREG_GLOBALTIMER:
		return sim_globaltimer(config, warp->clock, warp->cycle);
	case PTX_SREG_GLOBALTIMER_LO:
		return (uint32_t)sim_globaltimer(config, warp->clock, warp->cycle);
	case PTX_SREG_GLOBALTIMER_HI:
		return sim_globaltimer(config, warp->clock, warp->cycle) >> 32;
	case PTX_SREG_DYNAMIC_SMEM_SIZE:
		return state->launch->dynamic_shared_bytes;
	case PTX_SREG_TOTAL_SMEM_SIZE:
	case PTX_SREG_AGGR_SMEM_SIZE:
		return state->shared_bytes;
	case PTX_SREG_DYNAMIC_SHARED:
		return state->dynamic_shared_offset;
	case PTX_SREG_LOCAL:
		return warp->frame->local_base;
	case PTX_SREG_RESERVED_SMEM_BEGIN:
	case PTX_SREG_RESERVED_SMEM_0:
		return SIM_RESERVED_SHARED_OFFSET;
	case PTX_SREG_RESERVED_SMEM_1:
		return SIM_RESERVED_SHARED_OFFSET + SIM_RESERVED_SHARED_BYTES / 2;
	case PTX_SREG_RESERVED_SMEM_END:
		return SIM_RESERVED_SHARED_OFFSET + SIM_RESERVED_SHARED_BYTES;
	case PTX_SREG_RESERVED_SMEM_CAP:
		return SIM_RESERVED_SHARED_BYTES;
	case PTX_SREG_ENVREG1:
		return workspace_address(state) >> 32;
	case PTX_SREG_ENVREG2:
		return (uint32_t)workspace_address(state);
	default:
		return sreg >= PTX_SREG_CURRENT_GRAPH_EXEC ? 0 : cluster_special(warp, sreg);
	}
}

static bool is_clock(uint32_t sreg)
{
	return sreg >= PTX_SREG_CLOCK && sreg <= PTX_SREG_GLOBALTIMER_HI;
}

static bool differs_by_lane(uint32_t sreg)
{
	return sreg <= PTX_SREG_TID_Z || sreg == PTX_SREG_LANEID ||
	       (sreg >= PTX_SREG_LANEMASK_EQ && sreg <= PTX_SREG_LANEMASK_GT);
}

HANDLER(read_lane_special)
{
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane,
			   lane_special(warp, insn->target, lane) + (uint64_t)insn->displacement[0]);
	}
}

HANDLER(read_warp_special)
{
	uint64_t value = warp_special(warp, insn->target) + (uint64_t)insn->displacement[0];

	if (insn->o[0].bytes == 4) {
		uint32_t *to = LANES_OF(uint32_t, warp, insn->o[0]);

		FOR_LANES(mask, { to[lane] = (uint32_t)value; });
		return;
	}
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, value);
	}
}

void warp_tell_truth(struct sim_warp *warp, enum sim_truth_register reg, uint64_t value, uint32_t lanes)
{
	struct sim_launch_state *state = warp->launch;
	const uint32_t *grid = state->launch->grid, *ctaid = warp->block->ctaid;
	uint64_t true_ps = sim_clock_ps(warp->clock, warp->cycle);
	struct sim_truth_read read = {
		.grid_id = state->launch->grid_id,
		.block = ctaid[0] + (uint64_t)grid[0] * (ctaid[1] + (uint64_t)grid[1] * ctaid[2]),
		.value = value,
		.time_ns = state->device->config.timer_base_ns + true_ps / 1000,
		.time_ps = (uint32_t)(true_ps % 1000),
		.launch = state->number,
		.lanes = lanes,
		.device = state->device->number,
		.sm = (uint16_t)warp->block->sm,
		.warp = (uint16_t)warp->index,
		.reg = (uint16_t)reg,
	};

	sim_truth_add(&warp->domain->truth, &read);
}

HANDLER(read_clock)
{
	if (warp->launch->tells_truth)
		warp_tell_truth(warp, insn->target - PTX_SREG_CLOCK, warp_special(warp, insn->target), mask);
	read_warp_special(warp, insn, mask);
}

bool select_read_special(struct ptx_insn *insn)
{
	if (is_clock(insn->target))
		insn->run = read_clock;
	else
		insn->run = differs_by_lane(insn->target) ? read_lane_special : read_warp_special;
	return true;
}

_Static_assert(PTX_SREG_GLOBALTIMER_HI - PTX_SREG_CLOCK == SIM_TRUTH_GLOBALTIMER_HI,
	       "the clocks stand in the order of enum sim_truth_register");

/* --- mov -------------------------------------------------------------------------------------- */

UNARY(mov_16, uint16_t, uint16_t, a)
UNARY(mov_32, uint32_t, uint32_t, a)
UNARY(mov_64, uint64_t, uint64_t, a)

HANDLER(mov_128)
{
	FOR_EACH_LANE(lane, mask)
	{
		memmove(LANES_OF(uint64_t, warp, insn->o[0]) + 2 * lane,
			LANES_OF(const uint64_t, warp, insn->o[1]) + 2 * lane, 16);
	}
}

HANDLER(mov_pred)
{
	write_predicate(warp, &insn->o[0], read_predicate(warp, &insn->o[1]), mask);
}

static void read_wide(const struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane, uint64_t value[2])
{
	value[0] = read_lane(warp, operand, lane);
	value[1] = operand->bytes == 16 ? LANES_OF(const uint64_t, warp, *operand)[2 * lane + 1] : 0;
}

/* {a, b} <- c: the parts of a value, lowest first. */
HANDLER(mov_unpack)
{
	const struct ptx_operand *parts = &warp->frame->function->elements[insn->o[0].offset];
	uint32_t bytes = insn->o[0].bytes;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t value[2];

		read_wide(warp, &insn->o[1], lane, value);
		for (uint32_t i = 0; i < insn->o[0].n_elements; i++) {
			uint64_t part = 0;

			memcpy(&part, (const uint8_t *)value + (size_t)i * bytes, bytes);
			write_lane(warp, &parts[i], lane, part);
		}
	}
}

/* c <- {a, b} */
HANDLER(mov_pack)
{
	const struct ptx_operand *parts = &warp->frame->function->elements[insn->o[1].offset];
	uint32_t bytes = insn->o[1].bytes;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t value[2] = { 0, 0 };

		for (uint32_t i = 0; i < insn->o[1].n_elements; i++) {
			uint64_t part = read_lane(warp, &parts[i], lane);

			memcpy((uint8_t *)value + (size_t)i * bytes, &part, bytes);
		}
		write_lane(warp, &insn->o[0], lane, value[0]);
		if (insn->o[0].bytes == 16)
			LANES_OF(uint64_t, warp, insn->o[0])[2 * lane + 1] = value[1];
	}
}

bool select_mov(struct ptx_insn *insn)
{
	if (insn->o[0].kind == PTX_OPERAND_VECTOR) {
		insn->run = mov_unpack;
		return insn->o[0].bytes <= 8;
	}
	if (insn->o[1].kind == PTX_OPERAND_VECTOR) {
		insn->run = mov_pack;
		return insn->o[1].bytes <= 8;
	}
	switch (ptx_type_bytes[insn->types[0]]) {
	case 0:
		insn->run = mov_pred;
		return insn->types[0] == PTX_PRED;
	case 2:
		insn->run = mov_16;
		return true;
	case 4:
		insn->run = mov_32;
		return true;
	case 8:
		insn->run = mov_64;
		return true;
	case 16:
		insn->run = mov_128;
		return true;
	default:
		return false;
	}
}

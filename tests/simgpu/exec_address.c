/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_address.c - addresses as values: of which space, block or cluster they are; fences and cache policies, which
 * name no address at all. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"

/* --- address arithmetic ----------------------------------------------------------------------- */

static uint64_t space_base(const struct sim_warp *warp, uint8_t space)
{
	const struct sim_memory *memory = &warp->launch->device->memory;

	switch (space) {
	case PTX_M_SHARED:
	case PTX_M_CLUSTER:
		return memory->shared_base;
	case PTX_M_LOCAL:
		return memory->local_base;
	case PTX_M_PARAM:
		return memory->param_base;
	default:
		return 0; /* global and constant addresses are generic addresses */
	}
}

HANDLER(cvta)
{
	uint64_t base = space_base(warp, insn->spaces[0]);

	if (has_flag(insn, PTX_FLAG(TO)))
		base = 0 - base;
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, read_lane(warp, &insn->o[1], lane) + base);
	}
}

bool select_cvta(struct ptx_insn *insn)
{
	insn->run = cvta;
	return insn->types[0] == PTX_U64 && insn->n_spaces == 1;
}

/* Constants have no window of their own: they lie among the globals. */
static bool is_constant(const struct sim_warp *warp, uint64_t address)
{
	const struct ptx_module *module = warp->frame->function->module;

	for (uint32_t i = 0; i < module->n_symbols; i++)
		if (module->symbols[i].kind == PTX_SYMBOL_CONST &&
		    address - module->symbols[i].address < module->symbols[i].bytes)
			return true;
	return false;
}

static bool in_space(const struct sim_warp *warp, uint8_t space, uint64_t address)
{
	uint64_t segment = (address - warp->launch->device->memory.window) / SIM_SEGMENT_BYTES;

	switch (space) {
	case PTX_M_SHARED:
		return segment == 0 &&
		       ((address - warp->launch->device->memory.window) >> SIM_RANK_SHIFT == 0 ||
			(address - warp->launch->device->memory.window) >> SIM_RANK_SHIFT == warp->block->rank + 1);
	case PTX_M_CLUSTER:
		return segment == 0;
	case PTX_M_LOCAL:
		return segment == 1;
	case PTX_M_PARAM:
		return segment == 2;
	case PTX_M_GLOBAL:
		return segment > 2 && !is_constant(warp, address);
	default:
		return segment > 2 && is_constant(warp, address);
	}
}

HANDLER(isspacep)
{
	uint32_t result = 0;

	FOR_EACH_LANE(lane, mask)
	{
		if (in_space(warp, insn->spaces[0], read_lane(warp, &insn->o[2], lane)))
			result |= 1u << lane;
	}
	write_predicate(warp, &insn->o[0], result, mask);
}

bool select_isspacep(struct ptx_insn *insn)
{
	insn->run = isspacep;
	return insn->n_spaces == 1;
}

/* The address that means, in block `rank` of the cluster, what `address` means in this one. */
HANDLER(mapa)
{
	bool generic = insn->n_spaces == 0;
	uint64_t base = generic ? warp->launch->device->memory.shared_base : 0;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t address = read_lane(warp, &insn->o[1], lane) - base;
		uint32_t rank = LANES_OF(const uint32_t, warp, insn->o[2])[lane];
		uint64_t offset = address & ((1u << SIM_RANK_SHIFT) - 1);

		write_lane(warp, &insn->o[0], lane, base + ((uint64_t)(rank + 1) << SIM_RANK_SHIFT) + offset);
	}
}

bool select_mapa(struct ptx_insn *insn)
{
	insn->run = mapa;
	return insn->types[0] == PTX_U64 || insn->types[0] == PTX_U32;
}

HANDLER(getctarank)
{
	uint64_t base = insn->n_spaces == 0 ? warp->launch->device->memory.shared_base : 0;

	FOR_EACH_LANE(lane, mask)
	{
		uint64_t rank = (read_lane(warp, &insn->o[1], lane) - base) >> SIM_RANK_SHIFT;

		write_lane(warp, &insn->o[0], lane, rank == 0 ? warp->block->rank : rank - 1);
	}
}

bool select_getctarank(struct ptx_insn *insn)
{
	insn->run = getctarank;
	return insn->types[0] == PTX_U64 || insn->types[0] == PTX_U32;
}

/* A policy is a number that no access looks at. */
HANDLER(createpolicy)
{
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, 0);
	}
}

bool select_createpolicy(struct ptx_insn *insn)
{
	insn->run = createpolicy;
	return insn->types[0] == PTX_B64;
}

/* --- fences ----------------------------------------------------------------------------------- */

HANDLER(fence)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool select_fence(struct ptx_insn *insn)
{
	insn->run = fence;
	if (insn->scope == PTX_M_CTA || insn->scope == PTX_M_NONE)
		insn->cost = PTX_COST_FENCE_CTA;
	else if (insn->scope == PTX_M_SYS)
		insn->cost = PTX_COST_FENCE_SYS;
	return true;
}

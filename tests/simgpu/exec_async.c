/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_async.c - asynchronous copies.
 *
 * The bytes move when the instruction issues, which a correct program cannot tell from later; what is asynchronous is
 * the completion: a group, or an mbarrier, learns of it LATENCY_ASYNC cycles on. Bulk copies take longer the larger
 * they are. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"

#define F(id) PTX_FLAG(id)

#define BULK_BYTES_PER_CYCLE 64
#define N_GROUPS             (sizeof(((struct sim_warp *)0)->async_groups) / sizeof(uint64_t))

static void copy_lane(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
	uint32_t i = 0;

	for (; i + 4 <= bytes; i += 4) {
		uint32_t word = __atomic_load_n((const uint32_t *)(const void *)(from + i), __ATOMIC_RELAXED);

		__atomic_store_n((uint32_t *)(void *)(to + i), word, __ATOMIC_RELAXED);
	}
	for (; i < bytes; i++)
		to[i] = from[i];
}

/* The third operand of cp.async: as many bytes as it says, none where it is a true predicate. */
static uint32_t bytes_to_read(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint32_t bytes)
{
	const struct ptx_operand *option = &insn->o[3];

	if (option->kind == PTX_OPERAND_NONE)
		return bytes;
	if (option->bytes == 0)
		return read_lane(warp, option, lane) != 0 ? 0 : bytes;
	return (uint32_t)read_lane(warp, option, lane);
}

/* cp.async [shared], [global], size {, bytes to read: the rest is zero} */
HANDLER(copy)
{
	uint64_t ready = warp->cycle + sim_cost_cycles[PTX_COST_LATENCY_ASYNC];

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t bytes = (uint32_t)read_lane(warp, &insn->o[2], lane);
		uint32_t n = bytes_to_read(warp, insn, lane, bytes);
		uint8_t *to;
		const uint8_t *from;

		if (bytes != 4 && bytes != 8 && bytes != 16) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "copy of %u bytes", bytes);
			return;
		}
		if (n > bytes)
			n = bytes;
		to = lane_pointer(warp, insn, lane, PTX_M_SHARED, lane_address(warp, insn, 0, lane), bytes);
		if (to == NULL)
			return;
		memset(to + n, 0, bytes - n);
		if (n == 0)
			continue;
		from = lane_pointer(warp, insn, lane, PTX_M_GLOBAL, lane_address(warp, insn, 1, lane), bytes);
		if (from == NULL)
			return;
		copy_lane(to, from, n);
	}
	if (ready > warp->async_open)
		warp->async_open = ready;
}

/* Groups complete in order: one that is pushed out of the list is as late as the next at most. */
HANDLER(commit_group)
{
	if (warp->n_async_groups == N_GROUPS) {
		memmove(&warp->async_groups[0], &warp->async_groups[1], sizeof(uint64_t) * (N_GROUPS - 1));
		warp->n_async_groups--;
	}
	warp->async_groups[warp->n_async_groups++] = warp->async_open;
}

static void wait_until(struct sim_warp *warp, uint64_t cycle)
{
	if (cycle > warp->cycle)
		warp->cycle = cycle;
}

/* All but the newest `left` groups. */
HANDLER(wait_group)
{
	uint32_t left = (uint32_t)read_lane(warp, &insn->o[0], first_lane(mask));

	for (uint32_t i = 0; i + left < warp->n_async_groups; i++)
		wait_until(warp, warp->async_groups[i]);
}

HANDLER(wait_all)
{
	wait_until(warp, warp->async_open);
}

/* The mbarrier counts one arrival per lane when the lane's copies so far are complete. Without .noinc it is first made
 * to expect one more, so that the net effect on the pending count is none. */
HANDLER(arrive_on_mbarrier)
{
	uint64_t ready = warp->async_open > warp->cycle ? warp->async_open : warp->cycle;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t offset;
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offset);

		if (block == NULL)
			return;
		if (!has_flag(insn, F(NOINC)) && !mbarrier_expect_one_more(block, offset)) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "more arrivals than an mbarrier counts");
			return;
		}
		if (!queue_deferred(warp->domain, block, warp_time(warp, ready), offset, 1, 0)) {
			warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
			return;
		}
	}
}

static uint64_t bulk_ready(const struct sim_warp *warp, uint32_t bytes)
{
	return warp->cycle + sim_cost_cycles[PTX_COST_LATENCY_ASYNC] + bytes / BULK_BYTES_PER_CYCLE;
}

/* Pointers of both sides, checked; false after a fault. A bulk copy is a multiple of 16 aligned bytes. */
static bool bulk_sides(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint32_t bytes,
		       uint8_t **ret_to, const uint8_t **ret_from)
{
	uint64_t to = lane_address(warp, insn, 0, lane), from = lane_address(warp, insn, 1, lane);

	if (bytes % 16 != 0 || to % 16 != 0 || from % 16 != 0) {
		warp_fault(warp, insn, lane, SIM_MISALIGNED_ADDRESS, "bulk copy of %u bytes from 0x%llx to 0x%llx",
			   bytes, (unsigned long long)from, (unsigned long long)to);
		return false;
	}
	/* One byte is checked for alignment, the range for its bounds. */
	*ret_to = lane_range(warp, insn, lane, insn->spaces[0], to, bytes);
	*ret_from = *ret_to == NULL ? NULL : lane_range(warp, insn, lane, insn->spaces[1], from, bytes);
	return *ret_from != NULL;
}

/* cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [mbarrier] */
HANDLER(bulk_to_mbarrier)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t bytes = (uint32_t)read_lane(warp, &insn->o[2], lane), offset;
		struct sim_block *block;
		const uint8_t *from;
		uint8_t *to;

		block = mbarrier_at(warp, insn, 2, lane, &offset);
		if (block == NULL || (bytes > 0 && !bulk_sides(warp, insn, lane, bytes, &to, &from)))
			return;
		if (bytes > 0)
			copy_lane(to, from, bytes);
		if (!queue_deferred(warp->domain, block, warp_time(warp, bulk_ready(warp, bytes)), offset, 0, bytes)) {
			warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
			return;
		}
	}
}

/* Of every 16 bytes those whose bit is set. */
static void copy_masked(uint8_t *to, const uint8_t *from, uint32_t bytes, uint32_t mask)
{
	for (uint32_t i = 0; i < bytes; i++)
		if (mask >> i % 16 & 1)
			to[i] = from[i];
}

/* cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes */
HANDLER(bulk_to_global)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t bytes = (uint32_t)read_lane(warp, &insn->o[2], lane);
		const uint8_t *from;
		uint8_t *to;

		if (bytes == 0)
			continue;
		if (!bulk_sides(warp, insn, lane, bytes, &to, &from))
			return;
		if (has_flag(insn, F(CP_MASK)))
			copy_masked(to, from, bytes,
				    (uint32_t)read_lane(warp, &insn->o[has_flag(insn, F(CACHE_HINT)) ? 4 : 3], lane));
		else
			copy_lane(to, from, bytes);
		if (bulk_ready(warp, bytes) > warp->bulk_ready)
			warp->bulk_ready = bulk_ready(warp, bytes);
	}
}

HANDLER(bulk_commit)
{
	/* Groups complete in order, so the newest copy stands for all of them. */
}

HANDLER(bulk_wait)
{
	if (read_lane(warp, &insn->o[0], first_lane(mask)) == 0)
		wait_until(warp, warp->bulk_ready);
}

/* The copy of bulk_to_mbarrier to the same place in each block of the mask, and the news to the mbarrier of each. */
HANDLER(bulk_multicast)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t bytes = (uint32_t)read_lane(warp, &insn->o[2], lane), offset, to_offset;
		uint32_t blocks = (uint32_t)read_lane(warp, &insn->o[4], lane);
		struct sim_cluster *cluster = warp->block->cluster;
		const uint8_t *from;
		uint8_t *to;

		if (mbarrier_at(warp, insn, 2, lane, &offset) == NULL ||
		    !bulk_sides(warp, insn, lane, bytes, &to, &from))
			return;
		shared_block(warp, lane_address(warp, insn, 0, lane), &to_offset);
		if (to_offset >= warp->block->shared_bytes) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_ADDRESS, "copy to the system's part of shared memory");
			return;
		}
		FOR_EACH_LANE(rank, blocks)
		{
			struct sim_block *block = rank < cluster->n_blocks ? cluster->blocks[rank] : NULL;

			if (block == NULL) {
				warp_fault(warp, insn, lane, SIM_ILLEGAL_ADDRESS, "no block %u in the cluster", rank);
				return;
			}
			copy_lane(block->shared + to_offset, from, bytes);
			if (!queue_deferred(warp->domain, block, warp_time(warp, bulk_ready(warp, bytes)), offset, 0,
					    bytes)) {
				warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
				return;
			}
		}
	}
}

/* cp.reduce.async.bulk: element by element, each atomic. */
HANDLER(bulk_reduce)
{
	uint32_t size = ptx_type_bytes[insn->types[0]];

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t bytes = (uint32_t)read_lane(warp, &insn->o[2], lane), offset;
		struct sim_block *block = NULL;
		const uint8_t *from;
		uint8_t *to;

		if (has_flag(insn, F(MBAR_TX))) {
			block = mbarrier_at(warp, insn, 2, lane, &offset);
			if (block == NULL)
				return;
		}
		if (!bulk_sides(warp, insn, lane, bytes, &to, &from))
			return;
		for (uint32_t i = 0; i < bytes; i += size) {
			uint64_t value = 0;

			memcpy(&value, from + i, size);
			atomic_apply(insn, to + i, value);
		}
		if (bulk_ready(warp, bytes) > warp->bulk_ready)
			warp->bulk_ready = bulk_ready(warp, bytes);
		if (block != NULL &&
		    !queue_deferred(warp->domain, block, warp_time(warp, bulk_ready(warp, bytes)), offset, 0, bytes)) {
			warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
			return;
		}
	}
}

HANDLER(bulk_prefetch)
{
}

/* st.async and red.async: stores to a block of the cluster, of which its mbarrier hears. */
static void store_async(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, bool is_red)
{
	const struct ptx_operand *elements = &warp->frame->function->elements[insn->o[1].offset];
	uint32_t size = ptx_type_bytes[insn->types[0]], bytes = size * insn->n_elements;
	uint64_t time = warp_time(warp, warp->cycle + sim_cost_cycles[PTX_COST_LATENCY_ASYNC]);

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t offset;
		uint8_t *to = lane_pointer(warp, insn, lane, PTX_M_CLUSTER, lane_address(warp, insn, 0, lane), bytes);
		struct sim_block *block = to == NULL ? NULL : mbarrier_at(warp, insn, 1, lane, &offset);

		if (block == NULL)
			return;
		for (uint32_t i = 0; i < insn->n_elements; i++) {
			uint64_t value = read_lane(warp, &elements[i], lane);

			if (is_red)
				atomic_apply(insn, to + i * size, value);
			else
				memcpy(to + i * size, &value, size);
		}
		if (!queue_deferred(warp->domain, block, time, offset, 0, bytes)) {
			warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
			return;
		}
	}
}

HANDLER(st_async)
{
	store_async(warp, insn, mask, false);
}

HANDLER(red_async)
{
	store_async(warp, insn, mask, true);
}

static bool is_async_store(struct ptx_insn *insn)
{
	insn->properties |= PTX_ORDERED;
	return has_flag(insn, F(MBAR_TX)) && insn->n_spaces == 1 && insn->spaces[0] == PTX_M_CLUSTER;
}

bool select_st_async(struct ptx_insn *insn)
{
	uint32_t bytes = ptx_type_bytes[insn->types[0]];

	insn->run = st_async;
	return is_async_store(insn) && (bytes == 4 || bytes == 8) && insn->n_elements <= 4;
}

bool select_red_async(struct ptx_insn *insn)
{
	uint8_t type = insn->types[0];

	insn->run = red_async;
	return is_async_store(insn) && insn->n_elements == 1 && atomic_supported(insn) &&
	       ptx_type_class[type] != PTX_CLASS_F;
}

static bool select_bulk_reduce(struct ptx_insn *insn)
{
	insn->run = bulk_reduce;
	return insn->n_spaces == 2 && insn->spaces[1] == PTX_M_SHARED &&
	       insn->spaces[0] == (has_flag(insn, F(MBAR_TX)) ? PTX_M_CLUSTER : PTX_M_GLOBAL) &&
	       has_flag(insn, F(MBAR_TX)) != has_flag(insn, F(BULK_GROUP)) && atomic_supported(insn);
}

static bool select_bulk(struct ptx_insn *insn)
{
	if (has_flag(insn, F(REDUCE)))
		return select_bulk_reduce(insn);
	if (insn->actions[0] == PTX_M_PREFETCH) {
		insn->run = bulk_prefetch;
		return true;
	}
	if (insn->actions[0] == PTX_M_COMMIT_GROUP) {
		insn->run = bulk_commit;
		return true;
	}
	if (insn->actions[0] == PTX_M_WAIT_GROUP) {
		insn->run = bulk_wait;
		return true;
	}
	if (insn->n_spaces != 2 || insn->actions[0] != PTX_M_NONE)
		return false;
	if (has_flag(insn, F(MBAR_TX))) {
		insn->run = has_flag(insn, F(MULTICAST)) ? bulk_multicast : bulk_to_mbarrier;
		return insn->spaces[0] == PTX_M_CLUSTER || insn->spaces[0] == PTX_M_SHARED;
	}
	insn->run = bulk_to_global;
	return has_flag(insn, F(BULK_GROUP)) && insn->spaces[0] == PTX_M_GLOBAL && insn->spaces[1] == PTX_M_SHARED;
}

/* clusterlaunchcontrol: asks for a cluster that has not started, to run it in this one's place. The request is allowed
 * to fail, as it does at the end of every grid; here it always does, and blocks start as they always do. The answer is
 * 16 bytes of zero. */
HANDLER(try_cancel)
{
	uint64_t time = warp_time(warp, warp->cycle + sim_cost_cycles[PTX_COST_LATENCY_ASYNC]);
	struct sim_cluster *cluster = warp->block->cluster;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t answer_offset, offset;
		const uint8_t *to = lane_pointer(warp, insn, lane, PTX_M_SHARED, lane_address(warp, insn, 0, lane), 16);
		struct sim_block *own = to == NULL ? NULL : mbarrier_at(warp, insn, 1, lane, &offset);

		if (own == NULL)
			return;
		shared_block(warp, lane_address(warp, insn, 0, lane), &answer_offset);
		if (answer_offset >= own->shared_bytes) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_ADDRESS,
				   "answer to the system's part of shared memory");
			return;
		}
		for (uint32_t rank = 0; rank < cluster->n_blocks; rank++) {
			struct sim_block *block = cluster->blocks[rank];

			if (block == NULL || (block != own && !has_flag(insn, F(MULTICAST_ALL))))
				continue;
			memset(block->shared + answer_offset, 0, 16);
			if (!queue_deferred(warp->domain, block, time, offset, 0, 16)) {
				warp_fault(warp, insn, lane, SIM_NO_MEMORY, "out of host memory");
				return;
			}
		}
	}
}

/* Was the request that got this answer granted? */
HANDLER(is_canceled)
{
	write_predicate(warp, &insn->o[0], 0, mask);
}

/* What a denied request has in place of the first block's coordinates. */
HANDLER(first_ctaid)
{
	const struct ptx_operand *to = &warp->frame->function->elements[insn->o[0].offset];

	FOR_EACH_LANE(lane, mask)
	{
		for (uint32_t i = 0; i < insn->n_elements; i++)
			write_lane(warp, &to[i], lane, 0);
	}
}

bool select_clusterlaunchcontrol(struct ptx_insn *insn)
{
	uint8_t second = insn->actions[1];

	if (insn->actions[0] == PTX_M_TRY_CANCEL) {
		insn->run = try_cancel;
		insn->properties |= PTX_ORDERED;
		return has_flag(insn, F(ASYNC)) && has_flag(insn, F(MBAR_TX)) && second == PTX_M_NONE &&
		       insn->types[0] == PTX_B128 && insn->n_types == 1 &&
		       (insn->n_spaces == 0 || insn->spaces[0] == PTX_M_SHARED);
	}
	if (insn->flags != 0 || insn->n_types != 2 || insn->types[1] != PTX_B128)
		return false;
	insn->cost = PTX_COST_ALU;
	insn->run = second == PTX_M_IS_CANCELED ? is_canceled : first_ctaid;
	if (second == PTX_M_IS_CANCELED)
		return insn->types[0] == PTX_PRED;
	return insn->types[0] == PTX_B32 && insn->n_elements == (second == PTX_M_FIRST_CTAID ? 4 : 1) &&
	       second >= PTX_M_FIRST_CTAID && second <= PTX_M_FIRST_CTAID_Z;
}

bool select_cp(struct ptx_insn *insn)
{
	insn->properties |= PTX_ORDERED;
	if (has_flag(insn, F(BULK)))
		return select_bulk(insn);
	if (has_flag(insn, F(MBARRIER))) {
		insn->run = arrive_on_mbarrier;
		return insn->actions[0] == PTX_M_ARRIVE;
	}
	switch (insn->actions[0]) {
	case PTX_M_COMMIT_GROUP:
		insn->run = commit_group;
		return true;
	case PTX_M_WAIT_GROUP:
		insn->run = wait_group;
		return true;
	case PTX_M_WAIT_ALL:
		insn->run = wait_all;
		return true;
	case PTX_M_NONE:
		if (insn->o[3].kind != PTX_OPERAND_NONE && insn->o[3].bytes == 8)
			insn->o[3].kind = PTX_OPERAND_NONE; /* the cache policy */
		insn->run = copy;
		insn->properties &= (uint8_t)~PTX_ORDERED;
		return insn->n_spaces == 2;
	default:
		return false;
	}
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_barrier.c - barriers of a block, of a cluster, and mbarriers.
 *
 * bar and barrier: lanes wait until all living lanes of their warp have come, then the warp arrives as one, for 32
 * threads. A barrier without a count waits for the warps that still run. While it waits a warp is in no queue and costs
 * nothing.
 *
 * mbarrier: 64 bits in shared memory, opaque to the program:
 *
 *   bit 63     phase: flips when a phase completes
 *   bits 43-62 arrivals expected in each phase
 *   bits 23-42 arrivals still missing in this one
 *   bits 0-22  bytes still missing in this one, signed
 *
 * A phase completes when both counts are 0. try_wait puts its warp aside until then, for a limited time. Runs on the
 * thread of sim_launch().
 */
#include "exec_ops.h"

#define F(id) PTX_FLAG(id)

/* How long try_wait waits when the program does not say. */
#define TRY_WAIT_NS       20000
#define MBARRIER_MAX      ((1u << 20) - 1)
#define MBARRIER_TX_BITS  23
#define MBARRIER_TX_LIMIT (1 << 20)

/* --- barriers of a block ---------------------------------------------------------------------- */

static uint32_t barrier_operand(const struct ptx_insn *insn)
{
	return insn->actions[0] == PTX_M_RED ? 1 : 0;
}

static uint32_t predicate_operand(void)
{
	return 3;
}

/* Hands out the result of a reduction, lane by lane, in each lane's frame. */
static void write_reduction(struct sim_warp *warp, const struct sim_barrier *barrier)
{
	uint8_t *registers = warp->bases[PTX_OPERAND_REG];

	FOR_EACH_LANE(lane, warp->parked_barrier)
	{
		const struct ptx_insn *insn = warp->parked_at[lane];
		uint64_t result = barrier->n_true;

		if (insn->actions[0] != PTX_M_RED)
			continue;
		if (insn->actions[1] == PTX_M_AND)
			result = barrier->n_true == barrier->n_threads;
		else if (insn->actions[1] == PTX_M_OR)
			result = barrier->n_true > 0;
		warp->bases[PTX_OPERAND_REG] = warp->lane_frame[lane]->registers;
		write_lane(warp, &insn->o[0], lane, result);
	}
	warp->bases[PTX_OPERAND_REG] = registers;
}

static void unpark_barrier(struct sim_warp *warp)
{
	warp->parked &= ~warp->parked_barrier;
	warp->parked_barrier = 0;
}

static void release_barrier(struct sim_block *block, struct sim_barrier *barrier)
{
	uint64_t cycle = barrier->last_cycle + sim_cost_cycles[PTX_COST_BARRIER];

	FOR_EACH_LANE(i, barrier->waiting)
	{
		struct sim_warp *warp = &block->warps[i];

		write_reduction(warp, barrier);
		unpark_barrier(warp);
		warp_wake(warp, cycle);
	}
	memset(barrier, 0, sizeof(*barrier));
}

static void check_barrier(struct sim_block *block, struct sim_barrier *barrier)
{
	uint32_t wanted = barrier->wanted != 0 ? barrier->wanted : block->n_live_warps * SIM_LANES;

	if (barrier->arrived > 0 && barrier->arrived >= wanted)
		release_barrier(block, barrier);
}

/* What a lane asks for. */
struct barrier_request {
	uint32_t id;
	uint32_t count; /* of threads; 0 = all of the block */
	uint8_t action; /* of a reduction */
};

/* Of a lane of the frame that the warp's bases are of. */
static struct barrier_request request_of(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane)
{
	const struct ptx_operand *o = &insn->o[barrier_operand(insn)];

	return (struct barrier_request){
		.id = (uint32_t)read_lane(warp, &o[0], lane),
		.count = o[1].kind == PTX_OPERAND_NONE ? 0 : (uint32_t)read_lane(warp, &o[1], lane),
		.action = insn->actions[0] == PTX_M_RED ? insn->actions[1] : PTX_M_NONE,
	};
}

/* All threads of a block, said so or counted, are as many. */
static uint32_t threads_asked_for(const struct sim_block *block, uint32_t count)
{
	return count == 0 ? block->n_warps * SIM_LANES : count;
}

/* Those who meet at a barrier must agree on how many they are and on what they do; false after a fault. */
static bool request_fits(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane,
			 const struct barrier_request *request)
{
	const struct sim_barrier *barrier = &warp->block->barriers[request->id];
	uint32_t count = threads_asked_for(warp->block, request->count);
	uint32_t others = threads_asked_for(warp->block, barrier->wanted);

	if (barrier->arrived == 0)
		return true;
	if (count != others)
		warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION,
			   "barrier %u for %u threads, where others wait for %u", request->id, count, others);
	else if (barrier->action != request->action)
		warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION,
			   "barrier %u with a reduction, where others have another one or none", request->id);
	else
		return true;
	return false;
}

/* The warp as a whole arrives. */
static void arrive_at_barrier(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint32_t true_lanes,
			      uint32_t lanes)
{
	struct barrier_request request = request_of(warp, insn, lane);
	uint32_t id = request.id, count = request.count;
	struct sim_barrier *barrier;

	if (id >= SIM_N_BARRIERS || count % SIM_LANES != 0 || count > SIM_MAX_THREADS_PER_BLOCK) {
		warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "barrier %u for %u threads", id, count);
		return;
	}
	if (!request_fits(warp, insn, lane, &request))
		return;
	barrier = &warp->block->barriers[id];
	barrier->arrived += SIM_LANES;
	barrier->wanted = count;
	barrier->action = request.action;
	barrier->n_true += (uint32_t)__builtin_popcount(true_lanes);
	barrier->n_threads += (uint32_t)__builtin_popcount(lanes);
	if (warp->cycle > barrier->last_cycle)
		barrier->last_cycle = warp->cycle;
	if (insn->actions[0] != PTX_M_ARRIVE) {
		barrier->waiting |= 1u << warp->index;
		warp->wait = WAIT_BARRIER;
	}
	check_barrier(warp->block, barrier);
}

static void use_frame_of(struct sim_warp *warp, uint32_t lane)
{
	warp->bases[PTX_OPERAND_REG] = warp->lane_frame[lane]->registers;
	warp->bases[PTX_OPERAND_CONST] = warp->lane_frame[lane]->function->constants;
}

/* Do all lanes stand at one instruction that names its barrier and count in numbers? */
static bool plainly_agree(const struct sim_warp *warp, uint32_t first)
{
	const struct ptx_insn *insn = warp->parked_at[first];
	const struct ptx_operand *o = &insn->o[barrier_operand(insn)];

	FOR_EACH_LANE(lane, warp->parked_barrier)
	{
		if (warp->parked_at[lane] != insn)
			return false;
	}
	return o[0].kind == PTX_OPERAND_CONST && o[1].kind != PTX_OPERAND_REG;
}

/* A warp comes to a barrier as a whole; its lanes must not be at different ones. False after a fault. */
static bool lanes_agree(struct sim_warp *warp, uint32_t first)
{
	struct barrier_request request;

	if (plainly_agree(warp, first))
		return true;
	use_frame_of(warp, first);
	request = request_of(warp, warp->parked_at[first], first);
	FOR_EACH_LANE(lane, warp->parked_barrier)
	{
		struct barrier_request other;

		use_frame_of(warp, lane);
		other = request_of(warp, warp->parked_at[lane], lane);
		if (other.id == request.id && other.action == request.action &&
		    threads_asked_for(warp->block, other.count) == threads_asked_for(warp->block, request.count))
			continue;
		warp_fault(warp, warp->parked_at[lane], lane, SIM_ILLEGAL_INSTRUCTION,
			   "barrier %u for %u threads, where other lanes of the warp are at barrier %u for %u",
			   other.id, threads_asked_for(warp->block, other.count), request.id,
			   threads_asked_for(warp->block, request.count));
		return false;
	}
	return true;
}

/* All living lanes have come: the warp arrives. */
static void arrive_parked(struct sim_warp *warp)
{
	uint8_t *registers = warp->bases[PTX_OPERAND_REG], *constants = warp->bases[PTX_OPERAND_CONST];
	uint32_t lane = first_lane(warp->parked_barrier);

	warp->events |= WARP_BLOCKED;
	if (lanes_agree(warp, lane)) {
		use_frame_of(warp, lane);
		arrive_at_barrier(warp, warp->parked_at[lane], lane, warp->barrier_predicate & warp->parked_barrier,
				  warp->parked_barrier);
	}
	warp->bases[PTX_OPERAND_REG] = registers;
	warp->bases[PTX_OPERAND_CONST] = constants;
}

void warp_recheck_barrier(struct sim_warp *warp)
{
	if (warp->parked_barrier == warp->live && warp->wait == WAIT_NONE)
		arrive_parked(warp);
}

HANDLER(bar_wait)
{
	warp_save_group(warp);
	if (insn->actions[0] == PTX_M_RED)
		warp->barrier_predicate = (warp->barrier_predicate & ~mask) |
					  (read_predicate(warp, &insn->o[predicate_operand()]) & mask);
	FOR_EACH_LANE(lane, mask)
	{
		warp->parked_at[lane] = insn;
	}
	warp->parked_barrier |= mask;
	warp->parked |= mask;
	warp->active = 0;
	warp->events |= WARP_RESELECT;
	warp_recheck_barrier(warp);
}

HANDLER(bar_arrive)
{
	arrive_at_barrier(warp, insn, first_lane(mask), 0, mask);
}

static void check_cluster(struct sim_cluster *cluster);

void block_warp_ended(struct sim_warp *warp)
{
	struct sim_block *block = warp->block;
	struct sim_cluster *cluster = block->cluster;

	for (uint32_t i = 0; i < SIM_N_BARRIERS && block->n_live_warps > 0; i++) {
		struct sim_barrier *barrier = &block->barriers[i];

		if (barrier->arrived == 0 || barrier->wanted != 0)
			continue;
		if (warp->cycle > barrier->last_cycle)
			barrier->last_cycle = warp->cycle;
		check_barrier(block, barrier);
	}
	/* Who arrived and ended must not be counted in somebody else's place. */
	if (warp->cluster_counted && warp->cluster_phase == cluster->phase)
		cluster->n_arrived--;
	cluster->n_live_warps--;
	check_cluster(cluster);
}

/* --- barrier.cluster -------------------------------------------------------------------------- */

/* The phase that they wait for is complete. Other lanes of the warp may be on their way to the wait, or elsewhere. */
static void release_cluster_lanes(struct sim_warp *warp, const struct sim_cluster *cluster)
{
	if (warp->is_done || warp->parked_cluster == 0)
		return;
	warp->parked &= ~warp->parked_cluster;
	warp->cluster_waits &= ~warp->parked_cluster;
	warp->parked_cluster = 0;
	warp->events |= WARP_RESELECT;
	if (warp->wait == WAIT_CLUSTER || warp->wait == WAIT_LANES) {
		warp->events = 0;
		warp_wake(warp, sim_clock_cycle(warp->clock, cluster->last_time) + sim_cost_cycles[PTX_COST_BARRIER]);
	}
}

static void check_cluster(struct sim_cluster *cluster)
{
	if (cluster->n_arrived == 0 || cluster->n_arrived < cluster->n_live_warps)
		return;
	cluster->n_arrived = 0;
	cluster->phase++;
	for (uint32_t r = 0; r < cluster->n_blocks; r++) {
		struct sim_block *block = cluster->blocks[r];

		for (uint32_t i = 0; block != NULL && i < block->n_warps; i++)
			release_cluster_lanes(&block->warps[i], cluster);
	}
}

/* Lanes of a diverged warp come in turns: the arrival of the last living one is the warp's. */
void warp_recheck_cluster(struct sim_warp *warp)
{
	struct sim_cluster *cluster = warp->block->cluster;
	uint64_t time = warp_time(warp, warp->cycle);

	if ((warp->cluster_arrived & warp->live) != warp->live)
		return;
	warp->cluster_waits = warp->cluster_arrived & warp->live;
	warp->cluster_arrived = 0;
	warp->cluster_phase = cluster->phase;
	warp->cluster_counted = true;
	cluster->n_arrived++;
	if (time > cluster->last_time)
		cluster->last_time = time;
	check_cluster(cluster);
}

HANDLER(cluster_arrive)
{
	warp->cluster_arrived |= mask;
	warp_recheck_cluster(warp);
}

/* A lane waits for the lanes of its own warp too, which may still be on their way to the arrival. */
HANDLER(cluster_wait)
{
	bool is_complete = warp->block->cluster->phase != warp->cluster_phase;
	uint32_t waiting = mask & (warp->cluster_arrived | (is_complete ? 0 : warp->cluster_waits));

	warp->cluster_waits &= ~(mask & ~waiting);
	if (waiting == 0)
		return;
	warp_save_group(warp);
	FOR_EACH_LANE(lane, waiting)
	{
		warp->parked_at[lane] = insn;
	}
	warp->parked_cluster |= waiting;
	warp->parked |= waiting;
	warp->active = 0;
	if (warp->parked_cluster != warp->live) {
		warp->events |= WARP_RESELECT;
		return;
	}
	warp->wait = WAIT_CLUSTER;
	warp->events |= WARP_BLOCKED;
}

bool select_bar(struct ptx_insn *insn)
{
	if (has_flag(insn, F(WARP))) {
		insn->run = warp_sync_handler();
		insn->cost = PTX_COST_ALU;
		insn->properties &= (uint8_t)~PTX_ORDERED;
		return has_flag(insn, F(SYNC));
	}
	if (insn->scope == PTX_M_SCOPE_CLUSTER) {
		insn->run = insn->actions[0] == PTX_M_ARRIVE ? cluster_arrive : cluster_wait;
		return insn->actions[0] == PTX_M_ARRIVE || insn->actions[0] == PTX_M_WAIT;
	}
	switch (insn->actions[0]) {
	case PTX_M_ARRIVE:
		insn->run = bar_arrive;
		return true;
	case PTX_M_RED:
		insn->run = bar_wait;
		return insn->actions[1] == PTX_M_POPC || insn->actions[1] == PTX_M_AND || insn->actions[1] == PTX_M_OR;
	case PTX_M_NONE:
		insn->run = bar_wait;
		return has_flag(insn, F(SYNC));
	default:
		return false;
	}
}

/* --- mbarrier --------------------------------------------------------------------------------- */

struct mbarrier {
	bool phase;
	uint32_t expected, pending;
	int32_t bytes;
};

static struct mbarrier unpack(uint64_t word)
{
	struct mbarrier barrier = { .phase = word >> 63,
				    .expected = (uint32_t)(word >> 43) & MBARRIER_MAX,
				    .pending = (uint32_t)(word >> MBARRIER_TX_BITS) & MBARRIER_MAX };
	uint32_t low = (uint32_t)word & ((1u << MBARRIER_TX_BITS) - 1);

	barrier.bytes = (int32_t)(low << (32 - MBARRIER_TX_BITS)) >> (32 - MBARRIER_TX_BITS);
	return barrier;
}

static uint64_t pack(const struct mbarrier *barrier)
{
	return (uint64_t)barrier->phase << 63 | (uint64_t)barrier->expected << 43 |
	       (uint64_t)barrier->pending << MBARRIER_TX_BITS |
	       ((uint32_t)barrier->bytes & ((1u << MBARRIER_TX_BITS) - 1));
}

static uint64_t *mbarrier_word(struct sim_block *block, uint32_t offset)
{
	if (offset % 8 != 0 || offset > block->shared_bytes || block->shared_bytes - offset < 8)
		return NULL;
	return (uint64_t *)(void *)(block->shared + offset);
}

/* Warps of the block that wait for the mbarrier at `offset` may look again. */
static void wake_waiters(struct sim_block *block, uint32_t offset, uint64_t time)
{
	for (uint32_t i = 0; i < block->n_warps; i++) {
		struct sim_warp *warp = &block->warps[i];

		if (warp->is_done || warp->wait != WAIT_MBARRIER || warp->wait_address != offset)
			continue;
		warp_wake(warp, sim_clock_cycle(warp->clock, time) + sim_cost_cycles[PTX_COST_WAKE]);
	}
}

/* Counts down and completes the phase when nothing is missing. False when more arrive than are expected. */
static bool count_down(struct sim_block *block, uint32_t offset, uint32_t arrivals, int32_t bytes, uint64_t time)
{
	uint64_t *word = mbarrier_word(block, offset);
	struct mbarrier barrier;

	if (word == NULL)
		return false;
	barrier = unpack(*word);
	if (arrivals > barrier.pending)
		return false;
	barrier.pending -= arrivals;
	barrier.bytes += bytes;
	if (barrier.bytes >= MBARRIER_TX_LIMIT || barrier.bytes <= -MBARRIER_TX_LIMIT)
		return false;
	if (barrier.pending == 0 && barrier.bytes == 0) {
		barrier.pending = barrier.expected;
		barrier.phase = !barrier.phase;
		*word = pack(&barrier);
		wake_waiters(block, offset, time);
		return true;
	}
	*word = pack(&barrier);
	return true;
}

void mbarrier_deferred(const struct sim_deferred *deferred)
{
	/* An mbarrier that was invalidated meanwhile has nothing to count: the copy is done all the same. */
	count_down(deferred->block, deferred->address, deferred->arrivals, -(int32_t)deferred->bytes,
		   deferred->event.time);
}

bool mbarrier_expect_one_more(struct sim_block *block, uint32_t offset)
{
	uint64_t *word = mbarrier_word(block, offset);
	struct mbarrier barrier = unpack(*word);

	if (barrier.pending == MBARRIER_MAX)
		return false;
	barrier.pending++;
	*word = pack(&barrier);
	return true;
}

struct sim_block *mbarrier_at(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t memory, uint32_t lane,
			      uint32_t *ret_offset)
{
	uint64_t address = lane_address(warp, insn, memory, lane);
	struct sim_block *block;

	/* Without .shared the address is generic; in an operand of another instruction it is always shared. */
	if (insn->n_spaces == 0)
		address -= warp->launch->device->memory.shared_base;
	block = address < SIM_SEGMENT_BYTES ? shared_block(warp, address, ret_offset) : NULL;
	if (block == NULL || mbarrier_word(block, *ret_offset) == NULL) {
		warp_fault(warp, insn, lane, block == NULL ? SIM_ILLEGAL_ADDRESS : SIM_MISALIGNED_ADDRESS,
			   "mbarrier at 0x%llx", (unsigned long long)address);
		return NULL;
	}
	return block;
}

HANDLER(mbarrier_init)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t count = (uint32_t)read_lane(warp, &insn->o[1], lane), offset;
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offset);
		struct mbarrier barrier = { .expected = count, .pending = count };

		if (block == NULL)
			return;
		if (count == 0 || count > MBARRIER_MAX) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "mbarrier for %u arrivals", count);
			return;
		}
		*mbarrier_word(block, offset) = pack(&barrier);
	}
}

HANDLER(mbarrier_inval)
{
	FOR_EACH_LANE(lane, mask)
	{
		uint32_t offset;
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offset);

		if (block == NULL)
			return;
		*mbarrier_word(block, offset) = 0;
	}
}

/* arrive, arrive_drop, each with .expect_tx or a count */
HANDLER(mbarrier_arrive)
{
	uint64_t time = warp_time(warp, warp->cycle);
	bool expects = insn->actions[1] == PTX_M_EXPECT_TX;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t operand =
			insn->o[2].kind == PTX_OPERAND_NONE ? 1 : (uint32_t)read_lane(warp, &insn->o[2], lane);
		uint32_t offset, count = expects ? 1 : operand;
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offset);
		uint64_t *word, state;

		if (block == NULL)
			return;
		word = mbarrier_word(block, offset);
		state = *word;
		if (has_flag(insn, F(NOCOMPLETE)) && count >= unpack(state).pending) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION,
				   "arrival of %u with .noComplete would complete the phase", count);
			return;
		}
		if (insn->actions[0] == PTX_M_ARRIVE_DROP) {
			struct mbarrier barrier = unpack(*word);

			barrier.expected -= count <= barrier.expected ? count : barrier.expected;
			*word = pack(&barrier);
		}
		if (!count_down(block, offset, count, expects ? (int32_t)operand : 0, time)) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION,
				   "more arrivals or bytes than the mbarrier expects");
			return;
		}
		write_lane(warp, &insn->o[0], lane, state);
	}
}

HANDLER(mbarrier_tx)
{
	uint64_t time = warp_time(warp, warp->cycle);

	FOR_EACH_LANE(lane, mask)
	{
		int32_t bytes = (int32_t)read_lane(warp, &insn->o[1], lane);
		uint32_t offset;
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offset);

		if (block == NULL)
			return;
		if (!count_down(block, offset, 0, insn->actions[0] == PTX_M_EXPECT_TX ? bytes : -bytes, time)) {
			warp_fault(warp, insn, lane, SIM_ILLEGAL_INSTRUCTION, "more bytes than an mbarrier counts");
			return;
		}
	}
}

/* Has the phase that the lane asks about completed? */
static bool phase_complete(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint64_t word)
{
	bool phase = word >> 63;
	uint64_t asked = read_lane(warp, &insn->o[3], lane);

	return has_flag(insn, F(PARITY)) ? phase != (asked & 1) : phase != asked >> 63;
}

/* All lanes that run wait for one mbarrier of their own block: the warp can be put aside. */
static bool can_put_aside(const struct sim_warp *warp, const uint32_t offsets[SIM_LANES], uint32_t mask)
{
	if (mask != warp->active || mask != warp_runnable(warp))
		return false;
	FOR_EACH_LANE(lane, mask)
	{
		if (offsets[lane] != offsets[first_lane(mask)])
			return false;
	}
	return true;
}

static void put_aside(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint32_t offset)
{
	if (warp->wait_deadline == 0) {
		uint64_t limit_ns =
			insn->o[4].kind == PTX_OPERAND_NONE ? TRY_WAIT_NS : read_lane(warp, &insn->o[4], lane);

		warp->wait_deadline =
			sim_clock_cycle(warp->clock, warp_time(warp, warp->cycle) + (limit_ns << SIM_TIME_BITS)) + 1;
	}
	warp->wait = WAIT_MBARRIER;
	warp->wait_address = offset;
	warp->pc--;
	warp->events |= WARP_BLOCKED;
	warp->event.time = warp_time(warp, warp->wait_deadline);
	queue_push(warp->domain, &warp->event);
}

HANDLER(mbarrier_wait)
{
	uint32_t offsets[SIM_LANES], complete = 0;

	FOR_EACH_LANE(lane, mask)
	{
		struct sim_block *block = mbarrier_at(warp, insn, 0, lane, &offsets[lane]);

		if (block == NULL)
			return;
		if (phase_complete(warp, insn, lane, *mbarrier_word(block, offsets[lane])))
			complete |= 1u << lane;
	}
	if (complete == 0 && insn->actions[0] == PTX_M_TRY_WAIT && !warp->wait_expired &&
	    can_put_aside(warp, offsets, mask)) {
		put_aside(warp, insn, first_lane(mask), offsets[first_lane(mask)]);
		return;
	}
	warp->wait_expired = false;
	warp->wait_deadline = 0;
	write_predicate(warp, &insn->o[0], complete, mask);
	if (complete != mask)
		warp_note_spin(warp, 64);
}

HANDLER(mbarrier_pending_count)
{
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, unpack(read_lane(warp, &insn->o[1], lane)).pending);
	}
}

bool select_mbarrier(struct ptx_insn *insn)
{
	uint8_t second = insn->actions[1];

	if (insn->n_spaces > 1)
		return false;
	if (has_flag(insn, F(NOCOMPLETE)) &&
	    ((insn->actions[0] != PTX_M_ARRIVE && insn->actions[0] != PTX_M_ARRIVE_DROP) || second != PTX_M_NONE ||
	     insn->o[2].kind == PTX_OPERAND_NONE))
		return false;
	if (second != PTX_M_NONE && (second != PTX_M_EXPECT_TX || insn->o[2].kind == PTX_OPERAND_NONE))
		return false;
	switch (insn->actions[0]) {
	case PTX_M_INIT:
		insn->run = mbarrier_init;
		return true;
	case PTX_M_INVAL:
		insn->run = mbarrier_inval;
		return true;
	case PTX_M_ARRIVE:
	case PTX_M_ARRIVE_DROP:
		insn->run = mbarrier_arrive;
		return true;
	case PTX_M_EXPECT_TX:
	case PTX_M_COMPLETE_TX:
		insn->run = mbarrier_tx;
		return true;
	case PTX_M_TEST_WAIT:
	case PTX_M_TRY_WAIT:
		insn->run = mbarrier_wait;
		return true;
	case PTX_M_PENDING_COUNT:
		insn->run = mbarrier_pending_count;
		insn->properties = 0;
		return true;
	default:
		return false;
	}
}

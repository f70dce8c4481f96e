/* SPDX-License-Identifier: Apache-2.0
 *
 * exec.h - a running grid: launch, clusters, blocks, warps, frames; and what the executor's files share.
 *
 * A launch is divided into domains: the SMs whose events run in one order, by one thread at a time. Most launches are
 * one domain. A kernel whose blocks cannot see each other (ptx_share.c) has a domain for each SM, so that several
 * threads can run it; they meet only where a block ends and the next one starts (dispatch.c). What belongs to a domain
 * is touched by the thread that runs it; what belongs to the launch is fixed while it runs, or under dispatch.c's lock.
 * Device memory, the device's stop flag and host memory are shared with all.
 *
 * Lanes of a warp. Each has a program counter and a frame; those that agree run together as the group `active`. At a
 * choice the group in the deepest call with the lowest program counter runs first, which makes lanes that left a
 * branch early wait where the others will arrive. A group that loops while others wait hands over after a while, so
 * that a lane may wait for another lane of its own warp (see warp.c).
 */
#ifndef SIMGPU_EXEC_H
#define SIMGPU_EXEC_H

#include "device.h"
#include "ptx_ir.h"
#include "truth.h"

#include <string.h>

#define SIM_MAX_THREADS_PER_BLOCK 1024u
#define SIM_MAX_CLUSTER           16u
#define SIM_N_BARRIERS            16u
#define SIM_ALL_LANES             UINT32_MAX
#define SIM_NO_PC                 UINT32_MAX
/* Shared memory of block r of a cluster, seen from any of its blocks: (r + 1) << SIM_RANK_SHIFT. */
#define SIM_RANK_SHIFT SIM_SHARED_LIMIT_SHIFT

/* What the system keeps for itself of a block's shared memory, zero at the start; cooperative groups uses some of it.
 */
#define SIM_RESERVED_SHARED_BYTES  1024u
#define SIM_RESERVED_SHARED_OFFSET ((1u << SIM_SHARED_LIMIT_SHIFT) - SIM_RESERVED_SHARED_BYTES)

/* The workspace of a cooperative launch, and where in the parameter segment it is. */
#define SIM_WORKSPACE_WORDS  16
#define SIM_WORKSPACE_OFFSET (1u << 31)

struct sim_launch_state;
struct sim_domain;
struct sim_block;

enum sim_event_kind { EVENT_DEFERRED, EVENT_BLOCK_END, EVENT_WARP };

/* Something that happens at a point of simulated time; the queue orders by (time, order). */
struct sim_event {
	uint64_t time; /* SIM_TIME_BITS */
	uint32_t order;
	uint32_t position; /* in the queue + 1; 0 = not queued */
	enum sim_event_kind kind;
};

/* An event in the queue, with what orders it beside it: comparing reaches for no event. */
struct sim_queued {
	uint64_t time;
	uint32_t order;
	struct sim_event *event;
};

/* Bases of `order`: at one time completions come first, then ends of blocks by SM, then instructions by SM. */
#define SIM_ORDER_BLOCK_END (1u << 30)
#define SIM_ORDER_WARP      (1u << 31)

/* The completion of asynchronous copies, as an mbarrier sees it. */
struct sim_deferred {
	struct sim_event event;
	struct sim_block *block; /* whose shared memory holds the mbarrier */
	uint64_t block_generation;
	uint32_t address;
	uint32_t arrivals;
	uint32_t bytes; /* complete_tx */
	struct sim_deferred *next_free, *next_all;
};

struct sim_frame {
	struct sim_frame *parent; /* of a pooled frame: the next one */
	const struct ptx_function *function;
	const struct ptx_call *call; /* that made it; NULL for a kernel */
	uint8_t *registers;
	uint8_t *params; /* function->params_bytes per lane, lane by lane */
	uint32_t return_pc;
	uint32_t depth;
	uint32_t id;
	uint32_t mask;                  /* lanes that have not returned */
	uint32_t stack_bytes;           /* registers and parameters per lane, of it and its callers */
	uint32_t local_base, local_top; /* its local memory; the top moves with alloca */
};

enum sim_warp_event {
	WARP_RESELECT = 1, /* lanes moved: choose a group */
	WARP_FAULT = 2,
	WARP_BLOCKED = 4, /* not runnable until something wakes it */
};

enum sim_wait { WAIT_NONE, WAIT_BARRIER, WAIT_MBARRIER, WAIT_CLUSTER, WAIT_LANES };

struct sim_warp {
	struct sim_event event; /* first: a queued event is its warp */

	uint8_t *bases[2]; /* by operand kind: registers, constants */
	const struct ptx_insn *code;
	struct sim_frame *frame;
	uint32_t pc, reconverge_pc;
	uint32_t active, live, parked;
	uint32_t events;
	uint64_t cycle;      /* of its SM: when the next instruction issues */
	uint64_t load_ready; /* when the loads under way have arrived */
	uint32_t *n_ready;   /* warps of its partition that compete for issue slots, this one included while is_ready */
	bool is_ready;
	uint32_t carry; /* condition code, a bit per lane */

	struct sim_launch_state *launch;
	struct sim_domain *domain;
	struct sim_block *block;
	const struct sim_sm_clock *clock;
	uint32_t index; /* in its block */

	uint32_t lane_pc[SIM_LANES];
	struct sim_frame *lane_frame[SIM_LANES];
	uint64_t lane_stamp[SIM_LANES]; /* when it last ran */
	uint64_t stamp;
	uint64_t n_executed;
	uint32_t spin;
	uint32_t slice_lane;
	uint64_t slice_end;
	uint32_t next_frame_id;

	/* Lanes that stand at an instruction and wait. */
	const struct ptx_insn *parked_at[SIM_LANES];
	uint32_t parked_sync, parked_barrier, parked_cluster;
	uint32_t sync_members[SIM_LANES];
	uint32_t barrier_predicate;

	enum sim_wait wait;
	uint32_t wait_address;
	uint64_t wait_deadline; /* cycle; 0 = none set */
	bool wait_expired;
	uint32_t cluster_arrived; /* lanes that executed barrier.cluster.arrive while others have yet to */
	uint32_t cluster_phase;   /* of the cluster when the warp arrived last */
	uint32_t cluster_waits;   /* lanes of that arrival that have not waited for it yet */
	bool cluster_counted;     /* has arrived at all */

	/* Asynchronous copies: when the group being filled, and each committed one, is complete. */
	uint64_t async_open;
	uint64_t async_groups[8];
	uint32_t n_async_groups;
	uint64_t bulk_ready;

	uint8_t *local;          /* lane by lane, exec_memory.c's stride apart */
	uint32_t local_capacity; /* per lane */
	uint32_t tid[3][SIM_LANES];
	bool is_done;
};

struct sim_barrier {
	uint32_t arrived; /* threads */
	uint32_t wanted;  /* threads; 0 = every warp of the block that still runs */
	uint32_t waiting; /* warps of the block, a bit each */
	uint64_t last_cycle;
	uint8_t action;  /* of a reduction, which all must ask for; else PTX_M_NONE */
	uint32_t n_true; /* of a reduction: threads whose predicate was true */
	uint32_t n_threads;
};

struct sim_cluster {
	struct sim_block *blocks[SIM_MAX_CLUSTER];
	uint32_t n_blocks, n_live_blocks;
	uint32_t n_live_warps, n_arrived;
	uint32_t phase;
	uint64_t last_time;
	struct sim_cluster *next_free, *next_all;
};

struct sim_block {
	struct sim_event end; /* first: its last warp has ended; EVENT_BLOCK_END */
	struct sim_launch_state *launch;
	struct sim_cluster *cluster;
	uint32_t rank; /* in its cluster */
	uint32_t sm;
	uint32_t slot; /* among the blocks of its SM */
	uint32_t ctaid[3];
	uint64_t generation;
	uint8_t *shared;
	uint32_t shared_bytes;
	_Alignas(16) uint8_t reserved[SIM_RESERVED_SHARED_BYTES];
	uint32_t n_threads, n_warps, n_live_warps;
	bool has_triggered; /* griddepcontrol.launch_dependents */
	struct sim_barrier barriers[SIM_N_BARRIERS];
	struct sim_block *next_free, *next_all;
	struct sim_warp *warps;
};

struct sim_sm;

enum sim_domain_stage {
	DOMAIN_READY,
	DOMAIN_RUNNING,
	DOMAIN_ASKING, /* a block ended: is there another one? */
	DOMAIN_HUNG,   /* every warp waits for another one */
	DOMAIN_OVER,
};

/* SMs whose events run in one order. */
struct sim_domain {
	uint64_t n_steps; /* against the launch's max_steps */
	struct sim_launch_state *launch;
	uint32_t first_sm; /* its only one, unless it is the only domain */

	struct sim_range_cache cache;
	struct sim_queued *queue;
	uint32_t n_queue, queue_capacity;
	uint32_t next_deferred_order;
	uint64_t now;      /* time of the event that runs */
	uint32_t n_polls;  /* looks at what others write, waits that timed out, sleeps: since the last pause for them */
	bool has_achieved; /* a store, a read-modify-write, the end of a block: since polls were last looked at */
	uint32_t n_idle_events;
	uint64_t n_fruitless; /* polls since something was achieved */
	uint64_t n_running_blocks;
	uint64_t next_generation;
	uint64_t end_time;
	uint64_t n_executed;    /* instructions of the warps that have ended */
	uint64_t trigger_time;  /* when the last block that did so far let dependents start */
	enum sim_status status; /* not SIM_OK: it stopped at `now`, for the reason in `message` */
	char message[256];
	struct sim_truth truth;

	struct sim_block *free_blocks, *all_blocks; /* all_blocks is linked by next_all */
	struct sim_cluster *free_clusters, *all_clusters;
	struct sim_deferred *free_deferred, *all_deferred;
	struct sim_frame **free_frames; /* by function index */

	/* Under dispatch.c's lock. */
	enum sim_domain_stage stage;
	uint64_t bound; /* it asks for nothing before this time */
	bool has_grant; /* the block to start when it goes on */
	uint64_t granted_cluster;
	uint64_t granted_time;
};

struct sim_launch_state {
	struct sim_device *device;
	const struct ptx_function *function;
	const struct ptx_module *module;
	const struct sim_launch *launch;
	struct sim_result *result;
	uint32_t number; /* of the process's launches */
	bool tells_truth;
	const uint8_t *params;
	uint32_t params_bytes;
	/* Of a cooperative launch: size and barrier, as %envreg1 and %envreg2 name it; zero at the start. */
	_Alignas(16) uint32_t workspace[SIM_WORKSPACE_WORDS];
	uint32_t cluster_shape[3];
	uint32_t block_threads, block_warps, shared_bytes, dynamic_shared_offset;
	bool is_cluster;
	uint32_t cluster_blocks; /* per cluster */
	uint64_t n_clusters;
	uint64_t host_start_ns;

	struct sim_sm *sms; /* each belongs to its domain */
	struct sim_domain *domains;
	uint32_t n_domains;
	/* Which cluster starts next, and when at the earliest: of the only domain, or under dispatch.c's lock. */
	_Atomic uint64_t next_cluster;
	uint64_t next_start_time;
};

/* --- warp.c: groups of lanes, frames, the instruction loop ------------------------------------ */

enum warp_stop { WARP_STOP_REQUEUE, WARP_STOP_STALLED, WARP_STOP_BLOCKED, WARP_STOP_DONE, WARP_STOP_FAULT };

/* Runs the warp until it blocks, ends, faults, or another event comes first. Stalled means: nothing to do until its
 * event's time. */
enum warp_stop warp_run(struct sim_warp *warp);
/* Makes the warp start the kernel at `cycle`; false when memory ran out. */
bool warp_start(struct sim_warp *warp, uint64_t cycle);
/* Ends the launch: the first fault of a launch is its result. `lane` is any lane concerned. */
__attribute__((format(printf, 5, 6))) void warp_fault(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane,
						      enum sim_status status, const char *format, ...);
/* Stores where the lanes of the running group are, so that another group can be chosen. A handler that has placed them
 * itself clears `active` instead. */
void warp_save_group(struct sim_warp *warp);
void warp_select_group(struct sim_warp *warp);
/* The group branched backwards, or polled without success (weight > 1): after enough of it others get a turn. */
void warp_note_spin(struct sim_warp *warp, uint32_t weight);
void warp_exit_lanes(struct sim_warp *warp, uint32_t mask);
/* Gives back the frames of a warp that will not go on; its lanes are saved. */
void warp_drop_frames(struct sim_warp *warp);
/* Lanes that waited may go on: when no group runs, the warp is put back into the queue. */
void warp_wake(struct sim_warp *warp, uint64_t cycle);
/* The block lets dependent grids start at `time`, by saying so or by ending. */
void domain_note_trigger(struct sim_domain *domain, struct sim_block *block, uint64_t time);
struct sim_frame *frame_take(struct sim_warp *warp, const struct ptx_function *function);
void frame_release(struct sim_domain *domain, struct sim_frame *frame);

static inline uint32_t warp_runnable(const struct sim_warp *warp)
{
	return warp->live & ~warp->parked;
}

static inline uint64_t warp_time(const struct sim_warp *warp, uint64_t cycle)
{
	return sim_clock_time(warp->clock, cycle);
}

/* exec_special.c: what happens at the warp's cycle, for SIMGPU_TRUTH. */
void warp_tell_truth(struct sim_warp *warp, enum sim_truth_register reg, uint64_t value, uint32_t lanes);

/* --- exec_warp.c: .sync instructions; exec_barrier.c: barriers -------------------------------- */

/* Lanes ended: those that wait for them may go on. */
void warp_recheck_sync(struct sim_warp *warp);
void warp_recheck_barrier(struct sim_warp *warp);
void warp_recheck_cluster(struct sim_warp *warp);
/* All lanes of the warp have ended. */
void block_warp_ended(struct sim_warp *warp);
/* exec_warp.c: the handler of bar.warp.sync. */
ptx_exec_fn *warp_sync_handler(void);
/* exec_matrix.c: what the warp does together, once its lanes have met. */
bool is_matrix_op(const struct ptx_insn *insn);
void matrix_run(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask);
/* The block and offset of the mbarrier that memory operand `memory` of a lane names; NULL after a fault. */
struct sim_block *mbarrier_at(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t memory, uint32_t lane,
			      uint32_t *ret_offset);
/* One more arrival is missing in the running phase; false when the count is full. */
bool mbarrier_expect_one_more(struct sim_block *block, uint32_t offset);
/* An asynchronous copy is complete. */
void mbarrier_deferred(const struct sim_deferred *deferred);

/* --- queue.c: what happens next in a domain --------------------------------------------------- */

/* False, with the domain's status set, when memory ran out. */
bool queue_push(struct sim_domain *domain, struct sim_event *event);
void queue_remove(struct sim_domain *domain, struct sim_event *event);
/* A completion that fires at `time`; false when memory ran out. */
bool queue_deferred(struct sim_domain *domain, struct sim_block *block, uint64_t time, uint32_t address,
		    uint32_t arrivals, uint32_t bytes);

/* --- sm.c: blocks on SMs, and running a domain ------------------------------------------------ */

enum domain_stop { DOMAIN_STOP_PAUSE, DOMAIN_STOP_ASK, DOMAIN_STOP_HUNG, DOMAIN_STOP_OVER };

/* What a wait that timed out, or a sleep, counts for as a poll. */
#define POLLS_OF_A_WAIT 64
/* How many blocks of the launch's shape fit on an SM. */
uint32_t sm_capacity(const struct sim_launch_state *state);
/* Starts clusters while there are any and they fit, from `time` on; false when memory ran out. For a launch of one
 * domain, and at the start, when no thread runs any. */
bool start_clusters(struct sim_launch_state *state, uint64_t time);
bool clusters_left(struct sim_launch_state *state);
/* The next cluster's number, and when it may start if its SM is free at `time`. */
uint64_t take_cluster(struct sim_launch_state *state, uint64_t time, uint64_t *ret_time);
/* Runs up to `n_events` events. ASK: a block has ended at `now`, and clusters may be left. */
enum domain_stop domain_run(struct sim_domain *domain, uint64_t n_events);
/* Ends the domain; of several reasons the first stands. */
void domain_fail(struct sim_domain *domain, enum sim_status status, const char *message);
bool domains_create(struct sim_launch_state *state, uint32_t n_domains);
void domains_destroy(struct sim_launch_state *state);

/* --- dispatch.c: the domains of a launch on the machine's cores ------------------------------- */

/* Runs every domain to its end, or to the first failure in simulated time. */
void dispatch_run(struct sim_launch_state *state);

/* Does it come before (time, order)? */
static inline bool queued_before(const struct sim_queued *a, uint64_t time, uint32_t order)
{
	return a->time != time ? a->time < time : a->order < order;
}

/* --- access to operands ----------------------------------------------------------------------- */

extern const uint16_t sim_cost_cycles[PTX_N_COSTS];

/* Lanes of an operand, as an array of its type. */
#define LANES_OF(T, warp, operand) ((T *)(void *)((warp)->bases[(operand).kind] + (operand).offset))

/* Lanes are independent of each other: registers overlap wholly or not at all. clang finds out on its own. */
#ifdef __clang__
#define INDEPENDENT_LANES
#else
#define INDEPENDENT_LANES _Pragma("GCC ivdep")
#endif

/* Runs `body` with `lane` set to each lane of `mask`; a full warp is a plain loop that the compiler vectorises. */
#define FOR_LANES(mask, body)                                                           \
	do {                                                                            \
		if ((mask) == SIM_ALL_LANES) {                                          \
			INDEPENDENT_LANES                                               \
			for (uint32_t lane = 0; lane < SIM_LANES; lane++) {             \
				body                                                    \
			}                                                               \
		} else {                                                                \
			for (uint32_t rest_ = (mask); rest_ != 0; rest_ &= rest_ - 1) { \
				uint32_t lane = (uint32_t)__builtin_ctz(rest_);         \
				body                                                    \
			}                                                               \
		}                                                                       \
	} while (0)

#define FOR_EACH_LANE(lane, mask)                     \
	for (uint32_t rest_##lane = (mask), lane = 0; \
	     rest_##lane != 0 && (lane = (uint32_t)__builtin_ctz(rest_##lane), true); rest_##lane &= rest_##lane - 1)

static inline uint32_t read_predicate(const struct sim_warp *warp, const struct ptx_operand *operand)
{
	uint32_t mask = *LANES_OF(const uint32_t, warp, *operand);

	return operand->negate ? ~mask : mask;
}

static inline void write_predicate(struct sim_warp *warp, const struct ptx_operand *operand, uint32_t value,
				   uint32_t mask)
{
	uint32_t *to = LANES_OF(uint32_t, warp, *operand);

	*to = (*to & ~mask) | (value & mask);
}

/* One lane of an operand of any width, zero-extended. */
static inline uint64_t read_lane(const struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane)
{
	switch (operand->bytes) {
	case 0:
		return read_predicate(warp, operand) >> lane & 1;
	case 2:
		return LANES_OF(const uint16_t, warp, *operand)[lane];
	case 4:
		return LANES_OF(const uint32_t, warp, *operand)[lane];
	case 16:
		return LANES_OF(const uint64_t, warp, *operand)[2 * lane];
	case 1:
		return LANES_OF(const uint8_t, warp, *operand)[lane];
	default:
		return LANES_OF(const uint64_t, warp, *operand)[lane];
	}
}

static inline void write_lane(struct sim_warp *warp, const struct ptx_operand *operand, uint32_t lane, uint64_t value)
{
	switch (operand->bytes) {
	case 0:
		write_predicate(warp, operand, value != 0 ? 1u << lane : 0, 1u << lane);
		break;
	case 1:
		LANES_OF(uint8_t, warp, *operand)[lane] = (uint8_t)value;
		break;
	case 2:
		LANES_OF(uint16_t, warp, *operand)[lane] = (uint16_t)value;
		break;
	case 4:
		LANES_OF(uint32_t, warp, *operand)[lane] = (uint32_t)value;
		break;
	case 16:
		LANES_OF(uint64_t, warp, *operand)[2 * lane] = value;
		LANES_OF(uint64_t, warp, *operand)[2 * lane + 1] = 0;
		break;
	default:
		LANES_OF(uint64_t, warp, *operand)[lane] = value;
		break;
	}
}

static inline uint32_t first_lane(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

/* exec_memory.c: host pointer for `bytes` at an address of a lane; NULL after raising the fault. */
void *lane_pointer(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint8_t space, uint64_t address,
		   uint32_t bytes);
/* exec_memory.c: a result that arrives `latency` (PTX_COST_LATENCY_...) after now. */
void warp_note_load(struct sim_warp *warp, uint32_t latency);
/* The same for a range of any length, without a check of its alignment. */
void *lane_range(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane, uint8_t space, uint64_t address,
		 uint32_t bytes);
uint64_t lane_address(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t memory, uint32_t lane);
/* The block whose shared memory an address of shared space is in, and its offset there; NULL when there is none. */
struct sim_block *shared_block(struct sim_warp *warp, uint64_t address, uint32_t *ret_offset);
/* Room for `bytes` of local memory per lane; false, with a fault, past the limit or without memory. */
bool warp_reserve_local(struct sim_warp *warp, uint32_t bytes);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_warp.c - instructions among the lanes of a warp.
 *
 * A .sync instruction names its members. When those that live stand at it together it runs at once. Else the lanes that
 * arrived are parked, wherever they are in the program, until the last named lane arrives or ends; the exchange then
 * happens between values that each lane brings from its own frame. Runs on the thread of sim_launch().
 */
#include "exec_ops.h"
#include "half.h"

#include <math.h>

/* What lanes bring to an exchange and take from it. */
struct exchange {
	uint64_t value[SIM_LANES];
	uint32_t second[SIM_LANES], third[SIM_LANES]; /* shfl: source lane, clamp and segment */
	uint32_t predicate;
	uint64_t result[SIM_LANES];
	uint32_t result_predicate;
};

/* Operands of each .sync opcode: where the value, the predicate and the members are; 0 = none. */
static uint32_t members_operand(const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_SHFL:
		return 5;
	case PTX_OP_VOTE:
	case PTX_OP_REDUX:
	case PTX_OP_ELECT:
		return 2;
	case PTX_OP_MATCH:
		return 3;
	default: /* PTX_OP_BAR, PTX_OP_BARRIER with .warp */
		return 0;
	}
}

/* A product of matrices is the whole warp's. */
static uint32_t members_of(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t lane)
{
	if (is_matrix_op(insn))
		return SIM_ALL_LANES;
	return LANES_OF(const uint32_t, warp, insn->o[members_operand(insn)])[lane];
}

static void gather(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	FOR_EACH_LANE(lane, mask)
	{
		switch (insn->op) {
		case PTX_OP_SHFL:
			exchange->value[lane] = read_lane(warp, &insn->o[2], lane);
			exchange->second[lane] = (uint32_t)read_lane(warp, &insn->o[3], lane);
			exchange->third[lane] = (uint32_t)read_lane(warp, &insn->o[4], lane);
			break;
		case PTX_OP_VOTE:
			exchange->predicate |= (uint32_t)read_lane(warp, &insn->o[1], lane) << lane;
			break;
		case PTX_OP_MATCH:
			exchange->value[lane] = read_lane(warp, &insn->o[2], lane);
			break;
		case PTX_OP_REDUX:
			exchange->value[lane] = read_lane(warp, &insn->o[1], lane);
			break;
		default:
			break;
		}
	}
}

static void scatter(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, const struct exchange *exchange)
{
	if (insn->op == PTX_OP_BAR || insn->op == PTX_OP_BARRIER)
		return;
	FOR_EACH_LANE(lane, mask)
	{
		write_lane(warp, &insn->o[0], lane, exchange->result[lane]);
	}
	if (insn->o[1].kind == PTX_OPERAND_REG &&
	    (insn->op == PTX_OP_SHFL || insn->op == PTX_OP_MATCH || insn->op == PTX_OP_ELECT))
		write_predicate(warp, &insn->o[1], exchange->result_predicate, mask);
}

/* --- what each one computes ------------------------------------------------------------------- */

/* Source lane of `lane`, and whether it is inside the segment. */
static uint32_t shuffle_source(uint8_t mode, uint32_t lane, uint32_t b, uint32_t c, bool *ret_inside)
{
	uint32_t segment = c >> 8 & 31, clamp = c & 31;
	uint32_t first = lane & segment, last = first | (clamp & ~segment);
	uint32_t source;

	b &= 31;
	switch (mode) {
	case PTX_M_UP:
		source = lane - b;
		*ret_inside = (int32_t)source >= (int32_t)last;
		break;
	case PTX_M_DOWN:
		source = lane + b;
		*ret_inside = source <= last;
		break;
	case PTX_M_BFLY:
		source = lane ^ b;
		*ret_inside = source <= last;
		break;
	default: /* PTX_M_IDX */
		source = first | (b & ~segment);
		*ret_inside = source <= last;
		break;
	}
	return *ret_inside ? source & 31 : lane;
}

static void compute_shuffle(const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	FOR_EACH_LANE(lane, mask)
	{
		bool inside;
		uint32_t source =
			shuffle_source(insn->actions[0], lane, exchange->second[lane], exchange->third[lane], &inside);

		/* Reading a lane that takes no part is undefined. Devices give 0, and a well-known reduction counts on
		 * it. */
		exchange->result[lane] = mask >> source & 1 ? exchange->value[source] : 0;
		if (inside)
			exchange->result_predicate |= 1u << lane;
	}
}

static void compute_vote(const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	uint32_t true_lanes = exchange->predicate & mask;
	uint64_t result;

	switch (insn->actions[0]) {
	case PTX_M_BALLOT:
		result = true_lanes;
		break;
	case PTX_M_ALL:
		result = true_lanes == mask;
		break;
	case PTX_M_ANY:
		result = true_lanes != 0;
		break;
	default: /* .uni */
		result = true_lanes == mask || true_lanes == 0;
		break;
	}
	FOR_EACH_LANE(lane, mask)
	{
		exchange->result[lane] = result;
	}
}

static void compute_match(const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	bool all = true;

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t equal = 0;

		FOR_EACH_LANE(other, mask)
		{
			if (exchange->value[other] == exchange->value[lane])
				equal |= 1u << other;
		}
		exchange->result[lane] = equal;
		all = all && equal == mask;
	}
	if (insn->actions[0] == PTX_M_ANY)
		return;
	FOR_EACH_LANE(lane, mask)
	{
		exchange->result[lane] = all ? mask : 0;
	}
	exchange->result_predicate = all ? mask : 0;
}

static uint32_t reduce_pair(uint8_t action, bool is_signed, uint32_t a, uint32_t b)
{
	bool less = is_signed ? (int32_t)a < (int32_t)b : a < b;

	switch (action) {
	case PTX_M_ADD:
		return a + b;
	case PTX_M_MIN:
		return less ? a : b;
	case PTX_M_MAX:
		return less ? b : a;
	case PTX_M_AND:
		return a & b;
	case PTX_M_OR:
		return a | b;
	default: /* PTX_M_XOR */
		return a ^ b;
	}
}

/* A NaN loses, unless .NaN lets it win; -0 is less than 0. */
static float reduce_floats(const struct ptx_insn *insn, float a, float b)
{
	bool is_min = insn->actions[0] == PTX_M_MIN;

	if (has_flag(insn, PTX_FLAG(ABS))) {
		a = fabsf(a);
		b = fabsf(b);
	}
	if (isnan(a) || isnan(b))
		return has_flag(insn, PTX_FLAG(QNAN)) || (isnan(a) && isnan(b)) ? bits_float(0x7fffffff)
		       : isnan(a)                                               ? b
										: a;
	if (a == b)
		return (signbit(a) != 0) == is_min ? a : b;
	return (a < b) == is_min ? a : b;
}

static uint32_t reduce_words(const struct ptx_insn *insn, uint32_t a, uint32_t b)
{
	if (insn->types[0] == PTX_F32)
		return float_bits(reduce_floats(insn, bits_float(a), bits_float(b)));
	return reduce_pair(insn->actions[0], insn->types[0] == PTX_S32, a, b);
}

static void compute_redux(const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	uint32_t lead = first_lane(mask);
	uint32_t result = (uint32_t)exchange->value[lead];

	/* With itself: so that a single lane's value takes part in .abs too. */
	if (insn->types[0] == PTX_F32)
		result = reduce_words(insn, result, result);
	FOR_EACH_LANE(lane, mask & ~(1u << lead))
	{
		result = reduce_words(insn, result, (uint32_t)exchange->value[lane]);
	}
	FOR_EACH_LANE(lane, mask)
	{
		exchange->result[lane] = result;
	}
}

static void compute_elect(uint32_t mask, struct exchange *exchange)
{
	FOR_EACH_LANE(lane, mask)
	{
		exchange->result[lane] = first_lane(mask);
	}
	exchange->result_predicate = 1u << first_lane(mask);
}

static void compute(const struct ptx_insn *insn, uint32_t mask, struct exchange *exchange)
{
	switch (insn->op) {
	case PTX_OP_SHFL:
		compute_shuffle(insn, mask, exchange);
		break;
	case PTX_OP_VOTE:
		compute_vote(insn, mask, exchange);
		break;
	case PTX_OP_MATCH:
		compute_match(insn, mask, exchange);
		break;
	case PTX_OP_REDUX:
		compute_redux(insn, mask, exchange);
		break;
	case PTX_OP_ELECT:
		compute_elect(mask, exchange);
		break;
	default:
		break;
	}
}

/* --- meeting ---------------------------------------------------------------------------------- */

static void exchange_together(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	struct exchange exchange;

	if (is_matrix_op(insn)) {
		matrix_run(warp, insn, mask);
		return;
	}
	memset(&exchange, 0, sizeof(exchange));
	gather(warp, insn, mask, &exchange);
	compute(insn, mask, &exchange);
	scatter(warp, insn, mask, &exchange);
}

/* The lanes came one by one, but must stand at one instruction of one frame. */
static void matrix_together(struct sim_warp *warp, uint32_t mask)
{
	uint8_t *registers = warp->bases[PTX_OPERAND_REG], *constants = warp->bases[PTX_OPERAND_CONST];
	uint32_t lead = first_lane(mask);
	struct sim_frame *frame = warp->frame;

	FOR_EACH_LANE(lane, mask)
	{
		if (warp->parked_at[lane] != warp->parked_at[lead] ||
		    warp->lane_frame[lane] != warp->lane_frame[lead]) {
			warp_fault(warp, warp->parked_at[lane], lane, SIM_ILLEGAL_INSTRUCTION,
				   "lanes at different instructions of the kind that a warp executes together");
			return;
		}
	}
	warp->frame = warp->lane_frame[lead];
	warp->bases[PTX_OPERAND_REG] = warp->frame->registers;
	warp->bases[PTX_OPERAND_CONST] = warp->frame->function->constants;
	matrix_run(warp, warp->parked_at[lead], mask);
	warp->frame = frame;
	warp->bases[PTX_OPERAND_REG] = registers;
	warp->bases[PTX_OPERAND_CONST] = constants;
}

/* Lanes that came to the meeting from different places: each is gathered and served in its own frame. */
static void exchange_scattered(struct sim_warp *warp, uint32_t mask)
{
	uint8_t *registers = warp->bases[PTX_OPERAND_REG], *constants = warp->bases[PTX_OPERAND_CONST];
	struct exchange exchange;

	memset(&exchange, 0, sizeof(exchange));
	for (int pass = 0; pass < 2; pass++) {
		FOR_EACH_LANE(lane, mask)
		{
			const struct ptx_insn *insn = warp->parked_at[lane];

			warp->bases[PTX_OPERAND_REG] = warp->lane_frame[lane]->registers;
			warp->bases[PTX_OPERAND_CONST] = warp->lane_frame[lane]->function->constants;
			if (pass == 0)
				gather(warp, insn, 1u << lane, &exchange);
			else
				scatter(warp, insn, 1u << lane, &exchange);
		}
		if (pass == 0)
			compute(warp->parked_at[first_lane(mask)], mask, &exchange);
	}
	warp->bases[PTX_OPERAND_REG] = registers;
	warp->bases[PTX_OPERAND_CONST] = constants;
}

static bool same_meeting(const struct sim_warp *warp, uint32_t a, uint32_t b)
{
	const struct ptx_insn *x = warp->parked_at[a], *y = warp->parked_at[b];

	return warp->sync_members[a] == warp->sync_members[b] && x->op == y->op && x->actions[0] == y->actions[0] &&
	       x->types[0] == y->types[0];
}

/* Lets every meeting go on whose living members have all arrived. */
void warp_recheck_sync(struct sim_warp *warp)
{
	uint32_t unchecked = warp->parked_sync;

	while (unchecked != 0) {
		uint32_t lead = first_lane(unchecked), here = 0;

		FOR_EACH_LANE(lane, unchecked)
		{
			if (same_meeting(warp, lane, lead))
				here |= 1u << lane;
		}
		unchecked &= ~here;
		if ((warp->sync_members[lead] & warp->live & ~here) != 0)
			continue;
		if (is_matrix_op(warp->parked_at[lead]))
			matrix_together(warp, here);
		else
			exchange_scattered(warp, here);
		warp->parked_sync &= ~here;
		warp->parked &= ~here;
		warp->events |= WARP_RESELECT;
	}
}

/* Of `mask`, the lanes that name the same members as its first. */
static uint32_t same_members(const struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)
{
	uint32_t members = members_of(warp, insn, first_lane(mask)), same = 0;

	FOR_EACH_LANE(lane, mask)
	{
		if (members_of(warp, insn, lane) == members)
			same |= 1u << lane;
	}
	return same;
}

/* Lanes that come together may belong to several meetings: tiles of a warp, say. */
HANDLER(sync)
{
	uint32_t parked = 0;

	while (mask != 0) {
		uint32_t here = same_members(warp, insn, mask);

		/* Everybody is here, or the others have ended. */
		if ((members_of(warp, insn, first_lane(mask)) & warp->live & ~here) == 0)
			exchange_together(warp, insn, here);
		else
			parked |= here;
		mask &= ~here;
	}
	if (parked == 0)
		return;
	/* lane_pc is behind the instruction: that is where a lane goes on. */
	warp_save_group(warp);
	FOR_EACH_LANE(lane, parked)
	{
		warp->parked_at[lane] = insn;
		warp->sync_members[lane] = members_of(warp, insn, lane);
	}
	warp->parked_sync |= parked;
	warp->parked |= parked;
	warp->active = 0;
	warp->events |= WARP_RESELECT;
	warp_recheck_sync(warp);
}

ptx_exec_fn *warp_sync_handler(void)
{
	return sync;
}

static bool select_sync(struct ptx_insn *insn)
{
	insn->run = sync;
	return has_flag(insn, PTX_FLAG(SYNC));
}

bool select_vote(struct ptx_insn *insn)
{
	bool ballot = insn->actions[0] == PTX_M_BALLOT;
	bool known = ballot || insn->actions[0] == PTX_M_ALL || insn->actions[0] == PTX_M_ANY ||
		     (insn->actions[0] == PTX_M_NONE && has_flag(insn, PTX_FLAG(UNI)));

	return known && insn->types[0] == (ballot ? PTX_B32 : PTX_PRED) && select_sync(insn);
}

bool select_shfl(struct ptx_insn *insn)
{
	return insn->actions[0] >= PTX_M_UP && insn->actions[0] <= PTX_M_IDX && insn->types[0] == PTX_B32 &&
	       select_sync(insn);
}

bool select_match(struct ptx_insn *insn)
{
	return (insn->actions[0] == PTX_M_ANY || insn->actions[0] == PTX_M_ALL) &&
	       (insn->types[0] == PTX_B32 || insn->types[0] == PTX_B64) && select_sync(insn);
}

bool select_redux(struct ptx_insn *insn)
{
	uint8_t action = insn->actions[0];
	bool logic = action == PTX_M_AND || action == PTX_M_OR || action == PTX_M_XOR;
	bool arithmetic = action == PTX_M_ADD || action == PTX_M_MIN || action == PTX_M_MAX;

	if (insn->types[0] == PTX_F32)
		return (action == PTX_M_MIN || action == PTX_M_MAX) && select_sync(insn);
	if (has_flag(insn, PTX_FLAG(ABS) | PTX_FLAG(QNAN)))
		return false;
	return ((logic && insn->types[0] == PTX_B32) ||
		(arithmetic && (insn->types[0] == PTX_U32 || insn->types[0] == PTX_S32))) &&
	       select_sync(insn);
}

bool select_elect(struct ptx_insn *insn)
{
	return select_sync(insn);
}

HANDLER(activemask)
{
	uint32_t *to = LANES_OF(uint32_t, warp, insn->o[0]);

	FOR_LANES(mask, { to[lane] = mask; });
}

bool select_activemask(struct ptx_insn *insn)
{
	insn->run = activemask;
	return insn->types[0] == PTX_B32;
}

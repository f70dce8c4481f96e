/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_share.c - can the blocks of a kernel see each other?
 *
 * If they cannot, the order in which their instructions run does not matter and several threads may run them. Being
 * wrong would make runs differ, so the answer is yes only for the common shape of a kernel, and no for all the rest:
 *
 *   - global memory is accessed with plain loads and stores only: no atomics, nothing volatile, relaxed, acquire or
 *     release, no fence beyond the block, no cluster, no printf;
 *   - each address comes from a pointer among the kernel's parameters, or from a variable of the module, by arithmetic;
 *   - the address of a store depends on the number of the block, and not on anything that was loaded;
 *   - what is stored to is not loaded from: the pointers lead to different allocations, as seen when the kernel is
 *     launched. Or each such load is of a place that the thread stores to as well (y[i] += x): then two blocks that
 *     meet there would both write it, which has no defined result on a device either.
 *
 * How: for each register, the set of what its value may come from, as bits; instructions hand the sets of their sources
 * to their destinations until nothing changes. Every write of a register counts, wherever it is, so the order of code
 * does not matter. Any thread; the result is immutable.
 */
#include "ptx_share.h"

#include "device.h"

#include <stdlib.h>
#include <string.h>

/* What a value may come from; the bits below are parameters and variables. */
#define FROM_UNKNOWN (1ULL << 63) /* may be an address of anything */
#define FROM_MEMORY  (1ULL << 62) /* was loaded, or depends on when or where the block runs */
#define FROM_BLOCK   (1ULL << 61) /* depends on %ctaid */
#define FROM_PRIVATE (1ULL << 60) /* an address of shared or local memory */
#define MAX_SOURCES  48
#define SOURCE_BITS  ((1ULL << MAX_SOURCES) - 1)
#define MAX_ACCESSES 1024 /* more: no */
#define MAX_PASSES   64

struct source {
	bool is_symbol;
	uint32_t index; /* of the symbol; offset in the parameter block */
};

struct access {
	uint64_t from;
	uint32_t bytes;
	bool is_store;
	bool is_private_load; /* the thread stores to the same place */
	/* The place, as the code names it. */
	const struct ptx_function *function;
	uint8_t base_kind;
	uint32_t base;
	int64_t displacement;
};

struct ptx_sharing {
	const char *why; /* blocks may see each other; NULL: only if what is stored to is loaded from */
	uint32_t line;
	struct source sources[MAX_SOURCES];
	uint32_t n_sources;
	struct access *accesses;
	uint32_t n_accesses, capacity;
};

struct analysis {
	struct ptx_sharing *sharing;
	const struct ptx_function *function; /* the one that is looked at */
	uint64_t *registers;                 /* of it, by offset / 4 */
	bool changed, out_of_memory;
	uint8_t *visited; /* functions of the module, by index */
};

/* The blocks may see each other: at a line, 0 = no particular one, and why. The first reason stands. */
static void give_up(struct analysis *analysis, uint32_t line, const char *why)
{
	struct ptx_sharing *sharing = analysis->sharing;

	if (sharing->why != NULL)
		return;
	sharing->why = why;
	sharing->line = line;
}

/* --- sets ------------------------------------------------------------------------------------- */

static uint64_t source_bit(struct analysis *analysis, bool is_symbol, uint32_t index)
{
	struct ptx_sharing *sharing = analysis->sharing;
	uint32_t i = 0;

	while (i < sharing->n_sources &&
	       (sharing->sources[i].is_symbol != is_symbol || sharing->sources[i].index != index))
		i++;
	if (i == MAX_SOURCES)
		return FROM_UNKNOWN;
	if (i == sharing->n_sources)
		sharing->sources[sharing->n_sources++] = (struct source){ is_symbol, index };
	return 1ULL << i;
}

/* Constants that are addresses of symbols stand in the order of their offsets. */
static const struct ptx_constant_fixup *fixup_at(const struct ptx_function *function, uint32_t offset)
{
	uint32_t low = 0, high = function->n_fixups;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (function->fixups[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < function->n_fixups && function->fixups[low].offset == offset ? &function->fixups[low] : NULL;
}

static uint64_t set_of_constant(struct analysis *analysis, uint32_t offset)
{
	const struct ptx_constant_fixup *fixup = fixup_at(analysis->function, offset);

	if (fixup == NULL)
		return 0;
	switch (analysis->function->module->symbols[fixup->symbol].kind) {
	case PTX_SYMBOL_SHARED:
		return FROM_PRIVATE;
	case PTX_SYMBOL_FUNCTION:
		return FROM_UNKNOWN;
	default:
		return source_bit(analysis, true, fixup->symbol);
	}
}

static uint64_t set_of(struct analysis *analysis, const struct ptx_operand *operand)
{
	uint64_t set = 0;

	switch (operand->kind) {
	case PTX_OPERAND_REG:
		return analysis->registers[operand->offset / 4];
	case PTX_OPERAND_CONST:
		return set_of_constant(analysis, operand->offset);
	case PTX_OPERAND_VECTOR:
		for (uint32_t i = 0; i < operand->n_elements; i++)
			set |= set_of(analysis, &analysis->function->elements[operand->offset + i]);
		return set;
	default:
		return 0;
	}
}

static void add_to(struct analysis *analysis, const struct ptx_operand *operand, uint64_t set)
{
	uint64_t *to;

	if (operand->kind == PTX_OPERAND_VECTOR) {
		for (uint32_t i = 0; i < operand->n_elements; i++)
			add_to(analysis, &analysis->function->elements[operand->offset + i], set);
		return;
	}
	if (operand->kind != PTX_OPERAND_REG)
		return;
	to = &analysis->registers[operand->offset / 4];
	analysis->changed = analysis->changed || (*to | set) != *to;
	*to |= set;
}

/* --- instructions that only compute ----------------------------------------------------------- */

static uint64_t special_set(uint32_t sreg)
{
	switch (sreg) {
	case PTX_SREG_CTAID_X:
	case PTX_SREG_CTAID_Y:
	case PTX_SREG_CTAID_Z:
		return FROM_BLOCK;
	case PTX_SREG_DYNAMIC_SHARED:
	case PTX_SREG_LOCAL:
		return FROM_PRIVATE;
	case PTX_SREG_WARPID:
	case PTX_SREG_SMID:
	case PTX_SREG_CLOCK:
	case PTX_SREG_CLOCK_HI:
	case PTX_SREG_CLOCK64:
	case PTX_SREG_GLOBALTIMER:
	case PTX_SREG_GLOBALTIMER_LO:
	case PTX_SREG_GLOBALTIMER_HI:
		return FROM_MEMORY;
	default:
		return 0;
	}
}

static void flow(struct analysis *analysis, const struct ptx_insn *insn)
{
	uint64_t set = 0;

	if (insn->op == PTX_OP_READ_SPECIAL) {
		add_to(analysis, &insn->o[0], special_set(insn->target));
		return;
	}
	for (uint32_t i = insn->n_outputs; i < PTX_MAX_OPERANDS; i++)
		set |= set_of(analysis, &insn->o[i]);
	for (uint32_t i = 0; i < insn->n_outputs; i++)
		add_to(analysis, &insn->o[i], set);
}

/* --- memory ----------------------------------------------------------------------------------- */

static bool grow(struct analysis *analysis)
{
	struct ptx_sharing *sharing = analysis->sharing;
	uint32_t capacity = sharing->capacity == 0 ? 32 : sharing->capacity * 2;
	struct access *accesses = realloc(sharing->accesses, capacity * sizeof(*accesses));

	if (accesses == NULL) {
		analysis->out_of_memory = true;
		return false;
	}
	sharing->accesses = accesses;
	sharing->capacity = capacity;
	return true;
}

/* A plain access to what may be global memory through memory operand `memory`. */
static void note_access(struct analysis *analysis, const struct ptx_insn *insn, uint32_t memory, uint32_t bytes,
			bool is_store)
{
	struct ptx_sharing *sharing = analysis->sharing;
	const struct ptx_operand *base = &insn->o[insn->memory[memory]];
	uint64_t from = set_of(analysis, base);

	if ((from & FROM_PRIVATE) != 0 && (from & (SOURCE_BITS | FROM_UNKNOWN)) == 0)
		return;
	if ((from & FROM_UNKNOWN) != 0)
		give_up(analysis, insn->line, "an address that may lead anywhere");
	else if (is_store && (from & FROM_MEMORY) != 0)
		give_up(analysis, insn->line, "a store to an address that depends on what was loaded");
	else if (is_store && (from & FROM_BLOCK) == 0)
		give_up(analysis, insn->line, "a store to the same address by every block");
	else if (sharing->n_accesses == MAX_ACCESSES)
		give_up(analysis, insn->line, "very many accesses to memory");
	if (sharing->why != NULL)
		return;
	if (sharing->n_accesses == sharing->capacity && !grow(analysis))
		return;
	sharing->accesses[sharing->n_accesses++] = (struct access){ .from = from,
								    .bytes = bytes,
								    .is_store = is_store,
								    .function = analysis->function,
								    .base_kind = base->kind,
								    .base = base->offset,
								    .displacement = insn->displacement[memory] };
}

static bool is_plain(const struct ptx_insn *insn)
{
	return insn->sem == PTX_M_NONE || insn->sem == PTX_M_WEAK;
}

static uint32_t bytes_of(const struct ptx_insn *insn)
{
	return (uint32_t)ptx_type_bytes[insn->types[0]] * insn->n_elements;
}

/* Memory that only the block has, or that nobody writes. */
static bool is_private_space(uint8_t space)
{
	return space == PTX_M_SHARED || space == PTX_M_LOCAL || space == PTX_M_PARAM || space == PTX_M_CONST;
}

/* What a load brings: a word too short for an address may still be part of one as an index. */
static uint64_t loaded_set(struct analysis *analysis, const struct ptx_insn *insn, uint32_t element)
{
	uint32_t size = ptx_type_bytes[insn->types[0]];
	bool is_param = insn->spaces[0] == PTX_M_PARAM;

	if (is_param && insn->target == PTX_PARAM_ENTRY && insn->o[1].kind == PTX_OPERAND_CONST)
		return size == 8 ? source_bit(analysis, false, (uint32_t)insn->displacement[0] + element * size) : 0;
	return size >= 8 || is_param ? FROM_MEMORY | FROM_UNKNOWN : FROM_MEMORY;
}

static void flow_load(struct analysis *analysis, const struct ptx_insn *insn)
{
	const struct ptx_operand *to = &insn->o[0];

	for (uint32_t i = 0; i < to->n_elements && to->kind == PTX_OPERAND_VECTOR; i++)
		add_to(analysis, &analysis->function->elements[to->offset + i], loaded_set(analysis, insn, i));
	if (to->kind == PTX_OPERAND_REG)
		add_to(analysis, to, loaded_set(analysis, insn, 0));
}

static void note_copy(struct analysis *analysis, const struct ptx_insn *insn)
{
	bool is_bulk = (insn->flags & PTX_FLAG(BULK)) != 0;

	if (insn->n_memory < 2)
		return; /* groups, arrivals */
	if ((insn->flags & PTX_FLAG(REDUCE)) != 0)
		give_up(analysis, insn->line, "an atomic operation, or another kind of access");
	else if (insn->spaces[0] == PTX_M_GLOBAL)
		note_access(analysis, insn, 0, 0, true);
	else if (insn->spaces[1] == PTX_M_GLOBAL || !is_bulk)
		note_access(analysis, insn, 1, 0, false);
	else
		give_up(analysis, insn->line, "a copy between blocks");
}

/* Whether blocks may meet at an instruction; notes accesses for later. */
static void note_insn(struct analysis *analysis, const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
		if (is_private_space(insn->spaces[0]) || (insn->flags & PTX_FLAG(NC)) != 0)
			return;
		if (is_plain(insn) && insn->spaces[0] != PTX_M_CLUSTER)
			note_access(analysis, insn, 0, bytes_of(insn), false);
		else
			give_up(analysis, insn->line, "a load that is not plain");
		return;
	case PTX_OP_ST:
		if (is_private_space(insn->spaces[0]))
			return;
		if (is_plain(insn) && insn->spaces[0] != PTX_M_CLUSTER)
			note_access(analysis, insn, 0, bytes_of(insn), true);
		else
			give_up(analysis, insn->line, "a store that is not plain");
		return;
	case PTX_OP_FENCE:
	case PTX_OP_MEMBAR:
		if (insn->scope != PTX_M_CTA && insn->scope != PTX_M_NONE)
			give_up(analysis, insn->line, "a fence for other blocks");
		return;
	case PTX_OP_CP:
		note_copy(analysis, insn);
		return;
	case PTX_OP_PREFETCH:
	case PTX_OP_PREFETCHU:
	case PTX_OP_MBARRIER:
		return;
	case PTX_OP_BAR:
	case PTX_OP_BARRIER:
		if (insn->scope == PTX_M_SCOPE_CLUSTER)
			give_up(analysis, insn->line, "a barrier of a cluster");
		return;
	case PTX_OP_MAPA:
	case PTX_OP_GETCTARANK:
		give_up(analysis, insn->line, "an address in another block of the cluster");
		return;
	default:
		/* Anything else that reaches memory, atomics among it, must say that it is the block's own. */
		for (uint32_t i = 0; i < insn->n_memory; i++)
			if (insn->n_spaces == 0 || insn->spaces[0] != PTX_M_SHARED)
				give_up(analysis, insn->line, "an atomic operation, or another kind of access");
		return;
	}
}

static void flow_insn(struct analysis *analysis, const struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_LD:
	case PTX_OP_LDU:
		flow_load(analysis, insn);
		return;
	case PTX_OP_CALL:
	case PTX_OP_CP:
	case PTX_OP_BRX:
		return;
	default:
		if (insn->n_memory == 0)
			flow(analysis, insn);
		for (uint32_t i = 0; i < insn->n_outputs && insn->n_memory > 0; i++) /* of what was there */
			add_to(analysis, &insn->o[i], FROM_MEMORY | FROM_UNKNOWN);
		return;
	}
}

/* --- functions -------------------------------------------------------------------------------- */

static void flow_function(struct analysis *analysis)
{
	const struct ptx_function *function = analysis->function;

	for (uint32_t i = 0; i < function->n_calls; i++) {
		const struct ptx_call *call = &function->calls[i];

		for (uint32_t k = 0; k < call->n_results; k++)
			if (!call->results[k].is_param)
				add_to(analysis, &call->results[k].operand, FROM_MEMORY | FROM_UNKNOWN);
	}
	for (uint32_t pass = 0; pass < MAX_PASSES; pass++) {
		analysis->changed = false;
		for (uint32_t i = 0; i < function->n_code; i++)
			flow_insn(analysis, &function->code[i]);
		if (!analysis->changed)
			return;
	}
	give_up(analysis, function->line, "values that come from too many places");
}

static void look_at(struct analysis *analysis, const struct ptx_function *function)
{
	analysis->visited[function->index] = true;
	if (!function->is_defined) { /* built in: printf, assert */
		give_up(analysis, function->line, "a call of printf, assert or the like");
		return;
	}
	analysis->function = function;
	analysis->registers = calloc(function->registers_bytes / 4 + 1, sizeof(uint64_t));
	if (analysis->registers == NULL) {
		analysis->out_of_memory = true;
		return;
	}
	flow_function(analysis);
	for (uint32_t i = 0; i < function->n_code && analysis->sharing->why == NULL; i++)
		note_insn(analysis, &function->code[i]);
	free(analysis->registers);
	for (uint32_t i = 0; i < function->n_calls && analysis->sharing->why == NULL; i++) {
		const struct ptx_function *target = function->calls[i].target;

		if (target == NULL)
			give_up(analysis, function->line, "a call by address");
		else if (!analysis->visited[target->index])
			look_at(analysis, target);
	}
}

static bool same_place(const struct access *a, const struct access *b)
{
	return a->function == b->function && a->base_kind == b->base_kind && a->base == b->base &&
	       a->displacement == b->displacement && a->bytes == b->bytes && a->bytes != 0;
}

/* Which loads are of places that the thread stores to. */
static void find_private_loads(struct ptx_sharing *sharing)
{
	for (uint32_t i = 0; i < sharing->n_accesses; i++)
		for (uint32_t k = 0; k < sharing->n_accesses && !sharing->accesses[i].is_private_load; k++)
			sharing->accesses[i].is_private_load = sharing->accesses[k].is_store &&
							       same_place(&sharing->accesses[i], &sharing->accesses[k]);
}

bool ptx_share_analyse(struct ptx_function *entry)
{
	struct analysis analysis = { .sharing = calloc(1, sizeof(*analysis.sharing)),
				     .visited = calloc(entry->module->n_functions, 1) };

	entry->sharing = analysis.sharing;
	if (analysis.sharing == NULL || analysis.visited == NULL) {
		free(analysis.visited);
		return false;
	}
	look_at(&analysis, entry);
	free(analysis.visited);
	if (analysis.sharing->why == NULL)
		find_private_loads(analysis.sharing);
	return !analysis.out_of_memory;
}

void ptx_share_destroy(struct ptx_sharing *sharing)
{
	if (sharing == NULL)
		return;
	free(sharing->accesses);
	free(sharing);
}

const char *ptx_share_reason(const struct ptx_function *entry, uint32_t *ret_line)
{
	*ret_line = entry->sharing->line;
	return entry->sharing->why;
}

/* --- at a launch ------------------------------------------------------------------------------ */

/* The start of the allocation that a source leads to; 0 when it is no address. */
static uint64_t allocation_of(const struct ptx_function *entry, const struct source *source,
			      const struct sim_device *device, const uint8_t *params)
{
	uint64_t address, start, bytes;

	if (source->is_symbol)
		return entry->module->symbols[source->index].address;
	if (source->index + sizeof(address) > entry->entry_params_bytes)
		return 0;
	memcpy(&address, params + source->index, sizeof(address));
	return sim_mem_range(device, address, &start, &bytes) ? start : 0;
}

/* The sources that lead to the same allocations as those of `from`; 0 when none of them leads anywhere. */
static uint64_t reach_of(const struct ptx_sharing *sharing, uint64_t from, const uint64_t *allocations)
{
	uint64_t reach = 0;

	for (uint32_t i = 0; i < sharing->n_sources; i++)
		for (uint32_t k = 0; k < sharing->n_sources && from >> i & 1 && allocations[i] != 0; k++)
			if (allocations[k] == allocations[i])
				reach |= 1ULL << k;
	return reach;
}

bool ptx_blocks_independent(const struct ptx_function *entry, const struct sim_device *device, const uint8_t *params)
{
	const struct ptx_sharing *sharing = entry->sharing;
	uint64_t allocations[MAX_SOURCES], loaded = 0, stored = 0;

	if (sharing == NULL || sharing->why != NULL)
		return false;
	for (uint32_t i = 0; i < sharing->n_sources; i++)
		allocations[i] = allocation_of(entry, &sharing->sources[i], device, params);
	for (uint32_t i = 0; i < sharing->n_accesses; i++) {
		const struct access *access = &sharing->accesses[i];
		uint64_t reach = reach_of(sharing, access->from, allocations);

		if (reach == 0)
			return false;
		if (access->is_store)
			stored |= reach;
		else if (!access->is_private_load)
			loaded |= reach;
	}
	return (loaded & stored) == 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_ir.h - what the parser makes of PTX and the executor runs.
 *
 * A register is 32 lanes side by side in a frame: 2, 4, 8 or 16 bytes per lane by its width; a predicate is one 32-bit
 * mask. An immediate has the same shape in the function's constant block, so that a handler reads every source
 * operand in the same way. A function is a flat array of instructions; a branch target is an index into it.
 *
 * Everything here is immutable once sim_module_load() has returned and may be read from any thread.
 */
#ifndef SIMGPU_PTX_IR_H
#define SIMGPU_PTX_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_LANES 32u

enum ptx_type {
#define PTX_TYPE(id, text, bytes, class) PTX_##id,
#include "ptx_mods.def"
	PTX_N_TYPES
};

enum ptx_type_class { PTX_CLASS_U, PTX_CLASS_S, PTX_CLASS_B, PTX_CLASS_F, PTX_CLASS_P };

extern const uint8_t ptx_type_bytes[PTX_N_TYPES];
extern const uint8_t ptx_type_class[PTX_N_TYPES];
extern const char *const ptx_type_text[PTX_N_TYPES];

enum ptx_mod_kind {
	PTX_KIND_RND,
	PTX_KIND_CMP,
	PTX_KIND_ACTION,
	PTX_KIND_SPACE,
	PTX_KIND_SEM,
	PTX_KIND_SCOPE,
	PTX_KIND_VEC,
	PTX_KIND_SHAPE,
	PTX_KIND_LAYOUT,
	PTX_KIND_FLAG,
	PTX_KIND_HINT,
};

/* One numbering for all modifiers; a field of an instruction is PTX_M_NONE where its modifier is absent. */
enum ptx_mod {
	PTX_M_NONE,
#define PTX_MOD(kind, id, text) PTX_M_##id,
#include "ptx_mods.def"
	PTX_N_MODS
};

/* Bit of a FLAG modifier in ptx_insn.flags: PTX_FLAG(FTZ). */
#define PTX_FLAG_BIT(mod) (1ULL << ((mod)-PTX_M_FTZ))
#define PTX_FLAG(id)      PTX_FLAG_BIT(PTX_M_##id)

enum ptx_opcode {
#define PTX_OP(id, ...) PTX_OP_##id,
#include "ptx_ops.def"
	PTX_N_OPS
};

/* What an instruction costs its warp; the numbers are in ptx_cost.def. */
enum ptx_cost {
#define PTX_COST(id, cycles) PTX_COST_##id,
#include "ptx_cost.def"
	PTX_N_COSTS
};

/* Special registers; the last two stand for addresses known only when a block runs. */
enum ptx_sreg {
#define PTX_SREG(id, text, bytes) PTX_SREG_##id,
#include "ptx_sregs.def"
	PTX_SREG_DYNAMIC_SHARED, /* .extern .shared: behind the kernel's own shared variables */
	PTX_SREG_LOCAL,          /* .local variables: in the frame that runs */
	PTX_N_SREGS
};

enum ptx_operand_kind {
	PTX_OPERAND_REG,    /* offset into the frame's registers */
	PTX_OPERAND_CONST,  /* offset into the function's constant block */
	PTX_OPERAND_VECTOR, /* offset is the first of `n_elements` entries in the function's `elements` */
	PTX_OPERAND_NONE,   /* optional and absent */
};

struct ptx_operand {
	uint8_t kind;
	uint8_t bytes;      /* per lane; 0 is a predicate */
	uint8_t n_elements; /* vectors only */
	bool negate : 1;    /* a predicate source written !%p */
	bool is_byte : 1;   /* a register of 8 bits, kept in 16 */
	uint32_t offset;
};

struct sim_warp;
struct ptx_insn;
struct ptx_function;
typedef void ptx_exec_fn(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask);

enum ptx_insn_property {
	PTX_ORDERED = 1,    /* other warps can see when it happens: it runs in order of simulated time */
	PTX_WAIT_LOADS = 2, /* uses, or may use, the result of a load that is under way */
	PTX_IS_LOAD = 4,    /* its result arrives later: the warp runs on until it is used */
};

#define PTX_MAX_OPERANDS 7

struct ptx_insn {
	ptx_exec_fn *run;
	uint32_t guard; /* frame offset of the guard predicate; PTX_NO_GUARD */
	bool guard_negate;
	uint8_t properties; /* enum ptx_insn_property */
	uint8_t cost;
	uint8_t op;
	uint32_t target; /* of a branch; index into calls for a call; special register to read */
	uint32_t line;
	struct ptx_operand o[PTX_MAX_OPERANDS];
	int64_t displacement[3]; /* of the memory operands, in their order */
	uint64_t flags;          /* PTX_FLAG() */
	uint8_t types[4];        /* enum ptx_type */
	uint8_t n_types;
	uint8_t rnd, cmp, sem, scope, shape;
	uint8_t layouts[2];
	uint8_t n_layouts;
	uint8_t actions[3];
	uint8_t spaces[2];
	uint8_t n_spaces;
	uint8_t n_elements; /* of a vector access: 1, 2, 4, 8 */
	uint8_t memory[3];  /* index in o[] of each memory operand */
	uint8_t n_memory;
	uint8_t n_outputs; /* the first operands, which it writes: 0, 1, 2; a call's results are in its call */
};

#define PTX_NO_GUARD UINT32_MAX

/* ptx_insn.target of an access to .param space: whose parameters. */
enum ptx_param_area { PTX_PARAM_ENTRY, PTX_PARAM_FRAME };

/* A kernel parameter, a formal parameter or a .param variable of a function: bytes of the frame's parameter area. */
struct ptx_param {
	uint32_t offset;
	uint32_t bytes;
};

struct ptx_call_argument {
	bool is_param;              /* a .param variable of the caller; else a register or an immediate */
	struct ptx_param param;     /* is_param */
	struct ptx_operand operand; /* otherwise */
};

struct ptx_call {
	struct ptx_function *target; /* NULL: by address, in the call's operand 0 */
	struct ptx_call_argument *arguments, *results;
	uint32_t n_arguments, n_results;
};

struct ptx_branch_table {
	uint32_t *targets;
	uint32_t n_targets;
};

/* A word of a constant block that holds the address of a symbol: filled in by the linker. */
struct ptx_constant_fixup {
	uint32_t offset;
	uint32_t symbol; /* index into the module's symbols */
	uint8_t bytes;
	int64_t addend;
	uint32_t line;
};

struct ptx_sharing;

struct ptx_function {
	char *name;
	struct ptx_module *module;
	uint32_t index; /* in the module */
	bool is_entry;
	bool is_defined;
	ptx_exec_fn *builtin; /* runs in place of code: vprintf and the like */
	uint32_t line;
	uint64_t address; /* what taking its address yields */

	struct ptx_insn *code;
	uint32_t n_code;
	uint8_t *constants;
	uint32_t constants_bytes;
	struct ptx_operand *elements;
	uint32_t n_elements;
	struct ptx_call *calls;
	uint32_t n_calls;
	struct ptx_branch_table *tables;
	uint32_t n_tables;
	struct ptx_constant_fixup *fixups;
	uint32_t n_fixups;

	uint32_t registers_bytes; /* of a frame */
	uint32_t n_registers;
	uint32_t local_bytes;  /* .local variables, per lane */
	uint32_t params_bytes; /* formal parameters, results and .param variables, per lane */

	struct ptx_param *params;
	uint32_t n_params;
	struct ptx_param *results;
	uint32_t n_results;
	uint32_t entry_params_bytes; /* the parameter block of an entry */

	uint32_t max_threads; /* .maxntid / .reqntid; 0 = not given */
	uint32_t required_cluster[3];
	uint32_t shared_bytes;       /* static, set by the linker */
	uint32_t shared_align;       /* of the dynamic part */
	struct ptx_sharing *sharing; /* of an entry: ptx_share.h */
};

enum ptx_symbol_kind { PTX_SYMBOL_GLOBAL, PTX_SYMBOL_CONST, PTX_SYMBOL_SHARED, PTX_SYMBOL_FUNCTION };

/* Part of an initialiser that is an address: `mask` and `shift` pick the bytes of it (0xFF00(generic(x))). */
struct ptx_data_fixup {
	uint32_t offset;
	uint8_t bytes;
	uint8_t shift;
	uint32_t symbol;
	int64_t addend;
	uint32_t line;
};

struct ptx_symbol {
	char *name;
	enum ptx_symbol_kind kind;
	bool is_extern;
	bool is_dynamic_shared;
	bool is_managed; /* lives where the host can reach it too */
	uint32_t line;
	uint32_t align;
	uint64_t bytes;
	uint8_t *data; /* initial contents, NULL = zero */
	struct ptx_data_fixup *fixups;
	uint32_t n_fixups;
	struct ptx_function *function;
	uint64_t address;          /* set by the linker; shared: offset in the block's shared memory */
	struct ptx_function *user; /* shared: the only function that uses it */
	bool has_users;            /* shared: several functions do */
};

struct ptx_module {
	uint32_t version;   /* 90 = 9.0 */
	uint32_t target_sm; /* 90 */
	struct ptx_symbol *symbols;
	uint32_t n_symbols;
	struct ptx_function **functions; /* each on its own, so that its address holds */
	uint32_t n_functions;
};

/* How a video instruction keeps what its operands select: in displacement[0] of the destination, [1] of a, [2] of b.
 * Of a scalar one 0 is all 32 bits, 1 to 4 a byte, 5 and 6 a half. Of the others: what is written, a bit each; and of a
 * and b four bits for each element, which of those of a and b together it is. */
#define PTX_VIDEO_BYTE     1
#define PTX_VIDEO_HALF     5
#define PTX_VIDEO_NEGATE_A (1 << 16) /* in displacement[0] */
#define PTX_VIDEO_NEGATE_B (2 << 16)
#define PTX_VIDEO_NEGATE_C (4 << 16)

static inline bool is_video_op(uint8_t op)
{
	return op >= PTX_OP_VADD && op <= PTX_OP_VSET4;
}

/* Elements of a SIMD video instruction: 2 or 4; 0 of a scalar one. */
static inline uint32_t video_elements(uint8_t op)
{
	return op >= PTX_OP_VADD4 ? 4 : op >= PTX_OP_VADD2 ? 2 : 0;
}

#endif

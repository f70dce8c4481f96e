/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_ops.h - how the handlers of arithmetic instructions are written.
 *
 * A handler computes its expression for each lane of the mask; `a`, `b`, `c` are the lane's sources. Integer arithmetic
 * is unsigned throughout, so that wrapping is defined.
 */
#ifndef SIMGPU_EXEC_OPS_H
#define SIMGPU_EXEC_OPS_H

#include "exec.h"
#include "ptx_select.h"

#define HANDLER(name) static void name(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask)

#define UNARY(name, D, A, expression)                                  \
	HANDLER(name)                                                  \
	{                                                              \
		D *to = LANES_OF(D, warp, insn->o[0]);                 \
		const A *from_a = LANES_OF(const A, warp, insn->o[1]); \
                                                                       \
		FOR_LANES(mask, {                                      \
			A a = from_a[lane];                            \
			to[lane] = (D)(expression);                    \
		});                                                    \
	}

#define BINARY(name, D, A, expression)                                 \
	HANDLER(name)                                                  \
	{                                                              \
		D *to = LANES_OF(D, warp, insn->o[0]);                 \
		const A *from_a = LANES_OF(const A, warp, insn->o[1]); \
		const A *from_b = LANES_OF(const A, warp, insn->o[2]); \
                                                                       \
		FOR_LANES(mask, {                                      \
			A a = from_a[lane];                            \
			A b = from_b[lane];                            \
			to[lane] = (D)(expression);                    \
		});                                                    \
	}

#define TERNARY(name, D, A, C, expression)                             \
	HANDLER(name)                                                  \
	{                                                              \
		D *to = LANES_OF(D, warp, insn->o[0]);                 \
		const A *from_a = LANES_OF(const A, warp, insn->o[1]); \
		const A *from_b = LANES_OF(const A, warp, insn->o[2]); \
		const C *from_c = LANES_OF(const C, warp, insn->o[3]); \
                                                                       \
		FOR_LANES(mask, {                                      \
			A a = from_a[lane];                            \
			A b = from_b[lane];                            \
			C c = from_c[lane];                            \
			to[lane] = (D)(expression);                    \
		});                                                    \
	}

/* a op b with b of another type (shifts). */
#define BINARY_MIXED(name, D, A, B, expression)                        \
	HANDLER(name)                                                  \
	{                                                              \
		D *to = LANES_OF(D, warp, insn->o[0]);                 \
		const A *from_a = LANES_OF(const A, warp, insn->o[1]); \
		const B *from_b = LANES_OF(const B, warp, insn->o[2]); \
                                                                       \
		FOR_LANES(mask, {                                      \
			A a = from_a[lane];                            \
			B b = from_b[lane];                            \
			to[lane] = (D)(expression);                    \
		});                                                    \
	}

typedef ptx_exec_fn *const ptx_handlers[PTX_N_TYPES];

/* Takes the handler of the instruction's first type. */
static inline bool select_by_type(struct ptx_insn *insn, ptx_handlers handlers)
{
	insn->run = handlers[insn->types[0]];
	return insn->run != NULL;
}

static inline bool is_float(const struct ptx_insn *insn)
{
	return ptx_type_class[insn->types[0]] == PTX_CLASS_F;
}

static inline bool has_flag(const struct ptx_insn *insn, uint64_t flag)
{
	return (insn->flags & flag) != 0;
}

__extension__ typedef unsigned __int128 sim_u128;

/* exec_atomic.c: the instruction's operation on one element; returns what was there. */
uint64_t atomic_apply(const struct ptx_insn *insn, void *at, uint64_t value);
bool atomic_supported(const struct ptx_insn *insn);
/* exec_async.c, for the opcodes that are not asynchronous as a rule. */
bool select_st_async(struct ptx_insn *insn);
bool select_red_async(struct ptx_insn *insn);

/* exec_float.c, for the opcodes that integers have too. */
bool select_float_add(struct ptx_insn *insn);
bool select_float_sub(struct ptx_insn *insn);
bool select_float_mul(struct ptx_insn *insn);
bool select_float_div(struct ptx_insn *insn);
bool select_float_abs(struct ptx_insn *insn);
bool select_float_neg(struct ptx_insn *insn);
bool select_float_min(struct ptx_insn *insn);
bool select_float_max(struct ptx_insn *insn);

#endif

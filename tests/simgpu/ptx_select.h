/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_select.h - the select function of every opcode, from the one list.
 *
 * A select function sets insn->run, and may adjust cost and properties; false when simgpu has no handler for these
 * types and modifiers. Any thread; touches nothing but the instruction.
 */
#ifndef SIMGPU_PTX_SELECT_H
#define SIMGPU_PTX_SELECT_H

#include "ptx_ir.h"

#define PTX_OP(id, opcode, shape, kinds, flags, cost, properties, select) bool select(struct ptx_insn *insn);
#include "ptx_ops.def"

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_loads.c - which instructions must wait for a load.
 *
 * A load costs its issue; the first instruction behind it that touches what it loads waits for it. Which one that is
 * does not depend on the run, so it is marked here, once. Pure.
 */
#include "ptx_parse.h"

#define MAX_PENDING 32

struct pending_loads {
	uint32_t offsets[MAX_PENDING];
	uint32_t n;
	bool overflow;
};

static void add_pending(struct pending_loads *pending, const struct ptx_operand *operand,
			const struct ptx_operand *elements)
{
	uint32_t n = operand->kind == PTX_OPERAND_VECTOR ? operand->n_elements : 1;

	for (uint32_t i = 0; i < n; i++) {
		if (pending->n == MAX_PENDING) {
			pending->overflow = true;
			return;
		}
		pending->offsets[pending->n++] =
			operand->kind == PTX_OPERAND_VECTOR ? elements[operand->offset + i].offset : operand->offset;
	}
}

static bool offset_pending(const struct pending_loads *pending, uint32_t offset)
{
	for (uint32_t i = 0; i < pending->n; i++)
		if (pending->offsets[i] == offset)
			return true;
	return false;
}

static bool uses_pending(const struct pending_loads *pending, const struct ptx_insn *insn,
			 const struct ptx_operand *elements)
{
	if (pending->overflow || (insn->guard != PTX_NO_GUARD && offset_pending(pending, insn->guard)))
		return true;
	for (uint32_t i = 0; i < PTX_MAX_OPERANDS; i++) {
		const struct ptx_operand *o = &insn->o[i];

		if (o->kind == PTX_OPERAND_REG && offset_pending(pending, o->offset))
			return true;
		if (o->kind != PTX_OPERAND_VECTOR)
			continue;
		for (uint32_t k = 0; k < o->n_elements; k++)
			if (elements[o->offset + k].kind == PTX_OPERAND_REG &&
			    offset_pending(pending, elements[o->offset + k].offset))
				return true;
	}
	return false;
}

void ptx_mark_load_uses(struct ptx_insn *code, uint32_t n_code, const struct ptx_operand *elements)
{
	struct pending_loads pending = { .n = 0 };

	for (uint32_t i = 0; i < n_code; i++) {
		struct ptx_insn *insn = &code[i];

		/* Branches wait, so that a register is never under way where control flow meets. */
		if (pending.n > 0 && !(insn->properties & PTX_WAIT_LOADS) && uses_pending(&pending, insn, elements))
			insn->properties |= PTX_WAIT_LOADS;
		if (insn->properties & PTX_WAIT_LOADS) {
			pending.n = 0;
			pending.overflow = false;
		}
		if (insn->properties & PTX_IS_LOAD)
			add_pending(&pending, &insn->o[0], elements);
	}
}

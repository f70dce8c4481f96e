/* SPDX-License-Identifier: Apache-2.0
 *
 * ptx_support.c - the tables of instructions in README.md, printed from the lists that the parser is made from.
 *
 * Called by the command simgpu-ptx. Any thread; no state.
 */
#include "ptx_parse.h"

#define K(id) (1u << PTX_KIND_##id)
#define F(id) PTX_FLAG(id)

static const struct {
	const char *name;
	uint32_t kinds;
	uint64_t flags;
} ops[] = {
#define PTX_OP(id, name, shape, kinds, flags, cost, properties, select) { name, kinds, flags },
#include "ptx_ops.def"
};

static const struct {
	uint8_t kind, mod;
	const char *text;
} mods[] = {
#define PTX_MOD(kind, id, text) { PTX_KIND_##kind, PTX_M_##id, text },
#include "ptx_mods.def"
};

static const char *const kind_names[] = {
	[PTX_KIND_RND] = "rounding",     [PTX_KIND_CMP] = "comparison or part",
	[PTX_KIND_ACTION] = "operation", [PTX_KIND_SPACE] = "space",
	[PTX_KIND_SEM] = "order",        [PTX_KIND_SCOPE] = "scope",
	[PTX_KIND_VEC] = "vector",       [PTX_KIND_SHAPE] = "shape",
	[PTX_KIND_LAYOUT] = "layout",
};

static void print_modifiers(FILE *file, uint32_t kinds, uint64_t flags)
{
	const char *comma = " ";

	for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++)
		if (kinds & 1u << i) {
			fprintf(file, "%s%s", comma, kind_names[i]);
			comma = ", ";
		}
	for (size_t i = 0; i < sizeof(mods) / sizeof(mods[0]); i++)
		if (mods[i].kind == PTX_KIND_FLAG && flags & PTX_FLAG_BIT(mods[i].mod)) {
			fprintf(file, "%s`%s`", comma, mods[i].text);
			comma = ", ";
		}
}

void ptx_print_support(FILE *file)
{
	fprintf(file, "| instruction | modifiers beside types |\n| --- | --- |\n");
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (ops[i].name[0] == '\0') /* the engine's own */
			continue;
		fprintf(file, "| `%s` |", ops[i].name);
		print_modifiers(file, ops[i].kinds, ops[i].flags);
		fprintf(file, " |\n");
	}
	fprintf(file, "\n| refused | what it is |\n| --- | --- |\n");
#define PTX_REFUSED(text, reason) fprintf(file, "| `%s` | %s |\n", text, reason);
#include "ptx_refused.def"
}

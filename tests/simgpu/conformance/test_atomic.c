/* SPDX-License-Identifier: Apache-2.0
 *
 * test_atomic.c - atom and red: every operation of every type, order and scope, in every space, with lanes that meet at
 * few words and at many.
 *
 * The reference takes the lanes of the only warp in their order, which is simgpu's; what a lane gets back, and what the
 * words hold in the end, has to be just that.
 */
#include "conform.h"
#include "exact.h"
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#define N_WORDS 32u

__extension__ typedef unsigned __int128 u128;

static const struct operation {
	const char *name, *type;
	uint32_t bytes;
	bool atom_only;
} operations[] = {
	{ "add", "u32", 4, false },         { "add", "s32", 4, false },          { "add", "u64", 8, false },
	{ "add", "f32", 4, false },         { "add", "f64", 8, false },          { "min", "u32", 4, false },
	{ "min", "s32", 4, false },         { "min", "u64", 8, false },          { "min", "s64", 8, false },
	{ "max", "u32", 4, false },         { "max", "s32", 4, false },          { "max", "u64", 8, false },
	{ "max", "s64", 8, false },         { "and", "b32", 4, false },          { "and", "b64", 8, false },
	{ "or", "b32", 4, false },          { "or", "b64", 8, false },           { "xor", "b32", 4, false },
	{ "xor", "b64", 8, false },         { "inc", "u32", 4, false },          { "dec", "u32", 4, false },
	{ "exch", "b32", 4, true },         { "exch", "b64", 8, true },          { "exch", "b128", 16, true },
	{ "cas", "b16", 2, true },          { "cas", "b32", 4, true },           { "cas", "b64", 8, true },
	{ "cas", "b128", 16, true },        { "add.noftz", "f16", 2, false },    { "add.noftz", "bf16", 2, false },
	{ "add.noftz", "f16x2", 4, false }, { "add.noftz", "bf16x2", 4, false },
};

static const char *const spaces[] = { ".global", "", ".shared", ".shared::cta", ".shared::cluster", "generic shared" };
static const char *const orders[] = { "", ".relaxed", ".acquire", ".release", ".acq_rel" };
static const char *const scopes[] = { "", ".cta", ".cluster", ".gpu", ".sys" };

static uint64_t in[32][SCENARIO_WORDS], out[32][SCENARIO_WORDS];
static char body[8192];

static bool is(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* --- what an operation gives ------------------------------------------------------------------ */

static uint64_t float_sum(uint64_t a, uint64_t b, const struct exact_format *format)
{
	if (exact_is_nan(a, format) || exact_is_nan(b, format))
		return format->nan;
	return exact_round(exact_add(exact_value(a, format), exact_value(b, format), EXACT_RN), format, EXACT_RN);
}

static u128 sum(const struct operation *operation, uint64_t a, uint64_t b)
{
	if (is(operation->type, "f32"))
		return float_sum(a, b, &exact_f32);
	if (is(operation->type, "f64"))
		return float_sum(a, b, &exact_f64);
	if (is(operation->type, "f16"))
		return float_sum(a, b, &exact_f16);
	if (is(operation->type, "bf16"))
		return float_sum(a, b, &exact_bf16);
	if (is(operation->type, "f16x2"))
		return float_sum(a & 0xffff, b & 0xffff, &exact_f16) | float_sum(a >> 16, b >> 16, &exact_f16) << 16;
	if (is(operation->type, "bf16x2"))
		return float_sum(a & 0xffff, b & 0xffff, &exact_bf16) | float_sum(a >> 16, b >> 16, &exact_bf16) << 16;
	return operation->bytes == 4 ? (uint32_t)(a + b) : a + b;
}

static bool less(const struct operation *operation, uint64_t a, uint64_t b)
{
	if (is(operation->type, "s32"))
		return (int32_t)a < (int32_t)b;
	if (is(operation->type, "s64"))
		return (int64_t)a < (int64_t)b;
	return a < b;
}

static u128 outcome(const struct operation *operation, u128 old, u128 value, u128 compare)
{
	uint64_t a = (uint64_t)old, b = (uint64_t)value;

	switch (operation->name[0]) {
	case 'a':
		return operation->name[1] == 'd' ? sum(operation, a, b) : a & b;
	case 'm':
		return less(operation, a, b) == (operation->name[1] == 'i') ? old : value;
	case 'o':
		return a | b;
	case 'x':
		return a ^ b;
	case 'i':
		return a >= b ? 0 : a + 1;
	case 'd':
		return a == 0 || a > b ? b : a - 1;
	case 'e':
		return value;
	default:
		return old == compare ? value : old;
	}
}

/* --- operands: floats near each other, bits that are often equal ------------------------------------------------ */

static uint64_t float_operand(const char *type)
{
	uint64_t bits = conform_random();

	if (is(type, "f32"))
		return (bits & 0x80ffffff) + 0x3f000000;
	if (is(type, "f64"))
		return (bits & 0x801fffffffffffffULL) + 0x3fe0000000000000ULL;
	if (is(type, "f16") || is(type, "f16x2"))
		return (bits & 0x8fff8fff) + 0x34003400;
	return (bits & 0x81ff81ff) + 0x3f003f00;
}

static u128 operand(const struct operation *operation)
{
	uint64_t bits;

	if (operation->type[0] == 'f' || strncmp(operation->type, "bf", 2) == 0)
		bits = float_operand(operation->type);
	else if (conform_random() & 1)
		bits = conform_random() % 3;
	else
		bits = conform_random();
	if (operation->bytes == 16)
		return (u128)(bits & 1) << 64 | bits;
	return operation->bytes == 8 ? bits : bits & ((1ULL << 8 * operation->bytes) - 1);
}

/* --- the kernel ------------------------------------------------------------------------------- */

static const char *register_prefix(const struct operation *operation)
{
	switch (operation->bytes) {
	case 2:
		return "%h";
	case 4:
		return is(operation->type, "f32") ? "%f" : "%r";
	case 8:
		return is(operation->type, "f64") ? "%fd" : "%d";
	default:
		return "%q";
	}
}

/* A lane's input: value, compare, start of the word of its number; each 16 bytes. Its output: what it got, and what the
 * word of its number is in the end. */
static void make_body(const struct operation *operation, const char *space, const char *modifiers, uint32_t n_words,
		      bool is_red)
{
	uint32_t bits = operation->bytes * 8;
	bool generic_shared = is(space, "generic shared"), is_global = is(space, "") || is(space, ".global");
	const char *p = register_prefix(operation);
	const char *in_text = generic_shared ? "" : space;
	char to[8];

	snprintf(to, sizeof(to), "%s1, ", p);
	/* %d20: the words, 16 bytes each; %d21: the lane's own; %d22: the one it works on */
	snprintf(body, sizeof(body), "%s\n",
		 is_global        ? "mov.u64 %d20, scratch; cvta.global.u64 %d20, %d20;"
		 : generic_shared ? "mov.u64 %d20, %gsmem;"
				  : "cvt.u64.u32 %d20, %smem;");
	if (is(space, ".shared::cluster"))
		scenario_add(body, sizeof(body),
			     "cvt.u32.u64 %%r20, %%d20; mapa.shared::cluster.u32 %%r20, %%r20, 0;\n"
			     "cvt.u64.u32 %%d20, %%r20;\n");
	scenario_add(body, sizeof(body),
		     "mul.wide.u32 %%d21, %%lane, 16; add.u64 %%d21, %%d20, %%d21; rem.u32 %%r22, %%lane, %u;\n"
		     "mul.wide.u32 %%d22, %%r22, 16; add.u64 %%d22, %%d20, %%d22;\n"
		     "ld.global.b64 %%d23, [%%mine+32]; ld.global.b64 %%d24, [%%mine+40];\n"
		     "st%s.b64 [%%d21], %%d23; st%s.b64 [%%d21+8], %%d24; bar.warp.sync -1;\n"
		     "ld.global.b%u %s2, [%%mine]; ld.global.b%u %s3, [%%mine+16];\n",
		     n_words, in_text, in_text, bits, p, bits, p);
	scenario_add(body, sizeof(body), "%s%s%s.%s.%s %s[%%d22], ", is_red ? "red" : "atom", modifiers, in_text,
		     operation->name, operation->type, is_red ? "" : to);
	if (is(operation->name, "cas"))
		scenario_add(body, sizeof(body), "%s3, %s2;\n", p, p);
	else
		scenario_add(body, sizeof(body), "%s2;\n", p);
	if (!is_red)
		scenario_add(body, sizeof(body), "st.global.b%u [%%my], %s1;\n", bits, p);
	scenario_add(body, sizeof(body),
		     "bar.warp.sync -1; ld%s.b64 %%d23, [%%d21]; ld%s.b64 %%d24, [%%d21+8];\n"
		     "st.global.b64 [%%my+16], %%d23; st.global.b64 [%%my+24], %%d24;\n",
		     in_text, in_text);
}

static u128 wide(const uint64_t words[2])
{
	return (u128)words[1] << 64 | words[0];
}

static void check(const struct operation *operation, const char *space, const char *modifiers, uint32_t n_words,
		  bool is_red)
{
	u128 words[N_WORDS];

	for (uint32_t lane = 0; lane < 32; lane++)
		for (uint32_t i = 0; i < 3; i++) {
			u128 value = operand(operation);

			memcpy(&in[lane][2 * i], &value, sizeof(value));
			words[lane] = value;
		}
	make_body(operation, space, modifiers, n_words, is_red);
	scenario_run(&(struct scenario){ .functions = ".global .align 16 .b8 scratch[1024];\n",
					 .body = body,
					 .threads = 32,
					 .shared_bytes = 1024,
					 .in = in,
					 .in_bytes = sizeof(in),
					 .out = out,
					 .out_bytes = sizeof(out) });
	for (uint32_t lane = 0; lane < 32; lane++) {
		u128 old = words[lane % n_words];

		if (!is_red && wide(out[lane]) != old)
			fail_msg("%s\nlane %u got %llx, not %llx", body, lane, (unsigned long long)out[lane][0],
				 (unsigned long long)old);
		words[lane % n_words] = outcome(operation, old, wide(&in[lane][0]), wide(&in[lane][2]));
	}
	for (uint32_t i = 0; i < N_WORDS; i++)
		if (wide(&out[i][2]) != words[i])
			fail_msg("%s\nword %u is %llx, not %llx", body, i, (unsigned long long)out[i][2],
				 (unsigned long long)words[i]);
}

static void every_operation_in_every_space(void **state)
{
	static const uint32_t counts[] = { 1, 5, 32 };

	(void)state;
	for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++)
		for (size_t s = 0; s < sizeof(spaces) / sizeof(spaces[0]); s++)
			for (size_t n = 0; n < 3; n++) {
				check(&operations[o], spaces[s], "", counts[n], false);
				if (!operations[o].atom_only)
					check(&operations[o], spaces[s], "", counts[n], true);
			}
}

static void every_order_and_scope(void **state)
{
	char modifiers[64];

	(void)state;
	for (size_t o = 0; o < sizeof(operations) / sizeof(operations[0]); o++)
		for (size_t order = 0; order < 5; order++)
			for (size_t scope = 0; scope < 5; scope++) {
				snprintf(modifiers, sizeof(modifiers), "%s%s", orders[order], scopes[scope]);
				check(&operations[o], spaces[(o + order + scope) % 6], modifiers, 3, false);
				/* red only hands over */
				if (!operations[o].atom_only && order != 2 && order != 4)
					check(&operations[o], spaces[(o + order) % 6], modifiers, 7, true);
			}
}

/* Vectors of floats, element by element. */
static void vectors_of_floats(void **state)
{
	static const struct {
		const char *vector, *type, *registers;
		uint32_t n, bytes;
		const struct exact_format *format;
		uint32_t parts; /* of an element */
	} forms[] = {
		{ ".v2", "f32", "f", 2, 4, &exact_f32, 1 },   { ".v4", "f32", "f", 4, 4, &exact_f32, 1 },
		{ ".v2", "f16", "h", 2, 2, &exact_f16, 1 },   { ".v8", "bf16", "h", 8, 2, &exact_bf16, 1 },
		{ ".v4", "f16x2", "r", 4, 4, &exact_f16, 2 }, { ".v2", "bf16x2", "r", 2, 4, &exact_bf16, 2 },
	};

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		uint32_t n = forms[f].n, bits = 8 * forms[f].bytes, part = bits / forms[f].parts;
		const char *noftz = forms[f].bytes == 4 && forms[f].parts == 1 ? "" : ".noftz";
		uint8_t word[16] = { 0 };

		strcpy(body, "mov.u64 %d0, scratch;\n");
		for (uint32_t i = 0; i < n; i++)
			scenario_add(body, sizeof(body), "ld.global.b%u %%%s%u, [%%mine+%u];\n", bits,
				     forms[f].registers, i, i * forms[f].bytes);
		scenario_add(body, sizeof(body), "atom.global.add%s%s.%s {", forms[f].vector, noftz, forms[f].type);
		for (uint32_t pass = 0; pass < 2; pass++)
			for (uint32_t i = 0; i < n; i++)
				scenario_add(body, sizeof(body), "%%%s%u%s", forms[f].registers, i,
					     i + 1 < n   ? ", "
					     : pass == 0 ? "}, [%d0], {"
							 : "};\n");
		for (uint32_t i = 0; i < n; i++)
			scenario_add(body, sizeof(body), "st.global.b%u [%%my+%u], %%%s%u;\n", bits, i * forms[f].bytes,
				     forms[f].registers, i);
		for (uint32_t lane = 0; lane < 32; lane++)
			for (uint32_t i = 0; i < 2; i++)
				in[lane][i] = float_operand(forms[f].type) | float_operand(forms[f].type) << 32;
		scenario_run(&(struct scenario){ .functions = ".global .align 16 .b8 scratch[16];\n",
						 .body = body,
						 .threads = 32,
						 .in = in,
						 .in_bytes = sizeof(in),
						 .out = out,
						 .out_bytes = sizeof(out) });
		for (uint32_t lane = 0; lane < 32; lane++) {
			assert_memory_equal(out[lane], word, n * forms[f].bytes);
			for (uint32_t i = 0; i < n * bits / part; i++) {
				uint64_t a = 0, b = 0;

				memcpy(&a, word + i * part / 8, part / 8);
				memcpy(&b, (uint8_t *)in[lane] + i * part / 8, part / 8);
				a = float_sum(a, b, forms[f].format);
				memcpy(word + i * part / 8, &a, part / 8);
			}
		}
	}
}

/* Blocks and warps that meet at the same words: the sum of all, and every ticket once. */
static void all_blocks_count(void **state)
{
	static uint8_t seen[8 * 128];
	static uint64_t results[8 * 128][SCENARIO_WORDS];

	(void)state;
	scenario_run(&(struct scenario){
		.functions = ".global .align 8 .b64 scratch[2];\n",
		.body = "mov.u64 %d0, scratch; atom.global.add.u64 %d1, [%d0], 1; st.global.b64 [%my], %d1;\n"
			"red.global.add.u64 [%d0+8], %d1;",
		.blocks = 8,
		.threads = 128,
		.out = results,
		.out_bytes = sizeof(results) });
	for (uint32_t i = 0; i < 8 * 128; i++) {
		assert_true(results[i][0] < 8 * 128);
		assert_int_equal(seen[results[i][0]]++, 0);
	}
}

static int finish(void **state)
{
	(void)state;
	scenario_close();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operation_in_every_space),
		cmocka_unit_test(every_order_and_scope),
		cmocka_unit_test(vectors_of_floats),
		cmocka_unit_test(all_blocks_count),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}

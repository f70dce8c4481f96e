/* SPDX-License-Identifier: Apache-2.0
 *
 * test_exec.c - what instructions compute, against C.
 *
 * One kernel is made per instruction: it reads its operands from memory, executes the instruction and stores the
 * result; every pair of a list of awkward values goes through it.
 */
#include "../support.h"

#include "half.h"
#include "rig.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- operands --------------------------------------------------------------------------------- */

static const uint64_t integers[] = {
	0,
	1,
	2,
	3,
	7,
	31,
	32,
	33,
	63,
	64,
	65,
	127,
	128,
	255,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x12345678,
	0x7fffffff,
	0x80000000,
	0xffffffff,
	0x100000000,
	0xdeadbeefcafe,
	0x7fffffffffffffff,
	0x8000000000000000,
	0xfffffffffffffffe,
	0xffffffffffffffff,
};

static const double floats[] = { 0.0,   -0.0,  1.0, -1.0, 0.5,  1.5,     2.5,     -2.5, 3.7,      -1e-3,     1e30,
				 -1e30, 1e-40, 3e9, -3e9, 1e19, 65504.0, 70000.0, 1e-7, INFINITY, -INFINITY, NAN };

#define N_INTEGERS (sizeof(integers) / sizeof(integers[0]))
#define N_FLOATS   (sizeof(floats) / sizeof(floats[0]))
#define MAX_CASES  (N_INTEGERS * N_INTEGERS)

struct operands {
	size_t n;
	uint64_t a[MAX_CASES], b[MAX_CASES], c[MAX_CASES];
};

static uint64_t float_operand(double value, const char *type)
{
	float narrow = (float)value;

	if (strcmp(type, "f64") == 0)
		return double_bits(value);
	if (strcmp(type, "f16") == 0)
		return double_to_f16(value, false);
	if (strcmp(type, "bf16") == 0)
		return double_to_bf16(value, false);
	return float_bits(narrow);
}

/* All pairs; the third operand walks along. */
static void fill_operands(struct operands *operands, const char *type)
{
	bool is_float = strchr(type, 'f') != NULL;
	size_t n = is_float ? N_FLOATS : N_INTEGERS;

	operands->n = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < n; k++) {
			size_t at = operands->n++;

			operands->a[at] = is_float ? float_operand(floats[i], type) : integers[i];
			operands->b[at] = is_float ? float_operand(floats[k], type) : integers[k];
			operands->c[at] = is_float ? float_operand(floats[at % n], type) : integers[(at * 5 + 1) % n];
		}
}

static uint32_t type_bits(const char *type)
{
	const char *digits = type + strcspn(type, "0123456789");

	return (uint32_t)atoi(digits);
}

/* --- one instruction -------------------------------------------------------------------------- */

/* Registers %a, %b, %c of the source type, %d of the destination type, %u of 32 bits from c, %q a predicate (c odd). */
static const char kernel_format[] = PTX_HEAD
	".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n"
	"{\n"
	".reg .b64 %%rd<9>; .reg .b32 %%r<5>; .reg .b32 %%u; .reg .pred %%q, %%p; .reg .b%u %%a, %%b, %%c;\n"
	".reg .b%u %%d; .reg .b64 %%w;\n"
	"mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
	"mad.lo.u32 %%r4, %%r1, %%r2, %%r3;\n"
	"ld.param.u64 %%rd1, [pa]; ld.param.u64 %%rd2, [pb]; ld.param.u64 %%rd3, [pc]; ld.param.u64 %%rd4, [pd];\n"
	"mul.wide.u32 %%rd5, %%r4, 8;\n"
	"add.u64 %%rd1, %%rd1, %%rd5; add.u64 %%rd2, %%rd2, %%rd5; add.u64 %%rd3, %%rd3, %%rd5;\n"
	"add.u64 %%rd4, %%rd4, %%rd5;\n"
	"ld.global.b%u %%a, [%%rd1]; ld.global.b%u %%b, [%%rd2]; ld.global.b%u %%c, [%%rd3];\n"
	"ld.global.u32 %%u, [%%rd3]; and.b32 %%r1, %%u, 1; setp.ne.u32 %%q, %%r1, 0;\n"
	"%s\n"
	"st.global.b%u [%%rd4], %%d;\n"
	"ret;\n"
	"}\n";

/* Runs `body` over the operands; `ret` receives the results, zero-extended. */
static void run_body(const char *body, uint32_t source_bits, uint32_t result_bits, const struct operands *operands,
		     uint64_t *ret)
{
	struct sim_device *device = rig_device(NULL);
	size_t bytes = operands->n * sizeof(uint64_t);
	uint32_t blocks = (uint32_t)((operands->n + 127) / 128);
	uint64_t params[4];
	struct sim_module *module;
	char ptx[4096];

	snprintf(ptx, sizeof(ptx), kernel_format, source_bits, result_bits, source_bits, source_bits, source_bits, body,
		 result_bits);
	module = rig_load(device, ptx);
	/* The last block is full: buffers are as long as all threads together. */
	for (int i = 0; i < 4; i++)
		params[i] = rig_alloc(device, (size_t)blocks * 128 * 8);
	assert_int_equal(sim_mem_write(device, params[0], operands->a, bytes), SIM_OK);
	assert_int_equal(sim_mem_write(device, params[1], operands->b, bytes), SIM_OK);
	assert_int_equal(sim_mem_write(device, params[2], operands->c, bytes), SIM_OK);
	rig_run(device, module, blocks, 128, params);
	rig_get(device, ret, params[3], bytes);
	sim_module_unload(module);
	sim_device_destroy(device);
}

static uint64_t cut(uint64_t value, uint32_t bits)
{
	return bits >= 64 ? value : value & ((1ULL << bits) - 1);
}

struct instruction {
	const char *body;
	const char *type; /* of the sources */
	uint32_t result_bits;
	uint64_t (*expect)(uint64_t a, uint64_t b, uint64_t c);
};

static void check_instructions(const struct instruction *list, size_t n)
{
	static struct operands operands;
	static uint64_t results[MAX_CASES + 128];

	for (size_t i = 0; i < n; i++) {
		uint32_t bits = type_bits(list[i].type);

		fill_operands(&operands, list[i].type);
		run_body(list[i].body, bits, list[i].result_bits, &operands, results);
		for (size_t k = 0; k < operands.n; k++) {
			uint64_t a = cut(operands.a[k], bits), b = cut(operands.b[k], bits),
				 c = cut(operands.c[k], bits);
			uint64_t expected = cut(list[i].expect(a, b, c), list[i].result_bits);

			if (results[k] != expected)
				fail_msg("%s: a=%llx b=%llx c=%llx gives %llx, not %llx", list[i].body,
					 (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
					 (unsigned long long)results[k], (unsigned long long)expected);
		}
	}
}

#define EXPECT(name, expression)                                 \
	static uint64_t name(uint64_t a, uint64_t b, uint64_t c) \
	{                                                        \
		(void)a;                                         \
		(void)b;                                         \
		(void)c;                                         \
		return (uint64_t)(expression);                   \
	}

/* --- integers --------------------------------------------------------------------------------- */

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

#define S16(x) ((int16_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
#define U32(x) ((uint32_t)(x))

EXPECT(e_add, a + b)
EXPECT(e_sub, a - b)
EXPECT(e_mul, a *b)
EXPECT(e_add_sat, S32(a) + (int64_t)S32(b) > INT32_MAX   ? INT32_MAX
		  : S32(a) + (int64_t)S32(b) < INT32_MIN ? INT32_MIN
							 : S32(a) + S32(b))
EXPECT(e_hi_u32, a *b >> 32)
EXPECT(e_hi_s32, (uint64_t)((int64_t)S32(a) * S32(b)) >> 32)
EXPECT(e_hi_u64, (u128)a *b >> 64)
EXPECT(e_hi_s64, (u128)((s128)S64(a) * S64(b)) >> 64)
EXPECT(e_wide_s32, (int64_t)S32(a) * S32(b))
EXPECT(e_wide_u16, a *b)
EXPECT(e_wide_s16, S16(a) * S16(b))
EXPECT(e_mad_lo, a *b + c)
EXPECT(e_mad_wide, (int64_t)S32(a) * S32(b) + S32(c))
EXPECT(e_div_u32, U32(b) == 0 ? UINT32_MAX : U32(a) / U32(b))
EXPECT(e_div_s32, S32(b) == 0 ? -1 : (int64_t)S32(a) / S32(b))
EXPECT(e_div_s64, b == 0 ? -1 : S64(b) == -1 ? (int64_t)(0 - a) : S64(a) / S64(b))
EXPECT(e_rem_u64, b == 0 ? a : a % b)
EXPECT(e_rem_s32, S32(b) == 0 ? S32(a) : (int64_t)S32(a) % S32(b))
EXPECT(e_rem_s16, S16(b) == 0 ? S16(a) : S16(a) % S16(b))
EXPECT(e_min_s32, S32(a) < S32(b) ? a : b)
EXPECT(e_max_u64, a > b ? a : b)
EXPECT(e_min_s64, S64(a) < S64(b) ? a : b)
EXPECT(e_abs_s32, S32(a) < 0 ? 0 - a : a)
EXPECT(e_neg_s64, 0 - a)
EXPECT(e_sad_s32, c + (S32(a) < S32(b) ? U32(b) - U32(a) : U32(a) - U32(b)))
EXPECT(e_and, a &b)
EXPECT(e_xor, a ^ b)
EXPECT(e_not, ~a)
EXPECT(e_cnot, a == 0)
EXPECT(e_lop3_xor3, a ^ b ^ c)
EXPECT(e_lop3_majority, (a & b) | (a & c) | (b & c))
EXPECT(e_shl_32, U32(c) > 31 ? 0 : a << c)
EXPECT(e_shl_64, U32(c) > 63 ? 0 : a << U32(c))
EXPECT(e_shr_s32, S32(a) >> (U32(c) > 31 ? 31 : c))
EXPECT(e_shr_u64, U32(c) > 63 ? 0 : a >> U32(c))
EXPECT(e_shr_s64, S64(a) >> (U32(c) > 63 ? 63 : U32(c)))
EXPECT(e_shf_l_wrap, (b << 32 | a) >> (32 - (c & 31)))
EXPECT(e_shf_r_wrap, (b << 32 | a) >> (c & 31))
EXPECT(e_shf_r_clamp, (b << 32 | a) >> (c > 32 ? 32 : c))
EXPECT(e_popc, __builtin_popcountll(a))
EXPECT(e_clz_32, a == 0 ? 32 : __builtin_clz(U32(a)))
EXPECT(e_clz_64, a == 0 ? 64 : __builtin_clzll(a))
EXPECT(e_selp, c & 1 ? a : b)
EXPECT(e_mul24, (uint64_t)(a & 0xffffff) * (b & 0xffffff))
EXPECT(e_64_from_carries, (c << 32 | a) + (a << 32 | b))
EXPECT(e_64_from_borrows, (c << 32 | a) - (a << 32 | b))
EXPECT(e_no_borrow, U32(a) >= U32(b))
EXPECT(e_less_complement, U32(c) - 1 + (U32(a) > U32(~b)))
EXPECT(e_set, S32(a) < S32(b) ? 0xffffffff : 0)
EXPECT(e_setp_and, U32(a) >= U32(b) && (c & 1))
EXPECT(e_setp_not, !(S64(a) > S64(b)))

static uint64_t e_bfind_s32(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t value = S32(a) < 0 ? ~U32(a) : U32(a);

	(void)b;
	(void)c;
	return value == 0 ? UINT32_MAX : 31 - (uint32_t)__builtin_clz(value);
}

static uint64_t e_brev(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t result = 0;

	(void)b;
	(void)c;
	for (int i = 0; i < 32; i++)
		result |= (U32(a) >> i & 1) << (31 - i);
	return result;
}

/* The reference text's own pseudo code. */
static uint64_t e_bfe(uint64_t a, uint64_t pos, uint64_t len, bool is_signed)
{
	uint32_t sign, result = 0;

	pos &= 0xff;
	len &= 0xff;
	sign = !is_signed || len == 0 ? 0 : U32(a) >> (pos + len - 1 < 31 ? pos + len - 1 : 31) & 1;
	for (uint32_t i = 0; i < 32; i++)
		result |= (i < len && pos + i <= 31 ? U32(a) >> (pos + i) & 1 : sign) << i;
	return result;
}

static uint64_t e_bfe_u32(uint64_t a, uint64_t b, uint64_t c)
{
	return e_bfe(a, b, c, false);
}

static uint64_t e_bfe_s32(uint64_t a, uint64_t b, uint64_t c)
{
	return e_bfe(a, b, c, true);
}

static uint64_t e_bfi(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t result = U32(b);

	for (uint32_t i = 0; i < (c & 0xff) && (c & 0xff) + i <= 31; i++) {
		result &= ~(1u << ((c & 0xff) + i));
		result |= (U32(a) >> i & 1) << ((c & 0xff) + i);
	}
	return result;
}

static uint64_t e_prmt(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t both = b << 32 | a;
	uint32_t result = 0;

	for (int i = 0; i < 4; i++) {
		uint32_t selector = c >> (4 * i) & 15;
		uint8_t byte = (uint8_t)(both >> (8 * (selector & 7)));

		result |= (uint32_t)(selector & 8 ? (byte & 0x80 ? 0xff : 0) : byte) << (8 * i);
	}
	return result;
}

static uint64_t e_dp4a(uint64_t a, uint64_t b, uint64_t c)
{
	uint32_t sum = U32(c);

	for (int i = 0; i < 4; i++)
		sum += (uint32_t)((int8_t)(a >> (8 * i)) * (int32_t)(uint8_t)(b >> (8 * i)));
	return sum;
}

static void integer_instructions_match_c(void **state)
{
	static const struct instruction list[] = {
		{ "add.s16 %d, %a, %b;", "u16", 16, e_add },
		{ "add.u32 %d, %a, %b;", "u32", 32, e_add },
		{ "add.s64 %d, %a, %b;", "u64", 64, e_add },
		{ "add.sat.s32 %d, %a, %b;", "u32", 32, e_add_sat },
		{ "sub.u32 %d, %a, %b;", "u32", 32, e_sub },
		{ "sub.s64 %d, %a, %b;", "u64", 64, e_sub },
		{ "mul.lo.s32 %d, %a, %b;", "u32", 32, e_mul },
		{ "mul.lo.u64 %d, %a, %b;", "u64", 64, e_mul },
		{ "mul.hi.u32 %d, %a, %b;", "u32", 32, e_hi_u32 },
		{ "mul.hi.s32 %d, %a, %b;", "u32", 32, e_hi_s32 },
		{ "mul.hi.u64 %d, %a, %b;", "u64", 64, e_hi_u64 },
		{ "mul.hi.s64 %d, %a, %b;", "u64", 64, e_hi_s64 },
		{ "mul.wide.s32 %d, %a, %b;", "u32", 64, e_wide_s32 },
		{ "mul.wide.u16 %d, %a, %b;", "u16", 32, e_wide_u16 },
		{ "mul.wide.s16 %d, %a, %b;", "u16", 32, e_wide_s16 },
		{ "mul24.lo.u32 %d, %a, %b;", "u32", 32, e_mul24 },
		{ "mad.lo.s32 %d, %a, %b, %c;", "u32", 32, e_mad_lo },
		{ "mad.lo.u64 %d, %a, %b, %c;", "u64", 64, e_mad_lo },
		{ "cvt.s64.s32 %w, %c; mad.wide.s32 %d, %a, %b, %w;", "u32", 64, e_mad_wide },
		{ "div.u32 %d, %a, %b;", "u32", 32, e_div_u32 },
		{ "div.s32 %d, %a, %b;", "u32", 32, e_div_s32 },
		{ "div.s64 %d, %a, %b;", "u64", 64, e_div_s64 },
		{ "rem.u64 %d, %a, %b;", "u64", 64, e_rem_u64 },
		{ "rem.s32 %d, %a, %b;", "u32", 32, e_rem_s32 },
		{ "rem.s16 %d, %a, %b;", "u16", 16, e_rem_s16 },
		{ "min.s32 %d, %a, %b;", "u32", 32, e_min_s32 },
		{ "max.u64 %d, %a, %b;", "u64", 64, e_max_u64 },
		{ "min.s64 %d, %a, %b;", "u64", 64, e_min_s64 },
		{ "abs.s32 %d, %a;", "u32", 32, e_abs_s32 },
		{ "neg.s64 %d, %a;", "u64", 64, e_neg_s64 },
		{ "sad.s32 %d, %a, %b, %c;", "u32", 32, e_sad_s32 },
		{ "and.b64 %d, %a, %b;", "u64", 64, e_and },
		{ "xor.b16 %d, %a, %b;", "u16", 16, e_xor },
		{ "not.b32 %d, %a;", "u32", 32, e_not },
		{ "cnot.b32 %d, %a;", "u32", 32, e_cnot },
		{ "lop3.b32 %d, %a, %b, %c, 0x96;", "u32", 32, e_lop3_xor3 },
		{ "lop3.b32 %d, %a, %b, %c, 0xe8;", "u32", 32, e_lop3_majority },
		{ "shl.b32 %d, %a, %u;", "u32", 32, e_shl_32 },
		{ "shl.b64 %d, %a, %u;", "u64", 64, e_shl_64 },
		{ "shr.s32 %d, %a, %u;", "u32", 32, e_shr_s32 },
		{ "shr.u64 %d, %a, %u;", "u64", 64, e_shr_u64 },
		{ "shr.s64 %d, %a, %u;", "u64", 64, e_shr_s64 },
		{ "shf.l.wrap.b32 %d, %a, %b, %u;", "u32", 32, e_shf_l_wrap },
		{ "shf.r.wrap.b32 %d, %a, %b, %u;", "u32", 32, e_shf_r_wrap },
		{ "shf.r.clamp.b32 %d, %a, %b, %u;", "u32", 32, e_shf_r_clamp },
		{ "popc.b64 %d, %a;", "u64", 32, e_popc },
		{ "clz.b32 %d, %a;", "u32", 32, e_clz_32 },
		{ "clz.b64 %d, %a;", "u64", 32, e_clz_64 },
		{ "bfind.s32 %d, %a;", "u32", 32, e_bfind_s32 },
		{ "brev.b32 %d, %a;", "u32", 32, e_brev },
		{ "bfe.u32 %d, %a, %b, %c;", "u32", 32, e_bfe_u32 },
		{ "bfe.s32 %d, %a, %b, %c;", "u32", 32, e_bfe_s32 },
		{ "bfi.b32 %d, %a, %b, %c, %c;", "u32", 32, e_bfi },
		{ "prmt.b32 %d, %a, %b, %c;", "u32", 32, e_prmt },
		{ "dp4a.s32.u32 %d, %a, %b, %c;", "u32", 32, e_dp4a },
		{ "selp.b64 %d, %a, %b, %q;", "u64", 64, e_selp },
		{ "add.cc.u32 %r1, %a, %b; addc.u32 %r2, %c, %a; mov.b64 %d, {%r1, %r2};", "u32", 64,
		  e_64_from_carries },
		{ "sub.cc.u32 %r1, %a, %b; subc.u32 %r2, %c, %a; mov.b64 %d, {%r1, %r2};", "u32", 64,
		  e_64_from_borrows },
		{ "sub.cc.u32 %r1, %a, %b; addc.u32 %d, 0, 0;", "u32", 32, e_no_borrow },
		{ "add.cc.u32 %r1, %a, %b; subc.u32 %d, %c, 0;", "u32", 32, e_less_complement },
		{ "set.lt.u32.s32 %d, %a, %b;", "u32", 32, e_set },
		{ "setp.hs.and.u32 %p, %a, %b, %q; selp.u32 %d, 1, 0, %p;", "u32", 32, e_setp_and },
		{ "setp.gt.s64 %p|%q, %a, %b; selp.u32 %d, 1, 0, %q;", "u64", 32, e_setp_not },
	};

	(void)state;
	check_instructions(list, sizeof(list) / sizeof(list[0]));
}

/* --- floats ----------------------------------------------------------------------------------- */

static uint64_t from_float(float value)
{
	return isnan(value) ? 0x7fffffff : float_bits(value);
}

static uint64_t from_double(double value)
{
	return isnan(value) ? 0x7ff8000000000000 : double_bits(value);
}

#define FA bits_float(U32(a))
#define FB bits_float(U32(b))
#define FC bits_float(U32(c))
#define DA bits_double(a)
#define DB bits_double(b)

EXPECT(e_fadd, from_float(FA + FB))
EXPECT(e_fsub, from_float(FA - FB))
EXPECT(e_fmul, from_float(FA *FB))
EXPECT(e_fdiv, from_float(FA / FB))
EXPECT(e_ffma, from_float(fmaf(FA, FB, FC)))
EXPECT(e_dadd, from_double(DA + DB))
EXPECT(e_dmul, from_double(DA *DB))
EXPECT(e_ddiv, from_double(DA / DB))
EXPECT(e_fsqrt, from_float(sqrtf(FA)))
EXPECT(e_drcp, from_double(1.0 / DA))
EXPECT(e_fneg, a ^ 0x80000000)
EXPECT(e_fabs, a & 0x7fffffff)
EXPECT(e_fmin, isnan(FA) ? from_float(FB) : isnan(FB) || FA < FB || (FA == FB && signbit(FA)) ? a : b)
EXPECT(e_fmax_nan, isnan(FA) || isnan(FB) ? 0x7fffffff : FA > FB || (FA == FB && !signbit(FA)) ? a : b)
EXPECT(e_fsat, FA + FB >= 1 ? float_bits(1) : FA + FB > 0 ? float_bits(FA + FB) : 0)
EXPECT(e_copysign, (a & 0x80000000) | (b & 0x7fffffff))
EXPECT(e_setp_lt, FA < FB)
EXPECT(e_setp_ltu, !(FA >= FB))
EXPECT(e_setp_num, !isnan(FA) && !isnan(FB))
EXPECT(e_hadd, double_to_f16((double)f16_to_float((uint16_t)a) + f16_to_float((uint16_t)b), false))
EXPECT(e_bmul, double_to_bf16((double)bf16_to_float((uint16_t)a) * bf16_to_float((uint16_t)b), false))

static uint64_t rounded_add(uint64_t a, uint64_t b, int mode)
{
	volatile float x = FA, y = FB, sum;

	fesetround(mode);
	sum = x + y;
	fesetround(FE_TONEAREST);
	return from_float(sum);
}

static uint64_t e_fadd_rm(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	return rounded_add(a, b, FE_DOWNWARD);
}

static uint64_t e_fadd_rz(uint64_t a, uint64_t b, uint64_t c)
{
	(void)c;
	return rounded_add(a, b, FE_TOWARDZERO);
}

static float flushed(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}

EXPECT(e_fmul_ftz, from_float(flushed(flushed(FA) * flushed(FB))))

static void float_instructions_match_c(void **state)
{
	static const struct instruction list[] = {
		{ "add.f32 %d, %a, %b;", "f32", 32, e_fadd },
		{ "add.rm.f32 %d, %a, %b;", "f32", 32, e_fadd_rm },
		{ "add.rz.f32 %d, %a, %b;", "f32", 32, e_fadd_rz },
		{ "add.sat.f32 %d, %a, %b;", "f32", 32, e_fsat },
		{ "sub.rn.f32 %d, %a, %b;", "f32", 32, e_fsub },
		{ "mul.f32 %d, %a, %b;", "f32", 32, e_fmul },
		{ "mul.ftz.f32 %d, %a, %b;", "f32", 32, e_fmul_ftz },
		{ "div.rn.f32 %d, %a, %b;", "f32", 32, e_fdiv },
		{ "fma.rn.f32 %d, %a, %b, %c;", "f32", 32, e_ffma },
		{ "add.f64 %d, %a, %b;", "f64", 64, e_dadd },
		{ "mul.rn.f64 %d, %a, %b;", "f64", 64, e_dmul },
		{ "div.rn.f64 %d, %a, %b;", "f64", 64, e_ddiv },
		{ "sqrt.rn.f32 %d, %a;", "f32", 32, e_fsqrt },
		{ "rcp.rn.f64 %d, %a;", "f64", 64, e_drcp },
		{ "neg.f32 %d, %a;", "f32", 32, e_fneg },
		{ "abs.f32 %d, %a;", "f32", 32, e_fabs },
		{ "min.f32 %d, %a, %b;", "f32", 32, e_fmin },
		{ "max.NaN.f32 %d, %a, %b;", "f32", 32, e_fmax_nan },
		{ "copysign.f32 %d, %a, %b;", "f32", 32, e_copysign },
		{ "setp.lt.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", "f32", 32, e_setp_lt },
		{ "setp.ltu.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", "f32", 32, e_setp_ltu },
		{ "setp.num.f32 %p, %a, %b; selp.u32 %d, 1, 0, %p;", "f32", 32, e_setp_num },
		{ "add.f16 %d, %a, %b;", "f16", 16, e_hadd },
		{ "mul.bf16 %d, %a, %b;", "bf16", 16, e_bmul },
	};

	(void)state;
	check_instructions(list, sizeof(list) / sizeof(list[0]));
}

/* Every f16 is exact in a float, so the way there and back is the identity; and halfway cases go to the even side. */
static void half_conversions_round_to_nearest_even(void **state)
{
	(void)state;
	for (uint32_t bits = 0; bits < 65536; bits++) {
		uint16_t half = (uint16_t)bits;

		if ((half & 0x7c00) != 0x7c00 || (half & 0x3ff) == 0)
			assert_int_equal(double_to_f16(f16_to_float(half), false), half);
		if ((half & 0x7f80) != 0x7f80 || (half & 0x7f) == 0)
			assert_int_equal(double_to_bf16(bf16_to_float(half), false), half);
	}
	assert_int_equal(double_to_f16(1.0 + 0x1p-11, false), 0x3c00);
	assert_int_equal(double_to_f16(1.0 + 3 * 0x1p-11, false), 0x3c02);
	assert_int_equal(double_to_f16(65519.0, false), 0x7bff);
	assert_int_equal(double_to_f16(65520.0, false), 0x7c00);
	assert_int_equal(double_to_f16(65520.0, true), 0x7bff);
	assert_int_equal(double_to_f16(0x1p-25, false), 0);
	assert_int_equal(double_to_f16(0x1.8p-25, false), 1);
	assert_int_equal(double_to_f16(-0.0, false), 0x8000);
	assert_int_equal(double_to_bf16(0x1.01p0, false), 0x3f80);
	assert_int_equal(double_to_bf16(0x1.03p0, false), 0x3f82);
}

/* --- conversions ------------------------------------------------------------------------------ */

static uint64_t clamp_to_s32(double value)
{
	if (isnan(value))
		return 0;
	return value >= 2147483647.0 ? 0x7fffffff : value <= -2147483648.0 ? 0x80000000 : U32((int32_t)value);
}

static uint64_t clamp_to_u64(double value)
{
	return !(value > 0) ? 0 : value >= 0x1p64 ? UINT64_MAX : (uint64_t)value;
}

EXPECT(e_s32_f32_rzi, clamp_to_s32(trunc(FA)))
EXPECT(e_s32_f32_rni, clamp_to_s32(nearbyint(FA)))
EXPECT(e_s32_f64_rmi, isnan(DA) ? 0x80000000 : clamp_to_s32(floor(DA)))
EXPECT(e_u64_f64_rzi, isnan(DA) ? 1ULL << 63 : clamp_to_u64(trunc(DA)))
EXPECT(e_f32_s32, float_bits((float)S32(a)))
EXPECT(e_f32_u64, float_bits((float)a))
EXPECT(e_f64_s64, double_bits((double)S64(a)))
EXPECT(e_f32_f64, from_float((float)DA))
EXPECT(e_f64_f32, isnan(FA) ? double_bits(FA) : double_bits((double)FA))
EXPECT(e_f32_rpi, from_float(ceilf(FA)))
EXPECT(e_u8_sat, S32(a) < 0 ? 0 : S32(a) > 255 ? 255 : a)
EXPECT(e_s8, (int8_t)a)
EXPECT(e_s64_s32, (int64_t)S32(a))
EXPECT(e_u32_u16, (uint16_t)a)
EXPECT(e_f16_f32, double_to_f16(FA, false))
EXPECT(e_f32_f16, from_float(f16_to_float((uint16_t)a)))
EXPECT(e_pack, (uint32_t)double_to_f16(FA, false) << 16 | double_to_f16(FB, false))

static void conversions_match_c(void **state)
{
	static const struct instruction list[] = {
		{ "cvt.rzi.s32.f32 %d, %a;", "f32", 32, e_s32_f32_rzi },
		{ "cvt.rni.s32.f32 %d, %a;", "f32", 32, e_s32_f32_rni },
		{ "cvt.rmi.s32.f64 %d, %a;", "f64", 32, e_s32_f64_rmi },
		{ "cvt.rzi.u64.f64 %d, %a;", "f64", 64, e_u64_f64_rzi },
		{ "cvt.rn.f32.s32 %d, %a;", "u32", 32, e_f32_s32 },
		{ "cvt.rn.f32.u64 %d, %a;", "u64", 32, e_f32_u64 },
		{ "cvt.rn.f64.s64 %d, %a;", "u64", 64, e_f64_s64 },
		{ "cvt.rn.f32.f64 %d, %a;", "f64", 32, e_f32_f64 },
		{ "cvt.f64.f32 %d, %a;", "f32", 64, e_f64_f32 },
		{ "cvt.rpi.f32.f32 %d, %a;", "f32", 32, e_f32_rpi },
		{ "cvt.sat.u8.s32 %d, %a;", "u32", 32, e_u8_sat },
		{ "cvt.s32.s8 %d, %a;", "u32", 32, e_s8 },
		{ "cvt.s64.s32 %d, %a;", "u32", 64, e_s64_s32 },
		{ "cvt.u32.u16 %d, %a;", "u16", 32, e_u32_u16 },
		{ "cvt.rn.f16.f32 %d, %a;", "f32", 16, e_f16_f32 },
		{ "cvt.f32.f16 %d, %a;", "f16", 32, e_f32_f16 },
		{ "cvt.rn.f16x2.f32 %d, %a, %b;", "f32", 32, e_pack },
	};

	(void)state;
	check_instructions(list, sizeof(list) / sizeof(list[0]));
}

/* --- approximations --------------------------------------------------------------------------- */

static void approximations_are_close(void **state)
{
	static const struct {
		const char *body;
		double (*expect)(double);
	} list[] = {
		{ "sin.approx.f32 %d, %a;", sin },
		{ "cos.approx.f32 %d, %a;", cos },
		{ "ex2.approx.ftz.f32 %d, %a;", exp2 },
		{ "tanh.approx.f32 %d, %a;", tanh },
	};
	static struct operands operands;
	static uint64_t results[256];

	(void)state;
	operands.n = 128;
	for (size_t i = 0; i < operands.n; i++)
		operands.a[i] = float_bits((float)i / 16 - 4);
	for (size_t k = 0; k < sizeof(list) / sizeof(list[0]); k++) {
		run_body(list[k].body, 32, 32, &operands, results);
		for (size_t i = 0; i < operands.n; i++) {
			double is = bits_float(U32(results[i])),
			       should = list[k].expect(bits_float(U32(operands.a[i])));

			if (!(fabs(is - should) <= 1e-6 * (1 + fabs(should))))
				fail_msg("%s of %g: %g, not %g", list[k].body, bits_float(U32(operands.a[i])), is,
					 should);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integer_instructions_match_c),
		cmocka_unit_test(float_instructions_match_c),
		cmocka_unit_test(half_conversions_round_to_nearest_even),
		cmocka_unit_test(conversions_match_c),
		cmocka_unit_test(approximations_are_close),
	};

	return cmocka_run_group_tests_name("simgpu: instructions", tests, NULL, NULL);
}

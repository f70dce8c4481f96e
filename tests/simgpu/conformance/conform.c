/* SPDX-License-Identifier: Apache-2.0
 *
 * conform.c - the generator of kernels and operands; see conform.h.
 */
#include "conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t integer_edges[] = {
	0,
	1,
	2,
	3,
	7,
	15,
	31,
	32,
	33,
	63,
	64,
	0x7f,
	0x80,
	0xff,
	0x7fff,
	0x8000,
	0xffff,
	0x10000,
	0x7fffff,
	0x800000,
	0x12345678,
	0x7fffffff,
	0x80000000,
	0xfffffffe,
	0xffffffff,
	0x100000000,
	1ULL << 63,
	(1ULL << 63) - 1,
	UINT64_MAX,
	UINT64_MAX - 1,
	0xdeadbeefcafef00d,
	0x5555555555555555,
};

/* Sign, exponent and mantissa at their limits, and what lies beside them. */
static uint64_t float_edge(uint32_t index, uint32_t exponent_bits, uint32_t mantissa_bits)
{
	uint64_t one = 1ULL << mantissa_bits, infinity = ((1ULL << exponent_bits) - 1) << mantissa_bits;
	uint64_t bias = (1ULL << (exponent_bits - 1)) - 1;
	const uint64_t edges[16] = { 0,
				     1,
				     one - 1,
				     one,
				     one + 1,
				     bias << mantissa_bits,
				     (bias << mantissa_bits) + 1,
				     (bias << mantissa_bits) - 1,
				     (bias + 1) << mantissa_bits | one >> 1,
				     (bias - 1) << mantissa_bits,
				     (bias + mantissa_bits) << mantissa_bits | 1,
				     (bias - mantissa_bits) << mantissa_bits | 3,
				     infinity - 1,
				     infinity,
				     infinity | 1,
				     infinity | one >> 1 };

	return edges[index & 15] | (uint64_t)(index >> 4 & 1) << (exponent_bits + mantissa_bits);
}

uint64_t conform_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dULL;
}

static uint64_t edge_of(enum conform_kind kind, uint32_t index)
{
	switch (kind) {
	case CONFORM_F16:
		return float_edge(index, 5, 10);
	case CONFORM_BF16:
		return float_edge(index, 8, 7);
	case CONFORM_F16X2:
		return float_edge(index, 5, 10) | float_edge(index * 7 + 3, 5, 10) << 16;
	case CONFORM_BF16X2:
		return float_edge(index, 8, 7) | float_edge(index * 7 + 3, 8, 7) << 16;
	case CONFORM_F32:
		return float_edge(index, 8, 23);
	case CONFORM_F64:
		return float_edge(index, 11, 52);
	default:
		return integer_edges[index % 32];
	}
}

/* Random bits; half of the floats near 1, where sums and products do not run away. */
static uint64_t random_of(enum conform_kind kind)
{
	uint64_t bits = conform_random();

	if (kind == CONFORM_INT)
		return bits & 1 ? bits >> (bits >> 1 & 63) : bits;
	if (!(bits >> 40 & 1))
		return bits;
	if (kind == CONFORM_F32)
		return (bits & 0x80ffffff) + 0x3f000000;
	if (kind == CONFORM_F64)
		return (bits & 0x801fffffffffffffULL) + 0x3fe0000000000000ULL;
	return kind == CONFORM_F16 || kind == CONFORM_F16X2 ? (bits & 0x8fff8fff) + 0x34003400
							    : (bits & 0x81ff81ff) + 0x3f003f00;
}

static uint64_t cut(uint64_t value, uint32_t bits)
{
	return bits >= 64 ? value : value & ((1ULL << bits) - 1);
}

static void fill(const struct conform_case *c, uint64_t operands[3][CONFORM_LANES])
{
	for (uint32_t i = 0; i < CONFORM_LANES; i++) {
		operands[0][i] = i < 1024 ? edge_of(c->kind, i % 32) : random_of(c->kind);
		operands[1][i] = i < 1024 ? edge_of(c->kind, i / 32) : random_of(c->kind);
		operands[2][i] = i % 3 == 0 ? edge_of(c->kind, i / 3) : random_of(c->kind);
		for (uint32_t k = 0; k < 3; k++)
			operands[k][i] = cut(operands[k][i], c->in_bits);
	}
}

static const char kernel_format[] =
	".version 8.8\n.target sm_100\n.address_size 64\n"
	".visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n"
	"{\n"
	".reg .b64 %%rd<9>; .reg .b32 %%r<5>; .reg .pred %%q, %%p; .reg .b%u %%a, %%b, %%c; .reg .b%u %%d;\n"
	".reg .b64 %%w; .reg .b16 %%h;\n"
	"mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x;\n"
	"mad.lo.u32 %%r4, %%r1, %%r2, %%r3; mul.wide.u32 %%rd5, %%r4, 8;\n"
	"ld.param.u64 %%rd1, [pa]; ld.param.u64 %%rd2, [pb]; ld.param.u64 %%rd3, [pc]; ld.param.u64 %%rd4, [pd];\n"
	"add.u64 %%rd1, %%rd1, %%rd5; add.u64 %%rd2, %%rd2, %%rd5; add.u64 %%rd3, %%rd3, %%rd5;\n"
	"add.u64 %%rd4, %%rd4, %%rd5;\n"
	"ld.global.b%u %%a, [%%rd1]; ld.global.b%u %%b, [%%rd2]; ld.global.b%u %%c, [%%rd3];\n"
	"ld.global.u8 %%r1, [%%rd3]; and.b32 %%r1, %%r1, 1; setp.ne.u32 %%q, %%r1, 0;\n"
	"%s\n"
	"st.global.b%u [%%rd4], %%d;\n"
	"ret;\n"
	"}\n";

static void execute(struct sim_device *device, const struct conform_case *c, uint64_t operands[3][CONFORM_LANES],
		    uint64_t *ret)
{
	uint64_t params[4];
	struct sim_module *module;
	char ptx[4096];

	snprintf(ptx, sizeof(ptx), kernel_format, c->in_bits, c->out_bits, c->in_bits, c->in_bits, c->in_bits, c->body,
		 c->out_bits);
	module = rig_load(device, ptx);
	for (uint32_t i = 0; i < 3; i++)
		params[i] = rig_put(device, operands[i], sizeof(operands[i]));
	params[3] = rig_alloc(device, CONFORM_LANES * sizeof(uint64_t));
	rig_run(device, module, CONFORM_LANES / 256, 256, params);
	rig_get(device, ret, params[3], CONFORM_LANES * sizeof(uint64_t));
	sim_module_unload(module);
	for (uint32_t i = 0; i < 4; i++)
		sim_mem_free(device, params[i]);
}

static uint32_t count_differences(const struct conform_case *c, uint64_t operands[3][CONFORM_LANES],
				  const uint64_t *results)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CONFORM_LANES; i++) {
		unsigned long long a = operands[0][i], b = operands[1][i], third = operands[2][i], got = results[i];
		unsigned long long wanted = c->expect == NULL ? 0 : cut(c->expect(a, b, third), c->out_bits);

		if (c->expect != NULL ? got == wanted : c->accept(a, b, third, got))
			continue;
		if (n++ < 3 && c->expect != NULL)
			print_error("%s: a=%llx b=%llx c=%llx gives %llx, not %llx\n", c->body, a, b, third, got,
				    wanted);
		else if (n <= 3)
			print_error("%s: a=%llx b=%llx c=%llx gives %llx, out of bounds\n", c->body, a, b, third, got);
	}
	return n;
}

void conform_run(const struct conform_case *cases, size_t n)
{
	static uint64_t operands[3][CONFORM_LANES], results[CONFORM_LANES];
	struct sim_device *device = rig_device(NULL);
	uint32_t n_bad = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t differences;

		fill(&cases[i], operands);
		execute(device, &cases[i], operands, results);
		differences = count_differences(&cases[i], operands, results);
		if (differences > 3)
			print_error("%s: %u differences of %u\n", cases[i].body, differences, CONFORM_LANES);
		n_bad += differences > 0;
	}
	sim_device_destroy(device);
	if (n_bad > 0)
		fail_msg("%u of %zu instructions differ", n_bad, n);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_matrix.c - products of matrices and their fragments, one warp at a time.
 *
 * The reference multiplies whole matrices of small integers, which every type here holds exactly, and lays them into
 * registers by the figures of the PTX reference, written out per shape.
 */
#include "../../support.h"

#include "../rig.h"
#include "conform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A kernel that loads `n` words per lane, executes `body` and stores `n` words per lane. */
static void run_warp(const char *body, const uint32_t in[][32], uint32_t n_in, uint32_t out[][32], uint32_t n_out)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module;
	char ptx[8192], line[128];
	uint64_t from = rig_put(device, in, n_in * 32 * sizeof(uint32_t));
	uint64_t to = rig_alloc(device, n_out * 32 * sizeof(uint32_t));

	snprintf(ptx, sizeof(ptx),
		 PTX_HEAD ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
			  ".reg .b64 %%rd<9>; .reg .b32 %%r<4>, %%i<16>, %%o<16>; .shared .align 128 .b8 tile[4096];\n"
			  "ld.param.u64 %%rd1, [from]; ld.param.u64 %%rd2, [to]; mov.u32 %%r1, %%tid.x;\n"
			  "mul.wide.u32 %%rd3, %%r1, 4; add.u64 %%rd4, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n");
	for (uint32_t i = 0; i < n_in; i++) {
		snprintf(line, sizeof(line), "ld.global.b32 %%i%u, [%%rd4+%u];\n", i, i * 128);
		strcat(ptx, line);
	}
	strcat(ptx, body);
	for (uint32_t i = 0; i < n_out; i++) {
		snprintf(line, sizeof(line), "\nst.global.b32 [%%rd2+%u], %%o%u;", i * 128, i);
		strcat(ptx, line);
	}
	strcat(ptx, "\nret;\n}\n");
	module = rig_load(device, ptx);
	rig_run(device, module, 1, 32, (uint64_t[4]){ from, to });
	rig_get(device, out, to, n_out * 32 * sizeof(uint32_t));
	sim_module_unload(module);
	sim_device_destroy(device);
}

struct product {
	const char *body;
	uint32_t k;
	uint32_t per_register;             /* of the factors */
	uint32_t (*encode)(int32_t value); /* a factor's bits */
	bool factors_are_unsigned;
	enum { SUM_F32, SUM_F16, SUM_S32 } sum;
};

static uint32_t f32_code(int32_t value)
{
	float number = (float)value;
	uint32_t bits;

	memcpy(&bits, &number, sizeof(bits));
	return bits;
}

/* Small integers in f16: 2^e * 1.m */
static uint32_t f16_code(int32_t value)
{
	uint32_t magnitude = (uint32_t)(value < 0 ? -value : value), exponent = 0;

	if (magnitude == 0)
		return 0;
	while (magnitude >> (exponent + 1) != 0)
		exponent++;
	return (value < 0 ? 0x8000u : 0) | (exponent + 15) << 10 | ((magnitude << 10 >> exponent) & 0x3ff);
}

static uint32_t bf16_code(int32_t value)
{
	return f32_code(value) >> 16;
}

static uint32_t byte_code(int32_t value)
{
	return (uint8_t)value;
}

static uint32_t e5m2_code(int32_t value)
{
	return f16_code(value) >> 8;
}

/* Integers up to 3 in e4m3. */
static uint32_t e4m3_code(int32_t value)
{
	return (f16_code(value) >> 8 & 0x80) | (value == 0 ? 0 : (((f16_code(value) >> 7 & 0xff) - 64) & 0x7f));
}

static uint32_t nibble_code(int32_t value)
{
	return value & 15;
}

static const struct product products[] = {
	{ "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  32, 4, e4m3_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k16.row.col.f16.e4m3.e4m3.f16 {%o0,%o1}, {%i0,%i1}, {%i4}, {%i6,%i7};", 16, 4,
	  e4m3_code, false, SUM_F16 },
	{ "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4}, {%i6,%i7,%i8,%i9};", 32,
	  8, nibble_code, false, SUM_S32 },
	{ "mma.sync.aligned.m16n8k64.row.col.satfinite.s32.u4.u4.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  64, 8, nibble_code, true, SUM_S32 },

	{ "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4}, {%i6,%i7,%i8,%i9};", 8,
	  2, f16_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  16, 2, f16_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%o0,%o1}, {%i0,%i1,%i2,%i3}, {%i4,%i5}, {%i6,%i7};", 16,
	  2, f16_code, false, SUM_F16 },
	{ "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4}, {%i6,%i7,%i8,%i9};",
	  8, 2, bf16_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  16, 2, bf16_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4}, {%i6,%i7,%i8,%i9};",
	  4, 1, f32_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  8, 1, f32_code, false, SUM_F32 },
	{ "mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4}, {%i6,%i7,%i8,%i9};", 16,
	  4, byte_code, false, SUM_S32 },
	{ "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.u8.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  32, 4, byte_code, true, SUM_S32 },
	{ "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, {%i4,%i5},"
	  " {%i6,%i7,%i8,%i9};",
	  32, 4, e5m2_code, false, SUM_F32 },
};

static int32_t small_number(bool is_unsigned)
{
	int32_t value = (int32_t)(conform_random() % 7) - 3;

	return is_unsigned && value < 0 ? -value : value;
}

/* Row and column of element `i` of the accumulator in a lane. */
static uint32_t sum_row(uint32_t lane, uint32_t i)
{
	return lane / 4 + (i >= 2 ? 8 : 0);
}

static uint32_t sum_column(uint32_t lane, uint32_t i)
{
	return lane % 4 * 2 + (i & 1);
}

static void check_product(const struct product *product)
{
	int32_t a[16][64], b[64][8], c[16][8];
	static uint32_t in[16][32], out[16][32];
	uint32_t n = product->per_register, bits = 32 / n;
	bool f16_sum = product->sum == SUM_F16;

	memset(in, 0, sizeof(in));
	for (uint32_t k = 0; k < product->k; k++) {
		for (uint32_t row = 0; row < 16; row++)
			a[row][k] = small_number(product->factors_are_unsigned);
		for (uint32_t column = 0; column < 8; column++)
			b[k][column] = small_number(product->factors_are_unsigned);
	}
	for (uint32_t lane = 0; lane < 32; lane++) {
		/* Registers come in column blocks of four lanes; of a, first the upper eight rows, then the lower. */
		for (uint32_t k = 0; k < product->k; k++) {
			uint32_t block = k / (4 * n), in_block = k % (4 * n);

			if (in_block / n != lane % 4)
				continue;
			in[2 * block][lane] |= product->encode(a[lane / 4][k]) << (in_block % n * bits);
			in[2 * block + 1][lane] |= product->encode(a[lane / 4 + 8][k]) << (in_block % n * bits);
			in[4 + block][lane] |= product->encode(b[k][lane / 4]) << (in_block % n * bits);
		}
		for (uint32_t i = 0; i < 4; i++) {
			int32_t value = (int32_t)(conform_random() % 100);

			c[sum_row(lane, i)][sum_column(lane, i)] = value;
			if (f16_sum)
				in[6 + i / 2][lane] |= f16_code(value) << (i % 2 * 16);
			else
				in[6 + i][lane] = product->sum == SUM_F32 ? f32_code(value) : (uint32_t)value;
		}
	}
	run_warp(product->body, in, 16, out, f16_sum ? 2 : 4);
	for (uint32_t lane = 0; lane < 32; lane++)
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t row = sum_row(lane, i), column = sum_column(lane, i);
			int32_t value = c[row][column];
			uint32_t wanted, got = f16_sum ? out[i / 2][lane] >> (i % 2 * 16) & 0xffff : out[i][lane];

			for (uint32_t k = 0; k < product->k; k++)
				value += a[row][k] * b[k][column];
			wanted = f16_sum                   ? f16_code(value)
				 : product->sum == SUM_F32 ? f32_code(value)
							   : (uint32_t)value;
			if (got != wanted)
				fail_msg("%s: row %u, column %u: %x, not %x", product->body, row, column, got, wanted);
		}
}

static void products_match(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		check_product(&products[i]);
}

/* Bits: XOR or AND of a row with a column, counted; the words of a row lie like the registers of nibbles do. */
static void products_of_bits_match(void **state)
{
	static const struct {
		const char *body;
		uint32_t rows, words; /* 32 bits each, of a row */
		bool is_xor;
	} forms[] = {
		{ "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc {%o0,%o1}, {%i0}, {%i4}, {%i6,%i7};", 8, 4,
		  true },
		{ "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc {%o0,%o1}, {%i0}, {%i4}, {%i6,%i7};", 8, 4,
		  false },
		{ "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4},"
		  " {%i6,%i7,%i8,%i9};",
		  16, 4, false },
		{ "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.xor.popc {%o0,%o1,%o2,%o3}, {%i0,%i1,%i2,%i3}, "
		  "{%i4,%i5},"
		  " {%i6,%i7,%i8,%i9};",
		  16, 8, true },
	};
	static uint32_t in[16][32], out[16][32];

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++) {
		for (uint32_t i = 0; i < 16; i++)
			for (uint32_t lane = 0; lane < 32; lane++)
				in[i][lane] = (uint32_t)conform_random();
		run_warp(forms[f].body, in, 16, out, forms[f].rows == 16 ? 4 : 2);
		for (uint32_t row = 0; row < forms[f].rows; row++)
			for (uint32_t column = 0; column < 8; column++) {
				uint32_t lane = row % 8 * 4 + column / 2, i = (row >= 8 ? 2 : 0) + column % 2;
				uint32_t wanted = in[6 + i][lane];

				for (uint32_t w = 0; w < forms[f].words; w++) {
					uint32_t pair = w / 4 * (forms[f].rows == 16 ? 2 : 1);
					uint32_t a = in[pair + (row >= 8)][row % 8 * 4 + w % 4];
					uint32_t b = in[4 + w / 4][column * 4 + w % 4];

					wanted += (uint32_t)__builtin_popcount(forms[f].is_xor ? a ^ b : a & b);
				}
				if (out[i][lane] != wanted)
					fail_msg("%s: row %u, column %u: %u, not %u", forms[f].body, row, column,
						 out[i][lane], wanted);
			}
	}
}

/* f64: m rows and k columns of a, element by element in registers of 64 bits. Integers, so that any order will do; and
 * one case in which only fused steps, smallest k first, give the sum. */
static void products_of_doubles_match(void **state)
{
	static const uint32_t shapes[][2] = { { 8, 4 }, { 16, 4 }, { 16, 8 }, { 16, 16 } };

	(void)state;
	for (size_t s = 0; s < 4; s++) {
		uint32_t m = shapes[s][0], k = shapes[s][1], n_a = m * k / 32, n_b = k * 8 / 32, n_c = m * 8 / 32;
		struct sim_device *device = rig_device(NULL);
		double a[16][16], b[16][8], c[16][8], in[16][32], out[4][32];
		static char ptx[8192];
		struct sim_module *module;
		uint64_t params[4];

		snprintf(ptx, sizeof(ptx),
			 PTX_HEAD
			 ".visible .entry k(.param .u64 from, .param .u64 to)\n{\n"
			 ".reg .b64 %%rd<9>; .reg .b32 %%r<4>; .reg .f64 %%i<16>, %%o<4>;\n"
			 "ld.param.u64 %%rd1, [from]; ld.param.u64 %%rd2, [to]; mov.u32 %%r1, %%tid.x;\n"
			 "mul.wide.u32 %%rd3, %%r1, 8; add.u64 %%rd4, %%rd1, %%rd3; add.u64 %%rd2, %%rd2, %%rd3;\n");
		for (uint32_t i = 0; i < n_a + n_b + n_c; i++)
			snprintf(ptx + strlen(ptx), sizeof(ptx) - strlen(ptx), "ld.global.f64 %%i%u, [%%rd4+%u];\n", i,
				 i * 256);
		snprintf(ptx + strlen(ptx), sizeof(ptx) - strlen(ptx),
			 "mma.sync.aligned.m%un8k%u.row.col.f64.f64.f64.f64 {", m, k);
		for (uint32_t i = 0; i < 2 * n_c + n_a + n_b; i++) {
			bool starts = i == n_c || i == n_c + n_a || i == n_c + n_a + n_b;

			snprintf(ptx + strlen(ptx), sizeof(ptx) - strlen(ptx), "%s%s%u",
				 starts   ? "}, {"
				 : i == 0 ? ""
					  : ", ",
				 i < n_c ? "%o" : "%i", i < n_c ? i : i - n_c);
		}
		strcat(ptx, "};\n");
		for (uint32_t i = 0; i < n_c; i++)
			snprintf(ptx + strlen(ptx), sizeof(ptx) - strlen(ptx), "st.global.f64 [%%rd2+%u], %%o%u;\n",
				 i * 256, i);
		strcat(ptx, "ret;\n}\n");
		for (uint32_t i = 0; i < 16; i++)
			for (uint32_t j = 0; j < 16; j++) {
				a[i][j] = (double)(conform_random() % 2000) - 1000;
				b[i][j % 8] = (double)(conform_random() % 2000) - 1000;
				c[i][j % 8] = (double)(conform_random() % 2000) - 1000;
			}
		/* 2^60 + 1 - 2^60 - 1 is 0 from the left when each step is rounded */
		for (uint32_t j = 0; j < k; j++)
			b[j][0] = 1;
		c[0][0] = 0x1p60;
		a[0][0] = 1;
		a[0][1] = -0x1p60;
		a[0][2] = 1;
		for (uint32_t lane = 0; lane < 32; lane++) {
			for (uint32_t i = 0; i < n_a; i++)
				in[i][lane] =
					a[lane / 4 + (m == 16 && i % 2 ? 8 : 0)][lane % 4 + (m == 16 ? i / 2 : i) * 4];
			for (uint32_t i = 0; i < n_b; i++)
				in[n_a + i][lane] = b[lane % 4 + i * 4][lane / 4];
			for (uint32_t i = 0; i < n_c; i++)
				in[n_a + n_b + i][lane] = c[sum_row(lane, i)][sum_column(lane, i)];
		}
		module = rig_load(device, ptx);
		params[0] = rig_put(device, in, sizeof(in));
		params[1] = rig_alloc(device, sizeof(out));
		rig_run(device, module, 1, 32, params);
		rig_get(device, out, params[1], sizeof(out));
		for (uint32_t lane = 0; lane < 32; lane++)
			for (uint32_t i = 0; i < n_c; i++) {
				uint32_t row = sum_row(lane, i), column = sum_column(lane, i);
				double wanted = c[row][column];

				for (uint32_t j = 0; j < k; j++)
					wanted = fma(a[row][j], b[j][column], wanted);
				if (out[i][lane] != wanted)
					fail_msg("m%uk%u: row %u, column %u: %g, not %g", m, k, row, column,
						 out[i][lane], wanted);
			}
		sim_module_unload(module);
		sim_device_destroy(device);
	}
}

/* m8n8k4 of halves: four products at once, one for each four lanes and those sixteen further on. */
static void quads_multiply(void **state)
{
	static const char *const layouts[] = { "row", "col" };

	(void)state;
	for (uint32_t form = 0; form < 8; form++) {
		bool a_rows = form & 1, b_columns = form & 2, f32_sum = form & 4;
		int32_t a[4][8][4], b[4][4][8], c[4][8][8];
		static uint32_t in[16][32], out[8][32];
		char text[256];

		snprintf(text, sizeof(text),
			 "mma.sync.aligned.m8n8k4.%s.%s.%s.f16.f16.%s {%%o0,%%o1,%%o2,%%o3%s}, {%%i0,%%i1}, "
			 "{%%i4,%%i5}, {%%i6,%%i7,%%i8,%%i9%s};",
			 layouts[!a_rows], layouts[b_columns], f32_sum ? "f32" : "f16", f32_sum ? "f32" : "f16",
			 f32_sum ? ",%o4,%o5,%o6,%o7" : "", f32_sum ? ",%i10,%i11,%i12,%i13" : "");
		memset(in, 0, sizeof(in));
		for (uint32_t lane = 0; lane < 32; lane++) {
			uint32_t quad = lane % 16 / 4, upper = lane >= 16 ? 4 : 0, own = lane % 4 + upper;

			for (uint32_t i = 0; i < 4; i++) {
				int32_t x = small_number(false), y = small_number(false);

				a[quad][a_rows ? own : i + upper][a_rows ? i : lane % 4] = x;
				b[quad][b_columns ? i : lane % 4][b_columns ? own : i + upper] = y;
				in[i / 2][lane] |= f16_code(x) << (i % 2 * 16);
				in[4 + i / 2][lane] |= f16_code(y) << (i % 2 * 16);
			}
			for (uint32_t i = 0; i < 8; i++) {
				uint32_t row = f32_sum ? (lane & 1) + (i & 2) + upper : own;
				uint32_t column = f32_sum ? (i & 4) + (lane & 2) + (i & 1) : i;
				int32_t x = (int32_t)(conform_random() % 100);

				c[quad][row][column] = x;
				in[6 + (f32_sum ? i : i / 2)][lane] |=
					f32_sum ? f32_code(x) : f16_code(x) << (i % 2 * 16);
			}
		}
		run_warp(text, in, 16, out, f32_sum ? 8 : 4);
		for (uint32_t lane = 0; lane < 32; lane++)
			for (uint32_t i = 0; i < 8; i++) {
				uint32_t quad = lane % 16 / 4, upper = lane >= 16 ? 4 : 0, own = lane % 4 + upper;
				uint32_t row = f32_sum ? (lane & 1) + (i & 2) + upper : own;
				uint32_t column = f32_sum ? (i & 4) + (lane & 2) + (i & 1) : i;
				uint32_t got = f32_sum ? out[i][lane] : out[i / 2][lane] >> (i % 2 * 16) & 0xffff;
				int32_t sum = c[quad][row][column];

				for (uint32_t k = 0; k < 4; k++)
					sum += a[quad][row][k] * b[quad][k][column];
				if (got != (f32_sum ? f32_code(sum) : f16_code(sum)))
					fail_msg("%s: lane %u, element %u: %x, not of %d", text, lane, i, got, sum);
			}
	}
}

/* The sum of an s8 product saturates only when it is told to. */
static void integer_sums_wrap_or_saturate(void **state)
{
	static uint32_t in[16][32], out[4][32];

	(void)state;
	for (uint32_t lane = 0; lane < 32; lane++) {
		in[0][lane] = in[1][lane] = in[4][lane] = 0x7f7f7f7f;
		for (uint32_t i = 6; i < 10; i++)
			in[i][lane] = 0x7fffffff;
	}
	run_warp("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4},"
		 " {%i6,%i7,%i8,%i9};",
		 in, 16, out, 4);
	assert_int_equal(out[3][31], 0x7fffffffu + 16 * 127 * 127);
	run_warp("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32 {%o0,%o1,%o2,%o3}, {%i0,%i1}, {%i4},"
		 " {%i6,%i7,%i8,%i9};",
		 in, 16, out, 4);
	assert_int_equal(out[3][31], 0x7fffffff);
}

#define TO_TILE                                                            \
	"mov.u32 %r2, tile; shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;\n" \
	"st.shared.v4.b32 [%r2], {%i0, %i1, %i2, %i3}; bar.warp.sync 0xffffffff;\n"

/* Every lane brings a row of eight halves: row r of matrix m is lane 8 m + r. */
static uint32_t half_at(const uint32_t in[][32], uint32_t matrix, uint32_t row, uint32_t column)
{
	return in[column / 2][8 * matrix + row] >> (column % 2 * 16) & 0xffff;
}

static void rows_are_dealt_out(void **state)
{
	static uint32_t in[4][32], out[9][32];

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t lane = 0; lane < 32; lane++)
			in[i][lane] = (uint32_t)conform_random();
	run_warp(TO_TILE "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%o0, %o1, %o2, %o3}, [%r2];\n"
			 "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%o4, %o5, %o6, %o7}, [%r2];\n"
			 "movmatrix.sync.aligned.m8n8.trans.b16 %o8, %o0;",
		 in, 4, out, 9);
	for (uint32_t lane = 0; lane < 32; lane++)
		for (uint32_t m = 0; m < 4; m++) {
			uint32_t row = lane / 4, column = lane % 4 * 2;

			assert_int_equal(out[m][lane], half_at(in, m, row, column) | half_at(in, m, row, column + 1)
											     << 16);
			assert_int_equal(out[4 + m][lane], half_at(in, m, column, row) | half_at(in, m, column + 1, row)
												 << 16);
			assert_int_equal(out[8][lane], out[4][lane]);
		}
	/* And back. */
	run_warp("mov.u32 %r2, tile; shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;\n"
		 "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%i0, %i1, %i2, %i3};\n"
		 "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%o0, %o1}, [%r2];\n"
		 "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r2], {%i0};\n"
		 "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%o2}, [%r2];",
		 in, 4, out, 3);
	assert_memory_equal(out[0], in[0], sizeof(in[0]));
	assert_memory_equal(out[1], in[1], sizeof(in[1]));
	assert_memory_equal(out[2], in[0], sizeof(in[0]));
}

/* wmma: a times the unit matrix plus nothing is a, in either layout. */
static void wmma_multiplies(void **state)
{
	static uint32_t in[4][32], out[4][32];

	(void)state;
	for (uint32_t lane = 0; lane < 32; lane++)
		for (uint32_t i = 0; i < 4; i++)
			in[i][lane] = f16_code((int32_t)(lane + i)) | f16_code(-(int32_t)(i * 32 + lane)) << 16;
	run_warp("{ .reg .b32 %a<8>, %b<8>, %z<8>; mov.u64 %rd5, 0; mov.b32 %z0, 0;\n"
		 /* the unit matrix in shared memory, 16 columns */
		 "mov.u32 %r2, tile; shl.b32 %r3, %r1, 4; add.u32 %r2, %r2, %r3;\n"
		 "st.shared.v4.b32 [%r2], {%z0, %z0, %z0, %z0}; bar.warp.sync 0xffffffff;\n"
		 ".reg .pred %p; .reg .b16 %h; mov.b16 %h, 0x3c00; setp.lt.u32 %p, %r1, 16;\n"
		 "mov.u32 %r2, tile; mul.lo.u32 %r3, %r1, 34; add.u32 %r2, %r2, %r3;\n"
		 "@%p st.shared.b16 [%r2], %h; bar.warp.sync 0xffffffff; mov.u32 %r2, tile;\n"
		 "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, [%rd1], 16;\n"
		 "wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, [%r2], 16;\n"
		 "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%z0,%z1,%z2,%z3},\n"
		 "{%a0,%a1,%a2,%a3,%a4,%a5,%a6,%a7}, {%b0,%b1,%b2,%b3,%b4,%b5,%b6,%b7}, {%z4,%z5,%z6,%z7};\n"
		 "wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%r2], {%z0,%z1,%z2,%z3}, 16;\n"
		 "bar.warp.sync 0xffffffff; mov.u32 %r2, tile; shl.b32 %r3, %r1, 2; add.u32 %r2, %r2, %r3;\n"
		 "ld.shared.b32 %o0, [%r2]; ld.shared.b32 %o1, [%r2+128]; ld.shared.b32 %o2, [%r2+256];\n"
		 "ld.shared.b32 %o3, [%r2+384]; }",
		 in, 4, out, 4);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t lane = 0; lane < 32; lane++)
			/* -0 times one plus 0 is 0 */
			assert_int_equal(out[i][lane], in[i][lane] == 0x80000000u ? 0 : in[i][lane]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_match),
		cmocka_unit_test(products_of_bits_match),
		cmocka_unit_test(products_of_doubles_match),
		cmocka_unit_test(quads_multiply),
		cmocka_unit_test(integer_sums_wrap_or_saturate),
		cmocka_unit_test(rows_are_dealt_out),
		cmocka_unit_test(wmma_multiplies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

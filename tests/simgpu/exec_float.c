/* SPDX-License-Identifier: Apache-2.0
 *
 * exec_float.c - floating point instructions.
 *
 * f32 and f64 are the host's, with the rounding mode set where an instruction asks for one. f16 and bf16 are computed
 * in f64 and rounded once. The approximations (ex2, sin, rcp.approx, ...) give the host's result, which is inside the
 * error PTX allows. Runs on the thread of sim_launch(), whose rounding mode is restored before a handler returns.
 */
#include "exec_ops.h"
#include "half.h"

#include <fenv.h>
#include <math.h>

#define F(id) PTX_FLAG(id)

/* The canonical NaN that arithmetic on the hardware produces. */
#define NAN_F32 0x7fffffffu
#define NAN_F64 0x7ff8000000000000ULL

static float flush(float value)
{
	return fpclassify(value) == FP_SUBNORMAL ? copysignf(0.0f, value) : value;
}

static float saturate_f32(float value)
{
	return value >= 1.0f ? 1.0f : value > 0.0f ? value : 0.0f; /* NaN gives 0 */
}

static double saturate_f64(double value)
{
	return value >= 1.0 ? 1.0 : value > 0.0 ? value : 0.0;
}

static int host_rounding(uint8_t rnd)
{
	switch (rnd) {
	case PTX_M_RZ:
		return FE_TOWARDZERO;
	case PTX_M_RM:
		return FE_DOWNWARD;
	case PTX_M_RP:
		return FE_UPWARD;
	default:
		return FE_TONEAREST;
	}
}

/* What an opcode computes, on values; `volatile` in the rounded loops keeps the compiler from folding across
 * fesetround(). */
enum float_op {
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_FMA,
	OP_ABS,
	OP_NEG,
	OP_MIN,
	OP_MAX,
	OP_RCP,
	OP_SQRT,
	OP_RSQRT,
	OP_SIN,
	OP_COS,
	OP_LG2,
	OP_EX2,
	OP_TANH,
};

static float lesser_f32(float a, float b, bool nan)
{
	if (isnan(a) || isnan(b))
		return nan || (isnan(a) && isnan(b)) ? bits_float(NAN_F32) : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

static float greater_f32(float a, float b, bool nan)
{
	if (isnan(a) || isnan(b))
		return nan || (isnan(a) && isnan(b)) ? bits_float(NAN_F32) : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

static double lesser_f64(double a, double b, bool nan)
{
	if (isnan(a) || isnan(b))
		return nan || (isnan(a) && isnan(b)) ? bits_double(NAN_F64) : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? a : b;
	return a < b ? a : b;
}

static double greater_f64(double a, double b, bool nan)
{
	if (isnan(a) || isnan(b))
		return nan || (isnan(a) && isnan(b)) ? bits_double(NAN_F64) : isnan(a) ? b : a;
	if (a == b)
		return signbit(a) ? b : a;
	return a > b ? a : b;
}

static float compute_f32(enum float_op op, float a, float b, float c, bool nan)
{
	volatile float x = a, y = b, z = c, result;

	switch (op) {
	case OP_ADD:
		result = x + y;
		break;
	case OP_SUB:
		result = x - y;
		break;
	case OP_MUL:
		result = x * y;
		break;
	case OP_DIV:
		result = x / y;
		break;
	case OP_FMA:
		result = fmaf(x, y, z);
		break;
	case OP_ABS:
		return bits_float(float_bits(a) & 0x7fffffffu);
	case OP_NEG:
		return bits_float(float_bits(a) ^ 0x80000000u);
	case OP_MIN:
		return lesser_f32(a, b, nan);
	case OP_MAX:
		return greater_f32(a, b, nan);
	case OP_RCP:
		result = 1.0f / x;
		break;
	case OP_SQRT:
		result = sqrtf(x);
		break;
	case OP_RSQRT:
		result = (float)(1.0 / sqrt((double)x));
		break;
	case OP_SIN:
		result = sinf(x);
		break;
	case OP_COS:
		result = cosf(x);
		break;
	case OP_LG2:
		result = log2f(x);
		break;
	case OP_EX2:
		result = exp2f(x);
		break;
	default:
		result = tanhf(x);
		break;
	}
	return isnan(result) ? bits_float(NAN_F32) : result;
}

static double compute_f64(enum float_op op, double a, double b, double c, bool nan)
{
	volatile double x = a, y = b, z = c, result;

	switch (op) {
	case OP_ADD:
		result = x + y;
		break;
	case OP_SUB:
		result = x - y;
		break;
	case OP_MUL:
		result = x * y;
		break;
	case OP_DIV:
		result = x / y;
		break;
	case OP_FMA:
		result = fma(x, y, z);
		break;
	case OP_ABS:
		return bits_double(double_bits(a) & ~(1ULL << 63));
	case OP_NEG:
		return bits_double(double_bits(a) ^ 1ULL << 63);
	case OP_MIN:
		return lesser_f64(a, b, nan);
	case OP_MAX:
		return greater_f64(a, b, nan);
	case OP_RCP:
		result = 1.0 / x;
		break;
	case OP_SQRT:
		result = sqrt(x);
		break;
	case OP_RSQRT:
		result = 1.0 / sqrt(x);
		break;
	case OP_SIN:
		result = sin(x);
		break;
	case OP_COS:
		result = cos(x);
		break;
	case OP_LG2:
		result = log2(x);
		break;
	case OP_EX2:
		result = exp2(x);
		break;
	default:
		result = tanh(x);
		break;
	}
	return isnan(result) ? bits_double(NAN_F64) : result;
}

static uint32_t n_sources(enum float_op op)
{
	switch (op) {
	case OP_FMA:
		return 3;
	case OP_ADD:
	case OP_SUB:
	case OP_MUL:
	case OP_DIV:
	case OP_MIN:
	case OP_MAX:
		return 2;
	default:
		return 1;
	}
}

/* Sources of a lane as numbers; absent ones are 0. */
#define READ_SOURCES(T, READ)            \
	for (uint32_t i = 0; i < n; i++) \
		x[i] = READ(LANES_OF(const T, warp, insn->o[1 + i])[lane]);

#define IDENTITY(x) (x)

/* Every f32 instruction, with rounding, .ftz and .sat. The common ones have plain loops below. */
static void run_f32(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, enum float_op op)
{
	float *to = LANES_OF(float, warp, insn->o[0]);
	uint32_t n = n_sources(op);
	bool ftz = has_flag(insn, F(FTZ)), sat = has_flag(insn, F(SAT)), nan = has_flag(insn, F(QNAN));
	int rounding = host_rounding(insn->rnd);

	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	FOR_EACH_LANE(lane, mask)
	{
		float x[3] = { 0, 0, 0 }, result;

		READ_SOURCES(float, IDENTITY)
		for (uint32_t i = 0; i < 3 && ftz; i++)
			x[i] = flush(x[i]);
		result = compute_f32(op, x[0], x[1], x[2], nan);
		if (ftz)
			result = flush(result);
		to[lane] = sat ? saturate_f32(result) : result;
	}
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
}

static void run_f64(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, enum float_op op)
{
	double *to = LANES_OF(double, warp, insn->o[0]);
	uint32_t n = n_sources(op);
	bool sat = has_flag(insn, F(SAT));
	int rounding = host_rounding(insn->rnd);

	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	FOR_EACH_LANE(lane, mask)
	{
		double x[3] = { 0, 0, 0 }, result;

		READ_SOURCES(double, IDENTITY)
		result = compute_f64(op, x[0], x[1], x[2], false);
		to[lane] = sat ? saturate_f64(result) : result;
	}
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
}

static uint16_t flush_half(uint16_t value, bool is_bf16)
{
	return (value & (is_bf16 ? 0x7f80 : 0x7c00)) == 0 ? value & 0x8000 : value;
}

/* Sums and products of narrow values, rounded once by the caller. */
static double compute_wide(enum float_op op, double a, double b, double c, bool nan)
{
	switch (op) {
	case OP_ADD:
		return add_to_odd(a, b);
	case OP_SUB:
		return add_to_odd(a, -b);
	case OP_FMA:
		return add_to_odd(a * b, c);
	default:
		return compute_f64(op, a, b, c, nan);
	}
}

static double least_or_greatest(const struct ptx_insn *insn, enum float_op op, double a, double b)
{
	bool negative = (signbit(a) != 0) != (signbit(b) != 0), nan = has_flag(insn, F(QNAN));
	double result;

	if (!has_flag(insn, F(ABS)))
		return op == OP_MIN ? lesser_f64(a, b, nan) : greater_f64(a, b, nan);
	result = op == OP_MIN ? lesser_f64(fabs(a), fabs(b), nan) : greater_f64(fabs(a), fabs(b), nan);
	return has_flag(insn, F(XORSIGN)) && !isnan(result) ? copysign(result, negative ? -1 : 1) : result;
}

static enum half_rounding half_rounding(const struct ptx_insn *insn)
{
	return insn->rnd == PTX_M_RZ ? HALF_ZERO : HALF_NEAREST;
}

static uint16_t compute_half(const struct ptx_insn *insn, enum float_op op, bool is_bf16, const uint16_t source[3])
{
	bool ftz = has_flag(insn, F(FTZ));
	double x[3], result;
	uint16_t narrow;

	/* Sign changes keep the bits of a NaN. */
	if (op == OP_ABS || op == OP_NEG) {
		narrow = op == OP_ABS ? source[0] & 0x7fff : source[0] ^ 0x8000;
		return ftz ? flush_half(narrow, is_bf16) : narrow;
	}
	for (uint32_t i = 0; i < 3; i++) {
		narrow = ftz ? flush_half(source[i], is_bf16) : source[i];
		x[i] = is_bf16 ? bf16_to_float(narrow) : f16_to_float(narrow);
	}
	if (op == OP_MIN || op == OP_MAX)
		result = least_or_greatest(insn, op, x[0], x[1]);
	else
		result = compute_wide(op, x[0], x[1], x[2], has_flag(insn, F(QNAN)));
	if (has_flag(insn, F(SAT)))
		result = saturate_f64(result);
	if (has_flag(insn, F(RELU)) && result <= 0)
		result = 0;
	narrow = is_bf16 ? double_to_bf16(result, half_rounding(insn)) : double_to_f16(result, half_rounding(insn));
	return ftz ? flush_half(narrow, is_bf16) : narrow;
}

static void run_half(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, enum float_op op, bool is_bf16)
{
	uint32_t n = n_sources(op);

	FOR_EACH_LANE(lane, mask)
	{
		uint16_t x[3] = { 0, 0, 0 };

		READ_SOURCES(uint16_t, IDENTITY)
		LANES_OF(uint16_t, warp, insn->o[0])[lane] = compute_half(insn, op, is_bf16, x);
	}
}

static void run_half2(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, enum float_op op, bool is_bf16)
{
	uint32_t n = n_sources(op);

	FOR_EACH_LANE(lane, mask)
	{
		uint32_t x[3] = { 0, 0, 0 };
		uint16_t low[3], high[3];

		READ_SOURCES(uint32_t, IDENTITY)
		for (uint32_t i = 0; i < 3; i++) {
			low[i] = (uint16_t)x[i];
			high[i] = (uint16_t)(x[i] >> 16);
		}
		LANES_OF(uint32_t, warp, insn->o[0])
		[lane] = compute_half(insn, op, is_bf16, low) | (uint32_t)compute_half(insn, op, is_bf16, high) << 16;
	}
}

/* Handlers of one opcode for every float type. */
#define FLOAT_HANDLERS(name, op)                                                                   \
	HANDLER(name##_f32)                                                                        \
	{                                                                                          \
		run_f32(warp, insn, mask, op);                                                     \
	}                                                                                          \
	HANDLER(name##_f64)                                                                        \
	{                                                                                          \
		run_f64(warp, insn, mask, op);                                                     \
	}                                                                                          \
	HANDLER(name##_f16)                                                                        \
	{                                                                                          \
		run_half(warp, insn, mask, op, false);                                             \
	}                                                                                          \
	HANDLER(name##_bf16)                                                                       \
	{                                                                                          \
		run_half(warp, insn, mask, op, true);                                              \
	}                                                                                          \
	HANDLER(name##_f16x2)                                                                      \
	{                                                                                          \
		run_half2(warp, insn, mask, op, false);                                            \
	}                                                                                          \
	HANDLER(name##_bf16x2)                                                                     \
	{                                                                                          \
		run_half2(warp, insn, mask, op, true);                                             \
	}                                                                                          \
	static ptx_handlers name##_handlers = {                                                    \
		[PTX_F32] = name##_f32,   [PTX_F64] = name##_f64,     [PTX_F16] = name##_f16,      \
		[PTX_BF16] = name##_bf16, [PTX_F16X2] = name##_f16x2, [PTX_BF16X2] = name##_bf16x2 \
	};

FLOAT_HANDLERS(add, OP_ADD)
FLOAT_HANDLERS(sub, OP_SUB)
FLOAT_HANDLERS(mul, OP_MUL)
FLOAT_HANDLERS(div, OP_DIV)
FLOAT_HANDLERS(fma, OP_FMA)
FLOAT_HANDLERS(abs, OP_ABS)
FLOAT_HANDLERS(neg, OP_NEG)
FLOAT_HANDLERS(min, OP_MIN)
FLOAT_HANDLERS(max, OP_MAX)
FLOAT_HANDLERS(rcp, OP_RCP)
FLOAT_HANDLERS(sqrt, OP_SQRT)
FLOAT_HANDLERS(rsqrt, OP_RSQRT)
FLOAT_HANDLERS(sin, OP_SIN)
FLOAT_HANDLERS(cos, OP_COS)
FLOAT_HANDLERS(lg2, OP_LG2)
FLOAT_HANDLERS(ex2, OP_EX2)
FLOAT_HANDLERS(tanh, OP_TANH)

/* Round to nearest, no .ftz, no .sat: loops the compiler vectorises. A NaN keeps the host's bits only where no
 * instruction can tell: the canonical form is put in place afterwards. */
#define PLAIN_BINARY(name, T, expression, canonical)                        \
	HANDLER(name)                                                       \
	{                                                                   \
		T *to = LANES_OF(T, warp, insn->o[0]);                      \
		const T *from_a = LANES_OF(const T, warp, insn->o[1]);      \
		const T *from_b = LANES_OF(const T, warp, insn->o[2]);      \
                                                                            \
		FOR_LANES(mask, {                                           \
			T a = from_a[lane];                                 \
			T b = from_b[lane];                                 \
			T result = (expression);                            \
                                                                            \
			to[lane] = result == result ? result : (canonical); \
		});                                                         \
	}

PLAIN_BINARY(add_plain_f32, float, a + b, bits_float(NAN_F32))
PLAIN_BINARY(sub_plain_f32, float, a - b, bits_float(NAN_F32))
PLAIN_BINARY(mul_plain_f32, float, a *b, bits_float(NAN_F32))
PLAIN_BINARY(add_plain_f64, double, a + b, bits_double(NAN_F64))
PLAIN_BINARY(sub_plain_f64, double, a - b, bits_double(NAN_F64))
PLAIN_BINARY(mul_plain_f64, double, a *b, bits_double(NAN_F64))

#define PLAIN_FMA(name)                                                             \
	HANDLER(name)                                                               \
	{                                                                           \
		float *to = LANES_OF(float, warp, insn->o[0]);                      \
		const float *from_a = LANES_OF(const float, warp, insn->o[1]);      \
		const float *from_b = LANES_OF(const float, warp, insn->o[2]);      \
		const float *from_c = LANES_OF(const float, warp, insn->o[3]);      \
                                                                                    \
		FOR_LANES(mask, {                                                   \
			float a = from_a[lane];                                     \
			float b = from_b[lane];                                     \
			float c = from_c[lane];                                     \
			float result = __builtin_fmaf(a, b, c);                     \
                                                                                    \
			to[lane] = result == result ? result : bits_float(NAN_F32); \
		});                                                                 \
	}

PLAIN_FMA(fma_plain_f32)

#ifdef __x86_64__
static bool host_has_fma(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

/* With the host's own instruction, which rounds as exactly as the library does. */
__attribute__((target("avx2,fma"))) PLAIN_FMA(fma_host_f32)
#else
static bool host_has_fma(void)
{
	return false;
}

PLAIN_FMA(fma_host_f32)
#endif

	/* min and max of two or three, with .abs and the sign of the product. */
	HANDLER(min_max_f32)
{
	enum float_op op = insn->op == PTX_OP_MIN ? OP_MIN : OP_MAX;
	bool ftz = has_flag(insn, F(FTZ));

	FOR_EACH_LANE(lane, mask)
	{
		float result = LANES_OF(const float, warp, insn->o[1])[lane];

		if (ftz)
			result = flush(result);
		for (uint32_t i = 2; i < 4 && insn->o[i].kind != PTX_OPERAND_NONE; i++) {
			float other = LANES_OF(const float, warp, insn->o[i])[lane];

			result = (float)least_or_greatest(insn, op, result, ftz ? flush(other) : other);
		}
		LANES_OF(float, warp, insn->o[0])[lane] = isnan(result) ? bits_float(NAN_F32) : result;
	}
}

/* Two f32 side by side. */
static void run_f32x2(struct sim_warp *warp, const struct ptx_insn *insn, uint32_t mask, enum float_op op)
{
	uint32_t n = n_sources(op);
	bool ftz = has_flag(insn, F(FTZ));
	int rounding = host_rounding(insn->rnd);

	fesetround(rounding);
	FOR_EACH_LANE(lane, mask)
	{
		for (uint32_t half = 0; half < 2; half++) {
			float x[3] = { 0, 0, 0 }, result;

			for (uint32_t i = 0; i < n; i++) {
				x[i] = LANES_OF(const float, warp, insn->o[1 + i])[2 * lane + half];
				x[i] = ftz ? flush(x[i]) : x[i];
			}
			result = compute_f32(op, x[0], x[1], x[2], false);
			LANES_OF(float, warp, insn->o[0])[2 * lane + half] = ftz ? flush(result) : result;
		}
	}
	fesetround(FE_TONEAREST);
}

#define F32X2_HANDLER(name, op)                  \
	HANDLER(name##_f32x2)                    \
	{                                        \
		run_f32x2(warp, insn, mask, op); \
	}
F32X2_HANDLER(add, OP_ADD)
F32X2_HANDLER(sub, OP_SUB)
F32X2_HANDLER(mul, OP_MUL)
F32X2_HANDLER(fma, OP_FMA)

static bool select_f32x2(struct ptx_insn *insn)
{
	switch (insn->op) {
	case PTX_OP_ADD:
		insn->run = add_f32x2;
		break;
	case PTX_OP_SUB:
		insn->run = sub_f32x2;
		break;
	case PTX_OP_MUL:
		insn->run = mul_f32x2;
		break;
	default:
		insn->run = fma_f32x2;
		break;
	}
	return !has_flag(insn, F(SAT) | F(RELU));
}

/* add, sub and fma whose factors, or whose first term, are narrow and whose result is f32. */
HANDLER(mixed_f32)
{
	bool is_fma = insn->op == PTX_OP_FMA, is_bf16 = insn->types[1] == PTX_BF16;
	const struct ptx_operand *last = &insn->o[is_fma ? 3 : 2];
	int rounding = host_rounding(insn->rnd);

	if (rounding != FE_TONEAREST)
		fesetround(rounding);
	FOR_EACH_LANE(lane, mask)
	{
		uint16_t narrow = LANES_OF(const uint16_t, warp, insn->o[1])[lane];
		uint16_t other = is_fma ? LANES_OF(const uint16_t, warp, insn->o[2])[lane] : 0;
		float a = is_bf16 ? bf16_to_float(narrow) : f16_to_float(narrow);
		float b = is_bf16 ? bf16_to_float(other) : f16_to_float(other);
		float c = LANES_OF(const float, warp, *last)[lane];
		float result = is_fma                   ? compute_f32(OP_FMA, a, b, c, false)
			       : insn->op == PTX_OP_SUB ? compute_f32(OP_SUB, a, c, 0, false)
							: compute_f32(OP_ADD, a, c, 0, false);

		LANES_OF(float, warp, insn->o[0])[lane] = has_flag(insn, F(SAT)) ? saturate_f32(result) : result;
	}
	if (rounding != FE_TONEAREST)
		fesetround(FE_TONEAREST);
}

static bool select_mixed(struct ptx_insn *insn)
{
	insn->run = mixed_f32;
	return insn->types[0] == PTX_F32 && (insn->types[1] == PTX_F16 || insn->types[1] == PTX_BF16) &&
	       !has_flag(insn, F(FTZ) | F(RELU));
}

static bool is_plain(const struct ptx_insn *insn)
{
	return (insn->rnd == PTX_M_NONE || insn->rnd == PTX_M_RN) && !has_flag(insn, F(FTZ) | F(SAT) | F(RELU));
}

static bool select_rounded(struct ptx_insn *insn, ptx_handlers handlers, ptx_exec_fn *plain_f32, ptx_exec_fn *plain_f64)
{
	bool is_wide = insn->types[0] == PTX_F32 || insn->types[0] == PTX_F64;

	if (insn->types[0] == PTX_F32X2)
		return select_f32x2(insn);
	/* Narrow types round to nearest only. */
	if (!is_wide && insn->rnd != PTX_M_NONE && insn->rnd != PTX_M_RN)
		return false;
	if (insn->types[0] == PTX_F64) {
		insn->cost = PTX_COST_FP64;
		if (has_flag(insn, F(FTZ)))
			return false;
	}
	if (!select_by_type(insn, handlers))
		return false;
	if (is_plain(insn) && insn->types[0] == PTX_F32 && plain_f32 != NULL)
		insn->run = plain_f32;
	if (is_plain(insn) && insn->types[0] == PTX_F64 && plain_f64 != NULL)
		insn->run = plain_f64;
	return true;
}

bool select_float_add(struct ptx_insn *insn)
{
	if (insn->n_types == 2)
		return select_mixed(insn);
	return select_rounded(insn, add_handlers, add_plain_f32, add_plain_f64);
}

bool select_float_sub(struct ptx_insn *insn)
{
	if (insn->n_types == 2)
		return select_mixed(insn);
	return select_rounded(insn, sub_handlers, sub_plain_f32, sub_plain_f64);
}

bool select_float_mul(struct ptx_insn *insn)
{
	insn->cost = PTX_COST_ALU;
	return select_rounded(insn, mul_handlers, mul_plain_f32, mul_plain_f64);
}

bool select_fma(struct ptx_insn *insn)
{
	if (insn->op == PTX_OP_FMA && insn->n_types == 2)
		return select_mixed(insn);
	insn->cost = PTX_COST_ALU;
	return select_rounded(insn, fma_handlers, host_has_fma() ? fma_host_f32 : fma_plain_f32, NULL);
}

bool select_float_div(struct ptx_insn *insn)
{
	return (insn->types[0] == PTX_F32 || insn->types[0] == PTX_F64) &&
	       select_rounded(insn, div_handlers, NULL, NULL);
}

bool select_float_abs(struct ptx_insn *insn)
{
	return select_by_type(insn, abs_handlers);
}

bool select_float_neg(struct ptx_insn *insn)
{
	return select_by_type(insn, neg_handlers);
}

static bool select_min_max(struct ptx_insn *insn, ptx_handlers handlers)
{
	bool is_f32 = insn->types[0] == PTX_F32, has_third = insn->o[3].kind != PTX_OPERAND_NONE;
	bool has_abs = has_flag(insn, F(ABS));

	if (has_flag(insn, F(RELU)) || (has_flag(insn, F(XORSIGN)) && (!has_abs || has_third)))
		return false;
	if (insn->types[0] == PTX_F64 && has_flag(insn, F(ABS) | F(QNAN) | F(FTZ)))
		return false;
	if (has_third && !is_f32)
		return false;
	if (!select_by_type(insn, handlers))
		return false;
	if (is_f32 && (has_third || has_abs))
		insn->run = min_max_f32;
	return true;
}

bool select_float_min(struct ptx_insn *insn)
{
	return select_min_max(insn, min_handlers);
}

bool select_float_max(struct ptx_insn *insn)
{
	return select_min_max(insn, max_handlers);
}

static bool select_wide(struct ptx_insn *insn, ptx_handlers handlers)
{
	return (insn->types[0] == PTX_F32 || insn->types[0] == PTX_F64) && select_rounded(insn, handlers, NULL, NULL);
}

bool select_rcp(struct ptx_insn *insn)
{
	return select_wide(insn, rcp_handlers) || (insn->types[0] == PTX_F64 && select_by_type(insn, rcp_handlers));
}

bool select_sqrt(struct ptx_insn *insn)
{
	return select_wide(insn, sqrt_handlers);
}

bool select_rsqrt(struct ptx_insn *insn)
{
	return (insn->types[0] == PTX_F32 || insn->types[0] == PTX_F64) && select_by_type(insn, rsqrt_handlers);
}

bool select_sin(struct ptx_insn *insn)
{
	return insn->types[0] == PTX_F32 && select_by_type(insn, sin_handlers);
}

bool select_cos(struct ptx_insn *insn)
{
	return insn->types[0] == PTX_F32 && select_by_type(insn, cos_handlers);
}

bool select_lg2(struct ptx_insn *insn)
{
	return insn->types[0] == PTX_F32 && select_by_type(insn, lg2_handlers);
}

bool select_ex2(struct ptx_insn *insn)
{
	return insn->types[0] != PTX_F64 && select_by_type(insn, ex2_handlers);
}

bool select_tanh(struct ptx_insn *insn)
{
	return insn->types[0] != PTX_F64 && select_by_type(insn, tanh_handlers);
}

/* --- copysign, testp -------------------------------------------------------------------------- */

/* d has the sign of a and the magnitude of b. */
BINARY(copysign_f32, uint32_t, uint32_t, (a & 0x80000000u) | (b & 0x7fffffffu))
BINARY(copysign_f64, uint64_t, uint64_t, (a & 1ULL << 63) | (b & ~(1ULL << 63)))

bool select_copysign(struct ptx_insn *insn)
{
	static ptx_handlers handlers = { [PTX_F32] = copysign_f32, [PTX_F64] = copysign_f64 };

	return select_by_type(insn, handlers);
}

static bool test_class(const struct ptx_insn *insn, int class)
{
	if (has_flag(insn, F(FINITE)))
		return class != FP_NAN && class != FP_INFINITE;
	if (has_flag(insn, F(INFINITE)))
		return class == FP_INFINITE;
	if (has_flag(insn, F(NUMBER)))
		return class != FP_NAN;
	if (has_flag(insn, F(NOTANUMBER)))
		return class == FP_NAN;
	if (has_flag(insn, F(NORMAL)))
		return class == FP_NORMAL;
	return class == FP_SUBNORMAL;
}

HANDLER(testp)
{
	uint32_t result = 0;

	FOR_EACH_LANE(lane, mask)
	{
		int class = insn->types[0] == PTX_F32 ? fpclassify(LANES_OF(const float, warp, insn->o[2])[lane])
						      : fpclassify(LANES_OF(const double, warp, insn->o[2])[lane]);

		if (test_class(insn, class))
			result |= 1u << lane;
	}
	write_predicate(warp, &insn->o[0], result, mask);
}

bool select_testp(struct ptx_insn *insn)
{
	insn->run = testp;
	return insn->flags != 0 && (insn->types[0] == PTX_F32 || insn->types[0] == PTX_F64);
}

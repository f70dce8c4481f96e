/* SPDX-License-Identifier: Apache-2.0
 *
 * test_lanes.c - what the lanes of a warp do together: vote, shfl, match, redux, elect, activemask, and the control
 * flow that takes them apart and together.
 *
 * Operands and masks are random. A lane outside of a mask does not take part; the reference follows the definitions of
 * the PTX reference, lane by lane.
 */
#include "conform.h"
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#define N_ROUNDS  24u
#define ALL       UINT32_MAX
#define UNTOUCHED 0x5eed5eedu

static uint64_t in[32][SCENARIO_WORDS], out[32][SCENARIO_WORDS];
static char body[65536 - 8192];

static uint32_t random_mask(uint32_t round)
{
	uint32_t mask = (uint32_t)conform_random();

	switch (round % 4) {
	case 0:
		return ALL;
	case 1:
		return 1u << (mask % 32);
	default:
		return mask == 0 ? 1 : mask;
	}
}

static void run(void)
{
	for (uint32_t lane = 0; lane < 32; lane++)
		for (uint32_t i = 0; i < SCENARIO_WORDS; i++)
			out[lane][i] = UNTOUCHED;
	scenario_run(&(struct scenario){ .body = body,
					 .threads = 32,
					 .in = in,
					 .in_bytes = sizeof(in),
					 .out = out,
					 .out_bytes = sizeof(out),
					 .out_start = out });
}

/* %r1 to %r4 from the lane's input words 0 to 3 (%d1, %d2 its whole words), %p1 the low bit of %r1; then only the lanes
 * of `mask` go on. */
static void begin(uint32_t mask)
{
	snprintf(body, sizeof(body),
		 "ld.global.v4.u32 {%%r1, %%r2, %%r3, %%r4}, [%%mine]; ld.global.v2.u64 {%%d1, %%d2}, [%%mine];\n"
		 "and.b32 %%r5, %%r1, 1; setp.ne.u32 %%p1, %%r5, 0;\n"
		 "mov.u32 %%r6, %%lanemask_eq; and.b32 %%r6, %%r6, 0x%x; setp.eq.u32 %%p0, %%r6, 0; @%%p0 bra DONE;\n",
		 mask);
}

static uint32_t first_of(uint32_t mask)
{
	return (uint32_t)__builtin_ctz(mask);
}

static uint32_t word(uint32_t lane, uint32_t index)
{
	return (uint32_t)(in[lane][index / 2] >> (index % 2 * 32));
}

static void expect(const char *what, uint32_t lane, uint32_t index, uint64_t wanted)
{
	if (out[lane][index] != wanted)
		fail_msg("%s: lane %u, word %u: %llx, not %llx; in\n%s", what, lane, index,
			 (unsigned long long)out[lane][index], (unsigned long long)wanted, body);
}

/* --- vote, activemask, elect ------------------------------------------------------------------ */

static void votes(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		uint32_t mask = random_mask(round), trues = 0;

		for (uint32_t lane = 0; lane < 32; lane++) {
			in[lane][0] = round % 3 == 0 ? 1 : round % 3 == 1 ? 0 : conform_random();
			trues |= (uint32_t)(in[lane][0] & 1) << lane;
		}
		begin(mask);
		for (uint32_t i = 0; i < 2; i++) {
			const char *not = i == 1 ? "!" : "";

			scenario_add(
				body, sizeof(body),
				"vote.sync.all.pred %%p2, %s%%p1, 0x%x; vote.sync.any.pred %%p3, %s%%p1, 0x%x;\n"
				"vote.sync.uni.pred %%p4, %s%%p1, 0x%x; vote.sync.ballot.b32 %%r7, %s%%p1, 0x%x;\n"
				"selp.u32 %%r8, 1, 0, %%p2; selp.u32 %%r9, 2, 0, %%p3; selp.u32 %%r10, 4, 0, %%p4;\n"
				"or.b32 %%r8, %%r8, %%r9; or.b32 %%r8, %%r8, %%r10;\n"
				"st.global.v2.u32 [%%my+%u], {%%r8, %%r7};\n",
				not, mask, not, mask, not, mask, not, mask, i * 8);
		}
		scenario_add(body, sizeof(body),
			     "activemask.b32 %%r7; mov.u32 %%r8, 0; st.global.v2.u32 [%%my+16], {%%r7, %%r8};\n"
			     "elect.sync %%r9|%%p5, 0x%x; selp.u32 %%r10, 1, 0, %%p5; st.global.v2.u32 [%%my+24], "
			     "{%%r9, %%r10};\n"
			     "DONE:",
			     mask);
		run();
		for (uint32_t lane = 0; lane < 32; lane++) {
			bool takes_part = mask >> lane & 1;

			for (uint32_t i = 0; i < 2; i++) {
				uint32_t ballot = (i == 1 ? ~trues : trues) & mask;
				uint32_t answers = (ballot == mask ? 1 : 0) | (ballot != 0 ? 2 : 0) |
						   (ballot == mask || ballot == 0 ? 4 : 0);

				expect("vote", lane, i, takes_part ? (uint64_t)ballot << 32 | answers : UNTOUCHED);
			}
			expect("activemask", lane, 2, takes_part ? mask : UNTOUCHED);
			if (takes_part) {
				uint32_t leader = (uint32_t)out[lane][3], elected = out[lane][3] >> 32 & 1;

				assert_true(leader < 32 && mask >> leader & 1);
				assert_int_equal(elected, leader == lane);
			}
		}
	}
}

/* --- shfl ------------------------------------------------------------------------------------- */

static void shuffles(void **state)
{
	static const char *const modes[] = { "up", "down", "bfly", "idx" };

	(void)state;
	for (uint32_t round = 0; round < 40; round++)
		for (uint32_t mode = 0; mode < 4; mode++) {
			uint32_t mask = random_mask(round);

			/* The distance, and the clamp and segments, of each lane or of all. */
			for (uint32_t lane = 0; lane < 32; lane++) {
				uint32_t width = 1u << (round % 6), b = (uint32_t)conform_random() % 40, c;

				c = round % 8 < 6 ? (32 - width) << 8 | (mode == 0 ? 0 : 31)
						  : (uint32_t)conform_random() & 0x1f1f;
				if (round % 2 == 0) {
					b = round * 7 % 33;
					c = round % 8 < 6 ? c : 0x1c1f;
				}
				in[lane][0] = conform_random();
				in[lane][1] = (uint64_t)c << 32 | b;
			}
			begin(mask);
			scenario_add(
				body, sizeof(body),
				"shfl.sync.%s.b32 %%r8|%%p2, %%r1, %%r3, %%r4, 0x%x; selp.u32 %%r9, 1, 0, %%p2;\n"
				"st.global.v2.u32 [%%my], {%%r8, %%r9};\n"
				"shfl.sync.%s.b32 %%r8, %%r2, %%r3, %%r4, 0x%x; st.global.u32 [%%my+8], %%r8;\nDONE:",
				modes[mode], mask, modes[mode], mask);
			run();
			for (uint32_t lane = 0; lane < 32; lane++) {
				uint32_t b = word(lane, 2) & 31, clamp = word(lane, 3) & 31,
					 segments = word(lane, 3) >> 8 & 31;
				uint32_t max_lane = (lane & segments) | (clamp & ~segments), min_lane = lane & segments;
				int32_t from;
				bool is_inside;

				switch (mode) {
				case 0:
					from = (int32_t)lane - (int32_t)b;
					is_inside = from >= (int32_t)max_lane;
					break;
				case 1:
					from = (int32_t)(lane + b);
					is_inside = from <= (int32_t)max_lane;
					break;
				case 2:
					from = (int32_t)(lane ^ b);
					is_inside = from <= (int32_t)max_lane;
					break;
				default:
					from = (int32_t)(min_lane | (b & ~segments));
					is_inside = from <= (int32_t)max_lane;
					break;
				}
				if (!(mask >> lane & 1)) {
					expect("shfl", lane, 0, UNTOUCHED);
					continue;
				}
				from = is_inside ? from : (int32_t)lane;
				/* From a lane that does not take part nothing certain comes. */
				if (!(mask >> from & 1)) {
					assert_int_equal(out[lane][0] >> 32, is_inside);
					continue;
				}
				expect(modes[mode], lane, 0, (uint64_t)is_inside << 32 | word((uint32_t)from, 0));
				assert_int_equal((uint32_t)out[lane][1], word((uint32_t)from, 1));
			}
		}
}

/* --- match, redux ----------------------------------------------------------------------------- */

static void matches(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		uint32_t mask = random_mask(round);

		for (uint32_t lane = 0; lane < 32; lane++) {
			in[lane][0] = conform_random() % (1 + round % 5);
			in[lane][0] |= in[lane][0] << 32;
			in[lane][1] = (conform_random() % (1 + round % 3)) << 40;
		}
		begin(mask);
		scenario_add(body, sizeof(body),
			     "match.any.sync.b32 %%r7, %%r1, 0x%x; match.all.sync.b32 %%r8|%%p2, %%r1, 0x%x; selp.u32 "
			     "%%r9, 1, 0, %%p2;\n"
			     "match.any.sync.b64 %%r10, %%d2, 0x%x; match.all.sync.b64 %%r11|%%p2, %%d2, 0x%x; "
			     "selp.u32 %%r12, 1, 0, %%p2;\n"
			     "st.global.v2.u32 [%%my], {%%r7, %%r8}; st.global.v2.u32 [%%my+8], {%%r9, %%r10};\n"
			     "st.global.v2.u32 [%%my+16], {%%r11, %%r12};\nDONE:",
			     mask, mask, mask, mask);
		run();
		for (uint32_t lane = 0; lane < 32; lane++) {
			uint32_t equal[2] = { 0, 0 }, all[2];

			if (!(mask >> lane & 1))
				continue;
			for (uint32_t other = 0; other < 32; other++)
				for (uint32_t i = 0; i < 2; i++)
					if (mask >> other & 1 && in[other][i] == in[lane][i])
						equal[i] |= 1u << other;
			for (uint32_t i = 0; i < 2; i++)
				all[i] = equal[i] == mask ? mask : 0;
			expect("match.b32", lane, 0, (uint64_t)all[0] << 32 | equal[0]);
			expect("match", lane, 1, (uint64_t)equal[1] << 32 | (all[0] != 0));
			expect("match.b64", lane, 2, (uint64_t)(all[1] != 0) << 32 | all[1]);
		}
	}
}

static uint32_t reduced(uint32_t operation, uint32_t a, uint32_t b)
{
	switch (operation) {
	case 0:
		return a + b;
	case 1:
		return a < b ? a : b;
	case 2:
		return a > b ? a : b;
	case 3:
		return (int32_t)a < (int32_t)b ? a : b;
	case 4:
		return (int32_t)a > (int32_t)b ? a : b;
	case 5:
		return a & b;
	case 6:
		return a | b;
	default:
		return a ^ b;
	}
}

static void reductions(void **state)
{
	static const char *const names[] = { "add.u32", "min.u32", "max.u32", "min.s32",
					     "max.s32", "and.b32", "or.b32",  "xor.b32" };

	(void)state;
	for (uint32_t round = 0; round < N_ROUNDS; round++) {
		uint32_t mask = random_mask(round), wanted[8];

		for (uint32_t lane = 0; lane < 32; lane++)
			in[lane][0] =
				round % 2 ? conform_random() : conform_random() | conform_random() | conform_random();
		for (uint32_t i = 0; i < 8; i++) {
			wanted[i] = word(first_of(mask), 0);
			for (uint32_t lane = first_of(mask) + 1; lane < 32; lane++)
				if (mask >> lane & 1)
					wanted[i] = reduced(i, wanted[i], word(lane, 0));
		}
		begin(mask);
		for (uint32_t i = 0; i < 8; i++)
			scenario_add(body, sizeof(body),
				     "redux.sync.%s %%r7, %%r1, 0x%x; st.global.u32 [%%my+%u], %%r7;\n", names[i], mask,
				     i * 4);
		scenario_add(body, sizeof(body), "DONE:");
		run();
		for (uint32_t lane = 0; lane < 32; lane++)
			for (uint32_t i = 0; i < 8 && mask >> lane & 1; i++)
				assert_int_equal((uint32_t)(out[lane][i / 2] >> (i % 2 * 32)), wanted[i]);
	}
}

/* --- control flow: random programs of nested choices, loops and calls, run by the host as well -----------------------
 */

#define MAX_DEPTH 5

/* What a lane has: %r20, changed along the way. Statements mix constants into it; each choice looks at its bits. */
static uint64_t program_state;

static uint32_t draw(uint32_t below)
{
	program_state = program_state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(program_state >> 33) % below;
}

static void mix(uint32_t *value, uint32_t constant)
{
	*value = (*value ^ constant) * 0x9e3779b1u + (*value >> 15);
}

/* One statement: to the text when `value` is NULL, else carried out. Both draw the same numbers in the same order, but
 * a branch that is not taken is walked through with `is_live` false. */
static void statement(uint32_t depth, uint32_t *label, uint32_t *value, bool is_live);

static void mix_statement(uint32_t *value, bool is_live)
{
	uint32_t constant = draw(1u << 31);

	if (value == NULL)
		scenario_add(
			body, sizeof(body),
			"xor.b32 %%r21, %%r20, 0x%x; mul.lo.u32 %%r21, %%r21, 0x9e3779b1; shr.u32 %%r22, %%r20, 15;\n"
			"add.u32 %%r20, %%r21, %%r22;\n",
			constant);
	else if (is_live)
		mix(value, constant);
}

static void choice(uint32_t depth, uint32_t *label, uint32_t *value, bool is_live)
{
	uint32_t bit = draw(31), own = (*label)++;
	bool taken = value != NULL && *value >> bit & 1;

	if (value == NULL)
		scenario_add(body, sizeof(body),
			     "shr.u32 %%r21, %%r20, %u; and.b32 %%r21, %%r21, 1; setp.eq.u32 %%p1, %%r21, 0; @%%p1 bra "
			     "ELSE%u;\n",
			     bit, own);
	statement(depth + 1, label, value, is_live && taken);
	if (value == NULL)
		scenario_add(body, sizeof(body), "bra END%u;\nELSE%u:\n", own, own);
	statement(depth + 1, label, value, is_live && !taken);
	if (value == NULL)
		scenario_add(body, sizeof(body), "END%u:\n", own);
}

/* As often as the lane's low bits say; the body is one mix. */
static void loop(uint32_t *label, uint32_t *value, bool is_live)
{
	uint32_t shift = draw(28), constant = draw(1u << 31), own = (*label)++;

	if (value == NULL) {
		scenario_add(
			body, sizeof(body),
			"shr.u32 %%r23, %%r20, %u; and.b32 %%r23, %%r23, 7;\nLOOP%u: setp.eq.u32 %%p1, %%r23, 0; @%%p1 "
			"bra OUT%u;\n"
			"xor.b32 %%r21, %%r20, 0x%x; mul.lo.u32 %%r21, %%r21, 0x9e3779b1; shr.u32 %%r22, %%r20, 15;\n"
			"add.u32 %%r20, %%r21, %%r22; sub.u32 %%r23, %%r23, 1; bra LOOP%u;\nOUT%u:\n",
			shift, own, own, constant, own, own);
		return;
	}
	if (is_live)
		for (uint32_t n = *value >> shift & 7; n > 0; n--)
			mix(value, constant);
}

/* To one of four places, by two bits. */
static void branch_table(uint32_t *label, uint32_t *value, bool is_live)
{
	uint32_t shift = draw(30), own = (*label)++, constants[4];

	for (uint32_t i = 0; i < 4; i++)
		constants[i] = draw(1u << 31);
	if (value == NULL) {
		scenario_add(body, sizeof(body),
			     "shr.u32 %%r21, %%r20, %u; and.b32 %%r21, %%r21, 3;\n"
			     "TABLE%u: .branchtargets T%uX0, T%uX1, T%uX2, T%uX3;\nbrx.idx %%r21, TABLE%u;\n",
			     shift, own, own, own, own, own, own);
		for (uint32_t i = 0; i < 4; i++)
			scenario_add(body, sizeof(body), "T%uX%u: xor.b32 %%r20, %%r20, 0x%x; bra END%u;\n", own, i,
				     constants[i], own);
		scenario_add(body, sizeof(body), "END%u:\n", own);
	} else if (is_live) {
		*value ^= constants[*value >> shift & 3];
	}
}

/* rec(n, x): x mixed with n, n - 1, ... 1, by recursion; direct or through a pointer. */
static void call(uint32_t *value, bool is_live)
{
	uint32_t n = draw(6), indirect = draw(2);

	if (value == NULL)
		scenario_add(body, sizeof(body),
			     "{ .param .b32 n; .param .b32 x; .param .b32 y; .reg .b64 %%to;\n"
			     "st.param.b32 [n], %u; st.param.b32 [x], %%r20; mov.u64 %%to, rec;\n"
			     "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _);\n"
			     "call (y), %s, (n, x)%s; ld.param.b32 %%r20, [y]; }\n",
			     n, indirect ? "%to" : "rec", indirect ? ", P" : "");
	for (; value != NULL && is_live && n > 0; n--)
		mix(value, n);
}

static const char rec_text[] =
	".func (.param .b32 y) rec(.param .b32 n, .param .b32 x);\n"
	".func (.param .b32 y) rec(.param .b32 n, .param .b32 x)\n{ .reg .b32 %n, %x, %a, %b; .reg .pred %p;\n"
	"ld.param.b32 %n, [n]; ld.param.b32 %x, [x]; setp.eq.u32 %p, %n, 0; @%p bra BASE;\n"
	"xor.b32 %a, %x, %n; mul.lo.u32 %a, %a, 0x9e3779b1; shr.u32 %b, %x, 15; add.u32 %x, %a, %b; sub.u32 %n, %n, "
	"1;\n"
	"{ .param .b32 n1; .param .b32 x1; .param .b32 y1; st.param.b32 [n1], %n; st.param.b32 [x1], %x;\n"
	"call (y1), rec, (n1, x1); ld.param.b32 %x, [y1]; }\nBASE: st.param.b32 [y], %x; ret; }\n";

static void statement(uint32_t depth, uint32_t *label, uint32_t *value, bool is_live)
{
	uint32_t n = 1 + draw(3);

	for (uint32_t i = 0; i < n; i++) {
		mix_statement(value, is_live);
		switch (depth == MAX_DEPTH ? 5 : draw(6)) {
		case 0:
		case 1:
			choice(depth, label, value, is_live);
			break;
		case 2:
			loop(label, value, is_live);
			break;
		case 3:
			branch_table(label, value, is_live);
			break;
		case 4:
			call(value, is_live);
			break;
		default:
			break;
		}
	}
}

static void lanes_go_their_own_ways(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 60; round++) {
		uint64_t start = conform_random();
		uint32_t label = 0, sum = 0;

		for (uint32_t lane = 0; lane < 32; lane++)
			in[lane][0] = conform_random();
		strcpy(body, "ld.global.u32 %r20, [%mine];\n");
		program_state = start;
		statement(0, &label, NULL, true);
		/* All lanes arrive: the sum of what each brings along. */
		scenario_add(body, sizeof(body),
			     "redux.sync.add.u32 %%r21, %%r20, -1; st.global.v2.u32 [%%my], {%%r20, %%r21};");
		scenario_run(&(struct scenario){ .functions = rec_text,
						 .body = body,
						 .threads = 32,
						 .in = in,
						 .in_bytes = sizeof(in),
						 .out = out,
						 .out_bytes = sizeof(out) });
		for (uint32_t pass = 0; pass < 2; pass++)
			for (uint32_t lane = 0; lane < 32; lane++) {
				uint32_t value = word(lane, 0);

				label = 0;
				program_state = start;
				statement(0, &label, &value, true);
				if (pass == 0)
					sum += value;
				else
					expect("control flow", lane, 0, (uint64_t)sum << 32 | value);
			}
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
		cmocka_unit_test(votes),
		cmocka_unit_test(shuffles),
		cmocka_unit_test(matches),
		cmocka_unit_test(reductions),
		cmocka_unit_test(lanes_go_their_own_ways),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}

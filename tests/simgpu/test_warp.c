/* SPDX-License-Identifier: Apache-2.0
 *
 * test_warp.c - the lanes of a warp: loops, exchanges, calls, memory of every space.
 */
#include "../support.h"

#include "rig.h"

#include <string.h>

/* --- lanes ------------------------------------------------------------------------------------ */

#define LANE_KERNEL(declarations, body)                                                                    \
	PTX_HEAD ".visible .entry k(.param .u64 out)\n{\n"                                                 \
		 ".reg .b64 %rd<8>; .reg .b32 %r<32>; .reg .b32 %result; .reg .pred %p<8>;\n" declarations \
		 "mov.u32 %r1, %tid.x; mov.u32 %result, 0;\n" body                                         \
		 "\nld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"      \
		 "st.global.u32 [%rd1], %result;\nret;\n}\n"

static void check_lanes(const char *ptx, uint32_t n, uint32_t (*expect)(uint32_t lane))
{
	uint32_t results[64];

	rig_once(ptx, 1, n, results, sizeof(results));
	for (uint32_t lane = 0; lane < n; lane++)
		if (results[lane] != expect(lane))
			fail_msg("lane %u: %x, not %x", lane, results[lane], expect(lane));
}

static uint32_t collatz(uint32_t lane)
{
	uint32_t value = lane + 1, steps = 0;

	for (; value != 1; steps++)
		value = value & 1 ? 3 * value + 1 : value / 2;
	return steps;
}

static void lanes_loop_for_as_long_as_each_needs(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "add.u32 %r2, %r1, 1;\n"
				    "LOOP: setp.eq.u32 %p1, %r2, 1; @%p1 bra DONE;\n"
				    "and.b32 %r3, %r2, 1; setp.ne.u32 %p2, %r3, 0; @%p2 bra ODD;\n"
				    "shr.u32 %r2, %r2, 1; bra.uni NEXT;\n"
				    "ODD: mad.lo.u32 %r2, %r2, 3, 1;\n"
				    "NEXT: add.u32 %result, %result, 1; bra LOOP;\n"
				    "DONE:\n"),
		    32, collatz);
}

static uint32_t all_lanes(uint32_t lane)
{
	(void)lane;
	return 0xffffffff;
}

/* Behind an if and an else the lanes are together again. */
static void lanes_reconverge(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "and.b32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 1; @%p1 bra B;\n"
				    "add.u32 %r3, %r1, 1; bra.uni JOIN;\n"
				    "B: sub.u32 %r3, %r1, 1;\n"
				    "JOIN: activemask.b32 %result;\n"),
		    32, all_lanes);
}

static uint32_t handover(uint32_t lane)
{
	return lane;
}

/* Lane n waits, in a loop before the write that releases it, for lane n - 1: each must get its turn. */
static void a_lane_may_wait_for_another_lane(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL(".shared .align 4 .u32 turn;\n",
				"mov.u32 %r2, turn; st.volatile.shared.u32 [%r2], 0; bar.warp.sync -1;\n"
				"LOOP: ld.volatile.shared.u32 %r3, [turn]; setp.ne.u32 %p1, %r3, %r1; @%p1 bra LOOP;\n"
				"mov.u32 %result, %r3; add.u32 %r3, %r3, 1; st.volatile.shared.u32 [turn], %r3;\n"),
		    32, handover);
}

static uint32_t bfly(uint32_t lane)
{
	return (lane ^ 5) * 10;
}

static uint32_t down_in_8(uint32_t lane)
{
	uint32_t inside = (lane & 7) + 3 <= 7;

	return (inside ? lane + 3 : lane) * 10 + inside;
}

static uint32_t up_in_16(uint32_t lane)
{
	uint32_t inside = (lane & 15) >= 2;

	return (inside ? lane - 2 : lane) * 10 + inside;
}

static uint32_t idx_in_4(uint32_t lane)
{
	return ((lane & ~3u) | 2) * 10;
}

static void shuffles_move_values(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "mul.lo.u32 %r2, %r1, 10; shfl.sync.bfly.b32 %result, %r2, 5, 31, -1;\n"), 32,
		    bfly);
	check_lanes(LANE_KERNEL("", "mul.lo.u32 %r2, %r1, 10; shfl.sync.down.b32 %r3|%p1, %r2, 3, 0x1807, -1;\n"
				    "selp.u32 %r4, 1, 0, %p1; add.u32 %result, %r3, %r4;\n"),
		    32, down_in_8);
	check_lanes(LANE_KERNEL("", "mul.lo.u32 %r2, %r1, 10; shfl.sync.up.b32 %r3|%p1, %r2, 2, 0x1000, -1;\n"
				    "selp.u32 %r4, 1, 0, %p1; add.u32 %result, %r3, %r4;\n"),
		    32, up_in_16);
	check_lanes(LANE_KERNEL("", "mul.lo.u32 %r2, %r1, 10; shfl.sync.idx.b32 %result, %r2, 6, 0x1c1f, -1;\n"), 32,
		    idx_in_4);
}

static uint32_t ballot_of_thirds(uint32_t lane)
{
	(void)lane;
	return 0x49249249;
}

static uint32_t lanes_of_my_kind(uint32_t lane)
{
	return 0x11111111u << (lane & 3);
}

static uint32_t sum_of_lanes(uint32_t lane)
{
	(void)lane;
	return 31 * 32 / 2;
}

static uint32_t least_signed(uint32_t lane)
{
	(void)lane;
	return 0 - 16u;
}

static uint32_t lowest_elected(uint32_t lane)
{
	return lane == 0 ? 100 : 0;
}

static void votes_see_every_lane(void **state)
{
	(void)state;
	check_lanes(
		LANE_KERNEL("",
			    "rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; vote.sync.ballot.b32 %result, %p1, -1;\n"),
		32, ballot_of_thirds);
	check_lanes(LANE_KERNEL("", "and.b32 %r2, %r1, 3; match.any.sync.b32 %result, %r2, -1;\n"), 32,
		    lanes_of_my_kind);
	check_lanes(LANE_KERNEL("", "redux.sync.add.u32 %result, %r1, -1;\n"), 32, sum_of_lanes);
	check_lanes(LANE_KERNEL("", "sub.s32 %r2, %r1, 16; redux.sync.min.s32 %result, %r2, -1;\n"), 32, least_signed);
	check_lanes(LANE_KERNEL("", "elect.sync %r2|%p1, -1; selp.u32 %r3, 100, 0, %p1; add.u32 %result, %r2, %r3;\n"),
		    32, lowest_elected);
}

static uint32_t other_half(uint32_t lane)
{
	return lane ^ 16;
}

/* The two halves call the same exchange from different places in the program. */
static void lanes_meet_from_different_places(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "setp.lt.u32 %p1, %r1, 16; @%p1 bra LOW;\n"
				    "shfl.sync.bfly.b32 %result, %r1, 16, 31, -1; bra.uni JOIN;\n"
				    "LOW: add.u32 %r2, %r1, 0; shfl.sync.bfly.b32 %result, %r2, 16, 31, -1;\n"
				    "JOIN:\n"),
		    32, other_half);
}

static uint32_t lower_half_mask(uint32_t lane)
{
	return lane < 16 ? 0xffff : 0;
}

/* Lanes that ended are not waited for. */
static void ended_lanes_are_not_missed(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "setp.ge.u32 %p1, %r1, 16; @%p1 ret;\n"
				    "setp.eq.u32 %p2, %r1, %r1; vote.sync.ballot.b32 %result, %p2, -1;\n"),
		    32, lower_half_mask);
}

static uint32_t lanes_20(uint32_t lane)
{
	(void)lane;
	return 0xfffff;
}

static void the_last_warp_of_a_block_may_be_short(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "activemask.b32 %result;\n"), 20, lanes_20);
}

/* --- calls ------------------------------------------------------------------------------------ */

static uint32_t factorial(uint32_t lane)
{
	uint32_t result = 1;

	for (uint32_t i = 2; i <= (lane & 7); i++)
		result *= i;
	return result;
}

static const char recursive[] =
	PTX_HEAD ".func (.param .b32 ret) fact(.param .b32 n)\n"
		 "{ .reg .b32 %r<6>; .reg .pred %p1; .local .align 4 .b8 depot[16]; .reg .b64 %SP;\n"
		 "ld.param.b32 %r1, [n]; mov.u64 %SP, depot; st.local.u32 [%SP+4], %r1;\n"
		 "setp.lt.u32 %p1, %r1, 2; mov.b32 %r2, 1; @%p1 bra DONE;\n"
		 "sub.u32 %r3, %r1, 1;\n"
		 "{ .param .b32 param0; st.param.b32 [param0+0], %r3; .param .b32 retval0;\n"
		 "call.uni (retval0), fact, (param0); ld.param.b32 %r4, [retval0+0]; }\n"
		 "ld.local.u32 %r5, [%SP+4]; mul.lo.u32 %r2, %r4, %r5;\n"
		 "DONE: st.param.b32 [ret+0], %r2; ret; }\n"
		 ".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<4>; mov.u32 %r1, %tid.x; and.b32 "
		 "%r2, %r1, 7;\n"
		 "{ .param .b32 param0; st.param.b32 [param0], %r2; .param .b32 retval0;\n"
		 "call (retval0), fact, (param0); ld.param.b32 %r3, [retval0]; }\n"
		 "ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], "
		 "%r3; ret; }\n";

static void functions_call_themselves(void **state)
{
	(void)state;
	check_lanes(recursive, 32, factorial);
}

static uint32_t by_kind(uint32_t lane)
{
	return lane & 1 ? lane * 2 : lane + 100;
}

static const char indirect[] = PTX_HEAD
	".func (.param .b32 r) f0(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.u32 %r2, %r1, 100; "
	"st.param.b32 [r], %r2; ret; }\n"
	".func (.param .b32 r) f1(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; shl.b32 %r2, %r1, 1; "
	"st.param.b32 [r], %r2; ret; }\n"
	".global .align 8 .u64 table[2] = {f0, f1};\n"
	".visible .entry k(.param .u64 out) { .reg .b32 %r<4>; .reg .b64 %rd<8>; mov.u32 %r1, %tid.x; and.b32 %r2, "
	"%r1, 1;\n"
	"mov.u64 %rd3, table; mul.wide.u32 %rd4, %r2, 8; add.s64 %rd3, %rd3, %rd4; ld.global.u64 %rd5, [%rd3];\n"
	"{ .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0;\n"
	"proto: .callprototype (.param .b32 _) _ (.param .b32 _); call (retval0), %rd5, (param0), proto; ld.param.b32 "
	"%r3, [retval0]; }\n"
	"ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r3; "
	"ret; }\n";

static void lanes_call_different_functions(void **state)
{
	(void)state;
	check_lanes(indirect, 32, by_kind);
}

static uint32_t by_case(uint32_t lane)
{
	return (lane & 3) == 0 ? 7 : (lane & 3) == 1 ? 70 : (lane & 3) == 2 ? 700 : 7000;
}

static void a_branch_table_sends_each_lane(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL("", "and.b32 %r2, %r1, 3;\n"
				    "T: .branchtargets A, B, C, D;\n"
				    "brx.idx %r2, T;\n"
				    "D: mov.u32 %result, 7000; bra JOIN;\n"
				    "B: mov.u32 %result, 70; bra JOIN;\n"
				    "A: mov.u32 %result, 7; bra JOIN;\n"
				    "C: mov.u32 %result, 700;\n"
				    "JOIN:\n"),
		    32, by_case);
}

/* --- memory ----------------------------------------------------------------------------------- */

static uint32_t vector_sum(uint32_t lane)
{
	return lane + (lane + 1) + (lane + 2) + (lane + 3) + 0xfe;
}

static void vectors_and_bytes_go_through_memory(void **state)
{
	(void)state;
	check_lanes(
		LANE_KERNEL(
			".local .align 16 .b8 box[32];\n",
			"add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2; add.u32 %r4, %r1, 3;\n"
			"st.local.v4.u32 [box], {%r1, %r2, %r3, %r4}; mov.u32 %r5, 0xfffffffe;\n"
			"st.local.u8 [box+17], %r5; mov.u64 %rd3, box; cvta.local.u64 %rd4, %rd3;\n"
			"ld.v2.u32 {%r6, %r7}, [%rd4]; ld.local.v2.u32 {%r8, %r9}, [%rd3+8]; ld.u8 %r10, [%rd4+17];\n"
			"add.u32 %result, %r6, %r7; add.u32 %result, %result, %r8; add.u32 %result, %result, %r9;\n"
			"add.u32 %result, %result, %r10;\n"),
		32, vector_sum);
}

static uint32_t own_elements(uint32_t lane)
{
	uint32_t byte = (uint32_t)(int32_t)(int8_t)(lane + 120), wide = 0x10001u * (lane + 1);

	return lane % 3 == 0 ? 7 : byte + (uint16_t)(lane * 3000) + (wide ^ lane) + 2 * wide;
}

/* Each lane has its own element of its own array, some stay out; local and generic addresses mean the same. */
static void lanes_index_their_own_arrays(void **state)
{
	(void)state;
	check_lanes(
		LANE_KERNEL(
			".local .align 8 .b8 bytes[64]; .local .align 8 .b8 halves[64]; .local .align 8 .b8 "
			"longs[512];\n"
			".reg .b16 %h<8>; .reg .b64 %x<16>;\n",
			"mov.u64 %x1, bytes; mov.u64 %x2, halves; mov.u64 %x3, longs; cvt.u64.u32 %x4, %r1;\n"
			"add.u64 %x1, %x1, %x4; mad.lo.u64 %x2, %x4, 2, %x2; mad.lo.u64 %x3, %x4, 8, %x3;\n"
			"cvta.local.u64 %x5, %x1; cvta.local.u64 %x6, %x2; cvta.local.u64 %x7, %x3;\n"
			"rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 0; mov.u32 %result, 7; @%p1 bra END;\n"
			"add.u32 %r3, %r1, 120; cvt.u16.u32 %h1, %r3; st.u8 [%x5], %h1; ld.local.s8 %h2, [%x1];\n"
			"cvt.s32.s16 %result, %h2;\n"
			"mul.lo.u32 %r4, %r1, 3000; cvt.u16.u32 %h3, %r4; st.local.u16 [%x2], %h3; ld.u16 %h4, [%x6];\n"
			"cvt.u32.u16 %r5, %h4; add.u32 %result, %result, %r5;\n"
			"mad.lo.u32 %r6, %r1, 0x10001, 0x10001; xor.b32 %r7, %r6, %r1; mov.b64 %x8, {%r7, %r6};\n"
			"st.u64 [%x7], %x8; ld.local.u32 %r8, [%x3]; ld.u32 %r9, [%x7+4]; ld.local.u64 %x9, [%x3];\n"
			"add.u32 %result, %result, %r8; add.u32 %result, %result, %r9; shr.u64 %x9, %x9, 32;\n"
			"cvt.u32.u64 %r10, %x9; add.u32 %result, %result, %r10;\n"
			"END:\n"),
		32, own_elements);
}

static uint32_t mixed_spaces(uint32_t lane)
{
	return lane % 2 == 0 ? lane + 1 : lane + 100;
}

/* One load whose lanes' generic addresses are in different spaces. */
static void lanes_load_from_different_spaces(void **state)
{
	(void)state;
	check_lanes(
		LANE_KERNEL(
			".shared .align 4 .b8 here[128]; .local .align 4 .u32 mine;\n",
			"mov.u64 %rd3, here; cvta.shared.u64 %rd3, %rd3; mul.wide.u32 %rd4, %r1, 4;\n"
			"add.u64 %rd3, %rd3, %rd4; mov.u64 %rd5, mine; cvta.local.u64 %rd5, %rd5;\n"
			"add.u32 %r2, %r1, 1; st.local.u32 [mine], %r2; add.u32 %r3, %r1, 100; st.u32 [%rd3], %r3;\n"
			"and.b32 %r4, %r1, 1; setp.eq.u32 %p1, %r4, 0; selp.b64 %rd6, %rd5, %rd3, %p1;\n"
			"ld.u32 %result, [%rd6];\n"),
		32, mixed_spaces);
}

static uint32_t spaces_seen(uint32_t lane)
{
	(void)lane;
	return 0x9;
}

/* A generic address knows its space, and only that one. */
static void generic_addresses_know_their_space(void **state)
{
	(void)state;
	check_lanes(LANE_KERNEL(".shared .align 4 .u32 here; .local .align 4 .u32 mine;\n",
				"mov.u64 %rd3, here; cvta.shared.u64 %rd4, %rd3; mov.u64 %rd5, mine; cvta.local.u64 "
				"%rd6, %rd5;\n"
				"isspacep.shared %p1, %rd4; isspacep.global %p2, %rd4; isspacep.shared %p3, %rd6;\n"
				"isspacep.local %p4, %rd6; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2;\n"
				"selp.u32 %r4, 4, 0, %p3; selp.u32 %r5, 8, 0, %p4; or.b32 %result, %r2, %r3;\n"
				"or.b32 %result, %result, %r4; or.b32 %result, %result, %r5;\n"),
		    32, spaces_seen);
}

/* Every form of initialiser that nvcc writes. */
static void globals_start_with_their_values(void **state)
{
	static const char ptx[] =
		PTX_HEAD ".global .align 1 .b8 text[3] = {104, 105, 0};\n"
			 ".global .align 1 .u8 packed[9] = {1, 0XFF(generic(text)), 0xFF00(generic(text)), "
			 "0xFF0000(generic(text)),\n"
			 "0xFF000000(generic(text)), 0xFF00000000(generic(text)), 0xFF0000000000(generic(text)),\n"
			 "0xFF000000000000(generic(text)), 0xFF00000000000000(generic(text))};\n"
			 ".global .align 8 .u64 table[3] = {generic(text)+1, text, 5};\n"
			 ".const .align 4 .f32 numbers[4] = {0f3FC00000, 2.5, -1};\n"
			 ".global .align 4 .b8 grid[2][3] = {{1}, {4, 5}};\n"
			 ".global .align 2 .s16 less = -2;\n"
			 ".visible .entry k() { ret; }\n";
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t text, address, bytes, table[3];
	uint8_t packed[9], grid[6];
	float numbers[4];
	int16_t less;

	(void)state;
	assert_true(sim_module_global(module, "text", &text, &bytes));
	assert_int_equal(bytes, 3);
	assert_true(sim_module_global(module, "packed", &address, &bytes));
	rig_get(device, packed, address, bytes);
	assert_int_equal(packed[0], 1);
	assert_memory_equal(&packed[1], &text, 8);
	assert_true(sim_module_global(module, "table", &address, &bytes));
	rig_get(device, table, address, bytes);
	assert_int_equal(table[0], text + 1);
	assert_int_equal(table[1], text);
	assert_int_equal(table[2], 5);
	assert_true(sim_module_global(module, "numbers", &address, &bytes));
	rig_get(device, numbers, address, bytes);
	assert_true(numbers[0] == 1.5f && numbers[1] == 2.5f && numbers[2] == -1.0f && numbers[3] == 0.0f);
	assert_true(sim_module_global(module, "grid", &address, &bytes));
	rig_get(device, grid, address, bytes);
	assert_memory_equal(grid, ((uint8_t[]){ 1, 0, 0, 4, 5, 0 }), 6);
	assert_true(sim_module_global(module, "less", &address, &bytes));
	rig_get(device, &less, address, bytes);
	assert_int_equal(less, -2);
	assert_false(sim_module_global(module, "missing", &address, &bytes));
	assert_false(sim_module_global(module, "k", &address, &bytes));
	sim_module_unload(module);
	sim_device_destroy(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lanes_loop_for_as_long_as_each_needs),
		cmocka_unit_test(lanes_reconverge),
		cmocka_unit_test(a_lane_may_wait_for_another_lane),
		cmocka_unit_test(shuffles_move_values),
		cmocka_unit_test(votes_see_every_lane),
		cmocka_unit_test(lanes_meet_from_different_places),
		cmocka_unit_test(ended_lanes_are_not_missed),
		cmocka_unit_test(the_last_warp_of_a_block_may_be_short),
		cmocka_unit_test(functions_call_themselves),
		cmocka_unit_test(lanes_call_different_functions),
		cmocka_unit_test(a_branch_table_sends_each_lane),
		cmocka_unit_test(vectors_and_bytes_go_through_memory),
		cmocka_unit_test(lanes_index_their_own_arrays),
		cmocka_unit_test(lanes_load_from_different_spaces),
		cmocka_unit_test(generic_addresses_know_their_space),
		cmocka_unit_test(globals_start_with_their_values),
	};

	return cmocka_run_group_tests_name("simgpu: warps", tests, NULL, NULL);
}

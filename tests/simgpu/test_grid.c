/* SPDX-License-Identifier: Apache-2.0
 *
 * test_grid.c - blocks, barriers, clocks, atomics between blocks, asynchronous copies, faults, memory.
 */
#include "../support.h"

#include "rig.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A kernel with the thread's number in the grid in %r1, in the block in %r2 and the buffer in %rd1. */
#define GRID_KERNEL(declarations, body)                                                                               \
	PTX_HEAD ".extern .shared .align 16 .b8 dyn[];\n"                                                             \
		 ".visible .entry k(.param .u64 out, .param .u64 p1, .param .u64 p2, .param .u64 p3)\n{\n"            \
		 ".reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .b32 %s<4>; .reg .pred %p<8>;\n" declarations             \
		 "ld.param.u64 %rd1, [out];\n"                                                                        \
		 "mov.u32 %r2, %tid.x; mov.u32 %s1, %ctaid.x; mov.u32 %s2, %ntid.x; mad.lo.u32 %r1, %s1, %s2, %r2;\n" \
		 "mul.wide.u32 %rd2, %r1, 8; add.u64 %rd2, %rd1, %rd2;\n" body "\nret;\n}\n"

/* --- barriers --------------------------------------------------------------------------------- */

static void a_barrier_orders_shared_memory(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		".shared .align 4 .b8 box[1024];\n",
		"shl.b32 %r3, %r2, 2; mov.u32 %r4, box; add.u32 %r3, %r3, %r4; st.shared.u32 [%r3], %r2;\n"
		"bar.sync 0;\n"
		"sub.u32 %r5, 255, %r2; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5];\n"
		"cvt.u64.u32 %rd3, %r6; st.global.u64 [%rd2], %rd3;\n");
	static uint64_t results[4 * 256];

	(void)state;
	rig_once(ptx, 4, 256, results, sizeof(results));
	for (uint32_t i = 0; i < 4 * 256; i++)
		assert_int_equal(results[i], 255 - i % 256);
}

static void a_barrier_counts_and_votes(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		"", "rem.u32 %r3, %r2, 3; setp.eq.u32 %p1, %r3, 0;\n"
		    "bar.red.popc.u32 %r4, 0, %p1; bar.red.and.pred %p2, 0, %p1; bar.red.or.pred %p3, 0, !%p1;\n"
		    "selp.u32 %r5, 1000, 0, %p2; selp.u32 %r6, 2000, 0, %p3; add.u32 %r4, %r4, %r5;\n"
		    "add.u32 %r4, %r4, %r6; cvt.u64.u32 %rd3, %r4; st.global.u64 [%rd2], %rd3;\n");
	static uint64_t results[100];

	(void)state;
	/* 100 threads: the last warp is short, and counts only the threads it has. */
	rig_once(ptx, 1, 100, results, sizeof(results));
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(results[i], 34 + 2000);
}

/* Warp 0 produces, warp 1 consumes, each waiting for the other at named barriers; warp 2 has left. */
static void named_barriers_hand_over(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		".shared .align 4 .u32 item;\n",
		"shr.u32 %r3, %r2, 5; setp.eq.u32 %p1, %r3, 2; @%p1 ret; setp.eq.u32 %p2, %r3, 0;\n"
		"mov.u32 %r5, 0; mov.u32 %r6, 0; @!%p2 bra CONSUME;\n"
		"P: add.u32 %r5, %r5, 1; st.shared.u32 [item], %r5; bar.arrive 1, 64; bar.sync 2, 64;\n"
		"setp.lt.u32 %p3, %r5, 10; @%p3 bra P; bra.uni DONE;\n"
		"CONSUME: bar.sync 1, 64; ld.shared.u32 %r7, [item]; mad.lo.u32 %r6, %r6, 3, %r7; bar.arrive 2, 64;\n"
		"add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 10; @%p3 bra CONSUME;\n"
		"cvt.u64.u32 %rd3, %r6; st.global.u64 [%rd2], %rd3;\n"
		"DONE:\n");
	static uint64_t results[96];
	uint32_t expected = 0;

	(void)state;
	for (uint32_t i = 1; i <= 10; i++)
		expected = expected * 3 + i;
	rig_once(ptx, 1, 96, results, sizeof(results));
	for (uint32_t i = 32; i < 64; i++)
		assert_int_equal(results[i], expected);
}

static void a_barrier_does_not_wait_for_warps_that_ended(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		"", "setp.ge.u32 %p1, %r2, 64; @%p1 ret; bar.sync 0; mov.u64 %rd3, 5; st.global.u64 [%rd2], %rd3;\n");
	static uint64_t results[128];

	(void)state;
	rig_once(ptx, 1, 128, results, sizeof(results));
	assert_int_equal(results[63], 5);
	assert_int_equal(results[64], 0);
}

/* --- atomics ---------------------------------------------------------------------------------- */

static void every_atomic_of_every_block_counts(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		"", "atom.global.add.u32 %r3, [%rd1], 1; red.global.add.u64 [%rd1+8], 3; atom.global.max.s32 %r4, "
		    "[%rd1+16], %r1;\n"
		    "atom.global.inc.u32 %r4, [%rd1+20], 6; red.global.add.f32 [%rd1+24], 0f3F000000;\n"
		    "red.global.add.f64 [%rd1+32], 0d3FD0000000000000; and.b32 %r5, %r1, 31; mov.u32 %r6, 1; shl.b32 "
		    "%r6, %r6, %r5;\n"
		    "red.global.or.b32 [%rd1+40], %r6; atom.global.cas.b32 %r7, [%rd1+44], 0, 17; "
		    "red.relaxed.gpu.global.min.s32 [%rd1+48], %r1;\n"
		    "atom.global.add.noftz.f16x2 %r8, [%rd1+52], 0x3c003800;\n"
		    /* the ticket each thread drew: all different */
		    "mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd1, %rd3; red.global.add.u32 [%rd3+64], 1;\n");
	struct {
		uint32_t count, pad;
		uint64_t threes;
		int32_t max;
		uint32_t wrapped;
		float halves, pad2;
		double quarters;
		uint32_t bits, first;
		int32_t min;
		uint32_t pairs, pad3[2];
		uint32_t tickets[1000];
	} results;

	(void)state;
	rig_once(ptx, 10, 100, &results, sizeof(results));
	assert_int_equal(results.count, 1000);
	assert_int_equal(results.threes, 3000);
	assert_int_equal(results.max, 999);
	assert_int_equal(results.wrapped, 1000 % 7);
	assert_true(results.halves == 500.0f);
	assert_true(results.quarters == 250.0);
	assert_int_equal(results.bits, 0xffffffff);
	assert_int_equal(results.first, 17);
	assert_int_equal(results.min, 0);
	assert_int_equal(results.pairs, 0x63d05fd0); /* 1000 and 500 */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(results.tickets[i], 1);
}

/* A spin lock taken by every thread: within a warp the holder must get its turn. */
static void a_lock_is_held_by_one_thread_at_a_time(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		"", "L: atom.acquire.gpu.global.cas.b32 %r3, [%rd1], 0, 1; setp.ne.u32 %p1, %r3, 0; @%p1 bra L;\n"
		    "ld.global.u32 %r4, [%rd1+4]; add.u32 %r4, %r4, 1; st.global.u32 [%rd1+4], %r4;\n"
		    "membar.gl; st.release.gpu.global.u32 [%rd1], 0;\n");
	uint32_t results[2];

	(void)state;
	rig_once(ptx, 6, 40, results, sizeof(results));
	assert_int_equal(results[1], 240);
}

/* --- mbarriers and copies --------------------------------------------------------------------- */

/* Warp 0 fills a ring of two stages, warp 1 drains it: 20 items through full and empty mbarriers with parities. */
static const char ring[] = GRID_KERNEL(
	".shared .align 8 .b8 full[16]; .shared .align 8 .b8 empty[16]; .shared .align 4 .b8 items[8];\n",
	"mov.u32 %r20, full; mov.u32 %r21, empty; mov.u32 %r22, items; setp.ne.u32 %p1, %r2, 0; @%p1 bra READY;\n"
	"mbarrier.init.shared::cta.b64 [%r20], 1; mbarrier.init.shared::cta.b64 [%r20+8], 1;\n"
	"mbarrier.init.shared.b64 [%r21], 32; mbarrier.init.shared.b64 [%r21+8], 32;\n"
	"READY: bar.sync 0; mov.u32 %r5, 0; mov.u32 %r9, 0; setp.ge.u32 %p2, %r2, 32; @%p2 bra CONSUMER;\n"
	"setp.ne.u32 %p1, %r2, 0; @%p1 ret;\n"
	"PRODUCE: and.b32 %r6, %r5, 1; shr.u32 %r7, %r5, 1; and.b32 %r7, %r7, 1; xor.b32 %r7, %r7, 1; shl.b32 %r8, "
	"%r6, 3;\n"
	"add.u32 %r10, %r21, %r8; add.u32 %r11, %r20, %r8;\n"
	"WE: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r10], %r7; @!%p3 bra WE;\n"
	"mul.lo.u32 %r12, %r5, %r5; shl.b32 %r13, %r6, 2; add.u32 %r13, %r13, %r22; st.shared.u32 [%r13], %r12; "
	"nanosleep.u32 100;\n"
	"mbarrier.arrive.shared::cta.b64 _, [%r11];\n"
	"add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 20; @%p4 bra PRODUCE; ret;\n"
	"CONSUMER: and.b32 %r6, %r5, 1; shr.u32 %r7, %r5, 1; and.b32 %r7, %r7, 1; shl.b32 %r8, %r6, 3;\n"
	"add.u32 %r10, %r21, %r8; add.u32 %r11, %r20, %r8;\n"
	"WF: mbarrier.try_wait.parity.shared.b64 %p3, [%r11], %r7; @%p3 bra FILLED; bra WF;\n"
	"FILLED: shl.b32 %r13, %r6, 2; add.u32 %r13, %r13, %r22; ld.shared.u32 %r12, [%r13]; add.u32 %r9, %r9, %r12;\n"
	"mbarrier.arrive.shared.b64 %rd5, [%r10];\n"
	"add.u32 %r5, %r5, 1; setp.lt.u32 %p4, %r5, 20; @%p4 bra CONSUMER;\n"
	"cvt.u64.u32 %rd3, %r9; st.global.u64 [%rd2], %rd3;\n");

static void mbarriers_pace_a_ring(void **state)
{
	static uint64_t results[64];

	(void)state;
	rig_once(ring, 1, 64, results, sizeof(results));
	for (int i = 32; i < 64; i++)
		assert_int_equal(results[i], 2470); /* the sum of squares below 20 */
}

/* A waiting warp sleeps instead of polling: the time it takes is the producer's, in few instructions. */
static void waiting_takes_the_producers_time(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ring);
	uint64_t buffer = rig_alloc(device, 512);
	struct sim_result result = rig_run(device, module, 1, 64, (uint64_t[4]){ buffer });

	(void)state;
	assert_in_range(result.end_ns, 1000 + 20 * 100, 1000 + 20 * 100 + 4000);
	sim_module_unload(module);
	sim_device_destroy(device);
}

static const char tokens[] =
	GRID_KERNEL(".shared .align 8 .b64 bar;\n",
		    "setp.ne.u32 %p1, %r2, 0; @%p1 bra READY; mbarrier.init.shared.b64 [bar], 64;\n"
		    "READY: bar.sync 0; mbarrier.arrive.shared.b64 %rd5, [bar]; mbarrier.pending_count.b64 %r5, %rd5;\n"
		    "W: mbarrier.test_wait.shared.b64 %p2, [bar], %rd5; @!%p2 bra W;\n"
		    "cvt.u64.u32 %rd3, %r5; st.global.u64 [%rd2], %rd3;\n");

static void a_token_names_its_phase(void **state)
{
	static uint64_t results[64];
	uint64_t seen = 0;

	(void)state;
	rig_once(tokens, 1, 64, results, sizeof(results));
	/* Each arrival saw another count of those that were missing. */
	for (int i = 0; i < 64; i++) {
		assert_in_range(results[i], 1, 64);
		seen |= 1ULL << (results[i] - 1);
	}
	assert_true(seen == UINT64_MAX);
}

/* A bulk copy announces its bytes, the waiters see them. */
static void a_bulk_copy_completes_its_mbarrier(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		".shared .align 16 .b8 box[256]; .shared .align 8 .b64 bar;\n",
		"ld.param.u64 %rd6, [p1]; mov.u32 %r20, box; mov.u32 %r21, bar; setp.ne.u32 %p1, %r2, 0; @%p1 bra "
		"READY;\n"
		"mbarrier.init.shared.b64 [%r21], 1; fence.proxy.async; mov.u64 %rd8, %clock64;\n"
		"mbarrier.arrive.expect_tx.shared::cta.b64 %rd7, [%r21], 256;\n"
		"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r20], [%rd6], 256, [%r21];\n"
		"READY: bar.sync 0;\n"
		"W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r21], 0; @!%p2 bra W;\n"
		"shl.b32 %r5, %r2, 3; add.u32 %r5, %r5, %r20; ld.shared.u64 %rd3, [%r5]; st.global.u64 [%rd2], "
		"%rd3;\n");
	uint64_t source[32], results[32];
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t from, to;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		source[i] = i * 0x0101010101010101ULL;
	from = rig_put(device, source, sizeof(source));
	to = rig_alloc(device, sizeof(results));
	rig_run(device, module, 1, 32, (uint64_t[4]){ to, from });
	rig_get(device, results, to, sizeof(results));
	assert_memory_equal(results, source, sizeof(source));
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* cp.async by group and by mbarrier, with zero fill. */
static void small_copies_complete_in_groups(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		".shared .align 16 .b8 box[512]; .shared .align 8 .b64 bar;\n",
		"ld.param.u64 %rd6, [p1]; mov.u32 %r20, box; mov.u32 %r21, bar; setp.ne.u32 %p1, %r2, 0; @%p1 bra "
		"READY;\n"
		"mbarrier.init.shared.b64 [%r21], 32;\n"
		"READY: bar.sync 0; shl.b32 %r5, %r2, 3; add.u32 %r6, %r5, %r20; cvt.u64.u32 %rd7, %r5; add.u64 %rd7, "
		"%rd6, %rd7;\n"
		"cp.async.ca.shared.global [%r6], [%rd7], 8; cp.async.commit_group;\n"
		"cp.async.ca.shared.global [%r6+256], [%rd7+0], 8, 4; cp.async.mbarrier.arrive.noinc.shared.b64 "
		"[%r21];\n"
		"cp.async.wait_group 0; ld.shared.u64 %rd3, [%r6];\n"
		"W: mbarrier.try_wait.parity.shared.b64 %p2, [%r21], 0; @!%p2 bra W; ld.shared.u64 %rd4, [%r6+256];\n"
		"add.u64 %rd3, %rd3, %rd4; st.global.u64 [%rd2], %rd3;\n");
	uint64_t source[32], results[32];
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t from, to;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		source[i] = i * 0x100000001ULL;
	from = rig_put(device, source, sizeof(source));
	to = rig_alloc(device, sizeof(results));
	rig_run(device, module, 1, 32, (uint64_t[4]){ to, from });
	rig_get(device, results, to, sizeof(results));
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(results[i], source[i] + i);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* --- clusters --------------------------------------------------------------------------------- */

static void blocks_of_a_cluster_see_each_other(void **state)
{
	static const char ptx[] = PTX_HEAD
		".visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 4, 1, 1\n{\n"
		".reg .b64 %rd<8>; .reg .b32 %r<16>; .shared .align 4 .u32 mine;\n"
		"mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, 10; st.shared.u32 [mine], "
		"%r3;\n"
		"barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
		"xor.b32 %r4, %r1, 3; mov.u32 %r5, mine; mapa.shared::cluster.u32 %r6, %r5, %r4;\n"
		"ld.shared::cluster.u32 %r7, [%r6];\n"
		"mov.u64 %rd3, mine; cvta.shared.u64 %rd4, %rd3; mapa.u64 %rd5, %rd4, %r4; ld.u32 %r8, [%rd5];\n"
		"getctarank.u64 %r9, %rd5; add.u32 %r7, %r7, %r8; mad.lo.u32 %r7, %r9, 1000, %r7;\n"
		"barrier.cluster.arrive; barrier.cluster.wait;\n"
		"ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], "
		"%r7; ret;\n}\n";
	uint32_t results[8];

	(void)state;
	rig_once(ptx, 8, 64, results, sizeof(results));
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(results[i], (i ^ 3) * 20 + (3 - i % 4) * 1000);
}

/*
 * The first lane of each block comes late, from behind the barrier in the text, with a value for the next block; the
 * second warp arrives and ends. The other lanes must wait for both, each time.
 */
static void lanes_wait_for_their_own_warp_at_a_cluster_barrier(void **state)
{
	static const char ptx[] =
		PTX_HEAD ".visible .entry k(.param .u64 out) .explicitcluster .reqnctapercluster 4, 1, 1\n{\n"
			 ".reg .b64 %rd<8>; .reg .b32 %r<16>; .reg .pred %p<4>; .shared .align 4 .u32 mine;\n"
			 "mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %tid.x; mov.u32 %r3, 0; mov.u32 %r4, 0;\n"
			 "setp.eq.u32 %p1, %r2, 0; setp.ge.u32 %p2, %r2, 32; @%p2 bra ENDS;\n"
			 "LOOP: @%p1 bra LATE;\n"
			 "MEET: barrier.cluster.arrive; barrier.cluster.wait;\n"
			 "ld.shared.u32 %r5, [mine]; add.u32 %r4, %r4, %r5;\n"
			 "barrier.cluster.arrive; barrier.cluster.wait;\n"
			 "add.u32 %r3, %r3, 1; setp.lt.u32 %p3, %r3, 3; @%p3 bra LOOP;\n"
			 "mov.u32 %r6, %ctaid.x; mad.lo.u32 %r6, %r6, 32, %r2; ld.param.u64 %rd1, [out]; "
			 "mul.wide.u32 %rd2, %r6, 4; add.u64 %rd1, %rd1, %rd2; st.global.u32 [%rd1], %r4; ret;\n"
			 "LATE: mul.lo.u32 %r7, %r1, 700; nanosleep.u32 %r7; add.u32 %r8, %r1, 1; and.b32 %r8, %r8, 3; "
			 "mov.u32 %r9, mine; mapa.shared::cluster.u32 %r9, %r9, %r8; mad.lo.u32 %r10, %r3, 10, %r1; "
			 "add.u32 %r10, %r10, 1; st.shared::cluster.u32 [%r9], %r10; bra MEET;\n"
			 "ENDS: barrier.cluster.arrive; ret;\n}\n";
	uint32_t results[8 * 32];

	(void)state;
	rig_once(ptx, 8, 64, results, sizeof(results));
	for (uint32_t i = 0; i < 8 * 32; i++)
		assert_int_equal(results[i], 30 + 3 * ((i / 32 + 3) % 4 + 1));
}

/* A barrier across a cooperative grid: the workspace is there, and only there. */
static void a_cooperative_grid_has_a_workspace(void **state)
{
	static const char ptx[] =
		GRID_KERNEL("", "mov.u32 %r3, %envreg1; mov.u32 %r4, %envreg2; mov.b64 %rd3, {%r4, %r3}; setp.eq.u64 "
				"%p1, %rd3, 0; @%p1 bra NONE;\n"
				"ld.u32 %r5, [%rd3]; atom.add.release.gpu.u32 %r6, [%rd3+4], 1; mov.u32 %s1, "
				"%nctaid.x; mul.lo.u32 %r8, %s1, %s2;\n"
				"W: ld.acquire.gpu.u32 %r7, [%rd3+4]; setp.lt.u32 %p2, %r7, %r8; @%p2 bra W;\n"
				"cvt.u64.u32 %rd4, %r7; st.global.u64 [%rd2], %rd4; ret;\n"
				"NONE: mov.u64 %rd4, 7; st.global.u64 [%rd2], %rd4;\n");
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t results[128], buffer = rig_alloc(device, sizeof(results));
	struct sim_launch launch = { .function = sim_module_function_at(module, 0),
				     .grid = { 4, 1, 1 },
				     .block = { 32, 1, 1 },
				     .params = (uint64_t[4]){ buffer },
				     .is_cooperative = true };
	struct sim_result result;

	(void)state;
	for (int run = 0; run < 2; run++) {
		sim_launch(device, &launch, &result);
		assert_int_equal(result.status, SIM_OK);
		rig_get(device, results, buffer, sizeof(results));
		for (int i = 0; i < 128; i++)
			assert_int_equal(results[i], run == 0 ? 128 : 7);
		launch.is_cooperative = false;
	}
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* --- clocks ----------------------------------------------------------------------------------- */

struct times {
	uint64_t clock64, globaltimer, smid, clock;
};

static const char clocks[] =
	GRID_KERNEL("", "setp.ne.u32 %p1, %r2, 0; @%p1 ret; mov.u32 %s1, %ctaid.x; mul.wide.u32 %rd3, %s1, 32; add.u64 "
			"%rd3, %rd1, %rd3;\n"
			"mov.u64 %rd4, %globaltimer; mov.u64 %rd5, %clock64; mov.u32 %r5, %clock; mov.u32 %r6, %smid;\n"
			"cvt.u64.u32 %rd6, %r5; cvt.u64.u32 %rd7, %r6;\n"
			"st.global.v2.u64 [%rd3], {%rd5, %rd4}; st.global.v2.u64 [%rd3+16], {%rd7, %rd6};\n");

#define CLOCK_BLOCKS 400

static uint64_t read_clocks(const struct sim_config *config, struct times times[CLOCK_BLOCKS])
{
	struct sim_device *device = rig_device(config);
	struct sim_module *module = rig_load(device, clocks);
	uint64_t buffer = rig_alloc(device, CLOCK_BLOCKS * sizeof(*times));
	struct sim_result result = rig_run(device, module, CLOCK_BLOCKS, 256, (uint64_t[4]){ buffer });

	rig_get(device, times, buffer, CLOCK_BLOCKS * sizeof(*times));
	sim_module_unload(module);
	sim_device_destroy(device);
	return result.end_ns;
}

static void a_run_repeats_to_the_cycle(void **state)
{
	static struct times first[CLOCK_BLOCKS], second[CLOCK_BLOCKS];
	uint64_t first_end = read_clocks(NULL, first), second_end = read_clocks(NULL, second);

	(void)state;
	assert_int_equal(first_end, second_end);
	assert_memory_equal(first, second, sizeof(first));
}

/* At 1 GHz a cycle is a nanosecond: on each SM %clock64 and %globaltimer differ by the SM's offset, to the tick. */
static void clocks_follow_true_time(void **state)
{
	static struct times times[CLOCK_BLOCKS];
	struct sim_config config;
	uint64_t offset[4] = { 0 };

	(void)state;
	rig_config(&config);
	read_clocks(NULL, times);
	for (uint32_t i = 0; i < CLOCK_BLOCKS; i++) {
		uint64_t since_base = times[i].globaltimer - config.timer_base_ns;
		uint64_t difference = times[i].clock64 - since_base;

		assert_in_range(times[i].smid, 0, 3);
		assert_int_equal(times[i].globaltimer % 32, 0);
		assert_in_range(since_base, 1000 - 32, 1000000);
		if (offset[times[i].smid] == 0)
			offset[times[i].smid] = difference;
		assert_in_range(difference - offset[times[i].smid] + 64, 0, 128);
		assert_in_range((uint32_t)times[i].clock - (uint32_t)times[i].clock64, 1, 16);
	}
	for (int i = 0; i < 4; i++)
		assert_true(offset[i] < 1ULL << 40 && offset[i] != offset[(i + 1) % 4]);
}

static void ticks_and_seeds_are_settings(void **state)
{
	static struct times times[CLOCK_BLOCKS], others[CLOCK_BLOCKS];
	struct sim_config config;

	(void)state;
	rig_config(&config);
	config.timer_tick_ns = 1024;
	config.seed = 2;
	read_clocks(&config, times);
	for (uint32_t i = 0; i < CLOCK_BLOCKS; i++)
		assert_int_equal(times[i].globaltimer % 1024, 0);
	config.seed = 3;
	read_clocks(&config, others);
	assert_true(times[0].clock64 != others[0].clock64);
}

/* With a spread each SM keeps a rate of its own: two points of time, seen on all SMs, give it. */
static void rates_spread_around_nominal(void **state)
{
	static const char sleeper[] = GRID_KERNEL(
		"",
		"mov.u32 %r5, 0; mov.u32 %r6, %smid; mul.wide.u32 %rd3, %r6, 32; add.u64 %rd3, %rd1, %rd3;\n"
		"mov.u64 %rd4, %clock64; mov.u64 %rd5, %globaltimer; L: nanosleep.u32 1000000; add.u32 %r5, %r5, 1;\n"
		"setp.lt.u32 %p1, %r5, 1000; @%p1 bra L;\n"
		"mov.u64 %rd6, %clock64; mov.u64 %rd7, %globaltimer; sub.u64 %rd6, %rd6, %rd4; sub.u64 %rd7, %rd7, "
		"%rd5;\n"
		"st.global.v2.u64 [%rd3], {%rd6, %rd7};\n");
	struct sim_config config;
	struct sim_device *device;
	struct sim_module *module;
	struct {
		uint64_t cycles, ns, pad[2];
	} spans[4];
	uint64_t buffer;
	bool differ = false;

	(void)state;
	rig_config(&config);
	config.clock_spread_ppm = 500;
	config.timer_tick_ns = 1;
	device = rig_device(&config);
	module = rig_load(device, sleeper);
	buffer = rig_alloc(device, sizeof(spans));
	rig_run(device, module, 4, 1, (uint64_t[4]){ buffer });
	rig_get(device, spans, buffer, sizeof(spans));
	for (int i = 0; i < 4; i++) {
		double rate = (double)spans[i].cycles / (double)spans[i].ns;

		assert_true(spans[i].ns >= 1000000000);
		assert_true(rate > 1 - 501e-6 && rate < 1 + 501e-6);
		differ = differ || spans[i].cycles != spans[0].cycles;
	}
	assert_true(differ);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* A launch that may start later is the same launch, later. */
static void time_starts_where_the_launch_says(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, clocks);
	uint64_t buffer = rig_alloc(device, CLOCK_BLOCKS * 32);
	struct sim_launch launch = { .function = sim_module_function_at(module, 0),
				     .grid = { 10, 1, 1 },
				     .block = { 32, 1, 1 },
				     .params = (uint64_t[4]){ buffer },
				     .start_ns = 5 };
	struct sim_result early, late;

	(void)state;
	sim_launch(device, &launch, &early);
	launch.start_ns = 3600ULL * 1000000000;
	sim_launch(device, &launch, &late);
	assert_int_equal(early.status, SIM_OK);
	assert_int_equal(late.end_ns - launch.start_ns, early.end_ns - 5);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* Four warps have a partition of the SM each; sixty-four slow each other down. */
static void warps_share_issue_slots(void **state)
{
	static const char ptx[] = GRID_KERNEL(
		"", "mov.u32 %r5, 0; L: add.u32 %r5, %r5, 1; xor.b32 %r6, %r5, %r1; setp.lt.u32 %p1, %r5, 2000;\n"
		    "@%p1 bra L; cvt.u64.u32 %rd3, %r6; st.global.u64 [%rd2], %rd3;\n");
	static const uint32_t threads[3] = { 32, 128, 1024 };
	uint64_t took_ns[3];
	struct sim_config config;
	struct sim_device *device;
	struct sim_module *module;
	uint64_t buffer;

	(void)state;
	rig_config(&config);
	config.n_sms = 1;
	device = rig_device(&config);
	module = rig_load(device, ptx);
	buffer = rig_alloc(device, 2 * 1024 * 8);
	for (int i = 0; i < 3; i++)
		took_ns[i] = rig_run(device, module, i == 2 ? 2 : 1, threads[i], (uint64_t[4]){ buffer }).end_ns - 1000;
	assert_in_range(took_ns[0], 2000 * 10, 2000 * 11);
	assert_in_range(took_ns[1], took_ns[0], took_ns[0] * 11 / 10);
	assert_in_range(took_ns[2], took_ns[0] * 5, took_ns[0] * 10);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* --- faults ----------------------------------------------------------------------------------- */

static void check_fault(const char *ptx, uint32_t threads, enum sim_status status, const char *words[4])
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t buffer = rig_alloc(device, 1000);
	struct sim_result result = rig_try(device, module, 2, threads, (uint64_t[4]){ buffer });

	assert_int_equal(result.status, status);
	for (int i = 0; i < 4 && words[i] != NULL; i++)
		if (strstr(result.message, words[i]) == NULL)
			fail_msg("'%s' is not in '%s'", words[i], result.message);
	/* The device is none the worse. */
	assert_int_equal(sim_mem_free(device, buffer), SIM_OK);
	sim_module_unload(module);
	sim_device_destroy(device);
}

static void faults_say_what_and_where(void **state)
{
	(void)state;
	check_fault(GRID_KERNEL("", "setp.ne.u32 %p1, %r1, 37; @%p1 ret; mov.u64 %rd3, 64; st.global.u32 [%rd3], 1;\n"),
		    32, SIM_ILLEGAL_ADDRESS,
		    (const char *[4]){ "0x40", "kernel k", "block (1,0,0)", "thread (5,0,0)" });
	/* One byte past an allocation of 1000. */
	check_fault(GRID_KERNEL("", "ld.global.u8 %r3, [%rd1+1000];\n"), 1, SIM_ILLEGAL_ADDRESS,
		    (const char *[4]){ "1 bytes", "global" });
	check_fault(GRID_KERNEL("", "ld.global.u64 %rd3, [%rd1+996];\n"), 1, SIM_MISALIGNED_ADDRESS,
		    (const char *[4]){ "misaligned" });
	check_fault(GRID_KERNEL("", "ld.u32 %r3, [%rd1+2];\n"), 1, SIM_MISALIGNED_ADDRESS,
		    (const char *[4]){ "misaligned" });
	check_fault(GRID_KERNEL(".shared .align 4 .u32 v;\n", "ld.shared.u32 %r3, [v+4];\n"), 1, SIM_ILLEGAL_ADDRESS,
		    (const char *[4]){ "shared" });
	check_fault(GRID_KERNEL(".local .align 4 .u32 v;\n", "mov.u64 %rd3, v; ld.local.u32 %r3, [%rd3+400];\n"), 1,
		    SIM_ILLEGAL_ADDRESS, (const char *[4]){ "local" });
	/* Of lanes with addresses of their own, the first one past the frame is at fault. */
	check_fault(GRID_KERNEL(".local .align 4 .b8 v[20];\n",
				"mov.u64 %rd3, v; mul.wide.u32 %rd2, %r2, 4; "
				"add.u64 %rd3, %rd3, %rd2; st.local.u32 [%rd3], %r2;\n"),
		    32, SIM_ILLEGAL_ADDRESS, (const char *[4]){ "local", "4 bytes", "thread (5,0,0)" });
	check_fault(GRID_KERNEL(".local .align 4 .b8 v[20];\n",
				"mov.u64 %rd3, v; cvta.local.u64 %rd3, %rd3; cvt.u64.u32 %rd2, %r2; "
				"add.u64 %rd3, %rd3, %rd2; ld.s8 %r3, [%rd3];\n"),
		    32, SIM_ILLEGAL_ADDRESS, (const char *[4]){ "generic", "1 bytes", "thread (20,0,0)" });
	check_fault(GRID_KERNEL(".local .align 8 .b8 v[256];\n",
				"mov.u64 %rd3, v; cvta.local.u64 %rd3, %rd3; shr.u32 %r3, %r2, 1; "
				"mad.wide.u32 %rd3, %r3, 4, %rd3; st.u64 [%rd3], %rd1;\n"),
		    32, SIM_MISALIGNED_ADDRESS, (const char *[4]){ "misaligned", "8 bytes", "thread (2,0,0)" });
	check_fault(GRID_KERNEL("", "setp.eq.u32 %p1, %r2, 3; @%p1 trap;\n"), 32, SIM_TRAP,
		    (const char *[4]){ "trap", "thread (3,0,0)" });
	check_fault(GRID_KERNEL("", "mov.u64 %rd3, 4096; call %rd3;\n"), 1, SIM_ILLEGAL_INSTRUCTION,
		    (const char *[4]){ "no function" });
	check_fault(GRID_KERNEL("", "bar.sync 0, 33;\n"), 32, SIM_ILLEGAL_INSTRUCTION,
		    (const char *[4]){ "barrier 0" });
}

static void endless_recursion_is_an_error(void **state)
{
	(void)state;
	check_fault(PTX_HEAD ".visible .entry k(.param .u64 out);\n"
			     ".func f() { .local .align 4 .b8 d[4096]; call f; ret; }\n"
			     ".visible .entry k(.param .u64 out) { call f; ret; }\n",
		    1, SIM_ILLEGAL_ADDRESS, (const char *[4]){ NULL });
}

static void use_after_free_is_an_error(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, GRID_KERNEL("", "st.global.u64 [%rd2], %rd2;\n"));
	uint64_t buffer = rig_alloc(device, 8);

	(void)state;
	assert_int_equal(rig_try(device, module, 1, 1, (uint64_t[4]){ buffer }).status, SIM_OK);
	assert_int_equal(sim_mem_free(device, buffer), SIM_OK);
	assert_int_equal(rig_try(device, module, 1, 1, (uint64_t[4]){ buffer }).status, SIM_ILLEGAL_ADDRESS);
	sim_module_unload(module);
	sim_device_destroy(device);
}

static void impossible_launches_are_refused(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, PTX_HEAD ".visible .entry k() .maxntid 128, 1, 1 { ret; }\n");
	struct sim_launch launch = { .function = sim_module_function_at(module, 0),
				     .grid = { 1, 1, 1 },
				     .block = { 128, 1, 1 } };
	struct sim_result result;

	(void)state;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_OK);
	launch.block[0] = 129;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_LAUNCH_OUT_OF_RESOURCES);
	launch.block[0] = 0;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_INVALID_VALUE);
	launch.block[0] = 32;
	launch.dynamic_shared_bytes = 300 << 10;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_LAUNCH_OUT_OF_RESOURCES);
	assert_non_null(strstr(result.message, "shared memory"));
	launch.dynamic_shared_bytes = 0;
	launch.cluster[0] = 2;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_INVALID_VALUE);
	launch.grid[0] = 34;
	launch.cluster[0] = 17;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_INVALID_VALUE);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* --- launches side by side -------------------------------------------------------------------- */

struct side_launch {
	struct sim_device *device;
	struct sim_module *module;
	uint64_t params[4];
	struct sim_result result;
};

static void *launch_thread(void *argument)
{
	struct side_launch *side = argument;

	side->result = rig_try(side->device, side->module, 1, 32, side->params);
	return NULL;
}

static void sleep_ms(long ms)
{
	const struct timespec duration = { .tv_nsec = ms * 1000000 };

	nanosleep(&duration, NULL);
}

/* One kernel spins until another, launched later, raises a flag. */
static void concurrent_launches_see_each_other(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *spin = rig_load(
		device,
		GRID_KERNEL("", "L: ld.acquire.sys.global.u32 %r5, [%rd1]; setp.eq.u32 %p1, %r5, 0; @%p1 bra L;\n"
				"st.global.u32 [%rd1+4], %r5;\n"));
	struct sim_module *raise = rig_load(device, GRID_KERNEL("", "st.release.sys.global.u32 [%rd1], 42;\n"));
	uint64_t buffer = rig_alloc(device, 8);
	struct side_launch side = { .device = device, .module = spin, .params = { buffer } };
	uint32_t words[2];
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, launch_thread, &side), 0);
	sleep_ms(5);
	rig_run(device, raise, 1, 1, (uint64_t[4]){ buffer });
	pthread_join(thread, NULL);
	assert_int_equal(side.result.status, SIM_OK);
	rig_get(device, words, buffer, sizeof(words));
	assert_int_equal(words[1], 42);
	sim_module_unload(spin);
	sim_module_unload(raise);
	sim_device_destroy(device);
}

/* Warps that wait for ever, in each way there is; the device must still be stoppable. */
static void a_hang_ends_when_the_device_stops(void **state)
{
	static const char *const hangs[] = {
		GRID_KERNEL("", "bar.sync 1, 64;\n"),
		GRID_KERNEL("", "L: bra L;\n"),
		GRID_KERNEL("", "L: nanosleep.u32 100; bra L;\n"),
		GRID_KERNEL(".shared .align 8 .b64 bar;\n",
			    "mbarrier.init.shared.b64 [bar], 64; L: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; "
			    "@!%p1 bra L;\n"),
		GRID_KERNEL("",
			    "setp.eq.u32 %p1, %r2, 0; @%p1 bra ALONE; bar.warp.sync -1; ret; ALONE: bar.sync 3, 64;\n"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(hangs) / sizeof(hangs[0]); i++) {
		struct sim_device *device = rig_device(NULL);
		struct side_launch side = { .device = device,
					    .module = rig_load(device, hangs[i]),
					    .params = { rig_alloc(device, 8) } };
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, launch_thread, &side), 0);
		sleep_ms(10);
		sim_device_stop(device);
		pthread_join(thread, NULL);
		assert_int_equal(side.result.status, SIM_STOPPED);
		sim_module_unload(side.module);
		sim_device_destroy(device);
	}
}

static double thread_cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Blocked for good means asleep. */
static void a_hang_at_a_barrier_burns_no_core(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct side_launch side = { .device = device,
				    .module = rig_load(device, GRID_KERNEL("", "bar.sync 1, 64;\n")),
				    .params = { rig_alloc(device, 8) } };
	double before;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, launch_thread, &side), 0);
	sleep_ms(20);
	before = thread_cpu_seconds();
	sleep_ms(200);
	assert_true(thread_cpu_seconds() - before < 0.05);
	sim_device_stop(device);
	pthread_join(thread, NULL);
	sim_module_unload(side.module);
	sim_device_destroy(device);
}

/* --- memory ----------------------------------------------------------------------------------- */

static void allocations_have_exact_bounds(void **state)
{
	struct sim_device *device = rig_device(NULL);
	uint64_t a, b, start, bytes, free_bytes, total_bytes, free_after;
	char text[16] = "0123456789abcde";

	(void)state;
	sim_mem_usage(device, &free_bytes, &total_bytes);
	assert_int_equal(total_bytes, 64 << 20);
	assert_int_equal(sim_mem_alloc(device, 0, 256, &a), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_alloc(device, 65 << 20, 256, &a), SIM_NO_MEMORY);
	assert_int_equal(sim_mem_alloc(device, 10, 512, &a), SIM_OK);
	assert_int_equal(sim_mem_alloc(device, 1 << 20, 256, &b), SIM_OK);
	assert_int_equal(a % 512, 0);
	assert_true(sim_mem_range(device, a + 9, &start, &bytes));
	assert_int_equal(start, a);
	assert_int_equal(bytes, 10);
	assert_false(sim_mem_range(device, a + 10, &start, &bytes));
	assert_int_equal(sim_mem_write(device, a, text, 10), SIM_OK);
	assert_int_equal(sim_mem_write(device, a, text, 11), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_copy(device, b + 3, a, 10), SIM_OK);
	memset(text, 0, sizeof(text));
	assert_int_equal(sim_mem_read(device, text, b + 3, 10), SIM_OK);
	assert_memory_equal(text, "0123456789", 10);
	assert_int_equal(sim_mem_set(device, b, 0x1234, 2, 3), SIM_OK);
	assert_int_equal(sim_mem_set(device, b + 1, 0x1234, 2, 3), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_set(device, a, 0, 4, 3), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_free(device, a + 1), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_free(device, a), SIM_OK);
	assert_int_equal(sim_mem_free(device, a), SIM_INVALID_VALUE);
	assert_int_equal(sim_mem_free(device, b), SIM_OK);
	sim_mem_usage(device, &free_after, &total_bytes);
	assert_int_equal(free_after, free_bytes);
	/* All of it can be had again in one piece, but for the guards. */
	assert_int_equal(sim_mem_alloc(device, (64 << 20) - 1024, 256, &a), SIM_OK);
	sim_device_destroy(device);
}

static void registered_host_memory_is_one_address(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module =
		rig_load(device, GRID_KERNEL("", "cvt.u64.u32 %rd3, %r1; st.global.u64 [%rd2], %rd3;\n"));
	uint64_t words[64] = { 0 };
	uint64_t address = (uint64_t)(uintptr_t)words;

	(void)state;
	assert_int_equal(rig_try(device, module, 1, 64, (uint64_t[4]){ address }).status, SIM_ILLEGAL_ADDRESS);
	assert_int_equal(sim_host_register(device, words, sizeof(words)), SIM_OK);
	assert_int_equal(sim_host_register(device, &words[3], 8), SIM_INVALID_VALUE);
	rig_run(device, module, 1, 64, (uint64_t[4]){ address });
	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(words[i], i);
	assert_int_equal(sim_host_unregister(device, &words[1]), SIM_INVALID_VALUE);
	assert_int_equal(sim_host_unregister(device, words), SIM_OK);
	assert_int_equal(rig_try(device, module, 1, 64, (uint64_t[4]){ address }).status, SIM_ILLEGAL_ADDRESS);
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* --- occupancy, shared memory ----------------------------------------------------------------- */

static void resources_limit_what_is_resident(void **state)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(
		device, PTX_HEAD
		".visible .entry k() { .shared .align 4 .b8 a[10000]; .reg .b32 %r1; ld.shared.u32 %r1, [a]; ret; }\n");
	struct sim_function *function = sim_module_function(module, "k");
	struct sim_function_info info;

	(void)state;
	sim_function_info(function, &info);
	assert_int_equal(info.static_shared_bytes, 10000);
	assert_int_equal(sim_function_occupancy(function, 32, 0), 21);  /* 233472 / (10000 + 1024) */
	assert_int_equal(sim_function_occupancy(function, 1024, 0), 2); /* 64 warps */
	assert_int_equal(sim_function_occupancy(function, 32, 220 << 10), 0);
	assert_int_equal(sim_function_occupancy(function, 1025, 0), 0);
	assert_null(sim_module_function(module, "missing"));
	sim_module_unload(module);
	sim_device_destroy(device);
}

/* Dynamic shared memory starts behind the static part, at its alignment. */
static void dynamic_shared_memory_follows_static(void **state)
{
	static const char ptx[] =
		GRID_KERNEL(".shared .align 4 .b8 fixed[20];\n",
			    "mov.u32 %r3, dyn; st.shared.u32 [fixed], %r3; st.shared.u32 [dyn+1020], %r3;\n"
			    "mov.u32 %r4, %dynamic_smem_size; shl.b32 %r4, %r4, 16; or.b32 %r4, %r4, %r3;\n"
			    "cvt.u64.u32 %rd3, %r4; st.global.u64 [%rd2], %rd3;\n");
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t buffer = rig_alloc(device, 8), value;
	struct sim_launch launch = { .function = sim_module_function_at(module, 0),
				     .grid = { 1, 1, 1 },
				     .block = { 1, 1, 1 },
				     .dynamic_shared_bytes = 1024,
				     .params = (uint64_t[4]){ buffer } };
	struct sim_result result;

	(void)state;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_OK);
	rig_get(device, &value, buffer, 8);
	assert_int_equal(value, 1024 << 16 | 32);
	launch.dynamic_shared_bytes = 1000;
	sim_launch(device, &launch, &result);
	assert_int_equal(result.status, SIM_ILLEGAL_ADDRESS);
	sim_module_unload(module);
	sim_device_destroy(device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_barrier_orders_shared_memory),
		cmocka_unit_test(a_barrier_counts_and_votes),
		cmocka_unit_test(named_barriers_hand_over),
		cmocka_unit_test(a_barrier_does_not_wait_for_warps_that_ended),
		cmocka_unit_test(every_atomic_of_every_block_counts),
		cmocka_unit_test(a_lock_is_held_by_one_thread_at_a_time),
		cmocka_unit_test(mbarriers_pace_a_ring),
		cmocka_unit_test(waiting_takes_the_producers_time),
		cmocka_unit_test(a_token_names_its_phase),
		cmocka_unit_test(a_bulk_copy_completes_its_mbarrier),
		cmocka_unit_test(small_copies_complete_in_groups),
		cmocka_unit_test(blocks_of_a_cluster_see_each_other),
		cmocka_unit_test(lanes_wait_for_their_own_warp_at_a_cluster_barrier),
		cmocka_unit_test(a_cooperative_grid_has_a_workspace),
		cmocka_unit_test(a_run_repeats_to_the_cycle),
		cmocka_unit_test(clocks_follow_true_time),
		cmocka_unit_test(ticks_and_seeds_are_settings),
		cmocka_unit_test(rates_spread_around_nominal),
		cmocka_unit_test(time_starts_where_the_launch_says),
		cmocka_unit_test(warps_share_issue_slots),
		cmocka_unit_test(faults_say_what_and_where),
		cmocka_unit_test(endless_recursion_is_an_error),
		cmocka_unit_test(use_after_free_is_an_error),
		cmocka_unit_test(impossible_launches_are_refused),
		cmocka_unit_test(concurrent_launches_see_each_other),
		cmocka_unit_test(a_hang_ends_when_the_device_stops),
		cmocka_unit_test(a_hang_at_a_barrier_burns_no_core),
		cmocka_unit_test(allocations_have_exact_bounds),
		cmocka_unit_test(registered_host_memory_is_one_address),
		cmocka_unit_test(resources_limit_what_is_resident),
		cmocka_unit_test(dynamic_shared_memory_follows_static),
	};

	return cmocka_run_group_tests_name("simgpu: grids", tests, NULL, NULL);
}

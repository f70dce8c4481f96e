/* SPDX-License-Identifier: Apache-2.0
 *
 * test_block.c - what the warps of a block and the blocks of a cluster do together: barriers in all forms, mbarriers,
 * asynchronous copies, distributed shared memory; and the special registers that say who is who.
 */
#include "conform.h"
#include "scenario.h"

#include <stdio.h>
#include <string.h>

#define MAX_LANES 1024u

static uint64_t in[MAX_LANES][SCENARIO_WORDS], out[MAX_LANES][SCENARIO_WORDS];
static char body[32768];

static void randomise(uint32_t n)
{
	for (uint32_t lane = 0; lane < n; lane++)
		for (uint32_t i = 0; i < SCENARIO_WORDS; i++)
			in[lane][i] = conform_random();
}

static void run(uint32_t blocks, uint32_t threads, uint32_t cluster, uint32_t shared_bytes)
{
	uint32_t n = blocks * threads;

	scenario_run(&(struct scenario){ .body = body,
					 .blocks = blocks,
					 .threads = threads,
					 .cluster = cluster,
					 .shared_bytes = shared_bytes,
					 .in = in,
					 .in_bytes = n * sizeof(in[0]),
					 .out = out,
					 .out_bytes = n * sizeof(out[0]) });
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

/* --- barriers of a block ---------------------------------------------------------------------- */

/* '#' is the barrier's number, '@' the count with its comma: as numbers or in registers %r10 and %r11. */
static const char *const sync_forms[] = {
	"bar.sync #@;",
	"barrier.sync #@;",
	"barrier.sync.aligned #@;",
	"bar.cta.sync #@;",
	"barrier.cta.sync.aligned #@;",
};

static void add_form(const char *form, uint32_t number, uint32_t count, bool in_registers)
{
	for (; *form != '\0'; form++) {
		if (*form == '#')
			scenario_add(body, sizeof(body), in_registers ? "%%r10" : "%u", number);
		else if (*form == '@' && count != 0)
			scenario_add(body, sizeof(body), in_registers ? ", %%r11" : ", %u", count);
		else if (*form != '@')
			scenario_add(body, sizeof(body), "%c", *form);
	}
	scenario_add(body, sizeof(body), "\n");
}

/* Each thread leaves a word in shared memory, and after the barrier takes that of a thread of another warp; before that
 * it works for a while, which differs from warp to warp. */
static void barriers_order_shared_memory(void **state)
{
	static const uint32_t threads = 256;

	(void)state;
	for (size_t form = 0; form < sizeof(sync_forms) / sizeof(sync_forms[0]); form++)
		for (uint32_t number = 0; number < 16; number += 5)
			for (uint32_t way = 0; way < 3; way++) {
				randomise(threads);
				snprintf(body, sizeof(body),
					 "mov.u32 %%r10, %u; mov.u32 %%r11, %u; shr.u32 %%r12, %%ti, 5; mul.lo.u32 "
					 "%%r12, %%r12, 37;\n"
					 "and.b32 %%r12, %%r12, 63; W: sub.s32 %%r12, %%r12, 1; setp.gt.s32 %%p1, "
					 "%%r12, 0; @%%p1 bra W;\n"
					 "ld.global.b64 %%d1, [%%mine]; shl.b32 %%r1, %%ti, 3; add.u32 %%r1, %%smem, "
					 "%%r1;\n"
					 "st.shared.b64 [%%r1], %%d1;\n",
					 number, threads);
				add_form(sync_forms[form], number, way == 0 ? 0 : threads, way == 2);
				scenario_add(
					body, sizeof(body),
					"xor.b32 %%r2, %%ti, 0xe5; shl.b32 %%r2, %%r2, 3; add.u32 %%r2, %%smem, %%r2;\n"
					"ld.shared.b64 %%d2, [%%r2]; st.global.b64 [%%my], %%d2;\n");
				run(2, threads, 1, threads * 8);
				for (uint32_t lane = 0; lane < threads; lane++)
					expect("barrier", lane, 0, in[lane ^ 0xe5][0]);
			}
}

static const struct {
	const char *operation, *type;
} reductions[] = { { "popc", "u32" }, { "and", "pred" }, { "or", "pred" } };

static void barriers_reduce(void **state)
{
	static const char *const families[] = { "bar", "barrier.cta" };

	(void)state;
	for (uint32_t round = 0; round < 36; round++) {
		uint32_t form = round % 3, threads = 32 * (1 + round % 7), count = round / 3 % 2 == 0 ? 0 : threads,
			 n_true = 0;
		bool negate = round / 6 % 2, wanted;

		for (uint32_t lane = 0; lane < threads; lane++) {
			in[lane][0] = round % 4 == 0 ? 1 : round % 4 == 1 ? 0 : conform_random() & 1;
			n_true += (in[lane][0] != 0) != negate;
		}
		snprintf(body, sizeof(body),
			 "mov.u32 %%r10, %u; mov.u32 %%r11, %u; ld.global.u32 %%r1, [%%mine]; setp.ne.u32 %%p1, %%r1, "
			 "0;\n"
			 "%s.red.%s%s.%s %s, ",
			 round % 16, count, families[round / 12 % 2], reductions[form].operation,
			 round / 12 % 2 && round % 2 ? ".aligned" : "", reductions[form].type,
			 form == 0 ? "%r2" : "%p2");
		add_form(round % 2 ? "#@, " : "#@, ", round % 16, count, round % 2);
		scenario_add(body, sizeof(body), "%s%%p1;\n%s st.global.u32 [%%my], %%r2;", negate ? "!" : "",
			     form == 0 ? "" : "selp.u32 %r2, 1, 0, %p2;");
		run(1, threads, 1, 0);
		wanted = form == 1 ? n_true == threads : n_true > 0;
		for (uint32_t lane = 0; lane < threads; lane++)
			expect("reduction", lane, 0, form == 0 ? n_true : wanted);
	}
}

/* Producers arrive and go on, consumers wait: two barriers for each of two buffers, numbers in registers. */
static void producers_and_consumers(void **state)
{
	(void)state;
	randomise(128);
	strcpy(body,
	       "setp.ge.u32 %p1, %ti, 64; and.b32 %r1, %ti, 63; shl.b32 %r1, %r1, 2; add.u32 %r1, %smem, %r1;\n"
	       "mov.u32 %r20, 0; mov.u32 %r21, 0;\n"
	       "NEXT: and.b32 %r2, %r20, 1; add.u32 %r3, %r2, 1; add.u32 %r4, %r2, 3; shl.b32 %r5, %r2, 8;\n"
	       "add.u32 %r5, %r1, %r5; mul.wide.u32 %d1, %r20, 4; add.u64 %d1, %mine, %d1; @%p1 bra CONSUMER;\n"
	       "setp.lt.u32 %p2, %r20, 2; @%p2 bra FREE; bar.sync %r4, 128; FREE: ld.global.u32 %r6, [%d1];\n"
	       "st.shared.u32 [%r5], %r6; bar.arrive %r3, 128; bra STEP;\n"
	       "CONSUMER: barrier.sync %r3, 128; ld.shared.u32 %r6, [%r5]; mad.lo.u32 %r21, %r21, 31, %r6;\n"
	       "setp.ge.u32 %p2, %r20, 8; @%p2 bra STEP; barrier.arrive %r4, 128;\n"
	       "STEP: add.u32 %r20, %r20, 1; setp.lt.u32 %p3, %r20, 10; @%p3 bra NEXT; st.global.u32 [%my], %r21;");
	run(1, 128, 1, 512);
	for (uint32_t lane = 64; lane < 128; lane++) {
		uint32_t wanted = 0;

		for (uint32_t i = 0; i < 10; i++)
			wanted = wanted * 31 + word(lane - 64, i);
		expect("consumer", lane, 0, wanted);
	}
}

static void check_fault(const char *text, uint32_t threads, const char *words)
{
	struct scenario scenario = {
		.body = text, .threads = threads, .shared_bytes = 256, .out = out, .out_bytes = sizeof(out)
	};
	struct sim_result result = scenario_try(&scenario);

	if (result.status != SIM_ILLEGAL_INSTRUCTION || strstr(result.message, words) == NULL)
		fail_msg("%s\nstatus %d: '%s', not '%s'", text, result.status, result.message, words);
}

static void misuse_of_barriers_is_said(void **state)
{
	(void)state;
	check_fault("setp.lt.u32 %p1, %ti, 32; @%p1 bra A; bar.sync 1, 96; ret; A: bar.sync 1, 64;", 96,
		    "where others wait for");
	check_fault("setp.lt.u32 %p1, %ti, 32; @%p1 bra A; bar.sync 1; ret; A: bar.arrive 1, 64;", 96,
		    "for 96 threads");
	check_fault("setp.lt.u32 %p1, %ti, 32; @%p1 bra A; bar.sync 1; ret; A: bar.red.popc.u32 %r1, 1, %p1;", 64,
		    "a reduction, where others have another one or none");
	check_fault("setp.lt.u32 %p1, %ti, 32; @%p1 bra A; bar.red.or.pred %p2, 1, %p1; ret; A: bar.red.and.pred %p2, "
		    "1, %p1;",
		    64, "another one");
	check_fault("and.b32 %r1, %ti, 1; barrier.sync %r1, 64;", 64, "other lanes of the warp are at barrier");
	check_fault("mov.u32 %r1, 16; bar.sync %r1;", 32, "barrier 16");
	check_fault("mov.u32 %r1, 33; barrier.sync 1, %r1;", 64, "for 33 threads");
	check_fault("mbarrier.init.shared.b64 [%smem], 0;", 1, "for 0 arrivals");
	check_fault("mbarrier.arrive.shared.b64 %d1, [%smem];", 1, "more arrivals");
	check_fault("mbarrier.init.shared.b64 [%smem], 2; mbarrier.arrive.shared.b64 %d1, [%smem], 3;", 1,
		    "more arrivals");
	check_fault("mbarrier.init.shared.b64 [%smem], 2; mbarrier.arrive.noComplete.shared.b64 %d1, [%smem], 2;", 1,
		    "would complete the phase");
	/* The same count, said and not said, is the same. */
	strcpy(body, "setp.lt.u32 %p1, %ti, 32; @%p1 bra A; bar.sync 1, 64; ret; A: bar.sync 1;");
	run(1, 64, 1, 0);
}

/* --- mbarriers -------------------------------------------------------------------------------- */

/* A phase: counts that arrive in every form, the state that each gets, and when the phase is over. */
static void phases_complete_when_all_have_come(void **state)
{
	static const char *const arrive[] = { "mbarrier.arrive.shared.b64 %d1, [%r1];",
					      "mbarrier.arrive.shared::cta.b64 %d1, [%r1], 1;",
					      "mbarrier.arrive.b64 %d1, [%gsmem];",
					      "mbarrier.arrive.release.cta.shared::cta.b64 %d1, [%r1];",
					      "mbarrier.arrive.expect_tx.shared.b64 %d1, [%r1], 0;",
					      "mbarrier.arrive.relaxed.cluster.shared::cta.b64 %d1, [%r1], 1;" };
	static const char *const wait[] = {
		"mbarrier.test_wait.shared.b64 %p1, [%r1], %d1;",
		"mbarrier.try_wait.shared.b64 %p1, [%r1], %d1;",
		"mbarrier.try_wait.shared.b64 %p1, [%r1], %d1, 1000;",
		"mbarrier.test_wait.b64 %p1, [%gsmem], %d1;",
		"mbarrier.try_wait.acquire.cta.shared::cta.b64 %p1, [%r1], %d1;",
		"mbarrier.test_wait.parity.shared.b64 %p1, [%r1], %r20;",
		"mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r20, %r21;",
		"mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p1, [%r1], %r20;"
	};

	(void)state;
	for (size_t a = 0; a < sizeof(arrive) / sizeof(arrive[0]); a++)
		for (size_t w = 0; w < sizeof(wait) / sizeof(wait[0]); w++) {
			randomise(96);
			/* Four phases: each thread leaves a word, arrives, waits and takes its neighbour's of another
			 * warp. */
			snprintf(body, sizeof(body),
				 "mov.u32 %%r1, %%smem; mov.u32 %%r21, 500; setp.eq.u32 %%p2, %%ti, 0;\n"
				 "@%%p2 mbarrier.init.shared.b64 [%%r1], 96; bar.sync 0; mov.u32 %%r22, 0; mov.u64 "
				 "%%d9, 0;\n"
				 "NEXT: and.b32 %%r20, %%r22, 1; mul.wide.u32 %%d2, %%r22, 8; add.u64 %%d2, %%mine, "
				 "%%d2;\n"
				 "ld.global.b64 %%d3, [%%d2]; mad.lo.u32 %%r2, %%r22, 768, %%r1; shl.b32 %%r3, %%ti, "
				 "3;\n"
				 "add.u32 %%r3, %%r2, %%r3; st.shared.b64 [%%r3+8], %%d3;\n%s\nWAIT: %s @!%%p1 bra "
				 "WAIT;\n"
				 "add.u32 %%r4, %%ti, 41; rem.u32 %%r4, %%r4, 96; shl.b32 %%r4, %%r4, 3; add.u32 %%r4, "
				 "%%r2, %%r4;\n"
				 "ld.shared.b64 %%d4, [%%r4+8]; mad.lo.u64 %%d9, %%d9, 31, %%d4; add.u32 %%r22, %%r22, "
				 "1;\n"
				 "setp.lt.u32 %%p3, %%r22, 4; @%%p3 bra NEXT; st.global.b64 [%%my], %%d9;",
				 arrive[a], wait[w]);
			run(1, 96, 1, 8 + 4 * 768);
			for (uint32_t lane = 0; lane < 96; lane++) {
				uint64_t wanted = 0;

				for (uint32_t i = 0; i < 4; i++)
					wanted = wanted * 31 + in[(lane + 41) % 96][i];
				expect("mbarrier", lane, 0, wanted);
			}
		}
}

/* Counts: pending ones seen in the states, dropping out, arrivals that may not complete, bytes. */
static void mbarriers_count(void **state)
{
	(void)state;
	strcpy(body, "setp.ne.u32 %p0, %ti, 0; @%p0 bra DONE; mov.u32 %r1, %smem; mbarrier.init.shared.b64 [%r1], 5;\n"
		     "mbarrier.arrive.noComplete.shared.b64 %d1, [%r1], 2; mbarrier.pending_count.b64 %r2, %d1;\n"
		     "mbarrier.arrive_drop.shared.b64 %d2, [%r1]; mbarrier.pending_count.b64 %r3, %d2;\n"
		     "mbarrier.arrive_drop.noComplete.shared.b64 %d3, [%r1], 1; mbarrier.pending_count.b64 %r4, %d3;\n"
		     "mbarrier.test_wait.shared.b64 %p1, [%r1], %d3; selp.u32 %r5, 1, 0, %p1;\n"
		     /* one is missing, and eight bytes */
		     "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], 8; mbarrier.arrive.shared.b64 %d4, [%r1];\n"
		     "mbarrier.pending_count.b64 %r6, %d4; mbarrier.test_wait.shared.b64 %p1, [%r1], %d4; selp.u32 "
		     "%r7, 1, 0, %p1;\n"
		     "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%r1], 8; mbarrier.test_wait.shared.b64 %p1, "
		     "[%r1], %d4;\n"
		     "selp.u32 %r8, 1, 0, %p1;\n"
		     /* of the next phase three are left, two having dropped out */
		     "mbarrier.arrive.shared.b64 %d5, [%r1]; mbarrier.pending_count.b64 %r9, %d5;\n"
		     "mbarrier.arrive.shared.b64 _, [%r1], 2; mbarrier.test_wait.shared.b64 %p1, [%r1], %d5; selp.u32 "
		     "%r10, 1, 0, %p1;\n"
		     "mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r11, 1, 0, %p1; "
		     "mbarrier.inval.shared.b64 [%r1];\n"
		     "st.global.v4.u32 [%my], {%r2, %r3, %r4, %r5}; st.global.v4.u32 [%my+16], {%r6, %r7, %r8, %r9};\n"
		     "st.global.v2.u32 [%my+32], {%r10, %r11};\nDONE:");
	run(1, 32, 1, 64);
	{
		static const uint32_t wanted[] = { 5, 3, 2, 0, 1, 0, 1, 3, 1, 0 };

		assert_memory_equal(out[0], wanted, sizeof(wanted));
	}
}

/* --- asynchronous copies ---------------------------------------------------------------------- */

/* Each thread copies its own 64 bytes in pieces, some of which are zero at their ends. */
static void small_copies(void **state)
{
	static const struct {
		const char *text;
		uint32_t bytes, kept;
	} forms[] = {
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 4;", 4, 4 },
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 8;", 8, 8 },
		{ "cp.async.ca.shared::cta.global.L2::128B [%r3+16], [%d2+16], 16;", 16, 16 },
		{ "cp.async.cg.shared.global [%r3+16], [%d2+16], 16;", 16, 16 },
		{ "cp.async.cg.shared.global.L2::256B [%r3+16], [%d2+16], 16, 5;", 16, 5 },
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 8, %r20;", 8, 3 },
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 4, 0;", 4, 0 },
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 16, %p4;", 16, 0 },
		{ "cp.async.ca.shared.global [%r3+16], [%d2+16], 16, !%p4;", 16, 16 },
		{ "createpolicy.fractional.L2::evict_last.b64 %d8, 1.0; cp.async.cg.shared.global.L2::cache_hint "
		  "[%r3+16], [%d2+16], 16, %d8;",
		  16, 16 },
	};
	static const char *const waits[] = {
		"cp.async.commit_group; cp.async.wait_group 0;", "cp.async.wait_all;",
		"cp.async.commit_group; cp.async.commit_group; cp.async.wait_group 1;",
		"cp.async.mbarrier.arrive.shared.b64 [%smem]; mbarrier.arrive.shared.b64 %d5, [%smem];\n"
		"W: mbarrier.test_wait.shared.b64 %p5, [%smem], %d5; @!%p5 bra W;",
		"cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%smem];\n"
		"W: mbarrier.test_wait.parity.shared.b64 %p5, [%smem], 0; @!%p5 bra W;"
	};

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
		for (size_t w = 0; w < sizeof(waits) / sizeof(waits[0]); w++) {
			randomise(64);
			snprintf(body, sizeof(body),
				 "setp.eq.u32 %%p1, %%ti, 0; @%%p1 mbarrier.init.shared.b64 [%%smem], 64; bar.sync 0;\n"
				 "shl.b32 %%r3, %%ti, 5; add.u32 %%r3, %%r3, %%smem; mov.u64 %%d2, %%mine; mov.u32 "
				 "%%r20, 3;\n"
				 "setp.ne.u32 %%p4, %%r20, 0; mov.u64 %%d6, -1; st.shared.v2.b64 [%%r3+32], {%%d6, "
				 "%%d6};\n"
				 "add.u32 %%r3, %%r3, 16; add.u64 %%d2, %%d2, 0;\n%s\n%s\n"
				 "ld.shared.v2.b64 {%%d6, %%d7}, [%%r3+16]; st.global.v2.b64 [%%my], {%%d6, %%d7};",
				 forms[f].text, waits[w]);
			run(1, 64, 1, 64 * 32 + 64);
			for (uint32_t lane = 0; lane < 64; lane++) {
				uint8_t wanted[16];

				memset(wanted, 0xff, sizeof(wanted));
				memset(wanted, 0, forms[f].bytes);
				memcpy(wanted, (uint8_t *)in[lane] + 16, forms[f].kept);
				if (memcmp(wanted, out[lane], 16) != 0)
					fail_msg("%s\nlane %u differs", body, lane);
			}
		}
}

/* 1-D bulk copies in, back out, with masks and as reductions; what lies beside them stays. */
static void bulk_copies(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 48; round++) {
		uint32_t n = 64, bytes = (uint32_t)(conform_random() % 64) * 16,
			 from = (uint32_t)(conform_random() % 16) * 16;
		uint32_t to = (uint32_t)(conform_random() % 16) * 16, mask = (uint32_t)conform_random() & 0xffff,
			 form = round % 4;
		static uint8_t wanted[64 * 64];

		randomise(n);
		snprintf(body, sizeof(body),
			 "add.u64 %%d2, %%in, %u; add.u64 %%d3, %%out, %u; /* where from and where to */\n"
			 "setp.ne.u32 %%p1, %%ti, 0; mov.u32 %%r1, %%smem; @%%p1 bra WAIT;\n"
			 "mbarrier.init.shared.b64 [%%r1], 1; fence.mbarrier_init.release.cluster;\n"
			 "mbarrier.arrive.expect_tx.shared.b64 %%d1, [%%r1], %u;\n"
			 "%s [%%r1+128], [%%d2], %u, [%%r1];\n",
			 from, to, bytes,
			 round % 2 ? "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
				   : "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes",
			 bytes);
		scenario_add(body, sizeof(body),
			     "WAIT: bar.sync 0; T: mbarrier.try_wait.parity.shared.b64 %%p2, [%%r1], 0; @!%%p2 bra T;\n"
			     "@%%p1 bra DONE; fence.proxy.async.shared::cta;\n");
		if (form == 0)
			scenario_add(body, sizeof(body),
				     "cp.async.bulk.global.shared::cta.bulk_group [%%d3], [%%r1+128], %u;\n", bytes);
		else if (form == 1)
			scenario_add(body, sizeof(body),
				     "mov.b16 %%h1, %u; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%%d3], "
				     "[%%r1+128], %u, %%h1;\n",
				     mask, bytes);
		else
			scenario_add(body, sizeof(body),
				     "cp.reduce.async.bulk.global.shared::cta.bulk_group.%s [%%d3], [%%r1+128], %u;\n",
				     form == 2 ? "add.u32" : "xor.b64", bytes);
		scenario_add(body, sizeof(body), "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\nDONE:");
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < SCENARIO_WORDS; k++)
				out[i][k] = conform_random();
		memcpy(wanted, out, sizeof(wanted));
		for (uint32_t i = 0; i < bytes; i++)
			if (form == 0 || (form == 1 && mask >> i % 16 & 1))
				wanted[to + i] = ((uint8_t *)in)[from + i];
			else if (form == 3)
				wanted[to + i] ^= ((uint8_t *)in)[from + i];
		for (uint32_t i = 0; form == 2 && i < bytes; i += 4) {
			uint32_t a, b;

			memcpy(&a, wanted + to + i, 4);
			memcpy(&b, (uint8_t *)in + from + i, 4);
			a += b;
			memcpy(wanted + to + i, &a, 4);
		}
		scenario_run(&(struct scenario){ .body = body,
						 .threads = n,
						 .shared_bytes = 2048,
						 .in = in,
						 .in_bytes = n * sizeof(in[0]),
						 .out = out,
						 .out_bytes = n * sizeof(out[0]),
						 .out_start = out });
		if (memcmp(wanted, out, sizeof(wanted)) != 0)
			fail_msg("%s\nthe bytes differ", body);
	}
}

/* --- clusters --------------------------------------------------------------------------------- */

/* Loads, stores, atomics and mbarriers of another block's shared memory, directly and through generic addresses. */
static void blocks_reach_each_other(void **state)
{
	static const struct {
		const char *text; /* %r4 / %d4: the peer's word in its space / generic; %d1: the value; result in %d6 */
		const char *way;  /* l: reads the peer's, s: leaves it with the peer */
	} forms[] = {
		{ "ld.shared::cluster.b64 %d6, [%r4];", "l" },
		{ "ld.b64 %d6, [%d4];", "l" },
		{ "ld.relaxed.cluster.shared::cluster.b64 %d6, [%r4];", "l" },
		{ "atom.shared::cluster.or.b64 %d6, [%r4], 0;", "l" },
		{ "atom.acquire.cluster.shared::cluster.add.u64 %d6, [%r4], 0;", "l" },
		{ "atom.or.b64 %d6, [%d4], 0;", "l" },
		{ "st.shared::cluster.b64 [%r4], %d1;", "s" },
		{ "st.b64 [%d4], %d1;", "s" },
		{ "st.release.cluster.shared::cluster.b64 [%r4], %d1;", "s" },
		{ "atom.shared::cluster.exch.b64 %d7, [%r4], %d1;", "s" },
		{ "st.async.shared::cluster.mbarrier::complete_tx::bytes.b64 [%r4], %d1, [%r9];", "s" },
	};

	(void)state;
	for (size_t f = 0; f < sizeof(forms) / sizeof(forms[0]); f++)
		for (uint32_t size = 2; size <= 8; size *= 2) {
			uint32_t threads = 32, step = 1 + (uint32_t)conform_random() % (size - 1);
			bool stores = forms[f].way[0] == 's', is_async = strstr(forms[f].text, ".async") != NULL;

			randomise(threads * 8);
			/* %r1: own word, %r2: the peer's rank, behind the mbarrier */
			snprintf(body, sizeof(body),
				 "mov.u32 %%r30, %%cluster_ctarank; add.u32 %%r2, %%r30, %u; rem.u32 %%r2, %%r2, %u;\n"
				 "setp.eq.u32 %%p1, %%ti, 0; @%%p1 mbarrier.init.shared.b64 [%%smem], 1;\n"
				 "@%%p1 mbarrier.arrive.expect_tx.shared.b64 %%d9, [%%smem], 256;\n"
				 "shl.b32 %%r1, %%ti, 3; add.u32 %%r1, %%r1, %%smem; add.u32 %%r1, %%r1, 16;\n"
				 "ld.global.b64 %%d1, [%%mine]; %s\n"
				 "mapa.shared::cluster.u32 %%r4, %%r1, %%r2; mapa.shared::cluster.u32 %%r9, %%smem, "
				 "%%r2;\n"
				 "cvt.u64.u32 %%d3, %%r1; cvta.shared.u64 %%d3, %%d3; mapa.u64 %%d4, %%d3, %%r2;\n"
				 "getctarank.u64 %%r5, %%d4; getctarank.shared::cluster.u32 %%r6, %%r4;\n"
				 "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n%s\n"
				 "barrier.cluster.arrive; barrier.cluster.wait;\n"
				 "%s%s\nst.global.b64 [%%my], %%d6; st.global.v2.u32 [%%my+8], {%%r5, %%r6};\n"
				 "barrier.cluster.arrive.relaxed; barrier.cluster.wait;",
				 step, size, stores ? "" : "st.shared.b64 [%r1], %d1;", forms[f].text,
				 is_async ? "W: mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %p2, "
					    "[%smem], 0; @!%p2 bra W;\n"
					  : "",
				 stores ? "ld.shared.b64 %d6, [%r1];" : "");
			run(8, threads, size, 512);
			for (uint32_t lane = 0; lane < threads * 8; lane++) {
				uint32_t block = lane / threads, first = block / size * size, rank = block % size;
				uint32_t peer = (rank + step) % size,
					 source = stores ? (rank + size - step) % size : peer;

				expect(forms[f].text, lane, 0, in[(first + source) * threads + lane % threads][0]);
				expect("rank", lane, 1, (uint64_t)peer << 32 | peer);
			}
		}
}

/* A multicast copy arrives in each block of its mask, and in no other. */
static void copies_are_multicast(void **state)
{
	(void)state;
	for (uint32_t mask = 1; mask < 16; mask += 2) {
		randomise(128);
		snprintf(body, sizeof(body),
			 "mov.u32 %%r30, %%cluster_ctarank; setp.ne.u32 %%p1, %%ti, 0; mov.u64 %%d5, 77;\n"
			 "shl.b32 %%r1, %%ti, 3; add.u32 %%r1, %%r1, %%smem; st.shared.b64 [%%r1+128], %%d5;\n"
			 "shr.u32 %%r2, %u, %%r30; and.b32 %%r2, %%r2, 1; setp.eq.u32 %%p2, %%r2, 0; @%%p1 bra READY;\n"
			 "mbarrier.init.shared.b64 [%%smem], 1; mbarrier.arrive.expect_tx.shared.b64 %%d1, [%%smem], "
			 "256;\n"
			 "READY: barrier.cluster.arrive; barrier.cluster.wait; setp.eq.u32 %%p3, %%r30, 0; "
			 "setp.eq.and.u32 %%p3, %%ti, 0, %%p3;\n"
			 "mov.b16 %%h1, %u; add.u32 %%r3, %%smem, 128;\n"
			 "@%%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
			 "[%%r3], [%%in], 256, [%%smem], %%h1;\n"
			 "@%%p2 bra OVER; W: mbarrier.try_wait.parity.shared.b64 %%p4, [%%smem], 0; @!%%p4 bra W;\n"
			 "OVER: barrier.cluster.arrive; barrier.cluster.wait; ld.shared.b64 %%d6, [%%r1+128]; "
			 "st.global.b64 [%%my], %%d6;",
			 mask, mask);
		run(4, 32, 4, 1024);
		for (uint32_t lane = 0; lane < 128; lane++)
			expect("multicast", lane, 0, mask >> lane / 32 & 1 ? in[lane % 32 / 8][lane % 8] : 77);
	}
}

/* A request to take over a cluster is answered, and with no; the grid's blocks all run. */
static void launch_control_answers(void **state)
{
	(void)state;
	strcpy(body,
	       "setp.ne.u32 %p1, %ti, 0; @%p1 bra DONE; mbarrier.init.shared.b64 [%smem], 1; add.u32 %r1, %smem, 16;\n"
	       "mov.u64 %d1, -1; st.shared.v2.b64 [%r1], {%d1, %d1};\n"
	       "mbarrier.arrive.expect_tx.shared.b64 %d2, [%smem], 16;\n"
	       "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%smem];\n"
	       "W: mbarrier.try_wait.parity.shared.b64 %p2, [%smem], 0; @!%p2 bra W; ld.shared.b128 %q1, [%r1];\n"
	       "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p3, %q1; selp.u32 %r2, 1, 2, %p3;\n"
	       "@%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r3, %r4, %r5, _}, %q1;\n"
	       "@%p3 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r3, %q1;\n"
	       "st.global.u32 [%my], %r2;\nDONE:");
	run(5, 32, 1, 64);
	for (uint32_t block = 0; block < 5; block++)
		expect("is_canceled", block * 32, 0, 2);
}

/* --- who is who ------------------------------------------------------------------------------- */

static const char *const sregs[] = {
	"%tid.x",
	"%tid.y",
	"%tid.z",
	"%ntid.x",
	"%ntid.y",
	"%ntid.z",
	"%ctaid.x",
	"%ctaid.y",
	"%ctaid.z",
	"%nctaid.x",
	"%nctaid.y",
	"%nctaid.z",
	"%laneid",
	"%warpid",
	"%nwarpid",
	"%lanemask_eq",
	"%lanemask_le",
	"%lanemask_lt",
	"%lanemask_ge",
	"%lanemask_gt",
	"%clusterid.x",
	"%clusterid.y",
	"%clusterid.z",
	"%nclusterid.x",
	"%nclusterid.y",
	"%nclusterid.z",
	"%cluster_ctaid.x",
	"%cluster_ctaid.y",
	"%cluster_ctaid.z",
	"%cluster_nctaid.x",
	"%cluster_nctaid.y",
	"%cluster_nctaid.z",
	"%cluster_ctarank",
	"%cluster_nctarank",
	"%dynamic_smem_size",
};

#define N_SREGS (sizeof(sregs) / sizeof(sregs[0]))

static void registers_say_who_is_who(void **state)
{
	static const uint32_t shapes[][9] = {
		{ 2, 3, 4, 5, 3, 7, 1, 1, 1 },
		{ 4, 2, 2, 40, 1, 2, 2, 1, 2 },
		{ 6, 4, 1, 1, 1, 64, 3, 2, 1 },
		{ 1, 1, 8, 33, 3, 1, 1, 1, 4 },
	};
	struct sim_device *device = rig_device(NULL);

	(void)state;
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++) {
		const uint32_t *grid = shapes[s], *block = grid + 3, *cluster = grid + 6;
		uint32_t threads = block[0] * block[1] * block[2], blocks = grid[0] * grid[1] * grid[2];
		size_t bytes = (size_t)threads * blocks * N_SREGS * 4;
		static uint32_t got[1 << 20];
		static char ptx[16384];
		struct sim_module *module;
		struct sim_result result;
		uint64_t buffer = rig_alloc(device, bytes);
		struct sim_launch launch = {
			.dynamic_shared_bytes = 160, .params = &buffer, .grid_id = 3, .start_ns = 10
		};

		assert_true(bytes <= sizeof(got));
		strcpy(ptx, PTX_HEAD
		       ".visible .entry k(.param .u64 p) { .reg .b32 %r<9>; .reg .b64 %d<4>; ld.param.u64 %d1, [p];\n"
		       "mov.u32 %r1, %tid.z; mov.u32 %r2, %ntid.y; mov.u32 %r3, %tid.y; mad.lo.u32 %r1, %r1, %r2, "
		       "%r3;\n"
		       "mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r1, %r1, %r2, %r3;\n"
		       "mov.u32 %r4, %ctaid.z; mov.u32 %r5, %nctaid.y; mov.u32 %r6, %ctaid.y; mad.lo.u32 %r4, %r4, "
		       "%r5, %r6;\n"
		       "mov.u32 %r5, %nctaid.x; mov.u32 %r6, %ctaid.x; mad.lo.u32 %r4, %r4, %r5, %r6;\n"
		       "mov.u32 %r5, %ntid.y; mul.lo.u32 %r5, %r5, %r2; mov.u32 %r6, %ntid.z; mul.lo.u32 %r5, %r5, "
		       "%r6;\n"
		       "mad.lo.u32 %r1, %r4, %r5, %r1;\n");
		scenario_add(ptx, sizeof(ptx), "mul.wide.u32 %%d2, %%r1, %zu; add.u64 %%d1, %%d1, %%d2;\n",
			     N_SREGS * 4);
		for (size_t i = 0; i < N_SREGS; i++)
			scenario_add(ptx, sizeof(ptx), "mov.u32 %%r7, %s; st.global.u32 [%%d1+%zu], %%r7;\n", sregs[i],
				     i * 4);
		scenario_add(ptx, sizeof(ptx), "ret; }\n");
		module = rig_load(device, ptx);
		launch.function = sim_module_function_at(module, 0);
		memcpy(launch.grid, grid, 12);
		memcpy(launch.block, block, 12);
		memcpy(launch.cluster, cluster, 12);
		sim_launch(device, &launch, &result);
		if (result.status != SIM_OK)
			fail_msg("%s", result.message);
		rig_get(device, got, buffer, bytes);
		for (uint32_t b = 0; b < blocks; b++)
			for (uint32_t t = 0; t < threads; t++) {
				uint32_t lane = t % 32,
					 cta[3] = { b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1] };
				uint32_t wanted[N_SREGS] = { t % block[0], t / block[0] % block[1],
							     t / block[0] / block[1] };
				uint32_t n = 3, in_cluster[3];

				for (uint32_t i = 0; i < 3; i++) {
					wanted[n + i] = block[i];
					wanted[n + 3 + i] = cta[i];
					wanted[n + 6 + i] = grid[i];
					wanted[20 + i] = cta[i] / cluster[i];
					wanted[23 + i] = grid[i] / cluster[i];
					wanted[26 + i] = in_cluster[i] = cta[i] % cluster[i];
					wanted[29 + i] = cluster[i];
				}
				wanted[12] = lane;
				/* A place on the SM, whatever it is. */
				wanted[13] = got[(b * threads + t - lane) * N_SREGS + 13];
				assert_true(wanted[13] < 64);
				wanted[14] = 64;
				wanted[15] = 1u << lane;
				wanted[16] = lane == 31 ? UINT32_MAX : (2u << lane) - 1;
				wanted[17] = (1u << lane) - 1;
				wanted[18] = ~wanted[17];
				wanted[19] = ~wanted[16];
				wanted[32] = in_cluster[0] + cluster[0] * (in_cluster[1] + cluster[1] * in_cluster[2]);
				wanted[33] = cluster[0] * cluster[1] * cluster[2];
				wanted[34] = 160;
				for (uint32_t i = 0; i < N_SREGS; i++)
					if (got[(b * threads + t) * N_SREGS + i] != wanted[i])
						fail_msg("shape %zu, block %u, thread %u: %s is %u, not %u", s, b, t,
							 sregs[i], got[(b * threads + t) * N_SREGS + i], wanted[i]);
			}
		sim_module_unload(module);
		sim_mem_free(device, buffer);
	}
	sim_device_destroy(device);
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
		cmocka_unit_test(barriers_order_shared_memory),
		cmocka_unit_test(barriers_reduce),
		cmocka_unit_test(producers_and_consumers),
		cmocka_unit_test(misuse_of_barriers_is_said),
		cmocka_unit_test(phases_complete_when_all_have_come),
		cmocka_unit_test(mbarriers_count),
		cmocka_unit_test(small_copies),
		cmocka_unit_test(bulk_copies),
		cmocka_unit_test(blocks_reach_each_other),
		cmocka_unit_test(copies_are_multicast),
		cmocka_unit_test(launch_control_answers),
		cmocka_unit_test(registers_say_who_is_who),
	};

	return cmocka_run_group_tests(tests, NULL, finish);
}

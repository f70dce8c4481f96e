/* SPDX-License-Identifier: Apache-2.0
 *
 * test_features.c - forms of instructions that few programs use, and what their misuse gives.
 */
#include "../support.h"

#include "rig.h"

#include <stdio.h>
#include <string.h>

/* The thread's number in %r1; %rd1 the buffer, %rd2 the thread's 16 bytes of it. */
#define KERNEL(functions, declarations, body)                                                                    \
	PTX_HEAD functions                                                                                       \
		".extern .shared .align 16 .b8 dyn[];\n"                                                         \
		".visible .entry k(.param .u64 out)\n{\n"                                                        \
		".reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .b16 %h<4>; .reg .pred %p<8>;\n"     \
		".reg .b128 %q<4>; .shared .align 128 .b8 tile[1024]; .shared .align 8 .b64 bar;\n" declarations \
		"ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"                                               \
		"mul.wide.u32 %rd2, %r1, 16; add.u64 %rd2, %rd1, %rd2;\n" body "\nret;\n}\n"

static uint32_t words[4096];

static void run(const char *ptx, uint32_t threads)
{
	memset(words, 0, sizeof(words));
	rig_once(ptx, 1, threads, words, sizeof(words));
}

static void check_words(uint32_t first, uint32_t n, const uint32_t *wanted)
{
	for (uint32_t i = 0; i < n; i++)
		if (words[first + i] != wanted[i])
			fail_msg("word %u is %x, not %x", first + i, words[first + i], wanted[i]);
}

static void registers_are_parameters(void **state)
{
	(void)state;
	run(KERNEL(".func (.reg .b32 %d) f(.reg .b32 %a, .reg .b64 %b) { .reg .b32 %x; cvt.u32.u64 %x, %b; .reg .pred "
		   "%p;\n"
		   "setp.eq.u32 %p, %a, 0; @%p bra ZERO; add.u32 %d, %a, %x; ret; ZERO: mov.u32 %d, 77; ret; }\n",
		   "", "mov.u64 %rd3, 1000; call (%r2), f, (%r1, %rd3); st.global.u32 [%rd2], %r2;"),
	    2);
	check_words(0, 1, (uint32_t[]){ 77 });
	check_words(4, 1, (uint32_t[]){ 1001 });
}

static void a_parameter_has_an_address(void **state)
{
	(void)state;
	run(KERNEL(".func (.param .b32 d) f(.param .align 8 .b8 s[16]) { .reg .b64 %a<4>; .reg .b32 %x<4>;\n"
		   "mov.u64 %a0, s; add.u64 %a1, %a0, 12; ld.param.u32 %x3, [%a1]; sub.u32 %x3, %x3, 1;\n"
		   "cvta.param.u64 %a1, %a1; st.u32 [%a1], %x3; mov.u64 %a0, s; cvta.param.u64 %a1, %a0; ld.u32 %x0, "
		   "[%a1+12]; ld.param.u32 %x1, [%a0+8];\n"
		   "add.u32 %x2, %x0, %x1; st.param.b32 [d], %x2; ret; }\n",
		   "",
		   "{ .param .align 8 .b8 s[16]; .param .b32 d; st.param.b32 [s+8], %r1; st.param.b32 [s+12], 500;\n"
		   "call (d), f, (s); ld.param.b32 %r2, [d]; } st.global.u32 [%rd2], %r2;"),
	    3);
	check_words(8, 1, (uint32_t[]){ 501 });
}

static void the_stack_grows_and_shrinks(void **state)
{
	(void)state;
	run(KERNEL("", "",
		   "stacksave.u64 %rd3; cvt.u64.u32 %rd4, %r1; add.u64 %rd4, %rd4, 40; alloca.u64 %rd5, %rd4, 16;\n"
		   "st.local.u32 [%rd5+36], %r1; cvta.local.u64 %rd6, %rd5; ld.u32 %r2, [%rd6+36];\n"
		   "stackrestore.u64 %rd3; stacksave.u64 %rd7; sub.u64 %rd7, %rd7, %rd3; cvt.u32.u64 %r3, %rd7;\n"
		   "st.global.v2.u32 [%rd2], {%r2, %r3};"),
	    2);
	check_words(4, 2, (uint32_t[]){ 1, 0 });
}

/* Vectors of floats, pairs of halves, 16 bytes at once. */
static void atomics_of_all_widths(void **state)
{
	static const uint32_t one = 0x3f800000;

	(void)state;
	run(KERNEL("", "",
		   "mov.f32 %f1, 0f3f800000; mov.f32 %f2, 0f40000000;\n"
		   "red.global.add.v4.f32 [%rd1+1024], {%f1, %f2, %f1, %f2};\n"
		   "atom.global.add.v2.f32 {%f3, %f4}, [%rd1+1040], {%f1, %f2};\n"
		   "mov.b32 %r2, 0x3c003c00; red.global.add.noftz.f16x2 [%rd1+1056], %r2;\n"
		   "mov.u64 %rd3, 5; mov.u64 %rd4, 6; mov.b128 %q1, {%rd3, %rd4};\n"
		   "atom.global.exch.b128 %q2, [%rd1+1072], %q1; mov.b128 {%rd5, %rd6}, %q2;\n"
		   "mov.u64 %rd7, 9; mov.b128 %q3, {%rd7, %rd7}; atom.global.cas.b128 %q2, [%rd1+1072], %q1, %q3;\n"
		   "st.global.v2.f32 [%rd2], {%f3, %f4};"),
	    2);
	check_words(256, 4, (uint32_t[]){ 0x40000000, 0x40800000, 0x40000000, 0x40800000 });
	check_words(260, 2, (uint32_t[]){ 0x40000000, 0x40800000 });
	check_words(264, 1, (uint32_t[]){ 0x40004000 });
	check_words(268, 4, (uint32_t[]){ 9, 0, 9, 0 });
	check_words(4, 1, &one);
}

static void floats_are_reduced_among_lanes(void **state)
{
	(void)state;
	run(KERNEL("", "",
		   "cvt.rn.f32.u32 %f1, %r1; neg.f32 %f1, %f1; redux.sync.min.f32 %f2, %f1, 0xffffffff;\n"
		   "redux.sync.max.abs.f32 %f3, %f1, 0xffffffff; setp.eq.u32 %p1, %r1, 7; @%p1 mov.f32 %f1, "
		   "0f7fc00000;\n"
		   "redux.sync.max.f32 %f4, %f1, 0xffffffff; redux.sync.max.NaN.f32 %f5, %f1, 0xffffffff;\n"
		   "st.global.v4.f32 [%rd2], {%f2, %f3, %f4, %f5};"),
	    32);
	check_words(124, 4, (uint32_t[]){ 0xc1f80000, 0x41f80000, 0x80000000, 0x7fffffff });
}

/* Half of a warp each: two meetings at one instruction. */
static void tiles_of_a_warp_reduce_on_their_own(void **state)
{
	(void)state;
	run(KERNEL("", "",
		   "setp.lt.u32 %p1, %r1, 16; selp.b32 %r2, 0xffff, 0xffff0000, %p1;\n"
		   "redux.sync.add.u32 %r3, %r1, %r2; vote.sync.ballot.b32 %r4, %p1, %r2; match.any.sync.b32 %r5, 1, "
		   "%r2;\n"
		   "st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r5};"),
	    32);
	check_words(0, 3, (uint32_t[]){ 120, 0xffff, 0xffff });
	check_words(124, 3, (uint32_t[]){ 376, 0, 0xffff0000 });
}

static void asynchronous_copies_in_all_forms(void **state)
{
	(void)state;
	/* One thread: 16 bytes of 7s at 2048; copies of them, with and without; sums of 4 words into 3072. */
	run(KERNEL("", "",
		   "setp.ne.u32 %p2, %r1, 0; @%p2 ret; mov.b32 %r2, 7; st.global.v4.u32 [%rd1+2048], {%r2, %r2, %r2, "
		   "%r2};\n"
		   "mov.u32 %r3, tile; setp.eq.u32 %p1, %r1, 0;\n"
		   "cp.async.ca.shared.global [%r3], [%rd1+2048], 8, 4;\n"
		   "cp.async.cg.shared.global [%r3+16], [%rd1+2048], 16, %p1;\n"
		   "cp.async.cg.shared.global [%r3+32], [%rd1+2048], 16, !%p1;\n"
		   "createpolicy.fractional.L2::evict_first.b64 %rd4, 1.0;\n"
		   "cp.async.cg.shared.global.L2::cache_hint [%r3+48], [%rd1+2048], 16, %rd4;\n"
		   "cp.async.wait_all; ld.shared.v2.u32 {%r4, %r5}, [%r3]; st.global.v2.u32 [%rd1], {%r4, %r5};\n"
		   "ld.shared.u32 %r4, [%r3+16]; ld.shared.u32 %r5, [%r3+32]; ld.shared.u32 %r6, [%r3+48];\n"
		   "st.global.v2.u32 [%rd1+8], {%r4, %r5}; st.global.u32 [%rd1+16], %r6;\n"
		   "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1+2048], [%r3+32], 16;\n"
		   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
		   "ld.global.u32 %r4, [%rd1+2060]; st.global.u32 [%rd1+20], %r4;\n"
		   "mov.u32 %r7, bar; mbarrier.init.shared.b64 [%r7], 1; mbarrier.arrive.expect_tx.shared.b64 %rd5, "
		   "[%r7], 16;\n"
		   "mapa.shared::cluster.u32 %r8, %r3, 0; mapa.shared::cluster.u32 %r9, %r7, 0;\n"
		   "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r8+64], {%r2, %r2}, [%r9];\n"
		   "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8+64], %r2, "
		   "[%r9];\n"
		   "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r8+68], %r2, "
		   "[%r9];\n"
		   "WAIT: mbarrier.try_wait.shared.b64 %p3, [%r7], %rd5; @!%p3 bra WAIT;\n"
		   "ld.shared.v2.u32 {%r4, %r5}, [%r3+64]; st.global.v2.u32 [%rd1+24], {%r4, %r5};"),
	    32);
	check_words(0, 8, (uint32_t[]){ 7, 0, 0, 7, 7, 14, 14, 14 });
}

static void memory_is_taken_and_given_back(void **state)
{
	static const char ptx[] =
		KERNEL(".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n", "",
		       "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 100; call (r), malloc, (n); ld.param.b64 "
		       "%rd3, [r]; }\n"
		       "st.u32 [%rd3+96], %r1; ld.u32 %r2, [%rd3+96]; and.b64 %rd4, %rd3, 15; cvt.u32.u64 %r3, %rd4;\n"
		       "st.global.v2.u32 [%rd2], {%r2, %r3};\n"
		       "{ .param .b64 p; st.param.b64 [p], %rd3; call free, (p); }\n"
		       "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 0x7fffffff; call (r), malloc, (n);\n"
		       "ld.param.b64 %rd3, [r]; } cvt.u32.u64 %r4, %rd3; st.global.u32 [%rd2+8], %r4;");

	(void)state;
	run(ptx, 64);
	check_words(4 * 63, 3, (uint32_t[]){ 63, 0, 0 });
}

/* --- misuse ----------------------------------------------------------------------------------- */

struct misuse {
	const char *ptx;
	uint32_t threads;
	enum sim_status status;
	const char *word;
};

#define BODY(body) KERNEL("", "", body)

static const struct misuse misuses[] = {
	{ BODY("ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1+8];"), 1, SIM_MISALIGNED_ADDRESS, "16 bytes" },
	{ BODY("mov.u32 %r2, tile; st.shared.v2.u32 [%r2+4], {%r1, %r1};"), 1, SIM_MISALIGNED_ADDRESS, "shared" },
	{ BODY("mov.u32 %r2, dyn; ld.shared.u32 %r3, [%r2];"), 1, SIM_ILLEGAL_ADDRESS, "shared" },
	{ KERNEL("", ".local .align 16 .b8 v[16];\n",
		 "mov.u64 %rd3, v; st.local.v4.u32 [%rd3+8], {%r1, %r1, %r1, %r1};"),
	  1, SIM_MISALIGNED_ADDRESS, "local" },
	{ BODY("atom.global.add.u32 %r2, [%rd1+2], 1;"), 1, SIM_MISALIGNED_ADDRESS, "misaligned" },
	{ BODY("mov.u32 %r2, tile; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r3}, [%r2+8];"), 32,
	  SIM_MISALIGNED_ADDRESS, "16 bytes" },
	{ BODY("mov.u32 %r2, tile; cp.async.ca.shared.global [%r2+4], [%rd1], 8;"), 1, SIM_MISALIGNED_ADDRESS,
	  "shared" },
	{ BODY("mov.u32 %r2, 16; bar.sync %r2;"), 32, SIM_ILLEGAL_INSTRUCTION, "barrier 16" },
	{ BODY("bar.sync 1, 48;"), 64, SIM_ILLEGAL_INSTRUCTION, "barrier 1" },
	{ BODY("mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2], 0;"), 1, SIM_ILLEGAL_INSTRUCTION, "mbarrier" },
	{ BODY("mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2+4], 1;"), 1, SIM_MISALIGNED_ADDRESS, "mbarrier" },
	{ BODY("mov.u64 %rd3, 600000; alloca.u64 %rd4, %rd3;"), 1, SIM_ILLEGAL_ADDRESS, "stack overflow" },
	{ KERNEL(".extern .func free(.param .b64 p);\n", "",
		 "{ .param .b64 p; st.param.b64 [p], %rd1; call free, (p); }"),
	  1, SIM_ILLEGAL_ADDRESS, "free" },
	{ BODY("mov.u64 %rd3, 0x1234; ld.u32 %r2, [%rd3+4];"), 1, SIM_ILLEGAL_ADDRESS, "generic" },
	{ BODY("brkpt;"), 1, SIM_TRAP, "breakpoint" },
};

static void misuse_gives_what_a_device_gives(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
		struct sim_device *device = rig_device(NULL);
		struct sim_module *module = rig_load(device, misuses[i].ptx);
		uint64_t buffer = rig_alloc(device, 4096);
		struct sim_result result = rig_try(device, module, 1, misuses[i].threads, (uint64_t[4]){ buffer });

		if (result.status != misuses[i].status || strstr(result.message, misuses[i].word) == NULL ||
		    strstr(result.message, "kernel k, PTX line") == NULL)
			fail_msg("misuse %zu: status %d, not %d; '%s' wanted in '%s'", i, result.status,
				 misuses[i].status, misuses[i].word, result.message);
		sim_module_unload(module);
		sim_device_destroy(device);
	}
}

/* What is out of scope is refused by name, line and kernel. */
static void other_hardware_is_refused_by_name(void **state)
{
	static const char *const refused[] = {
		"wgmma.fence.sync.aligned;",
		"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, 1, 1, 1, 0, 0;",
		"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 32;",
		"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}];",
		"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1, {%r1}], "
		"[bar];",
		"multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;",
		"mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2}, {%r3,%r4}, "
		"{%f1,%f2,%f3,%f4}, %r5, 0;",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct sim_device *device = rig_device(NULL);
		struct sim_module *module;
		char ptx[4096], log[1024], name[16];

		snprintf(ptx, sizeof(ptx), "%.*s\n%s\nret; }\n", (int)(strlen(BODY("")) - 7), BODY(""), refused[i]);
		snprintf(name, sizeof(name), "'%.*s", (int)strcspn(refused[i], " ;") > 12 ? 12 : 8, refused[i]);
		assert_int_equal(sim_module_load(device, ptx, strlen(ptx), log, sizeof(log), &module),
				 SIM_UNSUPPORTED_PTX);
		if (strstr(log, "kernel k: instruction ") == NULL || strstr(log, name) == NULL ||
		    strncmp(log, "line ", 5) != 0 || strchr(log, '\n') != log + strlen(log) - 1)
			fail_msg("%s gives '%s'", refused[i], log);
		sim_device_destroy(device);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_parameters),
		cmocka_unit_test(a_parameter_has_an_address),
		cmocka_unit_test(the_stack_grows_and_shrinks),
		cmocka_unit_test(atomics_of_all_widths),
		cmocka_unit_test(floats_are_reduced_among_lanes),
		cmocka_unit_test(tiles_of_a_warp_reduce_on_their_own),
		cmocka_unit_test(asynchronous_copies_in_all_forms),
		cmocka_unit_test(memory_is_taken_and_given_back),
		cmocka_unit_test(misuse_gives_what_a_device_gives),
		cmocka_unit_test(other_hardware_is_refused_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

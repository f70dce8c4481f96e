/* SPDX-License-Identifier: Apache-2.0
 *
 * test_threads.c - which kernels several threads may run, and that nothing shows how many did.
 */
#include "../support.h"

#include "module.h"
#include "ptx_share.h"
#include "rig.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A kernel of two buffers: %rd1 and %rd2 are 4-byte places of the thread in them, %r1 is its number, %r2 its number in
 * the block, %r3 the block's. */
#define KERNEL(declarations, body)                                                                           \
	PTX_HEAD                                                                                             \
	".global .align 4 .b8 variable[4096];\n"                                                             \
	".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 p3)\n{\n"                \
	".reg .b64 %rd<16>; .reg .b32 %r<32>; .reg .f32 %f<8>; .reg .pred %p<8>;\n" declarations             \
	"ld.param.u64 %rd10, [a]; ld.param.u64 %rd11, [b];\n"                                                \
	"mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mad.lo.u32 %r1, %r3, %r4, %r2;\n" \
	"mul.wide.u32 %rd12, %r1, 4; add.u64 %rd1, %rd10, %rd12; add.u64 %rd2, %rd11, %rd12;\n" body "\nret;\n}\n"

#define N_BLOCKS  40
#define N_THREADS 128
#define N_WORDS   (N_BLOCKS * N_THREADS)

/* Blocks that last differently long, and write what they saw of clocks and SMs. */
#define UNEVEN_WORK                                                                                                    \
	"mul.lo.u32 %r5, %r3, 7919; and.b32 %r5, %r5, 63; add.u32 %r5, %r5, 1; mul.lo.u32 %r5, %r5, 20; mov.u32 %r6, " \
	"%r1;\n"                                                                                                       \
	"L: mul.lo.u32 %r6, %r6, 1664525; add.u32 %r6, %r6, 1013904223; sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, "   \
	"0;\n"                                                                                                         \
	"@%p1 bra L;\n"

/* --- which kernels ---------------------------------------------------------------------------- */

static bool runs_apart(const char *ptx, bool same_buffer)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t a = rig_alloc(device, 4 * N_WORDS), b = same_buffer ? a : rig_alloc(device, 4 * N_WORDS);
	const uint64_t params[4] = { a, b, 64 };
	const struct ptx_function *entry = sim_function_code(sim_module_function_at(module, 0));
	bool apart = ptx_blocks_independent(entry, device, (const uint8_t *)params);

	sim_module_unload(module);
	sim_device_destroy(device);
	return apart;
}

static void kernels_of_the_common_shape_run_apart(void **state)
{
	static const char *const bodies[] = {
		KERNEL("", "ld.global.u32 %r5, [%rd1]; add.u32 %r5, %r5, 1; st.global.u32 [%rd2], %r5;"),
		/* y += x: the load is of the thread's own place */
		KERNEL("", "ld.global.u32 %r5, [%rd1]; ld.global.u32 %r6, [%rd2]; add.u32 %r5, %r5, %r6;\n"
			   "st.global.u32 [%rd2], %r5;"),
		/* a gather: what is loaded from is not stored to */
		KERNEL("", "ld.global.u32 %r5, [%rd1]; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd10, %rd3;\n"
			   "ld.global.u32 %r6, [%rd3]; st.global.u32 [%rd2], %r6;"),
		/* generic addresses, shared memory and its atomics, a barrier, a fence of the block */
		KERNEL(".shared .align 4 .b8 box[512];\n",
		       "mov.u32 %r5, box; atom.shared.add.u32 %r6, [%r5], 1; bar.sync 0; membar.cta;\n"
		       "ld.volatile.shared.u32 %r7, [%r5]; st.u32 [%rd2], %r7;"),
		/* a variable of the module as input */
		KERNEL("", "mov.u64 %rd3, variable; ld.global.u32 %r5, [%rd3+16]; st.global.u32 [%rd2], %r5;"),
		/* in a loop with a growing address */
		KERNEL("", "mov.u32 %r5, 4;\nL: ld.global.u32 %r6, [%rd1]; st.global.u32 [%rd2], %r6; add.u64 %rd1, "
			   "%rd1, 4096;\n"
			   "add.u64 %rd2, %rd2, 4096; sub.u32 %r5, %r5, 1; setp.ne.u32 %p1, %r5, 0; @%p1 bra L;"),
		KERNEL("", "griddepcontrol.wait; st.global.u32 [%rd2], %r1; griddepcontrol.launch_dependents;"),
		KERNEL("", "cp.async.ca.shared.global [%r5], [%rd1], 4; cp.async.wait_all; st.global.u32 [%rd2], %r1;"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (!runs_apart(bodies[i], false))
			fail_msg("kernel %zu is not run apart", i);
}

static void kernels_whose_blocks_may_meet_run_together(void **state)
{
	static const char *const bodies[] = {
		KERNEL("", "atom.global.add.u32 %r5, [%rd10], 1; st.global.u32 [%rd2], %r5;"),
		KERNEL("", "red.global.add.u32 [%rd10], 1;"),
		KERNEL("", "atom.add.u32 %r5, [%rd10], 1;"),
		KERNEL("", "ld.volatile.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;"),
		KERNEL("", "ld.relaxed.gpu.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;"),
		KERNEL("", "st.release.gpu.global.u32 [%rd2], %r1;"),
		KERNEL("", "st.global.u32 [%rd2], %r1; membar.gl;"),
		KERNEL("", "st.global.u32 [%rd2], %r1; fence.acq_rel.sys;"),
		/* the same place for all; a place that was loaded; a loaded address; a neighbour's */
		KERNEL("", "st.global.u32 [%rd10], %r1;"),
		KERNEL("", "ld.global.u32 %r5, [%rd1]; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd11, %rd3;\n"
			   "st.global.u32 [%rd3], %r1;"),
		KERNEL("", "ld.global.u64 %rd3, [%rd10]; ld.global.u32 %r5, [%rd3]; st.global.u32 [%rd2], %r5;"),
		KERNEL("", "ld.global.u32 %r5, [%rd2+4]; st.global.u32 [%rd2], %r5;"),
		KERNEL("", "mov.u64 %rd3, variable; add.u64 %rd3, %rd3, %rd12; st.global.u32 [%rd3], %r1;\n"
			   "ld.global.u32 %r5, [variable]; st.global.u32 [%rd2], %r5;"),
		/* whose place depends on where the block runs */
		KERNEL("", "mov.u32 %r5, %smid; mul.wide.u32 %rd3, %r5, 4; add.u64 %rd3, %rd2, %rd3; st.global.u32 "
			   "[%rd3], %r1;"),
		/* no pointer that anybody knows */
		KERNEL("", "ld.param.u64 %rd3, [n]; add.u64 %rd3, %rd3, %rd12; ld.global.u32 %r5, [%rd3];\n"
			   "st.global.u32 [%rd2], %r5;"),
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++)
		if (runs_apart(bodies[i], false))
			fail_msg("kernel %zu is run apart", i);
	/* Two pointers to one allocation. */
	assert_true(runs_apart(KERNEL("", "ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;"), false));
	assert_false(runs_apart(KERNEL("", "ld.global.u32 %r5, [%rd1]; st.global.u32 [%rd2], %r5;"), true));
}

static void calls_are_followed(void **state)
{
	static const char quiet[] = PTX_HEAD
		".func (.param .b32 y) f(.param .b32 x) { .reg .b32 %r<4>; ld.param.u32 %r1, [x]; add.u32 %r2, %r1, "
		"1;\n"
		"st.param.b32 [y], %r2; ret; }\n"
		".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 p3)\n{\n"
		".reg .b64 %rd<4>; .reg .b32 %r<8>; .param .b32 x; .param .b32 y;\n"
		"ld.param.u64 %rd1, [a]; mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
		"st.param.b32 [x], %r1; call.uni (y), f, (x); ld.param.b32 %r2, [y]; st.global.u32 [%rd1], %r2; "
		"ret;\n}\n";
	static const char loud[] = PTX_HEAD
		".global .align 4 .u32 variable;\n"
		".func g() { .reg .b32 %r<4>; mov.u32 %r1, 1; atom.global.add.u32 %r2, [variable], %r1; ret; }\n"
		".func f() { call.uni g; ret; }\n"
		".visible .entry k(.param .u64 a, .param .u64 b, .param .u64 n, .param .u64 p3) { call.uni f; ret; }\n";

	(void)state;
	assert_true(runs_apart(quiet, false));
	assert_false(runs_apart(loud, false));
}

/* --- that nothing shows ----------------------------------------------------------------------- */

struct outcome {
	struct sim_result result;
	uint32_t words[N_WORDS];
};

/* Runs the kernel on `n_threads` with its second buffer as the outcome. */
static void run_on(const char *ptx, uint32_t n_threads, uint32_t blocks, struct outcome *ret_outcome)
{
	struct sim_config config;
	struct sim_device *device;
	struct sim_module *module;
	uint32_t input[N_WORDS];
	uint64_t a, b;

	rig_config(&config);
	config.n_threads = n_threads;
	config.clock_spread_ppm = 1000;
	config.timer_tick_ns = 1;
	config.max_blocks_per_sm = 2;
	device = rig_device(&config);
	module = rig_load(device, ptx);
	for (uint32_t i = 0; i < N_WORDS; i++)
		input[i] = i * 2654435761u;
	a = rig_put(device, input, sizeof(input));
	b = rig_alloc(device, sizeof(ret_outcome->words));
	ret_outcome->result = rig_try(device, module, blocks, N_THREADS, (uint64_t[4]){ a, b });
	rig_get(device, ret_outcome->words, b, sizeof(ret_outcome->words));
	sim_module_unload(module);
	sim_device_destroy(device);
}

static void check_same(const char *ptx, bool apart)
{
	static struct outcome alone, together;

	assert_int_equal(runs_apart(ptx, false), apart);
	run_on(ptx, 1, N_BLOCKS, &alone);
	for (uint32_t n_threads = 2; n_threads <= 5; n_threads++) {
		run_on(ptx, n_threads, N_BLOCKS, &together);
		assert_int_equal(together.result.status, alone.result.status);
		assert_string_equal(together.result.message, alone.result.message);
		if (alone.result.status != SIM_OK)
			continue;
		assert_int_equal(together.result.end_ns, alone.result.end_ns);
		assert_memory_equal(together.words, alone.words, sizeof(alone.words));
	}
}

static void results_and_clocks_are_those_of_one_thread(void **state)
{
	(void)state;
	check_same(KERNEL("", UNEVEN_WORK "st.global.u32 [%rd2], %r6;"), true);
	check_same(KERNEL("", UNEVEN_WORK "mov.u32 %r7, %clock; st.global.u32 [%rd2], %r7;"), true);
	check_same(KERNEL("", UNEVEN_WORK "mov.u32 %r7, %globaltimer_lo; st.global.u32 [%rd2], %r7;"), true);
	check_same(KERNEL("", UNEVEN_WORK "mov.u32 %r7, %smid; st.global.u32 [%rd2], %r7;"), true);
	check_same(KERNEL("", UNEVEN_WORK "mov.u32 %r7, %warpid; st.global.u32 [%rd2], %r7;"), true);
	check_same(KERNEL(".shared .align 4 .b8 box[512];\n", UNEVEN_WORK
			  "mov.u32 %r7, box; shl.b32 %r8, %r2, 2; add.u32 %r8, %r7, %r8;\n"
			  "st.shared.u32 [%r8], %r6; bar.sync 0; xor.b32 %r9, %r2, 77; shl.b32 %r9, %r9, 2;\n"
			  "add.u32 %r9, %r7, %r9; ld.shared.u32 %r10, [%r9]; mov.u32 %r11, %clock;\n"
			  "add.u32 %r10, %r10, %r11; st.global.u32 [%rd2], %r10;"),
		   true);
	check_same(KERNEL("", UNEVEN_WORK "atom.global.add.u32 %r7, [%rd10], 1; mov.u32 %r8, %clock;\n"
					  "add.u32 %r7, %r7, %r8; st.global.u32 [%rd2], %r7;"),
		   false);
}

/* Whichever thread comes to a fault first: the first in simulated time is the launch's. */
static void the_first_failure_in_simulated_time_stands(void **state)
{
	(void)state;
	check_same(KERNEL("", UNEVEN_WORK "setp.gt.u32 %p2, %r3, 11; @%p2 st.global.u32 [%rd2+1], %r6;\n"
					  "@%p2 trap; st.global.u32 [%rd2], %r6;"),
		   true);
	check_same(KERNEL("", UNEVEN_WORK "and.b32 %r7, %r3, 5; setp.eq.u32 %p2, %r7, 5; @%p2 trap;\n"
					  "st.global.u32 [%rd2], %r6;"),
		   true);
}

/* --- ends ------------------------------------------------------------------------------------- */

static void *stop_soon(void *device)
{
	const struct timespec duration = { .tv_nsec = 50000000 };

	nanosleep(&duration, NULL);
	sim_device_stop(device);
	return NULL;
}

static void a_hang_on_many_threads_ends_when_the_device_stops(void **state)
{
	/* Half of the blocks never end; or wait at a barrier where nobody else comes. */
	static const char *const bodies[] = {
		KERNEL("", "st.global.u32 [%rd2], %r1; and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 1;\nL: @%p1 bra L;"),
		KERNEL("", "st.global.u32 [%rd2], %r1; and.b32 %r5, %r3, 1; setp.eq.u32 %p1, %r5, 1;\n@%p1 bar.sync 1, "
			   "256;"),
	};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct sim_config config;
		struct sim_device *device;
		struct sim_module *module;
		struct sim_result result;
		pthread_t stopper;

		rig_config(&config);
		config.n_threads = 3;
		device = rig_device(&config);
		module = rig_load(device, bodies[i]);
		assert_int_equal(pthread_create(&stopper, NULL, stop_soon, device), 0);
		result = rig_try(device, module, N_BLOCKS, N_THREADS,
				 (uint64_t[4]){ rig_alloc(device, 4 * N_WORDS), rig_alloc(device, 4 * N_WORDS) });
		assert_int_equal(pthread_join(stopper, NULL), 0);
		assert_int_equal(result.status, SIM_STOPPED);
		sim_module_unload(module);
		sim_device_destroy(device);
	}
}

static double seconds(clockid_t which)
{
	struct timespec now;

	clock_gettime(which, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct watch {
	struct sim_device *device;
	bool rested; /* the process used less than 0.7 of a processor for a tenth of a second */
};

#ifdef __SANITIZE_THREAD__ /* everything takes too long for that: only that the device stops is tested */
#define WATCHES 10
#else
#define WATCHES 300
#endif

/* Stops the device once the process rests, or after WATCHES tenths of a second. */
static void *stop_at_rest(void *argument)
{
	struct watch *watch = argument;

	for (unsigned i = 0; i < WATCHES && !watch->rested; i++) {
		const double start = seconds(CLOCK_MONOTONIC), processor = seconds(CLOCK_PROCESS_CPUTIME_ID);

		usleep(100000);
		watch->rested =
			seconds(CLOCK_PROCESS_CPUTIME_ID) - processor < 0.7 * (seconds(CLOCK_MONOTONIC) - start);
	}
	sim_device_stop(watch->device);
	return NULL;
}

/* A kernel that waits for what nobody writes leaves the machine to others after a while, however long the machine takes
 * for that while. */
static void a_kernel_that_only_polls_burns_no_core(void **state)
{
	static const char ptx[] =
		KERNEL("", "L: ld.volatile.global.u32 %r5, [%rd11]; setp.eq.u32 %p1, %r5, 0; @%p1 bra L;");
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t buffer = rig_alloc(device, 4 * N_WORDS);
	struct watch watch = { .device = device };
	struct sim_result result;
	pthread_t watcher;

	(void)state;
	assert_int_equal(pthread_create(&watcher, NULL, stop_at_rest, &watch), 0);
	result = rig_try(device, module, 4, N_THREADS, (uint64_t[4]){ buffer, buffer });
	assert_int_equal(pthread_join(watcher, NULL), 0);
	assert_int_equal(result.status, SIM_STOPPED);
	assert_true(watch.rested || WATCHES < 300);
	sim_module_unload(module);
	sim_device_destroy(device);
}

struct job {
	const char *ptx;
	uint32_t n_threads;
	struct outcome outcome;
};

static void *run_job(void *argument)
{
	struct job *job = argument;

	run_on(job->ptx, job->n_threads, N_BLOCKS, &job->outcome);
	return NULL;
}

/* Launches that run beside each other share the threads, and stay what they are alone. */
static void concurrent_launches_share_the_threads(void **state)
{
	static const char ptx[] = KERNEL("", UNEVEN_WORK "mov.u32 %r7, %clock; st.global.u32 [%rd2], %r7;");
	static struct outcome alone;
	static struct job jobs[4];
	pthread_t threads[4];

	(void)state;
	run_on(ptx, 1, N_BLOCKS, &alone);
	for (int i = 0; i < 4; i++) {
		jobs[i] = (struct job){ .ptx = ptx, .n_threads = 3 };
		assert_int_equal(pthread_create(&threads[i], NULL, run_job, &jobs[i]), 0);
	}
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(jobs[i].outcome.result.status, SIM_OK);
		assert_memory_equal(jobs[i].outcome.words, alone.words, sizeof(alone.words));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_of_the_common_shape_run_apart),
		cmocka_unit_test(kernels_whose_blocks_may_meet_run_together),
		cmocka_unit_test(calls_are_followed),
		cmocka_unit_test(results_and_clocks_are_those_of_one_thread),
		cmocka_unit_test(the_first_failure_in_simulated_time_stands),
		cmocka_unit_test(a_hang_on_many_threads_ends_when_the_device_stops),
		cmocka_unit_test(a_kernel_that_only_polls_burns_no_core),
		cmocka_unit_test(concurrent_launches_share_the_threads),
	};

	return cmocka_run_group_tests_name("simgpu: threads", tests, NULL, NULL);
}

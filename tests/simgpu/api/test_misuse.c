/* SPDX-License-Identifier: Apache-2.0
 *
 * test_misuse.c - what a program must not do gives the error a device gives, and a line that says where.
 *
 * Usage: test_misuse MISUSE, programs/misuse.cu built; LD_LIBRARY_PATH leads to simgpu's libraries.
 */
#include "support.h"

#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program;

enum after { FORGOTTEN, STAYS };

/* misuse NAME prints `error`, then what cudaFree() answers afterwards; stderr has every one of `said`. */
static void expect(const char *name, const char *error, enum after after, const char *const said[3])
{
	struct run run = { .arguments = { program, name } };
	struct run_result result;
	char expected[128];

	run_program(&run, &result);
	assert_int_equal(result.exit_status, 0);
	snprintf(expected, sizeof(expected), "%s\n%s\n", error, after == STAYS ? error : "cudaSuccess");
	if (strcmp(result.out, expected) != 0)
		fail_msg("%s: printed '%s', not '%s'; stderr: %s", name, result.out, expected, result.err);
	for (int i = 0; i < 3 && said[i]; i++) {
		if (!strstr(result.err, said[i]))
			fail_msg("%s: '%s' is not in '%s'", name, said[i], result.err);
	}
	run_result_finish(&result);
}

#define SAID(...) ((const char *const[3]){ __VA_ARGS__ })
#define NOTHING   SAID(NULL)

static void an_illegal_address_is_found(void **state)
{
	expect("past_the_end", "cudaErrorIllegalAddress", STAYS, SAID("illegal address", "global", "store"));
	expect("before_the_start", "cudaErrorIllegalAddress", STAYS, SAID("illegal address", "PTX line"));
	expect("null", "cudaErrorIllegalAddress", STAYS,
	       SAID("illegal address 0x0", "block (0,0,0)", "thread (0,0,0)"));
	expect("host_memory", "cudaErrorIllegalAddress", STAYS, SAID("illegal address"));
}

static void a_misaligned_access_is_found(void **state)
{
	expect("misaligned", "cudaErrorMisalignedAddress", STAYS, SAID("misaligned", "8 bytes", "load_wide"));
}

static void shared_memory_has_an_end(void **state)
{
	expect("past_static_shared", "cudaErrorIllegalAddress", STAYS, SAID("shared", "overrun_shared"));
	expect("past_dynamic_shared", "cudaErrorIllegalAddress", STAYS, SAID("shared", "overrun_dynamic"));
}

static void local_memory_and_the_stack_have_an_end(void **state)
{
	expect("past_local", "cudaErrorIllegalAddress", STAYS, SAID("local", "overrun_local"));
	expect("stack_overflow", "cudaErrorIllegalAddress", STAYS, SAID("stack"));
}

static void a_barrier_is_not_for_any_number_of_threads(void **state)
{
	expect("odd_barrier", "cudaErrorIllegalInstruction", STAYS, SAID("barrier 1 for 33 threads", "odd_barrier"));
	expect("far_barrier", "cudaErrorIllegalInstruction", STAYS, SAID("barrier 16", "far_barrier"));
}

static void a_call_needs_a_function(void **state)
{
	expect("no_function", "cudaErrorIllegalInstruction", STAYS, SAID("no function", "call_nothing"));
}

static void impossible_shapes_are_refused(void **state)
{
	expect("many_threads", "cudaErrorInvalidConfiguration", FORGOTTEN, NOTHING);
	expect("many_blocks", "cudaErrorInvalidConfiguration", FORGOTTEN, NOTHING);
	expect("more_than_bound", "cudaErrorLaunchOutOfResources", FORGOTTEN, NOTHING);
}

static void too_much_shared_memory_is_refused(void **state)
{
	expect("much_shared", "cudaErrorInvalidValue", FORGOTTEN, NOTHING);
	expect("too_much_opted_in", "cudaErrorInvalidValue", FORGOTTEN, NOTHING);
}

static void freed_memory_is_gone(void **state)
{
	expect("after_free", "cudaErrorIllegalAddress", STAYS, SAID("illegal address", "store"));
	expect("after_async_free", "cudaErrorIllegalAddress", STAYS, SAID("illegal address", "store"));
	expect("freed_twice", "cudaErrorInvalidValue", FORGOTTEN, NOTHING);
	expect("copy_after_free", "cudaErrorInvalidValue", FORGOTTEN, NOTHING);
	expect("copy_too_long", "cudaErrorInvalidValue", FORGOTTEN, NOTHING);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_illegal_address_is_found),
		cmocka_unit_test(a_misaligned_access_is_found),
		cmocka_unit_test(shared_memory_has_an_end),
		cmocka_unit_test(local_memory_and_the_stack_have_an_end),
		cmocka_unit_test(a_barrier_is_not_for_any_number_of_threads),
		cmocka_unit_test(a_call_needs_a_function),
		cmocka_unit_test(impossible_shapes_are_refused),
		cmocka_unit_test(too_much_shared_memory_is_refused),
		cmocka_unit_test(freed_memory_is_gone),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: test_misuse MISUSE\n");
		return 2;
	}
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

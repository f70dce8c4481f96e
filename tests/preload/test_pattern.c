/* SPDX-License-Identifier: Apache-2.0
 *
 * test_pattern.c - which kernels a list of patterns names.
 */
#include "pattern.h"
#include "support.h"

#include <string.h>

static void each_form_of_a_name_is_matched(void **state)
{
	static const char name[] = "void ns::gemm<128, float>(float const*, int (*)[3])";
	static const char *const good[] = { "void ns::gemm<128, float>(float const*, int (*)\\[3])",
					    "*gemm*",
					    "ns::gemm<128, float>(*",
					    "ns::gemm<128, float>",
					    "ns::gemm<128*",
					    "ns::gemm",
					    "ns::*",
					    "[n]s::gemm",
					    "void *" };
	static const char *const bad[] = { "gemm", "gemm*", "ns::gem", "ns", "void", "ns::gemm<256*", "[", "" };

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (!warpspan_pattern_matches(good[i], name))
			fail_msg("'%s' does not match", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (warpspan_pattern_matches(bad[i], name))
			fail_msg("'%s' matches", bad[i]);
}

static void names_of_all_shapes_are_taken_apart(void **state)
{
	static const struct {
		const char *demangled, *bare;
	} names[] = {
		{ "k(int*)", "k" },
		{ "k()", "k" },
		{ "plain_c", "plain_c" },
		{ "void k<1>(int*)", "k" },
		{ "(anonymous namespace)::k(int*)", "(anonymous namespace)::k" },
		{ "void (anonymous namespace)::k<(int)1>(int*)", "(anonymous namespace)::k" },
		{ "void a::k<b<c>, (d)2>(void (*)(int, e<f>))", "a::k" },
		{ "void run<main::{lambda(int)#1}>(main::{lambda(int)#1})", "run" },
		{ "std::enable_if<true, void>::type k<int>(int*)", "k" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!warpspan_pattern_matches(names[i].bare, names[i].demangled))
			fail_msg("'%s' is not the name in '%s'", names[i].bare, names[i].demangled);
		assert_false(warpspan_pattern_matches("", names[i].demangled));
		assert_false(warpspan_pattern_matches("other", names[i].demangled));
	}
	assert_false(warpspan_pattern_matches("k", ")"));
	assert_false(warpspan_pattern_matches("k", "))"));
	assert_false(warpspan_pattern_matches("k", "k>)"));
	assert_false(warpspan_pattern_matches("k", "(int)"));
}

static void a_list_is_split_at_its_commas(void **state)
{
	char pattern[WARPSPAN_TEXT_BYTES];
	const char *at = " a* ,\tk<1, 2>(int, float) ,, [,b,c<d";
	static const char *const wanted[] = { "a*", "k<1, 2>(int, float)", "[", "b", "c<d" };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		at = warpspan_pattern_next(at, &pattern);
		assert_non_null(at);
		assert_string_equal(pattern, wanted[i]);
	}
	assert_null(warpspan_pattern_next(at, &pattern));
	assert_null(warpspan_pattern_next("", &pattern));
	assert_null(warpspan_pattern_next(" , ", &pattern));
	assert_true(warpspan_pattern_list_matches("a*, k*", "k(int*)"));
	assert_true(warpspan_pattern_list_matches("*", "k(int*)"));
	assert_false(warpspan_pattern_list_matches("a*, b*", "k(int*)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_of_a_name_is_matched),
		cmocka_unit_test(names_of_all_shapes_are_taken_apart),
		cmocka_unit_test(a_list_is_split_at_its_commas),
	};

	return cmocka_run_group_tests_name("pattern", tests, NULL, NULL);
}

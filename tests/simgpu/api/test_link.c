/* SPDX-License-Identifier: Apache-2.0
 *
 * test_link.c - linking texts of PTX: what becomes of each kind of name, what is refused, that nothing crashes.
 */
#include "support.h"

#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char first[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
			    ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
			    "// .visible .global .u32 in_a_comment;\n"
			    ".weak .global .align 4 .u32 merged = 5;\n"
			    ".extern .global .align 4 .u32 across;\n"
			    ".global .align 1 .b8 $str[3] = {97, 59, 0};\n"
			    ".weak .func (.param .b32 r) both(.param .b32 a)\n{\n\tret;\n}\n"
			    ".visible .entry one(.param .u64 p)\n{\n\tmov.u64 %rd1, $str; // ; }\n\tret;\n}\n";
static const char second[] = ".version 8.3\n.target sm_90\n.address_size 64\n"
			     ".weak .global .align 4 .u32 merged = 5;\n"
			     ".visible .global .align 4 .u32 across = 7;\n"
			     ".global .align 1 .b8 $str[2] = {98, 0};\n"
			     ".visible .func (.param .b32 r) both(.param .b32 a)\n{\n\t{ ret; }\n}\n"
			     ".visible .func (.param .b32 r) twice(.param .b32 a)\n{\n\tret;\n}\n"
			     ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
			     ".visible .entry two()\n{\n\tmov.u64 %rd1, $str;\n\tmov.u64 %rd2, $str2;\n}\n";

static unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static enum link_status link_two(const char *a, const char *b, char log[256], char **ret_text)
{
	struct link_unit units[] = { { a, "a.ptx" }, { b, "b.ptx" } };

	log[0] = '\0';
	return ptx_link(units, 2, log, 256, ret_text);
}

static void each_name_is_one_thing(void **state)
{
	char log[256], *text;

	assert_int_equal(link_two(first, second, log, &text), LINK_OK);
	assert_int_equal(strncmp(text, ".version 8.3\n.target sm_90\n", 26), 0);
	assert_int_equal(count_of(text, ".version"), 1);
	/* A weak variable stays once, where it came first. */
	assert_int_equal(count_of(text, "merged"), 1);
	/* A declaration before the definition stays, one behind it goes. */
	assert_int_equal(count_of(text, ".extern .global .align 4 .u32 across;"), 1);
	assert_int_equal(count_of(text, ".visible .global .align 4 .u32 across = 7;"), 1);
	assert_int_equal(count_of(text, " twice("), 2);
	/* The strong function wins; what came before only declares it. */
	assert_int_equal(count_of(text, ".weak .func"), 0);
	assert_int_equal(count_of(text, ".extern .func (.param .b32 r) both(.param .b32 a)\n;"), 1);
	assert_int_equal(count_of(text, ".visible .func (.param .b32 r) both"), 1);
	/* Each unit keeps its own string, and only whole words are renamed. */
	assert_int_equal(count_of(text, ".b8 $str$unit0[3] = {97, 59, 0};"), 1);
	assert_int_equal(count_of(text, ".b8 $str$unit1[2] = {98, 0};"), 1);
	assert_int_equal(count_of(text, "%rd1, $str$unit0; // ; }"), 1);
	assert_int_equal(count_of(text, "%rd1, $str$unit1;"), 1);
	assert_int_equal(count_of(text, "%rd2, $str2;"), 1);
	assert_int_equal(count_of(text, ".entry"), 2);
	free(text);
}

static void what_cannot_be_linked_is_named(void **state)
{
	char log[256], *text;
	static const char again[] = ".version 8.0\n.target sm_80\n.visible .global .u32 across;\n";
	static const char open_ended[] = ".version 8.0\n.target sm_80\n.visible .entry one() {\n";

	assert_int_equal(link_two(second, again, log, &text), LINK_FAILED);
	assert_string_equal(log, "'across' is defined in a.ptx and in b.ptx");
	assert_int_equal(link_two(first, open_ended, log, &text), LINK_FAILED);
	assert_string_equal(log, "b.ptx: the text ends inside a statement");
	assert_int_equal(link_two(first, "", log, &text), LINK_FAILED);
	assert_string_equal(log, "b.ptx: not PTX: no .version and .target");
	assert_int_equal(ptx_link(NULL, 0, log, sizeof(log), &text), LINK_FAILED);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

static void damaged_text_never_crashes(void **state)
{
	unsigned int seed = 1, n_ok = 0, n_refused = 0;

	for (int i = 0; i < 3000; i++) {
		char log[256], *text = NULL, damaged[sizeof(first)];

		memcpy(damaged, first, sizeof(first));
		for (unsigned int k = next_random(&seed) % 4; k > 0; k--)
			damaged[next_random(&seed) % (sizeof(first) - 1)] = (char)(1 + next_random(&seed) % 126);
		if (next_random(&seed) % 4 == 0)
			damaged[next_random(&seed) % sizeof(first)] = '\0';
		if (link_two(damaged, second, log, &text) == LINK_OK) {
			n_ok++;
			free(text);
		} else {
			n_refused++;
			assert_true(log[0] != '\0');
		}
	}
	/* Both happen, or the loop tests nothing. */
	assert_true(n_ok > 100);
	assert_true(n_refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_one_thing),
		cmocka_unit_test(what_cannot_be_linked_is_named),
		cmocka_unit_test(damaged_text_never_crashes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

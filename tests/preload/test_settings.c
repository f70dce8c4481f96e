/* SPDX-License-Identifier: Apache-2.0
 *
 * test_settings.c - the settings, read from an environment we make.
 */
#include "settings.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char complaints[2048];

static void keep(void *context, const char *text)
{
	(void)strncat(complaints, text, sizeof(complaints) - strlen(complaints) - 2);
	(void)strcat(complaints, "\n");
}

static struct warpspan_settings read_with(const char *name, const char *value)
{
	static struct warpspan_settings settings;

	(void)clearenv();
	if (name != NULL)
		assert_int_equal(setenv(name, value, 1), 0);
	complaints[0] = '\0';
	warpspan_settings_read(&settings, keep, NULL);
	return settings;
}

static void defaults_are_good_values(void **state)
{
	const struct warpspan_settings settings = read_with(NULL, NULL);

	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++) {
		const struct warpspan_setting_info *info = &warpspan_setting_infos[i];

		if (info->type != WARPSPAN_SETTING_TEXT || info->default_text[0] != '\0')
			assert_true(warpspan_setting_valid(info, info->default_text));
	}
	assert_string_equal(settings.out, "warpspan-%p-%n");
	assert_int_equal(settings.format, WARPSPAN_FORMAT_PFTRACE | WARPSPAN_FORMAT_JSON);
	assert_int_equal(settings.buffer, 64 << 20);
	assert_int_equal(settings.events_per_warp, 0);
	assert_string_equal(settings.kernel, "*");
	assert_false(settings.report);
	assert_int_equal(settings.log, WARPSPAN_LOG_INFO);
	assert_int_equal(settings.exit_timeout_ns, 2000000000);
	assert_string_equal(settings.config, "");
	assert_string_equal(complaints, "");
}

static void sizes_take_suffixes(void **state)
{
	assert_int_equal(read_with("WARPSPAN_BUFFER", "64K").buffer, 65536);
	assert_int_equal(read_with("WARPSPAN_BUFFER", "3m").buffer, 3 << 20);
	assert_int_equal(read_with("WARPSPAN_BUFFER", "2G").buffer, 2ull << 30);
	assert_int_equal(read_with("WARPSPAN_BUFFER", "123456").buffer, 123456);
	assert_string_equal(complaints, "");
}

static void times_take_units_and_fractions(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = {
		{ "0", 0 },
		{ "3", 3000000000 },
		{ "2s", 2000000000 },
		{ "500ms", 500000000 },
		{ "500MS", 500000000 },
		{ "1.5s", 1500000000 },
		{ "0.25", 250000000 },
		{ "0.5ms", 500000 },
		{ "10m", 600000000000 },
		{ "0.1h", 360000000000 },
		{ "1.123456789123456789123456789", 1123456789 },
	};

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		assert_int_equal(read_with("WARPSPAN_EXIT_TIMEOUT", times[i].text).exit_timeout_ns, times[i].ns);
		assert_string_equal(complaints, "");
	}
	assert_int_equal(read_with("WARPSPAN_EXIT_TIMEOUT", "1.s").exit_timeout_ns, 2000000000);
	assert_non_null(strstr(complaints, "'1.s' is not valid (0..10m)"));
}

static void a_value_printed_reads_back(void **state)
{
	static const struct {
		const char *name, *text, *printed;
	} values[] = {
		{ "WARPSPAN_OUT", "a b/%p", "a b/%p" },
		{ "WARPSPAN_FORMAT", "JSON,pftrace", "pftrace,json" },
		{ "WARPSPAN_FORMAT", "json", "json" },
		{ "WARPSPAN_FORMAT", "none", "none" },
		{ "WARPSPAN_BUFFER", "1048576", "1M" },
		{ "WARPSPAN_BUFFER", "100000", "100000" },
		{ "WARPSPAN_BUFFER", "1536k", "1536K" },
		{ "WARPSPAN_EVENTS_PER_WARP", "0", "0" },
		{ "WARPSPAN_REPORT", "1", "1" },
		{ "WARPSPAN_LOG", "WARN", "warn" },
		{ "WARPSPAN_LOG", "none", "none" },
		{ "WARPSPAN_EXIT_TIMEOUT", "0s", "0" },
		{ "WARPSPAN_EXIT_TIMEOUT", "120", "2m" },
		{ "WARPSPAN_EXIT_TIMEOUT", "1.5", "1500ms" },
		{ "WARPSPAN_EXIT_TIMEOUT", "1.0000001", "1.000000100s" },
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const struct warpspan_settings settings = read_with(values[i].name, values[i].text);
		const unsigned index = (unsigned)(warpspan_setting_find(values[i].name, strlen(values[i].name)) -
						  warpspan_setting_infos);
		struct warpspan_settings again = { 0 };
		char text[64], text_again[64];

		assert_true(warpspan_setting_text(&settings, index, text, sizeof(text)));
		assert_string_equal(text, values[i].printed);
		assert_true(warpspan_setting_parse(index, text, &again));
		assert_true(warpspan_setting_text(&again, index, text_again, sizeof(text_again)));
		assert_string_equal(text_again, text);
		assert_false(warpspan_setting_text(&settings, index, text, strlen(text)));
	}
}

static void one_setting_of_a_session_is_set(void **state)
{
	struct warpspan_settings settings = read_with(NULL, NULL);
	char error[300] = "untouched";

	assert_int_equal(warpspan_settings_set(&settings, "WARPSPAN_KERNEL=gemm*,a=b", error, sizeof(error)), 0);
	assert_string_equal(settings.kernel, "gemm*,a=b");
	assert_int_equal(warpspan_settings_set(&settings, "out=x", error, sizeof(error)), 0);
	assert_string_equal(settings.out, "x");
	assert_int_equal(warpspan_settings_set(&settings, "Events_Per_Warp=8", error, sizeof(error)), 0);
	assert_int_equal(settings.events_per_warp, 8);
	assert_string_equal(error, "untouched");
}

static void a_bad_assignment_changes_nothing_and_says_why(void **state)
{
	static const struct {
		const char *assignment, *error;
	} bad[] = {
		{ "", "'' is not a setting" },
		{ "KERNLE=a", "'KERNLE' is not a setting; the nearest is KERNEL" },
		{ "kernels=a", "the nearest is KERNEL" },
		{ "a\nb=c", "'a?b' is not a setting; `warpspan settings` lists them" },
		{ "KERNEL", "KERNEL has no value: write KERNEL=VALUE" },
		{ "KERNEL=", "KERNEL='' is not valid" },
		{ "FORMAT=perfetto", "FORMAT='perfetto' is not valid (pftrace,json,none); the nearest is pftrace" },
		{ "REPORT=yes", "REPORT='yes' is not valid (0,1); the nearest is 1" },
		{ "BUFFER=1M", "BUFFER is the same for the whole process and cannot be set for one session; "
			       "set WARPSPAN_BUFFER before the program starts" },
		{ "WARPSPAN_LOG=none", "LOG is the same for the whole process" },
		{ "EXIT_TIMEOUT=1", "EXIT_TIMEOUT is the same for the whole process" },
	};
	const struct warpspan_settings before = read_with(NULL, NULL);
	struct warpspan_settings settings = before;
	char error[300], little[8];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_true(warpspan_settings_set(&settings, bad[i].assignment, error, sizeof(error)) < 0);
		if (strstr(error, bad[i].error) == NULL)
			fail_msg("'%s' is not in: %s", bad[i].error, error);
		assert_memory_equal(&settings, &before, sizeof(before));
	}
	assert_true(warpspan_settings_set(&settings, "KERNLE=a", little, sizeof(little)) < 0);
	assert_string_equal(little, "'KERNLE");
}

static void bad_sizes_are_refused(void **state)
{
	static const char *const bad[] = {
		"64k8", "-1", "1.5M", "abc", "63K", "257G", "99999999999999999999", "18014398509481984K", "K", " 64K"
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(read_with("WARPSPAN_BUFFER", bad[i]).buffer, 64 << 20);
		assert_non_null(strstr(complaints, "WARPSPAN_BUFFER="));
		assert_non_null(strstr(complaints, "64K..32G"));
	}
}

static void formats_are_a_list(void **state)
{
	assert_int_equal(read_with("WARPSPAN_FORMAT", "json").format, WARPSPAN_FORMAT_JSON);
	assert_int_equal(read_with("WARPSPAN_FORMAT", "json,pftrace").format,
			 WARPSPAN_FORMAT_PFTRACE | WARPSPAN_FORMAT_JSON);
	assert_int_equal(read_with("WARPSPAN_FORMAT", "none").format, 0);
	assert_string_equal(complaints, "");
	assert_int_equal(read_with("WARPSPAN_FORMAT", "none,json").format,
			 WARPSPAN_FORMAT_PFTRACE | WARPSPAN_FORMAT_JSON);
	assert_non_null(strstr(complaints, "WARPSPAN_FORMAT"));
	(void)read_with("WARPSPAN_FORMAT", "perfetto");
	assert_non_null(strstr(complaints, "perfetto"));
}

static void flags_and_levels(void **state)
{
	assert_true(read_with("WARPSPAN_REPORT", "1").report);
	assert_false(read_with("WARPSPAN_REPORT", "0").report);
	assert_false(read_with("WARPSPAN_REPORT", "yes").report);
	assert_non_null(strstr(complaints, "WARPSPAN_REPORT"));
	assert_int_equal(read_with("WARPSPAN_LOG", "debug").log, WARPSPAN_LOG_DEBUG);
	assert_int_equal(read_with("WARPSPAN_LOG", "none").log, WARPSPAN_LOG_NONE);
	assert_int_equal(read_with("WARPSPAN_EVENTS_PER_WARP", "100").events_per_warp, 100);
}

static void a_bad_value_gets_the_nearest_good_one(void **state)
{
	static const struct {
		const char *name, *bad, *near; /* NULL: none is near */
	} values[] = {
		{ "WARPSPAN_FORMAT", "perfetto", "pftrace" },
		{ "WARPSPAN_FORMAT", "PFTRACE,jsn", "pftrace,json" },
		{ "WARPSPAN_FORMAT", "none,json", "json" },
		{ "WARPSPAN_FORMAT", "json,,json", "json" },
		{ "WARPSPAN_FORMAT", "xyz", NULL },
		{ "WARPSPAN_BUFFER", "63K", "64K" },
		{ "WARPSPAN_BUFFER", "257G", "32G" },
		{ "WARPSPAN_BUFFER", "99999999999999999999", "32G" },
		{ "WARPSPAN_BUFFER", "-5", "64K" },
		{ "WARPSPAN_BUFFER", "64MB", "64M" },
		{ "WARPSPAN_BUFFER", "1.5M", NULL },
		{ "WARPSPAN_BUFFER", "big", NULL },
		{ "WARPSPAN_EVENTS_PER_WARP", "4194305", "4194304" },
		{ "WARPSPAN_REPORT", "yes", "1" },
		{ "WARPSPAN_REPORT", "False", "0" },
		{ "WARPSPAN_REPORT", "2", "1" },
		{ "WARPSPAN_LOG", "Warning", "warn" },
		{ "WARPSPAN_EXIT_TIMEOUT", "11m", "10m" },
		{ "WARPSPAN_EXIT_TIMEOUT", "601", "10m" },
		{ "WARPSPAN_EXIT_TIMEOUT", "99999999999999999999h", "10m" },
		{ "WARPSPAN_EXIT_TIMEOUT", "-1s", "0" },
		{ "WARPSPAN_EXIT_TIMEOUT", "2sec", "2s" },
		{ "WARPSPAN_EXIT_TIMEOUT", "1.5min", "1.5m" },
		{ "WARPSPAN_EXIT_TIMEOUT", "100us", NULL },
		{ "WARPSPAN_EXIT_TIMEOUT", "1.2.3", NULL },
		{ "WARPSPAN_EXIT_TIMEOUT", "soon", NULL },
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char wanted[128];

		(void)read_with(values[i].name, values[i].bad);
		if (values[i].near == NULL) {
			assert_non_null(strstr(complaints, "is not valid"));
			assert_null(strstr(complaints, "nearest"));
			continue;
		}
		(void)snprintf(wanted, sizeof(wanted), "; the nearest is %s: using ", values[i].near);
		if (strstr(complaints, wanted) == NULL)
			fail_msg("'%s' is not in: %s", wanted, complaints);
		(void)read_with(values[i].name, values[i].near);
		assert_string_equal(complaints, "");
	}
}

static void a_macro_is_no_setting(void **state)
{
	(void)read_with("WARPSPAN_DISABLE", "1");
	assert_non_null(strstr(complaints, "-DWARPSPAN_DISABLE"));
	assert_null(strstr(complaints, "nearest"));
}

static void words_are_as_far_apart_as_their_edits(void **state)
{
	static char word[200];

	assert_int_equal(warpspan_edit_distance("", ""), 0);
	assert_int_equal(warpspan_edit_distance("abc", ""), 3);
	assert_int_equal(warpspan_edit_distance("report", "reprot"), 1);
	assert_int_equal(warpspan_edit_distance("kitten", "sitting"), 3);
	memset(word, 'a', sizeof(word) - 1);
	assert_int_equal(warpspan_edit_distance(word, "b"), WARPSPAN_WORD_CHARACTERS);
}

static void unknown_names_get_the_nearest(void **state)
{
	(void)read_with("WARPSPAN_BUFER", "64M");
	assert_non_null(strstr(complaints, "WARPSPAN_BUFER"));
	assert_non_null(strstr(complaints, "WARPSPAN_BUFFER"));
	(void)read_with("WARPSPAN_KERNELS", "a");
	assert_non_null(strstr(complaints, "the nearest is WARPSPAN_KERNEL\n"));
	(void)read_with("WARPSPAN_SOMETHING_ELSE", "a");
	assert_null(strstr(complaints, "nearest"));
	assert_non_null(strstr(complaints, "warpspan settings"));
	(void)read_with("WARPSPANX", "a");
	assert_string_equal(complaints, "");
	(void)read_with("WARPSPAN_A_NAME_THAT_IS_LONGER_THAN_ANY_NAME_A_SETTING_COULD_POSSIBLY_EVER_HAVE_BY_FAR", "a");
	assert_non_null(strstr(complaints, "is not a setting"));
}

static void empty_is_as_good_as_absent(void **state)
{
	assert_string_equal(read_with("WARPSPAN_OUT", "").out, "warpspan-%p-%n");
	assert_string_equal(complaints, "");
}

static void a_text_that_is_too_long_is_refused(void **state)
{
	static char text[WARPSPAN_TEXT_BYTES + 1];

	memset(text, 'a', WARPSPAN_TEXT_BYTES);
	assert_string_equal(read_with("WARPSPAN_OUT", text).out, "warpspan-%p-%n");
	assert_non_null(strstr(complaints, "WARPSPAN_OUT"));
	text[WARPSPAN_TEXT_BYTES - 1] = '\0';
	assert_string_equal(read_with("WARPSPAN_OUT", text).out, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bad_value_gets_the_nearest_good_one),
		cmocka_unit_test(a_macro_is_no_setting),
		cmocka_unit_test(words_are_as_far_apart_as_their_edits),
		cmocka_unit_test(defaults_are_good_values),
		cmocka_unit_test(sizes_take_suffixes),
		cmocka_unit_test(times_take_units_and_fractions),
		cmocka_unit_test(a_value_printed_reads_back),
		cmocka_unit_test(one_setting_of_a_session_is_set),
		cmocka_unit_test(a_bad_assignment_changes_nothing_and_says_why),
		cmocka_unit_test(bad_sizes_are_refused),
		cmocka_unit_test(formats_are_a_list),
		cmocka_unit_test(flags_and_levels),
		cmocka_unit_test(unknown_names_get_the_nearest),
		cmocka_unit_test(empty_is_as_good_as_absent),
		cmocka_unit_test(a_text_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}

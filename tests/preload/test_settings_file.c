/* SPDX-License-Identifier: Apache-2.0
 *
 * test_settings_file.c - settings from files: what holds, and what is said about what does not.
 */
#include "settings_file.h"
#include "support.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char complaints[4096];
static char folder[] = "/tmp/warpspan-test-XXXXXX", path[sizeof(folder) + 32];

static void keep(void *context, const char *text)
{
	(void)strncat(complaints, text, sizeof(complaints) - strlen(complaints) - 2);
	(void)strcat(complaints, "\n");
}

static int make_folder(void **state)
{
	memcpy(folder + sizeof(folder) - sizeof("XXXXXX"), "XXXXXX", sizeof("XXXXXX"));
	(void)clearenv();
	complaints[0] = '\0';
	if (mkdtemp(folder) == NULL)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/conf.json", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)unlink(path);
	return rmdir(folder);
}

/* The settings with a file of this text in use. */
static struct warpspan_settings read_bytes(const char *text, size_t bytes)
{
	static struct warpspan_settings settings;
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(setenv("WARPSPAN_CONFIG", path, 1), 0);
	complaints[0] = '\0';
	warpspan_settings_read(&settings, keep, NULL);
	return settings;
}

static struct warpspan_settings read_text(const char *text)
{
	return read_bytes(text, strlen(text));
}

/* The complaints are this one, behind the path of the file. */
static void assert_said(const char *wanted)
{
	char expected[1024];

	(void)snprintf(expected, sizeof(expected), "%s%s\n", path, wanted);
	assert_string_equal(complaints, expected);
}

static void names_and_values_are_written_freely(void **state)
{
	const struct warpspan_settings settings = read_text("\xef\xbb\xbf{\n"
							    "  \"kernel\": \"gemm*,\\u0061\",\n"
							    "  \"WARPSPAN_BUFFER\": \"256m\",\n"
							    "  \"warpspan_format\": \"json\",\n"
							    "  \"Events_Per_Warp\": 64,\n"
							    "  \"EXIT_TIMEOUT\": 1.5,\n"
							    "  \"report\": true,\n"
							    "  \"out\": \"\", \"log\": null\n"
							    "}\n");

	assert_string_equal(complaints, "");
	assert_string_equal(settings.kernel, "gemm*,a");
	assert_int_equal(settings.buffer, 256 << 20);
	assert_int_equal(settings.format, WARPSPAN_FORMAT_JSON);
	assert_int_equal(settings.events_per_warp, 64);
	assert_int_equal(settings.exit_timeout_ns, 1500000000);
	assert_true(settings.report);
	assert_string_equal(settings.out, "warpspan-%p-%n");
	assert_int_equal(settings.log, WARPSPAN_LOG_INFO);
}

static void numbers_and_flags_have_several_forms(void **state)
{
	assert_int_equal(read_text("{\"buffer\": 1048576}").buffer, 1 << 20);
	assert_int_equal(read_text("{\"buffer\": 1.048576e6}").buffer, 1 << 20);
	assert_int_equal(read_text("{\"exit_timeout\": 0}").exit_timeout_ns, 0);
	assert_int_equal(read_text("{\"exit_timeout\": 0.000000001}").exit_timeout_ns, 1);
	assert_int_equal(read_text("{\"exit_timeout\": \"250ms\"}").exit_timeout_ns, 250000000);
	assert_true(read_text("{\"report\": 1}").report);
	assert_true(read_text("{\"report\": \"1\"}").report);
	assert_false(read_text("{\"report\": false}").report);
	assert_string_equal(complaints, "");
}

static void the_environment_wins(void **state)
{
	struct warpspan_settings settings;

	(void)setenv("WARPSPAN_KERNEL", "b", 1);
	(void)setenv("WARPSPAN_OUT", "", 1);
	settings = read_text("{\"kernel\": \"a\", \"out\": \"x\"}");
	assert_string_equal(settings.kernel, "b");
	assert_string_equal(settings.out, "x");
	assert_string_equal(complaints, "");
	(void)setenv("WARPSPAN_BUFFER", "1", 1);
	assert_int_equal(read_text("{\"buffer\": \"2M\"}").buffer, 2 << 20);
	assert_string_equal(complaints, "WARPSPAN_BUFFER='1' is not valid (64K..32G); the nearest is 64K: using 2M\n");
}

static void a_mistake_has_its_line_and_the_rest_holds(void **state)
{
	static const struct {
		const char *line, *said;
	} mistakes[] = {
		{ "\"bufer\": \"1M\"", ":3: \"bufer\" is not a setting; the nearest is BUFFER" },
		{ "\"WARPSPAN_KERNLE\": 1", ":3: \"WARPSPAN_KERNLE\" is not a setting; the nearest is KERNEL" },
		{ "\"\\n\": 1", ":3: \"?\" is not a setting; `warpspan settings` lists them" },
		{ "\"\": {\"kernel\": [{}, \"]\"]}", ":3: \"\" is not a setting; `warpspan settings` lists them" },
		{ "\"buffer\": \"63K\"",
		  ":3: \"buffer\": '63K' is not valid (64K..32G); the nearest is 64K: it is left out" },
		{ "\"buffer\": 1e300",
		  ":3: \"buffer\": '1000000000000000052504760255204420248704468581108159154915854115' is not valid "
		  "(64K..32G); the nearest is 32G: it is left out" },
		{ "\"buffer\": 1e999", ":3: \"buffer\": 'inf' is not valid (64K..32G): it is left out" },
		{ "\"report\": 2", ":3: \"report\": '2' is not valid (0,1); the nearest is 1: it is left out" },
		{ "\"report\": [true]", ":3: \"report\" takes true or false (0,1), not a list: it is left out" },
		{ "\"buffer\": true", ":3: \"buffer\" takes a text or a number (64K..32G), not true: it is left out" },
		{ "\"kernel\": 5", ":3: \"kernel\" takes a text (pattern,pattern,...), not a number: it is left out" },
		{ "\"kernel\": {}",
		  ":3: \"kernel\" takes a text (pattern,pattern,...), not an object: it is left out" },
		{ "\"config\": \"x\"", ":3: \"config\" has no effect in a file: one file of settings is read" },
	};

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		char text[256];
		struct warpspan_settings settings;

		(void)snprintf(text, sizeof(text), "{ \"out\": \"a\\\"{\",\n\n  %s,\n\"events_per_warp\": 8}",
			       mistakes[i].line);
		settings = read_text(text);
		assert_said(mistakes[i].said);
		assert_string_equal(settings.out, "a\"{");
		assert_int_equal(settings.events_per_warp, 8);
		assert_string_equal(settings.kernel, "*");
		assert_int_equal(settings.buffer, 64 << 20);
	}
}

static void a_setting_that_comes_twice_is_said(void **state)
{
	assert_int_equal(read_text("{\"events_per_warp\": 2,\n\"WARPSPAN_EVENTS_PER_WARP\": 4}").events_per_warp, 4);
	assert_said(":2: \"WARPSPAN_EVENTS_PER_WARP\" was set in line 1 already; this one holds");
}

static void what_is_not_json_has_its_place_and_nothing_holds(void **state)
{
	static const struct {
		const char *text, *said;
	} mistakes[] = {
		{ "", ":1:1: the file ends where a value" },
		{ "\n  ", ":2:3: the file ends where a value" },
		{ "{\"report\": 1,\n \"\xc3\xa9\": 2,}", ":2:9: there is '}' where something after the comma" },
		{ "{\"report\": 1", ":1:13: the file ends where ',' or '}'" },
		{ "{\"report\": 1 \"out\": 2}", ":1:14: there is '\"out\":' where ',' or '}'" },
		{ "{\"report\" 1}", ":1:11: there is '1}' where ':'" },
		{ "{report: 1}", ":1:2: there is 'report:' where a name in '\"'" },
		{ "{\"report\": True}", ":1:12: there is 'True}' where a value" },
		{ "{\"report\": 01}", ":1:13: there is '1}' where ',' or '}'" },
		{ "{\"report\": 1.}", ":1:14: there is '}' where a digit" },
		{ "{\"report\": -}", ":1:13: there is '}' where a digit" },
		{ "{\"report\": 1e}", ":1:14: there is '}' where a digit" },
		{ "{\"report\": 1111111111111111111111111111111111111111111111111111111111111111}",
		  ":1:12: there is '111111111111' where a shorter number" },
		{ "{\"out\": \"a\n\"}", ":1:11: the line ends where '\"'" },
		{ "{\"out\": \"a\t\"}", ":1:11: there is a blank where '\"'" },
		{ "{\"out\": \"a", ":1:11: the file ends where '\"'" },
		{ "{\"out\": \"\\", ":1:11: the file ends where one of" },
		{ "{\"out\": \"\\x\"}", ":1:11: there is 'x\"}' where one of" },
		{ "{\"out\": \"\\u12g4\"}", ":1:12: there is '12g4\"}' where the four hexadecimal digits" },
		{ "{\"out\": \"\\ud83d\"}", ":1:16: there is '\"}' where the other half" },
		{ "{\"out\": \"\\ude00\"}", ":1:12: there is 'de00\"}' where the four hexadecimal digits" },
		{ "[1, 2", ":1:6: the file ends where ',' or ']'" },
		{ "{} // comment", ":1:4: there is '//' where the end" },
		{ "{\"report\":\n[[[[[[[[[[[[[[[[[[[[", ":2:16: there is '[[[[[' where something that is nested" },
		{ "\xef\xbb\xbf\x30", ": not an object, like {\"kernel\": \"gemm*\"}; nothing in it is used" },
		{ "[]", ": not an object, like {\"kernel\": \"gemm*\"}; nothing in it is used" },
	};

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		char wanted[256];

		assert_false(read_text(mistakes[i].text).report);
		(void)snprintf(wanted, sizeof(wanted), "%s%s", path, mistakes[i].said);
		if (strncmp(complaints, wanted, strlen(wanted)) != 0)
			fail_msg("not '%s' but: %s", wanted, complaints);
		assert_non_null(strstr(complaints, "; nothing in it is used\n"));
		assert_ptr_equal(strchr(complaints, '\n'), complaints + strlen(complaints) - 1);
	}
	assert_false(read_bytes("{\"report\": 1}\n\0x", 15).report);
	assert_said(":2:1: there is a zero byte where the end would have to be; nothing in it is used");
	assert_true(read_text("{\"out\": \"\\ud83d\\ude00\", \"report\": 1}").report);
	assert_string_equal(complaints, "");
}

static void the_programs_locale_does_not_matter(void **state)
{
	static const char *const with_comma[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE" };
	const char *set = NULL;

	for (size_t i = 0; set == NULL && i < sizeof(with_comma) / sizeof(with_comma[0]); i++)
		set = setlocale(LC_ALL, with_comma[i]);
	if (set == NULL) {
		print_message("no locale with a decimal comma is installed\n");
		skip();
	}
	assert_int_equal(read_text("{\"exit_timeout\": 1.5}").exit_timeout_ns, 1500000000);
	assert_string_equal(localeconv()->decimal_point, ",");
	(void)setlocale(LC_ALL, "C");
	assert_string_equal(complaints, "");
}

static void said_of_path(const char *name, const char *why)
{
	struct warpspan_settings settings;
	char wanted[512];

	complaints[0] = '\0';
	(void)setenv("WARPSPAN_CONFIG", name, 1);
	warpspan_settings_read(&settings, keep, NULL);
	(void)snprintf(wanted, sizeof(wanted), "the file of settings '%s' cannot be read: %s; none is taken from it\n",
		       name, why);
	assert_string_equal(complaints, wanted);
	assert_int_equal(settings.events_per_warp, 0);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	said_of_path(path, "it is not a regular file");
	said_of_path("/dev/null", "it is not a regular file");
	said_of_path(folder, "it is a folder");
	said_of_path("/nowhere/conf.json", "No such file or directory");
}

static void a_file_of_the_largest_size_is_read_and_no_larger_one(void **state)
{
	static char text[WARPSPAN_SETTINGS_FILE_BYTES + 1];

	memset(text, ' ', sizeof(text));
	memcpy(text, "{\"events_per_warp\": 8}", 22);
	assert_int_equal(read_bytes(text, WARPSPAN_SETTINGS_FILE_BYTES).events_per_warp, 8);
	assert_string_equal(complaints, "");
	assert_int_equal(read_bytes(text, WARPSPAN_SETTINGS_FILE_BYTES + 1).events_per_warp, 0);
	said_of_path(path, "it is larger than 1 MiB");
}

static void reading_leaves_nothing_open_and_errno_alone(void **state)
{
	static const char *const texts[] = { "{\"report\": 1}", "{", "{\"report\": 7}" };
	struct warpspan_settings settings = { 0 };
	const int next = dup(0);

	assert_true(next >= 0);
	assert_int_equal(close(next), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		(void)read_text(texts[i]);
		errno = 4711;
		warpspan_settings_file_read(path, &settings, NULL, NULL, NULL);
		warpspan_settings_file_read(folder, &settings, NULL, NULL, NULL);
		warpspan_settings_file_read("/nowhere", &settings, NULL, NULL, NULL);
		assert_int_equal(errno, 4711);
		assert_int_equal(dup(0), next);
		assert_int_equal(close(next), 0);
	}
}

static void lines_are_told_of_what_was_set(void **state)
{
	static const char text[] = "{\"out\": \"a\",\n\n\"report\": 7,\n\"kernel\": \"b\"}";
	uint32_t lines[WARPSPAN_N_SETTINGS];
	struct warpspan_settings settings = { 0 };

	memset(lines, 0xff, sizeof(lines));
	warpspan_settings_file_apply("f", text, sizeof(text) - 1, &settings, lines, NULL, NULL);
	for (unsigned i = 0; i < WARPSPAN_N_SETTINGS; i++)
		assert_int_equal(lines[i], i == WARPSPAN_SETTING_INDEX_OUT      ? 1
					   : i == WARPSPAN_SETTING_INDEX_KERNEL ? 4
										: 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
	const struct CMUnitTest tests[] = {
		T(names_and_values_are_written_freely),
		T(numbers_and_flags_have_several_forms),
		T(the_environment_wins),
		T(a_mistake_has_its_line_and_the_rest_holds),
		T(a_setting_that_comes_twice_is_said),
		T(what_is_not_json_has_its_place_and_nothing_holds),
		T(the_programs_locale_does_not_matter),
		T(what_is_no_file_is_not_waited_for),
		T(a_file_of_the_largest_size_is_read_and_no_larger_one),
		T(reading_leaves_nothing_open_and_errno_alone),
		T(lines_are_told_of_what_was_set),
	};

	return cmocka_run_group_tests_name("settings file", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_report.c GOLDEN - the report, compared with the texts in the folder GOLDEN, and its JSON twin.
 *
 * UPDATE_GOLDEN=1 in the environment writes the texts anew; look at the difference before committing it.
 */
#include "support.h"

#include "built_model.h"
#include "report.h"
#include "text.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *golden;

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 16);

	if (file && text && fread(text, 1, (1 << 16) - 1, file) == 0)
		text[0] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void compare(const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", golden, name);
	if (getenv("UPDATE_GOLDEN")) {
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		fputs(text, file);
		assert_int_equal(fclose(file), 0);
	}
	char *expected = read_file(path);
	if (strcmp(expected, text) != 0)
		fail_msg("%s differs; this was printed:\n%s", name, text);
	free(expected);
}

static char *report(const struct warpspan_model *model, unsigned columns)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);

	assert_non_null(file);
	assert_int_equal(warpspan_report(model, file, columns), WARPSPAN_OK);
	fclose(file);
	return text;
}

static double number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (!cJSON_IsNumber(item))
		fail_msg("'%s' is not a number", key);
	return item->valuedouble;
}

static const cJSON *find_region(const cJSON *root, const char *name)
{
	const cJSON *region;

	cJSON_ArrayForEach(region, cJSON_GetObjectItemCaseSensitive(root, "regions"))
	{
		if (strcmp(cJSON_GetObjectItemCaseSensitive(region, "name")->valuestring, name) == 0)
			return region;
	}
	fail_msg("no region '%s'", name);
	return NULL;
}

static cJSON *report_json(const struct warpspan_model *model, char **ret_text)
{
	size_t bytes = 0;
	FILE *file = open_memstream(ret_text, &bytes);

	assert_non_null(file);
	assert_int_equal(warpspan_report_json(model, file), WARPSPAN_OK);
	fclose(file);
	cJSON *root = cJSON_Parse(*ret_text);
	assert_non_null(root);
	return root;
}

static void check_golden(bool troubled, unsigned columns, const char *name)
{
	struct warpspan_model *model = built_example(troubled);
	char *text = report(model, columns);

	compare(name, text);
	free(text);
	warpspan_model_destroy(model);
}

static void a_good_capture_in_80_columns(void **state)
{
	check_golden(false, 80, "report_80.txt");
}

static void a_good_capture_in_120_columns(void **state)
{
	check_golden(false, 120, "report_120.txt");
}

static void a_troubled_capture_in_80_columns(void **state)
{
	check_golden(true, 80, "troubled_80.txt");
}

static void a_troubled_capture_in_120_columns(void **state)
{
	check_golden(true, 120, "troubled_120.txt");
}

static void an_empty_capture_says_so(void **state)
{
	struct warpspan_model *model = built_create("./nothing");
	char *text = report(model, 80);

	assert_non_null(strstr(text, "No launch of an instrumented kernel"));
	free(text);
	warpspan_model_destroy(model);
}

static void launches_without_records_are_named(void **state)
{
	struct warpspan_model *model = built_create("./hang");
	struct warpspan_stats *stats = NULL;

	built_device(model, "x", 1);
	built_kernel(model, "seen(int)");
	built_kernel(model, "hang(int*)");
	built_launch(model, 1);
	char *text = report(model, 80), *json = NULL;
	assert_non_null(strstr(text, "No launch in this capture has records"));
	assert_non_null(strstr(text, "1 launch of hang(int*) has no records"));
	free(text);
	built_grid(model, 0, 0, 1, 32, 0, 100);
	built_track(model, 0, 0, 0, 0, 100);
	built_launch(model, 1);
	text = report(model, 80);
	assert_null(strstr(text, "No launch"));
	assert_non_null(strstr(text, "2 launches of hang(int*) have no records"));
	assert_null(strstr(text, "of seen(int) h"));
	assert_non_null(strstr(text, "none lost"));
	free(text);
	cJSON *root = report_json(model, &json);
	const cJSON *unseen = cJSON_GetObjectItem(root, "launches_without_records");
	assert_int_equal(cJSON_GetArraySize(unseen), 1);
	assert_int_equal(number(cJSON_GetArrayItem(unseen, 0), "count"), 2);
	cJSON_Delete(root);
	free(json);
	model->launches[0].result = 1;                 /* a launch that failed is none */
	model->grids[0].match = WARPSPAN_MATCH_UNSURE; /* the grid may be several launches, but not of another kernel */
	assert_int_equal(warpspan_stats_compute(model, &stats), WARPSPAN_OK);
	assert_int_equal(stats->n_unseen, 1);
	warpspan_stats_destroy(stats);
	warpspan_model_destroy(model);
}

static void what_was_destroyed_is_told(void **state)
{
	static const char *const names[] = { "context_lost", "overwritten" };
	static const char *const texts[] = { "lost context: 1 CUDA context ended", "overwritten memory: " };
	char line[512];

	for (int i = 0; i < 2; i++) {
		struct warpspan_model *model = built_example(false);

		built_counter(model, names[i], 1);
		char *text = report(model, 80), *json = NULL;
		assert_non_null(strstr(text, texts[i]));
		assert_non_null(strstr(text, "an unknown number lost"));
		assert_null(strstr(text, "none lost"));
		free(text);
		failures_line(model, line, sizeof(line));
		assert_non_null(strstr(line, i ? "overwritten memory" : "lost context"));
		cJSON *root = report_json(model, &json);
		const cJSON *lost = cJSON_GetObjectItem(root, "lost");
		assert_int_equal(number(lost, i ? "overwritten_warps" : "contexts"), 1);
		cJSON_Delete(root);
		free(json);
		warpspan_model_destroy(model);
	}
}

static void no_line_is_wider_than_the_terminal(void **state)
{
	for (unsigned columns = 80; columns <= 200; columns += 20) {
		struct warpspan_model *model = built_example(true);
		char *text = report(model, columns), *rest = text;

		for (char *line; (line = strsep(&rest, "\n")) != NULL;)
			if (text_width(line) > columns)
				fail_msg("%zu of %u columns: %s", text_width(line), columns, line);
		free(text);
		warpspan_model_destroy(model);
	}
}

/* The settings stand on a line of their own, as they are typed: that one does not break. */
static void narrow_terminals_get_fewer_columns(void **state)
{
	for (unsigned columns = 40; columns < 80; columns += 5) {
		struct warpspan_model *model = built_example(true);
		char *text = report(model, columns), *rest = text;

		if (!strstr(text, "not shown for want of columns: "))
			fail_msg("%u columns: nothing is said to be left out:\n%s", columns, text);
		for (char *line; (line = strsep(&rest, "\n")) != NULL;)
			if (text_width(line) > columns && !strstr(line, "WARPSPAN_"))
				fail_msg("%zu of %u columns: %s", text_width(line), columns, line);
		free(text);
		warpspan_model_destroy(model);
	}
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_has_the_same_numbers(void **state)
{
	struct warpspan_model *model = built_example(true);
	char *text = NULL;
	cJSON *root = report_json(model, &text);
	const cJSON *lost = cJSON_GetObjectItemCaseSensitive(root, "lost");
	const cJSON *clock = cJSON_GetObjectItemCaseSensitive(root, "clock");
	const cJSON *multiply = find_region(root, "multiply");
	const cJSON *launch = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "launches"), 0);

	assert_string_equal(cJSON_GetObjectItemCaseSensitive(root, "schema")->valuestring, "warpspan-report/1");
	assert_int_equal(number(lost, "records"), 1234);
	assert_int_equal(number(lost, "warps"), 56);
	assert_int_equal(number(clock, "tick_ns"), 32);
	assert_int_equal(number(clock, "rate_hz"), 1754600000);
	assert_true(number(clock, "error_ns") > 11.5 && number(clock, "error_ns") < 11.7);
	/* 2 launches x 4 blocks x 3 warps x 8, less the 2 whose end was lost */
	assert_int_equal(number(multiply, "count"), 190);
	assert_int_equal(number(multiply, "cut"), 2);
	assert_int_equal(number(multiply, "warps"), 24);
	assert_int_equal(number(multiply, "line"), 120);
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(multiply, "file")->valuestring,
			    "../device_rt/examples/pipeline.cu");
	assert_true(number(multiply, "min_ns") <= number(multiply, "p50_ns"));
	assert_true(number(multiply, "p50_ns") <= number(multiply, "p99_ns"));
	assert_true(number(multiply, "p99_ns") <= number(multiply, "max_ns"));
	assert_int_equal(number(multiply, "total_ns") / 190, number(multiply, "mean_ns"));
	assert_int_equal(number(launch, "duration_ns"), 25000);
	assert_int_equal(number(launch, "start_ns"), 0);
	assert_string_equal(cJSON_GetObjectItemCaseSensitive(root, "base_ns")->valuestring, "1767348001000000000");
	assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(root, "launches")), 3);
	launch = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(root, "launches"), 1);
	assert_int_equal(number(launch, "start_ns"), 100000);
	cJSON_Delete(root);
	free(text);
	warpspan_model_destroy(model);
}

static void json_survives_any_name(void **state)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct warpspan_model *model = built_at_random(seed);
		char *text = NULL;
		cJSON *root = report_json(model, &text);
		char *clean = malloc(strlen(text) + 1);

		for (char *c = text; *c; c++) /* JSON's white space is not what text_clean() is about */
			*c = *c == '\n' || *c == '\t' ? ' ' : *c;
		assert_string_equal(text_clean(clean, strlen(text) + 1, text), text);
		free(clean);
		cJSON_Delete(root);
		free(text);
		warpspan_model_destroy(model);
	}
}

/* --- numbers and names ------------------------------------------------------------------------ */

static void durations_have_three_digits(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} cases[] = {
		{ 0, "0ns" },       { 999, "999ns" },       { 999.6, "1.00us" }, { 1234, "1.23us" },
		{ 9994, "9.99us" }, { 9996, "10.0us" },     { 99960, "100us" },  { 123456, "123us" },
		{ 1e6, "1.00ms" },  { 12345678, "12.3ms" }, { 1e9, "1.00s" },    { 3.6e12, "3600s" },
		{ -1, "?" },
	};
	char text[TEXT_NUMBER_BYTES];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(text_duration(text, cases[i].ns), cases[i].text);
}

static void sizes_and_counts_read_well(void **state)
{
	char text[TEXT_NUMBER_BYTES];

	assert_string_equal(text_count(text, 0), "0");
	assert_string_equal(text_count(text, 1234567), "1,234,567");
	assert_string_equal(text_count(text, UINT64_MAX), "18,446,744,073,709,551,615");
	assert_string_equal(text_counted(text, 1, "record"), "1 record");
	assert_string_equal(text_bytes(text, 64 << 20), "64 MiB");
	assert_string_equal(text_bytes(text, 1536), "1.5 KiB");
	assert_string_equal(text_size_setting(text, 36 << 20), "36M");
	assert_string_equal(text_size_setting(text, (64 << 10) + 4), "65540");
	assert_string_equal(text_rate(text, 1754.6e6), "1.755 GHz");
	assert_string_equal(text_value(text, -17.5), "-17.5");
	assert_string_equal(text_value(text, 3), "3");
}

static void names_are_elided_in_the_middle(void **state)
{
	char shown[64];

	assert_string_equal(text_elide(shown, sizeof(shown), "short", 10), "short");
	assert_string_equal(text_elide(shown, sizeof(shown), "a_long_kernel_name(int)", 13), "a_long...int)");
	assert_string_equal(text_elide(shown, sizeof(shown), "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc", 5),
			    "\xc3\xa4\xc3\xb6...");
	assert_string_equal(text_clean(shown, sizeof(shown), "a\nb\xff\xc3"), "a?b??");
	assert_string_equal(text_clean(shown, 4, "abcdef"), "abc");
	assert_string_equal(text_clean(shown, 3, "a\xc3\xa4"), "a");
}

static void paths_keep_their_end(void **state)
{
	char shown[64];

	assert_string_equal(text_elide_path(shown, sizeof(shown), "short.wspan", 20), "short.wspan");
	assert_string_equal(text_elide_path(shown, sizeof(shown), "/long/way/to/captures/late.wspan", 20),
			    ".../late.wspan");
	assert_string_equal(text_elide_path(shown, sizeof(shown), "a-name-of-32-characters-12.wspan", 20),
			    "...aracters-12.wspan");
}

static void invalid_text_is_replaced_and_controls_stay(void **state)
{
	char valid[64];

	assert_string_equal(text_valid(valid, "a\tb\xff"
					      "c\xc3\xa4\xe2\x82"),
			    "a\tb\xef\xbf\xbd"
			    "c\xc3\xa4\xef\xbf\xbd\xef\xbf\xbd");
}

static void a_place_without_a_file_has_no_colon(void **state)
{
	struct warpspan_model *model = built_create("x");
	char source[64];

	assert_string_equal(text_source(source, sizeof(source), "dir/a.cu", 3), "a.cu:3");
	built_device(model, "x", 1);
	built_kernel(model, "k");
	built_region(model, 0, "site 0x00001a00 (its module was unloaded)", "", 0);
	built_grid(model, 0, 0, 1, 32, 0, 100);
	built_track(model, 0, 0, 0, 0, 100);
	built_slice(model, 0, 10, 20, 0, WARPSPAN_END_OPEN);
	built_unpaired(model, WARPSPAN_UNPAIRED_OPEN, 0, 1);
	model->clocks[0].tick_at_most = true;
	for (unsigned columns = 80; columns <= 120; columns += 40) {
		char *text = report(model, columns);
		assert_non_null(strstr(text, "site 0x00001a00 (its module was unloaded)"));
		assert_null(strstr(text, " :0"));
		assert_non_null(strstr(text, "every 32ns at most"));
		free(text);
	}
	warpspan_model_destroy(model);
}

static void percentiles_are_nearest_rank(void **state)
{
	struct warpspan_model *model = built_create("x");
	struct warpspan_stats *stats = NULL;

	built_device(model, "x", 1);
	built_kernel(model, "k");
	built_region(model, 0, "r", "f", 1);
	built_grid(model, 0, 0, 1, 32, 0, 2000000);
	built_track(model, 0, 0, 0, 0, 2000000);
	for (uint64_t i = 0; i < 1000; i++) /* durations 1000, 999, ... 1: enough for the radix sort */
		built_slice(model, 0, i * 2000, i * 2000 + 1000 - i, 0, WARPSPAN_END_RECORDED);
	built_slice(model, 0, 2000000, 2000000, 0, WARPSPAN_END_OPEN);
	assert_int_equal(warpspan_stats_compute(model, &stats), WARPSPAN_OK);
	assert_int_equal(stats->regions[0].count, 1000);
	assert_int_equal(stats->regions[0].n_cut, 1);
	assert_int_equal(stats->regions[0].p50_ns, 500);
	assert_int_equal(stats->regions[0].p99_ns, 990);
	assert_int_equal(stats->regions[0].min_ns, 1);
	assert_int_equal(stats->regions[0].max_ns, 1000);
	assert_int_equal(stats->regions[0].total_ns, 500500);
	warpspan_stats_destroy(stats);
	warpspan_model_destroy(model);
}

/* f runs inside itself: 100 ns in all, of which the calls within take 60 and 20. */
static struct warpspan_model *with_recursion(void)
{
	struct warpspan_model *model = built_create("x");

	built_device(model, "x", 1);
	built_kernel(model, "k");
	built_region(model, 0, "f", "f.cu", 1);
	built_region(model, 0, "g", "f.cu", 2);
	built_grid(model, 0, 0, 1, 32, 0, 200);
	built_track(model, 0, 0, 0, 0, 200);
	built_slice(model, 0, 0, 100, 0, WARPSPAN_END_RECORDED);
	built_slice(model, 1, 10, 90, 1, WARPSPAN_END_RECORDED);
	built_slice(model, 0, 20, 80, 2, WARPSPAN_END_RECORDED);
	built_slice(model, 0, 30, 50, 3, WARPSPAN_END_RECORDED);
	/* the outer one has no end: the next one is the outermost that counts */
	built_slice(model, 0, 100, 200, 0, WARPSPAN_END_OPEN);
	built_slice(model, 0, 110, 120, 1, WARPSPAN_END_RECORDED);
	return model;
}

static void a_region_inside_itself_passes_its_time_once(void **state)
{
	struct warpspan_model *model = with_recursion();
	struct warpspan_stats *stats = NULL;

	assert_int_equal(warpspan_stats_compute(model, &stats), WARPSPAN_OK);
	assert_int_equal(stats->regions[0].count, 4);
	assert_int_equal(stats->regions[0].n_nested, 2);
	assert_int_equal(stats->regions[0].n_cut, 1);
	assert_int_equal(stats->regions[0].total_ns, 110);
	assert_int_equal(stats->regions[0].max_ns, 100);
	assert_true(stats->regions[0].mean_ns == 190 / 4.0);
	assert_true(stats->regions[0].share == 110 / 200.0);
	assert_int_equal(stats->regions[1].total_ns, 80);
	warpspan_stats_destroy(stats);
	char *text = report(model, 120), *json = NULL;
	assert_non_null(strstr(text, "f: 2 slices inside another of the same region"));
	assert_null(strstr(text, "g: "));
	free(text);
	cJSON *root = report_json(model, &json);
	assert_int_equal(number(find_region(root, "f"), "nested"), 2);
	assert_int_equal(number(find_region(root, "f"), "total_ns"), 110);
	cJSON_Delete(root);
	free(json);
	warpspan_model_destroy(model);
}

static void what_is_no_number_is_counted_and_not_averaged(void **state)
{
	struct warpspan_model *model = built_create("x");
	const uint32_t nan = 0x7fc00000, infinity = 0x7f800000;
	struct warpspan_stats *stats = NULL;

	built_device(model, "x", 1);
	built_kernel(model, "k");
	built_region(model, 0, "v", "f.cu", 1);
	built_region(model, 0, "never", "f.cu", 2);
	built_region(model, 0, "large", "f.cu", 3);
	built_grid(model, 0, 0, 1, 32, 0, 100);
	built_track(model, 0, 0, 0, 0, 100);
	built_mark(model, 0, 1, WARPSPAN_KIND_VALUE_F32, nan);
	built_mark(model, 0, 2, WARPSPAN_KIND_VALUE_F32, 0x40400000 /* 3 */);
	built_mark(model, 0, 3, WARPSPAN_KIND_VALUE_F32, nan);
	built_mark(model, 0, 4, WARPSPAN_KIND_VALUE_F32, 0x3f800000 /* 1 */);
	built_mark(model, 1, 5, WARPSPAN_KIND_VALUE_F32, nan);
	built_mark(model, 2, 6, WARPSPAN_KIND_VALUE_F32, infinity);
	built_mark(model, 2, 7, WARPSPAN_KIND_VALUE_F32, infinity);
	assert_int_equal(warpspan_stats_compute(model, &stats), WARPSPAN_OK);
	assert_int_equal(stats->regions[0].n_marks, 4);
	assert_int_equal(stats->regions[0].n_nan, 2);
	assert_true(stats->regions[0].value_min == 1 && stats->regions[0].value_max == 3);
	assert_true(stats->regions[0].value_mean == 2);
	assert_true(stats->regions[2].value_mean > 1e300);
	warpspan_stats_destroy(stats);
	char *text = report(model, 80), *json = NULL;
	assert_non_null(strstr(text, "NaN"));
	assert_null(strstr(text, "nan"));
	free(text);
	cJSON *root = report_json(model, &json);
	const cJSON *value = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "values"), 0);
	assert_int_equal(number(value, "nan"), 2);
	assert_int_equal(number(value, "mean"), 2);
	cJSON_Delete(root);
	free(json);
	warpspan_model_destroy(model);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_three_digits),
		cmocka_unit_test(sizes_and_counts_read_well),
		cmocka_unit_test(names_are_elided_in_the_middle),
		cmocka_unit_test(paths_keep_their_end),
		cmocka_unit_test(invalid_text_is_replaced_and_controls_stay),
		cmocka_unit_test(a_place_without_a_file_has_no_colon),
		cmocka_unit_test(percentiles_are_nearest_rank),
		cmocka_unit_test(a_region_inside_itself_passes_its_time_once),
		cmocka_unit_test(what_is_no_number_is_counted_and_not_averaged),
		cmocka_unit_test(a_good_capture_in_80_columns),
		cmocka_unit_test(a_good_capture_in_120_columns),
		cmocka_unit_test(a_troubled_capture_in_80_columns),
		cmocka_unit_test(a_troubled_capture_in_120_columns),
		cmocka_unit_test(an_empty_capture_says_so),
		cmocka_unit_test(launches_without_records_are_named),
		cmocka_unit_test(what_was_destroyed_is_told),
		cmocka_unit_test(narrow_terminals_get_fewer_columns),
		cmocka_unit_test(no_line_is_wider_than_the_terminal),
		cmocka_unit_test(json_has_the_same_numbers),
		cmocka_unit_test(json_survives_any_name),
	};

	if (argc != 2) {
		fprintf(stderr, "usage: %s GOLDEN\n", argv[0]);
		return 2;
	}
	golden = argv[1];
	return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}

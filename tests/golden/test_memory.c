/* SPDX-License-Identifier: Apache-2.0
 *
 * test_memory.c - report and writers when memory runs out: each allocation fails once, and every time the answer is "no
 * memory" (or what was asked for, where it was not needed), never a crash, a leak or half a file.
 *
 * Linked with --wrap for the functions below.
 */
#include "support.h"

#include "built_model.h"
#include "out.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long countdown = -1; /* allocations until one fails; -1: none does */

static int fails(void)
{
	return countdown >= 0 && countdown-- == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t n, size_t bytes)
{
	return fails() ? NULL : __real_calloc(n, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return fails() ? NULL : __real_realloc(memory, bytes);
}

char *__wrap_strdup(const char *text)
{
	return fails() ? NULL : __real_strdup(text);
}

static FILE *sink_file;
static char base[64];

static int print_report(const struct warpspan_model *model)
{
	return warpspan_report(model, sink_file, 80);
}

static int print_json(const struct warpspan_model *model)
{
	return warpspan_report_json(model, sink_file);
}

static int export_both(const struct warpspan_model *model)
{
	struct warpspan_error error = { .text = "" };
	const int result = out_export(model, WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON, base, &error);

	assert_true(result >= 0 || error.text[0]);
	return result;
}

/* Fails the first, the second, ... allocation until one run needs no more than were allowed. */
static unsigned fail_each(int (*function)(const struct warpspan_model *model))
{
	struct warpspan_model *model = built_example(true);
	unsigned n_failed = 0;

	for (long i = 0; i < 100000; i++) {
		countdown = i;
		const int result = function(model);
		const int all_allowed = countdown >= 0;

		countdown = -1;
		if (all_allowed) {
			assert_int_equal(result, WARPSPAN_OK);
			break;
		}
		if (result != WARPSPAN_OK) {
			assert_int_equal(result, WARPSPAN_NO_MEMORY);
			n_failed++;
		}
	}
	warpspan_model_destroy(model);
	assert_true(n_failed > 0);
	return n_failed;
}

static void the_report_says_so(void **state)
{
	fail_each(print_report);
}

static void the_json_report_is_whole_or_not_there(void **state)
{
	fail_each(print_json);
}

static int files_there(void)
{
	char path[80];
	int n = 0;

	snprintf(path, sizeof(path), "%s.pftrace", base);
	n += unlink(path) == 0;
	snprintf(path, sizeof(path), "%s.json.gz", base);
	n += unlink(path) == 0;
	return n;
}

static int export_whole_or_nothing(const struct warpspan_model *model)
{
	const int result = export_both(model);
	const int n = files_there();

	/* the first may be complete before the second fails */
	assert_true(result == WARPSPAN_OK ? n == 2 : n < 2);
	return result;
}

static void a_timeline_is_whole_or_not_there(void **state)
{
	snprintf(base, sizeof(base), "/tmp/warpspan-memory-%ld", (long)getpid());
	fail_each(export_whole_or_nothing);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_report_says_so),
		cmocka_unit_test(the_json_report_is_whole_or_not_there),
		cmocka_unit_test(a_timeline_is_whole_or_not_there),
	};

	sink_file = fopen("/dev/null", "w");
	if (!sink_file)
		return 1;
	const int failed = cmocka_run_group_tests_name("memory", tests, NULL, NULL);
	fclose(sink_file);
	return failed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_host.c - the host's calls: read, named, laid out by thread, summed up.
 */
#include "support.h"

#include "capture_builder.h"
#include "host_stats.h"
#include "model_check.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

enum { HOOK_COPY = 7, HOOK_SYNC = 3 };

static struct builder *with_hooks(void)
{
	struct builder *b = builder_create();
	builder_kernel(b, 1, "k", "k");
	builder_site(b, SITE(0), WARPSPAN_SITE_OPEN, "ws", 10);
	builder_hook(b, HOOK_COPY, "cuMemcpyHtoDAsync_v2");
	builder_hook(b, HOOK_SYNC, "cuStreamSynchronize");
	return b;
}

static void call(struct builder *b, uint32_t kind, uint32_t api, uint64_t begin_ns, uint64_t end_ns, uint64_t amount)
{
	builder_call(b, &(struct warpspan_host_call){
				.kind = kind, .api = api, .begin_ns = begin_ns, .end_ns = end_ns, .amount = amount });
}

static struct warpspan_model *load_and_destroy(struct builder *b, int result)
{
	struct warpspan_model *model = builder_load(b, result);
	const char *fault = model_fault(model);
	if (fault != NULL)
		fail_msg("%s", fault);
	builder_destroy(b);
	return model;
}

static void calls_are_read_by_number_and_named(void **state)
{
	struct builder *b = with_hooks();
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 1000, 1500, 4096);
	builder_launch(b, 1, &(struct warp_place){ 0 });
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 30000, 90000, 0);
	call(b, WARPSPAN_HOST_SYNCHRONIZE, 99, 100000, 100010, 0);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_OK);
	assert_int_equal(model->n_calls, 3);
	assert_int_equal(model->calls[0].number, 1);
	assert_int_equal(model->calls[1].number, 3);
	assert_string_equal(host_call_api(model, &model->calls[0]), "cuMemcpyHtoDAsync_v2");
	assert_string_equal(host_call_api(model, &model->calls[1]), "cuStreamSynchronize");
	assert_string_equal(host_call_api(model, &model->calls[2]), "");
	assert_string_equal(host_launch_api(&model->launches[0]), "cuLaunchKernel");
	warpspan_model_destroy(model);
}

static void threads_are_kept_apart_and_calls_nest(void **state)
{
	struct builder *b = with_hooks();
	builder_next_launch(b, 2000, 0, 7);
	builder_launch(b, 1, &(struct warp_place){ 0 });
	/* thread 42: a copy that waits inside, then another */
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 1000, 5000, 1);
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 1000, 4000, 0);
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 5000, 6000, 1);
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_OK);
	assert_int_equal(model->n_host_threads, 2);
	assert_int_equal(model->host_threads[0].id, 7);
	assert_int_equal(model->host_threads[1].id, 42);
	assert_int_equal(model->host_threads[1].n_slices, 3);
	const struct warpspan_host_slice *slices = &model->host_slices[model->host_threads[1].first_slice];
	assert_int_equal(slices[0].depth, 0);
	assert_int_equal(slices[1].depth, 1);
	assert_int_equal(slices[2].depth, 0);
	assert_int_equal(slices[1].end_ns, 4000);
	warpspan_model_destroy(model);
}

static void a_call_that_did_not_return_lasts_until_the_next_or_the_latest_time(void **state)
{
	struct builder *b = with_hooks();
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 1000, 0, 0);
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 3000, 0, 0);
	builder_next_launch(b, 6000, 0, 7); /* another thread went on until 9000 */
	builder_launch(b, 1, &(struct warp_place){ 0 });
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_OK);
	const struct warpspan_host_slice *slices = &model->host_slices[model->host_threads[1].first_slice];
	assert_true(slices[0].open && slices[1].open);
	assert_int_equal(slices[0].end_ns, 3000);
	assert_int_equal(slices[1].end_ns, 9000);
	warpspan_model_destroy(model);
}

static void calls_that_cross_are_cut(void **state)
{
	struct builder *b = with_hooks();
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 1000, 5000, 1);
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 4000, 8000, 1);
	call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 7000, 6000, 1); /* ends before it begins */
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_OK);
	assert_int_equal(model->host_slices[1].end_ns, 5000);
	assert_int_equal(model->host_slices[1].depth, 1);
	assert_int_equal(model->host_slices[2].end_ns, 7000);
	warpspan_model_destroy(model);
}

static void a_part_of_a_call_is_damage(void **state)
{
	struct builder *b = with_hooks();
	char part[100] = { 0 };
	builder_chunk(b, WARPSPAN_CHUNK_HOST, part, sizeof(part));
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_DAMAGED);
	assert_int_equal(model->n_calls, 1);
	assert_non_null(strstr(model->damage[0].text, "end in a part of one"));
	warpspan_model_destroy(model);
}

static void calls_are_summed_by_kind_and_entry_point(void **state)
{
	struct builder *b = with_hooks();
	struct host_stats stats = { 0 };
	for (int i = 0; i < 10; i++)
		call(b, WARPSPAN_HOST_COPY, HOOK_COPY, 1000u * (unsigned)i, 1000u * (unsigned)i + 100 + (unsigned)i, 8);
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 20000, 90000, 0);
	call(b, WARPSPAN_HOST_SYNCHRONIZE, HOOK_SYNC, 100000, 0, 0);
	builder_call(b, &(struct warpspan_host_call){ .kind = WARPSPAN_HOST_SYNCHRONIZE,
						      .api = HOOK_SYNC,
						      .begin_ns = 200000,
						      .end_ns = 200010,
						      .result = 700 });
	builder_launch(b, 1, &(struct warp_place){ 0 });
	builder_finish(b);
	struct warpspan_model *model = load_and_destroy(b, WARPSPAN_OK);
	assert_int_equal(host_stats_compute(&stats, model), WARPSPAN_OK);
	assert_int_equal(stats.n_rows, 3);
	assert_string_equal(stats.rows[0].kind, "synchronize");
	assert_int_equal(stats.rows[0].count, 2);
	assert_int_equal(stats.rows[0].n_open, 1);
	assert_int_equal(stats.rows[0].n_failed, 1);
	assert_int_equal(stats.rows[0].total_ns, 70010);
	assert_int_equal(stats.rows[0].max_ns, 70000);
	assert_string_equal(stats.rows[1].kind, "launch");
	assert_int_equal(stats.rows[1].total_ns, 3000);
	assert_string_equal(stats.rows[2].api, "cuMemcpyHtoDAsync_v2");
	assert_int_equal(stats.rows[2].count, 10);
	assert_int_equal(stats.rows[2].bytes, 80);
	assert_int_equal(stats.rows[2].total_ns, 1045);
	host_stats_finish(&stats);

	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_non_null(out);
	assert_int_equal(warpspan_report(model, out, 80), WARPSPAN_OK);
	fclose(out);
	assert_non_null(strstr(text, "\nhost calls\n"));
	assert_non_null(strstr(text, "cuStreamSynchronize"));
	free(text);
	warpspan_model_destroy(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_read_by_number_and_named),
		cmocka_unit_test(threads_are_kept_apart_and_calls_nest),
		cmocka_unit_test(a_call_that_did_not_return_lasts_until_the_next_or_the_latest_time),
		cmocka_unit_test(calls_that_cross_are_cut),
		cmocka_unit_test(a_part_of_a_call_is_damage),
		cmocka_unit_test(calls_are_summed_by_kind_and_entry_point),
	};
	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}

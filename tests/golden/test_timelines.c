/* SPDX-License-Identifier: Apache-2.0
 *
 * test_timelines.c PROTO [PROTOC] - what the two timeline writers write, read back by strict readers.
 *
 * PROTO is warpspan_pftrace.proto; PROTOC the protobuf compiler, without which its test is skipped and says so.
 */
#include "support.h"

#include "built_model.h"
#include "events.h"
#include "out.h"
#include "out_host.h"
#include "report.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_RANDOM_MODELS 200u
#define BOTH            (WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON)

static const char *proto, *protoc;
static char folder[64];

static int make_folder(void **state)
{
	strcpy(folder, "/tmp/warpspan-timelines-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static const char *in_folder(const char *name)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static int remove_folder(void **state)
{
	static const char *const names[] = { "t.pftrace", "t.json.gz", "u.pftrace", "u.json.gz", "decoded" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(in_folder(names[i]));
	return rmdir(folder);
}

static void export(const struct warpspan_model *model, const char *name)
{
	struct warpspan_error error = { 0 };

	if (out_export(model, BOTH, in_folder(name), &error) != WARPSPAN_OK)
		fail_msg("%s", error.text);
}

/* The host's slices and marks, and an arrow from each call to each grid it launched. */
static void expected_calls(const struct warpspan_model *model, const struct out_axis *axis, struct events *events)
{
	char text[4096], name[OUT_HOST_NAME_BYTES], kernel[OUT_KERNEL_BYTES];
	struct out_host host;
	uint32_t key;

	assert_true(out_host_init(&host, model));
	assert_int_equal(model->n_host_slices, model->n_launches + model->n_calls);
	for (uint32_t i = 0; i < model->n_host_slices; i++) {
		const struct warpspan_host_slice *slice = &model->host_slices[i];
		const struct warpspan_launch *launch =
			slice->call == WARPSPAN_NONE ? &model->launches[slice->launch] : NULL;
		const struct warpspan_host_call *call = launch ? NULL : &model->calls[slice->call];
		const uint64_t start = out_axis_of_host(axis, slice->begin_ns);
		char bytes[24] = "", grids[24] = "";
		uint32_t n_grids = 0;

		out_host_name(&host, slice, name, &key);
		for (uint32_t g = 0; g < model->n_grids; g++) {
			if (launch ? model->grids[g].host != slice->launch : model->grids[g].call != slice->call)
				continue;
			n_grids++;
			snprintf(text, sizeof(text), "%s -> %s", name,
				 out_kernel_name(model, model->grids[g].kernel, kernel));
			events_add(events, text, start,
				   out_axis_of_device(axis, model->grids[g].device, model->grids[g].start_ns) - start,
				   2);
		}
		if (call && call->kind == WARPSPAN_HOST_COPY)
			snprintf(bytes, sizeof(bytes), "%" PRIu64, call->amount);
		if (call && call->kind == WARPSPAN_HOST_GRAPH_LAUNCH)
			snprintf(grids, sizeof(grids), "%u", n_grids);
		snprintf(text, sizeof(text), "%s||||||%s||||%" PRIu64 "|%s|%d|%s", name,
			 slice->open ? slice_end_word(WARPSPAN_END_OPEN) : "", launch ? launch->number : call->number,
			 bytes, launch ? launch->result : call->result, grids);
		events_add(events, text, start, out_axis_of_host(axis, slice->end_ns) - start, 0);
	}
	for (uint32_t i = 0; i < model->n_host_marks; i++) {
		snprintf(text, sizeof(text), "%s|||||||||||||", out_mark_text(&model->host_marks[i], name));
		events_add(events, text, out_axis_of_host(axis, model->host_marks[i].time_ns), 0, 1);
	}
	events->n_tracks += model->n_host_threads;
	out_host_finish(&host);
}

/* What the model says the files must hold. */
static void expected_events(const struct warpspan_model *model, struct events *events)
{
	struct out_texts texts;
	struct out_axis axis;
	char text[2048], name[OUT_KERNEL_BYTES];

	assert_true(out_texts_init(&texts, model) && out_axis_init(&axis, model));
	expected_calls(model, &axis, events);
	for (uint32_t i = 0; i < model->n_grids; i++) {
		const struct warpspan_grid *grid = &model->grids[i];

		snprintf(text, sizeof(text), "%s|||%ux%ux%u|||||%u|%" PRIu64 "||||",
			 out_kernel_name(model, grid->kernel, name), grid->grid[0], grid->grid[1], grid->grid[2],
			 grid->n_warps, grid->n_lost);
		const uint64_t start = out_axis_of_device(&axis, grid->device, grid->start_ns);
		events_add(events, text, start, out_axis_of_device(&axis, grid->device, grid->end_ns) - start, 0);
	}
	for (uint64_t i = 0; i < model->n_slices + model->n_marks; i++) {
		const struct warpspan_slice *slice = i < model->n_slices ? &model->slices[i] : NULL;
		const struct warpspan_mark *mark = slice ? NULL : &model->marks[i - model->n_slices];
		const struct warpspan_track *track = &model->tracks[slice ? slice->track : mark->track];
		const uint32_t *grid = model->grids[track->grid].grid;
		const uint32_t region = slice ? slice->region : mark->region;
		const char *end = slice ? slice_end_word(slice->end) : NULL;
		char value[40] = "";

		if (mark && mark->kind != WARPSPAN_KIND_MARK)
			event_number(value, warpspan_mark_value(mark));
		snprintf(text, sizeof(text), "%s|%s|%u|%ux%ux%u|(%u,%u,%u)|%u|%s|%s||||||", texts.names[region],
			 texts.files[region], model->regions[region].line, grid[0], grid[1], grid[2], track->block[0],
			 track->block[1], track->block[2], track->sm, end ? end : "", value);
		const uint32_t device = model->grids[track->grid].device;
		const uint64_t start = out_axis_of_device(&axis, device, slice ? slice->start_ns : mark->time_ns);
		events_add(events, text, start, slice ? out_axis_of_device(&axis, device, slice->end_ns) - start : 0,
			   mark != NULL);
	}
	for (uint32_t i = 0; i < model->n_tracks; i++)
		events->n_tracks += model->tracks[i].n_slices + model->tracks[i].n_marks != 0;
	events->n_tracks += model->n_grids;
	out_texts_finish(&texts);
	out_axis_finish(&axis);
}

static void compare(struct events *expected, struct events *found, const char *what)
{
	events_sort(expected);
	events_sort(found);
	for (size_t i = 0; i < expected->n && i < found->n; i++) {
		const struct event *e = &expected->list[i], *f = &found->list[i];

		if (strcmp(e->text, f->text) != 0 || e->start_ns != f->start_ns || e->duration_ns != f->duration_ns ||
		    e->is_mark != f->is_mark)
			fail_msg("%s, event %zu: expected %s at %" PRIu64 " for %" PRIu64 ", found %s at %" PRIu64
				 " for %" PRIu64,
				 what, i, e->text, e->start_ns, e->duration_ns, f->text, f->start_ns, f->duration_ns);
	}
	assert_int_equal(found->n, expected->n);
	assert_int_equal(found->n_tracks, expected->n_tracks);
}

static void check_model(const struct warpspan_model *model)
{
	struct events expected = { 0 }, from_proto = { 0 }, from_json = { 0 };

	export(model, "t");
	expected_events(model, &expected);
	read_pftrace(in_folder("t.pftrace"), &from_proto);
	read_json_gz(in_folder("t.json.gz"), &from_json);
	compare(&expected, &from_proto, "pftrace");
	compare(&expected, &from_json, "json");
	events_finish(&expected);
	events_finish(&from_proto);
	events_finish(&from_json);
}

static void both_files_hold_the_slices_of_the_model(void **state)
{
	for (int troubled = 0; troubled < 2; troubled++) {
		struct warpspan_model *model = built_example(troubled);

		check_model(model);
		warpspan_model_destroy(model);
	}
}

static void any_model_comes_back_from_both_files(void **state)
{
	for (uint64_t seed = 0; seed < N_RANDOM_MODELS; seed++) {
		struct warpspan_model *model = built_at_random(seed);

		check_model(model);
		warpspan_model_destroy(model);
	}
}

static void an_empty_model_gives_valid_files(void **state)
{
	struct warpspan_model *model = built_create("./nothing");

	check_model(model);
	warpspan_model_destroy(model);
}

static char *read_bytes(const char *path, size_t *ret_bytes)
{
	struct stat about;
	const int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && fstat(fd, &about) == 0);
	*ret_bytes = (size_t)about.st_size;
	char *data = malloc(*ret_bytes + 1);
	assert_int_equal(read(fd, data, *ret_bytes), *ret_bytes);
	close(fd);
	return data;
}

/* What the files hold is compared with these texts in the other tests. */
static void names_are_as_the_source_has_them(void **state)
{
	static const char *const names[][2] = {
		{ "tabs\tand\nlines", "tabs\tand\nlines" },
		{ "\"quoted\\\x01", "\"quoted\\\x01" },
		{ "\xc3\xbcmlaut", "\xc3\xbcmlaut" },
		{ "a\xff\xc3z", "a\xef\xbf\xbd\xef\xbf\xbdz" },
	};
	struct warpspan_model *model = built_create("./names");
	struct out_texts texts;
	size_t n_bytes;

	built_device(model, "simulated", 4);
	built_kernel(model, "k");
	for (uint32_t i = 0; i < 4; i++)
		built_region(model, 0, names[i][0], names[i][0], i + 1);
	built_grid(model, 0, 0, 1, 32, 1000, 9000);
	built_track(model, 0, 0, 0, 1000, 9000);
	for (uint32_t i = 0; i < 4; i++)
		built_slice(model, i, 1000 + 100 * i, 1050 + 100 * i, 0, WARPSPAN_END_RECORDED);
	built_host(model);
	check_model(model);
	export(model, "t");
	char *bytes = read_bytes(in_folder("t.pftrace"), &n_bytes);
	assert_true(out_texts_init(&texts, model));
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(texts.names[i], names[i][1]);
		assert_string_equal(texts.files[i], names[i][1]);
		assert_non_null(memmem(bytes, n_bytes, names[i][1], strlen(names[i][1])));
	}
	free(bytes);
	out_texts_finish(&texts);
	warpspan_model_destroy(model);
}

static void the_same_model_gives_the_same_bytes(void **state)
{
	static const char *const names[][2] = { { "t.pftrace", "u.pftrace" }, { "t.json.gz", "u.json.gz" } };
	struct warpspan_model *model = built_example(true);

	export(model, "t");
	export(model, "u");
	for (int i = 0; i < 2; i++) {
		size_t n[2];
		char *data[2];

		for (int j = 0; j < 2; j++)
			data[j] = read_bytes(in_folder(names[i][j]), &n[j]);
		assert_int_equal(n[0], n[1]);
		assert_memory_equal(data[0], data[1], n[0]);
		free(data[0]);
		free(data[1]);
	}
	warpspan_model_destroy(model);
}

static void a_folder_that_is_not_there_is_an_error_with_its_name(void **state)
{
	struct warpspan_model *model = built_example(false);
	struct warpspan_error error = { 0 };

	assert_int_equal(out_export(model, BOTH, in_folder("no/such"), &error), WARPSPAN_IO);
	assert_non_null(strstr(error.text, "no/such.pftrace"));
	warpspan_model_destroy(model);
}

static void a_full_disk_is_an_error(void **state)
{
	struct warpspan_model *model = built_example(false);
	const int fd = open("/dev/full", O_WRONLY);

	assert_true(fd >= 0);
	for (int gzip = 0; gzip < 2; gzip++) {
		struct sink *sink = sink_create(fd, gzip);

		assert_non_null(sink);
		assert_int_equal(gzip ? warpspan_write_json(model, sink) : warpspan_write_pftrace(model, sink),
				 WARPSPAN_OK);
		assert_int_not_equal(sink_finish(sink), 0);
	}
	close(fd);
	warpspan_model_destroy(model);
}

static size_t count(const char *text, const char *word)
{
	size_t n = 0;

	for (const char *at = text; (at = strstr(at, word)) != NULL; at++)
		n++;
	return n;
}

static void protoc_decodes_every_field(void **state)
{
	struct warpspan_model *model = built_example(true);
	const char *slash = strrchr(proto, '/');
	char shell[1024];
	size_t bytes;

	if (!protoc) {
		warpspan_model_destroy(model);
		print_message("protoc is not installed: its decoding of the .pftrace is not checked\n");
		skip();
	}
	assert_non_null(slash);
	export(model, "t");
	snprintf(shell, sizeof(shell), "%s --proto_path=%.*s --decode=Trace %s < %s > %s", protoc, (int)(slash - proto),
		 proto, slash + 1, in_folder("t.pftrace"), in_folder("decoded"));
	assert_int_equal(system(shell), 0);
	char *text = read_bytes(in_folder("decoded"), &bytes);
	text[bytes] = '\0';
	assert_int_equal(count(text, "type: 1\n"), model->n_slices + model->n_grids + model->n_host_slices);
	assert_int_equal(count(text, "type: 2\n"), model->n_slices + model->n_grids + model->n_host_slices);
	assert_int_equal(count(text, "terminating_flow_ids: "), 1); /* two grids have no known launch */
	assert_int_equal(count(text, "type: 3\n"), model->n_marks + model->n_host_marks);
	assert_non_null(strstr(text, "name: \"multiply\""));
	assert_non_null(strstr(text, "name: \"SM 6\""));
	/* a field that the schema does not know is printed as a number */
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, "\n ");
		assert_false(*line >= '0' && *line <= '9');
	}
	free(text);
	warpspan_model_destroy(model);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_files_hold_the_slices_of_the_model),
		cmocka_unit_test(an_empty_model_gives_valid_files),
		cmocka_unit_test(any_model_comes_back_from_both_files),
		cmocka_unit_test(names_are_as_the_source_has_them),
		cmocka_unit_test(the_same_model_gives_the_same_bytes),
		cmocka_unit_test(a_folder_that_is_not_there_is_an_error_with_its_name),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(protoc_decodes_every_field),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: %s PROTO [PROTOC]\n", argv[0]);
		return 2;
	}
	proto = argv[1];
	protoc = argc > 2 && *argv[2] ? argv[2] : NULL;
	return cmocka_run_group_tests_name("timelines", tests, make_folder, remove_folder);
}

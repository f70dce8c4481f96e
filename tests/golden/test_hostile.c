/* SPDX-License-Identifier: Apache-2.0
 *
 * test_hostile.c - captures whose bytes were changed and whose checksums were made good again: whatever the model makes
 * of them, report and timelines are written, valid and equal to each other.
 *
 * Checksums stop accidents at the door; these are the captures of an attacker, or of a mistake in the writer.
 */
#include "support.h"

#include "built_model.h"
#include "crc32c.h"
#include "events.h"
#include "out.h"
#include "report.h"
#include "unit/capture_builder.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_MUTATIONS 400u

static uint8_t *make_capture(size_t *ret_n_bytes)
{
	struct builder *builder = builder_create();

	builder_kernel(builder, 1, "_Z4stepPf", "step(float*)");
	builder_site(builder, SITE(0), WARPSPAN_SITE_OPEN, "ws", 5);
	builder_site(builder, SITE(1), WARPSPAN_SITE_SCOPE, "work", 10);
	builder_site(builder, SITE(2), WARPSPAN_SITE_SCOPE, "load", 12);
	builder_site(builder, SITE(3), WARPSPAN_SITE_VALUE, "count", 15);
	for (uint32_t launch = 0; launch < 2; launch++) {
		const struct warp_place place = { .grid_id = 7 + launch, .grid = { 2, 1, 1 }, .threads = { 64, 1, 1 } };

		builder_launch(builder, 1, &place);
		for (uint32_t i = 0; i < 4; i++) {
			struct warp_place here = place;
			const double at = 1000 + i + 5000 * launch;

			here.block[0] = i / 2;
			here.warp = i % 2;
			here.sm = i / 2;
			here.room = 12;
			struct warp warp = warp_open(builder, &here, at);
			warp_begin(&warp, SITE(1), at + 100);
			for (uint32_t j = 0; j < 1 + 2 * i; j++) {
				warp_begin(&warp, SITE(2), at + 200 + 100 * j);
				warp_value(&warp, SITE(3), j, at + 220 + 100 * j);
				warp_end(&warp, SITE(2), at + 250 + 100 * j);
			}
			warp_end(&warp, SITE(1), at + 1200);
			warp_close(&warp, at + 1300);
			builder_segment(builder, &warp);
		}
	}
	builder_finish(builder);
	uint8_t *bytes = builder_bytes(builder, ret_n_bytes);
	builder_destroy(builder);
	return bytes;
}

/* Makes the checksums of all chunks good. */
static void mend(uint8_t *bytes, size_t n_bytes)
{
	struct warpspan_chunk chunk;

	for (size_t at = sizeof(struct warpspan_file_header); at + sizeof(chunk) <= n_bytes;) {
		memcpy(&chunk, bytes + at, sizeof(chunk));
		const size_t payload = (chunk.payload_bytes + 7u) & ~(size_t)7;

		if (chunk.mark != WARPSPAN_CHUNK_MARK || payload > n_bytes - at - sizeof(chunk))
			return;
		chunk.payload_crc = crc32c(0, bytes + at + sizeof(chunk), chunk.payload_bytes);
		chunk.header_crc = crc32c(0, &chunk, offsetof(struct warpspan_chunk, header_crc));
		memcpy(bytes + at, &chunk, sizeof(chunk));
		at += sizeof(chunk) + payload;
	}
}

/* Changes one to four places; the headers of file and chunks stay as they are. */
static void mutate(uint8_t *bytes, size_t n_bytes, uint64_t *state)
{
	static const uint32_t interesting[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (uint32_t n = 1 + built_random(state, 4); n > 0; n--) {
		const size_t at = sizeof(struct warpspan_file_header) +
				  built_random(state, (uint32_t)(n_bytes - sizeof(struct warpspan_file_header)));

		bytes[at] = (uint8_t)(built_random(state, 2) ? interesting[built_random(state, 5)]
							     : built_random(state, 256));
	}
}

static void report_everything(const struct warpspan_model *model)
{
	size_t n_bytes = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &n_bytes);

	assert_int_equal(warpspan_report(model, file, 80), WARPSPAN_OK);
	assert_int_equal(fclose(file), 0);
	free(text);
	text = NULL;
	file = open_memstream(&text, &n_bytes);
	assert_int_equal(warpspan_report_json(model, file), WARPSPAN_OK);
	assert_int_equal(fclose(file), 0);
	cJSON *root = cJSON_Parse(text);
	assert_non_null(root);
	cJSON_Delete(root);
	free(text);
}

static void export_both(const struct warpspan_model *model)
{
	struct events from_proto = { 0 }, from_json = { 0 };
	struct warpspan_error error = { 0 };
	char base[64], proto[80], json[80];

	snprintf(base, sizeof(base), "/tmp/warpspan-hostile-%ld", (long)getpid());
	snprintf(proto, sizeof(proto), "%s.pftrace", base);
	snprintf(json, sizeof(json), "%s.json.gz", base);
	assert_int_equal(out_export(model, WARPSPAN_EXPORT_PFTRACE | WARPSPAN_EXPORT_JSON, base, &error), WARPSPAN_OK);
	read_pftrace(proto, &from_proto);
	read_json_gz(json, &from_json);
	unlink(proto);
	unlink(json);
	assert_int_equal(from_proto.n, from_json.n);
	uint64_t n_arrows = 0;
	for (uint32_t i = 0; i < model->n_grids; i++)
		n_arrows += model->grids[i].host != WARPSPAN_NONE || model->grids[i].call != WARPSPAN_NONE;
	assert_int_equal(from_proto.n,
			 model->n_slices + model->n_marks + model->n_grids + model->n_host_slices + n_arrows);
	events_finish(&from_proto);
	events_finish(&from_json);
}

static void changed_captures_give_valid_outputs(void **state)
{
	unsigned n_loaded = 0, n_damaged = 0;
	uint64_t random = 1;
	size_t n_bytes;
	uint8_t *good = make_capture(&n_bytes), *bytes = malloc(n_bytes);

	assert_non_null(bytes);
	for (unsigned i = 0; i < N_MUTATIONS; i++) {
		struct warpspan_model *model = NULL;
		struct warpspan_error error;

		memcpy(bytes, good, n_bytes);
		if (i > 0)
			mutate(bytes, n_bytes, &random);
		mend(bytes, n_bytes);
		const int result = warpspan_model_from_bytes("changed", bytes, n_bytes, &model, &error);
		if (result < 0)
			continue;
		n_loaded++;
		n_damaged += result == WARPSPAN_DAMAGED;
		report_everything(model);
		export_both(model);
		warpspan_model_destroy(model);
	}
	print_message("%u of %u changed captures were decoded, %u of them as damaged\n", n_loaded, N_MUTATIONS,
		      n_damaged);
	assert_true(n_loaded > N_MUTATIONS / 2);
	free(good);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_captures_give_valid_outputs),
	};

	return cmocka_run_group_tests_name("hostile", tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * capture_builder.c - captures for tests, written by the real writer into a file of their own.
 */
#include "support.h"

#include "capture_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define assert_ok(result, error)                                                        \
	do {                                                                            \
		if ((result) != WARPSPAN_OK)                                            \
			fail_msg("%s: %s", warpspan_result_text(result), (error).text); \
	} while (0)

struct builder *builder_create_bare(void)
{
	static unsigned n_created;
	struct builder *builder = calloc(1, sizeof(*builder));
	struct warpspan_error error;
	assert_non_null(builder);
	const char *folder = getenv("TMPDIR");
	snprintf(builder->path, sizeof(builder->path), "%.20s/warpspan-test-%d-%u.wspan",
		 folder != NULL ? folder : "/tmp", (int)getpid(), n_created++);
	unlink(builder->path);
	const int result = warpspan_writer_create(builder->path, &builder->writer, &error);
	assert_ok(result, error);
	builder->tick_ns = 1;
	for (uint32_t sm = 0; sm < BUILDER_SMS; sm++) {
		builder->period[sm] = 0.5;
		builder->cycles_at_base[sm] = 1000000 + 7777777ull * sm;
	}
	return builder;
}

void builder_session(struct builder *builder)
{
	builder_meta(builder,
		     "{\"session\":{\"version\":\"0.1.0\",\"number\":1,\"pid\":42,\"host\":\"box\",\"rank\":null,"
		     "\"command\":[\"./app\",\"a b\"],\"start_realtime_ns\":\"1700000000000000000\","
		     "\"start_monotonic_ns\":\"5000\",\"driver\":13000,\"arena_bytes\":\"33554432\","
		     "\"words_asked\":0,\"words_least\":16,\"words_enough\":64,\"words_most\":1024,"
		     "\"settings\":{\"WARPSPAN_BUFFER\":\"64M\"}}}");
	builder_meta(builder, "{\"device\":{\"ordinal\":0,\"name\":\"Test GPU\",\"uuid\":\"GPU-0\",\"compute\":\"9.0\","
			      "\"sms\":8,\"clock_khz\":2000000,\"memory_bytes\":\"1\"}}");
	builder_meta(builder, "{\"context\":{\"number\":1,\"device\":0}}");
	builder_meta(builder, "{\"module\":{\"number\":1,\"context\":1,\"abi\":1}}");
}

struct builder *builder_create(void)
{
	struct builder *builder = builder_create_bare();
	builder_session(builder);
	return builder;
}

void builder_chunk(struct builder *builder, enum warpspan_chunk_type type, const void *payload, size_t n_bytes)
{
	struct warpspan_error error;
	const struct iovec part = { (void *)(uintptr_t)payload, n_bytes };
	const int result = warpspan_writer_append(builder->writer, type, &part, 1, &error);
	assert_ok(result, error);
}

void builder_meta(struct builder *builder, const char *format, ...)
{
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	const int n = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	assert_in_range(n, 1, sizeof(text) - 1);
	builder_chunk(builder, WARPSPAN_CHUNK_META, text, (size_t)n);
}

void builder_kernel(struct builder *builder, uint32_t number, const char *name, const char *demangled)
{
	builder_meta(builder, "{\"kernel\":{\"number\":%u,\"module\":1,\"name\":\"%s\",\"demangled\":\"%s\"}}", number,
		     name, demangled);
}

void builder_site(struct builder *builder, uint32_t address, uint32_t kind, const char *name, uint32_t line)
{
	static const char file[] = "kernel.cu";
	char payload[512] = { 0 };
	const struct warpspan_stored_site site = {
		.module = 1,
		.site = address,
		.kind = kind,
		.line = line,
		.name_bytes = (uint32_t)strlen(name),
		.file_bytes = (uint32_t)strlen(file),
	};
	assert_in_range(site.name_bytes, 0, 400);
	memcpy(payload, &site, sizeof(site));
	memcpy(payload + sizeof(site), name, site.name_bytes);
	memcpy(payload + sizeof(site) + site.name_bytes, file, site.file_bytes);
	const size_t n = sizeof(site) + site.name_bytes + site.file_bytes;
	builder_chunk(builder, WARPSPAN_CHUNK_SITES, payload, (n + 7) & ~(size_t)7);
}

static uint32_t or_one(uint32_t n)
{
	return n != 0 ? n : 1;
}

void builder_launch_result(struct builder *builder, uint32_t kernel, const struct warp_place *place, int result)
{
	const uint64_t number = ++builder->n_launches;
	const uint64_t begin_ns = builder->next_begin_ns != 0 ? builder->next_begin_ns : 10000 * number;
	const struct warpspan_launch launch = {
		.number = number,
		.begin_ns = begin_ns,
		.end_ns = begin_ns + 3000,
		.stream = builder->next_stream,
		.kernel = kernel,
		.module = or_one(place->module),
		.context = or_one(place->context),
		.thread = builder->next_thread != 0 ? builder->next_thread : 42,
		.grid = { or_one(place->grid[0]), or_one(place->grid[1]), or_one(place->grid[2]) },
		.threads = { place->threads[0] != 0 ? place->threads[0] : 32, or_one(place->threads[1]),
			     or_one(place->threads[2]) },
		.cluster = { 1, 1, 1 },
		.api = WARPSPAN_API_CU_LAUNCH_KERNEL,
		.result = result,
	};
	builder->next_begin_ns = builder->next_stream = builder->next_thread = 0;
	builder_chunk(builder, WARPSPAN_CHUNK_LAUNCHES, &launch, sizeof(launch));
}

void builder_next_launch(struct builder *builder, uint64_t begin_ns, uint64_t stream, uint32_t thread)
{
	builder->next_begin_ns = begin_ns;
	builder->next_stream = stream;
	builder->next_thread = thread;
}

void builder_hook(struct builder *builder, uint32_t number, const char *name)
{
	builder_meta(builder, "{\"hook\":{\"number\":%u,\"name\":\"%s\"}}", number, name);
}

void builder_call(struct builder *builder, const struct warpspan_host_call *call)
{
	struct warpspan_host_call numbered = *call;
	numbered.number = ++builder->n_launches;
	numbered.context = or_one(numbered.context);
	numbered.thread = numbered.thread != 0 ? numbered.thread : 42;
	builder_chunk(builder, WARPSPAN_CHUNK_HOST, &numbered, sizeof(numbered));
}

void builder_launch(struct builder *builder, uint32_t kernel, const struct warp_place *place)
{
	builder_launch_result(builder, kernel, place, 0);
}

void builder_segment(struct builder *builder, const struct warp *warp)
{
	struct warpspan_error error;
	const uint32_t stored = warp->n_words < warp->room ? warp->n_words : warp->room;
	const struct warpspan_stored_segment head = { .stored_words = stored,
						      .context = warp->context,
						      .segment = warp->head };
	const struct iovec parts[] = {
		{ (void *)(uintptr_t)&head, sizeof(head) },
		{ (void *)(uintptr_t)warp->words, stored * sizeof(warp->words[0]) },
	};
	const int result = warpspan_writer_append(builder->writer, WARPSPAN_CHUNK_SEGMENTS, parts, 2, &error);
	assert_ok(result, error);
}

void builder_losses(struct builder *builder, uint32_t context, const struct warpspan_loss *losses, uint32_t n)
{
	struct warpspan_error error;
	struct warpspan_stored_losses head = { .context = context, .n_losses = n };
	const struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (void *)(uintptr_t)losses, n * sizeof(*losses) },
	};
	const int result = warpspan_writer_append(builder->writer, WARPSPAN_CHUNK_LOSSES, parts, 2, &error);
	assert_ok(result, error);
}

void builder_finish(struct builder *builder)
{
	struct warpspan_error error;
	const int result = warpspan_writer_finish(builder->writer, &error);
	builder->writer = NULL;
	assert_ok(result, error);
}

uint8_t *builder_bytes(const struct builder *builder, size_t *ret_n_bytes)
{
	FILE *file = fopen(builder->path, "rb");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	const long n = ftell(file);
	assert_in_range(n, 1, 1l << 30);
	rewind(file);
	uint8_t *bytes = malloc((size_t)n);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)n, file), n);
	fclose(file);
	*ret_n_bytes = (size_t)n;
	return bytes;
}

struct warpspan_model *builder_load(const struct builder *builder, int result)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error = { .text = "" };
	const int got = warpspan_model_load(builder->path, &model, &error);
	if (got != result)
		fail_msg("loading gave %d, not %d: %s", got, result, error.text);
	return model;
}

void builder_destroy(struct builder *builder)
{
	warpspan_writer_close(builder->writer);
	unlink(builder->path);
	free(builder);
}

uint64_t builder_clock(const struct builder *builder, uint32_t sm, double time_ns)
{
	return builder->cycles_at_base[sm] + (uint64_t)floor(time_ns / builder->period[sm]);
}

uint64_t builder_timer(const struct builder *builder, double time_ns)
{
	const uint64_t now = BUILDER_BASE_NS + (uint64_t)floor(time_ns);
	return now / builder->tick_ns * builder->tick_ns;
}

struct warp warp_open(struct builder *builder, const struct warp_place *place, double time_ns)
{
	const uint32_t room = place->room != 0 ? place->room : 64;
	assert_in_range(room, 2, WARP_WORDS_MAX);
	struct warp warp = {
		.builder = builder,
		.context = or_one(place->context),
		.room = room,
		.head = {
			.magic = WARPSPAN_SEGMENT_MAGIC,
			.state = WARPSPAN_SEGMENT_OPEN,
			.segment_bytes = (uint32_t)(sizeof(struct warpspan_segment) + room * WARPSPAN_WORD_BYTES),
			.site = place->site != 0 ? place->site : SITE(0),
			.grid_id = place->grid_id,
			.grid_x = or_one(place->grid[0]),
			.grid_y = (uint16_t)or_one(place->grid[1]),
			.grid_z = (uint16_t)or_one(place->grid[2]),
			.block_x = place->block[0],
			.block_y = (uint16_t)place->block[1],
			.block_z = (uint16_t)place->block[2],
			.threads_x = (uint16_t)(place->threads[0] != 0 ? place->threads[0] : 32),
			.threads_y = (uint16_t)or_one(place->threads[1]),
			.threads_z = (uint16_t)or_one(place->threads[2]),
			.warp = (uint8_t)place->warp,
			.module = or_one(place->module),
			.sm = (uint16_t)place->sm,
			.cluster_blocks = 1,
			.open_timer = builder_timer(builder, time_ns),
			.open_clock = builder_clock(builder, place->sm, time_ns),
		},
	};
	return warp;
}

static void put_word(struct warp *warp, uint32_t low, uint32_t high)
{
	if (warp->n_words < warp->room)
		warp->words[warp->n_words] = (uint64_t)high << 32 | low;
	warp->n_words++;
}

void warp_record(struct warp *warp, uint32_t tag, double time_ns)
{
	put_word(warp, tag, (uint32_t)builder_clock(warp->builder, warp->head.sm, time_ns));
	warp->n_records++;
}

void warp_begin(struct warp *warp, uint32_t site, double time_ns)
{
	warp_record(warp, site | WARPSPAN_KIND_BEGIN, time_ns);
}

void warp_end(struct warp *warp, uint32_t site, double time_ns)
{
	warp_record(warp, site | WARPSPAN_KIND_END, time_ns);
}

void warp_mark(struct warp *warp, uint32_t site, double time_ns)
{
	warp_record(warp, site | WARPSPAN_KIND_MARK, time_ns);
}

void warp_value(struct warp *warp, uint32_t site, uint32_t value, double time_ns)
{
	warp_record(warp, site | WARPSPAN_KIND_VALUE_U32, time_ns);
	put_word(warp, value, 0);
}

void warp_close(struct warp *warp, double time_ns)
{
	warp->head.state = WARPSPAN_SEGMENT_CLOSED;
	warp->head.records = warp->n_records;
	warp->head.words = warp->n_words;
	warp->head.close_timer = builder_timer(warp->builder, time_ns);
	warp->head.close_clock = builder_clock(warp->builder, warp->head.sm, time_ns);
}

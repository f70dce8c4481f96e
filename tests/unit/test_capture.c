/* SPDX-License-Identifier: Apache-2.0
 *
 * test_capture.c - the writer and the reader of raw captures, and what damage does to them.
 */
#include "support.h"

#include "capture.h"
#include "capture_builder.h"
#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void crc32c_gives_the_published_values(void **state)
{
	uint8_t bytes[32];
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa); /* RFC 3720, B.4 */
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (uint8_t i = 0; i < 32; i++)
		bytes[i] = i;
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
	/* and in pieces of any size */
	for (size_t cut = 0; cut <= sizeof(bytes); cut++)
		assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, sizeof(bytes) - cut), 0x46dd794e);
}

/* A capture of `n` chunks of metadata, each of another length. */
static struct builder *numbered_chunks(unsigned n)
{
	struct builder *b = builder_create_bare();
	for (unsigned i = 0; i < n; i++)
		builder_meta(b, "{\"note\":{\"i\":%u,\"pad\":\"%.*s\"}}", i, (int)(i * 3 % 11), "..........");
	return b;
}

static struct capture *read_bytes(const uint8_t *bytes, size_t n, int expected, struct warpspan_error *error)
{
	struct capture *capture = NULL;
	const int got = capture_from_bytes("a.wspan", bytes, n, &capture, error);
	if (got != expected)
		fail_msg("reading gave %d, not %d", got, expected);
	return capture;
}

static uint64_t file_bytes(const char *path)
{
	struct stat status;
	assert_int_equal(stat(path, &status), 0);
	return (uint64_t)status.st_size;
}

static void chunks_come_back_in_order(void **state)
{
	struct builder *b = numbered_chunks(20);
	struct capture *capture = NULL;
	struct warpspan_error error;
	assert_int_equal(capture_open(b->path, &capture, &error), WARPSPAN_OK);
	assert_false(capture->complete);
	assert_int_equal(capture->chunks.n, 20);
	assert_int_equal(capture->n_bytes, file_bytes(b->path));
	for (unsigned i = 0; i < 20; i++) {
		char start[32];
		const struct capture_chunk *chunk = &capture->chunks.items[i];
		snprintf(start, sizeof(start), "{\"note\":{\"i\":%u,", i);
		assert_int_equal(chunk->type, WARPSPAN_CHUNK_META);
		assert_int_equal(chunk->sequence, i);
		assert_memory_equal(chunk->payload, start, strlen(start));
	}
	capture_close(capture);
	builder_finish(b);
	assert_int_equal(capture_open(b->path, &capture, &error), WARPSPAN_OK);
	assert_true(capture->complete);
	assert_int_equal(capture->end.chunks, 20);
	capture_close(capture);
	builder_destroy(b);
}

static void every_truncation_is_noticed_and_all_before_it_read(void **state)
{
	struct builder *b = numbered_chunks(6);
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	struct warpspan_error error;
	struct capture *whole = read_bytes(bytes, n, WARPSPAN_OK, &error);
	for (size_t cut = 0; cut < n; cut++) {
		size_t n_whole = 0;
		bool at_chunk = cut == sizeof(struct warpspan_file_header);
		for (size_t i = 0; i < whole->chunks.n; i++) {
			const uint64_t end = i + 1 < whole->chunks.n ? whole->chunks.items[i + 1].offset : n;
			n_whole += end <= cut;
			at_chunk = at_chunk || end == cut;
		}
		if (cut < sizeof(struct warpspan_file_header)) {
			read_bytes(bytes, cut, WARPSPAN_NOT_A_CAPTURE, &error);
			assert_int_equal(error.offset, cut);
			continue;
		}
		struct capture *capture = read_bytes(bytes, cut, at_chunk ? WARPSPAN_OK : WARPSPAN_DAMAGED, &error);
		assert_false(capture->complete);
		assert_int_equal(capture->chunks.n, n_whole);
		if (!at_chunk)
			assert_int_equal(error.offset, whole->chunks.items[n_whole].offset);
		capture_close(capture);
	}
	capture_close(whole);
	free(bytes);
	builder_destroy(b);
}

static void every_flipped_bit_is_noticed_and_costs_one_chunk(void **state)
{
	struct builder *b = numbered_chunks(6);
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	struct warpspan_error error;
	for (size_t bit = 0; bit < n * 8; bit++) {
		struct capture *capture = NULL;
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		const int result = capture_from_bytes("a.wspan", bytes, n, &capture, &error);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (bit < 64) {
			assert_int_equal(result, WARPSPAN_NOT_A_CAPTURE); /* the magic itself */
			continue;
		}
		assert_int_equal(result, WARPSPAN_DAMAGED);
		assert_true(error.offset <= bit / 8);
		assert_true(capture->chunks.n >= 6);
		capture_close(capture);
	}
	free(bytes);
	builder_destroy(b);
}

static void bytes_missing_in_the_middle_cost_what_they_touch(void **state)
{
	struct builder *b = numbered_chunks(12);
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n), *shorter = malloc(n);
	assert_non_null(shorter);
	struct warpspan_error error;
	/* odd numbers of bytes: what follows is no longer aligned */
	for (size_t gap = 1; gap < 100; gap += 6)
		for (size_t at = 200; at < 400; at += 7) {
			memcpy(shorter, bytes, at);
			memcpy(shorter + at, bytes + at + gap, n - at - gap);
			struct capture *capture = read_bytes(shorter, n - gap, WARPSPAN_DAMAGED, &error);
			if (error.offset > at + 7) /* a zero of padding missing, another takes its place */
				fail_msg("%zu bytes missing at %zu: %s", gap, at, error.text);
			assert_true(capture->complete);
			assert_true(capture->chunks.n >= 13 - 4);
			capture_close(capture);
		}
	free(bytes);
	free(shorter);
	builder_destroy(b);
}

static void a_missing_chunk_is_told_by_its_number(void **state)
{
	struct builder *b = numbered_chunks(5);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	struct warpspan_error error;
	struct capture *whole = read_bytes(bytes, n, WARPSPAN_OK, &error);
	const size_t from = whole->chunks.items[2].offset, to = whole->chunks.items[3].offset;
	memmove(bytes + from, bytes + to, n - to);
	struct capture *capture = read_bytes(bytes, n - (to - from), WARPSPAN_DAMAGED, &error);
	assert_int_equal(capture->chunks.n, 4);
	assert_non_null(strstr(error.text, "chunk 2 was expected here"));
	assert_int_equal(error.offset, from);
	capture_close(capture);
	capture_close(whole);
	free(bytes);
	builder_destroy(b);
}

static void what_follows_the_end_is_noticed(void **state)
{
	struct builder *b = numbered_chunks(2);
	builder_finish(b);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	bytes = realloc(bytes, n + 8);
	assert_non_null(bytes);
	memset(bytes + n, 0, 8);
	struct warpspan_error error;
	struct capture *capture = read_bytes(bytes, n + 8, WARPSPAN_DAMAGED, &error);
	assert_int_equal(error.offset, n);
	assert_int_equal(capture->chunks.n, 3);
	capture_close(capture);
	free(bytes);
	builder_destroy(b);
}

static void seal(struct warpspan_chunk *chunk)
{
	chunk->header_crc = crc32c(0, chunk, offsetof(struct warpspan_chunk, header_crc));
}

static void hostile_lengths_are_not_believed(void **state)
{
	static const uint32_t lengths[] = {
		1, 23, 24, 1000, WARPSPAN_CHUNK_MAX_BYTES, WARPSPAN_CHUNK_MAX_BYTES + 1, UINT32_MAX - 7, UINT32_MAX
	};
	struct builder *b = numbered_chunks(3);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	struct warpspan_error error;
	struct capture *whole = read_bytes(bytes, n, WARPSPAN_OK, &error);
	const size_t at = whole->chunks.items[1].offset;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct warpspan_chunk chunk;
		memcpy(&chunk, bytes + at, sizeof(chunk));
		chunk.payload_bytes = lengths[i];
		seal(&chunk);
		memcpy(bytes + at, &chunk, sizeof(chunk));
		struct capture *capture = read_bytes(bytes, n, WARPSPAN_DAMAGED, &error);
		assert_int_equal(error.offset, at);
		assert_int_equal(capture->chunks.n, 2);
		capture_close(capture);
	}
	capture_close(whole);
	free(bytes);
	builder_destroy(b);
}

static void overlapping_chunk_headers_do_not_take_for_ever(void **state)
{
	/* 40,000 good headers in a row, each claiming all the rest, with a wrong checksum. */
	enum { N = 40000 };
	struct builder *b = numbered_chunks(0);
	size_t n;
	uint8_t *head = builder_bytes(b, &n);
	uint8_t *bytes = calloc(1, n + N * sizeof(struct warpspan_chunk));
	assert_non_null(bytes);
	memcpy(bytes, head, n);
	for (uint32_t i = 0; i < N; i++) {
		struct warpspan_chunk chunk = {
			.mark = WARPSPAN_CHUNK_MARK,
			.type = WARPSPAN_CHUNK_META,
			.payload_bytes = (N - 1 - i) * (uint32_t)sizeof(chunk) - 8 * (i % 2),
			.sequence = i,
			.payload_crc = 1,
		};
		seal(&chunk);
		memcpy(bytes + n + i * sizeof(chunk), &chunk, sizeof(chunk));
	}
	struct warpspan_error error;
	const clock_t start = clock();
	capture_close(read_bytes(bytes, n + N * sizeof(struct warpspan_chunk), WARPSPAN_DAMAGED, &error));
	assert_true((clock() - start) / CLOCKS_PER_SEC < 5);
	free(bytes);
	free(head);
	builder_destroy(b);
}

static void chunks_of_unknown_type_are_skipped(void **state)
{
	struct builder *b = numbered_chunks(1);
	builder_chunk(b, (enum warpspan_chunk_type)77, "whatever", 8);
	builder_finish(b);
	struct warpspan_model *model = builder_load(b, WARPSPAN_DAMAGED); /* no session, but nothing else */
	assert_int_equal(model->n_damage, 1);
	assert_non_null(strstr(model->damage[0].text, "session"));
	warpspan_model_destroy(model);
	builder_destroy(b);
}

static void another_version_is_refused_with_both_numbers(void **state)
{
	struct builder *b = numbered_chunks(1);
	size_t n;
	uint8_t *bytes = builder_bytes(b, &n);
	struct warpspan_file_header header;
	struct warpspan_error error;
	memcpy(&header, bytes, sizeof(header));
	header.version = 99;
	header.crc32c = crc32c(0, &header, offsetof(struct warpspan_file_header, crc32c));
	memcpy(bytes, &header, sizeof(header));
	read_bytes(bytes, n, WARPSPAN_VERSION, &error);
	assert_non_null(strstr(error.text, "format 99"));
	assert_non_null(strstr(error.text, "format 1"));
	free(bytes);
	builder_destroy(b);
}

static void what_is_no_capture_is_refused(void **state)
{
	struct capture *capture = NULL;
	struct warpspan_error error;
	errno = 4711;
	read_bytes((const uint8_t *)"#!/bin/sh\necho this is a shell script\n", 38, WARPSPAN_NOT_A_CAPTURE, &error);
	assert_int_equal(capture_open("/nonexistent/a.wspan", &capture, &error), WARPSPAN_IO);
	assert_int_equal(error.system_errno, ENOENT);
	assert_int_equal(capture_open("/tmp", &capture, &error), WARPSPAN_NOT_A_CAPTURE);
	assert_int_equal(capture_open("/dev/null", &capture, &error), WARPSPAN_NOT_A_CAPTURE);
	assert_null(capture);
	assert_int_equal(errno, 4711);
}

static void the_writer_does_not_touch_an_existing_file(void **state)
{
	struct builder *b = numbered_chunks(1);
	struct warpspan_writer *writer = NULL;
	struct warpspan_error error;
	errno = 4711;
	assert_int_equal(warpspan_writer_create(b->path, &writer, &error), WARPSPAN_IO);
	assert_int_equal(error.system_errno, EEXIST);
	assert_non_null(strstr(error.text, b->path));
	assert_int_equal(errno, 4711);
	assert_null(writer);
	builder_destroy(b);
}

static void a_full_disk_leaves_whole_chunks_and_one_lasting_error(void **state)
{
	struct builder *b = numbered_chunks(3);
	const uint64_t before = file_bytes(b->path);
	struct rlimit old, small = { .rlim_cur = before + 100, .rlim_max = RLIM_INFINITY };
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	static const char payload[1000] = { 1 };
	const struct iovec part = { (void *)(uintptr_t)payload, sizeof(payload) };
	struct warpspan_error error, again;
	errno = 4711;
	const int result = warpspan_writer_append(b->writer, (enum warpspan_chunk_type)77, &part, 1, &error);
	assert_int_equal(errno, 4711);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(result, WARPSPAN_IO);
	assert_int_equal(error.system_errno, EFBIG);
	assert_int_equal(error.offset, before);
	struct stat status;
	assert_int_equal(stat(b->path, &status), 0);
	assert_int_equal(status.st_size, before);
	/* There is room again; the capture would have a hole all the same. */
	assert_int_equal(warpspan_writer_append(b->writer, (enum warpspan_chunk_type)77, &part, 1, &again),
			 WARPSPAN_IO);
	assert_string_equal(again.text, error.text);
	struct capture *capture = NULL;
	assert_int_equal(capture_open(b->path, &capture, &error), WARPSPAN_OK);
	assert_int_equal(capture->chunks.n, 3);
	capture_close(capture);
	builder_destroy(b);
}

/* The descriptor the writer has; closed by the test as a program would close it. */
static int descriptor_of(const char *path)
{
	struct stat wanted, status;
	assert_int_equal(stat(path, &wanted), 0);
	for (int fd = 3; fd < 1024; fd++)
		if (fstat(fd, &status) == 0 && status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino)
			return fd;
	fail_msg("'%s' is not open", path);
	return -1;
}

static void the_writer_keeps_off_a_file_that_took_its_descriptor(void **state)
{
	struct builder *b = numbered_chunks(2);
	const uint64_t before = file_bytes(b->path);
	const int fd = descriptor_of(b->path);
	struct warpspan_error error;
	char line[64] = "";
	const struct iovec part = { (void *)(uintptr_t) "12345678", 8 };
	FILE *theirs = tmpfile();

	assert_true(fd >= 100);
	assert_non_null(theirs);
	assert_int_equal(dup2(fileno(theirs), fd), fd);
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_META, &part, 1, &error), WARPSPAN_IO);
	assert_int_equal(error.system_errno, EBADF);
	assert_non_null(strstr(error.text, "the program closed"));
	warpspan_writer_close(b->writer);
	b->writer = NULL;
	/* Theirs is open and untouched; ours holds what it held. */
	assert_int_equal(write(fd, "mine\n", 5), 5);
	rewind(theirs);
	assert_non_null(fgets(line, sizeof(line), theirs));
	assert_string_equal(line, "mine\n");
	assert_int_equal(file_bytes(b->path), before);
	close(fd);
	fclose(theirs);
	builder_destroy(b);
}

static void the_standard_descriptors_are_never_taken(void **state)
{
	struct warpspan_writer *writer = NULL;
	struct warpspan_error error;
	char path[64];
	const int kept = dup(STDIN_FILENO);

	snprintf(path, sizeof(path), "/tmp/warpspan-low-%d", (int)getpid());
	close(STDIN_FILENO);
	assert_int_equal(warpspan_writer_create(path, &writer, &error), WARPSPAN_OK);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_null(warpspan_writer_close(writer));
	unlink(path);
	if (kept >= 0) {
		dup2(kept, STDIN_FILENO);
		close(kept);
	}
}

static void the_writer_refuses_what_no_reader_would_take(void **state)
{
	struct builder *b = numbered_chunks(1);
	const uint64_t before = file_bytes(b->path);
	struct warpspan_error error;
	struct iovec part = { (void *)(uintptr_t) "12345678", 8 };
	struct iovec parts[9];
	for (size_t i = 0; i < 9; i++)
		parts[i] = part;
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_META, parts, 0, &error), WARPSPAN_INVALID);
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_META, parts, 9, &error), WARPSPAN_INVALID);
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_LAUNCHES, parts, 1, &error),
			 WARPSPAN_INVALID);
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_SEGMENTS, parts, 1, &error),
			 WARPSPAN_INVALID);
	part.iov_len = WARPSPAN_CHUNK_MAX_BYTES + 1; /* not looked at */
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_META, &part, 1, &error), WARPSPAN_TOO_LARGE);
	assert_int_equal(file_bytes(b->path), before);
	assert_int_equal(warpspan_writer_append(b->writer, WARPSPAN_CHUNK_META, parts, 8, &error), WARPSPAN_OK);
	assert_int_equal(file_bytes(b->path), before + sizeof(struct warpspan_chunk) + 64);
	builder_destroy(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32c_gives_the_published_values),
		cmocka_unit_test(chunks_come_back_in_order),
		cmocka_unit_test(every_truncation_is_noticed_and_all_before_it_read),
		cmocka_unit_test(every_flipped_bit_is_noticed_and_costs_one_chunk),
		cmocka_unit_test(bytes_missing_in_the_middle_cost_what_they_touch),
		cmocka_unit_test(a_missing_chunk_is_told_by_its_number),
		cmocka_unit_test(what_follows_the_end_is_noticed),
		cmocka_unit_test(hostile_lengths_are_not_believed),
		cmocka_unit_test(overlapping_chunk_headers_do_not_take_for_ever),
		cmocka_unit_test(chunks_of_unknown_type_are_skipped),
		cmocka_unit_test(another_version_is_refused_with_both_numbers),
		cmocka_unit_test(what_is_no_capture_is_refused),
		cmocka_unit_test(the_writer_does_not_touch_an_existing_file),
		cmocka_unit_test(a_full_disk_leaves_whole_chunks_and_one_lasting_error),
		cmocka_unit_test(the_writer_keeps_off_a_file_that_took_its_descriptor),
		cmocka_unit_test(the_standard_descriptors_are_never_taken),
		cmocka_unit_test(the_writer_refuses_what_no_reader_would_take),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

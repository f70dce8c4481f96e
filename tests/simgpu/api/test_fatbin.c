/* SPDX-License-Identifier: Apache-2.0
 *
 * test_fatbin.c - the fat binary parser on what nvcc writes, and on damaged versions of it.
 *
 * Usage: test_fatbin ZSTD LZ4 PLAIN, each a container made by nvcc -fatbin of tiny.cu with sm_80 and sm_90 machine code
 * and compute_80 and compute_90 PTX.
 */
#include "support.h"

#include "fatbin.h"
#include "lz4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_FILES = 3 };

static char *files[N_FILES];
static size_t files_bytes[N_FILES];

static void read_file(const char *path, char **ret_bytes, size_t *ret_n)
{
	FILE *file = fopen(path, "rb");
	size_t capacity = 1 << 20;

	if (!file) {
		perror(path);
		exit(1);
	}
	*ret_bytes = malloc(capacity);
	assert_non_null(*ret_bytes);
	*ret_n = fread(*ret_bytes, 1, capacity, file);
	fclose(file);
}

static void every_compression_gives_the_newest_ptx(void **state)
{
	for (int i = 0; i < N_FILES; i++) {
		struct fatbin_ptx ptx;

		assert_int_equal(fatbin_container_ptx(files[i], files_bytes[i], 90, &ptx), FATBIN_OK);
		assert_int_equal(ptx.arch, 90);
		assert_non_null(strstr(ptx.text, ".target sm_90"));
		assert_non_null(strstr(ptx.text, ".entry tiny("));
		assert_int_equal(ptx.bytes, strlen(ptx.text));
		free(ptx.text);
	}
}

static void all_compressions_give_the_same_text(void **state)
{
	struct fatbin_ptx first, other;

	assert_int_equal(fatbin_container_ptx(files[0], files_bytes[0], 90, &first), FATBIN_OK);
	for (int i = 1; i < N_FILES; i++) {
		assert_int_equal(fatbin_container_ptx(files[i], files_bytes[i], 90, &other), FATBIN_OK);
		assert_string_equal(first.text, other.text);
		free(other.text);
	}
	free(first.text);
}

static void an_older_device_gets_older_ptx(void **state)
{
	struct fatbin_ptx ptx;

	assert_int_equal(fatbin_container_ptx(files[0], files_bytes[0], 86, &ptx), FATBIN_OK);
	assert_int_equal(ptx.arch, 80);
	free(ptx.text);
	assert_int_equal(fatbin_container_ptx(files[0], files_bytes[0], 120, &ptx), FATBIN_OK);
	assert_int_equal(ptx.arch, 90);
	free(ptx.text);
	assert_int_equal(fatbin_container_ptx(files[0], files_bytes[0], 75, &ptx), FATBIN_PTX_TOO_NEW);
}

static void a_truncated_file_is_an_error(void **state)
{
	struct fatbin_ptx ptx;

	for (int i = 0; i < N_FILES; i++) {
		for (size_t n = 0; n < files_bytes[i]; n += n < 256 ? 1 : 97) {
			/* A copy of exactly this size, so that a sanitizer sees any step beyond. */
			char *cut = malloc(n ? n : 1);

			assert_non_null(cut);
			memcpy(cut, files[i], n);
			assert_int_equal(fatbin_container_ptx(cut, n, 90, &ptx), FATBIN_CORRUPT);
			free(cut);
		}
	}
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void damage_never_crashes(void **state)
{
	uint64_t random = 1;
	int n_ok = 0, n_refused = 0;

	for (int round = 0; round < 6000; round++) {
		int i = round % N_FILES;
		char *copy = malloc(files_bytes[i]);
		struct fatbin_ptx ptx = { .text = NULL };
		enum fatbin_status status;

		assert_non_null(copy);
		memcpy(copy, files[i], files_bytes[i]);
		for (int flips = 1 + (int)(next_random(&random) % 4); flips > 0; flips--) {
			/* Most of the time in the headers, where it hurts. */
			size_t span = next_random(&random) % 3 ? 200 : files_bytes[i];

			copy[next_random(&random) % (span < files_bytes[i] ? span : files_bytes[i])] =
				(char)next_random(&random);
		}
		status = fatbin_container_ptx(copy, files_bytes[i], 90, &ptx);
		if (status == FATBIN_OK) {
			assert_int_equal(ptx.text[ptx.bytes], '\0');
			free(ptx.text);
			n_ok++;
		} else {
			n_refused++;
		}
		free(copy);
	}
	/* Both happen, or the loop tests nothing. */
	assert_true(n_ok > 100);
	assert_true(n_refused > 100);
}

static void a_wrapper_leads_to_its_container(void **state)
{
	struct {
		uint32_t magic, version;
		const void *container;
		const void *const *prelinked;
	} wrapper = { 0x466243B1, 1, files[0], NULL };
	struct fatbin_ptx *units;
	size_t n;

	assert_true(fatbin_is_wrapper(&wrapper));
	assert_false(fatbin_is_container(&wrapper));
	assert_true(fatbin_is_container(files[0]));
	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 90, &units, &n), FATBIN_OK);
	assert_int_equal(n, 1);
	fatbin_units_free(units, n);
	wrapper.container = NULL;
	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 90, &units, &n), FATBIN_CORRUPT);
}

/* What -rdc=true leaves behind: the linked container has no PTX, the ones that went into the link do. */
static void linked_code_is_found_in_what_was_linked(void **state)
{
	static const uint64_t empty[2] = { UINT64_C(0x00100001BA55ED50), 0 };
	const void *one[] = { empty, files[1], NULL }, *two[] = { files[0], files[1], NULL }, *none[] = { empty, NULL };
	struct {
		uint32_t magic, version;
		const void *container;
		const void *const *prelinked;
	} wrapper = { 0x466243B1, 2, empty, one };
	struct fatbin_ptx *units;
	size_t n;

	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 90, &units, &n), FATBIN_OK);
	assert_int_equal(n, 1);
	assert_int_equal(units[0].arch, 90);
	fatbin_units_free(units, n);
	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 75, &units, &n), FATBIN_PTX_TOO_NEW);
	wrapper.prelinked = two;
	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 90, &units, &n), FATBIN_OK);
	assert_int_equal(n, 2);
	assert_string_equal(units[0].text, units[1].text);
	fatbin_units_free(units, n);
	wrapper.prelinked = none;
	assert_int_equal(fatbin_wrapper_ptx(&wrapper, 90, &units, &n), FATBIN_NO_PTX);
}

static void lz4_blocks_decode(void **state)
{
	/* 3 literals; a match of 9 at distance 3; 5 last literals. */
	static const char block[] = "\x35"
				    "abc"
				    "\x03\x00"
				    "\x50"
				    "vwxyz";
	char out[32];

	assert_true(lz4_decode(block, sizeof(block) - 1, out, 17));
	assert_memory_equal(out, "abcabcabcabcvwxyz", 17);
	assert_false(lz4_decode(block, sizeof(block) - 1, out, 16));
	assert_false(lz4_decode(block, sizeof(block) - 1, out, 18));
	assert_false(lz4_decode(block, sizeof(block) - 2, out, 17));
	/* A match that reaches before the beginning. */
	assert_false(lz4_decode("\x10"
				"a"
				"\x02\x00",
				4, out, 5));
	/* A length that goes on past the end of the block. */
	assert_false(lz4_decode("\xF0\xFF\xFF", 3, out, sizeof(out)));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_compression_gives_the_newest_ptx),
		cmocka_unit_test(all_compressions_give_the_same_text),
		cmocka_unit_test(an_older_device_gets_older_ptx),
		cmocka_unit_test(a_truncated_file_is_an_error),
		cmocka_unit_test(damage_never_crashes),
		cmocka_unit_test(a_wrapper_leads_to_its_container),
		cmocka_unit_test(linked_code_is_found_in_what_was_linked),
		cmocka_unit_test(lz4_blocks_decode),
	};
	int failed;

	if (argc != 1 + N_FILES) {
		fprintf(stderr, "usage: test_fatbin ZSTD LZ4 PLAIN\n");
		return 2;
	}
	for (int i = 0; i < N_FILES; i++)
		read_file(argv[1 + i], &files[i], &files_bytes[i]);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	for (int i = 0; i < N_FILES; i++)
		free(files[i]);
	return failed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * test_mutations.c - real PTX, damaged in the same thousands of ways each time, is refused or runs; it breaks nothing.
 *
 *   test_mutations FILE.ptx...
 */
#include "../../support.h"

#include "fuzz_ptx.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define N_ROUNDS    4000
#define MAX_SECONDS 9 /* for slow machines and sanitizers */
#define MAX_BYTES   (1u << 20)

static int n_files;
static char **files;

static uint64_t random_state = 20240517;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((random_state >> 33) % below);
}

static size_t read_text(const char *path, char *to, size_t room)
{
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	n = fread(to, 1, room, file);
	fclose(file);
	assert_true(n > 0 && n < room);
	return n;
}

/* A word of a text: what the lexer would take for one, roughly. */
static size_t word_at(const char *text, size_t n, size_t at, size_t *ret_length)
{
	size_t end = at;

	while (at > 0 && strchr(" \t\n,;[]{}()", text[at]) != NULL)
		at--;
	end = at;
	while (at > 0 && strchr(" \t\n,;[]{}()", text[at - 1]) == NULL)
		at--;
	while (end < n && strchr(" \t\n,;[]{}()", text[end]) == NULL)
		end++;
	*ret_length = end - at;
	return at;
}

static size_t replace(char *text, size_t n, size_t room, size_t at, size_t length, const char *with, size_t with_length)
{
	if (n - length + with_length >= room)
		return n;
	memmove(text + at + with_length, text + at + length, n - at - length);
	memcpy(text + at, with, with_length);
	return n - length + with_length;
}

/* One small change; the new length. */
static size_t mutate(char *text, size_t n, size_t room)
{
	static const char *const words[] = { "0",        "-1",          "0xffffffff", "4294967296",  "%r1",
					     "%rd1",     "%p1",         ".b8",        ".f64",        ".v4",
					     ".shared",  ".local",      ".param",     "{",           "}",
					     ";",        "ret;",        "@%p1",       "bar.sync 0;", ".u16x2",
					     "[%rd1+8]", "mma.sync",    "call",       "exit;",       ".b128",
					     ".e2m1x2",  ".noComplete", ".m16n8k256", "{%r1, %r2}",  ".cp_mask" };
	char copy[256];
	size_t length, from_length, at = word_at(text, n, draw((uint32_t)n), &length);
	size_t from = word_at(text, n, draw((uint32_t)n), &from_length);
	const char *word = words[draw(sizeof(words) / sizeof(words[0]))];

	switch (draw(5)) {
	case 0:
		text[draw((uint32_t)n)] = (char)(32 + draw(96));
		return n;
	case 1: /* one word in place of another */
		from_length = from_length < sizeof(copy) ? from_length : sizeof(copy);
		memcpy(copy, text + from, from_length);
		return replace(text, n, room, at, length, copy, from_length);
	case 2:
		return replace(text, n, room, at, length, word, strlen(word));
	case 3: /* a word missing */
		return length < n ? replace(text, n, room, at, length, "", 0) : n;
	default: /* a digit off */
		for (size_t i = at; i < at + length; i++)
			if (text[i] >= '0' && text[i] <= '9') {
				text[i] = (char)('0' + draw(10));
				return n;
			}
		return n;
	}
}

static void damaged_ptx_breaks_nothing(void **state)
{
	char *original = malloc(MAX_BYTES), *text = malloc(2 * MAX_BYTES);
	time_t until = time(NULL) + MAX_SECONDS;
	unsigned int rounds = 0;
	int out = dup(1), null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	(void)state;
	assert_non_null(original);
	assert_non_null(text);
	assert_true(out >= 0 && null >= 0);
	/* What damaged kernels print is not for the test's output. */
	fflush(stdout);
	dup2(null, 1);
	for (; rounds < N_ROUNDS && time(NULL) < until; rounds++) {
		size_t n = read_text(files[rounds % (unsigned int)n_files], original, MAX_BYTES);

		memcpy(text, original, n);
		for (uint32_t i = rounds < (unsigned int)n_files ? 0 : 1 + draw(6); i > 0; i--)
			n = mutate(text, n, 2 * MAX_BYTES);
		LLVMFuzzerTestOneInput((const uint8_t *)text, n);
	}
	fflush(stdout);
	dup2(out, 1);
	close(out);
	close(null);
	print_message("  %u texts, %llu kernels ran\n", rounds, (unsigned long long)fuzz_n_run);
	assert_true(rounds >= 20);
	assert_true(fuzz_n_run > 0);
	free(original);
	free(text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damaged_ptx_breaks_nothing),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: test_mutations FILE.ptx...\n");
		return 2;
	}
	files = argv + 1;
	n_files = argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}

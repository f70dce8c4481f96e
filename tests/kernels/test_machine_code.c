/* SPDX-License-Identifier: Apache-2.0
 *
 * test_machine_code.c ARCH FOLDER - what the device header compiles to on one architecture. The build has put the
 * cubins of regions.cu and disabled.cu into FOLDER.
 */
#include "cubin.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *arch, *folder;

static struct cubin_text read_text(const char *stem, const char *kernel)
{
	char path[4096];
	struct cubin_text text = { NULL, 0 };
	snprintf(path, sizeof(path), "%s/%s_%s.cubin", folder, stem, arch);
	assert_int_equal(cubin_read_text(path, kernel, &text), 0);
	assert_true(text.n_bytes > 0);
	return text;
}

static size_t n_instructions(const char *stem)
{
	struct cubin_text text = read_text(stem, "regions");
	free(text.bytes);
	return text.n_bytes / CUBIN_INSTRUCTION_BYTES;
}

static void a_record_takes_at_most_four_and_a_half_instructions(void **state)
{
	const size_t four = n_instructions("regions4"), eight = n_instructions("regions8"),
		     twelve = n_instructions("regions12");
	const unsigned body = 3; /* load, multiply-add, store: see regions.cu */
	const double per_region = (double)(twelve - four) / 8.0 - body;
	printf("%s: %zu, %zu, %zu instructions with 4, 8, 12 regions: %.2f per record\n", arch, four, eight, twelve,
	       per_region / 2);
	assert_true(four < eight && eight < twelve);
	assert_true(per_region / 2 <= 4.5);
	assert_true(per_region / 2 >= 2.0); /* fewer than a timer read and a store means that it was optimised away */
}

static void a_disabled_kernel_is_the_plain_kernel_to_the_byte(void **state)
{
	struct cubin_text plain = read_text("plain", "disabled");
	struct cubin_text disabled = read_text("disabled", "disabled");
	struct cubin_text enabled = read_text("enabled", "disabled");
	assert_int_equal(plain.n_bytes, disabled.n_bytes);
	assert_memory_equal(plain.bytes, disabled.bytes, plain.n_bytes);
	assert_true(enabled.n_bytes > plain.n_bytes);
	free(plain.bytes);
	free(disabled.bytes);
	free(enabled.bytes);
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s ARCH FOLDER\n", argv[0]);
		return 2;
	}
	arch = argv[1];
	folder = argv[2];
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_takes_at_most_four_and_a_half_instructions),
		cmocka_unit_test(a_disabled_kernel_is_the_plain_kernel_to_the_byte),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}

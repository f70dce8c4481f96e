/* SPDX-License-Identifier: Apache-2.0
 *
 * test_config.c - settings from the environment.
 */
#include "../support.h"

#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What sim_config_from_env() writes to stderr. */
static void read_config(struct sim_config *ret_config, char ret_text[512])
{
	FILE *file = tmpfile();
	int saved = dup(STDERR_FILENO);
	size_t n;

	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	sim_config_from_env(ret_config);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	n = fread(ret_text, 1, 511, file);
	ret_text[n] = '\0';
	fclose(file);
}

static void values_and_suffixes_are_read(void **state)
{
	struct sim_config config;
	char text[512];

	(void)state;
	setenv("SIMGPU_SMS", "132", 1);
	setenv("SIMGPU_CC", "10.3", 1);
	setenv("SIMGPU_MEMORY", "2G", 1);
	setenv("SIMGPU_SEED", "0xffffffffffffffff", 1);
	setenv("SIMGPU_TIMER_TICK_NS", "1024", 1);
	setenv("SIMGPU_CLOCK_MHZ", "", 1); /* empty is unset */
	read_config(&config, text);
	assert_string_equal(text, "");
	assert_int_equal(config.n_sms, 132);
	assert_int_equal(config.cc_major, 10);
	assert_int_equal(config.cc_minor, 3);
	assert_true(config.memory_bytes == 2ULL << 30);
	assert_true(config.seed == UINT64_MAX);
	assert_int_equal(config.timer_tick_ns, 1024);
	assert_int_equal(config.clock_mhz, 1980);
}

static void a_bad_value_is_reported_once(void **state)
{
	static const char *const bad[] = { "0", "1025", "-1", "4x", "four", " 4", "99999999999999999999" };
	struct sim_config config;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("SIMGPU_SMS", bad[i], 1);
		read_config(&config, text);
		assert_int_equal(config.n_sms, 8);
		if (i == 0)
			assert_string_equal(text, "simgpu: SIMGPU_SMS='0' is not a value from 1 to 1024, using 8\n");
		else
			assert_string_equal(text, "");
	}
	setenv("SIMGPU_CC", "9", 1);
	read_config(&config, text);
	assert_int_equal(config.cc_major, 9);
	assert_int_equal(config.cc_minor, 0);
	assert_string_equal(text, "simgpu: SIMGPU_CC='9' is not a value from 5.0 to 12.9, using 9.0\n");
}

static void a_profile_gives_way_to_a_setting(void **state)
{
	struct sim_config config;
	char text[512];

	(void)state;
	setenv("SIMGPU_DEVICE", "A100", 1);
	unsetenv("SIMGPU_SMS");
	unsetenv("SIMGPU_CC");
	unsetenv("SIMGPU_TIMER_TICK_NS");
	setenv("SIMGPU_CLOCK_MHZ", "1000", 1);
	unsetenv("SIMGPU_SEED");
	read_config(&config, text);
	assert_string_equal(text, "");
	assert_string_equal(config.profile->name, "NVIDIA A100-SXM4-80GB (simgpu)");
	assert_int_equal(config.n_sms, 108);
	assert_int_equal(config.cc_major * 10 + config.cc_minor, 80);
	assert_int_equal(config.timer_tick_ns, 1024);
	assert_int_equal(config.clock_mhz, 1000);
	assert_int_equal(config.seed, 1);
	assert_int_equal(config.shared_bytes_per_block, 49152);
	assert_int_equal(config.shared_bytes_per_block_optin, 166912);
	setenv("SIMGPU_DEVICE", "Z1", 1);
	unsetenv("SIMGPU_CLOCK_MHZ");
	read_config(&config, text);
	assert_string_equal(text, "simgpu: SIMGPU_DEVICE='Z1' is none of A100, H100, B200; using none\n");
	assert_null(config.profile);
	assert_int_equal(config.n_sms, 8);
	unsetenv("SIMGPU_DEVICE");
}

static void a_device_of_nothing_is_refused(void **state)
{
	struct sim_config config = { 0 };
	struct sim_device *device;

	(void)state;
	assert_int_equal(sim_device_create(&config, &device), SIM_INVALID_VALUE);
	sim_device_destroy(NULL);
	sim_module_unload(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_and_suffixes_are_read),
		cmocka_unit_test(a_bad_value_is_reported_once),
		cmocka_unit_test(a_profile_gives_way_to_a_setting),
		cmocka_unit_test(a_device_of_nothing_is_refused),
	};

	return cmocka_run_group_tests_name("simgpu: settings", tests, NULL, NULL);
}

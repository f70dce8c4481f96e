/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_ptx.c - the fuzz target: loads a text, and runs each of its kernels for a limited number of steps.
 *
 * A text that does not load must say why. A kernel that runs must end, fault or use up its steps. Deterministic; a
 * small device of its own per input, one thread.
 */
#include "fuzz_ptx.h"

#include "../engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_BYTES (4u << 20)
#define BUFFER_BYTES 65536u
#define MAX_STEPS    4000
#define MAX_KERNELS  8

uint64_t fuzz_n_run;

static void demand(bool condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz: %s\n", what);
		abort();
	}
}

static struct sim_device *small_device(void)
{
	struct sim_device *device;
	struct sim_config config;

	sim_config_from_env(&config);
	config.n_sms = 2;
	config.memory_bytes = MEMORY_BYTES;
	config.n_threads = 1;
	demand(sim_device_create(&config, &device) == SIM_OK, "a device");
	return device;
}

/* Every parameter of 8 bytes is the buffer, every other a small number. */
static void *make_params(const struct sim_function *function, const struct sim_function_info *info, uint64_t buffer)
{
	uint8_t *params = calloc(1, (size_t)info->params_bytes + 8);
	uint32_t offset, bytes;

	demand(params != NULL, "memory");
	for (uint32_t i = 0; sim_function_param(function, i, &offset, &bytes); i++) {
		if (bytes == sizeof(buffer))
			memcpy(params + offset, &buffer, sizeof(buffer));
		else if (bytes > 0)
			params[offset] = 32;
	}
	return params;
}

static void run_kernel(struct sim_device *device, struct sim_function *function, uint64_t buffer)
{
	struct sim_function_info info;
	struct sim_result result;
	struct sim_launch launch = { .function = function,
				     .grid = { 2, 1, 1 },
				     .block = { 64, 1, 1 },
				     .max_steps = MAX_STEPS,
				     .start_ns = 100 };
	void *params;

	sim_function_info(function, &info);
	params = make_params(function, &info, buffer);
	launch.params = params;
	if (info.required_cluster[0] == 1 || info.required_cluster[0] == 2)
		launch.cluster[0] = info.required_cluster[0];
	sim_launch(device, &launch, &result);
	demand(result.status == SIM_OK || result.status == SIM_STOPPED || result.message[0] != '\0',
	       "a fault without a message");
	fuzz_n_run += result.status != SIM_STOPPED;
	free(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
	static char log[4096];
	struct sim_device *device = small_device();
	struct sim_module *module = NULL;
	enum sim_status status = sim_module_load(device, (const char *)bytes, n_bytes, log, sizeof(log), &module);

	if (status != SIM_OK) {
		demand(status == SIM_NO_MEMORY || log[0] != '\0', "an error without a text");
	} else {
		uint64_t buffer;

		if (sim_mem_alloc(device, BUFFER_BYTES, 256, &buffer) == SIM_OK)
			for (size_t i = 0; i < sim_module_n_functions(module) && i < MAX_KERNELS; i++)
				run_kernel(device, sim_module_function_at(module, i), buffer);
		sim_module_unload(module);
	}
	sim_device_destroy(device);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * rig.c - a small device and kernels from PTX text, for the engine's tests.
 */
#include "rig.h"

#include "../support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rig_config(struct sim_config *ret_config)
{
	sim_config_from_env(ret_config);
	ret_config->n_sms = 4;
	ret_config->clock_mhz = 1000;
	ret_config->memory_bytes = 64 << 20;
	ret_config->timer_tick_ns = 32;
	ret_config->seed = 1;
}

struct sim_device *rig_device(const struct sim_config *config)
{
	struct sim_config standard;
	struct sim_device *device;

	rig_config(&standard);
	assert_int_equal(sim_device_create(config == NULL ? &standard : config, &device), SIM_OK);
	return device;
}

struct sim_module *rig_load(struct sim_device *device, const char *ptx)
{
	char log[2048];
	struct sim_module *module;
	enum sim_status status = sim_module_load(device, ptx, strlen(ptx), log, sizeof(log), &module);

	if (status != SIM_OK)
		fail_msg("status %d\n%s", status, log);
	return module;
}

uint64_t rig_alloc(struct sim_device *device, size_t bytes)
{
	uint64_t address;

	assert_int_equal(sim_mem_alloc(device, bytes, 256, &address), SIM_OK);
	assert_int_equal(sim_mem_set(device, address, 0, 1, bytes), SIM_OK);
	return address;
}

uint64_t rig_put(struct sim_device *device, const void *from, size_t bytes)
{
	uint64_t address = rig_alloc(device, bytes);

	assert_int_equal(sim_mem_write(device, address, from, bytes), SIM_OK);
	return address;
}

void rig_get(struct sim_device *device, void *to, uint64_t address, size_t bytes)
{
	assert_int_equal(sim_mem_read(device, to, address, bytes), SIM_OK);
}

struct sim_result rig_try(struct sim_device *device, struct sim_module *module, uint32_t blocks, uint32_t threads,
			  const uint64_t params[4])
{
	struct sim_launch launch = { .function = sim_module_function_at(module, 0),
				     .grid = { blocks, 1, 1 },
				     .block = { threads, 1, 1 },
				     .params = params,
				     .grid_id = 7,
				     .start_ns = 1000 };
	struct sim_result result;

	assert_non_null(launch.function);
	sim_launch(device, &launch, &result);
	return result;
}

struct sim_result rig_run(struct sim_device *device, struct sim_module *module, uint32_t blocks, uint32_t threads,
			  const uint64_t params[4])
{
	struct sim_result result = rig_try(device, module, blocks, threads, params);

	if (result.status != SIM_OK)
		fail_msg("status %d: %s", result.status, result.message);
	return result;
}

void rig_once(const char *ptx, uint32_t blocks, uint32_t threads, void *ret, size_t bytes)
{
	struct sim_device *device = rig_device(NULL);
	struct sim_module *module = rig_load(device, ptx);
	uint64_t buffer = rig_alloc(device, bytes);

	rig_run(device, module, blocks, threads, (uint64_t[4]){ buffer });
	rig_get(device, ret, buffer, bytes);
	sim_module_unload(module);
	sim_device_destroy(device);
}

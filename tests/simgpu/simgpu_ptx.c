/* SPDX-License-Identifier: Apache-2.0
 *
 * simgpu_ptx.c - the command simgpu-ptx: does simgpu accept this PTX?
 *
 *   simgpu-ptx FILE.ptx ...   loads each, prints its kernels or its errors; exit 1 when one fails
 *   simgpu-ptx --settings     prints the table of settings for README.md
 *   simgpu-ptx --support      prints the tables of instructions for README.md
 */
#include "config.h"
#include "engine.h"
#include "module.h"
#include "ptx_parse.h"
#include "ptx_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	size_t bytes = 0, capacity = 0, n;

	if (file == NULL)
		return NULL;
	do {
		if (bytes == capacity) {
			char *grown = realloc(text, capacity = capacity * 2 + 65536);

			if (grown == NULL) {
				free(text);
				fclose(file);
				return NULL;
			}
			text = grown;
		}
		n = fread(text + bytes, 1, capacity - bytes, file);
		bytes += n;
	} while (n > 0);
	fclose(file);
	*ret_bytes = bytes;
	return text;
}

/* Whether several cores may run the kernel. */
static void print_threads(const struct sim_function *function)
{
	uint32_t line;
	const char *why = ptx_share_reason(sim_function_code(function), &line);

	if (why == NULL)
		printf("SMs run apart unless it loads from what it stores to\n");
	else
		printf("SMs run together: line %u, %s\n", line, why);
}

static void print_module(struct sim_module *module)
{
	for (size_t i = 0; i < sim_module_n_functions(module); i++) {
		struct sim_function_info info;

		sim_function_info(sim_module_function_at(module, i), &info);
		printf("kernel %s: %u parameters, %u bytes; shared %u, local %u, registers %u; ", info.name,
		       info.n_params, info.params_bytes, info.static_shared_bytes, info.local_bytes, info.n_registers);
		print_threads(sim_module_function_at(module, i));
	}
}

static bool check_file(struct sim_device *device, const char *path)
{
	static char log[8192];
	struct sim_module *module;
	enum sim_status status;
	size_t bytes;
	char *text = read_file(path, &bytes);

	if (text == NULL) {
		fprintf(stderr, "simgpu-ptx: cannot read %s\n", path);
		return false;
	}
	status = sim_module_load(device, text, bytes, log, sizeof(log), &module);
	free(text);
	if (status != SIM_OK) {
		fprintf(stderr, "%s: %s\n%s", path,
			status == SIM_UNSUPPORTED_PTX ? "not supported"
			: status == SIM_INVALID_PTX   ? "not valid"
						      : "failed",
			log);
		return false;
	}
	print_module(module);
	sim_module_unload(module);
	return true;
}

int main(int argc, char **argv)
{
	struct sim_config config;
	struct sim_device *device;
	bool good = true;

	if (argc == 2 && strcmp(argv[1], "--settings") == 0) {
		sim_config_print_settings(stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "--support") == 0) {
		ptx_print_support(stdout);
		return 0;
	}
	if (argc < 2 || argv[1][0] == '-') {
		fprintf(stderr, "usage: simgpu-ptx FILE.ptx ... | --settings | --support\n");
		return 2;
	}
	sim_config_from_env(&config);
	if (sim_device_create(&config, &device) != SIM_OK) {
		fprintf(stderr, "simgpu-ptx: no memory for the device\n");
		return 1;
	}
	for (int i = 1; i < argc; i++)
		good &= check_file(device, argv[i]);
	sim_device_destroy(device);
	return good ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * image.c - what cuModuleLoad*() and cuLibraryLoad*() are given, turned into something the engine compiles.
 *
 * Callable from any thread.
 */
#include "image.h"

#include "fatbin.h"
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static CUresult fatbin_failure(enum fatbin_status status, uint32_t cc)
{
	switch (status) {
	case FATBIN_NO_PTX:
		driver_note("the program carries no PTX; compile it with a PTX target, e.g. nvcc -gencode "
			    "arch=compute_%u,code=compute_%u (or -arch=compute_%u)",
			    cc, cc, cc);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case FATBIN_PTX_TOO_NEW:
		driver_note("the program's PTX is for other devices than compute capability %u.%u (SIMGPU_CC); compile "
			    "it with "
			    "an older PTX target, e.g. nvcc -gencode arch=compute_80,code=compute_80",
			    cc / 10, cc % 10);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case FATBIN_NO_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case FATBIN_CORRUPT:
	case FATBIN_OK:
		break;
	}
	return CUDA_ERROR_INVALID_IMAGE;
}

/* Takes the units over. */
static CUresult units_link(struct fatbin_ptx *ptx, size_t n, char **ret_ptx, size_t *ret_bytes)
{
	struct link_unit *units = calloc(n, sizeof(*units));
	enum link_status status = LINK_NO_MEMORY;
	char log[512] = "", names[32];

	if (n == 1) {
		*ret_ptx = ptx[0].text;
		*ret_bytes = ptx[0].bytes;
		free(ptx);
		free(units);
		return CUDA_SUCCESS;
	}
	snprintf(names, sizeof(names), "one of %zu files", n);
	for (size_t i = 0; units && i < n; i++)
		units[i] = (struct link_unit){ .text = ptx[i].text, .name = names };
	if (units)
		status = ptx_link(units, n, log, sizeof(log), ret_ptx);
	free(units);
	fatbin_units_free(ptx, n);
	if (status == LINK_FAILED)
		driver_note("linking of relocatable device code: %s", log);
	if (status != LINK_OK)
		return status == LINK_NO_MEMORY ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_IMAGE;
	*ret_bytes = strlen(*ret_ptx);
	return CUDA_SUCCESS;
}

CUresult image_ptx(const void *image, uint32_t cc, char **ret_ptx, size_t *ret_bytes)
{
	struct fatbin_ptx ptx = { .text = NULL };
	struct fatbin_ptx *units;
	enum fatbin_status status;
	size_t n;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(image,
		    "\x7F"
		    "ELF",
		    4) == 0)
		return fatbin_failure(FATBIN_NO_PTX, cc);
	if (fatbin_is_wrapper(image)) {
		status = fatbin_wrapper_ptx(image, cc, &units, &n);
		return status == FATBIN_OK ? units_link(units, n, ret_ptx, ret_bytes) : fatbin_failure(status, cc);
	}
	if (fatbin_is_container(image)) {
		status = fatbin_container_ptx(image, fatbin_container_bytes(image), cc, &ptx);
	} else {
		ptx.bytes = strlen(image);
		ptx.text = strdup(image);
		status = ptx.text ? FATBIN_OK : FATBIN_NO_MEMORY;
	}
	if (status != FATBIN_OK)
		return fatbin_failure(status, cc);
	*ret_ptx = ptx.text;
	*ret_bytes = ptx.bytes;
	return CUDA_SUCCESS;
}

enum { NO_OPTION = -1 };

static int option_find(CUjit_option option, unsigned int n_options, const CUjit_option *options)
{
	for (unsigned int i = 0; i < n_options; i++) {
		if (options[i] == option)
			return (int)i;
	}
	return NO_OPTION;
}

/* Sizes are passed by value in the pointer array, and the size written is left there. */
static void log_write(const char *log, CUjit_option buffer_option, CUjit_option size_option, unsigned int n_options,
		      const CUjit_option *options, void **values)
{
	int buffer = option_find(buffer_option, n_options, options);
	int size = option_find(size_option, n_options, options);
	size_t room = size == NO_OPTION ? 0 : (size_t)(uintptr_t)values[size];

	if (size == NO_OPTION)
		return;
	if (buffer != NO_OPTION && values[buffer] && room)
		snprintf(values[buffer], room, "%s", log);
	values[size] = (void *)(uintptr_t)MIN(strlen(log) + 1, room);
}

void image_log(const char *log, unsigned int n_options, const CUjit_option *options, void **values)
{
	if (!options || !values)
		return;
	log_write(log, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, n_options, options, values);
	log_write("", CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, n_options, options, values);
}

CUresult image_compile(struct sim_device *device, const char *ptx, size_t bytes, unsigned int n_options,
		       const CUjit_option *options, void **values, struct sim_module **ret_module)
{
	char log[4096] = "";
	char *line, *rest = NULL;
	enum sim_status status = sim_module_load(device, ptx, bytes, log, sizeof(log), ret_module);
	bool launches = strstr(log, "function __cudaCDP2") != NULL; /* of the device's own runtime, libcudadevrt.a */

	image_log(log, n_options, options, values);
	if (status == SIM_OK)
		return CUDA_SUCCESS;
	for (line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		driver_note("PTX: %s", line);
	if (launches)
		driver_note("launches from the device are not supported");
	return result_of(status);
}

CUresult image_read_file(const char *path, char **ret_bytes)
{
	FILE *file = path ? fopen(path, "rbe") : NULL;
	CUresult result = CUDA_ERROR_FILE_NOT_FOUND;
	char *bytes = NULL;
	long size;

	if (!file)
		return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
	if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
		bytes = calloc(1, (size_t)size + 1);
		if (!bytes)
			result = CUDA_ERROR_OUT_OF_MEMORY;
		else if (fread(bytes, 1, (size_t)size, file) == (size_t)size)
			result = CUDA_SUCCESS;
		/* A container is believed its own size, so a file must not be shorter. */
		if (result == CUDA_SUCCESS && size >= 16 && fatbin_is_container(bytes) &&
		    fatbin_container_bytes(bytes) > (size_t)size)
			result = CUDA_ERROR_INVALID_IMAGE;
	}
	fclose(file);
	if (result != CUDA_SUCCESS)
		free(bytes);
	else
		*ret_bytes = bytes;
	return result;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * jit_link.c - cuLink*(): PTX from several places into one image.
 *
 * Inputs are PTX, or fat binaries that hold some; they are kept until cuLinkComplete() links them (link.c), compiles
 * the result once to find its errors, and hands out the linked text as the "cubin": cuModuleLoadData() takes it as
 * any other. Callable from any thread; one link belongs to one thread at a time.
 */
#include "driver.h"
#include "image.h"
#include "link.h"

#include <stdlib.h>
#include <string.h>

struct jit_link {
	struct link_unit *units; /* texts and names owned */
	size_t n;
	char *linked; /* owned; after cuLinkComplete() */
	unsigned int n_options;
	CUjit_option *options;
	void **values; /* the program's: logs and their sizes are written there */
};

static CUresult link_check(CUlinkState handle, struct jit_link **ret_link)
{
	if (!handle_is(HANDLE_LINK, handle))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret_link = (struct jit_link *)handle;
	return CUDA_SUCCESS;
}

static uint32_t capability(void)
{
	const struct sim_config *config = &context_gated()->device->config;

	return config->cc_major * 10 + config->cc_minor;
}

CUresult impl_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options, void **optionValues,
			      CUlinkState *stateOut)
{
	struct jit_link *link;

	if (!stateOut || (numOptions && (!options || !optionValues)))
		return CUDA_ERROR_INVALID_VALUE;
	link = calloc(1, sizeof(*link));
	if (!link)
		return CUDA_ERROR_OUT_OF_MEMORY;
	/* As documented, the values stay the program's for the lifetime of the link. */
	link->values = optionValues;
	link->n_options = numOptions;
	link->options = calloc(numOptions + 1, sizeof(*link->options));
	if (!link->options || handle_add(HANDLE_LINK, link) != CUDA_SUCCESS) {
		free(link->options);
		free(link);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (numOptions)
		memcpy(link->options, options, numOptions * sizeof(*options));
	*stateOut = (CUlinkState)link;
	return CUDA_SUCCESS;
}

/* Takes the text over. */
static CUresult unit_add(struct jit_link *link, char *text, const char *name)
{
	struct link_unit *more = realloc(link->units, (link->n + 1) * sizeof(*more));
	char *own_name = strdup(name && *name ? name : "an input without name");

	if (more)
		link->units = more;
	if (!more || !own_name) {
		free(text);
		free(own_name);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	link->units[link->n++] = (struct link_unit){ .text = text, .name = own_name };
	return CUDA_SUCCESS;
}

/* Not every caller counts the NUL at the end of its text, or has one. */
static char *text_of(const void *data, size_t bytes)
{
	char *text = malloc(bytes + 1);

	if (text) {
		memcpy(text, data, bytes);
		text[bytes] = '\0';
	}
	return text;
}

CUresult impl_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			       unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	struct jit_link *link;
	size_t bytes;
	char *text;
	CUresult result = link_check(state, &link);

	if (result != CUDA_SUCCESS)
		return result;
	if (!data || size == 0 || link->linked)
		return CUDA_ERROR_INVALID_VALUE;
	switch (type) {
	case CU_JIT_INPUT_PTX:
		text = text_of(data, size);
		return text ? unit_add(link, text, name) : CUDA_ERROR_OUT_OF_MEMORY;
	case CU_JIT_INPUT_FATBINARY:
		result = image_ptx(data, capability(), &text, &bytes);
		return result == CUDA_SUCCESS ? unit_add(link, text, name) : result;
	case CU_JIT_INPUT_CUBIN:
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
	case CU_JIT_INPUT_NVVM:
		driver_note("cuLinkAddData: %s is not PTX; only PTX, and fat binaries with PTX, can be linked",
			    name ? name : "the input");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult impl_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
			       CUjit_option *options, void **optionValues)
{
	struct jit_link *link;
	char *bytes;
	CUresult result = link_check(state, &link);

	if (result == CUDA_SUCCESS)
		result = image_read_file(path, &bytes);
	if (result != CUDA_SUCCESS)
		return result;
	result = impl_cuLinkAddData_v2(state, type, bytes, type == CU_JIT_INPUT_PTX ? strlen(bytes) + 1 : 1, path,
				       numOptions, options, optionValues);
	free(bytes);
	return result;
}

CUresult impl_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
	char log[512] = "";
	struct sim_module *compiled;
	enum link_status status;
	struct jit_link *link;
	CUresult result = link_check(state, &link);

	if (result != CUDA_SUCCESS)
		return result;
	if (!cubinOut || link->linked)
		return CUDA_ERROR_INVALID_VALUE;
	status = ptx_link(link->units, link->n, log, sizeof(log), &link->linked);
	if (status == LINK_NO_MEMORY)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (status == LINK_FAILED) {
		link->linked = NULL;
		driver_note("linking: %s", log);
		image_log(log, link->n_options, link->options, link->values);
		return CUDA_ERROR_INVALID_IMAGE;
	}
	result = image_compile(context_gated()->device->sim, link->linked, strlen(link->linked), link->n_options,
			       link->options, link->values, &compiled);
	if (result != CUDA_SUCCESS)
		return result;
	sim_module_unload(compiled);
	*cubinOut = link->linked;
	if (sizeOut)
		*sizeOut = strlen(link->linked) + 1;
	return CUDA_SUCCESS;
}

CUresult impl_cuLinkDestroy(CUlinkState state)
{
	struct jit_link *link;
	CUresult result = link_check(state, &link);

	if (result != CUDA_SUCCESS)
		return result;
	handle_remove(link);
	for (size_t i = 0; i < link->n; i++) {
		free((char *)link->units[i].text);
		free((char *)link->units[i].name);
	}
	free(link->units);
	free(link->linked);
	free(link->options);
	free(link);
	return CUDA_SUCCESS;
}

/* The same since sizes have 64 bits. */

CUresult impl_cuLinkCreate(unsigned int numOptions, CUjit_option *options, void **optionValues, CUlinkState *stateOut)
{
	return impl_cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

CUresult impl_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
			    unsigned int numOptions, CUjit_option *options, void **optionValues)
{
	return impl_cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

CUresult impl_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned int numOptions,
			    CUjit_option *options, void **optionValues)
{
	return impl_cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}

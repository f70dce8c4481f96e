/* SPDX-License-Identifier: Apache-2.0
 *
 * nvrtc_ptx.c NVRTC SOURCE FOLDER OUTPUT - compiles SOURCE, with headers from FOLDER, the way programs do that compile
 * their kernels as they run, and writes the PTX.
 */
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS(X)              \
	X(nvrtcCreateProgram)     \
	X(nvrtcCompileProgram)    \
	X(nvrtcGetPTXSize)        \
	X(nvrtcGetPTX)            \
	X(nvrtcGetProgramLogSize) \
	X(nvrtcGetProgramLog)

#define X(name) static __typeof__(&name) real_##name;
FUNCTIONS(X)
#undef X

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1u << 16);

	if (file == NULL || text == NULL || fread(text, 1, (1u << 16) - 1, file) == 0)
		return NULL;
	(void)fclose(file);
	return text;
}

static int compile(const char *source, const char *folder, const char *output)
{
	char include[4096];
	const char *options[] = { include, "--gpu-architecture=compute_90", "--std=c++17" };
	nvrtcProgram program;
	char *text;
	size_t bytes = 0;
	FILE *file;

	(void)snprintf(include, sizeof(include), "--include-path=%s", folder);
	if (real_nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL) != NVRTC_SUCCESS)
		return 1;
	if (real_nvrtcCompileProgram(program, 3, options) != NVRTC_SUCCESS) {
		if (real_nvrtcGetProgramLogSize(program, &bytes) == NVRTC_SUCCESS &&
		    (text = calloc(1, bytes + 1)) != NULL && real_nvrtcGetProgramLog(program, text) == NVRTC_SUCCESS)
			(void)fputs(text, stderr);
		return 1;
	}
	if (real_nvrtcGetPTXSize(program, &bytes) != NVRTC_SUCCESS || (text = calloc(1, bytes + 1)) == NULL ||
	    real_nvrtcGetPTX(program, text) != NVRTC_SUCCESS)
		return 1;
	file = fopen(output, "w");
	return file == NULL || fputs(text, file) < 0 || fclose(file) != 0;
}

int main(int argc, char **argv)
{
	void *library = argc == 5 ? dlopen(argv[1], RTLD_NOW) : NULL;
	char *source = argc == 5 ? read_text(argv[2]) : NULL;

	if (library == NULL || source == NULL)
		return 2;
#define X(name)                                                 \
	real_##name = (__typeof__(&name))dlsym(library, #name); \
	if (real_##name == NULL)                                \
		return 3;
	FUNCTIONS(X)
#undef X
	return compile(source, argv[3], argv[4]);
}

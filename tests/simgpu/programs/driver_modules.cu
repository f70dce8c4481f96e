// SPDX-License-Identifier: Apache-2.0
//
// The driver API by itself: a context made and destroyed, PTX loaded from memory and from a file, two texts linked into
// one module, globals set from the host, parameters given both ways, and code that does not compile, with its log.
// Exercises: cuCtxCreate, cuModuleLoad/LoadDataEx, cuLink*, cuModuleGetGlobal, cuLaunchKernel with `extra`, JIT
// options.
#include "sample.h"

#include <cstring>
#include <cuda.h>
#include <string>
#include <unistd.h>

#define DRIVER(call)                                                                 \
	do {                                                                         \
		const CUresult result_ = (call);                                     \
		if (result_ != CUDA_SUCCESS) {                                       \
			const char *name_ = "?";                                     \
			cuGetErrorName(result_, &name_);                             \
			printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, name_); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

// to[i] = scale * f(i), f in another text.
static const char main_text[] = HEADER R"(
.visible .global .u32 scale = 3;
.extern .func (.param .u32 result) f (.param .u32 argument);
.visible .entry apply(.param .u64 to, .param .u32 n)
{
	.reg .pred %p;
	.reg .u32 %i, %n, %v, %s;
	.reg .u64 %a;
	ld.param.u64 %a, [to];
	ld.param.u32 %n, [n];
	mov.u32 %i, %tid.x;
	setp.ge.u32 %p, %i, %n;
	@%p ret;
	{
		.param .u32 in;
		.param .u32 out;
		st.param.u32 [in], %i;
		call (out), f, (in);
		ld.param.u32 %v, [out];
	}
	ld.global.u32 %s, [scale];
	mul.lo.u32 %v, %v, %s;
	mad.wide.u32 %a, %i, 4, %a;
	st.global.u32 [%a], %v;
	ret;
}
)";
static const char square_text[] = HEADER R"(
.visible .func (.param .u32 result) f (.param .u32 argument)
{
	.reg .u32 %v;
	ld.param.u32 %v, [argument];
	mul.lo.u32 %v, %v, %v;
	st.param.u32 [result], %v;
	ret;
}
)";

static constexpr unsigned n = 100;

static std::vector<unsigned> values(CUdeviceptr from)
{
	std::vector<unsigned> host(n);
	DRIVER(cuMemcpyDtoH(host.data(), from, n * sizeof(unsigned)));
	return host;
}

static std::vector<unsigned> expected(unsigned scale)
{
	std::vector<unsigned> should(n);
	for (unsigned i = 0; i < n; i++)
		should[i] = scale * i * i;
	return should;
}

static void run(CUmodule module, CUdeviceptr to)
{
	CUfunction function;
	CUdeviceptr scale;
	size_t bytes;
	unsigned count = n, ten = 10;
	DRIVER(cuModuleGetFunction(&function, module, "apply"));
	DRIVER(cuMemsetD32(to, 0, n));
	void *pointers[] = { &to, &count };
	DRIVER(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, pointers, nullptr));
	sample::expect_equal("by pointers", values(to), expected(3));

	DRIVER(cuModuleGetGlobal(&scale, &bytes, module, "scale"));
	sample::expect(bytes == sizeof(unsigned), "scale has %zu bytes", bytes);
	DRIVER(cuMemcpyHtoD(scale, &ten, sizeof(ten)));
	struct {
		CUdeviceptr to;
		unsigned n;
	} block = { to, n };
	size_t size = sizeof(block);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			  CU_LAUNCH_PARAM_END };
	DRIVER(cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
	sample::expect_equal("by a block", values(to), expected(10));
	DRIVER(cuModuleUnload(module));
}

static CUmodule linked()
{
	CUlinkState state;
	CUmodule module;
	void *image;
	size_t bytes;
	DRIVER(cuLinkCreate(0, nullptr, nullptr, &state));
	DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)main_text, sizeof(main_text), "main", 0, nullptr,
			     nullptr));
	DRIVER(cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)square_text, sizeof(square_text), "square", 0, nullptr,
			     nullptr));
	DRIVER(cuLinkComplete(state, &image, &bytes));
	DRIVER(cuModuleLoadData(&module, image));
	DRIVER(cuLinkDestroy(state));
	return module;
}

// Both in one file, the definition first.
static CUmodule from_file()
{
	char path[] = "/tmp/driver_modules_XXXXXX";
	std::string text = main_text;
	const std::string declaration = ".extern .func (.param .u32 result) f (.param .u32 argument);";
	const std::string definition = square_text + strlen(HEADER);
	text.replace(text.find(declaration), declaration.size(), definition);
	const int fd = mkstemp(path);
	if (fd < 0 || write(fd, text.data(), text.size()) != (ssize_t)text.size() || close(fd) != 0)
		sample::expect(false, "%s cannot be written", path);
	CUmodule module;
	DRIVER(cuModuleLoad(&module, path));
	unlink(path);
	return module;
}

static void refusals()
{
	char log[1024] = "";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *settings[] = { log, (void *)sizeof(log) };
	CUmodule module;
	const CUresult result =
		cuModuleLoadDataEx(&module, HEADER ".visible .entry bad() { add.u32 %r1, 1; }", 2, options, settings);
	sample::expect(result == CUDA_ERROR_INVALID_PTX, "bad PTX gives %d", result);
	sample::expect(log[0] != '\0', "no log for bad PTX");
	sample::expect(cuModuleLoad(&module, "/nonexistent.ptx") == CUDA_ERROR_FILE_NOT_FOUND, "a file was found");
	CUfunction function;
	module = linked();
	sample::expect(cuModuleGetFunction(&function, module, "nothing") == CUDA_ERROR_NOT_FOUND, "found nothing");
	DRIVER(cuModuleUnload(module));
}

int main()
{
	CUdevice device;
	CUcontext context, current;
	CUdeviceptr to;
	DRIVER(cuInit(0));
	DRIVER(cuDeviceGet(&device, 0));
	sample::expect(cuMemAlloc(&to, 4) == CUDA_ERROR_INVALID_CONTEXT, "memory without a context");
	DRIVER(cuCtxCreate(&context, nullptr, CU_CTX_SCHED_AUTO, device));
	DRIVER(cuMemAlloc(&to, n * sizeof(unsigned)));
	run(linked(), to);
	run(from_file(), to);
	refusals();
	DRIVER(cuMemFree(to));
	DRIVER(cuCtxPopCurrent(&current));
	sample::expect(current == context, "another context was current");
	DRIVER(cuCtxDestroy(context));
	return sample::finish("driver_modules");
}

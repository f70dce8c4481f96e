// SPDX-License-Identifier: Apache-2.0
//
// Kernels compiled while the program runs: CUDA C++ text goes through NVRTC, the PTX it gives is loaded with the driver
// API and launched next to the kernels nvcc compiled. Text with an error gives a log that names the line. Constants of
// the text are chosen at run time; a kernel template is instantiated by name.
// NVRTC comes with the toolkit, not with the driver: where it is not found the program says so and ends with 77.
// Exercises: cuModuleLoadData and cuModuleLoadDataEx, cuModuleGetFunction, cuModuleGetGlobal, cuLaunchKernel with both
// ways to pass arguments, driver and runtime in one context, an unload.
#include "sample.h"

#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <string>

static const char source[] = R"(
__device__ int n_runs;
__constant__ float table[4];

template <typename T, int unroll> __global__ void polynomial(const T *x, T *y, int n, T a)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	T value = 0;
#pragma unroll
	for (int k = 0; k < unroll; k++)
		value = value * x[i] + a + table[k % 4];
	y[i] = value;
	if (i == 0)
		atomicAdd(&n_runs, SCALE);
}
)";

// --- what is used of NVRTC, found at run time
// -----------------------------------------------------------------------------
static decltype(&nvrtcCreateProgram) create_program;
static decltype(&nvrtcCompileProgram) compile_program;
static decltype(&nvrtcGetPTXSize) get_ptx_size;
static decltype(&nvrtcGetPTX) get_ptx;
static decltype(&nvrtcGetProgramLogSize) get_log_size;
static decltype(&nvrtcGetProgramLog) get_log;
static decltype(&nvrtcAddNameExpression) add_name;
static decltype(&nvrtcGetLoweredName) get_lowered_name;
static decltype(&nvrtcDestroyProgram) destroy_program;

template <typename T> static bool find(void *library, const char *name, T &ret_function)
{
	ret_function = reinterpret_cast<T>(dlsym(library, name));
	return ret_function != nullptr;
}

static bool find_nvrtc()
{
	void *library = nullptr;
	for (const char *name : { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", NVRTC_FOLDER "/libnvrtc.so.13",
				  NVRTC_FOLDER "/libnvrtc.so.12", NVRTC_FOLDER "/libnvrtc.so" })
		if (library == nullptr)
			library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	return library != nullptr && find(library, "nvrtcCreateProgram", create_program) &&
	       find(library, "nvrtcCompileProgram", compile_program) &&
	       find(library, "nvrtcGetPTXSize", get_ptx_size) && find(library, "nvrtcGetPTX", get_ptx) &&
	       find(library, "nvrtcGetProgramLogSize", get_log_size) && find(library, "nvrtcGetProgramLog", get_log) &&
	       find(library, "nvrtcAddNameExpression", add_name) &&
	       find(library, "nvrtcGetLoweredName", get_lowered_name) &&
	       find(library, "nvrtcDestroyProgram", destroy_program);
}

// --- the driver's functions, by the runtime: nothing but libcudart to link
// ---------------------------------------------------
template <typename T> static T driver(const char *name)
{
	void *function = nullptr;
	cudaDriverEntryPointQueryResult result;
	TRY(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &result));
	if (result != cudaDriverEntryPointSuccess) {
		printf("%s not found\n", name);
		exit(1);
	}
	return reinterpret_cast<T>(function);
}

#define DRIVER(name)     driver<decltype(&name)>(#name)
#define TRY_DRIVER(call) sample::expect((call) == CUDA_SUCCESS, "%s", #call)

// PTX for the device at hand; `lowered_name` is the name the kernel has there.
static std::string compile(const char *text, const char *scale, const char *kernel, std::string &lowered_name)
{
	cudaDeviceProp properties;
	TRY(cudaGetDeviceProperties(&properties, 0));
	const std::string arch =
		"--gpu-architecture=compute_" + std::to_string(properties.major * 10 + properties.minor);
	const std::string define = std::string("-DSCALE=") + scale;
	const char *const options[] = { arch.c_str(), define.c_str(), "--std=c++17" };
	nvrtcProgram program;
	if (create_program(&program, text, "polynomial.cu", 0, nullptr, nullptr) != NVRTC_SUCCESS) {
		printf("NVRTC does not start\n");
		exit(1);
	}
	if (kernel != nullptr)
		add_name(program, kernel);
	std::string result;
	size_t bytes = 0;
	if (compile_program(program, 3, options) == NVRTC_SUCCESS) {
		const char *name = nullptr;
		get_ptx_size(program, &bytes);
		result.resize(bytes);
		get_ptx(program, &result[0]);
		if (kernel != nullptr && get_lowered_name(program, kernel, &name) == NVRTC_SUCCESS)
			lowered_name = name;
	} else {
		get_log_size(program, &bytes);
		result.resize(bytes);
		get_log(program, &result[0]);
		lowered_name.clear();
	}
	destroy_program(&program);
	return result;
}

__global__ void halve(float *values, int n)
{
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		values[i] *= 0.5f;
}

static void run()
{
	std::string name, unused;
	const std::string ptx = compile(source, "3", "polynomial<float, 5>", name);
	if (!sample::expect(!name.empty(), "not compiled: %s", ptx.c_str()))
		return;
	const std::string log = compile("__global__ void f() {\n\tint a = nothing;\n}\n", "1", nullptr, unused);
	sample::expect(log.find("polynomial.cu(2)") != std::string::npos, "log of an error: %s", log.c_str());

	const int n = 1000;
	const float a = 0.25f, table[4] = { 0.5f, -0.25f, 0.125f, 1.0f };
	std::vector<float> x(n), should(n);
	for (int i = 0; i < n; i++) {
		x[i] = (float)(i % 64) / 64.0f - 0.5f;
		float value = 0;
		for (int k = 0; k < 5; k++)
			value = fmaf(value, x[i], a) + table[k % 4];
		should[i] = value * 0.5f;
	}
	const sample::Array<float> device_x(x), device_y(n); // the runtime makes the context
	CUmodule module;
	CUfunction function;
	CUdeviceptr address;
	size_t bytes = 0;
	char info[512] = "";
	CUjit_option options[] = { CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { info, (void *)sizeof(info) };
	TRY_DRIVER(DRIVER(cuModuleLoadDataEx)(&module, ptx.c_str(), 2, options, values));
	TRY_DRIVER(DRIVER(cuModuleGetFunction)(&function, module, name.c_str()));
	TRY_DRIVER(DRIVER(cuModuleGetGlobal)(&address, &bytes, module, "table"));
	sample::expect(bytes == sizeof(table), "table: %zu bytes", bytes);
	TRY_DRIVER(DRIVER(cuMemcpyHtoD)(address, table, sizeof(table)));

	float *from = device_x, *to = device_y, factor = a;
	int count = n;
	void *arguments[] = { &from, &to, &count, &factor };
	const auto launch = DRIVER(cuLaunchKernel);
	TRY_DRIVER(launch(function, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr));
	halve<<<(n + 127) / 128, 128>>>(device_y, n);
	LAUNCHED();
	sample::expect_near("polynomial", device_y.get(), should, 1e-6);

	// The same arguments in one block of memory, laid out as the kernel's parameters are.
	struct {
		float *x, *y;
		int n;
		float a;
	} block = { device_x, device_y, n, a };
	size_t block_bytes = sizeof(block);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &block_bytes,
			  CU_LAUNCH_PARAM_END };
	TRY_DRIVER(launch(function, (n + 127) / 128, 1, 1, 128, 1, 1, 0, nullptr, nullptr, extra));
	halve<<<(n + 127) / 128, 128>>>(device_y, n);
	LAUNCHED();
	sample::expect_near("polynomial again", device_y.get(), should, 1e-6);

	int n_runs = 0;
	TRY_DRIVER(DRIVER(cuModuleGetGlobal)(&address, &bytes, module, "n_runs"));
	TRY_DRIVER(DRIVER(cuMemcpyDtoH)(&n_runs, address, sizeof(n_runs)));
	sample::expect(n_runs == 6, "runs: %d", n_runs);
	CUfunction missing;
	sample::expect(DRIVER(cuModuleGetFunction)(&missing, module, "polynomial") == CUDA_ERROR_NOT_FOUND,
		       "a wrong name");
	TRY_DRIVER(DRIVER(cuModuleUnload)(module));
	sample::expect(DRIVER(cuModuleLoadData)(&module, ".version 8.0\n.target sm_80\nnonsense") ==
			       CUDA_ERROR_INVALID_PTX,
		       "nonsense was loaded");
}

int main()
{
	if (!find_nvrtc()) {
		printf("no libnvrtc here: it comes with the CUDA toolkit (lib64) or the package nvidia-cuda-nvrtc\n");
		return 77;
	}
	run();
	return sample::finish("jit");
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * driver.c PTX MODE - launches "step" of kernels.cu through the driver API, linked with libcuda as driver programs are.
 * Every launch has 4 blocks of 2 warps. Prints how often each element was incremented.
 */
#include <cuda.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 4, THREADS = 64, ELEMENTS = BLOCKS * THREADS };

/* Allocations of this thread while it counts. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
static _Thread_local int counting, n_allocations;

void *malloc(size_t bytes)
{
	n_allocations += counting;
	return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
	n_allocations += counting;
	return __libc_calloc(n, bytes);
}

void *realloc(void *memory, size_t bytes)
{
	n_allocations += counting;
	return __libc_realloc(memory, bytes);
}

static char *ptx;
static CUdevice device;
static CUcontext shared_context;

#define CHECK(call)                                                   \
	do {                                                          \
		const CUresult check_result = (call);                 \
		if (check_result != CUDA_SUCCESS) {                   \
			printf("%s: %d\n", #call, (int)check_result); \
			exit(1);                                      \
		}                                                     \
	} while (0)

static CUdeviceptr make_data(void)
{
	CUdeviceptr data;

	CHECK(cuMemAlloc(&data, ELEMENTS * sizeof(int)));
	CHECK(cuMemsetD8(data, 0, ELEMENTS * sizeof(int)));
	return data;
}

static void print_data(CUdeviceptr data)
{
	int host[ELEMENTS];
	int least, most;

	CHECK(cuMemcpyDtoH(host, data, sizeof(host)));
	least = most = host[0];
	for (int i = 0; i < ELEMENTS; i++) {
		least = host[i] < least ? host[i] : least;
		most = host[i] > most ? host[i] : most;
	}
	printf("each element %d..%d times\n", least, most);
}

static CUfunction load(CUmodule *ret_module)
{
	CUfunction function;

	CHECK(cuModuleLoadData(ret_module, ptx));
	CHECK(cuModuleGetFunction(&function, *ret_module, "step"));
	return function;
}

static void launch(CUfunction function, CUdeviceptr data)
{
	void *parameters[] = { &data };

	CHECK(cuLaunchKernel(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
}

typedef CUresult launch_kernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
			       CUstream, void **, void **);
typedef CUresult launch_kernel_ex(const CUlaunchConfig *, CUfunction, void **, void **);
typedef CUresult launch_cooperative(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
				    CUstream, void **);
typedef CUresult query_4(const char *, void **, int, cuuint64_t);
typedef CUresult query_5(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

/* Linked, looked up and asked for, in one program: 3 + 2 + 5 launches. */
static void every_door(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();
	void *parameters[] = { &data };
	const CUlaunchConfig config = {
		.gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1
	};
	CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
	query_5 *ask = NULL, *ask_again = NULL;
	query_4 *ask_old = NULL;
	void *found = NULL;

	for (int i = 0; i < 3; i++)
		launch(function, data);

	CHECK(((launch_kernel *)dlsym(library, "cuLaunchKernel"))(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL,
								  parameters, NULL));
	CHECK(((launch_kernel_ex *)dlsym(library, "cuLaunchKernelEx"))(&config, function, parameters, NULL));

	ask = (query_5 *)dlsym(library, "cuGetProcAddress_v2");
	CHECK(ask("cuGetProcAddress", (void **)&ask_again, 12000, 0, &status));
	printf("status %d\n", (int)status);
	status = (CUdriverProcAddressQueryResult)99;
	CHECK(ask_again("cuLaunchKernel", &found, 4000, 0, &status));
	printf("status %d\n", (int)status);
	CHECK(((launch_kernel *)found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
	CHECK(ask_again("cuLaunchKernel", &found, 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, NULL));
	CHECK(((launch_kernel *)found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
	CHECK(ask_again("cuLaunchKernelEx", &found, 11060, 0, NULL));
	CHECK(((launch_kernel_ex *)found)(&config, function, parameters, NULL));
	CHECK(ask("cuGetProcAddress", (void **)&ask_old, 11030, 0, &status));
	CHECK(ask_old("cuLaunchCooperativeKernel", &found, 9000, 0));
	CHECK(((launch_cooperative *)found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters));
	CHECK(ask_old("cuLaunchCooperativeKernel", &found, 9000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	CHECK(((launch_cooperative *)found)(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters));

	CHECK(cuCtxSynchronize());
	print_data(data);
}

/* What the driver answers to odd questions reaches the program as it is. */
static void odd_questions(void)
{
	static const struct {
		const char *name;
		int version;
		cuuint64_t flags;
	} questions[] = {
		{ "", 0, 0 },
		{ "cuNoSuchFunction", 12000, 0 },
		{ "cuLaunchKernel", 1, 0 },
		{ "cuLaunchKernelEx", 11050, 0 },
		{ "cuLaunchKernel", 4000, 77 },
		{ "cuGetProcAddress", 11020, 0 },
	};

	for (unsigned i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
		void *found = (void *)&status;
		const CUresult result =
			cuGetProcAddress(questions[i].name, &found, questions[i].version, questions[i].flags, &status);

		printf("'%s' %d: %d, %s, status %d\n", questions[i].name, questions[i].version, (int)result,
		       found == NULL              ? "nothing"
		       : found == (void *)&status ? "untouched"
						  : "something",
		       (int)status);
	}
	printf("no place: %d\n", (int)cuGetProcAddress("cuLaunchKernel", NULL, 12000, 0, NULL));
	printf("launch of nothing: %d\n", (int)cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	printf("no config: %d\n", (int)cuLaunchKernelEx(NULL, NULL, NULL, NULL));
}

/* Whatever is asked for, in whatever version: the function of that name, or its wrapper, which has it too. */
static void every_answer(void)
{
	static const char *const names[] = {
#define WARPSPAN_HOOK(name, asked, ...) asked,
#include "hooks.def"
	};
	static const int versions[] = { -1,    2000,  3020,  4000,  7000,  9000,  10000, 10010, 11000, 11030,
					11040, 11060, 12000, 12020, 12030, 12080, 13000, 13010, 99000 };

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		for (unsigned j = 0; j < sizeof(versions) / sizeof(versions[0]); j++)
			for (cuuint64_t flags = 0; flags < 4; flags++) {
				CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
				Dl_info info = { .dli_sname = NULL };
				void *found = NULL;
				const CUresult result = cuGetProcAddress(names[i], &found, versions[j], flags, &status);

				if (found != NULL)
					(void)dladdr(found, &info);
				printf("%s %d %d: %d %d %s\n", names[i], versions[j], (int)flags, (int)result,
				       (int)status, info.dli_sname != NULL ? info.dli_sname : "nothing");
			}
}

/* Both forms that are asked for by this name, one after the other and once more. */
static void both_instantiate(void)
{
	typedef CUresult with_log(CUgraphExec *, CUgraph, CUgraphNode *, char *, size_t);
	typedef CUresult with_flags(CUgraphExec *, CUgraph, unsigned long long);
	char log[64] = "";
	CUgraphNode node = NULL;
	CUgraph graph;
	CUgraphExec exec;
	void *before = NULL, *after = NULL;

	CHECK(cuGetProcAddress("cuGraphInstantiate", &before, 11000, 0, NULL));
	CHECK(cuGetProcAddress("cuGraphInstantiate", &after, 12000, 0, NULL));
	CHECK(cuGraphCreate(&graph, 0));
	for (int i = 0; i < 2; i++) {
		printf("%d ", (int)((with_log *)before)(&exec, graph, &node, log, sizeof(log)));
		printf("%d ",
		       (int)((with_flags *)after)(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
		printf("%d\n", (int)((with_flags *)after)(&exec, graph, 1ull << 40));
	}
}

/* The driver gives the same handles to the next module: 20 launches. */
static void load_and_unload(void)
{
	CUdeviceptr data = make_data();

	for (int i = 0; i < 20; i++) {
		CUmodule module;
		CUfunction function = load(&module);

		launch(function, data);
		CHECK(cuCtxSynchronize());
		CHECK(cuModuleUnload(module));
	}
	print_data(data);
}

/* A kernel of a library has no context of its own: 3 * 2 launches, one by each kind of handle. */
static void libraries(void)
{
	CUdeviceptr data = make_data();

	for (int i = 0; i < 3; i++) {
		CUlibrary library;
		CUkernel kernel;
		CUfunction function;

		CHECK(cuLibraryLoadData(&library, ptx, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cuLibraryGetKernel(&kernel, library, "step"));
		launch((CUfunction)kernel, data);
		CHECK(cuKernelGetFunction(&function, kernel));
		launch(function, data);
		CHECK(cuCtxSynchronize());
		CHECK(cuLibraryUnload(library));
	}
	print_data(data);
}

/* Contexts whose kernels are not waited for: 3 * 4 launches. */
static void contexts(void)
{
	for (int i = 0; i < 3; i++) {
		CUcontext context;
		CUmodule module;
		CUfunction function;
		CUdeviceptr data;

		CHECK(cuCtxCreate(&context, NULL, 0, device));
		function = load(&module);
		data = make_data();
		launch(function, data);
		print_data(data);
		for (int j = 0; j < 3; j++)
			launch(function, data);
		CHECK(cuCtxDestroy(context));
	}
}

/* A module compiled with another header: its first words say so. */
static void other_abi(void)
{
	const unsigned other = 77;
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();
	CUdeviceptr ctx;
	size_t bytes;

	CHECK(cuModuleGetGlobal(&ctx, &bytes, module, "warpspan_ctx"));
	CHECK(cuMemcpyHtoD(ctx + 8, &other, sizeof(other)));
	for (int i = 0; i < 3; i++)
		launch(function, data);
	print_data(data);
}

/* Replaces a text of the module that is there, by one of the same length. */
static void edit_ptx(const char *before, const char *after)
{
	char *at = strstr(ptx, before);

	if (at == NULL || strlen(before) != strlen(after)) {
		printf("no '%s'\n", before);
		exit(1);
	}
	memcpy(at, after, strlen(after));
}

/* A header of the future, whose context is larger. */
static void larger_abi(void)
{
	CUmodule module;
	CUfunction function;
	CUdeviceptr data = make_data();

	edit_ptx("warpspan_ctx[32] = {87, 65, 82, 80, 83, 80, 65, 78, 1, 0, 0, 0, 32}",
		 "warpspan_ctx[48] = {87, 65, 82, 80, 83, 80, 65, 78, 9, 0, 0, 0, 48}");
	function = load(&module);
	for (int i = 0; i < 3; i++)
		launch(function, data);
	print_data(data);
}

/* A program with a small variable of its own that has our name. */
static void not_ours(void)
{
	static char text[] =
		".version 8.0\n.target sm_80\n.address_size 64\n.visible .global .align 4 .u32 warpspan_ctx = 1;\n"
		".visible .entry step(.param .u64 data) { .reg .u32 %r; ld.global.u32 %r, [warpspan_ctx]; ret; }\n";

	ptx = text;
	launch(load(&(CUmodule){ NULL }), make_data());
	printf("done\n");
}

/* 1 launch the driver refuses, 1 of nothing, 1 that runs. */
static void refused(void)
{
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();
	void *parameters[] = { &data };

	printf("too many threads: %d\n",
	       (int)cuLaunchKernel(function, BLOCKS, 1, 1, 4096, 1, 1, 0, NULL, parameters, NULL));
	printf("not a function: %d\n",
	       (int)cuLaunchKernel(NULL, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
	launch(function, data);
	print_data(data);
}

static CUdeviceptr small_data;

static void *launch_on_small_stack(void *unused)
{
	CUmodule module;

	CHECK(cuCtxSetCurrent(shared_context));
	launch(load(&module), small_data);
	return unused;
}

/* The first launch, which begins the session and attaches, by a thread with little stack. */
static void small_stack(void)
{
	enum { STACK_BYTES = 32768 };
	pthread_attr_t attributes;
	pthread_t thread;

	small_data = make_data();
	(void)pthread_attr_init(&attributes);
	if (pthread_attr_setstacksize(&attributes, STACK_BYTES) != 0 ||
	    pthread_create(&thread, &attributes, launch_on_small_stack, NULL) != 0 || pthread_join(thread, NULL) != 0)
		exit(1);
	CHECK(cuCtxSynchronize());
	print_data(small_data);
}

/* 1 + 100 launches; what those 100 allocate is the driver's. */
static void steady(void)
{
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();

	launch(function, data);
	CHECK(cuCtxSynchronize());
	counting = 1;
	for (int i = 0; i < 100; i++)
		launch(function, data);
	counting = 0;
	print_data(data);
	printf("%d allocations\n", n_allocations);
}

/* Linked with libcuda, and yet looking the launch up, as Triton does: 4 launches. */
static void linked_and_looked_up(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	launch_kernel_ex *found = (launch_kernel_ex *)dlsym(library, "cuLaunchKernelEx");
	const CUlaunchConfig config = {
		.gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1
	};
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();
	void *parameters[] = { &data };

	for (int i = 0; i < 4; i++)
		CHECK(found(&config, function, parameters, NULL));
	print_data(data);
}

/* 50 modules: 50 launches. */
static void many_modules(void)
{
	CUdeviceptr data = make_data();

	for (int i = 0; i < 50; i++) {
		CUmodule module;

		launch(load(&module), data);
	}
	print_data(data);
}

/* A graph whose kernel is exchanged for one of a module nobody has launched from: 1 + 1 replays; then updated from
 * another graph, with one of a third module: 1. */
static void update_graph(void)
{
	CUdeviceptr data = make_data();
	void *arguments[] = { &data };
	CUDA_KERNEL_NODE_PARAMS params = { .gridDimX = BLOCKS,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = THREADS,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = arguments };
	CUgraphExecUpdateResultInfo info;
	CUmodule modules[3];
	CUgraph graph, other;
	CUgraphNode node, other_node;
	CUgraphExec exec;

	CHECK(cuGraphCreate(&graph, 0));
	params.func = load(&modules[0]);
	CHECK(cuGraphAddKernelNode(&node, graph, NULL, 0, &params));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	CHECK(cuGraphLaunch(exec, NULL));
	params.func = load(&modules[1]);
	printf("exchange: %d\n", (int)cuGraphExecKernelNodeSetParams(exec, node, &params));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuGraphCreate(&other, 0));
	params.func = load(&modules[2]);
	CHECK(cuGraphAddKernelNode(&other_node, other, NULL, 0, &params));
	printf("update: %d\n", (int)cuGraphExecUpdate(exec, other, &info));
	CHECK(cuGraphLaunch(exec, NULL));
	CHECK(cuCtxSynchronize());
	print_data(data);
}

/* The forms for a thread's own default stream, by their names; cuda.h declares them only under the plain ones. */
__typeof__(cuLaunchKernel) cuLaunchKernel_ptsz;
__typeof__(cuLaunchKernelEx) cuLaunchKernelEx_ptsz;
__typeof__(cuLaunchCooperativeKernel) cuLaunchCooperativeKernel_ptsz;
CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode);
__typeof__(cuStreamEndCapture) cuStreamEndCapture_ptsz;
__typeof__(cuGraphLaunch) cuGraphLaunch_ptsz;
__typeof__(cuStreamSynchronize) cuStreamSynchronize_ptsz;

/* Linked and looked up: 3 + 3 launches. Then, captured from the thread's own stream: 2 replays of 3. */
static void per_thread(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();
	void *parameters[] = { &data };
	const CUlaunchConfig config = {
		.gridDimX = BLOCKS, .gridDimY = 1, .gridDimZ = 1, .blockDimX = THREADS, .blockDimY = 1, .blockDimZ = 1
	};
	CUgraph graph;
	CUgraphExec exec;

	CHECK(cuCtxSynchronize());
	CHECK(((launch_kernel *)dlsym(library, "cuLaunchKernel_ptsz"))(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL,
								       parameters, NULL));
	CHECK(((launch_kernel_ex *)dlsym(library, "cuLaunchKernelEx_ptsz"))(&config, function, parameters, NULL));
	CHECK(((launch_cooperative *)dlsym(library, "cuLaunchCooperativeKernel_ptsz"))(function, BLOCKS, 1, 1, THREADS,
										       1, 1, 0, NULL, parameters));
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			CHECK(cuStreamBeginCapture_v2_ptsz(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL));
		CHECK(cuLaunchKernel_ptsz(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters, NULL));
		CHECK(cuLaunchKernelEx_ptsz(&config, function, parameters, NULL));
		CHECK(cuLaunchCooperativeKernel_ptsz(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL, parameters));
	}
	CHECK(cuStreamEndCapture_ptsz(NULL, &graph));
	CHECK(cuGraphInstantiate(&exec, graph, 0));
	for (int i = 0; i < 2; i++)
		CHECK(cuGraphLaunch_ptsz(exec, NULL));
	CHECK(cuStreamSynchronize_ptsz(NULL));
	print_data(data);
}

/* 1 launch, then copies of every shape, with no stream, a stream and the thread's own: see copies_of_every_shape. */
static void copies(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	__typeof__(&cuMemcpy2D_v2) per_thread_2d = (__typeof__(&cuMemcpy2D_v2))dlsym(library, "cuMemcpy2D_v2_ptds");
	__typeof__(&cuMemcpy3DAsync_v2) per_thread_3d =
		(__typeof__(&cuMemcpy3DAsync_v2))dlsym(library, "cuMemcpy3DAsync_v2_ptsz");
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data(), other = make_data();
	CUcontext context;
	CUstream stream;
	const CUDA_MEMCPY2D rectangle = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
					  .srcDevice = data,
					  .srcPitch = 64,
					  .dstMemoryType = CU_MEMORYTYPE_DEVICE,
					  .dstDevice = other,
					  .dstPitch = 64,
					  .WidthInBytes = 48,
					  .Height = 4 };
	const CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = data,
				    .srcPitch = 64,
				    .srcHeight = 4,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = other,
				    .dstPitch = 64,
				    .dstHeight = 4,
				    .WidthInBytes = 40,
				    .Height = 3,
				    .Depth = 2 };
	CUDA_MEMCPY3D_PEER peer = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				    .srcDevice = data,
				    .srcPitch = 64,
				    .srcHeight = 4,
				    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				    .dstDevice = other,
				    .dstPitch = 64,
				    .dstHeight = 4,
				    .WidthInBytes = 8,
				    .Height = 2,
				    .Depth = 2 };

	CHECK(cuCtxGetCurrent(&context));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	peer.srcContext = peer.dstContext = context;
	launch(function, data);
	CHECK(cuMemcpy2D(&rectangle));
	CHECK(cuMemcpy2DUnaligned(&rectangle));
	CHECK(cuMemcpy2DAsync(&rectangle, stream));
	CHECK(per_thread_2d(&rectangle));
	CHECK(cuMemcpy3D(&box));
	CHECK(cuMemcpy3DAsync(&box, stream));
	CHECK(per_thread_3d(&box, stream));
	CHECK(cuMemcpy3DPeer(&peer));
	CHECK(cuMemcpy3DPeerAsync(&peer, stream));
	CHECK(cuMemcpyPeer(other, context, data, context, 100));
	CHECK(cuMemcpyPeerAsync(other, context, data, context, 200, stream));
	printf("no rectangle: %d\n", (int)cuMemcpy2D(NULL));
	CHECK(cuStreamSynchronize(stream));
	print_data(data);
}

/* 4 launches. */
static void plain(void)
{
	CUmodule module;
	CUfunction function = load(&module);
	CUdeviceptr data = make_data();

	for (int i = 0; i < 4; i++)
		launch(function, data);
	print_data(data);
}

static void read_ptx(const char *path)
{
	FILE *file = fopen(path, "r");
	long bytes;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) <= 0 ||
	    fseek(file, 0, SEEK_SET) != 0 || (ptx = calloc(1, (size_t)bytes + 1)) == NULL ||
	    fread(ptx, 1, (size_t)bytes, file) != (size_t)bytes) {
		printf("cannot read %s\n", path);
		exit(1);
	}
	(void)fclose(file);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "doors", every_door },
		{ "odd", odd_questions },
		{ "unload", load_and_unload },
		{ "libraries", libraries },
		{ "contexts", contexts },
		{ "abi", other_abi },
		{ "fail", refused },
		{ "plain", plain },
		{ "steady", steady },
		{ "triton", linked_and_looked_up },
		{ "many", many_modules },
		{ "update", update_graph },
		{ "copies", copies },
		{ "per thread", per_thread },
		{ "answers", every_answer },
		{ "instantiate", both_instantiate },
		{ "larger abi", larger_abi },
		{ "not ours", not_ours },
		{ "small stack", small_stack },
	};

	if (argc != 3)
		return 2;
	read_ptx(argv[1]);
	CHECK(cuInit(0));
	CHECK(cuDeviceGet(&device, 0));
	CHECK(cuCtxCreate(&shared_context, NULL, 0, device));
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[2], modes[i].name) == 0)
			modes[i].run();
	return 42;
}

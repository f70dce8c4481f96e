/* SPDX-License-Identifier: Apache-2.0
 *
 * test_runs.c - whole programs on simgpu, and the settings that change what they meet.
 *
 * Usage: test_runs SOURCE_ROOT PROGRAMS_FOLDER; LD_LIBRARY_PATH leads to simgpu's libraries.
 */
#include "support.h"

#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *source_root, *programs;
static char old_path[4096];

static const char *program(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", programs, name);
	return path;
}

/* Runs and shows what was said when the exit status is another. */
static void run_expecting(const struct run *run, int status, struct run_result *ret_result)
{
	run_program(run, ret_result);
	if (ret_result->exit_status != status)
		fail_msg("%s: exit status %d, not %d; stderr: %s", run->arguments[0], ret_result->exit_status, status,
			 ret_result->err);
}

static unsigned int count_of(const char *text, const char *what)
{
	unsigned int n = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		n++;
	return n;
}

static char *read_text(const char *path)
{
	FILE *file = fopen(path, "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	fclose(file);
	return text;
}

static void two_runs_see_the_same_times(void **state)
{
	struct run run = { .arguments = { program("streams"), "times" } };
	struct run_result first, second;

	run_expecting(&run, 0, &first);
	run_expecting(&run, 0, &second);
	assert_int_equal(count_of(first.out, "\n"), 60);
	assert_string_equal(first.out, second.out);
	run_result_finish(&first);
	run_result_finish(&second);
}

static void the_process_ends_while_a_kernel_runs(void **state)
{
	struct run run = { .arguments = { program("hang_exit") }, .timeout_s = 20 };
	struct run_result result;

	run_expecting(&run, 0, &result);
	assert_non_null(strstr(result.err, "hang_exit ok"));
	run_result_finish(&result);
}

static void grid_ids_can_be_constant(void **state)
{
	struct run run = { .arguments = { program("launches") }, .environment = { "SIMGPU_GRIDID=constant" } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	run_result_finish(&result);
}

static void grid_ids_can_repeat_from_graph_to_graph(void **state)
{
	struct run run = { .arguments = { program("graphs") }, .environment = { "SIMGPU_GRIDID=per-graph" } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	run_result_finish(&result);
}

/* The same for both ways a program gets its runtime. */
static void expect_calls_of_vector_add(const char *name)
{
	char path[] = "/tmp/simgpu-calls-XXXXXX", setting[64], *log;
	struct run run = { .arguments = { program(name) }, .environment = { setting } };
	struct run_result result;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(setting, sizeof(setting), "SIMGPU_CALLS=%s", path);
	run_expecting(&run, 0, &result);
	log = read_text(path);
	unlink(path);
	assert_int_equal(strncmp(log, "cuGetProcAddress_v2 ", 20), 0);
	assert_int_equal(count_of(log, "\ncuLaunchKernel "), 2);
	assert_int_equal(count_of(log, "\ncuInit "), 1);
	assert_int_equal(count_of(log, "symbol=cuLaunchKernel version=4000 flags=0\n"), 1);
	assert_int_equal(count_of(log, "symbol=cuLaunchKernel version=7000 flags=2\n"), 1);
	assert_int_equal(count_of(log, "symbol=cuGetProcAddress version=11030 flags=0\n"), 1);
	assert_int_equal(count_of(log, "symbol=cuGetProcAddress version=12000 flags=0\n"), 2);
	free(log);
	run_result_finish(&result);
}

static void the_call_log_names_each_call(void **state)
{
	expect_calls_of_vector_add("vector_add");
	expect_calls_of_vector_add("vector_add_standin");
}

static void the_nth_call_fails_on_request(void **state)
{
	struct run run = { .arguments = { program("vector_add") },
			   .environment = { "SIMGPU_FAULT=cuMemAlloc_v2:2:2,cuNothing:1:1" } };
	struct run_result result;

	run_expecting(&run, 1, &result);
	assert_non_null(strstr(result.err, "cudaMalloc(&b, sizeof(host)) is 2, not 0"));
	assert_non_null(strstr(result.err, "SIMGPU_FAULT: 'cuNothing' ignored"));
	run_result_finish(&result);
}

/* The runtime's own functions, on the runtime of either version; the failure is remembered as the last error. */
static void the_nth_runtime_call_fails_on_request(void **state)
{
	static const char *const programs_of[] = { "vector_add", "vector_add_12" };
	struct run_result result;

	for (int i = 0; i < 2; i++) {
		struct run run = { .arguments = { program(programs_of[i]) },
				   .environment = { "SIMGPU_FAULT=cudaMalloc:2:2,cudaNothing:1:1" } };

		run_expecting(&run, 1, &result);
		assert_non_null(strstr(result.err, "cudaMalloc(&b, sizeof(host)) is 2, not 0"));
		assert_non_null(strstr(result.err, "SIMGPU_FAULT: 'cudaNothing:1:1' ignored"));
		run_result_finish(&result);

		run.environment[0] = "SIMGPU_FAULT=cudaLaunchKernel:1:719";
		run_expecting(&run, 1, &result);
		assert_non_null(strstr(result.err, "cudaGetLastError() is 719, not 0"));
		run_result_finish(&result);
	}
}

static void a_missing_function_is_not_found(void **state)
{
	struct run run = { .arguments = { program("vector_add") },
			   .environment = { "SIMGPU_MISSING=cuMemcpyDtoH_v2" } };
	struct run_result result;

	run_expecting(&run, 1, &result);
	assert_non_null(strstr(result.err, "cudaMemcpyDeviceToHost) is 801, not 0"));
	run_result_finish(&result);
}

static void two_devices_are_apart(void **state)
{
	struct run run = { .arguments = { program("two_devices") }, .environment = { "SIMGPU_DEVICES=2" } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	run_result_finish(&result);
}

static void expect_profile(const char *setting, const char *expected)
{
	struct run run = { .arguments = { program("profile") }, .environment = { setting } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	assert_string_equal(result.out, expected);
	run_result_finish(&result);
}

static void the_device_passes_for_another(void **state)
{
	expect_profile("SIMGPU_DEVICE=A100",
		       "NVIDIA A100-SXM4-80GB (simgpu): sm_80, 108 SMs at 1410 MHz, 163 KiB optin, L2 41943040, "
		       "tick 1024, cluster 0, blocks 16, over 70 GiB: 1\n");
	expect_profile("SIMGPU_DEVICE=H100",
		       "NVIDIA H100 80GB HBM3 (simgpu): sm_90, 132 SMs at 1980 MHz, 227 KiB optin, L2 52428800, "
		       "tick 32, cluster 1, blocks 16, over 70 GiB: 1\n");
	expect_profile("SIMGPU_DEVICE=B200",
		       "NVIDIA B200 (simgpu): sm_100, 148 SMs at 1965 MHz, 227 KiB optin, L2 132644864, "
		       "tick 32, cluster 1, blocks 16, over 70 GiB: 1\n");
}

static void no_device_is_an_error_code(void **state)
{
	struct run run = { .arguments = { program("vector_add") }, .environment = { "SIMGPU_DEVICES=0" } };
	struct run_result result;

	run_expecting(&run, 1, &result);
	assert_non_null(strstr(result.err, "is 100, not 0"));
	run_result_finish(&result);
}

/* The runtime of 13 refuses it; a program of the driver's own finds what there was then, and no more. */
static void an_old_driver_lacks_new_functions(void **state)
{
	struct run run = { .arguments = { program("launches") }, .environment = { "SIMGPU_DRIVER=11.8" } };
	struct run_result result;

	run_expecting(&run, 1, &result);
	assert_non_null(strstr(result.err, "is 35, not 0"));
	run_result_finish(&result);

	snprintf(old_path, sizeof(old_path), "LD_LIBRARY_PATH=%s/../lib_old", programs);
	run = (struct run){ .arguments = { program("old_driver"), "11050", "old" },
			    .environment = { "SIMGPU_DRIVER=11.5", old_path } };
	run_expecting(&run, 0, &result);
	run_result_finish(&result);

	run.arguments[1] = "12040";
	run.arguments[2] = "new";
	run.environment[0] = "SIMGPU_DRIVER=12.4";
	run.environment[1] = NULL;
	run_expecting(&run, 0, &result);
	run_result_finish(&result);

	run.arguments[1] = "13000";
	run.environment[0] = "SIMGPU_DRIVER=9";
	run_expecting(&run, 0, &result);
	assert_non_null(strstr(result.err, "SIMGPU_DRIVER: '9' ignored, 10.0 to 13.0 is possible"));
	run_result_finish(&result);
}

static void what_is_refused_is_said_once(void **state)
{
	struct run run = { .arguments = { program("refused") } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	assert_int_equal(count_of(result.err, "instruction 'wgmma.fence.sync.aligned' is not supported"), 1);
	assert_int_equal(count_of(result.err, "kernel _Z7refusedPi"), 1);
	assert_int_equal(count_of(result.err, "line "), 1);
	run_result_finish(&result);
}

static void without_ptx_the_line_says_what_to_do(void **state)
{
	struct run run = { .arguments = { program("no_ptx") } };
	struct run_result result;

	run_expecting(&run, 1, &result);
	assert_non_null(strstr(result.err, "is 209, not 0"));
	assert_int_equal(count_of(result.err, "compile it with a PTX target"), 1);
	run_result_finish(&result);
}

static void what_is_out_of_scope_is_said(void **state)
{
	static const char *const said[] = {
		"cudaMallocArray is not supported: simgpu has no arrays, textures and surfaces\n",
		"cudaCreateTextureObject is not supported: simgpu has no arrays, textures and surfaces\n",
		"cudaCreateSurfaceObject is not supported: simgpu has no arrays, textures and surfaces\n",
		"cudaIpcGetMemHandle is not supported: simgpu has nothing that processes share\n",
		"cudaGraphConditionalHandleCreate is not supported: simgpu has no conditional nodes in graphs\n",
		"cuMemCreate is not supported: simgpu has no virtual memory management\n",
		"cuStreamWriteValue32_v2 is not supported: simgpu has no streams that wait for a value in memory\n",
		"launches from the device are not supported\n",
	};
	struct run run = { .arguments = { program("out_of_scope") } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		if (count_of(result.err, said[i]) != 1)
			fail_msg("not once: '%s' in: %s", said[i], result.err);
	}
	run_result_finish(&result);
}

static void per_thread_streams_reach_the_twins(void **state)
{
	char path[] = "/tmp/simgpu-calls-XXXXXX", setting[64], *log;
	struct run run = { .arguments = { program("per_thread") }, .environment = { setting } };
	struct run_result result;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	snprintf(setting, sizeof(setting), "SIMGPU_CALLS=%s", path);
	run_expecting(&run, 0, &result);
	log = read_text(path);
	unlink(path);
	assert_int_equal(count_of(log, "cuLaunchKernel_ptsz "), 2);
	assert_int_equal(count_of(log, "\ncuLaunchKernel "), 0);
	assert_int_equal(count_of(log, "cuMemcpyHtoD_v2_ptds "), 2);
	free(log);
	run_result_finish(&result);
}

/* The stand-in for the static runtime asks for no libcudart. */
static void the_standin_needs_no_shared_runtime(void **state)
{
	struct run run = { .arguments = { "readelf", "-d", program("vector_add_standin") } };
	struct run_result result;

	run_expecting(&run, 0, &result);
	assert_non_null(strstr(result.out, "NEEDED"));
	assert_null(strstr(result.out, "libcudart"));
	assert_null(strstr(result.out, "libcuda"));
	run_result_finish(&result);
}

static void the_script_keeps_the_environment(void **state)
{
	static char script[4096];
	struct run run = { .arguments = { script, "sh", "-c", "echo $LD_LIBRARY_PATH:$SIMGPU_SEED" },
			   .environment = { "LD_LIBRARY_PATH=/some/where", "SIMGPU_SEED=5" } };
	struct run_result result;

	snprintf(script, sizeof(script), "%s/scripts/simgpu", source_root);
	run_program(&run, &result);
	if (result.exit_status == 0)
		assert_non_null(strstr(result.out, "/tests/simgpu/api/lib:/some/where:5\n"));
	else /* built somewhere else than in build/ */
		assert_non_null(strstr(result.err, "is not built; run scripts/setup"));
	run_result_finish(&result);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_runs_see_the_same_times),
		cmocka_unit_test(the_process_ends_while_a_kernel_runs),
		cmocka_unit_test(grid_ids_can_be_constant),
		cmocka_unit_test(grid_ids_can_repeat_from_graph_to_graph),
		cmocka_unit_test(the_call_log_names_each_call),
		cmocka_unit_test(the_nth_call_fails_on_request),
		cmocka_unit_test(the_nth_runtime_call_fails_on_request),
		cmocka_unit_test(a_missing_function_is_not_found),
		cmocka_unit_test(two_devices_are_apart),
		cmocka_unit_test(the_device_passes_for_another),
		cmocka_unit_test(no_device_is_an_error_code),
		cmocka_unit_test(an_old_driver_lacks_new_functions),
		cmocka_unit_test(what_is_refused_is_said_once),
		cmocka_unit_test(without_ptx_the_line_says_what_to_do),
		cmocka_unit_test(what_is_out_of_scope_is_said),
		cmocka_unit_test(per_thread_streams_reach_the_twins),
		cmocka_unit_test(the_standin_needs_no_shared_runtime),
		cmocka_unit_test(the_script_keeps_the_environment),
	};

	if (argc != 3) {
		fprintf(stderr, "usage: test_runs SOURCE_ROOT PROGRAMS_FOLDER\n");
		return 2;
	}
	source_root = argv[1];
	programs = argv[2];
	return cmocka_run_group_tests(tests, NULL, NULL);
}

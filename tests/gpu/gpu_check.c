/* SPDX-License-Identifier: Apache-2.0
 *
 * gpu_check.c [--shared] BUILD - runs the built examples on the device of this machine, with and without the library,
 * and compares: output, exit status, every count. Says whether %gridid tells launches apart, and what the clocks are
 * like. BUILD is the build folder; by default the examples with the static CUDA runtime are run, which need nothing but
 * a driver; --shared takes those with the shared one (simgpu has only that).
 *
 * Exit status: 0 all as it should be, 1 something differs, 77 no device here, 2 usage.
 */
#include "examples.h"
#include "run.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NO_DEVICE 77
#define PATH_BYTES     4096
#define FOLDER_BYTES   1024

struct check {
	const char *build, *suffix; /* build folder; "_static" or "" */
	char folder[FOLDER_BYTES];  /* where captures go */
};

/* In a child, so that this process never holds a context. */
static bool device_is_there(void)
{
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		void *driver = dlopen("libcuda.so.1", RTLD_NOW);
		int (*init)(unsigned) = driver != NULL ? (int (*)(unsigned))dlsym(driver, "cuInit") : NULL;
		int (*count)(int *) = driver != NULL ? (int (*)(int *))dlsym(driver, "cuDeviceGetCount") : NULL;
		int n = 0;
		_exit(init != NULL && count != NULL && init(0) == 0 && count(&n) == 0 && n > 0 ? 0 : 1);
	}
	int status = 1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* %gridid is of use when every launch of a context has its own. */
static const char *grid_id_verdict(const struct warpspan_model *model, uint32_t *ret_distinct)
{
	uint32_t distinct = 0;
	for (uint32_t i = 0; i < model->n_grids; i++) {
		bool seen = false;
		for (uint32_t j = 0; j < i && !seen; j++)
			seen = model->grids[j].grid_id == model->grids[i].grid_id;
		distinct += !seen;
	}
	*ret_distinct = distinct;
	return distinct == model->n_launches ? "unique per launch" : distinct == 1 ? "constant" : "repeats";
}

static void print_device(const struct warpspan_model *model)
{
	for (uint32_t i = 0; i < model->n_devices; i++)
		printf("device     %s, compute %s, %u SMs\n", model->devices[i].name, model->devices[i].compute,
		       model->devices[i].n_sms);
	for (uint32_t i = 0; i < model->n_clocks; i++)
		printf("clock      tick %u ns, %.1f MHz, SMs aligned to %.1f ns (%u pairs on %u SMs)\n",
		       model->clocks[i].tick_ns, model->clocks[i].rate_hz / 1e6, model->clocks[i].error_ns,
		       model->clocks[i].n_pairs, model->clocks[i].n_sms);
}

static unsigned check_capture(const char *example, const char *path, bool same, double plain_s, double recorded_s)
{
	struct warpspan_model *model = NULL;
	struct warpspan_error error;
	const int result = warpspan_model_load(path, &model, &error);
	if (result < 0) {
		printf("%-10s no capture: %s\n", example, error.text);
		return 1;
	}
	const unsigned n = example_compare(example, model, "           ");
	printf("%-10s output %s, counts %s: %u launches, %" PRIu64 " warps, %" PRIu64 " records, %" PRIu64
	       " lost; %.2f s, %.2f s without\n",
	       example, same ? "the same" : "DIFFERS", n == 0 ? "exact" : "DIFFER", model->n_launches,
	       model->n_segments, model->n_records, model->n_lost_records, recorded_s, plain_s);
	if (strcmp(example, "streams") == 0) {
		uint32_t distinct;
		const char *verdict = grid_id_verdict(model, &distinct);
		printf("%%gridid    %s: %u ids in %u launches\n", verdict, distinct, model->n_launches);
		print_device(model);
	}
	warpspan_model_destroy(model);
	return n;
}

static unsigned check_example(const struct check *check, const char *example)
{
	char program[PATH_BYTES], preload[PATH_BYTES], out[PATH_BYTES], capture[PATH_BYTES];
	snprintf(program, sizeof(program), "%s/device_rt/examples/%s%s", check->build, example, check->suffix);
	snprintf(preload, sizeof(preload), "LD_PRELOAD=%s/shim/libwarpspan.so", check->build);
	snprintf(out, sizeof(out), "WARPSPAN_OUT=%s/%s", check->folder, example);
	snprintf(capture, sizeof(capture), "%s/%s.wspan", check->folder, example);

	struct run_result plain, recorded;
	run_program(&(struct run){ .arguments = { program }, .environment = { "LD_PRELOAD" } }, &plain);
	run_program(&(struct run){ .arguments = { program },
				   .environment = { preload, out, "WARPSPAN_FORMAT=pftrace,json" } },
		    &recorded);
	const bool same = plain.exit_status == recorded.exit_status && plain.out_bytes == recorded.out_bytes &&
			  memcmp(plain.out, recorded.out, plain.out_bytes) == 0;
	unsigned n = !same;
	if (!same || plain.exit_status != 0) {
		printf("%-10s without the library: status %d, '%s%s'\n%-10s with it: status %d, '%s%s'\n", example,
		       plain.exit_status, plain.out, plain.err, "", recorded.exit_status, recorded.out, recorded.err);
		n += plain.exit_status != 0;
	}
	n += check_capture(example, capture, same, plain.seconds, recorded.seconds);
	run_result_finish(&plain);
	run_result_finish(&recorded);
	return n;
}

int main(int argc, char **argv)
{
	struct check check = { .suffix = "_static" };
	if (argc == 3 && strcmp(argv[1], "--shared") == 0)
		check.suffix = "";
	else if (argc != 2) {
		fprintf(stderr, "usage: %s [--shared] BUILD\n", argv[0]);
		return 2;
	}
	check.build = argv[argc - 1];
	if (!device_is_there()) {
		printf("gpu-check: no CUDA driver or no device on this machine: nothing was checked\n");
		return EXIT_NO_DEVICE;
	}
	const char *tmp = getenv("TMPDIR");
	snprintf(check.folder, sizeof(check.folder), "%s/warpspan-gpu-check-XXXXXX", tmp != NULL ? tmp : "/tmp");
	if (mkdtemp(check.folder) == NULL) {
		fprintf(stderr, "gpu-check: '%s': %s\n", check.folder, strerror(errno));
		return 1;
	}
	unsigned n = 0;
#define X(example, launches, warps) n += check_example(&check, example);
	EXAMPLES(X)
#undef X
	printf("verdict    %s; captures and timelines in %s\n", n == 0 ? "all as it should be" : "NOT as it should be",
	       check.folder);
	return n != 0;
}

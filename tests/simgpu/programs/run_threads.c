/* SPDX-License-Identifier: Apache-2.0
 *
 * run_threads.c NAME PROGRAM - a program prints, returns and does the same at the same simulated times, however many
 * threads run its kernels: SIMGPU_THREADS 1, 2 and 4, compared by what it writes and by the truth (../truth.h), which
 * holds the start and the end of every warp and every clock it read.
 */
#include "run.h"
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct truth {
	struct sim_truth_read *reads;
	size_t n;
};

static void die(const char *name, const char *what)
{
	fprintf(stderr, "%s: %s\n", name, what);
	exit(1);
}

/* Launches of several streams end in any order, and so stand in the file: only what they say counts. */
static int compare_reads(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sim_truth_read));
}

static struct truth load_truth(const char *name, const char *path)
{
	struct truth truth = { .reads = NULL };
	FILE *file = fopen(path, "rb");
	long bytes;

	if (file == NULL || fseek(file, 0, SEEK_END) != 0)
		die(name, "there is no truth");
	bytes = ftell(file) - (long)sizeof(struct sim_truth_header);
	if (bytes <= 0 || bytes % (long)sizeof(struct sim_truth_read) != 0)
		die(name, "the truth is cut");
	truth.n = (size_t)bytes / sizeof(struct sim_truth_read);
	truth.reads = malloc((size_t)bytes);
	if (truth.reads == NULL || fseek(file, sizeof(struct sim_truth_header), SEEK_SET) != 0 ||
	    fread(truth.reads, sizeof(struct sim_truth_read), truth.n, file) != truth.n)
		die(name, "the truth cannot be read");
	fclose(file);
	for (size_t i = 0; i < truth.n; i++)
		truth.reads[i].launch = 0;
	qsort(truth.reads, truth.n, sizeof(struct sim_truth_read), compare_reads);
	return truth;
}

static struct run_result run(const char *program, unsigned n_threads, const char *truth)
{
	struct run_result result;
	char threads[64], file[1024];

	snprintf(threads, sizeof(threads), "SIMGPU_THREADS=%u", n_threads);
	snprintf(file, sizeof(file), "SIMGPU_TRUTH=%s", truth);
	run_program(&(struct run){ .arguments = { program }, .environment = { "LD_PRELOAD", threads, file } }, &result);
	return result;
}

int main(int argc, char **argv)
{
	static const unsigned more[] = { 2, 4 };
	char folder[] = "/tmp/simgpu-threads-XXXXXX", file[sizeof(folder) + 16];

	if (argc != 3) {
		fprintf(stderr, "usage: %s NAME PROGRAM\n", argv[0]);
		return 2;
	}
	if (mkdtemp(folder) == NULL)
		die(argv[1], "no folder for the truth");
	snprintf(file, sizeof(file), "%s/truth", folder);
	struct run_result alone = run(argv[2], 1, file);
	struct truth truth = load_truth(argv[1], file);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		struct run_result result = run(argv[2], more[i], file);
		struct truth other = load_truth(argv[1], file);

		if (result.exit_status != alone.exit_status || strcmp(result.out, alone.out) != 0 ||
		    strcmp(result.err, alone.err) != 0)
			die(argv[1], "what it prints or returns depends on the number of threads");
		if (other.n != truth.n || memcmp(other.reads, truth.reads, truth.n * sizeof(truth.reads[0])) != 0)
			die(argv[1], "simulated time depends on the number of threads");
		free(other.reads);
		run_result_finish(&result);
	}
	printf("%s: %zu records, the same on 1, 2 and 4 threads\n", argv[1], truth.n);
	free(truth.reads);
	run_result_finish(&alone);
	remove(file);
	remove(folder);
	return 0;
}

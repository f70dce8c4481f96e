/* SPDX-License-Identifier: Apache-2.0
 *
 * simgpu_speed.c PRODUCT.ptx - how fast simgpu executes a compute-bound kernel, on one thread and on all, and what a
 * product of 1024 by 1024 matrices takes. The results are checked; the figures are figures.
 */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TILE 16u

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_simgpu: %s\n", what);
	exit(1);
}

static char *read_text(const char *path, size_t *ret_bytes)
{
	FILE *file = fopen(path, "rb");
	long bytes;
	char *text;
	if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (bytes = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
		die("the PTX cannot be read");
	text = malloc((size_t)bytes + 1);
	if (text == NULL || fread(text, 1, (size_t)bytes, file) != (size_t)bytes)
		die("the PTX cannot be read");
	fclose(file);
	*ret_bytes = (size_t)bytes;
	return text;
}

/* Small whole numbers, so that sums are exact in any order. */
static float element(uint32_t row, uint32_t column, uint32_t salt)
{
	return (float)((row * 7 + column * 13 + salt) % 9) - 4;
}

static uint64_t put_matrix(struct sim_device *device, uint32_t order, uint32_t salt)
{
	float *matrix = malloc(sizeof(float) * order * order);
	uint64_t address;
	if (matrix == NULL || sim_mem_alloc(device, sizeof(float) * order * order, 256, &address) != SIM_OK)
		die("no memory");
	for (uint32_t i = 0; i < order; i++)
		for (uint32_t k = 0; k < order; k++)
			matrix[i * order + k] = element(i, k, salt);
	if (sim_mem_write(device, address, matrix, sizeof(float) * order * order) != SIM_OK)
		die("no memory");
	free(matrix);
	return address;
}

/* A row and a column of the result, which touch every block of one row and one column of the grid. */
static void check(struct sim_device *device, uint64_t c, uint32_t order)
{
	for (uint32_t i = 0; i < 2 * order; i++) {
		const uint32_t row = i < order ? 5 : i - order, column = i < order ? i : 11;
		float sum = 0, found;
		for (uint32_t k = 0; k < order; k++)
			sum += element(row, k, 1) * element(k, column, 2);
		if (sim_mem_read(device, &found, c + sizeof(float) * ((uint64_t)row * order + column), sizeof(found)) !=
			    SIM_OK ||
		    found != sum)
			die("the product is wrong");
	}
}

static double processor_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

struct figures {
	double seconds, processor_seconds;
	double thread_instructions;
	uint64_t end_ns;
};

static struct figures multiply(const char *ptx, size_t bytes, uint32_t order, uint32_t n_threads)
{
	struct sim_config config;
	struct sim_device *device;
	struct sim_module *module;
	struct sim_result result;
	struct {
		uint64_t a, b, c;
		uint32_t order;
	} params;
	double start, processor_start;

	sim_config_from_env(&config);
	config.n_threads = n_threads;
	if (sim_device_create(&config, &device) != SIM_OK ||
	    sim_module_load(device, ptx, bytes, NULL, 0, &module) != SIM_OK)
		die("the module does not load");
	params.a = put_matrix(device, order, 1);
	params.b = put_matrix(device, order, 2);
	params.c = put_matrix(device, order, 0);
	params.order = order;
	struct sim_launch launch = { .function = sim_module_function(module, "product"),
				     .grid = { order / TILE, order / TILE, 1 },
				     .block = { TILE, TILE, 1 },
				     .params = &params };
	start = now_s();
	processor_start = processor_s();
	sim_launch(device, &launch, &result);
	const struct figures figures = { .seconds = now_s() - start,
					 .processor_seconds = processor_s() - processor_start,
					 .thread_instructions = 32.0 * (double)result.n_warp_instructions,
					 .end_ns = result.end_ns };
	if (result.status != SIM_OK)
		die(result.message);
	check(device, params.c, order);
	sim_module_unload(module);
	sim_device_destroy(device);
	return figures;
}

/* Of a machine that others use too, the second figure says more. */
static void print(const char *what, const struct figures *figures)
{
	printf("simgpu, %s: %.1f s, %.0f million thread-instructions/s, %.0f per second of a core\n", what,
	       figures->seconds, figures->thread_instructions / figures->seconds * 1e-6,
	       figures->thread_instructions / figures->processor_seconds * 1e-6);
}

int main(int argc, char **argv)
{
	const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
	struct rusage usage;
	size_t bytes;

	if (argc != 2) {
		fprintf(stderr, "usage: %s PRODUCT.ptx\n", argv[0]);
		return 2;
	}
	char *ptx = read_text(argv[1], &bytes);
	const struct figures alone = multiply(ptx, bytes, 384, 1), all = multiply(ptx, bytes, 384, (uint32_t)n_cores);
	print("tiled matrix product, 1 thread", &alone);
	print("tiled matrix product, all cores", &all);
	printf("simgpu, all %ld cores against 1: %.2f times as fast\n", n_cores, alone.seconds / all.seconds);
	if (alone.end_ns != all.end_ns)
		die("the simulated time depends on the number of threads");
	const struct figures large = multiply(ptx, bytes, 1024, (uint32_t)n_cores);
	getrusage(RUSAGE_SELF, &usage);
	print("1024x1024x1024 product, all cores", &large);
	printf("simgpu, peak memory: %ld MiB for 12 MiB of matrices\n", usage.ru_maxrss / 1024);
	free(ptx);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_launch.c LIBRARY - what a launch costs the launching thread, on a driver that does nothing
 * (null_driver/null_driver.c): not preloaded, preloaded and idle, waiting for a session, recording, from two threads,
 * with many kernels and modules. Runs itself with and without the library. The least of several rounds, each with fewer
 * launches than the log holds.
 */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_LAUNCHES 4000u
#define N_ROUNDS   60u
#define N_KERNELS  10000u
/* Handles of the null driver. */
#define RECORDING 1u
#define BARE      2u
#define FIRST     0x1000u /* 10 kernels to a module */

static double now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void launch(uintptr_t handle)
{
	(void)cuLaunchKernel((CUfunction)handle, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
}

static void round_of(uintptr_t handle)
{
	for (unsigned i = 0; i < N_LAUNCHES; i++)
		launch(handle);
}

static void round_of_many(uintptr_t unused)
{
	static unsigned next;

	(void)unused;
	for (unsigned i = 0; i < N_LAUNCHES; i++) {
		launch(FIRST + next);
		next = (next + 7) % N_KERNELS; /* no common factor: all of them */
	}
}

static double least_ns(void (*run)(uintptr_t), uintptr_t handle)
{
	double least = 1e12;

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		const double begin = now_ns();
		double ns;

		run(handle);
		ns = (now_ns() - begin) / N_LAUNCHES;
		least = ns < least ? ns : least;
		(void)usleep(2000); /* the collector empties the log */
	}
	return least;
}

/* --- two threads ------------------------------------------------------------------------------ */

#define N_PAIRS 150u

static _Atomic unsigned n_arrived;
static double begins[2][N_PAIRS], ends[2][N_PAIRS], busy[2][N_PAIRS];

static double busy_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Both spin until both are there, so that both are on a processor. */
static void meet(unsigned n)
{
	(void)atomic_fetch_add(&n_arrived, 1);
	while (atomic_load(&n_arrived) < 2 * (n + 1))
		;
}

static void *run_thread(void *argument)
{
	const int self = *(const int *)argument;

	for (unsigned i = 0; i < N_PAIRS; i++) {
		double busy_before;

		meet(i);
		busy_before = busy_ns();
		begins[self][i] = now_ns();
		round_of(RECORDING);
		ends[self][i] = now_ns();
		busy[self][i] = busy_ns() - busy_before;
		(void)usleep(2000);
	}
	return NULL;
}

/* Whether both ran without a break, and nearly all of the time side by side. */
static int is_side_by_side(unsigned i)
{
	const double begin = begins[0][i] < begins[1][i] ? begins[0][i] : begins[1][i];
	const double end = ends[0][i] > ends[1][i] ? ends[0][i] : ends[1][i];

	for (int self = 0; self < 2; self++) {
		const double took = ends[self][i] - begins[self][i];

		if (busy[self][i] < 0.95 * took || took < 0.8 * (end - begin))
			return 0;
	}
	return 1;
}

/* Nanoseconds of a launch while another thread launches as well, of the best such round; 0: there was none, because
 * the machine had no two processors free. */
static double least_of_two_ns(void)
{
	static const int numbers[2] = { 0, 1 };
	double least = 0;
	pthread_t other;

	if (pthread_create(&other, NULL, run_thread, (void *)&numbers[1]) != 0)
		return 0;
	(void)run_thread((void *)&numbers[0]);
	(void)pthread_join(other, NULL);
	for (unsigned i = 0; i < N_PAIRS; i++) {
		const double ns = (ends[0][i] - begins[0][i] + ends[1][i] - begins[1][i]) / 2 / N_LAUNCHES;

		if (is_side_by_side(i) && (least == 0 || ns < least))
			least = ns;
	}
	return least;
}

/* --- the table -------------------------------------------------------------------------------- */

enum { BARE_NS, RECORDING_NS, TWO_NS, AMONG_MANY_NS, MANY_NS, N_FIGURES };

static int measure(int out)
{
	double figures[N_FIGURES];

	if (cuInit(0) != CUDA_SUCCESS)
		return 1;
	figures[BARE_NS] = least_ns(round_of, BARE);
	figures[RECORDING_NS] = least_ns(round_of, RECORDING);
	figures[TWO_NS] = least_of_two_ns();
	for (unsigned i = 0; i < N_KERNELS; i++)
		launch(FIRST + i);
	(void)usleep(50000);
	figures[AMONG_MANY_NS] = least_ns(round_of, RECORDING);
	figures[MANY_NS] = least_ns(round_of_many, 0);
	return write(out, figures, sizeof(figures)) == (ssize_t)sizeof(figures) ? 0 : 1;
}

/* Runs this program under `library` (NULL: without), its sessions started as `start` says. */
static int measured(const char *library, const char *start, double figures[N_FIGURES])
{
	char fd[16];
	int ends_of_pipe[2], status = 1;
	pid_t child;

	if (pipe(ends_of_pipe) != 0)
		return 1;
	(void)snprintf(fd, sizeof(fd), "%d", ends_of_pipe[1]);
	child = fork();
	if (child == 0) {
		if (library != NULL)
			(void)setenv("LD_PRELOAD", library, 1);
		(void)setenv("WARPSPAN_START", start, 1);
		(void)execl("/proc/self/exe", "bench_launch", "--measure", fd, (char *)NULL);
		_exit(1);
	}
	(void)close(ends_of_pipe[1]);
	if (read(ends_of_pipe[0], figures, N_FIGURES * sizeof(figures[0])) != (ssize_t)(N_FIGURES * sizeof(figures[0])))
		figures[0] = 0;
	(void)close(ends_of_pipe[0]);
	return child < 0 || waitpid(child, &status, 0) < 0 || status != 0 || figures[0] == 0;
}

int main(int argc, char **argv)
{
	double without[N_FIGURES], with[N_FIGURES], waiting[N_FIGURES];

	if (argc == 3 && strcmp(argv[1], "--measure") == 0)
		return measure(atoi(argv[2]));
	if (argc != 2 || measured(NULL, "now", without) != 0 || measured(argv[1], "now", with) != 0 ||
	    measured(argv[1], "api", waiting) != 0)
		return 1;
	printf("ns per cuLaunchKernel, on a driver that does nothing\n");
	printf("  not preloaded                        %7.1f\n", without[BARE_NS]);
	printf("  idle: kernels without the header     %7.1f  (+%.1f; at most +25)\n", with[BARE_NS],
	       with[BARE_NS] - without[BARE_NS]);
	printf("  kernels with it, no session active   %7.1f  (+%.1f)\n", waiting[RECORDING_NS],
	       waiting[RECORDING_NS] - without[RECORDING_NS]);
	printf("  recording                            %7.1f  (+%.1f; at most +150)\n", with[RECORDING_NS],
	       with[RECORDING_NS] - without[RECORDING_NS]);
	if (with[TWO_NS] > 0)
		printf("  recording, 2 threads at once         %7.1f  (%.2f times the throughput of one; at least "
		       "1.9)\n",
		       with[TWO_NS], 2 * with[RECORDING_NS] / with[TWO_NS]);
	else
		printf("  recording, 2 threads at once               -  (the machine had no two processors free)\n");
	printf("  recording one of 10000 kernels       %7.1f  (of 1000 modules)\n", with[AMONG_MANY_NS]);
	printf("  recording 10000 kernels in turn      %7.1f  (+%.1f; memory's share included)\n", with[MANY_NS],
	       with[MANY_NS] - without[MANY_NS]);
	return 0;
}

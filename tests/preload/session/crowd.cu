/* SPDX-License-Identifier: Apache-2.0
 *
 * crowd.cu MILLISECONDS - 64 threads that start and stop sessions, first each its own only, then anybody's; what they
 * were told must fit together, and nothing may be left of them.
 */
#include "small.cuh"

#include <warpspan.h>

#include <atomic>
#include <cstdlib>
#include <dirent.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const int N_THREADS = 64;

static std::atomic<bool> over;
static std::atomic<int> n_holders, most_holders;
static std::atomic<long> n_started, n_stopped, n_refused, n_odd, n_launched;

static void note_start(int result)
{
	if (result == 0)
		n_started++;
	else if (result == WARPSPAN_ERR_ALREADY_STARTED || result == WARPSPAN_ERR_DRAINING)
		n_refused++;
	else
		n_odd++;
}

/* Nobody stops another's: between its start and its stop a thread is alone. */
static void hold_and_stop(uint32_t self)
{
	for (uint32_t i = 0; !over; i++) {
		const int result = warpspan_start(nullptr);
		note_start(result);
		if (result != 0) {
			usleep((self * 7 + i) % 300);
			continue;
		}
		const int holders = ++n_holders;
		if (holders > most_holders)
			most_holders = holders;
		launch(1);
		n_launched++;
		(void)warpspan_mark("mine");
		n_odd += !warpspan_active();
		n_holders--;
		/* Half of them wait until all is written. */
		const int stopped = warpspan_stop(i % 2 == 0 ? 0 : 20000);
		if (stopped == 0)
			n_stopped++;
		else
			n_odd++;
	}
}

static void start_and_stop(uint32_t self)
{
	for (uint32_t i = 0; !over; i++) {
		if ((self + i) % 4 != 0) {
			const int result = warpspan_stop(0);
			if (result == 0)
				n_stopped++;
			else if (result != WARPSPAN_ERR_NOT_STARTED && result != WARPSPAN_ERR_DRAINING)
				n_odd++;
			usleep((self * 11 + i) % 2000);
		} else {
			note_start(warpspan_start(nullptr));
			launch(1);
			n_launched++;
		}
	}
}

static int n_entries(const char *folder)
{
	DIR *entries = opendir(folder);
	int n = 0;

	while (entries != nullptr && readdir(entries) != nullptr)
		n++;
	if (entries != nullptr)
		closedir(entries);
	return n;
}

static long resident_kib()
{
	long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	if (statm == nullptr || fscanf(statm, "%*d %ld", &pages) != 1)
		pages = -1;
	if (statm != nullptr)
		fclose(statm);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void crowd(void (*act)(uint32_t), int ms)
{
	std::vector<std::thread> threads;

	over = false;
	for (uint32_t i = 0; i < N_THREADS; i++)
		threads.emplace_back(act, i);
	usleep(ms * 1000);
	over = true;
	for (std::thread &thread : threads)
		thread.join();
	/* What the last one left; then until it is written. */
	n_stopped += warpspan_stop(0) == 0;
	(void)warpspan_stop(20000);
	cudaDeviceSynchronize();
}

/* Threads end a little after what they did has. */
static int settled_threads(int wanted)
{
	for (int i = 0; i < 500 && n_entries("/proc/self/task") > wanted; i++)
		usleep(10000);
	return n_entries("/proc/self/task");
}

int main(int argc, char **argv)
{
	const int ms = argc == 2 ? atoi(argv[1]) : 1000;

	prepare();
	crowd(hold_and_stop, ms / 5);
	crowd(start_and_stop, ms / 5);
	const int threads = settled_threads(0), descriptors = n_entries("/proc/self/fd");
	const long kib = resident_kib(), before = n_started;
	crowd(hold_and_stop, ms / 2);
	crowd(start_and_stop, ms / 2);
	const long more_kib = resident_kib() - kib;
	printf("most holders %d\n", most_holders.load());
	printf("odd answers %ld\n", n_odd.load());
	printf("started and not stopped %ld\n", n_started - n_stopped);
	printf("more threads %d\n", settled_threads(threads) - threads);
	printf("more descriptors %d\n", n_entries("/proc/self/fd") - descriptors);
	printf("all ran %d\n", n_ran() == n_launched);
	printf("memory grows %d\n", more_kib > 32 * 1024);
	fprintf(stderr, "%ld sessions, %ld refused, %ld KiB more in %ld sessions\n", n_started.load(), n_refused.load(),
		more_kib, n_started - before);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * race_sessions.c - sessions under the thread sanitizer (T21): threads launch, start, stop, mark, take snapshots, ask
 * by the socket and send signals, all at once, on a driver that does nothing. Built like race_launch.c. A race ends it
 * with the sanitizer's exit status, an answer that cannot be with 1.
 */
#include "collector.h"
#include "control_socket.h"
#include "cuda_names.h"
#include "race_lookups.h"
#include "session.h"
#include "warpspan.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECONDS 3
/* Handles of null_driver.c: kernels of 20 modules. */
#define FIRST     0x1000u
#define N_KERNELS 200u

static atomic_bool over;
static _Atomic unsigned n_started, n_stopped, n_snapshots, n_answers, n_odd;

static void *launch(void *argument)
{
	const unsigned self = (unsigned)(uintptr_t)argument;

	for (unsigned i = 0; !atomic_load(&over); i++) {
		const uintptr_t handle = FIRST + (self * 37 + i * 7) % N_KERNELS;

		(void)cuLaunchKernel((CUfunction)handle, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
		if (i % 64 == 0)
			(void)cuStreamSynchronize(NULL);
		if (i % 256 == 0)
			(void)usleep(100);
	}
	return NULL;
}

static void *start_and_stop(void *argument)
{
	const unsigned self = (unsigned)(uintptr_t)argument;
	const char *const settings[] = { "KERNEL=*", NULL };
	const struct warpspan_options options = { .size = sizeof(options), .settings = settings };

	for (unsigned i = 0; !atomic_load(&over); i++) {
		const int started = warpspan_preloaded_start(i % 2 == 0 ? NULL : &options);
		int stopped;

		atomic_fetch_add(&n_started, started == 0);
		if (started != 0 && started != WARPSPAN_ERR_ALREADY_STARTED && started != WARPSPAN_ERR_DRAINING)
			atomic_fetch_add(&n_odd, 1);
		(void)usleep((self * 13 + i) % 500);
		stopped = warpspan_preloaded_stop(i % 3 == 0 ? 1000 : 0);
		atomic_fetch_add(&n_stopped, stopped == 0);
		if (stopped != 0 && stopped != WARPSPAN_ERR_NOT_STARTED && stopped != WARPSPAN_ERR_DRAINING)
			atomic_fetch_add(&n_odd, 1);
	}
	return NULL;
}

static void *mark(void *unused)
{
	while (!atomic_load(&over)) {
		if (warpspan_preloaded_active())
			(void)warpspan_preloaded_mark("a mark");
		(void)usleep(50);
	}
	return unused;
}

static void *snapshot(void *unused)
{
	static char path[WARPSPAN_TEXT_BYTES], reason[WARPSPAN_REASON_BYTES];

	while (!atomic_load(&over)) {
		if (warpspan_collector_snapshot(50000000, &path, &reason) == 0) {
			atomic_fetch_add(&n_snapshots, 1);
			(void)unlink(path);
		}
		(void)usleep(5000);
	}
	return unused;
}

static void ask_one(const char *request)
{
	struct sockaddr_un address;
	socklen_t bytes;
	char *answer = NULL;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && warpspan_control_address(getpid(), &address, &bytes) &&
	    connect(fd, (const struct sockaddr *)&address, bytes) == 0 && warpspan_control_send(fd, request, 1000))
		answer = warpspan_control_receive(fd, 2000);
	atomic_fetch_add(&n_answers, answer != NULL);
	free(answer);
	if (fd >= 0)
		(void)close(fd);
}

static void *ask(void *unused)
{
	static const char *const requests[] = {
		"{\"command\":\"status\"}",
		"{\"command\":\"toggle\",\"timeout_ms\":20}",
		"{\"command\":\"start\",\"settings\":[\"KERNEL=*\"]}",
		"{\"command\":\"stop\",\"timeout_ms\":0}",
	};

	for (unsigned i = 0; !atomic_load(&over); i++) {
		ask_one(requests[i % (sizeof(requests) / sizeof(requests[0]))]);
		(void)usleep(1000);
	}
	return unused;
}

static void *send_signals(void *unused)
{
	while (!atomic_load(&over)) {
		(void)kill(getpid(), SIGRTMIN + 7);
		(void)usleep(700);
	}
	return unused;
}

/* --- the captures, hundreds of them ----------------------------------------------------------- */

static char folder[] = "/tmp/warpspan-race-XXXXXX";

static void remove_folder(void)
{
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command) != 0)
		(void)fprintf(stderr, "%s is left over\n", folder);
}

/* Removed after the library's own end, which is registered later. */
static bool make_folder(void)
{
	char out[64];

	if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0)
		return false;
	(void)snprintf(out, sizeof(out), "%s/", folder);
	return setenv("WARPSPAN_OUT", out, 1) == 0;
}

int main(void)
{
	void *(*const acts[])(void *) = { launch,         launch,         launch, start_and_stop, start_and_stop,
					  start_and_stop, start_and_stop, mark,   snapshot,       ask,
					  send_signals };
	pthread_t threads[sizeof(acts) / sizeof(acts[0])];

	if (setenv("WARPSPAN_START", "api", 1) != 0 || setenv("WARPSPAN_TOGGLE_SIGNAL", "RTMIN+7", 1) != 0 ||
	    setenv("WARPSPAN_LOG", "none", 1) != 0 || !make_folder())
		return 2;
	if (!race_open_driver() || cuInit(0) != CUDA_SUCCESS)
		return 2;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		if (pthread_create(&threads[i], NULL, acts[i], (void *)i) != 0)
			return 2;
	/* Our signal interrupts it. */
	for (unsigned left = SECONDS * 1000; left > 0; left--)
		(void)usleep(1000);
	atomic_store(&over, true);
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++)
		(void)pthread_join(threads[i], NULL);
	printf("%u started, %u stopped, %u snapshots, %u answers, %u odd\n", n_started, n_stopped, n_snapshots,
	       n_answers, n_odd);
	return n_odd == 0 && n_started > 0 && n_stopped > 0 && n_snapshots > 0 && n_answers > 0 ? 0 : 1;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * leave.cu WAY [NUMBER] - launches 20 kernels, waits for them, and ends by the way named, with status 5 where it has
 * one.
 */
#include "small.cuh"

#include <warpspan.h>

#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

static const int STATUS = 5;

static void CUDART_CB exit_in_callback(void *)
{
	exit(STATUS);
}

static void exit_in_handler(int)
{
	exit(STATUS);
}

/* Sessions come and go, until the end of the program. */
static void start_and_stop(unsigned self)
{
	for (unsigned i = 0;; i++) {
		if (warpspan_start(nullptr) == 0)
			launch(3);
		(void)warpspan_stop(i % 3 * self);
	}
}

/* A handler that ends the program, wherever the thread that gets the signal is. By hand only: within the C library
 * nobody promises an end. */
static void leave_from_anywhere(int after_us)
{
	const pthread_t self = pthread_self();

	signal(SIGTERM, exit_in_handler);
	std::thread([=] {
		usleep(after_us);
		pthread_kill(self, SIGTERM);
	}).detach();
	for (;;) {
		if (warpspan_start(nullptr) == 0)
			launch(1);
		(void)warpspan_mark("here");
		(void)warpspan_stop(0);
	}
}

/* Children that have CUDA to themselves, and are killed at any time. */
static int kill_many(int n)
{
	uint32_t random = 42;

	for (int i = 0; i < n; i++) {
		random = random * 1664525u + 1013904223u;
		const pid_t child = fork();
		if (child == 0) {
			prepare();
			for (;;) {
				launch(5);
				cudaDeviceSynchronize();
			}
		}
		usleep((random >> 8) % 60000);
		kill(child, SIGKILL);
		int status;
		if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
			return 1;
	}
	return 0;
}

static int leave(const std::string &way, int number)
{
	if (way == "exit")
		exit(STATUS);
	if (way == "thread")
		std::thread([] { exit(STATUS); }).join();
	if (way == "callback") {
		cudaLaunchHostFunc(0, exit_in_callback, nullptr);
		for (;;)
			pause();
	}
	if (way == "quick_exit")
		quick_exit(STATUS);
	if (way == "hang") {
		hang();
		exit(STATUS);
	}
	if (way == "hang_quick") {
		hang();
		quick_exit(STATUS);
	}
	if (way == "_exit")
		_exit(STATUS);
	if (way == "abort")
		abort();
	if (way == "throw")
		throw std::runtime_error("thrown");
	if (way == "raise")
		raise(number);
	if (way == "exporting") {
		(void)warpspan_stop(0);
		exit(STATUS);
	}
	if (way == "busy") {
		for (unsigned i = 1; i <= 3; i++)
			std::thread(start_and_stop, i).detach();
		usleep(number);
		exit(STATUS);
	}
	if (way == "interrupted") {
		for (int i = 0; i < 2; i++) {
			(void)warpspan_start(nullptr);
			launch(1);
			(void)warpspan_stop(i * 5000);
		}
		return 0; /* nothing has interrupted it */
	}
	if (way == "anywhere")
		leave_from_anywhere(number);
	return way == "main" ? STATUS : 2;
}

int main(int argc, char **argv)
{
	const std::string way = argc > 1 ? argv[1] : "";
	const int number = argc > 2 ? atoi(argv[2]) : 0;

	if (way == "kill")
		return kill_many(number);
	if (way == "interrupted")
		signal(SIGTERM, exit_in_handler);
	prepare();
	launch(20);
	cudaDeviceSynchronize();
	/* What has ended long ago is in the capture, whatever comes. */
	usleep(100000);
	return leave(way, number);
}

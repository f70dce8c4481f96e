/* SPDX-License-Identifier: Apache-2.0
 *
 * signals.cu SCENARIO SIGNAL - programs that get, handle and block signals, and say what became of them. What they
 * print must not depend on whether the library is there, but for what its own signal does.
 */
#include "small.cuh"

#include <warpspan.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static int the_signal;
static volatile sig_atomic_t n_handled;
static struct sigaction before;

static void count(int)
{
	n_handled = n_handled + 1;
}

static void count_and_chain(int number, siginfo_t *info, void *context)
{
	n_handled = n_handled + 1;
	if ((before.sa_flags & SA_SIGINFO) != 0)
		before.sa_sigaction(number, info, context);
}

static void install(void (*handler)(int), int flags)
{
	struct sigaction action = {};
	action.sa_handler = handler;
	action.sa_flags = flags;
	sigaction(the_signal, &action, &before);
}

/* Until the session is over, at most 5 s: a signal is followed by a thread of the library. */
static bool wait_active(bool wanted)
{
	for (int i = 0; i < 500 && warpspan_active() != wanted; i++)
		usleep(10000);
	return warpspan_active() == wanted;
}

static void say(const char *what, long value)
{
	printf("%s %ld\n", what, value);
	fflush(stdout);
}

/* --- who has the signal ----------------------------------------------------------------------- */

static void at_default()
{
	launch(2);
	say("active", warpspan_active());
	raise(the_signal);
	say("stopped", wait_active(false));
	launch(1);
	(void)warpspan_stop(10000); /* all of it is written */
	raise(the_signal);
	usleep(500000); /* for the library to say that it found nothing to stop */
	say("alive", cudaDeviceSynchronize() == cudaSuccess);
}

static void toggled()
{
	launch(1);
	cudaDeviceSynchronize();
	raise(the_signal);
	say("stopped", wait_active(false));
	launch(1);
	cudaDeviceSynchronize();
	for (int i = 0; i < 100 && !warpspan_active(); i++) {
		raise(the_signal); /* the session before may still be drained */
		usleep(50000);
	}
	say("started", warpspan_active());
	launch(2);
	cudaDeviceSynchronize();
	raise(the_signal);
	say("stopped again", wait_active(false));
}

static void handled_later()
{
	launch(1);
	install(count, 0);
	raise(the_signal);
	usleep(100000);
	say("handled", n_handled);
	say("active", warpspan_active());
	say("stop", warpspan_stop(10000));
	for (int i = 0; i < 3; i++) {
		say("start", warpspan_start(nullptr));
		launch(1);
		say("stop", warpspan_stop(10000));
	}
	struct sigaction now;
	sigaction(the_signal, nullptr, &now);
	say("still the program's", now.sa_handler == count);
}

static void handled_before(void (*handler)(int))
{
	struct sigaction now;
	launch(1);
	raise(the_signal);
	usleep(100000);
	say("handled", n_handled);
	say("active", warpspan_active());
	sigaction(the_signal, nullptr, &now);
	say("still the program's", now.sa_handler == handler);
}

static void chained()
{
	launch(1);
	struct sigaction action = {};
	action.sa_sigaction = count_and_chain;
	action.sa_flags = SA_SIGINFO;
	sigaction(the_signal, &action, &before);
	raise(the_signal);
	say("handled", n_handled);
	say("stopped", wait_active(false));
}

/* --- what calls return that a signal interrupts ----------------------------------------------- */

static void interrupt_until(pthread_t thread, std::atomic<bool> &over)
{
	while (!over) {
		usleep(20000);
		if (!over)
			pthread_kill(thread, the_signal);
	}
}

/* The program's own handler, without SA_RESTART: each is interrupted. With it, only those that restart go on. */
static void interrupted(int flags)
{
	const pthread_t self = pthread_self();
	int ends[2];
	char byte;
	sem_t semaphore;
	struct timespec second = { 0, 300000000 }, far;

	install(count, flags);
	launch(1);
	cudaDeviceSynchronize();
	if (pipe(ends) != 0)
		return;
	sem_init(&semaphore, 0, 0);
	clock_gettime(CLOCK_REALTIME, &far);
	far.tv_sec += 10;
	for (const char *call : { "read", "nanosleep", "poll", "sem_timedwait" }) {
		std::atomic<bool> over{ false };
		std::thread sender(interrupt_until, self, std::ref(over));
		std::thread writer([&] {
			/* A read that restarts ends by this. */
			if (strcmp(call, "read") == 0 && (flags & SA_RESTART) != 0) {
				usleep(200000);
				(void)!write(ends[1], "x", 1);
			}
		});
		long result = 0;
		errno = 0;
		if (strcmp(call, "read") == 0)
			result = read(ends[0], &byte, 1);
		else if (strcmp(call, "nanosleep") == 0)
			result = nanosleep(&second, nullptr);
		else if (strcmp(call, "poll") == 0)
			result = poll(nullptr, 0, 300);
		else if ((flags & SA_RESTART) == 0)
			result = sem_timedwait(&semaphore, &far);
		const int error = errno;
		over = true;
		sender.join();
		writer.join();
		printf("%s %ld %s\n", call, result, strerror(error));
	}
	say("handled some", n_handled > 0);
}

/* Ours: a read of the program's goes on. */
static void restarted()
{
	const pthread_t self = pthread_self();
	int ends[2];
	char byte = 0;

	launch(1);
	cudaDeviceSynchronize();
	if (pipe(ends) != 0)
		return;
	std::thread sender([&] {
		for (int i = 0; i < 10; i++) {
			usleep(20000);
			pthread_kill(self, the_signal);
		}
		(void)!write(ends[1], "x", 1);
	});
	errno = 0;
	const long result = read(ends[0], &byte, 1);
	printf("read %ld '%c' %s\n", result, byte, strerror(errno));
	sender.join();
}

/* --- masks ------------------------------------------------------------------------------------ */

static void print_masks(const char *who)
{
	char line[256];
	FILE *status = fopen("/proc/thread-self/status", "r");

	while (status != nullptr && fgets(line, sizeof(line), status) != nullptr)
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
			printf("%s %s", who, line);
	if (status != nullptr)
		fclose(status);
	fflush(stdout);
}

static void masks()
{
	sigset_t some;
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	sigaddset(&some, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &some, nullptr);
	print_masks("before");
	launch(1);
	raise(the_signal);
	wait_active(false);
	(void)warpspan_start(nullptr);
	launch(1);
	(void)warpspan_stop(10000);
	print_masks("after");
	std::thread(print_masks, "thread").join();
	const pid_t child = fork();
	if (child == 0) {
		print_masks("child");
		execlp("grep", "grep", "-E", "SigBlk|SigIgn", "/proc/self/status", nullptr);
		_exit(127);
	}
	waitpid(child, nullptr, 0);
}

/* --- many ------------------------------------------------------------------------------------- */

static std::atomic<bool> storm_over;
static std::atomic<long> n_errno_changed, n_worked;

static void work(unsigned self, FILE *sink)
{
	while (!storm_over) {
		std::vector<std::string *> strings;
		errno = 1000 + (int)self;
		for (volatile int i = 0; i < 2000; i++)
			;
		n_errno_changed += errno != 1000 + (int)self;
		for (int i = 0; i < 50; i++)
			strings.push_back(new std::string(100 + i, 'x'));
		fprintf(sink, "%u %zu\n", self, strings.size());
		for (std::string *string : strings)
			delete string;
		launch(1);
		if (++n_worked % 64 == 0)
			cudaStreamSynchronize(0);
	}
}

static void storm()
{
	FILE *sink = fopen("/dev/null", "w");
	std::vector<std::thread> threads;
	const int n_signals = 100000;
	uint32_t random = 12345;

	launch(1);
	for (unsigned i = 0; i < 8; i++)
		threads.emplace_back(work, i, sink);
	for (int i = 0; i < n_signals; i++) {
		random = random * 1664525u + 1013904223u;
		/* Realtime signals queue: what comes faster than it is handled waits. */
		while (pthread_kill(threads[random >> 29].native_handle(), the_signal) == EAGAIN)
			sched_yield();
	}
	storm_over = true;
	for (std::thread &thread : threads)
		thread.join();
	say("sent", n_signals);
	say("errno changed", n_errno_changed);
	say("all ran", n_ran() == n_worked + 1);
	fclose(sink);
}

/* The child has the handler, and shares what it writes to. */
static void in_child()
{
	launch(1);
	cudaDeviceSynchronize();
	const pid_t child = fork();
	if (child == 0) {
		for (int i = 0; i < 100; i++)
			raise(the_signal);
		_exit(7);
	}
	int status = 0;
	waitpid(child, &status, 0);
	say("child left with", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
	usleep(100000);
	say("active", warpspan_active());
	launch(1);
	cudaDeviceSynchronize();
}

/* Within calls of CUDA. */
static void during_launches()
{
	std::atomic<bool> over{ false };
	const pthread_t self = pthread_self();
	std::thread sender([&] {
		while (!over)
			pthread_kill(self, the_signal), usleep(200);
	});
	long n = 0;

	for (; n < 3000; n++)
		launch(1);
	over = true;
	sender.join();
	say("stopped", wait_active(false));
	say("all ran", n_ran() == n);
}

int main(int argc, char **argv)
{
	const std::string scenario = argc == 3 ? argv[1] : "";

	the_signal = argc == 3 ? atoi(argv[2]) : 0;
	if (argc == 3 && strncmp(argv[2], "RTMIN+", 6) == 0)
		the_signal = SIGRTMIN + atoi(argv[2] + 6);
	/* Before the first call of CUDA. */
	if (scenario == "ignored")
		install(SIG_IGN, 0);
	if (scenario == "handled")
		install(count, 0);
	prepare();
	if (scenario == "default")
		at_default();
	else if (scenario == "toggle")
		toggled();
	else if (scenario == "later")
		handled_later();
	else if (scenario == "chain")
		chained();
	else if (scenario == "interrupted")
		interrupted(0);
	else if (scenario == "restarting")
		interrupted(SA_RESTART);
	else if (scenario == "restarted")
		restarted();
	else if (scenario == "masks")
		masks();
	else if (scenario == "storm")
		storm();
	else if (scenario == "child")
		in_child();
	else if (scenario == "launches")
		during_launches();
	else if (scenario == "ignored")
		handled_before(SIG_IGN);
	else if (scenario == "handled")
		handled_before(count);
	else
		return 2;
	cudaDeviceSynchronize();
	return 0;
}

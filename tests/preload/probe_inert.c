/* SPDX-License-Identifier: Apache-2.0
 *
 * probe_inert.c - a program without CUDA that looks at itself: threads, open files, signals, children. Run with and
 * without the library; both must print the same.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int count_entries(const char *folder)
{
	DIR *directory = opendir(folder);
	int n = 0;

	if (directory == NULL)
		return -1;
	while (readdir(directory) != NULL)
		n++;
	(void)closedir(directory);
	return n;
}

static void *nothing(void *argument)
{
	return argument;
}

static int fork_and_exit(void)
{
	int status = -1;
	const pid_t child = fork();

	if (child == 0)
		exit(7); /* runs the handlers of exit(), ours too */
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void)
{
	sigset_t blocked;
	pthread_t thread;
	int n_blocked = 0, n_handlers = 0;

	printf("threads %d, files %d\n", count_entries("/proc/self/task"), count_entries("/proc/self/fd"));
	(void)pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	for (int i = 1; i < NSIG; i++) {
		struct sigaction action;

		n_blocked += sigismember(&blocked, i) == 1;
		n_handlers += sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_DFL;
	}
	printf("blocked %d, handlers %d\n", n_blocked, n_handlers);
	if (pthread_create(&thread, NULL, nothing, NULL) == 0)
		(void)pthread_join(thread, NULL);
	(void)fflush(stdout);
	printf("child %d\n", fork_and_exit());
	(void)fflush(stdout);
	printf("shell %d\n", system("echo from a shell; exit 3") >> 8);
	errno = 0;
	return 5;
}

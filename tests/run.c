/* SPDX-License-Identifier: Apache-2.0
 *
 * run.c - see run.h. Single-threaded users only: the environment is changed between fork and exec.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_TIMEOUT_S 120u

struct text {
	char *bytes;
	size_t n, room;
};

static double now_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void become(const struct run *run, int out, int err)
{
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	for (size_t i = 0; i < RUN_MAX_ENVIRONMENT && run->environment[i] != NULL; i++) {
		const char *setting = run->environment[i];
		if (strchr(setting, '=') != NULL)
			putenv((char *)setting);
		else
			unsetenv(setting);
	}
	setpgid(0, 0);
	if (run->folder != NULL && chdir(run->folder) != 0)
		_exit(127);
	execvp(run->arguments[0], (char *const *)run->arguments);
	_exit(127);
}

/* Appends what is there to read; false at the end of the stream. */
static bool take(int fd, struct text *text)
{
	if (text->room - text->n < 4096) {
		const size_t room = text->room * 2 + 65536;
		char *bytes = realloc(text->bytes, room);
		if (bytes == NULL)
			return false;
		text->bytes = bytes;
		text->room = room;
	}
	const ssize_t n = read(fd, text->bytes + text->n, text->room - text->n - 1);
	if (n < 0 && errno == EINTR)
		return true;
	if (n <= 0)
		return false;
	text->n += (size_t)n;
	return true;
}

/* Reads both streams until both have ended; false when the time is up. */
static bool collect(int out, int err, struct text texts[2], double deadline)
{
	struct pollfd fds[2] = { { .fd = out, .events = POLLIN }, { .fd = err, .events = POLLIN } };
	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		const double left = deadline - now_s();
		if (left <= 0)
			return false;
		if (poll(fds, 2, (int)(left * 1000) + 1) < 0 && errno != EINTR)
			return false;
		for (int i = 0; i < 2; i++) {
			if (fds[i].fd >= 0 && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 &&
			    !take(fds[i].fd, &texts[i]))
				fds[i].fd = -1;
			fds[i].revents = 0;
		}
	}
	return true;
}

static char *finish_text(struct text *text, size_t *ret_n)
{
	if (text->bytes == NULL)
		text->bytes = calloc(1, 1);
	if (text->bytes != NULL)
		text->bytes[text->n] = '\0';
	*ret_n = text->n;
	return text->bytes;
}

int run_program(const struct run *run, struct run_result *ret_result)
{
	const double start = now_s();
	const double deadline = start + (run->timeout_s != 0 ? run->timeout_s : DEFAULT_TIMEOUT_S);
	struct text texts[2] = { { NULL, 0, 0 }, { NULL, 0, 0 } };
	int out[2], err[2], status = 0;
	memset(ret_result, 0, sizeof(*ret_result));
	ret_result->exit_status = -1;
	if (pipe2(out, O_CLOEXEC) != 0)
		return -1;
	if (pipe2(err, O_CLOEXEC) != 0) {
		close(out[0]);
		close(out[1]);
		return -1;
	}
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0)
		become(run, out[1], err[1]);
	close(out[1]);
	close(err[1]);
	if (child > 0) {
		const bool ended = collect(out[0], err[0], texts, deadline);
		if (!ended)
			kill(-child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		ret_result->exit_status = !ended              ? -2
					  : WIFEXITED(status) ? WEXITSTATUS(status)
							      : 128 + WTERMSIG(status);
	}
	close(out[0]);
	close(err[0]);
	ret_result->out = finish_text(&texts[0], &ret_result->out_bytes);
	ret_result->err = finish_text(&texts[1], &ret_result->err_bytes);
	ret_result->seconds = now_s() - start;
	return ret_result->exit_status;
}

void run_result_finish(struct run_result *result)
{
	free(result->out);
	free(result->err);
	memset(result, 0, sizeof(*result));
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * control_socket.c - see control_socket.h. Both sides: the preloaded library and the `warpspan` command.
 */
#include "control_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Field 22 of /proc/PID/stat, in ticks since the machine started; 0: there is no such process. */
static unsigned long long start_time(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long ticks = 0;
	const char *at;
	ssize_t n;
	int file;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	n = read(file, text, sizeof(text) - 1);
	(void)close(file);
	text[n > 0 ? n : 0] = '\0';
	/* The name, in brackets, may hold anything, brackets too; field 3 follows it. */
	at = strrchr(text, ')');
	for (int field = 2; at != NULL && field < 22; field++) {
		at = strchr(at + 1, ' ');
		if (at == NULL)
			return 0;
	}
	if (at == NULL || sscanf(at, " %llu", &ticks) != 1)
		return 0;
	return ticks;
}

bool warpspan_control_address(pid_t pid, struct sockaddr_un *ret_address, socklen_t *ret_bytes)
{
	const unsigned long long ticks = start_time(pid);
	int n;

	if (ticks == 0)
		return false;
	*ret_address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret_address->sun_path + 1, sizeof(ret_address->sun_path) - 1, "warpspan-%ld-%llu", (long)pid,
		     ticks);
	*ret_bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
	return true;
}

bool warpspan_control_peer(int fd, pid_t *ret_pid)
{
	struct ucred peer;
	socklen_t bytes = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || bytes != sizeof(peer) ||
	    peer.uid != geteuid())
		return false;
	if (ret_pid != NULL)
		*ret_pid = peer.pid;
	return true;
}

static long long now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until the descriptor is ready or the time is over; false: it is over. */
static bool wait_ready(int fd, short events, long long until_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = events };

	for (;;) {
		const long long left_ms = until_ms - now_ms();
		const int n = left_ms > 0 ? poll(&poll_fd, 1, left_ms < 1000000 ? (int)left_ms : 1000000) : 0;

		if (n > 0)
			return true;
		if (left_ms <= 0 || (n < 0 && errno != EINTR))
			return false;
	}
}

char *warpspan_control_receive(int fd, unsigned patience_ms)
{
	const long long until_ms = now_ms() + patience_ms;
	char *text = malloc(WARPSPAN_CONTROL_MOST_BYTES + 1);
	size_t used = 0;

	while (text != NULL && wait_ready(fd, POLLIN, until_ms)) {
		const ssize_t n = recv(fd, text + used, WARPSPAN_CONTROL_MOST_BYTES - used, MSG_DONTWAIT);

		if (n == 0) {
			text[used] = '\0';
			return text;
		}
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			break;
		used += n > 0 ? (size_t)n : 0;
		if (used == WARPSPAN_CONTROL_MOST_BYTES)
			break;
	}
	free(text);
	return NULL;
}

bool warpspan_control_send(int fd, const char *text, unsigned patience_ms)
{
	const long long until_ms = now_ms() + patience_ms;
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n;

		if (!wait_ready(fd, POLLOUT, until_ms))
			return false;
		n = send(fd, text, left, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return false;
		text += n > 0 ? n : 0;
		left -= n > 0 ? (size_t)n : 0;
	}
	return shutdown(fd, SHUT_WR) == 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * control_socket.h - how `warpspan ctl` and a process find each other, and what they say.
 *
 * The process listens at an abstract socket whose name has its process number and the time it started, so that a later
 * process with the same number is another one. Each side asks the kernel who the other is, and hangs up on anybody but
 * the same user. One request for each connection: a JSON object, then the end of the stream; one answer likewise.
 *
 *	{"command": "start", "settings": ["KERNEL=gemm*"]}
 *	{"command": "stop", "timeout_ms": 10000}        "status", "toggle" (as stop), "snapshot" (as stop)
 *	{"error": 0, "message": "...", ...}             0 or a WARPSPAN_ERR_*; what else there is depends on the command
 */
#ifndef WARPSPAN_CONTROL_SOCKET_H
#define WARPSPAN_CONTROL_SOCKET_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define WARPSPAN_CONTROL_MOST_BYTES 65536u

/* The address at which the process listens. False: there is no such process. */
bool warpspan_control_address(pid_t pid, struct sockaddr_un *ret_address, socklen_t *ret_bytes);

/* Whether the other end is a process of this process's user; *ret_pid (may be NULL): which. */
bool warpspan_control_peer(int fd, pid_t *ret_pid);

/* Reads to the end of the stream, at most WARPSPAN_CONTROL_MOST_BYTES and `patience_ms`. NULL: that failed; the caller
 * frees the text. */
char *warpspan_control_receive(int fd, unsigned patience_ms);
/* Writes it all, at most `patience_ms`, and ends the stream. */
bool warpspan_control_send(int fd, const char *text, unsigned patience_ms);

#endif

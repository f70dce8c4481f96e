/* SPDX-License-Identifier: Apache-2.0
 *
 * log.c - the guest-safe log. See log.h.
 */
#include "log.h"

#include "guard.h"
#include "signals.h"
#include "uncancelled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A longer line is cut. Fits PIPE_BUF, so lines of several processes do not mix in a pipe. */
#define LINE_BYTES 4096

static _Atomic int current_level = WARPSPAN_LOG_ERROR;

void warpspan_log_set_level(enum warpspan_log_level level)
{
	atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
}

enum warpspan_log_level warpspan_log_level(void)
{
	return (enum warpspan_log_level)atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* A program that was started without a stderr may open a file of its own under that number: our lines would go into
 * it. Looked at when the library is loaded, before the program has opened anything. */
static bool no_stderr;

__attribute__((constructor)) static void look_at_stderr(void)
{
	const int saved_errno = errno;

	no_stderr = fcntl(STDERR_FILENO, F_GETFD) < 0 && errno == EBADF;
	errno = saved_errno;
}

void warpspan_log_raw(const char *text, size_t bytes)
{
	const int saved_errno = errno;
	struct warpspan_signals signals;
	WARPSPAN_UNCANCELLED;

	if (no_stderr)
		return;
	warpspan_signals_hold(&signals);
	while (bytes > 0) {
		const ssize_t n = write(STDERR_FILENO, text, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break; /* stderr is closed or full: nobody to tell */
		text += n;
		bytes -= (size_t)n;
	}
	warpspan_signals_release(&signals);
	errno = saved_errno;
}

void warpspan_log_write(enum warpspan_log_level level, const char *format, ...)
{
	const int saved_errno = errno;
	const char *const words[] = {
		[WARPSPAN_LOG_NONE] = "", [WARPSPAN_LOG_ERROR] = "error: ", [WARPSPAN_LOG_WARN] = "warning: ",
		[WARPSPAN_LOG_INFO] = "", [WARPSPAN_LOG_DEBUG] = "debug: ",
	};
	char line[LINE_BYTES];
	va_list arguments;
	size_t used;
	int n;

	if (warpspan_thread.tid == 0)
		warpspan_thread.tid = (uint32_t)gettid();
	n = snprintf(line, sizeof(line), "warpspan[%d/%u]: %s", (int)getpid(), warpspan_thread.tid, words[level]);
	used = n > 0 ? (size_t)n : 0;
	va_start(arguments, format);
	n = vsnprintf(line + used, sizeof(line) - used, format, arguments);
	va_end(arguments);
	if (n > 0)
		used += (size_t)n;
	if (used > sizeof(line) - 1)
		used = sizeof(line) - 1;
	line[used] = '\n';
	warpspan_log_raw(line, used + 1);
	errno = saved_errno;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * full.c - preloaded before the library: files in FULL_FOLDER take FULL_BYTES each, as on a disk that is full; files
 * with FULL_REFUSED in their path cannot be created, as on one that has become read-only.
 */
/* Both forms of open() are defined here. */
#undef _FILE_OFFSET_BITS
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether so many bytes more are too many. */
static bool is_full(int fd, size_t more)
{
	const char *folder = getenv("FULL_FOLDER"), *bytes = getenv("FULL_BYTES");
	char link[64], path[4096];
	const int saved_errno = errno;
	ssize_t n;

	if (folder == NULL || bytes == NULL)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	errno = saved_errno;
	return strncmp(path, folder, strlen(folder)) == 0 && lseek(fd, 0, SEEK_CUR) + (off_t)more > atol(bytes);
}

ssize_t write(int fd, const void *from, size_t bytes)
{
	if (is_full(fd, bytes)) {
		errno = ENOSPC;
		return -1;
	}
	return ((ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(fd, from, bytes);
}

ssize_t writev(int fd, const struct iovec *parts, int n_parts)
{
	size_t bytes = 0;

	for (int i = 0; i < n_parts; i++)
		bytes += parts[i].iov_len;
	if (is_full(fd, bytes)) {
		errno = ENOSPC;
		return -1;
	}
	return ((ssize_t(*)(int, const struct iovec *, int))dlsym(RTLD_NEXT, "writev"))(fd, parts, n_parts);
}

static bool is_refused(const char *path, int flags)
{
	const char *end = getenv("FULL_REFUSED"), *found = end != NULL ? strstr(path, end) : NULL;

	return (flags & O_CREAT) != 0 && found != NULL;
}

#define OPEN(name)                                                                                    \
	int name(const char *path, int flags, ...)                                                    \
	{                                                                                             \
		va_list rest;                                                                         \
		mode_t mode;                                                                          \
		va_start(rest, flags);                                                                \
		mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;                             \
		va_end(rest);                                                                         \
		if (is_refused(path, flags)) {                                                        \
			errno = EROFS;                                                                \
			return -1;                                                                    \
		}                                                                                     \
		return ((int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name))(path, flags, mode); \
	}
OPEN(open)
OPEN(open64)

/* SPDX-License-Identifier: Apache-2.0
 *
 * descriptor.c - files opened inside somebody else's process. See descriptor.h.
 */
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Above what most programs have open, and what a loop over "all" descriptors of old closes; still below the usual soft
 * limit of 1024. A process that may not have so many gets the next one above the standard three. */
#define OUT_OF_THE_WAY 600
#define FIRST_FREE     3

int descriptor_lift(int low)
{
	int saved_errno, high;

	if (low < 0)
		return low;
	high = fcntl(low, F_DUPFD_CLOEXEC, OUT_OF_THE_WAY);
	if (high < 0 && low >= FIRST_FREE)
		return low;
	if (high < 0)
		high = fcntl(low, F_DUPFD_CLOEXEC, FIRST_FREE);
	saved_errno = errno;
	(void)close(low);
	errno = saved_errno;
	return high;
}

int descriptor_open(const char *path, int flags, mode_t mode)
{
	return descriptor_lift(open(path, flags | O_CLOEXEC, mode));
}

bool descriptor_identity(int fd, struct file_identity *ret_identity)
{
	const int saved_errno = errno;
	struct stat now;
	const bool known = fstat(fd, &now) == 0;

	if (known)
		*ret_identity = (struct file_identity){ .device = now.st_dev, .inode = now.st_ino };
	errno = saved_errno;
	return known;
}

bool descriptor_is(int fd, const struct file_identity *identity)
{
	struct file_identity now;

	return descriptor_identity(fd, &now) && now.device == identity->device && now.inode == identity->inode;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * descriptor.h - files opened inside somebody else's process.
 *
 * The lowest free descriptor is the program's: 0, 1 and 2 where it closed them, else the one it takes next by number.
 * Ours lie out of its way. A program that closes all descriptors it does not know (daemons do) closes ours too, and
 * opens files of its own under the same number; so a descriptor is compared with the file it was opened for before
 * it is written to. Any thread; nothing is kept.
 */
#ifndef WARPSPAN_DESCRIPTOR_H
#define WARPSPAN_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

/* Which file a descriptor was opened for. */
struct file_identity {
	dev_t device;
	ino_t inode;
};

/* open() with O_CLOEXEC, at a descriptor from 3 on, as a rule far above. The caller closes it. -1: errno says why. */
int descriptor_open(const char *path, int flags, mode_t mode);

/* Moves a descriptor to where descriptor_open() puts its own. -1, like any other negative number, stays. The old number
 * is closed; -1: errno says why. */
int descriptor_lift(int low);

/* What the descriptor refers to now; false: it is closed. errno is kept. */
bool descriptor_identity(int fd, struct file_identity *ret_identity);
/* Whether it still refers to this file. errno is kept. */
bool descriptor_is(int fd, const struct file_identity *identity);

#endif

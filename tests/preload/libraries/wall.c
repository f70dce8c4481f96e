/* SPDX-License-Identifier: Apache-2.0
 *
 * wall.c - preloaded before the library: the clock on the wall shows an hour more than the kernel's. Whoever asks it
 * until when to wait, waits for an hour: as where it is set back meanwhile, or under a library that shows programs
 * another time.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	const int result = (int)syscall(SYS_clock_gettime, clock, ret);

	if (result == 0 && clock == CLOCK_REALTIME)
		ret->tv_sec += 3600;
	return result;
}

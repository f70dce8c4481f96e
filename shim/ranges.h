/* SPDX-License-Identifier: Apache-2.0
 *
 * ranges.h - the ranges of the name that WARPSPAN_START=nvtx:NAME gives, and the sessions that they are.
 *
 * A session begins with the first of them and ends when none is open any more, in any thread. Ranges are of two kinds:
 * pushed and popped, a stack for each thread and domain; started and ended by a number, in any thread.
 *
 * Any thread. Nothing is allocated and errno is kept. While no range of the name is open, push and pop cost a load. Not
 * within a call of the driver, nor once the library is off: the caller sees to that.
 */
#ifndef WARPSPAN_RANGES_H
#define WARPSPAN_RANGES_H

#include <stdbool.h>
#include <stdint.h>

/* Stacks with a range of the name on them, and started ranges of the name, that may be open at a time. What is beyond
 * starts no session, which is said once. */
#define WARPSPAN_MOST_RANGES 64u

/* Of the program, before the first call of any other: the name, which must stay. */
void warpspan_ranges_init(const char *name);

/* `named`: the range has the name. */
void warpspan_ranges_push(const void *domain, bool named);
void warpspan_ranges_pop(const void *domain);

/* A range of the name. Its number; 0: too many are open. */
uint64_t warpspan_ranges_start(void);
/* A number that is none of ours, or was ended before, is none of our business. */
void warpspan_ranges_end(uint64_t number);

#endif

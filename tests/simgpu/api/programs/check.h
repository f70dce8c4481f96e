/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h - for the test programs here: a condition that does not hold ends the program, saying where.
 */
#ifndef SIMGPU_CHECK_H
#define SIMGPU_CHECK_H

#undef NDEBUG
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                          \
	do {                                                                                      \
		if (!(condition)) {                                                               \
			fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			exit(1);                                                                  \
		}                                                                                 \
	} while (0)

/* Two integers (or codes), both printed when they differ. */
#define CHECK_EQUAL(is, should)                                                                                  \
	do {                                                                                                     \
		long long is_ = (long long)(is), should_ = (long long)(should);                                  \
                                                                                                                 \
		if (is_ != should_) {                                                                            \
			fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #is, is_, should_); \
			exit(1);                                                                                 \
		}                                                                                                \
	} while (0)

/* A CUDA call of either API that succeeds. */
#define OK(call) CHECK_EQUAL(call, 0)

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * log.h - lines on stderr that do not disturb the program.
 *
 * One write(2) per line from a stack buffer: no stdio of the program's, no allocation, errno kept, and no signal if
 * nobody reads. Nothing is said in a program that was started without a stderr. Any thread; not in the loader's hooks.
 */
#ifndef WARPSPAN_LOG_H
#define WARPSPAN_LOG_H

#include "settings.h"

#include <stdatomic.h>

/* The level is WARPSPAN_LOG_ERROR until the settings are read. */
void warpspan_log_set_level(enum warpspan_log_level level);
enum warpspan_log_level warpspan_log_level(void);

void warpspan_log_write(enum warpspan_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes all of `text` to stderr as it is. */
void warpspan_log_raw(const char *text, size_t bytes);

/* The level is tested before anything is formatted. */
#define warpspan_log(level, ...)                                  \
	do {                                                      \
		if ((level) <= warpspan_log_level())              \
			warpspan_log_write((level), __VA_ARGS__); \
	} while (0)

/* The same, at most once from this place in the source. */
#define warpspan_log_once(level, ...)                       \
	do {                                                \
		static atomic_flag said = ATOMIC_FLAG_INIT; \
		if (!atomic_flag_test_and_set(&said))       \
			warpspan_log((level), __VA_ARGS__); \
	} while (0)

#define warpspan_error(...) warpspan_log(WARPSPAN_LOG_ERROR, __VA_ARGS__)
#define warpspan_warn(...)  warpspan_log(WARPSPAN_LOG_WARN, __VA_ARGS__)
#define warpspan_info(...)  warpspan_log(WARPSPAN_LOG_INFO, __VA_ARGS__)
#define warpspan_debug(...) warpspan_log(WARPSPAN_LOG_DEBUG, __VA_ARGS__)

#endif

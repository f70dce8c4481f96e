/* SPDX-License-Identifier: Apache-2.0
 *
 * triggers.h - the values of settings that say what starts or stops a session, and their texts. Allocates nothing;
 * any thread.
 */
#ifndef WARPSPAN_TRIGGERS_H
#define WARPSPAN_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, word): what begins a session by itself. In any mode the others may start one. */
#define WARPSPAN_START_MODES(X)         \
	X(NOW, "now")                   \
	X(API, "api")                   \
	X(PROFILER_API, "profiler-api") \
	X(NVTX, "nvtx:")

enum warpspan_start_mode {
#define WARPSPAN_X(name, word) WARPSPAN_START_##name,
	WARPSPAN_START_MODES(WARPSPAN_X)
#undef WARPSPAN_X
};

#define WARPSPAN_RANGE_NAME_BYTES 256u

struct warpspan_start {
	enum warpspan_start_mode mode;
	char range[WARPSPAN_RANGE_NAME_BYTES]; /* of NVTX: the range's name */
};

/* Launches by which a session begins and ends. */
struct warpspan_window {
	uint64_t skip;
	uint64_t count; /* 0: all */
};

/* A parser returns whether `text` is good, and writes *ret only then; a printer what snprintf() does. */

/* "now", "api", "profiler-api", "nvtx:NAME". */
bool warpspan_start_parse(const char *text, struct warpspan_start *ret);
int warpspan_start_print(char *to, size_t bytes, const struct warpspan_start *start);

/* "all", "count" or "skip:count". */
bool warpspan_window_parse(const char *text, struct warpspan_window *ret);
int warpspan_window_print(char *to, size_t bytes, const struct warpspan_window *window);

/* "none" (0), a name with or without SIG ("USR2"), "RTMIN+n", "RTMAX-n". No signal that reports a fault, that cannot be
 * caught, or that people and schedulers end programs with. */
bool warpspan_signal_parse(const char *text, int *ret);
int warpspan_signal_print(char *to, size_t bytes, int number);

#endif

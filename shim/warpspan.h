/* SPDX-License-Identifier: Apache-2.0
 *
 * warpspan.h - starts and stops recording from within a program (C11, C++11 and later).
 *
 * Nothing is linked: the functions look for the preloaded libwarpspan.so when they are called. In a program that runs
 * without it they do nothing and return WARPSPAN_ERR_NOT_LOADED, so they may stay in a program for good.
 *
 *	#include <warpspan.h>
 *
 *	warm_up();
 *	warpspan_start(NULL);
 *	step();
 *	warpspan_stop(10000);
 *
 * One session at a time is active in a process, whoever started it: the program, a signal, `warpspan ctl`, or the
 * library itself, which by default starts one with the first instrumented launch. A program that starts its own is run
 * with WARPSPAN_START=api, or it gets WARPSPAN_ERR_ALREADY_STARTED.
 *
 * Every function may be called by any thread, inside a callback of a stream too (warpspan_stop() with a timeout of 0
 * only there). None calls CUDA on the calling thread, changes errno, or raises a signal; not to be called from a signal
 * handler.
 */
#ifndef WARPSPAN_H
#define WARPSPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(NAME, number, text): what can be wrong. 0 is success. */
#define WARPSPAN_ERRORS(X)                                                                                          \
	X(ALREADY_STARTED, -1,                                                                                      \
	  "a session is already active; only one may run at a time; stop it first, or run with WARPSPAN_START=api") \
	X(NOT_STARTED, -2, "no session is active; start one first")                                                 \
	X(DRAINING, -3, "the session before is still being written; try again when it is done, or wait longer")     \
	X(NOT_LOADED, -4, "libwarpspan.so is not loaded; run the program by `warpspan run` or with LD_PRELOAD")     \
	X(NO_CUDA, -5,                                                                                              \
	  "nothing can be recorded in this process: the driver cannot be used, the process was forked "             \
	  "from one that was being recorded, or it is ending")                                                      \
	X(OUTPUT, -6, "the capture cannot be written; set WARPSPAN_OUT to a path you may write to")                 \
	X(SETTING, -7, "a setting of the session is not valid; `warpspan settings` lists them")                     \
	X(NO_MEMORY, -8, "out of memory, or no thread could be started")

enum warpspan_session_error {
#define WARPSPAN_X(name, number, text) WARPSPAN_ERR_##name = number,
	WARPSPAN_ERRORS(WARPSPAN_X)
#undef WARPSPAN_X
};

/* What a session is to be. All zero but `size`: as the environment says. Everything in it stays the caller's. */
struct warpspan_options {
	size_t size; /* sizeof(struct warpspan_options) */
	/* "NAME=value", the last one NULL; NULL: none. Settings of this session only, by the names of `warpspan
	 * settings` without WARPSPAN_: OUT, FORMAT, KERNEL, EVENTS_PER_WARP, REPORT, DURATION. */
	const char *const *settings;
	/* Receives one line that says what is wrong, "" if nothing is; NULL: nobody wants it. At most `message_bytes`
	 * with the NUL; a longer one is cut. */
	char *message;
	size_t message_bytes;
};

#ifdef __cplusplus
extern "C" {
#endif

/* What the library exports; called by the functions below. Weak: 0 where it is not loaded. */
extern int warpspan_preloaded_start(const struct warpspan_options *options) __attribute__((weak));
extern int warpspan_preloaded_stop(uint32_t timeout_ms) __attribute__((weak));
extern bool warpspan_preloaded_active(void) __attribute__((weak));
extern int warpspan_preloaded_mark(const char *text) __attribute__((weak));

/* A linker fixes weak references of programs at fixed addresses at 0: those look the name up. */
#if !defined(__PIC__) && !defined(__PIE__)
extern void *warpspan_dlsym_(void *handle, const char *name) __asm__("dlsym") __attribute__((weak));
#define WARPSPAN_PRELOADED_(name)            \
	(warpspan_preloaded_##name != NULL   \
		 ? warpspan_preloaded_##name \
		 : (__typeof__(&warpspan_preloaded_##name))warpspan_find_("warpspan_preloaded_" #name))

static inline void *warpspan_find_(const char *name)
{
	return warpspan_dlsym_ != NULL ? warpspan_dlsym_(NULL, name) : NULL;
}
#else
#define WARPSPAN_PRELOADED_(name) (&warpspan_preloaded_##name)
#endif

/* Starts a session. `options`: NULL for none. 0: it records; launches made after the return are in its capture. A
 * kernel that was launched before and still runs is recorded from its next WS_OPEN on. Before the first call of CUDA
 * it waits for it.
 * Errors: ALREADY_STARTED, DRAINING, NOT_LOADED, NO_CUDA, OUTPUT, SETTING, NO_MEMORY; then nothing has changed. */
static inline int warpspan_start(const struct warpspan_options *options)
{
	int (*start)(const struct warpspan_options *) = WARPSPAN_PRELOADED_(start);

	if (start != NULL)
		return start(options);
	if (options != NULL && options->message != NULL && options->message_bytes > 0)
		options->message[0] = '\0';
	return WARPSPAN_ERR_NOT_LOADED;
}

/* Stops the session, whoever started it. Launches made before the call are waited for, and what they record is in the
 * capture. Waits up to `timeout_ms` milliseconds until capture and timelines are written; 0: does not wait. A kernel
 * that never ends does not hold it up for longer: what it has recorded by then is written.
 * 0: all is written, also where another thread was the first to stop it. Errors: NOT_STARTED (harmless); DRAINING: the
 * time is over; it is being stopped and written in the background. OUTPUT: something could not be written; a line on
 * stderr says what and where the data is. NOT_LOADED. */
static inline int warpspan_stop(uint32_t timeout_ms)
{
	int (*stop)(uint32_t) = WARPSPAN_PRELOADED_(stop);

	return stop != NULL ? stop(timeout_ms) : WARPSPAN_ERR_NOT_LOADED;
}

/* Whether a session is active. */
static inline bool warpspan_active(void)
{
	bool (*active)(void) = WARPSPAN_PRELOADED_(active);

	return active != NULL && active();
}

/* Puts `text` (copied, cut at 127 bytes) on the calling thread's row of the timeline, now. 0, or NOT_STARTED,
 * NOT_LOADED; NO_MEMORY: marks come faster than they are written, and this one is lost and counted. */
static inline int warpspan_mark(const char *text)
{
	int (*mark)(const char *) = WARPSPAN_PRELOADED_(mark);

	return mark != NULL ? mark(text) : WARPSPAN_ERR_NOT_LOADED;
}

/* What an error means and what to do; static, never NULL. */
static inline const char *warpspan_strerror(int error)
{
	switch (error) {
	case 0:
		return "done";
#define WARPSPAN_X(name, number, text) \
	case number:                   \
		return text;
		WARPSPAN_ERRORS(WARPSPAN_X)
#undef WARPSPAN_X
	default:
		return "not an error of warpspan";
	}
}

#ifdef __cplusplus
} /* extern "C" */

namespace warpspan
{

/* Records what its scope launches. A session that could not be started is not stopped; error() says why. */
class session
{
public:
	explicit session(const struct warpspan_options *options = nullptr, uint32_t stop_timeout_ms = 10000)
	    : timeout_ms_(stop_timeout_ms), error_(warpspan_start(options))
	{
	}
	~session()
	{
		if (error_ == 0)
			(void)warpspan_stop(timeout_ms_);
	}
	session(const session &) = delete;
	session &operator=(const session &) = delete;
	int error() const
	{
		return error_;
	}

private:
	uint32_t timeout_ms_;
	int error_;
};

} /* namespace warpspan */
#endif

#endif

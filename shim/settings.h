/* SPDX-License-Identifier: Apache-2.0
 *
 * settings.h - the settings of settings.def, read from a file and from the environment.
 *
 * Depends on libc and cJSON only, so that the `warpspan` command compiles the same file. Prints nothing: what is wrong
 * goes to the caller's function. Allocates only while it reads the file.
 */
#ifndef WARPSPAN_SETTINGS_H
#define WARPSPAN_SETTINGS_H

#include "triggers.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARPSPAN_SETTING_PREFIX "WARPSPAN_"
/* A path with its NUL; the longest text setting is one. */
#define WARPSPAN_TEXT_BYTES 4096u

enum warpspan_setting_type {
	WARPSPAN_SETTING_TEXT,
	WARPSPAN_SETTING_FORMATS,
	WARPSPAN_SETTING_BYTES,
	WARPSPAN_SETTING_COUNT,
	WARPSPAN_SETTING_TIME,
	WARPSPAN_SETTING_FLAG,
	WARPSPAN_SETTING_LEVEL,
	WARPSPAN_SETTING_START,
	WARPSPAN_SETTING_WINDOW,
	WARPSPAN_SETTING_SIGNAL,
};

enum warpspan_setting_scope {
	WARPSPAN_SETTING_SESSION,
	WARPSPAN_SETTING_PROCESS,
};

/* In the order of the words in settings.def: each level shows itself and those before. */
enum warpspan_log_level {
	WARPSPAN_LOG_NONE,
	WARPSPAN_LOG_ERROR,
	WARPSPAN_LOG_WARN,
	WARPSPAN_LOG_INFO,
	WARPSPAN_LOG_DEBUG,
};

/* Bits of the FORMATS type, in the order of the words in settings.def; "none" is 0. */
#define WARPSPAN_FORMAT_PFTRACE 1u
#define WARPSPAN_FORMAT_JSON    2u

struct warpspan_settings {
	char out[WARPSPAN_TEXT_BYTES];    /* template of the capture's path */
	unsigned format;                  /* OR of WARPSPAN_FORMAT_*; 0: only the capture */
	uint64_t buffer;                  /* bytes, both arenas together */
	uint32_t events_per_warp;         /* words; 0: derived */
	char kernel[WARPSPAN_TEXT_BYTES]; /* comma list of patterns */
	bool report;
	enum warpspan_log_level log;
	uint64_t exit_timeout_ns;
	struct warpspan_start start;
	struct warpspan_window launches;
	uint64_t duration_ns; /* 0: no limit */
	int stop_signal;      /* 0: none */
	int toggle_signal;    /* 0: none */
	bool ctl;
	char config[WARPSPAN_TEXT_BYTES]; /* path of the file of settings; "": none */
};

struct warpspan_setting_info {
	const char *name; /* with the prefix */
	enum warpspan_setting_type type;
	enum warpspan_setting_scope scope;
	const char *default_text;
	const char *range;
	const char *help;
};

enum {
#define WARPSPAN_SETTING(name, field, type, scope, default_text, range, help) WARPSPAN_SETTING_INDEX_##name,
#include "settings.def"
#undef WARPSPAN_SETTING
	WARPSPAN_N_SETTINGS
};

extern const struct warpspan_setting_info warpspan_setting_infos[WARPSPAN_N_SETTINGS];

/* Receives one sentence without newline about a variable that is unknown or has a bad value. */
typedef void warpspan_settings_complain(void *context, const char *text);

/* How many characters must be put in, taken out, replaced or swapped with their neighbour to make one word of the
 * other. Of longer words the first WARPSPAN_WORD_CHARACTERS count. Any thread. */
#define WARPSPAN_WORD_CHARACTERS 64u
unsigned warpspan_edit_distance(const char *a, const char *b);

/* Fills *ret_settings: the environment wins over the file WARPSPAN_CONFIG names, the file over the defaults. `complain`
 * may be NULL. In a program that runs with more rights than its caller neither is read. */
void warpspan_settings_read(struct warpspan_settings *ret_settings, warpspan_settings_complain *complain,
			    void *context);

/* The value from the environment, or NULL. Valid until the environment changes. */
const char *warpspan_setting_get(const struct warpspan_setting_info *info);

/* The value the setting has in `settings`, as a text that reads back as the same value. False: it does not fit. */
bool warpspan_setting_text(const struct warpspan_settings *settings, unsigned index, char *ret_text, size_t bytes);

/* Sets one setting for a session: "NAME=value", the name in any case, with or without the prefix. Negative: nothing
 * has changed, and *ret_error (`bytes` of it) has a sentence that names the setting, what is wrong and what is nearest.
 * Any thread; allocates nothing. */
int warpspan_settings_set(struct warpspan_settings *settings, const char *assignment, char *ret_error, size_t bytes);

/* The setting of that name, in any case, with or without the prefix; NULL: there is none. */
const struct warpspan_setting_info *warpspan_setting_find(const char *name, size_t length);

/* Sets the setting with this index. False: `text` is not good, and nothing has changed. */
bool warpspan_setting_parse(unsigned index, const char *text, struct warpspan_settings *settings);

/* The beginning of a text from elsewhere, fit for a line on a terminal. */
#define WARPSPAN_SHOWN_BYTES 65u
const char *warpspan_settings_shown(const char *text, char (*ret)[WARPSPAN_SHOWN_BYTES]);

/* "'64MB' is not valid (64K..32G); the nearest is 64M", for a value that is not good. */
void warpspan_setting_wrong(const struct warpspan_setting_info *info, const char *text, char *ret, size_t bytes);

/* Whether `text` is a good value for the setting. */
bool warpspan_setting_valid(const struct warpspan_setting_info *info, const char *text);

/* The good value nearest to a bad one, as text; false: none is near. `bytes` >= 32. */
bool warpspan_setting_nearest_value(const struct warpspan_setting_info *info, const char *text, char *ret_value,
				    size_t bytes);

/* The setting whose name is nearest to `name`, in any case, with or without the prefix; NULL when none is near. */
const struct warpspan_setting_info *warpspan_setting_nearest(const char *name);

#endif

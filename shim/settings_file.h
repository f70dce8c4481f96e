/* SPDX-License-Identifier: Apache-2.0
 *
 * settings_file.h - settings from a file: one JSON object.
 *
 *   { "kernel": "gemm*", "buffer": "256M", "exit_timeout": 0.5, "report": true }
 *
 * A key is the name of a setting, in any case, with or without "WARPSPAN_"; a value is the text the environment
 * variable would have, a number for a size, a count, a time or a flag, or true or false for a flag. An empty text and
 * null mean what an absent key means. What is wrong is said and left out, the rest holds; of a file that is not JSON
 * nothing holds.
 *
 * Any thread. Nothing is kept between calls; the program's locale does not matter.
 */
#ifndef WARPSPAN_SETTINGS_FILE_H
#define WARPSPAN_SETTINGS_FILE_H

#include "settings.h"

/* Real files have a dozen lines. What is larger is another file, given by mistake. */
#define WARPSPAN_SETTINGS_FILE_BYTES (1u << 20)

/* Sets what the file at `path` says, and leaves the rest of *settings alone. lines[i] is the line that set the setting
 * i (0: none did); it may be NULL, like `complain`. A path that is no regular file is not waited for. */
void warpspan_settings_file_read(const char *path, struct warpspan_settings *settings,
				 uint32_t lines[WARPSPAN_N_SETTINGS], warpspan_settings_complain *complain,
				 void *context);

/* The same for text that was read; `name` is for the complaints. text[bytes] is '\0'. */
void warpspan_settings_file_apply(const char *name, const char *text, size_t bytes, struct warpspan_settings *settings,
				  uint32_t lines[WARPSPAN_N_SETTINGS], warpspan_settings_complain *complain,
				  void *context);

#endif

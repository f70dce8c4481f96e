/* SPDX-License-Identifier: Apache-2.0
 *
 * link.h - several PTX texts of relocatable code into one.
 */
#ifndef SIMGPU_LINK_H
#define SIMGPU_LINK_H

#include <stddef.h>

struct link_unit {
	const char *text; /* NUL-terminated */
	const char *name; /* for messages */
};

enum link_status {
	LINK_OK,
	LINK_NO_MEMORY,
	LINK_FAILED, /* malformed, or one name defined twice: the log says which */
};

/* On success the caller owns *ret_text, NUL-terminated. `log` (of `log_bytes`, may be NULL) gets one line for a
 * failure. Callable from any thread. */
enum link_status ptx_link(const struct link_unit *units, size_t n, char *log, size_t log_bytes, char **ret_text);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * json_check.h - whether a text is JSON, and if not, where and why, for people who write it by hand.
 *
 * cJSON tells neither exactly. Any thread; allocates nothing.
 */
#ifndef WARPSPAN_JSON_CHECK_H
#define WARPSPAN_JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* What may be nested in each other; it bounds the stack that is needed, here and by a parser that recurses. */
#define WARPSPAN_JSON_MOST_DEPTH 16u

/* Whether the `bytes` at `text` are one JSON value (RFC 8259, a byte order mark allowed). text[bytes] is '\0'. False:
 * *ret_at is the first character that does not fit, *ret_wanted (static) says what would. */
bool warpspan_json_check(const char *text, size_t bytes, const char **ret_at, const char **ret_wanted);

#endif

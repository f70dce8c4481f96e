/* SPDX-License-Identifier: Apache-2.0
 *
 * pattern.h - WARPSPAN_KERNEL: a comma list of shell patterns, and the names of a kernel they are matched against.
 *
 * Any thread; nothing is allocated or kept.
 */
#ifndef WARPSPAN_PATTERN_H
#define WARPSPAN_PATTERN_H

#include "settings.h"

/* Copies the pattern at `list`, without the blanks around it, and returns where the next one begins; NULL: there was
 * none. Commas inside <>, () and [] belong to a pattern: demangled names have them. */
const char *warpspan_pattern_next(const char *list, char (*ret_pattern)[WARPSPAN_TEXT_BYTES]);

/* Whether one pattern matches the kernel. Of "void ns::gemm<128>(float*)" it may match the whole, the name without
 * return type "ns::gemm<128>(float*)", without parameters "ns::gemm<128>", or without template arguments "ns::gemm". */
bool warpspan_pattern_matches(const char *pattern, const char *demangled);

/* Whether one pattern of the list does. */
bool warpspan_pattern_list_matches(const char *list, const char *demangled);

#endif

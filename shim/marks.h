/* SPDX-License-Identifier: Apache-2.0
 *
 * marks.h - texts that the program puts on its timeline, on their way to the capture.
 */
#ifndef WARPSPAN_MARKS_H
#define WARPSPAN_MARKS_H

#include <stdbool.h>
#include <stdint.h>

/* Notes the text (copied, cut at 127 bytes) with the time and the calling thread. False: the notes are full; that is
 * counted. Any thread; does not block for long. */
bool warpspan_marks_add(const char *text);

/* Writes the notes to the capture. Collector only. */
void warpspan_marks_write(void);
/* A session that began then begins: forgets those from before. Collector only. */
void warpspan_marks_begin(uint64_t begin_ns);

#endif

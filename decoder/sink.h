/* SPDX-License-Identifier: Apache-2.0
 *
 * sink.h - where a writer's bytes go: a buffer, then a file descriptor, through gzip or not.
 *
 * Errors stick: after one, everything is dropped until sink_finish() tells. One thread at a time per sink.
 */
#ifndef WARPSPAN_SINK_H
#define WARPSPAN_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sink;

/* `fd` stays the caller's. `gzip`: compress at level 1, with no name and no time inside, so that equal input gives
 * equal files. NULL: out of memory. */
struct sink *sink_create(int fd, bool gzip);
/* Room for `bytes` (at most SINK_MOST_RESERVE) at once; NULL after an error. Follow with sink_commit(). */
uint8_t *sink_reserve(struct sink *sink, size_t bytes);
void sink_commit(struct sink *sink, size_t bytes);
#define SINK_MOST_RESERVE 65536u
void sink_write(struct sink *sink, const void *data, size_t bytes);
void sink_text(struct sink *sink, const char *text);
/* Writes out what is buffered and frees the sink. 0 or an errno value. */
int sink_finish(struct sink *sink);

#endif

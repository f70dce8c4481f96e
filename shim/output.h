/* SPDX-License-Identifier: Apache-2.0
 *
 * output.h - the capture file: its name, its chunks.
 *
 * One thread at a time: the one that begins the session, then the collector, then the one that ends it.
 */
#ifndef WARPSPAN_OUTPUT_H
#define WARPSPAN_OUTPUT_H

#include "decoder.h"
#include "settings.h"

#include <sys/types.h>

struct cJSON;

/* Replaces %p %h %r %n %% and makes the path absolute, without ".wspan"; one that ends in "/" gets the default name.
 * False: *ret_reason (static) says why. */
bool warpspan_output_expand(const char *template, unsigned session, char (*ret_path)[WARPSPAN_TEXT_BYTES],
			    const char **ret_reason);

/* Why a capture could not be created. */
#define WARPSPAN_REASON_BYTES 1024u

/* Creates the capture named by `template`; an existing file is never touched, ".1", ".2", ... are tried instead.
 * False: *ret_reason says why. */
bool warpspan_output_create(const char *template, unsigned session, char (*ret_reason)[WARPSPAN_REASON_BYTES]);
/* Grows with every chunk that is written. Any thread. */
uint64_t warpspan_output_progress(void);

/* The path of the capture; "" before there is one. */
const char *warpspan_output_path(void);
/* The same; any thread. */
void warpspan_output_copy_path(char (*ret_path)[WARPSPAN_TEXT_BYTES]);

/* Append a chunk. True: it is in the file. A capture that cannot be written where it is goes on in the folder for
 * temporary files, which is said. Where that fails, too, that is said; from then on nothing is written, and
 * output_failed() is true. */
bool warpspan_output_append(enum warpspan_chunk_type type, const struct iovec *parts, int n_parts);
/* META: {key: object}. Takes the object, which may be NULL: no memory. */
void warpspan_output_meta(const char *key, struct cJSON *object);
bool warpspan_output_failed(void);

/* Until snapshot_end(), what is appended goes into a copy of the capture, named after it: "NAME.snapshot1.wspan".
 * False: *ret_reason says why there is none. Collector only. */
bool warpspan_output_snapshot_begin(char (*ret_path)[WARPSPAN_TEXT_BYTES], char (*ret_reason)[WARPSPAN_REASON_BYTES]);
/* Closes the copy. False: it could not be written. */
bool warpspan_output_snapshot_end(char (*ret_reason)[WARPSPAN_REASON_BYTES]);

/* Writes the end of the capture and closes it. */
void warpspan_output_finish(void);
/* Of a capture that failed before anything was recorded: removes it. *ret_reason says why it failed. */
void warpspan_output_discard(char (*ret_reason)[WARPSPAN_REASON_BYTES]);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * decoder.h - the decoder's public face: write a raw capture, read it back, export it.
 *
 * The preloaded library uses the writer while the program runs and warpspan_export() at the end of a session; the
 * `warpspan` command uses the rest. Nothing here logs, exits or touches CUDA: functions return a warpspan_result and
 * fill a warpspan_error. No function changes errno for its caller.
 */
#ifndef WARPSPAN_DECODER_H
#define WARPSPAN_DECODER_H

#include "warpspan_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/uio.h>

/* X(NAME, number, text). Negative: failed, forward it. 0: done. Positive: done, with something to tell (see error). */
#define WARPSPAN_RESULTS(X)                                                      \
	X(OK, 0, "done")                                                         \
	X(DAMAGED, 1, "part of the capture is damaged; the rest was decoded")    \
	X(NO_MEMORY, -1, "out of memory")                                        \
	X(IO, -2, "input or output failed")                                      \
	X(NOT_A_CAPTURE, -3, "not a warpspan capture")                           \
	X(VERSION, -4, "the capture was written by another version of warpspan") \
	X(TOO_LARGE, -5, "too large")                                            \
	X(INVALID, -6, "invalid argument")

enum warpspan_result {
#define WARPSPAN_X(name, number, text) WARPSPAN_##name = number,
	WARPSPAN_RESULTS(WARPSPAN_X)
#undef WARPSPAN_X
};

/* The text of a result; static, never NULL. Callable from any thread. */
const char *warpspan_result_text(int result);

/* What went wrong, for one line to a person: thing, place, remedy. Filled on every result but WARPSPAN_OK. */
struct warpspan_error {
	int result;       /* enum warpspan_result */
	int system_errno; /* 0: none */
	uint64_t offset;  /* byte in the capture the text speaks of; UINT64_MAX: none */
	char text[512];   /* "'a.wspan': chunk 12 at byte 4096: payload checksum does not match; ..." */
};

/* --- writing a raw capture -------------------------------------------------------------------- */

struct warpspan_writer;

/* Creates `path` (permissions 0644 & ~umask, O_CLOEXEC, a descriptor out of the program's way) and writes the file
 * header. On WARPSPAN_OK the caller owns *ret_writer and ends it with warpspan_writer_finish() or
 * warpspan_writer_close(); else nothing is written there and no file is left. Errors: IO, with system_errno (EEXIST:
 * the file exists and was not touched); NO_MEMORY. Any thread; one thread at a time per writer. A write may raise
 * SIGXFSZ. */
int warpspan_writer_create(const char *path, struct warpspan_writer **ret_writer, struct warpspan_error *error);
/* Appends one chunk made of `n_parts` (1..8) pieces in order. A chunk goes out in one write, so a reader that looks at
 * a growing file sees whole chunks or a torn tail. The pieces stay the caller's. `error` may be NULL. Errors: INVALID
 * and TOO_LARGE (a mistake of the caller, or more than WARPSPAN_CHUNK_MAX_BYTES): nothing was written, the next call
 * may succeed. IO: the file is cut back to the last whole chunk and every later call returns the same error; with EBADF
 * the program has closed the descriptor, or put another file there, which is not touched. */
int warpspan_writer_append(struct warpspan_writer *writer, enum warpspan_chunk_type type, const struct iovec *parts,
			   int n_parts, struct warpspan_error *error);
/* Creates `path` as warpspan_writer_create() does, with a copy of what `writer` has written so far; chunks appended to
 * the copy go on from there. The original stays as it is and usable, also one whose writes have failed: the copy has
 * its whole chunks. Errors: those of warpspan_writer_create(), and IO where the original cannot be read. */
int warpspan_writer_copy(const struct warpspan_writer *writer, const char *path, struct warpspan_writer **ret_copy,
			 struct warpspan_error *error);
/* Appends the END chunk (it counts chunks, segments and launches itself) and closes. The writer is gone in every case.
 * Errors: those of warpspan_writer_append(), and IO where the file system tells a failed write only at the end. */
int warpspan_writer_finish(struct warpspan_writer *writer, struct warpspan_error *error);
/* Closes without END (a forked child that must not touch the file; a failed session). Returns NULL; NULL is fine. */
struct warpspan_writer *warpspan_writer_close(struct warpspan_writer *writer);

/* --- exporting -------------------------------------------------------------------------------- */

/* X(NAME, bit, text, extension) */
#define WARPSPAN_EXPORTS(X)                   \
	X(PFTRACE, 1u, "pftrace", ".pftrace") \
	X(JSON, 2u, "json", ".json.gz")

enum warpspan_export_format {
#define WARPSPAN_X(name, bit, text, extension) WARPSPAN_EXPORT_##name = bit,
	WARPSPAN_EXPORTS(WARPSPAN_X)
#undef WARPSPAN_X
};

/* Decodes `capture_path` and writes every format in `formats` (an OR of enum warpspan_export_format) next to it: the
 * capture's name less ".wspan", plus the format's extension. An existing file is replaced only when complete (written
 * under a temporary name, then renamed). `report` (may be NULL) receives the table that `warpspan report` prints.
 * WARPSPAN_OK and WARPSPAN_DAMAGED: everything was written, from what could be decoded, and error->text holds one line
 * on what was lost, unpaired or damaged, or "". With no format and no report it only finds that out. A negative result
 * is that of the first thing that failed (the capture cannot be read: NOT_A_CAPTURE, VERSION, IO; a file cannot be
 * written: IO; NO_MEMORY); the others are written all the same. *ret_exported (may be NULL) is filled whatever the
 * result; no temporary file is left. Callable from any thread; may take seconds. */
struct warpspan_exported {
	unsigned formats;    /* those that are in their files */
	bool decoded;        /* the capture could be read, and the rest is known */
	uint64_t n_launches; /* the session's, those of graphs as well, less those the driver refused */
	uint64_t n_records;  /* of what is shown */
};
int warpspan_export(const char *capture_path, unsigned formats, FILE *report, struct warpspan_exported *ret_exported,
		    struct warpspan_error *error);

/* The settings under which `n_warps` warps, none of which made more than `most_words` words, would have lost nothing
 * even if nothing had been drained meanwhile: *ret_buffer_bytes for WARPSPAN_BUFFER, in whole KiB or MiB and never less
 * than the `buffer_bytes` there were, *ret_events_per_warp for WARPSPAN_EVENTS_PER_WARP. Callable from any thread;
 * cannot fail. */
void warpspan_sufficient(uint64_t n_warps, uint32_t most_words, uint64_t buffer_bytes, uint64_t *ret_buffer_bytes,
			 uint32_t *ret_events_per_warp);

#endif

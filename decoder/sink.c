/* SPDX-License-Identifier: Apache-2.0
 *
 * sink.c - buffered output, optionally through gzip. See sink.h.
 */
#include "sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#define BUFFER_BYTES (256u << 10)
#define GZIP_LEVEL   1         /* 7x smaller at 300 MB/s; level 6 is 1.3x better and three times as slow */
#define GZIP_WINDOW  (15 + 16) /* zlib: 32 KiB window, gzip header */
#define GZIP_MEMORY  9

struct sink {
	int fd;
	int error; /* errno of the first failure */
	bool gzip;
	size_t used;
	z_stream stream;
	uint8_t buffer[BUFFER_BYTES];
	uint8_t compressed[BUFFER_BYTES];
};

struct sink *sink_create(int fd, bool gzip)
{
	struct sink *sink = malloc(sizeof(*sink));

	if (!sink)
		return NULL;
	sink->fd = fd;
	sink->error = 0;
	sink->gzip = gzip;
	sink->used = 0;
	memset(&sink->stream, 0, sizeof(sink->stream));
	if (gzip &&
	    deflateInit2(&sink->stream, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
		free(sink);
		return NULL;
	}
	return sink;
}

static void write_out(struct sink *sink, const uint8_t *data, size_t bytes)
{
	while (bytes > 0 && sink->error == 0) {
		const ssize_t n = write(sink->fd, data, bytes);

		if (n < 0 && errno != EINTR)
			sink->error = errno;
		if (n <= 0)
			continue;
		data += n;
		bytes -= (size_t)n;
	}
}

static void compress_out(struct sink *sink, int flush)
{
	z_stream *stream = &sink->stream;

	stream->next_in = sink->buffer;
	stream->avail_in = (uInt)sink->used;
	do {
		stream->next_out = sink->compressed;
		stream->avail_out = sizeof(sink->compressed);
		deflate(stream, flush); /* cannot fail: the state is ours and there is room */
		write_out(sink, sink->compressed, sizeof(sink->compressed) - stream->avail_out);
	} while (stream->avail_out == 0 && sink->error == 0);
}

static void flush(struct sink *sink)
{
	if (sink->gzip)
		compress_out(sink, Z_NO_FLUSH);
	else
		write_out(sink, sink->buffer, sink->used);
	sink->used = 0;
}

uint8_t *sink_reserve(struct sink *sink, size_t bytes)
{
	if (bytes > BUFFER_BYTES - sink->used)
		flush(sink);
	return sink->error == 0 && bytes <= SINK_MOST_RESERVE ? sink->buffer + sink->used : NULL;
}

void sink_commit(struct sink *sink, size_t bytes)
{
	sink->used += bytes;
}

void sink_write(struct sink *sink, const void *data, size_t bytes)
{
	const uint8_t *from = data;

	while (bytes > 0 && sink->error == 0) {
		const size_t n = bytes < SINK_MOST_RESERVE ? bytes : SINK_MOST_RESERVE;
		uint8_t *to = sink_reserve(sink, n);

		if (!to)
			return;
		memcpy(to, from, n);
		sink_commit(sink, n);
		from += n;
		bytes -= n;
	}
}

void sink_text(struct sink *sink, const char *text)
{
	sink_write(sink, text, strlen(text));
}

int sink_finish(struct sink *sink)
{
	if (sink->gzip) {
		compress_out(sink, Z_FINISH);
		deflateEnd(&sink->stream);
	} else {
		flush(sink);
	}
	const int error = sink->error;
	free(sink);
	return error;
}

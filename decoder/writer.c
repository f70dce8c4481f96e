/* SPDX-License-Identifier: Apache-2.0
 *
 * writer.c - appends chunks to a raw capture.
 *
 * Runs inside the user's process, on the collector thread: one system call per chunk, no buffer of its own, no signal.
 * Invariant: `bytes` is where the last whole chunk ends. A write that fails leaves the file cut back to there. The
 * descriptor is used only while it still is the file's: the program may have closed it and opened one of its own.
 */
#include "crc32c.h"
#include "descriptor.h"
#include "result.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#define PARTS_MAX 8

struct warpspan_writer {
	int fd;
	struct file_identity identity;
	bool nameless; /* it is not to be found in its folder yet: appear() */
	uint64_t bytes;
	uint32_t sequence;
	uint64_t n_segments, n_launches;
	struct warpspan_error failed; /* result 0: none yet */
	char path[];
};

static int fail(struct warpspan_writer *writer, struct warpspan_error *error, int system_errno, const char *what)
{
	error_set(&writer->failed, WARPSPAN_IO, system_errno, writer->bytes, "'%.300s': %s at byte %llu: %s",
		  writer->path, what, (unsigned long long)writer->bytes, strerror(system_errno));
	if (error != NULL)
		*error = writer->failed;
	return WARPSPAN_IO;
}

static int fail_stolen(struct warpspan_writer *writer, struct warpspan_error *error)
{
	error_set(&writer->failed, WARPSPAN_IO, EBADF, writer->bytes,
		  "'%.300s': the program closed this file's descriptor at byte %llu", writer->path,
		  (unsigned long long)writer->bytes);
	if (error != NULL)
		*error = writer->failed;
	return WARPSPAN_IO;
}

/* Writes all of it, in one call unless the kernel or a signal cuts it. 0 or an errno. */
static int write_all(int fd, struct iovec *parts, int n_parts)
{
	while (n_parts > 0) {
		if (parts->iov_len == 0) {
			parts++, n_parts--;
			continue;
		}
		const ssize_t wrote = writev(fd, parts, n_parts);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? errno : EIO;
		size_t left = (size_t)wrote;
		for (; n_parts > 0 && left >= parts->iov_len; parts++, n_parts--)
			left -= parts->iov_len;
		if (n_parts > 0) {
			parts->iov_base = (char *)parts->iov_base + left;
			parts->iov_len -= left;
		}
	}
	return 0;
}

#define NEW_FILE (O_RDWR | O_CREAT | O_EXCL) /* read by writer_copy() */

/* A file in the folder of `path` that has no name yet, so that nobody ever finds half of a beginning. -1: this file
 * system has none, or there is no such folder, or a file is there already, or another reason to be told by open(). */
static int open_nameless(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	if (access(path, F_OK) == 0 || (slash != NULL && (size_t)(slash - path) + 1 >= sizeof(folder)))
		return -1;
	snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - path) + 1 : 1,
		 slash != NULL ? path : ".");
	return descriptor_open(folder, O_RDWR | O_TMPFILE, 0644);
}

/* A new, empty file. */
static int open_new(const char *path, struct warpspan_writer **ret_writer, struct warpspan_error *error)
{
	const size_t path_bytes = strlen(path) + 1;
	struct warpspan_writer *writer = calloc(1, sizeof(*writer) + path_bytes);
	if (writer == NULL)
		return error_no_memory(error);
	memcpy(writer->path, path, path_bytes);
	writer->fd = open_nameless(path);
	writer->nameless = writer->fd >= 0;
	if (!writer->nameless)
		writer->fd = descriptor_open(path, NEW_FILE, 0644);
	if (writer->fd < 0) {
		const int system_errno = errno;
		free(writer);
		return error_set(error, WARPSPAN_IO, system_errno, WARPSPAN_NO_OFFSET, "'%.300s': cannot create: %s",
				 path, strerror(system_errno));
	}
	(void)descriptor_identity(writer->fd, &writer->identity);
	*ret_writer = writer;
	return WARPSPAN_OK;
}

/* Appends the first `bytes` of `from` to `to`. 0 or an errno. */
static int copy_bytes(int from, int to, uint64_t bytes)
{
	char buffer[65536];
	for (uint64_t at = 0; at < bytes;) {
		const uint64_t left = bytes - at;
		const ssize_t n = pread(from, buffer, left < sizeof(buffer) ? (size_t)left : sizeof(buffer), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		const int system_errno = write_all(to, &(struct iovec){ buffer, (size_t)n }, 1);
		if (system_errno != 0)
			return system_errno;
		at += (uint64_t)n;
	}
	return 0;
}

/* Gives the file its name, now that it holds what a reader needs. 0 or an errno. */
static int appear(struct warpspan_writer *writer)
{
	char link[32];
	int named, system_errno;
	if (!writer->nameless)
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", writer->fd);
	if (linkat(AT_FDCWD, link, AT_FDCWD, writer->path, AT_SYMLINK_FOLLOW) == 0) {
		writer->nameless = false;
		return 0;
	}
	if (errno == EEXIST)
		return EEXIST;
	/* No /proc here, or a file system that gives names only to new files. */
	named = descriptor_open(writer->path, NEW_FILE, 0644);
	if (named < 0)
		return errno;
	system_errno = copy_bytes(writer->fd, named, writer->bytes);
	if (system_errno != 0) {
		unlink(writer->path);
		close(named);
		return system_errno;
	}
	close(writer->fd);
	writer->fd = named;
	writer->nameless = false;
	(void)descriptor_identity(writer->fd, &writer->identity);
	return 0;
}

/* The file cannot be filled: as if it had never been. */
static void vanish(struct warpspan_writer *writer)
{
	if (!writer->nameless)
		unlink(writer->path);
	warpspan_writer_close(writer);
}

static int create(const char *path, struct warpspan_writer **ret_writer, struct warpspan_error *error)
{
	struct warpspan_writer *writer;
	const int result = open_new(path, &writer, error);
	if (result < 0)
		return result;
	struct warpspan_file_header header = {
		.magic = WARPSPAN_CTX_MAGIC,
		.version = WARPSPAN_FORMAT_VERSION,
		.byte_order = WARPSPAN_BYTE_ORDER,
		.header_bytes = sizeof(header),
		.segment_bytes = sizeof(struct warpspan_segment),
		.launch_bytes = sizeof(struct warpspan_launch),
	};
	header.crc32c = crc32c(0, &header, offsetof(struct warpspan_file_header, crc32c));
	struct iovec part = { &header, sizeof(header) };
	int system_errno = write_all(writer->fd, &part, 1);
	if (system_errno != 0) {
		error_set(error, WARPSPAN_IO, system_errno, 0, "'%.300s': cannot write the file header: %s", path,
			  strerror(system_errno));
		vanish(writer);
		return WARPSPAN_IO;
	}
	writer->bytes = sizeof(header);
	system_errno = appear(writer);
	if (system_errno != 0) {
		error_set(error, WARPSPAN_IO, system_errno, WARPSPAN_NO_OFFSET, "'%.300s': cannot create: %s", path,
			  strerror(system_errno));
		vanish(writer);
		return WARPSPAN_IO;
	}
	*ret_writer = writer;
	return WARPSPAN_OK;
}

int warpspan_writer_create(const char *path, struct warpspan_writer **ret_writer, struct warpspan_error *error)
{
	const int saved_errno = errno;
	const int result = create(path, ret_writer, error);
	errno = saved_errno;
	return result;
}

static int copy(const struct warpspan_writer *writer, const char *path, struct warpspan_writer **ret_copy,
		struct warpspan_error *error)
{
	struct warpspan_writer *made;
	if (!descriptor_is(writer->fd, &writer->identity))
		return error_set(error, WARPSPAN_IO, EBADF, WARPSPAN_NO_OFFSET,
				 "'%.300s': the program closed this file's descriptor", writer->path);
	const int result = open_new(path, &made, error);
	if (result < 0)
		return result;
	int system_errno = copy_bytes(writer->fd, made->fd, writer->bytes);
	made->bytes = writer->bytes;
	if (system_errno == 0)
		system_errno = appear(made);
	if (system_errno != 0) {
		error_set(error, WARPSPAN_IO, system_errno, WARPSPAN_NO_OFFSET, "'%.300s': cannot copy to '%.120s': %s",
			  writer->path, path, strerror(system_errno));
		vanish(made);
		return WARPSPAN_IO;
	}
	made->sequence = writer->sequence;
	made->n_segments = writer->n_segments;
	made->n_launches = writer->n_launches;
	*ret_copy = made;
	return WARPSPAN_OK;
}

int warpspan_writer_copy(const struct warpspan_writer *writer, const char *path, struct warpspan_writer **ret_copy,
			 struct warpspan_error *error)
{
	const int saved_errno = errno;
	const int result = copy(writer, path, ret_copy, error);
	errno = saved_errno;
	return result;
}

/* Copies bytes [offset, offset + n) of the concatenated parts; false when they end before. */
static bool copy_from_parts(const struct iovec *parts, int n_parts, uint64_t offset, void *to, size_t n)
{
	char *out = to;
	for (int i = 0; i < n_parts && n > 0; i++) {
		if (offset >= parts[i].iov_len) {
			offset -= parts[i].iov_len;
			continue;
		}
		size_t here = parts[i].iov_len - offset;
		if (here > n)
			here = n;
		memcpy(out, (const char *)parts[i].iov_base + offset, here);
		out += here;
		n -= here;
		offset = 0;
	}
	return n == 0;
}

/* How many segments a SEGMENTS payload holds; false when their sizes do not add up to it. */
static bool count_segments(const struct iovec *parts, int n_parts, uint64_t payload_bytes, uint64_t *ret_n)
{
	uint64_t n = 0, offset = 0;
	while (offset < payload_bytes) {
		uint32_t stored_words;
		if (!copy_from_parts(parts, n_parts, offset, &stored_words, sizeof(stored_words)))
			return false;
		offset += sizeof(struct warpspan_stored_segment) + (uint64_t)stored_words * WARPSPAN_WORD_BYTES;
		n++;
	}
	*ret_n = n;
	return offset == payload_bytes;
}

static int append(struct warpspan_writer *writer, enum warpspan_chunk_type type, const struct iovec *parts, int n_parts,
		  struct warpspan_error *error)
{
	if (writer->failed.result != WARPSPAN_OK) {
		if (error != NULL)
			*error = writer->failed;
		return writer->failed.result;
	}
	if (n_parts < 1 || n_parts > PARTS_MAX)
		return error_set(error, WARPSPAN_INVALID, 0, WARPSPAN_NO_OFFSET,
				 "a chunk is made of 1 to %d parts, not %d", PARTS_MAX, n_parts);
	uint64_t payload_bytes = 0;
	for (int i = 0; i < n_parts; i++) {
		if (parts[i].iov_len > WARPSPAN_CHUNK_MAX_BYTES - payload_bytes)
			return error_set(error, WARPSPAN_TOO_LARGE, 0, WARPSPAN_NO_OFFSET,
					 "a chunk holds at most %u bytes: write several", WARPSPAN_CHUNK_MAX_BYTES);
		payload_bytes += parts[i].iov_len;
	}
	uint64_t n_segments = 0, n_launches = 0;
	if (type == WARPSPAN_CHUNK_SEGMENTS && !count_segments(parts, n_parts, payload_bytes, &n_segments))
		return error_set(error, WARPSPAN_INVALID, 0, WARPSPAN_NO_OFFSET,
				 "the segments of a chunk do not add up to its %llu bytes",
				 (unsigned long long)payload_bytes);
	if (type == WARPSPAN_CHUNK_LAUNCHES) {
		if (payload_bytes % sizeof(struct warpspan_launch) != 0)
			return error_set(error, WARPSPAN_INVALID, 0, WARPSPAN_NO_OFFSET,
					 "%llu bytes are no whole number of launches",
					 (unsigned long long)payload_bytes);
		n_launches = payload_bytes / sizeof(struct warpspan_launch);
	}

	static const char zeros[WARPSPAN_CHUNK_ALIGNMENT];
	struct warpspan_chunk chunk = {
		.mark = WARPSPAN_CHUNK_MARK,
		.type = type,
		.payload_bytes = (uint32_t)payload_bytes,
		.sequence = writer->sequence,
	};
	struct iovec all[PARTS_MAX + 2] = { { &chunk, sizeof(chunk) } };
	for (int i = 0; i < n_parts; i++) {
		chunk.payload_crc = crc32c(chunk.payload_crc, parts[i].iov_base, parts[i].iov_len);
		all[1 + i] = parts[i];
	}
	chunk.header_crc = crc32c(0, &chunk, offsetof(struct warpspan_chunk, header_crc));
	const size_t padding = -payload_bytes & (WARPSPAN_CHUNK_ALIGNMENT - 1);
	all[1 + n_parts] = (struct iovec){ (void *)(uintptr_t)zeros, padding };
	if (!descriptor_is(writer->fd, &writer->identity))
		return fail_stolen(writer, error);
	const int system_errno = write_all(writer->fd, all, n_parts + 2);
	if (system_errno != 0) {
		if (!descriptor_is(writer->fd, &writer->identity))
			return fail_stolen(writer, error);
		/* A reader copes with a torn tail too, so a failure to cut it off changes nothing. */
		if (ftruncate(writer->fd, (off_t)writer->bytes) == 0)
			lseek(writer->fd, (off_t)writer->bytes, SEEK_SET);
		return fail(writer, error, system_errno, "cannot write");
	}
	writer->bytes += sizeof(chunk) + payload_bytes + padding;
	writer->sequence++;
	writer->n_segments += n_segments;
	writer->n_launches += n_launches;
	return WARPSPAN_OK;
}

int warpspan_writer_append(struct warpspan_writer *writer, enum warpspan_chunk_type type, const struct iovec *parts,
			   int n_parts, struct warpspan_error *error)
{
	const int saved_errno = errno;
	const int result = append(writer, type, parts, n_parts, error);
	errno = saved_errno;
	return result;
}

int warpspan_writer_finish(struct warpspan_writer *writer, struct warpspan_error *error)
{
	const int saved_errno = errno;
	struct timespec now = { 0 };
	clock_gettime(CLOCK_REALTIME, &now);
	struct warpspan_end end = {
		.chunks = writer->sequence,
		.segments = writer->n_segments,
		.launches = writer->n_launches,
		.time_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec,
	};
	const struct iovec part = { &end, sizeof(end) };
	int result = append(writer, WARPSPAN_CHUNK_END, &part, 1, error);
	/* Some file systems report a failed write only here. */
	if (descriptor_is(writer->fd, &writer->identity) && close(writer->fd) != 0 && errno != EINTR &&
	    result == WARPSPAN_OK)
		result = fail(writer, error, errno, "cannot close");
	free(writer);
	errno = saved_errno;
	return result;
}

struct warpspan_writer *warpspan_writer_close(struct warpspan_writer *writer)
{
	if (writer != NULL) {
		const int saved_errno = errno;
		if (descriptor_is(writer->fd, &writer->identity))
			close(writer->fd);
		free(writer);
		errno = saved_errno;
	}
	return NULL;
}

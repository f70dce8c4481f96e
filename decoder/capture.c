/* SPDX-License-Identifier: Apache-2.0
 *
 * capture.c - reads a raw capture and checks it, chunk by chunk.
 *
 * First stage of decoding; nothing after it sees a byte that no checksum covers. The whole file is read rather than
 * mapped: a file that another process cuts while we look must not end in SIGBUS, least of all in a user's process.
 *
 * After damage, reading goes on at the next chunk mark whose header checksum holds. Each place is noted once, where it
 * begins. No length is used before it is compared with what is there.
 */
#include "capture.h"

#include "crc32c.h"
#include "descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct scan {
	struct capture *capture;
	uint64_t offset;
	uint32_t next_sequence;
	bool lost_step;         /* damage was noted since the last good chunk: a gap in the sequence is no news */
	uint64_t rescan_budget; /* bytes of payload that may be summed a second time, or a file of overlapping chunk
				 * headers would cost quadratic time */
};

const char *capture_chunk_type_text(uint32_t type)
{
	switch (type) {
#define WARPSPAN_X(name, number, text) \
	case WARPSPAN_CHUNK_##name:    \
		return text;
		WARPSPAN_CHUNK_TYPES(WARPSPAN_X)
#undef WARPSPAN_X
	}
	return "unknown";
}

/* A chunk header whose mark and checksum hold. */
static bool chunk_header_at(const struct capture *capture, uint64_t offset, struct warpspan_chunk *ret_chunk)
{
	struct warpspan_chunk chunk;
	if (offset > capture->n_bytes || capture->n_bytes - offset < sizeof(chunk))
		return false;
	memcpy(&chunk, capture->bytes + offset, sizeof(chunk));
	if (chunk.mark != WARPSPAN_CHUNK_MARK ||
	    chunk.header_crc != crc32c(0, &chunk, offsetof(struct warpspan_chunk, header_crc)))
		return false;
	*ret_chunk = chunk;
	return true;
}

/* Where the next good chunk header is, from `offset` on; the end of the file when there is none. */
static uint64_t next_chunk_header(const struct capture *capture, uint64_t offset)
{
	static const uint32_t mark = WARPSPAN_CHUNK_MARK;
	while (offset < capture->n_bytes) {
		const uint8_t *found = memmem(capture->bytes + offset, capture->n_bytes - offset, &mark, sizeof(mark));
		if (found == NULL)
			break;
		offset = (uint64_t)(found - capture->bytes);
		struct warpspan_chunk chunk;
		if (chunk_header_at(capture, offset, &chunk))
			return offset;
		offset++;
	}
	return capture->n_bytes;
}

static uint64_t padded(uint64_t bytes)
{
	return (bytes + WARPSPAN_CHUNK_ALIGNMENT - 1) & ~(uint64_t)(WARPSPAN_CHUNK_ALIGNMENT - 1);
}

static bool all_zero(const uint8_t *bytes, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static int note(struct scan *scan, uint64_t offset, const char *what)
{
	scan->lost_step = true;
	return damage_add(&scan->capture->damage, offset, "'%.200s': chunk %u at byte %llu: %s", scan->capture->path,
			  scan->next_sequence, (unsigned long long)offset, what);
}

/* Handles damage at scan->offset and moves on to the next good header. */
static int skip_damage(struct scan *scan, uint64_t search_from, const char *what)
{
	const uint64_t start = scan->offset;
	scan->offset = next_chunk_header(scan->capture, search_from);
	char text[200];
	snprintf(text, sizeof(text), "%s; %llu bytes are skipped", what, (unsigned long long)(scan->offset - start));
	return note(scan, start, text);
}

static int take_chunk(struct scan *scan, const struct warpspan_chunk *chunk)
{
	struct capture *capture = scan->capture;
	const uint64_t offset = scan->offset;
	const uint8_t *payload = capture->bytes + offset + sizeof(*chunk);
	if (chunk->sequence != scan->next_sequence && !scan->lost_step) {
		const int result = damage_add(
			&capture->damage, offset, "'%.200s': chunk %u at byte %llu: chunk %u was expected here",
			capture->path, chunk->sequence, (unsigned long long)offset, scan->next_sequence);
		if (result < 0)
			return result;
	}
	scan->next_sequence = chunk->sequence + 1;
	scan->lost_step = false;
	struct capture_chunk *taken = array_add(&capture->chunks);
	if (taken == NULL)
		return WARPSPAN_NO_MEMORY;
	*taken = (struct capture_chunk){
		.type = chunk->type,
		.sequence = chunk->sequence,
		.payload_bytes = chunk->payload_bytes,
		.offset = offset,
		.payload = payload,
	};
	if (chunk->type == WARPSPAN_CHUNK_END) {
		if (chunk->payload_bytes < sizeof(capture->end))
			return note(scan, offset, "the end chunk is too short");
		memcpy(&capture->end, payload, sizeof(capture->end));
		capture->complete = true;
	}
	return WARPSPAN_OK;
}

/* Looks at the chunk at scan->offset and moves behind it, or to the next good one. */
static int scan_chunk(struct scan *scan)
{
	struct capture *capture = scan->capture;
	const uint64_t left = capture->n_bytes - scan->offset;
	struct warpspan_chunk chunk;
	if (left < sizeof(chunk))
		return skip_damage(scan, capture->n_bytes, "the file ends inside a chunk header");
	if (!chunk_header_at(capture, scan->offset, &chunk))
		return skip_damage(scan, scan->offset + 1, "this is no chunk header, or a damaged one");
	const uint64_t behind_header = scan->offset + sizeof(chunk);
	if (chunk.payload_bytes > WARPSPAN_CHUNK_MAX_BYTES)
		return skip_damage(scan, behind_header, "the payload is longer than any may be");
	const uint64_t room = left - sizeof(chunk);
	if (padded(chunk.payload_bytes) > room)
		return skip_damage(scan, behind_header, "the file ends inside the payload");

	const uint8_t *payload = capture->bytes + behind_header;
	const uint64_t behind = behind_header + padded(chunk.payload_bytes);
	if (crc32c(0, payload, chunk.payload_bytes) != chunk.payload_crc) {
		/* The length is good, so the next chunk follows; unless bytes are missing in between. */
		struct warpspan_chunk next;
		const bool follows = behind == capture->n_bytes || chunk_header_at(capture, behind, &next);
		if (follows || chunk.payload_bytes > scan->rescan_budget)
			return skip_damage(scan, behind, "the payload does not match its checksum");
		scan->rescan_budget -= chunk.payload_bytes;
		return skip_damage(scan, behind_header, "the payload does not match its checksum");
	}
	int result = take_chunk(scan, &chunk);
	if (result >= 0 && !all_zero(payload + chunk.payload_bytes, behind - behind_header - chunk.payload_bytes))
		result = damage_add(&capture->damage, behind_header + chunk.payload_bytes,
				    "'%.200s': chunk %u at byte %llu: its padding is not zero; its payload is good",
				    capture->path, chunk.sequence, (unsigned long long)scan->offset);
	scan->offset = behind;
	return result;
}

/* The file header. Where its checksum fails although it starts like a capture, the layout of this version is assumed:
 * every chunk proves itself. */
static int check_file_header(struct capture *capture, uint64_t *ret_offset, struct warpspan_error *error)
{
	struct warpspan_file_header header;
	if (capture->n_bytes < sizeof(header))
		return error_set(error, WARPSPAN_NOT_A_CAPTURE, 0, capture->n_bytes,
				 "'%.200s': not a warpspan capture: it ends after %llu bytes, inside the file header",
				 capture->path, (unsigned long long)capture->n_bytes);
	memcpy(&header, capture->bytes, sizeof(header));
	if (header.magic == __builtin_bswap64(WARPSPAN_CTX_MAGIC))
		return error_set(error, WARPSPAN_VERSION, 0, 0,
				 "'%.200s': written on a machine with the other byte order", capture->path);
	if (header.magic != WARPSPAN_CTX_MAGIC)
		return error_set(error, WARPSPAN_NOT_A_CAPTURE, 0, 0,
				 "'%.200s': not a warpspan capture: it does not begin with \"WARPSPAN\"",
				 capture->path);
	*ret_offset = sizeof(header);
	if (header.crc32c != crc32c(0, &header, offsetof(struct warpspan_file_header, crc32c)))
		return damage_add(&capture->damage, 0,
				  "'%.200s': the file header at byte 0 does not match its checksum", capture->path);
	if (header.version != WARPSPAN_FORMAT_VERSION || header.byte_order != WARPSPAN_BYTE_ORDER ||
	    header.segment_bytes != sizeof(struct warpspan_segment) ||
	    header.launch_bytes != sizeof(struct warpspan_launch))
		return error_set(
			error, WARPSPAN_VERSION, 0, offsetof(struct warpspan_file_header, version),
			"'%.200s': capture format %u, but this warpspan reads format %u: use the one that wrote it",
			capture->path, header.version, WARPSPAN_FORMAT_VERSION);
	if (header.header_bytes < sizeof(header) || header.header_bytes > capture->n_bytes)
		return error_set(error, WARPSPAN_NOT_A_CAPTURE, 0, offsetof(struct warpspan_file_header, header_bytes),
				 "'%.200s': not a warpspan capture: the first chunk would start at byte %u of %llu",
				 capture->path, header.header_bytes, (unsigned long long)capture->n_bytes);
	*ret_offset = header.header_bytes;
	return WARPSPAN_OK;
}

static int check_end(struct capture *capture, uint64_t offset)
{
	if (!capture->complete)
		return WARPSPAN_OK;
	int result = WARPSPAN_OK;
	if (offset < capture->n_bytes)
		result = damage_add(&capture->damage, offset,
				    "'%.200s': %llu bytes follow the end chunk, from byte %llu on", capture->path,
				    (unsigned long long)(capture->n_bytes - offset), (unsigned long long)offset);
	if (result >= 0 && capture->end.chunks != capture->chunks.n - 1) {
		const uint64_t end_offset = capture->chunks.items[capture->chunks.n - 1].offset;
		result = damage_add(
			&capture->damage, end_offset,
			"'%.200s': %llu chunks were written, %zu are here and good (the end chunk at byte %llu)",
			capture->path, (unsigned long long)capture->end.chunks, capture->chunks.n - 1,
			(unsigned long long)end_offset);
	}
	return result;
}

static int parse(struct capture *capture, struct warpspan_error *error)
{
	struct scan scan = { .capture = capture, .rescan_budget = 4 * capture->n_bytes + WARPSPAN_CHUNK_MAX_BYTES };
	int result = check_file_header(capture, &scan.offset, error);
	if (result == WARPSPAN_NO_MEMORY)
		return error_no_memory(error);
	if (result < 0)
		return result;
	while (result >= 0 && scan.offset < capture->n_bytes && !capture->complete)
		result = scan_chunk(&scan);
	if (result >= 0)
		result = check_end(capture, scan.offset);
	if (result < 0)
		return error_no_memory(error);
	if (capture->damage.places.n == 0)
		return WARPSPAN_OK;
	if (error != NULL)
		*error = capture->damage.places.items[0];
	return WARPSPAN_DAMAGED;
}

/* Takes over `bytes`, also when it fails. */
static int adopt(const char *path, uint8_t *bytes, uint64_t n_bytes, struct capture **ret_capture,
		 struct warpspan_error *error)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	if (capture == NULL) {
		free(bytes);
		return error_no_memory(error);
	}
	capture->bytes = bytes;
	capture->n_bytes = n_bytes;
	capture->path = strdup(path);
	const int result = capture->path == NULL ? error_no_memory(error) : parse(capture, error);
	if (result < 0)
		capture_close(capture);
	else
		*ret_capture = capture;
	return result;
}

int capture_from_bytes(const char *path, const void *bytes, size_t n_bytes, struct capture **ret_capture,
		       struct warpspan_error *error)
{
	uint8_t *copy = malloc(n_bytes + 1); /* never a size of 0 */
	if (copy == NULL)
		return error_no_memory(error);
	memcpy(copy, bytes, n_bytes);
	return adopt(path, copy, n_bytes, ret_capture, error);
}

static int cannot_read(struct warpspan_error *error, const char *path, int system_errno)
{
	return error_set(error, WARPSPAN_IO, system_errno, WARPSPAN_NO_OFFSET, "'%.300s': cannot read: %s", path,
			 strerror(system_errno));
}

static int read_file(int fd, const char *path, uint8_t **ret_bytes, uint64_t *ret_n, struct warpspan_error *error)
{
	struct stat status;
	if (fstat(fd, &status) != 0)
		return cannot_read(error, path, errno);
	if (!S_ISREG(status.st_mode))
		return error_set(error, WARPSPAN_NOT_A_CAPTURE, 0, WARPSPAN_NO_OFFSET,
				 "'%.300s': not a warpspan capture: not a regular file", path);
	if ((uint64_t)status.st_size >= SIZE_MAX)
		return error_set(error, WARPSPAN_TOO_LARGE, 0, WARPSPAN_NO_OFFSET, "'%.300s': too large to read", path);
	const size_t n_bytes = (size_t)status.st_size;
	uint8_t *bytes = malloc(n_bytes + 1);
	if (bytes == NULL)
		return error_no_memory(error);
	size_t have = 0;
	while (have < n_bytes) {
		const ssize_t got = pread(fd, bytes + have, n_bytes - have, (off_t)have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			const int system_errno = errno;
			free(bytes);
			return cannot_read(error, path, system_errno);
		}
		if (got == 0) /* cut while we read */
			break;
		have += (size_t)got;
	}
	*ret_bytes = bytes;
	*ret_n = have;
	return WARPSPAN_OK;
}

int capture_open(const char *path, struct capture **ret_capture, struct warpspan_error *error)
{
	const int saved_errno = errno;
	uint8_t *bytes = NULL;
	uint64_t n_bytes = 0;
	int result;
	const int fd = descriptor_open(path, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0) {
		result = error_set(error, WARPSPAN_IO, errno, WARPSPAN_NO_OFFSET, "'%.300s': cannot open: %s", path,
				   strerror(errno));
	} else {
		result = read_file(fd, path, &bytes, &n_bytes, error);
		close(fd);
		if (result == WARPSPAN_OK)
			result = adopt(path, bytes, n_bytes, ret_capture, error);
	}
	errno = saved_errno;
	return result;
}

struct capture *capture_close(struct capture *capture)
{
	if (capture != NULL) {
		damage_finish(&capture->damage);
		free(capture->chunks.items);
		free(capture->bytes);
		free(capture->path);
		free(capture);
	}
	return NULL;
}

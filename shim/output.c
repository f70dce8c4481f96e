/* SPDX-License-Identifier: Apache-2.0
 *
 * output.c - the capture file: its name, its chunks. See output.h.
 */
#include "output.h"

#include "lock.h"
#include "log.h"
#include "rank.h"

#include <cJSON.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPTURE_EXTENSION ".wspan"
/* Names tried beside one that exists. Enough for a node full of containers whose process is always number 1. */
#define MOST_ATTEMPTS 1000u

static struct warpspan_writer *writer;
/* Written by the thread whose turn it is, under the lock; others read it under the lock. */
static char path[WARPSPAN_TEXT_BYTES];
static pthread_mutex_t path_lock = PTHREAD_MUTEX_INITIALIZER;
static bool failed;
static char why_failed[WARPSPAN_REASON_BYTES];
static bool elsewhere; /* it was moved already */
/* The session's own writer while a copy is written to; else NULL. */
static struct warpspan_writer *copy_of;
static unsigned n_snapshots;
static _Atomic uint64_t progress;

struct text {
	char *bytes;
	size_t used, capacity;
	bool cut;
};

static void put(struct text *text, const char *from, size_t length)
{
	if (length >= text->capacity - text->used) {
		text->cut = true;
		return;
	}
	memcpy(text->bytes + text->used, from, length);
	text->used += length;
	text->bytes[text->used] = '\0';
}

static void put_number(struct text *text, unsigned long number)
{
	char digits[24];
	const int n = snprintf(digits, sizeof(digits), "%lu", number);

	put(text, digits, (size_t)n);
}

static void put_field(struct text *text, char letter, unsigned session)
{
	char host[HOST_NAME_MAX + 1] = "";
	struct warpspan_rank rank = { 0 };

	switch (letter) {
	case 'p':
		put_number(text, (unsigned long)getpid());
		break;
	case 'n':
		put_number(text, session);
		break;
	case 'h':
		if (gethostname(host, sizeof(host) - 1) != 0)
			memcpy(host, "host", sizeof("host"));
		put(text, host, strlen(host));
		break;
	case 'r':
		(void)warpspan_rank_find(&rank);
		put_number(text, rank.rank);
		break;
	default: /* '%' */
		put(text, "%", 1);
		break;
	}
}

/* False: an unknown letter after %. */
static bool put_template(struct text *text, const char *template, unsigned session)
{
	for (const char *at = template; *at != '\0'; at++) {
		if (*at != '%') {
			put(text, at, 1);
			continue;
		}
		at++;
		if (*at == '\0' || strchr("phrn%", *at) == NULL)
			return false;
		put_field(text, *at, session);
	}
	return true;
}

bool warpspan_output_expand(const char *template, unsigned session, char (*ret_path)[WARPSPAN_TEXT_BYTES],
			    const char **ret_reason)
{
	const size_t extension = strlen(CAPTURE_EXTENSION);
	struct text text = { .bytes = *ret_path, .capacity = sizeof(*ret_path) };

	(*ret_path)[0] = '\0';
	if (template[0] != '/') {
		char directory[WARPSPAN_TEXT_BYTES];

		/* The program may change its directory before the end. */
		if (getcwd(directory, sizeof(directory)) == NULL) {
			*ret_reason = "the current directory has no name";
			return false;
		}
		put(&text, directory, strlen(directory));
		put(&text, "/", 1);
	}
	if (!put_template(&text, template, session)) {
		*ret_reason = "after % only p, h, r, n and % are known";
		return false;
	}
	if (text.used > extension && strcmp(text.bytes + text.used - extension, CAPTURE_EXTENSION) == 0)
		text.bytes[text.used -= extension] = '\0';
	/* A folder, and a file without a name would be hidden in it. */
	if (text.used > 0 && text.bytes[text.used - 1] == '/')
		(void)put_template(&text, warpspan_setting_infos[WARPSPAN_SETTING_INDEX_OUT].default_text, session);
	if (text.cut || text.used + extension + sizeof(".1000") > text.capacity) {
		*ret_reason = "the path is too long";
		return false;
	}
	return true;
}

/* Characters of a path that a sentence has room for. */
#define SHOWN 400

static void tell_cannot_create(const char *refused, const struct warpspan_error *error,
			       char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	char directory[WARPSPAN_TEXT_BYTES];
	char *slash;

	(void)snprintf(directory, sizeof(directory), "%s", refused);
	slash = strrchr(directory, '/');
	if (slash != NULL)
		*slash = '\0';
	if (error->system_errno == ENOENT && access(directory, F_OK) != 0)
		(void)snprintf(
			*ret_reason, sizeof(*ret_reason),
			"cannot write '%.*s': the directory '%.*s' does not exist; create it or set WARPSPAN_OUT",
			SHOWN, refused, SHOWN, directory);
	else if (error->system_errno == EEXIST)
		(void)snprintf(
			*ret_reason, sizeof(*ret_reason),
			"cannot write '%.*s': this file and those numbered before it exist; remove some, or put %%n "
			"and %%p into WARPSPAN_OUT",
			SHOWN, refused);
	else if (error->system_errno != 0)
		(void)snprintf(*ret_reason, sizeof(*ret_reason),
			       "cannot write '%.*s': %s; set WARPSPAN_OUT to a directory you may write to", SHOWN,
			       refused, strerror(error->system_errno));
	else
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "cannot write '%.*s': %.200s", SHOWN, refused,
			       error->text);
}

uint64_t warpspan_output_progress(void)
{
	return atomic_load_explicit(&progress, memory_order_relaxed);
}

const char *warpspan_output_path(void)
{
	return path;
}

void warpspan_output_copy_path(char (*ret_path)[WARPSPAN_TEXT_BYTES])
{
	warpspan_lock(&path_lock);
	memcpy(*ret_path, path, sizeof(*ret_path));
	warpspan_unlock(&path_lock);
}

static void set_path(const char *to)
{
	warpspan_lock(&path_lock);
	(void)snprintf(path, sizeof(path), "%s", to);
	warpspan_unlock(&path_lock);
}

bool warpspan_output_failed(void)
{
	return failed;
}

static void fail(const char *text)
{
	failed = true;
	(void)snprintf(why_failed, sizeof(why_failed), "%s", text);
	warpspan_error("%s; what the file holds is kept", text);
}

/* --- which file ------------------------------------------------------------------------------- */

/* The first name that is free: BASE.wspan, BASE.1.wspan, ... */
static bool
create_beside(const char *base,
	      int (*create)(const char *path, struct warpspan_writer **ret_writer, struct warpspan_error *error),
	      struct warpspan_writer **ret_writer, char (*ret_path)[WARPSPAN_TEXT_BYTES], struct warpspan_error *error)
{
	for (unsigned i = 0; i < MOST_ATTEMPTS; i++) {
		char number[16] = "";

		if (i > 0)
			(void)snprintf(number, sizeof(number), ".%u", i);
		(void)snprintf(*ret_path, sizeof(*ret_path), "%.*s%s%s",
			       (int)(sizeof(*ret_path) - sizeof(number) - sizeof(CAPTURE_EXTENSION)), base, number,
			       CAPTURE_EXTENSION);
		if (create(*ret_path, ret_writer, error) >= 0)
			return true;
		if (error->system_errno != EEXIST)
			break;
	}
	return false;
}

static int copy_writer(const char *to, struct warpspan_writer **ret_writer, struct warpspan_error *error)
{
	return warpspan_writer_copy(writer, to, ret_writer, error);
}

bool warpspan_output_create(const char *template, unsigned session, char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	char base[WARPSPAN_TEXT_BYTES], created[WARPSPAN_TEXT_BYTES] = "";
	const char *reason = "";
	struct warpspan_error error = { 0 };

	if (!warpspan_output_expand(template, session, &base, &reason)) {
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "WARPSPAN_OUT='%.*s': %s", SHOWN, template, reason);
		return false;
	}
	failed = elsewhere = false;
	n_snapshots = 0;
	if (!create_beside(base, warpspan_writer_create, &writer, &created, &error)) {
		tell_cannot_create(created, &error, ret_reason);
		created[0] = '\0';
	}
	set_path(created);
	return created[0] != '\0';
}

/* The capture cannot be written where it is: what it has so far is copied to where there may be room, and it goes on
 * there. */
static bool move_elsewhere(const char *why)
{
	const char *folder = secure_getenv("TMPDIR");
	const char *name = strrchr(path, '/') + 1;
	struct warpspan_writer *moved;
	struct warpspan_error error = { 0 };
	char base[WARPSPAN_TEXT_BYTES], to[WARPSPAN_TEXT_BYTES];

	if (elsewhere)
		return false;
	if (folder == NULL || folder[0] != '/')
		folder = "/tmp";
	(void)snprintf(base, sizeof(base), "%.*s/%.*s", (int)sizeof(base) / 2 - 32, folder,
		       (int)(strlen(name) - strlen(CAPTURE_EXTENSION)), name);
	if (!create_beside(base, copy_writer, &moved, &to, &error))
		return false;
	(void)warpspan_writer_close(writer);
	writer = moved;
	elsewhere = true;
	warpspan_error("%s: the capture goes on in '%s', which has all of it", why, to);
	set_path(to);
	return true;
}

bool warpspan_output_append(enum warpspan_chunk_type type, const struct iovec *parts, int n_parts)
{
	struct warpspan_error error = { 0 };

	(void)atomic_fetch_add_explicit(&progress, 1, memory_order_relaxed);
	if (copy_of != NULL)
		return warpspan_writer_append(writer, type, parts, n_parts, NULL) >= 0;
	if (failed || writer == NULL)
		return false;
	if (warpspan_writer_append(writer, type, parts, n_parts, &error) < 0 &&
	    (error.result != WARPSPAN_IO || !move_elsewhere(error.text) ||
	     warpspan_writer_append(writer, type, parts, n_parts, &error) < 0))
		fail(error.text);
	return !failed;
}

void warpspan_output_meta(const char *key, struct cJSON *object)
{
	cJSON *root = cJSON_CreateObject();
	char *text = NULL;

	if (root != NULL && object != NULL && cJSON_AddItemToObject(root, key, object)) {
		object = NULL;
		text = cJSON_PrintUnformatted(root);
	}
	if (text != NULL) {
		const struct iovec part = { .iov_base = text, .iov_len = strlen(text) };

		warpspan_output_append(WARPSPAN_CHUNK_META, &part, 1);
	} else if (!failed) {
		fail("out of memory while describing the session");
	}
	cJSON_free(text);
	cJSON_Delete(object);
	cJSON_Delete(root);
}

bool warpspan_output_snapshot_begin(char (*ret_path)[WARPSPAN_TEXT_BYTES], char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	struct warpspan_writer *copy;
	struct warpspan_error error = { 0 };
	char base[WARPSPAN_TEXT_BYTES];

	if (writer == NULL || failed) {
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "the capture cannot be written");
		return false;
	}
	(void)snprintf(base, sizeof(base), "%.*s.snapshot%u", (int)(strlen(path) - strlen(CAPTURE_EXTENSION)), path,
		       ++n_snapshots);
	if (!create_beside(base, copy_writer, &copy, ret_path, &error)) {
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "%s", error.text);
		return false;
	}
	copy_of = writer;
	writer = copy;
	return true;
}

bool warpspan_output_snapshot_end(char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	struct warpspan_error error = { 0 };
	const bool good = warpspan_writer_finish(writer, &error) >= 0;

	writer = copy_of;
	copy_of = NULL;
	if (!good)
		(void)snprintf(*ret_reason, sizeof(*ret_reason), "%s", error.text);
	return good;
}

void warpspan_output_finish(void)
{
	struct warpspan_error error = { 0 };

	if (writer == NULL)
		return;
	if (failed)
		writer = warpspan_writer_close(writer);
	else if (warpspan_writer_finish(writer, &error) < 0)
		fail(error.text);
	writer = NULL;
}

void warpspan_output_discard(char (*ret_reason)[WARPSPAN_REASON_BYTES])
{
	(void)snprintf(*ret_reason, sizeof(*ret_reason), "cannot write '%.*s': %.500s", SHOWN, path, why_failed);
	writer = warpspan_writer_close(writer);
	(void)unlink(path);
	set_path("");
}
